//! One's own account: the password, the sessions, and which copy of the organization is looked at.

use std::sync::Arc;

use shared::http::page::Problem;
use shared::http::{Desk, Error, Page, Reply};
use shared::model::{Mode, Session};

use crate::frame::{done, frame, problem};
use crate::pages::{Account, Section};
use crate::sign_in::{ACCOUNT_LIMIT, WINDOW, new_password, too_many};

const PATH: &str = "/dashboard/settings/account";

/// Shows the account.
pub(crate) async fn show(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    page(&desk, Vec::new())
}

fn page(desk: &Desk, problems: Vec<Problem>) -> Result<Reply<Page>, Error> {
    let email = desk.member().email.as_str();
    Reply::page(&Account { frame: frame(desk, Section::Account), email, problems })
}

/// Changes the password. Every session ends, and this browser gets a new one.
pub(crate) async fn change_password(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let form = desk.form();
    let organization = desk.tenant().organization;
    let member = desk.store().find_member(organization, desk.member().id).await?.ok_or(Error::NotFound)?;
    let subject = format!("password of {organization} {}", member.id);
    let (limit, window, now) = (ACCOUNT_LIMIT, WINDOW, desk.now());
    if let Some(seconds) = desk.store().count_attempt(&subject, limit, window, now).await? {
        let problems = vec![problem("current", "The current password", &too_many(seconds))];
        return Ok(page(&desk, problems)?.refused(429).with("retry-after", seconds.to_string()));
    }
    let is_current = member.password.as_ref().is_some_and(|current| current.verify(form.get("current")));
    if !is_current {
        let problems = vec![problem("current", "The current password", "is not right")];
        return Ok(page(&desk, problems)?.refused(422));
    }
    desk.store().uncount_attempt(&subject, window, now).await?;
    match new_password(&desk, form.get("password"), form.get("repeated"), &member.email) {
        Err(wrong) => Ok(page(&desk, vec![wrong])?.refused(422)),
        Ok(password) => {
            let member = member.with_password(password);
            let mut writes = desk.writes();
            writes.replace_member(&member)?;
            desk.sign_in(organization, &member, writes, done(PATH, "password-changed")).await
        }
    }
}

/// Ends every session of the member, this one included.
pub(crate) async fn sign_out_everywhere(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let organization = desk.tenant().organization;
    let member = desk.store().find_member(organization, desk.member().id).await?.ok_or(Error::NotFound)?;
    let mut writes = desk.writes();
    writes.replace_member(&member.signed_out())?;
    desk.store().commit(writes).await?;
    desk.sign_out(done("/dashboard/sign-in", "signed-out")).await
}

/// Looks at the other copy of the organization from now on.
pub(crate) async fn switch_mode(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let mode = desk.form().get("mode");
    let mode = Mode::ALL.into_iter().find(|known| known.as_str() == mode);
    let mode = mode.ok_or_else(|| Error::BadRequest("mode must be live or test".to_owned()))?;
    desk.keep_session(&Session { mode, seen_at: desk.now(), ..desk.session().clone() }).await?;
    Ok(Reply::see_other("/dashboard"))
}
