//! The gate's cost: what a forged credential costs, and the size of the item that each request writes.

use std::ops::Range;

use futures_util::stream::{self, StreamExt};
use http::Method;
use rolecall_local::demo;
use rolecall_local::functions::tables;
use shared::auth::{Claims, Credential, Kind};
use shared::http::{Access, KnownHolders, Route};
use shared::id::Id;
use shared::model::{Mode, Plan, Scopes, Tenant, Text};
use shared::random::Random;
use shared::store::Transaction;
use tests::browser::Browser;
use tests::dashboard::{connect_app, owner};
use tests::interceptor::{Fault, RecordedCall};
use tests::oauth::{OAuthApp, Tokens, token_status};
use tests::{ACME, GLOBEX, TestApi, new_credential, tenant};

use crate::access::forged;

const ROUTE: &str = "/api/v1/roles";
/// The documented limits in each mode.
const KEYS: u64 = 25;
const APPS: u64 = 50;

/// The number of bytes of an item, as DynamoDB counts them: names and values, and 1 byte for each element of a set.
fn size(item: &std::collections::HashMap<String, aws_sdk_dynamodb::types::AttributeValue>) -> usize {
    use aws_sdk_dynamodb::types::AttributeValue::{B, Bool, Bs, N, Null, S};
    let value = |value: &aws_sdk_dynamodb::types::AttributeValue| match value {
        S(text) => text.len(),
        N(digits) => digits.len().div_ceil(2) + 1,
        Bool(_) | Null(_) => 1,
        B(blob) => blob.as_ref().len(),
        Bs(blobs) => 3 + blobs.iter().map(|blob| blob.as_ref().len() + 1).sum::<usize>(),
        other => panic!("{other:?}"),
    };
    item.iter().map(|(name, attribute)| name.len() + value(attribute)).sum()
}

async fn insert_keys(api: &TestApi, tenant: Tenant, numbers: Range<u64>) -> Vec<Credential> {
    let mut keys = Vec::new();
    for number in numbers {
        let (id, random) = (Id::new(1_000_000 + number).unwrap(), Random::seeded(number));
        let credential = new_credential(Kind::ApiKey, tenant, id, &random);
        let key = credential.api_key(format!("Key {number} {}", "x".repeat(90)), api.environment.clock.now());
        api.store().insert_api_key(Transaction::new(tenant), &key).await.unwrap();
        keys.push(credential);
    }
    keys
}

/// An organization with the longest name and slug.
async fn long_organization(api: &TestApi) -> Tenant {
    let name = Text::parse(&"日本".repeat(100)).unwrap().unwrap();
    let slug = shared::model::Slug::of(&"a-long-name-".repeat(10), "");
    let slug: String = slug.as_str().chars().take(75).collect();
    let slug = shared::model::Slug::of(&slug, "");
    let id = Id::new(1_999_999_999_999_999).unwrap();
    let now = api.environment.clock.now();
    let modes = api.store().create_organization(id, &name, Some(slug), Plan::Pro, now).await.unwrap();
    modes[0].organization.tenant()
}

#[tokio::test]
async fn every_request_writes_one_unit_with_the_most_keys_and_apps_and_the_longest_name() {
    let api = TestApi::new().await;
    let tenant = long_organization(&api).await;
    let member = owner(&api, ACME).await.id;
    let mut keys = insert_keys(&api, tenant, 0..1).await;
    let mut tokens = Vec::new();
    // A request that is counted on a shard leaves a note on the gate.
    api.dynamodb.inject_faults(|operation, request| {
        let counts = operation == "UpdateItem" && request["UpdateExpression"] == "ADD #day :cost";
        (counts && request["ConditionExpression"].is_string()).then_some(Fault::Throttled)
    });
    api.request(Method::GET, ROUTE).bearer(keys[0].reveal()).send().await.expect(200);
    api.dynamodb.inject_faults(|_, _| None);
    for day in ["2026-11-20T09:30:00.000Z", "2026-11-21T09:30:00.000Z"] {
        api.clock.set(day);
        assert_units(&api, &keys[0]).await;
    }
    keys.extend(insert_keys(&api, tenant, 1..KEYS).await);
    assert_units(&api, &keys[24]).await;
    for number in 0..APPS {
        let (_, token) = connect_app(&api.environment, tenant, member, &format!("App {number}")).await;
        tokens.push(token);
    }
    for credential in keys.iter().chain(&tokens) {
        assert_units(&api, credential).await;
    }
    let items = api.stored_items().await;
    let gate = &items[&(format!("{tenant}#GATE"), "GATE".to_owned())];
    let bytes = size(gate);
    assert!(gate.contains_key("shards"));
    println!("{bytes} bytes with {KEYS} keys, {APPS} apps, two days and the longest name");
    assert!(bytes <= 1_024, "{bytes} bytes");
    let one_more = new_credential(Kind::ApiKey, tenant, Id::new(7).unwrap(), &Random::seeded(7));
    let one_more = one_more.api_key("One more".to_owned(), api.environment.clock.now());
    assert!(api.store().insert_api_key(Transaction::new(tenant), &one_more).await.is_err());
}

/// Sends a request and checks that its only write is one unit at the gate.
async fn assert_units(api: &TestApi, credential: &Credential) {
    let send = || api.request(Method::GET, ROUTE).bearer(credential.reveal()).send();
    // The first request of a day also records the use of the credential.
    send().await.expect(200);
    api.dynamodb.take_calls();
    send().await.expect(200);
    let calls = api.dynamodb.take_calls();
    let writes: Vec<_> = calls.iter().filter(|call| call.operation == "UpdateItem").collect();
    assert_eq!(writes.len(), 1, "the gate is written once");
    assert_eq!(calls.len(), 2, "the gate and the list");
    assert!((writes[0].units() - 1.0).abs() < f64::EPSILON, "{} units", writes[0].units());
}

#[tokio::test]
async fn a_forged_credential_of_each_kind_costs_no_call() {
    let api = TestApi::new().await;
    let acme = tenant(ACME, Mode::Live);
    let forged = |kind| forged(kind, acme, acme.organization.get()).reveal().to_owned();
    let client = OAuthApp::register(&api, "none").await;
    let browser = Browser::new(&api);
    browser.csrf().await;
    api.dynamodb.take_calls();
    for kind in [Kind::ApiKey, Kind::AccessToken] {
        api.request(Method::GET, ROUTE).bearer(&forged(kind)).send().await.expect(401);
    }
    let session = Browser::with_cookie(&api, &forged(Kind::Session));
    session.get("/dashboard").await.expect(303);
    browser.get(&format!("/dashboard/password?token={}", forged(Kind::Link))).await.expect(400);
    let calls = api.dynamodb.take_calls();
    assert!(calls.is_empty(), "{:?}", calls.iter().map(|call| &call.operation).collect::<Vec<_>>());
    // The token endpoint reads the client that presents a code or a token, but nothing of the grant's organization.
    let of_acme = |call: &RecordedCall| call.request.to_string().contains(&acme.to_string());
    let grant = client.exchange(&forged(Kind::AuthorizationCode)).await;
    let refreshed = client.refresh(&forged(Kind::RefreshToken)).await;
    let revoked = client.revoke(&forged(Kind::AccessToken)).await;
    assert_eq!((grant.status, refreshed.status, revoked.status), (400, 400, 200));
    assert!(!api.dynamodb.take_calls().iter().any(of_acme));
}

/// A key without an expiry is valid text for ever, also after it was revoked.
#[tokio::test]
async fn a_revoked_key_costs_its_organization_one_write_a_minute() {
    let api = TestApi::new().await;
    let acme = tenant(ACME, Mode::Live);
    let [revoked, other]: [Credential; 2] = insert_keys(&api, acme, 1..3).await.try_into().unwrap();
    let calls = async |credential: &Credential, status: u16| {
        api.dynamodb.take_calls();
        let request = api.request(Method::GET, ROUTE).bearer(credential.reveal());
        request.send().await.expect(status);
        api.dynamodb.take_calls().into_iter().map(|call| call.operation).collect::<Vec<_>>()
    };
    calls(&revoked, 200).await;
    api.store().revoke_api_key(acme, revoked.id(), api.environment.clock.now()).await.unwrap();
    for (minute, asked) in [
        // The list is read beside the gate.
        ("2026-11-20T09:40:00Z", &["UpdateItem", "Query"][..]),
        ("2026-11-20T09:41:00Z", &["UpdateItem"]),
    ] {
        api.clock.set(minute);
        assert_eq!(calls(&revoked, 401).await, asked, "{minute}");
        for _ in 0..20 {
            assert_eq!(calls(&revoked, 401).await, [""; 0], "{minute}");
        }
    }
    assert_eq!(calls(&other, 200).await.len(), 4, "holder, gate, last use and list");
    // Access tokens are looked for each time: one that was just issued by another function must work.
    let (_, token) = connect_app(&api.environment, acme, owner(&api, ACME).await.id, "App").await;
    calls(&token, 200).await;
}

#[tokio::test]
async fn a_request_of_a_known_credential_makes_one_call_for_the_gate() {
    async fn calls(api: &TestApi, token: &str) -> Vec<String> {
        api.dynamodb.take_calls();
        api.request(Method::GET, ROUTE).bearer(token).send().await.expect(200);
        api.dynamodb.take_calls().into_iter().map(|call| call.operation).collect()
    }
    let mut api = TestApi::new().await;
    let key = insert_keys(&api, tenant(ACME, Mode::Live), 1..2).await.remove(0);
    let acme = key.reveal().to_owned();
    let first = calls(&api, &acme).await;
    assert_eq!(first.iter().filter(|operation| *operation == "GetItem").count(), 1, "the key's item");
    assert_eq!(first.iter().filter(|operation| *operation == "UpdateItem").count(), 2, "gate and last use");
    for _ in 0..3 {
        assert_eq!(calls(&api, &acme).await, ["UpdateItem", "Query"]);
    }
    let restart = |api: &mut TestApi| {
        api.environment.known_holders = KnownHolders::default();
        api.restart();
    };
    restart(&mut api);
    let mut of_another_instance = calls(&api, &acme).await;
    of_another_instance.sort_unstable();
    assert_eq!(of_another_instance, ["GetItem", "Query", "UpdateItem"], "the last use is recorded already");
    api.clock.set("2026-11-21T00:00:00Z");
    assert_eq!(calls(&api, &acme).await.len(), 3, "the last use is recorded once a day");
    assert_eq!(calls(&api, &acme).await.len(), 2);
    restart(&mut api);
    assert_eq!(calls(&api, &acme).await.len(), 3, "the key's item is read");
}

/// Every function reads who has the credential.
#[tokio::test]
async fn every_function_of_the_api_knows_a_new_application() {
    let api = TestApi::new().await;
    let (acme, member) = (tenant(ACME, Mode::Live), owner(&api, ACME).await.id);
    let is_scoped = |route: &Route| matches!(route.access(), Access::Scopes(_));
    for route in tables().into_iter().filter_map(|tables| tables.routes.into_iter().find(is_scoped)) {
        let (_, token) = connect_app(&api.environment, acme, member, "App").await;
        let (method, path) = route.key.split_once(' ').unwrap();
        let request = api.request(method.parse().unwrap(), &path.replace("{id}", "1"));
        let response = request.bearer(token.reveal()).send().await;
        assert!(response.status < 500 && response.status != 401, "{}: {}", route.key, response.text);
    }
}

#[tokio::test]
async fn refreshing_many_apps_at_once_keeps_the_gate_small() {
    let api = TestApi::new().await;
    let acme = tenant(ACME, Mode::Live);
    insert_keys(&api, acme, 1..KEYS).await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let mut tokens = Vec::new();
    for _ in 0..APPS {
        tokens.push(app.connect(&browser).await);
    }
    let refreshed = stream::iter(&tokens).then(|tokens| app.refresh(&tokens.refresh));
    let refreshed: Vec<_> = refreshed.collect().await;
    assert!(refreshed.iter().all(|response| response.status == 200));
    let gate = &api.stored_items().await[&(format!("{acme}#GATE"), "GATE".to_owned())];
    assert!(size(gate) <= 1_280, "{} bytes", size(gate));
    for (before, response) in tokens.iter().zip(refreshed) {
        assert_eq!(token_status(&api, &before.access).await, 200, "another session may still use it");
        assert_eq!(token_status(&api, response.string("/access_token")).await, 200);
    }
    api.clock.set("2026-11-20T10:30:00Z");
    for before in &tokens {
        assert_eq!(token_status(&api, &before.access).await, 401, "it ends when it would have ended anyway");
    }
}

#[tokio::test]
async fn refreshing_twice_in_a_second_leaves_one_previous_token() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let (one, other) = (app.connect(&browser).await, app.connect(&browser).await);
    let second = Tokens::of(&app.refresh(&one.refresh).await);
    Tokens::of(&app.refresh(&other.refresh).await);
    let third = Tokens::of(&app.refresh(&second.refresh).await);
    let statuses = async |expected: [u16; 4]| {
        for (access, status) in
            [&one, &second, &third, &other].map(|tokens| &tokens.access).into_iter().zip(expected)
        {
            assert_eq!(token_status(&api, access).await, status);
        }
    };
    statuses([401, 200, 200, 200]).await;
    app.revoke(&second.access).await.expect(200);
    statuses([401, 401, 200, 200]).await;
    app.revoke(&third.refresh).await.expect(200);
    statuses([401, 401, 401, 200]).await;
    api.clock.set("2026-11-20T10:30:00Z");
    statuses([401, 401, 401, 401]).await;
}

#[tokio::test]
async fn scopes_and_expiry_in_a_text_cannot_be_changed() {
    let api = TestApi::new().await;
    let globex = tenant(GLOBEX, Mode::Live);
    let id = Id::new(77).unwrap();
    let issue = |scopes, expires_at| {
        let (keys, random) = (demo::credential_keys().unwrap(), Random::seeded(5));
        Credential::generate(
            Kind::ApiKey,
            globex,
            id,
            Claims { scopes, expires_at, ..Claims::default() },
            &keys,
            &random,
        )
    };
    let narrow = issue(shared::model::Scope::OrganizationRead.into(), None);
    let key = narrow.api_key("Narrow".to_owned(), api.environment.clock.now());
    api.store().insert_api_key(Transaction::new(globex), &key).await.unwrap();
    // The same secret with other claims, even if signed by the service, has another hash.
    for claims in [(Scopes::all(), None), (Scopes::all(), Some("2027-01-01T00:00:00Z".parse().unwrap()))] {
        let wide = issue(claims.0, claims.1);
        api.request(Method::GET, ROUTE).bearer(wide.reveal()).send().await.expect(401);
    }
    api.request(Method::GET, ROUTE).bearer(narrow.reveal()).send().await.expect(403);
    api.request(Method::GET, "/api/v1/organization").bearer(narrow.reveal()).send().await.expect(200);
}
