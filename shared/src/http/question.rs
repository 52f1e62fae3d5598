//! The question whether an assistant's call may happen, and the answer.

use std::sync::{Mutex, PoisonError};

use jiff::SignedDuration;

use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{AuditTarget, AuditTargetKind};
use crate::store::{Confirmed, Fact};

/// The time in which a question must be answered.
pub const QUESTION_LIFE: SignedDuration = SignedDuration::from_mins(15);

/// How an assistant calls a handler.
#[derive(Clone)]
pub enum Assistant {
    /// By a request to the API itself, which an application may send whose token is also for the MCP endpoint. A member
    /// confirms it only while the owners require that for what applications do.
    AtApi,
    /// By a tool.
    Tool {
        /// The question to which a member has said yes in the client.
        accepted: Option<AcceptedQuestion>,
    },
}

/// A question to which a member has said yes in the client.
#[derive(Clone)]
pub struct AcceptedQuestion {
    /// The identifier of the question.
    pub id: String,
    /// The hash of the call that it was about.
    pub hash: String,
    /// When the question ends.
    pub until: Timestamp,
}

/// The question whether a call may happen.
#[derive(Debug)]
pub struct Question {
    /// What happens, without any text that somebody wrote.
    pub summary: String,
    /// The record that the call is about.
    pub target: Option<AuditTarget>,
    /// The candidate's name, if the call is about a candidate.
    pub candidate: Option<String>,
    /// What the member also reads, such as a text that will be public. What the call says is part of it in any case.
    pub facts: Vec<Fact>,
    /// Everything that the confirmation holds for and that can change meanwhile, such as the stage that the application
    /// is in now. The call itself is part of it in any case.
    pub state: String,
}

impl Question {
    /// A question that shows nothing but what the call says.
    pub fn new(summary: impl Into<String>) -> Self {
        let (facts, state) = (Vec::new(), String::new());
        Self { summary: summary.into(), target: None, candidate: None, facts, state }
    }

    /// The question with the record that it is about.
    #[must_use]
    pub fn about(self, kind: AuditTargetKind, id: Id) -> Self {
        Self { target: Some(AuditTarget::of(kind, id)), ..self }
    }
}

/// A call that waits for a member.
#[derive(Debug)]
pub struct Unconfirmed {
    /// The question, with everything that the call says.
    pub question: Question,
    /// The hash of the call.
    pub hash: String,
    /// The URL of the page on which a member answers the question after it was stored.
    pub page: String,
    /// The name of the tool, or the route.
    pub name: &'static str,
    /// Whether the question is stored already.
    pub is_stored: bool,
}

/// The confirmation that the commit of a request uses up.
#[derive(Default)]
pub(super) struct Given(Mutex<Option<Confirmed>>);

impl Given {
    pub(super) fn get(&self) -> Option<Confirmed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, confirmed: Confirmed) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(confirmed);
    }
}
