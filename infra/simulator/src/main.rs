//! Runs the simulator.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
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
    /// The number of steps of each client [default: 4 in one run of 38, else 1]
    #[arg(long)]
    steps: Option<u32>,
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
    /// What to do when a seed fails
    #[arg(long, value_enum, default_value_t = Failing::Shrink)]
    failing: Failing,
    /// A file with the ranges of 1,000 seeds that are finished. They are left out, and others are added
    #[arg(long)]
    finished: Option<PathBuf>,
}

/// What to do when a seed fails.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Failing {
    /// Make the run smaller, and stop.
    Shrink,
    /// Stop.
    Stop,
    /// Go on with the next seed.
    GoOn,
}

/// The number of seeds in a range of the file.
const RANGE: u64 = 1_000;

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

    fn sentence(&self) -> String {
        let Self { seeds, requests, calls, faults, kills, failed } = self;
        format!(
            "{seeds} seeds, {requests} requests, {calls} calls, {faults} faults, {kills} killed invocations, failed: {failed:?}"
        )
    }

    fn code(&self) -> ExitCode {
        if self.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let (start, end) = (options.seed, options.seed + options.seeds);
    let Some(file) = &options.finished else {
        let total = play(&options, start..end);
        println(&total.sentence());
        return total.code();
    };
    let finished = std::fs::read_to_string(file).unwrap_or_default();
    let is_finished = |start: u64| finished.lines().any(|line| line.starts_with(&format!("from {start}: ")));
    for start in (start..end).step_by(usize::try_from(RANGE).unwrap_or(usize::MAX)) {
        if is_finished(start) {
            continue;
        }
        let total = play(&options, start..(start + RANGE).min(end));
        let line = format!("from {start}: {}\n", total.sentence());
        let opened = OpenOptions::new().create(true).append(true).open(file);
        if let Err(error) = opened.and_then(|mut file| file.write_all(line.as_bytes())) {
            eprintln!("{}: {error}", file.display());
            return ExitCode::FAILURE;
        }
        if !total.failed.is_empty() && options.failing != Failing::GoOn {
            return total.code();
        }
    }
    ExitCode::SUCCESS
}

/// Runs these seeds until one fails.
fn play(options: &Options, seeds: Range<u64>) -> Total {
    let mut total = Total::default();
    for seed in seeds {
        let only: Option<BTreeSet<_>> = options.only.as_ref().map(|only| only.iter().copied().collect());
        let steps = options.steps.unwrap_or(Run::new(seed).steps);
        let run = Run { seed, steps, faults: options.faults, kills: options.kills, only };
        let report = simulate(&run);
        total.add(&report);
        if options.trace {
            report.trace.iter().for_each(|line| println(line));
        }
        if options.fingerprints {
            println(&format!("{seed} {:016x}", report.fingerprint()));
        }
        if report.broken.is_empty() {
            continue;
        }
        total.failed.push(seed);
        report.broken.iter().for_each(|sentence| eprintln!("{sentence}"));
        match options.failing {
            Failing::GoOn => {
                eprintln!("{}", run.command());
                continue;
            }
            Failing::Stop => eprintln!("{}", run.command()),
            Failing::Shrink => {
                let smaller = if run.only.is_some() { run } else { shrink(&run) };
                simulate(&smaller).broken.iter().for_each(|sentence| eprintln!("{sentence}"));
                eprintln!("{}", smaller.command());
            }
        }
        break;
    }
    total
}

/// Prints a line. Another process may read only the first ones.
fn println(line: &str) {
    drop(writeln!(std::io::stdout(), "{line}"));
}
