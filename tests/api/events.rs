//! The recorded events of `events/`: what `sam local invoke` is given works on the functions as they are.

use std::collections::BTreeSet;

use serde_json::Value;
use shared::id::Id;
use shared::model::{Mode, Posting, Role, RoleContent, SalaryRange, Slug, Text};
use shared::store::Writes;
use tests::{ACME, Answer, World, project, tenant};

fn events() -> Vec<(String, Value)> {
    let mut events = Vec::new();
    for entry in std::fs::read_dir(project("events")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            events.push((name, serde_json::from_str(&text).unwrap()));
        }
    }
    events
}

/// The role and the posting that the events name, in the state that the event's move needs.
async fn prepare(world: &World, event: &str) {
    let now = world.environment.clock.now();
    let title = Text::parse("Recorded").unwrap().unwrap();
    let content = RoleContent {
        title,
        department: None,
        description: None,
        location: None,
        remote_policy: None,
        salary: SalaryRange::default(),
    };
    let base = Slug::of("Recorded", "job");
    let content_of_posting = shared::model::PostingContent {
        title: content.title.clone(),
        public_description: None,
        requirements: None,
    };
    let draft = Role::draft(Id::new(1_700_000_000_000_001).unwrap(), content, now);
    let posting = Posting::draft(
        Id::new(1_700_000_000_000_002).unwrap(),
        &draft,
        base.clone(),
        content_of_posting,
        now,
    );
    let role = match event {
        "roles_pause" => draft.publish(now).unwrap(),
        "roles_resume" => draft.publish(now).unwrap().pause(now).unwrap(),
        "roles_reopen" => draft.close(now),
        _ => draft,
    };
    let linked = if event == "job_postings_create" { role } else { role.link(posting.link(), now) };
    let mut writes = Writes::new(tenant(ACME, Mode::Live));
    writes.insert_role(&linked).unwrap();
    if event != "job_postings_create" {
        writes.insert_posting(&posting, &base, 1).unwrap();
    }
    world.store().commit(writes).await.unwrap();
}

#[tokio::test]
async fn every_event_is_answered() {
    for (name, event) in events() {
        if event["version"] != "2.0" {
            continue;
        }
        let world = World::new().await;
        prepare(&world, &name).await;
        let answer = Answer::read(world.gateway.invoke_event(event).await.unwrap());
        if name.starts_with("default") {
            assert!([404, 405].contains(&answer.status), "{name}: {}", answer.text);
        } else {
            assert!(answer.status < 300, "{name}: {} {}", answer.status, answer.text);
        }
    }
}

#[tokio::test]
async fn every_route_and_the_schedule_have_one() {
    let events = events();
    let recorded: BTreeSet<_> = events.iter().filter_map(|(_, event)| event["routeKey"].as_str()).collect();
    let template = tests::template();
    let routes: BTreeSet<_> = template.routes.iter().map(|route| route.key.as_str()).collect();
    assert_eq!(recorded, routes);
    assert!(events.iter().any(|(name, _)| name.starts_with("usage_reset")));
}
