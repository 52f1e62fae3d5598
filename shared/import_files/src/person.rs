//! The row of a person whom another system describes in its own words.
//!
//! No person is lost for a detail: what cannot be read is left out with a warning, and what a field has no room for stands whole
//! in a note.

use serde_json::{Value, json};
use shared::clock::Timestamp;
use shared::model::{
    ApplicationStatus, CandidateFileKind, Email, EndedBy, Name, NoteText, Stage, Tag, Tags, non_blank,
};

use crate::cell::Cell;
use crate::objects::Object;
use crate::row::{MAX_APPLICATIONS, MAX_ENTRIES, MAX_FILES, read_line};
use crate::{MAX_ROW, Settings, dates, names, phones, stages};

/// The maximum numbers of characters of texts without a type of their own.
const MAX_LINE: usize = 200;
const MAX_SOURCE: usize = 100;
const MAX_REASON: usize = 500;
const MAX_ANSWER: usize = 5_000;
const MAX_FILE_NAME: usize = 500;

/// An application, in the words of the other system.
pub(crate) struct Application {
    pub(crate) external_id: Option<String>,
    pub(crate) role: Role,
    pub(crate) applied_at: Option<String>,
    pub(crate) source: Option<String>,
    /// The name of the stage.
    pub(crate) stage: Option<String>,
    pub(crate) status: ApplicationStatus,
    pub(crate) rejection: Option<Rejection>,
    /// Questions with their answers.
    pub(crate) answers: Vec<(String, String)>,
    /// The names of stages, each with the time of the move there.
    pub(crate) moves: Vec<(String, String)>,
}

/// The role of an application.
pub(crate) enum Role {
    Title(String),
    /// The id in the other system, of a role that is not described.
    Unnamed(String),
}

/// The end of an application.
pub(crate) struct Rejection {
    pub(crate) by: EndedBy,
    pub(crate) reason: Option<String>,
    pub(crate) at: Option<String>,
}

/// A row that is being made.
pub(crate) struct Person<'s> {
    settings: &'s Settings,
    row: Object,
    notes: Vec<Value>,
    files: Vec<Value>,
    applications: Vec<Value>,
    /// Sources, each with the time of its application.
    sources: Vec<(Option<String>, String)>,
    warnings: Vec<String>,
}

impl<'s> Person<'s> {
    pub(crate) fn new(settings: &'s Settings) -> Self {
        Self {
            settings,
            row: Object::new(),
            notes: Vec::new(),
            files: Vec::new(),
            applications: Vec::new(),
            sources: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(crate) fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// Keeps in a note what the row has no field for.
    pub(crate) fn keep(&mut self, text: &str) {
        self.note(text, None, None);
    }

    /// The text in a field; `None` if it is blank.
    pub(crate) fn text(&mut self, object: &Object, field: &str) -> Option<String> {
        match object.get(field) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => clean(text),
            Some(_) => {
                self.warn(format!("`{field}` is not a text, and was left out"));
                None
            }
        }
    }

    /// The time in a field, in UTC.
    pub(crate) fn time(&mut self, object: &Object, field: &str) -> Option<String> {
        let text = self.text(object, field)?;
        let read = dates::read(&Cell::text(&text), self.settings.date_format).ok();
        let time = read.and_then(|read| read.in_zone(&self.settings.time_zone.zone()));
        if time.is_none() {
            self.warn(format!("`{field}` is not a time, and was left out"));
        }
        time.map(|time| time.to_string())
    }

    /// Says what the team must know about a person whom not everybody could see, or who may not be written to.
    pub(crate) fn tell_limits(&mut self, is_private: Option<&Value>, can_email: Option<&Value>) {
        if is_private == Some(&Value::Bool(true)) {
            self.warn("the person was private: every member will see him or her");
        }
        if can_email == Some(&Value::Bool(false)) {
            self.warn("the person has not agreed to e-mails: a note says so");
            self.keep("Has not agreed to e-mails.");
        }
    }

    /// Says how many notes were left out.
    pub(crate) fn tell_hidden(&mut self, count: u64) {
        if count > 0 {
            self.warn(format!("notes: {count} that not everybody could see were left out"));
        }
    }

    /// The objects or texts in a list.
    pub(crate) fn list<'o>(&mut self, object: &'o Object, field: &str) -> &'o [Value] {
        match object.get(field) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(list)) => list,
            Some(_) => {
                self.warn(format!("`{field}` is not a list, and was left out"));
                &[]
            }
        }
    }

    pub(crate) fn set_external_id(&mut self, id: Option<String>) {
        match id {
            Some(id) => self.set("external_id", id),
            None => self.warn("external_id is missing: the person can't be recognized in another import"),
        }
    }

    fn set(&mut self, field: &str, value: impl Into<Value>) {
        self.row.insert(field.to_owned(), value.into());
    }

    /// Takes the name from the fields `first_name` and `last_name`, in one line.
    pub(crate) fn set_name(&mut self, object: &Object) {
        let parts = ["first_name", "last_name"].map(|field| self.text(object, field));
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        let name = self.fit("name", &parts.join(" "), Name::MAX_LENGTH).unwrap_or_default();
        if let Some(doubt) = names::doubt(&name) {
            self.warn(doubt);
        }
        self.set("name", name);
    }

    pub(crate) fn set_created_at(&mut self, time: Option<String>) {
        if let Some(time) = time {
            self.set("created_at", time);
        }
    }

    /// Takes the first of the addresses in `email_addresses` that is one.
    pub(crate) fn set_email(&mut self, object: &Object) {
        for text in self.contacts(object, "email_addresses") {
            if text.parse::<Email>().is_err() {
                self.warn(format!("email {text} is no e-mail address, and was left out"));
            } else if self.row.contains_key("email") {
                self.warn(format!("email {text} was left out: there is another one before it"));
            } else {
                self.set("email", text);
            }
        }
    }

    /// Takes the first of the numbers in `phone_numbers` that is one.
    pub(crate) fn set_phone(&mut self, object: &Object) {
        for text in self.contacts(object, "phone_numbers") {
            match phones::read(&text, self.settings.country, self.settings.plain_phones) {
                Err(problem) => self.warn(format!("phone {text} was left out: it {problem}")),
                Ok(_) if self.row.contains_key("phone") => {
                    self.warn(format!("phone {text} was left out: there is another one before it"));
                }
                Ok((phone, warning)) => {
                    self.warnings.extend(warning);
                    self.set("phone", phone.as_str());
                }
            }
        }
    }

    /// The values of objects such as `{"value": "anna@x.example", "type": "personal"}`.
    fn contacts(&mut self, object: &Object, field: &str) -> Vec<String> {
        let mut values = Vec::new();
        for contact in self.list(object, field) {
            match contact.as_object() {
                Some(contact) => values.extend(self.text(contact, "value").map(|value| one_line(&value))),
                None => self.warn(format!("`{field}` has {contact}, which was left out")),
            }
        }
        values
    }

    /// Takes the names in `tags`.
    pub(crate) fn set_tags(&mut self, object: &Object) {
        let mut tags: Vec<_> = Vec::new();
        for tag in self.list(object, "tags") {
            match tag.as_str() {
                Some(tag) => tags.extend(self.fit("tags", tag, Tag::MAX_LENGTH)),
                None => self.warn(format!("`tags` has {tag}, which was left out")),
            }
        }
        let more = tags.split_off(tags.len().min(Tags::MAX));
        if !more.is_empty() {
            self.warn(format!("tags has more than {}: the others are in a note", Tags::MAX));
            self.keep(&format!("Tags: {}", more.join(", ")));
        }
        if !tags.is_empty() {
            self.set("tags", tags);
        }
    }

    /// Adds a note, or several if it is too long for one.
    pub(crate) fn note(&mut self, text: &str, author: Option<&str>, at: Option<&str>) {
        let author = author.and_then(|author| self.fit("notes.author", author, MAX_LINE));
        let characters: Vec<_> = text.chars().collect();
        for part in characters.chunks(NoteText::MAX_LENGTH) {
            let Some(text) = clean(&part.iter().collect::<String>()) else { continue };
            let mut note = Object::new();
            note.insert("text".to_owned(), text.into());
            note.extend(author.as_deref().map(|author| ("author".to_owned(), author.into())));
            note.extend(at.map(|at| ("at".to_owned(), at.into())));
            self.notes.push(note.into());
        }
    }

    pub(crate) fn add_file(&mut self, name: &str, kind: CandidateFileKind) {
        if let Some(name) = self.fit("files.name", name, MAX_FILE_NAME) {
            self.files.push(json!({ "name": name, "kind": kind.as_str() }));
        }
    }

    pub(crate) fn file_names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().filter_map(|file| file.get("name")?.as_str())
    }

    pub(crate) fn add_application(&mut self, application: Application) {
        let path = format!("applications[{}]", self.applications.len());
        let mut row = Object::new();
        let mut set = |field: &str, value: Value| drop(row.insert(field.to_owned(), value));
        if let Some(id) = application.external_id {
            set("external_id", id.into());
        }
        let (role, title) = match application.role {
            Role::Title(title) => {
                (json!({ "title": self.fit(&format!("{path}.role.title"), &title, MAX_LINE) }), title)
            }
            Role::Unnamed(id) => {
                self.warn(format!(
                    "{path}.role is not described: it is taken for the role with the external_id {id}"
                ));
                (json!({ "external_id": id }), id)
            }
        };
        set("role", role);
        if let Some(stage) = self.stage(&path, application.stage, application.status, &title) {
            set("stage", stage.as_str().into());
        }
        set("status", application.status.as_str().into());
        if let Some(Rejection { by, reason, at }) = application.rejection {
            let reason =
                reason.and_then(|reason| self.fit(&format!("{path}.rejection.reason"), &reason, MAX_REASON));
            let mut rejection = Object::new();
            rejection.insert("by".to_owned(), by.as_str().into());
            rejection.extend(reason.map(|reason| ("reason".to_owned(), reason.into())));
            rejection.extend(at.map(|at| ("at".to_owned(), at.into())));
            set("rejection", rejection.into());
        }
        if let Some(source) = application.source {
            self.sources.push((application.applied_at.clone(), source));
        }
        if let Some(time) = application.applied_at {
            set("applied_at", time.into());
        }
        let mut answers = Vec::new();
        for (question, answer) in application.answers {
            let path = format!("{path}.answers[{}]", answers.len());
            let label = self.fit(&format!("{path}.label"), &question, MAX_LINE);
            let value = self.fit_lines(&format!("{path}.value"), &answer, MAX_ANSWER);
            if let (Some(label), Some(value)) = (label, value) {
                answers.push(json!({ "label": label, "value": value }));
            }
        }
        let mut moves: Vec<(String, Stage)> = Vec::new();
        for (name, at) in application.moves {
            moves.extend(stages::named(&name).ok().map(|stage| (at, stage)));
        }
        moves.sort_by(|(one, _), (other, _)| one.cmp(other));
        moves.dedup_by_key(|(_, stage)| *stage);
        let moves =
            moves.into_iter().map(|(at, stage)| json!({ "stage": stage.as_str(), "at": at })).collect();
        for (field, list) in [("answers", answers), ("stage_changes", moves)] {
            if !list.is_empty() {
                set(field, self.limited(&format!("{path}.{field}"), list, MAX_ENTRIES));
            }
        }
        self.applications.push(row.into());
    }

    /// The stage with a name. One that is unknown, or that an application in progress can't have, is the first.
    fn stage(
        &mut self,
        path: &str,
        name: Option<String>,
        status: ApplicationStatus,
        role: &str,
    ) -> Option<Stage> {
        if status == ApplicationStatus::Hired {
            return Some(Stage::Hired);
        }
        let name = name?;
        match stages::named(&name) {
            Ok(Stage::Rejected) if status == ApplicationStatus::Rejected => None,
            Ok(stage) if !matches!(stage, Stage::Hired | Stage::Rejected) => Some(stage),
            Ok(_) | Err(_) => {
                let name = one_line(&name);
                self.warn(format!(
                    "{path}.stage \"{name}\" is not known: it is applied, and a note has the name"
                ));
                self.keep(&format!("Stage for {role}: {name}"));
                Some(Stage::Applied)
            }
        }
    }

    /// A line of at most `max` characters. A longer text is cut, and a note has all of it.
    fn fit(&mut self, path: &str, text: &str, max: usize) -> Option<String> {
        self.fit_lines(path, &one_line(text), max)
    }

    fn fit_lines(&mut self, path: &str, text: &str, max: usize) -> Option<String> {
        let text = clean(text)?;
        if text.chars().nth(max).is_none() {
            return Some(text);
        }
        self.warn(format!("{path} has more than {max} characters: the whole text is in a note"));
        self.keep(&text);
        clean(&text.chars().take(max).collect::<String>())
    }

    /// The first entries of a list.
    fn limited(&mut self, path: &str, mut list: Vec<Value>, max: usize) -> Value {
        if list.len() > max {
            self.warn(format!("{path} has {} entries: only {max} are taken", list.len()));
            list.truncate(max);
        }
        list.into()
    }

    /// The JSON of the row, or all that is wrong with it, and the warnings.
    pub(crate) fn finish(mut self, now: Timestamp) -> (Result<String, Vec<String>>, Vec<String>) {
        self.sources.sort_by(|(one, _), (other, _)| one.is_none().cmp(&other.is_none()).then(one.cmp(other)));
        let mut sources = std::mem::take(&mut self.sources).into_iter().map(|(_, source)| source);
        if let Some(first) = sources.next() {
            if sources.any(|source| source != first) {
                self.warn("source has several words: that of the first application is taken");
            }
            if let Some(source) = self.fit("source", &first, MAX_SOURCE) {
                self.set("source", source);
            }
        }
        let lists = [
            ("files", std::mem::take(&mut self.files), MAX_FILES),
            ("applications", std::mem::take(&mut self.applications), MAX_APPLICATIONS),
            ("notes", std::mem::take(&mut self.notes), MAX_ENTRIES),
        ];
        for (field, list, max) in lists {
            if !list.is_empty() {
                let list = self.limited(field, list, max);
                self.set(field, list);
            }
        }
        let json = Value::Object(self.row).to_string();
        let read = if json.len() > MAX_ROW {
            Err(vec![format!("row has more than {} MB", MAX_ROW >> 20)])
        } else {
            read_line(&json, now).map(|_| ())
        };
        (read.map(|()| json), self.warnings)
    }
}

/// A text without control characters, trimmed. `None` if it is blank.
fn clean(text: &str) -> Option<String> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    non_blank(&text).map(ToOwned::to_owned)
}

/// A text in one line.
fn one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ").trim().to_owned()
}
