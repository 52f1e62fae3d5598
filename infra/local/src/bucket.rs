//! A stand-in for S3: one bucket, in a folder or in memory. It answers what the service and a browser ask of a bucket,
//! and checks it as S3 does, so that what works here works there; what nobody asks here, it refuses.
//!
//! Keys are those that the service gives out, which need no escaping and cannot lead out of the folder. Nothing expires.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::{future, stream};
use hmac::{Hmac, KeyInit, Mac};
use http::header::{AUTHORIZATION, CONTENT_DISPOSITION, CONTENT_TYPE, ETAG, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use multer::Multipart;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use url::Url;

use shared::config::BucketAccess;
use shared::providers::resumes::{MAX_UPLOAD, is_key};
use shared::secret::Secret;

/// The one access key, which opens this bucket and nothing else, and its secret.
pub const ACCESS_KEY: &str = "local";
/// The bucket's name, and the path that it is reached under.
pub const BUCKET: &str = "local-resumes";
/// The region of the bucket.
pub const REGION: &str = "local";
/// The largest body that it takes: the largest file, and the form around it.
pub const MAX_BODY: usize = MAX_UPLOAD + 64 * 1024;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const UNSIGNED: &str = "UNSIGNED-PAYLOAD";
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// How far the clock of a request may be off.
const SKEW: SignedDuration = SignedDuration::from_mins(15);
/// The most that a form's fields may come to before the file.
const MAX_FIELDS: usize = 20_000;
/// The longest that an address can be good for, in seconds.
const MAX_EXPIRES: i64 = 7 * 24 * 60 * 60;

/// The bucket.
pub struct Shelf {
    bucket: String,
    place: Place,
}

enum Place {
    Folder { path: PathBuf, writes: AtomicU64 },
    Memory(Mutex<HashMap<String, Bytes>>),
}

/// What is kept of an object beside its bytes: a line of JSON before them.
#[derive(Serialize, Deserialize)]
struct Label {
    content_type: String,
    content_disposition: Option<String>,
}

/// An error of S3's.
struct Refusal {
    status: StatusCode,
    code: &'static str,
    message: String,
}

/// What a request says of its signature.
struct Claim<'r> {
    credential: &'r str,
    signed_headers: &'r str,
    signature: &'r str,
    time: Timestamp,
    payload: &'r str,
}

/// The conditions of a form.
#[derive(Deserialize)]
struct Policy {
    expiration: Timestamp,
    conditions: Vec<Value>,
}

type Parameters = BTreeMap<String, String>;

impl Shelf {
    /// What a function needs to reach the bucket at this base URL.
    pub fn access(base_url: &str) -> BucketAccess {
        BucketAccess {
            name: BUCKET.to_owned(),
            region: REGION.to_owned(),
            endpoint: Some(base_url.to_owned()),
            access_key_id: ACCESS_KEY.to_owned(),
            secret_access_key: Secret::new(ACCESS_KEY),
            session_token: None,
        }
    }

    /// A bucket that is kept in this folder; it is made with the first object.
    pub fn in_folder(bucket: &str, path: PathBuf) -> Self {
        Self { bucket: bucket.to_owned(), place: Place::Folder { path, writes: AtomicU64::new(0) } }
    }

    /// A bucket that is gone with the process.
    pub fn in_memory(bucket: &str) -> Self {
        Self { bucket: bucket.to_owned(), place: Place::Memory(Mutex::default()) }
    }

    /// Whether a request for this path is for the bucket.
    pub fn takes(&self, path: &str) -> bool {
        let rest = path.strip_prefix('/').and_then(|path| path.strip_prefix(self.bucket.as_str()));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Answers a request, as S3 does.
    pub async fn answer(&self, request: Request<Bytes>, now: Timestamp) -> Response<Bytes> {
        let answered = match *request.method() {
            Method::GET => self.get(&request, now).await,
            Method::POST => self.post(&request, now).await,
            Method::PUT => self.copy(&request, now).await,
            _ => Err(refuse(405, "MethodNotAllowed", "The method is not allowed.")),
        };
        answered.unwrap_or_else(|refusal| refusal.response())
    }

    async fn get(&self, request: &Request<Bytes>, now: Timestamp) -> Result<Response<Bytes>, Refusal> {
        let key = self.key(request.uri().path())?;
        let parameters = authorize(request, now)?;
        let (label, bytes) = self.take(key).await?.ok_or_else(no_such_key)?;
        let given = |name: &str| parameters.get(name).cloned();
        let content_type = given("response-content-type").unwrap_or(label.content_type);
        let disposition = given("response-content-disposition").or(label.content_disposition);
        let mut response = Response::new(bytes.clone());
        for (name, value) in [
            (CONTENT_TYPE, Some(content_type)),
            (CONTENT_DISPOSITION, disposition),
            (ETAG, Some(etag(&bytes))),
        ] {
            let value = value.map(HeaderValue::try_from).transpose();
            let value =
                value.map_err(|_| refuse(400, "InvalidArgument", "A header of the answer is none."))?;
            response.headers_mut().extend(value.map(|value| (name, value)));
        }
        Ok(response)
    }

    /// An upload by a browser's form.
    async fn post(&self, request: &Request<Bytes>, now: Timestamp) -> Result<Response<Bytes>, Refusal> {
        if !matches!(self.rest(request.uri().path())?, "" | "/") {
            return Err(refuse(405, "MethodNotAllowed", "Forms are posted to the bucket."));
        }
        let (fields, file) = read_form(request).await?;
        let field = |name: &str| {
            fields.get(name).map(String::as_str).ok_or_else(|| {
                refuse(400, "InvalidArgument", format!("The form must have a field {name} before the file."))
            })
        };
        let policy = field("policy")?;
        if field("x-amz-algorithm")? != ALGORITHM {
            return Err(refuse(400, "InvalidArgument", format!("The algorithm must be {ALGORITHM}.")));
        }
        let time = read_time(field("x-amz-date")?)?;
        let key = signing_key(field("x-amz-credential")?, time)?;
        if field("x-amz-signature")? != hex(&mac(&key, policy.as_bytes())) {
            return Err(wrong_signature());
        }
        if fields.contains_key("x-amz-security-token") {
            return Err(invalid_token());
        }
        let policy =
            STANDARD.decode(policy).ok().and_then(|json| serde_json::from_slice::<Policy>(&json).ok());
        policy.ok_or_else(invalid_policy)?.check(&self.bucket, &fields, file.len(), now)?;
        if field("x-amz-server-side-encryption")? != "AES256" {
            return Err(refuse(400, "InvalidArgument", "The encryption must be AES256."));
        }
        let key = field("key")?;
        if !is_key(key) {
            return Err(no_key());
        }
        let content_type =
            fields.get("content-type").map_or("binary/octet-stream", String::as_str).to_owned();
        let etag = etag(&file);
        self.put(key, &Label { content_type, content_disposition: None }, &file).await?;
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let redirect = fields.get("success_action_redirect").and_then(|url| Url::parse(url).ok());
        if let Some(mut url) = redirect.filter(|url| matches!(url.scheme(), "http" | "https")) {
            let pairs = [("bucket", self.bucket.as_str()), ("key", key), ("etag", &etag)];
            url.query_pairs_mut().extend_pairs(pairs);
            *response.status_mut() = StatusCode::SEE_OTHER;
            response
                .headers_mut()
                .extend(HeaderValue::try_from(url.as_str()).ok().map(|url| (LOCATION, url)));
        }
        response.headers_mut().extend(HeaderValue::try_from(etag).ok().map(|etag| (ETAG, etag)));
        Ok(response)
    }

    async fn copy(&self, request: &Request<Bytes>, now: Timestamp) -> Result<Response<Bytes>, Refusal> {
        let key = self.key(request.uri().path())?;
        authorize(request, now)?;
        let header = |name: &str| text(request.headers(), name).unwrap_or_default();
        if !request.body().is_empty()
            || header("x-amz-metadata-directive") != "REPLACE"
            || header("x-amz-server-side-encryption") != "AES256"
        {
            return Err(refuse(
                501,
                "NotImplemented",
                "Objects are only copied, with new headers and encrypted.",
            ));
        }
        let source = header("x-amz-copy-source");
        let source = source.strip_prefix('/').unwrap_or(source).strip_prefix(&self.bucket);
        let source =
            source.and_then(|rest| rest.strip_prefix('/')).filter(|key| is_key(key)).ok_or_else(no_key)?;
        let (_, bytes) = self.take(source).await?.ok_or_else(no_such_key)?;
        let (etag, wanted) = (etag(&bytes), header("x-amz-copy-source-if-match"));
        if !wanted.is_empty() && wanted.trim_matches('"') != etag.trim_matches('"') {
            return Err(refuse(412, "PreconditionFailed", "The source is known by another tag."));
        }
        let label = Label {
            content_type: text(request.headers(), "content-type").unwrap_or("binary/octet-stream").to_owned(),
            content_disposition: text(request.headers(), "content-disposition").map(str::to_owned),
        };
        self.put(key, &label, &bytes).await?;
        let etag = escaped(&etag);
        Ok(xml(
            StatusCode::OK,
            &format!(
                "<CopyObjectResult><ETag>{etag}</ETag><LastModified>{now:.0}</LastModified></CopyObjectResult>"
            ),
        ))
    }

    /// What follows the bucket in a path.
    fn rest<'p>(&self, path: &'p str) -> Result<&'p str, Refusal> {
        let rest = path.get(1 + self.bucket.len()..).filter(|_| self.takes(path));
        rest.ok_or_else(|| refuse(404, "NoSuchBucket", "There is no such bucket."))
    }

    fn key<'p>(&self, path: &'p str) -> Result<&'p str, Refusal> {
        self.rest(path)?.strip_prefix('/').filter(|key| is_key(key)).ok_or_else(no_key)
    }

    async fn take(&self, key: &str) -> Result<Option<(Label, Bytes)>, Refusal> {
        let Some(stored) = self.place.read(key).await.map_err(|error| internal(&error))? else {
            return Ok(None);
        };
        let end =
            stored.iter().position(|byte| *byte == b'\n').ok_or_else(|| internal(&"it has no label"))?;
        let label = serde_json::from_slice(&stored.slice(..end)).map_err(|error| internal(&error))?;
        Ok(Some((label, stored.slice(end + 1..))))
    }

    async fn put(&self, key: &str, label: &Label, bytes: &Bytes) -> Result<(), Refusal> {
        let mut stored = serde_json::to_vec(label).map_err(|error| internal(&error))?;
        stored.push(b'\n');
        stored.extend_from_slice(bytes);
        self.place.write(key, stored.into()).await.map_err(|error| internal(&error))
    }
}

impl Place {
    async fn read(&self, key: &str) -> io::Result<Option<Bytes>> {
        match self {
            Self::Folder { path, .. } => match tokio::fs::read(path.join(key)).await {
                Ok(stored) => Ok(Some(stored.into())),
                Err(error) => match error.kind() {
                    ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory => Ok(None),
                    _ => Err(error),
                },
            },
            Self::Memory(objects) => {
                Ok(objects.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned())
            }
        }
    }

    async fn write(&self, key: &str, stored: Bytes) -> io::Result<()> {
        match self {
            Self::Folder { path, writes } => {
                let (target, number) = (path.join(key), writes.fetch_add(1, Ordering::Relaxed));
                // No key begins with a dot.
                let part = path.join(format!(".part-{number}"));
                tokio::fs::create_dir_all(target.parent().unwrap_or(path)).await?;
                tokio::fs::write(&part, stored).await?;
                tokio::fs::rename(&part, target).await
            }
            Self::Memory(objects) => {
                objects.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), stored);
                Ok(())
            }
        }
    }
}

impl Policy {
    /// Every condition is met, and every field has one.
    fn check(&self, bucket: &str, fields: &Parameters, size: usize, now: Timestamp) -> Result<(), Refusal> {
        if self.expiration <= now {
            return Err(denied("Invalid according to Policy: Policy expired."));
        }
        let mut sizes = 0..=u64::MAX;
        let mut named = Vec::new();
        for condition in &self.conditions {
            let (name, is_met) = match Condition::of(condition).ok_or_else(invalid_policy)? {
                Condition::Sizes(least, most) => {
                    sizes = least.max(*sizes.start())..=most.min(*sizes.end());
                    continue;
                }
                Condition::Is(name, value) => {
                    let name = name.to_ascii_lowercase();
                    let given =
                        if name == "bucket" { Some(bucket) } else { fields.get(&name).map(String::as_str) };
                    (name, given == Some(value))
                }
                Condition::Begins(name, value) => {
                    let name = name.to_ascii_lowercase();
                    let is_met = fields.get(&name).is_some_and(|given| given.starts_with(value));
                    (name, is_met)
                }
            };
            if !is_met {
                let message = format!("Invalid according to Policy: Policy Condition failed: {condition}");
                return Err(denied(message));
            }
            named.push(name);
        }
        let is_free =
            |name: &str| matches!(name, "policy" | "x-amz-signature") || name.starts_with("x-ignore-");
        if let Some(extra) = fields.keys().find(|name| !is_free(name) && !named.contains(name)) {
            return Err(denied(format!("Invalid according to Policy: Extra input fields: {extra}")));
        }
        let is_known = |name: &str| {
            is_free(name)
                || matches!(name, "content-type" | "key" | "success_action_redirect" | "x-amz-algorithm")
                || matches!(name, "x-amz-credential" | "x-amz-date" | "x-amz-server-side-encryption")
        };
        if let Some(unknown) = fields.keys().find(|name| !is_known(name)) {
            return Err(refuse(501, "NotImplemented", format!("Nothing is done with {unknown} here.")));
        }
        match u64::try_from(size).unwrap_or(u64::MAX) {
            size if size < *sizes.start() => Err(refuse(400, "EntityTooSmall", "The file is too small.")),
            size if size > *sizes.end() => Err(refuse(400, "EntityTooLarge", "The file is too large.")),
            _ => Ok(()),
        }
    }
}

enum Condition<'c> {
    Is(&'c str, &'c str),
    Begins(&'c str, &'c str),
    Sizes(u64, u64),
}

impl<'c> Condition<'c> {
    fn of(written: &'c Value) -> Option<Self> {
        if let Some(pair) = written.as_object() {
            let (name, value) = pair.iter().next().filter(|_| pair.len() == 1)?;
            return Some(Self::Is(name, value.as_str()?));
        }
        let [operator, first, second] = written.as_array()?.as_slice() else { return None };
        match operator.as_str()?.to_ascii_lowercase().as_str() {
            "eq" => Some(Self::Is(first.as_str()?.strip_prefix('$')?, second.as_str()?)),
            "starts-with" => Some(Self::Begins(first.as_str()?.strip_prefix('$')?, second.as_str()?)),
            "content-length-range" => Some(Self::Sizes(first.as_u64()?, second.as_u64()?)),
            _ => None,
        }
    }
}

impl Refusal {
    fn response(&self) -> Response<Bytes> {
        let (code, message) = (self.code, escaped(&self.message));
        xml(self.status, &format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>"))
    }
}

fn refuse(status: u16, code: &'static str, message: impl Into<String>) -> Refusal {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Refusal { status, code, message: message.into() }
}

fn denied(message: impl Into<String>) -> Refusal {
    refuse(403, "AccessDenied", message)
}

fn internal(error: &dyn std::fmt::Display) -> Refusal {
    refuse(500, "InternalError", format!("The object cannot be kept or read: {error}"))
}

fn invalid_policy() -> Refusal {
    refuse(400, "InvalidPolicyDocument", "The policy cannot be read.")
}

fn invalid_token() -> Refusal {
    refuse(400, "InvalidToken", "The access key here goes without a session token.")
}

fn malformed() -> Refusal {
    refuse(400, "AuthorizationHeaderMalformed", "The signature is not written as it must be.")
}

fn no_key() -> Refusal {
    refuse(400, "InvalidURI", "Keys here are letters, digits, hyphens, dots, underscores and slashes.")
}

fn no_such_key() -> Refusal {
    refuse(404, "NoSuchKey", "There is no such object.")
}

fn wrong_signature() -> Refusal {
    refuse(403, "SignatureDoesNotMatch", "The signature is not that of this request.")
}

/// The fields of a form by their names in lower case, and the file. What comes after the file is not read.
async fn read_form(request: &Request<Bytes>) -> Result<(Parameters, Bytes), Refusal> {
    let boundary =
        text(request.headers(), "content-type").and_then(|given| multer::parse_boundary(given).ok());
    let boundary =
        boundary.ok_or_else(|| refuse(412, "PreconditionFailed", "The form must be multipart/form-data."))?;
    let body = stream::once(future::ready(Ok::<_, Infallible>(request.body().clone())));
    let mut form = Multipart::new(body, boundary);
    let broken = |_| refuse(400, "MalformedPOSTRequest", "The form cannot be read.");
    let (mut fields, mut size) = (Parameters::new(), 0);
    while let Some(field) = form.next_field().await.map_err(broken)? {
        let name = field.name().unwrap_or_default().to_ascii_lowercase();
        let value = field.bytes().await.map_err(broken)?;
        if name == "file" {
            return Ok((fields, value));
        }
        size += name.len() + value.len();
        if size > MAX_FIELDS {
            return Err(refuse(
                400,
                "MaxPostPreDataLengthExceeded",
                "The fields before the file are too long.",
            ));
        }
        let value = String::from_utf8(value.into());
        let value = value.map_err(|_| refuse(400, "InvalidArgument", format!("{name} must be UTF-8.")))?;
        if fields.insert(name.clone(), value).is_some() {
            return Err(refuse(400, "InvalidArgument", format!("{name} is there twice.")));
        }
    }
    Err(refuse(400, "InvalidArgument", "The form must have a file."))
}

/// The request is signed with the access key, by its headers or its query, and in time; gives the query's parameters.
fn authorize(request: &Request<Bytes>, now: Timestamp) -> Result<Parameters, Refusal> {
    let headers = request.headers();
    let parameters = read_query(request.uri().query().unwrap_or_default())?;
    let claim = match text(headers, AUTHORIZATION.as_str()) {
        Some(authorization) => Claim::in_headers(authorization, request, now)?,
        None if parameters.contains_key("X-Amz-Signature") => Claim::in_query(&parameters, now)?,
        None => return Err(denied("The request is not signed.")),
    };
    let key = signing_key(claim.credential, claim.time)?;
    let signed: Vec<_> = claim.signed_headers.split(';').collect();
    let must_be_signed = |name: &str| name == "host" || name.starts_with("x-amz-");
    let mut names = headers.keys().map(http::HeaderName::as_str);
    if !signed.contains(&"host") || names.any(|name| must_be_signed(name) && !signed.contains(&name)) {
        return Err(denied("There are headers that are not signed and must be."));
    }
    let canonical = canonical_request(request, &parameters, &signed, claim.payload);
    let (_, scope) = claim.credential.split_once('/').ok_or_else(malformed)?;
    let time = claim.time.strftime("%Y%m%dT%H%M%SZ");
    let to_sign = format!("{ALGORITHM}\n{time}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
    if claim.signature != hex(&mac(&key, to_sign.as_bytes())) {
        return Err(wrong_signature());
    }
    if headers.contains_key("x-amz-security-token") || parameters.contains_key("X-Amz-Security-Token") {
        return Err(invalid_token());
    }
    Ok(parameters)
}

impl<'r> Claim<'r> {
    fn in_headers(
        authorization: &'r str,
        request: &'r Request<Bytes>,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        let parts = authorization.strip_prefix(ALGORITHM).ok_or_else(malformed)?;
        let parts: HashMap<_, _> = parts.split(',').filter_map(|part| part.trim().split_once('=')).collect();
        let part = |name: &str| parts.get(name).copied().ok_or_else(malformed);
        let header = |name: &str| {
            let value = text(request.headers(), name);
            value.ok_or_else(|| refuse(400, "InvalidRequest", format!("The header {name} is missing.")))
        };
        let (time, payload) = (read_time(header("x-amz-date")?)?, header("x-amz-content-sha256")?);
        if now.duration_since(time).abs() > SKEW {
            return Err(refuse(
                403,
                "RequestTimeTooSkewed",
                "The request's time is too far from this one's.",
            ));
        }
        if payload != UNSIGNED && payload != hex(&Sha256::digest(request.body())) {
            return Err(refuse(400, "XAmzContentSHA256Mismatch", "The body has another hash."));
        }
        let (credential, signed_headers) = (part("Credential")?, part("SignedHeaders")?);
        Ok(Self { credential, signed_headers, signature: part("Signature")?, time, payload })
    }

    fn in_query(parameters: &'r Parameters, now: Timestamp) -> Result<Self, Refusal> {
        let wrong =
            || refuse(400, "AuthorizationQueryParametersError", "The query is not signed as it must be.");
        let parameter = |name: &str| parameters.get(name).map(String::as_str).ok_or_else(wrong);
        let time = read_time(parameter("X-Amz-Date")?)?;
        let expires =
            parameter("X-Amz-Expires")?.parse().ok().filter(|seconds| (1..=MAX_EXPIRES).contains(seconds));
        let life = SignedDuration::from_secs(expires.ok_or_else(wrong)?);
        if parameter("X-Amz-Algorithm")? != ALGORITHM {
            return Err(wrong());
        }
        let age = now.duration_since(time);
        if age < -SKEW {
            return Err(denied("The request is not valid yet."));
        }
        if age >= life {
            return Err(denied("The request has expired."));
        }
        let (credential, signed_headers) =
            (parameter("X-Amz-Credential")?, parameter("X-Amz-SignedHeaders")?);
        Ok(Self {
            credential,
            signed_headers,
            signature: parameter("X-Amz-Signature")?,
            time,
            payload: UNSIGNED,
        })
    }
}

/// What the signature is of. The path is a key's, and so as it should be written.
fn canonical_request(
    request: &Request<Bytes>,
    parameters: &Parameters,
    signed: &[&str],
    payload: &str,
) -> String {
    let encoded = |text: &str| utf8_percent_encode(text, &UNRESERVED).to_string();
    let query = parameters.iter().filter(|(name, _)| *name != "X-Amz-Signature");
    let mut query: Vec<_> =
        query.map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    query.sort_unstable();
    let header = |name: &&str| {
        let values = request.headers().get_all(*name).iter().filter_map(|value| value.to_str().ok());
        let values: Vec<_> = values
            .map(|value| value.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
            .collect();
        format!("{name}:{}\n", values.join(","))
    };
    let headers: String = signed.iter().map(header).collect();
    let (method, path) = (request.method(), request.uri().path());
    format!("{method}\n{path}\n{}\n{headers}\n{}\n{payload}", query.join("&"), signed.join(";"))
}

/// The key that this credential signs with on its day.
fn signing_key(credential: &str, time: Timestamp) -> Result<[u8; 32], Refusal> {
    let mut parts = credential.split('/');
    if parts.next() != Some(ACCESS_KEY) {
        return Err(refuse(403, "InvalidAccessKeyId", "There is no such access key."));
    }
    let day = time.strftime("%Y%m%d").to_string();
    if !parts.eq([day.as_str(), REGION, "s3", "aws4_request"]) {
        return Err(malformed());
    }
    let key = mac(format!("AWS4{ACCESS_KEY}").as_bytes(), day.as_bytes());
    Ok([REGION, "s3", "aws4_request"].iter().fold(key, |key, part| mac(&key, part.as_bytes())))
}

fn read_query(query: &str) -> Result<Parameters, Refusal> {
    let mut parameters = Parameters::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decoded = |text: &str| percent_decode_str(text).decode_utf8().map(String::from);
        let (Ok(name), Ok(value)) = (decoded(name), decoded(value)) else { return Err(malformed()) };
        let is_known = name.starts_with("X-Amz-")
            || matches!(name.as_str(), "response-content-disposition" | "response-content-type" | "x-id");
        if !is_known {
            return Err(refuse(501, "NotImplemented", format!("Nothing is done with {name} here.")));
        }
        if parameters.insert(name, value).is_some() {
            return Err(malformed());
        }
    }
    Ok(parameters)
}

fn read_time(written: &str) -> Result<Timestamp, Refusal> {
    let time = DateTime::strptime("%Y%m%dT%H%M%SZ", written).and_then(|time| time.to_zoned(TimeZone::UTC));
    time.map(|time| time.timestamp()).map_err(|_| malformed())
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// What an object is known by: S3 says no more of it than that it changes with the content.
fn etag(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    format!("\"{}\"", hex(digest.get(..16).unwrap_or_default()))
}

fn mac(key: &[u8], message: &[u8]) -> [u8; 32] {
    // HMAC takes a key of any length.
    let hmac = Hmac::<Sha256>::new_from_slice(key).map(|hmac| hmac.chain_update(message));
    hmac.map(|hmac| hmac.finalize().into_bytes().into()).unwrap_or_default()
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xF]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn xml(status: StatusCode, root: &str) -> Response<Bytes> {
    let document = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{root}");
    let mut response = Response::new(Bytes::from(document));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_credential_types::Credentials;
    use aws_credential_types::provider::SharedCredentialsProvider;
    use http_body_util::{BodyExt, Full};
    use hyper::body::Incoming;
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use proptest::prelude::*;
    use serde_json::json;
    use shared::providers::client::Outside;
    use shared::providers::resumes::{Bucket, Trouble};
    use std::sync::{Arc, LazyLock};
    use tokio::net::TcpListener;

    const NOW: Timestamp = Timestamp::constant(1_795_178_096, 0);
    const BUCKET: &str = "resumes";
    const KEY: &str = "incoming/7";
    const REDIRECT: &str = "http://127.0.0.1:3000/careers/acme/received?t=a";

    type Fields = Vec<(String, String)>;

    fn bucket(endpoint: &str, access_key: &str, secret: &str, token: Option<&str>) -> Bucket {
        static OUTSIDE: LazyLock<Outside> = LazyLock::new(|| Outside::new().unwrap());
        let credentials = Credentials::new(access_key, secret, token.map(str::to_owned), None, "test");
        let credentials = SharedCredentialsProvider::new(credentials);
        Bucket::new(OUTSIDE.clone(), credentials, BUCKET, REGION, Some(endpoint)).unwrap()
    }

    fn local() -> Bucket {
        bucket("http://127.0.0.1:3000", ACCESS_KEY, "local", None)
    }

    async fn fields(bucket: &Bucket) -> Fields {
        bucket.upload_form(KEY, REDIRECT, NOW).await.ok().unwrap().fields
    }

    fn with(fields: &Fields, name: &str, value: &str) -> Fields {
        let mut fields = fields.clone();
        fields.retain(|field| field.0 != name);
        fields.push((name.to_owned(), value.to_owned()));
        fields
    }

    fn without(fields: &Fields, name: &str) -> Fields {
        fields.iter().filter(|field| field.0 != name).cloned().collect()
    }

    /// The fields of a form with this policy, signed as it should be.
    fn signed(fields: &Fields, policy: &Value) -> Fields {
        let policy = STANDARD.encode(policy.to_string());
        let key = signing_key("local/20261120/local/s3/aws4_request", NOW).ok().unwrap();
        let signature = hex(&mac(&key, policy.as_bytes()));
        with(&with(fields, "policy", &policy), "x-amz-signature", &signature)
    }

    fn policy(fields: &Fields) -> Value {
        let policy = fields.iter().find(|field| field.0 == "policy").unwrap();
        serde_json::from_slice(&STANDARD.decode(&policy.1).unwrap()).unwrap()
    }

    fn part(name: &str, value: &[u8]) -> Vec<u8> {
        let file =
            if name == "file" { "; filename=\"résumé.txt\"\r\nContent-Type: text/plain" } else { "" };
        let head = format!("--b0undary\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
        [head.as_bytes(), value, b"\r\n"].concat()
    }

    fn form(fields: &Fields, file: &[u8]) -> Request<Bytes> {
        let mut parts: Vec<_> = fields.iter().map(|(name, value)| part(name, value.as_bytes())).collect();
        parts.extend([part("file", file), b"--b0undary--\r\n".to_vec()]);
        posted(parts.concat())
    }

    fn posted(body: Vec<u8>) -> Request<Bytes> {
        let request =
            Request::post("/resumes").header("content-type", "multipart/form-data; boundary=b0undary");
        request.body(Bytes::from(body)).unwrap()
    }

    fn got(url: &str) -> Request<Bytes> {
        let path = url.strip_prefix("http://127.0.0.1:3000").unwrap();
        Request::get(path).header("host", "127.0.0.1:3000").body(Bytes::new()).unwrap()
    }

    /// The status and the code; the code is empty where there is none.
    async fn met(shelf: &Shelf, request: Request<Bytes>, now: Timestamp) -> (u16, String) {
        let response = shelf.answer(request, now).await;
        let body = String::from_utf8_lossy(response.body()).into_owned();
        let code = body.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
        (response.status().as_u16(), code.map(|(code, _)| code.to_owned()).unwrap_or_default())
    }

    fn refused(status: u16, code: &str) -> (u16, String) {
        (status, code.to_owned())
    }

    fn minutes(minutes: i64) -> Timestamp {
        NOW + SignedDuration::from_mins(minutes)
    }

    /// Where this shelf can be reached; `change` is what happens to requests on the way.
    async fn served(shelf: Arc<Shelf>, change: fn(&mut Request<Bytes>)) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let shelf = Arc::clone(&shelf);
                let answer = service_fn(move |request: Request<Incoming>| {
                    let shelf = Arc::clone(&shelf);
                    async move {
                        let (parts, body) = request.into_parts();
                        let mut request = Request::from_parts(parts, body.collect().await?.to_bytes());
                        change(&mut request);
                        Ok::<_, hyper::Error>(shelf.answer(request, NOW).await.map(Full::new))
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
            }
        });
        url
    }

    async fn keep(bucket: &Bucket, to: &str, etag: &str) -> Result<(), Trouble> {
        bucket.keep(KEY, to, etag, "text/plain", NOW).await
    }

    #[tokio::test]
    async fn a_resume_comes_in_is_read_kept_and_downloaded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("resumes");
        let places = [Shelf::in_memory(BUCKET), Shelf::in_folder(BUCKET, path.clone())];
        for shelf in places.map(Arc::new) {
            let url = served(Arc::clone(&shelf), |_| ()).await;
            let bucket = bucket(&url, ACCESS_KEY, "local", None);
            assert!(bucket.read(KEY, 10, NOW).await.ok().unwrap().is_none());
            assert_eq!(keep(&bucket, "resumes/7", "\"e\"").await, Err(Trouble::Changed));
            let sent = bucket.upload_form(KEY, REDIRECT, NOW).await.ok().unwrap();
            assert_eq!(sent.action, format!("{url}/resumes"));
            let response = shelf.answer(form(&sent.fields, b"hello"), NOW).await;
            assert_eq!(response.status(), StatusCode::SEE_OTHER);
            assert_eq!(
                response.headers()[LOCATION],
                format!(
                    "{REDIRECT}&bucket=resumes&key=incoming%2F7&etag=%222cf24dba5fb0a30e26e83b2ac5b9e29e%22"
                )
            );
            let object = bucket.read(KEY, 5, NOW).await.ok().unwrap().unwrap();
            assert_eq!(
                (&object.bytes[..], &*object.etag),
                (&b"hello"[..], "\"2cf24dba5fb0a30e26e83b2ac5b9e29e\"")
            );
            assert_eq!(bucket.read(KEY, 4, NOW).await.err(), Some(Trouble::TooLarge));
            assert_eq!(keep(&bucket, "resumes/7", &object.etag).await, Ok(()));
            // Another upload to the same key is not what was read.
            assert_eq!(met(&shelf, form(&sent.fields, b"other"), NOW).await.0, 303);
            assert_eq!(keep(&bucket, "resumes/7", &object.etag).await, Err(Trouble::Changed));
            let address = bucket.download_url("resumes/7", "Zoë.txt", NOW).await.unwrap();
            let outside = Outside::new().unwrap();
            let answer = outside.send(outside.get(&address)).await.unwrap();
            assert_eq!((answer.status.as_u16(), &answer.body[..]), (200, &b"hello"[..]));
            assert_eq!(answer.headers["content-type"], "application/octet-stream");
            let disposition = "attachment; filename=\"Zo_.txt\"; filename*=UTF-8''Zo%C3%AB.txt";
            assert_eq!(answer.headers["content-disposition"], disposition);
            assert_eq!(answer.headers["etag"], object.etag);
            let (label, _) = shelf.take("resumes/7").await.ok().unwrap().unwrap();
            assert_eq!(
                (&*label.content_type, label.content_disposition.as_deref()),
                ("text/plain", Some("attachment"))
            );
        }
        // A restart finds it again, and nothing half written.
        let url = served(Arc::new(Shelf::in_folder(BUCKET, path.clone())), |_| ()).await;
        let object = bucket(&url, ACCESS_KEY, "local", None).read("resumes/7", 5, NOW).await.ok().unwrap();
        assert_eq!(&object.unwrap().bytes[..], b"hello");
        let mut names: Vec<_> =
            std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["incoming", "resumes"]);
    }

    #[tokio::test]
    async fn a_form_is_taken_with_nothing_but_what_its_policy_says() {
        let (shelf, good) = (Shelf::in_memory(BUCKET), fields(&local()).await);
        assert_eq!(met(&shelf, form(&good, b"x"), NOW).await, refused(303, ""));
        assert_eq!(met(&shelf, form(&with(&good, "x-ignore-me", "x"), b"x"), NOW).await, refused(303, ""));
        let (late, denied) = (minutes(15), refused(403, "AccessDenied"));
        assert_eq!(met(&shelf, form(&good, b"x"), late).await, denied);
        for (name, value) in [
            ("key", "incoming/8"),
            ("success_action_redirect", "http://evil.example/"),
            ("x-amz-server-side-encryption", "aws:kms"),
            ("content-type", "text/html"),
            ("acl", "public-read"),
        ] {
            assert_eq!(met(&shelf, form(&with(&good, name, value), b"x"), NOW).await, denied, "{name}");
        }
        for name in ["success_action_redirect", "x-amz-server-side-encryption"] {
            assert_eq!(met(&shelf, form(&without(&good, name), b"x"), NOW).await, denied, "{name}");
        }
        let (invalid, wrong) = (refused(400, "InvalidArgument"), refused(403, "SignatureDoesNotMatch"));
        for name in ["policy", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature"] {
            assert_eq!(met(&shelf, form(&without(&good, name), b"x"), NOW).await, invalid, "{name}");
        }
        let other_key = refused(403, "InvalidAccessKeyId");
        let malformed = refused(400, "AuthorizationHeaderMalformed");
        for (name, value, expected) in [
            ("policy", "e30=", &wrong),
            ("x-amz-signature", "", &wrong),
            ("x-amz-algorithm", "AWS4-HMAC-SHA1", &invalid),
            ("x-amz-credential", "else/20261120/local/s3/aws4_request", &other_key),
            ("x-amz-credential", "local/20261121/local/s3/aws4_request", &malformed),
            ("x-amz-credential", "local/20261120/elsewhere/s3/aws4_request", &malformed),
            ("x-amz-credential", "local/20261120/local/s3/aws4_request/", &malformed),
            ("x-amz-date", "yesterday", &malformed),
        ] {
            assert_eq!(
                met(&shelf, form(&with(&good, name, value), b"x"), NOW).await,
                *expected,
                "{name} {value}"
            );
        }
        for (access_key, secret, token, expected) in [
            (ACCESS_KEY, "guessed", None, wrong),
            ("else", "local", None, other_key),
            (ACCESS_KEY, "local", Some("token"), refused(400, "InvalidToken")),
        ] {
            let fields = fields(&bucket("http://127.0.0.1:3000", access_key, secret, token)).await;
            assert_eq!(met(&shelf, form(&fields, b"x"), NOW).await, expected);
        }
    }

    #[tokio::test]
    async fn a_file_is_of_the_size_that_the_policy_says() {
        let (shelf, good) = (Shelf::in_memory(BUCKET), fields(&local()).await);
        let sized = async |size| met(&shelf, form(&good, &vec![b'x'; size]), NOW).await;
        assert_eq!(sized(0).await, refused(400, "EntityTooSmall"));
        assert_eq!(sized(MAX_UPLOAD).await, refused(303, ""));
        assert_eq!(sized(MAX_UPLOAD + 1).await, refused(400, "EntityTooLarge"));
        assert!(form(&good, &vec![b'x'; MAX_UPLOAD]).body().len() < MAX_BODY);
    }

    #[tokio::test]
    async fn every_kind_of_condition_is_checked() {
        let (shelf, good) = (Shelf::in_memory(BUCKET), fields(&local()).await);
        let sound = policy(&good);
        let judged = async |change: &dyn Fn(&mut Vec<Value>)| {
            let mut policy = sound.clone();
            change(policy["conditions"].as_array_mut().unwrap());
            met(&shelf, form(&signed(&good, &policy), b"12345"), NOW).await
        };
        let (taken, denied) = (refused(303, ""), refused(403, "AccessDenied"));
        let unreadable = refused(400, "InvalidPolicyDocument");
        for (condition, expected) in [
            (json!(["eq", "$key", KEY]), &taken),
            (json!(["EQ", "$Key", KEY]), &taken),
            (json!(["starts-with", "$key", "incoming/"]), &taken),
            (json!(["starts-with", "$key", ""]), &taken),
            (json!(["eq", "$bucket", BUCKET]), &taken),
            (json!(["content-length-range", 5, 5]), &taken),
            (json!(["content-length-range", 6, 100]), &refused(400, "EntityTooSmall")),
            (json!(["content-length-range", 0, 4]), &refused(400, "EntityTooLarge")),
            (json!(["eq", "$key", "incoming/"]), &denied),
            (json!(["starts-with", "$key", "resumes/"]), &denied),
            (json!(["starts-with", "$content-type", ""]), &denied),
            (json!({"bucket": "other"}), &denied),
            (json!({"acl": "private"}), &denied),
            (json!(["ends-with", "$key", "7"]), &unreadable),
            (json!(["eq", "key", KEY]), &unreadable),
            (json!(["eq", "$key"]), &unreadable),
            (json!({"key": KEY, "bucket": BUCKET}), &unreadable),
            (json!({"key": 7}), &unreadable),
            (json!("key"), &unreadable),
        ] {
            assert_eq!(
                judged(&|conditions| conditions.push(condition.clone())).await,
                *expected,
                "{condition}"
            );
        }
        for name in ["key", "x-amz-date", "success_action_redirect"] {
            let unnamed =
                judged(&|conditions| conditions.retain(|condition| condition.get(name).is_none())).await;
            assert_eq!(unnamed, denied, "{name}");
        }
        let mut with_acl = sound.clone();
        with_acl["conditions"].as_array_mut().unwrap().push(json!({"acl": "public-read"}));
        let fields = signed(&with(&good, "acl", "public-read"), &with_acl);
        assert_eq!(met(&shelf, form(&fields, b"x"), NOW).await, refused(501, "NotImplemented"));
        for policy in [json!({}), json!([]), json!({"expiration": "soon", "conditions": []})] {
            assert_eq!(met(&shelf, form(&signed(&good, &policy), b"x"), NOW).await, unreadable, "{policy}");
        }
        // Whatever the policy allows, no key leads out of the folder.
        for key in ["../x", "/x", "a//b", "a/./b", "${filename}", ".part-0", "a\\b", ""] {
            let policy = json!({"expiration": "2026-11-20T13:00:00Z", "conditions": good.iter()
                .filter(|(name, _)| !matches!(&**name, "key" | "policy" | "x-amz-signature"))
                .map(|(name, value)| json!({name: value}))
                .chain([json!(["starts-with", "$key", ""])]).collect::<Vec<_>>()});
            let fields = signed(&with(&good, "key", key), &policy);
            assert_eq!(met(&shelf, form(&fields, b"x"), NOW).await, refused(400, "InvalidURI"), "{key}");
        }
    }

    #[tokio::test]
    async fn a_form_that_is_none_is_refused() {
        let (shelf, good) = (Shelf::in_memory(BUCKET), fields(&local()).await);
        let parts: Vec<_> = good.iter().map(|(name, value)| part(name, value.as_bytes())).collect();
        let (parts, file, end) = (parts.concat(), part("file", b"x"), b"--b0undary--\r\n".to_vec());
        let answer = async |body: &[&[u8]]| met(&shelf, posted(body.concat()), NOW).await;
        let (invalid, broken) = (refused(400, "InvalidArgument"), refused(400, "MalformedPOSTRequest"));
        assert_eq!(answer(&[&parts, &end]).await, invalid);
        assert_eq!(answer(&[&part("key", KEY.as_bytes()), &parts, &file, &end]).await, invalid);
        assert_eq!(answer(&[&part("x-ignore-it", b"\xFF"), &parts, &file, &end]).await, invalid);
        assert_eq!(answer(&[&file, &parts, &end]).await, invalid, "the file comes last");
        assert_eq!(answer(&[&parts, &file, &part("acl", b"x"), &end]).await, refused(303, ""));
        assert_eq!(answer(&[&parts, &file[..file.len() - 3]]).await, broken);
        assert_eq!(answer(&[]).await, broken);
        let long = refused(400, "MaxPostPreDataLengthExceeded");
        assert_eq!(answer(&[&parts, &part("x-ignore-it", &vec![b'x'; MAX_FIELDS]), &file, &end]).await, long);
        let mut untyped = form(&good, b"x");
        untyped.headers_mut().remove(CONTENT_TYPE);
        assert_eq!(met(&shelf, untyped, NOW).await, refused(412, "PreconditionFailed"));
        for (path, expected) in [
            ("/resumes/", refused(303, "")),
            ("/resumes/incoming/7", refused(405, "MethodNotAllowed")),
            ("/other", refused(404, "NoSuchBucket")),
            ("/resumesx", refused(404, "NoSuchBucket")),
        ] {
            let mut request = form(&good, b"x");
            *request.uri_mut() = path.parse().unwrap();
            assert_eq!(shelf.takes(path), expected.0 != 404, "{path}");
            assert_eq!(met(&shelf, request, NOW).await, expected, "{path}");
        }
        let deleted = Request::delete("/resumes/incoming/7").body(Bytes::new()).unwrap();
        assert_eq!(met(&shelf, deleted, NOW).await, refused(405, "MethodNotAllowed"));
    }

    #[tokio::test]
    async fn an_address_is_good_as_it_was_signed_and_for_as_long() {
        let (shelf, local) = (Shelf::in_memory(BUCKET), local());
        assert_eq!(met(&shelf, form(&fields(&local).await, b"x"), NOW).await.0, 303);
        let url = local.download_url(KEY, "a.txt", NOW).await.unwrap();
        let (taken, denied) = (refused(200, ""), refused(403, "AccessDenied"));
        let start: Timestamp = "2026-11-20T12:30:00Z".parse().unwrap();
        for (seconds, expected) in [(-901, &denied), (-900, &taken), (3599, &taken), (3600, &denied)] {
            let now = start + SignedDuration::from_secs(seconds);
            assert_eq!(met(&shelf, got(&url), now).await, *expected, "{seconds}");
        }
        let wrong = refused(403, "SignatureDoesNotMatch");
        let query = refused(400, "AuthorizationQueryParametersError");
        let malformed = refused(400, "AuthorizationHeaderMalformed");
        for (from, to, expected) in [
            ("a.txt", "a.exe", &wrong),
            ("octet-stream", "x", &wrong),
            ("incoming/7", "incoming/8", &wrong),
            ("X-Amz-Expires=3600", "X-Amz-Expires=7200", &wrong),
            ("X-Amz-Signature=", "X-Amz-Signature=0", &wrong),
            ("X-Amz-Date=20261120T123000Z", "X-Amz-Date=20261120T123100Z", &wrong),
            ("?", "?x-id=GetObject&", &wrong),
            ("X-Amz-Expires=3600", "X-Amz-Expires=0", &query),
            ("X-Amz-Expires=3600", "X-Amz-Expires=604801", &query),
            ("X-Amz-Expires=3600", "X-Amz-Expires=x", &query),
            ("&X-Amz-Expires=3600", "", &query),
            ("HMAC-SHA256", "HMAC-SHA1", &query),
            ("local%2F2026", "else%2F2026", &refused(403, "InvalidAccessKeyId")),
            ("%2Fs3%2F", "%2Fsqs%2F", &malformed),
            ("?", "?X-Amz-Expires=1&", &malformed),
            ("a.txt", "%FF", &malformed),
            ("SignedHeaders=host", "SignedHeaders=range", &denied),
            ("X-Amz-Signature=", "X-Amz-Unsigned=", &denied),
            ("?", "?versionId=1&", &refused(501, "NotImplemented")),
            ("incoming/7", "incoming/../7", &refused(400, "InvalidURI")),
            ("incoming/7", "%69ncoming/7", &refused(400, "InvalidURI")),
            ("incoming/7", "", &refused(400, "InvalidURI")),
        ] {
            assert_eq!(met(&shelf, got(&url.replacen(from, to, 1)), NOW).await, *expected, "{from} {to}");
        }
        let mut more = got(&url);
        more.headers_mut().insert("x-amz-more", HeaderValue::from_static("x"));
        assert_eq!(met(&shelf, more, NOW).await, denied);
        let mut elsewhere = got(&url);
        elsewhere.headers_mut().insert("host", HeaderValue::from_static("localhost:3000"));
        assert_eq!(met(&shelf, elsewhere, NOW).await, wrong);
        let none = local.download_url("incoming/none", "a.txt", NOW).await.unwrap();
        assert_eq!(met(&shelf, got(&none), NOW).await, refused(404, "NoSuchKey"));
        let token = bucket("http://127.0.0.1:3000", ACCESS_KEY, "local", Some("t"));
        let url = token.download_url(KEY, "a.txt", NOW).await.unwrap();
        assert_eq!(met(&shelf, got(&url), NOW).await, refused(400, "InvalidToken"));
    }

    #[tokio::test]
    async fn a_request_that_was_changed_on_its_way_is_refused() {
        fn set(request: &mut Request<Bytes>, name: &'static str, value: &'static str) {
            request.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        let shelf = Arc::new(Shelf::in_memory(BUCKET));
        assert_eq!(met(&shelf, form(&fields(&local()).await, b"x"), NOW).await.0, 303);
        let etag = etag(b"x");
        for (change, code) in [
            (|request| set(request, "content-type", "text/html"), "SignatureDoesNotMatch"),
            (|request| set(request, "x-amz-copy-source", "resumes/incoming/8"), "SignatureDoesNotMatch"),
            (|request| set(request, "x-amz-copy-source-if-match", ""), "SignatureDoesNotMatch"),
            (|request| set(request, "x-amz-acl", "public-read"), "AccessDenied"),
            (|request| set(request, "x-amz-date", "20261120T123455Z"), "SignatureDoesNotMatch"),
            (|request| set(request, "x-amz-date", "20261120T121955Z"), "RequestTimeTooSkewed"),
            (|request| set(request, "x-amz-date", "20261120T124957Z"), "RequestTimeTooSkewed"),
            (|request| set(request, "x-amz-content-sha256", UNSIGNED), "SignatureDoesNotMatch"),
            (|request| set(request, "x-amz-content-sha256", ""), "XAmzContentSHA256Mismatch"),
            (|request| *request.body_mut() = Bytes::from_static(b"x"), "XAmzContentSHA256Mismatch"),
            (|request| *request.uri_mut() = "/resumes/resumes/8".parse().unwrap(), "SignatureDoesNotMatch"),
            (|request| set(request, "authorization", "Bearer x"), "AuthorizationHeaderMalformed"),
            (|request| drop(request.headers_mut().remove("authorization")), "AccessDenied"),
            (|request| drop(request.headers_mut().remove("x-amz-date")), "InvalidRequest"),
        ] as [(fn(&mut Request<Bytes>), &str); 14]
        {
            let url = served(Arc::clone(&shelf), change).await;
            let bucket = bucket(&url, ACCESS_KEY, "local", None);
            assert_eq!(
                keep(&bucket, "resumes/7", &etag).await,
                Err(Trouble::Refused(code.to_owned())),
                "{code}"
            );
        }
        let url = served(Arc::clone(&shelf), |_| ()).await;
        for (access_key, secret, token, code) in [
            (ACCESS_KEY, "guessed", None, "SignatureDoesNotMatch"),
            ("else", "local", None, "InvalidAccessKeyId"),
            (ACCESS_KEY, "local", Some("token"), "InvalidToken"),
        ] {
            let met = bucket(&url, access_key, secret, token).read(KEY, 5, NOW).await.err();
            assert_eq!(met, Some(Trouble::Refused(code.to_owned())));
        }
        assert!(shelf.take("resumes/7").await.ok().unwrap().is_none(), "nothing of it was done");
    }

    #[tokio::test]
    async fn no_copy_is_made_of_what_is_not_in_the_bucket() {
        let shelf = Shelf::in_memory(BUCKET);
        assert_eq!(met(&shelf, form(&fields(&local()).await, b"x"), NOW).await.0, 303);
        let copied = |source: &str| {
            let mut request = Request::put("/resumes/resumes/7").body(Bytes::new()).unwrap();
            let signed = [
                ("host", "127.0.0.1:3000"),
                ("x-amz-content-sha256", UNSIGNED),
                ("x-amz-copy-source", source),
                ("x-amz-date", "20261120T123456Z"),
                ("x-amz-metadata-directive", "REPLACE"),
                ("x-amz-server-side-encryption", "AES256"),
            ];
            for (name, value) in signed {
                request.headers_mut().insert(name, HeaderValue::try_from(value).unwrap());
            }
            let signed = signed.map(|(name, _)| name);
            let canonical = canonical_request(&request, &Parameters::new(), &signed, UNSIGNED);
            let scope = "20261120/local/s3/aws4_request";
            let hash = hex(&Sha256::digest(canonical));
            let key = signing_key(&format!("{ACCESS_KEY}/{scope}"), NOW).ok().unwrap();
            let to_sign = format!("{ALGORITHM}\n20261120T123456Z\n{scope}\n{hash}");
            let (headers, signature) = (signed.join(";"), hex(&mac(&key, to_sign.as_bytes())));
            let credential = format!("{ACCESS_KEY}/{scope}");
            let authorization = format!(
                "{ALGORITHM} Credential={credential}, SignedHeaders={headers}, Signature={signature}"
            );
            request.headers_mut().insert(AUTHORIZATION, HeaderValue::try_from(authorization).unwrap());
            request
        };
        for source in ["/resumes/incoming/7", "resumes/incoming/7"] {
            assert_eq!(met(&shelf, copied(source), NOW).await, refused(200, ""), "{source}");
        }
        for source in [
            "resumes/../x",
            "resumes//etc/passwd",
            "resumes/",
            "other/incoming/7",
            "resumesx",
            "incoming/7",
            "",
        ] {
            assert_eq!(met(&shelf, copied(source), NOW).await, refused(400, "InvalidURI"), "{source}");
        }
        assert_eq!(met(&shelf, copied("resumes/incoming/8"), NOW).await, refused(404, "NoSuchKey"));
    }

    #[tokio::test]
    async fn a_place_that_cannot_be_written_is_an_error_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "").unwrap();
        let shelf = Shelf::in_folder(BUCKET, path);
        let request = form(&fields(&local()).await, b"x");
        assert_eq!(met(&shelf, request, NOW).await, refused(500, "InternalError"));
        let url = local().download_url(KEY, "a.txt", NOW).await.unwrap();
        assert_eq!(met(&shelf, got(&url), NOW).await, refused(404, "NoSuchKey"));
    }

    #[test]
    fn an_error_cannot_be_markup() {
        let response = denied("<script>\"&").response();
        let body = String::from_utf8(response.body().to_vec()).unwrap();
        assert!(body.ends_with("<Message>&lt;script&gt;&quot;&amp;</Message></Error>"), "{body}");
        assert_eq!(response.headers()[CONTENT_TYPE], "application/xml");
    }

    proptest! {
        #[test]
        fn whatever_is_sent_is_answered(
            body in prop_oneof![prop::collection::vec(any::<u8>(), 0..300), any::<String>().prop_map(|text| part(&text, b"x"))],
            path in "/(resumes(/[ -~&&[^ \"<>`{}|^\\\\#]]{0,20})?)?",
            authorization in "(AWS4-HMAC-SHA256 )?[ -~]{0,60}",
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            for method in [Method::GET, Method::POST, Method::PUT] {
                let mut request = posted(body.clone());
                *request.method_mut() = method;
                *request.uri_mut() = path.parse().unwrap();
                request.headers_mut().insert("authorization", HeaderValue::try_from(&authorization).unwrap());
                let shelf = Shelf::in_memory(BUCKET);
                let status = runtime.block_on(shelf.answer(request, NOW)).status();
                prop_assert!(status.is_client_error() || status == StatusCode::NOT_IMPLEMENTED, "{}", status);
            }
        }
    }
}
