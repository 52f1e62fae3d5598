//! Settings > Retention: the rule by which people are erased, and who is erased next. Owners see who a new rule would
//! erase before they confirm it.

use std::sync::Arc;

use askama::Template;
use shared::clock::Timestamp;
use shared::http::page::{Problem, problem_of};
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::{
    Candidate, Email, MemberRole, Retention, RetentionDays, RetentionSetting, RetentionStart, Stage, grouped,
};
use shared::store::Paging;

use crate::dates::{self, Time, Zone};
use crate::form::problem;
use crate::layout::{Layout, Section};
use crate::lists::Pager;
use crate::members::acting_owner;
use crate::messages::Notice;

pub(crate) const PATH: &str = "/dashboard/settings/retention";
/// The number of people on the page.
const SHOWN: usize = 25;
/// The number of people that the page counts, of those who were ever hired and of the others.
const COUNTED: u32 = 1_000;
/// The value of a ticked box, and of a hidden field that says yes.
const YES: &str = "yes";

#[derive(Template)]
#[template(path = "retention.html")]
struct RetentionPage<'p> {
    layout: Layout<'p>,
    /// Whether the signed-in member is an owner. Only owners can change the rule.
    is_owner: bool,
    current: Option<CurrentRule>,
    proposal: Option<Proposal>,
    values: FormValues<'p>,
    /// Problems with the field `days`.
    problems: Vec<Problem>,
}

/// The rule that is switched on.
struct CurrentRule {
    rule: Retention,
    set: Time,
    next_run: Time,
    /// The people whom the next run erases. They are not shown beside a proposal.
    due: Option<DuePeople>,
}

/// A rule that an owner has not confirmed yet.
struct Proposal {
    rule: Retention,
    /// The days without a thousands separator.
    days: u16,
    first_run: Time,
    due: DuePeople,
}

/// The people whom a run erases.
struct DuePeople {
    pager: Pager,
    /// The number of the first person on the page, from 1.
    first: usize,
    count: usize,
    /// Whether there may be more people than were counted.
    is_minimum: bool,
    shown: Vec<PersonRow>,
}

struct PersonRow {
    id: u64,
    name: String,
    email: String,
    stage: Stage,
    /// The day on which the retention period began.
    since: Time,
}

/// The values in the form, as they were typed.
#[derive(Default)]
struct FormValues<'f> {
    days: &'f str,
    include_hired: bool,
}

impl FormValues<'_> {
    fn rule(&self) -> Result<Retention, Problem> {
        let days = self.days.parse::<RetentionDays>();
        let days = days.map_err(|message| problem("days", "The number of days", &message))?;
        Ok(Retention { days, include_hired: self.include_hired })
    }
}

impl DuePeople {
    /// Returns the numbers of the people on the page: `26 to 50`.
    fn range_in_words(&self) -> String {
        let last = self.first + self.shown.len().saturating_sub(1);
        format!("{} to {}", grouped(self.first as u64), grouped(last as u64))
    }

    /// Returns the number in words: `1 person`, `26 people`, `at least 1,000 people`.
    fn count_in_words(&self) -> String {
        let minimum = if self.is_minimum { "at least " } else { "" };
        let noun = if self.count == 1 { "person" } else { "people" };
        format!("{minimum}{} {noun}", grouped(self.count as u64))
    }
}

/// Shows the rule and who is erased next. With `preview`, an owner sees who the rule in the query would erase.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let query = request.context.query();
    let setting = find(&request).await?;
    if is_owner(&request) && query.get("preview") == YES {
        let values = FormValues { days: query.get("days"), include_hired: query.get("include_hired") == YES };
        return match values.rule() {
            Ok(rule) => page(&request, &setting, Some(rule), values, Vec::new()).await,
            Err(problem) => Ok(page(&request, &setting, None, values, vec![problem]).await?.with_status(422)),
        };
    }
    let rule = setting.schedule.map(|schedule| schedule.retention);
    let days = rule.map(|rule| u16::from(rule.days).to_string()).unwrap_or_default();
    let values = FormValues { days: &days, include_hired: rule.is_some_and(|rule| rule.include_hired) };
    page(&request, &setting, None, values, Vec::new()).await
}

/// Sets the rule, or switches it off. A rule that was not previewed is previewed first.
pub(crate) async fn change(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let form = request.page.form();
    let setting = find(&request).await?;
    let (rule, notice) = if form.get("rule") == "off" {
        (None, Notice::RetentionOff)
    } else {
        let values = FormValues { days: form.get("days"), include_hired: form.get("include_hired") == YES };
        match values.rule() {
            Ok(rule) if form.get("previewed") == YES => (Some(rule), Notice::RetentionSet),
            Ok(rule) => return Ok(Reply::see_other(&preview_of(rule))),
            Err(problem) => {
                let page = page(&request, &setting, None, values, vec![problem]).await?;
                return Ok(page.with_status(422));
            }
        }
    };
    if let Some(changed) = setting.change(rule, request.context.now()) {
        let mut transaction = request.transaction();
        transaction.replace_retention_setting(&setting, &changed)?;
        transaction.require_member(&acting_owner(&request).await?);
        request.context.store().commit(transaction).await?;
    }
    Ok(notice.redirect_to(PATH))
}

/// Returns the URL of a rule's preview.
fn preview_of(rule: Retention) -> String {
    let hired = if rule.include_hired { "&include_hired=yes" } else { "" };
    format!("{PATH}?preview={YES}&days={}{hired}", u16::from(rule.days))
}

fn is_owner(request: &MemberRequest) -> bool {
    request.member().role == MemberRole::Owner
}

async fn find(request: &MemberRequest) -> Result<RetentionSetting, Error> {
    Ok(request.context.store().get_retention_setting(request.tenant()).await?)
}

async fn page(
    request: &MemberRequest,
    setting: &RetentionSetting,
    proposed: Option<Retention>,
    values: FormValues<'_>,
    problems: Vec<Problem>,
) -> Result<Reply<Html>, Error> {
    let zone = dates::zone(request);
    let proposal = match proposed {
        None => None,
        Some(rule) => {
            let first_run = RetentionSetting::first_run(request.context.now());
            let due = due_people(request, rule, first_run, &preview_of(rule)).await?;
            Some(Proposal { rule, days: rule.days.into(), first_run: zone.minute(first_run), due })
        }
    };
    let current = match &setting.schedule {
        None => None,
        Some(schedule) => {
            let due = match &proposal {
                None => Some(due_people(request, schedule.retention, schedule.next_run, PATH).await?),
                Some(_) => None,
            };
            let (set, next_run) = (zone.minute(schedule.set_at), zone.minute(schedule.next_run));
            Some(CurrentRule { rule: schedule.retention, set, next_run, due })
        }
    };
    let due = current.iter().filter_map(|current| current.due.as_ref());
    let due = due.chain(proposal.iter().map(|proposal| &proposal.due));
    let shown = due.map(|due| due.shown.len()).sum();
    let page = RetentionPage {
        layout: Layout::of(request, Section::Retention),
        is_owner: is_owner(request),
        current,
        proposal,
        values,
        problems,
    };
    Ok(Reply::page(&page)?.showing(shown))
}

/// Finds a page of the people whom a rule erases at this time. The latest retention periods come first. `path` is the address
/// of the page, with its query if it has one.
async fn due_people(
    request: &MemberRequest,
    rule: Retention,
    at: Timestamp,
    path: &str,
) -> Result<DuePeople, Error> {
    let (tenant, store) = (request.tenant(), request.context.store());
    let (mut people, mut is_minimum) = (Vec::new(), false);
    for ever_hired in rule.groups() {
        let page = Paging { limit: COUNTED, before: None };
        let listed = store.list_due_people(tenant, rule, *ever_hired, at, &page).await?;
        is_minimum |= listed.next.is_some();
        people.extend(listed.items);
    }
    let count = people.len();
    people.sort_by_key(|person| std::cmp::Reverse((person.start.since, person.id)));
    let last = count.saturating_sub(1) / SHOWN;
    let page = request.context.query().get("page").parse::<usize>().map_or(0, |page| page.saturating_sub(1));
    let page = page.min(last);
    let people = people.chunks(SHOWN).nth(page).unwrap_or_default();
    let ids: Vec<Id> = people.iter().map(|person| person.id).collect();
    let candidates = store.find_candidates(tenant, &ids).await?;
    let start = |candidate: &Candidate| people.iter().find(|person| person.id == candidate.id);
    let zone = dates::zone(request);
    let rows = candidates.iter().filter_map(|candidate| Some(row(candidate, start(candidate)?.start, &zone)));
    let separator = if path.contains('?') { '&' } else { '?' };
    let address = |page: usize| match page {
        0 => path.to_owned(),
        page => format!("{path}{separator}page={}", page + 1),
    };
    let pager = Pager {
        first: (page > 1).then(|| address(0)),
        previous: page.checked_sub(1).map(address),
        next: (page < last).then(|| address(page + 1)),
    };
    Ok(DuePeople { pager, first: page * SHOWN + 1, count, is_minimum, shown: rows.collect() })
}

fn row(candidate: &Candidate, start: RetentionStart, zone: &Zone) -> PersonRow {
    PersonRow {
        id: candidate.id.get(),
        name: candidate.profile.name.as_str().to_owned(),
        email: candidate.profile.email.as_ref().map_or("–", Email::as_str).to_owned(),
        stage: candidate.stage,
        since: zone.day(start.since),
    }
}
