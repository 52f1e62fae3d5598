//! The administration tool's entry: arguments and environment in, exit code out.

use std::process::ExitCode;

use clap::Parser;
use rolecall_admin::{Cli, run};
use shared::clock::Clock;
use shared::random::Random;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    // Where AWS's configuration is looked for in vain is told by the sentence in the end.
    let filter = Targets::new().with_default(Level::WARN).with_target("aws_config", Level::ERROR);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    tracing_subscriber::registry().with(lines).with(filter).init();
    match perform(cli).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::FAILURE
        }
    }
}

async fn perform(cli: Cli) -> Result<(), String> {
    let store = cli.store().await;
    run(cli, store, Clock::system(), Random::system()?, &mut std::io::stdout()).await
}
