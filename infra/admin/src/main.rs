//! The entry point of the administration tool.

use std::process::ExitCode;

use clap::Parser;
use rolecall_admin::{Cli, Secrets, run};
use shared::clock::Clock;
use shared::random::Random;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    // The final error message already says what is missing in AWS's configuration.
    let filter = Targets::new().with_default(Level::WARN).with_target("aws_config", Level::ERROR);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    tracing_subscriber::registry().with(lines).with(filter).init();
    match execute(cli).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::FAILURE
        }
    }
}

async fn execute(cli: Cli) -> Result<(), String> {
    let secrets = cli.secrets(Secrets::read(|name| std::env::var(name).ok())).await?;
    let (store, bucket) = (cli.store().await, cli.bucket().await?);
    run(cli, store, Clock::system(), Random::system()?, secrets, bucket, &mut std::io::stdout()).await
}
