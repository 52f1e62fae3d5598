//! What happens beside the gate: reads begin while it decides, and nothing else does.

use std::sync::Arc;

use http::Method;
use serde_json::json;
use shared::auth::{Claims, Credential, Kind};
use shared::http::KnownHolders;
use shared::id::Id;
use shared::model::{IndexForm, Mode, Scope};
use shared::random::Random;
use shared::store::{Holder, Transaction};
use tests::assistant::Assistant;
use tests::browser::Browser;
use tests::dashboard::{connect_app_to, owner};
use tests::interceptor::{Fault, RecordedCall};
use tests::{ACME, Fixtures, GLOBEX, Response, TestApi, key, new_credential, read_credential, tenant};

use crate::careers_applications::{Job, find, form};
use crate::fake_x::{ME, connected, count};

const WRITES: [&str; 4] = ["DeleteItem", "PutItem", "TransactWriteItems", "UpdateItem"];

fn is_gate(call: &RecordedCall) -> bool {
    call.request["Key"]["pk"]["S"].as_str().is_some_and(|pk| pk.ends_with("#GATE"))
}

/// The operations of all calls but the gate's.
fn beside(calls: &[RecordedCall]) -> Vec<&str> {
    calls.iter().filter(|call| !is_gate(call)).map(|call| &*call.operation).collect()
}

/// An API key of Acme.
async fn insert_key(api: &TestApi, number: u64) -> Credential {
    let acme = tenant(ACME, Mode::Live);
    let credential = new_credential(Kind::ApiKey, acme, Id::new(number).unwrap(), &Random::seeded(number));
    let key = credential.api_key("Key".to_owned(), api.environment.clock.now());
    api.store().insert_api_key(Transaction::new(acme), &key).await.unwrap();
    credential
}

/// Everything that a client gets, except what differs in each response.
fn received(response: &Response) -> String {
    let differs = ["content-length", "x-request-id"];
    let headers = response.headers.iter().filter(|(name, _)| !differs.contains(&name.as_str()));
    let id = response.header("x-request-id");
    format!("{} {:?} {}", response.status, headers.collect::<Vec<_>>(), response.text.replace(id, ""))
}

#[tokio::test]
async fn whoever_is_refused_gets_nothing_of_what_was_read_and_has_no_effect() {
    let api = TestApi::new().await;
    let fixtures = Fixtures::new(&api).await;
    api.run_feed().await;
    let (now, acme) = (api.environment.clock.now(), tenant(ACME, Mode::Live));
    let requests = [
        (Method::GET, fixtures.path("/api/v1/candidates/{id}"), ""),
        (Method::GET, "/api/v1/candidates/9".to_owned(), ""),
        (Method::GET, "/api/v1/candidates?q=jane".to_owned(), ""),
        (Method::HEAD, fixtures.path("/api/v1/roles/{id}"), ""),
        (Method::POST, "/api/v1/roles".to_owned(), r#"{"title":"Cook"}"#),
        (Method::POST, "/api/v1/roles".to_owned(), "{}"),
        (Method::PATCH, fixtures.path("/api/v1/candidates/{id}"), r#"{"name":"Eve"}"#),
        (Method::POST, fixtures.path("/api/v1/candidates/{id}/erase"), "{}"),
        (Method::POST, fixtures.path("/api/v1/candidates/{id}/invite_screen"), "{}"),
        (Method::GET, fixtures.path("/api/v1/candidates/{id}/export"), ""),
    ];
    let mut seen = Vec::new();
    for (number, (method, path, body)) in (100..).zip(requests) {
        let key = insert_key(&api, number).await;
        api.request(Method::GET, "/api/v1/roles").bearer(key.reveal()).send().await.expect(200);
        api.store().revoke_api_key(acme, key.id(), now).await.unwrap();
        let before = api.stored_items().await;
        api.dynamodb.take_calls();
        let request = api.request(method.clone(), &path).bearer(key.reveal());
        let request = request.header("idempotency-key", "k").body("application/json", body);
        let refused = request.send_at_once().await.expect(401);
        let calls = api.dynamodb.take_calls();
        assert_eq!(calls.iter().filter(|call| is_gate(call)).count(), 1, "{method} {path}");
        assert!(!beside(&calls).iter().any(|operation| WRITES.contains(operation)), "{method} {path}");
        assert_eq!(api.stored_items().await, before, "{method} {path}");
        seen.push(received(&refused));
    }
    let bodies: Vec<_> = seen.iter().filter(|text| text.contains("unauthorized")).collect();
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]) && bodies.len() >= 9, "{seen:#?}");
}

/// However long the gate takes, nothing is written until it has decided, although the handler has read everything.
#[tokio::test]
async fn a_write_waits_for_a_slow_gate() {
    let api = TestApi::new().await;
    let fixtures = Fixtures::new(&api).await;
    let is_gate = |request: &serde_json::Value| {
        request["Key"]["pk"]["S"].as_str().is_some_and(|pk| pk.ends_with("#GATE"))
    };
    let before = api.stored_items().await;
    for (method, path, body) in [
        (Method::POST, fixtures.path("/api/v1/candidates/{id}/reject"), json!({})),
        (Method::DELETE, fixtures.path("/api/v1/roles/{id}"), json!({})),
        (Method::GET, fixtures.path("/api/v1/candidates/{id}/export"), json!({})),
    ] {
        api.dynamodb.inject_faults(move |_, request| is_gate(request).then_some(Fault::Hang));
        tokio::time::pause();
        api.dynamodb.take_calls();
        api.request(method, &path).json(&body).send().await.expect(503);
        tokio::time::resume();
        let calls = api.dynamodb.take_calls();
        let others = beside(&calls);
        assert!(!others.is_empty(), "{path}: the handler has read");
        assert!(!others.iter().any(|operation| WRITES.contains(operation)), "{path}: {others:?}");
        api.dynamodb.inject_faults(|_, _| None);
    }
    assert_eq!(api.stored_items().await, before);
}

#[tokio::test]
async fn no_external_service_hears_of_a_request_that_the_gate_refuses() {
    let (api, x) = connected().await;
    let key = insert_key(&api, 7).await;
    api.request(Method::GET, "/api/v1/roles").bearer(key.reveal()).send().await.expect(200);
    let (acme, now) = (tenant(ACME, Mode::Live), api.environment.clock.now());
    api.store().revoke_api_key(acme, key.id(), now).await.unwrap();
    let asked = count(&x.fake, ME);
    api.dynamodb.take_calls();
    api.request(Method::GET, "/api/v1/channels").bearer(key.reveal()).send().await.expect(401);
    assert_eq!(beside(&api.dynamodb.take_calls()), ["BatchGetItem"], "the account was read");
    assert_eq!(count(&x.fake, ME), asked);
    api.get("/api/v1/channels").await.expect(200);
    assert_eq!(count(&x.fake, ME), asked + 1);
}

/// What a request costs whose refusal can be foreseen: the gate.
#[tokio::test]
async fn nothing_is_read_for_whoever_is_known_to_be_refused() {
    let api = TestApi::new().await;
    let (globex, now) = (tenant(GLOBEX, Mode::Live), api.environment.clock.now());
    let request = || api.request(Method::GET, "/api/v1/roles").key(GLOBEX, Mode::Live).send();
    let calls = async |status: u16| {
        api.dynamodb.take_calls();
        request().await.expect(status);
        let calls = api.dynamodb.take_calls();
        beside(&calls).len()
    };
    // Suspended: once it is known.
    api.store().set_suspended(globex.organization, true, now).await.unwrap();
    assert_eq!((calls(403).await, calls(403).await, calls(403).await), (1, 0, 0));
    api.store().set_suspended(globex.organization, false, now).await.unwrap();
    assert_eq!((calls(200).await, calls(200).await), (1, 1));
    // The quota is used up: the last request that is admitted says so.
    for _ in 0..95 {
        request().await.expect(200);
    }
    assert_eq!((calls(429).await, calls(429).await), (0, 0));
    api.clock.set("2026-11-21T00:00:00Z");
    assert_eq!((calls(200).await, calls(200).await), (2, 1), "the first one also records the day");
    // A missing scope, a body that is too long, and a wrong key for repetitions.
    let claims = Claims { scopes: Scope::OrganizationRead.into(), ..Claims::default() };
    let (keys, random) = (rolecall_local::demo::credential_keys().unwrap(), Random::seeded(5));
    let acme = tenant(ACME, Mode::Live);
    let narrow = Credential::generate(Kind::ApiKey, acme, Id::new(77).unwrap(), claims, &keys, &random);
    let key = narrow.api_key("Narrow".to_owned(), now);
    api.store().insert_api_key(Transaction::new(acme), &key).await.unwrap();
    api.request(Method::GET, "/api/v1/organization").bearer(narrow.reveal()).send().await.expect(200);
    let long = format!(r#"{{"title":"{}"}}"#, "x".repeat(300_000));
    for (request, status) in [
        (api.request(Method::GET, "/api/v1/roles").bearer(narrow.reveal()), 403),
        (api.request(Method::POST, "/api/v1/roles").body("application/json", long), 413),
        (api.request(Method::POST, "/api/v1/roles").header("idempotency-key", "a b").json(&json!({})), 400),
    ] {
        api.dynamodb.take_calls();
        request.send().await.expect(status);
        let calls = api.dynamodb.take_calls();
        assert_eq!((calls.len(), beside(&calls).len()), (1, 0), "{status}");
    }
}

/// The first function that meets a used up quota reads once. Its answer is the gate's, whatever the handler says.
#[tokio::test]
async fn the_gates_refusal_comes_before_what_a_handler_finds() {
    let mut api = TestApi::new().await;
    for _ in 0..100 {
        api.request(Method::GET, "/api/v1/roles").key(GLOBEX, Mode::Live).send().await.expect(200);
    }
    for (method, path, body) in [
        (Method::GET, "/api/v1/roles/7", ""),
        (Method::GET, "/api/v1/roles?limit=0", ""),
        (Method::POST, "/api/v1/roles", "{}"),
        (Method::POST, "/api/v1/roles", "{"),
    ] {
        // Another function, which knows the holder.
        api.environment.known_holders = KnownHolders::default();
        let key = read_credential(&key(GLOBEX, Mode::Live));
        let (tenant, holder) = (key.tenant(), Holder::Key(key.id()));
        let details = api.store().find_holder(tenant, holder).await.unwrap().unwrap();
        api.environment.known_holders.insert(tenant, holder, Arc::new(details));
        api.restart();
        let request = api.request(method, path).key(GLOBEX, Mode::Live).body("application/json", body);
        let refused = request.send().await.expect(429);
        assert_eq!(refused.header("ratelimit"), r#""daily";r=0;t=52200"#);
    }
}

/// A search uses the form that the index had at the last request. If it was wrong, the search is repeated.
#[tokio::test]
async fn a_search_with_an_outdated_form_of_the_index_is_repeated() {
    let api = TestApi::new().await;
    let person = json!({ "name": "Åsa Öberg", "email": "asa@example.com" });
    let id = api.post("/api/v1/candidates", person).await.expect(201).number("/id");
    let found = api.store().find_organization(tenant(ACME, Mode::Live)).await.unwrap().unwrap();
    let mut organization = found.organization;
    let current = organization.index_form;
    let mut queries = Vec::new();
    for form in [current].into_iter().chain(IndexForm::ALL.into_iter().filter(|form| *form != current)) {
        organization.index_form = form;
        api.environment.known_holders.admit(&organization, false);
        api.dynamodb.take_calls();
        let listed = api.get("/api/v1/candidates?q=%C3%B6berg").await.expect(200);
        assert_eq!((listed.number("/data/0/id"), listed.body["data"].as_array().unwrap().len()), (id, 1));
        let calls = api.dynamodb.take_calls().into_iter();
        queries.push(calls.filter(|call| call.operation == "Query").count());
    }
    assert!(queries[1..].iter().all(|repeated| *repeated > queries[0]), "{queries:?}");
}

/// The entries of the audit log about what an application has done: the action, the number of people, and the outcome.
async fn entries(api: &TestApi) -> Vec<(String, u64, String)> {
    let log = api.get("/api/v1/audit_log?limit=20").await.expect(200);
    let entries = log.body["data"].as_array().unwrap().iter().filter(|entry| entry["actor"]["type"] == "app");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let entry = |entry: &serde_json::Value| {
        let outcome = text(&entry["tool"]["outcome"]);
        (text(&entry["action"]), entry["shown"].as_u64().unwrap_or_default(), outcome)
    };
    let mut entries: Vec<_> = entries.map(entry).collect();
    entries.sort_unstable();
    entries
}

/// The entry is written while the people are read. It says in the end how many the page has shown, and whether the call has
/// succeeded.
#[tokio::test]
async fn an_entry_that_is_written_early_becomes_true() {
    for (lost, failing) in [(false, false), (true, false), (false, true)] {
        let api = TestApi::new().await;
        let mut people = Vec::new();
        for number in 0..3 {
            let person = json!({ "name": "Ada Lovelace", "email": format!("ada{number}@example.com") });
            people.push(api.post("/api/v1/candidates", person).await.expect(201).number("/id"));
        }
        let (member, acme) = (owner(&api, ACME).await.id, tenant(ACME, Mode::Live));
        let audience = shared::model::Audience::Both;
        let (_, token) = connect_app_to(audience, &api.environment, acme, member, "Assistant").await;
        let assistant = Assistant::with(&api, token.reveal());
        assistant.call("pipeline_report", json!({})).await;
        let before = entries(&api).await.len();
        if lost {
            // Somebody is no longer in the list when the people are read.
            let mut items = api.stored_items().await;
            items.retain(|(pk, sk), _| !(pk.ends_with("#CANDIDATE") && sk.ends_with(&people[0].to_string())));
            api.restore(&items).await;
        }
        if failing {
            api.dynamodb
                .inject_faults(|operation, _| (operation == "BatchGetItem").then_some(Fault::Internal));
        }
        let answer = assistant.try_call("search_candidates", json!({ "q": "ada" })).await;
        api.dynamodb.inject_faults(|_, _| None);
        let entries = entries(&api).await;
        let shown = if lost { 2 } else { 3 };
        let entry = |action: &str, shown, outcome: &str| (action.to_owned(), shown, outcome.to_owned());
        if failing {
            assert!(answer.text.contains("error") && !answer.text.contains("Lovelace"), "{}", answer.text);
            // Nobody was shown, although the entry of the page was there before that was known.
            assert!(entries.contains(&entry("tool.called", 0, "rejected")), "{entries:?}");
        } else {
            assert_eq!(answer.expect(200).text.matches("Ada Lovelace").count(), 2 * shown);
            assert_eq!(entries.len(), before + 2, "{entries:?}");
            assert!(entries.contains(&entry("candidates.searched", shown as u64, "")), "{entries:?}");
            assert!(entries.contains(&entry("tool.called", 0, "done")), "{entries:?}");
        }
    }
}

/// Nobody gets the people if an entry cannot be written.
#[tokio::test]
async fn without_the_entry_nobody_gets_the_people() {
    let api = TestApi::new().await;
    let person = json!({ "name": "Ada Lovelace", "email": "ada@example.com" });
    api.post("/api/v1/candidates", person).await.expect(201);
    let assistant = Assistant::new(&api);
    api.dynamodb.inject_faults(|operation, _| (operation == "PutItem").then_some(Fault::Internal));
    let answer = assistant.try_call("search_candidates", json!({ "q": "ada" })).await;
    assert!(answer.text.contains("error") && !answer.text.contains("Lovelace"), "{}", answer.text);
}

/// A function remembers whose career site has a slug. If it is wrong, what it has read of another organization is dropped.
#[tokio::test]
async fn a_career_site_of_another_organization_is_noticed() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let foreign = Job::of(&api, GLOBEX, Mode::Live, "Analyst").await;
    let organization = api.store().find_organization(tenant(ACME, Mode::Live)).await.unwrap().unwrap();
    let slug = organization.organization.slug;
    let email = "ada@example.com";
    let at_globex = api.request(Method::POST, "/api/v1/candidates").key(GLOBEX, Mode::Live);
    at_globex.json(&json!({ "name": "Ada of Globex", "email": email })).send().await.expect(201);
    let known = &api.environment.known_sites;
    for _ in 0..2 {
        known.remember(&slug, Some(tenant(GLOBEX, Mode::Live)));
        let page = Browser::new(&api).get(&job.path).await.expect(200);
        assert!(page.text.contains("Analyst") && page.text.contains("Acme"), "{}", page.text);
        assert_eq!(known.find(&slug), Some(tenant(ACME, Mode::Live)));
        known.remember(&slug, Some(tenant(GLOBEX, Mode::Live)));
        job.apply(&api, &form("Ada", email)).await.expect(303);
    }
    assert_eq!(find(&api, email).await.string("/name"), "Ada");
    assert_ne!(job.path, foreign.path);
}
