//! The external services on bad days: the bucket, a voice provider, X, WhatsApp and the receivers of webhooks. They answer
//! late or not at all, and the voice provider reports once, twice or never.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use jiff::SignedDuration;
use rolecall_local::bucket::{BUCKET, LocalBucket};
use rolecall_local::demo;
use rolecall_local::gateway::Gateway;
use serde_json::{Value, json};
use shared::clock::Timestamp;
use shared::config::{Addresses, Services, VapiAccess, XAccess};
use shared::model::WebhookHeaders;
use shared::providers::client::{self, RequestError, Sent};
use shared::providers::client_document::{ClientDocuments, FetchError};
use shared::providers::voice::sign;
use shared::secret::Secret;
use shared::token_encryption::EncryptionKeys;
use tokio::time::sleep;

use crate::faults::Faults;
use crate::receivers::{self, Received};
use crate::time::Time;

/// The base URL of the service.
pub(crate) const BASE_URL: &str = "https://api.rolecall.test";
const BUCKET_URL: &str = "https://bucket.test";
const VAPI_URL: &str = "https://vapi.test";
const X_URL: &str = "https://x.test";
const WHATSAPP_URL: &str = "https://whatsapp.test";
/// The beginning of the URLs of metadata documents. A word of the organization follows.
pub(crate) const APPS_URL: &str = "https://apps.example/";
/// Where applications get their codes.
pub(crate) const REDIRECT_URI: &str = "https://apps.example/callback";
const VAPI_SECRET: &str = "the simulated secret of the voice provider";
/// The time after which a client gives up a request.
const NEVER: Duration = Duration::from_secs(8);
/// The maximum time of a call, and between a call and its report, in milliseconds.
const CALL: u64 = 3_000;
/// How often the voice provider repeats a report that was refused.
const REPORTS: u32 = 4;

/// The external services.
pub(crate) struct Outside {
    bucket: LocalBucket,
    gateway: OnceLock<Weak<Gateway>>,
    time: Time,
    state: Mutex<State>,
}

struct State {
    random: fastrand::Rng,
    /// How many of a thousand requests have a fault.
    faults_per_mille: u32,
    faults: Faults,
    /// The calls by their ids.
    calls: BTreeMap<String, Call>,
    /// The number of posts on X by their text.
    posts: BTreeMap<String, u32>,
    received: Vec<Received>,
}

/// A call to a candidate.
struct Call {
    /// The screen that it is for.
    reference: String,
    ordered_at: Timestamp,
    ends_at: Timestamp,
    is_deleted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// No connection is made.
    Unreached,
    /// The request is lost.
    RequestLost,
    /// The request is carried out, but the response is lost.
    ResponseLost,
    /// The service is broken.
    Broken,
}

/// The services that a deployment uses. With `simulated`, live mode uses the built-in simulators.
pub(crate) fn services(simulated: bool) -> Services {
    let vapi = VapiAccess {
        api_key: Some(Secret::new("vapi-key")),
        phone_number_id: "phone-1".to_owned(),
        webhook_secret: Some(Secret::new(VAPI_SECRET)),
        credential_id: None,
    };
    Services {
        simulated,
        callback_url: Some(BASE_URL.to_owned()),
        vapi: (!simulated).then_some(vapi),
        call_countries: vec!["US".parse().expect("a country")],
        x: Some(XAccess { client_id: "client".to_owned(), client_secret: Secret::new("secret") }),
        sealing_keys: Some(EncryptionKeys::parse(demo::SEALING_KEYS).expect("a key")),
        resumes: Some(LocalBucket::access(BUCKET_URL)),
        deliver: None,
        half_filled: Vec::new(),
        addresses: Addresses {
            vapi: VAPI_URL.to_owned(),
            x: X_URL.to_owned(),
            whatsapp: WHATSAPP_URL.to_owned(),
            ..Addresses::default()
        },
    }
}

impl Outside {
    pub(crate) fn new(random: fastrand::Rng, time: Time, faults: Faults) -> Arc<Self> {
        let (calls, posts) = (BTreeMap::new(), BTreeMap::new());
        let state = State { random, faults_per_mille: 0, faults, calls, posts, received: Vec::new() };
        Arc::new(Self {
            bucket: LocalBucket::in_memory(BUCKET),
            gateway: OnceLock::new(),
            time,
            state: Mutex::new(state),
        })
    }

    /// Sets where callbacks go to.
    pub(crate) fn set_gateway(&self, gateway: &Arc<Gateway>) {
        self.gateway.set(Arc::downgrade(gateway)).expect("the only deployment");
    }

    /// Sets how many of a thousand requests have a fault.
    pub(crate) fn set_faults(&self, per_mille: u32) {
        self.state().faults_per_mille = per_mille;
    }

    /// The way of requests to the services.
    pub(crate) fn transport(self: Arc<Self>) -> client::Transport {
        Arc::new(move |request| -> Sent { Box::pin(self.clone().send(request)) })
    }

    /// The metadata documents of applications.
    pub(crate) fn documents(self: Arc<Self>) -> ClientDocuments {
        ClientDocuments::from_fn(move |url| {
            let (outside, url) = (self.clone(), url.clone());
            async move { outside.document(url.as_str()).await }
        })
    }

    /// The screens with more than one call.
    pub(crate) fn repeated_calls(&self) -> Vec<String> {
        let state = self.state();
        let mut made = BTreeMap::<&str, u32>::new();
        for call in state.calls.values() {
            *made.entry(call.reference.as_str()).or_default() += 1;
        }
        made.retain(|_, calls| *calls > 1);
        made.into_keys().map(str::to_owned).collect()
    }

    /// How often each text was posted to X.
    pub(crate) fn posts(&self) -> BTreeMap<String, u32> {
        self.state().posts.clone()
    }

    /// What the webhook endpoints have received, in order.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.state().received.clone()
    }

    /// Sends a browser's request to the bucket.
    pub(crate) async fn upload(&self, request: Request<Bytes>) -> Response<Bytes> {
        self.bucket.handle(request, self.time.now()).await
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(self: Arc<Self>, request: reqwest::Request) -> Result<client::Response, RequestError> {
        let fault = self.travel().await;
        match fault {
            Some(Fault::Unreached) => return Err(RequestError::Unreached),
            Some(Fault::RequestLost) => {
                sleep(NEVER).await;
                return Err(RequestError::Lost);
            }
            Some(Fault::Broken) => return Ok(answer(503, &Value::Null)),
            Some(Fault::ResponseLost) | None => {}
        }
        let response = self.clone().answer(request).await?;
        if fault == Some(Fault::ResponseLost) {
            sleep(NEVER).await;
            return Err(RequestError::Lost);
        }
        Ok(response)
    }

    /// Lets a request travel. Returns the fault that happens to it.
    async fn travel(&self) -> Option<Fault> {
        let (fault, latency) = {
            let mut state = self.state();
            let faults = [Fault::Unreached, Fault::RequestLost, Fault::ResponseLost, Fault::Broken];
            let is_faulty = state.random.u32(0..1_000) < state.faults_per_mille;
            let fault = state.random.choice(faults).filter(|_| is_faulty && state.faults.admits());
            (fault, Duration::from_millis(state.random.u64(1..50)))
        };
        sleep(latency).await;
        fault
    }

    /// The metadata document at this URL.
    async fn document(&self, url: &str) -> Result<String, FetchError> {
        match self.travel().await {
            None => {}
            Some(Fault::Unreached) => return Err(FetchError::Unreached),
            Some(Fault::Broken) => return Err(FetchError::Status(503)),
            Some(Fault::RequestLost | Fault::ResponseLost) => {
                sleep(NEVER).await;
                return Err(FetchError::Lost);
            }
        }
        let word = url.strip_prefix(APPS_URL).ok_or(FetchError::Unreached)?;
        let mut document = metadata(word);
        document["client_id"] = json!(url);
        Ok(document.to_string())
    }

    async fn answer(self: Arc<Self>, request: reqwest::Request) -> Result<client::Response, RequestError> {
        let url = request.url().as_str().to_owned();
        let body = request.body().and_then(|body| body.as_bytes()).unwrap_or_default().to_vec();
        if let Some(path) = url.strip_prefix(BASE_URL) {
            return self.to_gateway(copy(&request, path, body)).await;
        }
        if url.starts_with(BUCKET_URL) {
            let response = self.upload(copy(&request, &url, body)).await;
            return Ok(received(response));
        }
        if let Some(path) = url.strip_prefix(VAPI_URL) {
            return Ok(self.vapi(request.method(), path, &body));
        }
        if let Some(path) = url.strip_prefix(X_URL) {
            return Ok(self.x(request.method(), path, &body));
        }
        if let Some(number) = url.strip_prefix(receivers::URL) {
            return Ok(self.receive(number, request.headers(), body));
        }
        if url.starts_with(WHATSAPP_URL) {
            let health = json!({ "can_send_message": "AVAILABLE" });
            let number = json!({ "display_phone_number": "+1 415 200 0000", "health_status": health });
            return Ok(answer(200, &number));
        }
        Err(RequestError::Unreached)
    }

    async fn to_gateway(&self, request: Request<Vec<u8>>) -> Result<client::Response, RequestError> {
        let gateway = self.gateway.get().and_then(Weak::upgrade).ok_or(RequestError::Unreached)?;
        let source = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
        Ok(received(gateway.send(request.map(Bytes::from), source).await))
    }

    fn vapi(self: Arc<Self>, method: &Method, path: &str, body: &[u8]) -> client::Response {
        let mut state = self.state();
        if method == Method::POST && path == "/call" {
            let order: Value = serde_json::from_slice(body).unwrap_or_default();
            let reference = order["customer"]["externalId"].as_str().unwrap_or_default().to_owned();
            let id = format!("call-{}", state.calls.len() + 1);
            let wait = Duration::from_millis(state.random.u64(0..CALL));
            let ordered_at = self.time.now();
            let ends_at = ordered_at + SignedDuration::try_from(wait).expect("a short call");
            state.calls.insert(id.clone(), Call { reference, ordered_at, ends_at, is_deleted: false });
            // Most calls are reported once, some twice, and some never.
            let reports = [1, 1, 1, 2, 0][state.random.usize(0..5)];
            for _ in 0..reports {
                let late = Duration::from_millis(state.random.u64(0..CALL));
                tokio::spawn(self.clone().report(id.clone(), wait + late));
            }
            return answer(201, &json!({ "id": id, "status": "queued" }));
        }
        if let Some(query) = path.strip_prefix("/call?") {
            return list_calls(&state.calls, query);
        }
        let now = self.time.now();
        let id = path.strip_prefix("/call/").unwrap_or_default();
        match state.calls.get_mut(id).filter(|call| !call.is_deleted) {
            None => answer(404, &json!({ "message": "no such call" })),
            Some(call) if method == Method::DELETE => {
                call.is_deleted = true;
                answer(200, &json!({}))
            }
            Some(call) if call.ends_at > now => answer(200, &json!({ "id": id, "status": "in-progress" })),
            Some(call) => {
                let mut ended = conversation(&call.reference);
                ended["id"] = json!(id);
                ended["status"] = json!("ended");
                ended["customer"] = json!({ "externalId": call.reference });
                answer(200, &ended)
            }
        }
    }

    /// Reports the end of a call after a while, and repeats it if the report fails.
    async fn report(self: Arc<Self>, id: String, wait: Duration) {
        sleep(wait).await;
        let Some(reference) =
            self.state().calls.get(&id).filter(|call| !call.is_deleted).map(|call| call.reference.clone())
        else {
            return;
        };
        let mut message = conversation(&reference);
        message["type"] = json!("end-of-call-report");
        message["call"] = json!({ "id": id, "customer": { "externalId": reference } });
        let body = json!({ "message": message }).to_string().into_bytes();
        for attempt in 0..REPORTS {
            let sent_at = self.time.now().as_second();
            let signature = sign(&Secret::new(VAPI_SECRET), sent_at, &body);
            let request = Request::post("/webhooks/voice/vapi")
                .header("host", "api.rolecall.test")
                .header("content-type", "application/json")
                .header("x-timestamp", sent_at)
                .header("x-signature", signature)
                .body(body.clone())
                .expect("a request");
            match self.to_gateway(request).await {
                Ok(response) if response.status.as_u16() < 500 => return,
                _ => sleep(Duration::from_secs(1 << attempt)).await,
            }
        }
    }

    /// Receives a webhook. While the services have faults, endpoints refuse some.
    fn receive(&self, number: &str, headers: &HeaderMap, body: Vec<u8>) -> client::Response {
        let text = |name: &str| {
            headers
                .get(name)
                .and_then(|value| str::from_utf8(value.as_bytes()).ok())
                .unwrap_or_default()
                .to_owned()
        };
        let mut state = self.state();
        let refusal = state.random.choice([None, None, None, None, Some(429), Some(500)]).flatten();
        let status = refusal.filter(|_| state.faults_per_mille > 0).unwrap_or(204);
        state.received.push(Received {
            tenant: number.parse().expect("the number of a tenant"),
            headers: WebhookHeaders {
                id: text("webhook-id"),
                timestamp: text("webhook-timestamp"),
                signature: text("webhook-signature"),
            },
            body: String::from_utf8(body).expect("JSON"),
            is_accepted: status == 204,
        });
        answer(status, &Value::Null)
    }

    fn x(&self, method: &Method, path: &str, body: &[u8]) -> client::Response {
        let mut state = self.state();
        match (method.as_str(), path.split('?').next().unwrap_or_default()) {
            ("POST", "/2/tweets") => {
                let post: Value = serde_json::from_slice(body).unwrap_or_default();
                let text = post["text"].as_str().unwrap_or_default().to_owned();
                *state.posts.entry(text).or_default() += 1;
                let id = 1_900_000_000_000_000_000 + u64::from(state.posts.values().sum::<u32>());
                answer(201, &json!({ "data": { "id": id.to_string(), "text": "" } }))
            }
            ("GET", "/2/tweets") => answer(200, &json!({ "data": [] })),
            ("GET", _) => answer(200, &json!({ "data": { "id": "42", "username": "acme_jobs" } })),
            _ => {
                let number = state.random.u32(..);
                answer(
                    200,
                    &json!({
                        "token_type": "bearer",
                        "expires_in": 7_200,
                        "access_token": format!("access-{number}"),
                        "refresh_token": format!("refresh-{number}"),
                    }),
                )
            }
        }
    }
}

/// What an organization's application says about itself.
pub(crate) fn metadata(word: &str) -> Value {
    json!({
        "client_name": format!("Assistant of {word}"),
        "redirect_uris": [REDIRECT_URI],
        "token_endpoint_auth_method": "none",
    })
}

/// A request with the same headers.
fn copy<B: From<Vec<u8>>>(request: &reqwest::Request, uri: &str, body: Vec<u8>) -> Request<B> {
    let mut copied = Request::builder().method(request.method()).uri(uri);
    if !request.headers().contains_key("host") {
        copied = copied.header("host", request.url().host_str().unwrap_or_default());
    }
    for (name, value) in request.headers() {
        copied = copied.header(name, value);
    }
    copied.body(B::from(body)).expect("a request")
}

fn received(response: Response<Bytes>) -> client::Response {
    let (parts, body) = response.into_parts();
    client::Response { status: parts.status, headers: parts.headers, body }
}

fn answer(status: u16, body: &Value) -> client::Response {
    let status = StatusCode::from_u16(status).expect("a status");
    client::Response { status, headers: HeaderMap::default(), body: Bytes::from(body.to_string()) }
}

/// The calls that a query asks for, from the newest to the oldest.
fn list_calls(calls: &BTreeMap<String, Call>, query: &str) -> client::Response {
    let value = |name: &str| query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    let time = |name: &str| value(name).and_then(|text| text.parse::<Timestamp>().ok()).expect("a time");
    let (since, until) = (time("createdAtGe"), time("createdAtLt"));
    let limit: usize = value("limit").and_then(|text| text.parse().ok()).expect("a limit");
    let is_asked_for = |call: &Call| !call.is_deleted && since <= call.ordered_at && call.ordered_at < until;
    let mut found: Vec<_> = calls.iter().filter(|(_, call)| is_asked_for(call)).collect();
    found.sort_by_key(|(_, call)| std::cmp::Reverse(call.ordered_at));
    let shown = found.into_iter().take(limit).map(|(id, call)| {
        let customer = json!({ "externalId": call.reference });
        json!({ "id": id, "createdAt": call.ordered_at.to_string(), "customer": customer })
    });
    answer(200, &shown.collect())
}

/// What a call about a screen brought.
fn conversation(reference: &str) -> Value {
    json!({
        "endedReason": "customer-ended-call",
        "artifact": {
            "messages": [
                { "role": "bot", "message": "What have you done?", "secondsFromStart": 1 },
                { "role": "user", "message": format!("I ran {reference}."), "secondsFromStart": 4 },
                { "role": "bot", "message": "When could you start?", "secondsFromStart": 20 },
                { "role": "user", "message": "At once.", "secondsFromStart": 24 },
                { "role": "user", "message": "Or in March.", "secondsFromStart": 34 },
            ],
            "structuredOutputs": { "output-1": { "name": "rolecall_screen", "result": {
                "summary": "A conversation.",
                "scores": { "overall": 84, "communication": 81, "experience": 82, "motivation": 83 },
            } } },
        },
    })
}
