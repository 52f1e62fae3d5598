//! A function as the gateway sees it: an event's request goes in, a response comes out, and one line is logged.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{Timestamp, ToSpan};
use lambda_http::aws_lambda_events::query_map::QueryMap;
use lambda_http::http::Method;
use lambda_http::http::header::AUTHORIZATION;
use lambda_http::{Body, Request, RequestExt, Response};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::call::Exchange;
use super::document::DocumentRequest;
use super::envelope::{Envelope, Quota, Trace, gateway_context};
use super::route::{Answer, Handler};
use super::visit::Visit;
use super::{Browser, Error, Form, Reply, Route, headers};
use crate::auth::Caller;
use crate::clock::Clock;
use crate::config::Config;
use crate::id::Ids;
use crate::model::{Day, Scope};
use crate::providers::Providers;
use crate::random::Random;
use crate::store::{Admission, ReceiptSlot, Refusal, Store, Verdict};

/// What a function is given to work with.
#[derive(Clone)]
pub struct Environment {
    /// The table.
    pub store: Store,
    /// The time.
    pub clock: Clock,
    /// Randomness.
    pub random: Random,
    /// The configuration.
    pub config: Config,
    /// The outside services.
    pub providers: Providers,
}

/// A function: its routes, in their environment.
#[derive(Clone)]
pub struct App {
    environment: Environment,
    ids: Ids,
    routes: Arc<HashMap<&'static str, Route>>,
}

/// The largest request body.
const MAX_BODY: usize = 256 * 1024;
/// How often a handler is called for one request, each time because what it had read had changed.
const MAX_ATTEMPTS: u32 = 10;

impl App {
    /// A function that answers `routes`.
    pub fn new(environment: Environment, routes: Vec<Route>) -> Self {
        let ids = Ids::new(environment.clock.clone(), environment.random.clone());
        Self {
            environment,
            ids,
            routes: Arc::new(routes.into_iter().map(|route| (route.key, route)).collect()),
        }
    }

    /// Answers one request.
    pub async fn handle(&self, request: Request) -> Response<Body> {
        let clock = &self.environment.clock;
        let store = self.environment.store.metered();
        let envelope = Envelope::of(&request, self.environment.config.base_url.as_deref(), clock.now());
        let form = self.routes.get(envelope.route_key.as_str()).map_or(Form::Api, Route::form);
        let form = form.chosen_by(&request);
        let mut trace = Trace::default();
        let result = self.dispatch(request, &envelope, &store, &mut trace).await;
        trace.dynamodb_calls = store.calls();
        envelope.close(form, result, &trace, clock.now())
    }

    async fn dispatch(
        &self,
        request: Request,
        envelope: &Envelope,
        store: &Store,
        trace: &mut Trace,
    ) -> Result<Reply<()>, Error> {
        let Envelope { route_key, base_url, started: now, .. } = envelope;
        let (route, now) = (self.routes.get(route_key.as_str()).ok_or(Error::NotFound)?, *now);
        let is_post = request.method() == Method::POST;
        let (scope, handler) = match &route.handler {
            Handler::Scoped(scope, handler) => (*scope, handler),
            Handler::Document(_, answer) => return answer(&DocumentRequest::of(&request)),
            Handler::Open(_, _, handler) => {
                let visit = Arc::new(self.visit(&request, base_url, store, now));
                return self.settle(|| handler(visit.clone())).await;
            }
            Handler::Browsed(handler) => {
                let browser = Arc::new(Browser::of(self.visit(&request, base_url, store, now), is_post)?);
                let reply = self.settle(|| handler(browser.clone())).await?;
                return Ok(browser.greet(reply));
            }
            Handler::AtDesk(role, handler) => {
                // A browser that sends another site's form without its cookie must not be given another one.
                let browser = Arc::new(Browser::of(self.visit(&request, base_url, store, now), is_post)?);
                let Some(desk) = browser.desk().await? else {
                    // A form's address may have no page to come back to.
                    let wanted = if is_post { "/dashboard" } else { &browser.address() };
                    return Ok(browser.greet(Browser::sign_in_page(wanted).untyped()));
                };
                trace.tenant = Some(desk.tenant());
                desk.require(*role)?;
                if let Some(session) = desk.session().seen(browser.now())
                    && let Err(error) = desk.keep_session(&session).await
                {
                    tracing::warn!(%error, "a session's use is not noted this time");
                }
                let desk = Arc::new(desk);
                return self.settle(|| handler(desk.clone())).await;
            }
        };
        let admission = self.admit(&request, base_url, scope, store, now, trace).await?;
        let exchange = Arc::new(Exchange {
            route: route.key,
            organization: admission.organization,
            credential: admission.credential,
            store: store.clone(),
            ids: self.ids.clone(),
            now,
            base_url: base_url.clone(),
            signing_key: self.environment.config.signing_key.clone(),
            providers: self.environment.providers.clone(),
            random: self.environment.random.clone(),
            query: request.query_string_parameters_ref().cloned().unwrap_or_else(QueryMap::default),
            id: path_id(&request),
            receipt: receipt_slot(&request, route.key, now)?,
            body: body(&request)?,
            headers: request.headers().clone(),
        });
        match self.settle(|| handler(exchange.clone())).await {
            Err(error) if error.kind().0 < 500 => recall(&exchange, error).await,
            settled => settled,
        }
    }

    /// Asks a handler until what it reads and what it writes fit together.
    async fn settle(&self, handler: impl Fn() -> Answer) -> Result<Reply<()>, Error> {
        let mut attempt = 1;
        loop {
            match handler().await {
                Err(Error::Refused(Refusal::Stale | Refusal::InFlight)) if attempt < MAX_ATTEMPTS => {
                    // Others are at the same items: whoever waits a random while meets fewer of them.
                    let pause = self.environment.random.below(10 << attempt.min(6));
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                    attempt += 1;
                }
                settled => return settled,
            }
        }
    }

    fn visit(&self, request: &Request, base_url: &str, store: &Store, now: Timestamp) -> Visit {
        let body: &[u8] = request.body().as_ref();
        Visit {
            path: request.raw_http_path().to_owned(),
            query: request.uri().query().unwrap_or_default().to_owned(),
            parameters: request.path_parameters_ref().cloned().unwrap_or_default(),
            headers: request.headers().clone(),
            body: body.to_vec(),
            source: self.source(request),
            base_url: base_url.to_owned(),
            store: store.clone(),
            ids: self.ids.clone(),
            random: self.environment.random.clone(),
            signing_key: self.environment.config.signing_key.clone(),
            now,
            providers: self.environment.providers.clone(),
        }
    }

    /// Where a request came from: as the CDN in front tells it, or else as the gateway saw it.
    fn source(&self, request: &Request) -> String {
        let header = self.environment.config.client_address_header.as_deref();
        let told = header.and_then(|name| headers::single(request.headers(), name).ok().flatten());
        told.and_then(headers::address).map_or_else(
            || gateway_context(request).http.source_ip.unwrap_or_default(),
            |address| address.to_string(),
        )
    }

    /// Credential and quota in one step, then the scope.
    async fn admit(
        &self,
        request: &Request,
        base_url: &str,
        scope: Scope,
        store: &Store,
        now: Timestamp,
        trace: &mut Trace,
    ) -> Result<Admission, Error> {
        let caller = match headers::single(request.headers(), AUTHORIZATION.as_str()) {
            Ok(authorization) => Caller::read(authorization),
            Err(_) => Caller::Malformed,
        };
        let credential = match caller {
            Caller::Anonymous => return Err(Error::Unauthorized { presented: false }),
            Caller::Malformed => return Err(Error::Unauthorized { presented: true }),
            Caller::Presented(credential) => credential,
        };
        let seconds_left = Day::of(now).seconds_left(now);
        let shard = self.environment.random.below(u64::MAX);
        let admission = match store.admit(&credential.presented(&audience(base_url)), now, shard).await? {
            Verdict::Unknown => return Err(Error::Unauthorized { presented: true }),
            Verdict::Exhausted { limit } => {
                trace.tenant = Some(credential.tenant());
                trace.quota = Some(Quota { limit, remaining: 0, seconds_left });
                return Err(Error::RateLimited { limit, retry_after: seconds_left });
            }
            Verdict::Admitted(admission) => admission,
        };
        trace.quota = admission.organization.plan.requests_per_day().map(|limit| Quota {
            limit,
            remaining: limit.saturating_sub(admission.counted_today),
            seconds_left,
        });
        trace.tenant = Some(credential.tenant());
        if admission.organization.suspended {
            return Err(Error::Suspended);
        }
        if !admission.scopes.contains(scope) {
            return Err(Error::InsufficientScope(scope));
        }
        Ok(*admission)
    }
}

/// A refusal is final only if the same request has not been carried out before: its effect may be what refuses it now.
async fn recall(exchange: &Exchange, error: Error) -> Result<Reply<()>, Error> {
    let Some((slot, _)) = &exchange.receipt else { return Err(error) };
    match exchange.store.find_receipt(exchange.organization.tenant(), slot).await? {
        Some(receipt) => exchange.replay(receipt),
        None => Err(error),
    }
}

/// The body's text: at most 256 KB, `application/json`, UTF-8, well-formed. A method without a body has none.
fn body(request: &Request) -> Result<String, Error> {
    let bytes: &[u8] = request.body().as_ref();
    if bytes.is_empty() || matches!(request.method().as_str(), "GET" | "DELETE") {
        return Ok(String::new());
    }
    if bytes.len() > MAX_BODY {
        return Err(Error::PayloadTooLarge(MAX_BODY));
    }
    if !headers::is_json(request.headers()) {
        return Err(Error::UnsupportedMediaType("application/json"));
    }
    let text =
        str::from_utf8(bytes).map_err(|_| Error::BadRequest("The request body is not UTF-8".to_owned()))?;
    match serde_json::from_str::<&RawValue>(text) {
        Ok(json) => Ok(json.get().to_owned()),
        Err(error) => Err(Error::BadRequest(format!(
            "The request body is not JSON: line {}, column {}",
            error.line(),
            error.column()
        ))),
    }
}

/// Where this request's receipt would be, and what tells the request from others with the same key.
fn receipt_slot(
    request: &Request,
    route: &'static str,
    now: Timestamp,
) -> Result<Option<(ReceiptSlot, String)>, Error> {
    if request.method().as_str() != "POST" {
        return Ok(None);
    }
    let Some(idempotency_key) = headers::idempotency_key(request.headers())? else { return Ok(None) };
    let mut digest = Sha256::new();
    digest.update(request.raw_http_path());
    digest.update("\n");
    digest.update(request.body().as_ref() as &[u8]);
    let expires_at = now.checked_add(24.hours()).unwrap_or(Timestamp::MAX);
    let slot = ReceiptSlot { route, idempotency_key, now, expires_at };
    Ok(Some((slot, URL_SAFE_NO_PAD.encode(digest.finalize()))))
}

fn path_id(request: &Request) -> Option<String> {
    request.path_parameters_ref().and_then(|path| path.first("id")).map(str::to_owned)
}

/// What an access token is for (RFC 8707): this API.
pub fn audience(base_url: &str) -> String {
    format!("{base_url}/api/v1")
}
