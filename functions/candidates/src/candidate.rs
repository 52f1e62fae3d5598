//! The candidate of a request, and its form in responses.

use jiff::Timestamp;
use serde::Serialize;
use shared::http::{ApiRequest, Error, Input};
use shared::id::Id;
use shared::model::{self, CandidateRecord, Email, Name, Phone, Profile, Role, Stage, WebAddress};
use shared::resources::resume::ResumeLinks;
use utoipa::ToSchema;

/// A candidate.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Candidate {
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
    /// When the candidate was created.
    created_at: Timestamp,
    /// When the candidate was last updated.
    updated_at: Timestamp,
}

impl Candidate {
    pub(crate) fn of(candidate: model::Candidate, links: &ResumeLinks) -> Self {
        let Profile { name, email, phone, resume } = candidate.profile;
        Self {
            id: candidate.id,
            name,
            email,
            phone,
            resume_url: resume.and_then(|resume| links.address(&resume)),
            stage: candidate.stage,
            created_at: candidate.created_at,
            updated_at: candidate.updated_at,
        }
    }
}

pub(crate) async fn find<I>(request: &ApiRequest<I>) -> Result<CandidateRecord, Error> {
    request
        .context
        .store()
        .find_candidate(request.tenant(), request.context.id()?)
        .await?
        .ok_or(Error::NotFound)
}

/// Loads the candidate named in the path and the role named in the body. The role is `None` if the tenant has no such
/// role. An invalid body is reported only if the candidate exists, because existence is checked before validation.
pub(crate) async fn find_with_role<I: Input>(
    request: &ApiRequest<I>,
    role_id: impl Fn(&I) -> Id,
) -> Result<(CandidateRecord, Option<Role>), Error> {
    let id = request.context.id()?;
    let role_id = match request.input() {
        Ok(input) => role_id(&input),
        Err(invalid) => {
            find(request).await?;
            return Err(invalid);
        }
    };
    let (record, role) =
        request.context.store().find_candidate_and_role(request.tenant(), id, role_id).await?;
    Ok((record.ok_or(Error::NotFound)?, role))
}
