//! The contract, an OpenAPI document.

use serde_json::Value;

/// The methods of operations, in the order of the pages.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The OpenAPI document.
pub(crate) struct Document(Value);

/// An operation of the document.
#[derive(Clone, Copy)]
pub(crate) struct Endpoint<'d> {
    pub(crate) method: &'d str,
    pub(crate) path: &'d str,
    pub(crate) value: &'d Value,
}

impl Document {
    pub(crate) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self)
    }

    /// Follows references to their target.
    pub(crate) fn resolve<'d>(&'d self, value: &'d Value) -> &'d Value {
        match value["$ref"].as_str() {
            Some(reference) => self
                .0
                .pointer(reference.trim_start_matches('#'))
                .map_or(&Value::Null, |target| self.resolve(target)),
            None => value,
        }
    }

    /// Returns all named schemas.
    pub(crate) fn schemas(&self) -> &Value {
        &self.0["components"]["schemas"]
    }

    /// Returns the schema with this name.
    pub(crate) fn schema(&self, name: &str) -> &Value {
        &self.schemas()[name]
    }

    /// Returns the name and the description of each tag.
    pub(crate) fn tags(&self) -> impl Iterator<Item = (&str, &str)> {
        list(&self.0["tags"]).iter().map(|tag| (text(&tag["name"]), text(&tag["description"])))
    }

    /// Returns the operations in the order of the document.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = Endpoint<'_>> {
        members(&self.0["paths"]).flat_map(|(path, item)| {
            let found = METHODS.iter().filter_map(|method| Some((*method, item.get(method)?)));
            found.map(move |(method, value)| Endpoint { method, path, value })
        })
    }

    /// Returns the example of the successful response to a GET request for this path.
    pub(crate) fn example_of(&self, path: &str) -> Option<&Value> {
        let endpoint = self.endpoints().find(|endpoint| endpoint.method == "get" && endpoint.path == path)?;
        let (_, response) = endpoint.success(self)?;
        members(&response["content"]).next().map(|(_, content)| &content["example"])
    }
}

impl<'d> Endpoint<'d> {
    pub(crate) fn id(&self) -> &'d str {
        text(&self.value["operationId"])
    }

    pub(crate) fn tag(&self) -> &'d str {
        text(&self.value["tags"][0])
    }

    /// Returns the responses by status.
    pub(crate) fn responses(&self, document: &'d Document) -> impl Iterator<Item = (&'d str, &'d Value)> {
        members(&self.value["responses"]).map(|(status, response)| (status, document.resolve(response)))
    }

    /// Returns the status and the response of success.
    pub(crate) fn success(&self, document: &'d Document) -> Option<(&'d str, &'d Value)> {
        self.responses(document).find(|(status, _)| status.starts_with('2'))
    }
}

/// Returns a string, or an empty one.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns the items of an array, or none.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the members of an object, or none.
pub(crate) fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}
