//! Single-use links for invitations and password resets: each works once, for a limited time, and for one member.

use futures_util::future::{join, join_all};
use shared::auth::Kind;
use shared::id::Id;
use shared::model::{MemberRole, Mode};
use shared::random::Random;
use tests::browser::{Browser, form, input};
use tests::dashboard::{add_member, owner, shown_once};
use tests::{ACME, BASE_URL, GLOBEX, Response, TestApi, key, new_credential, read_credential, tenant};

use crate::dashboard_access::{is_write, without_request_id};

const MEMBERS: &str = "/dashboard/settings/members";
const PATH: &str = "/dashboard/password";
const PASSWORD: &str = "a longer pass phrase";
const INVALID: &str = "This link is no longer valid: it was used or replaced, or it has expired.";

/// Invites a member as an owner, and returns the link's token.
pub(crate) async fn invite(owner: &Browser<'_>, name: &str, email: &str) -> String {
    let fields = [("name", name), ("email", email), ("role", "member")];
    token_of(&owner.post(MEMBERS, &fields).await.expect(200))
}

/// Creates a link for a member as an owner, and returns its token.
pub(crate) async fn create_link(owner: &Browser<'_>, member: Id) -> String {
    token_of(&owner.post(&format!("{MEMBERS}/{member}/link"), &[]).await.expect(200))
}

fn token_of(page: &Response) -> String {
    let link = shown_once(page).expect("a link");
    link.strip_prefix(&format!("{BASE_URL}{PATH}?token=")).expect("the link's URL").to_owned()
}

async fn open(browser: &Browser<'_>, token: &str) -> Response {
    browser.get(&format!("{PATH}?{}", form(&[("token", token)]))).await
}

pub(crate) async fn set(browser: &Browser<'_>, token: &str, name: &str, password: &str) -> Response {
    browser
        .post(PATH, &[("token", token), ("name", name), ("password", password), ("repeated", password)])
        .await
}

fn assert_invalid(response: &Response, what: &str) {
    assert_eq!(response.status, 400, "{what}: {}", response.text);
    assert!(response.text.contains(INVALID), "{what}: {}", response.text);
    assert!(
        !response
            .headers
            .get_all("set-cookie")
            .iter()
            .any(|cookie| { str::from_utf8(cookie.as_bytes()).unwrap().contains("rc_ss_") }),
        "{what}"
    );
}

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

#[tokio::test]
async fn an_invitation_is_accepted_once_with_a_name_and_a_password() {
    let api = TestApi::new().await;
    let owner = acme(&api).await;
    let token = invite(&owner, "Jo & \"Co\"", "Jo@acme.example").await;
    assert!(!owner.get(MEMBERS).await.expect(200).text.contains(&token), "the link is shown only once");
    api.clock.set("2026-11-27T09:29:59Z");
    let jo = Browser::new(&api);
    for _ in 0..3 {
        api.dynamodb.take_calls();
        let page = open(&jo, &token).await.expect(200);
        assert!(!api.dynamodb.take_calls().iter().any(is_write), "opening the link writes nothing");
        assert!(page.text.contains("Welcome to Acme") && page.text.contains("Jo@acme.example"));
        assert_eq!((input(&page, "name"), input(&page, "token")), ("Jo & \"Co\"".to_owned(), token.clone()));
    }
    Browser::new(&api).submit_sign_in("jo@acme.example", PASSWORD).await.expect(401);

    let long = "x".repeat(201);
    let other = "another pass phrase";
    for (name, first, second, problems) in [
        ("", PASSWORD, PASSWORD, &["Your name can&#39;t be blank."][..]),
        (&long, PASSWORD, PASSWORD, &["Your name must be at most 200 characters."]),
        ("Jo\u{7}", PASSWORD, PASSWORD, &["Your name must not contain control characters"]),
        ("Jo <b>", "short", "short", &["The password must be at least 12 characters."]),
        ("Jo <b>", PASSWORD, other, &["The passwords do not match."]),
        ("Jo <b>", "aaaaaaaaaaaaaa", "aaaaaaaaaaaaaa", &["The password must not be a simple sequence"]),
        ("", "", "", &["Your name can&#39;t be blank.", "The password must be at least 12 characters."]),
    ] {
        api.dynamodb.take_calls();
        let fields = [("token", &*token), ("name", name), ("password", first), ("repeated", second)];
        let page = jo.post(PATH, &fields).await.expect(422);
        for problem in problems {
            assert!(page.text.contains(problem), "{problem}: {}", page.text);
        }
        assert_eq!((input(&page, "name"), input(&page, "token")), (name.to_owned(), token.clone()));
        assert_eq!((input(&page, "password"), input(&page, "repeated")), (String::new(), String::new()));
        assert!(!api.dynamodb.take_calls().iter().any(is_write), "{problems:?}");
    }

    let response = set(&jo, &token, " Jo Doe ", PASSWORD).await.expect(303);
    let page = jo.follow(&response).await.expect(200);
    assert!(page.text.contains("Password set. You are signed in.") && page.text.contains("Jo Doe"));
    assert_invalid(&open(&jo, &token).await, "opened again");
    assert_invalid(&set(&jo, &token, "Jo", PASSWORD).await, "sent again");
    Browser::new(&api).submit_sign_in("jo@acme.example", PASSWORD).await.expect(303);
}

#[tokio::test]
async fn a_new_password_ends_the_sessions_and_keeps_the_name() {
    let api = TestApi::new().await;
    let colleague = add_member(&api, ACME, "Colleague", MemberRole::Owner).await;
    let colleague = Browser::with_session(&api, ACME, &colleague).await;
    let ada = owner(&api, ACME).await;
    let session = Browser::with_session(&api, ACME, &ada).await;
    let token = create_link(&colleague, ada.id).await;
    session.get("/dashboard").await.expect(200);
    let browser = Browser::new(&api);
    let page = open(&browser, &token).await.expect(200);
    assert!(page.text.contains("Set a new password") && page.text.contains("Acme"));
    assert!(!page.text.contains("name=\"name\""), "only an invitation asks for a name");
    set(&browser, &token, "Somebody Else", PASSWORD).await.expect(303);
    assert_eq!(owner(&api, ACME).await.name, ada.name);
    session.get("/dashboard").await.expect(303);
    browser.get("/dashboard").await.expect(200);
    Browser::new(&api).submit_sign_in(ada.email.as_str(), "acme demo password").await.expect(401);
    Browser::new(&api).submit_sign_in(ada.email.as_str(), PASSWORD).await.expect(303);
}

#[tokio::test]
async fn links_expire() {
    let api = TestApi::new().await;
    let owner = acme(&api).await;
    let ada = tests::dashboard::owner(&api, ACME).await.id;
    let (invitation, reset) = (invite(&owner, "Jo", "jo@acme.example").await, create_link(&owner, ada).await);
    let browser = Browser::new(&api);
    for (time, invitation_status, reset_status) in [
        ("2026-11-21T09:29:59.000Z", 200, 200),
        ("2026-11-21T09:30:00.000Z", 200, 400),
        ("2026-11-27T09:29:59.000Z", 200, 400),
        ("2026-11-27T09:30:00.000Z", 400, 400),
    ] {
        api.clock.set(time);
        assert_eq!(open(&browser, &invitation).await.status, invitation_status, "{time}");
        assert_eq!(open(&browser, &reset).await.status, reset_status, "{time}");
    }
    assert_invalid(&set(&browser, &invitation, "Jo", PASSWORD).await, "late");
    assert_invalid(&set(&browser, &reset, "Jo", PASSWORD).await, "late");
}

#[tokio::test]
async fn a_new_link_replaces_the_previous_one() {
    let api = TestApi::new().await;
    let owner = acme(&api).await;
    let first = invite(&owner, "Jo", "jo@acme.example").await;
    let id = read_credential(&first).id();
    let second = create_link(&owner, id).await;
    let browser = Browser::new(&api);
    assert_invalid(&open(&browser, &first).await, "replaced");
    assert_invalid(&set(&browser, &first, "Jo", PASSWORD).await, "replaced");
    api.clock.set("2026-11-27T09:29:59Z");
    assert!(
        open(&browser, &second).await.expect(200).text.contains("Welcome to Acme"),
        "the new link is valid for seven days, too"
    );
    set(&browser, &second, "Jo", PASSWORD).await.expect(303);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_one_of_twenty_concurrent_requests_sets_the_password() {
    let api = TestApi::new().await;
    let token = invite(&acme(&api).await, "Jo", "jo@acme.example").await;
    let browsers: Vec<_> = (0..20).map(|_| Browser::new(&api)).collect();
    let passwords: Vec<_> = (0..20).map(|n| format!("{PASSWORD} {n}")).collect();
    join_all(browsers.iter().map(Browser::csrf)).await;
    let sent =
        browsers.iter().zip(&passwords).map(|(browser, password)| set(browser, &token, "Jo", password));
    let responses = join_all(sent).await;
    let won: Vec<_> = (0..20).filter(|n| responses[*n].status == 303).collect();
    assert_eq!(won.len(), 1, "{:?}", responses.iter().map(|response| response.status).collect::<Vec<_>>());
    for (n, response) in responses.iter().enumerate().filter(|(n, _)| *n != won[0]) {
        assert_invalid(response, &n.to_string());
    }
    Browser::new(&api).submit_sign_in("jo@acme.example", &passwords[won[0]]).await.expect(303);
}

#[tokio::test]
async fn all_invalid_links_get_the_same_response() {
    let api = TestApi::new().await;
    let owner = acme(&api).await;
    let good = invite(&owner, "Jo", "jo@acme.example").await;
    let id = read_credential(&good).id();
    let (acme, globex) = (tenant(ACME, Mode::Live), tenant(GLOBEX, Mode::Live));
    let forged = |kind, tenant, id| new_credential(kind, tenant, id, &Random::seeded(1)).reveal().to_owned();
    let mistyped = good.replace("rc_ln_L", "rc_ln_T");
    let shortened = &good[..good.len() - 1];
    let nobody = Id::new(17).unwrap();
    let browser = Browser::new(&api);
    browser.csrf().await;
    let mut responses = Vec::new();
    for wrong in [
        "",
        "x",
        "rc_ln_L",
        shortened,
        &mistyped,
        &format!("{good} "),
        &key(ACME, Mode::Live),
        &owner.cookie(),
        &forged(Kind::Link, acme, id),
        &forged(Kind::Link, globex, id),
        &forged(Kind::Link, acme, nobody),
        // A member without a link.
        &forged(Kind::Link, acme, acme.organization),
        &"x".repeat(4_000),
    ] {
        let (opened, sent) = (open(&browser, wrong).await, set(&browser, wrong, "Jo", PASSWORD).await);
        assert_invalid(&opened, wrong);
        assert_invalid(&sent, wrong);
        responses.extend([without_request_id(&opened), without_request_id(&sent)]);
    }
    assert!(responses.iter().all(|response| *response == responses[0]));
    open(&browser, &good).await.expect(200);
    assert!(!owner.get(MEMBERS).await.text.contains(&good));
}

#[tokio::test]
async fn a_link_is_stored_as_a_hash_and_gives_no_other_access() {
    let api = TestApi::new().await;
    let owner = acme(&api).await;
    api.dynamodb.take_calls();
    let token = invite(&owner, "Jo", "jo@acme.example").await;
    assert!(
        !api.dynamodb
            .take_calls()
            .iter()
            .any(|call| format!("{} {}", call.request, call.response).contains(&token))
    );
    Browser::with_cookie(&api, &token).get("/dashboard").await.expect(303);
    let request = api.request(http::Method::GET, "/api/v1/roles");
    request.header("authorization", &format!("Bearer {token}")).send().await.expect(401);
}

#[tokio::test]
async fn a_removed_members_link_is_invalid() {
    let api = TestApi::new().await;
    let owner = acme(&api).await;
    let token = invite(&owner, "Jo", "jo@acme.example").await;
    let id = read_credential(&token).id();
    owner.post(&format!("{MEMBERS}/{id}/remove"), &[]).await.expect(303);
    assert_invalid(&open(&Browser::new(&api), &token).await, "removed");
    assert_invalid(&set(&Browser::new(&api), &token, "Jo", PASSWORD).await, "removed");
}

/// An invitation claims nothing, so an organization cannot keep others from inviting somebody.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_organizations_invite_the_same_address_and_both_invitations_are_accepted() {
    let api = TestApi::new().await;
    let (acme, globex) =
        (acme(&api).await, Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await);
    let tokens =
        [invite(&acme, "Al", "Al@jobs.example").await, invite(&globex, "Al", "al@jobs.example").await];
    let browsers = [Browser::new(&api), Browser::new(&api)];
    join(browsers[0].csrf(), browsers[1].csrf()).await;
    let (one, two) = join(
        set(&browsers[0], &tokens[0], "Al", PASSWORD),
        set(&browsers[1], &tokens[1], "Al", "another pass phrase"),
    )
    .await;
    assert_eq!([one.status, two.status], [303, 303]);
    for (browser, name) in browsers.iter().zip(["Acme", "Globex"]) {
        assert!(browser.get("/dashboard").await.expect(200).text.contains(name));
    }
}

#[tokio::test]
async fn an_organization_invites_an_address_once_until_the_invitation_expires() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    let ada = owner(&api, ACME).await;
    let first = invite(&browser, "Jo", "Jo@Jobs.example").await;
    for email in ["jo@jobs.example", "JO@JOBS.EXAMPLE", "ada@acme.example"] {
        let fields = [("name", "Jo <i>"), ("email", email), ("role", "owner")];
        let page = browser.post(MEMBERS, &fields).await.expect(422);
        let problem =
            "This e-mail address already belongs to a member or an open invitation of your organization.";
        assert!(page.text.contains(problem), "{}", page.text);
        assert_eq!((input(&page, "name"), input(&page, "email")), ("Jo <i>".to_owned(), email.to_owned()));
        assert!(page.text.contains("<option value=\"owner\" selected>") && shown_once(&page).is_none());
    }
    api.clock.set("2026-11-27T09:30:00Z");
    let browser = Browser::with_session(&api, ACME, &ada).await;
    let second = invite(&browser, "Jo", "jo@jobs.example").await;
    let members = api.store().list_members(tenant(ACME, Mode::Live).organization).await.unwrap();
    assert_eq!(members.len(), 2, "the expired invitation is replaced");
    assert_invalid(&open(&Browser::new(&api), &first).await, "replaced");
    set(&Browser::new(&api), &second, "Jo", PASSWORD).await.expect(303);
}
