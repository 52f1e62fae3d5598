//! People as other systems describe them in JSON.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use shared::clock::Timestamp;

use crate::objects::{CANDIDATES, Entry, Lists, Object, id};
use crate::person::Person;
use crate::{Refusal, Report, RowVerdict, Settings};

/// The maximum number of files that a warning names.
const MAX_NAMED: usize = 10;

/// A system, with the lists that it has given.
pub(crate) trait System<'l>: Sized {
    /// The lists that are read.
    const LISTS: &'static [&'static str];

    fn new(lists: &'l Lists<'l>) -> Self;

    /// Describes a candidate. `false` if the system has deleted the person.
    fn describe(&self, candidate: &Object, person: &mut Person<'_>) -> bool;

    /// What the reader of all lists should know.
    fn warnings(&self) -> Vec<String>;
}

/// Reads the candidates of a system.
pub(crate) fn read<'l, S: System<'l>>(
    lists: &'l Lists<'l>,
    settings: &Settings,
    now: Timestamp,
    each: &mut dyn FnMut(RowVerdict) -> ControlFlow<()>,
) -> Result<Report, Refusal> {
    let system = S::new(lists);
    let mut report = Report { warnings: lists.warnings(S::LISTS), ..Report::default() };
    report.warnings.extend(system.warnings());
    // The row that has the first file with each name, and the names that several people's files have.
    let (mut owners, mut shared) = (HashMap::new(), BTreeSet::new());
    for entry in lists.entries(CANDIDATES) {
        let Some(candidate) = entry.read() else {
            report.count_row()?;
            let verdict = Err(vec!["row must be a JSON object in valid Unicode".to_owned()]);
            let row = RowVerdict { row: report.rows, line: entry.line, verdict, warnings: Vec::new() };
            if each(row).is_break() {
                break;
            }
            continue;
        };
        let mut person = Person::new(settings);
        if !system.describe(&candidate, &mut person) {
            report.skipped += 1;
            continue;
        }
        report.count_row()?;
        for name in person.file_names() {
            let owner = *owners.entry(name.to_lowercase()).or_insert(report.rows);
            if owner != report.rows {
                shared.insert(name.to_lowercase());
            }
        }
        let (verdict, warnings) = person.finish(now);
        if each(RowVerdict { row: report.rows, line: entry.line, verdict, warnings }).is_break() {
            break;
        }
    }
    if !shared.is_empty() {
        let names: Vec<_> = shared.iter().map(String::as_str).take(MAX_NAMED).collect();
        let more = if shared.len() > names.len() { " and others" } else { "" };
        report.warnings.push(format!(
            "Files of several people have one name: {}{more}. Give them other names, in the ZIP and in the rows",
            names.join(", ")
        ));
    }
    Ok(report)
}

/// The objects of a list by the candidate to whom they belong.
pub(crate) struct Belongings<'l> {
    list: &'static str,
    entries: &'l [Entry<'l>],
    places: HashMap<String, Vec<usize>>,
}

impl<'l> Belongings<'l> {
    pub(crate) fn new(lists: &'l Lists<'l>, list: &'static str, field: &str) -> Self {
        Self { list, entries: lists.entries(list), places: lists.by(list, field) }
    }

    /// The objects of the candidate, or of whatever else has the id.
    pub(crate) fn of(&self, id: &str) -> impl Iterator<Item = Object> + use<'_, 'l> {
        let places = self.places.get(id).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|place| self.entries.get(*place)?.read())
    }

    /// Says how many belong to nobody, for example because a page is missing.
    pub(crate) fn warning(&self, lists: &Lists<'_>) -> Option<String> {
        let candidates = lists.get(CANDIDATES)?;
        let lost = self.places.iter().filter(|(id, _)| !candidates.has(id)).map(|(_, places)| places.len());
        let lost = lost.sum::<usize>();
        (lost > 0).then(|| {
            format!("{lost} of `{}` belong to nobody of `{CANDIDATES}`, and were left out", self.list)
        })
    }
}

/// The id of an object.
pub(crate) fn id_of(object: &Object) -> Option<String> {
    object.get("id").and_then(id)
}
