//! Resume files: an accepted file is what its type says, and has none of the content that is looked for.

use std::io::{Cursor, Read};

use flate2::Compression;
use flate2::read::DeflateEncoder;
use shared::documents::{Budget, FileKind};

const COMPOUND_FILE: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";
const ZIP: &[u8] = b"PK\x03\x04";
/// The bytes that separate the entries of an archive, and a name from its content.
const ENTRY: u8 = 0x1E;
const CONTENT: u8 = 0x1F;
/// Actions in a PDF that act, in objects that no reader misses.
const ACTIONS: [&[u8]; 4] =
    [b" 0 obj<</S/JavaScript>>", b" 0 obj<</S/Launch>>", b" 0 obj<</JS(x)>>", b" 0 obj<</S/SubmitForm>>"];

/// The input is a compound file without its first eight bytes.
pub fn compound_files(input: &[u8]) {
    let file = [COMPOUND_FILE, input].concat();
    let Some(kind) = judge(&file) else { return };
    assert_eq!(kind, FileKind::Doc);
    let name: Vec<u8> = "worddocument".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(contains(&file.to_ascii_lowercase(), &name));
}

/// The type of a file that is accepted, after at most the work that its size justifies.
fn judge(file: &[u8]) -> Option<FileKind> {
    let mut budget = Budget::of(file.len());
    let kind = FileKind::within(&mut budget, file).ok();
    let size = u64::try_from(file.len()).unwrap_or(u64::MAX);
    assert!(budget.spent() <= 16 * size + 8 * 1024 * 1024);
    kind
}

/// The input is a file of any type.
pub fn resumes(input: &[u8]) {
    let Some(kind) = judge(input) else { return };
    match kind {
        FileKind::Pdf => {
            assert!(contains(&input[..input.len().min(1_024)], b"%PDF-") && contains(input, b"%%EOF"));
            assert!(!ACTIONS.iter().any(|action| contains(input, action)));
        }
        FileKind::Doc => assert!(input.starts_with(COMPOUND_FILE)),
        FileKind::Docx | FileKind::Docm | FileKind::Odt => assert!(input.starts_with(ZIP)),
        FileKind::Rtf => assert!(input.starts_with(b"{\\rtf") && !contains(input, b"{\\*\\objdata ")),
        FileKind::Txt => {
            assert!(
                ![ZIP, COMPOUND_FILE, b"%PDF-", b"#!", b"<html"].iter().any(|start| input.starts_with(start))
            );
            assert!(input.starts_with(b"\xFF\xFE") || input.starts_with(b"\xFE\xFF") || !input.contains(&0));
            let longer = [input, b" more"].concat();
            assert!(
                str::from_utf8(input).is_err()
                    || input.ends_with(b"\x1A")
                    || judge(&longer) == Some(FileKind::Txt)
            );
        }
    }
}

/// After a first byte 0, the input is a file that begins like an archive. Otherwise it consists of the names and the
/// contents of the entries of an archive. Contents after `=` are stored without compression.
pub fn zips(input: &[u8]) {
    let Some((form, rest)) = input.split_first() else { return };
    if *form == 0 {
        return resumes(&[ZIP, rest].concat());
    }
    let entries = entries(input);
    let Some(kind) = judge(&archive(&entries)) else { return };
    let names: Vec<_> = entries.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    let has = |name: &[u8]| names.iter().any(|other| other == name);
    match kind {
        FileKind::Docx | FileKind::Docm => {
            assert!(!names.iter().any(|name| name.ends_with(b"vbaproject.bin")));
            let mut relationships = entries.iter().zip(&names).filter(|(_, name)| name.ends_with(b".rels"));
            assert!(!relationships.any(|((_, content), _)| loads_something(uncompressed(content))));
        }
        FileKind::Odt => {
            assert!(has(b"mimetype"));
            assert!(!names.iter().any(|name| name.starts_with(b"basic/") || name.starts_with(b"scripts/")));
        }
        kind => panic!("{kind:?}"),
    }
}

/// The names and the contents of the entries of an archive.
pub(crate) fn entries(input: &[u8]) -> Vec<(&[u8], &[u8])> {
    input
        .split(|byte| *byte == ENTRY)
        .map(|entry| match entry.iter().position(|byte| *byte == CONTENT) {
            Some(end) => (&entry[..end], &entry[end + 1..]),
            None => (entry, &entry[..0]),
        })
        .collect()
}

/// Whether an XML file of relationships obviously refers to a file that Word loads by itself.
fn loads_something(xml: &[u8]) -> bool {
    let Ok(xml) = str::from_utf8(xml) else { return false };
    // These may hide the attribute, so that it has no effect.
    if xml.contains(['&', '\'']) || xml.contains("<!") || xml.contains("<?") {
        return false;
    }
    let mut tags = xml.split('<').skip(1).filter_map(|tag| tag.split_once('>')).map(|(tag, _)| tag);
    tags.any(|tag| {
        tag.starts_with("Relationship ")
            && tag.contains(" TargetMode=\"External\"")
            && tag.contains(" Target=\"https://")
            && !tag.to_ascii_lowercase().contains("hyperlink")
    })
}

fn uncompressed(content: &[u8]) -> &[u8] {
    content.strip_prefix(b"=").unwrap_or(content)
}

/// Builds an archive with these names and contents.
pub(crate) fn archive(entries: &[(&[u8], &[u8])]) -> Vec<u8> {
    let number = |number: usize| u32::try_from(number).expect("a small archive").to_le_bytes();
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in entries {
        let name = &name[..name.len().min(1_000)];
        let (plain, is_stored) = (uncompressed(content), content.starts_with(b"="));
        let data = if is_stored { plain.to_vec() } else { deflated(plain) };
        let method = if is_stored { 0 } else { 8 };
        let mut crc = flate2::Crc::new();
        crc.update(plain);
        let mut header = vec![20, 0, 0, 0, method, 0, 0, 0, 0x21, 0];
        header.extend(
            [crc.sum().to_le_bytes(), number(data.len()), number(plain.len()), number(name.len())].concat(),
        );
        directory.extend([b"PK\x01\x02\x14\0", &header[..], &[0; 10], &number(file.len()), name].concat());
        file.extend([ZIP, &header, name, &data].concat());
    }
    let count = u16::try_from(entries.len()).unwrap_or(u16::MAX).to_le_bytes();
    let (start, length) = (number(file.len()), number(directory.len()));
    file.extend(directory);
    file.extend([b"PK\x05\x06\0\0\0\0", &count[..], &count, &length, &start, &[0, 0]].concat());
    file
}

fn deflated(plain: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    DeflateEncoder::new(Cursor::new(plain), Compression::fast()).read_to_end(&mut data).expect("memory");
    data
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
