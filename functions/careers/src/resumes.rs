//! Résumé files: a candidate who has applied sends one straight to the bucket; here it is looked at, kept and noted.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use shared::http::{Error, Page, Parameters, Reply, Visit};
use shared::model::{Happening, Resume, ResumeFile};
use shared::providers::resumes::content::FileKind;
use shared::providers::resumes::{Bucket, MAX_UPLOAD, Trouble, UploadForm};
use shared::store::{Upload, Writes};
use subtle::ConstantTimeEq;

use crate::applications::insert_touchpoints;
use crate::jobs::Found;
use crate::pages::{self, Received};

/// How long a file may be sent after the application.
const LIFETIME: SignedDuration = SignedDuration::from_hours(1);
/// How long a ticket's random part is.
const RANDOM: usize = 24;

/// What entitles to send a file with an application: random, signed so that only we can make one, and good for one posting. It
/// does not say whether there is an application at all.
pub(crate) struct Ticket {
    random: String,
    expires_at: Timestamp,
    signature: String,
}

impl Ticket {
    /// A new ticket for an application to this posting.
    pub(crate) fn new(visit: &Visit, found: &Found) -> Self {
        let random = visit.random().token(RANDOM);
        let expires_at = visit.now().saturating_add(LIFETIME).unwrap_or(Timestamp::MAX);
        Self::signed(visit, found, random, expires_at)
    }

    /// The ticket of this text, if we made it for this posting and it is still good.
    pub(crate) fn read(visit: &Visit, found: &Found, text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let (random, expires_at, signature) = (parts.next()?, parts.next()?, parts.next()?);
        let expires_at = Timestamp::from_second(expires_at.parse().ok()?).ok()?;
        let ticket = Self::signed(visit, found, random.to_owned(), expires_at);
        let is_ours = bool::from(ticket.signature.as_bytes().ct_eq(signature.as_bytes()));
        (is_ours && visit.now() < expires_at).then_some(ticket)
    }

    fn signed(visit: &Visit, found: &Found, random: String, expires_at: Timestamp) -> Self {
        let (tenant, until) = (found.site.career.tenant().to_string(), expires_at.as_second().to_string());
        let parts = ["upload ticket", &tenant, found.posting.slug.as_str(), &random, &until];
        let signature = URL_SAFE_NO_PAD.encode(&visit.signing_key().mac(&parts)[..16]);
        Self { random, expires_at, signature }
    }

    /// What the table knows it by.
    pub(crate) fn hash(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(&self.random))
    }

    /// Until when it is good.
    pub(crate) const fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// Where its file is put.
    fn incoming(&self, found: &Found) -> String {
        let tenant = found.site.career.tenant();
        format!("incoming/{}/{}/{}", tenant.organization, tenant.mode.as_str(), self.random)
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.random, self.expires_at.as_second(), self.signature)
    }
}

/// Shows where a file can be sent; once it is, looks at it and keeps it.
pub(crate) async fn receive(
    visit: &Visit,
    found: &Found,
    ticket: &Ticket,
    query: &Parameters,
) -> Result<Reply<Page>, Error> {
    let path = format!("{}/apply?ticket={ticket}", found.path());
    let Some(bucket) = visit.providers().resumes() else { return page(found, None, false, None) };
    if query.given("attached").is_some() {
        return page(found, None, true, None);
    }
    let mut problem = None;
    // The bucket adds it to the address that it leads back to.
    if query.given("etag").is_some() {
        match keep(visit, found, ticket, bucket).await {
            Ok(()) => return Ok(Reply::see_other(&format!("{path}&attached=yes"))),
            Err(NotKept::Because(sentence)) => problem = Some(sentence.to_owned()),
            Err(NotKept::Failed(error)) => return Err(error),
        }
    }
    let form = bucket.upload_form(&ticket.incoming(found), &found.site.address(&path), visit.now()).await;
    let form = form.map_err(|trouble| tracing::error!(%trouble, "no form for a résumé")).ok();
    let status = if problem.is_some() { 422 } else { 200 };
    Ok(page(found, form, false, problem)?.refused(status))
}

/// Why a file is not kept.
enum NotKept {
    Because(&'static str),
    Failed(Error),
}

impl<E: Into<Error>> From<E> for NotKept {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Keeps what was sent with this ticket, if it is a résumé, and notes it with the candidate: a new candidate's résumé it is,
/// of one who was known before only the history tells.
async fn keep(visit: &Visit, found: &Found, ticket: &Ticket, bucket: &Bucket) -> Result<(), NotKept> {
    let (tenant, now) = (found.site.career.tenant(), visit.now());
    let incoming = ticket.incoming(found);
    let object = match bucket.read(&incoming, MAX_UPLOAD, now).await {
        Ok(Some(object)) => object,
        Ok(None) => return Err(NotKept::Because("The file has not arrived. Send it again.")),
        Err(trouble) => return Err(NotKept::Because(unreachable(&trouble))),
    };
    let Some(kind) = FileKind::of(&object.bytes) else {
        return Err(NotKept::Because("This is no PDF, DOC, DOCX, ODT or plain text file. Send another one."));
    };
    let Some(upload) = visit.store().find_upload(tenant, &ticket.hash()).await? else { return Ok(()) };
    let file = ResumeFile::new(tenant, &ticket.hash(), kind.extension());
    match bucket.keep(&incoming, file.key(), &object.etag, kind.media_type(), now).await {
        Ok(()) => {}
        Err(Trouble::Changed) => return Err(NotKept::Because("The file has changed. Send it again.")),
        Err(trouble) => return Err(NotKept::Because(unreachable(&trouble))),
    }
    let Upload { candidate_id, is_new } = upload;
    let Some(before) = visit.store().find_candidate(tenant, candidate_id).await? else { return Ok(()) };
    let resume = Resume::File(file);
    let mut profile = before.candidate.profile.clone();
    let mut fields = Vec::new();
    if is_new {
        profile.resume = Some(resume.clone());
        fields.push("resume_url".to_owned());
    }
    let after = before.clone().edit(profile, now);
    let mut writes = Writes::new(tenant);
    writes.replace_candidate(&before, &after)?;
    writes.finish_upload(&ticket.hash());
    let updated = Happening::Updated { fields, resume: Some(resume) };
    insert_touchpoints(visit, &mut writes, &after, [updated])?;
    Ok(visit.store().commit(writes).await?)
}

fn unreachable(trouble: &Trouble) -> &'static str {
    tracing::error!(%trouble, "a résumé cannot be kept");
    "The file cannot be taken at the moment. Your application has arrived; send the file again in a minute."
}

fn page(
    found: &Found,
    form: Option<UploadForm>,
    is_attached: bool,
    problem: Option<String>,
) -> Result<Reply<Page>, Error> {
    let origin = form.as_ref().map(|form| form.origin.clone());
    let received = Received {
        frame: found.site.frame(None),
        title: found.posting.content.title.as_str(),
        job_path: &found.path(),
        upload: form.map(|form| pages::Upload { action: form.action, fields: form.fields }),
        is_attached,
        problem,
    };
    found.site.page(&received, origin.as_deref())
}
