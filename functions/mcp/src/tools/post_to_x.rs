//! The tool that posts a job to X.

use serde_json::{Value, json};
use shared::handlers::x_posts;
use shared::http::input;
use shared::id::Id;
use shared::model::{Scope, Style};

use super::arguments::{CallKey, read, rest};
use super::fence::{clean, trusted};
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult};
use crate::request::McpRequest;

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "post_to_x",
    title: "Post a job to X",
    description: "Posts a published job to the organization's X account, with a text that the service writes. A member \
                  confirms it. Not for free text, and not for the career page (quick_post).",
    annotations: Annotations::REACHES_PEOPLE,
    scopes: &[Scope::ChannelsWrite],
    input: || {
        let own = [("job_posting_id", "From list_roles; published, of an open role"), ("style", "The tone")];
        schema::input::<Arguments>(&own)
    },
    output: Some(|| {
        let always = [("id", Kind::Whole), ("job_posting_id", Kind::Whole), ("text", Kind::Text)];
        schema::output(&always, &[("url", Kind::Text), ("posted_at", Kind::Text)])
    }),
    call: |request| Box::pin(call(request)),
};

input! {
    struct Arguments {
        _job_posting_id: required Id,
        _style: optional Style = Style::Professional,
        _key: part CallKey,
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let _: Arguments = read(request)?;
    let call = request.call(None, rest(request, &[]))?;
    Ok(show(&request.carry_out_confirmed(call, x_posts::post_job).await?))
}

fn show(post: &Value) -> ToolResult {
    let names = ["id", "job_posting_id", "text", "url", "posted_at"];
    ToolResult::structured(clean(json!(trusted(post, &names)), usize::MAX))
}
