//! The notes about a candidate, as the page of the candidate shows them: Markdown, with addresses as links, and with the members
//! whom they name emphasized.

use shared::descriptions::{self, Part};
use shared::handlers::responses;
use shared::http::{Error, MemberRequest, entity_tag};
use shared::id::Id;
use shared::model::{Handles, Note, may_mention};

use crate::dates::{Time, Zone};
use crate::links;
use crate::sources::actor;

/// What the forms of notes say about their text.
pub(crate) const HINT: &str = "Markdown works. @name tells a colleague.";

/// A note on the page.
pub(crate) struct NoteRow<'p> {
    pub(crate) id: u64,
    /// Safe HTML.
    pub(crate) html: String,
    pub(crate) at: Time,
    /// When it was last edited.
    pub(crate) edited: Option<Time>,
    pub(crate) author: String,
    /// What its author may edit.
    pub(crate) own: Option<OwnNote<'p>>,
}

/// A note of the member who looks at the page.
pub(crate) struct OwnNote<'p> {
    pub(crate) text: &'p str,
    /// The version that the page shows.
    pub(crate) seen: String,
}

/// The rows of these notes. The members are read only if a note may name one.
pub(crate) async fn rows<'p>(
    request: &MemberRequest,
    candidate: Id,
    notes: &'p [Note],
    zone: &Zone,
) -> Result<Vec<NoteRow<'p>>, Error> {
    let handles = if notes.iter().any(|note| may_mention(note.text.as_str())) {
        let organization = request.tenant().organization;
        Handles::of(&request.context.store().list_members(organization).await?)
    } else {
        Handles::default()
    };
    let author = request.actor().without_name();
    let row = |note: &'p Note| {
        let is_own = note.actor.without_name() == author;
        let own = || Ok::<_, Error>(OwnNote { text: note.text.as_str(), seen: version(candidate, note)? });
        Ok(NoteRow {
            id: note.id.get(),
            html: descriptions::note(note.text.as_str(), |text| parts(text, &handles)),
            at: zone.minute(note.created_at),
            edited: note.updated_at.map(|at| zone.minute(at)),
            author: actor(&note.actor),
            own: is_own.then(own).transpose()?,
        })
    };
    notes.iter().map(row).collect()
}

/// The version of a note.
pub(crate) fn version(candidate: Id, note: &Note) -> Result<String, Error> {
    entity_tag(&responses::note::Note::of(candidate, note.clone()))
}

/// A text with members and addresses.
fn parts<'t>(text: &'t str, handles: &Handles) -> Vec<Part<'t>> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for (range, _) in handles.find(text) {
        parts.extend(with_links(&text[from..range.start]));
        parts.push(Part::Strong(&text[range.clone()]));
        from = range.end;
    }
    parts.extend(with_links(&text[from..]));
    parts
}

fn with_links(text: &str) -> impl Iterator<Item = Part<'_>> {
    links::parts(text).into_iter().map(|part| match part.url {
        Some(url) => Part::Link(part.text, url),
        None => Part::Plain(part.text),
    })
}
