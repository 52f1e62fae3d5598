//! How a move is undone from the message about it. The address of the page has what was moved, signed for the browser, so
//! that a link from elsewhere cannot offer a move.

use shared::http::MemberRequest;
use shared::id::Id;
use shared::model::{Candidate, Stage};
use shared::store::StoreError;

use crate::messages::Notice;

/// A move that can be undone.
pub(crate) struct Undo {
    /// The candidate.
    pub(crate) candidate: Id,
    /// The role of the application; `None` for a candidate without applications.
    pub(crate) role: Option<Id>,
    /// The stage before the move.
    pub(crate) from: Stage,
    /// The stage after the move.
    pub(crate) to: Stage,
    /// The page to return to: `board`, or empty for the candidate's page.
    pub(crate) page: &'static str,
    /// The candidate's name, on pages that show it.
    pub(crate) name: Option<String>,
    /// What happened to the candidate, after the name.
    pub(crate) what: String,
    /// Whether the page is the candidate's own one.
    pub(crate) is_here: bool,
}

impl Undo {
    /// Returns the move that the address of a page names, if any.
    pub(crate) fn of(request: &MemberRequest) -> Option<Self> {
        let query = request.context.query();
        let undo = Self {
            candidate: query.get("moved").parse().ok()?,
            role: query.get("moved_for").parse().ok(),
            from: query.get("moved_from").parse().ok()?,
            to: query.get("moved_to").parse().ok()?,
            page: page(query.get("moved_on")),
            name: None,
            what: String::new(),
            is_here: false,
        };
        let (keys, cookie, text) = (request.context.signing_keys(), request.page.cookie(), undo.text());
        keys.verify_signature(&["undo", cookie, &text], query.get("moved_by")).then_some(undo)
    }

    /// The same move with the candidate's name and what the notice says. `shown` is the candidate whose page it is shown on.
    pub(crate) async fn named(
        self,
        request: &MemberRequest,
        shown: Option<&Candidate>,
        notice: Option<Notice>,
    ) -> Result<Self, StoreError> {
        let here = shown.filter(|shown| shown.id == self.candidate).cloned();
        let is_here = here.is_some();
        let moved = match here {
            Some(here) => Some(here),
            None => request.context.store().find_candidates(request.tenant(), &[self.candidate]).await?.pop(),
        };
        let name = moved.map(|moved| moved.profile.name.as_str().to_owned());
        let what = match (self.to, notice) {
            (_, Some(Notice::Withdrawn)) => "has withdrawn.".to_owned(),
            (Stage::Rejected, _) => "was rejected.".to_owned(),
            (Stage::Hired, _) => "was hired.".to_owned(),
            (stage, _) => format!("was moved to {}.", stage.as_str()),
        };
        Ok(Self { name, what, is_here, ..self })
    }

    /// The part of an address that names the move.
    pub(crate) fn query(&self, request: &MemberRequest) -> String {
        let text = self.text();
        let signature = request.context.signing_keys().sign(&["undo", request.page.cookie(), &text]);
        format!("{text}&moved_by={signature}")
    }

    fn text(&self) -> String {
        let Self { candidate, role, from, to, page, .. } = self;
        let role = role.map(|role| format!("&moved_for={role}")).unwrap_or_default();
        let (from, to) = (from.as_str(), to.as_str());
        format!("moved={candidate}{role}&moved_from={from}&moved_to={to}&moved_on={page}")
    }

    /// The role as the value of a form's field.
    pub(crate) fn role_id(&self) -> String {
        self.role.map(|role| role.to_string()).unwrap_or_default()
    }
}

/// The page to return to after a move.
pub(crate) fn page(word: &str) -> &'static str {
    if word == "board" { "board" } else { "" }
}
