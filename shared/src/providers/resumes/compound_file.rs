//! Compound files (OLE2, the container of Word's DOC): the names in their root, read within bounds whatever the file
//! claims.

/// What every compound file begins with.
pub(crate) const MAGIC: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";

const ENTRY: usize = 128;
const ROOT: u8 = 5;
/// How many sectors of the allocation table the header itself lists.
const LISTED_IN_HEADER: usize = 109;

/// What an entry of the root is.
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
    /// Which sectors hold the allocation table, in order.
    table: Vec<u32>,
}

/// The names right below the root; `None` where the container is broken.
pub(crate) fn root_entries(bytes: &[u8]) -> Option<Vec<(Kind, String)>> {
    let sectors = Sectors::of(bytes)?;
    let directory = sectors.chain(number(bytes, 48)?);
    let entries: Vec<_> = directory.iter().flat_map(|sector| sector.chunks_exact(ENTRY)).collect();
    let root = entries.first().filter(|root| root.get(66) == Some(&ROOT))?;
    // The entries of a folder are a binary tree; each is taken once, so that a knot in it has an end.
    let (mut waiting, mut seen) = (vec![number(root, 76)?], vec![false; entries.len()]);
    let mut found = Vec::new();
    while let Some(index) = waiting.pop() {
        let Some((entry, seen)) =
            usize::try_from(index).ok().and_then(|index| entries.get(index).zip(seen.get_mut(index)))
        else {
            continue;
        };
        if !std::mem::replace(seen, true) {
            waiting.extend([number(entry, 68)?, number(entry, 72)?]);
            found.extend(named(entry));
        }
    }
    Some(found)
}

fn named(entry: &[u8]) -> Option<(Kind, String)> {
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
        // The size is given as a power of two: 512 bytes, or 4,096 since version 4.
        let size = match bytes.get(30..32)? {
            [9, 0] => 512,
            [12, 0] => 4096,
            _ => return None,
        };
        let mut sectors = Self { bytes, size, table: Vec::new() };
        let header = bytes.get(76..76 + 4 * LISTED_IN_HEADER)?;
        sectors.table.extend(numbers(header));
        // The rest of the list is in sectors of its own, the last number of each saying where the next is. More of the
        // list than the file has sectors for is not read.
        let enough = bytes.len() / size / (size / 4) + 1;
        let mut next = number(bytes, 68)?;
        while sectors.table.len() < enough {
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

    /// The sectors that follow each other from `first` on; a chain that turns back on itself ends with the file's
    /// length.
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
    fn the_names_in_the_root_are_found_and_those_further_down_are_not() {
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
    fn a_table_too_long_for_the_header_is_read_from_the_rest_of_its_list() {
        // The header lists the table of 7 MB; the second stream's entry is put where only the list goes on to.
        let names: Vec<_> = (0..8).map(|number| format!("/late{number}")).collect();
        let streams: Vec<_> =
            std::iter::once(("/big", 9 << 20)).chain(names.iter().map(|name| (name.as_str(), 1))).collect();
        assert_eq!(root_entries(&container(Version::V3, &[], &streams)).unwrap().len(), 9);
    }

    #[test]
    fn knots_have_an_end() {
        let sound = container(Version::V3, &[], &[("/WordDocument", 5_000)]);
        let directory = (usize::try_from(number(&sound, 48).unwrap()).unwrap() + 1) * 512;
        let mut siblings = sound.clone();
        put(&mut siblings, directory + ENTRY + 68, 1);
        put(&mut siblings, directory + ENTRY + 72, 0);
        assert_eq!(root_entries(&siblings).unwrap(), [(Kind::Stream, "WordDocument".to_owned())]);
        // Every sector is the first of the table, of its list, and of the directory, and follows itself.
        let mut itself = sound;
        itself.resize(10 << 20, 0);
        for at in (48..52).chain(68..72).chain(76..10 << 20) {
            itself[at] = 0;
        }
        assert_eq!(root_entries(&itself), None);
        itself[512 + 66] = ROOT;
        assert_eq!(root_entries(&itself), Some(Vec::new()));
    }

    proptest! {
        #[test]
        fn a_broken_container_breaks_nothing(
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
        fn nothing_is_read_into_noise(mut bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
            root_entries(&bytes);
            if let Some(size) = bytes.get_mut(30..32) {
                size.copy_from_slice(&[9, 0]);
            }
            root_entries(&bytes);
        }
    }
}
