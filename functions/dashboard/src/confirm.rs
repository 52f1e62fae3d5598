//! The page that asks for the password or a passkey again before a change that needs a fresh sign-in.

use std::sync::Arc;

use shared::http::{ConfirmPage, Error, Html, MemberRequest, Reply, return_to};
use shared::model::{AuditAction, AuditTarget, AuditTargetKind, Member};
use shared::services::sign_in_limits::{self, WINDOW};

use crate::attempts::{ACCOUNT_LIMIT, too_many_passwords};

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
    Reply::page(&ConfirmPage::of(&request, return_to(query.get("return_to")), None))
}

/// Remembers that the member has given the password, and continues, with the form that waits for it if there is one.
pub(crate) async fn confirm(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let form = request.page.form();
    let next = return_to(form.get("return_to"));
    match PasswordCheck::of(&request, form.get("password")).await? {
        PasswordCheck::TooMany(seconds) => {
            let page = ConfirmPage::of(&request, next, Some(too_many_passwords(seconds)));
            Ok(Reply::page(&page)?.with_status(429).with("retry-after", seconds.to_string()))
        }
        PasswordCheck::Wrong => {
            let page = ConfirmPage::of(&request, next, Some("The password is incorrect.".to_owned()));
            Ok(Reply::page(&page)?.with_status(422))
        }
        PasswordCheck::Correct(_) => {
            request.replace_session(&request.session().clone().confirmed(request.context.now())).await?;
            Ok(request.page.continue_to(next))
        }
    }
}
