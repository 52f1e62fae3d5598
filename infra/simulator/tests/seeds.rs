//! Runs the simulator with many seeds.

use std::process::{Command, Output};
use std::thread;

use simulator::{Report, Run, rows_before_the_task_of_another_tenant, shrink, simulate};

/// Of so many seeds, one runs in another process, too.
const COMPARED: u64 = 50;
/// The number of seeds that are run at the same time.
const THREADS: u8 = 2;

/// `SIMULATOR_SEEDS=10000` runs that many.
#[test]
fn no_seed_breaks_an_invariant_and_one_in_fifty_has_the_same_trace_in_another_process() {
    let seeds = std::env::var("SIMULATOR_SEEDS").map_or(1_000, |seeds| seeds.parse().expect("a number"));
    let of_thread = |thread: u8| -> Vec<_> {
        (u64::from(thread)..seeds).step_by(THREADS.into()).map(|seed| (seed, play(&Run::new(seed)))).collect()
    };
    let mut played: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || of_thread(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no broken invariant")).collect()
    });
    played.sort_unstable_by_key(|(seed, _)| *seed);

    let (mut calls, mut faults, mut kills) = (0, 0, 0);
    for (_, report) in &played {
        calls += report.calls;
        faults += report.faults.values().sum::<u64>();
        kills += report.kills;
    }
    assert!(faults * 20 > calls && kills * 3 > seeds, "{calls} calls, {faults} faults, {kills} kills");

    let compared = seeds.div_ceil(COMPARED);
    let program = Command::new(env!("CARGO_BIN_EXE_simulate"))
        .args(["--seeds", &compared.to_string(), "--fingerprints"])
        .output();
    let Output { stdout, status, .. } = program.expect("a run");
    let printed = String::from_utf8(stdout).expect("text");
    let expected = played.iter().map(|(seed, report)| format!("{seed} {:016x}", report.fingerprint()));
    let expected: Vec<_> = expected.take(usize::try_from(compared).expect("a small number")).collect();
    assert!(status.success(), "{printed}");
    assert_eq!(printed.lines().take(expected.len()).collect::<Vec<_>>(), expected);
}

/// Runs that found a fault once, in the product or in the simulator.
#[test]
fn the_runs_that_found_faults_break_no_invariant_any_more() {
    // A candidate who is erased twice, a conflict of a transaction that was carried out already, and a call of post_to_x
    // that is repeated after the job was closed.
    for seed in [82, 134, 234] {
        play(&Run { steps: 30, ..Run::new(seed) });
    }
    // A role that is closed while a record that is read lacks the newest application for it.
    play(&Run { steps: 12, ..Run::new(184) });
}

/// Nine imports want to work at the same time, one more than a run does at once.
#[test]
fn another_tenants_task_waits_for_less_than_a_share_of_an_import() {
    const SHARE: usize = 100;
    let rows = rows_before_the_task_of_another_tenant(SHARE);
    assert!(rows < SHARE, "{rows} rows were carried out first");
}

fn play(run: &Run) -> Report {
    let report = simulate(run);
    assert!(report.broken.is_empty(), "{}\n{}", report.broken.join("\n"), shrink(run).command());
    report
}
