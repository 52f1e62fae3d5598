//! The configuration, which a function reads from the environment once, when it starts.

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use jiff::SignedDuration;
use subtle::{Choice, ConstantTimeEq};

use crate::mac_keys::MacKeys;
use crate::model::Country;
use crate::secret::Secret;
use crate::token_encryption::EncryptionKeys;

/// The configuration of a function.
#[derive(Clone, Debug)]
pub struct Config {
    /// The table's name (`TABLE_NAME`).
    pub table: String,
    /// The base URL of public links, without a trailing slash (`BASE_URL`). The default is the domain of the request.
    pub base_url: Option<String>,
    /// The header in which a CDN passes the client's IP address (`CLIENT_ADDRESS_HEADER`). Set it only if all requests
    /// pass through that CDN. By default, the IP address that connects to the gateway is used.
    pub client_address_header: Option<String>,
    /// What functions without a database need, too.
    pub edge: Edge,
    /// The endpoint of a local DynamoDB (`DYNAMODB_ENDPOINT`), for `sam local invoke`.
    pub dynamodb_endpoint: Option<String>,
    /// The keys for signatures that only this service verifies (`SIGNING_KEYS`: keys separated by commas, the newest
    /// first). Functions that sign nothing have none.
    pub signing_keys: MacKeys,
    /// The keys that authenticate credentials (`CREDENTIAL_KEYS`: keys separated by commas, the newest first). Functions
    /// that check no credentials have none.
    pub credential_keys: MacKeys,
    /// How old a change is before lists of changes have it. No variable sets it: [`Config::SETTLING`], unless one process gives
    /// all times and commits all changes.
    pub settling: SignedDuration,
    /// The external services.
    pub services: Services,
}

/// The part of the configuration that every function needs, also those without a database.
#[derive(Clone, Debug, Default)]
pub struct Edge {
    /// The secrets that prove that a request comes through the CDN (`ORIGIN_SECRETS`).
    pub origin_secrets: OriginSecrets,
    /// Where to report vulnerabilities: a `mailto:` or `https:` URL (`SECURITY_CONTACT`).
    pub security_contact: Option<String>,
    /// The URL of the policy for such reports (`SECURITY_POLICY`).
    pub security_policy: Option<String>,
    /// The demo login of the local service. No variable sets it, so a deployed service has none.
    pub demo_login: Option<DemoLogin>,
}

/// The credentials of a demo organization, which the page at `/` shows. They are public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoLogin {
    /// The organization's name.
    pub organization: String,
    /// The path of its career page.
    pub careers: String,
    /// The member's e-mail address.
    pub email: String,
    /// The member's password.
    pub password: String,
    /// The API key for live mode.
    pub key: String,
}

impl Edge {
    /// Reads the variables that `lookup` returns. The error message names the variable that is invalid.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let variable = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let security_contact = variable("SECURITY_CONTACT");
        let is_url =
            |contact: &String| ["mailto:", "https://"].iter().any(|scheme| contact.starts_with(scheme));
        if security_contact.as_ref().is_some_and(|contact| !is_url(contact)) {
            return Err("SECURITY_CONTACT must begin with mailto: or https://".to_owned());
        }
        Ok(Self {
            origin_secrets: OriginSecrets::parse(&variable("ORIGIN_SECRETS").unwrap_or_default())?,
            security_contact,
            security_policy: optional_url(variable, "SECURITY_POLICY")?,
            demo_login: None,
        })
    }
}

/// The secrets that a CDN sends in the header `X-Origin-Secret`, at most two, so that they can be rotated. Without any, a
/// request needs no secret.
#[derive(Clone, Debug, Default)]
pub struct OriginSecrets(Vec<Secret>);

impl OriginSecrets {
    /// The maximum number of secrets.
    const MAX: usize = 2;

    /// Parses secrets of at least 32 visible characters, separated by commas.
    pub fn parse(text: &str) -> Result<Self, String> {
        let secrets: Vec<_> = text.split(',').map(str::trim).filter(|secret| !secret.is_empty()).collect();
        let is_strong =
            |secret: &&str| secret.len() >= 32 && secret.bytes().all(|byte| byte.is_ascii_graphic());
        if secrets.len() > Self::MAX || !secrets.iter().all(is_strong) {
            return Err("ORIGIN_SECRETS must be one or two secrets of at least 32 visible ASCII characters, separated by \
                        a comma"
                .to_owned());
        }
        Ok(Self(secrets.into_iter().map(Secret::new).collect()))
    }

    /// Whether a request with this value of the header is admitted. The comparison takes constant time.
    pub fn admit(&self, presented: Option<&str>) -> bool {
        let presented = presented.unwrap_or_default().as_bytes();
        let equal = self.0.iter().map(|secret| secret.expose().as_bytes().ct_eq(presented));
        self.0.is_empty() || bool::from(equal.fold(Choice::from(0), |any, one| any | one))
    }
}

/// The configured external services. Requests in test mode never use them.
#[derive(Clone, Debug, Default)]
pub struct Services {
    /// Whether live mode also uses the built-in simulators (`LIVE_SERVICES=simulated`).
    pub simulated: bool,
    /// The base URL at which external services call the webhooks, without a trailing slash (`CALLBACK_URL`). The
    /// default is the base URL of public links.
    pub callback_url: Option<String>,
    /// Vapi (`VAPI_PHONE_NUMBER_ID`, and what the function needs of `VAPI_API_KEY`, `VAPI_WEBHOOK_SECRET` and
    /// `VAPI_CREDENTIAL_ID`).
    pub vapi: Option<VapiAccess>,
    /// The countries that an organization may call until an owner chooses others (`CALL_COUNTRIES`, codes separated by
    /// commas). The default is the United States, where Vapi's own numbers are.
    pub call_countries: Vec<Country>,
    /// X (`X_CLIENT_ID`, `X_CLIENT_SECRET`).
    pub x: Option<XAccess>,
    /// The keys that encrypt the tokens of connected accounts (`SEALING_KEYS`: `id:key` pairs separated by commas, the
    /// newest first).
    pub sealing_keys: Option<EncryptionKeys>,
    /// The bucket for uploaded resumes (`RESUME_BUCKET`; `RESUME_ENDPOINT` for a local S3). Lambda sets `AWS_REGION`,
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`. Without a bucket, a resume can only be a
    /// link.
    pub resumes: Option<BucketAccess>,
    /// The function that delivers events (`DELIVER_FUNCTION`: its name or ARN, with an alias), of the function that starts
    /// it. Without it, events wait for the schedule of that function.
    pub deliver: Option<FunctionAccess>,
    /// The services that are off because only some of their variables have a value.
    pub half_filled: Vec<HalfFilled>,
    /// The URLs of the services.
    pub addresses: Addresses,
}

/// A service of which only some variables have a value. It is off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HalfFilled {
    /// The service's name.
    pub service: &'static str,
    /// The variables without a value, separated by commas.
    pub missing: String,
}

/// Access to an S3 bucket.
#[derive(Clone, Debug)]
pub struct BucketAccess {
    /// The bucket's name.
    pub name: String,
    /// The endpoint of a local S3.
    pub endpoint: Option<String>,
    /// Whether files can be opened only after a virus scanner has found no threat in them (`RESUME_SCAN`).
    pub waits_for_scans: bool,
    /// The credentials.
    pub aws: AwsAccess,
}

/// Permission to start a Lambda function.
#[derive(Clone, Debug)]
pub struct FunctionAccess {
    /// The function's name or ARN, with an alias.
    pub name: String,
    /// An endpoint that replaces Lambda's. No variable sets it; tests do.
    pub endpoint: Option<String>,
    /// The credentials.
    pub aws: AwsAccess,
}

/// A function's own credentials at AWS, which Lambda sets.
#[derive(Clone, Debug)]
pub struct AwsAccess {
    /// The region (`AWS_REGION`).
    pub region: String,
    /// The access key.
    pub access_key_id: String,
    /// The secret that signs requests.
    pub secret_access_key: Secret,
    /// The session token of temporary credentials.
    pub session_token: Option<Secret>,
}

/// Access to Vapi. A function has only the secrets that it uses.
#[derive(Clone, Debug)]
pub struct VapiAccess {
    /// The private API key, of the function that calls Vapi's API.
    pub api_key: Option<Secret>,
    /// The id of the phone number that calls are made from.
    pub phone_number_id: String,
    /// The secret that signs callbacks, of the function that receives them.
    pub webhook_secret: Option<Secret>,
    /// The id of the credential in Vapi's dashboard that contains this secret.
    pub credential_id: Option<String>,
}

/// The X app that organizations authorize to post on their behalf.
#[derive(Clone, Debug)]
pub struct XAccess {
    /// The app's OAuth client id.
    pub client_id: String,
    /// The app's OAuth client secret.
    pub client_secret: Secret,
}

/// The URLs of the external services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Vapi's API (`VAPI_URL`).
    pub vapi: String,
    /// X's API (`X_URL`).
    pub x: String,
    /// The page on which the owner of an X account authorizes the connection (`X_AUTHORIZE_URL`), without a query.
    pub x_authorize: String,
    /// WhatsApp's API (`WHATSAPP_URL`).
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
    /// The age at which every change that was made earlier is in the table, too: a function may run for ten seconds, and the
    /// clocks of functions differ.
    pub const SETTLING: SignedDuration = SignedDuration::from_secs(20);
    /// The same where one process gives all times.
    pub const ONE_PROCESS: SignedDuration = SignedDuration::ZERO;

    /// Reads only `BASE_URL`, the only variable that a function without a database needs.
    pub fn read_base_url(lookup: impl Fn(&str) -> Option<String>) -> Result<Option<String>, String> {
        optional_url(|name| lookup(name).filter(|value| !value.is_empty()), "BASE_URL")
    }

    /// Reads the variables that `lookup` returns. The error message names the variable that is missing or invalid.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let variable = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let required = |name: &str| required(variable, name);
        let url = |name: &str| optional_url(variable, name);
        let keys = |name: &str| {
            let keys = variable(name).map_or_else(|| Ok(MacKeys::default()), |keys| MacKeys::parse(&keys));
            keys.map_err(|error| format!("{name} is invalid: {error}"))
        };
        Ok(Self {
            table: required("TABLE_NAME")?,
            base_url: Self::read_base_url(variable)?,
            client_address_header: variable("CLIENT_ADDRESS_HEADER").map(|name| name.to_lowercase()),
            edge: Edge::read(variable)?,
            dynamodb_endpoint: variable("DYNAMODB_ENDPOINT"),
            signing_keys: keys("SIGNING_KEYS")?,
            credential_keys: keys("CREDENTIAL_KEYS")?,
            settling: Self::SETTLING,
            services: Services::read(&lookup, &variable, &url)?,
        })
    }
}

impl Services {
    fn read(
        lookup: &impl Fn(&str) -> Option<String>,
        variable: &impl Fn(&str) -> Option<String>,
        url: &impl Fn(&str) -> Result<Option<String>, String>,
    ) -> Result<Self, String> {
        let simulated = match variable("LIVE_SERVICES").as_deref() {
            None | Some("real") => false,
            Some("simulated") => true,
            Some(other) => return Err(format!("LIVE_SERVICES must be real or simulated, but is {other}")),
        };
        let half_filled: Vec<_> =
            SERVICES.iter().filter_map(|(service, names)| HalfFilled::find(service, names, lookup)).collect();
        let is_off = |service| half_filled.iter().any(|off| off.service == service);
        let vapi = VapiAccess::read(variable).filter(|_| !is_off(VAPI));
        let x = XAccess::read(variable).filter(|_| !is_off(X));
        let resumes = match variable("RESUME_BUCKET") {
            None => None,
            Some(name) => Some(BucketAccess {
                name,
                endpoint: url("RESUME_ENDPOINT")?,
                waits_for_scans: match variable("RESUME_SCAN").as_deref() {
                    None | Some("false") => false,
                    Some("true") => true,
                    Some(other) => return Err(format!("RESUME_SCAN must be true or false, but is {other}")),
                },
                aws: AwsAccess::read(variable)?,
            }),
        };
        let deliver = match variable("DELIVER_FUNCTION") {
            None => None,
            Some(name) => Some(FunctionAccess { name, endpoint: None, aws: AwsAccess::read(variable)? }),
        };
        let countries = variable("CALL_COUNTRIES").unwrap_or_else(|| "US".to_owned());
        let call_countries = Country::list(&countries);
        let keys = variable("SEALING_KEYS").map(|keys| EncryptionKeys::parse(&keys)).transpose();
        let default = Addresses::default();
        Ok(Self {
            simulated,
            callback_url: url("CALLBACK_URL")?,
            vapi,
            call_countries: call_countries.map_err(|error| format!("CALL_COUNTRIES {error}"))?,
            x,
            sealing_keys: keys.map_err(|error| format!("SEALING_KEYS is invalid: {error}"))?,
            resumes,
            deliver,
            half_filled,
            addresses: Addresses {
                vapi: url("VAPI_URL")?.unwrap_or(default.vapi),
                x: url("X_URL")?.unwrap_or(default.x),
                x_authorize: url("X_AUTHORIZE_URL")?.unwrap_or(default.x_authorize),
                whatsapp: url("WHATSAPP_URL")?.unwrap_or(default.whatsapp),
            },
        })
    }
}

/// The services whose variables are filled together, with these variables.
const SERVICES: [(&str, &[&str]); 2] = [
    (VAPI, &["VAPI_API_KEY", "VAPI_PHONE_NUMBER_ID", "VAPI_WEBHOOK_SECRET", "VAPI_CREDENTIAL_ID"]),
    (X, &["X_CLIENT_ID", "X_CLIENT_SECRET"]),
];
const VAPI: &str = "Vapi";
const X: &str = "X";

impl HalfFilled {
    /// Finds out whether only some of these variables have a value. A function has only the variables that it uses, and a
    /// variable of a service that is not used is empty.
    fn find(
        service: &'static str,
        names: &[&'static str],
        lookup: &impl Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let used = names.iter().filter_map(|name| Some((*name, lookup(name)?)));
        let (empty, filled): (Vec<_>, Vec<_>) = used.partition(|(_, value)| value.is_empty());
        let missing: Vec<_> = empty.into_iter().map(|(name, _)| name).collect();
        let is_half = !missing.is_empty() && !filled.is_empty();
        is_half.then(|| Self { service, missing: missing.join(", ") })
    }
}

impl AwsAccess {
    /// The credentials, for the SDK and for our own signed requests.
    pub(crate) fn credentials(&self) -> SharedCredentialsProvider {
        let (id, secret) = (self.access_key_id.clone(), self.secret_access_key.expose());
        let token = self.session_token.as_ref().map(|token| token.expose().to_owned());
        SharedCredentialsProvider::new(Credentials::new(id, secret, token, None, "environment"))
    }

    pub(crate) fn read(variable: &impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        Ok(Self {
            region: required(variable, "AWS_REGION")?,
            access_key_id: required(variable, "AWS_ACCESS_KEY_ID")?,
            secret_access_key: Secret::new(required(variable, "AWS_SECRET_ACCESS_KEY")?),
            session_token: variable("AWS_SESSION_TOKEN").map(Secret::new),
        })
    }
}

impl VapiAccess {
    fn read(variable: &impl Fn(&str) -> Option<String>) -> Option<Self> {
        let secret = |name: &str| variable(name).map(Secret::new);
        Some(Self {
            api_key: secret("VAPI_API_KEY"),
            phone_number_id: variable("VAPI_PHONE_NUMBER_ID")?,
            webhook_secret: secret("VAPI_WEBHOOK_SECRET"),
            credential_id: variable("VAPI_CREDENTIAL_ID"),
        })
    }
}

impl XAccess {
    fn read(variable: &impl Fn(&str) -> Option<String>) -> Option<Self> {
        let client_secret = Secret::new(variable("X_CLIENT_SECRET")?);
        Some(Self { client_id: variable("X_CLIENT_ID")?, client_secret })
    }
}

fn required(variable: impl Fn(&str) -> Option<String>, name: &str) -> Result<String, String> {
    variable(name).ok_or_else(|| format!("the environment variable {name} is not set"))
}

fn optional_url(variable: impl Fn(&str) -> Option<String>, name: &str) -> Result<Option<String>, String> {
    match variable(name) {
        Some(url) if !url.starts_with("https://") && !url.starts_with("http://") => {
            Err(format!("{name} must begin with https:// or http://, but is {url}"))
        }
        url => Ok(url.map(|url| url.trim_end_matches('/').to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_of_two_origin_secrets_admits_a_request() {
        let (old, new) = ("o".repeat(32), "n".repeat(40));
        let none = OriginSecrets::parse("").unwrap();
        assert!(none.admit(None) && none.admit(Some("x")));
        let both = OriginSecrets::parse(&format!("{new}, {old}")).unwrap();
        assert!(both.admit(Some(&old)) && both.admit(Some(&new)));
        let joined = format!("{new}, {old}");
        for wrong in [None, Some(""), Some("x"), Some(&old[1..]), Some(&*joined), Some(&*new.to_uppercase())]
        {
            assert!(!both.admit(wrong), "{wrong:?}");
        }
        for invalid in [
            "short".to_owned(),
            format!("{old},{new},{old}"),
            format!("{} x", "o".repeat(32)),
            "é".repeat(32),
        ] {
            assert!(OriginSecrets::parse(&invalid).is_err(), "{invalid}");
        }
        assert_eq!(format!("{both:?}"), "OriginSecrets([***, ***])");
    }

    #[test]
    fn no_variable_sets_a_demo_login() {
        let every_variable = |name: &str| {
            Some(match name {
                "ORIGIN_SECRETS" => "s".repeat(32),
                _ => "https://demo.example".to_owned(),
            })
        };
        let edge = Edge::read(every_variable).unwrap();
        assert!(edge.security_contact.is_some() && edge.security_policy.is_some());
        assert_eq!(edge.demo_login, None);
    }

    #[test]
    fn an_error_names_the_variable() {
        let complete = [
            ("TABLE_NAME", "t"),
            ("BASE_URL", "https://jobs.example/"),
            ("SIGNING_KEYS", "0123456789abcdef0123456789abcdef"),
        ];
        let with = |name: &'static str, value: &'static str| {
            Config::read(move |variable| {
                let default = complete.iter().find(|(known, _)| *known == variable).map(|(_, value)| *value);
                if variable == name { Some(value) } else { default }.map(str::to_owned)
            })
        };
        assert_eq!(with("", "").unwrap().base_url.as_deref(), Some("https://jobs.example"));
        assert_eq!(with("BASE_URL", "").unwrap().base_url, None);
        for (name, value) in [
            ("TABLE_NAME", ""),
            ("BASE_URL", "jobs.example"),
            ("SIGNING_KEYS", "short"),
            ("LIVE_SERVICES", "none"),
            ("RESUME_BUCKET", "alone"),
            ("DELIVER_FUNCTION", "alone"),
            ("X_URL", "api.x.com"),
            ("X_AUTHORIZE_URL", "x.com/authorize"),
            ("SEALING_KEYS", "nonsense"),
            ("CREDENTIAL_KEYS", "short"),
            ("CALL_COUNTRIES", "DE, Germany"),
            ("ORIGIN_SECRETS", "short"),
            ("SECURITY_CONTACT", "security@example.com"),
            ("SECURITY_POLICY", "example.com"),
        ] {
            let named = if value == "alone" { "AWS_REGION" } else { name };
            assert!(with(name, value).unwrap_err().contains(named), "{name}={value}");
        }
        let services = with("LIVE_SERVICES", "simulated").unwrap().services;
        assert!(services.simulated && services.vapi.is_none() && services.x.is_none());
        assert_eq!(format!("{:?}", with("", "").unwrap().signing_keys), "MacKeys(1)");
    }

    #[test]
    fn a_half_filled_service_is_off_and_the_others_stay_on() {
        let with = |variables: &[(&'static str, &'static str)]| {
            let find =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            let read = Config::read(|name| {
                (name == "TABLE_NAME").then_some("t").or_else(|| find(name)).map(str::to_owned)
            });
            let services = read.unwrap().services;
            let off: Vec<_> =
                services.half_filled.into_iter().map(|off| (off.service, off.missing)).collect();
            (services.vapi.is_some(), services.x.is_some(), off)
        };
        let x = [("X_CLIENT_ID", "id"), ("X_CLIENT_SECRET", "secret")];
        // Each function has these variables of Vapi.
        let functions = [
            vec!["VAPI_PHONE_NUMBER_ID"],
            vec!["VAPI_PHONE_NUMBER_ID", "VAPI_WEBHOOK_SECRET"],
            vec!["VAPI_API_KEY", "VAPI_PHONE_NUMBER_ID", "VAPI_CREDENTIAL_ID"],
        ];
        for names in &functions {
            let filled: Vec<_> = names.iter().map(|name| (*name, "value")).chain(x).collect();
            assert_eq!(with(&filled), (true, true, vec![]), "{names:?}");
            let empty: Vec<_> = names.iter().map(|name| (*name, "")).chain(x).collect();
            assert_eq!(with(&empty), (false, true, vec![]), "{names:?}");
            for missing in names.iter().filter(|_| names.len() > 1) {
                let value = |name| if name == *missing { "" } else { "value" };
                let half: Vec<_> = names.iter().map(|name| (*name, value(*name))).chain(x).collect();
                assert_eq!(with(&half), (false, true, vec![("Vapi", (*missing).to_owned())]));
            }
        }
        for (missing, filled) in [("X_CLIENT_ID", "X_CLIENT_SECRET"), ("X_CLIENT_SECRET", "X_CLIENT_ID")] {
            let variables = [(missing, ""), (filled, "value"), ("VAPI_PHONE_NUMBER_ID", "number")];
            assert_eq!(with(&variables), (true, false, vec![("X", missing.to_owned())]));
        }
    }
}
