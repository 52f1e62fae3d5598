//! The list of openings and its search.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use shared::http::page::Sources;
use shared::http::{Error, Html, Parameters, PublicRequest, Reply, RequestContext};
use shared::model::{Country, Day, EmploymentType, Opening, RemotePolicy, Text};
use shared::store::{self, Listed, Search};

use crate::formatting::age;
use crate::pages::{Card, Group, Offers, OpeningsPage, SearchForm};
use crate::position;
use crate::site::{Site, unknown_organization};

/// The number of openings on a page.
const PAGE_SIZE: u32 = 50;
/// The maximum number of megabytes that a search reads for one page. A megabyte holds about 3,500 openings.
const MAX_MEGABYTES: usize = 2;
/// The maximum length of a search field, in characters.
const MAX_LENGTH: usize = 200;

/// A search query.
struct Query {
    keywords: String,
    department: String,
    location: String,
    remote_policy: Option<RemotePolicy>,
}

impl Query {
    fn parse(parameters: &Parameters) -> Self {
        let typed = |name: &str| parameters.get(name).trim().chars().take(MAX_LENGTH).collect();
        Self {
            keywords: typed("q"),
            department: typed("department"),
            location: typed("location"),
            remote_policy: parameters.get("remote_policy").parse().ok(),
        }
    }

    fn is_empty(&self) -> bool {
        self.keywords.is_empty()
            && self.department.is_empty()
            && self.location.is_empty()
            && self.remote_policy.is_none()
    }

    /// Returns a predicate for openings that match. Every keyword must occur in the title, department, places or
    /// countries, and each filter must match its own field. A location may also be a country. Case and accents are ignored.
    fn matcher(&self) -> impl Fn(&Opening) -> bool + use<> {
        let keywords: Vec<_> = folded(&self.keywords).split_whitespace().map(str::to_owned).collect();
        let (department, location) = (folded(&self.department), folded(&self.location));
        let remote_policy = self.remote_policy;
        move |opening| {
            let field = |text: Option<&str>| text.map(folded).unwrap_or_default();
            let places = opening.places.names().into_iter().map(|name| folded(&name));
            let countries = opening.places.countries().into_iter().map(|country| folded(country.name()));
            let places: Vec<_> = places.chain(countries).collect();
            let opening_department = field(opening.department.as_ref().map(Text::as_str));
            let title = folded(opening.title.as_str());
            let all = format!("{title} {opening_department} {}", places.join(" "));
            keywords.iter().all(|keyword| all.contains(keyword.as_str()))
                && opening_department.contains(&department)
                && (location.is_empty() || places.iter().any(|place| place.contains(&location)))
                && remote_policy.is_none_or(|policy| opening.remote_policy == Some(policy))
        }
    }

    /// Returns the path of the page of results that begins at a position.
    fn path_from(&self, portal: &str, before: &str) -> String {
        let fields = [
            ("q", self.keywords.as_str()),
            ("department", &self.department),
            ("location", &self.location),
            ("remote_policy", self.remote_policy.map_or("", RemotePolicy::as_str)),
            ("before", before),
        ];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(fields.iter().filter(|(_, value)| !value.is_empty()));
        format!("{portal}?{}", query.finish())
    }
}

/// What visitors can choose from: the departments and locations of the openings that were read.
#[derive(Default)]
struct Choices {
    openings: usize,
    departments: BTreeSet<String>,
    locations: BTreeSet<String>,
}

impl Choices {
    fn add_all(&mut self, openings: &[Opening]) {
        for opening in openings {
            self.add(opening);
        }
    }

    fn add(&mut self, opening: &Opening) {
        self.openings += 1;
        // With more openings than fit on a page, visitors type.
        if self.openings <= PAGE_SIZE as usize {
            self.departments.extend(opening.department.as_ref().map(|text| text.as_str().to_owned()));
            self.locations.extend(opening.places.names());
        }
    }
}

/// The department of an opening that has none, in a list by department.
const OTHER: &str = "Other";

/// The number of openings from which a list has headings.
const MIN_GROUPED: usize = 6;

/// Groups all openings by department, in alphabetical order. A short list and one with a single department have no
/// headings.
fn by_department<'p>(items: &'p [Opening], card: impl Fn(&'p Opening) -> Card<'p>) -> Vec<Group<'p>> {
    let of = |opening: &'p Opening| opening.department.as_ref().map_or(OTHER, Text::as_str);
    let departments: BTreeSet<_> = items.iter().map(|opening| (of(opening) == OTHER, of(opening))).collect();
    if items.len() < MIN_GROUPED || departments.len() < 2 {
        return vec![Group { heading: None, cards: items.iter().map(card).collect() }];
    }
    let group = |(_, department)| Group {
        heading: Some(department),
        cards: items.iter().filter(|opening| of(opening) == department).map(&card).collect(),
    };
    departments.into_iter().map(group).collect()
}

/// Folds case and accents for comparison.
fn folded(text: &str) -> String {
    deunicode::deunicode(text).to_lowercase()
}

/// Lists openings, newest first.
pub(crate) async fn list(request: PublicRequest) -> Result<Reply<Html>, Error> {
    let context = &request.context;
    let Some(site) = Site::find(context).await? else { return unknown_organization() };
    let parameters = context.query();
    let query = Query::parse(&parameters);
    let before = position::read(&parameters);
    let is_first = before.is_none();
    let tenant = site.career.tenant();
    let is_search = !query.is_empty();
    let mut choices = Choices::default();
    let Listed { items, next } = if is_search {
        let search = Search { before: before.clone(), limit: PAGE_SIZE as usize, megabytes: MAX_MEGABYTES };
        let (read, matches) = (Mutex::new(&mut choices), query.matcher());
        let matches = |opening: &Opening| {
            read.lock().unwrap_or_else(PoisonError::into_inner).add(opening);
            matches(opening)
        };
        context.store().search_openings(tenant, search, context.now(), matches).await?
    } else {
        let page = store::Paging { limit: PAGE_SIZE, before: before.clone() };
        let listed: Listed<Opening> = context.store().list_openings(tenant, &page, context.now()).await?;
        choices.add_all(&listed.items);
        listed
    };
    let has_choices = is_first && next.is_none() && choices.openings <= PAGE_SIZE as usize;
    if !has_choices {
        choices = Choices::default();
        choices.add_all(&items);
    }
    // A choice that fits no department or location, such as a country, is still shown.
    for (typed, known) in
        [(&query.department, &mut choices.departments), (&query.location, &mut choices.locations)]
    {
        known.extend(Some(typed.clone()).filter(|typed| has_choices && !typed.is_empty()));
    }
    let path = match &before {
        None => site.portal().to_owned(),
        Some(before) => query.path_from(site.portal(), before),
    };
    let card = |opening| card(&site, context, opening);
    let groups = if is_search || !has_choices {
        vec![Group { heading: None, cards: items.iter().map(card).collect() }]
    } else {
        by_department(&items, card)
    };
    let page = OpeningsPage {
        layout: site.layout(Some(path.as_str()).filter(|_| !is_search)),
        introduction: site.career.branding.introduction.as_ref().map(Text::as_str),
        search: SearchForm {
            keywords: &query.keywords,
            department: &query.department,
            location: &query.location,
            remote_policy: query.remote_policy.map(RemotePolicy::as_str),
        },
        is_search,
        offers: Offers {
            departments: choices.departments.iter().map(String::as_str).collect(),
            locations: choices.locations.iter().map(String::as_str).collect(),
            are_complete: has_choices,
        },
        groups,
        is_first,
        is_partial: is_search && next.is_some() && items.len() < PAGE_SIZE as usize,
        next: next.map(|next| query.path_from(site.portal(), &next)),
    };
    let ends = items.iter().filter_map(|opening| opening.closes_at);
    Ok(site.page(&page, &Sources::default())?.cached_until(ends, context.now()))
}

fn card<'p>(site: &Site, context: &RequestContext, opening: &'p Opening) -> Card<'p> {
    Card {
        path: site.job_path(&opening.slug),
        title: opening.title.as_str(),
        department: opening.department.as_ref().map(Text::as_str),
        locations: opening.places.names(),
        countries: opening.places.countries().into_iter().map(Country::name).collect(),
        remote_policy: opening.remote_policy.map(RemotePolicy::as_str),
        employment_type: opening.employment_type.map(EmploymentType::words),
        pay: opening.pay.words(),
        age: age(Day::of(opening.since).date(), Day::of(context.now()).date()),
        date: Day::of(opening.since).to_string(),
    }
}
