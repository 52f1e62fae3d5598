//! What owners do with a person's data: the export, the legal hold, and the erasure.

use std::sync::Arc;

use shared::handlers::{erasure, export};
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::{CandidateRecord, Email};

use crate::dates;
use crate::form_page::{Field, FieldKind, Form, fields_of};
use crate::layout::Section;
use crate::messages::{Alert, Notice};

/// Sends everything that is stored about a candidate as a file.
pub(crate) async fn download(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let id = request.context.id()?;
    let reply = request.carry_out(request.call(fields_of(&[])), export::export).await?;
    Ok(reply.download(&format!("candidate-{id}.json")))
}

/// Asks for the confirmation of an erasure.
pub(crate) async fn ask_to_erase(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    erase_form(&find(&request).await?, &request).show(&request)
}

/// Erases a candidate.
pub(crate) async fn erase(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    match request.carry_out(request.call(fields_of(&[])), erasure::erase).await {
        Ok(_) => Ok(Notice::Erased.redirect_to("/dashboard/candidates")),
        Err(Error::LegalHold) => {
            Ok(Alert::OnHold.redirect_to(&format!("/dashboard/candidates/{}", request.context.id()?)))
        }
        Err(error) => Err(error),
    }
}

fn erase_form(record: &CandidateRecord, request: &MemberRequest) -> Form {
    let (id, name) = (record.candidate.id, record.candidate.profile.name.as_str());
    // Several people may have the same name.
    let roles: Vec<_> = record.applications.iter().map(|one| one.role.title.as_str()).collect();
    let facts = vec![
        ("Name", name.to_owned()),
        ("E-mail address", record.candidate.profile.email.as_ref().map_or("–", Email::as_str).to_owned()),
        ("Applied for", if roles.is_empty() { "–".to_owned() } else { roles.join(", ") }),
        ("Added", dates::zone(request).day_in_words(record.candidate.created_at)),
    ];
    let page = format!("/dashboard/candidates/{id}");
    let action = format!("{page}/erase");
    Form::new(Section::Candidates, format!("Erase {name}"), Vec::new(), action, "Erase for good")
        .below(page, name)
        .telling(facts)
        .lead(
            "Everything that is stored about this person is removed for good: profile, applications, voice screens, \
             notes and files. Statistics stay. This cannot be undone.",
        )
        .grave()
}

/// Asks for the reason of a legal hold, or whether to lift it.
pub(crate) async fn ask_to_hold(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    hold_form(&find(&request).await?).show(&request)
}

/// Sets or lifts a legal hold.
pub(crate) async fn hold(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let path = format!("/dashboard/candidates/{}", request.context.id()?);
    if request.page.form().get("action") == "lift" {
        request.carry_out(request.call(fields_of(&[])), erasure::lift_legal_hold).await?;
        return Ok(Notice::HoldLifted.redirect_to(&path));
    }
    match request.carry_out(request.call(request.fields()), erasure::set_legal_hold).await {
        Ok(_) => Ok(Notice::HoldSet.redirect_to(&path)),
        Err(error) => hold_form(&find(&request).await?).show_again(&request, error),
    }
}

fn hold_form(record: &CandidateRecord) -> Form {
    let (id, name) = (record.candidate.id, record.candidate.profile.name.as_str());
    let page = format!("/dashboard/candidates/{id}");
    let (title, action) = (format!("Legal hold on {name}"), format!("{page}/legal-hold"));
    if record.legal_hold.is_some() {
        Form::new(Section::Candidates, title, Vec::new(), action, "Lift the legal hold")
            .below(page, name)
            .lead("Once the legal hold is lifted, this person can be erased again, by a retention rule 30 days later.")
            .hiding(vec![("action", "lift".to_owned())])
    } else {
        let fields = vec![Field::line("reason", "Reason").of(FieldKind::Lines(3)).required()];
        Form::new(Section::Candidates, title, fields, action, "Set legal hold")
            .below(page, name)
            .lead("While a legal hold is set, nobody can erase this person, and no retention rule does.")
    }
}

async fn find(request: &MemberRequest) -> Result<CandidateRecord, Error> {
    let found = request.context.store().find_candidate(request.tenant(), request.context.id()?).await?;
    Error::unless_missing(found)
}
