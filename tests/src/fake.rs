//! A fake of an external service: a server on the loopback interface that records every request and sends scripted
//! responses.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use crate::interceptor::ClockBlocker;

/// A URL where no server listens.
pub const NOWHERE: &str = "http://127.0.0.1:0";

/// The response of a fake service to a request.
#[derive(Clone, Debug)]
pub enum FakeResponse {
    /// This status and JSON.
    Json(u16, Value),
    /// This status, these headers and this body.
    Full(u16, Vec<(String, String)>, String),
    /// This status and an HTML page instead of JSON.
    Html(u16),
    /// Closes the connection without a response.
    Close,
    /// Sends these bytes, which need not be a valid response.
    Raw(Vec<u8>),
    /// Closes the connection in the middle of a response with this status and JSON.
    Truncated(u16, Value),
    /// This status and JSON after 2 MB of whitespace.
    Oversized(u16, Value),
    /// Redirects to another path of the same server.
    Redirect,
    /// Pauses tokio's clock, so that the client's timeout expires at once, and resumes it when the client has
    /// disconnected. The test must run on one thread.
    TimeOut,
    /// Never sends a response.
    NoResponse,
    /// Runs a future that returns the response.
    Deferred(DeferredResponse),
    /// Sends a response, and keeps tokio's paused clock from advancing until the client has disconnected.
    Held(Box<FakeResponse>, ClockBlocker),
}

/// A future that returns a response.
#[derive(Clone)]
pub struct DeferredResponse(Arc<Mutex<Option<BoxFuture<'static, FakeResponse>>>>);

impl std::fmt::Debug for DeferredResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DeferredResponse")
    }
}

impl FakeResponse {
    /// Returns a response that sends the result of `future`.
    pub fn after(future: impl Future<Output = Self> + Send + 'static) -> Self {
        Self::Deferred(DeferredResponse(Arc::new(Mutex::new(Some(Box::pin(future))))))
    }
}

/// A request that the server has received.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method, such as `GET` or `POST`.
    pub method: String,
    /// The path and the query.
    pub target: String,
    /// The headers by lower-case name.
    pub headers: HashMap<String, String>,
    /// The body.
    pub body: String,
}

impl Request {
    /// Returns a header's value, or an empty string.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Returns the body as JSON, or `null` if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

type Handler = dyn Fn(&Request) -> FakeResponse + Send + Sync;

/// The server, which runs as long as the test's runtime.
#[derive(Clone)]
pub struct FakeServer {
    /// The base URL, without a trailing slash.
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    handler: Arc<Mutex<Arc<Handler>>>,
}

impl FakeServer {
    /// Starts a server that sends the response of `handler` to each request.
    pub async fn start(handler: impl Fn(&Request) -> FakeResponse + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let fake = Self { url, requests: Arc::default(), handler: Arc::new(Mutex::new(Arc::new(handler))) };
        let served = fake.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(served.clone().serve(stream));
            }
        });
        fake
    }

    /// Starts a server with TLS and a certificate for these names. Returns also its address, and the root certificate (in DER)
    /// of its certification authority, which no system trusts.
    pub async fn start_tls(
        names: &[&str],
        handler: impl Fn(&Request) -> FakeResponse + Send + Sync + 'static,
    ) -> (Self, SocketAddr, Vec<u8>) {
        let (acceptor, root) = certified(names);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let address = listener.local_addr().expect("an address");
        let url = format!("https://{}", names[0]);
        let fake = Self { url, requests: Arc::default(), handler: Arc::new(Mutex::new(Arc::new(handler))) };
        let served = fake.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, served) = (acceptor.clone(), served.clone());
                tokio::spawn(async move {
                    // A client that does not trust the certificate disconnects.
                    if let Ok(stream) = acceptor.accept(stream).await {
                        served.serve(stream).await;
                    }
                });
            }
        });
        (fake, address, root)
    }

    async fn serve(self, mut stream: impl AsyncRead + AsyncWrite + Send + Unpin) {
        let Some(request) = read(&mut stream).await else { return };
        self.requests.lock().expect("no poison").push(request.clone());
        let handler = self.handler.lock().expect("no poison").clone();
        let mut response = handler(&request);
        while let FakeResponse::Deferred(DeferredResponse(future)) = &response {
            let future = future.lock().expect("no poison").take().expect("a deferred response is sent once");
            response = future.await;
        }
        let held = match response {
            FakeResponse::Held(inner, blocker) => {
                response = *inner;
                Some(blocker)
            }
            _ => None,
        };
        send(&mut stream, response).await;
        if held.is_some() {
            drop(stream.read(&mut [0]).await);
        }
    }

    /// Replaces the handler.
    pub fn reply_with(&self, handler: impl Fn(&Request) -> FakeResponse + Send + Sync + 'static) {
        *self.handler.lock().expect("no poison") = Arc::new(handler);
    }

    /// Returns every request so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no poison").clone()
    }
}

/// The TLS side of a server with a certificate for these names, and the root certificate of its issuer.
fn certified(names: &[&str]) -> (TlsAcceptor, Vec<u8>) {
    let generate = || KeyPair::generate().expect("a key pair");
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, generate()).expect("a root certificate");
    let key = generate();
    let certificate = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let certificate = certificate.expect("names");
    let certificate = certificate.signed_by(&key, &authority).expect("a certificate");
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a private key");
    let tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the versions of TLS")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("a certificate for the key");
    (TlsAcceptor::from(Arc::new(tls)), authority.der().to_vec())
}

async fn send(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), response: FakeResponse) {
    let bytes = match response {
        FakeResponse::Json(status, body) => {
            format_response(status, "content-type: application/json\r\n", &body.to_string())
        }
        FakeResponse::Full(status, headers, body) => {
            let headers = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
            format_response(status, &headers.collect::<String>(), &body)
        }
        FakeResponse::Html(status) => {
            format_response(status, "content-type: text/html\r\n", "<!doctype html><title>Hello</title>")
        }
        FakeResponse::Close => Vec::new(),
        FakeResponse::Raw(bytes) => bytes,
        FakeResponse::Truncated(status, body) => {
            let whole = format_response(status, "", &body.to_string());
            whole[..whole.len() - 3].to_vec()
        }
        FakeResponse::Oversized(status, body) => {
            format_response(status, "", &format!("{}{body}", " ".repeat(2 * 1024 * 1024)))
        }
        FakeResponse::Redirect => format_response(307, "location: /elsewhere\r\n", ""),
        FakeResponse::NoResponse | FakeResponse::Deferred(_) | FakeResponse::Held(..) => {
            std::future::pending().await
        }
        FakeResponse::TimeOut => {
            if !clock_is_paused() {
                tokio::time::pause();
            }
            drop(stream.read(&mut [0]).await);
            if clock_is_paused() {
                tokio::time::resume();
            }
            return;
        }
    };
    // A client may disconnect before the end of a long response.
    drop(stream.write_all(&bytes).await);
    drop(stream.shutdown().await);
}

fn format_response(status: u16, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status} -\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// Returns whether tokio's clock is paused. A running clock advances while it is read a thousand times.
fn clock_is_paused() -> bool {
    let now = Instant::now();
    (0..1_000).all(|_| Instant::now() == now)
}

/// Reads a whole request. Returns `None` if the client disconnects before its end.
async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Request> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break String::from_utf8(bytes.drain(..end + 4).collect()).ok()?;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let mut lines = head.trim_end().split("\r\n");
    let mut first = lines.next()?.split(' ').map(str::to_owned);
    let (method, target) = (first.next()?, first.next()?);
    let header =
        |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let headers: HashMap<_, _> = lines.filter_map(header).collect();
    let length = headers.get("content-length").map_or(Ok(0), |length| length.parse()).ok()?;
    while bytes.len() < length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Request { method, target, headers, body: String::from_utf8(bytes).ok()? })
}
