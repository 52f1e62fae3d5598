//! The document that the service returns: the contract in the few forms that all generators of clients understand.
//!
//! The contract is exact, and checks the service. The document that clients are made from says less. Its responses allow
//! what later versions may add, and its requests have only patterns that every language can compile. Words say the rest.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use shared::model::schema::{BLANK, LINE, LINES, LINES_OR_BLANK, WEB_ADDRESS};

use super::reference::{SCHEMAS, name_of, reference, remove_unused};
use super::schema::nullable;

/// How the paths begin that no client of the API uses: those of assistants, of OAuth libraries, of search engines and of job
/// boards.
const LEFT_OUT: [&str; 5] =
    ["/mcp", "/oauth/", "/robots.txt", "/careers/{org}/sitemap.xml", "/careers/{org}/feeds/"];

/// What the patterns mean that not every language can compile.
const WORDS: [(&str, &str); 4] = [
    (LINE, "One line, not blank, without control characters."),
    (LINES, "Not blank, without control characters other than tabs and line breaks."),
    (LINES_OR_BLANK, "Without control characters other than tabs and line breaks."),
    (WEB_ADDRESS, "An http or https URL without white space and control characters."),
];

/// The most repetitions that a pattern may ask for. RE2 has no more.
const MAX_REPETITIONS: usize = 1_000;

/// Which messages a schema describes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Requests,
    Responses,
}

/// Makes the document from the contract.
pub fn published(contract: &Value) -> Value {
    let mut document = contract.clone();
    let paths = document["paths"].as_object_mut().expect("paths");
    paths.retain(|path, _| !LEFT_OUT.iter().any(|start| path.starts_with(start)));
    let mut publisher = Publisher {
        schemas: contract["components"]["schemas"].as_object().expect("schemas"),
        unions: Map::new(),
    };
    let mut requested = BTreeSet::new();
    for (side, part) in parts(&mut document) {
        if side == Side::Requests {
            publisher.add_names(part, &mut requested);
        }
        publisher.adjust(side, part);
    }
    for (name, schema) in document["components"]["schemas"].as_object_mut().expect("schemas") {
        let side = if requested.contains(name) { Side::Requests } else { Side::Responses };
        publisher.adjust(side, schema);
    }
    document["components"]["schemas"].as_object_mut().expect("schemas").extend(publisher.unions);
    // Postman replaces this by a new key for each request. An `example` of the parameter would be the same key for all
    // requests elsewhere: Swagger UI fills it in.
    document["components"]["parameters"]["Idempotency-Key"]["schema"]["examples"] = json!(["{{$guid}}"]);
    remove_unused(&mut document);
    remove_unused_names(&mut document);
    document
}

/// Returns the parts of a document that describe messages, without the named schemas.
fn parts(document: &mut Value) -> impl Iterator<Item = (Side, &mut Value)> {
    let mut holders = Vec::new();
    for (name, value) in document.as_object_mut().expect("a document") {
        match name.as_str() {
            "paths" => {
                let items = value.as_object_mut().expect("paths").values_mut();
                holders.extend(items.filter_map(Value::as_object_mut).flat_map(Map::values_mut));
            }
            "components" => holders.push(value),
            _ => {}
        }
    }
    let members = holders.into_iter().filter_map(Value::as_object_mut).flatten();
    members.filter_map(|(name, part)| match name.as_str() {
        "parameters" | "requestBody" => Some((Side::Requests, part)),
        "responses" | "headers" => Some((Side::Responses, part)),
        _ => None,
    })
}

/// Removes the groups and the ways to authenticate that no operation has.
fn remove_unused_names(document: &mut Value) {
    let (mut tags, mut schemes) = (BTreeSet::new(), BTreeSet::new());
    let items = document["paths"].as_object().expect("paths").values().filter_map(Value::as_object);
    for operation in items.flat_map(Map::values) {
        tags.extend(list(&operation["tags"]).filter_map(Value::as_str).map(str::to_owned));
        schemes
            .extend(list(&operation["security"]).filter_map(Value::as_object).flat_map(Map::keys).cloned());
    }
    let known = document["tags"].as_array_mut().expect("tags");
    known.retain(|tag| tag["name"].as_str().is_some_and(|name| tags.contains(name)));
    let known = document["components"]["securitySchemes"].as_object_mut().expect("schemes");
    known.retain(|name, _| schemes.contains(name));
}

struct Publisher<'c> {
    /// The schemas of the contract.
    schemas: &'c Map<String, Value>,
    /// The new schemas: those of objects in two forms without a name.
    unions: Map<String, Value>,
}

impl Publisher<'_> {
    /// Adds the names of the schemas to which a part refers.
    fn add_names(&self, part: &Value, names: &mut BTreeSet<String>) {
        if let Some(name) = name_of(part)
            && names.insert(name.to_owned())
        {
            self.add_names(&self.schemas[name], names);
        }
        let members = part.as_object().into_iter().flat_map(Map::values);
        members.chain(list(part)).for_each(|member| self.add_names(member, names));
    }

    /// Adjusts a part with everything in it.
    fn adjust(&mut self, side: Side, part: &mut Value) {
        match part {
            Value::Array(items) => items.iter_mut().for_each(|item| self.adjust(side, item)),
            Value::Object(members) => {
                let schema = std::mem::take(members);
                *members = match side {
                    Side::Requests => self.requested(schema),
                    Side::Responses => self.returned(schema),
                };
                for (name, member) in members {
                    match (name.as_str(), member) {
                        ("example" | "examples" | "links", _) => {}
                        ("properties", Value::Object(fields)) => {
                            fields.values_mut().for_each(|field| self.adjust(side, field));
                        }
                        (_, member) => self.adjust(side, member),
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the schema of something in a response, without patterns, and open to other values.
    fn returned(&mut self, mut schema: Map<String, Value>) -> Map<String, Value> {
        schema.shift_remove("pattern");
        if schema.contains_key("$ref") {
            // Generators make other types of references with more than a description.
            schema.retain(|name, _| matches!(name.as_str(), "$ref" | "description"));
            return opened(self.with_values(schema));
        }
        let Some(union) = ["oneOf", "anyOf"].into_iter().find(|union| schema.contains_key(*union)) else {
            return opened(schema);
        };
        let options = schema[union].as_array().expect("options").iter().filter(|option| !is_null(option));
        let options: Vec<_> = options.filter_map(Value::as_object).cloned().collect();
        let names = options.iter().filter_map(|option| option.get("$ref")).filter_map(Value::as_str);
        let names: Vec<_> = names.filter_map(|target| target.strip_prefix(SCHEMAS)).collect();
        match (options.as_slice(), names.as_slice()) {
            ([option], _) => {
                let option = self.with_values(option.clone());
                if option.contains_key("$ref") {
                    return schema;
                }
                let mut option = nullable(option.into()).as_object().expect("a schema").clone();
                option.extend(schema.shift_remove_entry("description"));
                opened(option)
            }
            (options, names) if options.len() == names.len() => {
                let objects = names.iter().filter_map(|name| self.schemas[*name].as_object()).cloned();
                let object = objects.reduce(|one, other| self.merged(&one, &other)).expect("an option");
                if let Some(description) = schema.shift_remove_entry("description") {
                    return object
                        .into_iter()
                        .filter(|(name, _)| name != "description")
                        .chain([description])
                        .collect();
                }
                let name = names.join("Or");
                let mut object = Value::Object(object);
                self.adjust(Side::Responses, &mut object);
                self.unions.insert(name.clone(), object);
                reference("schemas", &name).as_object().expect("a reference").clone()
            }
            // Any value.
            _ => schema.into_iter().filter(|(name, _)| name != union && name != "discriminator").collect(),
        }
    }

    /// Returns the schema of something in a request: without blank strings, and with words instead of a pattern that not
    /// every language can compile.
    fn requested(&self, mut schema: Map<String, Value>) -> Map<String, Value> {
        if let Some(options) = schema.shift_remove("anyOf") {
            let nested = |option: &Value| option.get("anyOf").map_or_else(|| vec![option.clone()], several);
            let (nulls, values): (Vec<_>, Vec<_>) = list(&options).flat_map(nested).partition(is_null);
            let values = values.iter().filter(|value| value["pattern"] != BLANK).filter_map(Value::as_object);
            let value =
                values.cloned().reduce(|one, other| self.merged(&one, &other)).expect("an option").into();
            let value = if nulls.is_empty() { value } else { nullable(value) };
            let mut value = value.as_object().expect("a schema").clone();
            value.extend(schema);
            schema = value;
        }
        let Some(Value::String(pattern)) = schema.shift_remove("pattern") else { return schema };
        let pattern = pattern.strip_prefix(BLANK).and_then(|rest| rest.strip_prefix('|')).unwrap_or(&pattern);
        if is_portable(pattern) {
            schema.insert("pattern".to_owned(), pattern.into());
            return schema;
        }
        let words = WORDS.iter().find(|(known, _)| *known == pattern);
        described(schema, words.unwrap_or_else(|| panic!("say in words what {pattern} means")).1)
    }

    /// Returns the named enumeration in place of a reference to it, and any other schema as it is.
    fn with_values(&self, mut schema: Map<String, Value>) -> Map<String, Value> {
        let target =
            schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix(SCHEMAS));
        match target.map(|name| &self.schemas[name]).and_then(Value::as_object) {
            Some(values) if values.contains_key("enum") => {
                let mut values = values.clone();
                values.extend(schema.shift_remove_entry("description"));
                values
            }
            _ => schema,
        }
    }

    /// Returns the schema of what matches either of two schemas: an object has the fields of both, and only those are
    /// required that both require.
    fn merged(&self, one: &Map<String, Value>, other: &Map<String, Value>) -> Map<String, Value> {
        let [mut one, mut other] = [one, other].map(|schema| self.with_values(schema.clone()));
        if one == other {
            return one;
        }
        for schema in [&mut one, &mut other] {
            if let Some(value) = schema.shift_remove("const") {
                schema.insert("enum".to_owned(), json!([value]));
            }
        }
        if one.contains_key("enum") != other.contains_key("enum") {
            [one, other] = [opened(one), opened(other)];
        }
        let mut merged = Map::new();
        for (name, value) in one {
            let Some(second) = other.get(&name).filter(|second| **second != value) else {
                if other.contains_key(&name) {
                    merged.insert(name, value);
                }
                continue;
            };
            let both = match name.as_str() {
                "properties" => self.merged_fields(&value, second),
                "required" => {
                    list(&value).filter(|field| list(second).any(|known| known == *field)).cloned().collect()
                }
                "type" | "enum" => {
                    let first = several(&value);
                    let more = several(second).into_iter().filter(|item| !first.contains(item));
                    first.iter().cloned().chain(more).collect()
                }
                "description" => both_sentences(&value, second).into(),
                _ => continue,
            };
            if both != json!([]) {
                merged.insert(name, both);
            }
        }
        merged
    }

    fn merged_fields(&self, one: &Value, other: &Value) -> Value {
        let mut fields = one.as_object().expect("fields").clone();
        for (name, second) in other.as_object().expect("fields") {
            let field = fields.get(name).map_or_else(
                || second.clone(),
                |first| {
                    let [first, second] = [first, second].map(|field| field.as_object().expect("a schema"));
                    self.merged(first, second).into()
                },
            );
            fields.insert(name.clone(), field);
        }
        fields.into()
    }
}

/// Whether a pattern means the same in JavaScript without flags, PCRE, Ruby, RE2 and Python.
pub fn is_portable(pattern: &str) -> bool {
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        let rest = letters.as_str();
        let is_known = match letter {
            // Classes such as `\s` and escapes of characters differ.
            '\\' => letters.next().is_some_and(|escaped| escaped.is_ascii_punctuation()),
            '(' => !rest.starts_with('?') || rest.starts_with("?:"),
            '{' => rest.split_once('}').is_some_and(|(range, _)| {
                let mut ends = range.split(',').filter(|end| !end.is_empty());
                ends.all(|end| end.parse().is_ok_and(|end: usize| end <= MAX_REPETITIONS))
            }),
            letter => letter == ' ' || letter.is_ascii_graphic(),
        };
        if !is_known {
            return false;
        }
    }
    true
}

/// Returns a schema of a string that lists its values, instead of one that allows no others.
fn opened(mut schema: Map<String, Value>) -> Map<String, Value> {
    if let Some(value) = schema.shift_remove("const") {
        assert!(value.is_string(), "{value} is not a string");
        schema.insert("type".to_owned(), "string".into());
    }
    let Some(values) = schema.shift_remove("enum") else { return schema };
    let values: Vec<_> = list(&values).filter_map(Value::as_str).map(|value| format!("`{value}`")).collect();
    described(schema, &format!("One of: {}. More may be added.", values.join(", ")))
}

/// Adds a sentence to the description of a schema.
fn described(mut schema: Map<String, Value>, sentence: &str) -> Map<String, Value> {
    let before = schema.get("description").and_then(Value::as_str).map(|before| format!("{before} "));
    schema.insert("description".to_owned(), (before.unwrap_or_default() + sentence).into());
    schema
}

/// Returns two descriptions, or the longer one if it begins with or repeats the other.
fn both_sentences(one: &Value, other: &Value) -> String {
    let [one, other] = [one, other].map(|value| value.as_str().expect("a description"));
    let says = |text: &str, part: &str| text.contains(part.trim_end_matches('.'));
    match (says(one, other), says(other, one)) {
        (true, _) => one.to_owned(),
        (_, true) => other.to_owned(),
        _ => format!("{one} {other}"),
    }
}

fn is_null(schema: &Value) -> bool {
    schema["type"] == "null"
}

/// Returns the items of an array, or none.
fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns the items of an array, or the single value.
fn several(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the schema of a field in the published document, if the contract has it in requests or in responses.
    fn published_field(part: &str, schema: &Value) -> Value {
        let body =
            json!({ "content": { "application/json": { "schema": { "properties": { "field": schema } } } } });
        let part = if part == "responses" { json!({ "200": body }) } else { body };
        let name = if part.get("200").is_some() { "responses" } else { "requestBody" };
        let stage = json!({ "type": "string", "enum": ["offer", "hired"], "description": "A stage." });
        let contract = json!({
            "tags": [],
            "paths": { "/roles": { "post": { name: part } } },
            "components": {
                "schemas": { "Stage": stage },
                "parameters": { "Idempotency-Key": { "schema": {} } },
                "securitySchemes": {},
            },
        });
        let operation = &published(&contract)["paths"]["/roles"]["post"];
        let body = operation.pointer("/responses/200").unwrap_or(&operation["requestBody"]);
        body["content"]["application/json"]["schema"]["properties"]["field"].clone()
    }

    #[test]
    fn a_response_is_open_to_new_values() {
        let stage = json!({ "$ref": "#/components/schemas/Stage" });
        let listed = "One of: `offer`, `hired`. More may be added.";
        for (schema, published) in [
            (stage.clone(), json!({ "type": "string", "description": format!("A stage. {listed}") })),
            (
                json!({ "oneOf": [stage, { "type": "null" }], "description": "The stage." }),
                json!({ "type": ["string", "null"], "description": format!("The stage. {listed}") }),
            ),
            (json!({ "type": "string", "pattern": "^a$" }), json!({ "type": "string" })),
            (json!({ "const": "hired" }), json!({ "type": "string" })),
            (json!({ "oneOf": [{ "type": "integer" }, { "type": "string" }] }), json!({})),
        ] {
            assert_eq!(published_field("responses", &schema), published, "{schema}");
        }
    }

    #[test]
    fn a_request_has_no_blank_strings_and_only_portable_patterns() {
        let blank = json!({ "type": "string", "pattern": BLANK });
        let stage = json!({ "$ref": "#/components/schemas/Stage" });
        let nothing = json!({ "type": "null" });
        for (schema, published) in [
            (json!({ "anyOf": [stage, blank, nothing] }), json!({ "oneOf": [stage, nothing] })),
            (
                json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, blank, nothing], "description": "The salary." }),
                json!({ "type": ["integer", "null"], "minimum": 1, "description": "The salary." }),
            ),
            (
                json!({ "type": "string", "pattern": format!("{BLANK}|^[A-Z]{{2}}$") }),
                json!({ "type": "string", "pattern": "^[A-Z]{2}$" }),
            ),
            (
                json!({ "type": "string", "pattern": LINE, "description": "The name." }),
                json!({ "type": "string", "description": format!("The name. {}", WORDS[0].1) }),
            ),
        ] {
            assert_eq!(published_field("requestBody", &schema), published, "{schema}");
        }
    }

    #[test]
    fn a_union_of_objects_has_all_their_fields() {
        let object = |kind: &str, fields: Value| {
            let mut properties = fields;
            properties["kind"] = json!({ "const": kind, "description": "What happened." });
            json!({ "type": "object", "required": ["kind", "from"], "properties": properties })
        };
        let schemas = json!({
            "Hired": object("hired", json!({ "from": { "type": "integer" }, "day": { "type": "string" } })),
            "Moved": object("moved", json!({ "from": { "type": ["integer", "null"] } })),
        });
        let publisher = Publisher { schemas: schemas.as_object().unwrap(), unions: Map::new() };
        let [hired, moved] = ["Hired", "Moved"].map(|name| schemas[name].as_object().unwrap());
        let merged = publisher.merged(hired, moved);
        assert_eq!(
            Value::Object(merged),
            json!({
                "type": "object",
                "required": ["kind", "from"],
                "properties": {
                    "from": { "type": ["integer", "null"] },
                    "day": { "type": "string" },
                    "kind": { "enum": ["hired", "moved"], "description": "What happened." },
                },
            })
        );
    }

    #[test]
    fn patterns_of_one_language_are_not_portable() {
        for portable in ["^[A-Za-z]{2}$", r"^(?:\*|[!-~]{0,254})$", r"^a\.b\-c$"] {
            assert!(is_portable(portable), "{portable}");
        }
        for other in
            [r"\u00A0", r"[\x00-\x1F]", r"\s", "é", "\u{1BCA0}", "(?=a)", "(?<a>b)", "[a-z]{23,1024}", "\\"]
        {
            assert!(!is_portable(other), "{other}");
        }
    }
}
