//! The responses that the gateway sends instead of a function.

use serde_json::{Value, json};

use super::headers::headers;
use super::reference::reference;

/// A response that the gateway sends before any function runs.
fn gateway_response(when: &str, message: &str) -> Value {
    json!({
        "description": format!("{when}. The gateway sends this response in its own format."),
        "content": { "application/json": {
            "schema": reference("schemas", "GatewayError"),
            "example": { "message": message },
        } },
    })
}

/// The response to a request line and headers above the gateway's limit.
pub(super) fn too_large_header() -> Value {
    let when = "The request line and headers exceed 10,240 bytes";
    gateway_response(when, "Request Header Fields Too Large")
}

/// The response to a body above the gateway's limit.
pub(super) fn too_large_body() -> Value {
    gateway_response("The request body exceeds 10 MB", "Request Entity Too Large")
}

/// Adds the gateway's response with the same status, if any, to a function's response. The gateway uses its own format
/// and does not send the functions' headers.
pub(super) fn or_gateway_response(status: u16, mut response: Value) -> Value {
    if status != 413 {
        return response;
    }
    let too_large = too_large_body();
    let description = |of: &Value| of["description"].as_str().expect("a description").to_owned();
    response["description"] = [description(&response), description(&too_large)].join("\n\n").into();
    for header in ["X-Request-Id", "X-Content-Type-Options", "Cache-Control"] {
        response["headers"][header] = headers()[header].clone();
        response["headers"][header]["required"] = false.into();
    }
    let gateway = &too_large["content"]["application/json"];
    let function = &mut response["content"]["application/json"];
    function["schema"] = json!({ "anyOf": [function["schema"], gateway["schema"]] });
    function["examples"]["gateway"] =
        json!({ "summary": gateway["example"]["message"], "value": gateway["example"] });
    response
}
