//! API keys and connected applications: what the pages make and end, the API knows at once.

use http::Method;
use shared::auth::{Credential, Kind};
use shared::id::Id;
use shared::model::{Grant, MemberRole, Mode, Scope, Scopes};
use shared::store::{ApiKey, NewApiKey, Writes};
use tests::browser::{Browser, input};
use tests::desk::{actions, connect_app, escaped, join, owner, shown_once};
use tests::{ACME, Answer, World, tenant};

use crate::dashboard_access::writes;

const PATH: &str = "/dashboard/settings/integrations/api-keys";
const APPS: &str = "/dashboard/settings/integrations/connected-apps";

async fn acme(world: &World) -> Browser<'_> {
    Browser::of(world, ACME, &owner(world, ACME).await).await
}

async fn call(world: &World, token: &str, path: &str) -> Answer {
    let ask = world.request(Method::GET, path);
    ask.header("authorization", &format!("Bearer {token}")).send().await
}

/// A key that was made in the dashboard.
async fn create(browser: &Browser<'_>, name: &str, scopes: &[&str], days: &str) -> String {
    let mut fields = vec![("name", name), ("expires_in_days", days)];
    fields.extend(scopes.iter().map(|scope| ("scope", *scope)));
    shown_once(&browser.post(PATH, &fields).await.expect(200)).expect("a key")
}

fn revoke(key: &str) -> String {
    format!("{PATH}/{}/revoke", key.parse::<Credential>().unwrap().id())
}

/// The row of a table in which this stands.
fn row(page: &Answer, of: &str) -> String {
    let row = page.text.split("<tr>").find(|row| row.contains(of)).unwrap_or_else(|| panic!("{of}"));
    row.split("</tr>").next().unwrap().to_owned()
}

#[tokio::test]
async fn a_key_opens_exactly_its_scopes_and_its_mode_at_once() {
    let world = World::new().await;
    let browser = acme(&world).await;
    let routes = [
        (Scope::RolesRead, "/api/v1/roles"),
        (Scope::CandidatesRead, "/api/v1/candidates"),
        (Scope::VoiceScreensRead, "/api/v1/voice_screens"),
        (Scope::ChannelsRead, "/api/v1/channels"),
        (Scope::OrganizationRead, "/api/v1/organization"),
    ];
    for mode in Mode::ALL {
        browser.post("/dashboard/mode", &[("mode", mode.as_str())]).await.expect(303);
        for given in [vec![Scope::RolesRead], vec![Scope::CandidatesRead, Scope::OrganizationRead]] {
            let names: Vec<_> = given.iter().map(|scope| scope.as_str()).collect();
            let key = create(&browser, "Some", &names, "").await;
            assert!(key.starts_with(&format!("rc_{}_", mode.as_str())));
            for (scope, path) in routes {
                let expected = if given.contains(&scope) { 200 } else { 403 };
                assert_eq!(call(&world, &key, path).await.status, expected, "{path} with {names:?}");
            }
        }
        let all: Vec<_> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
        let key = create(&browser, "All", &all, "").await;
        assert_eq!(call(&world, &key, "/api/v1/organization").await.string("/mode"), mode.as_str());
        let listed = browser.get(PATH).await.expect(200);
        assert!(listed.text.contains(&format!("value=\"{}\" checked", mode.as_str())));
    }
}

#[tokio::test]
async fn a_key_is_shown_once_and_stored_as_a_hash() {
    let world = World::new().await;
    let browser = acme(&world).await;
    world.wire.take();
    let answer = browser.post(PATH, &[("name", "Site"), ("scope", "roles:read")]).await.expect(200);
    let key = shown_once(&answer).unwrap();
    assert_eq!(answer.text.matches(&key).count(), 2, "to copy, and in the example");
    assert!(answer.text.contains(&format!("-H \"Authorization: Bearer {key}\"")), "{}", answer.text);
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!((input(&answer, "name"), input(&answer, "expires_in_days")), (String::new(), String::new()));
    assert!(
        !world.wire.take().iter().any(|call| format!("{} {}", call.request, call.response).contains(&key))
    );
    for page in [PATH, "/dashboard", APPS, "/dashboard/settings/account"] {
        let shown = browser.get(page).await.expect(200);
        assert!(!shown.text.contains(&key[26..]) && shown_once(&shown).is_none(), "{page}");
    }
}

#[tokio::test]
async fn a_form_with_problems_keeps_what_was_typed_and_makes_no_key() {
    let world = World::new().await;
    let browser = acme(&world).await;
    let long = "x".repeat(101);
    for (name, scopes, days, problems) in [
        ("", &["roles:read"][..], "", &["The name can't be blank."][..]),
        (&long, &["roles:read"], "7", &["The name must be at most 100 characters."]),
        ("A\u{7}", &["roles:read"], "", &["The name must not contain control characters"]),
        ("A <b>", &[], "30", &["A key needs at least one scope."]),
        ("A", &["roles", "everything"], "", &["A key needs at least one scope."]),
        ("A", &["roles:read", "channels:write"], "0", &["The expiry must be a whole number of days"]),
        ("A", &["roles:read"], "3661", &["The expiry must be"]),
        ("A", &["roles:read"], "1.5", &["The expiry must be"]),
        ("A", &["roles:read"], "soon", &["The expiry must be"]),
        ("", &[], "-1", &["The name can't be blank.", "A key needs", "The expiry must be"]),
    ] {
        let mut fields = vec![("name", name), ("expires_in_days", days)];
        fields.extend(scopes.iter().map(|scope| ("scope", *scope)));
        world.wire.take();
        let page = browser.post(PATH, &fields).await.expect(422);
        assert!(!world.wire.take().iter().any(writes), "{problems:?}");
        for problem in problems {
            assert!(page.text.contains(&escaped(problem)), "{problem}: {}", page.text);
        }
        assert_eq!(
            (input(&page, "name"), input(&page, "expires_in_days")),
            (name.to_owned(), days.to_owned())
        );
        for scope in Scope::ALL {
            let box_ = format!("value=\"{}\" checked", scope.as_str());
            assert_eq!(page.text.contains(&box_), scopes.contains(&scope.as_str()), "{scope:?} {problems:?}");
        }
        assert!(shown_once(&page).is_none());
    }
    let fresh = browser.get(PATH).await.expect(200);
    assert_eq!(
        fresh.text.matches("checked").count(),
        Scope::ALL.len() + 1,
        "all scopes and a mode are chosen at first"
    );
    // What the browser lets one type is what the form takes.
    assert!(fresh.text.contains("maxlength=\"100\""), "{}", fresh.text);
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_once() {
    let world = World::new().await;
    let browser = acme(&world).await;
    let (one, two) = (
        create(&browser, "One", &["roles:read"], "").await,
        create(&browser, "Two", &["roles:read"], "").await,
    );
    for _ in 0..2 {
        let answer = browser.post(&revoke(&one), &[]).await.expect(303);
        assert!(
            browser.follow(&answer).await.expect(200).text.contains("The API key is refused from now on.")
        );
    }
    assert_eq!(call(&world, &one, "/api/v1/roles").await.status, 401);
    assert_eq!(call(&world, &two, "/api/v1/roles").await.status, 200);
    let listed = browser.get(PATH).await.expect(200);
    assert!(row(&listed, ">One<").contains("is-revoked") && row(&listed, ">Two<").contains("is-active"));
    assert!(!actions(&listed).contains(&revoke(&one)) && actions(&listed).contains(&revoke(&two)));
}

#[tokio::test]
async fn a_key_ends_by_the_clock_and_can_be_cleared_away() {
    let world = World::new().await;
    let browser = acme(&world).await;
    let key = create(&browser, "Brief", &["roles:read"], " 7 ").await;
    assert!(row(&browser.get(PATH).await, "Brief").contains("27 Nov 2026"));
    for (time, status, state) in
        [("2026-11-27T09:29:59Z", 200, "is-active"), ("2026-11-27T09:30:00Z", 401, "is-expired")]
    {
        world.hands.set(time);
        assert_eq!(call(&world, &key, "/api/v1/roles").await.status, status, "{time}");
        let browser = acme(&world).await;
        let listed = browser.get(PATH).await.expect(200);
        assert!(row(&listed, "Brief").contains(state), "{time}");
        // An expired key takes up one of the 25 places until it is revoked.
        assert!(actions(&listed).contains(&revoke(&key)), "{time}");
    }
}

#[tokio::test]
async fn twenty_five_keys_are_the_limit_of_a_mode() {
    let world = World::new().await;
    let browser = acme(&world).await;
    let mut last = String::new();
    for number in 0..24 {
        last = create(&browser, &format!("Key {number}"), &["roles:read"], "").await;
    }
    let fields = [("name", "Too many"), ("scope", "roles:read"), ("expires_in_days", "9")];
    let refused = browser.post(PATH, &fields).await.expect(422);
    assert!(refused.text.contains("The key was not created: there are 25 keys already; revoke one first."));
    assert_eq!(
        (input(&refused, "name"), input(&refused, "expires_in_days")),
        ("Too many".into(), "9".into())
    );
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    create(&browser, "Elsewhere", &["roles:read"], "").await;
    browser.post("/dashboard/mode", &[("mode", "live")]).await.expect(303);
    browser.post(&revoke(&last), &[]).await.expect(303);
    assert_eq!(
        call(&world, &create(&browser, "Now", &["roles:read"], "").await, "/api/v1/roles").await.status,
        200
    );
}

#[tokio::test]
async fn the_day_of_the_last_use_is_shown() {
    let world = World::new().await;
    let browser = acme(&world).await;
    let key = create(&browser, "Used", &["roles:read"], "").await;
    assert!(
        row(&browser.get(PATH).await, ">Used<").contains("data-label=\"Last used\" class=\"whole\">never")
    );
    for (date, day) in [("2026-11-20", "20 Nov 2026"), ("2026-11-22", "22 Nov 2026")] {
        world.hands.set(&format!("{date}T23:59:59Z"));
        call(&world, &key, "/api/v1/roles").await.expect(200);
        let listed = acme(&world).await.get(PATH).await.expect(200);
        assert!(
            row(&listed, ">Used<").contains(&format!("data-label=\"Last used\" class=\"whole\">{day}")),
            "{day}"
        );
    }
}

/// Whoever makes keys often has an old one revoked as easily as a new one.
#[tokio::test]
async fn a_good_key_is_found_behind_any_number_of_revoked_ones() {
    let world = World::new().await;
    let tenant = tenant(ACME, Mode::Live);
    let insert = async |number: u64| {
        let id = Id::new(1_000_000 + number).unwrap();
        let credential = Credential::generate(Kind::ApiKey, tenant, id, &world.environment.random);
        let now = world.environment.clock.now();
        let (scopes, name) = (Scopes::all(), format!("Key {number}"));
        let key = ApiKey { id, name, scopes, created_at: now, expires_at: None, revoked_at: None };
        world.store().insert_api_key(tenant, &NewApiKey { key, hash: credential.hash() }).await.unwrap();
        id
    };
    let old = insert(0).await;
    for number in 1..=101 {
        let id = insert(number).await;
        world.store().revoke_api_key(tenant, id, world.environment.clock.now()).await.unwrap();
    }
    let browser = acme(&world).await;
    let page = browser.get(PATH).await.expect(200);
    let shown = page.text.matches("<th scope=\"row\">").count();
    assert_eq!(shown, 102, "the newest hundred, and the good ones: the demonstration key is the oldest");
    assert!(actions(&page).contains(&format!("{PATH}/{old}/revoke")));
}

#[tokio::test]
async fn connected_applications_are_listed_with_what_they_may_do() {
    let world = World::new().await;
    let (live, test) = (tenant(ACME, Mode::Live), tenant(ACME, Mode::Test));
    let browser = acme(&world).await;
    let empty = browser.get(APPS).await.expect(200);
    assert!(empty.text.contains("Nothing is connected") && empty.text.contains(tests::BASE_URL));
    let jo = join(&world, ACME, "Jo", MemberRole::Member).await;
    connect_app(&world.environment, live, jo.id, "Live <app>").await;
    connect_app(&world.environment, test, jo.id, "Test app").await;
    connect_app(&world.environment, live, Id::new(17).unwrap(), "Stray").await;
    let shown = browser.get(APPS).await.expect(200);
    let app = row(&shown, "Live &#60;app&#62;");
    for part in
        ["app.example", "20 Nov 2026", "by Jo", "data-label=\"Last used\" class=\"whole\">never", "is-live"]
    {
        assert!(app.contains(part), "{part}: {app}");
    }
    for scope in Scope::ALL {
        assert!(app.contains(&escaped(scope.description())), "{scope:?}");
    }
    assert!(row(&shown, "Stray").contains("by somebody who has left"));
    assert!(!shown.text.contains("Test app"));
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    let shown = browser.get(APPS).await.expect(200);
    assert!(shown.text.contains("Test app") && !shown.text.contains("Stray"));
}

#[tokio::test]
async fn an_application_that_is_revoked_loses_access_at_once() {
    let world = World::new().await;
    let live = tenant(ACME, Mode::Live);
    let jo = join(&world, ACME, "Jo", MemberRole::Member).await;
    let (grant, token) = connect_app(&world.environment, live, owner(&world, ACME).await.id, "App").await;
    let (_, other) = connect_app(&world.environment, live, jo.id, "Other").await;
    // Whoever is a member may, whoever connected it.
    let browser = Browser::of(&world, ACME, &jo).await;
    call(&world, token.reveal(), "/api/v1/roles").await.expect(200);
    assert!(
        row(&browser.get(APPS).await, ">App ")
            .contains("data-label=\"Last used\" class=\"whole\">20 Nov 2026")
    );
    let path = format!("{APPS}/{}/revoke", grant.id);
    assert!(actions(&browser.get(APPS).await).contains(&path));
    for _ in 0..2 {
        let answer = browser.post(&path, &[]).await.expect(303);
        let shown = browser.follow(&answer).await.expect(200);
        assert!(shown.text.contains("The application has no access any more."));
        assert!(!actions(&shown).contains(&path) && shown.text.contains("Other"));
    }
    call(&world, token.reveal(), "/api/v1/roles").await.expect(401);
    call(&world, other.reveal(), "/api/v1/roles").await.expect(200);
}

/// The list ends with the grant: 30 days after its last token.
#[tokio::test]
async fn an_application_whose_grant_has_ended_is_not_listed() {
    let world = World::new().await;
    let live = tenant(ACME, Mode::Live);
    connect_app(&world.environment, live, owner(&world, ACME).await.id, "App").await;
    for (time, listed) in [("2026-12-20T09:29:59Z", true), ("2026-12-20T09:30:00Z", false)] {
        world.hands.set(time);
        assert_eq!(acme(&world).await.get(APPS).await.expect(200).text.contains(">App "), listed, "{time}");
    }
}

/// Grants that have ended are remembered for a while, and stand before the ones that are good.
#[tokio::test]
async fn a_good_grant_is_found_behind_any_number_of_ended_ones() {
    let world = World::new().await;
    let live = tenant(ACME, Mode::Live);
    let member = owner(&world, ACME).await.id;
    let (good, _) = connect_app(&world.environment, live, member, "Good").await;
    let mut writes = Writes::new(live);
    for number in 1..=100 {
        let id = Id::new(good.id.get() + number).unwrap();
        writes.insert_grant(&Grant { id, revoked_at: Some(good.created_at), ..good.clone() }).unwrap();
    }
    world.store().commit(writes).await.unwrap();
    let browser = acme(&world).await;
    let page = browser.get(APPS).await.expect(200);
    let found: Vec<_> = actions(&page).into_iter().filter(|action| action.ends_with("/revoke")).collect();
    assert_eq!(found, [format!("{APPS}/{}/revoke", good.id)]);
}
