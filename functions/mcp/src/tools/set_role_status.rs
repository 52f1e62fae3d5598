//! The tool that publishes, pauses, resumes, closes and reopens roles.

use shared::handlers::roles;
use shared::http::input;
use shared::id::Id;
use shared::model::Scope;
use shared::string_enum;

use super::arguments::{CallKey, ResponseFormat, read, rest};
use super::save_role::show;
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult};
use crate::request::McpRequest;

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
    let role = match action {
        Action::Publish => request.carry_out_confirmed(call, roles::publish).await?,
        Action::Pause => request.carry_out_confirmed(call, roles::pause).await?,
        Action::Resume => request.carry_out_confirmed(call, roles::resume).await?,
        Action::Close => request.carry_out_confirmed(call, roles::close).await?,
        Action::Reopen => request.carry_out(call, roles::reopen).await?,
    };
    Ok(ToolResult::structured(show(&role, ResponseFormat::Concise)))
}
