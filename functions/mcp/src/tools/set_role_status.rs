//! The tool that publishes, pauses, resumes, closes and reopens roles.

use serde_json::{Value, json};
use shared::clock::Timestamp;
use shared::handlers::roles;
use shared::http::{Error, input};
use shared::id::Id;
use shared::model::{Role, RoleAndPosting, Scope};
use shared::string_enum;

use super::arguments::{CallKey, ResponseFormat, read, rest};
use super::save_role::show;
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult};
use crate::facts;
use crate::request::{McpRequest, Question};

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "set_role_status",
    title: "Set a role's status",
    description: "Publishes a draft, pauses, resumes, closes (with its applications) or reopens (as a draft) a role. A member \
                  confirms all but reopen. Not to edit a role (save_role).",
    annotations: Annotations::DESTRUCTIVE,
    scopes: &[Scope::RolesWrite],
    input: || {
        schema::input::<Arguments>(&[
            ("action", "What to do"),
            ("job_posting", "With publish: also put its job posting on the career page"),
        ])
    },
    output: Some(|| {
        schema::output(&[("id", Kind::Whole), ("title", Kind::Text), ("status", Kind::Text)], &[])
    }),
    call: |request| Box::pin(call(request)),
};

string_enum! {
    /// What happens to the role.
    enum Action {
        Publish = "publish",
        Pause = "pause",
        Resume = "resume",
        Close = "close",
        Reopen = "reopen",
    }
}

input! {
    struct Arguments {
        role_id: required Id,
        action: required Action,
        job_posting: optional bool,
        _key: part CallKey,
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { role_id: id, action, job_posting, .. } = read(request)?;
    if job_posting == Some(true) && action != Action::Publish {
        let action = action.as_str();
        return Err(ToolError::Rejected(format!(
            "job_posting can't be used with {action}, only with publish."
        )));
    }
    let mut fields = rest(request, &["role_id", "action"]);
    if action != Action::Publish {
        fields.remove("job_posting");
    }
    let call = request.call(Some(id), fields)?;
    if action == Action::Reopen {
        let role = request.carry_out(call, roles::reopen).await?;
        return Ok(ToolResult::structured(show(&role, ResponseFormat::Concise)));
    }
    let found = request.context().store().find_role_and_posting(request.tenant(), id).await;
    let found = found.map_err(Error::from)?.ok_or(Error::NotFound)?;
    let publishes_posting = job_posting == Some(true);
    if let Err(error) = check(action, publishes_posting, &found.role, request.context().now()) {
        // The same call may have led to the status that does not allow it.
        let role = request.find_reply(&call).await?;
        let role = role.map(|role| ToolResult::structured(show(&role, ResponseFormat::Concise)));
        return role.ok_or_else(|| error.into());
    }
    let question = question(action, publishes_posting, &found);
    let role = match action {
        Action::Publish => request.carry_out_confirmed(question, call, roles::publish).await?,
        Action::Pause => request.carry_out_confirmed(question, call, roles::pause).await?,
        Action::Resume => request.carry_out_confirmed(question, call, roles::resume).await?,
        Action::Close | Action::Reopen => request.carry_out_confirmed(question, call, roles::close).await?,
    };
    Ok(ToolResult::structured(show(&role, ResponseFormat::Concise)))
}

/// Fails if the role does not allow the action, so that no member confirms a call that cannot succeed.
fn check(action: Action, publishes_posting: bool, role: &Role, now: Timestamp) -> Result<(), Error> {
    let transition = match action {
        Action::Publish => roles::Action::Publish,
        Action::Pause => roles::Action::Pause,
        Action::Resume => roles::Action::Resume,
        Action::Reopen => roles::Action::Reopen,
        Action::Close => return Ok(()),
    };
    if publishes_posting && role.posting.is_none() {
        let message = "job_posting cannot be published, because the role has none";
        return Err(Error::Validation(vec![message.to_owned()]));
    }
    transition.apply(role, now).map(drop)
}

/// The question whether the action may happen, with what will be public.
fn question(action: Action, publishes_posting: bool, found: &RoleAndPosting) -> Question {
    let RoleAndPosting { role, posting } = found;
    let (id, status) = (role.id, role.status.as_str());
    let public = posting.as_ref().filter(|posting| posting.published || publishes_posting);
    let summary = match (action, public.is_some()) {
        (Action::Publish, true) => {
            format!("Publish role {id} and its job posting, so that people can apply.")
        }
        (Action::Publish, false) => {
            format!("Publish role {id}, whose job posting stays off the career page.")
        }
        (Action::Pause, true) => format!("Pause role {id}, so that its job posting is no longer listed."),
        (Action::Resume, true) => format!("Resume role {id}, so that its job posting is listed again."),
        (Action::Pause, false) => format!("Pause role {id}."),
        (Action::Resume | Action::Reopen, _) => format!("Resume role {id}."),
        (Action::Close, _) => format!("Close role {id}, which is {status}, and all its active applications."),
    };
    let facts = match public {
        Some(posting) if matches!(action, Action::Publish | Action::Resume) => {
            let [role, posting] = [json!(role.content), json!({ "job_posting": posting.content })];
            [role, posting]
                .iter()
                .filter_map(Value::as_object)
                .flat_map(|fields| facts::of(fields.iter()))
                .collect()
        }
        _ => vec![facts::fact("role", role.content.title.as_str())],
    };
    let versions = (role.version, posting.as_ref().map(|posting| posting.version));
    Question { facts, state: format!("{status} {versions:?}"), ..Question::plain(summary) }
}
