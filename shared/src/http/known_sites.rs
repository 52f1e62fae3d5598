//! What this instance of a function knows about career sites: whose they are, and which limits of forms are reached.
//!
//! It only saves waiting. Whose a site is, is read with every request, and what is read beside it is read again if this
//! instance was wrong.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::Timestamp;
use crate::model::{Slug, Tenant};

/// The maximum number of sites to remember, and of reached limits. Beyond it, all are forgotten.
const MAX: usize = 1_000;

/// The known career sites and the reached limits.
#[derive(Clone, Default)]
pub struct KnownSites {
    tenants: Arc<Mutex<HashMap<Slug, Tenant>>>,
    /// Until when each limit is reached.
    reached: Arc<Mutex<HashMap<String, Timestamp>>>,
}

impl KnownSites {
    /// Whose site had this slug when it was last read.
    pub fn find(&self, slug: &Slug) -> Option<Tenant> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner).get(slug).copied()
    }

    /// Remembers whose site has this slug; `None` if there is no such site.
    pub fn remember(&self, slug: &Slug, tenant: Option<Tenant>) {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        if tenants.len() >= MAX {
            tenants.clear();
        }
        match tenant {
            Some(tenant) => tenants.insert(slug.clone(), tenant),
            None => tenants.remove(slug),
        };
    }

    /// Whether the attempts of a subject have reached their limit, as far as this instance knows.
    pub fn is_reached(&self, subject: &str, now: Timestamp) -> bool {
        let reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        reached.get(subject).is_some_and(|until| now < *until)
    }

    /// Remembers that the attempts of a subject have reached their limit until this time.
    pub fn reach(&self, subject: &str, until: Timestamp) {
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        if reached.len() >= MAX {
            reached.clear();
        }
        reached.insert(subject.to_owned(), until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use crate::model::Mode;

    #[test]
    fn a_thousand_sites_and_limits_are_remembered() {
        let known = KnownSites::default();
        let slug = |n: usize| Slug::of(&format!("site {n}"), "");
        let tenant = |n: usize| Tenant { organization: Id::new(n as u64).unwrap(), mode: Mode::Live };
        let now: Timestamp = "2026-11-20T09:30:00Z".parse().unwrap();
        let later: Timestamp = "2026-11-20T09:31:00Z".parse().unwrap();
        for n in 1..=MAX {
            known.remember(&slug(n), Some(tenant(n)));
            known.reach(&n.to_string(), later);
        }
        assert!((1..=MAX).all(|n| known.find(&slug(n)) == Some(tenant(n))));
        assert!(known.is_reached("1", now) && !known.is_reached("1", later), "until the window ends");
        known.remember(&slug(MAX + 1), Some(tenant(7)));
        known.reach("another", later);
        assert_eq!((known.find(&slug(1)), known.find(&slug(MAX + 1))), (None, Some(tenant(7))));
        assert!(!known.is_reached("1", now) && known.is_reached("another", now));
        known.remember(&slug(MAX + 1), None);
        assert_eq!(known.find(&slug(MAX + 1)), None);
    }
}
