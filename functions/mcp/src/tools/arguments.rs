//! The arguments of tools.

use serde_json::{Map, Value};
use shared::http::{Fields, Input, read_body};
use shared::model::schema::string;
use shared::model::{self, Scalar};
use shared::string_enum;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::ToolError;
use crate::request::McpRequest;

string_enum! {
    /// How much an answer has.
    pub(super) enum ResponseFormat {
        Concise = "concise",
        Detailed = "detailed",
    }
}

/// The argument `response_format`.
impl Input for ResponseFormat {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        Some(fields.optional("response_format").unwrap_or(Self::Concise))
    }
}

impl ResponseFormat {
    pub(super) fn is_detailed(self) -> bool {
        self == Self::Detailed
    }
}

/// The key of a call that must have an effect only once.
pub(super) struct CallKey;

/// The argument `idempotency_key`, which the request itself uses.
impl Input for CallKey {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let _: Option<Self> = fields.optional("idempotency_key");
        Some(Self)
    }
}

impl model::Value for CallKey {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        match scalar {
            scalar if scalar.is_blank() => Ok(None),
            Scalar::Text(key) if key.len() <= 255 && key.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Ok(Some(Self))
            }
            _ => Err("must be 1 to 255 visible ASCII characters".to_owned()),
        }
    }

    fn schema() -> RefOr<Schema> {
        string().into()
    }
}

/// Reads the arguments of a call. Reports all mistakes at once.
pub(super) fn read<A: Input>(request: &McpRequest) -> Result<A, ToolError> {
    let arguments = Value::Object(request.arguments().clone()).to_string();
    Ok(read_body(&arguments, std::iter::empty())?)
}

/// The arguments that the handler of an API route takes: all but those of the tool itself.
pub(super) fn rest(request: &McpRequest, own: &[&str]) -> Map<String, Value> {
    let is_own = |name: &str| matches!(name, "response_format" | "idempotency_key") || own.contains(&name);
    let rest = request.arguments().iter().filter(|(name, _)| !is_own(name));
    rest.map(|(name, value)| (name.clone(), value.clone())).collect()
}
