//! Enumerations whose variants are written as strings.

/// Declares an enumeration with a string for each variant. The strings are the same in requests, responses and the
/// table.
#[macro_export]
macro_rules! string_enum {
    ($(#[$attribute:meta])* $visible:vis enum $name:ident {
        $($(#[$variant_attribute:meta])* $variant:ident = $string:literal,)+
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        $visible enum $name {
            $($(#[$variant_attribute])* #[serde(rename = $string)] $variant,)+
        }

        impl $name {
            /// Every variant.
            $visible const ALL: [Self; [$($string),+].len()] = [$(Self::$variant),+];

            /// The variant's string.
            $visible const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $string,)+
                }
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let string = utoipa::openapi::ObjectBuilder::new().schema_type(utoipa::openapi::Type::String);
                string.enum_values(Some([$($string),+])).into()
            }
        }

        impl utoipa::ToSchema for $name {}

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|variant| variant.as_str() == text);
                found.ok_or_else(|| format!("must be one of {}", Self::ALL.map(Self::as_str).join(", ")))
            }
        }

        impl $crate::model::Value for $name {
            fn read(scalar: &$crate::model::Scalar<'_>) -> Result<Option<Self>, String> {
                $crate::model::one_of(scalar)
            }

            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                <Self as utoipa::PartialSchema>::schema()
            }
        }
    };
}

pub(super) use string_enum;
