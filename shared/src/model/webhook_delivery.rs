//! Deliveries of events to webhook endpoints: their attempts, and when the next one is due.

use jiff::SignedDuration;
use jiff::fmt::rfc2822::DateTimeParser;
use serde::{Deserialize, Serialize};

use super::string_enum::string_enum;
use super::{Event, EventType};
use crate::clock::{Timestamp, later};
use crate::id::Id;
use crate::random::Random;

string_enum! {
    /// The state of a delivery.
    pub enum DeliveryStatus {
        /// An attempt is due.
        Pending = "pending",
        /// The endpoint answered with a status from 200 to 299.
        Delivered = "delivered",
        /// The last attempt failed, or the endpoint was disabled.
        Failed = "failed",
    }
}

string_enum! {
    /// Why a delivery exists.
    pub enum DeliveryOrigin {
        /// An event.
        Event = "event",
        /// An event that is sent again, after everything new.
        Replay = "replay",
        /// A request for a test.
        Ping = "ping",
    }
}

/// An attempt to deliver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// When it began.
    pub at: Timestamp,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// Why there was no answer.
    pub error: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
    /// The beginning of the answer's body. It may name people, so it is stored by itself, and not for as long.
    #[serde(skip)]
    pub answer: Option<String>,
}

impl Attempt {
    /// For how long answers are kept.
    const ANSWER_KEPT: SignedDuration = SignedDuration::from_hours(72);

    /// Until when the answer is kept; `None` if it is not, because the attempt succeeded or nothing answered.
    pub fn answer_until(&self) -> Option<Timestamp> {
        (self.status.is_some() && !self.is_success()).then(|| later(self.at, Self::ANSWER_KEPT))
    }

    /// Whether the endpoint accepted the event.
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// Whether the endpoint is gone for good.
    pub fn is_gone(&self) -> bool {
        self.status == Some(410)
    }
}

/// A delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The identifier.
    pub id: Id,
    /// The endpoint.
    pub endpoint: Id,
    /// The event. A ping has an id of its own.
    pub event_id: Id,
    /// The event's position in the feed; `None` for a ping.
    pub seq: Option<u64>,
    /// The event's type.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// Why the delivery exists.
    pub origin: DeliveryOrigin,
    /// The state.
    pub status: DeliveryStatus,
    /// When the next attempt is due; `None` if there is none.
    pub next_attempt_at: Option<Timestamp>,
    /// The latest attempts, the oldest first.
    pub attempts: Vec<Attempt>,
    /// The number of attempts since the delivery was created or sent again.
    pub tries: u32,
    /// The body of the requests, which is the same in each.
    pub body: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// Grows with every change.
    pub version: u64,
}

/// The waits after failed attempts, in seconds.
// The example schedule of Standard Webhooks.
const WAITS: [i64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
/// The longest wait that an endpoint can ask for.
const LONGEST: SignedDuration = SignedDuration::from_hours(24);
/// The number of attempts that are kept.
const KEPT: usize = 20;
/// The maximum length of the answer that is kept, in bytes.
pub const MAX_ANSWER: usize = 1024;

impl Delivery {
    /// For how long deliveries are kept.
    pub const LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);

    /// A delivery whose first attempt is due now. `body` is what the requests have.
    pub fn of(
        id: Id,
        endpoint: Id,
        event: &Event,
        body: String,
        origin: DeliveryOrigin,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            endpoint,
            event_id: event.id,
            seq: event.seq,
            kind: event.kind,
            origin,
            status: DeliveryStatus::Pending,
            next_attempt_at: Some(now),
            attempts: Vec::new(),
            tries: 0,
            body,
            created_at: now,
            version: 1,
        }
    }

    /// When the delivery is no longer kept.
    pub fn expires_at(&self) -> Timestamp {
        later(self.created_at, Self::LIFETIME)
    }

    /// The delivery after an attempt that ended at `ended`. If it failed, the next one is due after a wait that is up to a
    /// tenth longer than planned, or when the endpoint has asked for it.
    #[must_use]
    pub fn record(
        mut self,
        attempt: Attempt,
        retry_after: Option<SignedDuration>,
        ended: Timestamp,
        random: &Random,
    ) -> Self {
        let is_success = attempt.is_success();
        let may_repeat = !attempt.is_gone() && self.origin != DeliveryOrigin::Ping;
        self.attempts.push(attempt);
        let excess = self.attempts.len().saturating_sub(KEPT);
        self.attempts.drain(..excess);
        let wait = WAITS.get(self.tries as usize).copied().filter(|_| !is_success && may_repeat);
        self.tries += 1;
        self.next_attempt_at = wait.map(|seconds| {
            let planned = jittered(seconds, random.below(10_000));
            later(ended, planned.max(retry_after.unwrap_or_default().min(LONGEST)))
        });
        self.status = match self.next_attempt_at {
            Some(_) => DeliveryStatus::Pending,
            None if is_success => DeliveryStatus::Delivered,
            None => DeliveryStatus::Failed,
        };
        self.version += 1;
        self
    }

    /// The delivery with an attempt that is due now and, should it fail, all of the waits again.
    #[must_use]
    pub fn send_again(self, now: Timestamp) -> Self {
        Self {
            status: DeliveryStatus::Pending,
            next_attempt_at: Some(now),
            tries: 0,
            version: self.version + 1,
            ..self
        }
    }

    /// The delivery without further attempts, because its endpoint is disabled.
    #[must_use]
    pub fn give_up(self) -> Self {
        Self { status: DeliveryStatus::Failed, next_attempt_at: None, version: self.version + 1, ..self }
    }
}

/// A wait, longer by a fraction in ten-thousandths of a tenth.
fn jittered(seconds: i64, fraction: u64) -> SignedDuration {
    let extra = seconds.saturating_mul(i64::try_from(fraction).unwrap_or(0)) / 100;
    SignedDuration::from_millis(seconds.saturating_mul(1_000).saturating_add(extra))
}

/// The wait that a `Retry-After` header asks for: seconds, or a date.
pub fn retry_after(header: &str, now: Timestamp) -> Option<SignedDuration> {
    let header = header.trim();
    if header.bytes().all(|byte| byte.is_ascii_digit()) {
        return header.parse::<u32>().ok().map(|seconds| SignedDuration::from_secs(seconds.into()));
    }
    let date = DateTimeParser::new().parse_timestamp(header).ok()?;
    Some(date.duration_since(*now)).filter(SignedDuration::is_positive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn delivery(origin: DeliveryOrigin) -> Delivery {
        Delivery {
            id: Id::new(2).unwrap(),
            endpoint: Id::new(9).unwrap(),
            event_id: Id::new(1).unwrap(),
            seq: Some(7),
            kind: EventType::RolePublished,
            origin,
            status: DeliveryStatus::Pending,
            next_attempt_at: Some(at("2026-11-20T09:30:00Z")),
            attempts: Vec::new(),
            tries: 0,
            body: "{}".to_owned(),
            created_at: at("2026-11-20T09:30:00Z"),
            version: 1,
        }
    }

    fn answered(status: u16, at: Timestamp) -> Attempt {
        Attempt { at, status: Some(status), error: None, duration_ms: 1, answer: None }
    }

    #[test]
    fn failed_attempts_follow_the_schedule_exactly() {
        let (random, expected) = (Random::seeded(42), Random::seeded(42));
        let mut delivery = delivery(DeliveryOrigin::Event);
        let mut now = delivery.created_at;
        for wait in ["5s", "5m", "30m", "2h", "5h", "10h", "14h", "20h", "24h"] {
            delivery = delivery.record(answered(500, now), None, now, &random);
            let wait: SignedDuration = wait.parse().unwrap();
            let millis = i64::try_from(wait.as_millis()).unwrap();
            let extra = millis * i64::try_from(expected.below(10_000)).unwrap() / 100_000;
            let due = delivery.next_attempt_at.unwrap();
            assert_eq!(due.duration_since(now), SignedDuration::from_millis(millis + extra), "{wait}");
            assert_eq!(delivery.status, DeliveryStatus::Pending);
            now = due;
        }
        delivery = delivery.record(answered(500, now), None, now, &random);
        assert_eq!((delivery.status, delivery.next_attempt_at), (DeliveryStatus::Failed, None));
        assert_eq!(delivery.attempts.len(), 10);
        let again = delivery.send_again(now);
        assert_eq!((again.status, again.next_attempt_at), (DeliveryStatus::Pending, Some(now)));
        let again = again.record(answered(204, now), None, now, &random);
        assert_eq!((again.status, again.next_attempt_at), (DeliveryStatus::Delivered, None));
    }

    proptest! {
        #[test]
        fn a_wait_is_up_to_a_tenth_longer(seed: u64) {
            let now = at("2026-11-20T09:30:00Z");
            let failed = delivery(DeliveryOrigin::Event).record(answered(500, now), None, now, &Random::seeded(seed));
            let wait = failed.next_attempt_at.unwrap().duration_since(now).as_millis();
            prop_assert!((5_000..5_500).contains(&wait), "{}", wait);
        }

        #[test]
        fn any_retry_after_is_parsed_without_panic(header in "\\PC{0,40}|[0-9]{1,12}") {
            let _ = retry_after(&header, at("2026-11-20T09:30:00Z"));
        }
    }

    #[test]
    fn retry_after_only_lengthens_a_wait_up_to_a_day() {
        let now = at("2026-11-20T09:30:00Z");
        let wait = |header: &str| {
            let asked = retry_after(header, now);
            let failed =
                delivery(DeliveryOrigin::Event).record(answered(503, now), asked, now, &Random::seeded(1));
            failed.next_attempt_at.unwrap().duration_since(now).as_secs()
        };
        assert_eq!(wait("120"), 120);
        assert_eq!(wait("Fri, 20 Nov 2026 10:30:00 GMT"), 3_600);
        assert_eq!(wait("864000"), 86_400);
        for ignored in ["0", "1", "", "soon", "-5", "Fri, 20 Nov 2026 09:00:00 GMT", "99999999999"] {
            assert_eq!(wait(ignored), 5, "{ignored}");
        }
    }

    #[test]
    fn a_ping_and_an_endpoint_that_is_gone_have_no_second_attempt() {
        let (now, random) = (at("2026-11-20T09:30:00Z"), Random::seeded(1));
        let ping = delivery(DeliveryOrigin::Ping).record(answered(500, now), None, now, &random);
        assert_eq!((ping.status, ping.next_attempt_at), (DeliveryStatus::Failed, None));
        let gone = delivery(DeliveryOrigin::Event).record(answered(410, now), None, now, &random);
        assert_eq!((gone.status, gone.next_attempt_at), (DeliveryStatus::Failed, None));
    }

    #[test]
    fn the_latest_20_attempts_are_kept() {
        let (now, random) = (at("2026-11-20T09:30:00Z"), Random::seeded(1));
        let mut delivery = delivery(DeliveryOrigin::Event);
        for status in 500..525 {
            delivery = delivery.send_again(now).record(answered(status, now), None, now, &random);
        }
        let kept: Vec<_> = delivery.attempts.iter().filter_map(|attempt| attempt.status).collect();
        assert_eq!(kept, (505..525).collect::<Vec<_>>());
    }
}
