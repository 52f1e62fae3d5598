//! The kinds of runs.

use shared::clock::Timestamp;

/// The times when runs begin: at 9:30, or a minute before midnight.
const STARTS: [Timestamp; 2] = [Timestamp::constant(1_795_167_000, 0), Timestamp::constant(1_795_219_140, 0)];

/// What distinguishes the states in which runs begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    is_late: bool,
    /// Whether live mode, too, uses the built-in simulators of external services.
    pub(crate) is_simulated: bool,
}

impl Kind {
    /// Half of the seeds begin shortly before midnight, and half of each use the built-in simulators.
    pub(crate) fn of(seed: u64) -> Self {
        Self { is_late: !seed.is_multiple_of(2), is_simulated: (seed / 2).is_multiple_of(2) }
    }

    /// When the runs begin.
    pub(crate) fn start(self) -> Timestamp {
        STARTS[usize::from(self.is_late)]
    }
}
