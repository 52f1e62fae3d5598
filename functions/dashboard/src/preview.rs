//! The preview of a job: its career page, with what is stored or with what a form has.

use std::sync::Arc;

use careers::Preview;
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::RoleAndPosting;

/// Whether a form was sent to see a preview. Nothing is saved then.
pub(crate) fn is_wanted(request: &MemberRequest) -> bool {
    request.page.form().non_empty("preview").is_some()
}

/// Shows the page of a job as it is stored, whether or not it is published.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    Preview::of(find(&request).await?).page(&request).await
}

/// The role in the path, with its posting.
pub(crate) async fn find(request: &MemberRequest) -> Result<RoleAndPosting, Error> {
    let id = request.context.id()?;
    request.context.store().find_role_and_posting(request.tenant(), id).await?.ok_or(Error::NotFound)
}
