//! A client for the WhatsApp Cloud API. It checks whether a phone number can send messages, but sends none itself.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;

use super::client::{HttpClient, Provider, Response};
use crate::secret::Secret;

/// The version of Meta's Graph API. Meta serves it until 8 October 2027.
const VERSION: &str = "v23.0";
/// The maximum length of WhatsApp's reasons, in characters.
const MAX_REASONS: usize = 500;
const RATE_LIMITED: Health = Health::Unavailable("WhatsApp's rate limit is reached");
const TEMPORARY: Health = Health::Unavailable("WhatsApp had a temporary error");
const UNREADABLE: Health = Health::Unavailable("WhatsApp's response could not be read");

/// A client for the WhatsApp Cloud API.
#[derive(Clone, Debug)]
pub struct WhatsApp {
    http: HttpClient,
    api_url: String,
}

/// The status of a phone number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// The number can send messages.
    Connected {
        /// The verified name and the formatted number, or one of them.
        account: String,
        /// A warning.
        detail: Option<String>,
    },
    /// The number cannot send messages until someone fixes the problem.
    Error {
        /// The problem, as a sentence.
        detail: String,
    },
    /// The token has expired or was revoked.
    Expired,
    /// WhatsApp gave no usable response, for this reason: rate limit, error or timeout. The last known status still
    /// applies.
    Unavailable(&'static str),
}

impl WhatsApp {
    /// Creates a client for the API at `api_url` (without a trailing slash).
    pub fn new(http: HttpClient, api_url: String) -> Self {
        Self { http: http.of(Provider::WhatsApp), api_url }
    }

    /// Checks the status of a number, with this time limit.
    pub async fn health(&self, phone_number_id: &str, token: &Secret, timeout: Duration) -> Health {
        if !(1..=20).contains(&phone_number_id.len())
            || !phone_number_id.bytes().all(|byte| byte.is_ascii_digit())
        {
            return error("The phone number id must be 1 to 20 digits");
        }
        let url = format!(
            "{}/{VERSION}/{phone_number_id}?fields=id,display_phone_number,verified_name,quality_rating,health_status",
            self.api_url
        );
        let response = self.http.send(self.http.get(&url).bearer_auth(token.expose()));
        match tokio::time::timeout(timeout, response).await {
            Ok(Ok(response)) => parse(&response),
            Ok(Err(_)) | Err(_) => Health::Unavailable("WhatsApp did not answer"),
        }
    }
}

fn error(detail: &str) -> Health {
    Health::Error { detail: detail.to_owned() }
}

fn parse(response: &Response) -> Health {
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let error = body.get("error");
    let code = error.and_then(|error| error.get("code")).and_then(Value::as_i64);
    // A missing permission comes with the status 500.
    if response.status.is_server_error() && code != Some(3) {
        return Health::Unavailable("WhatsApp had a server error");
    }
    if response.status == StatusCode::TOO_MANY_REQUESTS {
        return RATE_LIMITED;
    }
    match (error, code) {
        (Some(error), Some(code)) => parse_error(error, code),
        (None, _) if response.status.is_success() && body.is_object() => parse_number(&body),
        _ => UNREADABLE,
    }
}

/// The meaning of an error, by the codes of Meta's Graph API and of the Cloud API.
fn parse_error(details: &Value, code: i64) -> Health {
    let subcode = details.get("error_subcode").and_then(Value::as_i64);
    let is_transient = details.get("is_transient") == Some(&Value::Bool(true));
    match (code, subcode) {
        // The limits of an app, a user, an account, and a number.
        (4 | 17 | 613 | 80007 | 80008 | 130_429, _) => RATE_LIMITED,
        (1 | 2, _) => TEMPORARY,
        _ if is_transient => TEMPORARY,
        (0 | 190, _) => Health::Expired,
        (3 | 10 | 200..=299, _) => error("The token has no permission to read this phone number"),
        (33 | 803, _) | (100, Some(33)) => {
            error("WhatsApp has no phone number with this id, or the token may not read it")
        }
        (368 | 131_031, _) => error("WhatsApp has restricted the account of this number"),
        _ => Health::Error { detail: format!("WhatsApp returned error {code}") },
    }
}

fn parse_number(number: &Value) -> Health {
    let text = |name: &str| number.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let limited = match number.pointer("/health_status/can_send_message").and_then(Value::as_str) {
        Some("AVAILABLE") => None,
        Some("LIMITED") => {
            Some(with_reasons("WhatsApp limits the messages that this number can send", number))
        }
        Some("BLOCKED") => {
            let detail = with_reasons("WhatsApp has blocked this number from sending messages", number);
            return Health::Error { detail };
        }
        _ => return error("WhatsApp did not report whether this number can send messages"),
    };
    let quality = match text("quality_rating") {
        Some("YELLOW") => Some("WhatsApp rates the message quality as medium"),
        Some("RED") => Some("WhatsApp rates the message quality as low"),
        _ => None,
    };
    let account = match (text("verified_name"), text("display_phone_number")) {
        (Some(name), Some(display)) => format!("{name} ({display})"),
        (name, display) => name.or(display).unwrap_or("WhatsApp").to_owned(),
    };
    let notes: Vec<_> = limited.into_iter().chain(quality.map(str::to_owned)).collect();
    Health::Connected { account, detail: (!notes.is_empty()).then(|| notes.join("; ")) }
}

/// The sentence with WhatsApp's reasons: what it says about the number, its account, the business and the app, and what to
/// do about it.
fn with_reasons(sentence: &str, number: &Value) -> String {
    let list =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let health = number.get("health_status").unwrap_or(&Value::Null);
    let mut reasons: Vec<String> = Vec::new();
    for entity in list(health, "entities") {
        let errors = list(&entity, "errors").into_iter().map(|error| {
            let parts = ["error_description", "possible_solution"]
                .map(|name| error.get(name).and_then(Value::as_str));
            parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
        });
        let infos = list(&entity, "additional_info").into_iter();
        let infos = infos.filter_map(|info| info.as_str().map(str::to_owned));
        for reason in errors.chain(infos) {
            let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
            if !reason.is_empty() && !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    if reasons.is_empty() {
        return sentence.to_owned();
    }
    let reasons: String = reasons.join(" ").chars().filter(|c| !c.is_control()).take(MAX_REASONS).collect();
    format!("{sentence}: {reasons}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::test_server::{NOWHERE, Play, TestServer};
    use proptest::prelude::*;
    use reqwest::header::HeaderMap;
    use serde_json::json;

    const TIMEOUT: Duration = Duration::from_secs(3);

    async fn health(play: &Play) -> Health {
        let test_server = TestServer::playing(play).await;
        let health = WhatsApp::new(HttpClient::new().unwrap(), test_server.url.clone())
            .health("106540352242922", &Secret::new("token-1"), TIMEOUT)
            .await;
        let request = test_server.request();
        assert_eq!(
            request.line,
            "GET /v23.0/106540352242922?fields=id,display_phone_number,verified_name,quality_rating,health_status \
             HTTP/1.1"
        );
        assert_eq!(request.header("authorization"), "Bearer token-1");
        assert_eq!(request.body, "");
        health
    }

    fn number(can_send: &str, quality: &str) -> Value {
        json!({
            "id": "106540352242922", "display_phone_number": "+1 555-0100", "verified_name": "Acme",
            "quality_rating": quality, "status": "WHATEVER",
            "health_status": {"can_send_message": can_send, "entities": [
                {"entity_type": "PHONE_NUMBER", "id": "106540352242922", "can_send_message": can_send, "errors": 7},
            ]},
        })
    }

    #[tokio::test]
    async fn a_number_that_can_send_is_connected() {
        let limited = "WhatsApp limits the messages that this number can send";
        let medium = "WhatsApp rates the message quality as medium";
        for (can_send, quality, detail) in [
            ("AVAILABLE", "GREEN", None),
            ("AVAILABLE", "NA", None),
            ("AVAILABLE", "PURPLE", None),
            ("AVAILABLE", "YELLOW", Some(medium.to_owned())),
            ("AVAILABLE", "RED", Some("WhatsApp rates the message quality as low".to_owned())),
            ("LIMITED", "GREEN", Some(limited.to_owned())),
            ("LIMITED", "YELLOW", Some(format!("{limited}; {medium}"))),
        ] {
            let connected = Health::Connected { account: "Acme (+1 555-0100)".to_owned(), detail };
            let body = number(can_send, quality).to_string();
            assert_eq!(health(&Play::json(200, &body)).await, connected, "{can_send} {quality}");
        }
        for (can_send, detail) in [
            ("BLOCKED", "WhatsApp has blocked this number from sending messages"),
            ("RESTING", "WhatsApp did not report whether this number can send messages"),
        ] {
            let body = number(can_send, "GREEN").to_string();
            assert_eq!(health(&Play::json(200, &body)).await, error(detail), "{can_send}");
        }
        assert!(matches!(health(&Play::json(200, r#"{"id": "1"}"#)).await, Health::Error { .. }));
    }

    #[tokio::test]
    async fn the_account_is_the_verified_name_or_the_number() {
        for (missing, account) in
            [(["verified_name", ""], "+1 555-0100"), (["display_phone_number", "verified_name"], "WhatsApp")]
        {
            let mut number = number("AVAILABLE", "GREEN");
            for name in missing {
                number[name] = json!("");
            }
            let connected = Health::Connected { account: account.to_owned(), detail: None };
            assert_eq!(health(&Play::json(200, &number.to_string())).await, connected);
        }
    }

    #[tokio::test]
    async fn error_codes_map_to_statuses() {
        let no_permission = error("The token has no permission to read this phone number");
        let no_number = error("WhatsApp has no phone number with this id, or the token may not read it");
        let restricted = error("WhatsApp has restricted the account of this number");
        for (status, code, expected) in [
            (401, 190, Health::Expired),
            (400, 190, Health::Expired),
            (401, 0, Health::Expired),
            (403, 10, no_permission.clone()),
            (403, 200, no_permission.clone()),
            (403, 299, no_permission.clone()),
            (500, 3, no_permission),
            (400, 33, no_number.clone()),
            (404, 803, no_number.clone()),
            (403, 368, restricted.clone()),
            (403, 131_031, restricted),
            (400, 1, TEMPORARY),
            (400, 2, TEMPORARY),
            (400, 4, RATE_LIMITED),
            (400, 17, RATE_LIMITED),
            (400, 613, RATE_LIMITED),
            (400, 80007, RATE_LIMITED),
            (400, 80008, RATE_LIMITED),
            (400, 130_429, RATE_LIMITED),
            (429, 130_429, RATE_LIMITED),
            (429, 190, RATE_LIMITED),
            (400, 100, error("WhatsApp returned error 100")),
            (400, 300, error("WhatsApp returned error 300")),
            (500, 190, Health::Unavailable("WhatsApp had a server error")),
        ] {
            let mut body = json!({"error": {"message": "No.", "type": "OAuthException", "code": code,
                "error_subcode": 463, "fbtrace_id": "A1"}});
            assert_eq!(health(&Play::json(status, &body.to_string())).await, expected, "{status} {code}");
            body["error"]["is_transient"] = json!(true);
            let transient = health(&Play::json(status, &body.to_string())).await;
            assert!(matches!(transient, Health::Unavailable(_)), "{status} {code}: {transient:?}");
        }
        // Graph API explorers see this error if the id is wrong or the number was not granted.
        let body = r#"{"error": {"message": "Unsupported get request.", "code": 100, "error_subcode": 33}}"#;
        assert_eq!(health(&Play::json(400, body)).await, no_number);
    }

    #[tokio::test]
    async fn the_reasons_of_a_limit_or_a_block_are_shown() {
        let payment = json!({"error_code": 141_006, "error_description": "There is an error with the payment method.",
            "possible_solution": "Add a payment method."});
        let entity = |kind: &str, more: Value| {
            let mut entity = json!({"entity_type": kind, "id": "1", "can_send_message": "BLOCKED"});
            entity.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            entity
        };
        let mut body = number("BLOCKED", "GREEN");
        body["health_status"]["entities"] = json!([
            entity("PHONE_NUMBER", json!({"errors": [payment, {"error_description": " "}, 7]})),
            entity("WABA", json!({"errors": [payment]})),
            entity("BUSINESS", json!({"additional_info": ["The business is not\u{1b} verified.", 7]})),
            entity("APP", json!({"errors": {}, "additional_info": "no"})),
            7,
        ]);
        let reasons =
            "There is an error with the payment method. Add a payment method. The business is not verified.";
        let blocked = format!("WhatsApp has blocked this number from sending messages: {reasons}");
        assert_eq!(health(&Play::json(200, &body.to_string())).await, error(&blocked));
        body["health_status"]["can_send_message"] = json!("LIMITED");
        let limited = format!("WhatsApp limits the messages that this number can send: {reasons}");
        let connected = Health::Connected { account: "Acme (+1 555-0100)".to_owned(), detail: Some(limited) };
        assert_eq!(health(&Play::json(200, &body.to_string())).await, connected);
        body["health_status"]["entities"] =
            json!([entity("APP", json!({"additional_info": ["long ".repeat(1_000)]}))]);
        let Health::Connected { detail: Some(detail), .. } = parse(&Response {
            status: StatusCode::OK,
            headers: HeaderMap::default(),
            body: body.to_string().into(),
        }) else {
            panic!("a number that can send")
        };
        assert!(detail.chars().count() < 600, "{detail}");
    }

    #[tokio::test]
    async fn an_unusable_response_is_unavailable() {
        let body = number("AVAILABLE", "GREEN").to_string();
        for play in [
            Play::html(200),
            Play::html(404),
            Play::html(502),
            Play::json(200, &body[..body.len() / 2]),
            Play::json(200, "[]"),
            Play::json(429, r#"{"error": {"code": "many"}}"#),
            Play::nothing(),
            Play::half(200, &body),
            Play::redirect(),
            Play::long(200, &body),
        ] {
            let health = health(&play).await;
            assert!(matches!(health, Health::Unavailable(_)), "{health:?}");
        }
        let nowhere = WhatsApp::new(HttpClient::new().unwrap(), NOWHERE.to_owned());
        let unreached = nowhere.health("1", &Secret::new("token-1"), TIMEOUT).await;
        assert_eq!(unreached, Health::Unavailable("WhatsApp did not answer"));
    }

    #[tokio::test]
    async fn a_hanging_request_times_out() {
        let before = tokio::time::Instant::now();
        assert_eq!(health(&Play::Hang).await, Health::Unavailable("WhatsApp did not answer"));
        assert!((TIMEOUT..2 * TIMEOUT).contains(&before.elapsed()), "{:?}", before.elapsed());
    }

    #[tokio::test]
    async fn a_malformed_id_is_an_error_without_a_request() {
        let whatsapp = WhatsApp::new(HttpClient::new().unwrap(), NOWHERE.to_owned());
        for id in ["", "1/../2", "123456789012345678901", "٣", "1?"] {
            let health = whatsapp.health(id, &Secret::new("token-1"), TIMEOUT).await;
            assert_eq!(health, error("The phone number id must be 1 to 20 digits"), "{id}");
        }
    }

    proptest! {
        #[test]
        fn only_a_successful_response_means_connected(status in 200u16..600, can_send in "AVAILABLE|LIMITED|[A-Z]{0,9}") {
            let status = StatusCode::from_u16(status).unwrap();
            let body = number(&can_send, "GREEN").to_string().into();
            let connected = matches!(
                parse(&Response { status, headers: HeaderMap::default(), body }),
                Health::Connected { .. }
            );
            prop_assert_eq!(connected, status.is_success() && matches!(&*can_send, "AVAILABLE" | "LIMITED"));
        }
    }
}
