//! The openings for machines: sitemaps and the JSON feed.

use std::fmt::Write;

use jiff::Timestamp;
use serde::Serialize;
use shared::id::Id;
use shared::model::RemotePolicy;
use utoipa::ToSchema;

/// A sitemap of pages (sitemaps.org 0.9), 50,000 at most: the absolute address of each, and when it last changed, where
/// that is known.
pub(crate) fn sitemap(pages: impl Iterator<Item = (String, Option<Timestamp>)>) -> String {
    document("urlset", "url", pages)
}

/// An index of sitemaps, 50,000 at most: the absolute address of each.
pub(crate) fn sitemap_index(sitemaps: impl Iterator<Item = String>) -> String {
    document("sitemapindex", "sitemap", sitemaps.map(|address| (address, None)))
}

fn document(root: &str, element: &str, entries: impl Iterator<Item = (String, Option<Timestamp>)>) -> String {
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
    );
    for (url, changed) in entries {
        let url = escaped(&url);
        let lastmod = changed.map(|changed| format!("<lastmod>{changed:.0}</lastmod>")).unwrap_or_default();
        let _ = writeln!(xml, "<{element}><loc>{url}</loc>{lastmod}</{element}>");
    }
    xml + "</" + root + ">\n"
}

/// `text` as XML has it. Control characters cannot be in it at all.
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
    /// The name that candidates read.
    pub(crate) organization: &'p str,
    /// The career page.
    #[schema(format = "uri")]
    pub(crate) url: String,
    /// The openings, newest first.
    pub(crate) jobs: Vec<FeedJob<'p>>,
    /// The next page, absolute; `null` at the end.
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
    /// The place.
    pub(crate) location: Option<&'p str>,
    /// How much of the work is done elsewhere.
    pub(crate) remote_policy: Option<RemotePolicy>,
    /// Whether all of the work is done elsewhere.
    pub(crate) is_remote: bool,
    /// What the work is.
    pub(crate) description: Formatted,
    /// What it takes.
    pub(crate) requirements: Option<Formatted>,
    /// What is paid for it.
    pub(crate) compensation: Option<Compensation>,
    /// When it was published.
    pub(crate) published_at: Timestamp,
    /// When it last changed.
    pub(crate) updated_at: Timestamp,
    /// Its page.
    #[schema(format = "uri")]
    pub(crate) url: String,
    /// Where to apply, for people.
    #[schema(format = "uri")]
    pub(crate) apply_url: String,
}

/// A text in both forms.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FormattedText)]
pub(crate) struct Formatted {
    /// As safe HTML.
    pub(crate) html: String,
    /// As words alone.
    pub(crate) plain: String,
}

impl Formatted {
    /// Both forms of a customer's text.
    pub(crate) fn of(text: &str) -> Self {
        Self { html: crate::markdown::html(text), plain: crate::markdown::plain(text) }
    }
}

/// What is paid.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Compensation {
    /// At least.
    pub(crate) min: Option<u32>,
    /// At most.
    pub(crate) max: Option<u32>,
    /// `USD`.
    pub(crate) currency: &'static str,
    /// `year`.
    pub(crate) period: &'static str,
}

impl Compensation {
    /// US dollars a year; `None` where nothing is known.
    pub(crate) fn of(min: Option<u32>, max: Option<u32>) -> Option<Self> {
        (min.is_some() || max.is_some()).then_some(Self { min, max, currency: "USD", period: "year" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const AT: Timestamp = Timestamp::constant(1_795_171_800, 123_456_789);

    #[test]
    fn a_sitemap_has_addresses_and_when_they_changed() {
        let pages = [("https://a.example/careers/acme?a&b", Some(AT)), ("https://a.example/careers/b", None)];
        assert_eq!(
            sitemap(pages.map(|(address, changed)| (address.to_owned(), changed)).into_iter()),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n\
             <url><loc>https://a.example/careers/acme?a&amp;b</loc><lastmod>2026-11-20T10:50:00Z</lastmod></url>\n\
             <url><loc>https://a.example/careers/b</loc></url>\n\
             </urlset>\n"
        );
        let index = sitemap_index(["https://a.example/".to_owned()].into_iter());
        assert!(index.contains("<sitemapindex xmlns=") && index.contains("<sitemap><loc>https://a.example/"));
    }

    proptest! {
        #[test]
        fn an_address_cannot_leave_its_element(url in any::<String>()) {
            let escaped = escaped(&url);
            prop_assert!(!escaped.contains(['<', '>', '"', '\'', '\n', '\0']));
            let entities = ["&amp;", "&lt;", "&gt;", "&quot;", "&apos;"];
            prop_assert!(escaped.match_indices('&').all(|(at, _)| entities.iter().any(|entity| escaped[at..].starts_with(entity))));
        }
    }

    #[test]
    fn an_absent_value_is_null() {
        let job = FeedJob {
            id: Id::new(7).unwrap(),
            title: "Cook",
            department: None,
            location: None,
            remote_policy: None,
            is_remote: false,
            description: Formatted::of("*Soup*"),
            requirements: None,
            compensation: Compensation::of(Some(1), None),
            published_at: AT,
            updated_at: AT,
            url: "u".to_owned(),
            apply_url: "a".to_owned(),
        };
        let feed = Feed { organization: "Acme", url: "p".to_owned(), jobs: vec![job], next_url: None };
        let expected = json!({
            "organization": "Acme", "url": "p", "next_url": null,
            "jobs": [{
                "id": 7, "title": "Cook", "department": null, "location": null, "remote_policy": null, "is_remote": false,
                "description": {"html": "<p><em>Soup</em></p>\n", "plain": "Soup"}, "requirements": null,
                "compensation": {"min": 1, "max": null, "currency": "USD", "period": "year"},
                "published_at": AT.to_string(), "updated_at": AT.to_string(), "url": "u", "apply_url": "a",
            }],
        });
        assert_eq!(serde_json::to_value(feed).unwrap(), expected);
        assert!(Compensation::of(None, None).is_none());
    }
}
