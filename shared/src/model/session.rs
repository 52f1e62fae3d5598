//! Sessions of members in their browsers.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::{Device, Member, Mode, NoticeEvent};
use crate::clock::{Timestamp, later};
use crate::id::Id;

/// What a member has signed in with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignInMethod {
    /// The password, and a code if the member has an authenticator app.
    Password,
    /// A passkey. The device has verified the member, so it counts as two factors.
    Passkey,
}

/// The session of a signed-in browser.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    /// The member.
    pub member: Id,
    /// The member's epoch at sign-in. The session ends when the member's epoch increases.
    pub epoch: u64,
    /// What the member has signed in with.
    pub method: SignInMethod,
    /// The mode that the dashboard shows.
    pub mode: Mode,
    /// The browser and the network at sign-in.
    pub device: Device,
    /// Whether the member has notices that were not dismissed in this session: from before the sign-in, or about the member's
    /// work.
    pub has_notices: bool,
    /// The newest of these notices; `None` for sessions from before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_notice: Option<NoticeEvent>,
    /// When the member signed in.
    pub created_at: Timestamp,
    /// When the member last gave the password or a passkey.
    pub confirmed_at: Timestamp,
    /// When the session was last used, to within 5 minutes.
    pub seen_at: Timestamp,
    /// When the session ends, even if it is still in use.
    pub ends_at: Timestamp,
}

impl Session {
    /// The maximum lifetime of a session.
    pub const LONGEST: SignedDuration = SignedDuration::from_hours(30 * 24);
    /// The time after which an unused session ends.
    pub const IDLE: SignedDuration = SignedDuration::from_hours(12);
    /// The time for which a password or a passkey allows changes that need a fresh sign-in.
    pub const FRESH: SignedDuration = SignedDuration::from_mins(15);
    /// The precision of `seen_at`.
    // Otherwise every request would write the session.
    const PRECISION: SignedDuration = SignedDuration::from_mins(5);

    /// A session that begins now, with a password.
    pub fn begin(member: &Member, device: Device, has_notices: bool, now: Timestamp) -> Self {
        Self {
            member: member.id,
            epoch: member.epoch,
            method: SignInMethod::Password,
            mode: Mode::Live,
            device,
            has_notices,
            newest_notice: None,
            created_at: now,
            confirmed_at: now,
            seen_at: now,
            ends_at: later(now, Self::LONGEST),
        }
    }

    /// Whether the session is valid for `member`.
    pub fn is_good(&self, member: &Member, now: Timestamp) -> bool {
        self.member == member.id
            && self.epoch == member.epoch
            && now < self.ends_at
            && now.duration_since(self.seen_at) < Self::IDLE
    }

    /// Whether the member has given the password or a passkey recently enough for a change that needs a fresh sign-in.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        now.duration_since(self.confirmed_at) < Self::FRESH
    }

    /// The session of a member who has just given the password again.
    #[must_use]
    pub fn confirmed(self, now: Timestamp) -> Self {
        Self { confirmed_at: now, seen_at: now, ..self }
    }

    /// The session of a member who has just given a passkey.
    #[must_use]
    pub fn confirmed_with_passkey(self, now: Timestamp) -> Self {
        Self { method: SignInMethod::Passkey, ..self.confirmed(now) }
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
    use crate::model::{MemberRole, Name};

    fn at(time: &str) -> Timestamp {
        time.parse().unwrap()
    }

    fn begun(start: Timestamp) -> (Member, Session) {
        let name = Name::parse("Ada").unwrap().unwrap();
        let email = "ada@example.com".parse().unwrap();
        let member = Member::invited(Id::new(7).unwrap(), email, name, MemberRole::Owner, start);
        let device = Device { browser: "Firefox on Linux".to_owned(), network: "192.0.2.1".to_owned() };
        let session = Session::begin(&member, device, false, start);
        (member, session)
    }

    #[test]
    fn a_session_ends_after_twelve_unused_hours_thirty_days_or_a_sign_out() {
        let start = at("2026-11-20T09:00:00Z");
        let (member, session) = begun(start);
        assert!(session.is_good(&member, at("2026-11-20T20:59:59Z")));
        assert!(!session.is_good(&member, at("2026-11-20T21:00:00Z")), "unused for twelve hours");
        assert!(session.seen(at("2026-11-20T09:04:59Z")).is_none());
        let used = session.seen(at("2026-11-20T20:59:00Z")).unwrap();
        assert!(used.is_good(&member, at("2026-11-21T08:30:00Z")));
        let busy = Session { seen_at: at("2026-12-20T08:59:00Z"), ..session.clone() };
        assert!(busy.is_good(&member, at("2026-12-20T08:59:59Z")));
        assert!(!busy.is_good(&member, at("2026-12-20T09:00:00Z")), "thirty days old");
        assert!(!session.is_good(&member.signed_out(), start));
    }

    #[test]
    fn a_password_is_fresh_for_fifteen_minutes() {
        let (_, session) = begun(at("2026-11-20T09:00:00Z"));
        assert!(session.is_fresh(at("2026-11-20T09:14:59Z")));
        let late = at("2026-11-20T09:15:00Z");
        assert!(!session.is_fresh(late));
        assert!(!session.seen(late).unwrap().is_fresh(late), "use alone does not count");
        let confirmed = session.confirmed(late);
        assert!(confirmed.is_fresh(at("2026-11-20T09:29:59Z")));
        assert_eq!(confirmed.seen_at, late, "a confirmation is a use");
    }
}
