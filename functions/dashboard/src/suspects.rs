//! Candidates > Suspect forms: application forms that a program may have sent. Members accept or discard them, one by one or
//! all that a filter shows.

use std::sync::Arc;

use askama::Template;
use jiff::civil::Date;
use shared::clock::Timestamp;
use shared::documents::FileKind;
use shared::http::page::{Problem, problem_of};
use shared::http::{Error, Html, MemberRequest, Parameters, Reply};
use shared::id::Id;
use shared::model::{
    Actor, ActorKind, ApplicationError, AuditAction, Phone, ResumeFile, RoleStatus, SuspectFile, SuspectForm,
    Tenant, Text, WebAddress, grouped, non_blank,
};
use shared::providers::bucket::{Bucket, MAX_UPLOAD};
use shared::services::Author;
use shared::services::applying::{ApplyError, apply_with_form};
use shared::services::files::{FormFile, attach_to_form};
use shared::store::{
    CommitError, DISCARDED_AT_ONCE, MaybeErased, Paging, StoreError, SuspectSelection, Upload, UploadTrace,
};

use crate::answers::{self, AnswerRow};
use crate::dates::{self, Time};
use crate::form::problem;
use crate::layout::{Layout, Section};
use crate::lists::{PAGE_SIZE, Pager, Place, encoded, id_position, is_id_position, next};

pub(crate) const PATH: &str = "/dashboard/candidates/suspects";
/// The maximum number of forms that one request accepts. Each takes a few calls, and its file is checked.
const ACCEPTED_AT_ONCE: usize = 50;
/// The maximum number of forms that one request discards, and of files that it deletes.
const DISCARDED: usize = 2_000;
const DELETED_FILES: usize = 200;
/// The number of forms that the list of candidates counts.
const COUNTED: u32 = 10;
/// The maximum number of attempts to accept a form while its candidate changes.
const ATTEMPTS: usize = 5;
const YES: &str = "yes";

#[derive(Template)]
#[template(path = "suspects.html")]
struct SuspectsPage<'p> {
    layout: Layout<'p>,
    forms: Vec<FormRow<'p>>,
    network: &'p str,
    from: &'p str,
    to: &'p str,
    /// Whether the list is filtered.
    is_filtered: bool,
    /// Whether the boxes of all forms are ticked.
    all: bool,
    /// The address that ticks them, or none of them.
    tick: String,
    /// The newest form of the list when the page was opened. Later ones are in no "all".
    newest: Option<u64>,
    /// Problems with the fields `network`, `from` and `to`.
    problems: Vec<Problem>,
    pager: Pager,
}

/// A form in the list.
struct FormRow<'p> {
    id: u64,
    name: &'p str,
    email: &'p str,
    phone: Option<&'p str>,
    resume_url: Option<&'p str>,
    note: Option<&'p str>,
    answers: Vec<AnswerRow<'p>>,
    has_file: bool,
    role_id: u64,
    role_title: &'p str,
    received: Time,
    network: &'p str,
    /// The address of the forms of this network.
    network_url: String,
    signs: String,
}

impl FormRow<'_> {
    /// Whether the form has more than the name and the e-mail address.
    fn has_more(&self) -> bool {
        let texts = [self.phone, self.resume_url, self.note];
        texts.iter().any(Option::is_some) || !self.answers.is_empty() || self.has_file
    }
}

#[derive(Template)]
#[template(path = "suspects_done.html")]
struct DonePage<'p> {
    layout: Layout<'p>,
    /// What was done to how many forms.
    summary: String,
    /// The forms that were to be accepted.
    results: Vec<ResultRow>,
    /// The same filter, for the forms that are left.
    left: Option<Left<'p>>,
    /// The address of the list with the same filter.
    back: String,
}

/// The result for a form that was to be accepted.
struct ResultRow {
    name: String,
    is_accepted: bool,
    /// The candidate who has applied with the form, or who had applied already.
    candidate: Option<Id>,
    sentence: String,
}

/// The forms that were chosen and that the request did not reach.
struct Left<'p> {
    act: &'static str,
    button: &'static str,
    network: &'p str,
    from: &'p str,
    to: &'p str,
    newest: Id,
}

/// The filter of the list.
struct Filter<'f> {
    network: Option<&'f str>,
    from: Option<Date>,
    to: Option<Date>,
}

impl<'f> Filter<'f> {
    /// Reads the filter, or returns the problems with it.
    fn parse(fields: &'f Parameters) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let network = non_blank(fields.get("network"));
        if network.is_some_and(|network| network.len() > 64) {
            problems.push(problem("network", "The network", "must be one of the list"));
        }
        let [from, to] = dates::period(fields, &mut problems);
        if problems.is_empty() { Ok(Self { network, from, to }) } else { Err(problems) }
    }

    fn selection(&self, request: &MemberRequest) -> SuspectSelection {
        let zone = dates::zone(request);
        SuspectSelection {
            network: self.network.map(str::to_owned),
            from: self.from.and_then(|day| zone.bounds(day)[0]),
            to: self.to.and_then(|day| zone.bounds(day)[1]),
        }
    }

    fn pairs(&self) -> Vec<(&'static str, String)> {
        let day = |name, day: Option<Date>| day.map(|day| (name, day.to_string()));
        let network = self.network.map(|network| ("network", network.to_owned()));
        [network, day("from", self.from), day("to", self.to)].into_iter().flatten().collect()
    }

    /// The address of the list, with more parameters.
    fn address(&self, more: Vec<(&'static str, String)>) -> String {
        let pairs: Vec<_> = self.pairs().into_iter().chain(more).collect();
        let query = encoded(pairs.iter().map(|(name, value)| (*name, value.as_str())));
        if query.is_empty() { PATH.to_owned() } else { format!("{PATH}?{query}") }
    }
}

/// Returns the number of suspect forms for the list of candidates: `3` or `9+`; `None` if there are none.
pub(crate) async fn count(request: &MemberRequest) -> Result<Option<String>, Error> {
    let page = Paging { limit: COUNTED, before: None };
    let all = SuspectSelection::default();
    let now = request.context.now();
    let listed = request.context.store().list_suspects(request.tenant(), &all, now, &page).await?;
    Ok(match listed.items.len() {
        0 => None,
        count if count >= COUNTED as usize => Some(format!("{}+", COUNTED - 1)),
        count => Some(count.to_string()),
    })
}

/// Shows a page of the suspect forms, newest first.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let query = request.context.query();
    match Filter::parse(&query) {
        Ok(filter) => show(&request, &query, &filter).await,
        Err(problems) => Ok(refused(&request, &query, problems)?.with_status(422)),
    }
}

async fn show(
    request: &MemberRequest,
    query: &Parameters,
    filter: &Filter<'_>,
) -> Result<Reply<Html>, Error> {
    let (tenant, store, now) = (request.tenant(), request.context.store(), request.context.now());
    let place = Place::read(query, is_id_position);
    let mut listed = store.list_suspects(tenant, &filter.selection(request), now, &place.paging()).await?;
    let next = next(&mut listed, PAGE_SIZE, |form| id_position(form.id));
    let forms = listed.items;
    let roles = store.find_roles(tenant, forms.iter().map(|form| form.role_id)).await?;
    let zone = dates::zone(request);
    let all = query.get("all") == YES;
    let rows = forms.iter().map(|form| FormRow {
        id: form.id.get(),
        name: form.content.name.as_str(),
        email: form.content.email.as_str(),
        phone: form.content.phone.as_ref().map(Phone::as_str),
        resume_url: form.content.resume_url.as_ref().map(WebAddress::as_str),
        note: form.content.note.as_ref().map(Text::as_str),
        answers: answers::rows(&form.content.answers, None),
        has_file: form.file.is_some(),
        role_id: form.role_id.get(),
        role_title: roles.get(&form.role_id).map_or("", |role| role.content.title.as_str()),
        received: zone.minute(form.received_at),
        network: &form.network,
        network_url: format!("{PATH}?{}", encoded([("network", form.network.as_str())])),
        signs: form.signs.iter().map(|sign| sign.words()).collect::<Vec<_>>().join(", "),
    });
    let pairs = filter.pairs();
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let tick = if all { None } else { Some(("all", YES.to_owned())) };
    let page = SuspectsPage {
        layout: Layout::of(request, Section::Candidates),
        forms: rows.collect(),
        network: query.get("network"),
        from: query.get("from"),
        to: query.get("to"),
        is_filtered: !pairs.is_empty(),
        all,
        tick: filter.address(place.pairs().into_iter().chain(tick).collect()),
        newest: forms.first().map(|form| form.id.get()),
        problems: Vec::new(),
        pager: Pager::new(PATH, &pairs, &place, next),
    };
    Ok(Reply::page(&page)?.showing(forms.len()))
}

/// The page of a filter with mistakes.
fn refused(
    request: &MemberRequest,
    fields: &Parameters,
    problems: Vec<Problem>,
) -> Result<Reply<Html>, Error> {
    let page = SuspectsPage {
        layout: Layout::of(request, Section::Candidates),
        forms: Vec::new(),
        network: fields.get("network"),
        from: fields.get("from"),
        to: fields.get("to"),
        is_filtered: true,
        all: false,
        tick: String::new(),
        newest: None,
        problems,
        pager: Pager::default(),
    };
    Ok(Reply::page(&page)?.showing(0))
}

/// Accepts or discards the chosen forms, or all that the filter shows.
pub(crate) async fn act(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let form = request.page.form();
    let filter = match Filter::parse(form) {
        Ok(filter) => filter,
        Err(problems) => return Ok(refused(&request, form, problems)?.with_status(422)),
    };
    match form.get("act") {
        "accept" => accept(&request, form, &filter).await,
        "discard" => discard(&request, form, &filter).await,
        _ => Err(Error::NotFound),
    }
}

/// The forms in the fields that are ticked.
fn ticked(form: &Parameters) -> Vec<Id> {
    form.all("id").filter_map(|id| id.parse().ok()).take(ACCEPTED_AT_ONCE).collect()
}

/// Where a list of all forms begins: those that were received after the page was opened are not among them.
fn newest(form: &Parameters) -> Result<Id, Error> {
    form.get("newest").parse().map_err(|_| Error::NotFound)
}

/// The position before the form with this identifier.
fn up_to(newest: Id) -> String {
    id_position(Id::new(newest.get() + 1).unwrap_or(Id::LAST))
}

async fn discard(
    request: &MemberRequest,
    form: &Parameters,
    filter: &Filter<'_>,
) -> Result<Reply<Html>, Error> {
    let (tenant, store, now) = (request.tenant(), request.context.store(), request.context.now());
    let (mut discarded, mut left) = (0, None);
    if form.get("all") == YES {
        let selection = filter.selection(request);
        let (mut files, mut before) = (0, Some(up_to(newest(form)?)));
        while let Some(position) = before.take() {
            if discarded >= DISCARDED || files >= DELETED_FILES {
                left = position.parse().ok();
                break;
            }
            let page = Paging { limit: DISCARDED_AT_ONCE, before: Some(position) };
            let listed = store.list_suspects(tenant, &selection, now, &page).await?;
            files += delete(request, tenant, &listed.items).await?;
            discarded += listed.items.len();
            before = listed.next;
        }
    } else {
        let forms = store.find_suspects(tenant, &ticked(form), now).await?;
        delete(request, tenant, &forms).await?;
        discarded = forms.len();
    }
    let count = grouped(discarded as u64);
    let summary =
        if discarded == 1 { "1 form discarded.".to_owned() } else { format!("{count} forms discarded.") };
    let left = left.map(|newest| Left::of("discard", "Discard the rest", form, newest));
    done(request, summary, Vec::new(), left, filter)
}

/// Deletes forms, with an entry in the audit log, and then their files. A file that is left is deleted by the bucket after 31 days. Returns the number of
/// files.
async fn delete(request: &MemberRequest, tenant: Tenant, forms: &[SuspectForm]) -> Result<usize, Error> {
    if forms.is_empty() {
        return Ok(0);
    }
    let (store, count) = (request.context.store(), Some(forms.len() as u64));
    // The entry in the audit log first: nothing is discarded without one.
    store.record(tenant, AuditAction::SuspectFormsDiscarded, None, count).await?;
    let ids: Vec<_> = forms.iter().map(|form| form.id).collect();
    store.delete_suspects(tenant, &ids).await?;
    let mut files = 0;
    if let Some(bucket) = request.context.providers().await.resumes() {
        for file in forms.iter().filter_map(|form| form.file.as_ref()) {
            delete_file(bucket, file, request.context.now()).await;
            files += 1;
        }
    }
    Ok(files)
}

async fn delete_file(bucket: &Bucket, file: &SuspectFile, now: Timestamp) {
    if let Err(error) = bucket.delete(file.key(), now).await {
        tracing::warn!(trouble = %error, "the file of a suspect form was not deleted");
    }
}

async fn accept(
    request: &MemberRequest,
    form: &Parameters,
    filter: &Filter<'_>,
) -> Result<Reply<Html>, Error> {
    let (tenant, store, now) = (request.tenant(), request.context.store(), request.context.now());
    let (forms, left) = if form.get("all") == YES {
        let limit = u32::try_from(ACCEPTED_AT_ONCE).unwrap_or(u32::MAX);
        let page = Paging { limit, before: Some(up_to(newest(form)?)) };
        let listed = store.list_suspects(tenant, &filter.selection(request), now, &page).await?;
        (listed.items, listed.next.and_then(|position| position.parse::<u64>().ok()))
    } else {
        (store.find_suspects(tenant, &ticked(form), now).await?, None)
    };
    let mut results = Vec::new();
    for form in forms {
        results.push(accept_one(request, form).await?);
    }
    let accepted = results.iter().filter(|result| result.is_accepted).count();
    let summary = format!("{accepted} of {} forms accepted.", results.len());
    // The position is that of the last form, which is done.
    let left = left.and_then(|last| Id::new(last.saturating_sub(1)));
    let left = left.map(|newest| Left::of("accept", "Accept the next ones", form, newest));
    done(request, summary, results, left, filter)
}

impl<'p> Left<'p> {
    fn of(act: &'static str, button: &'static str, form: &'p Parameters, newest: Id) -> Self {
        Self { act, button, network: form.get("network"), from: form.get("from"), to: form.get("to"), newest }
    }
}

fn done(
    request: &MemberRequest,
    summary: String,
    results: Vec<ResultRow>,
    left: Option<Left<'_>>,
    filter: &Filter<'_>,
) -> Result<Reply<Html>, Error> {
    let layout = Layout::of(request, Section::Candidates);
    Reply::page(&DonePage { layout, summary, results, left, back: filter.address(Vec::new()) })
}

/// Accepts a form, as if it had not been suspect: adds the application of a new candidate, or of the one with the same
/// e-mail address. The history has the time when the form was received, and the member who accepted it.
async fn accept_one(request: &MemberRequest, form: SuspectForm) -> Result<ResultRow, Error> {
    let (tenant, context) = (request.tenant(), &request.context);
    let store = context.store();
    let name = form.content.name.as_str().to_owned();
    let refused = |candidate: Option<Id>, sentence: &str| {
        let sentence = sentence.to_owned();
        Ok(ResultRow { name: name.clone(), is_accepted: false, candidate, sentence })
    };
    for _ in 0..ATTEMPTS {
        let Some(role) = store.find_role(tenant, form.role_id).await? else {
            return refused(None, "The job does not exist any more.");
        };
        let mut transaction = request.transaction();
        let author = author(request, form.received_at);
        let existing = store.find_candidate_by_email(tenant, &form.content.email).await?;
        let applied = apply_with_form(&mut transaction, &role, existing, form.content.clone(), &author);
        let upload = match applied {
            Ok(Upload { candidate_id, submitted: None, .. }) => {
                return refused(Some(candidate_id), "The candidate has too many applications.");
            }
            Ok(upload) => upload,
            Err(ApplyError::Rejected(ApplicationError::RoleNotOpen(status))) => {
                return refused(None, closed(status));
            }
            Err(error) => return Err(error.into()),
        };
        transaction.delete_suspect(form.id);
        if let Some(file) = &form.file {
            // If the function is killed before the candidate has the file, the candidate's erasure finds it.
            let (hash, key) = (file.name().to_owned(), file.key().to_owned());
            transaction.expect_file(upload.candidate_id, UploadTrace { hash, key, until: context.now() })?;
        }
        match store.commit(transaction).await {
            Ok(()) => {}
            Err(CommitError::Store(error)) => return Err(error.into()),
            Err(_) => {
                if store.find_suspects(tenant, &[form.id], context.now()).await?.is_empty() {
                    return refused(None, "Somebody else has accepted or discarded this form.");
                }
                continue;
            }
        }
        let mut sentence =
            if upload.is_new { "Added." } else { "Added to a candidate with the same e-mail address." }
                .to_owned();
        if let Some(problem) = attach_file(request, upload, form.file.as_ref()).await? {
            sentence = format!("{sentence} {problem}");
        }
        return Ok(ResultRow { name, is_accepted: true, candidate: Some(upload.candidate_id), sentence });
    }
    refused(None, "Somebody changed the candidate or the job at the same time. Try again.")
}

/// Why a job takes no application.
const fn closed(status: RoleStatus) -> &'static str {
    match status {
        RoleStatus::Paused => "The job is paused. Resume it first.",
        _ => "The job is closed.",
    }
}

/// The member, at the time when a form was received.
fn author(request: &MemberRequest, at: Timestamp) -> Author<'_> {
    let member = request.member();
    let (id, name) = (Some(member.id), member.name.as_str().to_owned());
    Author { ids: request.context.ids(), actor: Actor { kind: ActorKind::Member, id, name }, at }
}

/// Checks the file of a form that was accepted, and attaches it to the form. Returns what went wrong, as a sentence.
async fn attach_file(
    request: &MemberRequest,
    upload: Upload,
    file: Option<&SuspectFile>,
) -> Result<Option<String>, Error> {
    let (Some(file), Some(bucket)) = (file, request.context.providers().await.resumes()) else {
        return Ok(None);
    };
    let now = request.context.now();
    let unsaved = |error: &dyn std::fmt::Display| {
        tracing::error!(trouble = %error, "cannot store a resume");
        Ok(Some("The resume could not be stored.".to_owned()))
    };
    let object = match bucket.read(file.key(), MAX_UPLOAD, now).await {
        Ok(Some(object)) => object,
        Ok(None) => return unsaved(&"the file is missing"),
        Err(error) => return unsaved(&error),
    };
    let (kept, problem) = match FileKind::of(&object.bytes) {
        Ok(kind) => {
            let place = ResumeFile::new(request.tenant(), file.name(), kind.extension());
            let copied = bucket.keep(file.key(), place.key(), &object.etag, kind.media_type(), now).await;
            if let Err(error) = copied {
                return unsaved(&error);
            }
            (Some((place, object.bytes.len())), None)
        }
        Err(refusal) => (None, Some(format!("The resume was dropped: {refusal}"))),
    };
    add_file(request, upload, file, kept, bucket).await?;
    delete_file(bucket, file, now).await;
    Ok(problem)
}

/// Adds a file in the bucket to the candidate, if there is one, and forgets that it was expected.
async fn add_file(
    request: &MemberRequest,
    upload: Upload,
    file: &SuspectFile,
    kept: Option<(ResumeFile, usize)>,
    bucket: &Bucket,
) -> Result<(), Error> {
    let (tenant, store) = (request.tenant(), request.context.store());
    for _ in 0..ATTEMPTS {
        let mut transaction = request.transaction();
        if let Some((kept, size)) = &kept {
            let found = store.find_candidate(tenant, upload.candidate_id).await?;
            // The task of the erasure deletes the file.
            let Some(before) = found.and_then(MaybeErased::present) else { return Ok(()) };
            let files = store.all_files(tenant, upload.candidate_id).await?;
            let author = author(request, request.context.now());
            let form_file = FormFile { stored: kept.clone(), name: None, size: *size, question: None };
            attach_to_form(&mut transaction, &before, &files, upload, form_file, bucket, &author)?;
        }
        transaction.forget_expected_file(upload.candidate_id, file.name());
        match store.commit(transaction).await {
            Err(CommitError::Stale) => {}
            result => return Ok(result?),
        }
    }
    Err(StoreError::Unavailable("write conflicts persisted".to_owned()).into())
}
