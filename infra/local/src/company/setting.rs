//! What all parts of the demo company use: its setting, and short forms.

use std::error::Error;

use jiff::SignedDuration;
use shared::clock::{Clock, Timestamp, later};
use shared::id::{Id, Ids};
use shared::model::{Actor, NamedOrganization, Scalar, Source, Tenant, Text, Value};

use super::dice::Dice;

pub(super) type Outcome<T> = Result<T, Box<dyn Error>>;

/// Who works in the company.
pub struct Staff {
    /// The organization.
    pub organization: Id,
    /// The member who does the hiring.
    pub recruiter: Actor,
    /// The program that imports applicants.
    pub program: Actor,
}

/// The company in one mode.
pub(super) struct Company<'s> {
    pub(super) tenant: Tenant,
    pub(super) organization: NamedOrganization,
    pub(super) base_url: String,
    pub(super) now: Timestamp,
    pub(super) dice: Dice,
    pub(super) staff: &'s Staff,
    pub(super) sources: Sources,
}

/// Where people come from, besides the career page.
pub(super) struct Sources {
    pub(super) linkedin: Source,
    pub(super) referral: Source,
    pub(super) x: Source,
}

impl Sources {
    pub(super) fn new() -> Outcome<Self> {
        let source = |word: &str| -> Outcome<_> {
            Ok(Source::read(&Scalar::Text(word.to_owned()))?.ok_or("a source must not be blank")?)
        };
        Ok(Self { linkedin: source("LinkedIn")?, referral: source("referral")?, x: source("X")? })
    }
}

impl Company<'_> {
    /// Identifiers of this time.
    pub(super) fn ids_at(&self, time: Timestamp) -> Ids {
        Ids::new(Clock::from_fn(move || time), self.dice.random())
    }
}

pub(super) fn text<const MAX: usize, const MULTILINE: bool>(text: &str) -> Outcome<Text<MAX, MULTILINE>> {
    Ok(Text::parse(text)?.ok_or("the text must not be blank")?)
}

/// The time this number of days before `time`.
pub(super) fn days(time: Timestamp, ago: i64) -> Timestamp {
    hours(time, -24 * ago)
}

/// The time this number of hours after `time`.
pub(super) fn hours(time: Timestamp, after: i64) -> Timestamp {
    later(time, SignedDuration::from_hours(after))
}
