//! Members: the people of an organization, who sign in to the dashboard.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::words::words;
use super::{Email, Mode, Name, PasswordHash};
use crate::id::Id;

words! {
    /// What a member may do.
    pub enum MemberRole {
        /// Everything, members included.
        Owner = "owner",
        /// Everything but members.
        Member = "member",
    }
}

/// A person of an organization.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Member {
    /// The identifier.
    pub id: Id,
    /// What the member signs in with, unique in the whole service.
    pub email: Email,
    /// The name that others see.
    pub name: Name,
    /// What the member may do.
    pub role: MemberRole,
    /// `None` until the invitation is accepted.
    pub password: Option<PasswordHash>,
    /// The link that sets a password, while there is one.
    pub link: Option<Link>,
    /// Grows when every session of the member ends.
    pub epoch: u64,
    /// When the member was invited.
    pub created_at: Timestamp,
    /// Grows with every write; a write names the version it has read.
    pub version: u64,
}

/// A single-use link to the page that sets a member's password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The hash of the link's secret.
    pub hash: String,
    /// Until when it is good.
    pub expires_at: Timestamp,
}

impl Link {
    /// How long an invitation waits.
    pub const INVITATION: SignedDuration = SignedDuration::from_hours(7 * 24);
    /// How long a link to a new password is good.
    pub const RESET: SignedDuration = SignedDuration::from_hours(24);
}

impl Member {
    /// Somebody new, who has not set a password yet.
    pub const fn invited(id: Id, email: Email, name: Name, role: MemberRole, now: Timestamp) -> Self {
        Self { id, email, name, role, password: None, link: None, epoch: 0, created_at: now, version: 1 }
    }

    /// The member with a link in place of any other.
    #[must_use]
    pub fn with_link(self, link: Link) -> Self {
        Self { link: Some(link), version: self.version + 1, ..self }
    }

    /// The member with this password. Every session and the link end.
    #[must_use]
    pub fn with_password(self, password: PasswordHash) -> Self {
        let (epoch, version) = (self.epoch + 1, self.version + 1);
        Self { password: Some(password), link: None, epoch, version, ..self }
    }

    /// The member in another role.
    #[must_use]
    pub fn in_role(self, role: MemberRole) -> Self {
        Self { role, version: self.version + 1, ..self }
    }

    /// The member, signed out everywhere.
    #[must_use]
    pub fn signed_out(self) -> Self {
        Self { epoch: self.epoch + 1, version: self.version + 1, ..self }
    }
}

/// A signed-in browser.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    /// Whose it is.
    pub member: Id,
    /// The member's epoch at sign-in; another one has ended it.
    pub epoch: u64,
    /// Which copy of the organization the member looks at.
    pub mode: Mode,
    /// When it was last used, to some minutes.
    pub seen_at: Timestamp,
    /// When it ends, however much it is used.
    pub ends_at: Timestamp,
}

impl Session {
    /// How long it lasts at most.
    pub const LONGEST: SignedDuration = SignedDuration::from_hours(24);
    /// How long it lasts unused.
    pub const IDLE: SignedDuration = SignedDuration::from_hours(2);
    /// How exactly its use is known.
    const GRAIN: SignedDuration = SignedDuration::from_mins(5);

    /// A session that begins now.
    pub fn begin(member: &Member, now: Timestamp) -> Self {
        let ends_at = now.saturating_add(Self::LONGEST).unwrap_or(now);
        Self { member: member.id, epoch: member.epoch, mode: Mode::Live, seen_at: now, ends_at }
    }

    /// Whether it is still good for `member`.
    pub fn is_good(&self, member: &Member, now: Timestamp) -> bool {
        self.member == member.id
            && self.epoch == member.epoch
            && now < self.ends_at
            && now.duration_since(self.seen_at) < Self::IDLE
    }

    /// The session as used now, where that is worth a note.
    pub fn seen(&self, now: Timestamp) -> Option<Self> {
        let stale = now.duration_since(self.seen_at) >= Self::GRAIN;
        stale.then(|| Self { seen_at: now, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_by_itself_by_the_clock_and_by_the_member() {
        let at = |time: &str| time.parse::<Timestamp>().unwrap();
        let (start, id) = (at("2026-11-20T09:00:00Z"), Id::new(7).unwrap());
        let name = Name::parse("Ada").unwrap().unwrap();
        let member = Member::invited(id, "ada@example.com".parse().unwrap(), name, MemberRole::Owner, start);
        let session = Session::begin(&member, start);
        assert!(session.is_good(&member, at("2026-11-20T10:59:59Z")));
        assert!(!session.is_good(&member, at("2026-11-20T11:00:00Z")), "two hours unused");
        assert!(session.seen(at("2026-11-20T09:04:59Z")).is_none());
        let used = session.seen(at("2026-11-20T10:59:00Z")).unwrap();
        assert!(used.is_good(&member, at("2026-11-20T12:30:00Z")));
        let busy = Session { seen_at: at("2026-11-21T08:59:00Z"), ..session.clone() };
        assert!(busy.is_good(&member, at("2026-11-21T08:59:59Z")));
        assert!(!busy.is_good(&member, at("2026-11-21T09:00:00Z")), "a day in all");
        assert!(!session.is_good(&member.signed_out(), start));
    }
}
