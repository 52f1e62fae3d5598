//! OAuth: refreshing tokens.

use futures_util::future::join_all;
use http::Method;
use tests::browser::Browser;
use tests::oauth::{OAuthApp, Tokens, oauth_error, token_status};
use tests::{ACME, TestApi};

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
                assert_eq!(token_status(&api, &before.access).await, 401, "only the last but one is valid");
            }
            assert_eq!(token_status(&api, &tokens.access).await, 200, "the old access token is still valid");
            assert_eq!(token_status(&api, &next.access).await, 200);
            before = Some(std::mem::replace(&mut tokens, next));
        }
    }
}

#[tokio::test]
async fn an_access_token_stays_valid_for_a_minute_after_a_refresh() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let first = app.connect(&browser).await;
    let query = app.authorization_request().set("scope", "roles:read organization:read");
    let code = app.code(&browser, &query, "live").await;
    let narrow = Tokens::of(&app.exchange(&code).await);
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
    api.clock.set("2026-11-20T09:30:59Z");
    for access in [&first.access, &second.access] {
        assert_eq!(token_status(&api, access).await, 200);
    }
    api.clock.set("2026-11-20T09:31:00Z");
    for (access, status) in [(&first.access, 401), (&second.access, 200)] {
        assert_eq!(token_status(&api, access).await, status);
    }
    // A minute never extends a token's hour.
    api.clock.set("2026-11-20T10:29:30Z");
    Tokens::of(&app.refresh(&second.refresh).await);
    assert_eq!(token_status(&api, &second.access).await, 200);
    api.clock.set("2026-11-20T10:30:00Z");
    assert_eq!(token_status(&api, &second.access).await, 401);
}

#[tokio::test]
async fn using_the_previous_access_token_does_not_prevent_a_retry() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let first = app.connect(&browser).await;
    let lost = Tokens::of(&app.refresh(&first.refresh).await);
    assert_eq!(token_status(&api, &first.access).await, 200);
    api.clock.set("2026-11-20T09:30:30Z");
    let kept = Tokens::of(&app.refresh(&first.refresh).await);
    let statuses = async |expected: [u16; 3]| {
        for (access, status) in [&first.access, &lost.access, &kept.access].into_iter().zip(expected) {
            assert_eq!(token_status(&api, access).await, status);
        }
    };
    statuses([200, 401, 200]).await;
    api.clock.set("2026-11-20T09:31:00Z");
    statuses([401, 401, 200]).await;
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
            _ => assert_eq!(oauth_error(&app.refresh(&first.refresh).await), INVALID_GRANT),
        }
        assert_eq!(token_status(&api, &first.access).await, 401, "{case}");
        let status = if case == "the previous token" { 200 } else { 401 };
        assert_eq!(token_status(&api, &second.access).await, status, "{case}");
    }
}

/// Every request reads and writes the item with the tokens, so tokens that have expired are removed.
#[tokio::test]
async fn replaced_access_tokens_are_removed() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let (one, two) = (app.connect(&browser).await, app.connect(&browser).await);
    Tokens::of(&app.refresh(&one.refresh).await);
    api.clock.set("2026-11-20T09:31:00Z");
    let two = Tokens::of(&app.refresh(&two.refresh).await);
    api.dynamodb.take_calls();
    assert_eq!(token_status(&api, &two.access).await, 200);
    let gate = api.dynamodb.take_calls().remove(0).response.to_string();
    assert_eq!(gate.matches("until_").count(), 1, "{gate}");
}

#[tokio::test]
async fn a_refresh_can_be_repeated_until_the_new_pair_is_used() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let first = app.connect(&browser).await;
    let lost = Tokens::of(&app.refresh(&first.refresh).await);
    let also_lost = Tokens::of(&app.refresh(&first.refresh).await);
    let kept = Tokens::of(&app.refresh(&first.refresh).await);
    for access in [&lost.access, &also_lost.access] {
        assert_eq!(token_status(&api, access).await, 401, "unused tokens become invalid at once");
    }
    assert_eq!(token_status(&api, &kept.access).await, 200);
    let next = Tokens::of(&app.refresh(&kept.refresh).await);
    assert_eq!(token_status(&api, &next.access).await, 200);
}

#[tokio::test]
async fn any_other_reuse_of_a_refresh_token_ends_the_grant() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let untouched = app.connect(&browser).await;
    for case in [
        "the successor's access token was used",
        "the successor's refresh token was used",
        "a replaced successor",
        "an older token whose successors were not used",
        "an older token whose successor was used",
    ] {
        let first = app.connect(&browser).await;
        let second = Tokens::of(&app.refresh(&first.refresh).await);
        let (reused, last) = match case {
            "the successor's access token was used" => {
                assert_eq!(token_status(&api, &second.access).await, 200);
                (first.refresh, second)
            }
            "the successor's refresh token was used" => {
                let third = Tokens::of(&app.refresh(&second.refresh).await);
                (first.refresh, third)
            }
            // A thief who has the successor cannot use it in parallel with the owner.
            "a replaced successor" => {
                let again = Tokens::of(&app.refresh(&first.refresh).await);
                (second.refresh, again)
            }
            _ => {
                let third = Tokens::of(&app.refresh(&second.refresh).await);
                let fourth = Tokens::of(&app.refresh(&third.refresh).await);
                if case == "an older token whose successor was used" {
                    assert_eq!(token_status(&api, &fourth.access).await, 200);
                }
                (second.refresh, fourth)
            }
        };
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
async fn concurrent_refreshes_leave_only_one_valid_pair() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    for count in [2, 2, 2, 20] {
        let first = app.connect(&browser).await;
        let responses = join_all((0..count).map(|_| app.refresh(&first.refresh))).await;
        let mut pairs = Vec::new();
        for response in &responses {
            if response.status == 200 {
                pairs.push(Tokens::of(response));
            } else {
                assert_eq!(oauth_error(response), INVALID_GRANT);
            }
        }
        assert!(!pairs.is_empty());
        let mut valid = Vec::new();
        for pair in pairs {
            if token_status(&api, &pair.access).await == 200 {
                valid.push(pair);
            }
        }
        assert_eq!(valid.len(), 1, "no pair was used, so the last one is valid");
        Tokens::of(&app.refresh(&valid[0].refresh).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn using_a_token_during_a_refresh_never_leaves_two_valid_pairs() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    for _ in 0..10 {
        let first = app.connect(&browser).await;
        let second = Tokens::of(&app.refresh(&first.refresh).await);
        // One request uses the new token while another repeats the refresh.
        let (used, retried) =
            futures_util::future::join(token_status(&api, &second.access), app.refresh(&first.refresh)).await;
        let last = (retried.status == 200).then(|| Tokens::of(&retried));
        assert!(last.is_some() || oauth_error(&retried) == INVALID_GRANT, "{}", retried.text);
        assert!([200, 401].contains(&used), "{used}");
        assert!(used == 401 || last.is_none(), "the token was used and replaced");
        assert_eq!(token_status(&api, &second.access).await, 401);
        if let Some(last) = last {
            assert_eq!(token_status(&api, &last.access).await, 200);
        }
    }
}
