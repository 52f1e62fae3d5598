//! The candidate of a request.

use shared::http::{ApiRequest, Error, Input};
use shared::id::Id;
use shared::model::{CandidateRecord, Role};

pub(crate) async fn find<I>(request: &ApiRequest<I>) -> Result<CandidateRecord, Error> {
    let found = request.context.store().find_candidate(request.tenant(), request.context.id()?).await?;
    Error::unless_missing(found)
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
    Ok((Error::unless_missing(record)?, role))
}
