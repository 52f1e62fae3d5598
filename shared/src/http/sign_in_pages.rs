//! The pages that ask for a sign-in: before a page of the dashboard, in place of a form that arrived without one, and
//! before a change that needs a fresh one. They have the form that waits for it as a hidden field.

use askama::Template;

use super::kept_form::KeptForm;
use super::page::style_version;
use super::{MemberRequest, PageRequest};

/// A form that waits for the sign-in, as a page has it.
struct Waiting {
    /// The value of the hidden field.
    text: String,
    /// What the member has typed.
    typed: Vec<(String, String)>,
    /// Whether a file or a secret has to be entered again.
    lacks_part: bool,
}

impl Waiting {
    fn of(request: &PageRequest, kept: &KeptForm) -> Self {
        let text = kept.text(request.context.signing_keys());
        Self { text, typed: kept.typed(), lacks_part: kept.lacks_part }
    }
}

/// The page that signs a member in.
#[derive(Template)]
#[template(path = "sign_in.html")]
pub struct SignInPage<'p> {
    style_version: &'static str,
    csrf: String,
    /// The path to continue with after sign-in.
    return_to: &'p str,
    email: &'p str,
    /// The slug of the organization, from the link or as typed; may be empty.
    organization: &'p str,
    /// The link to the sign-in with a passkey, if the service offers it.
    passkey_link: Option<String>,
    /// Why sign-in failed.
    error: Option<String>,
    /// The result of the last action.
    notice: Option<&'static str>,
    /// The form that is sent on after sign-in.
    waiting: Option<Waiting>,
}

impl<'p> SignInPage<'p> {
    /// The page with this address and organization.
    pub fn of(request: &PageRequest, return_to: &'p str, email: &'p str, organization: &'p str) -> Self {
        Self {
            style_version: style_version(),
            csrf: request.csrf(),
            return_to,
            email,
            organization,
            passkey_link: request.passkey_link(return_to),
            error: None,
            notice: None,
            waiting: request.kept().map(|kept| Waiting::of(request, kept)),
        }
    }

    /// The same page, with the result of the last action.
    #[must_use]
    pub fn with_notice(self, notice: Option<&'static str>) -> Self {
        Self { notice, ..self }
    }

    /// The same page, with the reason why sign-in failed.
    #[must_use]
    pub fn with_error(self, error: String) -> Self {
        Self { error: Some(error), ..self }
    }

    /// The same page, before this form.
    pub(super) fn before(self, request: &PageRequest, kept: &KeptForm) -> Self {
        Self { waiting: Some(Waiting::of(request, kept)), ..self }
    }
}

/// The page that asks for the password or a passkey again before a change that needs a fresh sign-in.
#[derive(Template)]
#[template(path = "confirm.html")]
pub struct ConfirmPage<'p> {
    style_version: &'static str,
    csrf: String,
    email: &'p str,
    /// The path to continue with.
    return_to: &'p str,
    /// The link to the page that asks for a passkey, if the member has one.
    passkey_link: Option<String>,
    /// Why the password was not accepted.
    error: Option<String>,
    /// The form that is sent on afterwards.
    waiting: Option<Waiting>,
}

impl<'p> ConfirmPage<'p> {
    /// The page for the signed-in member.
    pub fn of(request: &'p MemberRequest, return_to: &'p str, error: Option<String>) -> Self {
        let passkey_link = request.page.passkey_link(return_to);
        Self {
            style_version: style_version(),
            csrf: request.csrf(),
            email: request.member().email.as_str(),
            return_to,
            passkey_link: passkey_link.filter(|_| !request.member().passkeys.is_empty()),
            error,
            waiting: request.page.kept().map(|kept| Waiting::of(&request.page, kept)),
        }
    }

    /// The same page, before this form.
    pub(super) fn before(self, request: &PageRequest, kept: &KeptForm) -> Self {
        Self { waiting: Some(Waiting::of(request, kept)), ..self }
    }
}

/// The page that shows what was typed in a form that is not carried out, and why not.
#[derive(Template)]
#[template(path = "not_carried_out.html")]
pub(super) struct NotCarriedOutPage<'p> {
    pub(super) style_version: &'static str,
    pub(super) sentence: String,
    pub(super) typed: Vec<(String, String)>,
    /// The path of the page to continue with, and the text of the link.
    pub(super) link: (&'p str, &'static str),
}
