//! Why a passkey was not accepted. The redirect has a keyword in its query, and the page then shows the sentence.

use shared::http::{Html, Reply};
use url::form_urlencoded::Serializer;

/// Why a passkey was not accepted; `failed` in the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The challenge was answered before, too late, or by another browser.
    Expired,
    /// The passkey is unknown, or its signature is wrong.
    NotAccepted,
    /// The device did not create a passkey that the service can use.
    NotCreated,
    /// The device created a passkey that it does not offer at the next sign-in.
    NotDiscoverable,
}

impl Failure {
    const ALL: [Self; 4] = [Self::Expired, Self::NotAccepted, Self::NotCreated, Self::NotDiscoverable];

    const fn word(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::NotAccepted => "not-accepted",
            Self::NotCreated => "not-created",
            Self::NotDiscoverable => "not-discoverable",
        }
    }

    /// Returns the text of the message.
    pub(crate) const fn sentence(self) -> &'static str {
        match self {
            Self::Expired => "This took longer than five minutes, or the page was opened again. Try again.",
            Self::NotAccepted => {
                "This passkey was not accepted. It may have been removed from your account. Try another one, or sign in \
                 with your password."
            }
            Self::NotCreated => {
                "Your device did not create a passkey that works here. Try again, or use another device or security key."
            }
            Self::NotDiscoverable => {
                "Your security key cannot offer this passkey when you sign in. Use another device or security key."
            }
        }
    }

    /// Returns the failure with this keyword, if any.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|failure| failure.word() == word)
    }

    /// Redirects to the page at `path`, which begins again and shows the failure.
    pub(crate) fn redirect_to(self, path: &str, return_to: Option<&str>) -> Reply<Html> {
        let mut query = Serializer::new(String::new());
        query.append_pair("failed", self.word());
        query.extend_pairs(return_to.map(|path| ("return_to", path)));
        Reply::see_other(&format!("{path}?{}", query.finish()))
    }
}
