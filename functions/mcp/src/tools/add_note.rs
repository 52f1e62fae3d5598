//! The tool that adds a note.

use serde_json::json;
use shared::handlers::notes::{self, NewNote};
use shared::http::input;
use shared::id::Id;
use shared::model::Scope;

use super::arguments::{CallKey, read, rest};
use super::fence::trusted;
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult};
use crate::request::McpRequest;

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "add_note",
    title: "Add a note",
    description: "Adds a note about a candidate, which the team sees and the candidate does not. Not to write to the \
                  candidate, nor to reject (move_candidate).",
    annotations: Annotations::ADD,
    scopes: &[Scope::CandidatesWrite],
    input: || schema::input::<Arguments>(&[("text", "At most 5,000 characters")]),
    output: Some(|| {
        let fields = [("id", Kind::Whole), ("candidate_id", Kind::Whole), ("created_at", Kind::Text)];
        schema::output(&fields, &[])
    }),
    call: |request| Box::pin(call(request)),
};

input! {
    struct Arguments {
        candidate_id: required Id,
        _note: part NewNote,
        _key: part CallKey,
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { candidate_id, .. } = read(request)?;
    let call = request.call(Some(candidate_id), rest(request, &["candidate_id"]))?;
    let note = request.carry_out(call, notes::create_note).await?;
    Ok(ToolResult::structured(json!(trusted(&note, &["id", "candidate_id", "created_at"]))))
}
