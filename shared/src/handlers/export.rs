//! Everything that is stored about a candidate.

use super::responses::export::CandidateExport;
use crate::http::{ApiRequest, Error, Reply, Unversioned};

/// Returns everything that is stored about a candidate as one document, for a person who asks for their data. If the
/// document would be larger than 5 MB, it has the paths of the transcripts instead of the transcripts.
pub async fn export(request: ApiRequest<()>) -> Result<Reply<Unversioned<CandidateExport>>, Error> {
    let (context, max_bytes) = (&request.context, CandidateExport::MAX_BYTES);
    let data = context.store().find_candidate_data(request.tenant(), request.id()?, max_bytes).await?;
    let data = Error::unless_missing(data)?;
    request.input()?;
    let export = CandidateExport::of(data, context.providers().await.resumes(), context.now()).await;
    let reply = Reply::ok(&export)?;
    if reply.size()? <= max_bytes {
        return Ok(reply.unversioned());
    }
    Ok(Reply::ok(&export.without_transcripts())?.unversioned())
}
