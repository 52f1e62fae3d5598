//! The eras of the protocol. In the modern era, each request says its revision and the client's capabilities. In the legacy
//! era, an initialization says them once; as there are no sessions, they are not known later.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use shared::http::RequestContext;

use crate::rpc::{Message, Revision, RpcError};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// What a request says about its client.
#[derive(Clone, Debug)]
pub struct Client {
    /// The revision; the newest of the legacy era, if the request says none.
    pub revision: Revision,
    capabilities: Map<String, Value>,
}

impl Client {
    /// Reads the headers and `_meta`, which must agree in the modern era.
    pub(crate) fn of(context: &RequestContext, message: &Message) -> Result<Self, RpcError> {
        let header = context.header("mcp-protocol-version");
        let meta = message.params.get("_meta").and_then(Value::as_object);
        let stated = meta.and_then(|meta| meta.get(VERSION));
        if stated.is_none() && header != Some(Revision::July2026.as_str()) {
            return match header.map(|date| (date, Revision::find(date))) {
                None => Ok(Self::legacy(Revision::November2025)),
                Some((_, Some(revision))) => Ok(Self::legacy(revision)),
                Some((date, None)) => Err(RpcError::unsupported_revision(date)),
            };
        }
        let stated = stated.and_then(Value::as_str).ok_or_else(|| RpcError::missing_meta(VERSION))?;
        if header != Some(stated) {
            return Err(RpcError::header_mismatch("MCP-Protocol-Version", stated));
        }
        let capabilities = meta.and_then(|meta| meta.get(CAPABILITIES)).and_then(Value::as_object);
        let capabilities = capabilities.ok_or_else(|| RpcError::missing_meta(CAPABILITIES))?.clone();
        if stated != Revision::July2026.as_str() {
            return Err(RpcError::unsupported_revision(stated));
        }
        let name = match message.method.as_str() {
            "tools/call" | "prompts/get" => message.params.get("name"),
            "resources/read" => message.params.get("uri"),
            _ => None,
        };
        check_header(context, "Mcp-Method", &message.method)?;
        if let Some(name) = name.and_then(Value::as_str) {
            check_header(context, "Mcp-Name", name)?;
        }
        Ok(Self { revision: Revision::July2026, capabilities })
    }

    fn legacy(revision: Revision) -> Self {
        Self { revision, capabilities: Map::new() }
    }

    /// Whether the client can answer requests of this kind inside a result.
    pub fn can(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some_and(Value::is_object)
    }

    /// Whether the client can show the member a form.
    pub fn shows_forms(&self) -> bool {
        let elicitation = self.capabilities.get("elicitation").and_then(Value::as_object);
        elicitation.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
    }

    /// Completes a result with what its era requires, and removes what it does not have.
    pub(crate) fn complete(&self, mut result: Value) -> Value {
        let Some(fields) = result.as_object_mut() else { return result };
        if self.revision.is_modern() {
            fields.entry("resultType").or_insert_with(|| "complete".into());
            fields.entry("_meta").or_insert_with(|| json!({ SERVER_INFO: server_info() }));
        } else {
            fields.retain(|name, _| name != "ttlMs" && name != "cacheScope");
        }
        result
    }
}

/// Whether a value can identify a request.
pub(crate) fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

/// The revision for a client that initializes.
pub(crate) fn negotiated(params: &Map<String, Value>) -> Revision {
    let requested = params.get("protocolVersion").and_then(Value::as_str).and_then(Revision::find);
    requested.filter(|revision| !revision.is_modern()).unwrap_or(Revision::November2025)
}

/// A result that a client may keep for some time. It depends on the credential.
pub(crate) fn cached(mut result: Value, milliseconds: u32) -> Value {
    result["ttlMs"] = milliseconds.into();
    result["cacheScope"] = "private".into();
    result
}

/// The name and the version of this server.
pub(crate) fn server_info() -> Value {
    json!({ "name": "rolecall", "title": "Rolecall", "version": env!("CARGO_PKG_VERSION") })
}

/// Fails unless a header says what the body says.
fn check_header(context: &RequestContext, name: &str, expected: &str) -> Result<(), RpcError> {
    let sent = context.header(&name.to_ascii_lowercase()).map(decoded);
    if sent.as_deref() == Some(expected) { Ok(()) } else { Err(RpcError::header_mismatch(name, expected)) }
}

/// The text of a header, which may be encoded as `=?base64?...?=`.
fn decoded(value: &str) -> String {
    let value = value.trim();
    let encoded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let bytes = encoded.and_then(|encoded| STANDARD.decode(encoded).ok());
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| value.to_owned())
}
