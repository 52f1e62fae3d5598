//! The sentences of a candidate's history.

use shared::id::Id;
use shared::model::{ReviewDecision, Touchpoint, TouchpointKind};

use crate::files;

/// The history, without the entries of files that the entry after them tells as a resume.
pub(crate) fn told_once(touchpoints: &[Touchpoint]) -> impl Iterator<Item = &Touchpoint> {
    let is_told = |index: usize, one: &Touchpoint| {
        let after = index.checked_sub(1).and_then(|after| touchpoints.get(after));
        matches!(one.kind, TouchpointKind::FileAdded { .. })
            && after.is_some_and(|after| after.at == one.at && after.resume().is_some())
    };
    let all = touchpoints.iter().enumerate().filter(move |(index, one)| !is_told(*index, one));
    all.map(|(_, one)| one)
}

/// Describes a touchpoint.
pub(crate) fn sentence<'t>(touchpoint: &Touchpoint, title: &impl Fn(Id) -> &'t str) -> String {
    let of_role = |role_id: &Option<Id>| match role_id {
        Some(role_id) => format!(" for {}", title(*role_id)),
        None => String::new(),
    };
    match &touchpoint.kind {
        TouchpointKind::Created { .. } => "Added".to_owned(),
        TouchpointKind::Applied { role_id, .. } => format!("Applied for {}", title(*role_id)),
        TouchpointKind::Reapplied { role_id, .. } => format!("Applied again for {}", title(*role_id)),
        TouchpointKind::OfferedAccepted { role_id, .. } => {
            format!("Details from the form for {} taken over", title(*role_id))
        }
        TouchpointKind::OfferedDismissed { role_id, .. } => {
            format!("Details from the form for {} dismissed", title(*role_id))
        }
        TouchpointKind::Updated { resume: Some(_), .. } => "Uploaded a resume file".to_owned(),
        TouchpointKind::Updated { fields, .. } => format!("Changed {}", fields.join(", ").replace('_', " ")),
        TouchpointKind::StageChanged { role_id, from, to } => {
            format!("Moved from {} to {}{}", from.as_str(), to.as_str(), of_role(role_id))
        }
        TouchpointKind::Rejected { role_id, from, reason, .. } => {
            let reason = reason.as_ref().map(|reason| format!(": {}", reason.as_str())).unwrap_or_default();
            format!("Rejected at the {} stage{}{reason}", from.as_str(), of_role(role_id))
        }
        TouchpointKind::Withdrawn { role_id, from, reason } => {
            let reason = reason.as_ref().map(|reason| format!(": {}", reason.as_str())).unwrap_or_default();
            format!("Withdrew at the {} stage{}{reason}", from.as_str(), of_role(role_id))
        }
        TouchpointKind::Unrejected { role_id, to } => {
            format!("Rejection undone, moved to {}{}", to.as_str(), of_role(role_id))
        }
        TouchpointKind::Hired { role_id, start_date, .. } => {
            let start = start_date.map(|date| format!(", starting on {}", date.strftime("%-d %b %Y")));
            format!("Hired{}{}", of_role(role_id), start.unwrap_or_default())
        }
        TouchpointKind::Unhired { role_id, to } => {
            format!("Hire undone, moved to {}{}", to.as_str(), of_role(role_id))
        }
        TouchpointKind::ApplicationClosed { role_id, .. } => {
            format!("Application closed with the role {}", title(*role_id))
        }
        TouchpointKind::ApplicationReopened { role_id, .. } => {
            format!("Application active again with the role {}", title(*role_id))
        }
        TouchpointKind::Imported { .. } => "Imported".to_owned(),
        TouchpointKind::NoteAdded { .. } => "Added a note".to_owned(),
        TouchpointKind::ApplicationDeleted { .. } => {
            "Deleted the application, because its import was undone".to_owned()
        }
        TouchpointKind::NoteUpdated { .. } => "Edited a note".to_owned(),
        TouchpointKind::NoteDeleted { .. } => "Deleted a note".to_owned(),
        TouchpointKind::FileAdded { kind, role_id, .. } => {
            format!("Added a file{}: {}", of_role(role_id), files::words(*kind))
        }
        TouchpointKind::FileDeleted { kind, role_id, .. } => {
            format!("Deleted a file{}: {}", of_role(role_id), files::words(*kind))
        }
        TouchpointKind::ConsentChanged { purpose, granted, .. } => {
            format!(
                "Consent to {} {}",
                purpose.words(),
                if *granted { "given" } else { "not given or withdrawn" }
            )
        }
        TouchpointKind::ScreenInvited { role_id, .. } => {
            format!("Invited to a voice screen for {}", title(*role_id))
        }
        TouchpointKind::ScreenCancelled { role_id, reason, .. } => {
            format!("Voice screen for {} cancelled{}", title(*role_id), reason.because())
        }
        TouchpointKind::ScreenReviewed { role_id, decision, .. } => {
            let decision = decision.map_or("reviewed", ReviewDecision::as_str);
            format!("Result of the voice screen for {} {decision}", title(*role_id))
        }
        TouchpointKind::ScreenCompleted { role_id, result, .. } => match result {
            Some(result) => format!("Completed a voice screen for {}: {}", title(*role_id), result.as_str()),
            None => format!("Completed a voice screen for {}", title(*role_id)),
        },
    }
}
