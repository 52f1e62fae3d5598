//! The last day on which a role's posting is public: in the API, on the career pages, on X and for assistants.

use serde_json::{Value, json};
use shared::model::Mode;
use tests::assistant::Assistant;
use tests::browser::{Browser, Form, input};
use tests::careers::{Vacancy, read, titles};
use tests::dashboard::owner;
use tests::{ACME, TestApi, tenant};

use crate::careers_applications::form;
use crate::careers_jobs::{facts, json_ld};
use crate::erasure_show::kill_after;

const JOBS: &str = "/careers/acme";

async fn in_zone(zone: &str) -> TestApi {
    let api = TestApi::new().await;
    api.change_settings(tenant(ACME, Mode::Live), ["", zone, ""]).await;
    api
}

/// The last day of a role, and when it ends.
fn closing(role: &Value) -> (&str, &str) {
    (role["closes_on"].as_str().unwrap_or("-"), role["closes_at"].as_str().unwrap_or("-"))
}

#[tokio::test]
async fn a_day_ends_with_the_first_instant_of_the_next_one_in_the_organizations_zone() {
    for (zone, now, day, end) in [
        ("UTC", "2026-11-20T09:30:00Z", "2026-11-20", "2026-11-21T00:00:00.000Z"),
        // On this day, the zone is 14 hours ahead, and 11 hours behind.
        ("Pacific/Kiritimati", "2026-11-20T09:30:00Z", "2026-11-20", "2026-11-20T10:00:00.000Z"),
        ("Pacific/Pago_Pago", "2026-11-20T09:30:00Z", "2026-11-19", "2026-11-20T11:00:00.000Z"),
        // The clocks go forward on 27 September and back on 4 April.
        ("Pacific/Auckland", "2026-09-25T00:00:00Z", "2026-09-26", "2026-09-26T12:00:00.000Z"),
        ("Pacific/Auckland", "2026-09-25T00:00:00Z", "2026-09-27", "2026-09-27T11:00:00.000Z"),
        ("Pacific/Auckland", "2027-04-01T00:00:00Z", "2027-04-03", "2027-04-03T11:00:00.000Z"),
        ("Pacific/Auckland", "2027-04-01T00:00:00Z", "2027-04-04", "2027-04-04T12:00:00.000Z"),
        ("Europe/Berlin", "2027-03-01T00:00:00Z", "2027-03-27", "2027-03-27T23:00:00.000Z"),
        ("Europe/Berlin", "2027-03-01T00:00:00Z", "2027-03-28", "2027-03-28T22:00:00.000Z"),
        ("Europe/Berlin", "2027-10-01T00:00:00Z", "2027-10-31", "2027-10-31T23:00:00.000Z"),
        // On this day, the clocks go forward from midnight to one, so it begins at one.
        ("Africa/Cairo", "2027-04-01T00:00:00Z", "2027-04-29", "2027-04-29T22:00:00.000Z"),
        // The clocks go back from one to midnight, so the hour after midnight is there twice.
        ("America/Havana", "2027-11-01T00:00:00Z", "2027-11-06", "2027-11-07T04:00:00.000Z"),
        ("UTC", "2026-11-20T09:30:00Z", "9999-12-31", "9999-12-30T22:00:00.999Z"),
    ] {
        let api = in_zone(zone).await;
        api.clock.set(now);
        let role = api.post("/api/v1/roles", json!({ "title": "Cook", "closes_on": day })).await.expect(201);
        assert_eq!(closing(&role.body), (day, end), "{zone}");
    }
}

#[tokio::test]
async fn a_day_is_fixed_when_it_is_set_and_must_not_be_over() {
    let api = in_zone("Pacific/Auckland").await;
    // It is 22:30 of 20 November in Auckland.
    let late = json!({ "title": "Cook", "closes_on": "2026-11-19" });
    let over = "closes_on must not be over";
    assert_eq!(api.post("/api/v1/roles", late.clone()).await.expect(422).messages(), [over]);
    let posted = api.post("/api/v1/quick_post", json!({ "role": late })).await.expect(422);
    assert_eq!(posted.messages(), [format!("role.{over}")]);
    for wrong in
        [json!("2026-02-30"), json!("20.11.2026"), json!("2026-11-20T00:00:00Z"), json!(17), json!(true)]
    {
        let refused =
            api.post("/api/v1/roles", json!({ "title": "Cook", "closes_on": wrong })).await.expect(422);
        assert!(refused.messages()[0].starts_with("closes_on must be a"), "{}", refused.text);
    }
    let unsettable = json!({ "title": "Cook", "closes_at": "2026-12-24T00:00:00Z" });
    assert!(api.post("/api/v1/roles", unsettable).await.expect(422).messages()[0].starts_with("closes_at "));

    let today = json!({ "title": "Cook", "closes_on": "2026-11-20" });
    let role = api.post("/api/v1/roles", today).await.expect(201);
    assert_eq!(closing(&role.body), ("2026-11-20", "2026-11-20T11:00:00.000Z"));
    let path = format!("/api/v1/roles/{}", role.number("/id"));
    let patch = async |change: Value| api.patch(&path, change).await;
    // Another zone moves nothing, and neither does the same day again.
    api.change_settings(tenant(ACME, Mode::Live), ["", "UTC", ""]).await;
    let same = patch(json!({ "closes_on": "2026-11-20" })).await.expect(200);
    assert_eq!(same.header("etag"), role.header("etag"));
    let other = patch(json!({ "closes_on": "2026-11-21" })).await.expect(200);
    assert_eq!(closing(&other.body), ("2026-11-21", "2026-11-22T00:00:00.000Z"));
    assert_eq!(patch(json!({ "closes_on": "2026-11-19" })).await.expect(422).messages(), [over]);
    api.clock.set("2026-11-22T00:00:00Z");
    // What is over can be sent back unchanged, and stays when something else changes.
    patch(json!({ "closes_on": "2026-11-21", "title": "Baker" })).await.expect(200);
    assert_eq!(closing(&patch(json!({ "closes_on": null })).await.expect(200).body), ("-", "-"));
    assert_eq!(patch(json!({ "closes_on": "2026-11-21" })).await.expect(422).messages(), [over]);
    api.run_whole_feed().await;
    let events = api.get("/api/v1/events?type=role.updated").await.expect(200);
    let changed: Vec<_> =
        events.body["data"].as_array().unwrap().iter().map(|event| &event["changed"]).collect();
    assert_eq!(json!(changed), json!([["closes_on", "closes_at"], ["title"], ["closes_on", "closes_at"]]));
}

/// What the world sees of a posting: whether the API calls it published, the status of its page and of its form, whether it is
/// listed, in the feed and in the sitemap.
async fn seen(api: &TestApi, job: &Vacancy) -> Value {
    let posting = api.get(&job.posting_path()).await.expect(200);
    let listed = api.get("/api/v1/job_postings?published=true").await.expect(200);
    let page = read(api, &job.path()).await;
    let apply = Browser::new(api)
        .submit(&format!("{}/apply", job.path()), &form("Jane Doe", "jane@example.com"))
        .await;
    let list = read(api, JOBS).await.expect(200);
    let feed = read(api, &format!("{JOBS}/jobs.json")).await.expect(200);
    let sitemap = read(api, &format!("{JOBS}/sitemap.xml")).await.expect(200);
    json!([
        posting.body["published"],
        listed.body["data"].as_array().unwrap().len(),
        page.status,
        apply.status,
        titles(&list).len(),
        feed.body["jobs"].as_array().unwrap().len(),
        sitemap.text.contains(&job.path()),
    ])
}

#[tokio::test]
async fn after_the_day_nothing_is_public_whatever_the_task_has_done() {
    let api = in_zone("Pacific/Auckland").await;
    let job = Vacancy::open(&api, json!({ "title": "Cook", "location": "Oslo", "country": "NO", "description": "d", "closes_on": "2026-11-24" })).await;
    let end = "2026-11-24T11:00:00.000Z";
    let page = read(&api, &job.path()).await.expect(200);
    assert_eq!(json_ld(&page).unwrap()["validThrough"], end);
    let day = facts(&page).into_iter().find(|(name, _)| name == "Last day to apply").unwrap();
    assert_eq!(day.1, "24 November 2026");
    let feed = read(&api, &format!("{JOBS}/jobs.json")).await.expect(200).body;
    assert_eq!(
        (feed["jobs"][0]["closes_on"].as_str(), feed["jobs"][0]["closes_at"].as_str()),
        (Some("2026-11-24"), Some(end))
    );

    api.clock.set("2026-11-24T10:59:59.999Z");
    for path in [job.path(), JOBS.to_owned(), format!("{JOBS}/jobs.json"), format!("{JOBS}/sitemap.xml")] {
        assert_eq!(read(&api, &path).await.header("cache-control"), "public, max-age=0", "{path}");
    }
    assert_eq!(api.run_tasks().await.tasks, 0);
    assert_eq!(seen(&api, &job).await, json!([true, 1, 200, 303, 1, 1, true]));
    let etag = api.get(&job.posting_path()).await.header("etag").to_owned();
    let over = json!([false, 0, 410, 422, 0, 0, false]);
    api.clock.set(end);
    assert_eq!(seen(&api, &job).await, over, "the task is late");
    assert_ne!(api.get(&job.posting_path()).await.header("etag"), etag);
    let post = json!({ "job_posting_id": job.posting });
    let refused = api.post("/api/v1/channels/x/post", post).await.expect(422);
    assert_eq!(refused.messages(), ["job_posting_id must be the id of a published job posting"]);
    let refused = job.step(&api, "publish").await.expect(422);
    assert_eq!(refused.string("/code"), "invalid_transition");
    job.step(&api, "unpublish").await.expect(200);
    // The role stays open, and takes applications by the API.
    let role = api.get(&job.role_path()).await.expect(200);
    assert_eq!(role.string("/status"), "open");
    let person = json!({ "name": "Ada", "email": "ada@example.com", "role_id": job.role });
    api.post("/api/v1/candidates", person).await.expect(201);
    assert_eq!(api.run_tasks().await.failed, 0);
    assert_eq!(seen(&api, &job).await, over, "the task has nothing left to do");
    assert!(
        api.due_tasks("2030-01-01T00:00:00Z".parse().unwrap())
            .await
            .iter()
            .all(|task| task.kind.as_str() != "closing")
    );
    // A later day lets it be published again.
    api.patch(&job.role_path(), json!({ "closes_on": "2026-12-24" })).await.expect(200);
    job.step(&api, "publish").await.expect(200);
    assert_eq!(seen(&api, &job).await, json!([true, 1, 200, 303, 1, 1, true]));
}

#[tokio::test]
async fn the_task_unpublishes_once_although_it_is_late_runs_twice_and_is_killed() {
    // The number of calls after which the first run is killed.
    for calls in 0..40 {
        let api = in_zone("Europe/Berlin").await;
        let job = Vacancy::open(&api, json!({ "title": "Cook", "closes_on": "2026-11-24" })).await;
        let moved = Vacancy::open(&api, json!({ "title": "Baker", "closes_on": "2026-11-24" })).await;
        api.patch(&moved.role_path(), json!({ "closes_on": "2026-11-25" })).await.expect(200);
        api.clock.set("2026-11-24T23:30:00Z");
        let was_killed = kill_after(calls, api.run_tasks()).await.is_none();
        let (first, second) = tokio::join!(api.run_tasks(), api.run_tasks());
        assert_eq!((first.failed, second.failed), (0, 0));
        api.run_whole_feed().await;
        let events = api.get("/api/v1/events?type=posting.unpublished").await.expect(200);
        let events = events.body["data"].as_array().unwrap();
        assert_eq!(events.len(), 1, "{calls}: {events:?}");
        assert_eq!(
            json!([events[0]["subject"]["id"], events[0]["actor"]["type"], events[0]["changed"]]),
            json!([job.posting, "system", ["published"]])
        );
        let published =
            async |job: &Vacancy| api.get(&job.posting_path()).await.expect(200).body["published"].clone();
        assert_eq!((published(&job).await, published(&moved).await), (json!(false), json!(true)));
        if !was_killed {
            return;
        }
    }
    panic!("the run never came to its end");
}

#[tokio::test]
async fn who_applied_on_the_last_evening_can_still_add_a_file() {
    let api = in_zone("UTC").await;
    let job = Vacancy::open(&api, json!({ "title": "Cook", "closes_on": "2026-11-24" })).await;
    api.clock.set("2026-11-24T23:59:00Z");
    let browser = Browser::new(&api);
    let sent = browser
        .submit(&format!("{}/apply", job.path()), &form("Jane Doe", "jane@example.com"))
        .await
        .expect(303);
    let received = sent.header("location").to_owned();
    api.clock.set("2026-11-25T00:10:00Z");
    let page = browser.get(&received).await.expect(200);
    assert!(page.text.contains("type=\"file\""), "{}", page.text);
}

#[tokio::test]
async fn members_and_assistants_set_the_day_too() {
    let api = in_zone("Europe/Berlin").await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let fields = [("role.title", "Cook"), ("role.closes_on", "2026-11-19"), ("publish", "true")];
    let refused = ada.post("/dashboard/quick-post", &fields).await.expect(422);
    assert!(refused.text.contains("Last day to apply must not be over."), "{}", refused.text);
    let fields = [("role.title", "Cook"), ("role.closes_on", "2026-12-24"), ("publish", "true")];
    let saved = ada.post("/dashboard/quick-post", &fields).await.expect(303);
    let path = saved.header("location").split('?').next().unwrap().to_owned();
    let page = ada.get(&path).await.expect(200);
    assert!(page.text.contains("Last day to apply") && page.text.contains("2026-12-24"), "{}", page.text);
    let path = format!("{path}/edit");
    let page = ada.get(&path).await.expect(200);
    assert_eq!(input(&page, "closes_on"), "2026-12-24");
    let fields = Form::of(&page, &path).set("title", "Cook").set("closes_on", "2026-12-25");
    let preview = ada.submit(&path, &fields.clone().set("preview", "yes")).await.expect(200);
    assert!(preview.text.contains("25 December 2026"), "{}", preview.text);
    ada.submit(&path, &fields).await.expect(303);

    let assistant = Assistant::new(&api);
    let made = assistant.call("save_role", json!({ "title": "Baker", "closes_on": "2026-12-31" })).await;
    let id = made["id"].as_u64().unwrap_or_else(|| panic!("{made}"));
    let shown = assistant.call("list_roles", json!({ "role_id": id })).await;
    assert_eq!(closing(&shown["roles"][0]), ("2026-12-31", "2026-12-31T23:00:00.000Z"));
}
