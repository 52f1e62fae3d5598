//! A stand-in for an outside service, for tests: a server on the loopback that keeps every request it gets and plays
//! one answer, faults included.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Where nobody can listen.
pub(super) const NOWHERE: &str = "http://127.0.0.1:0";

/// What the stand-in does once it has read a request.
#[derive(Clone, Debug)]
pub(super) enum Play {
    /// Sends these bytes and closes the connection.
    Send(Vec<u8>),
    /// Stops the test's clock and never answers: the next timeout comes at once.
    Hang,
}

impl Play {
    /// An answer of JSON.
    pub(super) fn json(status: u16, body: &str) -> Self {
        Self::answer(status, "content-type: application/json\r\n", body)
    }

    /// An answer with these header lines.
    pub(super) fn answer(status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self::Send(
            format!("HTTP/1.1 {status} -\r\n{headers}content-length: {length}\r\n\r\n{body}").into_bytes(),
        )
    }

    /// A page where JSON was expected.
    pub(super) fn html(status: u16) -> Self {
        Self::answer(status, "content-type: text/html\r\n", "<!doctype html><title>Hello</title>")
    }

    /// The connection is closed without a word.
    pub(super) fn nothing() -> Self {
        Self::Send(Vec::new())
    }

    /// The connection is closed in the middle of the body.
    pub(super) fn half(status: u16, body: &str) -> Self {
        let length = body.len() * 2;
        Self::Send(format!("HTTP/1.1 {status} -\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes())
    }

    /// A redirect to where the stand-in listens too.
    pub(super) fn redirect() -> Self {
        Self::answer(307, "location: /elsewhere\r\n", "")
    }

    /// A good answer of 2 MB.
    pub(super) fn long(status: u16, body: &str) -> Self {
        Self::json(status, &format!("{}{body}", " ".repeat(2 * 1024 * 1024)))
    }
}

/// A request as it came over the wire.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// Method, target and version.
    pub(super) line: String,
    /// The headers by their lower-case names.
    pub(super) headers: HashMap<String, String>,
    /// The body.
    pub(super) body: String,
}

impl Request {
    /// A header's value; empty where it is not there.
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// The server. It lives as long as the test's runtime.
pub(super) struct StandIn {
    /// Where it listens, without a final slash.
    pub(super) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl StandIn {
    /// A server that plays the same to every request.
    pub(super) async fn playing(play: &Play) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, play) = (Arc::clone(&requests), play.clone());
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read(&mut stream).await;
                seen.lock().unwrap().push(request);
                match &play {
                    // A client may well leave before a long answer ends.
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

    /// The one request that came.
    pub(super) fn request(&self) -> Request {
        let requests = self.requests.lock().unwrap();
        let [request] = requests.as_slice() else { panic!("not one request: {requests:?}") };
        request.clone()
    }
}

async fn read(stream: &mut TcpStream) -> Request {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break String::from_utf8(bytes.drain(..end + 4).collect()).unwrap();
        }
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "the request has no end");
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
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "the body has no end");
    }
    Request { line, headers, body: String::from_utf8(bytes).unwrap() }
}
