//! Submissions: the application forms that were sent on the career page, and what they change.

use serde::{Deserialize, Serialize};

use super::application::Notes;
use super::candidate::{CandidateRecord, Name};
use super::candidate_file_kind::CandidateFileKind;
use super::consent::SubmittedConsent;
use super::contact::{Email, WebAddress};
use super::file::{CandidateFile, FileOrigin};
use super::offered::{Offered, OfferedConsent};
use super::phone::{Phone, TypedPhone};
use super::{Answer, Application, Profile, Resume, Source};
use crate::clock::{Timestamp, time_of_change};
use crate::id::Id;

/// What an applicant entered in the form on the career page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationForm {
    /// The name.
    pub name: Name,
    /// The e-mail address.
    pub email: Email,
    /// The telephone number.
    pub phone: Option<Phone>,
    /// What was typed as the telephone number, if that is not the number with its country code.
    pub phone_as_typed: Option<TypedPhone>,
    /// The URL of the resume.
    pub resume_url: Option<WebAddress>,
    /// A message from the applicant.
    pub note: Option<Notes>,
    /// The consents that the applicant gave.
    pub consents: Vec<SubmittedConsent>,
    /// The answers to the questions of the job posting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answer>,
    /// The source that the link to the page named, if the organization lists it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

impl ApplicationForm {
    /// Where the application comes from.
    pub fn source(&self) -> Source {
        self.source.clone().unwrap_or(Source::CAREER_PAGE)
    }
}

/// A submitted application form. It stays as it was sent; only files that are uploaded after it are added, and the answers that
/// they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// The identifier.
    pub id: Id,
    /// The application that the form belongs to.
    pub application_id: Id,
    /// The role.
    pub role_id: Id,
    /// What the form contained.
    #[serde(flatten)]
    pub content: ApplicationForm,
    /// The resume file that came with the form.
    pub resume_file_id: Option<Id>,
    /// When the form was sent.
    pub submitted_at: Timestamp,
}

/// A candidate's record with another submission.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// The record.
    pub record: CandidateRecord,
    /// The submission that is no longer kept.
    pub dropped: Option<Id>,
}

impl Application {
    /// The number of submissions that are kept, the newest.
    pub const MAX_SUBMISSIONS: usize = 20;

    /// Adds a submission. Returns the one that is no longer kept.
    fn add_submission(&mut self, submission: &Submission, is_known: bool) -> Option<Id> {
        self.submissions.push(submission.id);
        let is_full = self.submissions.len() > Self::MAX_SUBMISSIONS;
        let dropped = is_full.then(|| self.submissions.remove(0));
        self.resubmissions += u64::from(is_full);
        let mut offered = self.offered.take().unwrap_or_default();
        offered.consents.retain(|consent| Some(consent.submission_id) != dropped);
        if is_known {
            offered.phone = submission.content.phone.clone().or(offered.phone);
            for SubmittedConsent { purpose, .. } in &submission.content.consents {
                let purpose = *purpose;
                offered.consents.retain(|consent| consent.purpose != purpose);
                let (obtained_at, submission_id) = (submission.submitted_at, submission.id);
                offered.consents.push(OfferedConsent { purpose, obtained_at, submission_id });
            }
        }
        self.offer(offered);
        dropped
    }

    /// Replaces what is offered.
    fn offer(&mut self, offered: Offered) {
        self.offered = Some(offered).filter(|offered| !offered.is_empty());
    }
}

impl CandidateRecord {
    fn application_mut(&mut self, id: Id) -> Option<&mut Application> {
        self.applications.iter_mut().find(|application| application.id == id)
    }

    /// Adds the form with which the candidate has just applied. The form of a candidate who was known before only offers
    /// its content.
    #[must_use]
    pub fn with_first_submission(mut self, submission: &Submission, is_known: bool) -> Self {
        if let Some(application) = self.application_mut(submission.application_id) {
            application.add_submission(submission, is_known);
        }
        self.without_moot_offers()
    }

    /// Says that the application that was just added came with answers.
    #[must_use]
    pub fn with_answers(mut self, application: Id) -> Self {
        if let Some(application) = self.application_mut(application) {
            application.has_answers = true;
        }
        self
    }

    /// Adds a form with which the candidate applied again for the role.
    #[must_use]
    pub fn reapply(mut self, submission: &Submission) -> Submitted {
        let (now, mut dropped) = (submission.submitted_at, None);
        if let Some(application) = self.application_mut(submission.application_id) {
            dropped = application.add_submission(submission, true);
            application.reapplied_at = Some(application.reapplied_at.map_or(now, |earlier| earlier.max(now)));
            application.reapplied = true;
            application.updated_at = time_of_change(now, application.updated_at);
        }
        Submitted { record: self.without_moot_offers().updated(now), dropped }
    }

    /// Adds a file. It becomes the resume of its application and of the candidate, unless it came with a form that anybody
    /// can send: that is only offered.
    #[must_use]
    pub fn add_file(mut self, file: &CandidateFile, now: Timestamp) -> Self {
        let is_resume = file.kind == CandidateFileKind::Resume && file.question_id.is_none();
        let before = self.resumes();
        let application = file.application_id.and_then(|id| self.application_mut(id));
        if let Some(application) = application.filter(|_| is_resume) {
            if file.origin == FileOrigin::LaterForm {
                let offered = application.offered.take().unwrap_or_default();
                application.offer(Offered { resume_file_id: Some(file.id), ..offered });
            } else {
                application.resume_file_id = Some(file.id);
            }
        }
        if let Some(stored) = file.stored().filter(|_| file.is_own_resume()) {
            self.candidate.profile.resume = Some(Resume::File(stored.clone()));
        }
        self.with_resumes_since(&before, now)
    }

    /// The resumes of the applications and of the candidate.
    fn resumes(&self) -> (Vec<Option<Id>>, Option<Resume>) {
        let of_applications = self.applications.iter().map(|application| application.resume_file_id);
        (of_applications.collect(), self.candidate.profile.resume.clone())
    }

    /// The next version. What has another resume than `before` gets a new `updated_at`: lists do not show other files.
    fn with_resumes_since(mut self, before: &(Vec<Option<Id>>, Option<Resume>), now: Timestamp) -> Self {
        if self.resumes() == *before {
            return self.advance_version();
        }
        for (application, before) in self.applications.iter_mut().zip(&before.0) {
            if application.resume_file_id != *before {
                application.updated_at = time_of_change(now, application.updated_at);
            }
        }
        self.updated(now)
    }

    /// Removes a file. If it was the candidate's resume, the newest of the `others` is now.
    #[must_use]
    pub fn remove_file(self, file: &CandidateFile, others: &[CandidateFile], now: Timestamp) -> Self {
        let before = self.resumes();
        self.without_file(file, others).with_resumes_since(&before, now)
    }

    /// The same without the advance to the next version.
    #[must_use]
    pub(crate) fn without_file(mut self, file: &CandidateFile, others: &[CandidateFile]) -> Self {
        for application in &mut self.applications {
            application.resume_file_id = application.resume_file_id.filter(|id| *id != file.id);
            if let Some(offered) = application.offered.take() {
                let resume_file_id = offered.resume_file_id.filter(|id| *id != file.id);
                application.offer(Offered { resume_file_id, ..offered });
            }
        }
        let current = self.candidate.profile.resume.as_ref().and_then(Resume::file);
        if current.is_some() && current == file.stored() {
            let next = others.iter().filter(|other| other.id != file.id && other.is_own_resume());
            let next = next.max_by_key(|other| other.id).and_then(CandidateFile::stored);
            self.candidate.profile.resume = next.cloned().map(Resume::File);
        }
        self
    }

    /// Takes over what is offered to an application: the telephone number and this file. The consents are recorded
    /// separately.
    #[must_use]
    pub fn accept_offered(mut self, application: Id, file: Option<&CandidateFile>, now: Timestamp) -> Self {
        let Some(application) = self.application_mut(application) else { return self };
        let offered = application.offered.take().unwrap_or_default();
        if let Some(file) = file.filter(|file| application.resume_file_id != Some(file.id)) {
            application.resume_file_id = Some(file.id);
            application.updated_at = time_of_change(now, application.updated_at);
        }
        let Profile { phone, resume, .. } = &mut self.candidate.profile;
        *phone = offered.phone.or_else(|| phone.take());
        let stored = file.and_then(CandidateFile::stored).cloned();
        *resume = stored.map(Resume::File).or_else(|| resume.take());
        self.without_moot_offers().updated(now)
    }

    /// Dismisses what is offered to an application. The submissions keep it. `updated_at` stays, because no list shows it.
    #[must_use]
    pub fn dismiss_offered(mut self, application: Id) -> Self {
        if let Some(application) = self.application_mut(application) {
            application.offered = None;
        }
        self.advance_version()
    }

    /// Withdraws offers that would change nothing: the telephone number that the candidate has, and consents that are given
    /// or were withdrawn later.
    #[must_use]
    pub(super) fn without_moot_offers(mut self) -> Self {
        let phone = self.candidate.profile.phone.as_ref();
        for application in &mut self.applications {
            let Some(mut offered) = application.offered.take() else { continue };
            offered.phone = offered.phone.filter(|offered| phone != Some(offered));
            offered.consents.retain(|offered| {
                let current = self.consents.iter().find(|consent| consent.purpose == offered.purpose);
                current.is_none_or(|current| !current.granted && current.obtained_at <= offered.obtained_at)
            });
            application.offer(offered);
        }
        self
    }
}
