//! The columns of an imported file: what each was understood as, with examples.

use serde_json::Value;
use shared::model::{ImportColumn, ImportField};
use shared::services::imports::StoredRow;

use crate::import_words;

/// The maximum number of examples of a column.
const EXAMPLES: usize = 3;
/// The maximum number of characters of an example.
const LONGEST: usize = 80;

/// A column on a page.
pub(crate) struct ColumnRow {
    /// The beginning of the names of its fields in the form: `mapping.columns[0]`.
    pub(crate) name: String,
    pub(crate) header: String,
    /// The word of the field; empty if the column is left out.
    pub(crate) field: &'static str,
    /// What it was understood as; empty if the column is left out.
    pub(crate) understood: &'static str,
    pub(crate) examples: Vec<String>,
}

/// The columns of a file with examples from these rows, and the number of rows that have an example.
pub(crate) fn columns(columns: &[ImportColumn], rows: &[StoredRow]) -> (Vec<ColumnRow>, usize) {
    let parsed: Vec<Value> = rows
        .iter()
        .map(|row| row.json.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default())
        .collect();
    let mut shown = vec![false; parsed.len()];
    let column = |(index, column): (usize, &ImportColumn)| {
        let mut examples: Vec<String> = Vec::new();
        for (row, is_shown) in parsed.iter().zip(&mut shown) {
            let example = column.field.and_then(|field| example(field, row)).map(|text| shortened(&text));
            if let Some(example) = example.filter(|example| !examples.contains(example)) {
                examples.push(example);
                *is_shown = true;
            }
            if examples.len() == EXAMPLES {
                break;
            }
        }
        ColumnRow {
            name: format!("mapping.columns[{index}]"),
            header: column.header.clone(),
            field: column.field.map_or("", ImportField::as_str),
            understood: column.field.map_or("", import_words::field),
            examples,
        }
    };
    let columns = columns.iter().enumerate().map(column).collect();
    (columns, shown.into_iter().filter(|is_shown| *is_shown).count())
}

/// What a row has from a column with this field, as it was read.
fn example(field: ImportField, row: &Value) -> Option<String> {
    let application = &row["applications"][0];
    let value = match field {
        ImportField::FirstName | ImportField::LastName => &row["name"],
        ImportField::Resume if row["resume_url"].is_string() => &row["resume_url"],
        ImportField::Resume => &row["files"],
        ImportField::Role => &application["role"]["title"],
        ImportField::RoleId => &application["role"]["id"],
        ImportField::RoleExternalId => &application["role"]["external_id"],
        ImportField::ApplicationExternalId => &application["external_id"],
        ImportField::AppliedAt
        | ImportField::Stage
        | ImportField::Status
        | ImportField::Answers
        | ImportField::StageChanges => &application[field.as_str()],
        ImportField::RejectionReason => &application["rejection"]["reason"],
        ImportField::RejectedBy => &application["rejection"]["by"],
        ImportField::RejectedAt => &application["rejection"]["at"],
        ImportField::ExternalId
        | ImportField::Name
        | ImportField::Email
        | ImportField::Phone
        | ImportField::Source
        | ImportField::Tags
        | ImportField::CreatedAt
        | ImportField::ResumeUrl
        | ImportField::Files
        | ImportField::Notes
        | ImportField::Consents => &row[field.as_str()],
    };
    text(value)
}

/// A value as a text: of an object what a person reads of it, and of a list all of its items.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let texts: Vec<_> = items.iter().filter_map(text).collect();
            (!texts.is_empty()).then(|| texts.join("; "))
        }
        Value::Object(object) => {
            let parts = ["label", "value", "name", "text", "purpose", "stage"];
            let parts: Vec<_> = parts.iter().filter_map(|name| object.get(*name)?.as_str()).collect();
            (!parts.is_empty()).then(|| parts.join(": "))
        }
        value => Some(value.to_string()),
    }
}

fn shortened(text: &str) -> String {
    let mut letters = text.chars();
    let beginning: String = letters.by_ref().take(LONGEST).collect();
    if letters.next().is_some() { format!("{beginning} …") } else { beginning }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(json: &Value) -> StoredRow {
        StoredRow {
            row: 1,
            line: 2,
            json: Some(json.to_string()),
            messages: Vec::new(),
            same_as: None,
            is_repeated: false,
        }
    }

    #[test]
    fn each_field_has_an_example_where_a_row_has_a_value() {
        let person = json!({
            "external_id": "a-1", "name": "Ada Lovelace", "email": "ada@example.com", "phone": "+14155550100",
            "source": "fair", "tags": ["one", "two"], "created_at": "2024-01-10T09:00:00Z",
            "resume_url": "https://files.example/ada", "files": [{ "name": "ada.pdf" }],
            "notes": [{ "text": "Good" }], "consents": [{ "purpose": "recording" }],
            "applications": [{
                "external_id": "x", "role": { "id": 7, "external_id": "r", "title": "Cook" }, "stage": "offer",
                "applied_at": "2024-01-11T09:00:00Z", "status": "active",
                "rejection": { "by": "team", "reason": "Too far", "at": "2024-01-12T09:00:00Z" },
                "answers": [{ "label": "Notice", "value": "3 months" }], "stage_changes": [{ "stage": "offer" }],
            }],
        });
        let all = ImportField::ALL.map(|field| ImportColumn { header: "H".to_owned(), field: Some(field) });
        let (shown, people) = columns(&all, &[row(&person), row(&json!({ "name": "Eve" }))]);
        assert!(shown.iter().all(|column| !column.examples.is_empty()), "every field has one");
        let of = |field: ImportField| {
            let column = shown.iter().find(|column| column.field == field.as_str());
            column.unwrap().examples.join("|")
        };
        assert_eq!(of(ImportField::Name), "Ada Lovelace|Eve");
        assert_eq!(of(ImportField::Tags), "one; two");
        assert_eq!(of(ImportField::RoleId), "7");
        assert_eq!(of(ImportField::Answers), "Notice: 3 months");
        assert_eq!(people, 2);
    }

    #[test]
    fn a_column_shows_three_different_short_values() {
        let rows: Vec<_> = ["a", "a", "b", "c", "d"].map(|name| row(&json!({ "name": name }))).into();
        let named = [
            ImportColumn { header: "Name".to_owned(), field: Some(ImportField::Name) },
            ImportColumn { header: "Colour".to_owned(), field: None },
        ];
        let (shown, people) = columns(&named, &rows);
        assert_eq!(shown[0].examples, ["a", "b", "c"]);
        assert_eq!((shown[1].field, shown[1].examples.len()), ("", 0));
        assert_eq!(people, 3);
        let long = [row(&json!({ "name": "ä".repeat(81) }))];
        assert_eq!(columns(&named[..1], &long).0[0].examples, [format!("{} …", "ä".repeat(80))]);
        let broken = [StoredRow { json: Some("{".to_owned()), ..row(&json!({})) }];
        assert_eq!(columns(&named, &broken).1, 0);
    }
}
