//! What a member does to several candidates at once, of one role or of several, and how it is undone.
//!
//! An act has a head, and parts with the people. The parts are worked on one after another, each in two steps: first it is
//! written down who is meant and how they are, and then it is done to them. So a part can be repeated from the start: what was
//! done to whom is known, whenever the work was interrupted.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::actor::Actor;
use super::stage::Stage;
use super::string_enum::string_enum;
use super::tags::Tag;
use crate::clock::{Timestamp, later};
use crate::id::Id;

string_enum! {
    /// What is done.
    pub enum BulkKind {
        /// The candidates are moved to another open stage.
        Moved = "moved",
        /// The candidates are rejected.
        Rejected = "rejected",
        /// The candidates get a tag.
        Tagged = "tagged",
        /// A note about each of the candidates is added.
        Noted = "noted",
        /// The candidates are invited to a voice screen.
        Invited = "invited",
    }
}

impl BulkKind {
    /// Whether it is done to an application, and not to a person, who may have several.
    pub const fn is_of_application(self) -> bool {
        matches!(self, Self::Moved | Self::Rejected | Self::Invited)
    }

    /// What is changed: the application of a person for a role, or the person.
    pub fn subject(self, person: Id, role: Option<Id>) -> (Id, Option<Id>) {
        (person, role.filter(|_| self.is_of_application()))
    }
}

string_enum! {
    /// How far an act is.
    pub enum BulkState {
        /// It is being carried out.
        Running = "running",
        /// It ends after the part that is being worked on.
        Stopping = "stopping",
        /// It was carried out.
        Done = "done",
        /// It ended before everybody's turn had come.
        Stopped = "stopped",
        /// It is being undone.
        Undoing = "undoing",
        /// It was undone.
        Undone = "undone",
    }
}

string_enum! {
    /// Why an act ended before everybody's turn had come.
    pub enum BulkStop {
        /// A member stopped it.
        Member = "member",
        /// The member who began it is no longer a member, or the organization was suspended.
        Rights = "rights",
        /// It took longer than a day.
        Late = "late",
    }
}

string_enum! {
    /// What an act did to a candidate.
    pub enum BulkResult {
        /// Nothing yet.
        Waiting = "waiting",
        /// The candidate was changed.
        Changed = "changed",
        /// The candidate was so before.
        Unchanged = "unchanged",
        /// Nothing, for a reason.
        Refused = "refused",
        /// The change was undone.
        Undone = "undone",
        /// The change was not undone, for a reason.
        Kept = "kept",
    }
}

/// What the member typed and chose, the same for all candidates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkWords {
    /// The text of a note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The reason of a rejection as a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The identifier of the reason of a rejection, as it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_id: Option<String>,
}

/// An act on several candidates: all but the candidates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkAct {
    /// The identifier.
    pub id: Id,
    /// The role whose list the act was begun in; `None` for a list over all roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_id: Option<Id>,
    /// What is done.
    pub kind: BulkKind,
    /// The stage that the candidates are moved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Stage>,
    /// The stage of everybody in the list; `None` if it has people in several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Stage>,
    /// The tag that the candidates get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<Tag>,
    /// What the member typed, until the act has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<BulkWords>,
    /// The base URL of the request, to which voice providers report.
    pub base_url: String,
    /// Who does it.
    pub actor: Actor,
    /// When it was requested.
    pub at: Timestamp,
    /// The number of people who are meant.
    pub total: u64,
    /// The number of parts.
    pub parts: u32,
    /// The number of parts that were carried out or, in an undo, undone.
    pub position: u32,
    /// Whether it is written down how the people of the next part are.
    pub is_prepared: bool,
    /// The number of people who were changed.
    pub changed: u64,
    /// The number of people who were so before.
    pub unchanged: u64,
    /// The number of people who were left out.
    pub refused: u64,
    /// The number of people for whom it was undone.
    pub undone: u64,
    /// The number of people for whom it could not be undone.
    pub kept: u64,
    /// How far it is.
    pub state: BulkState,
    /// Why it ended before everybody's turn had come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<BulkStop>,
    /// Who undoes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_by: Option<Actor>,
    /// When it ended, or was undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// When the task that works on it is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_due: Option<Timestamp>,
    /// The version, which grows with every write.
    pub version: u64,
}

/// Some of the people of an act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkPart {
    /// The act.
    pub act: Id,
    /// The number, from 0.
    pub number: u32,
    /// When the act was requested.
    pub at: Timestamp,
    /// When all of them had had their turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_at: Option<Timestamp>,
    /// The people.
    pub people: Vec<BulkPerson>,
    /// The version, which grows with every write.
    pub version: u64,
}

/// A candidate in an act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkPerson {
    /// The candidate.
    pub id: Id,
    /// The role of the application that the list showed; `None` if it showed none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_id: Option<Id>,
    /// The stage before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Stage>,
    /// What was done.
    pub result: BulkResult,
    /// The voice screen or the note that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Id>,
    /// Why nothing was done, or undone. It names nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl BulkPerson {
    /// A candidate whose turn has not come, with the role of the application and the stage that is expected.
    pub const fn waiting(id: Id, role_id: Option<Id>, from: Option<Stage>) -> Self {
        Self { id, role_id, from, result: BulkResult::Waiting, made: None, why: None }
    }
}

impl BulkPart {
    /// The number of people in a part.
    pub const SIZE: usize = 100;
    /// How long a part is stored: for the act, until it can no longer be undone, and for the undo.
    pub const STORED: SignedDuration = SignedDuration::from_hours(72);

    /// How many people have this result.
    fn count(&self, result: BulkResult) -> u64 {
        self.people.iter().filter(|person| person.result == result).count() as u64
    }

    /// The next version of the part.
    #[must_use]
    pub fn with(&self, people: Vec<BulkPerson>) -> Self {
        Self { people, version: self.version + 1, ..self.clone() }
    }
}

impl BulkAct {
    /// How long an act can be undone, after it has ended.
    pub const KEPT: SignedDuration = SignedDuration::from_hours(24);
    /// The longest that an act is worked on.
    pub const LONGEST: SignedDuration = SignedDuration::from_hours(24);
    /// The maximum number of people in an act.
    pub const MAX: usize = 10_000;
    /// The number of people on whom a request works itself.
    pub const AT_ONCE: u64 = 100;

    /// Whether somebody or something works on the act.
    pub const fn is_working(&self) -> bool {
        matches!(self.state, BulkState::Running | BulkState::Stopping | BulkState::Undoing)
    }

    /// Until when the act can be undone, and is shown.
    pub fn kept_until(&self) -> Timestamp {
        later(self.ended_at.unwrap_or_else(|| later(self.at, Self::LONGEST)), Self::KEPT)
    }

    /// The number of people for whom the act can be undone.
    pub const fn left(&self) -> u64 {
        match self.state {
            BulkState::Done | BulkState::Stopped => self.changed,
            _ => 0,
        }
    }

    /// The number of people whose turn has come: in the act, or in its undo.
    pub const fn progress(&self) -> u64 {
        match self.state {
            BulkState::Undoing | BulkState::Undone => self.undone + self.kept,
            _ => self.changed + self.unchanged + self.refused,
        }
    }

    /// Whether the people move.
    pub const fn is_move(&self) -> bool {
        matches!(self.kind, BulkKind::Moved | BulkKind::Rejected)
    }

    fn next(&self) -> Self {
        Self { version: self.version + 1, ..self.clone() }
    }

    /// The act after it was written down how the people of the next part are.
    #[must_use]
    pub fn prepared(&self) -> Self {
        Self { is_prepared: true, ..self.next() }
    }

    /// The act after a part had its turn.
    #[must_use]
    pub fn after(&self, part: &BulkPart, now: Timestamp) -> Self {
        let mut act = self.next();
        act.position += 1;
        if act.state == BulkState::Undoing {
            act.undone += part.count(BulkResult::Undone);
            act.kept += part.count(BulkResult::Kept);
            return if act.position < act.parts { act } else { act.ended(BulkState::Undone, now) };
        }
        act.is_prepared = false;
        act.changed += part.count(BulkResult::Changed);
        act.unchanged += part.count(BulkResult::Unchanged);
        act.refused += part.count(BulkResult::Refused);
        if act.position == act.parts {
            act.ended(BulkState::Done, now)
        } else if act.state == BulkState::Stopping {
            act.ended(BulkState::Stopped, now)
        } else {
            act
        }
    }

    fn ended(self, state: BulkState, now: Timestamp) -> Self {
        let stop = self.stop.filter(|_| state != BulkState::Done);
        Self { state, stop, words: None, parts: self.position, ended_at: Some(now), task_due: None, ..self }
    }

    /// Ends the act before everybody's turn has come. The part that is being worked on is finished.
    #[must_use]
    pub fn stop(&self, why: BulkStop, now: Timestamp) -> Self {
        let act = Self { stop: Some(why), ..self.next() };
        if act.is_prepared {
            Self { state: BulkState::Stopping, ..act }
        } else {
            act.ended(BulkState::Stopped, now)
        }
    }

    /// Begins to undo the act. `None` if it has not ended, is being undone or was undone, or changed nobody.
    pub fn undo(&self, actor: Actor, now: Timestamp) -> Option<Self> {
        (self.left() > 0).then(|| Self {
            state: BulkState::Undoing,
            position: 0,
            undone_by: Some(actor),
            ended_at: Some(now),
            ..self.next()
        })
    }

    /// Begins to carry a small act out again, for those who were left out. `None` if there is nobody, or if the act is larger
    /// than one part.
    pub fn again(&self, words: BulkWords, part: &BulkPart) -> Option<(Self, BulkPart)> {
        if self.state != BulkState::Done || self.parts != 1 || self.refused == 0 {
            return None;
        }
        let people = part.people.iter().map(|person| match person.result {
            BulkResult::Refused => BulkPerson::waiting(person.id, person.role_id, person.from),
            _ => person.clone(),
        });
        let act = Self {
            state: BulkState::Running,
            words: Some(words),
            position: 0,
            is_prepared: true,
            changed: 0,
            unchanged: 0,
            refused: 0,
            ended_at: None,
            ..self.next()
        };
        Some((act, part.with(people.collect())))
    }

    /// What was done and by whom, after the number of people.
    pub fn sentence(&self) -> String {
        let what = match self.kind {
            BulkKind::Moved => format!("moved to {}", self.to.map(Stage::as_str).unwrap_or_default()),
            BulkKind::Rejected => "rejected".to_owned(),
            BulkKind::Tagged => format!("tagged {}", self.tag.as_ref().map(Tag::as_str).unwrap_or_default()),
            BulkKind::Noted => "given a note".to_owned(),
            BulkKind::Invited => "invited to a voice screen".to_owned(),
        };
        format!("{what} by {}", self.actor.name)
    }
}
