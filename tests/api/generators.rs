//! What generators of clients need of the OpenAPI document. Each rule is here because some of them make code that does not
//! compile, or that fails with a later version of the service.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tests::contract::CLIENTS;
use tests::openapi::is_portable;

/// How references to schemas begin.
const SCHEMAS: &str = "#/components/schemas/";

/// Names that generated code has already: types of the languages, and of the code around the generated types.
const TAKEN: [&str; 40] = [
    "ApiClient",
    "ApiError",
    "ApiException",
    "ApiResponse",
    "Array",
    "Boolean",
    "Box",
    "Buffer",
    "ByteBuffer",
    "Channels",
    "Class",
    "Client",
    "Configuration",
    "Date",
    "Default",
    "Dict",
    "Double",
    "Enum",
    "Err",
    "Error",
    "Exception",
    "File",
    "Float",
    "Function",
    "Integer",
    "List",
    "Map",
    "Model",
    "Module",
    "None",
    "Number",
    "Object",
    "Option",
    "Record",
    "Request",
    "Response",
    "Result",
    "Set",
    "String",
    "Type",
];

/// A part of the document with its JSON pointer.
type Part = (String, &'static Value);

fn child(place: &str, name: &str) -> String {
    format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Adds a part and everything in it, without examples. Follows references.
fn add_parts((place, part): Part, found: &mut BTreeMap<String, &'static Value>) {
    if found.insert(place.clone(), part).is_some() {
        return;
    }
    if let Some(target) = part["$ref"].as_str().and_then(|target| target.strip_prefix('#')) {
        add_parts((target.to_owned(), CLIENTS.document.pointer(target).expect("a target")), found);
    }
    let is_fields = place.ends_with("/properties");
    for (name, member) in part.as_object().into_iter().flatten() {
        if is_fields || !matches!(name.as_str(), "example" | "examples" | "links") {
            add_parts((child(&place, name), member), found);
        }
    }
    for (index, item) in part.as_array().into_iter().flatten().enumerate() {
        add_parts((child(&place, &index.to_string()), item), found);
    }
}

/// Returns what the operations have under these names, with everything in it.
fn parts(names: &[&str]) -> BTreeMap<String, &'static Value> {
    let mut found = BTreeMap::new();
    for (place, operation) in operations() {
        for name in names.iter().filter(|name| operation.get(**name).is_some()) {
            add_parts((child(&place, name), &operation[*name]), &mut found);
        }
    }
    assert!(found.len() > 500, "{}", found.len());
    found
}

fn requests() -> BTreeMap<String, &'static Value> {
    parts(&["parameters", "requestBody"])
}

fn responses() -> BTreeMap<String, &'static Value> {
    parts(&["responses"])
}

fn operations() -> Vec<Part> {
    let paths = CLIENTS.document["paths"].as_object().expect("paths");
    let items = paths.iter().flat_map(|(path, item)| {
        let place = child("/paths", path);
        item.as_object()
            .expect("operations")
            .iter()
            .map(move |(method, operation)| (child(&place, method), operation))
    });
    items.collect()
}

fn schema_names() -> BTreeSet<&'static str> {
    CLIENTS.document["components"]["schemas"]
        .as_object()
        .expect("schemas")
        .keys()
        .map(String::as_str)
        .collect()
}

/// Fails with the places of the parts that break a rule.
fn assert_none(parts: &BTreeMap<String, &'static Value>, breaks: impl Fn(&Value) -> bool) {
    let found: Vec<_> = parts.iter().filter(|(_, part)| breaks(part)).map(|(place, _)| place).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn references_have_nothing_beside_them_but_a_description() {
    let is_more = |name: &String| !matches!(name.as_str(), "$ref" | "description");
    assert_none(&parts(&["parameters", "requestBody", "responses"]), |part| {
        part["$ref"].is_string() && part.as_object().is_some_and(|members| members.keys().any(is_more))
    });
}

#[test]
fn responses_have_no_patterns_and_no_closed_lists_of_values() {
    assert_none(&responses(), |part| part["pattern"].is_string());
    assert_none(&responses(), |part| part["enum"].is_array());
    assert_none(&responses(), |part| part["const"].is_string());
}

#[test]
fn responses_list_the_values_of_today() {
    let schemas = &CLIENTS.document["components"]["schemas"];
    let status = schemas["Role"]["properties"]["status"]["description"].as_str().expect("a description");
    assert!(status.ends_with("One of: `draft`, `open`, `paused`, `closed`. More may be added."), "{status}");
    let kind = schemas["Touchpoint"]["properties"]["kind"]["description"].as_str().expect("a description");
    assert!(
        kind.contains("`created`, `imported`, `applied`") && kind.ends_with("More may be added."),
        "{kind}"
    );
    assert!(schemas["RoleStatus"]["enum"].is_array(), "requests allow only these values");
}

#[test]
fn requests_have_only_portable_patterns() {
    let patterns: Vec<_> = requests().values().filter_map(|part| part["pattern"].as_str()).collect();
    assert!(patterns.len() > 10, "{patterns:?}");
    let others: Vec<_> = patterns.into_iter().filter(|pattern| !is_portable(pattern)).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn unions_are_only_of_a_schema_and_null() {
    let is_union = |options: &[Value]| !matches!(options, [value, null] if value["$ref"].is_string() && *null == serde_json::json!({ "type": "null" }));
    assert_none(&parts(&["parameters", "requestBody", "responses"]), |part| {
        let options = ["oneOf", "anyOf"].iter().filter_map(|name| part[*name].as_array());
        part["discriminator"].is_object() || options.into_iter().any(|options| is_union(options))
    });
    // Two types are a union too.
    assert_none(&parts(&["parameters", "requestBody", "responses"]), |part| {
        part["type"].as_array().is_some_and(|types| types.len() != 2 || types[1] != "null")
    });
}

#[test]
fn names_are_free_in_all_languages() {
    let names = schema_names();
    assert!(names.is_disjoint(&BTreeSet::from(TAKEN)), "{:?}", &names & &BTreeSet::from(TAKEN));
    // In Go, `NewRole` is the constructor of `Role`.
    let constructors: Vec<_> = names.iter().filter_map(|name| name.strip_prefix("New")).collect();
    assert!(constructors.iter().all(|name| !names.contains(name)), "{constructors:?}");
}

#[test]
fn a_schema_of_objects_is_only_of_requests_or_only_of_responses() {
    let objects = |parts: BTreeMap<String, &'static Value>| -> BTreeSet<String> {
        let schemas = parts.into_iter().filter(|(_, part)| part["enum"].is_null());
        let names = schemas.filter_map(|(place, _)| place.strip_prefix(&SCHEMAS[1..]).map(str::to_owned));
        names.filter(|name| !name.contains('/')).collect()
    };
    assert_eq!(&objects(requests()) & &objects(responses()), BTreeSet::new());
}

#[test]
fn the_name_of_the_key_sorts_last() {
    let mut keys = 0;
    for (place, operation) in operations() {
        let schemes = operation["security"].as_array().into_iter().flatten().filter_map(Value::as_object);
        let names: BTreeSet<_> = schemes.flat_map(serde_json::Map::keys).collect();
        if names.contains(&"oauth".to_owned()) {
            let last = names.last().expect("a scheme");
            let scheme = &CLIENTS.document["components"]["securitySchemes"][last.as_str()];
            assert_eq!(
                (&scheme["type"], &scheme["scheme"]),
                (&"http".into(), &"bearer".into()),
                "{place}: {last}"
            );
            keys += 1;
        }
    }
    assert!(keys > 40, "{keys}");
}

#[test]
fn the_document_has_only_what_clients_of_the_api_use() {
    let starts = ["/paths/~1mcp/", "/paths/~1oauth~1", "/paths/~1robots.txt/"];
    let others =
        operations().into_iter().filter(|(place, _)| starts.iter().any(|start| place.starts_with(start)));
    assert_eq!(others.map(|(place, _)| place).collect::<Vec<_>>(), [""; 0]);
    let contents = responses().into_iter().filter(|(place, _)| place.ends_with("/content"));
    let media: BTreeSet<_> =
        contents.flat_map(|(_, content)| content.as_object().expect("contents").keys()).collect();
    assert_eq!(media.into_iter().collect::<Vec<_>>(), ["application/json"]);
}

#[test]
fn the_head_is_short_and_complete() {
    let document = &CLIENTS.document;
    let about = document["info"]["description"].as_str().expect("a description");
    assert!(about.len() < 300 && about.contains("/docs>"), "{about}");
    let server = document["servers"][0]["url"].as_str().expect("a server");
    assert!(server.starts_with("https://") && !server.ends_with('/'), "{server}");
}

/// An `example` of a parameter is the same for all requests: forms are filled in with it.
#[test]
fn the_idempotency_key_has_an_example_that_is_new_each_time() {
    let key = &CLIENTS.document["components"]["parameters"]["Idempotency-Key"];
    assert_eq!(key["schema"]["examples"], serde_json::json!(["{{$guid}}"]));
    assert!(key["example"].is_null() && key["examples"].is_null(), "{key}");
}
