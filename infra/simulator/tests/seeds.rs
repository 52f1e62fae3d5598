//! Runs the simulator with many seeds.

use std::process::{Command, Output};

use simulator::{Run, shrink, simulate};

/// Of so many seeds, one runs in another process, too.
const COMPARED: u64 = 50;

/// `SIMULATOR_SEEDS=1000` runs that many.
#[test]
fn no_seed_breaks_an_invariant_and_every_fiftieth_has_the_same_trace_in_another_process() {
    let seeds = std::env::var("SIMULATOR_SEEDS").map_or(8, |seeds| seeds.parse().expect("a number"));
    let (mut calls, mut faults, mut kills) = (0, 0, 0);
    for seed in 0..seeds {
        let run = Run::new(seed);
        let report = simulate(&run);
        assert!(report.broken.is_empty(), "{}\n{}", report.broken.join("\n"), shrink(&run).command());
        calls += report.calls;
        faults += report.faults.values().sum::<u64>();
        kills += report.kills;
        if seed % COMPARED == 0 {
            let program = Command::new(env!("CARGO_BIN_EXE_simulate"))
                .args(["--seed", &seed.to_string(), "--fingerprints"])
                .output();
            let Output { stdout, status, .. } = program.expect("a run");
            let printed = String::from_utf8(stdout).expect("text");
            let expected = format!("{seed} {:016x}", report.fingerprint());
            assert!(status.success() && printed.lines().next() == Some(expected.as_str()), "{printed}");
        }
    }
    assert!(faults * 20 > calls && kills * 10 > seeds, "{calls} calls, {faults} faults, {kills} kills");
}
