//! Requests without an API credential.

use std::marker::PhantomData;
use std::sync::Arc;

use utoipa::ToSchema;

use super::context::RequestContext;

/// The parameters and the body of a public route, as the OpenAPI document describes them.
pub trait Payload {
    /// The body's media type; `None` if there is no body.
    const MEDIA: Option<&'static str> = None;
    /// The names of the query parameters and headers.
    const PARAMETERS: &'static [&'static str] = &[];
    /// The body.
    type Body: ToSchema;
}

/// No parameters and no body.
impl Payload for () {
    type Body = ();
}

/// A request from anyone, for a route that takes a `P`.
pub struct PublicRequest<P = ()> {
    /// The request and its environment.
    pub context: Arc<RequestContext>,
    payload: PhantomData<fn() -> P>,
}

impl<P> PublicRequest<P> {
    pub(super) fn new(context: Arc<RequestContext>) -> Self {
        Self { context, payload: PhantomData }
    }
}
