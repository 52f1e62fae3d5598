//! A local replacement for S3: one bucket, in a folder or in memory. It supports the requests that the service and the
//! forms on its pages send, makes the same checks as S3, and rejects all other requests.
//!
//! It accepts only keys that the service itself generates, which need no escaping and cannot point outside the folder.
//! Objects do not expire.

// Not the crate s3s: it reads the system's clock, which tests replace, and it would add some 40 crates.

mod error;
mod form;
mod policy;
mod request;
mod signature;
mod storage;
#[cfg(test)]
mod tests;
mod uploads;

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_DISPOSITION, CONTENT_RANGE, CONTENT_TYPE, ETAG, LOCATION, RANGE};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use url::Url;

use shared::clock::Timestamp;
use shared::config::{AwsAccess, BucketAccess};
use shared::providers::bucket::is_key;
use shared::secret::Secret;

use error::{S3Error, escaped, xml};
use form::Form;
use policy::Policy;
use request::{Parameters, header_text};
use signature::{verify_form, verify_request};
use storage::{Metadata, Storage, etag};

pub use signature::{ACCESS_KEY, REGION};

/// The bucket's name, which is also the first segment of its paths.
pub const BUCKET: &str = "local-resumes";
/// The maximum size of a request body, in bytes: the maximum size of the ZIP of an import plus the rest of the form.
pub const MAX_BODY: usize = 1024 * 1024 * 1024 + 64 * 1024;

const DEFAULT_CONTENT_TYPE: &str = "binary/octet-stream";
const READ: &str = "s3:GetObject";
const WRITE: &str = "s3:PutObject";
/// Without it, S3 does not say that an object is not there.
const LIST: &str = "s3:ListBucket";
/// The header and the field that name an algorithm. The names of all others about encryption begin with it.
const ENCRYPTION: &str = "x-amz-server-side-encryption";

/// Whether whoever sends a request has a permission of IAM, such as `s3:GetObject`, for a key. `s3:ListBucket` is about the whole
/// bucket, whose key is empty.
pub type Permits = Box<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// The bucket.
pub struct LocalBucket {
    name: String,
    storage: Storage,
    permits: Option<Permits>,
}

/// The part of an object that a request asks for (RFC 9110, section 14.2), with its place, or else the whole object. As S3 does,
/// only one range is read.
fn ranged(request: &Request<Bytes>, content: &Bytes) -> Result<(Option<String>, Bytes), S3Error> {
    let range = request.headers().get(RANGE).and_then(|range| str::from_utf8(range.as_bytes()).ok());
    let range = range.and_then(|range| range.strip_prefix("bytes="));
    let range = range.and_then(|range| {
        let (first, last) = range.split_once('-')?;
        Some((first.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
    });
    let Some((first, last)) = range.filter(|(first, last)| first <= last) else {
        return Ok((None, content.clone()));
    };
    if first >= content.len() {
        return Err(S3Error::new(416, "InvalidRange", "The requested range is not satisfiable"));
    }
    let end = content.len().min(last + 1);
    Ok((Some(format!("bytes {first}-{}/{}", end - 1, content.len())), content.slice(first..end)))
}

impl LocalBucket {
    /// The settings for using the bucket at this base URL.
    pub fn access(base_url: &str) -> BucketAccess {
        BucketAccess {
            name: BUCKET.to_owned(),
            endpoint: Some(base_url.to_owned()),
            waits_for_scans: false,
            aws: AwsAccess {
                region: REGION.to_owned(),
                access_key_id: ACCESS_KEY.to_owned(),
                secret_access_key: Secret::new(ACCESS_KEY),
                session_token: None,
            },
        }
    }

    /// A bucket in this folder. The folder is created with the first object.
    pub fn in_folder(name: &str, path: PathBuf) -> Self {
        Self { name: name.to_owned(), storage: Storage::in_folder(path), permits: None }
    }

    /// An in-memory bucket, which is lost when the process ends.
    pub fn in_memory(name: &str) -> Self {
        Self { name: name.to_owned(), storage: Storage::in_memory(), permits: None }
    }

    /// The same bucket, which serves a request with a signature in its headers only if this permits it. Forms and URLs that were signed
    /// for browsers are not asked about.
    #[must_use]
    pub fn permitting(self, permits: Permits) -> Self {
        Self { permits: Some(permits), ..self }
    }

    fn is_permitted(&self, request: &Request<Bytes>, action: &str, key: &str) -> bool {
        let is_signed = request.headers().contains_key(AUTHORIZATION);
        !is_signed || self.permits.as_ref().is_none_or(|permits| permits(action, key))
    }

    /// Verifies the signature of a request, and that it may do this with the key. Returns the query parameters.
    fn admit(
        &self,
        request: &Request<Bytes>,
        action: &str,
        key: &str,
        now: Timestamp,
    ) -> Result<Parameters, S3Error> {
        let parameters = verify_request(request, now)?;
        if self.is_permitted(request, action, key) {
            return Ok(parameters);
        }
        Err(S3Error::access_denied(format!("The request is not authorized to perform {action}.")))
    }

    /// Says that an object is not there, if whoever asks may know.
    fn missing(&self, request: &Request<Bytes>) -> S3Error {
        if self.is_permitted(request, LIST, "") {
            S3Error::no_such_key()
        } else {
            S3Error::access_denied("The request is not authorized to perform s3:ListBucket.")
        }
    }

    /// Whether a path belongs to the bucket.
    pub fn owns(&self, path: &str) -> bool {
        let rest = path.strip_prefix('/').and_then(|path| path.strip_prefix(self.name.as_str()));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Answers a request as S3 does.
    pub async fn handle(&self, request: Request<Bytes>, now: Timestamp) -> Response<Bytes> {
        let result = match *request.method() {
            _ if names_encryption(request.headers().keys().map(HeaderName::as_str)) => {
                Err(other_encryption())
            }
            Method::GET if request.uri().query().is_some_and(|query| query.starts_with("list-type=")) => {
                self.list(&request, now).await
            }
            Method::GET if request.uri().query() == Some("tagging=") => self.tags(&request, now).await,
            Method::GET => self.get(&request, now).await,
            Method::POST if request.uri().query() == Some("uploads=") => {
                self.begin_upload(&request, now).await
            }
            Method::POST if has_upload(&request) => self.finish_upload(&request, now).await,
            Method::PUT if has_upload(&request) => self.put_part(&request, now).await,
            Method::DELETE if has_upload(&request) => self.abort_upload(&request, now).await,
            Method::DELETE => self.delete(&request, now).await,
            Method::POST => self.post(&request, now).await,
            Method::PUT if request.headers().contains_key("x-amz-copy-source") => {
                self.copy(&request, now).await
            }
            Method::PUT => self.put(&request, now).await,
            _ => Err(S3Error::new(405, "MethodNotAllowed", "The method is not allowed.")),
        };
        result.unwrap_or_else(|error| error.response())
    }

    /// Lists the first keys with a prefix, optionally only those that sort after another key.
    async fn list(&self, request: &Request<Bytes>, now: Timestamp) -> Result<Response<Bytes>, S3Error> {
        if !self.is_root(request.uri().path()) {
            return Err(S3Error::invalid_key());
        }
        let parameters = self.admit(request, LIST, "", now)?;
        let parameter = |name: &str| parameters.get(name).map_or("", String::as_str);
        let (prefix, max) = (parameter("prefix"), parameter("max-keys").parse());
        let Ok(max) = max else { return Err(S3Error::invalid_argument("max-keys must be a number.")) };
        if parameter("list-type") != "2" {
            return Err(S3Error::not_implemented("The bucket supports only lists of type 2."));
        }
        let keys = self.storage.keys().await?;
        let after = parameter("start-after");
        let keys = keys.iter().filter(|key| key.starts_with(prefix) && key.as_str() > after).take(max);
        let contents = keys.map(|key| format!("<Contents><Key>{}</Key></Contents>", escaped(key)));
        let contents: String = contents.collect();
        Ok(xml(StatusCode::OK, &format!("<ListBucketResult>{contents}</ListBucketResult>")))
    }

    /// Tags an object with what a virus scanner has found, as `GuardDuty` does. Returns whether there is such an object.
    pub async fn scan(&self, key: &str, result: &str) -> bool {
        let Ok(Some((metadata, content))) = self.storage.read(key).await else { return false };
        let metadata = Metadata { scan: Some(result.to_owned()), ..metadata };
        self.storage.write(key, &metadata, &content).await.is_ok()
    }

    /// Returns the tags of an object.
    async fn tags(&self, request: &Request<Bytes>, now: Timestamp) -> Result<Response<Bytes>, S3Error> {
        let key = self.key(request.uri().path())?;
        self.admit(request, "s3:GetObjectTagging", key, now)?;
        let (metadata, _) = self.storage.read(key).await?.ok_or_else(|| self.missing(request))?;
        let tag = metadata.scan.map(|result| {
            let (key, value) = ("GuardDutyMalwareScanStatus", escaped(&result));
            format!("<Tag><Key>{key}</Key><Value>{value}</Value></Tag>")
        });
        let tags = tag.unwrap_or_default();
        Ok(xml(StatusCode::OK, &format!("<Tagging><TagSet>{tags}</TagSet></Tagging>")))
    }

    /// Deletes an object, if it exists.
    async fn delete(&self, request: &Request<Bytes>, now: Timestamp) -> Result<Response<Bytes>, S3Error> {
        let key = self.key(request.uri().path())?;
        self.admit(request, "s3:DeleteObject", key, now)?;
        self.storage.delete(key).await?;
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok(response)
    }

    /// Downloads an object.
    async fn get(&self, request: &Request<Bytes>, now: Timestamp) -> Result<Response<Bytes>, S3Error> {
        let key = self.key(request.uri().path())?;
        let parameters = self.admit(request, READ, key, now)?;
        let (metadata, content) = self.storage.read(key).await?.ok_or_else(|| self.missing(request))?;
        let etag = etag(&content);
        if header_text(request.headers(), "if-match").is_some_and(|expected| expected != etag) {
            return Err(S3Error::new(412, "PreconditionFailed", "The object's entity tag is different."));
        }
        let parameter = |name: &str| parameters.get(name).cloned();
        let content_type = parameter("response-content-type").unwrap_or(metadata.content_type);
        let disposition = parameter("response-content-disposition").or(metadata.content_disposition);
        let (place, part) = ranged(request, &content)?;
        let mut response = Response::new(part);
        if place.is_some() {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        }
        for (name, value) in [
            (CONTENT_TYPE, Some(content_type)),
            (CONTENT_DISPOSITION, disposition),
            (ETAG, Some(etag)),
            (CONTENT_RANGE, place),
        ] {
            let value = value.map(HeaderValue::try_from).transpose();
            let value =
                value.map_err(|_| S3Error::invalid_argument("A response header has an invalid value."))?;
            response.headers_mut().extend(value.map(|value| (name, value)));
        }
        Ok(response)
    }

    /// Uploads the file of a browser's form.
    async fn post(&self, request: &Request<Bytes>, now: Timestamp) -> Result<Response<Bytes>, S3Error> {
        self.path_in_bucket(request.uri().path())?;
        if !self.is_root(request.uri().path()) {
            return Err(S3Error::new(405, "MethodNotAllowed", "A form must be posted to the bucket itself."));
        }
        let form = Form::read(request).await?;
        if names_encryption(form.fields.keys().map(String::as_str)) {
            return Err(other_encryption());
        }
        let policy = STANDARD.decode(verify_form(&form)?).ok();
        let policy = policy.and_then(|json| serde_json::from_slice::<Policy>(&json).ok());
        policy.ok_or_else(S3Error::invalid_policy)?.check(&self.name, &form, now)?;
        let key = form.field("key")?;
        if !is_key(key) {
            return Err(S3Error::invalid_key());
        }
        let content_type = form.fields.get("content-type").map_or(DEFAULT_CONTENT_TYPE, String::as_str);
        let metadata =
            Metadata { content_type: content_type.to_owned(), content_disposition: None, scan: None };
        self.storage.write(key, &metadata, &form.file).await?;
        let etag = etag(&form.file);
        let mut response = Response::new(Bytes::new());
        let is_created = form.fields.get("success_action_status").is_some_and(|status| status == "201");
        *response.status_mut() = if is_created { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
        let redirect = form.fields.get("success_action_redirect").and_then(|url| Url::parse(url).ok());
        if let Some(mut url) = redirect.filter(|url| matches!(url.scheme(), "http" | "https")) {
            let pairs = [("bucket", self.name.as_str()), ("key", key), ("etag", &etag)];
            url.query_pairs_mut().extend_pairs(pairs);
            *response.status_mut() = StatusCode::SEE_OTHER;
            response
                .headers_mut()
                .extend(HeaderValue::try_from(url.as_str()).ok().map(|url| (LOCATION, url)));
        }
        response.headers_mut().extend(HeaderValue::try_from(etag).ok().map(|etag| (ETAG, etag)));
        Ok(response)
    }

    /// Stores an object.
    async fn put(&self, request: &Request<Bytes>, now: Timestamp) -> Result<Response<Bytes>, S3Error> {
        let key = self.key(request.uri().path())?;
        self.admit(request, WRITE, key, now)?;
        let header = |name: &str| header_text(request.headers(), name);
        let content_type = header("content-type").unwrap_or(DEFAULT_CONTENT_TYPE);
        let metadata = Metadata {
            content_type: content_type.to_owned(),
            content_disposition: header("content-disposition").map(str::to_owned),
            scan: None,
        };
        self.storage.write(key, &metadata, request.body()).await?;
        let mut response = Response::new(Bytes::new());
        let etag = HeaderValue::try_from(etag(request.body())).ok();
        response.headers_mut().extend(etag.map(|etag| (ETAG, etag)));
        // What the deployed bucket says. Here, nothing is encrypted.
        response.headers_mut().insert(ENCRYPTION, HeaderValue::from_static("aws:kms"));
        Ok(response)
    }

    /// Copies an object, with new metadata and without tags.
    async fn copy(&self, request: &Request<Bytes>, now: Timestamp) -> Result<Response<Bytes>, S3Error> {
        let key = self.key(request.uri().path())?;
        self.admit(request, WRITE, key, now)?;
        let header = |name: &str| header_text(request.headers(), name).unwrap_or_default();
        if !request.body().is_empty()
            || header("x-amz-metadata-directive") != "REPLACE"
            || header("x-amz-tagging-directive") != "REPLACE"
        {
            let message = "A copy must have new metadata, and not the tags of the source.";
            return Err(S3Error::not_implemented(message));
        }
        let source = header("x-amz-copy-source");
        let source = source.strip_prefix('/').unwrap_or(source).strip_prefix(&self.name);
        let source = source.and_then(|rest| rest.strip_prefix('/')).filter(|key| is_key(key));
        let source = source.ok_or_else(S3Error::invalid_key)?;
        self.admit(request, READ, source, now)?;
        let (_, content) = self.storage.read(source).await?.ok_or_else(|| self.missing(request))?;
        let (etag, expected) = (etag(&content), header("x-amz-copy-source-if-match"));
        if !expected.is_empty() && expected.trim_matches('"') != etag.trim_matches('"') {
            return Err(S3Error::new(412, "PreconditionFailed", "The source's entity tag is different."));
        }
        let content_type = header_text(request.headers(), "content-type").unwrap_or(DEFAULT_CONTENT_TYPE);
        let disposition = header_text(request.headers(), "content-disposition");
        let metadata = Metadata {
            content_type: content_type.to_owned(),
            content_disposition: disposition.map(str::to_owned),
            scan: None,
        };
        self.storage.write(key, &metadata, &content).await?;
        let etag = escaped(&etag);
        Ok(xml(
            StatusCode::OK,
            &format!(
                "<CopyObjectResult><ETag>{etag}</ETag><LastModified>{now:.0}</LastModified></CopyObjectResult>"
            ),
        ))
    }

    /// The part of a path after the bucket's name.
    fn path_in_bucket<'p>(&self, path: &'p str) -> Result<&'p str, S3Error> {
        let rest = path.get(1 + self.name.len()..).filter(|_| self.owns(path));
        rest.ok_or_else(|| S3Error::new(404, "NoSuchBucket", "The bucket does not exist."))
    }

    fn is_root(&self, path: &str) -> bool {
        matches!(self.path_in_bucket(path), Ok("" | "/"))
    }

    fn key<'p>(&self, path: &'p str) -> Result<&'p str, S3Error> {
        let key = self.path_in_bucket(path)?.strip_prefix('/').filter(|key| is_key(key));
        key.ok_or_else(S3Error::invalid_key)
    }
}

/// Whether a request is about an upload in parts.
fn has_upload(request: &Request<Bytes>) -> bool {
    request.uri().query().is_some_and(|query| query.contains("uploadId="))
}

/// Whether a header or a field says how to encrypt the object. The deployed bucket has a key of its own, and the policy in
/// `template.yaml` denies all others.
fn names_encryption<'n>(mut names: impl Iterator<Item = &'n str>) -> bool {
    names.any(|name| name.starts_with(ENCRYPTION))
}

fn other_encryption() -> S3Error {
    S3Error::access_denied("Only the bucket decides how an object is encrypted.")
}
