//! Starts another Lambda function of the service, without waiting for its result.

use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sigv4::http_request::{SignableBody, SigningSettings};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::StatusCode;

use super::aws_signer::{AwsSigner, ToSign, Unsigned};
use super::client::{HttpClient, Provider, RequestError};
use crate::clock::Timestamp;

const SERVICE: &str = "lambda";
/// The characters of a function's name that stay unescaped in a path.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A function, and the credentials to start it.
#[derive(Clone, Debug)]
pub struct LambdaFunction {
    http: HttpClient,
    signer: AwsSigner,
    url: String,
}

/// Why a function was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvokeError {
    /// The request could not be signed, so nothing was sent.
    #[error("the request could not be signed: {0}")]
    Unsigned(&'static str),
    /// There was no response. The function may have been started.
    #[error("Lambda {0}")]
    Unanswered(RequestError),
    /// Lambda refused the request with this status.
    #[error("Lambda refused the request with status {}", _0.as_u16())]
    Refused(StatusCode),
}

impl LambdaFunction {
    /// Creates a client for a function: its name, its ARN or those of an alias. `endpoint` replaces the address of Lambda
    /// in the region. Fails if the region is invalid.
    pub fn new(
        http: HttpClient,
        credentials: SharedCredentialsProvider,
        name: &str,
        region: &str,
        endpoint: Option<&str>,
    ) -> Result<Self, String> {
        let signer = AwsSigner::new(credentials, region, SERVICE)?;
        let base = endpoint.map_or_else(|| format!("https://{}", signer.host()), str::to_owned);
        let name = utf8_percent_encode(name, &UNRESERVED);
        let url = format!("{}/2015-03-31/functions/{name}/invocations", base.trim_end_matches('/'));
        Ok(Self { http: http.of(Provider::Lambda), signer, url })
    }

    /// Starts the function with an event in JSON of at most 256 KiB, which is Lambda's limit. Lambda queues the event;
    /// it does not report whether the function succeeds.
    pub async fn start(&self, event: String, now: Timestamp) -> Result<(), InvokeError> {
        let headers = [("content-type", "application/json"), ("x-amz-invocation-type", "Event")];
        let body = SignableBody::Bytes(event.as_bytes());
        let to_sign = ToSign { method: "POST", url: &self.url, headers: &headers, body };
        let request = self.signer.add_to(self.http.post(&self.url), to_sign, SigningSettings::default(), now);
        let request = request.await.map_err(|Unsigned(reason)| InvokeError::Unsigned(reason))?;
        let response = self.http.send(request.body(event)).await.map_err(InvokeError::Unanswered)?;
        match response.status {
            StatusCode::ACCEPTED => Ok(()),
            status => Err(InvokeError::Refused(status)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::test_server::{NOWHERE, Play, TestServer};
    use aws_credential_types::Credentials;

    const NOW: Timestamp = Timestamp::constant(1_795_178_096, 0);
    const SECRET: &str = "hidden-4711";
    const EVENT: &str = r#"{"tenants":["1#live"]}"#;
    const ALIAS: &str = "arn:aws:lambda:eu-central-1:123456789012:function:rolecall-Deliver:live";

    fn function(endpoint: &str) -> LambdaFunction {
        let credentials =
            Credentials::new("ASIAIOSFODNN7EXAMPLE", SECRET, Some("token".to_owned()), None, "test");
        let credentials = SharedCredentialsProvider::new(credentials);
        let http = HttpClient::new().unwrap();
        LambdaFunction::new(http, credentials, ALIAS, "eu-central-1", Some(endpoint)).unwrap()
    }

    async fn started(play: &Play) -> Result<(), InvokeError> {
        let server = TestServer::playing(play).await;
        let result = function(&server.url).start(EVENT.to_owned(), NOW).await;
        let request = server.request();
        assert_eq!(
            request.line,
            "POST /2015-03-31/functions/arn%3Aaws%3Alambda%3Aeu-central-1%3A123456789012%3Afunction%3Arolecall-Deliver%3Alive\
             /invocations HTTP/1.1"
        );
        assert_eq!(request.body, EVENT);
        for (name, value) in [
            ("content-type", "application/json"),
            ("x-amz-invocation-type", "Event"),
            ("x-amz-date", "20261120T123456Z"),
            ("x-amz-security-token", "token"),
        ] {
            assert_eq!(request.header(name), value, "{name}");
        }
        let signed = "AWS4-HMAC-SHA256 Credential=ASIAIOSFODNN7EXAMPLE/20261120/eu-central-1/lambda/aws4_request, \
                      SignedHeaders=content-type;host;x-amz-date;x-amz-invocation-type;x-amz-security-token, Signature=";
        let authorization = request.header("authorization");
        assert!(authorization.starts_with(signed), "{authorization}");
        assert_eq!(authorization.len(), signed.len() + 64);
        result
    }

    #[tokio::test]
    async fn a_function_is_started_with_a_signed_request_and_every_fault_is_told() {
        assert_eq!(started(&Play::response(202, "", "")).await, Ok(()));
        for status in [200, 400, 403, 404, 429, 500] {
            let refused = InvokeError::Refused(StatusCode::from_u16(status).unwrap());
            assert_eq!(started(&Play::json(status, "{}")).await, Err(refused));
        }
        assert_eq!(started(&Play::nothing()).await, Err(InvokeError::Unanswered(RequestError::Lost)));
        assert_eq!(started(&Play::Hang).await, Err(InvokeError::Unanswered(RequestError::Lost)));
        tokio::time::resume();
        let unreached = function(NOWHERE).start(EVENT.to_owned(), NOW).await;
        assert_eq!(unreached, Err(InvokeError::Unanswered(RequestError::Unreached)));
    }

    /// The expected signature was computed from AWS's description of Signature Version 4, with Python's `hmac`.
    #[tokio::test]
    async fn the_signature_follows_awss_description() {
        let function = function("https://lambda.eu-central-1.amazonaws.com/");
        let headers = [("content-type", "application/json"), ("x-amz-invocation-type", "Event")];
        let to_sign = ToSign {
            method: "POST",
            url: &function.url,
            headers: &headers,
            body: SignableBody::Bytes(EVENT.as_bytes()),
        };
        let signed = function.signer.sign(to_sign, SigningSettings::default(), NOW).await.unwrap();
        let authorization = signed.headers().find(|(name, _)| *name == "authorization").unwrap().1;
        assert!(
            authorization
                .ends_with("Signature=36dfc7dc335533ded5b878ded80cc3adb4dbc7a6272031c9e1a6e40968bc95ad"),
            "{authorization}"
        );
    }

    #[test]
    fn a_function_in_china_has_a_chinese_address() {
        let credentials = SharedCredentialsProvider::new(Credentials::new("", "", None, None, "test"));
        let http = HttpClient::new().unwrap();
        let function = LambdaFunction::new(http, credentials, "f", "cn-north-1", None).unwrap();
        assert!(function.url.starts_with("https://lambda.cn-north-1.amazonaws.com.cn/"), "{}", function.url);
    }

    #[test]
    fn a_region_is_a_name_and_debug_output_has_no_secret() {
        let credentials = SharedCredentialsProvider::new(Credentials::new("", "", None, None, "test"));
        for region in ["", "eu.evil.example/", "EU"] {
            let http = HttpClient::new().unwrap();
            assert!(LambdaFunction::new(http, credentials.clone(), "f", region, None).is_err(), "{region}");
        }
        assert!(!format!("{:?}", function(NOWHERE)).contains(SECRET));
    }
}
