//! The schemas of what is asked and answered: utoipa's, with what the contract says of all of them.

use serde_json::{Map, Value, json};
use shared::http::{ErrorBody, OAuthError};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::input::nullable;
use super::operation::{Operation, Taken, capitalized};
use super::source::Source;
use super::{SCHEMAS, errors, reference};

/// A type that is sent or answered, with all that it is made of.
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

    /// The type's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn has_field(&self, name: &str) -> bool {
        self.schema["properties"].get(name).is_some()
    }
}

fn value(schema: RefOr<Schema>) -> Value {
    serde_json::to_value(schema).expect("a schema")
}

/// The name that a reference refers to.
fn name_of(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(SCHEMAS)
}

/// Every type that is sent or answered, as utoipa has it.
#[derive(Debug, Default)]
pub(super) struct Schemas(Map<String, Value>);

impl Schemas {
    pub(super) fn of(operations: &[Operation]) -> Self {
        let mut all = Map::new();
        let types = operations.iter().flat_map(|operation| match &operation.taken {
            Taken::Payload { body, .. } => vec![&operation.output, body],
            Taken::Fields(_) => vec![&operation.output],
        });
        for Described { name, schema, parts } in types {
            for (name, schema) in parts.iter().chain([&(name.clone(), schema.clone())]) {
                let before = all.insert(name.clone(), schema.clone());
                assert!(before.is_none_or(|before| before == *schema), "{name} is two things");
            }
        }
        Self(all)
    }

    /// A type by itself, not by reference.
    pub(super) fn inline(&self, name: &str) -> Value {
        self.tidy(self.0[name].clone())
    }

    /// A body's schema: objects go by their names.
    pub(super) fn of_body(&self, body: &Described) -> Value {
        match body.schema["type"].as_str() {
            Some("string") => self.inline(&body.name),
            _ => reference("schemas", &body.name),
        }
    }

    /// What a type is.
    pub(super) fn description(&self, name: &str) -> &str {
        self.0[name]["description"].as_str().unwrap_or_else(|| panic!("{name} has no comment"))
    }

    /// The type of a field, where that has a name.
    pub(super) fn field_type(&self, name: &str, field: &str) -> Option<&str> {
        self.field(name, field).and_then(name_of)
    }

    /// What a field of an answer is.
    pub(super) fn field_description(&self, name: &str, field: &str) -> Option<String> {
        let field = self.field(name, field)?;
        let description = field.get("description").or_else(|| field.pointer("/oneOf/0/description"))?;
        description.as_str().map(str::to_owned)
    }

    fn field(&self, name: &str, field: &str) -> Option<&Value> {
        self.0.get(name)?.get("properties")?.get(field)
    }

    /// A schema as the contract has it: every field is there, what may be absent is `null`, and only objects and
    /// enumerations go by their names.
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
            // What has no value is `null`: only a field that is never that, and that is not required, may be left out.
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

    /// All schemas by name, tidied: those of answers, of errors, and of what `operations` take.
    pub(super) fn into_map(self, operations: &[Operation], source: &Source) -> Map<String, Value> {
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
        named.extend(error_schemas());
        for operation in operations {
            match &operation.taken {
                Taken::Fields(fields) if operation.reads_body() && !fields.is_empty() => {
                    fields.schemas(source, &self, operation.output.name(), &mut named);
                }
                Taken::Payload { body, .. } if body.schema["type"] == "object" => {
                    // Whoever sends it may leave out what it has no value for; what is not described is not read.
                    let mut schema = self.tidy(body.schema.clone());
                    schema["required"] = body.schema["required"].clone();
                    for property in schema["properties"].as_object_mut().expect("fields").values_mut() {
                        property.as_object_mut().expect("a schema").shift_remove("default");
                        // A blank text means the same as `null`. Some patterns say so by themselves.
                        if allows_null(property)
                            && let Some(pattern) = property["pattern"].as_str()
                            && !jsonschema::is_valid(&json!({ "pattern": pattern }), &json!(""))
                        {
                            property["pattern"] = format!("^\\s*$|{pattern}").into();
                        }
                    }
                    schema["additionalProperties"] = true.into();
                    named.insert(body.name.clone(), schema);
                }
                _ => {}
            }
        }
        named
    }

    /// Of a type that is an enumeration beside fields that all its variants have: each variant with these fields.
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
                json!({ "type": "string", "const": kind, "description": "What was done." }),
            );
            properties.extend(common.clone());
            let mut detail = variant["properties"]["detail"].clone();
            detail["description"] = "What there is to know about it.".into();
            properties.insert("detail".to_owned(), detail);
            schema["properties"] = properties.into();
            let kind = kind.as_str().expect("a kind").split('_').map(capitalized).collect::<String>();
            (format!("{kind}{name}"), self.tidy(schema))
        };
        Some(variants.iter().map(variant).collect())
    }
}

/// `Error`, `Invalid`, which has messages, `OAuthError` and `GatewayError`. No code is in both of the first, so that the code
/// tells them apart.
fn error_schemas() -> [(String, Value); 4] {
    let mut invalid = value(ErrorBody::schema());
    let fields = ["error", "code", "messages", "request_id"];
    let (invalid_codes, codes) =
        errors::codes().into_iter().partition::<Vec<_>, _>(|(status, _)| *status == 422);
    let words = |codes: Vec<(u16, &str)>| codes.into_iter().map(|(_, code)| code).collect::<Value>();
    invalid["properties"]["code"]["enum"] = words(invalid_codes);
    invalid["properties"]["messages"]["type"] = "array".into();
    invalid["properties"]["messages"]["minItems"] = 1.into();
    invalid["required"] = fields.to_vec().into();
    let mut error = invalid.clone();
    error["properties"]["code"]["enum"] = words(codes);
    error["properties"].as_object_mut().expect("fields").shift_remove("messages");
    error["required"] = fields.into_iter().filter(|field| *field != "messages").collect();
    let oauth = value(OAuthError::schema());
    let gateway = json!({
        "type": "object",
        "description": "What the gateway answers before any function is asked.",
        "required": ["message"],
        "properties": { "message": { "type": "string", "description": "A sentence for people." } },
    });
    [("Error", error), ("Invalid", invalid), ("OAuthError", oauth), ("GatewayError", gateway)]
        .map(|(name, schema)| (name.to_owned(), schema))
}

/// Whether a property may be `null`.
fn allows_null(property: &Value) -> bool {
    let is_null = |schema: &Value| schema["type"] == "null";
    property["type"].as_array().is_some_and(|types| types.contains(&json!("null")))
        || ["oneOf", "anyOf"]
            .iter()
            .any(|part| property[*part].as_array().is_some_and(|schemas| schemas.iter().any(is_null)))
}
