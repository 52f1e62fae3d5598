//! Small documents for tests.

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::{DeflateEncoder, ZlibEncoder};

pub(super) const PDF: &[u8] =
    b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\nstartxref\n9\n%%EOF\n";
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
pub(super) const MAIN: &str =
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml";
const ODT: &str = "application/vnd.oasis.opendocument.text";

pub(super) fn zlib(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// An archive, whose entries are compressed unless `is_stored`.
pub(super) fn archive(entries: &[(&str, &[u8])], is_stored: bool) -> Vec<u8> {
    let number = |n: usize| u32::try_from(n).unwrap().to_le_bytes();
    let short = |n: usize| u16::try_from(n).unwrap().to_le_bytes();
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in entries {
        let is_stored = is_stored || *name == "mimetype";
        let data = if is_stored {
            content.to_vec()
        } else {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        };
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let mut entry = vec![0x14, 0, 0, 0, if is_stored { 0 } else { 8 }, 0, 0, 0, 0x21, 0];
        entry.extend([crc.sum().to_le_bytes(), number(data.len()), number(content.len())].concat());
        entry.extend([short(name.len()), [0, 0]].concat());
        directory.extend(
            [b"PK\x01\x02\x14\0", &entry[..], &[0; 10], &number(file.len()), name.as_bytes()].concat(),
        );
        file.extend([b"PK\x03\x04", &entry[..], name.as_bytes(), &data].concat());
    }
    let (count, start) = (short(entries.len()), number(file.len()));
    let end =
        [&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &number(directory.len()), &start, &[0, 0]].concat();
    [file, directory, end].concat()
}

/// A document of Word with this body and more parts. A part replaces one of the same name.
pub(super) fn docx(body: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let types = format!("<Types><Override PartName='/word/document.xml' ContentType='{MAIN}'/></Types>");
    let root = relationships(&relationship("officeDocument", "Target='word/document.xml'"));
    let document = format!("<w:document><w:body>{body}</w:body></w:document>");
    let mut parts =
        vec![("[Content_Types].xml", &*types), ("_rels/.rels", &root), ("word/document.xml", &document)];
    parts.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
    parts.extend(more);
    let parts: Vec<_> = parts.iter().map(|(name, content)| (*name, content.as_bytes())).collect();
    archive(&parts, false)
}

pub(super) fn relationships(content: &str) -> String {
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?><Relationships>{content}</Relationships>")
}

pub(super) fn relationship(kind: &str, rest: &str) -> String {
    format!("<Relationship Id='r1' Type='{OFFICE}/{kind}' {rest}/>")
}

/// An `OpenDocument` text with this body and more entries.
pub(super) fn odt(body: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let content =
        format!("<office:document-content><office:body>{body}</office:body></office:document-content>");
    let mut entries = vec![("mimetype", ODT.as_bytes()), ("content.xml", content.as_bytes())];
    entries.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
    entries.extend(more.iter().map(|(name, content)| (*name, content.as_bytes())));
    archive(&entries, false)
}

/// A compound file. Each stream has this content, in which the sixth number of a document of Word has its flags.
pub(super) fn compound(storages: &[&str], streams: &[(&str, &[u8])]) -> Vec<u8> {
    let mut container = cfb::CompoundFile::create(Cursor::new(Vec::new())).unwrap();
    for storage in storages {
        container.create_storage(storage).unwrap();
    }
    for (stream, content) in streams {
        container.create_stream(stream).unwrap().write_all(content).unwrap();
    }
    container.flush().unwrap();
    container.into_inner().into_inner()
}
