//! Copies of what 50 tenants have, each kept as the guide says: by an export, and then by the change feed. Meanwhile others write,
//! erase, close, import and undo; runs of tasks, of the feed and of the copies are killed, and the table's stream tells of a
//! change twice.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};
use shared::clock::later;
use shared::id::Id;
use shared::model::{Mode, Plan, Scopes, Text};
use shared::random::Random;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tests::interceptor::Fault;
use tests::{Response, TestApi};

use crate::access::new_key;
use crate::careers_resumes::download;
use crate::exporting::{identity, profile};

const ORGANIZATIONS: u64 = 25;
/// The number of tenants that have most of the changes.
const BUSY: u64 = 4;
/// The number of changes.
const CHANGES: u64 = 260;
const LISTS: [&str; 5] = ["candidates", "applications", "roles", "job_postings", "voice_screens"];

/// Rows by their kinds and identities.
type Rows = BTreeMap<(&'static str, String), Value>;

/// A tenant: its key, and what clients know of it.
struct Tenant {
    key: String,
    people: Vec<u64>,
    roles: Vec<u64>,
    imports: Vec<u64>,
}

/// What a copy has stored. A run works on another one, so nothing is left of a run that is killed.
#[derive(Clone, Default)]
struct Copy {
    rows: Rows,
    export: Option<u64>,
    position: Option<String>,
    /// The types of the events that it has applied.
    types: BTreeSet<String>,
}

impl Tenant {
    async fn send(&self, api: &TestApi, method: Method, path: &str, body: Option<Value>) -> Response {
        let request = api.request(method, &format!("/api/v1/{path}")).bearer(&self.key);
        match body {
            Some(body) => request.json(&body).send().await,
            None => request.send().await,
        }
    }

    async fn post(&self, api: &TestApi, path: &str, body: Value) -> Response {
        self.send(api, Method::POST, path, Some(body)).await
    }

    async fn get(&self, api: &TestApi, path: &str) -> Response {
        self.send(api, Method::GET, path, None).await
    }

    /// What is there now; `None` if it was deleted or erased.
    async fn find(&self, api: &TestApi, path: &str) -> Option<Value> {
        let found = self.get(api, path).await;
        if [404, 410].contains(&found.status) { None } else { Some(found.expect(200).body) }
    }

    async fn list(&self, api: &TestApi, path: &str) -> Vec<Value> {
        let (mut items, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.get(api, &format!("{path}?limit=100{cursor}")).await.expect(200).body;
            items.extend(page["data"].as_array().unwrap().iter().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return items,
            }
        }
    }

    /// Makes a change of a kind that the number decides. It may be one that is refused.
    async fn change(&mut self, api: &TestApi, number: u64, random: &Random) {
        if self.roles.is_empty() || (random.below(12) == 0 && self.roles.len() < 4) {
            let role =
                self.post(api, "roles", json!({ "title": format!("Role {number}") })).await.expect(201);
            self.roles.push(role.number("/id"));
            self.post(api, &format!("roles/{}/publish", role.number("/id")), json!({})).await;
            return;
        }
        let role = self.roles[usize::try_from(random.below(self.roles.len() as u64)).unwrap()];
        if self.people.is_empty() || random.below(4) == 0 {
            let person = json!({ "name": format!("P {number}"), "email": format!("p{number}@copy.example"), "role_id": role });
            // Not if the role is closed.
            let created = self.post(api, "candidates", person).await;
            self.people.extend(created.body["id"].as_u64().filter(|_| created.status == 201));
            return;
        }
        let person = self.people[usize::try_from(random.below(self.people.len() as u64)).unwrap()];
        let path = format!("candidates/{person}");
        match random.below(12) {
            0 => {
                self.people.retain(|id| *id != person);
                self.post(api, &format!("{path}/erase"), json!({ "reason": "request" })).await.expect(202);
            }
            1 => {
                let title = Some(json!({ "title": format!("Renamed {number}") }));
                self.send(api, Method::PATCH, &format!("roles/{role}"), title).await;
            }
            2 => {
                self.send(api, Method::DELETE, &format!("roles/{role}"), None).await;
            }
            3 => {
                self.post(api, &format!("roles/{role}/reopen"), json!({})).await;
                self.post(api, &format!("roles/{role}/publish"), json!({})).await;
            }
            4 => {
                let rows: Vec<_> = (0..2)
                    .map(|row| {
                        json!({
                            "name": format!("Row {number}"), "email": format!("r{number}-{row}@copy.example"),
                            "notes": [{ "text": "Imported" }],
                            "applications": [{ "role": { "title": format!("Imported {number}") } }],
                        })
                    })
                    .collect();
                let import = self.post(api, "imports", json!({ "format": "ndjson", "rows": rows })).await;
                self.imports.extend(import.body["id"].as_u64().filter(|_| import.status == 201));
            }
            5 | 6 => {
                if let Some(import) = self.imports.last().copied() {
                    let step =
                        if self.post(api, &format!("imports/{import}/run"), json!({})).await.status == 202 {
                            None
                        } else {
                            Some(self.post(api, &format!("imports/{import}/undo"), json!({})).await.status)
                        };
                    if step == Some(202) {
                        self.imports.pop();
                    }
                }
            }
            7 => {
                let text = json!({ "text": format!("Note {number}") });
                self.post(api, &format!("{path}/notes"), text).await.expect(201);
            }
            8 => {
                let edit = json!({ "name": format!("Renamed {number}"), "tags": ["copied"] });
                self.send(api, Method::PATCH, &path, Some(edit)).await;
            }
            9 => {
                self.post(api, &format!("{path}/reject"), json!({ "reason": "No" })).await;
            }
            stage => {
                let stage = if stage == 10 { "interview" } else { "offer" };
                self.post(api, &format!("{path}/advance"), json!({ "stage": stage })).await;
            }
        }
    }

    /// What the API shows.
    async fn shown(&self, api: &TestApi) -> Rows {
        let mut rows = Rows::new();
        for kind in LISTS {
            for item in self.list(api, kind).await {
                let item = self.get(api, &format!("{kind}/{}", item["id"])).await.expect(200).body;
                keep(&mut rows, kind, item);
            }
        }
        let people: Vec<_> =
            rows.keys().filter(|(kind, _)| *kind == "candidates").map(|(_, id)| id.clone()).collect();
        for person in people {
            self.keep_parts(api, &mut rows, &person).await;
        }
        rows
    }

    /// Keeps the notes and the history of a person.
    async fn keep_parts(&self, api: &TestApi, rows: &mut Rows, person: &str) {
        let id: u64 = person.parse().unwrap();
        for kind in ["notes", "touchpoints"] {
            for mut row in self.list(api, &format!("candidates/{person}/{kind}")).await {
                row["candidate_id"] = json!(id);
                keep(rows, kind, row);
            }
        }
    }

    /// Lets a copy go on: begin or load an export, or apply a page of events. Returns the copy, and whether there are more events.
    async fn go_on(&self, api: &TestApi, mut copy: Copy) -> (Copy, bool) {
        let Some(position) = copy.position.clone() else {
            let Some(export) = copy.export else {
                let begun = self.post(api, "exports", json!({ "format": "ndjson" })).await;
                copy.export = begun.body["id"].as_u64().filter(|_| begun.status == 201);
                return (copy, true);
            };
            let Some(export) = self.find(api, &format!("exports/{export}")).await else {
                return (Copy::default(), true);
            };
            match export["status"].as_str() {
                Some("done") => {}
                Some("failed") => return (Copy::default(), true),
                _ => return (copy, true),
            }
            for file in export["files"].as_array().unwrap() {
                let kinds = [&LISTS[..], &["notes", "touchpoints"]].concat();
                let kind = kinds.into_iter().find(|kind| file["kind"] == **kind).unwrap();
                for line in download(file["url"].as_str().unwrap()).await.expect(200).text.lines() {
                    keep(&mut copy.rows, kind, serde_json::from_str(line).unwrap());
                }
            }
            copy.position = export["position"].as_str().map(str::to_owned);
            return (copy, true);
        };
        let page = self.get(api, &format!("events?limit=1000&after={position}")).await.expect(200).body;
        let (mut subjects, mut people) = (BTreeSet::new(), BTreeSet::new());
        for event in page["data"].as_array().unwrap() {
            copy.types.insert(event["type"].as_str().unwrap().to_owned());
            let subject = (event["subject"]["type"].as_str().unwrap(), event["subject"]["id"].as_u64());
            match subject {
                ("candidate", id) => people.extend(id),
                ("application", id) => drop(subjects.insert(("applications", id))),
                ("role", id) => drop(subjects.insert(("roles", id))),
                ("job_posting", id) => drop(subjects.insert(("job_postings", id))),
                ("voice_screen", id) => drop(subjects.insert(("voice_screens", id))),
                _ => {}
            }
            people.extend(event["data"]["candidate_id"].as_u64());
        }
        for (kind, id) in subjects {
            let id = id.unwrap();
            copy.rows.remove(&(kind, id.to_string()));
            if let Some(row) = self.find(api, &format!("{kind}/{id}")).await {
                keep(&mut copy.rows, kind, row);
            }
        }
        for id in people {
            let person = self.find(api, &format!("candidates/{id}")).await;
            let is_gone = person.is_none();
            copy.rows.remove(&("candidates", id.to_string()));
            copy.rows.retain(|(kind, _), row| {
                let is_part = ["notes", "touchpoints"].contains(kind) || is_gone;
                !(is_part && row["candidate_id"] == id)
            });
            if let Some(person) = person {
                keep(&mut copy.rows, "candidates", person);
                self.keep_parts(api, &mut copy.rows, &id.to_string()).await;
            }
        }
        copy.position = page["position"].as_str().map(str::to_owned);
        (copy, page["has_more"].as_bool().unwrap())
    }
}

/// Keeps a row, without what changes with other rows.
fn keep(rows: &mut Rows, kind: &'static str, mut row: Value) {
    if kind == "candidates" {
        row = profile(&row);
    }
    if kind == "applications" {
        row.as_object_mut().unwrap().retain(|name, _| !["name", "email", "role_title"].contains(&&**name));
    }
    rows.insert((kind, identity(&row)), row);
}

async fn tenants(api: &TestApi) -> Vec<Tenant> {
    let mut tenants = Vec::new();
    for number in 0..ORGANIZATIONS {
        let id = Id::new(7_000 + number).unwrap();
        let name = Text::parse(&format!("Organization {number}")).unwrap().unwrap();
        let now = api.environment.clock.now();
        let modes = api.store().create_organization(id, &name, None, Plan::Pro, now).await.unwrap();
        for (mode, organization) in Mode::ALL.into_iter().zip(modes) {
            let tenant = organization.organization.tenant();
            assert_eq!(tenant.mode, mode);
            let key = new_key(api, tenant, 8_000 + number, Scopes::EVERY, None).await.reveal().to_owned();
            tenants.push(Tenant { key, people: Vec::new(), roles: Vec::new(), imports: Vec::new() });
        }
    }
    tenants
}

/// Kills what runs next after so many calls of the table; `None` lets it run.
fn kill_after(api: &TestApi, calls: Option<u64>) {
    let seen = Arc::new(AtomicUsize::new(0));
    let most = calls.map(|calls| usize::try_from(calls).unwrap());
    api.dynamodb.inject_faults(move |_, _| {
        let number = seen.fetch_add(1, Ordering::SeqCst);
        most.is_some_and(|most| number >= most).then_some(Fault::Unreachable)
    });
}

/// Runs the tasks and the feed. Each may be killed, and the feed runs twice at the same time, as if the stream had told it twice.
async fn run(api: &TestApi, killed: [Option<u64>; 2]) {
    kill_after(api, killed[0]);
    let done = tasks::run(api.environment.clone()).await;
    assert!(killed[0].is_some() || done.is_ok(), "{done:?}");
    kill_after(api, killed[1]);
    let (one, other) = tokio::join!(feed::run(api.environment.clone()), feed::run(api.environment.clone()));
    assert!(killed[1].is_some() || (one.is_ok() && other.is_ok()), "{one:?} {other:?}");
    kill_after(api, None);
}

fn wait(api: &TestApi, seconds: i64) {
    api.clock.set(&later(api.environment.clock.now(), SignedDuration::from_secs(seconds)).to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn copies_of_fifty_tenants_end_as_the_api_shows_them() {
    let api = TestApi::new().await;
    let mut tenants = tenants(&api).await;
    let mut copies: Vec<Copy> = tenants.iter().map(|_| Copy::default()).collect();
    let random = Random::seeded(7);
    let (mut kills, mut lost, mut begun) = (0, 0, 0);
    for number in 0..CHANGES {
        wait(&api, 1);
        let one = if random.below(5) < 3 { random.below(BUSY) } else { random.below(2 * ORGANIZATIONS) };
        let one = usize::try_from(one).unwrap();
        Box::pin(tenants[one].change(&api, number, &random)).await;
        if random.below(2) == 0 {
            let killed = [0, 0].map(|_| (random.below(3) == 0).then(|| 70 + random.below(150)));
            kills += killed.iter().flatten().count();
            Box::pin(run(&api, killed)).await;
            // Others take over what was killed.
            wait(&api, if killed.iter().any(Option::is_some) && random.below(2) == 0 { 200 } else { 1 });
        }
        let one = usize::try_from(if random.below(2) == 0 {
            random.below(BUSY)
        } else {
            random.below(2 * ORGANIZATIONS)
        })
        .unwrap();
        let had_position = copies[one].position.is_some();
        let (copy, _) = Box::pin(tenants[one].go_on(&api, copies[one].clone())).await;
        // One of four runs is killed before it has stored anything.
        if random.below(4) == 0 {
            lost += 1;
        } else {
            copies[one] = copy;
        }
        begun += usize::from(!had_position && copies[one].position.is_some());
    }
    assert!(kills > 50 && lost > 40 && begun > 3, "{kills} {lost} {begun}");
    // Everything that was begun ends, and every copy gets what an export has.
    for _ in 0..10 {
        for (tenant, copy) in tenants.iter().zip(&mut copies) {
            if copy.position.is_none() {
                (*copy, _) = Box::pin(tenant.go_on(&api, copy.clone())).await;
            }
        }
        wait(&api, 200);
        Box::pin(run(&api, [None, None])).await;
    }
    let (mut rows, mut types) = (0, BTreeSet::new());
    for (tenant, mut copy) in tenants.iter().zip(copies) {
        assert!(copy.position.is_some());
        let mut has_more = true;
        while has_more {
            (copy, has_more) = Box::pin(tenant.go_on(&api, copy)).await;
        }
        let shown = Box::pin(tenant.shown(&api)).await;
        for key in shown.keys().chain(copy.rows.keys()) {
            assert_eq!(copy.rows.get(key), shown.get(key), "{key:?}");
        }
        rows += shown.len();
        types.extend(copy.types);
    }
    for kind in ["candidate.erased", "role.closed", "role.updated", "import.finished", "import.undone"] {
        assert!(types.contains(kind), "{kind} is not among {types:?}");
    }
    assert!(rows > 250, "{rows}");
    println!("{rows} rows, {kills} killed runs, {lost} killed copies, {begun} exports before the end");
}
