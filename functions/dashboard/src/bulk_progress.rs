//! How far acts on several candidates are, in words, and where their pages are.

use shared::model::{BulkAct, BulkKind, BulkState, BulkStop, grouped};

use crate::candidate_list::{ListPage, PATH};

/// How far an act is, in words.
pub(crate) fn progress(act: &BulkAct) -> String {
    let (doing, past) = match act.kind {
        BulkKind::Rejected => ("Rejecting", "rejected"),
        BulkKind::Moved => ("Moving", "moved"),
        BulkKind::Tagged => ("Tagging", "tagged"),
        BulkKind::Noted => ("Adding the note to", "given the note"),
        BulkKind::Invited => ("Inviting", "invited"),
    };
    let (progress, total, changed) = (grouped(act.progress()), grouped(act.total), grouped(act.changed));
    let noun = if act.total == 1 { "candidate" } else { "candidates" };
    let done = format!("{changed} of {total} {noun} {past}.");
    match act.state {
        BulkState::Running => format!("{doing} {progress} of {total} {noun} ..."),
        BulkState::Stopping => {
            format!("{doing} {progress} of {total} {noun} ... Stopping after the hundred whose turn it is.")
        }
        BulkState::Done if act.unchanged > 0 => {
            format!("{done} {} had the tag already.", grouped(act.unchanged))
        }
        BulkState::Done => done,
        BulkState::Stopped => match act.stop {
            Some(BulkStop::Rights) => format!(
                "{done} Stopped, because the member who began it is no longer a member or the organization was suspended."
            ),
            Some(BulkStop::Late) => format!("{done} Stopped, because it took longer than a day."),
            Some(BulkStop::Member) | None => format!("{done} Stopped."),
        },
        BulkState::Undoing => format!("Undoing for {progress} of {changed} {noun} ..."),
        BulkState::Undone => format!("Undone for {} of {changed} {noun}.", grouped(act.undone)),
    }
}

/// The path of the page of an act.
pub(crate) fn act_path(list: &ListPage, act: &BulkAct) -> String {
    format!("{PATH}/bulk?act={}&{}", act.id, list.parameter())
}
