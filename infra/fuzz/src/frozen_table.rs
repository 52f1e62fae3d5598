//! A table that never changes once it is frozen, so that an input always has the same result. Every write succeeds
//! without an effect, unless it returns an item that does not exist.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use dynoxide::Database;
use rolecall_local::in_process::{self, Answer, execute};
use serde_json::{Value, json};
use shared::store::Store;

/// The maximum number of responses to reads that are kept.
const MAX_KEPT: usize = 5_000;

/// The table, as all functions share it.
#[derive(Clone)]
pub(crate) struct FrozenTable(Arc<Inner>);

struct Inner {
    database: Database,
    is_frozen: OnceLock<()>,
    /// The responses to earlier reads, by operation and request.
    kept: Mutex<HashMap<(String, String), Answer>>,
}

impl FrozenTable {
    /// An empty database, which can be changed until it is frozen.
    pub(crate) fn new() -> Self {
        let database = Database::memory().expect("a database");
        Self(Arc::new(Inner { database, is_frozen: OnceLock::new(), kept: Mutex::default() }))
    }

    /// A handle to the table with this name.
    pub(crate) fn store(&self, table: &str) -> Store {
        let frozen = self.clone();
        let http = in_process::http_client(move |operation, body: String| {
            std::future::ready(Ok(frozen.answer(&operation, &body)))
        });
        Store::from_config(in_process::config(http), table)
    }

    /// Ignores all further writes.
    pub(crate) fn freeze(&self) {
        self.0.is_frozen.get_or_init(|| ());
    }

    fn answer(&self, operation: &str, body: &str) -> Answer {
        let Inner { database, is_frozen, kept } = &*self.0;
        if is_frozen.get().is_none() {
            return execute(database, operation, body);
        }
        if !matches!(operation, "GetItem" | "Query" | "BatchGetItem") {
            return self.answer_to_write(operation, body);
        }
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        let answer = || execute(database, operation, body);
        kept.entry((operation.to_owned(), body.to_owned())).or_insert_with(answer).clone()
    }

    fn answer_to_write(&self, operation: &str, body: &str) -> Answer {
        let request: Value = serde_json::from_str(body).expect("JSON");
        if !matches!(request["ReturnValues"].as_str(), Some("ALL_NEW" | "ALL_OLD")) {
            return (200, "{}".to_owned());
        }
        let read = json!({ "TableName": request["TableName"], "Key": request["Key"] });
        let (_, found) = self.answer("GetItem", &read.to_string());
        let mut found: Value = serde_json::from_str(&found).expect("JSON");
        match found["Item"].take() {
            Value::Null if operation == "UpdateItem" => {
                let kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
                (400, json!({ "__type": kind, "message": "" }).to_string())
            }
            Value::Null => (200, "{}".to_owned()),
            item => (200, json!({ "Attributes": item }).to_string()),
        }
    }
}
