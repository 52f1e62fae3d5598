//! Webhook endpoints in the dashboard: the forms, the deliveries, and the notice that one is disabled.

use http::Method;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{AuditAction, DisabledReason, EventType, MemberRole, Mode};
use shared::store::Transaction;
use tests::browser::{Browser, input, plain};
use tests::dashboard::{actions, add_member, connect_app, escaped, links, owner, shown_once};
use tests::fake::{FakeResponse, FakeServer};
use tests::{ACME, GLOBEX, Response, TestApi, project, tenant};

use crate::dashboard_access::is_write;
use crate::webhooks::{acme, insert_key, local_api, receiver, write_events};

const PATH: &str = "/dashboard/webhooks";
const URL: &str = "https://hooks.example.com/x";

pub(super) async fn ada(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

/// Adds an endpoint in the dashboard. Returns its id.
async fn add(browser: &Browser<'_>, url: &str) -> u64 {
    let page = browser.post(PATH, &[("url", url), ("hmac", "true")]).await.expect(200);
    let path = links(&page, &format!("{PATH}/")).remove(0);
    path.rsplit('/').next().unwrap().parse().unwrap()
}

/// The endpoint as the API returns it.
async fn endpoint(api: &TestApi, id: u64) -> Value {
    api.get(&format!("/api/v1/webhook_endpoints/{id}")).await.expect(200).body
}

/// Submits a form, which redirects to a page. Returns the page.
async fn submit(browser: &Browser<'_>, path: &str, fields: &[(&str, &str)]) -> Response {
    let response = browser.post(path, fields).await.expect(303);
    browser.follow(&response).await.expect(200)
}

/// The values of the boxes that are ticked.
fn ticked(page: &Response) -> Vec<String> {
    let boxes = page.text.split("type=\"checkbox\" name=\"types\" value=\"").skip(1);
    let ticked = boxes.filter(|rest| rest.split('>').next().unwrap().ends_with(" checked"));
    ticked.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn an_endpoint_is_added_and_its_secret_is_shown_once() {
    let api = TestApi::new().await;
    let browser = ada(&api).await;
    let empty = browser.get(PATH).await.expect(200);
    assert!(empty.text.contains("No webhook endpoints yet") && ticked(&empty).is_empty());
    assert!(empty.text.contains("name=\"hmac\" value=\"true\" checked"));
    let guide = links(&empty, "/docs/").remove(0);
    let (guide, anchor) = guide.split_once('#').unwrap();
    assert!(browser.get(guide).await.expect(200).text.contains(&format!("id=\"{anchor}\"")));
    api.dynamodb.take_calls();
    let fields = [
        ("key", "one"),
        ("url", URL),
        ("description", "Our <b>warehouse</b>"),
        ("types", "role.published"),
        ("types", "candidate.created"),
    ];
    let page = browser.post(PATH, &fields).await.expect(200);
    let secret = shown_once(&page).unwrap();
    assert!(secret.starts_with("whsec_") && page.text.matches(&secret).count() == 1);
    assert_eq!(page.header("cache-control"), "no-store");
    assert!(page.text.contains(&escaped("Our <b>warehouse</b>")) && !page.text.contains("<b>warehouse"));
    assert!(page.text.contains("<li>role.published</li><li>candidate.created</li>"), "{}", page.text);
    assert_eq!(input(&page, "url"), "", "the form is empty again");
    let calls = api.dynamodb.take_calls();
    assert!(!calls.iter().any(|call| format!("{} {}", call.request, call.response).contains(&secret)));

    let path = links(&page, &format!("{PATH}/")).remove(0);
    let stored = endpoint(&api, path.rsplit('/').next().unwrap().parse().unwrap()).await;
    assert_eq!(stored["types"], json!(["role.published", "candidate.created"]));
    assert_eq!((&stored["hmac"], &stored["description"]), (&json!(false), &json!("Our <b>warehouse</b>")));

    // A form that is sent again adds no second endpoint.
    let again = browser.post(PATH, &fields).await.expect(200);
    assert_eq!(shown_once(&again).unwrap(), secret);
    assert_eq!(api.get("/api/v1/webhook_endpoints").await.body["data"].as_array().unwrap().len(), 1);
    for other in [PATH, &path, "/dashboard", "/dashboard/settings/account"] {
        let page = browser.get(other).await.expect(200);
        assert!(!page.text.contains("whsec_") && shown_once(&page).is_none(), "{other}");
    }
    let shown = browser.get(&path).await.expect(200);
    assert!(shown.text.contains(&escaped(stored["public_keys"][0].as_str().unwrap())));
    assert_eq!(ticked(&shown), ["role.published", "candidate.created"]);
}

#[tokio::test]
async fn an_invalid_form_names_every_mistake_in_the_words_of_the_api_and_keeps_its_values() {
    let api = TestApi::new().await;
    let browser = ada(&api).await;
    let id = add(&browser, URL).await;
    let long = "x".repeat(201);
    for (fields, sentences) in [
        (vec![("url", "")], vec!["The URL can't be blank."]),
        (vec![("url", "x")], vec!["The URL must be a URL, such as https://example.com/webhooks."]),
        (vec![("url", "http://hooks.example.com/")], vec!["The URL must begin with https://."]),
        (
            vec![("url", "https://10.0.0.1/")],
            vec!["The URL must have a name as its host, not an IP address."],
        ),
        (vec![("url", "https://a@hooks.example.com/")], vec!["must not have a user name or a password."]),
        (vec![("url", "https://hooks.example.com:8443/")], vec!["must have no port"]),
        (vec![("url", "https://localhost/")], vec!["The URL must have a public host name."]),
        (vec![("url", "https://api.rolecall.test/x")], vec!["must not have the host of this service."]),
        (vec![("url", "http://127.0.0.1:8080/x")], vec!["The URL must begin with https://."]),
        (
            vec![
                ("url", "\"><b>"),
                ("description", &long),
                ("types", "role.closed"),
                ("types", "role.eaten"),
            ],
            vec![
                "The URL must be a URL",
                "The description must be at most 200",
                "The list of events must be",
            ],
        ),
        (vec![("url", URL), ("secret", "whsec_x")], vec!["secret is not a known field."]),
    ] {
        for path in [PATH.to_owned(), format!("{PATH}/{id}")] {
            api.dynamodb.take_calls();
            let page = browser.post(&path, &fields).await.expect(422);
            assert!(!api.dynamodb.take_calls().iter().any(is_write), "{fields:?}");
            for sentence in &sentences {
                assert!(page.text.contains(&escaped(sentence)), "{sentence}: {}", page.text);
            }
            assert_eq!(input(&page, "url"), fields[0].1);
            let expected: &[&str] = if fields.len() > 2 { &["role.closed"] } else { &[] };
            assert_eq!(ticked(&page), expected);
            assert!(shown_once(&page).is_none());
        }
    }
}

#[tokio::test]
async fn each_mode_has_at_most_20_endpoints_of_its_own() {
    let api = TestApi::new().await;
    let browser = ada(&api).await;
    let mut last = 0;
    for _ in 0..20 {
        last = add(&browser, URL).await;
    }
    let refused = browser.post(PATH, &[("url", URL)]).await.expect(422);
    assert!(refused.text.contains("An organization has at most 20 webhook endpoints."), "{}", refused.text);
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    assert!(browser.get(PATH).await.expect(200).text.contains("No webhook endpoints yet"));
    browser.get(&format!("{PATH}/{last}")).await.expect(404);
    let test = add(&browser, URL).await;
    let listed = api.request(Method::GET, "/api/v1/webhook_endpoints").key(ACME, Mode::Test).send().await;
    assert_eq!(listed.expect(200).number("/data/0/id"), test);
    browser.post("/dashboard/mode", &[("mode", "live")]).await.expect(303);
    let page = submit(&browser, &format!("{PATH}/{last}/delete"), &[]).await;
    assert!(page.text.contains("Webhook endpoint deleted.") && !page.text.contains(&last.to_string()));
    add(&browser, URL).await;
}

/// Who manages API keys manages webhook endpoints, too.
#[tokio::test]
async fn a_member_edits_disables_and_enables_an_endpoint() {
    let api = TestApi::new().await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let browser = Browser::with_session(&api, ACME, &jo).await;
    let id = add(&browser, URL).await;
    let path = format!("{PATH}/{id}");
    let page = browser.get(&path).await.expect(200);
    let seen = input(&page, "seen");
    let fields = [
        ("seen", &*seen),
        ("url", "https://hooks.example.com/y"),
        ("description", "Ours"),
        ("types", "role.closed"),
        ("types", "role.opened"),
    ];
    browser.post(&path, &fields).await.expect(422);
    let page = submit(&browser, &path, &fields[..4]).await;
    assert!(
        page.text.contains("Webhook endpoint saved.") && page.text.contains("https://hooks.example.com/y")
    );
    let changed = endpoint(&api, id).await;
    assert_eq!((&changed["types"], &changed["hmac"]), (&json!(["role.closed"]), &json!(false)));

    // Somebody else's page is older now.
    let stale = browser.post(&path, &[("seen", &seen), ("url", URL), ("hmac", "true")]).await.expect(412);
    assert!(stale.text.contains("Somebody changed this in the meantime."));
    assert_eq!(input(&stale, "url"), URL);
    assert!(stale.text.contains("https://hooks.example.com/y"), "the stored URL is beside it");
    let seen = input(&stale, "seen");
    submit(&browser, &path, &[("seen", &seen), ("url", URL), ("description", ""), ("hmac", "true")]).await;
    let changed = endpoint(&api, id).await;
    assert_eq!((&changed["types"], &changed["hmac"]), (&json!([]), &json!(true)), "no tick means all");
    assert_eq!(changed["description"], Value::Null);

    let page = submit(&browser, &path, &[("status", "disabled")]).await;
    assert!(page.text.contains("Webhook endpoint disabled.") && page.text.contains("is-disabled"));
    assert!(page.text.contains("It was disabled in the dashboard or with the API."));
    let forms = actions(&page);
    for missing in ["ping", "replay"] {
        assert!(!forms.contains(&format!("{path}/{missing}")), "{missing}");
    }
    let refused = submit(&browser, &format!("{path}/ping"), &[]).await;
    assert!(refused.text.contains("Nothing was sent, because the webhook endpoint is disabled."));
    submit(&browser, &format!("{path}/replay"), &[("after", "0")]).await;
    let changed = endpoint(&api, id).await;
    assert_eq!((&changed["url"], &changed["hmac"]), (&json!(URL), &json!(true)), "only the status changed");
    let page = submit(&browser, &path, &[("status", "enabled")]).await;
    assert!(page.text.contains("Webhook endpoint enabled.") && page.text.contains("is-enabled"));
    browser.post(&path, &[("url", URL), ("status", "asleep")]).await.expect(422);
    let log = api.get("/api/v1/audit_log").await;
    let found = log.text.matches(AuditAction::WebhookEndpointUpdated.as_str()).count();
    assert_eq!(found, 4, "{}", log.text);
}

#[tokio::test]
async fn a_new_secret_is_shown_once_and_cannot_be_replaced_for_a_day() {
    let api = TestApi::new().await;
    let browser = ada(&api).await;
    let id = add(&browser, URL).await;
    let (path, rotate) = (format!("{PATH}/{id}"), format!("{PATH}/{id}/rotate"));
    assert!(actions(&browser.get(&path).await.expect(200)).contains(&rotate));
    let page = browser.post(&rotate, &[("key", "one")]).await.expect(200);
    let secret = shown_once(&page).unwrap();
    assert!(secret.starts_with("whsec_") && page.text.contains("also sign until"));
    for key in endpoint(&api, id).await["public_keys"].as_array().unwrap() {
        assert!(page.text.contains(&escaped(key.as_str().unwrap())));
    }
    assert_eq!(shown_once(&browser.post(&rotate, &[("key", "one")]).await.expect(200)).unwrap(), secret);
    let refused = browser.post(&rotate, &[("key", "two")]).await.expect(422);
    assert!(refused.text.contains("A third pair is too early"), "{}", refused.text);
    let page = browser.get(&path).await.expect(200);
    assert!(!page.text.contains("whsec_") && !actions(&page).contains(&rotate));
    api.clock.set("2026-11-21T09:30:00Z");
    let browser = ada(&api).await;
    assert!(actions(&browser.get(&path).await.expect(200)).contains(&rotate));
    assert_ne!(shown_once(&browser.post(&rotate, &[]).await.expect(200)).unwrap(), secret);
}

/// A receiver controls the text that the page shows.
#[tokio::test]
async fn a_test_is_sent_its_hostile_answer_is_escaped_and_it_is_sent_again() {
    let api = local_api().await;
    let browser = ada(&api).await;
    let payloads = std::fs::read_to_string(project("tests/xss.txt")).unwrap();
    // As many as a page shows.
    let payloads = payloads.lines().filter(|line| line.contains('<')).step_by(5).take(25);
    let payloads: Vec<_> = payloads.map(str::to_owned).collect();
    let server = receiver(500).await;
    let id = add(&browser, &format!("{}/hook", server.url)).await;
    let (path, ping) = (format!("{PATH}/{id}"), format!("{PATH}/{id}/ping"));
    assert!(browser.get(&path).await.text.contains("No deliveries yet."));
    assert!(payloads.len() > 10);
    for payload in &payloads {
        let answer = payload.clone();
        server.reply_with(move |_| FakeResponse::Full(500, Vec::new(), answer.clone()));
        let page = submit(&browser, &ping, &[]).await;
        assert!(page.text.contains("The test is sent within a minute.") && page.text.contains("is-pending"));
        api.deliver().await;
    }
    let page = browser.get(&path).await.expect(200);
    assert!(page.text.contains("status 500, ") && page.text.contains("none"), "{}", page.text);
    let answers: Vec<_> = page.text.split("<pre dir=\"auto\">").skip(1).collect();
    assert!(answers.len() > 10);
    for answer in answers {
        let answer = answer.split("</pre>").next().unwrap();
        assert!(
            !answer.contains('<') && payloads.iter().any(|payload| *payload == plain(answer)),
            "{answer}"
        );
    }
    assert!(page.text.contains("<time datetime=\"2026-11-20T09:30:00Z\">20 Nov 2026, 09:30:00 UTC</time>"));

    server.reply_with(|_| FakeResponse::Full(200, Vec::new(), String::new()));
    let redeliver = actions(&page).into_iter().find(|action| action.ends_with("/redeliver")).unwrap();
    let page = submit(&browser, &redeliver, &[]).await;
    assert!(page.text.contains("The event is sent again within a minute."));
    api.deliver().await;
    let page = browser.get(&path).await.expect(200);
    assert!(
        page.text.contains("is-delivered")
            && page.text.contains("2 attempts")
            && page.text.contains("status 200")
    );
    let requests = server.requests();
    assert_eq!(
        requests.last().unwrap().header("webhook-id"),
        requests[payloads.len() - 1].header("webhook-id")
    );

    // Nobody listens there.
    drop(server);
    let gone = add(&browser, "http://127.0.0.1:1/hook").await;
    submit(&browser, &format!("{PATH}/{gone}/ping"), &[]).await;
    api.deliver().await;
    let page = browser.get(&format!("{PATH}/{gone}")).await.expect(200);
    assert!(page.text.contains("refused") && page.text.contains("is-failed"), "{}", page.text);
    // A delivery of another endpoint, or of another organization, does not exist.
    let elsewhere = redeliver.replace(&id.to_string(), &gone.to_string());
    browser.post(&elsewhere, &[]).await.expect(404);
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    grace.post(&redeliver, &[]).await.expect(404);
    grace.get(&path).await.expect(404);
}

#[tokio::test]
async fn the_events_after_a_number_are_replayed() {
    let api = local_api().await;
    let browser = ada(&api).await;
    let server = receiver(200).await;
    write_events(&api, acme(), &[EventType::RoleCreated; 3]).await;
    let id = add(&browser, &format!("{}/hook", server.url)).await;
    let replay = format!("{PATH}/{id}/replay");
    for (after, sentence) in [
        ("", "The event number can't be blank."),
        ("x<", "The event number must be"),
        ("-1", "The event number must be"),
        ("4", "The event number is older than 30 days, or beyond the newest event."),
    ] {
        let page = browser.post(&replay, &[("after", after)]).await.expect(422);
        assert!(page.text.contains(&escaped(sentence)), "{after}: {}", page.text);
        assert_eq!(input(&page, "after"), after);
    }
    let page = submit(&browser, &replay, &[("after", "1")]).await;
    assert!(page.text.contains("The replay begins within a minute."));
    api.deliver().await;
    assert_eq!(server.requests().len(), 2);
    let page = browser.get(&format!("{PATH}/{id}")).await.expect(200);
    assert!(
        page.text.contains("event 2") && page.text.contains("event 3") && !page.text.contains("event 1<")
    );
}

#[tokio::test]
async fn deliveries_have_pages() {
    let api = local_api().await;
    let browser = ada(&api).await;
    let server = receiver(204).await;
    let id = add(&browser, &format!("{}/hook", server.url)).await;
    write_events(&api, acme(), &[EventType::RoleCreated; 60]).await;
    api.deliver().await;
    let (mut path, mut seen) = (format!("{PATH}/{id}"), 0);
    for count in [25, 25, 10] {
        let page = browser.get(&path).await.expect(200);
        assert_eq!(page.text.matches("<th scope=\"row\">role.created").count(), count);
        seen += count;
        let next = page.text.split("rel=\"next\" href=\"").nth(1);
        path = next.map(|rest| plain(rest.split('"').next().unwrap())).unwrap_or_default();
    }
    assert_eq!((seen, &*path), (60, ""));
    // An unknown place is the first page.
    let first = browser.get(&format!("{PATH}/{id}?before=x&earlier=y")).await.expect(200);
    assert_eq!(first.text.matches("<th scope=\"row\">role.created").count(), 25);
}

/// Disables an endpoint as the deliveries do.
/// Whoever finds a key can have all events sent to a place of their own, until somebody notices.
#[tokio::test]
async fn owners_are_told_of_each_new_endpoint_and_each_new_url() {
    let api = TestApi::new().await;
    let bob = add_member(&api, ACME, "Bob", MemberRole::Member).await;
    let endpoints = "/api/v1/webhook_endpoints";
    let id = api.post(endpoints, json!({ "url": URL })).await.expect(201).number("/id");
    let path = format!("{endpoints}/{id}");
    api.clock.set("2026-11-20T09:31:00Z");
    api.patch(&path, json!({ "url": URL, "description": "Ours", "status": "disabled" })).await.expect(200);
    api.patch(&path, json!({ "url": "https://evil.example/" })).await.expect(200);
    let (_, token) = connect_app(&api.environment, tenant(ACME, Mode::Test), bob.id, "Helper").await;
    api.clock.set("2026-11-20T09:32:00Z");
    let by_app = api.request(Method::POST, endpoints).bearer(token.reveal());
    by_app.json(&json!({ "url": "https://app.example/x" })).send().await.expect(201);
    let bobs = Browser::with_session(&api, ACME, &bob).await;
    api.clock.set("2026-11-20T09:33:00Z");
    add(&bobs, "https://bob.example/").await;
    let expected = [
        "Bob added a webhook endpoint for live data: https://bob.example/",
        "The app “Helper” added a webhook endpoint for test data: https://app.example/x",
        "The API key “Acme demonstration” changed the URL of a webhook endpoint for live data: https://evil.example/",
        "The API key “Acme demonstration” added a webhook endpoint for live data: https://hooks.example.com/x",
    ];
    let eve = add_member(&api, ACME, "Eve", MemberRole::Owner).await;
    let eves = Browser::with_session(&api, ACME, &eve).await;
    let graces = Browser::signed_in(&api, GLOBEX).await;
    let sentences = async |browser: &Browser<'_>| {
        let page = browser.get("/dashboard/settings/account/notices").await.expect(200);
        let cells = page.text.split("data-label=\"What happened\">").skip(1);
        let sentences = cells.map(|cell| plain(cell.split("</td>").next().unwrap()));
        sentences.filter(|sentence| sentence.contains("webhook")).collect::<Vec<_>>()
    };
    assert_eq!(sentences(&eves).await, expected);
    for others in [&bobs, &graces] {
        assert_eq!(sentences(others).await, [""; 0]);
    }
    let band = "See your notices";
    let ada = Browser::signed_in(&api, ACME).await;
    assert_eq!(sentences(&ada).await, expected);
    assert!(ada.get("/dashboard").await.expect(200).text.contains(band));
    // Each owner dismisses them alone.
    let page = ada.get("/dashboard/settings/account/notices").await.expect(200);
    let newest = page.text.split("name=\"newest\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    ada.post("/dashboard/settings/account/notices", &[("newest", newest)]).await.expect(303);
    assert_eq!(sentences(&ada).await, [""; 0]);
    assert!(!ada.get("/dashboard").await.expect(200).text.contains(band));
    let again = Browser::signed_in(&api, ACME).await;
    assert_eq!(sentences(&again).await, [""; 0]);
    assert_eq!(sentences(&eves).await, expected);
}

#[tokio::test]
async fn the_endpoints_of_a_revoked_key_or_app_are_disabled_unless_they_are_kept() {
    let api = TestApi::new().await;
    let ada = owner(&api, ACME).await;
    let browser = Browser::with_session(&api, ACME, &ada).await;
    let key = insert_key(&api, acme(), 71, None).await;
    let (grant, token) = connect_app(&api.environment, acme(), ada.id, "Helper").await;
    for (settings, credential, id) in [("api-keys", &key, key.id()), ("connected-apps", &token, grant.id)] {
        let send = async |method: Method, path: &str, url: &str| {
            let request = api.request(method, &format!("/api/v1/webhook_endpoints{path}"));
            let body = json!({ "url": format!("https://{settings}.example/{url}") });
            let response = request.bearer(credential.reveal()).json(&body).send().await;
            response.number("/id")
        };
        let [ended, kept] = [send(Method::POST, "", "ended").await, send(Method::POST, "", "kept").await];
        let moved = add(&browser, URL).await;
        send(Method::PATCH, &format!("/{moved}"), "moved").await;
        // This one got its URL from the member.
        let own = send(Method::POST, "", "own").await;
        submit(&browser, &format!("{PATH}/{own}"), &[("url", URL), ("hmac", "true")]).await;
        let path = format!("/dashboard/settings/integrations/{settings}");
        let page = browser.get(&path).await.expect(200);
        let offered = |id: u64| page.text.contains(&format!("name=\"keep\" value=\"live {id}\""));
        assert_eq!([ended, kept, moved, own].map(offered), [true, true, true, false], "{}", page.text);
        assert!(page.text.contains(&format!("Keep https://{settings}.example/kept")));
        let keep = [("keep", &*format!("live {kept}")), ("keep", &format!("test {ended}"))];
        browser.post(&format!("{path}/{id}/revoke"), &keep).await.expect(303);
        for (id, reason) in [
            (ended, json!("requested")),
            (kept, json!(null)),
            (moved, json!("requested")),
            (own, json!(null)),
        ] {
            assert_eq!(endpoint(&api, id).await["disabled_reason"], reason, "{settings}");
        }
        for id in [ended, kept, moved, own] {
            api.delete(&format!("/api/v1/webhook_endpoints/{id}")).await.expect(200);
        }
    }
}

async fn disable(api: &TestApi, id: u64, reason: DisabledReason) {
    let id = Id::new(id).unwrap();
    let before = api.store().find_webhook_endpoint(acme(), id).await.unwrap().unwrap();
    let after = before.clone().disable(reason, api.environment.clock.now()).unwrap();
    let mut transaction = Transaction::new(acme());
    transaction.replace_webhook_endpoint(&before, &after, AuditAction::WebhookEndpointUpdated).unwrap();
    api.store().commit(transaction).await.unwrap();
}

#[tokio::test]
async fn owners_are_told_of_an_endpoint_that_the_service_disabled_until_it_is_enabled_or_deleted() {
    const NOTICE: &str = "A webhook endpoint is disabled:";
    let api = local_api().await;
    let browser = ada(&api).await;
    let server: FakeServer = receiver(410).await;
    let gone = add(&browser, &format!("{}/hook", server.url)).await;
    let failing = add(&browser, URL).await;
    let overview = async |browser: &Browser<'_>| browser.get("/dashboard").await.expect(200);
    assert!(!overview(&browser).await.text.contains(NOTICE));
    submit(&browser, &format!("{PATH}/{gone}/ping"), &[]).await;
    api.deliver().await;
    disable(&api, failing, DisabledReason::Failing).await;
    let page = overview(&browser).await;
    assert_eq!(page.text.matches(NOTICE).count(), 2);
    let paths = [failing, gone].map(|id| format!("{PATH}/{id}"));
    assert_eq!(links(&page, &format!("{PATH}/")), paths);
    assert!(page.text.contains("It answered that it is gone (410).") && page.text.contains("for 120 hours."));
    for path in &paths {
        assert!(browser.get(path).await.expect(200).text.contains("This endpoint is disabled."));
    }

    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let jos = Browser::with_session(&api, ACME, &jo).await;
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    for other in [&jos, &grace] {
        assert!(!overview(other).await.text.contains(NOTICE), "only for the owners of the organization");
    }
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    assert!(!overview(&browser).await.text.contains(NOTICE), "it is about live data");
    browser.post("/dashboard/mode", &[("mode", "live")]).await.expect(303);

    submit(&browser, &paths[1], &[("status", "enabled")]).await;
    assert_eq!(links(&overview(&browser).await, &format!("{PATH}/")), [paths[0].clone()]);
    submit(&browser, &format!("{}/delete", paths[0]), &[]).await;
    assert!(!overview(&browser).await.text.contains(NOTICE));
    // What somebody disabled is no news.
    submit(&browser, &paths[1], &[("status", "disabled")]).await;
    assert!(!overview(&browser).await.text.contains(NOTICE));
    submit(&browser, &paths[1], &[("status", "enabled")]).await;
    disable(&api, gone, DisabledReason::Operator).await;
    assert!(!overview(&browser).await.text.contains(NOTICE));
}
