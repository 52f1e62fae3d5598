//! Candidates: people and their progress through the hiring pipeline.
//!
//! | Method | Path | Description |
//! |---|---|---|
//! | GET | `/api/v1/candidates` | list, optionally by `role_id` and `stage` |
//! | POST | `/api/v1/candidates` | create; with `role_id`, also apply for that role |
//! | GET | `/api/v1/candidates/{id}` | show with applications, voice screens and touchpoints |
//! | PATCH | `/api/v1/candidates/{id}` | update |
//! | POST | `/api/v1/candidates/{id}/advance` | move to another open stage |
//! | POST | `/api/v1/candidates/{id}/reject` | open stage -> rejected |
//! | POST | `/api/v1/candidates/{id}/unreject` | rejected -> the previous stage |
//! | POST | `/api/v1/candidates/{id}/hire` | open stage -> hired |
//! | POST | `/api/v1/candidates/{id}/unhire` | undoes a hire: the application for the role `role_id`, or the one that was hired last, returns to the stage before |
//! | POST | `/api/v1/candidates/{id}/applications` | apply for a role |
//! | POST | `/api/v1/candidates/{id}/invite_screen` | invite to a voice screen |

mod candidate;
mod moves;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use shared::http::{ApiRequest, Change, Collection, Created, Error, Fields, Input, Listing, Reply, Row};
use shared::id::Id;
use shared::model::schema::string;
use shared::model::{
    self, ApplicationStatus, CandidateRecord, Email, Invitation, Name, OpenScreen, Phone, Profile, Resume,
    Role, Scalar, Scope, ScreenRecord, Source, Stage, Step, Touchpoint, TouchpointKind, Value, WebAddress,
};
use shared::resources::application::Application;
use shared::resources::resume::ResumeLinks;
use shared::resources::screen::Screen;
use shared::services::applying::{Applicant, apply_for};
use shared::store::{self, CandidatePage};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AnyOfBuilder, Schema};

use candidate::{Candidate, find, find_with_role};

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/candidates", Scope::CandidatesRead, list),
        R::new("POST /api/v1/candidates", Scope::CandidatesWrite, create),
        R::new("GET /api/v1/candidates/{id}", Scope::CandidatesRead, show),
        R::new("PATCH /api/v1/candidates/{id}", Scope::CandidatesWrite, update),
        R::new("POST /api/v1/candidates/{id}/advance", Scope::CandidatesWrite, moves::advance),
        R::new("POST /api/v1/candidates/{id}/reject", Scope::CandidatesWrite, moves::reject),
        R::new("POST /api/v1/candidates/{id}/unreject", Scope::CandidatesWrite, moves::unreject),
        R::new("POST /api/v1/candidates/{id}/hire", Scope::CandidatesWrite, moves::hire),
        R::new("POST /api/v1/candidates/{id}/unhire", Scope::CandidatesWrite, moves::unhire),
        R::new("POST /api/v1/candidates/{id}/applications", Scope::CandidatesWrite, apply),
        R::new("POST /api/v1/candidates/{id}/invite_screen", Scope::CandidatesWrite, invite_screen),
    ]
}

const UNKNOWN_ROLE: &str = "role_id must be the id of a role";
/// The maximum time ahead that a screen can be scheduled.
const MAX_LEAD_TIME: SignedDuration = SignedDuration::from_hours(90 * 24);

/// A candidate in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListedCandidate {
    #[serde(flatten)]
    candidate: Candidate,
    /// The application for the role that the list is filtered by, otherwise `null`.
    application: Option<ApplicationState>,
}

/// The state of an application.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationState {
    /// The identifier.
    id: Id,
    /// The stage.
    stage: Stage,
    /// The status.
    status: ApplicationStatus,
}

/// A candidate with applications, voice screens and history.
#[derive(Debug, Serialize, ToSchema)]
pub struct CandidateDetail {
    #[serde(flatten)]
    candidate: Candidate,
    /// The applications, newest first.
    applications: Vec<Application>,
    /// The voice screens, newest first.
    voice_screens: Vec<Screen>,
    /// The candidate's history, newest first.
    touchpoints: Vec<Touchpoint>,
}

/// Filters for the list of candidates.
pub struct CandidateFilter {
    /// Returns only candidates who have applied for this role.
    role_id: Option<Id>,
    /// Returns only candidates in this stage; with `role_id`, only those whose application for that role is in it.
    stage: Option<Stage>,
}

impl Input for CandidateFilter {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        Some(Self { role_id: fields.optional("role_id"), stage: fields.optional("stage") })
    }
}

/// A candidate to create, optionally with a first application.
pub struct NewCandidate {
    profile: Profile,
    /// An open role that the candidate applies for.
    role_id: Option<Id>,
}

impl Input for NewCandidate {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let (name, email) = (fields.required("name"), fields.required("email"));
        let (phone, resume_url) = (fields.optional("phone"), fields.optional("resume_url"));
        let role_id = fields.optional("role_id");
        Some(Self {
            profile: Profile { name: name?, email: email?, phone, resume: resume_url.map(Resume::Address) },
            role_id,
        })
    }
}

/// Changes to a candidate.
pub struct CandidatePatch {
    name: Option<Name>,
    email: Option<Email>,
    phone: Change<Phone>,
    resume_url: Change<ResumeAddress>,
}

/// A resume URL in a PATCH. A client may send back one of our own signed links, which exceed the maximum length of a
/// `WebAddress`, so a signed link is validated only if it is not the link to the candidate's current file.
struct ResumeAddress(WebAddress);

/// The form of signed links, on S3 or the local service.
const SIGNED_LINK: &str = concat!(
    r"^https?://(?:(?:[a-z0-9]+[.-])*[a-z]+|127\.0\.0\.1:(?:[1-9][0-9]{3}|[1-5][0-9]{4}|60[0-9]{3}))",
    r"/[A-Za-z0-9/._-]*\?[A-Za-z0-9%&=._~+*-]*X-Amz-Signature=[0-9a-f]*$",
);

impl Value for ResumeAddress {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        let address = match scalar {
            Scalar::Text(text) if text.contains("X-Amz-Signature=") => {
                Some(WebAddress::made(text.trim().to_owned()))
            }
            scalar => WebAddress::read(scalar)?,
        };
        Ok(address.map(Self))
    }

    fn schema() -> RefOr<Schema> {
        let link = string().pattern(Some(SIGNED_LINK));
        let link = link.description(Some("The link to the candidate's file from an earlier response."));
        AnyOfBuilder::new().item(WebAddress::schema()).item(link).into()
    }
}

impl Input for CandidatePatch {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        Some(Self {
            name: fields.replacement("name"),
            email: fields.replacement("email"),
            phone: fields.change("phone"),
            resume_url: fields.change("resume_url"),
        })
    }
}

/// An application to create.
pub struct NewApplication {
    /// An open role that the candidate has not applied for yet.
    role_id: Id,
    /// Where the application came from; `api` by default.
    source: Option<Source>,
}

impl Input for NewApplication {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let (role_id, source) = (fields.required("role_id"), fields.optional("source"));
        Some(Self { role_id: role_id?, source })
    }
}

/// A voice screen to create.
pub struct NewScreen {
    /// An open or paused role.
    role_id: Id,
    /// When to call, at most 90 days ahead. If absent, the call is made immediately.
    scheduled_at: Option<Timestamp>,
}

impl Input for NewScreen {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let role_id = fields.required("role_id");
        let scheduled_at = fields.optional("scheduled_at");
        Some(Self { role_id: role_id?, scheduled_at })
    }
}

/// Lists candidates, newest first. `role_id` and `stage` narrow the list and can be combined.
async fn list(
    request: ApiRequest<Listing<CandidateFilter>>,
) -> Result<Reply<Collection<ListedCandidate>>, Error> {
    let (filter, page) = request.listing()?;
    let candidates = request
        .context
        .store()
        .list_candidates(request.tenant(), filter.role_id, filter.stage, &page)
        .await?;
    let people = candidates.items.iter().map(|(candidate, _)| candidate);
    let links = ResumeLinks::of_candidates(request.context.providers(), request.context.now(), people).await;
    request.reply(candidates, |(candidate, application)| ListedCandidate {
        candidate: Candidate::of(candidate, &links),
        application: application.map(ApplicationState::from),
    })
}

/// Creates a candidate. With `role_id`, the candidate also applies for that role.
///
/// # Errors
///
/// - `duplicate`: another candidate has the e-mail address; `existing` is that candidate.
async fn create(request: ApiRequest<NewCandidate>) -> Result<Reply<Created<Candidate>>, Error> {
    let NewCandidate { profile, role_id } = request.input()?;
    let mut record = CandidateRecord::new(request.context.ids().next(), profile, request.context.now());
    let address = request.address("candidates", record.candidate.id);
    let mut transaction = request.transaction();
    if let Some(role_id) = role_id {
        let role =
            request.context.store().find_role(request.tenant(), role_id).await?.ok_or_else(unknown_role)?;
        let (applicant, author) = (Applicant::New(record), request.author());
        (record, _) = apply_for(&mut transaction, applicant, &role, Source::MANUAL, None, &author)?;
    } else {
        let created = TouchpointKind::Created { source: Source::MANUAL };
        transaction.insert_candidate(record.clone(), &request.author().touchpoints([created]))?;
    }
    request.commit(transaction, reply(&request, record.candidate).await?.created(address)).await
}

/// Returns a candidate with all applications, voice screens and touchpoints.
async fn show(request: ApiRequest<()>) -> Result<Reply<CandidateDetail>, Error> {
    let page = request
        .context
        .store()
        .find_candidate_page(request.tenant(), request.context.id()?)
        .await?
        .ok_or(Error::NotFound)?;
    request.input()?;
    let page = with_current_roles(&request, page).await?;
    let links = ResumeLinks::of_page(request.context.providers(), request.context.now(), &page).await;
    let identity = CandidateDetail::of(page.clone(), &ResumeLinks::Keys);
    Reply::resource_as(&CandidateDetail::of(page, &links), &identity)
}

/// Updates the fields that are sent. A value sets a field, `null` clears it, and an absent field stays unchanged. A
/// no-op PATCH writes nothing.
///
/// # Errors
///
/// - `duplicate`: another candidate has the e-mail address; `existing` is that candidate.
async fn update(request: ApiRequest<CandidatePatch>) -> Result<Reply<Candidate>, Error> {
    let before = find(&request).await?;
    let patch = request.input()?;
    // `If-Match` may contain the ETag of the candidate or of the candidate's detail.
    if request.check_precondition(&Candidate::of(before.candidate.clone(), &ResumeLinks::Keys)).is_err() {
        let page = request.context.store().find_candidate_page(request.tenant(), before.candidate.id).await?;
        let page = page.ok_or(Error::NotFound)?;
        let page = with_current_roles(&request, page).await?;
        request.check_precondition(&CandidateDetail::of(page, &ResumeLinks::Keys))?;
    }
    let links =
        ResumeLinks::of_candidates(request.context.providers(), request.context.now(), [&before.candidate])
            .await;
    let current = before.candidate.profile.clone();
    let profile = Profile {
        name: patch.name.unwrap_or(current.name),
        email: patch.email.unwrap_or(current.email),
        phone: patch.phone.apply(current.phone),
        resume: match patch.resume_url {
            // If the client sends back the link from a response, the current file is kept.
            Change::Set(ResumeAddress(address)) if !links.lead_to(current.resume.as_ref(), &address) => {
                let address = address.as_str().parse();
                Some(Resume::Address(
                    address.map_err(|wrong| Error::Validation(vec![format!("resume_url {wrong}")]))?,
                ))
            }
            Change::Clear => None,
            Change::Set(_) | Change::Keep => current.resume,
        },
    };
    let fields = changed_fields(&before.candidate.profile, &profile);
    if fields.is_empty() {
        return reply(&request, before.candidate).await;
    }
    let after = before.clone().edit(profile, request.context.now());
    replace(&request, &before, after, TouchpointKind::Updated { fields, resume: None }).await
}

/// Creates an application for an open role. A candidate can apply for a role only once, and for at most 200 roles.
///
/// # Errors
///
/// - `duplicate`: the candidate has already applied for the role; `existing` is the application.
async fn apply(request: ApiRequest<NewApplication>) -> Result<Reply<Created<Application>>, Error> {
    let (before, role) = find_with_role(&request, |input: &NewApplication| input.role_id).await?;
    let NewApplication { source, .. } = request.input()?;
    let role = role.ok_or_else(unknown_role)?;
    let candidate_id = before.candidate.id;
    let mut transaction = request.transaction();
    let (applicant, author) = (Applicant::Known(before), request.author());
    let source = source.unwrap_or(Source::API);
    let (_, application) = apply_for(&mut transaction, applicant, &role, source, None, &author)?;
    let address = request.address("applications", application.id);
    let reply = Reply::resource(&Application::of(candidate_id, &application))?.created(address);
    request.commit(transaction, reply).await
}

/// Invites a candidate to a voice screen for a role. The call is made immediately or at `scheduled_at`.
///
/// # Errors
///
/// - `invalid_transition`: the candidate is hired or rejected.
/// - `channel_not_connected`: no voice provider is set up.
async fn invite_screen(request: ApiRequest<NewScreen>) -> Result<Reply<Created<Screen>>, Error> {
    let mode = request.organization().mode;
    let (before, role) = find_with_role(&request, |input: &NewScreen| input.role_id).await?;
    let NewScreen { role_id, scheduled_at } = request.input()?;
    let voice = request.context.providers().voice(mode);
    let mut messages = Vec::new();
    match &role {
        None => messages.push(UNKNOWN_ROLE.to_owned()),
        Some(role) => {
            let error = before.check_invitation(role).err();
            messages.extend(error.map(|error| error.to_string()));
        }
    }
    messages.extend(check_schedule(scheduled_at, request.context.now()).map(str::to_owned));
    let needs_phone = voice.as_ref().is_some_and(|voice| voice.needs_phone());
    if needs_phone && before.candidate.profile.phone.is_none() {
        messages.push("phone can't be blank: the candidate has no number to call".to_owned());
    }
    let (Some(role), true) = (role, messages.is_empty()) else { return Err(Error::Validation(messages)) };
    let voice = voice.ok_or_else(|| {
        Error::ChannelNotConnected("voice calls are not set up: no voice provider is configured".to_owned())
    })?;
    let (id, candidate_id) = (request.context.ids().next(), before.candidate.id);
    let now = request.context.now();
    let current = with_roles(before.clone(), [&role], now);
    let invited = current.invite(OpenScreen { id, role_id }, now)?;
    let invitation = Invitation { id, candidate_id, role_id, scheduled_at };
    let order_at = voice.order_at(scheduled_at, now);
    let screen = ScreenRecord::invited(
        invitation,
        voice.provider(),
        order_at,
        request.context.base_url().to_owned(),
        now,
    );

    let mut transaction = request.transaction();
    transaction.require_role(&role);
    transaction.insert_screen(&screen)?;
    let mut kinds = vec![TouchpointKind::ScreenInvited { screen_id: id, role_id, scheduled_at }];
    let moved = |Step { role_id, from, to }| TouchpointKind::StageChanged { role_id, from, to };
    kinds.extend(invited.steps.into_iter().map(moved));
    transaction.replace_candidate(&before, &invited.record, &request.author().touchpoints(kinds))?;
    let address = request.address("voice_screens", id);
    request.commit(transaction, Reply::resource(&Screen::from(screen.screen))?.created(address)).await
}

/// Replaces a candidate and records the change as a touchpoint.
async fn replace<I>(
    request: &ApiRequest<I>,
    before: &CandidateRecord,
    after: CandidateRecord,
    kind: TouchpointKind,
) -> Result<Reply<Candidate>, Error> {
    let mut transaction = request.transaction();
    transaction.replace_candidate(before, &after, &request.author().touchpoints([kind]))?;
    request.commit(transaction, reply(request, after.candidate).await?).await
}

/// Returns the response with a candidate. Its `ETag` does not depend on resume links, because they expire.
async fn reply<I>(request: &ApiRequest<I>, candidate: model::Candidate) -> Result<Reply<Candidate>, Error> {
    let links =
        ResumeLinks::of_candidates(request.context.providers(), request.context.now(), [&candidate]).await;
    let identity = Candidate::of(candidate.clone(), &ResumeLinks::Keys);
    Reply::resource_as(&Candidate::of(candidate, &links), &identity)
}

/// Updates the copies of the roles in a candidate's applications.
async fn with_current_roles<I>(request: &ApiRequest<I>, page: CandidatePage) -> Result<CandidatePage, Error> {
    let roles = page.record.applications.iter().map(|application| application.role.id);
    let roles = request.context.store().find_roles(request.tenant(), roles).await?;
    let at = page.record.candidate.updated_at;
    Ok(CandidatePage { record: with_roles(page.record, roles.values(), at), ..page })
}

/// Returns the record with current copies of these roles.
fn with_roles<'r>(
    record: CandidateRecord,
    roles: impl IntoIterator<Item = &'r Role>,
    now: Timestamp,
) -> CandidateRecord {
    record.clone().follow(roles, now).map_or(record, |followed| followed.record)
}

fn changed_fields(before: &Profile, after: &Profile) -> Vec<String> {
    let fields = [
        ("name", before.name != after.name),
        ("email", before.email != after.email),
        ("phone", before.phone != after.phone),
        ("resume_url", before.resume != after.resume),
    ];
    fields.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name.to_owned()).collect()
}

/// Returns a validation message if no screen can be scheduled at this time.
fn check_schedule(scheduled_at: Option<Timestamp>, now: Timestamp) -> Option<&'static str> {
    let lead_time = scheduled_at?.duration_since(now);
    if !lead_time.is_positive() {
        return Some("scheduled_at must be in the future");
    }
    (lead_time > MAX_LEAD_TIME).then_some("scheduled_at must be within 90 days")
}

fn unknown_role() -> Error {
    Error::Validation(vec![UNKNOWN_ROLE.to_owned()])
}

impl CandidateDetail {
    fn of(page: CandidatePage, links: &ResumeLinks) -> Self {
        let CandidatePage { record, screens, touchpoints } = page;
        let applications = record.applications.iter().rev();
        Self {
            applications: applications
                .map(|application| Application::of(record.candidate.id, application))
                .collect(),
            candidate: Candidate::of(record.candidate, links),
            voice_screens: screens.into_iter().map(Screen::from).collect(),
            touchpoints: touchpoints.into_iter().map(|touchpoint| links.link(touchpoint)).collect(),
        }
    }
}

impl From<store::Applicant> for ApplicationState {
    fn from(applicant: store::Applicant) -> Self {
        Self { id: applicant.application_id, stage: applicant.stage, status: applicant.status }
    }
}
