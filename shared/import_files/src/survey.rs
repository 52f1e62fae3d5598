//! What only whole columns show: times that midnight has become, dates that have lost their days, the form of dates, and ids
//! that have lost their zeros.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::civil::{Date, Time};

use crate::DateFormat;
use crate::dates::{self, Read};
use crate::record::Record;
use crate::table::plain_id;
use crate::{Column, Field};

/// The number of dates from which a column shows that something is wrong with it.
const MIN_DATES: usize = 3;
/// The number of dates from which it is no accident that all are the first of a month.
const MIN_FIRSTS: usize = 5;
/// What midnight has become where a program writes it in another zone whose offset has half an hour: India's.
const HALF_HOUR: Time = jiff::civil::time(18, 30, 0, 0);

/// What whole columns show.
#[derive(Default)]
pub(crate) struct Survey {
    dates: BTreeMap<Field, Dates>,
    /// The ids without zeros before them, with a hash of the first one that had this form.
    ids: HashMap<u64, u64>,
    /// The forms that several ids have.
    differing: HashSet<u64>,
}

impl Survey {
    /// Adds a record.
    pub(crate) fn add(&mut self, columns: &[Column], record: &Record, format: Option<DateFormat>) {
        for (column, cell) in columns.iter().zip(&record.cells) {
            match column.field {
                Some(field @ (Field::CreatedAt | Field::AppliedAt | Field::RejectedAt))
                    if !cell.is_blank() =>
                {
                    self.dates.entry(field).or_default().add(cell, format);
                }
                Some(Field::ExternalId) => {
                    if let Ok(Some(id)) = plain_id(cell) {
                        let (form, whole) = (hash(without_zeros(&id)), hash(&id));
                        if *self.ids.entry(form).or_insert(whole) != whole {
                            self.differing.insert(form);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether another row has this id with more or fewer zeros before it.
    pub(crate) fn has_other_zeros(&self, id: &str) -> bool {
        self.differing.contains(&hash(without_zeros(id)))
    }

    /// Whether no time of a column is midnight, as if a program had moved all into another zone.
    pub(crate) fn is_moved(&self, field: Field) -> bool {
        self.dates.get(&field).is_some_and(Dates::are_moved)
    }

    /// What the reader of the whole file should know about a column.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let firsts = self.dates.iter().filter(|(_, dates)| dates.count >= MIN_FIRSTS && dates.are_firsts);
        let warning = |(field, _): (&Field, _)| {
            format!(
                "All dates of `{}` are the first of a month: a program may have changed them",
                field.as_str()
            )
        };
        firsts.map(warning).collect()
    }

    /// The one form that all dates of the file have, if some are not read without it.
    pub(crate) fn date_format(&self) -> Option<DateFormat> {
        let is_needed = self.dates.values().any(|dates| dates.are_unread);
        let mut fitting =
            DateFormat::ALL.into_iter().filter(|format| self.dates.values().all(|dates| dates.fit(*format)));
        let first = fitting.next().filter(|_| is_needed)?;
        fitting.next().is_none().then_some(first)
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn without_zeros(id: &str) -> &str {
    id.trim_start_matches('0')
}

/// The dates of a column.
struct Dates {
    count: usize,
    /// The times of day of those without an offset, as long as there are few.
    times: BTreeSet<Time>,
    are_firsts: bool,
    /// Whether any could not be read.
    are_unread: bool,
    /// The forms in which all can be read.
    forms: Vec<DateFormat>,
}

impl Default for Dates {
    fn default() -> Self {
        let forms = DateFormat::ALL.to_vec();
        Self { count: 0, times: BTreeSet::new(), are_firsts: true, are_unread: false, forms }
    }
}

impl Dates {
    fn add(&mut self, cell: &crate::cell::Cell, format: Option<DateFormat>) {
        if crate::words::is_word_for_nothing(&cell.text) || cell.is_error() {
            return;
        }
        self.count += 1;
        self.forms.retain(|format| dates::read(cell, Some(*format)).is_ok());
        match dates::read(cell, format) {
            Ok(Read::Local(date, time)) => {
                self.are_firsts &= Date::day(date) == 1;
                if self.times.len() < MIN_DATES {
                    self.times.insert(time.unwrap_or(Time::midnight()));
                }
            }
            // Its time of day is right.
            Ok(Read::Exact(_)) => {
                self.are_firsts = false;
                self.times.insert(Time::midnight());
            }
            Err(_) => {
                self.are_firsts = false;
                self.are_unread = true;
            }
        }
    }

    fn fit(&self, format: DateFormat) -> bool {
        self.forms.contains(&format)
    }

    /// Whether the times of day are those that midnight has elsewhere: one, or two that lie an hour apart as in summer and in
    /// winter.
    fn are_moved(&self) -> bool {
        let times: Vec<_> = self.times.iter().collect();
        let is_whole = |time: &Time| time.minute() == 0 && time.second() == 0;
        let is_moved = match times.as_slice() {
            [one] => **one == HALF_HOUR || (is_whole(one) && one.hour() >= 12),
            [one, other] => {
                one.hour() + 1 == other.hour()
                    && one.minute() == other.minute()
                    && one.second() == other.second()
            }
            _ => false,
        };
        self.count >= MIN_DATES && is_moved && !self.times.contains(&Time::midnight())
    }
}
