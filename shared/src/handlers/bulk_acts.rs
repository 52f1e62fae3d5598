//! Acts on several candidates: what is done to each of them, by the handlers of single candidates, and how it is
//! undone. A member's request works on a small act itself, and a task on a large one, a part at a time.
//!
//! Every step can be repeated. The call for a candidate has a receipt under the key of the act, so that it takes effect only
//! once, and the results of a part are written together with the head.

use std::collections::HashMap;
use std::hash::BuildHasher;

use serde_json::{Value, json};

use super::{candidates, moves, notes, screens};
use crate::http::{ApiRequest, Error, HandlerCall, OnBehalf, Parameters, Reply};
use crate::id::Id;
use crate::model::{
    Application, BulkAct, BulkKind, BulkPart, BulkPerson, BulkResult, BulkState, CandidateRecord, Stage, Tags,
};
use crate::store::CommitError;

/// The number of parts that one transaction stores.
const PARTS_TOGETHER: usize = 25;
/// The maximum number of attempts at a change that conflicts with others.
const MAX_ATTEMPTS: u32 = 5;

const MOVED: &str = "Somebody moved this candidate in the meantime";
const ERASED: &str = "This candidate was erased";
const NOT_APPLIED: &str = "This candidate has not applied for a role";
const CHANGED: &str = "Somebody changed this candidate at the same time";

/// Begins an act on these people. If they are few, the act is prepared, and the request can go on with it.
///
/// # Errors
///
/// - `not_found`: there is nobody.
pub async fn begin<I>(
    request: ApiRequest<I>,
    act: BulkAct,
    people: Vec<BulkPerson>,
) -> Result<Reply<()>, Error> {
    if people.is_empty() {
        return Err(Error::NotFound);
    }
    let part = |(number, people): (u32, &[BulkPerson])| BulkPart {
        act: act.id,
        number,
        at: act.at,
        done_at: None,
        people: people.to_vec(),
        version: 1,
    };
    let reply = Reply::status(201, &json!({ "id": act.id }))?;
    let mut transaction = request.transaction();
    if act.is_prepared {
        transaction.insert_bulk_part(&part((0, &people)))?;
        transaction.insert_bulk_act(&BulkAct { parts: 1, ..act })?;
        return request.commit(transaction, reply).await;
    }
    // Nothing leads to the parts before the act is there, and they expire.
    let parts: Vec<_> = (0..).zip(people.chunks(BulkPart::SIZE)).map(part).collect();
    for together in parts.chunks(PARTS_TOGETHER) {
        let mut transaction = request.transaction();
        for part in together {
            transaction.insert_bulk_part(part)?;
        }
        request.context.store().commit(transaction).await?;
    }
    let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    transaction.insert_bulk_act(&BulkAct { parts: count, ..act })?;
    request.commit(transaction, reply).await
}

/// Makes one step with the next part of an act: writes down how its people are, does it to them, or undoes it. Returns the act
/// as it is then, maybe because another run has made the step.
pub async fn work_on(caller: &OnBehalf, act: &BulkAct) -> Result<BulkAct, Error> {
    if !act.is_working() {
        return Ok(act.clone());
    }
    let (store, tenant) = (caller.context.store(), caller.tenant());
    let part = store.find_bulk_part(tenant, act, act.position).await?;
    let mut people = part.people.clone();
    if act.state == BulkState::Undoing {
        for person in people.iter_mut().filter(|person| person.result == BulkResult::Changed) {
            match change(caller, act, &part, person).await.map_err(|error| refusal(act, error)) {
                Ok(_) => person.result = BulkResult::Undone,
                Err(why) => (person.result, person.why) = (BulkResult::Kept, Some(why?)),
            }
        }
        return finish(caller, act, &part, &part.with(people)).await;
    }
    if !act.is_prepared {
        let records = store.find_listed(tenant, people.iter().map(|person| person.id)).await?;
        let after = part.with(look_at(act, &people, &records));
        let mut transaction = caller.transaction();
        transaction.replace_bulk_part(&part, &after)?;
        let prepared = act.prepared();
        transaction.replace_bulk_act(act, &prepared)?;
        store.commit(transaction).await?;
        return Ok(prepared);
    }
    for person in people.iter_mut().filter(|person| person.result == BulkResult::Waiting) {
        match change(caller, act, &part, person).await.map_err(|error| refusal(act, error)) {
            Ok(made) => (person.result, person.made) = (BulkResult::Changed, made),
            Err(why) => (person.result, person.why) = (BulkResult::Refused, Some(why?)),
        }
    }
    let after = BulkPart { done_at: Some(caller.context.now()), ..part.with(people) };
    finish(caller, act, &part, &after).await
}

/// Writes down the results of a part. Somebody may have stopped the act meanwhile, but only one run finishes a part.
async fn finish(
    caller: &OnBehalf,
    act: &BulkAct,
    part: &BulkPart,
    after: &BulkPart,
) -> Result<BulkAct, Error> {
    let (store, tenant) = (caller.context.store(), caller.tenant());
    let mut current = act.clone();
    for _ in 0..MAX_ATTEMPTS {
        let next = current.after(after, caller.context.now());
        let mut transaction = caller.transaction();
        transaction.replace_bulk_part(part, after)?;
        transaction.replace_bulk_act(&current, &next)?;
        match store.commit(transaction).await {
            Ok(()) => return Ok(next),
            Err(CommitError::Stale) => {}
            Err(error) => return Err(error.into()),
        }
        let found = store.find_bulk_act(tenant, act.role_id, act.id).await?.ok_or(Error::NotFound)?;
        if found.position != current.position || !found.is_working() {
            return Ok(found);
        }
        current = found;
    }
    Err(CommitError::Stale.into())
}

/// Writes down how people are: their stages, who has moved since the act was requested, and who has the tag already.
pub fn look_at<S: BuildHasher>(
    act: &BulkAct,
    people: &[BulkPerson],
    records: &HashMap<Id, CandidateRecord, S>,
) -> Vec<BulkPerson> {
    let look_at = |person: &BulkPerson| {
        let found = records.get(&person.id).filter(|_| person.result == BulkResult::Waiting);
        let Some(record) = found else { return refused(person, ERASED) };
        let application = person.role_id.and_then(|role| record.application(role));
        let person = &BulkPerson { from: person.from.or(act.from), ..person.clone() };
        let has_moved = |application: &Application| {
            application.stage != person.from.unwrap_or(application.stage)
                || application.stage_changed_at > act.at
        };
        if act.is_move() && application.is_some_and(has_moved) {
            return refused(person, MOVED);
        }
        let from = application.map(|application| application.stage);
        let has_tag = act.tag.as_ref().is_some_and(|tag| {
            let before = &record.candidate.profile.tags;
            Tags::of(before.iter().cloned().chain([tag.clone()])) == *before
        });
        let result = if has_tag { BulkResult::Unchanged } else { BulkResult::Waiting };
        BulkPerson { from, result, ..person.clone() }
    };
    people.iter().map(look_at).collect()
}

fn refused(person: &BulkPerson, why: &str) -> BulkPerson {
    BulkPerson { result: BulkResult::Refused, why: Some(why.to_owned()), ..person.clone() }
}

/// Does it to one candidate, or undoes it. Repeats what conflicts with other changes.
async fn change(
    caller: &OnBehalf,
    act: &BulkAct,
    part: &BulkPart,
    person: &BulkPerson,
) -> Result<Option<Id>, Error> {
    let mut attempts = 1;
    loop {
        let changed = match act.state {
            BulkState::Undoing => undo(caller, act, part, person).await.map(|()| None),
            _ => carry_out(caller, act, person).await,
        };
        match changed {
            Err(error) if error.is_conflict() && attempts < MAX_ATTEMPTS => attempts += 1,
            changed => return changed,
        }
    }
}

fn fields(pairs: &[(&str, &str)]) -> Parameters {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The role of the application as the value of a field. Without one, all applications of the person would be meant.
fn role_of(person: &BulkPerson) -> Result<String, Error> {
    let role = person.role_id.ok_or_else(|| Error::Validation(vec![NOT_APPLIED.to_owned()]))?;
    Ok(role.to_string())
}

/// Does it to one candidate. Returns the note or the voice screen that was made.
async fn carry_out(caller: &OnBehalf, act: &BulkAct, person: &BulkPerson) -> Result<Option<Id>, Error> {
    let key = act.id.to_string();
    let words = act.words.clone().unwrap_or_default();
    let call = |pairs: &[(&str, &str)]| caller.call(person.id, &key, fields(pairs));
    let seen = person.from.map(|stage| stage.as_str().to_owned());
    match act.kind {
        BulkKind::Rejected => {
            let (id, text) = (words.reason_id.unwrap_or_default(), words.reason.unwrap_or_default());
            let call = call(&[("role_id", &role_of(person)?), ("reason_id", &id), ("reason", &text)]);
            caller.carry_out(HandlerCall { seen, ..call }, moves::reject).await?;
            Ok(None)
        }
        BulkKind::Moved => {
            let to = act.to.map(Stage::as_str).unwrap_or_default();
            let call = call(&[("role_id", &role_of(person)?), ("stage", to)]);
            caller.carry_out(HandlerCall { seen, ..call }, moves::advance).await?;
            Ok(None)
        }
        BulkKind::Noted => {
            let call = call(&[("text", &words.text.unwrap_or_default())]);
            let made = caller.carry_out(call, notes::create_note).await?;
            Ok(made_id(made.body()))
        }
        BulkKind::Invited => {
            let made =
                caller.carry_out(call(&[("role_id", &role_of(person)?)]), screens::invite_screen).await?;
            Ok(made_id(made.body()))
        }
        BulkKind::Tagged => {
            let before = tags(caller, person.id).await?;
            let after = Tags::of(before.iter().cloned().chain(act.tag.clone()));
            // Who had the tag when it was written down is not waiting.
            if after != before {
                set_tags(caller, &key, person.id, &after).await?;
            }
            Ok(None)
        }
    }
}

/// The identifier in a reply.
fn made_id(body: &str) -> Option<Id> {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    body["id"].as_u64().and_then(Id::new)
}

/// Undoes it for one candidate.
async fn undo(caller: &OnBehalf, act: &BulkAct, part: &BulkPart, person: &BulkPerson) -> Result<(), Error> {
    let key = format!("undo {}", act.id);
    match act.kind {
        BulkKind::Moved | BulkKind::Rejected => {
            let record = caller.context.store().find_candidate(caller.tenant(), person.id).await?;
            let record = Error::unless_missing(record)?;
            let (role, application) =
                (role_of(person)?, person.role_id.and_then(|role| record.application(role)));
            let has_moved_since = |application: &Application| {
                part.done_at.is_some_and(|done_at| application.stage_changed_at > done_at)
            };
            // A stage that nobody has is never the one that was seen, but the receipt of an earlier undo counts.
            let seen = match act.kind {
                _ if application.is_some_and(has_moved_since) => "",
                BulkKind::Rejected => Stage::Rejected.as_str(),
                _ => act.to.map(Stage::as_str).unwrap_or_default(),
            };
            let stage = person.from.map(Stage::as_str).unwrap_or_default();
            let seen = Some(seen.to_owned());
            if act.kind == BulkKind::Rejected {
                let call = caller.call(person.id, &key, fields(&[("role_id", &role)]));
                caller.carry_out(HandlerCall { seen, ..call }, moves::unreject).await?;
            } else {
                let call = caller.call(person.id, &key, fields(&[("role_id", &role), ("stage", stage)]));
                caller.carry_out(HandlerCall { seen, ..call }, moves::advance).await?;
            }
        }
        BulkKind::Tagged => {
            let before = tags(caller, person.id).await?;
            let others = Tags::of(before.iter().filter(|other| Some(*other) != act.tag.as_ref()).cloned());
            if others != before {
                set_tags(caller, &key, person.id, &others).await?;
            }
        }
        BulkKind::Noted => {
            let Some(note) = person.made else { return Ok(()) };
            let call = caller.call(person.id, &key, Parameters::default());
            let deleted = caller.carry_out(call, |request| notes::delete(request, note)).await;
            match deleted {
                // Somebody deleted it before.
                Ok(_) | Err(Error::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        BulkKind::Invited => {
            let Some(screen) = person.made else { return Ok(()) };
            caller.carry_out(caller.call(screen, &key, Parameters::default()), screens::cancel).await?;
        }
    }
    Ok(())
}

/// The tags of a candidate.
async fn tags(caller: &OnBehalf, candidate: Id) -> Result<Tags, Error> {
    let found = caller.context.store().find_candidate(caller.tenant(), candidate).await?;
    Ok(Error::unless_missing(found)?.candidate.profile.tags)
}

async fn set_tags(caller: &OnBehalf, key: &str, candidate: Id, tags: &Tags) -> Result<(), Error> {
    // A tag may have a comma, so each has a field of its own.
    let each =
        tags.iter().enumerate().map(|(index, tag)| (format!("tags[{index}]"), tag.as_str().to_owned()));
    let none = tags.iter().next().is_none().then(|| ("tags".to_owned(), String::new()));
    let call = caller.call(candidate, key, each.chain(none).collect());
    caller.carry_out(call, candidates::update).await.map(drop)
}

/// Why nothing was done to a candidate, or the error if it says nothing about the candidate.
fn refusal(act: &BulkAct, error: Error) -> Result<String, Error> {
    Ok(match error {
        Error::PreconditionFailed => MOVED.to_owned(),
        Error::Erased | Error::NotFound => ERASED.to_owned(),
        Error::LegalHold => "A legal hold on the candidate keeps the note".to_owned(),
        Error::InvalidTransition(_) if act.state == BulkState::Undoing && act.kind == BulkKind::Invited => {
            "The call has begun or is over".to_owned()
        }
        Error::InvalidTransition(_) => "The application has ended, or its role is closed".to_owned(),
        Error::Validation(messages) => messages.join("; "),
        Error::ChannelNotConnected(text) | Error::ConsentRequired(text) => text,
        Error::Commit(CommitError::Store(error)) => return Err(error.into()),
        Error::Commit(_) => CHANGED.to_owned(),
        error => return Err(error),
    })
}
