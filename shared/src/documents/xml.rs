//! Reads the elements of XML documents within the budget.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::budget::Budget;
use super::refusal::Refusal;

/// The maximum number of attributes of an element, which bounds the memory.
const MAX_ATTRIBUTES: usize = 1_000;

/// A part of an XML document.
pub(super) enum Node<'t> {
    Start(&'t Element<'t>),
    End(&'t [u8]),
    Text(&'t str),
}

/// A start tag.
pub(super) struct Element<'t> {
    /// The name without its prefix.
    pub(super) name: &'t [u8],
    pub(super) attributes: Vec<Attribute<'t>>,
}

pub(super) struct Attribute<'t> {
    /// The prefix, or nothing.
    pub(super) prefix: &'t str,
    pub(super) name: &'t str,
    pub(super) value: Cow<'t, str>,
}

impl Element<'_> {
    /// The value of an attribute without a prefix.
    pub(super) fn plain(&self, name: &str) -> Option<&str> {
        let found =
            self.attributes.iter().find(|attribute| attribute.prefix.is_empty() && attribute.name == name);
        found.map(|attribute| attribute.value.trim())
    }

    /// The values of an attribute, whatever its prefix.
    pub(super) fn any(&self, name: &str) -> impl Iterator<Item = &str> {
        self.attributes
            .iter()
            .filter(move |attribute| attribute.name == name)
            .map(|attribute| attribute.value.trim())
    }
}

/// Whether content may be XML, by its beginning, in whatever encoding. Programs read parts as XML whatever their names are.
pub(super) fn is_xml(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start);
    let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
    // UTF-16 and UTF-32 with and without a mark, and EBCDIC.
    let is_wide = matches!(
        start,
        [0xFF, 0xFE, ..]
            | [0xFE, 0xFF, ..]
            | [b'<', 0, ..]
            | [0, b'<', ..]
            | [0, 0, 0, b'<', ..]
            | [0, 0, 0xFE, 0xFF, ..]
    );
    is_wide || start.starts_with(b"\x4C\x6F\xA7\x94") || first.map_or(!start.is_empty(), |byte| *byte == b'<')
}

/// Visits the elements and texts of an XML document. It must be well-formed, without a document type, and in UTF-8,
/// UTF-16 with a mark, or an encoding whose first half is ASCII. What readers may interpret differently is refused.
pub(super) fn read(
    content: &[u8],
    budget: &mut Budget,
    mut visit: impl FnMut(Node<'_>, &mut Budget) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    budget.read(content.len())?;
    let text = match content {
        [0xFF, 0xFE, rest @ ..] => Cow::Owned(utf16(rest, u16::from_le_bytes)?),
        [0xFE, 0xFF, rest @ ..] => Cow::Owned(utf16(rest, u16::from_be_bytes)?),
        [0xEF, 0xBB, 0xBF, rest @ ..] | rest => utf8(rest)?,
    };
    // XML has no such character, so this is another encoding.
    if text.contains('\0') {
        return Err(Refusal::Damaged);
    }
    let mut reader = Reader::from_str(&text);
    let mut has_root = false;
    let damaged = |_| Refusal::Damaged;
    loop {
        match reader.read_event().map_err(damaged)? {
            Event::Start(tag) => {
                has_root = true;
                visit(Node::Start(&element(&tag, budget)?), budget)?;
            }
            Event::Empty(tag) => {
                has_root = true;
                visit(Node::Start(&element(&tag, budget)?), budget)?;
                visit(Node::End(tag.local_name().as_ref()), budget)?;
            }
            Event::End(tag) => visit(Node::End(tag.local_name().as_ref()), budget)?,
            Event::Text(text) => visit(Node::Text(&String::from_utf8_lossy(&text)), budget)?,
            Event::CData(text) => visit(Node::Text(&String::from_utf8_lossy(&text)), budget)?,
            Event::GeneralRef(reference) => {
                let character = match reference.resolve_char_ref().map_err(damaged)? {
                    Some(character) => character,
                    None => match &*reference {
                        b"amp" => '&',
                        b"lt" => '<',
                        b"gt" => '>',
                        b"apos" => '\'',
                        b"quot" => '"',
                        _ => return Err(Refusal::Damaged),
                    },
                };
                visit(Node::Text(character.encode_utf8(&mut [0; 4])), budget)?;
            }
            // A document type with entities changes what the text means.
            Event::DocType(kind) if kind.contains(&b'[') => return Err(Refusal::Damaged),
            Event::DocType(_) | Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
            Event::Eof => return if has_root { Ok(()) } else { Err(Refusal::Damaged) },
        }
    }
}

/// The text of a document in UTF-8, or in another encoding whose first half is ASCII.
fn utf8(bytes: &[u8]) -> Result<Cow<'_, str>, Refusal> {
    let declaration = if bytes.starts_with(b"<?xml") {
        let end = memchr::memmem::find(bytes, b"?>").ok_or(Refusal::Damaged)?;
        String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase()
    } else {
        String::new()
    };
    let declared = declaration.split_once("encoding").map(|(_, rest)| {
        rest.trim_start().trim_start_matches('=').trim_start().trim_start_matches(['"', '\''])
    });
    let declared = declared.and_then(|rest| rest.split(['"', '\'']).next()).unwrap_or("utf-8");
    match declared {
        "utf-8" | "utf8" => std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| Refusal::Damaged),
        "us-ascii" | "ascii" | "iso-8859-1" | "latin1" | "windows-1252" => {
            Ok(Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()))
        }
        _ => Err(Refusal::Damaged),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, Refusal> {
    let (units, rest) = bytes.as_chunks();
    let text: Result<String, _> = char::decode_utf16(units.iter().map(|bytes| unit(*bytes))).collect();
    text.ok().filter(|_| rest.is_empty()).ok_or(Refusal::Damaged)
}

fn element<'t>(tag: &'t BytesStart<'_>, budget: &mut Budget) -> Result<Element<'t>, Refusal> {
    budget.read(tag.len())?;
    let mut attributes = Vec::new();
    // Names whose hashes collide would make the parser's check quadratic. Ours is below.
    for attribute in tag.attributes().with_checks(false) {
        let attribute = attribute.map_err(|_| Refusal::Damaged)?;
        // The parser accepts this, but a reader that repairs XML may find an element there.
        if attribute.value.contains(&b'<') || attributes.len() == MAX_ATTRIBUTES {
            return Err(Refusal::Damaged);
        }
        let key = std::str::from_utf8(attribute.key.into_inner()).map_err(|_| Refusal::Damaged)?;
        let (prefix, name) = key.split_once(':').unwrap_or(("", key));
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|_| Refusal::Damaged)?;
        attributes.push(Attribute { prefix, name, value });
    }
    let mut keys: Vec<_> = attributes.iter().map(|attribute| (attribute.prefix, attribute.name)).collect();
    keys.sort_unstable();
    if keys.windows(2).any(|keys| keys[0] == keys[1]) {
        return Err(Refusal::Damaged);
    }
    Ok(Element { name: tag.local_name().into_inner(), attributes })
}
