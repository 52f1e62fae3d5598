//! The identifiers of roles in other systems.

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use tests::assistant::Assistant;
use tests::browser::{Browser, Form, input};
use tests::dashboard::owner;
use tests::{ACME, GLOBEX, Response, TestApi};

const ROLES: &str = "/api/v1/roles";

async fn create(api: &TestApi, external_id: &str) -> u64 {
    let body = json!({ "title": "x", "external_id": external_id });
    api.post(ROLES, body).await.expect(201).number("/id")
}

/// The roles that are found by an external id, as it is written in a query.
async fn found(api: &TestApi, external_id: &str) -> Vec<u64> {
    let list = api.get(&format!("{ROLES}?external_id={external_id}")).await.expect(200);
    assert_eq!(list.body["next_cursor"], Value::Null);
    list.body["data"].as_array().unwrap().iter().map(|role| role["id"].as_u64().unwrap()).collect()
}

fn assert_duplicate(response: &Response, prefix: &str, existing: u64) {
    assert_eq!(response.string("/code"), "duplicate", "{}", response.text);
    assert_eq!(response.messages(), [format!("{prefix}external_id is already in use")]);
    assert_eq!(response.body["existing"], json!({ "type": "role", "id": existing }));
}

#[tokio::test]
async fn an_external_id_belongs_to_one_role_and_finds_it() {
    let api = TestApi::new().await;
    let first = create(&api, " A/7 ü").await;
    let other = create(&api, "a/7 ü").await;
    assert_eq!(api.get(&format!("{ROLES}/{first}")).await.expect(200).string("/external_id"), "A/7 ü");
    assert_eq!(
        (found(&api, "A%2F7%20%C3%BC").await, found(&api, "a/7+%C3%BC").await),
        (vec![first], vec![other])
    );
    assert!(found(&api, "none").await.is_empty());
    for (path, prefix, body) in [
        (ROLES, "", json!({ "title": "x", "external_id": "A/7 ü" })),
        ("/api/v1/quick_post", "role.", json!({ "role": { "title": "x", "external_id": "A/7 ü" } })),
    ] {
        assert_duplicate(&api.post(path, body).await.expect(422), prefix, first);
    }
    let path = format!("{ROLES}/{other}");
    let change = json!({ "title": "Changed", "external_id": "A/7 ü" });
    assert_duplicate(&api.patch(&path, change).await.expect(422), "", first);
    assert_eq!(api.get(&path).await.expect(200).string("/title"), "x", "nothing of the request is done");
    // Another tenant's role, and a candidate, may have the same.
    let body = json!({ "title": "x", "external_id": "A/7 ü" });
    for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live)] {
        api.request(Method::POST, ROLES).key(demo, mode).json(&body).send().await.expect(201);
    }
    let jane = json!({ "name": "Jane", "email": "jane@example.com", "external_id": "A/7 ü" });
    api.post("/api/v1/candidates", jane).await.expect(201);
}

#[tokio::test]
async fn a_change_frees_the_external_id() {
    let api = TestApi::new().await;
    let (first, other) = (create(&api, "one").await, create(&api, "two").await);
    let patch = async |role: u64, external_id: Value| {
        api.patch(&format!("{ROLES}/{role}"), json!({ "external_id": external_id })).await
    };
    patch(first, json!("one")).await.expect(200);
    patch(first, json!("three")).await.expect(200);
    assert!(found(&api, "one").await.is_empty());
    patch(other, json!("one")).await.expect(200);
    assert_eq!((found(&api, "one").await, found(&api, "three").await), (vec![other], vec![first]));
    assert!(found(&api, "two").await.is_empty());
    for blank in [json!(null), json!(" ")] {
        patch(other, blank).await.expect(200);
        assert!(found(&api, "one").await.is_empty());
        patch(other, json!("one")).await.expect(200);
    }
    // A closed role keeps it.
    api.delete(&format!("{ROLES}/{other}")).await.expect(200);
    assert_duplicate(&patch(first, json!("one")).await.expect(422), "", other);
    api.run_feed().await;
    let events = api.get("/api/v1/events?type=role.updated").await.expect(200).body;
    assert_eq!(events["data"][0]["changed"], json!(["external_id"]));
}

#[tokio::test]
async fn limits_and_combinations_are_checked() {
    let api = TestApi::new().await;
    let longest = "🦀".repeat(200);
    create(&api, &longest).await;
    for (value, message) in [
        (json!(format!("{longest}x")), "external_id must be at most 200 characters"),
        (json!(7), "external_id must be a string"),
        (json!("a\nb"), "external_id must not contain a line break"),
    ] {
        let refused = api.post(ROLES, json!({ "title": "x", "external_id": value })).await.expect(422);
        assert_eq!(refused.messages(), [message]);
    }
    for (query, messages) in [
        ("external_id=", vec!["external_id can't be blank"]),
        ("external_id=a&status=open", vec!["external_id can't be combined with status"]),
        (
            "external_id=a&include=stats&status=open",
            vec!["external_id can't be combined with status", "external_id can't be combined with include"],
        ),
    ] {
        assert_eq!(api.get(&format!("{ROLES}?{query}")).await.expect(422).messages(), messages, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_several_concurrent_requests_gets_an_external_id() {
    let api = TestApi::new().await;
    for round in 0..5 {
        let create = |_| api.post(ROLES, json!({ "title": "x", "external_id": format!("id-{round}") }));
        let responses = join_all((0..4).map(create)).await;
        let created: Vec<_> = responses.iter().filter(|response| response.status == 201).collect();
        assert_eq!(created.len(), 1);
        for refused in responses.iter().filter(|response| response.status != 201) {
            assert_duplicate(refused, "", created[0].number("/id"));
        }
        assert_eq!(found(&api, &format!("id-{round}")).await, [created[0].number("/id")]);
    }
}

#[tokio::test]
async fn members_and_assistants_use_it_too() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let fields = [("role.title", "Cook"), ("role.external_id", "A-7"), ("publish", "true")];
    ada.post("/dashboard/quick-post", &fields).await.expect(303);
    let [first] = found(&api, "A-7").await.try_into().unwrap();
    let page = ada.post("/dashboard/quick-post", &fields).await.expect(422);
    assert!(page.text.contains("Identifier in another system is already in use."), "{}", page.text);
    assert!(page.text.contains(&format!("href=\"/dashboard/roles/{first}\">Open the existing role")));
    let path = format!("/dashboard/roles/{first}/edit");
    let page = ada.get(&path).await.expect(200);
    assert_eq!(input(&page, "external_id"), "A-7");
    ada.submit(&path, &Form::of(&page, &path).set("external_id", "B-8")).await.expect(303);
    assert_eq!(found(&api, "B-8").await, [first]);
    let assistant = Assistant::new(&api);
    let list = assistant.call("list_roles", json!({ "external_id": "B-8" })).await;
    assert_eq!(list["roles"][0]["id"], first);
    let refused = assistant.refused("save_role", json!({ "title": "x", "external_id": "B-8" })).await;
    assert_eq!(refused, format!("external_id is already in use. It is role {first}."));
}
