//! A fake of an outside service: a server on the loopback that keeps every request and answers as a script says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

/// What the service does once it has read a request.
#[derive(Clone, Debug)]
pub enum Play {
    /// Answers with this status and JSON.
    Json(u16, Value),
    /// Answers with this status, these headers and this body.
    With(u16, Vec<(String, String)>, String),
    /// Answers with this status and a page where JSON was expected.
    Html(u16),
    /// Closes the connection without a word.
    Nothing,
    /// Closes the connection in the middle of a good answer.
    Half,
    /// Gives a good answer of 2 MB.
    Long,
    /// Redirects to another path of its own.
    Redirect,
    /// Stops the test's clock, so that the next timeout comes at once, and lets it go on when the client has left. The
    /// test must run on one thread.
    Hang,
}

/// A request as it came over the wire.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`, `POST`.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The headers by their lower-case names.
    pub headers: HashMap<String, String>,
    /// The body.
    pub body: String,
}

impl Request {
    /// A header's value; empty where there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// The server; it lives as long as the test's runtime.
#[derive(Clone, Debug)]
pub struct Fake {
    /// Where it listens, without a final slash.
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Fake {
    /// A server that does with each request what `script` says.
    pub async fn start(script: impl Fn(&Request) -> Play + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let (script, seen) = (Arc::new(script), requests.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (script, seen) = (script.clone(), seen.clone());
                tokio::spawn(async move {
                    let Some(request) = read(&mut stream).await else { return };
                    seen.lock().expect("no poison").push(request.clone());
                    play(&mut stream, script(&request)).await;
                });
            }
        });
        Self { url, requests }
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no poison").clone()
    }
}

async fn play(stream: &mut TcpStream, play: Play) {
    let answer = match play {
        Play::Json(status, body) => answer(status, "content-type: application/json\r\n", &body.to_string()),
        Play::With(status, headers, body) => {
            let headers = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
            answer(status, &headers.collect::<String>(), &body)
        }
        Play::Html(status) => {
            answer(status, "content-type: text/html\r\n", "<!doctype html><title>Hello</title>")
        }
        Play::Nothing => String::new(),
        Play::Half => "HTTP/1.1 200 -\r\ncontent-length: 99\r\n\r\n{\"data\": {\"id\": \"19".to_owned(),
        Play::Long => answer(200, "", &format!("{}{{}}", " ".repeat(2 * 1024 * 1024))),
        Play::Redirect => answer(307, "location: /elsewhere\r\n", ""),
        Play::Hang => {
            if !clock_stands() {
                tokio::time::pause();
            }
            drop(stream.read(&mut [0]).await);
            if clock_stands() {
                tokio::time::resume();
            }
            return;
        }
    };
    // A client may well leave before a long answer ends.
    drop(stream.write_all(answer.as_bytes()).await);
}

fn answer(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} -\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}")
}

/// Whether the test's clock is stopped: a running one moves while it is read a thousand times.
fn clock_stands() -> bool {
    let now = Instant::now();
    (0..1_000).all(|_| Instant::now() == now)
}

/// A whole request; `None` where the client sends none.
async fn read(stream: &mut TcpStream) -> Option<Request> {
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
