//! The answers of webhook endpoints: which are kept, for how long, and that an erasure finds them.

use http::Method;
use serde_json::{Value, json};
use tests::fake::FakeResponse;
use tests::{ACME, TestApi};

use crate::dashboard_webhooks::ada;
use crate::erasures::{erase, everything};
use crate::webhooks::{PATH, deliveries, local_api, receiver};

/// Adds an endpoint for events of these types. Returns its identifier.
async fn add(api: &TestApi, url: &str, types: &[&str]) -> u64 {
    let body = json!({ "url": format!("{url}/hook"), "types": types });
    api.post(PATH, body).await.expect(201).number("/id")
}

async fn create(api: &TestApi, name: &str) -> u64 {
    let body = json!({ "name": name, "email": format!("{name}@example.com") });
    api.post("/api/v1/candidates", body).await.expect(201).number("/id")
}

async fn deliver(api: &TestApi) {
    api.run_feed().await;
    api.deliver().await;
}

/// The answers to all attempts of an endpoint's deliveries, oldest first.
async fn answers(api: &TestApi, endpoint: u64) -> Vec<Value> {
    let listed = deliveries(api, endpoint).await;
    let attempts = listed.iter().flat_map(|delivery| delivery["attempts"].as_array().unwrap().clone());
    attempts.map(|attempt| attempt["answer"].clone()).collect()
}

/// The places that have a text.
async fn places(api: &TestApi, text: &str) -> Vec<String> {
    let all = everything(api).await.into_iter();
    all.filter(|(_, content)| content.contains(text)).map(|(place, _)| place).collect()
}

#[tokio::test]
async fn answers_to_failed_attempts_are_kept_for_72_hours() {
    let api = local_api().await;
    let server = receiver(500).await;
    let endpoint = add(&api, &server.url, &["candidate.created"]).await;
    create(&api, "jane").await;
    deliver(&api).await;
    assert_eq!(
        answers(&api, endpoint).await,
        ["status 500"; 2],
        "of the attempts at once and after 5 seconds"
    );
    server.reply_with(|_| FakeResponse::Full(200, Vec::new(), "fine".to_owned()));
    api.clock.set("2026-11-20T09:36:00Z");
    deliver(&api).await;
    let expected = [json!("status 500"), json!("status 500"), Value::Null];
    assert_eq!(answers(&api, endpoint).await, expected, "a success has none");
    assert_eq!(places(&api, "fine").await, [""; 0]);
    let [delivery] = &deliveries(&api, endpoint).await[..] else { panic!("one delivery") };
    let again = format!("{PATH}/{endpoint}/deliveries/{}/redeliver", delivery["id"]);
    let sent = api.request(Method::POST, &again).send().await.expect(202);
    assert_eq!(sent.string("/attempts/0/answer"), "status 500");

    // DynamoDB deletes what has expired late.
    let mut expiries: Vec<_> = api
        .stored_items()
        .await
        .into_iter()
        .filter(|((pk, sk), _)| pk.contains("#ANSWER#") || sk.starts_with("ANSWER#"))
        .map(|(_, item)| item["expires_at"].as_n().unwrap().parse::<i64>().unwrap())
        .collect();
    let began: shared::clock::Timestamp = "2026-11-20T09:30:00Z".parse().unwrap();
    expiries.sort_unstable();
    let after_72_hours = [0, 0, 5, 5].map(|later| began.as_second() + 72 * 60 * 60 + later);
    assert_eq!(expiries, after_72_hours, "the answers and their traces");
    for (time, expected) in [("09:29:59.999", json!("status 500")), ("09:30:00", Value::Null)] {
        api.clock.set(&format!("2026-11-23T{time}Z"));
        assert_eq!(answers(&api, endpoint).await[0], expected, "{time}");
        let page = ada(&api).await.get(&format!("/dashboard/webhooks/{endpoint}")).await;
        let shown = page.expect(200).text.matches(">status 500</pre>").count();
        assert_eq!(shown, 1 + usize::from(expected.is_string()), "{time}");
    }
}

#[tokio::test]
async fn an_erasure_removes_the_answers_about_the_person_and_later_ones_are_not_kept() {
    let api = local_api().await;
    let server = receiver(500).await;
    server.reply_with(|_| FakeResponse::Full(500, Vec::new(), "zorbax is locked".to_owned()));
    let endpoint = add(&api, &server.url, &[]).await;
    let (zorbax, joe) = (create(&api, "zorbax").await, create(&api, "joe").await);
    let note = json!({ "text": "x" });
    for id in [zorbax, joe] {
        api.post(&format!("/api/v1/candidates/{id}/notes"), note.clone()).await.expect(201);
    }
    deliver(&api).await;
    let kept = |places: Vec<String>| places.into_iter().filter(|place| place.contains("#ANSWER#")).count();
    assert_eq!(
        kept(places(&api, "is locked").await),
        10,
        "two of each of the endpoint, the people, the notes"
    );
    erase(&api, zorbax).await.expect(202);
    api.run_tasks().await;
    assert_eq!(kept(places(&api, "is locked").await), 6, "those of others stay");
    // The retries, and the news of the erasure.
    for time in ["09:31:00", "10:00:00", "12:00:00"] {
        api.clock.set(&format!("2026-11-20T{time}Z"));
        deliver(&api).await;
    }
    let traces = |places: Vec<String>| places.into_iter().filter(|place| place.contains("_TRACE#")).count();
    assert_eq!(traces(places(&api, "#answer#").await), 0);
    let of_person = |delivery: &Value| delivery["type"] == "candidate.erased";
    let listed = deliveries(&api, endpoint).await;
    let news = listed.iter().find(|delivery| of_person(delivery)).unwrap();
    assert!(news["attempts"].as_array().unwrap().len() > 1, "each attempt is recorded: {news}");
    assert!(news["attempts"].as_array().unwrap().iter().all(|attempt| attempt["answer"].is_null()));
    for (place, content) in everything(&api).await {
        let is_about = content.contains(&zorbax.to_string()) || place.contains(&format!("{zorbax:016}"));
        assert!(!is_about || !content.contains("is locked"), "{place}: {content}");
    }
}

/// The erasure happens between the request to the endpoint and the record of its answer.
#[tokio::test]
async fn an_answer_that_arrives_during_the_erasure_is_not_kept() {
    let api = local_api().await;
    let server = receiver(500).await;
    server.reply_with(|_| FakeResponse::Full(500, Vec::new(), "zorbax is locked".to_owned()));
    let endpoint = add(&api, &server.url, &["candidate.created"]).await;
    let zorbax = create(&api, "zorbax").await;
    deliver(&api).await;
    assert_eq!(answers(&api, endpoint).await, ["zorbax is locked"; 2]);
    let (gateway, key) = (api.gateway.clone(), tests::key(ACME, shared::model::Mode::Live));
    let erasure = async move {
        let request =
            http::Request::builder().method("POST").uri(format!("/api/v1/candidates/{zorbax}/erase"));
        let request =
            request.header("host", "api.rolecall.test").header("authorization", format!("Bearer {key}"));
        let request = request.body(bytes::Bytes::new()).unwrap();
        assert_eq!(gateway.send(request, [127, 0, 0, 1].into()).await.status().as_u16(), 202);
    };
    // A run takes the endpoint, and then records the attempt.
    let dynamodb = api.dynamodb.clone();
    api.dynamodb.run_before("TransactWriteItems", async move {
        dynamodb.run_before("TransactWriteItems", erasure);
    });
    api.clock.set("2026-11-20T09:36:00Z");
    assert_eq!(api.deliver().await.failed, 1);
    api.run_tasks().await;
    assert_eq!(
        answers(&api, endpoint).await,
        [Value::Null, Value::Null, Value::Null],
        "each attempt is recorded"
    );
    assert_eq!(places(&api, "is locked").await, [""; 0]);
}
