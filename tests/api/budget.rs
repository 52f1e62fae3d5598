//! What a request costs: calls to DynamoDB, and items read.

use http::Method;
use rolecall_local::functions::{Tables, tables};
use serde_json::{Value, json};
use shared::http::Access;
use shared::model::{Role, RoleContent, SalaryRange, Text};
use tests::wire::Recorded;
use tests::{Things, World};

/// How many calls each row of the route tables may make, counted on a request that succeeds.
const BUDGET: &[(&str, usize)] = &[
    ("DELETE /api/v1/roles/{id}", 4),
    ("GET /api/v1/candidates", 2),
    ("GET /api/v1/candidates/{id}", 3),
    ("GET /api/v1/channels", 2),
    ("GET /api/v1/channels/x/posts", 2),
    ("GET /api/v1/job_postings", 2),
    ("GET /api/v1/job_postings/{id}", 2),
    ("GET /api/v1/organization", 2),
    ("GET /api/v1/roles", 2),
    ("GET /api/v1/roles/{id}", 2),
    ("GET /api/v1/roles/{id}/stats", 2),
    ("GET /api/v1/voice_screens", 2),
    ("GET /api/v1/voice_screens/{id}", 2),
    ("PATCH /api/v1/candidates/{id}", 3),
    ("PATCH /api/v1/job_postings/{id}", 4),
    ("PATCH /api/v1/roles/{id}", 4),
    ("POST /api/v1/candidates", 3),
    ("POST /api/v1/candidates/{id}/advance", 3),
    ("POST /api/v1/candidates/{id}/applications", 3),
    ("POST /api/v1/candidates/{id}/hire", 3),
    ("POST /api/v1/candidates/{id}/invite_screen", 3),
    ("POST /api/v1/candidates/{id}/reject", 3),
    ("POST /api/v1/candidates/{id}/unreject", 3),
    ("POST /api/v1/channels/x/post", 4),
    ("POST /api/v1/job_postings", 3),
    ("POST /api/v1/job_postings/{id}/publish", 4),
    ("POST /api/v1/job_postings/{id}/unpublish", 4),
    ("POST /api/v1/quick_post", 2),
    ("POST /api/v1/roles", 2),
    ("POST /api/v1/roles/{id}/pause", 4),
    ("POST /api/v1/roles/{id}/publish", 4),
    ("POST /api/v1/roles/{id}/reopen", 4),
    ("POST /api/v1/roles/{id}/resume", 4),
    ("$default", 0),
];

fn operations(calls: &[Recorded]) -> Vec<&str> {
    calls.iter().map(|call| call.operation.as_str()).collect()
}

/// One of everything, with the role and the candidate in the state that the row's request needs, by way of the API.
async fn prepared(world: &World, key: &str) -> Things {
    let things = Things::new(world).await;
    let step = async |step: String| {
        world.request(Method::POST, &format!("/api/v1/{step}")).send().await.expect(200);
    };
    let Things { role, candidate, .. } = things;
    match key {
        "POST /api/v1/roles/{id}/resume" => step(format!("roles/{role}/pause")).await,
        "POST /api/v1/roles/{id}/publish" => {
            world.delete(&format!("/api/v1/roles/{role}")).await.expect(200);
            step(format!("roles/{role}/reopen")).await;
        }
        "POST /api/v1/roles/{id}/reopen" => {
            world.delete(&format!("/api/v1/roles/{role}")).await.expect(200);
        }
        "POST /api/v1/job_postings/{id}/publish" => {
            step(format!("job_postings/{}/unpublish", things.posting)).await;
        }
        "POST /api/v1/candidates/{id}/unreject" => step(format!("candidates/{candidate}/reject")).await,
        _ => {}
    }
    things
}

/// A body that the row's request succeeds with.
fn body(key: &str, things: &Things, draft: u64, open: u64) -> Value {
    match key {
        "POST /api/v1/quick_post" => json!({ "role": { "title": format!("unique {open}") } }),
        "POST /api/v1/roles" => json!({ "title": "x" }),
        "POST /api/v1/job_postings" => json!({ "role_id": draft }),
        "POST /api/v1/candidates" => json!({ "name": "x", "email": "x@example.com", "role_id": open }),
        "POST /api/v1/candidates/{id}/advance" => json!({ "stage": "offer" }),
        "POST /api/v1/candidates/{id}/applications" | "POST /api/v1/candidates/{id}/invite_screen" => {
            json!({ "role_id": open })
        }
        "POST /api/v1/channels/x/post" => json!({ "job_posting_id": things.posting }),
        "PATCH /api/v1/candidates/{id}" => json!({ "name": "other" }),
        _ if key.starts_with("PATCH") => json!({ "title": "other" }),
        _ => json!({}),
    }
}

#[tokio::test]
async fn every_route_keeps_to_its_budget() {
    let world = World::new().await;
    let mut rows: Vec<_> = tables()
        .into_iter()
        .flat_map(Tables::rows)
        .filter(|route| match route.access() {
            Access::Scope(_) => true,
            Access::Public => route.key == "$default",
            Access::Signed | Access::Member(_) => false,
        })
        .map(|route| route.key)
        .collect();
    rows.sort_unstable();
    let mut budgeted: Vec<_> = BUDGET.iter().map(|(key, _)| *key).collect();
    budgeted.sort_unstable();
    assert_eq!(rows, budgeted, "every row has a budget");
    for (key, calls) in BUDGET {
        let things = prepared(&world, key).await;
        let draft = world.post("/api/v1/roles", json!({ "title": "fresh" })).await.number("/id");
        let open = json!({ "role": { "title": "open" } });
        let open = world.post("/api/v1/quick_post", open).await.number("/role/id");
        let (method, path) = key.split_once(' ').unwrap_or(("GET", "/nowhere"));
        let id = things.id(path);
        let body = body(key, &things, draft, open);
        world.wire.take();
        let ask = world.request(method.parse().unwrap(), &path.replace("{id}", &id.to_string()));
        let answer = ask
            .header("idempotency-key", &format!("budget-{key}").replace(' ', "-"))
            .json(&body)
            .send()
            .await;
        let made = world.wire.take();
        if *key == "$default" {
            assert_eq!((answer.status, made.len()), (404, 0));
            continue;
        }
        assert!(answer.status < 300, "{key}: {}", answer.text);
        assert_eq!(operations(&made)[0], "UpdateItem", "{key}: the gate is the first call");
        let gate = made.iter().filter(|call| call.operation == "UpdateItem").count();
        assert_eq!(gate, 1, "{key}: authentication, quota and plan are one call");
        assert_eq!(made.len(), *calls, "{key}: {:?}", operations(&made));
        assert!(
            made.iter()
                .all(|call| call.operation != "Scan" && call.request.get("FilterExpression").is_none())
        );
    }
}

#[tokio::test]
async fn a_quick_post_of_a_title_in_use_costs_one_call_more() {
    let world = World::new().await;
    for _ in 0..30 {
        world.wire.take();
        world.post("/api/v1/quick_post", json!({ "role": { "title": "Engineer" } })).await.expect(201);
        assert!(world.wire.take().len() <= 3);
    }
}

#[tokio::test]
async fn a_refused_request_costs_the_gate_alone() {
    let world = World::new().await;
    for (ask, status) in [
        (world.request(Method::POST, "/api/v1/roles").json(&json!({})), 422),
        (world.request(Method::POST, "/api/v1/roles").body("text/plain", "x"), 415),
        (world.request(Method::GET, "/api/v1/roles/x"), 404),
        (world.request(Method::GET, "/api/v1/roles?limit=0"), 422),
    ] {
        world.wire.take();
        ask.send().await.expect(status);
        assert_eq!(operations(&world.wire.take()), ["UpdateItem"]);
    }
}

/// Capacity units of the queries behind a page, and how many items they read.
async fn cost(world: &World, path: &str) -> (f64, usize, Value) {
    world.wire.take();
    let page = world.get(path).await.expect(200);
    let queries: Vec<_> = world.wire.take().into_iter().filter(|call| call.operation == "Query").collect();
    let read: u64 = queries.iter().filter_map(|call| call.response["ScannedCount"].as_u64()).sum();
    let shown = page.body["data"].as_array().map_or(0, Vec::len);
    assert_eq!(usize::try_from(read).unwrap(), shown, "{path}: nothing is read that is not returned");
    (queries.iter().map(Recorded::units).sum(), queries.len(), page.body)
}

#[tokio::test]
async fn a_page_costs_the_same_of_ten_roles_as_of_ten_thousand_first_or_last() {
    let world = World::new().await;
    let roles = async |from: u64, to: u64| {
        let role = |number: u64| {
            let title = Text::parse(&format!("Role {number:05}")).unwrap().unwrap();
            let content = RoleContent {
                title,
                department: None,
                description: Text::parse(&"d".repeat(300)).unwrap(),
                location: None,
                remote_policy: None,
                salary: SalaryRange::default(),
            };
            let id = shared::id::Id::new(1_000_000_000_000_000 + number).unwrap();
            let draft = Role::draft(id, content, world.environment.clock.now());
            if number.is_multiple_of(2) {
                draft.publish(world.environment.clock.now()).unwrap()
            } else {
                draft
            }
        };
        world.write_roles(&(from..to).map(role).collect::<Vec<_>>()).await;
    };
    let count = 10_000;
    roles(0, 10).await;
    let small = cost(&world, "/api/v1/roles?limit=5").await;
    let small_filtered = cost(&world, "/api/v1/roles?limit=5&status=open").await;
    roles(10, count).await;
    let large = cost(&world, "/api/v1/roles?limit=5").await;
    assert_eq!((small.0, small.1), (large.0, large.1));
    let large_filtered = cost(&world, "/api/v1/roles?limit=5&status=open").await;
    assert_eq!((small_filtered.0, small_filtered.1), (large_filtered.0, large_filtered.1));

    for (list, expected) in
        [("/api/v1/roles?limit=100", count), ("/api/v1/roles?limit=100&status=open", count / 2)]
    {
        let mut path = list.to_owned();
        let mut costs = Vec::new();
        let mut seen = 0;
        loop {
            let (units, queries, page) = cost(&world, &path).await;
            let shown = page["data"].as_array().map_or(0, Vec::len);
            seen += shown;
            if shown > 0 {
                assert_eq!((shown, queries), (100, 1));
                costs.push(units);
            }
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            path = format!("{list}&cursor={cursor}");
        }
        assert_eq!(seen as u64, expected);
        assert!(
            costs.iter().all(|units| (units - costs[0]).abs() <= 0.5),
            "first {} last {:?}",
            costs[0],
            costs.last()
        );
    }
}
