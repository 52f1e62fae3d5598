//! The turns of the transcript of a voice screen.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::string_enum::string_enum;

string_enum! {
    /// A speaker in a conversation.
    pub enum Speaker {
        /// The interviewer.
        Agent = "agent",
        /// The candidate.
        Candidate = "candidate",
    }
}

/// A turn of the transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Turn {
    /// The speaker.
    pub speaker: Speaker,
    /// What the speaker said.
    pub text: String,
    /// When the turn began, in seconds from the start of the call.
    pub at_seconds: u32,
}
