//! The tool that posts a job to X.

use serde_json::{Value, json};
use shared::handlers::x_posts;
use shared::http::input;
use shared::id::Id;
use shared::model::{Scope, Style};

use super::arguments::{CallKey, read, rest};
use super::fence::{clean, clean_text, trusted};
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult};
use crate::facts::fact;
use crate::request::{McpRequest, Question};

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
        job_posting_id: required Id,
        style: optional Style = Style::Professional,
        _key: part CallKey,
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { job_posting_id, style, .. } = read(request)?;
    let call = request.call(None, rest(request, &[]))?;
    let texts = x_posts::compose_texts(request.context(), request.organization(), job_posting_id).await;
    let texts = match texts {
        Ok(texts) => texts,
        Err(error) => {
            // The job posting may have been closed since the same call posted it.
            let post = request.find_reply(&call).await?;
            return post.map(|post| show(&post)).ok_or_else(|| error.into());
        }
    };
    let text =
        texts.into_iter().find_map(|(known, text)| (known == style).then_some(text)).unwrap_or_default();
    let text = clean_text(&text, 500);
    let summary = format!("Post job posting {job_posting_id} to X.");
    let question = Question { facts: vec![fact("text", &text)], state: text, ..Question::plain(summary) };
    Ok(show(&request.carry_out_confirmed(question, call, x_posts::post_job).await?))
}

fn show(post: &Value) -> ToolResult {
    let names = ["id", "job_posting_id", "text", "url", "posted_at"];
    ToolResult::structured(clean(json!(trusted(post, &names)), usize::MAX))
}
