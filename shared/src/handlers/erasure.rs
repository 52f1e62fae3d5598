//! Erasures of candidates, and legal holds, which forbid them.

use crate::http::{Accepted, ApiRequest, Error, Reply, Unversioned, input};
use crate::model::{CandidateRecord, Erasure, ErasureReason, HoldReason, LegalHold};
use crate::services::erasure::{self, EraseError, Tombstone};
use crate::store::MaybeErased;
use serde::Serialize;
use utoipa::ToSchema;

use super::candidate_lookup::find;

input! {
    /// An erasure.
    pub struct Erase {
        /// Why the candidate is erased; `request` by default.
        reason: optional ErasureReason,
    }

    /// A legal hold to set.
    pub struct SetLegalHold {
        /// The reason.
        reason: required HoldReason,
    }
}

/// The state of the legal hold on a candidate.
#[derive(Debug, Serialize, ToSchema)]
pub struct LegalHoldState {
    /// The legal hold; `null` if there is none.
    legal_hold: Option<LegalHold>,
}

/// Erases a candidate for good.
///
/// From now on, every request to the candidate returns 410, the candidate's applications and voice screens return 404, and
/// lists and searches omit them. The e-mail address and the external id can be used again. A task removes everything
/// that is stored about the candidate, also at the voice provider, within minutes as a rule. Statistics stay, except the
/// number of current applications. Only the identifier, the time, the reason and the actor are kept. If the candidate was
/// erased already, the response is the same again.
///
/// # Errors
///
/// - `legal_hold`: a legal hold on the candidate forbids the erasure.
pub async fn erase(request: ApiRequest<Erase>) -> Result<Reply<Accepted<Erasure>>, Error> {
    let (context, tenant) = (&request.context, request.tenant());
    let (id, now) = (request.id()?, context.now());
    // Also somebody whose import is not finished, and whom no other route finds.
    let found = context.store().find_any_candidate(tenant, id).await?.ok_or(Error::NotFound)?;
    let Erase { reason } = request.input()?;
    let bucket = context.providers().await.resumes();
    let mut transaction = request.transaction();
    let erasure = match found {
        MaybeErased::Present(record) => {
            let reason = reason.unwrap_or(ErasureReason::Request);
            let erasure = Erasure::new(id, reason, &request.author().actor, now);
            erasure::begin(&mut transaction, &record, erasure.clone())?;
            erasure
        }
        MaybeErased::Erased(erasure) => erasure,
    };
    let reply = request.commit(transaction, Reply::ok(&erasure)?.accepted()).await?;
    Tombstone::store(bucket, tenant, &erasure, now).await.map_err(EraseError::from)?;
    Ok(reply)
}

/// Sets a legal hold on a candidate, or replaces it. While it is set, nobody can erase the candidate, and the
/// organization cannot be deleted.
pub async fn set_legal_hold(
    request: ApiRequest<SetLegalHold>,
) -> Result<Reply<Unversioned<LegalHoldState>>, Error> {
    let before = find(&request).await?;
    let SetLegalHold { reason } = request.input()?;
    if before.legal_hold.as_ref().is_some_and(|hold| hold.reason == reason) {
        return state(&before);
    }
    let author = request.author();
    let hold = LegalHold { reason, set_at: author.at, actor: author.actor };
    let after = before.clone().hold(hold);
    replace(&request, &before, &after).await
}

/// Lifts the legal hold on a candidate, if there is one.
pub async fn lift_legal_hold(request: ApiRequest<()>) -> Result<Reply<Unversioned<LegalHoldState>>, Error> {
    let before = find(&request).await?;
    request.input()?;
    if before.legal_hold.is_none() {
        return state(&before);
    }
    let after = before.clone().lift_hold(request.context.now());
    replace(&request, &before, &after).await
}

/// Replaces a candidate whose legal hold has changed. The history does not show that.
async fn replace<I>(
    request: &ApiRequest<I>,
    before: &CandidateRecord,
    after: &CandidateRecord,
) -> Result<Reply<Unversioned<LegalHoldState>>, Error> {
    let mut transaction = request.transaction();
    transaction.replace_candidate(before, after, &[])?;
    request.commit(transaction, state(after)?).await
}

fn state(record: &CandidateRecord) -> Result<Reply<Unversioned<LegalHoldState>>, Error> {
    Ok(Reply::ok(&LegalHoldState { legal_hold: record.legal_hold.clone() })?.unversioned())
}
