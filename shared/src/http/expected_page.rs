//! How many people a page is expected to show, as soon as its handler knows it. The entry of the audit log is then written
//! while the people are read.

use std::sync::Arc;

use tokio::sync::SetOnce;

/// The number of people that a page is expected to show. Its handler may say it once, before it reads them.
#[derive(Clone, Debug, Default)]
pub struct ExpectedPage(Arc<SetOnce<Option<Expected>>>);

/// What a handler expects of its page.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The number of people.
    pub(super) shown: u64,
    /// Whether they were searched for.
    pub(super) is_search: bool,
}

impl ExpectedPage {
    /// Says what is expected, unless it is an empty page, which has no entry.
    pub(super) fn say(&self, shown: usize, is_search: bool) {
        if let Some(shown) = u64::try_from(shown).ok().filter(|shown| *shown > 0) {
            let _ = self.0.set(Some(Expected { shown, is_search }));
        }
    }

    /// Awaits the handler, after which nothing more is expected.
    pub async fn until<T>(&self, handled: impl Future<Output = T>) -> T {
        let handled = handled.await;
        let _ = self.0.set(None);
        handled
    }

    /// Waits until the handler says what it expects. Returns `None` if it ends without that.
    pub async fn wait(&self) -> Option<Expected> {
        *self.0.wait().await
    }
}
