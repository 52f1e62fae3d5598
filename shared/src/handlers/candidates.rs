//! Creating and editing candidates, and applying for roles.

use super::responses::application::Application;
use super::responses::candidate::{Candidate, CandidateDetail};
use super::responses::question::NewAnswer;
use super::responses::resume::ResumeLinks;
use super::responses::screen::ScreenAccess;
use crate::http::{ApiRequest, Change, Created, Error, Reply, Visible, input};
use crate::id::Id;
use crate::model::schema::string;
use crate::model::{
    self, AuditAction, CandidateRecord, Email, ExternalId, GivenPhone, Name, Origin, Phone, Profile,
    Questions, Resume, Role, Scalar, Source, Tag, Tags, TouchpointKind, Value, WebAddress,
};
use crate::services::applying::{Applicant, apply_for};
use crate::store::Transaction;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AnyOfBuilder, Schema};

use super::candidate_lookup::{UNKNOWN_ROLE, find, find_with_role, unknown_role};

input! {
    /// A candidate to create, optionally with a first application.
    pub struct NewCandidate {
        name: required Name,
        email: required Email,
        /// The phone number as people type it. Without its country code, it is read as one of the role's country, or else of
        /// the organization's.
        phone: optional GivenPhone,
        resume_url: optional WebAddress,
        source: optional Source,
        tags: list Tag[Tags::MAX],
        external_id: optional ExternalId,
        /// An open role that the candidate applies for.
        role_id: optional Id,
        /// Answers to questions of the role's job posting, other than those of the kind `file`. None is required. All together
        /// have at most 20,000 characters.
        answers: objects NewAnswer[Questions::MAX],
    }

    /// Changes to a candidate.
    pub struct CandidatePatch {
        name: replacement Name,
        email: replacement Email,
        /// The phone number as people type it. Without its country code, it is read as one of the organization's country.
        phone: change PhoneChange,
        resume_url: change ResumeAddress,
        source: change Source,
        tags: list Tag[Tags::MAX],
        external_id: change ExternalId,
    }
}

/// A phone number in a PATCH. A client may send back the stored one, even one that could not be stored today.
struct PhoneChange {
    text: String,
    given: Result<GivenPhone, String>,
}

impl PhoneChange {
    /// The number, or the current one if this is its text.
    async fn apply(
        self,
        current: Option<Phone>,
        request: &ApiRequest<CandidatePatch>,
    ) -> Result<Option<Phone>, Error> {
        if current.as_ref().is_some_and(|current| current.as_str() == self.text) {
            return Ok(current);
        }
        let given = self.given.map_err(|wrong| Error::Validation(vec![format!("phone {wrong}")]))?;
        read_phone(request, &given, None).await.map(Some)
    }
}

impl Value for PhoneChange {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        let text = match scalar {
            Scalar::Text(text) => text.trim(),
            Scalar::Word(text) => text.trim(),
            _ => "",
        };
        // Nothing else is stored.
        let is_e164 =
            text.strip_prefix('+').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        let given = match GivenPhone::read(scalar).transpose() {
            None => return Ok(None),
            Some(Err(wrong)) if !is_e164 => return Err(wrong),
            Some(given) => given,
        };
        Ok(Some(Self { text: text.to_owned(), given }))
    }

    fn schema() -> RefOr<Schema> {
        GivenPhone::schema()
    }
}

/// Reads a phone number. One without a plus is of the country of the role in the request, else of the organization's.
async fn read_phone<I>(
    request: &ApiRequest<I>,
    given: &GivenPhone,
    role: Option<&Role>,
) -> Result<Phone, Error> {
    if let Some(phone) = given.international() {
        return Ok(phone.clone());
    }
    let mut country = role.and_then(|role| role.content.places.country());
    if country.is_none() {
        let settings = request.context.store().find_organization_settings(request.tenant()).await?;
        country = settings.and_then(|settings| settings.country);
    }
    given.in_country(country).map_err(|wrong| Error::Validation(vec![format!("phone {wrong}")]))
}

/// A resume URL in a PATCH. A client may send back one of our own signed links. They may exceed the maximum length of a
/// `WebAddress`, so a longer one is validated only if it is not the link to the candidate's current file.
struct ResumeAddress(WebAddress);

/// The form of signed links, on S3 or the local service.
const SIGNED_LINK: &str = concat!(
    r"^https?://(?:(?:[a-z0-9]+[.-])*[a-z]+|127\.0\.0\.1:(?:[1-9][0-9]{3}|[1-5][0-9]{4}|60[0-9]{3}))",
    r"/[A-Za-z0-9/._-]*\?[A-Za-z0-9%&=._~+*-]*X-Amz-Signature=[0-9a-f]*$",
);

impl Value for ResumeAddress {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        let address = match scalar {
            Scalar::Text(text)
                if text.chars().count() > WebAddress::MAX && text.contains("X-Amz-Signature=") =>
            {
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

input! {
    /// An application to create.
    pub struct NewApplication {
        /// An open role that the candidate has not applied for yet.
        role_id: required Id,
        /// Where the application came from; `api` by default.
        source: optional Source,
        /// The identifier in another system. Several applications may have the same.
        external_id: optional ExternalId,
        /// A file of this candidate: the resume of the application.
        resume_file_id: optional Id,
        /// Answers to questions of the role's job posting. None is required. All together have at most 20,000 characters.
        answers: objects NewAnswer[Questions::MAX],
    }
}

/// Reads answers to the questions of the role's posting, which is read only if there are any. A file must be one of the
/// candidate, who has none before the application creates him or her.
async fn read_answers<I>(
    request: &ApiRequest<I>,
    role: &Role,
    candidate: Option<Id>,
    answers: Option<Vec<NewAnswer>>,
) -> Result<Vec<model::Answer>, Error> {
    let answers = answers.unwrap_or_default();
    let (store, tenant) = (request.context.store(), request.tenant());
    let posting = match role.posting.as_ref().filter(|_| !answers.is_empty()) {
        Some(link) => store.find_posting(tenant, link.id).await?,
        None => None,
    };
    let questions = posting.map(|posting| posting.content.questions).unwrap_or_default();
    let files = match candidate {
        Some(id) => {
            let found = store.find_files(tenant, id, &NewAnswer::files(&answers, &questions)).await?;
            found.into_iter().map(|file| file.id).collect()
        }
        None => Vec::new(),
    };
    NewAnswer::read_all(&answers, &questions, &files)
}

/// Creates a candidate. With `role_id`, the candidate also applies for that role, and the application has the same
/// `source`, or `manual`.
///
/// # Errors
///
/// - `duplicate`: another candidate has the e-mail address or the external id; `existing` is that candidate.
/// - `erased`: an earlier request with the same idempotency key created a candidate who was erased.
pub async fn create(request: ApiRequest<NewCandidate>) -> Result<Reply<Created<Visible<Candidate>>>, Error> {
    let NewCandidate { name, email, phone, resume_url, source, tags, external_id, role_id, answers } =
        request.input()?;
    if role_id.is_none() && answers.as_ref().is_some_and(|answers| !answers.is_empty()) {
        return Err(Error::Validation(vec!["answers can't be given without role_id".to_owned()]));
    }
    let store = request.context.store();
    let role = match role_id {
        Some(id) => Some(store.find_role(request.tenant(), id).await?.ok_or_else(unknown_role)?),
        None => None,
    };
    let phone = match phone {
        Some(given) => Some(read_phone(&request, &given, role.as_ref()).await?),
        None => None,
    };
    let (resume, tags) =
        (resume_url.map(Resume::Address), tags.map(Tags::of).apply(None).unwrap_or_default());
    let profile = Profile { phone, resume, source, tags, external_id, ..Profile::new(name, email) };
    let mut record = CandidateRecord::new(request.context.ids().next(), profile, request.context.now());
    let address = request.address("candidates", record.candidate.id);
    let source = record.candidate.profile.source.clone().unwrap_or(Source::MANUAL);
    let mut transaction = request.transaction();
    if let Some(role) = role {
        let (applicant, author) = (Applicant::New(record), request.author());
        let answers = read_answers(&request, &role, None, answers).await?;
        (record, _) = apply_for(&mut transaction, applicant, &role, source, None, answers, &author)?;
    } else {
        let created = TouchpointKind::Created { source };
        transaction.insert_candidate(record.clone(), &request.author().touchpoints([created]))?;
    }
    request.commit(transaction, reply(&request, record.candidate).await?.created(address)).await
}

/// Updates the fields that are sent. A value sets a field, `null` clears it, and an absent field stays unchanged. A
/// no-op PATCH writes nothing.
///
/// # Errors
///
/// - `duplicate`: another candidate has the e-mail address or the external id; `existing` is that candidate.
pub async fn update(request: ApiRequest<CandidatePatch>) -> Result<Reply<Visible<Candidate>>, Error> {
    let before = find(&request).await?;
    let patch = request.input()?;
    // `If-Match` may contain the ETag of the candidate, or of the candidate's detail with or without touchpoints.
    let seen = request.visible(Candidate::of(before.candidate.clone(), &ResumeLinks::Keys));
    if let Err(failed) = request.check_precondition(&seen) {
        if !request.may_read_people() {
            return Err(failed);
        }
        let store = request.context.store();
        let page = store.find_candidate_page(request.tenant(), before.candidate.id, Some(1)).await?;
        let mut page = Error::unless_missing(page)?;
        let access = ScreenAccess::of(request.scopes());
        if request.check_precondition(&CandidateDetail::identity(&page, access)).is_err() {
            page.touchpoints.clear();
            request.check_precondition(&CandidateDetail::identity(&page, access))?;
        }
    }
    let links = ResumeLinks::of_candidates(
        request.context.providers().await,
        request.context.now(),
        [&before.candidate],
    )
    .await;
    let current = before.candidate.profile.clone();
    let profile = Profile {
        name: patch.name.unwrap_or(current.name),
        email: patch.email.or(current.email),
        phone: match patch.phone {
            Change::Set(phone) => phone.apply(current.phone, &request).await?,
            Change::Clear => None,
            Change::Keep => current.phone,
        },
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
        tags: patch.tags.map(Tags::of).apply(Some(current.tags)).unwrap_or_default(),
        external_id: patch.external_id.apply(current.external_id),
    };
    let fields = changed_fields(&before.candidate.profile, &profile);
    if fields.is_empty() {
        // The history has no trace of this request, but its response has the candidate.
        if request.may_read_people() {
            request.record_reading(AuditAction::CandidateRead, before.candidate.id).await?;
        }
        return reply(&request, before.candidate).await;
    }
    let after = before.clone().edit(profile, request.context.now());
    let updated = TouchpointKind::Updated { fields, resume: None };
    replace(&request, request.transaction(), &before, after, updated).await
}

/// Creates an application for an open role. A candidate can apply for a role only once, and for at most 200 roles.
///
/// # Errors
///
/// - `duplicate`: the candidate has already applied for the role; `existing` is the application.
pub async fn apply(
    request: ApiRequest<NewApplication>,
) -> Result<Reply<Created<Visible<Application>>>, Error> {
    let (input, before, role) = find_with_role(&request, |input| Some(input.role_id)).await?;
    let candidate_id = before.candidate.id;
    let mut messages = Vec::new();
    if role.is_none() {
        messages.push(UNKNOWN_ROLE.to_owned());
    }
    if let Some(file) = input.resume_file_id
        && request.context.store().find_files(request.tenant(), candidate_id, &[file]).await?.is_empty()
    {
        messages.push("resume_file_id must be the id of a file of the candidate".to_owned());
    }
    let answers = match &role {
        Some(role) => match read_answers(&request, role, Some(candidate_id), input.answers).await {
            Err(Error::Validation(problems)) => {
                messages.extend(problems);
                Vec::new()
            }
            answers => answers?,
        },
        None => Vec::new(),
    };
    let role = role.filter(|_| messages.is_empty()).ok_or(Error::Validation(messages))?;
    let mut transaction = request.transaction();
    let (applicant, author) = (Applicant::Known(before), request.author());
    let source = input.source.unwrap_or(Source::API);
    let origin = Origin { source, external_id: input.external_id, resume_file_id: input.resume_file_id };
    let (_, application) = apply_for(&mut transaction, applicant, &role, origin, None, answers, &author)?;
    let address = request.address("applications", application.id);
    let application = request.visible(Application::of(candidate_id, &application));
    let reply = Reply::resource(&application)?.created(address);
    request.commit(transaction, reply).await
}

/// Replaces a candidate and records the change as a touchpoint, with the other writes of the transaction.
pub(super) async fn replace<I>(
    request: &ApiRequest<I>,
    mut transaction: Transaction,
    before: &CandidateRecord,
    after: CandidateRecord,
    kind: TouchpointKind,
) -> Result<Reply<Visible<Candidate>>, Error> {
    transaction.replace_candidate(before, &after, &request.author().touchpoints([kind]))?;
    request.commit(transaction, reply(request, after.candidate).await?).await
}

/// Returns the response with a candidate. Its `ETag` does not depend on resume links, because they expire.
pub(super) async fn reply<I>(
    request: &ApiRequest<I>,
    candidate: model::Candidate,
) -> Result<Reply<Visible<Candidate>>, Error> {
    let links =
        ResumeLinks::of_candidates(request.context.providers().await, request.context.now(), [&candidate])
            .await;
    let identity = request.visible(Candidate::of(candidate.clone(), &ResumeLinks::Keys));
    Reply::resource_as(&request.visible(Candidate::of(candidate, &links)), &identity)
}

/// The names of the fields that differ.
pub(super) fn changed_fields(before: &Profile, after: &Profile) -> Vec<String> {
    let differences = before.differences(after);
    differences.filter(|(_, differ)| *differ).map(|(name, _)| name.to_owned()).collect()
}
