//! Reads the names of the root entries in compound files (OLE2, the container of Word's DOC format). Malicious files
//! cannot cause out-of-bounds reads or infinite loops.

/// The first bytes of every compound file.
pub(crate) const MAGIC: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";

const ENTRY: usize = 128;
const ROOT: u8 = 5;
/// The number of allocation table sectors that the header lists.
const LISTED_IN_HEADER: usize = 109;

/// The kind of an entry in the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A folder.
    Storage,
    /// A file.
    Stream,
}

struct Sectors<'b> {
    bytes: &'b [u8],
    size: usize,
    /// The sectors of the allocation table, in order.
    table: Vec<u32>,
}

/// The entries directly below the root; `None` if the container is broken.
pub(crate) fn root_entries(bytes: &[u8]) -> Option<Vec<(Kind, String)>> {
    let sectors = Sectors::of(bytes)?;
    let directory = sectors.chain(number(bytes, 48)?);
    let entries: Vec<_> = directory.iter().flat_map(|sector| sector.chunks_exact(ENTRY)).collect();
    let root = entries.first().filter(|root| root.get(66) == Some(&ROOT))?;
    // The entries of a folder form a binary tree. Each is visited only once, so a cycle cannot cause an infinite loop.
    let (mut pending, mut visited) = (vec![number(root, 76)?], vec![false; entries.len()]);
    let mut found = Vec::new();
    while let Some(index) = pending.pop() {
        let Some((entry, visited)) =
            usize::try_from(index).ok().and_then(|index| entries.get(index).zip(visited.get_mut(index)))
        else {
            continue;
        };
        if !std::mem::replace(visited, true) {
            pending.extend([number(entry, 68)?, number(entry, 72)?]);
            found.extend(kind_and_name(entry));
        }
    }
    Some(found)
}

fn kind_and_name(entry: &[u8]) -> Option<(Kind, String)> {
    let kind = match entry.get(66)? {
        1 => Kind::Storage,
        2 => Kind::Stream,
        _ => return None,
    };
    let units = entry
        .get(..64)?
        .chunks_exact(2)
        .map(|unit| unit.iter().rev().fold(0, |unit, &byte| unit << 8 | u16::from(byte)));
    let name = char::decode_utf16(units.take_while(|&unit| unit != 0)).collect::<Result<_, _>>().ok()?;
    Some((kind, name))
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
    fn chain(&self, first: u32) -> Vec<&'b [u8]> {
        let sector = |&index: &u32| self.next(index);
        std::iter::successors(Some(first), sector)
            .map_while(|index| self.get(index))
            .take(self.bytes.len() / self.size)
            .collect()
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
    use cfb::{CompoundFile, Version};
    use proptest::prelude::*;
    use std::io::{Cursor, Write};

    fn container(version: Version, storages: &[&str], streams: &[(&str, usize)]) -> Vec<u8> {
        let mut container = CompoundFile::create_with_version(version, Cursor::new(Vec::new())).unwrap();
        for storage in storages {
            container.create_storage(storage).unwrap();
        }
        for (stream, size) in streams {
            container.create_stream(stream).unwrap().write_all(&vec![b'x'; *size]).unwrap();
        }
        container.flush().unwrap();
        container.into_inner().into_inner()
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
                (Kind::Stream, "1Table".to_owned()),
                (Kind::Storage, "ObjectPool".to_owned()),
                (Kind::Stream, "WordDocument".to_owned()),
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
        assert_eq!(root_entries(&siblings).unwrap(), [(Kind::Stream, "WordDocument".to_owned())]);
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
