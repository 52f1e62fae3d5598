//! Webhook endpoints: where an organization's events are sent, and the state of the deliveries.

use std::str::FromStr;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::string_enum::string_enum;
use super::{
    Actor, AuditActor, AuditActorKind, AuditActorTerm, EndpointUrl, EventType, Tenant, Text, WebhookKeys,
};
use crate::clock::{Timestamp, later, time_of_change};
use crate::id::Id;
use crate::random::Random;
use crate::secret::Secret;
use crate::token_encryption::{DecryptionError, EncryptedToken, EncryptionKeys};

/// The description of an endpoint.
pub type EndpointDescription = Text<200>;

string_enum! {
    /// Whether events are sent to an endpoint.
    pub enum EndpointStatus {
        /// Events are sent.
        Enabled = "enabled",
        /// No events are sent.
        Disabled = "disabled",
    }
}

string_enum! {
    /// Why an endpoint is disabled.
    pub enum DisabledReason {
        /// A request or a member disabled it.
        Requested = "requested",
        /// The operator of this service disabled it.
        Operator = "operator",
        /// It answered 410.
        Gone = "gone",
        /// Its requests have failed for 120 hours.
        Failing = "failing",
    }
}

impl DisabledReason {
    /// Whether the deliveries were the reason. Then owners are told.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Gone | Self::Failing)
    }
}

/// The keys of an endpoint in their stored form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredKeys {
    /// The private parts.
    encrypted: EncryptedToken,
    /// The public key.
    pub public_key: String,
}

/// Keys that another pair has replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousKeys {
    /// The keys.
    pub keys: StoredKeys,
    /// When they stop signing.
    pub until: Timestamp,
}

/// A webhook endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookEndpoint {
    /// The identifier.
    pub id: Id,
    /// Where the events are sent.
    pub url: EndpointUrl,
    /// The organization's own words.
    pub description: Option<EndpointDescription>,
    /// Who added it; `None` if that was before this was stored.
    pub created_by: Option<Actor>,
    /// Who chose the URL, with the member behind a key or an application; `None` if that was before this was stored. Whoever
    /// ends this access is asked about the endpoint.
    pub url_chosen_by: Option<AuditActor>,
    /// The types of the events that are sent; empty for all.
    pub types: Vec<EventType>,
    /// Whether requests also have a signature with the shared secret.
    pub hmac: bool,
    /// Why the endpoint is disabled; `None` if it is enabled.
    pub disabled_reason: Option<DisabledReason>,
    /// The keys that sign.
    pub keys: StoredKeys,
    /// The keys that also sign, for a day after a rotation.
    pub previous_keys: Option<PreviousKeys>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// Grows with every change.
    pub version: u64,
}

/// The previous keys still sign, so there cannot be new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the keys were rotated less than 24 hours ago")]
pub struct RotatedRecently;

impl WebhookEndpoint {
    /// The maximum number of endpoints of a tenant.
    pub const MAX: u64 = 20;
    /// For how long the previous keys sign after a rotation.
    pub const OVERLAP: SignedDuration = SignedDuration::from_hours(24);

    /// The member who chose the URL, made the key or connected the application that did.
    pub fn member(&self) -> Option<Id> {
        self.url_chosen_by.and_then(|actor| match actor.kind {
            AuditActorKind::Member => actor.id,
            _ => actor.member,
        })
    }

    /// Whether this key or application chose the URL.
    pub fn is_chosen_by(&self, actor: AuditActorTerm) -> bool {
        self.url_chosen_by.is_some_and(|chooser| chooser.term() == actor)
    }

    /// Whether events are sent.
    pub const fn status(&self) -> EndpointStatus {
        if self.disabled_reason.is_some() { EndpointStatus::Disabled } else { EndpointStatus::Enabled }
    }

    /// Whether the endpoint wants events of this type.
    pub fn wants(&self, kind: EventType) -> bool {
        self.types.is_empty() || self.types.contains(&kind)
    }

    /// The public keys of the requests at this time, the newest first.
    pub fn public_keys(&self, now: Timestamp) -> Vec<String> {
        let previous = self.previous(now).map(|previous| previous.public_key.clone());
        [self.keys.public_key.clone()].into_iter().chain(previous).collect()
    }

    /// The keys that sign at this time, the newest first.
    pub fn signing_keys(
        &self,
        tenant: Tenant,
        sealing: &EncryptionKeys,
        now: Timestamp,
    ) -> Result<Vec<WebhookKeys>, DecryptionError> {
        let keys = [&self.keys].into_iter().chain(self.previous(now));
        keys.map(|keys| keys.decrypt(tenant, self.id, sealing)).collect()
    }

    fn previous(&self, now: Timestamp) -> Option<&StoredKeys> {
        self.previous_keys.as_ref().filter(|previous| now < previous.until).map(|previous| &previous.keys)
    }

    /// The next version, as changed at this time.
    #[must_use]
    pub fn changed(self, now: Timestamp) -> Self {
        Self { updated_at: time_of_change(now, self.updated_at), version: self.version + 1, ..self }
    }

    /// The endpoint with new keys. The current ones sign for another day.
    pub fn rotate(self, keys: StoredKeys, now: Timestamp) -> Result<Self, RotatedRecently> {
        if self.previous(now).is_some() {
            return Err(RotatedRecently);
        }
        let previous = PreviousKeys { keys: self.keys, until: later(now, Self::OVERLAP) };
        Ok(Self { keys, previous_keys: Some(previous), ..self }.changed(now))
    }

    /// The endpoint with its keys encrypted with the newest sealing key; `None` if they already are.
    pub fn reseal(
        &self,
        tenant: Tenant,
        sealing: &EncryptionKeys,
        random: &Random,
    ) -> Result<Option<Self>, DecryptionError> {
        let keys = self.keys.reencrypt(tenant, self.id, sealing, random)?;
        let previous = match &self.previous_keys {
            Some(previous) => previous.keys.reencrypt(tenant, self.id, sealing, random)?,
            None => None,
        };
        let is_current = keys.is_none() && previous.is_none();
        let mut resealed = Self { version: self.version + 1, ..self.clone() };
        if let Some(keys) = keys {
            resealed.keys = keys;
        }
        if let (Some(keys), Some(known)) = (previous, &mut resealed.previous_keys) {
            known.keys = keys;
        }
        Ok((!is_current).then_some(resealed))
    }

    /// The endpoint with another one who answers for its URL. The organization's own view of it stays the same.
    #[must_use]
    pub fn handed_over(self, to: AuditActor) -> Self {
        Self { url_chosen_by: Some(to), version: self.version + 1, ..self }
    }

    /// The disabled endpoint; `None` if it is disabled already.
    pub fn disable(self, reason: DisabledReason, now: Timestamp) -> Option<Self> {
        let is_enabled = self.disabled_reason.is_none();
        is_enabled.then(|| Self { disabled_reason: Some(reason), ..self }.changed(now))
    }
}

impl StoredKeys {
    /// The stored form of an endpoint's keys.
    pub fn encrypt(
        keys: &WebhookKeys,
        tenant: Tenant,
        endpoint: Id,
        sealing: &EncryptionKeys,
        random: &Random,
    ) -> Result<Self, DecryptionError> {
        let encrypted = sealing.encrypt(&keys.reveal(), &context(tenant, endpoint), random.bytes())?;
        Ok(Self { encrypted, public_key: keys.public_key() })
    }

    fn decrypt(
        &self,
        tenant: Tenant,
        endpoint: Id,
        sealing: &EncryptionKeys,
    ) -> Result<WebhookKeys, DecryptionError> {
        let revealed: Secret = sealing.decrypt(&self.encrypted, &context(tenant, endpoint))?;
        WebhookKeys::read(&revealed).ok_or(DecryptionError::Broken)
    }

    fn reencrypt(
        &self,
        tenant: Tenant,
        endpoint: Id,
        sealing: &EncryptionKeys,
        random: &Random,
    ) -> Result<Option<Self>, DecryptionError> {
        let renewed = sealing.reencrypt(&self.encrypted, &context(tenant, endpoint), random.bytes())?;
        Ok(renewed.map(|encrypted| Self { encrypted, public_key: self.public_key.clone() }))
    }
}

/// What the encryption of an endpoint's keys is bound to.
fn context(tenant: Tenant, endpoint: Id) -> String {
    format!("webhook {tenant} {endpoint}")
}

/// A number in the feed, or 0 for the place before the first event. It is written as a string of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedPosition(pub u64);

impl FromStr for FeedPosition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = (1..=16).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| text.parse().ok()).flatten();
        number.map(Self).ok_or_else(|| "must be a string of digits".to_owned())
    }
}

/// What is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    /// The last position that has been sent again, or the one before the first.
    pub after: u64,
    /// The last position to send again.
    pub until: u64,
}

/// How far an endpoint is, and how its requests went. It changes with every run, unlike the endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointProgress {
    /// The organization.
    pub organization: Id,
    /// The mode.
    pub mode: super::Mode,
    /// The endpoint.
    pub endpoint: Id,
    /// The last position of the feed that has become a delivery or is not wanted.
    pub after: u64,
    /// What is sent again when there is nothing new.
    pub replay: Option<Replay>,
    /// When the next attempt is due.
    pub due: Option<Timestamp>,
    /// When requests began to fail, if none has succeeded since.
    pub failing_since: Option<Timestamp>,
    /// The number of requests that failed since the last success.
    pub failures: u64,
    /// Until when a run has the endpoint to itself.
    pub leased_until: Option<Timestamp>,
    /// Grows with every change.
    pub version: u64,
}

impl EndpointProgress {
    /// The time for which requests may fail before the endpoint is disabled.
    pub const PATIENCE: SignedDuration = SignedDuration::from_hours(120);
    /// The number of failures after which only one request is sent at a time.
    const CAUTION: u64 = 10;
    /// The number of requests that are sent at a time.
    const PARALLEL: usize = 4;

    /// The progress of a new endpoint: only what follows this position is sent.
    pub const fn beginning_at(tenant: Tenant, endpoint: Id, after: u64) -> Self {
        Self {
            organization: tenant.organization,
            mode: tenant.mode,
            endpoint,
            after,
            replay: None,
            due: None,
            failing_since: None,
            failures: 0,
            leased_until: None,
            version: 1,
        }
    }

    /// The tenant.
    pub const fn tenant(&self) -> Tenant {
        Tenant { organization: self.organization, mode: self.mode }
    }

    /// The number of requests that may be sent at a time.
    pub const fn parallel(&self) -> usize {
        if self.failures >= Self::CAUTION { 1 } else { Self::PARALLEL }
    }

    /// Whether another run has the endpoint.
    pub fn is_leased(&self, now: Timestamp) -> bool {
        self.leased_until.is_some_and(|until| now < until)
    }

    /// The next version.
    #[must_use]
    pub fn next_version(self) -> Self {
        Self { version: self.version + 1, ..self }
    }

    /// Records that a request succeeded.
    pub fn succeed(&mut self) {
        (self.failing_since, self.failures) = (None, 0);
    }

    /// Records that a request failed. Returns whether the endpoint has failed for too long.
    pub fn fail(&mut self, now: Timestamp) -> bool {
        let since = *self.failing_since.get_or_insert(now);
        self.failures += 1;
        now.duration_since(since) >= Self::PATIENCE
    }

    /// Resumes at this position, without what happened while the endpoint was disabled.
    #[must_use]
    pub fn resume(self, head: u64) -> Self {
        Self { after: self.after.max(head), replay: None, failing_since: None, failures: 0, ..self }
            .next_version()
    }

    /// Sends everything after this position again, up to where the endpoint is.
    #[must_use]
    pub fn replay(self, after: u64, now: Timestamp) -> Self {
        let after = self.replay.map_or(after, |replay| replay.after.min(after));
        let replay = (after < self.after).then_some(Replay { after, until: self.after });
        Self { replay, due: Some(self.due.map_or(now, |due| due.min(now))), ..self }.next_version()
    }

    /// Makes an attempt due at this time.
    #[must_use]
    pub fn wake(self, at: Timestamp) -> Self {
        Self { due: Some(self.due.map_or(at, |due| due.min(at))), ..self }.next_version()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mode;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn tenant() -> Tenant {
        Tenant { organization: Id::new(1).unwrap(), mode: Mode::Live }
    }

    fn sealing() -> EncryptionKeys {
        EncryptionKeys::parse(&format!("1:{}", "k".repeat(32))).unwrap()
    }

    fn stored(seed: u64) -> (WebhookKeys, StoredKeys) {
        let random = Random::seeded(seed);
        let keys = WebhookKeys::generate(&random);
        let stored = StoredKeys::encrypt(&keys, tenant(), Id::new(9).unwrap(), &sealing(), &random).unwrap();
        (keys, stored)
    }

    fn endpoint() -> WebhookEndpoint {
        let now = at("2026-11-20T09:30:00Z");
        WebhookEndpoint {
            id: Id::new(9).unwrap(),
            url: "https://example.com/".parse().unwrap(),
            description: None,
            created_by: None,
            url_chosen_by: None,
            types: Vec::new(),
            hmac: true,
            disabled_reason: None,
            keys: stored(1).1,
            previous_keys: None,
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }

    #[test]
    fn old_and_new_keys_sign_for_a_day_after_a_rotation_and_a_third_pair_has_to_wait() {
        let ((old, _), (new, stored_new)) = (stored(1), stored(2));
        let rotated = endpoint().rotate(stored_new, at("2026-11-20T10:00:00Z")).unwrap();
        let public_keys = |now: &str| rotated.public_keys(at(now));
        let signing = |now: &str| {
            let keys = rotated.signing_keys(tenant(), &sealing(), at(now)).unwrap();
            keys.iter().map(WebhookKeys::secret).collect::<Vec<_>>()
        };
        assert_eq!(public_keys("2026-11-21T09:59:59Z"), [new.public_key(), old.public_key()]);
        assert_eq!(signing("2026-11-21T09:59:59Z"), [new.secret(), old.secret()]);
        assert_eq!(public_keys("2026-11-21T10:00:00Z"), [new.public_key()]);
        assert_eq!(signing("2026-11-21T10:00:00Z"), [new.secret()]);
        let third = |now: &str| rotated.clone().rotate(stored(3).1, at(now));
        assert_eq!(third("2026-11-21T09:59:59Z"), Err(RotatedRecently));
        assert_eq!(third("2026-11-21T10:00:00Z").unwrap().version, 3);
    }

    #[test]
    fn the_keys_of_one_endpoint_are_not_those_of_another() {
        let (_, keys) = stored(1);
        let other = Tenant { mode: Mode::Test, ..tenant() };
        let id = Id::new(9).unwrap();
        assert!(keys.decrypt(tenant(), id, &sealing()).is_ok());
        assert!(keys.decrypt(other, id, &sealing()).is_err());
        assert!(keys.decrypt(tenant(), Id::new(8).unwrap(), &sealing()).is_err());
        let shown = format!("{:?}", endpoint());
        assert!(!shown.contains("whsec_") && !shown.contains("whsk_"), "{shown}");
    }

    #[test]
    fn an_endpoint_is_given_up_120_hours_after_its_first_failure_since_a_success() {
        let mut progress = EndpointProgress::beginning_at(tenant(), Id::new(9).unwrap(), 5);
        assert!(!progress.fail(at("2026-11-20T09:30:00Z")));
        progress.succeed();
        assert!(!progress.fail(at("2026-11-20T10:00:00Z")));
        assert!(!progress.fail(at("2026-11-25T09:59:59Z")));
        assert!(progress.fail(at("2026-11-25T10:00:00Z")));
        assert_eq!((progress.failures, progress.parallel()), (3, 4));
        for _ in 0..7 {
            progress.fail(at("2026-11-20T10:00:00Z"));
        }
        assert_eq!((progress.failures, progress.parallel()), (10, 1));
        progress.succeed();
        assert_eq!(progress.parallel(), 4);
    }

    #[test]
    fn a_replay_ends_where_the_endpoint_is_and_a_second_one_does_not_shorten_it() {
        let now = at("2026-11-20T09:30:00Z");
        let progress = EndpointProgress::beginning_at(tenant(), Id::new(9).unwrap(), 50);
        let replay = progress.clone().replay(10, now);
        assert_eq!(replay.replay, Some(Replay { after: 10, until: 50 }));
        assert_eq!(replay.due, Some(now));
        assert_eq!(replay.replay(30, now).replay, Some(Replay { after: 10, until: 50 }));
        assert_eq!(progress.clone().replay(50, now).replay, None);
        assert_eq!(progress.resume(60).after, 60);
    }
}
