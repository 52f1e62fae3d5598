//! What members do to several candidates of a role at once: those who are selected, or everybody in a list. Each one is
//! changed by a transaction of its own, at most 100 by one request. What was done can be undone for a day.

use std::sync::Arc;

use askama::Template;
use shared::handlers::{candidates, moves, notes, screens};
use shared::http::{Error, HandlerCall, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::{
    Actor, ActorKind, BulkAct, BulkKind, BulkPerson, CandidateRecord, EndedBy, RejectionReason, Role, Stage,
    Tag, Tags,
};
use shared::store::CommitError;

use crate::candidate_list::{ListPage, chosen};
use crate::candidates::people;
use crate::form_page::{Refusal, fields_of};
use crate::layout::{Layout, Section};
use crate::messages::{Alert, Notice};

/// The maximum number of candidates of one request.
const MAX: u32 = 100;

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
    /// What was typed and chosen.
    fields: Fields,
    /// The reasons that can be chosen, with their identifiers.
    reasons: Vec<RejectionReason>,
    people: Vec<Person>,
    /// For everybody in the list: where the next 100 begin; empty at the beginning.
    rest: Option<String>,
    /// The act that the next part belongs to.
    group: String,
    /// The number of candidates to whom it was done, by this request and those before; `None` in a review.
    done: Option<usize>,
    /// Whether more candidates than those on the page are meant, because everybody in the list is.
    has_more: bool,
}

/// What a form has besides the candidates.
#[derive(Default)]
struct Fields {
    reason: String,
    reason_id: String,
    tag: String,
    text: String,
}

/// A candidate in a review or a result.
struct Person {
    id: Id,
    name: String,
    stage: Stage,
    /// Why nothing was done; `None` before the act and after a successful one.
    refusal: Option<String>,
}

impl Person {
    fn of(record: &CandidateRecord, role: Id) -> Self {
        Self {
            id: record.candidate.id,
            name: record.candidate.profile.name.as_str().to_owned(),
            stage: chosen(record, Some(role)).map_or(record.candidate.stage, |application| application.stage),
            refusal: None,
        }
    }

    /// The candidate and the stage that was shown, as the value of a form's field.
    fn value(&self) -> String {
        format!("{}.{}", self.id, self.stage.as_str())
    }
}

impl BulkPage<'_> {
    fn refused(&self) -> usize {
        self.people.iter().filter(|person| person.refusal.is_some()).count()
    }

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

    /// What was done, after the number.
    fn past(&self) -> &'static str {
        match self.to {
            "rejected" => "rejected",
            "tag" => "tagged",
            "note" => "given the note",
            "invite" => "invited",
            _ => "moved",
        }
    }
}

/// Shows to whom something would be done.
pub(crate) async fn review(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let query = request.context.query();
    let role = find_role(&request).await?;
    let to = act(query.get("to"))?;
    let list = list_of(&request, role.id);
    let is_everybody = query.get("everybody") == "yes" && !list.list.is_by_score();
    let (records, has_more) = if is_everybody {
        let (people, next) = people(&request, &list, 25).await?;
        (people.into_iter().map(|(record, _)| record).collect(), next.is_some())
    } else {
        let ids: Vec<Id> = query.all("id").filter_map(|id| id.parse().ok()).take(MAX as usize).collect();
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
        fields: Fields::default(),
        reasons: reasons(&request, to).await?,
        people,
        rest: is_everybody.then(String::new),
        group: String::new(),
        done: None,
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

/// Does it to the candidates, one after another. The same form again finishes the rest.
pub(crate) async fn carry_out(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let form = request.page.form();
    let role = find_role(&request).await?;
    let to = act(form.get("to"))?;
    let list = list_of(&request, role.id);
    let is_everybody = form.get("everybody") == "yes" && !list.list.is_by_score();
    let (people, next) = if is_everybody {
        let page = list.after(form.get("rest"))?;
        let (people, next) = people(&request, &page, MAX).await?;
        let records: Vec<_> = people.into_iter().map(|(record, _)| record).collect();
        (of_role(&records, role.id).collect(), next)
    } else {
        let chosen = form.all("candidate").filter_map(|value| {
            let (id, stage) = value.split_once('.')?;
            Some((id.parse::<Id>().ok()?, stage.parse::<Stage>().ok()?))
        });
        let chosen: Vec<_> = chosen.take(MAX as usize).collect();
        let ids: Vec<_> = chosen.iter().map(|(id, _)| *id).collect();
        let records = in_order(&request, &ids).await?;
        let seen = |person: Person| {
            let stage =
                chosen.iter().find(|(id, _)| *id == person.id).map_or(person.stage, |(_, stage)| *stage);
            Person { stage, ..person }
        };
        (of_role(&records, role.id).map(seen).collect::<Vec<_>>(), None)
    };
    if people.is_empty() && next.is_none() {
        return Ok(Alert::NobodySelected.redirect_to(&list.path()));
    }
    let (mut shown, mut changed, mut count) = (Vec::new(), Vec::new(), 0);
    for person in people {
        let refusal = match act_on(&request, role.id, &person, to).await {
            Ok(outcome) => {
                count += 1;
                if let Outcome::Changed(screen) = outcome {
                    changed.push(BulkPerson { id: person.id, from: person.stage, screen });
                }
                None
            }
            Err(error) => Some(refusal(error)?),
        };
        shown.push(Person { refusal, ..person });
    }
    let notice = match to {
        "note" => Notice::NotesAdded,
        "tag" if changed.is_empty() && form.get("done").is_empty() => Notice::TaggedBefore,
        _ => Notice::BulkDone,
    };
    let group = remember(&request, role.id, to, changed, form.get("group").parse().ok()).await?;
    let before = form.get("done").parse().unwrap_or(0_usize);
    let refused = shown.iter().any(|person| person.refusal.is_some());
    if !refused && next.is_none() {
        return Ok(notice.redirect_to(&list.path()));
    }
    let layout = Layout::of(&request, Section::Candidates);
    let page = BulkPage {
        role: role.id.get(),
        title: role.content.title.as_str(),
        to,
        list: list.path(),
        // The next part is a form of its own.
        key: if next.is_some() { layout.key.clone() } else { form.get("key").to_owned() },
        layout,
        fields: Fields {
            reason: form.get("reason").to_owned(),
            reason_id: form.get("reason_id").to_owned(),
            tag: form.get("tag").to_owned(),
            text: form.get("text").to_owned(),
        },
        reasons: Vec::new(),
        people: shown,
        has_more: next.is_some(),
        rest: next,
        group: group.map(|group| group.to_string()).unwrap_or_default(),
        done: Some(before + count),
    };
    Reply::page(&page)
}

/// Remembers what was done, so that it can be undone. Returns the act that it is a part of.
async fn remember(
    request: &MemberRequest,
    role: Id,
    to: &str,
    people: Vec<BulkPerson>,
    group: Option<Id>,
) -> Result<Option<Id>, Error> {
    let (member, form) = (request.member(), request.page.form());
    let kind = match to {
        "note" => return Ok(group),
        "tag" => BulkKind::Tagged,
        "invite" => BulkKind::Invited,
        "rejected" => BulkKind::Rejected,
        _ => BulkKind::Moved,
    };
    if people.is_empty() {
        return Ok(group);
    }
    let (store, now) = (request.context.store(), request.context.now());
    let mut transaction = request.transaction();
    let key = form.non_empty("key").map(ToOwned::to_owned);
    // The same form again may have changed more people.
    let acts = store.list_bulk_acts(request.tenant(), role, now).await?;
    if let Some(before) =
        acts.into_iter().find(|act| act.form_key.is_some() && act.form_key == key && !act.is_undone)
    {
        let mut after = BulkAct { version: before.version + 1, ..before.clone() };
        after
            .people
            .extend(people.iter().filter(|person| before.people.iter().all(|one| one.id != person.id)));
        transaction.replace_bulk_act(role, &before, &after)?;
        store.commit(transaction).await?;
        return Ok(Some(before.group));
    }
    let id = request.context.ids().next();
    let name = member.name.as_str().to_owned();
    let act = BulkAct {
        id,
        form_key: key,
        group: group.unwrap_or(id),
        kind,
        to: to.parse().ok(),
        tag: Tag::parse(form.get("tag")).ok().flatten().filter(|_| kind == BulkKind::Tagged),
        actor: Actor { kind: ActorKind::Member, id: Some(member.id), name },
        at: now,
        people,
        is_undone: false,
        version: 1,
    };
    transaction.insert_bulk_act(role, &act)?;
    store.commit(transaction).await?;
    Ok(Some(act.group))
}

/// What was done to a candidate.
enum Outcome {
    /// The candidate was changed; with the voice screen of an invitation.
    Changed(Option<Id>),
    /// The candidate had the tag already.
    Unchanged,
}

/// Does it to one candidate.
async fn act_on(request: &MemberRequest, role: Id, person: &Person, to: &str) -> Result<Outcome, Error> {
    let role = role.to_string();
    let form = request.page.form();
    let call =
        |fields: &[(&str, &str)]| HandlerCall { id: Some(person.id), ..request.call(fields_of(fields)) };
    let of_stage = |fields: &[(&str, &str)]| HandlerCall {
        seen: Some(person.stage.as_str().to_owned()),
        ..call(fields)
    };
    match to {
        "rejected" => {
            let fields =
                [("role_id", &*role), ("reason_id", form.get("reason_id")), ("reason", form.get("reason"))];
            request.carry_out(of_stage(&fields), moves::reject).await?;
        }
        "note" => {
            request.carry_out(call(&[("text", form.get("text"))]), notes::create_note).await?;
        }
        "invite" => {
            let invited = request.carry_out(call(&[("role_id", &role)]), screens::invite_screen).await?;
            let body: serde_json::Value = serde_json::from_str(invited.body()).unwrap_or_default();
            return Ok(Outcome::Changed(body["id"].as_u64().and_then(Id::new)));
        }
        "tag" => {
            let tag = Tag::parse(form.get("tag")).ok().flatten();
            let tag =
                tag.ok_or_else(|| Error::Validation(vec!["tag must have 1 to 50 characters".to_owned()]))?;
            let before = tags(request, person.id).await?;
            let after = Tags::of(before.iter().cloned().chain([tag]));
            if after == before {
                return Ok(Outcome::Unchanged);
            }
            set_tags(request, person.id, &after).await?;
        }
        stage => {
            request.carry_out(of_stage(&[("role_id", &role), ("stage", stage)]), moves::advance).await?;
        }
    }
    Ok(Outcome::Changed(None))
}

/// The tags of a candidate.
async fn tags(request: &MemberRequest, candidate: Id) -> Result<Tags, Error> {
    let found = request.context.store().find_candidate(request.tenant(), candidate).await?;
    Ok(Error::unless_missing(found)?.candidate.profile.tags)
}

async fn set_tags(request: &MemberRequest, candidate: Id, tags: &Tags) -> Result<(), Error> {
    // A tag may have a comma, so each has a field of its own.
    let each =
        tags.iter().enumerate().map(|(index, tag)| (format!("tags[{index}]"), tag.as_str().to_owned()));
    let none = tags.iter().next().is_none().then(|| ("tags".to_owned(), String::new()));
    let fields = each.chain(none).collect();
    let call = HandlerCall { id: Some(candidate), seen: None, ..request.call(fields) };
    request.carry_out(call, candidates::update).await.map(drop)
}

/// Undoes at most 100 changes of an act. Whoever has moved on since then stays as they are.
pub(crate) async fn undo(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (store, tenant, now) = (request.context.store(), request.tenant(), request.context.now());
    let role = find_role(&request).await?;
    let path = list_of(&request, role.id).path();
    let group: Id = request.page.form().get("group").parse().map_err(|_| Error::NotFound)?;
    let acts = store.list_bulk_acts(tenant, role.id, now).await?;
    let part = acts.into_iter().find(|act| act.group == group && !act.is_undone);
    let Some(part) = part else { return Ok(Alert::NothingToUndo.redirect_to(&path)) };
    let mut left = 0;
    for person in &part.people {
        if let Err(error) = undo_one(&request, role.id, &part, person).await {
            refusal(error)?;
            left += 1;
        }
    }
    let mut transaction = request.transaction();
    let undone = BulkAct { is_undone: true, version: part.version + 1, ..part.clone() };
    transaction.replace_bulk_act(role.id, &part, &undone)?;
    store.commit(transaction).await?;
    Ok(if left == 0 { Notice::BulkUndone.redirect_to(&path) } else { Alert::PartlyUndone.redirect_to(&path) })
}

async fn undo_one(
    request: &MemberRequest,
    role: Id,
    act: &BulkAct,
    person: &BulkPerson,
) -> Result<(), Error> {
    let role = role.to_string();
    let call = |id: Id, seen: Option<&str>, fields: &[(&str, &str)]| HandlerCall {
        id: Some(id),
        seen: seen.map(ToOwned::to_owned),
        ..request.call(fields_of(fields))
    };
    let seen = act.to.map(Stage::as_str);
    match act.kind {
        BulkKind::Rejected => {
            let call = call(person.id, seen, &[("role_id", &role)]);
            request.carry_out(call, moves::unreject).await?;
        }
        BulkKind::Moved => {
            let call = call(person.id, seen, &[("role_id", &role), ("stage", person.from.as_str())]);
            request.carry_out(call, moves::advance).await?;
        }
        BulkKind::Tagged => {
            let before = tags(request, person.id).await?;
            let others = before.iter().filter(|other| Some(*other) != act.tag.as_ref()).cloned();
            set_tags(request, person.id, &Tags::of(others)).await?;
        }
        BulkKind::Invited => {
            let Some(screen) = person.screen else { return Ok(()) };
            request.carry_out(call(screen, None, &[]), screens::cancel).await?;
        }
    }
    Ok(())
}

/// Why nothing was done to a candidate.
fn refusal(error: Error) -> Result<String, Error> {
    Ok(match error {
        Error::PreconditionFailed => "Somebody moved this candidate in the meantime.".to_owned(),
        Error::Erased | Error::NotFound => "This candidate was erased.".to_owned(),
        Error::Commit(CommitError::Store(error)) => return Err(error.into()),
        Error::Commit(_) => "Somebody changed this candidate at the same time. Try again.".to_owned(),
        Error::InvalidTransition(_) => "The application has ended, or its role is closed.".to_owned(),
        error => Refusal::of(error)?.text(),
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
