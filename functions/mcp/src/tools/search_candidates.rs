//! The tool that finds candidates.

use serde_json::{Value, json};
use shared::handlers::candidate_list::{self, CandidateFilter};
use shared::http::{HandlerCall, Listing, input};
use shared::model::{AuditAction, Scope};

use super::arguments::{ResponseFormat, read, rest};
use super::budget::{self, Page};
use super::fence::{trusted, untrusted};
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult};
use crate::request::McpRequest;

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "search_candidates",
    title: "Search candidates",
    description: "Finds candidates by words, or lists those of a role or stage, newest first. Not for one candidate \
                  whose id is known (get_candidate), nor for counts (pipeline_report).",
    annotations: Annotations::READ,
    scopes: &[Scope::CandidatesRead],
    input: || {
        schema::input::<Arguments>(&[
            (
                "q",
                "Words that begin the name or e-mail address. Not together with other filters, like the next five",
            ),
            ("email", "The whole e-mail address"),
            ("phone", "With its country code"),
            ("source", "Where the candidate came from"),
            ("tag", "One tag"),
            ("stage", "The stage; may be combined with role_id"),
        ])
    },
    output: Some(|| schema::output(&[("candidates", Kind::Objects), ("next_cursor", Kind::MaybeText)], &[])),
    call: |request| Box::pin(call(request)),
};

input! {
    struct Arguments {
        _listing: part Listing<CandidateFilter>,
        format: part ResponseFormat,
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { format, .. } = read(request)?;
    let mut fields = rest(request, &[]);
    loop {
        let call = request.call(None, fields.clone())?;
        let call = HandlerCall { reading: Some(AuditAction::CandidatesListed), ..call };
        let list = request.carry_out(call, candidate_list::list).await?;
        match budget::page("candidates", &list, |candidate, max| show(candidate, format, max)) {
            Page::Fits(answer) => return Ok(ToolResult::structured(answer)),
            Page::Only(fewer) => fields.insert("limit".to_owned(), fewer.into()),
        };
    }
}

fn show(candidate: &Value, format: ResponseFormat, max: usize) -> Value {
    let mut shown = trusted(candidate, &["id", "stage", "application"]);
    let mut fenced = untrusted(candidate, &["name", "email"], max);
    if format.is_detailed() {
        shown.extend(trusted(candidate, &["created_at", "updated_at"]));
        fenced.extend(untrusted(candidate, &["phone", "source", "tags", "external_id"], max));
    }
    shown.insert("untrusted".to_owned(), fenced.into());
    json!(shown)
}
