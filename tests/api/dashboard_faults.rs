//! The dashboard when the table fails, and when somebody sends nonsense: a page that says so, and never an accident.

use futures_util::future::join_all;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tests::browser::{Browser, FORM, form};
use tests::desk::owner;
use tests::wire::Fault;
use tests::{ACME, Answer, World};

use crate::dashboard_access::{Stock, rows};
use crate::dashboard_cost::{CALLS, address};
use crate::fake_x::services;

fn assert_busy(answer: &Answer, what: &str) {
    assert_eq!(answer.status, 503, "{what}: {}", answer.text);
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8", "{what}");
    assert_eq!(answer.header("retry-after"), "1", "{what}");
    assert!(answer.text.contains("The service is busy; try again in a moment"), "{what}");
    let request_id = answer.header("x-request-id");
    assert!(request_id.len() > 10 && answer.text.contains(request_id), "{what}");
    for detail in ["dynamo", "throughput", "item", "fault", "reachable"] {
        assert!(!answer.text.to_lowercase().contains(detail), "{what}: {detail}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whichever_call_fails_a_page_says_that_the_service_is_busy() {
    for (failing, fault) in [
        ("UpdateItem", Fault::Unreachable),
        ("GetItem", Fault::Throttled),
        ("BatchGetItem", Fault::Internal),
        ("Query", Fault::Unreachable),
        ("TransactWriteItems", Fault::Throttled),
    ] {
        let world = World::with_services(services("http://127.0.0.1:1")).await;
        let stock = Stock::new(&world).await;
        let (stranger, member) = (browser(&world, SIGN_IN).await, browser(&world, "").await);
        let (strangers, members) = (stranger.csrf().await, member.csrf().await);
        world.wire.play(move |operation, _| (operation == failing).then(|| fault.clone()));
        let stock = &stock;
        let failed = rows().into_iter().zip(CALLS).filter(|(_, (_, calls))| calls.contains(&failing));
        let answers = failed.map(|(row, _)| {
            let is_strangers = [SIGN_IN, PASSWORD].contains(&row.path());
            let (asking, csrf) = if is_strangers { (&stranger, &strangers) } else { (&member, &members) };
            let body = form(&[&[("csrf", csrf.as_str())], &*stock.fields(row)].concat());
            let asked = asking.ask(row.method(), &address(stock, row)).body(FORM, body).send();
            async move { (row, asked.await) }
        });
        let answers = join_all(answers).await;
        assert!(!answers.is_empty(), "{failing}");
        for (row, answer) in answers {
            assert_busy(&answer, &format!("{} {failing}", row.key));
        }
        world.wire.play(|_, _| None);
    }
}

const SIGN_IN: &str = "/dashboard/sign-in";
const PASSWORD: &str = "/dashboard/password";

/// Whoever asks for this path.
async fn browser<'w>(world: &'w World, path: &str) -> Browser<'w> {
    match path {
        SIGN_IN | PASSWORD => Browser::new(world),
        _ => Browser::of(world, ACME, &owner(world, ACME).await).await,
    }
}

/// The note that a session was used is not worth an error.
#[tokio::test]
async fn a_session_whose_use_cannot_be_noted_is_served_all_the_same() {
    let world = World::new().await;
    let browser = Browser::of(&world, ACME, &owner(&world, ACME).await).await;
    world.hands.set("2026-11-20T10:30:00Z");
    world.wire.play(|operation, _| (operation == "TransactWriteItems").then_some(Fault::Internal));
    browser.get("/dashboard/settings/account").await.expect(200);
}

#[tokio::test]
async fn a_missing_table_is_our_fault_and_a_page_says_no_more() {
    let mut world = World::new().await;
    let cookie = Browser::of(&world, ACME, &owner(&world, ACME).await).await.cookie();
    world.environment.store = world.table(&world.wire, "no-such-table").await;
    world.restart();
    let answer = Browser::with_cookie(&world, &cookie).get("/dashboard").await.expect(500);
    assert!(
        answer.text.contains("Something went wrong") && answer.text.contains(answer.header("x-request-id"))
    );
    assert!(!answer.text.contains("table"), "{}", answer.text);
}

/// Values that have broken other programs.
const ODD: &[&str] = &[
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

const NAMES: &[&str] = &[
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
    "",
];

#[tokio::test]
async fn nonsense_is_answered_and_is_never_our_fault() {
    let world = World::with_services(services("http://127.0.0.1:1")).await;
    let stock = Stock::new(&world).await;
    for row in rows() {
        let browser = browser(&world, row.path()).await;
        let csrf = browser.csrf().await;
        let right = stock.fields(row);
        for odd in ODD {
            let all: Vec<_> = NAMES.iter().map(|name| (*name, *odd)).collect();
            let mut forms = vec![form(&all)];
            if odd.contains('%') {
                forms.push(format!("{}&{odd}=&&=;", odd.repeat(9)));
            }
            // A password is hashed where everything else is right: that is slow, and tested elsewhere.
            if !row.path().ends_with("password") && !row.path().ends_with("sign-in") {
                forms.extend((0..right.len()).map(|place| {
                    let mut fields = right.clone();
                    fields[place].1 = odd;
                    form(&fields)
                }));
            }
            for sent in forms {
                let answer = if row.is_post() {
                    let body = format!("csrf={csrf}&{sent}");
                    browser.ask(row.method(), &stock.path(row)).body(FORM, body).send().await
                } else {
                    let query: String = sent
                        .chars()
                        .filter(|c| c.is_ascii_graphic() && !"<>\"{}\\^`|".contains(*c))
                        .collect();
                    browser.get(&format!("{}?{query}", stock.path(row))).await
                };
                assert!(answer.status < 500, "{} {sent}: {}", row.key, answer.text);
                let is_sent_away = answer.header("location").starts_with("/dashboard/sign-in?return_to=");
                assert!(!is_sent_away || row.path().contains("/sign-out"), "{} is not reached", row.key);
            }
        }
    }
}

/// Any text as a field's value, on the forms that read the most of it.
#[test]
fn any_text_in_any_field_is_answered() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let world = runtime.block_on(World::with_services(services("http://127.0.0.1:1")));
    let browser = runtime.block_on(async { Browser::of(&world, ACME, &owner(&world, ACME).await).await });
    let integrations = "/dashboard/settings/integrations";
    let text = "(?s).{0,300}|[a-z0-9.]{0,40}|[0-9-]{1,20}";
    let config = Config { cases: 32, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let asked = runner.run(&(text, text, text), |(one, two, three)| {
        runtime.block_on(async {
            for (path, names) in [
                (format!("{integrations}/api-keys"), ["name", "scope", "expires_in_days"]),
                (format!("{integrations}/channels/whatsapp/connect"), ["phone_number_id", "token", "x"]),
                ("/dashboard/settings/members".to_owned(), ["name", "email", "role"]),
                ("/dashboard/mode".to_owned(), ["mode", "x", "y"]),
            ] {
                let fields = [(names[0], &*one), (names[1], &*two), (names[2], &*three)];
                let answer = browser.post(&path, &fields).await;
                prop_assert!(answer.status < 500 && answer.status != 403, "{path} {}", answer.text);
                // Nothing that was typed becomes part of the page's own text.
                for typed in [&one, &two, &three].into_iter().filter(|typed| typed.contains('<')) {
                    prop_assert!(typed.trim().len() < 8 || !answer.text.contains(typed.trim()), "{typed:?}");
                }
            }
            let query = form(&[("state", &one), ("code", &two), ("before", &three)]);
            let answer = browser.get(&format!("{integrations}/channels/x/callback?{query}")).await;
            prop_assert!([303, 414, 431].contains(&answer.status), "{}", answer.text);
            Ok(())
        })
    });
    asked.unwrap();
}
