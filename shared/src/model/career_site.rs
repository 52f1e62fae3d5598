//! Career sites: how an organization presents itself to candidates.

use serde::{Deserialize, Serialize};

use super::{Accent, Lines, LogoHash, Mode, Slug, Tenant, Text, WebAddress};
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
}

impl CareerSite {
    /// The tenant whose postings the site shows.
    pub const fn tenant(&self) -> Tenant {
        Tenant { organization: self.id, mode: self.mode }
    }
}
