//! The recorded events of `events/`: what `sam local invoke` is given works on the functions as they are.

use std::collections::BTreeSet;

use serde_json::Value;
use shared::auth::Credential;
use shared::config::{Addresses, Services, XAccess};
use shared::id::Id;
use shared::model::{
    CandidateFile, Client, ClientAuthentication, Code, Grant, Invitation, Link, Member, MemberRole, Mode,
    Opening, Posting, PostingContent, Profile, Role, RoleContent, SalaryRange, Scopes, ScreenFile, Session,
    Slug, Text, TokenSet, VoiceProvider, challenge,
};
use shared::sealed::SealingKeys;
use shared::secret::Secret;
use shared::store::Writes;
use tests::wire::Recorded;
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
        _ if event.starts_with("careers") => draft.publish(now).unwrap(),
        _ => draft,
    };
    let is_public = event == "channels_post" || event.starts_with("careers");
    let posting = if is_public { posting.publish(role.status, now).unwrap() } else { posting };
    let linked = if event == "job_postings_create" { role } else { role.link(posting.link(), now) };
    let profile = Profile {
        name: Text::parse("Recorded").unwrap().unwrap(),
        email: "recorded@example.com".parse().unwrap(),
        phone: None,
        resume: None,
    };
    let candidate = CandidateFile::new(id(3), profile, now);
    let candidate = if event == "candidates_unreject" { candidate.reject(now).unwrap() } else { candidate };
    let invitation = Invitation { id: id(4), candidate_id: id(3), role_id: id(1), scheduled_at: None };
    let screen = ScreenFile::invited(invitation, VoiceProvider::Simulator, String::new(), now);
    let mut writes = Writes::new(tenant(ACME, Mode::Live));
    writes.insert_role(&linked).unwrap();
    if event != "job_postings_create" {
        writes.insert_posting(&posting, &base, 1).unwrap();
        writes.replace_opening(None, Opening::of(&linked, &posting).as_ref()).unwrap();
    }
    writes.insert_candidate(&CandidateFile { version: 1, ..candidate }).unwrap();
    world.store().commit(writes).await.unwrap();
    let mut writes = Writes::new(tenant(ACME, Mode::Live));
    writes.insert_screen(&screen).unwrap();
    world.store().commit(writes).await.unwrap();
}

/// The secrets that the events carry; they open nothing but this test's table.
const SESSION: &str = "rc_ss_L000000001000000001RecordedSessionOfAcmeNoSec12CVO8A";
const CODE: &str = "rc_ac_L0000000017mjS6b2rlRecordedCodeOfAcmeNotSecret03vi3P";
const REFRESH: &str = "rc_rt_L0000000017mjS6b2rlRecordedFamilyOfAcmeNoSecr1RecordedRefreshOfAcmeNoSec10tH5bn";
const LINK: &str = "rc_ln_L0000000017mjS6b2rmRecordedLinkOfAcmeNotSecret44OGpc";

/// The session, the invited member, the application and the grant that the events name.
async fn prepare_people(world: &World, event: &str) {
    let (store, now, acme) = (world.store(), world.environment.clock.now(), tenant(ACME, Mode::Live));
    let id = |number: u64| Id::new(1_700_000_000_000_000 + number).unwrap();
    let credential = |text: &str| text.parse::<Credential>().unwrap();
    let later = now.saturating_add(Link::RESET).unwrap();
    let owner = store.find_member(acme.organization, acme.organization).await.unwrap().unwrap();
    let name = Text::parse("Recorded").unwrap().unwrap();
    let invited =
        Member::invited(id(6), "recorded@acme.example".parse().unwrap(), name, MemberRole::Member, now);
    let client = Client {
        id: "rc_client_recorded".to_owned(),
        name: Text::parse("Recorded").unwrap().unwrap(),
        redirect_uris: vec!["http://127.0.0.1/callback".parse().unwrap()],
        authentication: ClientAuthentication::None,
        secret_hash: None,
        uri: None,
        created_at: now,
    };
    let tokens = TokenSet {
        access: String::new(),
        family: credential(REFRESH).family_hash(),
        refresh: credential(REFRESH).hash(),
        previous: None,
        expires_at: later,
    };
    let grant = Grant {
        id: id(5),
        client_id: client.id.clone(),
        client_name: client.name.clone(),
        redirect_host: "127.0.0.1".to_owned(),
        member: owner.id,
        scopes: Scopes::all(),
        code: Code {
            hash: credential(CODE).hash(),
            redirect_uri: "http://127.0.0.1:8765/callback".to_owned(),
            challenge: challenge("recorded-verifier-of-forty-three-characters-x"),
            expires_at: later,
        },
        tokens: (event != "oauth_token_code").then_some(tokens),
        created_at: now,
        revoked_at: None,
        version: 1,
    };
    let mut writes = Writes::new(acme);
    writes.insert_session(&credential(SESSION).hash(), &Session::begin(&owner, now)).unwrap();
    let link = Link { hash: credential(LINK).hash(), expires_at: later };
    writes.insert_member(&Member { link: Some(link), ..invited }).unwrap();
    writes.insert_grant(&grant).unwrap();
    store.commit(writes).await.unwrap();
    store.insert_client(&client).await.unwrap();
}

/// Channels are connected where there is something to connect to, though nobody answers there.
async fn world(event: &str) -> World {
    if !event.starts_with("dashboard_channels_") {
        return World::new().await;
    }
    World::with_services(Services {
        x: Some(XAccess { client_id: "c".to_owned(), client_secret: Secret::new("s") }),
        sealing_keys: Some(SealingKeys::parse(&format!("k:{}", "s".repeat(32))).unwrap()),
        addresses: Addresses { x: "http://127.0.0.1:1".to_owned(), ..Addresses::default() },
        ..Services::default()
    })
    .await
}

/// What a recorded request is answered, and which calls it makes.
async fn play(name: &str, event: Value) -> (Answer, Vec<Recorded>) {
    let world = world(name).await;
    prepare(&world, name).await;
    prepare_people(&world, name).await;
    world.wire.take();
    let answer = Answer::read(world.gateway.invoke_event(event).await.unwrap());
    (answer, world.wire.take())
}

/// The calls that the recorded requests to a function make.
pub(crate) async fn calls_of(function: &str) -> Vec<Recorded> {
    let mut calls = Vec::new();
    for (name, event) in events() {
        if name.starts_with(&format!("{function}_")) {
            calls.extend(play(&name, event).await.1);
        }
    }
    calls
}

#[tokio::test]
async fn every_event_is_answered() {
    for (name, event) in events() {
        if event["version"] != "2.0" {
            continue;
        }
        let (answer, _) = play(&name, event).await;
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
    let recorded: BTreeSet<_> = events.iter().filter_map(|(_, event)| event["routeKey"].as_str()).collect();
    let template = tests::template();
    let routes: BTreeSet<_> = template.routes.iter().map(|route| route.key.as_str()).collect();
    assert_eq!(recorded, routes);
    for job in ["tasks_schedule", "tasks_stream", "usage_reset_schedule"] {
        assert!(events.iter().any(|(name, _)| name == job), "{job}");
    }
}
