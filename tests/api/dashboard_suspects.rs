//! Suspect forms in the dashboard: the list, accepting and discarding, and the limits of an owner.

use futures_util::future::join;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{
    ApplicationForm, ApplicationLimits, MemberRole, Mode, Name, SuspectForm, SuspectSign, Tenant,
};
use shared::store::Transaction;
use tests::browser::{Browser, Form};
use tests::dashboard::add_member;
use tests::{ACME, GLOBEX, TestApi, tenant};

use crate::careers_applications::{Job, find, form, kinds, list};
use crate::careers_resumes::PDF;
use crate::careers_suspects::{suspects_of, trapped};

const PATH: &str = "/dashboard/candidates/suspects";
const LIMITS: &str = "/dashboard/settings/application-limits";

fn acme() -> Tenant {
    tenant(ACME, Mode::Live)
}

/// Writes suspect forms of one network directly.
async fn write_suspects(api: &TestApi, job: &Job, numbers: std::ops::Range<u64>, network: &str) {
    let numbers: Vec<_> = numbers.collect();
    for chunk in numbers.chunks(50) {
        let mut transaction = Transaction::new(acme());
        for number in chunk {
            let form = SuspectForm {
                id: Id::new(Id::first_at(api.environment.clock.now()).get() + number + 1).unwrap(),
                posting_id: Id::new(job.posting).unwrap(),
                role_id: Id::new(job.role).unwrap(),
                received_at: api.environment.clock.now(),
                network: network.to_owned(),
                signs: vec![SuspectSign::Trap],
                content: ApplicationForm {
                    source: None,
                    name: Name::parse("Robot").unwrap().unwrap(),
                    email: format!("robot{number}@example.net").parse().unwrap(),
                    phone: None,
                    phone_as_typed: None,
                    resume_url: None,
                    note: None,
                    consents: Vec::new(),
                    answers: Vec::new(),
                },
                file: None,
            };
            transaction.insert_suspect(&form).unwrap();
        }
        api.store().commit(transaction).await.unwrap();
    }
}

async fn member(api: &TestApi) -> Browser<'_> {
    let member = add_member(api, ACME, "Jo", MemberRole::Member).await;
    Browser::with_session(api, ACME, &member).await
}

async fn id_of(api: &TestApi, email: &str) -> String {
    let forms = suspects_of(api, acme()).await;
    forms.iter().find(|form| form.content.email.as_str() == email).unwrap().id.to_string()
}

#[tokio::test]
async fn members_see_who_sent_a_suspect_form_and_why() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let jo = member(&api).await;
    assert!(jo.get(PATH).await.expect(200).text.contains("There are no suspect forms."));
    assert!(!jo.get("/dashboard/candidates").await.expect(200).text.contains("Suspect forms"));
    let hostile = "</textarea>\"><script>alert(1)</script>";
    let evil = form(hostile, "evil@example.com")
        .set("confirm_topic", "x")
        .set("note", hostile)
        .set("resume_url", "https://evil.example/\"><script>")
        .and("opened", "x");
    job.apply(&api, &evil).await.expect(303);
    let page = jo.get(PATH).await.expect(200);
    assert!(
        !page.text.contains("<script>alert") && page.text.contains("&#60;script&#62;alert(1)"),
        "{}",
        page.text
    );
    for part in [
        "evil@example.com",
        "a hidden field was filled in, a hidden field was changed",
        "Analyst",
        "127.0.0.0/24",
    ] {
        assert!(page.text.contains(part), "{part}");
    }
    assert!(jo.get("/dashboard/candidates").await.expect(200).text.contains("Suspect forms: 1<"));
    write_suspects(&api, &job, 0..30, "198.51.100.0/24").await;
    assert!(jo.get("/dashboard/candidates").await.expect(200).text.contains("Suspect forms: 9+<"));
    let rows = |text: &str| text.split("<td class=\"select\">").count() - 1;
    let first = jo.get(PATH).await.expect(200);
    assert_eq!(rows(&first.text), 25);
    let next = first.text.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(rows(&jo.get(&next.replace("&#38;", "&")).await.expect(200).text), 6);
    for (query, count) in [
        ("network=127.0.0.0%2F24", 1),
        ("network=10.0.0.0%2F24", 0),
        ("from=2026-11-20&to=2026-11-20&network=127.0.0.0%2F24", 1),
        ("from=2026-11-21", 0),
        ("to=2026-11-19", 0),
    ] {
        assert_eq!(rows(&jo.get(&format!("{PATH}?{query}")).await.expect(200).text), count, "{query}");
    }
    for query in
        ["from=x", "to=2026-13-01", "from=2026-11-21&to=2026-11-20", &format!("network={}", "x".repeat(65))]
    {
        jo.get(&format!("{PATH}?{query}")).await.expect(422);
    }
    assert_eq!(jo.get(&format!("{PATH}?all=yes")).await.expect(200).text.matches(" checked").count(), 25);
    // After 30 days, a form has expired, even if DynamoDB has not deleted it.
    api.clock.set("2026-12-20T09:29:59Z");
    let jo = Browser::signed_in(&api, ACME).await;
    assert_eq!(rows(&jo.get(PATH).await.expect(200).text), 25);
    let id = id_of(&api, "evil@example.com").await;
    api.clock.set("2026-12-20T09:30:01Z");
    assert_eq!(rows(&jo.get(PATH).await.expect(200).text), 0);
    let done = jo.post(PATH, &[("act", "accept"), ("id", &id)]).await.expect(200);
    assert!(done.text.contains("0 of 0 forms accepted."));
}

/// Removes what differs between two people who send the same form.
fn clear(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in
                ["id", "application_id", "consent_id", "candidate_id", "submission_id", "actor", "email"]
            {
                fields.remove(name);
            }
            fields.values_mut().for_each(clear);
        }
        Value::Array(values) => values.iter_mut().for_each(clear),
        _ => {}
    }
}

/// A candidate without what depends on the time of the request.
async fn without_ids(api: &TestApi, email: &str) -> Value {
    let mut body = find(api, email).await.body;
    clear(&mut body);
    body
}

#[tokio::test]
async fn an_accepted_form_is_the_application_that_it_would_have_been() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let filled = |email| {
        form("Ada", email).set("phone", "+14155550132").set("note", "Hello").and("consent_recording", "yes")
    };
    job.apply(&api, &filled("honest@example.com")).await.expect(303);
    job.apply(&api, &filled("suspect@example.com").set("confirm_topic", "x")).await.expect(303);
    api.clock.set("2026-11-22T09:30:00Z");
    let jo = member(&api).await;
    let id = id_of(&api, "suspect@example.com").await;
    let done = jo.post(PATH, &[("act", "accept"), ("id", &id)]).await.expect(200);
    assert!(done.text.contains("1 of 1 forms accepted.") && done.text.contains("Added."), "{}", done.text);
    assert_eq!(without_ids(&api, "suspect@example.com").await, without_ids(&api, "honest@example.com").await);
    let candidate = find(&api, "suspect@example.com").await;
    assert_eq!(candidate.string("/touchpoints/0/actor/name"), "Jo");
    assert_eq!(candidate.string("/touchpoints/0/at"), "2026-11-20T09:30:00.000Z");
    assert_eq!(candidate.string("/consents/0/obtained_at"), "2026-11-20T09:30:00.000Z");
    assert!(suspects_of(&api, acme()).await.is_empty());
    assert_eq!(job.applicants(&api).await, 2);
    api.run_feed().await;
    let events = api.get("/api/v1/events?after=0&limit=100").await.expect(200).text;
    assert_eq!(events.matches("application.created").count(), 2);
}

#[tokio::test]
async fn a_form_that_cannot_become_an_application_stays_with_a_reason() {
    let api = TestApi::new().await;
    let (job, paused, closed) =
        (Job::new(&api, "Analyst").await, Job::new(&api, "Cook").await, Job::new(&api, "Baker").await);
    job.apply(&api, &form("Ada", "applied@example.com")).await.expect(303);
    paused.apply(&api, &form("Ada", "known@example.com")).await.expect(303);
    for (job, email) in [
        (&job, "applied@example.com"),
        (&job, "known@example.com"),
        (&paused, "paused@example.com"),
        (&closed, "closed@example.com"),
    ] {
        job.apply(&api, &trapped(email)).await.expect(303);
    }
    api.post(&format!("/api/v1/roles/{}/pause", paused.role), json!({})).await.expect(200);
    api.delete(&format!("/api/v1/roles/{}", closed.role)).await.expect(200);
    let jo = member(&api).await;
    for (email, sentence, left) in [
        ("known@example.com", "Added to a candidate with the same e-mail address.", 3),
        ("applied@example.com", "Added to a candidate with the same e-mail address.", 2),
        ("paused@example.com", "The job is paused. Resume it first.", 2),
        ("closed@example.com", "The job is closed.", 2),
    ] {
        let id = id_of(&api, email).await;
        let done = jo.post(PATH, &[("act", "accept"), ("id", &id)]).await.expect(200);
        assert!(done.text.contains(sentence), "{email}: {}", done.text);
        assert_eq!(suspects_of(&api, acme()).await.len(), left, "{email}");
    }
    assert_eq!(
        kinds(&find(&api, "applied@example.com").await),
        ["reapplied", "applied", "consent_changed", "created"]
    );
    let known = find(&api, "known@example.com").await;
    assert_eq!(known.body["applications"].as_array().map(Vec::len), Some(2));
    assert_eq!(known.string("/name"), "Ada", "the profile stays");
    api.post(&format!("/api/v1/roles/{}/resume", paused.role), json!({})).await.expect(200);
    let newest = suspects_of(&api, acme()).await[0].id.to_string();
    let all = [("act", "accept"), ("all", "yes"), ("newest", &*newest)];
    let done = jo.post(PATH, &all).await.expect(200);
    assert!(done.text.contains("1 of 2 forms accepted."), "{}", done.text);
}

#[tokio::test]
async fn the_file_of_an_accepted_form_is_checked() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let (visitor, path) = (Browser::new(&api), format!("{}/apply", job.path));
    job.apply(&api, &form("Ada", "known@example.com")).await.expect(303);
    let other = Job::new(&api, "Cook").await;
    for (path, email, file) in [
        (&path, "good@example.com", PDF),
        (&path, "bad@example.com", b"<html>"),
        (&format!("{}/apply", other.path), "known@example.com", PDF),
    ] {
        visitor.submit_file(path, &trapped(email), file).await.expect(303);
    }
    let jo = member(&api).await;
    let bucket = api.environment.providers.resumes().unwrap();
    for (email, sentence, history) in [
        (
            "good@example.com",
            "Added.<",
            &["updated", "file_added", "applied", "consent_changed", "created"][..],
        ),
        (
            "bad@example.com",
            "Added. The resume was dropped: This is a web page.",
            &["applied", "consent_changed", "created"],
        ),
        (
            "known@example.com",
            "same e-mail address.<",
            &["updated", "file_added", "applied", "applied", "consent_changed", "created"],
        ),
    ] {
        let id = id_of(&api, email).await;
        let done = jo.post(PATH, &[("act", "accept"), ("id", &id)]).await.expect(200);
        assert!(done.text.contains(sentence), "{email}: {}", done.text);
        let candidate = find(&api, email).await;
        assert_eq!(kinds(&candidate), history);
        assert_eq!(candidate.body["resume_url"].is_string(), email == "good@example.com");
    }
    let now = api.environment.clock.now();
    assert!(bucket.list("suspects/", None, now).await.unwrap().is_empty());
    assert_eq!(bucket.list("resumes/", None, now).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_members_cannot_accept_a_form_twice() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let (one, other) = (member(&api).await, Browser::signed_in(&api, ACME).await);
    for number in 0..10 {
        let email = format!("ada{number}@example.com");
        job.apply(&api, &trapped(&email)).await.expect(303);
        let id = id_of(&api, &email).await;
        let fields = [("act", "accept"), ("id", &*id)];
        let second = [("act", if number % 2 == 0 { "accept" } else { "discard" }), ("id", &*id)];
        let (first, second) = join(one.post(PATH, &fields), other.post(PATH, &second)).await;
        let texts = [first.expect(200).text, second.expect(200).text];
        let accepted = texts.iter().filter(|text| text.contains("1 of 1 forms accepted.")).count();
        let people = list(&api, &format!("?email={email}")).await.len();
        assert_eq!(people, accepted, "{texts:?}");
        assert!(accepted == 1 || number % 2 == 1 && accepted == 0, "{texts:?}");
        assert!(suspects_of(&api, acme()).await.is_empty());
    }
}

#[tokio::test]
async fn members_discard_what_they_tick_or_what_the_filter_shows() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let jo = member(&api).await;
    let bucket = api.environment.providers.resumes().unwrap();
    let path = format!("{}/apply", job.path);
    Browser::new(&api).submit_file(&path, &trapped("file@example.com"), b"<html>").await.expect(303);
    let id = id_of(&api, "file@example.com").await;
    let done = jo.post(PATH, &[("act", "discard"), ("id", &id)]).await.expect(200);
    assert!(done.text.contains("1 form discarded."));
    assert!(bucket.list("suspects/", None, api.environment.clock.now()).await.unwrap().is_empty());
    write_suspects(&api, &job, 0..230, "198.51.100.0/24").await;
    write_suspects(&api, &job, 230..240, "203.0.113.0/24").await;
    let page = jo.get(&format!("{PATH}?network=198.51.100.0%2F24")).await.expect(200);
    let newest = page.text.split("name=\"newest\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    // This one was received after the member had opened the page.
    write_suspects(&api, &job, 240..241, "198.51.100.0/24").await;
    let fields = [("act", "discard"), ("all", "yes"), ("newest", newest), ("network", "198.51.100.0/24")];
    let done = jo.post(PATH, &fields).await.expect(200);
    assert!(done.text.contains("230 forms discarded."), "{}", done.text);
    assert_eq!(suspects_of(&api, acme()).await.len(), 11);
    let log = api.get("/api/v1/audit_log?action=suspect_forms.discarded").await.expect(200);
    let counts: Vec<_> = log.body["data"].as_array().unwrap().iter().map(|entry| &entry["shown"]).collect();
    assert_eq!(counts, [30, 100, 100, 1]);
    for fields in
        [&[("act", "x")][..], &[("act", "discard"), ("all", "yes")], &[("act", "accept"), ("all", "yes")]]
    {
        jo.post(PATH, fields).await.expect(404);
    }
    jo.post(PATH, &[("act", "discard"), ("from", "x")]).await.expect(422);
    let none = jo.post(PATH, &[("act", "discard"), ("id", "x")]).await.expect(200);
    assert!(none.text.contains("0 forms discarded."));
    assert_eq!(suspects_of(&api, acme()).await.len(), 11);
}

#[tokio::test]
async fn one_request_accepts_50_forms() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    write_suspects(&api, &job, 0..60, "198.51.100.0/24").await;
    let jo = member(&api).await;
    let page = jo.get(PATH).await.expect(200);
    let newest = page.text.split("name=\"newest\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let done = jo.post(PATH, &[("act", "accept"), ("all", "yes"), ("newest", newest)]).await.expect(200);
    assert!(done.text.contains("50 of 50 forms accepted.") && done.text.contains("Accept the next ones"));
    let rest = Form::of(&done, PATH).and("act", "accept");
    let done = jo.submit(PATH, &rest).await.expect(200);
    assert!(done.text.contains("10 of 10 forms accepted.") && !done.text.contains("Accept the next ones"));
    assert_eq!(job.applicants(&api).await, 60);
}

#[tokio::test]
async fn suspect_forms_of_other_tenants_are_out_of_reach() {
    let api = TestApi::new().await;
    let (job, test) = (Job::new(&api, "Analyst").await, Job::of(&api, ACME, Mode::Test, "Analyst").await);
    job.apply(&api, &trapped("live@example.com")).await.expect(303);
    test.apply(&api, &trapped("test@example.com")).await.expect(303);
    let id = id_of(&api, "live@example.com").await;
    let globex = Browser::signed_in(&api, GLOBEX).await;
    let tests = Browser::signed_in(&api, ACME).await;
    tests.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    for browser in [&globex, &tests] {
        assert!(!browser.get(PATH).await.expect(200).text.contains("live@example.com"));
        for act in ["accept", "discard"] {
            browser.post(PATH, &[("act", act), ("id", &id)]).await.expect(200);
            browser.post(PATH, &[("act", act), ("all", "yes"), ("newest", &id)]).await.expect(200);
        }
    }
    assert_eq!(suspects_of(&api, acme()).await.len(), 1);
    assert!(list(&api, "").await.is_empty());
}

#[tokio::test]
async fn an_owner_raises_and_clears_the_limits_of_applications() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let owner = Browser::signed_in(&api, ACME).await;
    let site = async || {
        let organization = api.store().find_organization(acme()).await.unwrap().unwrap().organization;
        api.store().find_career_site(&organization.slug).await.unwrap().unwrap().limits
    };
    assert_eq!(site().await, ApplicationLimits::USUAL);
    let fields = [("address", "500"), ("network", "1,000"), ("posting", "2000"), ("site", "5000")];
    let saved = owner.post(LIMITS, &fields).await.expect(303);
    assert_eq!(saved.header("location"), format!("{LIMITS}?done=application-limits-saved"));
    let raised =
        ApplicationLimits { address: 500, network: 1_000, posting: 2_000, site: 5_000, cleared_at: None };
    assert_eq!(site().await, raised);
    let wrong = [("address", "99"), ("network", "x"), ("posting", "50001"), ("site", "")];
    let page = owner.post(LIMITS, &wrong).await.expect(422);
    for sentence in [
        "From one IP address in an hour must be a number from 100 to 10,000.",
        "From one network in an hour must be a number from 200 to 20,000.",
        "For one job on a day must be a number from 1,000 to 50,000.",
        "For all jobs on a day must be a number from 5,000 to 100,000.",
    ] {
        assert!(page.text.contains(sentence), "{}", page.text);
    }
    assert!(page.text.contains("value=\"50001\""));
    assert_eq!(site().await, raised);
    let now = api.environment.clock.now();
    owner.post(LIMITS, &[("act", "clear")]).await.expect(303);
    assert_eq!(site().await, ApplicationLimits { cleared_at: Some(now), ..raised });
    assert!(owner.get(LIMITS).await.expect(200).text.contains("This was last done on"));
    // Test data has its own limits.
    let test = tenant(ACME, Mode::Test);
    let organization = api.store().find_organization(test).await.unwrap().unwrap().organization;
    let test = api.store().find_career_site(&organization.slug).await.unwrap().unwrap();
    assert_eq!(test.limits, ApplicationLimits::USUAL);
    job.apply(&api, &form("Ada", "ada@example.com")).await.expect(303);
    let jo = member(&api).await;
    assert!(jo.get(LIMITS).await.expect(200).text.contains("Only owners can change the limits."));
    jo.post(LIMITS, &[("act", "clear")]).await.expect(403);
}
