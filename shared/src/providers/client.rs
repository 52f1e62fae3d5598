//! The HTTP client for external services. It has timeouts, follows no redirects, limits the size of responses, and logs
//! one line for each call to a provider, with neither the request nor the response.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, RequestBuilder, StatusCode};
use tokio::time::Instant;

/// The time limit for connecting to a service.
const CONNECT: Duration = Duration::from_secs(2);
/// The time limit for a whole request.
// Most functions may run for ten seconds, and have to store what came of the request.
const TOTAL: Duration = Duration::from_secs(8);
/// The default size limit of a response body, in bytes.
const MAX_RESPONSE: usize = 1024 * 1024;

/// An external service whose calls are logged and measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// X.
    X,
    /// `WhatsApp`.
    WhatsApp,
    /// The voice provider.
    Voice,
    /// The bucket of uploaded files.
    Bucket,
    /// AWS Lambda, which starts functions.
    Lambda,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::X, Self::WhatsApp, Self::Voice, Self::Bucket, Self::Lambda];

    /// The name in the log and in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::X => "x",
            Self::WhatsApp => "whatsapp",
            Self::Voice => "voice",
            Self::Bucket => "bucket",
            Self::Lambda => "lambda",
        }
    }
}

/// An HTTP client for external services.
#[derive(Clone)]
pub struct HttpClient {
    client: reqwest::Client,
    transport: Option<Transport>,
    provider: Option<Provider>,
}

/// Another way of requests than over the network, for simulations.
pub type Transport = Arc<dyn Fn(reqwest::Request) -> Sent + Send + Sync>;

/// The response to a request that a [`Transport`] has sent.
pub type Sent = Pin<Box<dyn Future<Output = Result<Response, RequestError>> + Send>>;

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpClient")
    }
}

/// A response from a service.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The complete body.
    pub body: Bytes,
}

/// Why a request got no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Nothing was sent, so the service has done nothing.
    #[error("could not be reached")]
    Unreached,
    /// The request was sent, but no complete response arrived in time. The service may have carried it out.
    #[error("did not answer")]
    Lost,
    /// The response exceeded the size limit. The service may have carried out the request.
    #[error("sent a response that is too long")]
    TooLong,
}

/// Returns a builder for clients that have these time limits, follow no redirects and use no proxy.
#[expect(clippy::disallowed_methods, reason = "this is the only place that builds clients, with limits")]
pub(super) fn builder(connect: Duration, total: Duration) -> ClientBuilder {
    // reqwest leaves the choice of the crypto provider to the process. This fails if one is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .connect_timeout(connect)
        .timeout(total)
        .redirect(Policy::none())
        .no_proxy()
        .user_agent("rolecall")
}

impl HttpClient {
    /// Creates a client. Fails only if the system has no TLS roots.
    pub fn new() -> Result<Self, String> {
        // A connection that stays open while the function is frozen would make the next request fail.
        Self::build(builder(CONNECT, TOTAL).pool_idle_timeout(Duration::from_secs(15)))
    }

    /// A client that sends its requests through `transport`. It never connects, so it needs no TLS roots.
    pub fn through(transport: Transport) -> Result<Self, String> {
        let client = Self::build(builder(CONNECT, TOTAL).tls_certs_only([]))?;
        Ok(Self { transport: Some(transport), ..client })
    }

    fn build(builder: ClientBuilder) -> Result<Self, String> {
        builder
            .build()
            .map(|client| Self { client, transport: None, provider: None })
            .map_err(|error| format!("no HTTP client: {error}"))
    }

    /// The same client, which logs its calls as calls to `provider`.
    #[must_use]
    pub fn of(self, provider: Provider) -> Self {
        Self { provider: Some(provider), ..self }
    }

    /// Builds a GET request.
    pub fn get(&self, url: &str) -> RequestBuilder {
        self.client.get(url)
    }

    /// Builds a HEAD request.
    pub fn head(&self, url: &str) -> RequestBuilder {
        self.client.head(url)
    }

    /// Builds a POST request.
    pub fn post(&self, url: &str) -> RequestBuilder {
        self.client.post(url)
    }

    /// Builds a PUT request.
    pub fn put(&self, url: &str) -> RequestBuilder {
        self.client.put(url)
    }

    /// Builds a DELETE request.
    pub fn delete(&self, url: &str) -> RequestBuilder {
        self.client.delete(url)
    }

    /// Sends a request and reads the response. The maximum size of the body is 1 MB.
    pub async fn send(&self, request: RequestBuilder) -> Result<Response, RequestError> {
        self.send_up_to(request, MAX_RESPONSE).await
    }

    /// Sends a request and reads the response. The maximum size of the body is `limit` bytes.
    pub async fn send_up_to(&self, request: RequestBuilder, limit: usize) -> Result<Response, RequestError> {
        let started = Instant::now();
        let result = self.transfer(request, limit).await;
        if let Some(provider) = self.provider {
            let status = result.as_ref().ok().map(|response| response.status);
            tracing::info!(
                provider = provider.as_str(),
                status = status.map(|status| status.as_u16()),
                failure = result.as_ref().err().map(tracing::field::display),
                milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
                // A file that is not there is an answer, not a refusal. A function is always there.
                refused = status.map_or(0, |status| u8::from(
                    status.is_client_error()
                        && (status != StatusCode::NOT_FOUND || provider == Provider::Lambda)
                )),
                unanswered = status.map_or(1, |status| u8::from(status.is_server_error())),
                "a call to a provider"
            );
        }
        result
    }

    async fn transfer(&self, request: RequestBuilder, limit: usize) -> Result<Response, RequestError> {
        if let Some(transport) = &self.transport {
            return transport(request.build().map_err(|_| RequestError::Unreached)?).await;
        }
        let mut response = request.send().await.map_err(|error| match error {
            error if error.is_connect() || error.is_builder() => RequestError::Unreached,
            _ => RequestError::Lost,
        })?;
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let mut body = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(|_| RequestError::Lost)? {
            if body.len() + chunk.len() > limit {
                return Err(RequestError::TooLong);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Response { status, headers, body: body.freeze() })
    }
}
