//! Credentials as clients send them. The store's gate checks whether they are valid.

mod credential;

pub use credential::{Credential, Kind, hash};

/// The content of the `Authorization` header.
#[derive(Clone, Debug)]
pub enum Caller {
    /// No credential was sent.
    Anonymous,
    /// The scheme, the format or the checksum is wrong.
    Malformed,
    /// The credential is well-formed. It may still be invalid.
    Presented(Credential),
}

impl Caller {
    /// Parses the header's value (RFC 6750, section 2.1). The scheme is case-insensitive.
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
