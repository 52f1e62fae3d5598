//! The data of the page templates, as plain text and numbers. The only model type is the e-mail address.
//!
//! Composed values, such as salaries, are already formatted.

use std::fmt::Write;

use askama::Template;
use jiff::civil::Date;
use shared::http::page::{Problem, problem_of};
use shared::model::Email;
use shared::services::files::ENDINGS;

/// The sentence for a file that is too large for the application form.
pub(crate) const FILE_TOO_LARGE: &str =
    "Your file is larger than 4 MB. Apply without it: you can upload it on the next page.";

/// The layout around every page of an organization's career site.
pub(crate) struct Layout<'p> {
    /// The version in the stylesheet's URL.
    pub(crate) style_version: &'p str,
    /// The organization's public name.
    pub(crate) organization: &'p str,
    /// The path of the list of openings: `/careers/acme`.
    pub(crate) portal: &'p str,
    /// The path or the URL of the organization's logo.
    pub(crate) logo_src: Option<&'p str>,
    /// The URL of the icon of an organization without a logo.
    pub(crate) icon: &'p str,
    /// The absolute URL of the organization's logo.
    pub(crate) logo_url: Option<String>,
    /// The organization's colours: an inline stylesheet that sets `--accent` and `--on-accent` for light and dark mode.
    pub(crate) theme: Option<&'p str>,
    /// The page's canonical URL, absolute.
    pub(crate) canonical: Option<String>,
    /// The content of the `robots` meta tag: `noindex`.
    pub(crate) robots: Option<&'static str>,
    /// Whether the site shows test data.
    pub(crate) is_test: bool,
    /// Who sees the page, if it is the preview of one.
    pub(crate) preview: Option<String>,
}

/// The list of openings.
#[derive(Template)]
#[template(path = "openings.html")]
pub(crate) struct OpeningsPage<'p> {
    /// The layout.
    pub(crate) layout: Layout<'p>,
    /// A paragraph about the organization.
    pub(crate) introduction: Option<&'p str>,
    /// The search form.
    pub(crate) search: SearchForm<'p>,
    /// Whether the list is filtered by a search.
    pub(crate) is_search: bool,
    /// What the search form offers.
    pub(crate) offers: Offers<'p>,
    /// The openings of the page, newest first: by department if the page has all openings, otherwise in one group.
    pub(crate) groups: Vec<Group<'p>>,
    /// The path of the next page.
    pub(crate) next: Option<String>,
    /// Whether this is the first page.
    pub(crate) is_first: bool,
    /// Whether the search stopped at its read limit before the page was full. The `next` page continues it.
    pub(crate) is_partial: bool,
}

impl OpeningsPage<'_> {
    /// Whether the page shows all results, so that they can be counted.
    const fn is_complete(&self) -> bool {
        self.is_first && self.next.is_none()
    }

    /// The number of openings on the page.
    fn count(&self) -> usize {
        self.groups.iter().map(|group| group.cards.len()).sum()
    }
}

/// The search form with the submitted values.
pub(crate) struct SearchForm<'p> {
    /// Keywords.
    pub(crate) keywords: &'p str,
    /// The department.
    pub(crate) department: &'p str,
    /// The location.
    pub(crate) location: &'p str,
    /// `onsite`, `hybrid` or `remote`.
    pub(crate) remote_policy: Option<&'static str>,
}

/// The departments and locations that the search form offers.
pub(crate) struct Offers<'p> {
    /// The departments.
    pub(crate) departments: Vec<&'p str>,
    /// The locations.
    pub(crate) locations: Vec<&'p str>,
    /// Whether they are those of all openings, so that visitors choose instead of typing. Otherwise they are suggestions.
    pub(crate) are_complete: bool,
}

impl SearchForm<'_> {
    /// Whether the search uses filters besides keywords.
    fn has_filters(&self) -> bool {
        !self.department.is_empty() || !self.location.is_empty() || self.remote_policy.is_some()
    }
}

/// Openings under one heading.
pub(crate) struct Group<'p> {
    /// The department, if the openings are grouped.
    pub(crate) heading: Option<&'p str>,
    /// The openings, newest first.
    pub(crate) cards: Vec<Card<'p>>,
}

/// An opening in the list.
pub(crate) struct Card<'p> {
    /// The path of its page.
    pub(crate) path: String,
    /// The title.
    pub(crate) title: &'p str,
    /// The department.
    pub(crate) department: Option<&'p str>,
    /// The places, or the location in words.
    pub(crate) locations: Vec<String>,
    /// The names of the countries.
    pub(crate) countries: Vec<&'static str>,
    /// `onsite`, `hybrid` or `remote`.
    pub(crate) remote_policy: Option<&'static str>,
    /// The kind of employment: `Full-time`.
    pub(crate) employment_type: Option<&'static str>,
    /// What the job pays: `$18.50 an hour`.
    pub(crate) pay: Option<String>,
    /// The time since it opened: `3 days ago`.
    pub(crate) age: String,
    /// The date on which it opened: `2026-11-20`.
    pub(crate) date: String,
}

/// A job with the application form.
#[derive(Template)]
#[template(path = "job.html")]
pub(crate) struct JobPage<'p> {
    /// The layout.
    pub(crate) layout: Layout<'p>,
    /// The title.
    pub(crate) title: &'p str,
    /// The department.
    pub(crate) department: Option<&'p str>,
    /// The places, or the location in words.
    pub(crate) locations: Vec<String>,
    /// The names of the countries.
    pub(crate) countries: Vec<&'static str>,
    /// `onsite`, `hybrid` or `remote`.
    pub(crate) remote_policy: Option<&'static str>,
    /// The kind of employment: `Full-time`.
    pub(crate) employment_type: Option<&'static str>,
    /// What the job pays: `$18.50 an hour`.
    pub(crate) pay: Option<String>,
    /// What that is called: `Salary` or `Pay`.
    pub(crate) pay_label: &'static str,
    /// The last day on which people can apply.
    pub(crate) closes_on: Option<Date>,
    /// The time since it opened: `3 days ago`.
    pub(crate) age: String,
    /// The date on which it opened: `2026-11-20`.
    pub(crate) date: String,
    /// The description: HTML from [`shared::descriptions::html`].
    pub(crate) description: Option<String>,
    /// The requirements: HTML from [`shared::descriptions::html`].
    pub(crate) requirements: Option<String>,
    /// Structured data for search engines: JSON from [`crate::json_ld`].
    pub(crate) json_ld: Option<String>,
    /// The beginning of the description, at most 200 characters of plain text; empty if there is no text.
    pub(crate) description_text: String,
    /// The application form, unless applications are paused.
    pub(crate) applications: Applications<'p>,
}

impl JobPage<'_> {
    /// Whether the page has the script that checks the size of a file before the form is sent.
    pub(crate) fn runs_script(&self) -> bool {
        matches!(&self.applications, Applications::Open(form) if form.takes_file && form.action.is_some())
    }

    /// Whether something is wrong with a submitted application.
    fn has_problems(&self) -> bool {
        matches!(&self.applications, Applications::Open(form) if form.has_problems())
    }
}

/// Whether a job accepts applications.
pub(crate) enum Applications<'p> {
    /// It accepts applications with this form.
    Open(Box<ApplicationForm<'p>>),
    /// It does not accept applications while the role is paused.
    Paused,
}

/// The application form with the submitted values.
pub(crate) struct ApplicationForm<'p> {
    /// The path that the form is submitted to; `None` if it cannot be sent.
    pub(crate) action: Option<String>,
    /// The name.
    pub(crate) name: &'p str,
    /// The e-mail address.
    pub(crate) email: &'p str,
    /// The phone number.
    pub(crate) phone: &'p str,
    /// Whether the form takes a resume file.
    pub(crate) takes_file: bool,
    /// The version in the URL of the script that checks the size of the file.
    pub(crate) script_version: &'static str,
    /// The maximum size of the file, in bytes.
    pub(crate) largest_file: usize,
    /// The resume that was sent with an earlier form.
    pub(crate) kept: Option<KeptResume<'p>>,
    /// The link to the resume.
    pub(crate) resume_url: &'p str,
    /// The note.
    pub(crate) note: &'p str,
    /// The questions of the posting.
    pub(crate) questions: Vec<QuestionField<'p>>,
    /// The number of files that the next page requires.
    pub(crate) later_files: usize,
    /// The time of the page, signed.
    pub(crate) opened: &'p str,
    /// The source that the link to the page named, if the organization lists it.
    pub(crate) source: Option<&'p str>,
    /// The consents that the form asks for.
    pub(crate) consents: Vec<ConsentBox>,
    /// The address for questions about the candidate's data.
    pub(crate) contact: Option<&'p Email>,
    /// Problems with the fields `name`, `email`, `phone`, `resume_file`, `resume_url`, `note` and `consent`, or with the
    /// whole form (`apply`).
    pub(crate) problems: &'p [Problem],
}

impl ApplicationForm<'_> {
    const fn problems(&self) -> &[Problem] {
        self.problems
    }

    /// Whether something is wrong with what was submitted.
    fn has_problems(&self) -> bool {
        !self.problems.is_empty() || self.questions.iter().any(|question| question.problem.is_some())
    }

    fn has_required_questions(&self) -> bool {
        self.questions.iter().any(|question| question.is_required)
    }
}

/// A question of the application form, with what was entered.
pub(crate) struct QuestionField<'p> {
    /// The field's name: letters, digits and `_`.
    pub(crate) field: String,
    /// What is asked.
    pub(crate) label: &'p str,
    /// The kind: `short_text`.
    pub(crate) kind: &'static str,
    /// Whether it must be answered.
    pub(crate) is_required: bool,
    /// The explanation.
    pub(crate) help: Option<&'p str>,
    /// What can be chosen.
    pub(crate) options: Vec<OptionField<'p>>,
    /// What was typed.
    pub(crate) typed: &'p str,
    /// What is wrong with the answer, as a sentence.
    pub(crate) problem: Option<&'p str>,
}

impl QuestionField<'_> {
    /// The attributes that name the hint and the problem of the field.
    fn described(&self) -> String {
        let field = &self.field;
        let hint = self.help.map(|_| format!("{field}-hint"));
        let problem = self.problem.map(|_| format!("{field}-problem"));
        let invalid = if problem.is_some() { " aria-invalid=\"true\"" } else { "" };
        let described: Vec<_> = hint.into_iter().chain(problem).collect();
        match described.join(" ").as_str() {
            "" => invalid.to_owned(),
            ids => format!("{invalid} aria-describedby=\"{ids}\""),
        }
    }
}

/// What can be chosen as an answer.
pub(crate) struct OptionField<'p> {
    /// The value in the form.
    pub(crate) value: &'p str,
    /// What applicants read.
    pub(crate) label: &'p str,
    /// Whether it was chosen.
    pub(crate) is_chosen: bool,
}

/// A resume that waits until the applicant has corrected the form.
pub(crate) struct KeptResume<'p> {
    /// The ticket for it.
    pub(crate) ticket: String,
    /// The file's name.
    pub(crate) name: &'p str,
    /// Whether the applicant has ticked the box that removes it.
    pub(crate) is_removed: bool,
}

/// A box of the application form that asks for a consent.
pub(crate) struct ConsentBox {
    /// The field's name.
    pub(crate) field: &'static str,
    /// The text that the candidate agrees to.
    pub(crate) wording: &'static str,
    /// Whether it must be ticked.
    pub(crate) is_required: bool,
    /// Whether the candidate ticked it.
    pub(crate) is_ticked: bool,
}

/// The confirmation of an application, with forms to upload a resume and the files that questions ask for.
#[derive(Template)]
#[template(path = "received.html")]
pub(crate) struct ConfirmationPage<'p> {
    /// The layout.
    pub(crate) layout: Layout<'p>,
    /// The job's title.
    pub(crate) title: &'p str,
    /// The path of the job's page.
    pub(crate) job_path: &'p str,
    /// The questions that are answered with a file.
    pub(crate) questions: Vec<FileQuestion<'p>>,
    /// Something that is wrong with no form of the page, as a sentence.
    pub(crate) notice: Option<&'p str>,
    /// The form to upload a resume.
    pub(crate) upload: Option<FileForm>,
    /// Whether a resume was attached.
    pub(crate) is_attached: bool,
    /// Why the uploaded file was rejected, as a sentence.
    pub(crate) problem: Option<String>,
    /// The address for questions about the candidate's data.
    pub(crate) contact: Option<&'p Email>,
}

impl ConfirmationPage<'_> {
    /// The number of files that are still required.
    fn missing(&self) -> usize {
        self.questions.iter().filter(|question| question.is_required && !question.is_received).count()
    }
}

/// A question that is answered with a file.
pub(crate) struct FileQuestion<'p> {
    /// The identifier of its field: letters, digits and `_`.
    pub(crate) field: String,
    /// What is asked.
    pub(crate) label: &'p str,
    /// The explanation.
    pub(crate) help: Option<&'p str>,
    /// Whether it must be answered.
    pub(crate) is_required: bool,
    /// Whether the file was received.
    pub(crate) is_received: bool,
    /// The form to upload the file, until it was received.
    pub(crate) upload: Option<FileForm>,
    /// Why the uploaded file was rejected, as a sentence.
    pub(crate) problem: Option<&'p str>,
}

impl FileQuestion<'_> {
    /// The attributes that name the hints and the problem of the field.
    fn described(&self) -> String {
        let field = &self.field;
        let help = if self.help.is_some() { format!("{field}-help ") } else { String::new() };
        let (invalid, problem) = match self.problem {
            Some(_) => (" aria-invalid=\"true\"", format!(" {field}-problem")),
            None => ("", String::new()),
        };
        format!("{invalid} aria-describedby=\"{help}{field}-hint{problem}\"")
    }
}

/// A form that uploads a file.
pub(crate) struct FileForm {
    /// The absolute URL that the form is submitted to.
    pub(crate) action: String,
    /// The names and values of the hidden fields, in order. They precede the file.
    pub(crate) fields: Vec<(String, String)>,
}

/// What happens to an applicant's data.
#[derive(Template)]
#[template(path = "privacy.html")]
pub(crate) struct PrivacyPage<'p> {
    /// The layout.
    pub(crate) layout: Layout<'p>,
    /// The organization's own text: HTML from [`shared::descriptions::html`].
    pub(crate) text: Option<String>,
    /// The address for questions about the candidate's data.
    pub(crate) contact: Option<&'p Email>,
}

/// The 410 page for a job that is no longer available.
#[derive(Template)]
#[template(path = "gone.html")]
pub(crate) struct GonePage<'p> {
    /// The layout.
    pub(crate) layout: Layout<'p>,
    /// The job's title, if it was ever public.
    pub(crate) title: Option<&'p str>,
}

/// The 404 page for an unknown job.
#[derive(Template)]
#[template(path = "unknown_job.html")]
pub(crate) struct UnknownJobPage<'p> {
    /// The layout.
    pub(crate) layout: Layout<'p>,
}

/// The 404 page for an unknown organization.
#[derive(Template)]
#[template(path = "unknown_organization.html")]
pub(crate) struct UnknownOrganizationPage<'p> {
    /// The version in the stylesheet's URL.
    pub(crate) style_version: &'p str,
}

/// The 429 page of a career site that cannot even keep more suspect forms today.
#[derive(Template)]
#[template(path = "too_many.html")]
pub(crate) struct TooManyApplicationsPage<'p> {
    /// The layout.
    pub(crate) layout: Layout<'p>,
    /// The path of the job's page.
    pub(crate) job_path: &'p str,
}

/// Returns the title of the list of openings.
fn openings_title(layout: &Layout) -> String {
    format!("Openings at {}", layout.organization)
}

/// Returns the title of the privacy page.
fn privacy_title(layout: &Layout) -> String {
    format!("How {} uses your data", layout.organization)
}

/// Returns the label of a remote policy.
fn workplace(remote_policy: &str) -> &str {
    match remote_policy {
        "onsite" => "On-site",
        "hybrid" => "Hybrid",
        "remote" => "Remote",
        other => other,
    }
}

/// Returns the label of a remote policy; `None` if the only location is the same word.
fn workplace_beside(locations: &[String], remote_policy: Option<&'static str>) -> Option<&'static str> {
    let workplace = workplace(remote_policy?);
    let is_repeated = matches!(locations, [location] if location.eq_ignore_ascii_case(workplace));
    (!is_repeated).then_some(workplace)
}

/// Returns the names of the countries that no location contains.
fn countries_beside(locations: &[String], countries: &[&'static str]) -> Vec<&'static str> {
    let locations: Vec<_> = locations.iter().map(|location| location.to_lowercase()).collect();
    let is_repeated = |country: &&str| {
        let country = country.to_lowercase();
        locations.iter().any(|location| location.contains(&country))
    };
    countries.iter().copied().filter(|country| !is_repeated(country)).collect()
}

/// Percent-encodes a query value: everything except unreserved characters (RFC 3986).
pub(crate) fn encoded(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut query, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            query.push(char::from(byte));
        } else {
            let _ = write!(query, "%{byte:02X}");
        }
        query
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn encoding_is_reversible(text: String) {
            let query = encoded(&text);
            prop_assert!(query.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte)));
            let mut parts = query.split('%');
            let mut bytes = parts.next().unwrap().as_bytes().to_vec();
            for part in parts {
                bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
                bytes.extend_from_slice(&part.as_bytes()[2..]);
            }
            prop_assert_eq!(String::from_utf8(bytes).unwrap(), text);
        }
    }

    #[test]
    fn the_workplace_does_not_repeat_the_location() {
        let beside = |locations: &[&str], policy| {
            let locations: Vec<_> = locations.iter().map(|&location| location.to_owned()).collect();
            workplace_beside(&locations, policy)
        };
        assert_eq!(beside(&["REMOTE"], Some("remote")), None);
        assert_eq!(beside(&["Remote"], Some("hybrid")), Some("Hybrid"));
        assert_eq!(beside(&["Berlin"], Some("remote")), Some("Remote"));
        assert_eq!(beside(&["Remote", "Berlin"], Some("remote")), Some("Remote"));
        assert_eq!(beside(&[], Some("onsite")), Some("On-site"));
        assert_eq!(beside(&[], None), None);
    }

    #[test]
    fn the_countries_do_not_repeat_the_locations() {
        let beside = |locations: &[&str], countries: &[&'static str]| {
            let locations: Vec<_> = locations.iter().map(|&location| location.to_owned()).collect();
            countries_beside(&locations, countries)
        };
        assert_eq!(beside(&["Berlin"], &["Germany"]), ["Germany"]);
        assert!(beside(&["Berlin, GERMANY"], &["Germany"]).is_empty());
        assert_eq!(beside(&[], &["Germany"]), ["Germany"]);
        assert_eq!(beside(&["Norway", "Berlin"], &["Norway", "Germany"]), ["Germany"]);
        assert!(beside(&["Berlin"], &[]).is_empty());
    }
}
