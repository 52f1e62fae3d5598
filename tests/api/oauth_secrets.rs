//! OAuth and sessions: secrets are neither stored nor shown in error responses.

use tests::TestApi;
use tests::oauth::{misuse_secrets, secrets};

/// Returns the whole table as text.
async fn stored(api: &TestApi) -> String {
    let items = api.stored_items().await;
    assert!(items.len() > 20, "{}", items.len());
    format!("{items:?}")
}

#[tokio::test]
async fn no_secret_is_stored_or_shown() {
    let api = TestApi::new().await;
    let secrets = secrets(&api).await;
    let sent: String = api.dynamodb.take_calls().iter().map(|call| call.request.to_string()).collect();
    let stored = stored(&api).await;
    let responses = misuse_secrets(&api, &secrets).await;
    for (kind, secret) in secrets {
        for (text, state) in [(&stored, "stored"), (&sent, "sent to DynamoDB"), (&responses, "shown")] {
            assert!(!text.contains(&secret), "a {kind} is {state}");
        }
    }
}
