//! The API for voice screens: invitations, simulated conversations, lists.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::config::Services;
use shared::model::{Mode, Scope, Scopes, Tenant};
use tests::interceptor::Fault;
use tests::{ACME, BASE_URL, GLOBEX, RequestBuilder, Response, TestApi, key_actor, tenant};

use crate::access::new_key;

/// The role's title.
pub(super) const TITLE: &str = "Platform Engineer";
/// The role's description.
pub(super) const DESCRIPTION: &str = "You will run **PostgreSQL** and the Kubernetes clusters.";
/// The candidate's name.
pub(super) const NAME: &str = "Ada Lovelace";
/// The candidate's phone number.
pub(super) const PHONE: &str = "+4915112345678";

/// A client of the API with one tenant's key.
#[derive(Clone, Copy)]
pub(super) struct Client<'w> {
    api: &'w TestApi,
    demo: usize,
    mode: Mode,
}

/// A candidate who was invited to a screen for a role.
#[derive(Clone, Copy)]
pub(super) struct Invited {
    pub(super) role: u64,
    pub(super) candidate: u64,
    pub(super) screen: u64,
}

impl<'w> Client<'w> {
    /// A client with Acme's live key.
    pub(super) fn live(api: &'w TestApi) -> Self {
        Self { api, demo: ACME, mode: Mode::Live }
    }

    /// A client with Acme's test key.
    pub(super) fn test(api: &'w TestApi) -> Self {
        Self { api, demo: ACME, mode: Mode::Test }
    }

    /// A client with the live key of Globex.
    pub(super) fn globex(api: &'w TestApi) -> Self {
        Self { api, demo: GLOBEX, mode: Mode::Live }
    }

    /// The tenant of the key.
    pub(super) fn tenant(&self) -> Tenant {
        tenant(self.demo, self.mode)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder<'w> {
        self.api.request(method, &format!("/api/v1/{path}")).key(self.demo, self.mode)
    }

    /// Sends a GET to a path below `/api/v1/`.
    pub(super) async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path).send().await
    }

    /// Sends a POST to a path below `/api/v1/`.
    pub(super) async fn post(&self, path: &str, body: Value) -> Response {
        self.request(Method::POST, path).json(&body).send().await
    }

    /// Creates an open role.
    pub(super) async fn role(&self) -> u64 {
        let role = json!({ "title": TITLE, "description": DESCRIPTION });
        self.post("quick_post", json!({ "role": role })).await.expect(201).number("/role/id")
    }

    /// Creates a candidate with a phone number.
    pub(super) async fn candidate(&self) -> u64 {
        static CANDIDATES: AtomicU64 = AtomicU64::new(0);
        let number = CANDIDATES.fetch_add(1, Ordering::Relaxed);
        let email = format!("ada{number}@example.com");
        // A number is called only a few times a day.
        let phone = format!("+49 1511 234{:04}", number % 10_000);
        let body = json!({ "name": NAME, "email": email, "phone": phone });
        self.post("candidates", body).await.expect(201).number("/id")
    }

    /// The consent that an invitation needs if the calls are real, otherwise `null`.
    pub(super) fn consent(&self) -> Value {
        let voice = self.api.environment.providers.voice(self.mode);
        if !voice.is_some_and(|voice| voice.needs_consent) {
            return Value::Null;
        }
        json!({ "obtained_at": "2026-11-20T09:00:00Z", "wording": "An AI may call me and record the call." })
    }

    /// Invites a candidate to a screen for a role.
    pub(super) async fn invite(&self, candidate: u64, role: u64) -> Response {
        let body = json!({ "role_id": role, "consent": self.consent() });
        self.post(&format!("candidates/{candidate}/invite_screen"), body).await
    }

    /// Invites a candidate to a screen at this time.
    pub(super) async fn invite_at(&self, candidate: u64, role: u64, time: impl Into<Value>) -> Response {
        let body = json!({ "role_id": role, "scheduled_at": time.into(), "consent": self.consent() });
        self.post(&format!("candidates/{candidate}/invite_screen"), body).await
    }

    /// Creates a candidate and a role, and invites the candidate to a screen.
    pub(super) async fn invited(&self) -> Invited {
        let (role, candidate) = (self.role().await, self.candidate().await);
        let screen = self.invite(candidate, role).await.expect(201).number("/id");
        Invited { role, candidate, screen }
    }

    /// The details of a screen.
    pub(super) async fn screen(&self, id: u64) -> Value {
        self.get(&format!("voice_screens/{id}")).await.expect(200).body
    }

    /// The statistics of a role.
    pub(super) async fn stats(&self, role: u64) -> Value {
        self.get(&format!("roles/{role}/stats")).await.expect(200).body
    }

    /// The details of a candidate.
    pub(super) async fn page(&self, candidate: u64) -> Value {
        self.get(&format!("candidates/{candidate}")).await.expect(200).body
    }

    /// The kinds of the candidate's touchpoints, newest first.
    pub(super) async fn history(&self, candidate: u64) -> Vec<String> {
        let page = self.page(candidate).await;
        let touchpoints = page["touchpoints"].as_array().unwrap().iter();
        touchpoints.map(|touchpoint| touchpoint["kind"].as_str().unwrap().to_owned()).collect()
    }
}

fn ids(list: &Response) -> Vec<u64> {
    list.body["data"].as_array().unwrap().iter().map(|screen| screen["id"].as_u64().unwrap()).collect()
}

/// The fields of a screen in a list.
fn listed(detail: &Value) -> Value {
    let mut screen = detail.clone();
    for name in ["transcript", "highlights", "red_flags", "assessment"] {
        assert!(screen.as_object_mut().unwrap().remove(name).is_some(), "{name}");
    }
    screen
}

#[tokio::test]
async fn invitation_returns_the_screen_and_moves_a_new_candidate_to_screening() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let (role, candidate) = (client.role().await, client.candidate().await);
    api.clock.set("2026-11-20T09:31:00.900Z");
    let invited = client.invite(candidate, role).await.expect(201);
    let id = invited.number("/id");
    let no_scores = json!({ "overall": null, "communication": null, "experience": null, "motivation": null });
    let expected = json!({
        "id": id, "candidate_id": candidate, "role_id": role, "status": "queued", "scheduled_at": null,
        "started_at": null, "completed_at": null, "duration_seconds": null, "summary": null, "scores": no_scores,
        "result": null, "review": null, "created_at": "2026-11-20T09:31:00.900Z", "updated_at": "2026-11-20T09:31:00.900Z",
    });
    assert_eq!(invited.body, expected);
    assert_eq!(invited.header("location"), format!("{BASE_URL}/api/v1/voice_screens/{id}"));

    let shown = client.screen(id).await;
    assert_eq!(listed(&shown), expected);
    for list in ["transcript", "highlights", "red_flags"] {
        assert_eq!(shown[list], json!([]), "{list}");
    }
    assert_eq!(client.get("voice_screens").await.expect(200).body["data"], json!([expected]));

    let page = client.page(candidate).await;
    assert_eq!((&page["stage"], &page["voice_screens"]), (&json!("screening"), &json!([expected])));
    assert_eq!(client.history(candidate).await, ["stage_changed", "screen_invited", "created"]);
    let detail = |index: usize| {
        let touchpoint = &page["touchpoints"][index];
        assert_eq!(touchpoint["actor"], key_actor(ACME, Mode::Live));
        assert_eq!(touchpoint["at"], "2026-11-20T09:31:00.900Z");
        touchpoint["detail"].clone()
    };
    assert_eq!(detail(0), json!({ "role_id": null, "from": "applied", "to": "screening" }));
    assert_eq!(detail(1), json!({ "screen_id": id, "role_id": role, "scheduled_at": null }));
    assert_eq!(client.stats(role).await["screens"], 1);
}

#[tokio::test]
async fn invitation_keeps_later_stages_and_is_refused_after_hire_or_rejection() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let role = client.role().await;
    for stage in ["screening", "interview", "offer"] {
        let candidate = client.candidate().await;
        let path = format!("candidates/{candidate}/advance");
        client.post(&path, json!({ "stage": stage })).await.expect(200);
        client.invite(candidate, role).await.expect(201);
        assert_eq!(client.page(candidate).await["stage"], stage);
        assert_eq!(client.history(candidate).await, ["screen_invited", "stage_changed", "created"]);
    }
    for (end, stage) in [("hire", "hired"), ("reject", "rejected")] {
        let candidate = client.candidate().await;
        client.post(&format!("candidates/{candidate}/{end}"), json!({})).await.expect(200);
        let refused = client.invite(candidate, role).await.expect(422);
        assert_eq!(refused.string("/code"), "invalid_transition");
        assert_eq!(refused.messages(), [format!("stage cannot go from {stage} to screening")]);
        assert_eq!(client.page(candidate).await["voice_screens"], json!([]));
    }
    assert_eq!(client.stats(role).await["screens"], 3);
}

#[tokio::test]
async fn invitation_needs_an_open_or_paused_role_of_the_tenant() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let candidate = client.candidate().await;
    let draft = client.post("roles", json!({ "title": "x" })).await.expect(201).number("/id");
    let closed = client.role().await;
    api.delete(&format!("/api/v1/roles/{closed}")).await.expect(200);
    let paused = client.role().await;
    client.post(&format!("roles/{paused}/pause"), json!({})).await.expect(200);
    for (role, message) in [
        (draft, "role_id must be the id of an open or paused role, but this one is draft"),
        (closed, "role_id must be the id of an open or paused role, but this one is closed"),
        (1, "role_id must be the id of a role"),
        (Client::globex(&api).role().await, "role_id must be the id of a role"),
        (Client::test(&api).role().await, "role_id must be the id of a role"),
    ] {
        let refused = client.invite(candidate, role).await.expect(422);
        assert_eq!((refused.string("/code"), refused.messages()), ("validation_failed", vec![message]));
    }
    assert_eq!(client.history(candidate).await, ["created"]);
    client.invite(candidate, paused).await.expect(201);
}

#[tokio::test]
async fn scheduled_time_is_in_the_future_and_within_90_days() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let candidate = client.candidate().await;
    for (time, shown) in [
        ("2026-11-20T09:30:01.000Z", "2026-11-20T09:30:01.000Z"),
        ("2026-11-20T11:30:00.5+01:00", "2026-11-20T10:30:00.500Z"),
        ("2026-11-20t11:30:00z", "2026-11-20T11:30:00.000Z"),
        ("2027-02-18T09:30:00.000Z", "2027-02-18T09:30:00.000Z"),
    ] {
        let role = client.role().await;
        let screen = client.invite_at(candidate, role, time).await.expect(201);
        assert_eq!((screen.string("/status"), screen.string("/scheduled_at")), ("scheduled", shown));
    }
    let role = client.role().await;
    let format = "scheduled_at must be a time, such as 2026-11-20T09:30:00.000Z";
    for (time, message) in [
        (json!("2026-11-20T09:29:59.000Z"), "scheduled_at must be in the future"),
        (json!("2026-11-20T09:30:00.000Z"), "scheduled_at must be in the future"),
        (json!("1969-12-31T00:00:00.000Z"), "scheduled_at must be in the future"),
        (json!("2027-02-18T09:30:01.000Z"), "scheduled_at must be within 90 days"),
        (json!("2027-02-19T09:30:00.000Z"), "scheduled_at must be within 90 days"),
        (json!("9999-12-30T00:00:00.000Z"), "scheduled_at must be within 90 days"),
        (json!("tomorrow"), format),
        (json!("2026-11-21"), format),
        (json!("2026-11-21T09:30:00"), format),
        (json!("99999-01-01T00:00:00.000Z"), format),
        // ISO 8601 allows these forms, but RFC 3339 does not.
        (json!("20261130T100000Z"), format),
        (json!("2026-11-30T10Z"), format),
        (json!("2026-11-30T10:00Z"), format),
        (json!("2026-11-30 10:00:00Z"), format),
        (json!("2026-11-30T10:00:00+02"), format),
        (json!("2026-11-30T10:00:00,5Z"), format),
        (json!("2026-11-30T10:00:00.Z"), format),
        (json!("2026-11-30T10:00:00+02:00[Europe/Berlin]"), format),
    ] {
        let refused = client.invite_at(candidate, role, time.clone()).await.expect(422);
        assert_eq!(refused.messages(), [message], "{time}");
    }
    for time in [json!(5), json!(true), json!([]), json!({})] {
        let refused = client.invite_at(candidate, role, time.clone()).await.expect(422);
        assert!(refused.messages()[0].starts_with("scheduled_at must be "), "{time}");
    }
    client.invite_at(candidate, role, Value::Null).await.expect(201);
}

#[tokio::test]
async fn invitation_reports_all_errors_together() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let candidate = client.candidate().await;
    let draft = client.post("roles", json!({ "title": "x" })).await.expect(201).number("/id");
    let path = format!("candidates/{candidate}/invite_screen");
    let not_ready = "role_id must be the id of an open or paused role, but this one is draft";
    for (body, messages) in [
        (json!({}), &["role_id can't be blank"][..]),
        (
            json!({ "scheduled_at": "soon", "at": 1 }),
            &[
                "role_id can't be blank",
                "scheduled_at must be a time, such as 2026-11-20T09:30:00.000Z",
                "at is not a known field",
            ],
        ),
        (
            json!({ "role_id": draft, "scheduled_at": "2026-11-20T09:30:00Z" }),
            &[not_ready, "scheduled_at must be in the future"],
        ),
        (
            json!({ "role_id": 1, "scheduled_at": "2030-01-01T00:00:00Z" }),
            &["role_id must be the id of a role", "scheduled_at must be within 90 days"],
        ),
    ] {
        let mut refused = client.post(&path, body.clone()).await.expect(422);
        refused.body["messages"].as_array_mut().unwrap().sort_by_key(|message| {
            messages.iter().position(|expected| message == expected).unwrap_or(usize::MAX)
        });
        assert_eq!(refused.messages(), messages, "{body}");
    }
    for body in [json!({}), json!({ "role_id": draft })] {
        client.post("candidates/1/invite_screen", body).await.expect(404);
    }
}

#[tokio::test]
async fn candidate_has_at_most_one_unfinished_screen_per_role() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let Invited { role, candidate, .. } = client.invited().await;
    let refused = client.invite(candidate, role).await.expect(422);
    assert_eq!(
        refused.messages(),
        ["role_id is a role for which the candidate already has an unfinished voice screen"]
    );
    client.invite(candidate, client.role().await).await.expect(201);
    client.invite(client.candidate().await, role).await.expect(201);
    api.run_tasks().await;
    client.invite(candidate, role).await.expect(201);
    assert_eq!(client.stats(role).await["screens"], 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_one_concurrent_invitation_succeeds() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let role = client.role().await;
    for _ in 0..5 {
        let candidate = client.candidate().await;
        let responses = join_all((0..6).map(|_| client.invite(candidate, role))).await;
        let mut statuses: Vec<_> = responses.iter().map(|response| response.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [vec![201], vec![422; 5]].concat());
        let page = client.page(candidate).await;
        assert_eq!(page["voice_screens"].as_array().unwrap().len(), 1);
        assert_eq!(client.history(candidate).await, ["stage_changed", "screen_invited", "created"]);
    }
    assert_eq!(client.stats(role).await["screens"], 5);
}

#[tokio::test]
async fn repeated_invitation_creates_one_screen() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let (role, candidate) = (client.role().await, client.candidate().await);
    let invite = || {
        let request = client.request(Method::POST, &format!("candidates/{candidate}/invite_screen"));
        request.header("idempotency-key", "k").json(&json!({ "role_id": role })).send()
    };
    let first = invite().await.expect(201);
    api.run_tasks().await;
    let again = invite().await.expect(201);
    assert_eq!((again.header("idempotency-replayed"), &again.body), ("true", &first.body));
    assert_eq!(client.stats(role).await["screens"], 1);
}

#[tokio::test]
async fn only_test_keys_can_invite_without_a_voice_provider() {
    let api = TestApi::with_services(Services::default()).await;
    let live = Client::live(&api);
    let (role, candidate) = (live.role().await, live.candidate().await);
    let refused = live.invite(candidate, role).await.expect(422);
    assert_eq!(refused.string("/code"), "channel_not_connected");
    assert_eq!(refused.messages(), ["voice calls are not set up: no voice provider is configured"]);
    assert_eq!(live.history(candidate).await, ["created"]);
    let test = Client::test(&api);
    let screen = test.invited().await.screen;
    api.run_tasks().await;
    assert_eq!(test.screen(screen).await["status"], "completed");
}

#[tokio::test]
async fn simulator_needs_no_phone_number() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let body = json!({ "name": "Jo", "email": "jo@example.com" });
    let candidate = client.post("candidates", body).await.expect(201).number("/id");
    client.invite(candidate, client.role().await).await.expect(201);
}

#[tokio::test]
async fn requests_stay_within_their_call_budgets() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let (role, candidate) = (client.role().await, client.candidate().await);
    let cost = async |request: RequestBuilder<'_>, status: u16| {
        api.dynamodb.take_calls();
        request.header("idempotency-key", "k").send().await.expect(status);
        let operations: Vec<_> = api.dynamodb.take_calls().into_iter().map(|call| call.operation).collect();
        operations.join(" ")
    };
    let path = format!("candidates/{candidate}/invite_screen");
    let invite = client.request(Method::POST, &path).json(&json!({ "role_id": role }));
    assert_eq!(cost(invite, 201).await, "UpdateItem Query GetItem TransactWriteItems");
    api.run_tasks().await;
    for query in ["", "?status=completed", "?limit=1", &format!("?role_id={role}&status=completed")] {
        let list = client.request(Method::GET, &format!("voice_screens{query}"));
        assert_eq!(cost(list, 200).await, "UpdateItem Query Query", "{query}");
    }
    let screen = ids(&client.get("voice_screens").await)[0];
    let show = client.request(Method::GET, &format!("voice_screens/{screen}"));
    assert_eq!(cost(show, 200).await, "UpdateItem Query Query", "unfinished erasures, and the screen");
}

/// Checks that a completed screen is consistent. Returns whether the candidate passed, and the number of red flags.
fn check_completed(screen: &Value) -> (bool, usize) {
    let turns = screen["transcript"].as_array().unwrap();
    assert!(turns.len() >= 8, "{screen}");
    let speaker = |index: usize| turns[index]["speaker"].as_str().unwrap();
    let text = |index: usize| turns[index]["text"].as_str().unwrap();
    assert!(speaker(0) == "agent" && text(0).contains(TITLE) && text(0).contains("Ada"), "{}", text(0));
    let at: Vec<_> = turns.iter().map(|turn| turn["at_seconds"].as_u64().unwrap()).collect();
    assert!(at.is_sorted(), "{at:?}");
    for list in ["highlights", "red_flags"] {
        for excerpt in screen[list].as_array().unwrap() {
            let turn = usize::try_from(excerpt["turn"].as_u64().unwrap()).unwrap();
            assert_eq!(speaker(turn), "candidate");
            assert!(text(turn).contains(excerpt["text"].as_str().unwrap()), "{excerpt} {}", text(turn));
        }
    }
    let score = |name: &str| {
        let score = screen["scores"][name].as_u64().unwrap();
        assert!(score <= 100, "{name}: {score}");
        score
    };
    for name in ["communication", "experience", "motivation"] {
        score(name);
    }
    let passed = score("overall") >= 70;
    assert_eq!(screen["result"], if passed { "passed" } else { "failed" });
    assert!(screen["summary"].as_str().unwrap().contains(NAME));
    let duration = screen["duration_seconds"].as_u64().unwrap();
    assert!(duration >= *at.last().unwrap() && duration <= 600, "{duration}");
    (passed, screen["red_flags"].as_array().unwrap().len())
}

#[tokio::test]
async fn simulated_screens_are_consistent_and_counted() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let role = client.role().await;
    let mut screens = Vec::new();
    for _ in 0..20 {
        let candidate = client.candidate().await;
        screens.push((candidate, client.invite(candidate, role).await.expect(201).number("/id")));
    }
    api.clock.set("2026-11-20T09:30:05Z");
    assert_eq!(api.run_tasks().await, tasks::Summary { tasks: 20, oldest: 5, ..Default::default() });

    let (mut passed, mut red_flags, mut total) = (0_u32, 0, 0);
    for (candidate, id) in screens {
        let screen = client.screen(id).await;
        assert_eq!(screen["status"], "completed");
        assert_eq!(screen["started_at"], "2026-11-20T09:30:05.000Z");
        assert_eq!(screen["completed_at"], "2026-11-20T09:30:05.000Z", "the time is not in the future");
        let (pass, flags) = check_completed(&screen);
        passed += u32::from(pass);
        red_flags += flags;
        total += u32::try_from(screen["scores"]["overall"].as_u64().unwrap()).unwrap();

        let page = client.page(candidate).await;
        assert_eq!(page["voice_screens"], json!([listed(&screen)]));
        let completed = &page["touchpoints"][0];
        assert_eq!(
            (&completed["kind"], &completed["actor"]),
            (
                &json!("screen_completed"),
                &json!({ "type": "voice_provider", "id": null, "name": "voice provider" })
            )
        );
        let detail = json!({ "screen_id": id, "role_id": role, "result": screen["result"] });
        assert_eq!((&completed["detail"], &completed["at"]), (&detail, &json!("2026-11-20T09:30:05.000Z")));
        assert_eq!(page["touchpoints"].as_array().unwrap().len(), 4);
        assert_eq!(page["stage"], "screening", "a result does not change the stage");
    }
    assert!(red_flags > 0 && passed > 0 && passed < 20, "{red_flags} red flags, {passed} passed");
    let stats = client.stats(role).await;
    assert_eq!((&stats["screens"], &stats["screens_completed"]), (&json!(20), &json!(20)));
    assert_eq!(stats["pass_rate"], json!(f64::from(passed) / 20.0));
    assert_eq!(stats["average_score"], json!(f64::from(total) / 20.0));

    let before = client.get("voice_screens").await.text;
    api.clock.set("2026-11-22T00:00:00Z");
    assert_eq!(api.run_tasks().await, tasks::Summary::default(), "no tasks remain");
    assert_eq!(client.get("voice_screens").await.text, before);
}

#[tokio::test]
async fn same_candidate_and_role_get_the_same_conversation() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let Invited { role, candidate, screen } = client.invited().await;
    api.run_tasks().await;
    api.clock.set("2026-11-21T17:00:00Z");
    let again = client.invite(candidate, role).await.expect(201).number("/id");
    let other = client.invite(client.candidate().await, role).await.expect(201).number("/id");
    api.run_tasks().await;
    let [first, again, other] =
        [client.screen(screen).await, client.screen(again).await, client.screen(other).await];
    for name in ["transcript", "highlights", "red_flags", "scores", "summary", "result", "duration_seconds"] {
        assert_eq!(first[name], again[name], "{name}");
    }
    assert_ne!(first["transcript"], other["transcript"]);
    assert_eq!(again["started_at"], "2026-11-21T17:00:00.000Z");
}

#[tokio::test]
async fn scheduled_screen_starts_at_its_time() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let (role, candidate) = (client.role().await, client.candidate().await);
    let invited = client.invite_at(candidate, role, "2026-11-22T10:30:00Z").await.expect(201);
    let id = invited.number("/id");
    for time in ["2026-11-20T09:30:00.000Z", "2026-11-22T10:29:59.000Z"] {
        api.clock.set(time);
        assert_eq!(api.run_tasks().await, tasks::Summary::default());
        assert_eq!(listed(&client.screen(id).await), invited.body);
    }
    api.clock.set("2026-11-22T10:30:00Z");
    api.run_tasks().await;
    let screen = client.screen(id).await;
    assert_eq!(
        (&screen["status"], &screen["started_at"]),
        (&json!("completed"), &json!("2026-11-22T10:30:00.000Z"))
    );
    assert_eq!(screen["scheduled_at"], "2026-11-22T10:30:00.000Z");
}

/// If DynamoDB throttles one of the simulator's callbacks, the next run repeats the call.
#[tokio::test]
async fn simulated_screen_survives_throttling() {
    for throttled_key in ["#SCREEN#in_progress", "#SCREEN#completed"] {
        let api = TestApi::new().await;
        let client = Client::live(&api);
        let invited = client.invited().await;
        api.dynamodb.inject_faults(move |operation, request| {
            let write = operation == "TransactWriteItems" && request.to_string().contains(throttled_key);
            write.then_some(Fault::Throttled)
        });
        api.run_tasks().await;
        assert_ne!(client.screen(invited.screen).await["status"], "completed");
        api.dynamodb.inject_faults(|_, _| None);
        api.clock.set("2026-11-20T09:31:00Z");
        api.run_tasks().await;
        let screen = client.screen(invited.screen).await;
        assert_eq!(screen["status"], "completed", "{throttled_key}: {screen}");
        check_completed(&screen);
        assert_eq!(client.stats(invited.role).await["screens_completed"], 1);
    }
}

#[tokio::test]
async fn list_can_be_filtered_by_role_and_status_and_paginated() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let roles = [client.role().await, client.role().await];
    let mut screens = Vec::new();
    for round in 0..4 {
        for role in roles {
            let candidate = client.candidate().await;
            let invited = match round {
                0 | 1 => client.invite(candidate, role).await,
                _ => client.invite_at(candidate, role, "2026-12-01T00:00:00Z").await,
            };
            screens.insert(
                0,
                (
                    invited.expect(201).number("/id"),
                    role,
                    ["completed", "queued", "scheduled", "scheduled"][round],
                ),
            );
        }
        if round == 0 {
            api.run_tasks().await;
        }
        api.clock.set(&format!("2026-11-20T09:4{round}:00Z"));
    }
    let roles = [None, Some(roles[0]), Some(roles[1])];
    let statuses = [
        None,
        Some("queued"),
        Some("scheduled"),
        Some("in_progress"),
        Some("completed"),
        Some("no_answer"),
        Some("failed"),
        Some("cancelled"),
        Some("declined"),
    ];
    for (role, status) in roles.into_iter().flat_map(|role| statuses.map(|status| (role, status))) {
        let expected: Vec<_> = screens
            .iter()
            .filter(|screen| {
                role.is_none_or(|role| role == screen.1) && status.is_none_or(|status| status == screen.2)
            })
            .map(|screen| screen.0)
            .collect();
        let filters =
            [role.map(|role| format!("&role_id={role}")), status.map(|status| format!("&status={status}"))];
        let filters: String = filters.into_iter().flatten().collect();
        for limit in [1, 3, 100] {
            let mut path = format!("voice_screens?limit={limit}{filters}");
            let mut found = Vec::new();
            loop {
                let page = client.get(&path).await.expect(200);
                found.extend(ids(&page));
                let Some(cursor) = page.body["next_cursor"].as_str() else { break };
                assert!(page.header("link").contains("rel=\"next\""));
                path = format!("voice_screens?limit={limit}{filters}&cursor={cursor}");
            }
            assert_eq!(found, expected, "{limit}{filters}");
        }
    }
    for (id, ..) in &screens {
        let all = client.get("voice_screens").await.body;
        let in_list = all["data"].as_array().unwrap().iter().find(|screen| screen["id"] == *id).unwrap();
        assert_eq!(listed(&client.screen(*id).await), *in_list);
    }

    let cursor = client.get("voice_screens?limit=1&status=scheduled").await.string("/next_cursor").to_owned();
    for other in ["", "&status=queued", &format!("&status=scheduled&role_id={}", roles[1].unwrap())] {
        client.get(&format!("voice_screens?limit=1&cursor={cursor}{other}")).await.expect(400);
    }
    assert_eq!(client.get("voice_screens?role_id=1").await.expect(200).body["data"], json!([]));
    for (query, field) in [
        ("status=done", "status"),
        ("status=", "status"),
        ("role_id=x", "role_id"),
        ("role_id=01", "role_id"),
        ("result=excellent", "result"),
        ("candidate_id=x", "candidate_id"),
    ] {
        let refused = client.get(&format!("voice_screens?{query}")).await.expect(422);
        assert!(refused.messages()[0].starts_with(field), "{query}: {:?}", refused.messages());
    }
}

#[tokio::test]
async fn list_can_be_filtered_by_candidate_and_result() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let roles = [client.role().await, client.role().await];
    let mut screens = Vec::new();
    let mut candidates = Vec::new();
    for _ in 0..8 {
        let candidate = client.candidate().await;
        candidates.push(candidate);
        for role in roles {
            screens.push((client.invite(candidate, role).await.expect(201).number("/id"), candidate, role));
        }
    }
    api.run_tasks().await;
    let open = client.invite(candidates[0], roles[0]).await.expect(201).number("/id");
    screens.push((open, candidates[0], roles[0]));
    let mut results = HashMap::new();
    for (id, ..) in &screens {
        results.insert(*id, client.screen(*id).await["result"].as_str().map(str::to_owned));
    }
    screens.sort_by_key(|(id, ..)| std::cmp::Reverse(*id));
    let expect = |fits: &dyn Fn(&(u64, u64, u64)) -> bool| -> Vec<u64> {
        screens.iter().filter(|screen| fits(screen)).map(|screen| screen.0).collect()
    };
    let all = async |filters: &str| {
        let mut path = format!("voice_screens?limit=2&{filters}");
        let mut found = Vec::new();
        loop {
            let page = client.get(&path).await.expect(200);
            found.extend(ids(&page));
            let Some(cursor) = page.body["next_cursor"].as_str() else { return found };
            path = format!("voice_screens?limit=2&{filters}&cursor={cursor}");
        }
    };
    for candidate in candidates {
        let expected = expect(&|screen| screen.1 == candidate);
        assert_eq!(all(&format!("candidate_id={candidate}")).await, expected);
    }
    for result in ["passed", "failed"] {
        let has_result = |id: u64| results[&id].as_deref() == Some(result);
        let expected = expect(&|screen| has_result(screen.0));
        assert!(!expected.is_empty());
        assert_eq!(all(&format!("result={result}")).await, expected);
        for role in roles {
            let expected = expect(&|screen| has_result(screen.0) && screen.2 == role);
            assert_eq!(all(&format!("role_id={role}&result={result}")).await, expected);
        }
    }
    for (query, messages) in [
        ("status=completed&result=passed", &["status can't be combined with result"][..]),
        (
            "candidate_id=1&role_id=1&status=queued&result=passed",
            &[
                "candidate_id can't be combined with role_id",
                "candidate_id can't be combined with status",
                "candidate_id can't be combined with result",
            ],
        ),
    ] {
        assert_eq!(client.get(&format!("voice_screens?{query}")).await.expect(422).messages(), messages);
    }
    for other in [Client::globex(&api), Client::test(&api)] {
        let candidate = screens[0].1;
        for query in [format!("candidate_id={candidate}"), "result=passed".to_owned()] {
            let list = other.get(&format!("voice_screens?{query}")).await.expect(200);
            assert_eq!(list.body["data"], json!([]));
        }
    }
}

#[tokio::test]
async fn results_are_shown_only_with_the_scope() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let Invited { role, candidate, screen } = client.invited().await;
    api.run_tasks().await;
    let scopes = Scopes::from_iter([Scope::CandidatesRead, Scope::CandidatesWrite]);
    let key = new_key(&api, client.tenant(), 71, scopes, None).await;
    let secret = key.reveal().to_owned();
    let request =
        |method: Method, path: &str| api.request(method, &format!("/api/v1/{path}")).bearer(&secret);
    let shown = client.get(&format!("candidates/{candidate}")).await.expect(200);
    let hidden = request(Method::GET, &format!("candidates/{candidate}")).send().await.expect(200);
    let mut expected = shown.body.clone();
    for name in ["summary", "scores", "result"] {
        assert!(!expected["voice_screens"][0][name].is_null(), "{name}");
        expected["voice_screens"][0][name] = Value::Null;
    }
    assert_eq!(expected["touchpoints"][0]["kind"], "screen_completed");
    assert!(!expected["touchpoints"][0]["detail"]["result"].is_null());
    expected["touchpoints"][0]["detail"]["result"] = Value::Null;
    assert_eq!(hidden.body, expected, "null, and not left out");
    assert_ne!(hidden.header("etag"), shown.header("etag"));
    let patch = request(Method::PATCH, &format!("candidates/{candidate}"));
    let patch = patch.header("if-match", hidden.header("etag")).json(&json!({ "name": "Ada" }));
    patch.send().await.expect(200);
    for path in ["voice_screens".to_owned(), format!("voice_screens/{screen}")] {
        request(Method::GET, &path).send().await.expect(403);
    }

    let path = format!("candidates/{candidate}/invite_screen");
    let body = json!({ "role_id": role });
    let invite =
        async |request: RequestBuilder<'_>| request.header("idempotency-key", "k").json(&body).send().await;
    let invited = invite(request(Method::POST, &path)).await.expect(201);
    assert!(invited.body["scores"].is_null() && invited.body["summary"].is_null());
    let mismatch = invite(client.request(Method::POST, &path)).await.expect(422);
    assert_eq!(mismatch.string("/code"), "idempotency_mismatch", "the stored response is another one");
    invite(request(Method::POST, &path)).await.expect(201);
    let path = format!("voice_screens/{}/cancel", invited.number("/id"));
    let cancelled = request(Method::POST, &path).send().await.expect(200);
    assert!(cancelled.body["summary"].is_null() && cancelled.string("/status") == "cancelled");
}

#[tokio::test]
async fn screens_of_another_tenant_are_not_found() {
    let api = TestApi::new().await;
    let owner = Client::live(&api);
    let Invited { role, candidate, screen } = owner.invited().await;
    for client in [Client::globex(&api), Client::test(&api)] {
        let not_found_body = |response: Response| {
            let mut response = response.expect(404);
            response.body["request_id"].take();
            response.body
        };
        let foreign = not_found_body(client.get(&format!("voice_screens/{screen}")).await);
        for id in ["1", "0", "x", "9007199254740993"] {
            assert_eq!(not_found_body(client.get(&format!("voice_screens/{id}")).await), foreign);
        }
        let own_role = client.role().await;
        assert_eq!(not_found_body(client.invite(candidate, own_role).await), foreign);
        for query in
            ["", "?status=queued", &format!("?role_id={role}"), &format!("?role_id={role}&status=queued")]
        {
            assert_eq!(
                client.get(&format!("voice_screens{query}")).await.expect(200).body["data"],
                json!([])
            );
        }
    }
    assert_eq!(owner.screen(screen).await["status"], "queued");
}

#[tokio::test]
async fn screens_are_read_only() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let screen = client.invited().await.screen;
    for path in ["voice_screens".to_owned(), format!("voice_screens/{screen}")] {
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let response =
                client.request(method.clone(), &path).json(&json!({ "status": "completed" })).send().await;
            assert_eq!(response.expect(405).header("allow"), "GET, HEAD", "{method} {path}");
        }
    }
    client.get(&format!("voice_screens/{screen}?transcript=1")).await.expect(422);
    client.get(&format!("voice_screens/{screen}/transcript")).await.expect(404);
}
