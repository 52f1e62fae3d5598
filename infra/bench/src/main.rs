//! Measures how functions start and answer, compared with the smallest function that `lambda_http` makes.
//!
//! Each function runs as a process of its own, behind a Lambda runtime API that is part of this program, on a table that the
//! local service lends. CPU time, page faults and memory are those that Linux counts for that process.

mod function;
mod report;
mod runtime_api;
mod tls;

use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use clap::Parser;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use function::{FLOOR, FLOOR_TLS, Function, Measured};

/// Measures start, first call and warm calls of functions against the floor, and prints a table.
#[derive(Parser)]
struct Arguments {
    /// The folder of the functions' release binaries, and of the floor's
    #[arg(long, value_name = "DIR", default_value = "target/release")]
    binaries: PathBuf,
    /// The local service, which has the records that the events name
    #[arg(long, value_name = "FILE", default_value = "target/debug/rolecall")]
    local_service: PathBuf,
    /// How often each function is started
    #[arg(long, value_name = "N", default_value_t = 20)]
    starts: usize,
    /// Fail when a ratio or a size passes its limit three times in a row
    #[arg(long)]
    check: bool,
    /// The binaries are as they are deployed, and have to keep the limits of those
    #[arg(long)]
    deployed: bool,
    /// The functions to measure [default: all]
    functions: Vec<String>,
}

/// How often a limit must be passed: a busy machine may spoil one measurement, a slower function spoils all.
const CHECKS: u32 = 3;

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
    let service = LocalService::start(&arguments.local_service).await?;
    let tls = tls::serve(&service.dynamodb).await.map_err(|error| format!("no TLS: {error}"))?;
    let chosen: Vec<_> =
        [&FLOOR, &FLOOR_TLS].into_iter().chain(Function::choose(&arguments.functions)?).collect();
    for _ in 0..CHECKS {
        let mut measured = vec![Vec::new(); chosen.len()];
        // One start of each after the other, so that a slow minute of the machine is everybody's.
        for _ in 0..arguments.starts {
            for (function, starts) in chosen.iter().zip(&mut measured) {
                starts.push(function.measure(&arguments.binaries, &service.dynamodb, &tls).await?);
            }
        }
        let medians = measured.iter().map(|starts| Measured::median(starts));
        let rows: Vec<_> = chosen.iter().copied().zip(medians).collect();
        let passed = report::print(&rows, arguments.deployed);
        if passed.is_empty() || !arguments.check {
            return Ok(ExitCode::SUCCESS);
        }
        for sentence in &passed {
            println!("{sentence}");
        }
    }
    Ok(ExitCode::FAILURE)
}

/// The local service with what the events name, for as long as this value lives.
struct LocalService {
    dynamodb: String,
    _process: Child,
}

impl LocalService {
    async fn start(binary: &Path) -> Result<Self, String> {
        let mut process = Command::new(binary)
            .args(["--memory", "--recorded", "--port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{}: {error}", binary.display()))?;
        let said = process.stdout.take().ok_or("the local service says nothing")?;
        let mut lines = BufReader::new(said).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if let Some(endpoint) = line.strip_prefix("DynamoDB") {
                return Ok(Self { dynamodb: endpoint.trim().to_owned(), _process: process });
            }
        }
        Err("the local service does not say where its DynamoDB is".to_owned())
    }
}
