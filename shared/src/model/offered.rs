//! What submitted forms offer to a candidate's data.

use serde::{Deserialize, Serialize};

use super::consent::ConsentPurpose;
use super::phone::Phone;
use crate::clock::Timestamp;
use crate::id::Id;

/// What forms with a known e-mail address brought. Anyone can enter an address, so it waits until a member accepts or
/// dismisses it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// The telephone number.
    pub phone: Option<Phone>,
    /// The consents, at most one for each purpose.
    pub consents: Vec<OfferedConsent>,
    /// The resume file.
    pub resume_file_id: Option<Id>,
}

/// A consent that a form brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedConsent {
    /// What the consent is for.
    pub purpose: ConsentPurpose,
    /// When the form was sent.
    pub obtained_at: Timestamp,
    /// The submission, which contains the wording.
    pub submission_id: Id,
}

impl Offered {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
