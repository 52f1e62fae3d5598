//! Files of people: what is read of one is a row as it is, or says what is wrong.

use std::io::Cursor;
use std::ops::ControlFlow;

use import_files::row::read_line;
use import_files::{DateFormat, FileFormat, Settings, read_file};
use shared::clock::Timestamp;
use shared::model::PlainPhones;

use crate::resumes::{archive, entries};

/// How much longer the rows of a text file may be than the file. A cell of one letter can be the title of a role, whose JSON has
/// 47 characters.
const FACTOR: usize = 64;

/// The first byte says what the rest is: `c` a CSV file, `n` NDJSON, `x` a workbook, `e` the names and the contents of a
/// workbook's entries as in `zips`. Anything else belongs to a CSV file. In upper case, the settings decide what has two readings.
pub fn import_files(input: &[u8]) {
    let Some((form, rest)) = input.split_first() else { return };
    let (format, file) = match form.to_ascii_lowercase() {
        b'c' => (FileFormat::Csv, rest.to_vec()),
        b'n' => (FileFormat::Ndjson, rest.to_vec()),
        b'x' => (FileFormat::Xlsx, rest.to_vec()),
        b'e' => (FileFormat::Xlsx, archive(&entries(rest))),
        _ => (FileFormat::Csv, input.to_vec()),
    };
    let decides = form.is_ascii_uppercase();
    let settings = Settings {
        country: "DE".parse().ok(),
        date_format: decides.then_some(DateFormat::Dmy),
        plain_phones: decides.then_some(PlainPhones::International),
        ..Settings::new(format)
    };
    let now: Timestamp = "2026-11-20T09:30:00Z".parse().expect("a time");
    let (size, mut rows, mut length) = (file.len(), 0, 0);
    let report = read_file(Cursor::new(file), &settings, now, &mut |row| {
        rows += 1;
        assert_eq!(row.row, rows);
        match &row.verdict {
            Ok(json) => {
                assert!(read_line(json, now).is_ok(), "{json}");
                length += json.len();
            }
            Err(messages) => assert!(!messages.is_empty()),
        }
        ControlFlow::Continue(())
    });
    if let Ok(report) = report {
        assert_eq!(report.rows, rows);
        if format != FileFormat::Xlsx {
            assert!(rows <= size as u64);
            assert!(length <= FACTOR * size + 1_000, "{length}");
        }
    }
}
