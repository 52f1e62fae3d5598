//! The tools of the MCP function: right and wrong calls, scopes, other tenants, idempotency, and the audit log.

use rolecall_local::demo;
use serde_json::{Value, json};
use shared::config::Services;
use shared::model::{Audience, Mode, Scope, Scopes};
use shared::token_encryption::EncryptionKeys;
use tests::assistant::Assistant;
use tests::dashboard::{connect_app_to, owner};
use tests::fake::NOWHERE;
use tests::{ACME, Fixtures, GLOBEX, TestApi, key, tenant};

use crate::access::new_key;
use crate::vapi;

/// A correct call of each tool about these resources.
pub(super) fn calls(of: &Fixtures) -> Vec<(&'static str, Value)> {
    let Fixtures { role, posting, candidate, screen, .. } = *of;
    vec![
        ("search_candidates", json!({ "role_id": role })),
        ("get_candidate", json!({ "candidate_id": candidate })),
        ("add_candidate", json!({ "name": "Ada", "email": "ada@example.com", "role_id": role })),
        ("move_candidate", json!({ "candidate_id": candidate, "action": "advance", "stage": "interview" })),
        ("add_note", json!({ "candidate_id": candidate, "text": "Speaks Rust" })),
        ("invite_to_screen", json!({ "candidate_id": candidate, "role_id": role })),
        ("get_screen", json!({ "screen_id": screen })),
        ("list_roles", json!({})),
        ("save_role", json!({ "role_id": role, "title": "Cook" })),
        ("set_role_status", json!({ "role_id": role, "action": "pause" })),
        ("quick_post", json!({ "title": "Baker" })),
        ("post_to_x", json!({ "job_posting_id": posting })),
        ("pipeline_report", json!({ "role_id": role })),
        ("list_changes", json!({ "after": "0" })),
    ]
}

#[tokio::test]
async fn every_tool_says_what_it_does_and_when_not_to_use_it() {
    let api = TestApi::new().await;
    let tools = Assistant::new(&api).tools().await;
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    let of = Fixtures::new(&api).await;
    assert_eq!(names, calls(&of).iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for tool in &tools {
        let name = &tool["name"];
        let description = tool["description"].as_str().unwrap();
        assert!(description.contains("Not ") || description.contains("Never "), "{name}: {description}");
        assert!(tool["title"].as_str().is_some_and(|title| !title.is_empty()), "{name}");
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{name} {hint}");
        }
        assert!(jsonschema::meta::is_valid(&tool["inputSchema"]), "{name}");
        assert!(jsonschema::meta::is_valid(&tool["outputSchema"]), "{name}");
        assert_described(name, &tool["inputSchema"]);
        let output = &tool["outputSchema"];
        assert_eq!(output["type"], "object", "{name}");
        for (field, schema) in output["properties"].as_object().unwrap() {
            assert!(schema.get("properties").is_none(), "{name}.{field}: one level deep");
        }
    }
}

/// Every argument has a description, beside its alternatives and in the first of them, and none is an object.
fn assert_described(name: &Value, schema: &Value) {
    assert_eq!(schema["type"], "object", "{name}");
    for (field, schema) in schema["properties"].as_object().unwrap() {
        assert!(
            schema["description"].as_str().is_some_and(|text| !text.is_empty()),
            "{name}.{field} has no description: add one in functions/mcp/src/tools/schema.rs"
        );
        let value = schema.pointer("/anyOf/0").unwrap_or(schema);
        assert_eq!(value["description"], schema["description"], "{name}.{field}");
        assert_ne!(value["type"], "object", "{name}.{field}");
    }
}

#[tokio::test]
async fn correct_arguments_match_the_schema_and_unknown_ones_are_named() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    let assistant = Assistant::new(&api);
    for tool in assistant.tools().await {
        let name = tool["name"].as_str().unwrap();
        let (_, arguments) = calls(&of).into_iter().find(|(known, _)| *known == name).unwrap();
        jsonschema::validate(&tool["inputSchema"], &arguments)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut more = arguments.clone();
        more["colour"] = "red".into();
        let refused = assistant.refused(name, more).await;
        assert_eq!(refused, "The arguments are not valid: colour is not a known field.", "{name}");
        for required in tool["inputSchema"]["required"].as_array().into_iter().flatten() {
            let mut less = arguments.clone();
            less.as_object_mut().unwrap().remove(required.as_str().unwrap());
            let refused = assistant.refused(name, less).await;
            let required = required.as_str().unwrap();
            assert!(refused.contains(required) && refused.contains(" is missing"), "{name}: {refused}");
        }
    }
}

#[tokio::test]
async fn a_tool_is_listed_and_carried_out_only_with_its_scopes() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    for (number, (name, arguments)) in (900..).zip(calls(&of)) {
        let needed = mcp::tools::TABLE.iter().find(|tool| tool.name == name).unwrap().scopes();
        for (offset, missing) in needed.iter().enumerate() {
            let scopes: Scopes = Scope::ALL.into_iter().filter(|scope| *scope != missing).collect();
            let number = number * 10 + u64::try_from(offset).unwrap();
            let credential = new_key(&api, tenant(ACME, Mode::Live), number, scopes, None).await;
            let assistant = Assistant::with(&api, credential.reveal());
            assert!(assistant.tools().await.iter().all(|tool| tool["name"] != *name), "{name}");
            let response = assistant.try_call(name, arguments.clone()).await;
            assert_eq!(response.status, 403, "{name} without {missing:?}: {}", response.text);
            let challenge = response.header("www-authenticate");
            assert!(challenge.contains("insufficient_scope"), "{challenge}");
            for scope in needed.iter() {
                assert!(challenge.contains(scope.as_str()), "{name}: {challenge}");
            }
        }
    }
}

/// A tool needs the scopes of the routes whose handlers it carries out.
#[test]
fn tools_need_the_scopes_of_their_routes() {
    const ROUTES: &[(&str, &[&str])] = &[
        ("search_candidates", &["GET /api/v1/candidates"]),
        ("get_candidate", &["GET /api/v1/candidates/{id}", "GET /api/v1/candidates/{id}/notes"]),
        ("add_candidate", &["POST /api/v1/candidates"]),
        ("add_note", &["POST /api/v1/candidates/{id}/notes"]),
        ("get_screen", &["GET /api/v1/voice_screens/{id}"]),
        ("list_roles", &["GET /api/v1/roles", "GET /api/v1/roles/{id}"]),
        ("save_role", &["POST /api/v1/roles", "PATCH /api/v1/roles/{id}"]),
        (
            "set_role_status",
            &[
                "POST /api/v1/roles/{id}/publish",
                "POST /api/v1/roles/{id}/pause",
                "POST /api/v1/roles/{id}/resume",
                "POST /api/v1/roles/{id}/reopen",
                "DELETE /api/v1/roles/{id}",
            ],
        ),
        ("quick_post", &["POST /api/v1/quick_post"]),
        ("post_to_x", &["POST /api/v1/channels/x/post"]),
        ("pipeline_report", &["GET /api/v1/roles", "GET /api/v1/roles/{id}/stats"]),
        ("list_changes", &["GET /api/v1/events"]),
        // These two also show in which stage the candidate is, before a member confirms.
        (
            "move_candidate",
            &[
                "GET /api/v1/candidates/{id}",
                "POST /api/v1/candidates/{id}/advance",
                "POST /api/v1/candidates/{id}/reject",
                "POST /api/v1/candidates/{id}/withdraw",
                "POST /api/v1/candidates/{id}/unreject",
                "POST /api/v1/candidates/{id}/hire",
            ],
        ),
        ("invite_to_screen", &["GET /api/v1/candidates/{id}", "POST /api/v1/candidates/{id}/invite_screen"]),
    ];
    let rows: Vec<_> =
        rolecall_local::functions::tables().into_iter().flat_map(|tables| tables.routes).collect();
    for tool in mcp::tools::TABLE {
        let (_, routes) = ROUTES.iter().find(|(name, _)| *name == tool.name).expect(tool.name);
        let scopes: Scopes = routes
            .iter()
            .flat_map(|key| match rows.iter().find(|row| row.key == *key).expect(key).access() {
                shared::http::Access::Scopes(scopes) => scopes.iter().collect::<Vec<_>>(),
                _ => Vec::new(),
            })
            .collect();
        assert_eq!(tool.scopes(), scopes, "{}", tool.name);
    }
}

#[tokio::test]
async fn no_tool_reaches_another_tenants_resources() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    api.run_feed().await;
    let before = api.stored_items().await;
    for (demo, mode) in [(GLOBEX, Mode::Live), (ACME, Mode::Test)] {
        let stranger = Assistant::with(&api, &key(demo, mode));
        for (name, arguments) in calls(&of) {
            match name {
                "list_roles" | "pipeline_report" => {
                    let lists = stranger.call(name, json!({ "status": "open" })).await;
                    assert_eq!(lists["roles"], json!([]), "{name}");
                    stranger.refused(name, json!({ "role_id": of.role })).await;
                }
                "search_candidates" => {
                    let found = stranger.call(name, arguments).await;
                    assert_eq!(found, json!({ "candidates": [], "next_cursor": null }));
                    let by_name = stranger.call(name, json!({ "q": "Jane" })).await;
                    assert_eq!(by_name["candidates"], json!([]));
                }
                "list_changes" => {
                    let changes = stranger.call(name, arguments).await;
                    assert_eq!(changes, json!({ "changes": [], "position": "0", "has_more": false }));
                }
                "quick_post" => {}
                _ => {
                    let refused = stranger.refused(name, arguments).await;
                    let known = ["no such record", "must be the id of a"];
                    assert!(known.iter().any(|text| refused.contains(text)), "{name}: {refused}");
                }
            }
        }
    }
    let after = api.stored_items().await;
    let acme = |key: &&(String, String)| key.0.starts_with(&tests_prefix());
    assert!(before.keys().filter(acme).eq(after.keys().filter(acme)), "nothing of the tenant changed");
}

fn tests_prefix() -> String {
    format!("{}", tenant(ACME, Mode::Live))
}

#[tokio::test]
async fn candidates_are_found_and_shown() {
    let api = TestApi::new().await;
    let assistant = Assistant::new(&api);
    let posted = assistant.done("quick_post", json!({ "title": "Cook" })).await;
    assert_eq!((&posted["status"], &posted["published"]), (&json!("open"), &json!(true)));
    let role = posted["role_id"].clone();
    let ada =
        json!({ "name": "Ada Lovelace", "email": "ada@example.com", "tags": ["rust"], "role_id": role });
    let added = assistant.call("add_candidate", ada.clone()).await;
    let id = added["id"].clone();
    assert_eq!(added["stage"], "applied");

    let found = assistant.call("search_candidates", json!({ "q": "lovelace" })).await;
    let expected = json!({
        "id": id, "stage": "applied", "untrusted": { "name": "Ada Lovelace", "email": "ada@example.com" },
    });
    assert_eq!(found, json!({ "candidates": [expected], "next_cursor": null }));
    let of_role = assistant.call("search_candidates", json!({ "role_id": role, "stage": "applied" })).await;
    assert_eq!(of_role["candidates"][0]["application"]["stage"], "applied");
    let detailed = json!({ "email": "ADA@example.com", "response_format": "detailed" });
    let detailed = assistant.call("search_candidates", detailed).await;
    assert_eq!(detailed["candidates"][0]["untrusted"]["tags"], json!(["rust"]));
    let twice = assistant.refused("search_candidates", json!({ "q": "ada", "role_id": role })).await;
    assert_eq!(twice, "The arguments are not valid: q can't be combined with role_id.");
    let cursor = assistant.refused("search_candidates", json!({ "cursor": "x" })).await;
    assert_eq!(cursor, "The cursor is not valid for this list.");

    let note = json!({ "candidate_id": id, "text": "Speaks Rust" });
    assistant.call("add_note", note).await;
    let concise = assistant.call("get_candidate", json!({ "candidate_id": id })).await;
    assert_eq!(concise["applications"][0]["role_title"], "Cook");
    assert_eq!(concise["untrusted"].get("notes"), None);
    let detailed = json!({ "candidate_id": id, "response_format": "detailed" });
    let detailed = assistant.call("get_candidate", detailed).await;
    assert_eq!(detailed["untrusted"]["notes"][0]["text"], "Speaks Rust");
    assert_eq!(detailed["history"][0]["kind"], "note_added");
    assert_eq!(detailed["next_cursor"], Value::Null);

    let again = assistant.refused("add_candidate", ada).await;
    assert_eq!(again, format!("email is already in use. It is candidate {id}."));
}

#[tokio::test]
async fn candidates_move_through_the_pipeline() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    let assistant = Assistant::new(&api);
    let candidate = of.candidate;
    let advance = json!({ "candidate_id": candidate, "action": "advance", "stage": "interview" });
    let moved = assistant.call("move_candidate", advance.clone()).await;
    assert_eq!((&moved["id"], &moved["stage"]), (&json!(candidate), &json!("interview")));
    assert_eq!(moved["applications"][0]["role_id"], of.role);
    let same = assistant.refused("move_candidate", advance).await;
    assert!(same.contains("stage cannot go from interview to interview"), "{same}");
    for (arguments, text) in [
        (
            json!({ "action": "advance" }),
            "stage is missing: with advance, it is applied, screening, interview or offer.",
        ),
        (
            json!({ "action": "advance", "stage": "hired" }),
            "stage must be one of applied, screening, interview, offer.",
        ),
        (json!({ "action": "erase" }), "action must be one of advance, reject, withdraw, unreject, hire."),
        (
            json!({ "action": "unreject", "stage": "offer" }),
            "stage can't be used with unreject, which takes role_id.",
        ),
        (json!({ "action": "hire", "start_date": "soon" }), "start_date must be a date, such as 2026-11-20."),
    ] {
        let mut arguments = arguments;
        arguments["candidate_id"] = candidate.into();
        let refused = assistant.refused("move_candidate", arguments).await;
        assert!(refused.ends_with(text), "{refused}");
    }
}

#[tokio::test]
async fn roles_are_saved_opened_and_counted() {
    let api = TestApi::new().await;
    let assistant = Assistant::new(&api);
    let blank = assistant.refused("save_role", json!({ "location": "Berlin" })).await;
    assert_eq!(blank, "The arguments are not valid: title is missing.");
    let draft = assistant.call("save_role", json!({ "title": "Cook", "salary_min": 40_000 })).await;
    let id = draft["id"].clone();
    assert_eq!(draft, json!({ "id": id, "title": "Cook", "status": "draft" }));
    let changed = json!({ "role_id": id, "location": "Berlin", "clear": ["salary_min"], "response_format": "detailed" });
    let changed = assistant.call("save_role", changed).await;
    assert_eq!((&changed["role"]["location"], changed["role"].get("salary_min")), (&json!("Berlin"), None));
    let resume = assistant.refused("set_role_status", json!({ "role_id": id, "action": "resume" })).await;
    assert!(resume.contains("set_role_status, action publish") && !resume.contains("/api/"), "{resume}");
    let published = json!({ "role_id": id, "action": "publish" });
    assert_eq!(assistant.done("set_role_status", published).await["status"], "open");
    let wrong = json!({ "role_id": id, "action": "pause", "job_posting": true });
    let wrong = assistant.refused("set_role_status", wrong).await;
    assert_eq!(wrong, "job_posting can't be used with pause, only with publish.");
    let role = assistant.call("list_roles", json!({ "role_id": id })).await;
    assert_eq!(role["roles"][0]["location"], "Berlin");
    let combined = assistant.refused("list_roles", json!({ "role_id": id, "status": "open" })).await;
    assert_eq!(combined, "status can't be combined with role_id.");
    let ada = json!({ "name": "Ada", "email": "ada@example.com", "role_id": id });
    assistant.call("add_candidate", ada).await;
    let report = assistant.call("pipeline_report", json!({})).await;
    assert_eq!((&report["roles"][0]["id"], &report["roles"][0]["applicants"]), (&id, &json!(1)));
    let by_stage = assistant.call("pipeline_report", json!({ "role_id": id })).await;
    assert_eq!(by_stage["stages"]["applied"]["now"], 1);
}

#[tokio::test]
async fn changes_are_listed_from_a_position_on() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    let assistant = Assistant::new(&api);
    let end = assistant.call("list_changes", json!({ "after": "latest" })).await;
    assert_eq!(end, json!({ "changes": [], "position": "0", "has_more": false }));
    api.run_feed().await;
    let first = assistant.call("list_changes", json!({ "limit": 7 })).await;
    assert_eq!(
        first["changes"][6],
        json!({
            "type": "application.stage_changed", "at": "2026-11-20T09:30:00.002Z", "by": "api_key",
            "subject": { "type": "application", "id": of.application },
            "data": { "candidate_id": of.candidate, "role_id": of.role, "from": "applied", "to": "screening" },
        })
    );
    assert_eq!((&first["position"], &first["has_more"]), (&json!("7"), &json!(true)));
    // A number is as good as a text.
    for after in [json!("7"), json!(7)] {
        let detailed = json!({ "after": after, "response_format": "detailed" });
        let rest = assistant.call("list_changes", detailed).await;
        let api = api.get("/api/v1/events?after=7").await.expect(200);
        let mut events = api.body["data"].clone();
        for event in events.as_array_mut().unwrap() {
            event.as_object_mut().unwrap().remove("mode");
        }
        assert_eq!(rest, json!({ "changes": events, "position": "9", "has_more": false }));
    }
    // Without a position, the changes of the last 24 hours are listed.
    let day_after = "2026-11-21T09:30:00Z";
    for (time, count) in [("2026-11-21T09:29:59Z", 9), (day_after, 0)] {
        api.clock.set(time);
        let recent = assistant.call("list_changes", json!({})).await;
        assert_eq!(recent["changes"].as_array().unwrap().len(), count, "{time}");
        assert_eq!((&recent["position"], &recent["has_more"]), (&json!("9"), &json!(false)));
    }
    api.post("/api/v1/roles", json!({ "title": "Today's" })).await.expect(201);
    api.run_feed().await;
    let recent = assistant.call("list_changes", json!({})).await;
    assert_eq!((&recent["changes"][0]["type"], &recent["position"]), (&json!("role.created"), &json!("10")));
    assert_eq!(recent["changes"].as_array().unwrap().len(), 1);
    let of_type = assistant.call("list_changes", json!({ "after": "0", "type": "note.created" })).await;
    assert_eq!(of_type["changes"].as_array().unwrap().len(), 1);
    assert_eq!(of_type["changes"][0]["subject"]["id"], of.note);
    let beyond = assistant.refused("list_changes", json!({ "after": "11" })).await;
    assert!(beyond.contains("start again without it"), "{beyond}");
    let wrong = json!({ "after": "soon", "type": "role.exploded", "limit": 1_001 });
    let wrong = assistant.refused("list_changes", wrong).await;
    for text in [
        "after must be a position, a string of digits, or latest",
        "type must be one of role.created, ",
        "limit must be a whole number from 1 to 1000",
    ] {
        assert!(wrong.contains(text), "{wrong}");
    }
}

#[tokio::test]
async fn a_voice_screen_is_shown_with_its_transcript() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    let assistant = Assistant::new(&api);
    for minute in 31..59 {
        api.clock.set(&format!("2026-11-20T09:{minute}:00Z"));
        api.run_tasks().await;
    }
    let screen = assistant.call("get_screen", json!({ "screen_id": of.screen })).await;
    assert_eq!((&screen["status"], &screen["candidate_id"]), (&json!("completed"), &json!(of.candidate)));
    assert!(screen["untrusted"]["summary"].is_string() && screen["untrusted"].get("transcript").is_none());
    let detailed = json!({ "screen_id": of.screen, "response_format": "detailed" });
    let detailed = assistant.call("get_screen", detailed).await;
    let all = api.get(&format!("/api/v1/voice_screens/{}", of.screen)).await.expect(200);
    let mut turns = detailed["untrusted"]["transcript"].as_array().unwrap().clone();
    let mut next = detailed["next_cursor"].clone();
    while next.is_string() {
        let more = assistant.call("get_screen", json!({ "screen_id": of.screen, "cursor": next })).await;
        turns.extend(more["untrusted"]["transcript"].as_array().unwrap().clone());
        next = more["next_cursor"].clone();
    }
    assert_eq!(json!(turns), all.body["transcript"]);
    let wrong = assistant.refused("get_screen", json!({ "screen_id": of.screen, "cursor": "x" })).await;
    assert!(wrong.ends_with("cursor must be the next_cursor of the previous answer."), "{wrong}");
}

#[tokio::test]
async fn what_cannot_be_undone_or_reaches_people_is_confirmed() {
    let api = TestApi::new().await;
    let assistant = Assistant::new(&api);
    let of = Fixtures::new(&api).await;
    let Fixtures { role, posting, candidate, .. } = of;
    let other = assistant.done("quick_post", json!({ "title": "Baker" })).await["role_id"].clone();
    let hired = json!({ "name": "Ada", "email": "ada@example.com", "role_id": other });
    let hired = assistant.call("add_candidate", hired).await["id"].clone();
    let cases = [
        (
            "invite_to_screen",
            json!({ "candidate_id": hired, "role_id": other }),
            format!("Call candidate {hired} for a voice screen for role {other}, now."),
            "/status",
            "queued",
        ),
        (
            "move_candidate",
            json!({ "candidate_id": candidate, "action": "reject", "reason": "No" }),
            format!("Reject candidate {candidate}: application for role {role} in stage screening."),
            "/stage",
            "rejected",
        ),
        (
            "move_candidate",
            json!({ "candidate_id": hired, "action": "hire", "role_id": other }),
            format!("Hire candidate {hired}: application for role {other} in stage screening."),
            "/stage",
            "hired",
        ),
        (
            "post_to_x",
            json!({ "job_posting_id": posting }),
            format!("Post job posting {posting} to X."),
            "/text",
            "https://api.rolecall.test/careers/",
        ),
        (
            "set_role_status",
            json!({ "role_id": role, "action": "close" }),
            format!("Close role {role}, which is open, and all its active applications."),
            "/status",
            "closed",
        ),
        (
            "quick_post",
            json!({ "title": "Waiter" }),
            "Create a role with a job posting, and publish both on the career page.".to_owned(),
            "/status",
            "open",
        ),
    ];
    for (tool, arguments, question, pointer, expected) in cases {
        // A client that cannot ask gets the address of a page, again and again.
        for _ in 0..2 {
            let unconfirmed = assistant.refused(tool, arguments.clone()).await;
            assert!(unconfirmed.contains("/dashboard/confirmations/"), "{tool}: {unconfirmed}");
        }
        let (asked, result) = assistant.confirmed(tool, &arguments).await;
        assert!(asked.starts_with(&question), "{tool}: {asked}");
        assert_eq!(result["isError"], false, "{tool}: {result}");
        let value = result["structuredContent"].pointer(pointer).unwrap().as_str().unwrap();
        assert!(value.contains(expected), "{tool}: {value}");
    }
    let back = json!({ "candidate_id": candidate, "action": "unreject" });
    assistant.call("move_candidate", back).await;
    let back = json!({ "candidate_id": candidate, "action": "advance", "stage": "offer", "role_id": role });
    let back = assistant.refused("move_candidate", back).await;
    assert!(back.contains("reopen it first with set_role_status, action reopen"), "{back}");
}

#[tokio::test]
async fn a_confirmation_is_for_the_stage_that_the_member_saw() {
    let api = TestApi::new().await;
    let assistant = Assistant::new(&api);
    let of = Fixtures::new(&api).await;
    let reject = json!({ "candidate_id": of.candidate, "action": "reject" });
    let asked = assistant.ask("move_candidate", &reject, &json!({})).await;
    let advance = json!({ "candidate_id": of.candidate, "action": "advance", "stage": "offer" });
    assistant.call("move_candidate", advance).await;
    let yes = json!({ "action": "accept", "content": { "confirm": true } });
    let answer = json!({ "inputResponses": { "confirm": yes }, "requestState": asked["requestState"] });
    let again = assistant.ask("move_candidate", &reject, &answer).await;
    assert_eq!(again["resultType"], "input_required", "{again}");
    let stage =
        assistant.call("get_candidate", json!({ "candidate_id": of.candidate })).await["stage"].clone();
    assert_eq!(stage, "offer");
}

#[tokio::test]
async fn reads_and_calls_are_in_the_audit_log_with_application_and_member() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    let acme = tenant(ACME, Mode::Live);
    let member = owner(&api, ACME).await;
    let (grant, token) = connect_app_to(Audience::Mcp, &api.environment, acme, member.id, "Assistant").await;
    let assistant = Assistant::with(&api, token.reveal());
    assistant.call("search_candidates", json!({ "role_id": of.role })).await;
    assistant.call("search_candidates", json!({ "q": "jane" })).await;
    let detailed = json!({ "candidate_id": of.candidate, "response_format": "detailed" });
    assistant.call("get_candidate", detailed).await;
    assistant.call("get_screen", json!({ "screen_id": of.screen })).await;
    assistant.refused("add_note", json!({ "candidate_id": of.candidate })).await;
    let log = api.get("/api/v1/audit_log?limit=100").await.expect(200);
    let entries: Vec<_> = log.body["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["actor"]["type"] == "app")
        .map(|entry| {
            assert_eq!(entry["actor"]["id"], json!(grant.id), "{entry}");
            let (action, shown) = (entry["action"].as_str().unwrap(), &entry["shown"]);
            let tool = entry["tool"]["name"].as_str().unwrap_or_default();
            let target = entry["target"]["id"].as_u64().unwrap_or_default();
            format!("{action} {tool} {target} {shown}")
        })
        .rev()
        .collect();
    let (candidate, screen, role) = (of.candidate, of.screen, of.role);
    let expected = [
        "candidates.listed  0 1".to_owned(),
        format!("tool.called search_candidates {role} null"),
        "candidates.searched  0 1".to_owned(),
        "tool.called search_candidates 0 null".to_owned(),
        format!("candidate.read  {candidate} null"),
        format!("notes.listed  {candidate} null"),
        format!("tool.called get_candidate {candidate} null"),
        format!("voice_screen.read  {screen} null"),
        format!("tool.called get_screen {screen} null"),
        format!("tool.called add_note {candidate} null"),
    ];
    assert_eq!(entries, expected);
}

#[tokio::test]
async fn the_function_may_use_what_all_tools_need() {
    let api = TestApi::new().await;
    let assistant = Assistant::new(&api);
    let of = Fixtures::new(&api).await;
    for minute in 31..59 {
        api.clock.set(&format!("2026-11-20T09:{minute}:00Z"));
        api.run_tasks().await;
    }
    api.run_feed().await;
    for (name, arguments) in calls(&of) {
        assistant.try_call(name, arguments).await.expect(200);
    }
    let person = json!({
        "name": "Eve", "email": "eve@example.com", "phone": "+4915112345678", "external_id": "e", "tags": ["t"],
        "source": "fair", "role_id": of.role, "idempotency_key": "k",
    });
    for search in [
        json!({ "stage": "applied" }),
        json!({ "role_id": of.role, "stage": "applied" }),
        json!({ "q": "jane" }),
        json!({ "email": "eve@example.com" }),
        json!({ "phone": "+4915112345678" }),
        json!({ "external_id": "e" }),
        json!({ "source": "fair" }),
        json!({ "tag": "t" }),
    ] {
        assistant.try_call("search_candidates", search).await.expect(200);
    }
    let eve = assistant.call("add_candidate", person).await["id"].clone();
    assistant.refused("get_candidate", json!({ "candidate_id": 17 })).await;
    let detailed = json!({ "candidate_id": eve, "response_format": "detailed" });
    assistant.call("get_candidate", detailed).await;
    assistant.call("list_roles", json!({ "status": "open" })).await;
    assistant.call("save_role", json!({ "title": "Waiter" })).await;
    assistant.call("list_changes", json!({})).await;
    for (tool, arguments) in [
        ("invite_to_screen", json!({ "candidate_id": eve, "role_id": of.role })),
        ("move_candidate", json!({ "candidate_id": of.candidate, "action": "hire" })),
        ("move_candidate", json!({ "candidate_id": eve, "action": "reject" })),
        ("post_to_x", json!({ "job_posting_id": of.posting })),
        ("quick_post", json!({ "title": "Waiter" })),
        ("save_role", json!({ "role_id": of.role, "title": "Waiter" })),
        ("set_role_status", json!({ "role_id": of.role, "action": "pause" })),
        ("set_role_status", json!({ "role_id": of.role, "action": "resume" })),
        ("set_role_status", json!({ "role_id": of.role, "action": "close" })),
    ] {
        let (_, result) = assistant.confirmed(tool, &arguments).await;
        assert_eq!(result["isError"], false, "{tool}: {result}");
    }

    // The first request of a credential reads its holder.
    let acme = tenant(ACME, Mode::Live);
    let member = owner(&api, ACME).await;
    let (_, token) = connect_app_to(Audience::Mcp, &api.environment, acme, member.id, "Assistant").await;
    let new = new_key(&api, acme, 901, Scopes::all(), None).await;
    for credential in [token, new] {
        Assistant::with(&api, credential.reveal()).call("list_roles", json!({})).await;
    }

    // A real provider reads which countries may be called.
    let sealing_keys = EncryptionKeys::parse(demo::SEALING_KEYS).ok();
    let api = TestApi::with_services(Services { sealing_keys, ..vapi::services(NOWHERE) }).await;
    let assistant = Assistant::new(&api);
    let role = assistant.done("quick_post", json!({ "title": "Cook" })).await["role_id"].clone();
    let eve =
        json!({ "name": "Eve", "email": "eve@example.com", "phone": "+4915112345678", "role_id": role });
    let eve = assistant.call("add_candidate", eve).await["id"].clone();
    let invite = json!({ "candidate_id": eve, "role_id": role });
    // Nobody confirms what cannot happen.
    let text = assistant.refused("invite_to_screen", invite).await;
    assert!(text.contains("consent must be given by the candidate"), "{text}");
}

#[tokio::test]
async fn a_repeated_call_with_a_key_has_no_second_effect() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    let assistant = Assistant::new(&api);
    // The audit log has every call.
    let items = async || {
        let stored = api.stored_items().await.into_keys();
        stored.filter(|(pk, _)| !pk.contains("#AUDIT#")).collect::<Vec<_>>()
    };
    for (name, mut arguments) in calls(&of) {
        let tool = mcp::tools::TABLE.iter().find(|tool| tool.name == name).unwrap();
        if tool.annotations.read_only {
            continue;
        }
        if name == "invite_to_screen" {
            let person = json!({ "name": "Eve", "email": "eve@example.com", "role_id": of.role });
            arguments["candidate_id"] = assistant.call("add_candidate", person).await["id"].clone();
        }
        if name == "post_to_x" {
            // Only an open role is posted, and another call has paused this one.
            assistant.done("set_role_status", json!({ "role_id": of.role, "action": "resume" })).await;
        }
        arguments["idempotency_key"] = format!("key-{name}").into();
        let first = if ["add_candidate", "add_note", "move_candidate"].contains(&name) {
            assistant.call(name, arguments.clone()).await
        } else {
            // A repetition is not confirmed again.
            assistant.confirmed(name, &arguments).await.1["structuredContent"].clone()
        };
        let before = items().await;
        assert_eq!(assistant.call(name, arguments.clone()).await, first, "{name}");
        assert_eq!(items().await, before, "{name}");
        for (field, value) in [("text", json!("x")), ("title", json!("x")), ("name", json!("x"))] {
            if arguments.get(field).is_some() {
                let mut other = arguments.clone();
                other[field] = value;
                let refused = assistant.refused(name, other).await;
                assert!(
                    refused.starts_with("This idempotency_key was used for another call."),
                    "{name}: {refused}"
                );
            }
        }
    }
    // The job that was posted is not published any more.
    assistant.done("set_role_status", json!({ "role_id": of.role, "action": "pause" })).await;
    let post = json!({ "job_posting_id": of.posting, "idempotency_key": "key-post_to_x" });
    let again = assistant.call("post_to_x", post.clone()).await;
    assert_eq!(again["job_posting_id"], of.posting);
    let other = json!({ "job_posting_id": of.posting, "idempotency_key": "another" });
    let refused = assistant.refused("post_to_x", other).await;
    assert!(refused.contains("job_posting_id must belong to an open role"), "{refused}");
    let long = json!({ "candidate_id": of.candidate, "text": "x", "idempotency_key": "a key" });
    let long = assistant.refused("add_note", long).await;
    assert!(long.ends_with("idempotency_key must be 1 to 255 visible ASCII characters."), "{long}");
}

#[tokio::test]
async fn each_call_counts_once_towards_the_quota() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    let assistant = Assistant::new(&api);
    let used = async || api.get("/api/v1/organization").await.expect(200).number("/usage/requests_today");
    for (name, arguments) in calls(&of) {
        let before = used().await;
        assistant.try_call(name, arguments).await.expect(200);
        assert_eq!(used().await, before + 2, "{name}");
    }
}
