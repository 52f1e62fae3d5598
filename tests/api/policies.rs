//! What each function does to the table is what `template.yaml` allows it: no less, or it fails in AWS; no more.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde_json::{Value, json};
use serde_yaml_ng::Value as Yaml;
use tests::wire::Recorded;
use tests::{World, project};

type Actions = BTreeSet<(String, &'static str)>;

/// The actions that a call needs, on the table or on its index.
fn needed(call: &Recorded) -> Vec<(String, &'static str)> {
    let action = |name: &str| format!("dynamodb:{name}");
    if call.operation == "TransactWriteItems" {
        let actions =
            call.request["TransactItems"].as_array().into_iter().flatten().filter_map(Value::as_object);
        let name = |kind: &String| match kind.as_str() {
            "ConditionCheck" => "ConditionCheckItem".to_owned(),
            kind => format!("{kind}Item"),
        };
        return actions.flat_map(|item| item.keys()).map(|kind| (action(&name(kind)), "table")).collect();
    }
    let resource = if call.request.get("IndexName").is_some() { "index" } else { "table" };
    vec![(action(&call.operation), resource)]
}

fn allowed() -> BTreeMap<String, Actions> {
    let text = std::fs::read_to_string(project("template.yaml")).unwrap();
    let template: Yaml = serde_yaml_ng::from_str(&text).unwrap();
    let mut allowed = BTreeMap::new();
    for (name, resource) in template["Resources"].as_mapping().unwrap() {
        let mut actions = Actions::new();
        let policies = resource.get("Properties").and_then(|properties| properties.get("Policies"));
        for policy in policies.and_then(Yaml::as_sequence).into_iter().flatten() {
            for statement in policy["Statement"].as_sequence().unwrap() {
                let target = serde_yaml_ng::to_string(&statement["Resource"]).unwrap();
                let target = if target.contains("index/") { "index" } else { "table" };
                let granted = match &statement["Action"] {
                    Yaml::Sequence(actions) => actions.clone(),
                    action => vec![action.clone()],
                };
                actions.extend(granted.iter().map(|action| (action.as_str().unwrap().to_owned(), target)));
            }
        }
        allowed.insert(name.as_str().unwrap().to_owned(), actions);
    }
    allowed
}

/// Requests that take every way through the functions that writes or reads differently.
async fn everything(world: &World) -> Vec<(String, Vec<Recorded>)> {
    let mut seen = Vec::new();
    let mut ids = BTreeMap::new();
    let script = [
        (
            "POST",
            "/api/v1/quick_post",
            json!({ "role": { "title": "x" } }),
            Some(("live", "/role/id", "/job_posting/id")),
        ),
        (
            "POST",
            "/api/v1/quick_post",
            json!({ "role": { "title": "x" }, "publish": false }),
            Some(("draft", "/role/id", "/job_posting/id")),
        ),
        ("POST", "/api/v1/roles", json!({ "title": "y" }), Some(("plain", "/id", "/id"))),
        ("POST", "/api/v1/job_postings", json!({ "role_id": "{plain}" }), None),
        ("GET", "/api/v1/roles", Value::Null, None),
        ("GET", "/api/v1/roles?status=open", Value::Null, None),
        ("GET", "/api/v1/roles/{live}", Value::Null, None),
        ("GET", "/api/v1/roles/{live}/stats", Value::Null, None),
        ("PATCH", "/api/v1/roles/{live}", json!({ "title": "z" }), None),
        ("POST", "/api/v1/roles/{live}/pause", Value::Null, None),
        ("POST", "/api/v1/roles/{live}/pause", Value::Null, None),
        ("POST", "/api/v1/roles/{live}/resume", Value::Null, None),
        ("GET", "/api/v1/job_postings", Value::Null, None),
        ("GET", "/api/v1/job_postings?published=true", Value::Null, None),
        ("GET", "/api/v1/job_postings/{live'}", Value::Null, None),
        ("PATCH", "/api/v1/job_postings/{live'}", json!({ "title": "z" }), None),
        ("POST", "/api/v1/job_postings/{live'}/unpublish", Value::Null, None),
        ("POST", "/api/v1/job_postings/{live'}/publish", Value::Null, None),
        ("DELETE", "/api/v1/roles/{live}", Value::Null, None),
        ("DELETE", "/api/v1/roles/{draft}", Value::Null, None),
        ("POST", "/api/v1/roles/{draft}/reopen", Value::Null, None),
        ("GET", "/api/v1/organization", Value::Null, None),
        ("GET", "/nowhere", Value::Null, None),
    ];
    for (number, (method, path, body, kept)) in script.into_iter().enumerate() {
        let filled = |text: &str| {
            ids.iter().fold(text.to_owned(), |text: String, (name, id): (&String, &u64)| {
                text.replace(&format!("{{{name}}}"), &id.to_string())
            })
        };
        // An id stands in a body without the quotes that its placeholder needs.
        let body = filled(&body.to_string().replace("\"{plain}\"", "{plain}"));
        let body: Value = serde_json::from_str(&body).unwrap();
        let path = filled(path);
        world.wire.take();
        let method: Method = method.parse().unwrap();
        let ask = world.request(method, &path).header("idempotency-key", &format!("k{number}"));
        let answer = if body.is_null() { ask.send().await } else { ask.json(&body).send().await };
        if let Some((name, first, second)) = kept {
            ids.insert(name.to_owned(), answer.number(first));
            ids.insert(format!("{name}'"), answer.number(second));
        }
        let pattern = path.split('?').next().unwrap_or_default();
        let function = ["quick_post", "roles", "job_postings", "organization"].into_iter().find(|name| {
            pattern == format!("/api/v1/{name}") || pattern.starts_with(&format!("/api/v1/{name}/"))
        });
        seen.push((function.unwrap_or("default").to_owned(), world.wire.take()));
    }
    seen
}

fn logical_id(function: &str) -> String {
    let words = function.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
    words.chain(["Function".to_owned()]).collect()
}

#[tokio::test]
async fn policies_are_least_privilege() {
    let world = World::new().await;
    let mut used: BTreeMap<String, Actions> = BTreeMap::new();
    for (function, calls) in everything(&world).await {
        let actions = used.entry(logical_id(&function)).or_default();
        actions.extend(calls.iter().flat_map(needed));
        // At its start, and when the gate is throttled, a function reads an item.
        if !calls.is_empty() {
            actions.insert(("dynamodb:GetItem".to_owned(), "table"));
        }
    }
    world.hands.set("2026-11-21T00:00:00Z");
    usage_reset::run(world.environment.clone()).await.unwrap();
    let actions = used.entry("UsageResetFunction".to_owned()).or_default();
    actions.extend(world.wire.take().iter().flat_map(needed));
    actions.insert(("dynamodb:GetItem".to_owned(), "table"));
    let allowed = allowed();
    for (function, used) in used {
        assert_eq!(used, allowed[&function], "{function}: used, and allowed");
    }
}
