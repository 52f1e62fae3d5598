//! Passkeys: adding, signing in, removing, and what an answer of a browser must prove.

use futures_util::future::join_all;
use http::Method;
use rolecall_local::demo::DEMOS;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{Member, MemberRole, Mode};
use shared::store::Transaction;
use tests::browser::{Browser, Form, input};
use tests::dashboard::{actions, add_member, links, owner};
use tests::passkeys::{Device, PRESENT, VERIFIED, decoded, options};
use tests::{ACME, BASE_URL, GLOBEX, Response, TestApi, tenant};

use crate::audit_log::entries;
use crate::dashboard_access::is_write;

const ACCOUNT: &str = "/dashboard/settings/account";
const ADD: &str = "/dashboard/settings/account/passkeys";
const ASK: &str = "/dashboard/sign-in/passkey";
const CONFIRM: &str = "/dashboard/confirm";
const MEMBERS: &str = "/dashboard/settings/members";
const NOT_ACCEPTED: &str = "/dashboard/sign-in/passkey?failed=not-accepted&return_to=%2Fdashboard";
const EXPIRED: &str = "/dashboard/sign-in/passkey?failed=expired&return_to=%2Fdashboard";

/// Submits the form of the page that adds a passkey.
async fn submit_new(browser: &Browser<'_>, page: &Response, name: &str, answer: &str) -> Response {
    let form = Form::of(page, ADD).set("credential", answer).and("name", name);
    browser.submit(ADD, &form).await
}

/// Adds a passkey to the signed-in member's account.
pub(crate) async fn add(browser: &Browser<'_>, seed: u8) -> Device {
    let mut device = Device::new(seed);
    let page = browser.get(ADD).await.expect(200);
    let answer = device.create(&page.text);
    let added = submit_new(browser, &page, "Phone", &answer).await.expect(303);
    assert_eq!(added.header("location"), "/dashboard/settings/account?done=passkey-added");
    device
}

/// Submits the form of the page that asks for a passkey.
async fn submit(browser: &Browser<'_>, page: &Response, answer: &Value) -> Response {
    browser.submit(ASK, &Form::of(page, ASK).set("credential", &answer.to_string())).await
}

/// Signs in with a device's passkey.
pub(crate) async fn sign_in(browser: &Browser<'_>, device: &mut Device) -> Response {
    let page = browser.get(ASK).await.expect(200);
    submit(browser, &page, &device.sign(&page.text)).await
}

async fn require_second_factor(api: &TestApi) {
    let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
    transaction.put_second_factor_setting(true).unwrap();
    api.store().commit(transaction).await.unwrap();
}

async fn stored(api: &TestApi, demo: usize, id: Id) -> Member {
    let organization = tenant(demo, Mode::Live).organization;
    api.store().find_member(organization, id).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_member_adds_a_passkey_and_signs_in_with_it() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let account = browser.get(ACCOUNT).await.expect(200);
    assert_eq!(links(&account, ADD), [ADD]);
    let page = browser.get(ADD).await.expect(200);
    let asked = &options(&page.text);
    assert_eq!(asked["rp"], json!({ "name": "Rolecall", "id": "api.rolecall.test" }));
    let selection = &asked["authenticatorSelection"];
    assert_eq!(
        (&selection["residentKey"], &selection["userVerification"], &asked["attestation"]),
        (&json!("required"), &json!("required"), &json!("none"))
    );
    let mut device = Device::new(1);
    let answer = device.create(&page.text);
    let added = submit_new(&browser, &page, "My phone", &answer).await.expect(303);
    let account = browser.follow(&added).await.expect(200);
    for text in ["Passkey added.", "My phone", "20 Nov 2026", "never"] {
        assert!(account.text.contains(text), "{text}: {}", account.text);
    }

    let other = Browser::new(&api);
    let sign_in_page = other.get("/dashboard/sign-in?return_to=/dashboard/roles").await.expect(200);
    let link = links(&sign_in_page, ASK).remove(0);
    let page = other.get(&link).await.expect(200);
    assert_eq!(options(&page.text)["allowCredentials"], json!([]), "the page names no passkey");
    api.clock.set("2026-11-20T09:34:59Z");
    let signed_in = submit(&other, &page, &device.sign(&page.text)).await.expect(303);
    assert_eq!(signed_in.header("location"), "/dashboard/roles");
    let account = other.get(ACCOUNT).await.expect(200);
    assert!(account.text.contains("20 Nov 2026, 09:34 UTC"), "the last use: {}", account.text);
    let notices = other.get("/dashboard/settings/account/notices").await.expect(200).text;
    for sentence in ["You added the passkey \u{201c}My phone\u{201d}.", "You signed in from a new browser"] {
        assert!(notices.contains(sentence), "{sentence}");
    }
    // The second sign-in, without the counter of the first, is from a known browser.
    sign_in(&other, &mut device).await.expect(303);
    other.get("/dashboard").await.expect(200);
    let ada = owner(&api, ACME).await;
    assert!(ada.passkeys.iter().next().unwrap().credential.contains("\"counter\":2"));
}

/// A change of what a device does, with its name.
type Change = (&'static str, Box<dyn Fn(&mut Device)>);

/// Devices that must not sign in. `foreign` is the device of a member of another organization.
fn wrong_devices(foreign: &Device) -> Vec<Change> {
    fn change(name: &'static str, change: impl Fn(&mut Device) + 'static) -> Change {
        (name, Box::new(change))
    }
    let handle = |organization: u64, member: u64| [organization.to_be_bytes(), member.to_be_bytes()].concat();
    let foreign = foreign.handle.clone();
    vec![
        change("another host", |device| device.origin = format!("{BASE_URL}.evil.example")),
        change("plain HTTP", |device| device.origin = BASE_URL.replace("https", "http")),
        change("another port", |device| device.origin = format!("{BASE_URL}:8443")),
        change("another relying party", |device| "evil.example".clone_into(&mut device.relying_party)),
        change("a user who was not verified", |device| device.flags = PRESENT),
        change("a user who is not present", |device| device.flags = VERIFIED),
        change("another key", |device| *device = device.forged(9)),
        change("an unknown passkey", |device| device.id = vec![9; 32]),
        change("a member of another organization", move |device| device.handle.clone_from(&foreign)),
        change("an unknown member", move |device| device.handle = handle(1, 77)),
        change("an unknown organization", move |device| device.handle = handle(77, 1)),
        change("an impossible member", move |device| device.handle = handle(0, u64::MAX)),
        change("a short user handle", |device| device.handle = vec![1]),
        change("no user handle", |device| device.handle = Vec::new()),
    ]
}

#[tokio::test]
async fn an_answer_must_prove_the_passkey_the_user_and_the_service() {
    let api = TestApi::new().await;
    let device = add(&Browser::signed_in(&api, ACME).await, 1).await;
    let globex = add(&Browser::signed_in(&api, GLOBEX).await, 2).await;
    for (name, change) in wrong_devices(&globex) {
        let browser = Browser::new(&api);
        let mut device = device.clone();
        change(&mut device);
        let refused = sign_in(&browser, &mut device).await.expect(303);
        assert_eq!(refused.header("location"), NOT_ACCEPTED, "{name}");
        browser.get("/dashboard").await.expect(303);
        let page = browser.follow(&refused).await.expect(200);
        assert!(
            page.text.contains("This passkey was not accepted.") && !page.text.contains("at once"),
            "{name}"
        );
    }
    // Nothing of the answer can be replaced or left out.
    let other = device.clone().sign(&Browser::new(&api).get(ASK).await.expect(200).text);
    let pointers =
        ["/rawId", "/response/authenticatorData", "/response/clientDataJSON", "/response/signature"];
    for (place, pointer) in (0..).zip(pointers) {
        let browser = Browser::new(&api).at([10, 0, 0, place]);
        let own = other.pointer(pointer).unwrap().clone();
        for value in [json!(""), json!("AAAA"), json!(7), Value::Null, own] {
            let page = browser.get(ASK).await.expect(200);
            let mut answer = device.clone().sign(&page.text);
            let replaced = answer.pointer_mut(pointer).unwrap();
            if *replaced != value {
                *replaced = value.clone();
                let refused = submit(&browser, &page, &answer).await.expect(303);
                assert_eq!(refused.header("location"), NOT_ACCEPTED, "{pointer} {value}");
            }
        }
    }
    let browser = Browser::new(&api).at([10, 0, 0, 99]);
    for answer in [json!(null), json!("x"), json!([]), json!({}), json!({ "id": "x".repeat(10_000) })] {
        let page = browser.get(ASK).await.expect(200);
        let refused = submit(&browser, &page, &answer).await.expect(303);
        assert_eq!(refused.header("location"), NOT_ACCEPTED, "{answer}");
    }
    browser.get("/dashboard").await.expect(303);
    sign_in(&browser, &mut device.clone()).await.expect(303);
    browser.get("/dashboard").await.expect(200);
}

#[tokio::test]
async fn a_challenge_is_answered_once_in_one_browser_within_five_minutes() {
    let api = TestApi::new().await;
    let mut device = add(&Browser::signed_in(&api, ACME).await, 1).await;
    let (own, foreign) = (Browser::new(&api), Browser::new(&api));
    foreign.csrf().await;
    let page = own.get(ASK).await.expect(200);
    let answer = device.sign(&page.text);
    let ceremony = Form::of(&page, ASK).get("ceremony").to_owned();
    let csrf = foreign.csrf().await;
    let copied = Form::of(&page, ASK).set("csrf", &csrf).set("credential", &answer.to_string());
    let refused = foreign.submit(ASK, &copied).await.expect(303);
    assert_eq!(refused.header("location"), EXPIRED, "another browser");
    for wrong in ["", "x", &ceremony[1..], &ceremony.to_uppercase(), &format!("{ceremony}#")] {
        let form = Form::of(&page, ASK).set("ceremony", wrong).set("credential", &answer.to_string());
        assert_eq!(own.submit(ASK, &form).await.expect(303).header("location"), EXPIRED, "{wrong}");
    }
    submit(&own, &page, &answer).await.expect(303);
    own.get("/dashboard").await.expect(200);
    // The cookie has changed, so the old one is sent again.
    let late = Browser::new(&api);
    let page = late.get(ASK).await.expect(200);
    let answer = device.sign(&page.text);
    api.clock.set("2026-11-20T09:35:00Z");
    let refused = submit(&late, &page, &answer).await.expect(303);
    assert_eq!(refused.header("location"), EXPIRED, "after five minutes");
    assert!(late.follow(&refused).await.expect(200).text.contains("This took longer than five minutes"));
    // A wrong answer ends the ceremony, too.
    let page = late.get(ASK).await.expect(200);
    submit(&late, &page, &json!({})).await.expect(303);
    let refused = submit(&late, &page, &device.sign(&page.text)).await.expect(303);
    assert_eq!(refused.header("location"), EXPIRED, "after a wrong answer");
    late.get("/dashboard").await.expect(303);
    // A challenge to create a passkey is none to sign in.
    let browser = Browser::signed_in(&api, ACME).await;
    let page = browser.get(ADD).await.expect(200);
    let form = Form::of(&page, ADD).set("credential", &device.sign(&page.text).to_string());
    assert_eq!(browser.submit(ASK, &form).await.expect(303).header("location"), NOT_ACCEPTED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_simultaneous_answers_to_one_challenge_one_succeeds() {
    let api = TestApi::new().await;
    let mut device = add(&Browser::signed_in(&api, ACME).await, 1).await;
    let browser = Browser::new(&api);
    let page = browser.get(ASK).await.expect(200);
    let answer = device.sign(&page.text);
    let copies: Vec<_> = (0..4).map(|_| Browser::with_cookie(&api, &browser.cookie())).collect();
    let sent = join_all(copies.iter().map(|copy| submit(copy, &page, &answer))).await;
    let succeeded = sent.iter().filter(|response| response.header("location") == "/dashboard").count();
    assert_eq!(succeeded, 1);
}

#[tokio::test]
async fn a_counter_that_goes_back_is_refused() {
    let api = TestApi::new().await;
    let mut device = add(&Browser::signed_in(&api, ACME).await, 1).await;
    let mut copy = device.clone();
    let browser = Browser::new(&api);
    for _ in 0..3 {
        assert_eq!(sign_in(&browser, &mut device).await.expect(303).header("location"), "/dashboard");
    }
    let thief = Browser::new(&api);
    assert_eq!(sign_in(&thief, &mut copy).await.expect(303).header("location"), NOT_ACCEPTED);
    copy.counter = 2;
    assert_eq!(
        sign_in(&thief, &mut copy).await.expect(303).header("location"),
        NOT_ACCEPTED,
        "the same counter"
    );
    thief.get("/dashboard").await.expect(303);
    sign_in(&thief, &mut device).await.expect(303);
    thief.get("/dashboard").await.expect(200);
}

#[tokio::test]
async fn a_network_has_fifty_attempts_in_fifteen_minutes() {
    let api = TestApi::new().await;
    let mut device = add(&Browser::signed_in(&api, ACME).await, 1).await;
    let browser = Browser::new(&api).at([10, 0, 0, 1]);
    // Successful attempts are not counted.
    for _ in 0..2 {
        sign_in(&browser, &mut device).await.expect(303);
    }
    let stranger = Browser::new(&api).at([10, 0, 0, 1]);
    for _ in 0..50 {
        let page = stranger.get(ASK).await.expect(200);
        submit(&stranger, &page, &json!({})).await.expect(303);
    }
    api.dynamodb.take_calls();
    let blocked = stranger.get(ASK).await.expect(429);
    assert_eq!(blocked.header("retry-after"), "900");
    assert!(blocked.text.contains("Too many attempts. Try again in 15 minutes."));
    assert!(!blocked.text.contains("data-options"));
    assert_eq!(api.dynamodb.take_calls().len(), 1);
    Browser::new(&api).at([10, 0, 0, 2]).get(ASK).await.expect(200);
    api.clock.set("2026-11-20T09:45:00Z");
    stranger.get(ASK).await.expect(200);
}

/// A page of another site could open it again and again, and so block passkeys for its visitor's network.
#[tokio::test]
async fn opening_the_page_from_another_site_counts_nothing_and_writes_nothing() {
    let api = TestApi::new().await;
    let mut device = add(&Browser::signed_in(&api, ACME).await, 1).await;
    let path = format!("{ASK}?return_to=%2Fdashboard%2Froles");
    let browser = Browser::new(&api).at([10, 0, 0, 1]);
    let open = async |site: &str| {
        browser.request(Method::GET, &path).header("sec-fetch-site", site).send().await.expect(200)
    };
    api.dynamodb.take_calls();
    for _ in 0..60 {
        let page = open("cross-site").await;
        assert!(!page.text.contains("data-options"), "{}", page.text);
        assert!(page.text.contains(&format!("href=\"{path}\">Continue</a>")), "{}", page.text);
    }
    assert!(api.dynamodb.take_calls().is_empty());
    // The link on the page begins as usual.
    for site in ["same-origin", "same-site", "none"] {
        assert!(open(site).await.text.contains("data-options"), "{site}");
    }
    sign_in(&browser, &mut device).await.expect(303);
}

#[tokio::test]
async fn a_passkey_is_not_added_with_a_wrong_answer() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let create = async |change: &dyn Fn(&mut Device)| {
        let mut device = Device::new(3);
        change(&mut device);
        let page = browser.get(ADD).await.expect(200);
        let answer = device.create(&page.text);
        let response = submit_new(&browser, &page, "Phone", &answer).await.expect(303);
        response.header("location").to_owned()
    };
    let failed = |word: &str| format!("{ADD}?failed={word}");
    let not_created: Vec<Change> = vec![
        ("another origin", Box::new(|device| "https://evil.example".clone_into(&mut device.origin))),
        ("another relying party", Box::new(|device| "evil.example".clone_into(&mut device.relying_party))),
        ("a user who was not verified", Box::new(|device| device.flags = PRESENT)),
        ("a user who is not present", Box::new(|device| device.flags = VERIFIED)),
        ("an enormous identifier", Box::new(|device| device.id = vec![7; 5_000])),
    ];
    for (name, change) in not_created {
        assert_eq!(create(&change).await, failed("not-created"), "{name}");
    }
    assert_eq!(create(&|device| device.is_discoverable = false).await, failed("not-discoverable"));
    let page = browser.get(&failed("not-discoverable")).await.expect(200);
    assert!(page.text.contains("cannot offer this passkey when you sign in"));
    for junk in ["", "x", "null", "{}", &"[".repeat(50_000)] {
        let page = browser.get(ADD).await.expect(200);
        let refused = submit_new(&browser, &page, "Phone", junk).await.expect(303);
        assert_eq!(refused.header("location"), failed("not-created"), "{}", junk.len());
        let refused =
            submit_new(&browser, &page, "Phone", &Device::new(3).create(&page.text)).await.expect(303);
        assert_eq!(refused.header("location"), failed("expired"), "the ceremony is over");
    }
    // The answer of another member does not count for this one.
    let page = Browser::signed_in(&api, GLOBEX).await.get(ADD).await.expect(200);
    let answer = Device::new(3).create(&page.text);
    let own = browser.get(ADD).await.expect(200);
    let refused = submit_new(&browser, &own, "Phone", &answer).await.expect(303);
    assert_eq!(refused.header("location"), failed("not-created"));
    assert!(owner(&api, ACME).await.passkeys.is_empty());
    assert!(!browser.get(ACCOUNT).await.expect(200).text.contains("Remove the passkey"));
    // A device has one passkey of a member at most.
    let device = add(&browser, 3).await;
    let excluded = options(&browser.get(ADD).await.text)["excludeCredentials"].clone();
    assert_eq!((excluded.as_array().unwrap().len(), decoded(&excluded[0]["id"])), (1, device.id));
    assert_eq!(create(&|_| ()).await, failed("not-created"), "the same passkey again");
}

#[tokio::test]
async fn a_name_that_is_not_valid_loses_nothing() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let page = browser.get(ADD).await.expect(200);
    let answer = Device::new(1).create(&page.text);
    api.dynamodb.take_calls();
    for (name, sentence) in [
        ("", "The name can&#39;t be blank."),
        (" ", "The name can&#39;t be blank."),
        (&*"x".repeat(201), "The name must be at most 200 characters."),
    ] {
        let again = submit_new(&browser, &page, name, &answer).await.expect(422);
        assert!(again.text.contains(sentence), "{}", again.text);
        assert_eq!((input(&again, "credential"), input(&again, "name")), (answer.clone(), name.to_owned()));
        assert_eq!(Form::of(&again, ADD).get("ceremony"), Form::of(&page, ADD).get("ceremony"));
        assert!(!api.dynamodb.take_calls().iter().any(is_write));
    }
    submit_new(&browser, &page, "Phone", &answer).await.expect(303);
    assert_eq!(owner(&api, ACME).await.passkeys.iter().count(), 1);
}

#[tokio::test]
async fn a_member_has_at_most_ten_passkeys() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let waiting = browser.get(ADD).await.expect(200);
    for seed in 1..=10 {
        add(&browser, seed).await;
    }
    let too_many = "/dashboard/settings/account?failed=too-many-passkeys";
    let page = browser.get(ADD).await.expect(303);
    assert_eq!(page.header("location"), too_many);
    let answer = Device::new(11).create(&waiting.text);
    let refused = submit_new(&browser, &waiting, "Phone", &answer).await.expect(303);
    assert_eq!(refused.header("location"), too_many);
    let account = browser.follow(&refused).await.expect(200);
    assert!(account.text.contains("You have ten passkeys.") && links(&account, ADD).is_empty());
    let ada = owner(&api, ACME).await;
    assert_eq!(ada.passkeys.iter().count(), 10);
    let item = api.stored_items().await.into_iter().find(|(key, _)| {
        key.0.ends_with("#live#MEMBER") && format!("{key:?}").contains(&format!("{:016}", ada.id.get()))
    });
    let size = format!("{:?}", item.unwrap().1).len();
    assert!(size < 16 * 1024, "{size}");
}

#[tokio::test]
async fn a_removed_passkey_is_worth_nothing() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let (mut lost, mut kept) = (add(&browser, 1).await, add(&browser, 2).await);
    let remove =
        actions(&browser.get(ACCOUNT).await).into_iter().find(|action| action.contains("/passkeys/"));
    let remove = remove.unwrap();
    // Nobody else can remove it.
    let globex = Browser::signed_in(&api, GLOBEX).await;
    globex.post(&remove, &[]).await.expect(404);
    let jo = add_member(&api, ACME, "Jo", MemberRole::Owner).await;
    Browser::with_session(&api, ACME, &jo).await.post(&remove, &[]).await.expect(404);
    let removed = browser.post(&remove, &[]).await.expect(303);
    let account = browser.follow(&removed).await.expect(200);
    assert!(account.text.contains("Passkey removed.") && !actions(&account).contains(&remove));
    browser.post(&remove, &[]).await.expect(404);
    let notices = browser.get("/dashboard/settings/account/notices").await.expect(200).text;
    assert!(notices.contains("You removed the passkey \u{201c}Phone\u{201d}."));
    let other = Browser::new(&api);
    assert_eq!(sign_in(&other, &mut lost).await.expect(303).header("location"), NOT_ACCEPTED);
    assert_eq!(sign_in(&other, &mut kept).await.expect(303).header("location"), "/dashboard");
}

#[tokio::test]
async fn passkeys_end_with_a_reset_and_with_the_member() {
    let api = TestApi::new().await;
    let ada = Browser::signed_in(&api, ACME).await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let browser = Browser::with_session(&api, ACME, &jo).await;
    let mut device = add(&browser, 1).await;
    let other = Browser::new(&api);
    assert_eq!(sign_in(&other, &mut device).await.expect(303).header("location"), "/dashboard");
    // A new password keeps the passkeys, and ends the sessions that began with them.
    let before = stored(&api, ACME, jo.id).await;
    let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
    transaction.replace_member(&before, &before.clone().signed_out()).unwrap();
    api.store().commit(transaction).await.unwrap();
    other.get("/dashboard").await.expect(303);
    assert_eq!(sign_in(&other, &mut device).await.expect(303).header("location"), "/dashboard");

    let reset = format!("{MEMBERS}/{}/second-factor", jo.id);
    assert!(actions(&ada.get(MEMBERS).await).contains(&reset));
    ada.post(&reset, &[]).await.expect(303);
    assert!(!actions(&ada.get(MEMBERS).await).contains(&reset));
    assert_eq!(sign_in(&Browser::new(&api), &mut device).await.expect(303).header("location"), NOT_ACCEPTED);
    let notices = other.get("/dashboard/settings/account/notices").await.expect(200).text;
    assert!(notices.contains("Ada removed your second factor and your passkeys."), "{notices}");

    let mut device = add(&Browser::with_session(&api, ACME, &stored(&api, ACME, jo.id).await).await, 2).await;
    let waiting = Browser::new(&api);
    let page = waiting.get(ASK).await.expect(200);
    let answer = device.sign(&page.text);
    ada.post(&format!("{MEMBERS}/{}/remove", jo.id), &[]).await.expect(303);
    assert_eq!(submit(&waiting, &page, &answer).await.expect(303).header("location"), NOT_ACCEPTED);
}

#[tokio::test]
async fn a_passkey_is_a_second_factor() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    require_second_factor(&api).await;
    // A member without a second factor adds a passkey instead of an authenticator app.
    let set_up = browser.get("/dashboard").await.expect(303);
    let page = browser.follow(&set_up).await.expect(200);
    assert_eq!(links(&page, ADD), [ADD]);
    let mut device = add(&browser, 1).await;
    browser.get("/dashboard").await.expect(200);
    let other = Browser::new(&api);
    sign_in(&other, &mut device).await.expect(303);
    other.get("/dashboard").await.expect(200);
    // The last second factor stays.
    let remove = actions(&other.get(ACCOUNT).await).into_iter().find(|action| action.contains("/passkeys/"));
    let refused = other.post(&remove.unwrap(), &[]).await.expect(303);
    assert_eq!(refused.header("location"), "/dashboard/settings/account?failed=second-factor-required");
    // The password alone gives nothing: neither pages, nor another second factor, nor an application's access.
    let thief = Browser::signed_in(&api, ACME).await;
    let asked = "/dashboard/sign-in/passkey?return_to=%2Fdashboard";
    for path in ["/dashboard", ACCOUNT, ADD, CONFIRM, "/dashboard/settings/account/second-factor"] {
        assert_eq!(thief.get(path).await.expect(303).header("location"), asked, "{path}");
    }
    thief.get(asked).await.expect(200);
    for path in [ADD, CONFIRM, "/dashboard/settings/account/second-factor", "/dashboard/sign-out-everywhere"]
    {
        assert_eq!(thief.post(path, &[]).await.expect(303).header("location"), asked, "{path}");
    }
    // The same browser continues with the passkey, in the same session.
    let page = thief.get(asked).await.expect(200);
    submit(&thief, &page, &device.sign(&page.text)).await.expect(303);
    thief.get("/dashboard").await.expect(200);
    // A new password does not change what the session began with.
    let fields = [
        ("current", DEMOS[ACME].password),
        ("password", "a longer pass phrase"),
        ("repeated", "a longer pass phrase"),
    ];
    thief.post("/dashboard/settings/account/password", &fields).await.expect(303);
    thief.get("/dashboard").await.expect(200);
}

#[tokio::test]
async fn a_passkey_confirms_a_dangerous_change_in_the_same_session() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    assert!(links(&browser.get(CONFIRM).await.expect(200), ASK).is_empty(), "the member has no passkey");
    let mut device = add(&browser, 1).await;
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    api.clock.set("2026-11-20T10:00:00Z");
    let invitation = [("name", "Jo"), ("email", "jo@acme.example"), ("role", "owner")];
    browser.get(MEMBERS).await.expect(200);
    let asked = browser.post(MEMBERS, &invitation).await.expect(401);
    assert!(asked.text.contains(&format!("formaction=\"{ASK}\"")), "{}", asked.text);
    let cookie = browser.cookie();
    let page = browser.submit(ASK, &Form::of(&asked, CONFIRM)).await.expect(200);
    let answered = Form::of(&page, ASK).set("credential", &device.sign(&page.text).to_string());
    let confirmed = browser.submit(ASK, &answered).await.expect(307);
    assert_eq!((confirmed.header("location"), browser.cookie()), (MEMBERS, cookie));
    browser.submit(MEMBERS, &answered).await.expect(200);
    assert!(browser.get("/dashboard").await.text.contains("Test data"), "the mode stays");
    // Somebody else's passkey begins a session of its own.
    let globex = Browser::signed_in(&api, GLOBEX).await;
    let mut other = add(&globex, 2).await;
    sign_in(&browser, &mut other).await.expect(303);
    assert!(browser.get(ACCOUNT).await.expect(200).text.contains(DEMOS[GLOBEX].email));
}

#[tokio::test]
async fn passkeys_need_a_domain_name() {
    let mut api = TestApi::new().await;
    let ada = owner(&api, ACME).await;
    for base_url in
        [None, Some("http://127.0.0.1:3000"), Some("https://192.0.2.7"), Some("http://jobs.example")]
    {
        api.environment.config.base_url = base_url.map(str::to_owned);
        api.restart();
        for host in ["api.rolecall.test", "127.0.0.1:3000"] {
            let send =
                |path: &str| api.request(http::Method::GET, path).anonymous().header("host", host).send();
            let page = send("/dashboard/sign-in").await.expect(200);
            assert!(links(&page, ASK).is_empty(), "{base_url:?} {host}");
            let refused = send(ASK).await.expect(400);
            assert!(
                refused.text.contains("Passkeys need the service&#39;s own domain name"),
                "{}",
                refused.text
            );
        }
    }
    api.environment.config.base_url = Some("http://127.0.0.1:3000".to_owned());
    api.restart();
    let local = api.request(http::Method::GET, ASK).anonymous().header("host", "localhost:3000");
    let page = local.send().await.expect(200);
    assert_eq!(options(&page.text)["rpId"], "localhost");
    assert_eq!(ada.passkeys.iter().count(), 0);
}

#[tokio::test]
async fn passkeys_are_recorded_in_the_audit_log() {
    let api = TestApi::new().await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let mut device = add(&browser, 1).await;
    let other = Browser::new(&api);
    sign_in(&other, &mut device).await.expect(303);
    let mut forged = device.forged(7);
    sign_in(&Browser::new(&api), &mut forged).await.expect(303);
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    add(&Browser::with_session(&api, ACME, &jo).await, 2).await;
    browser.post(&format!("{MEMBERS}/{}/second-factor", jo.id), &[]).await.expect(303);
    let log = entries(&api, ACME, Mode::Live).await;
    let mut acts: Vec<_> = log.iter().map(|entry| entry.action.as_str()).collect();
    acts.sort_unstable();
    assert_eq!(
        acts,
        ["passkey.added", "passkey.added", "passkey.removed", "session.created", "sign_in.failed"]
    );
}
