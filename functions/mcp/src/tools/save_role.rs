//! The tool that creates and edits roles.

use serde_json::{Value, json};
use shared::handlers::responses::role::RolePatch;
use shared::handlers::roles;
use shared::http::input;
use shared::id::Id;
use shared::model::Scope;

use super::arguments::{CallKey, ResponseFormat, read, rest};
use super::fence::{clean, trusted};
use super::list_roles::whole;
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult, budget};
use crate::request::McpRequest;

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "save_role",
    title: "Save a role",
    description: "Creates a draft role or, with role_id, changes the given fields of a role. A member confirms what its \
                  public job posting would show. Not to open or close it (set_role_status), nor to create and publish in one step \
                  (quick_post).",
    annotations: Annotations { read_only: false, destructive: true, idempotent: false, open_world: false },
    scopes: &[Scope::RolesWrite],
    input: || {
        let own =
            [("role_id", "The role to change; without it, a new role"), ("title", "Required for a new role")];
        schema::input::<Arguments>(&own)
    },
    output: Some(|| {
        schema::output(
            &[("id", Kind::Whole), ("title", Kind::Text), ("status", Kind::Text)],
            &[("role", Kind::Object)],
        )
    }),
    call: |request| Box::pin(call(request)),
};

input! {
    struct Arguments {
        role_id: optional Id,
        _patch: part RolePatch,
        format: part ResponseFormat,
        _key: part CallKey,
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { role_id, format, .. } = read(request)?;
    let call = request.call(role_id, rest(request, &["role_id"]))?;
    let role = match role_id {
        None => request.carry_out(call, roles::create).await?,
        Some(_) => request.carry_out_confirmed(call, roles::update).await?,
    };
    Ok(ToolResult::structured(show(&role, format)))
}

/// A role after a change.
pub(super) fn show(role: &Value, format: ResponseFormat) -> Value {
    let shown = trusted(role, &["id", "title", "status"]);
    if !format.is_detailed() {
        return clean(shown.into(), usize::MAX);
    }
    budget::fit(|max| {
        let mut shown = shown.clone();
        shown.insert("role".to_owned(), clean(whole(role).into(), max));
        json!(shown)
    })
}
