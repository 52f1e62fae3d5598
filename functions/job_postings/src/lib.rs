//! Job postings: the public pages of roles on the career site. A role has at most one.

use shared::hiring::postings::{self, present};
use shared::http::{ApiRequest, Collection, Error, Listing, Reply, Row, input};
use shared::model::{self, Scope};
use shared::resources::posting::Posting;
use shared::store::{Listed, StoreError};

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/job_postings", Scope::RolesRead, list),
        R::new("POST /api/v1/job_postings", Scope::RolesWrite, postings::create),
        R::new("GET /api/v1/job_postings/{id}", Scope::RolesRead, show),
        R::new("PATCH /api/v1/job_postings/{id}", Scope::RolesWrite, postings::update),
        R::new("POST /api/v1/job_postings/{id}/publish", Scope::RolesWrite, postings::publish),
        R::new("POST /api/v1/job_postings/{id}/unpublish", Scope::RolesWrite, postings::unpublish),
    ]
}

input! {
    /// Filters for the list of job postings.
    pub struct PostingFilter {
        /// Returns only published postings, or only unpublished ones.
        published: optional bool,
    }
}

/// Lists job postings, newest first. `published` narrows the list.
async fn list(request: ApiRequest<Listing<PostingFilter>>) -> Result<Reply<Collection<Posting>>, Error> {
    let (filter, page) = request.listing()?;
    let (store, tenant) = (request.context.store(), request.tenant());
    let Listed { items, next } = store.list_postings(tenant, filter.published, &page).await?;
    let roles = store.find_followed_roles(tenant, &items).await?;
    // A posting whose role cannot be read is left out, like the role in the list of roles.
    let shown = |posting: &model::Posting| Some(present(&request, posting, posting.shown(&roles)?));
    let items = items.iter().filter_map(shown).collect();
    request.reply(Listed { items, next }, |posting| posting)
}

/// Returns a job posting. Its `ETag` also changes when the posting follows its role and the role's title or description
/// changes.
async fn show(request: ApiRequest<()>) -> Result<Reply<Posting>, Error> {
    let posting = postings::find(&request).await?;
    request.input()?;
    let store = request.context.store();
    let roles = store.find_followed_roles(request.tenant(), std::slice::from_ref(&posting)).await?;
    let content = posting.shown(&roles).ok_or_else(|| without_role(&posting))?;
    Reply::resource(&present(&request, &posting, content))
}

fn without_role(posting: &model::Posting) -> Error {
    StoreError::Unreadable(format!("the job posting {} has no role that can be read", posting.id)).into()
}
