//! Career sites: how an organization presents itself to candidates.

use serde::{Deserialize, Serialize};

use super::{Accent, Lines, LogoHash, Mode, Slug, Tenant, Text, WebAddress};
use crate::clock::Timestamp;
use crate::id::Id;

/// A paragraph about the organization.
pub type Introduction = Text<600>;

/// An organization's own text on its privacy page, in Markdown like a description.
pub type PrivacyText = Lines<20_000>;

/// The branding of an organization's career pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branding {
    /// The display name.
    pub name: Text<200>,
    /// A paragraph about the organization.
    pub introduction: Option<Introduction>,
    /// The accent colour.
    pub accent: Option<Accent>,
    /// The https URL of the logo.
    pub logo_url: Option<WebAddress>,
}

/// The career site behind a slug. It is stored separately from the organization, so that page visits put no load
/// on the items that the organization's API requests read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CareerSite {
    /// The organization.
    pub id: Id,
    /// The mode.
    pub mode: Mode,
    /// The organization's part of the URL.
    pub slug: Slug,
    /// Whether the organization is suspended. Its pages are then hidden.
    pub suspended: bool,
    /// The branding.
    pub branding: Branding,
    /// The uploaded logo, which takes the place of the one at `logo_url`.
    pub logo: Option<LogoHash>,
    /// How many application forms count as usual.
    #[serde(default, skip_serializing_if = "ApplicationLimits::are_usual")]
    pub limits: ApplicationLimits,
}

/// The numbers of application forms above which a form is suspect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationLimits {
    /// From one IP address, or one /64 network of IPv6, in an hour. It is high because a whole lecture hall can share one
    /// address.
    pub address: u32,
    /// From one /24 network of IPv4, or one /48 network of IPv6, in an hour.
    pub network: u32,
    /// For one posting on a day (UTC).
    pub posting: u32,
    /// For all postings on a day (UTC).
    pub site: u32,
    /// When an owner had everything counted from zero again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleared_at: Option<Timestamp>,
}

impl ApplicationLimits {
    /// The limits of a career site whose owner has changed nothing.
    pub const USUAL: Self =
        Self { address: 100, network: 200, posting: 1_000, site: 5_000, cleared_at: None };
    /// The highest limits that an owner can set. What one address may send is a hundred times the usual number, which is
    /// enough for a job fair.
    pub const HIGHEST: Self =
        Self { address: 10_000, network: 20_000, posting: 50_000, site: 100_000, cleared_at: None };

    fn are_usual(&self) -> bool {
        *self == Self::USUAL
    }
}

impl Default for ApplicationLimits {
    fn default() -> Self {
        Self::USUAL
    }
}

impl CareerSite {
    /// The tenant whose postings the site shows.
    pub const fn tenant(&self) -> Tenant {
        Tenant { organization: self.id, mode: self.mode }
    }
}
