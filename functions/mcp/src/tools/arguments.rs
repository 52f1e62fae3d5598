//! The arguments of tools.

use serde_json::{Map, Value};
use shared::http::{Error, Fields, Input, read_body};
use shared::model::schema::string;
use shared::model::{self, Place, Scalar};
use shared::string_enum;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::ToolError;
use super::schema::CLEARABLE;
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

/// The amounts of pay, for which 0 means that there is none.
const PAY: [&str; 2] = ["salary_min", "salary_max"];
/// The parts of the line `pay`.
const PAY_PARTS: [&str; 4] = ["min", "max", "currency", "period"];

/// The arguments that a call has. Hosts whose models must send every argument send `null`, a blank text, an empty list or
/// no pay for those that they have no value for, so these count as absent. What is to be emptied is named in `clear`, and
/// becomes `null` here. Places and pay, which are lines, become objects. Arguments that the schema does not have
/// stay, so that they are refused by name.
pub(super) fn settle(schema: &Value, arguments: &Map<String, Value>) -> Result<Map<String, Value>, Error> {
    let properties = &schema["properties"];
    let is_given =
        |(name, value): &(&String, &Value)| properties.get(name).is_none() || !is_absent(name, value);
    let given = arguments.iter().filter(is_given);
    let mut settled: Map<_, _> = given.map(|(name, value)| (name.clone(), value.clone())).collect();
    let places = settled.get_mut("locations").and_then(Value::as_array_mut);
    for place in places.into_iter().flatten() {
        if let Some(line) = place.as_str() {
            let parts: Value = Place::parts_of(line).collect();
            *place = parts;
        }
    }
    let pay = settled.get("pay").and_then(Value::as_str).map(|line| {
        let parts = line.splitn(PAY_PARTS.len(), ';').map(str::trim);
        PAY_PARTS.into_iter().zip(parts).collect::<Value>()
    });
    settled.extend(pay.map(|pay| ("pay".to_owned(), pay)));
    let Some(clearable) = schema.pointer(CLEARABLE).and_then(Value::as_array) else { return Ok(settled) };
    let Some(cleared) = settled.remove("clear") else { return Ok(settled) };
    let mut mistakes = Vec::new();
    for name in cleared.as_array().map_or(&[cleared.clone()][..], Vec::as_slice) {
        let Some(name) = name.as_str().filter(|_| clearable.contains(name)) else {
            let names: Vec<_> = clearable.iter().filter_map(Value::as_str).collect();
            mistakes.push(format!("clear must be a list of these: {}", names.join(", ")));
            break;
        };
        if settled.insert(name.to_owned(), Value::Null).is_some_and(|given| !given.is_null()) {
            mistakes.push(format!("{name} can't be both given and cleared"));
        }
    }
    if mistakes.is_empty() { Ok(settled) } else { Err(Error::Validation(mistakes)) }
}

fn is_absent(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => Scalar::Text(text.clone()).is_blank(),
        Value::Array(items) => items.is_empty(),
        Value::Number(amount) => {
            PAY.contains(&name) && amount.as_f64().is_some_and(|amount| amount.abs() < f64::EPSILON)
        }
        Value::Bool(_) | Value::Object(_) => false,
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
