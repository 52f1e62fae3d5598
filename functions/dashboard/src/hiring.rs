//! Roles, job postings and candidates at a glance. They are changed by the API.

use std::sync::Arc;

use shared::http::{Desk, Error, Page, Reply};
use shared::id::Id;
use shared::model::{
    Candidate, Happening, Phone, RemotePolicy, Resume, RoleStatus, ScreenResult, ScreenStatus, Stage, Text,
    Touchpoint, WebAddress,
};
use shared::resources::posting::public_url;
use shared::resources::resume::ResumeLinks;
use shared::store;

use crate::frame::{day, frame, minute, next, page};
use crate::overview::row;
use crate::pages;
use crate::pages::Section;

/// How many candidates of a stage are shown with their role.
const IN_STAGE: u32 = 10;

/// Shows roles.
pub(crate) async fn roles(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let status = one_of::<RoleStatus>(desk.query().get("status"))?;
    let mut listed = desk.store().list_roles(desk.tenant(), status, &page(&desk)).await?;
    let status = status.map(RoleStatus::as_str);
    let filters: Vec<_> = status.iter().map(|status| ("status", *status)).collect();
    let next = next("/dashboard/roles", &filters, &mut listed, |role| role.id);
    let stats = desk.store().find_roles_stats(desk.tenant(), listed.items.iter().map(|role| role.id)).await?;
    let roles = listed.items.iter().map(|role| {
        let stats = stats.get(&role.id).copied().unwrap_or_default();
        pages::RoleRow {
            id: role.id.get(),
            title: role.content.title.as_str(),
            status: role.status.as_str(),
            department: role.content.department.as_ref().map(Text::as_str),
            location: role.content.location.as_ref().map(Text::as_str),
            applicants: stats.applicants,
            screens: stats.screens,
        }
    });
    Reply::page(&pages::Roles {
        frame: frame(&desk, Section::Roles),
        status,
        roles: roles.collect(),
        next,
        base_url: desk.base_url(),
    })
}

/// Shows a role and its pipeline.
pub(crate) async fn role(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let (tenant, store, id) = (desk.tenant(), desk.store(), desk.id()?);
    let role = store.find_role(tenant, id).await?.ok_or(Error::NotFound)?;
    let stats = store.find_role_stats(tenant, id).await?.unwrap_or_default();
    let posting = match &role.posting {
        Some(link) => store.find_posting(tenant, link.id).await?,
        None => None,
    };
    let mut pipeline = Vec::new();
    for stage in Stage::ALL {
        let first = store::Page { limit: IN_STAGE, before: None };
        pipeline.push((stage, store.list_candidates(tenant, Some(id), Some(stage), &first).await?));
    }
    let address =
        posting.as_ref().map(|posting| public_url(desk.base_url(), desk.organization(), &posting.slug));
    let candidate = |candidate: &Candidate| (candidate.id, candidate.profile.name.clone());
    let people: Vec<Vec<_>> =
        pipeline.iter().map(|(_, listed)| listed.items.iter().map(candidate).collect()).collect();
    let stages = pipeline.iter().zip(&people).map(|((stage, listed), people)| pages::Stage {
        stage: stage.as_str(),
        candidates: people
            .iter()
            .map(|(id, name)| pages::StageCandidate { id: id.get(), name: name.as_str() })
            .collect(),
        has_more: listed.next.is_some(),
    });
    Reply::page(&pages::Role {
        frame: frame(&desk, Section::Roles),
        id: id.get(),
        title: role.content.title.as_str(),
        status: role.status.as_str(),
        department: role.content.department.as_ref().map(Text::as_str),
        location: role.content.location.as_ref().map(Text::as_str),
        remote_policy: role.content.remote_policy.map(RemotePolicy::as_str),
        salary: role.content.salary.words(),
        posting: posting
            .as_ref()
            .zip(address.as_deref())
            .map(|(posting, address)| pages::RolePosting { address, is_published: posting.published }),
        applicants: stats.applicants,
        screens: stats.screens,
        completed: stats.screens_completed,
        pass_rate: stats.pass_rate().map(|rate| format!("{:.0}%", rate * 100.0)),
        average_score: stats.average_score().map(|score| format!("{score:.0}")),
        stages: stages.collect(),
    })
}

/// Shows job postings.
pub(crate) async fn postings(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let mut listed = desk.store().list_postings(desk.tenant(), None, &page(&desk)).await?;
    let next = next("/dashboard/postings", &[], &mut listed, |posting| posting.id);
    let postings = listed.items.iter().map(|posting| pages::PostingRow {
        title: posting.content.title.as_str(),
        is_published: posting.published,
        address: public_url(desk.base_url(), desk.organization(), &posting.slug),
        role_id: posting.role_id.get(),
    });
    Reply::page(&pages::Postings {
        frame: frame(&desk, Section::Postings),
        postings: postings.collect(),
        next,
    })
}

/// Shows candidates.
pub(crate) async fn candidates(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let (tenant, store, query) = (desk.tenant(), desk.store(), desk.query());
    let stage = one_of::<Stage>(query.get("stage"))?;
    let role = match query.given("role_id") {
        None => None,
        Some(id) => {
            let id: Id = id.parse().map_err(|_| Error::NotFound)?;
            Some(store.find_role(tenant, id).await?.ok_or(Error::NotFound)?)
        }
    };
    let role_id = role.as_ref().map(|role| role.id);
    let mut listed = store.list_candidates(tenant, role_id, stage, &page(&desk)).await?;
    let stage = stage.map(Stage::as_str);
    let number = role_id.map(|id| id.to_string());
    let filters = [("role_id", number.as_deref()), ("stage", stage)];
    let filters: Vec<_> = filters.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let next = next("/dashboard/candidates", &filters, &mut listed, |candidate| candidate.id);
    Reply::page(&pages::Candidates {
        frame: frame(&desk, Section::Candidates),
        stage,
        role: role
            .as_ref()
            .map(|role| pages::RoleFilter { id: role.id.get(), title: role.content.title.as_str() }),
        candidates: listed.items.iter().map(row).collect(),
        next,
    })
}

/// Shows a candidate with all that has happened.
pub(crate) async fn candidate(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let (tenant, store) = (desk.tenant(), desk.store());
    let found = store.find_candidate_page(tenant, desk.id()?).await?.ok_or(Error::NotFound)?;
    let file = &found.file;
    let wanted = file.applications.iter().map(|application| application.role_id);
    let links = ResumeLinks::of_page(desk.providers(), desk.now(), &found).await;
    let titles = store
        .find_role_titles(tenant, wanted.chain(found.screens.iter().map(|screen| screen.role_id)))
        .await?;
    let title = |role: Id| titles.get(&role).map_or("", |(title, _)| title.as_str());
    let applications = file.applications.iter().rev().filter_map(|application| {
        let (title, status) = titles.get(&application.role_id)?;
        Some(pages::Application {
            role_id: application.role_id.get(),
            role_title: title.as_str(),
            status: application.status.seen_with(*status).as_str(),
            source: application.source.as_str(),
            applied: day(application.applied_at),
        })
    });
    let screens = found.screens.iter().map(|screen| pages::Screen {
        role_id: screen.role_id.get(),
        role_title: title(screen.role_id),
        status: screen.status.as_str(),
        result: screen.result.map(ScreenResult::as_str),
        score: screen.scores.overall.filter(|_| screen.status == ScreenStatus::Completed),
        summary: screen.summary.as_deref(),
        at: minute(screen.started_at.or(screen.scheduled_at).unwrap_or(screen.created_at)),
    });
    let history = found.touchpoints.iter().map(|touchpoint| pages::Touchpoint {
        at: minute(touchpoint.at),
        actor: &touchpoint.actor,
        sentence: sentence(touchpoint, &title),
        note: note(touchpoint),
        resume_url: touchpoint.resume().and_then(|resume| links.address(resume)),
    });
    let profile = &file.candidate.profile;
    let resume_url = profile.resume.as_ref().and_then(|resume| links.address(resume));
    Reply::page(&pages::Candidate {
        frame: frame(&desk, Section::Candidates),
        name: profile.name.as_str(),
        email: profile.email.as_str(),
        phone: profile.phone.as_ref().map(Phone::as_str),
        resume_url: resume_url.as_ref().map(WebAddress::as_str),
        has_resume_file: matches!(profile.resume, Some(Resume::File(_))),
        stage: file.candidate.stage.as_str(),
        since: day(file.candidate.created_at),
        applications: applications.collect(),
        screens: screens.collect(),
        history: history.collect(),
    })
}

/// What an applicant wrote.
fn note(touchpoint: &Touchpoint) -> Option<&str> {
    match &touchpoint.happening {
        Happening::Applied { submission, .. } => submission.as_ref()?.note.as_ref().map(Text::as_str),
        _ => None,
    }
}

/// What was done, for people.
fn sentence<'t>(touchpoint: &Touchpoint, title: &impl Fn(Id) -> &'t str) -> String {
    match &touchpoint.happening {
        Happening::Created { .. } => "Added".to_owned(),
        Happening::Applied { role_id, .. } => format!("Applied for {}", title(*role_id)),
        Happening::Updated { fields, .. } if fields.is_empty() => "Sent a résumé file".to_owned(),
        Happening::Updated { fields, .. } => format!("Changed {}", fields.join(", ").replace('_', " ")),
        Happening::StageChanged { from, to } => format!("Moved from {} to {}", from.as_str(), to.as_str()),
        Happening::Rejected { from, reason, .. } => match reason {
            Some(reason) => format!("Rejected from {}: {}", from.as_str(), reason.as_str()),
            None => format!("Rejected from {}", from.as_str()),
        },
        Happening::Unrejected { to } => format!("Rejection taken back, to {}", to.as_str()),
        Happening::Hired { start_date: Some(date), .. } => {
            format!("Hired, to start on {}", date.strftime("%-d %b %Y"))
        }
        Happening::Hired { .. } => "Hired".to_owned(),
        Happening::ScreenInvited { role_id, .. } => {
            format!("Invited to a voice screen for {}", title(*role_id))
        }
        Happening::ScreenCompleted { role_id, result, .. } => match result {
            Some(result) => format!("Completed a voice screen for {}: {}", title(*role_id), result.as_str()),
            None => format!("Completed a voice screen for {}", title(*role_id)),
        },
    }
}

/// A filter's word; blank is no filter, and an unknown one is no page.
fn one_of<T: std::str::FromStr>(word: &str) -> Result<Option<T>, Error> {
    if word.is_empty() { Ok(None) } else { word.parse().map(Some).map_err(|_| Error::NotFound) }
}
