//! Dynamic registration (RFC 7591): anybody may register an application, if not many in an hour.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use shared::auth::hash;
use shared::http::{Error, Reply, Visit};
use shared::model::{Client, ClientAuthentication, ClientName, RedirectUri, Scope, WebAddress};

use crate::refusal::{Answer, Refusal, answer};

/// The most redirect URIs of an application.
pub(crate) const MAX_REDIRECT_URIS: usize = 10;
/// The largest registration, in bytes.
const MAX_BODY: usize = 64 * 1024;
/// How many registrations one address may make in an hour.
const LIMIT: u64 = 100;
const WINDOW: SignedDuration = SignedDuration::from_hours(1);
/// The length of an application's identifier, and of its secret, in letters and digits.
const ID_LENGTH: usize = 22;
const SECRET_LENGTH: usize = 43;

/// An application as it describes itself: what we have no use for is not read.
#[derive(Debug, Deserialize)]
pub(crate) struct NewClient {
    redirect_uris: Option<Vec<String>>,
    client_name: Option<String>,
    client_uri: Option<String>,
    logo_uri: Option<String>,
    tos_uri: Option<String>,
    policy_uri: Option<String>,
    token_endpoint_auth_method: Option<String>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
}

/// A registered application.
#[derive(Debug, Serialize)]
pub(crate) struct Registered {
    client_id: String,
    client_id_issued_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret_expires_at: Option<i64>,
    client_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_uri: Option<String>,
    redirect_uris: Vec<RedirectUri>,
    token_endpoint_auth_method: &'static str,
    grant_types: [&'static str; 2],
    response_types: [&'static str; 1],
    scope: String,
}

/// Registers an application.
pub(crate) async fn create(visit: Arc<Visit>) -> Result<Reply<Answer<Registered>>, Error> {
    answer(register(&visit).await)
}

async fn register(visit: &Visit) -> Result<Reply<Answer<Registered>>, Refusal> {
    let is_json = visit.header("content-type").is_some_and(|value| {
        value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
    });
    if !is_json || visit.body().len() > MAX_BODY {
        return Err(invalid_metadata("The request body must be application/json of at most 64 KB."));
    }
    let new: NewClient = serde_json::from_slice(visit.body()).map_err(|error| {
        // The parser's own sentence repeats what was sent; a description is ASCII (RFC 7591, section 3.2.2).
        let (line, column) = (error.line(), error.column());
        invalid_metadata(format!("The request body is not client metadata: line {line}, column {column}."))
    })?;
    let authentication = match new.token_endpoint_auth_method.as_deref() {
        None => ClientAuthentication::Basic,
        Some(method) => method
            .parse()
            .map_err(|wrong| invalid_metadata(format!("token_endpoint_auth_method {wrong}.")))?,
    };
    let now = visit.now();
    let id = format!("rc_client_{}", visit.random().token(ID_LENGTH));
    let secret = (authentication != ClientAuthentication::None)
        .then(|| format!("rc_secret_{}", visit.random().token(SECRET_LENGTH)));
    let client = Client { secret_hash: secret.as_deref().map(hash), ..read(id, new, authentication, now)? };
    let from = format!("registration {}", visit.source());
    if let Some(seconds) = visit.store().count_attempt(&from, LIMIT, WINDOW, now).await? {
        return Err(Refusal::too_many(seconds));
    }
    visit.store().insert_client(&client).await?;
    let granted = Answer::Granted(Registered {
        client_id: client.id,
        client_id_issued_at: now.as_second(),
        client_secret_expires_at: secret.is_some().then_some(0),
        client_secret: secret,
        client_name: client.name.as_str().to_owned(),
        client_uri: client.uri.map(|uri| uri.as_str().to_owned()),
        redirect_uris: client.redirect_uris,
        token_endpoint_auth_method: authentication.as_str(),
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        scope: Scope::ALL.map(Scope::as_str).join(" "),
    });
    Ok(Reply::status(201, &granted)?)
}

/// The application that this metadata describes, without a secret.
pub(crate) fn read(
    id: String,
    new: NewClient,
    authentication: ClientAuthentication,
    now: Timestamp,
) -> Result<Client, Refusal> {
    let uris = new.redirect_uris.unwrap_or_default();
    if uris.is_empty() || uris.len() > MAX_REDIRECT_URIS {
        return Err(Refusal::new(
            "invalid_redirect_uri",
            format!("redirect_uris must have 1 to {MAX_REDIRECT_URIS} entries."),
        ));
    }
    let redirect_uris = uris.iter().map(|uri| uri.parse::<RedirectUri>());
    let redirect_uris: Vec<_> = redirect_uris
        .collect::<Result<_, _>>()
        .map_err(|wrong| Refusal::new("invalid_redirect_uri", format!("A redirect URI {wrong}.")))?;
    let offered = |given: &Option<Vec<String>>, known: &[&str]| {
        given.as_ref().is_none_or(|words| words.iter().all(|word| known.contains(&word.as_str())))
    };
    if !offered(&new.grant_types, &["authorization_code", "refresh_token"]) {
        return Err(invalid_metadata("grant_types may hold authorization_code and refresh_token."));
    }
    if !offered(&new.response_types, &["code"]) {
        return Err(invalid_metadata("response_types may hold code."));
    }
    let address = |name: &str, given: Option<String>| match given.as_deref().map(str::trim) {
        None | Some("") => Ok(None),
        Some(given) => given
            .parse::<WebAddress>()
            .map(Some)
            .map_err(|wrong| invalid_metadata(format!("{name} {wrong}."))),
    };
    for (name, given) in
        [("logo_uri", new.logo_uri), ("tos_uri", new.tos_uri), ("policy_uri", new.policy_uri)]
    {
        address(name, given)?;
    }
    let uri = address("client_uri", new.client_uri)?;
    let name = new.client_name.unwrap_or_default();
    if name.chars().any(misleads) {
        return Err(invalid_metadata(
            "client_name must be one line, without characters that turn its direction.",
        ));
    }
    let name = ClientName::parse(&name).map_err(|wrong| invalid_metadata(format!("client_name {wrong}.")))?;
    let nameless = || ClientName::parse("An application without a name").ok().flatten();
    let name = name.or_else(nameless).ok_or_else(|| invalid_metadata("client_name can't be blank."))?;
    Ok(Client { id, name, redirect_uris, authentication, secret_hash: None, uri, created_at: now })
}

/// Whether a character in a name makes people read something else than what stands there.
const fn misleads(c: char) -> bool {
    matches!(c, '\n' | '\t' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn invalid_metadata(description: impl Into<String>) -> Refusal {
    Refusal::new("invalid_client_metadata", description)
}
