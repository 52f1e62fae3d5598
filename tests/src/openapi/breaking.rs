//! What a new document takes away from clients that were written to an old one.

use serde_json::{Map, Value};

/// Each place where a client of `old` may fail with `new`: `POST /api/v1/roles response 201 /title`.
pub fn breaking(old: &Value, new: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let comparison = Comparison { old, new };
    for (path, item) in entries(&old["paths"]) {
        for (method, operation) in entries(item) {
            let place = format!("{} {path}", method.to_uppercase());
            match new["paths"][path].get(method) {
                Some(now) => comparison.operations(operation, now, &place, &mut found),
                None => found.push(place),
            }
        }
    }
    found
}

/// The document without what is there for people only.
pub fn promises(document: &Value) -> Value {
    match document {
        Value::Object(parts) => {
            let kept = parts.iter().filter(|(name, _)| {
                !["description", "summary", "example", "examples", "links", "info", "tags"]
                    .contains(&name.as_str())
            });
            let kept = kept.map(|(name, part)| match (name.as_str(), part) {
                // Here they are the names of fields.
                ("properties", Value::Object(fields)) => {
                    let fields = fields.iter().map(|(name, field)| (name.clone(), promises(field)));
                    (name.clone(), fields.collect())
                }
                _ => (name.clone(), promises(part)),
            });
            kept.collect()
        }
        Value::Array(parts) => parts.iter().map(promises).collect(),
        value => value.clone(),
    }
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Who writes a value, and so whether it may be given more room, or less.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    Client,
    Service,
}

struct Comparison<'d> {
    old: &'d Value,
    new: &'d Value,
}

impl Comparison<'_> {
    fn operations(&self, old: &Value, new: &Value, place: &str, found: &mut Vec<String>) {
        if old["operationId"] != new["operationId"] {
            found.push(format!("{place} operationId"));
        }
        if items(&old["security"]).any(|way| !items(&new["security"]).any(|now| now == way)) {
            found.push(format!("{place} security"));
        }
        let parameter = |document: &Value, list: &Value, name: &Value| {
            let mut parameters = items(list).map(|parameter| resolved(document, parameter).clone());
            parameters.find(|parameter| parameter["name"] == *name)
        };
        for before in items(&old["parameters"]).map(|before| resolved(self.old, before)) {
            let place = format!("{place} parameter {}", before["name"].as_str().unwrap_or_default());
            match parameter(self.new, &new["parameters"], &before["name"]) {
                Some(now) if now["required"] == true && before["required"] != true => found.push(place),
                Some(now) => self.schemas(&before["schema"], &now["schema"], Writer::Client, &place, found),
                None => found.push(place),
            }
        }
        for now in items(&new["parameters"]).map(|now| resolved(self.new, now)) {
            if now["required"] == true && parameter(self.old, &old["parameters"], &now["name"]).is_none() {
                found.push(format!("{place} parameter {}", now["name"].as_str().unwrap_or_default()));
            }
        }
        self.bodies(&old["requestBody"], &new["requestBody"], place, found);
        for (status, before) in entries(&old["responses"]).filter(|(status, _)| status.starts_with('2')) {
            let place = format!("{place} response {status}");
            let Some(now) = new["responses"].get(status) else {
                found.push(place);
                continue;
            };
            let (before, now) = (resolved(self.old, before), resolved(self.new, now));
            for (name, _) in
                entries(&before["headers"]).filter(|(name, _)| now["headers"].get(name).is_none())
            {
                found.push(format!("{place} header {name}"));
            }
            self.contents(&before["content"], &now["content"], Writer::Service, &place, found);
        }
    }

    fn bodies(&self, old: &Value, new: &Value, place: &str, found: &mut Vec<String>) {
        let place = format!("{place} body");
        if new["required"] == true && old["required"] != true || new.is_null() && !old.is_null() {
            found.push(place);
        } else if !old.is_null() {
            self.contents(&old["content"], &new["content"], Writer::Client, &place, found);
        }
    }

    fn contents(&self, old: &Value, new: &Value, writer: Writer, place: &str, found: &mut Vec<String>) {
        for (media, before) in entries(old) {
            match new.get(media) {
                Some(now) => self.schemas(&before["schema"], &now["schema"], writer, place, found),
                None => found.push(place.to_owned()),
            }
        }
    }

    fn schemas(&self, old: &Value, new: &Value, writer: Writer, place: &str, found: &mut Vec<String>) {
        let (old, new) = (whole(self.old, old), whole(self.new, new));
        let kinds = |schema: &Value| match &schema["type"] {
            Value::Array(kinds) => kinds.clone(),
            Value::Null => Vec::new(),
            kind => vec![kind.clone()],
        };
        // What the client writes must be taken as before; what the service writes must be what it was.
        let (narrower, wider) = match writer {
            Writer::Client => (&old, &new),
            Writer::Service => (&new, &old),
        };
        let (narrow_kinds, wide_kinds) = (kinds(narrower), kinds(wider));
        let is_new_kind = |kind: &Value| !wide_kinds.is_empty() && !wide_kinds.contains(kind);
        let is_new_word =
            |word: &Value| !wider["enum"].is_null() && !items(&wider["enum"]).any(|known| known == word);
        let bound = |schema: &Value, name: &str| schema[name].as_f64();
        let passes = |name: &str, is_lower: bool| match (bound(narrower, name), bound(wider, name)) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(narrow), Some(wide)) => {
                if is_lower {
                    narrow < wide
                } else {
                    narrow > wide
                }
            }
        };
        if narrow_kinds.iter().any(is_new_kind)
            || items(&narrower["enum"]).any(is_new_word)
            || (narrower["enum"].is_null() && !wider["enum"].is_null())
            || ["minimum", "minLength", "minItems"].into_iter().any(|name| passes(name, true))
            || ["maximum", "maxLength", "maxItems"].into_iter().any(|name| passes(name, false))
            || ["const", "format", "pattern"]
                .into_iter()
                .any(|name| !wider[name].is_null() && wider[name] != narrower[name])
        {
            found.push(place.to_owned());
        }
        for (name, before) in entries(&old["properties"]) {
            let place = format!("{place} /{name}");
            match new["properties"].get(name) {
                Some(now) => self.schemas(before, now, writer, &place, found),
                None => found.push(place),
            }
        }
        let is_required =
            |schema: &Value, name: &str| items(&schema["required"]).any(|required| required == name);
        for required in
            items(&narrower["required"]).chain(items(&wider["required"])).filter_map(Value::as_str)
        {
            let place = format!("{place} /{required}");
            // A client must be asked for no more, and be given no less.
            if is_required(wider, required) && !is_required(narrower, required) && !found.contains(&place) {
                found.push(place);
            }
        }
        if !old["items"].is_null() {
            self.schemas(&old["items"], &new["items"], writer, &format!("{place} []"), found);
        }
        for choice in ["oneOf", "anyOf"] {
            let (before, now) = (&old[choice], &new[choice]);
            if before.as_array().map(Vec::len) != now.as_array().map(Vec::len) {
                found.push(place.to_owned());
                continue;
            }
            for (before, now) in items(before).zip(items(now)) {
                self.schemas(before, now, writer, place, found);
            }
        }
    }
}

fn resolved<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    let target = value["$ref"].as_str().and_then(|reference| document.pointer(reference.strip_prefix('#')?));
    target.unwrap_or(value)
}

/// A schema without references, whose parts (`allOf`) are put together.
fn whole(document: &Value, schema: &Value) -> Value {
    let mut schema = resolved(document, schema).clone();
    let parts: Vec<_> = items(&schema["allOf"]).map(|part| whole(document, part)).collect();
    for part in parts {
        for (name, value) in entries(&part) {
            match (schema.get_mut(name), value) {
                (Some(Value::Object(known)), Value::Object(more)) => known.extend(more.clone()),
                (Some(Value::Array(known)), Value::Array(more)) => known.extend(more.clone()),
                (Some(_), _) => {}
                (None, value) => schema[name.as_str()] = value.clone(),
            }
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(operation: &Value, role: &Value) -> Value {
        json!({ "paths": { "/roles": { "post": operation } }, "components": { "schemas": { "Role": role } } })
    }

    fn base() -> (Value, Value) {
        let role = json!({
            "type": "object",
            "required": ["id", "title", "status"],
            "properties": {
                "id": { "type": "integer" },
                "title": { "type": "string", "maxLength": 200 },
                "status": { "type": "string", "enum": ["open", "closed"] },
            },
        });
        let media = json!({ "application/json": { "schema": { "$ref": "#/components/schemas/Role" } } });
        let operation = json!({
            "operationId": "create_role",
            "security": [{ "api_key": [] }],
            "parameters": [{ "name": "limit", "in": "query", "schema": { "type": "integer", "maximum": 100 } }],
            "requestBody": { "content": { "application/json": { "schema": {
                "type": "object",
                "required": ["title"],
                "properties": {
                    "title": { "type": "string", "maxLength": 200 },
                    "place": { "type": ["string", "null"] },
                },
            } } } },
            "responses": { "201": { "headers": { "ETag": {} }, "content": media } },
        });
        (operation, role)
    }

    /// What the change of the value at a pointer breaks.
    fn after(pointer: &str, value: Value) -> Vec<String> {
        let (operation, role) = base();
        let old = document(&operation, &role);
        let mut new = json!({ "operation": operation, "role": role });
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = new.pointer_mut(parent).unwrap();
        if value.is_null() {
            parent.as_object_mut().unwrap().remove(name);
        } else {
            parent[name] = value;
        }
        breaking(&old, &document(&new["operation"], &new["role"]))
    }

    #[test]
    fn what_is_taken_away_or_demanded_breaks() {
        const BODY: &str = "/operation/requestBody/content/application~1json/schema";
        for (pointer, value, place) in [
            ("/operation/operationId", json!("make_role"), "operationId"),
            ("/operation/security", json!([{ "oauth": [] }]), "security"),
            ("/operation/parameters", json!([]), "parameter limit"),
            ("/operation/parameters/0/schema/maximum", json!(50), "parameter limit"),
            ("/operation/requestBody", Value::Null, "body"),
            ("/operation/requestBody/required", json!(true), "body"),
            (&format!("{BODY}/required"), json!(["title", "place"]), "body /place"),
            (&format!("{BODY}/properties/place"), Value::Null, "body /place"),
            (&format!("{BODY}/properties/place/type"), json!("string"), "body /place"),
            (&format!("{BODY}/properties/title/maxLength"), json!(100), "body /title"),
            (&format!("{BODY}/properties/title/enum"), json!(["a"]), "body /title"),
            ("/operation/responses", json!({ "200": {} }), "response 201"),
            ("/operation/responses/201/headers", json!({}), "response 201 header ETag"),
            ("/operation/responses/201/content", json!({ "text/plain": {} }), "response 201"),
            ("/operation/requestBody/content", json!({ "text/plain": {} }), "body"),
            ("/role/properties/title", Value::Null, "response 201 /title"),
            ("/role/properties/title/maxLength", json!(300), "response 201 /title"),
            ("/role/properties/title/type", json!(["string", "null"]), "response 201 /title"),
            ("/role/properties/status/enum", json!(["open", "closed", "paused"]), "response 201 /status"),
            ("/role/required", json!(["id", "title"]), "response 201 /status"),
        ] {
            assert_eq!(after(pointer, value), [format!("POST /roles {place}")], "{pointer}");
        }
        let (operation, role) = base();
        let gone = json!({ "paths": {} });
        assert_eq!(breaking(&document(&operation, &role), &gone), ["POST /roles"]);
    }

    #[test]
    fn what_is_added_or_permitted_does_not() {
        const BODY: &str = "/operation/requestBody/content/application~1json/schema";
        for (pointer, value) in [
            ("/operation/summary", json!("Create a role")),
            ("/operation/parameters/0/schema/maximum", json!(200)),
            (&format!("{BODY}/required") as &str, json!([])),
            (&format!("{BODY}/properties/title/maxLength"), json!(300)),
            (&format!("{BODY}/properties/title/type"), json!(["string", "null"])),
            (&format!("{BODY}/properties/more"), json!({ "type": "string" })),
            ("/operation/responses/409", json!({})),
            ("/role/properties/more", json!({ "type": "string" })),
            ("/role/properties/title/maxLength", json!(100)),
            ("/role/properties/status/enum", json!(["open"])),
        ] {
            assert_eq!(after(pointer, value), [""; 0], "{pointer}");
        }
    }
}
