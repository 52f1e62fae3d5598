//! The list of openings and its search.

use std::collections::BTreeSet;

use shared::http::{Error, Html, Parameters, PublicRequest, Reply, RequestContext};
use shared::model::{Country, Day, EmploymentType, Opening, RemotePolicy, Text};
use shared::store::{self, Listed, Search};

use crate::formatting::age;
use crate::pages::{Card, OpeningsPage, SearchForm};
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

    /// Returns a predicate for openings that match. Every keyword must occur in the title, department, location or
    /// country, and each filter must match its own field. A location may also be a country. Case and accents are ignored.
    fn matcher(&self) -> impl Fn(&Opening) -> bool + use<> {
        let keywords: Vec<_> = folded(&self.keywords).split_whitespace().map(str::to_owned).collect();
        let (department, location) = (folded(&self.department), folded(&self.location));
        let remote_policy = self.remote_policy;
        move |opening| {
            let field = |text: Option<&str>| text.map(folded).unwrap_or_default();
            let country = field(opening.country.map(Country::name));
            let opening_location = field(opening.location.as_ref().map(Text::as_str));
            let opening_department = field(opening.department.as_ref().map(Text::as_str));
            let title = folded(opening.title.as_str());
            let all = format!("{title} {opening_department} {opening_location} {country}");
            keywords.iter().all(|keyword| all.contains(keyword.as_str()))
                && opening_department.contains(&department)
                && (opening_location.contains(&location) || country.contains(&location))
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
    let Listed { items, next } = if is_search {
        let search = Search { before: before.clone(), limit: PAGE_SIZE as usize, megabytes: MAX_MEGABYTES };
        context.store().search_openings(tenant, search, query.matcher()).await?
    } else {
        let page = store::Paging { limit: PAGE_SIZE, before: before.clone() };
        context.store().list_openings(tenant, &page).await?
    };
    let path = match &before {
        None => site.portal().to_owned(),
        Some(before) => query.path_from(site.portal(), before),
    };
    let departments: BTreeSet<_> =
        items.iter().filter_map(|opening| opening.department.as_ref()).map(Text::as_str).collect();
    let locations: BTreeSet<_> =
        items.iter().filter_map(|opening| opening.location.as_ref()).map(Text::as_str).collect();
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
        departments: departments.into_iter().collect(),
        locations: locations.into_iter().collect(),
        cards: items.iter().map(|opening| card(&site, context, opening)).collect(),
        is_first,
        is_partial: is_search && next.is_some() && items.len() < PAGE_SIZE as usize,
        next: next.map(|next| query.path_from(site.portal(), &next)),
    };
    Ok(site.page(&page, None)?.cached())
}

fn card<'p>(site: &Site, context: &RequestContext, opening: &'p Opening) -> Card<'p> {
    Card {
        path: site.job_path(&opening.slug),
        title: opening.title.as_str(),
        department: opening.department.as_ref().map(Text::as_str),
        location: opening.location.as_ref().map(Text::as_str),
        country: opening.country.map(Country::name),
        remote_policy: opening.remote_policy.map(RemotePolicy::as_str),
        employment_type: opening.employment_type.map(EmploymentType::words),
        salary: opening.salary.words(),
        age: age(Day::of(opening.since).date(), Day::of(context.now()).date()),
        date: Day::of(opening.since).to_string(),
    }
}
