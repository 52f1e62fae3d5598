//! References to the document's components.

use serde_json::{Value, json};

/// The prefix of references to schemas.
pub(super) const SCHEMAS: &str = "#/components/schemas/";

/// A reference to a component.
pub(super) fn reference(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

/// The name of the schema that a reference refers to.
pub(super) fn name_of(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(SCHEMAS)
}
