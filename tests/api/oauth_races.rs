//! OAuth: what happens to a grant between what a request has read and what it writes.

use std::sync::Arc;

use shared::auth::Credential;
use shared::model::Mode;
use shared::store::Writes;
use tests::browser::{Browser, Form};
use tests::oauth::{App, Tokens, address, refusal, status};
use tests::{ACME, GLOBEX, World, tenant};
use tokio::sync::oneshot::{self, Receiver};

const WRITE: &str = "TransactWriteItems";
const DEAD: (u16, &str) = (400, "invalid_grant");

/// Right before the next write, the application renews this pair elsewhere, and gets these tokens.
fn renewed_meanwhile(world: &Arc<World>, app: &App<'_>, refresh: &str) -> Receiver<Tokens> {
    let (here, id, refresh) = (world.clone(), app.id.clone(), refresh.to_owned());
    let (sender, receiver) = oneshot::channel();
    world.wire.before(WRITE, async move {
        sender.send(Tokens::of(&App::public(&here, &id).refresh(&refresh).await)).unwrap();
    });
    receiver
}

#[tokio::test]
async fn a_retry_that_the_use_of_the_pair_overtakes_ends_the_grant() {
    let world = Arc::new(World::new().await);
    let app = App::register(&world, "none").await;
    let first = app.connect(&Browser::signed_in(&world, ACME).await).await;
    let second = Tokens::of(&app.refresh(&first.refresh).await);
    let (here, access) = (world.clone(), second.access.clone());
    world.wire.before(WRITE, async move { assert_eq!(status(&here, &access).await, 200) });
    assert_eq!(refusal(&app.refresh(&first.refresh).await), DEAD);
    assert_eq!(status(&world, &second.access).await, 401);
    assert_eq!(refusal(&app.refresh(&second.refresh).await), DEAD);
}

#[tokio::test]
async fn a_refresh_that_another_overtakes_is_decided_anew() {
    let world = Arc::new(World::new().await);
    let app = App::register(&world, "none").await;
    let first = app.connect(&Browser::signed_in(&world, ACME).await).await;
    let overtaking = renewed_meanwhile(&world, &app, &first.refresh);
    let last = Tokens::of(&app.refresh(&first.refresh).await);
    assert_eq!(status(&world, &overtaking.await.unwrap().access).await, 401);
    assert_eq!(status(&world, &last.access).await, 200);
}

#[tokio::test]
async fn an_exchange_that_another_overtakes_ends_the_grant() {
    let world = Arc::new(World::new().await);
    let app = App::register(&world, "none").await;
    let code = app.code(&Browser::signed_in(&world, ACME).await, &app.asking(), "live").await;
    let (here, id, same) = (world.clone(), app.id.clone(), code.clone());
    let (sender, overtaking) = oneshot::channel();
    world.wire.before(WRITE, async move {
        sender.send(Tokens::of(&App::public(&here, &id).exchange(&same).await)).unwrap();
    });
    assert_eq!(refusal(&app.exchange(&code).await), DEAD);
    assert_eq!(status(&world, &overtaking.await.unwrap().access).await, 401);
}

#[tokio::test]
async fn what_is_revoked_meanwhile_stays_revoked() {
    let world = Arc::new(World::new().await);
    let app = App::register(&world, "none").await;
    let browser = Browser::signed_in(&world, ACME).await;
    let first = app.connect(&browser).await;
    let code = app.code(&browser, &app.asking(), "live").await;
    for shown in [&first.refresh, &code] {
        let (here, credential) = (world.clone(), shown.parse::<Credential>().unwrap());
        world.wire.before(WRITE, async move {
            let (store, now) = (here.store(), here.environment.clock.now());
            let grant = store.find_grant(credential.tenant(), credential.id()).await.unwrap().unwrap();
            let mut writes = Writes::new(credential.tenant());
            writes.revoke_grant(grant, now).unwrap();
            store.commit(writes).await.unwrap();
        });
        let answer = if *shown == code { app.exchange(shown).await } else { app.refresh(shown).await };
        assert_eq!(refusal(&answer), DEAD);
    }
    assert_eq!(status(&world, &first.access).await, 401);
}

#[tokio::test]
async fn revoking_an_old_access_token_leaves_the_next_one_alone() {
    let world = Arc::new(World::new().await);
    let app = App::register(&world, "none").await;
    let first = app.connect(&Browser::signed_in(&world, ACME).await).await;
    let next = renewed_meanwhile(&world, &app, &first.refresh);
    app.revoke(&first.access).await.expect(200);
    let next = next.await.unwrap();
    assert_eq!(status(&world, &next.access).await, 200);
    // With the refresh token, whatever there is ends.
    let last = renewed_meanwhile(&world, &app, &next.refresh);
    app.revoke(&next.refresh).await.expect(200);
    let last = last.await.unwrap();
    assert_eq!(status(&world, &last.access).await, 401);
    assert_eq!(refusal(&app.refresh(&last.refresh).await), DEAD);
}

#[tokio::test]
async fn the_place_of_an_expired_token_is_not_taken_from_its_successor() {
    let world = Arc::new(World::new().await);
    let app = App::register(&world, "none").await;
    let browser = Browser::signed_in(&world, ACME).await;
    let (one, two) = (app.connect(&browser).await, app.connect(&browser).await);
    world.hands.set("2026-11-20T10:31:00Z");
    let two = renewed_meanwhile(&world, &app, &two.refresh);
    let next = Tokens::of(&app.refresh(&one.refresh).await);
    let two = two.await.unwrap();
    assert_eq!(status(&world, &two.access).await, 200);
    // Nor where a lost answer is asked for again.
    world.hands.set("2026-11-20T11:00:00Z");
    let lost = Tokens::of(&app.refresh(&next.refresh).await);
    world.hands.set("2026-11-20T11:32:00Z");
    let two = renewed_meanwhile(&world, &app, &two.refresh);
    let again = Tokens::of(&app.refresh(&next.refresh).await);
    for (access, expected) in [(two.await.unwrap().access, 200), (again.access, 200), (lost.access, 401)] {
        assert_eq!(status(&world, &access).await, expected);
    }
}

#[tokio::test]
async fn somebody_who_is_being_removed_grants_nothing_more() {
    let world = Arc::new(World::new().await);
    let app = App::register(&world, "none").await;
    let browser = Browser::signed_in(&world, GLOBEX).await;
    let page = browser.get(&address(&app.asking())).await.expect(200);
    let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
    let here = world.clone();
    world.wire.before(WRITE, async move {
        let (store, now) = (here.store(), here.environment.clock.now());
        let organization = tenant(GLOBEX, Mode::Live).organization;
        let member = store.find_member(organization, organization).await.unwrap().unwrap();
        shared::membership::remove(store, organization, &member, None, now).await.unwrap();
    });
    let answer = browser.submit("/oauth/authorize", &form).await;
    assert_eq!(Form::of_location(&answer).0, "/dashboard/sign-in");
}
