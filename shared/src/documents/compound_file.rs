//! Reads compound files (MS-CFB, the container of Word's DOC format). Malicious files cannot cause out-of-bounds reads or
//! infinite loops.

// Not the crate cfb: other programs also open damaged containers, which it refuses, and its work has no budget. The tests
// use it.

use super::budget::Budget;
use super::refusal::Refusal;

/// The first bytes of every compound file.
pub(super) const MAGIC: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";

const ENTRY: usize = 128;
const ROOT: u8 = 5;
/// The number of allocation table sectors that the header lists.
const LISTED_IN_HEADER: usize = 109;
/// Shorter streams are in parts of sectors, of this size.
const SHORT: u32 = 4096;
const PART: usize = 64;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A folder.
    Storage,
    /// A file.
    Stream,
}

/// An entry of the directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// The name in lower case: names are compared without case.
    pub(super) name: String,
    /// Whether it is directly below the root.
    pub(super) is_in_root: bool,
    first: u32,
    length: u32,
}

/// A compound file.
pub(super) struct CompoundFile<'b> {
    sectors: Sectors<'b>,
    root: u32,
    pub(super) entries: Vec<Entry>,
}

struct Sectors<'b> {
    bytes: &'b [u8],
    size: usize,
    /// The sectors of the allocation table, in order.
    table: Vec<u32>,
}

impl<'b> CompoundFile<'b> {
    /// Reads the directory.
    pub(super) fn of(bytes: &'b [u8], budget: &mut Budget) -> Result<Self, Refusal> {
        // The table and the directory are at most as long as the file.
        budget.read(2 * bytes.len())?;
        Self::read(bytes, budget)?.ok_or(Refusal::Damaged)
    }

    fn read(bytes: &'b [u8], budget: &mut Budget) -> Result<Option<Self>, Refusal> {
        let (Some(sectors), Some(first)) = (Sectors::of(bytes), number(bytes, 48)) else { return Ok(None) };
        let directory = sectors.chain(first, budget)?;
        let found: Vec<_> = directory.iter().flat_map(|sector| sector.chunks_exact(ENTRY)).collect();
        let Some(root) = found.first().filter(|root| root.get(66) == Some(&ROOT)) else { return Ok(None) };
        let (Some(child), Some(first)) = (number(root, 76), number(root, 116)) else { return Ok(None) };
        // The entries of a folder form a binary tree. Each is visited only once, so a cycle cannot cause an infinite loop.
        let (mut pending, mut visited) = (vec![child], vec![false; found.len()]);
        while let Some(index) = pending.pop() {
            budget.look_up()?;
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            let Some((entry, visited)) = found.get(index).zip(visited.get_mut(index)) else { continue };
            if !std::mem::replace(visited, true) {
                pending.extend([number(entry, 68), number(entry, 72)].into_iter().flatten());
            }
        }
        let entries =
            found.iter().zip(visited).filter_map(|(entry, visited)| Entry::of(entry, visited)).collect();
        Ok(Some(Self { sectors, root: first, entries }))
    }

    /// The first `limit` bytes of a stream.
    pub(super) fn content(
        &self,
        entry: &Entry,
        limit: usize,
        budget: &mut Budget,
    ) -> Result<Vec<u8>, Refusal> {
        let length = usize::try_from(entry.length).unwrap_or(usize::MAX).min(limit);
        let mut content = Vec::new();
        if entry.length >= SHORT {
            for sector in
                self.sectors.chain(entry.first, budget)?.into_iter().take(length.div_ceil(self.sectors.size))
            {
                budget.read(sector.len())?;
                content.extend_from_slice(sector);
            }
        } else {
            let all = self.sectors.chain(self.root, budget)?;
            let table = self.sectors.chain(number(self.sectors.bytes, 60).unwrap_or(u32::MAX), budget)?;
            let (parts, numbers) = (self.sectors.size / PART, self.sectors.size / 4);
            let mut next = usize::try_from(entry.first).ok();
            while let Some(index) = next.filter(|_| content.len() < length) {
                budget.look_up()?;
                let start = index % parts * PART;
                let Some(part) = all.get(index / parts).and_then(|sector| sector.get(start..start + PART))
                else {
                    break;
                };
                content.extend_from_slice(part);
                let following =
                    table.get(index / numbers).and_then(|sector| number(sector, index % numbers * 4));
                next = following.and_then(|next| usize::try_from(next).ok());
            }
        }
        content.truncate(length);
        Ok(content)
    }
}

impl Entry {
    fn of(entry: &[u8], is_in_root: bool) -> Option<Self> {
        let kind = match entry.get(66)? {
            1 => Kind::Storage,
            2 => Kind::Stream,
            _ => return None,
        };
        let units = entry.get(..64)?.as_chunks().0.iter().map(|unit| u16::from_le_bytes(*unit));
        let characters = char::decode_utf16(units.take_while(|unit| *unit != 0));
        let name: String = characters.map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        let (first, length) = (number(entry, 116)?, number(entry, 120)?);
        Some(Self { kind, name: name.to_lowercase(), is_in_root, first, length })
    }
}

impl<'b> Sectors<'b> {
    fn of(bytes: &'b [u8]) -> Option<Self> {
        // The sector size is stored as a power of two: 512 bytes, or 4,096 from version 4 on.
        let size = match bytes.get(30..32)? {
            [9, 0] => 512,
            [12, 0] => 4096,
            _ => return None,
        };
        let mut sectors = Self { bytes, size, table: Vec::new() };
        let header = bytes.get(76..76 + 4 * LISTED_IN_HEADER)?;
        sectors.table.extend(numbers(header));
        // The rest of the list is in separate sectors. The last number in each is the index of the next one. Reading
        // stops when the table covers all sectors of the file.
        let limit = bytes.len() / size / (size / 4) + 1;
        let mut next = number(bytes, 68)?;
        while sectors.table.len() < limit {
            let Some(listed) = sectors.get(next) else { break };
            sectors.table.extend(numbers(listed));
            next = sectors.table.pop()?;
        }
        Some(sectors)
    }

    fn get(&self, index: u32) -> Option<&'b [u8]> {
        let start = usize::try_from(index).ok()?.checked_add(1)?.checked_mul(self.size)?;
        self.bytes.get(start..start.checked_add(self.size)?)
    }

    /// The chain of sectors that starts at `first`. A cyclic chain is cut off at the number of sectors in the file.
    fn chain(&self, first: u32, budget: &mut Budget) -> Result<Vec<&'b [u8]>, Refusal> {
        let (mut sectors, mut next) = (Vec::new(), Some(first));
        while let Some((index, sector)) = next.and_then(|index| Some((index, self.get(index)?))) {
            if sectors.len() == self.bytes.len() / self.size {
                break;
            }
            budget.look_up()?;
            sectors.push(sector);
            next = self.next(index);
        }
        Ok(sectors)
    }

    fn next(&self, index: u32) -> Option<u32> {
        let (index, numbers) = (usize::try_from(index).ok()?, self.size / 4);
        number(self.get(*self.table.get(index / numbers)?)?, index % numbers * 4)
    }
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cfb::Version;
    use proptest::prelude::*;
    use std::io::{Cursor, Write};

    fn container(version: Version, storages: &[&str], streams: &[(&str, usize)]) -> Vec<u8> {
        let mut container = cfb::CompoundFile::create_with_version(version, Cursor::new(Vec::new())).unwrap();
        for storage in storages {
            container.create_storage(storage).unwrap();
        }
        for (stream, size) in streams {
            container.create_stream(stream).unwrap().write_all(&vec![b'x'; *size]).unwrap();
        }
        container.flush().unwrap();
        container.into_inner().into_inner()
    }

    /// The entries in the root.
    fn root_entries(bytes: &[u8]) -> Option<Vec<(Kind, String)>> {
        let file = super::CompoundFile::of(bytes, &mut Budget::of(bytes.len())).ok()?;
        let root = file.entries.into_iter().filter(|entry| entry.is_in_root);
        Some(root.map(|entry| (entry.kind, entry.name)).collect())
    }

    fn put(bytes: &mut [u8], at: usize, number: u32) {
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }

    #[test]
    fn only_names_in_the_root_are_found() {
        let names: Vec<_> = (0..40).map(|number| format!("/s{number}")).collect();
        for version in [Version::V3, Version::V4] {
            let mut streams = vec![("/WordDocument", 9_000), ("/ObjectPool/Inner", 10), ("/1Table", 0)];
            streams.extend(names.iter().map(|name| (name.as_str(), 5_000)));
            let mut found = root_entries(&container(version, &["/ObjectPool"], &streams)).unwrap();
            found.sort_by(|one, other| one.1.cmp(&other.1));
            let mut expected: Vec<_> =
                names.iter().map(|name| (Kind::Stream, name[1..].to_owned())).collect();
            expected.extend([
                (Kind::Stream, "1table".to_owned()),
                (Kind::Storage, "objectpool".to_owned()),
                (Kind::Stream, "worddocument".to_owned()),
            ]);
            expected.sort_by(|one, other| one.1.cmp(&other.1));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_long_allocation_table_is_read_beyond_the_header() {
        // The header lists only the part of the table for the first 7 MB. The later entries are beyond that.
        let names: Vec<_> = (0..8).map(|number| format!("/late{number}")).collect();
        let streams: Vec<_> =
            std::iter::once(("/big", 9 << 20)).chain(names.iter().map(|name| (name.as_str(), 1))).collect();
        assert_eq!(root_entries(&container(Version::V3, &[], &streams)).unwrap().len(), 9);
    }

    #[test]
    fn cycles_cause_no_infinite_loops() {
        let valid = container(Version::V3, &[], &[("/WordDocument", 5_000)]);
        let directory = (usize::try_from(number(&valid, 48).unwrap()).unwrap() + 1) * 512;
        let mut siblings = valid.clone();
        put(&mut siblings, directory + ENTRY + 68, 1);
        put(&mut siblings, directory + ENTRY + 72, 0);
        assert_eq!(root_entries(&siblings).unwrap(), [(Kind::Stream, "worddocument".to_owned())]);
        // Sector 0 is the first sector of the table, of its list and of the directory, and it is its own successor.
        let mut cyclic = valid;
        cyclic.resize(10 << 20, 0);
        for at in (48..52).chain(68..72).chain(76..10 << 20) {
            cyclic[at] = 0;
        }
        assert_eq!(root_entries(&cyclic), None);
        cyclic[512 + 66] = ROOT;
        assert_eq!(root_entries(&cyclic), Some(Vec::new()));
    }

    proptest! {
        #[test]
        fn damaged_containers_do_not_panic(
            changes in prop::collection::vec((0usize..7_000, prop_oneof![Just(0u32), Just(1), Just(u32::MAX), any::<u32>()]), 1..20),
            end in 0usize..9_000,
        ) {
            let mut bytes = container(Version::V3, &["/Macros"], &[("/WordDocument", 5_000), ("/Macros/VBA", 10)]);
            for (at, number) in changes {
                let at = at % (bytes.len() - 4);
                put(&mut bytes, at, number);
            }
            bytes.truncate(end);
            root_entries(&bytes);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
            root_entries(&bytes);
            if let Some(size) = bytes.get_mut(30..32) {
                size.copy_from_slice(&[9, 0]);
            }
            root_entries(&bytes);
        }
    }
}
