//! Requests of signed-in members.

use std::sync::Arc;

use super::context::RequestContext;
use super::page_request::{PASSKEY_SIGN_IN, PageRequest};
use super::{Error, Html, Reply};
use crate::model::{
    AuditActor, Member, MemberRole, NamedOrganization, Organization, Session, SignInMethod, Tenant,
};
use crate::store::{SignedIn, Transaction};

/// A request from a signed-in member's browser.
pub struct MemberRequest {
    /// The request and its environment.
    pub context: Arc<RequestContext>,
    /// The browser's cookie and form.
    pub page: Arc<PageRequest>,
    session_hash: String,
    signed_in: SignedIn,
}

impl MemberRequest {
    /// Finds the member who is signed in from this browser.
    pub async fn find(page: &Arc<PageRequest>) -> Result<Option<Self>, Error> {
        let Some(session) = page.session() else { return Ok(None) };
        let (organization, session_hash) = (session.tenant().organization, session.hash());
        let context = page.context.clone();
        let found = context.store().find_session(organization, session.id(), &session_hash, context.now());
        let Some(signed_in) = found.await? else { return Ok(None) };
        context.identify(AuditActor::member(signed_in.member.id));
        Ok(Some(Self { context, page: page.clone(), session_hash, signed_in }))
    }

    /// The member.
    pub const fn member(&self) -> &Member {
        &self.signed_in.member
    }

    /// The member's organization, in the mode that the dashboard shows.
    pub const fn organization(&self) -> &Organization {
        &self.signed_in.organization.organization
    }

    /// The member's organization, in the mode that the dashboard shows, with its name.
    pub const fn named_organization(&self) -> &NamedOrganization {
        &self.signed_in.organization
    }

    /// The organization's name.
    pub fn organization_name(&self) -> &str {
        self.signed_in.organization.name.as_str()
    }

    /// The tenant whose data the dashboard shows.
    pub const fn tenant(&self) -> Tenant {
        self.signed_in.organization.organization.tenant()
    }

    /// The session.
    pub const fn session(&self) -> &Session {
        &self.signed_in.session
    }

    /// An empty transaction of the tenant.
    pub const fn transaction(&self) -> Transaction {
        Transaction::new(self.tenant())
    }

    /// Fails with 403 unless the member has this role or a higher one.
    pub(super) fn require(&self, role: MemberRole) -> Result<(), Error> {
        match (role, self.member().role) {
            (MemberRole::Member, _) | (MemberRole::Owner, MemberRole::Owner) => Ok(()),
            (MemberRole::Owner, MemberRole::Member) => Err(Error::OwnersOnly),
        }
    }

    /// Redirects to the page that asks for the password or a passkey, which then redirects to `return_to`. Returns `None`
    /// if the member has given one of them in the last 15 minutes.
    pub fn confirmation(&self, return_to: &str) -> Option<Reply<Html>> {
        let is_fresh = self.session().is_fresh(self.context.now());
        (!is_fresh).then(|| PageRequest::redirect("/dashboard/confirm", return_to))
    }

    /// Whether the organization requires a second factor of its members.
    pub const fn requires_second_factor(&self) -> bool {
        self.signed_in.requires_second_factor
    }

    /// Redirects a member who has signed in with the password alone although the organization requires a second factor:
    /// to the sign-in with a passkey if the member has one, otherwise to the set-up. `during_set_up` says that this page is
    /// part of the set-up.
    pub fn second_factor_step(&self, during_set_up: bool) -> Option<Reply<Html>> {
        let (member, method) = (self.member(), self.session().method);
        let is_given = member.second_factor.is_some() || method == SignInMethod::Passkey;
        if is_given || !self.requires_second_factor() {
            None
        } else if member.has_second_factor() {
            Some(PageRequest::redirect(PASSKEY_SIGN_IN, "/dashboard"))
        } else {
            (!during_set_up).then(|| Reply::see_other("/dashboard/settings/account/second-factor"))
        }
    }

    /// The hash that identifies the session.
    pub fn session_hash(&self) -> &str {
        &self.session_hash
    }

    /// Replaces the stored session.
    pub async fn replace_session(&self, session: &Session) -> Result<(), Error> {
        let mut transaction = self.transaction();
        transaction.replace_session(&self.session_hash, session)?;
        Ok(self.context.store().commit(transaction).await?)
    }

    /// Ends the session. The reply deletes the cookie.
    pub async fn sign_out(&self, reply: Reply<Html>) -> Result<Reply<Html>, Error> {
        let mut transaction = self.transaction();
        transaction.end_session(&self.session_hash, self.member());
        self.context.store().commit(transaction).await?;
        Ok(self.page.set_cookie(reply, "", 0))
    }
}
