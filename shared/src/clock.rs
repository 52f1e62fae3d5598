//! The injected clock. Only this module reads the system clock.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

/// A source of the current time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The system clock.
    #[expect(clippy::disallowed_methods, reason = "this is the only place that reads the system clock")]
    pub fn system() -> Self {
        Self::from_fn(Timestamp::now)
    }

    /// A clock that shows `start` now, and runs on from there as fast as the system clock.
    pub fn starting_at(start: Timestamp) -> Self {
        let system = Self::system();
        let began = system.now();
        Self::from_fn(move || later(start, system.now().duration_since(began)))
    }

    /// A clock that returns the result of `now`.
    pub fn from_fn(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

/// `time` plus `duration`, capped at the last representable timestamp.
pub fn later(time: Timestamp, duration: SignedDuration) -> Timestamp {
    time.saturating_add(duration).unwrap_or(time)
}

/// Truncates `time` to whole seconds, the precision of all stored and returned times.
pub fn to_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
