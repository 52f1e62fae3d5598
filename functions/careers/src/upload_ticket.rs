//! Tickets for resume files: one permits an upload with an application, the other brings back a file that was sent with a
//! form that had mistakes.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::SignedDuration;
use sha2::{Digest, Sha256};
use shared::clock::Timestamp;
use shared::http::RequestContext;
use shared::id::Id;
use shared::model::ResumeFile;

use crate::job_page::PostedJob;

/// The lifetime of a ticket.
const LIFETIME: SignedDuration = SignedDuration::from_hours(1);
/// The length of a ticket's MAC, in bytes.
const MAC_LENGTH: usize = 16;
/// The length of a ticket's random part.
// 143 bits, so nobody can guess a key of the bucket.
const RANDOM_LENGTH: usize = 24;

/// What a ticket is good for. A ticket of one kind is no ticket of the other.
#[derive(Clone, Copy)]
pub(crate) enum TicketKind {
    /// The upload of a resume and of answers to questions after an application. The ticket does not reveal whether the
    /// application exists.
    Upload,
    /// A resume that was sent with a form that had mistakes.
    KeptFile,
}

impl TicketKind {
    const fn label(self) -> &'static str {
        match self {
            Self::Upload => "upload ticket",
            Self::KeptFile => "kept file",
        }
    }
}

/// Permission to use one file in the bucket, and one for each question that is answered with a file. A ticket is random,
/// signed, and valid for one posting and one hour.
pub(crate) struct UploadTicket {
    random: String,
    expires_at: Timestamp,
    signature: String,
}

impl UploadTicket {
    /// Creates a ticket for this posting.
    pub(crate) fn new(context: &RequestContext, job: &PostedJob, kind: TicketKind) -> Self {
        let random = context.random().token(RANDOM_LENGTH);
        let expires_at = context.now().saturating_add(LIFETIME).unwrap_or(Timestamp::MAX);
        let parts = signed_parts(job, kind, &random, expires_at);
        let mac = context.signing_keys().mac(&parts.each_ref().map(String::as_str)).unwrap_or_default();
        Self { random, expires_at, signature: URL_SAFE_NO_PAD.encode(&mac[..MAC_LENGTH]) }
    }

    /// Parses a ticket; `None` unless its signature is valid for this posting and this kind, and it has not expired.
    pub(crate) fn parse(
        context: &RequestContext,
        job: &PostedJob,
        kind: TicketKind,
        text: &str,
    ) -> Option<Self> {
        let mut parts = text.split('.');
        let (random, expires_at, signature) = (parts.next()?, parts.next()?, parts.next()?);
        let expires_at = Timestamp::from_second(expires_at.parse().ok()?).ok()?;
        let mac: [u8; MAC_LENGTH] = URL_SAFE_NO_PAD.decode(signature).ok()?.try_into().ok()?;
        let parts = signed_parts(job, kind, random, expires_at);
        let is_authentic = context.signing_keys().verify(&parts.each_ref().map(String::as_str), mac);
        let ticket = Self { random: random.to_owned(), expires_at, signature: signature.to_owned() };
        (is_authentic && context.now() < expires_at).then_some(ticket)
    }

    /// Returns the hash under which the upload is stored.
    pub(crate) fn hash(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(&self.random))
    }

    /// Returns the unguessable name under which the file is kept, or the file that answers this question.
    pub(crate) fn kept_name(&self, question: Option<Id>) -> String {
        named(&self.hash(), question)
    }

    /// Returns the time at which the ticket expires.
    pub(crate) const fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// Returns the bucket key that the file is uploaded to, or the file that answers this question.
    pub(crate) fn upload_key(&self, job: &PostedJob, question: Option<Id>) -> String {
        named(&ResumeFile::incoming_key(&job.site.career.slug, &self.random), question)
    }
}

fn named(name: &str, question: Option<Id>) -> String {
    question.map_or_else(|| name.to_owned(), |question| ResumeFile::answer_name(name, question))
}

/// What the MAC of a ticket covers.
fn signed_parts(job: &PostedJob, kind: TicketKind, random: &str, expires_at: Timestamp) -> [String; 5] {
    [
        kind.label().to_owned(),
        job.site.career.tenant().to_string(),
        job.posting.slug.to_string(),
        random.to_owned(),
        expires_at.as_second().to_string(),
    ]
}

impl fmt::Display for UploadTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.random, self.expires_at.as_second(), self.signature)
    }
}
