//! Judges documents of Word in its binary format (MS-DOC), and other files in the same container.

use super::budget::Budget;
use super::compound_file::{CompoundFile, Kind};
use super::fields;
use super::location::is_local;
use super::refusal::Refusal;

/// The first version whose text is described in another stream: Word 97.
const WORD_97: u16 = 0xC1;
/// Where the beginning of the document says where its pieces are described.
const PIECES: usize = 0x1A2;
/// Where it says where the names of files that belong to the document are.
const FILES: usize = 0x19A;
/// The types of records with the properties of shapes (MS-ODRAW, 2.2.9).
const PROPERTIES: [[u8; 2]; 3] = [[0x0B, 0xF0], [0x21, 0xF1], [0x22, 0xF1]];
/// The properties that name the file of a picture, of a filling and of a line. The next one says what the name means.
const PICTURE_NAMES: [u16; 3] = [0x105, 0x187, 0x1C7];
/// That a picture is not saved in the document, or linked.
const LINKED: usize = 0x4 | 0x8;
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
    check_fields(&content, budget)?;
    // Saving quickly adds pieces of text at the end, so the instructions of a field may be in several places.
    let Some(table) = stream(if flags[1] & 2 == 0 { "0table" } else { "1table" }) else { return Ok(()) };
    let table = file.content(table, usize::MAX, budget)?;
    fields::check_text(&text(&content, &table, budget)?)?;
    // A path of an old Mac has colons and no slashes.
    let is_elsewhere = |path: &str| path.contains(['/', '\\']) && !is_local(path);
    if template(&content, &table).is_some_and(|path| is_elsewhere(&path)) {
        return Err(Refusal::Remote);
    }
    check_pictures(&table, budget)?;
    let data = stream("data").map(|data| file.content(data, usize::MAX, budget)).transpose()?;
    check_pictures(&data.unwrap_or_default(), budget)
}

/// The path of the document's template, which is the second one of the names of files (MS-DOC, 2.9.281).
fn template(content: &[u8], table: &[u8]) -> Option<String> {
    let [0xFF, 0xFF, _, _, _, _, names @ ..] = table.get(number(content, FILES)?..)? else { return None };
    let of = |rest: &[u8]| Some(2 * usize::from(u16::from_le_bytes(*rest.first_chunk()?)));
    let second = names.get(2 + of(names)?..)?;
    Some(utf16(second.get(2..2 + of(second)?)?))
}

/// Refuses pictures that are loaded from another computer.
fn check_pictures(stream: &[u8], budget: &mut Budget) -> Result<(), Refusal> {
    for kind in PROPERTIES {
        budget.read(stream.len())?;
        for found in memchr::memmem::find_iter(stream, &kind) {
            budget.look_up()?;
            for name in linked_pictures(stream, found, budget)?.unwrap_or_default() {
                budget.read(name.len())?;
                if !is_local(utf16(name).trim_end_matches('\0')) {
                    return Err(Refusal::Remote);
                }
            }
        }
    }
    Ok(())
}

/// The names of linked pictures in the record whose type is at this position, if there is one.
fn linked_pictures<'s>(
    stream: &'s [u8],
    kind: usize,
    budget: &mut Budget,
) -> Result<Option<Vec<&'s [u8]>>, Refusal> {
    let header = kind.checked_sub(2).and_then(|start| stream.get(start..kind + 6)?.first_chunk::<8>());
    let Some([first, second, ..]) = header else { return Ok(None) };
    // The number of properties is above four bits with the version.
    let length = 6 * usize::from(u16::from_le_bytes([*first, *second]) >> 4);
    budget.read(length)?;
    let record = &stream[kind + 6..];
    let Some(properties) = record.get(..length) else { return Ok(None) };
    let properties = properties.as_chunks::<6>().0.iter().map(|property| {
        let (id, value) = (u16::from_le_bytes([property[0], property[1]]), number(property, 2));
        (id & 0x3FFF, id & 0x8000 != 0, value.unwrap_or_default())
    });
    let is_linked =
        |name: u16| properties.clone().any(|(id, _, flags)| id == name + 1 && flags & LINKED != 0);
    let (mut names, mut at) = (Vec::new(), length);
    for (id, is_long, value) in properties.clone() {
        // The values that need more than four bytes follow after all properties.
        if is_long {
            let end = at.saturating_add(value).min(record.len());
            if PICTURE_NAMES.contains(&id) && is_linked(id) {
                names.push(&record[at..end]);
            }
            at = end;
        }
    }
    Ok(Some(names))
}

fn utf16(bytes: &[u8]) -> String {
    let units = bytes.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
    char::decode_utf16(units).map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// The text of a document in the order of its pieces; empty if they are not described, so that the text is in one piece.
fn text(content: &[u8], table: &[u8], budget: &mut Budget) -> Result<String, Refusal> {
    budget.read(table.len())?;
    let mut text = String::new();
    for piece in pieces(content, table).unwrap_or_default() {
        budget.look_up()?;
        let bytes = |start: usize, length: usize| {
            let rest = content.get(start..).unwrap_or_default();
            &rest[..rest.len().min(length)]
        };
        let before = text.len();
        if piece.is_narrow {
            text.extend(bytes(piece.start / 2, piece.length).iter().map(|byte| char::from(*byte)));
        } else {
            text.push_str(&utf16(bytes(piece.start, piece.length.saturating_mul(2))));
        }
        budget.read(text.len() - before)?;
    }
    Ok(text)
}

/// A part of the text: where it starts, and its number of characters.
struct Piece {
    start: usize,
    length: usize,
    /// Whether each character has one byte and not two. Then the start is twice what it is.
    is_narrow: bool,
}

/// The pieces in the order of the text, as the table stream describes them (MS-DOC, 2.9.38).
fn pieces(content: &[u8], table: &[u8]) -> Option<Vec<Piece>> {
    if u16::from_le_bytes(*content.get(2..)?.first_chunk()?) < WORD_97 {
        return None;
    }
    let mut rest = table.get(number(content, PIECES)?..)?;
    // Changes of formatting are in front of the pieces.
    while let [1, low, high, after @ ..] = rest {
        rest = after.get(usize::from(u16::from_le_bytes([*low, *high]))..)?;
    }
    let all = rest.strip_prefix(&[2])?;
    let all = all.get(4..)?.get(..number(all, 0)?)?;
    // The position in the text at which each piece starts and the last one ends, and then eight bytes for each piece.
    let count = all.len().checked_sub(4)? / 12;
    let (positions, descriptions) = all.split_at(4 * (count + 1));
    let lengths = (0..count).map(|at| Some((number(positions, 4 * at)?, number(positions, 4 * at + 4)?)));
    let described = lengths.zip(descriptions.as_chunks::<8>().0).map(|(ends, description)| {
        let ((from, to), start) = (ends?, number(description, 2)?);
        let (start, is_narrow) = (start & 0x3FFF_FFFF, start & 0x4000_0000 != 0);
        Some(Piece { start, length: to.saturating_sub(from), is_narrow })
    });
    described.collect()
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?)).ok()
}

/// Judges what looks like the beginning of a field, in an encoding with one byte for a character, and in UTF-16.
fn check_fields(content: &[u8], budget: &mut Budget) -> Result<(), Refusal> {
    budget.read(content.len())?;
    for at in memchr::memchr_iter(FIELD_BEGIN, content) {
        let rest = &content[at + 1..];
        let rest = &rest[..rest.len().min(LONGEST)];
        budget.look_up()?;
        let wide = rest.get(1..).unwrap_or_default().as_chunks().0.iter();
        let narrow = instructions(rest.iter().map(|byte| u16::from(*byte)));
        let wide = instructions(wide.map(|unit| u16::from_le_bytes(*unit)));
        budget.read(narrow.len() + wide.len())?;
        fields::check(&narrow)?;
        fields::check(&wide)?;
    }
    Ok(())
}

/// The instructions up to the end or another field; nothing if they do not begin with a keyword, as in a table of numbers.
fn instructions(units: impl Iterator<Item = u16>) -> String {
    let characters = units.map(|unit| char::from_u32(unit.into()).unwrap_or(' '));
    let mut characters = characters.skip_while(|c| c.is_whitespace() || *c == '\0').peekable();
    if !characters.peek().is_some_and(char::is_ascii_alphabetic) {
        return String::new();
    }
    characters.take_while(|c| !matches!(c, '\u{13}'..='\u{15}')).collect()
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
    fn a_field_in_several_pieces_is_found() {
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let number = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
        // Pieces as Word describes them, the later ones first in the stream.
        let judge = |parts: &[(&str, bool)], version: u8| {
            let (mut content, mut positions, mut descriptions) =
                (document(2, b""), number(0).to_vec(), Vec::new());
            let (mut stream, mut end) = (Vec::new(), 0);
            let mut places = vec![0; parts.len()];
            for (at, (text, is_narrow)) in parts.iter().enumerate().rev() {
                places[at] = content.len() + stream.len();
                stream.extend(if *is_narrow { text.as_bytes().to_vec() } else { wide(text) });
                stream.extend(b"  \x14 ");
            }
            for ((text, is_narrow), place) in parts.iter().zip(places) {
                end += text.chars().count();
                positions.extend(number(end));
                let start = if *is_narrow { (2 * place) | 0x4000_0000 } else { place };
                descriptions.extend([&[0, 0], &number(start)[..], &[0, 0]].concat());
            }
            let formatting = [1, 3, 0, 7, 7, 7];
            let all = [positions, descriptions].concat();
            let table = [b"junk", &formatting[..], &[2], &number(all.len()), &all, &[0; 5_000]].concat();
            content[2] = version;
            content[PIECES..PIECES + 4].copy_from_slice(&number(4));
            content.extend(stream);
            content.resize(6_000, 0);
            FileKind::of(&compound(&[], &[("/WordDocument", &content), ("/1Table", &table)]))
        };
        for (parts, verdict) in [
            (&[("Mira \u{13} PA", true), ("GE \u{14}1\u{15}", false)][..], Ok(FileKind::Doc)),
            (&[("\u{13} D", true), ("DEAUTO c x \u{14}1\u{15}", true)], Err(Refusal::DataLink)),
            (&[("\u{13} D", false), ("DEAUTO c", true), (" x \u{15}", false)], Err(Refusal::DataLink)),
            (
                &[("\u{13}INCLUDEPICTURE \"", true), ("https://example.com\"\u{15}", false)],
                Err(Refusal::Remote),
            ),
        ] {
            assert_eq!(judge(parts, 0xC1), verdict, "{parts:?}");
        }
        assert_eq!(judge(&[("\u{13} D", true), ("DEAUTO c x", true)], 0x65), Ok(FileKind::Doc));
    }

    #[test]
    fn a_template_and_linked_pictures_must_be_on_the_own_computer() {
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let long = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
        let short = |number: usize| u16::try_from(number).unwrap().to_le_bytes();
        let judge = |template: &str, picture: &str, flags: u8, stream: &str| {
            let length = |text: &str| short(text.encode_utf16().count());
            let names = [
                &[0xFF, 0xFF, 2, 0, 0, 0][..],
                &length("junk"),
                &wide("junk"),
                &length(template),
                &wide(template),
            ];
            let name = wide(&format!("{picture}\0"));
            // Three properties: one with a long value before the name, the name, and its meaning.
            let shape = [
                &[0x33, 0, 0x0B, 0xF0, 0, 0, 0, 0][..],
                &[0x80, 0xC3],
                &long(6),
                &[0x05, 0xC1],
                &long(name.len()),
                &[0x06, 0x01, flags, 0, 0, 0],
                b"before",
                &name,
            ];
            let mut content = document(2, &[0; 5_000]);
            content[2] = 0xC1;
            content[FILES..FILES + 4].copy_from_slice(&long(4));
            let table = [b"junk", &names.concat()[..], &[0; 5_000]].concat();
            let shape = shape.concat();
            let table = if stream == "/1Table" { [&table[..], &shape].concat() } else { table };
            let mut streams = vec![("/WordDocument", &content[..]), ("/1Table", &table)];
            if stream == "/Data" {
                streams.push((stream, &shape));
            }
            FileKind::of(&compound(&[], &streams))
        };
        let (web, disk) = ("https://example.com/x", "C:\\Users\\mira\\x");
        for template in ["", "Normal.dotm", disk, "My Disk:Templates:x.dot"] {
            assert_eq!(judge(template, "", 0, ""), Ok(FileKind::Doc), "{template}");
        }
        for template in [web, "\\\\server\\share\\x.dot"] {
            assert_eq!(judge(template, "", 0, ""), Err(Refusal::Remote), "{template}");
        }
        for stream in ["/1Table", "/Data"] {
            for (picture, flags, verdict) in [
                (web, 0xE, Err(Refusal::Remote)),
                (web, 0xA, Err(Refusal::Remote)),
                // A picture that was copied from the web.
                (web, 0x2, Ok(FileKind::Doc)),
                (disk, 0xE, Ok(FileKind::Doc)),
            ] {
                assert_eq!(judge(disk, picture, flags, stream), verdict, "{picture} {flags} {stream}");
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
