//! Judges PDFs (ISO 32000-2).
//!
//! Readers find objects through cross-reference tables and streams, and search the file for them if these are broken. So
//! the check does not follow the tables: it reads the object after *every* `obj` in the file, also in comments, strings
//! and streams, and all objects of all object streams. Whatever a reader takes for an object has been read.

// Not the crates lopdf, pdf or hayro-syntax: they follow one cross-reference table, and their work has no budget.

mod checks;
mod encryption;
mod file;
mod md5;
mod streams;
mod tokens;

use memchr::memmem;

use self::checks::{Judge, is_object_stream};
use self::encryption::Encryption;
use self::file::{MAX_OBJECTS, PdfFile, Place, UNKNOWN};
use self::tokens::{Lexer, Object, Parsed, blanks_end, is_blank};
use super::budget::Budget;
use super::refusal::Refusal;

/// The number of bytes at the start of a PDF that must contain its header.
const HEAD: usize = 1024;
/// The number of bytes at its end that must contain its end marker.
const TAIL: usize = 64 * 1024;
pub(super) fn is_pdf(bytes: &[u8]) -> bool {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    memmem::find(head, b"%PDF-").is_some()
}

/// Refuses a PDF that does something by itself, or that needs a password.
pub(super) fn check(bytes: &[u8], budget: &mut Budget) -> Result<(), Refusal> {
    // An upload that was interrupted has no end. Some programs add padding.
    budget.read(bytes.len())?;
    let is_padding = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    let end = bytes.iter().rposition(|byte| !is_padding(byte)).map_or(0, |last| last + 1);
    let tail = &bytes[end.saturating_sub(TAIL)..end];
    if memmem::find(tail, b"%%EOF").is_none() {
        return Err(Refusal::Damaged);
    }
    let mut file = PdfFile { bytes, contents: Vec::new(), places: Vec::new() };
    let mut judge = Judge::default();
    let streams = read_objects(&mut file, &mut judge, budget)?;
    file.sort();
    let encryption = match judge.encryptions() {
        [] => None,
        [first, others @ ..] if others.iter().all(|other| other == first) => {
            Some(Encryption::open(*first, &file, judge.identifier(), budget)?)
        }
        _ => return Err(Refusal::Protected),
    };
    for stream in &streams {
        read_object_stream(&mut file, stream, encryption.as_ref(), &mut judge, budget)?;
    }
    file.sort();
    judge.finish(&file, encryption.as_ref(), budget)
}

/// An object stream in the file.
struct ObjectStream {
    /// The object's number and generation, which are part of the key if it is encrypted.
    id: (u32, u32),
    dictionary: Place,
}

/// Reads and judges all objects and trailers outside of object streams. Returns the object streams.
fn read_objects(
    file: &mut PdfFile<'_>,
    judge: &mut Judge,
    budget: &mut Budget,
) -> Result<Vec<ObjectStream>, Refusal> {
    let bytes = file.bytes;
    let mut streams = Vec::new();
    budget.read(2 * bytes.len())?;
    for found in memmem::find_iter(bytes, b"obj") {
        if bytes[..found].ends_with(b"end") {
            continue;
        }
        budget.look_up()?;
        let id = numbers_before(&bytes[..found]);
        let at = found + b"obj".len();
        let mut lexer = Lexer::new(bytes, at);
        let Some(Parsed { object, is_whole }) = lexer.object(budget)? else { continue };
        // Without numbers before it, it is most likely a part of a word or of compressed data.
        if id.is_some() && !is_whole {
            return Err(Refusal::Damaged);
        }
        let place = Place { content: 0, at };
        file.add(id.map_or(UNKNOWN, |(number, _)| number), place)?;
        let is_stream = matches!(object, Object::Dictionary(_)) && lexer.take_word(b"stream", budget)?;
        judge.object(&object, place, is_stream, false)?;
        if is_stream && is_object_stream(&object) {
            streams.push(ObjectStream { id: id.unwrap_or((UNKNOWN, 0)), dictionary: place });
        }
    }
    for found in memmem::find_iter(bytes, b"trailer") {
        budget.look_up()?;
        let at = found + b"trailer".len();
        if let Some(Parsed { object, .. }) = Lexer::new(bytes, at).object(budget)? {
            judge.object(&object, Place { content: 0, at }, false, true)?;
        }
    }
    Ok(streams)
}

/// Reads and judges all objects of an object stream.
fn read_object_stream(
    file: &mut PdfFile<'_>,
    stream: &ObjectStream,
    encryption: Option<&Encryption>,
    judge: &mut Judge,
    budget: &mut Budget,
) -> Result<(), Refusal> {
    let (dictionary, data) = file.stream(stream.dictionary, budget)?.ok_or(Refusal::Damaged)?;
    let number = |key: &[u8]| {
        let mut values = dictionary.values(key);
        match (values.next(), values.next()) {
            (Some(Object::Number(number)), None) => usize::try_from(*number).map_err(|_| Refusal::Damaged),
            _ => Err(Refusal::Damaged),
        }
    };
    let (count, first) = (number(b"N")?, number(b"First")?);
    let decoded = streams::decoded(file, stream.id, &dictionary, data, encryption, budget)?;
    // What is not compressed is read where it is.
    let (index, start) = if decoded.is_some() { (file.contents.len() + 1, 0) } else { (0, data) };
    let content = decoded.as_deref().unwrap_or(file.bytes);
    let (mut header, mut objects) = (Lexer::new(content, start), Vec::new());
    let base = start.checked_add(first).ok_or(Refusal::Damaged)?;
    for _ in 0..count {
        let (Some(number), Some(offset)) = (header.integer(budget)?, header.integer(budget)?) else {
            break;
        };
        let at = usize::try_from(offset).ok().and_then(|offset| base.checked_add(offset));
        let (Ok(number), Some(at)) = (u32::try_from(number), at) else { return Err(Refusal::Damaged) };
        if objects.len() == MAX_OBJECTS {
            return Err(Refusal::TooComplex);
        }
        objects.push((at, number));
    }
    objects.sort_unstable();
    let (mut end, mut found) = (base, Vec::new());
    let mut read = |at: usize, number: u32, budget: &mut Budget| {
        budget.look_up()?;
        let mut lexer = Lexer::new(content, at);
        if let Some(Parsed { object, is_whole }) = lexer.object(budget)? {
            if !is_whole && number != UNKNOWN {
                return Err(Refusal::Damaged);
            }
            let place = Place { content: index, at };
            judge.object(&object, place, false, false)?;
            found.push((number, place));
        }
        Ok(lexer.at())
    };
    for (at, number) in objects {
        // Some readers ignore the positions and read one object after the other.
        while end < at.min(content.len()) {
            let next = blanks_end(content, end);
            budget.read(next - end)?;
            if next >= at {
                break;
            }
            end = read(next, UNKNOWN, budget)?.max(next + 1);
        }
        end = end.max(read(at, number, budget)?);
    }
    for (number, place) in found {
        file.add(number, place)?;
    }
    file.contents.extend(decoded);
    Ok(())
}

/// The number and the generation before the keyword `obj`.
fn numbers_before(bytes: &[u8]) -> Option<(u32, u32)> {
    let number = |bytes: &[u8]| {
        let end = bytes.iter().rposition(|byte| !is_blank(*byte))? + 1;
        let start = bytes[..end].iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |last| last + 1);
        Some((start, std::str::from_utf8(&bytes[start..end]).ok()?.parse().ok()?))
    };
    let (start, generation) = number(bytes)?;
    if !bytes[..start].last().is_some_and(|byte| is_blank(*byte)) {
        return None;
    }
    let (_, number) = number(&bytes[..start])?;
    Some((number, generation)).filter(|(number, _)| *number != UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::samples::zlib;

    fn judge(bytes: &[u8]) -> Result<(), Refusal> {
        check(bytes, &mut Budget::of(bytes.len()))
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

    /// The verdicts on an object in the file and in object streams, which must be the same.
    fn verdict(object: &str) -> Result<(), Refusal> {
        let plain = judge(&pdf(object));
        let content = format!("1 0 << {object} >> ");
        let compressed = zlib(content.as_bytes());
        assert_eq!(judge(&with_stream("/Filter /FlateDecode", &compressed)), plain, "{object}");
        assert_eq!(judge(&with_stream("/Filter [ /FlateDecode ]", &compressed)), plain, "{object}");
        assert_eq!(judge(&with_stream("", content.as_bytes())), plain, "{object}");
        plain
    }

    #[test]
    fn actions_and_content_that_act_are_refused() {
        for (object, refusal) in [
            ("/OpenAction << /S /JavaScript /JS (app.alert(1)) >>", Refusal::PdfScript),
            ("/AA << /O << /S/JavaScript/JS 3 0 R >> >>", Refusal::PdfScript),
            ("/S /J#61vaScript", Refusal::PdfScript),
            ("/S /#4A#61#76#61#53#63#72#69#70#74", Refusal::PdfScript),
            ("/S%\n/JavaScript", Refusal::PdfScript),
            ("/S null /S /JavaScript", Refusal::PdfScript),
            ("/A [ [ << /JS (x) >> ] ]", Refusal::PdfScript),
            ("/S /Launch /F (cmd.exe)", Refusal::Launch),
            ("/X (https://example.com) /S /Launch", Refusal::Launch),
            ("/X <00> /S /Launch", Refusal::Launch),
            ("/S /SubmitForm", Refusal::DataForm),
            ("/S/ImportData", Refusal::DataForm),
            ("/S /GoToE", Refusal::Attachment),
            ("/EF << /F 9 0 R >> /F (resume.exe)", Refusal::Attachment),
            ("/Subtype /RichMedia", Refusal::Media),
            ("/Subtype /3D /3DA << /A /PO >>", Refusal::Media),
            ("/S /Rendition", Refusal::Media),
            ("/AcroForm << /XFA [(template) 5 0 R] >>", Refusal::Xfa),
            ("/S /GoToR /F (\\\\\\\\server\\\\share)", Refusal::OpensByItself),
            ("/S /GoToR /F << /UF (//server/share) >>", Refusal::OpensByItself),
            ("/OpenAction << /S /URI /URI (https://example.com) >>", Refusal::OpensByItself),
            ("/AA << /O << /S /GoTo /Next [<< /S /URI >>] >> >>", Refusal::OpensByItself),
            ("/OpenAction << /S /GoToR /F (other.pdf) >>", Refusal::OpensByItself),
            ("/S /Thread /F (\\\\\\\\server\\\\x)", Refusal::PdfRemote),
            ("/Subtype /FileAttachment /FS (x.exe)", Refusal::PdfRemote),
        ] {
            assert_eq!(verdict(object), Err(refusal), "{object}");
        }
        let external = b"%PDF-1.7\n1 0 obj <</F (x) /Length 0>> stream\nendstream endobj %%EOF";
        assert_eq!(judge(external), Err(Refusal::PdfRemote));
        let reference = b"%PDF-1.7\n1 0 obj <</Ref <</F (x)>> >> stream\nendstream endobj %%EOF";
        assert_eq!(judge(reference), Err(Refusal::PdfRemote));
    }

    #[test]
    fn words_that_only_look_like_actions_are_accepted() {
        for object in [
            "/OpenAction [3 0 R /XYZ null null 0]",
            "/OpenAction << /S /GoTo /D [3 0 R /Fit] >>",
            "/OpenAction << /S /Named /N /Print >>",
            "/A << /S /URI /URI (https://example.com/Launch) >>",
            "/A << /S /URI /URI (example.com/a b/JavaScript/x) >>",
            "/Title (Java/JavaScript developer; Product/Launch \\(HTML/JS\\))",
            "/Contents <2F4A617661536372697074>",
            "/JavaScripts /LaunchPad /XFAx 1",
            "/Dest /JavaScript",
            "/Dests << /JavaScript [3 0 R /Fit] /JS [3 0 R /Fit] /XFA [3 0 R /Fit] >>",
            "/Names << /EmbeddedFiles << /Names [] >> /JavaScript << /Names [ ] >> >>",
            "/EF << >>",
            "/S /GoToR /F (linkedin.example/in/mira)",
            "/S /GoToR /F (C:/Users/mira/x.pdf)",
            "/Font << /JS 9 0 R /S 9 0 R >>",
            "/AA << >>",
        ] {
            assert_eq!(verdict(object), Ok(()), "{object}");
        }
        let page = [
            b"%PDF-1.7 1 0 obj <</Filter/FlateDecode>> stream\n".as_slice(),
            &zlib(b"(x) Tj"),
            b"endstream %%EOF",
        ];
        assert_eq!(judge(&page.concat()), Ok(()));
        let text =
            b"%PDF-1.7 4 0 obj <</Length 30>> stream\n(/S /JavaScript; objectives) Tj endstream endobj %%EOF";
        assert_eq!(judge(text), Ok(()));
    }

    #[test]
    fn no_comment_string_or_stream_hides_an_object() {
        let script = "<< /S /JavaScript >>";
        for hidden in [
            format!("1 0 obj (\n7 0 obj {script} endobj) endobj"),
            format!("% 7 0 obj {script}\n"),
            format!("7 0 % x\nobj {script} endobj"),
            format!("7 0 obj{script}endobj"),
            format!("1 0 obj << /Length 99 >> stream\n7 0 obj {script} endobj\nendstream endobj"),
            "7 0 obj << /S 8 0 R >> endobj 8 0 obj /JavaScript endobj".to_owned(),
            "7 0 obj << /S 8 0 R >> endobj 8 0 obj /Sect endobj 8 0 % x\nobj /JavaScript endobj".to_owned(),
            "7 0 obj << /S 8 0 R >> endobj 8 0 obj 9 0 R endobj 9 1 obj /JavaScript endobj".to_owned(),
            "7 0 obj << /JS 8 0 R >> endobj 8 0 obj <<>> stream\nx endstream endobj".to_owned(),
            "7 0 obj << /JS 8 0R >> endobj 8 0 obj (x) endobj".to_owned(),
        ] {
            let file = format!("%PDF-1.7\n{hidden}\n%%EOF");
            assert_eq!(judge(file.as_bytes()), Err(Refusal::PdfScript), "{hidden}");
        }
        let data = zlib(b"1 0 <</S /JavaScript>>");
        for dictionary in [
            "/N 1 /First 4",
            "/Type /Obj#53tm /N 1 /First 4 /X (stream)",
            "/Type /ObjStm /N 1 /First 4 /X (endstream)",
            "/Type /ObjStm /N 1 /First 4 % endstream\n",
            "/Type /ObjStm /N 1 /First 4 /endstream 1",
            "/Type /ObjStm /N 1 /First 4 /X (stream\n)",
            "/Type/ObjStm/N 1/First 4/X(obj)",
        ] {
            let head = format!("%PDF-1.7 7 0 obj <<{dictionary} /Filter /FlateDecode>> stream\n");
            let file = [head.as_bytes(), &data, b"\nendstream %%EOF"].concat();
            assert_eq!(judge(&file), Err(Refusal::PdfScript), "{dictionary}");
        }
        // The type of the action is an object that begins within the string of a link.
        let action = "%PDF-1.7 7 0 obj <</S 9 0 R>> endobj 6 0 obj <</Type/ObjStm/N 2/First 9>> stream\n";
        let link = "8 0 9 18 <</URI(https://x.y /JavaScript )>>";
        let file = format!("{action}{link}\nendstream endobj %%EOF");
        assert_eq!(judge(file.as_bytes()), Err(Refusal::PdfScript));
        // Some readers take the objects in their order, and not where the stream says that they are.
        let data = b"1 99 <</S /JavaScript>> 2 0 R";
        assert_eq!(judge(&with_stream("", data)), Err(Refusal::PdfScript));
    }

    #[test]
    fn what_cannot_be_read_reliably_is_refused() {
        let compressed = zlib(b"1 0 <<>>");
        for (dictionary, data) in [
            ("/Filter /LZWDecode", &compressed[..]),
            ("/Filter [/ASCIIHexDecode /FlateDecode]", &compressed),
            ("/Filter /Fl", &compressed),
            ("/Filter 9 0 R", &compressed),
            ("/Filter /FlateDecode /Filter /LZWDecode", &compressed),
            ("/Filter /FlateDecode /DecodeParms << /Predictor 12 >>", &compressed),
            ("/Filter /FlateDecode /First 9", &compressed),
            ("/Filter /FlateDecode", b"not compressed"),
            ("/Filter /FlateDecode", &compressed[..8]),
        ] {
            assert_eq!(judge(&with_stream(dictionary, data)), Err(Refusal::Damaged), "{dictionary}");
        }
        for object in
            ["1 0 obj << /A (x endobj", "1 0 obj << /A ] >> endobj", "1 0 obj << /A 1 2 >>", "1 0 obj [ 1 >>"]
        {
            let file = format!("%PDF-1.7 {object} %%EOF");
            assert_eq!(judge(file.as_bytes()), Err(Refusal::Damaged), "{object}");
        }
        for start in ["stream%\n", "stream x\n", "stream\0"] {
            let head = format!("%PDF-1.7 7 0 obj <</Type/ObjStm/N 1/First 4>> {start}1 0 <<>>");
            assert_eq!(judge(format!("{head} endstream %%EOF").as_bytes()), Err(Refusal::Damaged), "{start}");
        }
        assert_eq!(judge(b"%PDF-1.7 1 0 obj <<>> endobj"), Err(Refusal::Damaged));
        let nested = format!("%PDF-1.7 1 0 obj {} %%EOF", "[".repeat(101));
        assert_eq!(judge(nested.as_bytes()), Err(Refusal::TooComplex));
    }

    #[test]
    fn attached_data_is_accepted_and_other_files_are_not() {
        let file = |name: &str, content: &[u8], filter: &str| {
            let head = format!(
                "%PDF-1.7 1 0 obj <</Names [(x) 2 0 R]>> endobj 2 0 obj <</Type /Filespec /F (x.xml) /UF ({name}) /EF <</F 3 0 R>> >> \
                 endobj 3 0 obj <</Length {} {filter}>> stream\n",
                content.len()
            );
            judge(&[head.as_bytes(), content, b"\nendstream endobj %%EOF"].concat())
        };
        let xml = b"<?xml version=\"1.0\"?><Candidate/>";
        assert_eq!(file("resume.xml", xml, ""), Ok(()));
        assert_eq!(file("resume.json", b"{}", ""), Ok(()));
        assert_eq!(file("resume.XML", &zlib(xml), "/Filter /FlateDecode"), Ok(()));
        for (name, content, filter) in [
            ("resume.exe", &xml[..], ""),
            ("resume.html", xml, ""),
            ("resume", xml, ""),
            ("resume.xml", b"MZ\x90\0", ""),
            ("resume.xml", b"<html><script>x</script></html>", ""),
            ("resume.xml", b"0123", "/Filter /LZWDecode"),
            ("re\\356\\200\\256sume.exe", xml, ""),
        ] {
            assert_eq!(file(name, content, filter), Err(Refusal::Attachment), "{name}");
        }
    }
}
