//! A fake external service for tests: a server on loopback that records every request and always sends the same
//! response or produces the same fault.

// Not the crate wiremock: it cannot cut a response.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A URL where no server ever listens.
pub(super) const NOWHERE: &str = "http://127.0.0.1:0";

/// What the server does after it has read a request.
#[derive(Clone, Debug)]
pub(super) enum Play {
    /// Sends these bytes and closes the connection.
    Send(Vec<u8>),
    /// Pauses the test's clock, so that the next timeout expires immediately, and sends nothing.
    Hang,
}

impl Play {
    /// A JSON response.
    pub(super) fn json(status: u16, body: &str) -> Self {
        Self::response(status, "content-type: application/json\r\n", body)
    }

    /// A response with these header lines.
    pub(super) fn response(status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self::Send(
            format!("HTTP/1.1 {status} -\r\n{headers}content-length: {length}\r\n\r\n{body}").into_bytes(),
        )
    }

    /// An HTML page.
    pub(super) fn html(status: u16) -> Self {
        Self::response(status, "content-type: text/html\r\n", "<!doctype html><title>Hello</title>")
    }

    /// Closes the connection without a response.
    pub(super) fn nothing() -> Self {
        Self::Send(Vec::new())
    }

    /// Closes the connection in the middle of the body.
    pub(super) fn half(status: u16, body: &str) -> Self {
        let length = body.len() * 2;
        Self::Send(format!("HTTP/1.1 {status} -\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes())
    }

    /// A redirect to another path of the server.
    pub(super) fn redirect() -> Self {
        Self::response(307, "location: /elsewhere\r\n", "")
    }

    /// A JSON response of 2 MB.
    pub(super) fn long(status: u16, body: &str) -> Self {
        Self::json(status, &format!("{}{body}", " ".repeat(2 * 1024 * 1024)))
    }
}

/// A request that the server received.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// Method, target and version.
    pub(super) line: String,
    /// The headers, by lower-case name.
    pub(super) headers: HashMap<String, String>,
    /// The body.
    pub(super) body: String,
}

impl Request {
    /// The value of a header; empty if it is missing.
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// A server that runs until the test's runtime ends.
pub(super) struct TestServer {
    /// The base URL, without a trailing slash.
    pub(super) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl TestServer {
    /// Starts a server that does the same after every request.
    pub(super) async fn playing(play: &Play) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (received, play) = (Arc::clone(&requests), play.clone());
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read(&mut stream).await;
                received.lock().unwrap().push(request);
                match &play {
                    // The client may close the connection before a long response ends.
                    Play::Send(bytes) => drop(stream.write_all(bytes).await),
                    Play::Hang => {
                        tokio::time::pause();
                        std::future::pending::<()>().await;
                    }
                }
            }
        });
        Self { url, requests }
    }

    /// The only request. Panics unless the server received exactly one.
    pub(super) fn request(&self) -> Request {
        let requests = self.requests();
        let [request] = requests.as_slice() else { panic!("not exactly one request: {requests:?}") };
        request.clone()
    }

    /// All requests so far.
    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

async fn read(stream: &mut TcpStream) -> Request {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break String::from_utf8(bytes.drain(..end + 4).collect()).unwrap();
        }
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "the request is incomplete");
    };
    let mut lines = head.trim_end().split("\r\n").map(str::to_owned);
    let line = lines.next().unwrap();
    let headers: HashMap<_, _> = lines
        .map(|line| {
            line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned())).unwrap()
        })
        .collect();
    let length: usize = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    while bytes.len() < length {
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "the body is incomplete");
    }
    Request { line, headers, body: String::from_utf8(bytes).unwrap() }
}
