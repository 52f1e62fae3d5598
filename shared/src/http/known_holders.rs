//! The holders of credentials that this instance of a function has seen: their names never change, so they are read only
//! once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::{Day, Tenant};
use crate::store::{Holder, HolderDetails};

/// The maximum number of holders to remember. Beyond it, all are forgotten.
const MAX: usize = 1_000;

/// The known holders.
#[derive(Clone, Default)]
pub struct KnownHolders(Arc<Mutex<HashMap<(Tenant, Holder), KnownHolder>>>);

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

    fn with<T>(&self, use_them: impl FnOnce(&mut HashMap<(Tenant, Holder), KnownHolder>) -> T) -> T {
        use_them(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use crate::model::{Actor, ActorKind, Mode, Networks};

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
}
