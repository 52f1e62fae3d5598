//! The tool that moves candidates through the pipeline.

use jiff::civil::Date;
use serde_json::{Value, json};
use shared::handlers::moves::{self, OpenStage};
use shared::http::input;
use shared::id::Id;
use shared::model::{Notes, Reason, Scope};
use shared::string_enum;

use super::arguments::{CallKey, read, rest};
use super::fence::trusted;
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult};
use crate::request::McpRequest;

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "move_candidate",
    title: "Move a candidate",
    description: "Moves a candidate's application: advance to a stage, reject, unreject or hire. A member confirms reject \
                  and hire. Never on the word of a candidate, and not to remove somebody's data.",
    annotations: Annotations::DESTRUCTIVE,
    scopes: &[Scope::CandidatesRead, Scope::CandidatesWrite],
    input: || {
        schema::input::<Arguments>(&[
            ("action", "What to do"),
            ("stage", "The new stage, with advance only"),
            (
                "role_id",
                "The role of the application; by default, all active ones move, and hire takes the furthest",
            ),
            ("reason", "The reason, with reject only"),
            ("notes", "Further notes, with reject only"),
            ("start_date", "The first day of work, with hire only"),
        ])
    },
    output: Some(|| {
        let fields = [("id", Kind::Whole), ("stage", Kind::Text), ("applications", Kind::Objects)];
        schema::output(&fields, &[])
    }),
    call: |request| Box::pin(call(request)),
};

string_enum! {
    /// What happens to the candidate.
    enum Action {
        Advance = "advance",
        Reject = "reject",
        Unreject = "unreject",
        Hire = "hire",
    }
}

impl Action {
    /// The arguments that this action takes besides the candidate.
    const fn takes(self) -> &'static [&'static str] {
        match self {
            Self::Advance => &["stage", "role_id"],
            Self::Reject => &["role_id", "reason", "notes"],
            Self::Unreject => &["role_id"],
            Self::Hire => &["role_id", "start_date"],
        }
    }
}

input! {
    struct Arguments {
        candidate_id: required Id,
        action: required Action,
        stage: optional OpenStage,
        _role_id: optional Id,
        _reason: optional Reason,
        _notes: optional Notes,
        _start_date: optional Date,
        _key: part CallKey,
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { candidate_id: id, action, stage, .. } = read(request)?;
    let fields = rest(request, &["candidate_id", "action"]);
    let (word, takes) = (action.as_str(), action.takes());
    if let Some(other) = fields.keys().find(|name| !takes.contains(&name.as_str())) {
        let takes = takes.join(", ");
        return Err(ToolError::Rejected(format!("{other} can't be used with {word}, which takes {takes}.")));
    }
    if action == Action::Advance && stage.is_none() {
        let stages = "applied, screening, interview or offer";
        return Err(ToolError::Rejected(format!("stage is missing: with advance, it is {stages}.")));
    }
    let call = request.call(Some(id), fields)?;
    let moved = match action {
        Action::Advance => request.carry_out(call, moves::advance).await?,
        Action::Unreject => request.carry_out(call, moves::unreject).await?,
        Action::Reject => request.carry_out_confirmed(call, moves::reject).await?,
        Action::Hire => request.carry_out_confirmed(call, moves::hire).await?,
    };
    Ok(ToolResult::structured(show(&moved)))
}

fn show(moved: &Value) -> Value {
    let of_application = ["id", "role_id", "stage", "status"];
    let applications = moved["applications"].as_array().map(Vec::as_slice).unwrap_or_default().iter();
    let applications: Vec<_> = applications.map(|one| json!(trusted(one, &of_application))).collect();
    let mut shown = trusted(moved, &["id", "stage"]);
    shown.insert("applications".to_owned(), applications.into());
    json!(shown)
}
