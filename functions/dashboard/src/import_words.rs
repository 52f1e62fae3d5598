//! What an import has and how it is read, in words.

use shared::model::{
    DateFormat, Import, ImportField, ImportFormat, ImportStatus, PlainPhones, RowResult, TextEncoding,
    grouped,
};

/// The format of a file.
pub(crate) const fn format(format: ImportFormat) -> &'static str {
    match format {
        ImportFormat::Csv => "Spreadsheet as text (CSV)",
        ImportFormat::Xlsx => "Excel workbook (xlsx)",
        ImportFormat::Ndjson => "One person a line (NDJSON)",
    }
}

/// How dates with several readings are read.
pub(crate) const fn dates(format: DateFormat) -> &'static str {
    match format {
        DateFormat::Dmy => "Day, month, year: 31/12/2026",
        DateFormat::Mdy => "Month, day, year: 12/31/2026",
        DateFormat::Ymd => "Year, month, day: 26/12/31",
        DateFormat::Excel => "Day numbers of a spreadsheet: 46387",
    }
}

/// How phone numbers of digits alone are read.
pub(crate) const fn phones(phones: PlainPhones) -> &'static str {
    match phones {
        PlainPhones::National => "As numbers of our country",
        PlainPhones::International => "With a country code, without the plus",
    }
}

/// The encoding of a text file.
pub(crate) const fn encoding(encoding: TextEncoding) -> &'static str {
    match encoding {
        TextEncoding::Utf8 => "Unicode (UTF-8)",
        TextEncoding::Utf16 => "Unicode (UTF-16)",
        TextEncoding::Windows1250 => "Central European (Windows-1250)",
        TextEncoding::Windows1251 => "Cyrillic (Windows-1251)",
        TextEncoding::Windows1252 => "Western European (Windows-1252)",
        TextEncoding::Windows1253 => "Greek (Windows-1253)",
        TextEncoding::Windows1254 => "Turkish (Windows-1254)",
        TextEncoding::Windows1255 => "Hebrew (Windows-1255)",
        TextEncoding::Windows1256 => "Arabic (Windows-1256)",
        TextEncoding::Windows1257 => "Baltic (Windows-1257)",
        TextEncoding::Windows1258 => "Vietnamese (Windows-1258)",
        TextEncoding::ShiftJis => "Japanese (Shift JIS)",
        TextEncoding::Gbk => "Chinese (GBK)",
        TextEncoding::EucKr => "Korean (EUC-KR)",
        TextEncoding::Macintosh => "Western European (Mac OS Roman)",
    }
}

/// What a column has.
pub(crate) const fn field(field: ImportField) -> &'static str {
    match field {
        ImportField::ExternalId => "Identifier in another system",
        ImportField::Name => "Name",
        ImportField::FirstName => "First name",
        ImportField::LastName => "Last name",
        ImportField::Email => "E-mail address",
        ImportField::Phone => "Phone number",
        ImportField::Source => "Source",
        ImportField::Tags => "Tags",
        ImportField::CreatedAt => "Known since",
        ImportField::Resume => "Resume: a link or file names",
        ImportField::ResumeUrl => "Link to the resume",
        ImportField::Files => "File names",
        ImportField::Notes => "Notes",
        ImportField::Consents => "Consents",
        ImportField::Role => "Role: title",
        ImportField::RoleId => "Role: ID here",
        ImportField::RoleExternalId => "Role: identifier in another system",
        ImportField::ApplicationExternalId => "Application: identifier in another system",
        ImportField::AppliedAt => "Application: day",
        ImportField::Stage => "Application: stage",
        ImportField::Status => "Application: status",
        ImportField::RejectionReason => "Rejection: reason",
        ImportField::RejectedBy => "Rejection: by the team or the candidate",
        ImportField::RejectedAt => "Rejection: day",
        ImportField::Answers => "Answers",
        ImportField::StageChanges => "Moves between stages",
    }
}

/// What becomes of a row, as the heading of a number. `is_done` says whether the rows were carried out.
pub(crate) const fn result(result: RowResult, is_done: bool) -> &'static str {
    match (result, is_done) {
        (RowResult::Create, false) => "To add",
        (RowResult::Create, true) => "Added",
        (RowResult::Update, false) => "To change",
        (RowResult::Update, true) => "Changed",
        (RowResult::Unchanged, _) => "Nothing new",
        (RowResult::Invalid, _) => "Invalid",
    }
}

/// A message about a row, as a sentence that begins with the name of the field and not with its path.
pub(crate) fn message(message: &str) -> String {
    let (path, problem) = message.split_once(' ').unwrap_or((message, "is invalid"));
    let name = path.strip_prefix("applications[0].").unwrap_or(path);
    let known = match name {
        "applications[0]" => return format!("Application {problem}."),
        "rejection.at" => Ok(ImportField::RejectedAt),
        "role.title" => Ok(ImportField::Role),
        name => name.parse(),
    };
    match known {
        Ok(known) => format!("{} {problem}.", field(known)),
        Err(_) => format!("{message}."),
    }
}

/// A number of things: `1 row`, `1,200 rows`.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// How far an import is, as a sentence.
pub(crate) fn progress(import: &Import) -> String {
    let (done, rows) = (grouped(import.done), count(import.rows, "row", "rows"));
    match import.status {
        ImportStatus::Waiting => "Waits for the file.".to_owned(),
        ImportStatus::Checking if import.rows == 0 => "The file is being read.".to_owned(),
        ImportStatus::Checking => format!("Checked {done} of {rows}. Nothing is added yet."),
        ImportStatus::Checked => format!("All of {rows} checked. Nothing is added yet."),
        ImportStatus::Running => format!("Carried out {done} of {rows}."),
        ImportStatus::Done => format!("Done. All of {rows} had their turn."),
        ImportStatus::Undoing => format!("Undone for {done} of {rows}."),
        ImportStatus::Undone => format!(
            "Undone. Nothing is left of {}; something stays of {}.",
            count(import.counts.undone, "row", "rows"),
            grouped(import.counts.kept)
        ),
        ImportStatus::Failed => import.reason.clone().unwrap_or_else(|| "It has failed.".to_owned()),
        ImportStatus::Cancelled if import.run_at.is_some() => {
            format!("Cancelled after {done} of {rows}. What these rows have made stays.")
        }
        ImportStatus::Cancelled => "Cancelled. Nothing was added.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_field_in_words() {
        for (given, expected) in [
            ("name can't be blank", "Name can't be blank."),
            (
                "applications[0].applied_at must not be in the future",
                "Application: day must not be in the future.",
            ),
            (
                "applications[0] differs from the candidate's, which stays",
                "Application differs from the candidate's, which stays.",
            ),
            (
                "applications[0].rejection.at is before the application, whose time counts for both",
                "Rejection: day is before the application, whose time counts for both.",
            ),
            ("applications[0].role.title names several roles", "Role: title names several roles."),
            ("applications[2].stage is unknown", "applications[2].stage is unknown."),
            ("row must be a JSON object", "row must be a JSON object."),
            ("odd", "odd."),
        ] {
            assert_eq!(message(given), expected);
        }
    }
}
