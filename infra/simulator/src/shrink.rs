//! Makes a failing run smaller.

use std::collections::BTreeSet;

use crate::run::{Run, simulate};

/// The maximum number of runs.
const RUNS: u32 = 400;

/// Returns a run with fewer steps and faults that breaks an invariant, too.
pub fn shrink(run: &Run) -> Run {
    let mut runs = 0;
    let mut fails = |run: &Run| {
        runs += 1;
        runs <= RUNS && !simulate(run).broken.is_empty()
    };
    let shorter = (1..run.steps).map(|steps| Run { steps, ..run.clone() }).find(|run| fails(run));
    let mut smallest = shorter.unwrap_or_else(|| run.clone());
    let chosen = simulate(&smallest).chosen_faults;
    let mut kept: Vec<u64> =
        smallest.only.as_ref().map_or_else(|| (0..chosen).collect(), |only| only.iter().copied().collect());
    // Leaves out half of the faults, then quarters, and at last each one by itself.
    let mut size = kept.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < kept.len() {
            let end = (at + size).min(kept.len());
            let fewer: BTreeSet<_> = kept[..at].iter().chain(&kept[end..]).copied().collect();
            let smaller = Run { only: Some(fewer), ..smallest.clone() };
            if fails(&smaller) {
                kept.drain(at..end);
                smallest = smaller;
            } else {
                at = end;
            }
        }
        size /= 2;
    }
    smallest
}
