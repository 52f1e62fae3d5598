//! Judges `OpenDocument` texts (ISO/IEC 26300).

use super::archive::{Archive, Entry};
use super::budget::Budget;
use super::location::is_local;
use super::refusal::Refusal;
use super::xml::{self, Element, Node};

/// The number of bytes that show whether an entry is XML.
const START: usize = 64;
/// What is in front of the names of media types.
const OPEN_DOCUMENT: &str = "application/vnd.oasis.opendocument.";
/// The elements that may refer to another computer, because somebody has to click them.
const LINKS: [&[u8]; 3] = [b"a", b"form", b"button"];

/// The media type that an archive says it has.
pub(super) fn media_type(archive: &Archive<'_>, budget: &mut Budget) -> Result<Option<String>, Refusal> {
    // It should not be compressed, but some programs do it.
    let Some(entry) = archive.entry("mimetype") else { return Ok(None) };
    let start = entry.start(START, budget)?;
    Ok(Some(String::from_utf8_lossy(&start).into_owned()))
}

/// Refuses a document that is encrypted, has macros or objects, or loads something.
pub(super) fn check(archive: &Archive<'_>, media_type: &str, budget: &mut Budget) -> Result<(), Refusal> {
    match media_type.strip_prefix(OPEN_DOCUMENT) {
        Some("text" | "text-template") => {}
        Some(_) => return Err(Refusal::OtherDocument),
        None => return Err(Refusal::Type),
    }
    // The manifest says first whether the rest is encrypted.
    let manifest = archive.entry("meta-inf/manifest.xml");
    manifest.map(|entry| read(entry, budget)).transpose()?;
    let is_macro = |entry: &Entry<'_>| entry.name.starts_with("basic/") || entry.name.starts_with("scripts/");
    if archive.entries().iter().any(is_macro) {
        return Err(Refusal::Macros);
    }
    for entry in archive.entries() {
        let is_xml = xml::is_xml(&entry.start(START, budget)?);
        if is_xml {
            read(entry, budget)?;
        } else if entry.has_extension("xml") && !entry.is_empty() {
            return Err(Refusal::Damaged);
        }
    }
    Ok(())
}

fn read(entry: &Entry<'_>, budget: &mut Budget) -> Result<(), Refusal> {
    xml::read(&entry.content(budget)?, budget, |node, _| match node {
        Node::Start(element) => judge(element),
        _ => Ok(()),
    })
}

fn judge(element: &Element<'_>) -> Result<(), Refusal> {
    match element.name {
        b"encryption-data" => return Err(Refusal::Password),
        b"library-embedded" | b"library-linked" => return Err(Refusal::Macros),
        b"execute-macro" => return Err(Refusal::Script),
        b"dde-source" | b"dde-connection" | b"dde-connection-decl" => return Err(Refusal::DataLink),
        b"object-ole" | b"applet" => return Err(Refusal::Object),
        _ => {}
    }
    for reference in element.any("href").chain(element.any("src")) {
        let lower = reference.to_ascii_lowercase();
        if ["vnd.sun.star.script:", "macro:", "javascript:"].iter().any(|scheme| lower.starts_with(scheme)) {
            return Err(Refusal::Script);
        }
        if !LINKS.contains(&element.name) && !is_local(reference) {
            return Err(Refusal::Remote);
        }
    }
    if element.name == b"event-listener" && element.any("macro-name").next().is_some() {
        return Err(Refusal::Script);
    }
    if element.name == b"script" && element.any("language").any(|language| language != "ooo:Basic") {
        return Err(Refusal::Script);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::FileKind;
    use super::super::samples::{archive, odt};
    use super::*;

    #[test]
    fn documents_that_load_or_run_something_are_refused() {
        for (body, refusal) in [
            ("<draw:image xlink:href='https://example.com/x.png'/>", Refusal::Remote),
            ("<draw:image xlink:href='//server/x.png'/>", Refusal::Remote),
            ("<draw:object xlink:href='https://example.com/x.odt'/>", Refusal::Remote),
            ("<text:section-source xlink:href='https://example.com/x.odt'/>", Refusal::Remote),
            ("<draw:floating-frame xlink:href='https://example.com'/>", Refusal::Remote),
            ("<draw:object-ole xlink:href='./Object 1'/>", Refusal::Object),
            ("<draw:applet/>", Refusal::Object),
            ("<text:dde-connection-decl office:dde-application='x'/>", Refusal::DataLink),
            ("<office:dde-source/>", Refusal::DataLink),
            ("<script:event-listener xlink:href='vnd.sun.star.script:x?language=Basic'/>", Refusal::Script),
            ("<script:event-listener script:macro-name='x'/>", Refusal::Script),
            ("<text:a xlink:href='vnd.sun.star.script:x'/>", Refusal::Script),
            ("<text:execute-macro/>", Refusal::Script),
            ("<text:script script:language='JavaScript'/>", Refusal::Script),
            ("<ooo:library-embedded/>", Refusal::Macros),
            ("<draw:image xlink:href='x'", Refusal::Damaged),
        ] {
            assert_eq!(FileKind::of(&odt(body, &[])), Err(refusal), "{body}");
            assert_eq!(FileKind::of(&odt("", &[("Object 1/content.xml", body)])), Err(refusal), "{body}");
        }
        let encrypted = "<m:file-entry><manifest:encryption-data/></m:file-entry>";
        assert_eq!(FileKind::of(&odt("", &[("META-INF/manifest.xml", encrypted)])), Err(Refusal::Password));
        for name in ["Basic/script-lc.xml", "Scripts/python/x.py"] {
            assert_eq!(FileKind::of(&odt("", &[(name, "<x/>")])), Err(Refusal::Macros), "{name}");
        }
    }

    #[test]
    fn ordinary_documents_are_accepted() {
        for body in [
            "<text:a xlink:href='https://example.com'>me</text:a>",
            "<draw:image xlink:href='Pictures/1.png'/>",
            "<draw:object xlink:href='./Object 1'/>",
            "<office:script script:language='ooo:Basic'/>",
            "<form:form xlink:href='https://example.com'/>",
        ] {
            assert_eq!(FileKind::of(&odt(body, &[])), Ok(FileKind::Odt), "{body}");
        }
        for (media_type, verdict) in [
            ("text-template", Ok(FileKind::Odt)),
            ("spreadsheet", Err(Refusal::OtherDocument)),
            ("text\n", Err(Refusal::OtherDocument)),
        ] {
            let media_type = format!("{OPEN_DOCUMENT}{media_type}");
            assert_eq!(FileKind::of(&odt("", &[("mimetype", &media_type)])), verdict, "{media_type}");
            // The samples compress all other names, and names are compared without case.
            let entries = [("Mimetype", media_type.as_bytes()), ("content.xml", b"<a/>")];
            assert_eq!(FileKind::of(&archive(&entries, false)), verdict, "{media_type}");
        }
    }
}
