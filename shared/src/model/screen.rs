//! Voice screens: an AI interview by telephone, from the invitation to its result.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::words::words;
use crate::clock::to_second;
use crate::id::Id;

words! {
    /// Where a screen stands. The last three are ends: nothing leads away from them.
    pub enum ScreenStatus {
        /// To be called at once.
        Queued = "queued",
        /// To be called at a time of its own.
        Scheduled = "scheduled",
        /// The conversation is on.
        InProgress = "in_progress",
        /// There was a conversation.
        Completed = "completed",
        /// Nobody answered.
        NoAnswer = "no_answer",
        /// There was no call, or no conversation.
        Failed = "failed",
    }
}

words! {
    /// What a completed screen comes to.
    pub enum ScreenResult {
        /// An overall score of 70 or more.
        Passed = "passed",
        /// Less.
        Failed = "failed",
    }
}

words! {
    /// Who makes the call.
    pub enum VoiceProvider {
        /// Vapi, over the telephone network.
        Vapi = "vapi",
        /// The built-in simulator, which calls nobody.
        Simulator = "simulator",
    }
}

words! {
    /// Who speaks.
    pub enum Speaker {
        /// The interviewer.
        Agent = "agent",
        /// The candidate.
        Candidate = "candidate",
    }
}

/// One thing said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Turn {
    /// Who said it.
    pub speaker: Speaker,
    /// What was said.
    pub text: String,
    /// When, in seconds from the start of the call.
    pub at_seconds: u32,
}

/// A highlight or a red flag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Excerpt {
    /// What was noticed.
    pub text: String,
    /// The index of the transcript's turn that supports it.
    pub turn: Option<u32>,
}

/// Scores from 0 to 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Scores {
    /// All in all.
    #[schema(maximum = 100)]
    pub overall: Option<u8>,
    /// How clearly the candidate speaks.
    #[schema(maximum = 100)]
    pub communication: Option<u8>,
    /// How well the experience fits.
    #[schema(maximum = 100)]
    pub experience: Option<u8>,
    /// How much the candidate wants the job.
    #[schema(maximum = 100)]
    pub motivation: Option<u8>,
}

/// What an AI made of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analysis {
    /// The conversation in a few sentences.
    pub summary: Option<String>,
    /// The scores.
    pub scores: Scores,
    /// What speaks for the candidate.
    pub highlights: Vec<Excerpt>,
    /// What speaks against.
    pub red_flags: Vec<Excerpt>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// With a conversation.
    Completed,
    /// Nobody answered.
    NoAnswer,
    /// Without a conversation, for the reason that this sentence gives.
    Failed(String),
}

/// What a provider says of a call that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// When the conversation began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// What was said.
    pub transcript: Vec<Turn>,
    /// What came of it; `None` while the provider is still at it.
    pub analysis: Option<Analysis>,
}

/// A screen, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Screen {
    /// The identifier.
    pub id: Id,
    /// Who is interviewed.
    pub candidate_id: Id,
    /// For which role.
    pub role_id: Id,
    /// Where it stands.
    pub status: ScreenStatus,
    /// When the call is to be made, where that was chosen.
    pub scheduled_at: Option<Timestamp>,
    /// When the conversation began.
    pub started_at: Option<Timestamp>,
    /// When a completed one ended.
    pub completed_at: Option<Timestamp>,
    /// How long it took.
    pub duration_seconds: Option<u64>,
    /// The conversation in a few sentences, or what became of the call.
    pub summary: Option<String>,
    /// The scores.
    pub scores: Scores,
    /// What it comes to; `None` without an overall score.
    pub result: Option<ScreenResult>,
    /// When the candidate was invited.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Who is to be screened for what, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// The screen's identifier.
    pub id: Id,
    /// Who is interviewed.
    pub candidate_id: Id,
    /// For which role.
    pub role_id: Id,
    /// When; at once where it is not given.
    pub scheduled_at: Option<Timestamp>,
}

/// How far a screen's call has come with the provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dialing {
    /// The provider has not been asked.
    Due,
    /// The provider is being asked, or what it answered is not known. It is never asked twice.
    Asked,
    /// The provider knows the call by this name.
    Placed(String),
}

/// A screen with all that its moves depend on; the transcript is kept beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenFile {
    /// The screen.
    #[serde(flatten)]
    pub screen: Screen,
    /// What speaks for the candidate.
    pub highlights: Vec<Excerpt>,
    /// What speaks against.
    pub red_flags: Vec<Excerpt>,
    /// In how many parts the transcript is kept.
    pub transcript_parts: usize,
    /// Who makes the call.
    pub provider: VoiceProvider,
    /// The address that the invitation came to: the provider reports there, unless another is configured.
    pub base_url: String,
    /// How far the call has come.
    pub dialing: Dialing,
    /// When the screen is to be looked after next; `None` once it has ended.
    pub task_due: Option<Timestamp>,
    /// Grows with every write; a write names the version it has read.
    pub version: u64,
}

impl ScreenStatus {
    /// Whether nothing leads away from it.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Completed | Self::NoAnswer | Self::Failed)
    }
}

impl ScreenResult {
    /// The result of an overall score.
    pub const fn of(overall: u8) -> Self {
        if overall >= 70 { Self::Passed } else { Self::Failed }
    }
}

impl ScreenFile {
    /// A new screen, whose call is due.
    pub fn invited(
        invitation: Invitation,
        provider: VoiceProvider,
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
            created_at: now,
            updated_at: now,
        };
        // A provider keeps the schedule by itself; the simulator has none.
        let task_due = match provider {
            VoiceProvider::Simulator => scheduled_at.unwrap_or(now),
            VoiceProvider::Vapi => now,
        };
        Self {
            screen,
            highlights: Vec::new(),
            red_flags: Vec::new(),
            transcript_parts: 0,
            provider,
            base_url,
            dialing: Dialing::Due,
            task_due: Some(task_due),
            version: 1,
        }
    }

    /// The conversation has begun; the same screen where it began before or has ended.
    #[must_use]
    pub fn begin(self, now: Timestamp) -> Self {
        match self.screen.status {
            ScreenStatus::Queued | ScreenStatus::Scheduled => {
                let mut file = self.changed(now);
                file.screen.status = ScreenStatus::InProgress;
                file.screen.started_at = Some(now);
                file.screen.summary = None;
                file
            }
            _ => self,
        }
    }

    /// The call has ended; the same screen where it had ended before.
    #[must_use]
    pub fn end(self, report: Report, now: Timestamp) -> Self {
        if self.screen.status.is_end() {
            return self;
        }
        let mut file = self.changed(now);
        file.task_due = None;
        let screen = &mut file.screen;
        screen.started_at = report.started_at.map(to_second).or(screen.started_at);
        let analysis = report.analysis.unwrap_or_default();
        match report.outcome {
            Outcome::Completed => {
                let ended_at = report.ended_at.map(to_second);
                screen.status = ScreenStatus::Completed;
                // A clock elsewhere, or a simulated conversation, may be ahead.
                screen.completed_at = Some(ended_at.unwrap_or(now).min(now));
                screen.duration_seconds =
                    screen.started_at.zip(ended_at).and_then(|(started_at, ended_at)| {
                        u64::try_from(ended_at.duration_since(started_at).as_secs()).ok()
                    });
                screen.summary = analysis.summary;
                screen.scores = analysis.scores;
                screen.result = analysis.scores.overall.map(ScreenResult::of);
                file.highlights = analysis.highlights;
                file.red_flags = analysis.red_flags;
            }
            Outcome::NoAnswer => {
                screen.status = ScreenStatus::NoAnswer;
                screen.summary = Some("Nobody answered the call.".to_owned());
            }
            Outcome::Failed(reason) => {
                screen.status = ScreenStatus::Failed;
                screen.summary = Some(reason);
            }
        }
        file
    }

    /// How far the call has come; a note for people where something is not as it should be.
    #[must_use]
    pub fn dial(self, dialing: Dialing, note: Option<String>, due: Timestamp, now: Timestamp) -> Self {
        let mut file = self.changed(now);
        file.dialing = dialing;
        file.task_due = Some(due);
        file.screen.summary = note;
        file
    }

    /// The same screen, to be looked after at another time.
    #[must_use]
    pub fn postpone(self, due: Timestamp, now: Timestamp) -> Self {
        let mut file = self.changed(now);
        file.task_due = Some(due);
        file
    }

    fn changed(mut self, now: Timestamp) -> Self {
        self.screen.updated_at = now.max(self.screen.updated_at);
        self.version += 1;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(status: ScreenStatus) -> ScreenFile {
        let id = |n| Id::new(n).unwrap();
        let invitation = Invitation { id: id(3), candidate_id: id(1), role_id: id(2), scheduled_at: None };
        let mut file =
            ScreenFile::invited(invitation, VoiceProvider::Vapi, String::new(), Timestamp::UNIX_EPOCH);
        file.screen.status = status;
        file
    }

    fn report(outcome: Outcome, overall: Option<u8>) -> Report {
        let scores = Scores { overall, ..Scores::default() };
        Report {
            outcome,
            started_at: Some("2026-11-20T09:00:00Z".parse().unwrap()),
            ended_at: Some("2026-11-20T09:04:10Z".parse().unwrap()),
            transcript: Vec::new(),
            analysis: Some(Analysis { scores, ..Analysis::default() }),
        }
    }

    /// Every status meets every piece of news: only the moves of the contract are made, and an end stays one.
    #[test]
    fn every_status_and_every_piece_of_news() {
        let now = "2026-11-20T09:05:00Z".parse().unwrap();
        for status in ScreenStatus::ALL {
            let begun = file(status).begin(now);
            let expected = match status {
                ScreenStatus::Queued | ScreenStatus::Scheduled => ScreenStatus::InProgress,
                other => other,
            };
            assert_eq!(begun.screen.status, expected);
            for (outcome, end) in [
                (Outcome::Completed, ScreenStatus::Completed),
                (Outcome::NoAnswer, ScreenStatus::NoAnswer),
                (Outcome::Failed("x".to_owned()), ScreenStatus::Failed),
            ] {
                let ended = file(status).end(report(outcome, Some(70)), now);
                if status.is_end() {
                    assert_eq!(ended, file(status), "a late report changes nothing");
                } else {
                    assert_eq!(ended.screen.status, end);
                    assert_eq!((ended.version, ended.task_due), (2, None));
                    assert_eq!(ended.clone().begin(now), ended);
                }
            }
        }
    }

    #[test]
    fn seventy_passes() {
        let now = Timestamp::UNIX_EPOCH;
        for (overall, result) in [
            (Some(70), Some(ScreenResult::Passed)),
            (Some(69), Some(ScreenResult::Failed)),
            (Some(100), Some(ScreenResult::Passed)),
            (None, None),
        ] {
            let ended = file(ScreenStatus::InProgress).end(report(Outcome::Completed, overall), now);
            assert_eq!(ended.screen.result, result);
            assert_eq!(ended.screen.duration_seconds, Some(250));
        }
    }
}
