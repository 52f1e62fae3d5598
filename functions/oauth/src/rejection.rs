//! OAuth errors (RFC 6749, section 5.2; RFC 7591, section 3.2.2).

use shared::http::{Error, OAuthError, Reply};

/// Why a client's request failed.
#[derive(Debug)]
pub(crate) enum OAuthRejection {
    /// An OAuth error.
    OAuth {
        /// The HTTP status.
        status: u16,
        /// The error code.
        error: &'static str,
        /// The description for people.
        description: String,
        /// An additional header.
        header: Option<(&'static str, String)>,
    },
    /// An error that any route can return.
    Other(Error),
}

impl OAuthRejection {
    pub(crate) fn new(error: &'static str, description: impl Into<String>) -> Self {
        Self::OAuth { status: 400, error, description: description.into(), header: None }
    }

    /// Client authentication failed. A client that used `Basic` gets a `Basic` challenge.
    pub(crate) fn invalid_client(basic: bool) -> Self {
        let challenge = ("www-authenticate", r#"Basic realm="rolecall""#.to_owned());
        Self::OAuth {
            status: 401,
            error: "invalid_client",
            description: "The client is unknown, or its secret is wrong.".to_owned(),
            header: basic.then_some(challenge),
        }
    }

    /// The code or token is invalid. Only the log has the reason; the description does not reveal it.
    pub(crate) fn invalid_grant(reason: &'static str) -> Self {
        tracing::info!(reason, "a code or token was rejected");
        Self::new(
            "invalid_grant",
            "The code or token is unknown, already used, expired, or issued to another client.",
        )
    }

    /// Too many requests came from one IP address. They are accepted again after `seconds`.
    pub(crate) fn too_many_requests(seconds: i64) -> Self {
        Self::OAuth {
            status: 429,
            error: "temporarily_unavailable",
            description: "Too many requests from your IP address. Try again later.".to_owned(),
            header: Some(("retry-after", seconds.to_string())),
        }
    }
}

impl<E: Into<Error>> From<E> for OAuthRejection {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

/// Converts an OAuth error into a response.
pub(crate) fn reply_or_error<O>(result: Result<Reply<O>, OAuthRejection>) -> Result<Reply<O>, Error> {
    match result {
        Ok(reply) => Ok(reply),
        Err(OAuthRejection::Other(error)) => Err(error),
        Err(OAuthRejection::OAuth { status, error, description, header }) => {
            let reply = Reply::status(status, &OAuthError { error, error_description: description })?;
            Ok(match header {
                Some((name, value)) => reply.with(name, value),
                None => reply,
            })
        }
    }
}
