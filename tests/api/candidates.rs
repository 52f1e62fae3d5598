//! Candidates: fields, pipeline stages, applications, history, lists, and concurrent requests.

use std::collections::BTreeMap;

use futures_util::future::{join, join_all};
use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use tests::{ACME, BASE_URL, GLOBEX, Response, TestApi, key_actor};

const CANDIDATES: &str = "/api/v1/candidates";
const NOW: &str = "2026-11-20T09:30:00.000Z";
const STAGES: [&str; 4] = ["applied", "screening", "interview", "offer"];
const IN_USE: &str = "email is already in use";
/// Every status of a role, with the steps that lead to it.
const ROLE_STATUSES: [(&str, &[&str]); 4] =
    [("draft", &[]), ("open", &["publish"]), ("paused", &["publish", "pause"]), ("closed", &["close"])];

fn candidate_path(id: u64) -> String {
    format!("{CANDIDATES}/{id}")
}

async fn role_after(api: &TestApi, steps: &[&str]) -> u64 {
    let id = api.post("/api/v1/roles", json!({ "title": "Engineer" })).await.expect(201).number("/id");
    for step in steps {
        move_role(api, id, step).await;
    }
    id
}

async fn move_role(api: &TestApi, id: u64, step: &str) {
    let response = match step {
        "close" => api.delete(&format!("/api/v1/roles/{id}")).await,
        _ => api.post(&format!("/api/v1/roles/{id}/{step}"), json!({})).await,
    };
    response.expect(200);
}

async fn open_role(api: &TestApi) -> u64 {
    role_after(api, &["publish"]).await
}

fn person(name: &str) -> Value {
    json!({ "name": name, "email": format!("{name}@example.com") })
}

async fn candidate(api: &TestApi, name: &str) -> u64 {
    api.post(CANDIDATES, person(name)).await.expect(201).number("/id")
}

async fn step(api: &TestApi, id: u64, action: &str, body: Value) -> Response {
    api.post(&format!("{}/{action}", candidate_path(id)), body).await
}

async fn apply(api: &TestApi, id: u64, role: u64) -> Response {
    step(api, id, "applications", json!({ "role_id": role })).await
}

async fn details(api: &TestApi, id: u64) -> Response {
    api.get(&candidate_path(id)).await.expect(200)
}

async fn applicants(api: &TestApi, role: u64) -> u64 {
    api.get(&format!("/api/v1/roles/{role}/stats")).await.expect(200).number("/applicants")
}

/// Returns one field of every entry of a list.
fn field_of_each(response: &Response, list: &str, field: &str) -> Vec<Value> {
    response.body[list].as_array().into_iter().flatten().map(|entry| entry[field].clone()).collect()
}

async fn list_ids(api: &TestApi, query: &str) -> Vec<Value> {
    field_of_each(&api.get(&format!("{CANDIDATES}?limit=100&{query}")).await.expect(200), "data", "id")
}

async fn assert_rejected(api: &TestApi, body: Value, messages: &[&str]) {
    let refused = api.post(CANDIDATES, body.clone()).await.expect(422);
    let code = if messages == [IN_USE] { "duplicate" } else { "validation_failed" };
    assert_eq!((refused.string("/code"), refused.messages()), (code, messages.to_vec()), "{body}");
}

#[tokio::test]
async fn a_candidate_is_created_with_every_field_and_an_application() {
    let api = TestApi::new().await;
    let role = open_role(&api).await;
    let body = json!({
        "name": "  Jane Doe ", "email": " Jane.Doe+rust@Example.COM ", "phone": "+1 (415) 555-2671",
        "resume_url": "https://example.com/jane.pdf", "role_id": role
    });
    let created = api.post(CANDIDATES, body).await.expect(201);
    let id = created.number("/id");
    let mut expected = json!({
        "id": id, "name": "Jane Doe", "email": "Jane.Doe+rust@Example.COM", "phone": "+14155552671",
        "resume_url": "https://example.com/jane.pdf", "stage": "applied", "source": null, "tags": [], "external_id": null,
        "created_at": NOW, "updated_at": NOW
    });
    assert_eq!(created.body, expected);
    assert_eq!(created.header("location"), format!("{BASE_URL}{}", candidate_path(id)));
    let mut listed = expected.clone();
    listed["application"] = Value::Null;
    assert_eq!(api.get(CANDIDATES).await.expect(200).body["data"], json!([listed]));

    let page = details(&api, id).await;
    let application = page.number("/applications/0/id");
    expected["legal_hold"] = Value::Null;
    expected["voice_screens"] = json!([]);
    expected["consents"] = json!([]);
    expected["applications"] = json!([{
        "id": application, "candidate_id": id, "role_id": role, "role_title": "Engineer", "stage": "applied",
        "status": "active", "source": "manual", "applied_at": NOW, "reapplied_at": null, "resubmissions": 0,
        "stage_changed_at": NOW, "external_id": null, "rejection": null, "rejection_reason": null, "start_date": null, "resume_file_id": null,
        "created_at": NOW, "updated_at": NOW
    }]);
    expected["touchpoints"] = json!([
        {
            "id": page.number("/touchpoints/0/id"), "kind": "applied", "at": NOW, "actor": key_actor(ACME, Mode::Live),
            "detail": { "application_id": application, "role_id": role, "source": "manual" }
        },
        {
            "id": page.number("/touchpoints/1/id"), "kind": "created", "at": NOW, "actor": key_actor(ACME, Mode::Live),
            "detail": { "source": "manual" }
        },
    ]);
    assert_eq!(page.body, expected);
    assert!(page.header("etag").starts_with('"') && page.header("etag") != created.header("etag"));
}

#[tokio::test]
async fn missing_null_and_blank_fields_become_null() {
    let api = TestApi::new().await;
    for (n, more) in [json!({}), json!({ "phone": null, "resume_url": null, "role_id": null })]
        .into_iter()
        .chain([json!({ "phone": " ", "resume_url": "" })])
        .chain([json!({ "phone": "\u{200B}", "resume_url": "\u{2060}", "role_id": "" })])
        .enumerate()
    {
        let mut body = person(&format!("jane{n}"));
        body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let created = api.post(CANDIDATES, body).await.expect(201);
        for field in ["phone", "resume_url"] {
            assert_eq!(created.body.get(field), Some(&Value::Null), "{field}");
        }
        let page = details(&api, created.number("/id")).await;
        assert_eq!(field_of_each(&page, "touchpoints", "kind"), ["created"]);
        assert_eq!(page.body["applications"], json!([]));
    }
}

#[tokio::test]
async fn every_validation_error_is_reported_at_once() {
    let api = TestApi::new().await;
    let wrong = json!({
        "name": "", "email": "jane", "phone": "12", "resume_url": "ftp://example.com", "role_id": "7",
        "id": 7, "stage": "offer"
    });
    let failures = [
        "name can't be blank",
        "email must be an e-mail address, such as jane@example.com",
        "phone must be a phone number with its country code, such as +14155552671",
        "resume_url must be a URL that begins with http:// or https://",
        "role_id must be a whole number from 1 to 9007199254740991",
        "id is not a known field",
        "stage is not a known field",
    ];
    assert_rejected(&api, wrong, &failures).await;
    assert_rejected(&api, json!({}), &["name can't be blank", "email can't be blank"]).await;
    let wrong =
        json!({ "name": 1, "email": [], "phone": 4_155_552_671_u64, "resume_url": false, "role_id": 1.5 });
    let failures = [
        "name must be a string",
        "email must be a string",
        "phone must be a string",
        "resume_url must be a string",
        "role_id must be a whole number from 1 to 9007199254740991",
    ];
    assert_rejected(&api, wrong, &failures).await;
    let wrong = json!({ "name": "n".repeat(201), "email": "a@b.io", "resume_url": format!("http://b.io/{}", "r".repeat(1_989)) });
    let failures = ["name must be at most 200 characters", "resume_url must be at most 2000 characters"];
    assert_rejected(&api, wrong, &failures).await;
    let control = "name must not contain control characters other than tab";
    assert_rejected(&api, json!({ "name": "a\u{0}b", "email": "a@b.io" }), &[control]).await;
    assert_eq!(list_ids(&api, "").await, [] as [Value; 0]);
}

#[tokio::test]
async fn length_limits_count_characters() {
    let api = TestApi::new().await;
    let body = json!({ "name": "🦀".repeat(200), "email": "a@b.io", "resume_url": format!("http://b.io/{}", "r".repeat(1_988)) });
    let created = api.post(CANDIDATES, body.clone()).await.expect(201);
    assert_eq!((&created.body["name"], &created.body["resume_url"]), (&body["name"], &body["resume_url"]));
}

/// Returns an e-mail address of `length` characters.
fn email_of_length(length: usize) -> String {
    let domain = format!("{}.{}.{}.com", "b".repeat(63), "c".repeat(63), "d".repeat(length - 197));
    format!("{}@{domain}", "a".repeat(64))
}

#[tokio::test]
async fn an_email_address_is_stored_as_given_and_unique_regardless_of_case() {
    let api = TestApi::new().await;
    for (input, other) in [
        ("jane@example.com".to_owned(), "JANE@Example.com".to_owned()),
        ("Jane+Rust@example.com".to_owned(), "jane+rust@EXAMPLE.COM".to_owned()),
        ("o'brien_x-y.z@example.co.uk".to_owned(), "O'BRIEN_x-y.z@example.co.uk".to_owned()),
        ("Jörg@Müller.de".to_owned(), "JÖRG@MÜLLER.DE".to_owned()),
        ("x@München.example".to_owned(), "X@xn--mnchen-3ya.example".to_owned()),
        ("用户@例子.公司".to_owned(), "用户@例子.公司".to_owned()),
        (email_of_length(254), email_of_length(254).to_uppercase()),
    ] {
        let created = api.post(CANDIDATES, json!({ "name": "x", "email": input })).await.expect(201);
        assert_eq!(created.string("/email"), input);
        for again in [&input, &other] {
            assert_rejected(&api, json!({ "name": "x", "email": again }), &[IN_USE]).await;
        }
    }
    assert_eq!(email_of_length(255).chars().count(), 255);
    let too_long = json!({ "name": "x", "email": email_of_length(255) });
    assert_rejected(&api, too_long, &["email must be at most 254 characters"]).await;
    for bad in [
        "jane@",
        "@example.com",
        "jane@localhost",
        "jane doe@example.com",
        "Jane <jane@example.com>",
        "a@b.io, c@d.io",
    ] {
        let invalid_email = "email must be an e-mail address, such as jane@example.com";
        assert_rejected(&api, json!({ "name": "x", "email": bad }), &[invalid_email]).await;
    }
    for email in [json!(null), json!(""), json!(" \t")] {
        assert_rejected(&api, json!({ "name": "x", "email": email }), &["email can't be blank"]).await;
    }
}

#[tokio::test]
async fn a_resume_url_must_be_http_or_https() {
    let api = TestApi::new().await;
    for (n, good) in
        ["https://example.com", "HTTP://EXAMPLE.com/cv?x=1#y", "http://例子.公司/简历"].iter().enumerate()
    {
        let mut body = person(&format!("r{n}"));
        body["resume_url"] = json!(good);
        assert_eq!(api.post(CANDIDATES, body).await.expect(201).string("/resume_url"), *good);
    }
    for bad in ["example.com/cv.pdf", "ftp://example.com", "javascript:alert(1)", "file:///etc/passwd"] {
        let mut body = person("jane");
        body["resume_url"] = json!(bad);
        assert_rejected(&api, body, &["resume_url must be a URL that begins with http:// or https://"]).await;
    }
    for (bad, problem) in [
        ("https://", "must be a URL with a well-formed host, such as https://example.com"),
        ("https://a b.com", "must be a URL without spaces and control characters; write a space as %20"),
    ] {
        let mut body = person("jane");
        body["resume_url"] = json!(bad);
        assert_rejected(&api, body, &[&format!("resume_url {problem}")]).await;
    }
}

#[tokio::test]
async fn an_application_requires_an_open_role_of_the_same_tenant() {
    let api = TestApi::new().await;
    let known = candidate(&api, "known").await;
    let mut wrong = vec![(9_007_199_254_740_991, "role_id must be the id of a role".to_owned())];
    for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live)] {
        let post = |path: &str| api.request(Method::POST, path).key(demo, mode);
        let foreign =
            post("/api/v1/roles").json(&json!({ "title": "x" })).send().await.expect(201).number("/id");
        post(&format!("/api/v1/roles/{foreign}/publish")).send().await.expect(200);
        wrong.push((foreign, "role_id must be the id of a role".to_owned()));
    }
    for (status, steps) in ROLE_STATUSES.into_iter().filter(|(status, _)| *status != "open") {
        let message = format!("role_id must be the id of an open role, but this one is {status}");
        wrong.push((role_after(&api, steps).await, message));
    }
    for (role, message) in wrong {
        let mut body = person("jane");
        body["role_id"] = json!(role);
        assert_rejected(&api, body, &[&message]).await;
        let refused = apply(&api, known, role).await.expect(422);
        assert_eq!(
            (refused.string("/code"), refused.messages()),
            ("validation_failed", vec![message.as_str()])
        );
        assert_eq!(list_ids(&api, &format!("role_id={role}")).await, [] as [Value; 0]);
    }
    assert_eq!(field_of_each(&details(&api, known).await, "touchpoints", "kind"), ["created"]);
    assert_eq!(list_ids(&api, "").await, [known]);
    candidate(&api, "jane").await;
}

#[tokio::test]
async fn an_application_shows_the_current_state_of_its_role() {
    let api = TestApi::new().await;
    let roles = [open_role(&api).await, open_role(&api).await];
    let id = candidate(&api, "jane").await;
    for role in roles {
        apply(&api, id, role).await.expect(201);
    }
    let page = details(&api, id).await;
    assert_eq!(field_of_each(&page, "applications", "role_id"), [roles[1], roles[0]], "newest first");
    assert_eq!(field_of_each(&page, "applications", "source"), ["api", "api"]);
    api.patch(&format!("/api/v1/roles/{}", roles[0]), json!({ "title": "Captain" })).await.expect(200);
    for (steps, status) in [
        ("pause", "active"),
        ("resume", "active"),
        ("close", "closed"),
        ("reopen", "active"),
        ("publish", "active"),
        ("close", "closed"),
    ] {
        move_role(&api, roles[0], steps).await;
        let page = details(&api, id).await;
        assert_eq!(field_of_each(&page, "applications", "status"), ["active", status], "{steps}");
        assert_eq!(field_of_each(&page, "applications", "role_title"), ["Engineer", "Captain"]);
    }
    let moved = step(&api, id, "reject", json!({})).await.expect(200);
    assert_eq!(
        field_of_each(&moved, "applications", "role_id"),
        [roles[1]],
        "closed applications do not move"
    );
    let page = details(&api, id).await;
    assert_eq!(field_of_each(&page, "applications", "status"), ["rejected", "closed"]);
    move_role(&api, roles[1], "close").await;
    let page = details(&api, id).await;
    assert_eq!(
        field_of_each(&page, "applications", "status"),
        ["rejected", "closed"],
        "a rejection takes precedence over a closed role"
    );
}

#[tokio::test]
async fn a_patch_sets_clears_and_keeps_fields() {
    let api = TestApi::new().await;
    let mut body = person("jane");
    body["phone"] = json!("+14155552671");
    body["resume_url"] = json!("https://example.com");
    let id = api.post(CANDIDATES, body).await.expect(201).number("/id");
    api.clock.set("2026-11-20T10:00:00.750Z");
    let change = json!({ "name": " Janet ", "phone": null, "email": "janet@example.com" });
    let patched = api.patch(&candidate_path(id), change).await.expect(200);
    let expected = json!({
        "id": id, "name": "Janet", "email": "janet@example.com", "phone": null, "resume_url": "https://example.com",
        "stage": "applied", "source": null, "tags": [], "external_id": null, "created_at": NOW,
        "updated_at": "2026-11-20T10:00:00.750Z"
    });
    assert_eq!(patched.body, expected);
    let mut listed = expected;
    listed["application"] = Value::Null;
    assert_eq!(api.get(CANDIDATES).await.body["data"], json!([listed]));
    let page = details(&api, id).await;
    let touchpoint = &page.body["touchpoints"][0];
    let [kind, at_time, actor, detail] = ["kind", "at", "actor", "detail"].map(|field| &touchpoint[field]);
    assert_eq!(
        json!([kind, at_time, actor, detail]),
        json!(["updated", "2026-11-20T10:00:00.750Z", key_actor(ACME, Mode::Live), { "fields": ["name", "email", "phone"] }])
    );
    for (body, messages) in [
        (json!({ "name": null, "email": "" }), &["name can't be blank", "email can't be blank"][..]),
        (json!({ "stage": "offer" }), &["stage is not a known field"]),
        (json!({ "id": 1, "role_id": 1 }), &["id is not a known field", "role_id is not a known field"]),
        (
            json!({ "email": "x", "phone": "x" }),
            &[
                "email must be an e-mail address, such as jane@example.com",
                "phone must be a phone number with its country code, such as +14155552671",
            ],
        ),
    ] {
        assert_eq!(api.patch(&candidate_path(id), body).await.expect(422).messages(), messages);
    }
    assert_eq!(details(&api, id).await.body, page.body);
}

#[tokio::test]
async fn a_patch_without_changes_writes_nothing() {
    let api = TestApi::new().await;
    let mut body = person("jane");
    body["phone"] = json!("+14155552671");
    let created = api.post(CANDIDATES, body).await.expect(201);
    let path = candidate_path(created.number("/id"));
    let page = api.get(&path).await;
    api.clock.set("2026-11-20T10:00:00Z");
    for same in [
        json!({}),
        json!({ "name": " jane " }),
        json!({ "phone": "+1 415 555 2671", "resume_url": null, "email": "jane@example.com" }),
    ] {
        api.dynamodb.take_calls();
        let response = api.patch(&path, same).await.expect(200);
        assert!(api.dynamodb.take_calls().iter().all(|call| call.operation != "TransactWriteItems"));
        assert_eq!((&response.body, response.header("etag")), (&created.body, created.header("etag")));
    }
    assert_eq!(api.get(&path).await.body, page.body);
}

#[tokio::test]
async fn changing_an_email_address_frees_the_old_one() {
    let api = TestApi::new().await;
    let (jane, joe) = (candidate(&api, "jane").await, candidate(&api, "joe").await);
    let change = async |id: u64, email: &str| api.patch(&candidate_path(id), json!({ "email": email })).await;
    let taken = change(joe, "JANE@example.com").await.expect(422);
    assert_eq!((taken.string("/code"), taken.messages()), ("duplicate", vec![IN_USE]));
    assert_eq!(taken.body["existing"], json!({ "type": "candidate", "id": jane }));
    assert_eq!(field_of_each(&details(&api, joe).await, "touchpoints", "kind"), ["created"]);

    assert_eq!(change(jane, "Jane@Example.com").await.expect(200).string("/email"), "Jane@Example.com");
    assert_eq!(
        change(joe, "jane@example.com").await.expect(422).messages(),
        [IN_USE],
        "jane still uses the address"
    );
    change(jane, "jane@elsewhere.com").await.expect(200);
    assert_rejected(&api, json!({ "name": "x", "email": "JANE@elsewhere.com" }), &[IN_USE]).await;
    change(joe, "jane@example.com").await.expect(200);
    candidate(&api, "joe").await;
    assert_eq!(change(jane, "joe@example.com").await.expect(422).messages(), [IN_USE]);
}

#[tokio::test]
async fn a_patch_accepts_the_etag_of_the_candidate_and_of_its_details() {
    let api = TestApi::new().await;
    let role = open_role(&api).await;
    let created = api.post(CANDIDATES, person("jane")).await.expect(201);
    let id = created.number("/id");
    let path = candidate_path(id);
    let patch = async |tag: &str, name: &str| {
        let request = api.request(Method::PATCH, &path).header("if-match", tag);
        request.json(&json!({ "name": name })).send().await
    };
    let posted = created.header("etag").to_owned();
    let first_page = details(&api, id).await.header("etag").to_owned();
    let patched = patch(&posted, "a").await.expect(200).header("etag").to_owned();
    let second_page = details(&api, id).await.header("etag").to_owned();
    for stale in [&posted, &first_page, &format!("W/{patched}"), "\"other\""] {
        for name in ["b", "a"] {
            assert_eq!(patch(stale, name).await.expect(412).string("/code"), "precondition_failed");
        }
    }
    assert_eq!(patch("nonsense", "b").await.expect(400).string("/code"), "bad_request");
    let patched_again = patch(&second_page, "b").await.expect(200).header("etag").to_owned();
    patch(&second_page, "c").await.expect(412);
    patch(&patched, "c").await.expect(412);
    patch(&format!("\"other\", {patched_again}"), "c").await.expect(200);
    patch("*", "d").await.expect(200);

    let page = details(&api, id).await.header("etag").to_owned();
    apply(&api, id, role).await.expect(201);
    patch(&page, "e").await.expect(412);
    let page = details(&api, id).await.header("etag").to_owned();
    let moved =
        step(&api, id, "advance", json!({ "stage": "offer" })).await.expect(200).header("etag").to_owned();
    patch(&page, "e").await.expect(412);
    patch(&moved, "e").await.expect(200);
}

/// Tries every action in every stage and compares the result with the rules.
#[tokio::test]
async fn every_stage_allows_only_the_documented_actions() {
    let api = TestApi::new().await;
    let role = open_role(&api).await;
    let mut actions: Vec<_> = STAGES.map(|stage| ("advance", json!({ "stage": stage }), stage)).to_vec();
    actions.extend([
        ("reject", json!({}), "rejected"),
        ("hire", json!({}), "hired"),
        ("unreject", json!({}), "the stage before rejection"),
        ("unhire", json!({}), "the stage before hire"),
        ("invite_screen", json!({ "role_id": role }), "screening"),
    ]);
    let steps_to_stage = STAGES.map(|stage| (stage, vec![("advance", stage)])).into_iter().chain([
        ("hired", vec![("advance", "offer"), ("hire", "")]),
        ("rejected", vec![("advance", "interview"), ("reject", "")]),
    ]);
    let mut number = 0;
    for (from, steps) in steps_to_stage {
        for (action, body, to) in &actions {
            number += 1;
            let id = candidate(&api, &format!("jane{number}")).await;
            for (action, stage) in steps.iter().filter(|(_, stage)| *stage != "applied") {
                let body = if *action == "advance" { json!({ "stage": stage }) } else { json!({}) };
                step(&api, id, action, body).await.expect(200);
            }
            let before = details(&api, id).await;
            assert_eq!(before.string("/stage"), from);
            let reached = match *action {
                "unreject" => (from == "rejected").then_some("interview"),
                "unhire" => (from == "hired").then_some("offer"),
                _ if !STAGES.contains(&from) => None,
                "advance" => Some(*to).filter(|to| *to != from),
                "invite_screen" => Some(if from == "applied" { *to } else { from }),
                _ => Some(*to),
            };
            let response = step(&api, id, action, body.clone()).await;
            let after = details(&api, id).await;
            if let Some(reached) = reached {
                assert_eq!(
                    response.status,
                    if *action == "invite_screen" { 201 } else { 200 },
                    "{}",
                    response.text
                );
                assert_eq!(after.string("/stage"), reached, "{from} {action}");
                assert!(list_ids(&api, &format!("stage={reached}")).await.contains(&json!(id)));
            } else {
                let response = response.expect(422);
                assert_eq!(response.string("/code"), "invalid_transition");
                assert_eq!(response.messages(), [format!("stage cannot go from {from} to {to}")]);
                assert_eq!(after.body, before.body, "{from} {action}: a rejected action changes nothing");
            }
            let old_stage = if reached.is_some_and(|reached| reached != from) { from } else { "" };
            if !old_stage.is_empty() {
                assert!(!list_ids(&api, &format!("stage={from}")).await.contains(&json!(id)));
            }
        }
    }
    assert_eq!(number, 54);
}

#[tokio::test]
async fn advancing_requires_one_of_the_four_stages() {
    let api = TestApi::new().await;
    let id = candidate(&api, "jane").await;
    let one_of = "stage must be one of applied, screening, interview, offer";
    for (body, messages) in [
        (json!({}), &["stage can't be blank"][..]),
        (json!({ "stage": null }), &["stage can't be blank"]),
        (json!({ "stage": "hired" }), &[one_of]),
        (json!({ "stage": "rejected" }), &[one_of]),
        (json!({ "stage": "Offer" }), &[one_of]),
        (json!({ "stage": "" }), &["stage can't be blank"]),
        (json!({ "stage": 1 }), &[one_of]),
        (json!({ "stage": "moon", "reason": "x" }), &[one_of, "reason is not a known field"]),
        (json!([]), &["body must be a JSON object"]),
    ] {
        let refused = step(&api, id, "advance", body).await.expect(422);
        assert_eq!((refused.string("/code"), refused.messages()), ("validation_failed", messages.to_vec()));
    }
    let moved = step(&api, id, "advance", json!({ "stage": " offer " })).await.expect(200);
    assert_eq!(moved.string("/stage"), "offer", "stages may be skipped");
    step(&api, id, "advance", json!({ "stage": "screening" })).await.expect(200);
    let page = details(&api, id).await;
    assert_eq!(
        field_of_each(&page, "touchpoints", "detail"),
        [
            json!({ "role_id": null, "from": "offer", "to": "screening" }),
            json!({ "role_id": null, "from": "applied", "to": "offer" }),
            json!({ "source": "manual" })
        ]
    );
    assert_eq!(moved.body["applications"], json!([]), "the candidate has no application to change");
    assert_eq!(moved.body.as_object().unwrap().len(), 12);
}

#[tokio::test]
async fn a_rejection_records_its_reason_and_can_be_undone() {
    let api = TestApi::new().await;
    let role = open_role(&api).await;
    let id = candidate(&api, "jane").await;
    apply(&api, id, role).await.expect(201);
    for (body, messages) in [
        (
            json!({ "reason": "r".repeat(501), "notes": "n".repeat(5_001) }),
            &["reason must be at most 500 characters", "notes must be at most 5000 characters"][..],
        ),
        (json!({ "reason": 1, "why": "x" }), &["reason must be a string", "why is not a known field"]),
    ] {
        assert_eq!(step(&api, id, "reject", body).await.expect(422).messages(), messages);
    }
    assert_eq!(
        step(&api, id, "unreject", json!({ "stage": "offer" })).await.expect(422).messages(),
        ["stage is not a known field"]
    );
    for (n, stage) in STAGES.into_iter().enumerate() {
        if n > 0 {
            step(&api, id, "advance", json!({ "stage": stage })).await.expect(200);
        }
        let (reason, notes) = ("é".repeat(500), "字\n".repeat(2_499) + "字");
        api.clock.set("2026-11-20T10:00:00Z");
        let input = json!({ "reason": reason, "notes": if n == 0 { " " } else { &notes } });
        assert_eq!(step(&api, id, "reject", input).await.expect(200).string("/stage"), "rejected");
        let page = details(&api, id).await;
        assert_eq!(
            page.body["touchpoints"][0]["detail"],
            json!({ "role_id": role, "from": stage, "reason": reason, "notes": (n > 0).then_some(notes) })
        );
        assert_eq!(field_of_each(&page, "applications", "rejection_reason"), [json!(reason)]);
        assert_eq!(field_of_each(&page, "applications", "status"), ["rejected"]);
        let back =
            api.request(Method::POST, &format!("{}/unreject", candidate_path(id))).send().await.expect(200);
        assert_eq!((back.string("/stage"), back.string("/updated_at")), (stage, "2026-11-20T10:00:00.000Z"));
        let page = details(&api, id).await;
        assert_eq!(page.body["touchpoints"][0]["kind"], "unrejected");
        assert_eq!(page.body["touchpoints"][0]["detail"], json!({ "role_id": role, "to": stage }));
        assert_eq!(field_of_each(&page, "applications", "status"), ["active"]);
        assert_eq!(field_of_each(&page, "applications", "rejection_reason"), [Value::Null]);
    }
}

#[tokio::test]
async fn a_hire_may_have_a_start_date() {
    let api = TestApi::new().await;
    let role = open_role(&api).await;
    let jane = candidate(&api, "jane").await;
    for bad in [
        json!("2026-02-30"),
        json!("2026-13-01"),
        json!("2026-2-3"),
        json!("20261201"),
        json!("01.12.2026"),
        json!("2026-12-01T00:00:00.000Z"),
        json!("-000001-01-01"),
        json!("0000-01-01"),
        json!("tomorrow"),
    ] {
        let refused = step(&api, jane, "hire", json!({ "start_date": bad })).await.expect(422);
        assert_eq!(refused.messages(), ["start_date must be a date, such as 2026-11-20"], "{bad}");
    }
    let refused =
        step(&api, jane, "hire", json!({ "start_date": 20_261_201, "salary": 1 })).await.expect(422);
    assert_eq!(refused.messages(), ["start_date must be a string", "salary is not a known field"]);
    for (name, body, date) in [
        ("a", json!({ "start_date": "2028-02-29" }), json!("2028-02-29")),
        ("b", json!({ "start_date": null }), Value::Null),
        ("c", json!({}), Value::Null),
    ] {
        let id = candidate(&api, name).await;
        apply(&api, id, role).await.expect(201);
        step(&api, id, "advance", json!({ "stage": "offer" })).await.expect(200);
        assert_eq!(step(&api, id, "hire", body).await.expect(200).string("/stage"), "hired");
        let page = details(&api, id).await;
        assert_eq!(
            page.body["touchpoints"][0]["detail"],
            json!({ "role_id": role, "from": "offer", "start_date": date })
        );
        assert_eq!(field_of_each(&page, "applications", "status"), ["hired"]);
        assert_eq!(field_of_each(&page, "applications", "start_date"), [date]);
        let back = step(&api, id, "unhire", json!({})).await.expect(200);
        assert_eq!((back.string("/stage"), back.string("/applications/0/stage")), ("offer", "offer"));
        assert_eq!(back.body["applications"][0]["start_date"], Value::Null);
        let page = details(&api, id).await;
        assert_eq!(page.string("/touchpoints/0/kind"), "unhired");
        assert_eq!(page.body["touchpoints"][0]["detail"], json!({ "role_id": role, "to": "offer" }));
    }
}

#[tokio::test]
async fn a_candidate_applies_once_per_role_even_when_hired_or_rejected() {
    let api = TestApi::new().await;
    let roles = [open_role(&api).await, open_role(&api).await];
    for (end, name) in [("reject", "rejected"), ("hire", "hired")] {
        let id = candidate(&api, name).await;
        apply(&api, id, roles[0]).await.expect(201);
        step(&api, id, end, json!({})).await.expect(200);
        let created = apply(&api, id, roles[1]).await.expect(201);
        let page = details(&api, id).await;
        assert_eq!(created.body, page.body["applications"][0]);
        assert_eq!(
            created.header("location"),
            format!("{BASE_URL}/api/v1/applications/{}", created.number("/id"))
        );
        assert_eq!(field_of_each(&page, "applications", "status"), ["active", name]);
        assert_eq!(page.string("/stage"), "applied", "the active application was added later");
        for (role, application) in roles.into_iter().zip(["/applications/1/id", "/applications/0/id"]) {
            let again = apply(&api, id, role).await.expect(422);
            assert_eq!(again.string("/code"), "duplicate");
            assert_eq!(again.messages(), ["role_id is a role that the candidate has already applied for"]);
            let existing = json!({ "type": "application", "id": page.number(application) });
            assert_eq!(again.body["existing"], existing);
        }
        assert_eq!(list_ids(&api, &format!("role_id={}&stage={name}", roles[0])).await, [id]);
        assert_eq!(list_ids(&api, &format!("role_id={}&stage={name}", roles[1])).await, [] as [Value; 0]);
        step(&api, id, "reject", json!({})).await.expect(200);
        assert_eq!(details(&api, id).await.string("/stage"), name);
    }
    assert_eq!([applicants(&api, roles[0]).await, applicants(&api, roles[1]).await], [2, 2]);
    let refused =
        step(&api, candidate(&api, "jane").await, "applications", json!({ "role": 1 })).await.expect(422);
    assert_eq!(refused.messages(), ["role_id can't be blank", "role is not a known field"]);
}

/// Existence is checked before validation.
#[tokio::test]
async fn a_missing_candidate_gets_404_before_any_validation() {
    let api = TestApi::new().await;
    let own = candidate(&api, "jane").await;
    let post = |path: &str| api.request(Method::POST, path).key(GLOBEX, Mode::Live);
    let foreign = post(CANDIDATES).json(&person("jane")).send().await.expect(201).number("/id");
    let in_test_mode = api.request(Method::POST, CANDIDATES).key(ACME, Mode::Test);
    let in_test_mode = in_test_mode.json(&person("jane")).send().await.expect(201).number("/id");
    let without_id = |response: Response| {
        let mut body = response.expect(404).body;
        body["request_id"] = Value::Null;
        body
    };
    let routes = ["advance", "reject", "unreject", "hire", "applications", "invite_screen"]
        .map(|action| format!("/{action}"));
    for id in [
        foreign.to_string(),
        in_test_mode.to_string(),
        "9007199254740991".to_owned(),
        "0".to_owned(),
        format!("0{own}"),
        "x".to_owned(),
    ] {
        for body in [json!({ "stage": "offer" }), json!({ "role_id": 1 }), json!({ "nonsense": 1 })] {
            let posts = routes.iter().map(|route| (Method::POST, route.as_str()));
            for (method, route) in
                posts.chain([(Method::PATCH, ""), (Method::GET, ""), (Method::GET, "?x=1")])
            {
                let request = api.request(method, &format!("{CANDIDATES}/{id}{route}"));
                let response = without_id(request.json(&body).send().await);
                assert_eq!(
                    response,
                    json!({ "error": "Not found", "code": "not_found", "request_id": null })
                );
            }
        }
    }
    assert_eq!(list_ids(&api, "").await, [own]);
    let page =
        api.request(Method::GET, &candidate_path(foreign)).key(GLOBEX, Mode::Live).send().await.expect(200);
    assert_eq!(
        (page.string("/stage"), field_of_each(&page, "touchpoints", "kind")),
        ("applied", vec![json!("created")])
    );
}

/// Creates candidates in all stages who have applied for none, one or both of two roles. Returns the roles and, for
/// each filter, the candidates that the list must contain.
async fn create_candidates_in_all_stages(api: &TestApi) -> (Vec<u64>, BTreeMap<String, Vec<u64>>) {
    let roles = vec![open_role(api).await, open_role(api).await];
    let ends = [("rejected", "reject"), ("hired", "hire")];
    let mut lists = BTreeMap::<String, Vec<u64>>::new();
    for n in 0..24_usize {
        let id = candidate(api, &format!("c{n}")).await;
        let stage = STAGES.into_iter().chain(ends.map(|(stage, _)| stage)).nth(n % 6).unwrap();
        let applied: Vec<_> =
            roles.iter().enumerate().filter(|(place, _)| (n / 6) & (1 << place) > 0).collect();
        // Applications for the first role come before the move, applications for the second role after it.
        for (place, role) in &applied {
            if *place == 0 {
                apply(api, id, **role).await.expect(201);
            }
        }
        match ends.into_iter().find(|(end, _)| *end == stage) {
            Some((_, action)) => drop(step(api, id, action, json!({})).await.expect(200)),
            None if n % 6 > 0 => {
                drop(step(api, id, "advance", json!({ "stage": stage })).await.expect(200));
            }
            None => {}
        }
        // An application begins at the stage applied, and the latest active one outweighs an earlier end.
        let is_ended = ends.into_iter().any(|(end, _)| end == stage);
        let derived = match applied[..] {
            [(1, _)] => "applied",
            [_, _] if is_ended => "applied",
            _ => stage,
        };
        let mut filters = vec![String::new(), format!("stage={derived}")];
        for (place, role) in applied {
            if place == 1 {
                apply(api, id, *role).await.expect(201);
            }
            let stage = if place == 0 { stage } else { "applied" };
            filters.extend([format!("role_id={role}"), format!("role_id={role}&stage={stage}")]);
        }
        for filter in filters {
            lists.entry(filter).or_default().insert(0, id);
        }
    }
    (roles, lists)
}

#[tokio::test]
async fn lists_can_be_filtered_by_role_stage_or_both() {
    let api = TestApi::new().await;
    let (roles, lists) = create_candidates_in_all_stages(&api).await;
    assert_eq!(lists.len(), 1 + 6 + 2 + 6 + 1);
    for (query, ids) in &lists {
        let path = format!("{CANDIDATES}?limit=100&{query}");
        let page = api.get(path.trim_end_matches('&')).await.expect(200);
        assert_eq!(field_of_each(&page, "data", "id"), *ids, "{query}");
        assert_eq!(page.body["next_cursor"], Value::Null);
        let pointer = if query.contains("role_id") { "/application/stage" } else { "/stage" };
        let items = page.body["data"].as_array().unwrap();
        for stage in query.split("stage=").skip(1) {
            assert!(items.iter().all(|item| item.pointer(pointer).unwrap() == stage), "{query}");
        }
        assert!(items.iter().all(|item| item["application"].is_null() != query.contains("role_id")));
        for limit in [1, 2, 3, 5] {
            let mut read = Vec::new();
            let mut path = format!("{CANDIDATES}?limit={limit}&{query}");
            path.truncate(path.trim_end_matches('&').len());
            loop {
                let page = api.get(&path).await.expect(200);
                read.extend(field_of_each(&page, "data", "id"));
                let link = page.header("link").strip_prefix(&format!("<{BASE_URL}")).map(str::to_owned);
                assert_eq!(link.is_some(), page.body["next_cursor"].is_string());
                let Some(link) = link else { break };
                path = link.trim_end_matches(">; rel=\"next\"").to_owned();
            }
            assert_eq!(read, *ids, "{query}, {limit} at a time");
        }
    }
    let foreign = api.request(Method::POST, "/api/v1/roles").key(GLOBEX, Mode::Live);
    let foreign = foreign.json(&json!({ "title": "x" })).send().await.expect(201).number("/id");
    for role in [foreign, 1, 9_007_199_254_740_991] {
        for query in [format!("role_id={role}"), format!("role_id={role}&stage=applied")] {
            assert_eq!(list_ids(&api, &query).await, [] as [Value; 0], "{query}");
        }
    }
    let cursor = api
        .get(&format!("{CANDIDATES}?limit=1&role_id={}", roles[0]))
        .await
        .string("/next_cursor")
        .to_owned();
    for other in
        [format!("role_id={}", roles[1]), format!("role_id={}&stage=applied", roles[0]), String::new()]
    {
        api.get(&format!("{CANDIDATES}?{other}&cursor={cursor}").replace("?&", "?")).await.expect(400);
    }
    let stages = "stage must be one of applied, screening, interview, offer, hired, rejected";
    let role_id = "role_id must be a whole number from 1 to 9007199254740991";
    for (query, messages) in [
        ("stage=Applied", &[stages][..]),
        ("stage=", &[stages]),
        ("role_id=x&stage=moon", &[role_id, stages]),
        ("role_id=0", &[role_id]),
        ("role_id=", &[role_id]),
        ("role_id=-1", &[role_id]),
        ("stage=applied&stage=offer", &["stage must be given only once"]),
        (
            "role=1&limit=0",
            &["limit must be a whole number from 1 to 100", "role is not a known query parameter"],
        ),
    ] {
        assert_eq!(
            api.get(&format!("{CANDIDATES}?{query}")).await.expect(422).messages(),
            messages,
            "{query}"
        );
    }
}

/// Sends each POST for one candidate once, and then all of them again with the same idempotency keys.
#[tokio::test]
async fn every_post_takes_effect_once_per_idempotency_key() {
    let api = TestApi::new().await;
    let role = open_role(&api).await;
    let send = async |path: &str, body: &Value| {
        api.request(Method::POST, path).header("idempotency-key", "k").json(body).send().await
    };
    let id = send(CANDIDATES, &person("jane")).await.expect(201).number("/id");
    let requests = [
        (CANDIDATES.to_owned(), person("jane"), 201),
        (format!("{}/advance", candidate_path(id)), json!({ "stage": "interview" }), 200),
        (format!("{}/applications", candidate_path(id)), json!({ "role_id": role }), 201),
        (format!("{}/invite_screen", candidate_path(id)), json!({ "role_id": role }), 201),
        (format!("{}/reject", candidate_path(id)), json!({ "reason": "x" }), 200),
        (format!("{}/unreject", candidate_path(id)), json!({}), 200),
        (format!("{}/hire", candidate_path(id)), json!({ "start_date": "2026-12-01" }), 200),
    ];
    let mut firsts = Vec::new();
    for (path, body, status) in &requests {
        let first = send(path, body).await.expect(*status);
        assert_eq!(first.header("idempotency-replayed"), if path == CANDIDATES { "true" } else { "" });
        firsts.push(first);
    }
    api.clock.set("2026-11-21T09:29:59Z");
    for ((path, body, status), first) in requests.iter().zip(&firsts) {
        let again = send(path, body).await.expect(*status);
        assert_eq!(again.header("idempotency-replayed"), "true", "{path}");
        assert_eq!(again.text, first.text, "{path}");
        for header in ["etag", "location"] {
            assert_eq!(again.header(header), first.header(header), "{path}");
        }
        let other = send(path, &json!({ "nonsense": 1 })).await.expect(422);
        assert_eq!(other.string("/code"), "idempotency_mismatch", "{path}");
    }
    assert_eq!(
        field_of_each(&details(&api, id).await, "touchpoints", "kind"),
        [
            "hired",
            "unrejected",
            "rejected",
            "stage_changed",
            "screen_invited",
            "applied",
            "stage_changed",
            "created"
        ]
    );
    assert_eq!((applicants(&api, role).await, list_ids(&api, "").await), (1, vec![json!(id)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_creations_with_one_key_create_one_candidate() {
    let api = TestApi::new().await;
    let body = person("jane");
    let send = || api.request(Method::POST, CANDIDATES).header("idempotency-key", "k").json(&body).send();
    let responses = join_all((0..20).map(|_| send())).await;
    assert!(responses.iter().all(|response| response.status == 201 && response.body == responses[0].body));
    assert_eq!(list_ids(&api, "").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_one_of_50_concurrent_creations_with_one_email_address_succeeds() {
    let api = TestApi::new().await;
    let role = open_role(&api).await;
    let with_mixed_case = |n: usize| {
        let flip = |(place, c): (usize, char)| {
            if n >> (place % 6) & 1 > 0 { c.to_uppercase().to_string() } else { c.to_string() }
        };
        "jane.doe+x@example.com".chars().enumerate().map(flip).collect::<String>()
    };
    let bodies =
        (0..50).map(|n| json!({ "name": format!("Jane {n}"), "email": with_mixed_case(n), "role_id": role }));
    let responses = join_all(bodies.map(|body| api.post(CANDIDATES, body))).await;
    let (created, refused): (Vec<_>, Vec<_>) = responses.iter().partition(|response| response.status == 201);
    assert_eq!((created.len(), refused.len()), (1, 49));
    for response in refused {
        assert_eq!((response.status, response.messages()), (422, vec![IN_USE]));
    }
    let id = created[0].number("/id");
    assert_eq!((list_ids(&api, "").await, applicants(&api, role).await), (vec![json!(id)], 1));
    assert_eq!(list_ids(&api, &format!("role_id={role}")).await, [id]);
    for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live), (GLOBEX, Mode::Test)] {
        let request = api.request(Method::POST, CANDIDATES).key(demo, mode);
        request.json(&json!({ "name": "Jane", "email": with_mixed_case(0) })).send().await.expect(201);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_email_changes_give_no_address_to_two_candidates() {
    let api = TestApi::new().await;
    let change =
        async |id: u64, email: String| api.patch(&candidate_path(id), json!({ "email": email })).await;
    for round in 0..20 {
        let [a, b, c] = ["a", "b", "c"].map(|name| format!("{name}{round}@example.com"));
        let (one, two) =
            (candidate(&api, &format!("a{round}")).await, candidate(&api, &format!("b{round}")).await);
        let (first, second) = join(change(one, b.clone()), change(two, a.clone())).await;
        assert_eq!(
            [first.expect(422).messages(), second.expect(422).messages()],
            [[IN_USE], [IN_USE]],
            "two candidates cannot swap their e-mail addresses"
        );
        let (first, second) = join(change(one, c.clone()), change(two, a.clone())).await;
        first.expect(200);
        assert!(second.status == 200 || second.messages() == [IN_USE], "{}", second.text);
        let owned = [details(&api, one).await, details(&api, two).await];
        let owned = owned.each_ref().map(|page| page.string("/email"));
        for email in [&a, &b, &c] {
            let taken = api.post(CANDIDATES, json!({ "name": "x", "email": email })).await.status == 422;
            assert_eq!(taken, owned.contains(&email.as_str()), "{email} of {owned:?}");
        }
    }
}

/// A later request finds the e-mail address already in use by the same candidate.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_identical_email_changes_all_succeed() {
    let api = TestApi::new().await;
    for round in 0..20 {
        let id = candidate(&api, &format!("jane{round}")).await;
        let path = candidate_path(id);
        let change = || api.patch(&path, json!({ "email": format!("new{round}@example.com") }));
        for response in join_all((0..3).map(|_| change())).await {
            response.expect(200);
        }
        assert_eq!(field_of_each(&details(&api, id).await, "touchpoints", "kind"), ["updated", "created"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_stage_changes_are_serialized() {
    let api = TestApi::new().await;
    let role = open_role(&api).await;
    for round in 0..20 {
        let id = candidate(&api, &format!("a{round}")).await;
        apply(&api, id, role).await.expect(201);
        let advance = step(&api, id, "advance", json!({ "stage": "offer" }));
        let (advanced, rejected) = join(advance, step(&api, id, "reject", json!({}))).await;
        rejected.expect(200);
        let page = details(&api, id).await;
        assert_eq!(page.string("/stage"), "rejected");
        let kinds = field_of_each(&page, "touchpoints", "kind");
        if advanced.status == 200 {
            assert_eq!(kinds, ["rejected", "stage_changed", "applied", "created"]);
            assert_eq!(page.body["touchpoints"][0]["detail"]["from"], "offer");
        } else {
            assert_eq!(advanced.expect(422).messages(), ["stage cannot go from rejected to offer"]);
            assert_eq!(kinds, ["rejected", "applied", "created"]);
        }

        let id = candidate(&api, &format!("b{round}")).await;
        apply(&api, id, role).await.expect(201);
        let ends = join(step(&api, id, "hire", json!({})), step(&api, id, "reject", json!({}))).await;
        let (reached, refused, other) =
            if ends.0.status == 200 { ("hired", ends.1, "rejected") } else { ("rejected", ends.0, "hired") };
        assert_eq!(refused.expect(422).messages(), [format!("stage cannot go from {reached} to {other}")]);
        let page = details(&api, id).await;
        assert_eq!(page.string("/stage"), reached);
        assert_eq!(field_of_each(&page, "applications", "status"), [reached]);
        assert!(list_ids(&api, &format!("role_id={role}&stage={reached}")).await.contains(&json!(id)));
        assert!(!list_ids(&api, &format!("role_id={role}&stage={other}")).await.contains(&json!(id)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_application_concurrent_with_closing_the_role_is_stored_first_or_rejected() {
    let api = TestApi::new().await;
    for round in 0..20 {
        let role = open_role(&api).await;
        let id = candidate(&api, &format!("a{round}")).await;
        let mut newcomer = person(&format!("b{round}"));
        newcomer["role_id"] = json!(role);
        let path = format!("/api/v1/roles/{role}");
        let applying = join(apply(&api, id, role), api.post(CANDIDATES, newcomer));
        let ((applied, created), closed) = join(applying, api.delete(&path)).await;
        assert_eq!(closed.expect(200).string("/status"), "closed");
        let mut expected = Vec::new();
        for (response, name) in [(applied, "a"), (created, "b")] {
            if response.status == 201 {
                expected.push(name);
            } else {
                let refused = response.expect(422);
                assert_eq!(
                    refused.messages(),
                    ["role_id must be the id of an open role, but this one is closed"]
                );
            }
        }
        let page = api.get(&format!("{CANDIDATES}?role_id={role}")).await.expect(200);
        let mut names = field_of_each(&page, "data", "name");
        // The list is in the order of the applications.
        names.sort_unstable_by_key(Value::to_string);
        assert_eq!(names, expected.iter().map(|name| format!("{name}{round}")).collect::<Vec<_>>());
        assert_eq!(applicants(&api, role).await, expected.len() as u64);
        let statuses = field_of_each(&details(&api, id).await, "applications", "status");
        assert_eq!(statuses, vec!["closed"; usize::from(expected.contains(&"a"))]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_applications_are_each_counted_once() {
    let api = TestApi::new().await;
    let role = open_role(&api).await;
    let names: Vec<_> = (0..20).map(|n| format!("jane{n}")).collect();
    let ids = join_all(names.iter().map(|name| candidate(&api, name))).await;
    for response in join_all(ids.iter().map(|id| apply(&api, *id, role))).await {
        response.expect(201);
    }
    assert_eq!(
        (applicants(&api, role).await, list_ids(&api, &format!("role_id={role}")).await.len()),
        (20, 20)
    );

    for id in ids {
        let role = open_role(&api).await;
        let mut statuses = join_all((0..2).map(|_| apply(&api, id, role)))
            .await
            .iter()
            .map(|response| response.status)
            .collect::<Vec<_>>();
        statuses.sort_unstable();
        assert_eq!((statuses, applicants(&api, role).await), (vec![201, 422], 1));
        assert_eq!(
            field_of_each(&details(&api, id).await, "touchpoints", "kind"),
            ["applied", "applied", "created"]
        );
    }
    let jane = candidate(&api, "jane").await;
    let roles = join_all((0..5).map(|_| open_role(&api))).await;
    for response in join_all(roles.iter().map(|role| apply(&api, jane, *role))).await {
        response.expect(201);
    }
    assert_eq!(field_of_each(&details(&api, jane).await, "applications", "id").len(), 5);
}

/// The client knows neither applications nor `role_id` in moves. It sees a person with one stage.
#[tokio::test]
async fn a_client_without_applications_moves_people_who_have_several() {
    let api = TestApi::new().await;
    let roles = [open_role(&api).await, open_role(&api).await, open_role(&api).await];
    let create = async |name: &str| {
        let mut person = person(name);
        person["role_id"] = json!(roles[0]);
        let id = api.post(CANDIDATES, person).await.expect(201).number("/id");
        for role in &roles[1..] {
            apply(&api, id, *role).await.expect(201);
        }
        step(&api, id, "advance", json!({ "stage": "interview", "role_id": roles[1] })).await.expect(200);
        id
    };
    let moved = async |id: u64, action: &str, body: Value, expected: &str| {
        let response = step(&api, id, action, body).await.expect(200);
        assert_eq!(response.string("/stage"), expected, "{action}");
        assert_eq!(details(&api, id).await.string("/stage"), expected, "{action}");
        assert!(list_ids(&api, &format!("stage={expected}")).await.contains(&json!(id)), "{action}");
    };
    let refused = async |id: u64, action: &str, body: Value| {
        let before = details(&api, id).await.text;
        let response = step(&api, id, action, body).await.expect(422);
        assert_eq!(response.string("/code"), "invalid_transition", "{action}");
        assert_eq!(details(&api, id).await.text, before, "{action}");
    };
    let rejected = create("rejected").await;
    moved(rejected, "advance", json!({ "stage": "screening" }), "screening").await;
    refused(rejected, "advance", json!({ "stage": "screening" })).await;
    moved(rejected, "reject", json!({ "reason": "Salary", "notes": "Later." }), "rejected").await;
    assert_eq!(field_of_each(&details(&api, rejected).await, "applications", "status"), ["rejected"; 3]);
    for (action, body) in
        [("advance", json!({ "stage": "offer" })), ("reject", json!({})), ("hire", json!({}))]
    {
        refused(rejected, action, body).await;
    }
    moved(rejected, "unreject", json!({}), "screening").await;
    moved(rejected, "hire", json!({ "start_date": "2027-01-04" }), "hired").await;

    let hired = create("hired").await;
    moved(hired, "hire", json!({}), "hired").await;
    let detail = details(&api, hired).await;
    assert_eq!(field_of_each(&detail, "applications", "status"), ["active", "hired", "active"]);
    let screen = step(&api, hired, "invite_screen", json!({ "role_id": roles[2] })).await.expect(201);
    assert_eq!(screen.number("/candidate_id"), hired);
    moved(hired, "reject", json!({}), "hired").await;
    refused(hired, "reject", json!({})).await;
    refused(hired, "hire", json!({})).await;
}
