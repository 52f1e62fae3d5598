//! A fake of an outside service: a server on the loopback that keeps every request and answers by a script.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Where nobody listens.
pub(crate) const NOWHERE: &str = "http://127.0.0.1:0";

/// A request as it came over the wire.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The method.
    pub(crate) method: String,
    /// The path with the query.
    pub(crate) target: String,
    /// The headers.
    pub(crate) headers: HeaderMap,
    /// The body.
    pub(crate) body: Bytes,
}

impl Request {
    /// A header's value, empty where there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The body, `null` where it is not JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// What a fake does with a request.
pub(crate) enum Play {
    /// Sends these bytes and closes the connection.
    Send(Bytes),
    /// Does this first; it decides what is played then.
    Later(BoxFuture<'static, Play>),
}

impl Play {
    /// An answer.
    pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        Self::claiming(body.len(), status, headers, body)
    }

    /// An answer of JSON.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::answer(status, &[("content-type", "application/json")], &body.to_string())
    }

    /// A page where JSON was expected.
    pub(crate) fn html(status: u16) -> Self {
        Self::answer(status, &[("content-type", "text/html")], "<!doctype html><title>Sorry</title>")
    }

    /// A redirect to `location`.
    pub(crate) fn redirect(location: &str) -> Self {
        Self::answer(307, &[("location", location)], "")
    }

    /// A good answer of 2 MB.
    pub(crate) fn long(status: u16, body: &Value) -> Self {
        Self::answer(status, &[], &format!("{}{body}", " ".repeat(2 * 1024 * 1024)))
    }

    /// The connection is closed in the middle of the body.
    pub(crate) fn half(status: u16, body: &Value) -> Self {
        let body = body.to_string();
        Self::claiming(2 * body.len(), status, &[], &body)
    }

    /// The connection is closed without a word.
    pub(crate) const fn nothing() -> Self {
        Self::Send(Bytes::new())
    }

    /// Whatever this comes to.
    pub(crate) fn later(play: impl Future<Output = Self> + Send + 'static) -> Self {
        Self::Later(Box::pin(play))
    }

    /// Never an answer.
    pub(crate) fn silence() -> Self {
        Self::later(std::future::pending())
    }

    /// Never an answer, and a minute is over at once, so that nobody waits for it. One at a time, and not in a
    /// `multi_thread` test.
    pub(crate) fn hang() -> Self {
        Self::later(async {
            tokio::time::pause();
            tokio::time::advance(Duration::from_mins(1)).await;
            tokio::time::resume();
            Self::silence()
        })
    }

    fn claiming(length: usize, status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        let mut answer = format!("HTTP/1.1 {status} -\r\nconnection: close\r\ncontent-length: {length}\r\n");
        for (name, value) in headers {
            answer.extend([name, ": ", value, "\r\n"]);
        }
        Self::Send((answer + "\r\n" + body).into())
    }
}

type Script = dyn Fn(&Request) -> Play + Send + Sync;

/// See the module. The server lives as long as the test's runtime.
#[derive(Clone)]
pub(crate) struct Fake {
    /// Where it listens, without a final slash.
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    script: Arc<Mutex<Arc<Script>>>,
}

impl Fake {
    /// A fake that answers by `script`.
    pub(crate) async fn new(script: impl Fn(&Request) -> Play + Send + Sync + 'static) -> Self {
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

    /// From now on, it answers by `script`.
    pub(crate) fn play(&self, script: impl Fn(&Request) -> Play + Send + Sync + 'static) {
        *self.script.lock().expect("no poison") = Arc::new(script);
    }

    /// Every request so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no poison").clone()
    }

    async fn serve(self, mut stream: TcpStream) {
        let Some(request) = read(&mut stream).await else { return };
        self.requests.lock().expect("no poison").push(request.clone());
        let script = self.script.lock().expect("no poison").clone();
        let mut play = script(&request);
        loop {
            match play {
                Play::Later(next) => play = next.await,
                Play::Send(bytes) => {
                    // A client may well leave before a long answer ends.
                    stream.write_all(&bytes).await.ok();
                    stream.shutdown().await.ok();
                    return;
                }
            }
        }
    }
}

/// `None` where the client left before its request was whole.
async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        (stream.read_buf(&mut bytes).await.ok()? > 0).then_some(())?;
    };
    let mut body = bytes.split_off(end);
    let head = String::from_utf8(bytes).expect("a request in ASCII");
    let mut lines = head.trim_end().split("\r\n");
    let mut line = lines.next()?.split(' ').map(str::to_owned);
    let (method, target) = (line.next()?, line.next()?);
    let header = |line: &str| {
        let (name, value) = line.split_once(':').expect("a header");
        (name.parse().expect("a name"), value.trim().parse().expect("a value"))
    };
    let headers: HeaderMap = lines.map(header).collect();
    let length = headers.get("content-length").map_or("0", |length| length.to_str().expect("a length"));
    let length: usize = length.parse().expect("a length");
    while body.len() < length {
        (stream.read_buf(&mut body).await.ok()? > 0).then_some(())?;
    }
    Some(Request { method, target, headers, body: body.into() })
}
