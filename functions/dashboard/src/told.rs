//! What members are told by notices: in the band of every page, and in the list of notices.

use shared::http::MemberRequest;
use shared::model::NoticeEvent;

/// A sentence about a notice.
pub(crate) struct Told {
    pub(crate) before: String,
    /// The path and the words of a link.
    pub(crate) link: Option<(String, String)>,
    pub(crate) after: String,
}

/// What the member is told on every page: the newest notice.
pub(crate) fn newest(request: &MemberRequest) -> Option<Told> {
    let session = request.session();
    let told = || match &session.newest_notice {
        Some(event) => told(event, request, "a candidate"),
        None => whole("Something has happened since you last looked.".to_owned()),
    };
    session.has_notices.then(told)
}

/// A sentence without a link.
const fn whole(sentence: String) -> Told {
    Told { before: sentence, link: None, after: String::new() }
}

/// The sentence of an event, which begins with these words. They are a link to this path.
fn beginning_with(words: &str, path: String, event: &NoticeEvent) -> Told {
    let sentence = event.sentence();
    let after = sentence.strip_prefix(words).unwrap_or(&sentence).to_owned();
    Told { before: String::new(), link: Some((path, words.to_owned())), after }
}

/// What the member is told. A link leads to data in the mode that the dashboard shows.
pub(crate) fn told(event: &NoticeEvent, request: &MemberRequest, name: &str) -> Told {
    let shown = request.tenant().mode;
    match event {
        NoticeEvent::Mentioned { candidate, mode, by } if *mode == shown => Told {
            before: format!("{} mentioned you in a note about ", by.described()),
            link: Some((format!("/dashboard/candidates/{candidate}"), name.to_owned())),
            after: ".".to_owned(),
        },
        NoticeEvent::ImportEnded { import, mode, .. } if *mode == shown => {
            beginning_with("Your import", format!("/dashboard/imports/{import}"), event)
        }
        NoticeEvent::ExportEnded { export, mode, .. } if *mode == shown => {
            beginning_with("Your export", format!("/dashboard/exports/{export}"), event)
        }
        _ => whole(event.sentence()),
    }
}
