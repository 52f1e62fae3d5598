//! What the messages of assistants cost.

use serde_json::Value;

/// The maximum number of messages in a batch.
pub const MAX_BATCH: usize = 10;

/// The number of requests that a body counts as: one for each message that works, such as a call of a tool, a read or a
/// list. What only begins or keeps a conversation is free. A body that cannot be read counts as one request.
pub(super) fn cost(body: &[u8]) -> u64 {
    match serde_json::from_slice(body) {
        Ok(Value::Array(messages)) if (1..=MAX_BATCH).contains(&messages.len()) => {
            messages.iter().map(|message| u64::from(!is_free(message))).sum()
        }
        Ok(message @ Value::Object(_)) => u64::from(!is_free(&message)),
        Ok(_) | Err(_) => 1,
    }
}

/// Whether a message is an initialization, a ping, a discovery, a notification, or the answer to a request.
fn is_free(message: &Value) -> bool {
    match message["method"].as_str() {
        Some("initialize" | "ping" | "server/discover") => true,
        Some(_) => message.get("id").is_none(),
        None => message.get("result").is_some() || message.get("error").is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_body_costs_what_its_messages_do() {
        let call = json!({ "id": 1, "method": "tools/call" });
        let ping = json!({ "id": 2, "method": "ping" });
        let note = json!({ "method": "notifications/initialized" });
        for (body, expected) in [
            (call.clone(), 1),
            (ping.clone(), 0),
            (note.clone(), 0),
            (json!({ "id": 1, "result": {} }), 0),
            (json!({ "id": 1, "method": "initialize" }), 0),
            (json!({ "id": 1, "method": "server/discover" }), 0),
            (json!({ "id": 1, "method": "resources/read" }), 1),
            (json!({ "id": 1, "method": "nothing" }), 1),
            (json!([call, ping, call, note]), 2),
            (json!([ping]), 0),
            (json!(vec![&call; MAX_BATCH]), 10),
            (json!(vec![&call; MAX_BATCH + 1]), 1),
            (json!([]), 1),
            (json!(17), 1),
            (json!({}), 1),
        ] {
            assert_eq!(cost(body.to_string().as_bytes()), expected, "{body}");
        }
        assert_eq!(cost(b"{"), 1);
    }

    proptest! {
        #[test]
        fn no_body_costs_more_than_a_batch(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(cost(&body) <= MAX_BATCH as u64);
        }
    }
}
