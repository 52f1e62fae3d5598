//! Judges documents of Word in its binary format (MS-DOC), and other files in the same container.

use super::budget::Budget;
use super::compound_file::{CompoundFile, Kind};
use super::fields;
use super::refusal::Refusal;

/// What Word writes before the instructions of a field, and after them.
const FIELD_BEGIN: u8 = 0x13;
/// The maximum length of the instructions that are read.
const LONGEST: usize = 512;

/// Refuses a document with macros or programs, that needs a password, or that loads something.
pub(super) fn check(bytes: &[u8], budget: &mut Budget) -> Result<(), Refusal> {
    let file = CompoundFile::of(bytes, budget)?;
    let has =
        |kind: Kind, name: &str| file.entries.iter().any(|entry| entry.kind == kind && entry.name == name);
    // The container of a protected document in XML.
    if has(Kind::Stream, "encryptedpackage") {
        return Err(Refusal::Password);
    }
    let stream = |name: &str| {
        file.entries.iter().find(|entry| entry.is_in_root && entry.kind == Kind::Stream && entry.name == name)
    };
    let Some(document) = stream("worddocument") else {
        let is_other = ["workbook", "book", "powerpoint document"].iter().any(|name| stream(name).is_some());
        return Err(if is_other { Refusal::OtherDocument } else { Refusal::Type });
    };
    if ["macros", "_vba_project_cur", "vba"].iter().any(|name| has(Kind::Storage, name)) {
        return Err(Refusal::Macros);
    }
    // A file in the document, which a click opens.
    if has(Kind::Stream, "\u{1}ole10native") {
        return Err(Refusal::Object);
    }
    let content = file.content(document, usize::MAX, budget)?;
    // The beginning says whether the document is encrypted.
    let flags = content.get(10..12).ok_or(Refusal::Damaged)?;
    if flags[1] & 1 != 0 {
        return Err(Refusal::Password);
    }
    check_fields(&content, budget)
}

/// Judges what looks like the beginning of a field, in an encoding with one byte for a character, and in UTF-16.
fn check_fields(content: &[u8], budget: &mut Budget) -> Result<(), Refusal> {
    budget.read(content.len())?;
    for at in memchr::memchr_iter(FIELD_BEGIN, content) {
        let rest = &content[at + 1..];
        let rest = &rest[..rest.len().min(LONGEST)];
        budget.look_up()?;
        let is_end = |byte: u8| matches!(byte, 0x14 | 0x15);
        let narrow = rest.iter().take_while(|byte| !is_end(**byte));
        let wide = rest.get(1..).unwrap_or_default().as_chunks::<2>().0.iter();
        let wide = wide.take_while(|unit| unit[1] != 0 || !is_end(unit[0]));
        let narrow: String = narrow.map(|byte| char::from(*byte)).collect();
        let wide: String =
            wide.map(|unit| char::from_u32(u16::from_le_bytes(*unit).into()).unwrap_or(' ')).collect();
        budget.read(narrow.len() + wide.len())?;
        // What another field computes is not known, and in a table of numbers, this byte is common.
        for instructions in [narrow, wide] {
            fields::check(&instructions.replace(fields::NESTED, " "))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::FileKind;
    use super::super::samples::compound;
    use super::*;

    /// The stream of a document with these flags and this text.
    fn document(flags: u8, text: &[u8]) -> Vec<u8> {
        let mut content = vec![0; 1_536];
        content[11] = flags;
        [&content, text].concat()
    }

    #[test]
    fn a_document_needs_its_stream_in_the_root_and_no_macros() {
        let plain = document(0, b"");
        for (storages, stream, verdict) in [
            (vec!["/ObjectPool"], "/WordDocument", Ok(FileKind::Doc)),
            (vec![], "/worddocument", Ok(FileKind::Doc)),
            (vec!["/Macros"], "/WordDocument", Err(Refusal::Macros)),
            (vec!["/macros"], "/WordDocument", Err(Refusal::Macros)),
            (
                vec!["/ObjectPool", "/ObjectPool/_1", "/ObjectPool/_1/Macros"],
                "/WordDocument",
                Err(Refusal::Macros),
            ),
            (vec!["/_VBA_PROJECT_CUR"], "/WordDocument", Err(Refusal::Macros)),
            (vec!["/MBD1"], "/MBD1/WordDocument", Err(Refusal::Type)),
            (vec!["/WordDocument"], "/Other", Err(Refusal::Type)),
            (vec![], "/EncryptedPackage", Err(Refusal::Password)),
        ] {
            let file = compound(&storages, &[(stream, &plain)]);
            assert_eq!(FileKind::of(&file), verdict, "{storages:?} {stream}");
        }
        let program =
            compound(&["/ObjectPool"], &[("/WordDocument", &plain), ("/ObjectPool/\u{1}Ole10Native", b"x")]);
        assert_eq!(FileKind::of(&program), Err(Refusal::Object));
        assert_eq!(FileKind::of(&program[..600]), Err(Refusal::Damaged));
    }

    #[test]
    fn the_beginning_of_the_document_says_whether_it_is_encrypted() {
        for length in [100, 5_000] {
            for (flags, verdict) in
                [(0, Ok(FileKind::Doc)), (2, Ok(FileKind::Doc)), (1, Err(Refusal::Password))]
            {
                let content = document(flags, &vec![0; length]);
                assert_eq!(
                    FileKind::of(&compound(&[], &[("/WordDocument", &content)])),
                    verdict,
                    "{length} {flags}"
                );
            }
        }
    }

    #[test]
    fn fields_that_load_something_are_refused() {
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        for (text, verdict) in [
            ("\u{13} PAGE \u{14}1\u{15}", Ok(FileKind::Doc)),
            ("DDEAUTO c x", Ok(FileKind::Doc)),
            ("\u{13}a\u{13}b\u{13}", Ok(FileKind::Doc)),
            ("\u{13} DDEAUTO c x \u{14}1\u{15}", Err(Refusal::DataLink)),
            ("\u{13} INCLUDEPICTURE \"https://example.com/x.png\" \u{14}\u{15}", Err(Refusal::Remote)),
        ] {
            for text in [text.as_bytes().to_vec(), wide(text)] {
                let content = document(0, &[text, vec![0; 5_000]].concat());
                assert_eq!(FileKind::of(&compound(&[], &[("/WordDocument", &content)])), verdict);
            }
        }
    }
}
