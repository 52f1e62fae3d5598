//! Voice screens: the invitation, the page with the transcript, the cancellation, and the decision about the result.

use std::sync::Arc;

use askama::Template;
use futures_util::try_join;
use shared::handlers::screens;
use shared::http::page::{Sources, version_of};
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::{
    CandidateRecord, ConsentPurpose, Evidence, Excerpt, Screen, ScreenRecord, ScreenStatus, Speaker, Turn,
};

use crate::candidate_list::{ListLinks, candidate_path, in_list};
use crate::dates::{self, Time};
use crate::decision::Decision;
use crate::form_page::{Field, FieldKind, Form, fields_of};
use crate::layout::{Layout, SCRIPT, Section};
use crate::messages::{Alert, Notice};
use crate::sources::actor;

/// The fields with a time, which browsers send without a time zone.
const TIMES: [&str; 2] = ["scheduled_at", "consent.obtained_at"];

#[derive(Template)]
#[template(path = "screen.html")]
struct ScreenPage<'p> {
    layout: Layout<'p>,
    id: u64,
    /// The links into the list that the candidate's page was opened from.
    list: Option<ListLinks>,
    /// What can be decided about the application that the voice screen belongs to.
    decision: Decision,
    candidate: u64,
    name: String,
    role: u64,
    title: String,
    status: ScreenStatus,
    screen: &'p Screen,
    /// The names of the scores and their values.
    scores: Vec<(&'static str, u8)>,
    at: Time,
    turns: Vec<TurnRow<'p>>,
    /// What supports no turn of the transcript.
    others: Vec<Remark<'p>>,
    can_be_cancelled: bool,
    /// How many things the candidate said, and for how long the conversation lasted.
    said: Option<String>,
    /// What was decided about the result and by whom, and when.
    review: Option<(String, Time)>,
    can_be_reviewed: bool,
    /// The version in the script's URL.
    script_version: String,
}

/// A turn of the transcript, with what the assessment says about it.
struct TurnRow<'p> {
    speaker: &'static str,
    is_agent: bool,
    /// Minutes and seconds since the call began: `2:05`.
    at: String,
    text: &'p str,
    remarks: Vec<Remark<'p>>,
}

/// A highlight or a red flag.
struct Remark<'p> {
    is_red_flag: bool,
    text: &'p str,
}

/// Shows a voice screen with its transcript. Highlights and red flags are beside the turns that they are about.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (store, tenant) = (request.context.store(), request.tenant());
    let found = store.find_screen_page(tenant, request.context.id()?).await?.ok_or(Error::NotFound)?;
    let (record, transcript): (ScreenRecord, Vec<Turn>) = found;
    let screen = &record.screen;
    let (candidate, role) =
        store.find_candidate_and_role(tenant, screen.candidate_id, screen.role_id).await?;
    let person = Error::unless_missing(candidate)?;
    let (list, reasons) = try_join!(ListLinks::of(&request, &person), async {
        Ok(store.get_rejection_reasons(tenant).await?)
    })?;
    let decision = Decision::of(&request, &person, Some(screen.role_id), list.as_ref(), &reasons);
    let candidate = person.candidate;
    let highlights = record.highlights.iter().map(|excerpt| (false, excerpt));
    let excerpts: Vec<_> = highlights.chain(record.red_flags.iter().map(|excerpt| (true, excerpt))).collect();
    // An excerpt about a turn that the transcript does not have is about none.
    let turn_of = |excerpt: &Excerpt| excerpt.turn.filter(|turn| (*turn as usize) < transcript.len());
    let remarks = |turn: Option<u32>| -> Vec<_> {
        let about = excerpts.iter().filter(|(_, excerpt)| turn_of(excerpt) == turn);
        about
            .map(|(is_red_flag, excerpt)| Remark { is_red_flag: *is_red_flag, text: &excerpt.text })
            .collect()
    };
    let turns = transcript.iter().zip(0u32..).map(|(turn, index)| TurnRow {
        speaker: match turn.speaker {
            Speaker::Agent => "Interviewer",
            Speaker::Candidate => "Candidate",
        },
        is_agent: turn.speaker == Speaker::Agent,
        at: format!("{}:{:02}", turn.at_seconds / 60, turn.at_seconds % 60),
        text: &turn.text,
        remarks: remarks(Some(index)),
    });
    let scores = [
        ("Communication", screen.scores.communication),
        ("Experience", screen.scores.experience),
        ("Motivation", screen.scores.motivation),
    ];
    let page = Reply::page(&ScreenPage {
        layout: Layout::of(&request, Section::Candidates),
        id: screen.id.get(),
        list,
        decision,
        candidate: candidate.id.get(),
        name: candidate.profile.name.as_str().to_owned(),
        role: screen.role_id.get(),
        title: role.map_or(String::new(), |role| role.content.title.as_str().to_owned()),
        status: screen.status,
        screen,
        scores: scores.into_iter().filter_map(|(name, score)| Some((name, score?))).collect(),
        at: dates::zone(&request)
            .minute(screen.started_at.or(screen.scheduled_at).unwrap_or(screen.created_at)),
        turns: turns.collect(),
        others: remarks(None),
        can_be_cancelled: matches!(screen.status, ScreenStatus::Queued | ScreenStatus::Scheduled),
        said: said(screen, &transcript),
        review: screen.review.as_ref().map(|review| {
            let decided = format!("{} by {}", review.decision.as_str(), actor(&review.actor));
            (decided, dates::zone(&request).minute(review.decided_at))
        }),
        can_be_reviewed: screen.scores.overall.is_some(),
        script_version: version_of(&SCRIPT),
    })?;
    Ok(page.using(&Sources { script: true, ..Sources::default() }))
}

/// What the transcript shows of the candidate; `None` without a transcript.
fn said(screen: &Screen, transcript: &[Turn]) -> Option<String> {
    let turns = match Evidence::of(transcript).turns {
        _ if transcript.is_empty() => return None,
        0 => "nothing".to_owned(),
        1 => "1 thing".to_owned(),
        turns => format!("{turns} things"),
    };
    let time =
        screen.duration_seconds.map(|seconds| format!(" in {}:{:02} minutes", seconds / 60, seconds % 60));
    Some(turns + &time.unwrap_or_default())
}

/// Shows the form that invites a candidate.
pub(crate) async fn ask(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    form(&request).await?.show(&request)
}

/// Invites a candidate.
pub(crate) async fn invite(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let fields = dates::zone(&request).in_utc(&request.fields(), &TIMES);
    match request.carry_out(request.call(fields), screens::invite_screen).await {
        Ok(_) => Ok(Notice::Invited.redirect_to(&candidate_path(&request, request.context.id()?))),
        Err(error) => form(&request).await?.show_again(&request, error),
    }
}

async fn form(request: &MemberRequest) -> Result<Form, Error> {
    let (store, id) = (request.context.store(), request.context.id()?);
    let record: CandidateRecord = Error::unless_missing(store.find_candidate(request.tenant(), id).await?)?;
    let name = record.candidate.profile.name.as_str().to_owned();
    let roles = record
        .applications
        .iter()
        .rev()
        .filter(|application| !application.stage.is_end() && !application.role.is_closed);
    let roles: Vec<_> = roles
        .map(|application| (application.role.id.to_string(), application.role.title.as_str().to_owned()))
        .collect();
    let asked = request.context.query().get("role_id").to_owned();
    let first = roles.iter().find(|(id, _)| *id == asked).or(roles.first());
    let first = first.map_or(String::new(), |(id, _)| id.clone());
    let mut fields = vec![
        Field::line("role_id", "Role").of(FieldKind::Choice(roles)).with(&first),
        Field::line("scheduled_at", "Time of the call")
            .of(FieldKind::Line("datetime-local"))
            .hint("Optional. Without a time, the candidate is called immediately."),
        Field::heading("Consent"),
        Field::line("consent.obtained_at", "Given at").of(FieldKind::Line("datetime-local")).hint(
            "Leave both fields empty if the candidate has already agreed to the call and its transcript.",
        ),
        Field::line("consent.wording", "What the candidate agreed to")
            .of(FieldKind::Lines(3))
            .hint("The text must cover AI calls and their transcripts."),
    ];
    let mut lead =
        "An AI interviewer calls the candidate, and you get the transcript with scores.".to_owned();
    let given = ConsentPurpose::FOR_CALLS.into_iter().filter_map(|purpose| record.consent(purpose));
    if record.missing_consents().next().is_none()
        && let Some(last) = given.max_by_key(|consent| consent.obtained_at)
    {
        fields.truncate(2);
        let (day, by) = (dates::zone(request).day(last.obtained_at), actor(&last.actor));
        let day = day.text();
        lead = format!("{lead} {name} agreed to the call and its transcript on {day}, as recorded by {by}.");
    }
    let action = format!("/dashboard/candidates/{id}/invite{}", in_list(request));
    let title = format!("Invite {name} to a voice screen");
    Ok(Form::new(Section::Candidates, title, fields, action, "Invite")
        .below(candidate_path(request, id), name)
        .lead(lead))
}

/// Cancels a voice screen whose conversation has not begun.
pub(crate) async fn cancel(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let path = match request.page.form().get("candidate").parse() {
        Ok(candidate) => candidate_path(&request, candidate),
        Err(_) => format!("/dashboard/screens/{}{}", request.context.id()?, in_list(&request)),
    };
    match request.carry_out(request.call(fields_of(&[])), screens::cancel).await {
        Ok(_) => Ok(Notice::ScreenCancelled.redirect_to(&path)),
        Err(Error::InvalidTransition(_)) => Ok(Alert::StatusChanged.redirect_to(&path)),
        Err(error) => Err(error),
    }
}

/// Confirms or overrules the result of a voice screen.
pub(crate) async fn review(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let path = format!("/dashboard/screens/{}{}", request.context.id()?, in_list(&request));
    match request.carry_out(request.call(request.fields()), screens::review).await {
        Ok(_) => Ok(Notice::ScreenReviewed.redirect_to(&path)),
        // The error page shows a note that was typed.
        Err(Error::InvalidTransition(_)) if request.page.form().get("note").trim().is_empty() => {
            Ok(Alert::StatusChanged.redirect_to(&path))
        }
        Err(error) => Err(error),
    }
}
