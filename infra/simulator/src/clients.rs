//! Clients of several organizations that use the API at random, and repeat what failed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Method;
use jiff::SignedDuration;
use rolecall_local::demo::DEMOS;
use serde_json::{Value, json};
use shared::model::{Day, Mode};
use tokio::time::sleep;

use crate::browser::Browser;
use crate::contents::{TABLE, WORDS};
use crate::deployment::{Answer, Deployment, MCP_VERSION};
use crate::factors::Factors;
use crate::outside::BASE_URL;

/// How often a client repeats a failed request before it gives up.
pub(crate) const ATTEMPTS: u32 = 4;
/// The maximum number of runs of the tasks until all are done.
const ROUNDS: u32 = 8;
/// How many of a thousand requests are sent twice at the same time.
const TWINS: u32 = 80;
/// Of so many requests, an assistant sends one over MCP, if there is a tool for it.
const ASSISTED: u32 = 4;
/// How often a member answers a question about one call. The call may mean something else since the last answer.
const QUESTIONS: usize = 3;

/// A request that changes something.
#[derive(Clone, Debug)]
pub(crate) struct Act {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) idempotency_key: String,
    pub(crate) body: Value,
    /// The name of what the request creates, which nothing else has.
    pub(crate) name: String,
    /// The MCP tool that carries it out, if an assistant sends it. The body has the tool's arguments.
    tool: Option<&'static str>,
    /// Whether a member refuses it, if an assistant asks.
    is_refused: bool,
    /// Whether the assistant cannot show forms, so that a member answers on a page.
    is_on_page: bool,
}

/// What clients of one tenant know.
#[derive(Debug)]
pub(crate) struct Tenant {
    /// A word in every text that its clients send, and in no other tenant's.
    pub(crate) word: &'static str,
    /// The beginning of the keys of its items.
    pub(crate) id: String,
    pub(crate) key: String,
    pub(crate) is_free: bool,
    /// The number of its organization, from 0.
    pub(crate) organization: usize,
    known: Mutex<Known>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// The identifiers by kind, such as `roles`.
    ids: BTreeMap<&'static str, Vec<u64>>,
    /// The acts and their answers. An act without a final answer has none.
    pub(crate) acts: Vec<(Act, Option<Answer>)>,
    /// Successful answers to two requests at the same time that differ.
    pub(crate) unequal_twins: Vec<String>,
    /// The other invariants that did not hold.
    pub(crate) broken: Vec<String>,
    /// The addresses of people whose application was received.
    pub(crate) applicants: Vec<String>,
    /// The number of people whose import was undone.
    pub(crate) undone: u64,
    /// The pages on which a member has confirmed a call, or has tried to.
    confirmed: BTreeSet<String>,
    /// The second factor and the passkey of the organization's second member.
    pub(crate) factors: Factors,
    /// How often something was done that the audit log must contain.
    pub(crate) audited: BTreeMap<&'static str, usize>,
    /// The number of answers that count against the quota, and of answers that may count.
    pub(crate) admitted: u64,
    pub(crate) uncertain: u64,
    numbers: u64,
}

/// The clients.
pub(crate) struct Clients {
    pub(crate) deployment: Arc<Deployment>,
    pub(crate) tenants: Vec<Arc<Tenant>>,
    requests: AtomicU64,
}

/// The number of requests that a tenant with a quota has on a day.
pub(crate) const DAILY_QUOTA: u64 = 100;
/// The number of tenants.
pub(crate) const TENANTS: usize = 4;

impl Tenant {
    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    pub(crate) fn audited(&mut self, action: &'static str) {
        *self.audited.entry(action).or_default() += 1;
    }

    pub(crate) fn all(&self, kind: &'static str) -> Vec<u64> {
        self.ids.get(kind).cloned().unwrap_or_default()
    }

    fn any(&self, random: &mut fastrand::Rng, kind: &'static str) -> Option<u64> {
        random.choice(self.ids.get(kind)?).copied()
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}

impl Clients {
    /// Clients who know this about each tenant.
    pub(crate) fn new(deployment: Arc<Deployment>, known: Vec<Known>) -> Self {
        let modes =
            DEMOS.iter().enumerate().flat_map(|(number, demo)| Mode::ALL.map(|mode| (number, demo, mode)));
        let tenants =
            modes.zip(WORDS.as_flattened()).zip(known).map(|(((number, demo, mode), word), known)| {
                Arc::new(Tenant {
                    word,
                    id: demo.tenant(mode).expect("a tenant").to_string(),
                    key: demo.key(mode).expect("a key").reveal().to_owned(),
                    is_free: demo.plan.requests_per_day().is_some(),
                    organization: number,
                    known: Mutex::new(known),
                })
            });
        Self { tenants: tenants.collect(), deployment, requests: AtomicU64::default() }
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Counts so many requests of some tenants with a quota that few are left on the first day.
    pub(crate) fn use_up_quota(&self, random: &mut fastrand::Rng) {
        let today = Day::of(self.deployment.now());
        for tenant in self.tenants.iter().filter(|tenant| tenant.is_free) {
            if random.u32(0..4) > 0 {
                continue;
            }
            let counted = random.u64(80..=DAILY_QUOTA);
            let request = json!({
                "TableName": TABLE,
                "Key": { "pk": { "S": format!("{}#GATE", tenant.id) }, "sk": { "S": "GATE" } },
                "UpdateExpression": "SET #day = :counted",
                "ExpressionAttributeNames": { "#day": format!("day_{today}") },
                "ExpressionAttributeValues": { ":counted": { "N": counted.to_string() } },
            });
            self.deployment.cloud.execute("UpdateItem", &request);
            tenant.known().admitted = counted;
        }
    }

    /// Acts at random.
    pub(crate) async fn client(&self, tenant: &Tenant, mut random: fastrand::Rng, steps: u32) {
        for _ in 0..steps {
            sleep(Duration::from_millis(random.u64(0..500))).await;
            let chosen = choose(tenant, &mut random);
            match chosen {
                Step::Act(kind, act) => {
                    let answer = self.act(tenant, &act, &mut random).await;
                    record(tenant, kind, act, answer);
                }
                Step::Read(path) => {
                    self.send(tenant, Method::GET, &path, "", &Value::Null).await;
                }
                Step::Ask(tool, arguments) => {
                    self.call_tool(tenant, tool, &arguments, false, false).await;
                }
            }
        }
    }

    /// Creates something, and remembers it.
    pub(crate) async fn create(
        &self,
        tenant: &Tenant,
        kind: &'static str,
        body: Value,
        name: String,
        random: &mut fastrand::Rng,
    ) {
        let path = format!("/api/v1/{kind}");
        let idempotency_key = name.replace([' ', '.'], "-");
        let (tool, is_refused, is_on_page) = (None, false, false);
        let act =
            Act { method: Method::POST, path, idempotency_key, body, name, tool, is_refused, is_on_page };
        let answer = self.act(tenant, &act, random).await;
        record(tenant, kind, act, answer);
    }

    /// Sends a request until its answer is final.
    async fn act(&self, tenant: &Tenant, act: &Act, random: &mut fastrand::Rng) -> Option<Answer> {
        for attempt in 0..ATTEMPTS {
            let send = || self.carry_out(tenant, act);
            let answer = if attempt == 0 && !act.idempotency_key.is_empty() && random.u32(0..1_000) < TWINS {
                let (one, other) = tokio::join!(send(), send());
                if is_success(&one) && is_success(&other) && one.body != other.body {
                    tenant.known().unequal_twins.push(format!("{act:?}: {} and {}", one.text, other.text));
                }
                // Of two different answers, the one that took effect counts.
                if is_final(&one) && !is_success(&other) { one } else { other }
            } else {
                send().await
            };
            if is_final(&answer) {
                return Some(answer);
            }
            sleep(Duration::from_millis(random.u64(50..400))).await;
        }
        None
    }

    /// Sends the request of an act once.
    pub(crate) async fn carry_out(&self, tenant: &Tenant, act: &Act) -> Answer {
        let Some(tool) = act.tool else {
            return self.send(tenant, act.method.clone(), &act.path, &act.idempotency_key, &act.body).await;
        };
        let mut arguments = act.body.clone();
        arguments["idempotency_key"] = json!(act.idempotency_key);
        self.call_tool(tenant, tool, &arguments, act.is_refused, act.is_on_page).await
    }

    /// Calls an MCP tool. A member confirms or refuses what must be confirmed. Returns the answer of the API route that the
    /// tool stands for.
    async fn call_tool(
        &self,
        tenant: &Tenant,
        tool: &str,
        arguments: &Value,
        is_refused: bool,
        is_on_page: bool,
    ) -> Answer {
        let capabilities = if is_on_page { json!({}) } else { json!({ "elicitation": {} }) };
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": MCP_VERSION,
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        let mut params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let call = async |params: &Value| {
            let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
            self.send(tenant, Method::POST, "/mcp", "", &message).await
        };
        let mut answer = call(&params).await;
        for _ in 0..QUESTIONS {
            // Other clients may confirm the same call on the same page.
            let mut is_confirmed = !is_refused;
            if let Some(page) = page_of_question(&answer) {
                if !is_refused {
                    tenant.known().confirmed.insert(page.clone());
                }
                self.decide(tenant, &page, is_refused).await;
                is_confirmed = tenant.known().confirmed.contains(&page);
            } else if is_question(&answer) {
                let accepted = json!({ "action": "accept", "content": { "confirm": true } });
                let decision = if is_refused { json!({ "action": "decline" }) } else { accepted };
                params["inputResponses"] = json!({ "confirm": decision });
                params["requestState"] = answer.body["result"]["requestState"].take();
            } else {
                break;
            }
            answer = call(&params).await;
            let is_done =
                answer.status == 200 && answer.body["result"]["isError"] != true && !is_question(&answer);
            if is_done && !is_confirmed {
                let sentence = format!("a refused call was carried out: {params} {}", answer.text);
                tenant.known().broken.push(sentence);
            }
        }
        if is_question(&answer) || page_of_question(&answer).is_some() {
            answer.status = 409;
        } else if answer.status == 200 {
            let mut result = answer.body["result"].take();
            answer.status = if result["isError"] != true {
                201
            } else if answer.text.contains("The candidate was erased") {
                410
            } else {
                422
            };
            answer.body = result["structuredContent"].take();
            if tool == "quick_post" {
                let id = |name| json!({ "id": answer.body[name] });
                answer.body = json!({ "role": id("role_id"), "job_posting": id("job_posting_id") });
            }
        }
        answer
    }

    /// A member answers the question about a call on its page.
    async fn decide(&self, tenant: &Tenant, path: &str, is_refused: bool) {
        let (organization, demo) = (tenant.organization, &DEMOS[tenant.organization]);
        let browser = Browser::new(self.deployment.clone(), [8, 18][organization]);
        let mut page = browser.open(path).await;
        if let Some(next) = browser.sign_in(&page, demo.email, demo.password).await {
            if next.is_signed_in() {
                self.tenants[2 * organization].known().audited("session.created");
            }
            page = next;
        }
        if let Some(mut form) = page.form(path) {
            form.set("decision", if is_refused { "refuse" } else { "confirm" });
            page = browser.submit(&form).await;
        }
        self.deployment.cloud.note(format!("{path} of {} -> {} {}", demo.name, page.url, page.status));
    }

    /// Sends a request once, and checks what is true of every answer.
    pub(crate) async fn send(
        &self,
        tenant: &Tenant,
        method: Method,
        path: &str,
        idempotency_key: &str,
        body: &Value,
    ) -> Answer {
        self.send_as(&tenant.key, tenant, method, path, idempotency_key, body).await
    }

    /// Sends a request with this credential.
    pub(crate) async fn send_as(
        &self,
        credential: &str,
        tenant: &Tenant,
        method: Method,
        path: &str,
        idempotency_key: &str,
        body: &Value,
    ) -> Answer {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let line = format!("{} {method} {path} {idempotency_key}", tenant.word);
        self.deployment.cloud.note(line.clone());
        let answer = self.deployment.send(method, path, credential, idempotency_key, body).await;
        self.deployment.cloud.note(format!("{line} -> {} {}", answer.status, answer.text));
        let mut known = tenant.known();
        match answer.status {
            401 | 429 => {}
            500.. => known.uncertain += 1,
            _ => known.admitted += 1,
        }
        let foreign = WORDS.as_flattened().iter().filter(|word| **word != tenant.word);
        for word in foreign {
            if answer.text.contains(word) {
                known.broken.push(format!("{line}: {}", answer.text));
            }
        }
        answer
    }

    /// Checks that a page of an organization contains nothing of another one.
    pub(crate) fn check_words(&self, organization: usize, url: &str, text: &str) {
        let foreign = &WORDS[1 - organization];
        if foreign.iter().any(|word| text.contains(word)) {
            self.tenants[2 * organization].known().broken.push(format!("{url}: {text}"));
        }
    }

    /// Repeats what has no final answer, and lets the jobs finish.
    pub(crate) async fn settle(&self) {
        for tenant in &self.tenants {
            let open: Vec<_> = {
                let known = tenant.known();
                known
                    .acts
                    .iter()
                    .enumerate()
                    .filter(|(_, (_, answer))| answer.is_none())
                    .map(|(at, (act, _))| (at, act.clone()))
                    .collect()
            };
            for (at, act) in open {
                let mut answer = self.carry_out(tenant, &act).await;
                if answer.status == 429 {
                    self.deployment.skip_to_tomorrow();
                    answer = self.carry_out(tenant, &act).await;
                }
                tenant.known().acts[at].1 = Some(answer);
            }
        }
        self.run_tasks().await;
    }

    /// Runs the tasks until all are done. Some need several runs.
    pub(crate) async fn run_tasks(&self) {
        for _ in 0..ROUNDS {
            // The calls end and are reported, and then the time of the next check comes.
            sleep(Duration::from_mins(1)).await;
            let partitions = self.deployment.cloud.task_partitions_in_use();
            if partitions.is_empty() {
                return;
            }
            self.deployment.skip(SignedDuration::from_mins(11));
            let run = self.deployment.run_tasks_of(partitions).await;
            self.deployment.cloud.note(format!("tasks: {run:?}"));
        }
    }
}

enum Step {
    /// A request that changes something, and the kind of what it creates.
    Act(&'static str, Act),
    /// A request that only reads.
    Read(String),
    /// A tool that only reads, with its arguments.
    Ask(&'static str, Value),
}

impl Act {
    /// The same act as an assistant carries it out; `None` if no tool does it.
    fn by_assistant(&self) -> Option<Self> {
        let path: Vec<_> = self.path.trim_start_matches("/api/v1/").split('/').collect();
        let mut body = self.body.clone();
        let tool = match path[..] {
            ["quick_post"] => {
                body = body["role"].take();
                "quick_post"
            }
            ["roles"] => "save_role",
            ["candidates"] => "add_candidate",
            ["roles", id, action @ ("publish" | "pause" | "resume" | "reopen")] => {
                body = json!({ "role_id": id.parse::<u64>().ok()?, "action": action });
                "set_role_status"
            }
            [
                "candidates",
                id,
                action @ ("notes" | "advance" | "reject" | "unreject" | "hire" | "invite_screen"),
            ] => {
                body["candidate_id"] = json!(id.parse::<u64>().ok()?);
                match action {
                    "notes" => "add_note",
                    "invite_screen" => {
                        // The tool needs a consent that was recorded before.
                        body = json!({ "candidate_id": body["candidate_id"], "role_id": body["role_id"] });
                        "invite_to_screen"
                    }
                    action => {
                        body["action"] = json!(action);
                        "move_candidate"
                    }
                }
            }
            ["channels", "x", "post"] => "post_to_x",
            _ => return None,
        };
        Some(Self { body, tool: Some(tool), ..self.clone() })
    }
}

/// Whether the act erased somebody.
pub(crate) fn is_erasure((act, answer): &(Act, Option<Answer>)) -> bool {
    act.path.ends_with("/erase") && answer.as_ref().is_some_and(|answer| answer.status == 202)
}

/// Whether an assistant has to ask a member first.
fn is_question(answer: &Answer) -> bool {
    answer.status == 200 && answer.body["result"]["resultType"] == "input_required"
}

/// The page on which a member has to confirm the call first.
fn page_of_question(answer: &Answer) -> Option<String> {
    let text = answer.body["result"]["content"][0]["text"].as_str().filter(|_| answer.status == 200)?;
    let page = text.strip_prefix("Not done yet: ")?.split(BASE_URL).nth(1)?;
    page.split(' ').next().map(str::to_owned)
}

fn is_success(answer: &Answer) -> bool {
    (200..300).contains(&answer.status)
}

/// Whether a repetition would not help.
pub(crate) fn is_final(answer: &Answer) -> bool {
    // X may or may not have published a post, so it is not repeated. A used up quota says nothing about earlier attempts.
    answer.status < 500 && !matches!(answer.status, 409 | 429) || answer.status == 502
}

fn record(tenant: &Tenant, kind: &'static str, act: Act, answer: Option<Answer>) {
    let mut known = tenant.known();
    if let Some(answer) = answer.as_ref().filter(|answer| answer.status == 201) {
        let mut add = |kind, id: &Value| {
            if let Some(id) = id.as_u64() {
                known.ids.entry(kind).or_default().push(id);
            }
        };
        if kind == "quick_post" {
            add("roles", &answer.body["role"]["id"]);
            add("job_postings", &answer.body["job_posting"]["id"]);
        } else {
            add(kind, &answer.body["id"]);
        }
    }
    known.acts.push((act, answer));
}

/// Chooses what a client does next.
fn choose(tenant: &Tenant, random: &mut fastrand::Rng) -> Step {
    let mut known = tenant.known();
    let number = known.next();
    let word = tenant.word;
    let name = format!("{word} {number}.");
    let role = known.any(random, "roles");
    let candidate = known.any(random, "candidates");
    let screen = known.any(random, "voice_screens");
    let posting = known.any(random, "job_postings");
    drop(known);
    let is_assisted = random.u32(0..ASSISTED) == 0;
    let (is_refused, is_on_page) = (random.u32(0..8) == 0, random.u32(0..3) == 0);
    // Some descriptions are long, so that items have several kilobytes.
    let description = "d".repeat(if random.u32(0..7) == 0 { 5_000 } else { 20 });
    let act = |kind, method: Method, path: String, body: Value| {
        let is_post = method == Method::POST;
        let idempotency_key = if is_post { format!("{word}-{number}") } else { String::new() };
        let path = format!("/api/v1/{path}");
        let (name, tool) = (name.clone(), None);
        let act = Act { method, path, idempotency_key, body, name, tool, is_refused, is_on_page };
        let assisted = if is_assisted { act.by_assistant() } else { None };
        Step::Act(kind, assisted.unwrap_or(act))
    };
    let post = |kind, path: String, body| act(kind, Method::POST, path, body);
    let new_role = || json!({ "title": name, "description": description });
    match (random.u32(0..31), role, candidate) {
        (0..3, ..) | (_, None, _) => post("quick_post", "quick_post".into(), json!({ "role": new_role() })),
        (3..5, ..) => post("roles", "roles".into(), new_role()),
        (5..10, role, _) | (_, role, None) => {
            // Some addresses are taken.
            let owner = if random.u32(0..5) == 0 { random.u64(1..=number) } else { number };
            let email = format!("{word}.{owner}@example.com");
            let mut body = json!({ "name": name, "email": email, "phone": format!("+1415200{number:04}") });
            if random.bool() {
                body["role_id"] = json!(role);
            }
            post("candidates", "candidates".into(), body)
        }
        (10, Some(role), _) => act(
            "",
            Method::PATCH,
            format!("roles/{role}"),
            json!({ "description": format!("{word} {number}") }),
        ),
        (11..14, Some(role), _) => {
            let step = random.choice(["publish", "pause", "resume", "reopen"]).unwrap_or("publish");
            post("", format!("roles/{role}/{step}"), Value::Null)
        }
        (14, Some(role), _) => act("", Method::DELETE, format!("roles/{role}"), Value::Null),
        (15, Some(role), _) => post("job_postings", "job_postings".into(), json!({ "role_id": role })),
        (16, Some(role), Some(candidate)) => match posting {
            Some(posting) => {
                let step = random.choice(["publish", "unpublish"]).unwrap_or("publish");
                post("", format!("job_postings/{posting}/{step}"), Value::Null)
            }
            None => post(
                "applications",
                format!("candidates/{candidate}/applications"),
                json!({ "role_id": role }),
            ),
        },
        (17..20, Some(role), Some(candidate)) => {
            post("applications", format!("candidates/{candidate}/applications"), json!({ "role_id": role }))
        }
        (20..23, Some(_), Some(candidate)) => {
            let step =
                random.choice(["advance", "reject", "unreject", "hire", "unhire"]).unwrap_or("advance");
            let body = match step {
                "advance" => json!({ "stage": "interview" }),
                "reject" => json!({ "reason_id": 1 + number % 3 }),
                _ => json!({}),
            };
            post("", format!("candidates/{candidate}/{step}"), body)
        }
        (23..25, Some(role), Some(candidate)) => {
            let consent = json!({ "obtained_at": "2026-11-01T09:00:00Z", "wording": "I agree." });
            let body = json!({ "role_id": role, "consent": consent });
            post("voice_screens", format!("candidates/{candidate}/invite_screen"), body)
        }
        (25, Some(_), Some(candidate)) => match screen {
            Some(screen) => post("", format!("voice_screens/{screen}/cancel"), json!({})),
            None => post("", format!("candidates/{candidate}/notes"), json!({ "text": name })),
        },
        (26, Some(_), Some(candidate)) => post("", format!("candidates/{candidate}/erase"), json!({})),
        (27, Some(_), Some(candidate)) => act(
            "",
            Method::PATCH,
            format!("candidates/{candidate}"),
            json!({ "name": format!("{word} {number}"), "tags": [format!("{word} {}", number % 2)] }),
        ),
        (28, Some(_), Some(_)) if posting.is_some() => {
            post("", "channels/x/post".into(), json!({ "job_posting_id": posting, "style": "casual" }))
        }
        (28, Some(_), Some(candidate)) => {
            let (purpose, obtained_at) = ("recording", "2026-11-02T09:00:00.000Z");
            let body = json!({ "purpose": purpose, "granted": random.bool(), "obtained_at": obtained_at, "wording": word });
            post("", format!("candidates/{candidate}/consents"), body)
        }
        (_, Some(role), Some(candidate)) if is_assisted => ask(random, role, candidate),
        (_, Some(role), Some(candidate)) => read(random, role, candidate),
    }
}

fn read(random: &mut fastrand::Rng, role: u64, candidate: u64) -> Step {
    Step::Read(match random.u32(0..6) {
        0 => "/api/v1/candidates?limit=3".to_owned(),
        1 => format!("/api/v1/candidates/{candidate}"),
        2 => format!("/api/v1/roles/{role}/stats"),
        3 => format!("/api/v1/applications?role_id={role}"),
        4 => "/api/v1/roles?status=open".to_owned(),
        _ => "/api/v1/organization".to_owned(),
    })
}

fn ask(random: &mut fastrand::Rng, role: u64, candidate: u64) -> Step {
    match random.u32(0..5) {
        0 => Step::Ask("search_candidates", json!({ "limit": 3 })),
        1 => Step::Ask("get_candidate", json!({ "candidate_id": candidate })),
        2 => Step::Ask("list_roles", json!({ "role_id": role })),
        3 => Step::Ask("pipeline_report", json!({})),
        _ => Step::Ask("list_changes", json!({})),
    }
}
