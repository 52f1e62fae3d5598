//! OAuth requests return an OAuth error and leave no partial writes while DynamoDB is throttled, slow or unreachable.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tests::browser::{Browser, Form};
use tests::interceptor::Fault;
use tests::oauth::{
    OAuthApp, REDIRECT, Tokens, authorize_url, count_hashes, oauth_error, registration, token_status,
};
use tests::{ACME, Response, TestApi};

fn assert_unavailable(response: &Response, case: &str) {
    assert_eq!(oauth_error(response), (503, "temporarily_unavailable"), "{case}");
    assert_eq!(response.header("retry-after"), "1", "{case}");
    assert!(!response.text.to_lowercase().contains("dynamo"), "no details: {}", response.text);
}

/// Makes every call of an operation fail.
fn fail(api: &TestApi, failing: &'static str, fault: &Fault) {
    let fault = fault.clone();
    api.dynamodb.inject_faults(move |operation, _| (operation == failing).then(|| fault.clone()));
}

/// The faults that prevent a call from taking effect.
const WITHOUT_EFFECT: [Fault; 3] = [Fault::Throttled, Fault::Unreachable, Fault::Internal];

#[tokio::test]
async fn a_request_that_failed_without_effect_can_be_repeated() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let mut code = app.code(&browser, &app.authorization_request(), "live").await;
    for fault in WITHOUT_EFFECT {
        for failing in ["GetItem", "TransactWriteItems"] {
            let case = format!("{fault:?} of {failing}");
            fail(&api, failing, &fault);
            assert_unavailable(&app.exchange(&code).await, &case);
            api.dynamodb.inject_faults(|_, _| None);
            let first = Tokens::of(&app.exchange(&code).await);
            fail(&api, failing, &fault);
            assert_unavailable(&app.refresh(&first.refresh).await, &case);
            api.dynamodb.inject_faults(|_, _| None);
            assert_eq!(token_status(&api, &first.access).await, 200, "{case}");
            let next = Tokens::of(&app.refresh(&first.refresh).await);
            for token in [&next.access, &next.refresh] {
                fail(&api, failing, &fault);
                assert_unavailable(&app.revoke(token).await, &case);
                api.dynamodb.inject_faults(|_, _| None);
                assert_eq!(token_status(&api, &next.access).await, 200, "{case}");
            }
            app.revoke(&next.refresh).await.expect(200);
            assert_eq!(token_status(&api, &next.access).await, 401, "{case}");
            code = app.code(&browser, &app.authorization_request(), "live").await;
        }
    }
}

#[tokio::test]
async fn a_failed_registration_or_consent_returns_503() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let page = browser.get(&authorize_url(&app.authorization_request())).await.expect(200);
    let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
    for fault in WITHOUT_EFFECT {
        for failing in ["UpdateItem", "PutItem"] {
            fail(&api, failing, &fault);
            let response = registration(&api, &json!({ "redirect_uris": [REDIRECT] })).send().await;
            assert_unavailable(&response, &format!("{fault:?} of {failing}"));
        }
        for failing in ["GetItem", "BatchGetItem", "TransactWriteItems"] {
            fail(&api, failing, &fault);
            let response = browser.submit("/oauth/authorize", &form).await;
            assert_eq!((response.status, response.header("location")), (503, ""), "{fault:?} of {failing}");
            assert!(response.header("content-type").starts_with("text/html"));
        }
        api.dynamodb.inject_faults(|_, _| None);
    }
    let (_, params) = Form::of_location(&browser.submit("/oauth/authorize", &form).await);
    Tokens::of(&app.exchange(params.get("code")).await);
}

/// Loses the responses to the first `times` transactions.
fn lose_responses(api: &TestApi, times: usize) {
    let lost = AtomicUsize::new(0);
    api.dynamodb.inject_faults(move |operation, _| {
        let is_lost = operation == "TransactWriteItems" && lost.fetch_add(1, Ordering::SeqCst) < times;
        is_lost.then_some(Fault::ResponseLost)
    });
}

#[tokio::test]
async fn a_transaction_is_retried_after_one_lost_response() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let code = app.code(&browser, &app.authorization_request(), "live").await;
    // The transaction is retried with the same token, so DynamoDB does not apply it twice.
    lose_responses(&api, 1);
    let first = Tokens::of(&app.exchange(&code).await);
    lose_responses(&api, 1);
    let next = Tokens::of(&app.refresh(&first.refresh).await);
    assert_eq!(token_status(&api, &next.access).await, 200);
    lose_responses(&api, 1);
    app.revoke(&next.refresh).await.expect(200);
    assert_eq!(token_status(&api, &next.access).await, 401);
}

#[tokio::test]
async fn lost_responses_never_leave_extra_valid_tokens() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let code = app.code(&browser, &app.authorization_request(), "live").await;
    // The code is used up and the tokens are lost, so the member has to consent again.
    lose_responses(&api, usize::MAX);
    assert_unavailable(&app.exchange(&code).await, "a code");
    api.dynamodb.inject_faults(|_, _| None);
    assert_eq!(oauth_error(&app.exchange(&code).await), (400, "invalid_grant"));
    let keys = count_hashes(&api).await;
    let first = app.connect(&browser).await;
    // The tokens were refreshed and the new ones are lost, so the application refreshes again.
    lose_responses(&api, usize::MAX);
    assert_unavailable(&app.refresh(&first.refresh).await, "a refresh token");
    api.dynamodb.inject_faults(|_, _| None);
    assert_eq!(token_status(&api, &first.access).await, 200, "it stays valid");
    let next = Tokens::of(&app.refresh(&first.refresh).await);
    assert_eq!(token_status(&api, &next.access).await, 200);
    assert_eq!(count_hashes(&api).await, keys + 2, "the lost pair is the one that is given again");
    // The token was revoked, but the response was lost.
    lose_responses(&api, usize::MAX);
    assert_unavailable(&app.revoke(&next.refresh).await, "a revocation");
    api.dynamodb.inject_faults(|_, _| None);
    assert_eq!(token_status(&api, &next.access).await, 401);
    app.revoke(&next.refresh).await.expect(200);
    // If the response to a consent is lost, its code is lost too. The next consent succeeds.
    let page = browser.get(&authorize_url(&app.authorization_request())).await.expect(200);
    let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
    lose_responses(&api, usize::MAX);
    assert_eq!(browser.submit("/oauth/authorize", &form).await.status, 503);
    api.dynamodb.inject_faults(|_, _| None);
    let (_, params) = Form::of_location(&browser.submit("/oauth/authorize", &form).await);
    Tokens::of(&app.exchange(params.get("code")).await);
}
