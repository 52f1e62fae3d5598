//! What a tool is, and what it answers.

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use shared::model::{Scope, Scopes};

use crate::failure::ToolError;
use crate::request::McpRequest;

/// Carries out a call of a tool.
pub type Call = for<'r> fn(&'r McpRequest) -> BoxFuture<'r, Result<ToolResult, ToolError>>;

/// A tool.
pub struct Tool {
    /// The name.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What the tool does, and when not to use it.
    pub description: &'static str,
    /// Hints about its effects.
    pub annotations: Annotations,
    /// The scopes that every call needs.
    pub scopes: &'static [Scope],
    /// The JSON schema of the arguments.
    pub input: fn() -> Value,
    /// The JSON schema of the structured content; `None` for a tool without it.
    pub output: Option<fn() -> Value>,
    /// Carries out a call.
    pub call: Call,
}

/// Hints about the effects of a tool.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the protocol has these four hints")]
pub struct Annotations {
    /// The tool changes nothing.
    pub read_only: bool,
    /// The tool may overwrite or end something.
    pub destructive: bool,
    /// A repetition of the same call has no other effect.
    pub idempotent: bool,
    /// The tool reaches people or services outside of this one.
    pub open_world: bool,
}

impl Annotations {
    /// Reads.
    pub(super) const READ: Self =
        Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// Adds something with each call.
    pub(super) const ADD: Self =
        Self { read_only: false, destructive: false, idempotent: false, open_world: false };
    /// Ends something, or overwrites it.
    pub(super) const DESTRUCTIVE: Self =
        Self { read_only: false, destructive: true, idempotent: false, open_world: false };
    /// Reaches people outside of the hiring team.
    pub(super) const REACHES_PEOPLE: Self =
        Self { read_only: false, destructive: true, idempotent: false, open_world: true };
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    content: Vec<Value>,
    structured: Option<Value>,
    is_error: bool,
}

impl Tool {
    /// The scopes that every call needs.
    pub fn scopes(&self) -> Scopes {
        self.scopes.iter().copied().collect()
    }

    /// The tool, as lists show it.
    pub fn describe(&self) -> Value {
        let Annotations { read_only, destructive, idempotent, open_world } = self.annotations;
        let mut tool = json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": (self.input)(),
            "annotations": {
                "readOnlyHint": read_only,
                "destructiveHint": destructive,
                "idempotentHint": idempotent,
                "openWorldHint": open_world,
            },
        });
        if let Some(output) = self.output {
            tool["outputSchema"] = output();
        }
        tool
    }
}

impl ToolResult {
    /// A result with structured content, which is sent as text, too.
    pub fn structured(content: Value) -> Self {
        Self { content: vec![text(&content.to_string())], structured: Some(content), is_error: false }
    }

    /// A result with these content blocks alone.
    pub const fn content(content: Vec<Value>) -> Self {
        Self { content, structured: None, is_error: false }
    }

    /// An error, which the assistant reads.
    pub fn error(message: &str) -> Self {
        Self { content: vec![text(message)], structured: None, is_error: true }
    }

    pub(super) const fn is_error(&self) -> bool {
        self.is_error
    }

    /// The result of `tools/call`.
    pub fn to_json(&self) -> Value {
        let mut result = json!({ "content": self.content, "isError": self.is_error });
        if let Some(structured) = &self.structured {
            result["structuredContent"] = structured.clone();
        }
        result
    }
}

/// A content block with a text.
pub fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}
