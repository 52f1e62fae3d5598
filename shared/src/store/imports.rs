//! Imports: their heads, which lists read, their parts, and what their rows have made.

use std::collections::HashSet;

use super::item::number;
use super::keys::{self, EXPIRES_AT, Key};
use super::list::Range;
use super::recording::Recorded;
use super::{Item, Listed, Paging, Store, StoreError, Task, Transaction, item};
use crate::id::Id;
use crate::model::{
    AuditAction, AuditTarget, AuditTargetKind, Email, EventData, EventType, ExternalId, Import, ImportPart,
    ImportStatus, ImportUse, ImportedRow, SubjectType, TaskKind, Tenant,
};

/// The number of parts that one query reads.
const PARTS: u32 = 500;

/// What nobody may have claimed if a row of an import is about somebody new.
#[derive(Clone, Copy, Debug)]
pub struct SomebodyNew<'r> {
    /// The address.
    pub email: Option<&'r Email>,
    /// The identifier in another system.
    pub external_id: Option<&'r ExternalId>,
    /// The import and the number of the row, once it is carried out.
    pub row: Option<(Id, u64)>,
}

impl Transaction {
    /// Inserts an import with the task that works on it.
    pub fn insert_import(&mut self, import: &Import) -> Result<(), StoreError> {
        self.insert(import_item(self.tenant, import)?);
        self.audit_import(AuditAction::ImportCreated, import);
        self.put_import_task(import)
    }

    /// Replaces an import, unless it has changed, and its task.
    pub fn replace_import(&mut self, before: &Import, after: &Import) -> Result<(), StoreError> {
        self.replace(&import_item(self.tenant, before)?, &import_item(self.tenant, after)?)?;
        if before.status != after.status {
            match after.status {
                ImportStatus::Running => self.audit_import(AuditAction::ImportRun, after),
                ImportStatus::Cancelled => self.audit_import(AuditAction::ImportCancelled, after),
                ImportStatus::Undoing => self.audit_import(AuditAction::ImportUndone, after),
                _ => {}
            }
            let of = |kind| Recorded::versioned(kind, SubjectType::Import, after.id, after.version);
            match after.status {
                ImportStatus::Done | ImportStatus::Failed | ImportStatus::Cancelled => {
                    let data = EventData::new().with("status", after.status.as_str());
                    self.record([of(EventType::ImportFinished).with(data)]);
                }
                ImportStatus::Undone => self.record([of(EventType::ImportUndone)]),
                _ => {}
            }
        }
        if before.task_due == after.task_due {
            return Ok(());
        }
        if let Some(task) = import_task(self.tenant, before) {
            self.delete_task(&task);
        }
        self.put_import_task(after)
    }

    /// Replaces how much of imports the tenant uses, unless it has changed.
    pub fn replace_import_use(&mut self, before: &ImportUse, after: &ImportUse) -> Result<(), StoreError> {
        let item = |used| item::write(used, keys::import_use(self.tenant), None);
        match before.version {
            0 => self.insert(item(after)?),
            _ => self.replace(&item(before)?, &item(after)?)?,
        }
        Ok(())
    }

    /// Stores a part of an import.
    pub fn put_import_part(&mut self, import: Id, part: &ImportPart) -> Result<(), StoreError> {
        let mut item = item::write(part, keys::import_part(self.tenant, import, part.number), None)?;
        item.insert(EXPIRES_AT.to_owned(), number(part.kept_until.as_second()));
        self.put(item)
    }

    /// Stores that a row has made something for the first time.
    pub fn insert_imported_row(&mut self, import: &Import, row: &ImportedRow) -> Result<(), StoreError> {
        self.insert(row_item(self.tenant, import, row)?);
        Ok(())
    }

    /// Replaces what a row has made, unless it has changed.
    pub fn replace_imported_row(
        &mut self,
        import: &Import,
        before: &ImportedRow,
        after: &ImportedRow,
    ) -> Result<(), StoreError> {
        self.replace(&row_item(self.tenant, import, before)?, &row_item(self.tenant, import, after)?)
    }

    fn put_import_task(&mut self, import: &Import) -> Result<(), StoreError> {
        match import_task(self.tenant, import) {
            Some(task) => self.put(task.item()?),
            None => Ok(()),
        }
    }

    fn audit_import(&mut self, action: AuditAction, import: &Import) {
        self.audit(action, Some(AuditTarget::of(AuditTargetKind::Import, import.id)));
    }
}

impl Store {
    /// An import.
    pub async fn find_import(&self, tenant: Tenant, id: Id) -> Result<Option<Import>, StoreError> {
        self.read(keys::import(tenant, id)).await?.map(item::read).transpose()
    }

    /// A page of the tenant's imports, newest first.
    pub async fn list_imports(&self, tenant: Tenant, page: &Paging) -> Result<Listed<Import>, StoreError> {
        self.read_page(&keys::imports(tenant), page).await
    }

    /// How much of imports the tenant uses.
    pub async fn find_import_use(&self, tenant: Tenant) -> Result<ImportUse, StoreError> {
        let item = self.read(keys::import_use(tenant)).await?;
        Ok(item.map(item::read).transpose()?.unwrap_or_default())
    }

    /// A part of an import.
    pub async fn find_import_part(
        &self,
        tenant: Tenant,
        import: Id,
        number: u32,
    ) -> Result<Option<ImportPart>, StoreError> {
        self.read(keys::import_part(tenant, import, number)).await?.map(item::read).transpose()
    }

    /// Some parts of an import, from this one on, in their order.
    pub async fn list_import_parts(
        &self,
        tenant: Tenant,
        import: Id,
        from: u32,
    ) -> Result<Vec<ImportPart>, StoreError> {
        let key = |number| keys::import_part(tenant, import, number).sk;
        let last = key(from.saturating_add(PARTS - 1));
        let range = Range::Between { from: &key(from), to: &last };
        let (items, _) = self.query(&keys::import_parts(tenant), PARTS, range).await?;
        let mut parts: Vec<ImportPart> = items.into_iter().map(item::read).collect::<Result<_, _>>()?;
        parts.sort_by_key(|part| part.number);
        Ok(parts)
    }

    /// What a row has made; `None` if nothing.
    pub async fn find_imported_row(
        &self,
        tenant: Tenant,
        import: Id,
        row: u64,
    ) -> Result<Option<ImportedRow>, StoreError> {
        self.read(keys::imported_row(tenant, import, row)).await?.map(item::read).transpose()
    }

    /// Whether each of these people is new: nobody has what is theirs. Together they have at most 100 claims.
    pub async fn are_new(&self, tenant: Tenant, people: &[SomebodyNew<'_>]) -> Result<Vec<bool>, StoreError> {
        let claims = people.iter().map(|SomebodyNew { email, external_id, row }| {
            let email = email.map(|email| keys::email(tenant, email));
            let external_id = external_id.map(|id| keys::external_id(tenant, id));
            let row = row.map(|(import, row)| keys::imported_row(tenant, import, row));
            [email, external_id, row].into_iter().flatten().collect::<Vec<_>>()
        });
        let claims: Vec<_> = claims.collect();
        let found = self.read_many(claims.iter().flatten().cloned()).await?;
        let found: HashSet<_> = found.iter().map(Key::of).collect::<Result<_, _>>()?;
        Ok(claims.iter().map(|claims| claims.iter().all(|claim| !found.contains(claim))).collect())
    }

    /// What the rows of a part have made, in their order.
    pub async fn list_imported_rows(
        &self,
        tenant: Tenant,
        import: Id,
        part: &ImportPart,
    ) -> Result<Vec<ImportedRow>, StoreError> {
        let key = |row| keys::imported_row(tenant, import, row).sk;
        let (mut from, last) = (key(part.first - 1), key(part.first + part.rows.saturating_sub(1)));
        let mut rows = Vec::new();
        loop {
            let range = Range::Ascending { after: &from, to: &last };
            let (items, next) = self.query(&keys::imported_rows(tenant), PARTS, range).await?;
            rows.extend(items.into_iter().map(item::read::<ImportedRow>).collect::<Result<Vec<_>, _>>()?);
            match next {
                Some(next) => from = next,
                None => return Ok(rows),
            }
        }
    }
}

fn import_task(tenant: Tenant, import: &Import) -> Option<Task> {
    Some(Task::new(tenant, TaskKind::Import, import.id, import.task_due?))
}

fn import_item(tenant: Tenant, import: &Import) -> Result<Item, StoreError> {
    item::write(import, keys::import(tenant, import.id), None)
}

fn row_item(tenant: Tenant, import: &Import, row: &ImportedRow) -> Result<Item, StoreError> {
    let mut item = item::write(row, keys::imported_row(tenant, import.id, row.row), None)?;
    // An import may be undone until long after it was run.
    let until = import.run_at.unwrap_or(import.created_at) + Import::CLAIMED;
    item.insert(EXPIRES_AT.to_owned(), number(until.as_second()));
    Ok(item)
}
