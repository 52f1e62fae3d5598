//! Pages: what all of them share. A page is a template; what may be in one, the policy in its headers says.

use std::sync::LazyLock;

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::Error;

/// The stylesheet of all pages.
pub const STYLE: &str = include_str!("../../style/style.css");
/// The icon of all pages.
pub const ICON: &str = include_str!("../../style/icon.svg");

/// What the stylesheet's address carries, so that browsers may keep it: it changes with the sheet.
pub fn style_version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| URL_SAFE_NO_PAD.encode(&Sha256::digest(STYLE)[..9]));
    &VERSION
}

/// A page that says what went wrong.
#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'p> {
    style_version: &'p str,
    status: u16,
    heading: &'p str,
    sentence: &'p str,
    next: &'p str,
    request_id: &'p str,
    back: Option<&'p str>,
}

/// The page for an error. Only who may have come from the dashboard is led there.
pub(super) fn of_error(error: &Error, request_id: &str, back: Option<&str>) -> String {
    let (status, _) = error.kind();
    let sentence = match error {
        Error::NotFound => "The page does not exist, or what it shows is not your organization's.".to_owned(),
        error => format!("{}.", error.sentence()),
    };
    let (heading, next) = match status {
        400 => ("This request cannot be understood", "Check the address, or go back and try again."),
        _ if matches!(error, Error::ForeignForm) => ("This form is out of date", "Nothing was changed."),
        403 => ("This is not allowed", "Go back, or ask an owner of your organization."),
        404 | 405 => ("There is nothing here", "Check the address, or begin at the dashboard."),
        413 | 415 => ("This form cannot be read", "Go back and try with less, or with another browser."),
        502 | 503 => ("The service is busy", "Nothing was lost. Try again in a moment."),
        500 => ("Something went wrong", "It is our fault, and it is in our log. Try again in a moment."),
        _ => ("This did not work", "Go back and try again."),
    };
    let page = ErrorPage {
        style_version: style_version(),
        status,
        heading,
        sentence: &sentence,
        next,
        request_id,
        back,
    };
    page.render().unwrap_or_else(|_| sentence.clone())
}

/// What is wrong with one field of a form that was sent.
#[derive(Debug)]
pub struct Problem {
    /// The field's name in the form.
    pub field: &'static str,
    /// A sentence that can stand alone: "The name can't be blank."
    pub sentence: String,
}

/// What is wrong with `field`.
pub fn problem_of<'p>(problems: &'p [Problem], field: &str) -> Option<&'p str> {
    problems.iter().find(|problem| problem.field == field).map(|problem| problem.sentence.as_str())
}

/// What a page may use that does not come from us.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources<'s> {
    /// A stylesheet within the page, word for word.
    pub style: Option<&'s str>,
    /// The origin of an image.
    pub image: Option<&'s str>,
    /// The origin that a form leads to.
    pub form: Option<&'s str>,
}

/// The policy that a page is shown under: nothing from elsewhere, nothing inline, in nobody's frame, and forms that lead
/// nowhere but home; except for these sources.
pub(super) fn content_security_policy(sources: &Sources<'_>) -> String {
    let style = sources.style.map(|style| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(style))));
    let directive = |name: &str, source: Option<&str>| match source {
        Some(source) => format!("{name} 'self' {source}; "),
        None => format!("{name} 'self'; "),
    };
    format!(
        "default-src 'none'; {}{}{}frame-ancestors 'none'; base-uri 'none'",
        directive("style-src", style.as_deref()),
        directive("img-src", sources.image),
        directive("form-action", sources.form),
    )
}

/// The headers of every page.
pub(super) fn headers(base_url: &str) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("content-type", "text/html; charset=utf-8".to_owned()),
        ("cache-control", "no-store".to_owned()),
        ("content-security-policy", content_security_policy(&Sources::default())),
        ("x-frame-options", "DENY".to_owned()),
        ("x-content-type-options", "nosniff".to_owned()),
        ("referrer-policy", "no-referrer".to_owned()),
        ("cross-origin-opener-policy", "same-origin".to_owned()),
    ];
    if base_url.starts_with("https://") {
        headers.push(("strict-transport-security", "max-age=31536000; includeSubDomains".to_owned()));
    }
    headers
}
