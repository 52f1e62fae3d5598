//! What a member has done to several candidates of a role at once, so that it can be undone.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::actor::Actor;
use super::stage::Stage;
use super::string_enum::string_enum;
use super::tags::Tag;
use crate::clock::Timestamp;
use crate::id::Id;

string_enum! {
    /// What was done.
    pub enum BulkKind {
        /// The candidates were moved to another open stage.
        Moved = "moved",
        /// The candidates were rejected.
        Rejected = "rejected",
        /// The candidates got a tag.
        Tagged = "tagged",
        /// The candidates were invited to a voice screen.
        Invited = "invited",
    }
}

/// What was done to some of the candidates, by one request. The parts with the same group are one act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkAct {
    /// The identifier of the part.
    pub id: Id,
    /// The key of the form that it was requested with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form_key: Option<String>,
    /// The identifier of the first part.
    pub group: Id,
    /// What was done.
    pub kind: BulkKind,
    /// The stage that the candidates were moved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Stage>,
    /// The tag that the candidates got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<Tag>,
    /// Who did it.
    pub actor: Actor,
    /// When it was done.
    pub at: Timestamp,
    /// The candidates whom it changed.
    pub people: Vec<BulkPerson>,
    /// Whether it was undone.
    pub is_undone: bool,
    /// The version, which grows with every write.
    pub version: u64,
}

/// A candidate in a bulk act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkPerson {
    /// The candidate.
    pub id: Id,
    /// The stage before.
    pub from: Stage,
    /// The voice screen of an invitation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screen: Option<Id>,
}

impl BulkAct {
    /// How long an act can be undone.
    pub const KEPT: SignedDuration = SignedDuration::from_hours(24);

    /// What was done and by whom, after the number of people.
    pub fn sentence(&self) -> String {
        let what = match self.kind {
            BulkKind::Moved => format!("moved to {}", self.to.map(Stage::as_str).unwrap_or_default()),
            BulkKind::Rejected => "rejected".to_owned(),
            BulkKind::Tagged => format!("tagged {}", self.tag.as_ref().map(Tag::as_str).unwrap_or_default()),
            BulkKind::Invited => "invited to a voice screen".to_owned(),
        };
        format!("{what} by {}", self.actor.name)
    }
}
