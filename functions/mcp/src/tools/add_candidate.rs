//! The tool that adds a candidate.

use serde_json::{Value, json};
use shared::handlers::candidates;
use shared::http::input;
use shared::id::Id;
use shared::model::{Email, ExternalId, GivenPhone, Name, Scope, Source, Tag, Tags, WebAddress};

use super::arguments::{CallKey, read, rest};
use super::fence::trusted;
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult};
use crate::request::McpRequest;

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "add_candidate",
    title: "Add a candidate",
    description: "Adds a person, with role_id also as an applicant for that role. Not for somebody who is there already: \
                  search first. It sends nothing to the person.",
    annotations: Annotations::ADD,
    scopes: &[Scope::CandidatesWrite],
    input: || {
        schema::input::<Arguments>(&[
            ("name", "The full name"),
            ("email", "The e-mail address"),
            ("phone", "Such as +1 415 555 2671, or as the role's country writes it"),
            ("resume_url", "The address of the resume"),
            ("source", "Where the candidate came from"),
            ("tags", "At most 20"),
            ("role_id", "An open role to apply for"),
        ])
    },
    output: Some(|| {
        schema::output(&[("id", Kind::Whole), ("stage", Kind::Text), ("created_at", Kind::Text)], &[])
    }),
    call: |request| Box::pin(call(request)),
};

input! {
    struct Arguments {
        _name: required Name,
        _email: required Email,
        _phone: optional GivenPhone,
        _resume_url: optional WebAddress,
        _source: optional Source,
        _tags: list Tag[Tags::MAX],
        _external_id: optional ExternalId,
        _role_id: optional Id,
        _key: part CallKey,
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { .. } = read(request)?;
    let call = request.call(None, rest(request, &[]))?;
    let candidate: Value = request.carry_out(call, candidates::create).await?;
    Ok(ToolResult::structured(json!(trusted(&candidate, &["id", "stage", "created_at"]))))
}
