//! Security notices: what has happened to a member's account, and what owners should know of. The member sees them at the
//! next sign-in.

use serde::{Deserialize, Serialize};

use super::{Actor, ActorKind, Device, EndpointUrl, MemberRole, Mode, Name};
use crate::clock::Timestamp;
use crate::id::Id;

/// Something that has happened to a member's account, or that an owner should know of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecurityNotice {
    /// The identifier.
    pub id: Id,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub event: SecurityEvent,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SecurityEvent {
    /// The member signed in from a browser for the first time.
    NewBrowser(Device),
    /// The password was changed in the account's settings.
    PasswordChanged,
    /// The password was set with a link. All sessions have ended and connected apps have lost access.
    PasswordReset,
    /// An owner or the operator of the service created a link to set a new password.
    ResetLinkCreated {
        /// The owner's name; `None` for the operator.
        by: Option<Name>,
    },
    /// The member set up a second factor.
    SecondFactorAdded,
    /// The member turned the second factor off.
    SecondFactorRemoved,
    /// An owner or the operator of the service removed the second factor and the passkeys.
    SecondFactorReset {
        /// The owner's name; `None` for the operator.
        by: Option<Name>,
    },
    /// The member added a passkey.
    PasskeyAdded {
        /// The passkey's name.
        name: Name,
    },
    /// The member removed a passkey.
    PasskeyRemoved {
        /// The passkey's name.
        name: Name,
    },
    /// The member replaced the recovery codes.
    RecoveryCodesRenewed,
    /// The member signed in with a recovery code.
    RecoveryCodeUsed {
        /// The number of codes that are left.
        left: usize,
    },
    /// An owner changed the member's role.
    RoleChanged {
        /// The new role.
        role: MemberRole,
        /// The owner's name.
        by: Name,
    },
    /// An API key was created in the member's name.
    KeyCreated {
        /// The key's name.
        name: String,
    },
    /// An application was connected in the member's name.
    AppConnected {
        /// The application's name.
        name: String,
    },
    /// A webhook endpoint was added, or has another URL. This is for all owners.
    WebhookUrlChosen {
        /// The URL.
        url: EndpointUrl,
        /// Whether the endpoint is new.
        is_new: bool,
        /// The mode of the data.
        mode: Mode,
        /// Who did it.
        by: Actor,
    },
}

impl SecurityEvent {
    /// The event as a sentence.
    pub fn sentence(&self) -> String {
        let by = |by: &Option<Name>| match by {
            Some(name) => name.as_str().to_owned(),
            None => "The operator of this service".to_owned(),
        };
        match self {
            Self::NewBrowser(Device { browser, network }) => {
                format!("You signed in from a new browser: {browser}, {network}.")
            }
            Self::PasswordChanged => "Your password was changed.".to_owned(),
            Self::PasswordReset => {
                "Your password was set with a link. Your sessions ended, and the apps that you had connected lost access."
                    .to_owned()
            }
            Self::ResetLinkCreated { by: owner } => {
                format!("{} created a link to set a new password for you.", by(owner))
            }
            Self::SecondFactorAdded => "You turned on a second factor.".to_owned(),
            Self::SecondFactorRemoved => "You turned off your second factor.".to_owned(),
            Self::SecondFactorReset { by: owner } => {
                format!("{} removed your second factor and your passkeys.", by(owner))
            }
            Self::PasskeyAdded { name } => format!("You added the passkey \u{201c}{}\u{201d}.", name.as_str()),
            Self::PasskeyRemoved { name } => format!("You removed the passkey \u{201c}{}\u{201d}.", name.as_str()),
            Self::RecoveryCodesRenewed => "You created new recovery codes.".to_owned(),
            Self::RecoveryCodeUsed { left } => format!("You signed in with a recovery code. Codes left: {left}."),
            Self::RoleChanged { role, by } => format!("{} changed your role to {}.", by.as_str(), role.as_str()),
            Self::KeyCreated { name } => format!("You created the API key \u{201c}{name}\u{201d}."),
            Self::AppConnected { name } => format!("You connected the app \u{201c}{name}\u{201d}."),
            Self::WebhookUrlChosen { url, is_new, mode, by } => {
                let (url, mode) = (url.as_str(), mode.as_str());
                let by = match by.kind {
                    ActorKind::ApiKey => format!("The API key \u{201c}{}\u{201d}", by.name),
                    ActorKind::App => format!("The app \u{201c}{}\u{201d}", by.name),
                    _ => by.name.clone(),
                };
                if *is_new {
                    format!("{by} added a webhook endpoint for {mode} data: {url}")
                } else {
                    format!("{by} changed the URL of a webhook endpoint for {mode} data: {url}")
                }
            }
        }
    }
}
