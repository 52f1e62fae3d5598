//! The schemas of single values in the API. They have the same limits as the parsers.

use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};

use super::Phone;

/// White space and invisible characters, for a character class: tab, line ends, `White_Space` and
/// `Default_Ignorable_Code_Point`.
macro_rules! blank {
    () => {
        concat!(
            r"\t\n\r \u00A0\u00AD\u034F\u061C\u115F\u1160\u1680\u17B4\u17B5\u180B-\u180F\u2000-\u200F\u2028-\u202F",
            r"\u205F-\u206F\u3000\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFF8",
            // Escapes of these characters differ between the dialects of regular expressions.
            "\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}",
        )
    };
}
/// Control characters other than tab and line ends, for a character class.
macro_rules! forbidden {
    () => {
        r"\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F"
    };
}
/// White space that is trimmed, for a character class.
macro_rules! trimmed {
    () => {
        r"\t\n\r \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF"
    };
}
/// Any character of a single line.
macro_rules! in_line {
    () => {
        r"[^\x00-\x08\x0A-\x1F\x7F-\x9F]"
    };
}

/// The pattern of blank text: white space and invisible characters.
pub const BLANK: &str = concat!("^[", blank!(), "]*$");
/// The pattern of text with several lines. It is not blank.
pub const LINES: &str = concat!("^[", blank!(), "]*[^", blank!(), forbidden!(), "][^", forbidden!(), "]*$");
/// The pattern of text with several lines, or blank text.
pub const LINES_OR_BLANK: &str = concat!("^[^", forbidden!(), "]*$");
/// The pattern of a single line of text. It is not blank.
pub const LINE: &str = concat!(
    "^[",
    trimmed!(),
    "]*",
    in_line!(),
    "*[^",
    blank!(),
    forbidden!(),
    "]",
    in_line!(),
    "*[",
    trimmed!(),
    "]*$",
);
/// The pattern of a URL. The format is not `uri`, because the parser accepts more than RFC 3986 allows.
pub const WEB_ADDRESS: &str = r"^[Hh][Tt][Tt][Pp][Ss]?://[^\s\x00-\x1F\x7F-\x9F]+$";

/// The schema of a string.
pub fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

/// The schema of a phone number as people type it. Which texts are numbers depends on the numbering plans of all countries.
pub fn phone_as_typed() -> ObjectBuilder {
    string().format(Some(SchemaFormat::Custom("phone".to_owned()))).max_length(Some(Phone::MAX_TYPED))
}

/// The schema of a string in a known format.
pub fn formatted(format: KnownFormat) -> ObjectBuilder {
    string().format(Some(SchemaFormat::KnownFormat(format)))
}

/// The schema of a whole number of at least `minimum`.
pub fn integer(minimum: u8) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(minimum))
}
