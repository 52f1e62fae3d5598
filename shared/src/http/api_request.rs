//! Requests with an API credential: the caller, the input, and the pages of lists.

use std::marker::PhantomData;
use std::sync::Arc;

use percent_encoding::utf8_percent_encode;
use serde::Serialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::context::RequestContext;
use super::fields::{read_body, read_form, read_query};
use super::idempotency::IdempotencyKey;
use super::question::Given;
use super::reply::{List, PATH, QUERY, etag, json};
use super::{
    Collection, Error, Fields, HandlerCall, Input, Personal, Reply, SentInput, Visible, cursor, headers,
};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::schema::{integer, string};
use crate::model::{
    Actor, AuditAction, AuditTarget, Organization, Scalar, Scope, Scopes, Slug, Tenant, Value,
};
use crate::services::Author;
use crate::store::{ChangesSince, CommitError, Listed, Paging, PendingAdmission, StoreError, Transaction};

/// Who calls the handler of an API route: the holder of a credential, or a member with a form.
#[derive(Clone)]
pub(super) struct HandlerCaller {
    pub(super) tenant: Tenant,
    /// The holder of the credential, or the member.
    pub(super) actor: Actor,
    /// The member who connected the application; `None` for an API key, and for a member.
    pub(super) member: Option<Id>,
    /// The scopes of the credential; all scopes, if a member sent a form.
    pub(super) scopes: Scopes,
    /// What the gate says about the caller, maybe only later.
    pub(super) admission: PendingAdmission,
    /// The organization as the gate has last had it, if this instance knows it.
    pub(super) last_known: Option<Organization>,
}

impl HandlerCaller {
    /// A member, who has all scopes.
    pub(super) fn of_member(organization: Organization, actor: Actor) -> Self {
        Self {
            tenant: organization.tenant(),
            actor,
            member: None,
            scopes: Scopes::EVERY,
            last_known: Some(organization.clone()),
            admission: PendingAdmission::of(organization),
        }
    }
}

/// A request that the gate admits, or a form of a member. The handler may begin while the gate decides: its writes wait, and if
/// the gate refuses the request, nothing remains of it.
pub(super) struct AdmittedRequest {
    pub(super) context: Arc<RequestContext>,
    pub(super) caller: HandlerCaller,
    pub(super) idempotency_key: Option<IdempotencyKey>,
    pub(super) call: HandlerCall,
    /// The confirmation, after the handler has asked for it.
    pub(super) confirmed: Given,
}

/// A request with an API credential, for a route that takes an `I`.
pub struct ApiRequest<I> {
    /// The request and its environment.
    pub context: Arc<RequestContext>,
    pub(super) admitted: Arc<AdmittedRequest>,
    input: PhantomData<fn() -> I>,
}

/// The query of a list: filters and paging.
pub struct Listing<F> {
    filter: F,
    /// The maximum number of items on a page.
    limit: u32,
    /// The `next_cursor` of the previous page. It is valid only with the same filters.
    cursor: Option<String>,
}

/// The filters of a list that also answers what has changed.
pub struct Since<F> {
    filter: F,
    /// Returns what was updated at or after this time, as it is now, in the order of the changes. It can be combined only with
    /// `limit` and `cursor`. A change is returned 20 seconds after it was made, or later; somebody who was erased is not
    /// returned, so read the events, too. If the time is before the oldest event that is kept, everything is returned.
    updated_after: Option<Timestamp>,
}

/// What a request asks of a list that also answers what has changed.
pub enum Asked<F> {
    /// A part of the list.
    Part(F),
    /// What has changed since this time.
    Since(Timestamp),
}

/// The number of items on a page if the request does not say.
const DEFAULT_LIMIT: u32 = 100;

impl<F: Input> Input for Listing<F> {
    const IS_LIST: bool = true;

    fn read(fields: &mut impl Fields) -> Option<Self> {
        let filter = F::read(fields);
        let limit = fields.optional("limit").map_or(DEFAULT_LIMIT, |Limit(limit)| limit);
        let cursor = fields.optional("cursor").map(|Cursor(cursor)| cursor);
        Some(Self { filter: filter?, limit, cursor })
    }
}

impl<F: Input> Input for Since<F> {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let filter = F::read(fields);
        let updated_after = fields.optional("updated_after").map(|GivenTime(time)| time);
        Some(Self { filter: filter?, updated_after })
    }
}

/// A time that is not blank, because a program that asks for changes must not get everything.
struct GivenTime(Timestamp);

impl Value for GivenTime {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        Timestamp::read(scalar)?.map(|time| Some(Self(time))).ok_or_else(|| "can't be blank".to_owned())
    }

    fn schema() -> RefOr<Schema> {
        Timestamp::schema()
    }
}

/// The maximum number of items on a page.
struct Limit(u32);

impl Value for Limit {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        scalar.whole_number_in(1..=100).map(|limit| Some(Self(limit)))
    }

    fn schema() -> RefOr<Schema> {
        integer(1).maximum(Some(100)).default(Some(DEFAULT_LIMIT.into())).into()
    }
}

struct Cursor(String);

impl Value for Cursor {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        match scalar {
            Scalar::Word(word) => Ok(Some(Self((*word).to_owned()))),
            Scalar::Text(text) => Ok(Some(Self(text.clone()))),
            _ => Err("must be a string".to_owned()),
        }
    }

    fn schema() -> RefOr<Schema> {
        let (min, max) = (cursor::MIN_LENGTH, cursor::MAX_LENGTH);
        string().pattern(Some("^[A-Za-z0-9_-]+$")).min_length(Some(min)).max_length(Some(max)).into()
    }
}

impl AdmittedRequest {
    /// The list that a cursor is bound to: tenant, path and filters.
    fn list(&self) -> String {
        let is_filter = |name: &str| name != "limit" && name != "cursor";
        let tenant = self.caller.tenant;
        match &self.call.input {
            SentInput::Arguments { tool, fields } => {
                let mut filters: Vec<_> = fields.iter().filter(|(name, _)| is_filter(name)).collect();
                filters.sort_unstable_by_key(|(name, _)| *name);
                format!("{tenant} {tool} {:?} {filters:?}", self.call.id)
            }
            SentInput::Json(_) | SentInput::Form(_) => {
                let mut filters: Vec<_> =
                    self.context.query_parameters().filter(|(name, _)| is_filter(name)).collect();
                filters.sort_unstable();
                format!("{tenant} {} {filters:?}", self.context.path())
            }
        }
    }
}

impl<I> Clone for ApiRequest<I> {
    fn clone(&self) -> Self {
        Self::new(self.admitted.clone())
    }
}

impl<I> ApiRequest<I> {
    pub(super) fn new(admitted: Arc<AdmittedRequest>) -> Self {
        Self { context: admitted.context.clone(), admitted, input: PhantomData }
    }

    /// The caller's organization, in the credential's mode. Waits for the gate, so whatever can be read without the
    /// organization is read before.
    pub async fn organization(&self) -> &Organization {
        self.admitted.caller.admission.organization().await
    }

    /// The caller's organization as the gate has last had it, if this instance of the function knows it. It may have changed
    /// since, so whatever depends on it is compared with [`Self::organization`] afterwards.
    pub fn last_known_organization(&self) -> Option<&Organization> {
        self.admitted.caller.last_known.as_ref()
    }

    /// The tenant whose data this request may use.
    pub fn tenant(&self) -> Tenant {
        self.admitted.caller.tenant
    }

    /// Who sent the request: the holder of the credential, or the member.
    pub fn actor(&self) -> &Actor {
        &self.admitted.caller.actor
    }

    /// The member who connected the application; `None` for an API key.
    pub fn member(&self) -> Option<Id> {
        self.admitted.caller.member
    }

    /// The JSON body as it was sent; empty for other bodies.
    pub fn json(&self) -> &str {
        match &self.admitted.call.input {
            SentInput::Json(body) => body,
            SentInput::Form(_) | SentInput::Arguments { .. } => "",
        }
    }

    /// The scopes of the credential.
    pub fn scopes(&self) -> Scopes {
        self.admitted.caller.scopes
    }

    /// Whether the caller may read people.
    pub fn may_read_people(&self) -> bool {
        self.scopes().contains(Scope::CandidatesRead)
    }

    /// A resource with the data of a person, as far as the caller may see it.
    pub fn visible<T: Personal>(&self, resource: T) -> Visible<T> {
        Visible::new(resource, self.may_read_people())
    }

    /// The author of the request's changes, for the candidates' history.
    pub fn author(&self) -> Author<'_> {
        Author { ids: self.context.ids(), actor: self.actor().clone(), at: self.context.now() }
    }

    /// Says how many people the page is expected to show, before they are read. The entry of the audit log is then written
    /// meanwhile.
    pub fn expect_page(&self, shown: usize, is_search: bool) {
        self.admitted.call.expected.say(shown, is_search);
    }

    /// Records that the caller read a resource, on a route that is not for reading.
    pub async fn record_reading(&self, action: AuditAction, id: Id) -> Result<(), Error> {
        if self.admitted.records(action) {
            let target = action.resource().map(|kind| AuditTarget::of(kind, id));
            self.context.store().record(self.tenant(), action, target, None).await?;
        }
        Ok(())
    }

    /// The URL of a resource of this API.
    pub fn address(&self, collection: &str, id: Id) -> String {
        format!("{}/api/v1/{collection}/{id}", self.context.base_url())
    }

    /// An empty transaction of the caller's tenant.
    pub fn transaction(&self) -> Transaction {
        Transaction::new(self.tenant())
    }

    /// The resource that the request is about. Fails with 404 if the path has no identifier.
    pub fn id(&self) -> Result<Id, Error> {
        self.admitted.call.id.ok_or(Error::NotFound)
    }

    /// Fails with 412 if `If-Match`, or the version that a member saw, does not match the stored resource, `current`.
    pub fn check_precondition(&self, current: &impl Serialize) -> Result<(), Error> {
        let tag = etag(&json(current)?);
        let matches = match &self.admitted.call.seen {
            Some(seen) => *seen == tag,
            None => headers::if_match(self.context.headers(), &tag)?,
        };
        if matches { Ok(()) } else { Err(Error::PreconditionFailed) }
    }

    /// Fails with 412 if a member saw another stage than `current`.
    pub fn check_stage(&self, current: &str) -> Result<(), Error> {
        let matches = self.admitted.call.seen.as_ref().is_none_or(|seen| seen == current);
        if matches { Ok(()) } else { Err(Error::PreconditionFailed) }
    }

    /// Commits the transaction that `attempt` creates for a numbered slug. Number 1 means the plain slug. The first number is
    /// the one after the last that was assigned, because a transaction that fails costs as much as one that succeeds. If a
    /// number is taken meanwhile, the next attempt uses a later one. `attempt` also gets the organization, whose slug is part
    /// of public URLs.
    pub async fn commit_with_slug<O>(
        &self,
        base: &Slug,
        attempt: impl Fn(u64, &Organization) -> Result<(Transaction, Reply<O>), Error>,
    ) -> Result<Reply<O>, Error> {
        let mut number = self.context.store().find_last_slug_number(self.tenant(), base).await? + 1;
        // Only requests for the same slug at the same time take the next number.
        for _ in 0..20 {
            let (transaction, reply) = attempt(number, self.organization().await)?;
            match self.commit(transaction, reply).await {
                Err(Error::Commit(CommitError::SlugTaken { last })) => number = last.max(number) + 1,
                result => return result,
            }
        }
        Err(StoreError::Unavailable(format!("every number tried for the slug {base} was taken")).into())
    }
}

impl<I: Input> ApiRequest<I> {
    /// Reads the input from the query of a GET, from a member's form, or from the body of any other method, which must have
    /// no query. Reports all mistakes at once.
    ///
    /// Every handler calls this, even one without input, so that unknown fields are rejected.
    pub fn input(&self) -> Result<I, Error> {
        let query = self.context.query_parameters();
        match &self.admitted.call.input {
            SentInput::Form(fields) => read_form(fields),
            SentInput::Arguments { fields, .. } => read_body(&json(fields)?, std::iter::empty()),
            SentInput::Json(_) if self.context.route.starts_with("GET ") => read_query(query),
            SentInput::Json(body) => read_body(body, query),
        }
    }
}

impl<F: Input> ApiRequest<Listing<F>> {
    /// The filters and the requested page.
    pub fn listing(&self) -> Result<(F, Paging), Error> {
        let Listing { filter, limit, cursor } = self.input()?;
        let open = |cursor: String| {
            if cursor.trim().is_empty() {
                return Err(Error::blank_cursor());
            }
            cursor::open(self.context.signing_keys(), &self.admitted.list(), &cursor)
                .ok_or_else(|| Error::BadRequest("The cursor is not valid for this list".to_owned()))
        };
        Ok((filter, Paging { limit, before: cursor.map(open).transpose()? }))
    }

    /// Replies with a page of a list: its items, the cursor of the next page, and the link to it (RFC 8288).
    pub fn reply<T, O: Serialize>(
        &self,
        listed: Listed<T>,
        show: impl Fn(T) -> O,
    ) -> Result<Reply<Collection<O>>, Error> {
        let seal =
            |position: &String| cursor::seal(self.context.signing_keys(), &self.admitted.list(), position);
        let next_cursor = listed.next.as_ref().map(seal);
        let link = next_cursor.as_ref().map(|cursor| self.next_link("cursor", cursor));
        let shown = listed.items.len();
        let reply = Reply::ok(&List { data: listed.items.into_iter().map(show).collect(), next_cursor })?
            .typed()
            .showing(shown);
        Ok(match link {
            Some(link) => reply.with("link", link),
            None => reply,
        })
    }
}

impl<F: Input> ApiRequest<Listing<Since<F>>> {
    /// What the request asks for, and the requested page. Fails with 422 if something else is asked beside the changes.
    pub fn asked(&self) -> Result<(Asked<F>, Paging), Error> {
        let (Since { filter, updated_after }, page) = self.listing()?;
        let Some(time) = updated_after else { return Ok((Asked::Part(filter), page)) };
        let others = self.context.query_parameters().map(|(name, _)| name);
        let others = others.filter(|name| !["updated_after", "limit", "cursor"].contains(name));
        let messages: Vec<_> =
            others.map(|other| format!("updated_after can't be combined with {other}")).collect();
        if messages.is_empty() { Ok((Asked::Since(time), page)) } else { Err(Error::Validation(messages)) }
    }

    /// What has changed since a time, for the store.
    pub fn changes_since(&self, time: Timestamp) -> ChangesSince<'_> {
        ChangesSince { time, clock: self.context.clock(), settling: self.context.settling() }
    }
}

impl<I> ApiRequest<I> {
    /// The link to the next page (RFC 8288), whose place `parameter` names. The other parameters stay.
    pub(crate) fn next_link(&self, parameter: &str, place: &str) -> String {
        let path = utf8_percent_encode(self.context.path(), PATH);
        let kept = self.context.query_parameters().filter(|(name, _)| !["cursor", parameter].contains(name));
        let mut kept: Vec<_> =
            kept.map(|(name, value)| format!("{name}={}&", utf8_percent_encode(value, QUERY))).collect();
        // The gateway passes the parameters in no particular order.
        kept.sort_unstable();
        let query = format!("{}{parameter}={place}", kept.concat());
        format!("<{}{path}?{query}>; rel=\"next\"", self.context.base_url())
    }
}
