//! Settings, Integrations, Channels: the accounts on X and WhatsApp of the mode that is looked at, and who makes the calls.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use shared::accounts;
use shared::http::page::{Problem, Sources};
use shared::http::{Desk, Error, Page, Reply};
use shared::model::{ChannelStatus, Day, Standing, VoiceProvider, challenge};
use shared::providers::x::X;
use shared::providers::{WhatsAppPort, XPort};
use shared::secret::Secret;
use subtle::ConstantTimeEq;

use crate::frame::{done, failed, frame, minute, problem};
use crate::pages::{Channel, Channels, Section};

const PATH: &str = "/dashboard/settings/integrations/channels";
/// How long somebody may take on X's page, in seconds.
const ON_X: i64 = 600;
const SIMULATED: &str = "Simulated: a built-in account stands in, and nothing leaves this service.";

/// Shows the channels, as they were last known.
pub(crate) async fn show(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    page(&desk, "", Vec::new()).await
}

async fn page(desk: &Desk, phone_number_id: &str, problems: Vec<Problem>) -> Result<Reply<Page>, Error> {
    let (tenant, providers) = (desk.tenant(), desk.providers());
    let found = desk.store().find_channels(tenant, Day::of(desk.now())).await?;
    let x_port = providers.x(tenant.mode);
    let x = match &x_port {
        XPort::Simulated => simulated(),
        XPort::Missing => missing("This service has no app on X: whoever runs it can set one up."),
        XPort::Real(..) => {
            let account = found.x.as_ref().map(|connection| format!("@{}", connection.username));
            known(found.x.as_ref().map(|connection| &connection.standing), account)
        }
    };
    let whatsapp = match providers.whatsapp(tenant.mode) {
        WhatsAppPort::Simulated => simulated(),
        WhatsAppPort::Missing => {
            missing("This service keeps no tokens: whoever runs it can set up a key for them.")
        }
        WhatsAppPort::Real(..) => {
            let name = |connection: &shared::model::WhatsAppConnection| {
                connection.account.clone().unwrap_or_else(|| connection.phone_number_id.clone())
            };
            let account = found.whatsapp.as_ref().map(name);
            known(found.whatsapp.as_ref().map(|connection| &connection.standing), account)
        }
    };
    let provider = providers.voice_provider(tenant.mode);
    let (voice_provider, voice_detail) = match provider {
        Some(VoiceProvider::Simulator) => ("Simulator", "Conversations are made up; nobody is called."),
        Some(VoiceProvider::Vapi) => ("Vapi", "Candidates are called by Vapi."),
        None => (
            "Nobody",
            "Candidates cannot be invited to voice screens until whoever runs this service sets up Vapi.",
        ),
    };
    let reply = Reply::page(&Channels {
        frame: frame(desk, Section::Channels),
        x,
        whatsapp,
        phone_number_id,
        problems,
        voice_provider,
        voice_is_ready: provider.is_some(),
        voice_detail,
    })?;
    Ok(match x_port {
        XPort::Real(x, _) => {
            reply.using(&Sources { form: Some(&x.authorize_origin()), ..Sources::default() })
        }
        _ => reply,
    })
}

fn known<'c>(standing: Option<&Standing>, account: Option<String>) -> Channel<'c> {
    let standing = standing.cloned().unwrap_or(Standing::NONE);
    Channel {
        status: standing.status.as_str(),
        account,
        detail: standing.detail,
        checked_at: standing.checked_at.map(minute),
        unavailable: None,
    }
}

fn simulated<'c>() -> Channel<'c> {
    let status = ChannelStatus::Connected.as_str();
    let account = Some("Rolecall simulator".to_owned());
    Channel { status, account, detail: None, checked_at: None, unavailable: Some(SIMULATED) }
}

fn missing(why: &str) -> Channel<'_> {
    let status = ChannelStatus::Disconnected.as_str();
    Channel { status, account: None, detail: None, checked_at: None, unavailable: Some(why) }
}

/// Goes to X. The way back is good for this browser and ten minutes; what proves it is computed, not stored.
pub(crate) async fn connect_x(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let XPort::Real(x, _) = desk.providers().x(desk.tenant().mode) else { return Err(Error::NotFound) };
    let journey = Journey::begin(&desk);
    let verifier = journey.verifier(&desk);
    let address = x.authorize_url(&callback(&desk), &journey.state(&desk), &challenge(verifier.expose()));
    Ok(Reply::see_other(&address))
}

/// Comes back from X, and keeps the account that was allowed.
pub(crate) async fn return_from_x(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let XPort::Real(x, keys) = desk.providers().x(desk.tenant().mode) else { return Err(Error::NotFound) };
    let query = desk.query();
    let Some(journey) = Journey::end(&desk, query.get("state")) else { return Ok(failed(PATH, "x-stale")) };
    let Some(code) = query.given("code") else { return Ok(failed(PATH, "x-declined")) };
    match fetch(&desk, &x, code, &journey.verifier(&desk)).await {
        Err(reason) => {
            tracing::warn!(tenant = %desk.tenant(), %reason, "X did not connect an account");
            Ok(failed(PATH, "x-failed"))
        }
        Ok((username, tokens)) => {
            let connection = accounts::connect_x(desk.tenant(), username, &tokens, keys, desk.random());
            let Ok(connection) = connection else { return Ok(failed(PATH, "x-failed")) };
            let mut writes = desk.writes();
            writes.put_x_connection(&connection)?;
            desk.store().commit(writes).await?;
            Ok(done(PATH, "x-connected"))
        }
    }
}

async fn fetch(
    desk: &Desk,
    x: &X,
    code: &str,
    verifier: &Secret,
) -> Result<(String, shared::providers::x::Tokens), shared::providers::x::Trouble> {
    let tokens = x.exchange(code, &callback(desk), verifier, desk.now()).await?;
    let account = x.account(&tokens.access).await?;
    Ok((account.username, tokens))
}

fn callback(desk: &Desk) -> String {
    format!("{}{PATH}/x/callback", desk.base_url())
}

/// Forgets the account on X.
pub(crate) async fn disconnect_x(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let mut writes = desk.writes();
    writes.delete_x_connection();
    desk.store().commit(writes).await?;
    Ok(done(PATH, "x-disconnected"))
}

/// Connects a number on WhatsApp, in place of any other.
pub(crate) async fn connect_whatsapp(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let WhatsAppPort::Real(_, keys) = desk.providers().whatsapp(desk.tenant().mode) else {
        return Err(Error::NotFound);
    };
    let form = desk.form();
    let (number, token) = (form.get("phone_number_id").trim(), form.get("token").trim());
    let mut problems = Vec::new();
    if !(1..=20).contains(&number.len()) || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        problems.push(problem("phone_number_id", "The phone number ID", "must be 1 to 20 digits"));
    }
    if !(1..=2_000).contains(&token.len()) || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        problems.push(problem("token", "The token", "must be visible ASCII without spaces"));
    }
    if !problems.is_empty() {
        return Ok(page(&desk, number, problems).await?.refused(422));
    }
    let connection = accounts::connect_whatsapp(
        desk.tenant(),
        number.to_owned(),
        &Secret::new(token),
        keys,
        desk.random(),
    );
    let connection = connection.map_err(|_| Error::BadRequest("The token is too long".to_owned()))?;
    let mut writes = desk.writes();
    writes.put_whatsapp_connection(&connection)?;
    desk.store().commit(writes).await?;
    Ok(done(PATH, "whatsapp-connected"))
}

/// Forgets the number on WhatsApp.
pub(crate) async fn disconnect_whatsapp(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let mut writes = desk.writes();
    writes.delete_whatsapp_connection();
    desk.store().commit(writes).await?;
    Ok(done(PATH, "whatsapp-disconnected"))
}

/// A journey to X and back: its random part, its beginning, and the mode that it is for.
struct Journey(String);

impl Journey {
    fn begin(desk: &Desk) -> Self {
        let (random, began) = (desk.random().token(22), desk.now().as_second());
        Self(format!("{random}.{began}.{}", desk.tenant().mode.as_str()))
    }

    /// What X sends back: the journey, and a digest that only this browser's session can have been given.
    fn state(&self, desk: &Desk) -> String {
        format!("{}.{}", self.0, self.digest(desk, "x state"))
    }

    /// The PKCE verifier (RFC 7636, section 4.1).
    fn verifier(&self, desk: &Desk) -> Secret {
        Secret::new(self.digest(desk, "x verifier"))
    }

    /// The journey that this state belongs to, if it is this browser's, in this mode, and not too long.
    fn end(desk: &Desk, state: &str) -> Option<Self> {
        let journey = Self(state.rsplit_once('.')?.0.to_owned());
        let genuine: bool = journey.state(desk).as_bytes().ct_eq(state.as_bytes()).into();
        let mut parts = journey.0.split('.').skip(1);
        let began: i64 = parts.next()?.parse().ok()?;
        let took = desk.now().as_second().checked_sub(began)?;
        let in_time = (0..ON_X).contains(&took);
        (genuine && in_time && parts.next() == Some(desk.tenant().mode.as_str())).then_some(journey)
    }

    fn digest(&self, desk: &Desk, purpose: &str) -> String {
        URL_SAFE_NO_PAD.encode(desk.signing_key().mac(&[purpose, desk.cookie(), &self.0]))
    }
}
