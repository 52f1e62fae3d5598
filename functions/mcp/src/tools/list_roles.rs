//! The tool that lists roles, and shows one.

use serde_json::{Map, Value, json};
use shared::handlers::role_queries;
use shared::http::{Listing, input};
use shared::id::Id;
use shared::model::{ExternalId, RoleStatus, Scope};

use super::arguments::{ResponseFormat, read, rest};
use super::budget::{self, Page};
use super::fence::{clean, trusted};
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult};
use crate::request::McpRequest;

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "list_roles",
    title: "List roles",
    description: "Lists roles (jobs), newest first, or shows the one with role_id. Not for applicants \
                  (search_candidates), nor for counts (pipeline_report).",
    annotations: Annotations::READ,
    scopes: &[Scope::RolesRead],
    input: || {
        let own = [
            ("status", "Only roles in this status"),
            ("role_id", "Only this role, with its whole description"),
        ];
        schema::input::<Arguments>(&own)
    },
    output: Some(|| schema::output(&[("roles", Kind::Objects), ("next_cursor", Kind::MaybeText)], &[])),
    call: |request| Box::pin(call(request)),
};

input! {
    struct Arguments {
        role_id: optional Id,
        _listing: part Listing<Filter>,
        format: part ResponseFormat,
    }

    /// The filter of the list, which the handler reads again. Here, all mistakes are found at once.
    pub(super) struct Filter {
        _status: optional RoleStatus,
        _external_id: optional ExternalId,
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { role_id, format, .. } = read(request)?;
    let mut fields = rest(request, &["role_id"]);
    if let Some(id) = role_id {
        if let Some(other) = fields.keys().next() {
            return Err(ToolError::Rejected(format!("{other} can't be combined with role_id.")));
        }
        let role = role(request, id).await?;
        return Ok(ToolResult::structured(budget::fit(
            |max| json!({ "roles": [clean(Value::Object(whole(&role)), max)], "next_cursor": null }),
        )));
    }
    loop {
        let call = request.call(None, fields.clone())?;
        let list = request.carry_out(call, role_queries::list).await?;
        match budget::page("roles", &list, |role, max| show(role, format, max)) {
            Page::Fits(answer) => return Ok(ToolResult::structured(answer)),
            Page::Only(fewer) => fields.insert("limit".to_owned(), fewer.into()),
        };
    }
}

/// The role as the API shows it.
async fn role(request: &McpRequest, id: Id) -> Result<Value, ToolError> {
    let call = request.call(Some(id), Map::new())?;
    request.carry_out(call, role_queries::show).await
}

/// The role, as a resource.
pub(crate) async fn resource(request: &McpRequest, id: Id) -> Result<Value, ToolError> {
    let role = role(request, id).await?;
    Ok(budget::fit(|max| clean(Value::Object(whole(&role)), max)))
}

/// Everything about a role, which only the hiring team writes. Fields without a value are left out.
pub(super) fn whole(role: &Value) -> Map<String, Value> {
    let mut shown = role.as_object().cloned().unwrap_or_default();
    shown.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty()));
    shown
}

fn detailed(role: &Value) -> Map<String, Value> {
    let mut shown = whole(role);
    shown.retain(|name, _| name != "description");
    shown
}

fn show(role: &Value, format: ResponseFormat, max: usize) -> Value {
    let shown = if format.is_detailed() {
        detailed(role)
    } else {
        trusted(role, &["id", "title", "status", "location", "job_posting_id"])
    };
    clean(shown.into(), max)
}
