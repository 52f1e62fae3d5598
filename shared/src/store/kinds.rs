//! The kinds of items, by their keys: what each can be read as, and to whom it belongs.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;

use super::keys::{self, Key, Partition};
use super::{Item, KINDS, Store, StoreError, item};
use crate::id::Id;
use crate::model::{Stage, Tenant};

/// What stands for the tenant in a row of the chart.
const TENANT: &str = "{tenant}";

/// A kind of items: a row of the chart.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name, such as `role`.
    pub name: &'static str,
    /// What an item is.
    pub about: &'static str,
    /// The partition key, with what differs in braces.
    pub pk: &'static str,
    /// The range key, with what differs in braces.
    pub sk: &'static str,
    /// The key in the index `filtered`.
    pub filter: Option<&'static str>,
    /// The key in the index `by_status`.
    pub status_filter: Option<&'static str>,
    /// Whether items are deleted some time after they were written, or have a purpose only until then.
    pub expires: bool,
    /// In whose partitions the items are.
    pub owner: Owner,
    /// The owner with the identifier in the range key, if an item leads to one.
    pub leads_to: Option<Owner>,
    /// Reads an item.
    pub read: fn(Item) -> Result<(), StoreError>,
}

/// Whom a partition belongs to. Everything in it is deleted and verified with its owner. What belongs to a candidate is
/// also exported and erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The organization in one mode.
    Tenant,
    /// A candidate.
    Candidate,
    /// A role.
    Role,
    /// A voice screen.
    Screen,
    /// A webhook endpoint.
    Endpoint,
    /// A member.
    Member,
    /// Nobody alone: the items are among those of others, or are found through another item, or expire. What writes them
    /// deletes them.
    Others,
}

/// Makes the chart's rows into [`KINDS`](super::KINDS) and into functions that build keys.
///
/// A row is `name: Type, "pk"(parameters) as list, "sk"(parameters), ..., of Owner;`. It makes a function `name`, which builds a
/// key, and a function `list`, which returns the partition, or the part of a partition with the fixed beginning of the range
/// key. A parameter can have an expression that is written in its place. Rows without parameters have builders in `keys.rs`.
macro_rules! chart {
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
        pub const KINDS: &[$crate::store::Kind] = &[$(
            $crate::store::Kind {
                name: stringify!($name),
                about: concat!($($about),+),
                pk: $pk,
                sk: $sk,
                filter: $crate::store::kinds::optional!($($filter)?),
                status_filter: $crate::store::kinds::optional!($($status)?),
                expires: !stringify!($($expires)?).is_empty(),
                owner: $crate::store::Owner::$owner,
                leads_to: $crate::store::kinds::optional!($($crate::store::Owner::$led)?),
                read: $crate::store::kinds::reader!($type),
            },
        )+];
        $(
            $($crate::store::kinds::builders! {
                $name $pk ($($p: $pt $(= $pv)?),*) [$($list)?] $sk ($($s: $st $(= $sv)?),*)
            })?
            $($($crate::store::kinds::filter! { $filter_key $filter ($($f: $ft $(= $fv)?),*) })?)?
            $($($crate::store::kinds::filter! { $status_key $status ($($t: $tt $(= $tv)?),*) })?)?
        )+
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
        |item| $crate::store::roles::read_stats(item).map(drop)
    };
    (candidate_record) => {
        |item| $crate::store::maybe_erased::read_record(item).map(drop)
    };
    ($type:ident) => {
        $crate::store::kinds::read::<$type>
    };
}

macro_rules! builders {
    ($name:ident $pk:literal ($($p:ident: $pt:ty $(= $pv:expr)?),*) [$list:ident] $sk:literal $s:tt) => {
        pub(super) fn $list($($p: $pt),*) -> Partition {
            $($(let $p = $pv;)?)*
            Partition::of(format!($pk), $sk)
        }
        $crate::store::kinds::builders! { $name $pk ($($p: $pt $(= $pv)?),*) [] $sk $s }
    };
    ($name:ident $pk:literal ($($p:ident: $pt:ty $(= $pv:expr)?),*) [] $sk:literal ($($s:ident: $st:ty $(= $sv:expr)?),*)) => {
        pub(super) fn $name($($p: $pt,)* $($s: $st),*) -> Key {
            $($(let $p = $pv;)?)*
            $($(let $s = $sv;)?)*
            Key { pk: format!($pk), sk: format!($sk) }
        }
    };
}

macro_rules! filter {
    ($name:ident $key:literal ($($p:ident: $pt:ty $(= $pv:expr)?),*)) => {
        pub(super) fn $name($($p: $pt),*) -> String {
            $($(let $p = $pv;)?)*
            format!($key)
        }
    };
}

pub(super) use {builders, chart, filter, optional, reader};

pub(super) fn read<T: DeserializeOwned>(item: Item) -> Result<(), StoreError> {
    item::read::<T>(item).map(drop)
}

impl Kind {
    /// Checks that this release can read an item of the kind.
    pub fn check(&self, item: Item) -> Result<(), StoreError> {
        (self.read)(item)
    }

    /// Whether items of the kind have such keys.
    pub fn has(&self, pk: &str, sk: &str) -> bool {
        let from = if self.pk.starts_with(TENANT) { TENANT.len() } else { 0 };
        matches(self.pk, from, &general(pk)) && matches(self.sk, 0, sk)
    }

    /// The partitions of an owner in which items of the kind are.
    fn partitions(&self, tenant: Tenant, owner: Option<Id>) -> Vec<String> {
        let pk = self.pk.replace(TENANT, &tenant.to_string());
        let Some((start, rest)) = pk.split_once('{') else { return vec![pk] };
        let Some((name, end)) = rest.split_once('}') else { return vec![pk] };
        let filled = match (name.strip_suffix(":016"), owner) {
            (Some(_), Some(owner)) => format!("{start}{}{end}", keys::padded(owner)),
            _ => pk,
        };
        values(filled)
    }
}

/// A partition key, with each of the values that are known for a name in braces.
fn values(pk: String) -> Vec<String> {
    let fill = |name: &str, value: &str| pk.replace(name, value);
    if pk.contains("{stage}") {
        return Stage::ALL.map(|stage| fill("{stage}", stage.as_str())).into();
    }
    if pk.contains("{hired_or_others}") {
        return ["hired", "others"].map(|period| fill("{hired_or_others}", period)).into();
    }
    vec![pk]
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

/// A partition key with `{tenant}` in place of the tenant.
fn general(pk: &str) -> String {
    let mut parts = pk.splitn(3, '#');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(organization), Some("live" | "test"), Some(rest))
            if organization.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            format!("{TENANT}#{rest}")
        }
        _ => pk.to_owned(),
    }
}

/// Whether a key has the fixed beginning of a pattern, which ends at the first brace after `from`; or is the pattern, if
/// it has no brace.
fn matches(pattern: &str, from: usize, key: &str) -> bool {
    match pattern.char_indices().find(|(at, letter)| *at >= from && *letter == '{') {
        Some((at, _)) => key.starts_with(&pattern[..at]),
        None => key == pattern,
    }
}

#[cfg(test)]
mod tests {
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
        let of_page = ["touchpoint", "candidate_screen", "candidate_record"];
        let shared = KINDS.iter().filter(|kind| kind.pk == "{tenant}#CANDIDATE#{candidate:016}");
        for kind in shared.filter(|kind| !of_page.contains(&kind.name)) {
            assert!(kind.sk < keys::HISTORY && !kind.sk.starts_with('{'), "{}", kind.name);
        }
    }
}
