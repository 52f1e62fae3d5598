//! Lists of JSON objects, as other systems give them page by page.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use memchr::memchr_iter;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{MAX_JSON, Refusal};

/// The list that each system has, and that a file without a name has.
pub(crate) const CANDIDATES: &str = "candidates";

/// An object that has been read.
pub(crate) type Object = Map<String, Value>;

/// A file of JSON: arrays, pages and objects, one after the other.
pub(crate) struct JsonFile {
    /// Its name; `None` if it is the only one.
    pub(crate) name: Option<String>,
    text: String,
}

impl JsonFile {
    pub(crate) fn read(name: Option<String>, file: impl Read) -> Result<Self, Refusal> {
        let mut bytes = Vec::new();
        file.take(MAX_JSON + 1).read_to_end(&mut bytes)?;
        let file = |text| Self { name, text };
        if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_JSON) {
            return Err(file(String::new()).refusal(&format!("it has more than {} MB", MAX_JSON >> 20)));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(file(text)),
            Err(_) => Err(file(String::new()).refusal(&"it is not UTF-8")),
        }
    }

    fn refusal(&self, problem: &dyn std::fmt::Display) -> Refusal {
        let name = self.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        Refusal::Json { name, problem: problem.to_string() }
    }

    /// The list that it has, by its name: `job_stages` for `job-stages.2.json`.
    fn list(&self) -> String {
        let name = self.name.as_deref().and_then(|name| name.split('.').next());
        name.unwrap_or(CANDIDATES).replace('-', "_").to_lowercase()
    }
}

/// An object that is not read yet.
pub(crate) struct Entry<'t> {
    /// The line of its file in which it begins.
    pub(crate) line: u64,
    json: &'t RawValue,
}

impl Entry<'_> {
    /// Reads it. `None` if it is no object, or has text that is not Unicode.
    pub(crate) fn read(&self) -> Option<Object> {
        serde_json::from_str(self.json.get()).ok()
    }
}

/// A list.
#[derive(Default)]
pub(crate) struct List<'t> {
    entries: Vec<Entry<'t>>,
    /// The places of objects with an id.
    places: HashMap<String, usize>,
    /// The number of objects that the list had before.
    repeated: u64,
    /// The number of entries that cannot be read.
    unread: u64,
}

impl<'t> List<'t> {
    fn add(&mut self, entry: Entry<'t>) {
        let Some(object) = entry.read() else {
            self.unread += 1;
            // So that its line is named.
            return self.entries.push(entry);
        };
        if let Some(id) = object.get("id").and_then(id) {
            if self.places.contains_key(&id) {
                self.repeated += 1;
                return;
            }
            self.places.insert(id, self.entries.len());
        }
        self.entries.push(entry);
    }

    /// Whether it has an object with an id.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }
}

/// All lists of a system.
#[derive(Default)]
pub(crate) struct Lists<'t> {
    lists: BTreeMap<String, List<'t>>,
}

/// A page of a list.
#[derive(Deserialize)]
struct Page<'t> {
    #[serde(borrow)]
    results: Vec<&'t RawValue>,
}

/// The objects of an array or a page.
fn items(json: &RawValue) -> Option<Vec<&RawValue>> {
    let text = json.get();
    let array = || serde_json::from_str(text).ok();
    let page = || serde_json::from_str::<Page<'_>>(text).ok().map(|page| page.results);
    if text.starts_with('[') { array() } else { page() }
}

impl<'t> Lists<'t> {
    /// Finds the objects of all files. Fails if one is not JSON, or none has candidates.
    pub(crate) fn of(files: &'t [JsonFile]) -> Result<Self, Refusal> {
        let mut all = Self::default();
        for file in files {
            all.add_file(file).map_err(|problem| file.refusal(&problem))?;
        }
        if all.lists.contains_key(CANDIDATES) { Ok(all) } else { Err(Refusal::NoCandidates) }
    }

    fn add_file(&mut self, file: &'t JsonFile) -> serde_json::Result<()> {
        let text = file.text.trim_start_matches('\u{FEFF}');
        let (name, mut lines) = (file.list(), Lines { text, offset: 0, line: 1 });
        self.lists.entry(name.clone()).or_default();
        for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
            let value = value?;
            if let Some(items) = items(value) {
                self.add(&name, items, &mut lines);
            } else if let Some(lists) = lists(value) {
                for (name, items) in lists {
                    self.add(&name, items, &mut lines);
                }
            } else {
                self.add(&name, vec![value], &mut lines);
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &str, items: Vec<&'t RawValue>, lines: &mut Lines<'t>) {
        let list = self.lists.entry(name.to_owned()).or_default();
        for json in items {
            list.add(Entry { line: lines.line_of(json), json });
        }
    }

    /// A list; `None` if there was none.
    pub(crate) fn get(&self, list: &str) -> Option<&List<'t>> {
        self.lists.get(list)
    }

    pub(crate) fn entries(&self, list: &str) -> &[Entry<'t>] {
        self.get(list).map(|list| list.entries.as_slice()).unwrap_or_default()
    }

    /// The object of a list with an id.
    pub(crate) fn find(&self, list: &str, id: &str) -> Option<Object> {
        let list = self.get(list)?;
        list.entries.get(*list.places.get(id)?)?.read()
    }

    /// The places of the objects of a list that refer to another with a field, by its id.
    pub(crate) fn by(&self, list: &str, field: &str) -> HashMap<String, Vec<usize>> {
        let mut places = HashMap::<_, Vec<_>>::new();
        for (place, entry) in self.entries(list).iter().enumerate() {
            if let Some(id) = entry.read().and_then(|object| reference(object.get(field)?)) {
                places.entry(id).or_default().push(place);
            }
        }
        places
    }

    /// What the reader of all lists should know, if these are read.
    pub(crate) fn warnings(&self, known: &[&str]) -> Vec<String> {
        let mut warnings = Vec::new();
        let unknown = self.lists.keys().filter(|name| !known.contains(&name.as_str()));
        let unknown: Vec<_> = unknown.map(|name| format!("`{name}`")).collect();
        if !unknown.is_empty() {
            warnings.push(format!("Lists that are not read: {}", unknown.join(", ")));
        }
        for (name, List { repeated, unread, .. }) in
            self.lists.iter().filter(|(name, _)| known.contains(&name.as_str()))
        {
            if *repeated > 0 {
                warnings.push(format!("`{name}` has {repeated} objects again, which were left out"));
            }
            if *unread > 0 && name != CANDIDATES {
                warnings.push(format!("{unread} of `{name}` can't be read, and were left out"));
            }
        }
        warnings
    }
}

/// The lists of an object that has several, among them that of the candidates.
fn lists(json: &RawValue) -> Option<Vec<(String, Vec<&RawValue>)>> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(json.get()).ok()?;
    members.get(CANDIDATES).and_then(|candidates| items(candidates))?;
    Some(members.into_iter().filter_map(|(name, list)| Some((name, items(list)?))).collect())
}

/// Counts the lines of a text.
struct Lines<'t> {
    text: &'t str,
    offset: usize,
    line: u64,
}

impl<'t> Lines<'t> {
    /// The line in which a part of the text begins.
    fn line_of(&mut self, part: &'t RawValue) -> u64 {
        let offset = part.get().as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        if offset < self.offset {
            (self.offset, self.line) = (0, 1);
        }
        let between = self.text.as_bytes().get(self.offset..offset).unwrap_or_default();
        self.line += u64::try_from(memchr_iter(b'\n', between).count()).unwrap_or_default();
        self.offset = offset;
        self.line
    }
}

/// The text of an id, which may be a number.
pub(crate) fn id(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        _ => None,
    }
}

/// The id of an object that is there itself or as its id.
pub(crate) fn reference(value: &Value) -> Option<String> {
    value.as_object().map_or_else(|| id(value), |object| id(object.get("id")?))
}
