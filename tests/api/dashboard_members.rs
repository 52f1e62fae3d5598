//! Members: who invites, changes and removes whom, and what ends with a member.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join;
use http::Method;
use shared::id::Id;
use shared::model::{Grant, Member, MemberRole, Mode};
use shared::store::{Page, Writes};
use tests::browser::{Browser, input};
use tests::desk::{connect_app, escaped, join as joined, owner, shown_once};
use tests::wire::{Fault, Wire};
use tests::{ACME, GLOBEX, World, tenant};

use crate::dashboard_access::writes;

const PATH: &str = "/dashboard/settings/members";

async fn find(world: &World, id: Id) -> Option<Member> {
    world.store().find_member(tenant(ACME, Mode::Live).organization, id).await.unwrap()
}

fn to(member: &Member, what: &str) -> String {
    format!("{PATH}/{}/{what}", member.id)
}

#[tokio::test]
async fn members_are_listed_with_role_and_state() {
    let world = World::new().await;
    let ada = owner(&world, ACME).await;
    let browser = Browser::of(&world, ACME, &ada).await;
    let made = browser.post(PATH, &[("name", "Jo"), ("email", "jo@acme.example"), ("role", "owner")]).await;
    let made = made.expect(200);
    assert!(shown_once(&made).is_some());
    assert!(
        made.text.contains("A link for Jo") && made.text.contains("27 Nov 2026, 09:30 UTC"),
        "{}",
        made.text
    );
    let row = |text: &str, email: &str| {
        let rows = text.split("<tr>").find(|row| row.contains(email)).unwrap().to_owned();
        rows.split("</tr>").next().unwrap().to_owned()
    };
    for (time, until) in [("2026-11-27T09:29:59Z", true), ("2026-11-27T09:30:00Z", false)] {
        world.hands.set(time);
        let browser = Browser::of(&world, ACME, &ada).await;
        let shown = browser.get(PATH).await.expect(200);
        assert!(shown_once(&shown).is_none(), "a link is shown once");
        let jo = row(&shown.text, "jo@acme.example");
        assert!(jo.contains("is-owner") && jo.contains("is-invited"), "{jo}");
        assert_eq!(jo.contains("until 27 Nov 2026, 09:30 UTC"), until, "{jo}");
        let own = row(&shown.text, "ada@acme.example");
        assert!(own.contains("is-active") && own.contains("you") && !own.contains("<form"), "{own}");
        assert!(!shown.text.contains("globex"));
    }
}

#[tokio::test]
async fn an_invitation_that_is_not_right_keeps_what_was_typed() {
    let world = World::new().await;
    let browser = Browser::of(&world, ACME, &owner(&world, ACME).await).await;
    let long = "x".repeat(201);
    let far = format!("{}@example.com", "x".repeat(250));
    for (name, email, role, problems) in [
        ("", "jo@acme.example", "member", &["The name can't be blank."][..]),
        (&long, "jo@acme.example", "owner", &["The name must be at most 200 characters."]),
        ("Jo", "jo", "owner", &["The e-mail address must be an e-mail address"]),
        ("Jo", &far, "member", &["The e-mail address must be at most 254 characters."]),
        ("Jo", "jo@acme.example", "admin", &["The role must be one of owner, member."]),
        (" ", "\"><b>", "", &["The name can't", "The e-mail address must", "The role must"]),
    ] {
        world.wire.take();
        let page = browser.post(PATH, &[("name", name), ("email", email), ("role", role)]).await.expect(422);
        for problem in problems {
            assert!(page.text.contains(&escaped(problem)), "{problem}: {}", page.text);
        }
        assert_eq!((input(&page, "name"), input(&page, "email")), (name.to_owned(), email.to_owned()));
        let chosen = if role == "owner" { "owner" } else { "member" };
        assert!(page.text.contains(&format!("<option value=\"{chosen}\" selected>")), "{role}");
        assert!(!world.wire.take().iter().any(writes), "{problems:?}");
    }
}

#[tokio::test]
async fn a_role_changes_at_once() {
    let world = World::new().await;
    let ada = Browser::of(&world, ACME, &owner(&world, ACME).await).await;
    let jo = joined(&world, ACME, "Jo", MemberRole::Member).await;
    let browser = Browser::of(&world, ACME, &jo).await;
    let invitation = [("name", "X"), ("email", "x@acme.example"), ("role", "member")];
    browser.post(PATH, &invitation).await.expect(403);
    for (role, status) in [("owner", 200), ("member", 403), ("owner", 422)] {
        let answer = ada.post(&to(&jo, "role"), &[("role", role)]).await.expect(303);
        assert!(ada.follow(&answer).await.expect(200).text.contains("The member&#39;s role has changed."));
        browser.post(PATH, &invitation).await.expect(status);
    }
    for odd in ["", "admin", "Owner"] {
        ada.post(&to(&jo, "role"), &[("role", odd)]).await.expect(400);
    }
    assert_eq!(find(&world, jo.id).await.unwrap().role, MemberRole::Owner);
}

#[tokio::test]
async fn what_ends_with_a_member_ends_at_once() {
    let world = World::new().await;
    let ada = owner(&world, ACME).await;
    let browser = Browser::of(&world, ACME, &ada).await;
    let jo = joined(&world, ACME, "Jo", MemberRole::Owner).await;
    let sessions = [Browser::of(&world, ACME, &jo).await, Browser::of(&world, ACME, &jo).await];
    let mut apps = Vec::new();
    for mode in Mode::ALL {
        for number in 0..3 {
            let app =
                connect_app(&world.environment, tenant(ACME, mode), jo.id, &format!("App {number}")).await;
            apps.push((mode, app.0.id, app.1));
        }
    }
    let (kept, own) = connect_app(&world.environment, tenant(ACME, Mode::Live), ada.id, "Ada's own").await;
    let call = async |token: &str| {
        let ask = world.request(Method::GET, "/api/v1/organization");
        ask.header("authorization", &format!("Bearer {token}")).send().await.status
    };
    for (_, _, token) in &apps {
        assert_eq!(call(token.reveal()).await, 200);
    }
    for session in &sessions {
        session.get("/dashboard").await.expect(200);
    }
    let answer = browser.post(&to(&jo, "remove"), &[]).await.expect(303);
    let shown = browser.follow(&answer).await.expect(200);
    assert!(shown.text.contains("The member was removed") && !shown.text.contains("jo@members.example"));
    for session in &sessions {
        session.get("/dashboard").await.expect(303);
    }
    for (mode, grant, token) in &apps {
        assert_eq!(call(token.reveal()).await, 401);
        let grant = world.store().find_grant(tenant(ACME, *mode), *grant).await.unwrap().unwrap();
        assert!(grant.revoked_at.is_some());
    }
    assert_eq!(call(own.reveal()).await, 200, "what others have connected stays");
    let listed = browser.get("/dashboard/settings/integrations/connected-apps").await.expect(200);
    assert!(listed.text.contains("Ada&#39;s own") && !listed.text.contains("App 1"));
    assert!(world.store().find_grant(tenant(ACME, Mode::Live), kept.id).await.unwrap().is_some());
    browser.post(&to(&jo, "remove"), &[]).await.expect(404);
    Browser::new(&world).enter("jo@members.example", "whatever it was").await.expect(401);
}

/// More grants than are read at once.
#[tokio::test]
async fn every_grant_of_a_removed_member_ends() {
    let world = World::new().await;
    let browser = Browser::of(&world, ACME, &owner(&world, ACME).await).await;
    let jo = joined(&world, ACME, "Jo", MemberRole::Member).await;
    let acme = tenant(ACME, Mode::Live);
    let (first, _) = connect_app(&world.environment, acme, jo.id, "App").await;
    let mut writes = Writes::new(acme);
    for number in 1..=100 {
        let id = Id::new(first.id.get() + number).unwrap();
        writes.insert_grant(&Grant { id, ..first.clone() }).unwrap();
    }
    world.store().commit(writes).await.unwrap();
    browser.post(&to(&jo, "remove"), &[]).await.expect(303);
    let mut page = Page { limit: 100, before: None };
    let mut ended = 0;
    loop {
        let listed = world.store().list_grants(acme, &page).await.unwrap();
        assert!(listed.items.iter().all(|grant| grant.revoked_at.is_some()));
        ended += listed.items.len();
        let Some(next) = listed.next else { break };
        page.before = Some(next);
    }
    assert_eq!(ended, 101);
}

/// An application that is connected while its member is removed, and changes while it is taken back.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_granted_during_a_removal_ends_too() {
    let world = World::new().await;
    let browser = Browser::of(&world, ACME, &owner(&world, ACME).await).await;
    let jo = joined(&world, ACME, "Jo", MemberRole::Member).await;
    let acme = tenant(ACME, Mode::Live);
    // A way of its own to the table, which meets no faults.
    let store = world.table(&Wire::new(), &world.environment.config.table).await;
    let aside = shared::http::Environment { store, ..world.environment.clone() };
    let (member, conflicts) = (jo.id, AtomicUsize::new(0));
    let runtime = tokio::runtime::Handle::current();
    world.wire.play(move |operation, request| {
        let removes = request["TransactItems"][0]["Delete"].is_object();
        if operation == "TransactWriteItems" && removes {
            let connect = connect_app(&aside, acme, member, "Late");
            tokio::task::block_in_place(|| runtime.block_on(connect));
            conflicts.store(1, Ordering::SeqCst);
            return None;
        }
        let left = operation == "TransactWriteItems" && conflicts.swap(0, Ordering::SeqCst) > 0;
        left.then_some(Fault::Conflict)
    });
    browser.post(&to(&jo, "remove"), &[]).await.expect(303);
    world.wire.play(|_, _| None);
    let listed = world.store().list_grants(acme, &Page { limit: 100, before: None }).await.unwrap();
    assert_eq!(listed.items.len(), 1);
    assert!(listed.items[0].revoked_at.is_some(), "it would be good for a month, and its member is gone");
    assert!(world.store().list_apps(acme).await.unwrap().last_used(listed.items[0].id).is_none());
}

#[tokio::test]
async fn nobody_changes_or_removes_themselves() {
    let world = World::new().await;
    let ada = owner(&world, ACME).await;
    joined(&world, ACME, "Another", MemberRole::Owner).await;
    let browser = Browser::of(&world, ACME, &ada).await;
    for (path, fields) in [
        (to(&ada, "role"), &[("role", "member")][..]),
        (to(&ada, "role"), &[("role", "owner")]),
        (to(&ada, "remove"), &[]),
    ] {
        world.wire.take();
        let answer = browser.post(&path, fields).await.expect(303);
        assert!(!world.wire.take().iter().any(writes), "{path}");
        assert!(browser.follow(&answer).await.expect(200).text.contains("Another owner has to do that"));
    }
    assert_eq!(find(&world, ada.id).await.unwrap().version, ada.version);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_owners_who_remove_or_demote_each_other_one_stays() {
    let world = World::new().await;
    let acme = tenant(ACME, Mode::Live).organization;
    let first = owner(&world, ACME).await;
    let mut one = first;
    for round in 0..12 {
        let two = joined(&world, ACME, &format!("Owner{round}"), MemberRole::Owner).await;
        let (ones, twos) = (Browser::of(&world, ACME, &one).await, Browser::of(&world, ACME, &two).await);
        join(ones.csrf(), twos.csrf()).await;
        let (one_does, two_does) = [("remove", "remove"), ("role", "role"), ("remove", "role")][round % 3];
        let fields = [("role", "member")];
        let (a, b) = (to(&two, one_does), to(&one, two_does));
        let (a, b) = join(ones.post(&a, &fields), twos.post(&b, &fields)).await;
        let mut statuses = [a.status, b.status];
        statuses.sort_unstable();
        // The later one is no owner any more, or not even signed in: then it is sent to do so.
        let locations = [a.header("location"), b.header("location")];
        let done = locations.iter().filter(|to| to.contains("?done=")).count();
        assert_eq!(done, 1, "{round}: {statuses:?} {locations:?}");
        let members = world.store().list_members(acme).await.unwrap();
        let mut owners: Vec<_> =
            members.into_iter().filter(|member| member.role == MemberRole::Owner).collect();
        assert_eq!(owners.len(), 1, "{round}");
        one = owners.remove(0);
    }
}

#[tokio::test]
async fn another_organizations_owner_sees_nothing_of_it() {
    let world = World::new().await;
    let jo = joined(&world, ACME, "Jo", MemberRole::Member).await;
    let grace = Browser::of(&world, GLOBEX, &owner(&world, GLOBEX).await).await;
    for what in ["role", "remove", "link"] {
        grace.post(&to(&jo, what), &[("role", "owner")]).await.expect(404);
    }
    assert_eq!(find(&world, jo.id).await.unwrap().version, jo.version);
}
