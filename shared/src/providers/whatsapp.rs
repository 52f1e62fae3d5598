//! The WhatsApp Cloud API: whether a phone number can send messages. Nothing is sent.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;

use super::client::{Answer, Outside};
use crate::secret::Secret;

const BUSY: Health = Health::Unavailable("WhatsApp takes no more calls for now");
const UNREADABLE: Health = Health::Unavailable("WhatsApp's answer could not be read");

/// The WhatsApp Cloud API.
#[derive(Clone, Debug)]
pub struct WhatsApp {
    outside: Outside,
    api_url: String,
}

/// How a phone number is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// It can send messages.
    Connected {
        /// The verified name and the number as people write it, or what there is of them.
        account: String,
        /// What people should know although it works.
        detail: Option<String>,
    },
    /// It cannot send messages until someone mends what `detail` names.
    Error {
        /// What is wrong, in a sentence.
        detail: String,
    },
    /// The token is spent or revoked.
    Expired,
    /// WhatsApp gave no answer to go by (too many calls, a fault, too slow), and why: what was known before still holds.
    Unavailable(&'static str),
}

impl WhatsApp {
    /// The API at `api_url` (without a final slash).
    pub fn new(outside: Outside, api_url: String) -> Self {
        Self { outside, api_url }
    }

    /// Asks how the number is doing, and waits no longer than `within`.
    pub async fn health(&self, phone_number_id: &str, token: &Secret, within: Duration) -> Health {
        if !(1..=20).contains(&phone_number_id.len())
            || !phone_number_id.bytes().all(|byte| byte.is_ascii_digit())
        {
            return error("The phone number id must be 1 to 20 digits");
        }
        let url = format!(
            "{}/v23.0/{phone_number_id}?fields=id,display_phone_number,verified_name,quality_rating,health_status",
            self.api_url
        );
        let call = self.outside.send(self.outside.get(&url).bearer_auth(token.expose()));
        match tokio::time::timeout(within, call).await {
            Ok(Ok(answer)) => judge(&answer),
            Ok(Err(_)) | Err(_) => Health::Unavailable("WhatsApp did not answer"),
        }
    }
}

fn error(detail: &str) -> Health {
    Health::Error { detail: detail.to_owned() }
}

fn judge(answer: &Answer) -> Health {
    if answer.status.is_server_error() {
        return Health::Unavailable("WhatsApp failed");
    }
    if answer.status == StatusCode::TOO_MANY_REQUESTS {
        return BUSY;
    }
    let Ok(said) = serde_json::from_slice::<Value>(&answer.body) else {
        return UNREADABLE;
    };
    match said.pointer("/error/code").and_then(Value::as_i64) {
        Some(190) => Health::Expired,
        Some(4 | 17 | 80007) => BUSY,
        Some(200) => error("The token may not read this phone number"),
        Some(803) => error("WhatsApp does not know this phone number id"),
        Some(code) => Health::Error { detail: format!("WhatsApp refused with its error {code}") },
        None if answer.status.is_success() && said.is_object() => read_number(&said),
        None => UNREADABLE,
    }
}

fn read_number(number: &Value) -> Health {
    let text = |name: &str| number.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let limited = match number.pointer("/health_status/can_send_message").and_then(Value::as_str) {
        Some("AVAILABLE") => None,
        Some("LIMITED") => Some("WhatsApp limits the messages that this number can send"),
        Some("BLOCKED") => return error("WhatsApp does not let this number send messages"),
        _ => return error("WhatsApp does not say that this number can send messages"),
    };
    let quality = match text("quality_rating") {
        Some("YELLOW") => Some("WhatsApp rates the quality of its messages as medium"),
        Some("RED") => Some("WhatsApp rates the quality of its messages as low"),
        _ => None,
    };
    let account = match (text("verified_name"), text("display_phone_number")) {
        (Some(name), Some(display)) => format!("{name} ({display})"),
        (name, display) => name.or(display).unwrap_or("WhatsApp").to_owned(),
    };
    let notes: Vec<_> = limited.into_iter().chain(quality).collect();
    Health::Connected { account, detail: (!notes.is_empty()).then(|| notes.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::stand_in::{NOWHERE, Play, StandIn};
    use proptest::prelude::*;
    use reqwest::header::HeaderMap;
    use serde_json::json;

    const WITHIN: Duration = Duration::from_secs(3);

    async fn health(play: &Play) -> Health {
        let stand_in = StandIn::playing(play).await;
        let health = WhatsApp::new(Outside::new().unwrap(), stand_in.url.clone())
            .health("106540352242922", &Secret::new("token-1"), WITHIN)
            .await;
        let request = stand_in.request();
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
    async fn a_number_is_connected_while_it_can_send() {
        let limited = "WhatsApp limits the messages that this number can send";
        let medium = "WhatsApp rates the quality of its messages as medium";
        for (can_send, quality, detail) in [
            ("AVAILABLE", "GREEN", None),
            ("AVAILABLE", "NA", None),
            ("AVAILABLE", "PURPLE", None),
            ("AVAILABLE", "YELLOW", Some(medium.to_owned())),
            ("AVAILABLE", "RED", Some("WhatsApp rates the quality of its messages as low".to_owned())),
            ("LIMITED", "GREEN", Some(limited.to_owned())),
            ("LIMITED", "YELLOW", Some(format!("{limited}; {medium}"))),
        ] {
            let connected = Health::Connected { account: "Acme (+1 555-0100)".to_owned(), detail };
            let said = number(can_send, quality).to_string();
            assert_eq!(health(&Play::json(200, &said)).await, connected, "{can_send} {quality}");
        }
        for (can_send, detail) in [
            ("BLOCKED", "WhatsApp does not let this number send messages"),
            ("RESTING", "WhatsApp does not say that this number can send messages"),
        ] {
            let said = number(can_send, "GREEN").to_string();
            assert_eq!(health(&Play::json(200, &said)).await, error(detail), "{can_send}");
        }
        assert!(matches!(health(&Play::json(200, r#"{"id": "1"}"#)).await, Health::Error { .. }));
    }

    #[tokio::test]
    async fn an_account_is_named_by_what_there_is() {
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
    async fn every_error_code_has_its_meaning() {
        for (status, code, expected) in [
            (401, 190, Health::Expired),
            (400, 190, Health::Expired),
            (403, 200, error("The token may not read this phone number")),
            (404, 803, error("WhatsApp does not know this phone number id")),
            (400, 4, BUSY),
            (400, 17, BUSY),
            (400, 80007, BUSY),
            (429, 130_429, BUSY),
            (400, 100, error("WhatsApp refused with its error 100")),
            (500, 190, Health::Unavailable("WhatsApp failed")),
        ] {
            let said = json!({"error": {"message": "No.", "type": "OAuthException", "code": code,
                "error_subcode": 463, "fbtrace_id": "A1"}});
            assert_eq!(health(&Play::json(status, &said.to_string())).await, expected, "{status} {code}");
        }
    }

    #[tokio::test]
    async fn without_an_answer_to_go_by_nothing_is_claimed() {
        let said = number("AVAILABLE", "GREEN").to_string();
        for play in [
            Play::html(200),
            Play::html(404),
            Play::html(502),
            Play::json(200, &said[..said.len() / 2]),
            Play::json(200, "[]"),
            Play::json(429, r#"{"error": {"code": "many"}}"#),
            Play::nothing(),
            Play::half(200, &said),
            Play::redirect(),
            Play::long(200, &said),
        ] {
            let health = health(&play).await;
            assert!(matches!(health, Health::Unavailable(_)), "{health:?}");
        }
        let nowhere = WhatsApp::new(Outside::new().unwrap(), NOWHERE.to_owned());
        let unreached = nowhere.health("1", &Secret::new("token-1"), WITHIN).await;
        assert_eq!(unreached, Health::Unavailable("WhatsApp did not answer"));
    }

    #[tokio::test]
    async fn a_hang_ends_within_the_time_given() {
        let before = tokio::time::Instant::now();
        assert_eq!(health(&Play::Hang).await, Health::Unavailable("WhatsApp did not answer"));
        assert!((WITHIN..2 * WITHIN).contains(&before.elapsed()), "{:?}", before.elapsed());
    }

    #[tokio::test]
    async fn an_id_that_is_none_is_not_asked_about() {
        let whatsapp = WhatsApp::new(Outside::new().unwrap(), NOWHERE.to_owned());
        for id in ["", "1/../2", "123456789012345678901", "٣", "1?"] {
            let health = whatsapp.health(id, &Secret::new("token-1"), WITHIN).await;
            assert_eq!(health, error("The phone number id must be 1 to 20 digits"), "{id}");
        }
    }

    proptest! {
        #[test]
        fn only_a_good_answer_means_connected(status in 200u16..600, can_send in "AVAILABLE|LIMITED|[A-Z]{0,9}") {
            let status = StatusCode::from_u16(status).unwrap();
            let body = number(&can_send, "GREEN").to_string().into();
            let connected = matches!(
                judge(&Answer { status, headers: HeaderMap::default(), body }),
                Health::Connected { .. }
            );
            prop_assert_eq!(connected, status.is_success() && matches!(&*can_send, "AVAILABLE" | "LIMITED"));
        }
    }
}
