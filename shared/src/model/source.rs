//! Where candidates and applications came from.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::{Scalar, Text, Value};

/// Where a candidate or an application came from: a word of 1 to 100 characters that the client chooses, or one of
/// `manual`, `api`, `career_page` and `import`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Source(Cow<'static, str>);

impl Source {
    /// The candidate was created through the API, with or without an application.
    pub const MANUAL: Self = Self(Cow::Borrowed("manual"));
    /// The application was added to an existing candidate through the API.
    pub const API: Self = Self(Cow::Borrowed("api"));
    /// The candidate applied on the career page.
    pub const CAREER_PAGE: Self = Self(Cow::Borrowed("career_page"));

    /// An import brought the candidate or the application.
    pub const IMPORT: Self = Self(Cow::Borrowed("import"));

    /// Whether the word is not one of the four.
    pub fn is_chosen(&self) -> bool {
        ![Self::MANUAL, Self::API, Self::CAREER_PAGE, Self::IMPORT].contains(self)
    }

    /// The word, as the client wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for Source {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        Ok(Text::<100>::read(scalar)?.map(|text| Self(Cow::Owned(text.as_str().to_owned()))))
    }

    fn schema() -> RefOr<Schema> {
        <Text<100> as Value>::schema()
    }
}

impl PartialSchema for Source {
    fn schema() -> RefOr<Schema> {
        <Text<100> as PartialSchema>::schema()
    }
}

impl ToSchema for Source {}
