//! Concurrent requests: no update is lost and no state is skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::{join, join_all};
use http::Method;
use serde_json::{Value, json};
use tests::{Response, TestApi};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_one_of_two_concurrent_publishes_succeeds() {
    let api = TestApi::new().await;
    for _ in 0..20 {
        let id = api.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
        let path = format!("/api/v1/roles/{id}/publish");
        let publish = || api.request(Method::POST, &path).send();
        let (one, two) = join(publish(), publish()).await;
        let mut statuses = [one.status, two.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 422]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_patches_of_different_fields_all_take_effect() {
    let api = TestApi::new().await;
    let id = api.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    let path = format!("/api/v1/roles/{id}");
    let changes = [
        json!({ "title": "t" }),
        json!({ "department": "d" }),
        json!({ "description": "e" }),
        json!({ "location": "l" }),
        json!({ "remote_policy": "hybrid" }),
        json!({ "salary_max": 9 }),
    ];
    let responses = join_all(changes.iter().map(|change| api.patch(&path, change.clone()))).await;
    assert!(responses.iter().all(|response| response.status == 200));
    let role = api.get(&path).await.body;
    for change in &changes {
        for (field, value) in change.as_object().unwrap() {
            assert_eq!(&role[field], value);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_one_of_ten_concurrent_patches_with_the_same_etag_succeeds() {
    let api = TestApi::new().await;
    let id = api.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    let path = format!("/api/v1/roles/{id}");
    let etag = api.get(&path).await.header("etag").to_owned();
    let bodies: Vec<_> = (0..10).map(|n| json!({ "title": format!("t{n}") })).collect();
    let patch = |body| api.request(Method::PATCH, &path).header("if-match", &etag).json(body).send();
    let responses = join_all(bodies.iter().map(patch)).await;
    let mut statuses: Vec<_> = responses.iter().map(|response| response.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![200], vec![412; 9]].concat());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_requests_create_only_one_posting_for_a_role() {
    let api = TestApi::new().await;
    let id = api.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    let responses =
        join_all((0..10).map(|_| api.post("/api/v1/job_postings", json!({ "role_id": id })))).await;
    assert_eq!(responses.iter().filter(|response| response.status == 201).count(), 1);
    assert_eq!(responses.iter().filter(|response| response.status == 422).count(), 9);
    assert_eq!(api.get("/api/v1/job_postings").await.body["data"].as_array().map(Vec::len), Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_quick_posts_with_the_same_title_get_different_slugs() {
    let api = TestApi::new().await;
    let body = json!({ "role": { "title": "Engineer" } });
    let responses = join_all((0..12).map(|_| api.post("/api/v1/quick_post", body.clone()))).await;
    let mut slugs: Vec<_> =
        responses.iter().map(|response| response.string("/job_posting/slug").to_owned()).collect();
    slugs.sort_unstable();
    slugs.dedup();
    assert_eq!(slugs.len(), 12, "{slugs:?}");
}

/// A posting must never be live while its role is closed, regardless of which request comes first.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn closing_and_publishing_concurrently_leaves_no_live_posting() {
    let api = TestApi::new().await;
    for _ in 0..20 {
        let body = json!({ "role": { "title": "x" }, "publish": false });
        let posted = api.post("/api/v1/quick_post", body).await.expect(201);
        let role = format!("/api/v1/roles/{}", posted.number("/role/id"));
        let posting = format!("/api/v1/job_postings/{}", posted.number("/job_posting/id"));
        let publish = format!("{posting}/publish");
        let (closed, _) = join(api.delete(&role), api.request(Method::POST, &publish).send()).await;
        closed.expect(200);
        assert_eq!(api.get(&posting).await.body["published"], false);
    }
}

/// A request about the candidate: the action and its body.
type Step = (&'static str, Value);

/// Creates a candidate with an active application in `interview` for each of the roles.
async fn create_interviewee(api: &TestApi, roles: [u64; 2]) -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let email = format!("jane{}@example.com", NUMBER.fetch_add(1, Ordering::Relaxed));
    let jane = json!({ "name": "Jane", "email": email, "role_id": roles[0] });
    let id = api.post("/api/v1/candidates", jane).await.expect(201).number("/id");
    let path = format!("/api/v1/candidates/{id}");
    api.post(&format!("{path}/applications"), json!({ "role_id": roles[1] })).await.expect(201);
    api.post(&format!("{path}/advance"), json!({ "stage": "interview" })).await.expect(200);
    path
}

/// Returns the state of a candidate after the tasks have run, with the results of two requests.
async fn outcome(api: &TestApi, path: &str, [one, two]: [&Response; 2]) -> Value {
    let result = |response: &Response| json!([response.status, response.body["code"]]);
    api.run_tasks().await;
    let detail = api.get(path).await.expect(200).body;
    let applications = detail["applications"].as_array().unwrap().iter();
    let applications: Vec<_> =
        applications.map(|one| json!([one["role_id"], one["stage"], one["status"]])).collect();
    let screens = detail["voice_screens"].as_array().unwrap().iter();
    let screens: Vec<_> = screens.map(|one| json!([one["role_id"], one["status"]])).collect();
    let touchpoints = detail["touchpoints"].as_array().unwrap().iter();
    let mut history: Vec<_> = touchpoints
        .map(|one| {
            let mut entry = one["detail"].clone();
            // The identifiers of screens differ between candidates.
            entry.as_object_mut().unwrap().remove("screen_id");
            format!("{}{entry}", one["kind"])
        })
        .collect();
    // The identifiers of applications differ between candidates.
    history.retain(|entry| !entry.contains("applied\"") || entry.contains("stage"));
    json!([result(one), result(two), detail["stage"], applications, screens, history])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_moves_of_a_person_have_the_outcome_of_some_order() {
    let api = TestApi::new().await;
    let mut roles = [0; 2];
    for role in &mut roles {
        let posted = api.post("/api/v1/quick_post", json!({ "role": { "title": "x" } })).await;
        *role = posted.expect(201).number("/role/id");
    }
    let [first, second] = roles;
    let screen = json!({ "role_id": first, "scheduled_at": "2026-11-21T09:00:00Z" });
    let pairs: [[Step; 2]; 9] = [
        [
            ("advance", json!({ "stage": "offer", "role_id": first })),
            ("advance", json!({ "stage": "screening", "role_id": second })),
        ],
        [("hire", json!({ "role_id": first })), ("reject", json!({ "role_id": second }))],
        [("hire", json!({ "role_id": first })), ("reject", json!({}))],
        [("hire", json!({})), ("reject", json!({}))],
        [("hire", json!({})), ("hire", json!({}))],
        [("advance", json!({ "stage": "offer" })), ("reject", json!({ "role_id": second }))],
        [("invite_screen", screen.clone()), ("reject", json!({ "role_id": first }))],
        [("invite_screen", screen.clone()), ("hire", json!({ "role_id": first }))],
        [("invite_screen", screen.clone()), ("invite_screen", screen)],
    ];
    for [one, two] in &pairs {
        let send = async |path: &str, (action, body): &Step| {
            api.post(&format!("{path}/{action}"), body.clone()).await
        };
        let path = create_interviewee(&api, roles).await;
        let (first, second) = (send(&path, one).await, send(&path, two).await);
        let in_order = outcome(&api, &path, [&first, &second]).await;
        let path = create_interviewee(&api, roles).await;
        let (second, first) = (send(&path, two).await, send(&path, one).await);
        let reversed = outcome(&api, &path, [&first, &second]).await;
        for _ in 0..5 {
            let path = create_interviewee(&api, roles).await;
            let (first, second) = join(send(&path, one), send(&path, two)).await;
            let actual = outcome(&api, &path, [&first, &second]).await;
            assert!(actual == in_order || actual == reversed, "{one:?} {two:?}: {actual}");
        }
    }
}

/// Twelve people apply, move and are invited to voice screens while the role is closed and reopened. A minute later, lists
/// and statistics agree with the details, and only active applications have a screen that is still scheduled.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_role_that_is_closed_and_reopened_during_moves_has_correct_lists_within_a_minute() {
    let api = TestApi::new().await;
    let role = api.post("/api/v1/roles", json!({ "title": "x" })).await.expect(201).number("/id");
    let role_path = format!("/api/v1/roles/{role}");
    let transition = async |step: &str| {
        let response = match step {
            "close" => api.delete(&role_path).await,
            _ => api.post(&format!("{role_path}/{step}"), json!({})).await,
        };
        response.expect(200);
    };
    transition("publish").await;
    let mut people = Vec::new();
    for number in 0..12 {
        let mut jane = json!({ "name": "Jane", "email": format!("jane{number}@example.com") });
        if number % 2 == 0 {
            jane["role_id"] = json!(role);
        }
        let id = api.post("/api/v1/candidates", jane).await.expect(201).number("/id");
        people.push(format!("/api/v1/candidates/{id}"));
    }
    // The others may all be invited while the role is closed.
    api.post(
        &format!("{}/invite_screen", people[0]),
        json!({ "role_id": role, "scheduled_at": "2026-11-21T09:00:00Z" }),
    )
    .await
    .expect(201);
    let mut cancelled = 0;
    for (round, last) in
        [["close", "reopen"].as_slice(), &["close"], &["reopen", "publish"]].iter().enumerate()
    {
        let moves = people.iter().enumerate().map(|(number, path)| {
            let api = &api;
            async move {
                let stage = ["screening", "interview", "offer", "applied"][(number + round) % 4];
                for (action, body) in [
                    ("applications", json!({ "role_id": role })),
                    ("advance", json!({ "stage": stage, "role_id": role })),
                    ("invite_screen", json!({ "role_id": role, "scheduled_at": "2026-11-21T09:00:00Z" })),
                    ("reject", json!({ "role_id": role })),
                    ("unreject", json!({ "role_id": role })),
                ] {
                    let response = api.post(&format!("{path}/{action}"), body).await;
                    assert!([200, 201, 422].contains(&response.status), "{}", response.text);
                }
            }
        });
        let transitions = async {
            for step in *last {
                transition(step).await;
            }
        };
        join(join_all(moves), transitions).await;
        api.clock.set(&format!("2026-11-20T09:{}:00Z", 31 + round));
        api.run_tasks().await;

        let is_closed = api.get(&role_path).await.expect(200).string("/status") == "closed";
        let mut expected: BTreeMap<(String, String), BTreeSet<u64>> = BTreeMap::new();
        for path in &people {
            let detail = api.get(path).await.expect(200);
            let screens = detail.body["voice_screens"].as_array().unwrap();
            let unfinished = screens.iter().filter(|screen| screen["status"] != "cancelled").count();
            assert!(unfinished <= usize::from(!is_closed), "{}", detail.text);
            cancelled += screens.len() - unfinished;
            for application in detail.body["applications"].as_array().unwrap() {
                let of = |name: &str| application[name].as_str().unwrap().to_owned();
                let (stage, status) = (of("stage"), of("status"));
                assert_eq!(status == "closed", is_closed && stage != "rejected", "{}", detail.text);
                for (name, value) in [("stage", stage), ("status", status)] {
                    let ids = expected.entry((name.to_owned(), value)).or_default();
                    ids.insert(application["id"].as_u64().unwrap());
                }
            }
        }
        let stats = api.get(&format!("{role_path}/stats")).await.expect(200);
        for (name, values) in [
            ("stage", ["applied", "screening", "interview", "offer", "rejected"].as_slice()),
            ("status", &["active", "closed", "rejected"]),
        ] {
            for value in values {
                let listed =
                    api.get(&format!("/api/v1/applications?limit=100&role_id={role}&{name}={value}")).await;
                let listed = listed.expect(200).body["data"].as_array().unwrap().clone();
                let ids: BTreeSet<_> = listed.iter().map(|one| one["id"].as_u64().unwrap()).collect();
                let expected = expected.remove(&(name.to_owned(), (*value).to_owned())).unwrap_or_default();
                assert_eq!(ids, expected, "{name} {value}");
                if name == "stage" && (*value == "rejected" || !is_closed) {
                    assert_eq!(stats.number(&format!("/stages/{value}/now")), ids.len() as u64, "{value}");
                }
            }
        }
        assert!(expected.is_empty(), "{expected:?}");
    }
    assert!(cancelled > 0);
}
