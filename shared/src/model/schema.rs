//! How values are described to clients: within the bounds that they are read with.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

use super::{Email, Phone, RedirectUri, Salary, Slug, Text, WebAddress};
use crate::id::Id;

/// As a pattern: text without a control character other than newline and tab.
pub const CLEAN: &str = r"^[^\x00-\x08\x0B-\x1F\x7F-\x9F]*$";
/// As a pattern: the same, and not blank.
pub const NOT_BLANK: &str =
    r"^[^\S\x00-\x08\x0B-\x1F\x7F-\x9F]*[^\s\x00-\x1F\x7F-\x9F][^\x00-\x08\x0B-\x1F\x7F-\x9F]*$";
/// As a pattern: what is read as a phone number, punctuation and all.
pub const PHONE_AS_TYPED: &str = r"^[\s.()/–‑-]*\+[\s.()/–‑-]*[1-9](?:[\s.()/–‑-]*[0-9]){6,14}[\s.()/–‑-]*$";

/// As a pattern: a site, a program on the user's own machine, or an app that has the scheme.
const REDIRECT_URI: &str = concat!(
    "^(?:",
    r"https://(?:[0-9A-Za-z.-]+|\[[0-9A-Fa-f:.]+\])(?::[1-9][0-9]{0,4})?(?:[/?][0-9A-Za-z._~:/?\[\]@!$&'()+,;=%-]*)?|",
    r"http://(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[1-9][0-9]{0,4})?(?:[/?][0-9A-Za-z._~:/?\[\]@!$&'()+,;=%-]*)?|",
    r"[a-z][0-9a-z+-]*\.[0-9a-z+.-]*:/[0-9A-Za-z._~:/?\[\]@!$&'()+,;=%-]*",
    ")$",
);

/// Any string.
pub fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

/// A string of a known format.
pub fn formatted(format: KnownFormat) -> ObjectBuilder {
    string().format(Some(SchemaFormat::KnownFormat(format)))
}

/// A whole number of at least this.
pub fn integer(minimum: u8) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(minimum))
}

impl<const MAX: usize> PartialSchema for Text<MAX> {
    fn schema() -> RefOr<Schema> {
        string().pattern(Some(NOT_BLANK)).min_length(Some(1)).max_length(Some(MAX)).into()
    }
}

impl<const MAX: usize> ToSchema for Text<MAX> {
    fn name() -> Cow<'static, str> {
        format!("Text{MAX}").into()
    }
}

macro_rules! described {
    ($($value:ident: $schema:expr;)+) => {
        $(impl PartialSchema for $value {
            fn schema() -> RefOr<Schema> {
                $schema.into()
            }
        }

        impl ToSchema for $value {})+
    };
}

described! {
    // Other scripts than Latin are as good.
    Email: string().format(Some(SchemaFormat::Custom("idn-email".to_owned()))).max_length(Some(Self::MAX));
    Id: integer(1).format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64))).maximum(Some(Self::MAX));
    Phone: string().pattern(Some(r"^\+[1-9][0-9]{6,14}$"));
    RedirectUri: string().pattern(Some(REDIRECT_URI)).max_length(Some(Self::MAX));
    Salary: integer(0).format(Some(SchemaFormat::KnownFormat(KnownFormat::Int32))).maximum(Some(Self::MAX));
    Slug: string().pattern(Some("^[a-z0-9]+(-[a-z0-9]+)*$")).max_length(Some(Self::MAX));
    WebAddress: string()
        // No `uri`: browsers take more than RFC 3986 has.
        .pattern(Some(r"^[Hh][Tt][Tt][Pp][Ss]?://[^\s\x00-\x1F\x7F-\x9F]+$"))
        .max_length(Some(Self::MAX));
}
