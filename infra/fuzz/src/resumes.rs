//! Resume files: an accepted file is what its type says, and has none of the content that is looked for.

use std::io::{Cursor, Read};

use flate2::Compression;
use flate2::read::DeflateEncoder;
use shared::documents::{ContentError, FileKind};

const COMPOUND_FILE: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";
const ZIP: &[u8] = b"PK\x03\x04";
/// The bytes that separate the entries of an archive, and a name from its content.
const ENTRY: u8 = 0x1E;
const CONTENT: u8 = 0x1F;
/// Names in a PDF that stand for active content.
const ACTIVE: [&str; 6] = ["/JavaScript", "/Launch", "/EmbeddedFile", "/SubmitForm", "/XFA", "/Encrypt"];

/// The input is a compound file without its first eight bytes.
pub fn compound_files(input: &[u8]) {
    let file = [COMPOUND_FILE, input].concat();
    match FileKind::of(&file) {
        Ok(kind) => {
            assert_eq!(kind, FileKind::Doc);
            let name: Vec<u8> = "WordDocument".encode_utf16().flat_map(u16::to_le_bytes).collect();
            assert!(contains(&file, &name));
        }
        Err(error) => assert_eq!(error, ContentError::Type),
    }
}

/// The input is a file of any type.
pub fn resumes(input: &[u8]) {
    let Ok(kind) = FileKind::of(input) else { return };
    match kind {
        FileKind::Pdf => {
            assert!(contains(&input[..input.len().min(1_024)], b"%PDF-") && contains(input, b"%%EOF"));
            // In a string, such a word may be part of a web address.
            assert!(input.contains(&b'(') || !ACTIVE.iter().any(|name| contains_name(input, name)));
        }
        FileKind::Doc => assert!(input.starts_with(COMPOUND_FILE)),
        FileKind::Docx | FileKind::Odt => assert!(input.starts_with(ZIP)),
        FileKind::Txt => {
            assert!(
                ![ZIP, COMPOUND_FILE, b"%PDF-", b"#!", b"<html"].iter().any(|start| input.starts_with(start))
            );
            assert!(input.starts_with(b"\xFF\xFE") || input.starts_with(b"\xFE\xFF") || !input.contains(&0));
            let longer = [input, b" more"].concat();
            assert!(str::from_utf8(input).is_err() || FileKind::of(&longer) == Ok(FileKind::Txt));
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
    let entries: Vec<_> = input
        .split(|byte| *byte == ENTRY)
        .map(|entry| match entry.iter().position(|byte| *byte == CONTENT) {
            Some(end) => (&entry[..end], &entry[end + 1..]),
            None => (entry, &entry[..0]),
        })
        .collect();
    let mut names: Vec<_> = entries.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    let is_unique = names.len() == entries.len();
    let Ok(kind) = FileKind::of(&archive(&entries)) else { return };
    let has = |name: &[u8]| names.contains(&name);
    match kind {
        FileKind::Docx => {
            assert!(has(b"[Content_Types].xml") && has(b"word/document.xml"));
            assert!(!names.iter().any(|name| name.to_ascii_lowercase().ends_with(b"vbaproject.bin")));
            let mut relationships =
                entries.iter().filter(|(name, _)| name.to_ascii_lowercase().ends_with(b".rels"));
            assert!(!is_unique || !relationships.any(|(_, content)| loads_something(uncompressed(content))));
        }
        FileKind::Odt => {
            assert!(has(b"mimetype"));
            assert!(!names.iter().any(|name| name.starts_with(b"Basic/") || name.starts_with(b"Scripts/")));
        }
        kind => panic!("{kind:?}"),
    }
}

/// Whether an XML file of relationships obviously refers to a file that Word loads by itself.
fn loads_something(xml: &[u8]) -> bool {
    let Ok(xml) = str::from_utf8(xml) else { return false };
    // These may hide the attribute, so that it has no effect.
    if xml.contains(['&', '\'']) || xml.contains("<!") || xml.contains("<?") {
        return false;
    }
    let tags =
        xml.split('<').skip(1).filter_map(|tag| tag.split_once('>')).map(|(tag, _)| tag.to_ascii_lowercase());
    tags.into_iter().any(|tag| {
        tag.starts_with("relationship ")
            && tag.contains(" targetmode=\"external\"")
            && !tag.contains("hyperlink")
            && !tag.contains("attachedtemplate")
    })
}

fn uncompressed(content: &[u8]) -> &[u8] {
    content.strip_prefix(b"=").unwrap_or(content)
}

/// Builds an archive with these names and contents.
fn archive(entries: &[(&[u8], &[u8])]) -> Vec<u8> {
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

/// Whether a PDF contains a name that is not the beginning of a longer one.
fn contains_name(pdf: &[u8], name: &str) -> bool {
    let is_end = |byte: u8| byte.is_ascii_whitespace() || byte == 0 || b"()<>[]{}/%".contains(&byte);
    pdf.windows(name.len() + 1)
        .any(|window| window.starts_with(name.as_bytes()) && is_end(window[name.len()]))
}
