//! The candidate of a request.

use jiff::Timestamp;

use crate::http::{ApiRequest, Error, Input};
use crate::id::Id;
use crate::model::{CandidateRecord, Role};
use crate::store::CandidatePage;

/// The candidate named in the path.
pub(super) async fn find<I>(request: &ApiRequest<I>) -> Result<CandidateRecord, Error> {
    let found = request.context.store().find_candidate(request.tenant(), request.id()?).await?;
    Error::unless_missing(found)
}

/// Loads the candidate named in the path and the role named in the body. The role is `None` if the tenant has no such
/// role. An invalid body is reported only if the candidate exists, because existence is checked before validation.
pub(super) async fn find_with_role<I: Input>(
    request: &ApiRequest<I>,
    role_id: impl Fn(&I) -> Id,
) -> Result<(CandidateRecord, Option<Role>), Error> {
    let id = request.id()?;
    let role_id = match request.input() {
        Ok(input) => role_id(&input),
        Err(invalid) => {
            find(request).await?;
            return Err(invalid);
        }
    };
    let (record, role) =
        request.context.store().find_candidate_and_role(request.tenant(), id, role_id).await?;
    Ok((Error::unless_missing(record)?, role))
}

pub(super) const UNKNOWN_ROLE: &str = "role_id must be the id of a role";

/// Updates the copies of the roles in a candidate's applications.
pub(super) async fn with_current_roles<I>(
    request: &ApiRequest<I>,
    page: CandidatePage,
) -> Result<CandidatePage, Error> {
    let roles = page.record.applications.iter().map(|application| application.role.id);
    let roles = request.context.store().find_roles(request.tenant(), roles).await?;
    let at = page.record.candidate.updated_at;
    Ok(CandidatePage { record: with_roles(page.record, roles.values(), at), ..page })
}

/// Returns the record with current copies of these roles.
pub(super) fn with_roles<'r>(
    record: CandidateRecord,
    roles: impl IntoIterator<Item = &'r Role>,
    now: Timestamp,
) -> CandidateRecord {
    record.clone().follow(roles, now).map_or(record, |followed| followed.record)
}

pub(super) fn unknown_role() -> Error {
    Error::Validation(vec![UNKNOWN_ROLE.to_owned()])
}
