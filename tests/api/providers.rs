//! The record of what the service sends to X, WhatsApp and Vapi, and reads from them. The lane `providers` compares it with
//! the types that they publish.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use shared::config::{Addresses, Services};
use shared::model::Mode;
use tests::browser::Browser;
use tests::dashboard::owner;
use tests::fake::{FakeResponse, FakeServer, Request};
use tests::generated::assert_current;
use tests::{ACME, TestApi};
use url::form_urlencoded;

use crate::channels::{channels, connect_number};
use crate::dashboard_channels::{begin, callback as x_callback, state_of};
use crate::fake_x::{keys, services};
use crate::vapi::{Setup, call_id};
use crate::voice_screens::Client;
use crate::voice_webhook::{callback, conversation, deliver, report};
use crate::x_posts::{history, live_posting, post};

/// The longest text that the record shows. A longer one, or one with spaces, is no name of a field or a value.
const MAX_NAME: usize = 64;

/// The requests to a provider and its answers, in order.
#[derive(Clone, Default)]
struct Record(Arc<Mutex<Vec<Value>>>);

impl Record {
    /// Records the requests that `script` answers.
    fn of(
        &self,
        provider: &'static str,
        script: impl Fn(&Request) -> FakeResponse + Send + Sync + 'static,
    ) -> impl Fn(&Request) -> FakeResponse + Send + Sync + 'static {
        let record = self.clone();
        move |request| {
            let response = script(request);
            if let FakeResponse::Json(status, answer) = &response {
                let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
                let query: Map<String, Value> = form_urlencoded::parse(query.as_bytes())
                    .map(|(name, list)| (name.into_owned(), list.split(',').collect()))
                    .collect();
                let route = format!("{} {}", request.method, without_ids(path));
                record.add(json!({
                    "provider": provider, "request": route, "query": query, "body": body(request),
                    "status": status, "answer": answer,
                }));
            }
            response
        }
    }

    /// Adds an exchange that differs from all others.
    fn add(&self, mut exchange: Value) {
        for part in ["query", "body", "answer"] {
            exchange[part] = without_texts(exchange[part].take());
        }
        let mut exchanges = self.0.lock().unwrap();
        if !exchanges.contains(&exchange) {
            exchanges.push(exchange);
        }
    }
}

/// A request's JSON, or its form without values; null if it has no body.
fn body(request: &Request) -> Value {
    match request.header("content-type") {
        "application/x-www-form-urlencoded" => form_urlencoded::parse(request.body.as_bytes())
            .map(|(name, _)| (name.into_owned(), json!("...")))
            .collect::<Map<_, _>>()
            .into(),
        _ => request.json(),
    }
}

/// Whether a text contains an id or a time, which are longer than the versions in names of models.
fn has_id(text: &str) -> bool {
    text.bytes().filter(u8::is_ascii_digit).count() > 11
}

/// A path with `{id}` for each id.
fn without_ids(path: &str) -> String {
    let segments = path.split('/').map(|segment| if has_id(segment) { "{id}" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

/// The value with dots instead of prose, ids and the addresses of this machine.
fn without_texts(value: Value) -> Value {
    let is_name = |text: &str| {
        !text.contains(' ') && text.len() <= MAX_NAME && !has_id(text) && !text.starts_with("http://")
    };
    match value {
        Value::String(text) if !is_name(&text) => json!("..."),
        Value::Array(items) => items.into_iter().map(without_texts).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, without_texts(value)));
            Value::Object(fields.collect())
        }
        value => value,
    }
}

/// X's answers, with the fields that the service reads.
fn x_answer(request: &Request) -> FakeResponse {
    let answer = match (request.method.as_str(), request.target.split('?').next().unwrap_or_default()) {
        ("POST", "/2/oauth2/token") => {
            json!({ "access_token": "access", "refresh_token": "refresh", "expires_in": 7200 })
        }
        ("POST", "/2/oauth2/revoke") => json!({}),
        ("GET", "/2/users/me") => json!({ "data": { "id": "42", "name": "Acme", "username": "acme_jobs" } }),
        ("POST", _) if request.body.contains("Hiring now") => {
            let kind = "https://api.x.com/2/problems/not-authorized-for-resource";
            let detail = "You are not allowed to create a post with duplicate content.";
            let problem = json!({ "type": kind, "title": "Forbidden", "detail": detail });
            return FakeResponse::Json(403, problem);
        }
        ("POST", _) => json!({ "data": { "id": "19" } }),
        _ if request.target.ends_with("non_public_metrics") => {
            json!({ "data": [{ "id": "19", "non_public_metrics": { "url_link_clicks": 4 } }], "errors": [] })
        }
        _ => {
            let counts = json!({ "like_count": 3, "repost_count": 2, "reply_count": 1 });
            json!({ "data": [{ "id": "19", "public_metrics": counts }], "errors": [] })
        }
    };
    FakeResponse::Json(200, answer)
}

/// An account is connected and posts, its posts are looked at before and after its token has expired, and it is
/// disconnected.
async fn use_x(record: &Record) {
    let x = FakeServer::start(record.of("x", x_answer)).await;
    let api = TestApi::with_services(services(&x.url)).await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let url = begin(&browser).await;
    x_callback(&browser, "code", &state_of(&url)).await;
    let posting = live_posting(&api).await;
    post(&api, posting).await.expect(201);
    let duplicate = json!({ "job_posting_id": posting, "style": "urgent" });
    api.post("/api/v1/channels/x/post", duplicate).await.expect(422);
    let posts = history(&api).await;
    assert_eq!(json!([posts[0]["likes"], posts[0]["reposts"], posts[0]["replies"]]), json!([3, 2, 1]));
    assert_eq!(posts[0]["link_clicks"], 4);
    api.clock.set("2026-11-20T11:30:00Z");
    history(&api).await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    browser.post("/dashboard/settings/integrations/channels/x/disconnect", &[]).await.expect(303);
}

/// A number's status is asked for twice, and the second time the id is wrong.
async fn use_whatsapp(record: &Record) {
    let asked = Mutex::new(0);
    let whatsapp = FakeServer::start(record.of("whatsapp", move |_| {
        let mut asked = asked.lock().unwrap();
        *asked += 1;
        if *asked > 1 {
            let error = json!({ "code": 100, "error_subcode": 33, "is_transient": false });
            return FakeResponse::Json(400, json!({ "error": error }));
        }
        let error = json!({ "error_description": "No payment method.", "possible_solution": "Add one." });
        let entity = json!({ "errors": [error], "additional_info": ["Verify the business."] });
        FakeResponse::Json(
            200,
            json!({
                "display_phone_number": "+1555", "verified_name": "Acme", "quality_rating": "YELLOW",
                "health_status": { "can_send_message": "LIMITED", "entities": [entity] },
            }),
        )
    }));
    let whatsapp = whatsapp.await;
    let addresses = Addresses { whatsapp: whatsapp.url.clone(), ..Addresses::default() };
    let api = TestApi::with_services(Services { addresses, ..services("") }).await;
    connect_number(&api, Mode::Live, &keys(&["k1"])).await;
    let detail = channels(&api).await["whatsapp"]["detail"].take();
    for part in ["limits", "quality as medium", "No payment method. Add one. Verify the business."] {
        assert!(detail.as_str().is_some_and(|detail| detail.contains(part)), "{detail}");
    }
    api.clock.set("2026-11-20T09:31:00Z");
    assert_eq!(channels(&api).await["whatsapp"]["status"], "error");
}

/// A call is ordered, its provider reports twice, the call is read, and then erased with its candidate.
async fn use_vapi(record: &Record) {
    let setup = Setup::new(record.of("vapi", |request| match request.method.as_str() {
        "POST" => FakeResponse::Json(201, json!({ "id": call_id(request) })),
        "GET" => {
            let mut call = conversation(84);
            call["status"] = json!("ended");
            FakeResponse::Json(200, call)
        }
        _ => FakeResponse::Json(200, json!({})),
    }))
    .await;
    let (api, client) = (&setup.api, Client::live(&setup.api));
    let (role, candidate) = (client.role().await, client.candidate().await);
    let screen = client.invite_at(candidate, role, "2026-11-20T12:00:00Z").await.expect(201).number("/id");
    setup.run_tasks_at(&["09:30:00", "12:30:00"]).await;
    assert_eq!(client.screen(screen).await["status"], "completed");
    for message in
        [callback(api, screen, "status-update", json!({ "status": "in-progress" })), report(api, screen, 84)]
    {
        deliver(api, &message).await.expect(200);
        record.add(json!({
            "provider": "vapi", "request": format!("callback {}", message["message"]["type"].as_str().unwrap()),
            "query": {}, "body": null, "status": 200, "answer": message,
        }));
    }
    client.post(&format!("candidates/{candidate}/erase"), json!({})).await.expect(202);
    setup.run_tasks_at(&["12:30:01", "12:40:00"]).await;
}

#[tokio::test]
async fn the_record_of_providers_is_current() {
    let record = Record::default();
    use_x(&record).await;
    use_whatsapp(&record).await;
    use_vapi(&record).await;
    let exchanges = record.0.lock().unwrap();
    let routes: Vec<_> = exchanges.iter().filter_map(|exchange| exchange["request"].as_str()).collect();
    for route in
        ["POST /2/tweets", "GET /2/tweets", "POST /2/oauth2/revoke", "POST /call", "DELETE /call/{id}"]
    {
        assert!(routes.contains(&route), "{route} is missing from {routes:?}");
    }
    let text = serde_json::to_string_pretty(&*exchanges).unwrap();
    assert_current("tests/providers.json", &format!("{text}\n"));
}

#[test]
fn paths_and_values_have_neither_ids_nor_prose() {
    assert_eq!(without_ids("/2/tweets/v23.0"), "/2/tweets/v23.0");
    assert_eq!(without_ids("/call/call-243626065921209"), "/call/{id}");
    let value =
        json!({ "a b": ["a b", "gpt-4.1-2025-04-14", 1, "x".repeat(65), "2026-11-20T09:24:00.000Z"] });
    assert_eq!(without_texts(value), json!({ "a b": ["...", "gpt-4.1-2025-04-14", 1, "...", "..."] }));
}
