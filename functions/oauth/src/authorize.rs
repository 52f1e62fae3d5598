//! The authorization endpoint (RFC 6749, section 3.1; RFC 7636; RFC 9207): it asks the signed-in member for consent.
//!
//! An invalid request is redirected back to the client only if the client is known, the redirect URI is registered and a
//! member is signed in. Otherwise the visitor gets an error page: anyone can register a client, and could use this
//! endpoint to send visitors to an attacker's site (RFC 9700, section 4.11.2).

use std::sync::Arc;

use shared::auth::{Claims, Credential, Kind};
use shared::http::page::{Sources, style_version};
use shared::http::{Error, Html, MemberRequest, PageRequest, Parameters, Reply, RequestContext};
use shared::model::{
    ActorKind, Audience, Client, Code, Grant, Mode, NoticeEvent, RedirectUri, Room, Scope, Scopes, Tenant,
};
use shared::store::Transaction;
use url::Url;

use crate::client;
use crate::offer::Offer;
use crate::pages::{ConsentPage, Ending};
use crate::register::known_scopes;

/// The parameters that must not be repeated. Only `resource` may be repeated.
const UNREPEATABLE: [&str; 7] = [
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

/// The client and the redirect URI that the response goes to.
struct ResponseTarget {
    client: Client,
    redirect_uri: String,
    registered_uri: RedirectUri,
    state: Option<String>,
}

/// An OAuth error code with its description.
type Rejection = (&'static str, &'static str);

/// The access that the client requests.
struct AccessRequest {
    challenge: String,
    scopes: Scopes,
    audience: Audience,
}

/// Shows the consent page.
pub(crate) async fn show_consent(request: Arc<PageRequest>) -> Result<Reply<Html>, Error> {
    let context = &request.context;
    let parameters = context.query();
    let target = ResponseTarget::find(context, &parameters).await?;
    let access = match AccessRequest::parse(context.base_url(), &target.client, &parameters) {
        Ok(access) => access,
        Err(rejection) => return target.reject(&request, rejection).await,
    };
    let return_to = request.path_and_query();
    let Some(member) = MemberRequest::find(&request).await? else {
        return Ok(PageRequest::redirect_to_sign_in(&return_to));
    };
    if let Some(reply) = before_consent(&member, &return_to) {
        return Ok(reply);
    }
    let offer = Offer::find(&member, &target.registered_uri.site(), access.scopes).await?;
    consent_page(&member, &parameters, &target, &access, &offer, &return_to).await
}

/// Processes the member's decision.
pub(crate) async fn decide(request: Arc<PageRequest>) -> Result<Reply<Html>, Error> {
    let (context, parameters) = (&request.context, request.form());
    let target = ResponseTarget::find(context, parameters).await?;
    let access = match AccessRequest::parse(context.base_url(), &target.client, parameters) {
        Ok(access) => access,
        Err(rejection) => return target.reject(&request, rejection).await,
    };
    let Some(member) = MemberRequest::find(&request).await? else {
        // The session ended after the page was shown. The member signs in and sees the page again.
        return Ok(PageRequest::redirect_to_sign_in(&repeated_request(parameters)));
    };
    let mode = parameters.get("mode");
    match (parameters.get("decision"), Mode::ALL.into_iter().find(|known| known.as_str() == mode)) {
        ("deny", _) => Ok(target.redirect_error(context, "access_denied", "The member denied access.")),
        ("allow", Some(mode)) => {
            let return_to = repeated_request(parameters);
            if let Some(reply) = before_consent(&member, &return_to) {
                return Ok(reply);
            }
            let offer = Offer::find(&member, &target.registered_uri.site(), access.scopes).await?;
            let is_offered = offer.text() == parameters.get("offer") && *offer.room(mode) != Room::Full;
            if offer.refusal().is_none() && is_offered {
                grant_access(&member, &target, access, mode, offer).await
            } else {
                // It has changed after the page was shown.
                consent_page(&member, parameters, &target, &access, &offer, &return_to).await
            }
        }
        _ => {
            let sentence = "The form must contain a decision (allow or deny) and a mode (live or test)";
            Err(Error::BadRequest(sentence.to_owned()))
        }
    }
}

async fn consent_page(
    request: &MemberRequest,
    parameters: &Parameters,
    target: &ResponseTarget,
    access: &AccessRequest,
    offer: &Offer,
    return_to: &str,
) -> Result<Reply<Html>, Error> {
    if let Some(reason) = offer.refusal() {
        return Ok(target.redirect_error(&request.context, "access_denied", reason));
    }
    let client = &target.client;
    let client_host = if client.is_documented() { host(&client.id) } else { None };
    let is_free = |mode: Mode| *offer.room(mode) != Room::Full;
    let shown = request.session().mode;
    let chosen = [shown].into_iter().chain(Mode::ALL).find(|mode| is_free(*mode));
    let ending = |(mode, room): &'_ (Mode, Room)| match room {
        Room::Ending(grant) => Some(Ending {
            mode: mode.as_str(),
            application: grant.client_name.as_str().to_owned(),
            host: grant.redirect_host.clone(),
            last_used: grant.last_used_on.map(|day| day.to_string()),
        }),
        Room::Free | Room::Full => None,
    };
    let descriptions = |scopes: Scopes| scopes.iter().map(Scope::description).collect();
    let can_write = !offer.scopes.are_within(Scopes::for_reading());
    let acts_through_api = can_write
        && match access.audience {
            Audience::Mcp => false,
            Audience::Api => true,
            Audience::Both => !requires_page(request).await?,
        };
    let page = ConsentPage {
        style_version: style_version(),
        csrf: request.csrf(),
        application: client.name.as_str(),
        redirect_host: &target.registered_uri.host(),
        client_host: client_host.as_deref(),
        organization: request.organization_name(),
        email: request.member().email.as_str(),
        return_to,
        scopes: descriptions(offer.scopes),
        for_owners: descriptions(offer.for_owners),
        narrowed: offer.narrowed.as_ref().map(|narrowed| narrowed.site.as_str()),
        acts_through_api,
        live: is_free(Mode::Live),
        test: is_free(Mode::Test),
        mode: chosen.map_or("", Mode::as_str),
        endings: offer.rooms.iter().filter_map(ending).collect(),
        offer: offer.text(),
        hidden: authorization_parameters(parameters),
    };
    let origin = target.registered_uri.csp_source();
    Ok(Reply::page(&page)?.using(&Sources { form: Some(&origin), ..Sources::default() }))
}

/// Whether applications must ask on the page before they do what cannot be undone, reaches people or becomes public, in
/// both modes.
async fn requires_page(request: &MemberRequest) -> Result<bool, Error> {
    for mode in Mode::ALL {
        let tenant = Tenant { mode, ..request.tenant() };
        let settings = request.context.store().find_organization_settings(tenant).await?;
        if !settings.unwrap_or_default().confirmations.requires_page(ActorKind::App) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the parameters that repeat this authorization request.
fn authorization_parameters(parameters: &Parameters) -> Vec<(String, String)> {
    let names = UNREPEATABLE.into_iter().chain(["resource"]);
    let pairs = names.flat_map(|name| parameters.all(name).map(move |value| (name, value)));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Redirects to what the member must do before giving consent: set up a required second factor, or give the password
/// again.
fn before_consent(member: &MemberRequest, return_to: &str) -> Option<Reply<Html>> {
    member.second_factor_step(false).or_else(|| member.confirmation(return_to))
}

/// Returns the path and query of this authorization request.
fn repeated_request(parameters: &Parameters) -> String {
    let repeated = authorization_parameters(parameters);
    let repeated: Vec<_> = repeated.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    RedirectUri::with_query("/oauth/authorize", &repeated)
}

/// Creates the grant and redirects to the client with the authorization code.
async fn grant_access(
    request: &MemberRequest,
    target: &ResponseTarget,
    access: AccessRequest,
    mode: Mode,
    offer: Offer,
) -> Result<Reply<Html>, Error> {
    let context = &request.context;
    let tenant = Tenant { organization: request.tenant().organization, mode };
    let (id, now) = (context.ids().next(), context.now());
    let code = Credential::generate(
        Kind::AuthorizationCode,
        tenant,
        id,
        Claims::default(),
        context.credential_keys(),
        context.random(),
    );
    let grant = Grant {
        id,
        client_id: target.client.id.clone(),
        client_name: target.client.name.clone(),
        redirect_host: target.registered_uri.host(),
        member: request.member().id,
        scopes: offer.scopes,
        audience: access.audience,
        code: Code {
            hash: code.hash(),
            redirect_uri: target.redirect_uri.clone(),
            challenge: access.challenge,
            expires_at: now.saturating_add(Code::LIFE).unwrap_or(now),
        },
        tokens: None,
        created_at: now,
        last_used_on: None,
        revoked_at: None,
        version: 1,
    };
    let mut transaction = Transaction::new(tenant);
    transaction.insert_grant(&grant)?;
    transaction.count_connection(offer.seen);
    if let Room::Ending(idlest) = offer.room(mode) {
        transaction.revoke_grant(idlest, now)?;
    }
    let event = NoticeEvent::AppConnected { name: grant.client_name.as_str().to_owned() };
    transaction.insert_notice(request.member().id, &context.notice(event))?;
    // A member who is being removed cannot grant anything.
    transaction.require_member(request.member());
    if !target.client.is_documented() {
        transaction.keep_client(&target.client.id);
    }
    context.store().commit(transaction).await?;
    Ok(target.redirect(context, &[("code", code.reveal())]))
}

impl ResponseTarget {
    async fn find(context: &RequestContext, parameters: &Parameters) -> Result<Self, Error> {
        let page = |sentence: &str| Error::BadRequest(sentence.to_owned());
        if parameters.repeated(&["client_id", "redirect_uri"]).is_some() {
            return Err(page("client_id and redirect_uri must not be repeated"));
        }
        let client = client::find(context, parameters.get("client_id")).await?;
        let client = client.ok_or_else(|| page("The application that sent you here is unknown"))?;
        let redirect_uri = parameters.get("redirect_uri").to_owned();
        let registered_uri = client
            .redirects_to(&redirect_uri)
            .cloned()
            .ok_or_else(|| page("The redirect URI is not registered for this application"))?;
        let state = parameters.all("state").next().map(str::to_owned);
        Ok(Self { client, redirect_uri, registered_uri, state })
    }

    /// Redirects an error in the request to the client if a member is signed in. Other visitors get an error page that
    /// names the client's host, and are not redirected.
    async fn reject(
        &self,
        request: &Arc<PageRequest>,
        (error, description): Rejection,
    ) -> Result<Reply<Html>, Error> {
        if MemberRequest::find(request).await?.is_some() {
            return Ok(self.redirect_error(&request.context, error, description));
        }
        let (host, description) = (self.registered_uri.host(), description.trim_end_matches('.'));
        Err(Error::BadRequest(format!("The application at {host} sent an invalid request: {description}")))
    }

    fn redirect_error(&self, context: &RequestContext, error: &str, description: &str) -> Reply<Html> {
        self.redirect(context, &[("error", error), ("error_description", description)])
    }

    /// Redirects to the client with these parameters and the issuer (RFC 9207).
    fn redirect(&self, context: &RequestContext, parameters: &[(&str, &str)]) -> Reply<Html> {
        let mut pairs = parameters.to_vec();
        pairs.extend(self.state.as_deref().map(|state| ("state", state)));
        pairs.push(("iss", context.base_url()));
        Reply::see_other(&RedirectUri::with_query(&self.redirect_uri, &pairs))
    }
}

impl AccessRequest {
    /// Parses the parameters. Unknown scopes, and those that the client may not request, are left out.
    fn parse(base_url: &str, client: &Client, parameters: &Parameters) -> Result<Self, Rejection> {
        let challenge = parameters.get("code_challenge");
        let is_challenge = challenge.len() == CHALLENGE_LENGTH
            && challenge.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let audience = audience(base_url, parameters.all("resource"));
        let default = || client.default_scopes(audience.unwrap_or_default());
        let scopes = parameters.non_empty("scope").map(known_scopes);
        let scopes = scopes.map_or_else(default, |scopes| scopes.within(client.requestable_scopes()));
        let reject = |error, description| Err((error, description));
        match audience {
            _ if parameters.repeated(&UNREPEATABLE).is_some() => {
                reject("invalid_request", "A parameter was sent more than once.")
            }
            _ if parameters.get("response_type").is_empty() => {
                reject("invalid_request", "response_type is missing.")
            }
            _ if parameters.get("response_type") != "code" => {
                reject("unsupported_response_type", "response_type must be code.")
            }
            _ if challenge.is_empty() => {
                reject("invalid_request", "code_challenge is missing: PKCE is required.")
            }
            _ if parameters.get("code_challenge_method") != "S256" => {
                reject("invalid_request", "code_challenge_method must be S256.")
            }
            _ if !is_challenge => {
                reject("invalid_request", "code_challenge must be a SHA-256 hash in base64url.")
            }
            None => reject("invalid_target", "resource must be this host, its API or its MCP endpoint."),
            Some(_) if scopes.is_empty() => {
                reject("invalid_scope", "scope contains no scope that the application may request.")
            }
            Some(audience) => Ok(Self { challenge: challenge.to_owned(), scopes, audience }),
        }
    }
}

/// Returns the audience that resource indicators (RFC 8707) name: the URL of this host, of its API or of its MCP endpoint.
/// Returns `None` if one is unknown, or if they name several. An empty indicator counts as absent (RFC 6749, section 3.1),
/// and without any, the audience is both.
pub(crate) fn audience<'r>(base_url: &str, resources: impl IntoIterator<Item = &'r str>) -> Option<Audience> {
    let named = resources.into_iter().filter(|resource| !resource.is_empty());
    let mut named = named.map(|resource| audience_at(base_url, resource));
    let first = named.next().unwrap_or(Some(Audience::Both))?;
    named.all(|other| other == Some(first)).then_some(first)
}

/// Returns the audience with this URL, with or without a slash at its end.
fn audience_at(base_url: &str, resource: &str) -> Option<Audience> {
    let resource = Url::parse(resource).ok()?;
    let is_plain = resource.fragment().is_none()
        && resource.query().is_none()
        && resource.username().is_empty()
        && resource.password().is_none();
    let location = |url: &Url| (url.origin(), url.path().trim_end_matches('/').to_owned());
    let is_at = |url: &str| Url::parse(url).is_ok_and(|url| location(&url) == location(&resource));
    is_plain.then(|| Audience::ALL.into_iter().find(|audience| is_at(&audience.url(base_url)))).flatten()
}

fn host(url: &str) -> Option<String> {
    Url::parse(url).ok()?.host_str().map(str::to_owned)
}
