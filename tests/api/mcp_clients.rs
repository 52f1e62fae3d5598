//! The published Rust client of the Model Context Protocol, in both eras, as a host uses it: from nothing but the address.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode, Uri};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, ClientJsonRpcMessage, ElicitRequestParams,
    ElicitResult, ElicitationAction, ErrorData, GetPromptRequestParams, ProtocolVersion,
    ReadResourceRequestParams,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RequestContext, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::{
    AuthClient, AuthorizationRequest, OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest, OAuthState,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpClientTransportConfig,
    StreamableHttpError, StreamableHttpPostResponse,
};
use rolecall_local::gateway::Gateway;
use serde_json::{Value, json};
use sse_stream::Sse;
use tests::browser::{Browser, Form};
use tests::dashboard::owner;
use tests::oauth::OAuthApp;
use tests::{ACME, BASE_URL, TestApi};

const REDIRECT: &str = "http://127.0.0.1:43120/callback";
const SOURCE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// Sends the client's requests to the gateway.
#[derive(Clone)]
struct GatewayClient(Arc<Gateway>);

impl GatewayClient {
    async fn send(&self, mut request: Request<Bytes>) -> Response<Bytes> {
        let url = request.uri().to_string();
        let path: Uri = url.strip_prefix(BASE_URL).expect("the service's URL").parse().expect("a path");
        *request.uri_mut() = path;
        request.headers_mut().insert("host", HeaderValue::from_static("api.rolecall.test"));
        self.0.send(request, SOURCE).await
    }
}

impl OAuthHttpClient for GatewayClient {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let response = self.send(request.request.map(Bytes::from)).await;
            Ok(response.map(|body| body.to_vec()))
        })
    }
}

type ClientError = StreamableHttpError<Infallible>;

impl StreamableHttpClient for GatewayClient {
    type Error = Infallible;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        credential: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, ClientError> {
        assert_eq!(session, None, "there are no sessions");
        let mut request = Request::post(&*uri)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(credential) = credential {
            request = request.header("authorization", format!("Bearer {credential}"));
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let body = serde_json::to_vec(&message)?;
        let response = self.send(request.body(body.into()).expect("a request")).await;
        match response.status() {
            StatusCode::ACCEPTED => return Ok(StreamableHttpPostResponse::Accepted),
            StatusCode::UNAUTHORIZED => {
                let challenge = str::from_utf8(response.headers()["www-authenticate"].as_bytes())
                    .expect("text")
                    .to_owned();
                return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)));
            }
            _ => {}
        }
        Ok(StreamableHttpPostResponse::Json(serde_json::from_slice(response.body())?, None))
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        _: Arc<str>,
        _: Option<String>,
        _: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), ClientError> {
        Err(StreamableHttpError::ServerDoesNotSupportDeleteSession)
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        _: Option<Arc<str>>,
        _: Option<String>,
        _: Option<String>,
        _: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, ClientError> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

/// A host whose member says yes to each question.
#[derive(Clone, Default)]
struct Host {
    questions: Arc<Mutex<Vec<String>>>,
}

impl rmcp::ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let config = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "host", "version": "1.0.0" },
        });
        serde_json::from_value(config).expect("a configuration")
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = request else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        self.questions.lock().unwrap().push(message);
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "confirm": true })))
    }
}

/// Registers a host, and lets a member allow it the access.
async fn authorize(gateway: &GatewayClient, browser: &Browser<'_>) -> OAuthState {
    let url = format!("{BASE_URL}/mcp");
    let ping = serde_json::from_value(json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).unwrap();
    let refused = gateway.post_message(url.as_str().into(), ping, None, None, HashMap::new()).await;
    let Err(StreamableHttpError::AuthRequired(challenge)) = refused else { panic!("a credential is needed") };
    let mut state = OAuthState::new_with_oauth_http_client(&url, Arc::new(gateway.clone())).await.unwrap();
    let request = AuthorizationRequest::new(REDIRECT).with_client_name("A host");
    state.start_authorization(request.with_challenge(challenge.www_authenticate_header)).await.unwrap();
    let consent = state.get_authorization_url().await.unwrap();
    let page = browser.get(consent.strip_prefix(BASE_URL).expect("the service's URL")).await.expect(200);
    let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
    let back = browser.submit("/oauth/authorize", &form).await.expect(303);
    state.handle_callback_url(back.header("location")).await.expect("tokens");
    state
}

async fn try_call(
    client: &RunningService<RoleClient, Host>,
    tool: &'static str,
    arguments: Value,
) -> CallToolResult {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await.expect("a result")
}

async fn call(client: &RunningService<RoleClient, Host>, tool: &'static str, arguments: Value) -> Value {
    let result = try_call(client, tool, arguments).await;
    assert_ne!(result.is_error, Some(true), "{tool}: {result:?}");
    result.structured_content.expect("structured content")
}

#[tokio::test]
async fn the_rust_client_does_the_teams_work_in_both_eras() {
    let modern = vec![ProtocolVersion::V_2026_07_28];
    let eras = [
        ("2025-11-25", ClientLifecycleMode::Initialize),
        ("2026-07-28", ClientLifecycleMode::Discover { preferred_versions: modern.clone() }),
        ("2026-07-28", ClientLifecycleMode::Auto { preferred_versions: modern, legacy_version: None }),
    ];
    for (revision, lifecycle) in eras {
        let api = TestApi::new().await;
        let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
        if revision != "2025-11-25" {
            let path = "/dashboard/settings/integrations/confirmations";
            let form = Form::of(&browser.get(path).await.expect(200), path);
            let form = form.and("apps_use_page", "false").and("keys_use_page", "false");
            browser.submit(path, &form).await.expect(303);
        }
        let gateway = GatewayClient(api.gateway.clone());
        let state = authorize(&gateway, &browser).await;
        let config = StreamableHttpClientTransportConfig::with_uri(format!("{BASE_URL}/mcp"));
        let authorized = AuthClient::new(gateway, state.into_authorization_manager().expect("tokens"));
        let manager = authorized.auth_manager.clone();
        let transport = StreamableHttpClientTransport::with_client(authorized, config);
        let host = Host::default();
        let client = host.clone().serve_with_lifecycle(transport, lifecycle).await.expect("a connection");
        let server = client.peer_info().expect("the server's information");
        assert_eq!(server.protocol_version.as_str(), revision);
        assert_eq!(client.list_all_tools().await.expect("tools").len(), mcp::tools::TABLE.len());
        assert_eq!(client.list_all_prompts().await.expect("prompts").len(), 3);
        assert_eq!(client.list_all_resource_templates().await.expect("templates").len(), 2);

        // The member confirms on a page what the host does not ask.
        let confirm = async |tool: &'static str, arguments: Value| {
            if revision == "2025-11-25" {
                let asked = format!("{:?}", try_call(&client, tool, arguments).await);
                let path = asked.split_once(BASE_URL).expect("a link").1.split(' ').next().unwrap();
                let form = Form::of(&browser.get(path).await.expect(200), path);
                browser.submit(path, &form.and("decision", "confirm")).await.expect(303);
            }
        };
        let post = json!({ "title": "Cook" });
        confirm("quick_post", post.clone()).await;
        let role = call(&client, "quick_post", post).await["role_id"].clone();
        let ada = json!({ "name": "Ada", "email": "ada@example.com", "role_id": role });
        let ada = call(&client, "add_candidate", ada).await["id"].clone();
        let reject = json!({ "candidate_id": ada, "action": "reject" });
        confirm("move_candidate", reject.clone()).await;
        assert_eq!(call(&client, "move_candidate", reject).await["stage"], "rejected");
        let questions = vec![
            "Create a role with a job posting, and publish both on the career page.".to_owned(),
            format!("Reject candidate {ada}: application for role {role} in stage applied."),
        ];
        let expected = if revision == "2025-11-25" { Vec::new() } else { questions };
        assert_eq!(*host.questions.lock().unwrap(), expected);
        let report = call(&client, "pipeline_report", json!({ "role_id": role })).await;
        assert_eq!(report["stages"]["rejected"]["now"], 1);

        let uri = format!("rolecall://candidates/{ada}");
        let read = client.read_resource(ReadResourceRequestParams::new(uri)).await.expect("a resource");
        assert_eq!(read.contents.len(), 1);
        let prompt = client.get_prompt(GetPromptRequestParams::new("weekly_report")).await.expect("a prompt");
        assert_eq!(prompt.messages.len(), 1);
        let unknown = client.call_tool(CallToolRequestParams::new("nothing")).await.expect_err("an error");
        assert!(unknown.to_string().contains("There is no such tool"), "{unknown}");

        let before = manager.lock().await.get_access_token().await.unwrap();
        manager.lock().await.refresh_token().await.expect("new tokens");
        assert_ne!(manager.lock().await.get_access_token().await.unwrap(), before);
        call(&client, "list_roles", json!({})).await;
        let (id, tokens) = manager.lock().await.get_credentials().await.unwrap();
        let refresh = serde_json::to_value(tokens).unwrap()["refresh_token"].as_str().unwrap().to_owned();
        OAuthApp::public(&api, &id).revoke(&refresh).await.expect(200);
        let refused =
            client.call_tool(CallToolRequestParams::new("list_roles")).await.expect_err("a refusal");
        assert!(refused.to_string().contains("Auth"), "{refused}");
        client.cancel().await.expect("an end");
    }
}
