//! Candidates in the API.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::resume::ResumeLinks;
use crate::id::Id;
use crate::model::{self, Email, ExternalId, Name, Phone, Profile, Source, Stage, Tags, WebAddress};

/// A candidate.
#[derive(Debug, Serialize, ToSchema)]
pub struct Candidate {
    /// The identifier.
    id: Id,
    /// The name.
    name: Name,
    /// The e-mail address. It is unique in the organization, regardless of upper and lower case.
    email: Email,
    /// The telephone number with its country code.
    phone: Option<Phone>,
    /// The URL of the resume. The URL of an uploaded file expires within an hour.
    #[schema(value_type = Option<String>)]
    resume_url: Option<WebAddress>,
    /// The stage, which follows from the applications: `hired`, if one is hired and no active one was added after that;
    /// otherwise the furthest stage of the active ones; otherwise `rejected`, if one is rejected; otherwise the furthest
    /// stage of the closed ones. A candidate without applications has a stage of their own, which moves change.
    stage: Stage,
    /// Where the candidate came from: a word of the client, or `career_page`.
    source: Option<Source>,
    /// The tags, in the order in which they were given. Of tags that differ only in case, the first is kept.
    tags: Tags,
    /// The identifier in a system of the client. It is unique in the organization.
    external_id: Option<ExternalId>,
    /// When the candidate was created.
    created_at: Timestamp,
    /// When the candidate was last updated.
    updated_at: Timestamp,
}

impl Candidate {
    /// The candidate with these links to resumes.
    pub fn of(candidate: model::Candidate, links: &ResumeLinks) -> Self {
        let Profile { name, email, phone, resume, source, tags, external_id } = candidate.profile;
        Self {
            id: candidate.id,
            name,
            email,
            phone,
            resume_url: resume.and_then(|resume| links.address(&resume)),
            stage: candidate.stage,
            source,
            tags,
            external_id,
            created_at: candidate.created_at,
            updated_at: candidate.updated_at,
        }
    }
}
