//! An assistant: a client of the MCP function that calls tools, and checks each result against the tool's schemas.

use http::Method;
use serde_json::{Value, json};

use crate::{ACME, Response, TestApi, key};
use shared::model::Mode;

/// A client with one credential.
pub struct Assistant<'a> {
    api: &'a TestApi,
    credential: String,
}

impl<'a> Assistant<'a> {
    /// An assistant with Acme's live key.
    pub fn new(api: &'a TestApi) -> Self {
        Self::with(api, &key(ACME, Mode::Live))
    }

    /// An assistant with this credential.
    pub fn with(api: &'a TestApi, credential: &str) -> Self {
        Self { api, credential: credential.to_owned() }
    }

    /// Sends a request of the era before 2026-07-28.
    pub async fn send(&self, method: &str, params: Value) -> Response {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = self.api.request(Method::POST, "/mcp").bearer(&self.credential);
        let request = request.header("accept", "application/json, text/event-stream");
        request.header("mcp-protocol-version", "2025-11-25").json(&message).send().await
    }

    /// The tools that the credential's scopes allow.
    pub async fn tools(&self) -> Vec<Value> {
        let list = self.send("tools/list", json!({})).await.expect(200);
        list.body["result"]["tools"].as_array().expect("tools").clone()
    }

    /// Calls a tool and returns the whole response.
    pub async fn try_call(&self, tool: &str, arguments: Value) -> Response {
        self.send("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// Calls a tool and returns its result. Structured content must match the tool's schema, and be the text, too.
    pub async fn result(&self, tool: &str, arguments: Value) -> Value {
        let response = self.try_call(tool, arguments).await.expect(200);
        let result = response.body.get("result").unwrap_or_else(|| panic!("no result: {}", response.text));
        if let Some(content) = result.get("structuredContent") {
            let tools = mcp::tools::TABLE;
            let known = tools.iter().find(|known| known.name == tool).expect("a tool");
            let schema = (known.output.expect("an output schema"))();
            if let Err(error) = jsonschema::validate(&schema, content) {
                panic!("{tool}: {error} in {content}");
            }
            for field in content.as_object().expect("an object").keys() {
                assert!(schema["properties"].get(field).is_some(), "{tool}: {field} is not in the schema");
            }
            let text = result["content"][0]["text"].as_str().expect("a text");
            assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), *content);
        }
        result.clone()
    }

    /// Calls a tool that must succeed, and returns its structured content.
    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        let tool = tool.to_owned();
        async move {
            let result = self.result(&tool, arguments).await;
            assert_eq!(result["isError"], false, "{caller}: {result}");
            result["structuredContent"].clone()
        }
    }

    /// Calls a tool as a client of the era from 2026-07-28 that can ask the member, and returns its result: the question
    /// with its state, or the end of the call. `answer` has the member's answer and the state.
    pub async fn ask(&self, tool: &str, arguments: &Value, answer: &Value) -> Value {
        let mut params = json!({ "name": tool, "arguments": arguments });
        for (name, value) in answer.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let request = self.api.request(Method::POST, "/mcp").bearer(&self.credential).json(&message);
        let request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", "tools/call");
        request.header("mcp-name", tool).send().await.expect(200).body["result"].clone()
    }

    /// Calls a tool, and confirms the call as the member. Returns the question's text and the result.
    pub async fn confirmed(&self, tool: &str, arguments: &Value) -> (String, Value) {
        let asked = self.ask(tool, arguments, &json!({})).await;
        assert_eq!(asked["resultType"], "input_required", "{tool}: {asked}");
        let message = asked["inputRequests"]["confirm"]["params"]["message"].as_str().expect("a question");
        let yes = json!({ "action": "accept", "content": { "confirm": true } });
        let answer = json!({ "inputResponses": { "confirm": yes }, "requestState": asked["requestState"] });
        (message.to_owned(), self.ask(tool, arguments, &answer).await)
    }

    /// Calls a tool, confirms the call as the member, and returns the structured content.
    pub async fn done(&self, tool: &str, arguments: Value) -> Value {
        let (_, result) = self.confirmed(tool, &arguments).await;
        assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that must be refused, and returns what it says.
    #[track_caller]
    pub fn refused(&self, tool: &str, arguments: Value) -> impl Future<Output = String> {
        let caller = std::panic::Location::caller();
        let tool = tool.to_owned();
        async move {
            let result = self.result(&tool, arguments).await;
            assert_eq!(result["isError"], true, "{caller}: {result}");
            result["content"][0]["text"].as_str().expect("a text").to_owned()
        }
    }
}
