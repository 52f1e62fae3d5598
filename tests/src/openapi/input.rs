//! The input fields of a route, recorded while the route reads them from an empty request.

use std::any::type_name;

use serde_json::{Map, Value, json};
use shared::http::{Change, Fields, Input};
use shared::model::Scalar;
use shared::model::schema::{CLEAN, NOT_BLANK};

use super::reference::reference;
use super::schema::{Schemas, nullable};
use super::source::Source;

/// The fields of an input, in the order in which they are read.
#[derive(Clone, Debug)]
pub(super) struct Description {
    /// The path of the type in the code.
    type_name: &'static str,
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Field {
    name: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// A required value.
    Required(Value),
    /// A value that may be absent, but not `null`.
    Replacement(Value),
    /// A value that may be absent or `null`. The flag is set if a blank string is accepted as `null`.
    Optional(Value, bool),
    Object(Description),
}

impl Description {
    pub(super) fn of<I: Input>() -> Self {
        let mut description = Self { type_name: type_name::<I>(), fields: Vec::new() };
        let _ = I::read(&mut description);
        description
    }

    fn add(&mut self, name: &str, kind: Kind) {
        self.fields.push(Field { name: name.to_owned(), kind });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The names of the fields.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| field.name.as_str())
    }

    /// Whether a field is required.
    pub(super) fn is_required(&self) -> bool {
        self.fields.iter().any(|field| match &field.kind {
            Kind::Required(_) => true,
            Kind::Object(object) => object.is_required(),
            Kind::Optional(..) | Kind::Replacement(_) => false,
        })
    }

    /// The name of the type.
    pub(super) fn name(&self) -> &'static str {
        self.type_name.rsplit("::").next().unwrap_or(self.type_name)
    }

    /// The query parameters.
    pub(super) fn parameters(&self, source: &Source, schemas: &Schemas) -> Vec<Value> {
        let parameter = |field: &Field| {
            let (required, schema) = match &field.kind {
                Kind::Required(schema) => (true, schema),
                Kind::Replacement(schema) | Kind::Optional(schema, _) => (false, schema),
                Kind::Object(_) => panic!("a query has no objects"),
            };
            json!({
                "name": field.name,
                "in": "query",
                "required": required,
                "description": self.field_docs(source, &field.name).expect("a query parameter's doc comment"),
                "schema": schemas.tidy(schema.clone()),
            })
        };
        self.fields.iter().map(parameter).collect()
    }

    /// Adds the schemas of a body and its objects to `named`. A field without a doc comment gets the description of the
    /// field with the same name in the output type.
    pub(super) fn schemas(
        &self,
        source: &Source,
        schemas: &Schemas,
        output: &str,
        named: &mut Map<String, Value>,
    ) {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in &self.fields {
            let mut schema = match &field.kind {
                Kind::Required(schema) => {
                    required.push(field.name.clone());
                    schemas.tidy(schema.clone())
                }
                Kind::Replacement(schema) => schemas.tidy(schema.clone()),
                Kind::Optional(schema, blank) => optional(schemas.tidy(schema.clone()), *blank),
                Kind::Object(object) => {
                    let output = schemas.field_type(output, &field.name).unwrap_or(output);
                    object.schemas(source, schemas, output, named);
                    let object_schema = reference("schemas", object.name());
                    if object.is_required() {
                        required.push(field.name.clone());
                        object_schema
                    } else {
                        json!({ "oneOf": [object_schema, { "type": "null" }] })
                    }
                }
            };
            let docs = self.field_docs(source, &field.name);
            let docs = docs.or_else(|| schemas.field_description(output, &field.name));
            schema["description"] =
                docs.unwrap_or_else(|| panic!("{} has no doc comment", field.name)).into();
            properties.insert(field.name.clone(), schema);
        }
        let mut schema = json!({ "type": "object", "description": source.of_type(self.type_name) });
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema["properties"] = properties.into();
        schema["additionalProperties"] = false.into();
        let before = named.insert(self.name().to_owned(), schema.clone());
        assert!(before.is_none_or(|before| before == schema), "two schemas are named {}", self.name());
    }

    fn field_docs(&self, source: &Source, field: &str) -> Option<String> {
        // A list has the fields of two types, as in `Listing<RoleFilter>`.
        let types = self.type_name.trim_end_matches('>').split('<');
        types.map(|name| format!("{name}::{field}")).find_map(|path| source.docs(&path))
    }
}

impl Fields for Description {
    fn required<T: shared::model::Value>(&mut self, name: &str) -> Option<T> {
        self.add(name, Kind::Required(schema::<T>()));
        None
    }

    fn optional<T: shared::model::Value>(&mut self, name: &str) -> Option<T> {
        self.add(name, Kind::Optional(schema::<T>(), is_blankable::<T>()));
        None
    }

    fn change<T: shared::model::Value>(&mut self, name: &str) -> Change<T> {
        self.add(name, Kind::Optional(schema::<T>(), is_blankable::<T>()));
        Change::Keep
    }

    fn replacement<T: shared::model::Value>(&mut self, name: &str) -> Option<T> {
        self.add(name, Kind::Replacement(schema::<T>()));
        None
    }

    fn object<T: Input>(&mut self, name: &str) -> Option<T> {
        self.add(name, Kind::Object(Self::of::<T>()));
        None
    }

    fn fail<T>(&mut self, _: &str, _: &str) -> Option<T> {
        None
    }
}

fn schema<T: shared::model::Value>() -> Value {
    serde_json::to_value(T::schema()).expect("a schema")
}

/// Whether a blank string is accepted as `null`.
fn is_blankable<T: shared::model::Value>() -> bool {
    matches!(T::read(&Scalar::Text(String::new())), Ok(None))
}

/// Makes a schema also accept `null`, and blank strings if `blank` is set.
fn optional(mut schema: Value, blank: bool) -> Value {
    if blank {
        match schema.get("pattern").and_then(Value::as_str) {
            Some(NOT_BLANK) => schema["pattern"] = CLEAN.into(),
            Some(pattern) => {
                // The format does not allow a blank string.
                schema["pattern"] = format!("^\\s*$|{pattern}").into();
                schema.as_object_mut().expect("an object").shift_remove("format");
            }
            None => {
                let description = "A blank string, which means `null`.";
                let blank = json!({ "type": "string", "pattern": "^\\s*$", "description": description });
                return json!({ "anyOf": [schema, blank, { "type": "null" }] });
            }
        }
        schema.as_object_mut().expect("an object").shift_remove("minLength");
    }
    nullable(schema)
}
