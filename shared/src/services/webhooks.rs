//! The requests that deliver events to webhook endpoints.

use serde::Serialize;

use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::Event;
use crate::store::StoreError;

/// The body of a request: the event as in the feed, and the time that Standard Webhooks asks for.
#[derive(Serialize)]
struct Body<'e> {
    #[serde(flatten)]
    event: &'e Event,
    timestamp: Timestamp,
}

/// The candidate whom the event in a body is about, if it is about one.
pub fn candidate_in(body: &str) -> Option<Id> {
    serde_json::from_str::<Event>(body).ok()?.candidate()
}

/// The body of the requests that deliver an event.
pub fn body_of(event: &Event) -> Result<String, StoreError> {
    serde_json::to_string(&Body { event, timestamp: event.at })
        .map_err(|error| StoreError::Internal(format!("an event cannot be serialized: {error}")))
}
