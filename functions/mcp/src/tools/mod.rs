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

use futures_util::future::join;
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
    let tool_call = |outcome| ToolCall { name: tool.name.to_owned(), outcome };
    let (request, mistake) = match arguments::settle(&(tool.input)(), request.arguments()) {
        Ok(arguments) => (request.with_arguments(arguments), None),
        Err(error) => (request, Some(error)),
    };
    let (store, tenant, expected) = (request.context().store(), request.tenant(), request.expected());
    let called = expected.until(async {
        match mistake {
            None => (tool.call)(&request).await,
            Some(error) => Err(error.into()),
        }
    });
    // While the people are read who are expected, the entry says already that the call shows them.
    let entry = async {
        match expected.wait().await {
            Some(_) => store.record_tool_call(tenant, target, &tool_call(ToolOutcome::Done)).await.map(Some),
            None => Ok(None),
        }
    };
    let (called, entry) = join(called, entry).await;
    let result = match (answer(called), entry) {
        (Ok((outcome, result)), entry) => {
            let recorded = match entry {
                Ok(Some(written)) => store.correct_tool_call(written, tool_call(outcome)).await,
                Ok(None) => store.record_tool_call(tenant, target, &tool_call(outcome)).await.map(drop),
                Err(error) => Err(error),
            };
            match recorded {
                // What was done cannot be taken back.
                Err(error) if !tool.annotations.read_only && outcome == ToolOutcome::Done => {
                    tracing::error!(%error, tool = tool.name, "a call of a tool is not in the audit log");
                }
                recorded => recorded.map_err(Error::from)?,
            }
            result
        }
        (Err(failure), entry) => {
            if let Ok(Some(written)) = entry {
                let corrected = store.correct_tool_call(written, tool_call(ToolOutcome::Rejected)).await;
                if let Err(error) = corrected {
                    tracing::error!(%error, tool = tool.name, "a call that failed is done in the audit log");
                }
            }
            return Err(failure);
        }
    };
    Ok(result)
}

/// The result of a call, and how the audit log calls its outcome.
fn answer(called: Result<ToolResult, ToolError>) -> Result<(ToolOutcome, Value), Failure> {
    Ok(match called {
        Ok(result) if result.is_error() => (ToolOutcome::Rejected, result.to_json()),
        Ok(result) => (ToolOutcome::Done, result.to_json()),
        Err(ToolError::Rejected(message)) => (ToolOutcome::Rejected, ToolResult::error(&message).to_json()),
        Err(ToolError::Unconfirmed(message)) => (ToolOutcome::Asked, ToolResult::error(&message).to_json()),
        Err(ToolError::Failed(error)) => {
            let message = mistakes::explain(&error).ok_or(error)?;
            (ToolOutcome::Rejected, ToolResult::error(&message).to_json())
        }
        Err(error) => (ToolOutcome::Asked, error.ask()?),
    })
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
