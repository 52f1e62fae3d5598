//! OAuth: changes to a grant between a request's reads and its write.

use std::sync::Arc;

use shared::model::Mode;
use shared::services::membership::{self, KeyDecision};
use shared::store::Transaction;
use tests::browser::{Browser, Form};
use tests::oauth::{OAuthApp, Tokens, authorize_url, oauth_error, token_status};
use tests::{ACME, GLOBEX, TestApi, read_credential, tenant};
use tokio::sync::oneshot::{self, Receiver};

const WRITE: &str = "TransactWriteItems";
const INVALID_GRANT: (u16, &str) = (400, "invalid_grant");

/// Refreshes these tokens in a concurrent request right before the next write. Sends the new tokens to the receiver.
fn refresh_before_next_write(api: &Arc<TestApi>, app: &OAuthApp<'_>, refresh: &str) -> Receiver<Tokens> {
    let (shared_api, id, refresh) = (api.clone(), app.id.clone(), refresh.to_owned());
    let (sender, receiver) = oneshot::channel();
    api.dynamodb.run_before(WRITE, async move {
        sender.send(Tokens::of(&OAuthApp::public(&shared_api, &id).refresh(&refresh).await)).unwrap();
    });
    receiver
}

#[tokio::test]
async fn a_repeated_refresh_racing_with_the_use_of_the_new_token_ends_the_grant() {
    let api = Arc::new(TestApi::new().await);
    let app = OAuthApp::register(&api, "none").await;
    let first = app.connect(&Browser::signed_in(&api, ACME).await).await;
    let second = Tokens::of(&app.refresh(&first.refresh).await);
    let (shared_api, access) = (api.clone(), second.access.clone());
    api.dynamodb.run_before(WRITE, async move { assert_eq!(token_status(&shared_api, &access).await, 200) });
    assert_eq!(oauth_error(&app.refresh(&first.refresh).await), INVALID_GRANT);
    assert_eq!(token_status(&api, &second.access).await, 401);
    assert_eq!(oauth_error(&app.refresh(&second.refresh).await), INVALID_GRANT);
}

#[tokio::test]
async fn a_refresh_racing_with_another_one_is_evaluated_again() {
    let api = Arc::new(TestApi::new().await);
    let app = OAuthApp::register(&api, "none").await;
    let first = app.connect(&Browser::signed_in(&api, ACME).await).await;
    let concurrent = refresh_before_next_write(&api, &app, &first.refresh);
    let last = Tokens::of(&app.refresh(&first.refresh).await);
    assert_eq!(token_status(&api, &concurrent.await.unwrap().access).await, 401);
    assert_eq!(token_status(&api, &last.access).await, 200);
}

#[tokio::test]
async fn an_exchange_racing_with_another_one_ends_the_grant() {
    let api = Arc::new(TestApi::new().await);
    let app = OAuthApp::register(&api, "none").await;
    let code = app.code(&Browser::signed_in(&api, ACME).await, &app.authorization_request(), "live").await;
    let (shared_api, id, same) = (api.clone(), app.id.clone(), code.clone());
    let (sender, concurrent) = oneshot::channel();
    api.dynamodb.run_before(WRITE, async move {
        sender.send(Tokens::of(&OAuthApp::public(&shared_api, &id).exchange(&same).await)).unwrap();
    });
    assert_eq!(oauth_error(&app.exchange(&code).await), INVALID_GRANT);
    assert_eq!(token_status(&api, &concurrent.await.unwrap().access).await, 401);
}

#[tokio::test]
async fn a_grant_revoked_during_a_request_stays_revoked() {
    let api = Arc::new(TestApi::new().await);
    let app = OAuthApp::register(&api, "none").await;
    let browser = Browser::signed_in(&api, ACME).await;
    let first = app.connect(&browser).await;
    let code = app.code(&browser, &app.authorization_request(), "live").await;
    for credential_sent in [&first.refresh, &code] {
        let (shared_api, credential) = (api.clone(), read_credential(credential_sent));
        api.dynamodb.run_before(WRITE, async move {
            let (store, now) = (shared_api.store(), shared_api.environment.clock.now());
            let grant = store.find_grant(credential.tenant(), credential.id()).await.unwrap().unwrap();
            let mut transaction = Transaction::new(credential.tenant());
            transaction.revoke_grant(&grant, now).unwrap();
            store.commit(transaction).await.unwrap();
        });
        let response = if *credential_sent == code {
            app.exchange(credential_sent).await
        } else {
            app.refresh(credential_sent).await
        };
        assert_eq!(oauth_error(&response), INVALID_GRANT);
    }
    assert_eq!(token_status(&api, &first.access).await, 401);
}

#[tokio::test]
async fn revoking_an_old_access_token_does_not_revoke_its_successor() {
    let api = Arc::new(TestApi::new().await);
    let app = OAuthApp::register(&api, "none").await;
    let first = app.connect(&Browser::signed_in(&api, ACME).await).await;
    let next = refresh_before_next_write(&api, &app, &first.refresh);
    app.revoke(&first.access).await.expect(200);
    let next = next.await.unwrap();
    assert_eq!(token_status(&api, &next.access).await, 200);
    // Revoking the refresh token revokes the whole grant, including newer tokens.
    let last = refresh_before_next_write(&api, &app, &next.refresh);
    app.revoke(&next.refresh).await.expect(200);
    let last = last.await.unwrap();
    assert_eq!(token_status(&api, &last.access).await, 401);
    assert_eq!(oauth_error(&app.refresh(&last.refresh).await), INVALID_GRANT);
}

#[tokio::test]
async fn an_access_token_that_is_replaced_during_its_revocation_is_revoked() {
    let api = Arc::new(TestApi::new().await);
    let app = OAuthApp::register(&api, "none").await;
    let mut last = app.connect(&Browser::signed_in(&api, ACME).await).await;
    // The token is the current one, and then the previous one, when its revocation begins.
    for is_previous in [false, true] {
        let token = last.access.clone();
        assert_eq!(token_status(&api, &token).await, 200);
        if is_previous {
            last = Tokens::of(&app.refresh(&last.refresh).await);
            assert_eq!(token_status(&api, &last.access).await, 200);
        }
        let next = refresh_before_next_write(&api, &app, &last.refresh);
        app.revoke(&token).await.expect(200);
        last = next.await.unwrap();
        assert_eq!(token_status(&api, &token).await, 401, "previous: {is_previous}");
        assert_eq!(token_status(&api, &last.access).await, 200);
    }
}

#[tokio::test]
async fn an_access_token_revoked_during_a_refresh_stays_revoked() {
    let api = Arc::new(TestApi::new().await);
    let app = OAuthApp::register(&api, "none").await;
    let first = app.connect(&Browser::signed_in(&api, ACME).await).await;
    let (shared_api, id, access) = (api.clone(), app.id.clone(), first.access.clone());
    api.dynamodb.run_before(WRITE, async move {
        OAuthApp::public(&shared_api, &id).revoke(&access).await.expect(200);
    });
    let next = Tokens::of(&app.refresh(&first.refresh).await);
    assert_eq!(token_status(&api, &first.access).await, 401);
    assert_eq!(token_status(&api, &next.access).await, 200);
}

#[tokio::test]
async fn cleaning_up_an_expired_token_does_not_remove_its_successor() {
    let api = Arc::new(TestApi::new().await);
    let app = OAuthApp::register(&api, "none").await;
    let browser = Browser::signed_in(&api, ACME).await;
    let (one, two) = (app.connect(&browser).await, app.connect(&browser).await);
    api.clock.set("2026-11-20T10:31:00Z");
    let two = refresh_before_next_write(&api, &app, &two.refresh);
    let next = Tokens::of(&app.refresh(&one.refresh).await);
    let two = two.await.unwrap();
    assert_eq!(token_status(&api, &two.access).await, 200);
    // The same applies to a repeated refresh after a lost response.
    api.clock.set("2026-11-20T11:00:00Z");
    let lost = Tokens::of(&app.refresh(&next.refresh).await);
    api.clock.set("2026-11-20T11:32:00Z");
    let two = refresh_before_next_write(&api, &app, &two.refresh);
    let again = Tokens::of(&app.refresh(&next.refresh).await);
    for (access, expected) in [(two.await.unwrap().access, 200), (again.access, 200), (lost.access, 401)] {
        assert_eq!(token_status(&api, &access).await, expected);
    }
}

#[tokio::test]
async fn a_member_removed_during_a_consent_grants_nothing() {
    let api = Arc::new(TestApi::new().await);
    let app = OAuthApp::register(&api, "none").await;
    let browser = Browser::signed_in(&api, GLOBEX).await;
    let page = browser.get(&authorize_url(&app.authorization_request())).await.expect(200);
    let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
    let shared_api = api.clone();
    api.dynamodb.run_before(WRITE, async move {
        let (store, now) = (shared_api.store(), shared_api.environment.clock.now());
        let organization = tenant(GLOBEX, Mode::Live).organization;
        let member = store.find_member(organization, organization).await.unwrap().unwrap();
        membership::remove(store, organization, &member, None, |_, _| KeyDecision::End, now).await.unwrap();
    });
    let response = browser.submit("/oauth/authorize", &form).await;
    assert_eq!(Form::of_location(&response).0, "/dashboard/sign-in");
}
