//! Organizations: whose data it is, what they pay for, and what a credential may do.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Slug, Text};
use crate::id::Id;

/// Which copy of an organization a credential sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The real one.
    Live,
    /// A separate one for trying things out, empty at first; it never reaches an outside service.
    Test,
}

impl Mode {
    /// Both modes.
    pub const ALL: [Self; 2] = [Self::Live, Self::Test];

    /// The mode as it stands in keys and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
        }
    }
}

/// Whose data a request may see: an organization in one mode. Every key in the table begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tenant {
    /// The organization.
    pub organization: Id,
    /// Its copy.
    pub mode: Mode,
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.organization, self.mode.as_str())
    }
}

/// One mode of an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Organization {
    /// The identifier, the same in both modes.
    pub id: Id,
    /// Which copy this is.
    pub mode: Mode,
    /// The name that people read.
    pub name: Text<200>,
    /// Its part of the career pages' address, different in each mode.
    pub slug: Slug,
    /// What it pays for.
    pub plan: Plan,
    /// A suspended organization's credentials are refused with 403.
    pub suspended: bool,
    /// When it was created.
    pub created_at: Timestamp,
}

impl Organization {
    /// The tenant that this copy is.
    pub const fn tenant(&self) -> Tenant {
        Tenant { organization: self.id, mode: self.mode }
    }
}

/// What an organization pays for (spec, section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    /// 100 requests a day.
    Free,
    /// As many requests as one likes.
    Pro,
}

impl Plan {
    /// Both plans.
    pub const ALL: [Self; 2] = [Self::Free, Self::Pro];

    /// The plan's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Pro => "pro",
        }
    }

    /// The price in US dollars a month.
    pub const fn price_usd_per_month(self) -> u32 {
        match self {
            Self::Free => 0,
            Self::Pro => 99,
        }
    }

    /// How many requests each mode may make in a day; `None` where there is no limit.
    pub const fn requests_per_day(self) -> Option<u64> {
        match self {
            Self::Free => Some(100),
            Self::Pro => None,
        }
    }
}

impl FromStr for Plan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|plan| plan.as_str() == text)
            .ok_or_else(|| "must be free or pro".to_owned())
    }
}

/// One thing that a credential may be allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Read roles, their stats and job postings.
    RolesRead,
    /// Create and change roles and job postings; quick post.
    RolesWrite,
    /// Read candidates.
    CandidatesRead,
    /// Create candidates and move them.
    CandidatesWrite,
    /// Read voice screens.
    VoiceScreensRead,
    /// Read channels and the posts made to them.
    ChannelsRead,
    /// Post to channels.
    ChannelsWrite,
    /// Read the organization, its plan and usage.
    OrganizationRead,
}

impl Scope {
    /// Every scope. The order is stored (see [`Scopes`]): append, never reorder.
    pub const ALL: [Self; 8] = [
        Self::RolesRead,
        Self::RolesWrite,
        Self::CandidatesRead,
        Self::CandidatesWrite,
        Self::VoiceScreensRead,
        Self::ChannelsRead,
        Self::ChannelsWrite,
        Self::OrganizationRead,
    ];

    /// The scope's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RolesRead => "roles:read",
            Self::RolesWrite => "roles:write",
            Self::CandidatesRead => "candidates:read",
            Self::CandidatesWrite => "candidates:write",
            Self::VoiceScreensRead => "voice_screens:read",
            Self::ChannelsRead => "channels:read",
            Self::ChannelsWrite => "channels:write",
            Self::OrganizationRead => "organization:read",
        }
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|scope| scope.as_str() == text)
            .ok_or_else(|| format!("must be one of {}", Self::ALL.map(Self::as_str).join(", ")))
    }
}

/// A set of scopes, stored as one small number: bit *n* is the scope at place *n* of [`Scope::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scopes(u32);

impl Scopes {
    /// Every scope.
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// Whether the set holds `scope`.
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & (1 << scope as u32) != 0
    }

    /// The scopes in the set.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | 1 << scope as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_exactly_what_was_put_in() {
        for scope in Scope::ALL {
            assert_eq!(scope.as_str().parse(), Ok(scope));
            assert_eq!(Scopes::from_iter([scope]).iter().collect::<Vec<_>>(), [scope]);
            assert!(Scopes::all().contains(scope));
        }
        assert!("roles:delete".parse::<Scope>().unwrap_err().contains("roles:read"));
    }
}
