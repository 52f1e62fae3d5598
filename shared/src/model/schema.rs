//! The schemas of single values in the API. They have the same limits as the parsers.

use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};

/// The pattern of text without control characters other than newline and tab.
pub const CLEAN: &str = r"^[^\x00-\x08\x0B-\x1F\x7F-\x9F]*$";
/// The same pattern for text that is not blank.
pub const NOT_BLANK: &str =
    r"^[^\S\x00-\x08\x0B-\x1F\x7F-\x9F]*[^\s\x00-\x1F\x7F-\x9F][^\x00-\x08\x0B-\x1F\x7F-\x9F]*$";
/// The pattern of a phone number as entered, with spaces and punctuation. A zero must not follow a parenthesis.
pub const PHONE_AS_TYPED: &str = concat!(
    r"^[\s.()/–‑-]*\+[\s.()/–‑-]*[1-9]",
    r"(?:[\s.()/–‑-]*[1-9]|(?:[\s.()/–‑-]*[.)/–‑-])?\s*0){6,14}[\s.()/–‑-]*$",
);

/// The schema of a string.
pub fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

/// The schema of a string in a known format.
pub fn formatted(format: KnownFormat) -> ObjectBuilder {
    string().format(Some(SchemaFormat::KnownFormat(format)))
}

/// The schema of a whole number of at least `minimum`.
pub fn integer(minimum: u8) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(minimum))
}
