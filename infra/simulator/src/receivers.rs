//! The receivers of webhooks: each tenant has an endpoint that wants all events.

use std::collections::BTreeSet;

use rolecall_local::demo::DEMOS;
use rolecall_local::event_fixtures;
use shared::clock::Timestamp;
use shared::id::Id;
use shared::model::{Mode, Tenant, WebhookHeaders, WebhookKeys};
use shared::random::Random;
use shared::store::Store;

/// The beginning of the URLs of the endpoints. The number of the tenant follows.
pub(crate) const URL: &str = event_fixtures::WEBHOOK_URL;

/// A request to an endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// The number of the tenant whose endpoint it is.
    pub(crate) tenant: usize,
    pub(crate) headers: WebhookHeaders,
    pub(crate) body: String,
    pub(crate) is_accepted: bool,
}

impl Received {
    /// Whether the signatures are those of the tenant's endpoint.
    pub(crate) fn is_signed(&self) -> bool {
        let second = self.headers.timestamp.parse().ok();
        let Some(at) = second.and_then(|second| Timestamp::from_second(second).ok()) else { return false };
        let keys = WebhookKeys::generate(&Random::seeded(endpoint(self.tenant).get()));
        WebhookHeaders::sign(&[keys], true, &self.headers.id, at, &self.body) == self.headers
    }
}

/// All tenants, in the order of their numbers.
pub(crate) fn all_tenants() -> Vec<Tenant> {
    DEMOS.iter().flat_map(|demo| Mode::ALL.map(|mode| demo.tenant(mode))).flatten().collect()
}

/// The tenants with these numbers.
pub(crate) fn tenants(numbers: &BTreeSet<usize>) -> Vec<Tenant> {
    let all = all_tenants();
    numbers.iter().map(|number| all[*number]).collect()
}

fn endpoint(tenant: usize) -> Id {
    Id::new(1_700_000_000_000_000 + tenant as u64).expect("an id")
}

/// Creates the endpoints.
pub(crate) async fn create(store: &Store, now: Timestamp) {
    for (number, tenant) in all_tenants().into_iter().enumerate() {
        let (id, url) = (endpoint(number), format!("{URL}{number}"));
        let created = event_fixtures::create_webhook_endpoint(store, tenant, id, &url, now);
        created.await.expect("an endpoint");
    }
}
