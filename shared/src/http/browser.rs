//! Browsers: the cookie that tells one from another, the forms that it was given, and who is signed in with it.
//!
//! One cookie does both. Before sign-in it holds a random text that is stored nowhere; sign-in puts a new session in its
//! place, so that whatever was there before is worth nothing. A form carries a digest of the cookie under our signing
//! key: another site can neither read nor make one.

use std::ops::Deref;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use super::parameters::Parameters;
use super::reply::Page;
use super::{Error, Reply, Visit, headers};
use crate::auth::{Credential, Kind};
use crate::id::Id;
use crate::model::{Member, MemberRole, Mode, Organization, Session, Tenant};
use crate::store::{SignedIn, Writes};

/// The cookie's name: the prefix makes browsers refuse it from anywhere but this host (RFC 6265bis, section 4.1.3.2).
const COOKIE: &str = "__Host-rolecall";
/// What a form's digest is called.
const FORM_TOKEN: &str = "csrf";
/// The length of the random text before sign-in.
const STRANGER_LENGTH: usize = 27;

/// A request from a browser.
pub struct Browser {
    visit: Visit,
    form: Parameters,
    cookie: String,
    is_new: bool,
}

/// A request from the browser of somebody who is signed in.
pub struct Desk {
    browser: Arc<Browser>,
    session_hash: String,
    signed_in: SignedIn,
}

impl Browser {
    /// The browser that has sent this. A POST whose form this browser was not given is refused.
    pub(super) fn of(visit: Visit, is_post: bool) -> Result<Self, Error> {
        let sent =
            headers::cookie(&visit.headers, COOKIE).filter(|cookie| (20..=256).contains(&cookie.len()));
        let is_new = sent.is_none();
        let cookie = sent.map_or_else(|| visit.random.token(STRANGER_LENGTH), str::to_owned);
        let form = if is_post { visit.form()? } else { Parameters::default() };
        let browser = Self { visit, form, cookie, is_new };
        let genuine: bool = browser.form.get(FORM_TOKEN).as_bytes().ct_eq(browser.csrf().as_bytes()).into();
        if genuine || !is_post { Ok(browser) } else { Err(Error::ForeignForm) }
    }

    /// What a form of this browser's carries as `csrf`.
    pub fn csrf(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.visit.signing_key.mac(&["form", &self.cookie]))
    }

    /// The form that was sent.
    pub const fn form(&self) -> &Parameters {
        &self.form
    }

    /// The secret that only this browser holds.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Who is signed in.
    pub async fn desk(self: &Arc<Self>) -> Result<Option<Desk>, Error> {
        let Ok(session) = self.cookie.parse::<Credential>() else { return Ok(None) };
        if session.kind() != Kind::Session {
            return Ok(None);
        }
        let (organization, hash) = (session.tenant().organization, session.hash());
        let store = self.visit.store();
        let found = store.find_session(organization, session.id(), &hash, self.now()).await?;
        Ok(found.map(|signed_in| Desk { browser: self.clone(), session_hash: hash, signed_in }))
    }

    /// Signs the member in: a new session, which the browser gets with the reply.
    pub async fn sign_in(
        &self,
        organization: Id,
        member: &Member,
        mut writes: Writes,
        reply: Reply<Page>,
    ) -> Result<Reply<Page>, Error> {
        let tenant = Tenant { organization, mode: Mode::Live };
        let session = Credential::generate(Kind::Session, tenant, member.id, self.random());
        writes.insert_session(&session.hash(), &Session::begin(member, self.now()))?;
        if let Ok(before) = self.cookie.parse::<Credential>()
            && before.kind() == Kind::Session
        {
            writes.delete_session(before.tenant().organization, &before.hash());
        }
        self.store().commit(writes).await?;
        Ok(reply.with("set-cookie", set_cookie(session.reveal(), Session::LONGEST.as_secs())))
    }

    /// The reply to a browser that was not known yet gives it a cookie.
    pub(super) fn greet(&self, reply: Reply<()>) -> Reply<()> {
        if self.is_new && !reply.sets("set-cookie") {
            reply.with("set-cookie", set_cookie(&self.cookie, Session::LONGEST.as_secs()))
        } else {
            reply
        }
    }

    /// The path and query of this request.
    pub fn address(&self) -> String {
        let Visit { path, query, .. } = &self.visit;
        if query.is_empty() { path.clone() } else { format!("{path}?{query}") }
    }

    /// Where somebody signs in who then goes on to this path and query.
    pub fn sign_in_page(wanted: &str) -> Reply<Page> {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("return_to", wanted);
        Reply::see_other(&format!("/dashboard/sign-in?{}", query.finish()))
    }
}

impl Deref for Browser {
    type Target = Visit;

    fn deref(&self) -> &Visit {
        &self.visit
    }
}

impl Desk {
    /// Who is signed in.
    pub const fn member(&self) -> &Member {
        &self.signed_in.member
    }

    /// The member's organization, in the mode that is looked at.
    pub const fn organization(&self) -> &Organization {
        &self.signed_in.organization
    }

    /// Whose data is looked at.
    pub const fn tenant(&self) -> Tenant {
        self.signed_in.organization.tenant()
    }

    /// The session.
    pub const fn session(&self) -> &Session {
        &self.signed_in.session
    }

    /// Writes of the organization, in the mode that is looked at.
    pub const fn writes(&self) -> Writes {
        Writes::new(self.tenant())
    }

    /// Refuses whoever is not in `role` or a higher one.
    pub(super) fn require(&self, role: MemberRole) -> Result<(), Error> {
        match (role, self.member().role) {
            (MemberRole::Member, _) | (MemberRole::Owner, MemberRole::Owner) => Ok(()),
            (MemberRole::Owner, MemberRole::Member) => Err(Error::OwnersOnly),
        }
    }

    /// Keeps the session as it is now.
    pub async fn keep_session(&self, session: &Session) -> Result<(), Error> {
        let mut writes = self.writes();
        writes.replace_session(&self.session_hash, session)?;
        Ok(self.store().commit(writes).await?)
    }

    /// Ends the session; the browser forgets it with the reply.
    pub async fn sign_out(&self, reply: Reply<Page>) -> Result<Reply<Page>, Error> {
        let mut writes = self.writes();
        writes.delete_session(self.tenant().organization, &self.session_hash);
        self.store().commit(writes).await?;
        Ok(reply.with("set-cookie", set_cookie("", 0)))
    }
}

impl Deref for Desk {
    type Target = Browser;

    fn deref(&self) -> &Browser {
        &self.browser
    }
}

fn set_cookie(value: &str, seconds: i64) -> String {
    format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Lax")
}
