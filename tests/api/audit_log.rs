//! The audit log: which requests it records, what its entries contain, and who can read it.

use std::collections::BTreeMap;

use http::Method;
use rolecall_local::functions::{Tables, tables};
use serde_json::{Value, json};
use shared::clock::Timestamp;
use shared::id::Id;
use shared::model::AuditAction::{self, *};
use shared::model::{AuditActor, AuditActorKind, AuditEntry, AuditTarget, AuditTargetKind, MemberRole, Mode};
use shared::store::{AuditSelection, Paging};
use tests::browser::{Browser, Form};
use tests::dashboard::{add_member, connect_app, owner};
use tests::interceptor::{Fault, RecordedCall};
use tests::oauth::{OAuthApp, REDIRECT, authorize_url};
use tests::{ACME, Fixtures, GLOBEX, TestApi, key, project, tenant};

/// Returns the routes that read people, each with the action in the audit log.
fn readings() -> Vec<(&'static str, AuditAction)> {
    let routes = tables().into_iter().flat_map(Tables::rows);
    routes.filter_map(|route| Some((route.key, route.reading?))).collect()
}

/// Returns all entries of a demo organization in one mode, newest first.
pub(crate) async fn entries(api: &TestApi, demo: usize, mode: Mode) -> Vec<AuditEntry> {
    let organization = api.store().find_organization(tenant(demo, mode)).await.unwrap().unwrap();
    let (mut all, mut page) = (Vec::new(), Paging { limit: 100, before: None });
    let now = api.environment.clock.now();
    loop {
        let listed = api.store().list_audit_log(&organization, AuditSelection::All, [None; 2], now, &page);
        let listed = listed.await.unwrap();
        all.extend(listed.items);
        page.before = listed.next;
        if page.before.is_none() {
            return all;
        }
    }
}

fn actions(entries: &[AuditEntry]) -> Vec<AuditAction> {
    entries.iter().rev().map(|entry| entry.action).collect()
}

/// Every read of people by an application has exactly one entry, with the application and its member. Reads by API keys
/// have none, except exports.
#[tokio::test]
async fn every_read_of_people_by_an_application_is_recorded() {
    let api = TestApi::new().await;
    let fixtures = Fixtures::new(&api).await;
    let acme = tenant(ACME, Mode::Live);
    let (grant, token) = connect_app(&api.environment, acme, owner(&api, ACME).await.id, "App").await;
    let mut seen = 0;
    // Entries of different functions in the same second are in any order.
    let mut second = 0;
    let mut next_second = || {
        second += 1;
        api.clock.set(&format!("2026-11-20T09:31:{second:02}Z"));
    };
    for (key, action) in readings().into_iter().filter(|(key, _)| key.starts_with("GET /api/")) {
        let path = fixtures.path(key.trim_start_matches("GET "));
        next_second();
        api.get(&path).await.expect(200);
        let after_key = entries(&api, ACME, Mode::Live).await;
        let by_key = usize::from(action == CandidateExported);
        assert_eq!(after_key.len(), seen + by_key, "{key} with an API key");
        if by_key == 1 {
            let id = Id::new(fixtures.candidate);
            assert_eq!(
                after_key[0].actor,
                AuditActor { kind: AuditActorKind::ApiKey, id: Id::new(1), member: None }
            );
            assert_eq!(after_key[0].target, id.map(|id| AuditTarget::of(AuditTargetKind::Candidate, id)));
        }
        next_second();
        api.request(Method::GET, &path).bearer(token.reveal()).from("192.0.2.7").send().await.expect(200);
        let log = entries(&api, ACME, Mode::Live).await;
        assert_eq!(log.len(), seen + by_key + 1, "{key} by an application");
        seen = log.len();
        let entry = &log[0];
        assert_eq!(entry.actor, AuditActor::app(grant.id, Some(grant.member)), "{key}");
        assert_eq!((entry.action, entry.network.as_deref()), (action, Some("192.0.2.7")), "{key}");
        let id = Id::new(match action.resource() {
            Some(AuditTargetKind::Application) => fixtures.application,
            Some(AuditTargetKind::VoiceScreen) => fixtures.screen,
            _ => fixtures.candidate,
        });
        assert_eq!(
            entry.target,
            action.resource().zip(id).map(|(kind, id)| AuditTarget::of(kind, id)),
            "{key}"
        );
        assert_eq!(entry.shown, action.resource().is_none().then_some(1), "{key}");
    }
    assert!(seen > 8);
    // A change leaves its trace in the history. A request that changes nothing still returns the candidate.
    let candidate = format!("/api/v1/candidates/{}", fixtures.candidate);
    let patch = async |body: Value| {
        api.request(Method::PATCH, &candidate).bearer(token.reveal()).json(&body).send().await.expect(200);
        entries(&api, ACME, Mode::Live).await
    };
    assert_eq!(patch(json!({ "name": "Other" })).await.len(), seen);
    next_second();
    let log = patch(json!({ "name": "Other" })).await;
    assert_eq!((log.len(), log[0].action), (seen + 1, CandidateRead));
    assert!(
        entries(&api, ACME, Mode::Test).await.is_empty()
            && entries(&api, GLOBEX, Mode::Live).await.is_empty()
    );
}

/// Writes by API keys and by jobs have an entry in the act's own transaction.
#[tokio::test]
async fn erasures_and_legal_holds_are_recorded_with_their_actor() {
    let api = TestApi::new().await;
    let fixtures = Fixtures::new(&api).await;
    let candidate = format!("/api/v1/candidates/{}", fixtures.candidate);
    let hold = async |reason: &str| {
        let request = api.request(Method::PUT, &format!("{candidate}/legal_hold"));
        request.json(&json!({ "reason": reason })).send().await.expect(200);
    };
    hold("Case 17").await;
    hold("Case 17").await;
    hold("Case 18").await;
    api.post(&format!("{candidate}/erase"), json!({})).await.expect(409);
    api.delete(&format!("{candidate}/legal_hold")).await.expect(200);
    api.delete(&format!("{candidate}/legal_hold")).await.expect(200);
    api.dynamodb
        .inject_faults(|operation, _| (operation == "TransactWriteItems").then_some(Fault::Unreachable));
    api.post(&format!("{candidate}/erase"), json!({})).await.expect(503);
    api.dynamodb.inject_faults(|_, _| None);
    api.dynamodb.take_calls();
    api.post(&format!("{candidate}/erase"), json!({})).await.expect(202);
    let calls = api.dynamodb.take_calls();
    assert!(calls.iter().all(|call| call.operation != "PutItem"), "the entry is part of the transaction");
    api.post(&format!("{candidate}/erase"), json!({})).await.expect(202);
    let log = entries(&api, ACME, Mode::Live).await;
    assert_eq!(actions(&log), [LegalHoldSet, LegalHoldSet, LegalHoldLifted, CandidateErased]);
    let target = Id::new(fixtures.candidate).map(|id| AuditTarget::of(AuditTargetKind::Candidate, id));
    for entry in log {
        assert_eq!((entry.actor.kind, entry.actor.id), (AuditActorKind::ApiKey, Id::new(1)));
        assert_eq!(entry.target, target);
    }
}

/// Wrong passwords are recorded for known addresses. Unknown addresses make the same calls.
#[tokio::test]
async fn failed_sign_ins_are_recorded_and_reveal_no_addresses() {
    let api = TestApi::new().await;
    let browser = Browser::new(&api).at([192, 0, 2, 9]);
    browser.csrf().await;
    let attempt = async |email: &str| {
        api.dynamodb.take_calls();
        browser.submit_sign_in(email, "not the password").await.expect(401);
        api.dynamodb.take_calls().into_iter().map(|call| call.operation).collect::<Vec<_>>()
    };
    let known = attempt("ada@acme.example").await;
    assert_eq!(attempt("nobody@acme.example").await, known);
    let log = entries(&api, ACME, Mode::Live).await;
    assert_eq!(actions(&log), [SignInFailed]);
    assert_eq!((log[0].actor, log[0].network.as_deref()), (AuditActor::unknown(), Some("192.0.2.9")));
    assert_eq!(log[0].target, Id::new(1).map(|id| AuditTarget::of(AuditTargetKind::Member, id)));
    // The limit of attempts bounds the entries.
    for _ in 0..20 {
        browser.submit_sign_in("ada@acme.example", "not the password").await;
    }
    assert_eq!(entries(&api, ACME, Mode::Live).await.len(), 10);
    assert!(entries(&api, GLOBEX, Mode::Live).await.is_empty());
}

/// Nobody gets the data of people without the entry.
#[tokio::test]
async fn a_read_without_its_entry_returns_no_data() {
    let api = TestApi::new().await;
    let fixtures = Fixtures::new(&api).await;
    let ada = owner(&api, ACME).await;
    let (_, token) = connect_app(&api.environment, tenant(ACME, Mode::Live), ada.id, "App").await;
    let browser = Browser::with_session(&api, ACME, &ada).await;
    for fault in [Fault::Throttled, Fault::Unreachable] {
        api.dynamodb.inject_faults(move |operation, _| (operation == "PutItem").then(|| fault.clone()));
        let mut refused = 0;
        for (key, _) in readings() {
            let (method, path) = key.split_once(' ').unwrap();
            let path = fixtures.path(path);
            let response = if path.starts_with("/dashboard") {
                let path = path.replace(&fixtures.role.to_string(), &fixtures.candidate.to_string());
                let path = if path.ends_with("/bulk") {
                    format!("{path}?list=&to=interview&id={}", fixtures.candidate)
                } else if path.contains("/roles/") {
                    format!("/dashboard/roles/{}", fixtures.role)
                } else if path.contains("/screens/") {
                    format!("/dashboard/screens/{}", fixtures.screen)
                } else {
                    path
                };
                if method == "POST" { browser.post(&path, &[]).await } else { browser.get(&path).await }
            } else {
                let with_key = api.get(&path).await;
                let is_export = path.ends_with("/export");
                assert_eq!(with_key.status, if is_export { 503 } else { 200 }, "{key}");
                api.request(Method::GET, &path).bearer(token.reveal()).send().await
            };
            // These show nobody here.
            let shows_nobody = ["/retention", "/suspects", "/notices"].iter().any(|end| path.ends_with(end));
            if shows_nobody || path.contains("/imports/") {
                continue;
            }
            assert_eq!(response.status, 503, "{key}: {}", response.text);
            assert!(!response.text.contains("Jane"), "{key}");
            refused += 1;
        }
        assert!(refused > 10);
    }
}

fn units(calls: &[RecordedCall], operation: &str) -> f64 {
    calls.iter().filter(|call| call.operation == operation).map(RecordedCall::units).sum()
}

/// An entry on its own costs one write unit, and one for each of its two lists. In a transaction, the entry costs two.
#[tokio::test]
async fn an_entry_costs_three_write_units_or_four_in_a_transaction() {
    let api = TestApi::new().await;
    let fixtures = Fixtures::new(&api).await;
    let ada = owner(&api, ACME).await;
    let (_, token) = connect_app(&api.environment, tenant(ACME, Mode::Live), ada.id, "App").await;
    api.dynamodb.take_calls();
    let path = format!("/api/v1/candidates/{}", fixtures.candidate);
    let request = api.request(Method::GET, &path).bearer(token.reveal()).from("2001:db8:1:2:3:4:5:6");
    request.send().await.expect(200);
    let calls = api.dynamodb.take_calls();
    let entry = calls.iter().find(|call| call.operation == "PutItem").unwrap();
    let size = entry.request["Item"].to_string().len();
    assert!(size < 1_024, "{size} bytes in JSON, which is longer than what DynamoDB counts");
    assert_eq!(entry.request["Item"]["network"]["S"], "2001:db8:1:2::/64");
    let alone = units(&calls, "PutItem");
    let browser = Browser::with_session(&api, ACME, &ada).await;
    browser.csrf().await;
    api.dynamodb.take_calls();
    browser.post("/dashboard/settings/privacy", &[("text", "x")]).await.expect(303);
    // The setting itself costs two, and so does the change in the outbox.
    let in_transaction = units(&api.dynamodb.take_calls(), "TransactWriteItems") - 4.0;
    // DynamoDB Local counts the units of transactions differently.
    if std::env::var_os("ROLECALL_TEST_ENDPOINT").is_none() {
        assert!((alone - 3.0).abs() < f64::EPSILON, "{alone}");
        assert!((in_transaction - 4.0).abs() < f64::EPSILON, "{in_transaction}");
    }
}

#[tokio::test]
async fn the_log_is_listed_in_order_across_shards_days_and_pages() {
    let api = TestApi::new().await;
    let ada = owner(&api, ACME).await;
    let fixtures = Fixtures::new(&api).await;
    let (grant, token) = connect_app(&api.environment, tenant(ACME, Mode::Live), ada.id, "App").await;
    let candidate = format!("/api/v1/candidates/{}", fixtures.candidate);
    for number in 0..40 {
        // Forty reads on six days in two months; several in the same second.
        let day =
            ["2026-11-20", "2026-11-29", "2026-11-30", "2026-12-01", "2026-12-02", "2026-12-03"][number / 7];
        api.clock.set(&format!("{day}T{:02}:00:0{}Z", 10 + number % 7, number % 2));
        let path = if number % 3 == 0 { "/api/v1/candidates" } else { &candidate };
        api.request(Method::GET, path).bearer(token.reveal()).send().await.expect(200);
    }
    let stored = api.stored_items().await;
    let shards = stored.keys().filter(|(pk, _)| pk.starts_with("1#live#AUDIT#2026-11-20"));
    let shards: std::collections::BTreeSet<_> = shards.map(|(pk, _)| pk).collect();
    assert!(shards.len() > 1, "the entries of a day are in several shards");
    let app = format!("actor=app:{}", grant.id);
    for (filter, expected) in [
        ("", 40),
        (app.as_str(), 40),
        ("actor=member:1", 0),
        ("action=candidates.listed", 14),
        ("action=candidate.read", 26),
        ("from=2026-11-30T00:00:00Z&to=2026-12-02T00:00:00Z", 14),
        ("action=candidate.read&from=2026-12-01T11:00:00Z&to=2026-12-01T11:00:01Z", 1),
        ("to=2026-11-20T09:00:00Z", 0),
    ] {
        for limit in [1, 7, 100] {
            let (mut seen, mut cursor, mut pages) = (Vec::<(String, u64)>::new(), String::new(), 0);
            for _ in 0..200 {
                pages += 1;
                let path = format!("/api/v1/audit_log?limit={limit}&{filter}{cursor}");
                let page = api.get(path.trim_end_matches('&')).await.expect(200);
                let items = page.body["data"].as_array().unwrap();
                assert!(items.len() <= limit);
                seen.extend(
                    items
                        .iter()
                        .map(|item| (item["at"].as_str().unwrap().to_owned(), item["id"].as_u64().unwrap())),
                );
                let Some(next) = page.body["next_cursor"].as_str() else { break };
                cursor = format!("{}cursor={next}", if filter.is_empty() { "" } else { "&" });
            }
            assert_eq!(seen.len(), expected, "{filter} by {limit}");
            if filter.starts_with("from=2026-11-30") && limit == 7 {
                assert_eq!(pages, 2, "no empty page follows");
            }
            assert!(
                seen.is_sorted_by(|earlier, later| earlier > later),
                "{filter}: newest first, and none twice"
            );
        }
    }
}

#[tokio::test]
async fn the_filters_are_validated() {
    let api = TestApi::new().await;
    for (query, message) in [
        ("actor=member:1&action=candidate.read", "actor can't be combined with action"),
        ("from=2026-11-20T09:00:00Z&to=2026-11-20T09:00:00Z", "from must be before to"),
        ("actor=ada", "actor must be api_key:ID"),
        ("actor=operator:1", "actor must be api_key:ID"),
        ("action=candidate.seen", "action must be one of session.created"),
        ("from=yesterday", "from must be a time"),
        ("to=", "to can't be blank"),
    ] {
        let response = api.get(&format!("/api/v1/audit_log?{query}")).await.expect(422);
        assert!(response.messages()[0].starts_with(message), "{query}: {}", response.text);
    }
}

/// Nobody reads the log of another tenant, not even with the other tenant's identifiers or cursor.
#[tokio::test]
async fn a_tenant_reads_only_its_own_log() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    for _ in 0..2 {
        browser.post("/dashboard/settings/privacy", &[("text", "x")]).await.expect(303);
    }
    let own = api.get("/api/v1/audit_log?limit=1").await.expect(200);
    assert_eq!(own.string("/data/0/action"), "settings.changed");
    let cursor = own.string("/next_cursor");
    for (demo, mode) in [(GLOBEX, Mode::Live), (GLOBEX, Mode::Test), (ACME, Mode::Test)] {
        for query in ["", "?actor=member:1", "?action=session.created"] {
            let request = api.request(Method::GET, &format!("/api/v1/audit_log{query}")).key(demo, mode);
            assert_eq!(request.send().await.expect(200).body["data"], json!([]));
        }
        let request = api.request(Method::GET, &format!("/api/v1/audit_log?limit=1&cursor={cursor}"));
        request.key(demo, mode).send().await.expect(400);
    }
}

/// Entries end after 400 days, even if DynamoDB deletes them later.
#[tokio::test]
async fn entries_are_kept_for_400_days() {
    let api = TestApi::new().await;
    Browser::signed_in(&api, ACME).await;
    let expiry: Vec<_> = api
        .stored_items()
        .await
        .into_iter()
        .filter(|((pk, _), _)| pk.starts_with("1#live#AUDIT#"))
        .map(|(_, item)| item["expires_at"].as_n().unwrap().parse::<i64>().unwrap())
        .collect();
    let start: Timestamp = "2026-11-20T09:30:00Z".parse().unwrap();
    assert_eq!(expiry, [start.as_second() + 400 * 24 * 60 * 60]);
    for (time, count) in [("2027-12-25T09:30:00.000Z", 1), ("2027-12-25T09:30:01.000Z", 0)] {
        api.clock.set(time);
        let by_action = api.get("/api/v1/audit_log?action=session.created").await.expect(200);
        assert_eq!(by_action.body["data"].as_array().unwrap().len(), count, "{time}");
        assert_eq!(entries(&api, ACME, Mode::Live).await.len(), count, "{time}");
    }
}

/// Whatever candidates, searches and members contain, the log has only identifiers.
#[tokio::test]
async fn the_log_contains_nothing_personal() {
    let api = TestApi::new().await;
    let canary = "Canary4711";
    let role =
        api.post("/api/v1/quick_post", json!({ "role": { "title": canary } })).await.number("/role/id");
    let person = json!({
        "name": canary, "email": format!("{canary}@example.com"), "phone": "+4915147114711", "source": canary,
        "tags": [canary], "external_id": canary, "resume_url": format!("https://example.com/{canary}"),
        "role_id": role,
    });
    let id = api.post("/api/v1/candidates", person).await.expect(201).number("/id");
    let path = format!("/api/v1/candidates/{id}");
    api.post(&format!("{path}/notes"), json!({ "text": canary })).await.expect(201);
    let ada = owner(&api, ACME).await;
    let (_, token) = connect_app(&api.environment, tenant(ACME, Mode::Live), ada.id, canary).await;
    let browser = Browser::signed_in(&api, ACME).await;
    for read in [
        format!("/api/v1/candidates?q={canary}"),
        format!("/api/v1/candidates?email={canary}@example.com"),
        format!("/api/v1/candidates?tag={canary}"),
        "/api/v1/applications".to_owned(),
        path.clone(),
        format!("{path}/notes"),
        format!("{path}/touchpoints"),
        format!("{path}/export"),
    ] {
        api.request(Method::GET, &read)
            .bearer(token.reveal())
            .header("user-agent", canary)
            .send()
            .await
            .expect(200);
    }
    browser.get(&format!("/dashboard/candidates/{id}")).await.expect(200);
    browser.post("/dashboard/settings/privacy", &[("text", canary)]).await.expect(303);
    let member = [("name", canary), ("email", "canary4711@members.example"), ("role", "member")];
    browser.post("/dashboard/settings/members", &member).await.expect(200);
    let hold = api.request(Method::PUT, &format!("{path}/legal_hold")).json(&json!({ "reason": canary }));
    hold.send().await.expect(200);
    api.delete(&format!("{path}/legal_hold")).await.expect(200);
    api.post(&format!("{path}/erase"), json!({})).await.expect(202);
    let mut count = 0;
    for ((pk, sk), item) in api.stored_items().await {
        if pk.contains("#AUDIT#") {
            let text = format!("{pk} {sk} {item:?}").to_lowercase();
            assert!(!text.contains("canary") && !text.contains("4711471") && !text.contains('@'), "{text}");
            count += 1;
        }
    }
    assert_eq!(count, 15);
    let searches = api.get("/api/v1/audit_log?action=candidates.searched").await.expect(200);
    assert_eq!(searches.body["data"].as_array().unwrap().len(), 3);
    // The erasure leaves the entries, which have only the candidate's identifier.
    api.run_tasks().await;
    assert_eq!(entries(&api, ACME, Mode::Live).await.len(), 15);
}

/// Consent, a repeated code and a revocation are recorded with the member, the service and the application.
#[tokio::test]
async fn oauth_grants_are_recorded() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    api.clock.set("2026-11-20T09:30:01Z");
    let code = app.code(&browser, &app.authorization_request(), "live").await;
    app.exchange(&code).await.expect(200);
    api.clock.set("2026-11-20T09:30:02Z");
    app.exchange(&code).await.expect(400);
    let log = entries(&api, ACME, Mode::Live).await;
    assert_eq!(actions(&log), [SessionCreated, GrantCreated, GrantRevoked]);
    assert_eq!(
        (log[1].actor, log[0].actor),
        (AuditActor::member(owner(&api, ACME).await.id), AuditActor::system())
    );
    assert_eq!(log[0].target, log[1].target);
}

/// The operator's changes through the store's handle of the administration tool are tested there. Here: the page.
#[tokio::test]
async fn owners_see_the_log_in_plain_words() {
    let api = TestApi::new().await;
    let fixtures = Fixtures::new(&api).await;
    let ada = owner(&api, ACME).await;
    let acme = tenant(ACME, Mode::Live);
    let (grant, token) = connect_app(&api.environment, acme, ada.id, "Sourcing & Co").await;
    let path = format!("/api/v1/candidates/{}", fixtures.candidate);
    api.request(Method::GET, &path).bearer(token.reveal()).send().await.expect(200);
    let browser = Browser::signed_in(&api, ACME).await;
    browser.get("/dashboard/candidates").await.expect(200);
    browser.post("/dashboard/settings/privacy", &[("text", "x")]).await.expect(303);
    api.get(&format!("{path}/export")).await.expect(200);
    let fields = [("name", "Backup"), ("scope", "roles:read"), ("mode", "live")];
    browser.post("/dashboard/settings/integrations/api-keys", &fields).await.expect(200);
    let (unused, _) = connect_app(&api.environment, acme, ada.id, "Notes").await;
    let revoke = format!("/dashboard/settings/integrations/connected-apps/{}/revoke", unused.id);
    browser.post(&revoke, &[("mode", "live")]).await.expect(303);
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    browser.post(&format!("/dashboard/settings/members/{}/link", jo.id), &[]).await.expect(200);
    let page = browser.get("/dashboard/settings/audit-log").await.expect(200);
    let text = words(&page.text);
    for sentence in [
        "20 Nov 2026, 09:30 UTC Ada signed in 127.0.0.1".to_owned(),
        "Ada read a list of candidates (1 on the page)".to_owned(),
        "Ada changed the privacy text".to_owned(),
        "Ada created the API key “Backup”".to_owned(),
        "Ada created a password link for Jo".to_owned(),
        "Ada revoked the access of the application “Notes”".to_owned(),
        format!(
            "The API key “Acme demonstration” exported everything about candidate {}",
            fixtures.candidate
        ),
        format!(
            "The application “Sourcing &#38; Co”, connected by Ada, read candidate {}",
            fixtures.candidate
        ),
    ] {
        assert!(text.contains(&sentence), "{sentence} in {text}");
    }
    let filtered = async |query: &str| {
        let page = browser.get(&format!("/dashboard/settings/audit-log?{query}")).await;
        (page.status, page.text.matches("data-label=\"What happened\"").count(), words(&page.text))
    };
    assert_eq!(filtered(&format!("actor=app:{}", grant.id)).await.1, 1);
    assert_eq!(filtered("actor=member:1").await.1, 6);
    assert_eq!(filtered("action=session.created&from=2026-11-20&to=2026-11-20").await.1, 1);
    assert_eq!(filtered("from=2026-11-19&to=2026-11-19").await.1, 0);
    let (status, _, text) = filtered("actor=member:1&action=session.created").await;
    assert!(status == 422 && text.contains("not both"), "{text}");
    assert_eq!(filtered("from=soon").await.0, 422);
    assert_eq!(filtered("from=2026-11-20&to=2026-11-19").await.0, 422);
    assert_eq!(filtered("actor=%3Cscript%3E&action=x&before=%00").await.0, 422);
    let jo = Browser::with_session(&api, ACME, &jo).await;
    jo.get("/dashboard/settings/audit-log").await.expect(403);
}

/// Returns the words of a page, without tags and repeated spaces.
fn words(html: &str) -> String {
    let text: String =
        html.split('<').filter_map(|part| part.split_once('>')).flat_map(|(_, text)| [text, " "]).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace(" , ", ", ")
}

/// Only owners decide who reads the log: other members can neither make keys nor connect applications that read it.
#[tokio::test]
async fn only_owners_give_access_to_the_log() {
    let api = TestApi::new().await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let ada = owner(&api, ACME).await;
    let keys = "/dashboard/settings/integrations/api-keys";
    let fields = [("name", "Log"), ("scope", "audit:read"), ("mode", "live")];
    let refused = Browser::with_session(&api, ACME, &jo).await.post(keys, &fields).await.expect(422);
    assert!(refused.text.contains("Only owners can create keys with audit:read."), "{}", refused.text);
    Browser::with_session(&api, ACME, &ada).await.post(keys, &fields).await.expect(200);
    let metadata = json!({
        "client_name": "Log", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none", "scope": "audit:read",
    });
    let app = OAuthApp::register_with(&api, &metadata).await;
    let [jo, ada] =
        [Browser::with_session(&api, ACME, &jo).await, Browser::with_session(&api, ACME, &ada).await];
    let refused = jo.get(&authorize_url(&app.authorization_request())).await;
    assert_eq!(Form::of_location(&refused).1.get("error"), "access_denied");
    let page = ada.get(&authorize_url(&app.authorization_request())).await.expect(200);
    let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
    let forged = jo.get("/dashboard").await.expect(200);
    let forged = form.clone().set("csrf", Form::of(&forged, "/dashboard/sign-out").get("csrf"));
    let refused = jo.submit("/oauth/authorize", &forged).await;
    assert_eq!(Form::of_location(&refused).1.get("error"), "access_denied", "with the form of an owner");
    assert_eq!(Form::of_location(&ada.submit("/oauth/authorize", &form).await).1.get("error"), "");
}

/// The alarms use the names in the gateway's access log and the words in the log of the functions.
#[test]
fn the_alarms_on_attacks_read_what_is_logged() {
    let yaml = |path: &str| -> serde_yaml_ng::Value {
        serde_yaml_ng::from_str(&std::fs::read_to_string(project(path)).unwrap()).unwrap()
    };
    let (template, alarms) = (yaml("template.yaml"), yaml("infra/alarms.yaml"));
    let format = template["Resources"]["Api"]["Properties"]["AccessLogSettings"]["Format"].as_str().unwrap();
    assert!(format.contains(r#""status":"$context.status""#), "the status is a string in the access log");
    let token = std::fs::read_to_string(project("functions/oauth/src/token.rs")).unwrap();
    assert!(token.contains("why, \"a grant was revoked\")"));
    let resources = &alarms["Resources"];
    let mut metrics = BTreeMap::new();
    for (_, filter) in resources.as_mapping().unwrap() {
        if filter["Type"] == "AWS::Logs::MetricFilter" {
            let metric = &filter["Properties"]["MetricTransformations"][0]["MetricName"];
            metrics.insert(metric.as_str().unwrap(), filter["Properties"]["FilterPattern"].as_str().unwrap());
        }
    }
    let expected = BTreeMap::from([
        ("Calls", "{ $.message = \"a telephone call is ordered\" }"),
        ("EndedGrants", "{ $.message = \"a grant was revoked\" }"),
        ("RefusedApplications", "{ $.message = \"a daily limit of applications is reached\" }"),
        ("SuspectForms", "{ $.message = \"a suspect form is kept\" }"),
        ("Responses401", "{ $.status = \"401\" }"),
        ("Responses403", "{ $.status = \"403\" }"),
        ("Responses429", "{ $.status = \"429\" }"),
    ]);
    assert_eq!(metrics, expected);
    let watched = |metric: &str| {
        resources.as_mapping().unwrap().values().any(|alarm| {
            alarm["Type"] == "AWS::CloudWatch::Alarm" && alarm["Properties"]["MetricName"] == metric
        })
    };
    assert!(metrics.keys().all(|metric| watched(metric)));
    let parameters = &template["Resources"]["Alarms"]["Properties"]["Parameters"];
    for name in ["AccessLogs", "FunctionLogs"] {
        assert!(!parameters[name].is_null() && !alarms["Parameters"][name].is_null(), "{name}");
    }
}

/// A key with the wrong mode or tenant never appears as the actor.
#[tokio::test]
async fn the_log_of_a_mode_has_only_its_own_reads() {
    let api = TestApi::new().await;
    let body = json!({ "name": "Jane", "email": "jane@example.com" });
    let post = api.request(Method::POST, "/api/v1/candidates").bearer(&key(ACME, Mode::Test)).json(&body);
    let id = post.send().await.expect(201).number("/id");
    let export = api.request(Method::GET, &format!("/api/v1/candidates/{id}/export")).key(ACME, Mode::Test);
    export.send().await.expect(200);
    assert_eq!(actions(&entries(&api, ACME, Mode::Test).await), [CandidateExported]);
    assert!(entries(&api, ACME, Mode::Live).await.is_empty());
}

/// Acts that concern both modes are recorded in live mode, wherever they were done.
#[tokio::test]
async fn the_log_of_live_mode_has_the_acts_that_concern_both_modes() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    let wrong = [("password", "wrong"), ("return_to", "/dashboard/settings/members")];
    browser.post("/dashboard/confirm", &wrong).await.expect(422);
    assert!(entries(&api, ACME, Mode::Test).await.is_empty());
    assert!(actions(&entries(&api, ACME, Mode::Live).await).contains(&SignInFailed));
}
