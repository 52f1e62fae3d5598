//! DynamoDB errors: whether they are transient, and their messages.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// A failed call to DynamoDB.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// DynamoDB throttles, is slow or cannot be reached. The same call may succeed later.
    #[error("DynamoDB is unavailable: {0}")]
    Unavailable(String),
    /// An error on our side: an invalid call, or a missing table or permission.
    #[error("{0}")]
    Internal(String),
    /// An item cannot be read: it is damaged, or a newer release wrote it.
    #[error("an item cannot be read: {0}")]
    Unreadable(String),
}

/// The codes of transient errors, for any operation.
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

impl StoreError {
    /// Reports an item that cannot be read. An operator has to mend it.
    pub(super) fn unreadable(key: &str, problem: &str) -> Self {
        tracing::error!(item = key, problem, unreadable = 1_u8, "an item cannot be read");
        Self::Unreadable(format!("{key}: {problem}"))
    }

    /// Converts an error that needs no special handling. Keeps only its kind, its code and DynamoDB's message, and
    /// never an item.
    pub(super) fn of<E: ProvideErrorMetadata>(error: &SdkError<E>) -> Self {
        match error {
            SdkError::TimeoutError(_) => Self::Unavailable("timed out".to_owned()),
            SdkError::DispatchFailure(failure) => {
                let kind = if failure.is_timeout() { "timed out" } else { "not reachable" };
                Self::Unavailable(kind.to_owned())
            }
            SdkError::ResponseError(_) => Self::Unavailable("the response was not readable".to_owned()),
            SdkError::ServiceError(error) => {
                let code = error.err().code().unwrap_or("no error code");
                let message = error.err().message().unwrap_or_default();
                if TRANSIENT.contains(&code) || error.raw().status().is_server_error() {
                    Self::Unavailable(code.to_owned())
                } else {
                    Self::Internal(format!("DynamoDB rejected a call: {code}: {message}"))
                }
            }
            _ => Self::Internal("a call to DynamoDB could not be built".to_owned()),
        }
    }

    /// Whether a transaction was cancelled for a transient reason.
    pub(super) fn is_transient(code: &str) -> bool {
        TRANSIENT.contains(&code) || code == "ThrottlingError" || code == "ProvisionedThroughputExceeded"
    }
}

/// Whether DynamoDB rejected a write without any effect: it throttled the write, or a transaction was using the item.
pub(super) fn is_contention<E: ProvideErrorMetadata>(error: &SdkError<E>) -> bool {
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
