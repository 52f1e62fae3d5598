//! A fake of an outside service: a server on the loopback that keeps every request and answers as a script says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

/// Where nobody listens.
pub const NOWHERE: &str = "http://127.0.0.1:0";

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
    /// Sends these characters, be they an answer or not.
    Raw(String),
    /// Closes the connection in the middle of an answer with this status and JSON.
    Half(u16, Value),
    /// Answers with this status and JSON, behind 2 MB of blanks.
    Long(u16, Value),
    /// Redirects to another path of its own.
    Redirect,
    /// Stops the test's clock, so that the next timeout comes at once, and lets it go on when the client has left. The
    /// test must run on one thread.
    Hang,
    /// Never answers.
    Silence,
    /// Does something first, which decides what is played then.
    Later(Deferred),
}

/// What is done before a request is answered.
#[derive(Clone)]
pub struct Deferred(Arc<Mutex<Option<BoxFuture<'static, Play>>>>);

impl std::fmt::Debug for Deferred {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Deferred")
    }
}

impl Play {
    /// What `first` comes to.
    pub fn later(first: impl Future<Output = Self> + Send + 'static) -> Self {
        Self::Later(Deferred(Arc::new(Mutex::new(Some(Box::pin(first))))))
    }
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

    /// The body, `null` where it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

type Script = dyn Fn(&Request) -> Play + Send + Sync;

/// The server; it lives as long as the test's runtime.
#[derive(Clone)]
pub struct Fake {
    /// Where it listens, without a final slash.
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    script: Arc<Mutex<Arc<Script>>>,
}

impl Fake {
    /// A server that does with each request what `script` says.
    pub async fn start(script: impl Fn(&Request) -> Play + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let fake = Self { url, requests: Arc::default(), script: Arc::new(Mutex::new(Arc::new(script))) };
        let served = fake.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(served.clone().serve(stream));
            }
        });
        fake
    }

    async fn serve(self, mut stream: TcpStream) {
        let Some(request) = read(&mut stream).await else { return };
        self.requests.lock().expect("no poison").push(request.clone());
        let script = self.script.lock().expect("no poison").clone();
        let mut next = script(&request);
        while let Play::Later(Deferred(first)) = &next {
            let first = first.lock().expect("no poison").take().expect("it is played once");
            next = first.await;
        }
        play(&mut stream, next).await;
    }

    /// From now on, it does what `script` says.
    pub fn play(&self, script: impl Fn(&Request) -> Play + Send + Sync + 'static) {
        *self.script.lock().expect("no poison") = Arc::new(script);
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
        Play::Raw(characters) => characters,
        Play::Half(status, body) => {
            let whole = answer(status, "", &body.to_string());
            whole[..whole.len() - 3].to_owned()
        }
        Play::Long(status, body) => answer(status, "", &format!("{}{body}", " ".repeat(2 * 1024 * 1024))),
        Play::Redirect => answer(307, "location: /elsewhere\r\n", ""),
        Play::Silence | Play::Later(_) => std::future::pending().await,
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
