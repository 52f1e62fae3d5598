//! Pages with one form: the fields, what is wrong with them, and what has changed since the page was opened.

use askama::Template;
use shared::http::page::{Sources, version_of};
use shared::http::{Error, Html, MemberRequest, Parameters, Reply};
use shared::model::grouped;
use shared::services::files::MAX_FILE;

use crate::layout::{Layout, SCRIPT, Section};

/// A page with one form.
#[derive(Template)]
#[template(path = "form.html")]
pub(crate) struct FormPage<'p> {
    layout: Layout<'p>,
    form: Form,
    /// Why the form was not carried out, apart from the problems of fields.
    alert: Option<String>,
    /// The path and the text of a link that helps.
    help: Option<(String, &'static str)>,
    /// Whether the form has a button that shows a preview.
    has_preview: bool,
    /// The version in the script's URL.
    script_version: String,
}

/// A field of a form.
pub(crate) struct Field {
    name: String,
    label: &'static str,
    hint: &'static str,
    kind: FieldKind,
    value: String,
    problem: Option<String>,
    /// Whether the browser asks for a value before it sends the form.
    is_required: bool,
    /// The maximum number of characters of a line, if the browser can hold it.
    longest: Option<usize>,
    /// The keyboard of a phone, if it is not that of the type: `decimal` or `numeric`.
    keyboard: &'static str,
    /// What the form has instead of nothing when it is shown again.
    proposal: Option<&'static str>,
    /// The stored value, if it has changed since the page was opened and differs from `value`.
    stored: Option<String>,
}

/// How a field is filled in.
pub(crate) enum FieldKind {
    /// A line of text, with the type of the input.
    Line(&'static str),
    /// Several lines of text.
    Lines(u32),
    /// One of several values, with their labels.
    Choice(Vec<(String, String)>),
    /// Any of several words, each with its label and what it is. The value has those that are ticked, separated by commas.
    Several(Vec<(String, String, &'static str)>),
    /// A file with one of these extensions.
    File(&'static str),
    /// A heading of the fields below.
    Heading,
    /// The words that disclose all fields below, which are rarely needed.
    Disclosure,
    /// A value that members do not see.
    Hidden,
}

impl Field {
    /// A field with one line.
    pub(crate) fn line(name: impl Into<String>, label: &'static str) -> Self {
        let (name, value) = (name.into(), String::new());
        let kind = FieldKind::Line("text");
        Self {
            name,
            label,
            hint: "",
            kind,
            value,
            problem: None,
            is_required: false,
            longest: None,
            keyboard: "",
            proposal: None,
            stored: None,
        }
    }

    /// A heading of the fields below.
    pub(crate) fn heading(label: &'static str) -> Self {
        Self::line("", label).of(FieldKind::Heading)
    }

    /// The words that disclose all fields below.
    pub(crate) fn disclosure(label: &'static str) -> Self {
        Self::line("", label).of(FieldKind::Disclosure)
    }

    /// The same field, filled in in this way.
    pub(crate) fn of(self, kind: FieldKind) -> Self {
        Self { kind, ..self }
    }

    /// The same field with a hint.
    pub(crate) fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    /// The same field with this value.
    pub(crate) fn with(self, value: &str) -> Self {
        Self { value: value.to_owned(), ..self }
    }

    /// The same field, which must not be empty.
    pub(crate) fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// The same line with at most this number of characters, as its type has it. A longer text that is pasted would be cut
    /// without a word, so texts with several lines have no such limit: only the message of the API.
    pub(crate) fn at_most(self, longest: usize) -> Self {
        Self { longest: Some(longest), ..self }
    }

    /// The same field with this keyboard on a phone.
    pub(crate) fn on_keyboard(self, keyboard: &'static str) -> Self {
        Self { keyboard, ..self }
    }

    /// The name in the form that is sent.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The label and the value, as a page shows them.
    pub(crate) fn fact(&self) -> (&'static str, String) {
        (self.label, if self.value.is_empty() { "–".to_owned() } else { self.label_of(&self.value) })
    }

    /// Whether the box of a word is ticked.
    fn ticks(&self, word: &str) -> bool {
        self.value.split(',').any(|ticked| ticked == word)
    }

    /// The label of a choice.
    fn label_of(&self, value: &str) -> String {
        match &self.kind {
            FieldKind::Choice(choices) => {
                choices.iter().find(|(known, _)| known == value).map_or(value, |(_, label)| label).to_owned()
            }
            _ => value.to_owned(),
        }
    }
}

/// A form of a page.
pub(crate) struct Form {
    section: Section,
    title: String,
    /// The path and the name of the page above, unless the page is in the menu.
    back: Option<(String, String)>,
    lead: String,
    /// The path and the text of a link below the lead.
    link: Option<(&'static str, &'static str)>,
    fields: Vec<Field>,
    /// The version of the resource that the page shows.
    seen: String,
    hidden: Vec<(&'static str, String)>,
    /// What the page tells before the form, with the labels.
    facts: Vec<(&'static str, String)>,
    action: String,
    /// The buttons that send the form, the first one first.
    submits: Vec<Submit>,
    is_grave: bool,
}

/// A button that sends a form.
struct Submit {
    /// The name and the value that are sent; empty if the form has only this button.
    name: &'static str,
    value: &'static str,
    label: &'static str,
}

impl Form {
    /// A form with these fields and their stored values, which is sent to the path `action`.
    pub(crate) fn new(
        section: Section,
        title: impl Into<String>,
        fields: Vec<Field>,
        action: impl Into<String>,
        submit: &'static str,
    ) -> Self {
        let (title, action, seen, hidden) = (title.into(), action.into(), String::new(), Vec::new());
        Self {
            section,
            title,
            back: None,
            lead: String::new(),
            link: None,
            fields,
            seen,
            hidden,
            facts: Vec::new(),
            action,
            submits: vec![Submit { name: "", value: "", label: submit }],
            is_grave: false,
        }
    }

    /// The same form with these buttons, which send their value under this name. A form that is shown again begins with the one
    /// that was pressed, which is also what Enter presses.
    pub(crate) fn with_buttons(self, name: &'static str, buttons: &[(&'static str, &'static str)]) -> Self {
        let submits = buttons.iter().map(|(value, label)| Submit { name, value, label });
        Self { submits: submits.collect(), ..self }
    }

    /// The same form below these facts, with their labels.
    pub(crate) fn telling(self, facts: Vec<(&'static str, String)>) -> Self {
        Self { facts, ..self }
    }

    /// The same form below another page, with this path and name.
    pub(crate) fn below(self, path: impl Into<String>, name: impl Into<String>) -> Self {
        Self { back: Some((path.into(), name.into())), ..self }
    }

    /// The same form with values that are sent with it, by their names.
    pub(crate) fn carrying(mut self, values: Vec<(String, String)>) -> Self {
        let hidden =
            |(name, value): (String, String)| Field::line(name, "").of(FieldKind::Hidden).with(&value);
        self.fields.extend(values.into_iter().map(hidden));
        self
    }

    /// The same form with a sentence about what it is for.
    pub(crate) fn lead(self, lead: impl Into<String>) -> Self {
        Self { lead: lead.into(), ..self }
    }

    /// The same form with a link below the sentence, with its path and its text.
    pub(crate) fn linking(self, path: &'static str, text: &'static str) -> Self {
        Self { link: Some((path, text)), ..self }
    }

    /// The same form for a resource in this version.
    pub(crate) fn of_version(self, seen: impl Into<String>) -> Self {
        Self { seen: seen.into(), ..self }
    }

    /// The same form with a proposal for a field, which the member sees if the field was empty and is required.
    pub(crate) fn proposing(mut self, name: &str, value: Option<&'static str>) -> Self {
        for field in self.fields.iter_mut().filter(|field| field.name == name) {
            field.proposal = value;
        }
        self
    }

    /// The same form, which also sends these values.
    pub(crate) fn hiding(self, hidden: Vec<(&'static str, String)>) -> Self {
        Self { hidden, ..self }
    }

    /// The same form for a change that cannot be undone.
    pub(crate) fn grave(self) -> Self {
        Self { is_grave: true, ..self }
    }

    fn has_problems(&self) -> bool {
        self.fields.iter().any(|field| field.problem.is_some())
    }

    /// The fields that a disclosure hides.
    fn disclosed(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().skip_while(|field| !matches!(field.kind, FieldKind::Disclosure)).skip(1)
    }

    /// Whether the disclosure is open from the start, because there is something to fix.
    fn is_disclosed(&self) -> bool {
        self.disclosed().any(|field| field.problem.is_some())
    }

    fn takes_file(&self) -> bool {
        self.fields.iter().any(|field| matches!(field.kind, FieldKind::File(_)))
    }

    /// Shows the form.
    pub(crate) fn show(self, request: &MemberRequest) -> Result<Reply<Html>, Error> {
        self.page(request, None, None)
    }

    /// Shows the form as it was sent, with what is wrong. Fails if the error is not about the form.
    pub(crate) fn show_again(mut self, request: &MemberRequest, error: Error) -> Result<Reply<Html>, Error> {
        let refusal = Refusal::of(error)?;
        let sent = request.page.form();
        let is_stale = matches!(refusal, Refusal::Stale);
        // Only a comparison shows the member another version.
        if matches!(refusal, Refusal::Problems { .. }) {
            sent.get("seen").clone_into(&mut self.seen);
        }
        if let Some(pressed) =
            self.submits.iter().position(|one| !one.name.is_empty() && sent.get(one.name) == one.value)
        {
            self.submits[..=pressed].rotate_right(1);
        }
        for field in self.fields.iter_mut().filter(|field| !field.name.is_empty()) {
            let value = match field.kind {
                FieldKind::Several(_) => sent.all(&field.name).collect::<Vec<_>>().join(","),
                _ => sent.get(&field.name).replace("\r\n", "\n"),
            };
            let stored = std::mem::replace(&mut field.value, value);
            if is_stale && stored != field.value {
                field.stored = Some(field.label_of(&stored));
            }
        }
        let (status, alert, help) = match refusal {
            Refusal::Stale => (
                412,
                Some(
                    "Somebody changed this in the meantime. Nothing was saved. Compare your version with the current one, \
                     and save again."
                        .to_owned(),
                ),
                None,
            ),
            Refusal::Sentence(sentence) => (422, Some(sentence), None),
            Refusal::Problems { messages, help } => {
                let others = self.take_problems(messages);
                (422, (!others.is_empty()).then(|| others.join(" ")), help)
            }
        };
        // A page cannot contain the file that was chosen.
        if request.page.file().is_some() {
            for field in self.fields.iter_mut().filter(|field| matches!(field.kind, FieldKind::File(_))) {
                field.problem.get_or_insert("Choose the file again.".to_owned());
            }
        }
        Ok(self.page(request, alert, help)?.with_status(status))
    }

    /// Shows each message at its field. Returns the others as sentences.
    fn take_problems(&mut self, messages: Vec<String>) -> Vec<String> {
        let mut others = Vec::new();
        for message in messages {
            let (path, problem) = message.split_once(' ').unwrap_or((&message, "is invalid"));
            let field = self.fields.iter_mut().find_map(|field| {
                let rest = path.strip_prefix(&field.name).filter(|_| !field.name.is_empty())?;
                (rest.is_empty() || rest.starts_with('[')).then_some((field, rest))
            });
            match field {
                Some((field, _)) if problem.starts_with(char::is_uppercase) => {
                    // A sentence about a file.
                    field.problem.get_or_insert(problem.to_owned());
                }
                Some((field, rest)) => {
                    let part = part_of_line(rest).unwrap_or_default();
                    let mut sentence = format!("{}{part} {}.", field.label, in_words(problem));
                    if let Some(proposal) = field.proposal.filter(|_| field.value.trim().is_empty()) {
                        proposal.clone_into(&mut field.value);
                        sentence = format!("{sentence} {proposal} is proposed: check it, and save again.");
                    }
                    field.problem.get_or_insert(sentence);
                }
                None => others.push(sentence(&message)),
            }
        }
        others
    }

    fn page(
        mut self,
        request: &MemberRequest,
        alert: Option<String>,
        help: Option<(String, &'static str)>,
    ) -> Result<Reply<Html>, Error> {
        if !self.seen.is_empty() {
            self.hidden.push(("seen", std::mem::take(&mut self.seen)));
        }
        let sources = Sources { script: self.takes_file(), ..Sources::default() };
        let page = FormPage {
            layout: Layout::of(request, self.section),
            alert,
            help,
            // The forms of this section are about jobs.
            has_preview: self.section == Section::Roles,
            script_version: version_of(&SCRIPT),
            form: self,
        };
        Ok(Reply::page(&page)?.using(&sources))
    }
}

/// Why a change was not made, as far as the member can do something about it.
pub(crate) enum Refusal {
    /// Fields are invalid, with the path and the text of a link that helps.
    Problems { messages: Vec<String>, help: Option<(String, &'static str)> },
    /// The resource is another one than the member saw.
    Stale,
    /// The change is not possible.
    Sentence(String),
}

impl Refusal {
    /// The refusal as one text, for pages without fields.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Problems { messages, .. } => {
                messages.iter().map(|message| sentence(message)).collect::<Vec<_>>().join(" ")
            }
            Self::Sentence(sentence) => sentence,
            Self::Stale => "Somebody changed this in the meantime.".to_owned(),
        }
    }

    /// Returns the refusal, or the error if it is of another kind.
    pub(crate) fn of(error: Error) -> Result<Self, Error> {
        match error {
            Error::Validation(messages) => Ok(Self::Problems { messages, help: None }),
            Error::Duplicate { messages, existing } => {
                let help = existing.and_then(|existing| match existing.kind {
                    "candidate" => Some((
                        format!("/dashboard/candidates/{}", existing.id),
                        "Open the existing candidate",
                    )),
                    "role" => Some((format!("/dashboard/roles/{}", existing.id), "Open the existing role")),
                    _ => None,
                });
                Ok(Self::Problems { messages, help })
            }
            Error::PreconditionFailed => Ok(Self::Stale),
            Error::InvalidTransition(text)
            | Error::ChannelNotConnected(text)
            | Error::ConsentRequired(text)
            | Error::PlanLimit(text) => Ok(Self::Sentence(sentence(&text))),
            Error::Upstream { sentence, .. } => Ok(Self::Sentence(format!("{sentence}."))),
            error => Err(error),
        }
    }
}

/// What a path names in a field with several lines: `[0].postal_code` is the postal code in the first line.
fn part_of_line(path: &str) -> Option<String> {
    let (index, part) = path.strip_prefix('[')?.split_once("].")?;
    Some(format!(", line {}: the {}", index.parse::<usize>().ok()? + 1, part.replace('_', " ")))
}

/// The names of fields in a problem, such as `salary_max`, as words, and its limits, such as `100000000`, with commas.
fn in_words(problem: &str) -> String {
    let mut before = "";
    let words = problem.split(' ').map(|word| {
        let is_name =
            word.contains('_') && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let is_limit = matches!(std::mem::replace(&mut before, word), "from" | "to" | "most" | "least");
        let digits = word.trim_end_matches([',', ';', ':']);
        match digits.parse::<u64>() {
            Ok(number) if is_limit => word.replacen(digits, &grouped(number), 1),
            _ if is_name => word.replace('_', " "),
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A message of the API as a sentence.
pub(crate) fn sentence(message: &str) -> String {
    let message = in_words(message);
    let mut letters = message.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

/// The same fields with these values.
pub(crate) fn fields_of(pairs: &[(&str, &str)]) -> Parameters {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
