//! Requests of signed-in members.

use std::sync::Arc;

use super::api_request::{AdmittedRequest, HandlerCaller};
use super::context::RequestContext;
use super::fields::read_form;
use super::form_token::FormOwner;
use super::idempotency::IdempotencyKey;
use super::page_request::{PASSKEY_SIGN_IN, PageRequest};
use super::{
    ApiRequest, Error, ExpectedPage, HandlerCall, Html, Input, OnBehalf, Parameters, Reply, SentInput,
};
use crate::model::{
    Actor, ActorKind, AuditActor, Member, MemberRole, NamedOrganization, Organization, Scopes, Session,
    SignInMethod, Tenant,
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
    /// What the handler says about the page before it has read it.
    pub(super) expected: ExpectedPage,
}

/// The fields of a form that are not part of the input of an API route.
const OTHERS: [&str; 5] = ["csrf", "key", "seen", "from", "preview"];

impl MemberRequest {
    /// The fields of the submitted form that are the input of an API route.
    pub fn fields(&self) -> Parameters {
        let fields = self.page.form().iter().filter(|(name, _)| !OTHERS.contains(name));
        fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// Reads the input of an API route from the submitted form, without carrying anything out.
    pub fn input<I: Input>(&self) -> Result<I, Error> {
        read_form(&self.fields())
    }

    /// The call that the submitted form requests with these fields, about the resource in the path. A form that is sent
    /// again with the same key and the same fields has no other effect, and gets the first result.
    pub fn call(&self, fields: Parameters) -> HandlerCall {
        let sent = |name| self.page.form().non_empty(name).map(str::to_owned);
        HandlerCall {
            id: self.context.id().ok(),
            input: SentInput::Form(fields),
            key: sent("key"),
            seen: sent("seen"),
            assistant: None,
            reading: None,
            expected: ExpectedPage::default(),
        }
    }

    /// Calls the handler of an API route: the same rule, with a receipt, but without the quota.
    pub async fn carry_out<I, O, H, F>(&self, call: HandlerCall, handler: H) -> Result<Reply<O>, Error>
    where
        H: FnOnce(ApiRequest<I>) -> F,
        F: Future<Output = Result<Reply<O>, Error>>,
    {
        let caller = HandlerCaller::of_member(self.organization().clone(), self.actor());
        AdmittedRequest::new(self.context.clone(), caller, call).carry_out(handler).await
    }

    /// Lets the transaction take effect only once, even if the submitted form is sent again. The receipt has no reply, so what
    /// the first page shows is shown only once.
    pub fn commit_only_once(&self, transaction: &mut Transaction) -> Result<(), Error> {
        let call = self.call(self.fields());
        if let Some(key) = IdempotencyKey::of(&self.context, &self.actor(), Scopes::EVERY, &call) {
            transaction.insert_receipt(&key.slot, key.receipt(&Reply::<()>::empty()))?;
        }
        Ok(())
    }

    /// The member as the author of changes.
    pub fn actor(&self) -> Actor {
        let member = self.member();
        let name = member.name.as_str().to_owned();
        Actor { kind: ActorKind::Member, id: Some(member.id), name }
    }

    /// The member, for calls that a task can go on with.
    pub fn on_behalf(&self) -> OnBehalf {
        OnBehalf::new(Arc::new(self.context.without_request()), self.organization().clone(), self.actor())
    }

    /// Finds the member who is signed in from this browser.
    pub async fn find(page: &Arc<PageRequest>) -> Result<Option<Self>, Error> {
        let Some(session) = page.session() else { return Ok(None) };
        let (organization, session_hash) = (session.tenant().organization, session.hash());
        let context = page.context.clone();
        let found = context.store().find_session(organization, session.id(), &session_hash, context.now());
        let Some(signed_in) = found.await? else { return Ok(None) };
        context.identify(AuditActor::member(signed_in.member.id));
        let expected = ExpectedPage::default();
        Ok(Some(Self { context, page: page.clone(), session_hash, signed_in, expected }))
    }

    /// The token that every form on this member's pages carries as `csrf`.
    pub fn csrf(&self) -> String {
        self.page.csrf_of(self.form_owner())
    }

    /// Whose forms the pages of this request have.
    pub(super) fn form_owner(&self) -> FormOwner {
        FormOwner { tenant: self.tenant(), member: self.member().id }
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

    /// Says how many people the page is expected to show, before they are read. The entry of the audit log is then written
    /// meanwhile.
    pub fn expect_page(&self, shown: usize, is_search: bool) {
        self.expected.say(shown, is_search);
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
        (!self.is_fresh()).then(|| PageRequest::redirect("/dashboard/confirm", return_to))
    }

    /// Whether the member has given the password or a passkey in the last 15 minutes.
    pub(super) fn is_fresh(&self) -> bool {
        self.session().is_fresh(self.context.now())
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

    /// Stores that the session is used now, unless that is stored to within 5 minutes.
    pub(super) async fn record_use(&self) -> Result<(), Error> {
        let Some(session) = self.session().seen(self.context.now()) else { return Ok(()) };
        let mut transaction = self.transaction();
        transaction.put_session_use(&self.session_hash, &session)?;
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
