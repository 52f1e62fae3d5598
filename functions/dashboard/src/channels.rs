//! Settings > Integrations > Channels: the X account and the WhatsApp number of the current mode, the voice provider, and
//! the countries that it may call.

use std::sync::Arc;

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use shared::handlers::x_posts::account;
use shared::http::page::{Problem, Sources, problem_of};
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::{
    ChannelStatus, ConnectionStatus, Country, Day, MemberRole, WhatsAppConnection, challenge,
};
use shared::providers::x::{Tokens, X, XError};
use shared::providers::{WhatsAppPort, XPort};
use shared::secret::Secret;
use shared::services::accounts;
use shared::services::calls::codes;

use crate::dates::{self, Time, Zone};
use crate::form::problem;
use crate::layout::{Layout, Section};
use crate::messages::{Alert, Notice};

pub(crate) const PATH: &str = "/dashboard/settings/integrations/channels";
/// The maximum time between the redirect to X and the callback, in seconds.
const MAX_AUTHORIZATION: i64 = 600;
/// The maximum length of a WhatsApp access token, in bytes.
const MAX_TOKEN: usize = 2_000;

const SIMULATED: &str = "Simulated: a built-in account is used, and nothing is sent to external services.";
const X_MISSING: &str = "X is not set up on this service. Ask its administrator to configure an X app.";
const WHATSAPP_MISSING: &str =
    "WhatsApp is not set up on this service. Ask its administrator to configure a token encryption key.";
const VOICE_MISSING: &str = "Candidates cannot be invited to voice screens, because no voice provider is set up on \
    this service. Ask its administrator to configure one.";

#[derive(Template)]
#[template(path = "channels.html")]
struct ChannelsPage<'p> {
    layout: Layout<'p>,
    x: ChannelPanel,
    whatsapp: ChannelPanel,
    phone_number_id: &'p str,
    /// Problems with the fields `phone_number_id` and `token`.
    problems: Vec<Problem>,
    /// The name of the voice provider.
    voice_provider: &'static str,
    voice_is_ready: bool,
    /// A sentence that describes the voice provider.
    voice_detail: &'static str,
    /// Whether the voice provider calls telephones.
    calls_telephones: bool,
    /// The codes of the countries that may be called, as stored or as typed.
    countries: &'p str,
    calls_per_day: u64,
    /// Whether the signed-in member is an owner. Only owners can change the countries.
    is_owner: bool,
}

/// The values that the member typed.
#[derive(Default)]
struct Typed<'p> {
    phone_number_id: &'p str,
    /// The countries; `None` shows the stored ones.
    countries: Option<&'p str>,
}

/// The status of an account on X or WhatsApp.
struct ChannelPanel {
    status: ChannelStatus,
    account: Option<String>,
    /// The provider's message.
    detail: Option<String>,
    /// The time of the provider's last response.
    checked_at: Option<Time>,
    /// Why no account can be connected, as a sentence; `None` if one can.
    unavailable: Option<&'static str>,
}

impl ChannelPanel {
    /// Returns an account with its stored status, or a disconnected account if no status is stored.
    fn stored(status: Option<&ConnectionStatus>, account: Option<String>, zone: &Zone) -> Self {
        let connection = status.cloned().unwrap_or(ConnectionStatus::NONE);
        Self {
            status: connection.status,
            account,
            detail: connection.detail,
            checked_at: connection.checked_at.map(|time| zone.minute(time)),
            unavailable: None,
        }
    }

    /// Returns the simulator, which is always connected.
    fn simulated() -> Self {
        let account = Some("Rolecall simulator".to_owned());
        Self { status: ChannelStatus::Connected, account, ..Self::unavailable(SIMULATED) }
    }

    /// Returns a channel that cannot be connected.
    const fn unavailable(reason: &'static str) -> Self {
        let status = ChannelStatus::Disconnected;
        Self { status, account: None, detail: None, checked_at: None, unavailable: Some(reason) }
    }
}

/// Shows the channels with their stored status. The page does not call the providers.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    page(&request, &Typed::default(), Vec::new()).await
}

async fn page(
    request: &MemberRequest,
    typed: &Typed<'_>,
    problems: Vec<Problem>,
) -> Result<Reply<Html>, Error> {
    let (tenant, providers) = (request.tenant(), request.context.providers().await);
    let found = request.context.store().get_channels(tenant, Day::of(request.context.now())).await?;
    let zone = dates::zone(request);
    let x_port = providers.x(tenant.mode);
    let x = match &x_port {
        XPort::Simulated => ChannelPanel::simulated(),
        XPort::Missing => ChannelPanel::unavailable(X_MISSING),
        XPort::Real(..) => {
            let account = found.x.as_ref().map(|connection| format!("@{}", connection.username));
            ChannelPanel::stored(found.x.as_ref().map(|connection| &connection.standing), account, &zone)
        }
    };
    let whatsapp = match providers.whatsapp(tenant.mode) {
        WhatsAppPort::Simulated => ChannelPanel::simulated(),
        WhatsAppPort::Missing => ChannelPanel::unavailable(WHATSAPP_MISSING),
        WhatsAppPort::Real(..) => {
            let name = |connection: &WhatsAppConnection| {
                connection.account.clone().unwrap_or_else(|| connection.phone_number_id.clone())
            };
            let status = found.whatsapp.as_ref().map(|connection| &connection.standing);
            ChannelPanel::stored(status, found.whatsapp.as_ref().map(name), &zone)
        }
    };
    let stored = codes(found.call_countries.as_deref().unwrap_or(providers.default_call_countries()));
    let voice = providers.voice(tenant.mode);
    let (voice_provider, voice_detail) = match voice {
        Some(voice) => (voice.title, voice.description),
        None => ("None", VOICE_MISSING),
    };
    let reply = Reply::page(&ChannelsPage {
        layout: Layout::of(request, Section::Channels),
        x,
        whatsapp,
        phone_number_id: typed.phone_number_id,
        problems,
        voice_provider,
        voice_is_ready: voice.is_some(),
        voice_detail,
        calls_telephones: voice.is_some_and(|voice| voice.needs_phone),
        countries: typed.countries.unwrap_or(&stored),
        calls_per_day: request.organization().plan.calls_per_day(),
        is_owner: request.member().role == MemberRole::Owner,
    })?;
    Ok(match x_port {
        XPort::Real(x, _) => {
            reply.using(&Sources { form: Some(&x.authorize_origin()), ..Sources::default() })
        }
        _ => reply,
    })
}

/// Redirects to X. The state and the PKCE verifier are computed from the session, and nothing is stored.
pub(crate) async fn connect_x(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let XPort::Real(x, _) = request.context.providers().await.x(request.tenant().mode) else {
        return Err(Error::NotFound);
    };
    let authorization = Authorization::begin(&request);
    let state = authorization.state(&request);
    let verifier = authorization.verifier(&request, &state).ok_or(Error::NotFound)?;
    Ok(Reply::see_other(&x.authorize_url(&callback(&request), &state, &challenge(verifier.expose()))))
}

/// Receives the callback from X, and stores the account that the member connected.
pub(crate) async fn return_from_x(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let context = &request.context;
    let XPort::Real(x, keys) = context.providers().await.x(request.tenant().mode) else {
        return Err(Error::NotFound);
    };
    let query = context.query();
    let Some(verifier) = Authorization::verifier_of_state(&request, query.get("state")) else {
        return Ok(Alert::XStale.redirect_to(PATH));
    };
    let Some(code) = query.non_empty("code") else { return Ok(Alert::XDeclined.redirect_to(PATH)) };
    match fetch(&request, &x, code, &verifier).await {
        Err(reason) => {
            tracing::warn!(tenant = %request.tenant(), %reason, "X did not connect an account");
            Ok(Alert::XFailed.redirect_to(PATH))
        }
        Ok((username, tokens)) => {
            let connection = accounts::connect_x(request.tenant(), username, &tokens, keys, context.random());
            let Ok(connection) = connection else { return Ok(Alert::XFailed.redirect_to(PATH)) };
            let mut transaction = request.transaction();
            transaction.put_x_connection(&connection)?;
            context.store().commit(transaction).await?;
            Ok(Notice::XConnected.redirect_to(PATH))
        }
    }
}

/// Exchanges the code for tokens, and reads the account's name.
async fn fetch(
    request: &MemberRequest,
    x: &X,
    code: &str,
    verifier: &Secret,
) -> Result<(String, Tokens), XError> {
    let tokens = x.exchange(code, &callback(request), verifier, request.context.now()).await?;
    let account = x.account(&tokens.access).await?;
    Ok((account.username, tokens))
}

fn callback(request: &MemberRequest) -> String {
    format!("{}{PATH}/x/callback", request.context.base_url())
}

/// Disconnects the X account, and then revokes its tokens. If X does not revoke them, the account is disconnected all the
/// same, and the member reads how to end the access on X.
pub(crate) async fn disconnect_x(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (context, tenant) = (&request.context, request.tenant());
    let connection = context.store().find_x_connection(tenant).await?;
    let mut transaction = request.transaction();
    transaction.delete_x_connection();
    context.store().commit(transaction).await?;
    let Some(connection) = connection else { return Ok(Notice::XDisconnected.redirect_to(PATH)) };
    let notice = match context.providers().await.x(tenant.mode) {
        XPort::Simulated => Notice::XDisconnected,
        XPort::Missing => Notice::XNotRevoked,
        XPort::Real(x, keys) => match account(context, tenant, x, keys).revoke(&connection).await {
            Ok(()) => Notice::XDisconnected,
            Err(reason) => {
                tracing::warn!(%tenant, %reason, "X did not revoke the tokens of a disconnected account");
                Notice::XNotRevoked
            }
        },
    };
    Ok(notice.redirect_to(PATH))
}

/// Changes the countries that the organization may call.
pub(crate) async fn change_countries(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let codes = request.page.form().get("countries");
    let countries = match Country::list(codes) {
        Ok(countries) => countries,
        Err(message) => {
            let problems = vec![problem("countries", "The countries", &message)];
            let typed = Typed { countries: Some(codes), ..Typed::default() };
            return Ok(page(&request, &typed, problems).await?.with_status(422));
        }
    };
    let mut transaction = request.transaction();
    transaction.put_call_countries(&countries)?;
    request.context.store().commit(transaction).await?;
    Ok(Notice::CallCountriesChanged.redirect_to(PATH))
}

/// Connects a WhatsApp number and replaces any previous one.
pub(crate) async fn connect_whatsapp(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let context = &request.context;
    let WhatsAppPort::Real(_, keys) = context.providers().await.whatsapp(request.tenant().mode) else {
        return Err(Error::NotFound);
    };
    let form = request.page.form();
    let (number, token) = (form.get("phone_number_id").trim(), form.get("token").trim());
    let mut problems = Vec::new();
    if !(1..=20).contains(&number.len()) || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        problems.push(problem("phone_number_id", "The phone number ID", "must be 1 to 20 digits"));
    }
    if !(1..=MAX_TOKEN).contains(&token.len()) || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let message = "must be 1 to 2,000 visible ASCII characters without spaces";
        problems.push(problem("token", "The access token", message));
    }
    if !problems.is_empty() {
        let typed = Typed { phone_number_id: number, ..Typed::default() };
        return Ok(page(&request, &typed, problems).await?.with_status(422));
    }
    let (tenant, token) = (request.tenant(), Secret::new(token));
    let connection = accounts::connect_whatsapp(tenant, number.to_owned(), &token, keys, context.random())
        .map_err(|_| Error::BadRequest("The access token is too long".to_owned()))?;
    let mut transaction = request.transaction();
    transaction.put_whatsapp_connection(&connection)?;
    context.store().commit(transaction).await?;
    Ok(Notice::WhatsAppConnected.redirect_to(PATH))
}

/// Disconnects the WhatsApp number.
pub(crate) async fn disconnect_whatsapp(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let mut transaction = request.transaction();
    transaction.delete_whatsapp_connection();
    request.context.store().commit(transaction).await?;
    Ok(Notice::WhatsAppDisconnected.redirect_to(PATH))
}

/// The purpose of the signature in a `state`.
const X_STATE: &str = "x state";

/// An authorization in progress, between the redirect to X and the callback: a random string, the start time and the
/// mode, joined by dots.
struct Authorization(String);

impl Authorization {
    fn begin(request: &MemberRequest) -> Self {
        let context = &request.context;
        let (random, started_at) = (context.random().token(22), context.now().as_second());
        Self(format!("{random}.{started_at}.{}", request.tenant().mode.as_str()))
    }

    /// Returns the `state` that X sends back: the authorization and a signature that depends on the session cookie.
    fn state(&self, request: &MemberRequest) -> String {
        let keys = request.context.signing_keys();
        format!("{}.{}", self.0, keys.sign(&[X_STATE, request.page.cookie(), &self.0]))
    }

    /// Returns the PKCE verifier (RFC 7636, section 4.1) for a state, under the key that signed the state. `None` unless
    /// the state belongs to this authorization and session.
    fn verifier(&self, request: &MemberRequest, state: &str) -> Option<Secret> {
        let (cookie, keys) = (request.page.cookie(), request.context.signing_keys());
        let (_, signature) = state.rsplit_once('.')?;
        let key = keys.signer_of(&[X_STATE, cookie, &self.0], signature)?;
        Some(Secret::new(URL_SAFE_NO_PAD.encode(key.mac(&["x verifier", cookie, &self.0]))))
    }

    /// Returns the PKCE verifier for a state if it belongs to this session and mode and has not expired.
    fn verifier_of_state(request: &MemberRequest, state: &str) -> Option<Secret> {
        let authorization = Self(state.rsplit_once('.')?.0.to_owned());
        let verifier = authorization.verifier(request, state)?;
        let mut parts = authorization.0.split('.').skip(1);
        let started_at: i64 = parts.next()?.parse().ok()?;
        let elapsed = request.context.now().as_second().checked_sub(started_at)?;
        let is_in_time = (0..MAX_AUTHORIZATION).contains(&elapsed);
        let is_same_mode = parts.next() == Some(request.tenant().mode.as_str());
        (is_in_time && is_same_mode).then_some(verifier)
    }
}
