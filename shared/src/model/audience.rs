//! The parts of this service that an access token can be for.

use super::string_enum::string_enum;
use super::{Scope, Scopes};

string_enum! {
    /// What an access token is for (RFC 8707). A token for one audience is invalid for any other. API keys are for both.
    #[derive(Default)]
    pub enum Audience {
        /// The API.
        #[default]
        Api = "api",
        /// The MCP endpoint.
        Mcp = "mcp",
    }
}

impl Audience {
    /// Whether this is the API.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub(super) const fn is_api(&self) -> bool {
        matches!(self, Self::Api)
    }

    /// The path of the resource.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Api => "/api/v1",
            Self::Mcp => "/mcp",
        }
    }

    /// The URL of the resource, which tokens are bound to.
    pub fn url(self, base_url: &str) -> String {
        format!("{base_url}{}", self.path())
    }

    /// The URL of the resource's metadata (RFC 9728).
    pub fn metadata_url(self, base_url: &str) -> String {
        format!("{base_url}/.well-known/oauth-protected-resource{}", self.path())
    }

    /// The name that the metadata gives the resource.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Api => "Rolecall API",
            Self::Mcp => "Rolecall for assistants (MCP)",
        }
    }

    /// The scopes that requests to the resource can need.
    pub fn scopes(self) -> Scopes {
        match self {
            Self::Api => Scopes::all(),
            Self::Mcp => [
                Scope::RolesRead,
                Scope::RolesWrite,
                Scope::CandidatesRead,
                Scope::CandidatesWrite,
                Scope::VoiceScreensRead,
                Scope::ChannelsRead,
                Scope::ChannelsWrite,
                Scope::EventsRead,
            ]
            .into_iter()
            .collect(),
        }
    }
}
