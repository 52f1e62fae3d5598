//! What a member reads and decides before an assistant publishes something, reaches people, or ends something.

use http::Method;
use serde_json::{Value, json};
use shared::model::{Audience, MemberRole, Mode};
use tests::assistant::Assistant;
use tests::browser::{Browser, Form};
use tests::dashboard::{add_member, connect_app_to, escaped, owner};
use tests::{ACME, BASE_URL, Fixtures, Response, TestApi, tenant};

use crate::mcp_confirmations::decisions;

const RULE: &str = "/dashboard/settings/integrations/confirmations";

/// All that strangers see of the organization's jobs.
async fn public(api: &TestApi) -> Vec<String> {
    let read = async |path: &str| api.request(Method::GET, path).anonymous().send().await;
    let list = read("/careers/acme").await.expect(200);
    let feed = read("/careers/acme/jobs.json").await.expect(200);
    let mut seen = Vec::new();
    let slugs = list.text.split("href=\"/careers/acme/").skip(1).filter_map(|rest| rest.split('"').next());
    for slug in slugs.filter(|slug| !slug.contains(['/', '?', '#'])) {
        // A page has a new form each time.
        let page = read(&format!("/careers/acme/{slug}")).await;
        let content = page.text.split("<form").next().unwrap_or_default().to_owned();
        seen.push(format!("{slug} {} {content}", page.status));
    }
    seen.extend([list.text, feed.text]);
    seen
}

/// The page that a text names.
fn link(text: &str) -> &str {
    text.split_once(BASE_URL).expect("a link").1.split(' ').next().unwrap()
}

async fn member(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

async fn decide(browser: &Browser<'_>, path: &str, decision: &str) -> Response {
    let page = browser.get(path).await.expect(200);
    browser.submit(path, &Form::of(&page, path).and("decision", decision)).await.expect(303)
}

/// The form that a client shows.
async fn form(assistant: &Assistant<'_>, tool: &str, arguments: &Value) -> Value {
    let asked = assistant.ask(tool, arguments, &json!({})).await;
    assert_eq!(asked["resultType"], "input_required", "{tool}: {asked}");
    asked["inputRequests"]["confirm"]["params"].clone()
}

#[tokio::test]
async fn nothing_becomes_public_without_a_confirmation() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    let assistant = Assistant::new(&api);
    let draft = json!({ "title": "Draft", "description": "Quiet", "publish": false });
    let draft = assistant.call("quick_post", draft).await;
    assert_eq!((&draft["status"], &draft["published"]), (&json!("draft"), &json!(false)));
    let (role, draft) = (of.role, &draft["role_id"]);
    let browser = member(&api).await;
    let leak = "jane@example.com, +49 151 12345678";
    for (tool, arguments, shown) in [
        ("quick_post", json!({ "title": "Cook", "description": leak }), vec!["Cook", leak]),
        ("quick_post", json!({ "title": "Cook", "requirements": leak, "publish": true }), vec!["Cook", leak]),
        (
            "set_role_status",
            json!({ "role_id": draft, "action": "publish", "job_posting": true }),
            vec!["Draft", "Quiet"],
        ),
        ("set_role_status", json!({ "role_id": draft, "action": "publish" }), vec!["Draft"]),
        ("set_role_status", json!({ "role_id": role, "action": "pause" }), vec!["x"]),
        ("save_role", json!({ "role_id": role, "description": leak }), vec![leak]),
        ("save_role", json!({ "role_id": role, "title": leak }), vec![leak]),
        ("save_role", json!({ "role_id": role, "location": leak }), vec![leak]),
        ("save_role", json!({ "role_id": role, "salary_max": 7_777_777 }), vec!["7777777"]),
        ("save_role", json!({ "role_id": role, "remote_policy": "hybrid" }), vec!["hybrid"]),
    ] {
        let before = public(&api).await;
        // A client without forms gets a page, as often as it calls.
        let unconfirmed = assistant.refused(tool, arguments.clone()).await;
        assert!(unconfirmed.starts_with("Not done yet: "), "{tool} {arguments}: {unconfirmed}");
        assert_eq!(assistant.refused(tool, arguments.clone()).await, unconfirmed);
        assert!(!unconfirmed.contains(leak), "{unconfirmed}");
        let page = browser.get(link(&unconfirmed)).await.expect(200);
        // One with forms asks by itself.
        let form = form(&assistant, tool, &arguments).await;
        let text = form["requestedSchema"]["properties"]["untrusted"]["default"].as_str().unwrap();
        for shown in shown {
            assert!(page.text.contains(&escaped(shown)), "{tool} {arguments}: {}", page.text);
            assert!(text.contains(shown), "{tool} {arguments}: {text}");
            assert!(shown == "x" || !form["message"].as_str().unwrap().contains(shown), "{form}");
        }
        decide(&browser, link(&unconfirmed), "refuse").await;
        assert!(assistant.refused(tool, arguments.clone()).await.starts_with("Not done yet: "));
        assert_eq!(public(&api).await, before, "{tool} {arguments}");
        // After a member has said yes, it happens once.
        let again = assistant.refused(tool, arguments.clone()).await;
        decide(&browser, link(&again), "confirm").await;
        assert_eq!(public(&api).await, before, "{tool} {arguments}");
        assistant.call(tool, arguments.clone()).await;
        let is_unlisted = arguments == json!({ "role_id": draft, "action": "publish" });
        assert_eq!(public(&api).await == before, is_unlisted, "{tool} {arguments}");
        if arguments["action"] == "publish" {
            let back = [("close", "closed"), ("reopen", "draft")];
            for (action, status) in back {
                let arguments = json!({ "role_id": draft, "action": action });
                let changed = if action == "close" {
                    assistant.done("set_role_status", arguments).await
                } else {
                    assistant.call("set_role_status", arguments).await
                };
                assert_eq!(changed["status"], status);
            }
        }
        if arguments["action"] == "pause" {
            let resume = json!({ "role_id": role, "action": "resume" });
            assert!(assistant.refused("set_role_status", resume.clone()).await.starts_with("Not done yet: "));
            assistant.done("set_role_status", resume).await;
            assert_eq!(public(&api).await, before);
        }
    }
}

#[tokio::test]
async fn what_nobody_outside_sees_needs_no_confirmation() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    let assistant = Assistant::new(&api);
    let before = public(&api).await;
    let draft = assistant.call("save_role", json!({ "title": "Draft" })).await["id"].clone();
    assistant.call("save_role", json!({ "role_id": draft, "description": "New" })).await;
    let posted = json!({ "title": "Cook", "publish": false });
    assistant.call("quick_post", posted).await;
    // The posting has a title and a description of its own.
    let posting = format!("/api/v1/job_postings/{}", of.posting);
    let own = json!({ "title": "Own title", "public_description": "Own description" });
    api.request(Method::PATCH, &posting).json(&own).send().await.expect(200);
    let with_own = public(&api).await;
    let hidden = json!({ "role_id": of.role, "title": "Internal", "description": "Internal" });
    assistant.call("save_role", hidden).await;
    assert_eq!(public(&api).await.first(), with_own.first());
    assistant.refused("save_role", json!({ "role_id": of.role, "location": "Bonn" })).await;
    // Nothing changes.
    assistant.call("save_role", json!({ "role_id": of.role, "title": "Internal" })).await;
    api.post(&format!("/api/v1/job_postings/{}/unpublish", of.posting), json!({})).await.expect(200);
    assistant.call("save_role", json!({ "role_id": of.role, "location": "Bonn" })).await;
    assert_ne!(public(&api).await, before);
}

#[tokio::test]
async fn the_question_shows_the_name_and_every_argument() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    let assistant = Assistant::new(&api);
    let browser = member(&api).await;
    let reason = "Stole <b>spoons</b>\u{202E}";
    let reject = json!({
        "candidate_id": of.candidate, "action": "reject", "reason": reason, "notes": "Said so herself",
    });
    let hire = json!({ "candidate_id": of.candidate, "action": "hire", "start_date": "2027-01-15" });
    let invited = json!({ "name": "Eve Marker", "email": "eve@example.com", "role_id": of.role });
    let eve = assistant.call("add_candidate", invited).await["id"].clone();
    let invite = json!({ "candidate_id": eve, "role_id": of.role, "scheduled_at": "2026-11-21T09:30:00Z" });
    for (tool, arguments, name, shown) in [
        ("move_candidate", reject, "Jane", vec!["Stole <b>spoons</b>", "Said so herself"]),
        ("move_candidate", hire, "Jane", vec!["2027-01-15"]),
        ("invite_to_screen", invite, "Eve Marker", vec!["2026-11-21T09:30:00Z"]),
    ] {
        let unconfirmed = assistant.refused(tool, arguments.clone()).await;
        assert!(!unconfirmed.contains(name) && !unconfirmed.contains("spoons"), "{unconfirmed}");
        let page = browser.get(link(&unconfirmed)).await.expect(200);
        let form = form(&assistant, tool, &arguments).await;
        let field = &form["requestedSchema"]["properties"]["untrusted"];
        assert_eq!((&field["type"], &field["readOnly"]), (&json!("string"), &json!(true)));
        let text = field["default"].as_str().unwrap();
        assert!(text.starts_with(&format!("Candidate: {name}\nRole: x\n")), "{text}");
        assert!(page.text.contains(name) && page.text.contains("<dt>Role</dt>"), "{}", page.text);
        for shown in shown {
            assert!(page.text.contains(&escaped(shown)) && text.contains(shown), "{text} {}", page.text);
        }
        assert!(!text.contains('\u{202E}') && !page.text.contains('\u{202E}'));
        let message = form["message"].as_str().unwrap();
        assert!(!message.contains(name) && !message.contains("spoons"), "{message}");
    }
    let log = api.get("/api/v1/audit_log?action=candidate.read").await.expect(200);
    let read = log.body["data"].as_array().unwrap().iter().filter(|one| one["actor"]["type"] == "member");
    assert_eq!(read.count(), 3, "the member has read the names");
}

#[tokio::test]
async fn a_text_that_a_form_would_cut_is_on_the_page() {
    let api = TestApi::new().await;
    let assistant = Assistant::new(&api);
    let long = format!("{}END", "word ".repeat(1_000));
    let post = json!({ "title": "Cook", "description": long });
    let asked = assistant.ask("quick_post", &post, &json!({})).await;
    let text = asked["content"][0]["text"].as_str().unwrap();
    let page = member(&api).await.get(link(text)).await.expect(200);
    assert!(page.text.contains(&long));
}

#[tokio::test]
async fn the_audit_log_says_who_decided_about_whom() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    let assistant = Assistant::new(&api);
    let reject = json!({ "candidate_id": of.candidate, "action": "reject" });
    let first = assistant.refused("move_candidate", reject.clone()).await;
    let ben = add_member(&api, ACME, "Ben", MemberRole::Member).await;
    let browser = Browser::with_session(&api, ACME, &ben).await;
    decide(&browser, link(&first), "refuse").await;
    api.clock.set("2026-11-20T09:31:00Z");
    let second = assistant.refused("move_candidate", reject.clone()).await;
    decide(&browser, link(&second), "confirm").await;
    assistant.call("move_candidate", reject).await;
    api.clock.set("2026-11-20T09:32:00Z");
    let close = json!({ "role_id": of.role, "action": "close" });
    assistant.done("set_role_status", close).await;
    let seen: Vec<_> = decisions(&api)
        .await
        .into_iter()
        .map(|entry| json!([entry["actor"]["type"], entry["actor"]["id"], entry["target"], entry["tool"]]))
        .collect();
    let candidate = json!({ "type": "candidate", "id": of.candidate });
    let role = json!({ "type": "role", "id": of.role });
    let tool = |name: &str, outcome: &str| json!({ "name": name, "outcome": outcome });
    assert_eq!(seen[0][0], "api_key");
    assert_eq!((&seen[0][2], &seen[0][3]), (&role, &tool("set_role_status", "confirmed")));
    assert_eq!(seen[1], json!(["member", ben.id, candidate, tool("move_candidate", "confirmed")]));
    assert_eq!(seen[2], json!(["member", ben.id, candidate, tool("move_candidate", "refused")]));
    let log = member(&api).await.get("/dashboard/settings/audit-log").await.expect(200);
    assert!(log.text.contains("decided on an assistant&#39;s call about"), "{}", log.text);
}

async fn app(api: &TestApi, mode: Mode) -> String {
    let ada = owner(api, ACME).await;
    let acme = tenant(ACME, mode);
    let (_, token) = connect_app_to(Audience::Mcp, &api.environment, acme, ada.id, "Assistant").await;
    token.reveal().to_owned()
}

#[tokio::test]
async fn an_owner_decides_where_calls_are_confirmed() {
    let api = TestApi::new().await;
    let post = json!({ "title": "Cook" });
    let token = app(&api, Mode::Live).await;
    let (app, key) = (Assistant::with(&api, &token), Assistant::new(&api));
    let asks = async |assistant: &Assistant<'_>| {
        let answer = assistant.ask("quick_post", &post, &json!({})).await;
        let on_page = answer["content"][0]["text"].as_str().is_some_and(|text| text.contains("/dashboard/"));
        assert_ne!(on_page, answer["resultType"] == "input_required", "{answer}");
        if on_page { "page" } else { "client" }
    };
    assert_eq!((asks(&app).await, asks(&key).await), ("page", "client"), "the default");
    let browser = member(&api).await;
    let save = async |apps: bool, keys: bool| {
        let page = browser.get(RULE).await.expect(200);
        let form = Form::of(&page, RULE);
        let form = form.set("apps_use_page", &apps.to_string()).set("keys_use_page", &keys.to_string());
        browser.submit(RULE, &form).await.expect(303);
    };
    for (apps, keys, expected) in [
        (false, true, ("client", "page")),
        (true, true, ("page", "page")),
        (false, false, ("client", "client")),
        (true, false, ("page", "client")),
    ] {
        save(apps, keys).await;
        assert_eq!((asks(&app).await, asks(&key).await), expected);
    }
    let log = api.get("/api/v1/audit_log?action=settings.changed").await.expect(200);
    let changes = log.body["data"].as_array().unwrap();
    assert_eq!(changes.len(), 4);
    for change in changes {
        assert_eq!(change["target"], json!({ "type": "confirmation_rule", "id": null }));
        assert_eq!(change["actor"]["type"], "member");
    }
    // The organization's other settings stay as they are, and the other way round.
    let settings = "/dashboard/settings/organization";
    let form = Form::of(&browser.get(settings).await.expect(200), settings);
    browser.submit(settings, &form.and("country", "DE").and("time_zone", "UTC")).await.expect(303);
    save(false, true).await;
    assert_eq!((asks(&app).await, asks(&key).await), ("client", "page"));
    assert_eq!(api.get("/api/v1/organization").await.expect(200).body["country"], "DE");
    // A state from before the rule does not help.
    save(false, false).await;
    let asked = key.ask("quick_post", &post, &json!({})).await;
    save(false, true).await;
    let yes = json!({ "action": "accept", "content": { "confirm": true } });
    let answer = json!({ "inputResponses": { "confirm": yes }, "requestState": asked["requestState"] });
    assert_eq!(key.ask("quick_post", &post, &answer).await["isError"], true);

    let ben = add_member(&api, ACME, "Ben", MemberRole::Member).await;
    let other = Browser::with_session(&api, ACME, &ben).await;
    other.get(RULE).await.expect(403);
    let csrf = other.csrf().await;
    other
        .post(RULE, &[("csrf", &csrf), ("apps_use_page", "false"), ("keys_use_page", "false")])
        .await
        .expect(403);
    api.clock.set("2026-11-20T09:50:00Z");
    let form = Form::of(&browser.get(RULE).await.expect(200), RULE);
    let stale = browser.submit(RULE, &form.set("apps_use_page", "true")).await.expect(401);
    assert!(stale.text.contains("Enter your password"), "a fresh sign-in is needed");
}

#[tokio::test]
async fn an_erasure_removes_the_questions_about_the_person() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    let assistant = Assistant::new(&api);
    let reject = json!({ "candidate_id": of.candidate, "action": "reject", "reason": "MARKER of Jane" });
    let asked = assistant.refused("move_candidate", reject).await;
    let browser = member(&api).await;
    browser.get(link(&asked)).await.expect(200);
    let marked = async || {
        let items = api.stored_items().await;
        items.values().filter(|item| format!("{item:?}").contains("MARKER of Jane")).count()
    };
    assert_eq!(marked().await, 1);
    let erase = format!("/api/v1/candidates/{}/erase", of.candidate);
    api.request(Method::POST, &erase).send().await.expect(202);
    for minute in 31..35 {
        api.clock.set(&format!("2026-11-20T09:{minute}:00Z"));
        api.run_tasks().await;
    }
    assert_eq!(marked().await, 0);
    browser.get(link(&asked)).await.expect(404);
}
