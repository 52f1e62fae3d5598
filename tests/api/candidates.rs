//! Candidates: fields, moves along the pipeline, applications, history, lists, and several requests at once.

use std::collections::BTreeMap;

use futures_util::future::{join, join_all};
use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use tests::{ACME, Answer, BASE_URL, GLOBEX, World};

const CANDIDATES: &str = "/api/v1/candidates";
const ACTOR: &str = "Acme demonstration";
const NOW: &str = "2026-11-20T09:30:00Z";
const STAGES: [&str; 4] = ["applied", "screening", "interview", "offer"];
const IN_USE: &str = "email is already in use";
/// Every status of a role, and the way there.
const ROLES: [(&str, &[&str]); 4] =
    [("draft", &[]), ("open", &["publish"]), ("paused", &["publish", "pause"]), ("closed", &["close"])];

fn at(id: u64) -> String {
    format!("{CANDIDATES}/{id}")
}

async fn role_by(world: &World, way: &[&str]) -> u64 {
    let id = world.post("/api/v1/roles", json!({ "title": "Engineer" })).await.expect(201).number("/id");
    for step in way {
        move_role(world, id, step).await;
    }
    id
}

async fn move_role(world: &World, id: u64, step: &str) {
    let answer = match step {
        "close" => world.delete(&format!("/api/v1/roles/{id}")).await,
        _ => world.post(&format!("/api/v1/roles/{id}/{step}"), json!({})).await,
    };
    answer.expect(200);
}

async fn open_role(world: &World) -> u64 {
    role_by(world, &["publish"]).await
}

fn person(name: &str) -> Value {
    json!({ "name": name, "email": format!("{name}@example.com") })
}

async fn candidate(world: &World, name: &str) -> u64 {
    world.post(CANDIDATES, person(name)).await.expect(201).number("/id")
}

async fn step(world: &World, id: u64, action: &str, body: Value) -> Answer {
    world.post(&format!("{}/{action}", at(id)), body).await
}

async fn apply(world: &World, id: u64, role: u64) -> Answer {
    step(world, id, "applications", json!({ "role_id": role })).await
}

async fn shown(world: &World, id: u64) -> Answer {
    world.get(&at(id)).await.expect(200)
}

async fn applicants(world: &World, role: u64) -> u64 {
    world.get(&format!("/api/v1/roles/{role}/stats")).await.expect(200).number("/applicants")
}

/// One field of every entry of a list.
fn each(answer: &Answer, list: &str, field: &str) -> Vec<Value> {
    answer.body[list].as_array().into_iter().flatten().map(|entry| entry[field].clone()).collect()
}

async fn listed(world: &World, query: &str) -> Vec<Value> {
    each(&world.get(&format!("{CANDIDATES}?limit=100&{query}")).await.expect(200), "data", "id")
}

async fn assert_refused(world: &World, body: Value, messages: &[&str]) {
    let refused = world.post(CANDIDATES, body.clone()).await.expect(422);
    assert_eq!(
        (refused.string("/code"), refused.messages()),
        ("validation_failed", messages.to_vec()),
        "{body}"
    );
}

#[tokio::test]
async fn a_candidate_is_created_with_every_field_and_applies_at_once() {
    let world = World::new().await;
    let role = open_role(&world).await;
    let body = json!({
        "name": "  Jane Doe ", "email": " Jane.Doe+rust@Example.COM ", "phone": "+1 (415) 555-2671",
        "resume_url": "https://example.com/jane.pdf", "role_id": role
    });
    let created = world.post(CANDIDATES, body).await.expect(201);
    let id = created.number("/id");
    let mut expected = json!({
        "id": id, "name": "Jane Doe", "email": "Jane.Doe+rust@Example.COM", "phone": "+14155552671",
        "resume_url": "https://example.com/jane.pdf", "stage": "applied", "created_at": NOW, "updated_at": NOW
    });
    assert_eq!(created.body, expected);
    assert_eq!(created.header("location"), format!("{BASE_URL}{}", at(id)));
    assert_eq!(world.get(CANDIDATES).await.expect(200).body["data"], json!([expected]));

    let page = shown(&world, id).await;
    let application = page.number("/applications/0/id");
    expected["voice_screens"] = json!([]);
    expected["applications"] = json!([{
        "id": application, "role_id": role, "role_title": "Engineer", "status": "active", "source": "manual",
        "applied_at": NOW
    }]);
    expected["touchpoints"] = json!([
        {
            "id": page.number("/touchpoints/0/id"), "kind": "applied", "at": NOW, "actor": ACTOR,
            "detail": { "application_id": application, "role_id": role, "source": "manual" }
        },
        {
            "id": page.number("/touchpoints/1/id"), "kind": "created", "at": NOW, "actor": ACTOR,
            "detail": { "source": "manual" }
        },
    ]);
    assert_eq!(page.body, expected);
    assert!(page.header("etag").starts_with('"') && page.header("etag") != created.header("etag"));
}

#[tokio::test]
async fn what_is_left_out_null_or_blank_is_null() {
    let world = World::new().await;
    for (n, more) in [json!({}), json!({ "phone": null, "resume_url": null, "role_id": null })]
        .into_iter()
        .chain([json!({ "phone": " ", "resume_url": "" })])
        .enumerate()
    {
        let mut body = person(&format!("jane{n}"));
        body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let created = world.post(CANDIDATES, body).await.expect(201);
        for field in ["phone", "resume_url"] {
            assert_eq!(created.body.get(field), Some(&Value::Null), "{field}");
        }
        let page = shown(&world, created.number("/id")).await;
        assert_eq!(each(&page, "touchpoints", "kind"), ["created"]);
        assert_eq!(page.body["applications"], json!([]));
    }
}

#[tokio::test]
async fn every_failure_is_reported_at_once() {
    let world = World::new().await;
    let wrong = json!({
        "name": "", "email": "jane", "phone": "12", "resume_url": "ftp://example.com", "role_id": "7",
        "id": 7, "stage": "offer"
    });
    let failures = [
        "name can't be blank",
        "email must be an e-mail address, such as jane@example.com",
        "phone must be a phone number with its country code, such as +14155552671",
        "resume_url must be an address that begins with http:// or https://",
        "role_id must be a whole number from 1 to 9007199254740991",
        "id is not a known field",
        "stage is not a known field",
    ];
    assert_refused(&world, wrong, &failures).await;
    assert_refused(&world, json!({}), &["name can't be blank", "email can't be blank"]).await;
    let wrong =
        json!({ "name": 1, "email": [], "phone": 4_155_552_671_u64, "resume_url": false, "role_id": 1.5 });
    let failures = [
        "name must be a string",
        "email must be a string",
        "phone must be a string",
        "resume_url must be a string",
        "role_id must be a whole number from 1 to 9007199254740991",
    ];
    assert_refused(&world, wrong, &failures).await;
    let wrong = json!({ "name": "n".repeat(201), "email": "a@b.io", "resume_url": format!("http://b.io/{}", "r".repeat(1_989)) });
    let failures = ["name must be at most 200 characters", "resume_url must be at most 2000 characters"];
    assert_refused(&world, wrong, &failures).await;
    let control = "name must not contain control characters other than newline and tab";
    assert_refused(&world, json!({ "name": "a\u{0}b", "email": "a@b.io" }), &[control]).await;
    assert_eq!(listed(&world, "").await, [] as [Value; 0]);
}

#[tokio::test]
async fn limits_are_in_characters() {
    let world = World::new().await;
    let body = json!({ "name": "🦀".repeat(200), "email": "a@b.io", "resume_url": format!("http://b.io/{}", "r".repeat(1_988)) });
    let created = world.post(CANDIDATES, body.clone()).await.expect(201);
    assert_eq!((&created.body["name"], &created.body["resume_url"]), (&body["name"], &body["resume_url"]));
}

/// An address of `length` characters.
fn address(length: usize) -> String {
    let domain = format!("{}.{}.{}.com", "b".repeat(63), "c".repeat(63), "d".repeat(length - 197));
    format!("{}@{domain}", "a".repeat(64))
}

#[tokio::test]
async fn an_address_is_kept_as_given_and_is_one_in_any_case() {
    let world = World::new().await;
    for (given, other) in [
        ("jane@example.com".to_owned(), "JANE@Example.com".to_owned()),
        ("Jane+Rust@example.com".to_owned(), "jane+rust@EXAMPLE.COM".to_owned()),
        ("o'brien_x-y.z@example.co.uk".to_owned(), "O'BRIEN_x-y.z@example.co.uk".to_owned()),
        ("Jörg@Müller.de".to_owned(), "JÖRG@MÜLLER.DE".to_owned()),
        ("用户@例子.公司".to_owned(), "用户@例子.公司".to_owned()),
        (address(254), address(254).to_uppercase()),
    ] {
        let created = world.post(CANDIDATES, json!({ "name": "x", "email": given })).await.expect(201);
        assert_eq!(created.string("/email"), given);
        for again in [&given, &other] {
            assert_refused(&world, json!({ "name": "x", "email": again }), &[IN_USE]).await;
        }
    }
    assert_eq!(address(255).chars().count(), 255);
    let too_long = json!({ "name": "x", "email": address(255) });
    assert_refused(&world, too_long, &["email must be at most 254 characters"]).await;
    for bad in [
        "jane@",
        "@example.com",
        "jane@localhost",
        "jane doe@example.com",
        "Jane <jane@example.com>",
        "a@b.io, c@d.io",
    ] {
        let no_address = "email must be an e-mail address, such as jane@example.com";
        assert_refused(&world, json!({ "name": "x", "email": bad }), &[no_address]).await;
    }
    for email in [json!(null), json!(""), json!(" \t")] {
        assert_refused(&world, json!({ "name": "x", "email": email }), &["email can't be blank"]).await;
    }
}

#[tokio::test]
async fn a_phone_number_loses_its_punctuation_and_needs_its_country_code() {
    let world = World::new().await;
    for (n, (given, kept)) in [
        ("+14155552671", "+14155552671"),
        (" +1 (415) 555-2671 ", "+14155552671"),
        ("+49\u{a0}30/901820", "+4930901820"),
        ("+44.20.7946.0958", "+442079460958"),
        ("+1234567", "+1234567"),
        ("+123456789012345", "+123456789012345"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = person(&format!("p{n}"));
        body["phone"] = json!(given);
        assert_eq!(world.post(CANDIDATES, body).await.expect(201).string("/phone"), kept);
    }
    for bad in [
        "4155552671",
        "004930901820",
        "+0123456789",
        "+123456",
        "+1234567890123456",
        "+1415CALLNOW",
        "+",
        "++14155552671",
    ] {
        let mut body = person("jane");
        body["phone"] = json!(bad);
        let message = "phone must be a phone number with its country code, such as +14155552671";
        assert_refused(&world, body, &[message]).await;
    }
}

#[tokio::test]
async fn a_resume_is_at_an_http_address() {
    let world = World::new().await;
    for (n, good) in
        ["https://example.com", "HTTP://EXAMPLE.com/cv?x=1#y", "http://例子.公司/简历"].iter().enumerate()
    {
        let mut body = person(&format!("r{n}"));
        body["resume_url"] = json!(good);
        assert_eq!(world.post(CANDIDATES, body).await.expect(201).string("/resume_url"), *good);
    }
    for bad in [
        "example.com/cv.pdf",
        "ftp://example.com",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://",
        "https://a b.com",
    ] {
        let mut body = person("jane");
        body["resume_url"] = json!(bad);
        assert_refused(&world, body, &["resume_url must be an address that begins with http:// or https://"])
            .await;
    }
}

#[tokio::test]
async fn only_an_open_role_of_ones_own_is_applied_for_and_a_refusal_leaves_nothing_behind() {
    let world = World::new().await;
    let known = candidate(&world, "known").await;
    let mut wrong = vec![(9_007_199_254_740_991, "role_id must be the id of a role".to_owned())];
    for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live)] {
        let post = |path: &str| world.request(Method::POST, path).key(demo, mode);
        let foreign =
            post("/api/v1/roles").json(&json!({ "title": "x" })).send().await.expect(201).number("/id");
        post(&format!("/api/v1/roles/{foreign}/publish")).send().await.expect(200);
        wrong.push((foreign, "role_id must be the id of a role".to_owned()));
    }
    for (status, way) in ROLES.into_iter().filter(|(status, _)| *status != "open") {
        let message = format!("role_id must be the id of an open role, and this one is {status}");
        wrong.push((role_by(&world, way).await, message));
    }
    for (role, message) in wrong {
        let mut body = person("jane");
        body["role_id"] = json!(role);
        assert_refused(&world, body, &[&message]).await;
        let refused = apply(&world, known, role).await.expect(422);
        assert_eq!(
            (refused.string("/code"), refused.messages()),
            ("validation_failed", vec![message.as_str()])
        );
        assert_eq!(listed(&world, &format!("role_id={role}")).await, [] as [Value; 0]);
    }
    assert_eq!(each(&shown(&world, known).await, "touchpoints", "kind"), ["created"]);
    assert_eq!(listed(&world, "").await, [known]);
    candidate(&world, "jane").await;
}

#[tokio::test]
async fn an_application_shows_the_role_as_it_is_now() {
    let world = World::new().await;
    let roles = [open_role(&world).await, open_role(&world).await];
    let id = candidate(&world, "jane").await;
    for role in roles {
        apply(&world, id, role).await.expect(201);
    }
    let page = shown(&world, id).await;
    assert_eq!(each(&page, "applications", "role_id"), [roles[1], roles[0]], "newest first");
    assert_eq!(each(&page, "applications", "source"), ["api", "api"]);
    world.patch(&format!("/api/v1/roles/{}", roles[0]), json!({ "title": "Captain" })).await.expect(200);
    for (way, status) in [
        ("pause", "active"),
        ("resume", "active"),
        ("close", "closed"),
        ("reopen", "active"),
        ("publish", "active"),
        ("close", "closed"),
    ] {
        move_role(&world, roles[0], way).await;
        let page = shown(&world, id).await;
        assert_eq!(each(&page, "applications", "status"), ["active", status], "{way}");
        assert_eq!(each(&page, "applications", "role_title"), ["Engineer", "Captain"]);
    }
    step(&world, id, "reject", json!({})).await.expect(200);
    let page = shown(&world, id).await;
    assert_eq!(each(&page, "applications", "status"), ["rejected", "rejected"], "closed or not");
    step(&world, id, "unreject", json!({})).await.expect(200);
    assert_eq!(each(&shown(&world, id).await, "applications", "status"), ["active", "closed"]);
}

#[tokio::test]
async fn a_patch_sets_clears_and_leaves() {
    let world = World::new().await;
    let mut body = person("jane");
    body["phone"] = json!("+14155552671");
    body["resume_url"] = json!("https://example.com");
    let id = world.post(CANDIDATES, body).await.expect(201).number("/id");
    world.hands.set("2026-11-20T10:00:00.750Z");
    let change = json!({ "name": " Janet ", "phone": null, "email": "janet@example.com" });
    let patched = world.patch(&at(id), change).await.expect(200);
    let expected = json!({
        "id": id, "name": "Janet", "email": "janet@example.com", "phone": null, "resume_url": "https://example.com",
        "stage": "applied", "created_at": NOW, "updated_at": "2026-11-20T10:00:00Z"
    });
    assert_eq!(patched.body, expected);
    assert_eq!(world.get(CANDIDATES).await.body["data"], json!([expected]));
    let page = shown(&world, id).await;
    let touchpoint = &page.body["touchpoints"][0];
    let [kind, at_time, actor, detail] = ["kind", "at", "actor", "detail"].map(|field| &touchpoint[field]);
    assert_eq!(
        json!([kind, at_time, actor, detail]),
        json!(["updated", "2026-11-20T10:00:00Z", ACTOR, { "fields": ["name", "email", "phone"] }])
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
        assert_eq!(world.patch(&at(id), body).await.expect(422).messages(), messages);
    }
    assert_eq!(shown(&world, id).await.body, page.body);
}

#[tokio::test]
async fn a_patch_that_changes_nothing_writes_nothing() {
    let world = World::new().await;
    let mut body = person("jane");
    body["phone"] = json!("+14155552671");
    let created = world.post(CANDIDATES, body).await.expect(201);
    let path = at(created.number("/id"));
    let page = world.get(&path).await;
    world.hands.set("2026-11-20T10:00:00Z");
    for same in [
        json!({}),
        json!({ "name": " jane " }),
        json!({ "phone": "+1 415 555 2671", "resume_url": null, "email": "jane@example.com" }),
    ] {
        world.wire.take();
        let answer = world.patch(&path, same).await.expect(200);
        assert!(world.wire.take().iter().all(|call| call.operation != "TransactWriteItems"));
        assert_eq!((&answer.body, answer.header("etag")), (&created.body, created.header("etag")));
    }
    assert_eq!(world.get(&path).await.body, page.body);
}

#[tokio::test]
async fn a_new_address_is_claimed_and_the_old_one_free_again() {
    let world = World::new().await;
    let (jane, joe) = (candidate(&world, "jane").await, candidate(&world, "joe").await);
    let change = async |id: u64, email: &str| world.patch(&at(id), json!({ "email": email })).await;
    let taken = change(joe, "JANE@example.com").await.expect(422);
    assert_eq!((taken.string("/code"), taken.messages()), ("validation_failed", vec![IN_USE]));
    assert_eq!(each(&shown(&world, joe).await, "touchpoints", "kind"), ["created"]);

    assert_eq!(change(jane, "Jane@Example.com").await.expect(200).string("/email"), "Jane@Example.com");
    assert_eq!(change(joe, "jane@example.com").await.expect(422).messages(), [IN_USE], "still hers");
    change(jane, "jane@elsewhere.com").await.expect(200);
    assert_refused(&world, json!({ "name": "x", "email": "JANE@elsewhere.com" }), &[IN_USE]).await;
    change(joe, "jane@example.com").await.expect(200);
    candidate(&world, "joe").await;
    assert_eq!(change(jane, "joe@example.com").await.expect(422).messages(), [IN_USE]);
}

#[tokio::test]
async fn a_patch_honours_the_tag_of_a_candidate_and_of_its_page() {
    let world = World::new().await;
    let role = open_role(&world).await;
    let created = world.post(CANDIDATES, person("jane")).await.expect(201);
    let id = created.number("/id");
    let path = at(id);
    let patch = async |tag: &str, name: &str| {
        let ask = world.request(Method::PATCH, &path).header("if-match", tag);
        ask.json(&json!({ "name": name })).send().await
    };
    let posted = created.header("etag").to_owned();
    let first_page = shown(&world, id).await.header("etag").to_owned();
    let patched = patch(&posted, "a").await.expect(200).header("etag").to_owned();
    let second_page = shown(&world, id).await.header("etag").to_owned();
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

    let page = shown(&world, id).await.header("etag").to_owned();
    apply(&world, id, role).await.expect(201);
    patch(&page, "e").await.expect(412);
    let page = shown(&world, id).await.header("etag").to_owned();
    let moved =
        step(&world, id, "advance", json!({ "stage": "offer" })).await.expect(200).header("etag").to_owned();
    patch(&page, "e").await.expect(412);
    patch(&moved, "e").await.expect(200);
}

/// Every stage meets every action, as the contract has them.
#[tokio::test]
async fn every_action_from_every_stage() {
    let world = World::new().await;
    let role = open_role(&world).await;
    let mut actions: Vec<_> = STAGES.map(|stage| ("advance", json!({ "stage": stage }), stage)).to_vec();
    actions.extend([
        ("reject", json!({}), "rejected"),
        ("hire", json!({}), "hired"),
        ("unreject", json!({}), "the one before rejected"),
        ("invite_screen", json!({ "role_id": role }), "screening"),
    ]);
    let ways = STAGES
        .map(|stage| (stage, vec![("advance", stage)]))
        .into_iter()
        .chain([("hired", vec![("hire", "")]), ("rejected", vec![("advance", "interview"), ("reject", "")])]);
    let mut number = 0;
    for (from, way) in ways {
        for (action, body, to) in &actions {
            number += 1;
            let id = candidate(&world, &format!("jane{number}")).await;
            for (action, stage) in way.iter().filter(|(_, stage)| *stage != "applied") {
                let body = if *action == "advance" { json!({ "stage": stage }) } else { json!({}) };
                step(&world, id, action, body).await.expect(200);
            }
            let before = shown(&world, id).await;
            assert_eq!(before.string("/stage"), from);
            let reached = match *action {
                "unreject" => (from == "rejected").then_some("interview"),
                _ if !STAGES.contains(&from) => None,
                "advance" => Some(*to).filter(|to| *to != from),
                "invite_screen" => Some(if from == "applied" { *to } else { from }),
                _ => Some(*to),
            };
            let answer = step(&world, id, action, body.clone()).await;
            let after = shown(&world, id).await;
            if let Some(reached) = reached {
                assert_eq!(
                    answer.status,
                    if *action == "invite_screen" { 201 } else { 200 },
                    "{}",
                    answer.text
                );
                assert_eq!(after.string("/stage"), reached, "{from} {action}");
                assert!(listed(&world, &format!("stage={reached}")).await.contains(&json!(id)));
            } else {
                let answer = answer.expect(422);
                assert_eq!(answer.string("/code"), "invalid_transition");
                assert_eq!(answer.messages(), [format!("stage cannot go from {from} to {to}")]);
                assert_eq!(after.body, before.body, "{from} {action}: nothing has changed");
            }
            let elsewhere = if reached.is_some_and(|reached| reached != from) { from } else { "" };
            if !elsewhere.is_empty() {
                assert!(!listed(&world, &format!("stage={from}")).await.contains(&json!(id)));
            }
        }
    }
    assert_eq!(number, 48);
}

#[tokio::test]
async fn advancing_takes_one_of_the_four_stages() {
    let world = World::new().await;
    let id = candidate(&world, "jane").await;
    let one_of = "stage must be one of applied, screening, interview, offer";
    for (body, messages) in [
        (json!({}), &["stage can't be blank"][..]),
        (json!({ "stage": null }), &["stage can't be blank"]),
        (json!({ "stage": "hired" }), &[one_of]),
        (json!({ "stage": "rejected" }), &[one_of]),
        (json!({ "stage": "Offer" }), &[one_of]),
        (json!({ "stage": "" }), &[one_of]),
        (json!({ "stage": 1 }), &[one_of]),
        (json!({ "stage": "moon", "reason": "x" }), &[one_of, "reason is not a known field"]),
        (json!([]), &["body must be a JSON object"]),
    ] {
        let refused = step(&world, id, "advance", body).await.expect(422);
        assert_eq!((refused.string("/code"), refused.messages()), ("validation_failed", messages.to_vec()));
    }
    let moved = step(&world, id, "advance", json!({ "stage": " offer " })).await.expect(200);
    assert_eq!(moved.string("/stage"), "offer", "stages may be skipped");
    step(&world, id, "advance", json!({ "stage": "screening" })).await.expect(200);
    let page = shown(&world, id).await;
    assert_eq!(
        each(&page, "touchpoints", "detail"),
        [
            json!({ "from": "offer", "to": "screening" }),
            json!({ "from": "applied", "to": "offer" }),
            json!({ "source": "manual" })
        ]
    );
    assert_eq!(moved.body.as_object().unwrap().len(), 8, "the candidate alone");
}

#[tokio::test]
async fn a_rejection_says_why_and_is_taken_back_to_the_stage_before() {
    let world = World::new().await;
    let role = open_role(&world).await;
    let id = candidate(&world, "jane").await;
    apply(&world, id, role).await.expect(201);
    for (body, messages) in [
        (
            json!({ "reason": "r".repeat(501), "notes": "n".repeat(5_001) }),
            &["reason must be at most 500 characters", "notes must be at most 5000 characters"][..],
        ),
        (json!({ "reason": 1, "why": "x" }), &["reason must be a string", "why is not a known field"]),
    ] {
        assert_eq!(step(&world, id, "reject", body).await.expect(422).messages(), messages);
    }
    assert_eq!(
        step(&world, id, "unreject", json!({ "stage": "offer" })).await.expect(422).messages(),
        ["stage is not a known field"]
    );
    for (n, stage) in STAGES.into_iter().enumerate() {
        if n > 0 {
            step(&world, id, "advance", json!({ "stage": stage })).await.expect(200);
        }
        let (reason, notes) = ("é".repeat(500), "字\n".repeat(2_499) + "字");
        world.hands.set("2026-11-20T10:00:00Z");
        let given = json!({ "reason": reason, "notes": if n == 0 { " " } else { &notes } });
        assert_eq!(step(&world, id, "reject", given).await.expect(200).string("/stage"), "rejected");
        let page = shown(&world, id).await;
        assert_eq!(
            page.body["touchpoints"][0]["detail"],
            json!({ "from": stage, "reason": reason, "notes": (n > 0).then_some(notes) })
        );
        assert_eq!(each(&page, "applications", "status"), ["rejected"]);
        let back = world.request(Method::POST, &format!("{}/unreject", at(id))).send().await.expect(200);
        assert_eq!((back.string("/stage"), back.string("/updated_at")), (stage, "2026-11-20T10:00:00Z"));
        let page = shown(&world, id).await;
        assert_eq!(page.body["touchpoints"][0]["kind"], "unrejected");
        assert_eq!(page.body["touchpoints"][0]["detail"], json!({ "to": stage }));
        assert_eq!(each(&page, "applications", "status"), ["active"]);
    }
}

#[tokio::test]
async fn a_hire_may_say_when_the_work_begins() {
    let world = World::new().await;
    let role = open_role(&world).await;
    let jane = candidate(&world, "jane").await;
    for bad in [
        json!("2026-02-30"),
        json!("2026-13-01"),
        json!("2026-2-3"),
        json!("20261201"),
        json!("01.12.2026"),
        json!("2026-12-01T00:00:00Z"),
        json!("-000001-01-01"),
        json!("0000-01-01"),
        json!("tomorrow"),
    ] {
        let refused = step(&world, jane, "hire", json!({ "start_date": bad })).await.expect(422);
        assert_eq!(refused.messages(), ["start_date must be a date, such as 2026-11-20"], "{bad}");
    }
    let refused =
        step(&world, jane, "hire", json!({ "start_date": 20_261_201, "salary": 1 })).await.expect(422);
    assert_eq!(refused.messages(), ["start_date must be a string", "salary is not a known field"]);
    for (name, body, date) in [
        ("a", json!({ "start_date": "2028-02-29" }), json!("2028-02-29")),
        ("b", json!({ "start_date": null }), Value::Null),
        ("c", json!({}), Value::Null),
    ] {
        let id = candidate(&world, name).await;
        apply(&world, id, role).await.expect(201);
        step(&world, id, "advance", json!({ "stage": "offer" })).await.expect(200);
        assert_eq!(step(&world, id, "hire", body).await.expect(200).string("/stage"), "hired");
        let page = shown(&world, id).await;
        assert_eq!(page.body["touchpoints"][0]["detail"], json!({ "from": "offer", "start_date": date }));
        assert_eq!(each(&page, "applications", "status"), ["hired"]);
    }
}

#[tokio::test]
async fn a_candidate_applies_once_for_a_role_even_at_an_end() {
    let world = World::new().await;
    let roles = [open_role(&world).await, open_role(&world).await];
    for (end, name) in [("reject", "rejected"), ("hire", "hired")] {
        let id = candidate(&world, name).await;
        apply(&world, id, roles[0]).await.expect(201);
        step(&world, id, end, json!({})).await.expect(200);
        let created = apply(&world, id, roles[1]).await.expect(201);
        let page = shown(&world, id).await;
        assert_eq!(created.body, page.body["applications"][0]);
        assert_eq!(created.body.as_object().unwrap().len(), 6);
        assert_eq!(created.header("location"), "");
        assert_eq!(each(&page, "applications", "status"), ["active", name]);
        assert_eq!(page.string("/stage"), name, "applying moves nobody");
        for role in roles {
            let again = apply(&world, id, role).await.expect(422);
            assert_eq!(again.string("/code"), "validation_failed");
            assert_eq!(again.messages(), ["role_id is a role that the candidate has applied for already"]);
        }
        assert_eq!(listed(&world, &format!("role_id={}&stage={name}", roles[1])).await, [id]);
    }
    assert_eq!([applicants(&world, roles[0]).await, applicants(&world, roles[1]).await], [2, 2]);
    let refused =
        step(&world, candidate(&world, "jane").await, "applications", json!({ "role": 1 })).await.expect(422);
    assert_eq!(refused.messages(), ["role_id can't be blank", "role is not a known field"]);
}

/// Whose existence is known comes before what is wrong with the request.
#[tokio::test]
async fn what_is_not_there_is_not_found_whatever_is_asked() {
    let world = World::new().await;
    let mine = candidate(&world, "jane").await;
    let post = |path: &str| world.request(Method::POST, path).key(GLOBEX, Mode::Live);
    let foreign = post(CANDIDATES).json(&person("jane")).send().await.expect(201).number("/id");
    let testing = world.request(Method::POST, CANDIDATES).key(ACME, Mode::Test);
    let testing = testing.json(&person("jane")).send().await.expect(201).number("/id");
    let without_id = |answer: Answer| {
        let mut body = answer.expect(404).body;
        body["request_id"] = Value::Null;
        body
    };
    let routes = ["advance", "reject", "unreject", "hire", "applications", "invite_screen"]
        .map(|action| format!("/{action}"));
    for id in [
        foreign.to_string(),
        testing.to_string(),
        "9007199254740991".to_owned(),
        "0".to_owned(),
        format!("0{mine}"),
        "x".to_owned(),
    ] {
        for body in [json!({ "stage": "offer" }), json!({ "role_id": 1 }), json!({ "nonsense": 1 })] {
            let asked = routes.iter().map(|route| (Method::POST, route.as_str()));
            for (method, route) in
                asked.chain([(Method::PATCH, ""), (Method::GET, ""), (Method::GET, "?x=1")])
            {
                let ask = world.request(method, &format!("{CANDIDATES}/{id}{route}"));
                let answer = without_id(ask.json(&body).send().await);
                assert_eq!(answer, json!({ "error": "Not found", "code": "not_found", "request_id": null }));
            }
        }
    }
    assert_eq!(listed(&world, "").await, [mine]);
    let page = world.request(Method::GET, &at(foreign)).key(GLOBEX, Mode::Live).send().await.expect(200);
    assert_eq!(
        (page.string("/stage"), each(&page, "touchpoints", "kind")),
        ("applied", vec![json!("created")])
    );
}

/// Candidates in all stages, with none, one or both of two roles; and who must be in which list.
async fn crowd(world: &World) -> (Vec<u64>, BTreeMap<String, Vec<u64>>) {
    let roles = vec![open_role(world).await, open_role(world).await];
    let ends = [("rejected", "reject"), ("hired", "hire")];
    let mut lists = BTreeMap::<String, Vec<u64>>::new();
    for n in 0..24_usize {
        let id = candidate(world, &format!("c{n}")).await;
        let stage = STAGES.into_iter().chain(ends.map(|(stage, _)| stage)).nth(n % 6).unwrap();
        let applied: Vec<_> =
            roles.iter().enumerate().filter(|(place, _)| (n / 6) & (1 << place) > 0).collect();
        // Half of the applications come before the move, half after it.
        for (place, role) in &applied {
            if *place == 0 {
                apply(world, id, **role).await.expect(201);
            }
        }
        match ends.into_iter().find(|(end, _)| *end == stage) {
            Some((_, action)) => drop(step(world, id, action, json!({})).await.expect(200)),
            None if n % 6 > 0 => {
                drop(step(world, id, "advance", json!({ "stage": stage })).await.expect(200));
            }
            None => {}
        }
        let mut filters = vec![String::new(), format!("stage={stage}")];
        for (place, role) in applied {
            if place == 1 {
                apply(world, id, *role).await.expect(201);
            }
            filters.extend([format!("role_id={role}"), format!("role_id={role}&stage={stage}")]);
        }
        for filter in filters {
            lists.entry(filter).or_default().insert(0, id);
        }
    }
    (roles, lists)
}

#[tokio::test]
async fn lists_are_filtered_by_role_and_stage_alone_and_together() {
    let world = World::new().await;
    let (roles, lists) = crowd(&world).await;
    assert_eq!(lists.len(), 1 + 6 + 2 + 12);
    for (query, ids) in &lists {
        let path = format!("{CANDIDATES}?limit=100&{query}");
        let page = world.get(path.trim_end_matches('&')).await.expect(200);
        assert_eq!(each(&page, "data", "id"), *ids, "{query}");
        assert_eq!(page.body["next_cursor"], Value::Null);
        let stages = each(&page, "data", "stage");
        assert!(query.split("stage=").nth(1).is_none_or(|stage| stages.iter().all(|shown| shown == stage)));
        for limit in [1, 2, 3, 5] {
            let mut read = Vec::new();
            let mut path = format!("{CANDIDATES}?limit={limit}&{query}");
            path.truncate(path.trim_end_matches('&').len());
            loop {
                let page = world.get(&path).await.expect(200);
                read.extend(each(&page, "data", "id"));
                let link = page.header("link").strip_prefix(&format!("<{BASE_URL}")).map(str::to_owned);
                assert_eq!(link.is_some(), page.body["next_cursor"].is_string());
                let Some(link) = link else { break };
                path = link.trim_end_matches(">; rel=\"next\"").to_owned();
            }
            assert_eq!(read, *ids, "{query}, {limit} at a time");
        }
    }
    let foreign = world.request(Method::POST, "/api/v1/roles").key(GLOBEX, Mode::Live);
    let foreign = foreign.json(&json!({ "title": "x" })).send().await.expect(201).number("/id");
    for role in [foreign, 1, 9_007_199_254_740_991] {
        for query in [format!("role_id={role}"), format!("role_id={role}&stage=applied")] {
            assert_eq!(listed(&world, &query).await, [] as [Value; 0], "{query}");
        }
    }
    let cursor = world
        .get(&format!("{CANDIDATES}?limit=1&role_id={}", roles[0]))
        .await
        .string("/next_cursor")
        .to_owned();
    for other in
        [format!("role_id={}", roles[1]), format!("role_id={}&stage=applied", roles[0]), String::new()]
    {
        world.get(&format!("{CANDIDATES}?{other}&cursor={cursor}").replace("?&", "?")).await.expect(400);
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
        ("stage=applied&stage=offer", &["stage must be given once"]),
        ("role=1&limit=0", &["limit must be a whole number from 1 to 100", "role is not a known field"]),
    ] {
        assert_eq!(
            world.get(&format!("{CANDIDATES}?{query}")).await.expect(422).messages(),
            messages,
            "{query}"
        );
    }
}

/// Every POST, one after the other on one candidate, each sent again at once and at the end.
#[tokio::test]
async fn every_post_happens_once_for_its_idempotency_key() {
    let world = World::new().await;
    let role = open_role(&world).await;
    let send = async |path: &str, body: &Value| {
        world.request(Method::POST, path).header("idempotency-key", "k").json(body).send().await
    };
    let id = send(CANDIDATES, &person("jane")).await.expect(201).number("/id");
    let requests = [
        (CANDIDATES.to_owned(), person("jane"), 201),
        (format!("{}/advance", at(id)), json!({ "stage": "interview" }), 200),
        (format!("{}/applications", at(id)), json!({ "role_id": role }), 201),
        (format!("{}/invite_screen", at(id)), json!({ "role_id": role }), 201),
        (format!("{}/reject", at(id)), json!({ "reason": "x" }), 200),
        (format!("{}/unreject", at(id)), json!({}), 200),
        (format!("{}/hire", at(id)), json!({ "start_date": "2026-12-01" }), 200),
    ];
    let mut firsts = Vec::new();
    for (path, body, status) in &requests {
        let first = send(path, body).await.expect(*status);
        assert_eq!(first.header("idempotency-replayed"), if path == CANDIDATES { "true" } else { "" });
        firsts.push(first);
    }
    world.hands.set("2026-11-21T09:29:59Z");
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
        each(&shown(&world, id).await, "touchpoints", "kind"),
        ["hired", "unrejected", "rejected", "screen_invited", "applied", "stage_changed", "created"]
    );
    assert_eq!((applicants(&world, role).await, listed(&world, "").await), (1, vec![json!(id)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_creation_sent_many_times_at_once_is_one_candidate() {
    let world = World::new().await;
    let body = person("jane");
    let send = || world.request(Method::POST, CANDIDATES).header("idempotency-key", "k").json(&body).send();
    let answers = join_all((0..20).map(|_| send())).await;
    assert!(answers.iter().all(|answer| answer.status == 201 && answer.body == answers[0].body));
    assert_eq!(listed(&world, "").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_fifty_with_one_address_at_once_one_gets_it() {
    let world = World::new().await;
    let role = open_role(&world).await;
    let spelled = |n: usize| {
        let flip = |(place, c): (usize, char)| {
            if n >> (place % 6) & 1 > 0 { c.to_uppercase().to_string() } else { c.to_string() }
        };
        "jane.doe+x@example.com".chars().enumerate().map(flip).collect::<String>()
    };
    let bodies =
        (0..50).map(|n| json!({ "name": format!("Jane {n}"), "email": spelled(n), "role_id": role }));
    let answers = join_all(bodies.map(|body| world.post(CANDIDATES, body))).await;
    let (created, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 201);
    assert_eq!((created.len(), refused.len()), (1, 49));
    for answer in refused {
        assert_eq!((answer.status, answer.messages()), (422, vec![IN_USE]));
    }
    let id = created[0].number("/id");
    assert_eq!((listed(&world, "").await, applicants(&world, role).await), (vec![json!(id)], 1));
    assert_eq!(listed(&world, &format!("role_id={role}")).await, [id]);
    for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live), (GLOBEX, Mode::Test)] {
        let ask = world.request(Method::POST, CANDIDATES).key(demo, mode);
        ask.json(&json!({ "name": "Jane", "email": spelled(0) })).send().await.expect(201);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn addresses_that_change_hands_at_once_have_one_owner_each() {
    let world = World::new().await;
    let change = async |id: u64, email: String| world.patch(&at(id), json!({ "email": email })).await;
    for round in 0..20 {
        let [a, b, c] = ["a", "b", "c"].map(|name| format!("{name}{round}@example.com"));
        let (one, two) =
            (candidate(&world, &format!("a{round}")).await, candidate(&world, &format!("b{round}")).await);
        let (first, second) = join(change(one, b.clone()), change(two, a.clone())).await;
        assert_eq!(
            [first.expect(422).messages(), second.expect(422).messages()],
            [[IN_USE], [IN_USE]],
            "a swap"
        );
        let (first, second) = join(change(one, c.clone()), change(two, a.clone())).await;
        first.expect(200);
        assert!(second.status == 200 || second.messages() == [IN_USE], "{}", second.text);
        let owned = [shown(&world, one).await, shown(&world, two).await];
        let owned = owned.each_ref().map(|page| page.string("/email"));
        for email in [&a, &b, &c] {
            let taken = world.post(CANDIDATES, json!({ "name": "x", "email": email })).await.status == 422;
            assert_eq!(taken, owned.contains(&email.as_str()), "{email} of {owned:?}");
        }
    }
}

/// The second finds its wish fulfilled: the address is in use, but by the candidate itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_change_of_address_twice_at_once_succeeds_twice() {
    let world = World::new().await;
    for round in 0..20 {
        let id = candidate(&world, &format!("jane{round}")).await;
        let path = at(id);
        let change = || world.patch(&path, json!({ "email": format!("new{round}@example.com") }));
        for answer in join_all((0..3).map(|_| change())).await {
            answer.expect(200);
        }
        assert_eq!(each(&shown(&world, id).await, "touchpoints", "kind"), ["updated", "created"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_moves_at_once_come_one_after_the_other() {
    let world = World::new().await;
    let role = open_role(&world).await;
    for round in 0..20 {
        let id = candidate(&world, &format!("a{round}")).await;
        apply(&world, id, role).await.expect(201);
        let advance = step(&world, id, "advance", json!({ "stage": "offer" }));
        let (advanced, rejected) = join(advance, step(&world, id, "reject", json!({}))).await;
        rejected.expect(200);
        let page = shown(&world, id).await;
        assert_eq!(page.string("/stage"), "rejected");
        let kinds = each(&page, "touchpoints", "kind");
        if advanced.status == 200 {
            assert_eq!(kinds, ["rejected", "stage_changed", "applied", "created"]);
            assert_eq!(page.body["touchpoints"][0]["detail"]["from"], "offer");
        } else {
            assert_eq!(advanced.expect(422).messages(), ["stage cannot go from rejected to offer"]);
            assert_eq!(kinds, ["rejected", "applied", "created"]);
        }

        let id = candidate(&world, &format!("b{round}")).await;
        apply(&world, id, role).await.expect(201);
        let ends = join(step(&world, id, "hire", json!({})), step(&world, id, "reject", json!({}))).await;
        let (reached, refused, other) =
            if ends.0.status == 200 { ("hired", ends.1, "rejected") } else { ("rejected", ends.0, "hired") };
        assert_eq!(refused.expect(422).messages(), [format!("stage cannot go from {reached} to {other}")]);
        let page = shown(&world, id).await;
        assert_eq!(page.string("/stage"), reached);
        assert_eq!(each(&page, "applications", "status"), [reached]);
        assert!(listed(&world, &format!("role_id={role}&stage={reached}")).await.contains(&json!(id)));
        assert!(!listed(&world, &format!("role_id={role}&stage={other}")).await.contains(&json!(id)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn applying_while_the_role_closes_happens_before_or_not_at_all() {
    let world = World::new().await;
    for round in 0..20 {
        let role = open_role(&world).await;
        let id = candidate(&world, &format!("a{round}")).await;
        let mut newcomer = person(&format!("b{round}"));
        newcomer["role_id"] = json!(role);
        let path = format!("/api/v1/roles/{role}");
        let applying = join(apply(&world, id, role), world.post(CANDIDATES, newcomer));
        let ((applied, created), closed) = join(applying, world.delete(&path)).await;
        assert_eq!(closed.expect(200).string("/status"), "closed");
        let mut expected = Vec::new();
        for (answer, name) in [(applied, "a"), (created, "b")] {
            if answer.status == 201 {
                expected.push(name);
            } else {
                let refused = answer.expect(422);
                assert_eq!(
                    refused.messages(),
                    ["role_id must be the id of an open role, and this one is closed"]
                );
            }
        }
        let page = world.get(&format!("{CANDIDATES}?role_id={role}")).await.expect(200);
        let mut names = each(&page, "data", "name");
        names.reverse();
        assert_eq!(names, expected.iter().map(|name| format!("{name}{round}")).collect::<Vec<_>>());
        assert_eq!(applicants(&world, role).await, expected.len() as u64);
        let statuses = each(&shown(&world, id).await, "applications", "status");
        assert_eq!(statuses, vec!["closed"; usize::from(expected.contains(&"a"))]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn applications_at_once_are_all_counted_and_none_twice() {
    let world = World::new().await;
    let role = open_role(&world).await;
    let names: Vec<_> = (0..20).map(|n| format!("jane{n}")).collect();
    let ids = join_all(names.iter().map(|name| candidate(&world, name))).await;
    for answer in join_all(ids.iter().map(|id| apply(&world, *id, role))).await {
        answer.expect(201);
    }
    assert_eq!(
        (applicants(&world, role).await, listed(&world, &format!("role_id={role}")).await.len()),
        (20, 20)
    );

    for id in ids {
        let role = open_role(&world).await;
        let mut statuses = join_all((0..2).map(|_| apply(&world, id, role)))
            .await
            .iter()
            .map(|answer| answer.status)
            .collect::<Vec<_>>();
        statuses.sort_unstable();
        assert_eq!((statuses, applicants(&world, role).await), (vec![201, 422], 1));
        assert_eq!(each(&shown(&world, id).await, "touchpoints", "kind"), ["applied", "applied", "created"]);
    }
    let jane = candidate(&world, "jane").await;
    let roles = join_all((0..5).map(|_| open_role(&world))).await;
    for answer in join_all(roles.iter().map(|role| apply(&world, jane, *role))).await {
        answer.expect(201);
    }
    assert_eq!(each(&shown(&world, jane).await, "applications", "id").len(), 5);
}
