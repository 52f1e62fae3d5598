//! Judges documents in Rich Text Format.
//!
//! Readers of RTF repair nearly everything, so what they could do is found by its control words wherever these stand, also
//! where a strict reader would skip them.

use memchr::memmem;

use super::budget::Budget;
use super::fields;
use super::location::is_local;
use super::refusal::Refusal;

/// The first bytes of a document.
pub(super) const MAGIC: &[u8] = b"{\\rtf";
/// The maximum depth of groups.
const MAX_DEPTH: usize = 10_000;

/// The control words that no data contains by chance.
const HIDDEN: [&[u8]; 4] = [b"\\obj", b"\\fldinst", b"\\template", b"\\*\\"];

/// A group whose text matters: the instructions of a field, or the name of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Matter {
    Field,
    File,
    /// The name of a shape's property, and its value.
    Property,
    Value,
}

/// Refuses a document with objects, or that loads something.
pub(super) fn check(bytes: &[u8], budget: &mut Budget) -> Result<(), Refusal> {
    budget.read(2 * bytes.len())?;
    let end =
        bytes.iter().rposition(|byte| !byte.is_ascii_whitespace() && *byte != 0).map_or(0, |last| last + 1);
    if !bytes[..end].ends_with(b"}") {
        return Err(Refusal::Damaged);
    }
    let mut reader = RtfReader::default();
    let mut rest = bytes;
    while let [first, after @ ..] = rest {
        rest = after;
        match first {
            b'{' => {
                reader.depth += 1;
                if reader.depth > MAX_DEPTH {
                    return Err(Refusal::TooComplex);
                }
            }
            b'}' => reader.close()?,
            b'\r' | b'\n' => {}
            b'\\' => {
                let length = after.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                if length == 0 {
                    rest = reader.symbol(after);
                    continue;
                }
                let (word, after) = after.split_at(length);
                let sign = usize::from(after.first() == Some(&b'-'));
                let digits = after[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                let (number, after) = after.split_at(if digits == 0 { 0 } else { sign + digits });
                rest = after.strip_prefix(b" ").unwrap_or(after);
                let number = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
                let word = word.to_ascii_lowercase();
                if let (b"bin", Some(length)) = (&word[..], number) {
                    let length = usize::try_from(length).unwrap_or_default().min(rest.len());
                    let (data, after) = rest.split_at(length);
                    // A reader that does not skip the data would read this.
                    if HIDDEN.iter().any(|word| memmem::find(data, word).is_some()) {
                        return Err(Refusal::Damaged);
                    }
                    rest = after;
                }
                reader.word(&word, number)?;
            }
            byte => reader.text(char::from(*byte)),
        }
    }
    while reader.depth > 0 {
        reader.close()?;
    }
    Ok(())
}

#[derive(Default)]
struct RtfReader {
    depth: usize,
    /// The open groups whose text matters, with their depths.
    open: Vec<(usize, Matter, String)>,
    /// The first half of a character.
    high: Option<u16>,
    property: String,
}

impl RtfReader {
    fn text(&mut self, character: char) {
        if let Some((_, _, text)) = self.open.last_mut() {
            text.push(character);
        }
    }

    /// A backslash with something else than a letter after it.
    fn symbol<'b>(&mut self, after: &'b [u8]) -> &'b [u8] {
        match after {
            [b'\'', high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap_or_default();
                self.text(char::from_u32(digit(high) * 16 + digit(low)).unwrap_or(' '));
                rest
            }
            [symbol @ (b'\\' | b'{' | b'}'), rest @ ..] => {
                self.text(char::from(*symbol));
                rest
            }
            [_, rest @ ..] => rest,
            [] => after,
        }
    }

    fn word(&mut self, word: &[u8], number: Option<i32>) -> Result<(), Refusal> {
        match word {
            b"object" | b"objdata" | b"objocx" | b"objhtml" | b"objemb" | b"objautlink" | b"objupdate" => {
                return Err(Refusal::Object);
            }
            b"mailmerge" | b"subdocument" | b"filetbl" => return Err(Refusal::Remote),
            b"fldinst" => {
                if let Some((_, Matter::Field, text)) = self.open.last_mut() {
                    text.push(fields::NESTED);
                }
                self.open.push((self.depth, Matter::Field, String::new()));
            }
            b"template" | b"nextfile" => self.open.push((self.depth, Matter::File, String::new())),
            b"sn" => self.open.push((self.depth, Matter::Property, String::new())),
            b"sv" => self.open.push((self.depth, Matter::Value, String::new())),
            b"u" => {
                let unit =
                    number.map_or(0, |number| u16::try_from(number.rem_euclid(0x1_0000)).unwrap_or_default());
                let units = self.high.take().into_iter().chain([unit]);
                match char::decode_utf16(units).next() {
                    Some(Ok(character)) => self.text(character),
                    _ => self.high = Some(unit),
                }
            }
            b"par" | b"line" | b"tab" => self.text(' '),
            _ => {}
        }
        Ok(())
    }

    /// The end of a group.
    fn close(&mut self) -> Result<(), Refusal> {
        while let Some((_, matter, text)) = self.open.pop_if(|(depth, ..)| *depth >= self.depth) {
            match matter {
                Matter::Field => fields::check(&text)?,
                Matter::Property => self.property = text.trim().to_ascii_lowercase(),
                Matter::Value if !self.property.contains("pib") && !self.property.contains("blip") => {}
                Matter::File | Matter::Value if is_local(&text) => {}
                Matter::File | Matter::Value => return Err(Refusal::Remote),
            }
        }
        self.depth = self.depth.saturating_sub(1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(content: &str) -> Result<(), Refusal> {
        let document = format!("{{\\rtf1\\ansi {content}}}");
        check(document.as_bytes(), &mut Budget::of(document.len()))
    }

    #[test]
    fn ordinary_documents_are_accepted() {
        for content in [
            "Zo\\'eb \\u381?ivkovi\\'e6\\par",
            "{\\field{\\*\\fldinst HYPERLINK \"https://example.com\"}{\\fldrslt example}}",
            "{\\field{\\*\\fldinst {PAGE}}{\\fldrslt 1}}",
            "{\\*\\template C:\\\\Users\\\\mira\\\\Resume.dotx}",
            "{\\pict\\wmetafile8\\bin4 }}}}}",
            "{\\sp{\\sn wzDescription}{\\sv https://example.com}}",
            "{\\sp{\\sn pibName}{\\sv photo.png}}",
            "DDEAUTO and \\\\object in the text",
        ] {
            assert_eq!(judge(content), Ok(()), "{content}");
        }
    }

    #[test]
    fn documents_with_objects_or_that_load_something_are_refused() {
        for (content, refusal) in [
            ("{\\object\\objemb{\\*\\objdata 0105}}", Refusal::Object),
            ("{\\*\\objdata 0105}", Refusal::Object),
            ("{\\*\\template https://example.com/t.dotm}", Refusal::Remote),
            ("{\\*\\template \\\\\\\\server\\\\t.dotm}", Refusal::Remote),
            ("{\\*\\template h\\u116?tps://example.com/t.dotm}", Refusal::Remote),
            ("{\\field{\\*\\fldinst DDEAUTO c x}}", Refusal::DataLink),
            ("{\\field{\\*\\fldinst {DDE}{\\b AUTO}{ x}}}", Refusal::DataLink),
            ("{\\field{\\*\\fldinst \\'44DEAUTO x}}", Refusal::DataLink),
            ("{\\field{\\*\\fldinst D\\bin2 }}DE x}}", Refusal::DataLink),
            ("{\\field{\\*\\fldinst INCLUDEPICTURE \"https://example.com/x.png\"}}", Refusal::Remote),
            ("{\\field{\\*\\fldinst D{\\field{\\*\\fldinst QUOTE DE}}}}", Refusal::Remote),
            ("{\\sp{\\sn pibName}{\\sv https://example.com/x.png}}", Refusal::Remote),
            ("\\bin20 {\\object\\objemb 1234}", Refusal::Damaged),
        ] {
            assert_eq!(judge(content), Err(refusal), "{content}");
        }
        let cut = b"{\\rtf1 text";
        assert_eq!(check(cut, &mut Budget::of(cut.len())), Err(Refusal::Damaged));
    }
}
