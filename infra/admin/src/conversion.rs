//! The `convert` command: the rows of an import from a file of people.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::str::FromStr;

use import_files::{
    Archive, Claimant, DateFormat, FileFormat, Mapping, Owners, RowVerdict, Settings, read_file, read_folder,
};
use serde::{Deserialize, Serialize};
use shared::clock::Timestamp;
use shared::model::{CandidateFileKind, ZippedFile};

use crate::cli::{Conversion, Reading};
use crate::output::{line, table};

/// What a file has.
#[derive(Default, Serialize)]
pub(crate) struct Converted {
    /// The number of rows that were written.
    written: u64,
    invalid: u64,
    /// The number of written rows with warnings.
    warned: u64,
    /// The number of blank rows, of repeated headers, and of people whom the other system has deleted.
    skipped: u64,
    /// What the whole file shows.
    warnings: Vec<String>,
    /// The form that all dates have, if some are not read without it.
    date_format: Option<DateFormat>,
    mapping: Option<Mapping>,
    /// The rows that are invalid or have warnings.
    rows: Vec<Remark>,
    /// The files of the archive; `None` without one.
    files: Option<Vec<OwnedFile>>,
}

/// A file of the archive.
#[derive(Serialize)]
struct OwnedFile {
    path: String,
    size: u64,
    /// The row that has it, if exactly one has.
    row: Option<u64>,
}

/// What a row says about its files.
#[derive(Deserialize)]
struct Person {
    #[serde(default)]
    files: Vec<NamedFile>,
    email: Option<String>,
    external_id: Option<String>,
}

#[derive(Deserialize)]
struct NamedFile {
    name: String,
}

/// What there is to say about a row.
#[derive(Serialize)]
struct Remark {
    row: u64,
    line: u64,
    is_valid: bool,
    messages: Vec<String>,
}

/// Reads the file, and writes its valid rows. Fails with a sentence without its full stop.
pub(crate) fn convert(arguments: &Conversion, now: Timestamp) -> Result<Converted, String> {
    let unread =
        |error: std::io::Error| format!("The file {} can't be read: {error}", arguments.file.display());
    let unwritten =
        |error: std::io::Error| format!("The file {} can't be written: {error}", arguments.output.display());
    let settings = settings(arguments)?;
    let path = &arguments.file;
    // A folder is opened by its reader.
    let file = if path.is_dir() { None } else { Some(File::open(path).map_err(unread)?) };
    // Another file must not be lost, nor the one that is read.
    let output = File::create_new(&arguments.output).map_err(unwritten)?;
    let (mut output, mut failure) = (BufWriter::new(output), None);
    let archive = arguments.files.as_deref().map(archive).transpose()?;
    let mut owners = archive.map(Owners::new);
    let mut converted = Converted::default();
    let mut write = |mut row: RowVerdict| {
        if let Some(owners) = &mut owners {
            add_owner(owners, &mut row);
        }
        let written = converted.add(row).map_or(Ok(()), |json| writeln!(output, "{json}"));
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        }
    };
    let report = match file {
        Some(file) => read_file(file, &settings, now, &mut write),
        None => read_folder(path, &settings, now, &mut write),
    };
    let report = report.map_err(|refusal| refusal.to_string())?;
    failure.map_or_else(|| output.flush(), Err).map_err(unwritten)?;
    let import_files::Report { mapping, skipped, warnings, date_format, .. } = report;
    let files = owners.map(|owners| {
        let of = |file: ZippedFile| OwnedFile { path: file.path, size: file.size, row: file.row };
        owners.decide().into_iter().map(of).collect()
    });
    Ok(Converted { skipped, warnings, date_format, mapping, files, ..converted })
}

/// Reads the directory of an archive.
fn archive(path: &Path) -> Result<Archive, String> {
    let file =
        File::open(path).map_err(|error| format!("The file {} can't be read: {error}", path.display()))?;
    Archive::read(BufReader::new(file)).map_err(|refusal| refusal.to_string())
}

/// Adds the person of a valid row, and the row's warnings about files.
fn add_owner(owners: &mut Owners, row: &mut RowVerdict) {
    let person = row.verdict.as_ref().ok().and_then(|json| serde_json::from_str::<Person>(json).ok());
    let Some(Person { files, email, external_id }) = person else { return };
    let named: Vec<_> = files.iter().map(|file| (file.name.as_str(), CandidateFileKind::default())).collect();
    row.warnings.extend(owners.add(Claimant {
        row: row.row,
        person: row.row,
        named: &named,
        email: email.as_deref(),
        external_id: external_id.as_deref(),
    }));
}

/// The format that the end of a file's name says.
pub(crate) fn by_name<F: FromStr>(path: &Path) -> Option<F> {
    path.extension()?.to_str()?.to_ascii_lowercase().parse().ok()
}

/// Reads the mapping in the file that the arguments name.
pub(crate) fn mapping(reading: &Reading) -> Result<Option<Mapping>, String> {
    let Some(path) = &reading.mapping else { return Ok(None) };
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
    let read = text.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
    read.map(Some).map_err(|problem| format!("The mapping {} can't be read: {problem}", path.display()))
}

fn settings(arguments: &Conversion) -> Result<Settings, String> {
    let path = &arguments.file;
    let format = arguments.format.or_else(|| by_name(path)).ok_or_else(|| {
        let formats = FileFormat::ALL.map(FileFormat::as_str).join(", ");
        format!("Say with --format what {} is: {formats}", path.display())
    })?;
    let reading = &arguments.reading;
    Ok(Settings {
        format,
        sheet: reading.sheet.clone(),
        encoding: reading.encoding,
        mapping: mapping(reading)?,
        date_format: reading.date_format,
        plain_phones: reading.plain_phones,
        country: arguments.country,
        time_zone: arguments.time_zone.clone(),
        ..Settings::new(format)
    })
}

impl Converted {
    /// Counts a row, and returns the JSON of a valid one.
    fn add(&mut self, row: RowVerdict) -> Option<String> {
        let RowVerdict { row, line, verdict, warnings } = row;
        let (json, messages) = match verdict {
            Ok(json) => (Some(json), warnings),
            Err(wrong) => (None, wrong),
        };
        let is_valid = json.is_some();
        self.written += u64::from(is_valid);
        self.invalid += u64::from(!is_valid);
        self.warned += u64::from(is_valid && !messages.is_empty());
        if !messages.is_empty() {
            self.rows.push(Remark { row, line, is_valid, messages });
        }
        json
    }
}

impl fmt::Display for Converted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { written, invalid, warned, skipped, warnings, date_format, mapping, rows, files } = self;
        if !rows.is_empty() {
            let cells = rows.iter().map(|Remark { row, line: place, is_valid, messages }| {
                let verdict = if *is_valid { "warning" } else { "invalid" };
                [row.to_string(), place.to_string(), verdict.to_owned(), line(&messages.join("; "))]
            });
            table(f, ["ROW", "LINE", "VERDICT", "MESSAGES"], cells)?;
            writeln!(f, "\n")?;
        }
        let unknown =
            mapping.iter().flat_map(|mapping| &mapping.columns).filter(|column| column.field.is_none());
        let unknown: Vec<_> = unknown.map(|column| format!("\"{}\"", line(&column.header))).collect();
        if !unknown.is_empty() {
            writeln!(f, "Columns that were left out: {}", unknown.join(", "))?;
        }
        if let Some(files) = files {
            let rest: Vec<_> =
                files.iter().filter(|file| file.row.is_none()).map(|file| line(&file.path)).collect();
            writeln!(f, "{} of {} files have a row", files.len() - rest.len(), files.len())?;
            if !rest.is_empty() {
                writeln!(f, "Files without a row: {}", rest.join(", "))?;
            }
        }
        for warning in warnings {
            writeln!(f, "{}.", line(warning))?;
        }
        if let Some(format) = date_format {
            writeln!(f, "All dates can be read with --date-format {}.", format.as_str())?;
        }
        write!(f, "{written} rows written ({warned} with warnings), {invalid} invalid, {skipped} skipped")
    }
}
