//! Candidates: people and their progress through the hiring pipeline.
//!
//! | Method | Path | Description |
//! |---|---|---|
//! | GET | `/api/v1/candidates` | list, optionally by `role_id` and `stage`; find by `email`, `phone`, `external_id`, `source`, `tag` or `q` |
//! | POST | `/api/v1/candidates` | create; with `role_id`, also apply for that role |
//! | GET | `/api/v1/candidates/{id}` | show with applications, voice screens and touchpoints |
//! | PATCH | `/api/v1/candidates/{id}` | update |
//! | GET | `/api/v1/candidates/{id}/touchpoints` | list the candidate's touchpoints |
//! | GET | `/api/v1/candidates/{id}/notes` | list the notes about the candidate |
//! | POST | `/api/v1/candidates/{id}/notes` | add a note |
//! | DELETE | `/api/v1/candidates/{id}/notes/{note_id}` | delete a note |
//! | POST | `/api/v1/candidates/{id}/consents` | record a consent or its withdrawal |
//! | POST | `/api/v1/candidates/{id}/advance` | move to another open stage |
//! | POST | `/api/v1/candidates/{id}/reject` | open stage -> rejected |
//! | POST | `/api/v1/candidates/{id}/unreject` | rejected -> the previous stage |
//! | POST | `/api/v1/candidates/{id}/hire` | open stage -> hired |
//! | POST | `/api/v1/candidates/{id}/unhire` | undoes a hire: the application for the role `role_id`, or the one that was hired last, returns to the stage before |
//! | POST | `/api/v1/candidates/{id}/applications` | apply for a role |
//! | POST | `/api/v1/candidates/{id}/invite_screen` | invite to a voice screen |
//! | GET | `/api/v1/candidates/{id}/export` | everything that is stored about a candidate, as one document |
//! | POST | `/api/v1/candidates/{id}/erase` | erase a candidate for good |
//! | PUT | `/api/v1/candidates/{id}/legal_hold` | set or replace the legal hold on a candidate |
//! | DELETE | `/api/v1/candidates/{id}/legal_hold` | lift the legal hold on a candidate |

mod candidate;
mod consents;
mod erasure;
mod filter;
mod moves;
mod notes;

use jiff::Timestamp;
use serde::Serialize;
use shared::http::{
    ApiRequest, Change, Collection, Created, Error, Fields, Input, Listing, Reply, Row, Unversioned,
};
use shared::id::Id;
use shared::model::schema::{integer, string};
use shared::model::{
    self, ApplicationStatus, AuditAction, CandidateRecord, ConsentPurpose, Email, ExternalId, Invitation,
    LegalHold, Name, OpenScreen, Phone, Profile, Resume, Role, Scalar, Scope, ScreenRecord, Source, Stage,
    Step, Tags, Touchpoint, TouchpointKind, Value, WebAddress,
};
use shared::resources::application::Application;
use shared::resources::candidate::Candidate;
use shared::resources::consent::Consent;
use shared::resources::export::CandidateExport;
use shared::resources::resume::ResumeLinks;
use shared::resources::screen::{Screen, ScreenAccess};
use shared::services::applying::{Applicant, apply_for};
use shared::services::calls::check_number;
use shared::services::screening;
use shared::store::{self, CandidatePage, Listed};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AnyOfBuilder, Schema};

use candidate::{find, find_with_role};
use consents::CallConsent;
use filter::CandidateFilter;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/candidates", Scope::CandidatesRead, list).reading(AuditAction::CandidatesListed),
        R::new("POST /api/v1/candidates", Scope::CandidatesWrite, create),
        R::new("GET /api/v1/candidates/{id}", Scope::CandidatesRead, show)
            .reading(AuditAction::CandidateRead),
        R::new("PATCH /api/v1/candidates/{id}", Scope::CandidatesWrite, update),
        R::new("GET /api/v1/candidates/{id}/touchpoints", Scope::CandidatesRead, list_touchpoints)
            .reading(AuditAction::TouchpointsListed),
        R::new("GET /api/v1/candidates/{id}/notes", Scope::CandidatesRead, notes::list_notes)
            .reading(AuditAction::NotesListed),
        R::new("POST /api/v1/candidates/{id}/notes", Scope::CandidatesWrite, notes::create_note),
        R::new("DELETE /api/v1/candidates/{id}/notes/{note_id}", Scope::CandidatesWrite, notes::delete_note),
        R::new("POST /api/v1/candidates/{id}/consents", Scope::CandidatesWrite, consents::create_consent),
        R::new("POST /api/v1/candidates/{id}/advance", Scope::CandidatesWrite, moves::advance),
        R::new("POST /api/v1/candidates/{id}/reject", Scope::CandidatesWrite, moves::reject),
        R::new("POST /api/v1/candidates/{id}/unreject", Scope::CandidatesWrite, moves::unreject),
        R::new("POST /api/v1/candidates/{id}/hire", Scope::CandidatesWrite, moves::hire),
        R::new("POST /api/v1/candidates/{id}/unhire", Scope::CandidatesWrite, moves::unhire),
        R::new("POST /api/v1/candidates/{id}/applications", Scope::CandidatesWrite, apply),
        R::new("POST /api/v1/candidates/{id}/invite_screen", Scope::CandidatesWrite, invite_screen),
        R::new(
            "GET /api/v1/candidates/{id}/export",
            [Scope::CandidatesRead, Scope::VoiceScreensRead],
            export,
        )
        .reading(AuditAction::CandidateExported),
        R::new("POST /api/v1/candidates/{id}/erase", Scope::CandidatesErase, erasure::erase),
        R::new("PUT /api/v1/candidates/{id}/legal_hold", Scope::CandidatesErase, erasure::set_legal_hold),
        R::new("DELETE /api/v1/candidates/{id}/legal_hold", Scope::CandidatesErase, erasure::lift_legal_hold),
    ]
}

const UNKNOWN_ROLE: &str = "role_id must be the id of a role";

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
    /// The legal hold, which forbids an erasure; `null` if there is none.
    #[schema(value_type = Option<LegalHold>)]
    legal_hold: Option<LegalHold>,
    /// The applications, newest first.
    applications: Vec<Application>,
    /// The voice screens, newest first.
    voice_screens: Vec<Screen>,
    /// The consents that count: for each purpose, the one with the latest `obtained_at`.
    consents: Vec<Consent>,
    /// The candidate's history, newest first; with the parameter `touchpoints`, only the newest part of it.
    touchpoints: Vec<Touchpoint>,
}

/// What a candidate's detail contains.
pub struct DetailOptions {
    /// The maximum number of touchpoints, the newest ones. By default, the whole history is returned.
    touchpoints: Option<TouchpointLimit>,
}

impl Input for DetailOptions {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        Some(Self { touchpoints: fields.optional("touchpoints") })
    }
}

/// The maximum number of touchpoints in a candidate's detail.
struct TouchpointLimit(u32);

impl Value for TouchpointLimit {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        let limit = match scalar {
            Scalar::Word(word) if word.bytes().all(|byte| byte.is_ascii_digit()) => word.parse().ok(),
            _ => None,
        };
        let limit = limit.filter(|limit| *limit <= 100);
        limit.map(|limit| Some(Self(limit))).ok_or_else(|| "must be a whole number from 0 to 100".to_owned())
    }

    fn schema() -> RefOr<Schema> {
        integer(0).maximum(Some(100)).into()
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
        let (source, tags) = (fields.optional("source"), fields.list("tags", Tags::MAX));
        let (external_id, role_id) = (fields.optional("external_id"), fields.optional("role_id"));
        let resume = resume_url.map(Resume::Address);
        let tags = tags.map(Tags::of).apply(None).unwrap_or_default();
        let profile = Profile { phone, resume, source, tags, external_id, ..Profile::new(name?, email?) };
        Some(Self { profile, role_id })
    }
}

/// Changes to a candidate.
pub struct CandidatePatch {
    name: Option<Name>,
    email: Option<Email>,
    phone: Change<Phone>,
    resume_url: Change<ResumeAddress>,
    source: Change<Source>,
    tags: Change<Tags>,
    external_id: Change<ExternalId>,
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
            source: fields.change("source"),
            tags: fields.list("tags", Tags::MAX).map(Tags::of),
            external_id: fields.change("external_id"),
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
    /// The candidate's consent to AI calls and to their recording, which is recorded for both purposes. A provider that
    /// makes real calls requires it, unless it has been recorded before.
    consent: Option<CallConsent>,
}

impl Input for NewScreen {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let role_id = fields.required("role_id");
        let scheduled_at = fields.optional("scheduled_at");
        let consent = fields.optional_object("consent");
        Some(Self { role_id: role_id?, scheduled_at, consent })
    }
}

/// Lists candidates, newest first. `role_id` and `stage` narrow the list and can be combined. `email`, `phone`,
/// `external_id`, `source`, `tag` and `q` find candidates and can't be combined with other filters. With `q`, the order is
/// that of the words that are found.
async fn list(
    request: ApiRequest<Listing<CandidateFilter>>,
) -> Result<Reply<Collection<ListedCandidate>>, Error> {
    let (filter, page) = request.listing()?;
    filter.check()?;
    let (store, tenant) = (request.context.store(), request.tenant());
    let (role_id, stage) = (filter.role_id, filter.stage);
    let search = filter.search();
    let is_search = search.is_some();
    let candidates = match search {
        None => store.list_candidates(tenant, role_id, stage, &page).await?,
        Some(search) => {
            let Listed { items, next } = store.search_candidates(tenant, &search, &page).await?;
            Listed { items: items.into_iter().map(|candidate| (candidate, None)).collect(), next }
        }
    };
    let people = candidates.items.iter().map(|(candidate, _)| candidate);
    let links = ResumeLinks::of_candidates(request.context.providers(), request.context.now(), people).await;
    let reply = request.reply(candidates, |(candidate, application)| ListedCandidate {
        candidate: Candidate::of(candidate, &links),
        application: application.map(ApplicationState::from),
    })?;
    Ok(if is_search { reply.found_by_search() } else { reply })
}

/// Creates a candidate. With `role_id`, the candidate also applies for that role, and the application has the same
/// `source`, or `manual`.
///
/// # Errors
///
/// - `duplicate`: another candidate has the e-mail address or the external id; `existing` is that candidate.
/// - `erased`: an earlier request with the same idempotency key created a candidate who was erased.
async fn create(request: ApiRequest<NewCandidate>) -> Result<Reply<Created<Candidate>>, Error> {
    let NewCandidate { profile, role_id } = request.input()?;
    let mut record = CandidateRecord::new(request.context.ids().next(), profile, request.context.now());
    let address = request.address("candidates", record.candidate.id);
    let source = record.candidate.profile.source.clone().unwrap_or(Source::MANUAL);
    let mut transaction = request.transaction();
    if let Some(role_id) = role_id {
        let role =
            request.context.store().find_role(request.tenant(), role_id).await?.ok_or_else(unknown_role)?;
        let (applicant, author) = (Applicant::New(record), request.author());
        (record, _) = apply_for(&mut transaction, applicant, &role, source, None, &author)?;
    } else {
        let created = TouchpointKind::Created { source };
        transaction.insert_candidate(record.clone(), &request.author().touchpoints([created]))?;
    }
    request.commit(transaction, reply(&request, record.candidate).await?.created(address)).await
}

/// Returns a candidate with all applications, voice screens and touchpoints, or only with the newest touchpoints.
async fn show(request: ApiRequest<DetailOptions>) -> Result<Reply<CandidateDetail>, Error> {
    let DetailOptions { touchpoints } = match request.input() {
        Ok(options) => options,
        Err(invalid) => {
            find(&request).await?;
            return Err(invalid);
        }
    };
    let newest = touchpoints.map(|TouchpointLimit(limit)| limit);
    let page =
        request.context.store().find_candidate_page(request.tenant(), request.context.id()?, newest).await?;
    let page = with_current_roles(&request, Error::unless_missing(page)?).await?;
    let (candidate, touchpoints) = (&page.record.candidate, &page.touchpoints);
    let links = ResumeLinks::of_history(
        request.context.providers().resumes(),
        request.context.now(),
        &candidate.profile,
        touchpoints,
    )
    .await;
    let access = ScreenAccess::of(request.scopes());
    let identity = CandidateDetail::identity(&page, access);
    let reply = Reply::resource_as(&CandidateDetail::of(page, &links, access), &identity)?;
    Ok(if links.expire() { reply.always_sent() } else { reply })
}

/// Lists a candidate's touchpoints, newest first.
async fn list_touchpoints(request: ApiRequest<Listing<()>>) -> Result<Reply<Collection<Touchpoint>>, Error> {
    let candidate = find(&request).await?.candidate;
    let ((), page) = request.listing()?;
    let history = request.context.store().list_touchpoints(request.tenant(), candidate.id, &page).await?;
    let (providers, now) = (request.context.providers(), request.context.now());
    let links = ResumeLinks::of_history(providers.resumes(), now, &candidate.profile, &history.items).await;
    let access = ScreenAccess::of(request.scopes());
    request.reply(history, |touchpoint| links.touchpoint(touchpoint, access))
}

/// Updates the fields that are sent. A value sets a field, `null` clears it, and an absent field stays unchanged. A
/// no-op PATCH writes nothing.
///
/// # Errors
///
/// - `duplicate`: another candidate has the e-mail address or the external id; `existing` is that candidate.
async fn update(request: ApiRequest<CandidatePatch>) -> Result<Reply<Candidate>, Error> {
    let before = find(&request).await?;
    let patch = request.input()?;
    // `If-Match` may contain the ETag of the candidate, or of the candidate's detail with or without touchpoints.
    if request.check_precondition(&Candidate::of(before.candidate.clone(), &ResumeLinks::Keys)).is_err() {
        let store = request.context.store();
        let page = store.find_candidate_page(request.tenant(), before.candidate.id, Some(1)).await?;
        let mut page = with_current_roles(&request, Error::unless_missing(page)?).await?;
        let access = ScreenAccess::of(request.scopes());
        if request.check_precondition(&CandidateDetail::identity(&page, access)).is_err() {
            page.touchpoints.clear();
            request.check_precondition(&CandidateDetail::identity(&page, access))?;
        }
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
        source: patch.source.apply(current.source),
        tags: patch.tags.apply(Some(current.tags)).unwrap_or_default(),
        external_id: patch.external_id.apply(current.external_id),
    };
    let fields = changed_fields(&before.candidate.profile, &profile);
    if fields.is_empty() {
        // The history has no trace of this request, but its response has the candidate.
        request.record_reading(AuditAction::CandidateRead, before.candidate.id).await?;
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
/// - `consent_required`: the provider makes real calls, and the candidate has not agreed to them and to their recording.
async fn invite_screen(request: ApiRequest<NewScreen>) -> Result<Reply<Created<Screen>>, Error> {
    let mode = request.organization().mode;
    let (before, role) = find_with_role(&request, |input: &NewScreen| input.role_id).await?;
    let NewScreen { role_id, scheduled_at, consent } = request.input()?;
    let now = request.context.now();
    let voice = request.context.providers().voice(mode);
    let mut messages = Vec::new();
    match &role {
        None => messages.push(UNKNOWN_ROLE.to_owned()),
        Some(role) => {
            let error = before.check_invitation(role).err();
            messages.extend(error.map(|error| error.to_string()));
        }
    }
    messages.extend(check_schedule(scheduled_at, now).map(str::to_owned));
    messages.extend(consent.as_ref().and_then(|consent| consent.check(now)).map(str::to_owned));
    if voice.as_ref().is_some_and(|voice| voice.needs_phone()) {
        match &before.candidate.profile.phone {
            None => messages.push("phone can't be blank: the candidate has no number to call".to_owned()),
            Some(phone) => {
                let (store, providers) = (request.context.store(), request.context.providers());
                let chosen = store.find_call_countries(request.tenant()).await?;
                let allowed = chosen.as_deref().unwrap_or(providers.default_call_countries());
                messages.extend(check_number(phone, allowed).err().map(|error| format!("phone {error}")));
            }
        }
    }
    let (Some(role), true) = (role, messages.is_empty()) else { return Err(Error::Validation(messages)) };
    let voice = voice.ok_or_else(|| {
        Error::ChannelNotConnected("voice calls are not set up: no voice provider is configured".to_owned())
    })?;
    let (id, candidate_id) = (request.context.ids().next(), before.candidate.id);
    let (author, mut transaction, mut kinds) = (request.author(), request.transaction(), Vec::new());
    let mut current = with_roles(before.clone(), [&role], now);
    for consent in consent.map(|consent| consent.records(&author)).into_iter().flatten() {
        transaction.insert_consent(candidate_id, &consent)?;
        kinds.push(TouchpointKind::of_consent(&consent));
        current = current.record_consent(consent)?;
    }
    let missing: Vec<_> = current.missing_consents().map(ConsentPurpose::as_str).collect();
    let invited = current.invite(OpenScreen::new(id, &role), now)?;
    if voice.needs_consent() && !missing.is_empty() {
        return Err(Error::ConsentRequired(format!(
            "consent must be given by the candidate to {} before the call, and not be withdrawn later",
            missing.join(" and ")
        )));
    }
    let invitation = Invitation { id, candidate_id, role_id, scheduled_at };
    let order_at = voice.order_at(scheduled_at, now);
    let screen = ScreenRecord::invited(
        invitation,
        voice.provider(),
        order_at,
        request.context.base_url().to_owned(),
        now,
    );

    transaction.require_role(&role);
    transaction.insert_screen(&screen)?;
    kinds.push(TouchpointKind::ScreenInvited { screen_id: id, role_id, scheduled_at });
    let moved = |Step { role_id, from, to }| TouchpointKind::StageChanged { role_id, from, to };
    kinds.extend(invited.steps.into_iter().map(moved));
    transaction.replace_candidate(&before, &invited.record, &author.touchpoints(kinds))?;
    let address = request.address("voice_screens", id);
    let screen = ScreenAccess::of(request.scopes()).screen(screen.screen);
    request.commit(transaction, Reply::resource(&screen)?.created(address)).await
}

/// Returns everything that is stored about a candidate as one document, for a person who asks for their data. If the
/// document would be larger than 5 MB, it has the paths of the transcripts instead of the transcripts.
async fn export(request: ApiRequest<()>) -> Result<Reply<Unversioned<CandidateExport>>, Error> {
    let (context, max_bytes) = (&request.context, CandidateExport::MAX_BYTES);
    let data = context.store().find_candidate_data(request.tenant(), context.id()?, max_bytes).await?;
    let data = Error::unless_missing(data)?;
    request.input()?;
    let export = CandidateExport::of(data, context.providers().resumes(), context.now()).await;
    let reply = Reply::ok(&export)?;
    if reply.size()? <= max_bytes {
        return Ok(reply.unversioned());
    }
    Ok(Reply::ok(&export.without_transcripts())?.unversioned())
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
        ("source", before.source != after.source),
        ("tags", before.tags != after.tags),
        ("external_id", before.external_id != after.external_id),
    ];
    fields.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name.to_owned()).collect()
}

/// Returns a validation message if no screen can be scheduled at this time.
fn check_schedule(scheduled_at: Option<Timestamp>, now: Timestamp) -> Option<&'static str> {
    let lead_time = scheduled_at?.duration_since(now);
    if !lead_time.is_positive() {
        return Some("scheduled_at must be in the future");
    }
    (lead_time > screening::MAX_LEAD_TIME).then_some("scheduled_at must be within 90 days")
}

fn unknown_role() -> Error {
    Error::Validation(vec![UNKNOWN_ROLE.to_owned()])
}

impl CandidateDetail {
    /// The part of a detail that determines its `ETag`. The newest touchpoint stands for the whole history, because
    /// touchpoints never change.
    fn identity(page: &CandidatePage, access: ScreenAccess) -> Self {
        let CandidatePage { record, screens, touchpoints } = page;
        let touchpoints = touchpoints.first().cloned().into_iter().collect();
        let page = CandidatePage { record: record.clone(), screens: screens.clone(), touchpoints };
        Self::of(page, &ResumeLinks::Keys, access)
    }

    fn of(page: CandidatePage, links: &ResumeLinks, access: ScreenAccess) -> Self {
        let CandidatePage { record, screens, touchpoints } = page;
        let (id, applications) = (record.candidate.id, record.applications.iter().rev());
        let consents = ConsentPurpose::ALL.into_iter().filter_map(|purpose| record.consent(purpose).cloned());
        Self {
            applications: applications.map(|application| Application::of(id, application)).collect(),
            consents: consents.map(|consent| Consent::of(id, consent)).collect(),
            candidate: Candidate::of(record.candidate, links),
            legal_hold: record.legal_hold,
            voice_screens: screens.into_iter().map(|screen| access.screen(screen)).collect(),
            touchpoints: touchpoints
                .into_iter()
                .map(|touchpoint| links.touchpoint(touchpoint, access))
                .collect(),
        }
    }
}

impl From<store::Applicant> for ApplicationState {
    fn from(applicant: store::Applicant) -> Self {
        Self { id: applicant.application_id, stage: applicant.stage, status: applicant.status }
    }
}
