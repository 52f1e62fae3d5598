//! Reads people from the files that a team brings: spreadsheets (CSV and xlsx) as programs really write them, NDJSON, and what
//! the interfaces of other systems answer.
//!
//! Every form becomes the same [row](row::ImportRow), whose JSON is what the next step reads. A spreadsheet is read twice: the
//! [survey](survey) looks at whole columns, and the second pass makes a row of each record, with messages about what cannot be
//! read and warnings about what a program may have changed. Nothing is guessed: what has two readings is invalid until the
//! settings decide.
//!
//! Memory does not grow with the file, apart from the texts that an xlsx file shares between its cells. The lists of other
//! systems are held in memory, because their objects refer to each other.

mod archive;
mod cell;
mod csv;
mod dates;
mod encoding;
mod harvest;
mod header;
mod lists;
mod merge;
mod names;
mod objects;
mod people;
mod person;
mod phones;
mod record;
mod refusal;
mod settings;
mod stages;
mod survey;
mod table;
mod words;
mod xlsx;

#[cfg(test)]
mod system_tests;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::ops::ControlFlow;
use std::path::Path;

use shared::clock::Timestamp;

pub use archive::{Archive, ArchiveRefusal, Claimant, MAX_FILES, Owners, bytes_with, unpack};
pub use refusal::Refusal;
pub use settings::{FileFormat, RoleCountries, RoleName, Settings};
pub use shared::handlers::import_row as row;
pub use shared::model::{
    DateFormat, ImportColumn as Column, ImportField as Field, ImportMapping as Mapping,
    TextEncoding as Encoding,
};
pub use table::{Report, RowVerdict};

use harvest::Harvest;
use merge::Merge;
use objects::{JsonFile, Lists};
use row::read_line;

/// The maximum number of bytes of a row.
pub const MAX_ROW: usize = 8 * 1024 * 1024;
/// The maximum number of rows of a file.
pub const MAX_ROWS: u64 = 200_000;
/// The maximum number of bytes of a file with the JSON of another system.
pub const MAX_JSON: u64 = 200 * 1024 * 1024;

const ARRAY: &str = "This is a JSON array, not NDJSON. Write the object of each row in a line of its own, without the brackets and commas \
                     of the array";
/// How the names of files end that are read in a folder.
const JSON_NAMES: [&str; 3] = ["json", "jsonl", "ndjson"];

/// Reads a file, and gives each of its rows to `each` until that breaks. Fails if nothing of the file can be trusted.
pub fn read_file(
    mut file: impl Read + Seek,
    settings: &Settings,
    now: Timestamp,
    each: &mut dyn FnMut(RowVerdict) -> ControlFlow<()>,
) -> Result<Report, Refusal> {
    match settings.format {
        FileFormat::Csv => table::read(csv::CsvFile::open(file, settings)?, settings, now, each),
        FileFormat::Xlsx => table::read(xlsx::XlsxFile::open(file, settings)?, settings, now, each),
        FileFormat::Ndjson => read_lines(file, now, each),
        FileFormat::Harvest | FileFormat::Merge => {
            file.rewind()?;
            read_systems(&[JsonFile::read(None, file)?], settings, now, each)
        }
    }
}

/// Reads a folder with a file for each list of another system, such as `candidates.json`, like [`read_file`].
pub fn read_folder(
    folder: &Path,
    settings: &Settings,
    now: Timestamp,
    each: &mut dyn FnMut(RowVerdict) -> ControlFlow<()>,
) -> Result<Report, Refusal> {
    if !matches!(settings.format, FileFormat::Harvest | FileFormat::Merge) {
        return Err(Refusal::Kind("This is a folder: only the formats harvest and merge are read from one"));
    }
    let mut paths = folder.read_dir()?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let ending = path.extension().and_then(|ending| ending.to_str());
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(name) = name.filter(|_| ending.is_some_and(|ending| JSON_NAMES.contains(&ending))) {
            files.push(JsonFile::read(Some(name.to_owned()), File::open(&path)?)?);
        }
    }
    read_systems(&files, settings, now, each)
}

fn read_systems(
    files: &[JsonFile],
    settings: &Settings,
    now: Timestamp,
    each: &mut dyn FnMut(RowVerdict) -> ControlFlow<()>,
) -> Result<Report, Refusal> {
    let lists = Lists::of(files)?;
    if settings.format == FileFormat::Merge {
        people::read::<Merge<'_>>(&lists, settings, now, each)
    } else {
        people::read::<Harvest<'_>>(&lists, settings, now, each)
    }
}

/// Reads a file in which each line is the JSON of a row. Blank lines are skipped.
fn read_lines(
    mut file: impl Read + Seek,
    now: Timestamp,
    each: &mut dyn FnMut(RowVerdict) -> ControlFlow<()>,
) -> Result<Report, Refusal> {
    file.rewind()?;
    let (mut file, mut report) = (BufReader::new(file), Report::default());
    let (mut bytes, mut line) = (Vec::new(), 0);
    loop {
        bytes.clear();
        let limit = u64::try_from(MAX_ROW + 2).unwrap_or(u64::MAX);
        if file.by_ref().take(limit).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(report);
        }
        line += 1;
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        if text.len() > MAX_ROW {
            return Err(Refusal::LongRow { line });
        }
        let Ok(text) = std::str::from_utf8(text) else { return Err(Refusal::NotUtf8 { line }) };
        let text = if line == 1 { text.trim_start_matches('\u{FEFF}') } else { text }.trim();
        if text.is_empty() {
            report.skipped += 1;
            continue;
        }
        if report.rows == 0 && text.starts_with('[') {
            return Err(Refusal::Kind(ARRAY));
        }
        report.count_row()?;
        let verdict = read_line(text, now).map(|_| text.to_owned());
        if each(RowVerdict { row: report.rows, line, verdict, warnings: Vec::new() }).is_break() {
            return Ok(report);
        }
    }
}
