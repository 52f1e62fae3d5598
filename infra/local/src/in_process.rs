//! DynamoDB in this process: the SDK's calls reach an embedded database without a network and without signatures.

use std::fmt;
use std::sync::Arc;

use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Region, SharedHttpClient};
use aws_smithy_runtime::client::auth::no_auth::NO_AUTH_SCHEME_ID;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use dynoxide::{Database, DynoxideError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The answer to a call: the status and the body.
pub type Answer = (u16, String);

/// An HTTP client whose calls `answer` answers. It gets the operation, such as `GetItem`, and the body.
pub fn http_client<A, F>(answer: A) -> SharedHttpClient
where
    A: Fn(String, String) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Answer, ConnectorError>> + Send + 'static,
{
    SharedHttpClient::new(Calls(Arc::new(move |operation, body| {
        let answer = answer(operation, body);
        HttpConnectorFuture::new(async {
            let (status, body) = answer.await?;
            let status = status.try_into().map_err(|_| ConnectorError::user("no status".into()))?;
            Ok(HttpResponse::new(status, SdkBody::from(body)))
        })
    })))
}

/// An HTTP client whose calls this database answers.
pub fn http_client_of(database: Database) -> SharedHttpClient {
    http_client(move |operation, body: String| {
        let database = database.clone();
        async move {
            let answer = execute(&database, &operation, &body);
            // The database answers at once. One in another process suspends its caller: other requests go on, and the caller
            // can be killed before it sees the answer.
            tokio::task::yield_now().await;
            Ok(answer)
        }
    })
}

/// The configuration of a client of DynamoDB that uses one of these HTTP clients.
pub fn config(http: SharedHttpClient) -> Builder {
    Builder::new()
        .behavior_version(BehaviorVersion::latest())
        .http_client(http)
        .endpoint_url("http://dynamodb.test")
        .region(Region::from_static("us-east-1"))
        // Nobody checks signatures, which take a tenth of a call's time.
        .allow_no_auth()
        .auth_scheme_preference([NO_AUTH_SCHEME_ID])
}

/// Carries out a call.
pub fn execute(database: &Database, operation: &str, body: &str) -> Answer {
    fn run<Q: DeserializeOwned, R: Serialize>(
        body: &str,
        method: impl FnOnce(Q) -> dynoxide::Result<R>,
    ) -> dynoxide::Result<String> {
        let request = serde_json::from_str(body)
            .map_err(|error| DynoxideError::SerializationException(error.to_string()))?;
        serde_json::to_string(&method(request)?)
            .map_err(|error| DynoxideError::InternalServerError(error.to_string()))
    }
    let result = match operation {
        "CreateTable" => run(body, |request| database.create_table(request)),
        "DeleteTable" => run(body, |request| database.delete_table(request)),
        "ListTables" => run(body, |request| database.list_tables(request)),
        "DescribeTable" => run(body, |request| database.describe_table(request)),
        "DescribeTimeToLive" => run(body, |request| database.describe_time_to_live(request)),
        "UpdateTable" => run(body, |request| database.update_table(request)),
        "UpdateTimeToLive" => run(body, |request| database.update_time_to_live(request)),
        "PutItem" => run(body, |request| database.put_item(request)),
        "GetItem" => run(body, |request| database.get_item(request)),
        "DeleteItem" => run(body, |request| database.delete_item(request)),
        "UpdateItem" => run(body, |request| database.update_item(request)),
        "Query" => run(body, |request| database.query(request)),
        "Scan" => run(body, |request| database.scan(request)),
        "BatchGetItem" => run(body, |request| database.batch_get_item(request)),
        "BatchWriteItem" => run(body, |request| database.batch_write_item(request)),
        "TransactGetItems" => run(body, |request| database.transact_get_items(request)),
        "TransactWriteItems" => run(body, |request| database.transact_write_items(request)),
        _ => return (400, r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#.to_owned()),
    };
    match result {
        Ok(body) => (200, body),
        Err(error) => (error.status_code(), error.to_json()),
    }
}

type Call = dyn Fn(String, String) -> HttpConnectorFuture + Send + Sync;

/// The place of the network below the SDK.
#[derive(Clone)]
struct Calls(Arc<Call>);

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Calls")
    }
}

impl HttpClient for Calls {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Calls {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        match str::from_utf8(request.body().bytes().unwrap_or_default()) {
            Ok(body) => (self.0)(operation, body.to_owned()),
            Err(error) => HttpConnectorFuture::ready(Err(ConnectorError::user(error.into()))),
        }
    }
}
