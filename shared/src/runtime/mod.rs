//! Runs a function in Lambda: its start-up and its event loop.

mod log;

use std::future::{Future, ready};

use aws_smithy_runtime_api::client::http::SharedHttpClient;
use lambda_http::request::LambdaRequest;
use lambda_http::{Adapter, Body, Error, Request, Response, Service, service_fn};
use lambda_runtime::LambdaEvent;
use serde::Serialize;
use tracing::Instrument;

pub use log::{log, log_filter};

use crate::clock::Clock;
use crate::config::{AwsAccess, Config, Edge};
use crate::http::{
    App, Document, DocumentApp, Environment, KnownHolders, KnownSites, Route, with_valid_address,
    xray_trace_id,
};
use crate::model::{AuditActor, PasswordCost};
use crate::providers::Providers;
use crate::random::Random;
use crate::store::{self, Store};

/// Runs a function that serves `routes`.
pub fn serve(routes: Vec<Route>) -> Result<(), Error> {
    serve_over(store::https_client(), routes)
}

/// Runs a function that serves `routes` and connects to DynamoDB with the HTTP client `http`.
pub fn serve_over(http: SharedHttpClient, routes: Vec<Route>) -> Result<(), Error> {
    start(async {
        let environment = environment(http)?;
        let config = &environment.config;
        if routes.iter().any(Route::checks_credentials) && config.credential_keys.are_missing() {
            return Err("the environment variable CREDENTIAL_KEYS is not set".into());
        }
        if routes.iter().any(Route::signs) && config.signing_keys.are_missing() {
            return Err("the environment variable SIGNING_KEYS is not set".into());
        }
        environment.store.connect().await;
        let app = App::new(environment, routes);
        let handle = |request: Request| async { Ok::<Response<Body>, Error>(app.handle(request).await) };
        answer(handle).await
    })
}

/// Runs a function that serves `rows` and needs no database.
pub fn serve_documents(rows: Vec<Document>) -> Result<(), Error> {
    start(async {
        let (base_url, edge) = (Config::read_base_url(variable)?, Edge::read(variable)?);
        let app = DocumentApp::new(Clock::system(), base_url, edge, rows);
        let handle = |request: Request| ready(Ok::<Response<Body>, Error>(app.handle(&request)));
        answer(handle).await
    })
}

/// Passes every event of the gateway to `handle`.
async fn answer<F>(handle: impl Fn(Request) -> F) -> Result<(), Error>
where
    F: Future<Output = Result<Response<Body>, Error>> + Send,
{
    let mut adapter = Adapter::from(service_fn(handle));
    let run = |LambdaEvent { payload, context }: LambdaEvent<LambdaRequest>| {
        adapter.call(LambdaEvent::new(with_valid_address(payload), context))
    };
    lambda_runtime::run(service_fn(run)).await
}

/// Runs a function that performs `job` for each event of a schedule or stream.
pub fn schedule<T, F>(job: impl Fn(serde_json::Value, Environment) -> F) -> Result<(), Error>
where
    T: Serialize,
    F: Future<Output = Result<T, Error>>,
{
    start(async {
        let environment = environment(store::https_client())?;
        environment.store.connect().await;
        let run = |LambdaEvent { payload, context }: LambdaEvent<serde_json::Value>| {
            let (actor, trace) = (AuditActor::system(), xray_trace_id(&context));
            let span = tracing::error_span!(
                "job",
                actor = %actor.term(),
                request_id = context.request_id,
                xray_trace_id = trace
            );
            job(payload, environment.clone()).instrument(span)
        };
        lambda_runtime::run(service_fn(run)).await
    })
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Creates the configuration and the clients. This happens before the first event, while the CPU is not throttled.
fn environment(http: SharedHttpClient) -> Result<Environment, Error> {
    let config = Config::read(variable)?;
    for off in &config.services.half_filled {
        tracing::warn!(service = off.service, missing = off.missing, "a half-filled service is off");
    }
    // Lambda sets these variables. The SDK's own search for credentials would check five more sources.
    let aws = AwsAccess::read(&variable)?;
    let endpoint = config.dynamodb_endpoint.clone();
    let store = Store::in_region(http, aws.credentials(), aws.region, endpoint, &config.table);
    let providers = Providers::new(&config);
    Ok(Environment {
        store,
        clock: Clock::system(),
        random: Random::system()?,
        config,
        providers,
        password_cost: PasswordCost::CURRENT,
        known_holders: KnownHolders::default(),
        known_sites: KnownSites::default(),
    })
}

/// Starts the log and the async runtime. One thread is enough, because Lambda sends a function one event at a time.
fn start(run: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
    let function = variable("AWS_LAMBDA_FUNCTION_NAME");
    let name = function.as_deref().map(log::function_name);
    tracing::subscriber::set_global_default(log(std::io::stdout, name))?;
    // The future is on the heap, so that it is not copied between stack frames.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(Box::pin(run))
}
