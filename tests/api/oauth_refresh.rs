//! OAuth: a refresh token for the next tokens.

use futures_util::future::join_all;
use http::Method;
use tests::browser::Browser;
use tests::oauth::{App, Tokens, refusal, status};
use tests::{ACME, World};

const DEAD: (u16, &str) = (400, "invalid_grant");

#[tokio::test]
async fn each_pair_takes_the_place_of_the_one_before() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    for method in ["none", "client_secret_basic", "client_secret_post"] {
        let app = App::register(&world, method).await;
        let mut tokens = app.connect(&browser).await;
        for _ in 0..3 {
            let answer = app.refresh(&tokens.refresh).await.expect(200);
            assert_eq!((answer.header("cache-control"), answer.number("/expires_in")), ("no-store", 3600));
            let next = Tokens::of(&answer);
            assert!(next.access != tokens.access && next.refresh != tokens.refresh);
            assert!(next.refresh.starts_with("rc_rt_L") && next.refresh.len() <= 256);
            assert_eq!(status(&world, &tokens.access).await, 401, "the old access token is no longer good");
            assert_eq!(status(&world, &next.access).await, 200);
            tokens = next;
        }
    }
}

#[tokio::test]
async fn whoever_lost_an_answer_asks_again_as_long_as_nobody_has_used_it() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    let first = app.connect(&browser).await;
    let lost = Tokens::of(&app.refresh(&first.refresh).await);
    let lost_too = Tokens::of(&app.refresh(&first.refresh).await);
    let kept = Tokens::of(&app.refresh(&first.refresh).await);
    for access in [&first.access, &lost.access, &lost_too.access] {
        assert_eq!(status(&world, access).await, 401, "one access token is good at a time");
    }
    assert_eq!(status(&world, &kept.access).await, 200);
    let next = Tokens::of(&app.refresh(&kept.refresh).await);
    assert_eq!(status(&world, &next.access).await, 200);
}

#[tokio::test]
async fn any_other_reuse_ends_the_grant() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    let untouched = app.connect(&browser).await;
    for how in [
        "the successor's access token was used",
        "the successor's refresh token was used",
        "a superseded successor's",
        "an older one, unused since",
        "an older one",
    ] {
        let first = app.connect(&browser).await;
        let second = Tokens::of(&app.refresh(&first.refresh).await);
        let (shown, last) = match how {
            "the successor's access token was used" => {
                assert_eq!(status(&world, &second.access).await, 200);
                (first.refresh, second)
            }
            "the successor's refresh token was used" => {
                let third = Tokens::of(&app.refresh(&second.refresh).await);
                (first.refresh, third)
            }
            // A thief who has the successor cannot live on beside the owner.
            "a superseded successor's" => {
                let again = Tokens::of(&app.refresh(&first.refresh).await);
                (second.refresh, again)
            }
            _ => {
                let third = Tokens::of(&app.refresh(&second.refresh).await);
                let fourth = Tokens::of(&app.refresh(&third.refresh).await);
                if how == "an older one" {
                    assert_eq!(status(&world, &fourth.access).await, 200);
                }
                (second.refresh, fourth)
            }
        };
        assert_eq!(refusal(&app.refresh(&shown).await), DEAD, "{how}");
        assert_eq!(status(&world, &last.access).await, 401, "{how}");
        for refresh in [&shown, &last.refresh] {
            assert_eq!(refusal(&app.refresh(refresh).await), DEAD, "{how}");
        }
    }
    assert_eq!(status(&world, &untouched.access).await, 200, "other grants go on");
    Tokens::of(&app.refresh(&untouched.refresh).await);
}

#[tokio::test]
async fn what_is_not_the_clients_own_or_not_one_of_ours_ends_nothing() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let (app, other) =
        (App::register(&world, "none").await, App::register(&world, "client_secret_post").await);
    let first = app.connect(&browser).await;
    let tokens = Tokens::of(&app.refresh(&first.refresh).await);
    let theirs = other.connect(&browser).await;
    for stolen in [&first.refresh, &tokens.refresh] {
        assert_eq!(refusal(&other.refresh(stolen).await), DEAD);
    }
    let mistyped = format!("{}A", &tokens.refresh[..tokens.refresh.len() - 1]);
    for junk in [&mistyped, &theirs.refresh, &tokens.access, "rc_rt_L", "nonsense", &"x".repeat(5_000), "🔑"]
    {
        assert_eq!(refusal(&app.refresh(junk).await), DEAD, "{junk}");
    }
    let good = App::refreshing(&tokens.refresh);
    for (wrong, word) in [
        (good.clone().without("refresh_token"), "invalid_request"),
        (good.clone().set("refresh_token", ""), "invalid_request"),
        (good.clone().and("refresh_token", &tokens.refresh), "invalid_request"),
        (good.clone().and("grant_type", "refresh_token"), "invalid_request"),
        (good.clone().and("scope", "roles:read").and("scope", "roles:read"), "invalid_request"),
        (good.clone().and("resource", "https://evil.example"), "invalid_target"),
        (good.clone().and("scope", "roles:delete"), "invalid_scope"),
        (good.clone().and("scope", " "), "invalid_scope"),
    ] {
        assert_eq!(refusal(&app.send("/oauth/token", &wrong).await), (400, word), "{wrong:?}");
    }
    assert_eq!(status(&world, &tokens.access).await, 200);
    let good = good.and("resource", "https://api.rolecall.test/api/v1");
    Tokens::of(&app.send("/oauth/token", &good).await);
    Tokens::of(&other.refresh(&theirs.refresh).await);
}

#[tokio::test]
async fn a_refresh_token_is_good_for_thirty_days_from_its_own_birth() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    let first = app.connect(&browser).await;
    world.hands.set("2026-12-20T09:29:59Z");
    let second = Tokens::of(&app.refresh(&first.refresh).await);
    world.hands.set("2027-01-19T09:29:58Z");
    let third = Tokens::of(&app.refresh(&second.refresh).await);
    world.hands.set("2027-02-18T09:29:58Z");
    assert_eq!(refusal(&app.refresh(&third.refresh).await), DEAD);
}

#[tokio::test]
async fn a_scope_may_shrink_for_a_pair_and_never_grow() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    let asking = app.asking().set("scope", "roles:read organization:read");
    let code = app.code(&browser, &asking, "live").await;
    let tokens = Tokens::of(&app.exchange(&code).await);
    let refresh = async |token: &str, scope: &str| {
        app.send("/oauth/token", &App::refreshing(token).and("scope", scope)).await
    };
    let roles =
        async |access: &str| world.request(Method::GET, "/api/v1/roles").bearer(access).send().await.status;
    for wider in [
        "roles:write",
        "roles:read roles:write",
        "roles:read organization:read channels:read",
        "roles:delete",
    ] {
        assert_eq!(refusal(&refresh(&tokens.refresh, wider).await), (400, "invalid_scope"), "{wider}");
    }
    let answer = refresh(&tokens.refresh, "organization:read").await.expect(200);
    assert_eq!(answer.string("/scope"), "organization:read");
    let narrow = Tokens::of(&answer);
    assert_eq!((status(&world, &narrow.access).await, roles(&narrow.access).await), (200, 403));
    let answer = app.refresh(&narrow.refresh).await.expect(200);
    assert_eq!(answer.string("/scope"), "roles:read organization:read", "the grant keeps its scopes");
    let whole = Tokens::of(&answer);
    assert_eq!((status(&world, &whole.access).await, roles(&whole.access).await), (200, 200));
    assert_eq!(refusal(&refresh(&whole.refresh, "roles:write").await), (400, "invalid_scope"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_several_who_refresh_at_once_at_most_one_has_a_good_pair() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    for several in [2, 2, 2, 20] {
        let first = app.connect(&browser).await;
        let answers = join_all((0..several).map(|_| app.refresh(&first.refresh))).await;
        let mut pairs = Vec::new();
        for answer in &answers {
            if answer.status == 200 {
                pairs.push(Tokens::of(answer));
            } else {
                assert_eq!(refusal(answer), DEAD);
            }
        }
        assert!(!pairs.is_empty());
        let mut good = Vec::new();
        for pair in pairs {
            if status(&world, &pair.access).await == 200 {
                good.push(pair);
            }
        }
        assert_eq!(good.len(), 1, "nobody has used any, so that the last one who asked has it");
        Tokens::of(&app.refresh(&good[0].refresh).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_uses_a_token_while_another_refreshes_is_never_beside_a_second_pair() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    for _ in 0..10 {
        let first = app.connect(&browser).await;
        let second = Tokens::of(&app.refresh(&first.refresh).await);
        // The one uses what it got; the other has lost the answer and asks again.
        let (used, retried) =
            futures_util::future::join(status(&world, &second.access), app.refresh(&first.refresh)).await;
        let last = (retried.status == 200).then(|| Tokens::of(&retried));
        assert!(last.is_some() || refusal(&retried) == DEAD, "{}", retried.text);
        assert!([200, 401].contains(&used), "{used}");
        assert!(used == 401 || last.is_none(), "used, and superseded");
        assert_eq!(status(&world, &second.access).await, 401);
        if let Some(last) = last {
            assert_eq!(status(&world, &last.access).await, 200);
        }
    }
}
