//! Openings: what candidates find of roles and their postings.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::role::{Department, Location, RemotePolicy, SalaryRange, Title};
use super::{Posting, Role, RoleStatus, Slug};
use crate::id::Id;

/// What the career pages show of a posting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// It is listed, and takes applications.
    Open,
    /// It is shown to whoever has its address, and takes no applications for now.
    Paused,
    /// Nothing.
    Hidden,
}

/// A posting on the career pages' list: made from the role and the posting whenever one of them changes, and there only
/// while it is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// The posting.
    pub id: Id,
    /// Its role.
    pub role_id: Id,
    /// The posting's address.
    pub slug: Slug,
    /// The public title.
    pub title: Title,
    /// The department or team.
    pub department: Option<Department>,
    /// The place.
    pub location: Option<Location>,
    /// Where the work is done.
    pub remote_policy: Option<RemotePolicy>,
    /// The annual salary.
    pub salary: SalaryRange,
    /// Since when it is public.
    pub since: Timestamp,
    /// When anything on its page last changed.
    pub updated_at: Timestamp,
}

impl Visibility {
    /// What there is to see of `posting` while its role is in `role`.
    pub const fn of(posting: &Posting, role: RoleStatus) -> Self {
        match (posting.published, role) {
            (true, RoleStatus::Open) => Self::Open,
            (true, RoleStatus::Paused) => Self::Paused,
            _ => Self::Hidden,
        }
    }
}

impl Opening {
    /// The entry of a role's posting, unless it is not open.
    pub fn of(role: &Role, posting: &Posting) -> Option<Self> {
        if Visibility::of(posting, role.status) != Visibility::Open {
            return None;
        }
        let content = role.content.clone();
        Some(Self {
            id: posting.id,
            role_id: role.id,
            slug: posting.slug.clone(),
            title: posting.content.title.clone(),
            department: content.department,
            location: content.location,
            remote_policy: content.remote_policy,
            salary: content.salary,
            since: Self::since(role, posting),
            updated_at: role.updated_at.max(posting.updated_at),
        })
    }

    /// Since when a posting that can be seen has been public: it takes both its own publication and its role's.
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
        let title = Title::parse("Engineer").unwrap().unwrap();
        let content = RoleContent {
            title: title.clone(),
            department: None,
            description: None,
            location: None,
            remote_policy: None,
            salary: SalaryRange::default(),
        };
        let draft = Role::draft(Id::new(1).unwrap(), content, at(1));
        let content = PostingContent { title, public_description: None, requirements: None };
        let offline =
            Posting::draft(Id::new(2).unwrap(), &draft, Slug::of("Engineer", "job"), content, at(2));
        let published = offline.clone().publish(draft.status, at(3)).unwrap();
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
        assert_eq!((listed.since, listed.updated_at), (at(9), at(11)), "a pause does not make it new");
        let again = published.unpublish(at(20)).publish(resumed.status, at(30)).unwrap();
        assert_eq!(Opening::of(&resumed, &again).unwrap().since, at(30));
    }
}
