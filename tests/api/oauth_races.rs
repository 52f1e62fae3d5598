//! OAuth: changes to a grant between a request's reads and its write.

use std::sync::Arc;

use shared::model::{Mode, Room};
use shared::services::membership::{self, Decision};
use shared::store::Transaction;
use tests::browser::{Browser, Form};
use tests::dashboard::connect_app;
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
async fn a_refresh_racing_with_another_one_gets_the_same_pair() {
    let api = Arc::new(TestApi::new().await);
    let app = OAuthApp::register(&api, "none").await;
    let first = app.connect(&Browser::signed_in(&api, ACME).await).await;
    let concurrent = refresh_before_next_write(&api, &app, &first.refresh);
    let last = Tokens::of(&app.refresh(&first.refresh).await);
    let concurrent = concurrent.await.unwrap();
    assert_eq!((concurrent.access, concurrent.refresh), (last.access.clone(), last.refresh));
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
async fn cleaning_up_expired_tokens_does_not_remove_their_successors() {
    let api = Arc::new(TestApi::new().await);
    let app = OAuthApp::register(&api, "none").await;
    let one = app.connect(&Browser::signed_in(&api, ACME).await).await;
    api.clock.set("2026-11-20T10:31:00Z");
    let code = app.code(&Browser::signed_in(&api, ACME).await, &app.authorization_request(), "live").await;
    let one = refresh_before_next_write(&api, &app, &one.refresh);
    let two = Tokens::of(&app.exchange(&code).await);
    for access in [one.await.unwrap().access, two.access] {
        assert_eq!(token_status(&api, &access).await, 200);
    }
}

/// Two consents at the same time see the same room, and only one of them takes it.
#[tokio::test]
async fn a_consent_racing_with_another_one_or_with_a_narrowing_is_evaluated_again() {
    let api = Arc::new(TestApi::new().await);
    let (app, acme) = (OAuthApp::register(&api, "none").await, tenant(ACME, Mode::Live));
    let ada = acme.organization;
    let mut grants = Vec::new();
    for _ in 0..Room::MAX_OF_MEMBER - 1 {
        grants.push(connect_app(&api.environment, acme, ada, "App").await.0);
    }
    let browser = Browser::signed_in(&api, ACME).await;
    let consent = async || {
        let page = browser.get(&authorize_url(&app.authorization_request())).await.expect(200);
        let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
        browser.submit("/oauth/authorize", &form).await
    };
    let shared_api = api.clone();
    api.dynamodb.run_before(WRITE, async move {
        let (id, browser) =
            (OAuthApp::register(&shared_api, "none").await.id, Browser::signed_in(&shared_api, ACME).await);
        let other = OAuthApp::public(&shared_api, &id);
        other.code(&browser, &other.authorization_request(), "live").await;
    });
    let shown_again = consent().await.expect(200);
    assert!(shown_again.text.contains("No more applications fit"), "{}", shown_again.text);
    let now = api.environment.clock.now();
    let good = api.store().list_good_grants(acme, now).await.unwrap();
    assert_eq!(good.len(), Room::MAX_OF_MEMBER);
    // Another application at the same site is narrowed in between.
    let (shared_api, grant) = (api.clone(), grants.remove(0));
    api.dynamodb.run_before(WRITE, async move {
        let mut transaction = Transaction::new(acme);
        transaction.narrow_grant(&grant, now).unwrap();
        shared_api.store().commit(transaction).await.unwrap();
    });
    let shown_again = consent().await.expect(200);
    assert!(shown_again.text.contains("Only reading is offered"), "{}", shown_again.text);
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
        membership::remove(store, organization, &member, None, |_, _| Decision::End, now).await.unwrap();
    });
    let response = browser.submit("/oauth/authorize", &form).await;
    assert_eq!(Form::of_location(&response).0, "/dashboard/sign-in");
}
