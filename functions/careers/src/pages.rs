//! The pages as their templates see them: plain text and numbers, nothing of the model.
//!
//! Texts that a page composes of several things, such as salaries, arrive composed.

use std::fmt::Write;

use askama::Template;
use shared::http::page::{Problem, problem_of};

/// What every page of a known organization has around its content.
pub(crate) struct Frame<'p> {
    /// What the stylesheet's address carries.
    pub(crate) style_version: &'p str,
    /// The name that candidates read.
    pub(crate) organization: &'p str,
    /// Where the openings are: `/careers/acme`.
    pub(crate) portal: &'p str,
    /// The organization's logo, an absolute address.
    pub(crate) logo_url: Option<&'p str>,
    /// The organization's colours: the text of one inline style sheet, which sets `--accent` and `--on-accent`, for light
    /// and for dark.
    pub(crate) theme: Option<&'p str>,
    /// The page's one address, absolute.
    pub(crate) canonical: Option<String>,
    /// What search engines are told: `noindex`.
    pub(crate) robots: Option<&'static str>,
    /// Whether it shows test data.
    pub(crate) is_test: bool,
}

/// The list of openings.
#[derive(Template)]
#[template(path = "openings.html")]
pub(crate) struct Openings<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// The organization in one paragraph.
    pub(crate) introduction: Option<&'p str>,
    /// What is searched for.
    pub(crate) search: Search<'p>,
    /// Whether anything is.
    pub(crate) is_search: bool,
    /// Departments to suggest.
    pub(crate) departments: Vec<&'p str>,
    /// Places to suggest.
    pub(crate) locations: Vec<&'p str>,
    /// A page of openings, newest first.
    pub(crate) cards: Vec<Card<'p>>,
    /// Where the next page is.
    pub(crate) next: Option<String>,
    /// Whether no page is before this one.
    pub(crate) is_first: bool,
    /// Whether the search read its share of the openings without filling the page; `next` goes on.
    pub(crate) goes_on: bool,
}

/// What is searched for, as it was typed.
pub(crate) struct Search<'p> {
    /// Words of the title.
    pub(crate) words: &'p str,
    /// The department.
    pub(crate) department: &'p str,
    /// The place.
    pub(crate) location: &'p str,
    /// `onsite`, `hybrid` or `remote`.
    pub(crate) remote_policy: Option<&'static str>,
}

impl Search<'_> {
    /// Whether more than words is searched for.
    fn has_filters(&self) -> bool {
        !self.department.is_empty() || !self.location.is_empty() || self.remote_policy.is_some()
    }
}

/// An opening in the list.
pub(crate) struct Card<'p> {
    /// Where its page is.
    pub(crate) path: String,
    /// The title.
    pub(crate) title: &'p str,
    /// The department.
    pub(crate) department: Option<&'p str>,
    /// The place.
    pub(crate) location: Option<&'p str>,
    /// `onsite`, `hybrid` or `remote`.
    pub(crate) remote_policy: Option<&'static str>,
    /// The range, in words.
    pub(crate) salary: Option<String>,
    /// How long it has been open: `3 days ago`.
    pub(crate) age: String,
    /// Since when: `2026-11-20`.
    pub(crate) date: String,
}

/// An opening, and the form to apply with.
#[derive(Template)]
#[template(path = "job.html")]
pub(crate) struct Job<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// The title.
    pub(crate) title: &'p str,
    /// The department.
    pub(crate) department: Option<&'p str>,
    /// The place.
    pub(crate) location: Option<&'p str>,
    /// `onsite`, `hybrid` or `remote`.
    pub(crate) remote_policy: Option<&'static str>,
    /// The range, in words.
    pub(crate) salary: Option<String>,
    /// How long it has been open: `3 days ago`.
    pub(crate) age: String,
    /// Since when: `2026-11-20`.
    pub(crate) date: String,
    /// What the work is: HTML that [`crate::markdown::html`] made.
    pub(crate) description: Option<String>,
    /// What it takes: likewise.
    pub(crate) requirements: Option<String>,
    /// The opening for machines: JSON that [`crate::job_posting`] made.
    pub(crate) json_ld: Option<String>,
    /// What the work is, in at most 200 characters of plain text.
    pub(crate) description_text: String,
    /// Whether one can apply, and with what.
    pub(crate) application: Application<'p>,
}

impl Job<'_> {
    /// What is wrong with the application that was sent.
    fn problems(&self) -> &[Problem] {
        match &self.application {
            Application::Open(form) => &form.problems,
            Application::Closed => &[],
        }
    }
}

/// Whether one can apply to an opening.
pub(crate) enum Application<'p> {
    /// With this form.
    Open(Form<'p>),
    /// Not now: the role is paused.
    Closed,
}

/// The form to apply with, as it was typed.
pub(crate) struct Form<'p> {
    /// Where it is sent.
    pub(crate) action: String,
    /// The name.
    pub(crate) name: &'p str,
    /// The e-mail address.
    pub(crate) email: &'p str,
    /// The telephone number.
    pub(crate) phone: &'p str,
    /// Where the resume is.
    pub(crate) resume_url: &'p str,
    /// A few words.
    pub(crate) note: &'p str,
    /// Whether the organization may keep it.
    pub(crate) has_consent: bool,
    /// Of the fields `name`, `email`, `phone`, `resume_url`, `note` and `consent`; `apply` is the form as a whole.
    pub(crate) problems: Vec<Problem>,
}

/// Thanks for an application, and a chance to add the resume.
#[derive(Template)]
#[template(path = "received.html")]
pub(crate) struct Received<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// The job's title.
    pub(crate) title: &'p str,
    /// Where the job's page is.
    pub(crate) job_path: &'p str,
    /// Where a resume can be sent.
    pub(crate) upload: Option<Upload>,
    /// Whether the resume has arrived.
    pub(crate) is_attached: bool,
    /// Why it could not be taken, a sentence.
    pub(crate) problem: Option<String>,
}

/// A form that sends a file.
pub(crate) struct Upload {
    /// Where it is sent, an absolute address.
    pub(crate) action: String,
    /// Names and values that go before the file, in this order.
    pub(crate) fields: Vec<(String, String)>,
}

/// A job that is no longer offered.
#[derive(Template)]
#[template(path = "gone.html")]
pub(crate) struct Gone<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// The job's title, where it may still be told.
    pub(crate) title: Option<&'p str>,
}

/// An address without a job.
#[derive(Template)]
#[template(path = "unknown_job.html")]
pub(crate) struct UnknownJob<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
}

/// An address without an organization.
#[derive(Template)]
#[template(path = "unknown_organization.html")]
pub(crate) struct UnknownOrganization<'p> {
    /// What the stylesheet's address carries.
    pub(crate) style_version: &'p str,
}

/// More applications from one network than are taken.
#[derive(Template)]
#[template(path = "too_many.html")]
pub(crate) struct TooMany<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// In how many minutes they are taken again, at least one.
    pub(crate) minutes: i64,
    /// Where the job's page is.
    pub(crate) job_path: &'p str,
}

/// What the list is called.
fn openings_at(frame: &Frame) -> String {
    format!("Openings at {}", frame.organization)
}

/// Where people may work, in words.
fn workplace(remote_policy: &str) -> &str {
    match remote_policy {
        "onsite" => "On-site",
        "hybrid" => "Hybrid",
        "remote" => "Remote",
        other => other,
    }
}

/// Where people may work, in words, unless the place says the same.
fn workplace_beside(location: Option<&str>, remote_policy: Option<&'static str>) -> Option<&'static str> {
    let workplace = workplace(remote_policy?);
    location.is_none_or(|location| !location.eq_ignore_ascii_case(workplace)).then_some(workplace)
}

/// `text` as a query carries it (RFC 3986: all but the unreserved characters as percent and two digits).
fn encoded(text: &str) -> String {
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
        fn a_query_carries_any_text(text: String) {
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
    fn remote_is_said_once() {
        assert_eq!(workplace_beside(Some("REMOTE"), Some("remote")), None);
        assert_eq!(workplace_beside(Some("Remote"), Some("hybrid")), Some("Hybrid"));
        assert_eq!(workplace_beside(Some("Berlin"), Some("remote")), Some("Remote"));
        assert_eq!(workplace_beside(None, Some("onsite")), Some("On-site"));
        assert_eq!(workplace_beside(None, None), None);
    }
}
