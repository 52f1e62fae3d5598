//! The way to DynamoDB: records every call, and plays its faults.

use std::collections::HashSet;
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
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// A call to DynamoDB.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The operation: `"UpdateItem"`.
    pub operation: String,
    /// What was asked.
    pub request: Value,
    /// What was answered; `null` where nothing was.
    pub response: Value,
}

impl Recorded {
    /// The capacity units that the call consumed.
    pub fn units(&self) -> f64 {
        match &self.response["ConsumedCapacity"] {
            Value::Array(tables) => tables.iter().filter_map(|table| table["CapacityUnits"].as_f64()).sum(),
            table => table["CapacityUnits"].as_f64().unwrap_or(0.0),
        }
    }
}

/// A call as it was heard: most are never looked at, and what was answered need not be read for those.
struct Heard {
    operation: String,
    request: Value,
    response: Bytes,
}

/// What goes wrong with a call.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Refused for its rate; nothing was done.
    Throttled,
    /// No connection; nothing was done.
    Unreachable,
    /// No answer, ever; nothing was done.
    Silent,
    /// Done, but the answer is lost.
    AnswerLost,
    /// A transaction was at the item: nothing was done, and of a transaction every action says so.
    Conflict,
    /// DynamoDB's own error; nothing was done.
    Internal,
}

type Faults = dyn Fn(&str, &Value) -> Option<Fault> + Send + Sync;
type Before = Option<(&'static str, BoxFuture<'static, ()>)>;

/// See the module.
#[derive(Clone)]
pub struct Wire {
    inner: SharedHttpClient,
    calls: Arc<Mutex<Vec<Heard>>>,
    faults: Arc<Mutex<Arc<Faults>>>,
    before: Arc<Mutex<Before>>,
    at_work: Arc<Mutex<Weak<Sender<()>>>>,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wire")
    }
}

impl Wire {
    /// A wire without faults.
    pub fn new() -> Self {
        Self::over(shared::store::https())
    }

    fn over(inner: SharedHttpClient) -> Self {
        Self {
            inner,
            calls: Arc::default(),
            faults: Arc::new(Mutex::new(Arc::new(|_, _| None))),
            before: Arc::default(),
            at_work: Arc::default(),
        }
    }

    /// As long as this is kept, a clock that the test has stopped stays where it is: it jumps to the next alarm once
    /// there is nothing to do but to wait, and does not see that an engine outside this process is at work.
    fn at_work(&self) -> Arc<Sender<()>> {
        let mut current = self.at_work.lock().expect("no poison");
        current.upgrade().unwrap_or_else(|| {
            let (sender, receiver) = std::sync::mpsc::channel();
            tokio::task::spawn_blocking(move || receiver.recv());
            let sender = Arc::new(sender);
            *current = Arc::downgrade(&sender);
            sender
        })
    }

    /// The client to give to a store.
    pub fn client(&self) -> SharedHttpClient {
        SharedHttpClient::new(self.clone())
    }

    /// The calls since the last time.
    pub fn take(&self) -> Vec<Recorded> {
        let read = |heard: Heard| Recorded {
            operation: heard.operation,
            request: heard.request,
            response: serde_json::from_slice(&heard.response).unwrap_or_default(),
        };
        self.heard().into_iter().map(read).collect()
    }

    /// Forgets the calls since the last time, without reading them.
    pub fn forget(&self) {
        drop(self.heard());
    }

    fn heard(&self) -> Vec<Heard> {
        std::mem::take(&mut self.calls.lock().expect("no poison"))
    }

    /// From now on, `fault` says of each call (operation, request) what goes wrong with it.
    pub fn play(&self, fault: impl Fn(&str, &Value) -> Option<Fault> + Send + Sync + 'static) {
        *self.faults.lock().expect("no poison") = Arc::new(fault);
    }

    /// Right before the next call of this operation, this happens: between what a request has read and what it writes.
    pub fn before(&self, operation: &'static str, happening: impl Future<Output = ()> + Send + 'static) {
        *self.before.lock().expect("no poison") = Some((operation, Box::pin(happening)));
    }
}

impl Default for Wire {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpClient for Wire {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Line { inner, wire: self.clone() })
    }
}

struct Line {
    inner: SharedHttpConnector,
    wire: Wire,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Line")
    }
}

impl HttpConnector for Line {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let operation = operation(&request).to_owned();
        let asked =
            request.body().bytes().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
        assert_allowed(&asked);
        let fault = self.wire.faults.lock().expect("no poison").clone()(&operation, &asked);
        let answer = fault.as_ref().and_then(|fault| instead(fault, &asked));
        let before =
            self.wire.before.lock().expect("no poison").take_if(|(awaited, _)| *awaited == operation);
        let (inner, wire) = (self.inner.clone(), self.wire.clone());
        HttpConnectorFuture::new(async move {
            if let Some((_, happening)) = before {
                happening.await;
            }
            let at_work = answer.is_none().then(|| wire.at_work());
            let done = answer.unwrap_or_else(|| inner.call(request));
            let heard = Heard { operation, request: asked, response: Bytes::new() };
            let at = {
                let mut calls = wire.calls.lock().expect("no poison");
                calls.push(heard);
                calls.len() - 1
            };
            let response = done.await?;
            let status = response.status();
            let body = ByteStream::new(response.into_body()).collect().await;
            let bytes = body.map_err(|error| ConnectorError::io(error.into()))?.into_bytes();
            drop(at_work);
            if let Some(heard) = wire.calls.lock().expect("no poison").get_mut(at) {
                heard.response.clone_from(&bytes);
            }
            if matches!(fault, Some(Fault::AnswerLost)) {
                return Err(ConnectorError::timeout("the answer was lost".into()));
            }
            Ok(HttpResponse::new(status, SdkBody::from(bytes)))
        })
    }
}

/// Has DynamoDB say what calls consume. It is asked before the call is signed: Amazon's DynamoDB refuses what has changed since.
#[derive(Debug)]
pub(super) struct AskForCapacity;

impl Intercept for AskForCapacity {
    fn name(&self) -> &'static str {
        "AskForCapacity"
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        if ["GetItem", "BatchGetItem", "Query", "UpdateItem", "TransactWriteItems"]
            .contains(&operation(request))
        {
            let members =
                request.body().bytes().and_then(|body| body.strip_suffix(b"}")).expect("a JSON object");
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

/// What DynamoDB refuses of a transaction, and the embedded engine may not: more than 100 actions, or two at one item.
fn assert_allowed(asked: &Value) {
    let actions = asked["TransactItems"].as_array().into_iter().flatten();
    let places: Vec<_> = actions
        .filter_map(Value::as_object)
        .flat_map(|action| action.values())
        .map(|action| {
            let place = if action["Item"].is_object() { &action["Item"] } else { &action["Key"] };
            (place["pk"]["S"].to_string(), place["sk"]["S"].to_string())
        })
        .collect();
    let distinct: HashSet<_> = places.iter().collect();
    assert!(places.len() <= 100 && distinct.len() == places.len(), "a transaction that DynamoDB refuses");
}

/// What comes back instead of DynamoDB's answer.
fn instead(fault: &Fault, asked: &Value) -> Option<HttpConnectorFuture> {
    let exception = |status, name: &str| {
        let name = format!("com.amazonaws.dynamodb.v20120810#{name}");
        error(status, &json!({ "__type": name, "message": "a fault" }))
    };
    Some(match fault {
        Fault::AnswerLost => return None,
        Fault::Silent => HttpConnectorFuture::new(std::future::pending()),
        Fault::Unreachable => {
            HttpConnectorFuture::ready(Err(ConnectorError::io("connection refused".into())))
        }
        Fault::Throttled => exception(400, "ProvisionedThroughputExceededException"),
        Fault::Internal => exception(500, "InternalServerError"),
        Fault::Conflict if asked.get("TransactItems").is_none() => {
            exception(400, "TransactionConflictException")
        }
        Fault::Conflict => {
            let actions = asked["TransactItems"].as_array().map_or(0, Vec::len);
            error(
                400,
                &json!({
                    "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
                    "Message": "cancelled",
                    "CancellationReasons": vec![json!({ "Code": "TransactionConflict", "Message": "conflict" }); actions],
                }),
            )
        }
    })
}

fn error(status: u16, body: &Value) -> HttpConnectorFuture {
    let status = status.try_into().expect("a status");
    HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(body.to_string()))))
}
