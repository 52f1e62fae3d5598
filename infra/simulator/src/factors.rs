//! The second factor and the passkey of a member, as far as the member knows.

use std::collections::BTreeSet;

use shared::model::TotpSecret;
use tests::passkeys::Device;

/// Whether something is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Standing {
    #[default]
    No,
    Yes,
    /// The response to the last change was lost.
    Unknown,
}

/// What the member has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Factors {
    /// Whether a sign-in with the password needs a code.
    pub(crate) needs_code: Standing,
    /// The secret of the authenticator app.
    pub(crate) app: Option<TotpSecret>,
    /// The recovery codes that were not sent yet.
    pub(crate) recovery_codes: Vec<String>,
    /// The codes that were sent.
    pub(crate) sent: BTreeSet<String>,
    /// The codes that were accepted or replaced, so that they must not be accepted again.
    pub(crate) dead: BTreeSet<String>,
    /// Whether the account has the passkey of `device`.
    pub(crate) has_passkey: Standing,
    pub(crate) device: Option<Device>,
}

impl Factors {
    /// A page has shown whether a sign-in with the password needs a code. Returns what is wrong with that.
    pub(crate) fn observe(&mut self, needs_code: bool) -> Option<String> {
        let observed = if needs_code { Standing::Yes } else { Standing::No };
        let known = std::mem::replace(&mut self.needs_code, observed);
        (known != Standing::Unknown && known != observed)
            .then(|| format!("sign-ins need a code: {observed:?}, but known was {known:?}"))
    }

    /// A code was accepted. Returns what is wrong with that.
    pub(crate) fn accept(&mut self, code: &str) -> Option<String> {
        (!self.dead.insert(code.to_owned())).then(|| format!("the used code {code} was accepted"))
    }

    /// The recovery codes were replaced by these.
    pub(crate) fn replace_codes(&mut self, codes: Vec<String>) {
        self.dead.extend(std::mem::replace(&mut self.recovery_codes, codes));
    }
}
