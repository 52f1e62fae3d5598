//! The simulated time.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::SignedDuration;
use shared::clock::{Clock, Timestamp};
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

/// The common time: that of the paused runtime, and what was added to it.
#[derive(Clone)]
pub(crate) struct Time {
    start: Timestamp,
    since: Instant,
    added: Arc<Mutex<SignedDuration>>,
}

impl Time {
    pub(crate) fn starting_at(start: Timestamp) -> Self {
        Self { start, since: Instant::now(), added: Arc::default() }
    }

    /// A clock that differs from the common time by `skew`.
    pub(crate) fn clock(&self, skew: SignedDuration) -> Clock {
        let time = self.clone();
        Clock::from_fn(move || time.now() + skew)
    }

    pub(crate) fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.since.elapsed()).expect("a short simulation");
        self.start + elapsed + *self.added.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets time pass at once.
    pub(crate) fn skip(&self, duration: SignedDuration) {
        *self.added.lock().unwrap_or_else(PoisonError::into_inner) += duration;
    }
}

/// A runtime whose time passes only while everything waits.
pub(crate) fn paused_runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime")
}
