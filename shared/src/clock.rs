//! The injected clock. Only this module reads the system clock.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// A source of the current time.
#[derive(Clone)]
pub struct Clock {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Whether the clock runs by itself, as fast as tokio's.
    runs: bool,
}

impl Clock {
    /// The system clock.
    #[expect(clippy::disallowed_methods, reason = "this is the only place that reads the system clock")]
    pub fn system() -> Self {
        Self { runs: true, ..Self::from_fn(Timestamp::now) }
    }

    /// A clock that shows `start` now, and runs on from there as fast as the system clock.
    pub fn starting_at(start: Timestamp) -> Self {
        let system = Self::system();
        let began = system.now();
        let now = move || later(start, system.now().duration_since(began));
        Self { runs: true, ..Self::from_fn(now) }
    }

    /// A clock that returns the result of `now`. Nobody waits for it.
    pub fn from_fn(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { now: Arc::new(now), runs: false }
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// Waits until this time, if the clock runs by itself. Returns the time, or the current one if that is later.
    pub async fn wait_until(&self, time: Timestamp) -> Timestamp {
        let wait = Duration::try_from(time.duration_since(self.now())).unwrap_or_default();
        if self.runs {
            tokio::time::sleep(wait).await;
        }
        self.now().max(time)
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
