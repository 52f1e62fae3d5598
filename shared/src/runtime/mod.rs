//! A function's life in Lambda: what it is given at its start, and the loop that follows.

use std::future::Future;

use lambda_http::{Body, Error, Request, Response};
use lambda_runtime::LambdaEvent;
use serde::Serialize;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::clock::Clock;
use crate::config::Config;
use crate::http::{App, Environment, Form, Route};
use crate::providers::Providers;
use crate::random::Random;
use crate::store::Store;

/// Runs a function that answers `routes`.
pub fn serve(routes: Vec<Route>) -> Result<(), Error> {
    start(async {
        let environment = environment().await?;
        // Who has nothing but documents and what explains them carries them along.
        if routes.iter().any(|route| !matches!(route.form(), Form::Document | Form::Either)) {
            environment.store.connect().await;
        }
        let app = App::new(environment, routes);
        let answer = |request: Request| async { Ok::<Response<Body>, Error>(app.handle(request).await) };
        lambda_http::run(lambda_http::service_fn(answer)).await
    })
}

/// Runs a function that does a `job` whenever the schedule says so, whatever the event holds.
pub fn schedule<T, F>(job: impl Fn(Environment) -> F) -> Result<(), Error>
where
    T: Serialize,
    F: Future<Output = Result<T, Error>>,
{
    start(async {
        let environment = environment().await?;
        environment.store.connect().await;
        let run = |_: LambdaEvent<serde_json::Value>| job(environment.clone());
        lambda_runtime::run(lambda_runtime::service_fn(run)).await
    })
}

/// Configuration and clients, made before the first event, while the CPU is not throttled; so is the connection to
/// DynamoDB, by those functions that use it.
async fn environment() -> Result<Environment, Error> {
    let config = Config::read(|name| std::env::var(name).ok())?;
    let store = Store::from_environment(&config.table, config.dynamodb_endpoint.clone()).await;
    let providers = Providers::new(&config);
    Ok(Environment { store, clock: Clock::system(), random: Random::system()?, config, providers })
}

/// The log: a line of JSON for each request and whatever else is worth one. `RUST_LOG` asks for more or less.
pub fn log<W>(writer: W) -> impl tracing::Subscriber
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let usual = || {
        EnvFilter::new("warn,shared=info,tasks=info,usage_reset=info,oauth=info,dashboard=info,careers=info")
    };
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_target(false)
        .with_env_filter(EnvFilter::try_from_default_env().unwrap_or_else(|_| usual()))
        .with_writer(writer)
        .finish()
}

/// One request at a time is all that Lambda gives a function: one thread serves it.
fn start(run: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
    tracing::subscriber::set_global_default(log(std::io::stdout))?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run)
}
