//! Suspect forms: the signs that a program may have sent a form, and the place where such forms are kept for the members.
//!
//! The sender sees the page that every applicant sees.

use jiff::SignedDuration;
use shared::clock::Timestamp;
use shared::http::{Error, Parameters, RequestContext};
use shared::model::{ApplicationForm, ApplicationLimits, SuspectFile, SuspectForm, SuspectSign, Tenant};
use shared::providers::bucket::{Bucket, BucketError};
use shared::store::{CommitError, Transaction};

use crate::form_file::{FormFile, UNCHECKED};
use crate::job_page::PostedJob;
use crate::page_time::{self, OPENED};
use crate::resume_error::{ResumeError, unavailable};
use crate::upload_ticket::UploadTicket;

/// The hidden field that people leave empty. No password manager and no autofill knows a field of this name.
const TRAP: &str = "confirm_topic";
/// People need longer than this from the page to the form, even if their browser fills it in.
const QUICK: SignedDuration = SignedDuration::from_secs(2);
const HOUR: SignedDuration = SignedDuration::from_hours(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// The maximum number of suspect forms that are kept on a day (UTC).
const FORMS_A_DAY: u64 = 20_000;
/// The maximum number of files that are kept with them.
const FILES_A_DAY: u64 = 200;
/// What is known about a form before it is stored: its signs, and where it was counted.
pub(crate) struct Inspection<'c> {
    context: &'c RequestContext,
    tenant: Tenant,
    posting: String,
    limits: ApplicationLimits,
    signs: Vec<SuspectSign>,
    counted: Vec<(String, SignedDuration)>,
}

impl<'c> Inspection<'c> {
    /// Looks at the hidden fields.
    pub(crate) fn of(context: &'c RequestContext, job: &PostedJob, form: &Parameters) -> Self {
        let (tenant, mut signs) = (job.site.career.tenant(), Vec::new());
        if form.non_empty(TRAP).is_some() {
            signs.push(SuspectSign::Trap);
        }
        // Pages of earlier releases have no such field, and forms of programs that applicants use need none.
        if let Some(opened) = form.non_empty(OPENED) {
            match page_time::read(context, tenant, job.posting.id, opened) {
                None => signs.push(SuspectSign::ForgedTime),
                Some(time) if context.now().duration_since(time) < QUICK => signs.push(SuspectSign::Quick),
                Some(_) => {}
            }
        }
        Self {
            context,
            tenant,
            posting: job.posting.id.to_string(),
            limits: job.site.career.limits,
            signs,
            counted: Vec::new(),
        }
    }

    pub(crate) fn is_suspect(&self) -> bool {
        !self.signs.is_empty()
    }

    /// Counts the form for its address and its network. Suspect forms count, too, because each permits an upload.
    pub(crate) async fn count_sender(&mut self) -> Result<(), Error> {
        let (address, network) = (self.context.source(), self.context.wide_source());
        // What an address sends above its limit must not use up the limit of its network.
        if self.count("from address", &address, self.limits.address, HOUR).await? {
            if !self.count("from network", &network, self.limits.network, HOUR).await? {
                self.signs.push(SuspectSign::Network);
            }
        } else {
            self.signs.push(SuspectSign::Address);
        }
        Ok(())
    }

    /// Counts the form for its posting and its career site, unless it is suspect already: otherwise whoever fills in the
    /// hidden field, or exceeds the limit of an address, could make all other applicants suspects.
    pub(crate) async fn count_application(&mut self) -> Result<(), Error> {
        if self.is_suspect() {
            return Ok(());
        }
        let posting = self.posting.clone();
        let (limit, sign) = if !self.count("for posting", &posting, self.limits.posting, DAY).await? {
            (self.limits.posting, SuspectSign::Posting)
        } else if !self.count("for site", "", self.limits.site, DAY).await? {
            // The form does not become an application, so its posting has one more left when the site's limit is raised.
            if let Some((subject, window)) = self.counted.pop() {
                self.context.store().uncount_attempt(&subject, window, self.context.now()).await?;
            }
            (self.limits.site, SuspectSign::Site)
        } else {
            return Ok(());
        };
        // A metric filter counts this line for the alarm.
        tracing::warn!(tenant = %self.tenant, posting, limit, "a daily limit of applications is reached");
        self.signs.push(sign);
        Ok(())
    }

    /// Counts the form, and returns whether it is within the limit. Each organization has its own counters, which an owner
    /// can have begin again.
    async fn count(
        &mut self,
        what: &str,
        value: &str,
        limit: u32,
        window: SignedDuration,
    ) -> Result<bool, Error> {
        let since = self.limits.cleared_at.map_or(0, Timestamp::as_second);
        let subject = format!("applications to {} {what} {value} since {since}", self.tenant);
        let (store, now) = (self.context.store(), self.context.now());
        let is_within = store.count_attempt(&subject, limit.into(), window, now).await?.is_none();
        if is_within {
            self.counted.push((subject, window));
        }
        Ok(is_within)
    }

    /// Takes back what was counted, because the request runs again.
    pub(crate) async fn uncount(&self) -> Result<(), Error> {
        for (subject, window) in &self.counted {
            self.context.store().uncount_attempt(subject, *window, self.context.now()).await?;
        }
        Ok(())
    }
}

/// What was kept of a suspect form.
pub(crate) enum Kept {
    /// The form, which had no file.
    Form,
    /// The form, which had a file.
    FormWithFile {
        /// Whether the applicant reads that the file was saved. A file above the limit is dropped in silence.
        is_saved: bool,
    },
    /// Nothing, because too many forms are kept already.
    Nothing {
        /// The number of seconds until forms are kept again.
        seconds: i64,
    },
}

/// A suspect form.
pub(crate) fn form(
    context: &RequestContext,
    job: &PostedJob,
    content: ApplicationForm,
    signs: Vec<SuspectSign>,
    file: Option<SuspectFile>,
) -> SuspectForm {
    SuspectForm {
        id: context.ids().next(),
        posting_id: job.posting.id,
        role_id: job.role.id,
        received_at: context.now(),
        network: context.wide_source(),
        signs,
        content,
        file,
    }
}

/// Keeps a suspect form for the members.
pub(crate) async fn keep(
    context: &RequestContext,
    job: &PostedJob,
    ticket: &UploadTicket,
    content: ApplicationForm,
    file: Option<FormFile>,
    inspection: &Inspection<'_>,
) -> Result<Kept, Error> {
    let (tenant, now, store) = (job.site.career.tenant(), context.now(), context.store());
    let subject = format!("suspect forms of {tenant}");
    if let Some(seconds) = store.count_attempt(&subject, FORMS_A_DAY, DAY, now).await? {
        tracing::warn!(%tenant, limit = FORMS_A_DAY, "a daily limit of applications is reached");
        return Ok(Kept::Nothing { seconds });
    }
    let bucket = context.providers().resumes();
    let (mut place, mut kept) = (None, Kept::Form);
    if let (Some(file), Some(bucket)) = (file, bucket) {
        let mut is_saved = true;
        if may_keep_file(context, tenant).await? {
            let file_place = SuspectFile::new(tenant, &ticket.hash());
            // Before the form, so that no form names a file that is not there.
            is_saved = file.write(bucket, file_place.key(), now).await;
            place = is_saved.then_some(file_place);
        }
        kept = Kept::FormWithFile { is_saved };
    }
    let form = form(context, job, content, inspection.signs.clone(), place);
    let mut transaction = Transaction::new(tenant);
    transaction.insert_suspect(&form)?;
    if bucket.is_some() && form.file.is_none() {
        transaction.insert_suspect_upload(&ticket.hash(), form.id, ticket.expires_at())?;
    }
    match store.commit(transaction).await {
        Err(CommitError::Stale) => {
            store.uncount_attempt(&subject, DAY, now).await?;
            inspection.uncount().await?;
            Err(CommitError::Stale.into())
        }
        result => {
            result?;
            // A metric filter counts this line.
            tracing::info!(%tenant, posting = job.posting.id.get(), signs = ?form.signs, "a suspect form is kept");
            Ok(kept)
        }
    }
}

/// Keeps the file that was uploaded with the ticket of a suspect form. It is not checked before a member accepts the form.
pub(crate) async fn keep_uploaded(
    context: &RequestContext,
    job: &PostedJob,
    ticket: &UploadTicket,
    bucket: &Bucket,
) -> Result<(), ResumeError> {
    let (tenant, store) = (job.site.career.tenant(), context.store());
    let Some(form) = store.find_suspect_upload(tenant, &ticket.hash()).await? else { return Ok(()) };
    if !may_keep_file(context, tenant).await? {
        return Ok(());
    }
    let (query, from) = (context.query(), ticket.upload_key(job));
    let (etag, file) = (query.get("etag"), SuspectFile::new(tenant, &ticket.hash()));
    // The bucket has named the entity tag of the file that it has received.
    if !etag.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ResumeError::missing());
    }
    match bucket.keep(&from, file.key(), etag, UNCHECKED, context.now()).await {
        Ok(()) => {}
        Err(BucketError::Changed | BucketError::Refused(_)) => return Err(ResumeError::missing()),
        Err(error) => return Err(unavailable(&error)),
    }
    let mut transaction = Transaction::new(tenant);
    transaction.add_suspect_file(&ticket.hash(), form, file);
    match store.commit(transaction).await {
        // A member has accepted or discarded the form.
        Err(CommitError::Stale) => Ok(()),
        result => Ok(result?),
    }
}

async fn may_keep_file(context: &RequestContext, tenant: Tenant) -> Result<bool, Error> {
    let subject = format!("files of suspect forms of {tenant}");
    let counted = context.store().count_attempt(&subject, FILES_A_DAY, DAY, context.now()).await?;
    Ok(counted.is_none())
}
