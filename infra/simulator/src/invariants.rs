//! What must hold once all is quiet.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};
use shared::model::Day;
use tokio::time::sleep;

use crate::clients::{Act, Clients, Tenant, is_final};
use crate::deployment::{Answer, Deployment, TABLE};
use crate::people::People;

/// The number of runs of the feed job, some of which may be killed, until every change is in the feed.
const FEED_RUNS: usize = 20;

/// A check of one tenant's data.
struct Check<'c> {
    clients: &'c Clients,
    tenant: &'c Tenant,
    broken: Vec<String>,
}

/// Returns the quotas that do not hold, before anything else is requested.
pub(crate) async fn broken_quotas(deployment: &Deployment, clients: &Clients) -> Vec<String> {
    let mut broken = Vec::new();
    for tenant in &clients.tenants {
        let mut check = Check { clients, tenant, broken: Vec::new() };
        check.quota(Day::of(deployment.now()) == clients.first_day).await;
        broken.append(&mut check.broken);
    }
    broken
}

/// Returns the invariants that do not hold.
pub(crate) async fn broken(deployment: &Deployment, clients: &Clients) -> Vec<String> {
    let mut broken = Vec::new();
    // Receipts last for a day, and the other checks take longer if they use up a quota.
    for tenant in &clients.tenants {
        let mut check = Check { clients, tenant, broken: Vec::new() };
        check.answers();
        check.receipts().await;
        broken.append(&mut check.broken);
    }
    clients.run_tasks().await;
    broken.extend(broken_feeds(deployment).await);
    broken.extend(leftovers(deployment, clients));
    broken.extend(miscounted(&deployment.cloud.items(TABLE)));
    broken.extend(outside_calls(deployment, clients));
    for people in People::of(clients) {
        broken.extend(people.failing_pages().await);
        let openings = people.openings().await;
        let mut check = Check { clients, tenant: people.live(), broken: Vec::new() };
        check.openings(openings).await;
        check.applicants().await;
        broken.append(&mut check.broken);
    }
    for tenant in &clients.tenants {
        let mut check = Check { clients, tenant, broken: Vec::new() };
        check.roles().await;
        check.candidates().await;
        check.screens().await;
        check.audit_log().await;
        check.erased_addresses().await;
        broken.append(&mut check.broken);
    }
    broken
}

/// Every change has one number in its feed, no number is missing, and the last event of each role has its version.
async fn broken_feeds(deployment: &Deployment) -> Vec<String> {
    for _ in 0..FEED_RUNS {
        if deployment.run_feed().await.is_ok() {
            break;
        }
    }
    let (mut broken, mut feeds) = (Vec::new(), BTreeMap::<String, BTreeMap<u64, (u64, u64)>>::new());
    let items = deployment.cloud.items(TABLE);
    let text = |item: &Value, name: &str| item[name]["S"].as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| value["N"].as_str().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    for item in &items {
        let pk = text(item, "pk");
        if pk.starts_with("OUTBOX#") {
            broken.push(format!("the change {} is not in the feed", text(item, "sk")));
        } else if let Some(tenant) = pk.strip_suffix("#EVENT") {
            let subject = &item["subject"]["M"];
            let role = if subject["type"]["S"] == "role" { number(&subject["id"]) } else { 0 };
            let event = (role, number(&subject["version"]));
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
        for item in items.iter().filter(|item| text(item, "pk") == format!("{tenant}#ROLE")) {
            let (role, stored) = (number(&item["id"]), number(&item["version"]));
            // A role that was closed twice has a version without an event.
            if versions.get(&role).is_some_and(|last| *last > stored || *last + 1 < stored) {
                broken.push(format!("the last event of role {role} of {tenant} is not its version {stored}"));
            }
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

/// No task waits that should have been done, and nothing of an erased person is left.
fn leftovers(deployment: &Deployment, clients: &Clients) -> Vec<String> {
    let mut broken = Vec::new();
    let items = deployment.cloud.items(TABLE);
    let now = deployment.now().as_second();
    for item in &items {
        let text = |name: &str| item[name]["S"].as_str().unwrap_or_default();
        if text("pk").starts_with("TASK#") {
            let due: i64 = text("sk").split('#').nth(3).and_then(|due| due.parse().ok()).unwrap_or(0);
            if due < now - 60 {
                broken.push(format!("the task {} was not done", text("sk")));
            }
        }
    }
    let texts: Vec<_> = items.iter().map(|item| item.to_string().to_lowercase()).collect();
    for tenant in &clients.tenants {
        let check = Check { clients, tenant, broken: Vec::new() };
        for email in check.erased() {
            if check.is_known_again(&email) {
                continue;
            }
            let left = texts.iter().filter(|item| item.contains(&email.to_lowercase()));
            broken.extend(left.map(|item| format!("{email} was erased, but is in {item}")));
        }
    }
    broken
}

/// The counters of all roles are the numbers of active applications in the lists, in each tenant.
fn miscounted(items: &[Value]) -> Vec<String> {
    let mut left = BTreeMap::<String, i64>::new();
    for item in items {
        let text = |name: &str| item[name]["S"].as_str().unwrap_or_default();
        let is = |name: &str| item[name]["BOOL"] == true;
        if let Some(tenant) = text("pk").strip_suffix("#HIRING_STATS") {
            for (name, value) in item.as_object().into_iter().flatten() {
                if name.starts_with("active_") || name == "screened" {
                    let count: i64 = value["N"].as_str().and_then(|count| count.parse().ok()).unwrap_or(0);
                    *left.entry(format!("{tenant} {name}")).or_default() += count;
                }
            }
        } else if let Some(tenant) = text("pk").strip_suffix("#APPLICATION") {
            let stage = text("stage");
            if is("role_closed") || stage == "hired" || stage == "rejected" {
                continue;
            }
            *left.entry(format!("{tenant} active_{stage}")).or_default() -= 1;
            if is("screened") && stage == "screening" {
                *left.entry(format!("{tenant} screened")).or_default() -= 1;
            }
        }
    }
    let wrong = left.into_iter().filter(|(_, left)| *left != 0);
    wrong.map(|(name, left)| format!("{name} differs by {left} from the applications")).collect()
}

/// Whether the act erased somebody.
fn is_erasure((act, answer): &(Act, Option<Answer>)) -> bool {
    act.path.ends_with("/erase") && answer.as_ref().is_some_and(|answer| answer.status == 202)
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
            self.clients.deployment.skip(SignedDuration::from_hours(24));
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

    /// Every admitted request is counted once, and a request without an answer at most once.
    async fn quota(&mut self, is_same_day: bool) {
        let (admitted, uncertain) = {
            let known = self.tenant.known();
            (known.admitted, known.uncertain)
        };
        let limit = if is_same_day { 100 } else { 200 };
        if self.tenant.is_free && admitted > limit {
            self.fail(&format!("{admitted} requests were admitted"));
        }
        let usage = self.read("/api/v1/organization").await;
        let counted = usage.body["usage"]["requests_today"].as_u64().unwrap_or_default();
        // This request is counted, too.
        let (least, most) = (admitted + 1, admitted + uncertain + 1);
        if counted > most || is_same_day && counted < least {
            self.fail(&format!(
                "{counted} requests are counted, but {admitted} were admitted, and {uncertain} may be"
            ));
        }
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
            let Act { method, path, idempotency_key, body, .. } = act;
            let again = self.clients.send(self.tenant, method, &path, &idempotency_key, &body).await;
            // The receipts of an erased person are deleted.
            let is_erased = again.status == 410;
            if again.status != 429 && !is_erased && (again.status, &again.body) != (first.status, &first.body)
            {
                self.fail(&format!("{path} answered {} first, and {} later", first.text, again.text));
            }
        }
    }

    /// Each creation has one role, quick posts have a posting, filters and statistics agree with the full lists.
    async fn roles(&mut self) {
        let roles = self.list("roles").await;
        let postings = self.list("job_postings").await;
        let acts = self.tenant.known().acts.clone();
        for (act, answer) in &acts {
            let is_quick = act.path.ends_with("/quick_post");
            if act.method != Method::POST || !(is_quick || act.path.ends_with("/roles")) {
                continue;
            }
            let created: Vec<_> = roles.iter().filter(|role| role["title"] == act.name).collect();
            let expected = usize::from(answer.as_ref().is_some_and(|answer| answer.status == 201));
            if created.len() != expected {
                self.fail(&format!(
                    "{act:?} was answered with {answer:?}, but there are {} roles",
                    created.len()
                ));
            }
            for role in created.iter().filter(|_| is_quick) {
                let own = postings.iter().filter(|posting| posting["role_id"] == role["id"]).count();
                if own != 1 {
                    self.fail(&format!("the quick post {} has {own} postings", act.name));
                }
            }
        }
        let all: BTreeSet<_> = roles.iter().filter_map(|role| role["id"].as_u64()).collect();
        let mut filtered = BTreeSet::new();
        for status in ["draft", "open", "paused", "closed"] {
            for role in self.list(&format!("roles?status={status}")).await {
                if role["status"] != status || !filtered.insert(role["id"].as_u64().unwrap_or_default()) {
                    self.fail(&format!("the filter {status} returns {role}"));
                }
            }
        }
        if filtered != all {
            self.fail(&format!("the filters return the roles {filtered:?} instead of {all:?}"));
        }
        for posting in &postings {
            let role = roles.iter().find(|role| role["id"] == posting["role_id"]);
            if role.is_none_or(|role| posting["published"] == true && role["status"] == "closed") {
                self.fail(&format!("the posting {posting} has the role {role:?}"));
            }
        }
        for role in &roles {
            self.statistics(role).await;
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
        self.tenant.known().acts.iter().filter(|act| is_erasure(act)).count() as u64
    }

    /// Each creation has one candidate, erased people stay erased, and histories are complete.
    async fn candidates(&mut self) {
        let listed = self.list("candidates").await;
        let acts = self.tenant.known().acts.clone();
        let known = self.tenant.known().all("candidates");
        for id in known {
            let shown = self.read(&format!("/api/v1/candidates/{id}")).await;
            let is_erased = acts.iter().any(|(act, answer)| {
                act.path.ends_with(&format!("/{id}/erase"))
                    && answer.as_ref().is_some_and(|answer| answer.status == 202)
            });
            let is_listed = listed.iter().any(|candidate| candidate["id"] == json!(id));
            let expected = if is_erased { 410 } else { 200 };
            if shown.status != expected || is_listed == is_erased {
                self.fail(&format!(
                    "the candidate {id}: {} {}, listed: {is_listed}",
                    shown.status, shown.text
                ));
            }
            if !is_erased {
                let listed = self.list(&format!("candidates/{id}/touchpoints")).await;
                let ids: BTreeSet<_> = listed.iter().map(|touchpoint| touchpoint["id"].to_string()).collect();
                let changes = acts.iter().filter(|(act, answer)| {
                    let is_change = act.path.starts_with(&format!("/api/v1/candidates/{id}/"))
                        && !act.path.ends_with("/notes")
                        && !act.path.ends_with("/erase");
                    is_change && answer.as_ref().is_some_and(|answer| answer.status < 300)
                });
                if listed.len() < changes.count() + 1 {
                    self.fail(&format!("the history of {id} is not complete: {listed:?}"));
                }
                if shown.body["touchpoints"] != json!(listed) || ids.len() != listed.len() {
                    self.fail(&format!("the history of {id} is {listed:?}, but {} was shown", shown.text));
                }
            }
        }
        let emails: BTreeSet<_> = listed.iter().map(|candidate| candidate["email"].to_string()).collect();
        if emails.len() != listed.len() {
            self.fail("two candidates have the same e-mail address");
        }
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

    /// Whoever got a confirmation is a candidate, or was erased.
    async fn applicants(&mut self) {
        let applicants = self.tenant.known().applicants.clone();
        let listed = self.list("candidates").await;
        for email in applicants {
            let is_same =
                |other: &Value| other.as_str().is_some_and(|other| other.eq_ignore_ascii_case(&email));
            let is_listed = listed.iter().any(|candidate| is_same(&candidate["email"]));
            if !is_listed && !self.erased().iter().any(|erased| erased.eq_ignore_ascii_case(&email)) {
                self.fail(&format!("{email} applied, but is no candidate"));
            }
        }
    }

    /// The addresses of the people who were erased.
    fn erased(&self) -> Vec<String> {
        let known = self.tenant.known();
        let acts = known.acts.iter();
        let erased = acts.filter(|act| is_erasure(act));
        let email = |id: Option<u64>| {
            let mut created = known.acts.iter().filter(|(act, answer)| {
                act.path.ends_with("/candidates")
                    && answer.as_ref().is_some_and(|answer| answer.body["id"].as_u64() == id)
            });
            Some(created.next()?.0.body["email"].as_str()?.to_owned())
        };
        erased.filter_map(|(act, _)| email(act.path.split('/').nth(4)?.parse().ok())).collect()
    }

    /// Whether somebody with the address of an erased person has applied or was added once more.
    fn is_known_again(&self, email: &str) -> bool {
        let erased = self.erased().iter().filter(|erased| erased.eq_ignore_ascii_case(email)).count();
        let known = self.tenant.known();
        let added = known.acts.iter().filter(|(act, answer)| {
            act.path.ends_with("/candidates")
                && answer.as_ref().is_some_and(|answer| answer.status == 201)
                && act.body["email"].as_str().is_some_and(|other| other.eq_ignore_ascii_case(email))
        });
        added.count() > erased || known.applicants.iter().any(|other| other.eq_ignore_ascii_case(email))
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

    /// The address of an erased person can be used again.
    async fn erased_addresses(&mut self) {
        let acts = self.tenant.known().acts.clone();
        let emails: BTreeSet<_> = acts.iter().filter_map(|(act, _)| act.body["email"].as_str()).collect();
        let listed = self.list("candidates").await;
        for (number, email) in emails.into_iter().enumerate() {
            let is_taken = listed.iter().any(|candidate| candidate["email"] == email);
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
