//! A job posting on the wire.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::{Fields, Input};
use crate::id::Id;
use crate::model::{self, LongText, Organization, PostingContent, RoleContent, Slug, Title};

/// A role's page on the career site, as clients see it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Posting {
    /// The identifier.
    pub id: Id,
    /// The role that it advertises.
    pub role_id: Id,
    /// The public title.
    pub title: Title,
    /// The URL-safe form of the title that it was created with.
    pub slug: Slug,
    /// Whether it is live on the career page.
    pub published: bool,
    /// Its address on the career page.
    #[schema(format = "uri")]
    pub public_url: String,
    /// The public description.
    pub public_description: Option<LongText>,
    /// The requirements.
    pub requirements: Option<LongText>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Posting {
    /// `posting`, a posting of `organization`.
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

/// The organization's career page.
pub fn career_portal_url(base_url: &str, organization: &Organization) -> String {
    format!("{base_url}/careers/{}", organization.slug)
}

/// A posting's address on the organization's career page.
pub fn public_url(base_url: &str, organization: &Organization, slug: &Slug) -> String {
    format!("{}/{slug}", career_portal_url(base_url, organization))
}

/// A posting to be created; what it leaves out comes from its role.
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
    /// The posting's content, for a role with this content.
    pub fn complete(self, role: &RoleContent) -> PostingContent {
        PostingContent {
            title: self.title.unwrap_or_else(|| role.title.clone()),
            public_description: self.public_description.or_else(|| role.description.clone()),
            requirements: self.requirements,
        }
    }
}
