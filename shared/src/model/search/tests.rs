use std::collections::BTreeMap;

use super::*;
use crate::model::{Name, Tags, Text};
use proptest::prelude::*;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

fn profile(name: &str, email: &str, phone: &str) -> Profile {
    let (name, email) = (Name::parse(name).unwrap().unwrap(), email.parse().unwrap());
    let stored: StrDeserializer<'_, ValueError> = phone.into_deserializer();
    let phone = (!phone.is_empty()).then(|| Phone::deserialize(stored).unwrap());
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
        assert_found(name, &["jean", "luc", "jeanluc", "jean-luc", "jean luc", "jean-l", "luc-jean"], &[]);
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
    assert!(finds("joerg@mueller.de", &words) && finds("jorg muller", &words) && finds("jörg@mü", &words));
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
    let driven: Vec<_> = (0..4).map(|driver| query("li christopher m müller").driven_by(driver)).collect();
    assert_eq!(driven[0].drivers(), 3);
    let prefixes = driven.iter().map(|query| query.prefixes(IndexForm::NEWEST).join(" ")).collect::<Vec<_>>();
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
    assert_eq!(search("an"), ["An-Mei", "Anna An", "An Li", "Anna-Ana", "Ana", "Bo Anna", "Anna", "Änne"]);
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
    for given in ["aouabobub", "aeoeueaeboebueb", "hu", "hü", "671", "uoajorg", "ä", "bü", "cue", "dü", "eue"]
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
