//! What can go wrong with DynamoDB, as the rest of the house needs to know it.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// A call to DynamoDB that did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Throttled, slow or out of reach: the same call may succeed later.
    #[error("DynamoDB is unavailable: {0}")]
    Unavailable(String),
    /// Our mistake: a wrong call, a missing table or permission, an item that cannot be read.
    #[error("{0}")]
    Internal(String),
}

/// Error codes that mean "not now", whatever the operation.
const TRANSIENT: [&str; 9] = [
    "InternalServerError",
    "LimitExceededException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ServiceUnavailable",
    "ThrottlingException",
    "TransactionConflictException",
    "TransactionInProgressException",
    "ReplicatedWriteConflictException",
];

impl Failure {
    /// The reading of an error that the operation's caller has no other use for. Only kinds, codes and DynamoDB's own
    /// sentence are kept: never an item.
    pub(super) fn of<E: ProvideErrorMetadata>(error: &SdkError<E>) -> Self {
        match error {
            SdkError::TimeoutError(_) => Self::Unavailable("timed out".to_owned()),
            SdkError::DispatchFailure(failure) => {
                let kind = if failure.is_timeout() { "timed out" } else { "not reachable" };
                Self::Unavailable(kind.to_owned())
            }
            SdkError::ResponseError(_) => Self::Unavailable("answered with something unreadable".to_owned()),
            SdkError::ServiceError(failed) => {
                let code = failed.err().code().unwrap_or("no error code");
                let message = failed.err().message().unwrap_or_default();
                if TRANSIENT.contains(&code) || failed.raw().status().is_server_error() {
                    Self::Unavailable(code.to_owned())
                } else {
                    Self::Internal(format!("DynamoDB refused a call: {code}: {message}"))
                }
            }
            _ => Self::Internal("a call to DynamoDB could not be built".to_owned()),
        }
    }

    /// Whether this reason of a cancelled transaction means "not now".
    pub(super) fn transient_code(code: &str) -> bool {
        TRANSIENT.contains(&code) || code == "ThrottlingError" || code == "ProvisionedThroughputExceeded"
    }
}

/// Whether DynamoDB turned a write away before doing anything: for its rate, or because a transaction was at the item.
pub(super) fn turned_away<E: ProvideErrorMetadata>(error: &SdkError<E>) -> bool {
    matches!(
        error.code(),
        Some(
            "ProvisionedThroughputExceededException"
                | "RequestLimitExceeded"
                | "ThrottlingException"
                | "TransactionConflictException"
        )
    )
}
