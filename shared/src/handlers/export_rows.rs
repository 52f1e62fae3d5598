//! The rows of exports. A person is the row of an import with a little more, so that another organization can import it; all
//! else is what the API shows.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::applications::ApplicationDetail;
use super::import_row::{MAX_ENTRIES, MAX_FILES};
use super::responses::note::Note;
use super::responses::resume::ResumeLinks;
use super::responses::screen::{Screen, ScreenAccess};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{
    self, Answer, AnswerValue, Application, ApplicationStatus, Assessment, CandidateFileKind,
    CandidateRecord, ConsentPurpose, ConsentWording, Email, EndedBy, Excerpt, ExportKind, ExternalId, Name,
    NoteText, Phone, Profile, QuestionLabel, Reason, Resume, Source, Stage, Tags, Title, Touchpoint,
    TouchpointKind, Turn, WebAddress,
};
use crate::spreadsheet;
use crate::store::{CandidateApplication, ExportedPerson, ExportedPersonScreen};

/// The maximum number of characters of an answer in the row of an import.
const MAX_ANSWER: usize = 5_000;
/// The number of characters above which spreadsheets may cut the text of a cell.
const MAX_CELL: usize = 32_000;

/// A person, as an import takes one.
#[derive(Debug, Serialize)]
pub struct PersonRow {
    id: Id,
    version: u64,
    stage: Stage,
    updated_at: Timestamp,
    external_id: Option<ExternalId>,
    name: Name,
    email: Option<Email>,
    phone: Option<Phone>,
    source: Option<Source>,
    tags: Tags,
    created_at: Timestamp,
    /// A link that was given. That of a file would not be valid for long.
    resume_url: Option<WebAddress>,
    notes: Vec<NoteRow>,
    files: Vec<FileRow>,
    consents: Vec<ConsentRow>,
    applications: Vec<ApplicationRow>,
}

#[derive(Debug, Serialize)]
struct NoteRow {
    text: NoteText,
    author: String,
    at: Timestamp,
}

#[derive(Debug, Serialize)]
struct FileRow {
    name: String,
    kind: CandidateFileKind,
}

#[derive(Debug, Serialize)]
struct ConsentRow {
    purpose: ConsentPurpose,
    granted: bool,
    obtained_at: Timestamp,
    wording: ConsentWording,
}

#[derive(Debug, Serialize)]
struct ApplicationRow {
    external_id: Option<ExternalId>,
    role: RoleName,
    applied_at: Timestamp,
    /// Of a rejected application, the one before.
    stage: Stage,
    status: ApplicationStatus,
    rejection: Option<RejectionRow>,
    answers: Vec<AnswerRow>,
    stage_changes: Vec<StageChangeRow>,
}

#[derive(Debug, Serialize)]
struct RoleName {
    external_id: Option<ExternalId>,
    title: Title,
}

#[derive(Debug, Serialize)]
struct RejectionRow {
    by: EndedBy,
    reason: Option<Reason>,
    at: Timestamp,
}

#[derive(Debug, Serialize)]
struct AnswerRow {
    label: QuestionLabel,
    value: String,
}

#[derive(Debug, Serialize)]
struct StageChangeRow {
    stage: Stage,
    at: Timestamp,
}

/// An entry of a person's history.
#[derive(Debug, Serialize)]
pub struct TouchpointRow {
    candidate_id: Id,
    #[serde(flatten)]
    touchpoint: Touchpoint,
}

/// A voice screen with everything that the API shows of it.
#[derive(Debug, Serialize)]
pub struct ScreenRow {
    #[serde(flatten)]
    screen: Screen,
    transcript: Option<Vec<Turn>>,
    highlights: Option<Vec<Excerpt>>,
    red_flags: Option<Vec<Excerpt>>,
    assessment: Option<Assessment>,
}

/// A person without what is not about the role to which an export is limited; `None` if nothing is.
pub fn about_role(mut person: ExportedPerson, role: Id) -> Option<ExportedPerson> {
    person.record.applications.retain(|application| application.role.id == role);
    person.screens.retain(|one| one.screen.role_id == role);
    person.touchpoints.retain(|touchpoint| touchpoint.kind.role_id().is_none_or(|of| of == role));
    (!person.record.applications.is_empty()).then_some(person)
}

impl PersonRow {
    /// The row of a person. `external_id` finds the external id of a role.
    pub fn of(person: &ExportedPerson, external_id: impl Fn(Id) -> Option<ExternalId>) -> Self {
        let ExportedPerson { record, touchpoints, notes, consents, answers, files, screens: _ } = person;
        let candidate = &record.candidate;
        let Profile { name, email, phone, resume, source, tags, external_id: own_id } =
            candidate.profile.clone();
        let notes = notes.iter().take(MAX_ENTRIES).rev().map(|note| NoteRow {
            text: note.text.clone(),
            author: note.actor.name.clone(),
            at: note.created_at,
        });
        let kept = files.iter().filter(|file| file.stored().is_some()).take(MAX_FILES);
        let consents = consents.iter().rev().map(|consent| ConsentRow {
            purpose: consent.purpose,
            granted: consent.granted,
            obtained_at: consent.obtained_at,
            wording: consent.wording.clone(),
        });
        let applications = record.applications.iter().map(|application| {
            let answers = answers.get(&application.id).map(|answers| answers.answers.as_slice());
            let answers = answers.unwrap_or_default().iter().filter_map(|answer| answer_row(answer, person));
            let changes = touchpoints.iter().filter_map(|touchpoint| stage_change(touchpoint, application));
            let mut stage_changes: Vec<_> = changes.take(MAX_ENTRIES).collect();
            stage_changes.reverse();
            let rejection = application.rejection();
            ApplicationRow {
                external_id: application.external_id.clone(),
                role: RoleName {
                    external_id: external_id(application.role.id),
                    title: application.role.title.clone(),
                },
                applied_at: application.applied_at,
                stage: rejection.and_then(|end| end.stage).unwrap_or(application.stage),
                status: application.status(),
                rejection: rejection.map(|end| RejectionRow {
                    by: end.cause.by,
                    reason: end.cause.reason.clone(),
                    at: application.stage_changed_at,
                }),
                answers: answers.collect(),
                stage_changes,
            }
        });
        Self {
            id: candidate.id,
            version: record.version,
            stage: candidate.stage,
            updated_at: candidate.updated_at,
            external_id: own_id,
            email,
            phone,
            source,
            tags,
            created_at: candidate.created_at,
            resume_url: resume.and_then(|resume| match resume {
                Resume::Address(address) => Some(address),
                Resume::File(_) => None,
            }),
            notes: notes.collect(),
            files: kept
                .map(|file| FileRow { name: file.shown_name(name.as_str()), kind: file.kind })
                .collect(),
            consents: consents.collect(),
            applications: applications.collect(),
            name,
        }
    }

    /// The rows of the person in a spreadsheet: one for each application, with the person's cells repeated.
    pub fn cells(&self) -> Vec<Vec<String>> {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let identifier = |id: Option<&ExternalId>| spreadsheet::identifier(id.map_or("", ExternalId::as_str));
        let person = [
            self.id.to_string(),
            self.version.to_string(),
            self.stage.as_str().to_owned(),
            self.updated_at.to_string(),
            identifier(self.external_id.as_ref()),
            self.name.as_str().to_owned(),
            text(self.email.as_ref().map(Email::as_str)),
            text(self.phone.as_ref().map(Phone::as_str)),
            spreadsheet::list(self.source.iter().map(Source::as_str)),
            spreadsheet::list(self.tags.iter().map(model::Text::as_str)),
            self.created_at.to_string(),
            text(self.resume_url.as_ref().map(WebAddress::as_str)),
            json_cell(&self.notes),
            spreadsheet::list(self.files.iter().map(|file| file.name.as_str())),
            json_cell(&self.consents),
        ];
        let of_application = |application: &ApplicationRow| {
            let rejection = application.rejection.as_ref();
            let reason = rejection.and_then(|rejection| rejection.reason.as_ref());
            [
                identifier(application.external_id.as_ref()),
                identifier(application.role.external_id.as_ref()),
                application.role.title.as_str().to_owned(),
                application.applied_at.to_string(),
                application.stage.as_str().to_owned(),
                application.status.as_str().to_owned(),
                text(rejection.map(|rejection| rejection.by.as_str())),
                text(reason.map(Reason::as_str)),
                rejection.map(|rejection| rejection.at.to_string()).unwrap_or_default(),
                json_cell(&application.answers),
                json_cell(&application.stage_changes),
            ]
        };
        let whole = |of_application: [String; 11]| [person.as_slice(), &of_application].concat();
        match self.applications.as_slice() {
            [] => vec![whole(Default::default())],
            applications => applications.iter().map(|one| whole(of_application(one))).collect(),
        }
    }
}

/// A list as JSON; blank if it is empty.
fn json_cell<T: Serialize>(list: &[T]) -> String {
    // Lists of these have no maps with other keys than strings, so they can always be written.
    if list.is_empty() { String::new() } else { serde_json::to_string(list).unwrap_or_default() }
}

/// An answer as a text; `None` if it is a file that the person does not have any more.
fn answer_row(answer: &Answer, person: &ExportedPerson) -> Option<AnswerRow> {
    let value = match &answer.value {
        AnswerValue::ShortText(text) => text.as_str().to_owned(),
        AnswerValue::LongText(text) => text.as_str().to_owned(),
        AnswerValue::YesNo(is_yes) => if *is_yes { "Yes" } else { "No" }.to_owned(),
        AnswerValue::SingleChoice(option) => option.as_str().to_owned(),
        AnswerValue::MultipleChoice(options) => {
            options.iter().map(model::Text::as_str).collect::<Vec<_>>().join("; ")
        }
        AnswerValue::Number(number) => number.to_string(),
        AnswerValue::Date(date) => date.to_string(),
        AnswerValue::File(id) => {
            let file = person.files.iter().find(|file| file.id == *id)?;
            file.shown_name(person.record.candidate.profile.name.as_str())
        }
    };
    let value: String = value.chars().take(MAX_ANSWER).collect();
    (!value.trim().is_empty()).then(|| AnswerRow { label: answer.label.clone(), value })
}

/// The move of an application that a touchpoint records.
fn stage_change(touchpoint: &Touchpoint, application: &Application) -> Option<StageChangeRow> {
    let stage = match &touchpoint.kind {
        TouchpointKind::StageChanged { to, .. }
        | TouchpointKind::Unrejected { to, .. }
        | TouchpointKind::Unhired { to, .. } => *to,
        TouchpointKind::Rejected { .. } | TouchpointKind::Withdrawn { .. } => Stage::Rejected,
        TouchpointKind::Hired { .. } => Stage::Hired,
        _ => return None,
    };
    let is_of_it = touchpoint.kind.role_id() == Some(application.role.id);
    is_of_it.then_some(StageChangeRow { stage, at: touchpoint.at })
}

/// The rows of a person's applications, newest first.
pub fn applications(person: &ExportedPerson) -> impl Iterator<Item = ApplicationDetail> {
    let CandidateRecord { candidate, applications, .. } = &person.record;
    applications.iter().rev().map(|application| {
        let answers = person.answers.get(&application.id).map(|answers| answers.answers.clone());
        let (application, candidate) = (application.clone(), candidate.clone());
        ApplicationDetail::of(CandidateApplication { application, candidate }, answers.unwrap_or_default())
    })
}

/// The rows of a person's notes, newest first.
pub fn notes(person: &ExportedPerson) -> impl Iterator<Item = Note> {
    person.notes.iter().map(|note| Note::of(person.record.candidate.id, note.clone()))
}

/// The rows of a person's history, newest first, without the links to files, which would not be valid for long.
pub fn touchpoints(person: &ExportedPerson, access: ScreenAccess) -> impl Iterator<Item = TouchpointRow> {
    let links = ResumeLinks::none();
    person.touchpoints.iter().map(move |touchpoint| TouchpointRow {
        candidate_id: person.record.candidate.id,
        touchpoint: links.touchpoint(touchpoint.clone(), access),
    })
}

/// The rows of a person's voice screens, newest first. Those that were read without their records have no results.
pub fn screens(person: &ExportedPerson, access: ScreenAccess) -> impl Iterator<Item = ScreenRow> {
    person.screens.iter().map(move |ExportedPersonScreen { screen, record }| match record.clone() {
        Some((record, transcript)) => ScreenRow {
            screen: access.screen(record.screen),
            transcript: Some(transcript),
            highlights: Some(record.highlights),
            red_flags: Some(record.red_flags),
            assessment: record.assessment,
        },
        None => ScreenRow {
            screen: access.screen(screen.clone()),
            transcript: None,
            highlights: None,
            red_flags: None,
            assessment: None,
        },
    })
}

/// The columns of people in a spreadsheet, as an import reads them.
const PERSON_COLUMNS: [&str; 26] = [
    "id",
    "version",
    "candidate_stage",
    "updated_at",
    "external_id",
    "name",
    "email",
    "phone",
    "source",
    "tags",
    "created_at",
    "resume_url",
    "notes",
    "files",
    "consents",
    "application_external_id",
    "role_external_id",
    "role",
    "applied_at",
    "stage",
    "status",
    "rejected_by",
    "rejection_reason",
    "rejected_at",
    "answers",
    "stage_changes",
];

/// The columns of a kind in a spreadsheet.
pub const fn columns(kind: ExportKind) -> &'static [&'static str] {
    match kind {
        ExportKind::Candidates => &PERSON_COLUMNS,
        ExportKind::Applications => &[
            "id",
            "candidate_id",
            "role_id",
            "role_title",
            "stage",
            "status",
            "source",
            "external_id",
            "applied_at",
            "reapplied_at",
            "resubmissions",
            "stage_changed_at",
            "rejection",
            "rejection_reason",
            "start_date",
            "resume_file_id",
            "created_at",
            "updated_at",
            "name",
            "email",
            "offered",
            "answers",
        ],
        ExportKind::Roles => &[
            "id",
            "title",
            "status",
            "department",
            "description",
            "location",
            "country",
            "locations",
            "remote_policy",
            "employment_type",
            "salary_min",
            "salary_max",
            "salary_currency",
            "pay",
            "closes_on",
            "closes_at",
            "external_id",
            "job_posting_id",
            "job_posting_url",
            "created_at",
            "updated_at",
        ],
        ExportKind::JobPostings => &[
            "id",
            "role_id",
            "title",
            "slug",
            "published",
            "public_url",
            "public_description",
            "requirements",
            "questions",
            "created_at",
            "updated_at",
        ],
        ExportKind::Notes => &["id", "candidate_id", "text", "actor", "created_at", "updated_at"],
        ExportKind::VoiceScreens => &[
            "id",
            "candidate_id",
            "role_id",
            "status",
            "scheduled_at",
            "started_at",
            "completed_at",
            "duration_seconds",
            "summary",
            "scores",
            "result",
            "review",
            "created_at",
            "updated_at",
            "transcript",
            "highlights",
            "red_flags",
            "assessment",
        ],
        ExportKind::Touchpoints => &["candidate_id", "id", "kind", "detail", "at", "actor"],
    }
}

/// The cells of a row of a kind, in the order of its columns.
pub fn cells(kind: ExportKind, row: &impl Serialize) -> Result<Vec<String>, serde_json::Error> {
    let row = serde_json::to_value(row)?;
    Ok(columns(kind).iter().map(|column| cell(row.get(column)).into_owned()).collect())
}

/// Whether a spreadsheet may cut one of the cells.
pub fn is_too_long(cells: &[String]) -> bool {
    cells.iter().any(|cell| cell.chars().nth(MAX_CELL).is_some())
}

/// A value in a cell: a text, a list of texts, or JSON.
fn cell(value: Option<&Value>) -> Cow<'_, str> {
    match value {
        None | Some(Value::Null) => Cow::Borrowed(""),
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(Value::Array(list)) => match list.iter().map(Value::as_str).collect::<Option<Vec<_>>>() {
            Some(texts) => Cow::Owned(spreadsheet::list(texts.into_iter())),
            None => Cow::Owned(Value::Array(list.clone()).to_string()),
        },
        Some(value) => Cow::Owned(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cell_is_a_text_a_list_or_json() {
        for (value, expected) in [
            (json!(null), ""),
            (json!("=1"), "=1"),
            (json!(7), "7"),
            (json!(true), "true"),
            (json!(["a", "b"]), "a; b"),
            (json!([]), ""),
            (json!([{ "a": 1 }]), r#"[{"a":1}]"#),
            (json!({ "a": null }), r#"{"a":null}"#),
        ] {
            assert_eq!(cell(Some(&value)), expected);
        }
        assert_eq!(cell(None), "");
    }

    #[test]
    fn a_cell_of_more_than_32000_characters_is_too_long() {
        let cells = |length: usize| vec!["short".to_owned(), "ü".repeat(length)];
        assert!(!is_too_long(&cells(32_000)) && is_too_long(&cells(32_001)));
    }
}
