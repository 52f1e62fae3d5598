//! OAuth for the MCP endpoint: its metadata, tokens that are for it alone, and applications that may only read.

use http::Method;
use serde_json::json;
use tests::browser::{Browser, Form};
use tests::oauth::{OAuthApp, Tokens, authorize_url, oauth_error, token_status};
use tests::{ACME, BASE_URL, TestApi};

const APPS: &str = "/dashboard/settings/integrations/connected-apps";

async fn mcp_status(api: &TestApi, access: &str) -> u16 {
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    api.request(Method::POST, "/mcp").bearer(access).json(&list).send().await.status
}

/// An authorization request for the MCP endpoint.
fn request_for_mcp(app: &OAuthApp<'_>) -> Form {
    app.authorization_request().set("resource", &format!("{BASE_URL}/mcp"))
}

#[tokio::test]
async fn the_endpoint_has_metadata_of_its_own() {
    let api = TestApi::new().await;
    let metadata =
        api.request(Method::GET, "/.well-known/oauth-protected-resource/mcp").anonymous().send().await;
    let metadata = metadata.expect(200);
    assert_eq!(metadata.body["resource"], format!("{BASE_URL}/mcp"));
    assert_eq!(metadata.body["authorization_servers"], json!([BASE_URL]));
    let scopes: Vec<_> = metadata.body["scopes_supported"].as_array().unwrap().clone();
    let needed: shared::model::Scopes =
        mcp::tools::TABLE.iter().flat_map(|tool| tool.scopes.iter().copied()).collect();
    for scope in needed.iter() {
        assert!(scopes.contains(&json!(scope.as_str())), "{}", scope.as_str());
    }
    assert!(!scopes.contains(&json!("candidates:erase")));
}

#[tokio::test]
async fn tokens_are_for_the_endpoint_or_for_the_api() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let browser = Browser::signed_in(&api, ACME).await;
    let code = app.code(&browser, &request_for_mcp(&app), "live").await;
    let for_mcp = Tokens::of(&app.exchange(&code).await);
    assert_eq!(
        (mcp_status(&api, &for_mcp.access).await, token_status(&api, &for_mcp.access).await),
        (200, 401)
    );
    let for_api = app.connect(&browser).await;
    assert_eq!(
        (mcp_status(&api, &for_api.access).await, token_status(&api, &for_api.access).await),
        (401, 200)
    );
    let next = Tokens::of(&app.refresh(&for_mcp.refresh).await);
    assert_eq!((mcp_status(&api, &next.access).await, token_status(&api, &next.access).await), (200, 401));
    app.revoke(&next.access).await.expect(200);
    assert_eq!(mcp_status(&api, &next.access).await, 401);
    let last = Tokens::of(&app.refresh(&next.refresh).await);
    assert_eq!(mcp_status(&api, &last.access).await, 200);
    app.revoke(&last.refresh).await.expect(200);
    assert_eq!(mcp_status(&api, &last.access).await, 401);
}

#[tokio::test]
async fn resources_that_are_mixed_or_change_later_are_refused() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let browser = Browser::signed_in(&api, ACME).await;
    for other in [BASE_URL.to_owned(), format!("{BASE_URL}/api/v1"), format!("{BASE_URL}/mcp/x")] {
        let mixed = request_for_mcp(&app).and("resource", &other);
        let (_, answer) = Form::of_location(&browser.get(&authorize_url(&mixed)).await.expect(303));
        assert_eq!(answer.get("error"), "invalid_target", "{other}");
    }
    let code = app.code(&browser, &request_for_mcp(&app), "live").await;
    let exchange = |resource: &str| OAuthApp::token_request(&code).and("resource", resource);
    for wrong in [format!("{BASE_URL}/api/v1"), BASE_URL.to_owned(), "https://elsewhere.example".to_owned()] {
        let refused = app.send("/oauth/token", &exchange(&wrong)).await;
        assert_eq!(oauth_error(&refused), (400, "invalid_target"), "the code is not used up: {wrong}");
    }
    let tokens = Tokens::of(&app.send("/oauth/token", &exchange(&format!("{BASE_URL}/mcp"))).await);
    let refresh = OAuthApp::refresh_request(&tokens.refresh).and("resource", &format!("{BASE_URL}/api/v1"));
    assert_eq!(oauth_error(&app.send("/oauth/token", &refresh).await), (400, "invalid_target"));
    assert_eq!(mcp_status(&api, &tokens.access).await, 200);
}

#[tokio::test]
async fn an_owner_sees_an_apps_calls_and_narrows_it_to_reading() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let browser = Browser::signed_in(&api, ACME).await;
    let code = app.code(&browser, &request_for_mcp(&app), "live").await;
    let tokens = Tokens::of(&app.exchange(&code).await);
    let call = json!({ "name": "list_roles", "arguments": {} });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call });
    let called =
        api.request(Method::POST, "/mcp").bearer(&tokens.access).json(&call).send().await.expect(200);
    assert_eq!(called.body["result"]["isError"], false);
    let listed = browser.get(APPS).await.expect(200);
    let link = listed.text.split("href=\"").find(|link| link.starts_with(&format!("{APPS}/"))).unwrap();
    let path = link.split('"').next().unwrap();
    let page = browser.get(path).await.expect(200);
    for text in ["list_roles", "20 Nov 2026, 09:30 UTC", "done"] {
        assert!(page.text.contains(text), "{text}: {}", page.text);
    }
    let narrow = format!("{path}/narrow");
    browser.submit(&narrow, &Form::of(&page, &narrow)).await.expect(303);
    assert_eq!(mcp_status(&api, &tokens.access).await, 401, "the old token had more scopes");
    let refreshed = app.refresh(&tokens.refresh).await;
    let scope = refreshed.string("/scope").to_owned();
    assert!(scope.split(' ').all(|scope| scope.ends_with(":read")), "{scope}");
    assert_eq!(mcp_status(&api, &Tokens::of(&refreshed).access).await, 200);
    let page = browser.get(path).await.expect(200);
    assert!(!page.text.contains("Allow only reading"), "{}", page.text);
}
