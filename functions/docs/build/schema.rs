//! Schemas as lists of fields.

use std::collections::BTreeMap;

use askama::Template;
use serde_json::Value;

use crate::document::{Document, list, members, text};
use crate::highlight::escaped;
use crate::markdown::{Links, description};

/// The largest integer that JSON numbers can represent exactly, which limits identifiers.
const MAX_SAFE_INTEGER: u64 = 9_007_199_254_740_991;
/// The longest pattern that a page shows. Longer ones only exclude invisible characters.
const MAX_PATTERN: usize = 24;

/// A field, or a parameter of a request.
#[derive(Default)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// Where a parameter is: `path`, `query` or `header`.
    pub(crate) place: Option<String>,
    pub(crate) is_required: bool,
    shape: Shape,
    /// HTML.
    description: String,
}

/// What a schema allows.
#[derive(Default)]
struct Shape {
    /// The type, in HTML.
    label: String,
    is_nullable: bool,
    values: Vec<String>,
    /// Sentences in HTML.
    limits: Vec<String>,
    /// The fields of an object, in HTML.
    fields: String,
}

/// A type of objects in responses, which has a section on a page.
pub(crate) struct Object {
    pub(crate) name: String,
    /// HTML.
    pub(crate) description: String,
    /// The type of objects whose fields it also has, in HTML.
    pub(crate) base: Option<String>,
    /// HTML.
    pub(crate) fields: String,
    pub(crate) variants: Vec<Variant>,
    /// The text for the search.
    pub(crate) words: String,
}

/// One of the forms of an object, which the value of a field tells apart.
pub(crate) struct Variant {
    pub(crate) value: String,
    /// HTML.
    pub(crate) description: String,
    /// HTML.
    pub(crate) fields: String,
}

#[derive(Template)]
#[template(path = "fields.html")]
struct FieldList<'f> {
    fields: &'f [Field],
}

/// Converts the schemas of the document.
pub(crate) struct Schemas<'d> {
    pub(crate) document: &'d Document,
    pub(crate) links: &'d Links,
    /// The page of each object.
    homes: BTreeMap<&'d str, String>,
}

impl<'d> Schemas<'d> {
    pub(crate) const fn new(document: &'d Document, links: &'d Links) -> Self {
        Self { document, links, homes: BTreeMap::new() }
    }

    /// Gives the objects of responses their pages. `responses` has the pages with the schemas of their responses. An
    /// object belongs to the first page with an operation that returns it, else to the first page that mentions it.
    pub(crate) fn settle(&mut self, responses: &[(String, Vec<&'d Value>)]) {
        let mut found = BTreeMap::new();
        for (page, schemas) in responses {
            for name in schemas.iter().flat_map(|schema| self.objects_in(schema)) {
                found.entry(name).or_insert_with(|| page.clone());
            }
        }
        for (page, schemas) in responses {
            let mut open: Vec<_> = schemas.iter().flat_map(|schema| self.objects_in(schema)).collect();
            let mut seen = Vec::new();
            while let Some(name) = open.pop() {
                if !seen.contains(&name) {
                    seen.push(name);
                    found.entry(name).or_insert_with(|| page.clone());
                    open.extend(self.parts_of(name).flat_map(|part| self.objects_in(part)));
                }
            }
        }
        self.homes = found;
    }

    /// Returns the objects of a page, in the order of the document.
    pub(crate) fn objects(&self, page: &str) -> Result<Vec<Object>, String> {
        let names = members(self.document.schemas()).map(|(name, _)| name);
        let here = names.filter(|name| self.homes.get(name).is_some_and(|home| home == page));
        here.map(|name| self.object(name)).collect()
    }

    fn object(&self, name: &str) -> Result<Object, String> {
        let schema = self.document.schema(name);
        let kind = text(&schema["discriminator"]["propertyName"]);
        let mut fields = Vec::new();
        let mut variants = Vec::new();
        let mut words = Vec::new();
        let forms: Vec<_> = members(&schema["discriminator"]["mapping"])
            .map(|(value, target)| {
                (value, self.document.schema(text(target).rsplit('/').next().unwrap_or_default()))
            })
            .collect();
        let properties =
            if let Some((_, first)) = forms.first() { properties(first) } else { properties(schema) };
        // A field with the same schema in all forms belongs to the object.
        let is_common =
            |name: &str, value: &Value| forms.iter().all(|(_, form)| form["properties"][name] == *value);
        for (name, value) in properties {
            words.push(name.to_owned());
            if is_common(name, value) {
                fields.push(self.field(name, value, false)?);
            } else if name == kind {
                let values = forms.iter().map(|(value, _)| (*value).to_owned()).collect();
                let shape = Shape { values, ..self.shape(value, false)? };
                fields.push(Field { shape, ..self.field(name, value, false)? });
            }
        }
        for (value, form) in &forms {
            let own =
                members(&form["properties"]).filter(|(name, value)| *name != kind && !is_common(name, value));
            let own =
                own.map(|(name, value)| self.field(name, value, false)).collect::<Result<Vec<_>, _>>()?;
            words.push((*value).to_owned());
            variants.push(Variant {
                value: (*value).to_owned(),
                description: self.description(&form["description"])?,
                fields: rendered(&own)?,
            });
        }
        let base = list(&schema["allOf"]).iter().find(|part| reference(part).is_some());
        let base = base.map(|part| self.shape(part, false)).transpose()?;
        Ok(Object {
            base: base.map(|shape| shape.label),
            name: name.to_owned(),
            description: self.description(&schema["description"])?,
            fields: rendered(&fields)?,
            variants,
            words: words.join(" "),
        })
    }

    /// Returns the schemas that make up an object.
    fn parts_of(&self, name: &str) -> impl Iterator<Item = &'d Value> {
        let schema = self.document.schema(name);
        let forms = list(&schema["oneOf"]).iter().map(|form| self.document.resolve(form));
        list(&schema["allOf"]).iter().chain(forms).chain([&schema["properties"]])
    }

    /// Returns the names of the objects that a schema mentions outside of other objects.
    fn objects_in(&self, schema: &'d Value) -> Vec<&'d str> {
        if let Some(name) = reference(schema) {
            return if self.is_object(name) {
                vec![name]
            } else {
                self.objects_in(self.document.schema(name))
            };
        }
        match schema {
            Value::Array(items) => items.iter().flat_map(|item| self.objects_in(item)).collect(),
            Value::Object(_) => {
                let parts = members(schema).filter(|(name, _)| !matches!(*name, "example" | "discriminator"));
                parts.flat_map(|(_, part)| self.objects_in(part)).collect()
            }
            _ => vec![],
        }
    }

    /// Whether a schema has a section of its own. Pages of lists don't.
    fn is_object(&self, name: &str) -> bool {
        let schema = self.document.schema(name);
        let is_list = schema["properties"].get("next_cursor").is_some();
        !is_list && (schema.get("discriminator").is_some() || properties(schema).next().is_some())
    }

    /// Returns the HTML of what an operation returns: `Role`, or a list of it.
    pub(crate) fn returned(&self, schema: &'d Value) -> Result<String, String> {
        let target = self.document.resolve(schema);
        let items = &target["properties"]["data"]["items"];
        if target["properties"].get("next_cursor").is_some() && !items.is_null() {
            return Ok(format!("a list of {}", self.shape(items, false)?.label));
        }
        Ok(self.shape(schema, false)?.label)
    }

    /// Returns the fields of the body of a request.
    pub(crate) fn body(&self, schema: &Value) -> Result<Vec<Field>, String> {
        let schema = self.document.resolve(schema);
        let required = list(&schema["required"]);
        properties(schema)
            .map(|(name, value)| {
                let is_required = required.iter().any(|required| required == name);
                Ok(Field { is_required, ..self.field(name, value, true)? })
            })
            .collect()
    }

    /// Returns the field for a parameter.
    pub(crate) fn parameter(&self, parameter: &Value) -> Result<Field, String> {
        let description = self.description(&parameter["description"])?;
        let field = self.field(text(&parameter["name"]), &parameter["schema"], true)?;
        let is_required = parameter["required"] == true;
        Ok(Field { place: Some(text(&parameter["in"]).to_owned()), is_required, description, ..field })
    }

    fn field(&self, name: &str, schema: &Value, is_request: bool) -> Result<Field, String> {
        let own = &schema["description"];
        let description = if own.is_null() { &self.document.resolve(schema)["description"] } else { own };
        Ok(Field {
            name: name.to_owned(),
            shape: self.shape(schema, is_request)?,
            description: self.description(description)?,
            ..Field::default()
        })
    }

    fn shape(&self, schema: &Value, is_request: bool) -> Result<Shape, String> {
        if let Some(name) = reference(schema) {
            return match self.homes.get(name).filter(|_| !is_request) {
                Some(page) => {
                    let label = format!("<a href=\"/docs/{page}#{name}\">{name}</a>");
                    Ok(Shape { label, ..Shape::default() })
                }
                None => self.shape(self.document.schema(name), is_request),
            };
        }
        let variants: Vec<_> = list(&schema["anyOf"]).iter().chain(list(&schema["oneOf"])).collect();
        if !variants.is_empty() {
            return self.union(&variants, is_request);
        }
        let mut types: Vec<_> = list(&schema["type"]).iter().map(text).collect();
        types.extend(schema["type"].as_str());
        let is_nullable = types.contains(&"null");
        types.retain(|name| *name != "null");
        let mut shape = Shape { is_nullable, limits: limits(schema), ..Shape::default() };
        let values = list(&schema["enum"]).iter().chain(schema.get("const"));
        shape.values = values.filter(|value| !value.is_null()).map(plain).collect();
        shape.label = match types.as_slice() {
            ["array"] => {
                let items = self.shape(&schema["items"], is_request)?;
                shape.fields = items.fields;
                shape.values = items.values;
                let limits = items.limits.into_iter().map(|limit| format!("each {limit}"));
                shape.limits.extend(limits);
                let is_word = matches!(items.label.as_str(), "string" | "integer" | "object" | "number");
                format!("array of {}{}", items.label, if is_word { "s" } else { "" })
            }
            [name] => format(schema).unwrap_or(name).to_owned(),
            [] if properties(schema).next().is_some() => "object".to_owned(),
            [] => "any value".to_owned(),
            names => names.join(" or "),
        };
        if properties(schema).next().is_some() {
            let fields = if is_request {
                self.body(schema)?
            } else {
                properties(schema)
                    .map(|(name, value)| self.field(name, value, false))
                    .collect::<Result<_, _>>()?
            };
            shape.fields = rendered(&fields)?;
        }
        Ok(shape)
    }

    /// Returns the shape of a union. A blank string means the same as `null`.
    fn union(&self, variants: &[&Value], is_request: bool) -> Result<Shape, String> {
        let is_null =
            |schema: &Value| schema["type"] == "null" || text(&schema["description"]).starts_with("A blank");
        let mut shapes = Vec::new();
        for schema in variants.iter().filter(|schema| !is_null(schema)) {
            shapes.push(self.shape(schema, is_request)?);
        }
        let is_nullable =
            variants.iter().any(|schema| is_null(schema)) || shapes.iter().any(|shape| shape.is_nullable);
        let mut labels: Vec<_> = shapes.iter().map(|shape| shape.label.clone()).collect();
        labels.dedup();
        let all = shapes.into_iter().fold(Shape::default(), |mut all, shape| {
            all.values.extend(shape.values);
            all.limits.extend(shape.limits);
            all.fields.push_str(&shape.fields);
            all
        });
        Ok(Shape { label: labels.join(" or "), is_nullable, ..all })
    }

    /// Returns the HTML of a description.
    pub(crate) fn description(&self, value: &Value) -> Result<String, String> {
        description(text(value), self.links)
    }
}

/// Renders a list of fields.
pub(crate) fn rendered(fields: &[Field]) -> Result<String, String> {
    FieldList { fields }.render().map_err(|error| error.to_string())
}

/// Returns the name of the schema to which a reference leads.
fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/components/schemas/"))
}

/// Returns the properties of an object without those of the object that it extends.
fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let parts = list(&schema["allOf"]).iter().flat_map(|part| members(&part["properties"]));
    members(&schema["properties"]).chain(parts)
}

/// Returns what the format says about a string.
fn format(schema: &Value) -> Option<&'static str> {
    Some(match schema["format"].as_str()? {
        "date-time" => "timestamp",
        "date" => "date",
        "uri" => "URL",
        "idn-email" => "e-mail address",
        _ => return None,
    })
}

/// Returns what limits the values of a schema.
fn limits(schema: &Value) -> Vec<String> {
    let number = |name: &str| schema[name].as_u64();
    let mut limits = Vec::new();
    if let Some(max) = number("maxLength") {
        limits.push(format!("at most {} characters", grouped(max)));
    }
    if let Some(max) = number("maxItems") {
        limits.push(format!("at most {} items", grouped(max)));
    }
    match (number("minimum"), number("maximum")) {
        (_, Some(MAX_SAFE_INTEGER)) | (None, None) => {}
        (Some(min), Some(max)) => limits.push(format!("{} to {}", grouped(min), grouped(max))),
        (Some(min), None) => limits.push(format!("at least {}", grouped(min))),
        (None, Some(max)) => limits.push(format!("at most {}", grouped(max))),
    }
    if let Some(pattern) = schema["pattern"].as_str().filter(|pattern| pattern.len() <= MAX_PATTERN) {
        limits.push(format!("matches <code>{}</code>", escaped(pattern)));
    }
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        limits.push(format!("default <code>{}</code>", escaped(&plain(default))));
    }
    limits
}

/// Returns a string without quotes, and any other value as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}
