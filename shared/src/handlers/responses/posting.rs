//! Job postings in the API.

use serde::Serialize;
use utoipa::ToSchema;

use super::question::{GivenQuestions, Question};
use crate::clock::Timestamp;
use crate::http::input;
use crate::id::Id;
use crate::model::{self, LogoHash, LongText, Organization, Questions, Role, Slug, Title};

/// A job posting: the public page of a role on the career site.
#[derive(Debug, Serialize, ToSchema)]
pub struct Posting {
    /// The identifier.
    pub id: Id,
    /// The role.
    pub role_id: Id,
    /// The public title: the posting's own, or the role's title if it has none.
    pub title: Title,
    /// The URL-safe form of the title when the posting was created. It never changes.
    pub slug: Slug,
    /// Whether the posting is published on the career page. It is `false` from the role's `closes_at` on.
    pub published: bool,
    /// The posting's URL on the career page.
    #[schema(format = "uri")]
    pub public_url: String,
    /// The public description: the posting's own, or the role's description if it has none. Markdown: CommonMark with
    /// tables. The HTML tags a, b, br, em, h1 to h6, i, li, ol, p, strong and ul work; other HTML is shown as text, and
    /// an image is replaced by its alternative text.
    pub public_description: Option<LongText>,
    /// The requirements. Markdown: CommonMark with tables. The HTML tags a, b, br, em, h1 to h6, i, li, ol, p, strong
    /// and ul work; other HTML is shown as text, and an image is replaced by its alternative text.
    pub requirements: Option<LongText>,
    /// The questions that the application form on the career page asks, in their order: at most 25, with at most 20,000
    /// characters together. A list in a request replaces them. An item with the `id` of one of the posting's questions keeps
    /// it, and one without gets a new one.
    pub questions: Vec<Question>,
    /// When the posting was created.
    pub created_at: Timestamp,
    /// When the posting was last updated.
    pub updated_at: Timestamp,
}

impl Posting {
    /// The API form of a posting of this role and `organization`.
    pub fn of(
        posting: &model::Posting,
        role: &Role,
        organization: &Organization,
        base_url: &str,
        now: Timestamp,
    ) -> Self {
        let content = posting.content.shown(&role.content);
        Self {
            id: posting.id,
            role_id: posting.role_id,
            title: content.title.clone(),
            slug: posting.slug.clone(),
            published: posting.published && !role.is_over(now),
            public_url: public_url(base_url, organization, &posting.slug),
            public_description: content.description.cloned(),
            requirements: content.requirements.cloned(),
            questions: Question::all(content.questions),
            created_at: posting.created_at,
            updated_at: posting.updated_at,
        }
    }
}

/// The path of the uploaded logo of the career site with this slug.
pub fn logo_path(slug: &Slug, hash: &LogoHash) -> String {
    format!("/careers/{slug}/logo.image/{hash}")
}

/// The URL of the organization's career page.
pub fn career_portal_url(base_url: &str, organization: &Organization) -> String {
    format!("{base_url}/careers/{}", organization.slug)
}

/// The URL of a posting on the organization's career page.
pub fn public_url(base_url: &str, organization: &Organization, slug: &Slug) -> String {
    format!("{}/{slug}", career_portal_url(base_url, organization))
}

input! {
    /// The content of a job posting to create. A missing `title` or `public_description` follows the role.
    #[derive(Clone, Debug)]
    pub struct PostingContent {
        /// The posting's own title.
        title: optional Title,
        /// The posting's own description. Markdown: CommonMark with tables. The HTML tags a, b, br, em, h1 to h6, i, li,
        /// ol, p, strong and ul work; other HTML is shown as text, and an image is replaced by its alternative text.
        public_description: optional LongText,
        requirements: optional LongText,
        questions: part GivenQuestions,
    }
}

impl PostingContent {
    /// The content, whose questions get the `next` identifiers. Fails with the path of each question that has one already.
    pub fn with_ids(self, next: impl FnMut() -> Id) -> Result<model::PostingContent, Vec<String>> {
        let Self { title, public_description, requirements, questions } = self;
        let questions = questions.apply(&Questions::default(), next)?;
        Ok(model::PostingContent { title, public_description, requirements, questions })
    }
}
