//! Records: the rows of a spreadsheet before anybody knows what their cells mean.

use std::ops::ControlFlow;

use crate::Mapping;
use crate::Refusal;
use crate::cell::Cell;
use crate::header::Header;

/// A row of cells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    /// The line or row of the file where it begins, from 1 on.
    pub(crate) line: u64,
    /// The number of empty lines or rows just before it.
    pub(crate) empty: u64,
    /// The cells.
    pub(crate) cells: Vec<Cell>,
}

impl Record {
    pub(crate) fn is_blank(&self) -> bool {
        self.cells.iter().all(Cell::is_blank)
    }

    /// The number of cells without blank ones at the end.
    pub(crate) fn width(&self) -> usize {
        self.cells.iter().rposition(|cell| !cell.is_blank()).map_or(0, |last| last + 1)
    }
}

/// A file with records.
pub(crate) trait Spreadsheet {
    /// Whether a record has as many cells as the header, because the file says where each ends.
    const HAS_ALL_CELLS: bool;

    /// Finds the header, with which the records are read from now on.
    fn find_header(&mut self, mapping: Option<&Mapping>) -> Result<Header, Refusal>;

    /// Gives all records to `each`, from the first line of the file on, until it breaks.
    fn each_record(&mut self, each: &mut dyn FnMut(Record) -> ControlFlow<()>) -> Result<(), Refusal>;

    /// What a reader of the whole file should know.
    fn warnings(&self) -> Vec<String>;
}
