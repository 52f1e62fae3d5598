//! The secrets that commands need. They are read from environment variables alone, because other users of a machine see
//! command lines. No option takes one.

use std::collections::BTreeMap;
use std::fmt;

use shared::mac_keys::MacKeys;
use shared::secret::Secret;
use shared::token_encryption::EncryptionKeys;

/// The keys that authenticate new API keys and links, the newest first.
pub(crate) const CREDENTIAL_KEYS: &str = "CREDENTIAL_KEYS";
/// The keys that encrypt stored secrets, the newest first.
pub(crate) const SEALING_KEYS: &str = "SEALING_KEYS";
/// The access token of an account on X.
pub(crate) const X_ACCESS_TOKEN: &str = "X_ACCESS_TOKEN";
/// The refresh token of an account on X.
pub(crate) const X_REFRESH_TOKEN: &str = "X_REFRESH_TOKEN";
/// The token of a WhatsApp number.
pub(crate) const WHATSAPP_TOKEN: &str = "WHATSAPP_TOKEN";
/// An API key for checking a deployment.
pub(crate) const ROLECALL_KEY: &str = "ROLECALL_KEY";

/// Why a secret cannot be used.
#[derive(Debug)]
pub(crate) enum SecretError {
    /// The variable is not set.
    Missing(&'static str),
    /// The variable has another value than it must have, for this reason.
    Wrong(&'static str, String),
}

/// The values of these variables.
#[derive(Clone, Debug, Default)]
pub struct Secrets(BTreeMap<&'static str, Secret>);

impl Secrets {
    /// Looks all variables up. An empty one counts as absent.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let names =
            [CREDENTIAL_KEYS, SEALING_KEYS, X_ACCESS_TOKEN, X_REFRESH_TOKEN, WHATSAPP_TOKEN, ROLECALL_KEY];
        let value = |name| variable(name).filter(|value| !value.is_empty());
        Self(names.into_iter().filter_map(|name| Some((name, Secret::new(value(name)?)))).collect())
    }

    /// The secrets with another one, in place of the variable's.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.0.insert(name, Secret::new(value));
        self
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The keys that authenticate new API keys and links.
    pub(crate) fn credential_keys(&self) -> Result<MacKeys, SecretError> {
        self.find(CREDENTIAL_KEYS, MacKeys::parse)?.ok_or(SecretError::Missing(CREDENTIAL_KEYS))
    }

    /// The keys that encrypt stored secrets.
    pub(crate) fn sealing_keys(&self) -> Result<EncryptionKeys, SecretError> {
        self.find(SEALING_KEYS, EncryptionKeys::parse)?.ok_or(SecretError::Missing(SEALING_KEYS))
    }

    /// A token or an API key.
    pub(crate) fn token(&self, name: &'static str) -> Result<Secret, SecretError> {
        self.find_token(name)?.ok_or(SecretError::Missing(name))
    }

    /// A token or an API key, if there is one.
    pub(crate) fn find_token(&self, name: &'static str) -> Result<Option<Secret>, SecretError> {
        self.find(name, |value| {
            let is_visible = value.bytes().all(|byte| byte.is_ascii_graphic());
            is_visible.then(|| Secret::new(value)).ok_or("it must be visible ASCII without spaces")
        })
    }

    fn find<T, E: ToString>(
        &self,
        name: &'static str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, SecretError> {
        let parse = |value: &Secret| {
            parse(value.expose()).map_err(|error| SecretError::Wrong(name, error.to_string()))
        };
        self.0.get(name).map(parse).transpose()
    }
}

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(CREDENTIAL_KEYS) => f.write_str(
                "New API keys and links need the service's key: set CREDENTIAL_KEYS, or name its secret in Secrets Manager \
                 with --credential-secret.",
            ),
            Self::Missing(name) => {
                write!(f, "Set the environment variable {name}, because no option takes a secret.")
            }
            Self::Wrong(name, error) => {
                write!(f, "The environment variable {name} has no usable value: {error}.")
            }
        }
    }
}
