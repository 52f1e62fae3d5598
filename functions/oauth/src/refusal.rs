//! OAuth's own errors (RFC 6749, section 5.2; RFC 7591, section 3.2.2).

use shared::http::{Error, OAuthError, Reply};

/// Why a client's request was not carried out.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The client is told why.
    Told {
        /// The status.
        status: u16,
        /// The word for programs.
        error: &'static str,
        /// The sentence for people.
        description: String,
        /// One more header.
        header: Option<(&'static str, String)>,
    },
    /// What any route can run into.
    Error(Error),
}

impl Refusal {
    pub(crate) fn new(error: &'static str, description: impl Into<String>) -> Self {
        Self::Told { status: 400, error, description: description.into(), header: None }
    }

    /// The client is not who it says. Whoever tried by `Basic` is told so in kind.
    pub(crate) fn invalid_client(basic: bool) -> Self {
        let challenge = ("www-authenticate", r#"Basic realm="rolecall""#.to_owned());
        Self::Told {
            status: 401,
            error: "invalid_client",
            description: "The client is not known, or its secret is not right.".to_owned(),
            header: basic.then_some(challenge),
        }
    }

    /// The code or token is not good; which of the reasons it is, is nobody's business.
    pub(crate) fn invalid_grant() -> Self {
        Self::new(
            "invalid_grant",
            "The code or token is not known, was used, has expired, or was issued to another client.",
        )
    }

    /// Too many requests from one place.
    pub(crate) fn too_many(seconds: i64) -> Self {
        Self::Told {
            status: 429,
            error: "temporarily_unavailable",
            description: "There were too many of these requests from your address; try again later."
                .to_owned(),
            header: Some(("retry-after", seconds.to_string())),
        }
    }
}

impl<E: Into<Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// The reply to a request that was carried out or refused.
pub(crate) fn answer<O>(result: Result<Reply<O>, Refusal>) -> Result<Reply<O>, Error> {
    match result {
        Ok(reply) => Ok(reply),
        Err(Refusal::Error(error)) => Err(error),
        Err(Refusal::Told { status, error, description, header }) => {
            let reply = Reply::status(status, &OAuthError { error, error_description: description })?;
            Ok(match header {
                Some((name, value)) => reply.with(name, value),
                None => reply,
            })
        }
    }
}
