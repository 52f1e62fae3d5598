//! Credentials as clients send them. The store's gate checks whether they are valid.

mod credential;

use crate::mac_keys::MacKeys;

pub use credential::{Claims, Credential, CredentialError, Kind, hash};

/// The content of the `Authorization` header.
#[derive(Clone, Debug)]
pub enum Caller {
    /// No credential was sent.
    Anonymous,
    /// The scheme, the format, the checksum or the MAC is wrong.
    Rejected(CredentialError),
    /// This service issued the credential. It may be invalid by now.
    Presented(Credential),
}

impl Caller {
    /// Parses the header's value (RFC 6750, section 2.1). The scheme is case-insensitive.
    pub fn read(authorization: Option<&str>, keys: &MacKeys) -> Self {
        let Some(value) = authorization else { return Self::Anonymous };
        let Some((scheme, credential)) = value.split_once(' ') else {
            return Self::Rejected(CredentialError::Malformed);
        };
        match Credential::read(credential.trim_start_matches(' '), keys) {
            Ok(credential)
                if scheme.eq_ignore_ascii_case("bearer")
                    && matches!(credential.kind(), Kind::ApiKey | Kind::AccessToken) =>
            {
                Self::Presented(credential)
            }
            Ok(_) => Self::Rejected(CredentialError::Malformed),
            Err(error) => Self::Rejected(error),
        }
    }
}
