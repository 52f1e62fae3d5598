//! What becomes of a voice screen once its call has ended, whoever brings the news.

use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};

use crate::id::{Id, Ids};
use crate::model::{Happening, Mode, Outcome, Report, ScreenFile, ScreenStatus, Tenant, Touchpoint};
use crate::store::{Refusal, Store, Writes};

/// By whom the history says that a screen was completed.
const ACTOR: &str = "voice provider";
/// How long a report without an analysis waits before the provider is asked again.
pub const ANALYSIS_WAIT: SignedDuration = SignedDuration::from_secs(20);

/// The name by which a voice provider knows a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Whose it is.
    pub tenant: Tenant,
    /// The screen.
    pub screen: Id,
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tenant { organization, mode } = self.tenant;
        write!(f, "{organization}-{}-{}", mode.as_str(), self.screen)
    }
}

impl FromStr for Reference {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('-');
        let (Some(organization), Some(mode), Some(screen), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(());
        };
        let organization = organization.parse().map_err(|_| ())?;
        let mode = mode.parse::<Mode>().map_err(|_| ())?;
        Ok(Self { tenant: Tenant { organization, mode }, screen: screen.parse().map_err(|_| ())? })
    }
}

/// Ends the screen that was read as `before`: its lists, its transcript, the role's counters, the candidate and its
/// history, all together.
pub async fn end(
    store: &Store,
    tenant: Tenant,
    before: &ScreenFile,
    report: Report,
    now: Timestamp,
    ids: &Ids,
) -> Result<(), Refusal> {
    let mut writes = Writes::new(tenant);
    let mut file = before.clone();
    if !report.transcript.is_empty() {
        file.transcript_parts = writes.put_transcript(file.screen.id, &report.transcript)?;
    }
    let file = file.end(report, now);
    writes.replace_screen(before, &file)?;
    let screen = &file.screen;
    if let Some(candidate) = store.find_candidate(tenant, screen.candidate_id).await? {
        let after = candidate.clone().close_screen(screen.id);
        writes.replace_candidate(&candidate, &after)?;
        if screen.status == ScreenStatus::Completed {
            let (screen_id, role_id, result) = (screen.id, screen.role_id, screen.result);
            let happening = Happening::ScreenCompleted { screen_id, role_id, result };
            let touchpoint = Touchpoint { id: ids.next(), happening, at: now, actor: ACTOR.to_owned() };
            writes.insert_touchpoints(&after, &[touchpoint])?;
        }
    }
    store.commit(writes).await
}

/// Keeps the transcript of a call that has ended while its analysis is not there yet, and has the provider asked again.
pub async fn keep(
    store: &Store,
    tenant: Tenant,
    before: &ScreenFile,
    file: ScreenFile,
    report: &Report,
    now: Timestamp,
) -> Result<(), Refusal> {
    let mut writes = Writes::new(tenant);
    let mut file = file.postpone(now.saturating_add(ANALYSIS_WAIT).unwrap_or(now), now);
    file.transcript_parts = writes.put_transcript(file.screen.id, &report.transcript)?;
    writes.replace_screen(before, &file)?;
    store.commit(writes).await
}

/// Whether a report tells of a conversation that is still being analysed.
pub fn is_early(report: &Report) -> bool {
    report.analysis.is_none() && report.outcome == Outcome::Completed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_reference_survives_text(organization in 1..=Id::MAX, screen in 1..=Id::MAX, live: bool) {
            let id = |n| Id::new(n).unwrap();
            let mode = if live { Mode::Live } else { Mode::Test };
            let tenant = Tenant { organization: id(organization), mode };
            let reference = Reference { tenant, screen: id(screen) };
            prop_assert_eq!(reference.to_string().parse(), Ok(reference));
        }

        #[test]
        fn nothing_else_is_one(text in "\\PC{0,40}") {
            if let Ok(reference) = text.parse::<Reference>() {
                prop_assert_eq!(reference.to_string(), text);
            }
        }
    }
}
