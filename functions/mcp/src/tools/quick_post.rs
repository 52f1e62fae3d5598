//! The tool that creates and publishes a role with its job posting.

use serde_json::{Map, Value, json};
use shared::handlers::quick_post;
use shared::http::input;
use shared::model::{LongText, RoleContent, Scope, Title};

use super::arguments::{CallKey, read, rest};
use super::fence::{clean, trusted};
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult};
use crate::request::McpRequest;

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "quick_post",
    title: "Post a job",
    description: "Creates a role and its job posting, and publishes both on the career page. A member confirms it, unless \
                  publish is false. Not for a role that exists (set_role_status), nor for X (post_to_x).",
    annotations: Annotations { read_only: false, destructive: false, idempotent: false, open_world: true },
    scopes: &[Scope::RolesWrite],
    input: || {
        schema::input::<Arguments>(&[
            ("public_title", "The public job title, if it differs from title"),
            ("public_description", "The public description, if it differs from description. Markdown"),
            ("requirements", "Public, too. Markdown"),
            ("publish", "false creates drafts; true by default"),
        ])
    },
    output: Some(|| {
        schema::output(
            &[
                ("role_id", Kind::Whole),
                ("job_posting_id", Kind::Whole),
                ("status", Kind::Text),
                ("published", Kind::Flag),
                ("public_url", Kind::Text),
                ("career_portal_url", Kind::Text),
            ],
            &[],
        )
    }),
    call: |request| Box::pin(call(request)),
};

input! {
    struct Arguments {
        _role: part RoleContent,
        _public_title: optional Title,
        _public_description: optional LongText,
        _requirements: optional LongText,
        publish: optional bool = true,
        _key: part CallKey,
    }
}

/// The arguments with the content of the job posting, and their names in the API.
const POSTING: [(&str, &str); 3] = [
    ("public_title", "title"),
    ("public_description", "public_description"),
    ("requirements", "requirements"),
];

/// The input of the API route, which has the fields of the role and those of the job posting in two objects.
fn body(mut role: Map<String, Value>, publish: bool) -> Map<String, Value> {
    role.remove("publish");
    let posting: Map<_, _> = POSTING
        .iter()
        .filter_map(|(argument, name)| Some(((*name).to_owned(), role.remove(*argument)?)))
        .collect();
    let fields = [("role", role.into()), ("job_posting", posting.into()), ("publish", publish.into())];
    fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { publish, .. } = read(request)?;
    let call = request.call(None, body(rest(request, &[]), publish))?;
    let posted = request.carry_out_confirmed(call, quick_post::create).await?;
    let (role, posting) = (&posted["role"], &posted["job_posting"]);
    let mut shown = trusted(posting, &["published", "public_url"]);
    shown.extend(trusted(role, &["status"]));
    shown.extend(trusted(&posted, &["career_portal_url"]));
    shown.insert("role_id".to_owned(), role["id"].clone());
    shown.insert("job_posting_id".to_owned(), posting["id"].clone());
    Ok(ToolResult::structured(clean(json!(shown), usize::MAX)))
}
