//! The questions of a role's posting: a form with a row for each, and some more rows.

use std::sync::Arc;

use askama::Template;
use careers::Preview;
use serde_json::{Value, json};
use shared::handlers::{postings, responses};
use shared::http::{
    Error, HandlerCall, Html, MemberRequest, Parameters, Reply, SentInput, entity_tag, read_body,
};
use shared::model::{Posting, QuestionKind, Questions, Role, RoleAndPosting, Text};

use crate::form_page::Refusal;
use crate::layout::{Layout, Section};
use crate::messages::Notice;
use crate::preview;

/// The number of rows for new questions.
const BLANK_ROWS: usize = 3;

#[derive(Template)]
#[template(path = "posting_questions.html")]
struct QuestionsPage<'p> {
    layout: Layout<'p>,
    role: u64,
    title: &'p str,
    /// The version that the page shows.
    seen: String,
    rows: Vec<Row>,
    /// What is wrong with the whole form.
    problems: Vec<String>,
}

impl QuestionsPage<'_> {
    fn has_problems(&self) -> bool {
        !self.problems.is_empty() || self.rows.iter().any(|row| !row.problems.is_empty())
    }
}

/// A question, as it was typed.
#[derive(Default)]
struct Row {
    /// The identifier; blank for a new question.
    id: String,
    order: String,
    label: String,
    kind: String,
    required: bool,
    help: String,
    /// The options, one a line.
    options: String,
    /// What is wrong with it, as sentences.
    problems: Vec<String>,
}

impl Row {
    /// The rows of what a posting asks, and blank ones.
    fn all(questions: &Questions) -> Vec<Self> {
        let row = |(index, question): (usize, &shared::model::Question)| {
            let content = &question.content;
            let options: Vec<_> = content.options().iter().map(Text::as_str).collect();
            Self {
                id: question.id.to_string(),
                order: (index + 1).to_string(),
                label: content.label().as_str().to_owned(),
                kind: content.kind().as_str().to_owned(),
                required: content.is_required(),
                help: content.help().map(Text::as_str).unwrap_or_default().to_owned(),
                options: options.join("\n"),
                problems: Vec::new(),
            }
        };
        Self::with_blank(questions.list().iter().enumerate().map(row).collect())
    }

    fn with_blank(mut rows: Vec<Self>) -> Vec<Self> {
        let count = (rows.len() + BLANK_ROWS).min(Questions::MAX.max(rows.len()));
        for index in rows.len()..count {
            let (order, kind) = ((index + 1).to_string(), QuestionKind::ShortText.as_str().to_owned());
            rows.push(Self { order, kind, ..Self::default() });
        }
        rows
    }

    /// The rows of a form that are not blank, in the order that was typed.
    fn sent(form: &Parameters) -> Vec<Self> {
        let get = |name: &str, index: usize| form.get(&format!("{name}.{index}")).replace("\r\n", "\n");
        let row = |index: usize| Self {
            id: get("id", index),
            order: get("order", index),
            label: get("label", index),
            kind: get("kind", index),
            required: !get("required", index).is_empty(),
            help: get("help", index),
            options: get("options", index),
            problems: Vec::new(),
        };
        let is_blank =
            |row: &Self| [&row.label, &row.help, &row.options].iter().all(|text| text.trim().is_empty());
        // One more than possible, so that the rule answers.
        let rows = (0..=Questions::MAX + BLANK_ROWS).map(row).filter(|row| !is_blank(row));
        let mut rows: Vec<_> = rows.take(Questions::MAX + 1).collect();
        rows.sort_by_key(|row| row.order.trim().parse::<u32>().unwrap_or(u32::MAX));
        rows
    }

    /// The question as the API takes it.
    fn input(&self) -> Value {
        let options: Vec<_> = self.options.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        json!({
            "id": self.id.trim().parse::<u64>().ok(),
            "label": self.label,
            "kind": self.kind,
            "required": self.required,
            "help": self.help,
            "options": options,
        })
    }
}

/// Shows the questions.
pub(crate) async fn edit(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (role, posting) = find(&request).await?;
    let rows = Row::all(&posting.content.questions);
    page(&request, &role, &posting, rows, Vec::new())
}

/// Replaces the questions, or shows the page that would ask them.
pub(crate) async fn save(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (role, posting) = find(&request).await?;
    let mut rows = Row::sent(request.page.form());
    let questions: Vec<_> = rows.iter().map(Row::input).collect();
    let body = json!({ "questions": questions }).to_string();
    let done = if preview::is_wanted(&request) {
        let edited = read_body::<postings::PostingPatch>(&body, std::iter::empty())
            .and_then(|patch| patch.apply(&posting.content, || request.context.ids().next()));
        match edited {
            Ok(edited) => {
                let posting = Some(posting.clone());
                let stored = RoleAndPosting { role: role.clone(), posting, stats: None };
                return Preview { posting: edited, ..Preview::of(stored) }.page(&request).await;
            }
            Err(error) => Err(error),
        }
    } else {
        let call = request.call(Parameters::default());
        let call = HandlerCall { id: Some(posting.id), input: SentInput::Json(body), ..call };
        request.carry_out(call, postings::update).await.map(drop)
    };
    let refusal = match done {
        Ok(()) => return Ok(Notice::QuestionsSaved.redirect_to(&format!("/dashboard/roles/{}", role.id))),
        Err(error) => Refusal::of(error)?,
    };
    let mut problems = Vec::new();
    match refusal {
        Refusal::Problems { messages, .. } => {
            for message in messages {
                match place(&message).and_then(|(index, rest)| Some((rows.get_mut(index)?, rest))) {
                    Some((row, rest)) => row.problems.push(rest),
                    None => problems.push(format!("The {message}.")),
                }
            }
        }
        refusal => problems.push(refusal.text()),
    }
    let rows = Row::with_blank(rows);
    Ok(page(&request, &role, &posting, rows, problems)?.with_status(422))
}

/// The position of the question that a message is about, and the message as a sentence.
fn place(message: &str) -> Option<(usize, String)> {
    let (index, rest) = message.strip_prefix("questions[")?.split_once("].")?;
    let (field, problem) = rest.split_once(' ')?;
    let name = match field.split('[').next()? {
        "label" => "The question",
        "kind" => "The kind",
        "help" => "The explanation",
        "options" if field != "options" => "An option",
        "options" => "The options",
        _ => "The identifier",
    };
    Some((index.parse().ok()?, format!("{name} {problem}.")))
}

fn page(
    request: &MemberRequest,
    role: &Role,
    posting: &Posting,
    rows: Vec<Row>,
    problems: Vec<String>,
) -> Result<Reply<Html>, Error> {
    let shown = responses::posting::Posting::of(
        posting,
        role,
        request.organization(),
        request.context.base_url(),
        request.context.now(),
    );
    Reply::page(&QuestionsPage {
        layout: Layout::of(request, Section::Roles),
        role: role.id.get(),
        title: role.content.title.as_str(),
        seen: entity_tag(&shown)?,
        rows,
        problems,
    })
}

/// The role in the path, and its posting.
async fn find(request: &MemberRequest) -> Result<(Role, Posting), Error> {
    let (store, tenant) = (request.context.store(), request.tenant());
    let role = store.find_role(tenant, request.context.id()?).await?.ok_or(Error::NotFound)?;
    let link = role.posting.as_ref().ok_or(Error::NotFound)?;
    let posting = store.find_posting(tenant, link.id).await?.ok_or(Error::NotFound)?;
    Ok((role, posting))
}
