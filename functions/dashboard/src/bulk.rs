//! What members do to several candidates at once: those who are selected, or everybody in a list. What is done to an application
//! is done to the one that the list shows. At most 100 people are changed by the request itself, each by a transaction of its
//! own; a task works on more, and a page shows its progress. What was done can be undone for a day, as one.

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
use crate::candidate_list::{ListPage, Listing};
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
    /// The title of the list's role; `None` if the list is over all roles.
    title: Option<&'p str>,
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
    /// The role of the application, with its title.
    role: Option<(Id, String)>,
    stage: Stage,
}

impl Person {
    /// The person with the application that the list shows; `None` if there is none for this role.
    fn of(list: &ListPage, record: &CandidateRecord, role: Option<Id>) -> Option<Self> {
        let application = list.about(role).application(record);
        let role = application.map(|application| &application.role);
        let wanted = list.list.role();
        (wanted.is_none() || role.map(|role| role.id) == wanted).then(|| Self {
            id: record.candidate.id,
            name: record.candidate.profile.name.as_str().to_owned(),
            role: role.map(|role| (role.id, role.title.as_str().to_owned())),
            stage: application.map_or(record.candidate.stage, |application| application.stage),
        })
    }

    /// The candidate, the stage that was shown, and the role, as the value of a form's field.
    fn value(&self) -> String {
        let role = self.role.as_ref().map(|(id, _)| format!(".{id}")).unwrap_or_default();
        format!("{}.{}{role}", self.id, self.stage.as_str())
    }

    /// Reads the value.
    fn waiting(value: &str, list: &ListPage) -> Option<BulkPerson> {
        let mut parts = value.split('.');
        let (id, stage) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let role = parts.next().and_then(|role| role.parse().ok());
        Some(BulkPerson::waiting(id, list.list.role().or(role), Some(stage)))
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
    /// The title of the list's role; `None` if the list is over all roles.
    title: Option<&'p str>,
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
    /// The title of the role of the application.
    role: Option<String>,
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
    let list = list_of(&request)?;
    let role = find_role(&request, &list).await?;
    if let Some(id) = query.non_empty("act") {
        let act = find_act(&request, &list, id.parse().map_err(|_| Error::NotFound)?).await?;
        let page = act_page(&request, &list, role.as_ref(), &act, Vec::new()).await?;
        return Ok(Reply::page(&page)?.showing(page.left_out.len()));
    }
    let to = act(query.get("to"))?;
    let kind = kind_of(to);
    let is_everybody = query.get("everybody") == "yes" && list.list.has_everybody();
    if is_everybody && kind.is_of_application() && !list.list.is_of_applications() {
        return Ok(Alert::ChooseRole.redirect_to(&list.path()).showing(0));
    }
    let (records, has_more) = if is_everybody {
        let (people, next) = people(&request, &list, 25).await?;
        (people, next.is_some())
    } else {
        let chosen: Vec<_> = query.all("id").filter_map(selected).take(MAX).collect();
        (in_order(&request, &chosen).await?, false)
    };
    let mut seen = HashSet::new();
    let people = records.iter().filter_map(|(record, role)| Person::of(&list, record, *role));
    let role_of = |person: &Person| person.role.as_ref().map(|(role, _)| *role);
    let people: Vec<_> = people.filter(|one| seen.insert(kind.subject(one.id, role_of(one)))).collect();
    if people.is_empty() {
        return Ok(Alert::NobodySelected.redirect_to(&list.path()).showing(0));
    }
    let layout = Layout::of(&request, Section::Candidates);
    let shown = people.len();
    let page = BulkPage {
        key: layout.key.clone(),
        layout,
        title: role.as_ref().map(|role| role.content.title.as_str()),
        to,
        list: list.path(),
        reasons: reasons(&request, to).await?,
        people,
        is_everybody,
        has_more,
    };
    Ok(Reply::page(&page)?.showing(shown))
}

/// The list that the page was opened from. Without one, nobody knows who was meant.
fn list_of(request: &MemberRequest) -> Result<ListPage, Error> {
    ListPage::opened_from(request).ok_or(Error::NotFound)
}

/// A candidate who is selected in a list, and the role of the application that the list shows.
fn selected(value: &str) -> Option<(Id, Option<Id>)> {
    let (id, role) = value.split_once('.').unwrap_or((value, ""));
    Some((id.parse().ok()?, role.parse().ok()))
}

/// The records of these candidates, in this order, each with the role of the application.
async fn in_order(
    request: &MemberRequest,
    chosen: &[(Id, Option<Id>)],
) -> Result<Vec<(CandidateRecord, Option<Id>)>, Error> {
    let ids = chosen.iter().map(|(id, _)| *id);
    let found = request.context.store().find_listed(request.tenant(), ids).await?;
    Ok(chosen.iter().filter_map(|(id, role)| Some((found.get(id)?.clone(), *role))).collect())
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
    let list = list_of(&request)?;
    let role = find_role(&request, &list).await?;
    let to = act(form.get("to"))?;
    let is_everybody = form.get("everybody") == "yes" && list.list.has_everybody();
    let mut new = new_act(&request, &list, to).map_err(in_words)?;
    if is_everybody && new.kind.is_of_application() && !list.list.is_of_applications() {
        return Ok(Alert::ChooseRole.redirect_to(&list.path()));
    }
    let mut meant = if is_everybody {
        new.from = list.list.stage().filter(|_| list.list.is_of_applications());
        match everybody(&request, &list).await? {
            Some(people) => people,
            None => return Ok(Alert::ListTooLong.redirect_to(&list.path())),
        }
    } else {
        form.all("candidate").filter_map(|value| Person::waiting(value, &list)).take(MAX).collect()
    };
    // A list over all roles may have a person several times.
    let mut seen = HashSet::new();
    meant.retain(|person| seen.insert(new.kind.subject(person.id, person.role_id)));
    if meant.len() as u64 <= BulkAct::AT_ONCE {
        let found = store.find_listed(tenant, meant.iter().map(|person| person.id)).await?;
        let has_applied = |record: &CandidateRecord, role: Id| record.application(role).is_some();
        meant.retain(|person| {
            let found = found.get(&person.id);
            found.is_some_and(|record| person.role_id.is_none_or(|role| has_applied(record, role)))
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
    let mut act = store.find_bulk_act(tenant, list.list.role(), id).await?.ok_or(Error::NotFound)?;
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
        return Reply::page(&act_page(&request, &list, role.as_ref(), &act, again).await?);
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
    transaction.replace_bulk_part(&part, &waiting)?;
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
fn new_act(request: &MemberRequest, list: &ListPage, to: &str) -> Result<BulkAct, Error> {
    let form = request.page.form();
    let typed = |name: &str| form.non_empty(name).map(ToOwned::to_owned);
    let (mut words, mut tag) = (BulkWords::default(), None);
    let kind = kind_of(to);
    match kind {
        BulkKind::Noted => {
            read_form::<NewNote>(&fields_of(&[("text", form.get("text"))]))?;
            words.text = typed("text");
        }
        BulkKind::Tagged => {
            tag = Tag::parse(form.get("tag")).ok().flatten();
            if tag.is_none() {
                return Err(Error::Validation(vec!["tag must have 1 to 50 characters".to_owned()]));
            }
        }
        BulkKind::Rejected => {
            let reasons = [("reason_id", form.get("reason_id")), ("reason", form.get("reason"))];
            read_form::<Rejection>(&fields_of(&reasons))?;
            (words.reason_id, words.reason) = (typed("reason_id"), typed("reason"));
        }
        BulkKind::Moved | BulkKind::Invited => {}
    }
    let now = request.context.now();
    Ok(BulkAct {
        id: request.context.ids().next(),
        role_id: list.list.role(),
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

/// Everybody who is in a list now, each with the role of the application in the list; `None` if these are too many.
async fn everybody(request: &MemberRequest, list: &ListPage) -> Result<Option<Vec<BulkPerson>>, Error> {
    let Listing::Stored(list) = &list.list else { return Ok(Some(Vec::new())) };
    let (mut people, mut page) = (Vec::new(), Paging { limit: PLACES, before: None });
    loop {
        let store = request.context.store();
        let listed = store.list_candidate_places(request.tenant(), list, &page).await?;
        people.extend(listed.items.into_iter().map(|place| BulkPerson::waiting(place.id, place.role, None)));
        page.before = listed.next;
        if people.len() > BulkAct::MAX {
            return Ok(None);
        }
        if page.before.is_none() {
            return Ok(Some(people));
        }
    }
}

/// The act with this identifier that was begun in such a list, unless it was too long ago.
async fn find_act(request: &MemberRequest, list: &ListPage, id: Id) -> Result<BulkAct, Error> {
    let found = request.context.store().find_bulk_act(request.tenant(), list.list.role(), id).await?;
    found.filter(|act| act.is_working() || act.kept_until() > request.context.now()).ok_or(Error::NotFound)
}

/// The page of an act: its progress, and then for whom nothing was done, and why.
async fn act_page<'p>(
    request: &'p MemberRequest,
    list: &ListPage,
    role: Option<&'p Role>,
    act: &'p BulkAct,
    again: Vec<(String, String)>,
) -> Result<ActPage<'p>, Error> {
    let (result, left_out_count) = match act.state {
        BulkState::Undoing | BulkState::Undone => (BulkResult::Kept, act.kept),
        _ => (BulkResult::Refused, act.refused),
    };
    let people = people_with(request, act, result, left_out_count).await?;
    let ids = people.iter().map(|person| person.id);
    let records = if people.is_empty() {
        HashMap::new()
    } else {
        request.context.store().find_listed(request.tenant(), ids).await?
    };
    let left_out = people.into_iter().map(|person| {
        let record = records.get(&person.id);
        let application = record.zip(person.role_id).and_then(|(record, role)| record.application(role));
        LeftOut {
            id: person.id,
            name: record.map(|record| record.candidate.profile.name.as_str().to_owned()),
            role: application.map(|application| application.role.title.as_str().to_owned()),
            why: person.why.as_deref().map(sentence).unwrap_or_default(),
        }
    });
    Ok(ActPage {
        layout: Layout::of(request, Section::Candidates),
        title: role.map(|role| role.content.title.as_str()),
        act,
        path: act_path(list, act),
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
    let list = list_of(&request)?;
    find_role(&request, &list).await?;
    let group: Id = request.page.form().get("group").parse().map_err(|_| Error::NotFound)?;
    let act = match find_act(&request, &list, group).await {
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
    let list = list_of(&request)?;
    find_role(&request, &list).await?;
    let group: Id = request.page.form().get("group").parse().map_err(|_| Error::NotFound)?;
    let act = match find_act(&request, &list, group).await {
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

/// What is done, by a word that [`act`] knows.
fn kind_of(to: &str) -> BulkKind {
    match to {
        "note" => BulkKind::Noted,
        "tag" => BulkKind::Tagged,
        "invite" => BulkKind::Invited,
        "rejected" => BulkKind::Rejected,
        _ => BulkKind::Moved,
    }
}

/// The role of the list; `None` if the list is over all roles.
async fn find_role(request: &MemberRequest, list: &ListPage) -> Result<Option<Role>, Error> {
    let Some(id) = list.list.role() else { return Ok(None) };
    let found = request.context.store().find_role(request.tenant(), id).await?;
    found.map(Some).ok_or(Error::NotFound)
}
