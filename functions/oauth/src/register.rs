//! Dynamic registration (RFC 7591): anyone may register a client, up to an hourly limit per IP address.

use icu_properties::CodePointSetData;
use icu_properties::props::DefaultIgnorableCodePoint;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use shared::auth::hash;
use shared::clock::Timestamp;
use shared::http::{Added, Error, Payload, PublicRequest, Reply, RequestContext};
use shared::model::{
    Client, ClientAuthentication, ClientName, GrantType, RedirectUri, ResponseType, Scope, Scopes,
    WebAddress, names_product,
};
use utoipa::ToSchema;

use crate::rejection::{OAuthRejection, reply_or_error};

/// The maximum number of redirect URIs of a client.
pub(crate) const MAX_REDIRECT_URIS: usize = 10;
/// The maximum size of the request body, in bytes.
const MAX_BODY: usize = 64 * 1024;
/// The maximum number of clients that can be registered from one IP address in an hour.
const LIMIT: u64 = 100;
const WINDOW: SignedDuration = SignedDuration::from_hours(1);
/// The length of the random part of a client identifier, in letters and digits.
// 131 bits, so nobody can guess one.
const ID_LENGTH: usize = 22;
/// The length of the random part of a client secret, in letters and digits.
// 256 bits.
const SECRET_LENGTH: usize = 43;

/// The metadata of a client to register (RFC 7591, section 2). Other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ClientMetadata {
    /// The redirect URIs: https, http on a loopback address, or an app's private-use scheme, but none that browsers or
    /// systems give a meaning of their own. They must have no fragment and no user information.
    #[schema(value_type = Vec<RedirectUri>, min_items = 1, max_items = 10)]
    redirect_uris: Option<Vec<String>>,
    /// The name that members see, on one line. It must not look like the name of this service, except in parentheses at the
    /// end.
    #[schema(
        max_length = 100,
        pattern = r"^[^\x00-\x1F\x7F-\x9F\xAD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u2028-\u202E\u2060-\u206F\u2800\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFC]*$"
    )]
    client_name: Option<String>,
    /// The URL of the client's home page.
    #[schema(value_type = Option<WebAddress>)]
    client_uri: Option<String>,
    /// The URL of the client's logo.
    #[schema(value_type = Option<WebAddress>)]
    logo_uri: Option<String>,
    /// The URL of the client's terms of service.
    #[schema(value_type = Option<WebAddress>)]
    tos_uri: Option<String>,
    /// The URL of the client's privacy policy.
    #[schema(value_type = Option<WebAddress>)]
    policy_uri: Option<String>,
    /// How the client will authenticate: without a secret (`none`), or with one, which it may send in the header or in
    /// the form. The default is `client_secret_basic`.
    #[schema(value_type = Option<ClientAuthentication>)]
    token_endpoint_auth_method: Option<String>,
    /// The grant types that the client will use. Others than these two are ignored, and every client is registered for
    /// both.
    grant_types: Option<Vec<String>>,
    /// The response types that the client will use.
    #[schema(value_type = Option<Vec<ResponseType>>)]
    response_types: Option<Vec<String>>,
    /// The scopes that the client may request, separated by spaces. Unknown scopes are ignored. The default is all
    /// scopes except those that owners alone can give: `candidates:erase` and `audit:read`.
    scope: Option<String>,
}

impl Payload for ClientMetadata {
    const MEDIA: Option<&'static str> = Some("application/json");
    type Body = Self;
}

/// A registered client (RFC 7591, section 3.2.1).
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RegisteredClient {
    /// The identifier.
    client_id: String,
    /// When the client was registered, in seconds since 1970.
    client_id_issued_at: i64,
    /// The secret, unless the client is public. It is shown only once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    client_secret: Option<String>,
    /// When the secret expires: always 0, which means never. Absent for a public client.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    client_secret_expires_at: Option<i64>,
    /// The name that members see.
    client_name: String,
    /// The URL of the client's home page, if it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    client_uri: Option<String>,
    /// The redirect URIs.
    redirect_uris: Vec<RedirectUri>,
    /// How the client authenticates.
    #[schema(value_type = ClientAuthentication)]
    token_endpoint_auth_method: &'static str,
    /// The grant types that the client may use.
    #[schema(value_type = Vec<GrantType>)]
    grant_types: [&'static str; 2],
    /// The response types that the client may use.
    #[schema(value_type = Vec<ResponseType>)]
    response_types: [&'static str; 1],
    /// The scopes that the client may request, separated by spaces.
    scope: String,
}

/// Registers a client.
///
/// # Errors
///
/// - `invalid_client_metadata`: the body is not JSON of at most 64 KB, or one of its values is invalid.
/// - `invalid_redirect_uri`: a redirect URI is invalid, or the number of redirect URIs is not 1 to 10.
/// - `temporarily_unavailable`: more than 100 registrations came from the IP address within an hour.
pub(crate) async fn register_client(
    request: PublicRequest<ClientMetadata>,
) -> Result<Reply<Added<RegisteredClient>>, Error> {
    reply_or_error(register(&request.context).await)
}

async fn register(context: &RequestContext) -> Result<Reply<Added<RegisteredClient>>, OAuthRejection> {
    if !context.is_json() || context.body().len() > MAX_BODY {
        return Err(invalid_metadata("The request body must be application/json and at most 64 KB."));
    }
    let body =
        str::from_utf8(context.body()).map_err(|_| invalid_metadata("The request body is not UTF-8."))?;
    let metadata: ClientMetadata = serde_json::from_str(body).map_err(|error| {
        // The parser's message may quote the body, but a description must be ASCII (RFC 7591, section 3.2.2).
        let (line, column) = (error.line(), error.column());
        invalid_metadata(format!(
            "The request body is not valid client metadata: line {line}, column {column}."
        ))
    })?;
    let authentication = match metadata.token_endpoint_auth_method.as_deref() {
        None => ClientAuthentication::Basic,
        Some(method) => method
            .parse()
            .map_err(|wrong| invalid_metadata(format!("token_endpoint_auth_method {wrong}.")))?,
    };
    let now = context.now();
    let id = format!("rc_client_{}", context.random().token(ID_LENGTH));
    let has_secret = authentication != ClientAuthentication::None;
    let secret = has_secret.then(|| format!("rc_secret_{}", context.random().token(SECRET_LENGTH)));
    let client = client_of(id, metadata, secret.as_deref().map(hash), now)?;
    let counter = format!("registration {}", context.source());
    if let Some(seconds) = context.store().count_attempt(&counter, LIMIT, WINDOW, now).await? {
        return Err(OAuthRejection::too_many_requests(seconds));
    }
    context.store().insert_client(&client).await?;
    let registered = Reply::ok(&RegisteredClient {
        scope: client.requestable_scopes().to_string(),
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
    });
    Ok(registered?.created_without_address())
}

/// Validates the metadata and returns the client that it describes.
pub(crate) fn client_of(
    id: String,
    metadata: ClientMetadata,
    secret_hash: Option<String>,
    now: Timestamp,
) -> Result<Client, OAuthRejection> {
    let uris = metadata.redirect_uris.unwrap_or_default();
    if uris.is_empty() || uris.len() > MAX_REDIRECT_URIS {
        return Err(OAuthRejection::new(
            "invalid_redirect_uri",
            format!("redirect_uris must have 1 to {MAX_REDIRECT_URIS} entries."),
        ));
    }
    let redirect_uris = uris.iter().map(|uri| uri.parse::<RedirectUri>());
    let redirect_uris: Vec<_> = redirect_uris
        .collect::<Result<_, _>>()
        .map_err(|wrong| OAuthRejection::new("invalid_redirect_uri", format!("A redirect URI {wrong}.")))?;
    let is_served = |value: &String| GrantType::ALL.iter().any(|grant_type| grant_type.as_str() == value);
    if metadata.grant_types.is_some_and(|types| !types.is_empty() && !types.iter().any(is_served)) {
        return Err(invalid_metadata("grant_types must contain authorization_code or refresh_token."));
    }
    let is_code = |value: &String| value == ResponseType::Code.as_str();
    if metadata.response_types.is_some_and(|types| !types.iter().all(is_code)) {
        return Err(invalid_metadata("response_types may contain only code."));
    }
    let parse_url = |name: &str, value: Option<String>| match value.as_deref().map(str::trim) {
        None | Some("") => Ok(None),
        Some(value) => value
            .parse::<WebAddress>()
            .map(Some)
            .map_err(|wrong| invalid_metadata(format!("{name} {wrong}."))),
    };
    for (name, value) in
        [("logo_uri", metadata.logo_uri), ("tos_uri", metadata.tos_uri), ("policy_uri", metadata.policy_uri)]
    {
        parse_url(name, value)?;
    }
    let uri = parse_url("client_uri", metadata.client_uri)?;
    let scopes = metadata.scope.as_deref().map(known_scopes).filter(|scopes| !scopes.is_empty());
    let name = metadata.client_name.unwrap_or_default();
    if name.chars().any(is_misleading) {
        return Err(invalid_metadata(
            "client_name must be one line without invisible, blank or direction-changing characters.",
        ));
    }
    if names_product(&name) {
        return Err(invalid_metadata(
            "client_name must not contain the name of this service, except in parentheses at the end.",
        ));
    }
    let name = ClientName::parse(&name).map_err(|wrong| invalid_metadata(format!("client_name {wrong}.")))?;
    let default = || ClientName::parse("Unnamed application").ok().flatten();
    let name = name.or_else(default).ok_or_else(|| invalid_metadata("client_name can't be blank."))?;
    Ok(Client { id, name, redirect_uris, secret_hash, uri, scopes, created_at: now })
}

/// Returns whether a character can make a name look like another name: line breaks, characters that are invisible or
/// change the text direction (Unicode's default-ignorable ones, with tags), and symbols that are blank.
fn is_misleading(c: char) -> bool {
    let is_blank = matches!(
        c,
        '\u{2028}' | '\u{2029}' | '\u{2800}' | '\u{fff9}'
            ..='\u{fffc}' | '\u{13441}' | '\u{13442}' | '\u{1d159}'
    );
    is_blank || c.is_control() || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

fn invalid_metadata(description: impl Into<String>) -> OAuthRejection {
    OAuthRejection::new("invalid_client_metadata", description)
}

/// Returns the scopes of this service in a list of scopes (RFC 6749, section 3.3). Unknown ones are left out.
pub(crate) fn known_scopes(list: &str) -> Scopes {
    list.split_ascii_whitespace().filter_map(|word| word.parse::<Scope>().ok()).collect()
}
