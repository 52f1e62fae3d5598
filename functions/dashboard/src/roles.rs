//! Roles, their statuses, and their pipelines as boards.

use std::sync::Arc;

use askama::Template;
use futures_util::try_join;
use shared::clock::Timestamp;
use shared::handlers::responses::posting::public_url;
use shared::handlers::{postings, roles};
use shared::http::page::{Sources, version_of};
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::{
    ApplicationStatus, CountedCause, EndedBy, JobBoard, Posting, Role, RoleStatus, Stage, Text, grouped,
};
use shared::store::CandidateApplication;

use crate::form_page::fields_of;
use crate::layout::{Layout, SCRIPT, Section};
use crate::lists::{FilterLink, PAGE_SIZE, Pager, Place, filter, id_position, is_id_position, next};
use crate::messages::{Alert, Notice};
use crate::rejection_reasons;
use crate::role_closing;
use crate::role_forms::role_facts;
use crate::sources::source_name;

/// The maximum number of candidates in a column of a board.
const IN_COLUMN: u32 = 25;
/// The statuses in the order of the filter links.
const STATUSES: [RoleStatus; 4] =
    [RoleStatus::Open, RoleStatus::Draft, RoleStatus::Paused, RoleStatus::Closed];

#[derive(Template)]
#[template(path = "roles.html")]
struct RolesPage<'p> {
    layout: Layout<'p>,
    /// The status that the list is filtered by.
    status: Option<RoleStatus>,
    filters: [FilterLink; 4],
    roles: Vec<RoleRow<'p>>,
    pager: Pager,
    base_url: &'p str,
}

struct RoleRow<'p> {
    id: u64,
    title: &'p str,
    status: RoleStatus,
    department: Option<&'p str>,
    location: Option<String>,
    /// The number of distinct candidates.
    applicants: u64,
    /// The number of voice screens.
    screens: u64,
}

#[derive(Template)]
#[template(path = "role.html")]
struct RolePage<'p> {
    layout: Layout<'p>,
    id: u64,
    title: &'p str,
    status: RoleStatus,
    /// What the role's form has, with the labels.
    facts: Vec<(&'static str, String)>,
    /// What search engines require of the job and do not find.
    unlisted: Option<&'static str>,
    /// The job boards whose feeds leave the job out, and what they require.
    boards: Vec<(&'static str, String)>,
    posting: Option<PostingLink<'p>>,
    /// Whether the last day to apply is over.
    is_over: bool,
    /// The number of distinct candidates.
    applicants: u64,
    /// The number of voice screens.
    screens: u64,
    /// The number of completed voice screens.
    completed: u64,
    /// The percentage of completed voice screens that were passed, such as `75%`; `None` if none is completed.
    pass_rate: Option<String>,
    /// The average overall score from 0 to 100; `None` if there are no scores.
    average_score: Option<String>,
    columns: Vec<Column>,
    /// Who has applied again since the last move.
    reapplied: Vec<Reapplied>,
    hired: u64,
    rejected: u64,
    /// Why applications ended, the most frequent reason first.
    rejections: Vec<RejectionRow>,
    /// The version in the script's URL.
    script_version: String,
    /// What the status allows, as the value and the label of a button.
    actions: &'static [(&'static str, &'static str)],
}

/// How many applications were ended by one side for one reason.
struct RejectionRow {
    reason: String,
    /// The reason in the list.
    reason_id: Option<Id>,
    by: EndedBy,
    count: u64,
}

struct PostingLink<'p> {
    id: u64,
    /// The public URL. It shows the posting only while it is published.
    url: &'p str,
    is_published: bool,
}

/// An open stage with its newest candidates.
struct Column {
    stage: Stage,
    /// The number of applications in the stage.
    count: u64,
    cards: Vec<Card>,
}

/// An application on the board.
struct Card {
    candidate: u64,
    name: String,
    /// The first letters of the first and the last name.
    initials: String,
    /// The first tags.
    tags: Vec<String>,
    /// The number of the other tags.
    more_tags: usize,
    /// The overall score of the latest voice screen.
    score: Option<u8>,
    /// The time in the stage: `today` or `12 days`.
    age: String,
    source: String,
    /// Whether the team has written notes.
    has_notes: bool,
    /// Whether the candidate has applied again since the last move.
    reapplied: bool,
    /// The stages that the candidate can be moved to.
    targets: Vec<Stage>,
}

/// A candidate who has applied again since the application last moved.
struct Reapplied {
    candidate: u64,
    name: String,
    stage: Stage,
}

/// The maximum number of tags on a card.
const TAGS: usize = 3;

/// The first letters of the first and the last word of a name, as capitals.
fn initials(name: &str) -> String {
    let letter = |word: &str| word.chars().find(|letter| letter.is_alphabetic()).map(char::to_uppercase);
    let words: Vec<_> = name.split_whitespace().filter_map(letter).collect();
    let last = words.iter().skip(1).last();
    words.first().into_iter().chain(last).flat_map(Clone::clone).collect()
}

impl Card {
    fn of(entry: &CandidateApplication, now: Timestamp) -> Self {
        let CandidateApplication { application, candidate } = entry;
        let days = now.duration_since(application.stage_changed_at).as_hours() / 24;
        let targets = Stage::ALL.into_iter().filter(|stage| *stage != application.stage);
        Self {
            candidate: candidate.id.get(),
            name: candidate.profile.name.as_str().to_owned(),
            initials: initials(candidate.profile.name.as_str()),
            tags: candidate.profile.tags.iter().take(TAGS).map(|tag| tag.as_str().to_owned()).collect(),
            more_tags: candidate.profile.tags.count().saturating_sub(TAGS),
            score: application.score,
            age: match days {
                ..=0 => "today".to_owned(),
                1 => "1 day".to_owned(),
                days => format!("{days} days"),
            },
            source: source_name(application.source.as_str()).to_owned(),
            has_notes: candidate.has_notes,
            reapplied: application.reapplied,
            targets: if application.status() == ApplicationStatus::Active {
                targets.collect()
            } else {
                Vec::new()
            },
        }
    }
}

/// Shows the list of roles.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (tenant, store) = (request.tenant(), request.context.store());
    let query = request.context.query();
    let (status, place) = (filter::<RoleStatus>(query.get("status"))?, Place::read(&query, is_id_position));
    let mut listed = store.list_roles(tenant, status, &place.paging()).await?;
    let filters: Vec<_> = status.iter().map(|status| ("status", status.as_str())).collect();
    let next = next(&mut listed, PAGE_SIZE, |role| id_position(role.id));
    let pager = Pager::new("/dashboard/roles", &filters, &place, next);
    let stats = store.find_roles_stats(tenant, listed.items.iter().map(|role| role.id)).await?;
    let roles = listed.items.iter().map(|role| {
        let stats = stats.get(&role.id).cloned().unwrap_or_default();
        RoleRow {
            id: role.id.get(),
            title: role.content.title.as_str(),
            status: role.status,
            department: role.content.department.as_ref().map(Text::as_str),
            location: role.content.places.words(),
            applicants: stats.applicants,
            screens: stats.screens,
        }
    });
    Reply::page(&RolesPage {
        layout: Layout::of(&request, Section::Roles),
        status,
        filters: STATUSES.map(|known| FilterLink { word: known.as_str(), is_current: status == Some(known) }),
        roles: roles.collect(),
        pager,
        base_url: request.context.base_url(),
    })
}

/// Shows a role and its board.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (tenant, store, id) = (request.tenant(), request.context.store(), request.context.id()?);
    let (found, listed) =
        try_join!(store.find_role_and_stats(tenant, id), store.list_board(tenant, id, IN_COLUMN))?;
    let (role, stats) = found.ok_or(Error::NotFound)?;
    request.expect_page(listed.len(), false);
    let posting = async {
        match &role.posting {
            Some(link) => store.find_posting(tenant, link.id).await,
            None => Ok(None),
        }
    };
    let rejections = stats.rejections();
    let reasons = async {
        if rejections.iter().any(|(cause, _)| cause.reason_id.is_some()) {
            store.get_rejection_reasons(tenant).await.map(Some)
        } else {
            Ok(None)
        }
    };
    let (posting, board, reasons) = try_join!(posting, store.find_board(tenant, &role, listed), reasons)?;
    let rejections = rejections.into_iter().map(|(CountedCause { by, reason_id }, count)| {
        let named = reason_id.zip(reasons.as_ref()).map(|(id, reasons)| rejection_reasons::name(reasons, id));
        RejectionRow { reason: named.unwrap_or_else(|| "None of the list".to_owned()), reason_id, by, count }
    });
    let is_closed = role.status == RoleStatus::Closed;
    let count = |stage: Stage| stats.stages[stage.rank()].now;
    let columns: Vec<_> = Stage::OPEN
        .into_iter()
        .zip(&board.stages)
        .map(|(stage, entries)| Column {
            stage,
            count: if is_closed { 0 } else { count(stage) },
            cards: entries.iter().map(|entry| Card::of(entry, request.context.now())).collect(),
        })
        .collect();
    let (base_url, organization) = (request.context.base_url(), request.organization());
    let unlisted = posting.as_ref().and_then(|posting| missing_for_search(&role, posting));
    let boards =
        posting.as_ref().map(|posting| missing_for_boards(&role, posting, &request)).unwrap_or_default();
    let is_over = role.is_over(request.context.now());
    let posting = posting.map(|posting| {
        let url = public_url(base_url, organization, &posting.slug);
        (posting.id, url, posting.published && !is_over)
    });
    let reapplied: Vec<_> = board
        .reapplied
        .iter()
        .map(|(candidate, applicant)| Reapplied {
            candidate: candidate.id.get(),
            name: candidate.profile.name.as_str().to_owned(),
            stage: applicant.stage,
        })
        .collect();
    let shown = columns.iter().map(|column| column.cards.len()).sum::<usize>() + reapplied.len();
    let mut layout = Layout::of(&request, Section::Roles).naming_undone(&request, None).await?;
    layout.notice = layout.notice.filter(|notice| notice.holds_for(role.status));
    let page = RolePage {
        layout,
        id: id.get(),
        title: role.content.title.as_str(),
        status: role.status,
        facts: role_facts(&role, &request),
        unlisted,
        boards,
        posting: posting.as_ref().map(|(id, url, is_published)| PostingLink {
            id: id.get(),
            url,
            is_published: *is_published,
        }),
        is_over,
        applicants: stats.applicants,
        screens: stats.screens,
        completed: stats.screens_completed,
        pass_rate: stats.pass_rate().map(|rate| format!("{:.0}%", rate * 100.0)),
        average_score: stats.average_score().map(|score| format!("{score:.0}")),
        columns,
        reapplied,
        hired: count(Stage::Hired),
        rejected: count(Stage::Rejected),
        rejections: rejections.collect(),
        script_version: version_of(&SCRIPT),
        actions: actions(role.status),
    };
    let sources = Sources { script: true, ..Sources::default() };
    Ok(Reply::page(&page)?.showing(shown).using(&sources))
}

/// What search engines require of a job that the role and its posting lack, in words.
fn missing_for_search(role: &Role, posting: &Posting) -> Option<&'static str> {
    let has_description = posting.content.shown(&role.content).description.is_some();
    match (has_description, role.content.places.have_countries()) {
        (true, true) => None,
        (false, true) => Some("a description"),
        (true, false) => Some("a country for each place"),
        (false, false) => Some("a description and a country for each place"),
    }
}

/// What job boards require of a job that the role, its posting or the settings lack, in words: the board and what it requires.
fn missing_for_boards(
    role: &Role,
    posting: &Posting,
    request: &MemberRequest,
) -> Vec<(&'static str, String)> {
    let settings = &request.named_organization().settings;
    let plain = posting.content.shown(&role.content).plain();
    let missing = |board: JobBoard| {
        let missing = board.missing(&role.content, &plain, settings);
        (!missing.is_empty()).then(|| (board.name(), missing.join("; ")))
    };
    JobBoard::ALL.into_iter().filter_map(missing).collect()
}

/// What members can do with a role in this status.
const fn actions(status: RoleStatus) -> &'static [(&'static str, &'static str)] {
    match status {
        RoleStatus::Draft => &[("publish", "Publish")],
        RoleStatus::Open => &[("pause", "Pause")],
        RoleStatus::Paused => &[("resume", "Resume")],
        RoleStatus::Closed => &[("reopen", "Reopen")],
    }
}

/// Changes a role's status. A draft is published together with its posting, if it has one.
pub(crate) async fn change_status(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let path = format!("/dashboard/roles/{}", request.context.id()?);
    let (form, call) = (request.page.form(), request.call(fields_of(&[])));
    let (done, notice) = match form.get("action") {
        "close" => return role_closing::close(&request).await,
        "undo" => return role_closing::undo(&request).await,
        "publish" => {
            let call = request.call(fields_of(&[("job_posting", form.get("job_posting"))]));
            (request.carry_out(call, roles::publish).await, Notice::RolePublished)
        }
        "pause" => (request.carry_out(call, roles::pause).await, Notice::RolePaused),
        "resume" => (request.carry_out(call, roles::resume).await, Notice::RoleResumed),
        "reopen" => (request.carry_out(call, roles::reopen).await, Notice::RoleReopened),
        _ => return Err(unknown_action()),
    };
    redirect(&request, done.map(drop), notice, &path).await
}

/// Publishes or unpublishes a posting.
pub(crate) async fn change_posting_status(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (form, call) = (request.page.form(), request.call(fields_of(&[])));
    let role = form.get("role").parse::<u64>();
    let path =
        role.map_or_else(|_| "/dashboard/postings".to_owned(), |role| format!("/dashboard/roles/{role}"));
    let (done, notice) = match form.get("action") {
        "publish" => (request.carry_out(call, postings::publish).await, Notice::PostingPublished),
        "unpublish" => (request.carry_out(call, postings::unpublish).await, Notice::PostingUnpublished),
        _ => return Err(unknown_action()),
    };
    redirect(&request, done.map(drop), notice, &path).await
}

/// Returns to the role's page, with what was done or why nothing was.
async fn redirect(
    request: &MemberRequest,
    done: Result<(), Error>,
    notice: Notice,
    path: &str,
) -> Result<Reply<Html>, Error> {
    match done {
        Ok(()) => Ok(notice.redirect_to(path)),
        Err(Error::InvalidTransition(_) | Error::Validation(_)) => {
            let role = path.strip_prefix("/dashboard/roles/").and_then(|id| id.parse().ok());
            let role = match role {
                Some(id) => request.context.store().find_role(request.tenant(), id).await?,
                None => None,
            };
            let is_over = role
                .is_some_and(|role| role.status != RoleStatus::Closed && role.is_over(request.context.now()));
            let publishes = matches!(notice, Notice::RolePublished | Notice::PostingPublished);
            let alert = if publishes && is_over { Alert::LastDayOver } else { Alert::StatusChanged };
            Ok(alert.redirect_to(path))
        }
        Err(error) => Err(error),
    }
}

fn unknown_action() -> Error {
    Error::BadRequest("The form must name an action that the page offers".to_owned())
}

#[cfg(test)]
mod tests {
    use super::initials;

    #[test]
    fn initials_are_those_of_the_first_and_the_last_word() {
        for (name, letters) in [
            ("Ada Lovelace", "AL"),
            ("maría josé garcía", "MG"),
            ("Cher", "C"),
            ("Đỗ Thị Linh", "ĐL"),
            ("محمد علي", "مع"),
            ("'t Hooft (Gerard)", "TG"),
            ("ßen", "SS"),
            ("??", ""),
        ] {
            assert_eq!(initials(name), letters, "{name}");
        }
    }
}
