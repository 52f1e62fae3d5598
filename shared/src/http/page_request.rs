//! Requests from browsers: the cookie that identifies a browser, and the forms that were issued to it.
//!
//! The same cookie is used before and after sign-in. Before sign-in, it holds a random string that is not stored.
//! Sign-in replaces it with a new session, so the old cookie is worthless. Forms carry a MAC of the cookie under the
//! signing key. Another site can neither read nor compute this MAC.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use super::context::RequestContext;
use super::parameters::Parameters;
use super::{Error, Html, Reply, headers};
use crate::auth::{Credential, Kind};
use crate::id::Id;
use crate::model::{Member, Mode, Session, Tenant};
use crate::store::Transaction;

/// The cookie's name. Browsers reject a cookie with this prefix from any other host (RFC 6265bis, section 4.1.3.2).
const COOKIE: &str = "__Host-rolecall";
/// The form field that holds the MAC.
const FORM_TOKEN: &str = "csrf";
/// The length of the random string before sign-in.
const ANONYMOUS_LENGTH: usize = 27;

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
        let known = headers::cookie(context.headers(), COOKIE);
        let known = known.filter(|cookie| (20..=256).contains(&cookie.len())).map(str::to_owned);
        let is_new = known.is_none();
        let cookie = known.unwrap_or_else(|| context.random().token(ANONYMOUS_LENGTH));
        let form = if is_post { context.form()? } else { Parameters::default() };
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
        let tenant = Tenant { organization, mode: Mode::Live };
        let session = Credential::generate(Kind::Session, tenant, member.id, self.context.random());
        transaction.insert_session(&session.hash(), &Session::begin(member, self.context.now()))?;
        if let Some(previous) = self.session() {
            transaction.delete_session(previous.tenant().organization, &previous.hash());
        }
        self.context.store().commit(transaction).await?;
        Ok(set_cookie(reply, session.reveal(), Session::LONGEST.as_secs()))
    }

    /// Sets the cookie of a new browser.
    pub(super) fn set_new_cookie(&self, reply: Reply<()>) -> Reply<()> {
        if self.is_new && !reply.sets("set-cookie") {
            set_cookie(reply, &self.cookie, Session::LONGEST.as_secs())
        } else {
            reply
        }
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

pub(super) fn set_cookie<O>(reply: Reply<O>, value: &str, seconds: i64) -> Reply<O> {
    let cookie = format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Lax");
    reply.with("set-cookie", cookie)
}
