//! Dynamic registration (RFC 7591): anybody may register an application, if not many in an hour.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use shared::auth::hash;
use shared::http::{Added, Error, Payload, Reply, Sent, Visit};
use shared::model::{
    Client, ClientAuthentication, ClientName, GrantType, RedirectUri, ResponseType, Scope, WebAddress,
};
use utoipa::ToSchema;

use crate::refusal::{Refusal, answer};

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

/// An application as it describes itself (RFC 7591, section 2): what we have no use for is not read.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ClientMetadata)]
pub(crate) struct NewClient {
    /// Where it wants its answers: https, http on a loopback address, or a private-use scheme with a dot; no fragment and
    /// no user information.
    #[schema(value_type = Vec<RedirectUri>, min_items = 1, max_items = 10)]
    redirect_uris: Option<Vec<String>>,
    /// What members are shown, in one line.
    #[schema(
        max_length = 100,
        pattern = r"^[^\x00-\x1F\x7F-\x9F\u061C\u200B-\u200F\u202A-\u202E\u2060-\u2069\uFEFF]*$"
    )]
    client_name: Option<String>,
    /// Its home page.
    #[schema(value_type = Option<WebAddress>)]
    client_uri: Option<String>,
    /// Its logo.
    #[schema(value_type = Option<WebAddress>)]
    logo_uri: Option<String>,
    /// Its terms of service.
    #[schema(value_type = Option<WebAddress>)]
    tos_uri: Option<String>,
    /// Its privacy policy.
    #[schema(value_type = Option<WebAddress>)]
    policy_uri: Option<String>,
    /// How it will prove that it is itself; `client_secret_basic`, if it says nothing.
    #[schema(value_type = Option<ClientAuthentication>)]
    token_endpoint_auth_method: Option<String>,
    /// `authorization_code` and `refresh_token`, or one of them: it is registered for both.
    #[schema(value_type = Option<Vec<GrantType>>)]
    grant_types: Option<Vec<String>>,
    /// `code`.
    #[schema(value_type = Option<Vec<ResponseType>>)]
    response_types: Option<Vec<String>>,
}

impl Payload for NewClient {
    const MEDIA: Option<&'static str> = Some("application/json");
    type Body = Self;
}

/// A registered application (RFC 7591, section 3.2.1).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RegisteredClient)]
pub(crate) struct Registered {
    /// The identifier.
    client_id: String,
    /// When it was registered, in seconds since 1970.
    client_id_issued_at: i64,
    /// The secret, if it is to have one. It is shown this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    client_secret: Option<String>,
    /// 0 with a secret: it does not expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    client_secret_expires_at: Option<i64>,
    /// What members are shown.
    client_name: String,
    /// Its home page, if it has told one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    client_uri: Option<String>,
    /// Where it wants its answers.
    redirect_uris: Vec<RedirectUri>,
    /// How it proves that it is itself.
    #[schema(value_type = ClientAuthentication)]
    token_endpoint_auth_method: &'static str,
    /// What it may get tokens for.
    #[schema(value_type = Vec<GrantType>)]
    grant_types: [&'static str; 2],
    /// `code`.
    #[schema(value_type = Vec<ResponseType>)]
    response_types: [&'static str; 1],
    /// The scopes that it may ask for.
    scope: String,
}

/// Registers an application.
///
/// # Errors
///
/// - `invalid_client_metadata`: the body is not JSON of at most 64 KB, or something in it cannot be.
/// - `invalid_redirect_uri`: there are none or more than ten, or one that cannot be.
/// - `temporarily_unavailable`: more than 100 registrations within an hour came from the address.
pub(crate) async fn register_client(sent: Sent<NewClient>) -> Result<Reply<Added<Registered>>, Error> {
    answer(register(&sent).await)
}

async fn register(visit: &Visit) -> Result<Reply<Added<Registered>>, Refusal> {
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
    let registered = Reply::ok(&Registered {
        client_id: client.id,
        client_id_issued_at: now.as_second(),
        client_secret_expires_at: secret.is_some().then_some(0),
        client_secret: secret,
        client_name: client.name.as_str().to_owned(),
        client_uri: client.uri.map(|uri| uri.as_str().to_owned()),
        redirect_uris: client.redirect_uris,
        token_endpoint_auth_method: authentication.as_str(),
        grant_types: GrantType::ALL.map(GrantType::as_str),
        response_types: ResponseType::ALL.map(ResponseType::as_str),
        scope: Scope::ALL.map(Scope::as_str).join(" "),
    });
    Ok(registered?.created_without_address())
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
    if !offered(&new.grant_types, &GrantType::ALL.map(GrantType::as_str)) {
        return Err(invalid_metadata("grant_types may hold authorization_code and refresh_token."));
    }
    if !offered(&new.response_types, &ResponseType::ALL.map(ResponseType::as_str)) {
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
