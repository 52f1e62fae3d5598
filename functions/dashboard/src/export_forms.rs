//! The form that begins an export.

use std::sync::Arc;

use shared::handlers::exports;
use shared::http::{Error, Html, MemberRequest, Parameters, Reply};
use shared::id::Id;
use shared::model::{ExportFormat, ExportKind, Mode};

use crate::export_words;
use crate::form_page::{Field, FieldKind, Form};
use crate::import_forms::roles;
use crate::layout::Section;

/// The list.
pub(crate) const PATH: &str = "/dashboard/exports";
/// Where the form is sent.
pub(crate) const NEW: &str = "/dashboard/exports/new";
/// The field with the kinds that are ticked.
const KINDS: &str = "kinds";

/// The path of an export's page.
pub(crate) fn path_of(id: Id) -> String {
    format!("{PATH}/{id}")
}

/// Shows the form.
pub(crate) async fn new(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    form(&request).await?.show(&request)
}

/// Begins an export, and goes on to its page.
pub(crate) async fn create(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    match request.carry_out(request.call(sent(&request)), exports::create_export).await {
        Ok(reply) => Ok(Reply::see_other(&path_of(reply.created_id().ok_or(Error::NotFound)?))),
        Err(error) => form(&request).await?.show_again(&request, error),
    }
}

/// The fields of the form as the API has them: one list of all kinds that are ticked.
fn sent(request: &MemberRequest) -> Parameters {
    let fields = request.fields();
    let ticked: Vec<_> = fields.all(KINDS).collect();
    // With a comma at the end, no kind is an empty list, which is refused, and not everything.
    let kinds = (KINDS.to_owned(), format!("{},", ticked.join(",")));
    let others = fields.iter().filter(|(name, _)| *name != KINDS);
    others.map(|(name, value)| (name.to_owned(), value.to_owned())).chain([kinds]).collect()
}

async fn form(request: &MemberRequest) -> Result<Form, Error> {
    let formats = [ExportFormat::Csv, ExportFormat::Ndjson];
    let kinds = ExportKind::ALL.map(|kind| {
        (kind.as_str().to_owned(), export_words::kind(kind).to_owned(), export_words::about(kind))
    });
    let all = ExportKind::ALL.map(ExportKind::as_str).join(",");
    let fields = vec![
        Field::line("format", "Format")
            .of(FieldKind::Choice(
                formats.map(|format| (format.as_str().to_owned(), export_words::format(format).to_owned())).into(),
            ))
            .hint("A spreadsheet leaves out rows with a cell of more than 32,000 characters, and says how many. JSON has everything."),
        Field::line(KINDS, "Kinds of data")
            .of(FieldKind::Several(kinds.into()))
            .with(&all)
            .hint("Each is a file of its own."),
        Field::line("role_id", "Role")
            .of(FieldKind::Choice(roles(request, "All roles").await?))
            .hint("One role limits the export to it: its applications, voice screens and job posting, and the people who have applied for it."),
    ];
    let facts = vec![
        (
            "Files",
            "Kept for 24 hours. Uploaded files, such as resumes, are named in them and not included."
                .to_owned(),
        ),
        (
            "Erasures",
            "The erasure of anybody, also by your retention rule, ends every export at once.".to_owned(),
        ),
        ("Limits", format!("{}.", export_words::allowance(request.organization().plan))),
    ];
    let mode = if request.tenant().mode == Mode::Test { "test" } else { "live" };
    Ok(Form::new(Section::Candidates, "Export data", fields, NEW, "Begin the export")
        .below(PATH, "Exports")
        .telling(facts)
        .lead(format!("Take away what your organization has in its {mode} data. The export is written in the background.")))
}
