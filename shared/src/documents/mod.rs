//! Detects the type of a resume file by its content. File names and declared types come from the uploader and are not
//! trusted.
//!
//! Documents with macros are rejected, and so are PDF and DOCX files with other active content; see
//! [`active_content`].

mod active_content;
mod compound_file;

use std::io::{Cursor, Read};

use zip::ZipArchive;

use compound_file::Kind;

/// The file types that are accepted as resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// Adobe's Portable Document Format.
    Pdf,
    /// Word's binary format.
    Doc,
    /// Word's XML format.
    Docx,
    /// The `OpenDocument` text format.
    Odt,
    /// Plain text.
    Txt,
}

/// The number of bytes at the start of a PDF that must contain its header, and at its end that must contain its end
/// marker.
const PDF_MARGIN: usize = 1024;
const ODT_MEDIA_TYPE: &str = "application/vnd.oasis.opendocument.text";
/// Prefixes of text that some programs would execute or render. Markup later in a file is accepted, because programs
/// detect a file's type by its beginning and browsers always download the file.
const NOT_PLAIN: [&str; 5] = ["#!", "%!PS", "%PDF-", "{\\rtf", "MIME-Version:"];

/// Why a file is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentError {
    /// The type is not accepted, or the file is broken or empty.
    Type,
    /// The document contains programs or embedded files, or refers to files that a reader loads by itself.
    Active,
}

impl FileKind {
    /// Detects the type of a file and checks that it has no active content.
    pub fn of(bytes: &[u8]) -> Result<Self, ContentError> {
        let kind = Self::detect(bytes).ok_or(ContentError::Type)?;
        let is_active = match kind {
            Self::Pdf => active_content::is_in_pdf(bytes),
            Self::Docx => ZipArchive::new(Cursor::new(bytes))
                .map_or(true, |mut archive| active_content::is_in_docx(&mut archive)),
            Self::Doc | Self::Odt | Self::Txt => false,
        };
        if is_active { Err(ContentError::Active) } else { Ok(kind) }
    }

    fn detect(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"PK\x03\x04") {
            of_zip(bytes)
        } else if bytes.starts_with(compound_file::MAGIC) {
            is_word(bytes).then_some(Self::Doc)
        } else if is_pdf(bytes) {
            Some(Self::Pdf)
        } else {
            is_plain_text(bytes).then_some(Self::Txt)
        }
    }

    /// The file name extension, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Doc => "doc",
            Self::Docx => "docx",
            Self::Odt => "odt",
            Self::Txt => "txt",
        }
    }

    /// The registered media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Pdf => "application/pdf",
            Self::Doc => "application/msword",
            Self::Docx => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            Self::Odt => ODT_MEDIA_TYPE,
            Self::Txt => "text/plain",
        }
    }
}

fn is_pdf(bytes: &[u8]) -> bool {
    let head = bytes.get(..PDF_MARGIN).unwrap_or(bytes);
    // Some programs add padding at the end.
    let end =
        bytes.iter().rposition(|byte| !byte.is_ascii_whitespace() && *byte != 0).map_or(0, |last| last + 1);
    let tail = bytes.get(end.saturating_sub(PDF_MARGIN)..end).unwrap_or_default();
    contains(head, b"%PDF-") && contains(tail, b"%%EOF")
}

fn contains(bytes: &[u8], pattern: &[u8]) -> bool {
    bytes.windows(pattern.len()).any(|window| window == pattern)
}

fn is_word(bytes: &[u8]) -> bool {
    let entries = compound_file::root_entries(bytes).unwrap_or_default();
    let has = |kind, name: &str| entries.iter().any(|entry| entry.0 == kind && entry.1 == name);
    has(Kind::Stream, "WordDocument") && !has(Kind::Storage, "Macros")
}

/// Detects the type of a ZIP archive. It reads only entry names and the first bytes of one uncompressed entry, and
/// decompresses nothing.
fn of_zip(bytes: &[u8]) -> Option<FileKind> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let has = |name: &[u8]| archive.index_for_name_raw(name).is_some();
    if has(b"[Content_Types].xml") && has(b"word/document.xml") {
        let is_macro = |name: &[u8]| name.to_ascii_lowercase().ends_with(b"vbaproject.bin");
        return (!archive.file_names_raw().any(is_macro)).then_some(FileKind::Docx);
    }
    let is_macro = |name: &[u8]| name.starts_with(b"Basic/") || name.starts_with(b"Scripts/");
    if archive.file_names_raw().any(is_macro) {
        return None;
    }
    let mut media_type = String::new();
    archive.by_name("mimetype").ok()?.take(64).read_to_string(&mut media_type).ok()?;
    (media_type == ODT_MEDIA_TYPE).then_some(FileKind::Odt)
}

fn is_plain_text(bytes: &[u8]) -> bool {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (units, rest) = bytes.as_chunks();
        let text: Result<String, _> = char::decode_utf16(units.iter().map(|bytes| unit(*bytes))).collect();
        rest.is_empty() && text.is_ok_and(|text| is_plain(&text))
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] | rest => std::str::from_utf8(rest).is_ok_and(is_plain),
    }
}

fn is_plain(text: &str) -> bool {
    let start = text.trim_start();
    let is_markup = start.strip_prefix('<').is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '!' | '?' | '/' | '%'))
    });
    let is_program = NOT_PLAIN.iter().any(|beginning| start.starts_with(beginning));
    let is_control = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\x0C');
    !start.is_empty() && !is_markup && !is_program && !text.contains(is_control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cfb::CompoundFile;
    use proptest::prelude::*;
    use std::io::Write;
    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    const PDF: &[u8] =
        b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\nstartxref\n9\n%%EOF\n";

    fn of(bytes: &[u8]) -> Option<FileKind> {
        FileKind::of(bytes).ok()
    }

    fn zip(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in entries {
            let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
            archive.start_file(*name, stored).unwrap();
            archive.write_all(content.as_bytes()).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    fn docx(more: &[&str]) -> Vec<u8> {
        let names = ["[Content_Types].xml", "_rels/.rels", "word/document.xml"];
        zip(&names.iter().chain(more).map(|name| (*name, "<x/>")).collect::<Vec<_>>())
    }

    fn odt(media_type: &str, more: &[&str]) -> Vec<u8> {
        let mut entries = vec![("mimetype", media_type), ("content.xml", "<x/>")];
        entries.extend(more.iter().map(|name| (*name, "<x/>")));
        zip(&entries)
    }

    fn doc(storages: &[&str], streams: &[&str]) -> Vec<u8> {
        let mut container = CompoundFile::create(Cursor::new(Vec::new())).unwrap();
        for storage in storages {
            container.create_storage(storage).unwrap();
        }
        for stream in streams {
            container.create_stream(stream).unwrap().write_all(&[7; 5_000]).unwrap();
        }
        container.flush().unwrap();
        container.into_inner().into_inner()
    }

    fn utf16(text: &str, bytes_of: fn(u16) -> [u8; 2]) -> Vec<u8> {
        std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(bytes_of).collect()
    }

    fn samples() -> [Vec<u8>; 5] {
        let odt = odt("application/vnd.oasis.opendocument.text", &["Configurations2/"]);
        [
            PDF.to_vec(),
            doc(&["/ObjectPool"], &["/WordDocument", "/1Table"]),
            docx(&[]),
            odt,
            "Ada Lovelace, née Byron".into(),
        ]
    }

    #[test]
    fn every_file_type_is_detected() {
        let kinds = [FileKind::Pdf, FileKind::Doc, FileKind::Docx, FileKind::Odt, FileKind::Txt];
        let detected = samples().map(|bytes| of(&bytes));
        assert_eq!(detected, kinds.map(Some));
        assert_eq!(kinds.map(FileKind::extension), ["pdf", "doc", "docx", "odt", "txt"]);
        assert_eq!(kinds.map(FileKind::media_type)[3], "application/vnd.oasis.opendocument.text");
    }

    #[test]
    fn a_pdf_needs_a_header_near_its_start_and_an_end_marker_near_its_end() {
        let around =
            |before: usize, after: usize| [&vec![b'\xA0'; before], PDF, &vec![b'\xA0'; after]].concat();
        assert_eq!(of(&around(1019, 1000)), Some(FileKind::Pdf));
        assert_eq!(of(&around(1020, 0)), None);
        assert_eq!(of(&around(0, 1024)), None);
        assert_eq!(of(&[PDF, &[0; 5_000], b"\r\n"].concat()), Some(FileKind::Pdf));
        assert_eq!(of(&PDF[..PDF.len() - 2]), None);
        assert_eq!(of(b"%PDF-1.4 and then only text"), None);
        assert_eq!(of("I write %PDF- files".as_bytes()), Some(FileKind::Txt));
    }

    #[test]
    fn a_word_document_needs_its_stream_in_the_root_and_no_macros() {
        for (storages, streams) in [
            (vec![], vec!["/Workbook"]),
            (vec!["/MBD1"], vec!["/Workbook", "/MBD1/WordDocument"]),
            (vec!["/WordDocument"], vec![]),
            (vec!["/Macros"], vec!["/WordDocument"]),
        ] {
            assert_eq!(of(&doc(&storages, &streams)), None, "{storages:?} {streams:?}");
        }
        let [_, doc, ..] = samples();
        assert_eq!(of(&doc[..600]), None);
        for name in ["word/vbaProject.bin", "word/VBAPROJECT.BIN", "other/vbaProject.bin"] {
            assert_eq!(of(&docx(&[name])), None, "{name}");
        }
        for name in ["Basic/script-lc.xml", "Scripts/python/x.py"] {
            assert_eq!(of(&odt(ODT_MEDIA_TYPE, &[name])), None, "{name}");
        }
    }

    #[test]
    fn active_content_is_told_apart_from_other_types() {
        let active = [&PDF[..PDF.len() - 7], b"<</S/JavaScript>>\n%%EOF\n"].concat();
        assert_eq!(FileKind::of(&active), Err(ContentError::Active));
        let template =
            "<r><r Type='x/attachedTemplate' Target='https://evil.example' TargetMode='External'/></r>";
        let archive =
            [("[Content_Types].xml", "<x/>"), ("word/document.xml", ""), ("word/_rels/s.rels", template)];
        assert_eq!(FileKind::of(&zip(&archive)), Err(ContentError::Active));
        assert_eq!(FileKind::of(b"<html>"), Err(ContentError::Type));
    }

    #[test]
    fn other_archives_are_rejected() {
        for bytes in [
            zip(&[]),
            zip(&[("resume.pdf", "%PDF-1.7 %%EOF")]),
            zip(&[("[Content_Types].xml", ""), ("xl/workbook.xml", "")]),
            zip(&[("word/document.xml", "")]),
            odt("application/vnd.oasis.opendocument.text-template", &[]),
            odt("application/vnd.oasis.opendocument.text\n", &[]),
            odt("application/vnd.oasis.opendocument.spreadsheet", &[]),
            odt(&"a".repeat(100_000), &[]),
            docx(&[])[..100].to_vec(),
            [b"PK\x03\x04".as_slice(), PDF].concat(),
        ] {
            assert_eq!(of(&bytes), None, "{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(200)]));
        }
        // The mimetype entry must not be compressed.
        let [_, _, _, mut compressed, _] = samples();
        let entry = compressed.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
        compressed[entry + 10] = 8;
        assert_eq!(of(&compressed), None);
    }

    #[test]
    fn plain_text_has_no_control_characters_and_does_not_start_with_markup() {
        let text = "Zoë\r\n\tEngineer, C++ & <script> tags\n\x0CPage 2 < page 3 🦀";
        for bytes in [
            text.as_bytes().to_vec(),
            format!("\u{feff}{text}").into_bytes(),
            utf16(text, u16::to_le_bytes),
            utf16(text, u16::to_be_bytes),
            b"<3 crabs".to_vec(),
            b"x".to_vec(),
        ] {
            assert_eq!(of(&bytes), Some(FileKind::Txt), "{bytes:?}");
        }
        for text in [
            "",
            " \n\u{3000}",
            "a\0b",
            "a\x1b[2Jb",
            "a\x08",
            "a\u{85}b",
            "a\x7f",
            "<!doctype html>",
            "\n <HTML>",
            "<svg onload=x>",
            "<?xml version='1.0'?>",
            "<?php",
            "</p>",
            "<%@ page %>",
            "#!/bin/sh",
            "%!PS-Adobe-3.0",
            "{\\rtf1\\ansi}",
            "MIME-Version: 1.0",
        ] {
            assert_eq!(of(text.as_bytes()), None, "{text:?}");
            assert_eq!(of(&utf16(text, u16::to_le_bytes)), None, "{text:?}");
        }
        let odd = [&utf16("ab", u16::to_le_bytes)[..], b"c"].concat();
        for bytes in [
            &b"caf\xE9"[..],
            b"\xFF\xFE\x00\xD8",
            b"a\x00b\x00",
            b"\xFF\xFE",
            b"\x7FELF\x02",
            b"MZ\x90\x00",
            &odd,
        ] {
            assert_eq!(of(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn large_malicious_files_are_rejected() {
        let directory_ends: Vec<u8> = b"PK\x05\x06\0\0\0\0\xFF\x7F\xFF\x7F\x04\0\0\0\0\0\0\0".repeat(50_000);
        let one = zip(&[("a", "")]);
        let directory = one.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
        let (entry, end) = one[directory..].split_at(47);
        let mut end = end.to_vec();
        end[8..12].copy_from_slice(&[0x20, 0x4E, 0x20, 0x4E]);
        end[12..16].copy_from_slice(&(47u32 * 20_000).to_le_bytes());
        let many = [&one[..directory], &entry.repeat(20_000), &end].concat();
        assert_eq!(ZipArchive::new(Cursor::new(&many)).unwrap().len(), 1);
        for bytes in [
            [b"PK\x03\x04".as_slice(), &directory_ends].concat(),
            many,
            [compound_file::MAGIC, &vec![9; 10 << 20]].concat(),
            [b"%PDF-".as_slice(), &b"%%EO".repeat(2 << 20), b"\x80"].concat(),
            vec![0; 10 << 20],
            b"<".repeat(10 << 20).into_iter().chain([0]).collect(),
        ] {
            assert_eq!(of(&bytes), None);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..600), beginning in 0usize..6) {
            let beginnings = [b"".as_slice(), b"PK\x03\x04", compound_file::MAGIC, b"%PDF-", b"\xFF\xFE", b"\xFE\xFF"];
            of(&[beginnings[beginning], &bytes].concat());
        }

        #[test]
        fn damaged_files_do_not_panic(
            which in 0usize..5,
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
            end in any::<prop::sample::Index>(),
            is_cut: bool,
        ) {
            let mut bytes = samples()[which].clone();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if is_cut {
                bytes.truncate(end.index(bytes.len()));
            }
            of(&bytes);
        }

        #[test]
        fn text_without_control_characters_and_markup_is_accepted(text in "[^\\p{Cc}<#%{M\u{feff}]{1,200}") {
            prop_assert_eq!(of(text.as_bytes()).is_some(), !text.trim().is_empty());
            prop_assert_eq!(of(&utf16(&text, u16::to_be_bytes)).is_some(), !text.trim().is_empty());
        }
    }
}
