//! The kinds of items, by their keys: what each can be read as, and to whom it belongs.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;

use super::api_keys::ApiKey;
use super::applications::{Applicant, Entry, ScoredApplicant, check_role_entry};
use super::candidate_records::check_application;
use super::candidates::Touchpoints;
use super::channels::CallSetting;
use super::chart::{Kind, Owner, rows};
use super::confirmations::Confirmation;
use super::deletion::DeletedOrganization;
use super::erasures::Trace;
use super::events::FeedHead;
use super::finding::{Reference, WordEntry};
use super::grants::Document;
use super::indexing::FormerWords;
use super::labels::Labelled;
use super::logos::Stored;
use super::maybe_erased::read_record;
use super::members::{MemberEmail, OwnersNotice, SecondFactorSetting};
use super::openings::PostingSlug;
use super::organizations::{Profile, Registered};
use super::partition::{Key, Partition};
use super::passkeys::Ceremony;
use super::privacy::Privacy;
use super::receipts::Receipt;
use super::recording::OutboxEntry;
use super::retention::DuePerson;
use super::role_changes::RoleChange;
use super::roles::read_stats;
use super::suspects::SuspectUpload;
use super::tasks::Task;
use super::unreadable::Quarantined;
use super::uploads::Upload;
use super::usage::UsageDay;
use super::webhooks::{Answer, DueAttempt};
use super::{Item, Store, StoreError, item};
use crate::id::Id;
#[allow(clippy::wildcard_imports, reason = "a row of the chart may name any type of the model")]
use crate::model::*;

/// Makes the rows into [`KINDS`].
macro_rules! kinds {
    ($(
        $(#[doc = $about:literal])+
        $name:ident: $type:ident,
        $pk:literal $( ($($p:ident: $pt:ty $(= $pv:expr)?),*) $(as $list:ident)? )?,
        $sk:literal $( ($($s:ident: $st:ty $(= $sv:expr)?),*) )?
        $(, filter $filter:literal $( ($($f:ident: $ft:ty $(= $fv:expr)?),*) as $filter_key:ident )?)?
        $(, status_filter $status:literal $( ($($t:ident: $tt:ty $(= $tv:expr)?),*) as $status_key:ident )?)?,
        of $owner:ident $(, leads to $led:ident)? $(, and $expires:ident)?;
    )+) => {
        /// All kinds.
        pub const KINDS: &[Kind] = &[$(
            Kind {
                name: stringify!($name),
                about: concat!($($about),+),
                pk: $pk,
                sk: $sk,
                filter: optional!($($filter)?),
                status_filter: optional!($($status)?),
                expires: !stringify!($($expires)?).is_empty(),
                owner: Owner::$owner,
                leads_to: optional!($(Owner::$led)?),
                read: reader!($type),
            },
        )+];
    };
}

macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

/// How an item is read. Counters are 0 while they are missing, and parts of a larger whole have only bytes.
macro_rules! reader {
    (counters) => {
        |_| Ok(())
    };
    (bytes) => {
        |_| Ok(())
    };
    (role_stats) => {
        |item| read_stats(item).map(drop)
    };
    (candidate_application) => {
        check_application
    };
    (candidate_record) => {
        |item| read_record(item).map(drop)
    };
    (role_entry) => {
        |item| check_role_entry(item)
    };
    ($type:ident) => {
        read::<$type>
    };
}

rows!(kinds);

fn read<T: DeserializeOwned>(item: Item) -> Result<(), StoreError> {
    item::read::<T>(item).map(drop)
}

impl Store {
    /// The kind of an item, by its key.
    pub(super) fn kind_of(&self, item: &Item) -> Result<&'static Kind, StoreError> {
        let Key { pk, sk } = Key::of(item)?;
        let kind = self.kinds().find(|kind| kind.has(&pk, &sk));
        kind.ok_or_else(|| StoreError::unreadable(&format!("{pk} {sk}"), "no kind of items has such a key"))
    }

    /// Checks that this release can read an item.
    pub(super) fn check(&self, item: Item) -> Result<(), StoreError> {
        self.kind_of(&item)?.check(item)
    }

    /// The partitions of an owner: a tenant, or what has this identifier.
    pub(super) fn partitions_of(&self, owner: Owner, tenant: Tenant, id: Option<Id>) -> Vec<Partition> {
        self.partitions(|kind| kind.owner == owner, tenant, id)
    }

    /// Those of an owner's partitions in which not everything expires.
    pub(super) fn lasting_partitions_of(
        &self,
        owner: Owner,
        tenant: Tenant,
        id: Option<Id>,
    ) -> Vec<Partition> {
        self.partitions(|kind| kind.owner == owner && !kind.expires, tenant, id)
    }

    fn partitions(&self, of: impl Fn(&Kind) -> bool, tenant: Tenant, id: Option<Id>) -> Vec<Partition> {
        let mut seen = BTreeSet::new();
        let all = self.kinds().filter(|kind| of(kind)).flat_map(|kind| kind.partitions(tenant, id));
        all.filter(|pk| seen.insert(pk.clone())).map(Partition::Table).collect()
    }

    fn kinds(&self) -> impl Iterator<Item = &'static Kind> {
        KINDS.iter().chain(self.more_kinds)
    }

    /// A handle that knows more kinds of items. What belongs to an owner is deleted, erased, exported and verified with it.
    #[must_use]
    pub fn with_kinds(self, more_kinds: &'static [Kind]) -> Self {
        Self { more_kinds, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::HISTORY;
    use super::*;
    use crate::model::Mode;

    #[test]
    fn the_partitions_of_every_owner_are_known() {
        let organization = Id::LAST;
        let tenant = Tenant { organization, mode: Mode::Live };
        for kind in KINDS.iter().filter(|kind| kind.owner != Owner::Others) {
            let partitions = kind.partitions(tenant, Some(organization));
            assert!(partitions.iter().all(|pk| !pk.contains('{')), "{}: {partitions:?}", kind.name);
            let of_tenant = kind.partitions(tenant, None).iter().all(|pk| !pk.contains('{'));
            assert_eq!(of_tenant, kind.owner == Owner::Tenant, "{}", kind.name);
        }
    }

    /// The page reads from the first touchpoint to the record, and has a place for nothing else.
    #[test]
    fn other_items_of_a_candidate_sort_before_what_the_candidates_page_reads() {
        let of_page = ["touchpoints", "candidate_screen", "candidate_application", "candidate_record"];
        let shared = KINDS.iter().filter(|kind| kind.pk == "{tenant}#CANDIDATE#{candidate:016}");
        for kind in shared.filter(|kind| !of_page.contains(&kind.name)) {
            assert!(kind.sk < HISTORY && !kind.sk.starts_with('{'), "{}", kind.name);
        }
    }
}
