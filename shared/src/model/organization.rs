//! Organizations: tenants, modes, plans and the scopes of credentials.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::index_form::IndexForm;
use super::string_enum::string_enum;
use super::{ActorKind, Country, Email, Slug, Source, Text, TimeZoneName};
use crate::clock::Timestamp;
use crate::id::Id;

string_enum! {
    /// The mode of a credential. Each mode of an organization has its own data.
    pub enum Mode {
        /// The real data.
        Live = "live",
        /// Separate data for testing, initially empty. It never reaches an external service.
        Test = "test",
    }
}

/// An organization in one mode. Its data is isolated from all other tenants. Every key in the table begins with the
/// tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tenant {
    /// The organization.
    pub organization: Id,
    /// The mode.
    pub mode: Mode,
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.organization, self.mode.as_str())
    }
}

impl FromStr for Tenant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let tenant = text.split_once('#').and_then(|(organization, mode)| {
            Some(Self { organization: organization.parse().ok()?, mode: mode.parse().ok()? })
        });
        tenant.ok_or_else(|| format!("{text} is not a tenant, such as 17#live"))
    }
}

/// An organization in one mode, as every request reads it. It has no long values, because each request also writes its
/// item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Organization {
    /// The identifier, the same in both modes.
    pub id: Id,
    /// The mode.
    pub mode: Mode,
    /// The organization's part of the career page's URL. It differs between the modes.
    pub slug: Slug,
    /// The plan.
    pub plan: Plan,
    /// Whether the organization is suspended. If it is, its credentials are rejected with 403.
    pub suspended: bool,
    /// The form of the oldest entries in the search index of candidates. A search also asks for this one.
    #[serde(default, skip_serializing_if = "IndexForm::is_first")]
    pub index_form: IndexForm,
}

/// The settings of an organization in one mode that several features share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OrganizationSettings {
    /// The country that applies where nothing else names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<Country>,
    /// The time zone of dates without a time zone of their own.
    pub time_zone: TimeZoneName,
    /// The e-mail address that candidates can write to about their data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact_email: Option<Email>,
    /// The number of the organization's page on LinkedIn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linkedin_company_id: Option<Id>,
    /// The sources that links to a career page may name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub link_sources: Vec<Source>,
    /// Where members confirm what assistants do.
    #[serde(skip_serializing_if = "ConfirmationRule::is_default")]
    pub confirmations: ConfirmationRule,
    /// The version, which grows with every write; 0 before the first one.
    pub version: u64,
}

/// Where members confirm what assistants do. The page of the dashboard is always possible, and shows most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfirmationRule {
    /// Connected applications may ask the member themselves.
    pub apps_may_ask: bool,
    /// Programs with an API key must use the page.
    pub keys_use_page: bool,
}

impl ConfirmationRule {
    /// Whether this holder of a credential must use the page.
    pub fn requires_page(self, caller: ActorKind) -> bool {
        match caller {
            ActorKind::App => !self.apps_may_ask,
            _ => self.keys_use_page,
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl OrganizationSettings {
    /// The maximum number of sources that links may name.
    pub const MAX_LINK_SOURCES: usize = 50;

    /// The next version, with these values. Returns `None` if the values stay the same.
    pub fn change(&self, values: Self) -> Option<Self> {
        let after = Self { version: self.version + 1, ..values };
        (Self { version: self.version, ..after.clone() } != *self).then_some(after)
    }

    /// The source that a link names, as the organization writes it, if it is one of the organization's.
    pub fn link_source(&self, named: &str) -> Option<&Source> {
        let named = named.trim().to_lowercase();
        self.link_sources.iter().find(|source| source.as_str().to_lowercase() == named)
    }
}

/// An organization in one mode, with its name and its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedOrganization {
    /// The organization.
    #[serde(flatten)]
    pub organization: Organization,
    /// The display name.
    pub name: Text<200>,
    /// The settings.
    #[serde(flatten)]
    pub settings: OrganizationSettings,
    /// When the organization was created.
    pub created_at: Timestamp,
}

impl Organization {
    /// The tenant.
    pub const fn tenant(&self) -> Tenant {
        Tenant { organization: self.id, mode: self.mode }
    }
}

string_enum! {
    /// The plan of an organization.
    pub enum Plan {
        /// 100 requests per day.
        Free = "free",
        /// An unlimited number of requests.
        Pro = "pro",
    }
}

impl Plan {
    /// The price in US dollars per month.
    pub const fn price_usd_per_month(self) -> u32 {
        match self {
            Self::Free => 0,
            Self::Pro => 99,
        }
    }

    /// The number of requests per day in each mode; `None` if there is no limit.
    pub const fn requests_per_day(self) -> Option<u64> {
        match self {
            Self::Free => Some(100),
            Self::Pro => None,
        }
    }

    /// The number of rows of imports per day in each mode.
    pub const fn imported_rows_per_day(self) -> u64 {
        match self {
            Self::Free => 1_000,
            Self::Pro => 200_000,
        }
    }

    /// The number of exports per day in each mode.
    pub const fn exports_per_day(self) -> u64 {
        match self {
            Self::Free => 1,
            Self::Pro => 20,
        }
    }

    /// The number of telephone calls per day.
    pub const fn calls_per_day(self) -> u64 {
        match self {
            Self::Free => 20,
            Self::Pro => 500,
        }
    }
}

string_enum! {
    /// A permission of a credential. The order is stored (see [`Scopes`]): append scopes, never reorder them.
    pub enum Scope {
        /// Read roles, their stats and job postings.
        RolesRead = "roles:read",
        /// Create and change roles and job postings; quick post.
        RolesWrite = "roles:write",
        /// Read candidates.
        CandidatesRead = "candidates:read",
        /// Create, change and move candidates.
        CandidatesWrite = "candidates:write",
        /// Read voice screens.
        VoiceScreensRead = "voice_screens:read",
        /// Read channels and the posts made to them.
        ChannelsRead = "channels:read",
        /// Post to channels.
        ChannelsWrite = "channels:write",
        /// Read the organization, its plan and usage.
        OrganizationRead = "organization:read",
        /// Erase candidates; set and lift legal holds.
        CandidatesErase = "candidates:erase",
        /// Read the audit log.
        AuditRead = "audit:read",
        /// Read the change feed.
        EventsRead = "events:read",
        /// Read webhook endpoints and their deliveries.
        WebhooksRead = "webhooks:read",
        /// Create, change and delete webhook endpoints, and repeat deliveries.
        WebhooksWrite = "webhooks:write",
        /// Import people, and undo imports.
        DataImport = "data:import",
        /// Export the organization's data.
        DataExport = "data:export",
    }
}

impl Scope {
    /// Whether the scope allows no changes.
    pub fn is_for_reading(self) -> bool {
        self.as_str().ends_with(":read")
    }

    /// Whether owners alone give the scope.
    pub const fn is_for_owners(self) -> bool {
        matches!(self, Self::CandidatesErase | Self::AuditRead | Self::DataImport | Self::DataExport)
    }

    /// A description of what the scope allows, for the member who grants it.
    pub const fn description(self) -> &'static str {
        match self {
            Self::RolesRead => "See roles, their statistics and job postings",
            Self::RolesWrite => "Create, change, publish and close roles and job postings",
            Self::CandidatesRead => "See candidates, their applications and their history",
            Self::CandidatesWrite => {
                "Add, change, move, reject and hire candidates, and invite them to voice screens"
            }
            Self::VoiceScreensRead => "See voice screens with transcripts and scores",
            Self::ChannelsRead => "See connected channels and their posts",
            Self::ChannelsWrite => "Post jobs on behalf of the organization",
            Self::OrganizationRead => "See the organization, its plan and its usage",
            Self::CandidatesErase => "Erase candidates for good, and set and lift legal holds on them",
            Self::AuditRead => "See in the audit log who did what and when",
            Self::EventsRead => "See in the change feed which data changes",
            Self::WebhooksRead => "See webhook endpoints and their deliveries",
            Self::WebhooksWrite => "Create, change and delete webhook endpoints, and repeat deliveries",
            Self::DataImport => "Import people from files, and undo imports",
            Self::DataExport => "Export everything that the scopes allow to see, as files",
        }
    }
}

/// A set of scopes, stored as a bit mask: bit *n* stands for the scope with index *n* in [`Scope::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scopes(u32);

impl Scopes {
    /// Every scope, also those that are added later. The keys of the demo organizations have them, so that the keys stay
    /// the same.
    pub const EVERY: Self = Self(0x7F_FFFF);

    /// The bit mask.
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// The set with this bit mask.
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Every scope.
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// The scopes of a credential for which none are chosen. Other scopes must be chosen explicitly.
    pub fn by_default() -> Self {
        let chosen = [
            Scope::CandidatesErase,
            Scope::AuditRead,
            Scope::EventsRead,
            Scope::WebhooksRead,
            Scope::WebhooksWrite,
            Scope::DataImport,
            Scope::DataExport,
        ];
        Scope::ALL.into_iter().filter(|scope| !chosen.contains(scope)).collect()
    }

    /// The scopes that every member may give, not only an owner.
    pub fn of_members() -> Self {
        Scope::ALL.into_iter().filter(|scope| !scope.is_for_owners()).collect()
    }

    /// Whether only an owner may give the set.
    pub fn need_owner(self) -> bool {
        self.iter().any(Scope::is_for_owners)
    }

    /// The scopes that allow no changes.
    pub fn for_reading() -> Self {
        Scope::ALL.into_iter().filter(|scope| scope.is_for_reading()).collect()
    }

    /// Whether the set contains `scope`.
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & (1 << scope as u32) != 0
    }

    /// Whether `others` contains every scope of the set.
    pub const fn are_within(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    /// The scopes that both sets contain.
    #[must_use]
    pub const fn within(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// The scopes that at least one of the sets contains.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// The scopes that `others` does not contain.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The scopes in the set.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }
}

impl From<Scope> for Scopes {
    fn from(scope: Scope) -> Self {
        Self::from_iter([scope])
    }
}

impl<const N: usize> From<[Scope; N]> for Scopes {
    fn from(scopes: [Scope; N]) -> Self {
        scopes.into_iter().collect()
    }
}

/// The scopes, separated by spaces (RFC 6749, section 3.3).
impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.iter().map(Scope::as_str).collect::<Vec<_>>().join(" "))
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
    fn settings_get_a_version_only_when_a_value_changes() {
        let first = OrganizationSettings::default();
        assert_eq!((first.time_zone.as_str(), first.version), ("UTC", 0));
        assert_eq!(first.change(OrganizationSettings { version: 7, ..first.clone() }), None);
        let country = "DE".parse().ok();
        let second = first.change(OrganizationSettings { country, ..first.clone() }).unwrap();
        assert_eq!((second.country, second.version), (country, 1));
        assert_eq!(second.change(OrganizationSettings { country, ..first.clone() }), None);
        let third = second.change(OrganizationSettings { country: None, ..second.clone() }).unwrap();
        assert_eq!((third.country, third.version), (None, 2));
    }

    #[test]
    fn a_set_contains_exactly_the_scopes_it_was_built_from() {
        for scope in Scope::ALL {
            assert_eq!(scope.as_str().parse(), Ok(scope));
            assert_eq!(Scopes::from_iter([scope]).iter().collect::<Vec<_>>(), [scope]);
            assert_eq!(Scopes::from_iter([scope, scope]), scope.into(), "a scope that is named twice");
            assert!(Scopes::all().contains(scope));
        }
        assert!("roles:delete".parse::<Scope>().unwrap_err().contains("roles:read"));
    }
}
