//! ZIP files of resumes, and whose each file is.
//!
//! Only the directory at the end is read, so entries are as many as it says: also those of one name, which most programs would
//! lose.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};

use encoding_rs::WINDOWS_1252;
use oem_cp::code_table::{DECODING_TABLE_CP437, DECODING_TABLE_CP850};
use oem_cp::decode_string_complete_table;
use percent_encoding::percent_decode_str;
use shared::model::{CaseFolded, Email};
use zip::read::Config;
use zip::unstable::read::ZipIterable;

/// The maximum number of files.
pub const MAX_FILES: usize = 5_000;
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
    #[error("The ZIP file has several files that are called {}. Give each a name of its own", .0.join(", "))]
    SameNames(Vec<String>),
}

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedFile {
    /// The number of the entry in the archive, from 0 on.
    pub entry: usize,
    /// The name with its folders. Of a name in an unknown encoding, the reading as code page 437.
    pub path: String,
    /// The size, as the directory says it.
    pub size: u64,
}

/// The files of an archive, without those that systems put there.
#[derive(Debug, Default)]
pub struct Archive {
    files: Vec<ArchivedFile>,
    /// The files with a name in any encoding that it may have, folded.
    by_name: BTreeMap<String, BTreeSet<usize>>,
    /// The files with a name without its ending.
    by_stem: BTreeMap<String, BTreeSet<usize>>,
}

impl Archive {
    /// Reads the directory of an archive.
    pub fn read(file: impl Read + Seek) -> Result<Self, ArchiveRefusal> {
        let unreadable = |error: zip::result::ZipError| ArchiveRefusal::Unreadable(error.to_string());
        let mut entries = ZipIterable::try_new(file, Config::default()).map_err(unreadable)?;
        let (mut archive, mut paths, mut same) = (Self::default(), BTreeSet::new(), Vec::new());
        for (entry, found) in entries.files().map_err(unreadable)?.enumerate() {
            let found = found.map_err(unreadable)?;
            let readings = readings(found.name_raw());
            let Some(path) = readings.first().filter(|path| !path.ends_with('/') && !is_of_system(path))
            else {
                continue;
            };
            if archive.files.len() == MAX_FILES {
                return Err(ArchiveRefusal::ManyFiles);
            }
            if !paths.insert(found.name_raw().to_vec()) {
                same.push(path.clone());
            }
            let place = archive.files.len();
            for reading in &readings {
                let name = name_of(reading);
                archive.by_stem.entry(stem(&name).to_owned()).or_default().insert(place);
                archive.by_name.entry(name).or_default().insert(place);
            }
            archive.files.push(ArchivedFile { entry, path: path.clone(), size: found.size() });
        }
        same.dedup();
        if same.is_empty() { Ok(archive) } else { Err(ArchiveRefusal::SameNames(same)) }
    }

    /// The files, in the order of the directory.
    pub fn files(&self) -> &[ArchivedFile] {
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

/// Whose the files of an archive are.
#[derive(Debug)]
pub struct Owners<'a> {
    archive: &'a Archive,
    /// For each file, the rows that have it, with the way in which they do.
    claims: BTreeMap<usize, BTreeSet<(Way, u64)>>,
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

impl<'a> Owners<'a> {
    /// Nobody has any file yet.
    pub const fn new(archive: &'a Archive) -> Self {
        Self { archive, claims: BTreeMap::new() }
    }

    /// Adds the person of a row. Returns what should be said about the row.
    pub fn add(
        &mut self,
        row: u64,
        named: &[&str],
        email: Option<&str>,
        external_id: Option<&str>,
    ) -> Vec<String> {
        let mut warnings = Vec::new();
        for name in named {
            let found = self.archive.named(name);
            match found.len() {
                0 => warnings.push(format!("files names {name}, which the ZIP file does not have")),
                1 => self.claim(found, Way::Name, row),
                _ => warnings.push(format!("files names {name}, and the ZIP file has several of that name")),
            }
        }
        if let Some(email) = email.filter(|email| email.parse::<Email>().is_ok()) {
            self.claim(self.archive.called(email), Way::Email, row);
        }
        if let Some(id) = external_id {
            self.claim(self.archive.called(id), Way::Id, row);
        }
        warnings
    }

    fn claim(&mut self, files: BTreeSet<usize>, way: Way, row: u64) {
        for file in files {
            self.claims.entry(file).or_default().insert((way, row));
        }
    }

    /// Each file with the row that has it; without one if no row has it, or more than one in the same way.
    pub fn of_each(&self) -> impl Iterator<Item = (&'a ArchivedFile, Option<u64>)> + use<'_, 'a> {
        self.archive.files.iter().enumerate().map(|(place, file)| {
            let claims = self.claims.get(&place);
            let surest = claims.and_then(|claims| claims.first()).map(|(way, _)| *way);
            let mut rows =
                claims.into_iter().flatten().filter(|(way, _)| Some(*way) == surest).map(|(_, row)| *row);
            let owner = rows.next();
            (file, owner.filter(|_| rows.next().is_none()))
        })
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

    /// The rows of the files, and the names of those without one.
    fn matched(archive: &Archive) -> (Vec<u64>, Vec<&str>, Vec<String>) {
        let (mut owners, mut warnings) = (Owners::new(archive), Vec::new());
        for (row, (file, email, id)) in (1..).zip(PEOPLE) {
            let named: Vec<_> = Some(file).filter(|file| !file.is_empty()).into_iter().collect();
            warnings.extend(owners.add(row, &named, Some(email), Some(id)));
        }
        let mut rows: Vec<_> = owners.of_each().filter_map(|(_, row)| row).collect();
        rows.sort_unstable();
        let rest = owners.of_each().filter(|(_, row)| row.is_none()).map(|(file, _)| file.path.as_str());
        (rows, rest.collect(), warnings)
    }

    #[test]
    fn files_find_their_people_by_name_address_and_id() {
        let archive = archive("resumes-bsdtar.zip").unwrap();
        let (rows, rest, warnings) = matched(&archive);
        assert_eq!(rows, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(rest, ["Bewerbungen/Notes for the team.txt"]);
        assert_eq!(warnings, ["files names CV.pdf, which the ZIP file does not have"]);
    }

    #[test]
    fn what_systems_add_is_neither_listed_nor_counted() {
        let archive = archive("resumes-by-hand-like-macos.zip").unwrap();
        assert_eq!(archive.files().len(), 4);
        let (rows, rest, _) = matched(&archive);
        assert_eq!((rows, rest.len()), (vec![1, 2, 3, 4], 0));
    }

    #[test]
    fn names_without_a_known_encoding_are_tried_in_three() {
        let archive = archive("resumes-java-cp850.zip").unwrap();
        let (rows, rest, _) = matched(&archive);
        assert_eq!(rows, [1, 4, 6]);
        assert_eq!(rest, ["¥ Åse S¢rensen.pdf"]);
        let mut owners = Owners::new(&archive);
        assert_eq!(owners.add(9, &["Ø Åse Sørensen.pdf"], None, None), [""; 0]);
        assert_eq!(owners.of_each().filter(|(_, row)| *row == Some(9)).count(), 1);
    }

    #[test]
    fn two_files_of_one_name_are_not_lost() {
        let refused = archive("resumes-python-same-name.zip").unwrap_err();
        assert!(refused.contains("several files that are called CV.pdf"), "{refused}");
        let broken = Archive::read(std::io::Cursor::new(b"PK no archive".to_vec())).unwrap_err();
        assert!(broken.to_string().starts_with("The ZIP file can't be read"), "{broken}");
    }

    #[test]
    fn names_of_a_sheet_may_have_folders_and_percent_signs_and_no_ending() {
        let archive = archive("resumes-bsdtar.zip").unwrap();
        let row = |name: &str| {
            let mut owners = Owners::new(&archive);
            owners.add(7, &[name], None, None);
            owners.of_each().find(|(_, row)| row.is_some()).map(|(file, _)| file.path.clone())
        };
        for name in [
            "K%C3%B6hler%20Lebenslauf.pdf",
            "C:\\CVs\\Köhler Lebenslauf.pdf",
            "köhler lebenslauf",
            "KO\u{308}HLER LEBENSLAUF.PDF",
        ] {
            assert!(row(name).is_some_and(|path| path.ends_with("hler Lebenslauf.pdf")), "{name}");
        }
        assert_eq!(row("Köhler.pdf"), None);
    }

    #[test]
    fn a_file_that_two_people_have_is_nobodys() {
        let archive = archive("resumes-bsdtar.zip").unwrap();
        let mut owners = Owners::new(&archive);
        for row in [1, 2] {
            owners.add(row, &["sato.pdf"], None, None);
        }
        // What a row names is surer than what a file is called.
        owners.add(3, &["oconnell.pdf"], None, None);
        owners.add(4, &[], None, Some("oconnell"));
        let owner = |name: &str| {
            owners.of_each().find(|(file, _)| file.path.ends_with(name)).and_then(|(_, row)| row)
        };
        assert_eq!((owner("sato.pdf"), owner("oconnell.pdf")), (None, Some(3)));
    }
}
