//! The port for voice providers: the trait that every adapter implements, and its types.

use std::pin::Pin;

use jiff::SignedDuration;

use super::signature;
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{Assessment, CallState, Report, Tenant, VoiceProvider};
use crate::providers::client::{HttpClient, RequestError};
use crate::secret::Secret;

/// A provider's response, once it arrives.
pub type Pending<'p, T> = Pin<Box<dyn Future<Output = T> + Send + 'p>>;

/// What a voice provider does, as far as it concerns our own rules.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct VoiceFacts {
    /// The provider.
    pub provider: VoiceProvider,
    /// The provider's display name.
    pub title: &'static str,
    /// One sentence that tells users how the provider calls candidates.
    pub description: &'static str,
    /// Whether the provider calls a phone number.
    pub needs_phone: bool,
    /// Whether the candidate must have agreed to the call and to its transcript.
    pub needs_consent: bool,
    /// Whether the provider can schedule a call for later. If it cannot, we send the order when the call is due.
    pub schedules_calls: bool,
    /// Whether the same order can be sent again without starting a second call.
    pub accepts_repeated_orders: bool,
    /// The time to wait for a report after the time of a call, before a task checks on the call.
    pub report_timeout: SignedDuration,
}

impl VoiceFacts {
    /// When to order a call that is scheduled for `scheduled_at`. `None` means now.
    pub fn order_at(&self, scheduled_at: Option<Timestamp>, now: Timestamp) -> Timestamp {
        if self.schedules_calls { now } else { scheduled_at.unwrap_or(now) }
    }
}

/// A voice provider.
pub trait VoicePort: Send + Sync {
    /// What the provider does.
    fn facts(&self) -> &'static VoiceFacts;

    /// What conducts and assesses the conversations, as recorded with each screen.
    fn assessment(&self) -> Assessment;

    /// The keys that the provider may sign its callbacks with, the newest first.
    fn webhook_secrets(&self) -> &[Secret];

    /// Orders a call. Returns the provider's id of the call, or `None` if only the callbacks contain it.
    fn start<'p>(
        &'p self,
        client: &'p HttpClient,
        order: &'p CallOrder,
    ) -> Pending<'p, Result<Option<String>, StartError>>;

    /// Finds the calls that were ordered for this reference at about this time, by their ids.
    fn find<'p>(
        &'p self,
        client: &'p HttpClient,
        reference: &'p str,
        ordered_at: Timestamp,
    ) -> Pending<'p, Result<Vec<String>, CallError>>;

    /// Reads the report of a call from the provider; `None` until the call has ended.
    fn report<'p>(
        &'p self,
        client: &'p HttpClient,
        call_id: &'p str,
    ) -> Pending<'p, Result<Option<Report>, CallError>>;

    /// Cancels a call that has not begun. Succeeds if the provider no longer has the call.
    fn cancel<'p>(&'p self, client: &'p HttpClient, call_id: &'p str) -> Pending<'p, Result<(), CallError>>;

    /// Erases everything that the provider has stored about a call, and cancels it if it has not begun. Succeeds if the
    /// provider no longer has the call.
    fn erase<'p>(
        &'p self,
        client: &'p HttpClient,
        call: &'p CallState,
    ) -> Pending<'p, Result<ErasedCall, CallError>>;

    /// Whether the provider signed this callback within the last five minutes. `header` returns a header's value by its
    /// lower-case name.
    fn verify<'h>(&self, header: &dyn Fn(&str) -> Option<&'h str>, body: &[u8], now: Timestamp) -> bool {
        let value = |name| header(name).unwrap_or_default();
        let (signature, timestamp) = (value("x-signature"), value("x-timestamp"));
        let mut secrets = self.webhook_secrets().iter();
        secrets.any(|secret| signature::verify(secret, signature, timestamp, body, now))
    }

    /// Parses a callback's body. Returns `None` for broken JSON, and for JSON without a message or a reference.
    fn read_callback(&self, body: &[u8]) -> Option<Callback>;
}

/// A call to order from a provider.
#[derive(Clone, Debug)]
pub struct CallOrder {
    /// The tenant, for log lines.
    pub tenant: Tenant,
    /// Our opaque reference to the screen. Every callback repeats it.
    pub reference: String,
    /// The candidate.
    pub candidate_id: Id,
    /// The candidate's full name.
    pub candidate_name: String,
    /// The candidate's phone number in E.164 format, if the candidate has one.
    pub phone: Option<String>,
    /// The organization's display name.
    pub organization_name: String,
    /// The page that explains what happens to a candidate's data.
    pub privacy_url: String,
    /// The role.
    pub role_id: Id,
    /// The role's title.
    pub role_title: String,
    /// The role's description, plain text or Markdown.
    pub role_description: Option<String>,
    /// The time of the order.
    pub ordered_at: Timestamp,
    /// The earliest time of the call. `None` means now.
    pub scheduled_at: Option<Timestamp>,
    /// The URL that the provider sends its callbacks to.
    pub callback_url: String,
}

impl CallOrder {
    /// The address of the privacy page as people say it, without `https://`.
    pub(super) fn privacy_page(&self) -> &str {
        self.privacy_url.split_once("://").map_or(self.privacy_url.as_str(), |(_, address)| address)
    }
}

/// What a provider may still store about a call after its erasure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErasedCall {
    /// Nothing.
    Nothing,
    /// If the call is in progress, what is recorded when it ends.
    RestOfCall,
    /// Everything, because the id of the call is not known yet.
    Everything,
}

/// Why an order failed: a sentence for users, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The call was certainly not started.
    #[error("{0}")]
    Refused(String),
    /// The call was certainly not started, because of the account at the provider, as this status says.
    #[error("The voice provider returned status {0}")]
    Account(u16),
    /// The provider says that it has not started the call, or was not reached. It may start it later.
    #[error("{0}")]
    Busy(String),
    /// The call may have been started.
    #[error("{0}")]
    Unknown(String),
}

/// Why a request about an ordered call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The provider has no call with this id.
    #[error("The voice provider has no such call")]
    NoSuchCall,
    /// The provider's response has an error status.
    #[error("The voice provider returned status {0}")]
    Status(u16),
    /// The provider has the call, but could not delete it.
    #[error("The voice provider did not delete the call")]
    NotDeleted,
    /// The provider did not answer.
    #[error("The voice provider {0}")]
    Request(#[from] RequestError),
}

/// A provider's message about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// Our reference to the screen, from the order.
    pub reference: String,
    /// The provider's id of the call.
    pub call_id: Option<String>,
    /// The event.
    pub event: CallEvent,
}

/// An event of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallEvent {
    /// The candidate has answered.
    InProgress,
    /// The call has ended.
    Ended(Report),
    /// An event that does not change the screen.
    Other,
}
