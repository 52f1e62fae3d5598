//! The parts that all HTML pages share: the stylesheet, the error page, the problems of a form, and the headers.

use std::sync::LazyLock;

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::{Error, SentForm};

/// The stylesheet of the dashboard and the pages around it.
pub const STYLE: &str = concat!(
    include_str!("../../style/base.css"),
    include_str!("../../style/rolecall.css"),
    include_str!("../../style/forms_and_texts.css"),
    include_str!("../../style/style.css"),
);
/// The script of the forms that take a file.
pub const FILE_SIZE_SCRIPT: &str = include_str!("../../style/file_size.js");
/// The icon of all pages.
pub const ICON: &str = include_str!("../../style/icon.svg");

/// The version in the stylesheet's URL. It changes with the content, so browsers may cache the stylesheet.
pub fn style_version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| version_of(STYLE));
    &VERSION
}

/// The version in a file's URL, which changes with its content.
pub fn version_of(content: &str) -> String {
    // Nine bytes are twelve characters without padding.
    URL_SAFE_NO_PAD.encode(&Sha256::digest(content)[..9])
}

/// The error page.
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
    /// The form that was not carried out.
    sent: Option<&'p SentForm>,
    /// Whether the same form may succeed a moment later.
    is_repeatable: bool,
}

/// Renders the error page, with a link to `back` if it is given, and with what was typed in the form that was `sent`.
pub(super) fn of_error(
    error: &Error,
    request_id: &str,
    back: Option<&str>,
    sent: Option<&SentForm>,
) -> String {
    let (status, _) = error.kind();
    let sentence = match error {
        Error::NotFound => "This page does not exist, or you do not have access to it.".to_owned(),
        error => format!("{}.", error.sentence()),
    };
    let (heading, next) = match status {
        400 => ("Invalid request", "Check the address, or go back and try again."),
        _ if matches!(error, Error::ForeignForm) => ("This form has expired", "Nothing was changed."),
        403 => ("You are not allowed to do this", "Go back, or ask an owner of your organization."),
        404 | 405 => ("Page not found", "Check the address, or go to the dashboard."),
        410 => {
            ("This candidate was erased", "Everything that was stored about this person has been removed.")
        }
        413 | 415 => (
            "This form could not be read",
            "Go back and try again with a smaller file or less text, or in another browser.",
        ),
        502 | 503 => ("The service is busy", "Nothing was lost. Try again in a moment."),
        500 => (
            "Something went wrong",
            "This is an error on our side, and we have logged it. Try again in a moment.",
        ),
        _ => ("Your request failed", "Go back and try again."),
    };
    let page = ErrorPage {
        style_version: style_version(),
        status,
        heading,
        sentence: &sentence,
        next,
        request_id,
        back,
        sent,
        is_repeatable: matches!(status, 409 | 429 | 500..),
    };
    page.render().unwrap_or_else(|_| sentence.clone())
}

/// A problem with a field of a submitted form.
#[derive(Debug)]
pub struct Problem {
    /// The field's name in the form.
    pub field: &'static str,
    /// A complete sentence: "The name can't be blank."
    pub sentence: String,
}

/// Returns the sentence of the first problem with `field`.
pub fn problem_of<'p>(problems: &'p [Problem], field: &str) -> Option<&'p str> {
    problems.iter().find(|problem| problem.field == field).map(|problem| problem.sentence.as_str())
}

/// What a page may use besides the stylesheets, the images and the forms of this origin.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources<'s> {
    /// The exact text of an inline stylesheet.
    pub style: Option<&'s str>,
    /// The origin of an image.
    pub image: Option<&'s str>,
    /// The origins that a form may submit or redirect to, separated by spaces.
    pub form: Option<&'s str>,
    /// The origin of the documents that the page shows in frames.
    pub frame: Option<&'s str>,
    /// Whether the page runs the scripts of this origin.
    pub script: bool,
}

/// The content security policy of a page. Except for these sources, it allows nothing from other origins, no scripts,
/// nothing inline, no frames, and forms only to this origin.
pub(super) fn content_security_policy(sources: &Sources<'_>) -> String {
    let style = sources.style.map(|style| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(style))));
    let directive = |name: &str, source: Option<&str>| match source {
        Some(source) => format!("{name} 'self' {source}; "),
        None => format!("{name} 'self'; "),
    };
    format!(
        "default-src 'none'; {}{}{}{}{}frame-ancestors 'none'; base-uri 'none'",
        directive("style-src", style.as_deref()),
        directive("img-src", sources.image),
        directive("form-action", sources.form),
        sources.frame.map(|origin| format!("frame-src {origin}; ")).unwrap_or_default(),
        if sources.script { "script-src 'self'; " } else { "" },
    )
}

/// Returns the headers of every page.
pub(super) fn headers() -> Vec<(&'static str, String)> {
    vec![
        ("content-type", "text/html; charset=utf-8".to_owned()),
        ("cache-control", "no-store".to_owned()),
        ("content-security-policy", content_security_policy(&Sources::default())),
        ("x-frame-options", "DENY".to_owned()),
        ("referrer-policy", "no-referrer".to_owned()),
        ("cross-origin-opener-policy", "same-origin".to_owned()),
    ]
}
