//! Tests of the bucket. They use the service's own S3 client for all requests that it can send.

use shared::providers::bucket::{MAX_UPLOAD, MIN_PART};

use super::form::MAX_FIELDS;
use super::request::Parameters;
use super::signature::{ALGORITHM, UNSIGNED_PAYLOAD, canonical_request, hex, hmac, signing_key};
use super::*;
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use http::header::AUTHORIZATION;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use shared::providers::bucket::{Bucket, BucketError, Found};
use shared::providers::client::HttpClient;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use tokio::net::TcpListener;

const NOW: Timestamp = Timestamp::constant(1_795_178_096, 0);
const BUCKET: &str = "resumes";
const KEY: &str = "incoming/7";
const REDIRECT: &str = "http://127.0.0.1:3000/careers/acme/received?t=a";

type Fields = Vec<(String, String)>;

fn client(endpoint: &str, access_key: &str, secret: &str, token: Option<&str>) -> Bucket {
    static HTTP_CLIENT: LazyLock<HttpClient> = LazyLock::new(|| HttpClient::new().unwrap());
    let credentials = Credentials::new(access_key, secret, token.map(str::to_owned), None, "test");
    let credentials = SharedCredentialsProvider::new(credentials);
    Bucket::new(HTTP_CLIENT.clone(), credentials, BUCKET, REGION, Some(endpoint)).unwrap()
}

fn local_client() -> Bucket {
    client("http://127.0.0.1:3000", ACCESS_KEY, "local", None)
}

async fn fields(client: &Bucket) -> Fields {
    client.upload_form(KEY, REDIRECT, NOW).await.ok().unwrap().fields
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

/// The fields of a form with this policy and its signature.
fn signed(fields: &Fields, policy: &Value) -> Fields {
    let policy = STANDARD.encode(policy.to_string());
    let key = signing_key("local/20261120/us-east-1/s3/aws4_request", NOW).ok().unwrap();
    let signature = hex(&hmac(&key, policy.as_bytes()));
    with(&with(fields, "policy", &policy), "x-amz-signature", &signature)
}

fn policy(fields: &Fields) -> Value {
    let policy = fields.iter().find(|field| field.0 == "policy").unwrap();
    serde_json::from_slice(&STANDARD.decode(&policy.1).unwrap()).unwrap()
}

fn part(name: &str, value: &[u8]) -> Vec<u8> {
    let file = if name == "file" { "; filename=\"résumé.txt\"\r\nContent-Type: text/plain" } else { "" };
    let head = format!("--b0undary\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
    [head.as_bytes(), value, b"\r\n"].concat()
}

fn upload(fields: &Fields, file: &[u8]) -> Request<Bytes> {
    let mut parts: Vec<_> = fields.iter().map(|(name, value)| part(name, value.as_bytes())).collect();
    parts.extend([part("file", file), b"--b0undary--\r\n".to_vec()]);
    post_request(parts.concat())
}

fn post_request(body: Vec<u8>) -> Request<Bytes> {
    let request = Request::post("/resumes").header("content-type", "multipart/form-data; boundary=b0undary");
    request.body(Bytes::from(body)).unwrap()
}

fn get_request(url: &str) -> Request<Bytes> {
    let path = url.strip_prefix("http://127.0.0.1:3000").unwrap();
    Request::get(path).header("host", "127.0.0.1:3000").body(Bytes::new()).unwrap()
}

/// Sends a request and returns the response's status and error code. The code is empty if there is no error.
async fn send(bucket: &LocalBucket, request: Request<Bytes>, now: Timestamp) -> (u16, String) {
    let response = bucket.handle(request, now).await;
    let body = String::from_utf8_lossy(response.body()).into_owned();
    let code = body.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
    (response.status().as_u16(), code.map(|(code, _)| code.to_owned()).unwrap_or_default())
}

fn outcome(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

/// Serves the bucket on loopback and returns its base URL. `change` modifies each request before the bucket
/// receives it.
async fn serve(bucket: Arc<LocalBucket>, change: fn(&mut Request<Bytes>)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let bucket = Arc::clone(&bucket);
            let service = service_fn(move |request: Request<Incoming>| {
                let bucket = Arc::clone(&bucket);
                async move {
                    let (parts, body) = request.into_parts();
                    let mut request = Request::from_parts(parts, body.collect().await?.to_bytes());
                    change(&mut request);
                    Ok::<_, hyper::Error>(bucket.handle(request, NOW).await.map(Full::new))
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    url
}

async fn keep(client: &Bucket, to: &str, etag: &str) -> Result<(), BucketError> {
    client.keep(KEY, to, etag, "text/plain", NOW).await
}

#[tokio::test]
async fn a_resume_is_uploaded_read_copied_and_downloaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("resumes");
    let buckets = [LocalBucket::in_memory(BUCKET), LocalBucket::in_folder(BUCKET, path.clone())];
    for bucket in buckets.map(Arc::new) {
        let url = serve(Arc::clone(&bucket), |_| ()).await;
        let client = client(&url, ACCESS_KEY, "local", None);
        assert!(client.read(KEY, 10, NOW).await.ok().unwrap().is_none());
        assert_eq!(keep(&client, "resumes/7", "\"e\"").await, Err(BucketError::Changed));
        let upload_form = client.upload_form(KEY, REDIRECT, NOW).await.ok().unwrap();
        assert_eq!(upload_form.action, format!("{url}/resumes"));
        let response = bucket.handle(upload(&upload_form.fields, b"hello"), NOW).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        assert_eq!(
            response.headers()[LOCATION],
            format!("{REDIRECT}&bucket=resumes&key=incoming%2F7&etag=%222cf24dba5fb0a30e26e83b2ac5b9e29e%22")
        );
        let object = client.read(KEY, 5, NOW).await.ok().unwrap().unwrap();
        assert_eq!(
            (&object.bytes[..], &*object.etag),
            (&b"hello"[..], "\"2cf24dba5fb0a30e26e83b2ac5b9e29e\"")
        );
        assert_eq!(client.read(KEY, 4, NOW).await.err(), Some(BucketError::TooLarge));
        assert_eq!(keep(&client, "resumes/7", &object.etag).await, Ok(()));
        // Another upload to the same key changes its entity tag.
        assert_eq!(send(&bucket, upload(&upload_form.fields, b"other"), NOW).await.0, 303);
        assert_eq!(keep(&client, "resumes/7", &object.etag).await, Err(BucketError::Changed));
        let url = client.download_url("resumes/7", "Zoë.txt", NOW).await.unwrap();
        let http_client = HttpClient::new().unwrap();
        let download = http_client.send(http_client.get(&url)).await.unwrap();
        assert_eq!((download.status.as_u16(), &download.body[..]), (200, &b"hello"[..]));
        assert_eq!(download.headers["content-type"], "application/octet-stream");
        let disposition = "attachment; filename=\"Zo_.txt\"; filename*=UTF-8''Zo%C3%AB.txt";
        assert_eq!(download.headers["content-disposition"], disposition);
        assert_eq!(download.headers["etag"], object.etag);
        let (metadata, _) = bucket.storage.read("resumes/7").await.ok().unwrap().unwrap();
        assert_eq!(
            (&*metadata.content_type, metadata.content_disposition.as_deref()),
            ("text/plain", Some("attachment"))
        );
    }
    // The object survives a restart, and no temporary file is left.
    let url = serve(Arc::new(LocalBucket::in_folder(BUCKET, path.clone())), |_| ()).await;
    let object = client(&url, ACCESS_KEY, "local", None).read("resumes/7", 5, NOW).await.ok().unwrap();
    assert_eq!(&object.unwrap().bytes[..], b"hello");
    let mut names: Vec<_> =
        std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["incoming", "resumes"]);
}

#[tokio::test]
async fn a_part_is_read_only_of_the_object_that_was_found() {
    let bucket = Arc::new(LocalBucket::in_memory(BUCKET));
    let client = client(&serve(Arc::clone(&bucket), |_| ()).await, ACCESS_KEY, "local", None);
    assert_eq!(client.find(KEY, NOW).await, Ok(None));
    client.write(KEY, b"hello".to_vec(), "text/plain", NOW).await.unwrap();
    let found = client.find(KEY, NOW).await.unwrap().unwrap();
    assert_eq!(found, Found { size: 5, etag: etag(b"hello") });
    let read = async |start| client.read_range(KEY, start, 3, Some(&found.etag), NOW).await;
    assert_eq!(read(2).await, Ok(Some(Bytes::from_static(b"llo"))));
    assert_eq!(read(5).await, Ok(Some(Bytes::new())));
    client.write(KEY, b"other".to_vec(), "text/plain", NOW).await.unwrap();
    assert_eq!(read(2).await, Err(BucketError::Changed));
    assert_eq!(client.read_range(KEY, 2, 3, None, NOW).await, Ok(Some(Bytes::from_static(b"her"))));
    client.delete(KEY, NOW).await.unwrap();
    assert_eq!(read(2).await, Ok(None));
}

#[tokio::test]
async fn a_large_object_is_uploaded_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("resumes");
    for bucket in [LocalBucket::in_memory(BUCKET), LocalBucket::in_folder(BUCKET, path)].map(Arc::new) {
        let url = serve(Arc::clone(&bucket), |_| ()).await;
        let client = client(&url, ACCESS_KEY, "local", None);
        let upload = client.begin_upload("exports/1", "text/csv", NOW).await.unwrap();
        let (large, small) = (Bytes::from(vec![b'l'; MIN_PART]), Bytes::from_static(b"small"));
        let part = async |number, content: &Bytes| {
            client.upload_part("exports/1", &upload, number, content.clone(), NOW).await.unwrap()
        };
        // A part replaces one with the same number.
        part(1, &small).await;
        let wrong = [part(1, &small).await, part(2, &small).await];
        let small_first = client.finish_upload("exports/1", &upload, &wrong, NOW).await;
        assert_eq!(small_first, Err(BucketError::Refused("EntityTooSmall".to_owned())));
        let etags = [part(1, &large).await, wrong[1].clone()];
        assert_eq!(client.list("", None, NOW).await.unwrap(), [""; 0], "parts are no objects");
        let old = client.finish_upload("exports/1", &upload, &wrong, NOW).await;
        assert_eq!(old, Err(BucketError::Changed));
        for _ in 0..2 {
            assert_eq!(
                client.finish_upload("exports/1", &upload, &etags, NOW).await,
                Ok(()),
                "it can be repeated"
            );
        }
        let made = client.read("exports/1", 2 * MIN_PART, NOW).await.ok().unwrap().unwrap().bytes;
        assert!(made.len() == MIN_PART + 5 && made.ends_with(b"lsmall"));
        let other = client.begin_upload("exports/2", "text/csv", NOW).await.unwrap();
        for _ in 0..2 {
            assert_eq!(client.abort_upload("exports/2", &other, NOW).await, Ok(()), "it can be repeated");
        }
        let gone = client.finish_upload("exports/2", &other, &etags, NOW).await;
        assert_eq!(gone, Err(BucketError::Changed));
        assert_eq!(client.list("", None, NOW).await.unwrap(), ["exports/1"]);
    }
}

#[tokio::test]
async fn objects_are_listed_by_prefix_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("resumes");
    for bucket in [LocalBucket::in_memory(BUCKET), LocalBucket::in_folder(BUCKET, path)].map(Arc::new) {
        let url = serve(Arc::clone(&bucket), |_| ()).await;
        let client = client(&url, ACCESS_KEY, "local", None);
        let list = async |prefix: &str| client.list(prefix, None, NOW).await.unwrap();
        assert_eq!(list("").await, [""; 0]);
        assert_eq!(send(&bucket, upload(&fields(&client).await, b"hello"), NOW).await.0, 303);
        let object = client.read(KEY, 10, NOW).await.ok().unwrap().unwrap();
        for key in ["resumes/1/live/a.pdf", "resumes/1/test/b.pdf", "resumes/11/live/c.pdf"] {
            keep(&client, key, &object.etag).await.unwrap();
        }
        assert_eq!(list("resumes/1/").await, ["resumes/1/live/a.pdf", "resumes/1/test/b.pdf"]);
        assert_eq!(list("resumes/1/live/a").await, ["resumes/1/live/a.pdf"]);
        assert_eq!(list("").await.len(), 4);
        let written = client.write("erased/1/7.json", b"{}".to_vec(), "application/json", NOW).await;
        assert_eq!(written, Ok(()));
        assert_eq!(&client.read("erased/1/7.json", 9, NOW).await.ok().unwrap().unwrap().bytes[..], b"{}");
        let after = client.list("", Some("incoming/7"), NOW).await.unwrap();
        assert_eq!(after, ["resumes/1/live/a.pdf", "resumes/1/test/b.pdf", "resumes/11/live/c.pdf"]);
        assert_eq!(client.delete("erased/1/7.json", NOW).await, Ok(()));
        for _ in 0..2 {
            assert_eq!(client.delete("resumes/1/live/a.pdf", NOW).await, Ok(()), "it can be repeated");
            assert_eq!(list("resumes/1/").await, ["resumes/1/test/b.pdf"]);
        }
        let unsigned = |method, path| Request::builder().method(method).uri(path).body(Bytes::new()).unwrap();
        for request in [
            unsigned("DELETE", "/resumes/resumes/1/test/b.pdf"),
            unsigned("GET", "/resumes/?list-type=2&max-keys=9"),
        ] {
            assert_eq!(send(&bucket, request, NOW).await, outcome(403, "AccessDenied"));
        }
        assert_eq!(list("").await.len(), 3);
    }
}

#[tokio::test]
async fn a_form_must_match_its_policy_and_signature() {
    let (bucket, valid) = (LocalBucket::in_memory(BUCKET), fields(&local_client()).await);
    assert_eq!(send(&bucket, upload(&valid, b"x"), NOW).await, outcome(303, ""));
    assert_eq!(send(&bucket, upload(&with(&valid, "x-ignore-me", "x"), b"x"), NOW).await, outcome(303, ""));
    let (late, denied) = (NOW + SignedDuration::from_mins(15), outcome(403, "AccessDenied"));
    assert_eq!(send(&bucket, upload(&valid, b"x"), late).await, denied);
    for (name, value) in [
        ("key", "incoming/8"),
        ("success_action_redirect", "http://evil.example/"),
        ("x-amz-server-side-encryption", "aws:kms"),
        ("content-type", "text/html"),
        ("acl", "public-read"),
    ] {
        assert_eq!(send(&bucket, upload(&with(&valid, name, value), b"x"), NOW).await, denied, "{name}");
    }
    let not_redirected = without(&valid, "success_action_redirect");
    assert_eq!(send(&bucket, upload(&not_redirected, b"x"), NOW).await, denied);
    let (invalid, mismatch) = (outcome(400, "InvalidArgument"), outcome(403, "SignatureDoesNotMatch"));
    for name in ["policy", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature"] {
        assert_eq!(send(&bucket, upload(&without(&valid, name), b"x"), NOW).await, invalid, "{name}");
    }
    let other_key = outcome(403, "InvalidAccessKeyId");
    let malformed = outcome(400, "AuthorizationHeaderMalformed");
    for (name, value, expected) in [
        ("policy", "e30=", &mismatch),
        ("x-amz-signature", "", &mismatch),
        ("x-amz-algorithm", "AWS4-HMAC-SHA1", &invalid),
        ("x-amz-credential", "else/20261120/us-east-1/s3/aws4_request", &other_key),
        ("x-amz-credential", "local/20261121/us-east-1/s3/aws4_request", &malformed),
        ("x-amz-credential", "local/20261120/elsewhere/s3/aws4_request", &malformed),
        ("x-amz-credential", "local/20261120/us-east-1/s3/aws4_request/", &malformed),
        ("x-amz-date", "yesterday", &malformed),
    ] {
        assert_eq!(
            send(&bucket, upload(&with(&valid, name, value), b"x"), NOW).await,
            *expected,
            "{name} {value}"
        );
    }
    for (access_key, secret, token, expected) in [
        (ACCESS_KEY, "guessed", None, mismatch),
        ("else", "local", None, other_key),
        (ACCESS_KEY, "local", Some("token"), outcome(400, "InvalidToken")),
    ] {
        let fields = fields(&client("http://127.0.0.1:3000", access_key, secret, token)).await;
        assert_eq!(send(&bucket, upload(&fields, b"x"), NOW).await, expected);
    }
}

/// The deployed bucket encrypts with the customer's key only what names no encryption.
#[tokio::test]
async fn no_request_names_an_encryption() {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    let bucket = Arc::new(LocalBucket::in_memory(BUCKET));
    let url = serve(Arc::clone(&bucket), |request| {
        SEEN.fetch_add(1, Ordering::SeqCst);
        let sent = format!("{} {:?}", request.uri(), request.headers()).to_lowercase();
        assert!(!sent.contains("server-side-encryption"), "{sent}");
    });
    let client = client(&url.await, ACCESS_KEY, "local", None);
    let form = fields(&client).await;
    assert!(!format!("{form:?} {}", policy(&form)).contains("server-side-encryption"), "{form:?}");
    assert_eq!(send(&bucket, upload(&form, b"x"), NOW).await.0, 303);
    let etag = client.read(KEY, 9, NOW).await.unwrap().unwrap().etag;
    assert_eq!(keep(&client, "resumes/7", &etag).await, Ok(()));
    assert_eq!(client.write("erased/7.json", b"{}".to_vec(), "application/json", NOW).await, Ok(()));
    let file = Bytes::from_static(b"x");
    assert_eq!(client.write_attachment("resumes/8", file, "application/pdf", NOW).await, Ok(()));
    assert_eq!(client.list("", None, NOW).await.unwrap().len(), 4);
    assert_eq!(client.delete("resumes/8", NOW).await, Ok(()));
    for url in
        [client.download_url(KEY, "a", NOW).await.unwrap(), client.preview_url(KEY, NOW).await.unwrap()]
    {
        assert!(!url.to_lowercase().contains("server-side-encryption"), "{url}");
    }
    let tried = client.try_encryption("incoming/smoke", NOW).await.unwrap();
    assert_eq!((tried.algorithm.as_deref(), tried.key), (Some("aws:kms"), None));
    assert!(client.read("incoming/smoke", 9, NOW).await.unwrap().is_none(), "it is deleted");
    assert_eq!(SEEN.load(Ordering::SeqCst), 9, "every request was looked at");
}

#[tokio::test]
async fn a_request_that_names_an_encryption_is_denied() {
    let (bucket, denied) = (LocalBucket::in_memory(BUCKET), outcome(403, "AccessDenied"));
    assert_eq!(send(&bucket, signed_put(&[]), NOW).await, outcome(200, ""));
    let copied = ("x-amz-copy-source", "resumes/resumes/7");
    assert_eq!(send(&bucket, signed_put(&[copied]), NOW).await, outcome(200, ""));
    for named in [
        ("x-amz-server-side-encryption", "AES256"),
        ("x-amz-server-side-encryption", "aws:kms"),
        ("x-amz-server-side-encryption-customer-algorithm", "AES256"),
    ] {
        assert_eq!(send(&bucket, signed_put(&[named]), NOW).await, denied, "{named:?}");
        assert_eq!(send(&bucket, signed_put(&[copied, named]), NOW).await, denied, "{named:?}");
    }
    // So is a form, even with a policy of the service that allows it.
    let valid = fields(&local_client()).await;
    for name in ["x-amz-server-side-encryption", "x-amz-server-side-encryption-aws-kms-key-id"] {
        let mut policy = policy(&valid);
        policy["conditions"].as_array_mut().unwrap().push(json!({ name: "aws:kms" }));
        let form = signed(&with(&valid, name, "aws:kms"), &policy);
        assert_eq!(send(&bucket, upload(&form, b"x"), NOW).await, denied, "{name}");
    }
    assert_eq!(bucket.storage.keys().await.ok().unwrap().len(), 1);
}

#[tokio::test]
async fn the_policy_limits_the_file_size() {
    let (bucket, valid) = (LocalBucket::in_memory(BUCKET), fields(&local_client()).await);
    let sized = async |size| send(&bucket, upload(&valid, &vec![b'x'; size]), NOW).await;
    assert_eq!(sized(0).await, outcome(400, "EntityTooSmall"));
    assert_eq!(sized(MAX_UPLOAD).await, outcome(303, ""));
    assert_eq!(sized(MAX_UPLOAD + 1).await, outcome(400, "EntityTooLarge"));
    assert!(upload(&valid, &vec![b'x'; MAX_UPLOAD]).body().len() < MAX_BODY);
}

#[tokio::test]
async fn every_kind_of_condition_is_checked() {
    let (bucket, valid) = (LocalBucket::in_memory(BUCKET), fields(&local_client()).await);
    let valid_policy = policy(&valid);
    let result_with = async |change: &dyn Fn(&mut Vec<Value>)| {
        let mut policy = valid_policy.clone();
        change(policy["conditions"].as_array_mut().unwrap());
        send(&bucket, upload(&signed(&valid, &policy), b"12345"), NOW).await
    };
    let (accepted, denied) = (outcome(303, ""), outcome(403, "AccessDenied"));
    let malformed_policy = outcome(400, "InvalidPolicyDocument");
    for (condition, expected) in [
        (json!(["eq", "$key", KEY]), &accepted),
        (json!(["EQ", "$Key", KEY]), &accepted),
        (json!(["starts-with", "$key", "incoming/"]), &accepted),
        (json!(["starts-with", "$key", ""]), &accepted),
        (json!(["eq", "$bucket", BUCKET]), &accepted),
        (json!(["content-length-range", 5, 5]), &accepted),
        (json!(["content-length-range", 6, 100]), &outcome(400, "EntityTooSmall")),
        (json!(["content-length-range", 0, 4]), &outcome(400, "EntityTooLarge")),
        (json!(["eq", "$key", "incoming/"]), &denied),
        (json!(["starts-with", "$key", "resumes/"]), &denied),
        (json!(["starts-with", "$content-type", ""]), &denied),
        (json!({"bucket": "other"}), &denied),
        (json!({"acl": "private"}), &denied),
        (json!(["ends-with", "$key", "7"]), &malformed_policy),
        (json!(["eq", "key", KEY]), &malformed_policy),
        (json!(["eq", "$key"]), &malformed_policy),
        (json!({"key": KEY, "bucket": BUCKET}), &malformed_policy),
        (json!({"key": 7}), &malformed_policy),
        (json!("key"), &malformed_policy),
    ] {
        assert_eq!(
            result_with(&|conditions| conditions.push(condition.clone())).await,
            *expected,
            "{condition}"
        );
    }
    for name in ["key", "x-amz-date", "success_action_redirect"] {
        let result =
            result_with(&|conditions| conditions.retain(|condition| condition.get(name).is_none())).await;
        assert_eq!(result, denied, "{name}");
    }
    let mut with_acl = valid_policy.clone();
    with_acl["conditions"].as_array_mut().unwrap().push(json!({"acl": "public-read"}));
    let fields = signed(&with(&valid, "acl", "public-read"), &with_acl);
    assert_eq!(send(&bucket, upload(&fields, b"x"), NOW).await, outcome(501, "NotImplemented"));
    for policy in [json!({}), json!([]), json!({"expiration": "soon", "conditions": []})] {
        assert_eq!(
            send(&bucket, upload(&signed(&valid, &policy), b"x"), NOW).await,
            malformed_policy,
            "{policy}"
        );
    }
    // A key cannot point outside the folder, even if the policy allows it.
    for key in ["../x", "/x", "a//b", "a/./b", "${filename}", ".part-0", "a\\b", ""] {
        let policy = json!({"expiration": "2026-11-20T13:00:00Z", "conditions": valid.iter()
            .filter(|(name, _)| !matches!(&**name, "key" | "policy" | "x-amz-signature"))
            .map(|(name, value)| json!({name: value}))
            .chain([json!(["starts-with", "$key", ""])]).collect::<Vec<_>>()});
        let fields = signed(&with(&valid, "key", key), &policy);
        assert_eq!(send(&bucket, upload(&fields, b"x"), NOW).await, outcome(400, "InvalidURI"), "{key}");
    }
}

#[tokio::test]
async fn malformed_forms_are_rejected() {
    let (bucket, valid) = (LocalBucket::in_memory(BUCKET), fields(&local_client()).await);
    let parts: Vec<_> = valid.iter().map(|(name, value)| part(name, value.as_bytes())).collect();
    let (parts, file, end) = (parts.concat(), part("file", b"x"), b"--b0undary--\r\n".to_vec());
    let result_of = async |body: &[&[u8]]| send(&bucket, post_request(body.concat()), NOW).await;
    let (invalid, broken) = (outcome(400, "InvalidArgument"), outcome(400, "MalformedPOSTRequest"));
    assert_eq!(result_of(&[&parts, &end]).await, invalid);
    assert_eq!(result_of(&[&part("key", KEY.as_bytes()), &parts, &file, &end]).await, invalid);
    assert_eq!(result_of(&[&part("x-ignore-it", b"\xFF"), &parts, &file, &end]).await, invalid);
    assert_eq!(result_of(&[&file, &parts, &end]).await, invalid, "the file must come last");
    assert_eq!(result_of(&[&parts, &file, &part("acl", b"x"), &end]).await, outcome(303, ""));
    assert_eq!(result_of(&[&parts, &file[..file.len() - 3]]).await, broken);
    assert_eq!(result_of(&[]).await, broken);
    let long = outcome(400, "MaxPostPreDataLengthExceeded");
    assert_eq!(result_of(&[&parts, &part("x-ignore-it", &vec![b'x'; MAX_FIELDS]), &file, &end]).await, long);
    let mut untyped = upload(&valid, b"x");
    untyped.headers_mut().remove(CONTENT_TYPE);
    assert_eq!(send(&bucket, untyped, NOW).await, outcome(412, "PreconditionFailed"));
    for (path, expected) in [
        ("/resumes/", outcome(303, "")),
        ("/resumes/incoming/7", outcome(405, "MethodNotAllowed")),
        ("/other", outcome(404, "NoSuchBucket")),
        ("/resumesx", outcome(404, "NoSuchBucket")),
    ] {
        let mut request = upload(&valid, b"x");
        *request.uri_mut() = path.parse().unwrap();
        assert_eq!(bucket.owns(path), expected.0 != 404, "{path}");
        assert_eq!(send(&bucket, request, NOW).await, expected, "{path}");
    }
    let patched = Request::patch("/resumes/incoming/7").body(Bytes::new()).unwrap();
    assert_eq!(send(&bucket, patched, NOW).await, outcome(405, "MethodNotAllowed"));
}

#[tokio::test]
async fn a_presigned_url_works_until_it_is_changed_or_expires() {
    let (bucket, client_without_token) = (LocalBucket::in_memory(BUCKET), local_client());
    assert_eq!(send(&bucket, upload(&fields(&client_without_token).await, b"x"), NOW).await.0, 303);
    let url = client_without_token.download_url(KEY, "a.txt", NOW).await.unwrap();
    let (accepted, denied) = (outcome(200, ""), outcome(403, "AccessDenied"));
    let start: Timestamp = "2026-11-20T12:30:00Z".parse().unwrap();
    for (seconds, expected) in [(-901, &denied), (-900, &accepted), (3599, &accepted), (3600, &denied)] {
        let now = start + SignedDuration::from_secs(seconds);
        assert_eq!(send(&bucket, get_request(&url), now).await, *expected, "{seconds}");
    }
    let mismatch = outcome(403, "SignatureDoesNotMatch");
    let query = outcome(400, "AuthorizationQueryParametersError");
    let malformed = outcome(400, "AuthorizationHeaderMalformed");
    for (from, to, expected) in [
        ("a.txt", "a.exe", &mismatch),
        ("octet-stream", "x", &mismatch),
        ("incoming/7", "incoming/8", &mismatch),
        ("X-Amz-Expires=3600", "X-Amz-Expires=7200", &mismatch),
        ("X-Amz-Signature=", "X-Amz-Signature=0", &mismatch),
        ("X-Amz-Date=20261120T123000Z", "X-Amz-Date=20261120T123100Z", &mismatch),
        ("?", "?x-id=GetObject&", &mismatch),
        ("X-Amz-Expires=3600", "X-Amz-Expires=0", &query),
        ("X-Amz-Expires=3600", "X-Amz-Expires=604801", &query),
        ("X-Amz-Expires=3600", "X-Amz-Expires=x", &query),
        ("&X-Amz-Expires=3600", "", &query),
        ("HMAC-SHA256", "HMAC-SHA1", &query),
        ("local%2F2026", "else%2F2026", &outcome(403, "InvalidAccessKeyId")),
        ("%2Fs3%2F", "%2Fsqs%2F", &malformed),
        ("?", "?X-Amz-Expires=1&", &malformed),
        ("a.txt", "%FF", &malformed),
        ("SignedHeaders=host", "SignedHeaders=range", &denied),
        ("X-Amz-Signature=", "X-Amz-Unsigned=", &denied),
        ("?", "?versionId=1&", &outcome(501, "NotImplemented")),
        ("incoming/7", "incoming/../7", &outcome(400, "InvalidURI")),
        ("incoming/7", "%69ncoming/7", &outcome(400, "InvalidURI")),
        ("incoming/7", "", &outcome(400, "InvalidURI")),
    ] {
        assert_eq!(
            send(&bucket, get_request(&url.replacen(from, to, 1)), NOW).await,
            *expected,
            "{from} {to}"
        );
    }
    let mut unsigned_header = get_request(&url);
    unsigned_header.headers_mut().insert("x-amz-more", HeaderValue::from_static("x"));
    assert_eq!(send(&bucket, unsigned_header, NOW).await, denied);
    let mut other_host = get_request(&url);
    other_host.headers_mut().insert("host", HeaderValue::from_static("localhost:3000"));
    assert_eq!(send(&bucket, other_host, NOW).await, mismatch);
    let missing = client_without_token.download_url("incoming/none", "a.txt", NOW).await.unwrap();
    assert_eq!(send(&bucket, get_request(&missing), NOW).await, outcome(404, "NoSuchKey"));
    let client_with_token = client("http://127.0.0.1:3000", ACCESS_KEY, "local", Some("t"));
    let url = client_with_token.download_url(KEY, "a.txt", NOW).await.unwrap();
    assert_eq!(send(&bucket, get_request(&url), NOW).await, outcome(400, "InvalidToken"));
}

#[tokio::test]
async fn tampered_requests_are_rejected() {
    fn set(request: &mut Request<Bytes>, name: &'static str, value: &'static str) {
        request.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    let bucket = Arc::new(LocalBucket::in_memory(BUCKET));
    assert_eq!(send(&bucket, upload(&fields(&local_client()).await, b"x"), NOW).await.0, 303);
    let etag = etag(b"x");
    for (change, code) in [
        (|request| set(request, "content-type", "text/html"), "SignatureDoesNotMatch"),
        (|request| set(request, "x-amz-copy-source", "resumes/incoming/8"), "SignatureDoesNotMatch"),
        (|request| set(request, "x-amz-copy-source-if-match", ""), "SignatureDoesNotMatch"),
        (|request| set(request, "x-amz-acl", "public-read"), "AccessDenied"),
        (|request| set(request, "x-amz-date", "20261120T123455Z"), "SignatureDoesNotMatch"),
        (|request| set(request, "x-amz-date", "20261120T121955Z"), "RequestTimeTooSkewed"),
        (|request| set(request, "x-amz-date", "20261120T124957Z"), "RequestTimeTooSkewed"),
        (|request| set(request, "x-amz-content-sha256", UNSIGNED_PAYLOAD), "SignatureDoesNotMatch"),
        (|request| set(request, "x-amz-content-sha256", ""), "XAmzContentSHA256Mismatch"),
        (|request| *request.body_mut() = Bytes::from_static(b"x"), "XAmzContentSHA256Mismatch"),
        (|request| *request.uri_mut() = "/resumes/resumes/8".parse().unwrap(), "SignatureDoesNotMatch"),
        (|request| set(request, "authorization", "Bearer x"), "AuthorizationHeaderMalformed"),
        (|request| drop(request.headers_mut().remove("authorization")), "AccessDenied"),
        (|request| drop(request.headers_mut().remove("x-amz-date")), "InvalidRequest"),
    ] as [(fn(&mut Request<Bytes>), &str); 14]
    {
        let url = serve(Arc::clone(&bucket), change).await;
        let client = client(&url, ACCESS_KEY, "local", None);
        assert_eq!(
            keep(&client, "resumes/7", &etag).await,
            Err(BucketError::Refused(code.to_owned())),
            "{code}"
        );
    }
    let url = serve(Arc::clone(&bucket), |_| ()).await;
    for (access_key, secret, token, code) in [
        (ACCESS_KEY, "guessed", None, "SignatureDoesNotMatch"),
        ("else", "local", None, "InvalidAccessKeyId"),
        (ACCESS_KEY, "local", Some("token"), "InvalidToken"),
    ] {
        let error = client(&url, access_key, secret, token).read(KEY, 5, NOW).await.err();
        assert_eq!(error, Some(BucketError::Refused(code.to_owned())));
    }
    assert!(bucket.storage.read("resumes/7").await.ok().unwrap().is_none(), "nothing was copied");
}

/// A request with these headers that stores or copies an object at `resumes/7`.
fn signed_put(more: &[(&'static str, &str)]) -> Request<Bytes> {
    let mut request = Request::put("/resumes/resumes/7").body(Bytes::new()).unwrap();
    let always = [
        ("host", "127.0.0.1:3000"),
        ("x-amz-content-sha256", UNSIGNED_PAYLOAD),
        ("x-amz-date", "20261120T123456Z"),
        ("x-amz-metadata-directive", "REPLACE"),
        ("x-amz-tagging-directive", "REPLACE"),
    ];
    let headers: BTreeMap<_, _> = always.iter().chain(more).copied().collect();
    for (name, value) in &headers {
        request.headers_mut().insert(*name, HeaderValue::try_from(*value).unwrap());
    }
    let signed: Vec<_> = headers.into_keys().collect();
    let canonical = canonical_request(&request, &Parameters::new(), &signed, UNSIGNED_PAYLOAD);
    let scope = "20261120/us-east-1/s3/aws4_request";
    let hash = hex(&Sha256::digest(canonical));
    let key = signing_key(&format!("{ACCESS_KEY}/{scope}"), NOW).ok().unwrap();
    let to_sign = format!("{ALGORITHM}\n20261120T123456Z\n{scope}\n{hash}");
    let (headers, signature) = (signed.join(";"), hex(&hmac(&key, to_sign.as_bytes())));
    let credential = format!("{ACCESS_KEY}/{scope}");
    let authorization =
        format!("{ALGORITHM} Credential={credential}, SignedHeaders={headers}, Signature={signature}");
    request.headers_mut().insert(AUTHORIZATION, HeaderValue::try_from(authorization).unwrap());
    request
}

/// As S3 does, it does not say that an object is missing to whoever may not list the bucket.
#[tokio::test]
async fn only_what_is_permitted_is_done() {
    let denied = Err(BucketError::Refused("AccessDenied".to_owned()));
    for may_list in [false, true] {
        let bucket = LocalBucket::in_memory(BUCKET).permitting(Box::new(move |action, key| match action {
            "s3:ListBucket" => may_list,
            "s3:GetObject" => key.starts_with("incoming/"),
            _ => action == "s3:PutObject",
        }));
        let client = client(&serve(Arc::new(bucket), |_| ()).await, ACCESS_KEY, "local", None);
        assert_eq!(client.has(KEY, NOW).await, if may_list { Ok(false) } else { denied.clone() });
        let copied = keep(&client, "resumes/7", "\"e\"").await;
        let missing = Err(BucketError::Changed);
        assert_eq!(copied, if may_list { missing } else { denied.clone().map(|_| ()) });
        assert_eq!(client.list("incoming/", None, NOW).await.is_ok(), may_list);
        for key in [KEY, "resumes/7"] {
            client.write(key, b"x".to_vec(), "text/plain", NOW).await.unwrap();
        }
        assert_eq!(client.has(KEY, NOW).await, Ok(true));
        assert_eq!(client.has("resumes/7", NOW).await, denied);
        assert_eq!(client.delete(KEY, NOW).await, denied.clone().map(|_| ()));
        // A browser is not asked who has signed its form.
        let url = client.download_url("resumes/7", "a.txt", NOW).await.unwrap();
        let http_client = HttpClient::new().unwrap();
        let answer = http_client.send(http_client.get(&url)).await;
        assert_eq!(answer.unwrap().status, 200);
    }
}

#[tokio::test]
async fn only_objects_of_the_bucket_can_be_copied() {
    let bucket = LocalBucket::in_memory(BUCKET);
    assert_eq!(send(&bucket, upload(&fields(&local_client()).await, b"x"), NOW).await.0, 303);
    let copy_request = |source: &str| signed_put(&[("x-amz-copy-source", source)]);
    for source in ["/resumes/incoming/7", "resumes/incoming/7"] {
        assert_eq!(send(&bucket, copy_request(source), NOW).await, outcome(200, ""), "{source}");
    }
    for source in
        ["resumes/../x", "resumes//etc/passwd", "resumes/", "other/incoming/7", "resumesx", "incoming/7", ""]
    {
        assert_eq!(send(&bucket, copy_request(source), NOW).await, outcome(400, "InvalidURI"), "{source}");
    }
    assert_eq!(send(&bucket, copy_request("resumes/incoming/8"), NOW).await, outcome(404, "NoSuchKey"));
}

#[tokio::test]
async fn a_storage_failure_is_an_internal_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, "").unwrap();
    let bucket = LocalBucket::in_folder(BUCKET, path);
    let request = upload(&fields(&local_client()).await, b"x");
    assert_eq!(send(&bucket, request, NOW).await, outcome(500, "InternalError"));
    let url = local_client().download_url(KEY, "a.txt", NOW).await.unwrap();
    assert_eq!(send(&bucket, get_request(&url), NOW).await, outcome(404, "NoSuchKey"));
}

proptest! {
    #[test]
    fn arbitrary_requests_get_an_error_response(
        body in prop_oneof![prop::collection::vec(any::<u8>(), 0..300), any::<String>().prop_map(|text| part(&text, b"x"))],
        path in "/(resumes(/[ -~&&[^ \"<>`{}|^\\\\#]]{0,20})?)?",
        authorization in "(AWS4-HMAC-SHA256 )?[ -~]{0,60}",
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for method in [Method::GET, Method::POST, Method::PUT] {
            let mut request = post_request(body.clone());
            *request.method_mut() = method;
            *request.uri_mut() = path.parse().unwrap();
            request.headers_mut().insert("authorization", HeaderValue::try_from(&authorization).unwrap());
            let bucket = LocalBucket::in_memory(BUCKET);
            let status = runtime.block_on(bucket.handle(request, NOW)).status();
            prop_assert!(status.is_client_error() || status == StatusCode::NOT_IMPLEMENTED, "{}", status);
        }
    }
}
