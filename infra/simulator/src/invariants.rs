//! What must hold once all is quiet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::time::sleep;
use url::form_urlencoded::byte_serialize;

use crate::clients::{Clients, Tenant, is_erasure, is_final};
use crate::contents::Item;
use crate::deployment::{Answer, Deployment, LEASE};
use crate::items::{self, text};
use crate::people::People;
use crate::receivers::{self, Received};
use crate::work::{Cast, Person};

/// Of so many reads, one is made.
const SAMPLE: u32 = 50;

/// The number of runs of the feed job, some of which may be killed, until every change is in the feed.
const FEED_RUNS: usize = 20;

/// The maximum number of runs until everything is delivered. Some runs make the next attempts of failed deliveries.
const DELIVERY_RUNS: usize = 12;

/// How long the runs wait for the next attempts.
const DELIVERY_WAIT: SignedDuration = SignedDuration::from_hours(2);

/// A check of one tenant's data.
struct Check<'c> {
    clients: &'c Clients,
    tenant: &'c Tenant,
    random: fastrand::Rng,
    broken: Vec<String>,
}

/// Returns the invariants that do not hold. Reads are a sample; the items of the table are all checked.
pub(crate) async fn broken(
    deployment: &Deployment,
    clients: &Clients,
    cast: &Cast,
    mut random: fastrand::Rng,
) -> Vec<String> {
    let mut checks: Vec<_> = cast
        .tenants()
        .into_iter()
        .map(|tenant| Check {
            clients,
            tenant: &clients.tenants[tenant],
            random: random.fork(),
            broken: Vec::new(),
        })
        .collect();
    let people = cast.people(clients);
    if cast.has(Person::SecondMember) {
        people.check_factors(&mut random).await;
    }
    // Receipts last for a day, and the other checks take longer if they use up a quota.
    for check in &mut checks {
        check.answers();
        check.receipts().await;
    }
    clients.run_tasks().await;
    move_changes(deployment, &cast.tenants()).await;
    let mut broken = outside_calls(deployment, clients);
    if random.u32(0..SAMPLE) == 0 {
        broken.extend(people.failing_pages(&mut random).await);
    }
    for check in &mut checks {
        check.reads(&people).await;
    }
    move_changes(deployment, &cast.tenants()).await;
    let all = deployment.cloud.items();
    broken.extend(broken_feeds(&all));
    broken.extend(items::broken(&all, deployment.now(), clients));
    for check in &mut checks {
        check.erased_addresses().await;
    }
    broken.extend(checks.into_iter().flat_map(|check| check.broken));
    if !cast.receivers.is_empty() {
        move_changes(deployment, &cast.receivers).await;
        broken.extend(broken_feeds(&deployment.cloud.items()));
        broken.extend(broken_deliveries(deployment, &cast.receivers).await);
    }
    if random.u32(0..SAMPLE) == 0 && !deployment.cloud.knows_all_items() {
        broken.push("an item was written that the checks do not know".to_owned());
    }
    broken
}

/// Moves all changes of these tenants to the feeds.
pub(crate) async fn move_changes(deployment: &Deployment, tenants: &BTreeSet<usize>) {
    // A killed run has left changes to those that come after its time.
    deployment.skip(SignedDuration::try_from(LEASE).expect("a short time"));
    for _ in 0..FEED_RUNS {
        if deployment.run_feed(tenants).await.is_ok() {
            break;
        }
    }
}

/// Every change has one number in its feed, no number is missing, and the last event of each role has its version.
fn broken_feeds(items: &[Arc<Item>]) -> Vec<String> {
    let (mut broken, mut feeds) = (Vec::new(), BTreeMap::<String, BTreeMap<u64, (u64, u64)>>::new());
    let mut seen = BTreeSet::new();
    let number = |value: &Value| value["N"].as_str().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    let items: Vec<_> = items.iter().map(|item| &item.value).collect();
    for item in &items {
        let pk = text(item, "pk");
        if pk.starts_with("OUTBOX#") {
            broken.push(format!("the change {} is not in the feed", text(item, "sk")));
        } else if let Some(tenant) = pk.strip_suffix("#EVENT") {
            let subject = &item["subject"]["M"];
            let role = if subject["type"]["S"] == "role" { number(&subject["id"]) } else { 0 };
            let event = (role, number(&subject["version"]));
            let change = json!([tenant, item["type"], subject, item["at"], item["data"]]).to_string();
            if !seen.insert(change) {
                broken.push(format!("a change is in the feed twice: {item}"));
            }
            feeds.entry(tenant.to_owned()).or_default().insert(number(&item["seq"]), event);
        }
    }
    for (tenant, events) in feeds {
        let last = events.keys().next_back().copied().unwrap_or(0);
        if !events.keys().copied().eq(1..=last) {
            broken.push(format!("the numbers of the events of {tenant} have a gap"));
        }
        let mut versions = BTreeMap::new();
        for (role, version) in events.into_values().filter(|(role, _)| *role != 0) {
            if versions.insert(role, version).is_some_and(|earlier| version < earlier) {
                broken.push(format!("{tenant} has version {version} of role {role} after a later one"));
            }
        }
        let roles = format!("{tenant}#ROLE");
        for item in items.iter().filter(|item| text(item, "pk") == roles) {
            let (role, stored) = (number(&item["id"]), number(&item["version"]));
            // A role that was closed twice has a version without an event.
            if versions.get(&role).is_some_and(|last| *last > stored || *last + 1 < stored) {
                broken.push(format!("the last event of role {role} of {tenant} is not its version {stored}"));
            }
        }
    }
    broken
}

/// Delivers what is left, and returns the invariants that do not hold: each tenant gets all of its events and no other
/// tenant's, with valid signatures, and each event always with the same body.
async fn broken_deliveries(deployment: &Deployment, tenants: &BTreeSet<usize>) -> Vec<String> {
    let mut items = deployment.cloud.items();
    for _ in 0..DELIVERY_RUNS {
        let run = deployment.deliver(tenants).await;
        deployment.cloud.note(format!("deliveries: {run:?}"));
        deployment.skip(DELIVERY_WAIT);
        items = deployment.cloud.items();
        if run.is_ok() && !items.iter().any(|item| text(&item.value, "pk").contains("#DELIVERY_DUE#")) {
            break;
        }
    }
    let mut broken = Vec::new();
    let (mut accepted, mut bodies) = (BTreeSet::new(), BTreeMap::new());
    for received in deployment.outside.received() {
        let is_signed = received.is_signed();
        let Received { tenant, headers, body, is_accepted } = received;
        if !is_signed {
            broken.push(format!("the signature of event {} for tenant {tenant} is not valid", headers.id));
        }
        if is_accepted {
            accepted.insert((tenant, headers.id.clone()));
        }
        if *bodies.entry((tenant, headers.id.clone())).or_insert_with(|| body.clone()) != body {
            broken.push(format!("tenant {tenant} got event {} with another body: {body}", headers.id));
        }
    }
    let is_quiet = |event: &Value| event["quiet"]["BOOL"] == true;
    for (number, tenant) in receivers::all_tenants().into_iter().enumerate() {
        let feed = format!("{tenant}#EVENT");
        let events = items.iter().map(|item| &item.value).filter(|item| text(item, "pk") == feed);
        // Those of an import that notifies nobody are not sent.
        let events = events.filter(|event| !is_quiet(event));
        let events: BTreeSet<_> =
            events.map(|event| event["id"]["N"].as_str().unwrap_or_default().to_owned()).collect();
        let got = bodies.keys().filter(|(receiver, _)| *receiver == number).map(|(_, id)| id);
        broken.extend(
            got.filter(|id| !events.contains(*id))
                .map(|id| format!("tenant {number} should not get event {id}")),
        );
        let missing = events.iter().filter(|id| !accepted.contains(&(number, (*id).clone())));
        if tenants.contains(&number) {
            broken.extend(missing.map(|id| format!("tenant {number} did not get event {id}")));
        }
    }
    broken
}

/// Nobody is called twice for a screen, and nothing is posted more often than it was requested.
fn outside_calls(deployment: &Deployment, clients: &Clients) -> Vec<String> {
    let called = deployment.outside.repeated_calls();
    let mut broken: Vec<_> = called.iter().map(|screen| format!("{screen} was called twice")).collect();
    let posts: u32 = deployment.outside.posts().values().sum();
    let acts = clients.tenants.iter().flat_map(|tenant| tenant.known().acts.clone());
    let requested = acts.filter(|(act, _)| act.path.ends_with("/x/post")).count();
    if posts as usize > requested {
        broken.push(format!("there are {posts} posts on X, but {requested} were requested"));
    }
    broken
}

impl Check<'_> {
    fn fail(&mut self, sentence: &str) {
        self.broken.push(format!("{}: {sentence}", self.tenant.word));
    }

    /// Reads, on the next day if the quota of this one is used up.
    async fn read(&self, path: &str) -> Answer {
        loop {
            let answer = self.clients.send(self.tenant, Method::GET, path, "", &Value::Null).await;
            if answer.status != 429 {
                return answer;
            }
            self.clients.deployment.skip_to_tomorrow();
        }
    }

    /// All items of a list.
    async fn list(&mut self, path: &str) -> Vec<Value> {
        let (mut items, mut next) = (Vec::new(), None::<String>);
        let separator = if path.contains('?') { '&' } else { '?' };
        loop {
            let cursor = next.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
            let answer = self.read(&format!("/api/v1/{path}{separator}limit=100{cursor}")).await;
            if answer.status != 200 {
                self.fail(&format!("{path} answers {} {}", answer.status, answer.text));
                return items;
            }
            items.extend(answer.body["data"].as_array().cloned().unwrap_or_default());
            next = answer.body["next_cursor"].as_str().map(str::to_owned);
            if next.is_none() {
                return items;
            }
        }
    }

    /// Reads some of what the API and the career page return.
    async fn reads(&mut self, people: &People<'_>) {
        if self.is_sampled() {
            self.roles().await;
        }
        if self.is_sampled() {
            self.role_filters().await;
        }
        if self.is_sampled() {
            self.candidates().await;
        }
        if self.is_sampled() {
            self.stages().await;
        }
        if self.is_sampled() {
            self.screens().await;
        }
        if self.is_sampled() {
            self.audit_log().await;
        }
        if self.is_sampled() && std::ptr::eq(self.tenant, &raw const **people.live()) {
            self.openings(people.openings().await).await;
        }
    }

    fn is_sampled(&mut self) -> bool {
        self.random.u32(0..SAMPLE) == 0
    }

    /// Twins have the same answer, nobody gets another tenant's data, and quiet days have no failures.
    fn answers(&mut self) {
        let known = self.tenant.known().clone();
        self.broken.extend(known.unequal_twins);
        self.broken.extend(known.broken);
        for (act, answer) in &known.acts {
            match answer {
                Some(answer) if is_final(answer) || answer.status == 409 => {}
                answer => self.broken.push(format!("{act:?} has no final answer: {answer:?}")),
            }
        }
    }

    /// A repetition with the same key gets the same answer.
    async fn receipts(&mut self) {
        let acts = self.tenant.known().acts.clone();
        for (act, first) in acts {
            let Some(first) = first.filter(|first| first.status < 300 && !act.idempotency_key.is_empty())
            else {
                continue;
            };
            if self.random.u32(0..SAMPLE) > 0 {
                continue;
            }
            let again = self.clients.carry_out(self.tenant, &act).await;
            // The receipts of an erased person are deleted.
            let is_erased = again.status == 410;
            if again.status != 429 && !is_erased && (again.status, &again.body) != (first.status, &first.body)
            {
                self.fail(&format!("{} answered {} first, and {} later", act.path, first.text, again.text));
            }
        }
    }

    /// The lists have all roles and postings, and the statistics of a role agree with its applications.
    async fn roles(&mut self) {
        let roles = self.list("roles").await;
        let postings = self.list("job_postings").await;
        let known = self.tenant.known().all("roles");
        for id in &known {
            if !roles.iter().any(|role| role["id"] == *id) {
                self.fail(&format!("the role {id} is not listed"));
            }
        }
        for posting in &postings {
            let role = roles.iter().find(|role| role["id"] == posting["role_id"]);
            if role.is_none_or(|role| posting["published"] == true && role["status"] == "closed") {
                self.fail(&format!("the posting {posting} has the role {role:?}"));
            }
        }
        if let Some(role) = self.random.choice(&roles).cloned() {
            self.statistics(&role).await;
        }
    }

    /// The filters together return every role once.
    async fn role_filters(&mut self) {
        let roles = self.list("roles").await;
        let mut filtered = 0;
        for status in ["draft", "open", "paused", "closed"] {
            for role in self.list(&format!("roles?status={status}")).await {
                filtered += 1;
                if role["status"] != status {
                    self.fail(&format!("the filter {status} returns {role}"));
                }
            }
        }
        if filtered != roles.len() {
            self.fail(&format!("the filters return {filtered} roles instead of {}", roles.len()));
        }
    }

    async fn statistics(&mut self, role: &Value) {
        let id = &role["id"];
        let stats = self.read(&format!("/api/v1/roles/{id}/stats")).await.body;
        let applications = self.list(&format!("applications?role_id={id}")).await;
        // The applications of erased people are counted, but no longer listed.
        let counted = stats["applicants"].as_u64().unwrap_or_default();
        let listed = applications.len() as u64;
        if counted < listed || counted > listed + self.erasures() {
            self.fail(&format!("the role {id} has {listed} applications, but {stats}"));
        }
        let mut stages = BTreeMap::<&str, u64>::new();
        for application in applications.iter().filter(|application| application["status"] != "closed") {
            *stages.entry(application["stage"].as_str().unwrap_or_default()).or_default() += 1;
        }
        for (stage, numbers) in stats["stages"].as_object().into_iter().flatten() {
            if numbers["now"].as_u64() != Some(stages.get(stage.as_str()).copied().unwrap_or_default()) {
                self.fail(&format!("the role {id} has {stages:?}, but {stats}"));
            }
        }
    }

    /// The number of people who were erased.
    fn erasures(&self) -> u64 {
        self.tenant.known().erasures()
    }

    /// Candidates are listed until they are erased, and found by their names. Details show the whole history.
    async fn candidates(&mut self) {
        let listed = self.list("candidates").await;
        let acts = self.tenant.known().acts.clone();
        let known = self.tenant.known().all("candidates");
        let emails: BTreeSet<_> = listed.iter().map(|candidate| candidate["email"].to_string()).collect();
        if emails.len() != listed.len() {
            self.fail("two candidates have the same e-mail address");
        }
        for id in self.random.choose_multiple(known, 2) {
            let shown = self.read(&format!("/api/v1/candidates/{id}")).await;
            let is_erased =
                acts.iter().any(|act| is_erasure(act) && act.0.path.ends_with(&format!("/{id}/erase")));
            let is_listed = listed.iter().any(|candidate| candidate["id"] == json!(id));
            let expected = if is_erased { 410 } else { 200 };
            if shown.status != expected || is_listed == is_erased {
                self.fail(&format!(
                    "the candidate {id}: {} {}, listed: {is_listed}",
                    shown.status, shown.text
                ));
            }
            if is_erased {
                continue;
            }
            let history = self.list(&format!("candidates/{id}/touchpoints")).await;
            if shown.body["touchpoints"] != json!(history) {
                self.fail(&format!("the history of {id} is {history:?}, but {} was shown", shown.text));
            }
            let name = shown.body["name"].as_str().unwrap_or_default();
            let name: String = byte_serialize(name.as_bytes()).collect();
            let found = self.list(&format!("candidates?q={name}")).await;
            if !found.iter().any(|candidate| candidate["id"] == json!(id)) {
                self.fail(&format!("the candidate {id} is not found by the name: {name}"));
            }
        }
    }

    /// The filters together return every candidate once.
    async fn stages(&mut self) {
        let listed = self.list("candidates").await;
        let mut filtered = 0;
        for stage in ["applied", "screening", "interview", "offer", "hired", "rejected"] {
            filtered += self.list(&format!("candidates?stage={stage}")).await.len();
        }
        if filtered != listed.len() {
            self.fail(&format!("the stages have {filtered} candidates, and the list has {}", listed.len()));
        }
    }

    /// The career page shows the published postings of open roles.
    async fn openings(&mut self, mut shown: Vec<String>) {
        let roles = self.list("roles?status=open").await;
        let postings = self.list("job_postings").await;
        let open = |posting: &&Value| {
            posting["published"] == true && roles.iter().any(|role| role["id"] == posting["role_id"])
        };
        let titles =
            postings.iter().filter(open).map(|posting| posting["title"].as_str().unwrap_or_default());
        let mut expected: Vec<_> = titles.map(str::to_owned).collect();
        expected.sort_unstable();
        shown.sort_unstable();
        if shown != expected {
            self.fail(&format!("the career page shows {shown:?} instead of {expected:?}"));
        }
    }

    /// Every act that is audited has its entries.
    async fn audit_log(&mut self) {
        // An entry whose clock is ahead is not listed before its time.
        sleep(Duration::from_secs(5)).await;
        let entries = self.list("audit_log").await;
        let recorded = |action: &str| entries.iter().filter(|entry| entry["action"] == action).count();
        let acts = self.tenant.known().audited.clone();
        for (action, count) in acts {
            if recorded(action) < count {
                self.fail(&format!("{count} times {action}, but {} entries", recorded(action)));
            }
        }
        let erased = self.tenant.known().acts.clone().into_iter().filter(is_erasure);
        let ids: BTreeSet<_> =
            erased.filter_map(|(act, _)| act.path.split('/').nth(4)?.parse::<u64>().ok()).collect();
        for id in ids {
            let of = entries.iter().filter(|entry| {
                entry["action"] == "candidate.erased" && entry["target"]["id"].as_u64() == Some(id)
            });
            if of.count() != 1 {
                self.fail(&format!("the erasure of {id} is not in the audit log once"));
            }
        }
    }

    /// The addresses of erased people can be used again, and those of others cannot.
    async fn erased_addresses(&mut self) {
        let erased = self.tenant.known().erased();
        let acts = self.tenant.known().acts.clone();
        let others = acts.iter().filter_map(|(act, _)| act.body["email"].as_str().map(str::to_owned));
        let mut emails: BTreeSet<_> = erased.into_iter().collect();
        if self.is_sampled() {
            emails.extend(self.random.choose_multiple(others, 1));
        }
        if emails.is_empty() {
            return;
        }
        let listed = self.list("candidates").await;
        for (number, email) in emails.into_iter().enumerate() {
            let is_taken = listed.iter().any(|candidate| candidate["email"] == email.as_str());
            let body = json!({ "name": self.tenant.word, "email": email });
            let key = format!("again-{number}");
            let answer =
                self.clients.send(self.tenant, Method::POST, "/api/v1/candidates", &key, &body).await;
            let expected = if is_taken { 422 } else { 201 };
            if answer.status != 429 && answer.status != expected {
                self.fail(&format!("{email}: {} {}, taken: {is_taken}", answer.status, answer.text));
            }
        }
    }

    /// Every screen ends, and is in its lists.
    async fn screens(&mut self) {
        for screen in self.list("voice_screens").await {
            let status = screen["status"].as_str().unwrap_or_default();
            if matches!(status, "queued" | "in_progress") {
                self.fail(&format!("the screen never ended: {screen}"));
            }
            let id = screen["id"].clone();
            let filtered = self.list(&format!("voice_screens?status={status}")).await;
            if !filtered.iter().any(|other| other["id"] == id) {
                self.fail(&format!("the filter {status} misses the screen {id}"));
            }
        }
    }
}
