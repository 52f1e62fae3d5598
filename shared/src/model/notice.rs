//! Notices: what has happened to a member's account, what owners should know of, and what concerns the member's work. The first
//! two are seen at the next sign-in; the last is seen at once.

use serde::{Deserialize, Serialize};

use super::{
    Actor, Device, EndpointUrl, Export, ExportFormat, ExportStatus, Import, ImportFormat, ImportStatus,
    MemberRole, Mode, Name, Text,
};
use crate::clock::Timestamp;
use crate::id::Id;

/// Something that a member should know of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The identifier.
    pub id: Id,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub event: NoticeEvent,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoticeEvent {
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
    /// Somebody mentioned the member in a note. Nothing of the candidate is kept but the identifier.
    Mentioned {
        /// The candidate.
        candidate: Id,
        /// The mode of the data.
        mode: Mode,
        /// Who wrote the note.
        by: Actor,
    },
    /// An import ended, or its undo did, for which the member had asked.
    ImportEnded {
        /// The import.
        import: Id,
        /// The mode of the data.
        mode: Mode,
        /// The format of the file.
        format: ImportFormat,
        /// Where the file comes from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<Text<100>>,
        /// How it ended.
        outcome: ImportOutcome,
    },
    /// An export ended that the member had begun.
    ExportEnded {
        /// The export.
        export: Id,
        /// The mode of the data.
        mode: Mode,
        /// The format of the files.
        format: ExportFormat,
        /// Why there are no files, as a sentence; `None` if there are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// How an import ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ImportOutcome {
    /// Its rows were carried out.
    Done {
        /// The number of people who were added.
        created: u64,
        /// The number of rows that added something to a person.
        updated: u64,
        /// The number of rows that were skipped, because something is wrong with them.
        invalid: u64,
    },
    /// It has failed.
    Failed {
        /// Why, as a sentence.
        reason: String,
    },
    /// It was cancelled by the service.
    Cancelled,
    /// It was undone.
    Undone {
        /// The number of rows of which something stays.
        kept: u64,
    },
}

impl ImportOutcome {
    /// How this import ended; `None` if it goes on.
    fn of(import: &Import) -> Option<Self> {
        let counts = &import.counts;
        match import.status {
            ImportStatus::Done => {
                Some(Self::Done { created: counts.create, updated: counts.update, invalid: counts.invalid })
            }
            ImportStatus::Failed => Some(Self::Failed { reason: import.reason.clone().unwrap_or_default() }),
            ImportStatus::Cancelled => Some(Self::Cancelled),
            ImportStatus::Undone => Some(Self::Undone { kept: counts.kept }),
            _ => None,
        }
    }

    fn sentence(&self) -> String {
        match self {
            Self::Done { created, updated, invalid } => {
                format!(
                    "is done. People added: {created}. People updated: {updated}. Invalid rows: {invalid}."
                )
            }
            Self::Failed { reason } => format!("has failed: {reason}"),
            Self::Cancelled => "was cancelled, because the organization is suspended.".to_owned(),
            Self::Undone { kept: 0 } => "is undone. Nothing of it is left.".to_owned(),
            Self::Undone { kept } => format!("is undone. Rows of which something stays: {kept}."),
        }
    }
}

impl NoticeEvent {
    /// The end of this import; `None` if it goes on.
    pub fn end_of_import(import: &Import, mode: Mode) -> Option<Self> {
        let (format, source) = (import.format, import.settings.source.clone());
        ImportOutcome::of(import).map(|outcome| Self::ImportEnded {
            import: import.id,
            mode,
            format,
            source,
            outcome,
        })
    }

    /// The end of this export; `None` if it goes on.
    pub fn end_of_export(export: &Export, mode: Mode) -> Option<Self> {
        let reason = match export.status {
            ExportStatus::Running => return None,
            ExportStatus::Done => None,
            ExportStatus::Failed => Some(export.reason.clone().unwrap_or_default()),
        };
        Some(Self::ExportEnded { export: export.id, mode, format: export.format, reason })
    }

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
                let by = by.described();
                if *is_new {
                    format!("{by} added a webhook endpoint for {mode} data: {url}")
                } else {
                    format!("{by} changed the URL of a webhook endpoint for {mode} data: {url}")
                }
            }
            Self::Mentioned { mode, by, .. } => {
                format!("{} mentioned you in a note about a candidate in {} data.", by.described(), mode.as_str())
            }
            Self::ImportEnded { mode, format, source, outcome, .. } => {
                let of = of_data(*mode);
                let from = source.as_ref().map(|source| format!(" from {}", source.as_str()));
                let (from, format) = (from.unwrap_or_default(), format.as_str().to_uppercase());
                format!("Your import{of}{from} ({format}) {}", outcome.sentence())
            }
            Self::ExportEnded { mode, format, reason, .. } => {
                let (of, format) = (of_data(*mode), format.as_str().to_uppercase());
                match reason {
                    None => format!("Your export{of} ({format}) is done. Its files are kept for 24 hours."),
                    Some(reason) => format!("Your export{of} ({format}) has failed: {reason}"),
                }
            }
        }
    }
}

/// What an import or an export is of; nothing if it is of live data.
const fn of_data(mode: Mode) -> &'static str {
    match mode {
        Mode::Live => "",
        Mode::Test => " of test data",
    }
}
