//! Rows of spreadsheets: what the cells of a record say, as the JSON of an import row.

use std::ops::ControlFlow;

use serde_json::{Map, Value, json};
use shared::clock::Timestamp;
use shared::id::Id;
use shared::model::{CaseFolded, Country, Email, Phone, Stage};

use crate::cell::{Cell, CellKind};
use crate::dates;
use crate::header::{Header, OF_APPLICATION};
use crate::lists::items;
use crate::names;
use crate::phones;
use crate::record::{Record, Spreadsheet};
use crate::row::read_line;
use crate::stages;
use crate::survey::Survey;
use crate::words::is_word_for_nothing;
use crate::{DateFormat, Field, MAX_ROWS, Mapping, Refusal, RoleName, Settings};

/// The number of characters at which spreadsheets cut the text of a cell without a word.
const CUT: usize = 32_767;
/// The digits of a number that a spreadsheet keeps.
const EXACT_DIGITS: usize = 15;

/// A row of a file, and whether it can be imported.
#[derive(Debug)]
pub struct RowVerdict {
    /// The number of the row, from 1 on after the header.
    pub row: u64,
    /// The line of the file, or the row of the sheet.
    pub line: u64,
    /// The JSON of the row, or all that is wrong with it.
    pub verdict: Result<String, Vec<String>>,
    /// What a program may have changed.
    pub warnings: Vec<String>,
}

/// What a file has as a whole.
#[derive(Debug, Default)]
pub struct Report {
    /// The meaning of the columns; `None` for NDJSON.
    pub mapping: Option<Mapping>,
    /// The number of rows.
    pub rows: u64,
    /// The number of blank rows and repetitions of the header.
    pub skipped: u64,
    /// What the whole file shows.
    pub warnings: Vec<String>,
    /// The form that all dates have, if some are not read without it.
    pub date_format: Option<DateFormat>,
}

impl Report {
    /// Counts a row.
    pub(crate) fn count_row(&mut self) -> Result<(), Refusal> {
        self.rows += 1;
        if self.rows > MAX_ROWS { Err(Refusal::ManyRows) } else { Ok(()) }
    }
}

/// Reads a spreadsheet: whole columns first, then each row.
pub(crate) fn read<S: Spreadsheet>(
    mut file: S,
    settings: &Settings,
    now: Timestamp,
    each: &mut dyn FnMut(RowVerdict) -> ControlFlow<()>,
) -> Result<Report, Refusal> {
    let header = file.find_header(settings.mapping.as_ref())?;
    let mut survey = Survey::default();
    file.each_record(&mut |record| {
        if is_row(&header, &record) {
            survey.add(&header.columns, &record, settings.date_format);
        }
        ControlFlow::Continue(())
    })?;
    let left_out = Some(header.of_applications())
        .filter(|columns| !columns.is_empty() && !header.names_roles() && settings.default_role.is_none());
    let left_out = left_out.map(|columns| {
        format!(
            "No column names a role, so these columns of applications are left out: {}. `defaults.role_id` gives them a role",
            columns.join(", ")
        )
    });
    let mut report = Report {
        mapping: Some(header.mapping()),
        warnings: [file.warnings(), header.warnings(), survey.warnings()]
            .into_iter()
            .flatten()
            .chain(left_out)
            .collect(),
        date_format: survey.date_format(),
        ..Report::default()
    };
    let reader =
        RowReader { header: &header, settings, survey: &survey, now, has_all_cells: S::HAS_ALL_CELLS };
    let mut refusal = None;
    file.each_record(&mut |record| {
        if record.line <= header.line {
            return ControlFlow::Continue(());
        }
        report.skipped += record.empty;
        if !is_row(&header, &record) {
            report.skipped += 1;
            return ControlFlow::Continue(());
        }
        if let Err(error) = report.count_row() {
            refusal = Some(error);
            return ControlFlow::Break(());
        }
        let (verdict, warnings) = reader.read(&record);
        each(RowVerdict { row: report.rows, line: record.line, verdict, warnings })
    })?;
    refusal.map_or(Ok(report), Err)
}

/// Whether a record has a person.
fn is_row(header: &Header, record: &Record) -> bool {
    record.line > header.line && !record.is_blank() && !header.is_repeated_by(record)
}

/// The identifier in a cell without the decimals that a program has added. Fails with the end of a sentence if the program has
/// cut it.
pub(crate) fn plain_id(cell: &Cell) -> Result<Option<String>, String> {
    let text = cell.unguarded_digits();
    if text.is_empty() || is_nothing(cell) {
        return Ok(None);
    }
    let without_decimals = text.strip_suffix(".0").or_else(|| text.strip_suffix(",0"));
    let whole = without_decimals.filter(|whole| is_digits(whole)).unwrap_or(text);
    let lower = whole.to_lowercase();
    let is_cut = lower.split_once("e+").is_some_and(|(mantissa, exponent)| {
        is_digits(exponent) && is_digits(&mantissa.replacen(['.', ','], "", 1))
    }) || matches!(lower.as_str(), "inf" | "-inf" | "infinity" | "-infinity")
        || (cell.kind == CellKind::Number && whole.bytes().filter(u8::is_ascii_digit).count() > EXACT_DIGITS);
    if is_cut {
        let cause = "is incomplete: a spreadsheet has cut this number's digits; format the column as text and export it again";
        return Err(cause.to_owned());
    }
    Ok(Some(whole.to_owned()))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_nothing(cell: &Cell) -> bool {
    cell.is_error() || is_word_for_nothing(&cell.text)
}

/// Reads the rows of a file.
struct RowReader<'f> {
    header: &'f Header,
    settings: &'f Settings,
    survey: &'f Survey,
    now: Timestamp,
    has_all_cells: bool,
}

impl RowReader<'_> {
    /// The country of the phone number in a row that names this role.
    fn country_for(&self, role: &Map<String, Value>) -> Option<Country> {
        let Settings { role_countries, default_role, country, .. } = self.settings;
        let text = |name: &str| role.get(name)?.as_str().map(str::to_owned);
        let id = role.get("id").and_then(Value::as_u64);
        let names = [
            id.or_else(|| default_role.filter(|_| role.is_empty()).map(Id::get)).map(RoleName::Id),
            text("external_id").map(RoleName::ExternalId),
            text("title").map(|title| RoleName::Title(CaseFolded::of(&title))),
        ];
        names.iter().flatten().find_map(|name| role_countries.get(name)).copied().or(*country)
    }

    fn read(&self, record: &Record) -> (Result<String, Vec<String>>, Vec<String>) {
        let (columns, cells) = (self.header.columns.len(), record.cells.len());
        if self.has_all_cells && (record.width() > columns || cells < columns) {
            let count = if cells < columns { cells } else { record.width() };
            let noun = if count == 1 { "cell" } else { "cells" };
            let wrong = format!("row has {count} {noun}, but the header has {columns}");
            return (Err(vec![wrong]), Vec::new());
        }
        let mut row =
            RowCells { reader: self, record, row: Map::new(), messages: Vec::new(), warnings: Vec::new() };
        row.read_own_id();
        let role = row.read_role();
        row.read_person(self.country_for(&role));
        row.read_application(role);
        let RowCells { row, mut messages, warnings, .. } = row;
        let json = Value::Object(row).to_string();
        if let Err(wrong) = read_line(&json, self.now) {
            // What could not be read is left out of the JSON, so its message is there already.
            let is_new = |message: &String| {
                let path = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
                messages.iter().all(|before| path(before) != path(message))
            };
            let new: Vec<_> = wrong.into_iter().filter(is_new).collect();
            messages.extend(new);
        }
        (if messages.is_empty() { Ok(json) } else { Err(messages) }, warnings)
    }
}

/// A row that is being read.
struct RowCells<'r> {
    reader: &'r RowReader<'r>,
    record: &'r Record,
    row: Map<String, Value>,
    messages: Vec<String>,
    warnings: Vec<String>,
}

impl<'r> RowCells<'r> {
    /// The cells of a field that are not blank.
    fn cells(&self, field: Field) -> impl Iterator<Item = &'r Cell> + use<'r> {
        let cells = self.reader.header.cells(field, self.record);
        cells.filter(|cell| !cell.is_blank() || cell.link.is_some())
    }

    fn cell(&self, field: Field) -> Option<&'r Cell> {
        self.cells(field).next()
    }

    /// The cell of a field, unless it says that there is nothing.
    fn value(&self, field: Field) -> Option<&'r Cell> {
        self.cells(field).find(|cell| !is_nothing(cell))
    }

    fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    fn fail(&mut self, message: impl Into<String>) {
        self.messages.push(message.into());
    }

    /// The text of a cell, also of one that exceljs has written as rich text.
    fn plain_text(&mut self, path: &str, cell: &Cell) -> String {
        let text = cell.unguarded();
        if text.starts_with("{\"richText\"")
            && let Some(parts) = rich_text(text)
        {
            self.warn(format!("{path} was written as rich text: {parts} was taken from it"));
            return parts;
        }
        if text.chars().count() == CUT {
            self.warn(format!(
                "{path} has as many characters as a cell can have: a spreadsheet may have cut it"
            ));
        }
        text.to_owned()
    }

    /// The id that the rows of one person have in a spreadsheet of our own.
    fn read_own_id(&mut self) {
        let cell = self.reader.header.own_ids().and_then(|place| self.record.cells.get(place));
        if let Some(id) = cell.and_then(|cell| cell.text.parse::<u64>().ok()) {
            self.row.insert("id".to_owned(), id.into());
        }
    }

    fn read_person(&mut self, country: Option<Country>) {
        if let Some(cell) = self.cell(Field::ExternalId) {
            match plain_id(cell) {
                Ok(Some(id)) => {
                    if self.reader.survey.has_other_zeros(&id) {
                        self.warn("external_id differs from another row's only in the zeros before it");
                    }
                    self.row.insert("external_id".to_owned(), id.into());
                }
                Ok(None) => {}
                Err(problem) => self.fail(format!("external_id {problem}")),
            }
        }
        self.read_name();
        if let Some(email) = self.read_email() {
            self.row.insert("email".to_owned(), email.into());
        }
        if let Some(phone) = self.read_phone(country) {
            self.row.insert("phone".to_owned(), phone.as_str().into());
        }
        self.read_source();
        self.read_tags();
        if let Some(time) = self.read_time(Field::CreatedAt, "created_at") {
            self.row.insert("created_at".to_owned(), time);
        }
        self.read_files();
        self.read_notes();
        if let Some(consents) = self.read_json(Field::Consents, "consents") {
            self.row.insert("consents".to_owned(), consents);
        }
    }

    fn read_name(&mut self) {
        let parts = [Field::FirstName, Field::LastName];
        let has_parts = parts.iter().any(|part| self.cell(*part).is_some());
        let cells: Vec<_> = if has_parts {
            parts.into_iter().filter_map(|part| self.cell(part)).collect()
        } else {
            self.cell(Field::Name).into_iter().collect()
        };
        if let Some(error) = cells.iter().find(|cell| cell.is_error()) {
            return self.fail(format!("name must not be the error of a formula: {}", error.text));
        }
        let texts: Vec<_> = cells.into_iter().map(|cell| self.plain_text("name", cell)).collect();
        let name = texts.join(" ");
        if !name.is_empty() && name.replace(' ', "").parse::<f64>().is_ok_and(f64::is_finite) {
            return self.fail(format!("name must not be a number: {name}"));
        }
        if let Some(doubt) = names::doubt(&name) {
            self.warn(doubt);
        }
        self.row.insert("name".to_owned(), name.into());
    }

    fn read_email(&mut self) -> Option<String> {
        let cell = self.value(Field::Email)?;
        let text = self.plain_text("email", cell);
        // The cell may say "write", with the address behind it.
        let linked = cell.link.as_deref().filter(|link| !text.contains('@') && link.starts_with("mailto:"));
        let mut addresses = address_list(linked.unwrap_or(&text));
        let first = addresses.next()?;
        if addresses.next().is_some() {
            self.warn("email has several addresses: the first is taken");
        }
        // Without a scheme, no query ends an address.
        if first.rsplit_once('@').is_some_and(|(_, domain)| domain.contains('?')) {
            self.fail("email must be an e-mail address, such as jane@example.com");
        }
        Some(first)
    }

    fn read_phone(&mut self, country: Option<Country>) -> Option<Phone> {
        let cell = self.value(Field::Phone)?;
        let text = cell.unguarded_digits();
        let read = |text: &str| Phone::read(text, country);
        let several = || text.split([';', ',', '\n']).map(read).collect::<Result<Vec<_>, _>>().ok();
        match phones::read(text, country, self.reader.settings.plain_phones) {
            Ok((phone, warning)) => {
                self.warnings.extend(warning);
                Some(phone)
            }
            Err(problem) => {
                let first = several().filter(|all| all.len() > 1).and_then(|all| all.into_iter().next());
                match &first {
                    Some(_) => self.warn("phone has several numbers: the first is taken"),
                    None => self.fail(format!("phone {problem}")),
                }
                first
            }
        }
    }

    fn read_source(&mut self) {
        let Some(cell) = self.cell(Field::Source) else { return };
        if is_nothing(cell) {
            return self.warn(format!("source {} was left out", cell.text));
        }
        let text = self.plain_text("source", cell);
        let mut sources = items(&text).into_iter();
        let Some(first) = sources.next() else { return };
        if sources.next().is_some() {
            self.warn("source has several words: the first is taken");
        }
        self.row.insert("source".to_owned(), first.into());
    }

    fn read_tags(&mut self) {
        let mut tags = Vec::new();
        for cell in self.cells(Field::Tags) {
            if is_nothing(cell) {
                self.warn(format!("tags {} was left out", cell.text));
                continue;
            }
            let text = self.plain_text("tags", cell);
            tags.extend(items(&text));
        }
        if let Some(date) = tags.iter().find(|tag| dates::looks_like_one(tag)) {
            self.warn(format!("tags has {date}: a program may have made a date of it"));
        }
        if !tags.is_empty() {
            self.row.insert("tags".to_owned(), tags.into());
        }
    }

    /// The time in a cell, in the organization's zone.
    fn read_time(&mut self, field: Field, path: &str) -> Option<Value> {
        let cell = self.value(field)?;
        let settings = self.reader.settings;
        let read = match dates::read(cell, settings.date_format) {
            Ok(read) => read,
            Err(problem) => {
                self.fail(format!("{path} {problem}"));
                return None;
            }
        };
        if self.reader.survey.is_moved(field) {
            self.warn(format!(
                "{path} may be of the day before or after: no time of this column is midnight, so a program may have moved all"
            ));
        }
        let time = read.in_zone(&settings.time_zone.zone());
        if time.is_none() {
            self.fail(format!("{path} must be a date that exists"));
        }
        time.map(|time| time.to_string().into())
    }

    fn read_files(&mut self) {
        let mut files = Vec::new();
        for field in [Field::ResumeUrl, Field::Resume, Field::Files] {
            for cell in self.cells(field) {
                if is_nothing(cell) {
                    continue;
                }
                let text = self.plain_text(field.as_str(), cell);
                let linked = cell.link.as_deref().filter(|_| !is_web_address(&text));
                let address = linked.filter(|link| is_web_address(link)).unwrap_or(&text);
                if field == Field::ResumeUrl || (field == Field::Resume && is_web_address(address)) {
                    self.row.insert("resume_url".to_owned(), address.into());
                } else {
                    files.extend(items(&text).into_iter().map(|name| json!({ "name": name })));
                }
            }
        }
        if !files.is_empty() {
            self.row.insert("files".to_owned(), files.into());
        }
    }

    fn read_notes(&mut self) {
        let mut notes = Vec::new();
        for cell in self.cells(Field::Notes) {
            if is_nothing(cell) {
                self.warn(format!("notes {} was left out", cell.text));
                continue;
            }
            match serde_json::from_str::<Vec<Map<String, Value>>>(&cell.text) {
                Ok(written) => notes.extend(written.into_iter().map(Value::Object)),
                Err(_) => notes.push(json!({ "text": self.plain_text("notes", cell) })),
            }
        }
        if !notes.is_empty() {
            self.row.insert("notes".to_owned(), notes.into());
        }
    }

    /// An array of JSON in a cell.
    fn read_json(&mut self, field: Field, path: &str) -> Option<Value> {
        let cell = self.value(field)?;
        let read = serde_json::from_str::<Vec<Value>>(&cell.text).ok();
        if read.is_none() {
            self.fail(format!("{path} must be a JSON array"));
        }
        read.map(Value::from)
    }

    /// What names the role.
    fn read_role(&mut self) -> Map<String, Value> {
        let mut role = Map::new();
        for (field, name) in
            [(Field::RoleId, "id"), (Field::RoleExternalId, "external_id"), (Field::Role, "title")]
        {
            // Of a role that no external id leads to, the title counts.
            let is_other = !role.is_empty() && (field != Field::Role || role.contains_key("id"));
            let Some(cell) = self.value(field).filter(|_| !is_other) else { continue };
            let value = if field == Field::Role {
                self.plain_text("role", cell)
            } else {
                cell.unguarded_digits().to_owned()
            };
            let number = value.parse::<u64>().ok().filter(|_| field == Field::RoleId);
            role.insert(name.to_owned(), number.map_or_else(|| value.into(), Value::from));
        }
        role
    }

    fn read_application(&mut self, mut role: Map<String, Value>) {
        const PATH: &str = "applications[0]";
        let says_more = OF_APPLICATION.iter().any(|field| self.value(*field).is_some());
        if role.is_empty() && says_more {
            match self.reader.settings.default_role {
                Some(id) => drop(role.insert("id".to_owned(), id.get().into())),
                // If no row names one, the whole file has a warning.
                None if self.reader.header.names_roles() => {
                    return self.warn("applications was left out: the row names no role");
                }
                None => {}
            }
        }
        if role.is_empty() {
            return;
        }
        let mut application = Map::new();
        if let Some(time) = self.read_time(Field::AppliedAt, &format!("{PATH}.applied_at")) {
            application.insert("applied_at".to_owned(), time);
        }
        if let Some(stage) = self.read_stage(&format!("{PATH}.stage")) {
            application.insert("stage".to_owned(), stage.as_str().into());
        }
        if let Some(status) = self.value(Field::Status) {
            application.insert("status".to_owned(), status.text.to_lowercase().into());
        }
        let mut rejection = Map::new();
        if let Some(by) = self.value(Field::RejectedBy) {
            rejection.insert("by".to_owned(), by.text.to_lowercase().into());
        }
        if let Some(reason) = self.value(Field::RejectionReason) {
            let reason = self.plain_text("rejection_reason", reason);
            rejection.insert("reason".to_owned(), reason.into());
        }
        if let Some(time) = self.read_time(Field::RejectedAt, &format!("{PATH}.rejection.at")) {
            rejection.insert("at".to_owned(), time);
        }
        if !rejection.is_empty() {
            application.insert("rejection".to_owned(), rejection.into());
        }
        if let Some(cell) = self.cell(Field::ApplicationExternalId) {
            match plain_id(cell) {
                Ok(Some(id)) => drop(application.insert("external_id".to_owned(), id.into())),
                Ok(None) => {}
                Err(problem) => self.fail(format!("{PATH}.external_id {problem}")),
            }
        }
        for (field, name) in [(Field::Answers, "answers"), (Field::StageChanges, "stage_changes")] {
            if let Some(list) = self.read_json(field, &format!("{PATH}.{name}")) {
                application.insert(name.to_owned(), list);
            }
        }
        application.insert("role".to_owned(), role.into());
        self.row.insert("applications".to_owned(), json!([application]));
    }

    fn read_stage(&mut self, path: &str) -> Option<Stage> {
        let cell = self.value(Field::Stage)?;
        match stages::named(&cell.text) {
            Ok(stage) => Some(stage),
            Err(problem) => {
                self.fail(format!("{path} {problem}; it is \"{}\"", cell.text));
                None
            }
        }
    }
}

/// The text of a cell that was written as `{"richText":[{"text":"Anna "},...]}`.
fn rich_text(json: &str) -> Option<String> {
    let value: Value = serde_json::from_str(json).ok()?;
    let parts = value.get("richText")?.as_array()?;
    let texts: Option<Vec<_>> = parts.iter().map(|part| part.get("text")?.as_str()).collect();
    Some(texts?.concat().trim().to_owned())
}

/// The e-mail addresses of a cell: `mailto:anna@x.example?subject=x`, `Anna <anna@x.example>`, or several.
fn address_list(text: &str) -> impl Iterator<Item = String> {
    // A name may have a comma, as in `Müller, Anna <anna@x.example>`, so a part without an address is none.
    let address = |part: &str| {
        let part = match part.split_once('<') {
            Some((_, rest)) => rest.split('>').next().unwrap_or(rest),
            None => part,
        };
        let part = part.trim();
        let is_link = part.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("mailto:"));
        if is_link {
            part.get(7..).unwrap_or_default().split('?').next().unwrap_or_default().trim().to_owned()
        } else {
            part.to_owned()
        }
    };
    let parts: Vec<_> = text.split([';', ',', '\n']).map(address).filter(|part| !part.is_empty()).collect();
    let has_address = parts.iter().any(|part| part.parse::<Email>().is_ok());
    parts.into_iter().filter(move |part| !has_address || part.parse::<Email>().is_ok())
}

fn is_web_address(text: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}
