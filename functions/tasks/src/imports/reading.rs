//! Reads the file of an import, and stores its rows in parts.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{Seek, Write};
use std::ops::ControlFlow;

use import_files::{FileFormat, Refusal, Report, RoleCountries, RoleName, RowVerdict, Settings, read_file};
use serde::Deserialize;
use serde_json::{Value, json};
use shared::clock::{Timestamp, later};
use shared::model::{CaseFolded, Email, Import, ImportCounts, ImportFindings, ImportFormat, ImportPart};
use shared::providers::bucket::{Bucket, BucketError, Found};
use shared::services::imports::{StoredRow, write_lines};
use shared::store::Transaction;
use tokio::sync::mpsc;

use super::worker::Worker;
use crate::TaskError;

/// The number of bytes that are read from the bucket at a time. Up to three times as many are in memory.
const PIECE: usize = 1024 * 1024;
/// The number of parts that may wait to be stored.
const QUEUE: usize = 2;

/// Why a file was not read.
enum Failure {
    /// Nothing of it can be trusted.
    Refused(Refusal),
    /// The next run reads it again.
    Task(TaskError),
}

impl Worker<'_> {
    /// Reads the file into parts. Returns the import as it is then: it has failed if nothing of the file can be trusted.
    pub(super) async fn read_file(&self) -> Result<Import, TaskError> {
        let Worker { import, tenant, now, .. } = self;
        let file = match download(self.bucket, &import.file(*tenant), *now).await {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(import.fail("The file is gone.".to_owned(), *now)),
            // It was uploaded once more meanwhile.
            Err(BucketError::Changed) => return Ok(import.wait(*now)),
            Err(error) => return Err(error.into()),
        };
        match self.store_parts(file).await {
            Ok((report, parts)) => {
                let Report { mapping, rows, skipped, warnings, date_format } = report;
                let findings = ImportFindings { mapping, warnings, date_format };
                Ok(import.read(findings, skipped, rows, parts, *now))
            }
            Err(Failure::Refused(refusal)) => {
                let failed = import.fail(format!("{refusal}."), *now);
                let Refusal::NoHeader { mapping: mapping @ Some(_) } = refusal else { return Ok(failed) };
                let findings = ImportFindings { mapping, ..ImportFindings::default() };
                Ok(Import { findings: Some(findings), ..failed })
            }
            Err(Failure::Task(error)) => Err(error),
        }
    }

    /// Stores the parts while the file is read.
    async fn store_parts(&self, file: File) -> Result<(Report, u32), Failure> {
        let (sender, mut receiver) = mpsc::channel::<Vec<StoredRow>>(QUEUE);
        let countries = self.role_countries().await.map_err(Failure::Task)?;
        let (settings, now) = (Settings { role_countries: countries, ..self.file_settings() }, self.now);
        let reading = tokio::task::spawn_blocking(move || read(file, &settings, now, &sender));
        let mut number = 0;
        while let Some(rows) = receiver.recv().await {
            self.store_part(number, &rows).await.map_err(Failure::Task)?;
            number += 1;
        }
        let lost = |_| Failure::Task(TaskError::NotCarriedOut("the reading of a file has ended".to_owned()));
        let report = reading.await.map_err(lost)?.map_err(Failure::Refused)?;
        Ok((report, number))
    }

    async fn store_part(&self, number: u32, rows: &[StoredRow]) -> Result<(), TaskError> {
        let Worker { import, tenant, now, .. } = self;
        write_lines(self.bucket, &import.part_file(*tenant, number), rows, *now).await?;
        let part = ImportPart {
            number,
            first: rows.first().map_or(1, |row| row.row),
            rows: rows.len() as u64,
            counts: ImportCounts::default(),
            due_for_erasure: 0,
            kept_until: later(*now, Import::CLAIMED),
        };
        let mut transaction = Transaction::new(*tenant);
        transaction.put_import_part(import.id, &part)?;
        Ok(self.store.commit(transaction).await?)
    }

    /// The countries of the roles that a spreadsheet may name. The numbers of other files are read when their rows are judged.
    async fn role_countries(&self) -> Result<RoleCountries, TaskError> {
        let mut countries = RoleCountries::new();
        if self.import.format == ImportFormat::Ndjson {
            return Ok(countries);
        }
        for role in self.read_roles().await? {
            let Some(country) = role.content.places.country() else { continue };
            let external_id = role.content.external_id.as_ref();
            let names = [
                Some(RoleName::Id(role.id.get())),
                external_id.map(|id| RoleName::ExternalId(id.as_str().to_owned())),
                Some(RoleName::Title(CaseFolded::of(role.content.title.as_str()))),
            ];
            countries.extend(names.into_iter().flatten().map(|name| (name, country)));
        }
        Ok(countries)
    }

    fn file_settings(&self) -> Settings {
        let Import { format, settings, mapping, .. } = self.import;
        let format = match format {
            ImportFormat::Csv => FileFormat::Csv,
            ImportFormat::Xlsx => FileFormat::Xlsx,
            ImportFormat::Ndjson => FileFormat::Ndjson,
        };
        Settings {
            format,
            sheet: settings.sheet.clone(),
            encoding: settings.encoding,
            mapping: mapping.clone(),
            date_format: settings.date_format,
            plain_phones: settings.plain_phones,
            country: self.settings.country,
            role_countries: RoleCountries::new(),
            default_role: settings.defaults.role_id,
            time_zone: self.settings.time_zone.clone(),
        }
    }
}

/// Copies an object into a file that nobody else can open. Returns `None` if there is none, and fails if it changes meanwhile.
async fn download(bucket: &Bucket, key: &str, now: Timestamp) -> Result<Option<File>, BucketError> {
    let failed = |_| BucketError::Unavailable("the file can't be kept");
    let Some(Found { size, etag }) = bucket.find(key, now).await? else { return Ok(None) };
    if size > Import::MAX_UPLOAD {
        return Err(BucketError::TooLarge);
    }
    let mut file = tempfile::tempfile().map_err(failed)?;
    let mut read: u64 = 0;
    while read < size {
        let Some(piece) = bucket.read_range(key, read, PIECE, Some(&etag), now).await? else {
            return Ok(None);
        };
        file.write_all(&piece).map_err(failed)?;
        read += (piece.len() as u64).max(1);
    }
    file.rewind().map_err(failed)?;
    Ok(Some(file))
}

/// What tells people apart, and what rows about one person should agree on.
#[derive(Deserialize)]
struct Keys {
    /// Of a spreadsheet of our own.
    id: Option<u64>,
    external_id: Option<String>,
    email: Option<String>,
    name: Option<Value>,
    phone: Option<Value>,
    applications: Option<Value>,
}

/// The hashes of what a row says; zero where it says nothing.
#[derive(Clone, Copy)]
struct Said {
    name: u32,
    phone: u32,
    external_id: u32,
    /// The role of the first application, and how far that has come.
    role: u32,
    outcome: u32,
}

/// Finds rows about people of earlier rows.
struct Doubles {
    hasher: RandomState,
    /// Whether rows of one id are about one person.
    has_ids: bool,
    /// The first rows with ids, with external ids and with addresses, by their hashes. It grows with the file, so it is small.
    first: HashMap<u64, u32>,
    /// What the first row about each person says.
    said: HashMap<u32, Said>,
    /// The hashes of all rows.
    contents: HashSet<u64>,
}

impl Doubles {
    /// Ids count in spreadsheets alone, where only those of our own have any.
    fn new(format: FileFormat) -> Self {
        let has_ids = matches!(format, FileFormat::Csv | FileFormat::Xlsx);
        let hasher = RandomState::new();
        Self { hasher, has_ids, first: HashMap::new(), said: HashMap::new(), contents: HashSet::new() }
    }

    /// Adds a row. Returns the first row about the same person, and whether an earlier row says the same. Adds warnings about
    /// what the first one says otherwise.
    fn add(&mut self, row: u64, json: &str, warnings: &mut Vec<String>) -> (Option<u64>, bool) {
        let is_repeated = !self.contents.insert(self.hasher.hash_one(json));
        let Ok(keys) = serde_json::from_str::<Keys>(json) else { return (None, false) };
        let said = self.said_by(&keys);
        let Keys { id, external_id, email, .. } = keys;
        let email = email.and_then(|email| email.parse::<Email>().ok()).map(|email| email.normalized());
        let id = id.filter(|_| self.has_ids).map(|id| self.hasher.hash_one((0, id)));
        let external_id = external_id.map(|id| self.hasher.hash_one((1, id.trim())));
        let email = email.map(|email| self.hasher.hash_one((2, email)));
        let keys: Vec<_> = [id, external_id, email].into_iter().flatten().collect();
        let first = keys.iter().filter_map(|key| self.first.get(key)).min().copied();
        // No file has so many rows.
        let own = u32::try_from(row).unwrap_or(u32::MAX);
        for key in keys {
            self.first.entry(key).or_insert(first.unwrap_or(own));
        }
        match first.and_then(|first| Some((first, self.said.get(&first)?))) {
            None => drop(self.said.insert(own, said)),
            Some((first, before)) => warnings.extend(before.differences(said, first)),
        }
        (first.map(u64::from), is_repeated && first.is_some())
    }

    fn said_by(&self, keys: &Keys) -> Said {
        // Half of a hash is enough for a warning.
        #[expect(clippy::cast_possible_truncation)]
        let hash = |text: &str| self.hasher.hash_one(text) as u32;
        let said = |said: Option<&Value>| {
            said.filter(|said| !said.is_null()).map_or(0, |said| hash(&said.to_string().to_lowercase()))
        };
        let application = keys.applications.as_ref().and_then(|all| all.get(0));
        let of_application =
            |name: &str| application.and_then(|one| one.get(name)).filter(|one| !one.is_null());
        let outcome = ["stage", "status", "rejection"].map(of_application);
        let has_outcome = outcome.iter().any(Option::is_some);
        Said {
            name: said(keys.name.as_ref()),
            phone: said(keys.phone.as_ref()),
            external_id: keys.external_id.as_deref().map_or(0, |id| hash(id.trim())),
            role: said(of_application("role")),
            outcome: if has_outcome { hash(&json!(outcome).to_string()) } else { 0 },
        }
    }
}

impl Said {
    /// Warnings about what a later row about the same person says otherwise than this first one.
    fn differences(self, later: Self, first: u32) -> impl Iterator<Item = String> {
        let differ = |one: u32, other: u32| one != 0 && other != 0 && one != other;
        let is_same_role = self.role == later.role;
        let fields = [
            ("name", differ(self.name, later.name)),
            ("phone", differ(self.phone, later.phone)),
            ("external_id", differ(self.external_id, later.external_id)),
            ("applications[0]", is_same_role && differ(self.outcome, later.outcome)),
        ];
        let differing = fields.into_iter().filter(|(_, differs)| *differs);
        differing.map(move |(field, _)| {
            format!("{field} differs from that of row {first}, which is about the same person")
        })
    }
}

/// Reads a file, and sends its rows in parts.
fn read(
    file: File,
    settings: &Settings,
    now: Timestamp,
    parts: &mpsc::Sender<Vec<StoredRow>>,
) -> Result<Report, Refusal> {
    let (mut doubles, mut rows, mut bytes) = (Doubles::new(settings.format), Vec::new(), 0);
    let mut each = |RowVerdict { row, line, verdict, warnings }: RowVerdict| {
        let stored = match verdict {
            Ok(json) => {
                let mut messages = warnings;
                let (same_as, is_repeated) = doubles.add(row, &json, &mut messages);
                bytes += json.len();
                StoredRow { row, line, json: Some(json), messages, same_as, is_repeated }
            }
            Err(messages) => StoredRow { row, line, json: None, messages, same_as: None, is_repeated: false },
        };
        rows.push(stored);
        if rows.len() as u64 == ImportPart::SIZE || bytes >= ImportPart::BYTES {
            bytes = 0;
            // The other side is gone if it has failed.
            if parts.blocking_send(std::mem::take(&mut rows)).is_err() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    };
    let report = read_file(file, settings, now, &mut each)?;
    if !rows.is_empty() {
        // As above.
        _ = parts.blocking_send(rows);
    }
    Ok(report)
}
