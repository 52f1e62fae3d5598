//! Messages after an action. The redirect has a keyword in its query, and the next page shows the message for it.

use shared::http::{Html, Reply};

/// The result of an action; `done` in the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// An API key was revoked.
    KeyRevoked,
    /// A connected application's access was revoked.
    AppRevoked,
    /// An X account was connected.
    XConnected,
    /// The X account was disconnected.
    XDisconnected,
    /// A WhatsApp number was connected.
    WhatsAppConnected,
    /// The WhatsApp number was disconnected.
    WhatsAppDisconnected,
    /// The countries that may be called were changed.
    CallCountriesChanged,
    /// The career page was changed.
    CareerPageChanged,
    /// The privacy text was changed.
    PrivacyChanged,
    /// The retention rule was set.
    RetentionSet,
    /// The retention rule was switched off.
    RetentionOff,
    /// A member's role was changed.
    RoleChanged,
    /// A member was removed.
    MemberRemoved,
    /// The member's own password was changed.
    PasswordChanged,
    /// A password was set with a single-use link.
    PasswordSet,
    /// The session has ended. Only the sign-in page shows this.
    SignedOut,
}

impl Notice {
    const ALL: [Self; 16] = [
        Self::KeyRevoked,
        Self::AppRevoked,
        Self::XConnected,
        Self::XDisconnected,
        Self::WhatsAppConnected,
        Self::WhatsAppDisconnected,
        Self::CallCountriesChanged,
        Self::CareerPageChanged,
        Self::PrivacyChanged,
        Self::RetentionSet,
        Self::RetentionOff,
        Self::RoleChanged,
        Self::MemberRemoved,
        Self::PasswordChanged,
        Self::PasswordSet,
        Self::SignedOut,
    ];

    const fn word(self) -> &'static str {
        match self {
            Self::KeyRevoked => "key-revoked",
            Self::AppRevoked => "app-revoked",
            Self::XConnected => "x-connected",
            Self::XDisconnected => "x-disconnected",
            Self::WhatsAppConnected => "whatsapp-connected",
            Self::WhatsAppDisconnected => "whatsapp-disconnected",
            Self::CallCountriesChanged => "call-countries-changed",
            Self::CareerPageChanged => "career-page-changed",
            Self::PrivacyChanged => "privacy-changed",
            Self::RetentionSet => "retention-set",
            Self::RetentionOff => "retention-off",
            Self::RoleChanged => "role-changed",
            Self::MemberRemoved => "member-removed",
            Self::PasswordChanged => "password-changed",
            Self::PasswordSet => "password-set",
            Self::SignedOut => "signed-out",
        }
    }

    /// Returns the text of the message.
    pub(crate) const fn sentence(self) -> &'static str {
        match self {
            Self::KeyRevoked => "API key revoked.",
            Self::AppRevoked => "App disconnected. It no longer has access.",
            Self::XConnected => "X account connected.",
            Self::XDisconnected => "X account disconnected.",
            Self::WhatsAppConnected => "WhatsApp number connected.",
            Self::WhatsAppDisconnected => "WhatsApp number disconnected.",
            Self::CallCountriesChanged => "Countries saved. Other countries are no longer called.",
            Self::CareerPageChanged => "Career page saved.",
            Self::PrivacyChanged => "Privacy text saved.",
            Self::RetentionSet => "Retention rule saved. Nobody is erased before the next run.",
            Self::RetentionOff => "Retention switched off. Nobody is erased automatically.",
            Self::RoleChanged => "Member role changed.",
            Self::MemberRemoved => {
                "Member removed. Their sessions have ended, and the apps that they connected no longer have access."
            }
            Self::PasswordChanged => "Password changed. Your other sessions have ended.",
            Self::PasswordSet => "Password set. You are signed in.",
            Self::SignedOut => "You are signed out.",
        }
    }

    /// Returns the notice with this keyword, if any.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|notice| notice.word() == word)
    }

    /// Redirects to `path`, which shows the notice.
    pub(crate) fn redirect_to(self, path: &str) -> Reply<Html> {
        Reply::see_other(&format!("{path}?done={}", self.word()))
    }
}

/// Why an action failed; `failed` in the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alert {
    /// The member declined on X.
    XDeclined,
    /// The callback from X came too late or belongs to another browser.
    XStale,
    /// X reported an error or did not respond.
    XFailed,
    /// The member tried to change their own role or to remove themselves.
    OwnRole,
}

impl Alert {
    const ALL: [Self; 4] = [Self::XDeclined, Self::XStale, Self::XFailed, Self::OwnRole];

    const fn word(self) -> &'static str {
        match self {
            Self::XDeclined => "x-declined",
            Self::XStale => "x-stale",
            Self::XFailed => "x-failed",
            Self::OwnRole => "own-role",
        }
    }

    /// Returns the text of the message.
    pub(crate) const fn sentence(self) -> &'static str {
        match self {
            Self::XDeclined => "X account not connected: access was declined on X.",
            Self::XStale => {
                "The connection to X took too long or was started in another browser. Connect the account again."
            }
            Self::XFailed => "The X account could not be connected. Try again in a moment.",
            Self::OwnRole => "You can't change your own role or remove yourself. Ask another owner to do it.",
        }
    }

    /// Returns the alert with this keyword, if any.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|alert| alert.word() == word)
    }

    /// Redirects to `path`, which shows the alert.
    pub(crate) fn redirect_to(self, path: &str) -> Reply<Html> {
        Reply::see_other(&format!("{path}?failed={}", self.word()))
    }
}
