//! An OAuth application for tests: it registers, asks for access, and gets, renews and revokes its tokens.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use rolecall_local::demo::DEMOS;
use serde_json::{Value, json};
use shared::auth::Credential;
use shared::model::challenge;
use url::form_urlencoded::byte_serialize;

use crate::browser::{Browser, FORM, Form};
use crate::{ACME, Answer, Ask, BASE_URL, World};

/// Where the application wants its answers.
pub const REDIRECT: &str = "https://app.example/callback";
/// What the application alone knows until it shows it for its tokens.
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
/// What the application sends along, and gets back.
pub const STATE: &str = "st&te=1 +%/é";

/// See the module.
#[derive(Clone)]
pub struct App<'w> {
    world: &'w World,
    /// The identifier.
    pub id: String,
    /// The secret, where it has one.
    pub secret: Option<String>,
    /// Whether the secret goes into the header, not into the form.
    by_basic: bool,
}

/// A pair of tokens.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// The access token.
    pub access: String,
    /// The refresh token.
    pub refresh: String,
}

/// A registration that is being put together.
pub fn registration<'w>(world: &'w World, metadata: &Value) -> Ask<'w> {
    world.request(Method::POST, "/oauth/registrations").anonymous().json(metadata)
}

impl<'w> App<'w> {
    /// Registers an application that proves itself in this way: `none`, `client_secret_basic`, `client_secret_post`.
    pub async fn register(world: &'w World, method: &str) -> Self {
        let metadata = json!({
            "client_name": "Assistant",
            "redirect_uris": [REDIRECT],
            "token_endpoint_auth_method": method,
        });
        Self::registered(world, &metadata).await
    }

    /// Registers an application that describes itself so.
    pub async fn registered(world: &'w World, metadata: &Value) -> Self {
        let answer = registration(world, metadata).send().await.expect(201);
        Self {
            world,
            id: answer.string("/client_id").to_owned(),
            secret: answer.body["client_secret"].as_str().map(str::to_owned),
            by_basic: answer.string("/token_endpoint_auth_method") == "client_secret_basic",
        }
    }

    /// The public application with this identifier, which may be the address of its metadata document.
    pub fn public(world: &'w World, id: &str) -> Self {
        Self { world, id: id.to_owned(), secret: None, by_basic: false }
    }

    /// What it asks a member for.
    pub fn asking(&self) -> Form {
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

    /// The code for which a member who is signed in allows what is asked, with data of this mode.
    pub async fn code(&self, browser: &Browser<'_>, asking: &Form, mode: &str) -> String {
        let page = browser.get(&address(asking)).await.expect(200);
        let form = Form::of(&page, "/oauth/authorize").and("mode", mode).and("decision", "allow");
        let (_, answer) = Form::of_location(&browser.submit("/oauth/authorize", &form).await);
        assert!(!answer.get("code").is_empty(), "{answer:?}");
        answer.get("code").to_owned()
    }

    /// What it sends for its first tokens.
    pub fn exchanging(code: &str) -> Form {
        Form::new(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
        ])
    }

    /// What it sends for its next tokens.
    pub fn refreshing(refresh: &str) -> Form {
        Form::new(&[("grant_type", "refresh_token"), ("refresh_token", refresh)])
    }

    /// Sends a form to the token or the revocation endpoint, and proves that it is itself.
    pub async fn send(&self, path: &str, form: &Form) -> Answer {
        let ask = self.world.request(Method::POST, path).anonymous();
        match &self.secret {
            Some(secret) if self.by_basic => {
                ask.header("authorization", &basic(&self.id, secret)).body(FORM, form.encoded())
            }
            Some(secret) => {
                let form = form.clone().and("client_id", &self.id).and("client_secret", secret);
                ask.body(FORM, form.encoded())
            }
            None => ask.body(FORM, form.clone().and("client_id", &self.id).encoded()),
        }
        .send()
        .await
    }

    /// Exchanges a code.
    pub async fn exchange(&self, code: &str) -> Answer {
        self.send("/oauth/token", &Self::exchanging(code)).await
    }

    /// Renews a pair of tokens.
    pub async fn refresh(&self, refresh: &str) -> Answer {
        self.send("/oauth/token", &Self::refreshing(refresh)).await
    }

    /// Revokes a token.
    pub async fn revoke(&self, token: &str) -> Answer {
        self.send("/oauth/revoke", &Form::new(&[("token", token)])).await
    }

    /// The whole way to the first pair, with all scopes and live data.
    pub async fn connect(&self, browser: &Browser<'_>) -> Tokens {
        let code = self.code(browser, &self.asking(), "live").await;
        Tokens::of(&self.exchange(&code).await)
    }
}

impl Tokens {
    /// The pair in an answer.
    #[track_caller]
    pub fn of(answer: &Answer) -> Self {
        assert_eq!(answer.status, 200, "{}", answer.text);
        let [access, refresh] = ["/access_token", "/refresh_token"].map(|at| answer.string(at).to_owned());
        Self { access, refresh }
    }
}

/// The page that asks a member for this.
pub fn address(asking: &Form) -> String {
    format!("/oauth/authorize?{}", asking.encoded())
}

/// The header with which an application proves that it is itself (RFC 6749, section 2.3.1).
pub fn basic(id: &str, secret: &str) -> String {
    let [id, secret] = [id, secret].map(|text| byte_serialize(text.as_bytes()).collect::<String>());
    format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")))
}

/// Whether an access token is good: the status of a request that needs no more.
pub async fn status(world: &World, access: &str) -> u16 {
    world.request(Method::GET, "/api/v1/organization").bearer(access).send().await.status
}

/// An answer in OAuth's own form: its status and the word for programs.
#[track_caller]
pub fn refusal(answer: &Answer) -> (u16, &str) {
    assert!(answer.status != 500 && answer.header("content-type") == "application/json", "{answer:?}");
    assert_eq!((answer.header("cache-control"), answer.header("pragma")), ("no-store", "no-cache"));
    assert!(!answer.string("/error_description").is_empty(), "{}", answer.text);
    (answer.status, answer.string("/error"))
}

/// Goes every way that something secret goes, and says what it was: of a credential, the part that is secret and the
/// checksum behind it.
pub async fn secrets(world: &World) -> Vec<(&'static str, String)> {
    let browser = Browser::new(world);
    let door = browser.get("/dashboard/sign-in").await.expect(200);
    let csrf_before = Form::of(&door, "/dashboard/sign-in").get("csrf").to_owned();
    let cookie_before = browser.cookie().clone();
    browser.sign_in(&door, ACME).await.expect(303);
    let page = browser.get("/dashboard/settings/members").await.expect(200);
    let invitation = Form::of(&page, "/dashboard/settings/members");
    let csrf = invitation.get("csrf").to_owned();
    let invitation = invitation.set("name", "Eve").set("email", "eve@acme.example").set("role", "member");
    let page = browser.submit("/dashboard/settings/members", &invitation).await.expect(200);
    let link = page.text.split("token=").nth(1).and_then(|rest| rest.split('<').next());
    let mut secrets = vec![
        ("cookie before sign-in", cookie_before),
        ("form's token before sign-in", csrf_before),
        ("session cookie", browser.cookie().clone()),
        ("form's token", csrf),
        ("link", link.expect("a link").to_owned()),
        ("password", DEMOS[ACME].password.to_owned()),
        ("verifier", VERIFIER.to_owned()),
    ];
    for method in ["none", "client_secret_basic", "client_secret_post"] {
        let app = App::register(world, method).await;
        secrets.extend(app.secret.clone().map(|secret| ("client secret", secret)));
        for mode in ["live", "test"] {
            let code = app.code(&browser, &app.asking(), mode).await;
            let first = Tokens::of(&app.exchange(&code).await);
            let next = Tokens::of(&app.refresh(&first.refresh).await);
            assert_eq!(status(world, &next.access).await, 200);
            app.refresh(&first.refresh).await.expect(400);
            secrets.extend([("used code", code), ("code", app.code(&browser, &app.asking(), mode).await)]);
            for pair in [first, next] {
                secrets.extend([("access token", pair.access), ("refresh token", pair.refresh)]);
            }
        }
    }
    for (_, secret) in &mut secrets {
        if secret.parse::<Credential>().is_ok() {
            secret.drain(..25);
        }
    }
    secrets
}

/// Shows each secret where it does not belong, and what is answered.
pub async fn misplace(world: &World, secrets: &[(&'static str, String)]) -> String {
    let app = App::register(world, "none").await;
    let browser = Browser::new(world);
    let mut shown = String::new();
    for (_, secret) in secrets {
        let asking = app.asking().set("client_id", secret).set("redirect_uri", secret);
        let door = Form::new(&[("token", secret), ("return_to", secret), ("done", secret)]).encoded();
        for answer in [
            browser.get(&address(&asking)).await.expect(400),
            browser.get(&format!("/dashboard/password?{door}")).await.expect(400),
            browser.get(&format!("/dashboard/sign-in?{door}")).await.expect(200),
            app.exchange(secret).await.expect(400),
            app.refresh(secret).await.expect(400),
            app.revoke(secret).await.expect(200),
            world.request(Method::GET, "/api/v1/roles").bearer(secret).send().await.expect(401),
            world.request(Method::GET, &format!("/nowhere?{door}")).anonymous().send().await.expect(404),
        ] {
            shown += &answer.text;
        }
    }
    shown
}
