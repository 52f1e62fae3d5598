//! Workbooks (ECMA-376), read cell by cell: dates are dates, and numbers have the zeros and the plus that their format shows.

use std::collections::HashMap;
use std::io::{self, BufReader, Read, Seek};
use std::ops::ControlFlow;

use calamine::{DataRef, Reader, SheetType, SheetVisible, Style, Xlsx, XlsxError};
use jiff::civil::DateTime;
use memchr::memmem;
use zip::ZipArchive;

use crate::Mapping;
use crate::cell::{Cell, CellKind};
use crate::header::{self, Found, Header};
use crate::record::{Record, Spreadsheet};
use crate::{Refusal, Settings};

/// The maximum size of the file.
const MAX_PACKED: u64 = 50 * 1024 * 1024;
/// The maximum size of a part that has one list of all texts, which is held in memory.
const MAX_TEXTS: u64 = 200 * 1024 * 1024;
/// The maximum size of a sheet.
const MAX_SHEET: u64 = 400 * 1024 * 1024;
/// The maximum size of any other part that is held in memory.
const MAX_PART: u64 = 10 * 1024 * 1024;
/// The maximum number of columns.
const MAX_COLUMNS: u32 = 200;
/// The number of sheets that a warning names.
const NAMED: usize = 10;
/// The maximum number of characters of a sheet's name in a message.
const MAX_NAME: usize = 100;

/// The first bytes of a compound file, which older workbooks and those with a password are.
const COMPOUND: [u8; 4] = [0xd0, 0xcf, 0x11, 0xe0];
/// The stream of a compound file that has an encrypted workbook.
const ENCRYPTED: &str = "EncryptedPackage";
const PASSWORD: &str = "The workbook needs a password. Save it without one";
const XLS: &str = "This is a workbook of an old kind (.xls). Save it as .xlsx or as CSV";
const XLSB: &str = "This is a binary workbook (.xlsb). Save it as .xlsx or as CSV";
const ODS: &str = "This is an OpenDocument spreadsheet. Save it as .xlsx or as CSV";
const HTML: &str = "This is a web page that is named like a workbook. Open it and save it as .xlsx or as CSV";
const OTHER: &str = "This is not a workbook. If it is a CSV file, say so with the format csv";
/// What a workbook is that was said to be a CSV file.
const WORKBOOK: &str = "This is a workbook, not a CSV file. Say so with the format xlsx";

/// Refuses what is no CSV file.
pub(crate) fn refuse_workbook(file: &mut (impl Read + Seek)) -> Result<(), Refusal> {
    let first = first_bytes(file)?;
    if first == COMPOUND || first.starts_with(b"PK\x03\x04") { Err(Refusal::Kind(WORKBOOK)) } else { Ok(()) }
}

fn first_bytes(file: &mut (impl Read + Seek)) -> Result<Vec<u8>, Refusal> {
    file.rewind()?;
    let mut first = Vec::new();
    file.by_ref().take(4).read_to_end(&mut first)?;
    file.rewind()?;
    Ok(first)
}

/// A workbook, and the sheet that is read.
pub(crate) struct XlsxFile<F: Read + Seek> {
    workbook: Xlsx<BufReader<F>>,
    /// The sheets to look at, in their order.
    sheets: Vec<String>,
    sheet: String,
    /// Other sheets with content.
    unread: Vec<String>,
    /// The addresses behind the sheet's cells, by row and column from 0 on.
    links: HashMap<(u32, u32), String>,
}

impl<F: Read + Seek> XlsxFile<F> {
    pub(crate) fn open(mut file: F, settings: &Settings) -> Result<Self, Refusal> {
        check(&mut file)?;
        file.rewind()?;
        let workbook = Xlsx::new(BufReader::new(file)).map_err(unreadable)?;
        let all = workbook.sheets_metadata().iter();
        let sheets: Vec<_> = match &settings.sheet {
            Some(name) => all.filter(|sheet| sheet.name == *name).map(|sheet| sheet.name.clone()).collect(),
            None => all
                .filter(|sheet| sheet.visible == SheetVisible::Visible && sheet.typ == SheetType::WorkSheet)
                .map(|sheet| sheet.name.clone())
                .collect(),
        };
        if let (Some(name), true) = (&settings.sheet, sheets.is_empty()) {
            return Err(Refusal::Sheet(name.chars().take(MAX_NAME).collect()));
        }
        Ok(Self { workbook, sheets, sheet: String::new(), unread: Vec::new(), links: HashMap::new() })
    }
}

/// Refuses what is no workbook, and what would be too large in memory. Sizes are counted while unpacking, because the directory
/// of a file may say others.
fn check(file: &mut (impl Read + Seek)) -> Result<(), Refusal> {
    let first = first_bytes(file)?;
    if first == COMPOUND {
        return Err(Refusal::Kind(if is_locked(file)? { PASSWORD } else { XLS }));
    }
    let text = String::from_utf8_lossy(&first).trim_start_matches(['\u{FEFF}', ' ', '\r', '\n']).to_owned();
    if text.starts_with('<') {
        return Err(Refusal::Kind(HTML));
    }
    if !first.starts_with(b"PK") {
        return Err(Refusal::Kind(OTHER));
    }
    if file.seek(io::SeekFrom::End(0))? > MAX_PACKED {
        return Err(Refusal::Large("it has more than 50 MB"));
    }
    let mut parts =
        ZipArchive::new(BufReader::new(file)).map_err(|error| Refusal::Workbook(error.to_string()))?;
    let mut has_workbook = false;
    for index in 0..parts.len() {
        let part = parts.by_index(index).map_err(|error| Refusal::Workbook(error.to_string()))?;
        let name = part.name().map_err(|error| Refusal::Workbook(error.to_string()))?.to_lowercase();
        let (limit, large) = match name.as_str() {
            "xl/workbook.bin" => return Err(Refusal::Kind(XLSB)),
            "content.xml" => return Err(Refusal::Kind(ODS)),
            "xl/sharedstrings.xml" => (MAX_TEXTS, "its texts have more than 200 MB"),
            name if name.starts_with("xl/worksheets/") => (MAX_SHEET, "a sheet has more than 400 MB"),
            name => match name.rsplit('.').next() {
                Some("xml" | "rels") => (MAX_PART, "a part beside its sheets has more than 10 MB"),
                // Pictures and the like are not read.
                _ => continue,
            },
        };
        has_workbook |= name.starts_with("xl/");
        let size = io::copy(&mut part.take(limit + 1), &mut io::sink())
            .map_err(|error| Refusal::Workbook(error.to_string()))?;
        if size > limit {
            return Err(Refusal::Large(large));
        }
    }
    if has_workbook { Ok(()) } else { Err(Refusal::Kind(OTHER)) }
}

/// Whether a compound file names an encrypted workbook. Not all programs write its directory so that it could be read.
fn is_locked(file: &mut (impl Read + Seek)) -> Result<bool, Refusal> {
    let mut bytes = Vec::new();
    file.by_ref().take(MAX_PACKED).read_to_end(&mut bytes)?;
    let name: Vec<_> = ENCRYPTED.encode_utf16().flat_map(u16::to_le_bytes).collect();
    Ok(memmem::find(&bytes, &name).is_some())
}

fn unreadable(error: XlsxError) -> Refusal {
    match error {
        XlsxError::Password => Refusal::Kind(PASSWORD),
        XlsxError::Io(error) => Refusal::Io(error),
        error => Refusal::Workbook(error.to_string()),
    }
}

impl<F: Read + Seek> Spreadsheet for XlsxFile<F> {
    const HAS_ALL_CELLS: bool = false;

    fn find_header(&mut self, mapping: Option<&Mapping>) -> Result<Header, Refusal> {
        let mut unknown = None;
        for sheet in self.sheets.clone() {
            self.sheet = sheet;
            let found = header::find_in(self, mapping)?;
            if let Found::Unknown(header) = found {
                unknown = unknown.or(header);
            } else if let Found::Header(header) = found {
                self.links = links(&mut self.workbook, &self.sheet)?;
                let others: Vec<_> =
                    self.sheets.iter().filter(|sheet| **sheet != self.sheet).cloned().collect();
                self.unread = others.into_iter().filter(|sheet| self.has_content(sheet)).collect();
                return Ok(header);
            }
        }
        Err(Refusal::NoHeader { mapping: unknown.map(|header| header.mapping()) })
    }

    fn each_record(&mut self, each: &mut dyn FnMut(Record) -> ControlFlow<()>) -> Result<(), Refusal> {
        let links = &self.links;
        let mut cells = self.workbook.worksheet_cells_reader(&self.sheet).map_err(unreadable)?;
        let mut row = Row::default();
        while let Some((found, style)) = cells.next_cell_with_style_id().map_err(unreadable)? {
            let (number, column) = found.get_position();
            let mut cell = read(found.get_value(), cells.styles().get(style));
            cell.link = links.get(&(number, column)).cloned();
            if cell.is_blank() && cell.link.is_none() {
                continue;
            }
            if column >= MAX_COLUMNS {
                return Err(Refusal::Large("it has more than 200 columns"));
            }
            let line = u64::from(number) + 1;
            if line < row.line {
                return Err(Refusal::Workbook("its rows are not in their order".to_owned()));
            }
            if line > row.line && row.end(line, each).is_break() {
                return Ok(());
            }
            row.set(column, cell);
        }
        let _ = row.end(u64::MAX, each);
        Ok(())
    }

    fn warnings(&self) -> Vec<String> {
        if self.unread.is_empty() {
            return Vec::new();
        }
        let quoted = |sheet: &String| format!("\"{}\"", sheet.chars().take(MAX_NAME).collect::<String>());
        let names: Vec<_> = self.unread.iter().take(NAMED).map(quoted).collect();
        let more = if self.unread.len() > NAMED { " and others" } else { "" };
        vec![format!("Other sheets were not read: {}{more}. `sheet` chooses one", names.join(", "))]
    }
}

impl<F: Read + Seek> XlsxFile<F> {
    /// Whether a sheet has any cell that is not blank.
    fn has_content(&mut self, sheet: &str) -> bool {
        let Ok(mut cells) = self.workbook.worksheet_cells_reader(sheet) else { return false };
        while let Ok(Some(cell)) = cells.next_cell() {
            if !read(cell.get_value(), None).is_blank() {
                return true;
            }
        }
        false
    }
}

/// The row of a sheet that is being read.
#[derive(Default)]
struct Row {
    /// From 1 on; 0 before the first one.
    line: u64,
    /// The number of empty rows just before.
    empty: u64,
    cells: Vec<Cell>,
}

impl Row {
    fn set(&mut self, column: u32, cell: Cell) {
        let column = usize::try_from(column).unwrap_or(0);
        if self.cells.len() <= column {
            self.cells.resize(column + 1, Cell::default());
        }
        if let Some(place) = self.cells.get_mut(column) {
            *place = cell;
        }
    }

    /// Gives the row on, and begins another one.
    fn end(&mut self, next: u64, each: &mut dyn FnMut(Record) -> ControlFlow<()>) -> ControlFlow<()> {
        let new = Self { line: next, empty: next - self.line - 1, cells: Vec::new() };
        let Self { line, empty, cells } = std::mem::replace(self, new);
        if line == 0 { ControlFlow::Continue(()) } else { each(Record { line, empty, cells }) }
    }
}

/// The addresses behind the cells of a sheet.
fn links<F: Read + Seek>(
    workbook: &mut Xlsx<BufReader<F>>,
    sheet: &str,
) -> Result<HashMap<(u32, u32), String>, Refusal> {
    let links = workbook.hyperlinks_by_sheet_name(sheet).map_err(unreadable)?;
    // A link over several cells leads from the first one.
    let links = links.into_iter().filter_map(|link| Some((link.range.start, link.target?)));
    Ok(links.collect())
}

/// A cell as its workbook shows it.
fn read(value: &DataRef<'_>, style: Option<&Style>) -> Cell {
    let of = |text: String, kind| Cell { text, kind, link: None };
    match value {
        DataRef::Empty => Cell::default(),
        DataRef::SharedString(text) => Cell::text(text),
        DataRef::Bool(value) => of(value.to_string(), CellKind::Text),
        DataRef::Error(error) => of(error.to_string(), CellKind::Error),
        DataRef::Int(value) => of(formatted(&value.to_string(), number_format(style)), CellKind::Number),
        DataRef::Float(value) => of(formatted(&value.to_string(), number_format(style)), CellKind::Number),
        DataRef::DateTime(value) if value.is_datetime() => {
            let (year, month, day, hour, minute, second, milli) = value.to_ymd_hms_milli();
            let date = [month, day, hour, minute, second].map(i8::try_from);
            let [Ok(month), Ok(day), Ok(hour), Ok(minute), Ok(second)] = date else {
                return of(value.as_f64().to_string(), CellKind::Number);
            };
            let year = i16::try_from(year).unwrap_or(i16::MAX);
            let nanos = i32::from(milli) * 1_000_000;
            match DateTime::new(year, month, day, hour, minute, second, nanos) {
                Ok(date) => of(date.to_string(), CellKind::Date(date)),
                Err(_) => of(value.as_f64().to_string(), CellKind::Number),
            }
        }
        DataRef::DateTime(value) => of(value.as_f64().to_string(), CellKind::Number),
        DataRef::DateTimeIso(text) => match text.parse::<DateTime>() {
            Ok(date) => of(text.clone(), CellKind::Date(date)),
            Err(_) => Cell::text(text),
        },
        DataRef::String(text) | DataRef::DurationIso(text) => Cell::text(text),
    }
}

/// The format of the numbers of a style.
fn number_format(style: Option<&Style>) -> Option<&str> {
    style?.number_format.as_ref().map(|format| format.format_code.as_str())
}

/// A number with the zeros and the plus that its format shows: of 117 with the format `00000`, 00117.
fn formatted(number: &str, format: Option<&str>) -> String {
    let Some(format) = format.and_then(|format| format.split(';').next()) else { return number.to_owned() };
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return number.to_owned();
    }
    let is_digit = |c: &char| !matches!(c, '"' | '\\' | '+' | ' ' | '-' | '(' | ')' | '/');
    let digits: String = format.chars().filter(is_digit).collect();
    let is_of_zeros = !digits.is_empty() && digits.bytes().all(|byte| byte == b'0');
    let plus = if format.trim_start_matches(['"', '\\']).starts_with('+') { "+" } else { "" };
    if is_of_zeros { format!("{plus}{number:0>width$}", width = digits.len()) } else { number.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_zeros_and_the_plus_of_their_format() {
        for (number, format, shown) in [
            ("117", "00000", "00117"),
            ("117", "0", "117"),
            ("117", "General", "117"),
            ("117", "#,##0", "117"),
            ("4915112345678", "\"+\"0", "+4915112345678"),
            ("14155550123", "+0", "+14155550123"),
            ("491713920012", "+00 000 0000000", "+491713920012"),
            ("491713920012", r"\+00 000 0000000", "+491713920012"),
            ("15112345678", "000000000000", "015112345678"),
            ("1.5", "00000", "1.5"),
            ("117", "00000;-00000", "00117"),
            ("117", "0.00", "117"),
        ] {
            assert_eq!(formatted(number, Some(format)), shown, "{number} as {format}");
        }
        assert_eq!(formatted("117", None), "117");
    }
}
