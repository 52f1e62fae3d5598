//! Voice screens: their files, the lists that they stand in, their transcripts, and the tasks of their calls.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::tasks::{Task, TaskKind};
use super::writes::number;
use super::{Failure, Listed, Page, Store, Writes, item, keys};
use crate::id::Id;
use crate::model::{Screen, ScreenFile, ScreenResult, ScreenStatus, Tenant, Turn};

/// How much of a transcript goes into one item, which may hold 400 KB.
const PART: usize = 350 * 1024;
/// The attribute of a part.
const BYTES: &str = "bytes";
/// The most pages of 1 MB that are read of one screen: more than a report can bring.
const MAX_PAGES: usize = 5;

impl Writes {
    /// A new screen, counted with the role's, and the task of its call.
    pub fn insert_screen(&mut self, file: &ScreenFile) -> Result<(), Failure> {
        self.insert(item::write(file, keys::screen_file(self.tenant, file.screen.id), None)?);
        self.list_screen(&file.screen)?;
        self.schedule(file)?;
        self.count(file.screen.role_id, &[("screens", 1)]);
        Ok(())
    }

    /// A screen in place of `before`, the version that it was made from. A completed one is counted with the role's.
    pub fn replace_screen(&mut self, before: &ScreenFile, file: &ScreenFile) -> Result<(), Failure> {
        let (old, new) = (&before.screen, &file.screen);
        self.supersede(item::write(file, keys::screen_file(self.tenant, new.id), None)?, before.version);
        if old != new {
            self.list_screen(new)?;
        }
        if before.task_due != file.task_due {
            if let Some(task) = call_task(self.tenant, before) {
                self.finish(&task);
            }
            self.schedule(file)?;
        }
        if old.status != new.status && new.status == ScreenStatus::Completed {
            let passed = u8::from(new.result == Some(ScreenResult::Passed));
            let scored = u8::from(new.scores.overall.is_some());
            let score = new.scores.overall.unwrap_or(0);
            let counts = [
                ("screens_completed", 1),
                ("screens_passed", passed),
                ("screens_scored", scored),
                ("score_total", score),
            ];
            self.count(new.role_id, &counts);
        }
        Ok(())
    }

    /// A screen's whole transcript; says in how many parts.
    pub fn put_transcript(&mut self, screen: Id, transcript: &[Turn]) -> Result<usize, Failure> {
        let bytes = serde_json::to_vec(transcript)
            .map_err(|error| Failure::Internal(format!("a transcript cannot be written: {error}")))?;
        let parts = bytes.chunks(PART);
        let count = parts.len();
        for (part, bytes) in parts.enumerate() {
            let mut item = keys::transcript_part(self.tenant, screen, part).attributes();
            item.insert(BYTES.to_owned(), AttributeValue::B(Blob::new(bytes)));
            self.put(item);
        }
        Ok(count)
    }

    fn list_screen(&mut self, screen: &Screen) -> Result<(), Failure> {
        let Screen { id, role_id, candidate_id, status, .. } = *screen;
        let filter = keys::screen_filter(self.tenant, status);
        self.put(item::write(screen, keys::screen(self.tenant, id), Some(filter))?);
        let filter = keys::role_screen_filter(self.tenant, role_id, status);
        self.put(item::write(screen, keys::role_screen(self.tenant, role_id, id), Some(filter))?);
        self.put(item::write(screen, keys::candidate_screen(self.tenant, candidate_id, id), None)?);
        Ok(())
    }

    fn schedule(&mut self, file: &ScreenFile) -> Result<(), Failure> {
        if let Some(task) = call_task(self.tenant, file) {
            self.put(task.item()?);
        }
        Ok(())
    }

    fn count(&mut self, role: Id, counts: &[(&str, u8)]) {
        const NAMES: [&str; 4] = ["#a", "#b", "#c", "#d"];
        const VALUES: [&str; 4] = [":a", ":b", ":c", ":d"];
        let expression = if counts.len() == 1 { "ADD #a :a" } else { "ADD #a :a, #b :b, #c :c, #d :d" };
        let names = NAMES.into_iter().zip(counts).map(|(name, (count, _))| (name, (*count).to_owned()));
        let values = VALUES.into_iter().zip(counts).map(|(name, (_, by))| (name, number(*by)));
        let (names, values) = (names.collect(), values.collect());
        self.update(keys::role_stats(self.tenant, role), expression, "attribute_exists(pk)", names, values);
    }
}

fn call_task(tenant: Tenant, file: &ScreenFile) -> Option<Task> {
    file.task_due.map(|due| Task::new(tenant, TaskKind::Call, file.screen.id, due))
}

impl Store {
    /// The screen's file, if the tenant has the screen.
    pub async fn find_screen(&self, tenant: Tenant, id: Id) -> Result<Option<ScreenFile>, Failure> {
        self.read(keys::screen_file(tenant, id)).await?.map(item::read).transpose()
    }

    /// The screen's file and its transcript, if the tenant has the screen.
    pub async fn find_screen_page(
        &self,
        tenant: Tenant,
        id: Id,
    ) -> Result<Option<(ScreenFile, Vec<Turn>)>, Failure> {
        let (mut file, mut parts) = (None::<ScreenFile>, Vec::new());
        for (range, mut found) in self.whole(&keys::screen_page(tenant, id), MAX_PAGES).await? {
            if range.starts_with(keys::TRANSCRIPT) {
                match found.remove(BYTES) {
                    Some(AttributeValue::B(bytes)) => parts.push(bytes.into_inner()),
                    _ => return Err(Failure::Internal("a part of a transcript has no bytes".to_owned())),
                }
            } else {
                file = Some(item::read(found)?);
            }
        }
        let Some(file) = file else { return Ok(None) };
        if file.transcript_parts == 0 {
            return Ok(Some((file, Vec::new())));
        }
        // The partition is read backwards; parts of a longer transcript before this one may still be there.
        parts.reverse();
        parts.truncate(file.transcript_parts);
        let transcript = serde_json::from_slice(&parts.concat())
            .map_err(|error| Failure::Internal(format!("a transcript cannot be read: {error}")))?;
        Ok(Some((file, transcript)))
    }

    /// The tenant's screens, newest first: those for the role, those in the status, or both.
    pub async fn list_screens(
        &self,
        tenant: Tenant,
        role: Option<Id>,
        status: Option<ScreenStatus>,
        page: &Page,
    ) -> Result<Listed<Screen>, Failure> {
        self.page(&keys::screens(tenant, role, status), page).await
    }
}
