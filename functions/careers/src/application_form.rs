//! The application form: parses and validates what a candidate entered.

use shared::http::Parameters;
use shared::http::page::Problem;
use shared::model::{
    Answer, ApplicationForm, ConsentPurpose, ConsentWording, Country, Email, Name, Notes,
    OrganizationSettings, Phone, Questions, SubmittedConsent, TypedPhone, WebAddress, non_blank,
};
use shared::services::files::FileError;

use crate::pages::{ConsentBox, FILE_TOO_LARGE};
use crate::question_fields::{self, Mistake};

/// The sentence for a file that the form no longer has.
const CHOOSE_AGAIN: &str = "Choose your resume again.";
/// The field of the resume file.
const FILE: &str = "resume_file";
/// The field, and the parameter of links, with the source.
pub(crate) const SOURCE: &str = "source";
/// The field of the required consent.
const CONSENT: &str = "consent";
/// The consents that the form asks for: purpose, field and wording. A consent is stored with its wording, so the wording
/// contains nothing that may change between the display and the submission of the form.
pub(crate) const CONSENTS: [(ConsentPurpose, &str, &str); 3] = [
    (
        ConsentPurpose::Application,
        CONSENT,
        "I agree that my data is stored and used to consider my application.",
    ),
    (
        ConsentPurpose::VoiceScreen,
        "consent_voice_screen",
        "I agree that an AI interviewer calls me about my application.",
    ),
    (
        ConsentPurpose::Recording,
        "consent_recording",
        "I agree that calls with the AI interviewer are transcribed.",
    ),
];

/// What is wrong with a form.
#[derive(Default)]
pub(crate) struct Mistakes {
    /// With the fields that every form has.
    pub(crate) fields: Vec<Problem>,
    /// With the answers to questions.
    pub(crate) answers: Vec<Mistake>,
}

impl From<Problem> for Mistakes {
    fn from(problem: Problem) -> Self {
        Self { fields: vec![problem], answers: Vec::new() }
    }
}

/// Returns the form's boxes, as the candidate ticked them.
pub(crate) fn consent_boxes(form: &Parameters) -> Vec<ConsentBox> {
    let boxes = CONSENTS.map(|(_, field, wording)| ConsentBox {
        field,
        wording,
        is_required: field == CONSENT,
        is_ticked: form.non_empty(field).is_some(),
    });
    boxes.into()
}

/// Returns the problem with a file that has to be chosen again.
pub(crate) fn lost_file() -> Problem {
    Problem { field: FILE, sentence: CHOOSE_AGAIN.to_owned() }
}

/// Returns the problem with a file that is not accepted.
pub(crate) fn refused_file(error: FileError) -> Problem {
    let sentence = match error {
        FileError::TooLarge => FILE_TOO_LARGE.to_owned(),
        FileError::Refused(refusal) => refusal.to_string(),
    };
    Problem { field: FILE, sentence }
}

/// Parses a submitted form, or returns every problem with it. Of a form that `is_cut` the end is missing. `file` says whether
/// a file was sent with it, and `lost` that it refers to a file that is no longer kept. A phone number without a country
/// code is one of `country`. A source that is not one of the `settings` is ignored. The form asks these `questions`.
pub(crate) fn parse(
    form: &Parameters,
    is_cut: bool,
    file: Result<bool, FileError>,
    lost: bool,
    settings: &OrganizationSettings,
    country: Option<Country>,
    questions: &Questions,
) -> Result<ApplicationForm, Mistakes> {
    let mut problems = Vec::new();
    if is_cut {
        let sentence = "Your text is too long to be sent as a whole. Please shorten it.";
        problems.push(Problem { field: "apply", sentence: sentence.to_owned() });
    }
    let mut report = |field: &'static str, sentence: String| problems.push(Problem { field, sentence });
    let name = match Name::parse(form.get("name")) {
        Ok(Some(name)) => Some(name),
        Ok(None) => {
            report("name", "Enter your name.".to_owned());
            None
        }
        Err(message) => {
            report("name", sentence("Your name", &message));
            None
        }
    };
    let email = match email(form) {
        None => {
            report("email", "Enter your e-mail address.".to_owned());
            None
        }
        Some(email) => valid("email", "Your e-mail address", email, &mut report),
    };
    // A number that nobody can call is no reason to refuse an application.
    let typed_phone = form.get("phone");
    let phone = Phone::understood(typed_phone, country);
    let is_in_full = phone.as_ref().is_some_and(|phone| phone.is_in_full(typed_phone));
    let phone_as_typed = if is_in_full { None } else { TypedPhone::cut(typed_phone) };
    let file_problem = match file {
        Err(error) => Some(refused_file(error)),
        Ok(false) if lost => Some(lost_file()),
        Ok(_) => None,
    };
    if let Some(Problem { field, sentence }) = file_problem {
        report(field, sentence);
    }
    let resume_url = match non_blank(form.get("resume_url")) {
        None => None,
        Some(link) => valid("resume_url", "The link to your resume", parse_link(link), &mut report),
    };
    let note = valid("note", "Your note", Notes::parse(form.get("note")), &mut report).flatten();
    if form.get(CONSENT).is_empty() {
        report(CONSENT, "Tick the box to agree that your application may be stored.".to_owned());
    }
    let mut consents = Vec::new();
    for (purpose, field, wording) in CONSENTS {
        if form.non_empty(field).is_some() {
            let wording = valid(field, "The consent", ConsentWording::parse(wording), &mut report).flatten();
            consents.extend(wording.map(|wording| SubmittedConsent { purpose, wording }));
        }
    }
    let answers = question_fields::read(form, questions);
    if let Ok(answers) = &answers
        && Answer::are_too_long(answers)
    {
        let sentence = "Your answers are too long. Together, they can have 20,000 characters.";
        report("apply", sentence.to_owned());
    }
    match (name, email, answers) {
        (Some(name), Some(email), Ok(answers)) if problems.is_empty() => {
            let source = settings.link_source(form.get(SOURCE)).cloned();
            Ok(ApplicationForm {
                name,
                email,
                phone,
                phone_as_typed,
                resume_url,
                note,
                consents,
                answers,
                source,
            })
        }
        (.., answers) => Err(Mistakes { fields: problems, answers: answers.err().unwrap_or_default() }),
    }
}

/// Returns the e-mail address in the form, or what is wrong with it; `None` if there is none.
pub(crate) fn email(form: &Parameters) -> Option<Result<Email, String>> {
    non_blank(form.get("email")).map(str::parse)
}

/// Returns the value if it is valid. Otherwise reports the problem.
fn valid<T>(
    field: &'static str,
    label: &str,
    value: Result<T, String>,
    report: &mut impl FnMut(&'static str, String),
) -> Option<T> {
    value.map_err(|message| report(field, sentence(label, &message))).ok()
}

/// Turns a validation message into a sentence for candidates: "must be a phone number" becomes "Enter a valid phone
/// number.", and "must be at most 200 characters" becomes "Your name must be at most 200 characters."
fn sentence(label: &str, message: &str) -> String {
    match message.strip_prefix("must be a ").or_else(|| message.strip_prefix("must be an ")) {
        Some(expected) => format!("Enter a valid {expected}."),
        None => format!("{label} {message}."),
    }
}

/// Parses a link. If the scheme is missing, `https://` is added. A problem is one of the link as typed.
fn parse_link(typed: &str) -> Result<WebAddress, String> {
    let has_scheme = typed.split(['/', '?', '#']).next().is_some_and(|start| start.ends_with(':'));
    if has_scheme {
        return typed.parse();
    }
    let completed = format!("https://{typed}").parse::<WebAddress>();
    completed.map_err(|problem| typed.parse::<WebAddress>().err().unwrap_or(problem))
}
