//! Declaring the input of a route together with the reading of its fields.

/// Declares inputs, and how they are read: `input! { struct NewNote { text: required NoteText, hidden: optional bool = false, } }`.
/// Each field has the method of [`Fields`](crate::http::Fields) that takes it, and the type of its value. A list also has its
/// maximum, such as `tags: list Tag[20]`, and an optional field can have a default.
///
/// All fields are read, in this order, before a missing one ends the reading. The names of fields that are only checked begin
/// with an underscore here, but not in requests. For a struct that is declared elsewhere, write `impl` and leave the types out:
/// `title: required`.
#[macro_export]
macro_rules! input {
    ($($(#[$attribute:meta])* $visible:vis struct $name:ident {
        $($(#[$documented:meta])* $reachable:vis $field:ident:
            $take:ident $type:ty $([$max:expr])? $(= $default:expr)?,)+
    })+) => {$(
        $(#[$attribute])*
        $visible struct $name {
            $($(#[$documented])* $reachable $field: $crate::input!(@type $take $type $(= $default)?),)+
        }

        $crate::input! { impl $name { $($field: $take $([$max])? $(= $default)?,)+ } }
    )+};
    ($(#[$attribute:meta])* impl $name:ident {
        $($field:ident: $take:ident $([$max:expr])? $(= $default:expr)?,)+
    }) => {
        $(#[$attribute])*
        impl $crate::http::Input for $name {
            #[allow(clippy::used_underscore_binding, reason = "a field that is only checked is in the struct, too")]
            fn read(fields: &mut impl $crate::http::Fields) -> Option<Self> {
                $(let $field = fields.$take($crate::http::field_name(stringify!($field)) $(, $max)?);)+
                Some(Self { $($field: $crate::input!(@value $take $field $(= $default)?),)+ })
            }
        }
    };
    (@type optional $type:ty = $default:expr) => { $type };
    (@type optional $type:ty) => { Option<$type> };
    (@type replacement $type:ty) => { Option<$type> };
    (@type optional_object $type:ty) => { Option<$type> };
    (@type change $type:ty) => { $crate::http::Change<$type> };
    (@type objects $type:ty) => { Option<Vec<$type>> };
    (@type unread $type:ty) => { Option<Vec<$type>> };
    (@type list $type:ty) => { $crate::http::Change<Vec<$type>> };
    (@type $required:ident $type:ty) => { $type };
    (@value optional $field:ident = $default:expr) => { $field.unwrap_or($default) };
    (@value required $field:ident) => { $field? };
    (@value object $field:ident) => { $field? };
    (@value part $field:ident) => { $field? };
    (@value $maybe:ident $field:ident) => { $field };
}
