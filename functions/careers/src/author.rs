//! The author of changes that come from the career page.

use shared::http::RequestContext;
use shared::model::Actor;
use shared::services::Author;

/// Returns the author of touchpoints from the career page.
pub(crate) fn author(context: &RequestContext) -> Author<'_> {
    Author { ids: context.ids(), actor: Actor::career_page(), at: context.now() }
}
