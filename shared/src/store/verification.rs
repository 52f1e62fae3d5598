//! Checks that everything stored can be read, and that copies and counters agree with the records that they are made of.
//!
//! Copies are compared with what a new record would write, so the rules for them are in one place. A repair requires that
//! the record has not changed since it was read, so it can run while the service is in use, and can be repeated.

use super::applications::now;
use super::item::number;
use super::keys::{self, Key, Partition};
use super::list::Range;
use super::maybe_erased::{MaybeErased, read_record};
use super::{Item, Kind, MAX_BATCH, Store, StoreError, Transaction, item};
use crate::id::Id;
use crate::model::{Mode, Opening, Posting, Role, ScreenRecord, Stage, Tenant};

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The item's partition key.
    pub pk: String,
    /// The item's range key.
    pub sk: String,
    /// What is wrong.
    pub problem: String,
    /// Whether it was repaired.
    pub repaired: bool,
}

/// Checks one tenant.
struct Check<'s> {
    store: &'s Store,
    tenant: Tenant,
    /// Whether missing and different copies and counters are written again.
    rebuilds: bool,
    items: u64,
    findings: Vec<Finding>,
}

impl Store {
    /// Checks everything that a tenant has, except the audit log and what expires within days. Returns the number of items
    /// that were read, and what is wrong. With `rebuilds`, missing and different copies and counters are written again.
    /// `pause` is awaited after each page of items, and is given their number.
    pub async fn verify<P: Future<Output = ()>>(
        &self,
        tenant: Tenant,
        rebuilds: bool,
        pause: impl Fn(usize) -> P,
    ) -> Result<(u64, Vec<Finding>), StoreError> {
        let mut check = Check { store: self, tenant, rebuilds, items: 0, findings: Vec::new() };
        Box::pin(check.all(&pause)).await?;
        Ok((check.items, check.findings))
    }
}

impl Check<'_> {
    async fn all<P: Future<Output = ()>>(&mut self, pause: &impl Fn(usize) -> P) -> Result<(), StoreError> {
        let tenant = self.tenant;
        let organization = [keys::gate(tenant), keys::profile(tenant)];
        for item in self.store.read_many(organization).await? {
            self.item(&item)?;
        }
        for partition in
            keys::simple_partitions(tenant).chain([keys::erased(tenant), keys::unfinished_erasures(tenant)])
        {
            Box::pin(self.partition(&partition, pause)).await?;
        }
        for item in Box::pin(self.partition(&keys::candidates(tenant, None, None), pause)).await? {
            let id = id_of(&item)?;
            for partition in
                [keys::candidate_partition(tenant, id), keys::notes(tenant, id), keys::traces(tenant, id)]
            {
                Box::pin(self.partition(&partition, pause)).await?;
            }
            Box::pin(self.candidate(id)).await?;
        }
        for item in Box::pin(self.partition(&keys::screens(tenant, None, None), pause)).await? {
            let id = id_of(&item)?;
            Box::pin(self.partition(&keys::screen_partition(tenant, id), pause)).await?;
            Box::pin(self.screen(id)).await?;
        }
        for item in Box::pin(self.partition(&keys::roles(tenant, None), pause)).await? {
            Box::pin(self.role(item, pause)).await?;
        }
        if tenant.mode == Mode::Live {
            let organization = tenant.organization;
            for item in Box::pin(self.partition(&keys::members(organization), pause)).await? {
                let id = id_of(&item)?;
                for partition in [keys::sessions(organization, id), keys::notices(organization, id)] {
                    Box::pin(self.partition(&partition, pause)).await?;
                }
            }
        }
        Ok(())
    }

    /// Checks that the items of a partition can be read. Returns them.
    async fn partition<P: Future<Output = ()>>(
        &mut self,
        partition: &Partition,
        pause: &impl Fn(usize) -> P,
    ) -> Result<Vec<Item>, StoreError> {
        let (mut items, mut before): (Vec<Item>, Option<String>) = (Vec::new(), None);
        loop {
            let (read, next) =
                self.store.query(partition, u32::MAX, Range::Before(before.as_deref())).await?;
            pause(read.len()).await;
            for item in &read {
                self.item(item)?;
            }
            items.extend(read);
            before = next;
            if before.is_none() {
                return Ok(items);
            }
        }
    }

    /// Checks that an item can be read.
    fn item(&mut self, item: &Item) -> Result<(), StoreError> {
        self.items += 1;
        let key = Key::of(item)?;
        let problem = match Kind::of(item) {
            None => Some("no kind of items has such a key".to_owned()),
            Some(kind) => kind.check(item.clone()).err().map(|error| error.to_string()),
        };
        if let Some(problem) = problem {
            self.found(key, problem, false);
        }
        Ok(())
    }

    async fn candidate(&mut self, id: Id) -> Result<(), StoreError> {
        let Some(item) = self.store.read(keys::candidate_record(self.tenant, id)).await? else {
            self.found(keys::candidate(self.tenant, id), "its record is missing".to_owned(), false);
            return Ok(());
        };
        let Ok(MaybeErased::Present(record)) = read_record(item) else { return Ok(()) };
        let mut expected = Transaction::new(self.tenant);
        expected.insert_candidate(record.clone(), &[])?;
        let guard = |transaction: &mut Transaction| transaction.require_candidate(&record);
        Box::pin(self.copies(expected, &keys::candidate_record(self.tenant, id), guard)).await
    }

    async fn screen(&mut self, id: Id) -> Result<(), StoreError> {
        let key = keys::screen_record(self.tenant, id);
        let Some(item) = self.store.read(key.clone()).await? else {
            self.found(keys::screen(self.tenant, id), "its record is missing".to_owned(), false);
            return Ok(());
        };
        let Ok(record) = item::read::<ScreenRecord>(item) else { return Ok(()) };
        let mut expected = Transaction::new(self.tenant);
        expected.put_list_entries(&record.screen)?;
        let guard = |transaction: &mut Transaction| transaction.require(key.clone(), record.version);
        Box::pin(self.copies(expected, &key, guard)).await
    }

    async fn role<P: Future<Output = ()>>(
        &mut self,
        item: Item,
        pause: &impl Fn(usize) -> P,
    ) -> Result<(), StoreError> {
        let (tenant, id) = (self.tenant, id_of(&item)?);
        let applications =
            Box::pin(self.partition(&keys::applications(tenant, Some(id), None), pause)).await?;
        Box::pin(self.partition(&keys::candidates(tenant, Some(id), None), pause)).await?;
        Box::pin(self.partition(&keys::reapplied_applicants(tenant, id), pause)).await?;
        Box::pin(self.partition(&keys::screens(tenant, Some(id), None), pause)).await?;
        for stage in Stage::ALL {
            Box::pin(self.partition(&keys::scored_applicants(tenant, id, stage), pause)).await?;
        }
        Box::pin(self.counters(id, &applications)).await?;
        let Ok(role) = item::read::<Role>(item) else { return Ok(()) };
        let Some(link) = &role.posting else { return Ok(()) };
        let Some(posting) = self.store.read(keys::posting(tenant, link.id)).await? else {
            self.found(keys::posting(tenant, link.id), "the posting of a role is missing".to_owned(), false);
            return Ok(());
        };
        let Ok(posting) = item::read::<Posting>(posting) else { return Ok(()) };
        let mut expected = Transaction::new(tenant);
        expected.put_role_posting(&posting)?;
        if let Some(opening) = Opening::of(&role, &posting) {
            expected.put_opening(&opening)?;
        }
        let guard = |transaction: &mut Transaction| {
            transaction.require_role(&role);
            transaction.require_posting(&posting);
        };
        Box::pin(self.copies(expected, &keys::role(tenant, id), guard)).await
    }

    /// Compares the copies of a record with those that `expected` writes. `guard` requires that the record is unchanged.
    async fn copies(
        &mut self,
        expected: Transaction,
        record: &Key,
        guard: impl Fn(&mut Transaction),
    ) -> Result<(), StoreError> {
        let copies = expected.items().map(|item| Ok((Key::of(&item)?, item)));
        let copies = copies.collect::<Result<Vec<_>, StoreError>>()?;
        let copies: Vec<_> = copies.into_iter().filter(|(key, _)| key != record).collect();
        for chunk in copies.chunks(MAX_BATCH) {
            let mut stored = self.store.read_many(chunk.iter().map(|(key, _)| key.clone())).await?;
            for (key, copy) in chunk {
                let problem = match key.take_from(&mut stored) {
                    None => "the copy is missing".to_owned(),
                    Some(stored) => {
                        let mut differs: Vec<_> = copy
                            .iter()
                            .filter(|(name, value)| stored.get(*name) != Some(value))
                            .map(|(name, _)| &**name)
                            .collect();
                        if differs.is_empty() {
                            continue;
                        }
                        differs.sort_unstable();
                        format!("the copy differs from its record in {}", differs.join(", "))
                    }
                };
                let mut repaired = false;
                if self.rebuilds {
                    let mut transaction = Transaction::new(self.tenant);
                    guard(&mut transaction);
                    transaction.put(copy.clone())?;
                    repaired = Box::pin(self.store.attempt(transaction)).await?;
                }
                self.found(key.clone(), problem, repaired);
            }
        }
        Ok(())
    }

    /// Compares a role's numbers of applications in each stage with the applications.
    async fn counters(&mut self, role: Id, applications: &[Item]) -> Result<(), StoreError> {
        let key = keys::role_stats(self.tenant, role);
        let Some(stored) = self.store.read(key.clone()).await? else {
            self.found(key, "the role's counters are missing".to_owned(), false);
            return Ok(());
        };
        for stage in Stage::ALL {
            let is_in = |item: &&Item| {
                item.get("stage").and_then(|text| text.as_s().ok()).is_some_and(|text| text == stage.as_str())
            };
            let (name, counted) = (now(stage), applications.iter().filter(is_in).count());
            let known = item::count(&stored, &name);
            if known == counted as u64 {
                continue;
            }
            let mut repaired = false;
            if self.rebuilds {
                let mut transaction = Transaction::new(self.tenant);
                let names = vec![("#name", name.clone())];
                let values = vec![(":counted", number(counted as u64)), (":known", number(known))];
                let condition = if stored.contains_key(&name) {
                    "#name = :known"
                } else {
                    "attribute_not_exists(#name) AND :known = :known"
                };
                transaction.update(key.clone(), "SET #name = :counted", condition, names, values);
                repaired = Box::pin(self.store.attempt(transaction)).await?;
            }
            self.found(key.clone(), format!("{name} is {known}, but there are {counted}"), repaired);
        }
        Ok(())
    }

    fn found(&mut self, Key { pk, sk }: Key, problem: String, repaired: bool) {
        self.findings.push(Finding { pk, sk, problem, repaired });
    }
}

/// The identifier in the range key of an item.
fn id_of(item: &Item) -> Result<Id, StoreError> {
    let Key { pk, sk } = Key::of(item)?;
    let id = sk.trim_start_matches('0').parse();
    id.map_err(|_| StoreError::Unreadable(format!("{pk} {sk}: the range key is no identifier")))
}
