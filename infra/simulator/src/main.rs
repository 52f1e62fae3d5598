//! Runs the simulator.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use simulator::{Report, Run, shrink, simulate};

/// Simulates a deployment on bad days.
#[derive(Parser)]
struct Options {
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The number of seeds
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// The number of steps of each client
    #[arg(long, default_value_t = Run::new(0).steps)]
    steps: u32,
    /// How many of a thousand calls have a fault
    #[arg(long, default_value_t = Run::new(0).faults)]
    faults: u32,
    /// How many of a thousand invocations are killed
    #[arg(long, default_value_t = Run::new(0).kills)]
    kills: u32,
    /// The numbers of the only faults that happen
    #[arg(long, value_delimiter = ',')]
    only: Option<Vec<u64>>,
    /// Print every request and every call
    #[arg(long)]
    trace: bool,
    /// Print the fingerprint of each seed's trace
    #[arg(long)]
    fingerprints: bool,
    /// Go on after a failing seed, and do not make it smaller
    #[arg(long)]
    all: bool,
}

/// What all seeds did.
#[derive(Default)]
struct Total {
    seeds: u64,
    requests: u64,
    calls: u64,
    faults: u64,
    kills: u64,
    failed: Vec<u64>,
}

impl Total {
    fn add(&mut self, report: &Report) {
        self.seeds += 1;
        self.requests += report.requests;
        self.calls += report.calls;
        self.faults += report.faults.values().sum::<u64>();
        self.kills += report.kills;
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    // Another process may read only the first lines.
    let mut out = std::io::stdout().lock();
    let mut print = |line: &str| drop(writeln!(out, "{line}"));
    let mut total = Total::default();
    for seed in options.seed..options.seed + options.seeds {
        let only: Option<BTreeSet<_>> = options.only.as_ref().map(|only| only.iter().copied().collect());
        let run = Run { seed, steps: options.steps, faults: options.faults, kills: options.kills, only };
        let report = simulate(&run);
        total.add(&report);
        if options.trace {
            report.trace.iter().for_each(|line| print(line));
        }
        if options.fingerprints {
            print(&format!("{seed} {:016x}", report.fingerprint()));
        }
        if report.broken.is_empty() {
            continue;
        }
        total.failed.push(seed);
        report.broken.iter().for_each(|sentence| eprintln!("{sentence}"));
        if options.all {
            eprintln!("{}", run.command());
            continue;
        }
        let smaller = if run.only.is_some() { run } else { shrink(&run) };
        simulate(&smaller).broken.iter().for_each(|sentence| eprintln!("{sentence}"));
        eprintln!("{}", smaller.command());
        return ExitCode::FAILURE;
    }
    let Total { seeds, requests, calls, faults, kills, failed } = total;
    print(&format!(
        "{seeds} seeds, {requests} requests, {calls} calls, {faults} faults, {kills} killed invocations"
    ));
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("failed: {failed:?}");
    ExitCode::FAILURE
}
