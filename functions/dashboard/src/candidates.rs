//! Candidates and their histories, read-only. Changes are made through the API.

use std::sync::Arc;

use askama::Template;
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::{
    Actor, ActorKind, ApplicationStatus, Candidate, ConsentPurpose, Phone, Resume, ScreenResult,
    ScreenStatus, Source, Stage, Text, Touchpoint, TouchpointKind, WebAddress,
};
use shared::resources::resume::ResumeLinks;

use crate::dates::{day, minute};
use crate::layout::{Layout, Section};
use crate::lists::{FilterLink, filter, next, page};

#[derive(Template)]
#[template(path = "candidates.html")]
struct CandidatesPage<'p> {
    layout: Layout<'p>,
    /// The stage that the list is filtered by.
    stage: Option<Stage>,
    filters: [FilterLink; 6],
    /// The role that the list is filtered by.
    role: Option<RoleFilter<'p>>,
    candidates: Vec<CandidateRow<'p>>,
    /// The URL of the next page.
    next: Option<String>,
}

struct RoleFilter<'p> {
    id: u64,
    title: &'p str,
}

/// A candidate in a list.
pub(crate) struct CandidateRow<'p> {
    /// The identifier.
    pub(crate) id: u64,
    /// The name.
    pub(crate) name: &'p str,
    /// The e-mail address.
    pub(crate) email: &'p str,
    /// The stage.
    pub(crate) stage: Stage,
    /// The day when the candidate was added.
    pub(crate) added: String,
}

impl<'p> CandidateRow<'p> {
    /// Returns the row of a candidate.
    pub(crate) fn of(candidate: &'p Candidate) -> Self {
        Self {
            id: candidate.id.get(),
            name: candidate.profile.name.as_str(),
            email: candidate.profile.email.as_str(),
            stage: candidate.stage,
            added: day(candidate.created_at),
        }
    }
}

#[derive(Template)]
#[template(path = "candidate.html")]
struct CandidatePage<'p> {
    layout: Layout<'p>,
    name: &'p str,
    email: &'p str,
    phone: Option<&'p str>,
    /// The resume's http or https URL.
    resume_url: Option<&'p str>,
    /// Whether the resume is a file in our bucket.
    has_resume_file: bool,
    stage: Stage,
    /// The day when the candidate was added.
    added: String,
    /// Newest first.
    applications: Vec<ApplicationRow<'p>>,
    /// Newest first.
    screens: Vec<ScreenRow<'p>>,
    consents: Vec<ConsentRow>,
    /// Newest first.
    history: Vec<TouchpointRow<'p>>,
}

struct ApplicationRow<'p> {
    role_id: u64,
    role_title: &'p str,
    stage: Stage,
    /// Whether the role is closed.
    is_closed: bool,
    source: &'p str,
    applied: String,
}

struct ScreenRow<'p> {
    role_id: u64,
    role_title: &'p str,
    status: ScreenStatus,
    result: Option<ScreenResult>,
    /// The overall score from 0 to 100.
    score: Option<u8>,
    summary: Option<&'p str>,
    /// The time when it started, or is scheduled to start, or was requested: the first of these that is known.
    at: String,
}

/// A consent that counts.
struct ConsentRow {
    /// What it is for, after the words "consent to".
    purpose: &'static str,
    granted: bool,
    /// The time when the candidate gave, refused or withdrew it.
    obtained: String,
}

/// An entry in the history.
struct TouchpointRow<'p> {
    at: String,
    /// Who made the change, with the type of actors that choose their own names.
    actor: String,
    sentence: String,
    /// The applicant's message.
    note: Option<&'p str>,
    /// The URL of the applicant's resume file.
    resume_url: Option<WebAddress>,
}

/// Shows the list of candidates.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (tenant, store, query) = (request.tenant(), request.context.store(), request.context.query());
    let stage = filter::<Stage>(query.get("stage"))?;
    let role = match filter::<Id>(query.get("role_id"))? {
        None => None,
        Some(id) => Some(store.find_role(tenant, id).await?.ok_or(Error::NotFound)?),
    };
    let role_id = role.as_ref().map(|role| role.id);
    let mut listed = store.list_candidates(tenant, role_id, stage, &page(&request)).await?;
    let number = role_id.map(|id| id.to_string());
    let filters = [("role_id", number.as_deref()), ("stage", stage.map(Stage::as_str))];
    let filters: Vec<_> = filters.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let next = next("/dashboard/candidates", &filters, &mut listed, |(candidate, _)| candidate.id);
    let page = CandidatesPage {
        layout: Layout::of(&request, Section::Candidates),
        stage,
        filters: Stage::ALL
            .map(|known| FilterLink { word: known.as_str(), is_current: stage == Some(known) }),
        role: role.as_ref().map(|role| RoleFilter { id: role.id.get(), title: role.content.title.as_str() }),
        candidates: listed.items.iter().map(|(candidate, _)| CandidateRow::of(candidate)).collect(),
        next,
    };
    Ok(Reply::page(&page)?.showing(page.candidates.len()))
}

/// Shows a candidate with applications, voice screens and history.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (tenant, context) = (request.tenant(), &request.context);
    let store = context.store();
    let found = Error::unless_missing(store.find_candidate_page(tenant, context.id()?, None).await?)?;
    let (candidate, touchpoints) = (&found.record.candidate, &found.touchpoints);
    let links = ResumeLinks::of_history(
        context.providers().resumes(),
        context.now(),
        &candidate.profile,
        touchpoints,
    )
    .await;
    let applied = found.record.applications.iter().map(|application| application.role.id);
    let screened = found.screens.iter().map(|screen| screen.role_id);
    let roles = store.find_roles(tenant, applied.chain(screened)).await?;
    let title = |role: Id| roles.get(&role).map_or("", |role| role.content.title.as_str());
    let record = found.record.clone();
    let record = match record.clone().follow(roles.values(), context.now()) {
        Some(followed) => followed.record,
        None => record,
    };
    let applications = record.applications.iter().rev().map(|application| ApplicationRow {
        role_id: application.role.id.get(),
        role_title: application.role.title.as_str(),
        stage: application.stage,
        is_closed: application.status() == ApplicationStatus::Closed,
        source: source(&application.source),
        applied: day(application.applied_at),
    });
    let screens = found.screens.iter().map(|screen| ScreenRow {
        role_id: screen.role_id.get(),
        role_title: title(screen.role_id),
        status: screen.status,
        result: screen.result,
        score: screen.scores.overall.filter(|_| screen.status == ScreenStatus::Completed),
        summary: screen.summary.as_deref(),
        at: minute(screen.started_at.or(screen.scheduled_at).unwrap_or(screen.created_at)),
    });
    let history = found.touchpoints.iter().map(|touchpoint| TouchpointRow {
        at: minute(touchpoint.at),
        actor: actor(&touchpoint.actor),
        sentence: sentence(touchpoint, &title),
        note: note(touchpoint),
        resume_url: touchpoint.resume().and_then(|resume| links.address(resume)),
    });
    let consents = ConsentPurpose::ALL.into_iter().filter_map(|purpose| record.consent(purpose));
    let consents = consents.map(|consent| ConsentRow {
        purpose: consent.purpose.words(),
        granted: consent.granted,
        obtained: minute(consent.obtained_at),
    });
    let profile = &record.candidate.profile;
    let resume_url = profile.resume.as_ref().and_then(|resume| links.address(resume));
    Reply::page(&CandidatePage {
        layout: Layout::of(&request, Section::Candidates),
        name: profile.name.as_str(),
        email: profile.email.as_str(),
        phone: profile.phone.as_ref().map(Phone::as_str),
        resume_url: resume_url.as_ref().map(WebAddress::as_str),
        has_resume_file: matches!(profile.resume, Some(Resume::File(_))),
        stage: record.candidate.stage,
        added: day(record.candidate.created_at),
        applications: applications.collect(),
        screens: screens.collect(),
        consents: consents.collect(),
        history: history.collect(),
    })
}

/// Returns the source of an application, as text that follows its date.
fn source(source: &Source) -> &str {
    match source.as_str() {
        "manual" => "added manually",
        "career_page" => "via the career page",
        "api" => "via the API",
        other => other,
    }
}

/// Returns the applicant's message.
fn note(touchpoint: &Touchpoint) -> Option<&str> {
    match &touchpoint.kind {
        TouchpointKind::Applied { submission, .. } => submission.as_ref()?.note.as_ref().map(Text::as_str),
        _ => None,
    }
}

/// Describes an actor. Keys, applications and members have names of their own choice, so their type follows the name.
fn actor(actor: &Actor) -> String {
    let kind = match actor.kind {
        ActorKind::ApiKey => "API key",
        ActorKind::App => "connected app",
        ActorKind::Member => "member",
        ActorKind::CareerPage | ActorKind::VoiceProvider | ActorKind::System => return actor.name.clone(),
    };
    format!("{} ({kind})", actor.name)
}

/// Describes a touchpoint.
fn sentence<'t>(touchpoint: &Touchpoint, title: &impl Fn(Id) -> &'t str) -> String {
    let of_role = |role_id: &Option<Id>| match role_id {
        Some(role_id) => format!(" for {}", title(*role_id)),
        None => String::new(),
    };
    match &touchpoint.kind {
        TouchpointKind::Created { .. } => "Added".to_owned(),
        TouchpointKind::Applied { role_id, .. } => format!("Applied for {}", title(*role_id)),
        TouchpointKind::Updated { fields, .. } if fields.is_empty() => "Uploaded a resume file".to_owned(),
        TouchpointKind::Updated { fields, .. } => format!("Changed {}", fields.join(", ").replace('_', " ")),
        TouchpointKind::StageChanged { role_id, from, to } => {
            format!("Moved from {} to {}{}", from.as_str(), to.as_str(), of_role(role_id))
        }
        TouchpointKind::Rejected { role_id, from, reason, .. } => {
            let reason = reason.as_ref().map(|reason| format!(": {}", reason.as_str())).unwrap_or_default();
            format!("Rejected at the {} stage{}{reason}", from.as_str(), of_role(role_id))
        }
        TouchpointKind::Unrejected { role_id, to } => {
            format!("Rejection undone, moved to {}{}", to.as_str(), of_role(role_id))
        }
        TouchpointKind::Hired { role_id, start_date, .. } => {
            let start = start_date.map(|date| format!(", starting on {}", date.strftime("%-d %b %Y")));
            format!("Hired{}{}", of_role(role_id), start.unwrap_or_default())
        }
        TouchpointKind::Unhired { role_id, to } => {
            format!("Hire undone, moved to {}{}", to.as_str(), of_role(role_id))
        }
        TouchpointKind::ApplicationClosed { role_id, .. } => {
            format!("Application closed with the role {}", title(*role_id))
        }
        TouchpointKind::ApplicationReopened { role_id, .. } => {
            format!("Application active again with the role {}", title(*role_id))
        }
        TouchpointKind::NoteAdded { .. } => "Added a note".to_owned(),
        TouchpointKind::NoteDeleted { .. } => "Deleted a note".to_owned(),
        TouchpointKind::ConsentChanged { purpose, granted, .. } => {
            format!(
                "Consent to {} {}",
                purpose.words(),
                if *granted { "given" } else { "not given or withdrawn" }
            )
        }
        TouchpointKind::ScreenInvited { role_id, .. } => {
            format!("Invited to a voice screen for {}", title(*role_id))
        }
        TouchpointKind::ScreenCancelled { role_id, reason, .. } => {
            format!("Voice screen for {} cancelled{}", title(*role_id), reason.because())
        }
        TouchpointKind::ScreenCompleted { role_id, result, .. } => match result {
            Some(result) => format!("Completed a voice screen for {}: {}", title(*role_id), result.as_str()),
            None => format!("Completed a voice screen for {}", title(*role_id)),
        },
    }
}
