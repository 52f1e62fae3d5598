//! What this instance of a function knows about credentials: their holders, whose names never change and are read only once,
//! and what the gate has last said.
//!
//! Whoever is expected to be refused is asked about before anything else is read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::SignedDuration;

use crate::clock::{Timestamp, later};
use crate::model::{Day, GateHash, Organization, Tenant};
use crate::store::{Holder, HolderDetails, PresentedCredential};

/// The maximum number of holders to remember, of organizations, and of refused credentials. Beyond it, all are forgotten.
const MAX: usize = 1_000;
/// The time for which a refused key is remembered.
const REFUSED_FOR: SignedDuration = SignedDuration::from_mins(1);

/// The known holders, and what the gate has last said about them.
#[derive(Clone, Default)]
pub struct KnownHolders {
    holders: Arc<Mutex<HashMap<(Tenant, Holder), KnownHolder>>>,
    /// The credentials that the gate has refused, and until when a key is refused without asking it again.
    refused: Arc<Mutex<HashMap<(Tenant, GateHash), Timestamp>>>,
    organizations: Arc<Mutex<HashMap<Tenant, KnownOrganization>>>,
}

/// What the gate has last said about an organization.
#[derive(Clone, Default)]
struct KnownOrganization {
    /// The organization, unless the gate has admitted no request yet.
    organization: Option<Organization>,
    /// Whether the next request is expected to be refused, because the day's quota is used up or the organization is
    /// suspended.
    refuses: bool,
}

struct KnownHolder {
    details: Arc<HolderDetails>,
    /// The last day on which a use was recorded, as far as this instance knows.
    used_on: Option<Day>,
}

impl KnownHolders {
    /// The details of a holder, if they are known.
    pub(super) fn find(&self, tenant: Tenant, holder: Holder) -> Option<Arc<HolderDetails>> {
        self.with(|known| known.get(&(tenant, holder)).map(|known| known.details.clone()))
    }

    /// Remembers a holder whose credential is valid.
    pub fn insert(&self, tenant: Tenant, holder: Holder, details: Arc<HolderDetails>) {
        self.with(|known| {
            if known.len() >= MAX && !known.contains_key(&(tenant, holder)) {
                known.clear();
            }
            let used_on = details.last_used_on;
            known.entry((tenant, holder)).or_insert(KnownHolder { details, used_on });
        });
    }

    /// Whether the holder's use on `day` still has to be recorded. It does not have to be again.
    pub(super) fn is_first_use(&self, tenant: Tenant, holder: Holder, day: Day) -> bool {
        self.with(|known| {
            let Some(known) = known.get_mut(&(tenant, holder)) else { return false };
            let is_first = known.used_on < Some(day);
            known.used_on = known.used_on.max(Some(day));
            is_first
        })
    }

    /// Remembers that the gate has refused a credential.
    pub(super) fn refuse(&self, presented: &PresentedCredential, now: Timestamp) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= MAX {
            refused.clear();
        }
        refused.insert((presented.tenant, presented.hash), later(now, REFUSED_FOR));
    }

    /// Whether the gate has refused this API key in the last minute. The gate has a key from the moment it is shown until it
    /// is revoked, and never again, so a refused one stays refused. Each of its requests would cost the organization a
    /// write, for ever if the key has no expiry. Access tokens end by themselves within an hour.
    pub(super) fn is_refused(&self, presented: &PresentedCredential, now: Timestamp) -> bool {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(presented.holder, Holder::Key(_))
            && refused.get(&(presented.tenant, presented.hash)).is_some_and(|until| now < *until)
    }

    /// Remembers that the gate has admitted a request of this organization. `refuses` says that it is expected to refuse the
    /// next one.
    pub fn admit(&self, organization: &Organization, refuses: bool) {
        let known = KnownOrganization { organization: Some(organization.clone()), refuses };
        self.know(organization.tenant(), known);
    }

    /// Remembers that the day's quota of an organization is used up.
    pub(super) fn exhaust(&self, tenant: Tenant) {
        self.know(tenant, KnownOrganization { organization: self.find_organization(tenant), refuses: true });
    }

    /// The organization as the gate has last had it. It may have changed since.
    pub(super) fn find_organization(&self, tenant: Tenant) -> Option<Organization> {
        self.known(tenant).organization
    }

    /// Whether the gate is expected to refuse the next request with this credential.
    pub(super) fn expect_refusal(&self, presented: &PresentedCredential) -> bool {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.contains_key(&(presented.tenant, presented.hash)) || self.known(presented.tenant).refuses
    }

    fn known(&self, tenant: Tenant) -> KnownOrganization {
        let known = self.organizations.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&tenant).cloned().unwrap_or_default()
    }

    fn know(&self, tenant: Tenant, organization: KnownOrganization) {
        let mut known = self.organizations.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX && !known.contains_key(&tenant) {
            known.clear();
        }
        known.insert(tenant, organization);
    }

    fn with<T>(&self, use_them: impl FnOnce(&mut HashMap<(Tenant, Holder), KnownHolder>) -> T) -> T {
        use_them(&mut self.holders.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use crate::model::{Actor, ActorKind, IndexForm, Mode, Networks, Plan, Slug};

    #[test]
    fn a_thousand_holders_are_remembered_at_once() {
        let id = |n: usize| Id::new(n as u64).unwrap();
        let tenant = Tenant { organization: id(1), mode: Mode::Live };
        let known = KnownHolders::default();
        let insert = |n| {
            let actor = Actor { kind: ActorKind::ApiKey, id: Some(id(n)), name: "x".to_owned() };
            let details =
                HolderDetails { actor, member: None, networks: Networks::default(), last_used_on: None };
            known.insert(tenant, Holder::Key(id(n)), Arc::new(details));
        };
        let is_known = |n| known.find(tenant, Holder::Key(id(n))).is_some();
        (1..=MAX).for_each(insert);
        insert(MAX);
        assert!((1..=MAX).all(is_known), "one that is known already needs no room");
        insert(MAX + 1);
        assert!(!is_known(1) && is_known(MAX + 1));
    }

    #[test]
    fn a_thousand_refused_keys_are_remembered_for_a_minute() {
        let id = |n: usize| Id::new(n as u64).unwrap();
        let [one, other] = [1, 2].map(|n| Tenant { organization: id(n), mode: Mode::Live });
        let presented = |tenant, holder, n: usize| {
            let hash = GateHash::of(&n.to_string());
            PresentedCredential { tenant, holder, hash }
        };
        let key = |n| presented(one, Holder::Key(id(n)), n);
        let known = KnownHolders::default();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-11-20T09:30:00Z");
        (1..=MAX).for_each(|n| known.refuse(&key(n), now));
        let is_refused = |n| known.is_refused(&key(n), now);
        assert!((1..=MAX).all(is_refused) && !is_refused(MAX + 1));
        assert!(!known.is_refused(&presented(other, Holder::Key(id(1)), 1), now), "of another tenant");
        assert!(known.is_refused(&key(1), at("2026-11-20T09:30:59.999Z")));
        assert!(!known.is_refused(&key(1), at("2026-11-20T09:31:00Z")));
        known.refuse(&key(MAX + 1), now);
        assert!(!is_refused(1) && is_refused(MAX + 1));
        let app = presented(one, Holder::App(id(3)), 3_000);
        known.refuse(&app, now);
        assert!(!known.is_refused(&app, now), "an access token is always looked for");
        assert!(known.expect_refusal(&app), "but nothing is read before");
        let later = at("2026-11-20T10:31:00Z");
        assert!(!known.is_refused(&key(MAX + 1), later) && known.expect_refusal(&key(MAX + 1)));
    }

    #[test]
    fn a_refusal_is_expected_until_the_gate_admits_a_request_again() {
        let id = |n: usize| Id::new(n as u64).unwrap();
        let known = KnownHolders::default();
        let organization = |n| Organization {
            id: id(n),
            mode: Mode::Live,
            slug: Slug::of("acme", ""),
            plan: Plan::Free,
            suspended: false,
            index_form: IndexForm::default(),
        };
        let presented = |n| PresentedCredential {
            tenant: organization(n).tenant(),
            holder: Holder::Key(id(9)),
            hash: GateHash::of("a"),
        };
        assert!(!known.expect_refusal(&presented(1)), "nothing is known yet");
        known.exhaust(presented(1).tenant);
        assert!(known.expect_refusal(&presented(1)) && !known.expect_refusal(&presented(2)));
        known.admit(&organization(1), false);
        assert!(!known.expect_refusal(&presented(1)));
        known.admit(&organization(1), true);
        assert!(known.expect_refusal(&presented(1)));
        known.exhaust(presented(1).tenant);
        assert_eq!(known.find_organization(presented(1).tenant), Some(organization(1)));
        (2..=MAX + 1).for_each(|n| known.admit(&organization(n), true));
        assert!(!known.expect_refusal(&presented(1)) && known.expect_refusal(&presented(MAX + 1)));
    }
}
