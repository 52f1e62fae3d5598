//! Job boards that read the openings of an organization, and what they require of a posting.

use super::{OrganizationSettings, Place, RoleContent};

/// A job board that reads the openings of an organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobBoard {
    /// Indeed, by its XML feed reference: <https://docs.indeed.com/indeed-apply/xml-feed>, as of November 2026.
    Indeed,
    /// LinkedIn, by the development guide of its XML feeds, version 2026-04:
    /// <https://learn.microsoft.com/en-us/linkedin/talent/job-postings/xml-feeds-development-guide>.
    LinkedIn,
}

impl JobBoard {
    /// All job boards.
    pub const ALL: [Self; 2] = [Self::Indeed, Self::LinkedIn];
    /// The number of characters that a description on LinkedIn has at least.
    const SHORTEST: usize = 100;

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Indeed => "Indeed",
            Self::LinkedIn => "LinkedIn",
        }
    }

    /// What it requires and a posting of a role with this content lacks, in words. `plain` is the text of the posting without
    /// its markup.
    pub fn missing(
        self,
        role: &RoleContent,
        plain: &str,
        settings: &OrganizationSettings,
    ) -> Vec<&'static str> {
        let places = role.places.list();
        let is_whole = |place: &Place| {
            let has_region = self == Self::LinkedIn || place.region().is_some();
            place.city().is_some() && has_region && place.country().is_some()
        };
        let has_places = !places.is_empty() && places.iter().all(is_whole);
        let has_text = match self {
            Self::Indeed => !plain.is_empty(),
            Self::LinkedIn => plain.chars().count() >= Self::SHORTEST,
        };
        let (places, text) = match self {
            Self::Indeed => ("places, each with a city, a region and a country", "a description"),
            Self::LinkedIn => {
                ("places, each with a city and a country", "a description of at least 100 characters")
            }
        };
        let has_company = self == Self::Indeed || settings.linkedin_company_id.is_some();
        [
            (has_text, text),
            (has_places, places),
            (has_company, "the organization's company ID on LinkedIn"),
            (settings.contact_email.is_some(), "the organization's contact e-mail address"),
        ]
        .into_iter()
        .filter_map(|(is_there, words)| (!is_there).then_some(words))
        .collect()
    }
}
