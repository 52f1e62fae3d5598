//! The one form of every error (contract: errors).

use serde::Serialize;
use utoipa::ToSchema;

use crate::model::{InvalidTransition, NotApplicable, NotPublishable, Scope};
use crate::store::{Failure, Refusal};

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// 400: not JSON, a bad cursor, a bad header.
    #[error("{0}")]
    BadRequest(String),
    /// 401: no good credential (RFC 6750, section 3).
    #[error("{}", if *presented { "The credential is not valid" } else { "An API key or access token is required" })]
    Unauthorized {
        /// Whether a credential was sent at all.
        presented: bool,
    },
    /// 401: the request is not signed as its provider signs.
    #[error("The signature is not valid")]
    BadSignature,
    /// 403: a good credential without the scope.
    #[error("The credential lacks the scope {}", .0.as_str())]
    InsufficientScope(Scope),
    /// 403: a good credential of a suspended organization.
    #[error("The organization is suspended")]
    Suspended,
    /// 403: a form that this browser was not given, or was given long ago.
    #[error("The form is no longer valid; open the page again and repeat what you did")]
    ForeignForm,
    /// 403: a member who may not do this.
    #[error("Only owners of the organization may do this")]
    OwnersOnly,
    /// 404: nothing there, or nothing of this tenant's.
    #[error("Not found")]
    NotFound,
    /// 405, with the methods that the path has.
    #[error("The method is not allowed here; allowed: {0}")]
    MethodNotAllowed(String),
    /// 412: the `If-Match` header names another version.
    #[error("The resource has changed since it was read")]
    PreconditionFailed,
    /// 413: the body is over this many bytes.
    #[error("The request body must be at most {0} bytes")]
    PayloadTooLarge(usize),
    /// 415: the body is of another type.
    #[error("The request body must be {0}")]
    UnsupportedMediaType(&'static str),
    /// 422: every failure of the request's fields.
    #[error("Validation failed")]
    Validation(Vec<String>),
    /// 422: the state machine has no such move.
    #[error("The resource's state does not allow this")]
    InvalidTransition(String),
    /// 422: what is asked needs an account elsewhere, and this sentence says which.
    #[error("A channel is not connected")]
    ChannelNotConnected(String),
    /// 422: the idempotency key was used for another request.
    #[error("The idempotency key was used with a different request")]
    IdempotencyMismatch,
    /// 429, with the seconds until the quota is full again.
    #[error("The daily limit of {limit} requests is used up; it resets at midnight UTC")]
    RateLimited {
        /// The plan's limit.
        limit: u64,
        /// Seconds until midnight UTC.
        retry_after: u64,
    },
    /// 502: an outside service failed, as this sentence says.
    #[error("{sentence}")]
    Upstream {
        /// A sentence for people.
        sentence: String,
        /// Seconds until it is worth another try, where the service said so.
        retry_after: Option<u64>,
    },
    /// What a transaction found in its way. Most of it never reaches a client: what has changed is read again.
    #[error("The request could not be carried out")]
    Refused(#[from] Refusal),
    /// 500, or 503 where DynamoDB is to blame.
    #[error("The request could not be carried out")]
    Failed(#[from] Failure),
}

/// Why a request was not carried out.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBody<'a> {
    /// A sentence for people.
    error: String,
    /// A word for programs.
    code: &'a str,
    /// With 422: one sentence for every failure of the request, beginning with the field's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<Vec<String>>,
    /// The request's name in the logs.
    request_id: &'a str,
}

/// Why an OAuth client's request was not carried out (RFC 6749, section 5.2).
#[derive(Debug, Serialize, ToSchema)]
pub struct OAuthError {
    /// A word for programs.
    pub error: &'static str,
    /// A sentence for people.
    pub error_description: String,
}

impl Error {
    /// The status and the stable word for programs.
    pub fn kind(&self) -> (u16, &'static str) {
        match self {
            Self::BadRequest(_) => (400, "bad_request"),
            Self::Unauthorized { .. } | Self::BadSignature => (401, "unauthorized"),
            Self::InsufficientScope(_) | Self::Suspended | Self::ForeignForm | Self::OwnersOnly => {
                (403, "forbidden")
            }
            Self::NotFound => (404, "not_found"),
            Self::MethodNotAllowed(_) => (405, "method_not_allowed"),
            Self::Refused(Refusal::InFlight) => (409, "conflict"),
            Self::PreconditionFailed => (412, "precondition_failed"),
            Self::PayloadTooLarge(_) => (413, "payload_too_large"),
            Self::UnsupportedMediaType(_) => (415, "unsupported_media_type"),
            Self::Validation(_) => (422, "validation_failed"),
            Self::InvalidTransition(_) => (422, "invalid_transition"),
            Self::ChannelNotConnected(_) => (422, "channel_not_connected"),
            Self::Upstream { .. } => (502, "upstream_failed"),
            Self::IdempotencyMismatch => (422, "idempotency_mismatch"),
            Self::RateLimited { .. } => (429, "rate_limited"),
            Self::Failed(Failure::Internal(_)) | Self::Refused(Refusal::Failed(Failure::Internal(_))) => {
                (500, "internal_error")
            }
            Self::Failed(Failure::Unavailable(_)) | Self::Refused(_) => (503, "unavailable"),
        }
    }

    /// What the log says of it beyond the status; nothing that a client sent.
    pub(super) fn detail(&self) -> Option<String> {
        match self {
            Self::Failed(failure) | Self::Refused(Refusal::Failed(failure)) => Some(failure.to_string()),
            Self::Refused(refusal) => Some(refusal.to_string()),
            _ => None,
        }
    }

    /// The headers that go with it. Whoever lacks a credential is told where to learn how to get one (RFC 9728, section
    /// 5.1).
    pub fn headers(&self, base_url: &str) -> Vec<(&'static str, String)> {
        let challenge = |rest: &str| {
            let metadata = format!("{base_url}/.well-known/oauth-protected-resource/api/v1");
            vec![("www-authenticate", format!("Bearer resource_metadata=\"{metadata}\"{rest}"))]
        };
        match self {
            Self::Unauthorized { presented: false } => challenge(""),
            Self::Unauthorized { presented: true } => challenge(", error=\"invalid_token\""),
            Self::InsufficientScope(scope) => {
                challenge(&format!(", error=\"insufficient_scope\", scope=\"{}\"", scope.as_str()))
            }
            Self::BadSignature => vec![("www-authenticate", r#"Signature realm="rolecall""#.to_owned())],
            Self::MethodNotAllowed(allowed) => vec![("allow", allowed.clone())],
            Self::Upstream { retry_after: Some(seconds), .. } => vec![("retry-after", seconds.to_string())],
            Self::RateLimited { retry_after, .. } => vec![("retry-after", retry_after.to_string())],
            _ if self.kind().0 == 503 => vec![("retry-after", "1".to_owned())],
            _ => Vec::new(),
        }
    }

    /// The body, for the request of this name.
    pub fn body(&self, request_id: &str) -> String {
        let messages = match self {
            Self::Validation(messages) => Some(messages.clone()),
            Self::InvalidTransition(message) | Self::ChannelNotConnected(message) => {
                Some(vec![message.clone()])
            }
            Self::IdempotencyMismatch => Some(vec![self.to_string()]),
            _ => None,
        };
        let (_, code) = self.kind();
        let error = self.sentence();
        serde_json::to_string(&ErrorBody { error, code, messages, request_id }).unwrap_or_default()
    }

    /// What it is, for people.
    pub fn sentence(&self) -> String {
        match self.kind().0 {
            503 => "The service is busy; try again in a moment".to_owned(),
            409 => "A request with this idempotency key is still being carried out".to_owned(),
            _ => self.to_string(),
        }
    }

    /// The body where OAuth's form is asked for (RFC 6749, section 5.2). Its own errors are replies: here is what any
    /// route can run into.
    pub fn oauth_body(&self) -> String {
        let error = match self.kind().0 {
            500 => "server_error",
            501.. => "temporarily_unavailable",
            _ => "invalid_request",
        };
        serde_json::to_string(&OAuthError { error, error_description: self.sentence() }).unwrap_or_default()
    }
}

impl From<InvalidTransition> for Error {
    fn from(transition: InvalidTransition) -> Self {
        Self::InvalidTransition(transition.to_string())
    }
}

impl From<NotApplicable> for Error {
    fn from(refused: NotApplicable) -> Self {
        Self::Validation(vec![refused.to_string()])
    }
}

impl From<NotPublishable> for Error {
    fn from(refused: NotPublishable) -> Self {
        Self::InvalidTransition(refused.to_string())
    }
}
