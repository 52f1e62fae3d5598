//! OAuth: applications whose client id is the URL of a metadata document.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use shared::providers::client_document::{ClientDocuments, FetchError};
use tests::browser::{Browser, Form};
use tests::oauth::{self, OAuthApp, REDIRECT, Tokens, authorize_url, oauth_error};
use tests::{ACME, Response, TestApi};

const CLIENT_ID: &str = "https://app.example/client.json";

type Document = Result<String, FetchError>;

/// The metadata documents on a simulated web, and the fetched URLs.
#[derive(Clone, Default)]
struct Web {
    documents: Arc<Mutex<HashMap<String, Document>>>,
    fetched: Arc<Mutex<Vec<String>>>,
}

impl Web {
    async fn api(&self) -> TestApi {
        let web = self.clone();
        let documents = ClientDocuments::from_fn(move |url| {
            web.fetched.lock().unwrap().push(url.as_str().to_owned());
            let document = web.documents.lock().unwrap().get(url.as_str()).cloned();
            ready(document.unwrap_or(Err(FetchError::Unreached)))
        });
        TestApi::with_documents(documents).await
    }

    fn put(&self, url: &str, document: Document) {
        self.documents.lock().unwrap().insert(url.to_owned(), document);
    }

    fn fetched(&self) -> usize {
        self.fetched.lock().unwrap().len()
    }
}

fn document() -> Value {
    json!({ "client_id": CLIENT_ID, "client_name": "Documented", "redirect_uris": [REDIRECT], "client_uri": "https://claude.ai" })
}

async fn request(api: &TestApi, id: &str, source: &str) -> Response {
    let path = authorize_url(&OAuthApp::public(api, id).authorization_request());
    api.request(http::Method::GET, &path).anonymous().from(source).send().await
}

fn assert_error_page(response: &Response, case: &str) {
    assert_eq!((response.status, response.header("location")), (400, ""), "{case:?}");
    assert!(response.header("content-type").starts_with("text/html"), "{case:?}");
}

#[tokio::test]
async fn an_application_with_a_metadata_document_gets_tokens() {
    let web = Web::default();
    web.put(CLIENT_ID, Ok(document().to_string()));
    let api = web.api().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::public(&api, CLIENT_ID);
    let page = browser.get(&authorize_url(&app.authorization_request())).await.expect(200);
    assert!(
        page.text.contains("Documented") && page.text.contains("<strong>app.example</strong>"),
        "{}",
        page.text
    );
    assert!(page.text.contains("The name of this application is not verified"), "only the host is");
    assert!(!page.text.contains("claude.ai"), "a document may name any home page: {}", page.text);
    let tokens = app.connect(&browser).await;
    assert_eq!(oauth::token_status(&api, &tokens.access).await, 200);
    let next = Tokens::of(&app.refresh(&tokens.refresh).await);
    app.revoke(&next.refresh).await.expect(200);
    assert_eq!(oauth::token_status(&api, &next.access).await, 401);
    assert_eq!(web.fetched(), 1);
    // A client with a metadata document is public, so a secret is rejected.
    let mut with_secret = app.clone();
    with_secret.secret = Some("x".to_owned());
    assert_eq!(oauth_error(&with_secret.refresh(&next.refresh).await), (401, "invalid_client"));
}

#[tokio::test]
async fn the_consent_page_names_the_host_of_the_document_and_the_host_of_the_redirect() {
    let web = Web::default();
    let (id, redirect) = ("https://publisher.example/client.json", "https://claude.ai.evil.example/cb");
    let document = json!({ "client_id": id, "client_name": "Claude", "redirect_uris": [redirect],
        "client_uri": "https://claude.ai" });
    web.put(id, Ok(document.to_string()));
    let api = web.api().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let query = OAuthApp::public(&api, id).authorization_request().set("redirect_uri", redirect);
    let page = browser.get(&authorize_url(&query)).await.expect(200);
    for part in [
        "You will be redirected to <strong>claude.ai.evil.example</strong>",
        "The application is published by <strong>publisher.example</strong>",
        "The name of this application is not verified",
    ] {
        assert!(page.text.contains(part), "{part} in {}", page.text);
    }
    assert!(!page.text.contains("<strong>claude.ai</strong>"), "{}", page.text);
}

#[tokio::test]
async fn an_invalid_document_gets_an_error_page() {
    let web = Web::default();
    let api = web.api().await;
    let with = |name: &str, value: Value| {
        let mut document = document();
        document[name] = value;
        Ok(document.to_string())
    };
    let eleven: Vec<_> = (0..11).map(|number| format!("https://app.example/{number}")).collect();
    let invalid = [
        with("client_id", json!("https://app.example/other.json")),
        with("client_id", json!("https://app.example/client.json/")),
        with("client_id", json!("HTTPS://app.example/client.json")),
        with("client_id", Value::Null),
        with("client_id", json!([CLIENT_ID])),
        with("client_secret", json!("secret")),
        with("client_secret", Value::Null),
        with("token_endpoint_auth_method", json!("client_secret_basic")),
        with("token_endpoint_auth_method", json!("client_secret_post")),
        with("token_endpoint_auth_method", json!("private_key_jwt")),
        with("token_endpoint_auth_method", json!(7)),
        with("redirect_uris", json!(eleven)),
        with("redirect_uris", json!([])),
        with("redirect_uris", json!([REDIRECT, "http://evil.example/"])),
        with("redirect_uris", json!(REDIRECT)),
        with("redirect_uris", Value::Null),
        with("client_name", json!("x".repeat(101))),
        with("client_name", json!({})),
        with("client_uri", json!("javascript:alert(1)")),
        with("grant_types", json!(["implicit"])),
        with("response_types", json!(["token"])),
        Ok(String::new()),
        Ok("{".to_owned()),
        Ok("[]".to_owned()),
        Ok("null".to_owned()),
        Ok(format!("[{}]", document())),
        Ok("[".repeat(5_000)),
        Ok(json!({ "client_id": CLIENT_ID }).to_string()),
        Err(FetchError::Unreached),
        Err(FetchError::Lost),
        Err(FetchError::Status(302)),
        Err(FetchError::Status(404)),
        Err(FetchError::NotJson),
        Err(FetchError::TooLong),
    ];
    for (number, invalid) in invalid.into_iter().enumerate() {
        web.put(CLIENT_ID, invalid.clone());
        let source = format!("198.51.100.{number}");
        assert_error_page(&request(&api, CLIENT_ID, &source).await, &format!("{invalid:?}"));
        assert_eq!(web.fetched(), number + 1, "a failure is not cached: {invalid:?}");
    }
    for valid in [
        with("token_endpoint_auth_method", json!("none")),
        with("redirect_uris", json!([REDIRECT, "http://127.0.0.1/cb"])),
    ] {
        web.put(CLIENT_ID, valid);
        request(&api, CLIENT_ID, "203.0.113.1").await.expect(303);
        api.clock.set("2026-11-22T09:30:00Z");
    }
}

#[tokio::test]
async fn the_url_of_a_document_has_at_most_500_characters() {
    let web = Web::default();
    let api = web.api().await;
    for (length, status) in [(500, 303), (501, 400), (502, 400)] {
        let id = format!("{CLIENT_ID:x<length$}");
        let mut long = document();
        long["client_id"] = json!(id);
        web.put(&id, Ok(long.to_string()));
        assert_eq!(request(&api, &id, "127.0.0.1").await.status, status, "{length}");
    }
    assert_eq!(web.fetched(), 1);
}

#[tokio::test]
async fn a_document_is_cached_for_a_day() {
    let web = Web::default();
    web.put(CLIENT_ID, Ok(document().to_string()));
    let api = web.api().await;
    let request = || request(&api, CLIENT_ID, "127.0.0.1");
    for (time, status, fetched) in [
        ("2026-11-20T09:30:00.000Z", 303, 1),
        ("2026-11-20T09:30:01.000Z", 303, 1),
        ("2026-11-21T09:29:59.000Z", 303, 1),
    ] {
        api.clock.set(time);
        assert_eq!((request().await.status, web.fetched()), (status, fetched), "{time}");
        // A later change is not visible until the cached document expires.
        web.put(CLIENT_ID, Err(FetchError::Status(404)));
    }
    api.clock.set("2026-11-21T09:30:00Z");
    assert_error_page(&request().await, "a document that is missing a day later");
    let mut moved = document();
    moved["redirect_uris"] = json!(["https://app.example/elsewhere"]);
    web.put(CLIENT_ID, Ok(moved.to_string()));
    assert_error_page(&request().await, "a document that has changed");
    web.put(CLIENT_ID, Ok(document().to_string()));
    assert_error_page(&request().await, "the changed document is cached for a day");
    assert_eq!(web.fetched(), 3);
}

#[tokio::test]
async fn an_ip_address_may_cause_30_fetches_in_ten_minutes() {
    let web = Web::default();
    web.put(CLIENT_ID, Ok(document().to_string()));
    let api = web.api().await;
    request(&api, CLIENT_ID, "198.51.100.7").await.expect(303);
    for number in 1..30 {
        let id = format!("https://app.example/{number}.json");
        assert_error_page(&request(&api, &id, "198.51.100.7").await, &id);
    }
    assert_eq!(web.fetched(), 30);
    assert_error_page(
        &request(&api, "https://app.example/31.json", "198.51.100.7").await,
        "the 31st document",
    );
    assert_eq!(web.fetched(), 30);
    request(&api, CLIENT_ID, "198.51.100.7").await.expect(303);
    request(&api, "https://app.example/31.json", "198.51.100.8").await.expect(400);
    assert_eq!(web.fetched(), 31, "the limit applies to each IP address");
    api.clock.set("2026-11-20T09:40:00Z");
    request(&api, "https://app.example/32.json", "198.51.100.7").await.expect(400);
    assert_eq!(web.fetched(), 32);
}

/// Hosts on internal networks in every notation, and hosts that a careless parser misreads.
const HOSTILE_HOSTS: &str = "127.0.0.1 127.1 127.0.1 0177.0.0.1 0x7f.0.0.1 0x7f000001 2130706433 017700000001 127.0.0.1. 0 0.0.0.0 \
    10.0.0.1 10.1 167772161 172.16.0.1 172.31.255.255 192.168.0.1 192.168.1 3232235521 169.254.169.254 169.254.43518 \
    0xa9fea9fe 2852039166 0251.0376.0251.0376 169.254.170.2 169.254.170.23 100.64.0.1 100.100.100.200 192.0.0.192 \
    198.18.0.1 224.0.0.1 240.0.0.1 255.255.255.255 8.8.8.8 1.1.1.1 1.2.3.4.5 256.256.256.256 example.1 example.0x1 \
    [::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:169.254.169.254] [::127.0.0.1] \
    [64:ff9b::7f00:1] [2002:7f00:1::] [2001:0:7f00:1::] [fd00:ec2::254] [fe80::1] [fe80::1%25eth0] [fc00::1] [ff02::1] \
    [2606:4700::1111] [127.0.0.1] [::1 ::1 １２７.０.０.１ ①②⑦.0.0.1 127。0。0。1 %31%32%37.0.0.1 127%2e0%2e0%2e1 \
    localhost LOCALHOST ⓛocalhost localhost. app.localhost app.localhost. printer.local printer.local. local internal \
    metadata metadata.google.internal metadata.google.internal. instance-data.ec2.internal ip-10-0-0-1.internal \
    home.arpa nas.home.arpa intranet com com. app.example. app..example .app.example APP.example app.exämple.com \
    app。example app%2eexample app\u{200b}.example user@app.example user:pw@app.example @app.example \
    app.example@127.0.0.1 127.0.0.1@app.example app.example:443 app.example:22 app.example:0 app.example:65536 \
    app.example: app.example:a app.example\\@127.0.0.1 127.0.0.1\\@app.example 127.0.0.1#@app.example \
    127.0.0.1%23@app.example app.ex\tample app.ex\nample app.example\0 app.example%00 app.example%0d%0a *.app.example \
    api.rolecall.test:443";

/// Other URLs that are invalid as client ids.
const HOSTILE_URLS: &str = "http://app.example/x HTTPS://app.example/x ftp://app.example/x file:///etc/passwd \
    gopher://app.example/x data:application/json,{} javascript:alert(1) blob:https://app.example/x https:app.example/x \
    https:/app.example/x https:///app.example/x //app.example/x /client.json https:// https:///x https://app.example \
    https://app.example/ https://app.example? https://app.example/?x=1 https://app.example/x# https://app.example/x#y \
    https://app.example/./x https://app.example/x/.. https://app.example/../x https://app.example/%2e%2e/x \
    https://app.example\\x https:\\\\app.example\\x https://app.example/é https://app.example/<x>";

#[tokio::test]
async fn a_hostile_url_is_neither_fetched_nor_redirected_to() {
    let web = Web::default();
    let api = web.api().await;
    let hosts = HOSTILE_HOSTS.split(' ').map(|host| format!("https://{host}/client.json"));
    let long = format!("https://app.example/{}", "x".repeat(481));
    let all: Vec<_> = hosts.chain(HOSTILE_URLS.split(' ').map(str::to_owned)).chain([long]).collect();
    assert!(all.len() >= 130, "{}", all.len());
    for hostile in all {
        assert_error_page(&request(&api, &hostile, "127.0.0.1").await, &hostile);
        let form = Form::new(&[("grant_type", "refresh_token"), ("refresh_token", "x")]);
        let response = OAuthApp::public(&api, &hostile).send("/oauth/token", &form).await;
        assert_eq!(oauth_error(&response), (401, "invalid_client"), "{hostile:?}");
        assert_eq!(web.fetched(), 0, "{hostile:?}");
    }
}
