//! Members: the people in an organization who sign in to the dashboard.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::string_enum::string_enum;
use super::{Email, Name, Passkeys, PasswordHash, SecondFactor, TimeZoneName};
use crate::clock::Timestamp;
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
    /// The e-mail address for signing in. It is unique among the members of the organization who have accepted their
    /// invitation.
    pub email: Email,
    /// The name.
    pub name: Name,
    /// The role.
    pub role: MemberRole,
    /// The password's hash; `None` until the invitation is accepted. Only a member with a password has claimed the
    /// e-mail address.
    pub password: Option<PasswordHash>,
    /// The second factor, which is asked for after the password.
    pub second_factor: Option<SecondFactor>,
    /// The passkeys, each of which signs the member in without a password.
    pub passkeys: Passkeys,
    /// The link for setting a password, if there is one.
    pub link: Option<Link>,
    /// A counter. Incrementing it ends all of the member's sessions.
    pub epoch: u64,
    /// The time zone in which the dashboard shows times.
    #[serde(default, skip_serializing_if = "TimeZoneName::is_utc")]
    pub time_zone: TimeZoneName,
    /// Whether the member has turned off the dashboard's keyboard shortcuts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shortcuts_are_off: bool,
    /// When the member was invited.
    pub created_at: Timestamp,
    /// When the member accepted the invitation; `None` also of a member who accepted it before this was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Timestamp>,
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
        Self {
            id,
            email,
            name,
            role,
            password: None,
            second_factor: None,
            passkeys: Passkeys::none(),
            link: None,
            epoch: 0,
            shortcuts_are_off: false,
            time_zone: TimeZoneName::UTC,
            created_at: now,
            accepted_at: None,
            version: 1,
        }
    }

    /// Replaces the link.
    #[must_use]
    pub fn with_link(self, link: Link) -> Self {
        Self { link: Some(link), version: self.version + 1, ..self }
    }

    /// Accepts the invitation with a password.
    #[must_use]
    pub fn accepted(self, password: PasswordHash, now: Timestamp) -> Self {
        Self { accepted_at: Some(now), ..self.with_password(password) }
    }

    /// Replaces the password. This ends every session and removes the link.
    #[must_use]
    pub fn with_password(self, password: PasswordHash) -> Self {
        let (epoch, version) = (self.epoch + 1, self.version + 1);
        Self { password: Some(password), link: None, epoch, version, ..self }
    }

    /// Sets up, changes or removes the second factor.
    #[must_use]
    pub fn with_second_factor(self, second_factor: Option<SecondFactor>) -> Self {
        Self { second_factor, version: self.version + 1, ..self }
    }

    /// Replaces the passkeys.
    #[must_use]
    pub fn with_passkeys(self, passkeys: Passkeys) -> Self {
        Self { passkeys, version: self.version + 1, ..self }
    }

    /// Whether the member can prove more than the password: with a code from an app, or with a passkey.
    pub const fn has_second_factor(&self) -> bool {
        self.second_factor.is_some() || !self.passkeys.is_empty()
    }

    /// Removes the second factor and the passkeys, so that the password alone is enough to sign in.
    #[must_use]
    pub fn without_second_factor(self) -> Self {
        Self { second_factor: None, passkeys: Passkeys::none(), version: self.version + 1, ..self }
    }

    /// Replaces the time zone.
    #[must_use]
    pub fn in_time_zone(self, time_zone: TimeZoneName) -> Self {
        Self { time_zone, version: self.version + 1, ..self }
    }

    /// Turns the dashboard's keyboard shortcuts on or off.
    #[must_use]
    pub fn with_shortcuts(self, are_on: bool) -> Self {
        Self { shortcuts_are_off: !are_on, version: self.version + 1, ..self }
    }

    /// Replaces the role.
    #[must_use]
    pub fn in_role(self, role: MemberRole) -> Self {
        Self { role, version: self.version + 1, ..self }
    }

    /// Whether the member has been invited and has not accepted. An invitation without a valid link can be replaced.
    pub const fn is_invited(&self) -> bool {
        self.password.is_none()
    }

    /// Whether the member has a link that is valid at `now`.
    pub fn has_link(&self, now: Timestamp) -> bool {
        self.link.as_ref().is_some_and(|link| now < link.expires_at)
    }

    /// Ends every session.
    #[must_use]
    pub fn signed_out(self) -> Self {
        Self { epoch: self.epoch + 1, version: self.version + 1, ..self }
    }
}
