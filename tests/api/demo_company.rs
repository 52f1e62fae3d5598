//! The demo company, with which the local service begins: its data has the same properties as that of requests.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use http::Method;
use rolecall_local::company;
use rolecall_local::demo::DEMOS;
use serde_json::Value;
use shared::clock::{Clock, Timestamp};
use shared::id::Ids;
use shared::model::{
    Actor, CandidateRecord, Cause, EndedBy, Mode, Move, Profile, Role, RoleContent, Source, Stage, Text,
    Touchpoint, TouchpointKind,
};
use shared::random::Random;
use shared::services::Author;
use shared::store::Transaction;
use tests::browser::Browser;
use tests::dashboard::escaped;
use tests::{ACME, Response, TestApi, tenant};

const STAGES: [&str; 6] = ["applied", "screening", "interview", "offer", "hired", "rejected"];
const DAY: i64 = 24 * 60 * 60;

async fn get(api: &TestApi, mode: Mode, path: &str) -> Response {
    api.request(Method::GET, path).key(ACME, mode).send().await.expect(200)
}

/// Returns all items of a list, newest first.
async fn list(api: &TestApi, mode: Mode, path: &str) -> Vec<Value> {
    let separator = if path.contains('?') { '&' } else { '?' };
    let (mut items, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = get(api, mode, &format!("/api/v1/{path}{separator}limit=100{cursor}")).await;
        items.extend(page.body["data"].as_array().unwrap().clone());
        match page.body["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return items,
        }
    }
}

fn time(value: &Value) -> Timestamp {
    value.as_str().unwrap().parse().unwrap()
}

/// When an identifier was generated, in milliseconds.
fn millisecond_of(id: &Value) -> i64 {
    (id.as_i64().unwrap() >> 12) + 1_735_689_600_000
}

/// The middle one of the stays, in days.
fn lower_median(stays: &mut [i64]) -> Value {
    stays.sort_unstable();
    stays.get(stays.len().saturating_sub(1) / 2).map_or(Value::Null, |days| (*days).into())
}

#[tokio::test]
async fn the_statistics_of_the_demo_company_agree_with_its_history() {
    let api = TestApi::with_demo_company().await;
    for mode in Mode::ALL {
        let roles = list(&api, mode, "roles").await;
        let statuses: BTreeSet<_> = roles.iter().map(|role| role["status"].as_str().unwrap()).collect();
        assert_eq!((roles.len(), statuses), (12, BTreeSet::from(["closed", "draft", "open", "paused"])));
        let people = list(&api, mode, "candidates").await;
        assert_eq!(people.len(), 150);
        let mut stays: BTreeMap<(u64, String), Vec<i64>> = BTreeMap::new();
        let mut several = 0;
        for person in &people {
            let detail = get(&api, mode, &format!("/api/v1/candidates/{}", person["id"])).await.body;
            check_history(&api, &detail, &mut stays);
            several += usize::from(detail["applications"].as_array().unwrap().len() > 1);
        }
        assert!(several >= 10, "{several} people have several applications");
        for stage in STAGES {
            let listed = list(&api, mode, &format!("candidates?stage={stage}")).await.len();
            let count = people.iter().filter(|person| person["stage"] == stage).count();
            assert!(listed == count && count >= 3, "{mode:?}: {listed} of {count} people are in {stage}");
        }
        for role in &roles {
            check_statistics(&api, mode, role["id"].as_u64().unwrap(), &mut stays).await;
        }
        let mut outcomes = BTreeSet::new();
        for screen in list(&api, mode, "voice_screens").await {
            outcomes.insert(screen["status"].as_str().unwrap().to_owned());
        }
        let expected = ["cancelled", "completed", "declined", "failed", "no_answer", "scheduled"];
        assert_eq!(outcomes, expected.map(str::to_owned).into());
        assert!(list(&api, mode, "channels/x/posts").await.len() >= 5);
    }
}

/// Checks the history of a person, and adds the stays in the stages of each role.
fn check_history(api: &TestApi, detail: &Value, stays: &mut BTreeMap<(u64, String), Vec<i64>>) {
    let now = api.environment.clock.now();
    let touchpoints = detail["touchpoints"].as_array().unwrap();
    let mut since = HashMap::new();
    let mut last = i64::MIN;
    for touchpoint in touchpoints.iter().rev() {
        let (at, generated) = (time(&touchpoint["at"]), millisecond_of(&touchpoint["id"]));
        assert!(at <= now && now.as_second() - at.as_second() <= 60 * DAY, "{touchpoint}");
        assert!((at.as_millisecond()..at.as_millisecond() + 2_000).contains(&generated), "{touchpoint}");
        assert!(generated >= last, "{touchpoint}");
        last = generated;
        let Some(role) = touchpoint["detail"]["role_id"].as_u64() else { continue };
        let to = match touchpoint["kind"].as_str().unwrap() {
            "applied" => {
                since.insert(role, at);
                continue;
            }
            "stage_changed" => touchpoint["detail"]["to"].as_str().unwrap(),
            "rejected" | "withdrawn" => "rejected",
            "hired" => "hired",
            _ => continue,
        };
        let from = touchpoint["detail"]["from"].as_str().unwrap();
        assert_ne!(from, to);
        let stay = at.as_second() - since.insert(role, at).unwrap().as_second();
        stays.entry((role, from.to_owned())).or_default().push(stay / DAY);
    }
    for application in detail["applications"].as_array().unwrap() {
        let role = application["role_id"].as_u64().unwrap();
        assert_eq!(time(&application["stage_changed_at"]), since[&role], "{application}");
    }
}

/// Compares a role's statistics with its applications, screens and stays.
async fn check_statistics(
    api: &TestApi,
    mode: Mode,
    role: u64,
    stays: &mut BTreeMap<(u64, String), Vec<i64>>,
) {
    let stats = get(api, mode, &format!("/api/v1/roles/{role}/stats")).await.body;
    let applications = list(api, mode, &format!("applications?role_id={role}")).await;
    assert_eq!(stats["applicants"], applications.len());
    for stage in STAGES {
        // The applications of a closed role are in no open stage.
        let counts =
            |application: &&Value| application["stage"] == stage && application["status"] != "closed";
        let now = applications.iter().filter(counts).count();
        assert_eq!(stats["stages"][stage]["now"], now, "{role}: {stage}");
        let median = lower_median(stays.entry((role, stage.to_owned())).or_default());
        assert_eq!(stats["stages"][stage]["median_days"], median, "{role}: {stage}");
    }
    let screens = list(api, mode, &format!("voice_screens?role_id={role}")).await;
    let completed = screens.iter().filter(|screen| screen["status"] == "completed");
    let scores: Vec<_> = completed.map(|screen| screen["scores"]["overall"].as_f64().unwrap()).collect();
    assert_eq!(
        (&stats["screens"], &stats["screens_completed"]),
        (&screens.len().into(), &scores.len().into())
    );
    #[expect(clippy::cast_precision_loss, reason = "a role has few screens")]
    let average = (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64);
    let difference = average.zip(stats["average_score"].as_f64()).map(|(average, shown)| average - shown);
    assert!(difference.is_none_or(|difference| difference.abs() < 0.1), "{average:?} {stats}");
    assert_eq!(average.is_some(), stats["average_score"].is_number());
}

#[tokio::test]
async fn the_demo_company_is_found_and_shown() {
    let api = TestApi::with_demo_company().await;
    let browser = Browser::signed_in(&api, ACME).await;
    for (mode, site) in [(Mode::Live, "/careers/acme"), (Mode::Test, "/careers/acme-test")] {
        let people = list(&api, mode, "candidates").await;
        for person in people.iter().step_by(7) {
            let name = person["name"].as_str().unwrap();
            let query = url::form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>();
            let found = list(&api, mode, &format!("candidates?q={query}")).await;
            assert!(
                found.contains(person) || found.iter().any(|other| other["id"] == person["id"]),
                "{name}"
            );
            if let Some(phone) = person["phone"].as_str() {
                let found = list(&api, mode, &format!("candidates?phone=%2B{}", &phone[1..])).await;
                assert_eq!(found.len(), 1, "{phone}");
            }
            let email = person["email"].as_str().unwrap();
            let reserved = ["@example.com", "@example.org", "@example.net"];
            assert!(reserved.iter().any(|domain| email.ends_with(domain)), "{email}");
        }
        let careers = api.request(Method::GET, site).anonymous().send().await.expect(200);
        let (mut open, mut shown) = (0, 0);
        for role in list(&api, mode, "roles").await {
            let title = escaped(role["title"].as_str().unwrap());
            open += usize::from(role["status"] == "open");
            shown += usize::from(careers.text.contains(&format!(">{title}<")));
            if role["status"] == "open" {
                let url = role["job_posting_url"].as_str().unwrap_or_default();
                let path = url.find("/careers").map_or("", |at| &url[at..]);
                api.request(Method::GET, path).anonymous().send().await.expect(200);
            }
        }
        assert!(open == shown && open >= 7, "{shown} of {open} open roles are on {site}");
        let organization = get(&api, mode, "/api/v1/organization").await;
        let contact = organization.string("/contact_email");
        assert_eq!(
            (organization.string("/country"), organization.string("/time_zone")),
            ("DE", "Europe/Berlin")
        );
        let privacy =
            api.request(Method::GET, &format!("{site}/privacy")).anonymous().send().await.expect(200);
        assert!(privacy.text.contains(&format!("write to <a href=\"mailto:{contact}\">")), "{site}");
        if mode == Mode::Test {
            browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
        }
        for path in ["", "/roles", "/postings", "/candidates", "/candidates?stage=offer"] {
            browser.get(&format!("/dashboard{path}")).await.expect(200);
        }
        for person in people.iter().step_by(10) {
            let page = browser.get(&format!("/dashboard/candidates/{}", person["id"])).await.expect(200);
            assert!(page.text.contains(&escaped(person["name"].as_str().unwrap())), "{person}");
        }
    }
}

#[tokio::test]
async fn scheduled_calls_of_the_demo_company_take_place() {
    let api = TestApi::with_demo_company().await;
    assert_eq!(api.run_tasks().await.tasks, 0, "nothing is due at the start");
    api.clock.set("2026-11-24T12:00:00Z");
    let before = list(&api, Mode::Live, "voice_screens?status=scheduled").await;
    assert!(before.len() >= 2);
    assert_eq!(api.run_tasks().await.failed, 0);
    for screen in before {
        let screen = get(&api, Mode::Live, &format!("/api/v1/voice_screens/{}", screen["id"])).await;
        assert_eq!(screen.string("/status"), "completed");
        assert!(!screen.body["transcript"].as_array().unwrap().is_empty());
    }
}

#[tokio::test]
async fn the_demo_company_is_the_same_at_every_start_and_uses_no_quota() {
    let [one, other] = [TestApi::with_demo_company().await, TestApi::new().await];
    company::create(&other.environment, &DEMOS[ACME].staff().unwrap()).await.unwrap();
    other.run_feed().await;
    // The calls of DynamoDB Local end in any order, and events get their ids in it.
    let is_embedded = std::env::var_os("ROLECALL_TEST_ENDPOINT").is_none();
    assert!(!is_embedded || one.stored_items().await == other.stored_items().await);
    let organization = get(&one, Mode::Live, "/api/v1/organization").await;
    assert_eq!(organization.number("/usage/requests_today"), 1);
    let empty = TestApi::new().await;
    let usage = |items: BTreeMap<(String, String), HashMap<String, AttributeValue>>| -> Vec<_> {
        items.into_iter().filter(|((pk, _), _)| pk.contains("GATE") || pk.contains("USAGE")).collect()
    };
    assert!(usage(other.stored_items().await) == usage(empty.stored_items().await));
    for address in ["ada@example.com", "grace@example.com"] {
        assert!(list(&one, Mode::Live, &format!("candidates?email={address}")).await.is_empty());
    }
}

/// A candidate who is inserted with a past has the same items as one who was changed step by step.
#[tokio::test]
async fn a_past_has_the_effect_of_its_steps() {
    let api = TestApi::new().await;
    let at = |hours: i64| Timestamp::from_second(1_790_000_000 + hours * 3_600).unwrap();
    let ids = Ids::new(Clock::from_fn(move || at(0)), Random::seeded(7));
    let title = |title: &str| Text::parse(title).unwrap().unwrap();
    let role = |title| Role::draft(ids.next(), RoleContent::titled(title), at(0)).publish(at(1)).unwrap();
    let (cook, waiter) = (role(title("Cook")), role(title("Waiter")));
    let profile =
        Profile::new(Text::parse("Jane Doe").unwrap().unwrap(), "jane@example.com".parse().unwrap());
    let new = CandidateRecord::new(ids.next(), profile, at(2));
    let mut record =
        CandidateRecord { version: 1, ..new.apply(ids.next(), &cook, Source::API, at(2)).unwrap() };
    let mut past: Vec<(CandidateRecord, Vec<Touchpoint>)> = Vec::new();
    let author = |at| Author { ids: &ids, actor: Actor::system(), at };
    past.push((record.clone(), author(at(2)).touchpoints([TouchpointKind::Created { source: Source::API }])));
    let reject = Move::Reject { cause: Cause::by(EndedBy::Team), notes: None };
    let steps = [
        (Move::Advance(Stage::Interview), 30),
        (Move::Advance(Stage::Applied), 60),
        (reject, 150),
        (Move::Unreject, 151),
        (Move::Advance(Stage::Offer), 400),
    ];
    for (step, hour) in &steps {
        let moved = record.clone().make(step, Some(cook.id), at(*hour)).unwrap();
        record = moved.record;
        let kinds = moved.steps.into_iter().map(|made| TouchpointKind::of(step, made));
        past.push((record.clone(), author(at(*hour)).touchpoints(kinds)));
        if *hour == 60 {
            record = record.apply(ids.next(), &waiter, Source::MANUAL, at(61)).unwrap();
            past.push((record.clone(), Vec::new()));
        }
    }
    let moved = record.make(&Move::Advance(Stage::Screening), Some(waiter.id), at(401)).unwrap();
    past.push((moved.record, Vec::new()));
    for mode in Mode::ALL {
        let mut transaction = Transaction::new(tenant(ACME, mode));
        transaction.insert_role(&cook).unwrap();
        transaction.insert_role(&waiter).unwrap();
        api.store().commit(transaction).await.unwrap();
    }
    let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
    transaction.insert_candidate_with_past(&past).unwrap();
    api.store().commit(transaction).await.unwrap();
    let mut transaction = Transaction::new(tenant(ACME, Mode::Test));
    transaction.insert_candidate(past[0].0.clone(), &past[0].1).unwrap();
    api.store().commit(transaction).await.unwrap();
    for versions in past.windows(2) {
        let mut transaction = Transaction::new(tenant(ACME, Mode::Test));
        transaction.replace_candidate(&versions[0].0, &versions[1].0, &versions[1].1).unwrap();
        api.store().commit(transaction).await.unwrap();
    }
    let items = api.stored_items().await;
    let of = |mode| -> BTreeMap<String, HashMap<String, AttributeValue>> {
        let prefix = format!("{}#", tenant(ACME, mode));
        let own = items.iter().filter(|((pk, _), _)| pk.starts_with(&prefix));
        let own =
            own.filter(|((pk, _), _)| !["#GATE", "#KEY", "#MEMBER"].iter().any(|kind| pk.contains(kind)));
        let without_prefix = |(name, value): (&String, &AttributeValue)| {
            let value = match value {
                AttributeValue::S(text) => AttributeValue::S(text.replace(&prefix, "")),
                value => value.clone(),
            };
            (name.clone(), value)
        };
        own.map(|((pk, sk), item)| {
            (format!("{} {sk}", pk.replace(&prefix, "")), item.iter().map(without_prefix).collect())
        })
        .collect()
    };
    let (live, test) = (of(Mode::Live), of(Mode::Test));
    assert!(live.len() >= 20);
    assert_eq!(live.keys().collect::<Vec<_>>(), test.keys().collect::<Vec<_>>());
    for (key, item) in &live {
        assert_eq!(item, &test[key], "{key}");
    }
}
