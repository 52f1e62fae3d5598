//! Judges documents of Word in XML (ECMA-376).

use std::collections::{HashMap, HashSet};

use super::archive::{Archive, Entry};
use super::budget::Budget;
use super::fields;
use super::file_kind::FileKind;
use super::location::is_local;
use super::refusal::Refusal;
use super::xml::{self, Element, Node};

/// The number of bytes that show whether an entry is XML.
const START: usize = 64;
const TYPES: &str = "[content_types].xml";
const ROOT_RELATIONSHIPS: &str = "_rels/.rels";
/// What is in front of the names of content types, in lower case.
const WORD: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.";
const WORD_WITH_MACROS: [&str; 2] = [
    "application/vnd.ms-word.document.macroenabled.main+xml",
    "application/vnd.ms-word.template.macroenabledtemplate.main+xml",
];
/// The attributes of a relationship.
const RELATIONSHIP: [&str; 4] = ["Id", "Type", "Target", "TargetMode"];
/// The elements that may refer to another computer, because somebody has to click them.
const LINKS: [&[u8]; 4] = [b"hyperlink", b"hlinkClick", b"hlinkHover", b"hlinkMouseOver"];

/// Whether an archive has the parts that each document in this format has.
pub(super) fn is_ooxml(archive: &Archive<'_>) -> bool {
    archive.entry(TYPES).is_some() && archive.entry(ROOT_RELATIONSHIPS).is_some()
}

/// Refuses a document with macros or objects, or that loads something. Returns what it is.
pub(super) fn check(archive: &Archive<'_>, budget: &mut Budget) -> Result<FileKind, Refusal> {
    if archive.entries().iter().any(|entry| entry.name.ends_with("vbaproject.bin")) {
        return Err(Refusal::Macros);
    }
    let mut relationships = Relationships::default();
    for entry in archive.entries().iter().filter(|entry| entry.has_extension("rels")) {
        relationships.read(entry, budget)?;
    }
    let types = ContentTypes::of(archive, budget)?;
    let main = relationships.main.as_deref().ok_or(Refusal::Damaged)?;
    let kind = match types.of_part(main) {
        Some(kind) if WORD_WITH_MACROS.contains(&kind) => FileKind::Docm,
        Some(kind) if kind.starts_with(WORD) => FileKind::Docx,
        Some(_) => return Err(Refusal::OtherDocument),
        None => return Err(Refusal::Damaged),
    };
    if archive.entry(main).is_none() {
        return Err(Refusal::Damaged);
    }
    for entry in archive.entries() {
        if entry.name == TYPES || entry.has_extension("rels") {
            continue;
        }
        let is_xml = xml::is_xml(&entry.start(START, budget)?);
        if is_xml {
            let links = relationships.links.get(&entry.name);
            let mut part = Part { links, ..Part::default() };
            xml::read(&entry.content(budget)?, budget, |node, budget| part.node(&node, budget))?;
            part.finish()?;
        } else if entry.has_extension("xml") && !entry.is_empty() {
            return Err(Refusal::Damaged);
        }
    }
    Ok(kind)
}

/// The content types of the parts, in lower case.
#[derive(Default)]
struct ContentTypes {
    by_name: HashMap<String, String>,
    by_extension: HashMap<String, String>,
}

impl ContentTypes {
    fn of(archive: &Archive<'_>, budget: &mut Budget) -> Result<Self, Refusal> {
        let entry = archive.entry(TYPES).ok_or(Refusal::Damaged)?;
        let mut types = Self::default();
        xml::read(&entry.content(budget)?, budget, |node, _| match node {
            Node::Start(element) => types.add(element),
            _ => Ok(()),
        })?;
        Ok(types)
    }

    fn add(&mut self, element: &Element<'_>) -> Result<(), Refusal> {
        let Some(kind) = element.plain("ContentType").map(str::to_ascii_lowercase) else { return Ok(()) };
        let has = |part: &str| kind.contains(part);
        if has("vbaproject") || has("vbadata") || (has("macroenabled") && !WORD_WITH_MACROS.contains(&&*kind))
        {
            return Err(Refusal::Macros);
        }
        if has("activex") || has("oleobject") {
            return Err(Refusal::Object);
        }
        if let Some(part) = element.plain("PartName") {
            self.by_name.insert(part_name(part), kind);
        } else if let Some(extension) = element.plain("Extension") {
            self.by_extension.insert(extension.to_lowercase(), kind);
        }
        Ok(())
    }

    fn of_part(&self, name: &str) -> Option<&str> {
        let extension = || name.rsplit_once('.').and_then(|(_, extension)| self.by_extension.get(extension));
        self.by_name.get(name).or_else(extension).map(String::as_str)
    }
}

/// The name of a part as the archive has it.
fn part_name(name: &str) -> String {
    let name = name.to_lowercase().replace('\\', "/");
    name.trim_start_matches("./").trim_start_matches('/').to_owned()
}

/// The relationships of all parts.
#[derive(Default)]
struct Relationships {
    /// The part that is the document.
    main: Option<String>,
    /// The ids of the links to other computers, by the name of the part that has them.
    links: HashMap<String, HashSet<String>>,
}

impl Relationships {
    fn read(&mut self, entry: &Entry<'_>, budget: &mut Budget) -> Result<(), Refusal> {
        // word/_rels/document.xml.rels has the relationships of word/document.xml.
        let source = entry.name.trim_end_matches(".rels").replace("_rels/", "");
        xml::read(&entry.content(budget)?, budget, |node, _| match node {
            Node::Start(element) => self.add(element, &source),
            _ => Ok(()),
        })
    }

    fn add(&mut self, element: &Element<'_>, source: &str) -> Result<(), Refusal> {
        // Some readers ignore prefixes.
        let is_odd = |name: &str, prefix: &str| {
            !prefix.is_empty() && prefix != "xmlns" && RELATIONSHIP.contains(&name)
        };
        if element.attributes.iter().any(|attribute| is_odd(attribute.name, attribute.prefix)) {
            return Err(Refusal::Damaged);
        }
        let attribute = |name: &str| element.plain(name).unwrap_or_default();
        let (kind, target) = (attribute("Type").to_ascii_lowercase(), attribute("Target"));
        let kind = kind.rsplit('/').next().unwrap_or_default();
        let is_external = attribute("TargetMode").eq_ignore_ascii_case("External");
        match kind {
            "hyperlink" if is_external => {
                self.links.entry(source.to_owned()).or_default().insert(attribute("Id").to_owned());
            }
            "hyperlink" => {}
            "vbaproject" | "wordvbadata" | "attachedtoolbars" => return Err(Refusal::Macros),
            "control" | "activexcontrolbinary" | "oleobject" | "afchunk" => return Err(Refusal::Object),
            "attachedtemplate" | "image" if is_local(target) => {}
            _ if is_external || !is_local(target) => return Err(Refusal::Remote),
            // Readers differ in which of two they take.
            "officedocument" if source.is_empty() && self.main.is_some() => return Err(Refusal::Damaged),
            "officedocument" if source.is_empty() => self.main = Some(part_name(target)),
            _ => {}
        }
        Ok(())
    }
}

/// A field whose end was not read yet.
struct Field {
    instructions: String,
    /// Whether its instructions are over, and its result follows.
    has_result: bool,
    /// The number of alternatives around its beginning.
    alternatives: usize,
}

/// What was read of a part.
#[derive(Default)]
struct Part<'r> {
    /// The ids of its links to other computers.
    links: Option<&'r HashSet<String>>,
    fields: Vec<Field>,
    /// The number of open elements with instructions.
    instructions: usize,
    alternatives: usize,
}

impl Part<'_> {
    fn node(&mut self, node: &Node<'_>, budget: &mut Budget) -> Result<(), Refusal> {
        match node {
            Node::Start(element) => self.start(element, budget)?,
            Node::End(b"instrText") => self.instructions = self.instructions.saturating_sub(1),
            Node::End(b"AlternateContent") => self.alternatives = self.alternatives.saturating_sub(1),
            Node::Text(text) if self.instructions > 0 => {
                if let Some(field) = self.fields.last_mut().filter(|field| !field.has_result) {
                    // Readers differ in which alternative they take.
                    if field.alternatives != self.alternatives {
                        return Err(Refusal::Damaged);
                    }
                    field.instructions.push_str(text);
                }
            }
            Node::End(_) | Node::Text(_) => {}
        }
        Ok(())
    }

    fn start(&mut self, element: &Element<'_>, budget: &mut Budget) -> Result<(), Refusal> {
        if let Some(links) = self.links.filter(|_| !LINKS.contains(&element.name)) {
            for attribute in element.attributes.iter().filter(|attribute| !attribute.prefix.is_empty()) {
                budget.look_up()?;
                if links.contains(attribute.value.trim()) {
                    return Err(Refusal::Remote);
                }
            }
        }
        match element.name {
            b"instrText" => self.instructions += 1,
            b"AlternateContent" => self.alternatives += 1,
            b"fldSimple" => element.any("instr").try_for_each(fields::check)?,
            b"fldChar" => element.any("fldCharType").try_for_each(|kind| self.field(kind))?,
            // A source of data, which Word opens after a question.
            b"mailMerge" => return Err(Refusal::Remote),
            b"OLEObject" | b"control" => return Err(Refusal::Object),
            b"imagedata" | b"fill" | b"stroke" => {
                let mut sources = ["src", "href", "althref"].into_iter().flat_map(|name| element.any(name));
                if !sources.all(is_local) {
                    return Err(Refusal::Remote);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn field(&mut self, kind: &str) -> Result<(), Refusal> {
        match kind {
            "begin" => {
                if let Some(outer) = self.fields.last_mut().filter(|field| !field.has_result) {
                    outer.instructions.push(fields::NESTED);
                }
                let alternatives = self.alternatives;
                self.fields.push(Field { instructions: String::new(), has_result: false, alternatives });
            }
            "separate" => {
                if let Some(field) = self.fields.last_mut() {
                    field.has_result = true;
                    fields::check(&field.instructions)?;
                }
            }
            _ => {
                if let Some(field) = self.fields.pop() {
                    fields::check(&field.instructions)?;
                }
            }
        }
        Ok(())
    }

    /// Judges the fields without an end.
    fn finish(self) -> Result<(), Refusal> {
        self.fields.iter().try_for_each(|field| fields::check(&field.instructions))
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{MAIN, docx, relationship, relationships};
    use super::*;

    const RELS: &str = "word/_rels/document.xml.rels";

    fn judge(document: &[u8]) -> Result<FileKind, Refusal> {
        FileKind::of(document)
    }

    fn with(name: &str, content: &str) -> Result<FileKind, Refusal> {
        judge(&docx("", &[(name, content)]))
    }

    #[test]
    fn documents_that_load_or_run_something_are_refused() {
        for (kind, rest, refusal) in [
            (
                "attachedTemplate",
                "Target='https://evil.example/t.dotm' TargetMode='External'",
                Refusal::Remote,
            ),
            (
                "attachedTemplate",
                "Target='file:////evil/share/t.dotm' TargetMode='External'",
                Refusal::Remote,
            ),
            ("attachedTemplate", "Target='\\\\evil\\share\\t.dotm' TargetMode='External'", Refusal::Remote),
            (
                "attachedTemplate",
                "Target='h&#116;tps://evil.example/t' TargetMode='E&#120;ternal'",
                Refusal::Remote,
            ),
            ("attachedTemplate", "Target='https://evil.example/t' TargetMode='external'", Refusal::Remote),
            ("attachedTemplate", "Target='https://evil.example/t'", Refusal::Remote),
            ("image", "Target='https://evil.example/pixel.png' TargetMode='External'", Refusal::Remote),
            ("oleObject", "Target='https://evil.example/x' TargetMode='External'", Refusal::Object),
            ("frame", "Target='https://evil.example/x' TargetMode='External'", Refusal::Remote),
            ("subDocument", "Target='C:\\x' TargetMode='External'", Refusal::Remote),
            ("oleObject", "Target='embeddings/oleObject1.bin'", Refusal::Object),
            ("control", "Target='activeX/activeX1.xml'", Refusal::Object),
            ("aFChunk", "Target='chunk.htm'", Refusal::Object),
            ("vbaProject", "Target='renamed.bin'", Refusal::Macros),
            ("hyperlink", "x:Target='a' Target='https://e' TargetMode='External'", Refusal::Damaged),
            (
                "hyperlink",
                "x:TargetMode='Internal' Target='https://e' TargetMode='External'",
                Refusal::Damaged,
            ),
            ("hyperlink", "Target='a' Target='b'", Refusal::Damaged),
        ] {
            let xml = relationships(&relationship(kind, rest));
            for name in [RELS, "word/_rels/settings.xml.rels", "WORD/_RELS/X.RELS"] {
                assert_eq!(with(name, &xml), Err(refusal), "{xml}");
            }
        }
        let types = |kind: &str| {
            format!(
                "<Types><Override PartName='/word/document.xml' ContentType='{MAIN}'/><Default Extension='bin' ContentType='{kind}'/></Types>"
            )
        };
        for (kind, refusal) in [
            ("application/vnd.ms-excel.sheet.macroEnabled.12", Refusal::Macros),
            ("application/vnd.ms-office.vbaProject", Refusal::Macros),
            ("application/vnd.ms-office.activeX", Refusal::Object),
        ] {
            assert_eq!(with("[Content_Types].xml", &types(kind)), Err(refusal), "{kind}");
        }
        assert_eq!(with("word/VBAPROJECT.BIN", ""), Err(Refusal::Macros));
        for xml in [
            "<!DOCTYPE r [<!ENTITY e 'External'>]><r/>",
            "<?xml version='1.0' encoding='utf-7'?><r/>",
            "<r",
            "<r a='&unknown;'/>",
            "<r a='<r/>'/>",
            "text",
        ] {
            assert_eq!(with(RELS, xml), Err(Refusal::Damaged), "{xml}");
            assert_eq!(with("word/header1.xml", xml), Err(Refusal::Damaged), "{xml}");
        }
    }

    #[test]
    fn a_link_must_be_clicked() {
        let link =
            relationships(&relationship("hyperlink", "Target='https://example.com/x' TargetMode='External'"));
        let judge = |body: &str| judge(&docx(body, &[(RELS, &link)]));
        for body in
            ["<w:hyperlink r:id='r1'/>", "<a:hlinkClick r:id='r1'/>", "<w:p/>", "<a:blip r:embed='r2'/>"]
        {
            assert_eq!(judge(body), Ok(FileKind::Docx), "{body}");
        }
        for body in [
            "<a:blip r:link='r1'/>",
            "<a:blip r:embed=' r1 '/>",
            "<v:imagedata r:pict='r1'/>",
            "<v:fill x:id='r&#49;'/>",
        ] {
            assert_eq!(judge(body), Err(Refusal::Remote), "{body}");
        }
    }

    #[test]
    fn fields_are_read_over_runs() {
        let field = |runs: &str| {
            format!(
                "<w:r><w:fldChar w:fldCharType='begin'/></w:r>{runs}<w:r><w:fldChar w:fldCharType='separate'/></w:r>\
             <w:r><w:t>DDEAUTO</w:t></w:r><w:r><w:fldChar w:fldCharType='end'/></w:r>"
            )
        };
        let run = |text: &str| format!("<w:r><w:instrText>{text}</w:instrText></w:r>");
        for body in [
            field(&run("PAGE")),
            field(&[run("HYPER"), run("LINK \"https://example.com\"")].concat()),
            field(&run("IF ")) + "<w:p/>",
            field(&[run("IF "), field(&run("PAGE")), run(" = 1 a b")].concat()),
            "<w:fldSimple w:instr='DATE'/>".to_owned(),
            "<w:t>DDEAUTO c x</w:t>".to_owned(),
        ] {
            assert_eq!(judge(&docx(&body, &[])), Ok(FileKind::Docx), "{body}");
        }
        let choice = |content: &str| {
            format!("<mc:AlternateContent><mc:Choice>{content}</mc:Choice></mc:AlternateContent>")
        };
        for (body, refusal) in [
            (field(&run("DDEAUTO c x")), Refusal::DataLink),
            (field(&[run("DDE"), run("AUTO c x")].concat()), Refusal::DataLink),
            (field(&run("D&#68;E<!-- -->AU<![CDATA[TO]]> c x")), Refusal::DataLink),
            (
                field(
                    &[run("DDE"), "<w:r><w:delInstrText>X</w:delInstrText></w:r>".to_owned(), run("AUTO c")]
                        .concat(),
                ),
                Refusal::DataLink,
            ),
            (field(&run("INCLUDEPICTURE \"https://example.com/x.png\"")), Refusal::Remote),
            (field(&[field(&run("QUOTE DDE")), run("AUTO c x")].concat()), Refusal::Remote),
            (field(&[run("DDE"), choice(&run("AUTO c x"))].concat()), Refusal::Damaged),
            ("<w:fldSimple w:instr='INCLUDETEXT \"https://example.com\"'/>".to_owned(), Refusal::Remote),
            (
                "<w:fldChar w:fldCharType='begin'/><w:instrText>DDE x</w:instrText>".to_owned(),
                Refusal::DataLink,
            ),
            ("<v:imagedata src='https://example.com/x.png'/>".to_owned(), Refusal::Remote),
            ("<w:mailMerge/>".to_owned(), Refusal::Remote),
            ("<o:OLEObject/>".to_owned(), Refusal::Object),
        ] {
            assert_eq!(judge(&docx(&body, &[])), Err(refusal), "{body}");
            let header = format!("<w:hdr>{body}</w:hdr>");
            assert_eq!(with("word/header1.xml", &header), Err(refusal), "{body}");
            // Whatever the name of the part, and whatever is in front of it.
            let later = format!("{}{header}", " ".repeat(100));
            assert_eq!(with("word/media/picture.png", &later), Err(refusal), "{body}");
            assert_eq!(with("word/media/picture.png", &header), Err(refusal), "{body}");
        }
    }

    #[test]
    fn parts_are_read_in_their_encoding() {
        let field = "<w:hdr><w:fldSimple w:instr='DDE x'/></w:hdr>";
        let wide = |text: &str, bytes_of: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(bytes_of).collect()
        };
        let marked = format!("\u{feff}{field}");
        for (content, refusal) in [
            (wide(&marked, u16::to_le_bytes), Refusal::DataLink),
            (wide(&marked, u16::to_be_bytes), Refusal::DataLink),
            (marked.clone().into_bytes(), Refusal::DataLink),
            (wide(field, u16::to_le_bytes), Refusal::Damaged),
            (wide(field, u16::to_be_bytes), Refusal::Damaged),
            (b"\x4C\x6F\xA7\x94".to_vec(), Refusal::Damaged),
            (b"<?xml version='1.0' encoding='iso-2022-jp'?><a/>".to_vec(), Refusal::Damaged),
        ] {
            let (mut budget, mut part) = (Budget::of(content.len()), Part::default());
            assert!(xml::is_xml(&content[..START.min(content.len())]), "{content:?}");
            let read = xml::read(&content, &mut budget, |node, budget| part.node(&node, budget));
            assert_eq!(read, Err(refusal), "{content:?}");
        }
    }

    #[test]
    fn the_main_part_is_the_one_that_the_relationships_name() {
        let document = |part: &str, kind: &str| {
            let types = format!("<Types><Override PartName='/{part}' ContentType='{kind}'/></Types>");
            let root = relationships(&relationship("officeDocument", &format!("Target='/{part}'")));
            judge(&docx(
                "",
                &[("[Content_Types].xml", &types), ("_rels/.rels", &root), (part, "<w:document/>")],
            ))
        };
        assert_eq!(document("word/document2.xml", MAIN), Ok(FileKind::Docx));
        let template = MAIN.replace("document.main", "template.main");
        assert_eq!(document("word/document22.xml", &template), Ok(FileKind::Docx));
        let with_macros = "application/vnd.ms-word.document.macroEnabled.main+xml";
        assert_eq!(document("word/document.xml", with_macros), Ok(FileKind::Docm));
        let workbook = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml";
        assert_eq!(document("xl/workbook.xml", workbook), Err(Refusal::OtherDocument));
        assert_eq!(with("_rels/.rels", &relationships("")), Err(Refusal::Damaged));
    }

    #[test]
    fn ordinary_documents_are_accepted() {
        for (kind, rest) in [
            ("hyperlink", "Target='https://example.com/me' TargetMode='External'"),
            ("hyperlink", "Target='mailto:ada@example.com' TargetMode='External'"),
            ("attachedTemplate", "Target='file:///C:\\Users\\ada\\Resume.dotx' TargetMode='External'"),
            ("attachedTemplate", "Target='file:////Users/ada/Resume.dotx' TargetMode='External'"),
            ("attachedTemplate", "Target='Resume.dotx' TargetMode='External'"),
            ("image", "Target='media/image1.png'"),
            ("image", "Target='cid:image001.png' TargetMode='External'"),
            ("settings", "Target='settings.xml'"),
            ("package", "Target='embeddings/chart.xlsx'"),
        ] {
            let xml = relationships(&relationship(kind, rest));
            assert_eq!(with(RELS, &xml), Ok(FileKind::Docx), "{xml}");
        }
        let ascii = relationships("").replace("UTF-8", "us-ascii");
        assert_eq!(with(RELS, &ascii), Ok(FileKind::Docx));
    }
}
