//! The gateway on a socket: HTTP/1.1 in, HTTP/1.1 out.

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
use tokio::net::{TcpListener, TcpStream};

use crate::gateway::{Gateway, MAX_BODY};

/// How long requests under way may take to end once the service is stopping.
const GRACE: Duration = Duration::from_secs(10);
/// How long a client may take to send a request's headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves until `shutdown`; then takes no more connections, and lets the requests under way end.
pub async fn serve(
    listener: TcpListener,
    gateway: Arc<Gateway>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let connections = GracefulShutdown::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => connect(stream, peer, &gateway, &connections),
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

fn connect(stream: TcpStream, peer: SocketAddr, gateway: &Arc<Gateway>, connections: &GracefulShutdown) {
    let gateway = gateway.clone();
    let answer = service_fn(move |request| {
        let gateway = gateway.clone();
        async move { Ok::<_, Infallible>(answer(&gateway, request, peer.ip()).await) }
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

async fn answer(gateway: &Gateway, request: Request<Incoming>, source: IpAddr) -> Response<Full<Bytes>> {
    let (parts, body) = request.into_parts();
    let response = match Limited::new(body, MAX_BODY).collect().await {
        Ok(body) => gateway.send(Request::from_parts(parts, body.to_bytes()), source).await,
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
