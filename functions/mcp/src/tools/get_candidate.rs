//! The tool that shows one candidate.

use serde_json::{Map, Value, json};
use shared::handlers::{applications, candidate_detail, files, notes};
use shared::http::{HandlerCall, input};
use shared::id::Id;
use shared::model::{AuditAction, Scope};

use super::arguments::{ResponseFormat, read};
use super::budget;
use super::fence::{clean_text, trusted, untrusted};
use super::schema::{self, Kind};
use super::{Annotations, Tool, ToolError, ToolResult};
use crate::request::McpRequest;

/// The tool.
pub(super) const TOOL: Tool = Tool {
    name: "get_candidate",
    title: "Get a candidate",
    description: "Shows one candidate: applications and voice screens; detailed adds history, notes and files. Not to find \
                  people (search_candidates), nor for transcripts (get_screen).",
    annotations: Annotations::READ,
    scopes: &[Scope::CandidatesRead],
    input: || {
        schema::input::<Arguments>(&[("cursor", "The next_cursor of the previous answer, for more notes")])
    },
    output: Some(|| {
        schema::output(
            &[("id", Kind::Whole), ("untrusted", Kind::Untrusted), ("next_cursor", Kind::MaybeText)],
            &[
                ("stage", Kind::Text),
                ("applications", Kind::Objects),
                ("voice_screens", Kind::Objects),
                ("has_resume", Kind::Flag),
                ("more", Kind::Object),
                ("consents", Kind::Objects),
                ("legal_hold", Kind::Flag),
                ("created_at", Kind::Text),
                ("updated_at", Kind::Text),
                ("history", Kind::Objects),
            ],
        )
    }),
    call: |request| Box::pin(call(request)),
};

/// The maximum number of applications and of voice screens, and of entries of the history.
const NEWEST: usize = 10;
/// The tokens for the notes, of all tokens of an answer.
const FOR_NOTES: usize = 4_000;
/// The tokens below which an answer has no notes, and the next one begins with them.
const LEAST_FOR_NOTES: usize = 500;
/// The maximum number of notes in an answer.
const NOTES: usize = 10;

input! {
    struct Arguments {
        candidate_id: required Id,
        cursor: optional NotesCursor,
        format: part ResponseFormat,
    }
}

/// Where the notes go on: the cursor of a page of notes, and the characters of its first note that were shown.
#[derive(Clone, Default)]
struct NotesCursor {
    page: Option<String>,
    shown: usize,
}

impl NotesCursor {
    fn written(page: Option<&str>, shown: usize) -> String {
        format!("{shown}.{}", page.unwrap_or_default())
    }
}

impl shared::model::Value for NotesCursor {
    fn read(scalar: &shared::model::Scalar<'_>) -> Result<Option<Self>, String> {
        let read = |text: &str| {
            let (shown, page) = text.split_once('.')?;
            let page = Some(page.to_owned()).filter(|page| !page.is_empty());
            Some(Self { page, shown: shown.parse().ok()? })
        };
        match scalar {
            scalar if scalar.is_blank() => Ok(None),
            shared::model::Scalar::Text(text) => read(text)
                .map(Some)
                .ok_or_else(|| "must be the next_cursor of the previous answer".to_owned()),
            _ => Err("must be a string".to_owned()),
        }
    }

    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        shared::model::schema::string().into()
    }
}

async fn call(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let Arguments { candidate_id: id, cursor, format } = read(request)?;
    if let Some(cursor) = cursor {
        // Room for the other fields of the answer.
        let (notes, next) = notes_of(request, id, &cursor, budget::MAX - 500).await?;
        let answer = json!({ "id": id, "untrusted": { "notes": notes }, "next_cursor": next });
        return Ok(ToolResult::structured(super::fence::clean(answer, usize::MAX)));
    }
    Ok(ToolResult::structured(answer(request, id, format).await?))
}

/// The concise answer, as a resource.
pub(crate) async fn resource(request: &McpRequest, id: Id) -> Result<Value, ToolError> {
    answer(request, id, ResponseFormat::Concise).await
}

/// The first answer about a candidate.
async fn answer(request: &McpRequest, id: Id, format: ResponseFormat) -> Result<Value, ToolError> {
    let mut fields = Map::new();
    fields.insert("touchpoints".to_owned(), if format.is_detailed() { NEWEST.into() } else { 1.into() });
    let call = request.call(Some(id), fields)?;
    let call = HandlerCall { reading: Some(AuditAction::CandidateRead), ..call };
    let candidate = request.carry_out(call, candidate_detail::show).await?;
    if !format.is_detailed() {
        return Ok(budget::fit(|max| show(&candidate, format, max)));
    }
    let call = request.call(Some(id), Map::new())?;
    let answered = request.carry_out(call, applications::list_answers).await?;
    let call = request.call(Some(id), Map::from_iter([("limit".to_owned(), NEWEST.into())]))?;
    let listed = request.carry_out(call, files::list_files).await?;
    let within = budget::MAX - FOR_NOTES;
    let with_answers = |max| {
        let mut shown = show(&candidate, format, max);
        let files = names_of_files(&listed, max);
        if !files.is_empty() {
            shown["untrusted"]["files"] = files.into();
        }
        let answers = answers(&answered, max);
        if !answers.is_empty() {
            shown["untrusted"]["answers"] = answers.into();
        }
        shown
    };
    let detail = budget::fit_within(within, with_answers);
    // Room for the fields around the notes.
    let left = budget::MAX.saturating_sub(budget::cost(&detail) + 300);
    let (notes, next) = if left < LEAST_FOR_NOTES {
        (Vec::new(), Some(NotesCursor::written(None, 0)))
    } else {
        notes_of(request, id, &NotesCursor::default(), left).await?
    };
    let mut answer = detail;
    answer["untrusted"]["notes"] = notes.into();
    answer["next_cursor"] = next.into();
    Ok(super::fence::clean(answer, usize::MAX))
}

/// The notes from `cursor` on that fit within `max` tokens, and where they go on.
async fn notes_of(
    request: &McpRequest,
    id: Id,
    cursor: &NotesCursor,
    max: usize,
) -> Result<(Vec<Value>, Option<String>), ToolError> {
    let mut limit = NOTES;
    loop {
        let mut fields = Map::new();
        fields.insert("limit".to_owned(), limit.into());
        if let Some(page) = &cursor.page {
            fields.insert("cursor".to_owned(), page.clone().into());
        }
        let call = request.call(Some(id), fields)?;
        let call = HandlerCall { reading: Some(AuditAction::NotesListed), ..call };
        let list = request.carry_out(call, notes::list_notes).await?;
        let items = list["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut left = max;
        let mut shown = Vec::new();
        for (at, note) in items.iter().enumerate() {
            let skipped = if at == 0 { cursor.shown } else { 0 };
            let text: String = note["text"].as_str().unwrap_or_default().chars().skip(skipped).collect();
            let entry = |text: &str| {
                let mut entry = trusted(note, &["id", "created_at"]);
                entry.extend(untrusted(&note["actor"], &["type", "name"], 100));
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
            if at > 0 {
                break;
            }
            let (part, length) = budget::part(&text, left, entry);
            let next = NotesCursor::written(cursor.page.as_deref(), skipped + length);
            return Ok((vec![part], Some(next)));
        }
        if shown.len() < items.len() {
            limit = shown.len();
            continue;
        }
        let next = list["next_cursor"].as_str().map(|page| NotesCursor::written(Some(page), 0));
        return Ok((shown, next));
    }
}

fn show(candidate: &Value, format: ResponseFormat, max: usize) -> Value {
    let newest = |name: &str| candidate[name].as_array().map(Vec::as_slice).unwrap_or_default().iter();
    let mut shown = trusted(candidate, &["id", "stage"]);
    let mut fenced = untrusted(candidate, &["name", "email", "phone"], max);
    let applications = newest("applications").take(NEWEST);
    let of_application =
        ["id", "role_id", "role_title", "stage", "status", "applied_at", "reapplied_at", "stage_changed_at"];
    let applications: Vec<_> = applications
        .map(|one| {
            let mut shown = trusted(one, &of_application);
            if one["rejection"].is_object() {
                let rejection = trusted(&one["rejection"], &["by", "reason_id", "stage"]);
                shown.insert("rejection".to_owned(), rejection.into());
            }
            json!(shown)
        })
        .collect();
    let screens = newest("voice_screens").take(NEWEST);
    let of_screen = ["id", "role_id", "status", "result", "scheduled_at", "completed_at"];
    let screens: Vec<_> = screens
        .map(|screen| {
            let mut shown = trusted(screen, &of_screen);
            if let Some(score) = screen.pointer("/scores/overall").filter(|score| !score.is_null()) {
                shown.insert("overall_score".to_owned(), score.clone());
            }
            json!(shown)
        })
        .collect();
    let more = |name: &str| newest(name).count().saturating_sub(NEWEST);
    let (more_applications, more_screens) = (more("applications"), more("voice_screens"));
    if more_applications + more_screens > 0 {
        let more = json!({ "applications": more_applications, "voice_screens": more_screens });
        shown.insert("more".to_owned(), more);
    }
    shown.insert("applications".to_owned(), applications.into());
    shown.insert("voice_screens".to_owned(), screens.into());
    shown.insert("has_resume".to_owned(), candidate["resume_url"].is_string().into());
    if format.is_detailed() {
        shown.extend(trusted(candidate, &["created_at", "updated_at"]));
        shown.insert("legal_hold".to_owned(), candidate["legal_hold"].is_object().into());
        let of_consent = ["purpose", "granted", "obtained_at"];
        let consents: Vec<_> = newest("consents").map(|one| json!(trusted(one, &of_consent))).collect();
        shown.insert("consents".to_owned(), consents.into());
        let history: Vec<_> = newest("touchpoints").take(NEWEST).map(event).collect();
        shown.insert("history".to_owned(), history.into());
        fenced.extend(untrusted(candidate, &["source", "tags", "external_id"], max));
        let reasons = newest("applications").take(NEWEST).filter(|one| one["rejection_reason"].is_string());
        let reasons: Vec<_> = reasons
            .map(|one| {
                let mut shown = trusted(one, &["role_id"]);
                shown.extend(untrusted(one, &["rejection_reason"], max));
                json!(shown)
            })
            .collect();
        if !reasons.is_empty() {
            fenced.insert("rejections".to_owned(), reasons.into());
        }
    }
    shown.insert("untrusted".to_owned(), fenced.into());
    shown.insert("next_cursor".to_owned(), Value::Null);
    json!(shown)
}

/// The newest files, with their names.
fn names_of_files(listed: &Value, max: usize) -> Vec<Value> {
    let files = listed["data"].as_array().map(Vec::as_slice).unwrap_or_default().iter();
    let shown = files.map(|file| {
        let mut shown = trusted(file, &["id", "application_id", "kind", "status", "created_at"]);
        shown.extend(untrusted(file, &["name"], max));
        json!(shown)
    });
    shown.collect()
}

/// The answers of the newest application that has any.
fn answers(answered: &Value, max: usize) -> Vec<Value> {
    let newest = &answered[0];
    let answers = newest["answers"].as_array().map(Vec::as_slice).unwrap_or_default().iter();
    let shown = answers.map(|answer| {
        let mut shown = trusted(newest, &["application_id"]);
        shown.extend(untrusted(answer, &["label", "value"], max));
        json!(shown)
    });
    shown.collect()
}

/// An entry of the history, without anything that people wrote.
fn event(touchpoint: &Value) -> Value {
    const OF_DETAIL: &[&str] = &[
        "application_id",
        "role_id",
        "screen_id",
        "file_id",
        "from",
        "to",
        "start_date",
        "scheduled_at",
        "result",
        "granted",
    ];
    let mut shown = trusted(touchpoint, &["kind", "at"]);
    shown.extend(trusted(&touchpoint["detail"], OF_DETAIL));
    shown.insert("by".to_owned(), touchpoint["actor"]["type"].clone());
    json!(shown)
}
