//! Files of candidates in the API.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::http::Personal;
use crate::id::Id;
use crate::model::{self, Actor, CandidateFileKind, FileContent, FileStatus, WebAddress};
use crate::providers::bucket::{Bucket, UploadForm};

/// A file of a candidate.
#[derive(Debug, Serialize, ToSchema)]
pub struct CandidateFile {
    /// The identifier.
    id: Id,
    /// The candidate.
    candidate_id: Id,
    /// The application that the file belongs to.
    application_id: Option<Id>,
    /// What it is.
    kind: CandidateFileKind,
    /// The name, with the extension of what the file was found to be.
    name: String,
    /// The media type of its content; `null` before it was checked.
    media_type: Option<&'static str>,
    /// The size in bytes.
    size: u64,
    /// What can be done with the file.
    status: FileStatus,
    /// Why the file was refused.
    reason: Option<String>,
    /// When the file was added.
    created_at: Timestamp,
    /// Who added it.
    created_by: Actor,
    /// The URL of the content, which expires within an hour; `null` unless the file is ready.
    #[schema(value_type = Option<String>)]
    url: Option<WebAddress>,
}

/// How to upload the content of a file.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FileUpload {
    /// The URL to post to, as `multipart/form-data`, within an hour.
    url: String,
    /// The fields of the form. The content follows them, in a field called `file`.
    fields: BTreeMap<String, String>,
}

/// A file that was added.
#[derive(Debug, Serialize, ToSchema)]
pub struct AddedFile {
    #[serde(flatten)]
    file: CandidateFile,
    /// How to upload the content; `null` if it is here.
    upload: Option<FileUpload>,
}

/// A file without what it says about a person: what a credential without the scope `candidates:read` gets.
#[derive(Debug, Serialize, ToSchema)]
pub struct FileRef {
    /// The identifier.
    id: Id,
    /// The candidate.
    candidate_id: Id,
    /// The application that the file belongs to.
    application_id: Option<Id>,
    /// What it is.
    kind: CandidateFileKind,
    /// The size in bytes.
    size: u64,
    /// What can be done with the file.
    status: FileStatus,
}

/// A file that was added, without what it says about a person.
#[derive(Debug, Serialize, ToSchema)]
pub struct AddedFileRef {
    #[serde(flatten)]
    file: FileRef,
    /// How to upload the content; `null` if it is here.
    upload: Option<FileUpload>,
}

impl CandidateFile {
    /// A file of the candidate with this identifier and name. Its link is signed if it is ready.
    pub async fn of(
        candidate_id: Id,
        candidate: &str,
        file: model::CandidateFile,
        bucket: Option<&Bucket>,
        now: Timestamp,
    ) -> Self {
        let name = file.shown_name(candidate);
        let url = match (file.ready(), bucket) {
            (Some(stored), Some(bucket)) => {
                let signed = bucket.download_url(stored.key(), &name, now).await;
                let signed = signed.inspect_err(|error| {
                    tracing::error!(trouble = %error, "a link to a file could not be signed");
                });
                signed.ok().map(WebAddress::made)
            }
            _ => None,
        };
        let (media_type, status) = (file.media_type(), file.status());
        let model::CandidateFile { id, application_id, kind, content, size, created_at, created_by, .. } =
            file;
        let reason = match content {
            FileContent::Refused(sentence) => Some(sentence),
            _ => None,
        };
        Self {
            id,
            candidate_id,
            application_id,
            kind,
            name,
            media_type,
            size,
            status,
            reason,
            created_at,
            created_by,
            url,
        }
    }

    /// The same, with how to upload the content.
    pub fn added(self, upload: Option<UploadForm>) -> AddedFile {
        AddedFile { file: self, upload: upload.map(FileUpload::from) }
    }

    /// The same without a link, which does not age.
    #[must_use]
    pub fn without_link(self) -> Self {
        Self { url: None, ..self }
    }
}

impl From<UploadForm> for FileUpload {
    fn from(form: UploadForm) -> Self {
        Self { url: form.action, fields: form.fields.into_iter().collect() }
    }
}

impl Personal for CandidateFile {
    type Reference = FileRef;

    fn into_reference(self) -> FileRef {
        let Self { id, candidate_id, application_id, kind, size, status, .. } = self;
        FileRef { id, candidate_id, application_id, kind, size, status }
    }
}

impl Personal for AddedFile {
    type Reference = AddedFileRef;

    fn into_reference(self) -> AddedFileRef {
        AddedFileRef { file: self.file.into_reference(), upload: self.upload }
    }
}
