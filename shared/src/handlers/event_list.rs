//! The change feed.

use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::http::{ApiRequest, Error, Reply, Unversioned, input};
use crate::model::schema::{integer, string};
use crate::model::{Event, EventType, Scalar, Value};
use crate::store::EventPage;

/// The maximum number of events of a page, and of events that are read for it.
const MOST: u32 = 1_000;
/// The number of events of a page if the request does not say.
const DEFAULT: u32 = 100;

input! {
    /// The part of the feed to return.
    pub struct EventFilter {
        /// Returns the events after this position: the `next_cursor` of the previous page, or the `seq` of an event. `latest` is
        /// the end of the feed. Without it, the list begins with the oldest event that is kept.
        after: optional Position,
        /// Returns only events of this type. Up to 1,000 events are read for a page, so it may be short or empty although more
        /// follow.
        r#type: optional EventType,
        /// The maximum number of events.
        limit: optional Limit = Limit(DEFAULT),
    }
}

/// A position in the feed.
enum Position {
    Latest,
    After(u64),
}

impl Value for Position {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        let word = match scalar {
            Scalar::Word(word) | Scalar::Number(word) => word,
            Scalar::Text(text) => text.as_str(),
            _ => "",
        };
        let position = match word {
            _ if scalar.is_blank() => return Ok(None),
            "latest" => Some(Self::Latest),
            word if (1..=16).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit()) => {
                word.parse().ok().map(Self::After)
            }
            _ => None,
        };
        position.map(Some).ok_or_else(|| "must be the next_cursor of a page, a seq or latest".to_owned())
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
    /// The `seq` of the last event that was read. Send it as `after` to get the next events.
    next_cursor: String,
    /// Whether more events follow now.
    has_more: bool,
}

/// Lists the events after a position, oldest first. Events are kept for 30 days.
///
/// # Errors
///
/// - `cursor_expired`: the event after `after` is no longer kept, or the feed does not reach `after`.
pub async fn list(request: ApiRequest<EventFilter>) -> Result<Reply<Unversioned<Events>>, Error> {
    let EventFilter { after, r#type: kind, limit: Limit(limit) } = request.input()?;
    let (store, tenant, now) = (request.context.store(), request.tenant(), request.context.now());
    let head = store.get_feed_head(tenant).await?;
    let after = match after {
        Some(Position::After(seq)) => seq,
        Some(Position::Latest) => head.seq,
        None => store.find_feed_start(tenant, &head, now).await?,
    };
    let read = if kind.is_some() { MOST } else { limit };
    let page = store.list_events(tenant, &head, after, read, now).await?.ok_or(Error::CursorExpired)?;
    let EventPage { events, next, has_more } = page.of_type(kind, limit);
    Ok(Reply::ok(&Events { data: events, next_cursor: next.to_string(), has_more })?.unversioned())
}
