//! Settings > Account: the password, the sessions, and the choice between live and test data.

use std::sync::Arc;

use askama::Template;
use shared::http::page::{Problem, problem_of};
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::{Mode, Session};

use crate::form::problem;
use crate::layout::{Layout, Section};
use crate::messages::Notice;
use crate::sign_in::{ACCOUNT_LIMIT, WINDOW, new_password, too_many_attempts};

const PATH: &str = "/dashboard/settings/account";

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage<'p> {
    layout: Layout<'p>,
    email: &'p str,
    /// Problems with the fields `current`, `password` and `repeated`.
    problems: Vec<Problem>,
}

/// Shows the account.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    page(&request, Vec::new())
}

fn page(request: &MemberRequest, problems: Vec<Problem>) -> Result<Reply<Html>, Error> {
    let email = request.member().email.as_str();
    Reply::page(&AccountPage { layout: Layout::of(request, Section::Account), email, problems })
}

/// Changes the password. Every session ends, and this browser gets a new one.
pub(crate) async fn change_password(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (form, store, now) = (request.page.form(), request.context.store(), request.context.now());
    let organization = request.tenant().organization;
    let member = store.find_member(organization, request.member().id).await?.ok_or(Error::NotFound)?;
    let subject = format!("password of {organization} {}", member.id);
    if let Some(seconds) = store.count_attempt(&subject, ACCOUNT_LIMIT, WINDOW, now).await? {
        let problems = vec![Problem { field: "current", sentence: too_many_attempts(seconds) }];
        return Ok(page(&request, problems)?.with_status(429).with("retry-after", seconds.to_string()));
    }
    let is_current = member.password.as_ref().is_some_and(|current| current.verify(form.get("current")));
    if !is_current {
        let problems = vec![problem("current", "The current password", "is incorrect")];
        return Ok(page(&request, problems)?.with_status(422));
    }
    store.uncount_attempt(&subject, WINDOW, now).await?;
    let random = request.context.random();
    match new_password(random, form.get("password"), form.get("repeated"), &member.email) {
        Err(problem) => Ok(page(&request, vec![problem])?.with_status(422)),
        Ok(password) => {
            let changed = member.clone().with_password(password);
            let mut transaction = request.transaction();
            transaction.replace_member(&member, &changed)?;
            let reply = Notice::PasswordChanged.redirect_to(PATH);
            request.page.sign_in(organization, &changed, transaction, reply).await
        }
    }
}

/// Ends every session of the member, including this one.
pub(crate) async fn sign_out_everywhere(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (organization, store) = (request.tenant().organization, request.context.store());
    let member = store.find_member(organization, request.member().id).await?.ok_or(Error::NotFound)?;
    let mut transaction = request.transaction();
    transaction.replace_member(&member, &member.clone().signed_out())?;
    store.commit(transaction).await?;
    request.sign_out(Notice::SignedOut.redirect_to("/dashboard/sign-in")).await
}

/// Switches this session to live or test data.
pub(crate) async fn switch_mode(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let mode = request.page.form().get("mode").parse::<Mode>();
    let mode = mode.map_err(|_| Error::BadRequest("The mode must be live or test".to_owned()))?;
    let session = Session { mode, seen_at: request.context.now(), ..request.session().clone() };
    request.replace_session(&session).await?;
    Ok(Reply::see_other("/dashboard"))
}
