//! The files of a candidate: on the candidate's page, and the forms that add and delete them.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use shared::handlers::files;
use shared::http::{Error, Html, MemberRequest, Parameters, Reply};
use shared::id::Id;
use shared::model::{CandidateFile, CandidateFileKind, CandidateRecord, FileContent, FileStatus};
use shared::services::files::ENDINGS;

use crate::candidate_list::{candidate_path, in_list};
use crate::dates::{Time, Zone};
use crate::form_page::{Field, FieldKind, Form, fields_of};
use crate::layout::Section;
use crate::messages::{Alert, Notice};
use crate::sources::actor;

/// A file in the list on a candidate's page.
pub(crate) struct FileRow {
    pub(crate) id: u64,
    pub(crate) name: String,
    /// What it is, and for which role.
    pub(crate) what: String,
    pub(crate) size: String,
    pub(crate) status: FileStatus,
    /// Why it was refused.
    pub(crate) reason: Option<String>,
    pub(crate) at: Time,
    pub(crate) author: String,
    /// The path that opens it.
    pub(crate) path: Option<String>,
}

/// The files of a candidate as rows.
pub(crate) fn rows(record: &CandidateRecord, files: &[CandidateFile], zone: &Zone) -> Vec<FileRow> {
    let row = |file: &CandidateFile| {
        let of_role = |id: Id| record.applications.iter().find(|application| application.id == id);
        let role = file.application_id.and_then(of_role).map(|application| application.role.title.as_str());
        let role = role.map(|title| format!(" for {title}")).unwrap_or_default();
        FileRow {
            id: file.id.get(),
            name: file.shown_name(record.candidate.profile.name.as_str()),
            what: format!("{}{role}", words(file.kind)),
            size: size(file.size),
            status: file.status(),
            reason: match &file.content {
                FileContent::Refused(sentence) => Some(sentence.clone()),
                _ => None,
            },
            at: zone.minute(file.created_at),
            author: actor(&file.created_by),
            path: file.stored().map(|_| path(record.candidate.id, file.id)),
        }
    };
    files.iter().map(row).collect()
}

/// What a file is, in words.
pub(crate) const fn words(kind: CandidateFileKind) -> &'static str {
    match kind {
        CandidateFileKind::Resume => "Resume",
        CandidateFileKind::CoverLetter => "Cover letter",
        CandidateFileKind::Portfolio => "Portfolio",
        CandidateFileKind::Other => "Other",
    }
}

/// A size in words.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{} KB", bytes.div_ceil(1_024)),
        _ => format!("{}.{} MB", bytes / 1_048_576, bytes % 1_048_576 * 10 / 1_048_576),
    }
}

/// The path that opens a file.
pub(crate) fn path(candidate: Id, file: Id) -> String {
    format!("/dashboard/candidates/{candidate}/files/{file}")
}

/// Opens a file: redirects to its content in the bucket.
pub(crate) async fn open(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let shown = request.carry_out(request.call(fields_of(&[])), files::show_file).await?;
    let shown: Value = serde_json::from_str(shown.body()).unwrap_or_default();
    match shown["url"].as_str() {
        Some(url) => Ok(Reply::see_other(url)),
        None => Ok(Alert::FileNotReady.redirect_to(&candidate_path(&request, request.context.id()?))),
    }
}

/// Shows the form that adds a file.
pub(crate) async fn new(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    new_form(&find(&request).await?, &request).show(&request)
}

/// Adds a file.
pub(crate) async fn create(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let mut fields: Parameters = request.fields();
    if let Some(content) = request.page.file() {
        // The fields are those of the API, which has no files in forms.
        let sent = [("content", STANDARD.encode(content))].into_iter();
        let name = request.page.file_name().map(|name| ("name", name.to_owned()));
        let others = fields.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let sent = sent.chain(name).map(|(name, value)| (name.to_owned(), value));
        fields = others.chain(sent).collect();
    }
    match request.carry_out(request.call(fields), files::create_file).await {
        Ok(_) => Ok(Notice::FileAdded.redirect_to(&candidate_path(&request, request.context.id()?))),
        Err(error) => new_form(&find(&request).await?, &request).show_again(&request, error),
    }
}

fn new_form(record: &CandidateRecord, request: &MemberRequest) -> Form {
    let (id, name) = (record.candidate.id, record.candidate.profile.name.as_str());
    let kinds = CandidateFileKind::ALL.map(|kind| (kind.as_str().to_owned(), words(kind).to_owned()));
    let none = (String::new(), "None".to_owned());
    let applications = record.applications.iter().rev();
    let applications = applications.map(|one| (one.id.to_string(), one.role.title.as_str().to_owned()));
    let fields = vec![
        Field::line("content", "File")
            .of(FieldKind::File(ENDINGS))
            .hint("PDF, DOC, DOCX, ODT, RTF or TXT, up to 4 MB."),
        Field::line("kind", "What it is").of(FieldKind::Choice(kinds.into())),
        Field::line("application_id", "Application")
            .of(FieldKind::Choice([none].into_iter().chain(applications).collect()))
            .hint("Optional: the application that the file belongs to."),
    ];
    let action = format!("/dashboard/candidates/{id}/files{}", in_list(request));
    Form::new(Section::Candidates, format!("Add a file to {name}"), fields, action, "Add file")
        .below(candidate_path(request, id), name)
        .lead("A new resume becomes the candidate's current one. Earlier files stay.")
}

/// Asks whether to delete a file.
pub(crate) async fn ask_to_delete(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let record = find(&request).await?;
    let file = find_file(&request, &record).await?;
    let (id, name) = (record.candidate.id, record.candidate.profile.name.as_str());
    let action = format!("{}/delete{}", path(id, file.id), in_list(&request));
    Form::new(
        Section::Candidates,
        format!("Delete {}", file.shown_name(name)),
        Vec::new(),
        action,
        "Delete file",
    )
    .below(candidate_path(&request, id), name)
    .lead("The file is deleted for good. The history keeps that there was one.")
    .grave()
    .show(&request)
}

/// Deletes a file.
pub(crate) async fn delete(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let page = candidate_path(&request, request.context.id()?);
    match request.carry_out(request.call(fields_of(&[])), files::delete_file).await {
        Ok(_) => Ok(Notice::FileDeleted.redirect_to(&page)),
        Err(Error::LegalHold) => Ok(Alert::NothingDeleted.redirect_to(&page)),
        Err(error) => Err(error),
    }
}

async fn find(request: &MemberRequest) -> Result<CandidateRecord, Error> {
    let found = request.context.store().find_candidate(request.tenant(), request.context.id()?).await?;
    Error::unless_missing(found)
}

async fn find_file(request: &MemberRequest, record: &CandidateRecord) -> Result<CandidateFile, Error> {
    let id = request.context.path_parameter("file_id").parse().map_err(|_| Error::NotFound)?;
    let found = request.context.store().find_file(request.tenant(), record.candidate.id, id).await?;
    found.ok_or(Error::NotFound)
}
