//! The tool that lists changes.

use serde_json::{Value, json};
use shared::handlers::event_list::{self, RecentFilter};
use shared::http::input;
use shared::model::Scope;

use super::arguments::{ResponseFormat, read, rest};
use super::budget::{self, Page};
use super::fence::trusted;
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult};
use crate::request::McpRequest;

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "list_changes",
    title: "List changes",
    description: "Lists what changed in the last 30 days, oldest first: ids and words such as from and to. Not for how things \
                  are now (pipeline_report, get_candidate), nor for names or texts, which changes do not have.",
    annotations: Annotations::READ,
    scopes: &[Scope::EventsRead],
    input: || {
        schema::input::<Arguments>(&[
            (
                "after",
                "The position of the previous answer, or latest to learn the end; the last 24 hours by default",
            ),
            ("type", "Only this type, such as candidate.created or application.stage_changed"),
        ])
    },
    output: Some(|| {
        let fields = [("changes", Kind::Objects), ("position", Kind::Text), ("has_more", Kind::Flag)];
        schema::output(&fields, &[])
    }),
    call: |request| Box::pin(call(request)),
};

input! {
    struct Arguments {
        _filter: part RecentFilter,
        format: part ResponseFormat,
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { format, .. } = read(request)?;
    let call = request.call(None, rest(request, &[]))?;
    let mut feed = request.carry_out(call, event_list::list_recent).await?;
    loop {
        match budget::page("changes", &feed, |event, _| show(event, format)) {
            Page::Fits(answer) => {
                let (position, has_more) = (&feed["position"], &feed["has_more"]);
                let answer =
                    json!({ "changes": answer["changes"], "position": position, "has_more": has_more });
                return Ok(ToolResult::structured(answer));
            }
            // The number of an event is the position after it.
            Page::Only(fewer) => {
                if let Some(events) = feed["data"].as_array_mut() {
                    events.truncate(fewer);
                    let last = events.last().map(|last| last["seq"].to_string());
                    feed["position"] = last.into();
                    feed["has_more"] = true.into();
                }
            }
        }
    }
}

fn show(event: &Value, format: ResponseFormat) -> Value {
    let mut shown = trusted(event, &["type", "at"]);
    if format.is_detailed() {
        shown.extend(trusted(event, &["seq", "id", "subject", "actor", "changed", "data", "imported"]));
    } else {
        shown.insert("subject".to_owned(), json!(trusted(&event["subject"], &["type", "id"])));
        shown.insert("by".to_owned(), event["actor"]["type"].clone());
        shown.extend(trusted(event, &["data"]));
    }
    json!(shown)
}
