//! The author of changes that come from the career page.

use shared::http::RequestContext;
use shared::services::Author;

/// Returns the author of touchpoints from the career page.
pub(crate) fn author(context: &RequestContext) -> Author<'_> {
    Author { ids: context.ids(), actor: "career page".to_owned(), at: context.now() }
}
