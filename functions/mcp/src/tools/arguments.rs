//! The arguments of tools.

use serde_json::{Map, Value};
use shared::http::{Fields, Input, read_body};
use shared::model::schema::string;
use shared::model::{self, Scalar};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::ToolError;
use crate::request::McpRequest;

/// Declares an argument that is one of several words.
macro_rules! words {
    ($(#[$attribute:meta])* $name:ident { $($variant:ident = $word:literal,)+ }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum $name {
            $($variant,)+
        }

        impl $name {
            const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            pub(super) const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl shared::model::Value for $name {
            fn read(scalar: &shared::model::Scalar<'_>) -> Result<Option<Self>, String> {
                if scalar.is_blank() {
                    return Ok(None);
                }
                let found = Self::ALL.into_iter().find(|word| {
                    matches!(scalar, shared::model::Scalar::Text(text) if text == word.as_str())
                });
                let unknown = || format!("must be one of {}", Self::ALL.map(Self::as_str).join(", "));
                found.map(Some).ok_or_else(unknown)
            }

            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                shared::model::schema::string().enum_values(Some(Self::ALL.map(Self::as_str))).into()
            }
        }
    };
}

pub(super) use words;

words! {
    /// How much an answer has.
    ResponseFormat {
        Concise = "concise",
        Detailed = "detailed",
    }
}

impl ResponseFormat {
    /// The argument `response_format`.
    pub(super) fn read(fields: &mut impl Fields) -> Self {
        fields.optional("response_format").unwrap_or(Self::Concise)
    }

    pub(super) fn is_detailed(self) -> bool {
        self == Self::Detailed
    }
}

/// The key of a call that must have an effect only once.
pub(super) struct CallKey;

impl CallKey {
    /// The argument `idempotency_key`, which the request itself uses.
    pub(super) fn read(fields: &mut impl Fields) {
        let _: Option<Self> = fields.optional("idempotency_key");
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
