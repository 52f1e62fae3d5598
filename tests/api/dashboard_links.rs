//! Single-use links: an invitation and a new password, each good once, for a while, and for one member.

use futures_util::future::{join, join_all};
use shared::auth::{Credential, Kind};
use shared::id::Id;
use shared::model::{MemberRole, Mode};
use shared::random::Random;
use tests::browser::{Browser, form, input};
use tests::desk::{join as joined, owner, shown_once};
use tests::{ACME, Answer, BASE_URL, GLOBEX, World, key, tenant};

use crate::dashboard_access::{essence, writes};

const MEMBERS: &str = "/dashboard/settings/members";
const PATH: &str = "/dashboard/password";
const PASSWORD: &str = "a longer pass phrase";
const SPENT: &str = "The link is no longer good: it was used, replaced or is too old.";

/// Has an owner invite somebody; gives the link's secret.
async fn invite(owner: &Browser<'_>, name: &str, email: &str) -> String {
    let fields = [("name", name), ("email", email), ("role", "member")];
    secret(&owner.post(MEMBERS, &fields).await.expect(200))
}

/// Has an owner make a link for a member; gives its secret.
async fn renew(owner: &Browser<'_>, member: Id) -> String {
    secret(&owner.post(&format!("{MEMBERS}/{member}/link"), &[]).await.expect(200))
}

fn secret(page: &Answer) -> String {
    let link = shown_once(page).expect("a link");
    link.strip_prefix(&format!("{BASE_URL}{PATH}?token=")).expect("our address").to_owned()
}

async fn open(browser: &Browser<'_>, token: &str) -> Answer {
    browser.get(&format!("{PATH}?{}", form(&[("token", token)]))).await
}

async fn set(browser: &Browser<'_>, token: &str, name: &str, password: &str) -> Answer {
    browser
        .post(PATH, &[("token", token), ("name", name), ("password", password), ("repeated", password)])
        .await
}

fn assert_spent(answer: &Answer, what: &str) {
    assert_eq!(answer.status, 400, "{what}: {}", answer.text);
    assert!(answer.text.contains(SPENT), "{what}: {}", answer.text);
    assert!(
        !answer
            .headers
            .get_all("set-cookie")
            .iter()
            .any(|cookie| { cookie.to_str().unwrap().contains("rc_ss_") }),
        "{what}"
    );
}

async fn acme(world: &World) -> Browser<'_> {
    Browser::of(world, ACME, &owner(world, ACME).await).await
}

#[tokio::test]
async fn an_invitation_is_accepted_once_with_a_name_and_a_password() {
    let world = World::new().await;
    let owner = acme(&world).await;
    let token = invite(&owner, "Jo & \"Co\"", "Jo@acme.example").await;
    assert!(!owner.get(MEMBERS).await.expect(200).text.contains(&token), "it is shown once");
    world.hands.set("2026-11-27T09:29:59Z");
    let jo = Browser::new(&world);
    for _ in 0..3 {
        world.wire.take();
        let page = open(&jo, &token).await.expect(200);
        assert!(!world.wire.take().iter().any(writes), "to look at it spends nothing");
        assert!(page.text.contains("Welcome to Acme") && page.text.contains("Jo@acme.example"));
        assert_eq!((input(&page, "name"), input(&page, "token")), ("Jo & \"Co\"".to_owned(), token.clone()));
    }
    Browser::new(&world).enter("jo@acme.example", PASSWORD).await.expect(401);

    let long = "x".repeat(201);
    let other = "another pass phrase";
    for (name, first, second, problems) in [
        ("", PASSWORD, PASSWORD, &["Your name can&#39;t be blank."][..]),
        (&long, PASSWORD, PASSWORD, &["Your name must be at most 200 characters."]),
        ("Jo\u{7}", PASSWORD, PASSWORD, &["Your name must not contain control characters"]),
        ("Jo <b>", "short", "short", &["The password must be at least 12 characters."]),
        ("Jo <b>", PASSWORD, other, &["The repeated password must be the same as the first."]),
        ("Jo <b>", "aaaaaaaaaaaaaa", "aaaaaaaaaaaaaa", &["The password must not be a row of keys"]),
        ("", "", "", &["Your name can&#39;t be blank.", "The password must be at least 12 characters."]),
    ] {
        world.wire.take();
        let fields = [("token", &*token), ("name", name), ("password", first), ("repeated", second)];
        let page = jo.post(PATH, &fields).await.expect(422);
        for problem in problems {
            assert!(page.text.contains(problem), "{problem}: {}", page.text);
        }
        assert_eq!((input(&page, "name"), input(&page, "token")), (name.to_owned(), token.clone()));
        assert_eq!((input(&page, "password"), input(&page, "repeated")), (String::new(), String::new()));
        assert!(!world.wire.take().iter().any(writes), "{problems:?}");
    }

    let answer = set(&jo, &token, " Jo Doe ", PASSWORD).await.expect(303);
    let shown = jo.follow(&answer).await.expect(200);
    assert!(
        shown.text.contains("Your password is set, and you are signed in.") && shown.text.contains("Jo Doe")
    );
    assert_spent(&open(&jo, &token).await, "opened again");
    assert_spent(&set(&jo, &token, "Jo", PASSWORD).await, "sent again");
    Browser::new(&world).enter("jo@acme.example", PASSWORD).await.expect(303);
}

#[tokio::test]
async fn a_new_password_ends_the_sessions_and_keeps_the_name() {
    let world = World::new().await;
    let colleague = joined(&world, ACME, "Colleague", MemberRole::Owner).await;
    let colleague = Browser::of(&world, ACME, &colleague).await;
    let ada = owner(&world, ACME).await;
    let session = Browser::of(&world, ACME, &ada).await;
    let token = renew(&colleague, ada.id).await;
    session.get("/dashboard").await.expect(200);
    let browser = Browser::new(&world);
    let page = open(&browser, &token).await.expect(200);
    assert!(page.text.contains("Set a new password") && page.text.contains("Acme"));
    assert!(!page.text.contains("name=\"name\""), "an invitation alone asks for a name");
    set(&browser, &token, "Somebody Else", PASSWORD).await.expect(303);
    assert_eq!(owner(&world, ACME).await.name, ada.name);
    session.get("/dashboard").await.expect(303);
    browser.get("/dashboard").await.expect(200);
    Browser::new(&world).enter(ada.email.as_str(), "acme demo password").await.expect(401);
    Browser::new(&world).enter(ada.email.as_str(), PASSWORD).await.expect(303);
}

#[tokio::test]
async fn a_link_ends_by_the_clock() {
    let world = World::new().await;
    let owner = acme(&world).await;
    let ada = tests::desk::owner(&world, ACME).await.id;
    let (invitation, reset) = (invite(&owner, "Jo", "jo@acme.example").await, renew(&owner, ada).await);
    let browser = Browser::new(&world);
    for (time, invitation_is, reset_is) in [
        ("2026-11-21T09:29:59Z", 200, 200),
        ("2026-11-21T09:30:00Z", 200, 400),
        ("2026-11-27T09:29:59Z", 200, 400),
        ("2026-11-27T09:30:00Z", 400, 400),
    ] {
        world.hands.set(time);
        assert_eq!(open(&browser, &invitation).await.status, invitation_is, "{time}");
        assert_eq!(open(&browser, &reset).await.status, reset_is, "{time}");
    }
    assert_spent(&set(&browser, &invitation, "Jo", PASSWORD).await, "late");
    assert_spent(&set(&browser, &reset, "Jo", PASSWORD).await, "late");
}

#[tokio::test]
async fn a_newer_link_replaces_the_one_before() {
    let world = World::new().await;
    let owner = acme(&world).await;
    let first = invite(&owner, "Jo", "jo@acme.example").await;
    let id = first.parse::<Credential>().unwrap().id();
    let second = renew(&owner, id).await;
    let browser = Browser::new(&world);
    assert_spent(&open(&browser, &first).await, "replaced");
    assert_spent(&set(&browser, &first, "Jo", PASSWORD).await, "replaced");
    world.hands.set("2026-11-27T09:29:59Z");
    assert!(open(&browser, &second).await.expect(200).text.contains("Welcome to Acme"), "seven days, too");
    set(&browser, &second, "Jo", PASSWORD).await.expect(303);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_twenty_at_once_one_sets_the_password() {
    let world = World::new().await;
    let token = invite(&acme(&world).await, "Jo", "jo@acme.example").await;
    let browsers: Vec<_> = (0..20).map(|_| Browser::new(&world)).collect();
    let passwords: Vec<_> = (0..20).map(|n| format!("{PASSWORD} {n}")).collect();
    join_all(browsers.iter().map(Browser::csrf)).await;
    let sent =
        browsers.iter().zip(&passwords).map(|(browser, password)| set(browser, &token, "Jo", password));
    let answers = join_all(sent).await;
    let won: Vec<_> = (0..20).filter(|n| answers[*n].status == 303).collect();
    assert_eq!(won.len(), 1, "{:?}", answers.iter().map(|answer| answer.status).collect::<Vec<_>>());
    for (n, answer) in answers.iter().enumerate().filter(|(n, _)| *n != won[0]) {
        assert_spent(answer, &n.to_string());
    }
    Browser::new(&world).enter("jo@acme.example", &passwords[won[0]]).await.expect(303);
}

#[tokio::test]
async fn whatever_is_no_good_link_is_answered_alike() {
    let world = World::new().await;
    let owner = acme(&world).await;
    let good = invite(&owner, "Jo", "jo@acme.example").await;
    let id = good.parse::<Credential>().unwrap().id();
    let (acme, globex) = (tenant(ACME, Mode::Live), tenant(GLOBEX, Mode::Live));
    let forged =
        |kind, tenant, id| Credential::generate(kind, tenant, id, &Random::seeded(1)).reveal().to_owned();
    let mistyped = good.replace("rc_ln_L", "rc_ln_T");
    let shortened = &good[..good.len() - 1];
    let nobody = Id::new(17).unwrap();
    let browser = Browser::new(&world);
    browser.csrf().await;
    let mut answers = Vec::new();
    for wrong in [
        "",
        "x",
        "rc_ln_L",
        shortened,
        &mistyped,
        &format!("{good} "),
        &key(ACME, Mode::Live),
        &owner.cookie(),
        &forged(Kind::Link, acme, id),
        &forged(Kind::Link, globex, id),
        &forged(Kind::Link, acme, nobody),
        // A member who has no link.
        &forged(Kind::Link, acme, acme.organization),
        &"x".repeat(4_000),
    ] {
        let (opened, sent) = (open(&browser, wrong).await, set(&browser, wrong, "Jo", PASSWORD).await);
        assert_spent(&opened, wrong);
        assert_spent(&sent, wrong);
        answers.extend([essence(&opened), essence(&sent)]);
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    open(&browser, &good).await.expect(200);
    assert!(!owner.get(MEMBERS).await.text.contains(&good));
}

/// A link is no session, and a session is no link; nor is the link kept as it is.
#[tokio::test]
async fn a_link_is_stored_as_a_hash_and_opens_nothing_else() {
    let world = World::new().await;
    let owner = acme(&world).await;
    world.wire.take();
    let token = invite(&owner, "Jo", "jo@acme.example").await;
    assert!(
        !world.wire.take().iter().any(|call| format!("{} {}", call.request, call.response).contains(&token))
    );
    Browser::with_cookie(&world, &token).get("/dashboard").await.expect(303);
    let ask = world.request(http::Method::GET, "/api/v1/roles");
    ask.header("authorization", &format!("Bearer {token}")).send().await.expect(401);
}

#[tokio::test]
async fn a_removed_members_link_is_spent() {
    let world = World::new().await;
    let owner = acme(&world).await;
    let token = invite(&owner, "Jo", "jo@acme.example").await;
    let id = token.parse::<Credential>().unwrap().id();
    owner.post(&format!("{MEMBERS}/{id}/remove"), &[]).await.expect(303);
    assert_spent(&open(&Browser::new(&world), &token).await, "removed");
    assert_spent(&set(&Browser::new(&world), &token, "Jo", PASSWORD).await, "removed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_address_belongs_to_one_member_of_the_whole_service() {
    let world = World::new().await;
    let (acme, globex) =
        (acme(&world).await, Browser::of(&world, GLOBEX, &owner(&world, GLOBEX).await).await);
    let taken = async |browser: &Browser<'_>, email: &str| {
        let fields = [("name", "Jo <i>"), ("email", email), ("role", "owner")];
        let page = browser.post(MEMBERS, &fields).await.expect(422);
        assert!(page.text.contains("The e-mail address belongs to a member already."), "{}", page.text);
        assert_eq!((input(&page, "name"), input(&page, "email")), ("Jo <i>".to_owned(), email.to_owned()));
        assert!(page.text.contains("<option value=\"owner\" selected>") && shown_once(&page).is_none());
    };
    let token = invite(&acme, "Jo", "Jo@Jobs.example").await;
    for browser in [&acme, &globex] {
        for email in ["jo@jobs.example", "JO@JOBS.EXAMPLE", "ada@acme.example", "Grace@globex.example"] {
            taken(browser, email).await;
        }
    }
    let id = token.parse::<Credential>().unwrap().id();
    acme.post(&format!("{MEMBERS}/{id}/remove"), &[]).await.expect(303);
    invite(&globex, "Jo", "jo@jobs.example").await;

    let invited = [("name", "Al"), ("email", "al@jobs.example"), ("role", "member")];
    let (one, two) = join(acme.post(MEMBERS, &invited), globex.post(MEMBERS, &invited)).await;
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 422], "whoever is first");
}
