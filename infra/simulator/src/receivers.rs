//! The receivers of webhooks: each tenant has an endpoint that wants all events.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use rolecall_local::demo::DEMOS;
use rolecall_local::event_fixtures;
use shared::id::Id;
use shared::model::{Mode, Tenant, WebhookHeaders, WebhookKeys};
use shared::random::Random;
use shared::store::Store;

use crate::clients;
use crate::deployment::Deployment;
use crate::items::text;

/// The beginning of the URLs of the endpoints. The number of the tenant follows.
pub(crate) const URL: &str = event_fixtures::WEBHOOK_URL;
/// The maximum number of runs until everything is delivered. Some runs make the next attempts of failed deliveries.
const RUNS: usize = 12;
/// How long the runs wait for the next attempts.
const WAIT: SignedDuration = SignedDuration::from_hours(2);

/// A request to an endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// The number of the tenant whose endpoint it is.
    pub(crate) tenant: usize,
    pub(crate) headers: WebhookHeaders,
    pub(crate) body: String,
    pub(crate) is_accepted: bool,
}

/// The tenant with this number.
pub(crate) fn tenant(number: usize) -> Tenant {
    let modes = DEMOS.iter().flat_map(|demo| Mode::ALL.map(|mode| demo.tenant(mode)));
    modes.flatten().nth(number).expect("a tenant")
}

fn endpoint(tenant: usize) -> Id {
    Id::new(1_700_000_000_000_000 + tenant as u64).expect("an id")
}

/// Creates the endpoints.
pub(crate) async fn create(store: &Store, now: Timestamp) {
    for number in 0..clients::TENANTS {
        let (id, url) = (endpoint(number), format!("{URL}{number}"));
        let created = event_fixtures::create_webhook_endpoint(store, tenant(number), id, &url, now);
        created.await.expect("an endpoint");
    }
}

/// Delivers what is left, and returns the invariants that do not hold: each tenant gets all of its events and no other
/// tenant's, with valid signatures, and each event always with the same body.
pub(crate) async fn broken(deployment: &Deployment, tenants: &BTreeSet<usize>) -> Vec<String> {
    let mut items = deployment.cloud.items();
    for _ in 0..RUNS {
        let run = deployment.deliver(tenants).await;
        deployment.cloud.note(format!("deliveries: {run:?}"));
        deployment.skip(WAIT);
        items = deployment.cloud.items();
        if run.is_ok() && !items.iter().any(|item| text(item, "pk").contains("#DELIVERY_DUE#")) {
            break;
        }
    }
    let mut broken = Vec::new();
    let (mut accepted, mut bodies) = (BTreeSet::new(), BTreeMap::new());
    for Received { tenant, headers, body, is_accepted } in deployment.outside.received() {
        let at = headers.timestamp.parse().ok().and_then(|second| Timestamp::from_second(second).ok());
        let keys = WebhookKeys::generate(&Random::seeded(endpoint(tenant).get()));
        let signed = at.map(|at| WebhookHeaders::sign(&[keys], true, &headers.id, at, &body));
        if signed.as_ref() != Some(&headers) {
            broken.push(format!("the signature of event {} for tenant {tenant} is not valid", headers.id));
        }
        if is_accepted {
            accepted.insert((tenant, headers.id.clone()));
        }
        if *bodies.entry((tenant, headers.id.clone())).or_insert_with(|| body.clone()) != body {
            broken.push(format!("tenant {tenant} got event {} with another body: {body}", headers.id));
        }
    }
    for number in 0..clients::TENANTS {
        let feed = format!("{}#EVENT", tenant(number));
        let events = items.iter().filter(|item| text(item, "pk") == feed);
        let events: BTreeSet<_> =
            events.map(|event| event["id"]["N"].as_str().unwrap_or_default().to_owned()).collect();
        let got = bodies.keys().filter(|(tenant, _)| *tenant == number).map(|(_, id)| id);
        broken.extend(
            got.filter(|id| !events.contains(*id)).map(|id| format!("tenant {number} has no event {id}")),
        );
        let missing = events.iter().filter(|id| !accepted.contains(&(number, (*id).clone())));
        if tenants.contains(&number) {
            broken.extend(missing.map(|id| format!("tenant {number} did not get event {id}")));
        }
    }
    broken
}
