//! The tool that publishes, pauses, resumes, closes and reopens roles.

use shared::hiring::roles;
use shared::http::{Error, Fields, Input};
use shared::id::Id;
use shared::model::Scope;

use super::arguments::{CallKey, ResponseFormat, read, rest, words};
use super::save_role::show;
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult};
use crate::request::{McpRequest, Question};

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "set_role_status",
    title: "Set a role's status",
    description: "Publishes a draft, pauses, resumes, closes or reopens (as a draft) a role. A member confirms close, which \
                  closes its applications. Not to edit a role (save_role).",
    annotations: Annotations::DESTRUCTIVE,
    scopes: &[Scope::RolesWrite],
    input: || {
        schema::input::<Arguments>(&[
            ("action", "What to do"),
            ("job_posting", "With publish: also put its job posting on the career page"),
        ])
    },
    output: Some(|| {
        schema::output(&[("id", Kind::Number), ("title", Kind::Text), ("status", Kind::Text)], &[])
    }),
    call: |request| Box::pin(call(request)),
};

words! {
    /// What happens to the role.
    Action {
        Publish = "publish",
        Pause = "pause",
        Resume = "resume",
        Close = "close",
        Reopen = "reopen",
    }
}

struct Arguments {
    id: Id,
    action: Action,
    has_posting: bool,
}

impl Input for Arguments {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let (id, action) = (fields.required("role_id"), fields.required("action"));
        let job_posting: Option<bool> = fields.optional("job_posting");
        CallKey::read(fields);
        Some(Self { id: id?, action: action?, has_posting: job_posting.is_some() })
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { id, action, has_posting } = read(request)?;
    if has_posting && action != Action::Publish {
        let action = action.as_str();
        return Err(ToolError::Rejected(format!(
            "job_posting can't be used with {action}, only with publish."
        )));
    }
    let call = request.call(Some(id), rest(request, &["role_id", "action"]))?;
    let role = match action {
        Action::Publish => request.carry_out(call, roles::publish).await?,
        Action::Pause => request.carry_out(call, roles::pause).await?,
        Action::Resume => request.carry_out(call, roles::resume).await?,
        Action::Reopen => request.carry_out(call, roles::reopen).await?,
        Action::Close => {
            let found =
                request.context().store().find_role(request.tenant(), id).await.map_err(Error::from)?;
            let status = found.ok_or(Error::NotFound)?.status.as_str().to_owned();
            let summary = format!("Close role {id}, which is {status}, and all its active applications.");
            let question = Question { summary, action: status };
            request.carry_out_confirmed(question, call, roles::close).await?
        }
    };
    Ok(ToolResult::structured(show(&role, ResponseFormat::Concise)))
}
