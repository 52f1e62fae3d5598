//! Voice screens: AI interviews by telephone, from the invitation to the result.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::actor::Actor;
use super::evidence::Evidence;
use super::role::InvalidTransition;
use super::string_enum::string_enum;
use super::text::Lines;
use super::turn::Turn;
use crate::clock::{Timestamp, later, time_of_change};
use crate::id::Id;

/// How long after its scheduled time a call may still be made.
const LATEST_AFTER_SCHEDULE: SignedDuration = SignedDuration::from_hours(2);
/// How long after the invitation a call without a scheduled time may still be made.
const LATEST_AFTER_INVITATION: SignedDuration = SignedDuration::from_hours(24);
/// What users read while a call waits to be ordered again.
const WAITING: &str = "The voice provider could not make the call yet. It is tried again.";
/// The summary of a conversation that is too short for scores.
const TOO_LITTLE: &str = "The candidate said too little to judge: scores need three answers and 30 seconds.";

string_enum! {
    /// The status of a screen. The last five are final.
    pub enum ScreenStatus {
        /// The call will be made immediately.
        Queued = "queued",
        /// The call will be made at the scheduled time.
        Scheduled = "scheduled",
        /// The conversation is in progress.
        InProgress = "in_progress",
        /// The conversation took place.
        Completed = "completed",
        /// The candidate did not answer the call, or said nothing.
        NoAnswer = "no_answer",
        /// The call or the conversation failed.
        Failed = "failed",
        /// The screen was cancelled before the conversation began.
        Cancelled = "cancelled",
        /// The candidate declined the conversation.
        Declined = "declined",
    }
}

string_enum! {
    /// Why a screen was cancelled.
    pub enum CancelReason {
        /// A user cancelled it.
        Requested = "requested",
        /// The candidate was rejected.
        Rejected = "rejected",
        /// The candidate was hired.
        Hired = "hired",
        /// The role was closed.
        RoleClosed = "role_closed",
        /// The candidate withdrew a consent.
        ConsentWithdrawn = "consent_withdrawn",
        /// The organization was suspended.
        OrganizationSuspended = "organization_suspended",
    }
}

string_enum! {
    /// The result of a completed screen.
    pub enum ScreenResult {
        /// The overall score is at least 70.
        Passed = "passed",
        /// The overall score is below 70.
        Failed = "failed",
    }
}

string_enum! {
    /// What a person decided about the result of a screen.
    pub enum ReviewDecision {
        /// The result stands.
        Confirmed = "confirmed",
        /// The result does not count.
        Overruled = "overruled",
    }
}

/// A text that explains a review.
pub type ReviewNote = Lines<2_000>;

/// A person's review of the result of a screen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Review {
    /// When the candidate asked for the review; `null` if nobody asked.
    pub requested_at: Option<Timestamp>,
    /// When the decision was made.
    pub decided_at: Timestamp,
    /// The decision.
    pub decision: ReviewDecision,
    /// Why.
    pub note: Option<ReviewNote>,
    /// Who decided.
    pub actor: Actor,
}

string_enum! {
    /// A voice provider, which calls candidates.
    pub enum VoiceProvider {
        /// Vapi, which calls over the telephone network.
        Vapi = "vapi",
        /// The built-in simulator, which makes no calls.
        Simulator = "simulator",
    }
}

/// A highlight or a red flag of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Excerpt {
    /// The observation.
    pub text: String,
    /// The index of the transcript turn that supports the observation.
    pub turn: Option<u32>,
}

/// The scores of a conversation, each from 0 to 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Scores {
    /// The overall score.
    #[schema(maximum = 100)]
    pub overall: Option<u8>,
    /// How clearly the candidate communicates.
    #[schema(maximum = 100)]
    pub communication: Option<u8>,
    /// How well the candidate's experience fits the role.
    #[schema(maximum = 100)]
    pub experience: Option<u8>,
    /// How motivated the candidate is.
    #[schema(maximum = 100)]
    pub motivation: Option<u8>,
}

/// The AI's analysis of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analysis {
    /// A summary of the conversation.
    pub summary: Option<String>,
    /// The scores.
    pub scores: Scores,
    /// Points in favor of the candidate.
    pub highlights: Vec<Excerpt>,
    /// Concerns about the candidate.
    pub red_flags: Vec<Excerpt>,
}

/// What conducted and assessed a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Assessment {
    /// The voice provider.
    pub provider: VoiceProvider,
    /// The language model, if there is one.
    pub model: Option<String>,
    /// A digest of the instructions for the conversation, if there are any. The same instructions have the same digest.
    pub prompt_version: Option<String>,
    /// A digest of the rubric for the scores, if there is one. The same rubric has the same digest.
    pub rubric_version: Option<String>,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The conversation took place.
    Completed,
    /// The candidate did not answer the call, or said nothing.
    NoAnswer,
    /// The candidate declined the conversation.
    Declined,
    /// The call or the conversation failed.
    Failed(Failure),
}

/// Why a call or a conversation failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// The number does not exist, or its network does not take the call.
    Number,
    /// The provider's account or its settings do not allow the call. Only the operator's log has the provider's reason.
    Account(String),
    /// The provider could not make calls at that time.
    Busy,
    /// Somebody cancelled the call at the provider.
    Cancelled,
    /// The provider's service broke down during the call.
    Broken,
    /// The provider gave no reason that is known.
    Unexplained,
    /// For the reason in this sentence.
    Other(String),
}

impl Failure {
    /// The sentence that users read.
    pub fn sentence(&self) -> &str {
        match self {
            Self::Number => "The phone number cannot be reached. Check it with the candidate.",
            Self::Account(_) => {
                "This service cannot make calls at present. Its operator has been told; invite the candidate again later."
            }
            Self::Busy => "The voice provider could not make the call. Invite the candidate again.",
            Self::Cancelled => "The call was cancelled at the voice provider.",
            Self::Broken => {
                "The call broke down at the voice provider before the candidate spoke. Invite the candidate again."
            }
            Self::Unexplained => "The call ended before the candidate spoke.",
            Self::Other(sentence) => sentence,
        }
    }
}

/// A provider's report on a call that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The outcome.
    pub outcome: Outcome,
    /// When the conversation began.
    pub started_at: Option<Timestamp>,
    /// When the conversation ended.
    pub ended_at: Option<Timestamp>,
    /// The transcript.
    pub transcript: Vec<Turn>,
    /// The analysis; `None` until the provider has finished it. Empty if there will be none.
    pub analysis: Option<Analysis>,
}

impl Report {
    /// A report that has only an outcome.
    pub const fn without_conversation(outcome: Outcome) -> Self {
        Self { outcome, started_at: None, ended_at: None, transcript: Vec::new(), analysis: None }
    }
}

/// A screen, as shown in lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Screen {
    /// The identifier.
    pub id: Id,
    /// The candidate.
    pub candidate_id: Id,
    /// The role.
    pub role_id: Id,
    /// The status.
    pub status: ScreenStatus,
    /// The scheduled time of the call, if one was chosen.
    pub scheduled_at: Option<Timestamp>,
    /// When the conversation began.
    pub started_at: Option<Timestamp>,
    /// When the conversation ended, if the screen was completed.
    pub completed_at: Option<Timestamp>,
    /// The duration of the conversation, in seconds.
    pub duration_seconds: Option<u64>,
    /// A summary of the conversation, or an explanation of why there was none.
    pub summary: Option<String>,
    /// The scores.
    pub scores: Scores,
    /// The result; `None` without an overall score, or if a person has overruled it.
    pub result: Option<ScreenResult>,
    /// What a person decided about the result, if anybody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    /// When the candidate was invited.
    pub created_at: Timestamp,
    /// When the screen was last updated.
    pub updated_at: Timestamp,
}

/// An invitation to a voice screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// The screen's identifier.
    pub id: Id,
    /// The candidate.
    pub candidate_id: Id,
    /// The role.
    pub role_id: Id,
    /// The scheduled time of the call; `None` means immediately.
    pub scheduled_at: Option<Timestamp>,
}

/// The state of a call at the voice provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallState {
    /// The call has not been requested yet, or is to be requested again.
    Due,
    /// The call is being requested, or the provider's response was lost. Unless the provider has not made it, it is never
    /// requested a second time.
    Asked,
    /// The provider has accepted the call and returned this id.
    Placed(String),
}

/// The orders of a screen's call so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// When the call was last ordered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_at: Option<Timestamp>,
    /// The number of orders after which no call was made.
    #[serde(default)]
    pub put_off: u32,
    /// The provider's ids of orders after which no call was made. Reports on them no longer count.
    #[serde(default)]
    pub ended: Vec<String>,
}

impl Orders {
    /// Whether there was no order.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A screen with everything that its transitions depend on. The transcript is stored separately.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenRecord {
    /// The screen.
    #[serde(flatten)]
    pub screen: Screen,
    /// Points in favor of the candidate.
    pub highlights: Vec<Excerpt>,
    /// Concerns about the candidate.
    pub red_flags: Vec<Excerpt>,
    /// The number of items that the transcript is stored in.
    pub transcript_parts: usize,
    /// The provider that makes the call.
    pub provider: VoiceProvider,
    /// What conducts and assesses the conversation, once the call has been requested.
    pub assessment: Option<Assessment>,
    /// The base URL of the invitation's request. The provider reports to it unless a callback URL is configured.
    pub base_url: String,
    /// The state of the call at the provider.
    pub dialing: CallState,
    /// The orders of the call so far.
    #[serde(default, skip_serializing_if = "Orders::is_empty")]
    pub orders: Orders,
    /// When the next task for the screen is due; `None` once the screen has ended. The call of a cancelled screen may
    /// still have to be cancelled at the provider, and that of a declined one be deleted there.
    pub task_due: Option<Timestamp>,
    /// The version, which increases with every write. A write fails if the stored version has changed since it was read.
    pub version: u64,
}

impl ScreenStatus {
    /// Whether the status is final.
    pub const fn is_end(self) -> bool {
        !matches!(self, Self::Queued | Self::Scheduled | Self::InProgress)
    }
}

impl CancelReason {
    /// What users read after the word "cancelled".
    pub const fn because(self) -> &'static str {
        match self {
            Self::Requested => "",
            Self::Rejected => " because the candidate was rejected",
            Self::Hired => " because the candidate was hired",
            Self::RoleClosed => " because the role was closed",
            Self::ConsentWithdrawn => " because the candidate withdrew consent",
            Self::OrganizationSuspended => " because the organization was suspended",
        }
    }
}

impl ScreenResult {
    /// The result for an overall score.
    pub const fn of(overall: u8) -> Self {
        if overall >= 70 { Self::Passed } else { Self::Failed }
    }
}

impl ScreenRecord {
    /// A new screen. Its call is requested from the provider at `request_at`.
    pub fn invited(
        invitation: Invitation,
        provider: VoiceProvider,
        request_at: Timestamp,
        base_url: String,
        now: Timestamp,
    ) -> Self {
        let Invitation { id, candidate_id, role_id, scheduled_at } = invitation;
        let status = if scheduled_at.is_some() { ScreenStatus::Scheduled } else { ScreenStatus::Queued };
        let screen = Screen {
            id,
            candidate_id,
            role_id,
            status,
            scheduled_at,
            started_at: None,
            completed_at: None,
            duration_seconds: None,
            summary: None,
            scores: Scores::default(),
            result: None,
            review: None,
            created_at: now,
            updated_at: now,
        };
        Self {
            screen,
            highlights: Vec::new(),
            red_flags: Vec::new(),
            transcript_parts: 0,
            provider,
            assessment: None,
            base_url,
            dialing: CallState::Due,
            orders: Orders::default(),
            task_due: Some(request_at),
            version: 1,
        }
    }

    /// Marks the conversation as in progress. Changes nothing if it has already begun or the screen has ended.
    #[must_use]
    pub fn begin(self, now: Timestamp) -> Self {
        match self.screen.status {
            ScreenStatus::Queued | ScreenStatus::Scheduled => {
                let mut record = self.changed(now);
                record.screen.status = ScreenStatus::InProgress;
                record.screen.started_at = Some(now);
                record.screen.summary = None;
                record
            }
            _ => self,
        }
    }

    /// Ends the screen with the provider's report. Changes nothing if it has already ended.
    #[must_use]
    pub fn end(self, report: Report, now: Timestamp) -> Self {
        if self.screen.status.is_end() {
            return self;
        }
        let mut record = self.changed(now);
        record.task_due = None;
        let may_have_call = record.may_have_call();
        let screen = &mut record.screen;
        screen.started_at = report.started_at.or(screen.started_at);
        match report.outcome {
            Outcome::Completed => {
                let span =
                    screen.started_at.zip(report.ended_at).map(|(start, end)| end.duration_since(start));
                let last_turn = report.transcript.iter().map(|turn| i64::from(turn.at_seconds)).max();
                let length = span.unwrap_or(SignedDuration::from_secs(last_turn.unwrap_or(0)));
                let analysis = if Evidence::of(&report.transcript).allows_scores(length) {
                    report.analysis.unwrap_or_default()
                } else {
                    Analysis { summary: Some(TOO_LITTLE.to_owned()), ..Analysis::default() }
                };
                screen.status = ScreenStatus::Completed;
                // The end may be in the future if the provider's clock is ahead or the conversation is simulated.
                screen.completed_at = Some(report.ended_at.unwrap_or(now).min(now));
                screen.duration_seconds = span.and_then(|span| u64::try_from(span.as_secs()).ok());
                screen.summary = analysis.summary;
                screen.scores = analysis.scores;
                screen.result = analysis.scores.overall.map(ScreenResult::of);
                record.highlights = analysis.highlights;
                record.red_flags = analysis.red_flags;
            }
            Outcome::NoAnswer => {
                screen.status = ScreenStatus::NoAnswer;
                screen.summary = Some("The candidate did not answer the call.".to_owned());
            }
            Outcome::Declined => {
                // Nothing is kept at the provider, either: a task deletes the call.
                record.task_due = may_have_call.then_some(now);
                screen.status = ScreenStatus::Declined;
                screen.summary = Some("The candidate declined the conversation.".to_owned());
            }
            Outcome::Failed(failure) => {
                screen.status = ScreenStatus::Failed;
                screen.summary = Some(failure.sentence().to_owned());
            }
        }
        record
    }

    /// Cancels the screen before its conversation has begun. If the call may have been requested, a task is due that
    /// cancels it at the provider.
    pub fn cancel(self, reason: CancelReason, now: Timestamp) -> Result<Self, InvalidTransition> {
        let (from, to) = (self.screen.status, ScreenStatus::Cancelled);
        if !matches!(from, ScreenStatus::Queued | ScreenStatus::Scheduled) {
            return Err(InvalidTransition { field: "status", from: from.as_str(), to: to.as_str() });
        }
        let mut record = self.changed(now);
        record.screen.status = to;
        record.screen.summary = Some(format!("The screen was cancelled{}.", reason.because()));
        record.task_due = record.may_have_call().then_some(now);
        Ok(record)
    }

    /// Confirms or overrules the result. Only the result that follows from a score can be reviewed, any number of times.
    pub fn review(self, review: Review) -> Result<Self, InvalidTransition> {
        let (result, now) = (self.screen.scores.overall.map(ScreenResult::of), review.decided_at);
        let Some(result) = result else {
            let to = review.decision.as_str();
            return Err(InvalidTransition { field: "result", from: "null", to });
        };
        let mut record = self.changed(now);
        record.screen.result = (review.decision == ReviewDecision::Confirmed).then_some(result);
        record.screen.review = Some(review);
        Ok(record)
    }

    /// Removes everything about the conversation, and cancels the screen if it has not ended. The state of the call stays,
    /// and no task is due.
    #[must_use]
    pub fn erase(mut self) -> Self {
        let Screen { id, candidate_id, role_id, status, scheduled_at, created_at, updated_at, .. } =
            self.screen;
        self.screen = Screen {
            id,
            candidate_id,
            role_id,
            status: if status.is_end() { status } else { ScreenStatus::Cancelled },
            scheduled_at,
            started_at: None,
            completed_at: None,
            duration_seconds: None,
            summary: None,
            scores: Scores::default(),
            result: None,
            review: None,
            created_at,
            updated_at,
        };
        self.highlights.clear();
        self.red_flags.clear();
        self.transcript_parts = 0;
        self.task_due = None;
        self.version += 1;
        self
    }

    /// Whether the screen ended while its call was being requested, and the call has to be cancelled or deleted once its id
    /// is known.
    pub fn awaits_call(&self) -> bool {
        let has_to_go = matches!(self.screen.status, ScreenStatus::Cancelled | ScreenStatus::Declined);
        has_to_go && self.dialing == CallState::Asked
    }

    /// Updates the call of a screen that has ended. The screen itself stays the same.
    #[must_use]
    pub fn follow_call(mut self, dialing: CallState, due: Option<Timestamp>) -> Self {
        self.dialing = dialing;
        self.task_due = due;
        self.version += 1;
        self
    }

    /// Updates the state of the call at the provider. `note` explains a problem to the users. `updated_at` stays if the note does.
    #[must_use]
    pub fn dial(self, dialing: CallState, note: Option<String>, due: Timestamp, now: Timestamp) -> Self {
        let mut record = if self.screen.summary == note { self.advanced() } else { self.changed(now) };
        match std::mem::replace(&mut record.dialing, dialing) {
            CallState::Placed(ended) if record.dialing == CallState::Due => record.orders.ended.push(ended),
            _ => {}
        }
        record.task_due = Some(due);
        record.screen.summary = note;
        record
    }

    /// Puts off a call that the provider has not made. It is ordered again at `due`.
    #[must_use]
    pub fn put_off(self, due: Timestamp, now: Timestamp) -> Self {
        let mut record = self.dial(CallState::Due, Some(WAITING.to_owned()), due, now);
        record.orders.put_off += 1;
        record
    }

    /// Whether the provider may have the call.
    fn may_have_call(&self) -> bool {
        self.dialing != CallState::Due || !self.orders.is_empty()
    }

    /// The time of the call: the scheduled time, or that of the last order if it is later.
    pub fn call_at(&self) -> Timestamp {
        let screen = &self.screen;
        screen.scheduled_at.max(self.orders.last_at).unwrap_or(screen.created_at)
    }

    /// The time until which the call may be ordered.
    pub fn latest_order(&self) -> Timestamp {
        let Screen { scheduled_at, created_at, .. } = self.screen;
        scheduled_at.map_or(later(created_at, LATEST_AFTER_INVITATION), |call_at| {
            later(call_at, LATEST_AFTER_SCHEDULE)
        })
    }

    /// Postpones the next task. `updated_at` stays.
    #[must_use]
    pub fn postpone(self, due: Timestamp) -> Self {
        Self { task_due: Some(due), ..self.advanced() }
    }

    fn changed(mut self, now: Timestamp) -> Self {
        self.screen.updated_at = time_of_change(now, self.screen.updated_at);
        self.advanced()
    }

    fn advanced(mut self) -> Self {
        self.version += 1;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::turn::Speaker;
    use super::*;

    fn record(status: ScreenStatus) -> ScreenRecord {
        let id = |n| Id::new(n).unwrap();
        let invitation = Invitation { id: id(3), candidate_id: id(1), role_id: id(2), scheduled_at: None };
        let now = Timestamp::UNIX_EPOCH;
        let mut record = ScreenRecord::invited(invitation, VoiceProvider::Vapi, now, String::new(), now);
        record.screen.status = status;
        record
    }

    fn report(outcome: Outcome, overall: Option<u8>) -> Report {
        let scores = Scores { overall, ..Scores::default() };
        Report {
            outcome,
            started_at: Some("2026-11-20T09:00:00Z".parse().unwrap()),
            ended_at: Some("2026-11-20T09:04:10Z".parse().unwrap()),
            transcript: answers(3),
            analysis: Some(Analysis { scores, ..Analysis::default() }),
        }
    }

    /// A transcript with this number of turns of the candidate.
    fn answers(count: usize) -> Vec<Turn> {
        vec![Turn { speaker: Speaker::Candidate, text: "Yes".to_owned(), at_seconds: 40 }; count]
    }

    /// Tries every report in every status. Only the documented transitions happen, and a final status never changes.
    #[test]
    fn only_the_documented_transitions_are_allowed() {
        let now = "2026-11-20T09:05:00Z".parse().unwrap();
        for status in ScreenStatus::ALL {
            let begun = record(status).begin(now);
            let expected = match status {
                ScreenStatus::Queued | ScreenStatus::Scheduled => ScreenStatus::InProgress,
                other => other,
            };
            assert_eq!(begun.screen.status, expected);
            for (outcome, end) in [
                (Outcome::Completed, ScreenStatus::Completed),
                (Outcome::NoAnswer, ScreenStatus::NoAnswer),
                (Outcome::Declined, ScreenStatus::Declined),
                (Outcome::Failed(Failure::Broken), ScreenStatus::Failed),
            ] {
                let ended = record(status).end(report(outcome, Some(70)), now);
                if status.is_end() {
                    assert_eq!(ended, record(status), "a late report changes nothing");
                } else {
                    assert_eq!(ended.screen.status, end);
                    assert_eq!((ended.version, ended.task_due), (2, None));
                    assert_eq!(ended.clone().begin(now), ended);
                }
            }
            let cancelled = record(status).cancel(CancelReason::Requested, now);
            if matches!(status, ScreenStatus::Queued | ScreenStatus::Scheduled) {
                let cancelled = cancelled.unwrap();
                assert_eq!((cancelled.screen.status, cancelled.task_due), (ScreenStatus::Cancelled, None));
                assert_eq!(cancelled.clone().begin(now), cancelled);
                assert_eq!(cancelled.clone().end(report(Outcome::Completed, Some(70)), now), cancelled);
            } else {
                let sentence = format!("status cannot go from {} to cancelled", status.as_str());
                assert_eq!(cancelled.unwrap_err().to_string(), sentence);
            }
        }
    }

    #[test]
    fn a_call_that_may_have_been_requested_is_cancelled_at_the_provider() {
        let now = "2026-11-20T09:05:00Z".parse().unwrap();
        for (dialing, due) in [
            (CallState::Due, None),
            (CallState::Asked, Some(now)),
            (CallState::Placed("call-1".to_owned()), Some(now)),
        ] {
            let queued = ScreenRecord { dialing: dialing.clone(), ..record(ScreenStatus::Queued) };
            let cancelled = queued.cancel(CancelReason::Rejected, now).unwrap();
            assert_eq!((&cancelled.dialing, cancelled.task_due), (&dialing, due));
            let done = cancelled.clone().follow_call(dialing, None);
            assert_eq!((done.screen, done.task_due, done.version), (cancelled.screen, None, 3));
        }
    }

    #[test]
    fn an_overall_score_of_70_passes() {
        let now = Timestamp::UNIX_EPOCH;
        for (overall, result) in [
            (Some(70), Some(ScreenResult::Passed)),
            (Some(69), Some(ScreenResult::Failed)),
            (Some(100), Some(ScreenResult::Passed)),
            (None, None),
        ] {
            let ended = record(ScreenStatus::InProgress).end(report(Outcome::Completed, overall), now);
            assert_eq!(ended.screen.result, result);
            assert_eq!(ended.screen.duration_seconds, Some(250));
        }
    }

    #[test]
    fn a_short_conversation_is_not_judged() {
        let now = Timestamp::UNIX_EPOCH;
        let start: Timestamp = "2026-11-20T09:00:00Z".parse().unwrap();
        for (count, seconds, is_judged) in [
            (3, Some(30), true),
            (3, Some(29), false),
            (2, Some(300), false),
            (3, None, true),
            (0, None, false),
        ] {
            let excerpt = Excerpt { text: "Yes".to_owned(), turn: Some(0) };
            let mut report = report(Outcome::Completed, Some(12));
            report.transcript = answers(count);
            report.analysis.as_mut().unwrap().red_flags.push(excerpt);
            report.started_at = seconds.map(|_| start);
            report.ended_at = seconds.map(|seconds| start + SignedDuration::from_secs(seconds));
            let ended = record(ScreenStatus::InProgress).end(report, now);
            assert_eq!(ended.screen.status, ScreenStatus::Completed);
            assert_eq!(ended.screen.result.is_some(), is_judged, "{count} {seconds:?}");
            assert_eq!(ended.screen.scores.overall.is_some(), is_judged);
            assert_eq!(ended.red_flags.is_empty(), !is_judged);
            assert_eq!(ended.screen.summary.as_deref() == Some(TOO_LITTLE), !is_judged);
        }
    }
}
