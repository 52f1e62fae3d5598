//! The files of an import: the form for the ZIP file that has them, the list of them, and giving one to a row.

use std::sync::Arc;

use askama::Template;
use serde_json::Value;
use shared::handlers::import_files;
use shared::http::{Error, HandlerCall, Html, MemberRequest, Reply};
use shared::model::{Import, ImportFilesStatus, ImportStatus, ImportZip, grouped};

use crate::dates::{self, Time};
use crate::form_page::{Refusal, fields_of};
use crate::import_forms::{find, path_of};
use crate::layout::{Layout, Section};
use crate::lists::{PAGE_SIZE, Pager, encoded};
use crate::messages::Notice;

/// The names of kinds of files.
const KINDS: [(&str, &str); 4] =
    [("resume", "Resume"), ("cover_letter", "Cover letter"), ("portfolio", "Portfolio"), ("other", "Other")];

/// The form with which a browser sends a ZIP to the bucket.
pub(crate) struct ZipUpload {
    pub(crate) action: String,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) until: Time,
}

/// The form for the ZIP of an import that waits for it, and the origins that it is sent to and comes back to.
pub(crate) async fn upload(request: &MemberRequest, import: &Import) -> (Option<ZipUpload>, Option<String>) {
    let now = request.context.now();
    // While it waits for its first file, the page has the form for that one.
    let is_first = import.status == ImportStatus::Waiting;
    let zip = import.awaited_zip().filter(|zip| !is_first && import.is_unfinished() && now < zip.until);
    let (Some(zip), Some(bucket)) = (zip, request.context.providers().await.resumes()) else {
        return (None, None);
    };
    let (key, base) = (import.zip_file(request.tenant(), zip.number), request.context.base_url());
    let back = format!("{base}{}/uploaded", path_of(import.id));
    match bucket.import_form(&key, ImportZip::MAX_SIZE, &back, zip.until, now).await {
        Ok(form) => {
            let until = dates::zone(request).minute(zip.until);
            let upload = ZipUpload { action: form.action, fields: form.fields, until };
            (Some(upload), Some(format!("{} {base}", form.origin)))
        }
        Err(error) => {
            tracing::warn!(%error, "the form for the ZIP of an import could not be signed");
            (None, None)
        }
    }
}

/// How far the ZIP of an import is, as a sentence.
pub(crate) fn progress(zip: &ImportZip) -> String {
    match zip.status {
        ImportFilesStatus::Waiting => "The ZIP file is awaited.".to_owned(),
        ImportFilesStatus::Matching => "The files are being given to rows.".to_owned(),
        ImportFilesStatus::Matched => {
            let (with_row, count) = (grouped(zip.with_row()), grouped(zip.count));
            let reason = zip.reason.as_ref().map(|reason| format!(" {reason}")).unwrap_or_default();
            format!("{with_row} of {count} files belong to a row.{reason}")
        }
        ImportFilesStatus::Refused => {
            let reason = zip.reason.as_deref().unwrap_or("It could not be read.");
            format!("The ZIP file is not used. {reason}")
        }
    }
}

/// Whether a ZIP can be sent.
pub(crate) const fn can_be_sent(import: &Import) -> bool {
    matches!(import.status, ImportStatus::Checking | ImportStatus::Checked)
}

#[derive(Template)]
#[template(path = "import_files.html")]
struct FilesPage<'p> {
    layout: Layout<'p>,
    path: String,
    /// What the member asked for and did not get.
    alert: Option<String>,
    filters: Vec<FilesLink>,
    files: Vec<FileRow>,
    kinds: [(&'static str, &'static str); 4],
    pager: Pager,
}

/// A link to some of the files.
struct FilesLink {
    label: &'static str,
    number: u64,
    path: String,
    is_current: bool,
}

/// A file in the ZIP.
struct FileRow {
    number: u64,
    name: String,
    size: String,
    kind: &'static str,
    row: Option<u64>,
    proposed: Option<u64>,
    /// Why nobody gets it.
    reason: Option<String>,
    /// Whether it can be given to a row.
    can_be_assigned: bool,
}

/// Shows the files: all, or those with or without a row.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    page(&request, None).await
}

/// Gives a file to a row.
pub(crate) async fn assign(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let path = format!("{}/files?matched=false", path_of(request.context.id()?));
    match request.carry_out(request.call(request.fields()), import_files::assign_import_file).await {
        Ok(_) => Ok(Notice::ImportFileAssigned.redirect_to(&path)),
        Err(error) => Ok(page(&request, Some(Refusal::of(error)?.text())).await?.with_status(422)),
    }
}

async fn page(request: &MemberRequest, alert: Option<String>) -> Result<Reply<Html>, Error> {
    let import = find(request).await?;
    let zip = import.zip.as_ref();
    let query = request.context.query();
    let matched = if alert.is_some() { "false" } else { query.get("matched") };
    let chosen: Vec<_> = [("matched", matched)].into_iter().filter(|(_, value)| !value.is_empty()).collect();
    let limit = PAGE_SIZE.to_string();
    let cursor = query.non_empty("cursor").map(|cursor| ("cursor", cursor));
    let fields: Vec<_> = chosen.iter().copied().chain([("limit", &*limit)]).chain(cursor).collect();
    let call = HandlerCall { key: None, ..request.call(fields_of(&fields)) };
    let listed = request.carry_out(call, import_files::list_import_files).await?;
    let listed: Value = serde_json::from_str(listed.body()).unwrap_or_default();
    let path = path_of(import.id);
    let address = |pairs: &[(&str, &str)]| {
        let query = encoded(pairs.iter().copied());
        if query.is_empty() { format!("{path}/files") } else { format!("{path}/files?{query}") }
    };
    let next = listed["next_cursor"].as_str();
    let next = next.map(|next| address(&[&*chosen, &[("cursor", next)]].concat()));
    let pager = Pager { first: cursor.map(|_| address(&chosen)), previous: None, next };
    let link = |label, number, pairs: &[(&str, &str)]| FilesLink {
        label,
        number,
        path: address(pairs),
        is_current: chosen == pairs,
    };
    let (count, with_row) = zip.map_or((0, 0), |zip| (zip.count, zip.with_row()));
    let filters = vec![
        link("All", count, &[]),
        link("Without a row", count.saturating_sub(with_row), &[("matched", "false")]),
        link("With a row", with_row, &[("matched", "true")]),
    ];
    let is_checked = import.status == ImportStatus::Checked;
    let row = |file: &Value| {
        let kind = KINDS.iter().find(|(word, _)| file["kind"] == *word).map_or("", |(_, label)| label);
        let (row, reason) = (file["row"].as_u64(), file["reason"].as_str().map(str::to_owned));
        let is_free = row.is_none() || file["assigned"] == true;
        Some(FileRow {
            number: file["number"].as_u64()?,
            name: file["name"].as_str()?.to_owned(),
            size: size(file["size"].as_u64()?),
            kind,
            row,
            proposed: file["proposed_row"].as_u64(),
            can_be_assigned: is_checked && is_free && reason.is_none(),
            reason,
        })
    };
    let files = listed["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    Reply::page(&FilesPage {
        layout: Layout::of(request, Section::Candidates),
        alert,
        filters,
        files: files.iter().filter_map(row).collect(),
        kinds: KINDS,
        pager,
        path: path.clone(),
    })
}

/// A size in words.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", bytes / 1_000),
        _ => format!("{} MB", grouped(bytes / 1_000_000)),
    }
}
