//! Sign-in with a passkey. The browser offers the member's passkeys, so the page asks for no address and reveals none.

use std::sync::Arc;

use askama::Template;
use jiff::SignedDuration;
use shared::http::page::{Sources, style_version};
use shared::http::{Error, Html, MemberRequest, PageRequest, Reply, return_to};
use shared::model::{AuditActor, Mode, Passkey, SignInMethod, Tenant};
use shared::store::Transaction;

use crate::ceremony::Ceremony;
use crate::messages::Failure;
use crate::relying_party::{Claim, RelyingParty};
use crate::script;

const PATH: &str = "/dashboard/sign-in/passkey";
/// The maximum number of attempts from a network within [`WINDOW`]. Successful ones are not counted.
const NETWORK_LIMIT: u64 = 50;
const WINDOW: SignedDuration = SignedDuration::from_mins(15);

#[derive(Template)]
#[template(path = "sign_in_with_passkey.html")]
struct SignInPage<'p> {
    style_version: &'static str,
    script_version: &'static str,
    csrf: String,
    /// The ceremony, unless there were too many attempts or another site has opened the page.
    ceremony: Option<Ceremony>,
    /// The link to this page, if another site has opened it.
    link: Option<String>,
    return_to: &'p str,
    password_link: String,
    /// The form that waits for the sign-in; empty if there is none.
    kept: String,
    /// Why the last attempt failed.
    error: Option<String>,
}

impl SignInPage<'_> {
    fn reply(self) -> Result<Reply<Html>, Error> {
        Ok(Reply::page(&self)?.using(&Sources { script: true, ..Sources::default() }))
    }
}

/// Asks for a passkey.
pub(crate) async fn show(request: Arc<PageRequest>) -> Result<Reply<Html>, Error> {
    let query = request.context.query();
    ask(&request, return_to(query.get("return_to")), Failure::from_word(query.get("failed"))).await
}

/// Asks for a passkey. If another site has opened the page, it begins with a click of the visitor: a ceremony counts as an
/// attempt, and a site could use up those of its visitors' networks.
async fn ask(request: &PageRequest, next: &str, failure: Option<Failure>) -> Result<Reply<Html>, Error> {
    let (context, party) = (&request.context, RelyingParty::of(request)?);
    let page = SignInPage {
        style_version: style_version(),
        script_version: script::version(),
        csrf: request.csrf(),
        ceremony: None,
        link: None,
        return_to: next,
        password_link: PageRequest::password_link(next),
        kept: request.kept_text(),
        error: failure.map(|failure| failure.sentence().to_owned()),
    };
    if context.header("sec-fetch-site") == Some("cross-site") {
        return SignInPage { link: request.passkey_link(next), ..page }.reply();
    }
    let limit =
        context.store().count_attempt(&subject(request), NETWORK_LIMIT, WINDOW, context.now()).await?;
    if let Some(seconds) = limit {
        let minutes = (seconds + 59) / 60;
        let unit = if minutes == 1 { "minute" } else { "minutes" };
        let error = format!("Too many attempts. Try again in {minutes} {unit}.");
        let reply = SignInPage { error: Some(error), ..page }.reply()?;
        return Ok(reply.with_status(429).with("retry-after", seconds.to_string()));
    }
    let ceremony = Ceremony::begin(request, party.request(context.random())?).await?;
    SignInPage { ceremony: Some(ceremony), ..page }.reply()
}

/// Begins again after a failure, with the form that waits for the sign-in.
async fn again(request: &PageRequest, next: &str, failure: Failure) -> Result<Reply<Html>, Error> {
    if request.has_kept_form() {
        Ok(ask(request, next, Some(failure)).await?.with_status(401))
    } else {
        Ok(failure.redirect_to(PATH, Some(next)))
    }
}

/// What attempts are counted by.
fn subject(request: &PageRequest) -> String {
    format!("passkeys from {}", request.context.source())
}

/// Signs a member in with a passkey. A member who is signed in has only given it again.
pub(crate) async fn sign_in(request: Arc<PageRequest>) -> Result<Reply<Html>, Error> {
    let (context, form) = (&request.context, request.form());
    let (store, now, next) = (context.store(), context.now(), return_to(form.get("return_to")));
    if request.has_kept_form() && form.get("ceremony").is_empty() {
        // The member has chosen a passkey instead of the password.
        return ask(&request, next, None).await;
    }
    let party = RelyingParty::of(&request)?;
    let Some(state) = Ceremony::take(&request).await? else {
        return again(&request, next, Failure::Expired).await;
    };
    let claim = Claim::parse(form.get("credential"));
    let found = match &claim {
        Some(claim) => store.find_member(claim.organization, claim.member).await?,
        None => None,
    };
    let account = claim.as_ref().zip(found.as_ref()).map(|(claim, member)| (claim.organization, member.id));
    let verified = claim.zip(found).and_then(|(claim, member)| {
        let passkey = party.used(&state, &claim, &member.passkeys)?;
        let passkeys = member.passkeys.clone().with(Passkey { used_at: Some(now), ..passkey })?;
        Some((claim.organization, member.clone().with_passkeys(passkeys), member))
    });
    let Some((organization, after, before)) = verified else {
        request.record_failed_sign_in(account).await?;
        return again(&request, next, Failure::NotAccepted).await;
    };
    context.identify(AuditActor::member(after.id));
    store.uncount_attempt(&subject(&request), WINDOW, now).await?;
    let mut transaction = Transaction::new(Tenant { organization, mode: Mode::Live });
    transaction.replace_member(&before, &after)?;
    let signed_in = MemberRequest::find(&request).await?;
    let is_own = |signed_in: &MemberRequest| {
        (signed_in.tenant().organization, signed_in.member().id) == (organization, after.id)
    };
    if let Some(signed_in) = signed_in.filter(is_own) {
        let session = signed_in.session().clone().confirmed_with_passkey(now);
        transaction.replace_session(signed_in.session_hash(), &session)?;
        store.commit(transaction).await?;
        return Ok(request.continue_to(next));
    }
    request.report_new_browser(organization, &after, &mut transaction)?;
    let reply = request.continue_to(next);
    request.sign_in(organization, &after, SignInMethod::Passkey, transaction, reply).await
}
