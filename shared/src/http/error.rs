//! The errors of requests, with their statuses, headers and bodies.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::Serialize;
use utoipa::ToSchema;

use super::Unconfirmed;
use crate::id::Id;
use crate::model::{
    ApplicationError, InvalidTransition, MoveError, PublishError, Resource, Scopes, TooManyConsents,
};
use crate::services::applying::ApplyError;
use crate::services::erasure::EraseError;
use crate::store::{CommitError, MaybeErased, StoreError, UniqueField};

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// 400: the body is not JSON, or a cursor or a header is invalid.
    #[error("{0}")]
    BadRequest(String),
    /// 401: no valid credential (RFC 6750, section 3).
    #[error("{}", if *presented { "The credential is not valid" } else { "An API key or access token is required" })]
    Unauthorized {
        /// Whether a credential was sent.
        presented: bool,
    },
    /// 401: the request does not have a valid signature from the provider.
    #[error("The signature is not valid")]
    BadSignature,
    /// 403: the credential is valid, but lacks one or more of these scopes.
    #[error("{}", if .0.iter().count() == 1 {
        format!("The credential lacks the scope {}", .0)
    } else {
        format!("The credential must have all of these scopes: {}", .0)
    })]
    InsufficientScope(Scopes),
    /// 403: the credential is valid, but its organization is suspended.
    #[error("The organization is suspended")]
    Suspended,
    /// 403: the API key may not be used from this address, or the address is unknown.
    #[error("{}", match .0 {
        Some(address) => format!("The API key may not be used from {address}"),
        None => "The API key may be used only from known networks, and the request's address is unknown".to_owned(),
    })]
    NetworkNotAllowed(Option<IpAddr>),
    /// 403: a member has to confirm what an assistant does.
    #[error(
        "A member has to confirm this on the page within 15 minutes; the same request succeeds once after that"
    )]
    ConfirmationRequired(Box<Unconfirmed>),
    /// 403: the form was issued to another browser, or too long ago.
    #[error("The form is no longer valid; open the page again and resubmit the form")]
    ForeignForm,
    /// 403: a browser sends the request for a page of another site.
    #[error("Requests of other sites' pages are not accepted")]
    ForeignOrigin,
    /// 403: the request does not come through the CDN.
    #[error("Requests must be sent to the public address of the service")]
    NotThroughCdn,
    /// 403: the member is not an owner.
    #[error("Only owners of the organization may do this")]
    OwnersOnly,
    /// 403: somebody else wrote the note.
    #[error("Only the author of a note may edit it")]
    NotTheAuthor,
    /// 404: the resource does not exist or belongs to another tenant.
    #[error("Not found")]
    NotFound,
    /// 405: the path allows only these methods.
    #[error("The method is not allowed; allowed methods: {0}")]
    MethodNotAllowed(String),
    /// 409: a legal hold on the candidate forbids the erasure.
    #[error("A legal hold on the candidate forbids the erasure")]
    LegalHold,
    /// 410: the candidate was erased.
    #[error("The candidate was erased")]
    Erased,
    /// 410: the files of an import or an export were deleted.
    #[error("The files were deleted")]
    Expired,
    /// 410: a position in the change feed is too old, or beyond its end.
    #[error("The cursor has expired; start again without it, and compare the data that you have")]
    CursorExpired,
    /// 412: the `If-Match` header names another version.
    #[error("The resource has changed since it was read")]
    PreconditionFailed,
    /// 413: the body is larger than this number of bytes.
    #[error("The request body must be at most {0} bytes")]
    PayloadTooLarge(usize),
    /// 415: the body does not have this media type.
    #[error("The request body must be {0}")]
    UnsupportedMediaType(&'static str),
    /// 422: one or more fields are invalid.
    #[error("Validation failed")]
    Validation(Vec<String>),
    /// 422: the tenant already has such a resource.
    #[error("Validation failed")]
    Duplicate {
        /// Which fields must be unique.
        messages: Vec<String>,
        /// The resource, if it is known.
        existing: Option<Existing>,
    },
    /// 422: the state machine has no such transition.
    #[error("The resource's state does not allow this")]
    InvalidTransition(String),
    /// 422: the request needs a connected account at an external service, which the message names.
    #[error("A channel is not connected")]
    ChannelNotConnected(String),
    /// 422: the candidate has not given the consents that a call requires.
    #[error("The candidate's consent is required")]
    ConsentRequired(String),
    /// 422: the plan has no room for what was requested.
    #[error("The plan does not allow this")]
    PlanLimit(String),
    /// 422: the idempotency key was used for another request.
    #[error("The idempotency key was used with a different request")]
    IdempotencyMismatch,
    /// 429: the daily quota is used up.
    #[error("The daily limit of {limit} requests does not allow this one; it resets at midnight UTC")]
    RateLimited {
        /// The plan's limit.
        limit: u64,
        /// Seconds until midnight UTC.
        retry_after: u64,
    },
    /// 502: an external service failed.
    #[error("{sentence}")]
    Upstream {
        /// A human-readable description of the failure.
        sentence: String,
        /// The number of seconds after which the service allows a retry, if it specified one.
        retry_after: Option<u64>,
    },
    /// A transaction failed. Few of these errors reach a client, because conflicts are retried.
    #[error("The request could not be carried out")]
    Commit(CommitError),
    /// 500, or 503 if DynamoDB is not available. The code is `unreadable` if an item is damaged or was written by a newer
    /// release.
    #[error("The request could not be carried out")]
    Store(#[from] StoreError),
}

/// A resource that already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Existing {
    /// The type: `candidate`, `application` or `role`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The identifier.
    pub id: Id,
}

/// The body of an error response.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBody<'a> {
    /// A human-readable description of the error.
    error: String,
    /// A stable, machine-readable code.
    code: &'a str,
    /// Only with 422: one message for each mistake in the request. With `validation_failed`, each message begins with the
    /// field's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<Vec<String>>,
    /// Only with `duplicate`: the existing resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Existing, required = false)]
    existing: Option<Existing>,
    /// Only with `confirmation_required`: the URL of the dashboard's page on which a member confirms it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = "uri", required = false)]
    page: Option<&'a str>,
    /// The request's identifier in the logs.
    request_id: &'a str,
}

/// The body of an OAuth error response (RFC 6749, section 5.2).
#[derive(Debug, Serialize, ToSchema)]
pub struct OAuthError {
    /// A machine-readable code.
    pub error: &'static str,
    /// A human-readable description of the error.
    pub error_description: String,
}

/// JSON-RPC: the message is not JSON.
const RPC_PARSE_ERROR: i64 = -32700;
/// JSON-RPC: the request cannot be accepted.
const RPC_INVALID_REQUEST: i64 = -32600;
/// JSON-RPC: the service failed, or is busy.
const RPC_INTERNAL_ERROR: i64 = -32603;

impl Error {
    /// Whether a write conflicted with another one, so that the request may succeed if it is handled again.
    pub const fn is_conflict(&self) -> bool {
        matches!(self, Self::Commit(CommitError::Stale | CommitError::RoleChanged | CommitError::InFlight))
    }

    /// 400 for a blank cursor, as programs send it after the last page.
    pub(crate) fn blank_cursor() -> Self {
        let sentence =
            "The cursor is blank; leave it out for the first page. A list has ended when next_cursor is null";
        Self::BadRequest(sentence.to_owned())
    }

    /// 405 for a path with these methods, or 404 for a path without any. HEAD is allowed wherever GET is.
    pub fn of_unknown_route<'m>(methods: impl Iterator<Item = &'m str>) -> Self {
        let mut methods: BTreeSet<_> = methods.collect();
        if methods.contains("GET") {
            methods.insert("HEAD");
        }
        if methods.is_empty() {
            Self::NotFound
        } else {
            Self::MethodNotAllowed(Vec::from_iter(methods).join(", "))
        }
    }

    /// The data of a candidate; an error if there is no such candidate, or if the candidate was erased.
    pub fn unless_missing<T>(found: Option<MaybeErased<T>>) -> Result<T, Self> {
        match found {
            Some(MaybeErased::Present(data)) => Ok(data),
            Some(MaybeErased::Erased(_)) => Err(Self::Erased),
            None => Err(Self::NotFound),
        }
    }

    /// The status and the machine-readable code.
    pub fn kind(&self) -> (u16, &'static str) {
        match self {
            Self::BadRequest(_) => (400, "bad_request"),
            Self::Unauthorized { .. } | Self::BadSignature => (401, "unauthorized"),
            Self::InsufficientScope(_)
            | Self::Suspended
            | Self::NetworkNotAllowed(_)
            | Self::ForeignForm
            | Self::ForeignOrigin
            | Self::NotThroughCdn
            | Self::OwnersOnly
            | Self::NotTheAuthor => (403, "forbidden"),
            Self::ConfirmationRequired(_) => (403, "confirmation_required"),
            Self::NotFound => (404, "not_found"),
            Self::MethodNotAllowed(_) => (405, "method_not_allowed"),
            Self::Commit(CommitError::InFlight) => (409, "conflict"),
            Self::LegalHold => (409, "legal_hold"),
            Self::Erased => (410, "erased"),
            Self::CursorExpired => (410, "cursor_expired"),
            Self::Expired => (410, "expired"),
            Self::PreconditionFailed => (412, "precondition_failed"),
            Self::PayloadTooLarge(_) => (413, "payload_too_large"),
            Self::UnsupportedMediaType(_) => (415, "unsupported_media_type"),
            Self::Validation(_) => (422, "validation_failed"),
            Self::Duplicate { .. } => (422, "duplicate"),
            Self::InvalidTransition(_) => (422, "invalid_transition"),
            Self::ChannelNotConnected(_) => (422, "channel_not_connected"),
            Self::ConsentRequired(_) => (422, "consent_required"),
            Self::PlanLimit(_) => (422, "plan_limit"),
            Self::Upstream { .. } => (502, "upstream_failed"),
            Self::IdempotencyMismatch => (422, "idempotency_mismatch"),
            Self::RateLimited { .. } => (429, "rate_limited"),
            Self::Store(StoreError::Internal(_))
            | Self::Commit(CommitError::Store(StoreError::Internal(_))) => (500, "internal_error"),
            Self::Store(StoreError::Unreadable(_))
            | Self::Commit(CommitError::Store(StoreError::Unreadable(_))) => (500, "unreadable"),
            Self::Store(StoreError::Unavailable(_)) | Self::Commit(_) => (503, "unavailable"),
        }
    }

    /// Details of the error for the log. They contain nothing that a client sent.
    pub(super) fn detail(&self) -> Option<String> {
        match self {
            Self::Store(error) | Self::Commit(CommitError::Store(error)) => Some(error.to_string()),
            Self::Commit(error) => Some(error.to_string()),
            _ => None,
        }
    }

    /// The headers of the response. If the credential is missing, they include the URL of the metadata that explains
    /// how to get one (RFC 9728, section 5.1).
    pub fn headers(&self, base_url: &str, resource: Resource) -> Vec<(&'static str, String)> {
        let challenge = |rest: &str| {
            let metadata = resource.metadata_url(base_url);
            vec![("www-authenticate", format!("Bearer resource_metadata=\"{metadata}\"{rest}"))]
        };
        match self {
            Self::Unauthorized { presented } => {
                let error = if *presented { ", error=\"invalid_token\"" } else { "" };
                let scope = match resource {
                    Resource::Api => String::new(),
                    Resource::Mcp => format!(", scope=\"{}\"", resource.scopes()),
                };
                challenge(&format!("{error}{scope}"))
            }
            Self::InsufficientScope(scopes) => {
                challenge(&format!(", error=\"insufficient_scope\", scope=\"{scopes}\""))
            }
            Self::BadSignature => vec![("www-authenticate", r#"Signature realm="rolecall""#.to_owned())],
            Self::MethodNotAllowed(allowed) => vec![("allow", allowed.clone())],
            Self::Upstream { retry_after: Some(seconds), .. } => vec![("retry-after", seconds.to_string())],
            Self::RateLimited { retry_after, .. } => vec![("retry-after", retry_after.to_string())],
            _ if self.kind().0 == 503 => vec![("retry-after", "1".to_owned())],
            _ => Vec::new(),
        }
    }

    /// The response's body.
    pub fn body(&self, request_id: &str) -> String {
        let messages = (self.kind().0 == 422).then(|| self.messages());
        let existing = match self {
            Self::Duplicate { existing, .. } => *existing,
            _ => None,
        };
        let page = match self {
            Self::ConfirmationRequired(unconfirmed) => Some(unconfirmed.page.as_str()),
            _ => None,
        };
        let (_, code) = self.kind();
        let body = ErrorBody { error: self.sentence(), code, messages, existing, page, request_id };
        serde_json::to_string(&body).unwrap_or_default()
    }

    /// One message for each mistake in the request.
    pub fn messages(&self) -> Vec<String> {
        match self {
            Self::Validation(messages) | Self::Duplicate { messages, .. } => messages.clone(),
            Self::InvalidTransition(message)
            | Self::ChannelNotConnected(message)
            | Self::ConsentRequired(message)
            | Self::PlanLimit(message) => vec![message.clone()],
            Self::IdempotencyMismatch => vec![self.to_string()],
            _ => Vec::new(),
        }
    }

    /// A human-readable description of the error.
    pub fn sentence(&self) -> String {
        match self.kind() {
            (503, _) => "The service is busy; try again in a moment".to_owned(),
            (_, "unreadable") => "A stored item cannot be read; the operator has been notified".to_owned(),
            (_, "conflict") => "A request with this idempotency key is still in progress".to_owned(),
            _ => self.to_string(),
        }
    }

    /// The body of a JSON-RPC error response, for errors outside the protocol: the message was not read, so `id` is `null`
    /// (JSON-RPC 2.0, section 5). The handler returns the errors that the protocol defines.
    pub fn rpc_body(&self, request_id: &str) -> String {
        let (status, kind) = self.kind();
        let code = match (self, status) {
            (Self::BadRequest(_), _) => RPC_PARSE_ERROR,
            (_, 400..=428) => RPC_INVALID_REQUEST,
            _ => RPC_INTERNAL_ERROR,
        };
        let data = serde_json::json!({ "code": kind, "request_id": request_id });
        let error = serde_json::json!({ "code": code, "message": self.sentence(), "data": data });
        serde_json::json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string()
    }

    /// The body of an OAuth error response (RFC 6749, section 5.2), for errors that any route can have. The handlers
    /// return the errors that OAuth defines.
    pub fn oauth_body(&self) -> String {
        let error = match self.kind().0 {
            500 => "server_error",
            501.. => "temporarily_unavailable",
            _ => "invalid_request",
        };
        serde_json::to_string(&OAuthError { error, error_description: self.sentence() }).unwrap_or_default()
    }
}

/// The name of a unique field in requests.
const fn name(field: UniqueField) -> &'static str {
    match field {
        UniqueField::Email => "email",
        UniqueField::ExternalId | UniqueField::RoleExternalId => "external_id",
    }
}

impl From<CommitError> for Error {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Taken(taken) => Self::Duplicate {
                existing: taken.first().and_then(|first| {
                    let kind = match first.field {
                        UniqueField::Email | UniqueField::ExternalId => "candidate",
                        UniqueField::RoleExternalId => "role",
                    };
                    first.owner.map(|id| Existing { kind, id })
                }),
                messages: taken
                    .iter()
                    .map(|taken| format!("{} is already in use", name(taken.field)))
                    .collect(),
            },
            error => Self::Commit(error),
        }
    }
}

impl From<InvalidTransition> for Error {
    fn from(transition: InvalidTransition) -> Self {
        Self::InvalidTransition(transition.to_string())
    }
}

impl From<ApplicationError> for Error {
    fn from(error: ApplicationError) -> Self {
        let message = error.to_string();
        match error {
            ApplicationError::AlreadyApplied(id) => Self::Duplicate {
                messages: vec![message],
                existing: Some(Existing { kind: "application", id }),
            },
            ApplicationError::RoleNotOpen(_) | ApplicationError::TooMany => Self::Validation(vec![message]),
        }
    }
}

impl From<MoveError> for Error {
    fn from(error: MoveError) -> Self {
        let message = error.to_string();
        match error {
            MoveError::Invalid(_) | MoveError::RoleClosed(_) => Self::InvalidTransition(message),
            MoveError::NoApplication | MoveError::TooMany(_) => Self::Validation(vec![message]),
        }
    }
}

impl From<TooManyConsents> for Error {
    fn from(error: TooManyConsents) -> Self {
        Self::Validation(vec![error.to_string()])
    }
}

impl From<ApplyError> for Error {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::Rejected(error) => error.into(),
            ApplyError::Consents(error) => error.into(),
            ApplyError::Store(error) => error.into(),
        }
    }
}

impl From<EraseError> for Error {
    fn from(error: EraseError) -> Self {
        match error {
            EraseError::OnHold(_) => Self::LegalHold,
            EraseError::Commit(error) => error.into(),
            EraseError::Bucket(error) => StoreError::Unavailable(error.to_string()).into(),
        }
    }
}

impl From<PublishError> for Error {
    fn from(error: PublishError) -> Self {
        Self::InvalidTransition(error.to_string())
    }
}
