//! The ZIP with files of an import: its directory is read in parts of the object, and one entry at a time is in memory.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::Ordering;

use futures_util::stream::{self, StreamExt};
use import_files::{Archive, ArchiveRefusal, Claimant, Owners, bytes_with, unpack};
use shared::clock::Timestamp;
use shared::handlers::import_row::{ImportFile, read_line};
use shared::model::{
    CandidateFile, CandidateFileKind, Email, ExternalId, FileName, FileOrigin, Import, ImportedFile,
    ImportedRow, Tenant, ZippedFile, giving_way_to_team,
};
use shared::providers::bucket::{Bucket, BucketError, Found};
use shared::services::Author;
use shared::services::files::{self, CheckedFile, kept};
use shared::services::imports::{StoredRow, rows, write_lines, zipped_files};
use shared::store::{CommitError, MaybeErased, Transaction, UploadTrace};
use tokio::runtime::Handle;

use super::row_files::RowFiles;
use super::running::Draft;
use super::worker::Worker;
use crate::{Job, MAX_ATTEMPTS, TaskError};

/// The number of bytes of the directory that are read at a time.
const WINDOW: usize = 1024 * 1024;
/// The number of bytes at the end of a ZIP that have what says where its directory is.
const TAIL: u64 = 128 * 1024;
/// The number of parts whose rows are read at a time.
const PARTS: usize = 4;
/// The length of the unguessable name of a file in the bucket.
const NAME_LENGTH: usize = 24;
/// The reason of a ZIP that never came.
const NOT_UPLOADED: &str = "No file was uploaded in time.";
/// Why somebody's file is left out.
const TOO_MANY: &str = "A candidate has at most 20 files that the team adds";
const DAMAGED: &str = "It is damaged in the ZIP file, or that is gone";
/// The reason of a ZIP that is gone before its files were given to rows.
const GONE: &str = "The file is gone. Send it again.";
/// Why the rest of the files is left out.
const REPLACED: &str = "The ZIP file was replaced after its files were given to rows. Import the rows again with it: only the files \
                        are added then.";

impl Job {
    /// Looks whether the ZIP of a checked import was uploaded. Returns the import as it is then; `None` if it waits for nothing but
    /// the decision to run it.
    pub(super) async fn look_for_zip(
        &self,
        import: &Import,
        bucket: &Bucket,
        tenant: Tenant,
    ) -> Result<Option<Import>, TaskError> {
        let now = self.now;
        let Some(zip) = import.awaited_zip().filter(|_| now < import.run_until()) else { return Ok(None) };
        Ok(Some(if bucket.has(&import.zip_file(tenant, zip.number), now).await? {
            import.match_zip(now)
        } else if now >= zip.until {
            import.refuse_zip(NOT_UPLOADED, now)
        } else {
            import.wait(now)
        }))
    }
}

/// The keys of all ZIPs of an import, and of their lists.
pub(super) fn keys(import: &Import, tenant: Tenant) -> impl Iterator<Item = String> {
    let last = import.zip.as_ref().map_or(0, |zip| zip.number);
    (1..=last).flat_map(move |number| [import.zip_file(tenant, number), import.zip_list(tenant, number)])
}

impl Worker<'_> {
    /// The files that the rows have. They are read once.
    pub(super) async fn row_files(&self) -> Result<&RowFiles, TaskError> {
        let Worker { bucket, import, tenant, now, .. } = self;
        let read = async || Ok(RowFiles::of(zipped_files(bucket, import, *tenant, *now).await?));
        self.files.get_or_try_init(read).await
    }

    /// The import after a turn, which says so if the ZIP is another one than that whose files were given to rows.
    pub(super) fn with_replaced_zip(&self, after: Import) -> Import {
        let is_replaced = |files: &RowFiles| files.is_replaced.load(Ordering::Relaxed);
        if self.files.get().is_some_and(is_replaced) { after.leave_files_out(REPLACED) } else { after }
    }

    /// Reads the directory of the ZIP, and gives its files to rows. Returns the import as it is then.
    pub(super) async fn match_zip(&self) -> Result<Import, TaskError> {
        let Worker { bucket, import, tenant, now, .. } = self;
        let Some(zip) = import.zip_to_match() else { return Ok(import.wait(*now)) };
        let key = import.zip_file(*tenant, zip.number);
        let Some(found) = bucket.find(&key, *now).await? else { return Ok(import.refuse_zip(GONE, *now)) };
        let archive = match self.read_directory(key, &found).await {
            Ok(Ok(archive)) => archive,
            Ok(Err(refusal)) => return Ok(import.refuse_zip(&format!("{refusal}."), *now)),
            // It was uploaded once more meanwhile.
            Err(TaskError::Bucket(BucketError::Changed)) => return Ok(import.wait(*now)),
            Err(error) => return Err(error),
        };
        let mut owners = Owners::new(archive);
        let parts = (0..import.parts).map(|part| rows(bucket, import, *tenant, part, *now));
        let mut parts = stream::iter(parts).buffered(PARTS);
        while let Some(rows) = parts.next().await {
            for row in rows? {
                claim(&mut owners, &row, *now);
            }
        }
        drop(parts);
        let files = owners.decide();
        write_lines(bucket, &import.zip_list(*tenant, zip.number), &files, *now).await?;
        if let Some(last) = zip.number.checked_sub(1).filter(|last| *last > 0) {
            bucket.delete(&import.zip_file(*tenant, last), *now).await?;
        }
        let matched = files.iter().filter(|file| file.row.is_some()).count();
        Ok(import.zip_matched(files.len() as u64, matched as u64, &found.etag, *now))
    }

    /// Reads the directory of the ZIP that was found.
    async fn read_directory(
        &self,
        key: String,
        found: &Found,
    ) -> Result<Result<Archive, ArchiveRefusal>, TaskError> {
        let (bucket, now, Found { size, etag }) = (self.bucket.clone(), self.now, found.clone());
        let (start, length) = (size.saturating_sub(TAIL), usize::try_from(TAIL).unwrap_or(WINDOW));
        let tail = bucket.read_range(&key, start, length, Some(&etag), now).await?;
        let mut ranges = Ranges {
            tail: Range { start, bytes: tail.ok_or(BucketError::Changed)?.into() },
            window: Range::default(),
            position: 0,
            failure: None,
            key,
            etag,
            runtime: Handle::current(),
            size,
            bucket,
            now,
        };
        let reading = tokio::task::spawn_blocking(move || {
            let archive = Archive::read(&mut ranges);
            (archive, ranges.failure)
        });
        let lost = |_| TaskError::NotCarriedOut("the reading of a ZIP file has ended".to_owned());
        match reading.await.map_err(lost)? {
            (_, Some(failure)) => Err(failure.into()),
            (archive, None) => Ok(archive),
        }
    }

    /// Adds a file of a row to a transaction of its person, which also says what became of the file. The file is stored before.
    pub(super) async fn add_file(&self, draft: &mut Draft, number: u64) -> Result<(), TaskError> {
        let (tenant, now, id) = (self.tenant, self.now, draft.record.candidate.id);
        let row_files = self.row_files().await?;
        let all = self.store.all_files(tenant, id).await?;
        let Ok(giving_way) = giving_way_to_team(&all) else {
            draft.made.files.push(left_out(number, TOO_MANY));
            return Ok(());
        };
        let Some(zipped) = row_files.find(number) else {
            draft.made.files.push(left_out(number, DAMAGED));
            return Ok(());
        };
        let _turn = row_files.turn.lock().await;
        let checked = match self.read_file_of(zipped).await? {
            Ok(checked) => checked,
            Err(problem) => {
                row_files.is_replaced.fetch_or(problem == REPLACED, Ordering::Relaxed);
                draft.made.files.push(left_out(number, &problem));
                return Ok(());
            }
        };
        let digest = Some(checked.digest());
        if all.iter().any(|file| file.digest == digest && file.stored().is_some()) {
            draft.made.files.push(ImportedFile { number, id: None, problem: None });
            return Ok(());
        }
        // If the run is killed after the file is stored, a task deletes it.
        let name = self.random.token(NAME_LENGTH);
        let stored = checked.place(tenant, &name);
        let mut expected = Transaction::new(tenant);
        expected.require_candidate(&draft.record);
        let trace = UploadTrace { hash: name.clone(), key: stored.key().to_owned(), until: now };
        expected.expect_file(id, trace)?;
        self.store.commit(expected).await?;
        checked.write(self.bucket, stored.key(), now).await?;
        draft.transaction.forget_expected_file(id, &name);
        let file = CandidateFile {
            id: self.ids.next(),
            application_id: None,
            kind: zipped.kind,
            question_id: None,
            name: FileName::cut(zipped.name()),
            content: kept(self.bucket, stored.clone()),
            size: checked.size() as u64,
            origin: FileOrigin::Team,
            created_at: now,
            created_by: self.actor(),
            opened_at: None,
            digest,
        };
        if let Some(refused) = giving_way.filter(|_| draft.record.legal_hold.is_none()) {
            draft.transaction.delete_file(id, refused, now)?;
        }
        draft.transaction.insert_file(id, &file)?;
        draft.history.extend(files::history_of(&file, &draft.record).into_iter().map(|kind| (now, kind)));
        draft.record = draft.record.clone().add_file(&file, now);
        draft.made.files.push(ImportedFile { number, id: Some(file.id), problem: None });
        Ok(())
    }

    /// Unpacks and checks a file. Fails with a sentence if it is not accepted.
    async fn read_file_of(&self, file: &ZippedFile) -> Result<Result<CheckedFile, String>, TaskError> {
        let Some(zip) = self.import.matched_zip() else { return Ok(Err(DAMAGED.to_owned())) };
        // One file of a ZIP and another one of the next would be those of no upload.
        if zip.reason.is_some() {
            return Ok(Err(REPLACED.to_owned()));
        }
        let (key, etag) = (self.import.zip_file(self.tenant, zip.number), zip.etag.as_deref());
        let read = match self.bucket.read_range(&key, file.header, bytes_with(file), etag, self.now).await {
            Err(BucketError::Changed) => return Ok(Err(REPLACED.to_owned())),
            read => read?,
        };
        let Some(content) = read.and_then(|bytes| unpack(file, &bytes)) else {
            return Ok(Err(DAMAGED.to_owned()));
        };
        Ok(CheckedFile::check_content(content.into()).map_err(|refusal| refusal.to_string()))
    }

    /// Deletes the files that a row added to a person who was known before, unless somebody has opened them. Returns what stays.
    pub(super) async fn remove_files(&self, row: &ImportedRow) -> Result<Vec<String>, TaskError> {
        let (store, tenant, candidate) = (&self.store, self.tenant, row.candidate_id);
        let mut stays = Vec::new();
        for id in row.file_ids() {
            for attempt in 1.. {
                let found = store.find_any_candidate(tenant, candidate).await?;
                let all = store.all_files(tenant, candidate).await?;
                let record = found.and_then(MaybeErased::present);
                let (Some(record), Some(file)) = (record, all.iter().find(|file| file.id == id)) else {
                    break;
                };
                if file.opened_at.is_some() {
                    stays.push(format!("File {id} was opened, and stays"));
                    break;
                }
                let actor = self.import.undone_by.clone().unwrap_or_else(|| self.actor());
                let author = Author { ids: &self.ids, actor, at: self.now };
                let mut transaction = Transaction::new(tenant);
                files::remove(&mut transaction, &record, &all, file, &author)?;
                match store.commit(transaction).await {
                    Err(CommitError::Stale) if attempt < MAX_ATTEMPTS => {}
                    result => {
                        result?;
                        break;
                    }
                }
            }
        }
        Ok(stays)
    }
}

fn left_out(number: u64, problem: &str) -> ImportedFile {
    ImportedFile { number, id: None, problem: Some(problem.to_owned()) }
}

/// Gives a row the files that it names, and those that are called like the person.
fn claim(owners: &mut Owners, stored: &StoredRow, now: Timestamp) {
    let Some(row) = stored.json.as_deref().and_then(|json| read_line(json, now).ok()) else { return };
    let named: Vec<(&str, CandidateFileKind)> =
        row.files.iter().flatten().map(|ImportFile { name, kind }| (name.as_str(), *kind)).collect();
    owners.add(Claimant {
        row: stored.row,
        person: stored.same_as.unwrap_or(stored.row),
        named: &named,
        email: row.email.as_ref().map(Email::as_str),
        external_id: row.external_id.as_ref().map(ExternalId::as_str),
    });
}

/// Some bytes of an object.
#[derive(Default)]
struct Range {
    start: u64,
    bytes: Vec<u8>,
}

impl Range {
    /// The bytes from this position on; empty if it has none.
    fn from(&self, position: u64) -> &[u8] {
        let skipped = position.checked_sub(self.start).and_then(|skipped| usize::try_from(skipped).ok());
        skipped.and_then(|skipped| self.bytes.get(skipped..)).unwrap_or_default()
    }
}

/// An object that is read where it is needed.
struct Ranges {
    bucket: Bucket,
    key: String,
    etag: String,
    now: Timestamp,
    runtime: Handle,
    size: u64,
    position: u64,
    tail: Range,
    window: Range,
    /// Why the bucket did not give a part.
    failure: Option<BucketError>,
}

impl Ranges {
    fn fetch(&mut self) -> io::Result<()> {
        let reading = self.bucket.read_range(&self.key, self.position, WINDOW, Some(&self.etag), self.now);
        let failure = match self.runtime.block_on(reading) {
            Ok(Some(bytes)) if !bytes.is_empty() => {
                self.window = Range { start: self.position, bytes: bytes.into() };
                return Ok(());
            }
            Ok(_) => BucketError::Changed,
            Err(failure) => failure,
        };
        self.failure = Some(failure.clone());
        Err(io::Error::other(failure))
    }
}

impl Read for Ranges {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.size || buffer.is_empty() {
            return Ok(0);
        }
        if self.tail.from(self.position).is_empty() && self.window.from(self.position).is_empty() {
            self.fetch()?;
        }
        let in_tail = self.tail.from(self.position);
        let there = if in_tail.is_empty() { self.window.from(self.position) } else { in_tail };
        let length = there.len().min(buffer.len());
        buffer[..length].copy_from_slice(&there[..length]);
        self.position += length as u64;
        Ok(length)
    }
}

impl Seek for Ranges {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.size.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
