//! The input fields of a route, recorded while the route reads them from an empty request.

use std::any::type_name;

use serde_json::{Map, Value, json};
use shared::http::{Change, Fields, Input};
use shared::model::schema::{BLANK, LINES, LINES_OR_BLANK};

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
    /// A value that may be absent, `null` or a blank string.
    Optional(Value),
    Object(Description),
    /// An object that may be absent or `null`, even if it has required fields.
    OptionalObject(Description),
    /// An array of objects, with its maximum length, that may be absent, `null` or a blank string.
    Objects(Description, usize),
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
            Kind::Optional(_) | Kind::Replacement(_) | Kind::OptionalObject(_) | Kind::Objects(..) => false,
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
                Kind::Replacement(schema) | Kind::Optional(schema) => (false, schema),
                Kind::Object(_) | Kind::OptionalObject(_) | Kind::Objects(..) => {
                    panic!("a query has no objects")
                }
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
                Kind::Optional(schema) => optional(schemas.tidy(schema.clone())),
                Kind::Objects(item, max) => {
                    let output = schemas.item_type(output, &field.name).unwrap_or(output);
                    item.schemas(source, schemas, output, named);
                    let items = reference("schemas", item.name());
                    optional(json!({ "type": "array", "items": items, "maxItems": max }))
                }
                Kind::Object(object) | Kind::OptionalObject(object) => {
                    let output = schemas.field_type(output, &field.name).unwrap_or(output);
                    object.schemas(source, schemas, output, named);
                    let object_schema = reference("schemas", object.name());
                    if matches!(field.kind, Kind::Object(_)) && object.is_required() {
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
        self.add(name, Kind::Optional(schema::<T>()));
        None
    }

    fn change<T: shared::model::Value>(&mut self, name: &str) -> Change<T> {
        self.add(name, Kind::Optional(schema::<T>()));
        Change::Keep
    }

    fn replacement<T: shared::model::Value>(&mut self, name: &str) -> Option<T> {
        self.add(name, Kind::Replacement(schema::<T>()));
        None
    }

    fn list<T: shared::model::Value>(&mut self, name: &str, max: usize) -> Change<Vec<T>> {
        let list = json!({ "type": "array", "items": schema::<T>(), "maxItems": max });
        self.add(name, Kind::Optional(list));
        Change::Keep
    }

    fn unread(&mut self, name: &str, max: usize) -> Option<Vec<String>> {
        let list = json!({ "type": "array", "items": { "type": "object", "additionalProperties": true }, "maxItems": max });
        self.add(name, Kind::Optional(list));
        None
    }

    fn change_objects<T: Input>(&mut self, name: &str, max: usize) -> Change<Vec<T>> {
        self.add(name, Kind::Objects(Self::of::<T>(), max));
        Change::Keep
    }

    fn object<T: Input>(&mut self, name: &str) -> Option<T> {
        self.add(name, Kind::Object(Self::of::<T>()));
        None
    }

    fn change_object<T: Input>(&mut self, name: &str) -> Change<T> {
        self.add(name, Kind::OptionalObject(Self::of::<T>()));
        Change::Keep
    }

    fn fail<T>(&mut self, _: &str, _: &str) -> Option<T> {
        None
    }
}

fn schema<T: shared::model::Value>() -> Value {
    serde_json::to_value(T::schema()).expect("a schema")
}

/// Makes a schema also accept `null` and blank strings, which mean `null`.
fn optional(mut schema: Value) -> Value {
    match schema.get("pattern").and_then(Value::as_str) {
        Some(LINES) => schema["pattern"] = LINES_OR_BLANK.into(),
        Some(pattern) => {
            // The format does not allow a blank string.
            schema["pattern"] = format!("{BLANK}|{pattern}").into();
            schema.as_object_mut().expect("an object").shift_remove("format");
        }
        None => {
            let description = "A blank string, which means `null`.";
            let blank = json!({ "type": "string", "pattern": BLANK, "description": description });
            return json!({ "anyOf": [schema, blank, { "type": "null" }] });
        }
    }
    schema.as_object_mut().expect("an object").shift_remove("minLength");
    nullable(schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shared::model::schema::LINE;
    use shared::model::{Lines, Text, non_blank};

    /// Text of characters from every class that the rules distinguish.
    fn any_text() -> impl Strategy<Value = String> {
        let characters: Vec<char> = "aé🦀\u{200B}\u{200F}\u{FE0F}\u{FEFF}\u{3164}\u{E0020} \u{A0}\u{3000}\u{2028}\t\n\r\u{B}\u{85}\0\u{7F}"
            .chars()
            .collect();
        let character = prop_oneof![prop::sample::select(characters), any::<char>()];
        prop::collection::vec(character, 0..10).prop_map(String::from_iter)
    }

    fn matches(pattern: &str, text: &str) -> bool {
        jsonschema::is_valid(&json!({ "pattern": pattern }), &json!(text))
    }

    proptest! {
        #[test]
        fn the_patterns_of_text_are_exact(text in any_text()) {
            let is_line = matches!(Text::<10>::parse(&text), Ok(Some(_)));
            let is_lines = matches!(Lines::<10>::parse(&text), Ok(Some(_)));
            let is_blank = non_blank(&text).is_none();
            prop_assert_eq!(matches(LINE, &text), is_line);
            prop_assert_eq!(matches(LINES, &text), is_lines);
            prop_assert_eq!(matches(BLANK, &text), is_blank);
            prop_assert_eq!(matches(LINES_OR_BLANK, &text), is_lines || is_blank);
        }
    }
}
