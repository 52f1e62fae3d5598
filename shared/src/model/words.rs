//! Enumerations whose members are written as one word each.

/// Declares such an enumeration: its members with their words, in requests, answers and the table alike.
macro_rules! words {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$of:meta])* $member:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$of])* #[serde(rename = $word)] $member,)+
        }

        impl $name {
            /// Every member.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$member),+];

            /// The member's word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$member => $word,)+
                }
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let words = utoipa::openapi::ObjectBuilder::new().schema_type(utoipa::openapi::Type::String);
                words.enum_values(Some([$($word),+])).into()
            }
        }

        impl utoipa::ToSchema for $name {}

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|member| member.as_str() == text);
                found.ok_or_else(|| format!("must be one of {}", Self::ALL.map(Self::as_str).join(", ")))
            }
        }
    };
}

pub(super) use words;
