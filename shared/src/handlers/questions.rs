//! The questions that a member answers before an assistant's call is carried out. A summary has no text that somebody wrote.

use serde_json::{Value, json};

use crate::clock::Timestamp;
use crate::http::Question;
use crate::http::facts::{self, fact};
use crate::id::Id;
use crate::model::{
    ApplicationStatus, AuditTargetKind, Candidate, CandidateRecord, Posting, Role, RoleAndPosting,
};
use crate::store::Fact;

/// Whether a candidate is rejected or hired: for which applications, in which stages.
pub(super) fn of_end(record: &CandidateRecord, verb: &str, role_id: Option<Id>) -> Question {
    let is_affected =
        |role: Id, status| role_id.map_or(status == ApplicationStatus::Active, |named| named == role);
    let affected = record.applications.iter().filter(|one| is_affected(one.role.id, one.status()));
    let affected: Vec<_> = affected.collect();
    let state = if affected.is_empty() {
        format!("no application, in stage {}", record.candidate.stage.as_str())
    } else {
        let words = affected
            .iter()
            .map(|one| format!("application for role {} in stage {}", one.role.id, one.stage.as_str()));
        words.collect::<Vec<_>>().join(", ")
    };
    Question {
        facts: affected.iter().map(|one| fact("role", one.role.title.as_str())).collect(),
        ..of_candidate(
            &record.candidate,
            format!("{verb} candidate {}: {state}.", record.candidate.id),
            state,
        )
    }
}

/// Whether a candidate is called.
pub(super) fn of_invitation(candidate: &Candidate, role: &Role, scheduled_at: Option<Timestamp>) -> Question {
    let when = scheduled_at.map_or_else(|| "now".to_owned(), |at| format!("at {at}"));
    let summary = format!("Call candidate {} for a voice screen for role {}, {when}.", candidate.id, role.id);
    let state = format!("in stage {}", candidate.stage.as_str());
    Question { facts: vec![title(role)], ..of_candidate(candidate, summary, state) }
}

/// Whether a role is changed whose job posting is public.
pub(super) fn of_change(before: &RoleAndPosting) -> Question {
    let summary = format!("Change role {}, whose job posting is public.", before.role.id);
    of_role(before, summary, vec![title(&before.role)])
}

/// Whether a role is published, with its job posting or without it.
pub(super) fn of_publication(before: &RoleAndPosting, with_posting: bool) -> Question {
    let RoleAndPosting { role, posting, .. } = before;
    let id = role.id;
    let Some(posting) = posting.as_ref().filter(|posting| posting.published || with_posting) else {
        let summary = format!("Publish role {id}, whose job posting stays off the career page.");
        return of_role(before, summary, vec![title(role)]);
    };
    let summary = format!("Publish role {id} and its job posting, so that people can apply.");
    of_role(before, summary, shown(role, posting))
}

/// Whether a role is paused.
pub(super) fn of_pause(before: &RoleAndPosting) -> Question {
    let id = before.role.id;
    let summary = match before.posting.as_ref().filter(|posting| posting.published) {
        Some(_) => format!("Pause role {id}, so that its job posting is no longer listed."),
        None => format!("Pause role {id}."),
    };
    of_role(before, summary, vec![title(&before.role)])
}

/// Whether a paused role goes on.
pub(super) fn of_resumption(before: &RoleAndPosting) -> Question {
    let RoleAndPosting { role, posting, .. } = before;
    let id = role.id;
    match posting.as_ref().filter(|posting| posting.published) {
        Some(posting) => {
            let summary = format!("Resume role {id}, so that its job posting is listed again.");
            of_role(before, summary, shown(role, posting))
        }
        None => of_role(before, format!("Resume role {id}."), vec![title(role)]),
    }
}

/// Whether a role is closed.
pub(super) fn of_closing(before: &RoleAndPosting) -> Question {
    let (id, status) = (before.role.id, before.role.status.as_str());
    let summary = format!("Close role {id}, which is {status}, and all its active applications.");
    of_role(before, summary, vec![title(&before.role)])
}

/// Whether a job posting is changed that is public before or afterwards.
pub(super) fn of_posting(role: &Role, before: &Posting, after: &Posting) -> Question {
    let id = before.id;
    let (summary, facts) = match (before.published, after.published) {
        (false, _) => (format!("Publish job posting {id}, so that people can apply."), shown(role, after)),
        (true, false) => (format!("Take job posting {id} off the career page."), vec![title(role)]),
        (true, true) => (format!("Change job posting {id}, which is public."), vec![title(role)]),
    };
    let state = format!("{} {}", role.version, before.version);
    Question { facts, state, ..Question::new(summary).about(AuditTargetKind::JobPosting, id) }
}

/// Whether a role and its job posting are created and published.
pub(super) fn of_quick_post() -> Question {
    Question::new("Create a role with a job posting, and publish both on the career page.")
}

/// Whether a text is posted to X.
pub(super) fn of_post(job_posting_id: Id, text: &str) -> Question {
    Question {
        facts: vec![fact("text", text)],
        state: text.to_owned(),
        ..Question::new(format!("Post job posting {job_posting_id} to X."))
            .about(AuditTargetKind::JobPosting, job_posting_id)
    }
}

fn of_candidate(candidate: &Candidate, summary: String, state: String) -> Question {
    Question {
        candidate: Some(candidate.profile.name.as_str().to_owned()),
        state,
        ..Question::new(summary).about(AuditTargetKind::Candidate, candidate.id)
    }
}

fn title(role: &Role) -> Fact {
    fact("role", role.content.title.as_str())
}

/// What the career page shows of a role and its job posting.
fn shown(role: &Role, posting: &Posting) -> Vec<Fact> {
    [json!(role.content), json!({ "job_posting": posting.content })]
        .iter()
        .filter_map(Value::as_object)
        .flat_map(|fields| facts::of(fields.iter()))
        .collect()
}

fn of_role(before: &RoleAndPosting, summary: String, facts: Vec<Fact>) -> Question {
    let RoleAndPosting { role, posting, .. } = before;
    let state = format!("{} {:?}", role.version, posting.as_ref().map(|posting| posting.version));
    Question { facts, state, ..Question::new(summary).about(AuditTargetKind::Role, role.id) }
}
