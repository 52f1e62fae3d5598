//! The formats of the feeds: sitemaps and JSON.

use std::fmt::Write;

use jiff::civil::Date;
use serde::Serialize;
use shared::clock::Timestamp;
use shared::handlers::responses;
use shared::handlers::responses::role::RoleLocation;
use shared::id::Id;
use shared::model::{Country, Currency, EmploymentType, Pay, RemotePolicy, Salary};
use utoipa::ToSchema;

/// Builds a sitemap (sitemaps.org 0.9) of at most 50,000 pages. Each page has an absolute URL and, if known, the time
/// of its last change.
pub(crate) fn sitemap(pages: impl Iterator<Item = (String, Option<Timestamp>)>) -> String {
    document("urlset", "url", pages)
}

/// Builds a sitemap index from the absolute URLs of at most 50,000 sitemaps.
pub(crate) fn sitemap_index(sitemaps: impl Iterator<Item = String>) -> String {
    document("sitemapindex", "sitemap", sitemaps.map(|url| (url, None)))
}

fn document(root: &str, element: &str, entries: impl Iterator<Item = (String, Option<Timestamp>)>) -> String {
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
    );
    for (url, changed) in entries {
        let url = escaped(&url);
        let lastmod = changed.map(|changed| format!("<lastmod>{changed}</lastmod>")).unwrap_or_default();
        let _ = writeln!(xml, "<{element}><loc>{url}</loc>{lastmod}</{element}>");
    }
    xml + "</" + root + ">\n"
}

/// Escapes text for XML and removes control characters, which XML does not allow.
fn escaped(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).fold(String::with_capacity(text.len()), |mut xml, c| {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\'' => xml.push_str("&apos;"),
            c => xml.push(c),
        }
        xml
    })
}

/// A page of an organization's openings.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = JobFeed)]
pub(crate) struct Feed<'p> {
    /// The organization's public name.
    pub(crate) organization: &'p str,
    /// The URL of the career page.
    #[schema(format = "uri")]
    pub(crate) url: String,
    /// The openings, newest first.
    pub(crate) jobs: Vec<FeedJob<'p>>,
    /// The absolute URL of the next page; `null` on the last page.
    #[schema(format = "uri")]
    pub(crate) next_url: Option<String>,
}

/// An opening.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Job)]
pub(crate) struct FeedJob<'p> {
    /// The job posting's identifier.
    pub(crate) id: Id,
    /// The title.
    pub(crate) title: &'p str,
    /// The department.
    pub(crate) department: Option<&'p str>,
    /// The location. If there are `locations`, it is that of the first one.
    pub(crate) location: Option<&'p str>,
    /// The country: an ISO 3166-1 alpha-2 code. If there are `locations`, it is that of the first one.
    pub(crate) country: Option<Country>,
    /// The places of work or, for remote work, the places where people may live.
    pub(crate) locations: Vec<RoleLocation>,
    /// Where the work is done: on site, remotely, or both.
    pub(crate) remote_policy: Option<RemotePolicy>,
    /// Whether the job is fully remote.
    pub(crate) is_remote: bool,
    /// The kind of employment.
    pub(crate) employment_type: Option<EmploymentType>,
    /// The description.
    pub(crate) description: Formatted,
    /// The requirements.
    pub(crate) requirements: Option<Formatted>,
    /// The annual salary; `null` if it is not known, or the job is paid by another period.
    pub(crate) compensation: Option<Compensation>,
    /// What the job pays; `null` if it is not known.
    pub(crate) pay: Option<responses::role::Pay>,
    /// The last day on which people can apply; `null` if it is open.
    pub(crate) closes_on: Option<Date>,
    /// When that day is over, and the opening is no longer listed.
    pub(crate) closes_at: Option<Timestamp>,
    /// When the opening became public.
    pub(crate) published_at: Timestamp,
    /// When the opening last changed.
    pub(crate) updated_at: Timestamp,
    /// The URL of the opening's page.
    #[schema(format = "uri")]
    pub(crate) url: String,
    /// The URL of the application form.
    #[schema(format = "uri")]
    pub(crate) apply_url: String,
}

/// Text in two formats.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FormattedText)]
pub(crate) struct Formatted {
    /// Sanitized HTML.
    pub(crate) html: String,
    /// Plain text.
    pub(crate) plain: String,
}

impl Formatted {
    /// Converts Markdown to both formats.
    pub(crate) fn of(text: &str) -> Self {
        Self { html: shared::descriptions::html(text), plain: shared::descriptions::plain(text) }
    }
}

/// A salary range.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Compensation {
    /// The minimum salary.
    pub(crate) min: Option<Salary>,
    /// The maximum salary.
    pub(crate) max: Option<Salary>,
    /// The currency: an ISO 4217 code.
    pub(crate) currency: Currency,
    /// The pay period, always `year`.
    pub(crate) period: &'static str,
}

impl Compensation {
    /// The annual salary of a role; `None` if neither limit is known.
    pub(crate) fn of(pay: Pay) -> Option<Self> {
        let (min, max, currency) = (pay.salary_min(), pay.salary_max(), pay.currency());
        (min.is_some() || max.is_some()).then_some(Self { min, max, currency, period: "year" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const AT: Timestamp = Timestamp::constant(1_795_171_800, 123);

    #[test]
    fn a_sitemap_lists_urls_with_their_last_change() {
        let pages = [("https://a.example/careers/acme?a&b", Some(AT)), ("https://a.example/careers/b", None)];
        assert_eq!(
            sitemap(pages.map(|(url, changed)| (url.to_owned(), changed)).into_iter()),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n\
             <url><loc>https://a.example/careers/acme?a&amp;b</loc><lastmod>2026-11-20T10:50:00.123Z</lastmod></url>\n\
             <url><loc>https://a.example/careers/b</loc></url>\n\
             </urlset>\n"
        );
        let index = sitemap_index(["https://a.example/".to_owned()].into_iter());
        assert!(index.contains("<sitemapindex xmlns=") && index.contains("<sitemap><loc>https://a.example/"));
    }

    proptest! {
        #[test]
        fn a_url_cannot_break_out_of_its_element(url in any::<String>()) {
            let escaped = escaped(&url);
            prop_assert!(!escaped.contains(['<', '>', '"', '\'', '\n', '\0']));
            let entities = ["&amp;", "&lt;", "&gt;", "&quot;", "&apos;"];
            prop_assert!(escaped.match_indices('&').all(|(at, _)| entities.iter().any(|entity| escaped[at..].starts_with(entity))));
        }
    }

    #[test]
    fn a_missing_value_is_null() {
        let job = FeedJob {
            id: Id::new(7).unwrap(),
            title: "Cook",
            department: None,
            location: None,
            country: None,
            locations: Vec::new(),
            remote_policy: None,
            is_remote: false,
            employment_type: None,
            description: Formatted::of("*Soup*"),
            requirements: None,
            compensation: Compensation::of(Pay::annual(Salary::new(1), None).unwrap()),
            pay: None,
            closes_on: None,
            closes_at: None,
            published_at: AT,
            updated_at: AT,
            url: "u".to_owned(),
            apply_url: "a".to_owned(),
        };
        let feed = Feed { organization: "Acme", url: "p".to_owned(), jobs: vec![job], next_url: None };
        let expected = json!({
            "organization": "Acme", "url": "p", "next_url": null,
            "jobs": [{
                "id": 7, "title": "Cook", "department": null, "location": null, "country": null,
                "locations": [], "remote_policy": null, "is_remote": false, "employment_type": null,
                "description": {"html": "<p><em>Soup</em></p>\n", "plain": "Soup"}, "requirements": null,
                "compensation": {"min": 1, "max": null, "currency": "USD", "period": "year"}, "pay": null, "closes_on": null,
                "closes_at": null,
                "published_at": AT.to_string(), "updated_at": AT.to_string(), "url": "u", "apply_url": "a",
            }],
        });
        assert_eq!(serde_json::to_value(feed).unwrap(), expected);
        assert!(Compensation::of(Pay::default()).is_none());
    }
}
