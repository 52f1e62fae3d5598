//! Merge's unified model of applicant tracking systems: candidates whose applications are objects or ids.

use std::collections::HashSet;

use serde_json::Value;
use shared::model::{ApplicationStatus, CandidateFileKind, EndedBy, Stage};

use crate::objects::{Lists, Object, id, reference};
use crate::people::{Belongings, System, id_of};
use crate::person::{Application, Person, Rejection, Role};
use crate::stages;

const APPLICATIONS: &str = "applications";
const ATTACHMENTS: &str = "attachments";
const ACTIVITIES: &str = "activities";
const JOBS: &str = "jobs";
const STAGES: &str = "job_interview_stages";
const REASONS: &str = "reject_reasons";
const USERS: &str = "users";

/// The lists, with what belongs to each candidate.
pub(crate) struct Merge<'l> {
    lists: &'l Lists<'l>,
    applications: Belongings<'l>,
    attachments: Belongings<'l>,
    activities: Belongings<'l>,
}

impl<'l> System<'l> for Merge<'l> {
    const LISTS: &'static [&'static str] =
        &["candidates", APPLICATIONS, ATTACHMENTS, ACTIVITIES, JOBS, STAGES, REASONS, USERS];

    fn new(lists: &'l Lists<'l>) -> Self {
        Self {
            lists,
            applications: Belongings::new(lists, APPLICATIONS, "candidate"),
            attachments: Belongings::new(lists, ATTACHMENTS, "candidate"),
            activities: Belongings::new(lists, ACTIVITIES, "candidate"),
        }
    }

    fn describe(&self, candidate: &Object, person: &mut Person<'_>) -> bool {
        if is_deleted(candidate) {
            return false;
        }
        person.set_external_id(remote_id(candidate));
        person.set_name(candidate);
        person.set_email(candidate);
        person.set_phone(candidate);
        person.set_tags(candidate);
        let created_at = person.time(candidate, "remote_created_at");
        person.set_created_at(created_at);
        person.tell_limits(candidate.get("is_private"), candidate.get("can_email"));
        for application in self.all(candidate, APPLICATIONS, &self.applications, person) {
            self.describe_application(&application, person);
        }
        for attachment in self.all(candidate, ATTACHMENTS, &self.attachments, person) {
            let kind = match person.text(&attachment, "attachment_type").as_deref() {
                Some("RESUME") => CandidateFileKind::Resume,
                Some("COVER_LETTER") => CandidateFileKind::CoverLetter,
                // It is the employer's.
                Some("OFFER_LETTER") => continue,
                _ => CandidateFileKind::Other,
            };
            if let Some(name) = person.text(&attachment, "file_name") {
                person.add_file(&name, kind);
            }
        }
        let mut hidden = 0;
        for activity in id_of(candidate).iter().flat_map(|id| self.activities.of(id)) {
            let kind = person.text(&activity, "activity_type");
            if is_deleted(&activity) || !matches!(kind.as_deref(), Some("NOTE" | "EMAIL")) {
                continue;
            }
            if matches!(person.text(&activity, "visibility").as_deref(), Some("ADMIN_ONLY" | "PRIVATE")) {
                hidden += 1;
                continue;
            }
            let author = self.object(USERS, activity.get("user")).map(|user| {
                let names = ["first_name", "last_name"].map(|field| person.text(&user, field));
                names.into_iter().flatten().collect::<Vec<_>>().join(" ")
            });
            let texts = [person.text(&activity, "subject"), person.text(&activity, "body")];
            let at = person.time(&activity, "remote_created_at");
            let text = texts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
            person.note(&text, author.as_deref(), at.as_deref());
        }
        person.tell_hidden(hidden);
        true
    }

    fn warnings(&self) -> Vec<String> {
        let belongings = [&self.applications, &self.attachments, &self.activities];
        belongings.into_iter().filter_map(|belongings| belongings.warning(self.lists)).collect()
    }
}

/// Whether the other system has deleted what the object describes.
fn is_deleted(object: &Object) -> bool {
    object.get("remote_was_deleted") == Some(&Value::Bool(true))
}

/// The id in the system behind Merge, or else Merge's own.
fn remote_id(object: &Object) -> Option<String> {
    object.get("remote_id").and_then(id).or_else(|| id_of(object))
}

impl Merge<'_> {
    /// The object that a field has or refers to.
    fn object(&self, list: &str, value: Option<&Value>) -> Option<Object> {
        match value? {
            Value::Object(object) => Some(object.clone()),
            value => self.lists.find(list, &id(value)?),
        }
    }

    /// What a candidate has in a list: in it, or in the list of all candidates.
    fn all(
        &self,
        candidate: &Object,
        list: &'static str,
        belongings: &Belongings<'_>,
        person: &mut Person<'_>,
    ) -> Vec<Object> {
        let (mut all, mut seen, mut unnamed) = (Vec::new(), HashSet::new(), 0);
        let own = person.list(candidate, list);
        // The object in the list of all may have more.
        for object in id_of(candidate).iter().flat_map(|id| belongings.of(id)) {
            seen.extend(id_of(&object));
            all.push(object);
        }
        for value in own {
            if reference(value).is_some_and(|id| !seen.insert(id)) {
                continue;
            }
            match self.object(list, Some(value)) {
                Some(object) => all.push(object),
                None => unnamed += 1,
            }
        }
        if unnamed > 0 {
            person.warn(format!("{list} has {unnamed} that are not described, and were left out"));
        }
        all.retain(|object| !is_deleted(object));
        all
    }

    fn describe_application(&self, application: &Object, person: &mut Person<'_>) {
        let job = application.get("job");
        let title = self.object(JOBS, job).and_then(|job| person.text(&job, "name"));
        let role = match (title, job.and_then(reference)) {
            (Some(title), _) => Role::Title(title),
            (None, Some(id)) => Role::Unnamed(id),
            (None, None) => return person.warn("applications: one was left out, because it has no job"),
        };
        let stage = application.get("current_stage");
        let name = self.object(STAGES, stage).and_then(|stage| person.text(&stage, "name"));
        if name.is_none() && stage.and_then(reference).is_some() {
            person.warn("applications: the stage of one is not described, and was left out");
        }
        let reason = application.get("reject_reason");
        let reason_name = self.object(REASONS, reason).and_then(|reason| person.text(&reason, "name"));
        let at = person.time(application, "rejected_at");
        let is_rejected = at.is_some() || reason.and_then(reference).is_some() || reason_name.is_some();
        if reason_name.is_none() && reason.and_then(reference).is_some() {
            person.warn("applications: the reason of a rejection is not described, and was left out");
        }
        let status = match name.as_deref().map(stages::named) {
            _ if is_rejected => ApplicationStatus::Rejected,
            Some(Ok(Stage::Rejected)) => ApplicationStatus::Rejected,
            Some(Ok(Stage::Hired)) => ApplicationStatus::Hired,
            _ => ApplicationStatus::Active,
        };
        let rejection = is_rejected.then_some(Rejection { by: EndedBy::Team, reason: reason_name, at });
        let mut answers = Vec::new();
        for answer in person.list(application, "screening_question_answers") {
            let Some(answer) = answer.as_object().filter(|answer| !is_deleted(answer)) else { continue };
            let question = answer.get("question");
            let label =
                question.and_then(Value::as_object).and_then(|question| person.text(question, "title"));
            let label = label.or_else(|| Some(format!("Question {}", reference(question?)?)));
            let text = person.text(answer, "answer");
            answers.extend(text.map(|text| (label.unwrap_or_else(|| "Question".to_owned()), text)));
        }
        let application = Application {
            external_id: remote_id(application),
            role,
            applied_at: person.time(application, "applied_at"),
            source: person.text(application, "source"),
            stage: name,
            status,
            rejection,
            answers,
            moves: Vec::new(),
        };
        person.add_application(application);
    }
}
