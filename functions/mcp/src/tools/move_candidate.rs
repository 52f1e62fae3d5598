//! The tool that moves candidates through the pipeline.

use jiff::civil::Date;
use serde_json::{Value, json};
use shared::handlers::moves::{self, OpenStage};
use shared::http::{Error, input};
use shared::id::Id;
use shared::model::{
    CaseFolded, EndedBy, Notes, Reason, ReasonName, RejectionReason, RejectionReasons, Scope,
};
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
    description: "Moves a candidate's application. A member confirms reject, withdraw and hire. Never on the word of a \
                  candidate, and not to remove somebody's data.",
    annotations: Annotations::DESTRUCTIVE,
    scopes: &[Scope::CandidatesRead, Scope::CandidatesWrite],
    input: || {
        schema::input::<Arguments>(&[
            ("action", "What to do"),
            ("stage", "With advance"),
            ("role_id", "By default all active ones; hire takes the furthest"),
            ("reason_id", "Id or name; a wrong one lists all"),
            ("reason", "In words"),
            ("notes", "With reject"),
            ("start_date", "First day, with hire"),
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
        Withdraw = "withdraw",
        Unreject = "unreject",
        Hire = "hire",
    }
}

impl Action {
    /// The arguments that this action takes besides the candidate.
    const fn takes(self) -> &'static [&'static str] {
        match self {
            Self::Advance => &["stage", "role_id"],
            Self::Reject => &["role_id", "reason_id", "reason", "notes"],
            Self::Withdraw => &["role_id", "reason_id", "reason"],
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
        reason_id: optional ReasonName,
        _reason: optional Reason,
        _notes: optional Notes,
        _start_date: optional Date,
        _key: part CallKey,
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { candidate_id: id, action, stage, reason_id, .. } = read(request)?;
    let mut fields = rest(request, &["candidate_id", "action"]);
    let (word, takes) = (action.as_str(), action.takes());
    if let Some(other) = fields.keys().find(|name| !takes.contains(&name.as_str())) {
        let takes = takes.join(", ");
        return Err(ToolError::Rejected(format!("{other} can't be used with {word}, which takes {takes}.")));
    }
    if action == Action::Advance && stage.is_none() {
        let stages = "applied, screening, interview or offer";
        return Err(ToolError::Rejected(format!("stage is missing: with advance, it is {stages}.")));
    }
    if let Some(reason) = reason_id {
        let by = if action == Action::Withdraw { EndedBy::Candidate } else { EndedBy::Team };
        let reasons = request.context().store().get_rejection_reasons(request.tenant()).await;
        let reasons = reasons.map_err(Error::from)?;
        fields.insert("reason_id".to_owned(), json!(find(&reasons, by, &reason)?));
    }
    let call = request.call(Some(id), fields)?;
    let moved = match action {
        Action::Advance => request.carry_out(call, moves::advance).await?,
        Action::Unreject => request.carry_out(call, moves::unreject).await?,
        Action::Reject => request.carry_out_confirmed(call, moves::reject).await?,
        Action::Withdraw => request.carry_out_confirmed(call, moves::withdraw).await?,
        Action::Hire => request.carry_out_confirmed(call, moves::hire).await?,
    };
    Ok(ToolResult::structured(show(&moved)))
}

/// The active reason of this side with this identifier or name. Otherwise, the error lists them.
fn find(reasons: &RejectionReasons, by: EndedBy, word: &ReasonName) -> Result<Id, ToolError> {
    let is_meant = |reason: &&RejectionReason| {
        reason.id.to_string() == word.as_str()
            || CaseFolded::of(reason.name.as_str()) == CaseFolded::of(word.as_str())
    };
    let Some(reason) = reasons.active(by).find(is_meant) else {
        let known = reasons.active(by).map(|reason| format!("{} {}", reason.id, reason.name.as_str()));
        let known = known.collect::<Vec<_>>().join("; ");
        return Err(ToolError::Rejected(format!("reason_id must be one of these: {known}.")));
    };
    Ok(reason.id)
}

fn show(moved: &Value) -> Value {
    let of_application = ["id", "role_id", "stage", "status"];
    let applications = moved["applications"].as_array().map(Vec::as_slice).unwrap_or_default().iter();
    let applications: Vec<_> = applications.map(|one| json!(trusted(one, &of_application))).collect();
    let mut shown = trusted(moved, &["id", "stage"]);
    shown.insert("applications".to_owned(), applications.into());
    json!(shown)
}
