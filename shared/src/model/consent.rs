//! Consents: what candidates have agreed to, and what they have withdrawn.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::string_enum::string_enum;
use super::{Actor, Lines};
use crate::clock::Timestamp;
use crate::id::Id;

string_enum! {
    /// What a consent is for.
    pub enum ConsentPurpose {
        /// The candidate's data is stored and used to consider applications.
        Application = "application",
        /// An AI interviewer calls the candidate.
        VoiceScreen = "voice_screen",
        /// The calls are transcribed.
        Recording = "recording",
    }
}

impl ConsentPurpose {
    /// The consents that a call requires.
    pub const FOR_CALLS: [Self; 2] = [Self::VoiceScreen, Self::Recording];

    /// What members read after the words "consent to".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Application => "the application",
            Self::VoiceScreen => "voice screens",
            Self::Recording => "transcripts of calls",
        }
    }
}

/// The text that a candidate agreed to, or in which a candidate withdrew the consent.
pub type ConsentWording = Lines<2_000>;

/// A candidate's consent, or its withdrawal. It never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// The identifier.
    pub id: Id,
    /// What the consent is for.
    pub purpose: ConsentPurpose,
    /// Whether the candidate gave the consent; otherwise the candidate refused or withdrew it.
    pub granted: bool,
    /// When the candidate said so.
    pub obtained_at: Timestamp,
    /// The text.
    pub wording: ConsentWording,
    /// Who recorded it.
    pub actor: Actor,
    /// When it was recorded.
    pub created_at: Timestamp,
}

/// A consent that an applicant gave in the form on the career page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubmittedConsent {
    /// What the consent is for.
    pub purpose: ConsentPurpose,
    /// The text that the form showed.
    pub wording: ConsentWording,
}
