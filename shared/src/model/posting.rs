//! Job postings: the public pages of roles on the career site.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::role::{LongText, PostingLink, RoleStatus, Title};
use super::{Role, Slug};
use crate::id::Id;

/// The content of a posting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostingContent {
    /// The public title.
    pub title: Title,
    /// The public description.
    pub public_description: Option<LongText>,
    /// The requirements.
    pub requirements: Option<LongText>,
}

/// The public page of a role on the career site. A role has at most one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posting {
    /// The identifier.
    pub id: Id,
    /// The role that the posting advertises.
    pub role_id: Id,
    /// The posting's part of the URL. It never changes, so links stay valid.
    pub slug: Slug,
    /// Whether the posting is published.
    pub published: bool,
    /// The content.
    #[serde(flatten)]
    pub content: PostingContent,
    /// When the posting was last published.
    pub published_at: Option<Timestamp>,
    /// When the posting was created.
    pub created_at: Timestamp,
    /// When the posting was last updated.
    pub updated_at: Timestamp,
    /// The version, which increases with every write. A write fails if the stored version has changed since it was read.
    pub version: u64,
}

/// The posting of a closed role cannot be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("published cannot become true while the role is closed")]
pub struct PublishError;

impl Posting {
    /// A new, unpublished posting of `role`.
    pub fn draft(id: Id, role: &Role, slug: Slug, content: PostingContent, now: Timestamp) -> Self {
        Self {
            id,
            role_id: role.id,
            slug,
            published: false,
            content,
            published_at: None,
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }

    /// The reference to the posting that its role stores.
    pub fn link(&self) -> PostingLink {
        PostingLink { id: self.id, slug: self.slug.clone() }
    }

    /// Publishes the posting. Changes nothing if it is already published.
    pub fn publish(self, role: RoleStatus, now: Timestamp) -> Result<Self, PublishError> {
        match (role, self.published) {
            (RoleStatus::Closed, _) => Err(PublishError),
            (_, true) => Ok(self),
            (_, false) => Ok(Self { published: true, published_at: Some(now), ..self.changed(now) }),
        }
    }

    /// Unpublishes the posting. Changes nothing if it is already unpublished.
    #[must_use]
    pub fn unpublish(self, now: Timestamp) -> Self {
        if self.published { Self { published: false, ..self.changed(now) } } else { self }
    }

    /// Replaces the content.
    #[must_use]
    pub fn edit(self, content: PostingContent, now: Timestamp) -> Self {
        Self { content, ..self.changed(now) }
    }

    fn changed(self, now: Timestamp) -> Self {
        Self { updated_at: now.max(self.updated_at), version: self.version + 1, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishing_is_idempotent_and_fails_for_a_closed_role() {
        let title = Title::parse("Engineer").unwrap().unwrap();
        let posting = Posting {
            id: Id::new(2).unwrap(),
            role_id: Id::new(1).unwrap(),
            slug: Slug::of("Engineer", "job"),
            published: false,
            content: PostingContent { title, public_description: None, requirements: None },
            published_at: None,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            version: 1,
        };
        for status in RoleStatus::ALL {
            let published = posting.clone().publish(status, Timestamp::MAX);
            if status == RoleStatus::Closed {
                assert_eq!(published, Err(PublishError));
                continue;
            }
            let live = published.unwrap();
            assert_eq!((live.published, live.version), (true, 2));
            assert_eq!(live.clone().publish(status, Timestamp::MAX), Ok(live.clone()));
            let offline = live.unpublish(Timestamp::MAX);
            assert_eq!((offline.published, offline.version), (false, 3));
            assert_eq!(offline.clone().unpublish(Timestamp::MAX), offline);
        }
    }
}
