//! Mentions: members whom a text names with an `@`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::Member;
use crate::id::Id;

/// Whether a text has an `@` that begins a word, so that it may name somebody.
pub fn may_mention(text: &str) -> bool {
    beginnings(text).next().is_some()
}

/// What the members of an organization are called after an `@`, in lower case: by the full name or the mail address, or by the
/// first name or the local part of the address, if nobody else has it.
#[derive(Debug, Default)]
pub struct Handles(BTreeMap<String, Called>);

/// Who has a handle.
#[derive(Debug, Default)]
struct Called {
    /// The members with this full name or mail address.
    whole: BTreeSet<Id>,
    /// The members with this first name or local part.
    short: BTreeSet<Id>,
}

impl Called {
    /// The one member who has it.
    fn only(&self) -> Option<Id> {
        let called = if self.whole.is_empty() { &self.short } else { &self.whole };
        let mut called = called.iter();
        called.next().copied().filter(|_| called.next().is_none())
    }
}

impl Handles {
    /// The handles of these members.
    pub fn of(members: &[Member]) -> Self {
        let mut handles = Self::default();
        for member in members {
            let (name, address) = (member.name.as_str(), member.email.as_str());
            let first = name.split_whitespace().next().unwrap_or_default();
            let local = address.rsplit_once('@').map_or(address, |(local, _)| local);
            for whole in [name, address] {
                handles.called(whole).whole.insert(member.id);
            }
            for short in [first, local] {
                handles.called(short).short.insert(member.id);
            }
        }
        handles
    }

    fn called(&mut self, handle: &str) -> &mut Called {
        self.0.entry(handle.to_lowercase()).or_default()
    }

    /// Where a text names members. Of several handles at one place, the longest counts; one that several members have names
    /// nobody.
    pub fn find(&self, text: &str) -> Vec<(Range<usize>, Id)> {
        let mut found: Vec<(Range<usize>, Id)> = Vec::new();
        for at in beginnings(text) {
            let rest = &text[at + 1..];
            let lengths = self.0.iter().filter_map(|(handle, called)| Some((length(rest, handle)?, called)));
            let longest = lengths.max_by_key(|(length, _)| *length);
            if let Some((length, id)) = longest.and_then(|(length, called)| Some((length, called.only()?))) {
                found.push((at..at + 1 + length, id));
            }
        }
        found
    }
}

/// The positions of each `@` that begins a word. It does not within an address.
fn beginnings(text: &str) -> impl Iterator<Item = usize> {
    let is_inside = |letter: char| letter.is_alphanumeric() || "@._-+%/=&".contains(letter);
    text.match_indices('@')
        .filter(move |(at, _)| !text[..*at].chars().next_back().is_some_and(is_inside))
        .map(|(at, _)| at)
}

/// The length of a handle in lower case, if the text begins with it, and no longer word does.
fn length(text: &str, handle: &str) -> Option<usize> {
    let mut wanted = handle.chars();
    let mut length = 0;
    for letter in text.chars() {
        if wanted.as_str().is_empty() {
            break;
        }
        if letter.to_lowercase().any(|lower| wanted.next() != Some(lower)) {
            return None;
        }
        length += letter.len_utf8();
    }
    let mut after = text[length..].chars();
    let goes_on = match after.next() {
        Some('.' | '-' | '+' | '@') => after.next().is_some_and(char::is_alphanumeric),
        Some(letter) => letter.is_alphanumeric() || letter == '_',
        None => false,
    };
    (wanted.as_str().is_empty() && length > 0 && !goes_on).then_some(length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::Timestamp;
    use crate::model::{MemberRole, Name};

    fn members() -> Vec<Member> {
        let member = |(id, (name, email)): (u64, (&str, &str))| {
            let name = Name::parse(name).unwrap().unwrap();
            let (id, email) = (Id::new(id).unwrap(), email.parse().unwrap());
            Member::invited(id, email, name, MemberRole::Member, Timestamp::UNIX_EPOCH)
        };
        let people = [
            ("Ada Lovelace", "ada@acme.example"),
            ("Jo Smith", "jo.smith@acme.example"),
            ("Jo Smithson", "js@acme.example"),
            ("Émile Zola", "ez@acme.example"),
            ("Bo", "bo@acme.example"),
            ("Sam Hill", "one@acme.example"),
            ("Sam Hill", "two@acme.example"),
            ("Bo Jones", "bj@acme.example"),
        ];
        (1..).zip(people).map(member).collect()
    }

    /// The mentions in a text, as `words=member`.
    fn found(text: &str) -> Vec<String> {
        let found = Handles::of(&members()).find(text);
        found.into_iter().map(|(range, id)| format!("{}={id}", &text[range])).collect()
    }

    #[test]
    fn members_are_named_by_their_names_and_addresses() {
        for (text, expected) in [
            ("@Ada", vec!["@Ada=1"]),
            ("Ask @ada lovelace, or @ADA: @ada.", vec!["@ada lovelace=1", "@ADA=1", "@ada=1"]),
            (
                "(@ada) **@ada** \u{201c}@Ada's\u{201d} @ada\u{2019}s",
                vec!["@ada=1", "@ada=1", "@Ada=1", "@ada=1"],
            ),
            ("@ada@acme.example, @JS", vec!["@ada@acme.example=1", "@JS=3"]),
            ("@Jo Smith and @jo smithson", vec!["@Jo Smith=2", "@jo smithson=3"]),
            ("@jo.smith.", vec!["@jo.smith=2"]),
            ("@émile @ÉMILE ZOLA", vec!["@émile=4", "@ÉMILE ZOLA=4"]),
            // The full name counts before a first name.
            ("@Bo @Bo Jones", vec!["@Bo=5", "@Bo Jones=8"]),
            ("@two", vec!["@two=7"]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn nobody_else_is_named() {
        for text in [
            "ada",
            "a@ada",
            "me@acme.example",
            "https://x.example/@ada",
            "@@ada",
            "@adam @ada_l @ada-lena @ada.l",
            "@ ada",
            "@",
            "@jo",
            "@Sam @Sam Hill",
            "@acme",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn the_members_are_needed_only_for_an_at_sign_that_begins_a_word() {
        assert!(may_mention("@x") && may_mention("(@") && may_mention("a\n@"));
        assert!(!may_mention("") && !may_mention("ada@acme.example") && !may_mention("x.@y"));
    }

    proptest! {
        #[test]
        fn every_mention_is_a_part_of_the_text(text in "(@|ada|Ada Lovelace|jo|[ .İß'@-]|\\PC){0,40}") {
            let found = Handles::of(&members()).find(&text);
            prop_assert!(found.iter().all(|(range, _)| text[range.clone()].starts_with('@')));
            prop_assert!(found.is_sorted_by(|(one, _), (next, _)| one.end <= next.start));
        }
    }
}
