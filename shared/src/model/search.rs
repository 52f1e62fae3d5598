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
/// local part and three words of the domain; without tags, for at least five labels. A change of all words and tags
/// fits in a transaction.
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
        let (local, domain) = profile.email.as_str().rsplit_once('@').unwrap_or_default();
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
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::{Name, Tags, Text};
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;
    use unicode_normalization::char::is_combining_mark;

    fn profile(name: &str, email: &str, phone: &str) -> Profile {
        let (name, email) = (Name::parse(name).unwrap().unwrap(), email.parse().unwrap());
        let phone = (!phone.is_empty()).then(|| serde_json::from_value(phone.into()).unwrap());
        Profile { phone, ..Profile::new(name, email) }
    }

    fn words(name: &str, email: &str, phone: &str) -> SearchWords {
        SearchWords::of(&profile(name, email, phone), IndexForm::NEWEST)
    }

    /// The words of a person whose address and phone number are not found by accident.
    fn named(name: &str) -> SearchWords {
        words(name, "x@x.xx", "")
    }

    fn query(given: &str) -> SearchQuery {
        given.parse().unwrap()
    }

    fn finds(given: &str, words: &SearchWords) -> bool {
        query(given).matches(words)
    }

    #[track_caller]
    fn assert_found(name: &str, found: &[&str], not_found: &[&str]) {
        for given in found {
            assert!(finds(given, &named(name)), "{given} finds {name}");
        }
        for given in not_found {
            assert!(!finds(given, &named(name)), "{given} does not find {name}");
        }
    }

    /// An index as the store has it.
    #[derive(Default)]
    struct Index(BTreeMap<String, (IndexForm, SearchWords)>);

    impl Index {
        fn insert(&mut self, id: u64, form: IndexForm, profile: &Profile) {
            let words = SearchWords::of(profile, form);
            for word in words.iter() {
                let position = IndexPosition { word, id: Id::new(id).unwrap() };
                assert!(self.0.insert(position.to_string(), (form, words.clone())).is_none());
            }
        }

        /// Searches in pages, which each read some entries of one prefix.
        fn search(&self, query: &SearchQuery, oldest: IndexForm, page: usize) -> Vec<u64> {
            let mut found = Vec::new();
            let mut last: Option<String> = None;
            let all = query.prefixes(oldest);
            let mut prefixes = all.as_slice();
            while let [prefix, rest @ ..] = prefixes {
                let from = last.clone().filter(|last| last.starts_with(prefix));
                let entries = self.0.range(from.as_ref().unwrap_or(prefix).clone()..);
                let entries: Vec<_> = entries
                    .skip(usize::from(from.is_some()))
                    .take_while(|(key, _)| key.starts_with(prefix))
                    .take(page)
                    .collect();
                for (key, (form, words)) in &entries {
                    let position = IndexPosition::parse(key).unwrap();
                    if query.listed_at(words, *form) == Some(position.word) {
                        found.push(position.id.get());
                    }
                }
                prefixes = if entries.len() == page {
                    last = entries.last().map(|(key, _)| (*key).clone());
                    SearchQuery::prefixes_from(&all, last.as_ref().unwrap())
                } else {
                    rest
                };
            }
            found
        }
    }

    #[test]
    fn a_word_of_a_query_begins_a_word_of_the_name() {
        assert_found(
            "José Ángel Pérez",
            &["jose", "PEREZ", "per", "p", "angel jo", "perez, josé", "Pérez"],
            &["erez", "jose maria", "josep", "perezz"],
        );
        let long = "One Two Three Four Five Six Seven Eight Nine";
        assert_found(long, &["one", "eight", "seven eight"], &["nine", "eight nine"]);
    }

    #[test]
    fn umlauts_are_found_plain_and_expanded() {
        let spellings = ["müller", "MÜLLER", "muller", "mueller", "mu", "mü", "mue", "muell"];
        assert_found("Jörg Müller", &spellings, &["moller", "muler"]);
        assert_found("Jörg Müller", &["jorg muller", "joerg mueller", "joerg muller"], &[]);
        assert_found("Joerg Mueller", &["müller", "mueller", "jörg"], &["muller"]);
        assert_found("Jorg Muller", &["müller", "muller", "jörg"], &["mueller"]);
        assert_found("Weiß Bjørn Ægir", &["weiss", "WEISS", "weiß", "bjorn", "aegir"], &["wei s"]);
    }

    #[test]
    fn hyphens_apostrophes_and_dots_split_and_join() {
        for name in ["Jean-Luc Picard", "Jean‐Luc Picard"] {
            assert_found(
                name,
                &["jean", "luc", "jeanluc", "jean-luc", "jean luc", "jean-l", "luc-jean"],
                &[],
            );
        }
        assert_found("Jean Luc Picard", &["jean-luc", "jean–luc", "luc"], &["jeanluc"]);
        assert_found("Jeanluc Picard", &["jean-luc", "jean-l", "jeanluc"], &["luc", "luc-jean"]);
        for name in ["O'Brien", "O’Brien", "O´Brien", "OʼBrien", "O`Brien"] {
            assert_found(name, &["o'brien", "o’brien", "obrien", "o brien", "brien", "O'B"], &["rien"]);
        }
        assert_found("Obrien", &["o'brien", "obrien"], &["brien"]);
        assert_found("Hans-Jürgen Lüdenscheidt", &["hansjuergen", "hans-jürgen", "jurgen", "luedens"], &[]);
        assert_found("J.R.R. Tolkien", &["jrr", "j.r.r.", "j tolkien", "j. tolkien"], &["jr.s"]);
        assert_found("\"Jane\" (Doe)", &["'jane'", "\"jane doe\"", "“doe”"], &[]);
    }

    #[test]
    fn names_in_many_scripts_are_found() {
        assert_found("İbrahim Işık", &["ibrahim", "IBRAHIM", "ışık", "isik", "IŞIK", "işik"], &[]);
        assert_found("Γιώργος Παπαδόπουλος", &["γιωργος", "ΓΙΩΡΓΟΣ", "Γιώργο", "παπαδοπουλοσ"], &["οσ"]);
        assert_found("Семён Щукин", &["семен", "СЕМЁН", "щук"], &["shchukin"]);
        assert_found("أحمد محـمّد", &["احمد", "أحمد", "آحمد", "ٱحمد", "محمد", "مُحَ"], &["حمد"]);
        assert_found("שָׁלוֹם בן־גוריון", &["שלום", "בן גוריון", "בן־גוריון", "ב"], &[]);
        assert_found("Nguyễn Thị Đặng", &["nguyen", "nguyễn", "NGUYỄN", "dang", "đặng"], &["guyen"]);
        assert_found("김철수", &["김", "김철", "김철수", "기", "ㄱ", "철수", "철", "처"], &["수", "김수"]);
        assert_found("남궁민수", &["남궁", "민수", "남궁민수"], &["수"]);
        assert_found("허준", &["허", "준", "허준"], &["주누"]);
        assert_found("김 철수", &["김", "철수", "철수 김"], &["수"]);
        assert_found("김빛나리", &["빛나리", "김빛"], &["리"]);
        assert_found("홍길동 (Gildong Hong)", &["길동", "홍", "hong gildong"], &["동"]);
        assert_found("김 빛나리", &["빛나리"], &["리"]);
        assert_found("Ｊａｎｅ Ｄｏｅ", &["jane", "ｄｏｅ"], &[]);
        assert_found("Oﬃce Ǆ", &["office", "dz", "oﬃ"], &[]);
    }

    #[test]
    fn each_character_of_han_and_kana_begins_a_word() {
        for name in ["田中太郎", "田中 太郎", "田中　太郎"] {
            assert_found(
                name,
                &["田中", "太郎", "郎", "中", "田中太郎", "田中 太郎", "太郎 田中", "田中太"],
                &["太田"],
            );
        }
        assert_found("山田 はなこ", &["はなこ", "なこ", "山田はな", "田"], &["ハナコ", "hanako"]);
        assert_found(
            "ﾏｲｹﾙ・ｼﾞｬｸｿﾝ",
            &["マイケル", "ジャクソン", "ｼﾞｬｸ", "ソン", "マイケル・ジャクソン"],
            &["ケマ"],
        );
        assert_found("Tanaka田中", &["tanaka", "田中", "中", "tanaka田中", "田中tanaka"], &["anaka"]);
        assert_found("Tanaka 田中", &["tanaka田中"], &[]);
        assert_found("𠮷野家", &["𠮷野", "野家"], &[]);
    }

    #[test]
    fn a_word_of_a_query_begins_a_part_of_the_email_address() {
        let words = words("X", "Jane.Doe-Smith+rust@mail.My-Company.co.uk", "");
        for given in [
            "jane",
            "jane.doe",
            "janedoe",
            "doe",
            "smith",
            "rust",
            "mail",
            "mycomp",
            "my-company",
            "company",
            "co",
            "uk",
            "jane.doe-smith+rust@mail.my-company.co.uk",
            "JANE.DOE-SMITH+RUST@MAIL.MY-COMPANY.CO.UK",
            "jane@uk",
        ] {
            assert!(finds(given, &words), "{given}");
        }
        for given in ["doesmith", "ompany", "comm", "jane example"] {
            assert!(!finds(given, &words), "{given}");
        }
        let words = self::words("X", "jörg@müller.de", "");
        assert!(
            finds("joerg@mueller.de", &words) && finds("jorg muller", &words) && finds("jörg@mü", &words)
        );
        assert!(finds("户 公司 子", &self::words("X", "用户@例子.公司", "")));
        let labels = self::words("X", &format!("a@b.{}com", "c.".repeat(50)), "");
        assert!(finds("a b c com", &labels));
    }

    #[test]
    fn digits_match_the_end_of_the_phone_number() {
        let jane = words("Jane", "jane1815@example.com", "+14155552671");
        for given in [
            "671",
            "2671",
            "555-2671",
            "555 2671",
            "(415) 555-2671",
            "+1 (415) 555-2671",
            "+14155552671",
            "２６７１",
            "٢٦٧١",
            "२६७१",
            "001 415 555 2671",
            "0014155552671",
            "0415 5552671",
            "(0415) 555-2671",
            "+1 (0)415 555-2671",
            "tel:+1-415-555-2671",
            "\u{202A}+1 415 555 2671\u{202C}",
            "jane 04155552671",
            "jane 671",
            "671 2671",
            "jane1",
        ] {
            assert!(finds(given, &jane), "{given}");
        }
        for given in [
            "71",
            "1",
            "415",
            "4155552",
            "141555526711",
            "1762",
            "+1762",
            "671 267",
            "jane 555 2671",
            "1815",
            "02671",
            "0671",
        ] {
            assert!(!finds(given, &jane), "{given}");
        }
        assert!(finds("181", &words("Jane", "1815jane@example.com", "+14155552671")), "an e-mail address");
    }

    #[test]
    fn queries_without_letters_and_digits_and_long_queries_are_rejected() {
        for given in ["", " ", "-", "'", "...", "🦀", "\u{301}", "\u{200D}", "\u{3164}", "ـ", "()"] {
            let error = given.parse::<SearchQuery>().unwrap_err();
            assert_eq!(error, "must contain a letter or a digit", "{given:?}");
        }
        assert!("日".repeat(200).parse::<SearchQuery>().is_ok());
        let error = "a".repeat(201).parse::<SearchQuery>().unwrap_err();
        assert_eq!(error, "must be at most 200 characters");
    }

    #[test]
    fn the_longest_word_drives() {
        for (given, prefixes) in [
            ("jane", &["jane"][..]),
            ("jane m picard", &["picard"]),
            ("jane john", &["jane"]),
            ("Müller", &["muller", "mueller"]),
            ("Mü", &["mu"]),
            ("Jean-Luc", &["jean"]),
            ("Jo-Annabel", &["joannabel", "annabel"]),
            ("picards jo-annabel", &["picards"]),
            ("o'brien picard", &["picard"]),
            ("2671", &["+1762", "2671"]),
            ("+49 151 12345678", &["+87654321", "4915112345678", "12345678"]),
            ("0151 12345678", &["+87654321", "015112345678", "12345678"]),
            ("015112345678", &["+87654321151", "015112345678"]),
            ("71", &["71"]),
            ("example.com", &["example"]),
            ("田中 太郎丸", &["太郎丸"]),
        ] {
            assert_eq!(query(given).prefixes(IndexForm::NEWEST), prefixes, "{given}");
        }
        let all = query("Müller").prefixes(IndexForm::First);
        assert_eq!(all, ["muller", "mueller"]);
        assert_eq!(SearchQuery::prefixes_from(&all, "mueller"), ["mueller"]);
        assert_eq!(SearchQuery::prefixes_from(&all, "muller#9007199254740974"), ["muller", "mueller"]);
        for (given, prefixes) in
            [("करण", &["करण"][..]), ("किरण", &["करण", "किरण"]), ("Қасым", &["қасым", "касым"])]
        {
            assert_eq!(query(given).prefixes(IndexForm::First), prefixes, "{given}");
        }
        for (given, is_refined) in
            [("jane", false), ("Müller", false), ("671", false), ("jane d", true), ("jo-annabel", true)]
        {
            assert_eq!(query(given).is_refined(), is_refined, "{given}");
        }
        let driven: Vec<_> =
            (0..4).map(|driver| query("li christopher m müller").driven_by(driver)).collect();
        assert_eq!(driven[0].drivers(), 3);
        let prefixes =
            driven.iter().map(|query| query.prefixes(IndexForm::NEWEST).join(" ")).collect::<Vec<_>>();
        assert_eq!(prefixes, ["christopher", "muller mueller", "li", "christopher"]);
        let long = "x".repeat(200);
        assert_eq!(query(&long).prefixes(IndexForm::NEWEST), ["x".repeat(64)]);
        assert!(finds(&long, &named(&long)));
    }

    #[test]
    fn the_exact_word_comes_first_then_others_alphabetically_then_the_newest() {
        let mut index = Index::default();
        let names = ["Anna", "An Li", "Ana", "Bo Anna", "Zoë", "Anna An", "Änne", "An-Mei", "Anna-Ana"];
        for (id, name) in (1..).zip(names) {
            index.insert(id, IndexForm::NEWEST, &profile(name, "x@x.xx", ""));
        }
        let search = |given: &str| {
            let found = index.search(&query(given), IndexForm::NEWEST, 2);
            found.iter().map(|id| names[usize::try_from(*id).unwrap() - 1]).collect::<Vec<_>>()
        };
        assert_eq!(
            search("an"),
            ["An-Mei", "Anna An", "An Li", "Anna-Ana", "Ana", "Bo Anna", "Anna", "Änne"]
        );
        assert_eq!(search("anna"), ["Anna-Ana", "Anna An", "Bo Anna", "Anna"]);
        assert_eq!(search("änne"), ["Änne"]);
        assert_eq!(search("an anna"), ["Anna-Ana", "Anna An", "Bo Anna", "Anna"]);
        assert_eq!(search("bo an"), ["Bo Anna"]);
        assert_eq!(
            search("x"),
            ["Anna-Ana", "An-Mei", "Änne", "Anna An", "Zoë", "Bo Anna", "Ana", "An Li", "Anna"]
        );
        assert_eq!(search("y"), [""; 0]);
    }

    #[test]
    fn a_sort_key_contains_the_word_and_the_person() {
        let position = IndexPosition { word: "anna", id: Id::new(17).unwrap() };
        assert_eq!(position.to_string(), "anna#9007199254740974");
        assert_eq!(IndexPosition::parse("anna#9007199254740974"), Some(position));
        for malformed in ["anna", "anna#", "anna#x", "anna#9007199254740991", "anna#9007199254740992"] {
            assert_eq!(IndexPosition::parse(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn the_words_of_a_person_are_limited_and_the_most_useful_ones_are_kept() {
        let name = "Ä-Ö-Ü-äb-öb-üb B-ü C-ü D-ü E-ü F-ü G-ü H-ü I-ü";
        let all = words(name, "ü.ö.ä.jörg@ä.bü.cü.dü.eü", "+14155552671");
        assert_eq!(all.iter().count(), SearchWords::MAX);
        for given in
            ["aouabobub", "aeoeueaeboebueb", "hu", "hü", "671", "uoajorg", "ä", "bü", "cue", "dü", "eue"]
        {
            assert!(finds(given, &all), "{given}");
        }
        let han: String = ('一'..='龥').take(100).collect();
        let han = words(&han, "jane.doe@example.com", "+14155552671");
        assert_eq!(han.iter().count(), SearchWords::MAX);
        assert!(finds("一丁丂 丂七 janedoe example com 671", &han));
        let tags = Tags::of((0..Tags::MAX).filter_map(|tag| Text::parse(&tag.to_string()).unwrap()));
        let tagged = Profile { tags, ..profile(name, "ü.ö.ä.jörg@bücher.example", "+14155552671") };
        let tagged = SearchWords::of(&tagged, IndexForm::NEWEST);
        assert_eq!(tagged.iter().count() + Tags::MAX, SearchWords::MAX_WITH_TAGS);
        for given in ["aouabobub", "aeoeueaeboebueb", "hu", "hue", "671", "uoajorg", "bücher", "example"] {
            assert!(finds(given, &tagged), "{given}");
        }
        let typical = words("Jane Doe", "jane.doe@example.com", "+14155552671");
        let typical: Vec<_> = typical.iter().collect();
        assert_eq!(typical, ["+17625555141", "com", "doe", "example", "jane", "janedoe"]);
        let stored = serde_json::to_string(&named("Jane Müller")).unwrap();
        assert_eq!(stored, r#"["jane","mueller","muller","x","xx"]"#);
        assert_eq!(serde_json::from_str::<SearchWords>(&stored).unwrap(), named("Jane Müller"));
    }

    /// Names in which words, parts and prefixes often coincide.
    fn similar_names() -> impl Strategy<Value = Vec<(String, IndexForm)>> {
        let name = "[abüøばは田中1]{1,3}([ '-][abüəは田中1]{1,3}){0,2}";
        proptest::collection::vec((name, proptest::sample::select(&IndexForm::ALL[..])), 1..12)
    }

    proptest! {
        #[test]
        fn the_words_of_any_person_are_limited(
            name in "(?s).{0,100}\\PC{0,100}",
            local in "[a-zäöü0-9.!'_+-]{0,30}[a-z田中]",
            labels in "([a-zäöü-]{1,9}\\.){1,30}com",
            phone in "\\+[1-9][0-9]{6,14}",
        ) {
            let (name, email) = (Name::parse(&name), format!("{local}@{labels}").parse());
            if let (Ok(Some(name)), Ok(email), Ok(phone)) = (name, email, phone.parse()) {
                let words = SearchWords::of(&Profile { phone: Some(phone), ..Profile::new(name, email) }, IndexForm::NEWEST);
                prop_assert!((1..=SearchWords::MAX).contains(&words.iter().count()));
                for word in words.iter() {
                    prop_assert!((1..=64).contains(&word.chars().count()));
                    let is_phone = word.strip_prefix('+').is_some_and(|rest| rest.parse::<u64>().is_ok());
                    let is_letter = |c: char| c.is_alphanumeric() || is_combining_mark(c);
                    prop_assert!(is_phone || word.chars().all(is_letter), "{word}");
                    let position = IndexPosition { word, id: Id::LAST };
                    prop_assert!(position.to_string().len() <= 1_024);
                }
            }
        }

        #[test]
        fn any_beginning_of_a_name_in_any_case_finds_it(
            name in "[\\p{L}\\p{M}0-9٠-٩０-９'.-]{1,12}( [\\p{L}\\p{M}0-9٠-٩０-９'.-]{1,12}){0,3}",
            length in 1usize..52,
        ) {
            // The iota subscript is a mark in lower case and a letter in upper case.
            let has_iota_subscript = name.nfkd().any(|c| c == '\u{345}');
            // A letter and its sign are typed as one, as in は and ば.
            let name: String = name.nfc().collect();
            let folded = Folded::both(&name, IndexForm::NEWEST);
            let indexed = folded[0].words().count() <= SearchWords::NAME_WORDS;
            if let (Ok(Some(_)), true, true) = (Name::parse(&name), indexed, !has_iota_subscript) {
                let beginning: String = name.chars().take(length).collect();
                for given in [beginning.to_lowercase(), beginning.to_uppercase(), beginning] {
                    if let Ok(query) = given.parse::<SearchQuery>() {
                        prop_assert!(query.matches(&named(&name)), "{given} finds {name}");
                    }
                }
            }
        }

        #[test]
        fn any_three_or_more_last_digits_find_a_phone_number(
            phone in "\\+[1-9][0-9]{6,14}",
            digits in "[0-9]{1,15}",
        ) {
            let words = words("X", "x@x.xx", &phone);
            for from in 1..=phone.len() - 3 {
                prop_assert!(finds(&phone[from..], &words));
            }
            let ends = digits.len() >= 3 && phone.ends_with(dialled(&digits));
            prop_assert_eq!(finds(&digits, &words), ends);
        }

        #[test]
        fn a_query_is_valid_if_it_has_a_letter_or_a_digit(given in "\\PC{0,210}") {
            let parsed = given.parse::<SearchQuery>();
            let is_short = given.chars().count() <= 200;
            if given.chars().any(|c| c.is_ascii_alphanumeric()) {
                prop_assert_eq!(parsed.is_ok(), is_short);
            } else if given.is_ascii() {
                prop_assert!(parsed.is_err());
            }
        }

        #[test]
        fn the_index_lists_every_result_once_and_nobody_else(
            names in similar_names(),
            given in "[abcüeəば田1]{1,3}([ '-][abueはø中1]{1,3}){0,2}",
            page in 1usize..4,
        ) {
            let query = query(&given);
            let people: Vec<_> = names.iter().map(|(name, form)| (profile(name, "x@x.xx", ""), *form)).collect();
            let mut index = Index::default();
            for (id, (profile, form)) in (1..).zip(&people) {
                index.insert(id, *form, profile);
            }
            let found = (0..query.drivers()).map(|driver| {
                let mut found = index.search(&query.driven_by(driver), IndexForm::First, page);
                found.sort_unstable();
                found
            });
            let found: Vec<_> = found.collect();
            let matches = |profile, form| query.wording(form).matches(&SearchWords::of(profile, form));
            let expected = (1..).zip(&people).filter(|(_, (profile, form))| matches(profile, *form));
            let expected: Vec<_> = expected.map(|(id, _)| id).collect();
            prop_assert!(found.iter().all(|found| *found == expected), "{found:?} instead of {expected:?}");
        }

        #[test]
        fn prefixes_are_disjoint(given in "[abüeəは田1][abüeəを\u{3099}は田1]{0,3}([ '-][abüeøは中1]{1,4}){0,3}") {
            for oldest in IndexForm::ALL {
                let prefixes = query(&given).prefixes(oldest);
                prop_assert!((1..=12).contains(&prefixes.len()));
                for (place, prefix) in prefixes.iter().enumerate() {
                    let others = prefixes.iter().enumerate().filter(|(other, _)| *other != place);
                    prop_assert!(!others.into_iter().any(|(_, other)| other.starts_with(prefix)));
                }
            }
        }

        #[test]
        fn sort_keys_are_ordered_by_word_and_then_newest_first(
            one in "[a-c0é田]{1,4}", other in "[a-c0é田]{1,4}",
            id in 1..=Id::MAX, other_id in 1..=Id::MAX,
        ) {
            let (id, other_id) = (Id::new(id).unwrap(), Id::new(other_id).unwrap());
            let position = IndexPosition { word: &one, id };
            let key = position.to_string();
            prop_assert_eq!(IndexPosition::parse(&key), Some(position));
            let other_key = IndexPosition { word: &other, id: other_id }.to_string();
            prop_assert_eq!(key.cmp(&other_key), one.cmp(&other).then(other_id.cmp(&id)));
        }
    }
}
