//! The list of open postings, and the search in it.

use std::collections::BTreeSet;
use std::sync::Arc;

use shared::http::{Error, Page, Parameters, Reply, Visit};
use shared::model::{Day, Opening, RemotePolicy, Text};
use shared::store::{self, Listed, Search};

use crate::pages::{self, Card};
use crate::site::{Site, unknown_organization};
use crate::words::age;

/// How many openings are on a page.
const PAGE: u32 = 50;
/// How many megabytes of openings a search reads before it hands over to its next page: some 3,500 openings each.
const MEGABYTES: usize = 2;
/// The longest text that is searched for, in characters.
const LONGEST: usize = 200;

/// What is searched for.
struct Query {
    words: String,
    department: String,
    location: String,
    remote_policy: Option<RemotePolicy>,
}

impl Query {
    fn read(parameters: &Parameters) -> Self {
        let typed = |name: &str| parameters.get(name).trim().chars().take(LONGEST).collect();
        Self {
            words: typed("q"),
            department: typed("department"),
            location: typed("location"),
            remote_policy: parameters.get("remote_policy").parse().ok(),
        }
    }

    fn is_empty(&self) -> bool {
        self.words.is_empty()
            && self.department.is_empty()
            && self.location.is_empty()
            && self.remote_policy.is_none()
    }

    /// Whether an opening has every word somewhere in its title, department or place, and what else is asked for where
    /// it belongs. Case and accents make no difference.
    fn matcher(&self) -> impl Fn(&Opening) -> bool + use<> {
        let words: Vec<_> = folded(&self.words).split_whitespace().map(str::to_owned).collect();
        let (department, location) = (folded(&self.department), folded(&self.location));
        let remote_policy = self.remote_policy;
        move |opening| {
            let there = |text: Option<&str>| text.map(folded).unwrap_or_default();
            let places = there(opening.location.as_ref().map(Text::as_str));
            let departments = there(opening.department.as_ref().map(Text::as_str));
            let all = format!("{} {departments} {places}", folded(opening.title.as_str()));
            words.iter().all(|word| all.contains(word.as_str()))
                && departments.contains(&department)
                && places.contains(&location)
                && remote_policy.is_none_or(|policy| opening.remote_policy == Some(policy))
        }
    }

    /// The same query, from this position on.
    fn next(&self, portal: &str, before: &str) -> String {
        let fields = [
            ("q", self.words.as_str()),
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

/// A text as it is compared: without case and accents.
fn folded(text: &str) -> String {
    deunicode::deunicode(text).to_lowercase()
}

/// Lists what is open, the latest first.
pub(crate) async fn list(visit: Arc<Visit>) -> Result<Reply<Page>, Error> {
    let Some(site) = Site::find(&visit).await? else { return unknown_organization() };
    let parameters = visit.query();
    let query = Query::read(&parameters);
    let before = position(&parameters);
    let is_first = before.is_none();
    let tenant = site.career.tenant();
    let is_search = !query.is_empty();
    let Listed { items, next } = if is_search {
        let search = Search { before: before.clone(), limit: PAGE as usize, megabytes: MEGABYTES };
        visit.store().search_openings(tenant, search, query.matcher()).await?
    } else {
        let page = store::Page { limit: PAGE, before: before.clone() };
        visit.store().list_openings(tenant, &page).await?
    };
    let path = match &before {
        None => site.portal().to_owned(),
        Some(before) => query.next(site.portal(), before),
    };
    let departments: BTreeSet<_> =
        items.iter().filter_map(|opening| opening.department.as_ref()).map(Text::as_str).collect();
    let locations: BTreeSet<_> =
        items.iter().filter_map(|opening| opening.location.as_ref()).map(Text::as_str).collect();
    let page = pages::Openings {
        frame: site.frame(Some(path.as_str()).filter(|_| !is_search)),
        introduction: site.career.branding.introduction.as_ref().map(Text::as_str),
        search: pages::Search {
            words: &query.words,
            department: &query.department,
            location: &query.location,
            remote_policy: query.remote_policy.map(RemotePolicy::as_str),
        },
        is_search,
        departments: departments.into_iter().collect(),
        locations: locations.into_iter().collect(),
        cards: items.iter().map(|opening| card(&site, &visit, opening)).collect(),
        is_first,
        goes_on: is_search && next.is_some() && items.len() < PAGE as usize,
        next: next.map(|next| query.next(site.portal(), &next)),
    };
    Ok(visit.cached(site.page(&page, None)?))
}

fn card<'p>(site: &Site, visit: &Visit, opening: &'p Opening) -> Card<'p> {
    Card {
        path: site.path(&opening.slug),
        title: opening.title.as_str(),
        department: opening.department.as_ref().map(Text::as_str),
        location: opening.location.as_ref().map(Text::as_str),
        remote_policy: opening.remote_policy.map(RemotePolicy::as_str),
        salary: opening.salary.words(),
        age: age(Day::of(opening.since).date(), Day::of(visit.now()).date()),
        date: Day::of(opening.since).to_string(),
    }
}

/// Where a page of the list begins, if what is asked for can be a place in it.
pub(crate) fn position(parameters: &Parameters) -> Option<String> {
    let before = parameters.get("before");
    (before.len() == 28 && before.bytes().all(|byte| byte.is_ascii_digit())).then(|| before.to_owned())
}
