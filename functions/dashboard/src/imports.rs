//! Imports of people: the list, the page of each with its mapping and its numbers, and the verdicts on its rows.

use std::sync::Arc;

use askama::Template;
use serde_json::Value;
use shared::handlers::{import_files as zip_files, imports};
use shared::http::page::{Sources, version_of};
use shared::http::{Error, HandlerCall, Html, MemberRequest, Reply};
use shared::model::{
    DateFormat, Import, ImportField, ImportFormat, ImportStatus, ImportZip, RowResult, Text, grouped,
};
use shared::services::imports::{StoredRow, rows};

use crate::dates::{self, Time};
use crate::form_page::{Form, Refusal, fields_of};
use crate::import_columns::{ColumnRow, columns};
use crate::import_files::{self, ZipUpload};
use crate::import_forms::{NEW, PATH, again, date_choices, find, mapped, path_of};
use crate::import_words;
use crate::layout::{Layout, SCRIPT, Section};
use crate::lists::{PAGE_SIZE, Pager, Place, encoded, filter, id_position, is_id_position, next};
use crate::messages::{Alert, Notice};
use crate::sources::actor;

#[derive(Template)]
#[template(path = "imports.html")]
struct ImportsPage<'p> {
    layout: Layout<'p>,
    imports: Vec<ImportRow>,
    pager: Pager,
}

/// An import in the list.
struct ImportRow {
    id: u64,
    begun: Time,
    by: String,
    /// Where the file comes from, or its format.
    what: String,
    status: ImportStatus,
    /// The numbers of rows by what becomes of them.
    counts: [String; RowResult::ALL.len()],
}

/// Shows the imports, newest first.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let place = Place::read(&request.context.query(), is_id_position);
    let mut listed = request.context.store().list_imports(request.tenant(), &place.paging()).await?;
    let next = next(&mut listed, PAGE_SIZE, |import| id_position(import.id));
    let zone = dates::zone(&request);
    let row = |import: &Import| ImportRow {
        id: import.id.get(),
        begun: zone.minute(import.created_at),
        by: actor(&import.created_by),
        what: name_of(import),
        status: import.status,
        counts: RowResult::ALL.map(|result| grouped(import.counts.of(result))),
    };
    Reply::page(&ImportsPage {
        imports: listed.items.iter().map(row).collect(),
        pager: Pager::new(PATH, &[], &place, next),
        layout: Layout::of(&request, Section::Candidates),
    })
}

/// Where the file of an import comes from, or else its format.
fn name_of(import: &Import) -> String {
    let format = || import_words::format(import.format).to_owned();
    import.settings.source.as_ref().map_or_else(format, |source: &Text<100>| source.as_str().to_owned())
}

#[derive(Template)]
#[template(path = "import.html")]
struct ImportPage<'p> {
    layout: Layout<'p>,
    path: String,
    /// What the member asked for and did not get.
    alert: Option<String>,
    import: &'p Import,
    begun: Time,
    by: String,
    what: String,
    /// How far it is, as a sentence.
    progress: String,
    /// The form for the file, if it is awaited.
    upload: Option<Upload>,
    /// The form for the ZIP, if it is awaited.
    zip_upload: Option<ZipUpload>,
    /// The numbers of rows, with the paths of their verdicts.
    figures: Vec<Figure>,
    /// What the whole file shows.
    warnings: &'p [String],
    /// The form that all dates have, and the fields that begin another import with it.
    proposed: Option<(&'static str, Vec<(String, String)>)>,
    /// What each column was understood as.
    columns: Vec<ColumnRow>,
    header_row: Option<u64>,
    /// The fields of another import of the file, apart from its dates and columns; empty if it cannot be begun from here.
    again: Vec<(&'static str, String)>,
    date_choices: Vec<(String, String)>,
    /// The date format that the form begins with.
    date_format: String,
    /// The fields that a column can have, with their names.
    fields: Vec<(&'static str, &'static str)>,
    /// Until when it can be undone, if there is something to undo.
    undo_until: Option<Time>,
    /// Until when its file is kept, if it waits for a decision.
    run_until: Option<Time>,
    /// The version in the script's URL.
    script_version: String,
}

/// The form with which a browser sends the file to the bucket.
struct Upload {
    action: String,
    fields: Vec<(String, String)>,
    /// The ends of the names of such files.
    accept: &'static str,
    until: Time,
}

/// A number of rows.
struct Figure {
    label: &'static str,
    number: u64,
    /// The path of these verdicts, if there are any.
    path: Option<String>,
}

impl ImportPage<'_> {
    /// Whether something is to be carried out.
    fn has_work(&self) -> bool {
        self.import.counts.create + self.import.counts.update > 0
    }

    /// The people whom a run adds and changes, in words.
    fn changes(&self) -> String {
        let counts = &self.import.counts;
        let people =
            |number, verb: &str| format!("{verb} {}", import_words::count(number, "person", "people"));
        match (counts.create, counts.update) {
            (added, 0) => people(added, "add"),
            (0, changed) => people(changed, "change"),
            (added, changed) => format!("{} and change {}", people(added, "add"), grouped(changed)),
        }
    }

    /// How many people the retention rule would erase at once, as a sentence.
    fn due(&self) -> Option<String> {
        let due = self.import.due_for_erasure;
        let people = import_words::count(due, "person", "people");
        (due > 0).then(|| {
            if self.import.settings.respect_dates {
                format!("Your retention rule will erase {people} of them on the first day, because it counts from their own dates.")
            } else {
                format!(
                    "By their own dates, {people} would be erased on the first day by your retention rule. For these it counts from \
                     the import."
                )
            }
        })
    }
}

/// Shows an import.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    page(&request, None).await
}

/// Says that the file is here, when the bucket sends the browser back.
pub(crate) async fn complete(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let path = path_of(request.context.id()?);
    match request.carry_out(request.call(fields_of(&[])), imports::complete_import).await {
        Ok(_) => Ok(Reply::see_other(&path)),
        Err(Error::Validation(_)) => Ok(Alert::ImportNotUploaded.redirect_to(&path)),
        Err(error) => Err(error),
    }
}

/// Lets the rows be carried out.
pub(crate) async fn run(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let ran = request.carry_out(request.call(fields_of(&[])), imports::run_import).await.map(drop);
    after(&request, ran, Notice::ImportRunning).await
}

/// Cancels an import.
pub(crate) async fn cancel(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let cancelled = request.carry_out(request.call(fields_of(&[])), imports::cancel_import).await.map(drop);
    after(&request, cancelled, Notice::ImportCancelled).await
}

/// Shows the import again: with a message, or with the sentence of the refusal.
async fn after(
    request: &MemberRequest,
    result: Result<(), Error>,
    notice: Notice,
) -> Result<Reply<Html>, Error> {
    match result {
        Ok(()) => Ok(notice.redirect_to(&path_of(request.context.id()?))),
        Err(error) => refuse(request, error).await,
    }
}

/// Shows the import again with the sentence of a refusal.
async fn refuse(request: &MemberRequest, error: Error) -> Result<Reply<Html>, Error> {
    Ok(page(request, Some(Refusal::of(error)?.text())).await?.with_status(422))
}

/// Awaits a ZIP of files, and goes back to the import's page, which has the form for it.
pub(crate) async fn add_files(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let path = path_of(request.context.id()?);
    match request.carry_out(request.call(fields_of(&[])), zip_files::create_import_files).await {
        Ok(_) => Ok(Reply::see_other(&path)),
        Err(error) => refuse(&request, error).await,
    }
}

/// Asks whether to undo an import.
pub(crate) async fn ask_to_undo(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    undo_form(&find(&request).await?, &request).show(&request)
}

/// Undoes an import.
pub(crate) async fn undo(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    match request.carry_out(request.call(fields_of(&[])), imports::undo_import).await {
        Ok(_) => Ok(Notice::ImportUndoing.redirect_to(&path_of(request.context.id()?))),
        Err(error) => undo_form(&find(&request).await?, &request).show_again(&request, error),
    }
}

fn undo_form(import: &Import, request: &MemberRequest) -> Form {
    let (zone, path) = (dates::zone(request), path_of(import.id));
    let facts = vec![
        ("Import", name_of(import)),
        ("Begun", zone.minute(import.created_at).text().to_owned()),
        ("People added", grouped(import.counts.create)),
        ("People changed", grouped(import.counts.update)),
    ];
    Form::new(Section::Candidates, "Undo the import", Vec::new(), format!("{path}/undo"), "Undo the import")
        .below(path, "Import")
        .telling(facts)
        .lead(
            "People whom the import added are erased for good, unless somebody has done anything with them since. Of all others, \
             the applications and notes that it added are removed unless somebody has touched them. Fields that it filled or \
             replaced stay as they are.",
        )
        .grave()
}

async fn page(request: &MemberRequest, alert: Option<String>) -> Result<Reply<Html>, Error> {
    let import = find(request).await?;
    let (upload, origins) = upload(request, &import).await;
    let (zip_upload, zip_origins) =
        if alert.is_none() { import_files::upload(request, &import).await } else { (None, None) };
    let origins = origins.or(zip_origins);
    let (zone, path, now) = (dates::zone(request), path_of(import.id), request.context.now());
    let findings = import.findings.clone().unwrap_or_default();
    let mapping = findings.mapping.as_ref().or(import.mapping.as_ref());
    let examples = if mapping.is_some() { first_rows(request, &import).await } else { Vec::new() };
    let header = mapping.map(|mapping| mapping.columns.as_slice()).unwrap_or_default();
    let (columns, people) = columns(header, &examples);
    let is_checked = import.status == ImportStatus::Checked;
    let proposed = findings.date_format.filter(|_| is_checked);
    let is_unread = import.status == ImportStatus::Failed && import.rows == 0;
    let again = if is_checked || is_unread { again(&import) } else { Vec::new() };
    let date_format = proposed.or(import.settings.date_format).map_or("", DateFormat::as_str).to_owned();
    let shown = ImportPage {
        alert,
        begun: zone.minute(import.created_at),
        by: actor(&import.created_by),
        what: name_of(&import),
        progress: import_words::progress(&import),
        figures: figures(&import, &path),
        warnings: &findings.warnings,
        proposed: proposed.map(|format| (import_words::dates(format), with_dates(&import, format))),
        columns,
        header_row: mapping.and_then(|mapping| mapping.header_row),
        again,
        date_choices: date_choices(),
        date_format,
        fields: ImportField::ALL.map(|field| (field.as_str(), import_words::field(field))).into(),
        undo_until: (import.can_be_undone() && now < import.kept_until())
            .then(|| zone.minute(import.kept_until())),
        run_until: is_checked.then(|| zone.minute(import.run_until())),
        script_version: version_of(&SCRIPT),
        layout: Layout::of(request, Section::Candidates),
        path,
        import: &import,
        upload,
        zip_upload,
    };
    let script = shown.upload.is_some() || shown.zip_upload.is_some();
    let sources = Sources { form: origins.as_deref(), script, ..Sources::default() };
    Ok(Reply::page(&shown)?.using(&sources).showing(people))
}

/// The fields that begin another import with this form of dates, and with the columns as they were sent.
fn with_dates(import: &Import, format: DateFormat) -> Vec<(String, String)> {
    let settings = again(import).into_iter().chain([("date_format", format.as_str().to_owned())]);
    let settings = settings.map(|(name, value)| (name.to_owned(), value));
    settings.chain(import.mapping.iter().flat_map(mapped)).collect()
}

/// The form for the file of an import that waits for it, and the origins that it is sent to and comes back to.
async fn upload(request: &MemberRequest, import: &Import) -> (Option<Upload>, Option<String>) {
    let (until, now) = (import.upload_until(), request.context.now());
    if import.status != ImportStatus::Waiting || now >= until {
        return (None, None);
    }
    let providers = request.context.providers().await;
    let Some(bucket) = providers.resumes() else { return (None, None) };
    let (key, base) = (import.file(request.tenant()), request.context.base_url());
    let back = format!("{base}{}/uploaded", path_of(import.id));
    match bucket.import_form(&key, Import::MAX_UPLOAD, &back, until, now).await {
        Ok(form) => {
            let upload = Upload {
                action: form.action,
                fields: form.fields,
                accept: match import.format {
                    ImportFormat::Csv => ".csv,.tsv,.txt",
                    ImportFormat::Xlsx => ".xlsx",
                    ImportFormat::Ndjson => ".ndjson,.jsonl,.json",
                },
                until: dates::zone(request).minute(until),
            };
            (Some(upload), Some(format!("{} {base}", form.origin)))
        }
        Err(error) => {
            tracing::warn!(%error, "the form for the file of an import could not be signed");
            (None, None)
        }
    }
}

/// The first rows of the file, while they are kept.
async fn first_rows(request: &MemberRequest, import: &Import) -> Vec<StoredRow> {
    let providers = request.context.providers().await;
    let Some(bucket) = providers.resumes().filter(|_| import.is_unfinished() && import.parts > 0) else {
        return Vec::new();
    };
    let read = rows(bucket, import, request.tenant(), 0, request.context.now()).await;
    read.unwrap_or_else(|error| {
        tracing::warn!(%error, "the examples of an import could not be read");
        Vec::new()
    })
}

/// The numbers of rows by what becomes of them.
fn figures(import: &Import, path: &str) -> Vec<Figure> {
    let (counts, is_run) = (&import.counts, import.run_at.is_some());
    if counts.judged() == 0 {
        return Vec::new();
    }
    let figure = |label, number, query: String| Figure {
        label,
        number,
        path: (number > 0).then(|| format!("{path}/rows?{query}")),
    };
    let of = |result: RowResult| {
        let query = format!("result={}", result.as_str());
        figure(import_words::result(result, is_run), counts.of(result), query)
    };
    let warned = figure("With warnings", counts.warnings, "warnings=true".to_owned());
    RowResult::ALL.map(of).into_iter().chain([warned]).collect()
}

#[derive(Template)]
#[template(path = "import_rows.html")]
struct VerdictsPage<'p> {
    layout: Layout<'p>,
    path: String,
    /// The verdicts to choose from.
    filters: Vec<VerdictLink>,
    rows: Vec<VerdictRow>,
    pager: Pager,
}

/// A link to some of the verdicts.
struct VerdictLink {
    label: &'static str,
    number: u64,
    path: String,
    is_current: bool,
}

/// The verdict on a row.
struct VerdictRow {
    row: u64,
    line: u64,
    result: &'static str,
    word: RowResult,
    messages: Vec<String>,
    /// The number of files that it gets, or has got.
    files: u64,
    candidate: Option<u64>,
}

/// Shows the verdicts on the rows: all, of one kind, or those with warnings.
pub(crate) async fn verdicts(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let import = find(&request).await?;
    let query = request.context.query();
    let (result, is_warned) = (filter::<RowResult>(query.get("result"))?, query.get("warnings") == "true");
    let mut chosen: Vec<(&str, &str)> = Vec::new();
    chosen.extend(result.map(|result| ("result", result.as_str())));
    chosen.extend(is_warned.then_some(("warnings", "true")));
    let limit = PAGE_SIZE.to_string();
    let cursor = query.non_empty("cursor").map(|cursor| ("cursor", cursor));
    let fields: Vec<_> = chosen.iter().copied().chain([("limit", &*limit)]).chain(cursor).collect();
    let call = HandlerCall { key: None, ..request.call(fields_of(&fields)) };
    let listed = request.carry_out(call, imports::list_verdicts).await?;
    let listed: Value = serde_json::from_str(listed.body()).unwrap_or_default();
    let (path, is_run) = (path_of(import.id), import.run_at.is_some());
    let address = |pairs: &[(&str, &str)]| {
        let query = encoded(pairs.iter().copied());
        if query.is_empty() { format!("{path}/rows") } else { format!("{path}/rows?{query}") }
    };
    let next = listed["next_cursor"].as_str();
    let next = next.map(|next| address(&[&*chosen, &[("cursor", next)]].concat()));
    let pager = Pager { first: cursor.map(|_| address(&chosen)), previous: None, next };
    let link = |label, number, pairs: &[(&str, &str)]| VerdictLink {
        label,
        number,
        path: address(pairs),
        is_current: chosen == pairs,
    };
    let of = |result: RowResult| {
        link(import_words::result(result, is_run), import.counts.of(result), &[("result", result.as_str())])
    };
    let filters = [link("All", import.counts.judged(), &[])].into_iter().chain(RowResult::ALL.map(of));
    let filters = filters.chain([link("With warnings", import.counts.warnings, &[("warnings", "true")])]);
    let row = |verdict: &Value| {
        let word = verdict["result"].as_str()?.parse().ok()?;
        let messages = verdict["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        Some(VerdictRow {
            row: verdict["row"].as_u64()?,
            line: verdict["line"].as_u64()?,
            result: import_words::result(word, is_run),
            word,
            messages: messages.iter().filter_map(Value::as_str).map(import_words::message).collect(),
            files: verdict["files"].as_array().map_or(0, Vec::len) as u64,
            candidate: verdict["candidate_id"].as_u64(),
        })
    };
    let rows = listed["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    Reply::page(&VerdictsPage {
        layout: Layout::of(&request, Section::Candidates),
        filters: filters.collect(),
        rows: rows.iter().filter_map(row).collect(),
        pager,
        path: path.clone(),
    })
}
