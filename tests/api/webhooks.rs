//! Webhook endpoints, and the deliveries of events to them.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use http::Method;
use serde_json::{Value, json};
use shared::auth::{Credential, Kind};
use shared::clock::{Timestamp, later};
use shared::config::{AwsAccess, FunctionAccess, Services};
use shared::id::Id;
use shared::model::{
    AuditActorKind, Event, EventActor, EventData, EventType, Mode, Subject, SubjectType, Tenant,
};
use shared::providers::Providers;
use shared::providers::webhooks::WebhookReach;
use shared::random::Random;
use shared::secret::Secret;
use shared::store::{ApiKey, Transaction};
use standardwebhooks::Webhook;
use tests::dashboard::{connect_app, owner};
use tests::fake::{FakeResponse, FakeServer, NOWHERE, Request};
use tests::interceptor::Fault;
use tests::{ACME, GLOBEX, TestApi, key, key_actor, new_credential, tenant};

pub(super) const PATH: &str = "/api/v1/webhook_endpoints";

/// An API that may send to this machine, as the local service does.
pub(super) async fn local_api() -> TestApi {
    let mut api = TestApi::new().await;
    let reach = WebhookReach::with_loopback();
    api.environment.providers = Providers::with_webhook_reach(&api.environment.config, reach);
    api.restart();
    api
}

/// A server that answers with a status.
pub(super) async fn receiver(status: u16) -> FakeServer {
    FakeServer::start(move |_| FakeResponse::Full(status, Vec::new(), format!("status {status}"))).await
}

/// Adds an endpoint. Returns its id and its secret.
async fn add(api: &TestApi, url: &str, types: &[&str]) -> (u64, String) {
    let created = api.post(PATH, json!({ "url": format!("{url}/hook"), "types": types })).await.expect(201);
    (created.number("/id"), created.string("/secret").to_owned())
}

/// The deliveries to an endpoint, oldest first.
pub(super) async fn deliveries(api: &TestApi, endpoint: u64) -> Vec<Value> {
    let listed = api.get(&format!("{PATH}/{endpoint}/deliveries?limit=100")).await.expect(200);
    listed.body["data"].as_array().unwrap().iter().rev().cloned().collect()
}

/// Writes events to the end of a tenant's feed. Returns them.
pub(super) async fn write_events(api: &TestApi, tenant: Tenant, kinds: &[EventType]) -> Vec<Event> {
    let (head, now) = (api.store().get_feed_head(tenant).await.unwrap(), api.environment.clock.now());
    let event = |(kind, number): (&EventType, u64)| Event {
        id: Id::new(5_000_000 + head.seq + number).unwrap(),
        seq: Some(head.seq + number),
        kind: *kind,
        at: now,
        mode: tenant.mode,
        subject: Subject { kind: SubjectType::Role, id: Id::new(77), version: head.seq + number },
        actor: EventActor { kind: AuditActorKind::System, id: None },
        changed: Vec::new(),
        data: EventData::default().with("to", "open"),
        imported: false,
        quiet: false,
    };
    let events: Vec<_> = kinds.iter().zip(1..).map(event).collect();
    let text = |text: String| AttributeValue::S(text);
    let expiry = later(now, Event::KEPT).as_second();
    let item = |event: &Event| {
        let mut item: HashMap<String, AttributeValue> = serde_dynamo::to_item(event).unwrap();
        item.insert("pk".to_owned(), text(format!("{tenant}#EVENT")));
        item.insert("sk".to_owned(), text(format!("{:016}", event.seq.unwrap())));
        item.insert("expires_at".to_owned(), AttributeValue::N(expiry.to_string()));
        item.insert("form".to_owned(), AttributeValue::N("1".to_owned()));
        item
    };
    api.write_items(events.iter().map(item)).await;
    let last = head.seq + events.len() as u64;
    let batch = json!({ "after": last, "first_id": 1, "entries": [], "run": 0, "until": null });
    let head = json!({
        "seq": last, "last_id": 1, "last_expiry": expiry, "jumps": [], "version": last, "batch": batch, "form": 1,
    });
    let mut item: HashMap<String, AttributeValue> = serde_dynamo::to_item(head).unwrap();
    item.insert("pk".to_owned(), text(format!("{tenant}#EVENT_HEAD")));
    item.insert("sk".to_owned(), text("HEAD".to_owned()));
    api.write_items([item]).await;
    events
}

/// An API whose feed function starts the deliver function at this URL.
async fn api_with_deliver_function(url: &str) -> TestApi {
    let aws = AwsAccess {
        region: "eu-central-1".to_owned(),
        access_key_id: "key".to_owned(),
        secret_access_key: Secret::new("secret"),
        session_token: None,
    };
    let (name, endpoint) = ("rolecall-Deliver:live".to_owned(), Some(url.to_owned()));
    let deliver = Some(FunctionAccess { name, endpoint, aws });
    TestApi::with_services(Services { simulated: true, deliver, ..Services::default() }).await
}

pub(super) fn acme() -> Tenant {
    tenant(ACME, Mode::Live)
}

fn ids(requests: &[Request]) -> Vec<&str> {
    requests.iter().map(|request| request.header("webhook-id")).collect()
}

/// Whether a request has the signature that the published library makes. The library verifies only requests of the last
/// minutes, and the clock of the tests is not the system's.
pub(super) fn accepts(secret: &str, request: &Request, body: &str) -> bool {
    let (id, time) = (request.header("webhook-id"), request.header("webhook-timestamp").parse().unwrap());
    let signature = Webhook::new(secret).unwrap().sign(id, time, body.as_bytes()).unwrap();
    request.header("webhook-signature").split(' ').any(|sent| sent == signature)
}

#[tokio::test]
async fn the_feed_starts_the_deliveries_of_tenants_that_have_endpoints() {
    let lambda = receiver(202).await;
    let api = api_with_deliver_function(&lambda.url).await;
    add(&api, "https://hooks.example.com", &[]).await;
    let role = json!({ "title": "Cook" });
    api.request(Method::POST, "/api/v1/roles").key(GLOBEX, Mode::Live).json(&role).send().await.expect(201);
    assert_eq!(api.run_feed().await.events, 2);
    let [request] = &lambda.requests()[..] else { panic!("{:?}", lambda.requests()) };
    assert_eq!(request.target, "/2015-03-31/functions/rolecall-Deliver%3Alive/invocations");
    assert_eq!(request.header("x-amz-invocation-type"), "Event");
    assert!(request.header("authorization").contains("/eu-central-1/lambda/aws4_request"));
    assert_eq!(request.json(), json!({ "tenants": [acme().to_string()] }));
    let answer = deliver::answer(request.json(), api.environment.clone());
    assert_eq!(Box::pin(answer).await.unwrap().endpoints, 1);
    // Nothing new, nothing to start.
    api.run_feed().await;
    assert_eq!(lambda.requests().len(), 1);
    // The schedule of the deliver function makes up for a failure.
    for status in [403, 404, 500] {
        lambda.reply_with(move |_| FakeResponse::Full(status, Vec::new(), String::new()));
        api.post("/api/v1/roles", role.clone()).await.expect(201);
        assert_eq!(api.run_feed().await.events, 1, "{status}");
    }
    assert_eq!(lambda.requests().len(), 4);
}

#[tokio::test]
async fn without_a_deliver_function_the_feed_starts_nothing() {
    let api = TestApi::new().await;
    assert!(api.environment.providers.deliver_function().is_none());
    add(&api, "https://hooks.example.com", &[]).await;
    api.dynamodb.take_calls();
    assert_eq!(api.run_feed().await.events, 1);
    let calls = format!("{:?}", api.dynamodb.take_calls());
    assert!(!calls.contains("WEBHOOK#"), "{calls}");
}

#[tokio::test]
async fn an_endpoint_is_added_changed_and_deleted_and_its_secret_is_shown_once() {
    let api = TestApi::new().await;
    let new = json!({ "url": "https://hooks.example.com/x", "description": " Ours ", "types": ["role.closed", "role.closed"] });
    let created = api.post(PATH, new).await.expect(201);
    let secret = created.string("/secret").to_owned();
    assert!(secret.starts_with("whsec_"));
    let id = created.number("/id");
    let path = format!("{PATH}/{id}");
    assert_eq!(created.header("location"), format!("https://api.rolecall.test{path}"));
    let shown = api.get(&path).await.expect(200);
    assert_eq!(shown.header("etag"), created.header("etag"));
    let mut expected = created.body.clone();
    expected.as_object_mut().unwrap().remove("secret");
    assert_eq!(shown.body, expected);
    assert_eq!(shown.body["types"], json!(["role.closed"]));
    assert_eq!(
        (shown.string("/description"), shown.string("/status"), shown.body["hmac"].as_bool()),
        ("Ours", "enabled", Some(true))
    );
    let changes = json!({ "status": "disabled", "types": null, "description": null, "hmac": false });
    let changed = api.patch(&path, changes).await.expect(200);
    assert_eq!((changed.string("/status"), changed.string("/disabled_reason")), ("disabled", "requested"));
    assert_eq!(changed.body["types"], json!([]));
    for action in ["ping", "replay"] {
        let body = if action == "replay" { json!({ "after": 0 }) } else { json!({}) };
        let refused = api.post(&format!("{path}/{action}"), body).await.expect(422);
        assert_eq!(refused.string("/code"), "invalid_transition");
    }
    let enabled = api.patch(&path, json!({ "status": "enabled" })).await.expect(200);
    assert!(enabled.body["disabled_reason"].is_null());
    assert_eq!(api.delete(&path).await.expect(200).number("/id"), id);
    api.get(&path).await.expect(404);
    let stored = format!("{:?}", api.stored_items().await);
    assert!(!stored.contains("whsec_") && !stored.contains(&secret[6..]));
}

#[tokio::test]
async fn addresses_that_are_not_public_are_refused_and_all_mistakes_are_named() {
    let api = TestApi::new().await;
    for (url, reason) in [
        ("http://hooks.example.com/", "url must begin with https://"),
        ("https://127.0.0.1/", "url must have a name as its host, not an IP address"),
        ("https://user@hooks.example.com/", "url must not have a user name or a password"),
        ("https://hooks.example.com:8443/", "url must have no port, because requests go to port 443"),
        ("https://api.rolecall.test/x", "url must not have the host of this service"),
        ("http://127.0.0.1:8080/hook", "url must begin with https://"),
    ] {
        let refused = api.post(PATH, json!({ "url": url })).await.expect(422);
        assert_eq!(refused.body["messages"], json!([reason]), "{url}");
    }
    let refused =
        api.post(PATH, json!({ "types": ["role.eaten"], "hmac": "x", "secret": "x" })).await.expect(422);
    let messages = refused.body["messages"].as_array().unwrap();
    let starts: Vec<_> =
        messages.iter().map(|message| message.as_str().unwrap().split(' ').next().unwrap()).collect();
    assert_eq!(starts, ["url", "types[0]", "hmac", "secret"]);
}

#[tokio::test]
async fn an_organization_has_at_most_20_endpoints_in_each_mode() {
    let api = TestApi::new().await;
    let new = json!({ "url": "https://hooks.example.com/" });
    let mut last = 0;
    for _ in 0..20 {
        last = api.post(PATH, new.clone()).await.expect(201).number("/id");
    }
    assert_eq!(api.post(PATH, new.clone()).await.expect(422).string("/code"), "invalid_transition");
    api.request(Method::POST, PATH).key(ACME, Mode::Test).json(&new).send().await.expect(201);
    api.delete(&format!("{PATH}/{last}")).await.expect(200);
    api.post(PATH, new).await.expect(201);
}

#[tokio::test]
async fn a_rotation_keeps_the_old_keys_for_a_day_and_a_repeated_request_gets_the_same_secret() {
    let api = local_api().await;
    let server = receiver(200).await;
    let (id, old) = add(&api, &server.url, &[]).await;
    let rotate = async |key: &str| {
        let path = format!("{PATH}/{id}/rotate_secret");
        api.request(Method::POST, &path).header("idempotency-key", key).send().await
    };
    let rotated = rotate("a").await.expect(200);
    let new = rotated.string("/secret").to_owned();
    assert_eq!(rotated.body["public_keys"].as_array().unwrap().len(), 2);
    let repeated = rotate("a").await.expect(200);
    assert_eq!((repeated.header("idempotency-replayed"), &repeated.body), ("true", &rotated.body));
    assert!(!format!("{:?}", api.stored_items().await).contains(&new[6..]), "the receipt is encrypted");
    assert_eq!(rotate("b").await.expect(422).string("/code"), "invalid_transition");
    let ping = format!("{PATH}/{id}/ping");
    for (time, verifies_old) in [("2026-11-21T09:29:59.000Z", true), ("2026-11-21T09:30:00.000Z", false)] {
        api.clock.set(time);
        api.post(&ping, json!({})).await.expect(202);
        api.deliver().await;
        let requests = server.requests();
        let request = requests.last().unwrap();
        assert!(accepts(&new, request, &request.body));
        assert_eq!(accepts(&old, request, &request.body), verifies_old, "{time}");
        assert!(!accepts(&new, request, &request.body.replace("pinged", "pinned")));
    }
    rotate("c").await.expect(200);
}

/// Inserts an API key with all scopes.
pub(super) async fn insert_key(api: &TestApi, tenant: Tenant, id: u64, created_by: Option<Id>) -> Credential {
    let credential = new_credential(Kind::ApiKey, tenant, Id::new(id).unwrap(), &Random::seeded(id));
    let key = credential.api_key(format!("Key {id}"), api.environment.clock.now());
    let key = ApiKey { created_by, ..key };
    api.store().insert_api_key(Transaction::new(tenant), &key).await.unwrap();
    credential
}

/// Any credential with the same scopes can send the same request with the same idempotency key.
#[tokio::test]
async fn a_stored_secret_is_returned_only_to_the_credential_that_got_it() {
    let api = TestApi::new().await;
    let keys = [insert_key(&api, acme(), 71, None).await, insert_key(&api, acme(), 72, None).await];
    let ada = owner(&api, ACME).await.id;
    let apps = [
        connect_app(&api.environment, acme(), ada, "One").await.1,
        connect_app(&api.environment, acme(), ada, "Two").await.1,
    ];
    for (name, [own, other]) in [("keys", keys), ("apps", apps)] {
        let send = async |credential: &Credential, path: &str| {
            let request = api.request(Method::POST, path).bearer(credential.reveal());
            let request = request.header("idempotency-key", name);
            let new = json!({ "url": "https://hooks.example.com/" });
            if path == PATH { request.json(&new).send().await } else { request.send().await }
        };
        let created = send(&own, PATH).await.expect(201);
        let path = format!("{PATH}/{}", created.body["id"]);
        let rotate = format!("{path}/rotate_secret");
        let rotated = send(&own, &rotate).await.expect(200);
        for is_deleted in [false, true] {
            for (path, first) in [(PATH, &created), (&rotate, &rotated)] {
                let secret = first.string("/secret");
                let refused = send(&other, path).await.expect(422);
                assert_eq!(refused.string("/code"), "idempotency_mismatch", "{path}, {is_deleted}");
                assert!(!refused.text.contains(secret));
                let repeated = send(&own, path).await.expect(first.status);
                assert_eq!((repeated.header("idempotency-replayed"), &repeated.body), ("true", &first.body));
            }
            if !is_deleted {
                api.delete(&path).await.expect(200);
            }
        }
    }
}

#[tokio::test]
async fn an_endpoint_names_who_added_it() {
    let api = TestApi::new().await;
    let url = |path: &str| json!({ "url": format!("https://hooks.example.com/{path}") });
    let created = api.post(PATH, url("a")).await.expect(201);
    assert_eq!(created.body["created_by"], key_actor(ACME, Mode::Live));
    let (grant, token) = connect_app(&api.environment, acme(), owner(&api, ACME).await.id, "App").await;
    let by_app =
        api.request(Method::POST, PATH).bearer(token.reveal()).json(&url("b")).send().await.expect(201);
    assert_eq!(by_app.body["created_by"], json!({ "type": "app", "id": grant.id, "name": "App" }));
    // Whoever changes it did not add it.
    let path = format!("{PATH}/{}", created.number("/id"));
    let changed = api.request(Method::PATCH, &path).bearer(token.reveal()).json(&url("c")).send().await;
    assert_eq!(changed.expect(200).body["created_by"], key_actor(ACME, Mode::Live));
    let listed = api.get(PATH).await.expect(200);
    assert_eq!(listed.body["data"][0]["created_by"], by_app.body["created_by"]);
}

#[tokio::test]
async fn every_endpoint_gets_the_events_that_it_wants_once_and_none_of_another_tenant() {
    let api = local_api().await;
    let (all, some, other) = (receiver(200).await, receiver(204).await, receiver(200).await);
    write_events(&api, acme(), &[EventType::RoleCreated]).await;
    let (first, secret) = add(&api, &all.url, &[]).await;
    add(&api, &some.url, &["role.closed"]).await;
    let globex = json!({ "url": format!("{}/hook", other.url) });
    api.request(Method::POST, PATH).key(GLOBEX, Mode::Live).json(&globex).send().await.expect(201);
    let kinds = [EventType::RolePublished, EventType::RoleClosed].repeat(60);
    let events = write_events(&api, acme(), &kinds).await;
    let theirs = write_events(&api, tenant(GLOBEX, Mode::Live), &[EventType::RoleClosed]).await;
    write_events(&api, tenant(ACME, Mode::Test), &[EventType::RoleClosed]).await;
    let summary = api.deliver().await;
    assert_eq!((summary.delivered, summary.failed), (120 + 60 + 1, 0));
    assert_eq!(api.deliver().await.delivered, 0, "nothing is sent twice");
    let received = all.requests();
    let wanted: BTreeSet<_> = events.iter().map(|event| event.id.to_string()).collect();
    assert_eq!(ids(&received).into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), wanted);
    assert!(some.requests().iter().all(|request| request.json()["type"] == "role.closed"));
    assert_eq!((some.requests().len(), other.requests().len()), (60, 1));
    assert_eq!(ids(&other.requests()), [theirs[0].id.to_string()]);
    for request in &received {
        assert!(accepts(&secret, request, &request.body));
        let mut body = request.json();
        assert_eq!(body["timestamp"], body["at"]);
        body.as_object_mut().unwrap().remove("timestamp");
        let event = events.iter().find(|event| event.id.to_string() == request.header("webhook-id"));
        assert_eq!(body, serde_json::to_value(event).unwrap());
        assert_eq!(request.header("webhook-timestamp"), "1795167000");
    }
    let listed = deliveries(&api, first).await;
    assert_eq!(listed.len(), 100);
    assert!(listed.iter().all(|delivery| delivery["status"] == "delivered"));
    assert!(listed[0]["attempts"][0]["answer"].is_null(), "only answers to failed attempts are kept");
}

/// A receiver that answers 500 for a week: the attempts, the end, the notice, and the replay afterwards. Another endpoint
/// notices nothing.
#[tokio::test]
async fn an_endpoint_that_fails_for_days_is_disabled_and_gets_everything_by_a_replay() {
    let api = local_api().await;
    let (server, healthy) = (receiver(500).await, receiver(200).await);
    let (id, _) = add(&api, &server.url, &[]).await;
    add(&api, &healthy.url, &[]).await;
    let path = format!("{PATH}/{id}");
    let first = write_events(&api, acme(), &[EventType::RoleCreated]).await[0].id.to_string();
    let started = api.environment.clock.now();
    api.deliver().await;
    assert_eq!(healthy.requests().len(), 1);
    assert_eq!(server.requests().len(), 2, "the first repetition is made in the same run");
    let mut waits = Vec::new();
    for _ in 0..8 {
        let delivery = deliveries(&api, id).await.remove(0);
        assert_eq!(delivery["status"], "pending");
        let next: Timestamp = delivery["next_attempt_at"].as_str().unwrap().parse().unwrap();
        let before =
            delivery["attempts"].as_array().unwrap().last().unwrap()["at"].as_str().unwrap().to_owned();
        waits.push(next.duration_since(before.parse().unwrap()).as_secs());
        api.clock.set(&later(next, jiff::SignedDuration::from_millis(-1)).to_string());
        assert_eq!(api.deliver().await.failed, 0, "not a millisecond too early");
        api.clock.set(&next.to_string());
        assert_eq!(api.deliver().await.failed, 1);
    }
    for (wait, planned) in waits.iter().zip([300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]) {
        assert!((planned - 1..planned * 11 / 10 + 1).contains(wait), "{waits:?}");
    }
    let failed = deliveries(&api, id).await.remove(0);
    assert_eq!(
        (failed["status"].as_str(), failed["attempts"].as_array().unwrap().len()),
        (Some("failed"), 10)
    );
    assert!(failed["next_attempt_at"].is_null());
    assert!(server.requests().iter().all(|request| request.header("webhook-id") == first));
    let bodies: BTreeSet<_> = server.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies.len(), 1, "the same bytes in each attempt");

    let after = |seconds: i64| later(started, jiff::SignedDuration::from_secs(seconds)).to_string();
    api.clock.set(&after(119 * 3_600));
    write_events(&api, acme(), &[EventType::RoleClosed]).await;
    api.deliver().await;
    assert_eq!(api.get(&path).await.expect(200).string("/status"), "enabled");
    api.clock.set(&after(120 * 3_600 + 30));
    api.deliver().await;
    let disabled = api.get(&path).await.expect(200);
    assert_eq!((disabled.string("/status"), disabled.string("/disabled_reason")), ("disabled", "failing"));
    let sent = server.requests().len();
    write_events(&api, acme(), &[EventType::RoleReopened]).await;
    api.clock.set(&after(168 * 3_600));
    api.deliver().await;
    assert_eq!(server.requests().len(), sent, "nothing is sent to a disabled endpoint");
    assert!(deliveries(&api, id).await.iter().all(|delivery| delivery["status"] == "failed"));
    assert_eq!(healthy.requests().len(), 3);

    server.reply_with(|_| FakeResponse::Full(200, Vec::new(), String::new()));
    api.patch(&path, json!({ "status": "enabled" })).await.expect(200);
    api.deliver().await;
    assert_eq!(server.requests().len(), sent, "an endpoint resumes at the end of the feed");
    api.post(&format!("{path}/replay"), json!({ "after": "0" })).await.expect(202);
    let new = write_events(&api, acme(), &[EventType::RolePublished]).await[0].id.to_string();
    api.deliver().await;
    let replayed = server.requests().split_off(sent);
    assert_eq!(replayed.len(), 4);
    assert_eq!(ids(&replayed)[0], new, "what is new comes first");
    assert!(ids(&replayed).contains(&first.as_str()));
    for beyond in [json!("99"), json!("9999999999999999"), json!(99)] {
        let expired = api.post(&format!("{path}/replay"), json!({ "after": beyond })).await.expect(410);
        assert_eq!(expired.string("/code"), "cursor_expired");
    }
    for wrong in
        [json!("x"), json!("-1"), json!("1.0"), json!("latest"), json!("10000000000000000"), json!(0.5)]
    {
        let refused = api.post(&format!("{path}/replay"), json!({ "after": wrong })).await.expect(422);
        let message = "after must be a position of the feed: a string of digits";
        assert_eq!(refused.body["messages"], json!([message]), "{wrong}");
    }
    let position = api.get("/api/v1/events?after=latest").await.expect(200).string("/position").to_owned();
    api.post(&format!("{path}/replay"), json!({ "after": position })).await.expect(202);
}

#[tokio::test]
async fn an_endpoint_that_is_gone_is_disabled_at_once_and_a_dead_one_delays_nobody() {
    let api = local_api().await;
    let (gone, healthy) = (receiver(410).await, receiver(200).await);
    let (first, _) = add(&api, &gone.url, &[]).await;
    let (dead, _) = add(&api, NOWHERE.replace(":0", ":1").as_str(), &[]).await;
    add(&api, &healthy.url, &[]).await;
    write_events(&api, acme(), &[EventType::RoleCreated; 30]).await;
    api.deliver().await;
    assert_eq!(healthy.requests().len(), 30);
    let disabled = api.get(&format!("{PATH}/{first}")).await.expect(200);
    assert_eq!(disabled.string("/disabled_reason"), "gone");
    assert!(gone.requests().len() < 30);
    let refused = deliveries(&api, dead).await;
    let attempt = &refused[0]["attempts"][0];
    assert!(attempt["status"].is_null() && attempt["answer"].is_null(), "{attempt}");
    assert!(attempt["error"].as_str().unwrap().contains("refused"), "{attempt}");
    api.deliver().await;
    assert!(deliveries(&api, first).await.iter().all(|delivery| delivery["status"] != "delivered"));
}

#[tokio::test]
async fn a_ping_has_its_own_id_and_one_attempt_and_a_delivery_can_be_repeated() {
    let api = local_api().await;
    let server = receiver(500).await;
    let (id, _) = add(&api, &server.url, &["role.closed"]).await;
    let ping = api.post(&format!("{PATH}/{id}/ping"), json!({})).await.expect(202);
    assert_eq!((ping.string("/status"), ping.string("/type")), ("pending", "webhook_endpoint.pinged"));
    assert!(ping.body["seq"].is_null());
    api.deliver().await;
    let failed = deliveries(&api, id).await.remove(0);
    assert_eq!(
        (failed["status"].as_str(), failed["attempts"].as_array().unwrap().len()),
        (Some("failed"), 1)
    );
    let body = server.requests()[0].json();
    assert_eq!((body["id"].as_u64(), &body["seq"]), (Some(ping.number("/event_id")), &Value::Null));
    assert_eq!(api.store().get_feed_head(acme()).await.unwrap().seq, 0);
    server.reply_with(|_| FakeResponse::Full(200, Vec::new(), String::new()));
    let repeat = format!("{PATH}/{id}/deliveries/{}/redeliver", ping.number("/id"));
    api.post(&repeat, json!({})).await.expect(202);
    api.deliver().await;
    let delivered = deliveries(&api, id).await.remove(0);
    assert_eq!(
        (delivered["status"].as_str(), delivered["attempts"].as_array().unwrap().len()),
        (Some("delivered"), 2)
    );
    let requests = server.requests();
    assert_eq!(
        (requests[0].header("webhook-id"), &requests[0].body),
        (requests[1].header("webhook-id"), &requests[1].body)
    );
    // Another tenant's delivery does not exist.
    let foreign = api.request(Method::POST, &repeat).bearer(&key(GLOBEX, Mode::Live));
    foreign.json(&json!({})).send().await.expect(404);
}

#[tokio::test]
async fn a_suspended_organizations_endpoints_wait() {
    let api = local_api().await;
    let server = receiver(200).await;
    add(&api, &server.url, &[]).await;
    write_events(&api, acme(), &[EventType::RoleCreated]).await;
    let set = async |suspended| {
        let now = api.environment.clock.now();
        api.store().set_suspended(acme().organization, suspended, now).await.unwrap();
    };
    set(true).await;
    api.deliver().await;
    assert!(server.requests().is_empty());
    set(false).await;
    api.deliver().await;
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn an_attempt_that_was_not_recorded_is_repeated_after_the_lease() {
    let api = local_api().await;
    let server = receiver(200).await;
    let (id, _) = add(&api, &server.url, &[]).await;
    write_events(&api, acme(), &[EventType::RoleCreated]).await;
    // The claim and the delivery are written; the result of the attempt is not.
    let writes = std::sync::atomic::AtomicUsize::new(0);
    api.dynamodb.inject_faults(move |operation, _| {
        let is_write = operation == "TransactWriteItems";
        let number = writes.fetch_add(usize::from(is_write), std::sync::atomic::Ordering::SeqCst);
        (is_write && number >= 2).then_some(Fault::Unreachable)
    });
    let run = deliver::run(api.environment.clone());
    assert!(Box::pin(run).await.is_err());
    api.dynamodb.inject_faults(|_, _| None);
    assert_eq!(server.requests().len(), 1);
    api.deliver().await;
    assert_eq!(server.requests().len(), 1, "another run has the endpoint");
    api.clock.set("2026-11-20T09:32:00Z");
    api.deliver().await;
    let requests = server.requests();
    assert_eq!(ids(&requests), [requests[0].header("webhook-id"); 2]);
    assert_eq!(deliveries(&api, id).await[0]["status"], "delivered");
}
