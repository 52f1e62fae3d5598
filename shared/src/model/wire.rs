//! The format of domain values in requests, and their schemas in the OpenAPI document.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, SchemaType};
use utoipa::{PartialSchema, ToSchema};

use super::schema::{LINE, LINES, WEB_ADDRESS, integer, phone_as_typed, string};
use super::value::parsed;
use super::{
    Amount, Country, Currency, Email, EndpointUrl, FeedPosition, GivenAnswer, GivenPhone, Phone, RedirectUri,
    Salary, Scalar, SearchQuery, Slug, Tag, Tags, Text, TimeZoneName, Value, WebAddress,
};
use crate::id::Id;

/// The pattern of a redirect URI: an https site, a program on the user's own machine, or an app with its own scheme.
const REDIRECT_URI: &str = concat!(
    "^(?:",
    r"https://(?:[0-9A-Za-z.-]+|\[[0-9A-Fa-f:.]+\])",
    r"(?::[1-9][0-9]{0,4})?(?:[/?][0-9A-Za-z._~:/?\[\]@!$&'()+,;=%-]*)?|",
    r"http://(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])",
    r"(?::[1-9][0-9]{0,4})?(?:[/?][0-9A-Za-z._~:/?\[\]@!$&'()+,;=%-]*)?|",
    r"[a-z][0-9a-z+.-]+:/[0-9A-Za-z._~:/?\[\]@!$&'()+,;=%-]*",
    ")$",
);

/// The pattern of a webhook endpoint's URL: https with a public name, or in the local service also a port of this machine.
const ENDPOINT_URL: &str = concat!(
    r"^(?:https://[0-9a-z_-]+(?:\.[0-9a-z_-]+)+(?:[/?][!-~]*)?|",
    r"http://127\.0\.0\.1:[1-9][0-9]{0,4}/[!-~]*)$",
);

impl<const MAX: usize, const MULTILINE: bool> Value for Text<MAX, MULTILINE> {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        match scalar {
            Scalar::Text(text) => Self::parse(text),
            Scalar::Word(text) => Self::parse(text),
            _ => Err("must be a string".to_owned()),
        }
    }

    fn schema() -> RefOr<Schema> {
        <Self as PartialSchema>::schema()
    }
}

/// The value of an answer. Which values a question accepts depends on its kind.
impl Value for GivenAnswer {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        match scalar {
            scalar if scalar.is_blank() => Ok(None),
            Scalar::Text(text) => Ok(Some(Self::Text(text.clone()))),
            Scalar::Word(text) => Ok(Some(Self::Text((*text).to_owned()))),
            Scalar::Number(written) => Ok(Some(Self::Number((*written).to_owned()))),
            Scalar::Bool(value) => Ok(Some(Self::Bool(*value))),
            Scalar::Texts(texts) => Ok(Some(Self::Texts(texts.clone()))),
            Scalar::Other => Err("must be a string, a number, a boolean or an array of strings".to_owned()),
        }
    }

    // Generators of clients know no unions.
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(SchemaType::AnyValue).into()
    }
}

impl Value for Id {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        if scalar.is_blank() {
            return Ok(None);
        }
        scalar.whole_number_in(1..=Self::MAX).map(Self::new)
    }

    fn schema() -> RefOr<Schema> {
        <Self as PartialSchema>::schema()
    }
}

impl Value for FeedPosition {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        let position = match scalar {
            scalar if scalar.is_blank() => return Ok(None),
            Scalar::Text(text) => text.trim().parse(),
            Scalar::Word(word) => word.parse(),
            scalar => scalar.whole_number_in(0..=Id::MAX).map(Self),
        };
        position.map(Some).map_err(|_| "must be a position of the feed: a string of digits".to_owned())
    }

    fn schema() -> RefOr<Schema> {
        string().pattern(Some("^[0-9]{1,16}$")).into()
    }
}

impl Value for Salary {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        if scalar.is_blank() {
            return Ok(None);
        }
        scalar.whole_number_in(0..=i64::from(Self::MAX)).map(Self::new)
    }

    fn schema() -> RefOr<Schema> {
        <Self as PartialSchema>::schema()
    }
}

macro_rules! parsed {
    ($($value:ty),+) => {
        $(impl Value for $value {
            fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
                parsed(scalar)
            }

            fn schema() -> RefOr<Schema> {
                <Self as PartialSchema>::schema()
            }
        })+
    };
}

parsed!(Email, EndpointUrl, TimeZoneName, WebAddress);

impl Value for Amount {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        match scalar {
            Scalar::Number(_) => Err("must be a string, such as \"18.50\"".to_owned()),
            scalar => parsed(scalar),
        }
    }

    fn schema() -> RefOr<Schema> {
        <Self as PartialSchema>::schema()
    }
}

macro_rules! codes {
    ($($value:ty: $pattern:literal;)+) => {
        $(impl Value for $value {
            fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
                parsed(scalar)
            }

            // A list of all codes would make new ones incompatible.
            fn schema() -> RefOr<Schema> {
                string().pattern(Some($pattern)).into()
            }
        })+
    };
}

codes! {
    Country: "^[A-Za-z]{2}$";
    Currency: "^[A-Za-z]{3}$";
}

impl Value for GivenPhone {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        parsed(scalar)
    }

    fn schema() -> RefOr<Schema> {
        phone_as_typed().into()
    }
}

impl Value for SearchQuery {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        match scalar {
            Scalar::Text(text) => text.parse().map(Some),
            Scalar::Word(text) => text.parse().map(Some),
            _ => Err("must be a string".to_owned()),
        }
    }

    fn schema() -> RefOr<Schema> {
        // Which characters are letters depends on the version of Unicode.
        string().min_length(Some(1)).max_length(Some(Self::MAX)).into()
    }
}

impl<const MAX: usize, const MULTILINE: bool> PartialSchema for Text<MAX, MULTILINE> {
    fn schema() -> RefOr<Schema> {
        let pattern = if MULTILINE { LINES } else { LINE };
        string().pattern(Some(pattern)).min_length(Some(1)).max_length(Some(MAX)).into()
    }
}

impl<const MAX: usize, const MULTILINE: bool> ToSchema for Text<MAX, MULTILINE> {
    fn name() -> Cow<'static, str> {
        let kind = if MULTILINE { "Lines" } else { "Text" };
        format!("{kind}{MAX}").into()
    }
}

macro_rules! schemas {
    ($($value:ident: $schema:expr;)+) => {
        $(impl PartialSchema for $value {
            fn schema() -> RefOr<Schema> {
                $schema.into()
            }
        }

        impl ToSchema for $value {})+
    };
}

schemas! {
    Amount: string().pattern(Some(Self::PATTERN));
    Country: string().pattern(Some("^[A-Z]{2}$"));
    Currency: string().pattern(Some("^[A-Z]{3}$"));
    EndpointUrl: string().pattern(Some(ENDPOINT_URL)).max_length(Some(Self::MAX));
    // `idn-email` allows all scripts; `email` allows only ASCII.
    Email: string().format(Some(SchemaFormat::Custom("idn-email".to_owned()))).max_length(Some(Self::MAX));
    Id: integer(1).format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64))).maximum(Some(Self::MAX));
    Phone: string().pattern(Some(r"^\+[1-9][0-9]{5,14}$"));
    RedirectUri: string().pattern(Some(REDIRECT_URI)).max_length(Some(Self::MAX));
    Salary: integer(0).format(Some(SchemaFormat::KnownFormat(KnownFormat::Int32))).maximum(Some(Self::MAX));
    Slug: string().pattern(Some("^[a-z0-9]+(-[a-z0-9]+)*$")).max_length(Some(Self::MAX));
    Tags: ArrayBuilder::new().items(<Tag as PartialSchema>::schema()).max_items(Some(Self::MAX));
    // A list of all names would make new ones incompatible.
    TimeZoneName: string();
    WebAddress: string().pattern(Some(WEB_ADDRESS)).max_length(Some(Self::MAX));
}
