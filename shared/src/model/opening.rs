//! Openings: published postings of open roles, as the career pages list them.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::role::{Department, EmploymentType, RemotePolicy, RoleContent, Title};
use super::{Pay, Places, Posting, Role, RoleStats, RoleStatus, Slug};
use crate::clock::Timestamp;
use crate::id::Id;

/// How the career pages show a posting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// The posting is listed and accepts applications.
    Open,
    /// The posting is not listed. Its page still works, but accepts no applications.
    Paused,
    /// The posting is hidden.
    Hidden,
}

/// An entry in the career page's list. Every write to the role or the posting updates it. It exists only while the
/// posting is open, and after the closing date until a task has removed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// The posting.
    pub id: Id,
    /// The posting's role.
    pub role_id: Id,
    /// The posting's part of the URL.
    pub slug: Slug,
    /// The public title.
    pub title: Title,
    /// The department or team.
    pub department: Option<Department>,
    /// Where the work is done.
    #[serde(flatten)]
    pub places: Places,
    /// Whether the work is done there, remotely, or both.
    pub remote_policy: Option<RemotePolicy>,
    /// The kind of employment.
    pub employment_type: Option<EmploymentType>,
    /// What the role pays.
    #[serde(rename = "salary")]
    pub pay: Pay,
    /// The last day on which the posting is public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes_on: Option<Date>,
    /// When that day is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes_at: Option<Timestamp>,
    /// When the posting became public.
    pub since: Timestamp,
    /// When anything on the posting's page last changed.
    pub updated_at: Timestamp,
}

/// A role and its posting as stored. A write to either may change the opening.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleAndPosting {
    /// The role.
    pub role: Role,
    /// The role's posting, if it has one.
    pub posting: Option<Posting>,
    /// The role's counters, with which it is closed and reopened; `None` if they were not read.
    pub stats: Option<RoleStats>,
}

impl RoleAndPosting {
    /// Whether people outside of the team would see that the role gets this content.
    pub fn shows(&self, after: &RoleContent) -> bool {
        let Self { role, posting, .. } = self;
        let is_public = |posting: &&Posting| Visibility::of(posting, role.status) != Visibility::Hidden;
        let Some(posting) = posting.as_ref().filter(is_public) else { return false };
        // A posting may have a title and a description of its own.
        let shown = |content: &RoleContent| {
            let posting = posting.content.shown(content);
            let mut shown = content.clone();
            shown.title = posting.title.clone();
            shown.description = posting.description.cloned();
            shown.external_id = None;
            shown
        };
        shown(&role.content) != shown(after)
    }

    /// The opening on the career page, if the posting is published and the role is open.
    pub fn opening(&self) -> Option<Opening> {
        self.posting.as_ref().and_then(|posting| Opening::of(&self.role, posting))
    }
}

impl Visibility {
    /// The visibility of `posting` while its role has this status.
    pub const fn of(posting: &Posting, role: RoleStatus) -> Self {
        match (posting.published, role) {
            (true, RoleStatus::Open) => Self::Open,
            (true, RoleStatus::Paused) => Self::Paused,
            _ => Self::Hidden,
        }
    }
}

impl Opening {
    /// The entry for a role's posting; `None` unless the posting is open.
    pub fn of(role: &Role, posting: &Posting) -> Option<Self> {
        if Visibility::of(posting, role.status) != Visibility::Open {
            return None;
        }
        let content = &role.content;
        Some(Self {
            id: posting.id,
            role_id: role.id,
            slug: posting.slug.clone(),
            title: posting.content.shown(content).title.clone(),
            department: content.department.clone(),
            places: content.places.clone(),
            remote_policy: content.remote_policy(),
            employment_type: content.employment_type,
            pay: content.pay,
            closes_on: content.closes_on,
            closes_at: role.closes_at,
            since: Self::since(role, posting),
            updated_at: role.updated_at.max(posting.updated_at),
        })
    }

    /// Whether the closing date is over, so that the posting is not public any more.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.closes_at.is_some_and(|closes_at| closes_at <= now)
    }

    /// When a visible posting became public: the later of its own publication and its role's.
    pub fn since(role: &Role, posting: &Posting) -> Timestamp {
        posting.published_at.max(role.opened_at).unwrap_or(posting.created_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{PostingContent, RoleContent};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_posting_is_listed_while_it_is_published_and_its_role_is_open() {
        let content = RoleContent::titled(Title::parse("Engineer").unwrap().unwrap());
        let draft = Role::draft(Id::new(1).unwrap(), content, at(1));
        let content = PostingContent::default();
        let offline =
            Posting::draft(Id::new(2).unwrap(), &draft, Slug::of("Engineer", "job"), content, at(2));
        let published = offline.clone().publish(&draft, at(3)).unwrap();
        let open = draft.clone().publish(at(9)).unwrap();
        let paused = open.clone().pause(at(10)).unwrap();
        let resumed = paused.clone().resume(at(11)).unwrap();
        for (role, posting, visibility) in [
            (&draft, &published, Visibility::Hidden),
            (&open, &offline, Visibility::Hidden),
            (&open, &published, Visibility::Open),
            (&paused, &published, Visibility::Paused),
            (&resumed, &published, Visibility::Open),
            (&resumed.clone().close(at(12)), &published, Visibility::Hidden),
        ] {
            assert_eq!(Visibility::of(posting, role.status), visibility);
            assert_eq!(Opening::of(role, posting).is_some(), visibility == Visibility::Open);
        }
        let listed = Opening::of(&resumed, &published).unwrap();
        assert_eq!((listed.since, listed.updated_at), (at(9), at(11)), "a pause does not change `since`");
        let again = published.unpublish(at(20)).publish(&resumed, at(30)).unwrap();
        assert_eq!(Opening::of(&resumed, &again).unwrap().since, at(30));
    }
}
