//! The protocol of the MCP endpoint: eras, headers, errors, credentials and the quota.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde_json::{Value, json};
use shared::model::{Mode, Scope};
use tests::interceptor::Fault;
use tests::{ACME, BASE_URL, GLOBEX, RequestBuilder, Response, TestApi, tenant};

use super::access::new_key;

const MODERN: &str = "2026-07-28";

fn meta(version: &str, capabilities: Value) -> Value {
    let mut meta = json!({ "io.modelcontextprotocol/protocolVersion": version });
    meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    meta
}

/// A request of the modern era.
fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = meta(MODERN, json!({}));
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

fn legacy(method: &str, params: impl Into<Value>) -> Value {
    let params = params.into();
    json!({ "jsonrpc": "2.0", "id": "a", "method": method, "params": params })
}

/// Sends a message with the headers that the modern era requires.
pub(super) fn with_headers<'a>(api: &'a TestApi, message: &Value) -> RequestBuilder<'a> {
    let request = api.request(Method::POST, "/mcp").json(message).header("mcp-protocol-version", MODERN);
    let request = request.header("mcp-method", message["method"].as_str().unwrap());
    match message["params"].get("name").or_else(|| message["params"].get("uri")).and_then(Value::as_str) {
        Some(name) => request.header("mcp-name", name),
        None => request,
    }
}

async fn send(api: &TestApi, message: &Value) -> Response {
    api.request(Method::POST, "/mcp").json(message).send().await
}

fn error(response: &Response) -> (u16, i64) {
    (response.status, response.body["error"]["code"].as_i64().unwrap_or_default())
}

#[tokio::test]
async fn a_modern_client_discovers_lists_and_calls_without_an_initialization() {
    let api = TestApi::new().await;
    let found = with_headers(&api, &modern("server/discover", json!({}))).send().await.expect(200);
    let result = &found.body["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["supportedVersions"][0], MODERN);
    assert!(result["capabilities"]["tools"].is_object() && result["ttlMs"].is_u64());
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "rolecall");
    let listed = with_headers(&api, &modern("tools/list", json!({}))).send().await.expect(200);
    assert_eq!(listed.body["result"]["cacheScope"], "private");
    assert!(!listed.body["result"]["tools"].as_array().unwrap().is_empty());
    let call = modern("tools/call", json!({ "name": "list_roles", "arguments": {} }));
    let called = with_headers(&api, &call).send().await.expect(200);
    assert_eq!(called.body["id"], 7);
    assert_eq!(called.body["result"]["isError"], false, "{}", called.text);
    assert!(called.body["result"]["structuredContent"].is_object());
    assert_eq!(called.body["result"]["ttlMs"], Value::Null);
}

#[tokio::test]
async fn a_legacy_client_initializes_with_each_revision() {
    let api = TestApi::new().await;
    for (requested, answered) in [
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        (MODERN, "2025-11-25"),
    ] {
        let params =
            json!({ "protocolVersion": requested, "capabilities": {}, "clientInfo": { "name": "x" } });
        let response = send(&api, &legacy("initialize", params)).await.expect(200);
        assert_eq!(response.string("/result/protocolVersion"), answered);
        assert_eq!(response.header("mcp-session-id"), "");
        assert_eq!(response.body["result"].get("resultType"), None);
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let ready = api.request(Method::POST, "/mcp").json(&ready).header("mcp-protocol-version", answered);
        let ready = ready.header("mcp-session-id", "of another server").send().await.expect(202);
        assert_eq!(ready.text, "");
        let ping = api.request(Method::POST, "/mcp").json(&legacy("ping", json!({})));
        let ping = ping.header("mcp-protocol-version", answered).send().await.expect(200);
        assert_eq!(ping.body, json!({ "jsonrpc": "2.0", "id": "a", "result": {} }));
    }
    let listed = send(&api, &legacy("tools/list", json!({}))).await.expect(200);
    for name in ["resultType", "ttlMs", "cacheScope", "_meta"] {
        assert_eq!(listed.body["result"].get(name), None, "{name}");
    }
}

#[tokio::test]
async fn headers_and_meta_of_the_modern_era_must_agree() {
    let api = TestApi::new().await;
    let call = modern("tools/call", json!({ "name": "list_roles", "arguments": {} }));
    let request = || with_headers(&api, &call);
    let encoded = format!("=?base64?{}?=", STANDARD.encode("list_roles"));
    request().header("mcp-name", &encoded).send().await.expect(200);
    let plain = || api.request(Method::POST, "/mcp").json(&call);
    let with_version = || plain().header("mcp-protocol-version", MODERN);
    for (request, code) in [
        (plain(), -32020),
        (plain().header("mcp-protocol-version", "2025-11-25"), -32020),
        (with_version(), -32020),
        (with_version().header("mcp-method", "tools/call"), -32020),
        (request().header("mcp-method", "tools/list"), -32020),
        (request().header("mcp-name", "another"), -32020),
        (request().header("mcp-name", "=?base64?x?="), -32020),
    ] {
        let response = request.send().await;
        assert_eq!((error(&response), &response.body["id"]), ((400, code), &json!(7)), "{}", response.text);
    }
}

#[tokio::test]
async fn the_protocol_errors_have_their_status_and_code() {
    let api = TestApi::new().await;
    let mut no_version = modern("tools/list", json!({}));
    no_version["params"]["_meta"] = json!({ "io.modelcontextprotocol/clientCapabilities": {} });
    let mut no_capabilities = modern("tools/list", json!({}));
    no_capabilities["params"]["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": MODERN });
    let mut no_meta = modern("tools/list", json!({}));
    no_meta["params"] = json!({});
    let mut old = modern("tools/list", json!({}));
    old["params"]["_meta"] = meta("2031-01-01", json!({}));
    for (request, expected) in [
        (with_headers(&api, &no_version), (400, -32602)),
        (with_headers(&api, &no_capabilities), (400, -32602)),
        (with_headers(&api, &no_meta), (400, -32602)),
        (with_headers(&api, &old).header("mcp-protocol-version", "2031-01-01"), (400, -32022)),
        (with_headers(&api, &no_meta).header("mcp-protocol-version", "2031-01-01"), (400, -32022)),
        (with_headers(&api, &modern("initialize", json!({}))), (404, -32601)),
        (with_headers(&api, &modern("ping", json!({}))), (404, -32601)),
        (with_headers(&api, &modern("nothing", json!({}))), (404, -32601)),
        (with_headers(&api, &modern("tools/list", json!({ "cursor": "x" }))), (200, -32602)),
        (with_headers(&api, &modern("tools/call", json!({ "name": "nothing" }))), (200, -32602)),
    ] {
        let response = request.send().await;
        assert_eq!((error(&response), &response.body["id"]), (expected, &json!(7)), "{}", response.text);
    }
    let response = with_headers(&api, &old).header("mcp-protocol-version", "2031-01-01").send().await;
    assert_eq!(response.body["error"]["data"]["requested"], "2031-01-01");
    assert_eq!(response.body["error"]["data"]["supported"][0], MODERN);
    for (message, expected) in [
        (legacy("nothing", json!({})), (404, -32601)),
        (legacy("server/discover", json!({})), (404, -32601)),
        (json!({ "jsonrpc": "1.0", "id": 1, "method": "ping" }), (400, -32600)),
        (json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }), (400, -32600)),
        (json!({ "jsonrpc": "2.0", "id": [], "method": "ping" }), (400, -32600)),
        (json!({ "jsonrpc": "2.0", "id": 1 }), (400, -32600)),
        (json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": [] }), (400, -32600)),
        (json!(17), (400, -32600)),
    ] {
        assert_eq!(error(&send(&api, &message).await), expected, "{message}");
    }
    let request = || api.request(Method::POST, "/mcp");
    assert_eq!(error(&request().body("application/json", "{").send().await), (400, -32700));
    assert_eq!(error(&request().body("text/plain", "{}").send().await), (415, -32600));
    let long = format!("\"{}\"", "x".repeat(256 * 1024));
    assert_eq!(error(&request().body("application/json", long).send().await), (413, -32600));
    for method in [Method::GET, Method::DELETE] {
        let response = api.request(method, "/mcp").send().await.expect(405);
        assert_eq!(response.header("allow"), "POST");
    }
}

#[tokio::test]
async fn a_capability_that_the_call_needs_and_the_client_lacks_is_named() {
    let mut api = TestApi::new().await;
    api.serve_mcp_fixtures();
    let mut call = modern("tools/call", json!({ "name": "test_missing_capability", "arguments": {} }));
    let response = with_headers(&api, &call).send().await;
    assert_eq!((error(&response), &response.body["id"]), ((400, -32021), &json!(7)), "{}", response.text);
    assert_eq!(response.body["error"]["data"], json!({ "requiredCapabilities": { "sampling": {} } }));
    call["params"]["_meta"] = meta(MODERN, json!({ "sampling": {} }));
    let asked = with_headers(&api, &call).send().await.expect(200);
    assert_eq!(asked.body["result"]["resultType"], "input_required");
}

#[tokio::test]
async fn every_list_of_the_modern_era_may_be_kept_by_its_client_alone() {
    let api = TestApi::new().await;
    for method in
        ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "server/discover"]
    {
        let listed = with_headers(&api, &modern(method, json!({}))).send().await.expect(200);
        let result = &listed.body["result"];
        assert_eq!(
            (&result["cacheScope"], &result["resultType"]),
            (&json!("private"), &json!("complete")),
            "{method}"
        );
        assert_eq!(result["ttlMs"], 300_000, "{method}");
    }
}

#[tokio::test]
async fn a_failure_of_the_service_keeps_its_status_and_headers() {
    let api = TestApi::new().await;
    let call = legacy("tools/call", json!({ "name": "list_roles", "arguments": {} }));
    for failing in ["UpdateItem", "Query"] {
        api.dynamodb.inject_faults(move |operation, _| (operation == failing).then_some(Fault::Unreachable));
        let response = send(&api, &call).await;
        assert_eq!(error(&response), (503, -32603), "{failing}: {}", response.text);
        assert_eq!((response.body["jsonrpc"].as_str(), response.header("retry-after")), (Some("2.0"), "1"));
        assert_eq!(response.body["error"]["data"]["code"], "unavailable");
    }
    api.dynamodb.inject_faults(|_, _| None);
    send(&api, &call).await.expect(200);
}

#[tokio::test]
async fn only_the_oldest_revision_has_batches() {
    let api = TestApi::new().await;
    let ping = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let batch = json!([ping(1), note, { "jsonrpc": "2.0", "id": 2, "method": "nothing" }]);
    let response = send(&api, &batch).await.expect(200);
    assert_eq!(response.body[0], json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    assert_eq!((&response.body[1]["id"], &response.body[1]["error"]["code"]), (&json!(2), &json!(-32601)));
    assert_eq!(response.body.as_array().unwrap().len(), 2);
    send(&api, &json!([note])).await.expect(202);
    for wrong in [json!([]), (0..11).map(ping).collect()] {
        assert_eq!(error(&send(&api, &wrong).await), (400, -32600));
    }
    let request = api.request(Method::POST, "/mcp").json(&batch).header("mcp-protocol-version", "2025-06-18");
    assert_eq!(error(&request.send().await), (400, -32600));
}

#[tokio::test]
async fn a_request_of_another_sites_page_is_rejected_before_the_credential_is_checked() {
    let api = TestApi::new().await;
    let request = || api.request(Method::POST, "/mcp").json(&legacy("ping", json!({})));
    for origin in
        ["https://evil.example", "null", "http://api.rolecall.test", "https://api.rolecall.test.evil.example"]
    {
        api.dynamodb.take_calls();
        let response = request().header("origin", origin).send().await.expect(403);
        assert_eq!(response.body["error"]["code"], -32600, "{origin}");
        assert!(api.dynamodb.take_calls().is_empty());
    }
    request().header("origin", BASE_URL).send().await.expect(200);
}

#[tokio::test]
async fn a_credential_is_required_and_its_scopes_limit_the_tools() {
    let api = TestApi::new().await;
    let challenge =
        format!("Bearer resource_metadata=\"{BASE_URL}/.well-known/oauth-protected-resource/mcp\"");
    let list = legacy("tools/list", json!({}));
    let request = || api.request(Method::POST, "/mcp").json(&list);
    for (response, rest) in [
        (request().anonymous().send().await, ", scope=\"roles:read "),
        (request().bearer("nonsense").send().await, ", error=\"invalid_token\", scope=\"roles:read "),
    ] {
        let response = response.expect(401);
        assert_eq!(response.body["error"]["code"], -32600);
        assert!(response.header("www-authenticate").starts_with(&format!("{challenge}{rest}")), "{rest}");
    }
    let narrow = new_key(&api, tenant(ACME, Mode::Live), 91, Scope::OrganizationRead.into(), None).await;
    let listed = request().bearer(narrow.reveal()).send().await.expect(200);
    assert_eq!(listed.body["result"]["tools"], json!([]));
    let call = legacy("tools/call", json!({ "name": "list_roles", "arguments": {} }));
    let narrowed =
        api.request(Method::POST, "/mcp").json(&call).bearer(narrow.reveal()).send().await.expect(403);
    let insufficient = format!("{challenge}, error=\"insufficient_scope\", scope=\"roles:read\"");
    assert_eq!(narrowed.header("www-authenticate"), insufficient);
    let batch = json!([call, call]);
    api.request(Method::POST, "/mcp").json(&batch).bearer(narrow.reveal()).send().await.expect(403);
}

#[tokio::test]
async fn an_error_outside_the_protocol_has_null_as_its_id() {
    let api = TestApi::new().await;
    let list = legacy("tools/list", json!({}));
    let request = || api.request(Method::POST, "/mcp").json(&list);
    let narrow = new_key(&api, tenant(ACME, Mode::Live), 92, Scope::OrganizationRead.into(), None).await;
    let call = legacy("tools/call", json!({ "name": "list_roles" }));
    let narrowed = api.request(Method::POST, "/mcp").json(&call).bearer(narrow.reveal());
    let no_json = api.request(Method::POST, "/mcp").body("application/json", "{");
    for (request, status) in [
        (request().anonymous(), 401),
        (narrowed, 403),
        (request().header("origin", "https://evil.example"), 403),
        (no_json, 400),
        (api.request(Method::POST, "/mcp").json(&json!(17)), 400),
    ] {
        let response = request.send().await;
        assert_eq!(
            (response.status, response.body.get("id")),
            (status, Some(&Value::Null)),
            "{}",
            response.text
        );
    }
    api.dynamodb.inject_faults(|_, _| Some(Fault::Unreachable));
    let busy = request().send().await.expect(503);
    assert_eq!(busy.body.get("id"), Some(&Value::Null), "{}", busy.text);
}

#[tokio::test]
async fn the_address_may_end_with_a_slash() {
    let api = TestApi::new().await;
    let list = legacy("tools/list", json!({}));
    let listed = async |path| api.request(Method::POST, path).json(&list).send().await.expect(200).body;
    assert_eq!(listed("/mcp/").await, listed("/mcp").await);
    let anonymous = api.request(Method::POST, "/mcp/").json(&list).anonymous().send().await.expect(401);
    let metadata = format!("{BASE_URL}/.well-known/oauth-protected-resource/mcp");
    assert!(anonymous.header("www-authenticate").contains(&metadata));
    for method in [Method::GET, Method::DELETE] {
        assert_eq!(api.request(method, "/mcp/").send().await.expect(405).header("allow"), "POST");
    }
}

/// Globex is on the Free plan.
async fn used_by_globex(api: &TestApi) -> u64 {
    let shown = api.request(Method::GET, "/api/v1/organization").key(GLOBEX, Mode::Live).send().await;
    // Without this request.
    shown.expect(200).number("/usage/requests_today") - 1
}

#[tokio::test]
async fn each_call_read_and_list_counts_and_the_rest_is_free() {
    let api = TestApi::new().await;
    let call = legacy("tools/call", json!({ "name": "list_roles", "arguments": {} }));
    let [ping, list] = ["ping", "tools/list"].map(|method| legacy(method, json!({})));
    let read = legacy("resources/read", json!({ "uri": "rolecall://roles/17" }));
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let begin = legacy("initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {} }));
    for (message, cost) in [
        (call.clone(), 1),
        (list.clone(), 1),
        (read.clone(), 1),
        (legacy("nothing", json!({})), 1),
        (ping.clone(), 0),
        (ready.clone(), 0),
        (begin, 0),
        (json!([ping, ping]), 0),
        (json!([ping, call, ready, list, read]), 3),
        (json!(vec![&call; 10]), 10),
        (json!(vec![&call; 11]), 1),
        (json!([]), 1),
    ] {
        let before = used_by_globex(&api).await;
        api.request(Method::POST, "/mcp").key(GLOBEX, Mode::Live).json(&message).send().await;
        assert_eq!(used_by_globex(&api).await, before + 1 + cost, "{message}");
    }
    let before = used_by_globex(&api).await;
    let discover = modern("server/discover", json!({}));
    with_headers(&api, &discover).key(GLOBEX, Mode::Live).send().await.expect(200);
    assert_eq!(used_by_globex(&api).await, before + 1);
}

#[tokio::test]
async fn a_batch_that_the_rest_of_the_quota_does_not_cover_has_no_effect() {
    let api = TestApi::new().await;
    let request = |message: &Value| api.request(Method::POST, "/mcp").key(GLOBEX, Mode::Live).json(message);
    let list = legacy("tools/list", json!({}));
    let ping = legacy("ping", json!({}));
    let add = legacy("tools/call", json!({ "name": "save_role", "arguments": { "title": "Cook" } }));
    for _ in 0..95 {
        request(&list).send().await.expect(200);
    }
    let refused = request(&json!(vec![&add; 6])).send().await.expect(429);
    assert_eq!(
        (refused.body["error"]["code"].as_i64(), refused.body.get("id")),
        (Some(-32603), Some(&Value::Null))
    );
    assert!(!refused.header("retry-after").is_empty());
    assert!(refused.header("ratelimit").contains("r=5;"), "{}", refused.header("ratelimit"));
    let done = request(&json!(vec![&add; 4])).send().await.expect(200);
    assert_eq!(done.body.as_array().unwrap().len(), 4);
    assert!(
        done.body.as_array().unwrap().iter().all(|one| one["result"]["isError"] == false),
        "{}",
        done.text
    );
    let roles = legacy("tools/call", json!({ "name": "list_roles", "arguments": { "limit": 100 } }));
    let roles = request(&roles).send().await.expect(200);
    let roles = roles.body["result"]["structuredContent"]["roles"].as_array().unwrap().clone();
    assert_eq!(roles.iter().filter(|role| role["title"] == "Cook").count(), 4, "the first batch did nothing");
    request(&list).send().await.expect(429);
    request(&json!([ping, list])).send().await.expect(429);
    request(&ping).send().await.expect(200);
    // At the limit, only one of several batches at the same time goes through.
    api.clock.set("2026-11-21T09:30:00Z");
    for _ in 0..90 {
        request(&list).send().await.expect(200);
    }
    let batch = json!(vec![&add; 7]);
    let batches = futures_util::future::join_all((0..8).map(|_| request(&batch).send())).await;
    let admitted = batches.iter().filter(|response| response.status == 200).count();
    assert_eq!(admitted, 1, "{:?}", batches.iter().map(|response| response.status).collect::<Vec<_>>());
}

#[tokio::test]
async fn each_call_of_a_tool_is_in_the_audit_log() {
    let api = TestApi::new().await;
    for (arguments, outcome) in [(json!({}), "done"), (json!({ "unknown": 1 }), "rejected")] {
        let call = legacy("tools/call", json!({ "name": "list_roles", "arguments": arguments }));
        let called = send(&api, &call).await.expect(200);
        if outcome == "rejected" && called.body["result"]["isError"] == false {
            continue;
        }
        let log = api.get("/api/v1/audit_log?action=tool.called").await.expect(200);
        assert_eq!(log.body["data"][0]["tool"], json!({ "name": "list_roles", "outcome": outcome }));
        assert_eq!(log.body["data"][0]["actor"]["type"], "api_key");
    }
}
