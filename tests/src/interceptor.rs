//! An interceptor for DynamoDB calls. It records every call and injects faults.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, Weak};

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::BeforeTransmitInterceptorContextMut;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use aws_smithy_types::config_bag::ConfigBag;
use bytes::Bytes;
use dynoxide::Database;
use futures_util::future::BoxFuture;
use rolecall_local::in_process;
use serde_json::{Value, json};

use crate::call_kinds::CallKinds;
use crate::permissions;

/// A call to DynamoDB.
#[derive(Clone, Debug)]
pub struct RecordedCall {
    /// The logical id of the function that made the call; empty if a test made it.
    pub function: String,
    /// The operation, such as `UpdateItem`.
    pub operation: String,
    /// The request body.
    pub request: Value,
    /// The response body, or `null` if the call got no response.
    pub response: Value,
    /// The place of the call's start among all starts and ends of calls.
    started: u64,
    /// The place of its end; `None` if the call got no response.
    ended: Option<u64>,
}

/// The number of rounds of the runtime that a call of the embedded database takes at least, so that whatever need not wait
/// for it begins before it ends.
const ROUNDS: u32 = 4;

/// Returns how many of these calls were in sequence at most, because each began after another one had ended. This is
/// counted, not measured, and exact with the embedded database, whose calls all take the same number of rounds.
pub fn in_sequence(calls: &[RecordedCall]) -> usize {
    let mut depths: Vec<usize> = Vec::new();
    // The calls are in the order of their starts.
    for call in calls {
        let before = calls.iter().zip(&depths);
        let before = before.filter(|(other, _)| other.ended.is_some_and(|ended| ended < call.started));
        let depth = before.map(|(_, depth)| *depth).max();
        depths.push(depth.unwrap_or(0) + 1);
    }
    depths.into_iter().max().unwrap_or(0)
}

impl RecordedCall {
    /// Returns the capacity units that the call consumed.
    pub fn units(&self) -> f64 {
        match &self.response["ConsumedCapacity"] {
            Value::Array(tables) => tables.iter().filter_map(|table| table["CapacityUnits"].as_f64()).sum(),
            table => table["CapacityUnits"].as_f64().unwrap_or(0.0),
        }
    }
}

/// A call whose response has not been parsed. Tests do not read most calls, so responses are parsed on demand.
struct RawCall {
    function: String,
    operation: String,
    request: Value,
    response: Bytes,
    started: u64,
    ended: Option<u64>,
}

/// A fault to inject into a call.
#[derive(Clone, Debug)]
pub enum Fault {
    /// DynamoDB throttles the call, which has no effect. A transaction is cancelled with this reason for its first action.
    Throttled,
    /// The connection fails, so the call has no effect.
    Unreachable,
    /// The response never arrives, and the call has no effect.
    Hang,
    /// The call takes effect, but its response is lost.
    ResponseLost,
    /// The call conflicts with a transaction and has no effect. A transaction is cancelled with this reason for every
    /// action.
    Conflict,
    /// DynamoDB has an internal error, and the call has no effect.
    Internal,
}

type Faults = dyn Fn(&str, &Value) -> Option<Fault> + Send + Sync;
type BeforeCall = Option<(&'static str, BoxFuture<'static, ()>)>;

/// The order in which queries return their items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By the range key.
    Ascending,
    /// The other way round.
    Descending,
}

/// Keeps a paused tokio clock from advancing until it is dropped.
pub type ClockBlocker = Arc<Sender<()>>;

/// An HTTP client for DynamoDB that records calls and injects faults.
#[derive(Clone)]
pub struct DynamoDbInterceptor {
    inner: SharedHttpClient,
    /// Whether calls wait for a network, during which a paused clock would advance.
    is_remote: bool,
    calls: Arc<Mutex<Vec<RawCall>>>,
    /// The number of starts and ends of calls.
    places: Arc<AtomicU64>,
    faults: Arc<Mutex<Arc<Faults>>>,
    before: Arc<Mutex<BeforeCall>>,
    /// Whether queries return one item at a time, and in which order.
    cut: Arc<Mutex<Option<Order>>>,
    clock_blocker: Arc<Mutex<Weak<Sender<()>>>>,
    kinds: Option<Arc<CallKinds>>,
}

impl std::fmt::Debug for DynamoDbInterceptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DynamoDbInterceptor")
    }
}

impl DynamoDbInterceptor {
    /// Creates an interceptor without faults, for a DynamoDB at a URL.
    pub fn new() -> Self {
        Self::over(shared::store::https_client(), true)
    }

    /// Creates an interceptor without faults, for an embedded database.
    pub fn of(database: Database) -> Self {
        Self::over(in_process::http_client_of(database), false)
    }

    /// Another interceptor without faults, for the same DynamoDB.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::over(self.inner.clone(), self.is_remote)
    }

    fn over(inner: SharedHttpClient, is_remote: bool) -> Self {
        Self {
            inner,
            is_remote,
            calls: Arc::default(),
            places: Arc::default(),
            faults: Arc::new(Mutex::new(Arc::new(|_, _| None))),
            before: Arc::default(),
            cut: Arc::default(),
            clock_blocker: Arc::default(),
            kinds: CallKinds::of_this_test().map(Arc::new),
        }
    }

    /// Keeps a paused tokio clock from advancing until the returned value is dropped. Such a clock jumps to the next
    /// timer when the runtime is idle, and the runtime looks idle while it waits for a DynamoDB in another process.
    pub fn block_clock(&self) -> ClockBlocker {
        let mut current = self.clock_blocker.lock().expect("no poison");
        current.upgrade().unwrap_or_else(|| {
            let (sender, receiver) = std::sync::mpsc::channel();
            tokio::task::spawn_blocking(move || receiver.recv());
            let sender = Arc::new(sender);
            *current = Arc::downgrade(&sender);
            sender
        })
    }

    /// Returns the HTTP client for a store.
    pub fn client(&self) -> SharedHttpClient {
        SharedHttpClient::new(self.clone())
    }

    /// Returns the calls since the last `take_calls` or `clear_calls`.
    pub fn take_calls(&self) -> Vec<RecordedCall> {
        let parse = |call: RawCall| RecordedCall {
            function: call.function,
            operation: call.operation,
            request: call.request,
            response: serde_json::from_slice(&call.response).unwrap_or_default(),
            started: call.started,
            ended: call.ended,
        };
        self.take_raw_calls().into_iter().map(parse).collect()
    }

    /// Discards the recorded calls without parsing them.
    pub fn clear_calls(&self) {
        drop(self.take_raw_calls());
    }

    fn take_raw_calls(&self) -> Vec<RawCall> {
        std::mem::take(&mut self.calls.lock().expect("no poison"))
    }

    /// Sets the function that chooses the fault of each call from its operation and request. It replaces the previous
    /// function.
    pub fn inject_faults(&self, fault: impl Fn(&str, &Value) -> Option<Fault> + Send + Sync + 'static) {
        *self.faults.lock().expect("no poison") = Arc::new(fault);
    }

    /// Lets each query return only one item, in this order, so that something can happen between any two items of what a caller
    /// reads. Only a caller who reads everything gets the same.
    pub fn cut_queries(&self, order: Order) {
        *self.cut.lock().expect("no poison") = Some(order);
    }

    /// Runs `action` right before the next call of this operation, for example between a request's reads and its write.
    pub fn run_before(&self, operation: &'static str, action: impl Future<Output = ()> + Send + 'static) {
        *self.before.lock().expect("no poison") = Some((operation, Box::pin(action)));
    }
}

impl Default for DynamoDbInterceptor {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpClient for DynamoDbInterceptor {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(InterceptingConnector { inner, interceptor: self.clone() })
    }
}

struct InterceptingConnector {
    inner: SharedHttpConnector,
    interceptor: DynamoDbInterceptor,
}

impl std::fmt::Debug for InterceptingConnector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InterceptingConnector")
    }
}

impl HttpConnector for InterceptingConnector {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let operation = operation(&request).to_owned();
        let mut body: Value =
            request.body().bytes().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
        let cut = *self.interceptor.cut.lock().expect("no poison");
        if let Some(order) = cut.filter(|_| operation == "Query") {
            body["Limit"] = json!(1);
            body["ScanIndexForward"] = json!(order == Order::Ascending);
            let text = body.to_string();
            request.headers_mut().insert("content-length", text.len().to_string());
            *request.body_mut() = SdkBody::from(text);
        }
        assert_valid_transaction(&body);
        let function = permissions::current();
        permissions::check(&function, &operation, &body);
        let fault = self.interceptor.faults.lock().expect("no poison").clone()(&operation, &body);
        let replacement = fault.as_ref().and_then(|fault| faulty_response(fault, &body));
        let before = self
            .interceptor
            .before
            .lock()
            .expect("no poison")
            .take_if(|(expected, _)| *expected == operation);
        let (inner, interceptor) = (self.inner.clone(), self.interceptor.clone());
        HttpConnectorFuture::new(async move {
            if let Some((_, action)) = before {
                permissions::run_unchecked(action).await;
            }
            let is_real = replacement.is_none();
            let clock_blocker = (is_real && interceptor.is_remote).then(|| interceptor.block_clock());
            let response = replacement.unwrap_or_else(|| inner.call(request));
            let started = {
                let mut calls = interceptor.calls.lock().expect("no poison");
                let started = interceptor.places.fetch_add(1, Ordering::Relaxed);
                calls.push(RawCall {
                    function: function.clone(),
                    operation: operation.clone(),
                    request: body.clone(),
                    response: Bytes::new(),
                    started,
                    ended: None,
                });
                started
            };
            let response = response.await?;
            let status = response.status();
            let read = ByteStream::new(response.into_body()).collect().await;
            let bytes = read.map_err(|error| ConnectorError::io(error.into()))?.into_bytes();
            drop(clock_blocker);
            if !interceptor.is_remote {
                for _ in 0..ROUNDS {
                    tokio::task::yield_now().await;
                }
            }
            if let Some(kinds) = interceptor.kinds.as_ref().filter(|_| is_real) {
                kinds.record(&function, &operation, &body, status.as_u16(), &bytes);
            }
            let mut calls = interceptor.calls.lock().expect("no poison");
            if let Some(call) = calls.iter_mut().rev().find(|call| call.started == started) {
                call.response.clone_from(&bytes);
                call.ended = Some(interceptor.places.fetch_add(1, Ordering::Relaxed));
            }
            drop(calls);
            if matches!(fault, Some(Fault::ResponseLost)) {
                return Err(ConnectorError::timeout("the response was lost".into()));
            }
            Ok(HttpResponse::new(status, SdkBody::from(bytes)))
        })
    }
}

/// Adds `ReturnConsumedCapacity` to calls before they are signed. DynamoDB in AWS rejects requests that change after
/// signing.
#[derive(Debug)]
pub(super) struct ReturnConsumedCapacity;

impl Intercept for ReturnConsumedCapacity {
    fn name(&self) -> &'static str {
        "ReturnConsumedCapacity"
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        if ["GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"]
            .contains(&operation(request))
        {
            let members =
                request.body().bytes().and_then(|body| body.strip_suffix(b"}")).expect("a JSON object");
            if String::from_utf8_lossy(members).contains("\"ReturnConsumedCapacity\"") {
                return Ok(());
            }
            let body = [members, br#","ReturnConsumedCapacity":"TOTAL"}"#].concat();
            request.headers_mut().insert("content-length", body.len().to_string());
            *request.body_mut() = SdkBody::from(body);
        }
        Ok(())
    }
}

fn operation(request: &HttpRequest) -> &str {
    let target = request.headers().get("x-amz-target").unwrap_or_default();
    target.rsplit('.').next().unwrap_or_default()
}

/// Asserts that a transaction has at most 100 actions, all on different items. DynamoDB requires this, but the embedded
/// engine may not check it.
fn assert_valid_transaction(request: &Value) {
    let actions = request["TransactItems"].as_array().into_iter().flatten();
    let keys: Vec<_> = actions
        .filter_map(Value::as_object)
        .flat_map(|action| action.values())
        .map(|action| {
            let key = if action["Item"].is_object() { &action["Item"] } else { &action["Key"] };
            (key["pk"]["S"].to_string(), key["sk"]["S"].to_string())
        })
        .collect();
    let distinct: HashSet<_> = keys.iter().collect();
    assert!(keys.len() <= 100 && distinct.len() == keys.len(), "DynamoDB rejects this transaction");
}

/// Returns the response that replaces DynamoDB's, if the fault prevents the call.
fn faulty_response(fault: &Fault, request: &Value) -> Option<HttpConnectorFuture> {
    let exception = |status, name: &str| {
        let name = format!("com.amazonaws.dynamodb.v20120810#{name}");
        error(status, &json!({ "__type": name, "message": "injected fault" }))
    };
    Some(match fault {
        Fault::ResponseLost => return None,
        Fault::Hang => HttpConnectorFuture::new(std::future::pending()),
        Fault::Unreachable => {
            HttpConnectorFuture::ready(Err(ConnectorError::io("connection refused".into())))
        }
        Fault::Internal => exception(500, "InternalServerError"),
        Fault::Throttled | Fault::Conflict => {
            let Some(actions) = request["TransactItems"].as_array() else {
                let is_conflict = matches!(fault, Fault::Conflict);
                let name = if is_conflict {
                    "TransactionConflictException"
                } else {
                    "ProvisionedThroughputExceededException"
                };
                return Some(exception(400, name));
            };
            let reason = |index| match fault {
                Fault::Conflict => json!({ "Code": "TransactionConflict", "Message": "conflict" }),
                _ if index == 0 => json!({ "Code": "ThrottlingError", "Message": "throttled" }),
                _ => json!({ "Code": "None" }),
            };
            let reasons: Vec<_> = (0..actions.len()).map(reason).collect();
            let name = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
            error(400, &json!({ "__type": name, "Message": "cancelled", "CancellationReasons": reasons }))
        }
    })
}

fn error(status: u16, body: &Value) -> HttpConnectorFuture {
    let status = status.try_into().expect("a status");
    HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(body.to_string()))))
}

/// The key and the top-level attributes that an action of a transaction puts or sets.
pub fn written(action: &Value) -> Value {
    if action["Put"].is_object() {
        return action["Put"]["Item"].clone();
    }
    let update = &action["Update"];
    let mut attributes = update["Key"].clone();
    let expression = update["UpdateExpression"].as_str().unwrap_or_default();
    let set = expression.split(" REMOVE ").next().and_then(|set| set.strip_prefix("SET "));
    for (name, value) in
        set.into_iter().flat_map(|set| set.split(", ")).filter_map(|one| one.split_once(" = "))
    {
        if let Some(name) = update["ExpressionAttributeNames"][name].as_str() {
            attributes[name] = update["ExpressionAttributeValues"][value].clone();
        }
    }
    attributes
}
