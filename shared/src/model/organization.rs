//! Organizations: whose data it is, what they pay for, and what a credential may do.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::words::words;
use super::{Slug, Text};
use crate::id::Id;

words! {
    /// Which copy of an organization a credential sees.
    pub enum Mode {
        /// The real one.
        Live = "live",
        /// A separate one for trying things out, empty at first; it never reaches an outside service.
        Test = "test",
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

words! {
    /// What an organization pays for (spec, section 8).
    pub enum Plan {
        /// 100 requests a day.
        Free = "free",
        /// As many requests as one likes.
        Pro = "pro",
    }
}

impl Plan {
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

words! {
    /// One thing that a credential may be allowed to do. The order is stored (see [`Scopes`]): append, never reorder.
    pub enum Scope {
        /// Read roles, their stats and job postings.
        RolesRead = "roles:read",
        /// Create and change roles and job postings; quick post.
        RolesWrite = "roles:write",
        /// Read candidates.
        CandidatesRead = "candidates:read",
        /// Create candidates and move them.
        CandidatesWrite = "candidates:write",
        /// Read voice screens.
        VoiceScreensRead = "voice_screens:read",
        /// Read channels and the posts made to them.
        ChannelsRead = "channels:read",
        /// Post to channels.
        ChannelsWrite = "channels:write",
        /// Read the organization, its plan and usage.
        OrganizationRead = "organization:read",
    }
}

impl Scope {
    /// What it allows, in words for whoever is asked to allow it.
    pub const fn description(self) -> &'static str {
        match self {
            Self::RolesRead => "See roles, their figures and job postings",
            Self::RolesWrite => "Create, change, publish and close roles and job postings",
            Self::CandidatesRead => "See candidates, their applications and their history",
            Self::CandidatesWrite => {
                "Add candidates, move them, reject and hire them, invite them to voice screens"
            }
            Self::VoiceScreensRead => "See voice screens with transcripts and scores",
            Self::ChannelsRead => "See connected channels and what was posted",
            Self::ChannelsWrite => "Post jobs in the organization's name",
            Self::OrganizationRead => "See the organization, its plan and its usage",
        }
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
