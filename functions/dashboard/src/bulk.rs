//! What members do to several candidates of a role at once: those who are selected, or everybody in a list. At most 100 are
//! changed by the request itself, each by a transaction of its own; a task works on more, and a page shows its progress. What
//! was done can be undone for a day, as one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use askama::Template;
use jiff::SignedDuration;
use shared::clock::later;
use shared::handlers::bulk_acts;
use shared::handlers::moves::Rejection;
use shared::handlers::notes::NewNote;
use shared::http::{ApiRequest, Error, Html, MemberRequest, Reply, read_form};
use shared::id::Id;
use shared::model::{
    BulkAct, BulkKind, BulkPerson, BulkResult, BulkState, BulkStop, BulkWords, CandidateRecord, EndedBy,
    RejectionReason, Role, Stage, Tag,
};
use shared::store::Paging;

use crate::bulk_progress::{act_path, progress};
use crate::candidate_list::{ListPage, Listing, chosen};
use crate::candidates::people;
use crate::form_page::{fields_of, sentence};
use crate::layout::{Layout, Section};
use crate::messages::{Alert, Notice};

/// The maximum number of candidates who are selected one by one.
const MAX: usize = 100;
/// The number of places that are read at a time.
const PLACES: u32 = 1_000;
/// The maximum number of people whom a page names.
const NAMED: usize = 100;
/// After this time, a task goes on with what a request has not finished.
const PATIENCE: SignedDuration = SignedDuration::from_mins(2);

#[derive(Template)]
#[template(path = "bulk.html")]
struct BulkPage<'p> {
    layout: Layout<'p>,
    role: u64,
    title: &'p str,
    /// What is done: a stage, `tag`, `note` or `invite`.
    to: &'static str,
    /// The path of the list.
    list: String,
    /// The key of the form, which a repetition keeps.
    key: String,
    /// The reasons that can be chosen, with their identifiers.
    reasons: Vec<RejectionReason>,
    people: Vec<Person>,
    /// Whether everybody in the list is meant.
    is_everybody: bool,
    /// Whether more candidates than those on the page are meant, because everybody in the list is.
    has_more: bool,
}

/// A candidate in a review.
struct Person {
    id: Id,
    name: String,
    stage: Stage,
}

impl Person {
    fn of(record: &CandidateRecord, role: Id) -> Self {
        Self {
            id: record.candidate.id,
            name: record.candidate.profile.name.as_str().to_owned(),
            stage: chosen(record, Some(role)).map_or(record.candidate.stage, |application| application.stage),
        }
    }

    /// The candidate and the stage that was shown, as the value of a form's field.
    fn value(&self) -> String {
        format!("{}.{}", self.id, self.stage.as_str())
    }
}

impl BulkPage<'_> {
    /// The button.
    fn verb(&self) -> String {
        match self.to {
            "rejected" => "Reject".to_owned(),
            "tag" => "Tag".to_owned(),
            "note" => "Add a note to".to_owned(),
            "invite" => "Invite".to_owned(),
            stage => format!("Move to {stage}:"),
        }
    }
}

#[derive(Template)]
#[template(path = "bulk_act.html")]
struct ActPage<'p> {
    layout: Layout<'p>,
    role: u64,
    title: &'p str,
    act: &'p BulkAct,
    /// The path of the list.
    list: String,
    /// The path of the page.
    path: String,
    /// The people for whom nothing was done, or undone, and why. At most 100.
    left_out: Vec<LeftOut>,
    /// The number of such people.
    left_out_count: u64,
    /// The fields of the form that tries again.
    again: Vec<(String, String)>,
}

/// A candidate for whom nothing was done.
struct LeftOut {
    id: Id,
    /// The name; `None` if the candidate was erased.
    name: Option<String>,
    why: String,
}

impl ActPage<'_> {
    fn progress(&self) -> String {
        progress(self.act)
    }

    fn heading(&self) -> String {
        match self.act.kind {
            BulkKind::Rejected => "Reject candidates".to_owned(),
            BulkKind::Tagged => "Tag candidates".to_owned(),
            BulkKind::Noted => "Add a note to candidates".to_owned(),
            BulkKind::Invited => "Invite candidates to a voice screen".to_owned(),
            BulkKind::Moved => {
                format!("Move candidates to {}", self.act.to.map(Stage::as_str).unwrap_or_default())
            }
        }
    }

    fn is_good(&self) -> bool {
        self.act.is_working() || self.left_out_count == 0 && self.act.state != BulkState::Stopped
    }

    fn is_running(&self) -> bool {
        self.act.state == BulkState::Running
    }
}

/// Shows to whom something would be done.
pub(crate) async fn review(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let query = request.context.query();
    let role = find_role(&request).await?;
    if let Some(id) = query.non_empty("act") {
        let act = find_act(&request, role.id, id.parse().map_err(|_| Error::NotFound)?).await?;
        let page = act_page(&request, &role, &act, Vec::new()).await?;
        return Ok(Reply::page(&page)?.showing(page.left_out.len()));
    }
    let to = act(query.get("to"))?;
    let list = list_of(&request, role.id);
    let is_everybody = query.get("everybody") == "yes" && !list.list.is_by_score();
    let (records, has_more) = if is_everybody {
        let (people, next) = people(&request, &list, 25).await?;
        (people.into_iter().map(|(record, _)| record).collect(), next.is_some())
    } else {
        let ids: Vec<Id> = query.all("id").filter_map(|id| id.parse().ok()).take(MAX).collect();
        (in_order(&request, &ids).await?, false)
    };
    let people: Vec<_> = of_role(&records, role.id).collect();
    if people.is_empty() {
        return Ok(Alert::NobodySelected.redirect_to(&list.path()).showing(0));
    }
    let layout = Layout::of(&request, Section::Candidates);
    let shown = people.len();
    let page = BulkPage {
        key: layout.key.clone(),
        layout,
        role: role.id.get(),
        title: role.content.title.as_str(),
        to,
        list: list.path(),
        reasons: reasons(&request, to).await?,
        people,
        is_everybody,
        has_more,
    };
    Ok(Reply::page(&page)?.showing(shown))
}

/// The list that the page was opened from, of this role.
fn list_of(request: &MemberRequest, role: Id) -> ListPage {
    let list = ListPage::opened_from(request).filter(|list| list.list.role() == Some(role));
    list.unwrap_or_else(|| ListPage::of_role(role))
}

/// The records of these candidates, in this order.
async fn in_order(request: &MemberRequest, ids: &[Id]) -> Result<Vec<CandidateRecord>, Error> {
    let mut found = request.context.store().find_listed(request.tenant(), ids.iter().copied()).await?;
    Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
}

/// Those who have applied for the role.
fn of_role(records: &[CandidateRecord], role: Id) -> impl Iterator<Item = Person> {
    let applied = records.iter().filter(move |record| record.application(role).is_some());
    applied.map(move |record| Person::of(record, role))
}

/// The reasons that can be chosen for a rejection.
async fn reasons(request: &MemberRequest, to: &str) -> Result<Vec<RejectionReason>, Error> {
    if to != Stage::Rejected.as_str() {
        return Ok(Vec::new());
    }
    let reasons = request.context.store().get_rejection_reasons(request.tenant()).await?;
    Ok(reasons.active(EndedBy::Team).cloned().collect())
}

/// Does it to the candidates: at once, or as a task if there are more than 100. The same form again has no other effect, but
/// tries again for those who were left out.
pub(crate) async fn carry_out(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (form, store, tenant) = (request.page.form(), request.context.store(), request.tenant());
    let role = find_role(&request).await?;
    let to = act(form.get("to"))?;
    let list = list_of(&request, role.id);
    let is_everybody = form.get("everybody") == "yes" && !list.list.is_by_score();
    let mut new = new_act(&request, &role, to).map_err(in_words)?;
    let mut meant = if is_everybody {
        new.from = list.list.stage();
        match everybody(&request, &list).await? {
            Some(ids) => ids.into_iter().map(|id| BulkPerson::waiting(id, None)).collect(),
            None => return Ok(Alert::ListTooLong.redirect_to(&list.path())),
        }
    } else {
        let chosen = form.all("candidate").filter_map(|value| {
            let (id, stage) = value.split_once('.')?;
            Some(BulkPerson::waiting(id.parse().ok()?, Some(stage.parse().ok()?)))
        });
        let mut seen = HashSet::new();
        chosen.filter(|person| seen.insert(person.id)).take(MAX).collect::<Vec<_>>()
    };
    if meant.len() as u64 <= BulkAct::AT_ONCE {
        let found = store.find_listed(tenant, meant.iter().map(|person| person.id)).await?;
        meant.retain(|person| {
            found.get(&person.id).is_some_and(|record| record.application(role.id).is_some())
        });
        meant = bulk_acts::look_at(&new, &meant, &found);
        new.is_prepared = true;
        new.task_due = Some(later(request.context.now(), PATIENCE));
    }
    new.total = meant.len() as u64;
    let (new_id, words) = (new.id, new.words.clone());
    let begin = |api: ApiRequest<()>| bulk_acts::begin(api, new, meant);
    // If the same form was sent before, nobody may be left in the list.
    let begun = match request.carry_out(request.call(request.fields()), begin).await {
        Err(Error::NotFound) => return Ok(Alert::NobodySelected.redirect_to(&list.path())),
        begun => begun?,
    };
    let begun: serde_json::Value = serde_json::from_str(begun.body()).unwrap_or_default();
    let id = begun["id"].as_u64().and_then(Id::new).ok_or(Error::NotFound)?;
    let mut act = store.find_bulk_act(tenant, role.id, id).await?.ok_or(Error::NotFound)?;
    if act.id != new_id {
        act = try_again(&request, act, words.unwrap_or_default()).await?;
    }
    if act.total > BulkAct::AT_ONCE || matches!(act.state, BulkState::Undoing | BulkState::Undone) {
        return Ok(Reply::see_other(&act_path(&list, &act)));
    }
    let act = finish(&request, act).await?;
    if act.refused > 0 {
        let again = form.iter().filter(|(name, _)| *name != "csrf");
        let again = again.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        return Reply::page(&act_page(&request, &role, &act, again).await?);
    }
    let notice = match act.kind {
        BulkKind::Noted => Notice::NotesAdded,
        BulkKind::Tagged if act.changed == 0 => Notice::TaggedBefore,
        _ => Notice::BulkDone,
    };
    Ok(notice.redirect_to(&list.path()))
}

/// Works on a small act until it has ended.
async fn finish(request: &MemberRequest, mut act: BulkAct) -> Result<BulkAct, Error> {
    let caller = request.on_behalf();
    while act.is_working() {
        act = bulk_acts::work_on(&caller, &act).await?;
    }
    Ok(act)
}

/// The act with those who were left out as if their turn had not come.
async fn try_again(request: &MemberRequest, act: BulkAct, words: BulkWords) -> Result<BulkAct, Error> {
    let (store, tenant) = (request.context.store(), request.tenant());
    if act.parts != 1 || act.state != BulkState::Done {
        return Ok(act);
    }
    let part = store.find_bulk_part(tenant, &act, 0).await?;
    let Some((after, waiting)) = act.again(words, &part) else { return Ok(act) };
    let after = BulkAct { task_due: Some(later(request.context.now(), PATIENCE)), ..after };
    let mut transaction = request.transaction();
    transaction.replace_bulk_part(act.role_id, &part, &waiting)?;
    transaction.replace_bulk_act(&act, &after)?;
    store.commit(transaction).await?;
    Ok(after)
}

/// What is wrong with what was typed, as a sentence for the page of the error.
fn in_words(error: Error) -> Error {
    match error {
        Error::Validation(messages) => {
            Error::BadRequest(messages.iter().map(|message| sentence(message)).collect::<Vec<_>>().join(" "))
        }
        error => error,
    }
}

/// The act that the form describes, without its people. Fails if what was typed is invalid.
fn new_act(request: &MemberRequest, role: &Role, to: &str) -> Result<BulkAct, Error> {
    let form = request.page.form();
    let typed = |name: &str| form.non_empty(name).map(ToOwned::to_owned);
    let (mut words, mut tag) = (BulkWords::default(), None);
    let kind = match to {
        "note" => {
            read_form::<NewNote>(&fields_of(&[("text", form.get("text"))]))?;
            words.text = typed("text");
            BulkKind::Noted
        }
        "tag" => {
            tag = Tag::parse(form.get("tag")).ok().flatten();
            if tag.is_none() {
                return Err(Error::Validation(vec!["tag must have 1 to 50 characters".to_owned()]));
            }
            BulkKind::Tagged
        }
        "invite" => BulkKind::Invited,
        "rejected" => {
            let reasons = [("reason_id", form.get("reason_id")), ("reason", form.get("reason"))];
            read_form::<Rejection>(&fields_of(&reasons))?;
            (words.reason_id, words.reason) = (typed("reason_id"), typed("reason"));
            BulkKind::Rejected
        }
        _ => BulkKind::Moved,
    };
    let now = request.context.now();
    Ok(BulkAct {
        id: request.context.ids().next(),
        role_id: role.id,
        kind,
        to: to.parse().ok(),
        from: None,
        tag,
        words: (words != BulkWords::default()).then_some(words),
        base_url: request.context.base_url().to_owned(),
        actor: request.actor(),
        at: now,
        total: 0,
        parts: 1,
        position: 0,
        is_prepared: false,
        changed: 0,
        unchanged: 0,
        refused: 0,
        undone: 0,
        kept: 0,
        state: BulkState::Running,
        stop: None,
        undone_by: None,
        ended_at: None,
        task_due: Some(now),
        version: 1,
    })
}

/// Everybody who is in a list now; `None` if these are too many.
async fn everybody(request: &MemberRequest, list: &ListPage) -> Result<Option<Vec<Id>>, Error> {
    let Listing::Stored(list) = &list.list else { return Ok(Some(Vec::new())) };
    let (mut ids, mut page) = (Vec::new(), Paging { limit: PLACES, before: None });
    loop {
        let store = request.context.store();
        let listed = store.list_candidate_places(request.tenant(), list, &page).await?;
        ids.extend(listed.items.into_iter().map(|place| place.id));
        page.before = listed.next;
        if ids.len() > BulkAct::MAX {
            return Ok(None);
        }
        if page.before.is_none() {
            return Ok(Some(ids));
        }
    }
}

/// The act with this identifier, unless it was too long ago.
async fn find_act(request: &MemberRequest, role: Id, id: Id) -> Result<BulkAct, Error> {
    let found = request.context.store().find_bulk_act(request.tenant(), role, id).await?;
    found.filter(|act| act.is_working() || act.kept_until() > request.context.now()).ok_or(Error::NotFound)
}

/// The page of an act: its progress, and then for whom nothing was done, and why.
async fn act_page<'p>(
    request: &'p MemberRequest,
    role: &'p Role,
    act: &'p BulkAct,
    again: Vec<(String, String)>,
) -> Result<ActPage<'p>, Error> {
    let list = list_of(request, role.id);
    let (result, left_out_count) = match act.state {
        BulkState::Undoing | BulkState::Undone => (BulkResult::Kept, act.kept),
        _ => (BulkResult::Refused, act.refused),
    };
    let people = people_with(request, act, result, left_out_count).await?;
    let ids = people.iter().map(|person| person.id);
    let mut records = if people.is_empty() {
        HashMap::new()
    } else {
        request.context.store().find_listed(request.tenant(), ids).await?
    };
    let left_out = people.into_iter().map(|person| LeftOut {
        id: person.id,
        name: records.remove(&person.id).map(|record| record.candidate.profile.name.as_str().to_owned()),
        why: person.why.as_deref().map(sentence).unwrap_or_default(),
    });
    Ok(ActPage {
        layout: Layout::of(request, Section::Candidates),
        role: role.id.get(),
        title: role.content.title.as_str(),
        act,
        path: act_path(&list, act),
        list: list.path(),
        left_out: left_out.collect(),
        left_out_count,
        again,
    })
}

/// At most 100 people of an act with a result that so many have.
async fn people_with(
    request: &MemberRequest,
    act: &BulkAct,
    result: BulkResult,
    count: u64,
) -> Result<Vec<BulkPerson>, Error> {
    let wanted = usize::try_from(count).unwrap_or(NAMED).min(NAMED);
    let (mut people, mut from) = (Vec::new(), 0);
    while people.len() < wanted && from < act.parts {
        let parts = request.context.store().list_bulk_parts(request.tenant(), act, from).await?;
        let Some(last) = parts.last() else { break };
        from = last.number + 1;
        let has_result = |person: &BulkPerson| person.result == result;
        people.extend(parts.into_iter().flat_map(|part| part.people).filter(has_result));
    }
    people.truncate(wanted);
    Ok(people)
}

/// Stops an act after the people whose turn it is.
pub(crate) async fn stop(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let role = find_role(&request).await?;
    let list = list_of(&request, role.id);
    let group: Id = request.page.form().get("group").parse().map_err(|_| Error::NotFound)?;
    let act = match find_act(&request, role.id, group).await {
        Err(Error::NotFound) => return Ok(Alert::NothingToStop.redirect_to(&list.path())),
        found => found?,
    };
    if act.state == BulkState::Running {
        let mut transaction = request.transaction();
        transaction.replace_bulk_act(&act, &act.stop(BulkStop::Member, request.context.now()))?;
        request.context.store().commit(transaction).await?;
    }
    Ok(Reply::see_other(&act_path(&list, &act)))
}

/// Undoes an act: at once, or as a task if it had more than 100 people. Whoever has moved on since then stays as they are.
pub(crate) async fn undo(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (store, now) = (request.context.store(), request.context.now());
    let role = find_role(&request).await?;
    let list = list_of(&request, role.id);
    let group: Id = request.page.form().get("group").parse().map_err(|_| Error::NotFound)?;
    let act = match find_act(&request, role.id, group).await {
        Err(Error::NotFound) => return Ok(Alert::NothingToUndo.redirect_to(&list.path())),
        found => found?,
    };
    let act = match act.undo(request.actor(), now) {
        Some(undoing) => {
            let due = if act.parts == 1 { later(now, PATIENCE) } else { now };
            let undoing = BulkAct { task_due: Some(due), ..undoing };
            let mut transaction = request.transaction();
            transaction.replace_bulk_act(&act, &undoing)?;
            store.commit(transaction).await?;
            undoing
        }
        // The same request again, or another one, goes on with what was not finished.
        None if act.state == BulkState::Undoing => act,
        None => return Ok(Alert::NothingToUndo.redirect_to(&list.path())),
    };
    if act.parts > 1 {
        return Ok(Reply::see_other(&act_path(&list, &act)));
    }
    let act = finish(&request, act).await?;
    Ok(match act.kept {
        0 => Notice::BulkUndone.redirect_to(&list.path()),
        _ => Alert::PartlyUndone.redirect_to(&act_path(&list, &act)),
    })
}

/// What can be done: a move to an open stage, a rejection, a tag, a note or an invitation. Candidates are hired one at a
/// time.
fn act(word: &str) -> Result<&'static str, Error> {
    let stages = Stage::ALL.into_iter().filter(|stage| *stage != Stage::Hired).map(Stage::as_str);
    stages.chain(["tag", "note", "invite"]).find(|known| *known == word).ok_or(Error::NotFound)
}

async fn find_role(request: &MemberRequest) -> Result<Role, Error> {
    let found = request.context.store().find_role(request.tenant(), request.context.id()?).await?;
    found.ok_or(Error::NotFound)
}
