//! Which faults happen. A failing run is repeated with fewer and fewer of them, until each one is needed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers the faults of a run in the order in which they are chosen, and admits all or some of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    chosen: Arc<AtomicU64>,
    admitted: Option<Arc<BTreeSet<u64>>>,
}

impl Faults {
    pub(crate) fn new(admitted: Option<&BTreeSet<u64>>) -> Self {
        Self { chosen: Arc::default(), admitted: admitted.cloned().map(Arc::new) }
    }

    /// Whether the next fault happens.
    pub(crate) fn admits(&self) -> bool {
        let number = self.chosen.fetch_add(1, Ordering::Relaxed);
        self.admitted.as_ref().is_none_or(|admitted| admitted.contains(&number))
    }

    /// The number of faults so far.
    pub(crate) fn chosen(&self) -> u64 {
        self.chosen.load(Ordering::Relaxed)
    }
}
