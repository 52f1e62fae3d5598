//! How long DynamoDB keeps items that it deletes by itself.

use std::collections::BTreeMap;

use http::Method;
use serde_json::json;
use tests::TestApi;
use tests::browser::Browser;
use tests::oauth::OAuthApp;

use crate::careers_applications::{Job, form};

const HOUR: i64 = 60 * 60;
const DAY: i64 = 24 * HOUR;

/// The seconds after which the items expire, by the first word of their keys.
async fn lifetimes(api: &TestApi) -> BTreeMap<String, Vec<i64>> {
    let now = api.environment.clock.now().as_second();
    let mut lifetimes = BTreeMap::<_, Vec<_>>::new();
    for ((pk, _), item) in api.stored_items().await {
        // The expiry of an API key or a token on X has the same name, but is no number.
        if let Some(Ok(end)) = item.get("expires_at").map(|end| end.as_n()) {
            let word = pk.split('#').find(|word| word.starts_with(char::is_uppercase)).unwrap();
            let end: i64 = end.parse().unwrap();
            lifetimes.entry(word.to_owned()).or_default().push(end - now);
        }
    }
    lifetimes
}

#[tokio::test]
async fn items_expire_when_nothing_needs_them_any_more() {
    let api = TestApi::new().await;
    let browser = Browser::new(&api);
    browser.submit_sign_in("ada@acme.example", "acme demo password").await.expect(303);
    OAuthApp::register(&api, "none").await;
    OAuthApp::register(&api, "none").await.connect(&browser).await;
    let request = api.request(Method::POST, "/api/v1/roles").header("idempotency-key", "k");
    request.json(&json!({ "title": "Cook" })).send().await.expect(201);
    let job = Job::new(&api, "Analyst").await;
    job.apply(&api, &form("Ada", "ada@example.com")).await.expect(303);
    let mut actual = lifetimes(&api).await;
    actual.remove("ATTEMPTS");
    let expected = [
        // The audit log.
        ("AUDIT", vec![400 * DAY; actual["AUDIT"].len()]),
        // A resume can be uploaded for an hour. Traces of a candidate outlive what they lead to.
        ("CANDIDATE_TRACE", vec![2 * DAY + HOUR]),
        // A grant, one day longer than its refresh token.
        ("GRANT", vec![31 * DAY]),
        ("NOTICE", vec![400 * DAY; 2]),
        // The client that no member has connected.
        ("OAUTH_CLIENT", vec![90 * DAY]),
        ("RECEIPT", vec![DAY]),
        ("SESSION", vec![30 * DAY]),
    ];
    actual.retain(|word, _| expected.iter().any(|(known, _)| known == word));
    assert_eq!(actual, expected.map(|(word, seconds)| (word.to_owned(), seconds)).into());
}
