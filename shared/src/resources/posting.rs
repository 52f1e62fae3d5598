//! Job postings in the API.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::{Fields, Input};
use crate::id::Id;
use crate::model::{self, LongText, Organization, PostingContent, RoleContent, Slug, Title};

/// A job posting: the public page of a role on the career site.
#[derive(Debug, Serialize, ToSchema)]
pub struct Posting {
    /// The identifier.
    pub id: Id,
    /// The role.
    pub role_id: Id,
    /// The public title.
    pub title: Title,
    /// The URL-safe form of the title when the posting was created. It never changes.
    pub slug: Slug,
    /// Whether the posting is published on the career page.
    pub published: bool,
    /// The posting's URL on the career page.
    #[schema(format = "uri")]
    pub public_url: String,
    /// The public description.
    pub public_description: Option<LongText>,
    /// The requirements.
    pub requirements: Option<LongText>,
    /// When the posting was created.
    pub created_at: Timestamp,
    /// When the posting was last updated.
    pub updated_at: Timestamp,
}

impl Posting {
    /// The API form of a posting of `organization`.
    pub fn of(posting: model::Posting, organization: &Organization, base_url: &str) -> Self {
        Self {
            id: posting.id,
            role_id: posting.role_id,
            public_url: public_url(base_url, organization, &posting.slug),
            title: posting.content.title,
            slug: posting.slug,
            published: posting.published,
            public_description: posting.content.public_description,
            requirements: posting.content.requirements,
            created_at: posting.created_at,
            updated_at: posting.updated_at,
        }
    }
}

/// The URL of the organization's career page.
pub fn career_portal_url(base_url: &str, organization: &Organization) -> String {
    format!("{base_url}/careers/{}", organization.slug)
}

/// The URL of a posting on the organization's career page.
pub fn public_url(base_url: &str, organization: &Organization, slug: &Slug) -> String {
    format!("{}/{slug}", career_portal_url(base_url, organization))
}

/// The content of a job posting to create. An absent `title` or `public_description` is copied from the role.
pub struct NewPosting {
    title: Option<Title>,
    public_description: Option<LongText>,
    requirements: Option<LongText>,
}

impl Input for NewPosting {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let title = fields.optional("title");
        let public_description = fields.optional("public_description");
        let requirements = fields.optional("requirements");
        Some(Self { title, public_description, requirements })
    }
}

impl NewPosting {
    /// Fills in absent fields from the role.
    pub fn complete(self, role: &RoleContent) -> PostingContent {
        PostingContent {
            title: self.title.unwrap_or_else(|| role.title.clone()),
            public_description: self.public_description.or_else(|| role.description.clone()),
            requirements: self.requirements,
        }
    }
}
