//! The parts of this service that take access tokens, and what a token is for.

use super::string_enum::string_enum;
use super::{Scope, Scopes};

string_enum! {
    /// A part of this service that takes access tokens (RFC 9728).
    pub enum Resource {
        /// The API.
        Api = "api",
        /// The MCP endpoint.
        Mcp = "mcp",
    }
}

string_enum! {
    /// What an access token is for (RFC 8707). API keys are for both. The order is part of each credential: append, never
    /// reorder.
    #[derive(Default)]
    pub enum Audience {
        /// The API and the MCP endpoint.
        #[default]
        Both = "both",
        /// The API alone.
        Api = "api",
        /// The MCP endpoint alone.
        Mcp = "mcp",
    }
}

impl Resource {
    /// The path of the resource.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Api => "/api/v1",
            Self::Mcp => "/mcp",
        }
    }

    /// The URL of the resource.
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
            .into(),
        }
    }
}

impl Audience {
    /// What tokens of grants were for before they could be for both.
    pub(super) const fn before_both() -> Self {
        Self::Api
    }

    /// Whether the resource takes tokens for this audience.
    pub const fn includes(self, resource: Resource) -> bool {
        !matches!((self, resource), (Self::Api, Resource::Mcp) | (Self::Mcp, Resource::Api))
    }

    /// Whether each resource that takes tokens for this audience also takes those for `other`.
    pub fn is_within(self, other: Self) -> bool {
        other == Self::Both || self == other
    }

    /// The URL by which clients name the audience.
    pub fn url(self, base_url: &str) -> String {
        match self {
            Self::Both => base_url.to_owned(),
            Self::Api => Resource::Api.url(base_url),
            Self::Mcp => Resource::Mcp.url(base_url),
        }
    }

    /// The scopes that requests with a token for this audience can need.
    pub fn scopes(self) -> Scopes {
        match self {
            Self::Both | Self::Api => Resource::Api.scopes(),
            Self::Mcp => Resource::Mcp.scopes(),
        }
    }

    /// The scopes of an authorization request that names none, by a client that has registered none.
    pub fn default_scopes(self) -> Scopes {
        match self {
            Self::Both => Scopes::by_default().and(Resource::Mcp.scopes()),
            Self::Api => Scopes::by_default(),
            Self::Mcp => Resource::Mcp.scopes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_token_for_both_is_for_each_resource() {
        for (audience, resources) in [
            (Audience::Both, &Resource::ALL[..]),
            (Audience::Api, &[Resource::Api]),
            (Audience::Mcp, &[Resource::Mcp]),
        ] {
            let taken: Vec<_> = Resource::ALL.into_iter().filter(|part| audience.includes(*part)).collect();
            assert_eq!(taken, resources, "{audience:?}");
        }
        assert!(Audience::ALL.into_iter().all(|audience| audience.is_within(Audience::Both)));
        assert!(Audience::Mcp.is_within(Audience::Mcp) && !Audience::Mcp.is_within(Audience::Api));
        assert!(!Audience::Both.is_within(Audience::Mcp));
    }

    #[test]
    fn what_is_asked_for_by_default_is_nothing_that_owners_alone_give() {
        for audience in Audience::ALL {
            let scopes = audience.default_scopes();
            assert!(
                scopes.are_within(Scopes::of_members()) && scopes.are_within(audience.scopes()),
                "{audience:?}"
            );
        }
        assert!(Audience::Both.default_scopes().contains(Scope::EventsRead));
        assert!(!Audience::Api.default_scopes().contains(Scope::EventsRead));
    }
}
