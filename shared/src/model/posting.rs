//! Job postings: the public pages of roles on the career site.

use serde::{Deserialize, Serialize};

use super::role::{LongText, PostingLink, RoleContent, RoleStatus, Title};
use super::{Questions, Role, Slug};
use crate::clock::{Timestamp, time_of_change};
use crate::descriptions;
use crate::id::Id;

/// The content of a posting as given. A missing title or description follows the role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostingContent {
    /// The posting's own title.
    pub title: Option<Title>,
    /// The posting's own description. Markdown: CommonMark with tables. The HTML tags a, b, br, em, h1 to h6, i, li,
    /// ol, p, strong and ul work; other HTML is shown as text, and an image is replaced by its alternative text.
    pub public_description: Option<LongText>,
    /// The requirements. Markdown: CommonMark with tables. The HTML tags a, b, br, em, h1 to h6, i, li, ol, p, strong
    /// and ul work; other HTML is shown as text, and an image is replaced by its alternative text.
    pub requirements: Option<LongText>,
    /// The questions of the application form.
    #[serde(default, skip_serializing_if = "Questions::is_empty")]
    pub questions: Questions,
}

/// The content of a posting as shown: its own, and its role's where it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicContent<'c> {
    /// The title.
    pub title: &'c Title,
    /// The description.
    pub description: Option<&'c LongText>,
    /// The requirements.
    pub requirements: Option<&'c LongText>,
    /// The questions of the application form.
    pub questions: &'c Questions,
}

impl PostingContent {
    /// The fields, and whether they differ from those of `other`.
    pub fn differences(&self, other: &Self) -> impl Iterator<Item = (&'static str, bool)> {
        let Self { title, public_description, requirements, questions } = self;
        [
            ("title", *title != other.title),
            ("public_description", *public_description != other.public_description),
            ("requirements", *requirements != other.requirements),
            ("questions", *questions != other.questions),
        ]
        .into_iter()
    }

    /// The names of the fields that a posting takes from its role, and whether it shows something else after a change of the
    /// role.
    pub fn followed(
        &self,
        before: &RoleContent,
        after: &RoleContent,
    ) -> impl Iterator<Item = (&'static str, bool)> {
        let (old, new) = (self.shown(before), self.shown(after));
        [("title", old.title != new.title), ("public_description", old.description != new.description)]
            .into_iter()
    }

    /// The content as shown. `role` is the content of the posting's role.
    pub fn shown<'c>(&'c self, role: &'c RoleContent) -> PublicContent<'c> {
        PublicContent {
            title: self.title.as_ref().unwrap_or(&role.title),
            description: self.public_description.as_ref().or(role.description.as_ref()),
            requirements: self.requirements.as_ref(),
            questions: &self.questions,
        }
    }
}

impl PublicContent<'_> {
    /// The description and the requirements without their markup.
    pub fn plain(&self) -> String {
        let parts = [self.description, self.requirements].into_iter().flatten();
        parts.map(|text| descriptions::plain(text.as_str())).collect::<Vec<_>>().join("\n").trim().to_owned()
    }
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

/// Why a posting cannot be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// Its role is closed.
    #[error("published cannot become true while the role is closed")]
    Closed,
    /// The closing date of its role is over.
    #[error("published cannot become true after the role's closes_on; change or clear closes_on first")]
    Over,
}

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

    /// Publishes the posting of this role. Changes nothing if it is already published.
    pub fn publish(self, role: &Role, now: Timestamp) -> Result<Self, PublishError> {
        match (role.status, self.published) {
            (RoleStatus::Closed, _) => Err(PublishError::Closed),
            _ if role.is_over(now) => Err(PublishError::Over),
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

    /// The posting after its role has changed: with a new time if it shows something else now.
    #[must_use]
    pub fn follow(self, before: &RoleContent, after: &RoleContent, now: Timestamp) -> Self {
        if self.content.shown(before) == self.content.shown(after) { self } else { self.changed(now) }
    }

    fn changed(self, now: Timestamp) -> Self {
        Self { updated_at: time_of_change(now, self.updated_at), version: self.version + 1, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Text;

    fn role() -> Role {
        let content = RoleContent {
            description: LongText::parse("Of the role").unwrap(),
            ..RoleContent::titled(Title::parse("Engineer").unwrap().unwrap())
        };
        Role::draft(Id::new(1).unwrap(), content, Timestamp::UNIX_EPOCH)
    }

    fn posting(content: PostingContent) -> Posting {
        let id = Id::new(2).unwrap();
        Posting::draft(id, &role(), Slug::of("Engineer", "job"), content, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn what_a_posting_lacks_follows_its_role() {
        let own_title = || Title::parse("Builder").unwrap();
        let own_description = || LongText::parse("Public").unwrap();
        for (title, public_description, shown) in [
            (None, None, ("Engineer", "Of the role")),
            (own_title(), None, ("Builder", "Of the role")),
            (None, own_description(), ("Engineer", "Public")),
            (own_title(), own_description(), ("Builder", "Public")),
        ] {
            let content = PostingContent { title, public_description, ..PostingContent::default() };
            let role = role();
            let content = content.shown(&role.content);
            let description = content.description.map(Text::as_str);
            assert_eq!((content.title.as_str(), description), (shown.0, Some(shown.1)));
        }
    }

    #[test]
    fn publishing_is_idempotent_and_fails_for_a_closed_role() {
        let posting = posting(PostingContent::default());
        for status in RoleStatus::ALL {
            let role = Role { status, ..role() };
            let published = posting.clone().publish(&role, Timestamp::MAX);
            if status == RoleStatus::Closed {
                assert_eq!(published, Err(PublishError::Closed));
                continue;
            }
            let live = published.unwrap();
            assert_eq!((live.published, live.version), (true, 2));
            assert_eq!(live.clone().publish(&role, Timestamp::MAX), Ok(live.clone()));
            let offline = live.unpublish(Timestamp::MAX);
            assert_eq!((offline.published, offline.version), (false, 3));
            assert_eq!(offline.clone().unpublish(Timestamp::MAX), offline);
        }
    }
}
