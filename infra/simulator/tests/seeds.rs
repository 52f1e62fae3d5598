//! Runs the simulator with many seeds.

use std::process::{Command, Output};

use simulator::{Run, simulate};

/// Seeds that found a fault:
///
/// - 46: a request was counted twice if the response to its write on a shard was lost.
const FOUND: [u64; 1] = [46];

/// `SIMULATOR_SEEDS=1000` runs that many.
#[test]
fn no_seed_breaks_an_invariant() {
    let seeds = std::env::var("SIMULATOR_SEEDS").map_or(12, |seeds| seeds.parse().expect("a number"));
    let (mut calls, mut faults, mut kills) = (0, 0, 0);
    for seed in (0..seeds).chain(FOUND) {
        let run = Run::new(seed);
        let report = simulate(&run);
        assert!(report.broken.is_empty(), "{}\n{}", report.broken.join("\n"), run.command());
        calls += report.calls;
        faults += report.faults.values().sum::<u64>();
        kills += report.kills;
    }
    assert!(faults * 20 > calls && kills * 10 > seeds, "{calls} calls, {faults} faults, {kills} kills");
}

#[test]
fn a_seed_has_the_same_trace_in_every_process() {
    let run = || {
        let program = env!("CARGO_BIN_EXE_simulate");
        let Output { stdout, status, .. } =
            Command::new(program).args(["--seed", "7", "--trace"]).output().expect("a run");
        assert!(status.success());
        String::from_utf8(stdout).expect("text")
    };
    let (one, other) = (run(), run());
    let differing = one.lines().zip(other.lines()).find(|(one, other)| one != other);
    assert_eq!(differing, None);
    assert!(one.lines().count() > 100);
}
