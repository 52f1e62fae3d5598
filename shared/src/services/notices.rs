//! Notices that members see at once, on their next page.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use futures_util::future::try_join_all;

use crate::descriptions;
use crate::id::{Id, Ids};
use crate::model::{Actor, ActorKind, Handles, Member, Note, Notice, NoticeEvent, Session, may_mention};
use crate::store::{Store, StoreError, Transaction};

/// The maximum number of members whom a note tells that it mentions them.
pub const MENTIONED: usize = 20;
/// The number of a member's sessions that show a notice at once: those used last. Others show it after the next sign-in. With
/// [`MENTIONED`] members, a transaction has room for them.
const SESSIONS: usize = 3;

/// Tells a member.
async fn tell(
    store: &Store,
    transaction: &mut Transaction,
    member: &Member,
    notice: &Notice,
) -> Result<(), StoreError> {
    let organization = transaction.tenant().organization;
    let sessions = store.list_sessions(organization, member, notice.at).await?;
    transaction.tell_member(member.id, notice, used_last(sessions))
}

/// The hashes of the sessions that were used last.
fn used_last(mut sessions: Vec<(String, Session)>) -> Vec<String> {
    sessions.sort_by_key(|(_, session)| Reverse(session.seen_at));
    sessions.into_iter().take(SESSIONS).map(|(hash, _)| hash).collect()
}

/// Tells the member who is this actor, if it is one who was not removed.
pub async fn tell_actor(
    store: &Store,
    transaction: &mut Transaction,
    actor: &Actor,
    notice: &Notice,
) -> Result<(), StoreError> {
    let (ActorKind::Member, Some(id)) = (actor.kind, actor.id) else { return Ok(()) };
    match store.find_member(transaction.tenant().organization, id).await? {
        Some(member) => tell(store, transaction, &member, notice).await,
        None => Ok(()),
    }
}

/// Tells the members whom a note about a candidate mentions, at most 20 of them, except its author and those whom the text mentioned
/// `before` an edit.
pub async fn tell_mentioned(
    store: &Store,
    transaction: &mut Transaction,
    candidate: Id,
    (before, note): (Option<&Note>, &Note),
    ids: &Ids,
) -> Result<(), StoreError> {
    if !may_mention(note.text.as_str()) {
        return Ok(());
    }
    let tenant = transaction.tenant();
    let members = store.list_members(tenant.organization).await?;
    let handles = Handles::of(&members);
    let known = before.map(|before| mentioned(&handles, before)).unwrap_or_default();
    let is_author =
        |member: &Member| note.actor.kind == ActorKind::Member && note.actor.id == Some(member.id);
    let new = mentioned(&handles, note);
    let new = new.iter().filter(|id| !known.contains(id));
    let told: Vec<&Member> = new
        .filter_map(|id| members.iter().find(|member| member.id == *id))
        .filter(|member| !is_author(member))
        .take(MENTIONED)
        .collect();
    let at = note.updated_at.unwrap_or(note.created_at);
    let sessions = told.iter().map(|member| store.list_sessions(tenant.organization, member, at));
    for (member, sessions) in told.iter().zip(try_join_all(sessions).await?) {
        let event = NoticeEvent::Mentioned { candidate, mode: tenant.mode, by: note.actor.clone() };
        transaction.tell_member(member.id, &Notice { id: ids.next(), at, event }, used_last(sessions))?;
    }
    Ok(())
}

/// The members whom a note mentions, in the order of the text.
fn mentioned(handles: &Handles, note: &Note) -> Vec<Id> {
    let mut seen = BTreeSet::new();
    let texts = descriptions::texts(note.text.as_str());
    let found = texts.iter().flat_map(|text| handles.find(text));
    found.map(|(_, id)| id).filter(|id| seen.insert(*id)).collect()
}
