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
    /// One of the member's sessions was ended.
    SessionEnded,
    /// The member's other sessions were ended.
    OtherSessionsEnded,
    /// Security notices were dismissed.
    NoticesDismissed,
    /// The member's own second factor was turned off.
    SecondFactorRemoved,
    /// A passkey was added to the member's own account.
    PasskeyAdded,
    /// A passkey was removed from the member's own account.
    PasskeyRemoved,
    /// Another member's second factor was removed.
    SecondFactorReset,
    /// The organization's rule about second factors was changed.
    SecondFactorRuleSaved,
    /// A password was set with a single-use link.
    PasswordSet,
    /// A password was set with a single-use link, and the member signs in with it and the second factor. Only the sign-in
    /// page shows this.
    PasswordReset,
    /// The member took too long to enter the code. Only the sign-in page shows this.
    SignInExpired,
    /// The session has ended. Only the sign-in page shows this.
    SignedOut,
}

impl Notice {
    const ALL: [Self; 26] = [
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
        Self::SessionEnded,
        Self::OtherSessionsEnded,
        Self::NoticesDismissed,
        Self::SecondFactorRemoved,
        Self::PasskeyAdded,
        Self::PasskeyRemoved,
        Self::SecondFactorReset,
        Self::SecondFactorRuleSaved,
        Self::PasswordSet,
        Self::PasswordReset,
        Self::SignInExpired,
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
            Self::SessionEnded => "session-ended",
            Self::OtherSessionsEnded => "other-sessions-ended",
            Self::NoticesDismissed => "notices-dismissed",
            Self::SecondFactorRemoved => "second-factor-removed",
            Self::PasskeyAdded => "passkey-added",
            Self::PasskeyRemoved => "passkey-removed",
            Self::SecondFactorReset => "second-factor-reset",
            Self::SecondFactorRuleSaved => "second-factor-rule-saved",
            Self::PasswordSet => "password-set",
            Self::PasswordReset => "password-reset",
            Self::SignInExpired => "sign-in-expired",
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
            Self::SessionEnded => "Session ended.",
            Self::OtherSessionsEnded => "You are signed out everywhere else.",
            Self::NoticesDismissed => "Notices dismissed.",
            Self::SecondFactorRemoved => "Second factor turned off.",
            Self::PasskeyAdded => "Passkey added. You can sign in with it.",
            Self::PasskeyRemoved => {
                "Passkey removed. You can also delete it from your device or your password manager."
            }
            Self::SecondFactorReset => {
                "Second factor removed. The member now signs in with the password alone."
            }
            Self::SecondFactorRuleSaved => "Rule for second factors saved.",
            Self::PasswordSet => "Password set. You are signed in.",
            Self::PasswordReset => "Password set. Sign in with it and your second factor.",
            Self::SignInExpired => "The sign-in took too long. Enter your password again.",
            Self::SignedOut => "You are signed out.",
        }
    }

    /// Whether only the sign-in page shows the message.
    pub(crate) const fn is_for_sign_in(self) -> bool {
        matches!(self, Self::SignedOut | Self::PasswordReset | Self::SignInExpired)
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
    /// The member tried to turn off a second factor that the organization requires.
    SecondFactorRequired,
    /// The member has as many passkeys as possible.
    TooManyPasskeys,
}

impl Alert {
    const ALL: [Self; 6] = [
        Self::XDeclined,
        Self::XStale,
        Self::XFailed,
        Self::OwnRole,
        Self::SecondFactorRequired,
        Self::TooManyPasskeys,
    ];

    const fn word(self) -> &'static str {
        match self {
            Self::XDeclined => "x-declined",
            Self::XStale => "x-stale",
            Self::XFailed => "x-failed",
            Self::OwnRole => "own-role",
            Self::SecondFactorRequired => "second-factor-required",
            Self::TooManyPasskeys => "too-many-passkeys",
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
            Self::SecondFactorRequired => {
                "Your organization requires a second factor, so you can't turn it off."
            }
            Self::TooManyPasskeys => "You have ten passkeys. Remove one before you add another.",
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
