//! OAuth with a DynamoDB that is throttled, slow or gone: told so in OAuth's own form, and nothing half-done.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tests::browser::{Browser, Form};
use tests::oauth::{App, REDIRECT, Tokens, address, refusal, registration, status};
use tests::wire::Fault;
use tests::{ACME, Answer, World};

fn assert_unavailable(answer: &Answer, what: &str) {
    assert_eq!(refusal(answer), (503, "temporarily_unavailable"), "{what}");
    assert_eq!(answer.header("retry-after"), "1", "{what}");
    assert!(!answer.text.to_lowercase().contains("dynamo"), "no detail: {}", answer.text);
}

/// From now on, this goes wrong with every call of the operation.
fn play(world: &World, failing: &'static str, fault: &Fault) {
    let fault = fault.clone();
    world.wire.play(move |operation, _| (operation == failing).then(|| fault.clone()));
}

const NOT_DONE: [Fault; 3] = [Fault::Throttled, Fault::Unreachable, Fault::Internal];

#[tokio::test]
async fn what_was_not_done_for_a_fault_can_be_asked_again() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    let mut code = app.code(&browser, &app.asking(), "live").await;
    for fault in NOT_DONE {
        for failing in ["GetItem", "TransactWriteItems"] {
            let what = format!("{fault:?} of {failing}");
            play(&world, failing, &fault);
            assert_unavailable(&app.exchange(&code).await, &what);
            world.wire.play(|_, _| None);
            let first = Tokens::of(&app.exchange(&code).await);
            play(&world, failing, &fault);
            assert_unavailable(&app.refresh(&first.refresh).await, &what);
            world.wire.play(|_, _| None);
            assert_eq!(status(&world, &first.access).await, 200, "{what}");
            let next = Tokens::of(&app.refresh(&first.refresh).await);
            for token in [&next.access, &next.refresh] {
                play(&world, failing, &fault);
                assert_unavailable(&app.revoke(token).await, &what);
                world.wire.play(|_, _| None);
                assert_eq!(status(&world, &next.access).await, 200, "{what}");
            }
            app.revoke(&next.refresh).await.expect(200);
            assert_eq!(status(&world, &next.access).await, 401, "{what}");
            code = app.code(&browser, &app.asking(), "live").await;
        }
    }
}

#[tokio::test]
async fn a_registration_or_a_consent_that_fails_says_so() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    let page = browser.get(&address(&app.asking())).await.expect(200);
    let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
    for fault in NOT_DONE {
        for failing in ["UpdateItem", "PutItem"] {
            play(&world, failing, &fault);
            let answer = registration(&world, &json!({ "redirect_uris": [REDIRECT] })).send().await;
            assert_unavailable(&answer, &format!("{fault:?} of {failing}"));
        }
        for failing in ["GetItem", "BatchGetItem", "TransactWriteItems"] {
            play(&world, failing, &fault);
            let answer = browser.submit("/oauth/authorize", &form).await;
            assert_eq!((answer.status, answer.header("location")), (503, ""), "{fault:?} of {failing}");
            assert!(answer.header("content-type").starts_with("text/html"));
        }
        world.wire.play(|_, _| None);
    }
    let (_, told) = Form::of_location(&browser.submit("/oauth/authorize", &form).await);
    Tokens::of(&app.exchange(told.get("code")).await);
}

/// The first `times` answers to a transaction are lost.
fn lose_answers(world: &World, times: usize) {
    let lost = AtomicUsize::new(0);
    world.wire.play(move |operation, _| {
        let loses = operation == "TransactWriteItems" && lost.fetch_add(1, Ordering::SeqCst) < times;
        loses.then_some(Fault::AnswerLost)
    });
}

#[tokio::test]
async fn an_answer_that_is_lost_once_is_not_missed() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    let code = app.code(&browser, &app.asking(), "live").await;
    // The transaction is sent again with its token, so DynamoDB knows that it has done it.
    lose_answers(&world, 1);
    let first = Tokens::of(&app.exchange(&code).await);
    lose_answers(&world, 1);
    let next = Tokens::of(&app.refresh(&first.refresh).await);
    assert_eq!(status(&world, &next.access).await, 200);
    lose_answers(&world, 1);
    app.revoke(&next.refresh).await.expect(200);
    assert_eq!(status(&world, &next.access).await, 401);
}

#[tokio::test]
async fn a_lost_answer_leaves_nobody_with_more_than_was_granted() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    let code = app.code(&browser, &app.asking(), "live").await;
    // The code was spent, and nobody has the tokens: the member is asked again.
    lose_answers(&world, usize::MAX);
    assert_unavailable(&app.exchange(&code).await, "a code");
    world.wire.play(|_, _| None);
    assert_eq!(refusal(&app.exchange(&code).await), (400, "invalid_grant"));
    let first = app.connect(&browser).await;
    // The pair was renewed, and nobody has it: it is renewed once more.
    lose_answers(&world, usize::MAX);
    assert_unavailable(&app.refresh(&first.refresh).await, "a refresh token");
    world.wire.play(|_, _| None);
    assert_eq!(status(&world, &first.access).await, 401);
    let next = Tokens::of(&app.refresh(&first.refresh).await);
    assert_eq!(status(&world, &next.access).await, 200);
    // It was revoked, and nobody was told.
    lose_answers(&world, usize::MAX);
    assert_unavailable(&app.revoke(&next.refresh).await, "a revocation");
    world.wire.play(|_, _| None);
    assert_eq!(status(&world, &next.access).await, 401);
    app.revoke(&next.refresh).await.expect(200);
    // A consent whose answer was lost grants a code that nobody knows; the next one is good.
    let page = browser.get(&address(&app.asking())).await.expect(200);
    let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
    lose_answers(&world, usize::MAX);
    assert_eq!(browser.submit("/oauth/authorize", &form).await.status, 503);
    world.wire.play(|_, _| None);
    let (_, told) = Form::of_location(&browser.submit("/oauth/authorize", &form).await);
    Tokens::of(&app.exchange(told.get("code")).await);
}
