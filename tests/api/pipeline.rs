//! The pipeline against a plain model of its rules: random sequences of everything that clients may do to candidates and
//! roles. Model and service must agree on every answer, and in the end on stages, applications, touchpoints and stats.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::random::Random;
use tests::World;

const STAGES: [&str; 4] = ["applied", "screening", "interview", "offer"];
/// In how many worlds the sequences are played, side by side.
const WORLDS: u64 = 8;
/// How many sequences are played in each; `PIPELINE_SCALE=10` plays ten times as many.
const SEQUENCES: u64 = 125;
/// After how many sequences a world gets other roles.
const SHARED_ROLES: u64 = 25;

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
    /// Role and status, oldest first.
    applications: Vec<(usize, &'static str)>,
    /// The roles of unfinished screens.
    open_screens: Vec<usize>,
    /// Kinds, oldest first.
    touchpoints: Vec<&'static str>,
}

impl Candidate {
    fn at_an_end(&self) -> bool {
        ["hired", "rejected"].contains(&self.stage)
    }

    fn settle(&mut self, from: &str, to: &'static str) {
        for (_, status) in self.applications.iter_mut().filter(|(_, status)| *status == from) {
            *status = to;
        }
    }
}

struct Play<'w> {
    world: &'w World,
    random: Random,
    roles: Vec<Role>,
    candidates: Vec<Candidate>,
    said: Vec<String>,
}

/// What the model says of a request: done, or refused with this code.
type Verdict = Result<(), &'static str>;

impl Play<'_> {
    fn below(&self, bound: usize) -> usize {
        usize::try_from(self.random.below(bound as u64)).unwrap()
    }

    async fn ask(&mut self, path: &str, body: Value, verdict: Verdict) -> Value {
        self.said.push(format!("{path} {body}"));
        let method = if path.starts_with("PATCH") { Method::PATCH } else { Method::POST };
        let path = path.trim_start_matches("PATCH ");
        let ask = match path.strip_prefix("DELETE ") {
            Some(path) => self.world.request(Method::DELETE, &format!("/api/v1/{path}")),
            None => self.world.request(method, &format!("/api/v1/{path}")).json(&body),
        };
        let answer = ask.send().await;
        let code = answer.body["code"].as_str();
        let agreed = match verdict {
            Ok(()) => answer.status < 300,
            Err(expected) => answer.status == 422 && code == Some(expected),
        };
        assert!(agreed, "expected {verdict:?}, got {} after {:#?}", answer.text, self.said);
        answer.body
    }

    async fn new_roles(&mut self) {
        self.roles.clear();
        for _ in 0..3 {
            let open = self.below(3) > 0;
            let body = json!({ "role": { "title": "x" }, "publish": open });
            let id = self.ask("quick_post", body, Ok(())).await["role"]["id"].as_u64().unwrap();
            self.roles.push(Role { id, status: if open { "open" } else { "draft" }, ..Role::default() });
        }
    }

    async fn step(&mut self) {
        match self.below(12) {
            0 => self.create().await,
            1 => self.move_role().await,
            2 => self.complete_screens().await,
            _ if self.candidates.is_empty() => self.create().await,
            action => self.act(action).await,
        }
    }

    async fn complete_screens(&mut self) {
        if self.candidates.iter().all(|candidate| candidate.open_screens.is_empty()) {
            return;
        }
        self.said.push("tasks".to_owned());
        self.world.run_tasks().await;
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
        let mut verdict = Ok(());
        if let Some(role) = role {
            body["role_id"] = json!(self.roles[role].id);
            verdict = if self.roles[role].status == "open" { Ok(()) } else { Err("validation_failed") };
        }
        let created = self.ask("candidates", body, verdict).await;
        if verdict.is_err() {
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

    async fn move_role(&mut self) {
        let role = self.below(3);
        let Role { id, status, .. } = self.roles[role];
        let (step, from, to) = [
            ("publish", "draft", "open"),
            ("pause", "open", "paused"),
            ("resume", "paused", "open"),
            ("reopen", "closed", "draft"),
            ("", status, "closed"),
        ][self.below(5)];
        let verdict = if from == status { Ok(()) } else { Err("invalid_transition") };
        let path = if step.is_empty() { format!("DELETE roles/{id}") } else { format!("roles/{id}/{step}") };
        self.ask(&path, json!({}), verdict).await;
        if verdict.is_ok() {
            self.roles[role].status = to;
        }
    }

    async fn act(&mut self, action: usize) {
        let which = self.below(self.candidates.len());
        let role = self.below(3);
        let before = self.candidates[which].clone();
        let mut after = before.clone();
        let at = format!("candidates/{}", before.id);
        let moves = |allowed: bool| if allowed { Ok(()) } else { Err("invalid_transition") };
        let (path, body, verdict) = match action {
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
                (format!("{at}/advance"), body, moves(!before.at_an_end() && before.stage != after.stage))
            }
            6 => {
                (after.stage, after.rejected_from) = ("rejected", before.stage);
                after.settle("active", "rejected");
                after.touchpoints.push("rejected");
                (format!("{at}/reject"), json!({ "reason": "x" }), moves(!before.at_an_end()))
            }
            7 => {
                after.stage = before.rejected_from;
                after.settle("rejected", "active");
                after.touchpoints.push("unrejected");
                (format!("{at}/unreject"), json!({}), moves(before.stage == "rejected"))
            }
            8 => {
                after.stage = "hired";
                after.settle("active", "hired");
                after.touchpoints.push("hired");
                (format!("{at}/hire"), json!({}), moves(!before.at_an_end()))
            }
            9 | 10 => {
                after.applications.push((role, "active"));
                after.touchpoints.push("applied");
                let fresh = before.applications.iter().all(|(applied, _)| *applied != role);
                let allowed = fresh && self.roles[role].status == "open";
                let verdict = if allowed { Ok(()) } else { Err("validation_failed") };
                (format!("{at}/applications"), json!({ "role_id": self.roles[role].id }), verdict)
            }
            _ => {
                after.open_screens.push(role);
                after.touchpoints.push("screen_invited");
                if before.stage == "applied" {
                    after.stage = "screening";
                    after.touchpoints.push("stage_changed");
                }
                let ready = ["open", "paused"].contains(&self.roles[role].status);
                let verdict = if before.open_screens.contains(&role) || !ready {
                    Err("validation_failed")
                } else {
                    moves(!before.at_an_end())
                };
                (format!("{at}/invite_screen"), json!({ "role_id": self.roles[role].id }), verdict)
            }
        };
        self.ask(&path, body, verdict).await;
        if verdict.is_err() {
            return;
        }
        if path.ends_with("/applications") {
            self.roles[role].applicants += 1;
        }
        if path.ends_with("/invite_screen") {
            self.roles[role].screens += 1;
        }
        self.candidates[which] = after;
    }

    /// Compares everything about the candidates of a sequence; gives the completed screens' scores by role.
    async fn compare(&self, scores: &mut BTreeMap<u64, Vec<u64>>) {
        for candidate in &self.candidates {
            let shown =
                self.world.get(&format!("/api/v1/candidates/{}", candidate.id)).await.expect(200).body;
            let texts = |list: &str, field: &str| -> Vec<String> {
                let items = shown[list].as_array().unwrap().iter().rev();
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
                shown["applications"].as_array().unwrap().iter().rev().map(|one| one["role_id"].as_u64());
            let seen: Vec<_> = roles.zip(texts("applications", "status")).collect();
            let after = format!("after {:#?}", self.said);
            assert_eq!(
                (&shown["stage"], &shown["name"]),
                (&json!(candidate.stage), &json!(candidate.name)),
                "{after}"
            );
            assert_eq!(seen, applications, "{after}");
            assert_eq!(texts("touchpoints", "kind"), candidate.touchpoints, "{after}");
            for screen in shown["voice_screens"].as_array().unwrap() {
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
            let shown = self.world.get(&format!("/api/v1/roles/{}/stats", role.id)).await.expect(200).body;
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
            assert_eq!(shown, expected);
            let path = format!("/api/v1/candidates?role_id={}&limit=100", role.id);
            let listed =
                self.world.get(&path).await.expect(200).body["data"].as_array().unwrap().len() as u64;
            assert_eq!(listed, role.applicants.min(100));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_sequences_agree_with_the_model() {
    let scale = std::env::var("PIPELINE_SCALE").map_or(1, |scale| scale.parse().expect("a number"));
    let play = async |seed: u64| {
        let world = World::new().await;
        let random = Random::seeded(seed);
        let mut play =
            Play { world: &world, random, roles: Vec::new(), candidates: Vec::new(), said: Vec::new() };
        let mut scores = BTreeMap::new();
        for sequence in 0..scale * SEQUENCES {
            if sequence % SHARED_ROLES == 0 {
                play.new_roles().await;
                scores.clear();
            }
            play.candidates.clear();
            play.said = vec![format!("seed {seed}, sequence {sequence}, roles {:?}", play.roles)];
            for _ in 0..3 + play.below(4) {
                play.step().await;
            }
            // What is unfinished must not end in another sequence, which would not look at it.
            play.complete_screens().await;
            play.compare(&mut scores).await;
            // Nobody looks at its calls, which are many.
            world.wire.forget();
            if sequence % SHARED_ROLES == SHARED_ROLES - 1 {
                play.compare_stats(&scores).await;
            }
        }
    };
    join_all((0..WORLDS).map(play)).await;
}
