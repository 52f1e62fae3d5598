//! Job postings: a role's page on the career site.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::role::{LongText, PostingLink, RoleStatus, Title};
use super::{Role, Slug};
use crate::id::Id;

/// What the career page shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostingContent {
    /// The public title.
    pub title: Title,
    /// The public description.
    pub public_description: Option<LongText>,
    /// The requirements.
    pub requirements: Option<LongText>,
}

/// A role's page on the career site; a role has at most one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posting {
    /// The identifier.
    pub id: Id,
    /// The role that it advertises.
    pub role_id: Id,
    /// Its address, fixed at creation so that links stay good.
    pub slug: Slug,
    /// Whether it is live.
    pub published: bool,
    /// What it says.
    #[serde(flatten)]
    pub content: PostingContent,
    /// When it was last put on the career page.
    pub published_at: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Grows with every write; a write names the version it has read.
    pub version: u64,
}

/// A closed role's posting cannot go live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("published cannot become true while the role is closed")]
pub struct NotPublishable;

impl Posting {
    /// A new posting of `role`, not yet live.
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

    /// What the posting's role shows of it.
    pub fn link(&self) -> PostingLink {
        PostingLink { id: self.id, slug: self.slug.clone() }
    }

    /// Live, unless the role is closed; the same posting where it is live already.
    pub fn publish(self, role: RoleStatus, now: Timestamp) -> Result<Self, NotPublishable> {
        match (role, self.published) {
            (RoleStatus::Closed, _) => Err(NotPublishable),
            (_, true) => Ok(self),
            (_, false) => Ok(Self { published: true, published_at: Some(now), ..self.changed(now) }),
        }
    }

    /// Offline; the same posting where it is offline already.
    #[must_use]
    pub fn unpublish(self, now: Timestamp) -> Self {
        if self.published { Self { published: false, ..self.changed(now) } } else { self }
    }

    /// The same posting with other content.
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
    fn publishing_and_unpublishing_are_idempotent_and_a_closed_role_refuses() {
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
                assert_eq!(published, Err(NotPublishable));
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
