//! Where the work of a role is done.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Country, Text};

/// A city, a state or the word Remote.
pub type Location = Text<200>;
/// A city or a town.
pub type City = Text<100>;
/// A state, a province or another region.
pub type Region = Text<100>;
/// A postal code.
pub type PostalCode = Text<20>;

/// A place of work or, for remote work, a place where people may live. It has at least a city, a region or a country.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The city or town.
    #[serde(skip_serializing_if = "Option::is_none")]
    city: Option<City>,
    /// The state, the province or another region, as it is written in an address: `TX`.
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
    /// The postal code.
    #[serde(skip_serializing_if = "Option::is_none")]
    postal_code: Option<PostalCode>,
    /// The country: an ISO 3166-1 alpha-2 code such as `DE`, in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    country: Option<Country>,
}

impl Place {
    /// The names of the parts, in the order in which a line has them.
    const PARTS: [&str; 4] = ["city", "region", "postal_code", "country"];
    /// What separates the parts in a line.
    const SEPARATOR: char = ';';

    /// A place; `None` without a city, a region and a country.
    pub fn new(
        city: Option<City>,
        region: Option<Region>,
        postal_code: Option<PostalCode>,
        country: Option<Country>,
    ) -> Option<Self> {
        let is_known = city.is_some() || region.is_some() || country.is_some();
        is_known.then_some(Self { city, region, postal_code, country })
    }

    /// The city or town.
    pub const fn city(&self) -> Option<&City> {
        self.city.as_ref()
    }

    /// The region.
    pub const fn region(&self) -> Option<&Region> {
        self.region.as_ref()
    }

    /// The postal code.
    pub const fn postal_code(&self) -> Option<&PostalCode> {
        self.postal_code.as_ref()
    }

    /// The country.
    pub const fn country(&self) -> Option<Country> {
        self.country
    }

    /// The place on one line, as members and assistants write it: `Austin; TX; 78701; United States`.
    pub fn line(&self) -> String {
        let parts = self.parts().map(|part| part.unwrap_or_default().replace(Self::SEPARATOR, ","));
        let line = parts.join("; ");
        line.trim_end_matches([' ', Self::SEPARATOR]).to_owned()
    }

    /// The parts of a line, by their names. A country may be named or be a code. The last part has whatever is too much.
    pub fn parts_of(line: &str) -> impl Iterator<Item = (&'static str, &str)> {
        let parts = line.splitn(Self::PARTS.len(), Self::SEPARATOR).map(str::trim);
        Self::PARTS.into_iter().zip(parts).map(|(name, part)| {
            let named = (name == "country").then(|| Country::named(part)).flatten();
            (name, named.map_or(part, |country| country.code()))
        })
    }

    /// The city and the region, or otherwise the name of the country: `Austin, TX`.
    fn name(&self) -> String {
        match (&self.city, &self.region) {
            (Some(city), Some(region)) => format!("{}, {}", city.as_str(), region.as_str()),
            (Some(name), None) | (None, Some(name)) => name.as_str().to_owned(),
            (None, None) => self.country.map(Country::name).unwrap_or_default().to_owned(),
        }
    }

    fn parts(&self) -> [Option<&str>; 4] {
        let Self { city, region, postal_code, country } = self;
        let (city, region) = (city.as_ref().map(Text::as_str), region.as_ref().map(Text::as_str));
        [city, region, postal_code.as_ref().map(Text::as_str), country.map(Country::name)]
    }
}

/// All parts: `Austin, TX, 78701, United States`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts().into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// Where the work of a role is done: a location in words and a country, or a list of places. With a list, the location and the
/// country are those of the first place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    location: Option<Location>,
    country: Option<Country>,
    #[serde(rename = "locations", default, skip_serializing_if = "Vec::is_empty")]
    list: Vec<Place>,
}

impl Places {
    /// The maximum number of places.
    pub const MAX: usize = 10;

    /// A location in words and a country.
    pub const fn named(location: Option<Location>, country: Option<Country>) -> Self {
        Self { location, country, list: Vec::new() }
    }

    /// A list of places.
    pub fn of(list: Vec<Place>) -> Self {
        let first = list.first();
        let location = first.and_then(|first| Location::cut(&first.name()));
        Self { location, country: first.and_then(|first| first.country), list }
    }

    /// The location in words.
    pub const fn location(&self) -> Option<&Location> {
        self.location.as_ref()
    }

    /// The country.
    pub const fn country(&self) -> Option<Country> {
        self.country
    }

    /// The list; empty if only a location in words or a country was given.
    pub fn list(&self) -> &[Place] {
        &self.list
    }

    /// Whether the location is the word `Remote`, in any case, which is not a place.
    pub fn is_remote(&self) -> bool {
        let is_word = |location: &Location| location.as_str().eq_ignore_ascii_case("remote");
        self.list.is_empty() && self.location.as_ref().is_some_and(is_word)
    }

    /// The different places, without their countries: `Austin, TX`.
    pub fn names(&self) -> Vec<String> {
        if self.list.is_empty() {
            return self.location.iter().map(|location| location.as_str().to_owned()).collect();
        }
        different(self.list.iter().map(Place::name))
    }

    /// The different countries.
    pub fn countries(&self) -> Vec<Country> {
        if self.list.is_empty() {
            return self.country.into_iter().collect();
        }
        different(self.list.iter().filter_map(|place| place.country))
    }

    /// Whether each place has a country, without which search engines do not list a job.
    pub fn have_countries(&self) -> bool {
        if self.list.is_empty() {
            return self.country.is_some();
        }
        self.list.iter().all(|place| place.country.is_some())
    }

    /// The places in a sentence: `Berlin`, `Berlin or Munich`, `Berlin and 2 other places`; `None` without any.
    pub fn words(&self) -> Option<String> {
        match self.names().as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            [one, other] => Some(format!("{one} or {other}")),
            [one, others @ ..] => Some(format!("{one} and {} other places", others.len())),
        }
    }
}

fn different<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.fold(Vec::new(), |mut different, item| {
        if !different.contains(&item) {
            different.push(item);
        }
        different
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: &str) -> Place {
        let part =
            |name: &str| Place::parts_of(line).find(|(known, _)| *known == name).map_or("", |(_, part)| part);
        let [city, region] = ["city", "region"].map(|name| Text::parse(part(name)).unwrap());
        let postal_code = Text::parse(part("postal_code")).unwrap();
        Place::new(city, region, postal_code, part("country").parse().ok()).unwrap()
    }

    #[test]
    fn a_place_is_written_on_one_line() {
        for (line, all, written) in [
            ("Austin;TX;78701;US", "Austin, TX, 78701, United States", "Austin; TX; 78701; United States"),
            (" Berlin ;; ; germany ", "Berlin, Germany", "Berlin; ; ; Germany"),
            ("Berlin", "Berlin", "Berlin"),
            (";;;de", "Germany", "; ; ; Germany"),
            ("; Texas", "Texas", "; Texas"),
        ] {
            let read = place(line);
            assert_eq!((read.to_string().as_str(), read.line().as_str()), (all, written));
            assert_eq!(place(&read.line()), read);
        }
        assert_eq!(Place::parts_of("a;b;c;d;e").last(), Some(("country", "d;e")));
        assert_eq!(Place::new(None, None, Text::parse("10115").unwrap(), None), None);
    }

    #[test]
    fn the_location_is_that_of_the_first_place() {
        for (lines, location, country, words) in [
            (&["Austin; TX; 78701; US"][..], "Austin, TX", Some("US"), "Austin, TX"),
            (&["; ; ; DE", "Oslo; ; ; NO"], "Germany", Some("DE"), "Germany or Oslo"),
            (&["Oslo", "; ; ; DE", "Bonn"], "Oslo", None, "Oslo and 2 other places"),
            (&["Oslo; ; 0150", "Oslo; ; 0151"], "Oslo", None, "Oslo"),
        ] {
            let places = Places::of(lines.iter().map(|line| place(line)).collect());
            assert_eq!(places.location().map(Text::as_str), Some(location));
            assert_eq!(places.country().map(Country::code), country);
            assert_eq!(places.words().as_deref(), Some(words));
        }
        let long = Place::new(City::cut(&"c".repeat(100)), Region::cut(&"r".repeat(100)), None, None);
        let long = Places::of(long.into_iter().collect());
        assert_eq!(long.location().map(|location| location.as_str().len()), Some(200));
    }

    #[test]
    fn roles_without_a_list_are_stored_as_before() {
        let places = Places::named(Location::parse("Oslo").unwrap(), "NO".parse().ok());
        let stored = serde_json::json!({ "location": "Oslo", "country": "NO" });
        assert_eq!(serde_json::to_value(&places).unwrap(), stored);
        assert_eq!(serde_json::from_value::<Places>(stored).unwrap(), places);
        assert!(!places.is_remote() && Places::named(Location::cut("REMOTE"), None).is_remote());
        assert!(!Places::of(vec![place("Remote")]).is_remote(), "a place with this name");
    }
}
