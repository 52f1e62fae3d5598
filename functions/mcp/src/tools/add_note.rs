//! The tool that adds a note.

use serde_json::json;
use shared::hiring::notes::{self, NewNote};
use shared::http::{Fields, Input};
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
        let fields = [("id", Kind::Number), ("candidate_id", Kind::Number), ("created_at", Kind::Text)];
        schema::output(&fields, &[])
    }),
    call: |request| Box::pin(call(request)),
};

struct Arguments {
    id: Id,
}

impl Input for Arguments {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let (id, note) = (fields.required("candidate_id"), NewNote::read(fields));
        CallKey::read(fields);
        note.and(id).map(|id| Self { id })
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { id } = read(request)?;
    let call = request.call(Some(id), rest(request, &["candidate_id"]))?;
    let note = request.carry_out(call, notes::create_note).await?;
    Ok(ToolResult::structured(json!(trusted(&note, &["id", "candidate_id", "created_at"]))))
}
