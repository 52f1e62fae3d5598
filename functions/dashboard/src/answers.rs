//! The answers of applications: on the candidate's page, and those of a stage side by side.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::{Answer, AnswerValue, CandidateRecord, Stage};
use shared::store::Listed;

use crate::files;
use crate::layout::{Layout, Section};
use crate::lists::{FilterLink, PAGE_SIZE, Pager, Place, filter, id_position, is_id_position, next};

/// An answer on a page.
pub(crate) struct AnswerRow<'p> {
    /// What was asked.
    pub(crate) label: &'p str,
    /// The answer in words.
    pub(crate) value: String,
    /// The path that opens the file, if the answer is one.
    pub(crate) path: Option<String>,
}

/// The answers in their order, of a candidate or of a suspect form, which has no files.
pub(crate) fn rows(answers: &[Answer], candidate: Option<Id>) -> Vec<AnswerRow<'_>> {
    let rows = answers.iter().map(|answer| AnswerRow {
        label: answer.label.as_str(),
        value: answer.value.to_string(),
        path: match answer.value {
            AnswerValue::File(file) => candidate.map(|candidate| files::path(candidate, file)),
            _ => None,
        },
    });
    rows.collect()
}

/// The answers of a candidate's applications, by the application. Reads nothing if there are none.
pub(crate) async fn of(
    request: &MemberRequest,
    record: &CandidateRecord,
) -> Result<HashMap<Id, Vec<Answer>>, Error> {
    if !record.applications.iter().any(|application| application.has_answers) {
        return Ok(HashMap::new());
    }
    let found = request.context.store().list_answers(request.tenant(), record.candidate.id).await?;
    Ok(found.into_iter().map(|found| (found.application_id, found.answers)).collect())
}

#[derive(Template)]
#[template(path = "answers.html")]
struct AnswersPage<'p> {
    layout: Layout<'p>,
    role: u64,
    title: &'p str,
    /// The stage that the list is filtered by.
    stage: Option<Stage>,
    filters: [FilterLink; 6],
    questions: Vec<&'p str>,
    people: Vec<Person<'p>>,
    pager: Pager,
}

/// A candidate with an answer for each question of the page.
struct Person<'p> {
    id: u64,
    name: &'p str,
    answers: Vec<Option<String>>,
}

/// Shows the answers of a role's people, of all or of those in a stage, newest application first.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (store, tenant, query) = (request.context.store(), request.tenant(), request.context.query());
    let role = store.find_role(tenant, request.context.id()?).await?.ok_or(Error::NotFound)?;
    let stage = filter::<Stage>(query.get("stage"))?;
    let place = Place::read(&query, is_id_position);
    let mut listed = store.list_candidates(tenant, Some(role.id), stage, &place.paging()).await?;
    let next = next(&mut listed, PAGE_SIZE, |(candidate, applicant)| {
        id_position(applicant.map_or(candidate.id, |(applicant, _)| applicant.application_id))
    });
    let Listed { items: people, .. } = listed;
    let application = |applicant: &Option<(shared::store::Applicant, _)>| {
        applicant.as_ref().map(|(applicant, _)| applicant.application_id)
    };
    let ids =
        people.iter().filter_map(|(candidate, applicant)| Some((candidate.id, application(applicant)?)));
    let answers = store.find_answers_of(tenant, ids).await?;
    let posting = match &role.posting {
        Some(link) => store.find_posting(tenant, link.id).await?,
        None => None,
    };
    // What is asked now, and then what was asked before.
    let mut questions: Vec<(Id, &str)> = Vec::new();
    let asked = posting.iter().flat_map(|posting| posting.content.questions.list());
    questions.extend(asked.map(|question| (question.id, question.content.label().as_str())));
    let filters: Vec<_> = stage.iter().map(|stage| ("stage", stage.as_str())).collect();
    let path = format!("/dashboard/roles/{}/answers", role.id);
    let of =
        |applicant| application(applicant).and_then(|id| answers.get(&id)).map_or(&[][..], Vec::as_slice);
    for answer in people.iter().flat_map(|(_, applicant)| of(applicant)) {
        if !questions.iter().any(|(id, _)| *id == answer.question_id) {
            questions.push((answer.question_id, answer.label.as_str()));
        }
    }
    let rows = people.iter().map(|(candidate, applicant)| {
        let answer = |id: Id| of(applicant).iter().find(|answer| answer.question_id == id);
        Person {
            id: candidate.id.get(),
            name: candidate.profile.name.as_str(),
            answers: questions.iter().map(|(id, _)| Some(answer(*id)?.value.to_string())).collect(),
        }
    });
    let page = AnswersPage {
        layout: Layout::of(&request, Section::Roles),
        role: role.id.get(),
        title: role.content.title.as_str(),
        stage,
        filters: Stage::ALL
            .map(|known| FilterLink { word: known.as_str(), is_current: stage == Some(known) }),
        people: rows.collect(),
        questions: questions.iter().map(|(_, label)| *label).collect(),
        pager: Pager::new(&path, &filters, &place, next),
    };
    Ok(Reply::page(&page)?.showing(page.people.len()))
}
