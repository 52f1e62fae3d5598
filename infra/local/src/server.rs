//! Serves the gateway, the bucket and the database over HTTP/1.1.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dynoxide::Database;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use serde_json::json;
use shared::clock::Clock;
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use crate::bucket::{self, LocalBucket};
use crate::gateway::{self, Gateway};
use crate::in_process;

/// What a server serves. The bucket has a port of its own, so that browsers treat its files as those of another origin, as
/// with S3.
#[derive(Clone)]
pub enum Host {
    /// The API and the pages.
    Gateway(Arc<Gateway>, Hosts),
    /// DynamoDB's API, for other programs on this machine. Other sites cannot use it from a browser, because it sends no
    /// headers that allow them to (CORS).
    Database(Database, Hosts),
    /// The uploaded files, and the clock that the bucket checks signatures with.
    Bucket(Arc<LocalBucket>, Clock),
}

/// Where a server listens, and the names by which it is reached: an IP address and names of hosts, separated by commas.
///
/// A page of another site can let a name of its own stand for this machine (DNS rebinding). Its browser then takes this
/// server for that site, and the page could read and change everything. So a server answers only to names that it knows.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// The address to listen on: the first one, or else loopback.
    pub address: IpAddr,
    /// The names, beside those of loopback.
    names: Vec<url::Host>,
}

impl FromStr for Hosts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = text.split(',').find_map(|part| part.parse().ok());
        let name = |part: &str| match part.parse() {
            Ok(IpAddr::V4(address)) => Ok(url::Host::Ipv4(address)),
            Ok(IpAddr::V6(address)) => Ok(url::Host::Ipv6(address)),
            Err(_) => url::Host::parse(part).map_err(|error| {
                format!("{part} is not an IP address or the name of a host without a port: {error}")
            }),
        };
        let names = text.split(',').map(name).collect::<Result<_, _>>()?;
        Ok(Self { address: address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), names })
    }
}

impl Hosts {
    /// Whether a request with these headers is for the server at this port: by a name of loopback with the port, or by one of
    /// the other names.
    fn include(&self, headers: &HeaderMap, port: u16) -> bool {
        let host = headers.get("host").and_then(|host| str::from_utf8(host.as_bytes()).ok());
        let Some(url) = host.and_then(|host| Url::parse(&format!("http://{host}/")).ok()) else {
            return false;
        };
        let is_loopback = match url.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address == Ipv4Addr::LOCALHOST,
            Some(url::Host::Ipv6(address)) => address == Ipv6Addr::LOCALHOST,
            None => false,
        };
        let is_here = is_loopback && url.port_or_known_default() == Some(port);
        is_here || url.host().is_some_and(|host| self.names.contains(&host.to_owned()))
    }
}

/// The maximum size of a call of the database, in bytes: that of DynamoDB.
const MAX_CALL: usize = 16 * 1024 * 1024;
/// The time limit for requests and jobs in progress once the service is stopping.
pub const GRACE_PERIOD: Duration = Duration::from_secs(10);
/// The time limit for receiving a request's headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves until `shutdown` completes, then accepts no more connections and waits for the requests in progress.
pub async fn serve(listener: TcpListener, host: Host, shutdown: impl Future<Output = ()>) -> io::Result<()> {
    let port = listener.local_addr()?.port();
    let connections = GracefulShutdown::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => connect(stream, peer, port, &host, &connections),
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

fn connect(stream: TcpStream, peer: SocketAddr, port: u16, host: &Host, connections: &GracefulShutdown) {
    let host = host.clone();
    let service = service_fn(move |request| {
        let host = host.clone();
        async move { Ok::<_, Infallible>(handle(&host, request, peer.ip(), port).await) }
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

async fn handle(host: &Host, request: Request<Incoming>, source: IpAddr, port: u16) -> Response<Full<Bytes>> {
    let (parts, body) = request.into_parts();
    let (limit, hosts) = match host {
        Host::Gateway(_, hosts) => (gateway::MAX_BODY, Some(hosts)),
        Host::Database(_, hosts) => (MAX_CALL, Some(hosts)),
        // Each request has a signature.
        Host::Bucket(..) => (bucket::MAX_BODY, None),
    };
    if hosts.is_some_and(|hosts| !hosts.include(&parts.headers, port)) {
        let sentence = format!(
            "This service answers only to 127.0.0.1, [::1] and localhost with the port {port}. If you reach it by another \
             name, start it with --host and that name, such as --host 127.0.0.1,rolecall.example."
        );
        return refusal(StatusCode::MISDIRECTED_REQUEST, &sentence).map(Full::new);
    }
    let response = match Limited::new(body, limit).collect().await {
        Ok(body) => {
            let request = Request::from_parts(parts, body.to_bytes());
            match host {
                Host::Gateway(gateway, _) => gateway.send(request, source).await,
                Host::Bucket(bucket, clock) => bucket.handle(request, clock.now()).await,
                Host::Database(database, _) => call(database, &request),
            }
        }
        Err(error) if error.is::<LengthLimitError>() => {
            let mut response = refusal(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large");
            // The rest of the body is not read.
            response.headers_mut().insert("connection", HeaderValue::from_static("close"));
            response
        }
        Err(_) => refusal(StatusCode::BAD_REQUEST, "Bad Request"),
    };
    response.map(Full::new)
}

/// A response of the server itself.
fn refusal(status: StatusCode, message: &str) -> Response<Bytes> {
    respond(status, "application/json", json!({ "message": message }).to_string())
}

fn respond(status: StatusCode, media: &'static str, body: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", HeaderValue::from_static(media));
    response
}

/// Carries out a call of DynamoDB's API. Nobody checks its signature.
fn call(database: &Database, request: &Request<Bytes>) -> Response<Bytes> {
    let target =
        request.headers().get("x-amz-target").and_then(|target| str::from_utf8(target.as_bytes()).ok());
    let operation = target.and_then(|target| target.rsplit('.').next());
    match (request.method(), operation, str::from_utf8(request.body())) {
        (&Method::POST, Some(operation), Ok(body)) => {
            let (status, body) = in_process::execute(database, operation, body);
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            respond(status, "application/x-amz-json-1.0", body)
        }
        _ => refusal(StatusCode::NOT_FOUND, "Not Found"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn includes(hosts: &str, host: &str) -> bool {
        let hosts: Hosts = hosts.parse().unwrap();
        let headers = HeaderMap::from_iter([(http::header::HOST, host.parse().unwrap())]);
        hosts.include(&headers, 3000)
    }

    #[test]
    fn a_server_answers_to_loopback_with_its_port_and_to_the_given_names() {
        for host in ["127.0.0.1:3000", "localhost:3000", "LOCALHOST:3000", "[::1]:3000"] {
            assert!(
                includes("127.0.0.1", host) && includes("0.0.0.0", host) && includes("rolecall", host),
                "{host}"
            );
        }
        for host in [
            "evil.example:3000",
            "localhost.evil.example:3000",
            "127.0.0.1.evil.example:3000",
            "localhost:3001",
            "localhost",
            "127.0.0.2:3000",
            "rolecall:3000",
            "",
            "[::1",
        ] {
            assert!(!includes("127.0.0.1", host), "{host}");
        }
        let hosts = "0.0.0.0,rolecall,192.168.1.5,::2,Ed.example";
        for host in ["rolecall:3000", "rolecall", "192.168.1.5:3000", "[::2]:80", "ed.example:443"] {
            assert!(includes(hosts, host), "{host}");
        }
        assert!(!includes(hosts, "rolecall.evil.example:3000"));
        assert!(!Hosts::include(&hosts.parse().unwrap(), &HeaderMap::new(), 3000), "no host");
    }

    #[test]
    fn the_first_ip_address_is_the_one_to_listen_on() {
        for (hosts, address) in [
            ("127.0.0.1", "127.0.0.1"),
            ("0.0.0.0,rolecall", "0.0.0.0"),
            ("rolecall,::1,127.0.0.2", "::1"),
            ("rolecall", "127.0.0.1"),
        ] {
            assert_eq!(hosts.parse::<Hosts>().unwrap().address.to_string(), address, "{hosts}");
        }
        for hosts in ["", "rolecall,", "rolecall:3000", "a b", "http://rolecall"] {
            let sentence = hosts.parse::<Hosts>().unwrap_err();
            assert!(sentence.contains("is not an IP address or the name of a host"), "{sentence}");
        }
    }
}
