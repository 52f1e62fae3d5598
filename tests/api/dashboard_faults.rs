//! The dashboard when DynamoDB fails, and with unusual input: every response is a page, and input never causes a 5xx.

use futures_util::future::join_all;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tests::browser::{Browser, FORM, form};
use tests::dashboard::owner;
use tests::interceptor::Fault;
use tests::{ACME, Response, TestApi};

use crate::dashboard_access::{DashboardFixtures, page_routes};
use crate::events::{api_for, events};
use crate::fake_x::services;
use crate::outcomes::{operation, outcomes};

fn assert_busy(response: &Response, context: &str) {
    assert_eq!(response.status, 503, "{context}: {}", response.text);
    assert_eq!(response.header("content-type"), "text/html; charset=utf-8", "{context}");
    assert_eq!(response.header("retry-after"), "1", "{context}");
    assert!(response.text.contains("The service is busy; try again in a moment"), "{context}");
    let request_id = response.header("x-request-id");
    assert!(request_id.len() > 10 && response.text.contains(request_id), "{context}");
    for detail in ["dynamo", "throughput", "item", "fault", "reachable"] {
        assert!(!response.text.to_lowercase().contains(detail), "{context}: {detail}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_failing_dynamodb_call_gets_a_503_page() {
    let (outcomes, events) = (outcomes(), events());
    for (failing, fault) in [
        ("UpdateItem", Fault::Unreachable),
        ("GetItem", Fault::Throttled),
        ("BatchGetItem", Fault::Internal),
        ("Query", Fault::Unreachable),
        ("TransactWriteItems", Fault::Throttled),
    ] {
        let failed = outcomes.iter().filter(|(name, outcome)| {
            let is_page = ["dashboard_", "sign_in_"].iter().any(|package| name.starts_with(package));
            is_page && outcome.calls.iter().any(|call| operation(call) == failing)
        });
        let responses = failed.map(async |(name, _)| {
            let api = api_for(name, |_| ()).await;
            let fault = fault.clone();
            api.dynamodb.inject_faults(move |operation, _| (operation == failing).then(|| fault.clone()));
            let response = Response::read(api.gateway.invoke_event(events[name].clone()).await.unwrap());
            assert_busy(&response, &format!("{name} {failing}"));
        });
        assert!(!join_all(responses).await.is_empty(), "{failing}");
    }
}

const SIGN_IN: &str = "/dashboard/sign-in";
const PASSWORD: &str = "/dashboard/password";

/// Returns a new browser for the paths without a session, otherwise a signed-in one.
async fn browser<'a>(api: &'a TestApi, path: &str) -> Browser<'a> {
    match path {
        SIGN_IN | PASSWORD => Browser::new(api),
        _ => Browser::with_session(api, ACME, &owner(api, ACME).await).await,
    }
}

#[tokio::test]
async fn a_failed_write_of_the_session_use_does_not_fail_the_request() {
    let api = TestApi::new().await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    api.clock.set("2026-11-20T10:30:00Z");
    api.dynamodb.inject_faults(|operation, _| (operation == "TransactWriteItems").then_some(Fault::Internal));
    browser.get("/dashboard/settings/account").await.expect(200);
}

#[tokio::test]
async fn a_missing_table_gets_a_500_page_without_details() {
    let mut api = TestApi::new().await;
    let cookie = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await.cookie();
    api.environment.store = tests::engine::store(api.dynamodb.client(), "no-such-table").await;
    api.restart();
    let response = Browser::with_cookie(&api, &cookie).get("/dashboard").await.expect(500);
    assert!(
        response.text.contains("Something went wrong")
            && response.text.contains(response.header("x-request-id"))
    );
    assert!(!response.text.contains("table"), "{}", response.text);
}

/// Values that often cause errors.
const UNUSUAL_VALUES: &[&str] = &[
    "",
    "\0",
    "\r\nset-cookie: a=b",
    "-1",
    "99999999999999999999999",
    "-9223372036854775808",
    "%00%ff%",
    "{{7*7}}${7*7}<%=7*7%>",
    "' OR 1=1 --",
    "<script>alert(1)</script>",
    "a.b.c.d.e",
    "x.-9223372036854775808.live.y",
    "x.9223372036854775807.live.y",
    "rc_ln_L000000001000000001RecordedSessionOfAcmeNoSec000000",
    "rc_at_L",
    "🦀🦀🦀",
    "owner,member",
];

const FIELD_NAMES: &[&str] = &[
    "before",
    "status",
    "stage",
    "role_id",
    "state",
    "code",
    "error",
    "done",
    "failed",
    "token",
    "return_to",
    "email",
    "password",
    "repeated",
    "current",
    "name",
    "role",
    "scope",
    "expires_in_days",
    "mode",
    "phone_number_id",
    "code",
    "secret",
    "proof",
    "session",
    "newest",
    "required",
    "url",
    "types",
    "after",
    "",
];

#[tokio::test]
async fn unusual_input_never_gets_a_5xx() {
    let api = TestApi::with_services(services("http://127.0.0.1:1")).await;
    let fixtures = DashboardFixtures::new(&api).await;
    for (number, route) in page_routes().into_iter().enumerate() {
        // Ids contain the time. Thousands of writes in the same second would get the same ids.
        api.clock.set(&format!("2026-11-20T09:{}:{:02}Z", 30 + number / 60, number % 60));
        let browser = browser(&api, route.path()).await;
        let csrf = browser.csrf().await;
        let valid_fields = fixtures.fields(route);
        for unusual in UNUSUAL_VALUES {
            let all: Vec<_> = FIELD_NAMES.iter().map(|name| (*name, *unusual)).collect();
            let mut forms = vec![form(&all)];
            if unusual.contains('%') {
                forms.push(format!("{}&{unusual}=&&=;", unusual.repeat(9)));
            }
            // A valid form hashes a password, which is slow and tested elsewhere.
            if !route.path().ends_with("password")
                && !route.path().ends_with("sign-in")
                && !route.path().ends_with("confirm")
            {
                forms.extend((0..valid_fields.len()).map(|place| {
                    let mut fields = valid_fields.clone();
                    fields[place].1 = unusual;
                    form(&fields)
                }));
            }
            for sent in forms {
                // Some pages only exist for a list, here that of everybody.
                let path = format!("{}?list=", fixtures.path(route));
                let response = if route.is_post() {
                    let body = format!("csrf={csrf}&{sent}");
                    browser.request(route.method(), &path).body(FORM, body).send().await
                } else {
                    let query: String = sent
                        .chars()
                        .filter(|c| c.is_ascii_graphic() && !"<>\"{}\\^`|".contains(*c))
                        .collect();
                    browser.get(&format!("{path}&{query}")).await
                };
                assert!(response.status < 500, "{} {sent}: {}", route.key, response.text);
                let is_redirected = response.header("location").starts_with("/dashboard/sign-in?return_to=");
                assert!(
                    !is_redirected || route.path().contains("/sign-out"),
                    "{} is not reached without a session",
                    route.key
                );
            }
        }
    }
}

/// Sends random text in the forms that require the most parsing.
#[test]
fn random_field_values_never_get_a_5xx() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let api = runtime.block_on(TestApi::with_services(services("http://127.0.0.1:1")));
    let browser =
        runtime.block_on(async { Browser::with_session(&api, ACME, &owner(&api, ACME).await).await });
    let integrations = "/dashboard/settings/integrations";
    let text = "(?s).{0,300}|[a-z0-9.]{0,40}|[0-9-]{1,20}";
    let config = Config { cases: 32, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let result = runner.run(&(text, text, text), |(one, two, three)| {
        runtime.block_on(async {
            for (path, names) in [
                (format!("{integrations}/api-keys"), ["name", "scope", "expires_in_days"]),
                (format!("{integrations}/channels/whatsapp/connect"), ["phone_number_id", "token", "x"]),
                ("/dashboard/settings/members".to_owned(), ["name", "email", "role"]),
                ("/dashboard/mode".to_owned(), ["mode", "x", "y"]),
            ] {
                let fields = [(names[0], &*one), (names[1], &*two), (names[2], &*three)];
                let response = browser.post(&path, &fields).await;
                prop_assert!(response.status < 500 && response.status != 403, "{path} {}", response.text);
                // The page escapes the values.
                for typed in [&one, &two, &three].into_iter().filter(|typed| typed.contains('<')) {
                    prop_assert!(
                        typed.trim().len() < 8 || !response.text.contains(typed.trim()),
                        "{typed:?}"
                    );
                }
            }
            let query = form(&[("state", &one), ("code", &two), ("before", &three)]);
            let response = browser.get(&format!("{integrations}/channels/x/callback?{query}")).await;
            prop_assert!([303, 414, 431].contains(&response.status), "{}", response.text);
            Ok(())
        })
    });
    result.unwrap();
}
