//! The tool that creates and edits roles.

use serde_json::{Value, json};
use shared::handlers::responses::role::RolePatch;
use shared::handlers::roles;
use shared::http::{Error, input};
use shared::id::Id;
use shared::model::{RoleAndPosting, Scope};

use super::arguments::{CallKey, ResponseFormat, read, rest};
use super::fence::{clean, trusted};
use super::list_roles::whole;
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult, budget};
use crate::facts::fact;
use crate::request::{McpRequest, Question};

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "save_role",
    title: "Save a role",
    description: "Creates a draft role or, with role_id, changes the given fields of a role. A member confirms what its \
                  public job posting would show. Not to open or close it (set_role_status), nor to create and publish in one step \
                  (quick_post).",
    annotations: Annotations { read_only: false, destructive: true, idempotent: false, open_world: false },
    scopes: &[Scope::RolesWrite],
    input: || {
        let own =
            [("role_id", "The role to change; without it, a new role"), ("title", "Required for a new role")];
        schema::input::<Arguments>(&own)
    },
    output: Some(|| {
        schema::output(
            &[("id", Kind::Whole), ("title", Kind::Text), ("status", Kind::Text)],
            &[("role", Kind::Object)],
        )
    }),
    call: |request| Box::pin(call(request)),
};

input! {
    struct Arguments {
        role_id: optional Id,
        patch: part RolePatch,
        format: part ResponseFormat,
        _key: part CallKey,
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { role_id, patch, format, .. } = read(request)?;
    let call = request.call(role_id, rest(request, &["role_id"]))?;
    let question = match role_id {
        None => None,
        Some(id) => {
            let found = request.context().store().find_role_and_posting(request.tenant(), id).await;
            question(&found.map_err(Error::from)?.ok_or(Error::NotFound)?, patch)?
        }
    };
    let role = match (role_id, question) {
        (None, _) => request.carry_out(call, roles::create).await?,
        (Some(_), None) => request.carry_out(call, roles::update).await?,
        (Some(_), Some(question)) => request.carry_out_confirmed(question, call, roles::update).await?,
    };
    Ok(ToolResult::structured(show(&role, format)))
}

/// The question whether a role is to be changed; `None` if nobody outside of the team would see the change.
fn question(before: &RoleAndPosting, patch: RolePatch) -> Result<Option<Question>, Error> {
    let RoleAndPosting { role, posting } = before;
    let after = patch.apply(role.content.clone());
    let after =
        after.ok_or_else(|| Error::Validation(vec!["salary_min must be at most salary_max".to_owned()]))?;
    let Some(posting) = posting.as_ref().filter(|_| before.shows(&after)) else { return Ok(None) };
    Ok(Some(Question {
        facts: vec![fact("role", role.content.title.as_str())],
        state: format!("{} {}", role.version, posting.version),
        ..Question::plain(format!("Change role {}, whose job posting is public.", role.id))
    }))
}

/// A role after a change.
pub(super) fn show(role: &Value, format: ResponseFormat) -> Value {
    let shown = trusted(role, &["id", "title", "status"]);
    if !format.is_detailed() {
        return clean(shown.into(), usize::MAX);
    }
    budget::fit(|max| {
        let mut shown = shown.clone();
        shown.insert("role".to_owned(), clean(whole(role).into(), max));
        json!(shown)
    })
}
