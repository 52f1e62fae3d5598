//! The arguments of tools as hosts send them: nothing left out, and everything without a value `null`, blank or zero.

use serde_json::{Map, Value, json};
use tests::assistant::Assistant;
use tests::{Fixtures, TestApi};

use crate::mcp_tools::calls;

/// The schema of the value that an argument has, if it is given.
fn given(schema: &Value) -> &Value {
    schema.pointer("/anyOf/0").unwrap_or(schema)
}

/// What a model sends for an argument that it must send and has no value for.
fn without_value(name: &str, schema: &Value, is_blank: bool) -> Value {
    match given(schema)["type"].as_str() {
        Some("string") if is_blank => " ".into(),
        Some("array") if is_blank => json!([]),
        Some("integer") if is_blank && name.starts_with("salary") => 0.into(),
        _ => Value::Null,
    }
}

/// These arguments, and all others without a value.
fn all(schema: &Value, arguments: &Value, is_blank: bool) -> Value {
    let of = |(name, schema): (&String, &Value)| {
        let value = match arguments.get(name) {
            Some(value) => value.clone(),
            None => without_value(name, schema, is_blank),
        };
        (name.clone(), value)
    };
    schema["properties"].as_object().unwrap().iter().map(of).collect::<Map<_, _>>().into()
}

fn schema(tool: &str) -> Value {
    let tool = mcp::tools::TABLE.iter().find(|known| known.name == tool).expect("a tool");
    (tool.input)()
}

/// A world of its own for each form, because most tools change it.
async fn outcomes(form: impl Fn(&str, Value) -> Value) -> Vec<Value> {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    api.run_feed().await;
    let assistant = Assistant::new(&api);
    let mut outcomes = Vec::new();
    for (tool, arguments) in calls(&of) {
        outcomes.push(json!([tool, assistant.result(tool, form(tool, arguments)).await]));
    }
    let role = api.get(&format!("/api/v1/roles/{}", of.role)).await.expect(200);
    outcomes.push(role.body);
    outcomes
}

/// Without what differs in each run: identifiers, the hashes of confirmations, which contain them, and Jane's number.
fn comparable(outcomes: &[Value]) -> String {
    let text = json!(outcomes).to_string();
    let mut kept = String::new();
    for part in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_') {
        let word = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
        let is_id = word.len() > 9 && word.chars().any(|c| c.is_ascii_digit()) && !word.contains('T');
        kept.push_str(if is_id || word.len() == 43 || word.starts_with("jane") { "ID" } else { part });
    }
    kept
}

#[tokio::test]
async fn an_argument_without_a_value_counts_as_absent_in_every_tool() {
    let plain = comparable(&outcomes(|_, arguments| arguments).await);
    for is_blank in [false, true] {
        let full = |tool: &str, arguments: Value| all(&schema(tool), &arguments, is_blank);
        assert_eq!(comparable(&outcomes(full).await), plain, "blank: {is_blank}");
    }
}

#[tokio::test]
async fn a_required_argument_without_a_value_is_missing() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    let assistant = Assistant::new(&api);
    let mut tried = 0;
    for (tool, arguments) in calls(&of) {
        let schema = schema(tool);
        for required in schema["required"].as_array().into_iter().flatten() {
            let required = required.as_str().unwrap();
            for value in [Value::Null, "".into(), "  ".into()] {
                let mut arguments = arguments.clone();
                arguments[required] = value;
                let refused = assistant.refused(tool, arguments).await;
                assert_eq!(refused, format!("The arguments are not valid: {required} is missing."), "{tool}");
                tried += 1;
            }
        }
    }
    assert!(tried > 20);
}

#[tokio::test]
async fn what_is_to_be_emptied_is_named() {
    let api = TestApi::new().await;
    let assistant = Assistant::new(&api);
    let content = json!({
        "title": "Cook", "department": "Kitchen", "description": "Cooks", "location": "Berlin", "country": "DE",
        "remote_policy": "onsite", "employment_type": "part_time", "salary_min": 10, "salary_max": 20,
        "salary_currency": "EUR", "external_id": "A-7", "closes_on": "2026-12-31",
    });
    let id = assistant.call("save_role", content.clone()).await["id"].clone();
    let role = async || api.get(&format!("/api/v1/roles/{id}")).await.expect(200).body;
    let before = role().await;
    // A model that renames the role, and must send every argument.
    let schema = schema("save_role");
    for is_blank in [false, true] {
        let renamed = all(&schema, &json!({ "role_id": id, "title": "Chef" }), is_blank);
        assistant.call("save_role", renamed).await;
        let mut expected = before.clone();
        expected["title"] = "Chef".into();
        expected["updated_at"] = role().await["updated_at"].clone();
        assert_eq!(role().await, expected);
    }
    let clearable = &schema["properties"]["clear"]["anyOf"][0]["items"]["enum"];
    let mut fields: Vec<_> = content.as_object().unwrap().keys().filter(|name| *name != "title").collect();
    let [locations, pay] = ["locations", "pay"].map(str::to_owned);
    fields.extend([&locations, &pay]);
    fields.sort_unstable();
    let mut named: Vec<_> = clearable.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    named.sort_unstable();
    assert_eq!(named, fields, "whatever a role may lack");
    let cleared =
        json!({ "role_id": id, "clear": ["department", "salary_min", "salary_min"], "location": "Bonn" });
    assistant.call("save_role", cleared).await;
    let after = role().await;
    assert_eq!((&after["department"], &after["salary_min"]), (&Value::Null, &Value::Null));
    assert_eq!((&after["location"], &after["description"]), (&json!("Bonn"), &json!("Cooks")));
    for (clear, given, problem) in [
        (json!(["title"]), json!(null), "clear must be a list of these: department, "),
        (json!(["colour"]), json!(null), "clear must be a list of these: department, "),
        (json!([7]), json!(null), "clear must be a list of these: department, "),
        (json!("country"), json!("DE"), "country can't be both given and cleared"),
        (json!(["country"]), json!("DE"), "country can't be both given and cleared"),
        (json!({ "country": true }), json!(null), "clear must be a list of these: department, "),
    ] {
        let call = json!({ "role_id": id, "clear": clear, "country": given });
        let refused = assistant.refused("save_role", call).await;
        assert!(refused.contains(problem), "{clear}: {refused}");
    }
    assert_eq!(role().await, after);
    assistant.call("save_role", json!({ "role_id": id, "clear": clearable })).await;
    let emptied = role().await;
    for name in clearable.as_array().unwrap() {
        let empty = if name == "locations" { json!([]) } else { Value::Null };
        assert_eq!(emptied[name.as_str().unwrap()], empty, "{name}");
    }
    let refused =
        assistant.refused("add_note", json!({ "candidate_id": 1, "text": "x", "clear": ["text"] })).await;
    assert_eq!(refused, "The arguments are not valid: clear is not a known field.");
    let refused = assistant.refused("list_roles", json!({ "colour": null })).await;
    assert_eq!(refused, "The arguments are not valid: colour is not a known field.");
}

/// Fails if a schema has what the SDK of some model cannot convert.
fn check(place: &str, schema: &Value) {
    match schema {
        Value::Object(fields) => {
            for keyword in
                ["additionalProperties", "$ref", "$defs", "const", "not", "oneOf", "allOf", "pattern"]
            {
                assert!(!fields.contains_key(keyword), "{place}: {keyword}");
            }
            let kind = fields.get("type");
            assert!(kind.is_none_or(Value::is_string), "{place}: {kind:?}");
            if let Some(words) = fields.get("enum") {
                assert!(words.as_array().unwrap().iter().all(Value::is_string), "{place}: {words}");
            }
            if let Some(items) = fields.get("items") {
                assert!(items["type"].is_string(), "{place}: {items}");
                check(&format!("{place}[]"), items);
            }
            if let Some(any) = fields.get("anyOf") {
                let [given, null] = &any.as_array().unwrap()[..] else { panic!("{place}: {any}") };
                assert_eq!(*null, json!({ "type": "null" }), "{place}");
                assert_ne!(given["type"], "null", "{place}");
                check(place, given);
            } else {
                assert!(kind.is_some(), "{place}: {schema}");
            }
            for (name, property) in fields.get("properties").and_then(Value::as_object).into_iter().flatten()
            {
                check(&format!("{place}.{name}"), property);
            }
        }
        other => panic!("{place}: {other}"),
    }
}

#[test]
fn every_sdk_can_convert_the_schemas() {
    for tool in mcp::tools::TABLE {
        let (input, output) = ((tool.input)(), (tool.output.unwrap())());
        check(tool.name, &input);
        check(&format!("{} answers", tool.name), &output);
        let required: Vec<_> = input["required"].as_array().into_iter().flatten().collect();
        for (name, property) in input["properties"].as_object().unwrap() {
            let is_required = required.iter().any(|required| *required == name);
            assert_eq!(property.get("anyOf").is_none(), is_required, "{}.{name}", tool.name);
        }
        for (name, property) in output["properties"].as_object().unwrap() {
            if name == "id" || name.ends_with("_id") {
                assert_eq!(property["type"], "integer", "{}: {name}", tool.name);
            }
            assert!(property.get("properties").is_none(), "{}: {name}", tool.name);
        }
    }
}
