//! The tool that shows a voice screen with its transcript.

use serde_json::{Map, Value, json};
use shared::handlers::screen_queries;
use shared::http::{HandlerCall, input};
use shared::id::Id;
use shared::model::{self, AuditAction, Scalar, Scope};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::arguments::{ResponseFormat, read};
use super::budget;
use super::fence::{clean, clean_text, trusted, untrusted};
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult};
use crate::request::McpRequest;

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "get_screen",
    title: "Get a voice screen",
    description: "Shows a voice screen: status, scores, summary; detailed adds the transcript. Not to order one \
                  (invite_to_screen); its id comes from get_candidate.",
    annotations: Annotations::READ,
    scopes: &[Scope::VoiceScreensRead],
    input: || {
        schema::input::<Arguments>(&[
            ("screen_id", "The voice screen's id"),
            ("cursor", "The next_cursor of the previous answer, for more of the transcript"),
        ])
    },
    output: Some(|| {
        schema::output(
            &[("id", Kind::Whole), ("untrusted", Kind::Untrusted), ("next_cursor", Kind::MaybeText)],
            &[
                ("candidate_id", Kind::Whole),
                ("role_id", Kind::Whole),
                ("status", Kind::Text),
                ("result", Kind::Text),
                ("scores", Kind::Object),
                ("scheduled_at", Kind::Text),
                ("started_at", Kind::Text),
                ("completed_at", Kind::Text),
                ("duration_seconds", Kind::Whole),
            ],
        )
    }),
    call: |request| Box::pin(call(request)),
};

/// The tokens for everything but the transcript.
const FOR_SUMMARY: usize = 3_500;

input! {
    struct Arguments {
        screen_id: required Id,
        cursor: optional Position,
        format: part ResponseFormat,
    }
}

/// A position in a transcript: the index of a turn, and the number of its characters that come before.
#[derive(Clone, Copy, Default)]
struct Position {
    turn: usize,
    character: usize,
}

impl model::Value for Position {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        let read = |text: &str| {
            let (turn, character) = text.split_once('.')?;
            Some(Self { turn: turn.parse().ok()?, character: character.parse().ok()? })
        };
        match scalar {
            scalar if scalar.is_blank() => Ok(None),
            Scalar::Text(text) => read(text)
                .map(Some)
                .ok_or_else(|| "must be the next_cursor of the previous answer".to_owned()),
            _ => Err("must be a string".to_owned()),
        }
    }

    fn schema() -> RefOr<Schema> {
        model::schema::string().into()
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { screen_id: id, cursor: from, format } = read(request)?;
    let call = request.call(Some(id), Map::new())?;
    let call = HandlerCall { reading: Some(AuditAction::VoiceScreenRead), ..call };
    let screen = request.carry_out(call, screen_queries::show).await?;
    let mut answer = match from {
        Some(_) => json!({ "id": id, "untrusted": {}, "next_cursor": null }),
        None => budget::fit_within(FOR_SUMMARY, |max| show(&screen, max)),
    };
    if from.is_some() || format.is_detailed() {
        // Room for the fields around the transcript.
        let left = budget::MAX.saturating_sub(budget::cost(&answer) + 100);
        let (turns, next) = turns(&screen, from.unwrap_or_default(), left);
        answer["untrusted"]["transcript"] = turns.into();
        answer["next_cursor"] = next.map(|at| format!("{}.{}", at.turn, at.character)).into();
    }
    Ok(ToolResult::structured(clean(answer, usize::MAX)))
}

fn show(screen: &Value, max: usize) -> Value {
    let names = [
        "id",
        "candidate_id",
        "role_id",
        "status",
        "result",
        "scores",
        "scheduled_at",
        "started_at",
        "completed_at",
        "duration_seconds",
    ];
    let mut shown = trusted(screen, &names);
    let mut fenced = untrusted(screen, &["summary"], max);
    for list in ["highlights", "red_flags"] {
        let excerpts = screen[list].as_array().map(Vec::as_slice).unwrap_or_default().iter().take(10);
        let texts: Vec<_> = excerpts.map(|excerpt| clean(excerpt["text"].clone(), max)).collect();
        fenced.insert(list.to_owned(), texts.into());
    }
    shown.insert("untrusted".to_owned(), fenced.into());
    shown.insert("next_cursor".to_owned(), Value::Null);
    json!(shown)
}

/// The turns from a position on that fit within `max` tokens, and where the transcript goes on.
fn turns(screen: &Value, from: Position, max: usize) -> (Vec<Value>, Option<Position>) {
    let all = screen["transcript"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (mut left, mut shown) = (max, Vec::new());
    for (index, turn) in all.iter().enumerate().skip(from.turn) {
        let skipped = if index == from.turn { from.character } else { 0 };
        let text: String = turn["text"].as_str().unwrap_or_default().chars().skip(skipped).collect();
        let entry = |text: &str| {
            let mut entry = trusted(turn, &["speaker", "at_seconds"]);
            entry.insert("text".to_owned(), clean_text(text, usize::MAX).into());
            Value::Object(entry)
        };
        let whole = entry(&text);
        let cost = budget::cost(&whole);
        if cost <= left {
            left -= cost;
            shown.push(whole);
            continue;
        }
        if !shown.is_empty() {
            return (shown, Some(Position { turn: index, character: skipped }));
        }
        let (part, length) = budget::part(&text, left, entry);
        return (vec![part], Some(Position { turn: index, character: skipped + length }));
    }
    (shown, None)
}
