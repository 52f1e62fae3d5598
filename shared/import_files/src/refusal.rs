//! Why a file is refused as a whole.

use std::io;

use crate::{MAX_ROW, MAX_ROWS, Mapping};

/// Why nothing of a file is read.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The file could not be read.
    #[error("The file could not be read: {0}")]
    Io(#[from] io::Error),
    /// Most lines are UTF-8, and one is not.
    #[error(
        "Line {line} is not UTF-8, but most other lines are. Save the file again as UTF-8, or name its encoding"
    )]
    MixedEncoding {
        /// The first line that is not UTF-8.
        line: u64,
    },
    /// NDJSON that is not UTF-8.
    #[error("Line {line} is not UTF-8")]
    NotUtf8 {
        /// The line.
        line: u64,
    },
    /// A file with the lists of another system cannot be read.
    #[error("The file{name} can't be read as JSON: {problem}")]
    Json {
        /// Its name, after a space, if there are several.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The lists of another system have no candidates.
    #[error("There is no list of candidates: it is in candidates.json, or in `candidates` of the one file")]
    NoCandidates,
    /// A quote is open at the end of the file.
    #[error("The quote of line {line} is not closed")]
    OpenQuote {
        /// The line with the quote.
        line: u64,
    },
    /// A row is too long.
    #[error("The row that begins in line {line} has more than {} MB. A quote before it may not be closed", MAX_ROW >> 20)]
    LongRow {
        /// The line in which the row begins.
        line: u64,
    },
    /// There are too many rows.
    #[error("The file has more than {MAX_ROWS} rows. Split it")]
    ManyRows,
    /// None of the first rows is a header.
    #[error(
        "None of the first 20 rows is a header: it must have at least two known names, such as Name and E-mail. Rename the \
         columns, or send `mapping`"
    )]
    NoHeader {
        /// The names in a row that may be one, because one of them is known. They can be sent with their meanings.
        mapping: Option<Mapping>,
    },
    /// The mapping does not fit the file.
    #[error("{0}")]
    Mapping(String),
    /// The file is a workbook of a kind that is not read, or no workbook.
    #[error("{0}")]
    Kind(&'static str),
    /// The workbook cannot be read.
    #[error("The workbook can't be read: {0}. Open it and save it again as .xlsx")]
    Workbook(String),
    /// The workbook has no such sheet.
    #[error("The workbook has no sheet that is called \"{0}\"")]
    Sheet(String),
    /// The workbook is too large.
    #[error("The workbook is too large: {0}. Split it, or save it as CSV")]
    Large(&'static str),
}
