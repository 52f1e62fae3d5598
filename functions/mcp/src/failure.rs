//! Why a call of a tool has no result, and why a request fails.

use serde_json::Value;
use shared::http::Error;

use crate::rpc::RpcError;

/// Why a call has no result yet.
#[derive(Debug)]
pub enum ToolError {
    /// The call cannot be carried out. The text says what would be right, and is for the assistant.
    Rejected(String),
    /// A member has to confirm the call on the page that the text names.
    Unconfirmed(String),
    /// The client has to ask the member, and to repeat the call with the answer: the result with the questions.
    Ask(Value),
    /// The protocol forbids the call.
    Rpc(RpcError),
    /// The request failed.
    Failed(Error),
}

impl ToolError {
    /// Whether the call may succeed if it runs again.
    pub(crate) const fn is_conflict(&self) -> bool {
        matches!(self, Self::Failed(error) if error.is_conflict())
    }

    /// The result, if the client has to ask the member; the failure otherwise.
    pub(crate) fn ask(self) -> Result<Value, Failure> {
        match self {
            Self::Ask(result) => Ok(result),
            Self::Rejected(message) | Self::Unconfirmed(message) => {
                Err(RpcError::invalid_params(message).into())
            }
            Self::Rpc(error) => Err(error.into()),
            Self::Failed(error) => Err(error.into()),
        }
    }
}

impl From<RpcError> for ToolError {
    fn from(error: RpcError) -> Self {
        Self::Rpc(error)
    }
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A failed request: an error of the protocol, or one that any request can have.
pub(crate) enum Failure {
    Rpc(RpcError),
    Request(Error),
}

impl From<RpcError> for Failure {
    fn from(error: RpcError) -> Self {
        Self::Rpc(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Request(error)
    }
}
