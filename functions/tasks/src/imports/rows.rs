//! The rows of a part, as they are read, some at a time.

use std::collections::HashMap;

use shared::clock::Timestamp;
use shared::handlers::import_row::{ImportRow, read_line};
use shared::id::Id;
use shared::model::{ImportVerdict, RowResult};
use shared::services::imports::StoredRow;
use shared::store::SomebodyNew;

use super::worker::Worker;
use crate::TaskError;

/// The number of rows at a time.
// They have at most three claims each, and a batch of reads has room for 100 keys.
const ROWS: usize = 12;
/// The maximum length of a row that is carried out with others, in bytes.
const SHORT: usize = 8 * 1024;

/// A row that was read.
pub(super) struct ReadRow {
    pub(super) row: StoredRow,
    /// What it says, or what is wrong with it.
    pub(super) read: Result<ImportRow, Vec<String>>,
    /// Whether nobody has its address and its external id, it is the only row about its person, and it has made nothing yet.
    pub(super) is_new: bool,
}

/// These rows, some at a time.
pub(super) fn some_at_a_time(
    rows: impl IntoIterator<Item = StoredRow>,
) -> impl Iterator<Item = Vec<StoredRow>> {
    let mut rows = rows.into_iter();
    std::iter::from_fn(move || {
        Some(rows.by_ref().take(ROWS).collect::<Vec<_>>()).filter(|some| !some.is_empty())
    })
}

/// Reads a row. Fails with what is wrong with it.
pub(super) fn read(row: &StoredRow, now: Timestamp) -> Result<ImportRow, Vec<String>> {
    row.json.as_ref().map_or_else(|| Err(row.messages.clone()), |json| read_line(json, now))
}

/// Whether the rows of a person may be carried out with those of others: a short one of somebody new without files.
pub(super) fn may_be_together(rows: &[StoredRow], before: &HashMap<u64, ImportVerdict>) -> bool {
    let [row] = rows else { return false };
    let is_new = |verdict: &ImportVerdict| verdict.result == RowResult::Create && verdict.files.is_empty();
    before.get(&row.row).is_some_and(is_new) && row.json.as_ref().is_some_and(|json| json.len() <= SHORT)
}

impl Worker<'_> {
    /// Reads rows, and looks whom nobody knows; in a run, also what they have made.
    pub(super) async fn read_rows(
        &self,
        rows: Vec<StoredRow>,
        run: Option<Id>,
    ) -> Result<Vec<ReadRow>, TaskError> {
        let read_row = |row: StoredRow| {
            let read = read(&row, self.now);
            let is_new = row.same_as.is_none() && read.is_ok();
            ReadRow { row, read, is_new }
        };
        let mut rows: Vec<_> = rows.into_iter().map(read_row).collect();
        let looked_up = rows.iter().filter(|row| row.is_new).filter_map(|ReadRow { row, read, .. }| {
            let ImportRow { email, external_id, .. } = read.as_ref().ok()?;
            let row = run.map(|import| (import, row.row));
            Some(SomebodyNew { email: email.as_ref(), external_id: external_id.as_ref(), row })
        });
        let looked_up: Vec<_> = looked_up.collect();
        let unknown = self.store.are_new(self.tenant, &looked_up).await?;
        for (row, is_unknown) in rows.iter_mut().filter(|row| row.is_new).zip(unknown) {
            row.is_new = is_unknown;
        }
        Ok(rows)
    }
}
