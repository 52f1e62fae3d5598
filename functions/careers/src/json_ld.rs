//! Structured data for search engines: schema.org's `JobPosting` as JSON-LD, following Google's guidelines.

use serde_json::{Value, json};
use shared::clock::Timestamp;
use shared::model::{Amount, Country, EmploymentType, Pay, PayPeriod, Place, Places, Text};

/// An opening that accepts applications.
pub(crate) struct JobPosting<'p> {
    /// The title.
    pub(crate) title: &'p str,
    /// The description and requirements: HTML from [`shared::descriptions::html`].
    pub(crate) description_html: &'p str,
    /// The date on which it opened: `2026-11-20`.
    pub(crate) date_posted: &'p str,
    /// The organization's public name.
    pub(crate) organization: &'p str,
    /// The absolute URL of the organization's career page.
    pub(crate) organization_url: &'p str,
    /// The absolute URL of its logo.
    pub(crate) logo_url: Option<&'p str>,
    /// Where the work is done or, for remote work, where people may live.
    pub(crate) places: &'p Places,
    /// Whether the job is fully remote.
    pub(crate) is_remote: bool,
    /// The kind of employment.
    pub(crate) employment_type: Option<EmploymentType>,
    /// What the job pays.
    pub(crate) pay: Pay,
    /// When it closes.
    pub(crate) closes_at: Option<Timestamp>,
    /// The absolute URL of the opening's page.
    pub(crate) url: &'p str,
    /// The job posting's identifier.
    pub(crate) identifier: u64,
}

impl JobPosting<'_> {
    /// Returns the escaped JSON for a `script` element; `None` if the opening lacks what search engines require: a
    /// description, and a location, a country or remote work.
    pub(crate) fn json_ld(&self) -> Option<String> {
        if self.description_html.trim().is_empty() {
            return None;
        }
        let (where_property, place) = self.place()?;
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
            "description": self.description_html,
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
        posting[where_property] = place;
        if self.is_remote {
            posting["jobLocationType"] = json!("TELECOMMUTE");
        }
        if let Some(employment_type) = self.employment_type {
            posting["employmentType"] = json!(google_name(employment_type));
        }
        if let Some(closes_at) = self.closes_at {
            posting["validThrough"] = json!(closes_at);
        }
        if let Some(salary) = self.salary() {
            let currency = self.pay.currency().code();
            posting["salaryCurrency"] = json!(currency);
            posting["baseSalary"] = json!({"@type": "MonetaryAmount", "currency": currency, "value": salary});
        }
        Some(in_script(&posting))
    }

    /// Returns the property and the value for the places of work, or for the areas from which people may apply for remote
    /// work ("Anywhere" by default); `None` if on-site work has neither a location nor a country.
    ///
    /// A location in words is not parsed. It becomes the locality of on-site work, or the name of the area.
    fn place(&self) -> Option<(&'static str, Value)> {
        let places = self.places.list().iter();
        if self.is_remote {
            let areas = places.map(area).fold(Vec::new(), |mut areas, area| {
                if !areas.contains(&area) {
                    areas.push(area);
                }
                areas
            });
            let areas = one_or_all(areas).unwrap_or_else(|| self.area_in_words());
            return Some(("applicantLocationRequirements", areas));
        }
        let (location, country) = (self.places.location().map(Text::as_str), self.places.country());
        let in_words = || {
            let location = location.filter(|_| !self.places.is_remote());
            (location.is_some() || country.is_some()).then(|| address(location, None, None, country))
        };
        let listed = places.map(|place| {
            let (city, region) = (place.city().map(Text::as_str), place.region().map(Text::as_str));
            address(city, region, place.postal_code().map(Text::as_str), place.country())
        });
        Some(("jobLocation", one_or_all(listed.collect()).or_else(in_words)?))
    }

    fn area_in_words(&self) -> Value {
        let location = self.places.location().map(Text::as_str).filter(|_| !self.places.is_remote());
        match (location, self.places.country().map(Country::name)) {
            (None, Some(country)) => json!({"@type": "Country", "name": country}),
            (None, None) => json!({"@type": "AdministrativeArea", "name": "Anywhere"}),
            (Some(location), country) => {
                let names = [location].into_iter().chain(country.filter(|name| !location.contains(name)));
                json!({"@type": "AdministrativeArea", "name": names.collect::<Vec<_>>().join(", ")})
            }
        }
    }

    fn salary(&self) -> Option<Value> {
        let mut salary = json!({"@type": "QuantitativeValue", "unitText": unit(self.pay.period())});
        match (self.pay.min(), self.pay.max()) {
            (None, None) => return None,
            (Some(min), Some(max)) if min == max => salary["value"] = number(min),
            (min, max) => {
                for (property, end) in [("minValue", min), ("maxValue", max)] {
                    if let Some(end) = end {
                        salary[property] = number(end);
                    }
                }
            }
        }
        Some(salary)
    }
}

/// Returns an amount as a number of JSON.
fn number(amount: Amount) -> Value {
    serde_json::from_str(&amount.to_string()).unwrap_or_default()
}

/// Returns Google's name of a period.
const fn unit(period: PayPeriod) -> &'static str {
    match period {
        PayPeriod::Hour => "HOUR",
        PayPeriod::Day => "DAY",
        PayPeriod::Week => "WEEK",
        PayPeriod::Month => "MONTH",
        PayPeriod::Year => "YEAR",
    }
}

/// Returns the value if there is only one, or all in an array; `None` without any.
fn one_or_all(mut values: Vec<Value>) -> Option<Value> {
    if values.len() > 1 { Some(values.into()) } else { values.pop() }
}

/// Returns the place at an address.
fn address(
    locality: Option<&str>,
    region: Option<&str>,
    postal_code: Option<&str>,
    country: Option<Country>,
) -> Value {
    let mut address = json!({"@type": "PostalAddress"});
    for (property, part) in [
        ("addressLocality", locality),
        ("addressRegion", region),
        ("postalCode", postal_code),
        ("addressCountry", country.map(Country::code)),
    ] {
        if let Some(part) = part {
            address[property] = json!(part);
        }
    }
    json!({"@type": "Place", "address": address})
}

/// Returns the area from which people may apply for remote work. Google knows countries and their states, but no cities.
fn area(place: &Place) -> Value {
    let country = place.country().map(Country::name);
    match (place.region().map(Text::as_str), country) {
        (Some(region), Some(country)) => json!({"@type": "State", "name": format!("{region}, {country}")}),
        (None, Some(country)) => json!({"@type": "Country", "name": country}),
        (region, None) => {
            json!({"@type": "AdministrativeArea", "name": region.or(place.city().map(Text::as_str))})
        }
    }
}

/// Returns Google's name of an employment type.
const fn google_name(employment_type: EmploymentType) -> &'static str {
    match employment_type {
        EmploymentType::FullTime => "FULL_TIME",
        EmploymentType::PartTime => "PART_TIME",
        EmploymentType::Contract => "CONTRACTOR",
        EmploymentType::Temporary => "TEMPORARY",
        EmploymentType::Internship => "INTERN",
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
    use std::sync::LazyLock;

    use super::*;
    use proptest::prelude::*;
    use shared::model::Salary;

    fn range(min: Option<i64>, max: Option<i64>) -> Pay {
        Pay::annual(min.and_then(Salary::new), max.and_then(Salary::new)).unwrap()
    }

    static AUSTIN: LazyLock<Places> = LazyLock::new(|| named(Some("Austin, Texas"), None));

    fn named(location: Option<&str>, country: Option<&str>) -> Places {
        Places::named(location.and_then(Text::cut), country.and_then(|code| code.parse().ok()))
    }

    /// Places, each with a city, a region, a postal code and a country.
    fn listed(places: &[[&str; 4]]) -> Places {
        let place = |[city, region, postal_code, country]: &[&str; 4]| {
            Place::new(Text::cut(city), Text::cut(region), Text::cut(postal_code), country.parse().ok())
        };
        Places::of(places.iter().filter_map(place).collect())
    }

    fn cook() -> JobPosting<'static> {
        JobPosting {
            title: "Cook",
            description_html: "<p>Soup & bread</p>",
            date_posted: "2026-11-20",
            organization: "Acme",
            organization_url: "https://a.example/careers/acme",
            logo_url: None,
            places: &AUSTIN,
            is_remote: false,
            employment_type: None,
            pay: range(Some(40_000), Some(50_000)),
            closes_at: None,
            url: "https://a.example/careers/acme/cook",
            identifier: 7,
        }
    }

    fn markup(posting: &JobPosting) -> Value {
        serde_json::from_str(&posting.json_ld().unwrap()).unwrap()
    }

    #[test]
    fn the_markup_contains_exactly_the_known_fields() {
        let mut expected = json!({
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
            "salaryCurrency": "USD",
            "baseSalary": {
                "@type": "MonetaryAmount",
                "currency": "USD",
                "value": {"@type": "QuantitativeValue", "unitText": "YEAR", "minValue": 40_000, "maxValue": 50_000},
            },
        });
        assert_eq!(markup(&cook()), expected);
        let full = JobPosting {
            logo_url: Some("https://a.example/logo.png"),
            places: &named(Some("Austin, Texas"), Some("US")),
            employment_type: Some(EmploymentType::Contract),
            pay: cook().pay.in_currency("CHF".parse().ok()),
            ..cook()
        };
        expected["hiringOrganization"]["logo"] = json!("https://a.example/logo.png");
        expected["jobLocation"]["address"]["addressCountry"] = json!("US");
        expected["employmentType"] = json!("CONTRACTOR");
        expected["salaryCurrency"] = json!("CHF");
        expected["baseSalary"]["currency"] = json!("CHF");
        assert_eq!(markup(&full), expected);
    }

    #[test]
    fn remote_work_has_an_applicant_location_and_no_job_location() {
        let area = |kind: &str, name: &str| json!({"@type": kind, "name": name});
        let anywhere = area("AdministrativeArea", "Anywhere");
        for (places, expected) in [
            (named(None, None), anywhere.clone()),
            (named(Some("Remote"), None), anywhere),
            (named(Some("Texas"), None), area("AdministrativeArea", "Texas")),
            (named(Some("Texas"), Some("US")), area("AdministrativeArea", "Texas, United States")),
            (named(Some("Bonn, Germany"), Some("DE")), area("AdministrativeArea", "Bonn, Germany")),
            (named(None, Some("DE")), area("Country", "Germany")),
            (listed(&[["", "", "", "DE"]]), area("Country", "Germany")),
            (listed(&[["Bonn", "", "", "DE"], ["Ulm", "", "", "DE"]]), area("Country", "Germany")),
            (
                listed(&[["", "Texas", "", "US"], ["", "", "", "CA"], ["Austin", "Texas", "", "US"]]),
                json!([area("State", "Texas, United States"), area("Country", "Canada")]),
            ),
            (
                listed(&[["Bonn", "", "", ""], ["", "Texas", "", ""]]),
                json!([area("AdministrativeArea", "Bonn"), area("AdministrativeArea", "Texas")]),
            ),
        ] {
            let markup = markup(&JobPosting { places: &places, is_remote: true, ..cook() });
            assert_eq!(markup["jobLocationType"], "TELECOMMUTE");
            assert_eq!(markup["applicantLocationRequirements"], expected);
            assert_eq!(markup.get("jobLocation"), None);
        }
    }

    #[test]
    fn each_place_of_work_has_an_address() {
        let location = |places: &Places| markup(&JobPosting { places, ..cook() })["jobLocation"].clone();
        let place = |address: &Value| json!({"@type": "Place", "address": address});
        let austin = place(&json!({
            "@type": "PostalAddress", "addressLocality": "Austin", "addressRegion": "TX", "postalCode": "78701",
            "addressCountry": "US",
        }));
        let germany = place(&json!({"@type": "PostalAddress", "addressCountry": "DE"}));
        let (in_austin, in_germany) = (["Austin", "TX", "78701", "US"], ["", "", "", "DE"]);
        assert_eq!(location(&listed(&[in_austin])), austin);
        assert_eq!(location(&listed(&[in_austin, in_germany])), json!([austin, germany]));
    }

    #[test]
    fn openings_without_required_fields_have_no_markup() {
        let nowhere = Places::default();
        assert_eq!(JobPosting { places: &nowhere, ..cook() }.json_ld(), None);
        assert_eq!(JobPosting { description_html: "\n", ..cook() }.json_ld(), None);
        let in_germany = named(None, Some("DE"));
        let address = json!({"@type": "PostalAddress", "addressCountry": "DE"});
        assert_eq!(markup(&JobPosting { places: &in_germany, ..cook() })["jobLocation"]["address"], address);
    }

    #[test]
    fn employment_types_have_googles_names() {
        let names = EmploymentType::ALL.map(|employment_type| {
            let posting = JobPosting { employment_type: Some(employment_type), ..cook() };
            markup(&posting)["employmentType"].as_str().unwrap().to_owned()
        });
        assert_eq!(names, ["FULL_TIME", "PART_TIME", "CONTRACTOR", "TEMPORARY", "INTERN"]);
    }

    #[test]
    fn a_salary_may_have_only_a_minimum_or_a_maximum() {
        let salary =
            |min, max| markup(&JobPosting { pay: range(min, max), ..cook() })["baseSalary"]["value"].clone();
        let of = |property: &str| json!({"@type": "QuantitativeValue", "unitText": "YEAR", property: 9});
        assert_eq!(salary(Some(9), None), of("minValue"));
        assert_eq!(salary(None, Some(9)), of("maxValue"));
        assert_eq!(salary(Some(9), Some(9)), of("value"));
        assert_eq!(salary(None, None), Value::Null);
    }

    #[test]
    fn pay_has_its_period_and_exact_amounts() {
        for (period, unit) in PayPeriod::ALL.into_iter().zip(["HOUR", "DAY", "WEEK", "MONTH", "YEAR"]) {
            let amount = |text: &str| text.parse::<Amount>().ok();
            let pay = Pay::new(amount("18.05"), amount("99999999.99")).unwrap().per(period);
            let value = markup(&JobPosting { pay, ..cook() })["baseSalary"]["value"].to_string();
            let expected = format!(r#""unitText":"{unit}","minValue":18.05,"maxValue":99999999.99}}"#);
            assert!(value.ends_with(&expected), "{value}");
        }
    }

    proptest! {
        #[test]
        fn text_cannot_close_the_script_element_and_is_not_changed(text in "(</script>|<!--|]]>|[\u{2028}\u{2029}\"\\\\&a\n]|\\PC){0,20}") {
            let posting = JobPosting { title: &text, organization: &text, url: &text, ..cook() };
            let json_ld = posting.json_ld().unwrap();
            let is_safe = !json_ld.contains(['<', '>', '&', '\u{2028}', '\u{2029}']);
            prop_assert!(is_safe);
            prop_assert_eq!(&markup(&posting)["title"], &text);
        }
    }
}
