//! Signature Version 4: verifies the signatures of requests, presigned URLs and upload forms.

use shared::clock::Timestamp;
use std::collections::HashMap;

use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use http::Request;
use http::header::AUTHORIZATION;
use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};

use super::error::S3Error;
use super::form::Form;
use super::request::{Parameters, header_text};

/// The only access key, which is also its own secret. It gives access only to this bucket.
pub const ACCESS_KEY: &str = "local";
/// The bucket's region, which is also the region in the README's commands for `sam local`.
pub const REGION: &str = "us-east-1";
pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";
pub(super) const UNSIGNED_PAYLOAD: &str = "UNSIGNED-PAYLOAD";
/// Characters that stay unescaped in a canonical query string.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The maximum difference between a request's time and the clock.
// S3's limit, and so is the next one.
const MAX_SKEW: SignedDuration = SignedDuration::from_mins(15);
/// The maximum lifetime of a presigned URL, in seconds.
const MAX_EXPIRES: i64 = 7 * 24 * 60 * 60;

/// A request's signature and its parameters, not verified yet.
struct Claim<'r> {
    credential: &'r str,
    signed_headers: &'r str,
    signature: &'r str,
    time: Timestamp,
    payload_hash: &'r str,
}

/// Verifies that a request is signed with the access key, in its headers or its query string, and that the signature has
/// not expired. Returns the query parameters.
pub(super) fn verify_request(request: &Request<Bytes>, now: Timestamp) -> Result<Parameters, S3Error> {
    let headers = request.headers();
    let parameters = parse_query(request.uri().query().unwrap_or_default())?;
    let claim = match header_text(headers, AUTHORIZATION.as_str()) {
        Some(authorization) => Claim::from_headers(authorization, request, now)?,
        None if parameters.contains_key("X-Amz-Signature") => Claim::from_query(&parameters, now)?,
        None => return Err(S3Error::access_denied("The request is not signed.")),
    };
    let key = signing_key(claim.credential, claim.time)?;
    let signed: Vec<_> = claim.signed_headers.split(';').collect();
    let must_be_signed = |name: &str| name == "host" || name.starts_with("x-amz-");
    let mut names = headers.keys().map(http::HeaderName::as_str);
    if !signed.contains(&"host") || names.any(|name| must_be_signed(name) && !signed.contains(&name)) {
        return Err(S3Error::access_denied("The host and all x-amz- headers must be signed."));
    }
    let canonical = canonical_request(request, &parameters, &signed, claim.payload_hash);
    let (_, scope) = claim.credential.split_once('/').ok_or_else(S3Error::malformed_authorization)?;
    let time = claim.time.strftime("%Y%m%dT%H%M%SZ");
    let to_sign = format!("{ALGORITHM}\n{time}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
    if claim.signature != hex(&hmac(&key, to_sign.as_bytes())) {
        return Err(S3Error::signature_mismatch());
    }
    if headers.contains_key("x-amz-security-token") || parameters.contains_key("X-Amz-Security-Token") {
        return Err(S3Error::unexpected_token());
    }
    Ok(parameters)
}

/// Verifies that the policy of a form is signed with the access key. Returns the policy, still in base64.
pub(super) fn verify_form(form: &Form) -> Result<&str, S3Error> {
    let policy = form.field("policy")?;
    if form.field("x-amz-algorithm")? != ALGORITHM {
        return Err(S3Error::invalid_argument(format!("The algorithm must be {ALGORITHM}.")));
    }
    let time = parse_time(form.field("x-amz-date")?)?;
    let key = signing_key(form.field("x-amz-credential")?, time)?;
    if form.field("x-amz-signature")? != hex(&hmac(&key, policy.as_bytes())) {
        return Err(S3Error::signature_mismatch());
    }
    if form.fields.contains_key("x-amz-security-token") {
        return Err(S3Error::unexpected_token());
    }
    Ok(policy)
}

impl<'r> Claim<'r> {
    fn from_headers(
        authorization: &'r str,
        request: &'r Request<Bytes>,
        now: Timestamp,
    ) -> Result<Self, S3Error> {
        let parts = authorization.strip_prefix(ALGORITHM).ok_or_else(S3Error::malformed_authorization)?;
        let parts: HashMap<_, _> = parts.split(',').filter_map(|part| part.trim().split_once('=')).collect();
        let part = |name: &str| parts.get(name).copied().ok_or_else(S3Error::malformed_authorization);
        let header = |name: &str| {
            let value = header_text(request.headers(), name);
            value.ok_or_else(|| S3Error::new(400, "InvalidRequest", format!("The header {name} is missing.")))
        };
        let (time, payload_hash) = (parse_time(header("x-amz-date")?)?, header("x-amz-content-sha256")?);
        if now.duration_since(time).abs() > MAX_SKEW {
            let message = "The request's time differs too much from the server's.";
            return Err(S3Error::new(403, "RequestTimeTooSkewed", message));
        }
        if payload_hash != UNSIGNED_PAYLOAD && payload_hash != hex(&Sha256::digest(request.body())) {
            let message = "The body does not match x-amz-content-sha256.";
            return Err(S3Error::new(400, "XAmzContentSHA256Mismatch", message));
        }
        let (credential, signed_headers) = (part("Credential")?, part("SignedHeaders")?);
        Ok(Self { credential, signed_headers, signature: part("Signature")?, time, payload_hash })
    }

    fn from_query(parameters: &'r Parameters, now: Timestamp) -> Result<Self, S3Error> {
        let invalid = || {
            let message = "A signature parameter is missing or invalid.";
            S3Error::new(400, "AuthorizationQueryParametersError", message)
        };
        let parameter = |name: &str| parameters.get(name).map(String::as_str).ok_or_else(invalid);
        let time = parse_time(parameter("X-Amz-Date")?)?;
        let expires =
            parameter("X-Amz-Expires")?.parse().ok().filter(|seconds| (1..=MAX_EXPIRES).contains(seconds));
        let lifetime = SignedDuration::from_secs(expires.ok_or_else(invalid)?);
        if parameter("X-Amz-Algorithm")? != ALGORITHM {
            return Err(invalid());
        }
        let age = now.duration_since(time);
        if age < -MAX_SKEW {
            return Err(S3Error::access_denied("The request is not valid yet."));
        }
        if age >= lifetime {
            return Err(S3Error::access_denied("The request has expired."));
        }
        let (credential, signed_headers) =
            (parameter("X-Amz-Credential")?, parameter("X-Amz-SignedHeaders")?);
        let signature = parameter("X-Amz-Signature")?;
        Ok(Self { credential, signed_headers, signature, time, payload_hash: UNSIGNED_PAYLOAD })
    }
}

/// The canonical request, which the signature covers. The path needs no encoding, because it contains a valid key.
pub(super) fn canonical_request(
    request: &Request<Bytes>,
    parameters: &Parameters,
    signed_headers: &[&str],
    payload_hash: &str,
) -> String {
    let encoded = |text: &str| utf8_percent_encode(text, &UNRESERVED).to_string();
    let query = parameters.iter().filter(|(name, _)| *name != "X-Amz-Signature");
    let mut query: Vec<_> =
        query.map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    query.sort_unstable();
    let header = |name: &&str| {
        let values = request.headers().get_all(*name).iter();
        let values = values.filter_map(|value| str::from_utf8(value.as_bytes()).ok());
        let values: Vec<_> = values
            .map(|value| value.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
            .collect();
        format!("{name}:{}\n", values.join(","))
    };
    let headers: String = signed_headers.iter().map(header).collect();
    let (method, path) = (request.method(), request.uri().path());
    let (query, names) = (query.join("&"), signed_headers.join(";"));
    format!("{method}\n{path}\n{query}\n{headers}\n{names}\n{payload_hash}")
}

/// The signing key of this credential for the day of `time`.
pub(super) fn signing_key(credential: &str, time: Timestamp) -> Result<[u8; 32], S3Error> {
    let mut parts = credential.split('/');
    if parts.next() != Some(ACCESS_KEY) {
        return Err(S3Error::new(403, "InvalidAccessKeyId", "The access key does not exist."));
    }
    let day = time.strftime("%Y%m%d").to_string();
    if !parts.eq([day.as_str(), REGION, "s3", "aws4_request"]) {
        return Err(S3Error::malformed_authorization());
    }
    let key = hmac(format!("AWS4{ACCESS_KEY}").as_bytes(), day.as_bytes());
    Ok([REGION, "s3", "aws4_request"].iter().fold(key, |key, part| hmac(&key, part.as_bytes())))
}

fn parse_query(query: &str) -> Result<Parameters, S3Error> {
    let mut parameters = Parameters::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decoded = |text: &str| percent_decode_str(text).decode_utf8().map(String::from);
        let (Ok(name), Ok(value)) = (decoded(name), decoded(value)) else {
            return Err(S3Error::malformed_authorization());
        };
        let is_supported = name.starts_with("X-Amz-")
            || matches!(
                name.as_str(),
                "list-type"
                    | "max-keys"
                    | "prefix"
                    | "response-content-disposition"
                    | "response-content-type"
                    | "start-after"
                    | "tagging"
                    | "uploads"
                    | "uploadId"
                    | "partNumber"
                    | "x-id"
            );
        if !is_supported {
            return Err(S3Error::not_implemented(format!("The parameter {name} is not supported here.")));
        }
        if parameters.insert(name, value).is_some() {
            return Err(S3Error::malformed_authorization());
        }
    }
    Ok(parameters)
}

fn parse_time(text: &str) -> Result<Timestamp, S3Error> {
    let time = DateTime::strptime("%Y%m%dT%H%M%SZ", text).and_then(|time| time.to_zoned(TimeZone::UTC));
    time.map(|time| time.timestamp().into()).map_err(|_| S3Error::malformed_authorization())
}

/// HMAC-SHA256.
pub(super) fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    // HMAC accepts keys of any length, so this never fails.
    let hmac = Hmac::<Sha256>::new_from_slice(key).map(|hmac| hmac.chain_update(message));
    hmac.map(|hmac| hmac.finalize().into_bytes().into()).unwrap_or_default()
}

/// `bytes` in lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xF]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}
