//! Measures how functions start and answer, compared with the smallest function that `lambda_http` makes.
//!
//! Each function runs as a process of its own, behind a Lambda runtime API that is part of this program, on a table that the
//! local service lends. CPU time, page faults and memory are those that Linux counts for that process.

mod function;
mod report;
mod runtime_api;
mod tls;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use function::{FLOOR, FLOOR_TLS, Function, Measured};

/// Measures start, first call and warm calls of functions against the floor, and prints a table.
#[derive(Parser)]
struct Arguments {
    /// The folder of the functions' release binaries, and of the floor's
    #[arg(long, value_name = "DIR", default_value = "target/release")]
    binaries: PathBuf,
    /// The endpoint of a DynamoDB that has what the events name: `cargo run -- --memory --recorded --dynamodb-port 8000`
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8000")]
    dynamodb: String,
    /// How often each function is started
    #[arg(long, value_name = "N", default_value_t = 20)]
    starts: usize,
    /// Fail when a ratio or a size passes its limit
    #[arg(long)]
    check: bool,
    /// The functions to measure [default: all]
    functions: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(code) => code,
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<ExitCode, String> {
    let tls = tls::serve(&arguments.dynamodb).await.map_err(|error| format!("no TLS: {error}"))?;
    let chosen: Vec<_> =
        [&FLOOR, &FLOOR_TLS].into_iter().chain(Function::choose(&arguments.functions)?).collect();
    let mut measured = vec![Vec::new(); chosen.len()];
    // One start of each after the other, so that a slow minute of the machine is everybody's.
    for _ in 0..arguments.starts {
        for (function, starts) in chosen.iter().zip(&mut measured) {
            starts.push(function.measure(&arguments.binaries, &arguments.dynamodb, &tls).await?);
        }
    }
    let medians = measured.iter().map(|starts| Measured::median(starts));
    let rows: Vec<_> = chosen.into_iter().zip(medians).collect();
    let passed = report::print(&rows);
    if !arguments.check {
        return Ok(ExitCode::SUCCESS);
    }
    for sentence in &passed {
        eprintln!("{sentence}");
    }
    Ok(if passed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
