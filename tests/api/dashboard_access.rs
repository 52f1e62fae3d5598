//! Who may, at the dashboard: sessions, forms of this browser, owners, tenants, and the headers that protect a page.

use std::collections::BTreeSet;

use http::Method;
use rolecall_local::demo::DEMOS;
use rolecall_local::functions::tables;
use serde_json::json;
use shared::auth::{Credential, Kind};
use shared::http::Access;
use shared::id::Id;
use shared::membership;
use shared::model::{MemberRole, Mode, Scopes};
use shared::random::Random;
use shared::store::{ApiKey, NewApiKey, Writes};
use tests::browser::{Browser, FORM, form};
use tests::desk::{actions, connect_app, join, links, owner};
use tests::wire::{Fault, Recorded};
use tests::{ACME, Answer, BASE_URL, GLOBEX, World, key, tenant};

use crate::fake_x::services;

/// A row of the dashboard's table.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) key: &'static str,
    /// Who must be signed in; `None` where nobody needs to be.
    pub(crate) role: Option<MemberRole>,
}

impl Row {
    pub(crate) fn is_post(self) -> bool {
        self.key.starts_with("POST ")
    }

    pub(crate) fn method(self) -> Method {
        if self.is_post() { Method::POST } else { Method::GET }
    }

    pub(crate) fn path(self) -> &'static str {
        self.key.split_once(' ').unwrap().1
    }
}

/// The rows that answer with pages.
pub(crate) fn rows() -> Vec<Row> {
    let tables = tables().into_iter().find(|tables| tables.function == "DashboardFunction").unwrap();
    let row = |route: &shared::http::Route| match route.access() {
        Access::Member(role) => Some(Row { key: route.key, role: Some(role) }),
        _ if route.form() == shared::http::Form::Page => Some(Row { key: route.key, role: None }),
        _ => None,
    };
    tables.pages.iter().filter_map(row).collect()
}

/// One of everything that a row can be about, of one organization in one mode.
pub(crate) struct Stock {
    /// An open role with a published posting.
    pub(crate) role: u64,
    /// A candidate who has applied for it.
    pub(crate) candidate: u64,
    pub(crate) key: Id,
    pub(crate) grant: Id,
    pub(crate) member: Id,
    /// The secret of the member's invitation.
    pub(crate) link: String,
}

impl Stock {
    /// Acme's, in live mode.
    pub(crate) async fn new(world: &World) -> Self {
        let (acme, random, now) =
            (tenant(ACME, Mode::Live), &world.environment.random, world.environment.clock.now());
        let credential = Credential::generate(Kind::ApiKey, acme, Id::new(4_711).unwrap(), random);
        let key = ApiKey {
            id: credential.id(),
            name: "Stock key".to_owned(),
            scopes: Scopes::all(),
            created_at: now,
            expires_at: None,
            revoked_at: None,
        };
        let new = NewApiKey { key, hash: credential.hash() };
        world.store().insert_api_key(acme, &new).await.unwrap();
        let owner = owner(world, ACME).await;
        let (grant, _) = connect_app(&world.environment, acme, owner.id, "Stock app").await;
        let member = join(world, ACME, "Stock", MemberRole::Member).await;
        let (member, link) = membership::linked(acme.organization, member, BASE_URL, random, now);
        let mut writes = Writes::new(acme);
        writes.replace_member(&member).unwrap();
        world.store().commit(writes).await.unwrap();
        let link = link.split_once("token=").unwrap().1.to_owned();
        let role = json!({ "role": { "title": "Stock role" } });
        let role = world.post("/api/v1/quick_post", role).await.expect(201).number("/role/id");
        let candidate = json!({ "name": "Stock", "email": "stock@example.com", "role_id": role });
        let candidate = world.post("/api/v1/candidates", candidate).await.expect(201).number("/id");
        Self { role, candidate, key: credential.id(), grant: grant.id, member: member.id, link }
    }

    /// The identifier in a row's path.
    pub(crate) fn id(&self, row: Row) -> u64 {
        match row.path() {
            path if path.contains("/roles/") => self.role,
            path if path.contains("/candidates/") => self.candidate,
            path if path.contains("/api-keys/") => self.key.get(),
            path if path.contains("/connected-apps/") => self.grant.get(),
            _ => self.member.get(),
        }
    }

    pub(crate) fn path(&self, row: Row) -> String {
        row.path().replace("{id}", &self.id(row).to_string())
    }

    /// What makes a row's form right.
    pub(crate) fn fields(&self, row: Row) -> Vec<(&'static str, &str)> {
        const PASSWORD: &str = "a longer pass phrase";
        match row.path() {
            "/dashboard/sign-in" => vec![("email", DEMOS[ACME].email), ("password", DEMOS[ACME].password)],
            "/dashboard/password" => {
                vec![("token", &self.link), ("name", "New"), ("password", PASSWORD), ("repeated", PASSWORD)]
            }
            "/dashboard/mode" => vec![("mode", "test")],
            "/dashboard/settings/integrations/api-keys" => vec![("name", "New"), ("scope", "roles:read")],
            "/dashboard/settings/integrations/channels/whatsapp/connect" => {
                vec![("phone_number_id", "106540352242922"), ("token", "whatsapp-1")]
            }
            "/dashboard/settings/members" => {
                vec![("name", "New"), ("email", "new@members.example"), ("role", "member")]
            }
            "/dashboard/settings/career-page" => vec![("name", "Acme"), ("accent", "#2450d3")],
            "/dashboard/settings/members/{id}/role" => vec![("role", "owner")],
            "/dashboard/settings/account/password" => {
                vec![("current", DEMOS[ACME].password), ("password", PASSWORD), ("repeated", PASSWORD)]
            }
            _ => Vec::new(),
        }
    }
}

/// Whether a call can change the table.
pub(crate) fn writes(call: &Recorded) -> bool {
    !["GetItem", "BatchGetItem", "Query"].contains(&call.operation.as_str())
}

/// What an answer is apart from the request that it is to.
pub(crate) fn essence(answer: &Answer) -> (u16, String, http::HeaderMap) {
    let mut headers = answer.headers.clone();
    headers.remove("x-request-id");
    (answer.status, answer.text.replace(answer.header("x-request-id"), ""), headers)
}

#[tokio::test]
async fn whoever_is_not_signed_in_is_sent_to_sign_in_and_comes_back() {
    let world = World::new().await;
    let stock = Stock::new(&world).await;
    let acme = tenant(ACME, Mode::Live);
    let forged =
        |kind| Credential::generate(kind, acme, acme.organization, &Random::seeded(1)).reveal().to_owned();
    let cookies = [
        None,
        Some("x".to_owned()),
        Some("a stranger's text, long enough".replace(' ', "_")),
        Some(forged(Kind::Session)),
        Some(forged(Kind::Link)),
        Some(key(ACME, Mode::Live)),
    ];
    let rows: Vec<_> = rows().into_iter().filter(|row| row.role.is_some()).collect();
    assert!(rows.len() >= 25);
    for row in rows {
        for cookie in &cookies {
            let browser = match cookie {
                None => Browser::new(&world),
                Some(cookie) => Browser::with_cookie(&world, cookie),
            };
            let path = format!("{}?a=%26b", stock.path(row));
            let ask = browser.ask(row.method(), &path).body(FORM, form(&stock.fields(row)));
            world.wire.take();
            let answer = ask.send().await;
            assert!(!world.wire.take().iter().any(writes), "{}", row.key);
            // What is too short to be a secret is as good as no cookie.
            let greeted = cookie.as_ref().is_none_or(|cookie| cookie.len() < 20);
            if row.is_post() {
                // It may be another site's form: the browser may have a session that it did not send along.
                assert_eq!((answer.status, answer.header("set-cookie")), (403, ""), "{}", row.key);
                if greeted {
                    continue;
                }
            }
            let answer = if row.is_post() { browser.post(&path, &stock.fields(row)).await } else { answer };
            assert_eq!(answer.status, 303, "{}", row.key);
            // Nobody can go back to a form's own address: it may have no page.
            let wanted = if row.is_post() { "/dashboard" } else { &path };
            let expected = format!("/dashboard/sign-in?{}", form(&[("return_to", wanted)]));
            assert_eq!(answer.header("location"), expected, "{}", row.key);
            assert_eq!(answer.headers.contains_key("set-cookie"), greeted, "{} {cookie:?}", row.key);
        }
    }
}

#[tokio::test]
async fn a_form_that_this_browser_was_not_given_changes_nothing() {
    let world = World::new().await;
    let stock = Stock::new(&world).await;
    let browser = Browser::of(&world, ACME, &owner(&world, ACME).await).await;
    let another = Browser::of(&world, ACME, &owner(&world, ACME).await).await;
    let (own, foreign) = (browser.csrf().await, another.csrf().await);
    let stranger = Browser::new(&world).csrf().await;
    assert!(own != foreign && own != stranger && own == browser.csrf().await);
    let mistyped = own.chars().rev().collect::<String>();
    let rows: Vec<_> = rows().into_iter().filter(|row| row.is_post()).collect();
    assert!(rows.len() >= 17);
    for row in rows {
        let (path, fields) = (stock.path(row), stock.fields(row));
        let sent = |csrf: &'static str, value: &str| form(&[&[(csrf, value)], &*fields].concat());
        for (name, path, body) in [
            ("none", path.clone(), form(&fields)),
            ("blank", path.clone(), sent("csrf", "")),
            ("junk", path.clone(), sent("csrf", "junk")),
            ("foreign", path.clone(), sent("csrf", &foreign)),
            ("stranger's", path.clone(), sent("csrf", &stranger)),
            ("mistyped", path.clone(), sent("csrf", &mistyped)),
            ("the cookie", path.clone(), sent("csrf", &browser.cookie())),
            ("in the query", format!("{path}?csrf={own}"), form(&fields)),
            ("behind a junk one", path.clone(), format!("csrf=junk&{}", sent("csrf", &own))),
        ] {
            world.wire.take();
            let answer = browser.ask(Method::POST, &path).body(FORM, body).send().await;
            assert_eq!(answer.status, 403, "{} {name}", row.key);
            assert!(answer.text.contains("The form is no longer valid"), "{} {name}", row.key);
            assert!(!world.wire.take().iter().any(writes), "{} {name}", row.key);
        }
    }
}

#[tokio::test]
async fn a_form_that_cannot_be_read_changes_nothing() {
    let world = World::new().await;
    let stock = Stock::new(&world).await;
    let browser = Browser::of(&world, ACME, &owner(&world, ACME).await).await;
    let own = browser.csrf().await;
    for row in rows().into_iter().filter(|row| row.is_post()) {
        let right = form(&[&[("csrf", own.as_str())], &*stock.fields(row)].concat());
        let long = format!("{right}&x={}", "x".repeat(1024 * 1024));
        for (media, body, status) in [
            (FORM, long.as_str(), 413),
            ("application/json", &right, 415),
            ("text/plain", &right, 415),
            ("multipart/form-data; boundary=x", &right, 415),
            ("application/x-www-form-urlencodedx", &right, 415),
        ] {
            world.wire.take();
            let ask = browser.ask(Method::POST, &stock.path(row));
            let answer = ask.body(media, body.to_owned()).send().await.expect(status);
            assert!(answer.text.contains("This form cannot be read"), "{}", row.key);
            assert!(!world.wire.take().iter().any(writes), "{} {media}", row.key);
        }
    }
}

#[tokio::test]
async fn what_is_the_owners_a_plain_member_may_not() {
    let world = World::new().await;
    let stock = Stock::new(&world).await;
    let plain = join(&world, ACME, "Plain", MemberRole::Member).await.id;
    let plain = (tenant(ACME, Mode::Live).organization, plain);
    let mut refused = 0;
    for row in rows().into_iter().filter(|row| row.role.is_some()) {
        // One of the rows ends every session of the member.
        let plain = world.store().find_member(plain.0, plain.1).await.unwrap().unwrap();
        let browser = Browser::of(&world, ACME, &plain).await;
        let csrf = browser.csrf().await;
        world.wire.take();
        let body = form(&[&[("csrf", csrf.as_str())], &*stock.fields(row)].concat());
        let answer = browser.ask(row.method(), &stock.path(row)).body(FORM, body).send().await;
        if row.role == Some(MemberRole::Owner) {
            refused += 1;
            assert_eq!(answer.status, 403, "{}", row.key);
            assert!(answer.text.contains("Only owners of the organization may do this"));
            assert!(!world.wire.take().iter().any(writes), "{}", row.key);
        } else {
            assert_ne!(answer.status, 403, "{}", row.key);
        }
    }
    assert_eq!(refused, 4, "invite, link, role, remove");
    let members = "/dashboard/settings/members";
    let plain = world.store().find_member(plain.0, plain.1).await.unwrap().unwrap();
    let shown = Browser::of(&world, ACME, &plain).await.get(members).await.expect(200);
    assert_eq!(
        actions(&shown),
        ["/dashboard/mode", "/dashboard/sign-out"],
        "no forms for what is not allowed"
    );
    let shown = Browser::of(&world, ACME, &owner(&world, ACME).await).await.get(members).await.expect(200);
    assert!(actions(&shown).len() > 2);
}

/// What belongs to another organization, or to the other mode, answers exactly like what never was.
#[tokio::test]
async fn a_foreign_id_answers_like_an_absent_one() {
    let world = World::new().await;
    let stock = Stock::new(&world).await;
    let acme = tenant(ACME, Mode::Live);
    let everything = async || {
        let (role, candidate) = (stock.role, stock.candidate);
        format!(
            "{:?} {:?} {:?} {} {}",
            world.store().find_api_key(acme, stock.key).await.unwrap().unwrap(),
            world.store().find_grant(acme, stock.grant).await.unwrap().unwrap(),
            world.store().find_member(acme.organization, stock.member).await.unwrap().unwrap(),
            world.get(&format!("/api/v1/roles/{role}")).await.expect(200).text,
            world.get(&format!("/api/v1/candidates/{candidate}")).await.expect(200).text,
        )
    };
    let before = everything().await;
    for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live), (GLOBEX, Mode::Test)] {
        let browser = Browser::of(&world, demo, &owner(&world, demo).await).await;
        browser.post("/dashboard/mode", &[("mode", mode.as_str())]).await.expect(303);
        let mut seen = 0;
        for row in rows().into_iter().filter(|row| row.path().contains("{id}")) {
            // Members are the organization's, whichever copy is looked at.
            if demo == ACME && row.path().contains("/members/") {
                continue;
            }
            seen += 1;
            let ask = async |id: &str| {
                let path = row.path().replace("{id}", id);
                world.wire.take();
                let answer = if row.is_post() {
                    browser.post(&path, &stock.fields(row)).await
                } else {
                    browser.get(&path).await
                };
                let calls = world.wire.take();
                assert!(!calls.iter().any(writes), "{}", row.key);
                (essence(&answer), calls.len())
            };
            let absent = ask("17").await;
            assert_eq!(absent.0.0, 404, "{}", row.key);
            assert_eq!(ask(&stock.id(row).to_string()).await, absent, "{} {demo} {mode:?}", row.key);
            for odd in ["0", "01", "x", "9007199254740992", "%2e%2e", "1%00", "%F0%9F%92%A5"] {
                assert_eq!(ask(odd).await.0, absent.0, "{} {odd}", row.key);
            }
        }
        assert_eq!(seen, if demo == ACME { 4 } else { 7 });
        for page in ["/dashboard/roles", "/dashboard/postings", "/dashboard/candidates", "/dashboard"] {
            let shown = browser.get(page).await.expect(200);
            assert_eq!(links(&shown, "/dashboard/roles/"), [""; 0], "{page}");
            assert_eq!(links(&shown, "/dashboard/candidates/"), [""; 0], "{page}");
        }
        let role = format!("/dashboard/candidates?role_id={}", stock.role);
        browser.get(&role).await.expect(404);
        for (page, name) in [("api-keys", "Stock key"), ("connected-apps", "Stock app")] {
            let shown = browser.get(&format!("/dashboard/settings/integrations/{page}")).await.expect(200);
            assert!(!shown.text.contains(name), "{page}");
        }
        let shown = browser.get("/dashboard/settings/members").await.expect(200);
        assert_eq!(shown.text.contains("stock@members.example"), demo == ACME);
    }
    assert_eq!(everything().await, before, "untouched");
}

/// A session is of a member and of an organization, and both must be the same one's.
#[tokio::test]
async fn a_session_opens_no_other_organization() {
    let world = World::new().await;
    for (organization, member) in [(ACME, GLOBEX), (GLOBEX, ACME)] {
        let stray = Browser::of(&world, organization, &owner(&world, member).await).await;
        stray.get("/dashboard").await.expect(303);
        let own = Browser::of(&world, organization, &owner(&world, organization).await).await;
        own.get("/dashboard").await.expect(200);
    }
}

const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
                      frame-ancestors 'none'; base-uri 'none'";

fn assert_protected(answer: &Answer, policy: &str, what: &str) {
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("content-security-policy", policy),
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("strict-transport-security", "max-age=31536000; includeSubDomains"),
        ("access-control-allow-origin", ""),
    ] {
        assert_eq!(answer.header(name), value, "{what}: {name}");
    }
    assert!(!answer.header("x-request-id").is_empty(), "{what}");
    // The policy would silently break what it forbids.
    for forbidden in ["<script", "<style", " style=", " onclick=", "javascript:", "src=\"http"] {
        assert!(!answer.text.contains(forbidden), "{what}: {forbidden}");
    }
}

#[tokio::test]
async fn every_page_and_every_error_is_protected_by_its_headers() {
    let world = World::with_services(services("http://127.0.0.1:1")).await;
    let stock = Stock::new(&world).await;
    let mut statuses = BTreeSet::new();
    for row in rows() {
        // Some rows end the session, or every session.
        let browser = Browser::of(&world, ACME, &owner(&world, ACME).await).await;
        let csrf = browser.csrf().await;
        // Without the form's own token, about nothing, without a session, and right.
        for (asking, token, path) in [
            (&browser, "", stock.path(row)),
            (&browser, &*csrf, row.path().replace("{id}", "x")),
            (&Browser::new(&world), "", stock.path(row)),
            (&browser, &*csrf, stock.path(row)),
        ] {
            let body = form(&[&[("csrf", token)], &*stock.fields(row)].concat());
            let answer = asking.ask(row.method(), &path).body(FORM, body).send().await;
            let leads_to_x =
                row.path() == "/dashboard/settings/integrations/channels" && answer.status == 200;
            let policy = if leads_to_x {
                POLICY.replace("form-action 'self'", "form-action 'self' https://x.com")
            } else {
                POLICY.to_owned()
            };
            assert_protected(&answer, &policy, &format!("{} {}", row.key, answer.status));
            statuses.insert(answer.status);
        }
    }
    let browser = Browser::new(&world);
    let csrf = browser.csrf().await;
    let body = form(&[("csrf", &csrf), ("email", "x"), ("password", &"x".repeat(1_025))]);
    let ask = |media| browser.ask(Method::POST, "/dashboard/sign-in").body(media, body.clone()).send();
    let mut answers = vec![ask("text/plain").await];
    for _ in 0..11 {
        answers.push(ask(FORM).await);
    }
    let long = "x".repeat(100_000);
    answers.push(browser.ask(Method::POST, "/dashboard/sign-in").body(FORM, long).send().await);
    world.wire.play(|_, _| Some(Fault::Unreachable));
    answers.push(ask(FORM).await);
    for answer in answers {
        assert_protected(&answer, POLICY, &answer.status.to_string());
        statuses.insert(answer.status);
    }
    let all = [200, 303, 400, 401, 403, 404, 413, 415, 422, 429, 503];
    assert_eq!(statuses.into_iter().collect::<Vec<_>>(), all);
}

#[tokio::test]
async fn the_stylesheet_and_the_icon_may_be_kept_and_set_no_cookie() {
    let world = World::new().await;
    let browser = Browser::new(&world);
    let page = browser.get("/dashboard/sign-in").await.expect(200);
    let sheet = links(&page, "/dashboard/style.css?v=");
    let icon = links(&page, "/dashboard/icon.svg");
    assert_eq!((sheet.len(), icon.len()), (1, 1));
    world.wire.take();
    let (year, day) = ("public, max-age=31536000, immutable", "public, max-age=86400");
    for (path, media, kept) in
        [(&sheet[0], "text/css; charset=utf-8", year), (&icon[0], "image/svg+xml", day)]
    {
        for asking in [&browser, &Browser::new(&world)] {
            let file = asking.get(path).await.expect(200);
            assert_eq!(file.header("content-type"), media);
            assert_eq!(file.header("cache-control"), kept);
            assert!(!file.headers.contains_key("set-cookie") && file.text.len() > 100);
        }
    }
    assert!(world.wire.take().is_empty());
    let signed_in = Browser::of(&world, ACME, &owner(&world, ACME).await).await.get("/dashboard").await;
    assert_eq!(links(&signed_in, "/dashboard/style.css"), sheet);
}
