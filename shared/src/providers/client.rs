//! The one client for outside services: timeouts, no redirects, answers of bounded length, and nothing logged that was
//! sent or received.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, RequestBuilder, StatusCode};

/// How long it may take to reach a service.
const CONNECT: Duration = Duration::from_secs(2);
/// How long a whole call may take.
const TOTAL: Duration = Duration::from_secs(8);
/// The largest answer that is read where nothing else is said.
const MAX_ANSWER: usize = 1024 * 1024;

/// An HTTP client for outside services.
#[derive(Clone, Debug)]
pub struct Outside {
    client: reqwest::Client,
}

/// What a service answered.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// Nothing was sent: the service has done nothing.
    #[error("could not be reached")]
    Unreached,
    /// It was sent, and no whole answer came back in time: the service may have done what was asked.
    #[error("did not answer")]
    Lost,
    /// The answer was longer than allowed: the service may have done what was asked.
    #[error("answered at too great a length")]
    TooLong,
}

/// A client with these limits, which follows no redirects and uses no proxy.
#[expect(clippy::disallowed_methods, reason = "this is the one place that makes a client, with its limits")]
pub(super) fn builder(connect: Duration, total: Duration) -> ClientBuilder {
    // reqwest leaves the choice of the cryptography to the process. An error says that it was made before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .connect_timeout(connect)
        .timeout(total)
        .redirect(Policy::none())
        .no_proxy()
        .user_agent("rolecall")
}

impl Outside {
    /// A client; fails only where the system has no TLS roots.
    pub fn new() -> Result<Self, String> {
        // An idle connection that was left across a function's freeze would fail the next call.
        let client = builder(CONNECT, TOTAL).pool_idle_timeout(Duration::from_secs(15)).build();
        client.map(|client| Self { client }).map_err(|error| format!("no HTTP client: {error}"))
    }

    /// A GET of `url`.
    pub fn get(&self, url: &str) -> RequestBuilder {
        self.client.get(url)
    }

    /// A POST to `url`.
    pub fn post(&self, url: &str) -> RequestBuilder {
        self.client.post(url)
    }

    /// A PUT to `url`.
    pub fn put(&self, url: &str) -> RequestBuilder {
        self.client.put(url)
    }

    /// Sends a request and reads the whole answer: at most 1 MB.
    pub async fn send(&self, request: RequestBuilder) -> Result<Answer, NoAnswer> {
        self.send_up_to(request, MAX_ANSWER).await
    }

    /// The same with an answer of at most `limit` bytes.
    pub async fn send_up_to(&self, request: RequestBuilder, limit: usize) -> Result<Answer, NoAnswer> {
        let mut response = request.send().await.map_err(|error| match error {
            error if error.is_connect() || error.is_builder() => NoAnswer::Unreached,
            _ => NoAnswer::Lost,
        })?;
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let mut body = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(|_| NoAnswer::Lost)? {
            if body.len() + chunk.len() > limit {
                return Err(NoAnswer::TooLong);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer { status, headers, body: body.freeze() })
    }
}
