//! Requests to webhook endpoints over TLS, as receivers see them, and what one slow endpoint costs the others.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, Method};
use jiff::SignedDuration;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde_json::json;
use shared::clock::{Clock, later};
use shared::http::Environment;
use shared::model::{EventType, Mode, WebhookHeaders, WebhookKeys};
use shared::providers::Providers;
use shared::providers::public_web::FixedResolver;
use shared::providers::webhooks::WebhookReach;
use shared::random::Random;
use standardwebhooks::Webhook;
use tests::fake::{FakeResponse, FakeServer, Request};
use tests::{ACME, GLOBEX, TestApi, project, tenant};
use tokio::time::Instant;

use super::webhook_receiver::{is_genuine, public_key, receive};
use super::webhooks::{PATH, accepts, deliveries, write_events};

const NAME: &str = "hooks.example.com";

fn ok() -> FakeResponse {
    FakeResponse::Full(200, Vec::new(), String::new())
}

async fn api_with(reach: WebhookReach) -> TestApi {
    let mut api = TestApi::new().await;
    api.environment.providers = Providers::with_webhook_reach(&api.environment.config, reach);
    api.restart();
    api
}

fn signed_headers(id: &str, timestamp: &str, signature: &str) -> HeaderMap {
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let values = [id, timestamp, signature].map(|value| value.parse().unwrap());
    names.map(http::HeaderName::from_static).into_iter().zip(values).collect()
}

fn headers_of(request: &Request) -> HeaderMap {
    let [id, timestamp, signature] =
        ["webhook-id", "webhook-timestamp", "webhook-signature"].map(|name| request.header(name));
    signed_headers(id, timestamp, signature)
}

#[tokio::test]
async fn a_signed_event_is_delivered_over_tls_to_a_server_with_a_trusted_certificate() {
    let (server, address, root) = FakeServer::start_tls(&[NAME], |_| ok()).await;
    let resolver = FixedResolver(vec![address]);
    let api = api_with(WebhookReach::through(resolver.clone(), &[&root]).unwrap()).await;
    let new = json!({ "url": format!("https://{NAME}/hook?x=1"), "types": ["role.created"] });
    let created = api.post(PATH, new).await.expect(201);
    let (secret, key) = (created.string("/secret"), created.string("/public_keys/0"));
    // The same server under another name, for which its certificate is not.
    let other = json!({ "url": "https://hooks.example.org/", "types": ["role.created"] });
    let other = api.post(PATH, other).await.expect(201).number("/id");
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    api.run_feed().await;
    let summary = api.deliver().await;
    assert_eq!((summary.delivered, summary.failed), (1, 2), "with the first repetition");
    let [request] = &server.requests()[..] else { panic!("{:?}", server.requests()) };
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/hook?x=1"));
    assert_eq!((request.header("host"), request.header("content-type")), (NAME, "application/json"));
    assert_eq!(request.json()["subject"], json!({ "type": "role", "id": role, "version": 1 }));
    let now = api.environment.clock.now().as_second();
    let (headers, key) = (headers_of(request), public_key(key).unwrap());
    assert!(accepts(secret, request, &request.body) && is_genuine(&headers, &request.body, &key, now));
    let tampered = request.body.replace("role.created", "role.closed");
    assert!(!accepts(secret, request, &tampered) && !is_genuine(&headers, &tampered, &key, now));
    for delivery in deliveries(&api, other).await {
        let error = delivery["attempts"][0]["error"].as_str().unwrap();
        assert!(error.contains("certificate"), "{error}");
    }
    // The system's roots do not certify the server.
    let untrusting = api_with(WebhookReach::through(resolver, &[]).unwrap()).await;
    let new = json!({ "url": format!("https://{NAME}/hook") });
    untrusting.post(PATH, new).await.expect(201);
    untrusting.run_feed().await;
    let summary = untrusting.deliver().await;
    assert_eq!((summary.delivered, summary.failed, server.requests().len()), (0, 2, 1));
}

/// The receiver of the API guide, and requests that it must accept or refuse. The library reads the system's clock, so these
/// requests are signed now.
#[test]
fn the_guides_receiver_in_rust_accepts_genuine_requests_only() {
    const BODY: &str = r#"{"id":17,"type":"role.published"}"#;
    let keys = |seed| WebhookKeys::generate(&Random::seeded(seed));
    let (old, new, now) = (keys(1), keys(2), Clock::system().now());
    let ago = |seconds: i64| later(now, SignedDuration::from_secs(-seconds));
    let sign = |keys: &[WebhookKeys], at| WebhookHeaders::sign(keys, true, "17", at, BODY);
    let with_id = |id: &str, headers: WebhookHeaders| WebhookHeaders { id: id.to_owned(), ..headers };
    let tampered = BODY.replace("published", "closed");
    let both = [new.clone(), old.clone()];
    let [just_new, just_old] = [[new.clone()], [old.clone()]];
    for (name, receiver, sent, body, expected) in [
        ("genuine", &new, sign(&just_new, now), BODY, true),
        ("four minutes old", &new, sign(&just_new, ago(240)), BODY, true),
        ("the new keys during a rotation", &new, sign(&both, now), BODY, true),
        ("the old keys during a rotation", &old, sign(&both, now), BODY, true),
        ("the old keys afterwards", &old, sign(&just_new, now), BODY, false),
        ("the new keys, signed before", &new, sign(&just_old, now), BODY, false),
        ("another body", &new, sign(&just_new, now), &tampered, false),
        ("another id", &new, with_id("18", sign(&just_new, now)), BODY, false),
        ("late", &new, sign(&just_new, ago(310)), BODY, false),
        ("from the future", &new, sign(&just_new, ago(-310)), BODY, false),
    ] {
        let headers = signed_headers(&sent.id, &sent.timestamp, &sent.signature);
        let webhook = Webhook::new(&receiver.secret()).unwrap();
        let status = receive(&webhook, &headers, body.as_bytes());
        assert_eq!(status, if expected { 204 } else { 401 }, "{name}, by the secret");
        let key = public_key(&receiver.public_key()).unwrap();
        assert_eq!(is_genuine(&headers, body, &key, now.as_second()), expected, "{name}, by the public key");
    }
    let key = public_key(&new.public_key()).unwrap();
    for signature in ["", "v1a", "v1a,", "v1a,!", "v1a,AAAA", "v2,x v1a,", " "] {
        let headers = signed_headers("17", &now.as_second().to_string(), signature);
        assert!(!is_genuine(&headers, BODY, &key, now.as_second()), "{signature:?}");
    }
    assert!(!is_genuine(&HeaderMap::new(), BODY, &key, now.as_second()));
}

#[test]
fn the_guide_shows_this_receiver() {
    let guide = std::fs::read_to_string(project("functions/README.md")).unwrap();
    let code = std::fs::read_to_string(project("tests/api/webhook_receiver.rs")).unwrap();
    let code = code.replace("pub(crate) ", "");
    let blocks = guide.split("```rust\n").skip(1).map(|rest| rest.split("```\n").next().unwrap());
    let blocks: Vec<_> = blocks.filter(|block| block.contains("webhook")).collect();
    assert_eq!(blocks.len(), 2, "by the secret, and by the public key");
    for part in blocks.iter().flat_map(|block| block.split("\n\n")) {
        let lines: Vec<_> =
            if part.starts_with("use ") { part.lines().collect() } else { vec![part.trim_end()] };
        for text in lines {
            assert!(code.contains(text), "tests/api/webhook_receiver.rs does not have this:\n{text}");
        }
    }
    let shown = blocks.concat();
    for function in code.split("\nfn ").skip(1) {
        assert!(shown.contains(function.trim_end()), "the guide does not show this:\nfn {function}");
    }
}

/// The time that a healthy endpoint takes for an answer.
const LATENCY: Duration = Duration::from_millis(100);
/// The number of events of each tenant.
const EVENTS: usize = 40;
const SLOW: &str = "slow.example.com";
const BESIDE: &str = "beside.example.com";
const ELSEWHERE: &str = "elsewhere.example.com";

/// Keeps the paused clock from advancing.
type Held = Arc<Sender<()>>;

/// A resolver that finds one server for all names. From then on, the clock waits for the requests to healthy endpoints, because
/// the network takes time that the paused clock does not measure. The latency is spent here.
struct Timed {
    address: SocketAddr,
    dynamodb: tests::interceptor::DynamoDbInterceptor,
    held: Arc<Mutex<Vec<Held>>>,
}

impl Resolve for Timed {
    fn resolve(&self, name: Name) -> Resolving {
        let (address, dynamodb, held) = (self.address, self.dynamodb.clone(), self.held.clone());
        Box::pin(async move {
            if name.as_str() != SLOW {
                tokio::time::sleep(LATENCY).await;
                held.lock().unwrap().push(dynamodb.block_clock());
            }
            Ok(Box::new(std::iter::once(address)) as Addrs)
        })
    }
}

/// The time after which each healthy endpoint has everything, by its name.
async fn time_of_healthy_endpoints(slow: usize) -> BTreeMap<String, Duration> {
    let held: Arc<Mutex<Vec<Held>>> = Arc::default();
    let received: Arc<Mutex<Vec<(String, Instant)>>> = Arc::default();
    let (releasing, receiving) = (held.clone(), received.clone());
    let (_server, address, root) = FakeServer::start_tls(&[SLOW, BESIDE, ELSEWHERE], move |request| {
        let host = request.header("host").to_owned();
        if host == SLOW {
            return FakeResponse::NoResponse;
        }
        receiving.lock().unwrap().push((host, Instant::now()));
        let held = releasing.lock().unwrap().pop().unwrap();
        FakeResponse::Held(Box::new(ok()), held)
    })
    .await;
    let mut api = TestApi::new().await;
    let resolver = Timed { address, dynamodb: api.dynamodb.clone(), held };
    let reach = WebhookReach::through(resolver, &[&root]).unwrap();
    api.environment.providers = Providers::with_webhook_reach(&api.environment.config, reach);
    api.restart();
    let names = std::iter::repeat_n((ACME, SLOW), slow).chain([(ACME, BESIDE), (GLOBEX, ELSEWHERE)]);
    for (demo, name) in names {
        let new = json!({ "url": format!("https://{name}/"), "types": ["role.published"] });
        api.request(Method::POST, PATH).key(demo, Mode::Live).json(&new).send().await.expect(201);
    }
    for demo in [ACME, GLOBEX] {
        write_events(&api, tenant(demo, Mode::Live), &[EventType::RolePublished; EVENTS]).await;
    }
    tokio::time::pause();
    let (start, begun) = (api.environment.clock.now(), Instant::now());
    let clock =
        Clock::from_fn(move || later(start, SignedDuration::try_from(begun.elapsed()).unwrap_or_default()));
    let run = deliver::run(Environment { clock, ..api.environment.clone() });
    let summary = Box::pin(run).await.unwrap();
    assert_eq!(summary.delivered, 2 * EVENTS);
    assert_eq!(summary.failed > 0, slow > 0);
    let mut times = BTreeMap::new();
    for (host, at) in received.lock().unwrap().drain(..) {
        let time = times.entry(host).or_insert(Duration::ZERO);
        *time = at.duration_since(begun).max(*time);
    }
    tokio::time::resume();
    times
}

/// All times are those of the paused clock, so the test waits for nothing.
#[tokio::test]
async fn an_endpoint_that_hangs_delays_no_other_endpoint_and_no_other_tenant() {
    let alone = time_of_healthy_endpoints(0).await;
    assert_eq!(alone.keys().collect::<Vec<_>>(), [BESIDE, ELSEWHERE]);
    for slow in [1, 3] {
        let beside = time_of_healthy_endpoints(slow).await;
        for (name, time) in &beside {
            assert!(
                *time >= LATENCY && *time <= alone[name] * 2,
                "{name}: {time:?}, alone {:?}",
                alone[name]
            );
        }
        assert_eq!(beside.len(), alone.len());
    }
}
