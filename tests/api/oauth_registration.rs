//! OAuth: dynamic registration (RFC 7591).

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use tests::oauth::{REDIRECT, oauth_error, registration};
use tests::{Response, TestApi};

async fn register(api: &TestApi, metadata: &Value) -> Response {
    registration(api, metadata).send().await
}

#[tokio::test]
async fn a_confidential_application_is_registered_with_a_secret() {
    let api = TestApi::new().await;
    let now = api.environment.clock.now().as_second();
    for (method, registered, has_secret) in [
        (Value::Null, "client_secret_basic", true),
        (json!("client_secret_basic"), "client_secret_basic", true),
        (json!("client_secret_post"), "client_secret_post", true),
        (json!("none"), "none", false),
    ] {
        let metadata = json!({ "redirect_uris": [REDIRECT], "token_endpoint_auth_method": method });
        let response = register(&api, &metadata).await.expect(201);
        assert_eq!(
            (response.header("content-type"), response.header("cache-control")),
            ("application/json", "no-store")
        );
        let mut body = response.body.clone();
        let mut fields = body.as_object_mut().unwrap().clone();
        let id = fields.remove("client_id").unwrap();
        assert!(id.as_str().unwrap().starts_with("rc_client_") && id.as_str().unwrap().len() == 32, "{id}");
        let secret = fields.remove("client_secret");
        assert_eq!(secret.is_some(), has_secret);
        assert!(secret.is_none_or(|secret| secret.as_str().unwrap().len() >= 43));
        assert_eq!(fields.remove("client_secret_expires_at"), has_secret.then(|| json!(0)));
        assert_eq!(
            Value::Object(fields),
            json!({
                "client_id_issued_at": now,
                "client_name": "Unnamed application",
                "redirect_uris": [REDIRECT],
                "token_endpoint_auth_method": registered,
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "scope": "roles:read roles:write candidates:read candidates:write voice_screens:read \
                          channels:read channels:write organization:read events:read webhooks:read webhooks:write",
            })
        );
    }
}

#[tokio::test]
async fn a_registration_contains_exactly_the_requested_scopes() {
    let api = TestApi::new().await;
    let all = "roles:read roles:write candidates:read candidates:write voice_screens:read channels:read \
               channels:write organization:read events:read webhooks:read webhooks:write";
    for (requested, registered) in [
        (json!("roles:read"), "roles:read"),
        (json!("organization:read  roles:read roles:read"), "roles:read organization:read"),
        (json!("openid roles:write roles:delete"), "roles:write"),
        (json!("whatever"), all),
        (json!(" "), all),
        (Value::Null, all),
        (json!("candidates:erase roles:read"), "roles:read candidates:erase"),
    ] {
        let metadata = json!({ "redirect_uris": [REDIRECT], "scope": requested });
        assert_eq!(register(&api, &metadata).await.expect(201).string("/scope"), registered);
    }
    let wrong = json!({ "redirect_uris": [REDIRECT], "scope": ["roles:read"] });
    assert_eq!(oauth_error(&register(&api, &wrong).await), (400, "invalid_client_metadata"));
}

#[tokio::test]
async fn registration_validates_the_client_metadata() {
    let api = TestApi::new().await;
    let uris: Vec<_> = (0..10).map(|number| format!("https://app.example/{number}")).collect();
    for valid in [
        json!({ "redirect_uris": uris }),
        json!({ "redirect_uris": [format!("https://app.example/{}", "x".repeat(1_980))] }),
        json!({ "redirect_uris": ["http://127.0.0.1/cb", "http://localhost:8080/cb", "http://[::1]:1/cb"] }),
        json!({ "redirect_uris": ["com.example.app:/callback", "https://app.example?x=1"] }),
        json!({ "redirect_uris": ["cursor://anysphere.cursor-mcp/oauth/callback", "vscode://x/y", "zed:/z", REDIRECT] }),
        json!({ "redirect_uris": [REDIRECT], "client_name": "🦀".repeat(100) }),
        json!({ "redirect_uris": [REDIRECT], "grant_types": [] }),
        json!({ "redirect_uris": [REDIRECT], "grant_types": ["client_credentials", "refresh_token"] }),
        json!({ "redirect_uris": [REDIRECT], "grant_types": ["authorization_code", "urn:ietf:params:oauth:grant-type:jwt-bearer"] }),
        json!({ "redirect_uris": [REDIRECT], "client_name": null, "client_uri": null, "grant_types": null }),
        json!({ "redirect_uris": [REDIRECT], "client_name": " ", "client_uri": "" }),
        json!({ "redirect_uris": [REDIRECT], "grant_types": ["authorization_code"], "response_types": ["code"] }),
        json!({ "redirect_uris": [REDIRECT], "client_uri": "https://app.example", "logo_uri": "https://app.example/l",
            "tos_uri": "https://app.example/t", "policy_uri": "https://app.example/p" }),
        json!({ "redirect_uris": [REDIRECT], "software_id": { "anything": [1] }, "contacts": 7, "scope": "whatever" }),
    ] {
        let response = register(&api, &valid).await.expect(201);
        assert_eq!(response.body["redirect_uris"], valid["redirect_uris"]);
        assert_eq!(response.body["grant_types"], json!(["authorization_code", "refresh_token"]));
    }
    let (redirect, metadata) = ("invalid_redirect_uri", "invalid_client_metadata");
    let with = |name: &str, value: Value| {
        let mut body = json!({ "redirect_uris": [REDIRECT] });
        body[name] = value;
        body
    };
    let eleven: Vec<_> = (0..11).map(|number| format!("https://app.example/{number}")).collect();
    let mut invalid = vec![
        (json!({}), redirect),
        (with("redirect_uris", json!([])), redirect),
        (with("redirect_uris", Value::Null), redirect),
        (with("redirect_uris", json!(eleven)), redirect),
        (with("redirect_uris", json!([format!("https://app.example/{}", "x".repeat(1_981))])), redirect),
        (with("redirect_uris", json!(REDIRECT)), metadata),
        (with("redirect_uris", json!([REDIRECT, 7])), metadata),
        (with("redirect_uris", json!({})), metadata),
        (with("client_name", json!("x".repeat(101))), metadata),
        (with("client_name", json!("a\0b")), metadata),
        (with("client_name", json!("Bank\nVerified")), metadata),
        (with("client_name", json!("\u{202e}knaB")), metadata),
        (with("client_name", json!("Ban\u{200b}k")), metadata),
        (with("client_name", json!(7)), metadata),
        (with("token_endpoint_auth_method", json!("private_key_jwt")), metadata),
        (with("token_endpoint_auth_method", json!("NONE")), metadata),
        (with("token_endpoint_auth_method", json!("")), metadata),
        (with("token_endpoint_auth_method", json!([])), metadata),
        (with("grant_types", json!(["implicit", "password"])), metadata),
        (with("grant_types", json!(["client_credentials"])), metadata),
        (with("grant_types", json!("authorization_code")), metadata),
        (with("response_types", json!(["token"])), metadata),
        (with("response_types", json!(["code", "id_token"])), metadata),
    ];
    for uri in [
        "",
        "/callback",
        "//app.example/cb",
        "http://app.example/cb",
        "http://10.0.0.1/cb",
        "https://app.example/#x",
        "https://me:pw@app.example/cb",
        "https://app.example:0/cb",
        "https://*.app.example/cb",
        "https://app.example/a b",
        "https://app.example\\@evil.example/",
        "myapp:cb",
        "javascript:/alert(1)",
        "intent://x/y",
        "ms-word://x/y",
        "c:/windows",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "https://app.example/\r\nlocation:x",
        "https://ex\u{430}mple.com/cb",
        "HTTPS://app.example/cb",
    ] {
        invalid.push((with("redirect_uris", json!([REDIRECT, uri])), redirect));
    }
    // A soft hyphen, a Hangul filler, a blank Braille pattern, tags, selectors, annotations, separators, a null notehead.
    for invisible in
        "\u{ad}\u{3164}\u{115f}\u{ffa0}\u{2800}\u{e0041}\u{e0020}\u{fe0f}\u{e0100}\u{34f}\u{17b4}\u{180e}\
        \u{2060}\u{206a}\u{feff}\u{fff0}\u{fff9}\u{2028}\u{2029}\u{1bca0}\u{1d173}\u{1d159}\u{85}\u{2066}"
            .chars()
    {
        for name in [invisible.to_string(), format!("Claude{invisible}")] {
            invalid.push((with("client_name", json!(name)), metadata));
        }
    }
    for name in ["client_uri", "logo_uri", "tos_uri", "policy_uri"] {
        invalid.push((with(name, json!("javascript:alert(1)")), metadata));
        invalid.push((with(name, json!(format!("https://a.example/{}", "x".repeat(2_000)))), metadata));
        invalid.push((with(name, json!([])), metadata));
    }
    api.dynamodb.take_calls();
    for (body, error) in invalid {
        assert_eq!(oauth_error(&register(&api, &body).await), (400, error), "{body}");
    }
    assert!(api.dynamodb.take_calls().is_empty(), "nothing is written or counted");
}

/// Members would take such an application for a part of this service.
#[tokio::test]
async fn no_application_is_called_like_the_product() {
    let api = TestApi::new().await;
    for name in ["Rolecall", "R0lecall Support"] {
        let response = register(&api, &json!({ "redirect_uris": [REDIRECT], "client_name": name })).await;
        assert_eq!(oauth_error(&response), (400, "invalid_client_metadata"), "{name}");
    }
    let own = json!({ "redirect_uris": [REDIRECT], "client_name": "Assistant (rolecall)" });
    register(&api, &own).await.expect(201);
}

#[tokio::test]
async fn a_body_that_is_not_metadata_gets_an_oauth_error() {
    let api = TestApi::new().await;
    let valid = json!({ "redirect_uris": [REDIRECT] }).to_string();
    let largest = format!("{valid}{}", " ".repeat(64 * 1024 - valid.len()));
    let padded = format!("{largest} ");
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    let unknown_deep = format!("{{\"x\":{deep}}}");
    let twice = format!("{{\"redirect_uris\":[],{}", &valid[1..]);
    let send = async |content_type: &str, body: &[u8]| {
        let request = api.request(Method::POST, "/oauth/registrations").anonymous();
        request.body(content_type, body.to_vec()).send().await
    };
    for body in [
        "",
        " ",
        "{",
        "[]",
        "null",
        "7",
        "\"x\"",
        "redirect_uris=https://app.example",
        "{\"redirect_uris\":",
        "\u{feff}{}",
        &padded,
        &deep,
        &unknown_deep,
        &twice,
    ] {
        let response = send("application/json", body.as_bytes()).await;
        let (status, error) = oauth_error(&response);
        assert!(
            status == 400 && ["invalid_client_metadata", "invalid_redirect_uri"].contains(&error),
            "{}",
            response.text
        );
    }
    let not_utf8_in_unknown = b"{\"redirect_uris\":[\"https://app.example\"],\"tos\":\"\xff\"}";
    for bytes in [&b"\xff\xfe"[..], b"{\"client_name\":\"\xc3\x28\"}", not_utf8_in_unknown, b"\0"] {
        assert_eq!(oauth_error(&send("application/json", bytes).await), (400, "invalid_client_metadata"));
    }
    for content_type in
        ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonx", ";;;", "application/"]
    {
        let response = send(content_type, valid.as_bytes()).await;
        assert_eq!(oauth_error(&response), (400, "invalid_client_metadata"), "{content_type}");
    }
    for content_type in
        ["application/json", "Application/JSON; charset=utf-8", "application/json;charset=\"UTF-8\""]
    {
        assert_eq!(send(content_type, valid.as_bytes()).await.status, 201, "{content_type}");
    }
    assert_eq!(send("application/json", largest.as_bytes()).await.status, 201, "64 KB");
}

#[tokio::test]
async fn an_ip_address_may_register_100_applications_an_hour() {
    let api = TestApi::new().await;
    let (valid, invalid) = (json!({ "redirect_uris": [REDIRECT] }), json!({ "redirect_uris": [] }));
    let from = |source: &str, metadata: &Value| registration(&api, metadata).from(source).send();
    join_all((0..50).map(|_| from("198.51.100.7", &invalid))).await.iter().for_each(|response| {
        assert_eq!(response.status, 400);
    });
    join_all((0..100).map(|_| from("198.51.100.7", &valid))).await.iter().for_each(|response| {
        assert_eq!(response.status, 201);
    });
    let refused = from("198.51.100.7", &valid).await;
    assert_eq!(oauth_error(&refused), (429, "temporarily_unavailable"));
    assert_eq!(refused.header("retry-after"), "1800", "the limit resets at the full hour");
    let spoofed = registration(&api, &valid).from("198.51.100.7").header("x-forwarded-for", "198.51.100.8");
    assert_eq!(spoofed.send().await.status, 429, "the IP address comes from the gateway");
    assert_eq!(from("198.51.100.7", &invalid).await.status, 400);
    join_all((0..100).map(|_| from("2001:db8::1", &valid))).await.iter().for_each(|response| {
        assert_eq!(response.status, 201);
    });
    assert_eq!(from("2001:db8::ffff:1", &valid).await.status, 429, "a /64 network counts as one IP address");
    assert_eq!(from("2001:db8:0:1::1", &valid).await.status, 201);
    assert_eq!(from("198.51.100.8", &valid).await.status, 201);
    api.clock.set("2026-11-20T10:00:00Z");
    assert_eq!(from("198.51.100.7", &valid).await.status, 201);
}
