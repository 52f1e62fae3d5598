//! A member's program that imports people while others work: it sends rows, waits for their verdicts, runs the import, and
//! undoes some.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::clients::{Clients, Tenant, is_erasure};
use crate::cloud::Cloud;
use crate::contents::Item;
use crate::deployment::Deployment;
use crate::faults::Faults;
use crate::items::text;
use crate::kind::Kind;
use crate::setup::Setup;
use crate::time::paused_runtime;
use crate::work::Cast;

/// In one run of so many, there is such a program.
const IMPORTED: u64 = 10;
/// The first such run. It has a client that keeps copies of the lists, too.
const FIRST_IMPORTED: u64 = 3;
/// The maximum number of rows.
const ROWS: u64 = 4;
/// The number of notes of some rows.
const MANY: usize = 60;
/// How often the program looks how far the import is, while others work.
const LOOKS: u32 = 12;
/// The time after which another run takes over a part of an import.
const TURN: Duration = Duration::from_secs(160);
/// The maximum number of times that it looks once all is quiet.
const QUIET_LOOKS: u32 = 8;
const PATH: &str = "/api/v1/imports";

/// The imports of a tenant.
pub(crate) struct Imports<'c> {
    clients: &'c Clients,
    tenant: &'c Tenant,
    random: fastrand::Rng,
    /// Whether people of the dashboard may change what was imported.
    is_alone: bool,
    /// How each import ended.
    ended: BTreeMap<u64, Value>,
}

/// How many items a row has made.
#[derive(Debug, PartialEq, Eq)]
struct Made {
    people: usize,
    applications: usize,
    notes: usize,
}

impl<'c> Imports<'c> {
    /// The imports in a run with this seed, of a tenant that others change; `None` in most runs.
    pub(crate) fn of(clients: &'c Clients, cast: &Cast, seed: u64) -> Option<Self> {
        let tenants: Vec<_> = cast.tenants().into_iter().map(|tenant| &*clients.tenants[tenant]).collect();
        let tenant = *tenants.iter().find(|tenant| !tenant.is_free).or(tenants.first())?;
        (seed % IMPORTED == FIRST_IMPORTED).then(|| Self {
            clients,
            tenant,
            random: fastrand::Rng::with_seed(seed ^ 0x1a9),
            is_alone: !cast.has_people(),
            ended: BTreeMap::new(),
        })
    }

    /// Sends an import, and looks at it at random times. Every step may be one that fails.
    pub(crate) async fn bring(&mut self) {
        let number = self.tenant.known().next();
        let rows: Vec<_> = (0..self.random.u64(1..=ROWS)).map(|row| self.row(number, row)).collect();
        let body = json!({ "format": "ndjson", "rows": rows, "notify": self.random.bool() });
        let name = format!("{} {number}.", self.tenant.word);
        self.clients.create(self.tenant, "imports", body, name, &mut self.random).await;
        for _ in 0..LOOKS {
            // A part whose turn was killed is taken over after a while.
            let wait = if self.random.u32(0..3) == 0 {
                TURN
            } else {
                Duration::from_millis(self.random.u64(0..2_000))
            };
            sleep(wait).await;
            if self.random.u32(0..4) > 0 {
                let deployment = &self.clients.deployment;
                // A failed run is repeated by the next one.
                let _ = deployment.run_tasks_of(deployment.cloud.task_partitions_in_use()).await;
            }
            let ids = self.tenant.known().all("imports");
            for id in ids {
                self.go_on(id).await;
            }
        }
    }

    /// Somebody new, somebody who may be known, or somebody of an earlier row.
    fn row(&mut self, number: u64, row: u64) -> Value {
        let word = self.tenant.word;
        let unique = format!("{word} {number} {row}.");
        // Some rows need several transactions.
        let notes = if self.random.u32(0..4) == 0 { MANY } else { 1 };
        let mut body = json!({
            "name": unique,
            "tags": [format!("{word} {}", row % 2)],
            "source": format!("{word} fair"),
            "notes": (0..notes).map(|note| note_of(&unique, note)).collect::<Vec<_>>(),
            "applications": [{
                "external_id": format!("{word}-{number}-{row}"),
                "role": { "title": unique },
                "applied_at": "2026-11-02T10:00:00Z",
                "stage": self.random.choice(["applied", "interview", "rejected"]),
            }],
        });
        match self.random.u32(0..4) {
            0 => {
                let owner = self.random.u64(1..number);
                body["email"] = json!(format!("{word}.{owner}@example.com"));
            }
            1 if row > 0 => body["email"] = json!(new_email(word, number, 0)),
            _ => {
                body["email"] = json!(new_email(word, number, row));
                body["external_id"] = json!(format!("{word}-{number}-{row}"));
                body["phone"] = json!(format!("+1415201{number:04}"));
            }
        }
        body
    }

    /// Takes the next step of an import, and returns how far it is.
    async fn go_on(&mut self, id: u64) -> Value {
        let (clients, tenant) = (self.clients, self.tenant);
        let path = format!("{PATH}/{id}");
        let import = clients.send(tenant, Method::GET, &path, "", &Value::Null).await.body;
        let step = match import["status"].as_str() {
            Some("checked") => "run",
            Some("running") if self.random.u32(0..16) == 0 => "cancel",
            // Half of them are undone.
            Some("done" | "cancelled") if id.is_multiple_of(2) && import["undone_at"].is_null() => "undo",
            _ => return import,
        };
        clients.send(tenant, Method::POST, &format!("{path}/{step}"), "", &json!({})).await;
        Value::Null
    }

    /// Takes the steps that are left, once all is quiet.
    pub(crate) async fn settle(&mut self) {
        let acts = self.tenant.known().acts.clone();
        let created = acts.iter().filter(|(act, _)| act.path == PATH);
        let ids: Vec<_> = created.filter_map(|(_, answer)| answer.as_ref()?.body["id"].as_u64()).collect();
        for id in ids {
            for _ in 0..QUIET_LOOKS {
                let import = self.go_on(id).await;
                let status = import["status"].as_str().unwrap_or_default().to_owned();
                self.ended.insert(id, import);
                if matches!(status.as_str(), "done" | "undone" | "cancelled" | "failed") {
                    break;
                }
                self.clients.run_tasks().await;
            }
        }
        let undone = self.ended.values().filter_map(|import| import["counts"]["undone"].as_u64()).sum();
        self.tenant.known().undone = undone;
    }

    /// What does not hold: each import has ended, and of each row there is everything once, or nothing.
    pub(crate) fn broken(&self, items: &[Arc<Item>]) -> Vec<String> {
        let mut broken = Vec::new();
        let hidden = format!("{}#UNFINISHED_CANDIDATE", self.tenant.id);
        let hidden = items.iter().filter(|item| text(&item.value, "pk") == hidden);
        broken.extend(hidden.map(|item| format!("a person stays hidden: {}", item.value)));
        let acts = self.tenant.known().acts.clone();
        let has_erasures = acts.iter().any(is_erasure);
        for (act, answer) in acts.iter().filter(|(act, _)| act.path == PATH) {
            let Some(id) = answer.as_ref().and_then(|answer| answer.body["id"].as_u64()) else { continue };
            let (Some(import), Some(rows)) = (self.ended.get(&id), act.body["rows"].as_array()) else {
                broken.push(format!("the import {id} was not looked at"));
                continue;
            };
            let status = import["status"].as_str().unwrap_or_default();
            if !matches!(status, "done" | "undone" | "cancelled") {
                broken.push(format!("the import did not end: {import}"));
            }
            for row in rows {
                let made = self.made(row, items);
                let notes = row["notes"].as_array().map_or(0, Vec::len);
                let [whole, nothing] =
                    [1, 0].map(|times| Made { people: times, applications: times, notes: times * notes });
                let is_whole = match status {
                    _ if row["external_id"].is_null() => {
                        let is_known = !has_erasures && status == "done" && import["counts"]["invalid"] == 0;
                        made.applications <= 1
                            && made.notes <= notes
                            && (!is_known || made == Made { people: 0, ..whole })
                    }
                    "done" => made == whole,
                    "undone" if self.is_alone => made == nothing,
                    // A cancelled import stops between two rows.
                    _ => made == whole || made == nothing,
                };
                if !is_whole {
                    broken.push(format!("{made:?} of {row} in {import}"));
                }
            }
        }
        broken
    }

    fn made(&self, row: &Value, items: &[Arc<Item>]) -> Made {
        let count = |partition: &str, name: &str, value: &Value| {
            let partition = format!("{}#{partition}", self.tenant.id);
            let is_of = |item: &&Arc<Item>| {
                text(&item.value, "pk").starts_with(&partition)
                    && !value.is_null()
                    && item.value[name]["S"] == *value
            };
            items.iter().filter(is_of).count()
        };
        let application = &row["applications"][0];
        let everybody = format!("{}#CANDIDATE", self.tenant.id);
        let person = |item: &&Arc<Item>| {
            text(&item.value, "pk") == everybody
                && !row["external_id"].is_null()
                && item.value["external_id"]["S"] == row["external_id"]
        };
        Made {
            people: items.iter().filter(person).count(),
            applications: count("APPLICATION", "external_id", &application["external_id"]),
            notes: row["notes"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|note| count("CANDIDATE_NOTE#", "text", &note["text"]))
                .sum(),
        }
    }
}

fn note_of(row: &str, number: usize) -> Value {
    json!({ "text": format!("{row} Note {number}."), "at": "2026-11-03T10:00:00Z" })
}

fn new_email(word: &str, number: u64, row: u64) -> String {
    format!("{word}.import.{number}.{row}@example.com")
}

/// Lets all tenants but one run three imports of `rows` rows on a quiet day, when the last one has a task. Returns the number of
/// rows that were carried out when that task was done.
pub fn rows_before_the_task_of_another_tenant(rows: usize) -> usize {
    let kind = Kind::of(0);
    let setup = Setup::of(kind);
    fastrand::seed(0);
    paused_runtime().block_on(Box::pin(async {
        let replica = setup.clone();
        let cloud =
            Cloud::new(0, Faults::default(), setup.table(), move || replica.table(), setup.contents());
        let deployment = Arc::new(Deployment::new(0, Faults::default(), cloud, kind, kind.start()));
        let clients = Clients::new(deployment.clone(), setup.known());
        let (last, others) = clients.tenants.split_last().expect("tenants");
        let post = async |tenant: &Tenant, path: &str, body: &Value| {
            let answer = clients.send(tenant, Method::POST, path, "", body).await;
            assert!(matches!(answer.status, 201 | 202), "{}", answer.text);
            answer.body["id"].as_u64().expect("an id")
        };
        let mut imports = Vec::new();
        for (tenant, number) in others.iter().flat_map(|tenant| (0..3).map(move |number| (tenant, number))) {
            let name = |row| json!({ "name": format!("{} {number} {row}.", tenant.word) });
            let body = json!({ "format": "ndjson", "rows": (0..rows).map(name).collect::<Vec<_>>() });
            imports.push((tenant, post(tenant, PATH, &body).await));
        }
        clients.run_tasks().await;
        for (tenant, id) in imports {
            post(tenant, &format!("{PATH}/{id}/run"), &json!({})).await;
        }
        let role = last.known().all("roles")[0];
        let path = format!("/api/v1/roles/{role}");
        clients.send(last, Method::PATCH, &path, "", &json!({ "title": "Another title" })).await;
        let count = |start: &str, part: &str| {
            let is_of =
                |item: &&Arc<Item>| text(&item.value, "pk").starts_with(start) && item.text.contains(part);
            deployment.cloud.items().iter().filter(is_of).count()
        };
        // The clocks of the functions that have written the tasks differ.
        deployment.skip(SignedDuration::from_secs(5));
        let task = format!("{role}\"");
        assert!(count("TASK#", &task) == 1, "the role has no task");
        let done = async {
            while count("TASK#", &task) > 0 {
                sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            biased;
            () = done => {}
            run = deployment.run_tasks_of(deployment.cloud.task_partitions_in_use()) => run.expect("a run"),
        }
        others.iter().map(|tenant| count(&format!("{}#IMPORT_ROW", tenant.id), "")).sum()
    }))
}
