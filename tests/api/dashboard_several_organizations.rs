//! An e-mail address in several organizations: each has an account of its own, and none sees anything of another.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::types::AttributeValue;
use rolecall_local::demo::DEMOS;
use shared::clock::Timestamp;
use shared::id::Id;
use shared::model::{AuditAction, Member, MemberRole, Mode, Name, Plan, Tenant, Text};
use shared::services::sign_in_limits;
use shared::store::Transaction;
use tests::browser::{Browser, Form, input};
use tests::dashboard::{add_member, owner};
use tests::oauth::{OAuthApp, authorize_url, token_status};
use tests::{ACME, GLOBEX, Response, TestApi, tenant};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::audit_log::entries;
use crate::dashboard_links::{create_link, invite, set};
use crate::{dashboard_second_factor, passkeys};

const SIGN_IN: &str = "/dashboard/sign-in";
const MEMBERS: &str = "/dashboard/settings/members";
const STEP: &str = "/dashboard/second-factor";
const NOTICES: &str = "/dashboard/settings/account/notices";
const WRONG: &str = "Incorrect e-mail address or password. If you belong to more than one organization, name the one \
                     that you want to sign in to.";
const EMAIL: &str = "jo@jobs.example";
/// The passwords of the same person in the two demo organizations.
const PASSWORDS: [&str; 2] = ["a longer pass phrase", "quite another pass phrase"];
const SLUGS: [&str; 2] = ["acme", "globex"];

/// A browser of a demo organization's owner.
async fn owners(api: &TestApi, demo: usize) -> Browser<'_> {
    Browser::with_session(api, demo, &owner(api, demo).await).await
}

/// Accepts an invitation to a demo organization in a new browser.
async fn join<'a>(api: &'a TestApi, demo: usize, email: &str) -> Browser<'a> {
    let token = invite(&owners(api, demo).await, "Jo", email).await;
    let browser = Browser::new(api);
    set(&browser, &token, "Jo", PASSWORDS[demo]).await.expect(303);
    browser
}

/// Somebody who has accepted the invitation of Globex and then that of Acme, each in a browser of its own.
async fn in_both(api: &TestApi) -> [Browser<'_>; 2] {
    let globex = join(api, GLOBEX, EMAIL).await;
    api.clock.set("2026-11-20T09:30:01Z");
    [join(api, ACME, EMAIL).await, globex]
}

/// The member with the address in a demo organization.
async fn jo(api: &TestApi, demo: usize) -> Member {
    let members = api.store().list_members(tenant(demo, Mode::Live).organization).await.unwrap();
    members.into_iter().find(|member| member.email.as_str() == EMAIL).unwrap()
}

/// Submits the sign-in form with an organization.
async fn sign_in_to(browser: &Browser<'_>, organization: &str, password: &str) -> Response {
    let fields = [("email", EMAIL), ("password", password), ("organization", organization)];
    browser.post(SIGN_IN, &fields).await
}

/// The status of a sign-in to a demo organization from a new browser, with its own password.
async fn status_at(api: &TestApi, demo: usize) -> u16 {
    sign_in_to(&Browser::new(api), SLUGS[demo], PASSWORDS[demo]).await.status
}

/// Asserts that the browser shows the dashboard of one demo organization and nothing of the other.
async fn assert_shows(browser: &Browser<'_>, demo: usize) {
    let page = browser.get("/dashboard").await.expect(200).text;
    assert!(page.contains(DEMOS[demo].name) && !page.contains(DEMOS[1 - demo].name), "{page}");
}

/// An owner of another company invites the address and accepts the link, because nothing proves whose mailbox it is.
#[tokio::test]
async fn a_stranger_who_accepts_an_address_first_takes_nothing_from_its_owner() {
    let api = TestApi::new().await;
    let stranger = join(&api, GLOBEX, EMAIL).await;
    api.clock.set("2026-11-20T09:31:00Z");
    let real = join(&api, ACME, EMAIL).await;
    assert_shows(&stranger, GLOBEX).await;
    assert_shows(&real, ACME).await;

    // Their own browser remembers the organization, and the link names it in any other.
    real.post("/dashboard/sign-out", &[]).await.expect(303);
    real.submit_sign_in(EMAIL, PASSWORDS[ACME]).await.expect(303);
    assert_shows(&real, ACME).await;
    let other = Browser::new(&api);
    let page = other.get("/dashboard/sign-in/acme").await.expect(200);
    assert_eq!(input(&page, "organization"), "acme");
    sign_in_to(&other, &input(&page, "organization"), PASSWORDS[ACME]).await.expect(303);
    assert_shows(&other, ACME).await;
    // No password of one organization opens the other.
    for (organization, password) in [(SLUGS[GLOBEX], PASSWORDS[ACME]), (SLUGS[ACME], PASSWORDS[GLOBEX])] {
        let page = sign_in_to(&Browser::new(&api), organization, password).await.expect(401);
        assert!(page.text.contains(WRONG), "{organization}: {}", page.text);
    }
    assert_eq!([status_at(&api, ACME).await, status_at(&api, GLOBEX).await], [303, 303]);
}

#[tokio::test]
async fn of_two_invitations_of_an_address_to_an_organization_one_is_accepted() {
    let api = TestApi::new().await;
    let owner = owners(&api, ACME).await;
    let first = invite(&owner, "Jo", EMAIL).await;
    // Two owners who invite the same address at the same time do not see each other's invitation.
    let namesake = add_member(&api, ACME, "Namesake", MemberRole::Member).await;
    let twin = Member { email: EMAIL.parse().unwrap(), version: namesake.version + 1, ..namesake.clone() };
    let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
    transaction.replace_member(&namesake, &twin).unwrap();
    api.store().commit(transaction).await.unwrap();
    let second = create_link(&owner, twin.id).await;
    set(&Browser::new(&api), &second, "Jo", PASSWORDS[ACME]).await.expect(303);
    let page = set(&Browser::new(&api), &first, "Jo Doe", PASSWORDS[GLOBEX]).await.expect(422);
    assert!(page.text.contains("Your organization already has a member with this e-mail address."));
    assert_eq!(input(&page, "name"), "Jo Doe");
    assert_eq!(status_at(&api, ACME).await, 303);
    assert_eq!(sign_in_to(&Browser::new(&api), SLUGS[ACME], PASSWORDS[GLOBEX]).await.status, 401);
}

#[tokio::test]
async fn without_an_organization_the_membership_that_was_accepted_first_is_tried() {
    let api = TestApi::new().await;
    in_both(&api).await;
    let first = Browser::new(&api);
    first.submit_sign_in(EMAIL, PASSWORDS[GLOBEX]).await.expect(303);
    assert_shows(&first, GLOBEX).await;
    let page = Browser::new(&api).submit_sign_in(EMAIL, PASSWORDS[ACME]).await.expect(401);
    assert!(page.text.contains(WRONG) && page.text.contains("<details open>"), "{}", page.text);
    assert!(!page.text.contains("Globex") && !page.text.contains("Acme"), "{}", page.text);

    // After the end of the first membership, the other one is the first.
    let path = format!("{MEMBERS}/{}/remove", jo(&api, GLOBEX).await.id);
    owners(&api, GLOBEX).await.post(&path, &[]).await.expect(303);
    let only = Browser::new(&api);
    only.submit_sign_in(EMAIL, PASSWORDS[ACME]).await.expect(303);
    assert_shows(&only, ACME).await;
    // Who comes back is the last.
    api.clock.set("2026-11-20T09:32:00Z");
    join(&api, GLOBEX, EMAIL).await;
    Browser::new(&api).submit_sign_in(EMAIL, PASSWORDS[ACME]).await.expect(303);
    Browser::new(&api).submit_sign_in(EMAIL, PASSWORDS[GLOBEX]).await.expect(401);
}

/// Counts how often a password is hashed.
struct Hashes(Arc<AtomicUsize>);

impl<S: Subscriber> Layer<S> for Hashes {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "shared::model::password" {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Adds an organization and its member with this address, whose password is that of the demo organization.
async fn create_third(api: &TestApi, email: &str) {
    let id = Id::new(3).unwrap();
    let (name, now) = (Text::parse("Initech").unwrap().unwrap(), api.environment.clock.now());
    api.store().create_organization(id, &name, None, Plan::Free, now).await.unwrap();
    let name = Name::parse("Jo").unwrap().unwrap();
    let member = Member::invited(id, email.parse().unwrap(), name, MemberRole::Owner, now);
    let member = member.accepted(owner(api, ACME).await.password.unwrap(), now);
    let mut transaction = Transaction::new(Tenant { organization: id, mode: Mode::Live });
    transaction.insert_member(&member).unwrap();
    api.store().commit(transaction).await.unwrap();
}

/// The work and the answer are the same for an address in no, one, two and three organizations, and for the right, a wrong
/// and an unknown organization.
#[tokio::test]
async fn no_failed_sign_in_tells_in_how_many_organizations_an_address_is() {
    let api = TestApi::new().await;
    in_both(&api).await;
    join(&api, ACME, "one@jobs.example").await;
    for demo in [ACME, GLOBEX] {
        join(&api, demo, "three@jobs.example").await;
    }
    create_third(&api, "three@jobs.example").await;
    let hashes = Arc::new(AtomicUsize::new(0));
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(Hashes(hashes.clone())));
    // While another test came to a place for the first time, it may have been told that nobody listens there.
    tracing::callsite::rebuild_interest_cache();
    let browser = Browser::new(&api);
    let csrf = browser.csrf().await;
    let mut responses = Vec::new();
    for organization in ["", "acme", "globex", "initech", "no-such-organization"] {
        for email in ["nobody@jobs.example", "one@jobs.example", EMAIL, "three@jobs.example"] {
            api.dynamodb.take_calls();
            hashes.store(0, Ordering::Relaxed);
            let fields = [
                ("csrf", &*csrf),
                ("email", email),
                ("password", "not the password"),
                ("organization", organization),
            ];
            let response = browser.send(SIGN_IN, &fields).await.expect(401);
            let calls: Vec<_> = api.dynamodb.take_calls().into_iter().map(|call| call.operation).collect();
            let request_id = response.header("x-request-id").to_owned();
            let mut text = response.text.replace(&request_id, "");
            for typed in [email, organization] {
                text = text.replace(&format!("value=\"{typed}\""), "value=\"\"");
            }
            assert!(text.contains(WRONG), "{text}");
            let named = if organization.is_empty() { &[][..] } else { &["GetItem"] };
            let expected = [named, &["UpdateItem", "UpdateItem", "Query", "GetItem", "PutItem"]].concat();
            assert_eq!(calls, expected, "{email} at {organization:?}");
            assert_eq!(hashes.load(Ordering::Relaxed), 1, "{email} at {organization:?}");
            responses.push((text, response.header("set-cookie").to_owned()));
        }
    }
    assert!(responses.iter().all(|response| *response == responses[0]), "{responses:#?}");
    // The right password is hashed once, too.
    hashes.store(0, Ordering::Relaxed);
    sign_in_to(&browser, "acme", PASSWORDS[ACME]).await.expect(303);
    assert_eq!(hashes.load(Ordering::Relaxed), 1);
}

/// Sends ten wrong passwords, each from another network.
async fn send_wrong_passwords(api: &TestApi, organization: &str) {
    for n in 0..10 {
        let browser = Browser::new(api).at([10, 0, 0, n]);
        sign_in_to(&browser, organization, "not the password").await.expect(401);
    }
}

#[tokio::test]
async fn wrong_passwords_block_the_account_of_one_organization() {
    let api = TestApi::new().await;
    in_both(&api).await;
    send_wrong_passwords(&api, "acme").await;
    let blocked = sign_in_to(&Browser::new(&api), " ACME ", PASSWORDS[ACME]).await.expect(429);
    let sentence = "Too many incorrect passwords. Try again in 15 minutes. If you belong to more than one \
                    organization, name the one that you want to sign in to.";
    assert!(blocked.text.contains(sentence), "{}", blocked.text);
    assert_eq!(input(&blocked, "organization"), "ACME");
    assert_eq!(status_at(&api, GLOBEX).await, 303);
    Browser::new(&api).submit_sign_in(EMAIL, PASSWORDS[GLOBEX]).await.expect(303);

    // Those without an organization block only further ones without it, whichever account they have tried.
    send_wrong_passwords(&api, "").await;
    Browser::new(&api).submit_sign_in(EMAIL, PASSWORDS[GLOBEX]).await.expect(429);
    assert_eq!([status_at(&api, ACME).await, status_at(&api, GLOBEX).await], [429, 303]);
    // The test mode's slug is another name of the same organization.
    sign_in_to(&Browser::new(&api), "acme-test", PASSWORDS[ACME]).await.expect(429);
    // An operator ends both waits of a member.
    let (organization, now) = (tenant(ACME, Mode::Live).organization, api.environment.clock.now());
    sign_in_limits::unlock(api.store(), organization, &jo(&api, ACME).await, now).await.unwrap();
    assert_eq!(status_at(&api, ACME).await, 303);
    Browser::new(&api).submit_sign_in(EMAIL, PASSWORDS[GLOBEX]).await.expect(303);
}

/// Otherwise an owner could accept a stranger's address and then guess the stranger's password in known browsers.
#[tokio::test]
async fn a_browser_is_known_in_one_organization() {
    let api = TestApi::new().await;
    let [acme, globex] = in_both(&api).await;
    let notices = async |demo: usize| {
        let organization = tenant(demo, Mode::Live).organization;
        api.store().list_notices(organization, jo(&api, demo).await.id).await.unwrap().len()
    };
    assert_eq!([notices(ACME).await, notices(GLOBEX).await], [0, 0]);
    globex.post("/dashboard/sign-out", &[]).await.expect(303);
    sign_in_to(&globex, "globex", PASSWORDS[GLOBEX]).await.expect(303);
    sign_in_to(&globex, "acme", PASSWORDS[ACME]).await.expect(303);
    assert_eq!(
        [notices(ACME).await, notices(GLOBEX).await],
        [1, 0],
        "a new browser is reported to one member"
    );

    send_wrong_passwords(&api, "globex").await;
    sign_in_to(&acme, "globex", PASSWORDS[GLOBEX]).await.expect(429);
    sign_in_to(&globex, "globex", PASSWORDS[GLOBEX]).await.expect(303);
}

#[tokio::test]
async fn a_browser_remembers_the_organization_of_each_address() {
    let api = TestApi::new().await;
    let [acme, _] = in_both(&api).await;
    // The session ends, and the page leads back.
    api.clock.set("2026-11-20T22:00:00Z");
    let sent = acme.get("/dashboard/roles").await.expect(303);
    let page = acme.follow(&sent).await.expect(200);
    assert_eq!(input(&page, "organization"), "", "the page names nobody's organization");
    let fields = [("email", "JO@jobs.example"), ("password", PASSWORDS[ACME])];
    let form = fields.into_iter().fold(Form::of(&page, SIGN_IN), |form, (name, value)| form.set(name, value));
    let sent = acme.submit(SIGN_IN, &form.set("organization", "")).await.expect(303);
    assert_eq!(sent.header("location"), "/dashboard/roles");
    assert_shows(&acme, ACME).await;
    // Another organization is remembered from then on.
    acme.post("/dashboard/sign-out", &[]).await.expect(303);
    sign_in_to(&acme, "globex", PASSWORDS[GLOBEX]).await.expect(303);
    acme.post("/dashboard/sign-out", &[]).await.expect(303);
    acme.submit_sign_in(EMAIL, PASSWORDS[GLOBEX]).await.expect(303);
    // A colleague at the same computer has another address.
    acme.post("/dashboard/sign-out", &[]).await.expect(303);
    acme.submit_sign_in(DEMOS[ACME].email, DEMOS[ACME].password).await.expect(303);
    assert_shows(&acme, ACME).await;
    // The cookie is only a choice, which anybody can make.
    let name = acme.other_cookies().into_keys().find(|name| name.contains("-organization-")).unwrap();
    for odd in ["", "x", "0", "-1", "99999999999999999999", "9007199254740991"] {
        let browser = Browser::new(&api);
        browser.set_other_cookie(&name, odd);
        browser.submit_sign_in("unknown@jobs.example", "x").await.expect(401);
    }
}

#[tokio::test]
async fn an_application_is_connected_to_the_organization_of_the_link_or_the_browser() {
    let api = TestApi::new().await;
    let [acme, globex] = in_both(&api).await;
    let app = OAuthApp::register(&api, "none").await;
    let url = authorize_url(&app.authorization_request());
    acme.post("/dashboard/sign-out", &[]).await.expect(303);
    let sent = acme.get(&url).await.expect(303);
    let page = acme.follow(&sent).await.expect(200);
    let form = Form::of(&page, SIGN_IN).set("email", EMAIL).set("password", PASSWORDS[ACME]);
    let back = acme.submit(SIGN_IN, &form).await.expect(303);
    let page = acme.follow(&back).await.expect(200);
    assert!(page.text.contains("Acme") && !page.text.contains("Globex"), "{}", page.text);
    let tokens = app.connect(&acme).await;

    let visitor = Browser::new(&api);
    let link = format!("{SIGN_IN}/globex?{}", Form::new(&[("return_to", &url)]).encoded());
    let page = visitor.get(&link).await.expect(200);
    let form = Form::of(&page, SIGN_IN).set("email", EMAIL).set("password", PASSWORDS[GLOBEX]);
    let back = visitor.submit(SIGN_IN, &form.set("organization", &input(&page, "organization"))).await;
    let page = visitor.follow(&back.expect(303)).await.expect(200);
    assert!(page.text.contains("Globex") && !page.text.contains("Acme"), "{}", page.text);
    let others = app.connect(&visitor).await;

    // Each organization lists and ends its own connection.
    acme.post("/dashboard/sign-out-everywhere", &[]).await.expect(303);
    assert_eq!(
        [token_status(&api, &tokens.access).await, token_status(&api, &others.access).await],
        [401, 200]
    );
    assert_shows(&globex, GLOBEX).await;
}

#[tokio::test]
async fn a_link_to_another_organization_shows_its_form_to_a_signed_in_member() {
    let api = TestApi::new().await;
    let [acme, _] = in_both(&api).await;
    for own in ["acme", "acme-test"] {
        let sent = acme.get(&format!("{SIGN_IN}/{own}?return_to=/dashboard/roles")).await.expect(303);
        assert_eq!(sent.header("location"), "/dashboard/roles", "{own}");
    }
    let page = acme.get(&format!("{SIGN_IN}/globex")).await.expect(200);
    let form = Form::of(&page, SIGN_IN).set("email", EMAIL).set("password", PASSWORDS[GLOBEX]);
    acme.submit(SIGN_IN, &form.set("organization", "globex")).await.expect(303);
    assert_shows(&acme, GLOBEX).await;
    // Whether an organization exists makes no difference.
    let stranger = Browser::new(&api);
    let pages = ["acme", "no-such-organization"].map(|slug| (slug, format!("{SIGN_IN}/{slug}")));
    let mut texts = Vec::new();
    for (slug, path) in pages {
        api.dynamodb.take_calls();
        let page = stranger.get(&path).await.expect(200);
        assert!(api.dynamodb.take_calls().is_empty());
        let text = page.text.replace(page.header("x-request-id"), "");
        texts.push(text.replace(&format!("value=\"{slug}\""), "value=\"\""));
    }
    assert_eq!(texts[0], texts[1]);
    for odd in ["Acme", "a--b", "%3Cb%3E", "a.b"] {
        stranger.get(&format!("{SIGN_IN}/{odd}")).await.expect(404);
    }
    let page = owners(&api, ACME).await.get(MEMBERS).await.expect(200);
    assert!(page.text.contains("href=\"https://api.rolecall.test/dashboard/sign-in/acme\""), "{}", page.text);
}

#[tokio::test]
async fn a_recovery_in_one_organization_leaves_the_other_alone() {
    let api = TestApi::new().await;
    let [acme, globex] = in_both(&api).await;
    let token = create_link(&owners(&api, ACME).await, jo(&api, ACME).await.id).await;
    let recovered = Browser::new(&api);
    set(&recovered, &token, "", "a third pass phrase").await.expect(303);
    assert_shows(&recovered, ACME).await;
    acme.get("/dashboard").await.expect(303);
    assert_shows(&globex, GLOBEX).await;
    assert_eq!([status_at(&api, ACME).await, status_at(&api, GLOBEX).await], [401, 303]);
    sign_in_to(&Browser::new(&api), "acme", "a third pass phrase").await.expect(303);
    // The notice and the entry of the audit log are in one organization.
    assert!(recovered.get(NOTICES).await.expect(200).text.contains("set a new password for you"));
    assert!(!globex.get(NOTICES).await.expect(200).text.contains("a new password"));
    let changed = async |demo| {
        let entries = entries(&api, demo, Mode::Live).await;
        entries.iter().filter(|entry| entry.action == AuditAction::MemberLinkCreated).count()
    };
    assert_eq!([changed(ACME).await, changed(GLOBEX).await], [1, 0]);
}

#[tokio::test]
async fn a_second_factor_belongs_to_one_organization() {
    let api = TestApi::new().await;
    let now = || -> Timestamp { api.environment.clock.now() };
    let [acme, globex] = in_both(&api).await;
    let (in_acme, _) = dashboard_second_factor::set_up(&api, &acme).await;
    assert_eq!(status_at(&api, ACME).await, 200, "a code is asked for");
    assert_eq!(status_at(&api, GLOBEX).await, 303);
    let (in_globex, codes) = dashboard_second_factor::set_up(&api, &globex).await;

    api.clock.set("2026-11-20T09:32:00Z");
    let steps = async |demo: usize| {
        let browser = Browser::new(&api);
        let page = sign_in_to(&browser, SLUGS[demo], PASSWORDS[demo]).await.expect(200);
        let form = Form::of(&page, STEP);
        (browser, form)
    };
    let (browser, form) = steps(ACME).await;
    for wrong in [in_globex.code_at(now()), codes[0].clone()] {
        dashboard_second_factor::send_code(&browser, &form, &wrong).await.expect(401);
    }
    dashboard_second_factor::send_code(&browser, &form, &in_acme.code_at(now())).await.expect(303);
    assert_shows(&browser, ACME).await;
    // Wrong codes block one account.
    let (browser, form) = steps(ACME).await;
    for status in [401, 401, 401, 429] {
        dashboard_second_factor::send_code(&browser, &form, "000000").await.expect(status);
    }
    let (browser, form) = steps(GLOBEX).await;
    dashboard_second_factor::send_code(&browser, &form, &codes[0]).await.expect(303);
    assert_shows(&browser, GLOBEX).await;

    // An organization named before the code is remembered, also if the code comes too late.
    let (browser, form) = steps(ACME).await;
    api.clock.set("2026-11-20T09:46:00Z");
    let late = dashboard_second_factor::send_code(&browser, &form, &in_acme.code_at(now())).await.expect(303);
    browser.follow(&late).await.expect(200);
    browser.submit_sign_in(EMAIL, PASSWORDS[ACME]).await.expect(200);
    // A password link keeps the second factor, and the browser remembers its organization, too.
    let token = create_link(&owners(&api, ACME).await, jo(&api, ACME).await.id).await;
    let browser = Browser::new(&api);
    let sent = set(&browser, &token, "", "a third pass phrase").await.expect(303);
    browser.follow(&sent).await.expect(200);
    browser.submit_sign_in(EMAIL, "a third pass phrase").await.expect(200);
    // A reset removes one of them.
    let path = format!("{MEMBERS}/{}/second-factor", jo(&api, ACME).await.id);
    owners(&api, ACME).await.post(&path, &[]).await.expect(303);
    sign_in_to(&Browser::new(&api), "acme", "a third pass phrase").await.expect(303);
    assert_eq!(status_at(&api, GLOBEX).await, 200, "a code is asked for");
}

#[tokio::test]
async fn a_passkey_belongs_to_one_organization() {
    let api = TestApi::new().await;
    let [acme, globex] = in_both(&api).await;
    let page = acme.get("/dashboard/settings/account/passkeys").await.expect(200);
    let user = &tests::passkeys::options(&page.text)["user"];
    assert_eq!(user["name"], "jo@jobs.example (Acme)", "devices show which account it is");
    let (mut of_acme, mut of_globex) = (passkeys::add(&acme, 1).await, passkeys::add(&globex, 2).await);
    for (device, demo) in [(&mut of_acme, ACME), (&mut of_globex, GLOBEX)] {
        let browser = Browser::new(&api);
        passkeys::sign_in(&browser, device).await.expect(303);
        assert_shows(&browser, demo).await;
        // The organization is remembered for the password, too.
        browser.post("/dashboard/sign-out", &[]).await.expect(303);
        browser.submit_sign_in(EMAIL, PASSWORDS[demo]).await.expect(303);
        assert_shows(&browser, demo).await;
    }
    let path = format!("{MEMBERS}/{}/remove", jo(&api, ACME).await.id);
    owners(&api, ACME).await.post(&path, &[]).await.expect(303);
    let refused = passkeys::sign_in(&Browser::new(&api), &mut of_acme).await.expect(303);
    assert!(refused.header("location").contains("failed=not-accepted"));
    let browser = Browser::new(&api);
    passkeys::sign_in(&browser, &mut of_globex).await.expect(303);
    assert_shows(&browser, GLOBEX).await;
}

#[tokio::test]
async fn a_removal_from_one_organization_leaves_the_other_alone() {
    let api = TestApi::new().await;
    let [acme, globex] = in_both(&api).await;
    let before = jo(&api, GLOBEX).await;
    let path = format!("{MEMBERS}/{}/remove", jo(&api, ACME).await.id);
    let owner = owners(&api, ACME).await;
    // An owner can name only members of the own organization.
    owner.post(&format!("{MEMBERS}/{}/remove", before.id), &[]).await.expect(404);
    owner.post(&path, &[]).await.expect(303);
    acme.get("/dashboard").await.expect(303);
    assert_eq!([status_at(&api, ACME).await, status_at(&api, GLOBEX).await], [401, 303]);
    assert_shows(&globex, GLOBEX).await;
    assert_eq!(jo(&api, GLOBEX).await.version, before.version);
    assert!(!globex.get(NOTICES).await.expect(200).text.contains("removed"));
    let entries = entries(&api, GLOBEX, Mode::Live).await;
    assert!(entries.iter().all(|entry| entry.action != AuditAction::MemberRemoved));
}

/// A claim from before an address could be in several organizations has no organization in its key, and its member no time
/// of the acceptance.
#[tokio::test]
async fn members_of_earlier_releases_sign_in_and_are_removed() {
    let api = TestApi::new().await;
    let ada = owner(&api, ACME).await;
    let organization = tenant(ACME, Mode::Live).organization;
    let mut items = api.stored_items().await;
    let is_claim =
        |pk: &str, sk: &str| pk.starts_with("MEMBER_EMAIL#") && sk == format!("{organization:016}");
    let key = items.keys().find(|(pk, sk)| is_claim(pk, sk)).cloned().unwrap();
    let mut claim = items.remove(&key).unwrap();
    assert!(claim.remove("accepted_at").is_some());
    let earlier = (key.0.clone(), "EMAIL".to_owned());
    claim.insert("sk".to_owned(), AttributeValue::S(earlier.1.clone()));
    items.insert(earlier.clone(), claim);
    let member = items.get_mut(&("1#live#MEMBER".to_owned(), format!("{:016}", ada.id))).unwrap();
    assert!(member.remove("accepted_at").is_some());
    api.restore(&items).await;

    for organization in ["", "acme"] {
        let fields = [
            ("email", ada.email.as_str()),
            ("password", DEMOS[ACME].password),
            ("organization", organization),
        ];
        Browser::new(&api).post(SIGN_IN, &fields).await.expect(303);
    }
    let fields =
        [("email", ada.email.as_str()), ("password", DEMOS[ACME].password), ("organization", "globex")];
    Browser::new(&api).post(SIGN_IN, &fields).await.expect(401);
    // Another organization accepts the address, and the earlier membership stays the first.
    join(&api, GLOBEX, ada.email.as_str()).await;
    Browser::signed_in(&api, ACME).await;
    let other = add_member(&api, ACME, "Other", MemberRole::Owner).await;
    let other = Browser::with_session(&api, ACME, &other).await;
    other.post(&format!("{MEMBERS}/{}/remove", ada.id), &[]).await.expect(303);
    assert!(!api.stored_items().await.contains_key(&earlier));
    Browser::new(&api).submit_sign_in(ada.email.as_str(), PASSWORDS[GLOBEX]).await.expect(303);
    // The organization may invite the address again.
    let token = invite(&other, "Ada", ada.email.as_str()).await;
    set(&Browser::new(&api), &token, "Ada", PASSWORDS[ACME]).await.expect(303);
}

#[tokio::test]
async fn an_organization_invites_at_most_100_people_a_day() {
    let api = TestApi::new().await;
    let owner = owners(&api, ACME).await;
    for n in 0..100 {
        // What is no invitation does not count.
        let taken = [("name", "Ada"), ("email", DEMOS[ACME].email), ("role", "member")];
        owner.post(MEMBERS, &taken).await.expect(422);
        invite(&owner, "Jo", &format!("jo{n}@jobs.example")).await;
    }
    let fields = [("name", "Jo"), ("email", EMAIL), ("role", "member")];
    let refused = owner.post(MEMBERS, &fields).await.expect(429);
    let sentence =
        "Your organization has invited 100 people today. You can invite more people after midnight (UTC).";
    assert!(refused.text.contains(sentence), "{}", refused.text);
    assert_eq!((refused.header("retry-after"), input(&refused, "email")), ("52200", EMAIL.to_owned()));
    invite(&owners(&api, GLOBEX).await, "Jo", EMAIL).await;
    api.clock.set("2026-11-21T00:00:00Z");
    invite(&owners(&api, ACME).await, "Jo", EMAIL).await;
}
