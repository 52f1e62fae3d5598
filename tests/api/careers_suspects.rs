//! Suspect forms on the career pages: the signs, what is kept, and that the visitor notices nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use http::Method;
use jiff::SignedDuration;
use serde_json::json;
use shared::http::KnownSites;
use shared::model::SuspectSign::{Address, Network, Posting, Site};
use shared::model::{ApplicationLimits, Mode, SuspectForm, SuspectSign, Tenant, Text};
use shared::store::{Paging, SuspectSelection, Transaction};
use tests::browser::{Browser, FORM, Form, input};
use tests::interceptor::Fault;
use tests::{ACME, GLOBEX, Response, TestApi, tenant};

use crate::careers_applications::{Job, find, form, kinds, list, observed};
use crate::careers_resumes::{PDF, attach, redirect_path, send};

const DAY: SignedDuration = SignedDuration::from_hours(24);

fn ada() -> Form {
    form("Ada Lovelace", "ada@example.com")
}

fn acme() -> Tenant {
    tenant(ACME, Mode::Live)
}

/// The suspect forms of a tenant, newest first.
pub(crate) async fn suspects_of(api: &TestApi, tenant: Tenant) -> Vec<SuspectForm> {
    let page = Paging { limit: 1_000, before: None };
    let now = api.environment.clock.now();
    api.store().list_suspects(tenant, &SuspectSelection::default(), now, &page).await.unwrap().items
}

/// Sends a form from an address.
async fn apply_from(api: &TestApi, job: &Job, source: &str, form: &Form) -> Response {
    let request = Browser::new(api).request(Method::POST, &format!("{}/apply", job.path)).from(source);
    request.body(FORM, form.encoded()).send().await
}

/// Sets the limits of a tenant.
pub(crate) async fn set_limits(api: &TestApi, demo: usize, mode: Mode, limits: ApplicationLimits) {
    let organization = api.store().find_organization(tenant(demo, mode)).await.unwrap().unwrap().organization;
    let mut transaction = Transaction::new(organization.tenant());
    transaction.put_application_limits(&organization, &limits).unwrap();
    api.store().commit(transaction).await.unwrap();
}

/// The form of a page, with the hidden fields that the page has.
async fn form_of(api: &TestApi, job: &Job, email: &str) -> Form {
    let page = Browser::new(api).get(&job.path).await.expect(200);
    form("Ada", email).and("opened", &input(&page, "opened"))
}

/// A form of a visitor who has filled in the hidden field.
pub(crate) fn trapped(email: &str) -> Form {
    form("Ada Lovelace", email).set("confirm_topic", "x")
}

#[tokio::test]
async fn a_form_with_the_hidden_field_is_kept_apart() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let page = Browser::new(&api).get(&job.path).await.expect(200).text;
    let field = page.split("class=\"extra\"").nth(1).unwrap().split("</div>").next().unwrap();
    for part in ["aria-hidden=\"true\"", "name=\"confirm_topic\"", "tabindex=\"-1\"", "autocomplete=\"off\""]
    {
        assert!(field.contains(part), "{part}");
    }
    let events = api.get("/api/v1/events?after=0").await.expect(200).body["data"].as_array().unwrap().len();
    job.apply(&api, &ada().set("confirm_topic", " ").set("note", "Hello").set("phone", "+14155550132"))
        .await
        .expect(303);
    api.run_feed().await;
    assert!(list(&api, "").await.is_empty());
    assert_eq!(job.applicants(&api).await, 0);
    let after = api.get("/api/v1/events?after=0").await.expect(200).body["data"].as_array().unwrap().len();
    let posted = 4;
    assert!(after <= events + posted, "a suspect form is no event: {after}");
    let [suspect] = suspects_of(&api, acme()).await.try_into().unwrap();
    assert_eq!((suspect.posting_id.get(), suspect.role_id.get()), (job.posting, job.role));
    assert_eq!(suspect.signs, [SuspectSign::Trap]);
    assert_eq!(suspect.received_at.to_string(), "2026-11-20T09:30:00.000Z");
    assert!(suspect.network.ends_with(".0/24"), "{}", suspect.network);
    assert_eq!(suspect.content.email.as_str(), "ada@example.com");
    assert_eq!(suspect.content.note.as_ref().map(Text::as_str), Some("Hello"));
    assert_eq!((suspect.content.consents.len(), suspect.file), (1, None));
}

#[tokio::test]
async fn a_form_that_is_sent_at_once_or_with_another_time_is_suspect() {
    let api = TestApi::new().await;
    let (job, other) = (Job::new(&api, "Analyst").await, Job::new(&api, "Engineer").await);
    let (quick, late) =
        (form_of(&api, &job, "quick@example.com").await, form_of(&api, &job, "a@example.com").await);
    api.clock.set("2026-11-20T09:30:01Z");
    job.apply(&api, &quick).await.expect(303);
    api.clock.set("2026-11-20T09:30:02Z");
    job.apply(&api, &late).await.expect(303);
    // A form may stay open for a day.
    api.clock.set("2026-11-21T09:30:02Z");
    job.apply(&api, &form("Ada", "b@example.com").and("opened", late.get("opened"))).await.expect(303);
    job.apply(&api, &form("Ada", "c@example.com").and("opened", "")).await.expect(303);
    job.apply(&api, &form("Ada", "d@example.com")).await.expect(303);
    let opened = late.get("opened").to_owned();
    let (seconds, signature) = opened.split_once('.').unwrap();
    let earlier = format!("{}.{signature}", seconds.parse::<i64>().unwrap() - 60);
    for forged in [&*earlier, seconds, "x", ".", &format!("{opened}x")] {
        job.apply(&api, &form("Eve", "eve@example.com").and("opened", forged)).await.expect(303);
    }
    let of_other = form_of(&api, &other, "eve@example.com").await;
    api.clock.set("2026-11-21T09:30:12Z");
    job.apply(&api, &of_other).await.expect(303);
    assert_eq!(list(&api, "").await.len(), 4);
    let signs: Vec<_> = suspects_of(&api, acme()).await.into_iter().flat_map(|form| form.signs).collect();
    assert_eq!(signs, [&[SuspectSign::ForgedTime; 6][..], &[SuspectSign::Quick]].concat());
}

/// The time of the page stays in a form with mistakes, so that a mistake that is fixed quickly is not suspect.
#[tokio::test]
async fn a_form_with_mistakes_keeps_the_time_of_the_page() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let form = form_of(&api, &job, "ada@example.com").await;
    api.clock.set("2026-11-20T09:31:00Z");
    let page = job.apply(&api, &form.clone().set("name", "")).await.expect(422);
    assert_eq!(input(&page, "opened"), form.get("opened"));
    job.apply(&api, &form).await.expect(303);
    assert!(suspects_of(&api, acme()).await.is_empty());
    let without = job.apply(&api, &self::form("", "ada@example.com")).await.expect(422);
    assert!(!without.text.contains("name=\"opened\""));
}

#[tokio::test]
async fn forms_above_the_limit_of_an_address_are_suspect() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    for (source, neighbour, stranger) in [
        ("198.51.100.7", "198.51.100.7", "198.51.100.8"),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:3::1"),
    ] {
        let (before, ada) =
            (suspects_of(&api, acme()).await.len(), form("Ada", &format!("ada@{}.example", source.len())));
        // A retry after a write conflict does not count as another attempt.
        let conflicts = AtomicUsize::new(2);
        api.dynamodb.inject_faults(move |operation, _| {
            let is_left = |left: usize| left.checked_sub(1);
            (operation == "TransactWriteItems"
                && conflicts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_left).is_ok())
            .then_some(Fault::Conflict)
        });
        apply_from(&api, &job, source, &ada).await.expect(303);
        api.dynamodb.inject_faults(|_, _| None);
        for _ in 0..3 {
            apply_from(&api, &job, source, &ada.clone().set("name", "")).await.expect(422);
        }
        let others =
            (1..100).map(|number| ada.clone().set("email", &format!("{number}@{}.example", source.len())));
        let others: Vec<_> = others.collect();
        let rest = join_all(others.iter().map(|form| apply_from(&api, &job, source, form))).await;
        assert!(rest.iter().all(|response| response.status == 303));
        assert_eq!(suspects_of(&api, acme()).await.len(), before, "a hundred forms are usual");
        for source in [source, neighbour] {
            apply_from(&api, &job, source, &form("Eve", "eve@example.com")).await.expect(303);
        }
        let suspects = suspects_of(&api, acme()).await;
        assert_eq!(suspects.len(), before + 2);
        assert!(suspects[..2].iter().all(|suspect| suspect.signs == [SuspectSign::Address]));
        apply_from(&api, &job, stranger, &ada).await.expect(303);
        assert_eq!(suspects_of(&api, acme()).await.len(), before + 2);
        // Invalid forms still show their problems.
        apply_from(&api, &job, source, &Form::default()).await.expect(422);
    }
    api.clock.set("2026-11-20T10:00:00Z");
    apply_from(&api, &job, "198.51.100.7", &form("Joan", "joan@example.com")).await.expect(303);
    assert_eq!(list(&api, "?email=joan@example.com").await.len(), 1);
    assert_eq!(list(&api, "?email=eve@example.com").await.len(), 0);
}

#[tokio::test]
async fn forms_above_the_limits_of_a_network_a_posting_or_a_site_are_suspect() {
    let api = TestApi::new().await;
    let limits = ApplicationLimits { address: 2, network: 3, posting: 5, site: 7, cleared_at: None };
    set_limits(&api, ACME, Mode::Live, limits).await;
    let (job, other) = (Job::new(&api, "Analyst").await, Job::new(&api, "Engineer").await);
    let mut people = 0;
    let mut sent = async |job: &Job, source: &str| {
        people += 1;
        let before = suspects_of(&api, acme()).await.len();
        apply_from(&api, job, source, &form("Ada", &format!("ada{people}@example.com"))).await.expect(303);
        let mut suspects = suspects_of(&api, acme()).await;
        if suspects.len() > before { suspects.swap_remove(0).signs } else { Vec::new() }
    };
    // Above its own limit, an address does not use up the limit of its network.
    for (source, signs) in [
        ("203.0.113.1", vec![]),
        ("203.0.113.1", vec![]),
        ("203.0.113.1", vec![Address]),
        ("203.0.113.1", vec![Address]),
        ("203.0.113.2", vec![]),
        ("203.0.113.3", vec![Network]),
        ("203.0.114.3", vec![]),
        ("2001:db8:1::1", vec![]),
        ("2001:db8:1:ffff::1", vec![Posting]),
    ] {
        assert_eq!(sent(&job, source).await, signs, "{source}");
    }
    // A form that is suspect already uses up no limit of the site.
    for (source, signs) in [
        ("192.0.2.1", vec![]),
        ("192.0.2.2", vec![]),
        ("192.0.2.3", vec![Site]),
        ("192.0.2.4", vec![Network]),
    ] {
        assert_eq!(sent(&other, source).await, signs, "{source}");
    }
    // An owner raises the limit. What the site refused is no longer counted for the posting.
    set_limits(&api, ACME, Mode::Live, ApplicationLimits { site: 100, ..limits }).await;
    for (number, signs) in [vec![], vec![], vec![], vec![Posting]].into_iter().enumerate() {
        assert_eq!(sent(&other, &format!("198.51.{number}.1")).await, signs);
    }
    // An owner clears the counters.
    let cleared_at = Some(api.environment.clock.now());
    set_limits(&api, ACME, Mode::Live, ApplicationLimits { cleared_at, ..limits }).await;
    assert_eq!(sent(&other, "203.0.113.1").await, []);
    // The next hour, and the next day.
    api.clock.set("2026-11-20T10:00:00Z");
    assert_eq!(sent(&other, "203.0.113.1").await, []);
    api.clock.set("2026-11-21T00:00:00Z");
    assert_eq!(sent(&job, "203.0.113.1").await, []);
}

/// The counters of attempts, in ascending order.
async fn counters(api: &TestApi) -> Vec<u64> {
    let items = api.stored_items().await;
    let attempts = items.iter().filter(|((pk, _), _)| pk.starts_with("ATTEMPTS#"));
    let number = |item: &AttributeValue| item.as_n().unwrap().parse().unwrap();
    let mut counters: Vec<u64> = attempts.map(|(_, item)| number(&item["attempts"])).collect();
    counters.sort_unstable();
    counters
}

/// All limits are counted at the same time, but behind one that is exceeded, nothing stays counted.
#[tokio::test]
async fn what_is_counted_behind_a_limit_is_taken_back() {
    let most = ApplicationLimits { address: 50, network: 50, posting: 50, site: 50, cleared_at: None };
    for (limits, counted) in [
        (ApplicationLimits { address: 5, ..most }, [5, 5, 5, 5]),
        (ApplicationLimits { network: 5, ..most }, [5, 5, 5, 20]),
        (ApplicationLimits { posting: 5, ..most }, [5, 5, 20, 20]),
        (ApplicationLimits { site: 5, ..most }, [5, 5, 20, 20]),
    ] {
        // All at once, or each in a function that knows nothing of the others.
        for is_at_once in [true, false] {
            let mut api = TestApi::new().await;
            let job = Job::new(&api, "Analyst").await;
            set_limits(&api, ACME, Mode::Live, limits).await;
            let forms: Vec<_> = (0..20).map(|n| form("Ada", &format!("ada{n}@example.com"))).collect();
            if is_at_once {
                join_all(forms.iter().map(|form| job.apply(&api, form))).await;
            } else {
                for form in &forms {
                    api.environment.known_sites = KnownSites::default();
                    api.restart();
                    job.apply(&api, form).await.expect(303);
                }
            }
            assert_eq!(job.applicants(&api).await, 5, "{limits:?}");
            assert_eq!(suspects_of(&api, acme()).await.len(), 15, "{limits:?}");
            // The last counter is that of the suspect forms.
            let mut expected = counted.to_vec();
            expected.push(15);
            expected.sort_unstable();
            assert_eq!(counters(&api).await, expected, "{limits:?}");
        }
    }
}

/// Everything that a visitor receives, with an upload after the form.
async fn visit(api: &TestApi, job: &Job, form: &Form) -> Vec<(u16, Vec<(String, String)>, String)> {
    let browser = Browser::new(api);
    let applied = job.apply(api, form).await;
    let ticket = Form::of_location(&applied).1.get("ticket").to_owned();
    let confirmation = browser.follow(&applied).await;
    let early = browser.get(&format!("{}&etag=x", applied.header("location"))).await.expect(422);
    let sent = send(&confirmation, PDF).await.expect(303);
    let back = browser.get(&redirect_path(&sent)).await.expect(303);
    let attached = browser.follow(&back).await;
    let again = browser.get(&redirect_path(&sent)).await.expect(303);
    let responses = [applied, confirmation, early, sent, back, attached, again];
    responses.iter().map(|response| observed(response, &ticket)).collect()
}

#[tokio::test]
async fn the_visitor_of_a_suspect_form_sees_the_same_pages() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let honest = visit(&api, &job, &ada()).await;
    let suspect = visit(&api, &job, &trapped("robot@example.com")).await;
    for (step, (one, other)) in suspect.iter().zip(&honest).enumerate() {
        assert_eq!(one, other, "step {step}");
    }
    assert_eq!((list(&api, "").await.len(), suspects_of(&api, acme()).await.len()), (1, 1));
    let problems = |form: Form| {
        let (api, job) = (&api, &job);
        async move { job.apply(api, &form.set("name", "").set("phone", "x")).await.expect(422).text }
    };
    assert_eq!(problems(ada()).await, problems(trapped("ada@example.com")).await);
    // Nearly the same calls: a suspect form is counted for the organization, and not for its posting and its site.
    let mut calls = Vec::new();
    for form in [form("Grace", "grace@example.com"), trapped("robot@example.com")] {
        api.dynamodb.take_calls();
        job.apply(&api, &form).await.expect(303);
        calls.push(api.dynamodb.take_calls().len());
    }
    assert_eq!(calls, [10, 7]);
}

#[tokio::test]
async fn the_file_of_a_suspect_form_is_kept_unchecked() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let bucket = api.environment.providers.resumes().unwrap();
    let (browser, path) = (Browser::new(&api), format!("{}/apply", job.path));
    let with_file = async |form: &Form, content: &[u8]| browser.submit_file(&path, form, content).await;
    let now = api.environment.clock.now();
    let honest = with_file(&ada(), b"<html>").await.expect(422);
    assert!(honest.text.contains("This is a web page."), "{}", honest.text);
    let sent = with_file(&trapped("robot@example.com"), b"<html>").await.expect(303);
    assert!(sent.header("location").ends_with("&attached=yes"));
    let [suspect] = suspects_of(&api, acme()).await.try_into().unwrap();
    let place = suspect.file.unwrap();
    assert!(place.key().starts_with("suspects/1/live/"));
    assert_eq!(bucket.read(place.key(), 100, now).await.unwrap().unwrap().bytes, &b"<html>"[..]);
    let large = with_file(&trapped("robot@example.com"), &vec![b'x'; 4 * 1024 * 1024 + 1]).await.expect(422);
    assert!(large.text.contains("larger than 4 MB"), "{}", large.text);
    // A file that is uploaded later is kept, too.
    let applied = job.apply(&api, &trapped("late@example.com")).await.expect(303);
    attach(&api, &applied, b"<html> later").await.expect(303);
    let late = suspects_of(&api, acme()).await.swap_remove(0).file.unwrap();
    assert_eq!(bucket.read(late.key(), 100, now).await.unwrap().unwrap().bytes, &b"<html> later"[..]);
    // 200 files a day are kept.
    let subject = format!("files of suspect forms of {}", acme());
    for _ in 0..198 {
        api.store().count_attempt(&subject, 200, DAY, now).await.unwrap();
    }
    let sent = with_file(&trapped("robot@example.com"), PDF).await.expect(303);
    assert!(sent.header("location").ends_with("&attached=yes"), "the visitor notices nothing");
    let applied = job.apply(&api, &trapped("late@example.com")).await.expect(303);
    assert!(attach(&api, &applied, PDF).await.expect(303).header("location").ends_with("&attached=yes"));
    let suspects = suspects_of(&api, acme()).await;
    assert_eq!((suspects.len(), suspects.iter().filter(|form| form.file.is_some()).count()), (4, 2));
}

/// A mistake costs nobody the file, and the check of a file is done as late as the form stops to be suspect.
#[tokio::test]
async fn a_suspect_form_with_a_mistake_keeps_its_file() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let (browser, path) = (Browser::new(&api), format!("{}/apply", job.path));
    let mistake = async |form: Form, content: &[u8]| {
        let page = browser.submit_file(&path, &form.set("name", ""), content).await.expect(422);
        input(&page, "resume_ticket")
    };
    for (name, content) in [("pdf", PDF), ("html", b"<html>")] {
        let email = format!("{name}@example.com");
        let ticket = mistake(trapped(&email), content).await;
        job.apply(&api, &trapped(&email).and("resume_ticket", &ticket)).await.expect(303);
        let suspect = suspects_of(&api, acme()).await.swap_remove(0);
        let bucket = api.environment.providers.resumes().unwrap();
        let place = suspect.file.unwrap();
        let kept = bucket.read(place.key(), 1_000, api.environment.clock.now()).await.unwrap().unwrap();
        assert_eq!(kept.bytes, content);
    }
    // Without the sign, the content is looked at.
    let ticket = mistake(trapped("ada@example.com"), b"<html>").await;
    let page = job.apply(&api, &ada().and("resume_ticket", &ticket)).await.expect(422);
    assert!(page.text.contains("This is a web page."), "{}", page.text);
    assert_eq!(suspects_of(&api, acme()).await.len(), 2);
}

/// A candidate who has the maximum of applications is told that this one was received, too.
#[tokio::test]
async fn an_application_too_many_is_kept_with_the_suspect_forms() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    job.apply(&api, &ada()).await.expect(303);
    let candidate = find(&api, "ada@example.com").await.number("/id");
    api.write_open_roles(1..=199).await;
    api.write_applications(candidate, 1..=199).await;
    let last = Job::new(&api, "Cook").await;
    let pages = visit(&api, &last, &form("Grace", "grace@example.com")).await;
    assert_eq!(visit(&api, &last, &ada().set("note", "Hello")).await, pages);
    let [suspect] = suspects_of(&api, acme()).await.try_into().unwrap();
    assert_eq!((suspect.signs, suspect.file), (vec![SuspectSign::Applications], None));
    assert_eq!(kinds(&find(&api, "ada@example.com").await)[0], "updated", "the history has the file");
    assert_eq!(suspect.content.note.as_ref().map(Text::as_str), Some("Hello"));
    // Of a role that the candidate has applied for, the form is another submission.
    job.apply(&api, &ada()).await.expect(303);
    assert_eq!(suspects_of(&api, acme()).await.len(), 1);
}

/// The check of a file costs work, so its sender is counted before that.
#[tokio::test]
async fn senders_of_broken_files_are_counted() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    set_limits(&api, ACME, Mode::Live, ApplicationLimits { address: 3, ..ApplicationLimits::USUAL }).await;
    let (browser, path) = (Browser::new(&api), format!("{}/apply", job.path));
    for status in [422, 422, 422, 303] {
        browser.submit_file(&path, &ada(), b"<html>").await.expect(status);
    }
    assert_eq!(suspects_of(&api, acme()).await[0].signs, [SuspectSign::Address]);
}

#[tokio::test]
async fn an_organization_keeps_20000_suspect_forms_a_day() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let test = Job::of(&api, ACME, Mode::Test, "Analyst").await;
    // The others are only counted.
    let (before, now) = (api.stored_items().await, api.environment.clock.now());
    api.store().count_attempt(&format!("suspect forms of {}", acme()), 1, DAY, now).await.unwrap();
    let counter = api.stored_items().await.into_iter().find(|(key, _)| !before.contains_key(key));
    let mut counter = counter.unwrap().1;
    counter.insert("attempts".to_owned(), AttributeValue::N("19999".to_owned()));
    api.write_items([counter]).await;
    job.apply(&api, &trapped("a@example.com")).await.expect(303);
    let refused = job.apply(&api, &trapped("b@example.com")).await.expect(429);
    assert_eq!(refused.header("retry-after"), (14 * 3_600 + 30 * 60).to_string());
    assert_eq!(refused.header("cache-control"), "no-store");
    assert!(refused.text.contains("the maximum number of applications for today"), "{}", refused.text);
    assert_eq!(suspects_of(&api, acme()).await.len(), 1);
    // Forms without a sign are not affected, nor are test data and other organizations.
    job.apply(&api, &form("Grace", "grace@example.com")).await.expect(303);
    test.apply(&api, &trapped("b@example.com")).await.expect(303);
    Job::of(&api, GLOBEX, Mode::Live, "Cook").await.apply(&api, &trapped("b@example.com")).await.expect(303);
    assert_eq!(suspects_of(&api, tenant(ACME, Mode::Test)).await.len(), 1);
    assert_eq!(suspects_of(&api, tenant(GLOBEX, Mode::Live)).await.len(), 1);
    assert_eq!(list(&api, "").await.len(), 1);
}

/// Sends 500 forms of an attacker, and an honest one after every 25 of them. Returns the numbers of the honest applicants
/// whose forms are suspect.
async fn attack(api: &TestApi, job: &Job, source: impl Fn(u32) -> String) -> Vec<u32> {
    let mut suspects = Vec::new();
    for number in 0..500 {
        let form = form("Robot", &format!("robot{number}@example.net"));
        apply_from(api, job, &source(number), &form).await.expect(303);
        if number % 25 == 24 {
            let honest = number / 25;
            let form = self::form("Ada", &format!("ada{honest}@example.com"));
            apply_from(api, job, &format!("192.0.{honest}.1"), &form).await.expect(303);
            let newest = suspects_of(api, acme()).await.into_iter().next();
            if newest.is_some_and(|newest| newest.content.email.as_str() == form.get("email")) {
                suspects.push(honest);
            }
        }
    }
    suspects
}

/// Nobody is refused. An attacker with few addresses uses up only a part of a job's limit, and one with many addresses all of
/// it: then the forms of honest people are kept, too.
#[tokio::test]
async fn honest_forms_among_those_of_an_attacker_are_never_refused() {
    let limits = ApplicationLimits { address: 5, network: 8, posting: 60, site: 1_000, cleared_at: None };
    for (source, first_suspect, honest_ones) in [
        // Ten addresses in ten networks get 50 forms through.
        ((|number| format!("203.0.{}.1", number % 10)) as fn(u32) -> String, 10, 10),
        // Ten addresses in one network get 8 forms through.
        (|number| format!("203.0.113.{}", number % 10), 20, 0),
        // 500 addresses in 500 networks.
        (|number| format!("10.{}.{}.1", number / 250, number % 250), 2, 18),
    ] {
        let api = TestApi::new().await;
        let job = Job::new(&api, "Analyst").await;
        set_limits(&api, ACME, Mode::Live, limits).await;
        let suspects = attack(&api, &job, source).await;
        assert_eq!(suspects, (first_suspect..20).collect::<Vec<_>>());
        let kept = suspects_of(&api, acme()).await;
        let honest = kept.iter().filter(|form| form.content.email.as_str().ends_with("@example.com"));
        assert_eq!(honest.clone().count(), honest_ones);
        assert!(honest.into_iter().all(|form| form.signs == [SuspectSign::Posting]));
        assert_eq!(kept.len() as u64 + job.applicants(&api).await, 520, "nothing is lost");
    }
}

#[tokio::test]
async fn the_export_of_a_person_has_the_suspect_forms_with_the_address() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    job.apply(&api, &ada()).await.expect(303);
    job.apply(&api, &trapped("ADA@example.com").set("note", "Hello")).await.expect(303);
    job.apply(&api, &trapped("robot@example.com")).await.expect(303);
    let globex = Job::of(&api, GLOBEX, Mode::Live, "Cook").await;
    globex.apply(&api, &trapped("ada@example.com")).await.expect(303);
    let path = format!("/api/v1/candidates/{}/export", find(&api, "ada@example.com").await.number("/id"));
    let exported = api.get(&path).await.expect(200);
    let [form] = exported.body["suspect_forms"].as_array().unwrap().as_slice() else { panic!("one form") };
    assert_eq!(
        (&form["email"], &form["note"], &form["role_id"], &form["has_file"]),
        (&json!("ADA@example.com"), &json!("Hello"), &json!(job.role), &json!(false))
    );
}

/// The forms contain the person's data, whoever sent them.
#[tokio::test]
async fn an_erasure_removes_the_suspect_forms_of_the_person() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    job.apply(&api, &ada()).await.expect(303);
    let (browser, path) = (Browser::new(&api), format!("{}/apply", job.path));
    browser.submit_file(&path, &trapped("ADA@example.com"), PDF).await.expect(303);
    job.apply(&api, &trapped("grace@example.com")).await.expect(303);
    let id = find(&api, "ada@example.com").await.number("/id");
    // Forms with an address that the person had before are the person's, too.
    for email in ["lovelace@example.com", "countess@example.com"] {
        let path = format!("/api/v1/candidates/{id}");
        api.request(Method::PATCH, &path).json(&json!({ "email": email })).send().await.expect(200);
        job.apply(&api, &trapped(email)).await.expect(303);
    }
    api.post(&format!("/api/v1/candidates/{id}/erase"), json!({})).await.expect(202);
    api.run_tasks().await;
    let [left] = suspects_of(&api, acme()).await.try_into().unwrap();
    assert_eq!(left.content.email.as_str(), "grace@example.com");
    let bucket = api.environment.providers.resumes().unwrap();
    assert!(bucket.list("suspects/", None, api.environment.clock.now()).await.unwrap().is_empty());
}
