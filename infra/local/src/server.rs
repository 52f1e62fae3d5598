//! The gateway on a socket, and beside it the bucket: HTTP/1.1 in, HTTP/1.1 out.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use shared::clock::Clock;
use tokio::net::{TcpListener, TcpStream};

use crate::bucket::{self, Shelf};
use crate::gateway::{self, Gateway};

/// What answers here.
#[derive(Clone)]
pub struct Host {
    /// The functions.
    pub gateway: Arc<Gateway>,
    /// The files.
    pub bucket: Arc<Shelf>,
    /// The time.
    pub clock: Clock,
}

/// How long requests under way may take to end once the service is stopping.
const GRACE: Duration = Duration::from_secs(10);
/// How long a client may take to send a request's headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves until `shutdown`; then takes no more connections, and lets the requests under way end.
pub async fn serve(listener: TcpListener, host: Host, shutdown: impl Future<Output = ()>) -> io::Result<()> {
    let connections = GracefulShutdown::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => connect(stream, peer, &host, &connections),
                // The process is out of file descriptors, or the client has gone again: neither ends the service.
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            () = &mut shutdown => break,
        }
    }
    drop(listener);
    // Whoever has not ended by then is cut off.
    let _ = tokio::time::timeout(GRACE, connections.shutdown()).await;
    Ok(())
}

fn connect(stream: TcpStream, peer: SocketAddr, host: &Host, connections: &GracefulShutdown) {
    let host = host.clone();
    let answer = service_fn(move |request| {
        let host = host.clone();
        async move { Ok::<_, Infallible>(answer(&host, request, peer.ip()).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), answer);
    let connection = connections.watch(connection);
    // A connection that breaks off is the client's affair.
    tokio::spawn(async move { connection.await.ok() });
}

async fn answer(host: &Host, request: Request<Incoming>, source: IpAddr) -> Response<Full<Bytes>> {
    let (parts, body) = request.into_parts();
    let is_file = host.bucket.takes(parts.uri.path());
    let limit = if is_file { bucket::MAX_BODY } else { gateway::MAX_BODY };
    let response = match Limited::new(body, limit).collect().await {
        Ok(body) => {
            let request = Request::from_parts(parts, body.to_bytes());
            if is_file {
                host.bucket.answer(request, host.clock.now()).await
            } else {
                host.gateway.send(request, source).await
            }
        }
        Err(error) if error.is::<LengthLimitError>() => {
            let mut response =
                Response::new(Bytes::from_static(br#"{"message":"Request Entity Too Large"}"#));
            *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            response.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
            // What is left of the body is not read.
            response.headers_mut().insert("connection", HeaderValue::from_static("close"));
            response
        }
        Err(_) => {
            let mut response = Response::new(Bytes::from_static(br#"{"message":"Bad Request"}"#));
            *response.status_mut() = StatusCode::BAD_REQUEST;
            response
        }
    };
    response.map(Full::new)
}
