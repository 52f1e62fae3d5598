//! One request, as its handler sees it: whose it is, what it asks, and what may be done about it.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use lambda_http::aws_lambda_events::query_map::QueryMap;
use lambda_http::http::HeaderMap;
use serde::Serialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::fields::{read_body, read_query};
use super::reply::{List, etag, json};
use super::{Collection, Error, Fields, Input, Reply, Scalar, Value, cursor, headers};
use crate::clock::to_second;
use crate::id::{Id, Ids};
use crate::model::schema::{integer, string};
use crate::model::{Organization, Slug, Tenant};
use crate::providers::Providers;
use crate::random::Random;
use crate::secret::Secret;
use crate::store::{Failure, Listed, Page, Pending, Receipt, ReceiptSlot, Refusal, Store, Writes};

/// What there is to know of a request that was let in.
pub(super) struct Exchange {
    pub(super) route: &'static str,
    pub(super) organization: Organization,
    pub(super) credential: String,
    pub(super) store: Store,
    pub(super) ids: Ids,
    pub(super) now: Timestamp,
    pub(super) base_url: String,
    pub(super) signing_key: Secret,
    pub(super) providers: Providers,
    pub(super) random: Random,
    pub(super) headers: HeaderMap,
    pub(super) query: QueryMap,
    pub(super) id: Option<String>,
    pub(super) body: String,
    pub(super) receipt: Option<(ReceiptSlot, String)>,
}

/// A request for a route that takes an `I`.
pub struct Call<I> {
    exchange: Arc<Exchange>,
    input: PhantomData<fn() -> I>,
}

/// A list's query: its filters, and which page of it.
pub struct Listing<F> {
    filter: F,
    /// The most that a page may hold.
    limit: u32,
    /// Where the page begins: the `next_cursor` of the one before. It is good only with the same filters.
    cursor: Option<String>,
}

const DEFAULT_LIMIT: u32 = 25;
/// How long a request waits for outside services: longer than a function may run.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_secs(60);

impl<F: Input> Input for Listing<F> {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let filter = F::read(fields);
        let limit = fields.optional("limit").map_or(DEFAULT_LIMIT, |Limit(limit)| limit);
        let cursor = fields.optional("cursor").map(|Cursor(cursor)| cursor);
        Some(Self { filter: filter?, limit, cursor })
    }
}

/// How many a page may hold.
struct Limit(u32);

impl Value for Limit {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        let limit = match scalar {
            Scalar::Word(word) if word.bytes().all(|byte| byte.is_ascii_digit()) => word.parse().ok(),
            _ => None,
        };
        let limit = limit.filter(|limit| (1..=100).contains(limit));
        limit.map(|limit| Some(Self(limit))).ok_or_else(|| "must be a whole number from 1 to 100".to_owned())
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
            _ => Err("must be a string".to_owned()),
        }
    }

    fn schema() -> RefOr<Schema> {
        string().pattern(Some("^[A-Za-z0-9_-]+$")).max_length(Some(cursor::MAX_LENGTH)).into()
    }
}

impl Exchange {
    /// What a cursor is bound to: tenant, route and filters.
    fn list(&self) -> String {
        let mut filters: Vec<_> =
            self.query.iter().filter(|(name, _)| *name != "limit" && *name != "cursor").collect();
        filters.sort_unstable();
        format!("{} {} {filters:?}", self.organization.tenant(), self.route)
    }
}

impl<I> Call<I> {
    pub(super) fn new(exchange: Arc<Exchange>) -> Self {
        Self { exchange, input: PhantomData }
    }

    /// The caller's organization, in the credential's mode.
    pub fn organization(&self) -> &Organization {
        &self.exchange.organization
    }

    /// Whose data this request may see.
    pub fn tenant(&self) -> Tenant {
        self.exchange.organization.tenant()
    }

    /// What the caller's credential is called.
    pub fn actor(&self) -> String {
        self.exchange.credential.clone()
    }

    /// The outside services.
    pub fn providers(&self) -> &Providers {
        &self.exchange.providers
    }

    /// Randomness.
    pub fn random(&self) -> &Random {
        &self.exchange.random
    }

    /// The table.
    pub fn store(&self) -> &Store {
        &self.exchange.store
    }

    /// The time of the request, in whole seconds: the precision of every time in the API.
    pub fn now(&self) -> Timestamp {
        to_second(self.exchange.now)
    }

    /// A new identifier.
    pub fn new_id(&self) -> Id {
        self.exchange.ids.next()
    }

    /// The address that public links begin with.
    pub fn base_url(&self) -> &str {
        &self.exchange.base_url
    }

    /// The address of a resource of this API.
    pub fn address(&self, collection: &str, id: Id) -> String {
        format!("{}/api/v1/{collection}/{id}", self.base_url())
    }

    /// The identifier in the path. What cannot be one names nothing.
    pub fn id(&self) -> Result<Id, Error> {
        self.exchange.id.as_deref().and_then(|id| id.parse().ok()).ok_or(Error::NotFound)
    }

    /// Writes of this request's tenant.
    pub fn writes(&self) -> Writes {
        Writes::new(self.tenant())
    }

    /// Refuses to go on where `If-Match` names another version than `current`, the resource as it is now.
    pub fn check_precondition(&self, current: &impl Serialize) -> Result<(), Error> {
        let matches = headers::if_match(&self.exchange.headers, &etag(&json(current)?))?;
        if matches { Ok(()) } else { Err(Error::PreconditionFailed) }
    }

    /// Makes the writes and, in the same transaction, keeps the reply for a repetition of the request. What was
    /// carried out before answers as it did then.
    pub async fn commit<O>(&self, mut writes: Writes, reply: Reply<O>) -> Result<Reply<O>, Error> {
        if let Some((slot, fingerprint)) = &self.exchange.receipt {
            writes.receipt(slot, &reply.receipt(fingerprint.clone()))?;
        }
        if writes.is_empty() {
            return Ok(reply);
        }
        match self.store().commit(writes).await {
            Ok(()) => Ok(reply),
            Err(Refusal::Done(receipt)) => self.exchange.replay(*receipt),
            Err(Refusal::EmailTaken) => Err(Error::Validation(vec!["email is already in use".to_owned()])),
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Makes the writes that come before an outside service is asked. A repetition of the request meets `sentence` from
    /// then on, and a conflict while it may still be waiting, until [`Self::conclude`] or [`Self::withdraw`]. Where the
    /// request was carried out before, its reply.
    pub async fn announce<O>(&self, mut writes: Writes, sentence: &str) -> Result<Option<Reply<O>>, Error> {
        if let Some((slot, fingerprint)) = &self.exchange.receipt {
            let until = self.exchange.now.saturating_add(LONGEST_WAIT).unwrap_or(Timestamp::MAX);
            let pending = Some(Pending { until, sentence: sentence.to_owned() });
            let (fingerprint, body) = (fingerprint.clone(), String::new());
            writes
                .receipt(slot, &Receipt { fingerprint, status: 502, headers: Vec::new(), body, pending })?;
        }
        match self.store().commit(writes).await {
            Ok(()) => Ok(None),
            Err(Refusal::Done(receipt)) => self.exchange.replay(*receipt).map(Some),
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Makes the writes that follow when the service has done it, and keeps the reply.
    pub async fn conclude<O>(&self, mut writes: Writes, reply: Reply<O>) -> Result<Reply<O>, Error> {
        if let Some((slot, fingerprint)) = &self.exchange.receipt {
            writes.conclude_receipt(slot, &reply.receipt(fingerprint.clone()))?;
        }
        self.commit_at_last(writes).await?;
        Ok(reply)
    }

    /// Makes the writes that follow when the service has certainly not done it. The idempotency key is free again.
    pub async fn withdraw(&self, mut writes: Writes) -> Result<(), Error> {
        if let Some((slot, _)) = &self.exchange.receipt {
            writes.withdraw_receipt(slot);
        }
        self.commit_at_last(writes).await
    }

    /// What the service has done is not known: a repetition of the request is told so from now on, and has no effect.
    pub async fn leave_unknown(&self, sentence: &str) -> Result<(), Error> {
        let Some((slot, fingerprint)) = &self.exchange.receipt else { return Ok(()) };
        let pending = Some(Pending { until: self.exchange.now, sentence: sentence.to_owned() });
        let (fingerprint, body) = (fingerprint.clone(), String::new());
        let mut writes = self.writes();
        let receipt = Receipt { fingerprint, status: 502, headers: Vec::new(), body, pending };
        writes.conclude_receipt(slot, &receipt)?;
        self.commit_at_last(writes).await
    }

    /// Commits what must not be decided anew, because an outside service has acted: the handler is not called again.
    async fn commit_at_last(&self, writes: Writes) -> Result<(), Error> {
        for _ in 0..5 {
            match self.store().commit(writes.clone()).await {
                Ok(()) => return Ok(()),
                Err(Refusal::Failed(failure)) => return Err(failure.into()),
                // Another transaction was at the same items.
                Err(_) => tokio::time::sleep(Duration::from_millis(self.exchange.random.below(50))).await,
            }
        }
        Err(Failure::Unavailable("other writes kept coming first".to_owned()).into())
    }

    /// Commits what `attempt` makes of a slug and its number, trying the next number while one is taken: the plain
    /// slug first, whose refusal tells how far its numbers go.
    pub async fn commit_with_slug<O>(
        &self,
        base: &Slug,
        attempt: impl Fn(u64) -> Result<(Writes, Reply<O>), Error>,
    ) -> Result<Reply<O>, Error> {
        let mut number = 1;
        for _ in 0..20 {
            let (writes, reply) = attempt(number)?;
            match self.commit(writes, reply).await {
                Err(Error::Refused(Refusal::SlugTaken { last })) => number = last.max(number) + 1,
                settled => return settled,
            }
        }
        Err(Failure::Unavailable(format!("the slug {base} is in great demand")).into())
    }
}

impl<I: Input> Call<I> {
    /// What the request asks, or all that is wrong with it. A GET asks by its query; every other method by its body,
    /// and has no query. Every handler calls this, even for nothing: what is unknown must not pass.
    pub fn input(&self) -> Result<I, Error> {
        let Exchange { route, query, body, .. } = &*self.exchange;
        if route.starts_with("GET ") { read_query(query.iter()) } else { read_body(body, query.iter()) }
    }
}

impl<F: Input> Call<Listing<F>> {
    /// The list's filters and the page that is asked for.
    pub fn listing(&self) -> Result<(F, Page), Error> {
        let Listing { filter, limit, cursor } = self.input()?;
        let open = |cursor: String| cursor::open(&self.exchange.signing_key, &self.exchange.list(), &cursor);
        let before = match cursor {
            None => None,
            Some(cursor) => Some(
                open(cursor)
                    .ok_or_else(|| Error::BadRequest("The cursor is not valid for this list".to_owned()))?,
            ),
        };
        Ok((filter, Page { limit, before }))
    }

    /// The reply that shows a page: its items, the cursor to the next, and the same as a link (RFC 8288).
    pub fn reply<T, O: Serialize>(
        &self,
        listed: Listed<T>,
        show: impl Fn(T) -> O,
    ) -> Result<Reply<Collection<O>>, Error> {
        let seal =
            |position: &String| cursor::seal(&self.exchange.signing_key, &self.exchange.list(), position);
        let next_cursor = listed.next.as_ref().map(seal);
        let link = next_cursor.as_ref().map(|cursor| self.next_link(cursor));
        let reply =
            Reply::ok(&List { data: listed.items.into_iter().map(show).collect(), next_cursor })?.typed();
        Ok(match link {
            Some(link) => reply.with("link", link),
            None => reply,
        })
    }

    fn next_link(&self, cursor: &str) -> String {
        let path = self.exchange.route.trim_start_matches("GET ");
        // Filters and limits have been read by now: their values need no escaping.
        let kept = self.exchange.query.iter().filter(|(name, _)| *name != "cursor");
        let mut kept: Vec<_> = kept.map(|(name, value)| format!("{name}={value}&")).collect();
        // The gateway hands them over in any order.
        kept.sort_unstable();
        let query = format!("{}cursor={cursor}", kept.concat());
        format!("<{}{path}?{query}>; rel=\"next\"", self.base_url())
    }
}

impl Exchange {
    /// The answer that the request got before, if it is the same request.
    pub(super) fn replay<O>(&self, mut receipt: Receipt) -> Result<Reply<O>, Error> {
        match (&self.receipt, receipt.pending.take()) {
            (Some((_, fingerprint)), _) if *fingerprint != receipt.fingerprint => {
                Err(Error::IdempotencyMismatch)
            }
            (Some(_), Some(pending)) if pending.until > self.now => Err(Refusal::InFlight.into()),
            (Some(_), Some(Pending { sentence, .. })) => Err(Error::Upstream { sentence, retry_after: None }),
            (Some(_), None) => Ok(Reply::replayed(receipt)),
            (None, _) => Err(Error::IdempotencyMismatch),
        }
    }
}
