//! The changes that a provider's callback, a report or a cancellation makes to a voice screen, whether it comes in a request
//! or from a task.

use std::str::FromStr;

use jiff::SignedDuration;

use crate::clock::{Timestamp, later};
use crate::id::{Id, Ids};
use crate::model::{
    Actor, CallState, CancelReason, CandidateRecord, Failure, Followed, Mode, Outcome, Report, ScreenRecord,
    ScreenStatus, Tenant, Touchpoint, TouchpointKind, VoiceProvider,
};
use crate::providers::voice::{CallEvent, Callback};
use crate::random::Random;
use crate::services::Author;
use crate::store::{CommitError, MaybeErased, Store, StoreError, Transaction};

/// The maximum time ahead that a screen can be scheduled.
pub const MAX_LEAD_TIME: SignedDuration = SignedDuration::from_hours(90 * 24);
/// The time to wait for the analysis of a report before requesting it from the provider.
pub const ANALYSIS_WAIT: SignedDuration = SignedDuration::from_secs(20);

/// The time after the first order that did not lead to a call, before the call is ordered again. It doubles each time.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_mins(1);
/// The longest time between two orders.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_mins(15);

/// The name that identifies a screen to a voice provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The tenant.
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

/// Applies a callback to its screen, if the screen exists and belongs to the provider. A screen that has ended no longer
/// changes.
pub async fn apply(
    store: &Store,
    provider: VoiceProvider,
    reference: Reference,
    callback: Callback,
    now: Timestamp,
    ids: &Ids,
    random: &Random,
) -> Result<(), CommitError> {
    let tenant = reference.tenant;
    let found = store.find_screen(tenant, reference.screen).await?;
    let Some(before) = found.filter(|record| record.provider == provider) else {
        tracing::warn!(provider = provider.as_str(), "a callback matches no screen of its provider");
        return Ok(());
    };
    if callback.call_id.as_ref().is_some_and(|id| before.orders.ended.contains(id)) {
        return Ok(());
    }
    let mut record = before.clone();
    let is_placed = matches!(before.dialing, CallState::Placed(_));
    let call = callback.call_id.filter(|_| !is_placed).map(CallState::Placed);
    if before.screen.status.is_end() {
        // The callback contains the id of the call, so a task can cancel it.
        let Some(call) = call.filter(|_| before.awaits_call()) else { return Ok(()) };
        return replace(store, tenant, &before, &record.follow_call(call, Some(now))).await;
    }
    let found = store.find_candidate(tenant, before.screen.candidate_id).await?;
    let Some(candidate) = found.and_then(MaybeErased::present) else {
        // The candidate was erased. The callback is ignored, but the call must be erased at the provider.
        let Some(call) = call else { return Ok(()) };
        return replace(store, tenant, &before, &record.follow_call(call, before.task_due)).await;
    };
    if let (Some(call), Some(due)) = (call, before.task_due) {
        record = record.dial(call, None, due, now);
    }
    record = match callback.event {
        CallEvent::Ended(report) if awaits_analysis(&report) && before.transcript_parts > 0 => {
            // An earlier callback delivered the transcript.
            return Ok(());
        }
        CallEvent::Ended(report)
            if awaits_analysis(&report) && matches!(record.dialing, CallState::Placed(_)) =>
        {
            return store_transcript(store, tenant, &before, record, &candidate, &report, now).await;
        }
        CallEvent::Ended(report) if can_be_put_off(&record, &report) => {
            return put_off(store, tenant, &before, record, now, ids, random).await;
        }
        CallEvent::Ended(report) => {
            return end(store, tenant, &before, record, report, now, ids).await;
        }
        CallEvent::InProgress => record.begin(now),
        CallEvent::Other => record,
    };
    if record == before { Ok(()) } else { replace(store, tenant, &before, &record).await }
}

/// Stores the changed record of a screen.
pub async fn replace(
    store: &Store,
    tenant: Tenant,
    before: &ScreenRecord,
    after: &ScreenRecord,
) -> Result<(), CommitError> {
    let mut transaction = Transaction::new(tenant);
    transaction.replace_screen(before, after)?;
    store.commit(transaction).await
}

/// Whether this report says that an ordered call was not made, for a reason that passes, so that it is ordered again.
pub fn can_be_put_off(record: &ScreenRecord, report: &Report) -> bool {
    report.outcome == Outcome::Failed(Failure::Busy)
        && matches!(record.dialing, CallState::Placed(_))
        && record.screen.status != ScreenStatus::InProgress
}

/// Orders a call later that was not made, or ends its screen if that would be too late. `before` is the record as read, and
/// `record` may have changed since.
pub async fn put_off(
    store: &Store,
    tenant: Tenant,
    before: &ScreenRecord,
    record: ScreenRecord,
    now: Timestamp,
    ids: &Ids,
    random: &Random,
) -> Result<(), CommitError> {
    let due = later(now, pause(record.orders.put_off, random));
    if due > record.latest_order() {
        let report = Report::without_conversation(Outcome::Failed(Failure::Busy));
        return end(store, tenant, before, record, report, now, ids).await;
    }
    replace(store, tenant, before, &record.put_off(due, now)).await?;
    // A metric counts these lines.
    tracing::info!(%tenant, screen = before.screen.id.get(), waiting_calls = 1_u64, "a call is put off");
    Ok(())
}

/// The time until the next order, after this number of orders that did not lead to a call: at random, so that calls that
/// were put off together are not ordered together.
pub fn pause(put_off: u32, random: &Random) -> SignedDuration {
    let longest = FIRST_PAUSE.saturating_mul(1 << put_off.min(8)).min(LONGEST_PAUSE).as_secs();
    let half = longest / 2;
    let more = random.below(u64::try_from(half).unwrap_or(0) + 1);
    SignedDuration::from_secs(half + i64::try_from(more).unwrap_or(0))
}

/// Ends a screen in one transaction that also stores the transcript, the role's counters, the candidate and a
/// touchpoint. `before` is the record as read, and `record` may have changed since. Does nothing if the candidate was erased.
pub async fn end(
    store: &Store,
    tenant: Tenant,
    before: &ScreenRecord,
    mut record: ScreenRecord,
    report: Report,
    now: Timestamp,
    ids: &Ids,
) -> Result<(), CommitError> {
    let mut transaction = Transaction::new(tenant);
    if let Outcome::Failed(Failure::Account(reason)) = &report.outcome {
        // Every line at this level raises an alarm.
        tracing::error!(
            provider = before.provider.as_str(),
            reason,
            "the voice provider's account does not allow calls"
        );
    }
    if report.outcome == Outcome::Declined {
        // Nothing is kept of what was said.
        transaction.delete_transcript(record.screen.id, record.transcript_parts);
        record.transcript_parts = 0;
    } else if !report.transcript.is_empty() {
        record.transcript_parts = transaction.put_transcript(record.screen.id, &report.transcript)?;
    }
    let record = record.end(report, now);
    transaction.replace_screen(before, &record)?;
    let screen = &record.screen;
    let candidate = store.find_candidate(tenant, screen.candidate_id).await?;
    let Some(candidate) = candidate.and_then(MaybeErased::present) else { return Ok(()) };
    // What a completed screen counts for depends on whether the role is closed now.
    let change = store.find_role_change(tenant, screen.role_id).await?;
    let followed = candidate.clone().follow(change.as_ref().map(|change| &change.state), now);
    let Followed { record: current, statuses } =
        followed.unwrap_or_else(|| Followed { record: candidate.clone(), statuses: Vec::new() });
    let after = current.end_screen(screen);
    let author = Author { ids, actor: Actor::system(), at: now };
    let mut history = author.touchpoints(statuses.iter().map(TouchpointKind::of_status));
    if screen.status == ScreenStatus::Completed {
        let (screen_id, role_id, result) = (screen.id, screen.role_id, screen.result);
        let kind = TouchpointKind::ScreenCompleted { screen_id, role_id, result };
        history.push(Touchpoint { id: ids.next(), kind, at: now, actor: Actor::voice_provider() });
    }
    transaction.replace_candidate(&candidate, &after, &history)?;
    match store.commit(transaction).await {
        Err(CommitError::RoleChanged) => Err(CommitError::Stale),
        result => result,
    }
}

/// Adds the cancellation of a screen to a transaction that also changes the candidate and adds a touchpoint. `before` and
/// `candidate` are the records as read, and `after` is the cancelled screen.
pub fn cancel(
    transaction: &mut Transaction,
    before: &ScreenRecord,
    after: &ScreenRecord,
    candidate: &CandidateRecord,
    reason: CancelReason,
    author: &Author<'_>,
) -> Result<(), StoreError> {
    transaction.replace_screen(before, after)?;
    let (screen_id, role_id) = (after.screen.id, after.screen.role_id);
    let history = author.touchpoints([TouchpointKind::ScreenCancelled { screen_id, role_id, reason }]);
    transaction.replace_candidate(candidate, &candidate.clone().close_screen(screen_id), &history)
}

/// Stores the transcript of a call that has ended without an analysis, and schedules a task to fetch the analysis. The
/// candidate must not be erased before the commit.
async fn store_transcript(
    store: &Store,
    tenant: Tenant,
    before: &ScreenRecord,
    record: ScreenRecord,
    candidate: &CandidateRecord,
    report: &Report,
    now: Timestamp,
) -> Result<(), CommitError> {
    let mut transaction = Transaction::new(tenant);
    transaction.require_candidate(candidate);
    let mut record = record.postpone(later(now, ANALYSIS_WAIT));
    record.transcript_parts = transaction.put_transcript(record.screen.id, &report.transcript)?;
    transaction.replace_screen(before, &record)?;
    store.commit(transaction).await
}

/// Whether the report of a completed conversation still lacks the analysis.
pub fn awaits_analysis(report: &Report) -> bool {
    report.analysis.is_none() && report.outcome == Outcome::Completed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_quarter_of_an_hour_and_differ() {
        let random = Random::seeded(1);
        for (put_off, longest) in [(0, 60), (1, 120), (3, 480), (4, 900), (100, 900), (u32::MAX, 900)] {
            let pauses: Vec<_> = (0..50).map(|_| pause(put_off, &random).as_secs()).collect();
            assert!(pauses.iter().all(|pause| (longest / 2..=longest).contains(pause)), "{pauses:?}");
            assert!(pauses.iter().any(|pause| *pause != pauses[0]));
        }
    }
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_reference_round_trips_through_text(organization in 1..=Id::MAX, screen in 1..=Id::MAX, live: bool) {
            let id = |n| Id::new(n).unwrap();
            let mode = if live { Mode::Live } else { Mode::Test };
            let tenant = Tenant { organization: id(organization), mode };
            let reference = Reference { tenant, screen: id(screen) };
            prop_assert_eq!(reference.to_string().parse(), Ok(reference));
        }

        #[test]
        fn parsed_references_are_in_canonical_form(text in "\\PC{0,40}") {
            if let Ok(reference) = text.parse::<Reference>() {
                prop_assert_eq!(reference.to_string(), text);
            }
        }
    }
}
