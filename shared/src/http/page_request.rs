//! Requests from browsers: the cookie that identifies a browser, and the forms that were issued to it.
//!
//! The same cookie is used before and after sign-in. Before sign-in, it holds a random string that is not stored.
//! Sign-in replaces it with a new session, so the old cookie is worthless. Forms carry a MAC of the cookie under the
//! signing key. Another site can neither read nor compute this MAC.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;
use url::{Host, Url};

use super::context::RequestContext;
use super::parameters::Parameters;
use super::{Error, Html, Reply, headers};
use crate::auth::{Credential, Kind};
use crate::id::Id;
use crate::model::{AuditActor, Member, Mode, Session, Tenant};
use crate::store::Transaction;

/// The form field that holds the MAC.
const FORM_TOKEN: &str = "csrf";
/// The maximum size of a form, in bytes. Percent-encoding makes 20,000 characters of text up to twelve times as long.
const MAX_FORM: usize = 256 * 1024;
/// The length of the random string before sign-in.
const ANONYMOUS_LENGTH: usize = 27;

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

    /// The header that stores a value in the browser for this time.
    fn header(self, value: &str, seconds: i64) -> String {
        let secure = match self {
            Self::Secure => " Secure;",
            Self::Loopback => "",
        };
        format!("{}={value}; Path=/; Max-Age={seconds};{secure} HttpOnly; SameSite=Lax", self.name())
    }
}

/// A request from a browser.
pub struct PageRequest {
    /// The request and its environment.
    pub context: Arc<RequestContext>,
    form: Parameters,
    cookie: String,
    is_new: bool,
}

impl PageRequest {
    /// Reads the cookie and the form. A POST must come from a form that was issued to this browser.
    pub(super) fn new(context: Arc<RequestContext>) -> Result<Self, Error> {
        let is_post = context.is_post();
        let known = headers::cookie(context.headers(), Cookie::of(context.base_url()).name());
        let known = known.filter(|cookie| (20..=256).contains(&cookie.len())).map(str::to_owned);
        let is_new = known.is_none();
        let cookie = known.unwrap_or_else(|| context.random().token(ANONYMOUS_LENGTH));
        let form = if is_post { context.form_within(MAX_FORM)? } else { Parameters::default() };
        let request = Self { context, form, cookie, is_new };
        let is_own: bool = request.form.get(FORM_TOKEN).as_bytes().ct_eq(request.csrf().as_bytes()).into();
        if is_own || !is_post { Ok(request) } else { Err(Error::ForeignForm) }
    }

    /// The MAC that the browser's forms carry as `csrf`.
    pub fn csrf(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.context.signing_key().mac(&["form", &self.cookie]))
    }

    /// The submitted form; empty for a GET.
    pub const fn form(&self) -> &Parameters {
        &self.form
    }

    /// The cookie's value, which only this browser has.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// The session in the cookie, if it holds one.
    pub(super) fn session(&self) -> Option<Credential> {
        self.cookie.parse().ok().filter(|credential: &Credential| credential.kind() == Kind::Session)
    }

    /// Signs the member in. The reply sets the cookie of the new session.
    pub async fn sign_in(
        &self,
        organization: Id,
        member: &Member,
        mut transaction: Transaction,
        reply: Reply<Html>,
    ) -> Result<Reply<Html>, Error> {
        self.context.identify(AuditActor::member(member.id));
        let tenant = Tenant { organization, mode: Mode::Live };
        let session = Credential::generate(Kind::Session, tenant, member.id, self.context.random());
        transaction.insert_session(&session.hash(), &Session::begin(member, self.context.now()))?;
        if let Some(previous) = self.session() {
            transaction.delete_session(previous.tenant().organization, &previous.hash());
        }
        self.context.store().commit(transaction).await?;
        Ok(self.set_cookie(reply, session.reveal(), Session::LONGEST.as_secs()))
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
        reply.with("set-cookie", cookie.header(value, seconds))
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
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("return_to", return_to);
        Reply::see_other(&format!("/dashboard/sign-in?{}", query.finish()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            [Cookie::Secure, Cookie::Loopback].map(|cookie| cookie.header("x", 7)),
            [
                "__Host-rolecall=x; Path=/; Max-Age=7; Secure; HttpOnly; SameSite=Lax",
                "rolecall=x; Path=/; Max-Age=7; HttpOnly; SameSite=Lax"
            ]
        );
    }
}
