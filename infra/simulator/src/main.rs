//! Runs the simulator.

use std::process::ExitCode;

use clap::Parser;
use simulator::{Run, simulate};

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
    /// How many of a thousand calls to the table have a fault
    #[arg(long, default_value_t = Run::new(0).faults)]
    faults: u32,
    /// How many of a thousand invocations are killed
    #[arg(long, default_value_t = Run::new(0).kills)]
    kills: u32,
    /// Print every request and every call
    #[arg(long)]
    trace: bool,
}

fn main() -> ExitCode {
    let Options { seed: first, seeds, steps, faults, kills, trace } = Options::parse();
    let (mut requests, mut calls, mut failures, mut killed) = (0, 0, 0, 0);
    for seed in first..first + seeds {
        let run = Run { seed, steps, faults, kills };
        let report = simulate(&run);
        if trace {
            report.trace.iter().for_each(|line| println!("{line}"));
            println!("fingerprint {:016x}", report.fingerprint());
        }
        requests += report.requests;
        calls += report.calls;
        failures += report.faults.values().sum::<u64>();
        killed += report.kills;
        if !report.broken.is_empty() {
            report.broken.iter().for_each(|sentence| eprintln!("{sentence}"));
            eprintln!("{}", run.command());
            return ExitCode::FAILURE;
        }
    }
    println!(
        "{seeds} seeds, {requests} requests, {calls} calls, {failures} faults, {killed} killed invocations"
    );
    ExitCode::SUCCESS
}
