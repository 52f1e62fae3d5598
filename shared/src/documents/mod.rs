//! What an uploaded document is, and what it would do when somebody opens it.
//!
//! File names and declared types come from the uploader and are not trusted: the content decides. Each format has a reader
//! that reads its tokens as its standard defines them. What acts by itself or on opening is refused, and so is what needs
//! a password to open, and what programs would read differently. All readers spend from one [`Budget`].

mod archive;
mod budget;
mod compound_file;
mod fields;
mod file_kind;
mod inflate;
mod location;
mod odf;
mod ooxml;
mod pdf;
mod refusal;
mod rtf;
mod text;
mod word;
mod xml;

use archive::Archive;

pub use budget::Budget;
pub use file_kind::FileKind;
pub use refusal::Refusal;

/// The first bytes of pictures. The others have their type after the length of a box.
const PICTURES: [&[u8]; 6] =
    [b"\xFF\xD8\xFF", b"\x89PNG\r\n\x1A\n", b"GIF8", b"II*\0", b"MM\0*", b"\0\0\x01\0"];
/// The types of boxes of HEIC and AVIF.
const PICTURE_BOXES: [&[u8]; 6] = [b"ftyphei", b"ftyphev", b"ftypmif1", b"ftypmsf1", b"ftypavi", b"ftypjxl"];
/// Entries of archives that only Pages, Numbers and Keynote write.
const IWORK: [&str; 4] = ["index/document.iwa", "index.zip", "index.apxl", "buildversionhistory.plist"];

impl FileKind {
    /// Detects the type of a file and checks it.
    pub fn of(bytes: &[u8]) -> Result<Self, Refusal> {
        Self::within(&mut Budget::of(bytes.len()), bytes)
    }

    /// Detects the type of a file and checks it within this budget.
    pub fn within(budget: &mut Budget, bytes: &[u8]) -> Result<Self, Refusal> {
        if bytes.is_empty() {
            Err(Refusal::Empty)
        } else if bytes.starts_with(archive::MAGIC) {
            of_archive(bytes, budget)
        } else if bytes.starts_with(compound_file::MAGIC) {
            word::check(bytes, budget).map(|()| Self::Doc)
        } else if bytes.starts_with(rtf::MAGIC) {
            rtf::check(bytes, budget).map(|()| Self::Rtf)
        } else if is_picture(bytes) {
            Err(Refusal::Picture)
        } else if pdf::is_pdf(bytes) {
            pdf::check(bytes, budget).map(|()| Self::Pdf)
        } else {
            text::check(bytes, budget).map(|()| Self::Txt)
        }
    }
}

fn is_picture(bytes: &[u8]) -> bool {
    let is_web = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    let kind = bytes.get(4..).unwrap_or_default();
    is_web
        || PICTURES.iter().any(|magic| bytes.starts_with(magic))
        || PICTURE_BOXES.iter().any(|magic| kind.starts_with(magic))
}

/// Detects what an archive is, and checks it.
fn of_archive(bytes: &[u8], budget: &mut Budget) -> Result<FileKind, Refusal> {
    let archive = Archive::of(bytes, budget)?;
    if ooxml::is_ooxml(&archive) {
        return ooxml::check(&archive, budget);
    }
    if let Some(media_type) = odf::media_type(&archive, budget)? {
        return odf::check(&archive, &media_type, budget).map(|()| FileKind::Odt);
    }
    let is_iwork = IWORK.iter().any(|name| archive.entry(name).is_some());
    Err(if is_iwork { Refusal::IWork } else { Refusal::Archive })
}

#[cfg(test)]
mod samples;
#[cfg(test)]
mod work;

#[cfg(test)]
mod tests {
    use super::samples::{PDF, archive, compound, docx, odt};
    use super::*;
    use proptest::prelude::*;

    fn samples() -> [Vec<u8>; 6] {
        [
            PDF.to_vec(),
            compound(&["/ObjectPool"], &[("/WordDocument", &[0; 5_000]), ("/1Table", &[0; 9])]),
            docx("<w:p/>", &[]),
            odt("<text:p/>", &[("Configurations2/", "")]),
            b"{\\rtf1\\ansi Ada Lovelace}".to_vec(),
            "Ada Lovelace, née Byron".into(),
        ]
    }

    #[test]
    fn every_file_type_is_detected() {
        let kinds =
            [FileKind::Pdf, FileKind::Doc, FileKind::Docx, FileKind::Odt, FileKind::Rtf, FileKind::Txt];
        assert_eq!(samples().map(|bytes| FileKind::of(&bytes)), kinds.map(Ok));
        assert_eq!(kinds.map(FileKind::extension), ["pdf", "doc", "docx", "odt", "rtf", "txt"]);
        assert_eq!(kinds.map(FileKind::media_type)[3], "application/vnd.oasis.opendocument.text");
    }

    #[test]
    fn other_files_are_refused_with_the_way_out() {
        for (bytes, refusal) in [
            (b"".to_vec(), Refusal::Empty),
            (b"\xFF\xD8\xFF\xE0\0\x10JFIF".to_vec(), Refusal::Picture),
            (b"\x89PNG\r\n\x1A\n".to_vec(), Refusal::Picture),
            (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic".to_vec(), Refusal::Picture),
            (b"RIFF\x10\0\0\0WEBPVP8 ".to_vec(), Refusal::Picture),
            (b"<html>".to_vec(), Refusal::WebPage),
            (b"MZ\x90\0".to_vec(), Refusal::Type),
            (archive(&[], true), Refusal::Type),
            (archive(&[("resume.pdf", PDF)], false), Refusal::Archive),
            (archive(&[("word/document.xml", b"<x/>")], false), Refusal::Archive),
            (archive(&[("Index/Document.iwa", b"\0")], true), Refusal::IWork),
            (archive(&[("mimetype", b"application/epub+zip")], true), Refusal::Type),
            (compound(&[], &[("/Workbook", &[0; 100])]), Refusal::OtherDocument),
            (compound(&[], &[("/Else", &[0; 100])]), Refusal::Type),
        ] {
            assert_eq!(FileKind::of(&bytes), Err(refusal), "{:?}", String::from_utf8_lossy(&bytes));
            let sentence = refusal.to_string();
            assert!(sentence.starts_with("This ") && sentence.ends_with('.'), "{sentence}");
        }
        let cut = &samples()[2][..100];
        assert_eq!(FileKind::of(cut), Err(Refusal::Damaged));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..600), beginning in 0usize..7) {
            let beginnings = [b"".as_slice(), archive::MAGIC, compound_file::MAGIC, b"%PDF-", rtf::MAGIC, b"\xFF\xFE", b"\xFE\xFF"];
            let _ = FileKind::of(&[beginnings[beginning], &bytes].concat());
        }

        #[test]
        fn damaged_files_do_not_panic(
            which in 0usize..6,
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
            let _ = FileKind::of(&bytes);
        }

        #[test]
        fn text_without_control_characters_and_markup_is_accepted(text in "[^\\p{Cc}<#%{M\u{feff}]{1,200}") {
            let utf16: Vec<u8> = std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
            for bytes in [text.as_bytes(), &utf16] {
                prop_assert_eq!(FileKind::of(bytes).is_ok(), !text.trim().is_empty());
            }
        }
    }
}
