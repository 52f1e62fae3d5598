//! Confirmations of what an assistant does: by a form in the client, or on a page of the dashboard.

use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use tests::assistant::Assistant;
use tests::browser::{Browser, Form};
use tests::dashboard::owner;
use tests::{ACME, BASE_URL, Fixtures, GLOBEX, Response, TestApi};

use super::mcp_protocol::with_headers;

/// A call of the fixture that creates a role after a confirmation, by a client that can show forms.
fn call(title: &str, answer: &Value) -> Value {
    let mut params = json!({ "name": "test_confirmed", "arguments": { "title": title } });
    for (name, value) in answer.as_object().into_iter().flatten() {
        params[name] = value.clone();
    }
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

async fn send(api: &TestApi, title: &str, answer: &Value) -> Response {
    with_headers(api, &call(title, answer)).send().await.expect(200)
}

fn accepted(state: &str) -> Value {
    let yes = json!({ "action": "accept", "content": { "confirm": true } });
    json!({ "inputResponses": { "confirm": yes }, "requestState": state })
}

async fn with_fixtures() -> TestApi {
    let mut api = TestApi::new().await;
    api.serve_mcp_fixtures();
    api
}

async fn roles(api: &TestApi) -> usize {
    api.get("/api/v1/roles?limit=100").await.expect(200).body["data"].as_array().unwrap().len()
}

/// Asks for the confirmation, and returns the state of the question.
async fn ask(api: &TestApi, title: &str) -> String {
    let asked = send(api, title, &json!({})).await;
    assert_eq!(asked.body["result"]["resultType"], "input_required", "{}", asked.text);
    let question = &asked.body["result"]["inputRequests"]["confirm"];
    assert_eq!(
        (&question["method"], &question["params"]["message"]),
        (&json!("elicitation/create"), &json!("Create a role."))
    );
    asked.string("/result/requestState").to_owned()
}

#[tokio::test]
async fn a_member_confirms_in_the_client_once() {
    let api = with_fixtures().await;
    let before = roles(&api).await;
    let state = ask(&api, "Chef").await;
    assert_eq!(roles(&api).await, before);
    let done = send(&api, "Chef", &accepted(&state)).await;
    assert_eq!(done.body["result"]["isError"], false, "{}", done.text);
    assert_eq!(done.string("/result/structuredContent/title"), "Chef");
    let again = send(&api, "Chef", &accepted(&state)).await;
    assert_eq!(again.body["error"]["code"], -32602, "{}", again.text);
    assert_eq!(roles(&api).await, before + 1);
}

#[tokio::test]
async fn a_missing_answer_does_nothing() {
    let api = with_fixtures().await;
    let before = roles(&api).await;
    let state = ask(&api, "Chef").await;
    for answer in [
        json!({ "requestState": state }),
        json!({ "inputResponses": {}, "requestState": state }),
        json!({ "inputResponses": { "confirm": { "action": "accept", "content": {} } }, "requestState": state }),
        json!({ "inputResponses": { "confirm": "yes" }, "requestState": state }),
        json!({ "inputResponses": { "confirm": { "action": "accept", "content": { "confirm": true } } } }),
    ] {
        let asked = send(&api, "Chef", &answer).await;
        assert_eq!(asked.body["result"]["resultType"], "input_required", "{answer}");
    }
    assert_eq!(roles(&api).await, before);
}

/// The decisions in the audit log, the newest first.
pub(super) async fn decisions(api: &TestApi) -> Vec<Value> {
    let log = api.get("/api/v1/audit_log?action=confirmation.decided").await.expect(200);
    log.body["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn any_decision_uses_the_state_up() {
    let api = with_fixtures().await;
    let before = roles(&api).await;
    for response in [
        json!({ "action": "decline" }),
        json!({ "action": "cancel" }),
        json!({ "action": "accept", "content": { "confirm": false } }),
    ] {
        let state = ask(&api, "Chef").await;
        let answer = json!({ "inputResponses": { "confirm": response }, "requestState": state });
        let refused = send(&api, "Chef", &answer).await;
        assert_eq!(refused.body["result"]["isError"], true, "{response}");
        for answer in [accepted(&state), answer] {
            let again = send(&api, "Chef", &answer).await;
            assert_eq!(again.body["error"]["code"], -32602, "{}", again.text);
        }
        let log = decisions(&api).await;
        assert_eq!(log[0]["tool"], json!({ "name": "test_confirmed", "outcome": "refused" }));
        assert_eq!(log[0]["actor"]["type"], "api_key");
    }
    assert_eq!(decisions(&api).await.len(), 3);
    assert_eq!(roles(&api).await, before);
    let state = ask(&api, "Chef").await;
    send(&api, "Chef", &accepted(&state)).await;
    assert_eq!(decisions(&api).await[0]["tool"]["outcome"], "confirmed");
    let late = json!({ "inputResponses": { "confirm": { "action": "decline" } }, "requestState": state });
    assert_eq!(send(&api, "Chef", &late).await.body["error"]["code"], -32602);
    assert_eq!(roles(&api).await, before + 1);
    assert_eq!(decisions(&api).await.len(), 4);
}

#[tokio::test]
async fn a_yes_is_used_up_also_if_the_call_fails() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    let assistant = Assistant::new(&api);
    let yes = json!({ "action": "accept", "content": { "confirm": true } });
    let close = json!({ "role_id": of.role, "action": "close" });
    let asked = assistant.ask("set_role_status", &close, &json!({})).await;
    let answer = json!({ "inputResponses": { "confirm": yes }, "requestState": asked["requestState"] });
    let role = format!("/api/v1/roles/{}", of.role);
    // The role is not the one any more that the member was asked about.
    api.request(Method::PATCH, &role).json(&json!({ "location": "Bonn" })).send().await.expect(200);
    let asked_again = assistant.ask("set_role_status", &close, &answer).await;
    assert_eq!(asked_again["resultType"], "input_required", "{asked_again}");
    assert_eq!(
        decisions(&api).await[0]["tool"],
        json!({ "name": "set_role_status", "outcome": "confirmed" })
    );
    assert_eq!(
        assistant.ask("set_role_status", &close, &answer).await,
        Value::Null,
        "an error of the protocol"
    );

    let pause = json!({ "role_id": of.role, "action": "pause" });
    let asked = assistant.ask("set_role_status", &pause, &json!({})).await;
    let answer = json!({ "inputResponses": { "confirm": yes }, "requestState": asked["requestState"] });
    api.post(&format!("{role}/pause"), json!({})).await.expect(200);
    assert_eq!(assistant.ask("set_role_status", &pause, &answer).await["isError"], true);
    api.post(&format!("{role}/resume"), json!({})).await.expect(200);
    assert_eq!(assistant.ask("set_role_status", &pause, &answer).await, Value::Null);
    assert_eq!(api.get(&role).await.expect(200).body["status"], "open");
    assert_eq!(decisions(&api).await.len(), 2);
}

#[tokio::test]
async fn a_state_is_for_one_caller_one_call_and_fifteen_minutes() {
    let api = with_fixtures().await;
    let before = roles(&api).await;
    let state = ask(&api, "Chef").await;
    let invalid =
        |response: &Response| assert_eq!(response.body["error"]["code"], -32602, "{}", response.text);
    invalid(&send(&api, "Cook", &accepted(&state)).await);
    let mut changed = state.clone();
    changed.replace_range(
        state.len() - 6..state.len() - 5,
        if &state[state.len() - 6..state.len() - 5] == "A" { "B" } else { "A" },
    );
    for wrong in [changed.as_str(), "", "nonsense"] {
        invalid(&send(&api, "Chef", &accepted(wrong)).await);
    }
    let message = call("Chef", &accepted(&state));
    for (demo, mode) in [(GLOBEX, Mode::Live), (ACME, Mode::Test)] {
        invalid(&with_headers(&api, &message).key(demo, mode).send().await);
    }
    api.clock.set("2026-11-20T09:45:00Z");
    invalid(&send(&api, "Chef", &accepted(&state)).await);
    assert_eq!(roles(&api).await, before);
}

#[tokio::test]
async fn a_client_that_cannot_ask_gets_the_address_of_a_page() {
    let api = with_fixtures().await;
    let before = roles(&api).await;
    let arguments = json!({ "title": "Chef" });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "test_confirmed", "arguments": arguments } });
    for _ in 0..2 {
        let asked = api.request(Method::POST, "/mcp").json(&call).send().await.expect(200);
        assert_eq!(asked.body["result"]["isError"], true);
        assert!(
            asked.string("/result/content/0/text").contains("/dashboard/confirmations/"),
            "{}",
            asked.text
        );
    }
    assert_eq!(roles(&api).await, before);
    let log = api.get("/api/v1/audit_log?action=tool.called").await.expect(200);
    assert_eq!(log.body["data"][0]["tool"], json!({ "name": "test_confirmed", "outcome": "asked" }));
}

#[tokio::test]
async fn a_member_confirms_on_a_page_and_the_same_call_succeeds_once() {
    let api = with_fixtures().await;
    let before = roles(&api).await;
    let call = |title: &str| {
        let call = json!({ "name": "test_confirmed", "arguments": { "title": title } });
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call })
    };
    let send =
        async |title: &str| api.request(Method::POST, "/mcp").json(&call(title)).send().await.expect(200);
    let asked = send("Chef").await;
    let text = asked.string("/result/content/0/text");
    let path = text.split_once(BASE_URL).unwrap().1.split(' ').next().unwrap();
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let page = browser.get(path).await.expect(200);
    assert!(page.text.contains("Create a role.") && page.text.contains("test_confirmed"), "{}", page.text);
    let other = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    other.get(path).await.expect(404);
    let form = Form::of(&page, path);
    browser.submit(path, &form.clone().and("decision", "confirm")).await.expect(303);
    assert_eq!(roles(&api).await, before, "the page itself does nothing");
    assert_eq!(send("Cook").await.body["result"]["isError"], true, "another call needs its own confirmation");
    assert_eq!(send("Chef").await.body["result"]["isError"], false);
    assert_eq!(roles(&api).await, before + 1);
    assert_eq!(send("Chef").await.body["result"]["isError"], true, "a confirmation is used up");
    browser.submit(path, &form.clone().and("decision", "refuse")).await.expect(303);
    browser.get(path).await.expect(404);
    send("Chef").await;
    browser.submit(path, &form.and("decision", "confirm")).await.expect(303);
    api.clock.set("2026-11-20T09:45:00Z");
    assert_eq!(send("Chef").await.body["result"]["isError"], true, "a confirmation ends after 15 minutes");
    assert_eq!(roles(&api).await, before + 1);
}
