//! The list of candidates with its filters and the search, and the page of a candidate.

use std::collections::BTreeSet;
use std::sync::Arc;

use askama::Template;
use futures_util::try_join;
use shared::handlers::responses::resume::ResumeLinks;
use shared::http::page::{Sources, version_of};
use shared::http::{Error, Html, MemberRequest, Parameters, Reply};
use shared::id::Id;
use shared::model::{
    ApplicationStatus, BulkAct, Candidate, CandidateRecord, CountedCause, Email, EndedBy, FileStatus, Label,
    LegalHold, MemberRole, Phone, Profile, Rejection, RejectionReason, Resume, Role, RoleStats, RoleStatus,
    SavedView, Screen, ScreenResult, ScreenStatus, Source, Stage, Text, Waiting, WebAddress, grouped,
};
use shared::providers::bucket::Bucket;
use shared::store::{CandidateList, Order, Paging, StageOrStatus, StoreError};

use crate::answers::{self, AnswerRow};
use crate::bulk_progress::{act_path, progress};
use crate::candidate_list::{self, ListLinks, ListPage, Listing, candidate_path, least_score};
use crate::candidate_search::find;
use crate::consents::{self, ConsentRow};
use crate::dates::{self, Time, Zone};
use crate::decision::Decision;
use crate::files::{self, FileRow};
use crate::history::{sentence, told_once};
use crate::layout::{Layout, SCRIPT, Section};
use crate::lists::{PAGE_SIZE, Pager, next};
use crate::notes::{self, NoteRow};
use crate::rejection_reasons;
use crate::sources::{actor, source, source_name};
use crate::submissions::{FormRow, OfferRow, Submissions};
use crate::suspects;

/// The maximum number of open roles to choose from.
const ROLES: u32 = 25;
/// The parameters of a list's filters that have fields of their own in its form.
const TYPED: [&str; 4] = ["order", "least", "label", "word"];
/// The maximum number of notes on a candidate's page.
const NOTES: u32 = 25;

#[derive(Template)]
#[template(path = "candidates.html")]
struct CandidatesPage<'p> {
    layout: Layout<'p>,
    /// What is listed.
    listing: &'p Listing,
    /// The list in words.
    heading: &'static str,
    /// What waits for the team, and then everybody, by stage and by status.
    filters: Vec<Filter>,
    /// The role that the list is filtered by.
    role: Option<RoleFilter<'p>>,
    /// Whether each row shows its role, because no role is chosen.
    shows_role: bool,
    /// The roles to choose from, unless one is chosen.
    roles: Vec<RoleFilter<'p>>,
    /// What the list is filtered by besides the order, as fields of a form.
    kept: Vec<(&'static str, String)>,
    /// What the list is searched by: empty for the name, the e-mail address and the phone number; `source` or `tag`.
    by: &'p str,
    /// What is searched for.
    search: &'p str,
    /// The order, if the list can be in another one.
    order: Option<ListOrder<'p>>,
    /// The label that a role's list is filtered by, or can be.
    label: Option<LabelFilter<'p>>,
    /// The query of the list of those with a tag, without the tag.
    tagged: String,
    /// Whether the boxes of all candidates are ticked.
    all: bool,
    rows: Vec<Row<'p>>,
    /// The number of suspect forms, on the first page of all candidates.
    suspects: Option<String>,
    /// The number of candidates in the list, where a counter has it.
    total: Option<String>,
    /// What was lately done to several candidates in lists of the role, or in those over all roles.
    acts: Vec<ActRow>,
    /// The lists that the team has saved.
    views: Vec<ViewLink<'p>>,
    /// The query of the first page of this list.
    view: String,
    /// The query of this page.
    query: String,
    /// The parameter that names this page.
    list: String,
    pager: Pager,
    /// The version in the script's URL.
    script_version: String,
}

struct RoleFilter<'p> {
    id: u64,
    title: &'p str,
}

/// The order of the list.
struct ListOrder<'p> {
    /// `score`, `oldest`, or empty for the newest first.
    word: &'static str,
    /// Whether the list can be in the order of the scores.
    can_be_by_score: bool,
    /// The minimum score as it was typed.
    least: &'p str,
    /// What is wrong with the minimum score.
    problem: Option<&'static str>,
}

/// The label that a role's list is filtered by.
struct LabelFilter<'p> {
    /// `source`, `tag`, the identifier of a reason, or empty.
    by: String,
    /// The source or the tag as it was typed.
    word: &'p str,
    /// The reasons for which applications for the role ended.
    reasons: Vec<ReasonOption>,
    /// The sources and tags on the page, as proposals.
    words: BTreeSet<&'p str>,
    /// Whether the list is filtered by it.
    is_chosen: bool,
    /// What is wrong with the label.
    problem: Option<&'static str>,
}

/// A reason to choose, with the number of applications that ended for it.
struct ReasonOption {
    id: String,
    name: String,
    count: String,
}

/// A link that filters the list.
struct Filter {
    label: &'static str,
    path: String,
    is_current: bool,
    /// The number of people, where a counter has it.
    count: Option<String>,
}

/// What was done to several candidates at once.
struct ActRow {
    group: Id,
    /// The path of its page.
    path: String,
    /// How far it is, while it is worked on.
    progress: Option<String>,
    sentence: String,
    at: Time,
    /// The number of people for whom it can be undone.
    left: String,
}

impl ActRow {
    /// The acts that are worked on or can be undone, the latest first.
    fn of(acts: &[BulkAct], page: &ListPage, zone: &Zone) -> Vec<Self> {
        let shown = acts.iter().filter(|act| act.is_working() || act.left() > 0);
        let row = |act: &BulkAct| Self {
            group: act.id,
            path: act_path(page, act),
            progress: act.is_working().then(|| progress(act)),
            sentence: act.sentence(),
            at: zone.minute(act.at),
            left: grouped(act.left()),
        };
        shown.map(row).collect()
    }
}

/// A list that the team has saved.
struct ViewLink<'p> {
    name: &'p str,
    path: String,
    is_current: bool,
}

/// The maximum number of tags in a row, which is one line high.
const TAGS: usize = 2;
/// The number of characters for which a row has room: the name and the tags.
const ROOM: usize = 24;
/// The room of a tag's frame, in characters.
const FRAME: usize = 3;

/// The first tags that are seen whole beside the name. A link that is cut is too small to be pressed.
fn seen_whole(profile: &Profile) -> Vec<&str> {
    let mut room = ROOM.saturating_sub(profile.name.as_str().chars().count());
    let fits = |tag: &&str| {
        let left = room.checked_sub(tag.chars().count() + FRAME);
        room = left.unwrap_or(0);
        left.is_some()
    };
    profile.tags.iter().take(TAGS).map(Text::as_str).take_while(fits).collect()
}

/// A candidate in the list, with the application that the list is about.
struct Row<'p> {
    id: u64,
    /// The candidate, and the role of the application if the list is over all roles, as the value of a check box.
    value: String,
    /// The query of the candidate's page.
    query: String,
    name: &'p str,
    /// The first tags.
    tags: Vec<&'p str>,
    /// The number of the other tags.
    more_tags: usize,
    role: Option<RoleFilter<'p>>,
    stage: Stage,
    source: &'p str,
    score: Option<u8>,
    phone: Option<&'p str>,
    /// The day of the last change.
    activity: Time,
    /// Whether the candidate has applied again since the application last moved.
    reapplied: bool,
    withdrawn: bool,
    is_closed: bool,
}

impl<'p> Row<'p> {
    fn of(page: &ListPage, record: &'p CandidateRecord, zone: &Zone) -> Self {
        let (candidate, application) = (&record.candidate, page.application(record));
        let profile = &candidate.profile;
        let stated = profile.source.as_ref().map(Source::as_str).unwrap_or_default();
        let shown = application.filter(|_| page.list.role().is_none());
        let tags = seen_whole(profile);
        Self {
            id: candidate.id.get(),
            value: match shown {
                Some(application) => format!("{}.{}", candidate.id, application.role.id),
                None => candidate.id.to_string(),
            },
            query: page.parameter(),
            name: profile.name.as_str(),
            more_tags: profile.tags.count().saturating_sub(tags.len()),
            tags,
            role: application.map(|one| RoleFilter { id: one.role.id.get(), title: one.role.title.as_str() }),
            stage: application.map_or(candidate.stage, |one| one.stage),
            source: source_name(application.map_or(stated, |one| one.source.as_str())),
            score: application.and_then(|one| one.score),
            phone: profile.phone.as_ref().map(Phone::as_str),
            activity: zone.day(candidate.updated_at),
            reapplied: application.is_some_and(|one| one.reapplied),
            withdrawn: application
                .is_some_and(|one| one.stage == Stage::Rejected && one.cause.by == EndedBy::Candidate),
            is_closed: application.is_some_and(|one| one.status() == ApplicationStatus::Closed),
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
    /// What can be decided.
    decision: Decision,
    is_owner: bool,
    source: Option<&'p str>,
    tags: Vec<&'p str>,
    external_id: Option<&'p str>,
    hold: Option<&'p LegalHold>,
    /// Newest first.
    notes: Vec<NoteRow<'p>>,
    name: &'p str,
    email: Option<&'p str>,
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
    /// The version in the script's URL.
    script_version: String,
}

/// A resume that browsers can show. A file of a stranger is shown only to members who ask for it.
enum Preview {
    /// The path of the page that shows it.
    Offered(String),
    /// Its URL.
    Shown(String),
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
    /// The message of the latest form.
    note: Option<&'p str>,
    /// What the application answered.
    answers: Vec<AnswerRow<'p>>,
    /// What forms brought.
    offer: Option<OfferRow<'p>>,
}

struct ScreenRow<'p> {
    id: u64,
    /// Whether the conversation has not begun.
    can_be_cancelled: bool,
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
    let (list, role_id) = (&shown.list, shown.list.role());
    let is_first = shown.query().is_empty();
    let role = async {
        match role_id {
            None => Ok(None),
            Some(id) => {
                let (role, stats) = store.find_role_and_stats(tenant, id).await?.ok_or(Error::NotFound)?;
                let reasons = reasons(&request, list, &stats).await?;
                Ok(Some((role, stats, reasons)))
            }
        }
    };
    let roles = async {
        let newest = Paging { limit: ROLES, before: None };
        let is_open = Some(RoleStatus::Open);
        let listed =
            if role_id.is_none() { Some(store.list_roles(tenant, is_open, &newest).await?) } else { None };
        Ok::<_, Error>(listed.map(|listed| listed.items).unwrap_or_default())
    };
    let suspects = async { if is_first { suspects::count(&request).await } else { Ok(None) } };
    let acts =
        async { store.list_bulk_acts(tenant, role_id, request.context.now()).await.map_err(Error::from) };
    let views = async { store.list_views(tenant).await.map_err(Error::from) };
    let people = people(&request, &shown, PAGE_SIZE);
    let (role, roles, suspects, acts, views, (people, next)) =
        try_join!(role, roles, suspects, acts, views, people)?;

    let (role, reasons) = match role {
        Some((role, stats, reasons)) => (Some((role, stats)), reasons),
        None => (None, Vec::new()),
    };
    let least = query.get("least").trim();
    let problem = if least_score(least).is_none() { Some("Enter a score from 0 to 100.") } else { None };
    let (by, search) = match list {
        Listing::Found { by, text } => (*by, text.as_str()),
        Listing::Stored(_) => ("", ""),
    };
    let order = order_of(list);
    let can_be_by_score = role_id.is_some() && list.stage().is_some();
    let count = |stage: Stage| Some(role.as_ref()?.1.stages[stage.rank()].now);
    let total = role.as_ref().and_then(|(_, stats)| total(list, stats));
    let zone = dates::zone(&request);
    let pages = people.iter().map(|(record, role)| (shown.about(*role), record)).collect::<Vec<_>>();
    let rows: Vec<_> = pages.iter().map(|(page, record)| Row::of(page, record, &zone)).collect();
    let can_be_by_label = role.is_some() && order.is_some();
    let label = can_be_by_label.then(|| LabelFilter::of(&query, list, reasons, &rows)).transpose()?;
    let is_wrong = problem.is_some() || label.as_ref().is_some_and(|label| label.problem.is_some());
    let layout = Layout::of(&request, Section::Candidates);
    let view = ListPage::first(list.clone()).query();
    let page = CandidatesPage {
        layout,
        listing: list,
        heading: heading(list),
        filters: filters(list, |stage| count(stage).map(grouped)),
        role: role.as_ref().map(|(role, _)| RoleFilter::of(role)),
        shows_role: role.is_none(),
        roles: roles.iter().map(RoleFilter::of).collect(),
        kept: list.pairs().into_iter().filter(|(name, _)| !TYPED.contains(name)).collect(),
        by,
        search,
        order: order.map(|word| ListOrder { word, can_be_by_score, least, problem }),
        label,
        tagged: match role_id {
            Some(role) => format!("role_id={role}&label=tag&word="),
            None => "by=tag&search=".to_owned(),
        },
        // People are never selected by score.
        all: query.non_empty("all").is_some() && !list.is_by_score(),
        rows,
        suspects,
        // The list is read from an index, which may be ahead of the counter that was read before.
        total: total.map(|total| grouped(total.max(people.len() as u64))),
        acts: ActRow::of(&acts, &shown, &zone),
        views: views.views.iter().map(|saved| ViewLink::of(saved, &view)).collect(),
        query: shown.query(),
        list: shown.parameter(),
        pager: shown.pager(next),
        script_version: version_of(&SCRIPT),
        view,
    };
    let sources = Sources { script: true, ..Sources::default() };
    let reply = Reply::page(&page)?.showing(page.rows.len()).using(&sources);
    let reply = if is_wrong { reply.with_status(422) } else { reply };
    Ok(if search.is_empty() { reply } else { reply.found_by_search() })
}

impl<'p> LabelFilter<'p> {
    fn of(
        query: &'p Parameters,
        list: &'p Listing,
        reasons: Vec<ReasonOption>,
        rows: &[Row<'p>],
    ) -> Result<Self, Error> {
        let (by, word) = match list.label() {
            Some(Label::Source(source)) => ("source".to_owned(), source_name(source.as_str())),
            Some(Label::Tag(tag)) => ("tag".to_owned(), tag.as_str()),
            Some(Label::Reason(id)) => (id.to_string(), ""),
            None => (query.get("label").to_owned(), query.get("word")),
        };
        let words = rows.iter().flat_map(|row| row.tags.iter().copied().chain([row.source]));
        let words = words.filter(|word| !word.is_empty()).collect();
        let problem = candidate_list::label(query)?.err();
        Ok(Self { by, word, reasons, words, is_chosen: list.label().is_some(), problem })
    }
}

/// The reasons for which applications for a role ended, in the order of the organization, and the one that the list is filtered
/// by. An unknown one returns 404.
async fn reasons(
    request: &MemberRequest,
    list: &Listing,
    stats: &RoleStats,
) -> Result<Vec<ReasonOption>, Error> {
    let shown = match list.label() {
        Some(Label::Reason(id)) => Some(*id),
        _ => None,
    };
    let ended = stats.rejections().into_iter().filter_map(|(cause, _)| cause.reason_id);
    let ids: BTreeSet<_> = ended.chain(shown).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let reasons = request.context.store().get_rejection_reasons(request.tenant()).await?;
    if shown.is_some_and(|id| reasons.find(id).is_none()) {
        return Err(Error::NotFound);
    }
    let option = |reason: &RejectionReason| ReasonOption {
        id: reason.id.to_string(),
        name: reason.name.as_str().to_owned(),
        count: grouped(ended_for(stats, reason.id)),
    };
    Ok(reasons.reasons.iter().filter(|reason| ids.contains(&reason.id)).map(option).collect())
}

/// The number of a role's applications that ended for a reason.
fn ended_for(stats: &RoleStats, reason: Id) -> u64 {
    let of_reason = |(cause, _): &(CountedCause, u64)| cause.reason_id == Some(reason);
    stats.rejections().into_iter().filter(of_reason).map(|(_, count)| count).sum()
}

impl<'p> RoleFilter<'p> {
    fn of(role: &'p Role) -> Self {
        Self { id: role.id.get(), title: role.content.title.as_str() }
    }
}

impl<'p> ViewLink<'p> {
    fn of(saved: &'p SavedView, shown: &str) -> Self {
        Self {
            name: saved.name.as_str(),
            path: format!("{}?{}", candidate_list::PATH, saved.query),
            is_current: saved.query == shown,
        }
    }
}

/// A page of people with the role that their place in the list is of, and the position where the next page begins. Leaves
/// out those who were erased.
pub(crate) async fn people(
    request: &MemberRequest,
    shown: &ListPage,
    limit: u32,
) -> Result<(Vec<(CandidateRecord, Option<Id>)>, Option<String>), Error> {
    let (tenant, store) = (request.tenant(), request.context.store());
    let (places, next): (Vec<(Id, Option<Id>)>, _) = match &shown.list {
        Listing::Stored(list) => {
            let before = shown.place.before().map(ToOwned::to_owned);
            let page = Paging { limit: limit + 1, before };
            let mut listed = store.list_candidate_places(tenant, list, &page).await?;
            let next = next(&mut listed, limit, |place| place.position.clone());
            (listed.items.into_iter().map(|place| (place.id, place.role)).collect(), next)
        }
        Listing::Found { by, text } => {
            let (found, next) = find(request, by, text, &shown.place).await?;
            (found.into_iter().map(|candidate| (candidate.id, None)).collect(), next)
        }
    };
    let records = store.find_listed(tenant, places.iter().map(|(id, _)| *id)).await?;
    let people = places.into_iter().filter_map(|(id, role)| Some((records.get(&id)?.clone(), role)));
    Ok((people.collect(), next))
}

/// The order of a list that can be in another one: `score`, `oldest`, or empty for the newest first.
const fn order_of(list: &Listing) -> Option<&'static str> {
    match list {
        Listing::Stored(CandidateList::Scored { .. }) => Some("score"),
        Listing::Stored(
            CandidateList::ByTime { order: Order::Oldest, .. }
            | CandidateList::Labelled { order: Order::Oldest, .. },
        ) => Some("oldest"),
        Listing::Stored(CandidateList::ByTime { .. } | CandidateList::Labelled { .. }) => Some(""),
        Listing::Stored(CandidateList::Reapplied { .. } | CandidateList::Waiting(_))
        | Listing::Found { .. } => None,
    }
}

/// The number of candidates in a role's list, where a counter has it.
fn total(list: &Listing, stats: &RoleStats) -> Option<u64> {
    let count = |stage: Stage| stats.stages[stage.rank()].now;
    match list {
        Listing::Stored(CandidateList::ByTime { state: None, .. }) => {
            Some(Stage::ALL.into_iter().map(count).sum())
        }
        Listing::Stored(CandidateList::ByTime { state: Some(StageOrStatus::Stage(stage)), .. }) => {
            Some(count(*stage))
        }
        Listing::Stored(CandidateList::Labelled { label: Label::Reason(id), .. }) => {
            Some(ended_for(stats, *id))
        }
        _ => None,
    }
}

/// The list in words, after "Candidates".
const fn heading(list: &Listing) -> &'static str {
    match list {
        Listing::Stored(CandidateList::Waiting(waiting)) => label_of(*waiting),
        Listing::Stored(CandidateList::Reapplied { .. }) => "Applied again",
        Listing::Stored(CandidateList::Labelled { label, .. }) => match label {
            Label::Source(_) => "By source",
            Label::Tag(_) => "By tag",
            Label::Reason(_) => "By reason",
        },
        _ => match list.stage() {
            Some(stage) => word(stage),
            None => "",
        },
    }
}

const fn label_of(waiting: Waiting) -> &'static str {
    match waiting {
        Waiting::Applied => "To look at",
        Waiting::Screened => "Screened, to decide on",
        Waiting::Offer => "Offers open",
    }
}

const fn word(stage: Stage) -> &'static str {
    match stage {
        Stage::Applied => "Applied",
        Stage::Screening => "Screening",
        Stage::Interview => "Interview",
        Stage::Offer => "Offer",
        Stage::Hired => "Hired",
        Stage::Rejected => "Rejected",
    }
}

/// The links to the lists beside this one, with the numbers of people in the stages.
fn filters(shown: &Listing, count: impl Fn(Stage) -> Option<String>) -> Vec<Filter> {
    let role = shown.role();
    let order = match shown {
        Listing::Stored(CandidateList::ByTime { order, .. } | CandidateList::Labelled { order, .. }) => {
            *order
        }
        _ => Order::Newest,
    };
    let by_time = |state| CandidateList::ByTime { role, state, order };
    let filter = |label, list: CandidateList, count| {
        let list = Listing::Stored(list);
        let is_current = match &list {
            Listing::Stored(CandidateList::ByTime { state: Some(StageOrStatus::Stage(stage)), .. }) => {
                shown.stage() == Some(*stage)
            }
            list => list == shown,
        };
        Filter { label, path: ListPage::first(list).path(), is_current, count }
    };
    let waiting = Waiting::ALL.into_iter().filter(|_| role.is_none());
    let again = role.map(|role| filter("Applied again", CandidateList::Reapplied { role }, None));
    let active = StageOrStatus::Status(ApplicationStatus::Active);
    let stages = Stage::ALL.into_iter().map(|stage| {
        let list = match shown {
            // The order stays.
            Listing::Stored(CandidateList::Scored { role, .. }) => {
                CandidateList::Scored { role: *role, stage, least: 0 }
            }
            _ => by_time(Some(StageOrStatus::Stage(stage))),
        };
        filter(word(stage), list, count(stage))
    });
    waiting
        .map(|waiting| filter(label_of(waiting), CandidateList::Waiting(waiting), None))
        .chain([filter("All", by_time(None), None), filter("Open", by_time(Some(active)), None)])
        .chain(stages)
        .chain(again)
        .collect()
}

/// Shows a candidate with applications, voice screens and history.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (tenant, context) = (request.tenant(), &request.context);
    let store = context.store();
    let id = context.id()?;
    let found = Error::unless_missing(store.find_candidate_page(tenant, id, None).await?)?;
    let newest = Paging { limit: NOTES, before: None };
    let (notes, list, reasons) = try_join!(
        async { Ok::<_, Error>(store.list_notes(tenant, id, &newest).await?.items) },
        ListLinks::of(&request, &found.record),
        async { Ok(store.get_rejection_reasons(tenant).await?) },
    )?;
    let decision = Decision::of(&request, &found.record, None, list.as_ref(), &reasons);
    let (candidate, touchpoints) = (&found.record.candidate, &found.touchpoints);
    let layout = Layout::of(&request, Section::Candidates).naming_undone(&request, Some(candidate)).await?;
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
    let applications = record.applications.iter().rev().map(|application| {
        let rejection = application.rejection();
        let listed = rejection.and_then(|rejection| rejection.cause.reason_id);
        let listed = listed.map(|id| rejection_reasons::name(&reasons, id));
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
            note: submissions.note(touchpoints, application.role.id),
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
    let sources = Sources { frame: origin.as_deref(), script: true, ..Sources::default() };
    let page = Reply::page(&CandidatePage {
        layout,
        id: id.get(),
        list,
        decision,
        is_owner: request.member().role == MemberRole::Owner,
        source: profile.source.as_ref().map(Source::as_str).map(source_name),
        tags: profile.tags.iter().map(Text::as_str).collect(),
        external_id: profile.external_id.as_ref().map(Text::as_str),
        hold: record.legal_hold.as_ref(),
        notes: notes::rows(&request, id, &notes, &zone).await?,
        name: profile.name.as_str(),
        email: profile.email.as_ref().map(Email::as_str),
        phone: profile.phone.as_ref().map(Phone::as_str),
        resume_url: resume_url.as_deref(),
        possible_duplicates: possible_duplicates(&request, &record.candidate).await?,
        has_resume_file: matches!(profile.resume, Some(Resume::File(_))),
        preview,
        takes_files: bucket.is_some(),
        added: zone.day(record.candidate.created_at),
        applications,
        screens: screens.collect(),
        consents,
        files: files::rows(&record, submissions.files(), &zone),
        history: history.collect(),
        script_version: version_of(&SCRIPT),
    })?;
    Ok(page.using(&sources))
}

fn screen_row<'p>(screen: &'p Screen, role_title: &'p str, zone: &Zone) -> ScreenRow<'p> {
    ScreenRow {
        id: screen.id.get(),
        can_be_cancelled: matches!(screen.status, ScreenStatus::Queued | ScreenStatus::Scheduled),
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
