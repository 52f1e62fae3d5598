//! Messages to the MCP endpoint: each has a JSON-RPC answer of its era, whatever the headers and the message say.

use std::net::{IpAddr, Ipv4Addr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderValue, Method, Request};
use serde_json::Value;
use shared::model::Mode;
use tests::{ACME, key};

use crate::gateway::UNCHECKED;
use crate::input::first_line;

const SOURCE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const MODERN: &str = "2026-07-28";

/// The first line is the header with the protocol's revision; without one, the header is not sent. The rest is the body.
/// The other headers say what the body says.
pub fn rpc_messages(input: &[u8]) {
    let (revision, body) = first_line(input);
    let message: Value = serde_json::from_slice(body).unwrap_or_default();
    let mut request = Request::builder()
        .method(Method::POST)
        .uri("/mcp")
        .header("host", "api.rolecall.test")
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {}", key(ACME, Mode::Live)));
    let name = message["params"]["name"].as_str().or(message["params"]["uri"].as_str());
    let encoded = |text: &str| format!("=?base64?{}?=", STANDARD.encode(text));
    for (header, value) in [("mcp-method", message["method"].as_str()), ("mcp-name", name)] {
        if let Some(value) = value {
            request = request.header(header, encoded(value));
        }
    }
    if !revision.is_empty() {
        let Ok(revision) = HeaderValue::from_bytes(revision) else { return };
        request = request.header("mcp-protocol-version", revision);
    }
    let request = request.body(Bytes::copy_from_slice(body)).expect("a request");
    let response = UNCHECKED.run(|gateway| gateway.send(request, SOURCE));
    let (status, body) = (response.status().as_u16(), response.body());
    assert!([200, 202, 400, 404, 413].contains(&status), "{status}");
    if status == 202 {
        return assert!(body.is_empty());
    }
    match serde_json::from_slice(body).expect("JSON") {
        Value::Array(answers) => {
            let messages = message.as_array().expect("a batch");
            assert!((1..=10).contains(&messages.len()) && answers.len() <= messages.len());
            let ids: Vec<_> = messages.iter().map(|message| &message["id"]).collect();
            for answer in answers {
                assert!(answer.get("id").is_none_or(|id| ids.contains(&id)));
                assert_answer(&answer, false);
            }
        }
        answer => {
            assert!(answer.get("id").is_none_or(|id| *id == message["id"]));
            assert_answer(&answer, revision == MODERN.as_bytes());
        }
    }
}

/// Checks what all answers have in common, and what only those of the modern era have.
fn assert_answer(answer: &Value, is_modern: bool) {
    assert_eq!(answer["jsonrpc"], "2.0");
    let Some(result) = answer.get("result") else {
        let error = &answer["error"];
        return assert!(error["code"].is_i64() && error["message"].is_string(), "{answer}");
    };
    assert!(answer.get("error").is_none() && answer.get("id").is_some(), "{answer}");
    assert_eq!(result["resultType"].is_string(), is_modern, "{answer}");
    assert!(is_modern || result.get("ttlMs").is_none(), "{answer}");
    if let Some(content) = result.get("structuredContent") {
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), *content);
    }
}
