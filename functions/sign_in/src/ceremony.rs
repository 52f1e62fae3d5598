//! Ceremonies in the table: each begins on one page in one browser, lasts five minutes and is used once.

use jiff::SignedDuration;
use shared::auth::hash;
use shared::clock::later;
use shared::http::{Error, PageRequest};

use crate::relying_party::Challenge;

/// The time in which the browser has to answer.
const LIFE: SignedDuration = SignedDuration::from_mins(5);
/// The length of the random string that identifies a ceremony on its page.
// 131 bits, so nobody can guess one.
const LENGTH: usize = 22;

/// A ceremony that has begun, as its page shows it.
pub(crate) struct Ceremony {
    /// The random string in the form.
    pub(crate) token: String,
    /// The options for the browser, as JSON.
    pub(crate) options: String,
}

impl Ceremony {
    /// Stores a challenge for this browser.
    pub(crate) async fn begin(request: &PageRequest, challenge: Challenge) -> Result<Self, Error> {
        let (context, token) = (&request.context, request.context.random().token(LENGTH));
        let until = later(context.now(), LIFE);
        let key = key(request, &token);
        context.store().put_passkey_ceremony(&key, challenge.state, until).await?;
        Ok(Self { token, options: challenge.options })
    }

    /// Ends the ceremony that the form belongs to. Returns its state, or `None` if it is over or belongs to another browser.
    pub(crate) async fn take(request: &PageRequest) -> Result<Option<String>, Error> {
        let (context, token) = (&request.context, request.form().get("ceremony"));
        if token.len() != LENGTH {
            return Ok(None);
        }
        Ok(context.store().take_passkey_ceremony(&key(request, token), context.now()).await?)
    }
}

/// What the ceremony is stored under.
fn key(request: &PageRequest, token: &str) -> String {
    hash(&format!("{token} {}", request.cookie()))
}
