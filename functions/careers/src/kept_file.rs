//! Resume files that wait in the bucket while the applicant corrects the form they were sent with.
//!
//! A page cannot contain a chosen file, so a form with mistakes contains a ticket for it. The file is deleted when the
//! application is received, and otherwise by the bucket, like an upload that was never attached.

use bytes::Bytes;
use jiff::SignedDuration;
use shared::http::{Error, Parameters, RequestContext};
use shared::providers::bucket::{Bucket, BucketError};
use shared::services::files::MAX_FILE;

use crate::form_file::FormFile;
use crate::job_page::PostedJob;
use crate::pages::KeptResume;
use crate::upload_ticket::{TicketKind, UploadTicket};

/// The field of the ticket.
pub(crate) const TICKET: &str = "resume_ticket";
/// The field of the file's name.
pub(crate) const NAME: &str = "resume_name";
/// The box that removes the file.
pub(crate) const REMOVE: &str = "resume_remove";
/// The maximum number of characters of a file's name that the form shows.
const MAX_NAME: usize = 100;
/// The maximum number of files that are kept from one IP address or IPv6 network within [`WINDOW`], and for all postings of
/// a career site on a day (UTC). Otherwise anybody could fill the bucket with forms that have mistakes.
const LIMIT: u64 = 100;
const WINDOW: SignedDuration = SignedDuration::from_hours(1);
const SITE_LIMIT: u64 = 5_000;
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// A file that was sent with an earlier form.
pub(crate) struct KeptFile {
    ticket: UploadTicket,
    /// The name that the form shows. It comes from the applicant and means nothing to the service.
    name: String,
    /// Whether the applicant has ticked the box that removes it.
    pub(crate) is_removed: bool,
}

/// The file that a form refers to.
pub(crate) enum EarlierFile {
    /// The form refers to none.
    None,
    /// The ticket has expired or is not one of this posting.
    Lost,
    /// The ticket is valid.
    Kept(KeptFile),
}

impl EarlierFile {
    /// Finds the file that a submitted form refers to.
    pub(crate) fn of(context: &RequestContext, job: &PostedJob, form: &Parameters) -> Self {
        let Some(text) = form.non_empty(TICKET) else { return Self::None };
        let is_removed = form.non_empty(REMOVE).is_some();
        match UploadTicket::parse(context, job, TicketKind::KeptFile, text) {
            Some(ticket) => Self::Kept(KeptFile { ticket, name: shown(form.get(NAME)), is_removed }),
            None if is_removed => Self::None,
            None => Self::Lost,
        }
    }
}

impl KeptFile {
    /// The name that the form shows.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Keeps a file for an hour. Returns `None` if too many files are kept, or if the bucket does not take it.
    pub(crate) async fn keep(
        context: &RequestContext,
        job: &PostedJob,
        bucket: &Bucket,
        file: &FormFile,
        name: &str,
    ) -> Result<Option<Self>, Error> {
        let now = context.now();
        let limits = [
            (format!("files kept from {}", context.source()), LIMIT, WINDOW),
            (format!("files kept for {}", job.site.career.tenant()), SITE_LIMIT, DAY),
        ];
        for (subject, limit, window) in limits {
            if context.store().count_attempt(&subject, limit, window, now).await?.is_some() {
                return Ok(None);
            }
        }
        let ticket = UploadTicket::new(context, job, TicketKind::KeptFile);
        let is_written = file.write(bucket, &ticket.upload_key(job, None), now).await;
        Ok(is_written.then(|| Self { ticket, name: shown(name), is_removed: false }))
    }

    /// Reads the file; `None` if it was used already.
    pub(crate) async fn read(
        &self,
        context: &RequestContext,
        job: &PostedJob,
        bucket: &Bucket,
    ) -> Result<Option<Bytes>, BucketError> {
        let found = bucket.read(&self.ticket.upload_key(job, None), MAX_FILE, context.now()).await?;
        Ok(found.map(|object| object.bytes))
    }

    /// Deletes the file, because the application has been received.
    pub(crate) async fn delete(&self, context: &RequestContext, job: &PostedJob, bucket: &Bucket) {
        if let Err(error) = bucket.delete(&self.ticket.upload_key(job, None), context.now()).await {
            tracing::warn!(trouble = %error, "a kept resume was not deleted");
        }
    }

    /// Returns what the form contains of the file.
    pub(crate) fn shown(&self) -> KeptResume<'_> {
        KeptResume { ticket: self.ticket.to_string(), name: &self.name, is_removed: self.is_removed }
    }
}

/// Returns the name as the form shows it: on one line and not too long.
fn shown(name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect();
    match name.trim() {
        "" => "resume".to_owned(),
        name => name.to_owned(),
    }
}
