//! How an import comes to its files: the ZIP is awaited, matched with the rows, and what is left is assigned.

use super::Tenant;
use super::import::{Import, ImportStatus, ImportVerdict, RowResult};
use super::import_zip::{AssignedFile, ImportFilesStatus, ImportZip};
use crate::clock::{Timestamp, later};

impl Import {
    /// The key of a ZIP with files.
    pub fn zip_file(&self, tenant: Tenant, number: u32) -> String {
        format!("{}zip/{number}", self.files(tenant))
    }

    /// The key of the list of the files in a ZIP.
    pub fn zip_list(&self, tenant: Tenant, number: u32) -> String {
        format!("{}zip/{number}-files", self.files(tenant))
    }

    /// The ZIP, if it is here and the rows have its files.
    pub fn matched_zip(&self) -> Option<&ImportZip> {
        self.zip_that_is(ImportFilesStatus::Matched)
    }

    /// The ZIP, if it is awaited.
    pub fn awaited_zip(&self) -> Option<&ImportZip> {
        self.zip_that_is(ImportFilesStatus::Waiting)
    }

    /// The ZIP, if it is here and rows have yet to get its files.
    pub fn zip_to_match(&self) -> Option<&ImportZip> {
        self.zip_that_is(ImportFilesStatus::Matching)
    }

    fn zip_that_is(&self, status: ImportFilesStatus) -> Option<&ImportZip> {
        self.zip.as_ref().filter(|zip| zip.status == status)
    }

    /// The import that awaits a ZIP for another hour, in place of any that it has; `None` if it has been run or has ended. If rows
    /// have files already, they are checked again without them.
    pub fn await_zip(&self, now: Timestamp) -> Option<Self> {
        if !matches!(self.status, ImportStatus::Waiting | ImportStatus::Checking | ImportStatus::Checked) {
            return None;
        }
        let number = match &self.zip {
            Some(zip) if zip.status == ImportFilesStatus::Waiting => zip.number,
            Some(zip) => zip.number + 1,
            None => 1,
        };
        let awaited = ImportZip::new(number, ImportFilesStatus::Waiting, now);
        let had_files = self.matched_zip().is_some();
        let after = Self { zip: Some(awaited), ..self.next() };
        Some(match self.status {
            _ if had_files => after.check_again(now),
            ImportStatus::Checked => Self { task_due: Some(later(now, Self::WAIT)), ..after },
            _ => after,
        })
    }

    /// The new import, whose ZIP is here.
    #[must_use]
    pub fn with_zip(self, now: Timestamp) -> Self {
        Self { zip: Some(ImportZip::new(1, ImportFilesStatus::Matching, now)), ..self }
    }

    /// The import whose file and whose ZIP are here.
    #[must_use]
    pub fn check_with_zip(&self, now: Timestamp) -> Self {
        Self { zip: self.match_zip(now).zip, ..self.check(now) }
    }

    /// The import whose ZIP is here. A checked one is checked again after its rows have their files.
    #[must_use]
    pub fn match_zip(&self, now: Timestamp) -> Self {
        let zip = self.zip.clone().map(|zip| ImportZip { status: ImportFilesStatus::Matching, ..zip });
        let status = match self.status {
            ImportStatus::Checked => ImportStatus::Checking,
            status => status,
        };
        Self { zip, status, task_due: Some(now), ..self.next() }
    }

    /// The import whose rows have the files of the ZIP with this entity tag. All of them are checked again.
    #[must_use]
    pub fn zip_matched(&self, count: u64, matched: u64, etag: &str, now: Timestamp) -> Self {
        let (status, etag) = (ImportFilesStatus::Matched, Some(etag.to_owned()));
        let zip = self.zip.clone().map(|zip| ImportZip { status, count, matched, etag, ..zip });
        Self { zip, ..self.next() }.check_again(now)
    }

    /// The import whose ZIP cannot be used, with a sentence that says why.
    #[must_use]
    pub fn refuse_zip(&self, reason: &str, now: Timestamp) -> Self {
        let zip = self.zip.as_ref().map(|zip| zip.refused(reason));
        let after = Self { zip, ..self.next() };
        match self.status {
            ImportStatus::Checking if self.parts > 0 && self.position >= self.parts => after.turn_over(now),
            ImportStatus::Checked => Self { task_due: Some(self.run_until()), ..after },
            _ => Self { task_due: Some(now), ..after },
        }
    }

    /// The import whose rows do not get the rest of the files of the ZIP, with a sentence that says why.
    #[must_use]
    pub fn leave_files_out(self, reason: &str) -> Self {
        let zip = self.zip.map(|zip| ImportZip { reason: Some(reason.to_owned()), ..zip });
        Self { zip, ..self }
    }

    /// The import in which a member has given a file to a row; `None` if that would be too many.
    pub fn assign(&self, file: AssignedFile) -> Option<Self> {
        let zip = self.matched_zip()?;
        let others = zip.assigned.iter().copied().filter(|assigned| assigned.number != file.number);
        let assigned: Vec<_> = others.chain([file]).collect();
        (assigned.len() <= ImportZip::MAX_ASSIGNED)
            .then(|| Self { zip: Some(ImportZip { assigned, ..zip.clone() }), ..self.next() })
    }

    /// The ZIP of an import that is run: one that did not come in time is awaited no longer.
    pub(super) fn zip_at_run(&self) -> Option<ImportZip> {
        let zip = self.zip.as_ref()?;
        Some(match zip.status {
            ImportFilesStatus::Waiting => zip.refused("The import was run before it was uploaded."),
            _ => zip.clone(),
        })
    }

    /// The import whose rows have their turn in the check once more.
    fn check_again(self, now: Timestamp) -> Self {
        let status = match self.status {
            ImportStatus::Checked => ImportStatus::Checking,
            status => status,
        };
        Self { status, position: 0, done: 0, task_due: Some(now), ..self }
    }
}

impl ImportVerdict {
    /// The verdict with the files that members assigned to the row, before the import is run.
    #[must_use]
    pub fn with_assigned(self, import: &Import) -> Self {
        let zip = import.matched_zip().filter(|_| import.run_at.is_none());
        self.with_files(zip.map(|zip| zip.assigned.as_slice()).unwrap_or_default())
    }

    /// The verdict with those of these files that are assigned to the row, which then has something new.
    #[must_use]
    pub fn with_files(mut self, assigned: &[AssignedFile]) -> Self {
        let row = self.row;
        self.files.extend(assigned.iter().filter(|file| file.row == row).map(|file| file.number));
        if self.result == RowResult::Unchanged && !self.files.is_empty() {
            self.result = RowResult::Update;
        }
        self
    }
}
