//! The open postings for programs and search engines.

use shared::http::{Error, Output, Payload, Reply, Sent};
use shared::model::{Opening, RemotePolicy, Salary, Text};
use shared::store::{self, Failure, Listed, Search, opening_position};

use crate::feed::{self, Compensation, Feed, FeedJob, Formatted};
use crate::openings::position;
use crate::site::Site;

/// How many jobs are on a page of the feed: with the longest texts it is still below the 6 MB that a function can answer, as
/// the string in JSON that its answer is.
const FEED_PAGE: u32 = 15;
/// How many openings are in one sitemap: with the longest texts they are still below the two megabytes that a list reads.
const SITEMAP: u32 = 800;
/// How many megabytes of openings the sitemap of sitemaps covers: some 70,000 openings.
const MEGABYTES: usize = 20;

/// Where a document begins that is one of several.
pub(crate) enum Position {}

impl Payload for Position {
    const PARAMETERS: &'static [&'static str] = &["before"];
    type Body = ();
}

/// What is open.
pub(crate) enum Jobs {}

impl Output for Jobs {
    const STATUS: u16 = 200;
    const HEADERS: &'static [&'static str] = &["etag", "access-control-allow-origin"];
    type Body = Feed<'static>;
}

/// A sitemap, or of very many openings a list of sitemaps (sitemaps.org 0.9).
pub(crate) enum Sitemap {}

impl Output for Sitemap {
    const STATUS: u16 = 200;
    const MEDIA: &'static str = "application/xml";
    const HEADERS: &'static [&'static str] = &["etag"];
    type Body = String;
}

/// Lists what is open with descriptions, for programs, 15 a page.
///
/// # Errors
///
/// - `not_found`: the organization has no career page.
pub(crate) async fn list_jobs(visit: Sent<Position>) -> Result<Reply<Jobs>, Error> {
    let site = Site::find(&visit).await?.ok_or(Error::NotFound)?;
    let tenant = site.career.tenant();
    let page = store::Page { limit: FEED_PAGE, before: position(&visit.query()) };
    let Listed { items, next } = visit.store().list_openings(tenant, &page).await?;
    let wanted = items.iter().map(|opening| (opening.id, opening.role_id));
    let found = visit.store().find_postings_and_roles(tenant, wanted).await?;
    let jobs = items.iter().filter_map(|opening| {
        let (posting, role) = found.get(&opening.id)?;
        let description = posting.content.public_description.as_ref().or(role.content.description.as_ref());
        let url = site.address(&site.path(&opening.slug));
        Some(FeedJob {
            id: opening.id,
            title: opening.title.as_str(),
            department: opening.department.as_ref().map(Text::as_str),
            location: opening.location.as_ref().map(Text::as_str),
            remote_policy: opening.remote_policy,
            is_remote: opening.remote_policy == Some(RemotePolicy::Remote),
            description: Formatted::of(description.map_or("", Text::as_str)),
            requirements: posting.content.requirements.as_ref().map(|text| Formatted::of(text.as_str())),
            compensation: Compensation::of(
                opening.salary.min().map(Salary::dollars),
                opening.salary.max().map(Salary::dollars),
            ),
            published_at: opening.since,
            updated_at: opening.updated_at,
            apply_url: format!("{url}#apply"),
            url,
        })
    });
    let feed = Feed {
        organization: site.name(),
        url: site.address(site.portal()),
        jobs: jobs.collect(),
        next_url: next.map(|next| site.address(&format!("{}/jobs.json?before={next}", site.portal()))),
    };
    let json = serde_json::to_string(&feed)
        .map_err(|error| Error::from(Failure::Internal(format!("no feed: {error}"))))?;
    let reply = Reply::document("application/json", json).with("access-control-allow-origin", "*".to_owned());
    Ok(visit.cached(reply))
}

/// Lists the addresses of what is open; of very many, the addresses of such lists.
///
/// # Errors
///
/// - `not_found`: the organization has no career page.
pub(crate) async fn show_sitemap(visit: Sent<Position>) -> Result<Reply<Sitemap>, Error> {
    let site = Site::find(&visit).await?.ok_or(Error::NotFound)?;
    let tenant = site.career.tenant();
    let xml = if let Some(before) = position(&visit.query()) {
        let is_first = before == first();
        let page = store::Page { limit: SITEMAP, before: Some(before) };
        of_openings(&site, &visit.store().list_openings(tenant, &page).await?.items, is_first)
    } else {
        let search = Search { before: None, limit: usize::MAX, megabytes: MEGABYTES };
        let all = visit.store().search_openings(tenant, search, |_| true).await?.items;
        if all.len() <= SITEMAP as usize { of_openings(&site, &all, true) } else { of_sitemaps(&site, &all) }
    };
    Ok(visit.cached(Reply::document("application/xml", xml)))
}

/// A sitemap of these openings, with the list itself where it is the first.
fn of_openings(site: &Site, openings: &[Opening], with_list: bool) -> String {
    // The list changes with what leaves it, too, and nobody notes when that was.
    let list = with_list.then(|| (site.address(site.portal()), None));
    let page = |opening: &Opening| (site.address(&site.path(&opening.slug)), Some(opening.updated_at));
    feed::sitemap(list.into_iter().chain(openings.iter().map(page)))
}

/// A sitemap of sitemaps, each of which begins where the one before it ends.
fn of_sitemaps(site: &Site, openings: &[Opening]) -> String {
    let last = |part: &[Opening]| part.last().map(|last| opening_position(last.since, last.id));
    let ends = openings.chunks(SITEMAP as usize).filter_map(last);
    let starts = [first()].into_iter().chain(ends).take(openings.len().div_ceil(SITEMAP as usize));
    feed::sitemap_index(
        starts.map(|before| site.address(&format!("{}/sitemap.xml?before={before}", site.portal()))),
    )
}

/// What every opening sorts before.
fn first() -> String {
    "9".repeat(28)
}
