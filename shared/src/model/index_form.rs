//! The forms of the entries of the search index.

use serde::{Deserialize, Serialize};

/// How the words of an entry of the search index were folded.
///
/// A candidate's record names the form of its entries, so that whoever changes or erases the candidate finds them. All new
/// entries have the [newest](Self::NEWEST) one. `rolecall-admin rebuild` writes older entries again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum IndexForm {
    /// All marks are dropped, also those that are vowels. Nothing stored names this form.
    #[default]
    First,
    /// Only the marks of alphabets are dropped.
    Second,
}

impl IndexForm {
    /// All forms, oldest first.
    pub const ALL: [Self; 2] = [Self::First, Self::Second];

    /// The form of new entries.
    pub const NEWEST: Self = Self::Second;

    /// Whether this is the first form, which stored items do not name.
    pub const fn is_first(&self) -> bool {
        matches!(self, Self::First)
    }
}

impl From<IndexForm> for u8 {
    fn from(form: IndexForm) -> Self {
        match form {
            IndexForm::First => 1,
            IndexForm::Second => 2,
        }
    }
}

impl TryFrom<u8> for IndexForm {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        let known = Self::ALL.into_iter().find(|form| u8::from(*form) == number);
        known.ok_or_else(|| format!("this release does not know form {number} of the search index"))
    }
}
