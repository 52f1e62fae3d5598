//! Tools: the jobs that an assistant can do.

mod add_candidate;
mod add_note;
mod arguments;
mod budget;
pub(crate) mod fence;
pub(crate) mod get_candidate;
mod get_screen;
mod invite_to_screen;
mod list_changes;
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
mod tool;

use serde_json::{Map, Value};
use shared::http::Error;
use shared::id::Id;
use shared::model::{AuditTarget, AuditTargetKind, ToolCall, ToolOutcome};

pub use tool::{Annotations, Call, Tool, ToolResult, text};

use crate::failure::Failure;
pub use crate::failure::ToolError;
use crate::request::McpRequest;

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
    list_changes::TOOL,
];

/// Calls a tool, and records the call in the audit log.
pub(crate) async fn call(tool: &Tool, request: McpRequest) -> Result<Value, Failure> {
    let target = target(request.arguments());
    let (request, called) = match arguments::settle(&(tool.input)(), request.arguments()) {
        Ok(arguments) => {
            let request = request.with_arguments(arguments);
            let called = (tool.call)(&request).await;
            (request, called)
        }
        Err(error) => (request, Err(error.into())),
    };
    let (outcome, result) = match called {
        Ok(result) if result.is_error() => (ToolOutcome::Rejected, result.to_json()),
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
    match request.context().store().record_tool_call(request.tenant(), target, &call).await {
        // What was done cannot be taken back.
        Err(error) if !tool.annotations.read_only && outcome == ToolOutcome::Done => {
            tracing::error!(%error, tool = tool.name, "a call of a tool is not in the audit log");
        }
        recorded => recorded.map_err(Error::from)?,
    }
    Ok(result)
}

/// The record that the arguments of a call name first.
pub(crate) fn target(arguments: &Map<String, Value>) -> Option<AuditTarget> {
    let named = [
        ("candidate_id", AuditTargetKind::Candidate),
        ("screen_id", AuditTargetKind::VoiceScreen),
        ("role_id", AuditTargetKind::Role),
        ("job_posting_id", AuditTargetKind::JobPosting),
    ];
    named.into_iter().find_map(|(name, kind)| {
        let id = arguments.get(name)?.as_u64()?;
        Some(AuditTarget::of(kind, Id::new(id)?))
    })
}
