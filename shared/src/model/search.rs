//! The search for candidates by name, e-mail address and phone number.
//!
//! The index has one entry for each of a person's [`SearchWords`]. The entries of a tenant are ordered by their
//! [`IndexPosition`], whose text is a sort key. Each entry also contains all words of the person, so that a search
//! reads only the index. If a person's words change, the entries of words that are gone are deleted, and all others
//! are written again, because they contain the words.
//!
//! A [`SearchQuery`] is answered as follows:
//!
//! 1. For each of [`SearchQuery::prefixes`], in this order, read the entries whose sort key begins with the prefix, in
//!    ascending order. The words are then ordered: the exact word, then the others alphabetically, and the newest
//!    person first for each word.
//! 2. Keep an entry if [`SearchQuery::listed_at`] of the person's words is the word of the entry. This checks the other
//!    words of the query, and keeps one entry of a person with several matching words.
//! 3. The cursor of the next page is the sort key of the last entry that was read, or a prefix whose entries were not
//!    read yet. [`SearchQuery::prefixes_from`] are the prefixes that are left.
//!
//! One word of the query drives the search: the rarest one, as far as a look at a few entries tells, else the longest one.
//! There is more than one prefix only if this word has a letter with two spellings, a hyphen, an apostrophe
//! or a dot, or is a number; or if the index has entries of an older [form](IndexForm), in which the word is another one.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Bound;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::folding::{Folded, Word, is_han_or_kana};
use super::index_form::IndexForm;
use super::{Phone, Profile};
use crate::id::Id;

/// The maximum number of characters of a word. Longer words are shortened, in the index and in queries.
const MAX_CHARACTERS: usize = 64;

/// The first character of a phone number in the index, which no other word contains.
const PHONE: char = '+';

/// The minimum number of digits that are compared with the end of phone numbers.
const MIN_PHONE_DIGITS: usize = 3;

/// The maximum number of words that may drive a search.
const MAX_DRIVERS: usize = 3;

/// The minimum number of digits of a number that is dialled with a zero. Fewer digits are the end of a number.
const MIN_NATIONAL_DIGITS: usize = 7;

/// The words under which a person is found: at most 30 of at most 64 characters. Words and tags together are at most 42.
///
/// They are, until there are enough:
///
/// 1. the first 8 words of the name, with hyphens, apostrophes and dots removed
/// 2. the phone number's digits, backwards after a `+`, so that a number's last digits are a prefix
/// 3. the local part of the e-mail address, and the labels of its domain from the last to the first, with punctuation
///    removed
/// 4. the given name in a Korean name without a space
/// 5. the parts of the name's words between hyphens, apostrophes and dots; Han and kana words joined over spaces; the
///    rest of the name's Han and kana words from each character on
/// 6. the same of the e-mail address
///
/// Words with two spellings are included twice: `muller` and `mueller`. The limits always leave room for steps 1 and 2, the
/// local part and three words of the domain; without tags, for at least five labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SearchWords(BTreeSet<String>);

impl SearchWords {
    /// The maximum number of words.
    pub const MAX: usize = 30;

    /// The maximum number of words and tags together.
    pub const MAX_WITH_TAGS: usize = 42;

    /// The number of words of a name that are included.
    const NAME_WORDS: usize = 8;

    /// The words of a person.
    pub fn of(profile: &Profile, form: IndexForm) -> Self {
        let name = Folded::both(profile.name.as_str(), form);
        let names = || name.iter().map(|name| name.words().take(Self::NAME_WORDS).collect::<Vec<_>>());
        let email = profile.email.as_ref().and_then(|email| email.as_str().rsplit_once('@'));
        let (local, domain) = email.unwrap_or_default();
        let address: Vec<Folded> = std::iter::once(local)
            .chain(domain.rsplit('.'))
            .flat_map(|text| Folded::both(text, form))
            .collect();

        let limit = Self::MAX.min(Self::MAX_WITH_TAGS.saturating_sub(profile.tags.count()));
        let mut words = Self::default();
        words.extend(limit, names().flatten().map(Word::joined));
        words.extend(limit, profile.phone.iter().map(backwards));
        words.extend(limit, address.iter().map(Folded::joined));
        if !form.is_first() {
            words.extend(limit, names().flat_map(|name| korean_given_names(&name)));
        }
        for name in names() {
            words.extend(limit, name.iter().flat_map(|word| word.parts()));
            let runs = name.chunk_by(|word, next| word.continues_in(*next));
            words.extend(limit, runs.map(|run| run.iter().map(|word| word.joined()).collect::<String>()));
            words.extend(limit, name.iter().flat_map(|word| word.parts()).flat_map(inner_starts));
        }
        for text in &address {
            words.extend(limit, text.words().flat_map(Word::parts));
            words.extend(limit, text.words().flat_map(Word::parts).flat_map(inner_starts));
        }
        words
    }

    /// The words in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether this is one of the words.
    pub fn contains(&self, word: &str) -> bool {
        self.0.contains(word)
    }

    /// The first word that begins with `prefix`.
    fn first_with(&self, prefix: &str) -> Option<&str> {
        let next = self.0.range::<str, _>((Bound::Included(prefix), Bound::Unbounded)).next()?;
        next.starts_with(prefix).then_some(next)
    }

    /// Adds words until there are `limit`.
    fn extend(&mut self, limit: usize, words: impl Iterator<Item = impl AsRef<str>>) {
        for word in words {
            if self.0.len() < limit && !word.as_ref().is_empty() {
                self.0.insert(shortened(word.as_ref()));
            }
        }
    }
}

/// The rest of a word from each character on, except the first, if it consists of Han or kana.
fn inner_starts(part: &str) -> impl Iterator<Item = &str> {
    let characters = part.char_indices().skip(1).filter(|(_, c)| is_han_or_kana(*c));
    characters.map(|(at, _)| &part[at..])
}

/// The beginnings of the given name in a name with one Korean word that contains a family name, which has one syllable or,
/// more rarely, two. A word of two syllables beside another word is a given name alone.
fn korean_given_names<'f>(name: &[Word<'f>]) -> Vec<&'f str> {
    let korean: Vec<_> =
        name.iter().map(|word| word.rest_at_each_syllable()).filter(|rests| !rests.is_empty()).collect();
    match korean.as_slice() {
        [rests] => match rests.as_slice() {
            [_, given] if name.len() == 1 => vec![given],
            [_, given, _] => vec![given],
            [_, given, .., last_two, _] => vec![given, last_two],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn shortened(word: &str) -> String {
    word.chars().take(MAX_CHARACTERS).collect()
}

fn backwards(phone: &Phone) -> String {
    phone_word(phone.as_str().trim_start_matches('+'))
}

fn phone_word(digits: &str) -> String {
    std::iter::once(PHONE).chain(digits.chars().rev()).collect()
}

/// The digits that a phone number ends with if it is written as `digits`: without the zeros that people dial first, if
/// there are enough other digits for a number.
fn dialled(digits: &str) -> &str {
    let number = digits.trim_start_matches('0');
    if number.len() >= MIN_NATIONAL_DIGITS { number } else { digits }
}

/// A search for candidates: 1 to 200 characters with at least one letter or digit.
///
/// Every word of the query must begin one of the person's words, or consist of three or more digits that end the phone
/// number. Case, marks of alphabets and punctuation do not matter. A word with two spellings is found in both: `Müller`
/// finds Müller, Muller and Mueller. A word with hyphens, apostrophes or dots is found with and without them: `jean-luc`
/// finds Jean-Luc, Jean Luc and Jeanluc. A number with spaces is such a word, too, if it is the whole query, and is read as
/// a phone number first: `+49 (0)151 12345678` and `0151 12345678` find +4915112345678.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    /// The query as folded for each of [`IndexForm::ALL`].
    wordings: [Wording; 2],
}

/// The words of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wording {
    words: Vec<QueryWord>,
    /// The prefixes of the word that drives the search.
    prefixes: Vec<String>,
}

/// A word of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
struct QueryWord {
    /// The word without hyphens.
    joined: Spellings,
    /// The parts between the hyphens.
    parts: Vec<Spellings>,
}

/// The spellings of a word or a part of it. A person has the word if one of the person's words begins with one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Spellings {
    /// The spellings, the end of a phone number first.
    all: Vec<String>,
    /// The number of characters of the plain spelling.
    length: usize,
}

impl Spellings {
    /// The spellings of a word with plain and with expanded letters.
    fn of(plain: &str, expanded: &str) -> Self {
        let is_number = plain.len() >= MIN_PHONE_DIGITS && plain.bytes().all(|byte| byte.is_ascii_digit());
        let phone = is_number.then(|| phone_word(&shortened(dialled(plain))));
        let mut all: Vec<_> = phone.into_iter().chain([shortened(plain)]).collect();
        if expanded != plain {
            all.push(shortened(expanded));
        }
        Self { all, length: plain.chars().count() }
    }

    fn matches(&self, words: &SearchWords) -> bool {
        self.all.iter().any(|spelling| words.first_with(spelling).is_some())
    }
}

impl QueryWord {
    fn of<'f>(plain: impl Iterator<Item = &'f str>, expanded: impl Iterator<Item = &'f str>) -> Self {
        let (plain, expanded): (Vec<_>, Vec<_>) = (plain.collect(), expanded.collect());
        let parts = plain.iter().zip(&expanded).map(|(plain, expanded)| Spellings::of(plain, expanded));
        Self { joined: Spellings::of(&plain.concat(), &expanded.concat()), parts: parts.collect() }
    }

    /// The part that selects the fewest people, because it is the longest. Of equal parts it is the first.
    fn longest(&self) -> &Spellings {
        self.parts.iter().rev().max_by_key(|part| part.length).unwrap_or(&self.joined)
    }

    fn matches(&self, words: &SearchWords) -> bool {
        self.joined.matches(words) || self.parts.iter().all(|part| part.matches(words))
    }

    /// Prefixes such that everybody who has the word has a word with one of them. No prefix begins another one.
    fn prefixes(&self) -> Vec<String> {
        let mut prefixes = Vec::new();
        for spelling in self.joined.all.iter().chain(&self.longest().all) {
            add_prefix(&mut prefixes, spelling);
        }
        prefixes
    }
}

/// Adds a prefix, unless another one begins it. It takes the place of those that it begins.
fn add_prefix(prefixes: &mut Vec<String>, new: &str) {
    if prefixes.iter().any(|prefix| new.starts_with(prefix)) {
        return;
    }
    let place = prefixes.iter().position(|prefix| prefix.starts_with(new)).unwrap_or(prefixes.len());
    prefixes.retain(|prefix| !prefix.starts_with(new));
    prefixes.insert(place, new.to_owned());
}

impl Wording {
    fn of(given: &str, form: IndexForm) -> Self {
        let [plain, expanded] = Folded::both(given, form);
        let words = plain.words().zip(expanded.words());
        Self::new(words.map(|(plain, expanded)| QueryWord::of(plain.parts(), expanded.parts())).collect())
    }

    /// The one word of a query that is a number.
    fn of_number(given: &str) -> Option<Self> {
        let given = given.trim_start();
        let given = given.strip_prefix("tel:").unwrap_or(given);
        let [folded, _] = Folded::both(given, IndexForm::NEWEST);
        if !folded.is_number() || folded.words().next().is_none() {
            return None;
        }
        let digits = || folded.words().flat_map(Word::parts);
        let mut word = QueryWord::of(digits(), digits());
        // A whole number is also understood with a zero after the country code, for example.
        if let Some(phone) = Phone::understood(given, None) {
            word.joined.all.insert(0, backwards(&phone));
        }
        Some(Self::new(vec![word]))
    }

    fn new(words: Vec<QueryWord>) -> Self {
        let mut new = Self { prefixes: Vec::new(), words };
        let longest = new.longest_first().first().and_then(|place| new.words.get(*place));
        new.prefixes = longest.map(QueryWord::prefixes).unwrap_or_default();
        new
    }

    /// The places of the words, the longest first.
    fn longest_first(&self) -> Vec<usize> {
        let mut places: Vec<_> = (0..self.words.len()).collect();
        places
            .sort_by_key(|place| self.words.get(*place).map(|word| std::cmp::Reverse(word.longest().length)));
        places
    }

    fn matches(&self, words: &SearchWords) -> bool {
        self.words.iter().all(|word| word.matches(words))
    }
}

impl SearchQuery {
    /// The maximum number of characters.
    pub const MAX: usize = 200;

    fn wording(&self, form: IndexForm) -> &Wording {
        let [first, second] = &self.wordings;
        match form {
            IndexForm::First => first,
            IndexForm::Second => second,
        }
    }

    /// The number of words that may drive a search: the longest ones, at most 3. The query is driven by the longest one.
    pub fn drivers(&self) -> usize {
        let [first, second] = self.wordings.each_ref().map(|wording| wording.words.len());
        // In rare cases, older rules divide a text into other words.
        if first == second { second.min(MAX_DRIVERS) } else { 1 }
    }

    /// The same query, driven by another word; 0 is the longest one.
    #[must_use]
    pub fn driven_by(&self, driver: usize) -> Self {
        let longest_first = self.wording(IndexForm::NEWEST).longest_first();
        let place = longest_first.get(driver).filter(|_| driver < self.drivers());
        let mut driven = self.clone();
        for wording in &mut driven.wordings {
            if let Some(word) = place.and_then(|place| wording.words.get(*place)) {
                wording.prefixes = word.prefixes();
            }
        }
        driven
    }

    /// The prefixes of the sort keys that contain all results in an index whose oldest entries have this form. They belong
    /// to the word that drives the search. No prefix begins another one.
    pub fn prefixes(&self, oldest: IndexForm) -> Vec<String> {
        let mut prefixes = Vec::new();
        // The oldest form comes first: who is written again meanwhile is then found among the newest entries at the latest.
        for form in IndexForm::ALL.into_iter().filter(|form| *form >= oldest) {
            for prefix in &self.wording(form).prefixes {
                add_prefix(&mut prefixes, prefix);
            }
        }
        prefixes
    }

    /// The prefixes from the one of this sort key on. If the key is the last one read, these are the prefixes whose
    /// entries are still to be read, the first of them after the key. A prefix itself comes before all its entries.
    pub fn prefixes_from<'p>(prefixes: &'p [String], sort_key: &str) -> &'p [String] {
        let current = prefixes.iter().position(|prefix| sort_key.starts_with(prefix));
        current.and_then(|current| prefixes.get(current..)).unwrap_or_default()
    }

    /// Whether some people with a word that begins with one of the prefixes may not be results.
    pub fn is_refined(&self) -> bool {
        !matches!(self.wording(IndexForm::NEWEST).words.as_slice(), [word] if word.parts.len() == 1)
    }

    /// Whether a person with these words of the newest form is a result.
    pub fn matches(&self, words: &SearchWords) -> bool {
        self.wording(IndexForm::NEWEST).matches(words)
    }

    /// The word under which a person with these words of a form is listed; `None` if the person is not a result.
    pub fn listed_at<'w>(&self, words: &'w SearchWords, form: IndexForm) -> Option<&'w str> {
        let wording = self.wording(form);
        let word = wording.prefixes.iter().find_map(|prefix| words.first_with(prefix));
        word.filter(|_| wording.matches(words))
    }
}

impl FromStr for SearchQuery {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        if given.chars().nth(Self::MAX).is_some() {
            return Err(format!("must be at most {} characters", Self::MAX));
        }
        let number = Wording::of_number(given);
        let wording = |form| number.clone().unwrap_or_else(|| Wording::of(given, form));
        let wordings = IndexForm::ALL.map(wording);
        if wordings.iter().any(|wording| wording.words.is_empty()) {
            return Err("must contain a letter or a digit".to_owned());
        }
        Ok(Self { wordings })
    }
}

/// The position of an entry in the index. Its text is the entry's sort key.
///
/// In ascending order of the keys' bytes, a word comes before all longer words that begin with it, other words are in
/// alphabetical order (of code points), and the newest person comes first for each word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexPosition<'w> {
    /// One of the person's words.
    pub word: &'w str,
    /// The person.
    pub id: Id,
}

impl<'w> IndexPosition<'w> {
    /// The character between the word and the person. It comes before all characters of words.
    const SEPARATOR: char = '#';

    /// Reads a sort key.
    pub fn parse(sort_key: &'w str) -> Option<Self> {
        let (word, before_last) = sort_key.rsplit_once(Self::SEPARATOR)?;
        let id = Id::MAX.checked_sub(before_last.parse().ok()?).and_then(Id::new)?;
        Some(Self { word, id })
    }
}

impl fmt::Display for IndexPosition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{:016}", self.word, Self::SEPARATOR, Id::MAX - self.id.get())
    }
}

#[cfg(test)]
mod tests;
