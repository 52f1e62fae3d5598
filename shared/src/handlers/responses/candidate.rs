//! Candidates in the API.

use serde::Serialize;
use utoipa::ToSchema;

use super::application::Application;
use super::consent::Consent;
use super::resume::ResumeLinks;
use super::screen::{Screen, ScreenAccess};
use crate::clock::Timestamp;
use crate::http::Personal;
use crate::id::Id;
use crate::model::{
    self, ConsentPurpose, Email, ExternalId, LegalHold, Name, Phone, Profile, Source, Stage, Tags,
    Touchpoint, WebAddress,
};
use crate::store::CandidatePage;

/// A candidate.
#[derive(Debug, Serialize, ToSchema)]
pub struct Candidate {
    /// The identifier.
    id: Id,
    /// The name.
    name: Name,
    /// The e-mail address. It is unique in the organization, regardless of upper and lower case and of
    /// the form of international domains; `null` if none is known, which only an import allows.
    email: Option<Email>,
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

/// A candidate without personal data: what a credential without the scope `candidates:read` gets.
#[derive(Debug, Serialize, ToSchema)]
pub struct CandidateRef {
    /// The identifier.
    id: Id,
    /// The stage, which follows from the applications.
    stage: Stage,
    /// When the candidate was created.
    created_at: Timestamp,
    /// When the candidate was last updated.
    updated_at: Timestamp,
}

impl Personal for Candidate {
    type Reference = CandidateRef;

    fn into_reference(self) -> CandidateRef {
        let Self { id, stage, created_at, updated_at, .. } = self;
        CandidateRef { id, stage, created_at, updated_at }
    }
}

/// A candidate with applications, voice screens and history.
#[derive(Debug, Serialize, ToSchema)]
pub struct CandidateDetail {
    #[serde(flatten)]
    candidate: Candidate,
    /// The legal hold, which forbids an erasure; `null` if there is none.
    #[schema(value_type = Option<LegalHold>)]
    legal_hold: Option<LegalHold>,
    /// The applications, newest first.
    applications: Vec<Application>,
    /// The voice screens, newest first.
    voice_screens: Vec<Screen>,
    /// The consents that count: for each purpose, the one with the latest `obtained_at`.
    consents: Vec<Consent>,
    /// The candidate's history, newest first; with the parameter `touchpoints`, only the newest part of it.
    touchpoints: Vec<Touchpoint>,
    /// Only with `include=possible_duplicates`: the identifiers of other candidates with the same phone number, or with
    /// an e-mail address of the same Gmail mailbox; at most 5, newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<Id>, required = false)]
    possible_duplicates: Option<Vec<Id>>,
}

impl CandidateDetail {
    /// The part of a detail that determines its `ETag`. The newest touchpoint stands for the whole history, because
    /// touchpoints never change.
    pub fn identity(page: &CandidatePage, access: ScreenAccess) -> Self {
        let CandidatePage { record, screens, touchpoints } = page;
        let touchpoints = touchpoints.first().cloned().into_iter().collect();
        let page = CandidatePage { record: record.clone(), screens: screens.clone(), touchpoints };
        Self::of(page, &ResumeLinks::Keys, access)
    }

    /// The detail of a candidate.
    pub fn of(page: CandidatePage, links: &ResumeLinks, access: ScreenAccess) -> Self {
        let CandidatePage { record, screens, touchpoints } = page;
        let (id, applications) = (record.candidate.id, record.applications.iter().rev());
        let consents = ConsentPurpose::ALL.into_iter().filter_map(|purpose| record.consent(purpose).cloned());
        Self {
            applications: applications.map(|application| Application::of(id, application)).collect(),
            consents: consents.map(|consent| Consent::of(id, consent)).collect(),
            candidate: Candidate::of(record.candidate, links),
            legal_hold: record.legal_hold,
            voice_screens: screens.into_iter().map(|screen| access.screen(screen)).collect(),
            touchpoints: touchpoints
                .into_iter()
                .map(|touchpoint| links.touchpoint(touchpoint, access))
                .collect(),
            possible_duplicates: None,
        }
    }

    /// The detail with these candidates as possible duplicates.
    #[must_use]
    pub fn with_possible_duplicates(self, possible_duplicates: Option<Vec<Id>>) -> Self {
        Self { possible_duplicates, ..self }
    }
}
