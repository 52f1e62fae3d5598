//! Structured data for search engines: schema.org's `JobPosting` as JSON-LD, following Google's guidelines.

use serde_json::{Value, json};

use crate::markdown::shortened;

/// The maximum length of a description, in bytes. Longer descriptions are shortened; the page shows them in full.
const MAX_DESCRIPTION: usize = 12_000;

/// An opening that accepts applications.
pub(crate) struct JobPosting<'p> {
    /// The title.
    pub(crate) title: &'p str,
    /// The description and requirements: HTML from [`crate::markdown::html`].
    pub(crate) description_html: &'p str,
    /// The date on which it opened: `2026-11-20`.
    pub(crate) date_posted: &'p str,
    /// The organization's public name.
    pub(crate) organization: &'p str,
    /// The absolute URL of the organization's career page.
    pub(crate) organization_url: &'p str,
    /// The absolute URL of its logo.
    pub(crate) logo_url: Option<&'p str>,
    /// The location, or the word "Remote".
    pub(crate) location: Option<&'p str>,
    /// Whether the job is fully remote.
    pub(crate) is_remote: bool,
    /// The minimum salary in US dollars per year.
    pub(crate) salary_min: Option<u32>,
    /// The maximum salary in US dollars per year.
    pub(crate) salary_max: Option<u32>,
    /// The absolute URL of the opening's page.
    pub(crate) url: &'p str,
    /// The job posting's identifier.
    pub(crate) identifier: u64,
}

impl JobPosting<'_> {
    /// Returns the escaped JSON for a `script` element; `None` if the opening lacks what search engines require: a
    /// description, and a location or remote work.
    ///
    /// The location is free text and is not parsed. It becomes the locality of on-site work, or the area from which
    /// people may apply for remote work ("Anywhere" by default). The country is omitted because it is unknown.
    pub(crate) fn json_ld(&self) -> Option<String> {
        let place = self.location.map(str::trim).filter(|place| !place.is_empty());
        let location_is_remote = place.is_some_and(|place| place.eq_ignore_ascii_case("remote"));
        let place = place.filter(|_| !location_is_remote);
        let is_remote = self.is_remote || location_is_remote;
        if self.description_html.trim().is_empty() || (place.is_none() && !is_remote) {
            return None;
        }

        let mut organization = json!({
            "@type": "Organization",
            "name": self.organization,
            "url": self.organization_url,
        });
        if let Some(logo_url) = self.logo_url {
            organization["logo"] = json!(logo_url);
        }
        let mut posting = json!({
            "@context": "https://schema.org/",
            "@type": "JobPosting",
            "title": self.title,
            "description": shortened(self.description_html, MAX_DESCRIPTION),
            "datePosted": self.date_posted,
            "hiringOrganization": organization,
            "identifier": {
                "@type": "PropertyValue",
                "name": self.organization,
                "value": self.identifier.to_string(),
            },
            "url": self.url,
            "directApply": true,
        });
        if is_remote {
            posting["jobLocationType"] = json!("TELECOMMUTE");
        }
        if let Some(place) = place.or(is_remote.then_some("Anywhere")) {
            let (property, value) = if is_remote {
                ("applicantLocationRequirements", json!({"@type": "AdministrativeArea", "name": place}))
            } else {
                let address = json!({"@type": "PostalAddress", "addressLocality": place});
                ("jobLocation", json!({"@type": "Place", "address": address}))
            };
            posting[property] = value;
        }
        if let Some(salary) = self.salary() {
            posting["baseSalary"] = json!({"@type": "MonetaryAmount", "currency": "USD", "value": salary});
        }
        Some(in_script(&posting))
    }

    fn salary(&self) -> Option<Value> {
        let mut salary = json!({"@type": "QuantitativeValue", "unitText": "YEAR"});
        match (self.salary_min, self.salary_max) {
            (None, None) => return None,
            (Some(min), Some(max)) if min == max => salary["value"] = json!(min),
            (min, max) => {
                for (property, end) in [("minValue", min), ("maxValue", max)] {
                    if let Some(end) = end {
                        salary[property] = json!(end);
                    }
                }
            }
        }
        Some(salary)
    }
}

/// Serializes JSON for a `script` element, escaped so that it can neither close the element nor open a comment.
fn in_script(value: &Value) -> String {
    let json = value.to_string();
    json.chars().fold(String::with_capacity(json.len() + json.len() / 2), |mut safe, c| {
        match c {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            c => safe.push(c),
        }
        safe
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const COOK: JobPosting<'static> = JobPosting {
        title: "Cook",
        description_html: "<p>Soup & bread</p>",
        date_posted: "2026-11-20",
        organization: "Acme",
        organization_url: "https://a.example/careers/acme",
        logo_url: None,
        location: Some("Austin, Texas"),
        is_remote: false,
        salary_min: Some(40_000),
        salary_max: Some(50_000),
        url: "https://a.example/careers/acme/cook",
        identifier: 7,
    };

    fn markup(posting: &JobPosting) -> Value {
        serde_json::from_str(&posting.json_ld().unwrap()).unwrap()
    }

    #[test]
    fn the_markup_contains_exactly_the_known_fields() {
        assert_eq!(
            markup(&COOK),
            json!({
                "@context": "https://schema.org/",
                "@type": "JobPosting",
                "title": "Cook",
                "description": "<p>Soup & bread</p>",
                "datePosted": "2026-11-20",
                "hiringOrganization":
                    {"@type": "Organization", "name": "Acme", "url": "https://a.example/careers/acme"},
                "identifier": {"@type": "PropertyValue", "name": "Acme", "value": "7"},
                "url": "https://a.example/careers/acme/cook",
                "directApply": true,
                "jobLocation":
                    {"@type": "Place", "address": {"@type": "PostalAddress", "addressLocality": "Austin, Texas"}},
                "baseSalary": {
                    "@type": "MonetaryAmount",
                    "currency": "USD",
                    "value": {"@type": "QuantitativeValue", "unitText": "YEAR", "minValue": 40_000, "maxValue": 50_000},
                },
            })
        );
        let logo = JobPosting { logo_url: Some("https://a.example/logo.png"), ..COOK };
        assert_eq!(markup(&logo)["hiringOrganization"]["logo"], "https://a.example/logo.png");
    }

    #[test]
    fn remote_work_has_an_applicant_location_and_no_job_location() {
        for (location, is_remote, area) in
            [(Some("Texas"), true, "Texas"), (Some(" remote "), false, "Anywhere"), (None, true, "Anywhere")]
        {
            let markup = markup(&JobPosting { location, is_remote, ..COOK });
            assert_eq!(markup["jobLocationType"], "TELECOMMUTE");
            assert_eq!(markup["applicantLocationRequirements"]["name"], area);
            assert_eq!(markup.get("jobLocation"), None);
        }
    }

    #[test]
    fn openings_without_required_fields_have_no_markup() {
        assert_eq!(JobPosting { location: None, ..COOK }.json_ld(), None);
        assert_eq!(JobPosting { location: Some(" "), ..COOK }.json_ld(), None);
        assert_eq!(JobPosting { description_html: "\n", ..COOK }.json_ld(), None);
    }

    #[test]
    fn a_salary_may_have_only_a_minimum_or_a_maximum() {
        let salary = |salary_min, salary_max| {
            markup(&JobPosting { salary_min, salary_max, ..COOK })["baseSalary"]["value"].clone()
        };
        let of = |property: &str| json!({"@type": "QuantitativeValue", "unitText": "YEAR", property: 9});
        assert_eq!(salary(Some(9), None), of("minValue"));
        assert_eq!(salary(None, Some(9)), of("maxValue"));
        assert_eq!(salary(Some(9), Some(9)), of("value"));
        assert_eq!(salary(None, None), Value::Null);
    }

    proptest! {
        #[test]
        fn text_cannot_close_the_script_element_and_is_not_changed(text in "(</script>|<!--|]]>|[\u{2028}\u{2029}\"\\\\&a\n]|\\PC){0,20}") {
            let posting = JobPosting { title: &text, organization: &text, url: &text, ..COOK };
            let json_ld = posting.json_ld().unwrap();
            let is_safe = !json_ld.contains(['<', '>', '&', '\u{2028}', '\u{2029}']);
            prop_assert!(is_safe);
            prop_assert_eq!(&markup(&posting)["title"], &text);
        }
    }
}
