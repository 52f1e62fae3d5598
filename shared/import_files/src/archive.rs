//! ZIP files of resumes, and whose each file is.
//!
//! Only the directory at the end is read, so entries are as many as it says: also those of one name, which most programs would
//! lose.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Seek};

use encoding_rs::WINDOWS_1252;
use flate2::Crc;
use flate2::read::DeflateDecoder;
use oem_cp::code_table::{DECODING_TABLE_CP437, DECODING_TABLE_CP850};
use oem_cp::decode_string_complete_table;
use percent_encoding::percent_decode_str;
use shared::model::{CandidateFileKind, CaseFolded, Email, ZippedFile};
use shared::providers::bucket::MAX_UPLOAD;
use zip::CompressionMethod;
use zip::read::Config;
use zip::result::ZipError;
use zip::unstable::read::ZipIterable;

/// The maximum number of files.
pub const MAX_FILES: usize = 5_000;
/// The maximum number of entries, with those that are left out.
const MAX_ENTRIES: usize = 20_000;
/// The maximum number of bytes of a name with its folders.
const MAX_NAME: usize = 1_000;
/// The maximum number of files of one name that a refusal names.
const NAMED: usize = 10;
/// The maximum number of bytes of an entry before its packed content.
const BEFORE_CONTENT: usize = LOCAL_HEADER + 2 * u16::MAX as usize;
/// The size of an entry's header without its name and its further fields.
const LOCAL_HEADER: usize = 30;
const LOCAL_MAGIC: &[u8] = b"PK\x03\x04";
/// The first bytes of files that are no ZIP files, and what they are. `PK` begins one that is not whole.
const OTHERS: [(&[u8], &str); 4] = [
    (b"PK", "it is damaged or incomplete"),
    (b"Rar!", "it is a RAR file. Pack the files as ZIP"),
    (b"7z\xbc\xaf\x27\x1c", "it is a 7z file. Pack the files as ZIP"),
    (b"", "it is no ZIP file"),
];
/// What systems put into an archive beside the files of people.
const OF_SYSTEMS: [&str; 4] = [".ds_store", "thumbs.db", "desktop.ini", "__macosx"];

/// Why an archive is refused.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveRefusal {
    /// It cannot be read.
    #[error("The ZIP file can't be read: {0}")]
    Unreadable(String),
    /// It has too many files.
    #[error("The ZIP file has more than {MAX_FILES} files. Split it")]
    ManyFiles,
    /// Two entries have one name.
    #[error("The ZIP file has several files that are called {}. Give each a name of its own", joined(.0))]
    SameNames(BTreeSet<String>),
}

/// The files of an archive, without those that systems put there.
#[derive(Debug, Default)]
pub struct Archive {
    files: Vec<ZippedFile>,
    /// The files with a name in any encoding that it may have, folded.
    by_name: BTreeMap<String, BTreeSet<usize>>,
    /// The files with a name without its ending.
    by_stem: BTreeMap<String, BTreeSet<usize>>,
    /// The files that are called like a number, without the zeros before it.
    by_number: BTreeMap<String, BTreeSet<usize>>,
}

impl Archive {
    /// Reads the directory of an archive.
    pub fn read(mut file: impl Read + Seek) -> Result<Self, ArchiveRefusal> {
        let io = |error: io::Error| ArchiveRefusal::Unreadable(error.to_string());
        let unreadable = |error: ZipError| ArchiveRefusal::Unreadable(error.to_string());
        let mut entries = match ZipIterable::try_new(&mut file, Config::default()) {
            Ok(entries) => entries,
            Err(ZipError::InvalidArchive(_)) => {
                let mut first = Vec::new();
                file.rewind().map_err(io)?;
                file.take(8).read_to_end(&mut first).map_err(io)?;
                let other = OTHERS.iter().find(|(magic, _)| first.starts_with(magic));
                return Err(ArchiveRefusal::Unreadable(other.map_or("", |(_, what)| what).to_owned()));
            }
            Err(error) => return Err(unreadable(error)),
        };
        if entries.len() > MAX_ENTRIES {
            return Err(ArchiveRefusal::ManyFiles);
        }
        let (mut files, mut paths, mut same) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for found in entries.files().map_err(unreadable)? {
            let found = found.map_err(unreadable)?;
            if found.name_raw().len() > MAX_NAME {
                let problem = format!("a name has more than {MAX_NAME} bytes");
                return Err(ArchiveRefusal::Unreadable(problem));
            }
            let mut readings = readings(found.name_raw()).into_iter();
            let Some(path) = readings.next().filter(|path| !path.ends_with('/') && !is_of_system(path))
            else {
                continue;
            };
            if files.len() == MAX_FILES {
                return Err(ArchiveRefusal::ManyFiles);
            }
            if !paths.insert(found.name_raw().to_vec()) && same.len() < NAMED {
                same.insert(path.clone());
            }
            let (method, sizes) = (found.compression(), [found.size(), found.compressed_size()]);
            files.push(ZippedFile {
                number: files.len() as u64 + 1,
                path,
                readings: readings.collect(),
                size: found.size(),
                packed: found.compressed_size(),
                header: found.header_start(),
                crc32: found.crc32(),
                is_deflated: method == CompressionMethod::Deflated,
                problem: problem(found.encrypted(), method, sizes).map(ToOwned::to_owned),
                row: None,
                proposed_row: None,
                kind: CandidateFileKind::default(),
            });
        }
        if same.is_empty() { Ok(Self::of(files)) } else { Err(ArchiveRefusal::SameNames(same)) }
    }

    /// An archive of files whose directory was read before.
    pub fn of(files: Vec<ZippedFile>) -> Self {
        let mut archive = Self::default();
        for (place, file) in files.iter().enumerate() {
            for reading in [&file.path].into_iter().chain(&file.readings) {
                let name = name_of(reading);
                let stem = stem(&name).to_owned();
                if let Some(number) = plain_number(&stem) {
                    archive.by_number.entry(number.to_owned()).or_default().insert(place);
                }
                archive.by_stem.entry(stem).or_default().insert(place);
                archive.by_name.entry(name).or_default().insert(place);
            }
        }
        Self { files, ..archive }
    }

    /// The files, in the order of the directory.
    pub fn files(&self) -> &[ZippedFile] {
        &self.files
    }

    /// The files that a sheet may mean with a name, which may have folders, percent signs and no ending.
    fn named(&self, given: &str) -> BTreeSet<usize> {
        let decoded = percent_decode_str(given).decode_utf8_lossy().into_owned();
        for text in [given, decoded.as_str()] {
            let name = name_of(text);
            let found = self.by_name.get(&name).or_else(|| self.by_stem.get(&name));
            let Some(found) = found else { continue };
            let path = folded_path(text);
            // Of several files with one name, the folder in the sheet decides.
            let in_folder = |place: &&usize| {
                self.files.get(**place).is_some_and(|file| folded_path(&file.path).ends_with(&path))
            };
            return match found.len() {
                0 | 1 => found.clone(),
                _ => found.iter().filter(in_folder).copied().collect(),
            };
        }
        BTreeSet::new()
    }

    /// The files that are called like this, with or without an ending.
    fn called(&self, name: &str) -> BTreeSet<usize> {
        let name = name_of(name);
        let of = |names: &BTreeMap<String, BTreeSet<usize>>| names.get(&name).cloned().unwrap_or_default();
        &of(&self.by_name) | &of(&self.by_stem)
    }

    /// Why no single file has a name in a sheet, as the end of a sentence about it.
    fn problem_of_found(found: &BTreeSet<usize>) -> Option<&'static str> {
        match found.len() {
            0 => Some("is the name of no file in the ZIP file"),
            1 => None,
            _ => Some("is the name of several files in the ZIP file. Write it with its folder"),
        }
    }

    /// Why a row does not get the file that it names, as the end of a sentence about the name. It is known whose the files are.
    pub fn problem_of_name(&self, given: &str) -> Option<&'static str> {
        let found = self.named(given);
        Self::problem_of_found(&found).or_else(|| {
            let file = found.first().and_then(|place| self.files.get(*place));
            let is_nobodys = file.is_some_and(|file| file.row.is_none());
            is_nobodys.then_some("is the name of a file that several rows name, so none of them gets it")
        })
    }
}

/// Why an entry cannot become anybody's file, whoever it belongs to, as the end of a sentence about it.
const fn problem(
    is_encrypted: bool,
    method: CompressionMethod,
    [size, packed]: [u64; 2],
) -> Option<&'static str> {
    let is_known = matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated);
    let most = MAX_UPLOAD as u64;
    if is_encrypted {
        Some("needs a password")
    } else if !is_known {
        Some("is packed in a way that can't be read: choose the method Deflate")
    } else if size > most {
        Some("has more than 10 MB")
    } else if packed > most + most / 8 {
        Some("is damaged in the ZIP file")
    } else {
        None
    }
}

/// The number of bytes from the header of an entry on that have its whole content.
pub fn bytes_with(file: &ZippedFile) -> usize {
    usize::try_from(file.packed).unwrap_or(usize::MAX).saturating_add(BEFORE_CONTENT)
}

/// Unpacks an entry from the bytes from its header on. Returns `None` if it is not what the directory says, so no more is ever
/// unpacked than that.
pub fn unpack(file: &ZippedFile, bytes: &[u8]) -> Option<Vec<u8>> {
    let length = |at: usize| Some(usize::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    let start = LOCAL_HEADER + length(26)? + length(28)?;
    let packed = bytes.get(start..start.checked_add(usize::try_from(file.packed).ok()?)?)?;
    if !bytes.starts_with(LOCAL_MAGIC) {
        return None;
    }
    let content = if file.is_deflated {
        let mut content = Vec::with_capacity(usize::try_from(file.size).ok()?.min(MAX_UPLOAD));
        // One more byte shows that the directory has lied.
        DeflateDecoder::new(packed).take(file.size + 1).read_to_end(&mut content).ok()?;
        content
    } else {
        packed.to_vec()
    };
    let mut crc = Crc::new();
    crc.update(&content);
    (content.len() as u64 == file.size && crc.sum() == file.crc32).then_some(content)
}

/// A text of digits alone, without the zeros before it.
fn plain_number(text: &str) -> Option<&str> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.trim_start_matches('0'))
}

/// What a name in an archive may be: UTF-8 if it is, or else what it is in the encodings of Western computers.
fn readings(raw: &[u8]) -> Vec<String> {
    if let Ok(text) = std::str::from_utf8(raw) {
        return vec![text.replace('\\', "/")];
    }
    let (western, ..) = WINDOWS_1252.decode(raw);
    let all = [
        decode_string_complete_table(raw, &DECODING_TABLE_CP437),
        decode_string_complete_table(raw, &DECODING_TABLE_CP850),
        western.into_owned(),
    ];
    all.into_iter().map(|text| text.replace('\\', "/")).collect()
}

/// Whether a system has put the entry there.
fn is_of_system(path: &str) -> bool {
    path.split('/').any(|part| {
        let part = part.to_lowercase();
        part.starts_with("._") || part.starts_with("~$") || OF_SYSTEMS.contains(&part.as_str())
    })
}

fn joined(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// A path in a form that equal names have, whatever program has written them.
fn folded_path(path: &str) -> String {
    CaseFolded::of(path.replace('\\', "/").trim()).as_str().to_owned()
}

/// The last part of a path, folded.
fn name_of(path: &str) -> String {
    let path = folded_path(path);
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// A name without its ending.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// A row that may have files.
#[derive(Clone, Copy, Debug)]
pub struct Claimant<'r> {
    /// The number of the row.
    pub row: u64,
    /// The number of the first row about the same person.
    pub person: u64,
    /// The names of files in the row, with what they are.
    pub named: &'r [(&'r str, CandidateFileKind)],
    /// The e-mail address.
    pub email: Option<&'r str>,
    /// The identifier.
    pub external_id: Option<&'r str>,
}

/// Whose the files of an archive are.
#[derive(Debug)]
pub struct Owners {
    archive: Archive,
    /// For each file, who has it in the surest way.
    claims: BTreeMap<usize, Claim>,
    /// The rows that may be meant by a number, for each file.
    near: BTreeMap<usize, u64>,
}

/// How a row has a file, the surest way first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// The row names it.
    Name,
    /// It is called like the person's e-mail address.
    Email,
    /// It is called like the person's identifier.
    Id,
}

/// Who has a file.
#[derive(Clone, Copy, Debug)]
struct Claim {
    way: Way,
    person: u64,
    row: u64,
    kind: CandidateFileKind,
    /// Whether somebody else has it in the same way.
    is_shared: bool,
}

impl Owners {
    /// Nobody has any file yet.
    pub const fn new(archive: Archive) -> Self {
        Self { archive, claims: BTreeMap::new(), near: BTreeMap::new() }
    }

    /// Adds the person of a row. Returns what should be said about the names in the row.
    pub fn add(&mut self, claimant: Claimant<'_>) -> Vec<String> {
        let Claimant { named, email, external_id, .. } = claimant;
        let mut warnings = Vec::new();
        for (index, (name, kind)) in named.iter().enumerate() {
            let found = self.archive.named(name);
            match Archive::problem_of_found(&found) {
                Some(problem) => warnings.push(format!("files[{index}].name {problem}")),
                None => self.claim(found, Way::Name, *kind, claimant),
            }
        }
        let kind = CandidateFileKind::default();
        if let Some(email) = email.filter(|email| email.parse::<Email>().is_ok()) {
            self.claim(self.archive.called(email), Way::Email, kind, claimant);
        }
        if let Some(id) = external_id {
            self.claim(self.archive.called(id), Way::Id, kind, claimant);
            let near = plain_number(id.trim()).and_then(|number| self.archive.by_number.get(number));
            for place in near.into_iter().flatten() {
                self.near.entry(*place).or_insert(claimant.row);
            }
        }
        warnings
    }

    fn claim(&mut self, files: BTreeSet<usize>, way: Way, kind: CandidateFileKind, claimant: Claimant<'_>) {
        let Claimant { row, person, .. } = claimant;
        for file in files {
            let new = Claim { way, person, row, kind, is_shared: false };
            let claim = self.claims.entry(file).or_insert(new);
            if way < claim.way {
                *claim = new;
            } else if way == claim.way {
                claim.is_shared |= person != claim.person;
            }
        }
    }

    /// The files, each with the row that has it; without one if no person has it, or more than one in the same way. A file that is
    /// called like the identifier of a row but for zeros before it has that row as a proposal.
    pub fn decide(self) -> Vec<ZippedFile> {
        let Self { archive, claims, near } = self;
        let mut files = archive.files;
        for (place, file) in files.iter_mut().enumerate() {
            match claims.get(&place).filter(|claim| !claim.is_shared) {
                Some(claim) => (file.row, file.kind) = (Some(claim.row), claim.kind),
                None => file.proposed_row = near.get(&place).copied(),
            }
        }
        files
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    const PEOPLE: [(&str, &str, &str); 8] = [
        ("Köhler Lebenslauf.pdf", "anneliese.koehler@mail.example", "00117"),
        ("tHart.pdf", "pieter.thart@mail.example", "00204"),
        ("Wójcik Łukasz CV.pdf", "lukasz.wojcik@mail.example", "00318"),
        ("oconnell.pdf", "sinead.oconnell@mail.example", "00422"),
        ("CV.pdf", "maya.fernandez@mail.example", "12E45"),
        ("Müller Jörg.pdf", "joerg.mueller@mail.example", "00531"),
        ("sato.pdf", "aiko.sato@mail.example", "00640"),
        ("", "ofa.tupou@mail.example", "00755"),
    ];

    fn archive(name: &str) -> Result<Archive, String> {
        let file = File::open(format!("{}/files/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        Archive::read(file).map_err(|refusal| refusal.to_string())
    }

    fn claimant<'r>(row: u64, named: &'r [(&'r str, CandidateFileKind)]) -> Claimant<'r> {
        Claimant { row, person: row, named, email: None, external_id: None }
    }

    /// The rows of the files, and the names of those without one.
    fn matched(archive: Archive) -> (Vec<u64>, Vec<String>) {
        let mut owners = Owners::new(archive);
        for (row, (file, email, id)) in (1..).zip(PEOPLE) {
            let named = [(file, CandidateFileKind::Resume)];
            let named = if file.is_empty() { &[][..] } else { &named };
            let (email, external_id) = (Some(email), Some(id));
            owners.add(Claimant { email, external_id, ..claimant(row, named) });
        }
        let files = owners.decide();
        let mut rows: Vec<_> = files.iter().filter_map(|file| file.row).collect();
        rows.sort_unstable();
        let rest = files.into_iter().filter(|file| file.row.is_none()).map(|file| file.path);
        (rows, rest.collect())
    }

    /// The path of the file that a row with this name has.
    fn file_named(archive: &str, name: &str) -> Option<String> {
        let mut owners = Owners::new(self::archive(archive).unwrap());
        owners.add(claimant(7, &[(name, CandidateFileKind::Resume)]));
        owners.decide().into_iter().find(|file| file.row == Some(7)).map(|file| file.path)
    }

    #[test]
    fn files_find_their_people_by_name_address_and_id() {
        let (rows, rest) = matched(archive("resumes-bsdtar.zip").unwrap());
        assert_eq!(rows, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(rest, ["Bewerbungen/Notes for the team.txt"]);
    }

    #[test]
    fn what_systems_add_is_neither_listed_nor_counted() {
        let archive = archive("resumes-by-hand-like-macos.zip").unwrap();
        assert_eq!(archive.files().len(), 4);
        let (rows, rest) = matched(archive);
        assert_eq!((rows, rest.len()), (vec![1, 2, 3, 4], 0));
    }

    #[test]
    fn names_without_a_known_encoding_are_tried_in_three() {
        let (rows, rest) = matched(archive("resumes-java-cp850.zip").unwrap());
        assert_eq!(rows, [1, 4, 6]);
        assert_eq!(rest, ["¥ Åse S¢rensen.pdf"]);
        assert!(file_named("resumes-java-cp850.zip", "Ø Åse Sørensen.pdf").is_some());
    }

    #[test]
    fn two_files_of_one_name_are_not_lost() {
        let refused = archive("resumes-python-same-name.zip").unwrap_err();
        assert!(refused.contains("several files that are called CV.pdf"), "{refused}");
        let broken = Archive::read(std::io::Cursor::new(b"PK no archive".to_vec())).unwrap_err();
        assert_eq!(broken.to_string(), "The ZIP file can't be read: it is damaged or incomplete");
        for (bytes, refusal) in [
            (
                b"Rar!\x1a\x07\0xxxxxxxxxxxxxxxxxxxxxxxx".as_slice(),
                "The ZIP file can't be read: it is a RAR file. Pack",
            ),
            (b"7z\xbc\xaf\x27\x1cxxxxxxxxxxxxxxxxxxxxx", "The ZIP file can't be read: it is a 7z file. Pack"),
            (b"", "The ZIP file can't be read: it is no ZIP file"),
        ] {
            let other = Archive::read(std::io::Cursor::new(bytes.to_vec())).unwrap_err().to_string();
            assert!(other.starts_with(refusal), "{other}");
        }
    }

    #[test]
    fn names_of_a_sheet_may_have_folders_and_percent_signs_and_no_ending() {
        for name in [
            "K%C3%B6hler%20Lebenslauf.pdf",
            "C:\\CVs\\Köhler Lebenslauf.pdf",
            "köhler lebenslauf",
            "KO\u{308}HLER LEBENSLAUF.PDF",
        ] {
            let path = file_named("resumes-bsdtar.zip", name);
            assert!(path.is_some_and(|path| path.ends_with("hler Lebenslauf.pdf")), "{name}");
        }
        assert_eq!(file_named("resumes-bsdtar.zip", "Köhler.pdf"), None);
    }

    #[test]
    fn a_file_that_two_people_have_is_nobodys() {
        let mut owners = Owners::new(archive("resumes-bsdtar.zip").unwrap());
        let (sato, oconnell) =
            (("sato.pdf", CandidateFileKind::Resume), ("oconnell.pdf", CandidateFileKind::Portfolio));
        owners.add(claimant(1, &[sato]));
        owners.add(claimant(2, &[sato]));
        // What a row names is surer than what a file is called.
        owners.add(Claimant { external_id: Some("oconnell"), ..claimant(4, &[]) });
        owners.add(claimant(3, &[oconnell]));
        // Another row of the same person takes nothing away.
        owners.add(Claimant { person: 3, ..claimant(5, &[oconnell]) });
        let files = owners.decide();
        let owner = |name: &str| {
            files.iter().find(|file| file.path.ends_with(name)).map(|file| (file.row, file.kind)).unwrap()
        };
        assert_eq!(owner("sato.pdf"), (None, CandidateFileKind::Resume));
        assert_eq!(owner("oconnell.pdf"), (Some(3), CandidateFileKind::Portfolio));
        let archive = Archive::of(files);
        let problem = |name: &str| archive.problem_of_name(name).unwrap_or("none");
        assert!(problem("sato.pdf").starts_with("is the name of a file that several rows name"));
        assert_eq!(
            (problem("oconnell.pdf"), problem("x.pdf")),
            ("none", "is the name of no file in the ZIP file")
        );
    }

    #[test]
    fn a_number_without_its_zeros_is_only_proposed() {
        let archive = archive("resumes-bsdtar.zip").unwrap();
        let mut files = archive.files().to_vec();
        "00117.pdf".clone_into(&mut files[0].path);
        let mut owners = Owners::new(Archive::of(files));
        owners.add(Claimant { external_id: Some("117"), ..claimant(3, &[]) });
        let files = owners.decide();
        assert_eq!((files[0].row, files[0].proposed_row), (None, Some(3)));
    }

    #[test]
    fn an_entry_is_unpacked_if_it_is_what_the_directory_says() {
        for name in ["resumes-bsdtar.zip", "resumes-by-hand-like-macos.zip", "resumes-java-cp850.zip"] {
            let bytes = std::fs::read(format!("{}/files/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
            for file in archive(name).unwrap().files() {
                let from = &bytes[usize::try_from(file.header).unwrap()..];
                let from = &from[..from.len().min(bytes_with(file))];
                let content = unpack(file, from).unwrap();
                assert_eq!(content.len() as u64, file.size, "{}", file.path);
                let lies = [
                    ZippedFile { size: file.size - 1, ..file.clone() },
                    ZippedFile { size: file.size + 1, ..file.clone() },
                    ZippedFile { crc32: !file.crc32, ..file.clone() },
                    ZippedFile { packed: u64::MAX, ..file.clone() },
                ];
                assert!(lies.iter().all(|lie| unpack(lie, from).is_none()), "{}", file.path);
                assert_eq!(unpack(file, &from[..20]), None);
                assert_eq!(unpack(file, &from[1..]), None);
            }
        }
    }
}
