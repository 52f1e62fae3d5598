//! How much work the check of a document may take.

use super::refusal::Refusal;

/// The work for each byte of the file.
const PER_BYTE: u64 = 16;
/// The work for every file, however small.
const BASE: u64 = 8 * 1024 * 1024;
/// The cost of finding something that is elsewhere in the file: an object, a part, a sector.
const LOOK_UP: u64 = 64;

/// The work that is left for a file, in units: a byte that is read or decompressed costs one, and a look-up costs 64.
///
/// Every reader spends before it works, so a file that would take more than its size justifies is refused, whatever it
/// contains.
#[derive(Debug)]
pub struct Budget {
    all: u64,
    left: u64,
}

impl Budget {
    /// The budget for a file of this size.
    pub fn of(size: usize) -> Self {
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        let all = size.saturating_mul(PER_BYTE).saturating_add(BASE);
        Self { all, left: all }
    }

    /// The units that were spent.
    pub fn spent(&self) -> u64 {
        self.all - self.left
    }

    /// Pays for reading or decompressing this many bytes.
    pub(super) fn read(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.spend(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// Pays for a look-up.
    pub(super) fn look_up(&mut self) -> Result<(), Refusal> {
        self.spend(LOOK_UP)
    }

    fn spend(&mut self, units: u64) -> Result<(), Refusal> {
        let left = self.left.checked_sub(units);
        self.left = left.unwrap_or_default();
        if left.is_some() { Ok(()) } else { Err(Refusal::TooComplex) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_ends() {
        let mut budget = Budget::of(10);
        assert_eq!(budget.read(100), Ok(()));
        assert_eq!(budget.look_up(), Ok(()));
        assert_eq!(budget.spent(), 164);
        assert_eq!(budget.read(8 * 1024 * 1024 - 4), Ok(()));
        assert_eq!(budget.read(1), Err(Refusal::TooComplex));
        assert_eq!(budget.spent(), 8 * 1024 * 1024 + 160);
        assert_eq!(Budget::of(usize::MAX).read(usize::MAX), Ok(()));
    }
}
