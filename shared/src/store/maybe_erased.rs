//! The records of candidates, some of whom were erased.

use super::{Item, StoreError, item};
use crate::model::{CandidateRecord, Erasure};

/// A candidate's data, or what is kept of an erased candidate.
#[derive(Clone, Debug)]
pub enum MaybeErased<T> {
    /// The candidate's data.
    Present(T),
    /// The candidate was erased.
    Erased(Erasure),
}

impl<T> MaybeErased<T> {
    /// The data, unless the candidate was erased.
    pub fn present(self) -> Option<T> {
        match self {
            Self::Present(data) => Some(data),
            Self::Erased(_) => None,
        }
    }
}

impl MaybeErased<CandidateRecord> {
    /// The same, unless the candidate's import is not finished.
    pub(super) fn shown(self) -> Option<Self> {
        match self {
            Self::Present(record) if !record.is_shown() => None,
            found => Some(found),
        }
    }
}

/// Whether the record of a candidate says that the candidate was erased.
pub(super) fn is_erased(item: &Item) -> bool {
    item.contains_key("erased_at")
}

/// Reads a candidate's record.
pub(super) fn read_record(item: Item) -> Result<MaybeErased<CandidateRecord>, StoreError> {
    if is_erased(&item) {
        return item::read(item).map(MaybeErased::Erased);
    }
    item::read(item).map(MaybeErased::Present)
}
