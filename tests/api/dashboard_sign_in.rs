//! Sign-in and sessions: who gets in, how often one may try, and when it ends.

use futures_util::future::join_all;
use http::Method;
use rolecall_local::demo::DEMOS;
use serde_json::json;
use shared::model::{Member, MemberRole, Mode, PasswordHash};
use shared::store::Writes;
use tests::browser::{Browser, COOKIE, FORM, form, input};
use tests::desk::{join, owner};
use tests::{ACME, Answer, GLOBEX, World, tenant};

use crate::dashboard_access::essence;

const PATH: &str = "/dashboard/sign-in";
const ACCOUNT: &str = "/dashboard/settings/account";
const WRONG: &str = "The e-mail address or the password is not right.";

fn ada() -> (&'static str, &'static str) {
    (DEMOS[ACME].email, DEMOS[ACME].password)
}

/// Too long to be anybody's: refused without the work of a hash.
fn no_password() -> String {
    "x".repeat(1_025)
}

#[tokio::test]
async fn the_right_password_signs_in() {
    let world = World::new().await;
    let (email, password) = ada();
    for typed in [email, "ADA@acme.example", " ada@ACME.example\t"] {
        let browser = Browser::new(&world);
        let answer = browser.enter(typed, password).await.expect(303);
        assert_eq!((answer.header("location"), answer.text.as_str()), ("/dashboard", ""));
        let shown = browser.follow(&answer).await.expect(200);
        assert!(shown.text.contains("Acme") && shown.text.contains("Ada"), "{}", shown.text);
        let again = browser.get(PATH).await.expect(303);
        assert_eq!(again.header("location"), "/dashboard", "whoever is signed in need not sign in");
    }
}

/// Whether there is an account, or one without a password, nobody can tell: not by the answer and not by its cost.
#[tokio::test]
async fn unknown_and_wrong_are_answered_alike() {
    let world = World::new().await;
    join(&world, ACME, "Invited", MemberRole::Owner).await;
    let (email, password) = ada();
    let browser = Browser::new(&world);
    browser.csrf().await;
    let mut answers = Vec::new();
    for (typed, password) in [
        (email, "not the password"),
        (email, DEMOS[GLOBEX].password),
        (email, ""),
        (email, " acme demo password"),
        (email, "ACME DEMO PASSWORD"),
        ("nobody@acme.example", password),
        ("invited@members.example", password),
        ("invited@members.example", ""),
    ] {
        world.wire.take();
        let answer = browser.enter(typed, password).await.expect(401);
        let calls: Vec<_> = world.wire.take().into_iter().map(|call| call.operation).collect();
        assert_eq!(input(&answer, "email"), typed, "what was typed stays");
        assert_eq!(input(&answer, "password"), "", "but for the password");
        assert!(answer.text.contains(WRONG) && !answer.headers.contains_key("set-cookie"));
        let (status, text, headers) = essence(&answer);
        answers.push((calls, status, text.replace(typed, ""), headers));
    }
    assert_eq!(answers[0].0, ["UpdateItem", "UpdateItem", "GetItem", "GetItem"]);
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
}

#[tokio::test]
async fn odd_input_is_wrong_and_no_accident() {
    let world = World::new().await;
    let long = format!("{}@example.com", "x".repeat(300));
    let password = no_password();
    let browser = Browser::new(&world);
    for typed in ["", " ", "ada", "@", "ada@acme.example\0", "a b@c.de", "\u{1F980}@x.io", &long] {
        let answer = browser.enter(typed, &password).await.expect(401);
        assert_eq!(input(&answer, "email"), typed.trim());
    }
    browser.post(PATH, &[]).await.expect(401);
    browser.post(PATH, &[("email", ada().0), ("email", "x"), ("password", "y")]).await.expect(401);
}

/// Sends so many wrong passwords, and gives the statuses.
async fn fail(browser: &Browser<'_>, email: &str, times: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..times {
        statuses.push(browser.enter(email, &no_password()).await.status);
    }
    statuses
}

#[tokio::test]
async fn an_account_may_be_tried_ten_times_in_a_quarter_of_an_hour() {
    let world = World::new().await;
    let (email, password) = ada();
    // From wherever it is tried, and however the address is written.
    for n in 0..10 {
        let browser = Browser::new(&world).at([10, 0, 0, n]);
        let typed = if n % 2 == 0 { email.to_uppercase() } else { email.to_owned() };
        assert_eq!(fail(&browser, &typed, 1).await, [401]);
    }
    let browser = Browser::new(&world).at([10, 0, 0, 99]);
    for (time, left, words) in [
        ("09:30:00", "900", "try again in 15 minutes."),
        ("09:40:01", "299", "try again in 5 minutes."),
        ("09:44:59", "1", "try again in 1 minute."),
    ] {
        world.hands.set(&format!("2026-11-20T{time}Z"));
        browser.csrf().await;
        world.wire.take();
        let answer = browser.enter(email, password).await.expect(429);
        assert_eq!(answer.header("retry-after"), left, "{time}");
        assert!(answer.text.contains(words), "{time}: {}", answer.text);
        assert_eq!((input(&answer, "email"), input(&answer, "password")), (email.to_owned(), String::new()));
        assert_eq!(world.wire.take().len(), 1, "nothing is looked up");
    }
    browser.enter(DEMOS[GLOBEX].email, DEMOS[GLOBEX].password).await.expect(303);
    world.hands.set("2026-11-20T09:45:00Z");
    Browser::new(&world).enter(email, password).await.expect(303);
}

#[tokio::test]
async fn an_address_may_try_fifty_times_in_a_quarter_of_an_hour() {
    let world = World::new().await;
    let (email, password) = ada();
    let browser = Browser::new(&world).at([10, 0, 0, 1]);
    for n in 0..50 {
        assert_eq!(fail(&browser, &format!("nobody{n}@example.com"), 1).await, [401], "{n}");
    }
    let answer = browser.enter(email, password).await.expect(429);
    assert_eq!(answer.header("retry-after"), "900");
    Browser::new(&world).at([10, 0, 0, 2]).enter(email, password).await.expect(303);
    world.hands.set("2026-11-20T09:45:00Z");
    browser.enter(email, password).await.expect(303);
}

#[tokio::test]
async fn only_failures_count() {
    let world = World::new().await;
    let (email, password) = ada();
    let browser = Browser::new(&world);
    assert_eq!(fail(&browser, email, 9).await, [401; 9]);
    for _ in 0..3 {
        Browser::new(&world).enter(email, password).await.expect(303);
    }
    assert_eq!(fail(&browser, email, 2).await, [401, 429]);
    Browser::new(&world).enter(email, password).await.expect(429);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn however_many_try_at_once_ten_are_heard() {
    let world = World::new().await;
    let browser = Browser::new(&world);
    browser.csrf().await;
    let answers = join_all((0..40).map(|_| fail(&browser, ada().0, 1))).await.concat();
    let heard = answers.iter().filter(|status| **status == 401).count();
    let refused = answers.iter().filter(|status| **status == 429).count();
    assert_eq!((heard, refused), (10, 30));
}

#[tokio::test]
async fn the_cookie_is_for_this_host_alone_and_for_no_script() {
    let world = World::new().await;
    let browser = Browser::new(&world);
    let stranger = browser.get(PATH).await.expect(200);
    let signed_in = browser.enter(ada().0, ada().1).await.expect(303);
    let signed_out = browser.post("/dashboard/sign-out", &[]).await.expect(303);
    for (answer, life) in [(stranger, 86_400), (signed_in, 86_400), (signed_out, 0)] {
        let cookies: Vec<_> = answer.headers.get_all("set-cookie").iter().collect();
        assert_eq!(cookies.len(), 1);
        let (value, attributes) = cookies[0].to_str().unwrap().split_once("; ").unwrap();
        assert!(value.starts_with(&format!("{COOKIE}=")));
        assert_eq!(attributes, format!("Path=/; Max-Age={life}; Secure; HttpOnly; SameSite=Lax"));
    }
    browser.get(PATH).await.expect(200);
    assert!(!browser.get(PATH).await.headers.contains_key("set-cookie"), "whoever has one keeps it");
}

/// Whatever somebody may have put there before is worth nothing afterwards.
#[tokio::test]
async fn sign_in_gives_the_browser_another_cookie() {
    let world = World::new().await;
    let member = owner(&world, ACME).await;
    let strangers = {
        let browser = Browser::new(&world);
        browser.get(PATH).await.expect(200);
        browser.cookie()
    };
    let own = Browser::of(&world, ACME, &member).await.cookie();
    let elsewhere = Browser::of(&world, GLOBEX, &owner(&world, GLOBEX).await).await.cookie();
    for before in [strangers, "x".repeat(40), own, elsewhere] {
        let browser = Browser::with_cookie(&world, &before);
        let csrf = browser.csrf().await;
        browser.enter(ada().0, ada().1).await.expect(303);
        assert_ne!(browser.cookie(), before);
        assert_ne!(browser.csrf().await, csrf, "nor are the forms");
        browser.get("/dashboard").await.expect(200);
        Browser::with_cookie(&world, &before).get("/dashboard").await.expect(303);
    }
    let twice = [Browser::signed_in(&world, ACME).await, Browser::signed_in(&world, ACME).await];
    assert_ne!(twice[0].cookie(), twice[1].cookie());
    assert!(
        !world.wire.take().iter().any(|call| {
            let asked = call.request.to_string();
            asked.contains(&twice[0].cookie()) || asked.contains(ada().1)
        }),
        "neither a cookie nor a password is stored as it is"
    );
}

#[tokio::test]
async fn a_session_ends_after_two_hours_unused() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    for (time, status) in [("11:29:59", 200), ("13:29:58", 200), ("15:29:58", 303)] {
        world.hands.set(&format!("2026-11-20T{time}Z"));
        browser.get(ACCOUNT).await.expect(status);
    }
    world.hands.set("2026-11-20T13:29:59Z");
    browser.get(ACCOUNT).await.expect(200);
}

#[tokio::test]
async fn a_session_ends_after_a_day_however_much_it_is_used() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    for hour in (10..24).chain(24..33) {
        world.hands.set(&format!("2026-11-{}T{:02}:30:00Z", 20 + hour / 24, hour % 24));
        browser.get(ACCOUNT).await.expect(200);
    }
    for (time, status) in [("09:29:59", 200), ("09:30:00", 303)] {
        world.hands.set(&format!("2026-11-21T{time}Z"));
        browser.get(ACCOUNT).await.expect(status);
    }
}

/// To look at the other copy is a use, too.
#[tokio::test]
async fn a_switch_of_mode_keeps_the_session_going() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    browser.get(ACCOUNT).await.expect(200);
    world.hands.set("2026-11-20T11:20:00Z");
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    world.hands.set("2026-11-20T11:40:00Z");
    let shown = browser.get("/dashboard").await.expect(200);
    assert!(shown.text.contains("Test data."), "{}", shown.text);
    browser.post("/dashboard/mode", &[("mode", "live")]).await.expect(303);
    assert!(!browser.get("/dashboard").await.expect(200).text.contains("Test data."));
    for odd in ["", "LIVE", "both"] {
        browser.post("/dashboard/mode", &[("mode", odd)]).await.expect(400);
    }
    let another = Browser::signed_in(&world, ACME).await;
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    assert!(
        !another.get("/dashboard").await.expect(200).text.contains("Test data."),
        "of this session alone"
    );
}

#[tokio::test]
async fn signing_out_ends_this_session_and_no_other() {
    let world = World::new().await;
    let (one, two) = (Browser::signed_in(&world, ACME).await, Browser::signed_in(&world, ACME).await);
    let cookie = one.cookie();
    let answer = one.post("/dashboard/sign-out", &[]).await.expect(303);
    assert_eq!(answer.header("location"), "/dashboard/sign-in?done=signed-out");
    assert!(one.follow(&answer).await.expect(200).text.contains("You are signed out."));
    Browser::with_cookie(&world, &cookie).get("/dashboard").await.expect(303);
    two.get("/dashboard").await.expect(200);
    let elsewhere =
        one.post("/dashboard/sign-out", &[("return_to", "/oauth/authorize?x=1")]).await.expect(303);
    assert_eq!(
        elsewhere.header("location"),
        "/oauth/authorize?x=1",
        "whoever is signed out already may go on"
    );
    let evil = two.post("/dashboard/sign-out", &[("return_to", "https://evil.example")]).await.expect(303);
    assert_eq!(evil.header("location"), "/dashboard");
    two.get("/dashboard").await.expect(303);
}

#[tokio::test]
async fn signing_out_everywhere_ends_every_session_of_the_member() {
    let world = World::new().await;
    let colleague = join(&world, ACME, "Colleague", MemberRole::Owner).await;
    let colleague = Browser::of(&world, ACME, &colleague).await;
    let browsers = [(); 3].map(|()| Browser::signed_in(&world, ACME));
    let browsers = join_all(browsers).await;
    let answer = browsers[0].post("/dashboard/sign-out-everywhere", &[]).await.expect(303);
    assert_eq!(answer.header("location"), "/dashboard/sign-in?done=signed-out");
    assert_eq!(browsers[0].cookie(), "");
    for browser in &browsers {
        browser.get("/dashboard").await.expect(303);
    }
    colleague.get("/dashboard").await.expect(200);
    Browser::signed_in(&world, ACME).await.get("/dashboard").await.expect(200);
}

#[tokio::test]
async fn a_password_is_changed_by_who_knows_it_and_ends_the_other_sessions() {
    let world = World::new().await;
    let (email, password) = ada();
    let (browser, other) = (Browser::signed_in(&world, ACME).await, Browser::signed_in(&world, ACME).await);
    let path = "/dashboard/settings/account/password";
    let next = "a longer pass phrase";
    let long = "long ".repeat(30);
    for (current, first, second, problem) in [
        ("wrong", next, next, "The current password is not right."),
        ("", next, next, "The current password is not right."),
        (password, "short", "short", "The password must be at least 12 characters."),
        (password, &long, &long, "The password must be at most 128 characters."),
        (password, "123456789012", "123456789012", "The password must not be a row of keys"),
        (password, next, "another pass phrase", "The repeated password must be the same as the first."),
        (password, "", "", "The password must be at least 12 characters."),
    ] {
        world.wire.take();
        let fields = [("current", current), ("password", first), ("repeated", second)];
        let answer = browser.post(path, &fields).await.expect(422);
        assert!(answer.text.contains(problem), "{problem}: {}", answer.text);
        let changed = world.wire.take().iter().any(|call| call.operation == "TransactWriteItems");
        assert!(!changed, "{problem}");
        for name in ["current", "password", "repeated"] {
            assert_eq!(input(&answer, name), "", "{problem}: no password is shown again");
        }
    }
    let before = browser.cookie();
    let fields = [("current", password), ("password", next), ("repeated", next)];
    let answer = browser.post(path, &fields).await.expect(303);
    assert!(browser.follow(&answer).await.expect(200).text.contains("Your password has changed"));
    assert_ne!(browser.cookie(), before);
    other.get("/dashboard").await.expect(303);
    Browser::with_cookie(&world, &before).get("/dashboard").await.expect(303);
    Browser::new(&world).enter(email, password).await.expect(401);
    Browser::new(&world).enter(email, next).await.expect(303);
}

#[tokio::test]
async fn the_way_back_leads_nowhere_but_home() {
    let world = World::new().await;
    for (wanted, leads_to) in [
        ("/dashboard/roles?status=open", "/dashboard/roles?status=open"),
        (
            "/oauth/authorize?client_id=a&scope=b+c&state=%2F%2F",
            "/oauth/authorize?client_id=a&scope=b+c&state=%2F%2F",
        ),
        ("https://evil.example/dashboard", "/dashboard"),
        ("//evil.example/dashboard", "/dashboard"),
        ("/\\evil.example", "/dashboard"),
        ("/dashboard\\..\\x", "/dashboard"),
        ("/dashboard/../oauth/token", "/dashboard"),
        ("/dashboard\r\nset-cookie: a=b", "/dashboard"),
        ("/dashboard.evil.example", "/dashboard"),
        ("javascript:alert(1)", "/dashboard"),
        ("/api/v1/roles", "/dashboard"),
        ("", "/dashboard"),
    ] {
        let browser = Browser::new(&world);
        let page = browser.get(&format!("{PATH}?{}", form(&[("return_to", wanted)]))).await.expect(200);
        assert_eq!(input(&page, "return_to"), leads_to, "{wanted:?}");
        // The form may come back changed.
        let member = owner(&world, ACME).await;
        let browser = Browser::of(&world, ACME, &member).await;
        let shown = browser.get(&format!("{PATH}?{}", form(&[("return_to", wanted)]))).await.expect(303);
        assert_eq!(shown.header("location"), leads_to, "{wanted:?}: whoever is signed in goes on");
        let sent = browser.post("/dashboard/sign-out", &[("return_to", wanted)]).await.expect(303);
        let expected = if wanted.is_empty() { "/dashboard/sign-in?done=signed-out" } else { leads_to };
        assert_eq!(sent.header("location"), expected, "{wanted:?}");
    }
    let browser = Browser::new(&world);
    let fields = [("email", ada().0), ("password", ada().1), ("return_to", "//evil.example")];
    assert_eq!(browser.post(PATH, &fields).await.expect(303).header("location"), "/dashboard");
    let away = Browser::new(&world);
    let sent_away = away.get("/dashboard/candidates?stage=offer").await.expect(303);
    let page = away.follow(&sent_away).await.expect(200);
    let fields = [("email", ada().0), ("password", ada().1), ("return_to", &input(&page, "return_to"))];
    let back = away.post(PATH, &fields).await.expect(303);
    assert_eq!(back.header("location"), "/dashboard/candidates?stage=offer");
    away.follow(&back).await.expect(200);
}

/// A hash of the work of another day is made anew by the next sign-in, and nobody notices.
#[tokio::test]
async fn a_password_that_was_hashed_otherwise_is_hashed_anew() {
    let world = World::new().await;
    let acme = tenant(ACME, Mode::Live);
    // Of the same password, with 8 MiB and one pass.
    let old =
        "$argon2id$v=19$m=8192,t=1,p=1$AQEBAQEBAQEBAQEBAQEBAQ$mO2JChZW761Hx7OKiwRUPmUgaXdq+Rb//3XgwvXOQDg";
    let old: PasswordHash = serde_json::from_value(json!(old)).unwrap();
    let member = owner(&world, ACME).await;
    let member = Member { password: Some(old), version: member.version + 1, ..member };
    let mut writes = Writes::new(acme);
    writes.replace_member(&member).unwrap();
    world.store().commit(writes).await.unwrap();
    let other = Browser::of(&world, ACME, &member).await;
    Browser::signed_in(&world, ACME).await.get("/dashboard").await.expect(200);
    let after = owner(&world, ACME).await;
    assert!(after.password.as_ref().is_some_and(|password| !password.needs_rehash()));
    assert_eq!((after.version, after.epoch), (member.version + 1, member.epoch));
    other.get("/dashboard").await.expect(200);
    Browser::signed_in(&world, ACME).await;
    assert_eq!(owner(&world, ACME).await.version, after.version, "once");
}

#[tokio::test]
async fn a_request_to_sign_in_that_is_no_form_is_refused_before_anything_is_counted() {
    let world = World::new().await;
    let browser = Browser::new(&world);
    let csrf = browser.csrf().await;
    let body = form(&[("csrf", &csrf), ("email", ada().0), ("password", ada().1)]);
    world.wire.take();
    let ask = |media: &str, body: String| browser.ask(Method::POST, PATH).body(media, body).send();
    ask(FORM, format!("{body}&x={}", "x".repeat(1024 * 1024))).await.expect(413);
    ask("application/json", body.clone()).await.expect(415);
    ask(FORM, body.replace("csrf", "other")).await.expect(403);
    assert!(world.wire.take().is_empty());
    let answer: Answer = ask(&format!("{FORM}; charset=utf-8"), body).await;
    assert_eq!(answer.status, 303, "{}", answer.text);
}
