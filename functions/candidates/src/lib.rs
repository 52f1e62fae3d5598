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

mod filter;

use serde::Serialize;
use shared::hiring::{
    candidates, consents, erasure, export, find, moves, notes, screens, with_current_roles,
};
use shared::http::{ApiRequest, Collection, Error, Fields, Input, Listing, Reply, Row};
use shared::id::Id;
use shared::model::schema::integer;
use shared::model::{ApplicationStatus, AuditAction, Scalar, Scope, Stage, Touchpoint, Value};
use shared::resources::candidate::{Candidate, CandidateDetail};
use shared::resources::resume::ResumeLinks;
use shared::resources::screen::ScreenAccess;
use shared::store::{self, Listed};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use filter::CandidateFilter;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/candidates", Scope::CandidatesRead, list).reading(AuditAction::CandidatesListed),
        R::new("POST /api/v1/candidates", Scope::CandidatesWrite, candidates::create),
        R::new("GET /api/v1/candidates/{id}", Scope::CandidatesRead, show)
            .reading(AuditAction::CandidateRead),
        R::new("PATCH /api/v1/candidates/{id}", Scope::CandidatesWrite, candidates::update),
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
        R::new("POST /api/v1/candidates/{id}/applications", Scope::CandidatesWrite, candidates::apply),
        R::new("POST /api/v1/candidates/{id}/invite_screen", Scope::CandidatesWrite, screens::invite_screen),
        R::new(
            "GET /api/v1/candidates/{id}/export",
            [Scope::CandidatesRead, Scope::VoiceScreensRead],
            export::export,
        )
        .reading(AuditAction::CandidateExported),
        R::new("POST /api/v1/candidates/{id}/erase", Scope::CandidatesErase, erasure::erase),
        R::new("PUT /api/v1/candidates/{id}/legal_hold", Scope::CandidatesErase, erasure::set_legal_hold),
        R::new("DELETE /api/v1/candidates/{id}/legal_hold", Scope::CandidatesErase, erasure::lift_legal_hold),
    ]
}

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

impl From<store::Applicant> for ApplicationState {
    fn from(applicant: store::Applicant) -> Self {
        Self { id: applicant.application_id, stage: applicant.stage, status: applicant.status }
    }
}
