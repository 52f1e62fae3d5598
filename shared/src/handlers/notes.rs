//! Notes about candidates.

use super::responses::note::Note;
use crate::http::{Added, ApiRequest, Collection, Error, Listing, Reply, Unversioned, Visible, input};
use crate::id::Id;
use crate::model::{self, NoteText, TouchpointKind};
use crate::services::notices;
use crate::store::Paging;

use super::candidate_lookup::find;

input! {
    /// A note to add.
    pub struct NewNote {
        /// The text.
        text: required NoteText,
    }

    /// A change of a note.
    pub struct NotePatch {
        /// The text.
        text: required NoteText,
    }
}

/// Lists the notes about a candidate, newest first.
pub async fn list_notes(request: ApiRequest<Listing<()>>) -> Result<Reply<Collection<Note>>, Error> {
    let page = match request.listing() {
        Ok(((), page)) => page,
        Err(invalid) => return Err(find(&request).await.err().unwrap_or(invalid)),
    };
    let (store, candidate_id) = (request.context.store(), request.id()?);
    let (found, notes) =
        tokio::join!(find(&request), store.list_notes(request.tenant(), candidate_id, &page));
    found?;
    request.reply(notes?, |note| Note::of(candidate_id, note))
}

/// Adds a note about a candidate. Members whom the text mentions, such as `@Ada`, get a notice.
pub async fn create_note(request: ApiRequest<NewNote>) -> Result<Reply<Added<Visible<Note>>>, Error> {
    let before = find(&request).await?;
    let NewNote { text } = request.input()?;
    let (candidate_id, author) = (before.candidate.id, request.author());
    let id = request.context.ids().next();
    let note = model::Note { id, text, actor: author.actor.clone(), created_at: author.at, updated_at: None };
    let mut transaction = request.transaction();
    transaction.insert_note(candidate_id, &note)?;
    let history = author.touchpoints([TouchpointKind::NoteAdded { note_id: id }]);
    let mut after = before.clone().advance_version();
    after.candidate.has_notes = true;
    transaction.replace_candidate(&before, &after, &history)?;
    let (store, ids) = (request.context.store(), request.context.ids());
    notices::tell_mentioned(store, &mut transaction, candidate_id, (None, &note), ids).await?;
    let note = request.visible(Note::of(candidate_id, note));
    let reply = Reply::ok(&note)?.created_without_address();
    request.commit(transaction, reply).await
}

/// Changes the text of a note about a candidate. Only its author may do that: the same key, application or member. Members whom
/// the text mentions now and did not mention before get a notice.
///
/// # Errors
///
/// - `forbidden`: somebody else wrote the note.
/// - `legal_hold`: a legal hold on the candidate forbids it.
pub async fn update_note(request: ApiRequest<NotePatch>) -> Result<Reply<Visible<Note>>, Error> {
    let Ok(id) = request.context.path_parameter("note_id").parse() else {
        return Err(find(&request).await.err().unwrap_or(Error::NotFound));
    };
    let (store, candidate_id) = (request.context.store(), request.id()?);
    let (before, note) = tokio::join!(find(&request), store.find_note(request.tenant(), candidate_id, id));
    let before = before?;
    let note = note?.ok_or(Error::NotFound)?;
    let NotePatch { text } = request.input()?;
    if note.actor.without_name() != request.actor().without_name() {
        return Err(Error::NotTheAuthor);
    }
    if before.legal_hold.is_some() {
        return Err(Error::LegalHold);
    }
    request.check_precondition(&request.visible(Note::of(candidate_id, note.clone())))?;
    if text == note.text {
        return Reply::resource(&request.visible(Note::of(candidate_id, note)));
    }
    let author = request.author();
    let edited = model::Note { text, updated_at: Some(author.at), ..note.clone() };
    let mut transaction = request.transaction();
    transaction.replace_note(candidate_id, &note, &edited)?;
    let history = author.touchpoints([TouchpointKind::NoteUpdated { note_id: id }]);
    transaction.replace_candidate(&before, &before.clone().advance_version(), &history)?;
    let ids = request.context.ids();
    notices::tell_mentioned(store, &mut transaction, candidate_id, (Some(&note), &edited), ids).await?;
    let reply = Reply::resource(&request.visible(Note::of(candidate_id, edited)))?;
    request.commit(transaction, reply).await
}

/// Deletes a note about a candidate, and returns it.
///
/// # Errors
///
/// - `legal_hold`: a legal hold on the candidate forbids it.
pub async fn delete_note(request: ApiRequest<()>) -> Result<Reply<Unversioned<Visible<Note>>>, Error> {
    let Ok(id) = request.context.path_parameter("note_id").parse() else {
        return Err(find(&request).await.err().unwrap_or(Error::NotFound));
    };
    delete(request, id).await
}

/// Deletes the note with this identifier.
pub(super) async fn delete(
    request: ApiRequest<()>,
    id: Id,
) -> Result<Reply<Unversioned<Visible<Note>>>, Error> {
    let (store, candidate_id) = (request.context.store(), request.id()?);
    let two = Paging { limit: 2, before: None };
    let (before, note, newest) = tokio::join!(
        find(&request),
        store.find_note(request.tenant(), candidate_id, id),
        store.list_notes(request.tenant(), candidate_id, &two)
    );
    let before = before?;
    let note = note?.ok_or(Error::NotFound)?;
    request.input()?;
    if before.legal_hold.is_some() {
        return Err(Error::LegalHold);
    }
    let mut transaction = request.transaction();
    transaction.delete_note(candidate_id, id);
    let history = request.author().touchpoints([TouchpointKind::NoteDeleted { note_id: id }]);
    let mut after = before.clone().advance_version();
    after.candidate.has_notes = newest?.items.iter().any(|note| note.id != id);
    transaction.replace_candidate(&before, &after, &history)?;
    let note = request.visible(Note::of(candidate_id, note));
    request.commit(transaction, Reply::ok(&note)?.unversioned()).await
}
