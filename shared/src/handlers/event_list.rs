//! The change feed.

use jiff::SignedDuration;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::clock::later;
use crate::http::{ApiRequest, Error, Feed, Reply, input};
use crate::model::schema::{integer, string};
use crate::model::{Event, EventType, FeedPosition, Scalar, Value};
use crate::store::EventPage;

/// The maximum number of events of a page, and of events that one query reads.
const MOST: u32 = 1_000;
/// The number of events of a page if the request does not say.
const DEFAULT: u32 = 100;
/// The number of events after which a page without any event of the type ends.
const MOST_EXAMINED: usize = 10_000;
/// How far back the recent changes go.
const RECENT: SignedDuration = SignedDuration::from_hours(24);

input! {
    /// The part of the feed to return.
    pub struct EventFilter {
        /// Returns the events after this position: the `position` of the previous page, or the `seq` of an event. `latest` is
        /// the end of the feed. Without it, the list begins with the oldest event that is kept.
        after: optional Place,
        /// Another name of `after`, for programs that read lists.
        cursor: optional Place,
        /// Returns only events of this type. A page reads on until it has one. After 10,000 others it ends, and may then be
        /// empty although more follow.
        r#type: optional EventType,
        /// The maximum number of events.
        limit: optional Limit = Limit(DEFAULT),
    }
}

input! {
    /// The part of the feed to return to somebody who asks what is new.
    pub struct RecentFilter {
        /// Returns the events after this position. Without it, the list begins with those of the last 24 hours.
        after: optional Place,
        /// Returns only events of this type.
        r#type: optional EventType,
        /// The maximum number of events.
        limit: optional Limit = Limit(DEFAULT),
    }
}

/// A place in the feed.
enum Place {
    /// What programs send that go on after the last page of a list.
    Blank,
    Latest,
    After(FeedPosition),
}

impl Value for Place {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        let place = match scalar {
            Scalar::Word(word) if word.trim().is_empty() => Ok(Some(Self::Blank)),
            Scalar::Text(text) if text.trim().is_empty() => Ok(Some(Self::Blank)),
            Scalar::Word("latest") => Ok(Some(Self::Latest)),
            Scalar::Text(text) if text == "latest" => Ok(Some(Self::Latest)),
            scalar => FeedPosition::read(scalar).map(|position| position.map(Self::After)),
        };
        place.map_err(|_| "must be a position, a string of digits, or latest".to_owned())
    }

    fn schema() -> RefOr<Schema> {
        string().pattern(Some("^([0-9]{1,16}|latest)$")).into()
    }
}

/// The maximum number of events.
struct Limit(u32);

impl Value for Limit {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        scalar.whole_number_in(1..=MOST).map(|limit| Some(Self(limit)))
    }

    fn schema() -> RefOr<Schema> {
        integer(1).maximum(Some(MOST)).default(Some(DEFAULT.into())).into()
    }
}

/// A part of the feed.
#[derive(Debug, Serialize, ToSchema)]
pub struct Events {
    /// The events, oldest first.
    data: Vec<Event>,
    /// The `position` while more events follow now, otherwise `null`.
    next_cursor: Option<String>,
    /// The `seq` of the last event that was read, or `0`. Keep it, and send it as `after` to get the next events.
    position: String,
    /// Whether more events follow now.
    has_more: bool,
}

/// Lists the events after a position, oldest first. Events are kept for 30 days.
///
/// # Errors
///
/// - `cursor_expired`: the event after `after` is no longer kept, or the feed does not reach `after`.
pub async fn list(request: ApiRequest<EventFilter>) -> Result<Reply<Feed<Events>>, Error> {
    let EventFilter { after, cursor, r#type: kind, limit } = request.input()?;
    if after.is_some() && cursor.is_some() {
        return Err(Error::Validation(vec!["cursor can't be combined with after".to_owned()]));
    }
    page(&request, after.or(cursor), Event::KEPT, kind, limit).await
}

/// The same, but from the last 24 hours on, if there is no position.
///
/// # Errors
///
/// - `cursor_expired`: the event after `after` is no longer kept, or the feed does not reach `after`.
pub async fn list_recent(request: ApiRequest<RecentFilter>) -> Result<Reply<Feed<Events>>, Error> {
    let RecentFilter { after, r#type: kind, limit } = request.input()?;
    page(&request, after, RECENT, kind, limit).await
}

/// The events after a place, or without one those of the last `period`.
async fn page<I>(
    request: &ApiRequest<I>,
    place: Option<Place>,
    period: SignedDuration,
    kind: Option<EventType>,
    Limit(limit): Limit,
) -> Result<Reply<Feed<Events>>, Error> {
    let (store, tenant, now) = (request.context.store(), request.tenant(), request.context.now());
    let head = store.get_feed_head(tenant).await?;
    let mut after = match place {
        Some(Place::Blank) => return Err(Error::blank_cursor()),
        Some(Place::After(FeedPosition(seq))) => seq,
        Some(Place::Latest) => head.seq,
        None => {
            // What was written in the period is what will still be kept at this time.
            let kept_at = later(now, Event::KEPT.saturating_sub(period));
            store.find_feed_start(tenant, &head, kept_at).await?
        }
    };
    let read = if kind.is_some() { MOST } else { limit };
    let mut examined = 0;
    let EventPage { events, next, has_more } = loop {
        let page = store.list_events(tenant, &head, after, read, now).await?.ok_or(Error::CursorExpired)?;
        examined += page.events.len();
        let page = page.of_type(kind, limit);
        if !page.events.is_empty() || !page.has_more || examined >= MOST_EXAMINED {
            break page;
        }
        after = page.next;
    };
    let position = next.to_string();
    let link = has_more.then(|| request.next_link("after", &position));
    let next_cursor = has_more.then(|| position.clone());
    let reply = Reply::ok(&Events { data: events, next_cursor, position, has_more })?.typed();
    Ok(match link {
        Some(link) => reply.with("link", link),
        None => reply,
    })
}
