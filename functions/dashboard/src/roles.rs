//! Roles and their pipelines, read-only. Changes are made through the API.

use std::sync::Arc;

use askama::Template;
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::{Candidate, Country, EmploymentType, RemotePolicy, RoleStatus, Stage, Text, grouped};
use shared::resources::posting::public_url;
use shared::store::Paging;

use crate::layout::{Layout, Section};
use crate::lists::{FilterLink, filter, next, page};

/// The maximum number of candidates per stage on a role's page.
const IN_STAGE: u32 = 10;
/// The statuses in the order of the filter links.
const STATUSES: [RoleStatus; 4] =
    [RoleStatus::Open, RoleStatus::Draft, RoleStatus::Paused, RoleStatus::Closed];

#[derive(Template)]
#[template(path = "roles.html")]
struct RolesPage<'p> {
    layout: Layout<'p>,
    /// The status that the list is filtered by.
    status: Option<RoleStatus>,
    filters: [FilterLink; 4],
    roles: Vec<RoleRow<'p>>,
    /// The URL of the next page.
    next: Option<String>,
    base_url: &'p str,
}

struct RoleRow<'p> {
    id: u64,
    title: &'p str,
    status: RoleStatus,
    department: Option<&'p str>,
    location: Option<&'p str>,
    /// The number of distinct candidates.
    applicants: u64,
    /// The number of voice screens.
    screens: u64,
}

#[derive(Template)]
#[template(path = "role.html")]
struct RolePage<'p> {
    layout: Layout<'p>,
    id: u64,
    title: &'p str,
    status: RoleStatus,
    department: Option<&'p str>,
    location: Option<&'p str>,
    country: Option<&'static str>,
    remote_policy: Option<&'static str>,
    employment_type: Option<&'static str>,
    /// The salary range with its currency.
    salary: Option<String>,
    posting: Option<PostingLink<'p>>,
    /// The number of distinct candidates.
    applicants: u64,
    /// The number of voice screens.
    screens: u64,
    /// The number of completed voice screens.
    completed: u64,
    /// The percentage of completed voice screens that were passed, such as `75%`; `None` if none is completed.
    pass_rate: Option<String>,
    /// The average overall score from 0 to 100; `None` if there are no scores.
    average_score: Option<String>,
    pipeline: Vec<StageColumn>,
}

struct PostingLink<'p> {
    /// The public URL. It shows the posting only while it is published.
    url: &'p str,
    is_published: bool,
}

/// A stage of the pipeline with its newest candidates.
struct StageColumn {
    stage: &'static str,
    candidates: Vec<PipelineCandidate>,
    /// Whether the stage may have more candidates.
    has_more: bool,
}

struct PipelineCandidate {
    id: u64,
    name: String,
}

/// Shows the list of roles.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (tenant, store) = (request.tenant(), request.context.store());
    let status = filter::<RoleStatus>(request.context.query().get("status"))?;
    let mut listed = store.list_roles(tenant, status, &page(&request)).await?;
    let query: Vec<_> = status.iter().map(|status| ("status", status.as_str())).collect();
    let next = next("/dashboard/roles", &query, &mut listed, |role| role.id);
    let stats = store.find_roles_stats(tenant, listed.items.iter().map(|role| role.id)).await?;
    let roles = listed.items.iter().map(|role| {
        let stats = stats.get(&role.id).cloned().unwrap_or_default();
        RoleRow {
            id: role.id.get(),
            title: role.content.title.as_str(),
            status: role.status,
            department: role.content.department.as_ref().map(Text::as_str),
            location: role.content.location.as_ref().map(Text::as_str),
            applicants: stats.applicants,
            screens: stats.screens,
        }
    });
    Reply::page(&RolesPage {
        layout: Layout::of(&request, Section::Roles),
        status,
        filters: STATUSES.map(|known| FilterLink { word: known.as_str(), is_current: status == Some(known) }),
        roles: roles.collect(),
        next,
        base_url: request.context.base_url(),
    })
}

/// Shows a role and its pipeline.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (tenant, store, id) = (request.tenant(), request.context.store(), request.context.id()?);
    let (role, stats) = store.find_role_and_stats(tenant, id).await?.ok_or(Error::NotFound)?;
    let posting = match &role.posting {
        Some(link) => store.find_posting(tenant, link.id).await?,
        None => None,
    };
    let mut pipeline = Vec::new();
    for stage in Stage::ALL {
        let first = Paging { limit: IN_STAGE, before: None };
        let listed = store.list_candidates(tenant, Some(id), Some(stage), &first).await?;
        let candidate = |(candidate, _): &(Candidate, _)| PipelineCandidate {
            id: candidate.id.get(),
            name: candidate.profile.name.as_str().to_owned(),
        };
        pipeline.push(StageColumn {
            stage: stage.as_str(),
            candidates: listed.items.iter().map(candidate).collect(),
            has_more: listed.next.is_some(),
        });
    }
    let (base_url, organization) = (request.context.base_url(), request.organization());
    let posting =
        posting.map(|posting| (public_url(base_url, organization, &posting.slug), posting.published));
    let shown = pipeline.iter().map(|column| column.candidates.len()).sum();
    let page = RolePage {
        layout: Layout::of(&request, Section::Roles),
        id: id.get(),
        title: role.content.title.as_str(),
        status: role.status,
        department: role.content.department.as_ref().map(Text::as_str),
        location: role.content.location.as_ref().map(Text::as_str),
        country: role.content.country.map(Country::name),
        remote_policy: role.content.remote_policy().map(RemotePolicy::as_str),
        employment_type: role.content.employment_type.map(EmploymentType::words),
        salary: role.content.salary.words(),
        posting: posting.as_ref().map(|(url, is_published)| PostingLink { url, is_published: *is_published }),
        applicants: stats.applicants,
        screens: stats.screens,
        completed: stats.screens_completed,
        pass_rate: stats.pass_rate().map(|rate| format!("{:.0}%", rate * 100.0)),
        average_score: stats.average_score().map(|score| format!("{score:.0}")),
        pipeline,
    };
    Ok(Reply::page(&page)?.showing(shown))
}
