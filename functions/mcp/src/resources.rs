//! Resources: records that a host can attach to a conversation, by URI.

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use shared::model::{Scope, Scopes};

use crate::request::McpRequest;
use crate::tools::ToolError;

/// The resources of this service.
pub static TABLE: &[ResourceTemplate] = &[];

/// Reads a resource: an item of `contents` without its `uri`, or `None` if there is no such resource. The second parameter
/// is the text in place of the variable in the template; empty without one.
pub type Read = for<'r> fn(&'r McpRequest, &'r str) -> BoxFuture<'r, Result<Option<Value>, ToolError>>;

/// A kind of resource.
pub struct ResourceTemplate {
    /// The template of its URIs (RFC 6570), such as `rolecall://roles/{id}`; the URI itself, if there is only one.
    pub uri: &'static str,
    /// The name.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What the resource is.
    pub description: &'static str,
    /// The media type.
    pub mime_type: &'static str,
    /// The scopes that a read needs.
    pub scopes: &'static [Scope],
    /// Reads the resource.
    pub read: Read,
}

impl ResourceTemplate {
    /// The scopes that a read needs.
    pub fn scopes(&self) -> Scopes {
        self.scopes.iter().copied().collect()
    }

    /// Whether the URI has a variable.
    pub(crate) fn is_template(&self) -> bool {
        self.uri.contains('{')
    }

    /// The text in place of the variable in a URI of this kind; `None` for any other URI.
    pub(crate) fn matches<'u>(&self, uri: &'u str) -> Option<&'u str> {
        let Some((before, rest)) = self.uri.split_once('{') else { return (uri == self.uri).then_some("") };
        let (_, after) = rest.split_once('}')?;
        let variable = uri.strip_prefix(before)?.strip_suffix(after)?;
        (!variable.is_empty() && !variable.contains('/')).then_some(variable)
    }

    /// The kind of resource, as lists show it.
    pub(crate) fn describe(&self) -> Value {
        let address = if self.is_template() { "uriTemplate" } else { "uri" };
        json!({
            address: self.uri,
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "mimeType": self.mime_type,
        })
    }
}
