//! An OAuth application for tests. It registers, requests authorization, and exchanges, refreshes and revokes its
//! tokens.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use rolecall_local::demo::DEMOS;
use serde_json::{Value, json};
use shared::auth::Credential;
use shared::model::challenge;
use url::form_urlencoded::byte_serialize;

use crate::browser::{Browser, FORM, Form};
use crate::{ACME, BASE_URL, RequestBuilder, Response, TestApi};

/// The application's redirect URI.
pub const REDIRECT: &str = "https://app.example/callback";
/// The application's PKCE code verifier.
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
/// The `state` parameter of authorization requests.
pub const STATE: &str = "st&te=1 +%/é";

/// An OAuth client application.
#[derive(Clone)]
pub struct OAuthApp<'a> {
    api: &'a TestApi,
    /// The client id.
    pub id: String,
    /// The client secret of a confidential client.
    pub secret: Option<String>,
    /// Whether the secret is sent with HTTP Basic authentication instead of in the form.
    uses_basic: bool,
}

/// A pair of tokens.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// The access token.
    pub access: String,
    /// The refresh token.
    pub refresh: String,
}

/// Builds a registration request.
pub fn registration<'a>(api: &'a TestApi, metadata: &Value) -> RequestBuilder<'a> {
    api.request(Method::POST, "/oauth/registrations").anonymous().json(metadata)
}

impl<'a> OAuthApp<'a> {
    /// Registers an application with this authentication method: `none`, `client_secret_basic` or `client_secret_post`.
    pub async fn register(api: &'a TestApi, method: &str) -> Self {
        let metadata = json!({
            "client_name": "Assistant",
            "redirect_uris": [REDIRECT],
            "token_endpoint_auth_method": method,
        });
        Self::register_with(api, &metadata).await
    }

    /// Registers an application with this metadata.
    pub async fn register_with(api: &'a TestApi, metadata: &Value) -> Self {
        let response = registration(api, metadata).send().await.expect(201);
        Self {
            api,
            id: response.string("/client_id").to_owned(),
            secret: response.body["client_secret"].as_str().map(str::to_owned),
            uses_basic: response.string("/token_endpoint_auth_method") == "client_secret_basic",
        }
    }

    /// Returns a public application with this client id, which may be the URL of its metadata document.
    pub fn public(api: &'a TestApi, id: &str) -> Self {
        Self { api, id: id.to_owned(), secret: None, uses_basic: false }
    }

    /// Returns the parameters of an authorization request.
    pub fn authorization_request(&self) -> Form {
        Form::new(&[
            ("response_type", "code"),
            ("client_id", &self.id),
            ("redirect_uri", REDIRECT),
            ("code_challenge", &challenge(VERIFIER)),
            ("code_challenge_method", "S256"),
            ("state", STATE),
            ("resource", &format!("{BASE_URL}/api/v1")),
        ])
    }

    /// Opens the consent page as a signed-in member, allows the request for this mode, and returns the authorization
    /// code.
    pub async fn code(&self, browser: &Browser<'_>, query: &Form, mode: &str) -> String {
        let page = browser.get(&authorize_url(query)).await.expect(200);
        let form = Form::of(&page, "/oauth/authorize").and("mode", mode).and("decision", "allow");
        let (_, response) = Form::of_location(&browser.submit("/oauth/authorize", &form).await);
        assert!(!response.get("code").is_empty(), "{response:?}");
        response.get("code").to_owned()
    }

    /// Returns the form that exchanges a code for tokens.
    pub fn token_request(code: &str) -> Form {
        Form::new(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
        ])
    }

    /// Returns the form that refreshes tokens.
    pub fn refresh_request(refresh: &str) -> Form {
        Form::new(&[("grant_type", "refresh_token"), ("refresh_token", refresh)])
    }

    /// Sends a form to the token or the revocation endpoint, with the application's authentication.
    pub async fn send(&self, path: &str, form: &Form) -> Response {
        let request = self.api.request(Method::POST, path).anonymous();
        match &self.secret {
            Some(secret) if self.uses_basic => {
                request.header("authorization", &basic_auth(&self.id, secret)).body(FORM, form.encoded())
            }
            Some(secret) => {
                let form = form.clone().and("client_id", &self.id).and("client_secret", secret);
                request.body(FORM, form.encoded())
            }
            None => request.body(FORM, form.clone().and("client_id", &self.id).encoded()),
        }
        .send()
        .await
    }

    /// Exchanges a code.
    pub async fn exchange(&self, code: &str) -> Response {
        self.send("/oauth/token", &Self::token_request(code)).await
    }

    /// Refreshes a pair of tokens.
    pub async fn refresh(&self, refresh: &str) -> Response {
        self.send("/oauth/token", &Self::refresh_request(refresh)).await
    }

    /// Revokes a token.
    pub async fn revoke(&self, token: &str) -> Response {
        self.send("/oauth/revoke", &Form::new(&[("token", token)])).await
    }

    /// Runs the whole authorization flow, with all scopes and in live mode. Returns the tokens.
    pub async fn connect(&self, browser: &Browser<'_>) -> Tokens {
        let code = self.code(browser, &self.authorization_request(), "live").await;
        Tokens::of(&self.exchange(&code).await)
    }
}

impl Tokens {
    /// Returns the tokens of a successful response.
    #[track_caller]
    pub fn of(response: &Response) -> Self {
        assert_eq!(response.status, 200, "{}", response.text);
        let [access, refresh] = ["/access_token", "/refresh_token"].map(|at| response.string(at).to_owned());
        Self { access, refresh }
    }
}

/// Returns the path of the consent page for an authorization request.
pub fn authorize_url(query: &Form) -> String {
    format!("/oauth/authorize?{}", query.encoded())
}

/// Returns the `Authorization` header of HTTP Basic authentication (RFC 6749, section 2.3.1).
pub fn basic_auth(id: &str, secret: &str) -> String {
    let [id, secret] = [id, secret].map(|text| byte_serialize(text.as_bytes()).collect::<String>());
    format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")))
}

/// Returns the status of an API request with an access token: 200 if it is valid.
pub async fn token_status(api: &TestApi, access: &str) -> u16 {
    api.request(Method::GET, "/api/v1/organization").bearer(access).send().await.status
}

/// Returns the number of hashes of API keys and access tokens on the gate item of Acme in live mode.
pub async fn count_hashes(api: &TestApi) -> usize {
    let gate = ("1#live#GATE".to_owned(), "GATE".to_owned());
    api.stored_items().await[&gate]["alive"].as_bs().expect("hashes").len()
}

/// Returns the status and the error code of an OAuth error response. Asserts its format.
#[track_caller]
pub fn oauth_error(response: &Response) -> (u16, &str) {
    assert!(response.status != 500 && response.header("content-type") == "application/json", "{response:?}");
    assert_eq!((response.header("cache-control"), response.header("pragma")), ("no-store", "no-cache"));
    assert_eq!(response.header("x-content-type-options"), "nosniff");
    assert!(!response.string("/error_description").is_empty(), "{}", response.text);
    (response.status, response.string("/error"))
}

/// Runs every flow that creates or uses a secret. Returns the kind and the value of each secret. The value of a
/// credential contains only its secret part and its checksum.
pub async fn secrets(api: &TestApi) -> Vec<(&'static str, String)> {
    let browser = Browser::new(api);
    let sign_in_page = browser.get("/dashboard/sign-in").await.expect(200);
    let csrf_before = Form::of(&sign_in_page, "/dashboard/sign-in").get("csrf").to_owned();
    let cookie_before = browser.cookie().clone();
    browser.sign_in(&sign_in_page, ACME).await.expect(303);
    let page = browser.get("/dashboard/settings/members").await.expect(200);
    let invitation = Form::of(&page, "/dashboard/settings/members");
    let csrf = invitation.get("csrf").to_owned();
    let invitation = invitation.set("name", "Eve").set("email", "eve@acme.example").set("role", "member");
    let page = browser.submit("/dashboard/settings/members", &invitation).await.expect(200);
    let link = page.text.split("token=").nth(1).and_then(|rest| rest.split('<').next());
    let mut secrets = vec![
        ("cookie before sign-in", cookie_before),
        ("CSRF token before sign-in", csrf_before),
        ("session cookie", browser.cookie().clone()),
        ("CSRF token", csrf),
        ("link", link.expect("a link").to_owned()),
        ("password", DEMOS[ACME].password.to_owned()),
        ("verifier", VERIFIER.to_owned()),
    ];
    for method in ["none", "client_secret_basic", "client_secret_post"] {
        let app = OAuthApp::register(api, method).await;
        secrets.extend(app.secret.clone().map(|secret| ("client secret", secret)));
        for mode in ["live", "test"] {
            let code = app.code(&browser, &app.authorization_request(), mode).await;
            let first = Tokens::of(&app.exchange(&code).await);
            let next = Tokens::of(&app.refresh(&first.refresh).await);
            assert_eq!(token_status(api, &next.access).await, 200);
            api.clock.set("2026-11-20T09:31:00Z");
            app.refresh(&first.refresh).await.expect(400);
            api.clock.set("2026-11-20T09:30:00Z");
            secrets.extend([
                ("used code", code),
                ("code", app.code(&browser, &app.authorization_request(), mode).await),
            ]);
            for pair in [first, next] {
                secrets.extend([("access token", pair.access), ("refresh token", pair.refresh)]);
            }
        }
    }
    for (_, secret) in &mut secrets {
        if Credential::read(secret, &api.environment.config.credential_keys).is_ok() {
            secret.drain(..35);
        }
    }
    secrets
}

/// Sends each secret in the wrong parameters. Returns the bodies of all responses.
pub async fn misuse_secrets(api: &TestApi, secrets: &[(&'static str, String)]) -> String {
    let app = OAuthApp::register(api, "none").await;
    let browser = Browser::new(api);
    let mut bodies = String::new();
    for (_, secret) in secrets {
        let query = app.authorization_request().set("client_id", secret).set("redirect_uri", secret);
        let params = Form::new(&[("token", secret), ("return_to", secret), ("done", secret)]).encoded();
        for response in [
            browser.get(&authorize_url(&query)).await.expect(400),
            browser.get(&format!("/dashboard/password?{params}")).await.expect(400),
            browser.get(&format!("/dashboard/sign-in?{params}")).await.expect(200),
            app.exchange(secret).await.expect(400),
            app.refresh(secret).await.expect(400),
            app.revoke(secret).await.expect(200),
            api.request(Method::GET, "/api/v1/roles").bearer(secret).send().await.expect(401),
            api.request(Method::GET, &format!("/nowhere?{params}")).anonymous().send().await.expect(404),
        ] {
            bodies += &response.text;
        }
    }
    bodies
}
