//! The candidate of a request.

use crate::http::{ApiRequest, Error, Input};
use crate::id::Id;
use crate::model::{CandidateRecord, Role};

/// The candidate named in the path.
pub(super) async fn find<I>(request: &ApiRequest<I>) -> Result<CandidateRecord, Error> {
    let found = request.context.store().find_candidate(request.tenant(), request.id()?).await?;
    Error::unless_missing(found)
}

/// Reads the input, and loads the candidate named in the path. An invalid input is reported only if the candidate exists.
pub(super) async fn find_with_input<I: Input>(
    request: &ApiRequest<I>,
) -> Result<(I, CandidateRecord), Error> {
    match request.input() {
        Ok(input) => Ok((input, find(request).await?)),
        Err(invalid) => Err(find(request).await.err().unwrap_or(invalid)),
    }
}

/// Reads the input, and loads the candidate named in the path and the role that the input names. The role is `None` if the
/// input names none, or one that the tenant does not have. An invalid input is reported only if the candidate exists,
/// because existence is checked before validation.
pub(super) async fn find_with_role<I: Input>(
    request: &ApiRequest<I>,
    role_id: impl Fn(&I) -> Option<Id>,
) -> Result<(I, CandidateRecord, Option<Role>), Error> {
    let input = match request.input() {
        Ok(input) => input,
        Err(invalid) => return Err(find(request).await.err().unwrap_or(invalid)),
    };
    let Some(role_id) = role_id(&input) else { return Ok((input, find(request).await?, None)) };
    let (store, id) = (request.context.store(), request.id()?);
    let (record, role) = store.find_candidate_and_role(request.tenant(), id, role_id).await?;
    Ok((input, Error::unless_missing(record)?, role))
}

pub(super) const UNKNOWN_ROLE: &str = "role_id must be the id of a role";

pub(super) fn unknown_role() -> Error {
    Error::Validation(vec![UNKNOWN_ROLE.to_owned()])
}
