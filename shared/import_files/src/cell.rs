//! Cells, as the two kinds of spreadsheets have them.

use std::borrow::Cow;

use jiff::civil::DateTime;

use crate::words::is_error_value;

/// The beginnings of cells that a spreadsheet takes for formulas, so that an export writes an apostrophe before them.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
/// How some programs write a carriage return in a workbook.
const WRITTEN_RETURN: &str = "_x000D_";

/// A cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    /// What it shows: trimmed, and with newlines as line ends.
    pub(crate) text: String,
    /// What a workbook knows about it.
    pub(crate) kind: CellKind,
    /// The address behind it.
    pub(crate) link: Option<String>,
}

/// What kind of value a cell has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum CellKind {
    /// A text, or anything in a CSV file.
    #[default]
    Text,
    /// A number.
    Number,
    /// A date with a time of day.
    Date(DateTime),
    /// The error of a formula.
    Error,
}

impl Cell {
    pub(crate) fn text(text: &str) -> Self {
        let text = if text.contains(WRITTEN_RETURN) {
            Cow::Owned(text.replace("_x000D_\n", "\n").replace("_x000D_\r", "\r"))
        } else {
            Cow::Borrowed(text)
        };
        let text = if text.contains('\r') {
            text.replace("\r\n", "\n").replace('\r', "\n")
        } else {
            text.into_owned()
        };
        let kind = if is_error_value(text.trim()) { CellKind::Error } else { CellKind::Text };
        Self { text: trimmed(&text).to_owned(), kind, link: None }
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn is_error(&self) -> bool {
        self.kind == CellKind::Error
    }

    /// The text without the apostrophe that was written before what spreadsheets take for a formula.
    pub(crate) fn unguarded(&self) -> &str {
        unguarded(&self.text)
    }

    /// The text of an id or a phone number, which may have an apostrophe before digits, too.
    pub(crate) fn unguarded_digits(&self) -> &str {
        match self.text.strip_prefix('\'') {
            Some(rest) if rest.trim_start_matches('\'').starts_with(|c: char| c.is_ascii_digit()) => rest,
            _ => self.unguarded(),
        }
    }
}

fn unguarded(text: &str) -> &str {
    let first = text.trim_start_matches('\'').chars().next();
    let is_formula = first.is_some_and(|first| FORMULA.contains(&first) || first.is_control());
    text.strip_prefix('\'').filter(|_| is_formula).unwrap_or(text)
}

/// The text without white space around it, byte order marks, and marks that were read in a wrong encoding.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_apostrophe_is_taken_from_just_the_cells_that_have_a_guard() {
        for (cell, text) in [
            ("'=1+1", "=1+1"),
            ("'+49 30", "+49 30"),
            ("'- asked twice", "- asked twice"),
            ("'@maria", "@maria"),
            ("'＋1", "＋1"),
            ("''=1", "'=1"),
            ("'t Hart", "'t Hart"),
            ("'Ofa", "'Ofa"),
            ("'0012", "'0012"),
            ("'", "'"),
            ("x", "x"),
        ] {
            assert_eq!(Cell::text(cell).unguarded(), text, "{cell}");
        }
        assert_eq!(Cell::text("'0012").unguarded_digits(), "0012");
        assert_eq!(Cell::text("''0012").unguarded_digits(), "'0012");
        assert_eq!(Cell::text("'+49").unguarded_digits(), "+49");
    }

    #[test]
    fn all_line_ends_become_newlines() {
        for text in ["a\r\nb", "a\rb", "a_x000D_\nb", "a_x000D_\r\nb", " a\nb "] {
            assert_eq!(Cell::text(text).text, "a\nb", "{text:?}");
        }
        assert_eq!(Cell::text("_x000D_ is a word").text, "_x000D_ is a word");
    }
}
