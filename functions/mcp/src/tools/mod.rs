//! Tools: the jobs that an assistant can do.

mod add_candidate;
mod add_note;
mod arguments;
mod budget;
mod fence;
pub(crate) mod get_candidate;
mod get_screen;
mod invite_to_screen;
pub(crate) mod list_roles;
mod mistakes;
mod move_candidate;
mod pipeline_report;
mod post_to_x;
mod quick_post;
mod save_role;
mod schema;
mod search_candidates;
mod set_role_status;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use shared::http::Error;
use shared::model::{Scope, Scopes, ToolCall, ToolOutcome};

use crate::request::McpRequest;
use crate::rpc::RpcError;
use crate::server::Failure;

/// The tools of this service.
pub static TABLE: &[Tool] = &[
    search_candidates::TOOL,
    get_candidate::TOOL,
    add_candidate::TOOL,
    move_candidate::TOOL,
    add_note::TOOL,
    invite_to_screen::TOOL,
    get_screen::TOOL,
    list_roles::TOOL,
    save_role::TOOL,
    set_role_status::TOOL,
    quick_post::TOOL,
    post_to_x::TOOL,
    pipeline_report::TOOL,
];

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
    const READ: Self = Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// Adds something with each call.
    const ADD: Self = Self { read_only: false, destructive: false, idempotent: false, open_world: false };
    /// Ends something, or overwrites it.
    const DESTRUCTIVE: Self =
        Self { read_only: false, destructive: true, idempotent: false, open_world: false };
    /// Reaches people outside of the hiring team.
    const REACHES_PEOPLE: Self =
        Self { read_only: false, destructive: true, idempotent: false, open_world: true };
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    content: Vec<Value>,
    structured: Option<Value>,
    is_error: bool,
}

/// Why a call has no result yet.
#[derive(Debug)]
pub enum ToolError {
    /// The call cannot be carried out. The text says what would be right, and is for the assistant.
    Rejected(String),
    /// A member has to confirm the call on the page that the text names.
    Unconfirmed(String),
    /// The client has to ask the member, and to repeat the call with the answer: the result with the questions.
    Ask(Value),
    /// The protocol forbids the call.
    Rpc(RpcError),
    /// The request failed.
    Failed(Error),
}

impl ToolError {
    /// The result, if the client has to ask the member; the failure otherwise.
    pub(crate) fn ask(self) -> Result<Value, Failure> {
        match self {
            Self::Ask(result) => Ok(result),
            Self::Rejected(message) | Self::Unconfirmed(message) => {
                Err(RpcError::invalid_params(message).into())
            }
            Self::Rpc(error) => Err(error.into()),
            Self::Failed(error) => Err(error.into()),
        }
    }
}

impl From<RpcError> for ToolError {
    fn from(error: RpcError) -> Self {
        Self::Rpc(error)
    }
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
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

/// Calls a tool, and records the call in the audit log.
pub(crate) async fn call(tool: &Tool, request: &McpRequest) -> Result<Value, Failure> {
    let (outcome, result) = match (tool.call)(request).await {
        Ok(result) if result.is_error => (ToolOutcome::Rejected, result.to_json()),
        Ok(result) => (ToolOutcome::Done, result.to_json()),
        Err(ToolError::Rejected(message)) => (ToolOutcome::Rejected, ToolResult::error(&message).to_json()),
        Err(ToolError::Unconfirmed(message)) => (ToolOutcome::Asked, ToolResult::error(&message).to_json()),
        Err(ToolError::Failed(error)) => {
            let message = mistakes::explain(&error).ok_or(error)?;
            (ToolOutcome::Rejected, ToolResult::error(&message).to_json())
        }
        Err(error) => (ToolOutcome::Asked, error.ask()?),
    };
    let call = ToolCall { name: tool.name.to_owned(), outcome };
    match request.context().store().record_tool_call(request.tenant(), &call).await {
        // What was done cannot be taken back.
        Err(error) if !tool.annotations.read_only && outcome == ToolOutcome::Done => {
            tracing::error!(%error, tool = tool.name, "a call of a tool is not in the audit log");
        }
        recorded => recorded.map_err(Error::from)?,
    }
    Ok(result)
}
