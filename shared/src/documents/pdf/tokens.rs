//! The tokens and objects of a PDF, as ISO 32000-2, 7.2 and 7.3 define them.

use std::borrow::Cow;

use crate::documents::budget::Budget;
use crate::documents::refusal::Refusal;

/// The maximum depth of arrays and dictionaries.
const MAX_DEPTH: usize = 100;
/// The maximum number of values in one object, which bounds the memory.
const MAX_VALUES: usize = 1_000_000;

/// A name, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name<'b>(&'b [u8]);

impl Name<'_> {
    /// The name with `#xx` decoded.
    pub(super) fn decoded(&self) -> Cow<'_, [u8]> {
        if !self.0.contains(&b'#') {
            return Cow::Borrowed(self.0);
        }
        let (mut rest, mut name) = (self.0, Vec::new());
        while let [first, after @ ..] = rest {
            let code = match rest {
                [b'#', high, low, ..] => digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low),
                _ => None,
            };
            name.push(code.unwrap_or(*first));
            rest = if code.is_some() { &rest[3..] } else { after };
        }
        Cow::Owned(name)
    }

    pub(super) fn is(&self, name: &[u8]) -> bool {
        *self.decoded() == *name
    }
}

/// A string, as it is written, without its delimiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text<'b> {
    Literal(&'b [u8]),
    Hex(&'b [u8]),
}

impl Text<'_> {
    /// The bytes of the string.
    pub(super) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Hex(hex) => {
                let digits: Vec<u8> = hex.iter().filter_map(|byte| digit(*byte)).collect();
                digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)).collect()
            }
            Self::Literal(literal) => unescaped(literal),
        }
    }

    /// The characters of a string that is text: UTF-16 or UTF-8 with a mark, otherwise nearly Latin-1.
    pub(super) fn text(&self) -> String {
        let bytes = self.bytes();
        match &bytes[..] {
            [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
            [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
            [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
            bytes => bytes.iter().map(|byte| char::from(*byte)).collect(),
        }
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.as_chunks().0.iter().map(|bytes| unit(*bytes));
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

fn unescaped(literal: &[u8]) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), literal);
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let [escaped, after @ ..] = rest else { break };
        rest = after;
        match escaped {
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b't' => bytes.push(b'\t'),
            b'b' => bytes.push(8),
            b'f' => bytes.push(12),
            b'\r' => rest = rest.strip_prefix(b"\n").unwrap_or(rest),
            b'\n' => {}
            b'0'..=b'7' => {
                let mut code = u32::from(escaped - b'0');
                for _ in 0..2 {
                    if let [next @ b'0'..=b'7', after @ ..] = rest {
                        code = code * 8 + u32::from(next - b'0');
                        rest = after;
                    }
                }
                bytes.push(u8::try_from(code & 0xFF).unwrap_or_default());
            }
            other => bytes.push(*other),
        }
    }
    bytes
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// A value in a PDF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Object<'b> {
    Null,
    /// An integer.
    Number(i64),
    False,
    /// A real number, true, or something that has no meaning.
    Other,
    Name(Name<'b>),
    Text(Text<'b>),
    /// A reference to the object with this number.
    Reference(u32),
    Array(Vec<Object<'b>>),
    Dictionary(Vec<(Name<'b>, Object<'b>)>),
}

impl<'b> Object<'b> {
    /// The entries of a dictionary.
    pub(super) fn entries(&self) -> &[(Name<'b>, Object<'b>)] {
        if let Self::Dictionary(entries) = self { entries } else { &[] }
    }

    /// All values of a key of a dictionary. Readers differ in which one of several they take.
    pub(super) fn values<'o>(&'o self, key: &'o [u8]) -> impl Iterator<Item = &'o Object<'b>> {
        self.entries().iter().filter(|(name, _)| name.is(key)).map(|(_, value)| value)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'b> {
    Name(Name<'b>),
    Text(Text<'b>),
    /// A run of regular characters: a number or a keyword.
    Word(&'b [u8]),
    ArrayStart,
    ArrayEnd,
    DictionaryStart,
    DictionaryEnd,
    /// A closing delimiter without an opening one, or a string without an end.
    Stray,
}

/// Reads one token or object after the other.
pub(super) struct Lexer<'b> {
    bytes: &'b [u8],
    at: usize,
}

/// An object, and whether it is complete and correctly nested.
pub(super) struct Parsed<'b> {
    pub(super) object: Object<'b>,
    pub(super) is_whole: bool,
}

/// An array or a dictionary whose end was not read yet.
enum Open<'b> {
    Array(Vec<Object<'b>>),
    Dictionary {
        entries: Vec<(Name<'b>, Object<'b>)>,
        key: Option<Name<'b>>,
        /// A number after a number, which may be the second one of a reference.
        has_second: bool,
    },
}

/// The arrays and dictionaries around the next token.
struct Nest<'b> {
    open: Vec<Open<'b>>,
    is_whole: bool,
}

/// What a token means.
enum Meaning<'b> {
    /// A value is complete.
    Value(Object<'b>),
    /// A value continues.
    Part,
    /// The token does not belong to the object.
    End,
}

impl<'b> Lexer<'b> {
    pub(super) fn new(bytes: &'b [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// The position of the next byte.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'b [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The next token; `None` at the end.
    fn token(&mut self, budget: &mut Budget) -> Result<Option<Token<'b>>, Refusal> {
        let start = self.at;
        self.at = blanks_end(self.bytes, self.at);
        let token = self.blank_free_token();
        budget.read(self.at - start + 1)?;
        Ok(token)
    }

    fn blank_free_token(&mut self) -> Option<Token<'b>> {
        let rest = self.rest();
        let (token, length) = match rest {
            [] => return None,
            [b'/', after @ ..] => {
                let length = regular(after);
                (Token::Name(Name(&after[..length])), 1 + length)
            }
            [b'(', after @ ..] => match end_of_literal(after) {
                Some(end) => (Token::Text(Text::Literal(&after[..end])), end + 2),
                None => (Token::Stray, rest.len()),
            },
            [b'<', b'<', ..] => (Token::DictionaryStart, 2),
            [b'<', after @ ..] => match memchr::memchr(b'>', after) {
                Some(end) => (Token::Text(Text::Hex(&after[..end])), end + 2),
                None => (Token::Stray, rest.len()),
            },
            [b'>', b'>', ..] => (Token::DictionaryEnd, 2),
            [b'[', ..] => (Token::ArrayStart, 1),
            [b']', ..] => (Token::ArrayEnd, 1),
            [b'>' | b')' | b'{' | b'}', ..] => (Token::Stray, 1),
            _ => {
                let length = regular(rest);
                (Token::Word(&rest[..length]), length)
            }
        };
        self.at += length;
        Some(token)
    }

    /// The next word if it is this one, which is then read.
    pub(super) fn take_word(&mut self, word: &[u8], budget: &mut Budget) -> Result<bool, Refusal> {
        let start = self.at;
        let found = matches!(self.token(budget)?, Some(Token::Word(found)) if found.starts_with(word));
        self.at = if found { self.at } else { start };
        Ok(found)
    }

    /// The next integer; `None` if something else is next.
    pub(super) fn integer(&mut self, budget: &mut Budget) -> Result<Option<i64>, Refusal> {
        Ok(match self.token(budget)? {
            Some(Token::Word(word)) => integer(word),
            _ => None,
        })
    }

    /// The next object; `None` if there is none, for example at the end. What is not whole is read as far as possible.
    pub(super) fn object(&mut self, budget: &mut Budget) -> Result<Option<Parsed<'b>>, Refusal> {
        let mut nest = Nest { open: Vec::new(), is_whole: true };
        for _ in 0..MAX_VALUES {
            let start = self.at;
            let meaning = match self.token(budget)? {
                Some(token) => nest.meaning(token)?,
                None => Meaning::End,
            };
            match meaning {
                Meaning::Part => {}
                Meaning::Value(object) if nest.open.is_empty() => {
                    let object = self.reference(object, budget)?;
                    return Ok(Some(Parsed { object, is_whole: nest.is_whole }));
                }
                Meaning::Value(object) => nest.add(object),
                Meaning::End => {
                    if !nest.open.is_empty() {
                        self.at = start;
                    }
                    return Ok(nest.ended().map(|object| Parsed { object, is_whole: false }));
                }
            }
        }
        Err(Refusal::TooComplex)
    }

    /// The reference that begins with this number, if it is one.
    fn reference(&mut self, value: Object<'b>, budget: &mut Budget) -> Result<Object<'b>, Refusal> {
        let Object::Number(number) = value else { return Ok(value) };
        let after = self.at;
        if let (Some(_), Ok(number)) = (self.integer(budget)?, u32::try_from(number))
            && matches!(self.token(budget)?, Some(Token::Word(b"R")))
        {
            return Ok(Object::Reference(number));
        }
        self.at = after;
        Ok(value)
    }
}

impl<'b> Nest<'b> {
    fn meaning(&mut self, token: Token<'b>) -> Result<Meaning<'b>, Refusal> {
        let value = match token {
            Token::ArrayStart | Token::DictionaryStart if self.open.len() == MAX_DEPTH => {
                return Err(Refusal::TooComplex);
            }
            Token::ArrayStart => return Ok(self.opens(Open::Array(Vec::new()))),
            Token::DictionaryStart => {
                return Ok(self.opens(Open::Dictionary {
                    entries: Vec::new(),
                    key: None,
                    has_second: false,
                }));
            }
            Token::ArrayEnd if matches!(self.open.last(), Some(Open::Array(_))) => return Ok(self.close()),
            Token::ArrayEnd | Token::Stray => return Ok(self.broken()),
            Token::DictionaryEnd => {
                // An array that does not end before its dictionary does.
                while matches!(self.open.last(), Some(Open::Array(_))) {
                    self.is_whole = false;
                    match self.close() {
                        Meaning::Value(value) if !self.open.is_empty() => self.add(value),
                        meaning => return Ok(meaning),
                    }
                }
                return Ok(self.close());
            }
            Token::Name(name) => {
                if let Some(Open::Dictionary { key: key @ None, has_second, .. }) = self.open.last_mut() {
                    *key = Some(name);
                    self.is_whole &= !std::mem::take(has_second);
                    return Ok(Meaning::Part);
                }
                Object::Name(name)
            }
            Token::Text(text) => Object::Text(text),
            Token::Word(word) => return Ok(self.word(word)),
        };
        Ok(Meaning::Value(value))
    }

    fn word(&mut self, word: &[u8]) -> Meaning<'b> {
        Meaning::Value(match word {
            b"null" => Object::Null,
            b"false" => Object::False,
            b"true" => Object::Other,
            // Some readers need no space before it.
            [number @ .., b'R'] if number.iter().all(u8::is_ascii_digit) => {
                if !number.is_empty() {
                    self.add(Object::Number(0));
                }
                self.is_whole &= self.refer();
                return Meaning::Part;
            }
            word => match integer(word) {
                Some(number) => Object::Number(number),
                None if is_real(word) => Object::Other,
                None if is_structure(word) || self.open.is_empty() => return Meaning::End,
                None => {
                    self.is_whole = false;
                    Object::Other
                }
            },
        })
    }

    fn opens(&mut self, open: Open<'b>) -> Meaning<'b> {
        self.open.push(open);
        Meaning::Part
    }

    fn broken(&mut self) -> Meaning<'b> {
        self.is_whole = false;
        if self.open.is_empty() { Meaning::End } else { Meaning::Part }
    }

    /// Closes the innermost array or dictionary.
    fn close(&mut self) -> Meaning<'b> {
        match self.open.pop() {
            None => Meaning::End,
            Some(Open::Array(values)) => Meaning::Value(Object::Array(values)),
            Some(Open::Dictionary { mut entries, key, has_second }) => {
                self.is_whole &= !has_second;
                // A key without a value, which some readers take as null.
                entries.extend(key.map(|key| (key, Object::Null)));
                Meaning::Value(Object::Dictionary(entries))
            }
        }
    }

    /// The object of which only the beginning was read.
    fn ended(mut self) -> Option<Object<'b>> {
        while let Meaning::Value(value) = self.close() {
            if self.open.is_empty() {
                return Some(value);
            }
            self.add(value);
        }
        None
    }

    /// Adds a value to the innermost array or dictionary.
    fn add(&mut self, value: Object<'b>) {
        match self.open.last_mut() {
            Some(Open::Array(values)) => values.push(value),
            Some(Open::Dictionary { entries, key, has_second }) => {
                if let Some(key) = key.take() {
                    entries.push((key, value));
                } else {
                    let is_second = matches!(value, Object::Number(_));
                    self.is_whole &= is_second && !*has_second;
                    *has_second = is_second;
                }
            }
            None => {}
        }
    }

    /// Turns the last two numbers into a reference. Returns whether there were two.
    fn refer(&mut self) -> bool {
        let number = |object: &Object<'_>| match object {
            Object::Number(number) => u32::try_from(*number).ok(),
            _ => None,
        };
        match self.open.last_mut() {
            Some(Open::Array(values)) => {
                let [.., first, Object::Number(_)] = &values[..] else { return false };
                let Some(first) = number(first) else { return false };
                values.truncate(values.len() - 2);
                values.push(Object::Reference(first));
                true
            }
            Some(Open::Dictionary { entries, key: None, has_second }) if *has_second => {
                *has_second = false;
                let Some((_, value)) = entries.last_mut() else { return false };
                let Some(first) = number(value) else { return false };
                *value = Object::Reference(first);
                true
            }
            _ => false,
        }
    }
}

fn integer(word: &[u8]) -> Option<i64> {
    let digits = word.strip_prefix(b"+").unwrap_or(word);
    let digits = digits.strip_prefix(b"-").unwrap_or(digits);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // A number that is too large refers to nothing.
    let number = std::str::from_utf8(digits).ok()?.parse().unwrap_or(i64::MAX);
    Some(if word.starts_with(b"-") { -number } else { number })
}

fn is_real(word: &[u8]) -> bool {
    word.iter().all(|byte| byte.is_ascii_digit() || b"+-.".contains(byte))
}

/// Whether a keyword belongs to the structure of the file, so that it cannot be in an object.
fn is_structure(word: &[u8]) -> bool {
    [&b"endobj"[..], b"obj", b"stream", b"endstream", b"xref", b"trailer", b"startxref"]
        .iter()
        .any(|keyword| word.starts_with(keyword))
}

/// The number of regular characters, which are neither white space nor delimiters.
fn regular(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| !is_blank(**byte) && !b"()<>[]{}/%".contains(byte)).count()
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 0x0C | b'\r' | b' ')
}

/// The position after white space and comments.
pub(super) fn blanks_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let blanks = rest.iter().take_while(|byte| is_blank(**byte)).count();
        at += blanks;
        if rest.get(blanks) != Some(&b'%') {
            return at;
        }
        let comment = &rest[blanks..];
        at += memchr::memchr2(b'\r', b'\n', comment).unwrap_or(comment.len());
    }
}

/// The length of a literal string up to the parenthesis that ends it.
fn end_of_literal(after: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (1_usize, 0);
    while let Some(found) = memchr::memchr3(b'(', b')', b'\\', after.get(at..)?) {
        at += found;
        match after[at] {
            b'\\' => at += 1,
            b'(' => depth += 1,
            _ => depth -= 1,
        }
        if depth == 0 {
            return Some(at);
        }
        at += 1;
    }
    None
}
