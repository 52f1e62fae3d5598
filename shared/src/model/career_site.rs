//! Career sites: how an organization shows itself to candidates.

use serde::{Deserialize, Serialize};

use super::{Accent, Mode, Slug, Tenant, Text, WebAddress};
use crate::id::Id;

/// A paragraph about the organization.
pub type Introduction = Text<600>;

/// What an organization chooses of its career pages' looks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branding {
    /// The name that candidates read.
    pub name: Text<200>,
    /// What it says about itself.
    pub introduction: Option<Introduction>,
    /// Its colour.
    pub accent: Option<Accent>,
    /// The https address of its logo.
    pub logo_url: Option<WebAddress>,
}

/// Whose career pages an address leads to. It stands by itself, so that visitors of the pages are no load on what the
/// organization's own requests need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CareerSite {
    /// The organization.
    pub id: Id,
    /// Which copy of it.
    pub mode: Mode,
    /// Its part of the address.
    pub slug: Slug,
    /// A suspended organization's pages are not shown.
    pub suspended: bool,
    /// How it looks.
    pub branding: Branding,
}

impl CareerSite {
    /// The tenant whose postings it shows.
    pub const fn tenant(&self) -> Tenant {
        Tenant { organization: self.id, mode: self.mode }
    }
}
