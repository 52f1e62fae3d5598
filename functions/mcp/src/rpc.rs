//! JSON-RPC messages, the revisions of the protocol, and its errors.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use shared::http::Payload;
use utoipa::ToSchema;

/// A revision of the protocol that this server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// 2025-03-26: the only one with batches.
    March2025,
    /// 2025-06-18.
    June2025,
    /// 2025-11-25.
    November2025,
    /// 2026-07-28: every request stands alone.
    July2026,
}

impl Revision {
    /// All revisions, the newest first.
    pub const ALL: [Self; 4] = [Self::July2026, Self::November2025, Self::June2025, Self::March2025];

    /// The date by which the protocol calls the revision.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::March2025 => "2025-03-26",
            Self::June2025 => "2025-06-18",
            Self::November2025 => "2025-11-25",
            Self::July2026 => "2026-07-28",
        }
    }

    /// The revision with this date.
    pub fn find(date: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == date)
    }

    /// Whether each request says its revision and the client's capabilities, without an initialization.
    pub fn is_modern(self) -> bool {
        self == Self::July2026
    }
}

/// A JSON-RPC message, as a client sends it: a request, or a notification, which has no `id`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = RpcMessage)]
pub struct Message {
    /// The version of JSON-RPC: `2.0`.
    pub jsonrpc: String,
    /// The identifier of the request: a string or a whole number. The answer has the same one.
    #[serde(default)]
    #[schema(value_type = Value, required = false)]
    pub id: Option<Value>,
    /// The method, such as `tools/call`.
    pub method: String,
    /// The parameters.
    #[serde(default)]
    #[schema(value_type = HashMap<String, Value>, required = false)]
    pub params: Map<String, Value>,
}

impl Payload for Message {
    const MEDIA: Option<&'static str> = Some("application/json");
    type Body = Self;
}

/// The answer to a request: a result or an error.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RpcAnswer)]
pub struct Answer {
    /// The version of JSON-RPC: `2.0`.
    jsonrpc: &'static str,
    /// The identifier of the request; `null` if the request could not be read.
    #[schema(value_type = Value)]
    id: Option<Value>,
    /// The result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = HashMap<String, Value>, required = false)]
    result: Option<Value>,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = RpcFault, required = false)]
    error: Option<RpcFault>,
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RpcFault {
    /// The code.
    code: i64,
    /// What is wrong, and what would be right.
    message: String,
    /// Details for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = HashMap<String, Value>, required = false)]
    data: Option<Value>,
}

impl Answer {
    /// A successful answer.
    pub const fn new(id: Value, result: Value) -> Self {
        Self { jsonrpc: "2.0", id: Some(id), result: Some(result), error: None }
    }
}

/// An error that the protocol defines, with the HTTP status of its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// The HTTP status.
    pub status: u16,
    fault: RpcFault,
}

impl RpcError {
    const fn new(status: u16, code: i64, message: String) -> Self {
        Self { status, fault: RpcFault { code, message, data: None } }
    }

    fn with(mut self, data: Value) -> Self {
        self.fault.data = Some(data);
        self
    }

    /// The message is not one that the protocol knows.
    pub fn invalid_request(message: &str) -> Self {
        Self::new(400, -32600, message.to_owned())
    }

    /// The method does not exist.
    pub fn unknown_method(method: &str) -> Self {
        Self::new(404, -32601, format!("There is no method {method:?}"))
    }

    /// A parameter is wrong. The message says what would be right.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(200, -32602, message.into())
    }

    /// There is no resource with this URI.
    pub fn unknown_resource(uri: &str) -> Self {
        Self::invalid_params("There is no such resource").with(json!({ "uri": uri }))
    }

    /// A required field of `_meta` is missing.
    pub fn missing_meta(name: &str) -> Self {
        Self::new(400, -32602, format!("params._meta must have {name}"))
    }

    /// The service failed, or is busy.
    pub const fn failed(message: String) -> Self {
        Self::new(200, -32603, message)
    }

    /// A header is missing, or does not say what the body says.
    pub fn header_mismatch(name: &str, expected: &str) -> Self {
        Self::new(400, -32020, format!("The header {name} must be {expected:?}, as in the body"))
    }

    /// The call needs a capability that the client has not declared.
    pub fn missing_capability(name: &str) -> Self {
        let data = json!({ "requiredCapabilities": { name: {} } });
        let message = format!("The call needs a client with the capability {name}");
        Self::new(400, -32021, message).with(data)
    }

    /// The revision is not supported.
    pub fn unsupported_revision(requested: &str) -> Self {
        let supported = Revision::ALL.map(Revision::as_str);
        let data = json!({ "supported": supported, "requested": requested });
        let message = format!("The protocol version must be one of {}", supported.join(", "));
        Self::new(400, -32022, message).with(data)
    }

    /// The answer to the request with this identifier; with `null`, if it could not be read.
    pub fn answer(&self, id: Option<&Value>) -> Answer {
        Answer { jsonrpc: "2.0", id: id.cloned(), result: None, error: Some(self.fault.clone()) }
    }
}
