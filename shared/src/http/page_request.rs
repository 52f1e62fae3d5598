//! Requests from browsers: the cookie that identifies a browser, and the forms that were issued to it.
//!
//! The same cookie is used before and after sign-in. Before sign-in, it holds a random string that is not stored.
//! Sign-in replaces it with a new session, so the old cookie is worthless. Forms carry a MAC of the cookie under the
//! signing key (`form_token`). Another site can neither read nor compute this MAC. A form of an earlier session waits on
//! the page that asks its member to sign in again (`kept_form`).
//!
//! A second cookie for each account stays in a browser in which somebody has signed in to it. Such a browser keeps its
//! own limit for wrong passwords, and a sign-in without this cookie is reported to the member. A third cookie for each
//! e-mail address remembers the organization that somebody has last signed in to with it.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use sha2::{Digest, Sha256};
use url::{Host, Url};

use super::context::RequestContext;
use super::form_token::{self, FormOwner};
use super::kept_form::{self, KEPT, KeptForm, SentForm};
use super::multipart::SubmittedForm;
use super::parameters::Parameters;
use super::{Error, Html, Reply, headers};
use crate::auth::{Claims, Credential, Kind};
use crate::id::Id;
use crate::model::{
    AuditAction, AuditActor, AuditTarget, AuditTargetKind, Email, Member, MemberRole, Mode, NoticeEvent,
    Session, SignInMethod, Tenant,
};
use crate::store::Transaction;

/// The maximum size of a form, in bytes. Percent-encoding makes 20,000 characters of text up to twelve times as long.
const MAX_FORM: usize = 256 * 1024;
/// The maximum size of a form that contains a kept one, in bytes. In the kept form, quotation marks and control characters
/// are longer than in the sent one, and everything a third longer in base64.
const MAX_WITH_KEPT: usize = 1024 * 1024;
/// The length of the random string before sign-in.
// 161 bits, as many as the secret of a session.
const ANONYMOUS_LENGTH: usize = 27;
/// The length of the random string that identifies a known browser.
// 131 bits, so nobody can guess it.
const BROWSER_LENGTH: usize = 22;
/// The lifetime of the cookies of known browsers and organizations: 400 days, the most that browsers allow.
const BROWSER_SECONDS: i64 = 400 * 24 * 60 * 60;

/// The page on which members sign in with a passkey.
pub(super) const PASSKEY_SIGN_IN: &str = "/dashboard/sign-in/passkey";

/// The form of the cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cookie {
    /// The cookie is sent only over TLS. Browsers reject its prefix from any other host (RFC 6265bis, section 4.1.3.2).
    Secure,
    /// The cookie of the local service, which has no TLS. Safari and most HTTP clients reject secure cookies there.
    Loopback,
}

impl Cookie {
    /// The form for a service with this base URL.
    fn of(base_url: &str) -> Self {
        let url = Url::parse(base_url).ok().filter(|url| url.scheme() == "http");
        let is_loopback = match url.as_ref().and_then(Url::host) {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        if is_loopback { Self::Loopback } else { Self::Secure }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Secure => "__Host-rolecall",
            Self::Loopback => "rolecall",
        }
    }

    /// The name of the cookie in a browser that is known for this account.
    fn known_browser(self, account: &str) -> String {
        format!("{}-known-{}", self.name(), digest(account))
    }

    /// The name of the cookie with the organization of this e-mail address, which is folded.
    fn organization(self, address: &str) -> String {
        format!("{}-organization-{}", self.name(), digest(address))
    }

    /// The header that stores a value in the browser for this time.
    fn header(self, name: &str, value: &str, seconds: i64) -> String {
        let secure = match self {
            Self::Secure => " Secure;",
            Self::Loopback => "",
        };
        format!("{name}={value}; Path=/; Max-Age={seconds};{secure} HttpOnly; SameSite=Lax")
    }
}

/// What stands for an account in the name of a cookie.
fn digest(account: &str) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(account)[..12])
}

/// The account of an e-mail address in an organization, for cookies.
fn account_of(organization: Id, email: &Email) -> String {
    format!("{organization} {}", email.normalized())
}

/// A request from a browser.
pub struct PageRequest {
    /// The request and its environment.
    pub context: Arc<RequestContext>,
    form: SubmittedForm,
    cookie: String,
    is_new: bool,
    /// The form that waits for this sign-in, or that is sent on after it.
    kept: Option<KeptForm>,
    /// Whether the form is a kept one, which was sent on after a sign-in.
    is_sent_on: bool,
}

impl PageRequest {
    /// Reads the cookie and the form, which may contain a file if `takes_file`.
    pub(super) async fn new(context: Arc<RequestContext>, takes_file: bool) -> Result<Self, Error> {
        let known = headers::cookie(context.headers(), Cookie::of(context.base_url()).name());
        // An anonymous string or a session. Whatever has another length is not ours.
        let known = known.filter(|cookie| (20..=256).contains(&cookie.len())).map(str::to_owned);
        let is_new = known.is_none();
        let cookie = known.unwrap_or_else(|| context.random().token(ANONYMOUS_LENGTH));
        let form = if !context.is_post() {
            SubmittedForm::default()
        } else if takes_file && headers::boundary(context.headers()).is_some() {
            context.form_with_file_within(MAX_FORM).await?
        } else {
            let fields = context.form_within(MAX_WITH_KEPT)?;
            if context.body().len() > MAX_FORM && fields.non_empty(KEPT).is_none() {
                return Err(Error::PayloadTooLarge(MAX_FORM));
            }
            SubmittedForm { fields, ..SubmittedForm::default() }
        };
        let kept = KeptForm::parse(form.fields.get(KEPT), context.signing_keys());
        let mut request = Self { context, form, cookie, is_new, kept, is_sent_on: false };
        if let Some(kept) = &request.kept
            && kept.path == request.path_and_query()
        {
            request.form.fields = kept.fields();
            request.is_sent_on = true;
        }
        Ok(request)
    }

    /// Whether the form was issued to this browser, in this session. Anything but a POST has no form.
    pub(super) fn is_own(&self) -> bool {
        let token = self.form.fields.get(form_token::FIELD);
        !self.context.is_post() || form_token::is_of_browser(self.context.signing_keys(), &self.cookie, token)
    }

    /// Whether the form is a kept one, which was sent on after a sign-in.
    pub(super) const fn is_sent_on(&self) -> bool {
        self.is_sent_on
    }

    /// Whether the form lacks the file or the secret that the member has entered before the sign-in, and has to be shown
    /// again.
    pub fn lacks_part(&self) -> bool {
        self.is_sent_on && self.kept.as_ref().is_some_and(|kept| kept.lacks_part)
    }

    /// The form that waits for a sign-in: the one in the page's hidden field, or else the form itself, if it is a member's.
    /// `None` if another site's page has sent it, so that nobody is signed out by visiting one.
    pub(super) fn keep(&self) -> Option<KeptForm> {
        let site = self.context.header("sec-fetch-site");
        if !self.context.is_post() || matches!(site, Some("cross-site" | "same-site")) {
            return None;
        }
        if let Some(kept) = &self.kept {
            return Some(kept.clone());
        }
        let fields = &self.form.fields;
        let owner = form_token::owner(self.context.signing_keys(), fields.get(form_token::FIELD))?;
        KeptForm::of(self.path_and_query(), owner, fields, self.form.file.is_some(), self.context.now())
    }

    /// The form in the hidden field of the page that asked for this sign-in.
    pub(super) const fn kept(&self) -> Option<&KeptForm> {
        self.kept.as_ref()
    }

    /// Whether the browser says that a page of this service has sent the request.
    pub(super) fn is_from_own_page(&self) -> bool {
        self.context.header("sec-fetch-site") == Some("same-origin")
    }

    /// Whether a form waits for this sign-in.
    pub const fn has_kept_form(&self) -> bool {
        self.kept.is_some()
    }

    /// The organization of the member whose form waits for this sign-in.
    pub fn kept_organization(&self) -> Option<Id> {
        Some(self.kept.as_ref()?.owner()?.tenant.organization)
    }

    /// The hidden field with the form that waits for this sign-in; empty if there is none.
    pub fn kept_text(&self) -> String {
        self.kept.as_ref().map(|kept| kept.text(self.context.signing_keys())).unwrap_or_default()
    }

    /// Continues after a sign-in: with the form that waits for it, or else with `return_to`.
    pub fn continue_to(&self, return_to: &str) -> Reply<Html> {
        match &self.kept {
            Some(kept) => Reply::send_on(&kept.path),
            None => Reply::see_other(return_to),
        }
    }

    /// What the error page shows of the form, or of the one that waits for it.
    pub(super) fn sent_form(&self) -> Option<SentForm> {
        if !self.context.is_post() {
            return None;
        }
        let sent = match &self.kept {
            Some(kept) => SentForm {
                path: kept.path.clone(),
                fields: vec![(KEPT.to_owned(), self.kept_text())],
                typed: kept.typed(),
                lacks_part: false,
            },
            None => SentForm {
                path: self.path_and_query(),
                fields: self.form().iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
                typed: kept_form::typed(self.form()),
                lacks_part: self.form.file.is_some() || kept_form::has_secret(self.form()),
            },
        };
        Some(sent).filter(|sent| !sent.typed.is_empty())
    }

    /// The token that the browser's forms carry as `csrf` while nobody is signed in.
    pub fn csrf(&self) -> String {
        form_token::token(self.context.signing_keys(), &self.cookie, None)
    }

    /// The token that the forms of a signed-in member carry as `csrf`.
    pub(super) fn csrf_of(&self, owner: FormOwner) -> String {
        form_token::token(self.context.signing_keys(), &self.cookie, Some(owner))
    }

    /// The submitted form; empty for a GET.
    pub const fn form(&self) -> &Parameters {
        &self.form.fields
    }

    /// The content of the file in the submitted form, if one was chosen.
    pub fn file(&self) -> Option<Bytes> {
        self.form.file.as_ref().map(|file| file.content.clone())
    }

    /// The name of that file on the sender's device.
    pub fn file_name(&self) -> Option<&str> {
        self.form.file.as_ref().map(|file| file.name.as_str())
    }

    /// The cookie's value, which only this browser has.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// The session in the cookie, if it holds one.
    pub(super) fn session(&self) -> Option<Credential> {
        let credential = Credential::read(&self.cookie, self.context.credential_keys()).ok()?;
        Some(credential).filter(|credential| credential.kind() == Kind::Session)
    }

    /// The organization that somebody has last signed in to with the e-mail address from this browser. It only saves
    /// naming it: nothing proves that the browser has the cookie from this service.
    pub fn remembered_organization(&self, email: &Email) -> Option<Id> {
        let name = Cookie::of(self.context.base_url()).organization(&email.normalized());
        headers::cookie(self.context.headers(), &name)?.parse().ok()
    }

    /// Remembers the organization for later sign-ins with the e-mail address.
    pub fn remember_organization<O>(&self, reply: Reply<O>, organization: Id, email: &Email) -> Reply<O> {
        let cookie = Cookie::of(self.context.base_url());
        let name = cookie.organization(&email.normalized());
        reply.with("set-cookie", cookie.header(&name, &organization.to_string(), BROWSER_SECONDS))
    }

    /// The random string of this browser, if somebody has signed in to the account from it.
    pub fn known_browser(&self, organization: Id, email: &Email) -> Option<String> {
        let account = account_of(organization, email);
        let name = Cookie::of(self.context.base_url()).known_browser(&account);
        let value = headers::cookie(self.context.headers(), &name)?;
        let (browser, signature) = value.split_once('.')?;
        let keys = self.context.signing_keys();
        let is_genuine = keys.verify_signature(&["known browser", browser, &account], signature);
        is_genuine.then(|| browser.to_owned())
    }

    fn known_value(&self, browser: &str, account: &str) -> String {
        format!("{browser}.{}", self.context.signing_keys().sign(&["known browser", browser, account]))
    }

    /// Adds a notice to the member about a sign-in from a browser that is not known.
    pub fn report_new_browser(
        &self,
        organization: Id,
        member: &Member,
        transaction: &mut Transaction,
    ) -> Result<(), Error> {
        if self.known_browser(organization, &member.email).is_none() {
            let event = NoticeEvent::NewBrowser(self.context.device());
            transaction.insert_notice(member.id, &self.context.notice(event))?;
        }
        Ok(())
    }

    /// Signs the member in. The reply sets the cookies of the new session, of the known browser and of the organization.
    pub async fn sign_in(
        &self,
        organization: Id,
        member: &Member,
        method: SignInMethod,
        mut transaction: Transaction,
        reply: Reply<Html>,
    ) -> Result<Reply<Html>, Error> {
        self.context.identify(AuditActor::member(member.id));
        let (context, tenant) = (&self.context, Tenant { organization, mode: Mode::Live });
        let own = context.store().list_notices(organization, member.id).await?;
        let for_owners = match member.role {
            MemberRole::Owner => context.store().list_owners_notices(organization, member.id).await?,
            MemberRole::Member => Vec::new(),
        };
        let has_notices = !own.is_empty() || !for_owners.is_empty();
        let known = self.known_browser(organization, &member.email);
        let (keys, random) = (context.credential_keys(), context.random());
        let session = Credential::generate(Kind::Session, tenant, member.id, Claims::default(), keys, random);
        let begun = Session::begin(member, context.device(), has_notices, context.now());
        let kept = self.kept.as_ref().and_then(KeptForm::owner);
        let kept = kept.filter(|kept| (kept.tenant.organization, kept.member) == (organization, member.id));
        // The form that waits is about the data that the dashboard showed.
        let mode = kept.map_or(begun.mode, |kept| kept.tenant.mode);
        let newest = own.into_iter().chain(for_owners).max_by_key(|notice| notice.id);
        let newest_notice = newest.map(|notice| notice.event);
        let begun = Session { method, mode, newest_notice, ..begun };
        transaction.insert_session(&session.hash(), &begun)?;
        if let Some(previous) = self.session() {
            transaction.delete_session(previous.tenant().organization, previous.id(), &previous.hash());
        }
        context.store().commit(transaction).await?;
        let (cookie, account) = (Cookie::of(context.base_url()), account_of(organization, &member.email));
        let browser = known.unwrap_or_else(|| context.random().token(BROWSER_LENGTH));
        let (name, value) = (cookie.known_browser(&account), self.known_value(&browser, &account));
        let reply = self.set_cookie(reply, session.reveal(), Session::LONGEST.as_secs());
        let reply = reply.with("set-cookie", cookie.header(&name, &value, BROWSER_SECONDS));
        Ok(self.remember_organization(reply, organization, &member.email))
    }

    /// Records a failed sign-in in the audit log of the member's organization. An unknown account also takes a write, so
    /// that the response time does not reveal whether it is known: the entry of an organization that never exists.
    pub async fn record_failed_sign_in(&self, account: Option<(Id, Id)>) -> Result<(), Error> {
        self.context.identify(AuditActor::unknown());
        let (organization, member) = account.unwrap_or((Id::LAST, Id::LAST));
        let (tenant, target) =
            (Tenant { organization, mode: Mode::Live }, AuditTarget::of(AuditTargetKind::Member, member));
        Ok(self.context.store().record(tenant, AuditAction::SignInFailed, Some(target), None).await?)
    }

    /// The origin that passkeys are bound to: the configured base URL, if its host is a domain name, because an IP address
    /// cannot have passkeys. The local service therefore has them at `http://localhost` with its port. Without a
    /// configured base URL, the name may change, so there are no passkeys.
    pub fn passkey_origin(&self) -> Option<Url> {
        passkey_origin(self.context.configured_base_url()?, self.context.header("host"))
    }

    /// The link to the sign-in with a password.
    pub fn password_link(return_to: &str) -> String {
        Self::path("/dashboard/sign-in", return_to)
    }

    /// The link to the sign-in with a passkey, if the service offers it.
    pub fn passkey_link(&self, return_to: &str) -> Option<String> {
        self.passkey_origin().map(|_| Self::path(PASSKEY_SIGN_IN, return_to))
    }

    /// Sets the cookie of a new browser.
    pub(super) fn set_new_cookie(&self, reply: Reply<()>) -> Reply<()> {
        if self.is_new && !reply.sets("set-cookie") {
            self.set_cookie(reply, &self.cookie, Session::LONGEST.as_secs())
        } else {
            reply
        }
    }

    /// Stores a value in the browser's cookie for this time.
    pub(super) fn set_cookie<O>(&self, reply: Reply<O>, value: &str, seconds: i64) -> Reply<O> {
        let cookie = Cookie::of(self.context.base_url());
        reply.with("set-cookie", cookie.header(cookie.name(), value, seconds))
    }

    /// The request's path and query.
    pub fn path_and_query(&self) -> String {
        match (self.context.path(), self.context.query_string()) {
            (path, "") => path.to_owned(),
            (path, query) => format!("{path}?{query}"),
        }
    }

    /// Redirects to the sign-in page, which then redirects to this path and query.
    pub fn redirect_to_sign_in(return_to: &str) -> Reply<Html> {
        Reply::see_other(&Self::password_link(return_to))
    }

    /// Redirects to a page that then redirects to `return_to`.
    pub(super) fn redirect(page: &str, return_to: &str) -> Reply<Html> {
        Reply::see_other(&Self::path(page, return_to))
    }

    /// The path of a page that then redirects to `return_to`.
    fn path(page: &str, return_to: &str) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("return_to", return_to);
        format!("{page}?{}", query.finish())
    }
}

/// The origin of a service with this base URL to which passkeys are bound. `host` is the header of the request.
fn passkey_origin(base_url: &str, host: Option<&str>) -> Option<Url> {
    let url = Url::parse(base_url).ok()?;
    let is_local = Cookie::of(base_url) == Cookie::Loopback;
    match url.host()? {
        Host::Domain(_) => Some(url).filter(|url| is_local || url.scheme() == "https"),
        Host::Ipv4(_) | Host::Ipv6(_) => {
            let local = Url::parse(&format!("http://localhost:{}", url.port_or_known_default()?)).ok()?;
            let is_visited = host == Some(local.authority());
            (is_local && is_visited).then_some(local)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_are_bound_to_a_domain_name() {
        let origin = |base_url, host| passkey_origin(base_url, host).map(|url| url.to_string());
        for (base_url, host, expected) in [
            ("https://jobs.example", None, Some("https://jobs.example/")),
            ("https://jobs.example", Some("other.example"), Some("https://jobs.example/")),
            ("http://localhost:3000", Some("localhost:3000"), Some("http://localhost:3000/")),
            ("http://127.0.0.1:3000", Some("localhost:3000"), Some("http://localhost:3000/")),
            ("http://[::1]:3000", Some("localhost:3000"), Some("http://localhost:3000/")),
            ("http://127.0.0.1:3000", Some("127.0.0.1:3000"), None),
            ("http://127.0.0.1:3000", Some("localhost:4000"), None),
            ("http://127.0.0.1:3000", None, None),
            ("https://127.0.0.1:3000", Some("localhost:3000"), None),
            ("https://192.0.2.1", Some("192.0.2.1"), None),
            ("http://jobs.example", Some("jobs.example"), None),
            ("", None, None),
        ] {
            assert_eq!(origin(base_url, host).as_deref(), expected, "{base_url} {host:?}");
        }
    }

    #[test]
    fn only_plain_http_on_loopback_has_a_cookie_without_tls() {
        for local in
            ["http://127.0.0.1:3000", "http://127.8.0.1", "http://localhost:8080", "http://[::1]:3000"]
        {
            assert_eq!(Cookie::of(local), Cookie::Loopback, "{local}");
        }
        for other in [
            "https://127.0.0.1:3000",
            "https://localhost",
            "https://jobs.example",
            "http://jobs.example",
            "http://172.17.0.1:3000",
            "http://localhost.evil.example",
            "http://0.0.0.0",
            "",
        ] {
            assert_eq!(Cookie::of(other), Cookie::Secure, "{other}");
        }
        assert_eq!(
            [Cookie::Secure, Cookie::Loopback].map(|cookie| cookie.header(cookie.name(), "x", 7)),
            [
                "__Host-rolecall=x; Path=/; Max-Age=7; Secure; HttpOnly; SameSite=Lax",
                "rolecall=x; Path=/; Max-Age=7; HttpOnly; SameSite=Lax"
            ]
        );
    }
}
