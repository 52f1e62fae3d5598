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
pub struct Message {
    /// The version of JSON-RPC: `2.0`.
    pub jsonrpc: String,
    /// The identifier of the request: a string or a whole number. The answer has the same one.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub id: Option<Value>,
    /// The method, such as `tools/call`.
    pub method: String,
    /// The parameters.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
}

impl Payload for Message {
    const MEDIA: Option<&'static str> = Some("application/json");
    type Body = Self;
}

/// The answer to a request.
#[derive(Debug, Serialize, ToSchema)]
pub struct Answer {
    /// The version of JSON-RPC: `2.0`.
    jsonrpc: &'static str,
    /// The identifier of the request.
    #[schema(value_type = Object)]
    id: Value,
    /// The result.
    #[schema(value_type = Object)]
    result: Value,
}

impl Answer {
    /// A successful answer.
    pub const fn new(id: Value, result: Value) -> Self {
        Self { jsonrpc: "2.0", id, result }
    }
}

/// An error that the protocol defines, with the HTTP status of its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// The HTTP status.
    pub status: u16,
    /// The code.
    pub code: i64,
    /// What is wrong, and what would be right.
    pub message: String,
    /// Details for programs.
    pub data: Option<Value>,
}

impl RpcError {
    /// The method does not exist.
    pub fn unknown_method(method: &str) -> Self {
        Self { status: 404, code: -32601, message: format!("There is no method {method:?}"), data: None }
    }

    /// A parameter is wrong.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self { status: 200, code: -32602, message: message.into(), data: None }
    }

    /// The answer to the request with this identifier.
    pub fn answer(&self, id: &Value) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    }
}
