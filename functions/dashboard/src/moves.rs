//! Moves of candidates between the stages: from the board, from the candidate's page, and back again.

use std::sync::Arc;

use shared::handlers::moves;
use shared::http::{Error, HandlerCall, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::{CandidateRecord, EndedBy, RejectionReasons, Stage};

use crate::candidate_list::{in_list, page_in_list};
use crate::form_page::{Field, FieldKind, Form, fields_of};
use crate::layout::Section;
use crate::messages::{Alert, Notice};
use crate::rejection_reasons;
use crate::undo::{self, Undo};

/// A move that a form requests.
struct Requested {
    candidate: Id,
    role: Option<Id>,
    /// The stage that the member saw.
    seen: Stage,
    to: Stage,
    /// Who ends the application, if it is rejected.
    by: EndedBy,
    /// The page to return to: `board`, or empty for the candidate's page.
    page: &'static str,
    /// The query that keeps the list that the candidate's page was opened from.
    in_list: String,
    /// The page of the candidate who is opened after the move.
    next: Option<String>,
}

impl Requested {
    /// The path of the page to return to.
    fn return_to(&self) -> String {
        match (self.page, self.role) {
            ("board", Some(role)) => format!("/dashboard/roles/{role}"),
            _ => format!("/dashboard/candidates/{}{}", self.candidate, self.in_list),
        }
    }

    /// The path of the page that asks for the reason or the date.
    fn step(&self) -> String {
        let role = self.role.map(|role| format!("&role_id={role}")).unwrap_or_default();
        format!(
            "/dashboard/candidates/{}/move?to={}&by={}&seen={}&from={}{role}",
            self.candidate,
            self.to.as_str(),
            self.by.as_str(),
            self.seen.as_str(),
            self.page
        )
    }

    /// Makes the move, with a reason or a date if the form has one.
    async fn make(&self, request: &MemberRequest, details: &[(&str, &str)]) -> Result<(), Error> {
        let role = self.role.map(|role| role.to_string());
        let mut fields: Vec<_> = details.to_vec();
        fields.extend(role.as_deref().map(|role| ("role_id", role)));
        let is_undo = self.seen.is_end();
        if !is_undo && !self.to.is_end() {
            fields.push(("stage", self.to.as_str()));
        }
        let call = HandlerCall {
            id: Some(self.candidate),
            seen: Some(self.seen.as_str().to_owned()),
            ..request.call(fields_of(&fields))
        };
        match (self.seen, self.to) {
            (Stage::Rejected, _) => request.carry_out(call, moves::unreject).await.map(drop),
            (Stage::Hired, _) => request.carry_out(call, moves::unhire).await.map(drop),
            (_, Stage::Rejected) => match self.by {
                EndedBy::Team => request.carry_out(call, moves::reject).await.map(drop),
                EndedBy::Candidate => request.carry_out(call, moves::withdraw).await.map(drop),
            },
            (_, Stage::Hired) => request.carry_out(call, moves::hire).await.map(drop),
            _ => request.carry_out(call, moves::advance).await.map(drop),
        }
    }

    /// Redirects to the page with the message about the move, which offers to undo it.
    fn redirect(&self, request: &MemberRequest) -> Reply<Html> {
        let path = self.return_to();
        if self.seen.is_end() {
            return Notice::Undone.redirect_to(&path);
        }
        let path = self.next.clone().unwrap_or(path);
        let notice = match (self.to, self.by) {
            (Stage::Rejected, EndedBy::Team) => Notice::Rejected,
            (Stage::Rejected, EndedBy::Candidate) => Notice::Withdrawn,
            (Stage::Hired, _) => Notice::Hired,
            _ => Notice::Moved,
        };
        let undo = Undo {
            candidate: self.candidate,
            role: self.role,
            from: self.seen,
            to: self.to,
            page: self.page,
            name: None,
            what: String::new(),
            is_here: false,
        };
        let separator = if path.contains('?') { '&' } else { '?' };
        notice.redirect_to(&format!("{path}{separator}{}", undo.query(request)))
    }
}

/// Moves a candidate on a role's board. A rejection and a hire first ask for the reason or the date.
pub(crate) async fn move_on_board(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let role = request.context.id()?;
    let chosen = request.page.form().get("move");
    let mut parts = chosen.split('.');
    let (candidate, seen, to) = (parts.next(), parts.next(), parts.next());
    let by = ended_by(parts.next().unwrap_or_default());
    let parsed = candidate.and_then(|id| id.parse().ok()).zip(seen.and_then(|stage| stage.parse().ok()));
    let Some(((candidate, seen), to)) = parsed.zip(to.and_then(|stage| stage.parse().ok())) else {
        return Err(Error::BadRequest("The form must name a candidate and two stages".to_owned()));
    };
    let requested = Requested {
        candidate,
        role: Some(role),
        seen,
        to,
        by,
        page: "board",
        in_list: String::new(),
        next: None,
    };
    if to.is_end() {
        return Ok(Reply::see_other(&requested.step()));
    }
    match requested.make(&request, &[]).await {
        Ok(()) => Ok(requested.redirect(&request)),
        Err(Error::PreconditionFailed) => Ok(Alert::MovedMeanwhile.redirect_to(&requested.return_to())),
        Err(Error::InvalidTransition(_)) => Ok(Alert::MoveRefused.redirect_to(&requested.return_to())),
        Err(error) => Err(error),
    }
}

/// Asks for the reason of a rejection, or the first day of a hire.
pub(crate) async fn ask(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let query = request.context.query();
    let requested = Requested {
        candidate: request.context.id()?,
        role: query.get("role_id").parse().ok(),
        seen: query.get("seen").parse().map_err(|_| Error::NotFound)?,
        to: query.get("to").parse().map_err(|_| Error::NotFound)?,
        by: ended_by(query.get("by")),
        page: undo::page(query.get("from")),
        in_list: in_list(&request),
        next: page_in_list(query.get("next")),
    };
    let record = find(&request, requested.candidate).await?;
    step_form(&request, &requested, &record).await?.show(&request)
}

/// Moves a candidate, or takes a move back.
pub(crate) async fn make(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let form = request.page.form();
    let invalid = |_| Error::BadRequest("The form must name the stage before and after the move".to_owned());
    // The buttons with the reasons of a rejection.
    let reason = form.all("rejected_for").next();
    let requested = Requested {
        candidate: request.context.id()?,
        role: form.get("role_id").parse().ok(),
        seen: form.get("seen").parse().map_err(invalid)?,
        to: if reason.is_some() { Stage::Rejected } else { form.get("to").parse().map_err(invalid)? },
        by: ended_by(form.get("by")),
        page: undo::page(form.get("from")),
        in_list: in_list(&request),
        next: page_in_list(form.get("next")),
    };
    let names: &[&str] = match (requested.seen.is_end(), requested.to, requested.by) {
        (false, Stage::Rejected, EndedBy::Team) => &["reason_id", "reason", "notes"],
        (false, Stage::Rejected, EndedBy::Candidate) => &["reason_id", "reason"],
        (false, Stage::Hired, _) => &["start_date"],
        _ => &[],
    };
    let details: Vec<_> = match reason {
        Some(reason) => vec![("reason_id", reason)],
        None => names.iter().map(|name| (*name, form.get(name))).collect(),
    };
    let error = match requested.make(&request, &details).await {
        Ok(()) => return Ok(requested.redirect(&request)),
        Err(error) => error,
    };
    if names.is_empty() {
        return match error {
            Error::PreconditionFailed => Ok(Alert::MovedMeanwhile.redirect_to(&requested.return_to())),
            Error::InvalidTransition(_) => Ok(Alert::MoveRefused.redirect_to(&requested.return_to())),
            error => Err(error),
        };
    }
    let record = find(&request, requested.candidate).await?;
    // A repetition is about the stage that the page now shows.
    let seen = stage_of(&record, requested.role);
    if seen.is_end() {
        if details.iter().any(|(_, typed)| !typed.trim().is_empty()) {
            // The error page shows what was typed.
            return Err(error);
        }
        return Ok(Alert::MovedMeanwhile.redirect_to(&requested.return_to()));
    }
    let is_stale = matches!(error, Error::PreconditionFailed);
    let error = if is_stale {
        Error::InvalidTransition(format!(
            "somebody moved this candidate from {} to {} in the meantime; nothing was done, and you can confirm now",
            requested.seen.as_str(),
            seen.as_str()
        ))
    } else {
        error
    };
    step_form(&request, &Requested { seen, ..requested }, &record).await?.show_again(&request, error)
}

/// Who ends an application, unless the word is something else: the team.
fn ended_by(word: &str) -> EndedBy {
    word.parse().unwrap_or(EndedBy::Team)
}

/// The form that asks for the reason of a rejection, or the first day of a hire.
async fn step_form(
    request: &MemberRequest,
    requested: &Requested,
    record: &CandidateRecord,
) -> Result<Form, Error> {
    let name = record.candidate.profile.name.as_str();
    let listed = |reasons: &RejectionReasons, by| {
        Field::line("reason_id", "Reason").of(rejection_reasons::choices(reasons, by))
    };
    let in_words = || {
        Field::line("reason", "Reason in your own words")
            .of(FieldKind::Lines(2))
            .hint("Optional, up to 500 characters. Without it, the name of the reason is kept.")
    };
    let store = request.context.store();
    let (title, lead, fields, submit, is_grave) = match (requested.to, requested.by) {
        (Stage::Rejected, EndedBy::Candidate) => (
            format!("{name} withdraws"),
            "The application ends at the candidate's wish. The candidate gets no message.",
            vec![
                listed(&store.get_rejection_reasons(request.tenant()).await?, EndedBy::Candidate),
                in_words(),
            ],
            "Record the withdrawal",
            true,
        ),
        (Stage::Rejected, EndedBy::Team) => (
            format!("Reject {name}"),
            "The reason and the notes are for your team. The candidate gets no message.",
            vec![
                listed(&store.get_rejection_reasons(request.tenant()).await?, EndedBy::Team),
                in_words(),
                Field::line("notes", "Notes")
                    .of(FieldKind::Lines(4))
                    .hint("Optional. They are shown in the history."),
            ],
            "Reject",
            true,
        ),
        (Stage::Hired, _) => (
            format!("Hire {name}"),
            "Unfinished voice screens of this candidate are cancelled.",
            vec![
                Field::line("start_date", "First day of work").of(FieldKind::Line("date")).hint("Optional."),
            ],
            "Hire",
            false,
        ),
        _ => return Err(Error::NotFound),
    };
    let mut hidden = vec![
        ("to", requested.to.as_str().to_owned()),
        ("by", requested.by.as_str().to_owned()),
        ("from", requested.page.to_owned()),
    ];
    hidden.extend(requested.role.map(|role| ("role_id", role.to_string())));
    hidden.extend(requested.next.clone().map(|next| ("next", next)));
    let action = format!("/dashboard/candidates/{}/move{}", requested.candidate, requested.in_list);
    let form = Form::new(Section::Candidates, title, fields, action, submit)
        .below(requested.return_to(), "Back")
        .lead(lead)
        .of_version(requested.seen.as_str())
        .hiding(hidden);
    Ok(if is_grave { form.grave() } else { form })
}

async fn find(request: &MemberRequest, candidate: Id) -> Result<CandidateRecord, Error> {
    Error::unless_missing(request.context.store().find_candidate(request.tenant(), candidate).await?)
}

/// The stage of the application for this role, or else of the candidate.
fn stage_of(record: &CandidateRecord, role: Option<Id>) -> Stage {
    let application = role.and_then(|role| record.application(role));
    application.map_or(record.candidate.stage, |application| application.stage)
}
