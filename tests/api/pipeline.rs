//! A model-based test of the pipeline. It sends random sequences of all requests that change candidates and roles, and
//! compares every response with a simple model. At the end of each sequence, it also compares stages, applications,
//! touchpoints, lists and stats. After some sequences, it compares the results of searches and the retention periods.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{self, CandidateRecord, Mode, Retention, RetentionDays, Stage};
use shared::random::Random;
use shared::store::{CandidateList, MaybeErased, Paging, score_position};
use tests::{ACME, TestApi, tenant};

const STAGES: [&str; 4] = ["applied", "screening", "interview", "offer"];
const NAMES: [&str; 5] = ["x", "Ada Qvist", "Qvist-Bo Ada", "Bo", "Adam"];
const TAGS: [&str; 4] = ["red", "RED", "Green", "blue"];
/// The number of test APIs, which run sequences in parallel.
const APIS: u64 = 8;
/// The number of sequences for each test API. `PIPELINE_SCALE=40` runs 40 times as many.
const SEQUENCES: u64 = 32;
/// The number of sequences that share the same roles.
const SEQUENCES_PER_ROLES: u64 = 25;

#[derive(Clone, Debug, Default)]
struct Role {
    id: u64,
    status: &'static str,
    applicants: u64,
    screens: u64,
}

/// A stage, and how it was reached if it is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Progress {
    stage: &'static str,
    before_end: &'static str,
    /// The number of the change that ended it.
    ended: usize,
}

#[derive(Clone, Debug)]
struct Application {
    role: usize,
    progress: Progress,
    /// The number of the change that added it.
    since: usize,
    visited: BTreeSet<&'static str>,
}

#[derive(Clone, Debug)]
struct Candidate {
    id: u64,
    name: &'static str,
    tags: Vec<&'static str>,
    own: Progress,
    /// Oldest first.
    applications: Vec<Application>,
    /// The indexes of the roles with an unfinished screen, and whether it is to be cancelled.
    open_screens: Vec<(usize, bool)>,
    /// The kinds of the touchpoints, oldest first.
    touchpoints: Vec<&'static str>,
    changes: usize,
}

const COMPLETED: &str = "screen_completed";
const CANCELLED: &str = "screen_cancelled";
const NEW: Progress = Progress { stage: "applied", before_end: "", ended: 0 };

impl Progress {
    fn is_final(&self) -> bool {
        ["hired", "rejected"].contains(&self.stage)
    }

    /// Whether the move is allowed. `undo` is the final stage that the move undoes, or an empty string.
    fn allows(&self, to: &str, undo: &str) -> bool {
        if undo.is_empty() { !self.is_final() && self.stage != to } else { self.stage == undo }
    }

    fn make(&mut self, to: &'static str, undo: &str, change: usize) {
        if undo.is_empty() {
            if ["hired", "rejected"].contains(&to) {
                (self.before_end, self.ended) = (self.stage, change);
            }
            self.stage = to;
        } else {
            self.stage = self.before_end;
        }
    }
}

impl Application {
    fn status(&self, roles: &[Role]) -> &'static str {
        match self.progress.stage {
            "hired" => "hired",
            "rejected" => "rejected",
            _ if roles[self.role].status == "closed" => "closed",
            _ => "active",
        }
    }
}

/// Sorts the kinds of screens that end together, because the tasks end them in any order.
fn in_order(mut kinds: Vec<String>) -> Vec<String> {
    let ends = |kind: &String| [COMPLETED, CANCELLED].contains(&kind.as_str());
    kinds.chunk_by_mut(|one, next| ends(one) && ends(next)).for_each(<[String]>::sort);
    kinds
}

fn rank(stage: &str) -> usize {
    STAGES.iter().position(|known| *known == stage).unwrap_or(STAGES.len())
}

impl Candidate {
    /// The applications with this status.
    fn with(&self, status: &str, roles: &[Role]) -> Vec<&Application> {
        self.applications.iter().filter(|one| one.status(roles) == status).collect()
    }

    /// Whether a search for words finds the candidate. E-mail addresses begin with a digit.
    fn is_found(&self, query: &str) -> bool {
        let name = self.name.to_lowercase();
        query.split(' ').all(|word| name.split([' ', '-']).any(|part| part.starts_with(word)))
    }

    fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|own| own.eq_ignore_ascii_case(tag))
    }

    fn stage(&self, roles: &[Role]) -> &'static str {
        let furthest = |status: &str| {
            let stages = self.with(status, roles).into_iter().map(|one| one.progress.stage);
            stages.max_by_key(|stage| rank(stage))
        };
        let hired = self.with("hired", roles).iter().map(|one| one.progress.ended).max();
        let newest = self.with("active", roles).iter().map(|one| one.since).max();
        match (hired, newest) {
            (Some(hired), newest) if newest.is_none_or(|since| since < hired) => "hired",
            _ => furthest("active")
                .or_else(|| furthest("rejected"))
                .or_else(|| furthest("closed"))
                .unwrap_or(self.own.stage),
        }
    }

    /// The list of retention periods that contains the candidate: whether the candidate was ever hired.
    fn retention_list(&self, roles: &[Role]) -> Option<bool> {
        let has = |kinds: &[&str]| self.touchpoints.iter().any(|kind| kinds.contains(kind));
        let is_over = if self.applications.is_empty() {
            self.own.is_final() || !has(&["stage_changed", "rejected", "hired"])
        } else {
            self.with("active", roles).is_empty()
        };
        is_over.then(|| has(&["hired"]))
    }

    /// The indexes of the applications that a move without a role changes.
    fn fitting(&self, to: &str, undo: &str, roles: &[Role]) -> Vec<usize> {
        let all = self.applications.iter().enumerate();
        let active: Vec<_> = all.filter(|(_, one)| one.status(roles) == "active").collect();
        if !undo.is_empty() {
            let ended = |one: &&Application| one.progress.stage == undo;
            let latest = self.applications.iter().filter(ended).map(|one| one.progress.ended).max();
            let all = self.applications.iter().enumerate();
            let undone = all.filter(|(_, one)| ended(one) && Some(one.progress.ended) == latest);
            return undone.map(|(index, _)| index).collect();
        }
        if to == "hired" {
            let furthest = active.iter().max_by_key(|(index, one)| (rank(one.progress.stage), *index));
            return furthest.map(|(index, _)| *index).into_iter().collect();
        }
        active.iter().filter(|(_, one)| one.progress.stage != to).map(|(index, _)| *index).collect()
    }

    fn apply(&mut self, role: usize) {
        self.changes += 1;
        let visited = BTreeSet::from(["applied"]);
        self.applications.push(Application { role, progress: NEW, since: self.changes, visited });
        self.touchpoints.push("applied");
    }

    /// Makes a move of the application for a role, or of all that it fits. Returns the code of the error.
    fn make(
        &mut self,
        (to, undo, kind): (&'static str, &str, &'static str),
        role: Option<usize>,
        roles: &[Role],
    ) -> Expected {
        let change = self.changes + 1;
        if self.applications.is_empty() && role.is_none() {
            if !self.own.allows(to, undo) {
                return Err("invalid_transition");
            }
            self.own.make(to, undo, change);
            self.touchpoints.push(kind);
            self.cancel_screens_after(kind, None);
        } else {
            let chosen = match role {
                Some(role) => match self.applications.iter().position(|one| one.role == role) {
                    Some(index) => vec![index],
                    None => return Err("validation_failed"),
                },
                None => self.fitting(to, undo, roles),
            };
            let is_allowed = |index: &usize| {
                let application = &self.applications[*index];
                application.status(roles) != "closed" && application.progress.allows(to, undo)
            };
            if chosen.is_empty() || !chosen.iter().all(is_allowed) {
                return Err("invalid_transition");
            }
            for index in chosen {
                let application = &mut self.applications[index];
                application.progress.make(to, undo, change);
                application.visited.insert(application.progress.stage);
                let role = application.role;
                self.touchpoints.push(kind);
                self.cancel_screens_after(kind, Some(role));
            }
        }
        self.changes = change;
        Ok(())
    }

    /// Marks the screens for a role, or all, if the application or the candidate has ended.
    fn cancel_screens_after(&mut self, kind: &str, role: Option<usize>) {
        for (screen, is_cancelled) in &mut self.open_screens {
            *is_cancelled |= ["hired", "rejected"].contains(&kind) && role.is_none_or(|role| role == *screen);
        }
    }
}

struct Run<'a> {
    api: &'a TestApi,
    random: Random,
    roles: Vec<Role>,
    /// The candidates of this sequence.
    candidates: Vec<Candidate>,
    /// The candidates of earlier sequences with the same roles.
    earlier: Vec<Candidate>,
    /// The candidates of all completed sequences.
    all: Vec<Candidate>,
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
        self.earlier.clear();
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
            let kind = |(_, is_cancelled)| if is_cancelled { CANCELLED } else { COMPLETED };
            let done = std::mem::take(&mut candidate.open_screens);
            candidate.touchpoints.extend(done.into_iter().map(kind));
        }
    }

    async fn create(&mut self) {
        let email = format!("1{}@example.com", self.random.token(12));
        let role = (self.below(2) == 0).then(|| self.below(3));
        let mut candidate = Candidate {
            id: 0,
            name: "x",
            tags: Vec::new(),
            own: NEW,
            applications: Vec::new(),
            open_screens: Vec::new(),
            touchpoints: vec!["created"],
            changes: 0,
        };
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
            candidate.apply(role);
            self.roles[role].applicants += 1;
        }
        candidate.id = created["id"].as_u64().unwrap();
        self.candidates.push(candidate);
    }

    async fn transition_role(&mut self) {
        // The task that closes applications would also make due calls.
        self.complete_screens().await;
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
        if expected.is_err() {
            return;
        }
        let before = std::mem::replace(&mut self.roles[role].status, to);
        let kind = match (before == "closed", to == "closed") {
            (false, true) => "application_closed",
            (true, false) => "application_reopened",
            _ => return,
        };
        self.api.run_tasks().await;
        for candidate in self.candidates.iter_mut().chain(&mut self.earlier) {
            let followed = candidate.applications.iter();
            let followed = followed.filter(|one| one.role == role && !one.progress.is_final()).count();
            candidate.touchpoints.extend(std::iter::repeat_n(kind, followed));
            candidate.changes += followed;
        }
    }

    async fn act(&mut self, action: usize) {
        let index = self.below(self.candidates.len());
        let role = self.below(3);
        let mut after = self.candidates[index].clone();
        let at = format!("candidates/{}", after.id);
        let named = (self.below(2) == 0).then_some(role);
        let (path, mut body, expected) = match action {
            3 => {
                let name = NAMES[self.below(NAMES.len())];
                let tags = TAGS[self.below(TAGS.len())..].iter().copied().take(self.below(3));
                // Of tags that differ only in case, the first is kept.
                let tags: Vec<_> = match tags.collect::<Vec<_>>()[..] {
                    ["red", "RED"] => vec!["red"],
                    ref tags => tags.to_vec(),
                };
                if name != after.name || tags != after.tags {
                    after.touchpoints.push("updated");
                    after.changes += 1;
                }
                (after.name, after.tags) = (name, tags.clone());
                (format!("PATCH {at}"), json!({ "name": name, "tags": tags }), Ok(()))
            }
            4..=8 => {
                let to = STAGES[self.below(4)];
                let (action, body, step) = [
                    ("advance", json!({ "stage": to }), (to, "", "stage_changed")),
                    ("advance", json!({ "stage": to }), (to, "", "stage_changed")),
                    ("reject", json!({ "reason": "x" }), ("rejected", "", "rejected")),
                    ("hire", json!({}), ("hired", "", "hired")),
                    if self.below(2) == 0 {
                        ("unreject", json!({}), ("", "rejected", "unrejected"))
                    } else {
                        ("unhire", json!({}), ("", "hired", "unhired"))
                    },
                ][action - 4]
                    .clone();
                (format!("{at}/{action}"), body, after.make(step, named, &self.roles))
            }
            9 | 10 => {
                let expected = if after.applications.iter().any(|one| one.role == role) {
                    Err("duplicate")
                } else if self.roles[role].status == "open" {
                    Ok(())
                } else {
                    Err("validation_failed")
                };
                after.apply(role);
                (format!("{at}/applications"), json!({ "role_id": self.roles[role].id }), expected)
            }
            _ => {
                let expected = self.invite(&mut after, role);
                (format!("{at}/invite_screen"), json!({ "role_id": self.roles[role].id }), expected)
            }
        };
        if let (4..=8, Some(role)) = (action, named) {
            body["role_id"] = json!(self.roles[role].id);
        }
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

    /// Invites a candidate to a screen for a role. The application for the role or, without any, the candidate moves.
    fn invite(&self, candidate: &mut Candidate, role: usize) -> Expected {
        let is_ready = ["open", "paused"].contains(&self.roles[role].status);
        if !is_ready || candidate.open_screens.iter().any(|(open, _)| *open == role) {
            return Err("validation_failed");
        }
        let application = candidate.applications.iter().find(|one| one.role == role);
        let progress = match application {
            Some(application) => Some(application.progress),
            None if candidate.applications.is_empty() => Some(candidate.own),
            None => None,
        };
        let named = application.map(|one| one.role);
        if progress.is_some_and(|progress| progress.is_final()) {
            return Err("invalid_transition");
        }
        candidate.open_screens.push((role, false));
        candidate.touchpoints.push("screen_invited");
        candidate.changes += 1;
        if progress == Some(NEW) || progress.is_some_and(|progress| progress.stage == "applied") {
            candidate.make(("screening", "", "stage_changed"), named, &self.roles)?;
        }
        Ok(())
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
                .map(|one| {
                    let status = one.status(&self.roles);
                    (Some(self.roles[one.role].id), (one.progress.stage.to_owned(), status.to_owned()))
                })
                .collect();
            let roles =
                actual["applications"].as_array().unwrap().iter().rev().map(|one| one["role_id"].as_u64());
            let shown_applications: Vec<_> = roles
                .zip(texts("applications", "stage").into_iter().zip(texts("applications", "status")))
                .collect();
            let after = format!("after {:#?}", self.history);
            assert_eq!(
                (&actual["stage"], &actual["name"], &actual["tags"]),
                (&json!(candidate.stage(&self.roles)), &json!(candidate.name), &json!(candidate.tags)),
                "{after}"
            );
            assert_eq!(shown_applications, applications, "{after}");
            let expected = candidate.touchpoints.iter().map(|kind| (*kind).to_owned()).collect();
            assert_eq!(in_order(texts("touchpoints", "kind")), in_order(expected), "{after}");
            for screen in actual["voice_screens"].as_array().unwrap() {
                if screen["status"] == "completed" {
                    let score = screen["scores"]["overall"].as_u64().unwrap();
                    scores.entry(screen["role_id"].as_u64().unwrap()).or_default().push(score);
                }
            }
        }
    }

    /// Compares the results of searches, on all pages, with the candidates of all completed sequences.
    async fn compare_searches(&self) {
        let searches = [
            ("q", "ada"),
            ("q", "ada qvist"),
            ("q", "b"),
            ("q", "qvist bo"),
            ("q", "x"),
            ("q", "nobody"),
            ("tag", "Red"),
            ("tag", "green"),
            ("tag", "yellow"),
        ];
        for (filter, value) in searches {
            let path = format!("/api/v1/candidates?limit=100&{filter}={}", value.replace(' ', "+"));
            let (mut found, mut next) = (Vec::new(), path.clone());
            loop {
                let page = self.api.get(&next).await.expect(200).body;
                found.extend(page["data"].as_array().unwrap().iter().map(|one| one["id"].as_u64().unwrap()));
                let Some(cursor) = page["next_cursor"].as_str() else { break };
                next = format!("{path}&cursor={cursor}");
            }
            found.sort_unstable();
            let expected = self.all.iter().filter(|candidate| match filter {
                "tag" => candidate.has_tag(value),
                _ => candidate.is_found(value),
            });
            let mut expected: Vec<_> = expected.map(|candidate| candidate.id).collect();
            expected.sort_unstable();
            assert_eq!(found, expected, "{filter}={value}");
        }
    }

    /// Compares the lists by score with the candidates' records.
    async fn compare_scores(&self) {
        let (store, tenant) = (self.api.store(), tenant(ACME, Mode::Live));
        let (mut expected, mut listed) = (BTreeSet::new(), BTreeSet::new());
        for candidate in self.earlier.iter().chain(&self.candidates) {
            let found = store.find_candidate(tenant, Id::new(candidate.id).unwrap()).await.unwrap();
            let record: CandidateRecord = found.and_then(MaybeErased::present).unwrap();
            let is_current = |application: &model::Application| {
                self.roles.iter().any(|role| role.id == application.role.id.get())
            };
            for application in record.applications.into_iter().filter(is_current) {
                let Some(score) = application.score else { continue };
                let position = score_position(score, application.id);
                expected.insert((
                    application.role.id.get(),
                    application.stage.as_str(),
                    position,
                    candidate.id,
                ));
            }
        }
        let page = Paging { limit: 10_000, before: None };
        for role in &self.roles {
            for stage in Stage::ALL {
                let list = CandidateList::Scored { role: Id::new(role.id).unwrap(), stage, least: 0 };
                let read = store.list_candidate_places(tenant, &list, &page).await.unwrap();
                let entries = read.items.into_iter();
                listed.extend(entries.map(|place| (role.id, stage.as_str(), place.position, place.id.get())));
            }
        }
        assert_eq!(listed, expected, "after {:#?}", self.history);
    }

    /// Compares the lists of retention periods with the candidates.
    async fn compare_retention(&self) {
        self.api.run_tasks().await;
        let rule = Retention { days: RetentionDays::try_from(30).unwrap(), include_hired: true };
        let at = "2036-01-01T00:00:00Z".parse().unwrap();
        let page = Paging { limit: 10_000, before: None };
        let all: Vec<_> = self.earlier.iter().chain(&self.candidates).collect();
        for ever_hired in rule.groups() {
            let (store, tenant) = (self.api.store(), tenant(ACME, Mode::Live));
            let listed = store.list_due_people(tenant, rule, *ever_hired, at, &page).await.unwrap();
            let known: BTreeSet<_> = all.iter().map(|candidate| candidate.id).collect();
            let listed: BTreeSet<_> =
                listed.items.iter().map(|person| person.id.get()).filter(|id| known.contains(id)).collect();
            let is_listed =
                |candidate: &Candidate| candidate.retention_list(&self.roles) == Some(*ever_hired);
            let expected: BTreeSet<_> =
                all.iter().filter(|candidate| is_listed(candidate)).map(|candidate| candidate.id).collect();
            assert_eq!(listed, expected, "hired: {ever_hired}, after {:#?}", self.history);
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
            let everyone = || self.earlier.iter().chain(&self.candidates);
            let index = self.roles.iter().position(|other| other.id == role.id).unwrap();
            let of_role = || everyone().flat_map(|one| &one.applications).filter(|one| one.role == index);
            let mut stages = json!({});
            for stage in STAGES.into_iter().chain(["hired", "rejected"]) {
                let is_end = ["hired", "rejected"].contains(&stage);
                let here = of_role().filter(|one| one.progress.stage == stage).count();
                let ever = of_role().filter(|one| one.visited.contains(stage)).count();
                let now = if role.status == "closed" && !is_end { 0 } else { here };
                // The clock stands still, so a finished stay has 0 days.
                let has_stays = !is_end && actual["stages"][stage]["median_days"] == json!(0);
                assert!(ever > here || is_end || !has_stays || ever > 0, "{stage}");
                let median_days = if has_stays { json!(0) } else { Value::Null };
                stages[stage] = json!({ "now": now, "ever": ever, "median_days": median_days });
                let path = format!("/api/v1/applications?role_id={}&stage={stage}&limit=100", role.id);
                let listed = self.api.get(&path).await.expect(200).body;
                assert_eq!(listed["data"].as_array().unwrap().len(), here.min(100), "{stage}");
            }
            let rejections = match stages["rejected"]["now"].as_u64() {
                Some(0) | None => json!([]),
                Some(count) => json!([{ "reason_id": null, "by": "team", "count": count }]),
            };
            let expected = json!({
                "role_id": role.id,
                "applicants": role.applicants,
                "screens": role.screens,
                "screens_completed": scores.len(),
                "pass_rate": mean(passed),
                "average_score": mean(scores.iter().sum()),
                "rejections": rejections,
                "stages": stages,
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
        let mut run = Run {
            api: &api,
            random,
            roles: Vec::new(),
            candidates: Vec::new(),
            earlier: Vec::new(),
            all: Vec::new(),
            history: Vec::new(),
        };
        let mut scores = BTreeMap::new();
        for sequence in 0..scale * SEQUENCES {
            let earlier = std::mem::take(&mut run.candidates);
            run.earlier.extend(earlier);
            if sequence % SEQUENCES_PER_ROLES == 0 {
                run.new_roles().await;
                scores.clear();
            }
            run.history = vec![format!("seed {seed}, sequence {sequence}, roles {:?}", run.roles)];
            for _ in 0..3 + run.below(4) {
                run.step().await;
            }
            // Otherwise, a later sequence would complete these candidates' screens without comparing them.
            run.complete_screens().await;
            run.compare(&mut scores).await;
            run.all.extend(run.candidates.clone());
            // This test makes many calls and does not read them.
            api.dynamodb.clear_calls();
            if sequence % SEQUENCES_PER_ROLES == SEQUENCES_PER_ROLES - 1 {
                run.compare_stats(&scores).await;
                run.compare_searches().await;
                run.compare_retention().await;
                run.compare_scores().await;
            }
        }
    };
    join_all((0..APIS).map(run_all)).await;
}
