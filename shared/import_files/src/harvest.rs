//! Greenhouse's Harvest API, version 3: flat lists whose objects refer to each other by their ids.

use std::collections::BTreeMap;

use shared::model::{ApplicationStatus, CandidateFileKind, EndedBy};

use crate::objects::{Lists, Object, id};
use crate::people::{Belongings, System, id_of};
use crate::person::{Application, Person, Rejection, Role};

const APPLICATIONS: &str = "applications";
const JOBS: &str = "jobs";
const NOTES: &str = "notes";
const ATTACHMENTS: &str = "attachments";
const USERS: &str = "users";
const SOURCES: &str = "sources";
const REJECTION_REASONS: &str = "rejection_reasons";
const APPLICATION_STAGES: &str = "application_stages";
const JOB_INTERVIEW_STAGES: &str = "job_interview_stages";

/// The notes that the system writes itself.
const OWN_NOTES: [&str; 2] = ["ACTIVITY", "MIGRATION_ERROR"];
/// Who can see a note that everybody can see who can see the person.
const PUBLIC: &str = "publicly_visible";

/// The lists, with what belongs to each candidate or application.
pub(crate) struct Harvest<'l> {
    lists: &'l Lists<'l>,
    applications: Belongings<'l>,
    notes: Belongings<'l>,
    attachments: Belongings<'l>,
    /// The stages in which each application has been.
    moves: Belongings<'l>,
}

impl<'l> System<'l> for Harvest<'l> {
    const LISTS: &'static [&'static str] = &[
        "candidates",
        APPLICATIONS,
        JOBS,
        NOTES,
        ATTACHMENTS,
        USERS,
        SOURCES,
        REJECTION_REASONS,
        APPLICATION_STAGES,
        JOB_INTERVIEW_STAGES,
    ];

    fn new(lists: &'l Lists<'l>) -> Self {
        Self {
            lists,
            applications: Belongings::new(lists, APPLICATIONS, "candidate_id"),
            notes: Belongings::new(lists, NOTES, "candidate_id"),
            attachments: Belongings::new(lists, ATTACHMENTS, "candidate_id"),
            moves: Belongings::new(lists, APPLICATION_STAGES, "application_id"),
        }
    }

    fn describe(&self, candidate: &Object, person: &mut Person<'_>) -> bool {
        let id = id_of(candidate);
        person.set_external_id(id.clone());
        person.set_name(candidate);
        person.set_email(candidate);
        person.set_phone(candidate);
        person.set_tags(candidate);
        let created_at = person.time(candidate, "created_at");
        person.set_created_at(created_at);
        person.tell_limits(candidate.get("private"), candidate.get("can_email"));
        let Some(id) = id else { return true };
        for application in self.applications.of(&id) {
            self.describe_application(&application, person);
        }
        let mut hidden = 0;
        for note in self.notes.of(&id) {
            if person.text(&note, "type").is_some_and(|kind| OWN_NOTES.contains(&kind.as_str())) {
                continue;
            }
            if person.text(&note, "visibility").is_some_and(|visibility| visibility != PUBLIC) {
                hidden += 1;
                continue;
            }
            let author = self.find(USERS, &note, "user_id").and_then(|user| person.text(&user, "name"));
            let texts = [person.text(&note, "subject"), person.text(&note, "body")];
            let at = person.time(&note, "created_at");
            let text = texts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
            person.note(&text, author.as_deref(), at.as_deref());
        }
        person.tell_hidden(hidden);
        for attachment in self.attachments.of(&id) {
            let kind = match person.text(&attachment, "type").as_deref() {
                Some("resume") => CandidateFileKind::Resume,
                Some("cover_letter") => CandidateFileKind::CoverLetter,
                Some("take_home_test" | "form_attachment" | "other") | None => CandidateFileKind::Other,
                // Offers and agreements are the employer's.
                Some(_) => continue,
            };
            if let Some(name) = person.text(&attachment, "filename") {
                person.add_file(&name, kind);
            }
        }
        true
    }

    fn warnings(&self) -> Vec<String> {
        let missing = Self::LISTS.iter().filter(|list| self.lists.get(list).is_none());
        let missing: Vec<_> = missing.map(|list| format!("`{list}`")).collect();
        let mut warnings = Vec::new();
        if !missing.is_empty() {
            warnings.push(format!("Lists that are missing: {}", missing.join(", ")));
        }
        let belongings = [&self.applications, &self.notes, &self.attachments];
        warnings.extend(belongings.into_iter().filter_map(|belongings| belongings.warning(self.lists)));
        let mut titles = BTreeMap::<String, u64>::new();
        for job in self.lists.entries(JOBS).iter().filter_map(crate::objects::Entry::read) {
            if let Some(title) = job.get("name").and_then(serde_json::Value::as_str) {
                *titles.entry(title.trim().to_owned()).or_default() += 1;
            }
        }
        for (title, count) in titles.into_iter().filter(|(_, count)| *count > 1) {
            warnings
                .push(format!("{count} jobs are called \"{title}\": their applications come into one role"));
        }
        warnings
    }
}

impl Harvest<'_> {
    /// The object of a list to which a field refers.
    fn find(&self, list: &str, object: &Object, field: &str) -> Option<Object> {
        self.lists.find(list, &id(object.get(field)?)?)
    }

    /// The name of the object to which a field refers.
    fn name(&self, list: &str, object: &Object, field: &str, person: &mut Person<'_>) -> Option<String> {
        self.find(list, object, field).and_then(|found| person.text(&found, "name"))
    }

    fn describe_application(&self, application: &Object, person: &mut Person<'_>) {
        let external_id = id_of(application);
        let status = person.text(application, "status");
        let status = match status.as_deref() {
            Some("rejected") => ApplicationStatus::Rejected,
            Some("hired") => ApplicationStatus::Hired,
            // It became another application, which is in the list, too.
            Some("converted") => return,
            _ => ApplicationStatus::Active,
        };
        let title = self.name(JOBS, application, "job_id", person);
        let role = match (title, application.get("job_id").and_then(id)) {
            (Some(title), _) => Role::Title(title),
            (None, Some(id)) => Role::Unnamed(id),
            (None, None) => return self.describe_prospect(application, person),
        };
        let mut moves = Vec::new();
        for entered in external_id.iter().flat_map(|id| self.moves.of(id)) {
            let name = self.name(JOB_INTERVIEW_STAGES, &entered, "job_interview_stage_id", person);
            let at = person.time(&entered, "entered_at");
            moves.extend(name.zip(at));
        }
        let stage = person
            .text(application, "stage_name")
            .or_else(|| self.name(JOB_INTERVIEW_STAGES, application, "job_interview_stage_id", person))
            // An application that has ended is in no stage.
            .or_else(|| moves.iter().max_by_key(|(_, at)| at).map(|(name, _)| name.clone()));
        let rejection = (status == ApplicationStatus::Rejected).then(|| {
            let reason = self.find(REJECTION_REASONS, application, "rejection_reason_id");
            let key = reason.as_ref().and_then(|reason| reason.get("type")?.get("key")?.as_str());
            let by = if key == Some("THEY_REJECTED_US") { EndedBy::Candidate } else { EndedBy::Team };
            let reason = reason.as_ref().and_then(|reason| person.text(reason, "name"));
            Rejection { by, reason, at: person.time(application, "rejected_at") }
        });
        let mut answers = Vec::new();
        for answer in person.list(application, "answers") {
            let Some(answer) = answer.as_object() else { continue };
            let (question, text) = (person.text(answer, "question"), person.text(answer, "answer"));
            answers.extend(text.map(|text| (question.unwrap_or_else(|| "Question".to_owned()), text)));
        }
        let application = Application {
            external_id,
            role,
            applied_at: person.time(application, "created_at"),
            source: self.name(SOURCES, application, "source_id", person),
            stage,
            status,
            rejection,
            answers,
            moves,
        };
        person.add_application(application);
    }

    /// A prospect has no job, or several that are only thought of.
    fn describe_prospect(&self, application: &Object, person: &mut Person<'_>) {
        let mut titles = Vec::new();
        for job in person.list(application, "prospective_job_ids") {
            let job = id(job).and_then(|id| self.lists.find(JOBS, &id));
            titles.extend(job.and_then(|job| person.text(&job, "name")));
        }
        person.warn("applications: one of a prospect was left out, because it has no job");
        if !titles.is_empty() {
            person.keep(&format!("Prospect for: {}", titles.join(", ")));
        }
    }
}
