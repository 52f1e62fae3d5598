//! S3's errors and their XML format.

use std::fmt::Display;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};

/// An error response of S3.
pub(super) struct S3Error {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl S3Error {
    /// An error with this status, S3's code for it, and a message.
    pub(super) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, code, message: message.into() }
    }

    pub(super) fn access_denied(message: impl Into<String>) -> Self {
        Self::new(403, "AccessDenied", message)
    }

    pub(super) fn internal(error: &dyn Display) -> Self {
        Self::new(500, "InternalError", format!("The object cannot be stored or read: {error}"))
    }

    pub(super) fn invalid_argument(message: impl Into<String>) -> Self {
        Self::new(400, "InvalidArgument", message)
    }

    pub(super) fn invalid_key() -> Self {
        let message = "Keys may contain only letters, digits, hyphens, dots, underscores and slashes.";
        Self::new(400, "InvalidURI", message)
    }

    pub(super) fn invalid_policy() -> Self {
        Self::new(400, "InvalidPolicyDocument", "The policy is malformed.")
    }

    pub(super) fn malformed_authorization() -> Self {
        Self::new(400, "AuthorizationHeaderMalformed", "The signature is malformed.")
    }

    pub(super) fn no_such_key() -> Self {
        Self::new(404, "NoSuchKey", "The key does not exist.")
    }

    pub(super) fn not_implemented(message: impl Into<String>) -> Self {
        Self::new(501, "NotImplemented", message)
    }

    pub(super) fn signature_mismatch() -> Self {
        Self::new(403, "SignatureDoesNotMatch", "The signature does not match the request.")
    }

    pub(super) fn unexpected_token() -> Self {
        Self::new(400, "InvalidToken", "The local access key does not use a session token.")
    }

    /// The error as a response.
    pub(super) fn response(&self) -> Response<Bytes> {
        let (code, message) = (self.code, escaped(&self.message));
        xml(self.status, &format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>"))
    }
}

/// An XML response with this root element.
pub(super) fn xml(status: StatusCode, root: &str) -> Response<Bytes> {
    let document = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{root}");
    let mut response = Response::new(Bytes::from(document));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    response
}

/// `text` with XML's special characters escaped.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_messages_are_escaped() {
        let response = S3Error::access_denied("<script>\"&").response();
        let body = String::from_utf8(response.body().to_vec()).unwrap();
        assert!(body.ends_with("<Message>&lt;script&gt;&quot;&amp;</Message></Error>"), "{body}");
        assert_eq!(response.headers()[CONTENT_TYPE], "application/xml");
    }
}
