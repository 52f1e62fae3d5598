//! Who says to be calling: credentials as clients send them. Whether they are good, the store's gate knows.

mod credential;

pub use credential::{Credential, Kind, hash};

/// What the `Authorization` header comes to.
#[derive(Clone, Debug)]
pub enum Caller {
    /// No credential was sent.
    Anonymous,
    /// A credential that cannot be good was sent: another scheme, a wrong form, a wrong checksum.
    Malformed,
    /// A well-formed credential; only the gate knows whether it is good.
    Presented(Credential),
}

impl Caller {
    /// Reads the header's value (RFC 6750, section 2.1): the scheme in any case, then the credential.
    pub fn read(authorization: Option<&str>) -> Self {
        let Some(value) = authorization else { return Self::Anonymous };
        let Some((scheme, credential)) = value.split_once(' ') else { return Self::Malformed };
        match credential.trim_start_matches(' ').parse::<Credential>() {
            Ok(credential)
                if scheme.eq_ignore_ascii_case("bearer")
                    && matches!(credential.kind(), Kind::ApiKey | Kind::AccessToken) =>
            {
                Self::Presented(credential)
            }
            _ => Self::Malformed,
        }
    }
}
