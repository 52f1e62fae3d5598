//! The list of candidates with its filters and the search, and the page of a candidate.

use std::sync::Arc;

use askama::Template;
use shared::handlers::responses::resume::ResumeLinks;
use shared::http::page::Sources;
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::{
    ApplicationStatus, Candidate, CandidateRecord, EndedBy, FileStatus, LegalHold, MemberRole, Note, Phone,
    Rejection, Resume, ReviewDecision, Screen, ScreenResult, ScreenStatus, Source, Stage, Text, Touchpoint,
    TouchpointKind, WebAddress, grouped,
};
use shared::providers::bucket::Bucket;
use shared::store::{Applicant, CandidateList, Paging, StoreError};

use crate::answers::{self, AnswerRow};
use crate::candidate_list::{ListLinks, ListPage, Listing, candidate_path, least_score};
use crate::candidate_search::find;
use crate::consents::{self, ConsentRow};
use crate::dates::{self, Time, Zone};
use crate::files::{self, FileRow};
use crate::layout::{Layout, Section};
use crate::lists::{FilterLink, Pager, id_position, next};
use crate::rejection_reasons;
use crate::sources::{actor, source};
use crate::submissions::{FormRow, OfferRow, Submissions};
use crate::suspects;

/// The maximum number of notes on a candidate's page.
const NOTES: u32 = 25;

#[derive(Template)]
#[template(path = "candidates.html")]
struct CandidatesPage<'p> {
    layout: Layout<'p>,
    /// The stage that the list is filtered by.
    stage: Option<Stage>,
    filters: [FilterLink; 6],
    /// The role that the list is filtered by.
    role: Option<RoleFilter<'p>>,
    /// What the list is searched by: empty for the name, the e-mail address and the phone number; `source` or `tag`.
    by: &'p str,
    /// What is searched for.
    search: &'p str,
    /// Whether the list is in the order of the scores.
    by_score: bool,
    /// The least score as it was typed.
    least: &'p str,
    /// What is wrong with the least score.
    problem: Option<&'static str>,
    /// Whether the boxes of all candidates are ticked.
    all: bool,
    candidates: Vec<CandidateRow<'p>>,
    /// The number of suspect forms, on the first page of all candidates.
    suspects: Option<String>,
    /// The number of candidates in the list, where a counter has it.
    total: Option<String>,
    /// The parameter that names this list in the addresses of candidates.
    list: String,
    /// The query of this page.
    query: String,
    pager: Pager,
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
    pub(crate) added: Time,
    /// The tags.
    pub(crate) tags: Vec<&'p str>,
    /// The score, in a list by score.
    pub(crate) score: Option<u8>,
    /// Whether the candidate has applied again since the application last moved, in a list of a role.
    pub(crate) reapplied: bool,
    /// Whether the candidate has withdrawn the application, in a list of a role.
    pub(crate) withdrawn: bool,
}

impl<'p> CandidateRow<'p> {
    /// Returns the row of a candidate.
    pub(crate) fn of(candidate: &'p Candidate, zone: &Zone) -> Self {
        Self {
            id: candidate.id.get(),
            name: candidate.profile.name.as_str(),
            email: candidate.profile.email.as_str(),
            stage: candidate.stage,
            added: zone.day(candidate.created_at),
            tags: candidate.profile.tags.iter().map(Text::as_str).collect(),
            score: None,
            reapplied: false,
            withdrawn: false,
        }
    }
}

#[derive(Template)]
#[template(path = "candidate.html")]
struct CandidatePage<'p> {
    layout: Layout<'p>,
    id: u64,
    /// The links into the list that the page was opened from.
    list: Option<ListLinks>,
    is_owner: bool,
    source: Option<&'p str>,
    tags: Vec<&'p str>,
    external_id: Option<&'p str>,
    hold: Option<&'p LegalHold>,
    /// Newest first.
    notes: Vec<NoteRow<'p>>,
    name: &'p str,
    email: &'p str,
    phone: Option<&'p str>,
    /// The resume's http or https URL.
    resume_url: Option<&'p str>,
    /// Who may be the same person.
    possible_duplicates: Vec<Candidate>,
    /// Whether the resume is a file in our bucket.
    has_resume_file: bool,
    /// The resume, if it is a PDF in our bucket.
    preview: Option<Preview>,
    /// Whether members can upload a resume.
    takes_files: bool,
    stage: Stage,
    /// The day when the candidate was added.
    added: Time,
    /// Newest first.
    applications: Vec<ApplicationRow<'p>>,
    /// Newest first.
    screens: Vec<ScreenRow<'p>>,
    /// Everything that was recorded about consents, the latest first.
    consents: Vec<ConsentRow>,
    /// Newest first.
    files: Vec<FileRow>,
    /// Newest first.
    history: Vec<TouchpointRow<'p>>,
}

/// A resume that browsers can show. A file of a stranger is shown only to members who ask for it.
enum Preview {
    /// The path of the page that shows it.
    Offered(String),
    /// Its URL.
    Shown(String),
}

struct NoteRow<'p> {
    id: u64,
    text: &'p str,
    at: Time,
    author: String,
}

struct ApplicationRow<'p> {
    /// Who ended it, where and for which reason in the list.
    ended: Option<String>,
    /// Whether the candidate withdrew.
    is_withdrawn: bool,
    /// The reason as a text, if it differs from the name of the reason in the list.
    reason: Option<&'p str>,
    start_date: Option<String>,
    score: Option<u8>,
    role_id: u64,
    role_title: &'p str,
    stage: Stage,
    /// Whether the role is closed.
    is_closed: bool,
    source: &'p str,
    applied: Time,
    /// When the candidate last applied again.
    reapplied: Option<Time>,
    /// Whether that was after the last move.
    is_reapplied: bool,
    id: u64,
    /// The path of the application's resume file.
    file: Option<String>,
    /// What the application answered.
    answers: Vec<AnswerRow<'p>>,
    /// What forms brought.
    offer: Option<OfferRow<'p>>,
}

struct ScreenRow<'p> {
    id: u64,
    /// Whether the conversation has not begun.
    can_be_cancelled: bool,
    role_id: u64,
    role_title: &'p str,
    status: ScreenStatus,
    result: Option<ScreenResult>,
    /// The overall score from 0 to 100.
    score: Option<u8>,
    summary: Option<&'p str>,
    /// The time when it started, or is scheduled to start, or was requested: the first of these that is known.
    at: Time,
}

/// An entry in the history.
struct TouchpointRow<'p> {
    at: Time,
    /// Who made the change, with the type of actors that choose their own names.
    actor: String,
    sentence: String,
    /// The submitted form.
    form: Option<FormRow<'p>>,
    /// The URL of the applicant's resume file.
    resume_url: Option<WebAddress>,
}

/// Shows the list of candidates.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (tenant, store, query) = (request.tenant(), request.context.store(), request.context.query());
    let shown = ListPage::read(&query)?;
    let (role_id, stage) = shown.role_and_stage();
    let role = match role_id {
        None => None,
        Some(id) => Some(store.find_role_and_stats(tenant, id).await?.ok_or(Error::NotFound)?),
    };
    let least = query.get("least").trim();
    let problem = if least_score(least).is_none() { Some("Enter a score from 0 to 100.") } else { None };
    let paging = shown.place.paging();
    let (mut by_score, mut scores, mut reapplied, mut withdrawn) =
        (false, Vec::new(), Vec::new(), Vec::new());
    let (candidates, next): (Vec<Candidate>, _) = match &shown.list {
        Listing::Stored(CandidateList::Newest { role, stage }) => {
            let mut listed = store.list_candidates(tenant, *role, *stage, &paging).await?;
            let position = |(candidate, applicant): &(Candidate, Option<(Applicant, _)>)| {
                id_position(applicant.map_or(candidate.id, |(applicant, _)| applicant.application_id))
            };
            let next = next(&mut listed, position);
            let again = |applicant: &Option<(Applicant, _)>| {
                applicant.is_some_and(|(applicant, _)| applicant.reapplied)
            };
            reapplied.extend(listed.items.iter().map(|(_, applicant)| again(applicant)));
            let has_withdrawn = |applicant: &Option<(Applicant, _)>| {
                applicant.is_some_and(|(applicant, _)| applicant.withdrawn)
            };
            withdrawn.extend(listed.items.iter().map(|(_, applicant)| has_withdrawn(applicant)));
            (listed.items.into_iter().map(|(candidate, _)| candidate).collect(), next)
        }
        Listing::Stored(CandidateList::Scored { role, stage, least }) => {
            let mut listed = store.list_scored_candidates(tenant, *role, *stage, *least, &paging).await?;
            let next = next(&mut listed, |(_, applicant)| applicant.position());
            by_score = true;
            scores.extend(listed.items.iter().map(|(_, applicant)| applicant.score));
            reapplied.extend(listed.items.iter().map(|(_, applicant)| applicant.reapplied));
            (listed.items.into_iter().map(|(candidate, _)| candidate).collect(), next)
        }
        Listing::Found { by, text } => find(&request, by, text, &shown.place).await?,
    };
    let (by, search) = match &shown.list {
        Listing::Found { by, text } => (*by, text.as_str()),
        Listing::Stored(_) => ("", ""),
    };
    let count = |stage: Stage| Some(role.as_ref()?.1.stages[stage.rank()].now);
    let filters = Stage::ALL.map(|known| FilterLink {
        word: known.as_str(),
        is_current: stage == Some(known),
        count: count(known).map(grouped),
    });
    let total: Option<u64> = match stage {
        _ if by_score => None,
        Some(stage) => count(stage),
        None => Stage::ALL.map(count).into_iter().sum(),
    };
    let role =
        role.as_ref().map(|(role, _)| RoleFilter { id: role.id.get(), title: role.content.title.as_str() });
    let is_first = shown.query().is_empty();
    let suspects = if is_first { suspects::count(&request).await? } else { None };
    let zone = dates::zone(&request);
    let rows = candidates.iter().enumerate().map(|(index, candidate)| {
        let score = scores.get(index).copied();
        let reapplied = reapplied.get(index).copied().unwrap_or_default();
        let withdrawn = withdrawn.get(index).copied().unwrap_or_default();
        CandidateRow { score, reapplied, withdrawn, ..CandidateRow::of(candidate, &zone) }
    });
    let page = CandidatesPage {
        layout: Layout::of(&request, Section::Candidates),
        stage,
        filters,
        role,
        by,
        search,
        by_score,
        least,
        problem,
        // People are never selected by score.
        all: query.non_empty("all").is_some() && !by_score,
        candidates: rows.collect(),
        suspects,
        // The list is read from an index, which may be ahead of the counter that was read before.
        total: total.map(|total| grouped(total.max(candidates.len() as u64))),
        list: shown.parameter(),
        query: shown.query(),
        pager: shown.pager(next),
    };
    let reply = Reply::page(&page)?.showing(page.candidates.len());
    let reply = if problem.is_some() { reply.with_status(422) } else { reply };
    Ok(if search.is_empty() { reply } else { reply.found_by_search() })
}

/// Shows a candidate with applications, voice screens and history.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (tenant, context) = (request.tenant(), &request.context);
    let store = context.store();
    let id = context.id()?;
    let found = Error::unless_missing(store.find_candidate_page(tenant, id, None).await?)?;
    let notes = store.list_notes(tenant, id, &Paging { limit: NOTES, before: None }).await?.items;
    let list = match ListPage::opened_from(&request) {
        Some(list) => Some(list.links(&request, &found.record).await?),
        None => None,
    };
    let (candidate, touchpoints) = (&found.record.candidate, &found.touchpoints);
    let (bucket, now) = (context.providers().await.resumes(), context.now());
    let links = ResumeLinks::of_history(bucket, now, &candidate.profile, touchpoints).await;
    let zone = dates::zone(&request);
    let record = found.record.clone();
    let applied = |role: Id| record.application(role).map(|application| application.role.title.as_str());
    let screened = found.screens.iter().map(|screen| screen.role_id);
    let others = store.find_roles(tenant, screened.filter(|role| applied(*role).is_none())).await?;
    let other = |role: Id| others.get(&role).map(|role| role.content.title.as_str());
    let title = |role: Id| applied(role).or_else(|| other(role)).unwrap_or_default();
    let submissions = Submissions::of(&request, &record).await?;
    let answered = answers::of(&request, &record).await?;
    let has_listed = record.applications.iter().any(|application| application.cause.reason_id.is_some());
    let reasons = if has_listed { Some(store.get_rejection_reasons(tenant).await?) } else { None };
    let applications = record.applications.iter().rev().map(|application| {
        let rejection = application.rejection();
        let listed = rejection.and_then(|rejection| rejection.cause.reason_id).zip(reasons.as_ref());
        let listed = listed.map(|(id, reasons)| rejection_reasons::name(reasons, id));
        let reason = application.cause.reason.as_ref().map(Text::as_str);
        Ok::<_, Error>(ApplicationRow {
            ended: rejection.map(|rejection| ended(rejection, listed.as_deref())),
            is_withdrawn: rejection.is_some_and(|rejection| rejection.cause.by == EndedBy::Candidate),
            reason: reason.filter(|reason| listed.as_deref() != Some(*reason)),
            start_date: application.start_date.map(|date| date.strftime("%-d %b %Y").to_string()),
            score: application.score,
            role_id: application.role.id.get(),
            role_title: application.role.title.as_str(),
            stage: application.stage,
            is_closed: application.status() == ApplicationStatus::Closed,
            source: source(&application.source),
            applied: zone.day(application.applied_at),
            reapplied: application.reapplied_at.map(|at| zone.day(at)),
            is_reapplied: application.reapplied,
            id: application.id.get(),
            file: submissions.link(application.resume_file_id),
            answers: answered
                .get(&application.id)
                .map(|found| answers::rows(found, Some(id)))
                .unwrap_or_default(),
            offer: submissions.offer(application, &zone)?,
        })
    });
    let applications = applications.collect::<Result<_, _>>()?;
    let screens = found.screens.iter().map(|screen| screen_row(screen, title(screen.role_id), &zone));
    let is_here = |resume: &&Resume| resume.file().is_none_or(|file| submissions.of_stored(file).is_some());
    let history = told_once(&found.touchpoints).map(|touchpoint| TouchpointRow {
        at: zone.minute(touchpoint.at),
        actor: actor(&touchpoint.actor),
        sentence: sentence(touchpoint, &title),
        form: submissions.form(touchpoint),
        resume_url: touchpoint.resume().filter(is_here).and_then(|resume| links.address(resume)),
    });
    let consents = consents::rows(&request, &record).await?;
    let profile = &record.candidate.profile;
    let resume_url = resume_url(&record, &submissions, &links);
    let preview = preview(&request, bucket, profile.resume.as_ref(), &submissions).await?;
    let is_shown = matches!(preview, Some(Preview::Shown(_)));
    let origin = bucket.filter(|_| is_shown).map(Bucket::origin);
    let sources = Sources { frame: origin.as_deref(), ..Sources::default() };
    let page = Reply::page(&CandidatePage {
        layout: Layout::of(&request, Section::Candidates),
        id: id.get(),
        list,
        is_owner: request.member().role == MemberRole::Owner,
        source: profile.source.as_ref().map(Source::as_str),
        tags: profile.tags.iter().map(Text::as_str).collect(),
        external_id: profile.external_id.as_ref().map(Text::as_str),
        hold: record.legal_hold.as_ref(),
        notes: notes.iter().map(|note| note_row(note, &zone)).collect(),
        name: profile.name.as_str(),
        email: profile.email.as_str(),
        phone: profile.phone.as_ref().map(Phone::as_str),
        resume_url: resume_url.as_deref(),
        possible_duplicates: possible_duplicates(&request, &record.candidate).await?,
        has_resume_file: matches!(profile.resume, Some(Resume::File(_))),
        preview,
        takes_files: bucket.is_some(),
        stage: record.candidate.stage,
        added: zone.day(record.candidate.created_at),
        applications,
        screens: screens.collect(),
        consents,
        files: files::rows(&record, submissions.files(), &zone),
        history: history.collect(),
    })?;
    Ok(page.using(&sources))
}

fn screen_row<'p>(screen: &'p Screen, role_title: &'p str, zone: &Zone) -> ScreenRow<'p> {
    ScreenRow {
        id: screen.id.get(),
        can_be_cancelled: matches!(screen.status, ScreenStatus::Queued | ScreenStatus::Scheduled),
        role_id: screen.role_id.get(),
        role_title,
        status: screen.status,
        result: screen.result,
        score: screen.scores.overall.filter(|_| screen.status == ScreenStatus::Completed),
        summary: screen.summary.as_deref(),
        at: zone.minute(screen.started_at.or(screen.scheduled_at).unwrap_or(screen.created_at)),
    }
}

/// The candidates who may be the same person.
async fn possible_duplicates(
    request: &MemberRequest,
    candidate: &Candidate,
) -> Result<Vec<Candidate>, StoreError> {
    let (tenant, store) = (request.tenant(), request.context.store());
    let ids = store.find_possible_duplicates(tenant, candidate).await?;
    store.find_candidates(tenant, &ids).await
}

/// The URL of the resume: the path that opens it, if it is a file of the candidate.
fn resume_url(record: &CandidateRecord, submissions: &Submissions, links: &ResumeLinks) -> Option<String> {
    let resume = record.candidate.profile.resume.as_ref()?;
    match resume.file().and_then(|file| submissions.of_stored(file)) {
        Some(file) => Some(files::path(record.candidate.id, file.id)),
        None => links.address(resume).map(|url| url.as_str().to_owned()),
    }
}

/// Returns the preview of a resume that is a PDF in our bucket: the file if the member asks for it, and otherwise the way to
/// ask. There is no frame with `sandbox`, because Chromium's viewer does not run in one.
async fn preview(
    request: &MemberRequest,
    bucket: Option<&Bucket>,
    resume: Option<&Resume>,
    submissions: &Submissions,
) -> Result<Option<Preview>, Error> {
    let file = resume.and_then(Resume::file).filter(|file| file.is_pdf());
    let (Some(bucket), Some(file)) = (bucket, file) else { return Ok(None) };
    let context = &request.context;
    if context.query().non_empty("preview").is_none() {
        let page = candidate_path(request, context.id()?);
        let separator = if page.contains('?') { '&' } else { '?' };
        return Ok(Some(Preview::Offered(format!("{page}{separator}preview=yes#resume"))));
    }
    if let Some(opened) = submissions.of_stored(file) {
        let (tenant, id) = (request.tenant(), context.id()?);
        context.store().open_file(tenant, id, opened, context.now()).await?;
    }
    let url = bucket.preview_url(file.key(), context.now()).await;
    let url = url.map_err(|error| tracing::error!(trouble = %error, "a preview could not be signed"));
    Ok(url.ok().map(Preview::Shown))
}

fn note_row<'n>(note: &'n Note, zone: &Zone) -> NoteRow<'n> {
    NoteRow {
        id: note.id.get(),
        text: note.text.as_str(),
        at: zone.minute(note.created_at),
        author: actor(&note.actor),
    }
}

/// Says who ended an application, where and for which reason in the list.
fn ended(Rejection { cause, stage }: Rejection<'_>, listed: Option<&str>) -> String {
    let how = match cause.by {
        EndedBy::Team => "Rejected by the team",
        EndedBy::Candidate => "Withdrawn by the candidate",
    };
    let stage = stage.map(|stage| format!(" at the {} stage", stage.as_str())).unwrap_or_default();
    let listed = listed.map(|name| format!(": {name}")).unwrap_or_default();
    format!("{how}{stage}{listed}")
}

/// The history, without the entries of files that the entry after them tells as a resume.
fn told_once(touchpoints: &[Touchpoint]) -> impl Iterator<Item = &Touchpoint> {
    let is_told = |index: usize, one: &Touchpoint| {
        let after = index.checked_sub(1).and_then(|after| touchpoints.get(after));
        matches!(one.kind, TouchpointKind::FileAdded { .. })
            && after.is_some_and(|after| after.at == one.at && after.resume().is_some())
    };
    let all = touchpoints.iter().enumerate().filter(move |(index, one)| !is_told(*index, one));
    all.map(|(_, one)| one)
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
        TouchpointKind::Reapplied { role_id, .. } => format!("Applied again for {}", title(*role_id)),
        TouchpointKind::OfferedAccepted { role_id, .. } => {
            format!("Details from the form for {} taken over", title(*role_id))
        }
        TouchpointKind::OfferedDismissed { role_id, .. } => {
            format!("Details from the form for {} dismissed", title(*role_id))
        }
        TouchpointKind::Updated { resume: Some(_), .. } => "Uploaded a resume file".to_owned(),
        TouchpointKind::Updated { fields, .. } => format!("Changed {}", fields.join(", ").replace('_', " ")),
        TouchpointKind::StageChanged { role_id, from, to } => {
            format!("Moved from {} to {}{}", from.as_str(), to.as_str(), of_role(role_id))
        }
        TouchpointKind::Rejected { role_id, from, reason, .. } => {
            let reason = reason.as_ref().map(|reason| format!(": {}", reason.as_str())).unwrap_or_default();
            format!("Rejected at the {} stage{}{reason}", from.as_str(), of_role(role_id))
        }
        TouchpointKind::Withdrawn { role_id, from, reason } => {
            let reason = reason.as_ref().map(|reason| format!(": {}", reason.as_str())).unwrap_or_default();
            format!("Withdrew at the {} stage{}{reason}", from.as_str(), of_role(role_id))
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
        TouchpointKind::FileAdded { kind, role_id, .. } => {
            format!("Added a file{}: {}", of_role(role_id), files::words(*kind))
        }
        TouchpointKind::FileDeleted { kind, role_id, .. } => {
            format!("Deleted a file{}: {}", of_role(role_id), files::words(*kind))
        }
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
        TouchpointKind::ScreenReviewed { role_id, decision, .. } => {
            let decision = decision.map_or("reviewed", ReviewDecision::as_str);
            format!("Result of the voice screen for {} {decision}", title(*role_id))
        }
        TouchpointKind::ScreenCompleted { role_id, result, .. } => match result {
            Some(result) => format!("Completed a voice screen for {}: {}", title(*role_id), result.as_str()),
            None => format!("Completed a voice screen for {}", title(*role_id)),
        },
    }
}
