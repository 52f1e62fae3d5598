//! OAuth: refreshing tokens.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use http::Method;
use jiff::SignedDuration;
use shared::auth::{Claims, Credential, Kind};
use shared::mac_keys::MacKeys;
use shared::model::{Grant, Mode, TokenSet};
use shared::random::Random;
use shared::store::Transaction;
use tests::browser::Browser;
use tests::dashboard::connect_app;
use tests::oauth::{OAuthApp, Tokens, oauth_error, token_status};
use tests::{ACME, TestApi, tenant};

const INVALID_GRANT: (u16, &str) = (400, "invalid_grant");

#[tokio::test]
async fn each_pair_replaces_the_previous_one() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    for method in ["none", "client_secret_basic", "client_secret_post"] {
        let app = OAuthApp::register(&api, method).await;
        let mut tokens = app.connect(&browser).await;
        let mut before: Option<Tokens> = None;
        for _ in 0..3 {
            let response = app.refresh(&tokens.refresh).await.expect(200);
            assert_eq!(
                (response.header("cache-control"), response.number("/expires_in")),
                ("no-store", 3600)
            );
            let next = Tokens::of(&response);
            assert!(next.access != tokens.access && next.refresh != tokens.refresh);
            assert!(next.refresh.starts_with("rc_rt_L") && next.refresh.len() <= 256);
            if let Some(before) = &before {
                assert_eq!(token_status(&api, &before.access).await, 401, "only the last two are valid");
            }
            assert_eq!(token_status(&api, &tokens.access).await, 200, "the old access token is still valid");
            assert_eq!(token_status(&api, &next.access).await, 200);
            before = Some(std::mem::replace(&mut tokens, next));
        }
    }
}

/// Another session of the application may still use it.
#[tokio::test]
async fn an_access_token_stays_valid_after_one_refresh() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let first = app.connect(&browser).await;
    let query = app.authorization_request().set("scope", "roles:read organization:read");
    let code = app.code(&browser, &query, "live").await;
    let narrow = Tokens::of(&app.exchange(&code).await);
    api.clock.set("2026-11-20T10:00:00Z");
    let second = Tokens::of(&app.refresh(&first.refresh).await);
    let form = OAuthApp::refresh_request(&narrow.refresh).and("scope", "organization:read");
    let narrower = Tokens::of(&app.send("/oauth/token", &form).await);
    let roles =
        async |access: &str| api.request(Method::GET, "/api/v1/roles").bearer(access).send().await.status;
    assert_eq!(
        (roles(&narrow.access).await, roles(&narrower.access).await),
        (200, 403),
        "it keeps its scopes"
    );
    for (time, statuses) in [("2026-11-20T10:29:59Z", [200, 200]), ("2026-11-20T10:30:00Z", [401, 200])] {
        api.clock.set(time);
        for (access, status) in [&first.access, &second.access].into_iter().zip(statuses) {
            assert_eq!(token_status(&api, access).await, status, "it has only its own hour: {time}");
        }
    }
    let third = Tokens::of(&app.refresh(&second.refresh).await);
    let fourth = Tokens::of(&app.refresh(&third.refresh).await);
    for (tokens, status) in [(&second, 401), (&third, 200), (&fourth, 200)] {
        assert_eq!(token_status(&api, &tokens.access).await, status, "a second refresh ends it");
    }
}

#[tokio::test]
async fn the_end_of_a_grant_ends_its_previous_access_token() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    for case in ["the previous token", "the current token", "the refresh token", "reuse"] {
        let first = app.connect(&browser).await;
        let second = Tokens::of(&app.refresh(&first.refresh).await);
        assert_eq!(token_status(&api, &second.access).await, 200);
        match case {
            "the previous token" => drop(app.revoke(&first.access).await.expect(200)),
            "the current token" => drop(app.revoke(&second.access).await.expect(200)),
            "the refresh token" => drop(app.revoke(&second.refresh).await.expect(200)),
            _ => {
                Tokens::of(&app.refresh(&second.refresh).await);
                assert_eq!(oauth_error(&app.refresh(&first.refresh).await), INVALID_GRANT);
            }
        }
        assert_eq!(token_status(&api, &first.access).await, 401, "{case}");
        let status = if case == "the previous token" { 200 } else { 401 };
        assert_eq!(token_status(&api, &second.access).await, status, "{case}");
    }
}

/// Another session of the application was faster, or the response was lost.
#[tokio::test]
async fn a_refresh_token_gives_the_same_pair_for_a_minute() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let first = app.connect(&browser).await;
    api.clock.set("2026-11-20T09:40:00Z");
    let form = OAuthApp::refresh_request(&first.refresh).and("scope", "roles:read organization:read");
    let answer = app.send("/oauth/token", &form).await.expect(200);
    let second = Tokens::of(&answer);
    assert_eq!(answer.number("/expires_in"), 3600);
    // Using the pair changes nothing, and the scope of the repeated request is ignored.
    assert_eq!(token_status(&api, &second.access).await, 200);
    for (time, left, scope) in
        [("09:40:00", 3600, ""), ("09:40:30", 3570, "roles:write"), ("09:40:59", 3541, "none at all")]
    {
        api.clock.set(&format!("2026-11-20T{time}Z"));
        api.dynamodb.take_calls();
        let form = OAuthApp::refresh_request(&first.refresh).and("scope", scope);
        let again = app.send("/oauth/token", &form).await.expect(200);
        for field in ["access_token", "refresh_token", "scope", "token_type"] {
            assert_eq!(again.body[field], answer.body[field], "{field} at {time}");
        }
        assert_eq!(again.number("/expires_in"), left, "{time}");
        let calls = api.dynamodb.take_calls();
        assert!(calls.iter().all(|call| call.operation == "GetItem"), "nothing is written: {calls:?}");
    }
    // A pair for another resource is another pair.
    let form = OAuthApp::refresh_request(&first.refresh).and("resource", "https://api.rolecall.test/mcp");
    assert_eq!(oauth_error(&app.send("/oauth/token", &form).await), (400, "invalid_target"));
    for access in [&first.access, &second.access] {
        assert_eq!(token_status(&api, access).await, 200);
    }
    api.clock.set("2026-11-20T09:41:00Z");
    assert_eq!(oauth_error(&app.refresh(&first.refresh).await), INVALID_GRANT);
    assert_eq!(token_status(&api, &second.access).await, 401, "now it is reuse");
}

/// The service's key is replaced between the two requests.
#[tokio::test]
async fn a_repeated_refresh_gives_the_same_pair_under_a_new_key() {
    let [old, new] =
        ["former", "newest"].map(|which| format!("the {which} key of the service is long enough"));
    let mut api = TestApi::new().await;
    api.environment.config.credential_keys = MacKeys::parse(&old).unwrap();
    api.restart();
    let (id, first) = {
        let app = OAuthApp::register(&api, "none").await;
        (app.id.clone(), app.connect(&Browser::signed_in(&api, ACME).await).await)
    };
    let second = Tokens::of(&OAuthApp::public(&api, &id).refresh(&first.refresh).await);
    for keys in [format!("{new},{old}"), new] {
        api.environment.config.credential_keys = MacKeys::parse(&keys).unwrap();
        api.restart();
        let app = OAuthApp::public(&api, &id);
        let again = app.refresh(&first.refresh).await;
        if keys.contains(&old) {
            let again = Tokens::of(&again);
            assert_eq!((&again.access, &again.refresh), (&second.access, &second.refresh));
            let third = Tokens::of(&app.refresh(&again.refresh).await);
            assert_eq!(token_status(&api, &third.access).await, 200);
        } else {
            assert_eq!(oauth_error(&again), INVALID_GRANT, "no token of the old key is valid");
        }
    }
}

#[tokio::test]
async fn any_other_reuse_of_a_refresh_token_ends_the_grant() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let untouched = app.connect(&browser).await;
    for case in
        ["an older token, at once", "an older token whose successors were used", "the last used one, later"]
    {
        let first = app.connect(&browser).await;
        let second = Tokens::of(&app.refresh(&first.refresh).await);
        let (reused, last) = match case {
            "an older token, at once" => (first.refresh, Tokens::of(&app.refresh(&second.refresh).await)),
            "an older token whose successors were used" => {
                let third = Tokens::of(&app.refresh(&second.refresh).await);
                assert_eq!(token_status(&api, &third.access).await, 200);
                (first.refresh, Tokens::of(&app.refresh(&third.refresh).await))
            }
            _ => {
                api.clock.set("2026-11-20T09:31:00Z");
                (first.refresh, second)
            }
        };
        assert_eq!(token_status(&api, &last.access).await, 200, "{case}");
        assert_eq!(oauth_error(&app.refresh(&reused).await), INVALID_GRANT, "{case}");
        assert_eq!(token_status(&api, &last.access).await, 401, "{case}");
        for refresh in [&reused, &last.refresh] {
            assert_eq!(oauth_error(&app.refresh(refresh).await), INVALID_GRANT, "{case}");
        }
    }
    assert_eq!(token_status(&api, &untouched.access).await, 200, "other grants are not affected");
    Tokens::of(&app.refresh(&untouched.refresh).await);
}

#[tokio::test]
async fn another_clients_token_or_an_invalid_request_does_not_end_a_grant() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let (app, other) =
        (OAuthApp::register(&api, "none").await, OAuthApp::register(&api, "client_secret_post").await);
    let first = app.connect(&browser).await;
    let tokens = Tokens::of(&app.refresh(&first.refresh).await);
    let other_tokens = other.connect(&browser).await;
    for stolen in [&first.refresh, &tokens.refresh] {
        assert_eq!(oauth_error(&other.refresh(stolen).await), INVALID_GRANT);
    }
    let altered = format!("{}A", &tokens.refresh[..tokens.refresh.len() - 1]);
    for invalid in
        [&altered, &other_tokens.refresh, &tokens.access, "rc_rt_L", "nonsense", &"x".repeat(5_000), "🔑"]
    {
        assert_eq!(oauth_error(&app.refresh(invalid).await), INVALID_GRANT, "{invalid}");
    }
    let valid = OAuthApp::refresh_request(&tokens.refresh);
    for (wrong, error) in [
        (valid.clone().without("refresh_token"), "invalid_request"),
        (valid.clone().set("refresh_token", ""), "invalid_request"),
        (valid.clone().and("refresh_token", &tokens.refresh), "invalid_request"),
        (valid.clone().and("grant_type", "refresh_token"), "invalid_request"),
        (valid.clone().and("scope", "roles:read").and("scope", "roles:read"), "invalid_request"),
        (valid.clone().and("resource", "https://evil.example"), "invalid_target"),
        (valid.clone().and("scope", "roles:delete"), "invalid_scope"),
        (valid.clone().and("scope", " "), "invalid_scope"),
    ] {
        assert_eq!(oauth_error(&app.send("/oauth/token", &wrong).await), (400, error), "{wrong:?}");
    }
    assert_eq!(token_status(&api, &tokens.access).await, 200);
    let valid = valid.and("resource", "https://api.rolecall.test/api/v1");
    Tokens::of(&app.send("/oauth/token", &valid).await);
    Tokens::of(&other.refresh(&other_tokens.refresh).await);
}

#[tokio::test]
async fn a_refresh_token_is_valid_for_thirty_days_after_it_was_issued() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let first = app.connect(&browser).await;
    api.clock.set("2026-12-20T09:29:59Z");
    let second = Tokens::of(&app.refresh(&first.refresh).await);
    api.clock.set("2027-01-19T09:29:58Z");
    let third = Tokens::of(&app.refresh(&second.refresh).await);
    api.clock.set("2027-02-18T09:29:58Z");
    assert_eq!(oauth_error(&app.refresh(&third.refresh).await), INVALID_GRANT);
}

#[tokio::test]
async fn access_ends_180_days_after_it_was_granted() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let mut tokens = app.connect(&browser).await;
    for day in
        ["2026-12-19", "2027-01-17", "2027-02-15", "2027-03-16", "2027-04-14", "2027-05-13", "2027-05-19"]
    {
        api.clock.set(&format!("{day}T09:29:00Z"));
        tokens = Tokens::of(&app.refresh(&tokens.refresh).await);
    }
    api.clock.set("2027-05-19T09:30:00Z");
    assert_eq!(oauth_error(&app.refresh(&tokens.refresh).await), INVALID_GRANT);
    let browser = Browser::signed_in(&api, ACME).await;
    Tokens::of(&app.refresh(&app.connect(&browser).await.refresh).await);
}

#[tokio::test]
async fn a_refresh_may_narrow_the_scope_but_not_widen_it() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let query = app.authorization_request().set("scope", "roles:read organization:read");
    let code = app.code(&browser, &query, "live").await;
    let tokens = Tokens::of(&app.exchange(&code).await);
    let refresh = async |token: &str, scope: &str| {
        app.send("/oauth/token", &OAuthApp::refresh_request(token).and("scope", scope)).await
    };
    let roles =
        async |access: &str| api.request(Method::GET, "/api/v1/roles").bearer(access).send().await.status;
    for wider in [
        "roles:write",
        "roles:read roles:write",
        "roles:read organization:read channels:read",
        "roles:delete",
    ] {
        assert_eq!(oauth_error(&refresh(&tokens.refresh, wider).await), (400, "invalid_scope"), "{wider}");
    }
    let response = refresh(&tokens.refresh, "organization:read").await.expect(200);
    assert_eq!(response.string("/scope"), "organization:read");
    let narrow = Tokens::of(&response);
    assert_eq!((token_status(&api, &narrow.access).await, roles(&narrow.access).await), (200, 403));
    let response = app.refresh(&narrow.refresh).await.expect(200);
    assert_eq!(response.string("/scope"), "roles:read organization:read", "the grant keeps its scopes");
    let full = Tokens::of(&response);
    assert_eq!((token_status(&api, &full.access).await, roles(&full.access).await), (200, 200));
    assert_eq!(oauth_error(&refresh(&full.refresh, "roles:write").await), (400, "invalid_scope"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_refreshes_get_the_same_pair() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    for count in [2, 2, 2, 20] {
        let first = app.connect(&browser).await;
        let responses = join_all((0..count).map(|_| app.refresh(&first.refresh))).await;
        let pairs: BTreeSet<_> =
            responses.iter().map(Tokens::of).map(|pair| (pair.access, pair.refresh)).collect();
        assert_eq!(pairs.len(), 1);
        let (access, refresh) = pairs.first().unwrap();
        assert_eq!(token_status(&api, access).await, 200);
        Tokens::of(&app.refresh(refresh).await);
    }
}

/// What the sessions of an assistant share: a file with the last pair of tokens.
struct Shared {
    tokens: Tokens,
    /// When the access token expires, in seconds since the beginning.
    expires_at: u64,
    /// The refresh tokens that were used, the last one at the end.
    used: Vec<String>,
}

/// Where a session is when another one takes a step.
#[derive(Clone)]
enum Step {
    /// It uses this access token.
    Working(Tokens, u64),
    /// It has read this refresh token from the file, and has yet to send it.
    Refreshing(String),
    /// It has the answer, and has yet to write it to the file.
    Answered(Tokens, u64, String),
}

/// Connects an application without the consent page, which takes longer.
async fn connected(api: &TestApi, app: &OAuthApp<'_>, random: &Random) -> Tokens {
    let (acme, keys) = (tenant(ACME, Mode::Live), &api.environment.config.credential_keys);
    let (grant, access) = connect_app(&api.environment, acme, acme.organization, "Assistant").await;
    let refresh = Credential::generate(Kind::RefreshToken, acme, grant.id, Claims::default(), keys, random);
    let tokens = grant.tokens.clone().unwrap();
    let tokens = TokenSet { family: refresh.family_hash(), refresh: refresh.hash(), ..tokens };
    let mut transaction = Transaction::new(acme);
    let after = Grant { client_id: app.id.clone(), tokens: Some(tokens), version: 2, ..grant.clone() };
    transaction.replace_grant(&grant, &after).unwrap();
    api.store().commit(transaction).await.unwrap();
    Tokens { access: access.reveal().to_owned(), refresh: refresh.reveal().to_owned() }
}

/// Two terminals of one assistant share a file with the tokens. They refresh when a token has expired or is refused, each
/// without regard to the other, and some answers are lost. Whoever stole a token ends the access at the first attempt.
#[tokio::test]
async fn two_sessions_with_one_refresh_token_are_never_logged_out() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let start = api.environment.clock.now();
    let (mut now, mut refreshes, mut repeated) = (0, 0, 0);
    let set_clock = |second: u64| {
        api.clock.set(&(start + SignedDuration::from_secs(i64::try_from(second).unwrap())).to_string());
    };
    for seed in 0..1_000 {
        let random = Random::seeded(seed);
        let tokens = connected(&api, &app, &random).await;
        let mut file = Shared { tokens: tokens.clone(), expires_at: now + 3600, used: Vec::new() };
        let mut sessions = [0, 1].map(|_| Step::Working(tokens.clone(), now + 3600));
        // The steps that a session may take until it has to finish what it began.
        for _ in 0..9 {
            let turn = usize::try_from(random.below(2)).unwrap();
            let are_idle = sessions.iter().all(|step| matches!(step, Step::Working(..)));
            now +=
                if are_idle && random.below(2) == 0 { 1_200 + random.below(2_400) } else { random.below(5) };
            set_clock(now);
            sessions[turn] = match sessions[turn].clone() {
                Step::Working(tokens, expires_at) => {
                    let is_due = now + 30 >= expires_at;
                    if !is_due && token_status(&api, &tokens.access).await == 200 {
                        Step::Working(tokens, expires_at)
                    } else if file.tokens.refresh == tokens.refresh {
                        Step::Refreshing(tokens.refresh)
                    } else {
                        Step::Working(file.tokens.clone(), file.expires_at)
                    }
                }
                Step::Refreshing(refresh) => {
                    let answer = app.refresh(&refresh).await;
                    assert_eq!(answer.status, 200, "logged out: {} (seed {seed})", answer.text);
                    let expires_at = now + answer.number("/expires_in");
                    refreshes += 1;
                    if random.below(4) == 0 {
                        Step::Refreshing(refresh)
                    } else {
                        Step::Answered(Tokens::of(&answer), expires_at, refresh)
                    }
                }
                Step::Answered(tokens, expires_at, refresh) => {
                    if file.used.last() == Some(&refresh) {
                        assert_eq!(file.tokens.access, tokens.access, "seed {seed}");
                        repeated += 1;
                    } else {
                        file.used.push(refresh);
                        file = Shared { tokens: tokens.clone(), expires_at, ..file };
                    }
                    Step::Working(tokens, expires_at)
                }
            };
        }
        // The last token that was used may be repeated for a minute after its first use.
        now += 60;
        set_clock(now);
        let stolen = usize::try_from(random.below(file.used.len() as u64)).unwrap();
        let is_over = match file.used.get(stolen) {
            Some(old) => oauth_error(&app.refresh(old).await) == INVALID_GRANT,
            None => app.revoke(&file.tokens.refresh).await.status == 200,
        };
        assert!(is_over, "seed {seed}");
        assert_eq!(token_status(&api, &file.tokens.access).await, 401, "seed {seed}");
        assert_eq!(oauth_error(&app.refresh(&file.tokens.refresh).await), INVALID_GRANT, "seed {seed}");
    }
    assert!(refreshes > 1_000 && repeated > 50, "{refreshes} refreshes, {repeated} of them repeated");
}
