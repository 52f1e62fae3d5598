//! The form that begins an import of people.

use std::sync::Arc;

use shared::handlers::imports;
use shared::http::{Error, HandlerCall, Html, MemberRequest, Parameters, Reply};
use shared::id::Id;
use shared::model::{
    DateFormat, Import, ImportColumn, ImportFormat, ImportMapping, ImportStatus, PlainPhones, Role, Tags,
    Text, TextEncoding,
};
use shared::store::Paging;

use crate::form_page::{Field, FieldKind, Form};
use crate::import_words;
use crate::layout::Section;
use crate::sources::{source_name, source_word};
use crate::tag_line::{line_of, tags_in};

/// The list.
pub(crate) const PATH: &str = "/dashboard/imports";

/// The import that the path names.
pub(crate) async fn find(request: &MemberRequest) -> Result<Import, Error> {
    let found = request.context.store().find_import(request.tenant(), request.context.id()?).await?;
    found.ok_or(Error::NotFound)
}

/// The path of an import's page.
pub(crate) fn path_of(id: Id) -> String {
    format!("{PATH}/{id}")
}

/// Where the form is sent.
pub(crate) const NEW: &str = "/dashboard/imports/new";
/// The field with the import that the new one takes the place of.
const INSTEAD_OF: &str = "instead_of";
/// The beginning of the names of fields about columns.
const MAPPING: &str = "mapping.";
/// The maximum number of roles to choose from: the newest.
const ROLES: u32 = 100;

/// Shows the form.
pub(crate) async fn new(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    form(&request).await?.show(&request)
}

/// Begins an import, and goes on to its page, which has the form for the file. An import that it takes the place of is cancelled.
pub(crate) async fn create(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    match request.carry_out(request.call(sent(&request)), imports::create_import).await {
        Ok(reply) => {
            let id = reply.created_id().ok_or(Error::NotFound)?;
            cancel_replaced(&request).await?;
            Ok(Reply::see_other(&path_of(id)))
        }
        Err(error) => {
            let is_kept = |name: &str| name == INSTEAD_OF || name.starts_with(MAPPING);
            let kept = request.page.form().iter().filter(|(name, _)| is_kept(name));
            let kept = kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            form(&request).await?.carrying(kept).show_again(&request, error)
        }
    }
}

/// Cancels the import that the form names, if it only waits for a decision.
async fn cancel_replaced(request: &MemberRequest) -> Result<(), Error> {
    let Ok(id) = request.page.form().get(INSTEAD_OF).parse::<Id>() else { return Ok(()) };
    let found = request.context.store().find_import(request.tenant(), id).await?;
    if found.is_none_or(|import| import.status != ImportStatus::Checked) {
        return Ok(());
    }
    let call = HandlerCall { id: Some(id), key: None, ..request.call(Parameters::default()) };
    match request.carry_out(call, imports::cancel_import).await {
        Ok(_) | Err(Error::InvalidTransition(_) | Error::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The fields of the form as the API has them: its word for a source that has a name, and each tag in a field of its own.
fn sent(request: &MemberRequest) -> Parameters {
    let fields = request.fields();
    let in_words = |(name, value): (&str, &str)| match name {
        INSTEAD_OF => Vec::new(),
        "defaults.source" => vec![(name.to_owned(), source_word(value).to_owned())],
        "defaults.tags" => {
            // One more than allowed is enough for the message.
            (0..=Tags::MAX)
                .zip(tags_in(value))
                .map(|(index, tag)| (format!("{name}[{index}]"), tag))
                .collect()
        }
        _ => vec![(name.to_owned(), value.to_owned())],
    };
    fields.iter().flat_map(in_words).collect()
}

/// The hidden fields with which another import of the same file takes the place of this one: how it is read, but for the form of
/// its dates and what its columns mean.
pub(crate) fn again(import: &Import) -> Vec<(&'static str, String)> {
    let settings = &import.settings;
    let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
    let defaults = &settings.defaults;
    vec![
        (INSTEAD_OF, import.id.to_string()),
        ("format", import.format.as_str().to_owned()),
        ("source", text(settings.source.as_ref().map(Text::as_str))),
        ("sheet", text(settings.sheet.as_deref())),
        ("encoding", text(settings.encoding.map(TextEncoding::as_str))),
        ("plain_phones", text(settings.plain_phones.map(PlainPhones::as_str))),
        ("defaults.role_id", defaults.role_id.map(|id| id.to_string()).unwrap_or_default()),
        ("defaults.source", text(defaults.source.as_ref().map(|source| source_name(source.as_str())))),
        ("defaults.tags", line_of(&defaults.tags)),
        ("create_roles", settings.create_roles.to_string()),
        ("overwrite", settings.overwrite.to_string()),
        ("respect_dates", settings.respect_dates.to_string()),
        ("notify", settings.notify.to_string()),
    ]
}

/// The hidden fields with what columns mean.
pub(crate) fn mapped(mapping: &ImportMapping) -> Vec<(String, String)> {
    let column = |(index, column): (usize, &ImportColumn)| {
        let field = column.field.map_or("", |field| field.as_str()).to_owned();
        [
            (format!("{MAPPING}columns[{index}].header"), column.header.clone()),
            (format!("{MAPPING}columns[{index}].field"), field),
        ]
    };
    let row = mapping.header_row.map(|row| (format!("{MAPPING}header_row"), row.to_string()));
    row.into_iter().chain(mapping.columns.iter().enumerate().flat_map(column)).collect()
}

/// A choice of these words, after one that leaves the decision to each value of the file.
pub(crate) fn choices<const N: usize, T: Copy>(
    none: &str,
    all: [T; N],
    word: fn(T) -> &'static str,
    label: fn(T) -> &'static str,
) -> Vec<(String, String)> {
    let none = (String::new(), none.to_owned());
    [none].into_iter().chain(all.map(|one| (word(one).to_owned(), label(one).to_owned()))).collect()
}

/// The forms of dates to choose from.
pub(crate) fn date_choices() -> Vec<(String, String)> {
    choices("Only those with one reading", DateFormat::ALL, DateFormat::as_str, import_words::dates)
}

async fn form(request: &MemberRequest) -> Result<Form, Error> {
    let fields = vec![
        Field::line("format", "File").of(FieldKind::Choice(
            ImportFormat::ALL
                .map(|format| (format.as_str().to_owned(), import_words::format(format).to_owned()))
                .into(),
        )),
        Field::line("source", "Where the file comes from")
            .at_most(100)
            .hint("Optional: such as the name of another system. The list of imports shows it."),
        Field::line("date_format", "Dates such as 03/04/2026")
            .of(FieldKind::Choice(date_choices()))
            .hint("If you leave this, the check proposes the form that fits every row."),
        Field::line("plain_phones", "Phone numbers without a plus")
            .of(FieldKind::Choice(choices(
                "Only those with one reading",
                PlainPhones::ALL,
                PlainPhones::as_str,
                import_words::phones,
            )))
            .hint("Programs take away a plus and zeros. Numbers with two readings are invalid unless you decide."),
        Field::line("defaults.source", "Source").hint("Optional: of rows that name none."),
        Field::line("defaults.tags", "Tags")
            .hint("Optional: all people get them. Separated by commas."),
        Field::line("defaults.role_id", "Role")
            .of(FieldKind::Choice(roles(request, "No role").await?))
            .hint("Optional: of rows without an application."),
        Field::line("overwrite", "People whom you have already")
            .of(two("Keep what is known, add what is missing", "Replace it with what the file says")),
        Field::disclosure("More settings"),
        Field::line("sheet", "Sheet of the workbook")
            .at_most(100)
            .hint("Optional. Without it, the first visible one with a header is read."),
        Field::line("encoding", "Encoding of the text")
            .of(FieldKind::Choice(choices(
                "Unicode, else Western European",
                TextEncoding::ALL,
                TextEncoding::as_str,
                import_words::encoding,
            )))
            .hint("Choose another one if letters such as é or ł are wrong in the check."),
        Field::line("create_roles", "Roles that you don't have")
            .of(FieldKind::Choice(vec![
                ("true".to_owned(), "Make them, closed".to_owned()),
                ("false".to_owned(), "Rows with them are invalid".to_owned()),
            ])),
        Field::line("respect_dates", "Retention counts from")
            .of(two("The day of the import", "The people's own dates")),
        Field::line("notify", "Webhook endpoints").of(two("Get no events of it", "Get the events of it")),
    ];
    Ok(Form::new(Section::Candidates, "Import people", fields, NEW, "Continue to the file")
        .below(PATH, "Imports")
        .lead("The next page takes the file. Every row is checked first, and nothing is added before you say so.")
        .linking("/dashboard/imports/example", "Download an example file"))
}

/// A choice between no, which is the default, and yes.
fn two(no: &str, yes: &str) -> FieldKind {
    FieldKind::Choice(
        [("false", no), ("true", yes)].map(|(value, label)| (value.to_owned(), label.to_owned())).into(),
    )
}

/// A choice of the newest roles, also closed ones, which have people of the past, after one of no role.
pub(crate) async fn roles(request: &MemberRequest, none: &str) -> Result<Vec<(String, String)>, Error> {
    let first = Paging { limit: ROLES, before: None };
    let roles = request.context.store().list_roles(request.tenant(), None, &first).await?;
    let choice = |role: &Role| (role.id.to_string(), role.content.title.as_str().to_owned());
    let none = (String::new(), none.to_owned());
    Ok([none].into_iter().chain(roles.items.iter().map(choice)).collect())
}
