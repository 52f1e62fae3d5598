//! The page that asks for the password or a passkey again before a change that needs a fresh sign-in.

use std::sync::Arc;

use askama::Template;
use shared::http::page::{Problem, problem_of, style_version};
use shared::http::{Error, Html, MemberRequest, Reply, return_to};
use shared::model::{AuditAction, AuditTarget, AuditTargetKind, Member};
use shared::services::sign_in_limits::{self, WINDOW};

use crate::attempts::{ACCOUNT_LIMIT, too_many_passwords};
use crate::form::problem;

#[derive(Template)]
#[template(path = "confirm.html")]
struct ConfirmPage<'p> {
    style_version: &'static str,
    csrf: String,
    email: &'p str,
    /// The path to continue with.
    return_to: &'p str,
    /// The link to the page that asks for a passkey, if the member has one.
    passkey_link: Option<String>,
    /// Problems with the field `password`.
    problems: Vec<Problem>,
}

/// The result of checking the signed-in member's password.
pub(crate) enum PasswordCheck {
    /// The password is correct. The member was read for the check.
    Correct(Box<Member>),
    /// The password is wrong.
    Wrong,
    /// There were too many wrong passwords. The next attempt is possible after this number of seconds.
    TooMany(i64),
}

impl PasswordCheck {
    /// Checks a password of the signed-in member, and counts it if it is wrong.
    pub(crate) async fn of(request: &MemberRequest, password: &str) -> Result<Self, Error> {
        let (store, now) = (request.context.store(), request.context.now());
        let (organization, id) = (request.tenant().organization, request.member().id);
        let subject = sign_in_limits::password(organization, id);
        if let Some(seconds) = store.count_attempt(&subject, ACCOUNT_LIMIT, WINDOW, now).await? {
            return Ok(Self::TooMany(seconds));
        }
        let member = store.find_member(organization, id).await?.ok_or(Error::NotFound)?;
        if !member.password.as_ref().is_some_and(|current| current.verify(password)) {
            let target = Some(AuditTarget::of(AuditTargetKind::Member, id));
            store.record(request.tenant(), AuditAction::SignInFailed, target, None).await?;
            return Ok(Self::Wrong);
        }
        store.uncount_attempt(&subject, WINDOW, now).await?;
        Ok(Self::Correct(Box::new(member)))
    }
}

/// Asks for the password.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let query = request.context.query();
    page(&request, return_to(query.get("return_to")), Vec::new())
}

/// Remembers that the member has given the password, and continues.
pub(crate) async fn confirm(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let form = request.page.form();
    let next = return_to(form.get("return_to"));
    match PasswordCheck::of(&request, form.get("password")).await? {
        PasswordCheck::TooMany(seconds) => {
            let problems = vec![Problem { field: "password", sentence: too_many_passwords(seconds) }];
            let reply = page(&request, next, problems)?.with_status(429);
            Ok(reply.with("retry-after", seconds.to_string()))
        }
        PasswordCheck::Wrong => {
            let problems = vec![problem("password", "The password", "is incorrect")];
            Ok(page(&request, next, problems)?.with_status(422))
        }
        PasswordCheck::Correct(_) => {
            request.replace_session(&request.session().clone().confirmed(request.context.now())).await?;
            Ok(Reply::see_other(next))
        }
    }
}

fn page(request: &MemberRequest, return_to: &str, problems: Vec<Problem>) -> Result<Reply<Html>, Error> {
    let passkey_link = request.page.passkey_link(return_to);
    Reply::page(&ConfirmPage {
        style_version: style_version(),
        csrf: request.page.csrf(),
        email: request.member().email.as_str(),
        return_to,
        passkey_link: passkey_link.filter(|_| !request.member().passkeys.is_empty()),
        problems,
    })
}
