//! Personal data in the replies to changes. A credential may be allowed to change people without being allowed to read
//! them.

use serde::Serialize;
use utoipa::ToSchema;

/// A resource with the data of a person.
pub trait Personal: Serialize + ToSchema {
    /// What every caller may see of the resource: identifiers, states and times.
    type Reference: Serialize + ToSchema;

    /// The resource without the data of the person.
    fn into_reference(self) -> Self::Reference;
}

/// A resource with the data of a person, as far as the caller may see it. Only
/// [`ApiRequest::visible`](super::ApiRequest::visible) makes one.
#[derive(Serialize)]
#[serde(transparent)]
pub struct Visible<T: Personal>(Part<T>);

#[derive(Serialize)]
#[serde(untagged)]
enum Part<T: Personal> {
    Whole(T),
    Reference(T::Reference),
}

impl<T: Personal> Visible<T> {
    /// The resource as it is for a caller who may read people, or its reference.
    pub(super) fn new(resource: T, may_read: bool) -> Self {
        Self(if may_read { Part::Whole(resource) } else { Part::Reference(resource.into_reference()) })
    }
}

/// What the body of a reply contains: the same for every caller, or [`Visible`] data.
pub trait Resource {
    /// What a caller gets who may see everything.
    type Whole: ToSchema;
    /// What a caller gets who may not read people; `()` if that makes no difference.
    type Reference: ToSchema;
}

impl<T: ToSchema> Resource for T {
    type Whole = T;
    type Reference = ();
}

impl<T: Personal> Resource for Visible<T> {
    type Whole = T;
    type Reference = T::Reference;
}
