//! Quick post: a role and its job posting in one request.

use serde::Serialize;
use utoipa::ToSchema;

use super::postings::in_job_posting;
use super::responses::posting::{PostingContent, career_portal_url};
use super::responses::{posting, role};
use super::{questions, roles};
use crate::http::{ApiRequest, CreatedTogether, Error, Reply, input};
use crate::model::{Posting, Role, RoleContent, Slug};

input! {
    /// A role and a job posting to create together.
    pub struct QuickPost {
        /// The role.
        pub role: object RoleContent,
        /// The content of the posting. A missing `title` or `public_description` follows the role.
        pub job_posting: object PostingContent,
        /// Whether to publish both. The default is `true`; `false` creates a draft role with an unpublished posting.
        pub publish: optional bool = true,
    }
}

/// A role and a job posting that were created together.
#[derive(Debug, Serialize, ToSchema)]
pub struct Posted {
    /// The role.
    role: role::Role,
    /// The role's job posting.
    job_posting: posting::Posting,
    /// The URL of the organization's career page.
    #[schema(format = "uri")]
    career_portal_url: String,
}

/// Creates a role and its job posting, and publishes both unless `publish` is `false`. Either both are created or
/// neither is. To publish both later, send `{"job_posting": true}` to `POST /roles/{id}/publish`.
///
/// # Errors
///
/// - `duplicate`: another role has this `external_id`.
/// - `confirmation_required`: an assistant sent the request, and a member has to confirm it on the page `page`.
pub async fn create(request: ApiRequest<QuickPost>) -> Result<Reply<CreatedTogether<Posted>>, Error> {
    let QuickPost { role, job_posting, publish } = request.input()?;
    let job_posting = in_job_posting(job_posting.with_ids(|| request.context.ids().next()))?;
    let now = request.context.now();
    if publish {
        request.confirm(questions::of_quick_post).await?;
    }
    let base = Slug::of_posting(job_posting.shown(&role).title.as_str());
    let draft = roles::closing(&request, Role::draft(request.context.ids().next(), role, now)).await;
    let draft = draft.map_err(in_role)?;
    let posting_id = request.context.ids().next();
    request
        .commit_with_slug(&base, |number, organization| {
            let posting = Posting::draft(posting_id, &draft, base.numbered(number), job_posting.clone(), now);
            let role = draft.clone().link(posting.link(), now);
            let (role, posting) = if publish {
                let role = role.publish(now)?;
                let posting = posting.publish(&role, now)?;
                (role, posting)
            } else {
                (role, posting)
            };
            let mut transaction = request.transaction();
            transaction.insert_role_and_posting(&role, &posting, &base, number)?;
            let address = request.address("roles", role.id);
            let base_url = request.context.base_url();
            let posted = Posted {
                job_posting: posting::Posting::of(&posting, &role, organization, base_url, now),
                role: role::Role::of(role, organization, base_url),
                career_portal_url: career_portal_url(base_url, organization),
            };
            Ok((transaction, Reply::ok(&posted)?.created_together(address)))
        })
        .await
        .map_err(in_role)
}

/// The same error with the paths that the fields of the role have in the request.
fn in_role(error: Error) -> Error {
    let in_role =
        |messages: Vec<String>| messages.into_iter().map(|message| format!("role.{message}")).collect();
    match error {
        Error::Duplicate { messages, existing } => Error::Duplicate { messages: in_role(messages), existing },
        Error::Validation(messages) => Error::Validation(in_role(messages)),
        error => error,
    }
}
