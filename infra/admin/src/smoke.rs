//! The `smoke` command: checks a deployment from outside, through its gateway and its CDN.
//!
//! The tests of the functions show what they answer. This shows what arrives: gateways and CDNs rename headers, leave them
//! out, and keep answers.

use std::fmt;

use serde::Serialize;
use shared::clock::Timestamp;
use shared::providers::bucket::{Bucket, Encryption};
use shared::providers::client::{HttpClient, Response};

use crate::admin::{Admin, CommandError};
use crate::cli::Smoke;
use crate::output::{or_dash, table};
use crate::secrets::ROLECALL_KEY;

const REFERENCE: &str = "/docs";
const OPENAPI: &str = "/api/v1/openapi.json";
const MISSING: &str = "/api/v1/no-such-route";
/// A part of the body of a 401.
const UNAUTHORIZED: &str = "\"code\":\"unauthorized\"";
/// The key of the file that is stored and deleted. If it stays, it expires after a day.
const FILE: &str = "incoming/smoke";

/// A remark about a right answer, or what is wrong with another one.
type Judgement = Result<Option<String>, String>;

/// The answer to one request, which is right.
#[derive(Debug, Serialize)]
pub(crate) struct Checked {
    request: String,
    remark: Option<String>,
}

/// All answers.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Summary(Vec<Checked>);

/// What has been asked so far.
struct Probe<'a> {
    client: HttpClient,
    url: &'a str,
    checked: Vec<Checked>,
    problems: Vec<String>,
}

/// A request. Every group of routes has one.
struct Request<'a> {
    method: &'static str,
    path: &'static str,
    headers: &'a [(&'static str, &'a str)],
    /// The status of a right answer.
    status: u16,
    /// A part of its body.
    part: &'static str,
}

impl Request<'static> {
    const fn get(path: &'static str, status: u16, part: &'static str) -> Self {
        Self { method: "GET", path, headers: &[], status, part }
    }
}

/// Sends the requests one after the other. Fails if an answer is wrong.
pub(crate) async fn run(admin: &Admin, smoke: &Smoke) -> Result<Summary, CommandError> {
    let client = HttpClient::new().map_err(CommandError::Smoke)?;
    let key = admin.secrets.find_token(ROLECALL_KEY)?;
    let mut probe = Probe { client, url: &smoke.url, checked: Vec::new(), problems: Vec::new() };
    let right = |_: &Response| Ok(None);
    probe.send(Request::get("/", 200, "Rolecall"), right).await;
    let page = probe.send(Request::get(REFERENCE, 200, "Rolecall API"), right).await;
    let head = Request { method: "HEAD", ..Request::get(REFERENCE, 200, "") };
    probe.send(head, |answer| Ok(other_length(answer, page.as_ref()))).await;
    let document = probe.send(Request::get(OPENAPI, 200, "\"openapi\""), tagged).await;
    let compressible = Request { headers: &[("accept-encoding", "gzip")], ..Request::get(OPENAPI, 200, "") };
    probe.send(compressible, compressed).await;
    if let Some(tag) = document.as_ref().and_then(|document| header(document, "etag")) {
        let known = Request { headers: &[("if-none-match", tag)], ..Request::get(OPENAPI, 304, "") };
        probe.send(known, right).await;
    }
    probe.send(Request::get("/api/v1/roles", 401, UNAUTHORIZED), challenged).await;
    probe.send(Request::get("/api/v1/candidates", 401, UNAUTHORIZED), challenged).await;
    let assistant = Request { method: "POST", ..Request::get("/mcp", 401, UNAUTHORIZED) };
    probe.send(assistant, challenged).await;
    let missing = || Request::get(MISSING, 404, "\"code\":\"not_found\"");
    let first = probe.send(missing(), right).await;
    probe.send(missing(), |answer| not_kept(answer, first.as_ref())).await;
    let metadata = "/.well-known/oauth-protected-resource/api/v1";
    probe.send(Request::get(metadata, 200, "\"authorization_servers\""), right).await;
    probe.send(Request::get("/dashboard/sign-in", 200, "Sign in"), with_cookie).await;
    probe.send(Request::get("/careers/no-such-organization", 404, "not found"), right).await;
    if let Some(key) = key {
        // It counts against the quota of the key.
        let bearer = format!("Bearer {}", key.expose());
        let own = Request::get("/api/v1/organization", 200, "\"plan\"");
        probe.send(Request { headers: &[("authorization", bearer.as_str())], ..own }, tagged).await;
    }
    if let Some(bucket) = &admin.bucket {
        let judgement = encryption(bucket, admin.now).await;
        probe.record(format!("PUT {FILE} to the bucket"), judgement);
    }
    let Probe { checked, problems, .. } = probe;
    if problems.is_empty() { Ok(Summary(checked)) } else { Err(CommandError::Smoke(problems.join(". "))) }
}

impl Probe<'_> {
    /// Sends a request, and checks its answer, also with `judge`. Returns the answer if it has the right status.
    async fn send(
        &mut self,
        request: Request<'_>,
        judge: impl FnOnce(&Response) -> Judgement,
    ) -> Option<Response> {
        let Request { method, path, headers, status, part } = request;
        let url = format!("{}{path}", self.url);
        let built = match method {
            "HEAD" => self.client.head(&url),
            "POST" => self.client.post(&url),
            _ => self.client.get(&url),
        };
        let built = headers.iter().fold(built, |built, (name, value)| built.header(*name, *value));
        let answer = self.client.send(built).await;
        let judgement = match &answer {
            Err(error) => Err(format!("The service {error}")),
            Ok(answer) => judged(answer, status, part).and_then(|()| judge(answer)),
        };
        self.record(format!("{method} {path}"), judgement);
        answer.ok().filter(|answer| answer.status.as_u16() == status)
    }

    fn record(&mut self, request: String, judgement: Judgement) {
        match judgement {
            Ok(remark) => self.checked.push(Checked { request, remark }),
            Err(problem) => self.problems.push(format!("{request}: {problem}")),
        }
    }
}

/// What every answer must have.
fn judged(answer: &Response, status: u16, part: &str) -> Result<(), String> {
    match answer.status.as_u16() {
        limited @ (429 | 503) if header(answer, "retry-after").is_none() => Err(format!(
            "The status is {limited} without Retry-After, which is a limit of the gateway, the CDN or the firewall"
        )),
        other if other != status => Err(format!("The status is {other}, not {status}")),
        _ if !String::from_utf8_lossy(&answer.body).contains(part) => {
            Err(format!("The answer does not contain {part}"))
        }
        _ => required(answer, "X-Request-Id").map(drop),
    }
}

fn header<'r>(answer: &'r Response, name: &str) -> Option<&'r str> {
    str::from_utf8(answer.headers.get(name)?.as_bytes()).ok()
}

/// A header that the service has sent.
fn required<'r>(answer: &'r Response, name: &str) -> Result<&'r str, String> {
    let renamed = format!("x-amzn-remapped-{}", name.to_ascii_lowercase());
    header(answer, name).ok_or_else(|| match header(answer, &renamed) {
        Some(_) => format!("The gateway sends {name} as {renamed}"),
        None => format!("The answer has no {name}"),
    })
}

/// A judgement without a remark.
fn unless(is_right: bool, problem: &str) -> Judgement {
    if is_right { Ok(None) } else { Err(problem.to_owned()) }
}

/// A 401 says where assistants find out how to sign in.
fn challenged(answer: &Response) -> Judgement {
    let challenge = required(answer, "WWW-Authenticate")?;
    unless(challenge.contains("resource_metadata=\""), "WWW-Authenticate has no resource_metadata")
}

/// The entity tag is strong, so that `If-Match` accepts it.
fn tagged(answer: &Response) -> Judgement {
    let tag = required(answer, "ETag")?;
    unless(tag.starts_with('"'), "The gateway or the CDN has made the ETag weak")
}

/// The body is compressed, and says so.
fn compressed(answer: &Response) -> Judgement {
    let is_gzip = required(answer, "Content-Encoding")? == "gzip" && answer.body.starts_with(&[0x1f, 0x8b]);
    unless(is_gzip, "Content-Encoding is not that of the body")?;
    tagged(answer)
}

/// A new browser gets a cookie that scripts cannot read.
fn with_cookie(answer: &Response) -> Judgement {
    let cookie = required(answer, "Set-Cookie")?;
    unless(cookie.contains("HttpOnly"), "Set-Cookie has lost its attributes")
}

/// The answer is not the `first` one again, since another caller may get something else.
fn not_kept(answer: &Response, first: Option<&Response>) -> Judgement {
    let is_same = first.and_then(|first| header(first, "x-request-id")) == header(answer, "x-request-id");
    let is_kept = is_same || header(answer, "age").is_some();
    unless(!is_kept, "The CDN keeps errors, and gives them to other callers")
}

/// A remark if the length of the page that HEAD gets is another one. Clients hardly use it.
fn other_length(answer: &Response, page: Option<&Response>) -> Option<String> {
    let length = header(answer, "content-length")?;
    (length.parse() != Ok(page?.body.len())).then(|| format!("the gateway makes Content-Length {length}"))
}

/// How the bucket encrypts a new file.
async fn encryption(bucket: &Bucket, now: Timestamp) -> Judgement {
    let tried = bucket.try_encryption(FILE, now).await;
    match tried.map_err(|error| format!("The bucket failed: {error}"))? {
        Encryption { algorithm: Some(algorithm), key } if algorithm == "aws:kms" => {
            Ok(key.map(|key| format!("encrypted with {key}")))
        }
        Encryption { algorithm, .. } => {
            let algorithm = algorithm.unwrap_or_else(|| "nothing".to_owned());
            Err(format!("The bucket encrypts files with {algorithm}, not with the customer-managed key"))
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.0.iter().map(|one| [one.request.clone(), or_dash(one.remark.as_ref())]);
        table(f, ["RIGHT ANSWER TO", "REMARK"], rows)
    }
}
