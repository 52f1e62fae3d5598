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

/// What a server serves. The bucket has a port of its own, so that browsers treat its files as those of another origin, as
/// with S3.
#[derive(Clone)]
pub enum Host {
    /// The API and the pages.
    Gateway(Arc<Gateway>),
    /// The uploaded files, and the clock that the bucket checks signatures with.
    Bucket(Arc<LocalBucket>, Clock),
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
    let limit = match host {
        Host::Gateway(_) => gateway::MAX_BODY,
        Host::Bucket(..) => bucket::MAX_BODY,
    };
    let response = match Limited::new(body, limit).collect().await {
        Ok(body) => {
            let request = Request::from_parts(parts, body.to_bytes());
            match host {
                Host::Gateway(gateway) => gateway.send(request, source).await,
                Host::Bucket(bucket, clock) => bucket.handle(request, clock.now()).await,
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
