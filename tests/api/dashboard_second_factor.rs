//! The second factor: set-up, sign-in with codes, recovery codes, resets, and organizations that require one.

use rolecall_local::demo::DEMOS;
use shared::clock::Timestamp;
use shared::id::Id;
use shared::model::{Member, MemberRole, Mode, TotpSecret};
use shared::random::Random;
use shared::services::second_factor;
use shared::store::Transaction;
use shared::token_encryption::{DecryptionError, EncryptionKeys};
use tests::browser::{Browser, Form, input};
use tests::dashboard::{add_member, owner, shown_once};
use tests::oauth::{OAuthApp, authorize_url};
use tests::{ACME, BASE_URL, GLOBEX, Response, TestApi, tenant};

use crate::audit_log::entries;
use crate::dashboard_access::{is_write, page_routes};

const PATH: &str = "/dashboard/settings/account/second-factor";
const STEP: &str = "/dashboard/second-factor";
const MEMBERS: &str = "/dashboard/settings/members";
const RULE: &str = "/dashboard/settings/members/second-factor";
const SIGN_IN: &str = "/dashboard/sign-in";
const WRONG: &str = "Incorrect code.";

#[test]
fn the_secret_of_another_member_cannot_be_decrypted() {
    let (random, keys) =
        (Random::seeded(1), EncryptionKeys::parse(&format!("k:{}", "s".repeat(32))).unwrap());
    let [one, other] = [1, 2].map(|id| Id::new(id).unwrap());
    let secret = TotpSecret::generate(&random);
    let encrypted = second_factor::encrypt(&keys, one, one, &secret, &random).unwrap();
    assert_eq!(second_factor::decrypt(&keys, one, one, &encrypted).unwrap().base32(), secret.base32());
    for (organization, member) in [(one, other), (other, one), (other, other)] {
        let error = second_factor::decrypt(&keys, organization, member, &encrypted).unwrap_err();
        assert_eq!(error, DecryptionError::Broken);
    }
}

fn now(api: &TestApi) -> Timestamp {
    api.environment.clock.now()
}

/// Sets up a second factor. Returns the app's secret and the recovery codes.
pub(crate) async fn set_up(api: &TestApi, browser: &Browser<'_>) -> (TotpSecret, Vec<String>) {
    let page = browser.get(PATH).await.expect(200);
    let secret = TotpSecret::parse(&input(&page, "secret")).unwrap();
    let code = secret.code_at(now(api));
    let page = browser.post(PATH, &[("secret", &secret.base32()), ("code", &code)]).await.expect(200);
    let codes: Vec<_> = shown_once(&page).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(codes.len(), 10, "{}", page.text);
    (secret, codes)
}

/// Sends the right password, and returns the form for the code.
pub(crate) async fn password_step(browser: &Browser<'_>) -> Form {
    let fields =
        [("email", DEMOS[ACME].email), ("password", DEMOS[ACME].password), ("return_to", "/dashboard/roles")];
    let page = browser.post(SIGN_IN, &fields).await.expect(200);
    assert!(page.text.contains("Enter your code"), "{}", page.text);
    browser.get("/dashboard").await.expect(303);
    Form::of(&page, STEP)
}

pub(crate) async fn send_code(browser: &Browser<'_>, form: &Form, code: &str) -> Response {
    browser.submit(STEP, &form.clone().and("code", code)).await
}

#[tokio::test]
async fn a_second_factor_is_set_up_with_the_first_code_of_the_app() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let page = browser.get(PATH).await.expect(200);
    let secret = TotpSecret::parse(&input(&page, "secret")).unwrap();
    assert!(page.text.contains("<svg class=\"qr\"") && page.text.contains("h1v1h-1z"));
    assert_ne!(input(&browser.get(PATH).await, "secret"), secret.base32(), "every page has a new secret");
    for wrong in ["", "x", "000000", "12345", "1234567", "🦀"] {
        api.dynamodb.take_calls();
        let page = browser.post(PATH, &[("secret", &secret.base32()), ("code", wrong)]).await.expect(422);
        assert!(page.text.contains("The code is incorrect."), "{wrong}");
        assert_eq!(input(&page, "secret"), secret.base32(), "the app need not be set up again");
        assert!(!api.dynamodb.take_calls().iter().any(is_write), "{wrong}");
    }
    for invalid in ["", "x", "GEZDGNBV"] {
        browser.post(PATH, &[("secret", invalid), ("code", "123456")]).await.expect(400);
    }
    let (before, later) = (secret.code_at(now(&api)), "2026-11-20T09:30:40.000Z");
    api.clock.set(later);
    let page = browser.post(PATH, &[("secret", &secret.base32()), ("code", &before)]).await.expect(200);
    assert!(page.text.contains("Save your recovery codes"));
    let page = browser.get(PATH).await.expect(200);
    assert!(page.text.contains(">20 Nov 2026</time>. 10 recovery codes left."), "{}", page.text);
    assert!(!page.text.contains(&secret.base32()) && shown_once(&page).is_none());
    let again = TotpSecret::parse("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ").unwrap();
    let fields = [("secret", again.base32()), ("code", again.code_at(now(&api)))];
    let fields = [("secret", &*fields[0].1), ("code", &*fields[1].1)];
    browser.post(PATH, &fields).await.expect(303);
    let stored = format!("{:?}", api.stored_items().await);
    assert!(!stored.contains(&secret.base32()), "the secret is encrypted");
}

#[tokio::test]
async fn a_sign_in_needs_the_password_and_then_a_code() {
    let api = TestApi::new().await;
    let (secret, _) = set_up(&api, &Browser::signed_in(&api, ACME).await).await;
    let browser = Browser::new(&api);
    browser.submit_sign_in(DEMOS[ACME].email, "wrong").await.expect(401);
    let form = password_step(&browser).await;
    for wrong in ["", "000000", "x"] {
        let page = send_code(&browser, &form, wrong).await.expect(401);
        assert!(page.text.contains(WRONG) && Form::of(&page, STEP) == form, "{wrong}");
    }
    let used = secret.code_at(now(&api));
    send_code(&browser, &form, &used).await.expect(401);
    api.clock.set("2026-11-20T09:30:30Z");
    let code = secret.code_at(now(&api));
    let spaced = format!(" {} {} ", &code[..3], &code[3..]);
    let signed_in = send_code(&browser, &form, &spaced).await.expect(303);
    assert_eq!(signed_in.header("location"), "/dashboard/roles");
    browser.get("/dashboard").await.expect(200);
    // Each code is accepted once, also in another browser.
    let thief = Browser::new(&api);
    let form = password_step(&thief).await;
    send_code(&thief, &form, &code).await.expect(401);
    thief.get("/dashboard").await.expect(303);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_simultaneous_sign_ins_with_the_same_code_one_succeeds() {
    let api = TestApi::new().await;
    let (secret, _) = set_up(&api, &Browser::signed_in(&api, ACME).await).await;
    api.clock.set("2026-11-20T09:31:00Z");
    let code = secret.code_at(now(&api));
    let browsers: Vec<_> = (0..4).map(|_| Browser::new(&api)).collect();
    let mut forms = Vec::new();
    for browser in &browsers {
        forms.push(password_step(browser).await);
    }
    let sent = browsers.iter().zip(&forms).map(|(browser, form)| send_code(browser, form, &code));
    let mut statuses: Vec<_> =
        futures_util::future::join_all(sent).await.iter().map(|response| response.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 401, 401, 401]);
}

#[tokio::test]
async fn a_member_has_five_wrong_codes_in_fifteen_minutes() {
    let api = TestApi::new().await;
    let (secret, codes) = set_up(&api, &Browser::signed_in(&api, ACME).await).await;
    for n in 0..5 {
        let browser = Browser::new(&api).at([10, 0, 0, n]);
        let form = password_step(&browser).await;
        send_code(&browser, &form, "000000").await.expect(401);
    }
    let browser = Browser::new(&api).at([10, 0, 0, 99]);
    let form = password_step(&browser).await;
    for code in [secret.code_at(now(&api)), codes[0].clone()] {
        let blocked = send_code(&browser, &form, &code).await.expect(429);
        assert_eq!(blocked.header("retry-after"), "900");
        assert!(blocked.text.contains("Too many incorrect codes. Try again in 15 minutes."));
    }
    api.clock.set("2026-11-20T09:45:00Z");
    let form = password_step(&browser).await;
    send_code(&browser, &form, &secret.code_at(now(&api))).await.expect(303);
}

#[tokio::test]
async fn the_password_step_belongs_to_one_browser_and_five_minutes() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let (secret, _) = set_up(&api, &browser).await;
    api.clock.set("2026-11-20T09:31:00Z");
    let own = Browser::new(&api);
    let form = password_step(&own).await;
    let proof = form.get("proof").to_owned();
    let expired = "/dashboard/sign-in?done=sign-in-expired";
    let code = secret.code_at(now(&api));
    let foreign = Browser::new(&api);
    foreign.csrf().await;
    let globex = proof.replacen("1.1.", "2.2.", 1);
    for (sender, proof) in [
        (&foreign, proof.as_str()),
        (&own, ""),
        (&own, "x"),
        (&own, "1.1.0.9999999999.x"),
        (&own, &globex),
        (&own, &proof.to_uppercase()),
        (&own, &format!("{proof}.x")),
    ] {
        let response = sender.post(STEP, &[("proof", proof), ("code", &code)]).await.expect(303);
        assert_eq!(response.header("location"), expired, "{proof}");
    }
    assert!(own.get(expired).await.expect(200).text.contains("The sign-in took too long."));
    api.clock.set("2026-11-20T09:36:00Z");
    let response = send_code(&own, &form, &secret.code_at(now(&api))).await.expect(303);
    assert_eq!(response.header("location"), expired);
    // Signing out everywhere also ends a sign-in that has begun.
    let form = password_step(&own).await;
    browser.post("/dashboard/sign-out-everywhere", &[]).await.expect(303);
    let response = send_code(&own, &form, &secret.code_at(now(&api))).await.expect(303);
    assert_eq!(response.header("location"), expired);
}

#[tokio::test]
async fn recovery_codes_work_once_and_can_be_replaced() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let (_, codes) = set_up(&api, &browser).await;
    let lost = Browser::new(&api);
    let form = password_step(&lost).await;
    send_code(&lost, &form, &codes[3].to_uppercase()).await.expect(303);
    let notices = lost.get("/dashboard/settings/account/notices").await.expect(200).text;
    assert!(notices.contains("You signed in with a recovery code. Codes left: 9."), "{notices}");
    let again = Browser::new(&api);
    let form = password_step(&again).await;
    send_code(&again, &form, &codes[3]).await.expect(401);

    assert!(lost.get(PATH).await.expect(200).text.contains("9 recovery codes left"));
    let page = lost.post(&format!("{PATH}/recovery-codes"), &[]).await.expect(200);
    let renewed: Vec<_> = shown_once(&page).unwrap().lines().map(str::to_owned).collect();
    send_code(&again, &form, &codes[4]).await.expect(401);
    send_code(&again, &form, &renewed[4]).await.expect(303);
    let stored = format!("{:?}", api.stored_items().await);
    assert!(
        codes.iter().chain(&renewed).all(|code| !stored.contains(code.as_str())),
        "only hashes are stored"
    );
}

#[tokio::test]
async fn a_second_factor_can_be_turned_off_and_every_change_is_reported() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    set_up(&api, &browser).await;
    browser.post(&format!("{PATH}/recovery-codes"), &[]).await.expect(200);
    let response = browser.post(&format!("{PATH}/remove"), &[]).await.expect(303);
    assert!(browser.follow(&response).await.expect(200).text.contains("Second factor turned off."));
    browser.post(&format!("{PATH}/remove"), &[]).await.expect(303);
    browser.post(&format!("{PATH}/recovery-codes"), &[]).await.expect(303);
    Browser::signed_in(&api, ACME).await.get("/dashboard").await.expect(200);
    let page = browser.get("/dashboard/settings/account/notices").await.expect(200).text;
    let places =
        ["turned off your", "new recovery codes", "turned on a"].map(|part| page.find(part).unwrap());
    assert!(places.is_sorted(), "newest first: {page}");
}

/// Makes a member of Acme with the password of the demo, and returns it with a browser in which it is signed in.
async fn colleague<'a>(api: &'a TestApi, name: &str, role: MemberRole) -> (Member, Browser<'a>) {
    let invited = add_member(api, ACME, name, role).await;
    let accepted = invited.clone().accepted(owner(api, ACME).await.password.unwrap(), now(api));
    let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
    transaction.replace_member(&invited, &accepted).unwrap();
    transaction.claim_email(&accepted).unwrap();
    api.store().commit(transaction).await.unwrap();
    let browser = Browser::with_session(api, ACME, &accepted).await;
    (accepted, browser)
}

#[tokio::test]
async fn owners_reset_the_second_factor_of_others_but_not_with_a_password_link() {
    let api = TestApi::new().await;
    let (jo, jos) = colleague(&api, "Jo", MemberRole::Member).await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let (secret, _) = set_up(&api, &jos).await;
    assert!(ada.get(MEMBERS).await.expect(200).text.contains("Remove second factor"));

    // A link replaces the password, and not the second factor.
    let page = ada.post(&format!("{MEMBERS}/{}/link", jo.id), &[]).await.expect(200);
    let token = shown_once(&page).unwrap().replace(&format!("{BASE_URL}/dashboard/password?token="), "");
    let password = "a longer pass phrase";
    let fields = [("token", &*token), ("password", password), ("repeated", password)];
    let browser = Browser::new(&api);
    let response = browser.post("/dashboard/password", &fields).await.expect(303);
    assert_eq!(response.header("location"), "/dashboard/sign-in?done=password-reset");
    assert!(
        browser.follow(&response).await.expect(200).text.contains("Sign in with it and your second factor.")
    );
    let page = browser.submit_sign_in("jo@members.example", password).await.expect(200);
    let form = Form::of(&page, STEP);
    api.clock.set("2026-11-20T09:31:00Z");
    send_code(&browser, &form, &secret.code_at(now(&api))).await.expect(303);

    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    let reset = format!("{MEMBERS}/{}/second-factor", jo.id);
    grace.post(&reset, &[]).await.expect(404);
    browser.post(&reset, &[]).await.expect(403);
    let response = ada.post(&reset, &[]).await.expect(303);
    assert!(ada.follow(&response).await.expect(200).text.contains("Second factor removed."));
    ada.post(&reset, &[]).await.expect(303);
    let page = browser.get("/dashboard/settings/account/notices").await.expect(200).text;
    assert_eq!(page.matches("Ada removed your second factor and your passkeys.").count(), 1, "{page}");
    browser.submit_sign_in("jo@members.example", password).await.expect(303);
    let own = ada.post(&format!("{MEMBERS}/{}/second-factor", owner(&api, ACME).await.id), &[]).await;
    assert_eq!(own.expect(303).header("location"), PATH);
}

#[tokio::test]
async fn an_organization_can_require_a_second_factor() {
    let api = TestApi::new().await;
    let ada = Browser::signed_in(&api, ACME).await;
    let (_, jos) = colleague(&api, "Jo", MemberRole::Member).await;
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    jos.post(RULE, &[("required", "yes")]).await.expect(403);
    for invalid in ["", "true"] {
        ada.post(RULE, &[("required", invalid)]).await.expect(400);
    }
    let app = OAuthApp::register(&api, "none").await;
    let url = authorize_url(&app.authorization_request());
    let consent = Form::of(&jos.get(&url).await.expect(200), "/oauth/authorize");
    ada.post(RULE, &[("required", "yes")]).await.expect(303);

    // Whoever has no second factor can only set one up, confirm the password, or sign out.
    let allowed = ["/dashboard/confirm", PATH, "/dashboard/settings/account/passkeys"];
    for route in page_routes().into_iter().filter(|route| route.role == Some(MemberRole::Member)) {
        if route.path().contains("sign-out") || allowed.contains(&route.path()) {
            continue;
        }
        let path = route.path().replace("{id}", "17");
        api.dynamodb.take_calls();
        let response = if route.is_post() { jos.post(&path, &[]).await } else { jos.get(&path).await };
        assert_eq!((response.status, response.header("location")), (303, PATH), "{}", route.key);
        assert!(!api.dynamodb.take_calls().iter().any(is_write), "{}", route.key);
    }
    assert_eq!(jos.get(&url).await.expect(303).header("location"), PATH);
    let allow = consent.and("mode", "live").and("decision", "allow");
    assert_eq!(jos.submit("/oauth/authorize", &allow).await.expect(303).header("location"), PATH);
    let page = jos.get(PATH).await.expect(200);
    assert!(page.text.contains("Your organization requires a second factor."));
    grace.get("/dashboard").await.expect(200);

    set_up(&api, &jos).await;
    jos.get("/dashboard").await.expect(200);
    let response = jos.post(&format!("{PATH}/remove"), &[]).await.expect(303);
    let page = jos.follow(&response).await.expect(200);
    assert!(page.text.contains("so you can&#39;t turn it off") && page.text.contains("cannot be turned off"));
    // The owner is not exempt.
    assert_eq!(ada.get("/dashboard").await.expect(303).header("location"), PATH);
    set_up(&api, &ada).await;
    let page = ada.get(MEMBERS).await.expect(200);
    assert!(page.text.contains("Make the second factor optional"));
    ada.post(RULE, &[("required", "no")]).await.expect(303);
    jos.post(&format!("{PATH}/remove"), &[]).await.expect(303);
    jos.get("/dashboard").await.expect(200);
}

#[tokio::test]
async fn second_factors_are_recorded_in_the_audit_log() {
    let api = TestApi::new().await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let browser = Browser::signed_in(&api, ACME).await;
    let (secret, _) = set_up(&api, &browser).await;
    browser.post(RULE, &[("required", "yes")]).await.expect(303);
    set_up(&api, &Browser::with_session(&api, ACME, &jo).await).await;
    browser.post(&format!("{MEMBERS}/{}/second-factor", jo.id), &[]).await.expect(303);
    let other = Browser::new(&api);
    let form = password_step(&other).await;
    api.clock.set("2026-11-20T09:31:00Z");
    send_code(&other, &form, "000000").await.expect(401);
    send_code(&other, &form, &secret.code_at(now(&api))).await.expect(303);
    let log = entries(&api, ACME, Mode::Live).await;
    let mut acts: Vec<_> = log.iter().map(|entry| entry.action.as_str()).collect();
    acts.sort_unstable();
    assert_eq!(
        acts,
        [
            "second_factor.added",
            "second_factor.added",
            "second_factor.removed",
            "session.created",
            "session.created",
            "settings.changed",
            "sign_in.failed",
        ]
    );
}
