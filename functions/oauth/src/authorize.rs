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
    Audience, Client, Code, Grant, MemberRole, Mode, RedirectUri, Scope, Scopes, SecurityEvent, Tenant,
};
use shared::store::Transaction;
use url::Url;

use crate::client;
use crate::pages::ConsentPage;

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
    match MemberRequest::find(&request).await? {
        None => Ok(PageRequest::redirect_to_sign_in(&request.path_and_query())),
        Some(member) => match before_consent(&member, &request.path_and_query()) {
            Some(reply) => Ok(reply),
            None => consent_page(&member, &parameters, &target, &access),
        },
    }
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
        ("allow", Some(mode)) => match before_consent(&member, &repeated_request(parameters)) {
            Some(reply) => Ok(reply),
            None => grant_access(&member, &target, access, mode).await,
        },
        _ => {
            let sentence = "The form must contain a decision (allow or deny) and a mode (live or test)";
            Err(Error::BadRequest(sentence.to_owned()))
        }
    }
}

fn consent_page(
    request: &MemberRequest,
    parameters: &Parameters,
    target: &ResponseTarget,
    access: &AccessRequest,
) -> Result<Reply<Html>, Error> {
    let client = &target.client;
    let client_host = if client.is_documented() { host(&client.id) } else { None };
    let page = ConsentPage {
        style_version: style_version(),
        csrf: request.page.csrf(),
        application: client.name.as_str(),
        redirect_host: &target.registered_uri.host(),
        client_host: client_host.as_deref(),
        organization: request.organization_name(),
        email: request.member().email.as_str(),
        return_to: &request.page.path_and_query(),
        scopes: access.scopes.iter().map(Scope::description).collect(),
        mode: request.session().mode.as_str(),
        hidden: authorization_parameters(parameters),
    };
    let origin = target.registered_uri.csp_source();
    Ok(Reply::page(&page)?.using(&Sources { form: Some(&origin), ..Sources::default() }))
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
) -> Result<Reply<Html>, Error> {
    let context = &request.context;
    if access.scopes.contains(Scope::AuditRead) && request.member().role != MemberRole::Owner {
        let description = "Only owners can give access to the audit log.";
        return Ok(target.redirect_error(context, "access_denied", description));
    }
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
        scopes: access.scopes,
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
    let event = SecurityEvent::AppConnected { name: grant.client_name.as_str().to_owned() };
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
    /// Parses the parameters. Without `scope`, the client requests all scopes that it has registered.
    fn parse(base_url: &str, client: &Client, parameters: &Parameters) -> Result<Self, Rejection> {
        let challenge = parameters.get("code_challenge");
        let is_challenge = challenge.len() == CHALLENGE_LENGTH
            && challenge.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let audience = audience(base_url, parameters.all("resource"));
        let default = client.scopes.within(audience.unwrap_or_default().scopes());
        let scopes = parameters.non_empty("scope").map_or(Some(default), parse_scopes);
        let reject = |error, description| Err((error, description));
        match (audience, scopes) {
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
            (None, _) => reject("invalid_target", "resource must be this API or its MCP endpoint, not both."),
            (_, None) => reject("invalid_scope", "scope contains an unknown scope."),
            (_, Some(scopes)) if !scopes.are_within(client.scopes) => {
                reject("invalid_scope", "scope contains a scope that the application has not registered.")
            }
            (Some(audience), Some(scopes)) => Ok(Self { challenge: challenge.to_owned(), scopes, audience }),
        }
    }
}

/// Parses a list of scopes (RFC 6749, section 3.3). Returns `None` if one is unknown or the list is empty.
pub(crate) fn parse_scopes(text: &str) -> Option<Scopes> {
    let scopes: Option<Vec<Scope>> = text.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
    scopes.filter(|scopes| !scopes.is_empty()).map(Scopes::from_iter)
}

/// Returns the audience that resource indicators (RFC 8707) name: the URL of this host or of its API, or the URL of the MCP
/// endpoint. Returns `None` if one is unknown, or if they name both. An empty indicator counts as absent (RFC 6749,
/// section 3.1), and without any, the audience is the API.
pub(crate) fn audience<'r>(base_url: &str, resources: impl IntoIterator<Item = &'r str>) -> Option<Audience> {
    let named = resources.into_iter().filter(|resource| !resource.is_empty());
    let mut named = named.map(|resource| audience_of(base_url, resource));
    let first = named.next().unwrap_or(Some(Audience::Api))?;
    named.all(|other| other == Some(first)).then_some(first)
}

/// Returns the audience with this URL.
fn audience_of(base_url: &str, resource: &str) -> Option<Audience> {
    let resource = Url::parse(resource).ok()?;
    let is_plain = resource.fragment().is_none()
        && resource.query().is_none()
        && resource.username().is_empty()
        && resource.password().is_none();
    let location = |url: &Url| (url.origin(), url.path().trim_end_matches('/').to_owned());
    let is_at = |url: &str| Url::parse(url).is_ok_and(|url| location(&url) == location(&resource));
    if !is_plain {
        None
    } else if is_at(base_url) {
        Some(Audience::Api)
    } else {
        Audience::ALL.into_iter().find(|audience| is_at(&audience.url(base_url)))
    }
}

fn host(url: &str) -> Option<String> {
    Url::parse(url).ok()?.host_str().map(str::to_owned)
}
