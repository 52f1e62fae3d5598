//! Sign-in, sign-out, and the page that sets a password with a single-use link.

use std::sync::Arc;

use askama::Template;
use shared::auth::{Credential, Kind};
use shared::http::page::{Problem, Sources, problem_of, style_version, version_of};
use shared::http::{Error, Html, MemberRequest, PageRequest, Reply, RequestContext, SignInPage, return_to};
use shared::id::Id;
use shared::model::{
    AuditActor, Email, Member, Mode, Name, NoticeEvent, Password, PasswordHash, SignInMethod, Slug, Tenant,
    TimeZoneName,
};
use shared::services::membership;
use shared::services::sign_in_limits::{self, WINDOW};
use shared::store::Transaction;
use subtle::ConstantTimeEq;

use crate::attempts::{ACCOUNT_LIMIT, too_many_passwords};
use crate::form::{collect, problem, required};
use crate::layout::SCRIPT;
use crate::messages::Notice;
use crate::second_factor;

/// The maximum number of wrong passwords from a network within [`WINDOW`].
const NETWORK_LIMIT: u64 = 50;

const WRONG: &str = "Incorrect e-mail address or password.";
/// What every failed sign-in says, so that it reveals nothing about the e-mail address.
const NAME_ORGANIZATION: &str =
    "If you belong to more than one organization, name the one that you want to sign in to.";
const EMAIL_TAKEN: &str = "Your organization already has a member with this e-mail address. Sign in with it, or ask \
                           for an invitation to another address.";
const INVALID_LINK: &str =
    "This link is no longer valid: it was used or replaced, or it has expired. Ask for a new link";

#[derive(Template)]
#[template(path = "set_password.html")]
struct SetPasswordPage<'p> {
    style_version: &'static str,
    csrf: String,
    /// The link's secret.
    token: &'p str,
    email: &'p str,
    organization: &'p str,
    /// The member's name in the form; `None` unless the link is an invitation.
    name: Option<&'p str>,
    /// The chosen time zone.
    time_zone: &'p str,
    /// The time zones that an invited member chooses from.
    time_zones: Vec<TimeZoneName>,
    /// The version in the script's URL.
    script_version: String,
    /// Problems with the fields `name`, `password` and `repeated`.
    problems: Vec<Problem>,
}

/// Shows the sign-in form.
pub(crate) async fn form(request: Arc<PageRequest>) -> Result<Reply<Html>, Error> {
    let query = request.context.query();
    let return_to = return_to(query.get("return_to"));
    if MemberRequest::find(&request).await?.is_some() {
        return Ok(Reply::see_other(return_to));
    }
    let notice = Notice::from_word(query.get("done")).filter(|notice| notice.is_for_sign_in());
    Reply::page(&SignInPage::of(&request, return_to, "", "").with_notice(notice.map(Notice::sentence)))
}

/// Shows the sign-in form of one organization. Somebody who is signed in to another one gets it, too.
pub(crate) async fn form_of_organization(request: Arc<PageRequest>) -> Result<Reply<Html>, Error> {
    let (context, query) = (&request.context, request.context.query());
    let return_to = return_to(query.get("return_to"));
    let slug = Slug::parse(context.path_parameter("slug")).ok_or(Error::NotFound)?;
    if let Some(signed_in) = MemberRequest::find(&request).await? {
        let site = context.store().find_career_site(&slug).await?;
        if site.is_some_and(|site| site.id == signed_in.tenant().organization) {
            return Ok(Reply::see_other(return_to));
        }
    }
    Reply::page(&SignInPage::of(&request, return_to, "", slug.as_str()))
}

fn failed<'p>(page: SignInPage<'p>, error: &str) -> SignInPage<'p> {
    page.with_error(format!("{error} {NAME_ORGANIZATION}"))
}

/// The organization to sign in to: the one that the form names, the one of the form that waits for the sign-in, or the one
/// that the browser remembers for the e-mail address. `Id::LAST`, which no organization has, stands for an unknown one.
async fn organization(request: &PageRequest, email: Option<&Email>) -> Result<Option<Id>, Error> {
    let typed = request.form().get("organization").trim().to_lowercase();
    if typed.is_empty() {
        let remembered = || email.and_then(|email| request.remembered_organization(email));
        return Ok(request.kept_organization().or_else(remembered));
    }
    let site = match Slug::parse(&typed) {
        Some(slug) => request.context.store().find_career_site(&slug).await?,
        None => None,
    };
    Ok(Some(site.map_or(Id::LAST, |site| site.id)))
}

/// Signs a member in. Neither the response nor its timing reveals whether the e-mail address has an account, or in how many
/// organizations.
pub(crate) async fn sign_in(request: Arc<PageRequest>) -> Result<Reply<Html>, Error> {
    let form = request.form();
    let (address, password) = (form.get("email").trim(), form.get("password"));
    let named = form.get("organization").trim();
    let next = return_to(form.get("return_to"));
    let page = SignInPage::of(&request, next, address, named);
    if request.has_kept_form() && address.is_empty() && password.is_empty() {
        // The member has chosen the password instead of a passkey.
        return Reply::page(&page);
    }
    let email = address.parse::<Email>().ok();
    let organization = organization(&request, email.as_ref()).await?;
    let account = email.as_ref().map_or_else(|| address.to_lowercase(), Email::normalized);
    let account = sign_in_limits::sign_in(organization, &account);
    let (store, now) = (request.context.store(), request.context.now());
    let known_browser = organization
        .zip(email.as_ref())
        .and_then(|(organization, email)| request.known_browser(organization, email));
    let subjects = match &known_browser {
        // Nobody else's wrong passwords lock out a member's own browser.
        Some(browser) => vec![(format!("{account} in {browser}"), ACCOUNT_LIMIT)],
        // The network counts first, so that a blocked one cannot lock out more members.
        None => vec![
            (format!("sign-in from {}", request.context.source()), NETWORK_LIMIT),
            (account, ACCOUNT_LIMIT),
        ],
    };
    // Counted before the check and taken back after it, so that attempts at the same time cannot exceed the limit.
    for (subject, limit) in &subjects {
        if let Some(seconds) = store.count_attempt(subject, *limit, WINDOW, now).await? {
            let page = failed(page, &too_many_passwords(seconds));
            return Ok(Reply::page(&page)?.with_status(429).with("retry-after", seconds.to_string()));
        }
    }
    let found = match &email {
        Some(email) => store.find_member_by_email(email, organization).await?,
        None => None,
    };
    let account = found.as_ref().map(|(organization, member)| (*organization, member.id));
    let Some((organization, member)) = verified(&request.context, found, password) else {
        request.record_failed_sign_in(account).await?;
        return Ok(Reply::page(&failed(page, WRONG))?.with_status(401));
    };
    for (subject, _) in &subjects {
        store.uncount_attempt(subject, WINDOW, now).await?;
    }
    let mut transaction = Transaction::new(Tenant { organization, mode: Mode::Live });
    if let Some(rehashed) = rehashed(&request.context, &member, password) {
        transaction.replace_member(&member, &rehashed)?;
    }
    if member.second_factor.is_some() {
        if !transaction.is_empty() {
            store.commit(transaction).await?;
        }
        return second_factor::ask(&request, organization, &member, next);
    }
    request.report_new_browser(organization, &member, &mut transaction)?;
    let reply = request.continue_to(next);
    request.sign_in(organization, &member, SignInMethod::Password, transaction, reply).await
}

/// Returns the member if the password is correct. Takes the same time if there is no member.
fn verified(context: &RequestContext, found: Option<(Id, Member)>, password: &str) -> Option<(Id, Member)> {
    let is_genuine = match found.as_ref().and_then(|(_, member)| member.password.as_ref()) {
        Some(hash) => hash.verify(password),
        None => PasswordHash::verify_dummy(password, context.password_cost()),
    };
    found.filter(|_| is_genuine)
}

/// Returns the member with a new hash if the stored hash was made at another cost.
fn rehashed(context: &RequestContext, member: &Member, password: &str) -> Option<Member> {
    let cost = context.password_cost();
    member.password.as_ref().filter(|hash| hash.needs_rehash(cost))?;
    let password = Password::parse(password, &member.email).ok()?;
    let hash = PasswordHash::of(&password, context.random().bytes(), cost).ok()?;
    Some(Member { password: Some(hash), version: member.version + 1, ..member.clone() })
}

/// Signs out and redirects to `return_to` or the sign-in page.
pub(crate) async fn sign_out(request: Arc<PageRequest>) -> Result<Reply<Html>, Error> {
    let form = request.form();
    let reply = match form.non_empty("return_to") {
        Some(path) => Reply::see_other(return_to(path)),
        None => Notice::SignedOut.redirect_to("/dashboard/sign-in"),
    };
    match MemberRequest::find(&request).await? {
        Some(member_request) => member_request.sign_out(reply).await,
        None => Ok(reply),
    }
}

/// Shows the password form of a single-use link.
pub(crate) async fn password_form(request: Arc<PageRequest>) -> Result<Reply<Html>, Error> {
    let link = PasswordLink::read(&request, request.context.query().get("token")).await?;
    link.page(&request, None, "", Vec::new())
}

/// Sets the password and signs in. The same write invalidates the link.
pub(crate) async fn set_password(request: Arc<PageRequest>) -> Result<Reply<Html>, Error> {
    let form = request.form();
    let link = PasswordLink::read(&request, form.get("token")).await?;
    request.context.identify(AuditActor::member(link.member.id));
    let mut problems = Vec::new();
    let mut member = link.member.clone();
    if member.is_invited() {
        let name = required("name", "Your name", Name::parse(form.get("name")));
        if let Some(name) = collect(name, &mut problems) {
            member.name = name;
        }
        // A page from before the field was added sends none.
        if let Ok(time_zone) = form.get("time_zone").parse::<TimeZoneName>() {
            member.time_zone = time_zone;
        }
    }
    let password = new_password(&request.context, form.get("password"), form.get("repeated"), &member.email);
    let (Some(password), true) = (collect(password, &mut problems), problems.is_empty()) else {
        let (name, zone) = (Some(form.get("name")), form.get("time_zone"));
        return Ok(link.page(&request, name, zone, problems)?.with_status(422));
    };
    let (context, organization) = (&request.context, link.organization);
    let member = if member.is_invited() {
        member.accepted(password, context.now())
    } else {
        member.with_password(password)
    };
    let mut transaction = Transaction::new(Tenant { organization, mode: Mode::Live });
    transaction.replace_member(&link.member, &member)?;
    let reply = Notice::PasswordSet.redirect_to("/dashboard");
    if link.member.is_invited() {
        transaction.claim_email(&member)?;
        return match request.sign_in(organization, &member, SignInMethod::Password, transaction, reply).await
        {
            Err(Error::Duplicate { .. }) => {
                let problems = vec![Problem { field: "email", sentence: EMAIL_TAKEN.to_owned() }];
                let (name, zone) = (Some(form.get("name")), form.get("time_zone"));
                Ok(link.page(&request, name, zone, problems)?.with_status(422))
            }
            result => result,
        };
    }
    transaction.insert_notice(member.id, &context.notice(NoticeEvent::PasswordReset))?;
    let revoke = || membership::revoke_grants(context.store(), organization, &member, context.now());
    revoke().await?;
    // The link replaces the password, and not the second factor.
    let reply = if member.second_factor.is_some() {
        context.store().commit(transaction).await?;
        let reply = Notice::PasswordReset.redirect_to("/dashboard/sign-in");
        request.remember_organization(reply, organization, &member.email)
    } else {
        request.sign_in(organization, &member, SignInMethod::Password, transaction, reply).await?
    };
    // Somebody else may have connected an application in between.
    revoke().await?;
    Ok(reply)
}

/// Returns the hash of a new password that was entered twice, or the problem with it.
pub(crate) fn new_password(
    context: &RequestContext,
    password: &str,
    repeated: &str,
    email: &Email,
) -> Result<PasswordHash, Problem> {
    let parsed =
        Password::parse(password, email).map_err(|message| problem("password", "The password", &message))?;
    if password != repeated {
        return Err(Problem { field: "repeated", sentence: "The passwords do not match.".to_owned() });
    }
    PasswordHash::of(&parsed, context.random().bytes(), context.password_cost())
        .map_err(|_| problem("password", "The password", "could not be stored; try another one"))
}

/// A valid single-use link and its member.
struct PasswordLink {
    token: String,
    organization: Id,
    organization_name: String,
    member: Member,
}

impl PasswordLink {
    /// Finds the member of a link. Every invalid link gets the same response.
    async fn read(request: &PageRequest, token: &str) -> Result<Self, Error> {
        let (store, now) = (request.context.store(), request.context.now());
        let invalid = || Error::BadRequest(INVALID_LINK.to_owned());
        let link = Credential::read(token, request.context.credential_keys()).map_err(|_| invalid())?;
        if link.kind() != Kind::Link {
            return Err(invalid());
        }
        let organization = link.tenant().organization;
        let member = store.find_member(organization, link.id()).await?.ok_or_else(invalid)?;
        let stored = member.link.as_ref().filter(|link| now < link.expires_at).ok_or_else(invalid)?;
        let is_genuine: bool = stored.hash.as_bytes().ct_eq(link.hash().as_bytes()).into();
        if !is_genuine {
            return Err(invalid());
        }
        let tenant = Tenant { organization, mode: Mode::Live };
        let found = store.find_organization(tenant).await?.ok_or_else(invalid)?;
        let organization_name = found.name.as_str().to_owned();
        Ok(Self { token: token.to_owned(), organization, organization_name, member })
    }

    fn page(
        &self,
        request: &PageRequest,
        name: Option<&str>,
        time_zone: &str,
        problems: Vec<Problem>,
    ) -> Result<Reply<Html>, Error> {
        let name = name.unwrap_or(self.member.name.as_str());
        let is_invited = self.member.is_invited();
        let page = SetPasswordPage {
            style_version: style_version(),
            csrf: request.csrf(),
            token: &self.token,
            email: self.member.email.as_str(),
            organization: &self.organization_name,
            name: is_invited.then_some(name),
            time_zone,
            time_zones: if is_invited { TimeZoneName::choices() } else { Vec::new() },
            script_version: version_of(&SCRIPT),
            problems,
        };
        let sources = Sources { script: is_invited, ..Sources::default() };
        Ok(Reply::page(&page)?.using(&sources))
    }
}
