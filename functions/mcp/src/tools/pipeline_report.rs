//! The tool that counts.

use serde_json::{Value, json};
use shared::handlers::{role_queries, role_stats};
use shared::http::{Listing, input};
use shared::id::Id;
use shared::model::{RoleStatus, Scope};

use super::arguments::{read, rest};
use super::budget::{self, Page};
use super::fence::{clean, trusted};
use super::list_roles::Filter;
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult};
use crate::request::McpRequest;

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "pipeline_report",
    title: "Pipeline report",
    description: "Counts applicants and voice screens of each role; with role_id also its stages and how long people \
                  stay in them. Not for names (search_candidates).",
    annotations: Annotations::READ,
    scopes: &[Scope::RolesRead],
    input: || {
        let own = [
            ("status", "Only roles in this status; open by default"),
            ("role_id", "Only this role, by stage"),
        ];
        schema::input::<Arguments>(&own)
    },
    output: Some(|| {
        schema::output(
            &[("roles", Kind::Objects), ("next_cursor", Kind::MaybeText)],
            &[("stages", Kind::Object), ("rejections", Kind::Objects)],
        )
    }),
    call: |request| Box::pin(call(request)),
};

/// The statistics of a role.
const COUNTS: [&str; 5] = ["applicants", "screens", "screens_completed", "pass_rate", "average_score"];

input! {
    struct Arguments {
        role_id: optional Id,
        _listing: part Listing<Filter>,
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { role_id, .. } = read(request)?;
    let mut fields = rest(request, &["role_id"]);
    if let Some(id) = role_id {
        if let Some(other) = fields.keys().next() {
            return Err(ToolError::Rejected(format!("{other} can't be combined with role_id.")));
        }
        let call = request.call(Some(id), fields)?;
        let stats = request.carry_out(call, role_stats::show_role_stats).await?;
        let mut role = trusted(&stats, &COUNTS);
        role.insert("id".to_owned(), id.to_string().parse().unwrap_or_default());
        let answer = json!({ "roles": [role], "stages": stats["stages"], "rejections": stats["rejections"], "next_cursor": null });
        return Ok(ToolResult::structured(answer));
    }
    fields.insert("include".to_owned(), "stats".into());
    fields.entry("status").or_insert(RoleStatus::Open.as_str().into());
    loop {
        let call = request.call(None, fields.clone())?;
        let list = request.carry_out(call, role_queries::list).await?;
        match budget::page("roles", &list, show) {
            Page::Fits(answer) => return Ok(ToolResult::structured(answer)),
            Page::Only(fewer) => fields.insert("limit".to_owned(), fewer.into()),
        };
    }
}

fn show(role: &Value, max: usize) -> Value {
    let mut shown = trusted(role, &["id", "title", "status"]);
    shown.extend(trusted(&role["stats"], &COUNTS));
    clean(json!(shown), max)
}
