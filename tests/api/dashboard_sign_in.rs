//! Sign-in and sessions: passwords, rate limits, the cookie, the end of sessions, and `return_to`.

use futures_util::future::join_all;
use http::Method;
use rolecall_local::demo::DEMOS;
use serde_json::json;
use shared::model::{Member, MemberRole, Mode, PasswordCost, PasswordHash};
use shared::store::Transaction;
use tests::browser::{Browser, COOKIE, FOREIGN_COOKIES, FORM, form, input};
use tests::dashboard::{add_member, owner};
use tests::{ACME, GLOBEX, Response, TestApi, tenant};

use crate::dashboard_access::without_request_id;

const PATH: &str = "/dashboard/sign-in";
const ACCOUNT: &str = "/dashboard/settings/account";
const WRONG: &str = "Incorrect e-mail address or password.";

fn ada() -> (&'static str, &'static str) {
    (DEMOS[ACME].email, DEMOS[ACME].password)
}

/// Returns a password that is too long to be valid, and is therefore not hashed.
fn long_password() -> String {
    "x".repeat(1_025)
}

#[tokio::test]
async fn a_cookie_of_another_site_prevents_no_sign_in() {
    let api = TestApi::new().await;
    for cookie in FOREIGN_COOKIES {
        let browser = Browser::new(&api).with_foreign_cookie(cookie);
        let page = browser.get(PATH).await.expect(200);
        browser.sign_in(&page, ACME).await.expect(303);
        browser.get("/dashboard").await.expect(200);
    }
}

#[tokio::test]
async fn a_cookie_of_another_site_ends_no_session() {
    let api = TestApi::new().await;
    let member = owner(&api, ACME).await;
    for cookie in FOREIGN_COOKIES {
        let browser = Browser::with_session(&api, ACME, &member).await.with_foreign_cookie(cookie);
        let page = browser.get("/dashboard").await.expect(200);
        assert_eq!(page.header("set-cookie"), "");
    }
}

#[tokio::test]
async fn a_cookie_of_another_site_blocks_no_form() {
    let api = TestApi::new().await;
    let member = owner(&api, ACME).await;
    for cookie in FOREIGN_COOKIES {
        let browser = Browser::with_session(&api, ACME, &member).await;
        let csrf = browser.csrf().await;
        let browser = browser.with_foreign_cookie(cookie);
        let sent = browser.send("/dashboard/mode", &[("csrf", &csrf), ("mode", "test")]).await.expect(303);
        assert_eq!((sent.header("location"), sent.header("set-cookie")), ("/dashboard", ""));
    }
}

#[tokio::test]
async fn the_correct_password_signs_in() {
    let api = TestApi::new().await;
    let (email, password) = ada();
    for typed in [email, "ADA@acme.example", " ada@ACME.example\t"] {
        let browser = Browser::new(&api);
        let response = browser.submit_sign_in(typed, password).await.expect(303);
        assert_eq!((response.header("location"), response.text.as_str()), ("/dashboard", ""));
        let page = browser.follow(&response).await.expect(200);
        assert!(page.text.contains("Acme") && page.text.contains("Ada"), "{}", page.text);
        let again = browser.get(PATH).await.expect(303);
        assert_eq!(again.header("location"), "/dashboard", "a signed-in member is redirected");
    }
}

/// Neither the response nor its DynamoDB calls reveal whether an address has an account or an account has a password.
#[tokio::test]
async fn unknown_addresses_and_wrong_passwords_get_the_same_response() {
    let api = TestApi::new().await;
    add_member(&api, ACME, "Invited", MemberRole::Owner).await;
    let (email, password) = ada();
    let browser = Browser::new(&api);
    browser.csrf().await;
    let mut responses = Vec::new();
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
        api.dynamodb.take_calls();
        let response = browser.submit_sign_in(typed, password).await.expect(401);
        let calls: Vec<_> = api.dynamodb.take_calls().into_iter().map(|call| call.operation).collect();
        assert_eq!(input(&response, "email"), typed, "the address is kept");
        assert_eq!(input(&response, "password"), "", "the password is not kept");
        assert!(response.text.contains(WRONG) && !response.headers.contains_key("set-cookie"));
        let (status, text, headers) = without_request_id(&response);
        responses.push((calls, status, text.replace(typed, ""), headers));
    }
    assert_eq!(responses[0].0, ["UpdateItem", "UpdateItem", "Query", "GetItem", "PutItem"]);
    assert!(responses.iter().all(|response| *response == responses[0]), "{responses:#?}");
}

#[tokio::test]
async fn malformed_input_gets_401() {
    let api = TestApi::new().await;
    let long = format!("{}@example.com", "x".repeat(300));
    let password = long_password();
    let browser = Browser::new(&api);
    for typed in ["", " ", "ada", "@", "ada@acme.example\0", "a b@c.de", "\u{1F980}@x.io", &long] {
        let response = browser.submit_sign_in(typed, &password).await.expect(401);
        assert_eq!(input(&response, "email"), typed.trim());
    }
    browser.post(PATH, &[]).await.expect(401);
    browser.post(PATH, &[("email", ada().0), ("email", "x"), ("password", "y")]).await.expect(401);
}

/// Sends this many wrong passwords, and returns the statuses.
async fn send_wrong_passwords(browser: &Browser<'_>, email: &str, times: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..times {
        statuses.push(browser.submit_sign_in(email, &long_password()).await.status);
    }
    statuses
}

#[tokio::test]
async fn an_account_accepts_ten_wrong_passwords_in_fifteen_minutes() {
    let api = TestApi::new().await;
    let (email, password) = ada();
    // Attempts count from every network and in every letter case.
    for n in 0..10 {
        let browser = Browser::new(&api).at([10, 0, 0, n]);
        let typed = if n % 2 == 0 { email.to_uppercase() } else { email.to_owned() };
        assert_eq!(send_wrong_passwords(&browser, &typed, 1).await, [401]);
    }
    let browser = Browser::new(&api).at([10, 0, 0, 99]);
    for (time, retry_after, sentence) in [
        ("09:30:00", "900", "Try again in 15 minutes."),
        ("09:40:01", "299", "Try again in 5 minutes."),
        ("09:44:59", "1", "Try again in 1 minute."),
    ] {
        api.clock.set(&format!("2026-11-20T{time}Z"));
        browser.csrf().await;
        api.dynamodb.take_calls();
        let response = browser.submit_sign_in(email, password).await.expect(429);
        assert_eq!(response.header("retry-after"), retry_after, "{time}");
        assert!(response.text.contains(sentence), "{time}: {}", response.text);
        assert_eq!(
            (input(&response, "email"), input(&response, "password")),
            (email.to_owned(), String::new())
        );
        let calls = api.dynamodb.take_calls();
        assert!(calls.iter().all(|call| call.operation == "UpdateItem"), "the account is not read");
    }
    browser.submit_sign_in(DEMOS[GLOBEX].email, DEMOS[GLOBEX].password).await.expect(303);
    api.clock.set("2026-11-20T09:45:00Z");
    Browser::new(&api).submit_sign_in(email, password).await.expect(303);
}

#[tokio::test]
async fn a_network_may_send_fifty_wrong_passwords_in_fifteen_minutes() {
    let api = TestApi::new().await;
    let (email, password) = ada();
    let browser = Browser::new(&api).at([10, 0, 0, 1]);
    for n in 0..50 {
        assert_eq!(send_wrong_passwords(&browser, &format!("nobody{n}@example.com"), 1).await, [401], "{n}");
    }
    let response = browser.submit_sign_in(email, password).await.expect(429);
    assert_eq!(response.header("retry-after"), "900");
    Browser::new(&api).at([10, 0, 0, 2]).submit_sign_in(email, password).await.expect(303);
    api.clock.set("2026-11-20T09:45:00Z");
    browser.submit_sign_in(email, password).await.expect(303);
}

/// A blocked network's further attempts do not count towards the limits of the accounts that it names.
#[tokio::test]
async fn a_blocked_network_locks_out_no_account() {
    let api = TestApi::new().await;
    let (email, password) = ada();
    let attacker = Browser::new(&api).at([10, 0, 0, 1]);
    for n in 0..50 {
        assert_eq!(send_wrong_passwords(&attacker, &format!("nobody{n}@example.com"), 1).await, [401], "{n}");
    }
    assert_eq!(send_wrong_passwords(&attacker, email, 20).await, [429; 20]);
    Browser::new(&api).at([10, 0, 0, 2]).submit_sign_in(email, password).await.expect(303);
}

#[tokio::test]
async fn a_known_browser_has_its_own_limit() {
    let api = TestApi::new().await;
    let (email, password) = ada();
    let own = Browser::signed_in(&api, ACME).await;
    own.post("/dashboard/sign-out", &[]).await.expect(303);
    // Attackers use up the account's limits, with and without its organization, and the limit of the member's network.
    for n in 0..10 {
        let attacker = Browser::new(&api).at([10, 0, 0, n]);
        assert_eq!(send_wrong_passwords(&attacker, email, 1).await, [401]);
        let fields = [("email", email), ("password", "wrong"), ("organization", "acme")];
        attacker.post(PATH, &fields).await.expect(401);
    }
    let neighbor = Browser::new(&api);
    for n in 0..50 {
        assert_eq!(send_wrong_passwords(&neighbor, &format!("nobody{n}@example.com"), 1).await, [401], "{n}");
    }
    Browser::new(&api).at([10, 0, 0, 99]).submit_sign_in(email, password).await.expect(429);
    own.submit_sign_in(email, password).await.expect(303);

    // The cookie counts only for its own account, unchanged.
    let (name, value) = own.other_cookies().pop_first().unwrap();
    assert!(!value.contains("ada") && !name.contains("ada"));
    let other = Browser::new(&api).at([10, 0, 0, 98]);
    for (name, value) in own.other_cookies() {
        other.set_other_cookie(&name, &value);
    }
    let turned: String = value.chars().rev().collect();
    for forged in [value.replace('.', ""), format!("x{value}"), turned, String::new(), ".".to_owned()] {
        other.set_other_cookie(&name, &forged);
        other.submit_sign_in(email, password).await.expect(429);
    }
    other.set_other_cookie(&name, &value);
    other.submit_sign_in(DEMOS[GLOBEX].email, DEMOS[GLOBEX].password).await.expect(303);
    let (grace, of_grace) = other.other_cookies().into_iter().find(|(known, _)| *known != name).unwrap();
    assert!(grace.starts_with("__Host-rolecall-known-"), "{grace}");
    other.set_other_cookie(&name, &of_grace);
    other.submit_sign_in(email, password).await.expect(429);

    // The known browser itself has ten attempts.
    own.post("/dashboard/sign-out", &[]).await.expect(303);
    assert_eq!(send_wrong_passwords(&own, email, 10).await, [401; 10]);
    own.submit_sign_in(email, password).await.expect(429);
    api.clock.set("2026-11-20T09:45:00Z");
    own.submit_sign_in(email, password).await.expect(303);
}

#[tokio::test]
async fn only_wrong_passwords_count_towards_the_limit() {
    let api = TestApi::new().await;
    let (email, password) = ada();
    let browser = Browser::new(&api);
    assert_eq!(send_wrong_passwords(&browser, email, 9).await, [401; 9]);
    for _ in 0..3 {
        Browser::new(&api).submit_sign_in(email, password).await.expect(303);
    }
    assert_eq!(send_wrong_passwords(&browser, email, 2).await, [401, 429]);
    Browser::new(&api).submit_sign_in(email, password).await.expect(429);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_attempts_share_the_limit_of_ten() {
    let api = TestApi::new().await;
    let browser = Browser::new(&api);
    browser.csrf().await;
    let responses = join_all((0..40).map(|_| send_wrong_passwords(&browser, ada().0, 1))).await.concat();
    let checked = responses.iter().filter(|status| **status == 401).count();
    let rejected = responses.iter().filter(|status| **status == 429).count();
    assert_eq!((checked, rejected), (10, 30));
}

#[tokio::test]
async fn the_cookie_is_host_only_and_http_only() {
    let api = TestApi::new().await;
    let browser = Browser::new(&api);
    let stranger = browser.get(PATH).await.expect(200);
    let signed_in = browser.submit_sign_in(ada().0, ada().1).await.expect(303);
    let signed_out = browser.post("/dashboard/sign-out", &[]).await.expect(303);
    let known_browser = signed_in.headers.get_all("set-cookie").iter().nth(1).unwrap();
    let known_browser = str::from_utf8(known_browser.as_bytes()).unwrap();
    let attributes = "; Path=/; Max-Age=34560000; Secure; HttpOnly; SameSite=Lax";
    assert!(known_browser.ends_with(attributes), "400 days: {known_browser}");
    for (response, life) in [(stranger, 2_592_000), (signed_in, 2_592_000), (signed_out, 0)] {
        let cookies: Vec<_> = response.headers.get_all("set-cookie").iter().collect();
        let (value, attributes) = str::from_utf8(cookies[0].as_bytes()).unwrap().split_once("; ").unwrap();
        assert!(value.starts_with(&format!("{COOKIE}=")));
        assert_eq!(attributes, format!("Path=/; Max-Age={life}; Secure; HttpOnly; SameSite=Lax"));
    }
    browser.get(PATH).await.expect(200);
    assert!(!browser.get(PATH).await.headers.contains_key("set-cookie"), "a browser with a cookie keeps it");
}

/// Safari and most HTTP clients reject secure cookies over HTTP.
#[tokio::test]
async fn the_cookie_works_over_http_on_loopback() {
    let mut api = TestApi::new().await;
    for base_url in ["http://127.0.0.1:3000", "http://localhost:3000", "http://[::1]:3000"] {
        api.environment.config.base_url = Some(base_url.to_owned());
        api.restart();
        let page = api.request(Method::GET, PATH).anonymous().send().await.expect(200);
        let stored = |response: &Response| {
            let (pair, attributes) = response.header("set-cookie").split_once("; ").unwrap();
            assert!(pair.starts_with("rolecall=") && !attributes.contains("Secure"), "{pair}; {attributes}");
            assert!(attributes.contains("HttpOnly") && attributes.contains("SameSite=Lax"), "{attributes}");
            pair.to_owned()
        };
        let (email, password) = ada();
        let fields = form(&[("csrf", &input(&page, "csrf")), ("email", email), ("password", password)]);
        let sign_in = api.request(Method::POST, PATH).anonymous().header("cookie", &stored(&page));
        let signed_in = sign_in.body(FORM, fields).send().await.expect(303);
        let dashboard = api.request(Method::GET, "/dashboard").anonymous();
        dashboard.header("cookie", &stored(&signed_in)).send().await.expect(200);
    }
}

/// A cookie that an attacker set before sign-in is not valid after it.
#[tokio::test]
async fn sign_in_replaces_the_cookie() {
    let api = TestApi::new().await;
    let member = owner(&api, ACME).await;
    let signed_out_cookie = {
        let browser = Browser::new(&api);
        browser.get(PATH).await.expect(200);
        browser.cookie()
    };
    let own = Browser::with_session(&api, ACME, &member).await.cookie();
    let elsewhere = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await.cookie();
    for before in [signed_out_cookie, "x".repeat(40), own, elsewhere] {
        let browser = Browser::with_cookie(&api, &before);
        let csrf = browser.csrf().await;
        browser.submit_sign_in(ada().0, ada().1).await.expect(303);
        assert_ne!(browser.cookie(), before);
        assert_ne!(browser.csrf().await, csrf, "the CSRF token changes, too");
        browser.get("/dashboard").await.expect(200);
        Browser::with_cookie(&api, &before).get("/dashboard").await.expect(303);
    }
    let twice = [Browser::signed_in(&api, ACME).await, Browser::signed_in(&api, ACME).await];
    assert_ne!(twice[0].cookie(), twice[1].cookie());
    assert!(
        !api.dynamodb.take_calls().iter().any(|call| {
            let request = call.request.to_string();
            request.contains(&twice[0].cookie()) || request.contains(ada().1)
        }),
        "neither a cookie nor a password is stored in plain text"
    );
}

#[tokio::test]
async fn a_session_ends_after_twelve_idle_hours() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    for (time, status) in [("20T21:29:59", 200), ("21T09:29:58", 200), ("21T21:29:58", 303)] {
        api.clock.set(&format!("2026-11-{time}Z"));
        browser.get(ACCOUNT).await.expect(status);
    }
    api.clock.set("2026-11-21T09:29:59Z");
    browser.get(ACCOUNT).await.expect(200);
}

#[tokio::test]
async fn a_session_ends_after_thirty_days_of_use() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    for half_day in 1..=60 {
        let begun = "2026-11-20T09:30:00Z".parse::<shared::clock::Timestamp>().unwrap();
        let time = begun.saturating_add(jiff::SignedDuration::from_mins(half_day * 719)).unwrap();
        api.clock.set(&time.to_string());
        browser.get(ACCOUNT).await.expect(200);
    }
    for (time, status) in [("09:29:59", 200), ("09:30:00", 303)] {
        api.clock.set(&format!("2026-12-20T{time}Z"));
        browser.get(ACCOUNT).await.expect(status);
    }
}

#[tokio::test]
async fn switching_modes_counts_as_session_use() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    browser.get(ACCOUNT).await.expect(200);
    api.clock.set("2026-11-20T21:20:00Z");
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    api.clock.set("2026-11-20T21:40:00Z");
    let page = browser.get("/dashboard").await.expect(200);
    assert!(page.text.contains("Test data."), "{}", page.text);
    browser.post("/dashboard/mode", &[("mode", "live")]).await.expect(303);
    assert!(!browser.get("/dashboard").await.expect(200).text.contains("Test data."));
    for unknown in ["", "LIVE", "both"] {
        browser.post("/dashboard/mode", &[("mode", unknown)]).await.expect(400);
    }
    let another = Browser::signed_in(&api, ACME).await;
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    assert!(
        !another.get("/dashboard").await.expect(200).text.contains("Test data."),
        "only this session switches modes"
    );
}

#[tokio::test]
async fn signing_out_ends_only_this_session() {
    let api = TestApi::new().await;
    let (one, two) = (Browser::signed_in(&api, ACME).await, Browser::signed_in(&api, ACME).await);
    let cookie = one.cookie();
    let response = one.post("/dashboard/sign-out", &[]).await.expect(303);
    assert_eq!(response.header("location"), "/dashboard/sign-in?done=signed-out");
    assert!(one.follow(&response).await.expect(200).text.contains("You are signed out."));
    Browser::with_cookie(&api, &cookie).get("/dashboard").await.expect(303);
    two.get("/dashboard").await.expect(200);
    let elsewhere =
        one.post("/dashboard/sign-out", &[("return_to", "/oauth/authorize?x=1")]).await.expect(303);
    assert_eq!(
        elsewhere.header("location"),
        "/oauth/authorize?x=1",
        "a signed-out browser is redirected, too"
    );
    let evil = two.post("/dashboard/sign-out", &[("return_to", "https://evil.example")]).await.expect(303);
    assert_eq!(evil.header("location"), "/dashboard");
    two.get("/dashboard").await.expect(303);
}

#[tokio::test]
async fn signing_out_everywhere_ends_every_session_of_the_member() {
    let api = TestApi::new().await;
    let colleague = add_member(&api, ACME, "Colleague", MemberRole::Owner).await;
    let colleague = Browser::with_session(&api, ACME, &colleague).await;
    let browsers = [(); 3].map(|()| Browser::signed_in(&api, ACME));
    let browsers = join_all(browsers).await;
    let response = browsers[0].post("/dashboard/sign-out-everywhere", &[]).await.expect(303);
    assert_eq!(response.header("location"), "/dashboard/sign-in?done=signed-out");
    assert_eq!(browsers[0].cookie(), "");
    for browser in &browsers {
        browser.get("/dashboard").await.expect(303);
    }
    colleague.get("/dashboard").await.expect(200);
    Browser::signed_in(&api, ACME).await.get("/dashboard").await.expect(200);
}

#[tokio::test]
async fn a_password_change_requires_the_current_one_and_ends_the_other_sessions() {
    let api = TestApi::new().await;
    let (email, password) = ada();
    let (browser, other) = (Browser::signed_in(&api, ACME).await, Browser::signed_in(&api, ACME).await);
    let path = "/dashboard/settings/account/password";
    let next = "a longer pass phrase";
    let long = "long ".repeat(30);
    for (current, first, second, problem) in [
        ("wrong", next, next, "The current password is incorrect."),
        ("", next, next, "The current password is incorrect."),
        (password, "short", "short", "The password must be at least 12 characters."),
        (password, &long, &long, "The password must be at most 128 characters."),
        (password, "123456789012", "123456789012", "The password must not be a simple sequence"),
        (password, next, "another pass phrase", "The passwords do not match."),
        (password, "", "", "The password must be at least 12 characters."),
    ] {
        api.dynamodb.take_calls();
        let fields = [("current", current), ("password", first), ("repeated", second)];
        let response = browser.post(path, &fields).await.expect(422);
        assert!(response.text.contains(problem), "{problem}: {}", response.text);
        let changed = api.dynamodb.take_calls().iter().any(|call| call.operation == "TransactWriteItems");
        assert!(!changed, "{problem}");
        for name in ["current", "password", "repeated"] {
            assert_eq!(input(&response, name), "", "{problem}: no password is shown again");
        }
    }
    let before = browser.cookie();
    let fields = [("current", password), ("password", next), ("repeated", next)];
    let response = browser.post(path, &fields).await.expect(303);
    assert!(browser.follow(&response).await.expect(200).text.contains("Password changed."));
    assert_ne!(browser.cookie(), before);
    other.get("/dashboard").await.expect(303);
    Browser::with_cookie(&api, &before).get("/dashboard").await.expect(303);
    Browser::new(&api).submit_sign_in(email, password).await.expect(401);
    Browser::new(&api).submit_sign_in(email, next).await.expect(303);
}

#[tokio::test]
async fn return_to_never_leaves_the_service() {
    let api = TestApi::new().await;
    for (return_to, expected) in [
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
        let browser = Browser::new(&api);
        let page = browser.get(&format!("{PATH}?{}", form(&[("return_to", return_to)]))).await.expect(200);
        assert_eq!(input(&page, "return_to"), expected, "{return_to:?}");
        let member = owner(&api, ACME).await;
        let browser = Browser::with_session(&api, ACME, &member).await;
        let response =
            browser.get(&format!("{PATH}?{}", form(&[("return_to", return_to)]))).await.expect(303);
        assert_eq!(response.header("location"), expected, "{return_to:?}: a signed-in member is redirected");
        let sent = browser.post("/dashboard/sign-out", &[("return_to", return_to)]).await.expect(303);
        let expected = if return_to.is_empty() { "/dashboard/sign-in?done=signed-out" } else { expected };
        assert_eq!(sent.header("location"), expected, "{return_to:?}");
    }
    let browser = Browser::new(&api);
    let fields = [("email", ada().0), ("password", ada().1), ("return_to", "//evil.example")];
    assert_eq!(browser.post(PATH, &fields).await.expect(303).header("location"), "/dashboard");
    let visitor = Browser::new(&api);
    let redirect = visitor.get("/dashboard/candidates?stage=offer").await.expect(303);
    let page = visitor.follow(&redirect).await.expect(200);
    let fields = [("email", ada().0), ("password", ada().1), ("return_to", &input(&page, "return_to"))];
    let back = visitor.post(PATH, &fields).await.expect(303);
    assert_eq!(back.header("location"), "/dashboard/candidates?stage=offer");
    visitor.follow(&back).await.expect(200);
}

/// The other sessions stay valid.
#[tokio::test]
async fn sign_in_rehashes_a_password_with_outdated_parameters() {
    let mut api = TestApi::new().await;
    api.environment.password_cost = PasswordCost::CURRENT;
    api.restart();
    let acme = tenant(ACME, Mode::Live);
    // The same password, hashed with 8 MiB and one pass.
    let old =
        "$argon2id$v=19$m=8192,t=1,p=1$AQEBAQEBAQEBAQEBAQEBAQ$mO2JChZW761Hx7OKiwRUPmUgaXdq+Rb//3XgwvXOQDg";
    let old: PasswordHash = serde_json::from_value(json!(old)).unwrap();
    let before = owner(&api, ACME).await;
    let member = Member { password: Some(old), version: before.version + 1, ..before.clone() };
    let mut transaction = Transaction::new(acme);
    transaction.replace_member(&before, &member).unwrap();
    api.store().commit(transaction).await.unwrap();
    let other = Browser::with_session(&api, ACME, &member).await;
    Browser::signed_in(&api, ACME).await.get("/dashboard").await.expect(200);
    let after = owner(&api, ACME).await;
    assert!(after.password.as_ref().is_some_and(|password| !password.needs_rehash(PasswordCost::CURRENT)));
    assert_eq!((after.version, after.epoch), (member.version + 1, member.epoch));
    other.get("/dashboard").await.expect(200);
    Browser::signed_in(&api, ACME).await;
    assert_eq!(owner(&api, ACME).await.version, after.version, "the second sign-in does not hash again");
}

#[tokio::test]
async fn a_sign_in_request_that_is_not_a_form_is_rejected_before_it_counts() {
    let api = TestApi::new().await;
    let browser = Browser::new(&api);
    let csrf = browser.csrf().await;
    let body = form(&[("csrf", &csrf), ("email", ada().0), ("password", ada().1)]);
    api.dynamodb.take_calls();
    let send = |media: &str, body: String| browser.request(Method::POST, PATH).body(media, body).send();
    send(FORM, format!("{body}&x={}", "x".repeat(1024 * 1024))).await.expect(413);
    send("application/json", body.clone()).await.expect(415);
    send(FORM, body.replace("csrf", "other")).await.expect(403);
    assert!(api.dynamodb.take_calls().is_empty());
    let response: Response = send(&format!("{FORM}; charset=utf-8"), body).await;
    assert_eq!(response.status, 303, "{}", response.text);
}
