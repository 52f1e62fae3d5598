//! Resume files that members upload.

use super::responses::candidate::Candidate;
use crate::http::{ApiRequest, Error, Reply, Visible};
use crate::model::Resume;
use crate::services::resumes::{CheckedFile, attach};
use crate::store::UploadTrace;

use super::candidate_lookup::find;
use super::candidates::{replace, reply};

/// Keeps a file and makes it the resume of the candidate named in the path. The history keeps earlier files. The same file
/// again changes nothing.
///
/// Its name in the bucket depends on the candidate and the content, so a request that is repeated keeps it once. It cannot
/// be guessed. If the function is killed before the candidate has the file, a trace leads the candidate's erasure to it.
pub async fn upload(request: ApiRequest<()>, file: &CheckedFile) -> Result<Reply<Visible<Candidate>>, Error> {
    let (context, tenant, now) = (&request.context, request.tenant(), request.context.now());
    let before = find(&request).await?;
    let id = before.candidate.id;
    let Some(bucket) = context.providers().await.resumes() else {
        return Err(Error::Validation(vec!["resume_file cannot be stored by this installation".to_owned()]));
    };
    let (of, digest) = (format!("{tenant} {id}"), file.digest());
    let name = context.signing_keys().sign(&["resume file", &of, &digest]);
    let place = file.place(tenant, &name);
    let resume = Resume::File(place.clone());
    if before.candidate.profile.resume.as_ref() == Some(&resume) {
        return reply(&request, before.candidate).await;
    }
    let mut transaction = request.transaction();
    transaction.require_candidate(&before);
    transaction
        .expect_file(id, UploadTrace { hash: name.clone(), key: place.key().to_owned(), until: now })?;
    context.store().commit(transaction).await?;
    file.write(bucket, place.key(), now).await.map_err(|error| {
        tracing::error!(trouble = %error, "cannot store a resume");
        Error::Upstream { sentence: "The resume could not be saved".to_owned(), retry_after: None }
    })?;
    let (after, updated) = attach(&before, place, now);
    let mut transaction = request.transaction();
    transaction.forget_expected_file(id, &name);
    replace(&request, transaction, &before, after, updated).await
}
