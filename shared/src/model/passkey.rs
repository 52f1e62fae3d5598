//! Passkeys: key pairs on members' devices, with which they sign in without a password.

use serde::{Deserialize, Serialize};

use super::Name;
use crate::clock::Timestamp;
use crate::id::Id;

/// A passkey of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passkey {
    /// The identifier.
    pub id: Id,
    /// The name that the member gave it.
    pub name: Name,
    /// The public key, the counter and everything else that verifies a sign-in, as the `WebAuthn` library writes it: a
    /// JSON object. Only the function `sign_in` reads it.
    pub credential: String,
    /// When it was added.
    pub added_at: Timestamp,
    /// When the member last signed in with it.
    pub used_at: Option<Timestamp>,
}

/// The passkeys of a member, oldest first. They are part of the member's record, so there are only a few.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passkeys(Vec<Passkey>);

impl Passkeys {
    /// The maximum number of passkeys of a member.
    pub const MAX: usize = 10;

    /// No passkeys.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Whether the member has no passkey.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the member has the maximum number of passkeys.
    pub const fn is_full(&self) -> bool {
        self.0.len() >= Self::MAX
    }

    /// The passkeys, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Passkey> {
        self.0.iter()
    }

    /// The passkey with this identifier.
    pub fn find(&self, id: Id) -> Option<&Passkey> {
        self.iter().find(|passkey| passkey.id == id)
    }

    /// Adds a passkey, or replaces the one with the same identifier. Returns `None` if there is no room for another one.
    #[must_use]
    pub fn with(mut self, passkey: Passkey) -> Option<Self> {
        let is_full = self.is_full();
        match self.0.iter_mut().find(|known| known.id == passkey.id) {
            Some(known) => *known = passkey,
            None if is_full => return None,
            None => self.0.push(passkey),
        }
        Some(self)
    }

    /// Removes the passkey with this identifier.
    #[must_use]
    pub fn without(mut self, id: Id) -> Self {
        self.0.retain(|passkey| passkey.id != id);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passkey(id: u64, name: &str) -> Passkey {
        Passkey {
            id: Id::new(id).unwrap(),
            name: Name::parse(name).unwrap().unwrap(),
            credential: "{}".to_owned(),
            added_at: Timestamp::UNIX_EPOCH,
            used_at: None,
        }
    }

    #[test]
    fn a_member_has_at_most_ten_passkeys() {
        let mut passkeys = Passkeys::none();
        for id in 1..=10 {
            assert!(!passkeys.is_full());
            passkeys = passkeys.with(passkey(id, "Phone")).unwrap();
        }
        assert!(passkeys.is_full() && passkeys.clone().with(passkey(11, "Laptop")).is_none());
        let renamed = passkeys.clone().with(passkey(10, "Key")).unwrap();
        assert_eq!(renamed.find(Id::new(10).unwrap()), Some(&passkey(10, "Key")));
        assert_eq!(renamed.iter().count(), 10);
        let removed = renamed.without(Id::new(3).unwrap());
        assert!(removed.find(Id::new(3).unwrap()).is_none() && !removed.is_full());
    }
}
