//! Finds the changes in a new OpenAPI document that break clients of an old one.
//!
//! The rules are those of the API guide. Operations, parameters, fields, headers, statuses and enumeration values must
//! not be renamed or removed. Request schemas may only become wider, and response schemas only narrower, except that
//! fields and headers may be added to responses. A new status or enumeration value of a response counts as wider,
//! because clients branch on it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// Returns each place where a client of `old` may fail with `new`, such as `POST /api/v1/roles response 201 /title`.
pub fn breaking(old: &Value, new: &Value) -> Vec<String> {
    let (old, new) = (promises(old), promises(new));
    let mut comparison = Comparison { old: &old, new: &new, found: Vec::new() };
    comparison.documents();
    comparison.found
}

/// Removes the informational parts of the document, which clients do not rely on.
pub fn promises(document: &Value) -> Value {
    const INFORMATIONAL: [&str; 11] = [
        "title",
        "summary",
        "description",
        "license",
        "tags",
        "externalDocs",
        "example",
        "examples",
        "links",
        "deprecated",
        "bearerFormat",
    ];
    // Objects whose keys are names. A name may equal one of the keywords above.
    const NAMED: [&str; 7] =
        ["schemas", "properties", "parameters", "headers", "responses", "securitySchemes", "content"];
    let of_all = |parts: &Map<String, Value>| {
        parts.iter().map(|(name, part)| (name.clone(), promises(part))).collect::<Value>()
    };
    match document {
        Value::Object(parts) => {
            let kept = parts.iter().filter(|(name, _)| !INFORMATIONAL.contains(&name.as_str()));
            let kept = kept.map(|(name, part)| match part {
                Value::Object(scopes) if name == "scopes" => {
                    (name.clone(), scopes.keys().map(|scope| (scope.clone(), json!(""))).collect())
                }
                Value::Object(parts) if NAMED.contains(&name.as_str()) => (name.clone(), of_all(parts)),
                part => (name.clone(), promises(part)),
            });
            kept.collect()
        }
        Value::Array(parts) => parts.iter().map(promises).collect(),
        value => value.clone(),
    }
}

/// The side that writes a value. It determines whether a schema may become wider or narrower.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    Client,
    Service,
}

impl Writer {
    /// Orders two schemas so that every value of the first must be valid in the second. Old requests must be valid in
    /// the new schema, and new responses in the old one.
    fn narrow_and_wide<'v>(self, old: &'v Value, new: &'v Value) -> (&'v Value, &'v Value) {
        match self {
            Self::Client => (old, new),
            Self::Service => (new, old),
        }
    }
}

struct Comparison<'d> {
    old: &'d Value,
    new: &'d Value,
    found: Vec<String>,
}

impl Comparison<'_> {
    fn breaks(&mut self, place: &str) {
        if !self.found.iter().any(|known| known == place) {
            self.found.push(place.to_owned());
        }
    }

    fn documents(&mut self) {
        let (old, new) = (self.old, self.new);
        // Clients use the first server, so servers may be added only after it.
        if items(&old["servers"]).enumerate().any(|(at, server)| new["servers"][at] != *server) {
            self.breaks("servers");
        }
        for (name, scheme) in entries(&old["components"]["securitySchemes"]) {
            if !has_all_of(&new["components"]["securitySchemes"][name], scheme) {
                self.breaks(&format!("security scheme {name}"));
            }
        }
        for (path, item) in entries(&old["paths"]) {
            for (method, operation) in entries(item) {
                let place = format!("{} {path}", method.to_uppercase());
                match new["paths"][path].get(method) {
                    Some(now) => self.operations(operation, now, &place),
                    None => self.breaks(&place),
                }
            }
        }
    }

    fn operations(&mut self, old: &Value, new: &Value, place: &str) {
        if old["operationId"] != new["operationId"] {
            self.breaks(&format!("{place} operationId"));
        }
        let is_admitted = |way: &Value| ways(new).iter().any(|now| admits(now, way));
        if !ways(old).iter().all(is_admitted) {
            self.breaks(&format!("{place} security"));
        }
        self.parameters(old, new, place);
        self.values(&old["requestBody"], &new["requestBody"], Writer::Client, &format!("{place} body"));
        self.responses(&old["responses"], &new["responses"], place);
    }

    fn parameters(&mut self, old: &Value, new: &Value, place: &str) {
        let (old, new) = (parameters(self.old, old), parameters(self.new, new));
        for key in old.keys().chain(new.keys()) {
            let parameter = |of: &BTreeMap<_, _>| of.get(key).copied().unwrap_or(&Value::Null);
            let place = format!("{place} parameter {}", key.1);
            self.values(parameter(&old), parameter(&new), Writer::Client, &place);
        }
    }

    /// Clients branch on statuses, so none may be removed or added.
    fn responses(&mut self, old: &Value, new: &Value, place: &str) {
        let statuses: BTreeSet<_> = entries(old).chain(entries(new)).map(|(status, _)| status).collect();
        for status in statuses {
            let place = format!("{place} response {status}");
            let (Some(before), Some(now)) = (old.get(status), new.get(status)) else {
                self.breaks(&place);
                continue;
            };
            let (before, now) = (resolved(self.old, before), resolved(self.new, now));
            for (name, header) in entries(&before["headers"]) {
                let place = format!("{place} header {name}");
                self.values(header, &now["headers"][name], Writer::Service, &place);
            }
            self.contents(&before["content"], &now["content"], Writer::Service, &place);
        }
    }

    /// Compares parameters, headers or request bodies. `null` stands for one that was added or removed.
    fn values(&mut self, old: &Value, new: &Value, writer: Writer, place: &str) {
        let (old, new) = (resolved(self.old, old), resolved(self.new, new));
        let (narrow, wide) = writer.narrow_and_wide(old, new);
        if new.is_null() && !old.is_null() || wide["required"] == true && narrow["required"] != true {
            self.breaks(place);
        } else if !old.is_null() {
            self.schemas(&old["schema"], &new["schema"], writer, place);
            self.contents(&old["content"], &new["content"], writer, place);
        }
    }

    fn contents(&mut self, old: &Value, new: &Value, writer: Writer, place: &str) {
        let is_there = |content: &Value, media: &str| content.get(media).is_some();
        if entries(old).any(|(media, _)| !is_there(new, media))
            || writer == Writer::Service && entries(new).any(|(media, _)| !is_there(old, media))
        {
            self.breaks(place);
        }
        for (media, before) in entries(old).filter(|(media, _)| is_there(new, media)) {
            self.schemas(&before["schema"], &new[media]["schema"], writer, place);
        }
    }

    /// Compares two schemas by their alternatives. Each old alternative must have a compatible new one. In responses,
    /// each new alternative must also have a compatible old one.
    fn schemas(&mut self, old: &Value, new: &Value, writer: Writer, place: &str) {
        if old.is_null() && new.is_null() {
            return;
        }
        let (old, new) = (alternatives(self.old, old), alternatives(self.new, new));
        let is_one = old.len() == 1 && new.len() == 1;
        for at in 0..old.len().max(new.len()) {
            let (before, now) = (old.get(at), new.get(at));
            if !is_one && self.is_kept(before, &new, writer) && self.is_known(now, &old, writer) {
                continue;
            }
            match (before, now) {
                // The alternatives are usually in the same order, so this finds the place within the schema.
                (Some(before), Some(now)) => self.plain(before, now, writer, place),
                _ => self.breaks(place),
            }
        }
    }

    /// Whether an old alternative still exists. A response may drop `null`.
    fn is_kept(&self, old: Option<&Value>, new: &[Value], writer: Writer) -> bool {
        old.is_none_or(|old| {
            writer == Writer::Service && old["type"] == "null"
                || new.iter().any(|new| self.fits(old, new, writer))
        })
    }

    /// Whether readers can already handle a new alternative.
    fn is_known(&self, new: Option<&Value>, old: &[Value], writer: Writer) -> bool {
        writer == Writer::Client || new.is_none_or(|new| old.iter().any(|old| self.fits(old, new, writer)))
    }

    fn fits(&self, old: &Value, new: &Value, writer: Writer) -> bool {
        let mut comparison = Comparison { old: self.old, new: self.new, found: Vec::new() };
        comparison.plain(old, new, writer, "");
        comparison.found.is_empty()
    }

    fn plain(&mut self, old: &Value, new: &Value, writer: Writer, place: &str) {
        let (narrow, wide) = writer.narrow_and_wide(old, new);
        let is_gone = |word: &Value| !new["enum"].is_null() && !has(&new["enum"], word);
        if entries(wide).any(|(keyword, limit)| !is_within(keyword, limit, &narrow[keyword]))
            || items(&old["enum"]).any(is_gone)
            || old["default"] != new["default"]
        {
            self.breaks(place);
        }
        for (name, before) in entries(&old["properties"]) {
            let place = format!("{place} /{name}");
            match new["properties"].get(name) {
                Some(now) => self.schemas(before, now, writer, &place),
                None => self.breaks(&place),
            }
        }
        // A request must not require more fields, and a response must not require fewer.
        for name in items(&wide["required"]).filter(|name| !has(&narrow["required"], name)) {
            self.breaks(&format!("{place} /{}", name.as_str().unwrap_or_default()));
        }
        self.schemas(&old["items"], &new["items"], writer, &format!("{place} []"));
        match (&old["additionalProperties"], &new["additionalProperties"]) {
            (Value::Bool(false), _) => {}
            (_, Value::Bool(false)) if writer == Writer::Client => self.breaks(place),
            (_, Value::Bool(false)) => {}
            (before, now) => self.schemas(before, now, writer, &format!("{place} /*")),
        }
    }
}

/// Whether a schema whose keyword has `value` is at most as wide as one with `limit`. Unknown keywords must be equal.
fn is_within(keyword: &str, limit: &Value, value: &Value) -> bool {
    match keyword {
        // These are compared separately.
        "properties" | "required" | "items" | "additionalProperties" | "default" => true,
        "type" | "enum" => !value.is_null() && listed(value).iter().all(|one| listed(limit).contains(one)),
        lowest if lowest.starts_with("min") => value.as_f64() >= limit.as_f64(),
        highest if highest.starts_with("max") => !value.is_null() && value.as_f64() <= limit.as_f64(),
        _ => value == limit,
    }
}

/// Returns the alternatives of a schema as plain schemas, without references, `allOf`, `oneOf` and `anyOf`.
fn alternatives(document: &Value, schema: &Value) -> Vec<Value> {
    let mut own = schema.clone();
    if let Some(own) = own.as_object_mut() {
        // The discriminator only repeats information from the alternatives.
        own.retain(|name, _| !["$ref", "allOf", "oneOf", "anyOf", "discriminator"].contains(&name.as_str()));
        if let Some(word) = own.remove("const") {
            own.insert("enum".to_owned(), json!([word]));
        }
    }
    let referred = schema.get("$ref").map(|_| resolved(document, schema));
    let parts = referred.into_iter().chain(items(&schema["allOf"])).map(|part| alternatives(document, part));
    let choices = ["oneOf", "anyOf"].into_iter().filter_map(|name| schema[name].as_array());
    let choices =
        choices.map(|choices| choices.iter().flat_map(|choice| alternatives(document, choice)).collect());
    parts.chain(choices).fold(vec![own], |combined, part: Vec<_>| {
        combined.iter().flat_map(|one| part.iter().map(|other| both(one, other))).collect()
    })
}

/// Combines two schemas into one for values that are valid in both. If they differ, the first one takes precedence,
/// because it appears next to the reference to the other.
fn both(one: &Value, other: &Value) -> Value {
    let mut both = one.clone();
    for (keyword, more) in entries(other) {
        match &mut both[keyword] {
            missing @ Value::Null => *missing = more.clone(),
            Value::Array(names) if keyword == "required" => names.extend(items(more).cloned()),
            Value::Array(words) if keyword == "enum" => words.retain(|word| has(more, word)),
            Value::Object(fields) if keyword == "properties" => {
                for (name, field) in entries(more) {
                    let field = match fields.get(name) {
                        Some(known) => json!({ "allOf": [known, field] }),
                        None => field.clone(),
                    };
                    fields.insert(name.clone(), field);
                }
            }
            _ => {}
        }
    }
    both
}

/// The authentication methods of an operation. No authentication counts as one method.
fn ways(operation: &Value) -> Vec<Value> {
    match operation["security"].as_array() {
        Some(ways) if !ways.is_empty() => ways.clone(),
        _ => vec![json!({})],
    }
}

/// Whether a client that uses the old authentication method satisfies the new one.
fn admits(new: &Value, old: &Value) -> bool {
    entries(new).all(|(scheme, scopes)| {
        old.get(scheme).is_some() && items(scopes).all(|scope| has(&old[scheme], scope))
    })
}

/// Whether `new` contains everything in `old`.
fn has_all_of(new: &Value, old: &Value) -> bool {
    match old {
        Value::Object(parts) => {
            parts.iter().all(|(name, part)| new.get(name).is_some_and(|now| has_all_of(now, part)))
        }
        old => new == old,
    }
}

/// The parameters of an operation by location and name.
fn parameters<'d>(document: &'d Value, operation: &'d Value) -> BTreeMap<(&'d str, &'d str), &'d Value> {
    let all = items(&operation["parameters"]).map(|parameter| resolved(document, parameter));
    let text = |value: &'d Value| value.as_str().unwrap_or_default();
    all.map(|parameter| ((text(&parameter["in"]), text(&parameter["name"])), parameter)).collect()
}

fn resolved<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    match value["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null),
        None => value,
    }
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn has(list: &Value, item: &Value) -> bool {
    items(list).any(|known| known == item)
}

/// The items of a list. A single value counts as a list of one item.
fn listed(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Value {
        let schema = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
        let content = |schema: Value| json!({ "application/json": { "schema": schema } });
        let mut not_found = schema("ApiError");
        not_found["properties"] = json!({ "code": { "enum": ["not_found", "gone"] } });
        let listing = json!({
            "operationId": "list_roles",
            "security": [],
            "parameters": [
                { "name": "org", "in": "path", "required": true, "schema": { "type": "string" } },
                { "$ref": "#/components/parameters/limit" },
            ],
            "responses": {
                "200": { "content": content(json!({ "type": "array", "items": schema("Role") })) },
                "304": { "headers": { "ETag": { "required": true, "schema": { "type": "string" } } } },
                "404": { "content": content(not_found) },
            },
        });
        let creation = json!({
            "operationId": "create_role",
            "security": [{ "api_key": [] }, { "oauth": ["roles:write"] }],
            "requestBody": { "content": content(schema("NewRole")) },
            "responses": {
                "201": {
                    "headers": { "ETag": { "$ref": "#/components/headers/ETag" } },
                    "content": content(json!({})),
                },
                "422": { "$ref": "#/components/responses/invalid" },
            },
        });
        let invalid = json!({
            "headers": { "Retry-After": { "schema": { "type": "integer", "minimum": 1 } } },
            "content": content(json!({
                "type": "object",
                "required": ["messages"],
                "properties": { "messages": { "type": "array", "items": { "type": "string" } } },
            })),
        });
        let limit = json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 25 });
        json!({
            "info": { "title": "Roles", "version": "1.0.0" },
            "servers": [{ "url": "/" }],
            "paths": { "/roles": { "get": listing, "post": creation } },
            "components": {
                "schemas": {
                    "Role": {
                        "type": "object",
                        "required": ["id", "title", "status"],
                        "properties": {
                            "id": { "type": "integer" },
                            "title": { "type": "string", "maxLength": 200 },
                            "status": { "type": "string", "enum": ["open", "closed"] },
                            "about": { "oneOf": [{ "type": "string", "format": "uri" }, { "type": "null" }] },
                            "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                            "steps": { "type": "array", "items": { "oneOf": [schema("Opened"), schema("Closed")] } },
                        },
                    },
                    "Opened": { "properties": { "kind": { "const": "opened" }, "at": { "type": "string" } } },
                    "Closed": { "allOf": [{ "properties": { "kind": { "const": "closed" } } }] },
                    "Other": { "properties": { "kind": { "const": "other" } } },
                    "NewRole": {
                        "type": "object",
                        "required": ["title"],
                        "properties": {
                            "title": { "type": "string", "maxLength": 200 },
                            "place": { "type": ["string", "null"] },
                            "start": { "anyOf": [{ "type": "string", "format": "date" }, { "type": "null" }] },
                        },
                        "additionalProperties": true,
                    },
                    "ApiError": {
                        "type": "object",
                        "required": ["code"],
                        "properties": { "code": { "type": "string", "enum": ["bad_request", "not_found", "gone"] } },
                    },
                },
                "parameters": { "limit": { "name": "limit", "in": "query", "schema": limit } },
                "headers": { "ETag": { "required": true, "schema": { "type": "string" } } },
                "responses": { "invalid": invalid },
                "securitySchemes": {
                    "api_key": { "type": "http", "scheme": "bearer", "bearerFormat": "rc_..." },
                    "oauth": { "type": "oauth2", "flows": { "authorizationCode": {
                        "tokenUrl": "/oauth/token",
                        "scopes": { "roles:read": "See roles", "roles:write": "Change roles" },
                    } } },
                    "signature": { "type": "apiKey", "in": "header", "name": "X-Signature" },
                },
            },
        })
    }

    /// Replaces the value at a pointer, or removes it if `value` is `null`. Returns the places that break.
    fn after(pointer: &str, value: Value) -> Vec<String> {
        const SHORT: [(&str, &str); 10] = [
            ("list", "/paths/~1roles/get"),
            ("create", "/paths/~1roles/post"),
            ("limit", "/components/parameters/limit"),
            ("sent", "/components/schemas/NewRole"),
            ("role", "/components/schemas/Role"),
            ("schemas", "/components/schemas"),
            ("missing", "/paths/~1roles/get/responses/404/content/application~1json/schema"),
            ("invalid", "/components/responses/invalid"),
            ("messages", "/components/responses/invalid/content/application~1json/schema"),
            ("schemes", "/components/securitySchemes"),
        ];
        let (first, rest) = pointer.split_once('/').unwrap();
        let place = SHORT.iter().find(|(short, _)| *short == first).map_or("", |(_, place)| place);
        let pointer = format!("{place}/{rest}");
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let mut new = base();
        match new.pointer_mut(parent).unwrap() {
            Value::Array(items) => items[name.parse::<usize>().unwrap()] = value,
            parent if value.is_null() => drop(parent.as_object_mut().unwrap().remove(name)),
            parent => parent[name] = value,
        }
        assert_ne!(new, base(), "{pointer}");
        breaking(&base(), &new)
    }

    #[test]
    fn removals_and_new_requirements_break() {
        let kind = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
        for (pointer, value, places) in [
            // Routes and authentication.
            ("/servers/0/url", json!("/v2"), "servers"),
            ("/servers", json!([{ "url": "/v2" }, { "url": "/" }]), "servers"),
            ("/paths", json!({ "/roles": { "get": base()["paths"]["/roles"]["get"] } }), "POST /roles"),
            ("create/operationId", json!("make_role"), "POST /roles operationId"),
            ("create/security", json!([{ "oauth": ["roles:write"] }]), "POST /roles security"),
            ("create/security/1/oauth", json!(["roles:all"]), "POST /roles security"),
            ("create/security/0", json!({ "api_key": [], "signature": [] }), "POST /roles security"),
            ("list/security", json!([{ "api_key": [] }]), "GET /roles security"),
            ("schemes/signature/name", json!("X-Signed"), "security scheme signature"),
            ("schemes/signature", Value::Null, "security scheme signature"),
            ("schemes/api_key/scheme", json!("basic"), "security scheme api_key"),
            ("schemes/oauth/flows/authorizationCode/tokenUrl", json!("/token"), "security scheme oauth"),
            ("schemes/oauth/flows/authorizationCode/scopes/roles:read", Value::Null, "security scheme oauth"),
            // Requests.
            ("list/parameters", json!([]), "GET /roles parameter org, GET /roles parameter limit"),
            ("list/parameters/0/in", json!("query"), "GET /roles parameter org"),
            ("limit/name", json!("count"), "GET /roles parameter limit"),
            ("limit/required", json!(true), "GET /roles parameter limit"),
            ("limit/schema/maximum", json!(50), "GET /roles parameter limit"),
            ("limit/schema/minimum", json!(2), "GET /roles parameter limit"),
            ("limit/schema/multipleOf", json!(5), "GET /roles parameter limit"),
            ("limit/schema/default", json!(5), "GET /roles parameter limit"),
            ("limit/schema/default", Value::Null, "GET /roles parameter limit"),
            (
                "create/parameters",
                json!([{ "name": "org", "in": "query", "required": true }]),
                "POST /roles parameter org",
            ),
            ("create/requestBody", Value::Null, "POST /roles body"),
            ("create/requestBody/required", json!(true), "POST /roles body"),
            ("create/requestBody/content", json!({ "text/plain": {} }), "POST /roles body"),
            ("sent/required", json!(["title", "place"]), "POST /roles body /place"),
            ("sent/properties/place", Value::Null, "POST /roles body /place"),
            ("sent/properties/place/type", json!("string"), "POST /roles body /place"),
            ("sent/properties/title/maxLength", json!(100), "POST /roles body /title"),
            ("sent/properties/title/enum", json!(["a"]), "POST /roles body /title"),
            ("sent/properties/start/anyOf", json!([{ "type": "null" }]), "POST /roles body /start"),
            ("sent/additionalProperties", json!(false), "POST /roles body"),
            ("sent/additionalProperties", json!({ "type": "string" }), "POST /roles body /*"),
            // Responses.
            ("list/responses/200", Value::Null, "GET /roles response 200"),
            ("list/responses/304", Value::Null, "GET /roles response 304"),
            ("list/responses/404", Value::Null, "GET /roles response 404"),
            ("create/responses/422", Value::Null, "POST /roles response 422"),
            ("create/responses/409", json!({}), "POST /roles response 409"),
            ("create/responses/201/content", json!({ "text/plain": {} }), "POST /roles response 201"),
            ("create/responses/201/content/text~1plain", json!({}), "POST /roles response 201"),
            ("create/responses/201/headers", json!({}), "POST /roles response 201 header ETag"),
            ("/components/headers/ETag/required", json!(false), "POST /roles response 201 header ETag"),
            (
                "/components/headers/ETag/schema/type",
                json!("integer"),
                "POST /roles response 201 header ETag",
            ),
            ("list/responses/304/headers", Value::Null, "GET /roles response 304 header ETag"),
            (
                "invalid/headers/Retry-After/schema/minimum",
                json!(0),
                "POST /roles response 422 header Retry-After",
            ),
            ("messages/properties", json!({ "sentences": {} }), "POST /roles response 422 /messages"),
            ("messages/properties/messages/items", Value::Null, "POST /roles response 422 /messages []"),
            ("missing/properties/code/enum", json!(["not_found"]), "GET /roles response 404 /code"),
            (
                "missing/properties/code/enum",
                json!(["not_found", "gone", "bad_request"]),
                "GET /roles response 404 /code",
            ),
            ("missing/properties", Value::Null, "GET /roles response 404 /code"),
            ("schemas/ApiError/properties/code/type", Value::Null, "GET /roles response 404 /code"),
            ("schemas/ApiError/properties/code/enum", json!(["lost"]), "GET /roles response 404 /code"),
            ("schemas/ApiError/properties/code", Value::Null, "GET /roles response 404 /code"),
            ("schemas/ApiError/required", json!([]), "GET /roles response 404 /code"),
            ("role/properties/id/type", Value::Null, "GET /roles response 200 [] /id"),
            ("role/properties/id", json!(true), "GET /roles response 200 [] /id"),
            ("role/properties/title", Value::Null, "GET /roles response 200 [] /title"),
            ("role/properties/title/maxLength", json!(300), "GET /roles response 200 [] /title"),
            ("role/properties/title/type", json!(["string", "null"]), "GET /roles response 200 [] /title"),
            (
                "role/properties/status/enum",
                json!(["open", "closed", "paused"]),
                "GET /roles response 200 [] /status",
            ),
            ("role/properties/status/enum", json!(["open"]), "GET /roles response 200 [] /status"),
            ("role/required", json!(["id", "title"]), "GET /roles response 200 [] /status"),
            ("role/properties/about/oneOf/0/format", Value::Null, "GET /roles response 200 [] /about"),
            ("role/properties/about/oneOf", json!([{ "type": "null" }]), "GET /roles response 200 [] /about"),
            (
                "role/properties/labels/additionalProperties",
                Value::Null,
                "GET /roles response 200 [] /labels /*",
            ),
            (
                "role/properties/steps/items/oneOf",
                json!([kind("Opened")]),
                "GET /roles response 200 [] /steps []",
            ),
            (
                "role/properties/steps/items/oneOf",
                json!([kind("Opened"), kind("Closed"), kind("Other")]),
                "GET /roles response 200 [] /steps []",
            ),
            (
                "schemas/Closed/allOf/0/properties/kind",
                json!({ "const": "ended" }),
                "GET /roles response 200 [] /steps [] /kind",
            ),
            ("schemas/Opened/properties/at", Value::Null, "GET /roles response 200 [] /steps [] /at"),
        ] {
            assert_eq!(after(pointer, value.clone()).join(", "), places, "{pointer}: {value}");
        }
    }

    #[test]
    fn additions_and_relaxations_do_not_break() {
        let kind = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
        for (pointer, value) in [
            ("/info/version", json!("1.1.0")),
            ("/servers", json!([{ "url": "/", "description": "Here" }, { "url": "/v2" }])),
            ("/paths/~1people", json!({ "get": {} })),
            ("create/summary", json!("Create a role")),
            ("create/deprecated", json!(true)),
            ("create/security", json!([])),
            ("create/security/1/oauth", json!([])),
            (
                "create/security",
                json!([{ "signature": [] }, { "oauth": ["roles:write"] }, { "api_key": [] }]),
            ),
            ("schemes/client", json!({ "type": "http", "scheme": "basic" })),
            ("schemes/api_key/bearerFormat", json!("key_...")),
            ("schemes/oauth/flows/authorizationCode/scopes/roles:read", json!("Read roles")),
            ("schemes/oauth/flows/authorizationCode/scopes/more", json!("More")),
            ("create/parameters", json!([{ "name": "org", "in": "query" }])),
            ("limit/schema/maximum", json!(200)),
            ("limit/schema/description", json!("How many")),
            ("create/requestBody/content/text~1plain", json!({})),
            ("list/requestBody", json!({ "content": {} })),
            ("sent/required", json!([])),
            ("sent/properties/title/maxLength", json!(300)),
            ("sent/properties/title/maxLength", Value::Null),
            ("sent/properties/title/type", json!(["string", "null"])),
            ("sent/properties/more", json!({ "type": "string" })),
            ("sent/properties/start/anyOf", json!([{ "type": "null" }, { "type": "string" }])),
            ("sent/properties/start", json!({ "type": ["string", "null"] })),
            ("create/responses/201/headers/Link", json!({ "schema": { "type": "string" } })),
            ("invalid/headers/Retry-After/required", json!(true)),
            ("role/additionalProperties", json!(false)),
            ("role/properties/more", json!({ "type": "string" })),
            ("role/properties/id/minimum", json!(1)),
            ("role/properties/title/maxLength", json!(100)),
            ("role/properties/about", json!({ "type": "string", "format": "uri" })),
            ("role/properties/steps/items/oneOf", json!([kind("Closed"), kind("Opened")])),
            ("schemas/ApiError/properties/code/enum", json!(["not_found", "gone"])),
        ] {
            assert_eq!(after(pointer, value.clone()), [""; 0], "{pointer}: {value}");
        }
    }

    #[test]
    fn promises_exclude_informational_parts() {
        let fields = json!({ "title": { "type": "string" } });
        let document = json!({
            "info": { "title": "Roles", "version": "1.0.0", "license": {} },
            "tags": [],
            "components": { "schemas": { "tags": { "title": "Tags", "properties": fields } } },
        });
        let kept = json!({
            "info": { "version": "1.0.0" },
            "components": { "schemas": { "tags": { "properties": fields } } },
        });
        assert_eq!(promises(&document), kept);
    }
}
