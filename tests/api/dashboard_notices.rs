//! Notices: what has happened to a member's account is shown from the next sign-in until it is dismissed.

use rolecall_local::demo::DEMOS;
use shared::model::{MemberRole, Mode, PasswordHash};
use shared::store::Transaction;
use tests::browser::Browser;
use tests::dashboard::{add_member, escaped, owner, shown_once};
use tests::oauth::OAuthApp;
use tests::{ACME, BASE_URL, GLOBEX, Response, TestApi, tenant};

const PATH: &str = "/dashboard/settings/account/notices";
const BAND: &str = "See your notices";

/// The sentences on the page, newest first.
fn sentences(page: &Response) -> Vec<String> {
    let cells = page.text.split("data-label=\"What happened\">").skip(1);
    cells.map(|cell| tests::browser::plain(cell.split("</td>").next().unwrap())).collect()
}

async fn notices(browser: &Browser<'_>) -> Vec<String> {
    sentences(&browser.get(PATH).await.expect(200))
}

#[tokio::test]
async fn notices_are_shown_from_the_next_sign_in_until_they_are_dismissed() {
    let api = TestApi::new().await;
    let first = Browser::signed_in(&api, ACME).await;
    assert!(!first.get("/dashboard").await.expect(200).text.contains(BAND));
    assert_eq!(notices(&first).await, ["You signed in from a new browser: Unknown browser, 127.0.0.1."]);
    first.post("/dashboard/sign-out", &[]).await.expect(303);

    api.clock.set("2026-11-20T10:00:00Z");
    first.submit_sign_in("ada@acme.example", "acme demo password").await.expect(303);
    for page in ["/dashboard", "/dashboard/roles", PATH] {
        assert!(first.get(page).await.expect(200).text.contains(BAND), "{page}");
    }
    let page = first.get(PATH).await.expect(200);
    assert_eq!(sentences(&page).len(), 1, "a known browser is no news");
    assert!(page.text.contains("20 Nov 2026, 09:30 UTC"), "{}", page.text);

    // What happens after the page was opened is not dismissed with it.
    Browser::new(&api).at([10, 0, 0, 1]).submit_sign_in("ada@acme.example", "acme demo password").await;
    let newest = page.text.split("name=\"newest\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let dismissed = first.post(PATH, &[("newest", newest)]).await.expect(303);
    let page = first.follow(&dismissed).await.expect(200);
    assert!(page.text.contains("Notices dismissed.") && page.text.contains(BAND));
    assert_eq!(sentences(&page), ["You signed in from a new browser: Unknown browser, 10.0.0.1."]);
    let newest = page.text.split("name=\"newest\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let dismissed = first.post(PATH, &[("newest", newest)]).await.expect(303);
    let page = first.follow(&dismissed).await.expect(200);
    assert!(!page.text.contains(BAND) && page.text.contains("No notices"));
    first.submit_sign_in("ada@acme.example", "acme demo password").await.expect(303);
    assert!(!first.get("/dashboard").await.expect(200).text.contains(BAND));
    for invalid in ["", "x", "0", "-1"] {
        first.post(PATH, &[("newest", invalid)]).await.expect(400);
    }
}

#[tokio::test]
async fn a_browser_is_known_to_each_account_that_has_signed_in() {
    let api = TestApi::new().await;
    let browser = Browser::new(&api);
    let accounts = [0, 1].map(|demo| (DEMOS[demo].email, DEMOS[demo].password));
    for (email, password) in accounts.into_iter().chain(accounts) {
        browser.submit_sign_in(email, password).await.expect(303);
        assert_eq!(notices(&browser).await.len(), 1, "{email}");
    }
}

#[tokio::test]
async fn every_change_of_an_account_is_reported_to_its_member() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    // Jo has accepted the invitation.
    let password: PasswordHash = owner(&api, ACME).await.password.unwrap();
    let accepted = jo.clone().accepted(password, api.environment.clock.now());
    let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
    transaction.replace_member(&jo, &accepted).unwrap();
    transaction.claim_email(&accepted).unwrap();
    api.store().commit(transaction).await.unwrap();
    let browser = Browser::new(&api);
    browser.submit_sign_in("jo@members.example", "acme demo password").await.expect(303);
    let mut expected = vec!["You signed in from a new browser: Unknown browser, 127.0.0.1.".to_owned()];
    let mut happened = |sentence: &str| expected.insert(0, sentence.to_owned());

    let keys = "/dashboard/settings/integrations/api-keys";
    for mode in ["live", "test"] {
        let fields = [("name", "Sync <b>"), ("scope", "roles:read"), ("mode", mode)];
        browser.post(keys, &fields).await.expect(200);
        happened("You created the API key “Sync <b>”.");
    }
    api.clock.set("2026-11-20T09:31:00Z");
    OAuthApp::register(&api, "none").await.connect(&browser).await;
    happened("You connected the app “Assistant”.");
    let path = format!("/dashboard/settings/members/{}", jo.id);
    api.clock.set("2026-11-20T09:32:00Z");
    ada.post(&format!("{path}/role"), &[("role", "owner")]).await.expect(303);
    happened("Ada changed your role to owner.");
    let fields = [
        ("current", "acme demo password"),
        ("password", "a longer pass phrase"),
        ("repeated", "a longer pass phrase"),
    ];
    browser.post("/dashboard/settings/account/password", &fields).await.expect(303);
    happened("Your password was changed.");
    let page = ada.post(&format!("{path}/link"), &[]).await.expect(200);
    happened("Ada created a link to set a new password for you.");
    let token = shown_once(&page).unwrap().replace(&format!("{BASE_URL}/dashboard/password?token="), "");
    let fields =
        [("token", &*token), ("password", "another pass phrase"), ("repeated", "another pass phrase")];
    browser.post("/dashboard/password", &fields).await.expect(303);
    happened(
        "Your password was set with a link. Your sessions ended, and the apps that you had connected lost access.",
    );

    assert_eq!(notices(&browser).await, expected);
    assert!(browser.get(PATH).await.text.contains(&escaped("“Sync <b>”")));
    assert_eq!(notices(&ada).await, [""; 0], "they are only for Jo");
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    assert_eq!(notices(&grace).await, [""; 0]);
}

#[tokio::test]
async fn an_invited_member_gets_no_notices_about_the_invitation() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let page = ada.post(&format!("/dashboard/settings/members/{}/link", jo.id), &[]).await.expect(200);
    let token = shown_once(&page).unwrap().replace(&format!("{BASE_URL}/dashboard/password?token="), "");
    let browser = Browser::new(&api);
    let fields = [
        ("token", &*token),
        ("name", "Jo"),
        ("password", "a longer pass phrase"),
        ("repeated", "a longer pass phrase"),
    ];
    browser.post("/dashboard/password", &fields).await.expect(303);
    assert_eq!(notices(&browser).await, [""; 0]);
    // The browser is known from now on.
    browser.submit_sign_in("jo@members.example", "a longer pass phrase").await.expect(303);
    assert_eq!(notices(&browser).await, [""; 0]);
}
