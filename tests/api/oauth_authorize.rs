//! OAuth: validation of authorization requests, redirect URIs, and errors.

use http::Method;
use serde_json::json;
use shared::model::{Client, Scope, Scopes};
use tests::browser::{Browser, Form};
use tests::oauth::{OAuthApp, REDIRECT, STATE, Tokens, authorize_url, oauth_error, token_status};
use tests::{ACME, BASE_URL, Response, TestApi};

async fn request(api: &TestApi, query: &Form) -> Response {
    api.request(Method::GET, &authorize_url(query)).anonymous().send().await
}

fn assert_error_page(response: &Response, case: &str) {
    assert_eq!((response.status, response.header("location")), (400, ""), "{case:?}");
    assert!(response.header("content-type").starts_with("text/html"), "{case:?}");
    assert!(response.text.contains("<h1>Invalid request</h1>"), "{case:?}");
}

#[tokio::test]
async fn an_invalid_client_or_redirect_uri_gets_an_error_page_without_redirect() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let other =
        OAuthApp::register_with(&api, &json!({ "redirect_uris": ["https://other.example/cb"] })).await;
    let valid = app.authorization_request();
    let browser = Browser::signed_in(&api, ACME).await;
    let form = Form::of(&browser.get(&authorize_url(&valid)).await.expect(200), "/oauth/authorize");
    let form = form.and("mode", "live").and("decision", "allow");
    for (case, change) in [
        ("nothing", Form::default()),
        ("no client id", valid.clone().without("client_id")),
        ("an empty client id", valid.clone().set("client_id", "")),
        ("an unknown client id", valid.clone().set("client_id", "rc_client_0000000000000000000000")),
        ("another application's client id", valid.clone().set("client_id", &other.id)),
        ("a client id in upper case", valid.clone().set("client_id", &app.id.to_uppercase())),
        ("a client id with a space", valid.clone().set("client_id", &format!("{} ", app.id))),
        ("a database key", valid.clone().set("client_id", "1#live#GATE")),
        ("a long client id", valid.clone().set("client_id", &"x".repeat(3_000))),
        ("a client id in Cyrillic", valid.clone().set("client_id", "приложение")),
        ("two client ids", valid.clone().and("client_id", &app.id)),
        ("no redirect URI", valid.clone().without("redirect_uri")),
        ("an empty redirect URI", valid.clone().set("redirect_uri", "")),
        ("two redirect URIs", valid.clone().and("redirect_uri", REDIRECT)),
        (
            "two redirect URIs, one of them invalid",
            valid.clone().and("redirect_uri", "https://evil.example/"),
        ),
        ("another application's redirect URI", valid.clone().set("redirect_uri", "https://other.example/cb")),
        // An invalid redirect URI takes precedence over other errors.
        (
            "several errors",
            valid.clone().set("redirect_uri", "https://evil.example/").without("response_type"),
        ),
    ] {
        assert_error_page(&request(&api, &change).await, case);
        assert_error_page(&browser.get(&authorize_url(&change)).await, case);
        api.dynamodb.take_calls();
        let response = browser.submit("/oauth/authorize", &change.and("csrf", form.get("csrf"))).await;
        assert_error_page(&response, case);
        assert!(api.dynamodb.take_calls().iter().all(|call| call.operation.contains("Get")), "{case}");
    }
    browser.submit("/oauth/authorize", &form).await.expect(303);
}

/// Returns URIs that resemble the registered one, which consists of `scheme`, `host` and `path`.
fn similar_uris(scheme: &str, host: &str, path: &str) -> Vec<String> {
    let uri = format!("{scheme}://{host}{path}");
    let authorities = "E H.E H-E E.H EH H@E H:80@E E@H E:x@H @H E#H E?H E/H E\\H E\\@H H\\@E H\\.E E#@H E?@H E/@H H%2eE \
        H%40E H%2fE H%00.E H%0d%0a.E H. .H H: H:x H:-1 H:0 H:080 H:65536 H:80:80 H:80@E H, H;E H%20 %48 [H] *.H * H\u{3002}E \
        H\u{ff0e}E H\u{200b} H\u{2044}@E x.H";
    let paths = "P/ /P //P /.P /./P /x/..P P/. P/.. P/../x P/..%2fx P/%2e%2e/x P%2f P%00 P%0d%0ax P\\ P\\..\\x P;x P? P?x=1 P&x=1 \
        P# P#x P@E @E .E P.E P%20 P* /* P%23 /x?P /x#P P\u{ff0f} / /E";
    let schemes = ["http", "https", "HTTPS", "Http", "ftp", "ws", "javascript", "data", "x.example"];
    let fill = |text: &str| text.replace('H', host).replace('P', path).replace('E', "evil.example");
    let mut all: Vec<_> =
        authorities.split(' ').map(|text| format!("{scheme}://{}{path}", fill(text))).collect();
    all.extend(paths.split(' ').map(|text| format!("{scheme}://{host}{}", fill(text))));
    all.extend(schemes.iter().map(|other| format!("{other}://{host}{path}")));
    all.extend([
        format!("{scheme}:{host}{path}"),
        format!("{scheme}:/{host}{path}"),
        format!("{scheme}:///{host}{path}"),
        format!("//{host}{path}"),
        format!("{host}{path}"),
        path.to_owned(),
        format!(" {uri}"),
        format!("{uri} "),
        format!("{uri}\n"),
        format!("{uri}\t"),
        format!("{uri}\0"),
        format!("{uri},{uri}"),
        format!("{uri} https://evil.example"),
        uri.replace('/', "\\"),
        uri.replace('/', "%2f"),
        uri.replace(':', "%3a"),
        uri.to_uppercase(),
        uri.replacen(host, &host.to_uppercase(), 1),
        uri.replace('a', "\u{430}"),
        uri[1..].to_owned(),
        uri[..uri.len() - 1].to_owned(),
        format!("https://evil.example/?next={uri}"),
    ]);
    all
}

/// DynamoDB rejects the key of a very long identifier.
#[tokio::test]
async fn a_client_id_that_cannot_exist_is_not_looked_up() {
    let api = TestApi::new().await;
    for id in ["x".repeat(501), "x".repeat(3_000), "a b".to_owned(), "\u{fc}".to_owned()] {
        api.dynamodb.take_calls();
        let path = authorize_url(&OAuthApp::public(&api, &id).authorization_request());
        api.request(Method::GET, &path).anonymous().send().await.expect(400);
        assert_eq!(api.dynamodb.take_calls().len(), 0, "{id}");
    }
}

#[tokio::test]
async fn a_uri_similar_to_a_registered_redirect_uri_is_refused() {
    let api = TestApi::new().await;
    let registered = [
        ("https", "app.example", "/callback"),
        ("https", "app.example:8443", "/cb?tenant=1"),
        ("http", "127.0.0.1", "/callback"),
        ("http", "localhost:8080", "/callback"),
    ];
    let uris = registered.map(|(scheme, host, path)| format!("{scheme}://{host}{path}"));
    let metadata = json!({ "redirect_uris": uris, "token_endpoint_auth_method": "none" });
    let app = OAuthApp::register_with(&api, &metadata).await;
    let mut count = 0;
    for (scheme, host, path) in registered {
        // A loopback redirect URI matches with any valid port.
        let is_same_loopback = |uri_sent: &String| {
            let name = host.split(':').next().unwrap();
            let port =
                uri_sent.strip_prefix(&format!("{scheme}://{name}")).and_then(|rest| rest.strip_suffix(path));
            let is_valid = |port: &str| {
                port.is_empty() || port.strip_prefix(':').is_some_and(|port| port == "80" || port == "8080")
            };
            scheme == "http" && port.is_some_and(is_valid)
        };
        for uri_sent in similar_uris(scheme, host, path) {
            if uris.contains(&uri_sent) || is_same_loopback(&uri_sent) {
                continue;
            }
            let query = app.authorization_request().set("redirect_uri", &uri_sent);
            assert_error_page(&request(&api, &query).await, &uri_sent);
            count += 1;
        }
    }
    assert!(count >= 350, "{count}");
    for uri in uris {
        request(&api, &app.authorization_request().set("redirect_uri", &uri)).await.expect(303);
    }
}

#[tokio::test]
async fn a_loopback_redirect_uri_matches_with_any_port() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    for (registered, requested, other) in [
        ("http://127.0.0.1/cb", "http://127.0.0.1:49152/cb", "http://127.0.0.1:49153/cb"),
        ("http://127.0.0.1:8080/cb", "http://127.0.0.1:65535/cb", "http://127.0.0.1:8080/cb"),
        ("http://localhost:1/cb?x=1", "http://localhost:3000/cb?x=1", "http://localhost:1/cb?x=1"),
        ("http://[::1]/cb", "http://[::1]:3000/cb", "http://[::1]/cb"),
    ] {
        let metadata = json!({ "redirect_uris": [registered], "token_endpoint_auth_method": "none" });
        let app = OAuthApp::register_with(&api, &metadata).await;
        let page = browser
            .get(&authorize_url(&app.authorization_request().set("redirect_uri", requested)))
            .await
            .expect(200);
        let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
        let sent = browser.submit("/oauth/authorize", &form).await;
        let (target, response) = Form::of_location(&sent);
        assert_eq!(target, requested.split('?').next().unwrap());
        assert!(sent.header("location").starts_with(requested));
        let exchange = OAuthApp::token_request(response.get("code"));
        let wrong = app.send("/oauth/token", &exchange.clone().set("redirect_uri", other)).await;
        assert_eq!(
            oauth_error(&wrong),
            (400, "invalid_grant"),
            "the code is bound to the port of the authorization request"
        );
        Tokens::of(&app.send("/oauth/token", &exchange.set("redirect_uri", requested)).await);
    }
}

#[tokio::test]
async fn every_other_error_is_sent_to_the_application_only_if_a_member_is_signed_in() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let valid = app.authorization_request();
    let browser = Browser::signed_in(&api, ACME).await;
    let page = browser.get(&authorize_url(&valid)).await.expect(200);
    let csrf = Form::of(&page, "/oauth/authorize").get("csrf").to_owned();
    let visitor = Browser::new(&api);
    let sign_in = visitor.get("/dashboard/sign-in").await.expect(200);
    let visitor_csrf = Form::of(&sign_in, "/dashboard/sign-in").get("csrf").to_owned();
    let short = "x".repeat(42);
    let mut errors = vec![
        (valid.clone().without("response_type"), "invalid_request"),
        (valid.clone().set("response_type", ""), "invalid_request"),
        (valid.clone().set("response_type", "token"), "unsupported_response_type"),
        (valid.clone().set("response_type", "code token"), "unsupported_response_type"),
        (valid.clone().set("response_type", "CODE"), "unsupported_response_type"),
        (valid.clone().without("code_challenge"), "invalid_request"),
        (valid.clone().without("code_challenge").without("code_challenge_method"), "invalid_request"),
        (valid.clone().without("code_challenge_method"), "invalid_request"),
        (valid.clone().set("code_challenge_method", "plain"), "invalid_request"),
        (valid.clone().set("code_challenge_method", "none"), "invalid_request"),
        (valid.clone().set("code_challenge_method", "s256"), "invalid_request"),
        (valid.clone().set("code_challenge", ""), "invalid_request"),
        (valid.clone().set("code_challenge", &short), "invalid_request"),
        (valid.clone().set("code_challenge", &"x".repeat(44)), "invalid_request"),
        (valid.clone().set("code_challenge", &"x".repeat(2_000)), "invalid_request"),
        (valid.clone().set("code_challenge", &format!("{short}=")), "invalid_request"),
        (valid.clone().set("code_challenge", &format!("{short}+")), "invalid_request"),
        (valid.clone().set("code_challenge", &format!("{}é", &short[1..])), "invalid_request"),
        (valid.clone().set("scope", "roles:delete"), "invalid_scope"),
        (valid.clone().set("scope", "openid offline_access"), "invalid_scope"),
        (valid.clone().set("scope", "candidates:erase audit:read"), "invalid_scope"),
        (valid.clone().set("scope", "ROLES:READ"), "invalid_scope"),
        (valid.clone().set("scope", "roles:read,roles:write"), "invalid_scope"),
        (valid.clone().set("scope", " "), "invalid_scope"),
    ];
    for name in ["response_type", "code_challenge", "code_challenge_method", "state"] {
        errors.push((valid.clone().and(name, valid.get(name)), "invalid_request"));
    }
    errors.push((valid.clone().set("scope", "roles:read").and("scope", "roles:read"), "invalid_request"));
    for resource in [
        "https://evil.example/api/v1",
        "https://api.rolecall.test.evil.example/api/v1",
        "https://api.rolecall.test@evil.example/api/v1",
        "https://me@api.rolecall.test/api/v1",
        "http://api.rolecall.test/api/v1",
        "https://api.rolecall.test:8443/api/v1",
        "https://api.rolecall.test/api/v2",
        "https://api.rolecall.test/api",
        "https://api.rolecall.test/api/v1/roles",
        "https://api.rolecall.test/api/v1?x",
        "https://api.rolecall.test/api/v1#x",
        "/api/v1",
        "api.rolecall.test",
        "nonsense",
    ] {
        errors.push((valid.clone().set("resource", resource), "invalid_target"));
        errors.push((valid.clone().and("resource", resource), "invalid_target"));
    }
    for (query, error) in errors {
        // Anyone can register an application, and could use a redirect without a sign-in for phishing.
        let page = request(&api, &query).await;
        assert_error_page(&page, &format!("{query:?}"));
        assert!(
            page.text.contains("The application at app.example sent an invalid request"),
            "{}",
            page.text
        );
        let form = query.clone().and("csrf", &visitor_csrf).and("decision", "allow");
        assert_error_page(&visitor.submit("/oauth/authorize", &form).await, &format!("{query:?}"));
        api.dynamodb.take_calls();
        for response in [
            browser.get(&authorize_url(&query)).await,
            browser
                .submit("/oauth/authorize", &query.clone().and("csrf", &csrf).and("decision", "allow"))
                .await,
        ] {
            let (target, params) = Form::of_location(&response);
            assert_eq!((target.as_str(), params.get("error")), (REDIRECT, error), "{query:?}");
            assert_eq!((params.get("state"), params.get("iss")), (STATE, BASE_URL), "{query:?}");
            assert_eq!(params.names(), ["error", "error_description", "state", "iss"]);
            assert_eq!(response.header("cache-control"), "no-store");
        }
        assert!(api.dynamodb.take_calls().iter().all(|call| call.operation.contains("Get")), "{query:?}");
    }
    for (query, description) in [
        (valid.clone().without("response_type"), "response_type is missing."),
        (valid.clone().set("response_type", "token"), "response_type must be code."),
        (valid.clone().without("code_challenge"), "code_challenge is missing: PKCE is required."),
        (valid.clone().set("code_challenge_method", "plain"), "code_challenge_method must be S256."),
        (valid.clone().set("code_challenge", &short), "code_challenge must be a SHA-256 hash in base64url."),
    ] {
        let (_, params) = Form::of_location(&browser.get(&authorize_url(&query)).await);
        assert_eq!(params.get("error_description"), description, "{query:?}");
    }
    let without_state = valid.clone().without("state").set("response_type", "token");
    let (_, params) = Form::of_location(&browser.get(&authorize_url(&without_state)).await);
    assert_eq!(params.names(), ["error", "error_description", "iss"], "a missing state is not returned");
}

/// Scopes that are unknown here, or that the client may not request, are left out (RFC 6749, section 3.3).
#[tokio::test]
async fn a_client_gets_only_scopes_that_are_known_and_that_it_has_registered() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let metadata = json!({
        "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none", "scope": "roles:read organization:read"
    });
    let app = OAuthApp::register_with(&api, &metadata).await;
    for (scope, granted) in [
        ("", "roles:read organization:read"),
        ("organization:read", "organization:read"),
        ("roles:read roles:write", "roles:read"),
        ("openid offline_access organization:read profile", "organization:read"),
    ] {
        let code = app.code(&browser, &app.authorization_request().set("scope", scope), "live").await;
        assert_eq!(app.exchange(&code).await.expect(200).string("/scope"), granted);
    }
    for none in ["roles:write", "openid offline_access", "candidates:erase"] {
        let query = app.authorization_request().set("scope", none);
        let (_, response) = Form::of_location(&browser.get(&authorize_url(&query)).await);
        assert_eq!((response.get("error"), response.get("code")), ("invalid_scope", ""), "{none}");
    }
}

/// The official SDK of MCP for Go registers without a scope and then requests the scopes of the challenge.
#[tokio::test]
async fn a_client_that_registers_no_scope_gets_what_the_challenges_ask_for() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let challenge = api.request(Method::POST, "/mcp").anonymous().json(&json!({})).send().await.expect(401);
    let challenge = challenge.header("www-authenticate").to_owned();
    let scope = challenge.split("scope=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(scope.contains("events:read"), "{scope}");
    let query = app.authorization_request().set("resource", &format!("{BASE_URL}/mcp")).set("scope", scope);
    let code = app.code(&browser, &query, "live").await;
    assert_eq!(app.exchange(&code).await.expect(200).string("/scope"), scope);
    // Every scope that the API asks for in a 403, but for those that owners alone give.
    for scope in Scope::ALL {
        let query = app.authorization_request().set("scope", &format!("{} roles:read", scope.as_str()));
        let code = app.code(&browser, &query, "live").await;
        let granted = app.exchange(&code).await.expect(200).string("/scope").to_owned();
        let is_granted = granted.split(' ').any(|granted| granted == scope.as_str());
        assert_eq!(is_granted, !scope.is_for_owners(), "{granted}");
    }
}

/// A client that was registered before its scopes were optional has those of its registration.
#[tokio::test]
async fn a_client_registered_before_gets_what_it_was_registered_for() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let client = api.store().find_client(&app.id).await.unwrap().unwrap();
    assert_eq!(client.scopes, None);
    let before = Client { scopes: Some(Scopes::by_default()), ..client };
    api.store().insert_client(&before).await.unwrap();
    let query = app.authorization_request().set("scope", "roles:read events:read openid");
    let code = app.code(&browser, &query, "live").await;
    assert_eq!(app.exchange(&code).await.expect(200).string("/scope"), "roles:read");
}

#[tokio::test]
async fn the_response_is_appended_to_the_redirect_uris_query() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    for (uri, prefix, source) in [
        ("https://app.example/cb?tenant=1", "https://app.example/cb?tenant=1&", "https://app.example"),
        ("com.example.app:/callback", "com.example.app:/callback?", "com.example.app:"),
        ("http://localhost:3000", "http://localhost:3000?", "http://localhost:*"),
        ("https://app.example:8443/", "https://app.example:8443/?", "https://app.example:8443"),
    ] {
        let metadata = json!({ "redirect_uris": [uri], "token_endpoint_auth_method": "none" });
        let app = OAuthApp::register_with(&api, &metadata).await;
        let query = app.authorization_request().set("redirect_uri", uri);
        let refused = browser.get(&authorize_url(&query.clone().set("scope", "x"))).await;
        assert!(
            refused.header("location").starts_with(&format!("{prefix}error=invalid_scope&")),
            "{refused:?}"
        );
        let page = browser.get(&authorize_url(&query)).await.expect(200);
        let policy = page.header("content-security-policy");
        assert!(policy.contains(&format!("form-action 'self' {source};")), "{policy}");
        let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
        let sent = browser.submit("/oauth/authorize", &form).await;
        assert!(sent.header("location").starts_with(&format!("{prefix}code=rc_ac_L")), "{sent:?}");
    }
}

/// Hosts that find two resources ask for the host of both, and clients of 2025-03-26 name none.
#[tokio::test]
async fn a_resource_indicator_says_what_the_token_is_for() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let browser = Browser::signed_in(&api, ACME).await;
    let (api_url, mcp_url) = (format!("{BASE_URL}/api/v1"), format!("{BASE_URL}/mcp"));
    let statuses = async |access: &str| {
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let mcp = api.request(Method::POST, "/mcp").bearer(access).json(&list).send().await.status;
        (token_status(&api, access).await, mcp)
    };
    let (both, only_api, only_mcp) = ((200, 200), (200, 401), (401, 200));
    let query = |resource: &str| app.authorization_request().set("resource", resource);
    for (query, expected) in [
        (app.authorization_request().without("resource"), both),
        (query(""), both),
        (query(BASE_URL), both),
        (query(&format!("{BASE_URL}/")), both),
        (query(BASE_URL).and("resource", &format!("{BASE_URL}/")), both),
        (query(&api_url), only_api),
        (query(&format!("{api_url}/")), only_api),
        (query("https://API.rolecall.test:443/api/v1"), only_api),
        (query(&mcp_url), only_mcp),
        (query(&format!("{mcp_url}/")), only_mcp),
        (query(&mcp_url).and("resource", &format!("{mcp_url}/")), only_mcp),
    ] {
        let code = app.code(&browser, &query, "live").await;
        let exchange = OAuthApp::token_request(&code).and("resource", query.get("resource"));
        let mut tokens = Tokens::of(&app.send("/oauth/token", &exchange).await);
        assert_eq!(statuses(&tokens.access).await, expected, "{query:?}");
        for resource in ["", query.get("resource")] {
            let refresh = OAuthApp::refresh_request(&tokens.refresh).and("resource", resource);
            tokens = Tokens::of(&app.send("/oauth/token", &refresh).await);
            assert_eq!(statuses(&tokens.access).await, expected, "a refresh keeps it: {query:?}");
        }
    }
    for (first, second) in [(BASE_URL, &*api_url), (BASE_URL, &mcp_url), (&api_url, &mcp_url)] {
        let mixed = query(first).and("resource", second);
        let (_, answer) = Form::of_location(&browser.get(&authorize_url(&mixed)).await.expect(303));
        assert_eq!(answer.get("error"), "invalid_target", "{mixed:?}");
    }
    // A client may name a part for one access token, and the grant stays for both (RFC 8707, section 2.2).
    let code = app.code(&browser, &query(BASE_URL), "live").await;
    let exchange = OAuthApp::token_request(&code).and("resource", &mcp_url);
    let tokens = Tokens::of(&app.send("/oauth/token", &exchange).await);
    assert_eq!(statuses(&tokens.access).await, only_mcp);
    assert_eq!(statuses(&Tokens::of(&app.refresh(&tokens.refresh).await).access).await, both);
}

/// Cursor registers its own scheme beside two other addresses.
#[tokio::test]
async fn an_app_with_a_scheme_of_its_own_passes_the_whole_flow() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let uris = [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "http://localhost:8787/callback",
    ];
    let metadata =
        json!({ "client_name": "Cursor", "redirect_uris": uris, "token_endpoint_auth_method": "none" });
    let app = OAuthApp::register_with(&api, &metadata).await;
    for uri in uris {
        let query = app.authorization_request().set("redirect_uri", uri);
        let page = browser.get(&authorize_url(&query)).await.expect(200);
        let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
        let sent = browser.submit("/oauth/authorize", &form).await.expect(303);
        assert!(sent.header("location").starts_with(&format!("{uri}?code=rc_ac_L")), "{sent:?}");
        let (_, answer) = Form::of_location(&sent);
        let exchange = OAuthApp::token_request(answer.get("code")).set("redirect_uri", uri);
        Tokens::of(&app.send("/oauth/token", &exchange).await);
    }
    for other in
        ["cursor://evil/oauth/callback", "cursor://anysphere.cursor-mcp/oauth/callback/", "cursor2://x"]
    {
        let query = app.authorization_request().set("redirect_uri", other);
        assert_error_page(&browser.get(&authorize_url(&query)).await, other);
    }
}
