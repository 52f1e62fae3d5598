//! Consents of candidates in the API.

use serde::Serialize;
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::http::Personal;
use crate::id::Id;
use crate::model::{self, Actor, ConsentPurpose, ConsentWording};

/// A candidate's consent, or its withdrawal.
#[derive(Debug, Serialize, ToSchema)]
pub struct Consent {
    /// The identifier.
    id: Id,
    /// The candidate.
    candidate_id: Id,
    /// What the consent is for: `application` (the data is stored and used to consider applications), `voice_screen` (an
    /// AI interviewer calls) or `recording` (the calls are transcribed).
    purpose: ConsentPurpose,
    /// Whether the candidate gave the consent; `false` if the candidate refused or withdrew it.
    granted: bool,
    /// When the candidate said so.
    obtained_at: Timestamp,
    /// The text that the candidate agreed to, or in which the candidate withdrew the consent.
    wording: ConsentWording,
    /// Who recorded the consent.
    actor: Actor,
    /// When the consent was recorded.
    created_at: Timestamp,
}

impl Consent {
    /// The consent of this candidate.
    pub fn of(candidate_id: Id, consent: model::Consent) -> Self {
        let model::Consent { id, purpose, granted, obtained_at, wording, actor, created_at } = consent;
        Self { id, candidate_id, purpose, granted, obtained_at, wording, actor, created_at }
    }
}

/// A consent without what it says: what a credential without the scope `candidates:read` gets.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConsentRef {
    /// The identifier.
    id: Id,
    /// The candidate.
    candidate_id: Id,
    /// When the candidate gave, refused or withdrew the consent.
    obtained_at: Timestamp,
    /// When the consent was recorded.
    created_at: Timestamp,
}

impl Personal for Consent {
    type Reference = ConsentRef;

    fn into_reference(self) -> ConsentRef {
        let Self { id, candidate_id, obtained_at, created_at, .. } = self;
        ConsentRef { id, candidate_id, obtained_at, created_at }
    }
}
