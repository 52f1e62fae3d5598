//! The recorded events of `events/`: what `sam local invoke` is given works on the functions as they are.

use std::collections::BTreeSet;

use serde_json::Value;
use shared::id::Id;
use shared::model::{
    CandidateFile, Invitation, Mode, Posting, PostingContent, Profile, Role, RoleContent, SalaryRange,
    ScreenFile, Slug, Text, VoiceProvider,
};
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

/// The role, the posting, the candidate and the voice screen that the events name, in the state that the event needs.
async fn prepare(world: &World, event: &str) {
    let now = world.environment.clock.now();
    let id = |number: u64| Id::new(1_700_000_000_000_000 + number).unwrap();
    let title = Text::parse("Recorded").unwrap().unwrap();
    let content = RoleContent {
        title: title.clone(),
        department: None,
        description: None,
        location: None,
        remote_policy: None,
        salary: SalaryRange::default(),
    };
    let base = Slug::of("Recorded", "job");
    let draft = Role::draft(id(1), content, now);
    let content = PostingContent { title, public_description: None, requirements: None };
    let posting = Posting::draft(id(2), &draft, base.clone(), content, now);
    let role = match event {
        "roles_resume" => draft.publish(now).unwrap().pause(now).unwrap(),
        "roles_reopen" => draft.close(now),
        "roles_pause"
        | "candidates_create"
        | "candidates_apply"
        | "candidates_invite_screen"
        | "channels_post" => draft.publish(now).unwrap(),
        _ => draft,
    };
    let posting = if event == "channels_post" { posting.publish(role.status, now).unwrap() } else { posting };
    let linked = if event == "job_postings_create" { role } else { role.link(posting.link(), now) };
    let profile = Profile {
        name: Text::parse("Recorded").unwrap().unwrap(),
        email: "recorded@example.com".parse().unwrap(),
        phone: None,
        resume_url: None,
    };
    let candidate = CandidateFile::new(id(3), profile, now);
    let candidate = if event == "candidates_unreject" { candidate.reject(now).unwrap() } else { candidate };
    let invitation = Invitation { id: id(4), candidate_id: id(3), role_id: id(1), scheduled_at: None };
    let screen = ScreenFile::invited(invitation, VoiceProvider::Simulator, String::new(), now);
    let mut writes = Writes::new(tenant(ACME, Mode::Live));
    writes.insert_role(&linked).unwrap();
    if event != "job_postings_create" {
        writes.insert_posting(&posting, &base, 1).unwrap();
    }
    writes.insert_candidate(&CandidateFile { version: 1, ..candidate }).unwrap();
    world.store().commit(writes).await.unwrap();
    let mut writes = Writes::new(tenant(ACME, Mode::Live));
    writes.insert_screen(&screen).unwrap();
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
async fn every_route_and_every_job_has_one() {
    let events = events();
    let recorded: BTreeSet<_> = events.iter().filter_map(|(_, event)| event["routeKey"].as_str()).collect();
    let template = tests::template();
    let routes: BTreeSet<_> = template.routes.iter().map(|route| route.key.as_str()).collect();
    assert_eq!(recorded, routes);
    for job in ["tasks_schedule", "tasks_stream", "usage_reset_schedule"] {
        assert!(events.iter().any(|(name, _)| name == job), "{job}");
    }
}
