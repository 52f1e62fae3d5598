//! Nothing that a member has typed in the dashboard is lost: a form that arrives without the sign-in that it needs waits
//! for it and is then carried out once, for its member alone; and every error page shows what was typed.

use http::Method;
use rolecall_local::demo::DEMOS;
use serde_json::{Value, json};
use shared::model::{MemberRole, Mode};
use tests::browser::{Browser, FORM, Form, input, plain};
use tests::dashboard::{escaped, owner, shown_once};
use tests::interceptor::Fault;
use tests::{ACME, GLOBEX, Response, TestApi};

use crate::dashboard_access::{DashboardFixtures, is_write, page_routes};
use crate::dashboard_second_factor::set_up;
use crate::passkeys::add;

const SIGN_IN: &str = "/dashboard/sign-in";
const CONFIRM: &str = "/dashboard/confirm";
const PASSKEY: &str = "/dashboard/sign-in/passkey";
const STEP: &str = "/dashboard/second-factor";
const MEMBERS: &str = "/dashboard/settings/members";
const PRIVACY: &str = "/dashboard/settings/privacy";
/// What a member types.
const TEXT: &str = "She \"speaks\" <b>Rust</b> & Go.\r\nGrüße 🦀";
/// Thirteen hours after the tests begin.
const NEXT_MORNING: &str = "2026-11-20T22:30:00Z";
/// A password of a member who is not the owner of a demo organization.
const PASSWORD: &str = "a longer pass phrase";

fn notes(candidate: u64) -> String {
    format!("/dashboard/candidates/{candidate}/notes")
}

async fn stored_notes(api: &TestApi, candidate: u64) -> Vec<Value> {
    let list = api.get(&format!("/api/v1/candidates/{candidate}/notes")).await.expect(200);
    list.body["data"].as_array().unwrap().clone()
}

/// The notes besides the one that the fixtures have.
async fn new_notes(api: &TestApi, candidate: u64) -> usize {
    stored_notes(api, candidate).await.len() - 1
}

/// The form that adds a note, filled in.
async fn note_form(browser: &Browser<'_>, candidate: u64, text: &str) -> Form {
    let page = browser.get(&format!("/dashboard/candidates/{candidate}")).await.expect(200);
    Form::of(&page, &notes(candidate)).and("text", text)
}

/// The sign-in on a page, with this address and password.
fn credentials(page: &Response, email: &str, password: &str) -> Form {
    Form::of(page, SIGN_IN).and("email", email).and("password", password)
}

fn as_ada(page: &Response) -> Form {
    credentials(page, DEMOS[ACME].email, DEMOS[ACME].password)
}

/// Checks that a page asks for a sign-in, and shows what was typed as text.
#[track_caller]
fn assert_waits(page: &Response, typed: &str) {
    assert_eq!(page.status, 401, "{}", page.text);
    assert!(!input(page, "kept").is_empty(), "{}", page.text);
    assert!(plain(&page.text).contains(typed), "{}", page.text);
    assert!(!typed.contains('<') || !page.text.contains(typed), "the text is escaped");
}

/// Signs in, and lets the browser send the waiting form on.
async fn send_on(browser: &Browser<'_>, sign_in: &Form, path: &str) -> Response {
    let signed_in = browser.submit(SIGN_IN, sign_in).await.expect(307);
    assert_eq!(signed_in.header("location"), path);
    browser.submit(path, sign_in).await
}

/// A second member of Acme with this role, who has a password, in a browser.
async fn colleague<'a>(api: &'a TestApi, fixtures: &DashboardFixtures, role: MemberRole) -> Browser<'a> {
    let browser = Browser::new(api);
    let fields =
        [("token", &*fixtures.link), ("name", "Stock"), ("password", PASSWORD), ("repeated", PASSWORD)];
    browser.post("/dashboard/password", &fields).await.expect(303);
    if role == MemberRole::Owner {
        change_role(api, fixtures, "owner").await;
    }
    browser
}

async fn change_role(api: &TestApi, fixtures: &DashboardFixtures, role: &str) {
    let ada = Browser::with_session(api, ACME, &owner(api, ACME).await).await;
    let changed = ada.post(&format!("{MEMBERS}/{}/role", fixtures.member), &[("role", role)]).await;
    assert!(changed.status < 400, "{}", changed.text);
}

fn as_stock(page: &Response) -> Form {
    credentials(page, "stock@members.example", PASSWORD)
}

#[tokio::test]
async fn a_note_typed_before_the_session_ended_is_saved_once_after_signing_in() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let (candidate, path) = (fixtures.candidate, notes(fixtures.candidate));
    let browser = Browser::signed_in(&api, ACME).await;
    let form = note_form(&browser, candidate, TEXT).await;
    api.clock.set(NEXT_MORNING);
    api.dynamodb.take_calls();
    let asked = browser.submit(&path, &form).await;
    assert!(!api.dynamodb.take_calls().iter().any(is_write));
    assert_waits(&asked, TEXT);
    assert!(asked.text.contains("Your session has ended"), "{}", asked.text);
    assert_eq!(input(&asked, "email"), DEMOS[ACME].email);
    let candidate_page = format!("/dashboard/candidates/{candidate}");
    assert_eq!(input(&asked, "return_to"), candidate_page, "the page of the form");

    let wrong = browser.submit(SIGN_IN, &credentials(&asked, DEMOS[ACME].email, "wrong")).await;
    assert_waits(&wrong, TEXT);
    assert!(wrong.text.contains("Incorrect e-mail address or password."));
    assert_eq!(new_notes(&api, candidate).await, 0);

    let sign_in = as_ada(&wrong);
    let saved = send_on(&browser, &sign_in, &path).await.expect(303);
    assert!(saved.header("location").starts_with(&candidate_page), "{}", saved.header("location"));
    assert!(browser.follow(&saved).await.expect(200).text.contains("Note added."));
    // The answer was lost, the sign-in is sent twice, or the member goes back and signs in again.
    browser.submit(&path, &sign_in).await.expect(303);
    let again = browser.submit(SIGN_IN, &sign_in).await.expect(307);
    assert_eq!(again.header("location"), path);
    browser.submit(&path, &sign_in).await.expect(303);
    api.clock.set("2026-11-21T12:00:00Z");
    let again = browser.submit(SIGN_IN, &sign_in).await;
    assert_waits(&again, TEXT);
    send_on(&browser, &as_ada(&again), &path).await.expect(303);
    let stored = stored_notes(&api, candidate).await;
    assert_eq!((stored.len(), stored[0]["text"].as_str().unwrap()), (2, &*TEXT.replace("\r\n", "\n")));
    assert_eq!(stored[0]["actor"]["type"], json!("member"), "{}", stored[0]);
}

#[tokio::test]
async fn a_posting_and_a_bulk_move_are_carried_out_once_after_signing_in() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let browser = Browser::signed_in(&api, ACME).await;
    let page = browser.get("/dashboard/quick-post").await.expect(200);
    // Nine tenths of the longest description, in the letters that take the most space in a form.
    let description = "🦀".repeat(18_000);
    let job = Form::of(&page, "/dashboard/quick-post").set("role.title", "Crab keeper");
    let job = job.set("role.description", &description).set("publish", "false");
    let bulk_path = format!("/dashboard/candidates/bulk?list=role_id%3D{}", fixtures.role);
    let page = browser.get(&format!("{bulk_path}&to=interview&id={}", fixtures.candidate)).await.expect(200);
    let bulk = Form::of(&page, &bulk_path);
    api.clock.set(NEXT_MORNING);
    let asked = browser.submit("/dashboard/quick-post", &job).await;
    assert_waits(&asked, "Crab keeper");
    let sign_in = as_ada(&asked);
    for _ in 0..2 {
        send_on(&browser, &sign_in, "/dashboard/quick-post").await.expect(303);
    }
    let roles = api.get("/api/v1/roles").await.expect(200);
    let made = roles.body["data"].as_array().unwrap().iter().filter(|role| role["title"] == "Crab keeper");
    assert_eq!(made.count(), 1);

    // The session that wrote the form is another one than the browser has now.
    let asked = browser.submit(&bulk_path, &bulk).await;
    assert_waits(&asked, "interview");
    let sign_in = as_ada(&asked);
    for _ in 0..2 {
        let done = send_on(&browser, &sign_in, &bulk_path).await.expect(303);
        assert!(done.header("location").ends_with("done=bulk-done"), "{}", done.header("location"));
    }
    let candidate = api.get(&format!("/api/v1/candidates/{}", fixtures.candidate)).await.expect(200);
    assert_eq!(candidate.text.matches("stage_changed\"").count(), 1, "{}", candidate.text);
}

#[tokio::test]
async fn a_form_without_the_cookie_or_from_an_earlier_session_waits() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let path = notes(fixtures.candidate);
    let signed_in = Browser::signed_in(&api, ACME).await;
    let form = note_form(&signed_in, fixtures.candidate, TEXT).await;
    let elsewhere = Browser::signed_in(&api, ACME).await;
    // Signed out in another tab, which shows the sign-in page now.
    signed_in.post("/dashboard/sign-out", &[]).await.expect(303);
    let signed_out = Browser::new(&api);
    signed_out.get(SIGN_IN).await.expect(200);
    for (number, browser) in [Browser::new(&api), signed_out, elsewhere].into_iter().enumerate() {
        let form = form.clone().set("text", &format!("{TEXT} {number}"));
        let asked = browser.submit(&path, &form).await;
        assert_waits(&asked, TEXT);
        send_on(&browser, &as_ada(&asked), &path).await.expect(303);
        assert_eq!(new_notes(&api, fixtures.candidate).await, number + 1);
    }
}

#[tokio::test]
async fn a_form_is_sent_on_in_the_mode_that_it_was_filled_in() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    let page = browser.get("/dashboard/quick-post").await.expect(200);
    let job =
        Form::of(&page, "/dashboard/quick-post").set("role.title", "Crab keeper").set("publish", "false");
    api.clock.set(NEXT_MORNING);
    let asked = browser.submit("/dashboard/quick-post", &job).await;
    let sign_in = as_ada(&asked);
    browser.submit(SIGN_IN, &sign_in).await.expect(307);
    // Another tab switches to live data in between.
    browser.post("/dashboard/mode", &[("mode", "live")]).await.expect(303);
    let refused = browser.submit("/dashboard/quick-post", &sign_in).await.expect(409);
    assert!(refused.text.contains("about test data, and the dashboard shows live data"), "{}", refused.text);
    assert!(refused.text.contains("Crab keeper"));
    let titles = async |mode| {
        let roles = api.request(Method::GET, "/api/v1/roles").key(ACME, mode).send().await.expect(200);
        roles.text.matches("Crab keeper").count()
    };
    assert_eq!((titles(Mode::Live).await, titles(Mode::Test).await), (0, 0));
    let asked = browser.submit(SIGN_IN, &sign_in).await;
    assert_waits(&asked, "Crab keeper");
    send_on(&browser, &as_ada(&asked), "/dashboard/quick-post").await.expect(303);
    assert_eq!((titles(Mode::Live).await, titles(Mode::Test).await), (0, 1));
}

#[tokio::test]
async fn nobody_else_sends_a_form_that_waits() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    drop(colleague(&api, &fixtures, MemberRole::Owner).await);
    let path = notes(fixtures.candidate);
    let others = [
        ("a colleague", "stock@members.example", PASSWORD, ""),
        ("another organization", DEMOS[GLOBEX].email, DEMOS[GLOBEX].password, "globex"),
    ];
    for (name, email, password, organization) in others {
        let browser = Browser::signed_in(&api, ACME).await;
        let form = note_form(&browser, fixtures.candidate, TEXT).await;
        browser.post("/dashboard/sign-out", &[]).await.expect(303);
        let asked = browser.submit(&path, &form).await;
        assert_waits(&asked, TEXT);
        let sign_in = credentials(&asked, email, password).and("organization", organization);
        let refused = send_on(&browser, &sign_in, &path).await.expect(409);
        assert!(refused.text.contains("Another member filled in this form"), "{name}: {}", refused.text);
        assert!(plain(&refused.text).contains(TEXT), "{name}: what was typed is shown");
        assert!(!refused.text.contains("<form"), "{name}: and cannot be sent from there");
        assert_eq!(new_notes(&api, fixtures.candidate).await, 0, "{name}");
    }
}

#[tokio::test]
async fn a_removed_or_demoted_member_changes_nothing() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let browser = colleague(&api, &fixtures, MemberRole::Owner).await;
    let privacy = Form::of(&browser.get(PRIVACY).await.expect(200), PRIVACY).and("text", TEXT);
    let note = note_form(&browser, fixtures.candidate, TEXT).await;
    api.clock.set(NEXT_MORNING);
    let asked = browser.submit(PRIVACY, &privacy).await;
    assert_waits(&asked, TEXT);
    change_role(&api, &fixtures, "member").await;
    let refused = send_on(&browser, &as_stock(&asked), PRIVACY).await.expect(403);
    assert!(refused.text.contains("Only owners"), "{}", refused.text);
    assert!(plain(&refused.text).contains(TEXT), "{}", refused.text);

    api.clock.set("2026-11-21T12:00:00Z");
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    ada.post(&format!("{MEMBERS}/{}/remove", fixtures.member), &[]).await.expect(303);
    let path = notes(fixtures.candidate);
    let asked = browser.submit(&path, &note).await;
    assert_waits(&asked, TEXT);
    assert_eq!(input(&asked, "email"), "", "the member is gone");
    let refused = browser.submit(SIGN_IN, &as_stock(&asked)).await;
    assert_waits(&refused, TEXT);
    assert_eq!(new_notes(&api, fixtures.candidate).await, 0);
    assert!(!ada.get(PRIVACY).await.expect(200).text.contains("speaks"));
}

#[tokio::test]
async fn a_forged_form_is_never_carried_out() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let path = notes(fixtures.candidate);
    let (ada, grace) = (Browser::signed_in(&api, ACME).await, Browser::signed_in(&api, GLOBEX).await);
    // The attacker has an account and forms of it, which other sites' pages send from the member's browser.
    let attack = Form::new(&[("csrf", &grace.csrf().await), ("key", "k"), ("text", "Hire me")]);
    let stranger = Form::new(&[("csrf", &Browser::new(&api).csrf().await), ("text", "Hire me")]);
    for site in ["cross-site", "same-site"] {
        for (browser, form) in [(&ada, &attack), (&Browser::new(&api), &attack), (&ada, &stranger)] {
            let request = browser.request(Method::POST, &path).header("sec-fetch-site", site);
            let response = request.body(FORM, form.encoded()).send().await.expect(403);
            assert!(!response.headers.contains_key("set-cookie"), "nobody is signed out by a visit");
            assert!(!response.text.contains("Hire me"));
        }
    }
    ada.submit(&path, &stranger).await.expect(403);
    // Without the browser's help, the form waits for its own member, and only for that one.
    let asked = ada.submit(&path, &attack).await;
    assert_waits(&asked, "Hire me");
    assert_eq!(input(&asked, "email"), DEMOS[GLOBEX].email);
    send_on(&ada, &as_ada(&asked).and("organization", "acme"), &path).await.expect(409);

    let victim = note_form(&ada, fixtures.candidate, "Hire me").await;
    let waiting = Browser::new(&api).submit(&path, &victim).await;
    let kept = input(&waiting, "kept");
    let ada = Browser::signed_in(&api, ACME).await;
    // A waiting form is bound to its text, and needs a fresh sign-in.
    let (form, signature) = kept.split_once('.').unwrap();
    for forged in [format!("{form}A.{signature}"), format!("{form}.{}", &signature[1..]), form.to_owned()] {
        ada.submit(&path, &Form::new(&[("kept", &forged)])).await.expect(403);
    }
    api.clock.set("2026-11-20T09:45:00Z");
    assert_waits(&ada.submit(&path, &Form::new(&[("kept", &kept)])).await, "Hire me");
    let request = ada.request(Method::POST, &path).header("sec-fetch-site", "cross-site");
    request.body(FORM, Form::new(&[("kept", &kept)]).encoded()).send().await.expect(403);
    // The sign-in itself must come from a page of this browser.
    let foreign = Form::new(&[("csrf", &Browser::new(&api).csrf().await)]);
    let foreign = foreign.and("email", DEMOS[ACME].email).and("password", DEMOS[ACME].password);
    ada.submit(SIGN_IN, &foreign).await.expect(403);
    let browser = Browser::new(&api);
    assert_waits(&browser.submit(SIGN_IN, &foreign.and("kept", &kept)).await, "Hire me");
    browser.get("/dashboard").await.expect(303);
    assert_eq!(new_notes(&api, fixtures.candidate).await, 0);
}

#[tokio::test]
async fn a_form_waits_for_the_second_factor() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let path = notes(fixtures.candidate);
    let browser = Browser::signed_in(&api, ACME).await;
    let (secret, _) = set_up(&api, &browser).await;
    let form = note_form(&browser, fixtures.candidate, TEXT).await;
    api.clock.set(NEXT_MORNING);
    let asked = browser.submit(&path, &form).await;
    let late = browser.submit(SIGN_IN, &as_ada(&asked)).await.expect(200);
    api.clock.set("2026-11-20T22:35:00Z");
    let again = browser.submit(STEP, &Form::of(&late, STEP).and("code", "000000")).await.expect(200);
    assert!(again.text.contains("The sign-in took too long.") && plain(&again.text).contains(TEXT));
    let step = browser.submit(SIGN_IN, &as_ada(&again)).await.expect(200);
    let wrong = browser.submit(STEP, &Form::of(&step, STEP).and("code", "000000")).await.expect(401);
    assert_eq!(new_notes(&api, fixtures.candidate).await, 0);
    let code = secret.code_at(api.environment.clock.now());
    let right = Form::of(&wrong, STEP).and("code", &code);
    let signed_in = browser.submit(STEP, &right).await.expect(307);
    assert_eq!(signed_in.header("location"), path);
    browser.submit(&path, &right).await.expect(303);
    assert_eq!(new_notes(&api, fixtures.candidate).await, 1);
}

#[tokio::test]
async fn a_form_waits_for_a_passkey() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let path = notes(fixtures.candidate);
    let browser = Browser::signed_in(&api, ACME).await;
    let mut device = add(&browser, 1).await;
    let form = note_form(&browser, fixtures.candidate, TEXT).await;
    api.clock.set(NEXT_MORNING);
    let asked = browser.submit(&path, &form).await;
    assert!(asked.text.contains("formaction=\"/dashboard/sign-in/passkey\""), "{}", asked.text);
    // The button sends the fields of the sign-in form, as far as they are filled in.
    let empty = Form::of(&asked, SIGN_IN).and("email", "").and("password", "");
    let page = browser.submit(PASSKEY, &empty).await.expect(200);
    // And back to the password.
    let password = browser.submit(SIGN_IN, &Form::of(&page, SIGN_IN)).await.expect(200);
    assert!(plain(&password.text).contains(TEXT), "{}", password.text);
    let mut stranger = device.forged(9);
    let answer = stranger.sign(&page.text).to_string();
    let wrong =
        browser.submit(PASSKEY, &Form::of(&page, PASSKEY).set("credential", &answer)).await.expect(401);
    assert!(wrong.text.contains("This passkey was not accepted"), "{}", wrong.text);
    let answer = device.sign(&wrong.text).to_string();
    let right = Form::of(&wrong, PASSKEY).set("credential", &answer);
    let signed_in = browser.submit(PASSKEY, &right).await.expect(307);
    assert_eq!(signed_in.header("location"), path);
    browser.submit(&path, &right).await.expect(303);
    assert_eq!(new_notes(&api, fixtures.candidate).await, 1);
    // The same answer again: the member is signed in, and the note is there.
    let again = browser.submit(PASSKEY, &right).await.expect(307);
    assert_eq!(again.header("location"), path);
}

#[tokio::test]
async fn a_change_that_needs_a_fresh_sign_in_is_made_after_it() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let page = browser.get(MEMBERS).await.expect(200);
    let jo = Form::of(&page, MEMBERS).and("name", "Jo").and("email", "jo@acme.example").and("role", "owner");
    api.clock.set("2026-11-20T09:45:00Z");
    let asked = browser.submit(MEMBERS, &jo).await;
    assert_waits(&asked, "jo@acme.example");
    assert!(asked.text.contains("Enter your password"), "{}", asked.text);
    // A form without the password is not a way around it.
    assert_waits(&browser.submit(MEMBERS, &Form::of(&asked, CONFIRM)).await, "jo@acme.example");
    let wrong =
        browser.submit(CONFIRM, &Form::of(&asked, CONFIRM).and("password", "wrong")).await.expect(422);
    let right = Form::of(&wrong, CONFIRM).and("password", DEMOS[ACME].password);
    let confirmed = browser.submit(CONFIRM, &right).await.expect(307);
    assert_eq!(confirmed.header("location"), MEMBERS);
    let invited = browser.submit(MEMBERS, &right).await.expect(200);
    assert!(shown_once(&invited).is_some(), "{}", invited.text);
}

#[tokio::test]
async fn files_and_secrets_are_entered_again() {
    let api = TestApi::with_services(crate::fake_x::services("http://127.0.0.1:1")).await;
    let browser = Browser::signed_in(&api, ACME).await;
    let add = "/dashboard/candidates/new";
    let page = browser.get(add).await.expect(200);
    let jane = Form::of(&page, add).set("name", "Jane Keeper").set("email", "jane@people.example");
    let channels = "/dashboard/settings/integrations/channels";
    let whatsapp = format!("{channels}/whatsapp/connect");
    let connect = Form::new(&[
        ("csrf", &browser.csrf().await),
        ("phone_number_id", "106540352242922"),
        ("token", "whatsapp-secret"),
    ]);
    let account = "/dashboard/settings/account/password";
    let secrets = [("csrf", &*browser.csrf().await), ("current", "a"), ("password", "b"), ("repeated", "b")];
    let change = Form::new(&secrets);
    api.clock.set(NEXT_MORNING);

    let asked = browser.submit_file(add, &jane, b"%PDF-1.7").await;
    assert_waits(&asked, "Jane Keeper");
    assert!(asked.text.contains("asked for the file"), "{}", asked.text);
    let again = send_on(&browser, &as_ada(&asked), add).await.expect(422);
    assert!(again.text.contains("Choose the file again."), "{}", again.text);
    assert_eq!(input(&again, "name"), "Jane Keeper");
    assert_eq!(api.get("/api/v1/candidates").await.body["data"], json!([]));

    let asked = browser.submit(&whatsapp, &connect).await;
    assert_waits(&asked, "106540352242922");
    assert!(!format!("{asked:?}").contains("whatsapp-secret"));
    let again = send_on(&browser, &as_ada(&asked), &whatsapp).await.expect(409);
    assert!(again.text.contains("Enter it again.") && again.text.contains("106540352242922"));
    assert!(again.text.contains(&format!("href=\"{channels}\"")), "{}", again.text);

    // Passwords alone are not kept.
    let redirected = Browser::new(&api).submit(account, &change).await.expect(403);
    assert!(!redirected.text.contains("kept"));
    api.clock.set("2026-11-21T22:30:00Z");
    let csrf = Form::new(&secrets).set("csrf", &browser.csrf().await);
    let redirected = browser.submit(account, &csrf).await.expect(303);
    assert_eq!(
        redirected.header("location"),
        "/dashboard/sign-in?return_to=%2Fdashboard%2Fsettings%2Faccount"
    );
}

#[tokio::test]
async fn a_form_that_waited_for_a_day_is_only_shown() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let path = notes(fixtures.candidate);
    let browser = Browser::signed_in(&api, ACME).await;
    let form = note_form(&browser, fixtures.candidate, TEXT).await;
    browser.post("/dashboard/sign-out", &[]).await.expect(303);
    let asked = browser.submit(&path, &form).await;
    api.clock.set("2026-11-21T09:30:00Z");
    let late = send_on(&browser, &as_ada(&asked), &path).await.expect(409);
    assert!(late.text.contains("more than a day after") && plain(&late.text).contains(TEXT));
    assert!(late.text.contains(&format!("href=\"/dashboard/candidates/{}\"", fixtures.candidate)));
    // A page may be open for longer, because its form begins to wait only when it is sent.
    api.clock.set("2026-12-31T09:30:00Z");
    let asked = browser.submit(&path, &form).await;
    send_on(&browser, &as_ada(&asked), &path).await.expect(303);
    assert_eq!(new_notes(&api, fixtures.candidate).await, 1);
}

/// The fields of the forms that members type into.
const TYPED: &[&str] = &[
    "role.title",
    "title",
    "name",
    "email",
    "text",
    "wording",
    "reason",
    "url",
    "countries",
    "contact_email",
    "days",
    "team",
    "phone_number_id",
];

/// The fields of a form with their values.
type Fields<'f> = Vec<(&'static str, &'f str)>;

/// Every form with text: its route, its path and its fields.
fn forms(fixtures: &DashboardFixtures) -> Vec<(&'static str, String, Fields<'_>)> {
    let posts = page_routes().into_iter().filter(|route| route.is_post() && route.role.is_some());
    let forms = posts.map(|route| (route.key, fixtures.path(route), fixtures.fields(route)));
    let forms: Vec<_> =
        forms.filter(|(_, _, fields)| fields.iter().any(|(name, _)| TYPED.contains(name))).collect();
    assert!(forms.len() >= 17, "{}", forms.len());
    forms
}

#[track_caller]
fn assert_shows(page: &Response, fields: &[(&str, &str)], context: &str) {
    for (name, value) in fields.iter().filter(|(name, _)| TYPED.contains(name)) {
        assert!(page.text.contains(&escaped(value)), "{context}: {name} {} {}", page.status, page.text);
    }
}

#[tokio::test]
async fn every_form_with_text_waits_for_a_sign_in() {
    let api = TestApi::with_services(crate::fake_x::services("http://127.0.0.1:1")).await;
    let fixtures = DashboardFixtures::new(&api).await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let csrf = browser.csrf().await;
    for (key, path, fields) in forms(&fixtures) {
        let sent = [&[("csrf", csrf.as_str())], &*fields].concat();
        let asked = Browser::new(&api).send(&path, &sent).await.expect(401);
        assert_shows(&asked, &fields, key);
        assert!(!input(&asked, "kept").is_empty(), "{key}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_error_page_shows_what_was_typed() {
    let api = TestApi::with_services(crate::fake_x::services("http://127.0.0.1:1")).await;
    let fixtures = DashboardFixtures::new(&api).await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    browser.csrf().await;
    for operation in ["TransactWriteItems", "GetItem", "BatchGetItem"] {
        for (key, path, fields) in forms(&fixtures) {
            api.dynamodb.inject_faults(move |called, _| (called == operation).then_some(Fault::Internal));
            let response = browser.post(&path, &fields).await;
            api.dynamodb.inject_faults(|_, _| None);
            if response.status < 400 {
                // This form makes no such call.
                assert_ne!(operation, "BatchGetItem", "{key}: the session is read with it");
                continue;
            }
            assert_shows(&response, &fields, &format!("{key} {operation}"));
            assert!(
                response.text.contains("Send it again") || fields.iter().any(|(name, _)| *name == "token"),
                "{key}: {}",
                response.text
            );
        }
    }
    // What the form is about does not exist.
    for (key, path, fields) in forms(&fixtures).into_iter().filter(|(key, ..)| key.contains("{id}")) {
        let id = path.split('/').find(|part| part.parse::<u64>().is_ok()).unwrap();
        let missing = browser.post(&path.replace(id, "999"), &fields).await;
        assert!([404, 410].contains(&missing.status), "{key}: {}", missing.status);
        assert_shows(&missing, &fields, key);
    }
}

#[tokio::test]
async fn a_form_is_sent_again_from_the_error_page() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let path = notes(fixtures.candidate);
    let browser = Browser::signed_in(&api, ACME).await;
    let form = note_form(&browser, fixtures.candidate, TEXT).await;
    let fail = || {
        let write =
            |operation: &str, _: &Value| (operation == "TransactWriteItems").then_some(Fault::Throttled);
        api.dynamodb.inject_faults(write);
    };
    fail();
    let busy = browser.submit(&path, &form).await.expect(503);
    api.dynamodb.inject_faults(|_, _| None);
    let again = Form::of(&busy, &path);
    assert_eq!(again.get("text"), TEXT);
    for _ in 0..2 {
        browser.submit(&path, &again).await.expect(303);
    }
    assert_eq!(new_notes(&api, fixtures.candidate).await, 1);

    // The same after a sign-in, and when the sign-in itself fails.
    let form = note_form(&browser, fixtures.candidate, "Second").await;
    api.clock.set(NEXT_MORNING);
    let asked = browser.submit(&path, &form).await;
    fail();
    let busy = browser.submit(SIGN_IN, &as_ada(&asked)).await.expect(503);
    assert!(busy.text.contains("Second") && !busy.text.contains(DEMOS[ACME].password), "{}", busy.text);
    api.dynamodb.inject_faults(|_, _| None);
    let asked = browser.submit(&path, &Form::of(&busy, &path)).await;
    assert_waits(&asked, "Second");
    let sign_in = as_ada(&asked);
    browser.submit(SIGN_IN, &sign_in).await.expect(307);
    fail();
    let busy = browser.submit(&path, &sign_in).await.expect(503);
    api.dynamodb.inject_faults(|_, _| None);
    browser.submit(&path, &Form::of(&busy, &path)).await.expect(303);
    assert_eq!(new_notes(&api, fixtures.candidate).await, 2);
}

#[tokio::test]
async fn what_was_typed_is_text_in_every_page() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let path = notes(fixtures.candidate);
    let browser = Browser::signed_in(&api, ACME).await;
    let payload = "</textarea></title>\"'><script>alert(1)</script><img src=x onerror=alert(1)>";
    let csrf = browser.csrf().await;
    let form = Form::new(&[("csrf", &csrf), ("text", payload), (payload, payload)]);
    let check = |page: &Response| {
        assert!(page.text.contains(&escaped("<script>alert(1)</script>")), "{}", page.text);
        for part in ["<script", "<img src=x", "</textarea></title>"] {
            assert!(!page.text.contains(part), "{part}: {}", page.text);
        }
    };
    browser.post("/dashboard/sign-out", &[]).await.expect(303);
    let asked = browser.submit(&path, &form).await.expect(401);
    check(&asked);
    let sign_in =
        credentials(&asked, DEMOS[GLOBEX].email, DEMOS[GLOBEX].password).and("organization", "globex");
    check(&send_on(&browser, &sign_in, &path).await.expect(409));
    let globex = Form::new(&[("csrf", &browser.csrf().await), ("text", payload), (payload, payload)]);
    check(&browser.submit(&path, &globex).await.expect(404));
}
