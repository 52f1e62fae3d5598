//! Files of candidates.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use jiff::SignedDuration;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{KnownFormat, RefOr, SchemaFormat};

use super::candidate_lookup::{find, find_with_input};
use super::candidates::{replace, reply};
use super::responses::candidate::Candidate;
use super::responses::file::{self, AddedFile};
use crate::clock::later;
use crate::http::{
    Added, ApiRequest, Collection, Error, Fields, Input, Listing, Reply, Unversioned, Visible,
};
use crate::id::Id;
use crate::model::schema::{integer, string};
use crate::model::{
    AwaitedUpload, CandidateFile, CandidateFileKind, CandidateRecord, FileContent, FileName, FileOrigin,
    Resume, ResumeFile, Scalar, TooManyFiles, TouchpointKind, Value, giving_way_to_team,
};
use crate::providers::bucket::{Bucket, MAX_UPLOAD, UploadForm};
use crate::services::files::{self, CheckedFile, FileError, SettleError, kept, read_scan, settle};
use crate::store::{CommitError, Listed, Transaction, UploadTrace};

/// The length of the unguessable name of a file in the bucket.
const NAME_LENGTH: usize = 24;
/// The lifetime of a ticket for an upload.
const TICKET: SignedDuration = SignedDuration::from_hours(1);
const TOO_MANY: &str = "A candidate has at most 20 files that the team adds. Delete one first.";

/// A file to add: with its content, or with its size, and then the content is uploaded.
pub struct NewFile {
    /// The name. What the file is found to be decides its extension.
    name: FileName,
    /// What it is; `resume` by default.
    kind: CandidateFileKind,
    /// The application of this candidate that the file belongs to.
    application_id: Option<Id>,
    /// The content in base64: at most 4 MiB before it is encoded. It is checked at once.
    content: Option<Base64>,
    /// The size in bytes, in place of the content, for a file that is then uploaded.
    size: Option<FileSize>,
}

impl Input for NewFile {
    // A content of 4 MiB in base64, and the other fields.
    const MAX_BODY: usize = 5_700_000;

    fn read(fields: &mut impl Fields) -> Option<Self> {
        let name = fields.required("name");
        let kind = fields.optional("kind");
        let application_id = fields.optional("application_id");
        let content = fields.optional("content");
        let size = fields.optional("size");
        Some(Self { name: name?, kind: kind.unwrap_or_default(), application_id, content, size })
    }
}

/// The content of a file, in base64.
struct Base64(Bytes);

/// With or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Value for Base64 {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        if scalar.is_blank() {
            return Ok(None);
        }
        let text = match scalar {
            Scalar::Text(text) => text.as_str(),
            Scalar::Word(word) => word,
            _ => return Err("must be a string".to_owned()),
        };
        if text.starts_with("data:") {
            return Err("must be base64, without the beginning of a data: URL".to_owned());
        }
        // Programs break base64 into lines.
        let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        BASE64
            .decode(text)
            .map(|content| Some(Self(content.into())))
            .map_err(|_| "must be base64 (RFC 4648, section 4)".to_owned())
    }

    fn schema() -> RefOr<Schema> {
        string().format(Some(SchemaFormat::KnownFormat(KnownFormat::Byte))).into()
    }
}

/// The size of a file that will be uploaded, in bytes.
#[derive(Clone, Copy)]
struct FileSize(u64);

impl Value for FileSize {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        if scalar.is_blank() {
            return Ok(None);
        }
        scalar.whole_number_in(1..=MAX_UPLOAD as u64).map(|size| Some(Self(size)))
    }

    fn schema() -> RefOr<Schema> {
        integer(1).maximum(Some(MAX_UPLOAD)).into()
    }
}

/// Lists the files of a candidate, newest first.
pub async fn list_files(
    request: ApiRequest<Listing<()>>,
) -> Result<Reply<Collection<file::CandidateFile>>, Error> {
    let page = match request.listing() {
        Ok(((), page)) => page,
        Err(invalid) => return Err(find(&request).await.err().unwrap_or(invalid)),
    };
    let (store, id) = (request.context.store(), request.id()?);
    let (found, listed) = tokio::join!(find(&request), store.list_files(request.tenant(), id, &page));
    let (before, mut listed) = (found?, listed?);
    let mut shown = Vec::new();
    for file in std::mem::take(&mut listed.items) {
        let file = scanned(&request, &before, file).await;
        shown.push(show(&request, &before, file).await);
    }
    request.reply(Listed { items: shown, next: listed.next }, |file| file)
}

/// Returns a file of a candidate. That counts as opening it.
pub async fn show_file(request: ApiRequest<()>) -> Result<Reply<file::CandidateFile>, Error> {
    let (before, file) = find_file(&request).await?;
    request.input()?;
    let file = scanned(&request, &before, file).await;
    if file.ready().is_some() {
        let (tenant, now) = (request.tenant(), request.context.now());
        request.context.store().open_file(tenant, before.candidate.id, &file, now).await?;
    }
    let is_ready = file.ready().is_some();
    let shown = show(&request, &before, file.clone()).await;
    let identity = show(&request, &before, file).await.without_link();
    let reply = Reply::resource_as(&shown, &identity)?;
    Ok(if is_ready { reply.always_sent() } else { reply })
}

/// Adds a file to a candidate. With `content`, the file is checked at once: at most 4 MiB. With `size`, the answer says how to
/// upload the content, at most 10 MiB, and the file waits for it. Afterwards, `complete` checks it; without that, it is checked
/// when the time is over. A candidate has at most 20 files that the team adds; one that was refused gives way.
///
/// The newest resume becomes the one of the candidate, and of its application.
///
/// # Errors
///
/// - `upstream_failed`: the bucket did not take the file.
pub async fn create_file(request: ApiRequest<NewFile>) -> Result<Reply<Added<Visible<AddedFile>>>, Error> {
    let (store, id) = (request.context.store(), request.id()?);
    let (found, all) = tokio::join!(find_with_input(&request), store.all_files(request.tenant(), id));
    let ((input, before), all) = (found?, all?);
    let NewFile { name, kind, application_id, content, size } = input;
    let mut messages = Vec::new();
    let has_application = |id: &Id| before.applications.iter().any(|one| one.id == *id);
    if application_id.is_some_and(|id| !has_application(&id)) {
        messages.push("application_id must be the id of an application of the candidate".to_owned());
    }
    match (&content, size) {
        (None, None) => messages.push("content is required, or size for an upload".to_owned()),
        (Some(_), Some(_)) => messages.push("size can't be given beside content".to_owned()),
        _ => {}
    }
    // Nothing is checked and written for a file that cannot be added.
    if giving_way_to_team(&all).is_err() {
        return Err(Error::Validation(vec![TOO_MANY.to_owned()]));
    }
    let checked = match content {
        Some(Base64(content)) => match CheckedFile::check(content) {
            Ok(checked) => Some(checked),
            Err(FileError::TooLarge) => {
                let message = "content must be at most 4 MiB. Give the size instead, and upload the file";
                messages.push(message.to_owned());
                None
            }
            Err(FileError::Refused(refusal)) => {
                messages.push(format!("content was refused: {refusal}"));
                None
            }
        },
        None => None,
    };
    let providers = request.context.providers().await;
    if providers.resumes().is_none() {
        messages.push("Files cannot be stored by this installation".to_owned());
    }
    let bucket = providers.resumes().filter(|_| messages.is_empty()).ok_or(Error::Validation(messages))?;
    let new = |content, size| CandidateFile {
        name: Some(name),
        kind,
        application_id,
        ..new_file(&request, content, size)
    };
    match (checked, size) {
        (Some(checked), _) => {
            let (transaction, stored) = write(&request, bucket, &before, &checked).await?;
            let file = new(kept(bucket, stored), checked.size() as u64);
            add(&request, transaction, (&before, &all), file, None).await
        }
        (None, size) => {
            let FileSize(size) = size.ok_or(Error::NotFound)?;
            let (context, id) = (&request.context, before.candidate.id);
            let (now, name) = (context.now(), context.random().token(NAME_LENGTH));
            let until = later(now, TICKET);
            let key = ResumeFile::incoming_key(&request.organization().await.slug, &name);
            let upload = bucket
                .upload_ticket(&key, [size, size], until, now)
                .await
                .map_err(|error| unsaved(&error))?;
            let mut transaction = request.transaction();
            let trace = UploadTrace { hash: name.clone(), key: key.clone(), until };
            transaction.put_upload_trace(id, trace)?;
            transaction.look_at_files(id, until)?;
            let file = new(FileContent::Awaited(AwaitedUpload { name, key, until }), size);
            add(&request, transaction, (&before, &all), file, Some(upload)).await
        }
    }
}

/// Checks a file that was uploaded. If it was checked already, the answer is the same again.
///
/// # Errors
///
/// - `upstream_failed`: the bucket did not answer.
pub async fn complete_file(
    request: ApiRequest<()>,
) -> Result<Reply<Unversioned<Visible<file::CandidateFile>>>, Error> {
    let (before, file) = find_file(&request).await?;
    request.input()?;
    let mut transaction = request.transaction();
    let settled = if file.awaited().is_some() {
        let providers = request.context.providers().await;
        let bucket = providers.resumes().ok_or_else(|| unsaved(&"there is no bucket"))?;
        match settle(&mut transaction, bucket, &before, &file, &request.author()).await {
            Ok(Some(settled)) => settled,
            Ok(None) => {
                return Err(Error::Validation(vec!["The file has not been uploaded".to_owned()]));
            }
            Err(SettleError::Bucket(error)) => return Err(unsaved(&error)),
            Err(SettleError::Store(error)) => return Err(error.into()),
        }
    } else {
        scanned(&request, &before, file).await
    };
    let shown = request.visible(show(&request, &before, settled).await);
    request.commit(transaction, Reply::ok(&shown)?.unversioned()).await
}

/// Deletes a file of a candidate, also its content, and returns it. If it was the candidate's resume, the newest other one is
/// now.
///
/// # Errors
///
/// - `legal_hold`: a legal hold on the candidate forbids it.
pub async fn delete_file(
    request: ApiRequest<()>,
) -> Result<Reply<Unversioned<Visible<file::CandidateFile>>>, Error> {
    let (store, id) = (request.context.store(), request.id()?);
    let (found, all) = tokio::join!(find(&request), store.all_files(request.tenant(), id));
    let (before, all) = (found?, all?);
    let named = request.context.path_parameter("file_id").parse::<Id>().ok();
    let file = all.iter().find(|file| Some(file.id) == named).cloned().ok_or(Error::NotFound)?;
    request.input()?;
    if before.legal_hold.is_some() {
        return Err(Error::LegalHold);
    }
    let mut transaction = request.transaction();
    files::remove(&mut transaction, &before, &all, &file, &request.author())?;
    let shown = show(&request, &before, file.clone()).await.without_link();
    let reply = Reply::ok(&request.visible(shown))?.unversioned();
    let reply = request.commit(transaction, reply).await?;
    if let (Some(stored), Some(bucket)) = (file.stored(), request.context.providers().await.resumes())
        && let Err(error) = bucket.delete(stored.key(), request.context.now()).await
    {
        // A task deletes it.
        tracing::warn!(trouble = %error, "a deleted file is still in the bucket");
    }
    Ok(reply)
}

/// Makes a file that a member sent the resume of the candidate named in the path. The current file again changes nothing.
pub async fn upload(
    request: ApiRequest<()>,
    content: &CheckedFile,
    name: Option<FileName>,
) -> Result<Reply<Visible<Candidate>>, Error> {
    let (store, id) = (request.context.store(), request.id()?);
    let (found, all) = tokio::join!(find(&request), store.all_files(request.tenant(), id));
    let (before, all) = (found?, all?);
    let providers = request.context.providers().await;
    let Some(bucket) = providers.resumes() else {
        return Err(Error::Validation(vec!["resume_file cannot be stored by this installation".to_owned()]));
    };
    let digest = content.digest();
    let current = before.candidate.profile.resume.as_ref().and_then(Resume::file);
    let same = all.iter().find(|file| file.is_own_resume() && file.digest.as_ref() == Some(&digest));
    if let Some(stored) = same.and_then(CandidateFile::stored) {
        if current == Some(stored) {
            return reply(&request, before.candidate).await;
        }
        let mut profile = before.candidate.profile.clone();
        profile.resume = Some(Resume::File(stored.clone()));
        let after = before.clone().edit(profile, request.context.now());
        let fields = vec!["resume_url".to_owned()];
        let updated = TouchpointKind::Updated { fields, resume: Some(Resume::File(stored.clone())) };
        return replace(&request, request.transaction(), &before, after, updated).await;
    }
    let (mut transaction, stored) = write(&request, bucket, &before, content).await?;
    let file = CandidateFile {
        name,
        digest: Some(digest),
        ..new_file(&request, kept(bucket, stored), content.size() as u64)
    };
    let after = add_within_limit(&request, &mut transaction, &before, &all, &file)?;
    request.commit(transaction, reply(&request, after.candidate).await?).await
}

/// Writes a file of the team into the bucket. Returns the transaction that is to add it. If the function is killed before that,
/// a trace leads a task to the file.
async fn write<I>(
    request: &ApiRequest<I>,
    bucket: &Bucket,
    before: &CandidateRecord,
    content: &CheckedFile,
) -> Result<(Transaction, ResumeFile), Error> {
    let (context, id, now) = (&request.context, before.candidate.id, request.context.now());
    let name = context.random().token(NAME_LENGTH);
    let stored = content.place(request.tenant(), &name);
    let mut expected = request.transaction();
    expected.require_candidate(before);
    expected.expect_file(id, UploadTrace { hash: name.clone(), key: stored.key().to_owned(), until: now })?;
    context.store().commit(expected).await?;
    content.write(bucket, stored.key(), now).await.map_err(|error| unsaved(&error))?;
    let mut transaction = request.transaction();
    transaction.forget_expected_file(id, &name);
    Ok((transaction, stored))
}

/// A resume of the team.
fn new_file<I>(request: &ApiRequest<I>, content: FileContent, size: u64) -> CandidateFile {
    CandidateFile {
        id: request.context.ids().next(),
        application_id: None,
        kind: CandidateFileKind::Resume,
        question_id: None,
        name: None,
        content,
        size,
        origin: FileOrigin::Team,
        created_at: request.context.now(),
        created_by: request.actor().clone(),
        opened_at: None,
        digest: None,
    }
}

/// Adds a file and answers with it.
async fn add<I>(
    request: &ApiRequest<I>,
    mut transaction: Transaction,
    (before, all): (&CandidateRecord, &[CandidateFile]),
    file: CandidateFile,
    upload: Option<UploadForm>,
) -> Result<Reply<Added<Visible<AddedFile>>>, Error> {
    let after = add_within_limit(request, &mut transaction, before, all, &file)?;
    let added = show(request, &after, file).await.added(upload);
    let reply = Reply::ok(&request.visible(added))?.created_without_address();
    request.commit(transaction, reply).await
}

fn add_within_limit<I>(
    request: &ApiRequest<I>,
    transaction: &mut Transaction,
    before: &CandidateRecord,
    all: &[CandidateFile],
    file: &CandidateFile,
) -> Result<CandidateRecord, Error> {
    let giving_way =
        giving_way_to_team(all).map_err(|TooManyFiles| Error::Validation(vec![TOO_MANY.to_owned()]))?;
    if let Some(refused) = giving_way.filter(|_| before.legal_hold.is_none()) {
        transaction.delete_file(before.candidate.id, refused, request.context.now())?;
    }
    Ok(files::add(transaction, before, file, &request.author())?)
}

/// The candidate and the file that the path names.
async fn find_file<I>(request: &ApiRequest<I>) -> Result<(CandidateRecord, CandidateFile), Error> {
    let Ok(file) = request.context.path_parameter("file_id").parse() else {
        return Err(find(request).await.err().unwrap_or(Error::NotFound));
    };
    let (store, id) = (request.context.store(), request.id()?);
    let (found, file) = tokio::join!(find(request), store.find_file(request.tenant(), id, file));
    Ok((found?, file?.ok_or(Error::NotFound)?))
}

/// A file as it is after a virus scanner has looked at it, if it was waiting for that. Whatever fails is tried by the next
/// request.
async fn scanned<I>(request: &ApiRequest<I>, before: &CandidateRecord, file: CandidateFile) -> CandidateFile {
    if !matches!(file.content, FileContent::Unscanned(_)) {
        return file;
    }
    match try_scan(request, before, &file).await {
        Ok(Some(settled)) => settled,
        Ok(None) => file,
        Err(error) => {
            tracing::warn!(%error, "the scan of a file could not be read");
            file
        }
    }
}

async fn try_scan<I>(
    request: &ApiRequest<I>,
    before: &CandidateRecord,
    file: &CandidateFile,
) -> Result<Option<CandidateFile>, Error> {
    let (tenant, store) = (request.tenant(), request.context.store());
    let providers = request.context.providers().await;
    let Some(bucket) = providers.resumes() else { return Ok(None) };
    let all = store.all_files(tenant, before.candidate.id).await?;
    let mut transaction = request.transaction();
    let change = read_scan(&mut transaction, bucket, before, &all, file, &request.author()).await;
    let change = change.map_err(|error| match error {
        SettleError::Bucket(error) => unsaved(&error),
        SettleError::Store(error) => error.into(),
    })?;
    if transaction.is_empty() {
        return Ok(change);
    }
    match store.commit(transaction).await {
        Ok(()) => Ok(change),
        Err(CommitError::Stale) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn show<I>(
    request: &ApiRequest<I>,
    record: &CandidateRecord,
    file: CandidateFile,
) -> file::CandidateFile {
    let (candidate, bucket) = (&record.candidate, request.context.providers().await.resumes());
    file::CandidateFile::of(
        candidate.id,
        candidate.profile.name.as_str(),
        file,
        bucket,
        request.context.now(),
    )
    .await
}

/// The error of a bucket that does not answer.
fn unsaved(error: &dyn std::fmt::Display) -> Error {
    tracing::error!(trouble = %error, "cannot store a file");
    Error::Upstream { sentence: "The file could not be saved".to_owned(), retry_after: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_may_have_line_breaks_and_no_padding() {
        let read = |text: &str| {
            Base64::read(&Scalar::Text(text.to_owned())).map(|content| content.map(|Base64(bytes)| bytes))
        };
        for text in ["aGVsbG8=", "aGVs\r\nbG8=", "aGVsbG8"] {
            assert_eq!(read(text), Ok(Some(Bytes::from_static(b"hello"))), "{text}");
        }
        assert_eq!(read(" "), Ok(None));
        for text in ["aGVsbG8-_", "aGVsbG8==x", "data:text/plain;base64,aGVsbG8="] {
            assert!(read(text).unwrap_err().starts_with("must be base64"), "{text}");
        }
    }
}
