//! What a row says about a person, in the terms of the domain.

use shared::clock::Timestamp;
use shared::handlers::consents::NewConsent;
use shared::handlers::import_row::{ImportApplication, ImportNote, ImportRejection, ImportRow};
use shared::http::Change;
use shared::id::Id;
use shared::model::{
    Answer, AnswerValue, ApplicationStatus, CandidateRecord, Cause, Country, EndedBy, ExternalId, LongAnswer,
    Move, NoteText, Phone, Profile, QuestionLabel, Resume, RoleStatus, Source, Stage, Tags,
};

use super::roles::{RoleFound, Roles};
use super::worker::Worker;
use crate::TaskError;

/// A person of a row.
#[derive(Clone, Debug)]
pub(super) struct Person {
    /// What the row says.
    pub(super) profile: Profile,
    /// Since when the other system has the person.
    pub(super) created_at: Option<Timestamp>,
    /// The applications, first the oldest.
    pub(super) applications: Vec<RowApplication>,
    /// The notes, first the oldest.
    pub(super) notes: Vec<RowNote>,
    /// The consents.
    pub(super) consents: Vec<NewConsent>,
}

/// A note of a row.
#[derive(Clone, Debug)]
pub(super) struct RowNote {
    /// The text, with its author.
    pub(super) text: NoteText,
    /// When it was written.
    pub(super) at: Option<Timestamp>,
}

/// An application of a row.
#[derive(Clone, Debug)]
pub(super) struct RowApplication {
    /// The role.
    pub(super) role: RoleFound,
    /// Where the row says that the person comes from.
    pub(super) source: Option<Source>,
    /// The identifier in another system.
    pub(super) external_id: Option<ExternalId>,
    /// When the person applied.
    pub(super) applied_at: Timestamp,
    /// The moves, in their order.
    pub(super) moves: Vec<(Timestamp, Move)>,
    /// The labels and the answers.
    pub(super) answers: Vec<(QuestionLabel, LongAnswer)>,
}

impl RowApplication {
    /// The stage that it ends in, if the row says more than that the person applied.
    pub(super) fn stage(&self) -> Option<Stage> {
        self.moves.last().and_then(|(_, last)| match last {
            Move::Advance(stage) => Some(*stage),
            Move::Reject { .. } => Some(Stage::Rejected),
            Move::Hire { .. } => Some(Stage::Hired),
            Move::Unreject | Move::Unhire => None,
        })
    }

    /// Its answers, as an application has them.
    pub(super) fn answers(&self, next: impl Fn() -> Id) -> Vec<Answer> {
        let answer = |(label, value): &(QuestionLabel, LongAnswer)| Answer {
            question_id: next(),
            label: label.clone(),
            value: AnswerValue::LongText(value.clone()),
        };
        self.answers.iter().map(answer).collect()
    }
}

impl Person {
    /// Since when we say that the person is known: no later than the first application.
    pub(super) fn since(&self, now: Timestamp) -> Timestamp {
        let applied = self.applications.iter().map(|application| application.applied_at).min();
        self.created_at.into_iter().chain(applied).min().unwrap_or(now)
    }

    /// The profile of a known person with what the row adds or, with `overwrite`, replaces.
    pub(super) fn merged(&self, known: &Profile, overwrite: bool) -> Profile {
        fn chosen<T: Clone>(known: Option<&T>, given: Option<&T>, overwrite: bool) -> Option<T> {
            let (first, second) = if overwrite { (given, known) } else { (known, given) };
            first.or(second).cloned()
        }
        let Profile { name, email, phone, resume, source, tags, external_id } = &self.profile;
        let has_file = known.resume.as_ref().and_then(Resume::file).is_some();
        Profile {
            name: if overwrite { name } else { &known.name }.clone(),
            email: chosen(known.email.as_ref(), email.as_ref(), overwrite),
            phone: chosen(known.phone.as_ref(), phone.as_ref(), overwrite),
            // A link does not replace a file.
            resume: chosen(known.resume.as_ref(), resume.as_ref(), overwrite && !has_file),
            source: chosen(known.source.as_ref(), source.as_ref(), overwrite),
            tags: Tags::of(known.tags.iter().chain(tags.iter()).cloned()),
            external_id: chosen(known.external_id.as_ref(), external_id.as_ref(), overwrite),
        }
    }
}

impl Worker<'_> {
    /// Reads a row. Fails with all that is wrong with it; warnings are added to `messages`.
    pub(super) async fn read_person(
        &self,
        roles: &Roles,
        row: ImportRow,
        messages: &mut Vec<String>,
    ) -> Result<Result<Person, Vec<String>>, TaskError> {
        let (defaults, mut wrong) = (&self.import.settings.defaults, Vec::new());
        let source = row.source.or_else(|| defaults.source.clone());
        let mut applications = Vec::new();
        let named = row.applications.unwrap_or_default();
        let has_none = named.is_empty();
        for (index, application) in named.into_iter().enumerate() {
            let path = format!("applications[{index}]");
            match self.find_named_role(roles, &application.role).await? {
                Err(problem) => wrong.push(format!("{path}.role.{problem}")),
                Ok(role) => match self.read_application(&path, application, role, row.created_at, messages) {
                    Ok(read) => applications.push(RowApplication { source: source.clone(), ..read }),
                    Err(problems) => wrong.extend(problems),
                },
            }
        }
        if let Some(id) = defaults.role_id.filter(|_| has_none) {
            match self.find_role_by_id(roles, id).await? {
                None => wrong.push(format!("defaults.role_id is not the id of a role any more: {id}")),
                Some(role) => applications.push(RowApplication {
                    role,
                    source: source.clone(),
                    external_id: None,
                    applied_at: row.created_at.unwrap_or(self.now),
                    moves: Vec::new(),
                    answers: Vec::new(),
                }),
            }
        }
        applications.sort_by_key(|application| application.applied_at);
        let mut seen = std::collections::HashSet::new();
        for application in &applications {
            let key = match &application.role {
                RoleFound::Known(role) => role.id.to_string(),
                RoleFound::Missing(_, Some(id)) => format!("external {}", id.as_str()),
                RoleFound::Missing(title, None) => {
                    shared::model::CaseFolded::of(title.as_str()).as_str().to_owned()
                }
            };
            if !seen.insert(key) {
                wrong.push("applications has two for one role".to_owned());
                break;
            }
        }
        let country = applications.iter().find_map(|application| match &application.role {
            RoleFound::Known(role) => role.content.places.country(),
            RoleFound::Missing(..) => None,
        });
        let phone = match row.phone {
            None => None,
            Some(given) => match read_phone(&given, country.or(self.settings.country)) {
                Ok(phone) => Some(phone),
                Err(problem) => {
                    wrong.push(format!("phone {problem}"));
                    None
                }
            },
        };
        let mut notes: Vec<_> = row.notes.into_iter().flatten().map(read_note).collect();
        notes.sort_by_key(|note| note.at);
        let consents: Vec<_> = row.consents.unwrap_or_default();
        for (index, consent) in consents.iter().enumerate() {
            if consent.obtained_at > self.now {
                wrong.push(format!("consents[{index}].obtained_at must not be in the future"));
            }
        }
        if consents.len() > CandidateRecord::MAX_CONSENTS {
            wrong.push(format!("consents must have at most {} items", CandidateRecord::MAX_CONSENTS));
        }
        let tags = match row.tags {
            Change::Set(tags) => tags,
            Change::Keep | Change::Clear => Vec::new(),
        };
        let profile = Profile {
            name: row.name,
            email: row.email,
            phone,
            resume: row.resume_url.map(Resume::Address),
            source,
            tags: Tags::of(tags.into_iter().chain(defaults.tags.iter().cloned())),
            external_id: row.external_id,
        };
        let created_at = row.created_at;
        let first = applications.first().map(|application: &RowApplication| application.applied_at);
        if first.zip(created_at).is_some_and(|(first, created)| first < created) {
            messages.push("created_at is after the first application, whose time counts for both".to_owned());
        }
        let person = Person { profile, created_at, applications, notes, consents };
        Ok(if wrong.is_empty() { Ok(person) } else { Err(wrong) })
    }

    /// Reads an application.
    fn read_application(
        &self,
        path: &str,
        row: ImportApplication,
        role: RoleFound,
        created_at: Option<Timestamp>,
        messages: &mut Vec<String>,
    ) -> Result<RowApplication, Vec<String>> {
        let mut wrong = Vec::new();
        let mut changes: Vec<_> =
            row.stage_changes.into_iter().flatten().map(|change| (change.stage, change.at)).collect();
        changes.sort_by_key(|(_, at)| *at);
        let first = changes.first().map(|(_, at)| *at);
        let rejected_at = row.rejection.as_ref().and_then(|rejection| rejection.at);
        let applied_at = row.applied_at.or(created_at).or(first).or(rejected_at).unwrap_or(self.now);
        if rejected_at.is_some_and(|at| at < applied_at) {
            messages
                .push(format!("{path}.rejection.at is before the application, whose time counts for both"));
        }
        let status =
            status_of(row.status, row.stage, row.rejection.as_ref(), changes.last().map(|last| last.0));
        let status = status.map_err(|problem| vec![format!("{path}.{problem}")])?;
        let is_open = matches!(&role, RoleFound::Known(role) if role.status != RoleStatus::Closed);
        if status == ApplicationStatus::Closed && is_open {
            messages.push(format!("{path}.status is closed, but the role is not: the application is active"));
        }
        // How it ended last is all that is known of an end that was undone.
        let ended_at = changes.last().filter(|(stage, _)| stage.is_end()).map(|(_, at)| *at);
        let is_undone = |(index, (stage, _)): (usize, &(Stage, Timestamp))| {
            stage.is_end() && (index + 1 < changes.len() || status == ApplicationStatus::Active)
        };
        if changes.iter().enumerate().any(is_undone) {
            messages.push(format!("{path}.stage_changes has an end that was undone: it is left out"));
        }
        let (mut moves, mut stage, mut latest) = (Vec::new(), Stage::Applied, applied_at);
        for (to, at) in changes.iter().filter(|(to, _)| !to.is_end()) {
            latest = latest.max(*at);
            if *to != stage {
                moves.push((*at, Move::Advance(*to)));
                stage = *to;
            }
        }
        if let Some(to) = row.stage.filter(|to| !to.is_end() && *to != stage) {
            moves.push((latest, Move::Advance(to)));
        }
        match status {
            ApplicationStatus::Rejected => {
                let ImportRejection { by, reason, at } =
                    row.rejection.unwrap_or(ImportRejection { by: EndedBy::Team, reason: None, at: None });
                let cause = Cause { reason, ..Cause::by(by) };
                let at = at.or(ended_at).unwrap_or(latest).max(latest);
                moves.push((at, Move::Reject { cause, notes: None }));
            }
            ApplicationStatus::Hired => {
                let at = ended_at.unwrap_or(latest).max(latest);
                moves.push((at, Move::Hire { start_date: None }));
            }
            ApplicationStatus::Active | ApplicationStatus::Closed => {}
        }
        let mut answers = Vec::new();
        for (index, answer) in row.answers.into_iter().flatten().enumerate() {
            match QuestionLabel::parse(answer.label.as_str()) {
                Ok(Some(label)) => answers.push((label, answer.value)),
                Ok(None) => wrong.push(format!("{path}.answers[{index}].label can't be blank")),
                Err(problem) => wrong.push(format!("{path}.answers[{index}].label {problem}")),
            }
        }
        let length: usize = answers.iter().map(|(_, value)| value.as_str().chars().count()).sum();
        if length > Answer::MAX_LENGTH {
            wrong.push(format!("{path}.answers {}", Answer::TOO_LONG));
        }
        let external_id = row.external_id;
        let read = RowApplication { role, source: None, external_id, applied_at, moves, answers };
        if wrong.is_empty() { Ok(read) } else { Err(wrong) }
    }

    async fn find_role_by_id(&self, roles: &Roles, id: Id) -> Result<Option<RoleFound>, TaskError> {
        let named = shared::handlers::import_row::ImportRole { id: Some(id), external_id: None, title: None };
        Ok(self.find_named_role(roles, &named).await?.ok())
    }
}

/// The status of an application, from all that a row says about it. Fails with a sentence about a field.
fn status_of(
    status: Option<ApplicationStatus>,
    stage: Option<Stage>,
    rejection: Option<&ImportRejection>,
    last: Option<Stage>,
) -> Result<ApplicationStatus, String> {
    let by_stage = |stage: Stage| match stage {
        Stage::Rejected => Some(ApplicationStatus::Rejected),
        Stage::Hired => Some(ApplicationStatus::Hired),
        _ => None,
    };
    let said = status.or_else(|| stage.and_then(by_stage));
    let status = match said {
        Some(status) => status,
        None if rejection.is_some() => ApplicationStatus::Rejected,
        None if stage.is_some() => ApplicationStatus::Active,
        None => last.and_then(by_stage).unwrap_or(ApplicationStatus::Active),
    };
    if let Some(other) = stage.and_then(by_stage).filter(|other| *other != status) {
        return Err(format!("status is {}, but the stage says {}", status.as_str(), other.as_str()));
    }
    if rejection.is_some() && status != ApplicationStatus::Rejected {
        return Err(format!("rejection can't be given beside the status {}", status.as_str()));
    }
    Ok(status)
}

fn read_phone(given: &shared::model::GivenPhone, country: Option<Country>) -> Result<Phone, String> {
    match given.international() {
        Some(phone) => Ok(phone.clone()),
        None => given.in_country(country).map_err(|problem| problem.to_string()),
    }
}

/// A note that says who wrote it. The author is no actor of ours, so the name is in the text.
fn read_note(note: ImportNote) -> RowNote {
    let ImportNote { text, author, at } = note;
    let Some(author) = author else { return RowNote { text, at } };
    let signed = NoteText::parse(&format!("{}\n\n({})", text.as_str(), author.as_str()));
    // A note that is as long as it can be has no room for its author.
    RowNote { text: signed.ok().flatten().unwrap_or(text), at }
}
