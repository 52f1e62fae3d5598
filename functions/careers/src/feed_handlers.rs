//! The handlers for the JSON feed and the sitemap.

use shared::handlers::responses;
use shared::handlers::responses::role::RoleLocation;
use shared::http::{Error, Output, Payload, PublicRequest, Reply};
use shared::model::{Opening, PublicContent, RemotePolicy, Text};
use shared::store::{self, Listed, Search, StoreError, opening_position};

use crate::feed_formats::{self, Compensation, Feed, FeedJob, Formatted};
use crate::position;
use crate::site::Site;

/// The number of jobs on a page of the feed. Even if every field has its maximum length, the response, encoded as a
/// JSON string, is within Lambda's limit of 6 MB.
const FEED_PAGE_SIZE: u32 = 15;
/// The number of openings in a sitemap.
const SITEMAP_SIZE: u32 = 800;
/// The maximum number of megabytes that the sitemap index reads, about 70,000 openings.
const MAX_MEGABYTES: usize = 20;

/// The position at which a page of the feed or a sitemap begins.
pub(crate) enum Position {}

impl Payload for Position {
    const PARAMETERS: &'static [&'static str] = &["before"];
    type Body = ();
}

/// The open postings.
pub(crate) enum Jobs {}

impl Output for Jobs {
    const STATUS: u16 = 200;
    const HEADERS: &'static [&'static str] = &["etag", "access-control-allow-origin"];
    type Body = Feed<'static>;
}

/// A sitemap, or a sitemap index if there are more than 800 openings (sitemaps.org 0.9).
pub(crate) enum Sitemap {}

impl Output for Sitemap {
    const STATUS: u16 = 200;
    const MEDIA: &'static str = "application/xml";
    const HEADERS: &'static [&'static str] = &["etag"];
    type Body = String;
}

/// Lists open postings with descriptions, newest first, 15 per page.
///
/// # Errors
///
/// - `not_found`: the organization has no career page.
pub(crate) async fn list_jobs(request: PublicRequest<Position>) -> Result<Reply<Jobs>, Error> {
    let context = &request.context;
    let site = Site::find(context).await?.ok_or(Error::NotFound)?;
    let tenant = site.career.tenant();
    let page = store::Paging { limit: FEED_PAGE_SIZE, before: position::read(&context.query()) };
    let Listed { items, next } = context.store().list_openings(tenant, &page, context.now()).await?;
    let ids = items.iter().map(|opening| (opening.id, opening.role_id));
    let found = context.store().find_postings_and_roles(tenant, ids).await?;
    let jobs = items.iter().filter_map(|opening| {
        let (posting, role) = found.get(&opening.id)?;
        let PublicContent { description, requirements, .. } = posting.content.shown(&role.content);
        let url = site.url(&site.job_path(&opening.slug));
        Some(FeedJob {
            id: opening.id,
            title: opening.title.as_str(),
            department: opening.department.as_ref().map(Text::as_str),
            location: opening.places.location().map(Text::as_str),
            country: opening.places.country(),
            locations: RoleLocation::all(&opening.places),
            remote_policy: opening.remote_policy,
            is_remote: opening.remote_policy == Some(RemotePolicy::Remote),
            employment_type: opening.employment_type,
            description: Formatted::of(description.map_or("", Text::as_str)),
            requirements: requirements.map(|text| Formatted::of(text.as_str())),
            compensation: Compensation::of(opening.pay),
            pay: responses::role::Pay::of(opening.pay),
            closes_on: opening.closes_on,
            closes_at: opening.closes_at,
            published_at: opening.since,
            updated_at: opening.updated_at,
            apply_url: format!("{url}#apply"),
            url,
        })
    });
    let feed = Feed {
        organization: site.name(),
        url: site.url(site.portal()),
        jobs: jobs.collect(),
        next_url: next.map(|next| site.url(&format!("{}/jobs.json?before={next}", site.portal()))),
    };
    let json = serde_json::to_string(&feed)
        .map_err(|error| Error::from(StoreError::Internal(format!("cannot serialize the feed: {error}"))))?;
    let reply = Reply::document("application/json", json).with("access-control-allow-origin", "*".to_owned());
    Ok(reply.cached_until(items.iter().filter_map(|opening| opening.closes_at), context.now()))
}

/// Lists the URLs of all open postings. Returns a sitemap index if there are more than 800 postings.
///
/// # Errors
///
/// - `not_found`: the organization has no career page.
pub(crate) async fn show_sitemap(request: PublicRequest<Position>) -> Result<Reply<Sitemap>, Error> {
    let context = &request.context;
    let site = Site::find(context).await?.ok_or(Error::NotFound)?;
    let tenant = site.career.tenant();
    let (xml, openings) = if let Some(before) = position::read(&context.query()) {
        let is_first = before == position::first();
        // A list reads at most two megabytes at once.
        let (mut openings, mut next) = (Vec::new(), Some(before));
        while let (Some(before), Ok(read)) = (next.take(), u32::try_from(openings.len()))
            && read < SITEMAP_SIZE
        {
            let page = store::Paging { limit: SITEMAP_SIZE - read, before: Some(before) };
            let listed: Listed<Opening> = context.store().list_openings(tenant, &page, context.now()).await?;
            openings.extend(listed.items);
            next = listed.next;
        }
        (sitemap(&site, &openings, is_first), openings)
    } else {
        let search = Search { before: None, limit: usize::MAX, megabytes: MAX_MEGABYTES };
        let all = context.store().search_openings(tenant, search, context.now(), |_| true).await?.items;
        let is_small = all.len() <= SITEMAP_SIZE as usize;
        (if is_small { sitemap(&site, &all, true) } else { sitemap_index(&site, &all) }, all)
    };
    let ends = openings.iter().filter_map(|opening| opening.closes_at);
    Ok(Reply::document("application/xml", xml).cached_until(ends, context.now()))
}

/// Builds a sitemap of these openings. The first sitemap also has the URL of the list of openings.
fn sitemap(site: &Site, openings: &[Opening], with_list: bool) -> String {
    // The list also changes when an opening is removed from it, but that time is not stored.
    let list = with_list.then(|| (site.url(site.portal()), None));
    let page = |opening: &Opening| (site.url(&site.job_path(&opening.slug)), Some(opening.updated_at));
    feed_formats::sitemap(list.into_iter().chain(openings.iter().map(page)))
}

/// Builds a sitemap index. Each sitemap begins where the previous one ends.
fn sitemap_index(site: &Site, openings: &[Opening]) -> String {
    let last = |part: &[Opening]| part.last().map(|last| opening_position(last.since, last.id));
    let ends = openings.chunks(SITEMAP_SIZE as usize).filter_map(last);
    let starts =
        [position::first()].into_iter().chain(ends).take(openings.len().div_ceil(SITEMAP_SIZE as usize));
    feed_formats::sitemap_index(
        starts.map(|before| site.url(&format!("{}/sitemap.xml?before={before}", site.portal()))),
    )
}
