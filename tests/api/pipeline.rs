//! A model-based test of the pipeline. It sends random sequences of all requests that change candidates and roles, and
//! compares every response with a simple model. At the end of each sequence, it also compares stages, applications,
//! touchpoints and stats.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::random::Random;
use tests::TestApi;

const STAGES: [&str; 4] = ["applied", "screening", "interview", "offer"];
/// The number of test APIs, which run sequences in parallel.
const APIS: u64 = 8;
/// The number of sequences for each test API. `PIPELINE_SCALE=10` runs ten times as many.
const SEQUENCES: u64 = 125;
/// The number of sequences that share the same roles.
const SEQUENCES_PER_ROLES: u64 = 25;

#[derive(Clone, Debug, Default)]
struct Role {
    id: u64,
    status: &'static str,
    applicants: u64,
    screens: u64,
}

#[derive(Clone, Debug, Default)]
struct Candidate {
    id: u64,
    name: String,
    stage: &'static str,
    rejected_from: &'static str,
    /// The role's index and the status of each application, oldest first.
    applications: Vec<(usize, &'static str)>,
    /// The indexes of the roles with an unfinished screen.
    open_screens: Vec<usize>,
    /// The kinds of the touchpoints, oldest first.
    touchpoints: Vec<&'static str>,
}

impl Candidate {
    fn is_final(&self) -> bool {
        ["hired", "rejected"].contains(&self.stage)
    }

    fn set_applications(&mut self, from: &str, to: &'static str) {
        for (_, status) in self.applications.iter_mut().filter(|(_, status)| *status == from) {
            *status = to;
        }
    }
}

struct Run<'a> {
    api: &'a TestApi,
    random: Random,
    roles: Vec<Role>,
    candidates: Vec<Candidate>,
    history: Vec<String>,
}

/// The result that the model expects: success, or an error with this code.
type Expected = Result<(), &'static str>;

impl Run<'_> {
    fn below(&self, bound: usize) -> usize {
        usize::try_from(self.random.below(bound as u64)).unwrap()
    }

    async fn send(&mut self, path: &str, body: Value, expected: Expected) -> Value {
        self.history.push(format!("{path} {body}"));
        let method = if path.starts_with("PATCH") { Method::PATCH } else { Method::POST };
        let path = path.trim_start_matches("PATCH ");
        let request = match path.strip_prefix("DELETE ") {
            Some(path) => self.api.request(Method::DELETE, &format!("/api/v1/{path}")),
            None => self.api.request(method, &format!("/api/v1/{path}")).json(&body),
        };
        let response = request.send().await;
        let code = response.body["code"].as_str();
        let is_expected = match expected {
            Ok(()) => response.status < 300,
            Err(expected_code) => response.status == 422 && code == Some(expected_code),
        };
        assert!(is_expected, "expected {expected:?}, got {} after {:#?}", response.text, self.history);
        response.body
    }

    async fn new_roles(&mut self) {
        self.roles.clear();
        for _ in 0..3 {
            let open = self.below(3) > 0;
            let body = json!({ "role": { "title": "x" }, "publish": open });
            let id = self.send("quick_post", body, Ok(())).await["role"]["id"].as_u64().unwrap();
            self.roles.push(Role { id, status: if open { "open" } else { "draft" }, ..Role::default() });
        }
    }

    async fn step(&mut self) {
        match self.below(12) {
            0 => self.create().await,
            1 => self.transition_role().await,
            2 => self.complete_screens().await,
            _ if self.candidates.is_empty() => self.create().await,
            action => self.act(action).await,
        }
    }

    async fn complete_screens(&mut self) {
        if self.candidates.iter().all(|candidate| candidate.open_screens.is_empty()) {
            return;
        }
        self.history.push("tasks".to_owned());
        self.api.run_tasks().await;
        for candidate in &mut self.candidates {
            let done = std::mem::take(&mut candidate.open_screens);
            candidate.touchpoints.extend(done.iter().map(|_| "screen_completed"));
        }
    }

    async fn create(&mut self) {
        let email = format!("{}@example.com", self.random.token(12));
        let role = (self.below(2) == 0).then(|| self.below(3));
        let mut candidate = Candidate { name: "x".to_owned(), stage: "applied", ..Candidate::default() };
        candidate.touchpoints.push("created");
        let mut body = json!({ "name": "x", "email": email });
        let mut expected = Ok(());
        if let Some(role) = role {
            body["role_id"] = json!(self.roles[role].id);
            expected = if self.roles[role].status == "open" { Ok(()) } else { Err("validation_failed") };
        }
        let created = self.send("candidates", body, expected).await;
        if expected.is_err() {
            return;
        }
        if let Some(role) = role {
            candidate.applications.push((role, "active"));
            candidate.touchpoints.push("applied");
            self.roles[role].applicants += 1;
        }
        candidate.id = created["id"].as_u64().unwrap();
        self.candidates.push(candidate);
    }

    async fn transition_role(&mut self) {
        let role = self.below(3);
        let Role { id, status, .. } = self.roles[role];
        let (step, from, to) = [
            ("publish", "draft", "open"),
            ("pause", "open", "paused"),
            ("resume", "paused", "open"),
            ("reopen", "closed", "draft"),
            ("", status, "closed"),
        ][self.below(5)];
        let expected = if from == status { Ok(()) } else { Err("invalid_transition") };
        let path = if step.is_empty() { format!("DELETE roles/{id}") } else { format!("roles/{id}/{step}") };
        self.send(&path, json!({}), expected).await;
        if expected.is_ok() {
            self.roles[role].status = to;
        }
    }

    async fn act(&mut self, action: usize) {
        let index = self.below(self.candidates.len());
        let role = self.below(3);
        let before = self.candidates[index].clone();
        let mut after = before.clone();
        let at = format!("candidates/{}", before.id);
        let transition = |allowed: bool| if allowed { Ok(()) } else { Err("invalid_transition") };
        let (path, body, expected) = match action {
            3 => {
                let name = self.random.token(1);
                if name != before.name {
                    after.touchpoints.push("updated");
                }
                after.name.clone_from(&name);
                (format!("PATCH {at}"), json!({ "name": name }), Ok(()))
            }
            4 | 5 => {
                after.stage = STAGES[self.below(4)];
                after.touchpoints.push("stage_changed");
                let body = json!({ "stage": after.stage });
                (format!("{at}/advance"), body, transition(!before.is_final() && before.stage != after.stage))
            }
            6 => {
                (after.stage, after.rejected_from) = ("rejected", before.stage);
                after.set_applications("active", "rejected");
                after.touchpoints.push("rejected");
                (format!("{at}/reject"), json!({ "reason": "x" }), transition(!before.is_final()))
            }
            7 => {
                after.stage = before.rejected_from;
                after.set_applications("rejected", "active");
                after.touchpoints.push("unrejected");
                (format!("{at}/unreject"), json!({}), transition(before.stage == "rejected"))
            }
            8 => {
                after.stage = "hired";
                after.set_applications("active", "hired");
                after.touchpoints.push("hired");
                (format!("{at}/hire"), json!({}), transition(!before.is_final()))
            }
            9 | 10 => {
                after.applications.push((role, "active"));
                after.touchpoints.push("applied");
                let fresh = before.applications.iter().all(|(applied, _)| *applied != role);
                let allowed = fresh && self.roles[role].status == "open";
                let expected = if allowed { Ok(()) } else { Err("validation_failed") };
                (format!("{at}/applications"), json!({ "role_id": self.roles[role].id }), expected)
            }
            _ => {
                after.open_screens.push(role);
                after.touchpoints.push("screen_invited");
                if before.stage == "applied" {
                    after.stage = "screening";
                    after.touchpoints.push("stage_changed");
                }
                let ready = ["open", "paused"].contains(&self.roles[role].status);
                let expected = if before.open_screens.contains(&role) || !ready {
                    Err("validation_failed")
                } else {
                    transition(!before.is_final())
                };
                (format!("{at}/invite_screen"), json!({ "role_id": self.roles[role].id }), expected)
            }
        };
        self.send(&path, body, expected).await;
        if expected.is_err() {
            return;
        }
        if path.ends_with("/applications") {
            self.roles[role].applicants += 1;
        }
        if path.ends_with("/invite_screen") {
            self.roles[role].screens += 1;
        }
        self.candidates[index] = after;
    }

    /// Compares the candidates of a sequence with the model, and adds the scores of completed screens by role.
    async fn compare(&self, scores: &mut BTreeMap<u64, Vec<u64>>) {
        for candidate in &self.candidates {
            let actual = self.api.get(&format!("/api/v1/candidates/{}", candidate.id)).await.expect(200).body;
            let texts = |list: &str, field: &str| -> Vec<String> {
                let items = actual[list].as_array().unwrap().iter().rev();
                items.map(|item| item[field].as_str().unwrap().to_owned()).collect()
            };
            let applications: Vec<_> = candidate
                .applications
                .iter()
                .map(|(role, status)| {
                    let role = &self.roles[*role];
                    let closed = *status == "active" && role.status == "closed";
                    (Some(role.id), if closed { "closed" } else { status }.to_owned())
                })
                .collect();
            let roles =
                actual["applications"].as_array().unwrap().iter().rev().map(|one| one["role_id"].as_u64());
            let shown_applications: Vec<_> = roles.zip(texts("applications", "status")).collect();
            let after = format!("after {:#?}", self.history);
            assert_eq!(
                (&actual["stage"], &actual["name"]),
                (&json!(candidate.stage), &json!(candidate.name)),
                "{after}"
            );
            assert_eq!(shown_applications, applications, "{after}");
            assert_eq!(texts("touchpoints", "kind"), candidate.touchpoints, "{after}");
            for screen in actual["voice_screens"].as_array().unwrap() {
                if screen["status"] == "completed" {
                    let score = screen["scores"]["overall"].as_u64().unwrap();
                    scores.entry(screen["role_id"].as_u64().unwrap()).or_default().push(score);
                }
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "scores are small")]
    async fn compare_stats(&self, scores: &BTreeMap<u64, Vec<u64>>) {
        for role in &self.roles {
            let actual = self.api.get(&format!("/api/v1/roles/{}/stats", role.id)).await.expect(200).body;
            let none = Vec::new();
            let scores = scores.get(&role.id).unwrap_or(&none);
            let mean = |sum: u64| (!scores.is_empty()).then(|| sum as f64 / scores.len() as f64);
            let passed = scores.iter().filter(|score| **score >= 70).count() as u64;
            let expected = json!({
                "role_id": role.id,
                "applicants": role.applicants,
                "screens": role.screens,
                "screens_completed": scores.len(),
                "pass_rate": mean(passed),
                "average_score": mean(scores.iter().sum()),
            });
            assert_eq!(actual, expected);
            let path = format!("/api/v1/candidates?role_id={}&limit=100", role.id);
            let listed = self.api.get(&path).await.expect(200).body["data"].as_array().unwrap().len() as u64;
            assert_eq!(listed, role.applicants.min(100));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_sequences_agree_with_the_model() {
    let scale = std::env::var("PIPELINE_SCALE").map_or(1, |scale| scale.parse().expect("a number"));
    let run_all = async |seed: u64| {
        let api = TestApi::new().await;
        let random = Random::seeded(seed);
        let mut run =
            Run { api: &api, random, roles: Vec::new(), candidates: Vec::new(), history: Vec::new() };
        let mut scores = BTreeMap::new();
        for sequence in 0..scale * SEQUENCES {
            if sequence % SEQUENCES_PER_ROLES == 0 {
                run.new_roles().await;
                scores.clear();
            }
            run.candidates.clear();
            run.history = vec![format!("seed {seed}, sequence {sequence}, roles {:?}", run.roles)];
            for _ in 0..3 + run.below(4) {
                run.step().await;
            }
            // Otherwise, a later sequence would complete these candidates' screens without comparing them.
            run.complete_screens().await;
            run.compare(&mut scores).await;
            // This test makes many calls and does not read them.
            api.dynamodb.clear_calls();
            if sequence % SEQUENCES_PER_ROLES == SEQUENCES_PER_ROLES - 1 {
                run.compare_stats(&scores).await;
            }
        }
    };
    join_all((0..APIS).map(run_all)).await;
}
