//! A private bucket on S3: the form that a browser uploads with, the address that it downloads from, and what is done
//! with a file in between. Everything is signed with Signature Version 4.

mod compound_file;
pub mod content;

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SignatureLocation,
    SigningInstructions, SigningSettings, UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4::{self, calculate_signature, generate_signing_key};
use aws_smithy_runtime_api::client::identity::Identity;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::ETAG;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::json;
use url::Url;

use super::client::{Answer, NoAnswer, Outside};

/// The largest file that a form uploads, in bytes.
pub const MAX_UPLOAD: usize = 10 * 1024 * 1024;
/// How long a form can be sent.
const UPLOAD_TIME: SignedDuration = SignedDuration::from_mins(15);
/// How long a file can be downloaded, from the beginning of the quarter of an hour on.
const DOWNLOAD_TIME: Duration = Duration::from_hours(1);
const QUARTER: i64 = 15 * 60;
/// How long reading a file may take.
const READ_TIME: Duration = Duration::from_secs(20);
/// What an answer may come to that is no file.
const MAX_WORDS: usize = 64 * 1024;
const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const SERVICE: &str = "s3";
/// What a download is declared as, so that no browser shows it.
const BYTES: &str = "application/octet-stream";
/// What stays as it is in a query that is signed.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const NO_KEY: Trouble = Trouble::Unsigned("the key is not one that objects get here");

/// One bucket, and who uses it.
#[derive(Clone, Debug)]
pub struct Bucket {
    outside: Outside,
    credentials: SharedCredentialsProvider,
    name: String,
    region: String,
    url: Url,
}

/// A form for one upload; it can be sent for 15 minutes.
pub struct UploadForm {
    /// Where it is posted to, as `multipart/form-data`.
    pub action: String,
    /// Its hidden fields; the file goes last, as `file`.
    pub fields: Vec<(String, String)>,
    /// The origin of `action`, for a policy that lets a form lead there.
    pub origin: String,
}

/// An object's content.
pub struct Object {
    /// The bytes.
    pub bytes: Bytes,
    /// What they are known by, as it stood in the header.
    pub etag: String,
}

/// Why the bucket did not do it. Nothing here does harm when it is done twice, so any call may be repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// Nothing was sent, and this is why.
    #[error("the request could not be signed: {0}")]
    Unsigned(&'static str),
    /// The object is larger than it may be.
    #[error("the object is too large")]
    TooLarge,
    /// The object is gone, or no longer what was read.
    #[error("the object has changed")]
    Changed,
    /// S3 refused, with its code for the reason.
    #[error("S3 refused: {0}")]
    Refused(String),
    /// S3 gave no answer to go by, and this is why.
    #[error("S3 gave no usable answer: {0}")]
    Unavailable(&'static str),
}

impl Bucket {
    /// The bucket called `name` in `region`; at `endpoint`, where there is one, it is reached by its path. Otherwise says
    /// which of the settings cannot be right.
    pub fn new(
        outside: Outside,
        credentials: SharedCredentialsProvider,
        name: &str,
        region: &str,
        endpoint: Option<&str>,
    ) -> Result<Self, String> {
        let is_label = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        };
        if !is_label(name) || !is_label(region) {
            return Err(
                "a bucket and its region are named in lower-case letters, digits and hyphens".to_owned()
            );
        }
        let url = match endpoint.map(|endpoint| endpoint.trim_end_matches('/')) {
            Some(endpoint) => format!("{endpoint}/{name}"),
            None => format!("https://{name}.{SERVICE}.{region}.amazonaws.com"),
        };
        // What is signed is what is sent, so nothing may be left that is written another way once it is read.
        let is_plain = |read: &Url| read.as_str().trim_end_matches('/') == url;
        match Url::parse(&url) {
            Ok(read) if matches!(read.scheme(), "http" | "https") && is_plain(&read) => {
                Ok(Self { outside, credentials, name: name.to_owned(), region: region.to_owned(), url: read })
            }
            _ => Err("a bucket's endpoint is an http or https address without a query".to_owned()),
        }
    }

    /// A form that uploads 1 byte to 10 MiB to `key`, and then leads to `redirect`, with the parameters `bucket`, `key`
    /// and `etag` added to it.
    pub async fn upload_form(
        &self,
        key: &str,
        redirect: &str,
        now: Timestamp,
    ) -> Result<UploadForm, Trouble> {
        if !is_key(key) {
            return Err(NO_KEY);
        }
        let credentials = self.credentials().await?;
        let (day, region) = (now.strftime("%Y%m%d"), &self.region);
        let scope = format!("{}/{day}/{region}/{SERVICE}/aws4_request", credentials.access_key_id());
        let mut fields = vec![
            ("key".to_owned(), key.to_owned()),
            ("success_action_redirect".to_owned(), redirect.to_owned()),
            ("x-amz-server-side-encryption".to_owned(), "AES256".to_owned()),
            ("x-amz-algorithm".to_owned(), ALGORITHM.to_owned()),
            ("x-amz-credential".to_owned(), scope),
            ("x-amz-date".to_owned(), now.strftime("%Y%m%dT%H%M%SZ").to_string()),
        ];
        fields.extend(
            credentials.session_token().map(|token| ("x-amz-security-token".to_owned(), token.to_owned())),
        );
        let mut conditions =
            vec![json!({ "bucket": self.name }), json!(["content-length-range", 1, MAX_UPLOAD])];
        conditions.extend(fields.iter().map(|(name, value)| json!({ name: value })));
        let end = now.checked_add(UPLOAD_TIME).unwrap_or(Timestamp::MAX);
        let expiration = end.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let policy =
            STANDARD.encode(json!({ "expiration": expiration, "conditions": conditions }).to_string());
        let signature = signature(&credentials, &self.region, &policy, now);
        fields.extend([("policy".to_owned(), policy), ("x-amz-signature".to_owned(), signature)]);
        Ok(UploadForm {
            action: self.url.to_string(),
            fields,
            origin: self.url.origin().ascii_serialization(),
        })
    }

    /// An address that downloads `key` as a file called `file_name`, and opens it in no browser. It is good for 45 to 60
    /// minutes, and the same for the same quarter of an hour and credentials.
    pub async fn download_url(&self, key: &str, file_name: &str, now: Timestamp) -> Result<String, Trouble> {
        let encoded = |text: &str| utf8_percent_encode(text, &UNRESERVED).to_string();
        let (disposition, media_type) = (encoded(&attachment(file_name)), encoded(BYTES));
        let url = format!(
            "{}?response-content-disposition={disposition}&response-content-type={media_type}",
            self.address(key)?
        );
        let start = now.as_second().div_euclid(QUARTER) * QUARTER;
        let start = Timestamp::from_second(start).unwrap_or(now);
        let mut settings = settings();
        settings.signature_location = SignatureLocation::QueryParams;
        settings.expires_in = Some(DOWNLOAD_TIME);
        let signed = self.sign("GET", &url, &[], SignableBody::UnsignedPayload, settings, start).await?;
        let parameters = signed.params().iter().map(|(name, value)| format!("&{name}={}", encoded(value)));
        Ok(parameters.fold(url, |url, parameter| url + &parameter))
    }

    /// The object at `key`, if there is one; `TooLarge` where it has more than `limit` bytes.
    pub async fn read(&self, key: &str, limit: usize, now: Timestamp) -> Result<Option<Object>, Trouble> {
        let url = self.address(key)?;
        let request = self.outside.get(&url).timeout(READ_TIME);
        let request = self.signed("GET", &url, request, &[], now).await?;
        let answer = match self.outside.send_up_to(request, limit.max(MAX_WORDS)).await {
            Err(NoAnswer::TooLong) => return Err(Trouble::TooLarge),
            answer => answer.map_err(unavailable)?,
        };
        match (answer.status, code(&answer)) {
            (StatusCode::OK, _) if answer.body.len() > limit => Err(Trouble::TooLarge),
            (StatusCode::OK, _) => {
                let etag = answer.headers.get(ETAG).and_then(|etag| etag.to_str().ok());
                let etag = etag.ok_or(Trouble::Unavailable("it did not name what it sent"))?.to_owned();
                Ok(Some(Object { bytes: answer.body, etag }))
            }
            (StatusCode::NOT_FOUND, Some("NoSuchKey")) => Ok(None),
            _ => Err(trouble(&answer)),
        }
    }

    /// Copies what is at `from`, as long as it is still known by `etag`, to `to`, as a file of this media type that no
    /// browser opens. `Changed` where it is not.
    pub async fn keep(
        &self,
        from: &str,
        to: &str,
        etag: &str,
        media_type: &str,
        now: Timestamp,
    ) -> Result<(), Trouble> {
        if !is_key(from) {
            return Err(NO_KEY);
        }
        let (url, source) = (self.address(to)?, format!("{}/{from}", self.name));
        let headers = [
            ("content-disposition", "attachment"),
            ("content-length", "0"),
            ("content-type", media_type),
            ("x-amz-copy-source", &source),
            ("x-amz-copy-source-if-match", etag),
            ("x-amz-metadata-directive", "REPLACE"),
            ("x-amz-server-side-encryption", "AES256"),
        ];
        let request = self.signed("PUT", &url, self.outside.put(&url), &headers, now).await?;
        let answer = self.outside.send_up_to(request, MAX_WORDS).await.map_err(unavailable)?;
        // S3 sends a 200 before it copies, and what became of it in the body.
        let copied = String::from_utf8_lossy(&answer.body).contains("<CopyObjectResult");
        if answer.status == StatusCode::OK && copied { Ok(()) } else { Err(trouble(&answer)) }
    }

    fn address(&self, key: &str) -> Result<String, Trouble> {
        let url = self.url.as_str().trim_end_matches('/');
        if is_key(key) { Ok(format!("{url}/{key}")) } else { Err(NO_KEY) }
    }

    async fn credentials(&self) -> Result<Credentials, Trouble> {
        let credentials = self.credentials.provide_credentials().await;
        credentials.map_err(|_| Trouble::Unsigned("there are no credentials"))
    }

    /// The request with `headers` and those that sign it.
    async fn signed(
        &self,
        method: &str,
        url: &str,
        request: RequestBuilder,
        headers: &[(&str, &str)],
        now: Timestamp,
    ) -> Result<RequestBuilder, Trouble> {
        let signed = self.sign(method, url, headers, SignableBody::empty(), settings(), now).await?;
        let headers = headers.iter().copied().chain(signed.headers());
        Ok(headers.fold(request, |request, (name, value)| request.header(name, value)))
    }

    async fn sign(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: SignableBody<'_>,
        settings: SigningSettings,
        now: Timestamp,
    ) -> Result<SigningInstructions, Trouble> {
        let identity = Identity::from(self.credentials().await?);
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(SERVICE)
            .time(SystemTime::from(now))
            .settings(settings)
            .build();
        let unsigned = || Trouble::Unsigned("the signer does not take it");
        let parameters = parameters.map_err(|_| unsigned())?.into();
        let request =
            SignableRequest::new(method, url, headers.iter().copied(), body).map_err(|_| unsigned())?;
        sign(request, &parameters).map(|signed| signed.into_parts().0).map_err(|_| unsigned())
    }
}

/// How S3 wants requests signed: paths as they are sent, and the body's hash among the headers.
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
    let key = generate_signing_key(secret, SystemTime::from(now), region, SERVICE);
    calculate_signature(key, policy.as_bytes())
}

/// Whether an object here can have this key: at most 1,024 letters, digits, hyphens, dots, underscores and slashes, with
/// something between the slashes that begins with no dot. So it needs no escaping, in an address, in a form (where S3 fills
/// in what stands in `${}`) or as a path.
pub fn is_key(key: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_segment =
        |segment: &str| !segment.is_empty() && !segment.starts_with('.') && segment.bytes().all(is_plain);
    key.len() <= 1024 && key.split('/').all(is_segment)
}

/// A `Content-Disposition` that saves a file under a name, or near to it (RFC 6266).
fn attachment(file_name: &str) -> String {
    let is_odd = |c: char| {
        // Some of these mean something in paths, the others turn the direction of what follows: `fdp.exe` reads `exe.pdf`.
        c.is_control()
            || "/\\:*?\"<>|".contains(c)
            || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}')
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let name: String = file_name.chars().map(|c| if is_odd(c) { '_' } else { c }).collect();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    let stem: String = stem.trim_start_matches(['.', ' ']).chars().take(80).collect();
    let extension: String = extension.chars().take(10).collect();
    let stem = if stem.is_empty() { "file" } else { &stem };
    let name = format!("{stem}.{extension}");
    let name = name.trim_end_matches(['.', ' ']);
    // Some browsers take a percent sign for the beginning of an escape.
    let ascii = name.replace(|c: char| !c.is_ascii() || c == '%', "_");
    let plain = format!("attachment; filename=\"{ascii}\"");
    if ascii == name {
        plain
    } else {
        format!("{plain}; filename*=UTF-8''{}", utf8_percent_encode(name, &UNRESERVED))
    }
}

/// The code in the body of an error.
fn code(answer: &Answer) -> Option<&str> {
    let body = std::str::from_utf8(&answer.body).ok()?;
    let (code, _) = body.split_once("<Error>")?.1.split_once("<Code>")?.1.split_once("</Code>")?;
    let is_word = (1..=64).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word.then_some(code)
}

fn trouble(answer: &Answer) -> Trouble {
    match (answer.status.as_u16(), code(answer)) {
        (412, _) | (_, Some("NoSuchKey" | "PreconditionFailed")) => Trouble::Changed,
        (429 | 500.., _) | (_, Some("InternalError" | "SlowDown")) => Trouble::Unavailable("it is busy"),
        (200 | 400..500, Some(code)) => Trouble::Refused(code.to_owned()),
        (400..500, None) => Trouble::Refused(answer.status.as_str().to_owned()),
        _ => Trouble::Unavailable("it was neither yes nor no"),
    }
}

fn unavailable(none: NoAnswer) -> Trouble {
    Trouble::Unavailable(match none {
        NoAnswer::Unreached => "it could not be reached",
        NoAnswer::Lost => "it did not come whole or in time",
        NoAnswer::TooLong => "it was too long",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::stand_in::{NOWHERE, Play, Request, StandIn};
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

    /// Whoever asks for credentials gets none.
    #[derive(Debug)]
    struct Penniless;

    impl ProvideCredentials for Penniless {
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

    fn named(
        name: &str,
        region: &str,
        endpoint: Option<&str>,
        token: Option<&str>,
    ) -> Result<Bucket, String> {
        let credentials = SharedCredentialsProvider::new(credentials(token));
        Bucket::new(Outside::new().unwrap(), credentials, name, region, endpoint)
    }

    fn bucket(endpoint: Option<&str>, token: Option<&str>) -> Bucket {
        named("rolecall-resumes", "eu-central-1", endpoint, token).unwrap()
    }

    fn error(code: &str) -> String {
        format!("<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>No.</Message></Error>")
    }

    fn xml(status: u16, body: &str) -> Play {
        Play::answer(status, "content-type: application/xml\r\netag: \"e\"\r\n", body)
    }

    async fn read(play: &Play, limit: usize) -> Result<Option<(Bytes, String)>, Trouble> {
        let stand_in = StandIn::playing(play).await;
        let object = bucket(Some(&stand_in.url), Some(TOKEN)).read(KEY, limit, NOW).await;
        let request = stand_in.request();
        assert_eq!(request.line, "GET /rolecall-resumes/incoming/01-Ab_c.x HTTP/1.1");
        assert_is_signed(&request, "host;x-amz-content-sha256;x-amz-date;x-amz-security-token");
        object.map(|object| object.map(|object| (object.bytes, object.etag)))
    }

    async fn keep(play: &Play) -> Result<(), Trouble> {
        let stand_in = StandIn::playing(play).await;
        let bucket = bucket(Some(&stand_in.url), Some(TOKEN));
        let kept = bucket.keep(KEY, "resumes/7", "\"e\"", "application/pdf", NOW).await;
        let request = stand_in.request();
        assert_eq!(request.line, "PUT /rolecall-resumes/resumes/7 HTTP/1.1");
        for (name, value) in [
            ("content-disposition", "attachment"),
            ("content-length", "0"),
            ("content-type", "application/pdf"),
            ("x-amz-copy-source", "rolecall-resumes/incoming/01-Ab_c.x"),
            ("x-amz-copy-source-if-match", "\"e\""),
            ("x-amz-metadata-directive", "REPLACE"),
            ("x-amz-server-side-encryption", "AES256"),
        ] {
            assert_eq!(request.header(name), value, "{name}");
        }
        assert_is_signed(
            &request,
            "content-disposition;content-length;content-type;host;x-amz-content-sha256;x-amz-copy-source;\
             x-amz-copy-source-if-match;x-amz-date;x-amz-metadata-directive;x-amz-security-token;\
             x-amz-server-side-encryption",
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
    fn a_policy_is_signed_as_in_the_example_that_aws_publishes() {
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
    async fn a_form_has_a_policy_for_every_field_and_nothing_else() {
        let redirect = "https://jobs.example/careers/acme/received?t=a&u=\"ü\"";
        for token in [None, Some(TOKEN)] {
            let form = bucket(None, token).upload_form(KEY, redirect, NOW).await.ok().unwrap();
            assert_eq!(form.action, "https://rolecall-resumes.s3.eu-central-1.amazonaws.com/");
            assert_eq!(form.origin, "https://rolecall-resumes.s3.eu-central-1.amazonaws.com");
            let id = credentials(token).access_key_id().to_owned();
            let mut fields = vec![
                ("key", KEY.to_owned()),
                ("success_action_redirect", redirect.to_owned()),
                ("x-amz-server-side-encryption", "AES256".to_owned()),
                ("x-amz-algorithm", "AWS4-HMAC-SHA256".to_owned()),
                ("x-amz-credential", format!("{id}/20261120/eu-central-1/s3/aws4_request")),
                ("x-amz-date", "20261120T123456Z".to_owned()),
            ];
            fields.extend(token.map(|token| ("x-amz-security-token", token.to_owned())));
            let mut conditions =
                vec![json!({"bucket": "rolecall-resumes"}), json!(["content-length-range", 1, 10_485_760])];
            conditions.extend(fields.iter().map(|(name, value)| json!({*name: value})));
            let policy = &form.fields[fields.len()].1;
            let said: Value = serde_json::from_slice(&STANDARD.decode(policy).unwrap()).unwrap();
            assert_eq!(said, json!({"expiration": "2026-11-20T12:49:56Z", "conditions": conditions}));
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

    /// The signatures are those of AWS's SDK for Python.
    #[tokio::test]
    async fn an_address_is_signed_as_by_an_sdk_of_aws() {
        let ada = "attachment%3B%20filename%3D%22Ada%20Lovelace.pdf%22";
        let zoe = "attachment%3B%20filename%3D%22Zo_%20O%27Neil%3B%20_x_%20100_.docx%22%3B%20filename%2A%3DUTF-8%27%27\
            Zo%25C3%25AB%2520O%2527Neil%253B%2520_x_%2520100%2525.docx";
        let token = "&X-Amz-Security-Token=IQoJb3JpZ2luX2VjEA%2F%2Ftoken%2Bwith%2Fodd%3Dchars%3D%3D";
        for (given, id, token, name, disposition, signature) in [
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
            let url = bucket(None, given).download_url(KEY, name, NOW).await.unwrap();
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
    async fn an_object_is_read_whole_or_not_at_all() {
        let found = Ok(Some((Bytes::from_static(b"hello"), "\"e\"".to_owned())));
        assert_eq!(read(&xml(200, "hello"), 5).await, found);
        assert_eq!(read(&xml(200, "hello!"), 5).await, Err(Trouble::TooLarge));
        assert_eq!(read(&Play::long(200, ""), 5).await, Err(Trouble::TooLarge));
        let long = Play::answer(200, "etag: \"e\"\r\n", &" ".repeat(2 << 20));
        assert_eq!(read(&long, 2 << 20).await.map(|object| object.unwrap().0.len()), Ok(2 << 20));
        assert_eq!(read(&xml(404, &error("NoSuchKey")), 5).await, Ok(None));
        let unnamed = Trouble::Unavailable("it did not name what it sent");
        assert_eq!(read(&Play::html(200), 500).await, Err(unnamed));
    }

    #[tokio::test]
    async fn what_was_read_is_kept_and_nothing_else() {
        assert_eq!(keep(&xml(200, COPIED)).await, Ok(()));
        for (status, body) in [
            (412, error("PreconditionFailed")),
            (200, error("PreconditionFailed")),
            (412, String::new()),
            (404, error("NoSuchKey")),
        ] {
            assert_eq!(keep(&xml(status, &body)).await, Err(Trouble::Changed), "{status} {body}");
        }
        let busy = Trouble::Unavailable("it is busy");
        for late in ["InternalError", "SlowDown"] {
            assert_eq!(keep(&xml(200, &format!("   \n{}", error(late)))).await, Err(busy.clone()));
        }
        let unclear = Trouble::Unavailable("it was neither yes nor no");
        assert_eq!(keep(&xml(200, "   ")).await, Err(unclear));
        assert_eq!(keep(&xml(503, COPIED)).await, Err(busy));
    }

    #[tokio::test]
    async fn every_fault_is_told_apart_on_every_call() {
        let refused = |code: &str| Trouble::Refused(code.to_owned());
        for (play, trouble) in [
            (xml(403, &error("AccessDenied")), refused("AccessDenied")),
            (xml(404, &error("NoSuchBucket")), refused("NoSuchBucket")),
            (xml(400, &error("<b>?</b>")), refused("400")),
            (xml(403, ""), refused("403")),
            (xml(503, &error("SlowDown")), Trouble::Unavailable("it is busy")),
            (xml(500, "<html>"), Trouble::Unavailable("it is busy")),
            (xml(429, ""), Trouble::Unavailable("it is busy")),
            (Play::redirect(), Trouble::Unavailable("it was neither yes nor no")),
            (Play::nothing(), Trouble::Unavailable("it did not come whole or in time")),
            (Play::half(200, COPIED), Trouble::Unavailable("it did not come whole or in time")),
        ] {
            assert_eq!(read(&play, 1000).await, Err(trouble.clone()));
            assert_eq!(keep(&play).await, Err(trouble));
        }
        assert_eq!(keep(&Play::long(200, COPIED)).await, Err(Trouble::Unavailable("it was too long")));
        let nowhere = bucket(Some(NOWHERE), None).read(KEY, 5, NOW).await.err();
        assert_eq!(nowhere, Some(Trouble::Unavailable("it could not be reached")));
    }

    #[tokio::test]
    async fn a_hang_ends() {
        let lost = Trouble::Unavailable("it did not come whole or in time");
        for (is_read, seconds) in [(true, 20), (false, 8)] {
            let before = tokio::time::Instant::now();
            let met = if is_read { read(&Play::Hang, 5).await.err() } else { keep(&Play::Hang).await.err() };
            assert_eq!(met, Some(lost.clone()));
            assert_eq!(before.elapsed().as_secs(), seconds);
            tokio::time::resume();
        }
    }

    #[tokio::test]
    async fn nothing_is_signed_for_a_key_or_with_credentials_that_are_none() {
        let here = bucket(None, None);
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
            assert_eq!(here.upload_form(key, "https://x.example/", NOW).await.err(), Some(NO_KEY), "{key}");
            assert_eq!(here.download_url(key, "a.pdf", NOW).await, Err(NO_KEY), "{key}");
            assert_eq!(here.read(key, 1, NOW).await.err(), Some(NO_KEY), "{key}");
            assert_eq!(here.keep(key, KEY, "e", "text/plain", NOW).await, Err(NO_KEY), "{key}");
            assert_eq!(here.keep(KEY, key, "e", "text/plain", NOW).await, Err(NO_KEY), "{key}");
        }
        assert!(is_key(&"k".repeat(1024)) && !is_key(&"k".repeat(1025)));
        let unsigned = Err(Trouble::Unsigned("the signer does not take it"));
        assert_eq!(here.keep(KEY, KEY, "e\r\nx: y", "text/plain", NOW).await, unsigned);
        let penniless = Bucket { credentials: SharedCredentialsProvider::new(Penniless), ..here };
        let unsigned = Some(Trouble::Unsigned("there are no credentials"));
        assert_eq!(penniless.upload_form(KEY, "https://x.example/", NOW).await.err(), unsigned);
        assert_eq!(penniless.read(KEY, 1, NOW).await.err(), unsigned);
    }

    #[test]
    fn settings_that_cannot_be_right_are_refused() {
        for (name, region) in
            [("", "r"), ("a.b", "r"), ("A", "r"), ("a/b", "r"), ("a", ""), ("a", "r.evil.example/")]
        {
            assert!(named(name, region, None, None).is_err(), "{name} {region}");
        }
        for endpoint in
            ["", "127.0.0.1:1", "ftp://a", "http://", "http://a?b", "http://a#b", "http://a/../b", "HTTP://a"]
        {
            assert!(named("a", "r", Some(endpoint), None).is_err(), "{endpoint}");
        }
        assert!(named("a", "r", Some("http://127.0.0.1:1/s3"), None).is_ok());
    }

    #[test]
    fn nothing_secret_is_shown() {
        let shown = format!("{:?}", bucket(None, Some(TOKEN)));
        assert!(
            shown.contains("rolecall-resumes") && !shown.contains(SECRET) && !shown.contains(TOKEN),
            "{shown}"
        );
    }

    #[test]
    fn a_download_has_a_name_that_is_safe_and_near_to_the_one_given() {
        for (given, name) in [
            ("Ada Lovelace.pdf", "filename=\"Ada Lovelace.pdf\""),
            ("", "filename=\"file\""),
            (".pdf", "filename=\"file.pdf\""),
            ("../..\\evil", "filename=\"_.._evil\""),
            ("a\"; filename=b.exe\r\nx", "filename=\"a_; filename=b.exe__x\""),
            ("\u{202e}fdp.exe", "filename=\"_fdp.exe\""),
            ("100%41.txt", "filename=\"100_41.txt\"; filename*=UTF-8\'\'100%2541.txt"),
            ("日本.odt", "filename=\"__.odt\"; filename*=UTF-8\'\'%E6%97%A5%E6%9C%AC.odt"),
        ] {
            assert_eq!(attachment(given), format!("attachment; {name}"), "{given:?}");
        }
        let long = attachment(&format!("{}.docx", "n".repeat(500)));
        assert_eq!(long, format!("attachment; filename=\"{}.docx\"", "n".repeat(80)));
    }

    proptest! {
        #[test]
        fn an_address_is_the_same_for_a_quarter_of_an_hour(second in 0i64..4_000_000_000, later in 0i64..1800) {
            static BUCKET: LazyLock<Bucket> = LazyLock::new(|| bucket(None, None));
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let url = |second| {
                let time = Timestamp::from_second(second).unwrap();
                runtime.block_on(BUCKET.download_url(KEY, "a.pdf", time)).unwrap()
            };
            prop_assert_eq!(url(second) == url(second + later), second / 900 == (second + later) / 900);
        }

        #[test]
        fn no_name_gets_out_of_its_quotes(name in "(?s).{0,120}") {
            let disposition = attachment(&name);
            let rest = disposition.strip_prefix("attachment; filename=\"").unwrap();
            let (plain, rest) = rest.split_once('"').unwrap();
            prop_assert!(!plain.is_empty() && plain.chars().all(|c| (' '..='~').contains(&c) && !"\\/%".contains(c)));
            let encoded = rest.strip_prefix("; filename*=UTF-8''").unwrap_or(rest);
            prop_assert!(encoded.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte)));
        }

        #[test]
        fn whatever_s3_answers_its_code_is_one_word(status in 200u16..600, body: String, tail in "(<Error>|<Code>|</Code>|a){0,6}") {
            let status = StatusCode::from_u16(status).unwrap();
            let body = Bytes::from(format!("{body}{tail}"));
            if let Trouble::Refused(said) = trouble(&Answer { status, headers: reqwest::header::HeaderMap::new(), body }) {
                prop_assert!(said.len() <= 64 && said.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            }
        }
    }
}
