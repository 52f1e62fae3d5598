//! Which encoding a text file has.

use std::io::{BufRead, BufReader, Read, Seek};

use encoding_rs::{Encoding as Codec, UTF_8, WINDOWS_1252};

use crate::Encoding;
use crate::Refusal;
use crate::settings::codec;

/// Finds the encoding: what was named, or what a byte order mark says, else UTF-8 if the whole file is, else Windows-1252.
/// Nothing is guessed from letters, because guesses take one alphabet for another.
pub(crate) fn find(
    file: &mut (impl Read + Seek),
    named: Option<Encoding>,
) -> Result<&'static Codec, Refusal> {
    file.rewind()?;
    let mut file = BufReader::new(file);
    // A mark wins over a name, because no other encoding has texts that begin so.
    if let Some((marked, _)) = Codec::for_bom(file.fill_buf()?) {
        if marked != UTF_8 {
            return Ok(marked);
        }
    } else if let Some(named) = named {
        return Ok(codec(named));
    }
    let mut lines = Lines::default();
    loop {
        let bytes = file.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        let length = bytes.len();
        bytes.split_inclusive(|byte| matches!(byte, b'\r' | b'\n')).for_each(|part| lines.add(part));
        file.consume(length);
    }
    lines.end();
    match lines.first_other {
        None => Ok(UTF_8),
        Some(line) if lines.utf8 > lines.other => Err(Refusal::MixedEncoding { line }),
        Some(_) => Ok(WINDOWS_1252),
    }
}

/// The lines with letters outside ASCII.
#[derive(Default)]
struct Lines {
    /// The number of lines that are UTF-8.
    utf8: u64,
    /// The number of others.
    other: u64,
    /// The first of the others.
    first_other: Option<u64>,
    ended: u64,
    /// Whether a carriage return has ended the line before, so that a newline ends the same line.
    is_return: bool,
    /// The bytes of a letter that goes on in the next part of the line.
    begun: Vec<u8>,
    has_letters: bool,
    is_other: bool,
}

impl Lines {
    /// Adds a part of a line, which ends the line if it ends with a line end.
    fn add(&mut self, part: &[u8]) {
        let is_of_line_before = self.is_return && part == b"\n";
        self.is_return = part.ends_with(b"\r");
        if is_of_line_before {
            return;
        }
        self.has_letters |= !part.is_ascii();
        let bytes = if self.begun.is_empty() { part } else { &[self.begun.as_slice(), part].concat() };
        let begun = match std::str::from_utf8(bytes) {
            Ok(_) => Vec::new(),
            Err(error) if error.error_len().is_none() => {
                bytes.get(error.valid_up_to()..).unwrap_or_default().to_vec()
            }
            Err(_) => {
                self.is_other = true;
                Vec::new()
            }
        };
        self.begun = begun;
        if self.is_return || part.ends_with(b"\n") {
            self.end();
        }
    }

    /// Ends a line.
    fn end(&mut self) {
        self.ended += 1;
        if self.is_other || !self.begun.is_empty() {
            self.other += 1;
            self.first_other.get_or_insert(self.ended);
        } else if self.has_letters {
            self.utf8 += 1;
        }
        (self.has_letters, self.is_other) = (false, false);
        self.begun.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn encoding(bytes: &[u8], named: Option<Encoding>) -> Result<&'static str, String> {
        find(&mut Cursor::new(bytes), named).map(Codec::name).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_is_utf_8_as_a_whole_or_not_at_all() {
        assert_eq!(encoding("Name\nKöhler\n".as_bytes(), None), Ok("UTF-8"));
        assert_eq!(encoding(b"Name\nSmith", None), Ok("UTF-8"));
        assert_eq!(encoding(b"Name\nK\xf6hler\n", None), Ok("windows-1252"));
        assert_eq!(encoding(b"Name\nK\xf6hler\n", Some(Encoding::Windows1250)), Ok("windows-1250"));
        assert_eq!(encoding("\u{FEFF}Name".as_bytes(), Some(Encoding::Windows1250)), Ok("UTF-8"));
        assert_eq!(encoding(b"\xff\xfeN\0", None), Ok("UTF-16LE"));
        assert_eq!(encoding(b"\xfe\xff\0N", None), Ok("UTF-16BE"));
        let mixed = ["Name\nKöhler\nMüller\n".as_bytes(), b"\n\nS\xe1nchez\n"].concat();
        assert!(encoding(&mixed, None).unwrap_err().starts_with("Line 6 is not UTF-8"));
        for end in ["\r", "\r\n"] {
            let mixed =
                ["Name\nKöhler\nMüller\n".replace('\n', end).into_bytes(), b"S\xe1nchez".to_vec()].concat();
            assert!(encoding(&mixed, None).unwrap_err().starts_with("Line 4 is not UTF-8"));
        }
        let one_each = ["Name\nKöhler\n".as_bytes(), b"S\xe1nchez"].concat();
        assert_eq!(encoding(&one_each, None), Ok("windows-1252"));
        assert_eq!(encoding("Kö".as_bytes().get(..2).unwrap(), None), Ok("windows-1252"));
    }

    #[test]
    fn a_letter_may_lie_across_two_reads() {
        let text = format!("{}ö\n{}", "x".repeat(8 * 1024 - 1), "é".repeat(10_000));
        assert_eq!(encoding(text.as_bytes(), None), Ok("UTF-8"));
    }
}
