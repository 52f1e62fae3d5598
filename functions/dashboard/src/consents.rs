//! Consents of candidates: everything that was recorded about them, and the form that records one.

use std::sync::Arc;

use shared::handlers::consents;
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::{CandidateRecord, Consent, ConsentPurpose};
use shared::store::Paging;

use crate::candidate_list::{candidate_path, in_list};
use crate::dates::{self, Time};
use crate::form_page::{Field, FieldKind, Form};
use crate::layout::Section;
use crate::messages::Notice;
use crate::sources::actor;

/// More consents than a candidate can have.
const ALL: u32 = 200;

/// A consent on the candidate's page.
pub(crate) struct ConsentRow {
    /// What it is for, after the words "consent to".
    pub(crate) purpose: &'static str,
    /// `given`, `withdrawn` or `refused`.
    pub(crate) state: &'static str,
    /// Whether it is the one that counts for its purpose.
    pub(crate) counts: bool,
    /// The time when the candidate gave, refused or withdrew it.
    pub(crate) obtained: Time,
    /// Who recorded it.
    pub(crate) recorded_by: String,
    /// The text that the candidate agreed to, or in which the candidate withdrew the consent.
    pub(crate) wording: String,
}

/// Returns everything that was recorded about a candidate's consents, the latest first.
pub(crate) async fn rows(
    request: &MemberRequest,
    record: &CandidateRecord,
) -> Result<Vec<ConsentRow>, Error> {
    let (store, id) = (request.context.store(), record.candidate.id);
    let page = Paging { limit: ALL, before: None };
    let mut consents = store.list_consents(request.tenant(), id, &page).await?.items;
    consents.sort_by_key(|consent| std::cmp::Reverse((consent.obtained_at, consent.id)));
    let zone = dates::zone(request);
    let row = |(index, consent): (usize, &Consent)| {
        let is_earlier_grant = |earlier: &&Consent| earlier.granted && earlier.purpose == consent.purpose;
        let was_given = consents.iter().skip(index + 1).any(|earlier| is_earlier_grant(&earlier));
        ConsentRow {
            purpose: consent.purpose.words(),
            state: match (consent.granted, was_given) {
                (true, _) => "given",
                (false, true) => "withdrawn",
                (false, false) => "refused",
            },
            counts: record.consent(consent.purpose).is_some_and(|counting| counting.id == consent.id),
            obtained: zone.minute(consent.obtained_at),
            recorded_by: actor(&consent.actor),
            wording: consent.wording.as_str().to_owned(),
        }
    };
    Ok(consents.iter().enumerate().map(row).collect())
}

/// Shows the form that records a consent.
pub(crate) async fn ask(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    form(&request).await?.show(&request)
}

/// Records that a candidate gave, refused or withdrew a consent.
pub(crate) async fn record(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let fields = dates::zone(&request).in_utc(&request.fields(), &["obtained_at"]);
    match request.carry_out(request.call(fields), consents::create_consent).await {
        Ok(_) => Ok(Notice::ConsentRecorded.redirect_to(&candidate_path(&request, request.context.id()?))),
        Err(error) => form(&request).await?.show_again(&request, error),
    }
}

async fn form(request: &MemberRequest) -> Result<Form, Error> {
    let id: Id = request.context.id()?;
    let found = request.context.store().find_candidate(request.tenant(), id).await?;
    let name = Error::unless_missing(found)?.candidate.profile.name.as_str().to_owned();
    let purposes =
        ConsentPurpose::ALL.map(|purpose| (purpose.as_str().to_owned(), format!("For {}", purpose.words())));
    let answers = [("true", "Given"), ("false", "Refused or withdrawn")];
    let answers = answers.map(|(value, label)| (value.to_owned(), label.to_owned()));
    let fields = vec![
        Field::line("purpose", "Consent").of(FieldKind::Choice(purposes.into())),
        Field::line("granted", "Answer").of(FieldKind::Choice(answers.into())),
        Field::line("obtained_at", "Time of the answer").of(FieldKind::Line("datetime-local")),
        Field::line("wording", "Wording")
            .of(FieldKind::Lines(4))
            .hint("The text that the candidate agreed to, or in which the candidate refused or withdrew."),
    ];
    let action = format!("/dashboard/candidates/{id}/consents{}", in_list(request));
    Ok(Form::new(Section::Candidates, format!("Record a consent of {name}"), fields, action, "Record")
        .below(candidate_path(request, id), name)
        .lead(
            "The latest answer counts. A refusal or a withdrawal cancels unfinished voice screens that need the consent.",
        ))
}
