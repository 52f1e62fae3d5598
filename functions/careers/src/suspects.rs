//! Suspect forms: the signs that a program may have sent a form, and the place where such forms are kept for the members.
//!
//! The sender sees the page that every applicant sees.

use futures_util::future::try_join_all;
use jiff::SignedDuration;
use shared::clock::{Timestamp, later};
use shared::http::{Error, Parameters, RequestContext};
use shared::id::Id;
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

/// A limit of the forms in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// From one address.
    Address,
    /// From the network around it.
    Network,
    /// For one posting.
    Posting,
    /// For all postings of the site.
    Site,
}

/// The limits of whoever sends forms. Suspect forms count, too, because each permits an upload.
pub(crate) const SENDER: &[Limit] = &[Limit::Address, Limit::Network];
/// The limits of what becomes an application.
pub(crate) const APPLICATION: &[Limit] = &[Limit::Posting, Limit::Site];
/// All limits.
pub(crate) const EVERY: &[Limit] = &[Limit::Address, Limit::Network, Limit::Posting, Limit::Site];

/// The counter of a limit.
struct Counter {
    limit: Limit,
    subject: String,
    most: u32,
    window: SignedDuration,
}

impl Counter {
    /// What was counted, so that it can be taken back.
    fn counted(&self) -> (String, SignedDuration) {
        (self.subject.clone(), self.window)
    }
}

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
        if is_trapped(form) {
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

    /// Counts the form for these limits at the same time. What it exceeds is a sign, and whatever comes behind that is not
    /// counted: what an address sends above its limit must not use up the limit of its network, or of the posting.
    ///
    /// Behind a limit that this instance knows to be reached, nothing is counted before it is certain that the form is within
    /// it. Otherwise, what was counted too much is taken back.
    pub(crate) async fn count(&mut self, limits: &[Limit]) -> Result<(), Error> {
        let (context, now) = (self.context, self.context.now());
        let (known, counters) = (context.known_sites(), limits.iter().map(|limit| self.counter(*limit)));
        let counters: Vec<_> = counters.collect();
        let mut rest = counters.as_slice();
        while !rest.is_empty() {
            let reached = rest.iter().position(|counter| known.is_reached(&counter.subject, now));
            let (tried, behind) = rest.split_at(reached.map_or(rest.len(), |place| place + 1));
            rest = behind;
            let attempts = tried.iter().map(|Counter { subject, most, window, .. }| {
                context.store().count_attempt(subject, (*most).into(), *window, now)
            });
            let attempts = try_join_all(attempts).await?;
            let within = attempts.iter().take_while(|attempt| attempt.is_none()).count();
            self.counted.extend(tried.iter().take(within).map(Counter::counted));
            let Some(exceeded) = tried.get(within) else { continue };
            let mut too_much = Vec::new();
            for (counter, attempt) in tried.iter().zip(attempts).skip(within) {
                match attempt {
                    Some(seconds) => {
                        known.reach(&counter.subject, later(now, SignedDuration::from_secs(seconds)));
                    }
                    None => too_much.push(counter.counted()),
                }
            }
            if exceeded.limit == Limit::Site {
                // The form does not become an application, so its posting has one more left when the site's limit is raised.
                too_much.extend(self.counted.pop());
            }
            self.take_back(&too_much).await?;
            self.exceed(exceeded);
            return Ok(());
        }
        Ok(())
    }

    fn exceed(&mut self, counter: &Counter) {
        if matches!(counter.limit, Limit::Posting | Limit::Site) {
            // A metric filter counts this line for the alarm.
            tracing::warn!(
                tenant = %self.tenant,
                posting = self.posting,
                limit = counter.most,
                "a daily limit of applications is reached"
            );
        }
        self.signs.push(match counter.limit {
            Limit::Address => SuspectSign::Address,
            Limit::Network => SuspectSign::Network,
            Limit::Posting => SuspectSign::Posting,
            Limit::Site => SuspectSign::Site,
        });
    }

    /// Each organization has its own counters, which an owner can have begin again.
    fn counter(&self, limit: Limit) -> Counter {
        let limits = &self.limits;
        let (what, value, most, window) = match limit {
            Limit::Address => ("from address", self.context.source(), limits.address, HOUR),
            Limit::Network => ("from network", self.context.wide_source(), limits.network, HOUR),
            Limit::Posting => ("for posting", self.posting.clone(), limits.posting, DAY),
            Limit::Site => ("for site", String::new(), limits.site, DAY),
        };
        let since = limits.cleared_at.map_or(0, Timestamp::as_second);
        let subject = format!("applications to {} {what} {value} since {since}", self.tenant);
        Counter { limit, subject, most, window }
    }

    /// Takes back what was counted, because the request runs again.
    pub(crate) async fn uncount(&self) -> Result<(), Error> {
        self.take_back(&self.counted).await
    }

    async fn take_back(&self, counted: &[(String, SignedDuration)]) -> Result<(), Error> {
        let (store, now) = (self.context.store(), self.context.now());
        let counted = counted.iter().map(|(subject, window)| store.uncount_attempt(subject, *window, now));
        try_join_all(counted).await?;
        Ok(())
    }
}

/// Whether the hidden field is filled in, so that the form will not become an application.
pub(crate) fn is_trapped(form: &Parameters) -> bool {
    form.non_empty(TRAP).is_some()
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
    let bucket = context.providers().await.resumes();
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
    let (query, from) = (context.query(), ticket.upload_key(job, None));
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

/// Drops the file that was uploaded with the ticket of a suspect form as the answer to a question: the bucket deletes it. The
/// visitor sees what an applicant sees.
pub(crate) async fn drop_answer(
    context: &RequestContext,
    job: &PostedJob,
    ticket: &UploadTicket,
    question: Id,
    bucket: &Bucket,
) -> Result<(), ResumeError> {
    let key = ticket.upload_key(job, Some(question));
    let found = bucket.list(&key, None, context.now()).await.map_err(|error| unavailable(&error))?;
    if found.contains(&key) { Ok(()) } else { Err(ResumeError::missing()) }
}

async fn may_keep_file(context: &RequestContext, tenant: Tenant) -> Result<bool, Error> {
    let subject = format!("files of suspect forms of {tenant}");
    let counted = context.store().count_attempt(&subject, FILES_A_DAY, DAY, context.now()).await?;
    Ok(counted.is_none())
}
