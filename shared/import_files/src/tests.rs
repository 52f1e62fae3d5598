//! The files of real programs, with the verdict of each row.

use std::fs::File;
use std::io::{Cursor, Read, Seek};

use proptest::prelude::*;
use serde_json::Value;
use shared::model::PlainPhones;

use super::*;

/// How a test reads a file.
#[derive(Clone, Default)]
struct Reading {
    plain_phones: Option<PlainPhones>,
    date_format: Option<DateFormat>,
    encoding: Option<Encoding>,
    sheet: Option<&'static str>,
    mapping: Option<&'static [(&'static str, &'static str)]>,
}

/// What was read.
struct Outcome {
    rows: Vec<RowVerdict>,
    report: Report,
}

impl Outcome {
    /// The verdicts: `+` for a row, `w` for one with warnings, `x` for an invalid one.
    fn verdicts(&self) -> String {
        let sign = |row: &RowVerdict| match &row.verdict {
            Ok(_) if row.warnings.is_empty() => format!("{}+", row.row),
            Ok(_) => format!("{}w", row.row),
            Err(_) => format!("{}x", row.row),
        };
        self.rows.iter().map(sign).collect::<Vec<_>>().join(" ")
    }

    /// The values of a field, `null` for invalid rows.
    fn values(&self, field: &str) -> Vec<Value> {
        let value = |row: &RowVerdict| {
            let json = row.verdict.as_ref().ok()?;
            serde_json::from_str::<Value>(json).unwrap().pointer(field).cloned()
        };
        self.rows.iter().map(|row| value(row).unwrap_or_default()).collect()
    }

    /// The messages of a row.
    fn messages(&self, row: usize) -> String {
        let row = &self.rows[row - 1];
        row.verdict
            .as_ref()
            .err()
            .into_iter()
            .flatten()
            .chain(&row.warnings)
            .cloned()
            .collect::<Vec<_>>()
            .join("; ")
    }
}

fn read(file: impl Read + Seek, format: FileFormat, reading: &Reading) -> Result<Outcome, String> {
    let mapping = reading.mapping.map(|columns| Mapping {
        header_row: None,
        columns: columns
            .iter()
            .map(|(header, field)| Column { header: (*header).to_owned(), field: field.parse().ok() })
            .collect(),
    });
    let settings = Settings {
        sheet: reading.sheet.map(ToOwned::to_owned),
        encoding: reading.encoding,
        mapping,
        date_format: reading.date_format,
        plain_phones: reading.plain_phones,
        country: "DE".parse().ok(),
        ..Settings::new(format)
    };
    let now = "2026-11-28T12:00:00Z".parse().unwrap();
    let mut rows = Vec::new();
    let report = read_file(file, &settings, now, &mut |row| {
        rows.push(row);
        ControlFlow::Continue(())
    });
    report.map(|report| Outcome { rows, report }).map_err(|refusal| refusal.to_string())
}

/// Reads an example file.
fn example(name: &str, reading: &Reading) -> Outcome {
    let file = File::open(format!("{}/files/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let format = name.rsplit('.').next().and_then(|ending| ending.parse().ok());
    read(file, format.unwrap(), reading).unwrap()
}

fn csv(text: &str) -> Result<Outcome, String> {
    read(Cursor::new(text.as_bytes()), FileFormat::Csv, &Reading::default())
}

/// The columns of the file with German headers.
const GERMAN: &[(&str, &str)] = &[
    ("Name", "name"),
    ("E-Mail", "email"),
    ("Telefon", "phone"),
    ("Erstellt am", "created_at"),
    ("Schlagwörter", "tags"),
    ("Nr.", "external_id"),
];
/// The columns of the file with Polish headers.
const POLISH: &[(&str, &str)] =
    &[("Imię i nazwisko", "name"), ("E-mail", "email"), ("Telefon", "phone"), ("Data dodania", "created_at")];

#[test]
fn each_row_of_each_program_has_its_verdict() {
    let usual = Reading::default();
    let international = Reading { plain_phones: Some(PlainPhones::International), ..usual.clone() };
    let excel = Reading { date_format: Some(DateFormat::Excel), ..usual.clone() };
    let german = Reading { mapping: Some(GERMAN), ..usual.clone() };
    let german_dmy = Reading { date_format: Some(DateFormat::Dmy), ..german.clone() };
    let polish = Reading { mapping: Some(POLISH), ..usual.clone() };
    let polish_1250 = Reading { encoding: Some(Encoding::Windows1250), ..polish.clone() };
    let lost = "1w 2w 3x 4x 5x 6w 7x 8+";
    let all = "1+ 2+ 3+ 4+ 5+ 6+ 7+ 8+";
    for (name, reading, verdicts) in [
        ("libreoffice-de-semicolon.csv", &usual, lost),
        ("libreoffice-de-semicolon.csv", &international, "1w 2w 3w 4w 5x 6x 7w 8+"),
        ("libreoffice-headless-default.csv", &usual, lost),
        ("libreoffice-title-row.csv", &usual, all),
        ("pandas.csv", &usual, lost),
        ("gnumeric.csv", &usual, "1w 2w 3x 4x 5x 6w 7x 8w"),
        ("csvkit-in2csv.csv", &usual, lost),
        ("sheetjs-0.20.3.csv", &usual, "1x 2x 3x 4x 5x 6x 7x 8x"),
        ("sheetjs-0.20.3.csv", &excel, "1x 2w 3x 4x 5x 6w 7x 8w"),
        ("exceljs.csv", &usual, "1+ 2w 3+ 4w 5+ 6w 7+ 8w"),
        ("R-write.csv2.csv", &usual, lost),
        ("csv-stringify-guarded.csv", &usual, "1+ 2+ 3+ 4+ 5+ 6+ 7+ 8+ 9+"),
        ("python-sep-line.csv", &german_dmy, all),
        ("python-sep-line.csv", &german, "1x 2+ 3x 4+ 5x 6x 7x 8x"),
        ("python-windows-1250.csv", &polish_1250, "1+ 2+ 3+ 4+ 5+"),
        ("python-windows-1250.csv", &polish, "1+ 2w 3+ 4+ 5w"),
        ("openpyxl-formats.xlsx", &usual, "1+ 2w 3x 4+ 5+ 6+ 7x 8x 9x"),
        ("xlsxwriter-formulas-hidden-rows.xlsx", &usual, all),
        ("exceljs.xlsx", &usual, all),
        ("excelize.xlsx", &usual, "1+ 2w 3+ 4x 5+ 6w 7+ 8+"),
        ("poi.xlsx", &usual, "1+ 2+ 3+ 4x 5+ 6+ 7+ 8x"),
        ("sheetjs-dates-new-york.xlsx", &usual, "1w 2w 3w 4w 5w 6w 7w 8w"),
    ] {
        let outcome = example(name, reading);
        let messages: Vec<_> = (1..=outcome.rows.len()).map(|row| outcome.messages(row)).collect();
        assert_eq!(outcome.verdicts(), verdicts, "{name}: {messages:#?}");
    }
}

#[test]
fn values_are_what_people_typed() {
    let usual = Reading::default();
    let outcome = example("libreoffice-title-row.csv", &usual);
    let (ids, lines): (_, Vec<_>) =
        (outcome.values("/external_id"), outcome.rows.iter().map(|row| row.line).collect());
    assert_eq!(ids[..5], ["00117", "00204", "00318", "00422", "12E45"].map(Value::from));
    // The title and a blank row are before the header, which is repeated after the fourth person.
    assert_eq!(lines[..5], [4, 5, 6, 7, 9]);
    assert!(outcome.report.skipped > 1);
    assert_eq!(outcome.report.mapping.as_ref().and_then(|mapping| mapping.header_row), Some(3));

    let outcome = example("csv-stringify-guarded.csv", &usual);
    assert_eq!(outcome.values("/name")[..2], ["Anneliese Köhler", "Pieter 't Hart"].map(Value::from));
    assert_eq!(outcome.values("/phone")[8], "+821012345678");
    assert_eq!(outcome.values("/notes/0/text")[1], "- asked twice");
    assert_eq!(outcome.values("/notes/0/text")[8], "'quoted' by her; =no formula");
    assert_eq!(outcome.values("/tags")[3], serde_json::json!(["go", "docker"]));
    assert_eq!(outcome.values("/applications/0/role/title")[2], "Warehouse clerk");
    assert_eq!(outcome.values("/applications/0/stage")[0], "interview");
    assert_eq!(outcome.values("/files/0/name")[0], "Köhler Lebenslauf.pdf");

    let outcome = example("exceljs.csv", &usual);
    assert_eq!(outcome.values("/created_at")[0], "2026-03-04T00:00:00.000Z");
    assert_eq!(outcome.values("/email")[0], "anneliese.koehler@mail.example");
    assert_eq!(outcome.values("/name")[1], "Pieter 't Hart");
    assert_eq!(outcome.values("/phone")[5], "+4915112345678");

    let outcome = example("poi.xlsx", &usual);
    assert_eq!(outcome.values("/created_at")[0], "2026-03-04T14:30:00.000Z");
    assert_eq!(outcome.values("/external_id")[0], "117");

    let outcome = example("openpyxl-formats.xlsx", &usual);
    assert_eq!(outcome.values("/external_id")[..2], ["00117", "00204"].map(Value::from));
    assert_eq!(outcome.values("/email")[0], "anneliese.koehler@mail.example");
    assert_eq!(outcome.values("/phone")[0], "+491713920012");
    assert_eq!(outcome.values("/phone")[5], "+4915112345678");

    let names = example("xlsxwriter-formulas-hidden-rows.xlsx", &usual).values("/name");
    assert_eq!(names[..2], ["Anneliese Köhler", "Pieter 't Hart"].map(Value::from));
    let excelize = example("excelize.xlsx", &usual);
    assert_eq!(excelize.rows.len(), 8);
    assert_eq!(excelize.values("/created_at")[2], "2026-02-01T00:00:00.000Z");

    let reading = Reading { mapping: Some(GERMAN), date_format: Some(DateFormat::Dmy), ..usual.clone() };
    let outcome = example("python-sep-line.csv", &reading);
    assert_eq!(outcome.values("/name")[0], "Köhler, Anneliese");
    assert_eq!(outcome.values("/created_at")[4], "2026-01-09T00:00:00.000Z");

    let polish = Reading { mapping: Some(POLISH), ..usual };
    let reading = Reading { encoding: Some(Encoding::Windows1250), ..polish.clone() };
    assert_eq!(example("python-windows-1250.csv", &reading).values("/name")[4], "Żaneta Dąbrowska");
    let outcome = example("python-windows-1250.csv", &polish);
    assert!(outcome.report.warnings[0].contains("Windows-1252"));
    assert!(outcome.messages(5).contains("name the file's encoding"));
}

#[test]
fn a_phone_is_bare_whatever_a_program_has_put_around_it() {
    for phone in [
        "48512345678,0",
        "48512345678.00",
        "48.512.345.678",
        "48,51,23,45,678",
        "48 512 345 678",
        "48\u{202f}512\u{202f}345\u{202f}678",
        "48 51 234 56 78",
        "\u{202d}48512345678\u{202c}",
    ] {
        let outcome = csv(&format!("Name,Email,Phone\nA,a@x.example,\"{phone}\"\n")).unwrap();
        assert!(
            outcome.messages(1).contains("+4948512345678 or +48512345678"),
            "{phone}: {}",
            outcome.messages(1)
        );
    }
}

#[test]
fn spaces_between_digits_show_no_country() {
    let phone = |phone: &str, country: &str, plain_phones| {
        let settings =
            Settings { plain_phones, country: country.parse().ok(), ..Settings::new(FileFormat::Csv) };
        let text = format!("Name,Email,Phone\nA,a@x.example,\"{phone}\"\n");
        let (now, mut phone) = ("2026-11-28T12:00:00Z".parse().unwrap(), None);
        read_file(Cursor::new(text.as_bytes()), &settings, now, &mut |row| {
            let row: Option<Value> = row.verdict.ok().map(|json| serde_json::from_str(&json).unwrap());
            phone = row.and_then(|row| row["phone"].as_str().map(ToOwned::to_owned));
            ControlFlow::Continue(())
        })
        .unwrap();
        phone
    };
    let (national, international) = (Some(PlainPhones::National), Some(PlainPhones::International));
    for (typed, country, plain_phones, read) in [
        ("415 555 0123", "US", None, Some("+14155550123")),
        ("(415) 555-0123", "US", international, Some("+14155550123")),
        ("415.555.0123", "US", international, Some("+14155550123")),
        ("1 415 555 0123", "US", None, Some("+14155550123")),
        ("1 415 555 0123", "DE", None, Some("+14155550123")),
        ("44 7911 123456", "GB", None, Some("+447911123456")),
        ("44 7911 123456", "DE", international, Some("+447911123456")),
        ("46 70 123 45 67", "DE", international, Some("+46701234567")),
        ("31 6 1234 5678", "NL", None, Some("+31612345678")),
        ("48 512 345 678", "DE", None, None),
        ("48 512 345 678", "DE", international, Some("+48512345678")),
        ("48 512 345 678", "DE", national, Some("+4948512345678")),
        ("48 512 345 678", "PL", None, Some("+48512345678")),
        ("512 345 678", "PL", None, Some("+48512345678")),
        ("0151 23456789", "DE", international, Some("+4915123456789")),
        ("0048 512 345 678", "DE", national, Some("+48512345678")),
    ] {
        assert_eq!(phone(typed, country, plain_phones).as_deref(), read, "{typed} in {country}");
    }
}

#[test]
fn messages_say_what_a_program_has_done() {
    let usual = Reading::default();
    let lost = example("libreoffice-de-semicolon.csv", &usual);
    assert_eq!(lost.messages(1), "phone has no plus: 491713920012 was read as +491713920012");
    assert!(lost.messages(3).contains("+4948512345678 or +48512345678"), "{}", lost.messages(3));
    assert!(
        lost.messages(5).contains("external_id is incomplete: a spreadsheet has cut"),
        "{}",
        lost.messages(5)
    );
    let numbers = example("sheetjs-0.20.3.csv", &usual);
    assert!(numbers.messages(2).contains("46094 is a spreadsheet's day number"), "{}", numbers.messages(2));
    assert!(numbers.messages(1).contains("phone is incomplete"), "{}", numbers.messages(1));
    let torn = example("R-write.csv2.csv", &usual);
    assert_eq!(torn.messages(3), "row has 11 cells, but the header has 13");
    assert_eq!(torn.messages(7), "row has 12 cells, but the header has 13");
    assert_eq!(torn.values("/phone")[7], Value::Null);
    let firsts = example("csvkit-in2csv.csv", &usual);
    assert!(firsts.report.warnings[0].contains("first of a month"));
    let moved = example("sheetjs-dates-new-york.xlsx", &usual);
    assert!(moved.messages(1).contains("no time of this column is midnight"));
    let errors = example("openpyxl-formats.xlsx", &usual);
    assert!(errors.messages(9).contains("name must not be the error of a formula: #N/A"));
    let german = Reading { mapping: Some(GERMAN), ..usual.clone() };
    assert_eq!(example("python-sep-line.csv", &german).report.date_format, Some(DateFormat::Dmy));
    assert_eq!(example("sheetjs-0.20.3.csv", &usual).report.date_format, Some(DateFormat::Excel));
    assert_eq!(example("pandas.csv", &usual).report.date_format, None);
}

#[test]
fn a_person_is_never_lost_in_a_broken_file() {
    assert_eq!(
        csv("Name,Email\n\"Kalle, Karl\nx,x@x.example\n").err().as_deref(),
        Some("The quote of line 2 is not closed")
    );
    assert_eq!(
        csv("Name,Email,Notes\na,a@x.example,\"1\n2\"\n\nb,b@x.example,\"c\n").err().as_deref(),
        Some("The quote of line 5 is not closed")
    );
    let outcome = csv("Name,Email\na,a@x.example,\nb\nc,c@x.example,d\ne,e@x.example").unwrap();
    assert_eq!(outcome.verdicts(), "1+ 2x 3x 4+");
    assert!(csv("Anna,anna@x.example\n").err().unwrap().contains("None of the first 20 rows is a header"));
    assert!(csv("").err().unwrap().contains("header"));
    // The last line has no line end, and lines end as on Windows.
    let outcome = csv("Name,Email\r\n\r\na,a@x.example\r\n\"b\r\nb\",b@x.example\r\nc,c@x.example").unwrap();
    assert_eq!(outcome.rows.iter().map(|row| row.line).collect::<Vec<_>>(), [3, 4, 6]);
    assert_eq!(outcome.verdicts(), "1+ 2x 3+");
}

#[test]
fn lines_may_end_as_on_any_system() {
    for end in ["\r", "\r\n", "\n"] {
        let read = |text: &str| csv(&text.replace('\n', end)).unwrap();
        let text =
            "\nName,Email,Notes\n\n\na,a@x.example,\"1\n\n2\"\n  \nb,b@x.example,\nc\n\nd,d@x.example,x";
        for text in [text.to_owned(), format!("{text}\n")] {
            let outcome = read(&text);
            assert_eq!(outcome.verdicts(), "1+ 2+ 3x 4+", "{end:?}");
            assert_eq!(
                outcome.rows.iter().map(|row| row.line).collect::<Vec<_>>(),
                [5, 9, 10, 12],
                "{end:?}"
            );
            assert_eq!(outcome.report.skipped, 4, "{end:?}");
            assert_eq!(outcome.values("/notes/0/text")[0], "1\n\n2", "{end:?}");
            assert_eq!(outcome.messages(3), "row has 1 cell, but the header has 3");
        }
        assert_eq!(read("sep=;\nName;Email\na, b;a@x.example\n").values("/name"), ["a, b"]);
        assert_eq!(
            csv(&"Name,Email\n\n\"b,b@x.example\n".replace('\n', end)).err().as_deref(),
            Some("The quote of line 3 is not closed")
        );
    }
}

#[test]
fn empty_rows_of_a_workbook_are_counted_and_end_nothing() {
    let outcome = example("openpyxl-gap.xlsx", &Reading::default());
    assert_eq!(outcome.values("/name"), ["First Person", "Gap Person"]);
    assert_eq!(outcome.rows[1].line, 5_000);
    assert_eq!(outcome.report.skipped, 4_997);
}

#[test]
fn sheets_that_are_not_read_are_named() {
    let outcome = example("openpyxl-two-sheets.xlsx", &Reading::default());
    assert_eq!(outcome.values("/name"), ["Only First"]);
    assert_eq!(outcome.report.warnings, ["Other sheets were not read: \"2026\". `sheet` chooses one"]);
    let chosen = Reading { sheet: Some("2026"), ..Reading::default() };
    assert_eq!(example("openpyxl-two-sheets.xlsx", &chosen).report.warnings, Vec::<String>::new());
}

#[test]
fn what_is_no_spreadsheet_is_refused_with_the_way_out() {
    let xlsx = |bytes: &[u8]| read(Cursor::new(bytes), FileFormat::Xlsx, &Reading::default()).err().unwrap();
    assert!(xlsx(b"<html><table>").contains("web page"));
    assert!(xlsx(b"Name,Email\n").contains("format csv"));
    assert!(xlsx(b"").contains("not a workbook"));
    assert!(xlsx(b"PK\x03\x04 cut").contains("can't be read"));
    assert!(xlsx(&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1]).contains(".xls"));
    let bytes = |name: &str| std::fs::read(format!("{}/files/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    assert!(xlsx(&bytes("excelize-password.xlsx")).contains("needs a password"));
    let workbook = bytes("poi.xlsx");
    let as_csv = read(Cursor::new(&workbook), FileFormat::Csv, &Reading::default()).err().unwrap();
    assert!(as_csv.contains("format xlsx"));
    let sheet = Reading { sheet: Some("Nobody"), ..Reading::default() };
    let refused = read(Cursor::new(&workbook), FileFormat::Xlsx, &sheet).err().unwrap();
    assert!(refused.contains("no sheet that is called \"Nobody\""));
    let hidden = Reading { sheet: Some("Archive"), ..Reading::default() };
    let outcome = example("xlsxwriter-formulas-hidden-rows.xlsx", &hidden);
    assert_eq!(outcome.values("/email"), ["archived@mail.example"]);
}

#[test]
fn lines_of_json_are_rows_as_they_are() {
    let lines = concat!(
        "\u{FEFF}{\"name\":\"Anna\",\"email\":\"anna@x.example\",\"id\":7,\"version\":3,\"stage\":\"offer\"}\n",
        "\n",
        "{\"name\":\"\",\"created_at\":\"2027-01-01T00:00:00Z\"}\n",
        "{\"name\":\"B\",\"applications\":[{\"role\":{\"title\":\"x\",\"id\":1}}],\"phone\":\"+4915112345678\"}\n",
        "[]\nnot json\n",
        "{\"name\":\"C\",\"notes\":[{\"text\":\"x\",\"author\":\"Jo\",\"at\":\"2020-01-01T00:00:00Z\"}]}",
    );
    let outcome = read(Cursor::new(lines.as_bytes()), FileFormat::Ndjson, &Reading::default()).unwrap();
    assert_eq!(outcome.verdicts(), "1+ 2x 3x 4x 5x 6+");
    assert_eq!(outcome.messages(2), "name can't be blank");
    assert_eq!(
        outcome.messages(3),
        "applications[0].role must have an id, or an external_id, a title or both"
    );
    assert_eq!(outcome.messages(5), "row must be a JSON object");
    assert_eq!((outcome.report.skipped, outcome.rows[5].line), (1, 7));
}

#[test]
fn an_array_is_no_ndjson() {
    for text in ["[{\"name\":\"Anna\"}]", "\n[\n {\n"] {
        let refused = read(Cursor::new(text.as_bytes()), FileFormat::Ndjson, &Reading::default()).err();
        assert!(refused.unwrap().starts_with("This is a JSON array, not NDJSON"));
    }
}

#[test]
fn the_first_filled_column_of_a_field_counts() {
    let text = concat!(
        "Name,Mobile,Email,Phone\n",
        "A,+4915112345678,a@x.example,+49301234567\n",
        "B,+4915112345678,b@x.example,\n",
        "C,+4915112345678,c@x.example,N/A\n",
    );
    let outcome = csv(text).unwrap();
    assert_eq!(outcome.verdicts(), "1+ 2+ 3+");
    assert_eq!(outcome.values("/phone"), ["+49301234567", "+4915112345678", "+4915112345678"]);
    assert!(outcome.report.warnings[0].contains("\"Phone\", \"Mobile\" all have `phone`"));
}

#[test]
fn a_query_is_no_part_of_an_address() {
    let outcome = csv("Name,Email\nA,a@x.example?subject=Hi\nB,mailto:b@x.example?subject=Hi\n").unwrap();
    assert_eq!(outcome.verdicts(), "1x 2+");
    assert_eq!(outcome.messages(1), "email must be an e-mail address, such as jane@example.com");
    assert_eq!(outcome.values("/email")[1], "b@x.example");
}

#[test]
fn special_cells_are_read_as_they_are_meant() {
    let text = concat!(
        "Name,Email,Phone,Tags,Sources,Notes,Created at\n",
        "A,Anna <a@x.example>,NA,\"['go', \"\"it's\"\"]\",x; y,a_x000D_\nb,-\n",
        "B,\"b@x.example, c@x.example\",0151 12345678,1; 2,LinkedIn,#REF!,\n",
        "Null,mailto:n@x.example?subject=x,00491511234567,,,,2026-03-04\n",
        "5,d@x.example,,,,,\n",
    );
    let text = text.replace("a_x000D_\nb", "\"a_x000D_\nb\"");
    let outcome = csv(&text).unwrap();
    assert_eq!(outcome.verdicts(), "1w 2w 3+ 4x", "{:?}", outcome.rows);
    assert_eq!(outcome.values("/email")[..3], ["a@x.example", "b@x.example", "n@x.example"].map(Value::from));
    assert_eq!(outcome.values("/tags")[0], serde_json::json!(["go", "it's"]));
    assert_eq!(outcome.values("/source")[0], "x");
    assert_eq!(outcome.values("/notes/0/text")[0], "a\nb");
    assert_eq!(outcome.values("/phone")[1], "+4915112345678");
    assert_eq!(
        outcome.messages(2),
        "email has several addresses: the first is taken; notes #REF! was left out"
    );
}

proptest! {
    #[test]
    fn any_file_is_read_or_refused(bytes: Vec<u8>, format in 0..FileFormat::ALL.len(), header: bool) {
        let header = if header { "Name,Email,Phone,Tags,Created on\n".as_bytes() } else { b"" };
        let _ = read(Cursor::new([header, &bytes].concat()), FileFormat::ALL[format], &Reading::default());
    }

    #[test]
    fn any_cells_are_read_or_refused(cells in prop::collection::vec("[0-9a-zA-Z+'=@.,:;/<>\\[\\]{}\" \\-]{0,14}", 6)) {
        let quoted: Vec<_> = cells.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
        let text = format!("Candidate ID,Name,Email,Phone,Tags,Created on\n{}\n", quoted.join(","));
        let outcome = csv(&text).unwrap();
        prop_assert!(outcome.rows.len() <= 1);
        // What is read is a row as it is.
        for row in &outcome.rows {
            if let Ok(json) = &row.verdict {
                prop_assert!(row::read_line(json, "2026-11-28T12:00:00Z".parse().unwrap()).is_ok());
            }
        }
    }

    /// A date is never read with day and month exchanged.
    #[test]
    fn a_date_is_read_as_it_was_written_or_not_at_all(
        year in 1970..2026_i16,
        month in 1..=12_i8,
        day in 1..=28_i8,
        form in prop::sample::select(vec!["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y-%m-%d", "%-d %B %Y", "%b %-d, %Y", "%Y/%m/%d"]),
    ) {
        let date = jiff::civil::date(year, month, day);
        let text = format!("Name,Email,Created on\nA,a@x.example,\"{}\"\n", date.strftime(form));
        let outcome = csv(&text).unwrap();
        if outcome.rows[0].verdict.is_ok() {
            prop_assert_eq!(&outcome.values("/created_at")[0], &Value::from(format!("{date}T00:00:00.000Z")));
        }
    }

    /// Digits alone are never another valid number than the one that lost its plus or its zero.
    #[test]
    fn a_phone_without_its_plus_is_the_same_or_invalid(country in prop::sample::select(EXAMPLES.to_vec())) {
        let digits = country.trim_start_matches('+');
        let outcome = csv(&format!("Name,Email,Phone\nA,a@x.example,{digits}\n")).unwrap();
        if outcome.rows[0].verdict.is_ok() {
            prop_assert_eq!(&outcome.values("/phone")[0], country);
        }
    }
}

/// Numbers of several countries.
const EXAMPLES: &[&str] = &[
    "+491713920012",
    "+31612345678",
    "+48512345678",
    "+353851234567",
    "+14155550123",
    "+819012345678",
    "+442079460018",
    "+33612345678",
    "+390612345678",
    "+34612345678",
    "+5511961234567",
    "+919876543210",
    "+8613812345678",
    "+61412345678",
];
