//! References to the document's components, and those that nothing refers to.

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

/// Removes unused components.
pub(super) fn remove_unused(document: &mut Value) {
    loop {
        let text = document.to_string();
        let mut removed = false;
        for (kind, components) in document["components"].as_object_mut().expect("components") {
            let components = components.as_object_mut().expect("components of a kind");
            let before = components.len();
            components.retain(|name, _| {
                kind == "securitySchemes" || text.contains(&format!("\"#/components/{kind}/{name}\""))
            });
            removed |= components.len() < before;
        }
        if !removed {
            return;
        }
    }
}
