//! Quick post: a role and its job posting, created and published in one call.
//!
//! | Method | Path | What |
//! |---|---|---|
//! | POST | `/api/v1/quick_post` | create a role, generate its posting, publish both |

use serde::Serialize;
use shared::http::{Call, CreatedTogether, Error, Fields, Input, Reply, Row};
use shared::model::{Opening, Posting, Role, RoleContent, Scope, Slug};
use shared::resources::posting::{NewPosting, career_portal_url};
use shared::resources::{posting, role};
use utoipa::ToSchema;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![R::new("POST /api/v1/quick_post", Scope::RolesWrite, create)]
}

/// A role with what its posting says otherwise, and whether to publish them (the default) or keep them as drafts.
pub struct QuickPost {
    /// The role.
    role: RoleContent,
    /// What the career page shows; what it leaves out comes from the role.
    job_posting: NewPosting,
    /// Whether to publish both, which is done where this is not given, or to keep them as drafts.
    publish: bool,
}

impl Input for QuickPost {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let role = fields.object("role");
        let job_posting = fields.object("job_posting");
        let publish = fields.optional("publish").unwrap_or(true);
        Some(Self { role: role?, job_posting: job_posting?, publish })
    }
}

/// What quick post has made.
#[derive(Debug, Serialize, ToSchema)]
pub struct Posted {
    /// The role.
    role: role::Role,
    /// Its job posting.
    job_posting: posting::Posting,
    /// The organization's career page.
    #[schema(format = "uri")]
    career_portal_url: String,
}

/// Creates a role and its job posting together or not at all, and publishes both unless `publish` is false.
async fn create(call: Call<QuickPost>) -> Result<Reply<CreatedTogether<Posted>>, Error> {
    let QuickPost { role, job_posting, publish } = call.input()?;
    let now = call.now();
    let content = job_posting.complete(&role);
    let draft = Role::draft(call.new_id(), role, now);
    let posting_id = call.new_id();
    let base = Slug::of(content.title.as_str(), "job");
    call.commit_with_slug(&base, |number| {
        let posting = Posting::draft(posting_id, &draft, base.numbered(number), content.clone(), now);
        let role = draft.clone().link(posting.link(), now);
        let (role, posting) = if publish {
            let role = role.publish(now)?;
            let posting = posting.publish(role.status, now)?;
            (role, posting)
        } else {
            (role, posting)
        };
        let mut writes = call.writes();
        writes.insert_role(&role)?;
        writes.insert_posting(&posting, &base, number)?;
        writes.replace_opening(None, Opening::of(&role, &posting).as_ref())?;
        let address = call.address("roles", role.id);
        let (organization, base_url) = (call.organization(), call.base_url());
        let posted = Posted {
            role: role::Role::of(role, organization, base_url),
            job_posting: posting::Posting::of(posting, organization, base_url),
            career_portal_url: career_portal_url(base_url, organization),
        };
        Ok((writes, Reply::ok(&posted)?.created_together(address)))
    })
    .await
}
