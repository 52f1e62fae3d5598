//! Candidates: people on their way through the pipeline.
//!
//! | Method | Path | What |
//! |---|---|---|
//! | GET | `/api/v1/candidates` | list, by `role_id` and `stage` where given |
//! | POST | `/api/v1/candidates` | create; with `role_id`, applies at once |
//! | GET | `/api/v1/candidates/{id}` | show with applications, voice screens and touchpoints |
//! | PATCH | `/api/v1/candidates/{id}` | update |
//! | POST | `/api/v1/candidates/{id}/advance` | to another of the four stages |
//! | POST | `/api/v1/candidates/{id}/reject` | any of the four -> rejected |
//! | POST | `/api/v1/candidates/{id}/unreject` | rejected -> the stage before |
//! | POST | `/api/v1/candidates/{id}/hire` | any of the four -> hired |
//! | POST | `/api/v1/candidates/{id}/applications` | apply for a role |
//! | POST | `/api/v1/candidates/{id}/invite_screen` | invite to a voice screen |

use std::collections::HashMap;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use shared::http::{
    Added, Call, Change, Collection, Created, Error, Fields, Input, Listing, Reply, Row, Scalar, Value,
};
use shared::id::Id;
use shared::model::schema::string;
use shared::model::{
    self, Application, ApplicationStatus, CandidateFile, Email, Happening, Invitation, Name, Notes,
    OpenScreen, Phone, Profile, Reason, Resume, RoleStatus, Scope, ScreenFile, Source, Stage, Title,
    Touchpoint, VoiceProvider, WebAddress,
};
use shared::resources::resume::ResumeLinks;
use shared::resources::screen::Screen;
use shared::store::{CandidatePage, Writes};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AnyOfBuilder, Schema};

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/candidates", Scope::CandidatesRead, list),
        R::new("POST /api/v1/candidates", Scope::CandidatesWrite, create),
        R::new("GET /api/v1/candidates/{id}", Scope::CandidatesRead, show),
        R::new("PATCH /api/v1/candidates/{id}", Scope::CandidatesWrite, update),
        R::new("POST /api/v1/candidates/{id}/advance", Scope::CandidatesWrite, advance),
        R::new("POST /api/v1/candidates/{id}/reject", Scope::CandidatesWrite, reject),
        R::new("POST /api/v1/candidates/{id}/unreject", Scope::CandidatesWrite, unreject),
        R::new("POST /api/v1/candidates/{id}/hire", Scope::CandidatesWrite, hire),
        R::new("POST /api/v1/candidates/{id}/applications", Scope::CandidatesWrite, apply),
        R::new("POST /api/v1/candidates/{id}/invite_screen", Scope::CandidatesWrite, invite_screen),
    ]
}

/// Roles' titles and statuses.
type Titles = HashMap<Id, (Title, RoleStatus)>;

const NO_SUCH_ROLE: &str = "role_id must be the id of a role";
/// The furthest that a screen can be scheduled ahead.
const SCHEDULE: SignedDuration = SignedDuration::from_hours(90 * 24);

/// A candidate, as clients see it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Candidate {
    /// The identifier.
    id: Id,
    /// The name.
    name: Name,
    /// The e-mail address, unique in the organization, upper and lower case being the same.
    email: Email,
    /// The telephone number, with its country code.
    phone: Option<Phone>,
    /// Where the résumé is.
    #[schema(value_type = Option<String>)]
    resume_url: Option<WebAddress>,
    /// Where the candidate stands; only moves change it.
    stage: Stage,
    /// When the candidate was created.
    created_at: Timestamp,
    /// When the candidate last changed.
    updated_at: Timestamp,
}

/// A candidate with everything about it.
#[derive(Debug, Serialize, ToSchema)]
pub struct CandidateDetail {
    #[serde(flatten)]
    candidate: Candidate,
    /// The applications, newest first.
    applications: Vec<ShownApplication>,
    /// The voice screens, newest first.
    voice_screens: Vec<Screen>,
    /// What has happened, newest first.
    touchpoints: Vec<Touchpoint>,
}

/// An application for a role.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Application)]
pub struct ShownApplication {
    /// The identifier.
    id: Id,
    /// The role.
    role_id: Id,
    /// The role's title.
    role_title: Title,
    /// Where it stands.
    status: ApplicationStatus,
    /// How it came in.
    source: Source,
    /// When.
    applied_at: Timestamp,
}

/// Which candidates to list.
pub struct CandidateFilter {
    /// Those who have applied for this role.
    role_id: Option<Id>,
    /// Those in this stage.
    stage: Option<Stage>,
}

impl Input for CandidateFilter {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        Some(Self { role_id: fields.optional("role_id"), stage: fields.optional("stage") })
    }
}

/// A candidate to be created, and the role to apply for at once.
pub struct NewCandidate {
    profile: Profile,
    /// An open role to apply for at once.
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

/// What a PATCH of a candidate changes.
pub struct CandidatePatch {
    name: Option<Name>,
    email: Option<Email>,
    phone: Change<Phone>,
    resume_url: Change<SentAddress>,
}

/// Where a résumé is said to be. It may be a link that we made, and those are longer than what is kept: what has a
/// signature is looked at once the candidate's own link is known.
struct SentAddress(WebAddress);

impl Value for SentAddress {
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
        let link = string().pattern(Some("X-Amz-Signature="));
        let link = link.description(Some("The link to the candidate's file, as an answer had it."));
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

/// Where to advance to.
pub struct Advance {
    /// Another of the four stages.
    stage: Stage,
}

impl Input for Advance {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let Ahead(stage) = fields.required("stage")?;
        Some(Self { stage })
    }
}

/// A stage that is no end.
struct Ahead(Stage);

impl Value for Ahead {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        match Stage::read(scalar) {
            Ok(Some(stage)) if !stage.is_end() => Ok(Some(Self(stage))),
            _ => Err("must be one of applied, screening, interview, offer".to_owned()),
        }
    }

    fn schema() -> RefOr<Schema> {
        let ahead = Stage::ALL.into_iter().filter(|stage| !stage.is_end()).map(Stage::as_str);
        string().enum_values(Some(ahead)).into()
    }
}

/// Why a candidate is rejected.
pub struct Rejection {
    /// Why.
    reason: Option<Reason>,
    /// What there is to say about it.
    notes: Option<Notes>,
}

impl Input for Rejection {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        Some(Self { reason: fields.optional("reason"), notes: fields.optional("notes") })
    }
}

/// When a candidate starts.
pub struct Hire {
    /// The first day at work.
    start_date: Option<Date>,
}

impl Input for Hire {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        Some(Self { start_date: fields.optional("start_date") })
    }
}

/// What to apply for.
pub struct NewApplication {
    /// An open role that the candidate has not applied for.
    role_id: Id,
}

impl Input for NewApplication {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        Some(Self { role_id: fields.required("role_id")? })
    }
}

/// What to be screened for, and when.
pub struct NewScreen {
    /// An open or paused role.
    role_id: Id,
    /// When the call is to be made, within the next 90 days; at once where it is not given.
    scheduled_at: Option<Timestamp>,
}

impl Input for NewScreen {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let role_id = fields.required("role_id");
        let scheduled_at = fields.optional("scheduled_at");
        Some(Self { role_id: role_id?, scheduled_at })
    }
}

/// Lists the organization's candidates, newest first: those who have applied for a role, those in a stage, or both.
async fn list(call: Call<Listing<CandidateFilter>>) -> Result<Reply<Collection<Candidate>>, Error> {
    let (filter, page) = call.listing()?;
    let candidates = call.store().list_candidates(call.tenant(), filter.role_id, filter.stage, &page).await?;
    let links = ResumeLinks::of_candidates(call.providers(), call.now(), &candidates.items).await;
    call.reply(candidates, |candidate| Candidate::of(candidate, &links))
}

/// Creates a candidate; with `role_id`, the candidate applies for that role at once.
async fn create(call: Call<NewCandidate>) -> Result<Reply<Created<Candidate>>, Error> {
    let NewCandidate { profile, role_id } = call.input()?;
    let mut file = CandidateFile::new(call.new_id(), profile, call.now());
    let id = file.candidate.id;
    let mut writes = call.writes();
    let mut happenings = vec![Happening::Created { source: Source::Manual }];
    if let Some(role_id) = role_id {
        let role = call.store().find_role(call.tenant(), role_id).await?.ok_or_else(no_such_role)?;
        file = file.apply(call.new_id(), role_id, role.status, Source::Manual, call.now())?;
        // It was created with the application, so that it is still in its first version.
        file.version = 1;
        happenings.push(insert_application(&mut writes, &file)?.1);
        writes.require_role(&role);
    }
    writes.insert_candidate(&file)?;
    note(&call, &mut writes, &file, happenings)?;
    let address = call.address("candidates", id);
    call.commit(writes, reply(&call, file.candidate).await?.created(address)).await
}

/// Shows a candidate with all applications, voice screens and touchpoints.
async fn show(call: Call<()>) -> Result<Reply<CandidateDetail>, Error> {
    let page = call.store().find_candidate_page(call.tenant(), call.id()?).await?.ok_or(Error::NotFound)?;
    call.input()?;
    let titles = titles(&call, &page).await?;
    let links = ResumeLinks::of_page(call.providers(), call.now(), &page).await;
    let identity = CandidateDetail::of(page.clone(), &titles, &ResumeLinks::Keys);
    Reply::resource_as(&CandidateDetail::of(page, &titles, &links), &identity)
}

/// Changes the fields that are sent: a value sets, `null` clears, absence leaves as it is. What changes nothing writes
/// nothing.
async fn update(call: Call<CandidatePatch>) -> Result<Reply<Candidate>, Error> {
    let before = find(&call).await?;
    let patch = call.input()?;
    // The tag may be that of the candidate by itself, or of its page.
    if call.check_precondition(&Candidate::of(before.candidate.clone(), &ResumeLinks::Keys)).is_err() {
        let page = call.store().find_candidate_page(call.tenant(), before.candidate.id).await?;
        let page = page.ok_or(Error::NotFound)?;
        let titles = titles(&call, &page).await?;
        call.check_precondition(&CandidateDetail::of(page, &titles, &ResumeLinks::Keys))?;
    }
    let links = ResumeLinks::of_candidates(call.providers(), call.now(), [&before.candidate]).await;
    let current = before.candidate.profile.clone();
    let profile = Profile {
        name: patch.name.unwrap_or(current.name),
        email: patch.email.unwrap_or(current.email),
        phone: patch.phone.apply(current.phone),
        resume: match patch.resume_url {
            // Whoever sends back what they were shown means the file that is there.
            Change::Set(SentAddress(address)) if !links.lead_to(current.resume.as_ref(), &address) => {
                let address = address.as_str().parse();
                Some(Resume::Address(
                    address.map_err(|what| Error::Validation(vec![format!("resume_url {what}")]))?,
                ))
            }
            Change::Clear => None,
            Change::Set(_) | Change::Keep => current.resume,
        },
    };
    let fields = changed_fields(&before.candidate.profile, &profile);
    if fields.is_empty() {
        return reply(&call, before.candidate).await;
    }
    let file = before.clone().edit(profile, call.now());
    change(&call, &before, file, Happening::Updated { fields, resume: None }).await
}

/// Moves a candidate to another of the stages applied, screening, interview and offer.
///
/// # Errors
///
/// - `invalid_transition`: the candidate is in that stage already, hired or rejected.
async fn advance(call: Call<Advance>) -> Result<Reply<Candidate>, Error> {
    let before = find(&call).await?;
    let to = call.input()?.stage;
    let file = before.clone().advance(to, call.now())?;
    change(&call, &before, file, Happening::StageChanged { from: before.candidate.stage, to }).await
}

/// Rejects a candidate, and the active applications with it.
///
/// # Errors
///
/// - `invalid_transition`: the candidate is hired or rejected already.
async fn reject(call: Call<Rejection>) -> Result<Reply<Candidate>, Error> {
    let before = find(&call).await?;
    let Rejection { reason, notes } = call.input()?;
    let file = before.clone().reject(call.now())?;
    let rejected = Happening::Rejected { from: before.candidate.stage, reason, notes };
    change(&call, &before, file, rejected).await
}

/// Takes a rejection back: the candidate, and the applications that were rejected with it, stand where they stood.
///
/// # Errors
///
/// - `invalid_transition`: the candidate is not rejected.
async fn unreject(call: Call<()>) -> Result<Reply<Candidate>, Error> {
    let before = find(&call).await?;
    call.input()?;
    let file = before.clone().unreject(call.now())?;
    let to = file.candidate.stage;
    change(&call, &before, file, Happening::Unrejected { to }).await
}

/// Hires a candidate, and marks the active applications with it.
///
/// # Errors
///
/// - `invalid_transition`: the candidate is hired already, or rejected.
async fn hire(call: Call<Hire>) -> Result<Reply<Candidate>, Error> {
    let before = find(&call).await?;
    let Hire { start_date } = call.input()?;
    let file = before.clone().hire(call.now())?;
    change(&call, &before, file, Happening::Hired { from: before.candidate.stage, start_date }).await
}

/// Applies for an open role, once.
async fn apply(call: Call<NewApplication>) -> Result<Reply<Added<ShownApplication>>, Error> {
    let (before, role) = find_with_role(&call, |input: &NewApplication| input.role_id).await?;
    let role = role.ok_or_else(no_such_role)?;
    let file = before.clone().apply(call.new_id(), role.id, role.status, Source::Api, call.now())?;
    let mut writes = call.writes();
    writes.replace_candidate(&before, &file)?;
    writes.require_role(&role);
    let (application, applied) = insert_application(&mut writes, &file)?;
    note(&call, &mut writes, &file, [applied])?;
    let titles = HashMap::from([(role.id, (role.content.title, role.status))]);
    let shown = ShownApplication::of(&application, &titles).ok_or(Error::NotFound)?;
    call.commit(writes, Reply::ok(&shown)?.created_without_address()).await
}

/// Invites a candidate to a voice screen for a role. The call follows: at once, or at `scheduled_at`.
///
/// # Errors
///
/// - `invalid_transition`: the candidate is hired or rejected.
/// - `channel_not_connected`: no voice provider is set up.
async fn invite_screen(call: Call<NewScreen>) -> Result<Reply<Created<Screen>>, Error> {
    let mode = call.organization().mode;
    let (before, role) = find_with_role(&call, |input: &NewScreen| input.role_id).await?;
    let NewScreen { role_id, scheduled_at } = call.input()?;
    let provider = call.providers().voice_provider(mode);
    let mut wrong = Vec::new();
    match &role {
        None => wrong.push(NO_SUCH_ROLE.to_owned()),
        Some(role) => {
            let refused = before.check_invitation(role_id, role.status).err();
            wrong.extend(refused.map(|refused| refused.to_string()));
        }
    }
    wrong.extend(wrong_schedule(scheduled_at, call.now()).map(str::to_owned));
    if provider == Some(VoiceProvider::Vapi) && before.candidate.profile.phone.is_none() {
        wrong.push("phone can't be blank: the candidate has no number to call".to_owned());
    }
    let (Some(role), true) = (role, wrong.is_empty()) else { return Err(Error::Validation(wrong)) };
    let provider = provider.ok_or_else(|| {
        Error::ChannelNotConnected("voice calls are not set up: no voice provider is configured".to_owned())
    })?;
    let (id, candidate_id) = (call.new_id(), before.candidate.id);
    let after = before.clone().invite(OpenScreen { id, role_id }, call.now())?;
    let invitation = Invitation { id, candidate_id, role_id, scheduled_at };
    let screen = ScreenFile::invited(invitation, provider, call.base_url().to_owned(), call.now());

    let mut writes = call.writes();
    writes.replace_candidate(&before, &after)?;
    writes.require_role(&role);
    writes.insert_screen(&screen)?;
    let mut happenings = vec![Happening::ScreenInvited { screen_id: id, role_id, scheduled_at }];
    let (from, to) = (before.candidate.stage, after.candidate.stage);
    if from != to {
        happenings.push(Happening::StageChanged { from, to });
    }
    note(&call, &mut writes, &after, happenings)?;
    let address = call.address("voice_screens", id);
    call.commit(writes, Reply::resource(&Screen::from(screen.screen))?.created(address)).await
}

async fn find<I>(call: &Call<I>) -> Result<CandidateFile, Error> {
    call.store().find_candidate(call.tenant(), call.id()?).await?.ok_or(Error::NotFound)
}

/// The candidate in the path, and the role in the body if the tenant has it. Where the body names none, the candidate
/// must exist all the same: existence goes before validation.
async fn find_with_role<I: Input>(
    call: &Call<I>,
    role_id: impl Fn(&I) -> Id,
) -> Result<(CandidateFile, Option<model::Role>), Error> {
    let id = call.id()?;
    let role_id = match call.input() {
        Ok(input) => role_id(&input),
        Err(invalid) => {
            find(call).await?;
            return Err(invalid);
        }
    };
    let (file, role) = call.store().find_candidate_and_role(call.tenant(), id, role_id).await?;
    Ok((file.ok_or(Error::NotFound)?, role))
}

async fn change<I>(
    call: &Call<I>,
    before: &CandidateFile,
    file: CandidateFile,
    happening: Happening,
) -> Result<Reply<Candidate>, Error> {
    let mut writes = call.writes();
    writes.replace_candidate(before, &file)?;
    note(call, &mut writes, &file, [happening])?;
    call.commit(writes, reply(call, file.candidate).await?).await
}

/// The reply that shows a candidate. Its tag does not change with the links, which expire.
async fn reply<I>(call: &Call<I>, candidate: model::Candidate) -> Result<Reply<Candidate>, Error> {
    let links = ResumeLinks::of_candidates(call.providers(), call.now(), [&candidate]).await;
    let identity = Candidate::of(candidate.clone(), &ResumeLinks::Keys);
    Reply::resource_as(&Candidate::of(candidate, &links), &identity)
}

/// Writes the candidate's latest application, which is new, and says what has happened.
fn insert_application(writes: &mut Writes, file: &CandidateFile) -> Result<(Application, Happening), Error> {
    let application = file.applications.last().cloned().ok_or(Error::NotFound)?;
    writes.insert_application(&file.candidate, &application)?;
    let Application { id: application_id, role_id, source, .. } = application;
    Ok((application, Happening::Applied { application_id, role_id, source, submission: None }))
}

/// Notes in the history what has made this version of a candidate.
fn note<I>(
    call: &Call<I>,
    writes: &mut Writes,
    file: &CandidateFile,
    happenings: impl IntoIterator<Item = Happening>,
) -> Result<(), Error> {
    let touchpoint =
        |happening| Touchpoint { id: call.new_id(), happening, at: call.now(), actor: call.actor() };
    let touchpoints: Vec<_> = happenings.into_iter().map(touchpoint).collect();
    Ok(writes.insert_touchpoints(file, &touchpoints)?)
}

/// What the candidate's applications are for.
async fn titles<I>(call: &Call<I>, page: &CandidatePage) -> Result<Titles, Error> {
    let roles = page.file.applications.iter().map(|application| application.role_id);
    Ok(call.store().find_role_titles(call.tenant(), roles).await?)
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

fn wrong_schedule(scheduled_at: Option<Timestamp>, now: Timestamp) -> Option<&'static str> {
    let ahead = scheduled_at?.duration_since(now);
    if !ahead.is_positive() {
        return Some("scheduled_at must be in the future");
    }
    (ahead > SCHEDULE).then_some("scheduled_at must be within 90 days")
}

fn no_such_role() -> Error {
    Error::Validation(vec![NO_SUCH_ROLE.to_owned()])
}

impl Candidate {
    fn of(candidate: model::Candidate, links: &ResumeLinks) -> Self {
        let Profile { name, email, phone, resume } = candidate.profile;
        Self {
            id: candidate.id,
            name,
            email,
            phone,
            resume_url: resume.and_then(|resume| links.address(&resume)),
            stage: candidate.stage,
            created_at: candidate.created_at,
            updated_at: candidate.updated_at,
        }
    }
}

impl CandidateDetail {
    fn of(page: CandidatePage, titles: &Titles, links: &ResumeLinks) -> Self {
        let CandidatePage { file, screens, touchpoints } = page;
        let applications = file.applications.iter().rev();
        Self {
            applications: applications
                .filter_map(|application| ShownApplication::of(application, titles))
                .collect(),
            candidate: Candidate::of(file.candidate, links),
            voice_screens: screens.into_iter().map(Screen::from).collect(),
            touchpoints: touchpoints.into_iter().map(|touchpoint| links.link(touchpoint)).collect(),
        }
    }
}

impl ShownApplication {
    /// `None` where the role's title is not at hand.
    fn of(application: &Application, titles: &Titles) -> Option<Self> {
        let (role_title, status) = titles.get(&application.role_id)?.clone();
        Some(Self {
            id: application.id,
            role_id: application.role_id,
            role_title,
            status: application.status.seen_with(status),
            source: application.source,
            applied_at: application.applied_at,
        })
    }
}
