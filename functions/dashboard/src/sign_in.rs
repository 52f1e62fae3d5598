//! Signing in and out, and the page behind a single-use link, which sets a password.

use std::sync::Arc;

use jiff::SignedDuration;
use shared::auth::{Credential, Kind, hash};
use shared::http::page::{Problem, style_version};
use shared::http::{Browser, Error, Page, Reply};
use shared::id::Id;
use shared::model::{Email, Member, Mode, Name, Password, PasswordHash, Tenant};
use shared::store::Writes;
use subtle::ConstantTimeEq;

use crate::frame::{done, problem};
use crate::pages::{SetPassword, SignIn};

/// How many wrong passwords an account, and an address, may send in a quarter of an hour.
pub(crate) const ACCOUNT_LIMIT: u64 = 10;
const ADDRESS_LIMIT: u64 = 50;
pub(crate) const WINDOW: SignedDuration = SignedDuration::from_mins(15);
/// The longest way back that is kept.
const MAX_RETURN: usize = 8 * 1024;

const WRONG: &str = "The e-mail address or the password is not right.";
const SPENT: &str = "The link is no longer good: it was used, replaced or is too old. Ask for another one";

/// Shows the form to sign in with.
pub(crate) async fn form(browser: Arc<Browser>) -> Result<Reply<Page>, Error> {
    let query = browser.query();
    let return_to = return_to(query.get("return_to"));
    if browser.desk().await?.is_some() {
        return Ok(Reply::see_other(return_to));
    }
    let notice = (query.get("done") == "signed-out").then(|| "You are signed out.".to_owned());
    Reply::page(&page(&browser, return_to, "", None, notice))
}

/// Signs a member in. Whether there is an account of that address, neither the answer nor the time it takes shows.
pub(crate) async fn sign_in(browser: Arc<Browser>) -> Result<Reply<Page>, Error> {
    let form = browser.form();
    let (typed, password) = (form.get("email").trim(), form.get("password"));
    let return_to = return_to(form.get("return_to"));
    let email = typed.parse::<Email>().ok();
    let account = hash(&email.as_ref().map_or_else(|| typed.to_lowercase(), Email::folded));
    let subjects = [
        (format!("sign-in to {account}"), ACCOUNT_LIMIT),
        (format!("sign-in from {}", browser.source()), ADDRESS_LIMIT),
    ];
    let (store, now) = (browser.store(), browser.now());
    for (subject, limit) in &subjects {
        if let Some(seconds) = store.count_attempt(subject, *limit, WINDOW, now).await? {
            let sentence = format!("The password {}.", too_many(seconds));
            let page = page(&browser, return_to, typed, Some(sentence), None);
            return Ok(Reply::page(&page)?.refused(429).with("retry-after", seconds.to_string()));
        }
    }
    let found = match &email {
        Some(email) => store.find_member_by_email(email).await?,
        None => None,
    };
    let Some((organization, member)) = verified(found, password) else {
        let page = page(&browser, return_to, typed, Some(WRONG.to_owned()), None);
        return Ok(Reply::page(&page)?.refused(401));
    };
    for (subject, _) in &subjects {
        store.uncount_attempt(subject, WINDOW, now).await?;
    }
    let mut writes = Writes::new(Tenant { organization, mode: Mode::Live });
    if let Some(rehashed) = rehashed(&browser, &member, password) {
        writes.replace_member(&rehashed)?;
    }
    browser.sign_in(organization, &member, writes, Reply::see_other(return_to)).await
}

/// What is said of a password where there were too many wrong ones; the next may be tried in so many seconds.
pub(crate) fn too_many(seconds: i64) -> String {
    let minutes = (seconds + 59) / 60;
    format!("was wrong too often; try again in {minutes} {}", if minutes == 1 { "minute" } else { "minutes" })
}

/// The member, if the password is the member's. The work is the same where there is nobody.
fn verified(found: Option<(Id, Member)>, typed: &str) -> Option<(Id, Member)> {
    let genuine = match found.as_ref().and_then(|(_, member)| member.password.as_ref()) {
        Some(password) => password.verify(typed),
        None => PasswordHash::verify_nobody(typed),
    };
    found.filter(|_| genuine)
}

/// The member with the password hashed as it is today, where it was hashed otherwise.
fn rehashed(browser: &Browser, member: &Member, typed: &str) -> Option<Member> {
    member.password.as_ref().filter(|password| password.needs_rehash())?;
    let password = Password::parse(typed, &member.email).ok()?;
    let password = PasswordHash::of(&password, browser.random().bytes()).ok()?;
    Some(Member { password: Some(password), version: member.version + 1, ..member.clone() })
}

/// Signs out, whoever is signed in.
pub(crate) async fn sign_out(browser: Arc<Browser>) -> Result<Reply<Page>, Error> {
    let form = browser.form();
    let reply = match form.given("return_to") {
        Some(wanted) => Reply::see_other(return_to(wanted)),
        None => done("/dashboard/sign-in", "signed-out"),
    };
    match browser.desk().await? {
        Some(desk) => desk.sign_out(reply).await,
        None => Ok(reply),
    }
}

/// Shows the form behind a link.
pub(crate) async fn password_form(browser: Arc<Browser>) -> Result<Reply<Page>, Error> {
    let query = browser.query();
    let link = Linked::read(&browser, query.get("token")).await?;
    link.page(&browser, None, Vec::new())
}

/// Sets the password, and signs in with it. The link is spent in the same write.
pub(crate) async fn set_password(browser: Arc<Browser>) -> Result<Reply<Page>, Error> {
    let form = browser.form();
    let link = Linked::read(&browser, form.get("token")).await?;
    let mut problems = Vec::new();
    let mut member = link.member.clone();
    if member.password.is_none() {
        match Name::parse(form.get("name")) {
            Ok(Some(name)) => member.name = name,
            Ok(None) => problems.push(problem("name", "Your name", "can't be blank")),
            Err(wrong) => problems.push(problem("name", "Your name", &wrong)),
        }
    }
    match new_password(&browser, form.get("password"), form.get("repeated"), &member.email) {
        Ok(password) if problems.is_empty() => {
            let member = member.with_password(password);
            let mut writes = Writes::new(Tenant { organization: link.organization, mode: Mode::Live });
            writes.replace_member(&member)?;
            let reply = done("/dashboard", "password-set");
            browser.sign_in(link.organization, &member, writes, reply).await
        }
        Ok(_) => Ok(link.page(&browser, Some(form.get("name")), problems)?.refused(422)),
        Err(wrong) => {
            problems.push(wrong);
            Ok(link.page(&browser, Some(form.get("name")), problems)?.refused(422))
        }
    }
}

/// A password that was typed twice, hashed; or what is wrong with it.
pub(crate) fn new_password(
    browser: &Browser,
    typed: &str,
    repeated: &str,
    email: &Email,
) -> Result<PasswordHash, Problem> {
    let password =
        Password::parse(typed, email).map_err(|wrong| problem("password", "The password", &wrong))?;
    if typed != repeated {
        return Err(problem("repeated", "The repeated password", "must be the same as the first"));
    }
    PasswordHash::of(&password, browser.random().bytes())
        .map_err(|_| problem("password", "The password", "could not be kept; try another one"))
}

/// A good link, and whom it is for.
struct Linked {
    token: String,
    organization: Id,
    organization_name: String,
    member: Member,
}

impl Linked {
    async fn read(browser: &Browser, token: &str) -> Result<Self, Error> {
        let spent = || Error::BadRequest(SPENT.to_owned());
        let link: Credential = token.parse().map_err(|_| spent())?;
        if link.kind() != Kind::Link {
            return Err(spent());
        }
        let organization = link.tenant().organization;
        let member = browser.store().find_member(organization, link.id()).await?.ok_or_else(spent)?;
        let stored = member.link.as_ref().filter(|link| browser.now() < link.expires_at).ok_or_else(spent)?;
        let genuine: bool = stored.hash.as_bytes().ct_eq(link.hash().as_bytes()).into();
        if !genuine {
            return Err(spent());
        }
        let tenant = Tenant { organization, mode: Mode::Live };
        let found = browser.store().find_organization(tenant).await?.ok_or_else(spent)?;
        let organization_name = found.name.as_str().to_owned();
        Ok(Self { token: token.to_owned(), organization, organization_name, member })
    }

    fn page(
        &self,
        browser: &Browser,
        name: Option<&str>,
        problems: Vec<Problem>,
    ) -> Result<Reply<Page>, Error> {
        let name = name.unwrap_or(self.member.name.as_str());
        Reply::page(&SetPassword {
            style_version: style_version(),
            csrf: browser.csrf(),
            token: &self.token,
            email: self.member.email.as_str(),
            organization: &self.organization_name,
            name: self.member.password.is_none().then_some(name),
            problems,
        })
    }
}

/// A way back within this service: a page of the dashboard, or the authorization that was interrupted.
fn return_to(wanted: &str) -> &str {
    let is_ours = ["/dashboard", "/oauth/authorize"].iter().any(|ours| {
        wanted.strip_prefix(ours).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
    });
    // Browsers take a backslash in a path for a slash.
    let path = wanted.split('?').next().unwrap_or_default();
    let is_plain = wanted.len() <= MAX_RETURN
        && wanted.bytes().all(|byte| byte.is_ascii_graphic())
        && !path.contains("..")
        && !path.contains('\\');
    if is_ours && is_plain { wanted } else { "/dashboard" }
}

fn page<'p>(
    browser: &Browser,
    return_to: &'p str,
    email: &'p str,
    error: Option<String>,
    notice: Option<String>,
) -> SignIn<'p> {
    SignIn { style_version: style_version(), csrf: browser.csrf(), return_to, email, error, notice }
}

#[cfg(test)]
mod tests {
    use super::return_to;

    #[test]
    fn the_way_back_stays_in_the_house() {
        for ours in ["/dashboard", "/dashboard/roles?status=open", "/oauth/authorize?client_id=a&state=%0A\\"]
        {
            assert_eq!(return_to(ours), ours);
        }
        for strange in [
            "",
            "//evil.example",
            "https://evil.example/dashboard",
            "/dashboard.evil.example",
            "/dashboardx",
            "/dashboard\\evil",
            "/dashboard/\r\nset-cookie:a=b",
            "/dashboard/../oauth/token",
            "/oauth/authorizex",
            "/api/v1/roles",
            "javascript:alert(1)",
        ] {
            assert_eq!(return_to(strange), "/dashboard", "{strange:?}");
        }
    }
}
