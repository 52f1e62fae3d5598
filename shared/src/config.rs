//! Configuration: read from the environment once, when a function starts.

use crate::sealed::SealingKeys;
use crate::secret::Secret;

/// What a function is told by its environment.
#[derive(Clone, Debug)]
pub struct Config {
    /// The table's name (`TABLE_NAME`).
    pub table: String,
    /// The address that public links begin with, without a final slash (`BASE_URL`); where it is not given, the
    /// domain that the request came to.
    pub base_url: Option<String>,
    /// The header in which a CDN tells the visitor's address (`CLIENT_ADDRESS_HEADER`), where nobody but that CDN reaches the
    /// gateway; otherwise the address is whoever connects to the gateway.
    pub client_address_header: Option<String>,
    /// Another DynamoDB than AWS's (`DYNAMODB_ENDPOINT`), for `sam local invoke`.
    pub dynamodb_endpoint: Option<String>,
    /// Signs cursors (`SIGNING_KEY`, at least 32 characters).
    pub signing_key: Secret,
    /// The outside services.
    pub services: Services,
}

/// Outside services, as far as they are configured. Test keys never get to see them.
#[derive(Clone, Debug, Default)]
pub struct Services {
    /// Whether live keys, too, get the built-in simulators (`LIVE_SERVICES` is `simulated`).
    pub simulated: bool,
    /// Where services reach the webhooks, without a final slash (`CALLBACK_URL`); where it is not given, at the address
    /// that public links begin with.
    pub callback_url: Option<String>,
    /// Vapi (`VAPI_API_KEY`, `VAPI_PHONE_NUMBER_ID`, `VAPI_WEBHOOK_SECRET` and, for its dashboard's credential that
    /// signs with that secret, `VAPI_CREDENTIAL_ID`).
    pub vapi: Option<VapiAccess>,
    /// X (`X_CLIENT_ID`, `X_CLIENT_SECRET`).
    pub x: Option<XAccess>,
    /// Seal the tokens of connected accounts (`SEALING_KEYS`: `id:key`, the newest first, separated by commas).
    pub sealing_keys: Option<SealingKeys>,
    /// Where uploaded résumés are kept (`RESUME_BUCKET`, with `RESUME_ENDPOINT` for another S3 than AWS's, and what Lambda
    /// tells every function: `AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`). Without it
    /// there are links only.
    pub resumes: Option<BucketAccess>,
    /// Other addresses than the services' own.
    pub addresses: Addresses,
}

/// What the use of a bucket needs.
#[derive(Clone, Debug)]
pub struct BucketAccess {
    /// The bucket's name.
    pub name: String,
    /// Its region.
    pub region: String,
    /// Another S3 than AWS's.
    pub endpoint: Option<String>,
    /// Whose requests they are.
    pub access_key_id: String,
    /// Signs them.
    pub secret_access_key: Secret,
    /// Goes with temporary credentials.
    pub session_token: Option<Secret>,
}

/// What calls through Vapi need.
#[derive(Clone, Debug)]
pub struct VapiAccess {
    /// The private API key.
    pub api_key: Secret,
    /// The number that is called from.
    pub phone_number_id: String,
    /// Signs the callbacks.
    pub webhook_secret: Secret,
    /// The credential in Vapi that signs with it.
    pub credential_id: Option<String>,
}

/// The app that organizations allow to post for them on X.
#[derive(Clone, Debug)]
pub struct XAccess {
    /// Its OAuth client.
    pub client_id: String,
    /// Its OAuth client's secret.
    pub client_secret: Secret,
}

/// Where the services are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// `VAPI_URL`.
    pub vapi: String,
    /// `X_URL`.
    pub x: String,
    /// The page on which an account's owner allows the connection (`X_AUTHORIZE_URL`), without a query.
    pub x_authorize: String,
    /// `WHATSAPP_URL`.
    pub whatsapp: String,
}

impl Default for Addresses {
    fn default() -> Self {
        Self {
            vapi: "https://api.vapi.ai".to_owned(),
            x: "https://api.x.com".to_owned(),
            x_authorize: "https://x.com/i/oauth2/authorize".to_owned(),
            whatsapp: "https://graph.facebook.com".to_owned(),
        }
    }
}

impl Config {
    /// The address that public links begin with, if the variables say so: all that a function without a database needs.
    pub fn read_base_url(lookup: impl Fn(&str) -> Option<String>) -> Result<Option<String>, String> {
        address(|name| lookup(name).filter(|value| !value.is_empty()), "BASE_URL")
    }

    /// Reads the variables that `lookup` knows; says in a sentence which one is missing or wrong.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let given = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let required = |name: &str| required(given, name);
        let address = |name: &str| address(given, name);
        let signing_key = required("SIGNING_KEY")?;
        if signing_key.len() < 32 {
            return Err("SIGNING_KEY must have at least 32 characters".to_owned());
        }
        Ok(Self {
            table: required("TABLE_NAME")?,
            base_url: Self::read_base_url(given)?,
            client_address_header: given("CLIENT_ADDRESS_HEADER").map(|name| name.to_lowercase()),
            dynamodb_endpoint: given("DYNAMODB_ENDPOINT"),
            signing_key: Secret::new(signing_key),
            services: Services::read(&given, &address)?,
        })
    }
}

impl Services {
    fn read(
        given: &impl Fn(&str) -> Option<String>,
        address: &impl Fn(&str) -> Result<Option<String>, String>,
    ) -> Result<Self, String> {
        let simulated = match given("LIVE_SERVICES").as_deref() {
            None | Some("real") => false,
            Some("simulated") => true,
            Some(other) => return Err(format!("LIVE_SERVICES must be real or simulated, and is {other}")),
        };
        let required = |name: &str| required(given, name);
        // Half an access is a mistake; none at all is a choice.
        let together = |names: &[&str]| {
            let values: Vec<_> = names.iter().filter_map(|name| given(name)).collect();
            match values.len() {
                0 => Ok(None),
                n if n == names.len() => Ok(Some(values)),
                _ => Err(format!("of {} either all must be set or none", names.join(", "))),
            }
        };
        let vapi = together(&["VAPI_API_KEY", "VAPI_PHONE_NUMBER_ID", "VAPI_WEBHOOK_SECRET"])?;
        let x = together(&["X_CLIENT_ID", "X_CLIENT_SECRET"])?;
        let resumes = match given("RESUME_BUCKET") {
            None => None,
            Some(name) => Some(BucketAccess {
                name,
                region: required("AWS_REGION")?,
                endpoint: address("RESUME_ENDPOINT")?,
                access_key_id: required("AWS_ACCESS_KEY_ID")?,
                secret_access_key: Secret::new(required("AWS_SECRET_ACCESS_KEY")?),
                session_token: given("AWS_SESSION_TOKEN").map(Secret::new),
            }),
        };
        let keys = given("SEALING_KEYS").map(|keys| SealingKeys::parse(&keys)).transpose();
        let default = Addresses::default();
        Ok(Self {
            simulated,
            callback_url: address("CALLBACK_URL")?,
            vapi: vapi.and_then(|values| <[String; 3]>::try_from(values).ok()).map(
                |[key, number, secret]| VapiAccess {
                    api_key: Secret::new(key),
                    phone_number_id: number,
                    webhook_secret: Secret::new(secret),
                    credential_id: given("VAPI_CREDENTIAL_ID"),
                },
            ),
            x: x.and_then(|values| <[String; 2]>::try_from(values).ok())
                .map(|[client_id, secret]| XAccess { client_id, client_secret: Secret::new(secret) }),
            sealing_keys: keys.map_err(|wrong| format!("SEALING_KEYS cannot be used: {wrong}"))?,
            resumes,
            addresses: Addresses {
                vapi: address("VAPI_URL")?.unwrap_or(default.vapi),
                x: address("X_URL")?.unwrap_or(default.x),
                x_authorize: address("X_AUTHORIZE_URL")?.unwrap_or(default.x_authorize),
                whatsapp: address("WHATSAPP_URL")?.unwrap_or(default.whatsapp),
            },
        })
    }
}

fn required(given: impl Fn(&str) -> Option<String>, name: &str) -> Result<String, String> {
    given(name).ok_or_else(|| format!("the environment variable {name} is not set"))
}

fn address(given: impl Fn(&str) -> Option<String>, name: &str) -> Result<Option<String>, String> {
    match given(name) {
        Some(url) if !url.starts_with("https://") && !url.starts_with("http://") => {
            Err(format!("{name} must begin with https:// or http://, and is {url}"))
        }
        url => Ok(url.map(|url| url.trim_end_matches('/').to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_which_variable_is_wrong() {
        let full = [
            ("TABLE_NAME", "t"),
            ("BASE_URL", "https://jobs.example/"),
            ("SIGNING_KEY", "0123456789abcdef0123456789abcdef"),
        ];
        let with = |name: &'static str, value: &'static str| {
            Config::read(move |asked| {
                let usual = full.iter().find(|(known, _)| *known == asked).map(|(_, given)| *given);
                if asked == name { Some(value) } else { usual }.map(str::to_owned)
            })
        };
        assert_eq!(with("", "").unwrap().base_url.as_deref(), Some("https://jobs.example"));
        assert_eq!(with("BASE_URL", "").unwrap().base_url, None);
        for (name, value) in [
            ("TABLE_NAME", ""),
            ("BASE_URL", "jobs.example"),
            ("SIGNING_KEY", "short"),
            ("SIGNING_KEY", ""),
            ("LIVE_SERVICES", "none"),
            ("VAPI_API_KEY", "alone"),
            ("X_CLIENT_SECRET", "alone"),
            ("RESUME_BUCKET", "alone"),
            ("X_URL", "api.x.com"),
            ("X_AUTHORIZE_URL", "x.com/authorize"),
            ("SEALING_KEYS", "nonsense"),
        ] {
            let named = if name == "RESUME_BUCKET" { "AWS_REGION" } else { name };
            assert!(with(name, value).unwrap_err().contains(named), "{name}={value}");
        }
        let services = with("LIVE_SERVICES", "simulated").unwrap().services;
        assert!(services.simulated && services.vapi.is_none() && services.x.is_none());
        assert_eq!(format!("{:?}", with("", "").unwrap().signing_key), "***");
    }
}
