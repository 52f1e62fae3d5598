//! The schemas of requests and responses: utoipa's schemas, adjusted to the rules of the API.

use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::reference::{SCHEMAS, name_of, reference};
use super::words::capitalized;

/// The type of a request or response body with the types of its fields.
#[derive(Clone, Debug)]
pub(super) struct Described {
    name: String,
    schema: Value,
    parts: Vec<(String, Value)>,
}

impl Described {
    pub(super) fn of<T: ToSchema>() -> Self {
        let mut parts: Vec<(String, RefOr<Schema>)> = Vec::new();
        T::schemas(&mut parts);
        let parts = parts.into_iter().map(|(name, schema)| (name, value(schema))).collect();
        let (mut name, schema) = (T::name().into_owned(), value(T::schema()));
        if let Some(item) = schema.pointer("/properties/data/items").and_then(name_of) {
            name = format!("{item}{name}");
        }
        Self { name, schema, parts }
    }

    /// Adds the type of a list's items.
    pub(super) fn with_items(mut self, items: Option<(String, RefOr<Schema>)>) -> Self {
        self.parts.extend(items.map(|(name, schema)| (name, value(schema))));
        self
    }

    /// The name of the type.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_object(&self) -> bool {
        self.schema["type"] == "object"
    }

    pub(super) fn has_field(&self, name: &str) -> bool {
        self.schema["properties"].get(name).is_some()
    }
}

/// Converts a utoipa schema to JSON.
pub(super) fn value(schema: RefOr<Schema>) -> Value {
    serde_json::to_value(schema).expect("a schema")
}

/// The schemas of all request and response types, as utoipa generates them.
#[derive(Debug, Default)]
pub(super) struct Schemas(Map<String, Value>);

impl Schemas {
    pub(super) fn of<'d>(types: impl IntoIterator<Item = &'d Described>) -> Self {
        let mut all = Map::new();
        for Described { name, schema, parts } in types {
            for (name, schema) in parts.iter().chain([&(name.clone(), schema.clone())]) {
                let before = all.insert(name.clone(), schema.clone());
                assert!(before.is_none_or(|before| before == *schema), "two schemas are named {name}");
            }
        }
        Self(all)
    }

    /// The schema of a type, without a reference.
    pub(super) fn inline(&self, name: &str) -> Value {
        self.tidy(self.0[name].clone())
    }

    /// The schema of a body. An object is a reference.
    pub(super) fn of_body(&self, body: &Described) -> Value {
        match body.schema["type"].as_str() {
            Some("string") => self.inline(&body.name),
            _ => reference("schemas", &body.name),
        }
    }

    /// The description of a type.
    pub(super) fn description(&self, name: &str) -> &str {
        self.0[name]["description"].as_str().unwrap_or_else(|| panic!("{name} has no doc comment"))
    }

    /// The name of a field's type, if it has one.
    pub(super) fn field_type(&self, name: &str, field: &str) -> Option<&str> {
        self.field(name, field).and_then(name_of)
    }

    /// The name of the type of a field's items, if it has one.
    pub(super) fn item_type(&self, name: &str, field: &str) -> Option<&str> {
        self.field(name, field)?.get("items").and_then(name_of)
    }

    /// The description of a field of an output type.
    pub(super) fn field_description(&self, name: &str, field: &str) -> Option<String> {
        let field = self.field(name, field)?;
        let description = field.get("description").or_else(|| field.pointer("/oneOf/0/description"))?;
        description.as_str().map(str::to_owned)
    }

    fn field(&self, name: &str, field: &str) -> Option<&Value> {
        self.0.get(name)?.get("properties")?.get(field)
    }

    /// Adjusts a schema to the rules of the API: every field is present, an absent value is `null`, and only objects
    /// and enumerations are references.
    pub(super) fn tidy(&self, mut schema: Value) -> Value {
        if schema.get("enum").is_some()
            && let Some((name, _)) = self.0.iter().find(|(_, known)| **known == schema)
        {
            return reference("schemas", name);
        }
        if let Some(known) = name_of(&schema).and_then(|name| self.0.get(name))
            && known["type"] != "object"
            && known.get("allOf").is_none()
            && known.get("enum").is_none()
        {
            let mut inlined = self.tidy(known.clone());
            if let Some(description) = schema.get("description") {
                inlined["description"] = description.clone();
            }
            return inlined;
        }
        if let Some([value, null]) = schema.get("oneOf").and_then(Value::as_array).map(Vec::as_slice)
            && null["type"] == "null"
        {
            let mut value = value.as_object().expect("a schema").clone();
            let description = value.shift_remove("description");
            let mut schema = nullable(self.tidy(value.into()));
            if let Some(description) = description {
                schema["description"] = description;
            }
            return schema;
        }
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            for property in properties.values_mut() {
                *property = self.tidy(property.take());
            }
            // A field may be absent only if it is not required and is never `null`.
            let derived = schema["required"].as_array().cloned().unwrap_or_default();
            let properties = schema["properties"].as_object().into_iter().flatten();
            schema["required"] = properties
                .filter(|(name, property)| {
                    derived.is_empty() || allows_null(property) || derived.contains(&json!(name))
                })
                .map(|(name, _)| name.clone())
                .collect();
        }
        for part in ["allOf", "oneOf"] {
            for schema in schema.get_mut(part).and_then(Value::as_array_mut).into_iter().flatten() {
                *schema = self.tidy(schema.take());
            }
        }
        if let Some(items) = schema.get_mut("items") {
            *items = self.tidy(items.take());
        }
        schema
    }

    /// Returns the adjusted schemas of responses by name.
    pub(super) fn of_responses(&self) -> Map<String, Value> {
        let mut named = Map::new();
        for (name, schema) in &self.0 {
            match self.variants(name, schema) {
                Some(variants) => {
                    let references =
                        variants.keys().map(|name| reference("schemas", name)).collect::<Vec<_>>();
                    let mapping: Map<_, _> = variants
                        .iter()
                        .map(|(name, variant)| {
                            let kind = variant["properties"]["kind"]["const"].as_str().expect("a kind");
                            (kind.to_owned(), format!("{SCHEMAS}{name}").into())
                        })
                        .collect();
                    let union = json!({
                        "description": schema["description"],
                        "oneOf": references,
                        "discriminator": { "propertyName": "kind", "mapping": mapping },
                    });
                    named.insert(name.clone(), union);
                    named.extend(variants);
                }
                None if schema.get("enum").is_some() => {
                    named.insert(name.clone(), schema.clone());
                }
                None => {
                    named.insert(name.clone(), self.tidy(schema.clone()));
                }
            }
        }
        named
    }

    /// Returns the adjusted schema of a request body. Fields without a value may be absent, and unknown fields are
    /// ignored.
    pub(super) fn of_request(&self, body: &Described) -> Value {
        let mut schema = self.tidy(body.schema.clone());
        schema["required"] = body.schema["required"].clone();
        for property in schema["properties"].as_object_mut().expect("fields").values_mut() {
            property.as_object_mut().expect("a schema").shift_remove("default");
            // A blank string means `null`. Some patterns already allow it.
            if allows_null(property)
                && let Some(pattern) = property["pattern"].as_str()
                && !jsonschema::is_valid(&json!({ "pattern": pattern }), &json!(""))
            {
                property["pattern"] = format!("^\\s*$|{pattern}").into();
            }
        }
        schema["additionalProperties"] = true.into();
        schema
    }

    /// The variants of a type that combines an enumeration with common fields. Each variant gets the common fields.
    fn variants(&self, name: &str, schema: &Value) -> Option<Map<String, Value>> {
        let [of, beside] = schema.get("allOf")?.as_array()?.as_slice() else { return None };
        let variants = self.0.get(name_of(of)?)?.get("oneOf")?.as_array()?;
        let variant = |variant: &Value| {
            let kind = &variant["properties"]["kind"]["enum"][0];
            let mut schema =
                json!({ "type": "object", "description": variant["description"], "required": [] });
            let common = beside["properties"].as_object().expect("fields");
            let mut properties = Map::new();
            properties.insert("id".to_owned(), common["id"].clone());
            properties.insert(
                "kind".to_owned(),
                json!({ "type": "string", "const": kind, "description": "What happened." }),
            );
            properties.extend(common.clone());
            let mut detail = variant["properties"]["detail"].clone();
            detail["description"] = "The details, depending on `kind`.".into();
            properties.insert("detail".to_owned(), detail);
            schema["properties"] = properties.into();
            let kind = kind.as_str().expect("a kind").split('_').map(capitalized).collect::<String>();
            (format!("{kind}{name}"), self.tidy(schema))
        };
        Some(variants.iter().map(variant).collect())
    }
}

/// Whether a property may be `null`.
fn allows_null(property: &Value) -> bool {
    let is_null = |schema: &Value| schema["type"] == "null";
    property["type"].as_array().is_some_and(|types| types.contains(&json!("null")))
        || ["oneOf", "anyOf"]
            .iter()
            .any(|part| property[*part].as_array().is_some_and(|schemas| schemas.iter().any(is_null)))
}

/// Makes a schema also accept `null`.
pub(super) fn nullable(mut schema: Value) -> Value {
    if schema.get("$ref").is_some() {
        return json!({ "oneOf": [schema, { "type": "null" }] });
    }
    schema["type"] = json!([schema["type"], "null"]);
    if let Some(members) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        members.push(Value::Null);
    }
    schema
}
