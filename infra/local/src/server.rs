//! Serves the gateway and the bucket over HTTP/1.1.

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

use crate::bucket::{self, LocalBucket};
use crate::gateway::{self, Gateway};

/// The gateway and the bucket that the server serves.
#[derive(Clone)]
pub struct Host {
    /// The API and the pages.
    pub gateway: Arc<Gateway>,
    /// The uploaded files.
    pub bucket: Arc<LocalBucket>,
    /// The clock that the bucket checks signatures with.
    pub clock: Clock,
}

/// The time limit for requests in progress once the service is stopping.
const GRACE_PERIOD: Duration = Duration::from_secs(10);
/// The time limit for receiving a request's headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves until `shutdown` completes, then accepts no more connections and waits for the requests in progress.
pub async fn serve(listener: TcpListener, host: Host, shutdown: impl Future<Output = ()>) -> io::Result<()> {
    let connections = GracefulShutdown::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => connect(stream, peer, &host, &connections),
                // Causes are a lack of file descriptors or a client that disconnected. Neither should stop the service.
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            () = &mut shutdown => break,
        }
    }
    drop(listener);
    // Requests that take longer are aborted.
    let _ = tokio::time::timeout(GRACE_PERIOD, connections.shutdown()).await;
    Ok(())
}

fn connect(stream: TcpStream, peer: SocketAddr, host: &Host, connections: &GracefulShutdown) {
    let host = host.clone();
    let service = service_fn(move |request| {
        let host = host.clone();
        async move { Ok::<_, Infallible>(handle(&host, request, peer.ip()).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), service);
    let connection = connections.watch(connection);
    // A broken connection is not an error of the service.
    tokio::spawn(async move { connection.await.ok() });
}

async fn handle(host: &Host, request: Request<Incoming>, source: IpAddr) -> Response<Full<Bytes>> {
    let (parts, body) = request.into_parts();
    let is_for_bucket = host.bucket.owns(parts.uri.path());
    let limit = if is_for_bucket { bucket::MAX_BODY } else { gateway::MAX_BODY };
    let response = match Limited::new(body, limit).collect().await {
        Ok(body) => {
            let request = Request::from_parts(parts, body.to_bytes());
            if is_for_bucket {
                host.bucket.handle(request, host.clock.now()).await
            } else {
                host.gateway.send(request, source).await
            }
        }
        Err(error) if error.is::<LengthLimitError>() => {
            let mut response =
                Response::new(Bytes::from_static(br#"{"message":"Request Entity Too Large"}"#));
            *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            response.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
            // The rest of the body is not read.
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
