//! DynamoDB with bad days: an embedded engine below the SDK, with faults that a seed chooses.
//!
//! A call takes a random time before and after it takes effect, so calls of several functions interleave. Reads that are
//! not consistent, and reads of the index, come from a replica that is some writes behind. A consistent query sees each item
//! as it was at one of two times.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::config::SharedHttpClient;
use aws_smithy_runtime_api::client::result::ConnectorError;
use dynoxide::Database;
use rolecall_local::in_process::{self, Answer, execute};
use serde_json::{Value, json};
use shared::store::TaskPartition;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::contents::{Contents, Item, TABLE, Write};
use crate::faults::Faults;

/// The maximum time that a call takes before it takes effect, and the time that its response takes, in milliseconds.
const LATENCY: u64 = 10;
/// The maximum time of a slow call, in milliseconds.
const SLOW: u64 = 1_200;
/// The time after which the SDK has given up a call.
const NEVER: Duration = Duration::from_mins(1);
/// The field of a shortened batch with the keys that are left out.
const UNPROCESSED: &str = "Unprocessed";
/// The field of a transaction with its token.
const TOKEN: &str = "ClientRequestToken";
/// What a request for a consistent read contains.
const CONSISTENT: &str = r#""ConsistentRead":true"#;
/// How long DynamoDB remembers the token of a transaction.
const TOKEN_WINDOW: Duration = Duration::from_mins(10);
/// The maximum number of writes that the replica is behind.
const MAX_LAG: usize = 6;

/// A fault of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The table is throttled, so the call has no effect.
    Throttled,
    /// The call conflicts with another one and has no effect.
    Conflict,
    /// DynamoDB has an internal error, and the call has no effect.
    Internal,
    /// The request never arrives.
    RequestLost,
    /// The call takes effect, but its response never arrives.
    ResponseLost,
    /// The response arrives late.
    Slow,
    /// A batch leaves keys unprocessed, or a page ends early.
    Partial,
    /// A read comes from a replica that is behind.
    Stale,
    /// A query sees some items before a transaction and others after it.
    Torn,
}

tokio::task_local! {
    /// The life of the run that makes a call, if it ends before a call.
    static LIFE: Arc<Life>;
}

/// The life of a run that is killed before one of its calls.
pub(crate) struct Life {
    /// The number of calls until then.
    left: AtomicU32,
    over: Notify,
}

impl Life {
    /// Carries out a run until it would make its call after so many. Returns `None` if it is killed.
    pub(crate) async fn of_calls<T>(calls: u32, run: impl Future<Output = T>) -> Option<T> {
        let life = Arc::new(Self { left: AtomicU32::new(calls), over: Notify::new() });
        tokio::select! {
            biased;
            () = life.over.notified() => None,
            ended = LIFE.scope(life.clone(), run) => Some(ended),
        }
    }

    /// Counts a call, or never returns.
    async fn call() {
        let Ok(life) = LIFE.try_with(Arc::clone) else { return };
        let is_left = |left: u32| left.checked_sub(1);
        if life.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_left).is_err() {
            life.over.notify_one();
            pending::<()>().await;
        }
    }
}

/// The table, as all functions share it.
#[derive(Clone)]
pub(crate) struct Cloud(Arc<Mutex<State>>);

struct State {
    table: Database,
    /// The items of the table, for the checks.
    contents: Contents,
    /// A copy, which most runs do not need.
    replica: LazyCell<Database, Box<dyn FnOnce() -> Database + Send>>,
    /// The writes that the replica does not have yet.
    behind: VecDeque<(String, String)>,
    random: fastrand::Rng,
    /// Chooses which queries are torn, and where, so that the other choices do not depend on it.
    tearing: fastrand::Rng,
    /// How many of a thousand calls have a fault.
    faults_per_mille: u32,
    counts: BTreeMap<Fault, u64>,
    calls: u64,
    trace: Vec<String>,
    faults: Faults,
    /// The transactions of the last ten minutes by their tokens.
    tokens: HashMap<String, (Instant, String, Answer)>,
    /// Woken by every write of a task.
    task_written: Arc<Notify>,
    /// Woken by every write to the outbox.
    change_written: Arc<Notify>,
    /// The partitions of the tasks that were written since they were last taken.
    written: BTreeSet<TaskPartition>,
    /// The partitions of all tasks that were ever written, by their keys.
    task_partitions: BTreeMap<String, TaskPartition>,
}

impl Cloud {
    /// A table with these contents, and its replica, which is equal.
    pub(crate) fn new(
        seed: u64,
        faults: Faults,
        table: Database,
        replica: impl FnOnce() -> Database + Send + 'static,
        contents: Contents,
    ) -> Self {
        Self(Arc::new(Mutex::new(State {
            table,
            contents,
            replica: LazyCell::new(Box::new(replica)),
            behind: VecDeque::new(),
            random: fastrand::Rng::with_seed(seed),
            tearing: fastrand::Rng::with_seed(!seed),
            faults_per_mille: 0,
            counts: BTreeMap::new(),
            calls: 0,
            trace: Vec::new(),
            faults,
            tokens: HashMap::new(),
            task_written: Arc::default(),
            change_written: Arc::default(),
            written: BTreeSet::new(),
            task_partitions: BTreeMap::new(),
        })))
    }

    /// Sets how many of a thousand calls have a fault. With 0, the replica is never behind.
    pub(crate) fn set_faults(&self, per_mille: u32) {
        self.state().faults_per_mille = per_mille;
    }

    /// The number of calls, and of faults of each kind.
    pub(crate) fn counts(&self) -> (u64, BTreeMap<Fault, u64>) {
        let state = self.state();
        (state.calls, state.counts.clone())
    }

    /// Adds a line to the trace.
    pub(crate) fn note(&self, line: String) {
        self.state().trace.push(line);
    }

    /// The calls and notes so far.
    pub(crate) fn trace(&self) -> Vec<String> {
        self.state().trace.clone()
    }

    /// Is woken by every write of a task, as the table's stream wakes the function.
    pub(crate) fn task_written(&self) -> Arc<Notify> {
        self.state().task_written.clone()
    }

    /// Is woken by every write to the outbox, as the table's stream wakes the function.
    pub(crate) fn change_written(&self) -> Arc<Notify> {
        self.state().change_written.clone()
    }

    /// The partitions of the tasks that were written since the last call.
    pub(crate) fn take_written(&self) -> Vec<TaskPartition> {
        std::mem::take(&mut self.state().written).into_iter().collect()
    }

    /// The partitions that have tasks now.
    pub(crate) fn task_partitions_in_use(&self) -> Vec<TaskPartition> {
        let known = self.state().task_partitions.clone();
        let has_tasks = |key: &String| {
            let query = json!({
                "TableName": TABLE,
                "KeyConditionExpression": "pk = :pk",
                "ExpressionAttributeValues": { ":pk": { "S": key } },
                "Limit": 1,
            });
            self.execute("Query", &query)["Count"] != 0
        };
        known.into_iter().filter(|(key, _)| has_tasks(key)).map(|(_, partition)| partition).collect()
    }

    /// Carries out a call at once and without faults.
    pub(crate) fn execute(&self, operation: &str, request: &Value) -> Value {
        let (status, body) = self.state().answer(operation, &request.to_string(), false);
        assert!(status == 200, "{body}");
        parse(&body)
    }

    /// All items of the table.
    pub(crate) fn items(&self) -> Vec<Arc<Item>> {
        let mut state = self.state();
        let State { table, contents, .. } = &mut *state;
        contents.read(table)
    }

    /// Whether all writes of the run were noticed.
    pub(crate) fn knows_all_items(&self) -> bool {
        let mut state = self.state();
        let State { table, contents, .. } = &mut *state;
        contents.are_complete(table)
    }

    /// The HTTP client of a function that uses the table.
    pub(crate) fn http_client(&self) -> SharedHttpClient {
        let cloud = self.clone();
        in_process::http_client(move |operation, body| cloud.clone().call(operation, body))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn call(self, operation: String, mut body: String) -> Result<Answer, ConnectorError> {
        Life::call().await;
        let (fault, before, after) = {
            let mut state = self.state();
            state.calls += 1;
            let fault = state.choose(&operation, &mut body);
            let (before, after) = (state.random.u64(0..=LATENCY), state.random.u64(0..=LATENCY));
            let number = state.calls;
            state.trace.push(format!("{number} {operation} {fault:?}"));
            (fault, Duration::from_millis(before), Duration::from_millis(after))
        };
        sleep(before).await;
        match fault {
            Some(Fault::Throttled) => return Ok(throttled(&body)),
            Some(Fault::Internal) => return Ok(refusal("InternalServerError", 500)),
            Some(Fault::Conflict) => return Ok(conflict(&body)),
            Some(Fault::RequestLost) => sleep(NEVER).await,
            _ => {}
        }
        let mut answer = self.state().answer(&operation, &body, fault == Some(Fault::Stale));
        if fault == Some(Fault::Partial) {
            answer.1 = with_unprocessed(&body, answer.1);
        }
        match fault {
            Some(Fault::ResponseLost) => return Err(ConnectorError::io("the response was lost".into())),
            Some(Fault::Slow) => {
                let late = self.state().random.u64(0..=SLOW);
                sleep(Duration::from_millis(late)).await;
            }
            _ => sleep(after).await,
        }
        let is_at_two_times =
            operation == "Query" && body.contains(CONSISTENT) && fault != Some(Fault::Stale);
        Ok(if is_at_two_times { self.state().tear(&body, answer) } else { answer })
    }
}

impl State {
    /// Chooses the fault of a call, if any. A partial call is shortened in its request.
    fn choose(&mut self, operation: &str, body: &mut String) -> Option<Fault> {
        let is_read = is_read(operation);
        if self.faults_per_mille == 0 {
            return None;
        }
        // Reads that are not consistent are often stale, which is no fault.
        let can_be_stale = is_read && !body.contains(CONSISTENT);
        let fault = if self.random.u32(0..1_000) < self.faults_per_mille {
            match self.random.u32(0..7) {
                0 => Fault::Throttled,
                1 => Fault::Internal,
                2 if !is_read => Fault::Conflict,
                3 => Fault::RequestLost,
                4 => Fault::ResponseLost,
                5 => Fault::Slow,
                _ if is_read => Fault::Partial,
                _ => Fault::Conflict,
            }
        } else if can_be_stale && self.random.bool() {
            Fault::Stale
        } else {
            return None;
        };
        if !self.faults.admits() {
            return None;
        }
        let is_possible = match fault {
            Fault::Partial => self.shorten(operation, body),
            // The repetition of a transaction that was carried out changes nothing, so it has no conflict.
            Fault::Conflict => {
                !parse(body)[TOKEN].as_str().is_some_and(|token| self.tokens.contains_key(token))
            }
            _ => true,
        };
        if !is_possible {
            return None;
        }
        *self.counts.entry(fault).or_default() += 1;
        Some(fault)
    }

    /// Makes a query's page or a batch shorter. Returns whether this is possible.
    fn shorten(&mut self, operation: &str, body: &mut String) -> bool {
        let mut shortened = parse(body);
        match operation {
            "Query" => {
                let limit = shortened["Limit"].as_u64().unwrap_or(100);
                shortened["Limit"] = json!(self.random.u64(1..=limit.max(1)));
            }
            "BatchGetItem" => {
                let Some(tables) = shortened["RequestItems"].as_object_mut() else { return false };
                for table in tables.values_mut() {
                    let Some(keys) = table["Keys"].as_array_mut().filter(|keys| keys.len() > 1) else {
                        continue;
                    };
                    let rest = keys.split_off(self.random.usize(1..keys.len()));
                    table[UNPROCESSED] = Value::Array(rest);
                }
            }
            _ => return false,
        }
        *body = shortened.to_string();
        true
    }

    /// The answer to a query that has seen some items earlier, when it was answered first, and others only now.
    fn tear(&mut self, body: &str, first: Answer) -> Answer {
        const ITEMS: &str = "Items";
        if self.faults_per_mille == 0 || first.0 != 200 || self.tearing.bool() {
            return first;
        }
        let second = self.answer("Query", body, false);
        if second.1 == first.1 || [&first, &second].iter().any(|answer| answer.1.contains("LastEvaluatedKey"))
        {
            return first;
        }
        let mut items = BTreeMap::<String, [Option<Value>; 2]>::new();
        let mut answers = [&first, &second].map(|answer| parse(&answer.1));
        for (time, answer) in answers.iter_mut().enumerate() {
            for item in answer[ITEMS].as_array_mut().into_iter().flatten() {
                let key = item["sk"]["S"].as_str().unwrap_or_default().to_owned();
                items.entry(key).or_default()[time] = Some(item.take());
            }
        }
        let mut seen: Vec<_> = items
            .into_values()
            .filter_map(|[first, second]| if self.tearing.bool() { first } else { second })
            .collect();
        let request = parse(body);
        if seen.len() as u64 > request["Limit"].as_u64().unwrap_or(u64::MAX) || !self.faults.admits() {
            return first;
        }
        if request["ScanIndexForward"] == false {
            seen.reverse();
        }
        *self.counts.entry(Fault::Torn).or_default() += 1;
        let [mut answer, _] = answers;
        let count = json!(seen.len());
        (answer["Count"], answer["ScannedCount"], answer[ITEMS]) = (count.clone(), count, Value::Array(seen));
        (200, answer.to_string())
    }

    /// The answer to a transaction that was carried out in the last ten minutes.
    fn repeated(&self, token: &str, text: &str) -> Option<Answer> {
        let (_, known, answer) = self.tokens.get(token).filter(|(at, ..)| at.elapsed() < TOKEN_WINDOW)?;
        Some(if known == text {
            answer.clone()
        } else {
            refusal("IdempotentParameterMismatchException", 400)
        })
    }

    fn answer(&mut self, operation: &str, body: &str, is_stale: bool) -> Answer {
        if is_stale {
            let lag = self.random.usize(0..=MAX_LAG);
            while self.behind.len() > lag {
                let Some((operation, body)) = self.behind.pop_front() else { break };
                execute(&self.replica, &operation, &body);
            }
            return execute(&self.replica, operation, body);
        }
        if is_read(operation) {
            return execute(&self.table, operation, body);
        }
        let request: Write = serde_json::from_str(body).expect("a write");
        // The engine would remember the token, too, by a clock of its own.
        let body = body.replacen(&format!(r#","{TOKEN}":"{}""#, request.token), "", 1);
        if let Some(answer) = self.repeated(&request.token, &body) {
            return answer;
        }
        let answer = execute(&self.table, operation, &body);
        if answer.0 == 200 {
            let before = self.written.len();
            for key in request.keys() {
                let Some(partition) = TaskPartition::parse(key.partition()) else { continue };
                self.written.insert(partition);
                self.task_partitions.insert(key.partition().to_owned(), partition);
            }
            if !request.token.is_empty() && request.keys().any(|key| key.partition().starts_with("OUTBOX#")) {
                self.change_written.notify_one();
            }
            self.contents.written(&request);
            if self.written.len() > before {
                self.task_written.notify_one();
            }
            if !request.token.is_empty() {
                self.tokens.insert(request.token, (Instant::now(), body.clone(), answer.clone()));
            }
            self.behind.push_back((operation.to_owned(), body));
        }
        answer
    }
}

fn is_read(operation: &str) -> bool {
    matches!(operation, "GetItem" | "Query" | "BatchGetItem")
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// The answer to a batch, with the keys that were left out.
fn with_unprocessed(body: &str, answer: String) -> String {
    let mut rest = parse(body)["RequestItems"].take();
    let tables = rest.as_object_mut().into_iter().flatten();
    let shortened = tables.filter_map(|(_, table)| {
        let keys = table.as_object_mut()?.remove(UNPROCESSED)?;
        table["Keys"] = keys;
        Some(())
    });
    if shortened.count() == 0 {
        return answer;
    }
    let mut answer = parse(&answer);
    answer["UnprocessedKeys"] = rest;
    answer.to_string()
}

fn refusal(kind: &str, status: u16) -> Answer {
    (
        status,
        json!({ "__type": format!("com.amazonaws.dynamodb.v20120810#{kind}"), "message": "" }).to_string(),
    )
}

/// The answer to a throttled call. One action of a transaction is throttled.
fn throttled(body: &str) -> Answer {
    let body = parse(body);
    let Some(actions) = body["TransactItems"].as_array() else {
        return refusal("ProvisionedThroughputExceededException", 400);
    };
    let mut reasons = vec!["None"; actions.len()];
    reasons[actions.len() / 2] = "ThrottlingError";
    cancelled(&reasons)
}

/// The answer to a write that conflicts with another one.
fn conflict(body: &str) -> Answer {
    let body = parse(body);
    let Some(actions) = body["TransactItems"].as_array() else {
        return refusal("TransactionConflictException", 400);
    };
    cancelled(&vec!["TransactionConflict"; actions.len()])
}

/// The answer to a cancelled transaction, with the reason for each action.
fn cancelled(reasons: &[&str]) -> Answer {
    let reasons: Vec<_> = reasons.iter().map(|reason| json!({ "Code": reason })).collect();
    let kind = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
    (400, json!({ "__type": kind, "Message": "", "CancellationReasons": reasons }).to_string())
}

impl fmt::Debug for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cloud")
    }
}
