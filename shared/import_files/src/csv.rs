//! CSV files (RFC 4180), with any separator and in any encoding that is known or named.

use std::io::{Read, Seek};
use std::ops::ControlFlow;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use encoding_rs::{Encoding as Codec, WINDOWS_1252};
use encoding_rs_io::DecodeReaderBytesBuilder;
use memchr::memchr2_iter;

use crate::Mapping;
use crate::cell::Cell;
use crate::header::{self, Found, Header};
use crate::record::{Record, Spreadsheet};
use crate::xlsx::refuse_workbook;
use crate::{MAX_ROW, Refusal, Settings, encoding};

/// The separators, the likeliest first.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// What is read after the end of the file. If it is not a row of its own, a quote is still open.
const END: &str = "\n\u{10FFFF}\n";

/// A CSV file.
pub(crate) struct CsvFile<F> {
    file: F,
    codec: &'static Codec,
    /// Whether the encoding was neither named nor found.
    is_assumed: bool,
    separator: u8,
}

impl<F: Read + Seek> CsvFile<F> {
    pub(crate) fn open(mut file: F, settings: &Settings) -> Result<Self, Refusal> {
        refuse_workbook(&mut file)?;
        let codec = encoding::find(&mut file, settings.encoding)?;
        let is_assumed = codec == WINDOWS_1252 && settings.encoding.is_none();
        Ok(Self { file, codec, is_assumed, separator: b',' })
    }

    /// The decoded text, from the beginning of the file on.
    fn decoded(&mut self) -> Result<impl Read + '_, Refusal> {
        self.file.rewind()?;
        let decoder = DecodeReaderBytesBuilder::new()
            .encoding(Some(self.codec))
            .bom_override(true)
            .build(&mut self.file);
        Ok(decoder)
    }

    /// The separator in a first line such as `sep=;`.
    fn named_separator(&mut self) -> Result<Option<u8>, Refusal> {
        let mut beginning = Vec::new();
        self.decoded()?.take(16).read_to_end(&mut beginning)?;
        let text = String::from_utf8_lossy(&beginning);
        let line = text.trim_start_matches('\u{FEFF}').split(['\r', '\n']).next().unwrap_or_default();
        let line = line.trim_matches('"');
        let separator =
            line.get(..4).filter(|name| name.eq_ignore_ascii_case("sep=")).and_then(|_| line.get(4..));
        Ok(separator.and_then(|separator| match separator.as_bytes() {
            [separator] if separator.is_ascii() => Some(*separator),
            _ => None,
        }))
    }
}

impl<F: Read + Seek> Spreadsheet for CsvFile<F> {
    const HAS_ALL_CELLS: bool = true;

    fn find_header(&mut self, mapping: Option<&Mapping>) -> Result<Header, Refusal> {
        let separators = match self.named_separator()? {
            Some(separator) => vec![separator],
            None => SEPARATORS.to_vec(),
        };
        let (mut best, mut failure): (Option<(u8, Header)>, _) = (None, None);
        let mut unknown: Option<Header> = None;
        for separator in separators {
            self.separator = separator;
            let found = match header::find_in(self, mapping) {
                Ok(Found::Header(found)) => found,
                Ok(Found::Unknown(found)) => {
                    unknown = unknown.into_iter().chain(found).max_by_key(Header::width);
                    continue;
                }
                // With another separator, quotes stand elsewhere.
                Err(error) => {
                    failure.get_or_insert(error);
                    continue;
                }
            };
            if best.as_ref().is_none_or(|(_, best)| best.known() < found.known()) {
                best = Some((separator, found));
            }
        }
        let Some((separator, header)) = best else {
            let no_header = Refusal::NoHeader { mapping: unknown.map(|header| header.mapping()) };
            return Err(failure.unwrap_or(no_header));
        };
        self.separator = separator;
        Ok(header)
    }

    fn each_record(&mut self, each: &mut dyn FnMut(Record) -> ControlFlow<()>) -> Result<(), Refusal> {
        let separator = self.separator;
        let mut records = Records {
            text: self.decoded()?.chain(END.as_bytes()),
            reader: ReaderBuilder::new().delimiter(separator).build(),
            input: vec![0; 64 * 1024],
            unread: 0..0,
            lines: 0,
            is_return: false,
            content: vec![0; 4 * 1024],
            ends: vec![0; 64],
        };
        // The last record may be the mark of the end, so each is given on when the next one is there.
        let mut before: Option<Record> = None;
        while let Some(record) = records.next()? {
            if let Some(before) = before.replace(record)
                && each(before).is_break()
            {
                return Ok(());
            }
        }
        let end = END.trim();
        match before {
            Some(Record { cells, .. }) if cells.len() == 1 && cells.iter().all(|cell| cell.text == end) => {
                Ok(())
            }
            Some(Record { line, cells, .. }) => {
                let newlines = |cell: &Cell| u64::try_from(cell.text.matches('\n').count()).unwrap_or(0);
                let open: u64 = cells.iter().rev().skip(1).map(newlines).sum();
                Err(Refusal::OpenQuote { line: line + open })
            }
            None => Ok(()),
        }
    }

    fn warnings(&self) -> Vec<String> {
        let warning = "The file isn't UTF-8 and doesn't say what it is. It was read as Windows-1252: look at the names, and \
                       name the encoding if their letters are wrong";
        self.is_assumed.then(|| warning.to_owned()).into_iter().collect()
    }
}

/// The records of a text.
struct Records<R> {
    text: R,
    reader: Reader,
    input: Vec<u8>,
    unread: std::ops::Range<usize>,
    /// The line ends so far.
    lines: u64,
    /// Whether the last byte was a carriage return, so that a newline ends the same line.
    is_return: bool,
    content: Vec<u8>,
    ends: Vec<usize>,
}

impl<R: Read> Records<R> {
    fn next(&mut self) -> Result<Option<Record>, Refusal> {
        let (mut length, mut count, mut line_ends, mut is_line_end) = (0, 0, 0, false);
        loop {
            if self.unread.is_empty() {
                let read = self.text.read(&mut self.input)?;
                self.unread = 0..read;
            }
            let input = self.input.get(self.unread.clone()).unwrap_or_default();
            let (content, ends) = (self.content.get_mut(length..), self.ends.get_mut(count..));
            let (result, consumed, written, ended) =
                self.reader.read_record(input, content.unwrap_or_default(), ends.unwrap_or_default());
            let consumed_bytes = input.get(..consumed).unwrap_or_default();
            line_ends += count_line_ends(consumed_bytes, self.is_return);
            // At the end of the file, a line end before it is inside an open quote.
            is_line_end = if input.is_empty() {
                false
            } else {
                consumed_bytes.last().map_or(is_line_end, |last| matches!(last, b'\r' | b'\n'))
            };
            self.is_return = consumed_bytes.last().map_or(self.is_return, |last| *last == b'\r');
            self.unread.start += consumed;
            (length, count) = (length + written, count + ended);
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if length >= MAX_ROW => {
                    return Err(Refusal::LongRow { line: self.lines + 1 });
                }
                ReadRecordResult::OutputFull => self.content.resize((self.content.len() * 2).min(MAX_ROW), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::End => return Ok(None),
                ReadRecordResult::Record => break,
            }
        }
        let content = self.content.get(..length).unwrap_or_default();
        let (mut start, mut inside) = (0, 0);
        let cells = self.ends.get(..count).unwrap_or_default().iter().map(|end| {
            let cell = content.get(start..*end).unwrap_or_default();
            start = *end;
            inside += count_line_ends(cell, false);
            Cell::text(&String::from_utf8_lossy(cell))
        });
        let cells = cells.collect();
        // Line ends before the record are of empty lines.
        let empty = line_ends.saturating_sub(inside + u64::from(is_line_end));
        let line = self.lines + empty + 1;
        self.lines += line_ends;
        Ok(Some(Record { line, empty, cells }))
    }
}

/// The number of line ends: newlines, carriage returns, or both together.
fn count_line_ends(bytes: &[u8], is_after_return: bool) -> u64 {
    let is_end = |at: &usize| {
        let before = at.checked_sub(1).map_or(is_after_return, |before| bytes.get(before) == Some(&b'\r'));
        bytes.get(*at) == Some(&b'\r') || !before
    };
    memchr2_iter(b'\r', b'\n', bytes).filter(is_end).map(|_| 1).sum()
}
