//! The recorded events of `events/`: what `sam local invoke` is given works on the functions as they are.

use std::collections::{BTreeMap, BTreeSet};

use rolecall_local::recorded;
use serde_json::Value;
use shared::config::{Addresses, Services, XAccess};
use shared::sealed::SealingKeys;
use shared::secret::Secret;
use tests::wire::Recorded;
use tests::{Answer, TEMPLATE, World, project};

/// The events by their names.
fn events() -> BTreeMap<String, Value> {
    let mut events = BTreeMap::new();
    for entry in std::fs::read_dir(project("events")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        events.insert(name, serde_json::from_str(&text).unwrap());
    }
    events
}

/// A world with what the events name.
async fn world(services: Services) -> World {
    let world = World::with_services(services).await;
    recorded::create(world.store(), world.environment.clock.now()).await.unwrap();
    world.wire.take();
    world
}

/// What recorded requests are answered, one after the other, and which calls they make.
async fn play(requests: impl Iterator<Item = (String, Value)>) -> Vec<(String, Answer, Vec<Recorded>)> {
    let simulated = world(Services { simulated: true, ..Services::default() }).await;
    // Channels are connected where there is something to connect to, though nobody answers there.
    let connecting = world(Services {
        x: Some(XAccess { client_id: "c".to_owned(), client_secret: Secret::new("s") }),
        sealing_keys: Some(SealingKeys::parse(&format!("k:{}", "s".repeat(32))).unwrap()),
        addresses: Addresses { x: "http://127.0.0.1:1".to_owned(), ..Addresses::default() },
        ..Services::default()
    })
    .await;
    let mut played = Vec::new();
    for (name, event) in requests.filter(|(_, event)| event["version"] == "2.0") {
        let world = if name.starts_with("dashboard_channels_") { &connecting } else { &simulated };
        let answer = Answer::read(world.gateway.invoke_event(event).await.unwrap());
        played.push((name, answer, world.wire.take()));
    }
    played
}

/// The calls that the recorded requests to a function make.
pub(crate) async fn calls_of(function: &str) -> Vec<Recorded> {
    let own = format!("{function}_");
    let requests = events().into_iter().filter(|(name, _)| name.starts_with(&own));
    play(requests).await.into_iter().flat_map(|(.., calls)| calls).collect()
}

#[tokio::test]
async fn every_event_is_answered_whichever_came_before() {
    let mut played = play(events().into_iter()).await;
    played.extend(play(events().into_iter().rev()).await);
    for (name, answer, _) in played {
        if name.starts_with("default") {
            assert!([404, 405].contains(&answer.status), "{name}: {}", answer.text);
        } else {
            assert!(answer.status < 400, "{name}: {} {}", answer.status, answer.text);
            assert!(!answer.header("location").starts_with("/dashboard/sign-in?return_to"), "{name}");
        }
    }
}

#[tokio::test]
async fn every_route_and_every_job_has_one() {
    let events = events();
    let recorded: BTreeSet<_> = events.values().filter_map(|event| event["routeKey"].as_str()).collect();
    let routes: BTreeSet<_> = TEMPLATE.routes.iter().map(|route| route.key.as_str()).collect();
    assert_eq!(recorded, routes);
    for job in ["tasks_schedule", "tasks_stream", "usage_reset_schedule"] {
        assert!(events.contains_key(job), "{job}");
    }
}
