//! The authorization endpoint (RFC 6749, section 3.1; RFC 7636; RFC 9207): the member sees who asks for what, and decides.
//!
//! Whoever asks wrongly for an application that we know, at an address of its own, is told so there; everybody else
//! sees an error page, because the address may be a trap.

use std::sync::Arc;

use shared::auth::{Credential, Kind};
use shared::http::page::{Sources, style_version};
use shared::http::{Browser, Desk, Error, Page, Parameters, Reply, audience};
use shared::model::{Client, Code, Grant, Mode, RedirectUri, Scope, Scopes, Tenant};
use shared::store::Writes;
use url::Url;

use crate::client;
use crate::pages::Consent;

/// The names that may be sent once only; `resource` may be repeated.
const ONCE: [&str; 7] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "code_challenge",
    "code_challenge_method",
    "state",
    "scope",
];
/// The length of an S256 challenge.
const CHALLENGE_LENGTH: usize = 43;

/// Who asks, and where the answer goes.
struct Asker {
    client: Client,
    redirect_uri: String,
    registered: RedirectUri,
    state: Option<String>,
}

/// What is asked for.
struct Asked {
    challenge: String,
    scopes: Scopes,
}

/// Shows who asks for what.
pub(crate) async fn ask(browser: Arc<Browser>) -> Result<Reply<Page>, Error> {
    let parameters = browser.query();
    let asker = Asker::read(&browser, &parameters).await?;
    let asked = match Asked::read(browser.base_url(), &parameters) {
        Ok(asked) => asked,
        Err((error, description)) => return Ok(asker.refuse(&browser, error, description)),
    };
    match browser.desk().await? {
        None => Ok(Browser::sign_in_page(&browser.address())),
        Some(desk) => consent(&desk, &parameters, &asker, &asked),
    }
}

/// Takes the member's answer.
pub(crate) async fn decide(browser: Arc<Browser>) -> Result<Reply<Page>, Error> {
    let parameters = browser.form();
    let asker = Asker::read(&browser, parameters).await?;
    let asked = match Asked::read(browser.base_url(), parameters) {
        Ok(asked) => asked,
        Err((error, description)) => return Ok(asker.refuse(&browser, error, description)),
    };
    let Some(desk) = browser.desk().await? else {
        // The session has ended in the meantime: the member signs in and is asked once more.
        let asked = asked_again(parameters);
        let asked: Vec<_> = asked.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        return Ok(Browser::sign_in_page(&RedirectUri::with_query("/oauth/authorize", &asked)));
    };
    let mode = parameters.get("mode");
    match (parameters.get("decision"), Mode::ALL.into_iter().find(|known| known.as_str() == mode)) {
        ("deny", _) => Ok(asker.refuse(&browser, "access_denied", "The member has not allowed it.")),
        ("allow", Some(mode)) => allow(&desk, &asker, asked, mode).await,
        _ => Err(Error::BadRequest("The form must say allow or deny, and for live or test data".to_owned())),
    }
}

fn consent(desk: &Desk, parameters: &Parameters, asker: &Asker, asked: &Asked) -> Result<Reply<Page>, Error> {
    let client = &asker.client;
    let home_host = client.uri.as_ref().and_then(|uri| host(uri.as_str()));
    let page = Consent {
        style_version: style_version(),
        csrf: desk.csrf(),
        application: client.name.as_str(),
        redirect_host: &asker.registered.host(),
        home_host: home_host.as_deref(),
        is_unverified: !client.is_documented(),
        organization: desk.organization().name.as_str(),
        email: desk.member().email.as_str(),
        return_to: &desk.address(),
        scopes: asked.scopes.iter().map(Scope::description).collect(),
        mode: desk.session().mode.as_str(),
        hidden: asked_again(parameters),
    };
    let origin = asker.registered.csp_source();
    Ok(Reply::page(&page)?.using(&Sources { form: Some(&origin), ..Sources::default() }))
}

/// The parameters with which the same is asked again.
fn asked_again(parameters: &Parameters) -> Vec<(String, String)> {
    let names = ONCE.into_iter().chain(["resource"]);
    let pairs = names.flat_map(|name| parameters.all(name).map(move |value| (name, value)));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

async fn allow(desk: &Desk, asker: &Asker, asked: Asked, mode: Mode) -> Result<Reply<Page>, Error> {
    let tenant = Tenant { organization: desk.tenant().organization, mode };
    let (id, now) = (desk.ids().next(), desk.now());
    let code = Credential::generate(Kind::AuthorizationCode, tenant, id, desk.random());
    let grant = Grant {
        id,
        client_id: asker.client.id.clone(),
        client_name: asker.client.name.clone(),
        redirect_host: asker.registered.host(),
        member: desk.member().id,
        scopes: asked.scopes,
        code: Code {
            hash: code.hash(),
            redirect_uri: asker.redirect_uri.clone(),
            challenge: asked.challenge,
            expires_at: now.saturating_add(Code::LIFE).unwrap_or(now),
        },
        tokens: None,
        created_at: now,
        revoked_at: None,
        version: 1,
    };
    let mut writes = Writes::new(tenant);
    writes.insert_grant(&grant)?;
    // Somebody who is being removed grants nothing more.
    writes.require_member(desk.member());
    if !asker.client.is_documented() {
        writes.keep_client(&asker.client.id);
    }
    desk.store().commit(writes).await?;
    Ok(asker.redirect(desk, &[("code", code.reveal())]))
}

impl Asker {
    async fn read(browser: &Browser, parameters: &Parameters) -> Result<Self, Error> {
        let page = |sentence: &str| Error::BadRequest(sentence.to_owned());
        if parameters.repeated(&["client_id", "redirect_uri"]).is_some() {
            return Err(page("client_id and redirect_uri must be sent once each"));
        }
        let client = client::find(browser, parameters.get("client_id")).await?;
        let client = client.ok_or_else(|| page("The application that sent you here is not known"))?;
        let redirect_uri = parameters.get("redirect_uri").to_owned();
        let registered = client.redirects_to(&redirect_uri).cloned().ok_or_else(|| {
            page("The application wants the answer at an address that is not one of its own")
        })?;
        let state = parameters.all("state").next().map(str::to_owned);
        Ok(Self { client, redirect_uri, registered, state })
    }

    fn refuse(&self, browser: &Browser, error: &str, description: &str) -> Reply<Page> {
        self.redirect(browser, &[("error", error), ("error_description", description)])
    }

    /// Sends the browser back with the answer, and says whose answer it is (RFC 9207).
    fn redirect(&self, browser: &Browser, answer: &[(&str, &str)]) -> Reply<Page> {
        let mut pairs = answer.to_vec();
        pairs.extend(self.state.as_deref().map(|state| ("state", state)));
        pairs.push(("iss", browser.base_url()));
        Reply::see_other(&RedirectUri::with_query(&self.redirect_uri, &pairs))
    }
}

impl Asked {
    fn read(base_url: &str, parameters: &Parameters) -> Result<Self, (&'static str, &'static str)> {
        let challenge = parameters.get("code_challenge");
        let is_challenge = challenge.len() == CHALLENGE_LENGTH
            && challenge.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let scopes = parameters.given("scope").map_or_else(|| Some(Scopes::all()), read_scopes);
        let refused = |error, description| Err((error, description));
        match scopes {
            _ if parameters.repeated(&ONCE).is_some() => {
                refused("invalid_request", "A parameter was sent more than once.")
            }
            _ if parameters.get("response_type").is_empty() => {
                refused("invalid_request", "response_type is missing.")
            }
            _ if parameters.get("response_type") != "code" => {
                refused("unsupported_response_type", "response_type must be code.")
            }
            _ if challenge.is_empty() => {
                refused("invalid_request", "code_challenge is missing: PKCE is required.")
            }
            _ if parameters.get("code_challenge_method") != "S256" => {
                refused("invalid_request", "code_challenge_method must be S256.")
            }
            _ if !is_challenge => {
                refused("invalid_request", "code_challenge must be a SHA-256 in base64url.")
            }
            _ if !parameters.all("resource").all(|resource| is_resource(base_url, resource)) => {
                refused("invalid_target", "resource must be this API.")
            }
            None => refused("invalid_scope", "scope holds what does not exist here."),
            Some(scopes) => Ok(Self { challenge: challenge.to_owned(), scopes }),
        }
    }
}

/// Scopes as they are written (RFC 6749, section 3.3); `None` where one is unknown.
pub(crate) fn read_scopes(text: &str) -> Option<Scopes> {
    let scopes: Option<Vec<Scope>> = text.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
    scopes.filter(|scopes| !scopes.is_empty()).map(Scopes::from_iter)
}

/// Whether a resource indicator (RFC 8707) means this API, or the host that it is on. One without a value was not sent
/// (RFC 6749, section 3.1).
pub(crate) fn is_resource(base_url: &str, resource: &str) -> bool {
    if resource.is_empty() {
        return true;
    }
    let (Ok(resource), Ok(host), Ok(api)) =
        (Url::parse(resource), Url::parse(base_url), Url::parse(&audience(base_url)))
    else {
        return false;
    };
    let plain = |url: &Url| (url.origin(), url.path().trim_end_matches('/').to_owned());
    let bare = resource.fragment().is_none()
        && resource.query().is_none()
        && resource.username().is_empty()
        && resource.password().is_none();
    bare && [host, api].iter().any(|own| plain(own) == plain(&resource))
}

fn host(address: &str) -> Option<String> {
    Url::parse(address).ok()?.host_str().map(str::to_owned)
}
