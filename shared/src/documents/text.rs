//! Judges plain text: UTF-8, UTF-16 with a mark, or otherwise Windows-1252.

use std::borrow::Cow;

use super::budget::Budget;
use super::refusal::Refusal;

/// Prefixes of text that some programs would execute or render. Markup later in a file is accepted, because programs
/// detect a file's type by its beginning and browsers always download the file.
const NOT_PLAIN: [&str; 4] = ["#!", "%!PS", "%PDF-", "MIME-Version:"];
/// The bytes that are no character in Windows-1252.
const UNDEFINED: [u8; 5] = [0x81, 0x8D, 0x8F, 0x90, 0x9D];
/// What makes XML more than data: a style, a page, a picture or a script in it.
const ACTIVE_XML: [&str; 5] = [
    "<script",
    "<?xml-stylesheet",
    "http://www.w3.org/1999/xhtml",
    "http://www.w3.org/2000/svg",
    "http://www.w3.org/1999/xsl/transform",
];

/// Refuses what is not plain text.
pub(super) fn check(bytes: &[u8], budget: &mut Budget) -> Result<(), Refusal> {
    let text = decoded(bytes, budget)?;
    let start = text.trim_start();
    if start.is_empty() {
        return Err(Refusal::Empty);
    }
    if is_markup(start) {
        return Err(Refusal::WebPage);
    }
    if NOT_PLAIN.iter().any(|beginning| start.starts_with(beginning)) {
        return Err(Refusal::Type);
    }
    Ok(())
}

/// Whether a file in a document is text, JSON or XML that is only data.
pub(super) fn is_data(bytes: &[u8], budget: &mut Budget) -> Result<bool, Refusal> {
    let text = match decoded(bytes, budget) {
        Ok(text) => text,
        Err(Refusal::TooComplex) => return Err(Refusal::TooComplex),
        Err(_) => return Ok(false),
    };
    let start = text.trim_start();
    if NOT_PLAIN.iter().any(|beginning| start.starts_with(beginning)) {
        return Ok(false);
    }
    if !is_markup(start) {
        return Ok(true);
    }
    budget.read(text.len())?;
    let lower = text.to_ascii_lowercase();
    let is_page = ["<html", "<!doctype html", "<svg"].iter().any(|tag| lower.trim_start().starts_with(tag));
    Ok(!is_page && !ACTIVE_XML.iter().any(|part| lower.contains(part)))
}

fn is_markup(start: &str) -> bool {
    start.strip_prefix('<').is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '!' | '?' | '/' | '%'))
    })
}

/// The text of a file without its mark and without the end mark of DOS. It has no control characters.
fn decoded<'b>(bytes: &'b [u8], budget: &mut Budget) -> Result<Cow<'b, str>, Refusal> {
    budget.read(2 * bytes.len())?;
    let text = match bytes {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes)?,
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes)?,
        [0xEF, 0xBB, 0xBF, rest @ ..] | rest => match std::str::from_utf8(rest) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => windows_1252(rest),
        },
    };
    let text = match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.strip_suffix('\x1A').unwrap_or(text)),
        Cow::Owned(text) => Cow::Owned(text.strip_suffix('\x1A').unwrap_or(&text).to_owned()),
    };
    let is_control = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\x0B' | '\x0C');
    // A text has no other control characters of ASCII, whatever its encoding.
    match text.chars().filter(|c| is_control(*c)).min() {
        None => Ok(text),
        Some('\u{80}'..) => Err(Refusal::Encoding),
        Some(_) => Err(Refusal::Type),
    }
}

fn utf16<'b>(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Cow<'b, str>, Refusal> {
    let (units, rest) = bytes.as_chunks();
    let text: Result<String, _> = char::decode_utf16(units.iter().map(|bytes| unit(*bytes))).collect();
    text.ok().filter(|_| rest.is_empty()).map(Cow::Owned).ok_or(Refusal::Encoding)
}

/// The text, in which the characters of ASCII and those that are not defined are right: nothing depends on the others.
fn windows_1252<'b>(bytes: &[u8]) -> Cow<'b, str> {
    let character = |byte: &u8| match byte {
        0..=0x7F => char::from(*byte),
        byte if UNDEFINED.contains(byte) => '\u{81}',
        _ => '\u{FFFD}',
    };
    Cow::Owned(bytes.iter().map(character).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(bytes: &[u8]) -> Result<(), Refusal> {
        check(bytes, &mut Budget::of(bytes.len()))
    }

    fn utf16(text: &str, bytes_of: fn(u16) -> [u8; 2]) -> Vec<u8> {
        std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(bytes_of).collect()
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
            b"Zo\xEB, caf\xE9: 5 \x80".to_vec(),
            b"From DOS\x0B\x1A".to_vec(),
        ] {
            assert_eq!(judge(&bytes), Ok(()), "{bytes:?}");
        }
        for (text, refusal) in [
            ("", Refusal::Empty),
            (" \n\u{3000}", Refusal::Empty),
            ("a\0b", Refusal::Type),
            ("a\x1b[2Jb", Refusal::Type),
            ("a\x08", Refusal::Type),
            ("a\x7f", Refusal::Type),
            ("a\x1Ab", Refusal::Type),
            ("a\u{85}b", Refusal::Encoding),
            ("<!doctype html>", Refusal::WebPage),
            ("\n <HTML>", Refusal::WebPage),
            ("<svg onload=x>", Refusal::WebPage),
            ("<?xml version='1.0'?>", Refusal::WebPage),
            ("<?php", Refusal::WebPage),
            ("</p>", Refusal::WebPage),
            ("<%@ page %>", Refusal::WebPage),
            ("#!/bin/sh", Refusal::Type),
            ("%!PS-Adobe-3.0", Refusal::Type),
            ("MIME-Version: 1.0", Refusal::Type),
        ] {
            assert_eq!(judge(text.as_bytes()), Err(refusal), "{text:?}");
            assert_eq!(judge(&utf16(text, u16::to_le_bytes)), Err(refusal), "{text:?}");
        }
        let odd = [&utf16("ab", u16::to_le_bytes)[..], b"c"].concat();
        for bytes in [&b"\xFF\xFE\x00\xD8"[..], b"Shift JIS: \x83\x8C\x83\x81", &odd] {
            assert_eq!(judge(bytes), Err(Refusal::Encoding), "{bytes:?}");
        }
        for bytes in [&b"a\x00b\x00"[..], b"\x7FELF\x02", b"MZ\x90\x00"] {
            assert_eq!(judge(bytes), Err(Refusal::Type), "{bytes:?}");
        }
    }

    #[test]
    fn an_attached_file_is_data_unless_something_renders_it() {
        let is_data = |text: &str| is_data(text.as_bytes(), &mut Budget::of(text.len())).unwrap();
        for data in ["", "{\"name\": \"Mira\"}", "<?xml version=\"1.0\"?><Candidate/>", "name;years\nMira;5"]
        {
            assert!(is_data(data), "{data}");
        }
        for other in [
            "<html></html>",
            "<!DOCTYPE HTML>",
            "<svg/>",
            "<a xmlns=\"http://www.w3.org/1999/xhtml\"/>",
            "<?xml version=\"1.0\"?><?xml-stylesheet href=\"x\"?><a/>",
            "<a><SCRIPT/></a>",
            "#!/bin/sh",
            "MZ\0",
        ] {
            assert!(!is_data(other), "{other}");
        }
    }
}
