//! Members: the people in an organization who sign in to the dashboard.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::string_enum::string_enum;
use super::{Email, Mode, Name, PasswordHash};
use crate::id::Id;

string_enum! {
    /// The role of a member.
    pub enum MemberRole {
        /// An owner can do everything, including managing members.
        Owner = "owner",
        /// A member can do everything except managing members.
        Member = "member",
    }
}

/// A person in an organization.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Member {
    /// The identifier.
    pub id: Id,
    /// The e-mail address for signing in, unique in the whole service.
    pub email: Email,
    /// The name.
    pub name: Name,
    /// The role.
    pub role: MemberRole,
    /// The password's hash; `None` until the invitation is accepted.
    pub password: Option<PasswordHash>,
    /// The link for setting a password, if there is one.
    pub link: Option<Link>,
    /// A counter. Incrementing it ends all of the member's sessions.
    pub epoch: u64,
    /// When the member was invited.
    pub created_at: Timestamp,
    /// The version, which increases with every write. A write fails if the stored version has changed since it was read.
    pub version: u64,
}

/// A single-use link for setting a member's password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The hash of the link's secret.
    pub hash: String,
    /// When the link expires.
    pub expires_at: Timestamp,
}

impl Link {
    /// The lifetime of an invitation.
    pub const INVITATION: SignedDuration = SignedDuration::from_hours(7 * 24);
    /// The lifetime of a link for resetting a password.
    pub const RESET: SignedDuration = SignedDuration::from_hours(24);
}

impl Member {
    /// A new member without a password.
    pub const fn invited(id: Id, email: Email, name: Name, role: MemberRole, now: Timestamp) -> Self {
        Self { id, email, name, role, password: None, link: None, epoch: 0, created_at: now, version: 1 }
    }

    /// Replaces the link.
    #[must_use]
    pub fn with_link(self, link: Link) -> Self {
        Self { link: Some(link), version: self.version + 1, ..self }
    }

    /// Replaces the password. This ends every session and removes the link.
    #[must_use]
    pub fn with_password(self, password: PasswordHash) -> Self {
        let (epoch, version) = (self.epoch + 1, self.version + 1);
        Self { password: Some(password), link: None, epoch, version, ..self }
    }

    /// Replaces the role.
    #[must_use]
    pub fn in_role(self, role: MemberRole) -> Self {
        Self { role, version: self.version + 1, ..self }
    }

    /// Ends every session.
    #[must_use]
    pub fn signed_out(self) -> Self {
        Self { epoch: self.epoch + 1, version: self.version + 1, ..self }
    }
}

/// The session of a signed-in browser.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    /// The member.
    pub member: Id,
    /// The member's epoch at sign-in. The session ends when the member's epoch increases.
    pub epoch: u64,
    /// The mode that the dashboard shows.
    pub mode: Mode,
    /// When the session was last used, to within 5 minutes.
    pub seen_at: Timestamp,
    /// When the session ends, even if it is still in use.
    pub ends_at: Timestamp,
}

impl Session {
    /// The maximum lifetime of a session.
    pub const LONGEST: SignedDuration = SignedDuration::from_hours(24);
    /// The time after which an unused session ends.
    pub const IDLE: SignedDuration = SignedDuration::from_hours(2);
    /// The precision of `seen_at`.
    const PRECISION: SignedDuration = SignedDuration::from_mins(5);

    /// A session that begins now.
    pub fn begin(member: &Member, now: Timestamp) -> Self {
        let ends_at = now.saturating_add(Self::LONGEST).unwrap_or(now);
        Self { member: member.id, epoch: member.epoch, mode: Mode::Live, seen_at: now, ends_at }
    }

    /// Whether the session is valid for `member`.
    pub fn is_good(&self, member: &Member, now: Timestamp) -> bool {
        self.member == member.id
            && self.epoch == member.epoch
            && now < self.ends_at
            && now.duration_since(self.seen_at) < Self::IDLE
    }

    /// The session with an updated `seen_at`; `None` while the stored one is precise enough.
    pub fn seen(&self, now: Timestamp) -> Option<Self> {
        let stale = now.duration_since(self.seen_at) >= Self::PRECISION;
        stale.then(|| Self { seen_at: now, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_after_two_unused_hours_a_day_or_a_sign_out() {
        let at = |time: &str| time.parse::<Timestamp>().unwrap();
        let (start, id) = (at("2026-11-20T09:00:00Z"), Id::new(7).unwrap());
        let name = Name::parse("Ada").unwrap().unwrap();
        let member = Member::invited(id, "ada@example.com".parse().unwrap(), name, MemberRole::Owner, start);
        let session = Session::begin(&member, start);
        assert!(session.is_good(&member, at("2026-11-20T10:59:59Z")));
        assert!(!session.is_good(&member, at("2026-11-20T11:00:00Z")), "unused for two hours");
        assert!(session.seen(at("2026-11-20T09:04:59Z")).is_none());
        let used = session.seen(at("2026-11-20T10:59:00Z")).unwrap();
        assert!(used.is_good(&member, at("2026-11-20T12:30:00Z")));
        let busy = Session { seen_at: at("2026-11-21T08:59:00Z"), ..session.clone() };
        assert!(busy.is_good(&member, at("2026-11-21T08:59:59Z")));
        assert!(!busy.is_good(&member, at("2026-11-21T09:00:00Z")), "a day old");
        assert!(!session.is_good(&member.signed_out(), start));
    }
}
