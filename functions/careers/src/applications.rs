//! Applications: the form that candidates send, and the page that thanks them.
//!
//! Whoever sends it learns nothing about who is known: the answer is the same for a new candidate, for one who was known
//! and for one who has applied before.

use std::sync::Arc;

use jiff::SignedDuration;
use shared::http::page::Problem;
use shared::http::{Error, Page, Parameters, Reply, Visit};
use shared::model::{
    Application, CandidateFile, Email, Happening, Name, NotApplicable, Notes, Phone, Profile, Resume, Source,
    Submission, Touchpoint, WebAddress,
};
use shared::store::{Refusal, Upload, Writes};

use crate::jobs::Found;
use crate::pages::TooMany;
use crate::resumes::{self, Ticket};

/// What touchpoints say of who did it.
pub(crate) const ACTOR: &str = "career page";

/// How many applications one address may send in an hour: a whole lecture hall can share one.
const LIMIT: u64 = 100;
const WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// Applies. What the form holds makes a new candidate, or an application of the one with this e-mail address.
pub(crate) async fn apply(visit: Arc<Visit>) -> Result<Reply<Page>, Error> {
    let found = match Found::find(&visit).await? {
        Ok(found) => found,
        Err(reply) => return Ok(reply),
    };
    let parameters = visit.form()?;
    if !found.is_open {
        return Ok(found.page(&visit, &parameters, Vec::new())?.refused(422));
    }
    let ticket = Ticket::new(&visit, &found);
    let thanks = Reply::see_other(&format!("{}/apply?ticket={ticket}", found.path()));
    let submission = match read(&parameters) {
        Ok(submission) => submission,
        Err(problems) => return Ok(found.page(&visit, &parameters, problems)?.refused(422)),
    };
    let (subject, now) = (format!("apply {}", visit.source()), visit.now());
    if let Some(seconds) = visit.store().count_attempt(&subject, LIMIT, WINDOW, now).await? {
        let page =
            TooMany { frame: found.site.frame(None), minutes: (seconds + 59) / 60, job_path: &found.path() };
        let reply = found.site.page(&page, None)?.refused(429);
        return Ok(reply.with("retry-after", seconds.to_string()));
    }
    // People do not see this field. Robots are counted, too, because a ticket lets its owner upload.
    if parameters.given("website").is_some() {
        return Ok(thanks);
    }
    let applied = submit(&visit, &found, submission, &ticket).await;
    if let Err(Error::Refused(Refusal::Stale)) = applied {
        visit.store().uncount_attempt(&subject, WINDOW, now).await?;
    }
    applied.map(|()| thanks)
}

/// Thanks for an application, and takes a résumé file. The file's own form leads here, too, once it is sent.
pub(crate) async fn received(visit: Arc<Visit>) -> Result<Reply<Page>, Error> {
    let found = match Found::find(&visit).await? {
        Ok(found) => found,
        Err(reply) => return Ok(reply),
    };
    let query = visit.query();
    match Ticket::read(&visit, &found, query.get("ticket")) {
        // The form is on the posting's page.
        None => Ok(Reply::see_other(&format!("{}#apply", found.path()))),
        Some(ticket) => resumes::receive(&visit, &found, &ticket, &query).await,
    }
}

/// Writes what was applied for. `Stale` where others were at the same candidate.
async fn submit(visit: &Visit, found: &Found, submission: Submission, ticket: &Ticket) -> Result<(), Error> {
    let (tenant, now) = (found.site.career.tenant(), visit.now());
    let known = visit.store().find_candidate_by_email(tenant, &submission.email).await?;
    let is_new = known.is_none();
    let before = known.unwrap_or_else(|| {
        let Submission { name, email, phone, resume_url, .. } = submission.clone();
        let resume = resume_url.map(Resume::Address);
        CandidateFile::new(visit.ids().next(), Profile { name, email, phone, resume }, now)
    });
    let applied =
        before.clone().apply(visit.ids().next(), found.role.id, found.role.status, Source::CareerPage, now);
    let mut file = match applied {
        Ok(file) => file,
        // A stranger must not learn of it.
        Err(NotApplicable::Applied) => return Ok(()),
        Err(NotApplicable::TooMany) => {
            tracing::warn!(candidate = before.candidate.id.get(), "a candidate has too many applications");
            return Ok(());
        }
        Err(NotApplicable::RoleNotOpen(_)) => return Err(Refusal::Stale.into()),
    };
    let mut writes = Writes::new(tenant);
    let mut happenings = Vec::new();
    if is_new {
        // It was created with the application, so that it is still in its first version.
        file.version = 1;
        writes.insert_candidate(&file)?;
        happenings.push(Happening::Created { source: Source::CareerPage });
    } else {
        writes.replace_candidate(&before, &file)?;
    }
    let application: &Application = file.applications.last().ok_or(Error::NotFound)?;
    writes.insert_application(&file.candidate, application)?;
    writes.require_role(&found.role);
    happenings.push(Happening::Applied {
        application_id: application.id,
        role_id: application.role_id,
        source: application.source,
        submission: Some(Box::new(submission)),
    });
    insert_touchpoints(visit, &mut writes, &file, happenings)?;
    if visit.providers().resumes().is_some() {
        let upload = Upload { candidate_id: file.candidate.id, is_new };
        writes.insert_upload(&ticket.hash(), upload, ticket.expires_at())?;
    }
    match visit.store().commit(writes).await {
        // Somebody with this address was faster: by now the candidate is known.
        Err(Refusal::EmailTaken) => Err(Refusal::Stale.into()),
        settled => Ok(settled?),
    }
}

/// Says in the history what has made this version of a candidate.
pub(crate) fn insert_touchpoints(
    visit: &Visit,
    writes: &mut Writes,
    file: &CandidateFile,
    happenings: impl IntoIterator<Item = Happening>,
) -> Result<(), Error> {
    let touchpoint = |happening| Touchpoint {
        id: visit.ids().next(),
        happening,
        at: visit.now(),
        actor: ACTOR.to_owned(),
    };
    let touchpoints: Vec<_> = happenings.into_iter().map(touchpoint).collect();
    Ok(writes.insert_touchpoints(file, &touchpoints)?)
}

/// What the form holds, or everything that is wrong with it.
fn read(form: &Parameters) -> Result<Submission, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut wrong = |field: &'static str, sentence: String| problems.push(Problem { field, sentence });
    let name = match Name::parse(form.get("name")) {
        Ok(Some(name)) => Some(name),
        Ok(None) => {
            wrong("name", "Enter your name.".to_owned());
            None
        }
        Err(what) => {
            wrong("name", format!("Your name {what}."));
            None
        }
    };
    let email = match form.get("email").trim() {
        "" => {
            wrong("email", "Enter your e-mail address.".to_owned());
            None
        }
        email => noted("email", "Your e-mail address", email.parse::<Email>(), &mut wrong),
    };
    let phone = match form.get("phone").trim() {
        "" => None,
        phone => noted("phone", "Your phone number", phone.parse::<Phone>(), &mut wrong),
    };
    let resume_url = match form.get("resume_url").trim() {
        "" => None,
        address => noted("resume_url", "The link to your resume", web_address(address), &mut wrong),
    };
    // A form's lines end in two characters (HTML, "constructing the form data set").
    let note = Notes::parse(&form.get("note").replace("\r\n", "\n"));
    let note = noted("note", "Your note", note, &mut wrong).flatten();
    if form.get("consent").is_empty() {
        wrong("consent", "Tick the box: without it, nobody may keep your application.".to_owned());
    }
    match (name, email) {
        (Some(name), Some(email)) if problems.is_empty() => {
            Ok(Submission { name, email, phone, resume_url, note })
        }
        _ => Err(problems),
    }
}

fn noted<T>(
    field: &'static str,
    label: &str,
    read: Result<T, String>,
    wrong: &mut impl FnMut(&'static str, String),
) -> Option<T> {
    read.map_err(|what| wrong(field, format!("{label} {what}."))).ok()
}

/// An address as people type it: the scheme may be missing.
fn web_address(typed: &str) -> Result<WebAddress, String> {
    let has_scheme = typed.split(['/', '?', '#']).next().is_some_and(|start| start.ends_with(':'));
    if has_scheme { typed.parse() } else { format!("https://{typed}").parse() }
}
