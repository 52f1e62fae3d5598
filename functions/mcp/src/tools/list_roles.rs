//! The tool that lists roles.

use serde_json::{Value, json};
use shared::model::Scope;
use shared::store::Paging;

use super::{Annotations, Tool, ToolError, ToolResult};
use crate::request::McpRequest;

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "list_roles",
    title: "List roles",
    description: "Lists the organization's roles, newest first. To find people, use search_candidates.",
    annotations: Annotations { read_only: true, destructive: false, idempotent: true, open_world: false },
    scopes: &[Scope::RolesRead],
    input,
    output: Some(output),
    call: |request| Box::pin(call(request)),
};

fn input() -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

fn output() -> Value {
    json!({
        "type": "object",
        "properties": { "roles": { "type": "array", "items": { "type": "object" } } },
        "required": ["roles"],
    })
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let page = Paging { limit: 25, before: None };
    let roles = request.context().store().list_roles(request.tenant(), None, &page).await;
    let roles = roles.map_err(shared::http::Error::from)?;
    let roles: Vec<_> = roles
        .items
        .iter()
        .map(|role| json!({ "id": role.id, "title": role.content.title, "status": role.status }))
        .collect();
    Ok(ToolResult::structured(json!({ "roles": roles })))
}
