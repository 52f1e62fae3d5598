//! The tool that creates and publishes a role with its job posting.

use serde_json::json;
use shared::handlers::quick_post::{self, QuickPost};
use shared::http::input;
use shared::model::Scope;

use super::arguments::{CallKey, read, rest};
use super::fence::{clean, trusted};
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult};
use crate::request::{McpRequest, Question};

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "quick_post",
    title: "Post a job",
    description: "Creates a role and its job posting, and publishes both on the career page. A member confirms it, unless \
                  publish is false. Not for a role that exists (set_role_status), nor for X (post_to_x).",
    annotations: Annotations { read_only: false, destructive: false, idempotent: false, open_world: true },
    scopes: &[Scope::RolesWrite],
    input: || {
        schema::input::<Arguments>(&[
            ("role", "The role"),
            ("job_posting", "Public texts, where they differ from the role's"),
            ("publish", "false creates drafts; true by default"),
        ])
    },
    output: Some(|| {
        schema::output(
            &[
                ("role_id", Kind::Whole),
                ("job_posting_id", Kind::Whole),
                ("status", Kind::Text),
                ("published", Kind::Flag),
                ("public_url", Kind::Text),
                ("career_portal_url", Kind::Text),
            ],
            &[],
        )
    }),
    call: |request| Box::pin(call(request)),
};

input! {
    struct Arguments {
        post: part QuickPost,
        _key: part CallKey,
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { post, .. } = read(request)?;
    let call = request.call(None, rest(request, &[]))?;
    let posted = if post.publish {
        let question =
            Question::plain("Create a role with a job posting, and publish both on the career page.");
        request.carry_out_confirmed(question, call, quick_post::create).await?
    } else {
        request.carry_out(call, quick_post::create).await?
    };
    let (role, posting) = (&posted["role"], &posted["job_posting"]);
    let mut shown = trusted(posting, &["published", "public_url"]);
    shown.extend(trusted(role, &["status"]));
    shown.extend(trusted(&posted, &["career_portal_url"]));
    shown.insert("role_id".to_owned(), role["id"].clone());
    shown.insert("job_posting_id".to_owned(), posting["id"].clone());
    Ok(ToolResult::structured(clean(json!(shown), usize::MAX)))
}
