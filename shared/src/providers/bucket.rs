//! The private S3 bucket of resumes: upload forms and download URLs for browsers, and reading, copying and deleting
//! files. It also keeps what is left of erased candidates. All requests are signed with Signature Version 4. None says how
//! S3 encrypts a file, because that would replace the bucket's own key.

// Not the SDK for S3: it cannot sign upload forms, and would be a second SDK in the binaries for five kinds of requests.

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignatureLocation, SigningSettings,
    UriPathNormalizationMode,
};
use aws_sigv4::sign::v4::{calculate_signature, generate_signing_key};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use jiff::SignedDuration;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{CONTENT_RANGE, ETAG, IF_MATCH};
use reqwest::{RequestBuilder, StatusCode};
use serde_json::json;
use url::Url;

use super::aws_signer::{AwsSigner, ToSign, Unsigned, is_label};
use super::client::{HttpClient, Provider, RequestError, Response};
use crate::clock::{Timestamp, later};

/// The maximum size of an uploaded file, in bytes.
pub const MAX_UPLOAD: usize = 10 * 1024 * 1024;
/// The lifetime of an upload form.
pub const UPLOAD_TIME: SignedDuration = SignedDuration::from_mins(15);
/// The lifetime of a download URL, counted from the start of the current quarter-hour.
const DOWNLOAD_TIME: Duration = Duration::from_hours(1);
const QUARTER: i64 = 15 * 60;
/// The time limit for reading or writing a file.
// Functions that transfer files may run for 29 seconds.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(20);
/// The time limit for storing a large file.
// Only programs of operators do that; functions must be faster.
const LONG_TRANSFER_TIMEOUT: Duration = Duration::from_mins(10);
/// The size limit of a response that is not a file, in bytes.
const MAX_RESPONSE: usize = 64 * 1024;
/// The minimum size of a part of an upload that is not the last, in bytes.
pub const MIN_PART: usize = 5 * 1024 * 1024;
/// The code of S3 for an upload in parts that was never begun, or is over.
const NO_SUCH_UPLOAD: &str = "NoSuchUpload";
/// The maximum number of keys in a list.
const MAX_KEYS: u32 = 100;
const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const SERVICE: &str = "s3";
/// The content type of downloads. Browsers save files of this type instead of displaying them.
const OCTET_STREAM: &str = "application/octet-stream";
const PDF: &str = "application/pdf";
/// The tag in which `GuardDuty` says what it has found.
const SCAN_TAG: &str = "GuardDutyMalwareScanStatus";
/// The characters that stay unescaped in a signed query string.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const INVALID_KEY: BucketError = BucketError::Unsigned("the key is invalid");

/// A bucket, and the credentials to use it.
#[derive(Clone, Debug)]
pub struct Bucket {
    http: HttpClient,
    signer: AwsSigner,
    name: String,
    url: Url,
    /// Whether files can be opened only after a virus scanner has tagged them.
    waits_for_scans: bool,
}

/// What a virus scanner says about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// Nothing yet.
    Pending,
    /// It has found no threat.
    Clean,
    /// It has found a threat.
    Threat,
}

/// A form for one upload.
pub struct UploadForm {
    /// The URL to post to, as `multipart/form-data`.
    pub action: String,
    /// The hidden fields. The file must follow them, in a field called `file`.
    pub fields: Vec<(String, String)>,
    /// The origin of `action`, for the `form-action` directive of a content security policy.
    pub origin: String,
}

/// An object's content.
pub struct Object {
    /// The bytes.
    pub bytes: Bytes,
    /// The entity tag, as in the `ETag` header.
    pub etag: String,
}

/// What is known of an object without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The size in bytes.
    pub size: u64,
    /// The entity tag, as in the `ETag` header.
    pub etag: String,
}

/// How S3 says that it encrypted an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// The algorithm.
    pub algorithm: Option<String>,
    /// The ARN of the key in KMS.
    pub key: Option<String>,
}

/// Why a request to the bucket failed. All requests are idempotent, so they can be repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BucketError {
    /// The request could not be signed, so nothing was sent.
    #[error("the request could not be signed: {0}")]
    Unsigned(&'static str),
    /// The object is larger than allowed.
    #[error("the object is too large")]
    TooLarge,
    /// The object was deleted or has changed since it was read.
    #[error("the object has changed")]
    Changed,
    /// S3 rejected the request with this error code.
    #[error("S3 rejected the request: {0}")]
    Refused(String),
    /// S3 gave no usable response.
    #[error("S3 gave no usable response: {0}")]
    Unavailable(&'static str),
}

impl From<Unsigned> for BucketError {
    fn from(Unsigned(reason): Unsigned) -> Self {
        Self::Unsigned(reason)
    }
}

impl Bucket {
    /// Creates a client for the bucket `name` in `region`. If `endpoint` is set, the URLs are path-style. Fails if a
    /// setting is invalid.
    pub fn new(
        http: HttpClient,
        credentials: SharedCredentialsProvider,
        name: &str,
        region: &str,
        endpoint: Option<&str>,
    ) -> Result<Self, String> {
        if !is_label(name) {
            return Err("a bucket's name may have only lower-case letters, digits and hyphens".to_owned());
        }
        let signer = AwsSigner::new(credentials, region, SERVICE)?;
        let url = match endpoint.map(|endpoint| endpoint.trim_end_matches('/')) {
            Some(endpoint) => format!("{endpoint}/{name}"),
            None => format!("https://{name}.{}", signer.host()),
        };
        // The request must use exactly the signed URL, so parsing must not change it.
        let is_unchanged = |parsed: &Url| parsed.as_str().trim_end_matches('/') == url;
        match Url::parse(&url) {
            Ok(parsed) if matches!(parsed.scheme(), "http" | "https") && is_unchanged(&parsed) => {
                let (http, name) = (http.of(Provider::Bucket), name.to_owned());
                Ok(Self { http, signer, name, url: parsed, waits_for_scans: false })
            }
            _ => Err("a bucket's endpoint must be an http or https URL without a query".to_owned()),
        }
    }

    /// The same bucket, whose files can be opened only after a virus scanner has tagged them.
    #[must_use]
    pub fn waiting_for_scans(self, waits_for_scans: bool) -> Self {
        Self { waits_for_scans, ..self }
    }

    /// Whether files can be opened only after a virus scanner has tagged them.
    pub const fn waits_for_scans(&self) -> bool {
        self.waits_for_scans
    }

    /// Creates a form that uploads a file of 1 byte to 10 MiB to `key` within 15 minutes and then redirects to `redirect`. S3
    /// adds the parameters `bucket`, `key` and `etag` to the redirect URL.
    pub async fn upload_form(
        &self,
        key: &str,
        redirect: &str,
        now: Timestamp,
    ) -> Result<UploadForm, BucketError> {
        let result = ("success_action_redirect".to_owned(), redirect.to_owned());
        self.form(key, result, [1, MAX_UPLOAD as u64], later(now, UPLOAD_TIME), now).await
    }

    /// Creates a form with which a program uploads a file of `least` to `most` bytes to `key` before `until`. S3 answers with
    /// 201.
    pub async fn upload_ticket(
        &self,
        key: &str,
        [least, most]: [u64; 2],
        until: Timestamp,
        now: Timestamp,
    ) -> Result<UploadForm, BucketError> {
        let result = ("success_action_status".to_owned(), "201".to_owned());
        self.form(key, result, [least, most], until, now).await
    }

    /// Like [`Self::upload_ticket`], for a browser and a file of at most `most` bytes: S3 redirects to `redirect`, as after [`Self::upload_form`].
    pub async fn import_form(
        &self,
        key: &str,
        most: u64,
        redirect: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<UploadForm, BucketError> {
        let result = ("success_action_redirect".to_owned(), redirect.to_owned());
        self.form(key, result, [1, most], until, now).await
    }

    async fn form(
        &self,
        key: &str,
        result: (String, String),
        [least, most]: [u64; 2],
        until: Timestamp,
        now: Timestamp,
    ) -> Result<UploadForm, BucketError> {
        if !is_key(key) {
            return Err(INVALID_KEY);
        }
        let credentials = self.signer.credentials().await?;
        let (day, region) = (now.strftime("%Y%m%d"), self.signer.region());
        let scope = format!("{}/{day}/{region}/{SERVICE}/aws4_request", credentials.access_key_id());
        let mut fields = vec![
            ("key".to_owned(), key.to_owned()),
            result,
            ("x-amz-algorithm".to_owned(), ALGORITHM.to_owned()),
            ("x-amz-credential".to_owned(), scope),
            ("x-amz-date".to_owned(), now.strftime("%Y%m%dT%H%M%SZ").to_string()),
        ];
        fields.extend(
            credentials.session_token().map(|token| ("x-amz-security-token".to_owned(), token.to_owned())),
        );
        let mut conditions =
            vec![json!({ "bucket": self.name }), json!(["content-length-range", least, most])];
        conditions.extend(fields.iter().map(|(name, value)| json!({ name: value })));
        let expiration = until.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let policy =
            STANDARD.encode(json!({ "expiration": expiration, "conditions": conditions }).to_string());
        let signature = signature(&credentials, region, &policy, now);
        fields.extend([("policy".to_owned(), policy), ("x-amz-signature".to_owned(), signature)]);
        Ok(UploadForm { action: self.url.to_string(), fields, origin: self.origin() })
    }

    /// Creates a URL that downloads `key` as a file called `file_name`. Browsers save this file instead of showing it.
    /// The URL is valid for 45 to 60 minutes and does not change within a quarter-hour, unless the credentials change.
    pub async fn download_url(
        &self,
        key: &str,
        file_name: &str,
        now: Timestamp,
    ) -> Result<String, BucketError> {
        self.signed_url(key, &attachment(file_name), OCTET_STREAM, now).await
    }

    /// Creates a URL that displays the PDF at `key` in a browser. It is valid as long as a download URL.
    pub async fn preview_url(&self, key: &str, now: Timestamp) -> Result<String, BucketError> {
        self.signed_url(key, "inline", PDF, now).await
    }

    /// The origin of the bucket's URLs, for a content security policy.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    async fn signed_url(
        &self,
        key: &str,
        disposition: &str,
        media_type: &str,
        now: Timestamp,
    ) -> Result<String, BucketError> {
        let encoded = |text: &str| utf8_percent_encode(text, &UNRESERVED).to_string();
        let (disposition, media_type) = (encoded(disposition), encoded(media_type));
        let url = format!(
            "{}?response-content-disposition={disposition}&response-content-type={media_type}",
            self.object_url(key)?
        );
        let start = now.as_second().div_euclid(QUARTER) * QUARTER;
        let start = Timestamp::from_second(start).unwrap_or(now);
        let mut settings = settings();
        settings.signature_location = SignatureLocation::QueryParams;
        settings.expires_in = Some(DOWNLOAD_TIME);
        let to_sign = ToSign { method: "GET", url: &url, headers: &[], body: SignableBody::UnsignedPayload };
        let signed = self.signer.sign(to_sign, settings, start).await?;
        let parameters = signed.params().iter().map(|(name, value)| format!("&{name}={}", encoded(value)));
        Ok(parameters.fold(url, |url, parameter| url + &parameter))
    }

    /// Reads the object at `key`. Returns `None` if it does not exist, and `TooLarge` if it has more than `limit`
    /// bytes.
    pub async fn read(&self, key: &str, limit: usize, now: Timestamp) -> Result<Option<Object>, BucketError> {
        let url = self.object_url(key)?;
        let request = self.http.get(&url).timeout(TRANSFER_TIMEOUT);
        let request = self.signed("GET", &url, request, &[], now).await?;
        let response = match self.http.send_up_to(request, limit.max(MAX_RESPONSE)).await {
            Err(RequestError::TooLong) => return Err(BucketError::TooLarge),
            response => response.map_err(unavailable)?,
        };
        match (response.status, error_code(&response)) {
            (StatusCode::OK, _) if response.body.len() > limit => Err(BucketError::TooLarge),
            (StatusCode::OK, _) => {
                let etag = etag_of(&response)?;
                Ok(Some(Object { bytes: response.body, etag }))
            }
            (StatusCode::NOT_FOUND, Some("NoSuchKey")) => Ok(None),
            _ => Err(bucket_error(&response)),
        }
    }

    /// Whether there is an object at `key`.
    pub async fn has(&self, key: &str, now: Timestamp) -> Result<bool, BucketError> {
        Ok(self.get_range(key, 0, 1, None, now).await?.is_some())
    }

    /// Looks at the object at `key`, which is not empty. Returns `None` if it does not exist.
    pub async fn find(&self, key: &str, now: Timestamp) -> Result<Option<Found>, BucketError> {
        let Some(response) = self.get_range(key, 0, 1, None, now).await? else { return Ok(None) };
        let range =
            response.headers.get(CONTENT_RANGE).and_then(|range| str::from_utf8(range.as_bytes()).ok());
        let size = range.and_then(|range| range.rsplit_once('/')?.1.parse().ok());
        let size = size.ok_or(BucketError::Unavailable("it had no size"))?;
        Ok(Some(Found { size, etag: etag_of(&response)? }))
    }

    /// Reads at most `length` bytes of the object at `key`, from `start` on: none beyond its end. Returns `None` if the object
    /// does not exist, and `Changed` if its entity tag is not this one any more.
    pub async fn read_range(
        &self,
        key: &str,
        start: u64,
        length: usize,
        etag: Option<&str>,
        now: Timestamp,
    ) -> Result<Option<Bytes>, BucketError> {
        let found = self.get_range(key, start, length, etag, now).await?;
        let is_beyond = |response: &Response| response.status == StatusCode::RANGE_NOT_SATISFIABLE;
        Ok(found.map(|response| if is_beyond(&response) { Bytes::new() } else { response.body }))
    }

    async fn get_range(
        &self,
        key: &str,
        start: u64,
        length: usize,
        etag: Option<&str>,
        now: Timestamp,
    ) -> Result<Option<Response>, BucketError> {
        let url = self.object_url(key)?;
        let range = format!("bytes={start}-{}", start + (length as u64).saturating_sub(1));
        let headers: Vec<_> = etag
            .map(|etag| (IF_MATCH.as_str(), etag))
            .into_iter()
            .chain([("range", range.as_str())])
            .collect();
        let request = self.http.get(&url).timeout(TRANSFER_TIMEOUT);
        let request = self.signed("GET", &url, request, &headers, now).await?;
        let response = self.http.send_up_to(request, length.max(MAX_RESPONSE)).await.map_err(unavailable)?;
        match (response.status, error_code(&response)) {
            (StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE, _) => Ok(Some(response)),
            (StatusCode::NOT_FOUND, Some("NoSuchKey")) => Ok(None),
            _ => Err(bucket_error(&response)),
        }
    }

    /// Copies the object at `from` to `to` if its entity tag is still `etag`. Returns `Changed` if it is not. The copy
    /// has this media type and is an attachment, so browsers do not display it.
    pub async fn keep(
        &self,
        from: &str,
        to: &str,
        etag: &str,
        media_type: &str,
        now: Timestamp,
    ) -> Result<(), BucketError> {
        if !is_key(from) {
            return Err(INVALID_KEY);
        }
        let (url, source) = (self.object_url(to)?, format!("{}/{from}", self.name));
        let headers = [
            ("content-disposition", "attachment"),
            ("content-length", "0"),
            ("content-type", media_type),
            ("x-amz-copy-source", &source),
            ("x-amz-copy-source-if-match", etag),
            ("x-amz-metadata-directive", "REPLACE"),
            // A copy with the tags of a malware scan would need permissions for tags. It is scanned on its own.
            ("x-amz-tagging-directive", "REPLACE"),
        ];
        let request = self.signed("PUT", &url, self.http.put(&url), &headers, now).await?;
        let response = self.http.send_up_to(request, MAX_RESPONSE).await.map_err(unavailable)?;
        // S3 may send status 200 before it has copied the object, so only the body shows the result.
        let copied = String::from_utf8_lossy(&response.body).contains("<CopyObjectResult");
        if response.status == StatusCode::OK && copied { Ok(()) } else { Err(bucket_error(&response)) }
    }

    /// Stores an object with this content, in place of any object with the same key.
    pub async fn write(
        &self,
        key: &str,
        content: Vec<u8>,
        media_type: &str,
        now: Timestamp,
    ) -> Result<(), BucketError> {
        self.put(key, content.into(), &[("content-type", media_type)], TRANSFER_TIMEOUT, now).await.map(drop)
    }

    /// Stores an object like [`Self::write`], for a program that may take ten minutes.
    pub async fn write_large(
        &self,
        key: &str,
        content: Vec<u8>,
        media_type: &str,
        now: Timestamp,
    ) -> Result<(), BucketError> {
        let headers = [("content-type", media_type)];
        self.put(key, content.into(), &headers, LONG_TRANSFER_TIMEOUT, now).await.map(drop)
    }

    /// Stores an object with this content and media type, as an attachment, so browsers do not display it.
    pub async fn write_attachment(
        &self,
        key: &str,
        content: Bytes,
        media_type: &str,
        now: Timestamp,
    ) -> Result<(), BucketError> {
        let headers = [("content-disposition", "attachment"), ("content-type", media_type)];
        self.put(key, content, &headers, TRANSFER_TIMEOUT, now).await.map(drop)
    }

    /// Begins the upload of a large object in parts, as an attachment. Returns the identifier of the upload.
    pub async fn begin_upload(
        &self,
        key: &str,
        media_type: &str,
        now: Timestamp,
    ) -> Result<String, BucketError> {
        let url = format!("{}?uploads=", self.object_url(key)?);
        let headers =
            [("content-disposition", "attachment"), ("content-length", "0"), ("content-type", media_type)];
        let request = self.signed("POST", &url, self.http.post(&url), &headers, now).await?;
        let response = self.http.send_up_to(request, MAX_RESPONSE).await.map_err(unavailable)?;
        let begun = String::from_utf8_lossy(&response.body);
        let id = begun.split_once("<UploadId>").and_then(|(_, rest)| rest.split_once("</UploadId>"));
        match id {
            Some((id, _)) if response.status == StatusCode::OK => Ok(id.to_owned()),
            _ => Err(bucket_error(&response)),
        }
    }

    /// Uploads a part of an object, in place of any part with the same number, which counts from 1. All parts but the last have at
    /// least [`MIN_PART`] bytes. Returns the part's entity tag.
    pub async fn upload_part(
        &self,
        key: &str,
        upload: &str,
        number: usize,
        content: Bytes,
        now: Timestamp,
    ) -> Result<String, BucketError> {
        let upload = utf8_percent_encode(upload, &UNRESERVED);
        let url = format!("{}?partNumber={number}&uploadId={upload}", self.object_url(key)?);
        let response = self.put_to(&url, content, &[], TRANSFER_TIMEOUT, now).await?;
        etag_of(&response)
    }

    /// Makes an object of the parts with these entity tags. An upload that was finished stays so.
    pub async fn finish_upload(
        &self,
        key: &str,
        upload: &str,
        etags: &[String],
        now: Timestamp,
    ) -> Result<(), BucketError> {
        let url = format!("{}?uploadId={}", self.object_url(key)?, utf8_percent_encode(upload, &UNRESERVED));
        let parts = etags.iter().zip(1..).map(|(etag, number)| {
            // Quotes are the only characters of entity tags that XML would escape, and in texts it need not.
            format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>")
        });
        let body =
            format!("<CompleteMultipartUpload>{}</CompleteMultipartUpload>", parts.collect::<String>());
        let body = Bytes::from(body);
        let headers = [("content-type", "application/xml")];
        let to_sign =
            ToSign { method: "POST", url: &url, headers: &headers, body: SignableBody::Bytes(&body) };
        let request = self.http.post(&url).timeout(TRANSFER_TIMEOUT);
        let request = self.signer.add_to(request, to_sign, settings(), now).await?;
        let response =
            self.http.send_up_to(request.body(body.clone()), MAX_RESPONSE).await.map_err(unavailable)?;
        // S3 may send status 200 before it has made the object, so only the body shows the result.
        let is_made = String::from_utf8_lossy(&response.body).contains("<CompleteMultipartUploadResult");
        if response.status == StatusCode::OK && is_made {
            return Ok(());
        }
        // A killed run may have finished it.
        if error_code(&response) == Some(NO_SUCH_UPLOAD) && self.has(key, now).await? {
            return Ok(());
        }
        Err(bucket_error(&response))
    }

    /// Gives up an upload in parts, if there is one, and deletes its parts.
    pub async fn abort_upload(&self, key: &str, upload: &str, now: Timestamp) -> Result<(), BucketError> {
        let url = format!("{}?uploadId={}", self.object_url(key)?, utf8_percent_encode(upload, &UNRESERVED));
        let request = self.signed("DELETE", &url, self.http.delete(&url), &[], now).await?;
        let response = self.http.send_up_to(request, MAX_RESPONSE).await.map_err(unavailable)?;
        match (response.status, error_code(&response)) {
            (StatusCode::NO_CONTENT, _) | (_, Some(NO_SUCH_UPLOAD)) => Ok(()),
            _ => Err(bucket_error(&response)),
        }
    }

    /// Stores an object, deletes it, and returns how S3 encrypted it.
    pub async fn try_encryption(&self, key: &str, now: Timestamp) -> Result<Encryption, BucketError> {
        let stored = self.put(key, Bytes::from_static(b"smoke"), &[], TRANSFER_TIMEOUT, now).await?;
        self.delete(key, now).await?;
        let value = |name: &str| str::from_utf8(stored.headers.get(name)?.as_bytes()).ok().map(str::to_owned);
        let algorithm = value("x-amz-server-side-encryption");
        Ok(Encryption { algorithm, key: value("x-amz-server-side-encryption-aws-kms-key-id") })
    }

    async fn put(
        &self,
        key: &str,
        content: Bytes,
        headers: &[(&str, &str)],
        timeout: Duration,
        now: Timestamp,
    ) -> Result<Response, BucketError> {
        self.put_to(&self.object_url(key)?, content, headers, timeout, now).await
    }

    async fn put_to(
        &self,
        url: &str,
        content: Bytes,
        headers: &[(&str, &str)],
        timeout: Duration,
        now: Timestamp,
    ) -> Result<Response, BucketError> {
        let to_sign = ToSign { method: "PUT", url, headers, body: SignableBody::Bytes(&content) };
        let request = self.http.put(url).timeout(timeout);
        let request = self.signer.add_to(request, to_sign, settings(), now).await?;
        let response =
            self.http.send_up_to(request.body(content.clone()), MAX_RESPONSE).await.map_err(unavailable)?;
        if response.status == StatusCode::OK { Ok(response) } else { Err(bucket_error(&response)) }
    }

    /// Reads what a virus scanner has found in an object: `GuardDuty` Malware Protection for S3 tags objects.
    pub async fn scan(&self, key: &str, now: Timestamp) -> Result<Scan, BucketError> {
        let url = format!("{}?tagging=", self.object_url(key)?);
        let request = self.signed("GET", &url, self.http.get(&url), &[], now).await?;
        let response = self.http.send_up_to(request, MAX_RESPONSE).await.map_err(unavailable)?;
        let tags = String::from_utf8_lossy(&response.body);
        if response.status != StatusCode::OK || !tags.contains("<Tagging") {
            return Err(bucket_error(&response));
        }
        let value = tags.split_once(&format!("<Key>{SCAN_TAG}</Key>")).and_then(|(_, rest)| {
            let (value, _) = rest.split_once("<Value>")?.1.split_once("</Value>")?;
            Some(value)
        });
        Ok(match value {
            Some("NO_THREATS_FOUND") => Scan::Clean,
            Some("THREATS_FOUND") => Scan::Threat,
            // What could not be scanned (UNSUPPORTED, ACCESS_DENIED, FAILED) can't be opened either.
            _ => Scan::Pending,
        })
    }

    /// Lists the first keys that begin with `prefix` and sort after `after`: up to 100, in their order.
    pub async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<String>, BucketError> {
        let url = self.url.as_str().trim_end_matches('/');
        let prefix = utf8_percent_encode(prefix, &UNRESERVED);
        let after = after.map(|after| format!("&start-after={}", utf8_percent_encode(after, &UNRESERVED)));
        let after = after.unwrap_or_default();
        let url = format!("{url}/?list-type=2&max-keys={MAX_KEYS}&prefix={prefix}{after}");
        let request = self.signed("GET", &url, self.http.get(&url), &[], now).await?;
        let response = self.http.send(request).await.map_err(unavailable)?;
        if response.status != StatusCode::OK {
            return Err(bucket_error(&response));
        }
        let list = String::from_utf8_lossy(&response.body);
        if !list.contains("<ListBucketResult") {
            return Err(BucketError::Unavailable("it was not a list"));
        }
        // The service's own keys contain no characters that XML escapes.
        let keys = list.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next());
        Ok(keys.filter(|key| is_key(key)).map(str::to_owned).collect())
    }

    /// Deletes an object, if it exists.
    pub async fn delete(&self, key: &str, now: Timestamp) -> Result<(), BucketError> {
        let url = self.object_url(key)?;
        let request = self.signed("DELETE", &url, self.http.delete(&url), &[], now).await?;
        let response = self.http.send_up_to(request, MAX_RESPONSE).await.map_err(unavailable)?;
        if response.status == StatusCode::NO_CONTENT { Ok(()) } else { Err(bucket_error(&response)) }
    }

    fn object_url(&self, key: &str) -> Result<String, BucketError> {
        let url = self.url.as_str().trim_end_matches('/');
        if is_key(key) { Ok(format!("{url}/{key}")) } else { Err(INVALID_KEY) }
    }

    /// Adds `headers` and the signature's headers to a request without a body.
    async fn signed(
        &self,
        method: &str,
        url: &str,
        request: RequestBuilder,
        headers: &[(&str, &str)],
        now: Timestamp,
    ) -> Result<RequestBuilder, BucketError> {
        let to_sign = ToSign { method, url, headers, body: SignableBody::empty() };
        Ok(self.signer.add_to(request, to_sign, settings(), now).await?)
    }
}

/// The signing settings for S3: paths are signed unchanged, and the body's hash is a header.
fn settings() -> SigningSettings {
    let mut settings = SigningSettings::default();
    settings.percent_encoding_mode = PercentEncodingMode::Single;
    settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    settings
}

/// The signature of a form's policy.
fn signature(credentials: &Credentials, region: &str, policy: &str, now: Timestamp) -> String {
    let secret = credentials.secret_access_key();
    let key = generate_signing_key(secret, SystemTime::from(*now), region, SERVICE);
    calculate_signature(key, policy.as_bytes())
}

/// Whether an object can have this key: at most 1,024 letters, digits, hyphens, dots, underscores and slashes, and no
/// segment that is empty or begins with a dot. Such a key needs no escaping in a URL, in a form (where S3 replaces
/// `${}`) or in a file path.
pub fn is_key(key: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_segment =
        |segment: &str| !segment.is_empty() && !segment.starts_with('.') && segment.bytes().all(is_plain);
    key.len() <= 1024 && key.split('/').all(is_segment)
}

/// A `Content-Disposition` that saves a file under a safe variant of its name (RFC 6266).
fn attachment(file_name: &str) -> String {
    let is_unsafe = |c: char| {
        // Characters with a meaning in paths, and characters that change the writing direction, so that `fdp.exe` looks
        // like `exe.pdf`.
        c.is_control()
            || "/\\:*?\"<>|".contains(c)
            || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}')
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let name: String = file_name.chars().map(|c| if is_unsafe(c) { '_' } else { c }).collect();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    let stem: String = stem.trim_start_matches(['.', ' ']).chars().take(80).collect();
    let extension: String = extension.chars().take(10).collect();
    let stem = if stem.is_empty() { "file" } else { &stem };
    let name = format!("{stem}.{extension}");
    let name = name.trim_end_matches(['.', ' ']);
    // Some browsers treat a percent sign as the start of an escape.
    let ascii = name.replace(|c: char| !c.is_ascii() || c == '%', "_");
    let plain = format!("attachment; filename=\"{ascii}\"");
    if ascii == name {
        plain
    } else {
        format!("{plain}; filename*=UTF-8''{}", utf8_percent_encode(name, &UNRESERVED))
    }
}

/// The error code in the body of an error response.
fn error_code(response: &Response) -> Option<&str> {
    let body = std::str::from_utf8(&response.body).ok()?;
    let (code, _) = body.split_once("<Error>")?.1.split_once("<Code>")?.1.split_once("</Code>")?;
    let is_word = (1..=64).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word.then_some(code)
}

/// The entity tag of the object of a response.
fn etag_of(response: &Response) -> Result<String, BucketError> {
    let etag = response.headers.get(ETAG).and_then(|etag| str::from_utf8(etag.as_bytes()).ok());
    etag.map(str::to_owned).ok_or(BucketError::Unavailable("it had no entity tag"))
}

fn bucket_error(response: &Response) -> BucketError {
    match (response.status.as_u16(), error_code(response)) {
        (412, _) | (_, Some("NoSuchKey" | "PreconditionFailed" | NO_SUCH_UPLOAD | "InvalidPart")) => {
            BucketError::Changed
        }
        (429 | 500.., _) | (_, Some("InternalError" | "SlowDown")) => {
            BucketError::Unavailable("S3 is overloaded or failing")
        }
        (200 | 400..500, Some(code)) => BucketError::Refused(code.to_owned()),
        (400..500, None) => BucketError::Refused(response.status.as_str().to_owned()),
        _ => BucketError::Unavailable("its status was unexpected"),
    }
}

fn unavailable(error: RequestError) -> BucketError {
    BucketError::Unavailable(match error {
        RequestError::Unreached => "S3 could not be reached",
        RequestError::Lost => "it was incomplete or too late",
        RequestError::TooLong => "it was too long",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::test_server::{NOWHERE, Play, Request, TestServer};
    use aws_credential_types::provider::ProvideCredentials;
    use aws_credential_types::provider::error::CredentialsError;
    use aws_credential_types::provider::future::ProvideCredentials as Provided;
    use proptest::prelude::*;
    use serde_json::Value;
    use std::sync::LazyLock;

    const NOW: Timestamp = Timestamp::constant(1_795_178_096, 0);
    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    const TOKEN: &str = "IQoJb3JpZ2luX2VjEA//token+with/odd=chars==";
    const KEY: &str = "incoming/01-Ab_c.x";
    const COPIED: &str =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<CopyObjectResult><ETag>\"e\"</ETag></CopyObjectResult>";

    /// A provider without credentials.
    #[derive(Debug)]
    struct NoCredentials;

    impl ProvideCredentials for NoCredentials {
        fn provide_credentials<'a>(&'a self) -> Provided<'a>
        where
            Self: 'a,
        {
            Provided::ready(Err(CredentialsError::not_loaded("none")))
        }
    }

    fn credentials(token: Option<&str>) -> Credentials {
        let id = if token.is_some() { "ASIAIOSFODNN7EXAMPLE" } else { "AKIAIOSFODNN7EXAMPLE" };
        Credentials::new(id, SECRET, token.map(str::to_owned), None, "test")
    }

    fn new_bucket(
        name: &str,
        region: &str,
        endpoint: Option<&str>,
        token: Option<&str>,
    ) -> Result<Bucket, String> {
        let credentials = SharedCredentialsProvider::new(credentials(token));
        Bucket::new(HttpClient::new().unwrap(), credentials, name, region, endpoint)
    }

    fn bucket(endpoint: Option<&str>, token: Option<&str>) -> Bucket {
        new_bucket("rolecall-resumes", "eu-central-1", endpoint, token).unwrap()
    }

    fn error(code: &str) -> String {
        format!("<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>No.</Message></Error>")
    }

    fn xml(status: u16, body: &str) -> Play {
        Play::response(status, "content-type: application/xml\r\netag: \"e\"\r\n", body)
    }

    async fn read(play: &Play, limit: usize) -> Result<Option<(Bytes, String)>, BucketError> {
        let test_server = TestServer::playing(play).await;
        let object = bucket(Some(&test_server.url), Some(TOKEN)).read(KEY, limit, NOW).await;
        let request = test_server.request();
        assert_eq!(request.line, "GET /rolecall-resumes/incoming/01-Ab_c.x HTTP/1.1");
        assert_is_signed(&request, "host;x-amz-content-sha256;x-amz-date;x-amz-security-token");
        object.map(|object| object.map(|object| (object.bytes, object.etag)))
    }

    async fn keep(play: &Play) -> Result<(), BucketError> {
        let test_server = TestServer::playing(play).await;
        let bucket = bucket(Some(&test_server.url), Some(TOKEN));
        let kept = bucket.keep(KEY, "resumes/7", "\"e\"", "application/pdf", NOW).await;
        let request = test_server.request();
        assert_eq!(request.line, "PUT /rolecall-resumes/resumes/7 HTTP/1.1");
        for (name, value) in [
            ("content-disposition", "attachment"),
            ("content-length", "0"),
            ("content-type", "application/pdf"),
            ("x-amz-copy-source", "rolecall-resumes/incoming/01-Ab_c.x"),
            ("x-amz-copy-source-if-match", "\"e\""),
            ("x-amz-metadata-directive", "REPLACE"),
            ("x-amz-tagging-directive", "REPLACE"),
        ] {
            assert_eq!(request.header(name), value, "{name}");
        }
        assert_is_signed(
            &request,
            "content-disposition;content-length;content-type;host;x-amz-content-sha256;x-amz-copy-source;\
             x-amz-copy-source-if-match;x-amz-date;x-amz-metadata-directive;x-amz-security-token;\
             x-amz-tagging-directive",
        );
        kept
    }

    fn assert_is_signed(request: &Request, headers: &str) {
        let beginning = format!(
            "AWS4-HMAC-SHA256 Credential=ASIAIOSFODNN7EXAMPLE/20261120/eu-central-1/s3/aws4_request, \
             SignedHeaders={headers}, Signature="
        );
        assert!(
            request.header("authorization").starts_with(&beginning),
            "{}",
            request.header("authorization")
        );
        assert_eq!(request.header("x-amz-date"), "20261120T123456Z");
        assert_eq!(request.header("x-amz-security-token"), TOKEN);
        assert_eq!(request.body, "");
    }

    #[test]
    fn a_policy_has_the_same_signature_as_in_the_example_from_aws() {
        let lines = [
            r#"{ "expiration": "2015-12-30T12:00:00.000Z","#,
            r#"  "conditions": ["#,
            r#"    {"bucket": "sigv4examplebucket"},"#,
            r#"    ["starts-with", "$key", "user/user1/"],"#,
            r#"    {"acl": "public-read"},"#,
            r#"    {"success_action_redirect": "http://sigv4examplebucket.s3.amazonaws.com/successful_upload.html"},"#,
            r#"    ["starts-with", "$Content-Type", "image/"],"#,
            r#"    {"x-amz-meta-uuid": "14365123651274"},"#,
            r#"    {"x-amz-server-side-encryption": "AES256"},"#,
            r#"    ["starts-with", "$x-amz-meta-tag", ""],"#,
            "",
            r#"    {"x-amz-credential": "AKIAIOSFODNN7EXAMPLE/20151229/us-east-1/s3/aws4_request"},"#,
            r#"    {"x-amz-algorithm": "AWS4-HMAC-SHA256"},"#,
            r#"    {"x-amz-date": "20151229T000000Z" }"#,
            "  ]",
            "}",
        ];
        let (policy, then) = (STANDARD.encode(lines.join("\r\n")), "2015-12-29T00:00:00Z".parse().unwrap());
        assert_eq!(
            signature(&credentials(None), "us-east-1", &policy, then),
            "8afdbf4008c03f22c2cd3cdb72e4afbb1f6a588f3255ac628749a66d7f09699e"
        );
    }

    #[tokio::test]
    async fn a_forms_policy_covers_exactly_its_fields() {
        let redirect = "https://jobs.example/careers/acme/received?t=a&u=\"ü\"";
        for token in [None, Some(TOKEN)] {
            let form = bucket(None, token).upload_form(KEY, redirect, NOW).await.ok().unwrap();
            assert_eq!(form.action, "https://rolecall-resumes.s3.eu-central-1.amazonaws.com/");
            assert_eq!(form.origin, "https://rolecall-resumes.s3.eu-central-1.amazonaws.com");
            let id = credentials(token).access_key_id().to_owned();
            let mut fields = vec![
                ("key", KEY.to_owned()),
                ("success_action_redirect", redirect.to_owned()),
                ("x-amz-algorithm", "AWS4-HMAC-SHA256".to_owned()),
                ("x-amz-credential", format!("{id}/20261120/eu-central-1/s3/aws4_request")),
                ("x-amz-date", "20261120T123456Z".to_owned()),
            ];
            fields.extend(token.map(|token| ("x-amz-security-token", token.to_owned())));
            let mut conditions =
                vec![json!({"bucket": "rolecall-resumes"}), json!(["content-length-range", 1, 10_485_760])];
            conditions.extend(fields.iter().map(|(name, value)| json!({*name: value})));
            let policy = &form.fields[fields.len()].1;
            let decoded: Value = serde_json::from_slice(&STANDARD.decode(policy).unwrap()).unwrap();
            assert_eq!(decoded, json!({"expiration": "2026-11-20T12:49:56Z", "conditions": conditions}));
            let signed = signature(&credentials(token), "eu-central-1", policy, NOW);
            fields.extend([("policy", policy.clone()), ("x-amz-signature", signed)]);
            let fields: Vec<_> = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            assert_eq!(form.fields, fields);
        }
        let local =
            bucket(Some("http://127.0.0.1:3000/"), None).upload_form(KEY, redirect, NOW).await.ok().unwrap();
        let expected = ("http://127.0.0.1:3000/rolecall-resumes", "http://127.0.0.1:3000");
        assert_eq!((local.action.as_str(), local.origin.as_str()), expected);
    }

    /// The expected signatures come from AWS's SDK for Python.
    #[tokio::test]
    async fn a_download_url_has_the_same_signature_as_from_the_aws_sdk() {
        let ada = "attachment%3B%20filename%3D%22Ada%20Lovelace.pdf%22";
        let zoe = "attachment%3B%20filename%3D%22Zo_%20O%27Neil%3B%20_x_%20100_.docx%22%3B%20filename%2A%3DUTF-8%27%27\
            Zo%25C3%25AB%2520O%2527Neil%253B%2520_x_%2520100%2525.docx";
        let token = "&X-Amz-Security-Token=IQoJb3JpZ2luX2VjEA%2F%2Ftoken%2Bwith%2Fodd%3Dchars%3D%3D";
        for (session_token, id, token, name, disposition, signature) in [
            (
                None,
                "AKIA",
                "",
                "Ada Lovelace.pdf",
                ada,
                "9a419ea3e83212a26646db8e99bdffb0bfb1d4ccd81a9573bb2866a863312434",
            ),
            (
                Some(TOKEN),
                "ASIA",
                token,
                "Zoë O'Neil; \"x\" 100%.docx",
                zoe,
                "f9d4a4d5fb251fd596dba2d22779789343a4f277b922b2a337751f685b404123",
            ),
        ] {
            let url = bucket(None, session_token).download_url(KEY, name, NOW).await.unwrap();
            assert_eq!(
                url,
                format!(
                    "https://rolecall-resumes.s3.eu-central-1.amazonaws.com/incoming/01-Ab_c.x\
                 ?response-content-disposition={disposition}&response-content-type=application%2Foctet-stream\
                 &X-Amz-Algorithm=AWS4-HMAC-SHA256\
                 &X-Amz-Credential={id}IOSFODNN7EXAMPLE%2F20261120%2Feu-central-1%2Fs3%2Faws4_request\
                 &X-Amz-Date=20261120T123000Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host\
                 &X-Amz-Signature={signature}{token}"
                )
            );
        }
    }

    #[tokio::test]
    async fn an_object_is_read_completely_or_not_at_all() {
        let found = Ok(Some((Bytes::from_static(b"hello"), "\"e\"".to_owned())));
        assert_eq!(read(&xml(200, "hello"), 5).await, found);
        assert_eq!(read(&xml(200, "hello!"), 5).await, Err(BucketError::TooLarge));
        assert_eq!(read(&Play::long(200, ""), 5).await, Err(BucketError::TooLarge));
        let long = Play::response(200, "etag: \"e\"\r\n", &" ".repeat(2 << 20));
        assert_eq!(read(&long, 2 << 20).await.map(|object| object.unwrap().0.len()), Ok(2 << 20));
        assert_eq!(read(&xml(404, &error("NoSuchKey")), 5).await, Ok(None));
        let without_etag = BucketError::Unavailable("it had no entity tag");
        assert_eq!(read(&Play::html(200), 500).await, Err(without_etag));
    }

    #[tokio::test]
    async fn a_part_of_an_object_is_read_only_if_unchanged() {
        let part = Play::response(206, "etag: \"e\"\r\ncontent-range: bytes 0-0/7\r\n", "h");
        for (play, expected) in [
            (part.clone(), Ok(Some(Bytes::from_static(b"h")))),
            (xml(416, &error("InvalidRange")), Ok(Some(Bytes::new()))),
            (xml(404, &error("NoSuchKey")), Ok(None)),
            (xml(412, &error("PreconditionFailed")), Err(BucketError::Changed)),
        ] {
            let test_server = TestServer::playing(&play).await;
            let client = bucket(Some(&test_server.url), None);
            assert_eq!(client.read_range(KEY, 0, 1, Some("\"e\""), NOW).await, expected);
            let request = test_server.request();
            assert_eq!((request.header("range"), request.header("if-match")), ("bytes=0-0", "\"e\""));
        }
        let test_server = TestServer::playing(&part).await;
        let found = bucket(Some(&test_server.url), None).find(KEY, NOW).await;
        assert_eq!(found, Ok(Some(Found { size: 7, etag: "\"e\"".to_owned() })));
    }

    #[tokio::test]
    async fn an_object_is_copied_only_if_unchanged() {
        assert_eq!(keep(&xml(200, COPIED)).await, Ok(()));
        for (status, body) in [
            (412, error("PreconditionFailed")),
            (200, error("PreconditionFailed")),
            (412, String::new()),
            (404, error("NoSuchKey")),
        ] {
            assert_eq!(keep(&xml(status, &body)).await, Err(BucketError::Changed), "{status} {body}");
        }
        let busy = BucketError::Unavailable("S3 is overloaded or failing");
        for late in ["InternalError", "SlowDown"] {
            assert_eq!(keep(&xml(200, &format!("   \n{}", error(late)))).await, Err(busy.clone()));
        }
        let unclear = BucketError::Unavailable("its status was unexpected");
        assert_eq!(keep(&xml(200, "   ")).await, Err(unclear));
        assert_eq!(keep(&xml(503, COPIED)).await, Err(busy));
    }

    #[tokio::test]
    async fn an_object_is_written_with_a_signed_body() {
        for (status, expected) in [
            (200, Ok(())),
            (403, Err(BucketError::Refused("AccessDenied".to_owned()))),
            (503, Err(BucketError::Unavailable("S3 is overloaded or failing"))),
        ] {
            let play = xml(status, &if status == 403 { error("AccessDenied") } else { String::new() });
            let test_server = TestServer::playing(&play).await;
            let bucket = bucket(Some(&test_server.url), Some(TOKEN));
            let written = bucket.write("erased/7.json", b"{}".to_vec(), "application/json", NOW).await;
            assert_eq!(written, expected);
            let request = test_server.request();
            assert_eq!(request.line, "PUT /rolecall-resumes/erased/7.json HTTP/1.1");
            for (name, value) in [
                ("content-length", "2"),
                ("content-type", "application/json"),
                ("x-amz-content-sha256", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"),
            ] {
                assert_eq!(request.header(name), value, "{name}");
            }
            assert_eq!(request.body, "{}");
        }
    }

    #[tokio::test]
    async fn a_large_object_is_uploaded_in_parts() {
        let begun = xml(
            200,
            "<InitiateMultipartUploadResult><UploadId>a+b.c</UploadId></InitiateMultipartUploadResult>",
        );
        let test_server = TestServer::playing(&begun).await;
        let client = bucket(Some(&test_server.url), None);
        assert_eq!(client.begin_upload(KEY, "text/csv", NOW).await, Ok("a+b.c".to_owned()));
        let request = test_server.request();
        assert_eq!(request.line, format!("POST /rolecall-resumes/{KEY}?uploads= HTTP/1.1"));
        assert_eq!(request.header("content-disposition"), "attachment");

        let stored = Play::response(200, "etag: \"e\"\r\n", "");
        let test_server = TestServer::playing(&stored).await;
        let client = bucket(Some(&test_server.url), None);
        let part = client.upload_part(KEY, "a+b.c", 2, Bytes::from_static(b"x"), NOW).await;
        assert_eq!(part, Ok("\"e\"".to_owned()));
        let request = test_server.request();
        let query = "partNumber=2&uploadId=a%2Bb.c";
        assert_eq!(request.line, format!("PUT /rolecall-resumes/{KEY}?{query} HTTP/1.1"));

        let busy = BucketError::Unavailable("S3 is overloaded or failing");
        let made = "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>";
        for (status, answer, expected) in [
            (200, made.to_owned(), Ok(())),
            (200, format!("  \n{}", error("InternalError")), Err(busy)),
            (400, error("InvalidPart"), Err(BucketError::Changed)),
        ] {
            let test_server = TestServer::playing(&xml(status, &answer)).await;
            let client = bucket(Some(&test_server.url), None);
            let etags = ["\"e\"".to_owned(), "\"f\"".to_owned()];
            assert_eq!(client.finish_upload(KEY, "a+b.c", &etags, NOW).await, expected);
            let body = test_server.request().body;
            assert!(body.contains("<Part><PartNumber>2</PartNumber><ETag>\"f\"</ETag></Part>"), "{body}");
        }
        for (status, answer) in [(204, String::new()), (404, error("NoSuchUpload"))] {
            let test_server = TestServer::playing(&xml(status, &answer)).await;
            let client = bucket(Some(&test_server.url), None);
            assert_eq!(client.abort_upload(KEY, "a+b.c", NOW).await, Ok(()));
        }
    }

    #[tokio::test]
    async fn every_request_distinguishes_all_faults() {
        let refused = |code: &str| BucketError::Refused(code.to_owned());
        for (play, expected) in [
            (xml(403, &error("AccessDenied")), refused("AccessDenied")),
            (xml(404, &error("NoSuchBucket")), refused("NoSuchBucket")),
            (xml(400, &error("<b>?</b>")), refused("400")),
            (xml(403, ""), refused("403")),
            (xml(503, &error("SlowDown")), BucketError::Unavailable("S3 is overloaded or failing")),
            (xml(500, "<html>"), BucketError::Unavailable("S3 is overloaded or failing")),
            (xml(429, ""), BucketError::Unavailable("S3 is overloaded or failing")),
            (Play::redirect(), BucketError::Unavailable("its status was unexpected")),
            (Play::nothing(), BucketError::Unavailable("it was incomplete or too late")),
            (Play::half(200, COPIED), BucketError::Unavailable("it was incomplete or too late")),
        ] {
            assert_eq!(read(&play, 1000).await, Err(expected.clone()));
            assert_eq!(keep(&play).await, Err(expected));
        }
        assert_eq!(keep(&Play::long(200, COPIED)).await, Err(BucketError::Unavailable("it was too long")));
        let nowhere = bucket(Some(NOWHERE), None).read(KEY, 5, NOW).await.err();
        assert_eq!(nowhere, Some(BucketError::Unavailable("S3 could not be reached")));
    }

    #[tokio::test]
    async fn hanging_requests_time_out() {
        let lost = BucketError::Unavailable("it was incomplete or too late");
        for (is_read, seconds) in [(true, 20), (false, 8)] {
            let before = tokio::time::Instant::now();
            let error =
                if is_read { read(&Play::Hang, 5).await.err() } else { keep(&Play::Hang).await.err() };
            assert_eq!(error, Some(lost.clone()));
            assert_eq!(before.elapsed().as_secs(), seconds);
            tokio::time::resume();
        }
    }

    #[tokio::test]
    async fn invalid_keys_and_missing_credentials_send_nothing() {
        let bucket = bucket(None, None);
        for key in [
            "",
            "/a",
            "a/",
            "a//b",
            "a/../b",
            "./a",
            "a/.b",
            "a b",
            "a%2Fb",
            "ü",
            "${filename}",
            "a?b",
            "a#b",
            "a\\b",
        ] {
            assert_eq!(
                bucket.upload_form(key, "https://x.example/", NOW).await.err(),
                Some(INVALID_KEY),
                "{key}"
            );
            assert_eq!(bucket.download_url(key, "a.pdf", NOW).await, Err(INVALID_KEY), "{key}");
            assert_eq!(bucket.read(key, 1, NOW).await.err(), Some(INVALID_KEY), "{key}");
            assert_eq!(bucket.keep(key, KEY, "e", "text/plain", NOW).await, Err(INVALID_KEY), "{key}");
            assert_eq!(bucket.keep(KEY, key, "e", "text/plain", NOW).await, Err(INVALID_KEY), "{key}");
        }
        assert!(is_key(&"k".repeat(1024)) && !is_key(&"k".repeat(1025)));
        let unsigned = Err(BucketError::Unsigned("the signer rejected it"));
        assert_eq!(bucket.keep(KEY, KEY, "e\r\nx: y", "text/plain", NOW).await, unsigned);
        let credentials = SharedCredentialsProvider::new(NoCredentials);
        let signer = AwsSigner::new(credentials, "eu-central-1", SERVICE).unwrap();
        let bucket = Bucket { signer, ..bucket };
        let unsigned = Some(BucketError::Unsigned("there are no credentials"));
        assert_eq!(bucket.upload_form(KEY, "https://x.example/", NOW).await.err(), unsigned);
        assert_eq!(bucket.read(KEY, 1, NOW).await.err(), unsigned);
    }

    #[test]
    fn invalid_settings_are_rejected() {
        for (name, region) in
            [("", "r"), ("a.b", "r"), ("A", "r"), ("a/b", "r"), ("a", ""), ("a", "r.evil.example/")]
        {
            assert!(new_bucket(name, region, None, None).is_err(), "{name} {region}");
        }
        for endpoint in
            ["", "127.0.0.1:1", "ftp://a", "http://", "http://a?b", "http://a#b", "http://a/../b", "HTTP://a"]
        {
            assert!(new_bucket("a", "r", Some(endpoint), None).is_err(), "{endpoint}");
        }
        assert!(new_bucket("a", "r", Some("http://127.0.0.1:1/s3"), None).is_ok());
    }

    #[test]
    fn debug_output_has_no_secret() {
        let output = format!("{:?}", bucket(None, Some(TOKEN)));
        assert!(
            output.contains("rolecall-resumes") && !output.contains(SECRET) && !output.contains(TOKEN),
            "{output}"
        );
    }

    #[test]
    fn a_download_gets_a_safe_name_close_to_the_original() {
        for (original, name) in [
            ("Ada Lovelace.pdf", "filename=\"Ada Lovelace.pdf\""),
            ("", "filename=\"file\""),
            (".pdf", "filename=\"file.pdf\""),
            ("../..\\evil", "filename=\"_.._evil\""),
            ("a\"; filename=b.exe\r\nx", "filename=\"a_; filename=b.exe__x\""),
            ("\u{202e}fdp.exe", "filename=\"_fdp.exe\""),
            ("100%41.txt", "filename=\"100_41.txt\"; filename*=UTF-8\'\'100%2541.txt"),
            ("日本.odt", "filename=\"__.odt\"; filename*=UTF-8\'\'%E6%97%A5%E6%9C%AC.odt"),
        ] {
            assert_eq!(attachment(original), format!("attachment; {name}"), "{original:?}");
        }
        let long = attachment(&format!("{}.docx", "n".repeat(500)));
        assert_eq!(long, format!("attachment; filename=\"{}.docx\"", "n".repeat(80)));
    }

    proptest! {
        #[test]
        fn a_download_url_does_not_change_within_a_quarter_hour(second in 0i64..4_000_000_000, later in 0i64..1800) {
            static BUCKET: LazyLock<Bucket> = LazyLock::new(|| bucket(None, None));
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let url = |second| {
                let time = Timestamp::from_second(second).unwrap();
                runtime.block_on(BUCKET.download_url(KEY, "a.pdf", time)).unwrap()
            };
            prop_assert_eq!(url(second) == url(second + later), second / 900 == (second + later) / 900);
        }

        #[test]
        fn a_file_name_cannot_break_out_of_its_quotes(name in "(?s).{0,120}") {
            let disposition = attachment(&name);
            let rest = disposition.strip_prefix("attachment; filename=\"").unwrap();
            let (plain, rest) = rest.split_once('"').unwrap();
            prop_assert!(!plain.is_empty() && plain.chars().all(|c| (' '..='~').contains(&c) && !"\\/%".contains(c)));
            let encoded = rest.strip_prefix("; filename*=UTF-8''").unwrap_or(rest);
            prop_assert!(encoded.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte)));
        }

        #[test]
        fn error_codes_from_s3_are_single_words(status in 200u16..600, body: String, tail in "(<Error>|<Code>|</Code>|a){0,6}") {
            let status = StatusCode::from_u16(status).unwrap();
            let body = Bytes::from(format!("{body}{tail}"));
            if let BucketError::Refused(code) = bucket_error(&Response { status, headers: reqwest::header::HeaderMap::new(), body }) {
                prop_assert!(code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            }
        }
    }
}
