//! Benchmarks the start and the calls of each function against the floor: the smallest possible `lambda_http` function.
//!
//! Each function runs in its own process, with this program as its Lambda runtime API and the local service as its
//! DynamoDB. Linux reports the CPU time, page faults and memory of the process.

mod function;
mod report;
mod runtime_api;
mod tls;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use clap::Parser;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use function::{FLOOR, FLOOR_TLS, Function, Measured};
use report::Excess;

/// Benchmarks the start, the first call and warm calls of functions against the floor, and prints a table
#[derive(Parser)]
struct Arguments {
    /// Folder of the functions' binaries, including the floor's
    #[arg(long, value_name = "DIR", default_value = "target/release")]
    binaries: PathBuf,
    /// Binary of the local service
    #[arg(long, value_name = "FILE", default_value = "target/debug/rolecall")]
    local_service: PathBuf,
    /// Number of starts per function
    #[arg(long, value_name = "N", default_value_t = 20)]
    starts: usize,
    /// Fail if a ratio or a size exceeds its limit three times in a row
    #[arg(long)]
    check: bool,
    /// Functions to measure [default: all]
    functions: Vec<String>,
}

/// The number of consecutive measurements that must exceed a limit for the check to fail. A busy machine may spoil one
/// measurement, but not all.
const CHECKS: u32 = 3;
/// The maximum number of attempts per start.
const ATTEMPTS: u32 = 3;

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
    let tls = tls::serve(&service.dynamodb).await;
    let tls = tls.map_err(|error| format!("The TLS endpoint cannot be started: {error}"))?;
    let chosen: Vec<_> =
        [&FLOOR, &FLOOR_TLS].into_iter().chain(Function::choose(&arguments.functions)?).collect();
    let mut always: Option<BTreeSet<Excess>> = None;
    for _ in 0..CHECKS {
        let mut measured = vec![Vec::new(); chosen.len()];
        // The functions take turns, so that a slow phase of the machine affects all of them.
        for _ in 0..arguments.starts {
            for (function, starts) in chosen.iter().zip(&mut measured) {
                starts.push(measure(function, &arguments.binaries, &service.dynamodb, &tls).await?);
            }
        }
        let medians = measured.iter().map(|starts| Measured::median(starts));
        let rows: Vec<_> = chosen.iter().copied().zip(medians).collect();
        let exceeded = report::print(&rows);
        always = Some(match always {
            Some(always) => always.intersection(&exceeded).copied().collect(),
            None => exceeded,
        });
        if !arguments.check || always.as_ref().is_some_and(BTreeSet::is_empty) {
            return Ok(ExitCode::SUCCESS);
        }
    }
    for Excess { function, metric } in always.into_iter().flatten() {
        eprintln!("{function}: {metric}: above its limit {CHECKS} times in a row");
    }
    Ok(ExitCode::FAILURE)
}

/// Measures one start. Tries again if a call fails, because calls can time out on a busy machine.
async fn measure(
    function: &Function,
    binaries: &Path,
    dynamodb: &str,
    tls: &tls::Endpoint,
) -> Result<Measured, String> {
    for _ in 1..ATTEMPTS {
        match function.measure(binaries, dynamodb, tls).await {
            Ok(measured) => return Ok(measured),
            Err(sentence) => eprintln!("{}: {sentence}", function.name),
        }
    }
    function
        .measure(binaries, dynamodb, tls)
        .await
        .map_err(|sentence| format!("{}: {sentence}", function.name))
}

/// A local service with the records that the sample events use. It stops when this value is dropped.
struct LocalService {
    dynamodb: String,
    _process: Child,
    /// Stays open, because the service ends if it cannot print.
    _output: Lines<BufReader<ChildStdout>>,
}

impl LocalService {
    async fn start(binary: &Path) -> Result<Self, String> {
        let mut process = Command::new(binary)
            // The TLS proxy is `localhost` at a port of its own.
            .args(["--memory", "--recorded", "--port", "0", "--host", "localhost"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{}: {error}", binary.display()))?;
        let output = process.stdout.take().ok_or("the local service has no output")?;
        let mut lines = BufReader::new(output).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if let Some(endpoint) = line.strip_prefix("DynamoDB") {
                return Ok(Self { dynamodb: endpoint.trim().to_owned(), _process: process, _output: lines });
            }
        }
        Err("the local service did not print the URL of its DynamoDB".to_owned())
    }
}
