//! Reads the entries of ZIP archives.
//!
//! Programs differ in how they read an unusual archive, so an archive is accepted only if there is one way to read it: it
//! begins with an entry, the directory is where its end says, every entry has one name, and none is encrypted.

// Not the crate zip: it accepts archives that programs read differently.

use std::collections::HashSet;

use memchr::memmem;

use super::budget::Budget;
use super::inflate::inflated;
use super::refusal::Refusal;

/// The first bytes of an archive.
pub(super) const MAGIC: &[u8] = b"PK\x03\x04";
const DIRECTORY_ENTRY: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";
const END_64: &[u8] = b"PK\x06\x06";
const LOCATOR_64: &[u8] = b"PK\x06\x07";
/// The length of the end of the directory without its comment, and the maximum length of that.
const END_LENGTH: usize = 22;
const MAX_COMMENT: usize = 65_535;
/// The maximum length of an entry, which bounds the memory.
const MAX_ENTRY: usize = 64 * 1024 * 1024;

/// An archive in memory.
pub(super) struct Archive<'b> {
    entries: Vec<Entry<'b>>,
}

/// An entry of an archive.
pub(super) struct Entry<'b> {
    /// The name in lower case, with slashes and without one at the beginning.
    pub(super) name: String,
    is_stored: bool,
    data: &'b [u8],
    length: usize,
}

impl<'b> Archive<'b> {
    /// Reads the directory.
    pub(super) fn of(bytes: &'b [u8], budget: &mut Budget) -> Result<Self, Refusal> {
        let from = bytes.len().saturating_sub(END_LENGTH + MAX_COMMENT);
        budget.read(bytes.len() - from)?;
        let end = from + memmem::rfind(&bytes[from..], END).ok_or(Refusal::Damaged)?;
        let comment = number(bytes, end + 20, 2)?;
        if end + END_LENGTH + comment != bytes.len() {
            return Err(Refusal::Damaged);
        }
        let (mut count, mut size, mut start) =
            (number(bytes, end + 10, 2)?, number(bytes, end + 12, 4)?, number(bytes, end + 16, 4)?);
        let mut directory_end = end;
        if let Some(locator) = end.checked_sub(20).filter(|at| bytes[*at..].starts_with(LOCATOR_64)) {
            let end_64 = number(bytes, locator + 8, 8)?;
            if !bytes.get(end_64..).is_some_and(|bytes| bytes.starts_with(END_64)) {
                return Err(Refusal::Damaged);
            }
            (count, size, start) = (
                number(bytes, end_64 + 32, 8)?,
                number(bytes, end_64 + 40, 8)?,
                number(bytes, end_64 + 48, 8)?,
            );
            directory_end = end_64;
        }
        if start.checked_add(size) != Some(directory_end) {
            return Err(Refusal::Damaged);
        }
        let (mut at, mut entries, mut names) = (start, Vec::new(), HashSet::new());
        while at < directory_end {
            budget.look_up()?;
            let (entry, length) = Entry::of(bytes, at, start)?;
            budget.read(length)?;
            if !names.insert(entry.name.clone()) {
                return Err(Refusal::Damaged);
            }
            entries.push(entry);
            at += length;
        }
        if at != directory_end || entries.len() != count {
            return Err(Refusal::Damaged);
        }
        Ok(Self { entries })
    }

    pub(super) fn entries(&self) -> &[Entry<'b>] {
        &self.entries
    }

    /// The entry with this name in lower case.
    pub(super) fn entry(&self, name: &str) -> Option<&Entry<'b>> {
        self.entries.iter().find(|entry| entry.name == name)
    }
}

impl<'b> Entry<'b> {
    /// Reads an entry of the directory, which begins at `directory`. Also returns its length there.
    fn of(bytes: &'b [u8], at: usize, directory: usize) -> Result<(Self, usize), Refusal> {
        let header =
            bytes.get(at..).filter(|bytes| bytes.starts_with(DIRECTORY_ENTRY)).ok_or(Refusal::Damaged)?;
        let (flags, method) = (number(header, 8, 2)?, number(header, 10, 2)?);
        let (mut packed, mut length) = (number(header, 20, 4)?, number(header, 24, 4)?);
        let (name_length, extra_length) = (number(header, 28, 2)?, number(header, 30, 2)?);
        let mut local = number(header, 42, 4)?;
        let name = slice(header, 46, name_length)?;
        let mut extra = slice(header, 46 + name_length, extra_length)?;
        // The extra field of large archives has the numbers that do not fit, in this order.
        while extra.len() >= 4 {
            let field = slice(extra, 4, number(extra, 2, 2)?)?;
            if extra.starts_with(&[1, 0]) {
                let mut field = field;
                for value in [&mut length, &mut packed, &mut local] {
                    if *value == 0xFFFF_FFFF {
                        *value = number(field, 0, 8)?;
                        field = &field[8..];
                    }
                }
            }
            extra = &extra[4 + field.len()..];
        }
        // An encrypted entry.
        if flags & 1 != 0 {
            return Err(Refusal::Password);
        }
        let here =
            bytes.get(local..directory).filter(|bytes| bytes.starts_with(MAGIC)).ok_or(Refusal::Damaged)?;
        let (local_name, local_extra) = (number(here, 26, 2)?, number(here, 28, 2)?);
        if number(here, 8, 2)? != method || slice(here, 30, local_name)? != name {
            return Err(Refusal::Damaged);
        }
        let data = slice(here, 30 + local_name + local_extra, packed)?;
        let is_stored = match method {
            0 if packed == length => true,
            8 => false,
            _ => return Err(Refusal::Damaged),
        };
        let name = String::from_utf8_lossy(name).to_lowercase().replace('\\', "/");
        let name = name.trim_start_matches("./").trim_start_matches('/').to_owned();
        let comment_length = number(header, 32, 2)?;
        Ok((Self { name, is_stored, data, length }, 46 + name_length + extra_length + comment_length))
    }

    /// Whether the name has this extension, in lower case.
    pub(super) fn has_extension(&self, extension: &str) -> bool {
        self.name.rsplit_once('.').is_some_and(|(_, found)| found == extension)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The content.
    pub(super) fn content(&self, budget: &mut Budget) -> Result<Vec<u8>, Refusal> {
        if self.length > MAX_ENTRY {
            return Err(Refusal::TooComplex);
        }
        budget.look_up()?;
        // Some programs read further than the directory says.
        let content = self.start(MAX_ENTRY, budget)?;
        if content.len() == self.length { Ok(content) } else { Err(Refusal::Damaged) }
    }

    /// The first bytes of the content.
    pub(super) fn start(&self, limit: usize, budget: &mut Budget) -> Result<Vec<u8>, Refusal> {
        if self.is_stored {
            let data = &self.data[..self.data.len().min(limit)];
            budget.read(data.len())?;
            return Ok(data.to_vec());
        }
        inflated(self.data, limit, budget)
    }
}

fn slice(bytes: &[u8], at: usize, length: usize) -> Result<&[u8], Refusal> {
    at.checked_add(length).and_then(|end| bytes.get(at..end)).ok_or(Refusal::Damaged)
}

/// A number with the least significant byte first.
fn number(bytes: &[u8], at: usize, length: usize) -> Result<usize, Refusal> {
    let bytes = slice(bytes, at, length)?;
    let number = bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    usize::try_from(number).map_err(|_| Refusal::Damaged)
}

#[cfg(test)]
mod tests {
    use super::super::samples::archive;
    use super::*;

    fn names(bytes: &[u8]) -> Result<Vec<String>, Refusal> {
        let archive = Archive::of(bytes, &mut Budget::of(bytes.len()))?;
        Ok(archive.entries().iter().map(|entry| entry.name.clone()).collect())
    }

    #[test]
    fn an_archive_has_one_meaning() {
        let entries: [(&str, &[u8]); 3] = [("A.xml", b"<a/>"), ("b\\C", b"text"), ("d/", b"")];
        for is_stored in [false, true] {
            let bytes = archive(&entries, is_stored);
            assert_eq!(names(&bytes), Ok(vec!["a.xml".to_owned(), "b/c".to_owned(), "d/".to_owned()]));
            let with_comment = [&bytes[..bytes.len() - 2], b"\x07\0comment"].concat();
            assert!(names(&with_comment).is_ok());
            let read = Archive::of(&bytes, &mut Budget::of(0)).unwrap();
            assert_eq!(read.entry("b/c").unwrap().content(&mut Budget::of(0)), Ok(b"text".to_vec()));
            for damaged in [
                bytes[..bytes.len() - 1].to_vec(),
                [b"x", &bytes[..]].concat(),
                [&bytes[..], &bytes].concat(),
                archive(&[entries[0], ("a.XML", b"<b/>")], is_stored),
                archive(&[entries[0], ("./a.xml", b"<b/>")], is_stored),
            ] {
                assert_eq!(names(&damaged), Err(Refusal::Damaged));
            }
            // A name that is another one in the directory, and a method of compression that is another one.
            for (at, byte) in [(30, b'B'), (8, 9)] {
                let mut damaged = bytes.clone();
                damaged[at] = byte;
                assert_eq!(names(&damaged), Err(Refusal::Damaged));
            }
            let directory = memmem::find(&bytes, DIRECTORY_ENTRY).unwrap();
            let mut encrypted = bytes.clone();
            encrypted[directory + 8] = 1;
            assert_eq!(names(&encrypted), Err(Refusal::Password));
            let mut short = bytes;
            short[directory + 24] = 3;
            let content = Archive::of(&short, &mut Budget::of(0))
                .and_then(|read| read.entry("a.xml").unwrap().content(&mut Budget::of(0)));
            assert_eq!(content, Err(Refusal::Damaged));
        }
    }

    #[test]
    fn work_on_an_archive_is_bounded() {
        let bomb = archive(&[("a", &vec![0; 9 << 20])], false);
        let entry = Archive::of(&bomb, &mut Budget::of(bomb.len())).unwrap();
        let refused = entry.entry("a").unwrap().content(&mut Budget::of(bomb.len()));
        assert_eq!(refused, Err(Refusal::TooComplex));
        let ends = [MAGIC, &END.repeat(500_000)].concat();
        assert_eq!(names(&ends), Err(Refusal::Damaged));
    }
}
