//! Voice screens: their records, list entries, transcripts and call tasks.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::keys::{Partition, STATUS_FILTER, StatusOrResult};
use super::tasks::Task;
use super::{Item, Listed, Paging, Store, StoreError, Transaction, item, keys, recording};
use crate::id::Id;
use crate::model::{Screen, ScreenRecord, ScreenResult, ScreenStatus, TaskKind, Tenant, Turn};

/// The maximum number of bytes of a transcript in one item. DynamoDB allows 400 KB.
const PART: usize = 350 * 1024;
/// The attribute with the bytes of a part.
const BYTES: &str = "bytes";
/// The maximum number of 1 MB pages to read for one screen. A report is smaller.
const MAX_PAGES: usize = 5;

impl Transaction {
    /// Inserts a screen and its call task, and adds the screen to the role's counters. The screen may have ended already.
    pub fn insert_screen(&mut self, record: &ScreenRecord) -> Result<(), StoreError> {
        self.insert(item::write(record, keys::screen_record(self.tenant, record.screen.id), None)?);
        self.record([recording::new_screen(record)]);
        self.put_list_entries(&record.screen)?;
        self.put_call_task(record)?;
        self.add_to_counters(record.screen.role_id, &[("screens", 1)]);
        if record.screen.status == ScreenStatus::Completed {
            self.count_completed(&record.screen);
        }
        Ok(())
    }

    /// Replaces a screen. If the change completes the screen or its result, the role's counters follow.
    pub fn replace_screen(&mut self, before: &ScreenRecord, after: &ScreenRecord) -> Result<(), StoreError> {
        let (old, new) = (&before.screen, &after.screen);
        let item = |record| item::write(record, keys::screen_record(self.tenant, new.id), None);
        self.replace(&item(before)?, &item(after)?)?;
        self.record(recording::screen_changes(before, after));
        if old != new {
            self.put_list_entries(new)?;
        }
        if before.task_due != after.task_due {
            if let Some(task) = call_task(self.tenant, before) {
                self.delete_task(&task);
            }
            self.put_call_task(after)?;
        }
        if old.status != new.status && new.status == ScreenStatus::Completed {
            self.count_completed(new);
        } else if old.result != new.result {
            self.count_result(old, -1);
            self.count_result(new, 1);
        }
        Ok(())
    }

    /// Adds a completed screen to the role's counters.
    fn count_completed(&mut self, screen: &Screen) {
        let scored = i64::from(screen.scores.overall.is_some());
        let score = i64::from(screen.scores.overall.unwrap_or(0));
        let counts = [("screens_completed", 1), ("screens_scored", scored), ("score_total", score)];
        self.add_to_counters(screen.role_id, &counts);
        self.count_result(screen, 1);
    }

    /// Adds the result of a screen to the role's counters, or takes it from them with -1.
    fn count_result(&mut self, screen: &Screen, by: i64) {
        let counter = match screen.result {
            Some(ScreenResult::Passed) => "screens_passed",
            Some(ScreenResult::Failed) => "screens_failed",
            None => return,
        };
        self.add_to_counters(screen.role_id, &[(counter, by)]);
    }

    /// Writes a screen's transcript. Returns the number of its parts.
    pub fn put_transcript(&mut self, screen: Id, transcript: &[Turn]) -> Result<usize, StoreError> {
        let bytes = serde_json::to_vec(transcript)
            .map_err(|error| StoreError::Internal(format!("a transcript cannot be written: {error}")))?;
        let parts = bytes.chunks(PART);
        let count = parts.len();
        for (part, bytes) in parts.enumerate() {
            let mut item = keys::transcript_part(self.tenant, screen, part).attributes();
            item.insert(BYTES.to_owned(), AttributeValue::B(Blob::new(bytes)));
            self.overwrite(item);
        }
        Ok(count)
    }

    /// Deletes the parts of a screen's transcript.
    pub fn delete_transcript(&mut self, screen: Id, parts: usize) {
        for part in 0..parts {
            self.delete(keys::transcript_part(self.tenant, screen, part));
        }
    }

    pub(super) fn put_list_entries(&mut self, screen: &Screen) -> Result<(), StoreError> {
        let Screen { id, role_id, candidate_id, status, result, .. } = *screen;
        for (key, role) in [
            (keys::screen(self.tenant, id), None),
            (keys::role_screen(self.tenant, role_id, id), Some(role_id)),
        ] {
            let filter = keys::screens_in(self.tenant, role, status.as_str());
            let mut item = item::write(screen, key, Some(filter))?;
            if let Some(result) = result {
                let filter = keys::screens_in(self.tenant, role, result.as_str());
                item.insert(STATUS_FILTER.to_owned(), AttributeValue::S(filter));
            }
            self.put(item)?;
        }
        self.put(item::write(screen, keys::candidate_screen(self.tenant, candidate_id, id), None)?)
    }

    fn put_call_task(&mut self, record: &ScreenRecord) -> Result<(), StoreError> {
        if let Some(task) = call_task(self.tenant, record) {
            self.put(task.item()?)?;
        }
        Ok(())
    }

    fn add_to_counters(&mut self, role: Id, counts: &[(&str, i64)]) {
        let counts = counts.iter().map(|(name, by)| ((*name).to_owned(), *by));
        self.add(keys::role_stats(self.tenant, role), counts.collect());
    }
}

pub(super) fn call_task(tenant: Tenant, record: &ScreenRecord) -> Option<Task> {
    record.task_due.map(|due| Task::new(tenant, TaskKind::Call, record.screen.id, due))
}

/// The bytes of a part of a transcript.
pub(super) fn read_part(mut item: Item) -> Result<Vec<u8>, StoreError> {
    match item.remove(BYTES) {
        Some(AttributeValue::B(bytes)) => Ok(bytes.into_inner()),
        _ => Err(StoreError::Internal("a part of a transcript has no bytes".to_owned())),
    }
}

/// The transcript with these bytes. A screen without a transcript has no bytes.
pub(super) fn read_transcript(bytes: &[u8]) -> Result<Vec<Turn>, StoreError> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_slice(bytes)
        .map_err(|error| StoreError::Internal(format!("a transcript cannot be read: {error}")))
}

impl Store {
    /// The screen's record.
    pub async fn find_screen(&self, tenant: Tenant, id: Id) -> Result<Option<ScreenRecord>, StoreError> {
        self.read(keys::screen_record(tenant, id)).await?.map(item::read).transpose()
    }

    /// The screen's record and its transcript, unless the candidate was erased.
    pub async fn find_screen_page(
        &self,
        tenant: Tenant,
        id: Id,
    ) -> Result<Option<(ScreenRecord, Vec<Turn>)>, StoreError> {
        let erased = self.list_unfinished_erasures(tenant).await?;
        let found = self.read_screen(tenant, id).await?;
        Ok(found.filter(|(record, _)| !erased.contains(&record.screen.candidate_id)))
    }

    /// The screen's record and its transcript.
    pub(super) async fn read_screen(
        &self,
        tenant: Tenant,
        id: Id,
    ) -> Result<Option<(ScreenRecord, Vec<Turn>)>, StoreError> {
        let (mut record, mut parts) = (None::<ScreenRecord>, Vec::new());
        for (range, item) in self.read_partition(&keys::screen_partition(tenant, id), MAX_PAGES).await? {
            if range.starts_with(keys::TRANSCRIPT) {
                parts.push(read_part(item)?);
            } else {
                record = Some(item::read(item)?);
            }
        }
        let Some(record) = record else { return Ok(None) };
        // The partition is read backwards. It may still have parts of an earlier, longer transcript.
        parts.reverse();
        parts.truncate(record.transcript_parts);
        let transcript = read_transcript(&parts.concat())?;
        Ok(Some((record, transcript)))
    }

    /// A page of the tenant's screens, newest first, optionally only those for the role, in the state, or both. Omits the
    /// screens of erased candidates.
    pub async fn list_screens(
        &self,
        tenant: Tenant,
        role: Option<Id>,
        state: Option<StatusOrResult>,
        page: &Paging,
    ) -> Result<Listed<Screen>, StoreError> {
        self.read_screens(tenant, &keys::screens(tenant, role, state), page).await
    }

    /// A page of a candidate's screens, newest first. It is empty if the candidate was erased.
    pub async fn list_screens_of(
        &self,
        tenant: Tenant,
        candidate: Id,
        page: &Paging,
    ) -> Result<Listed<Screen>, StoreError> {
        self.read_screens(tenant, &keys::candidate_screens(tenant, candidate), page).await
    }

    /// Reads a page of a list of screens. The unfinished erasures are read first, because their task deletes the screens
    /// before it finishes.
    async fn read_screens(
        &self,
        tenant: Tenant,
        list: &Partition,
        page: &Paging,
    ) -> Result<Listed<Screen>, StoreError> {
        let erased = self.list_unfinished_erasures(tenant).await?;
        let mut screens: Listed<Screen> = self.read_page(list, page).await?;
        screens.items.retain(|screen| !erased.contains(&screen.candidate_id));
        Ok(screens)
    }
}
