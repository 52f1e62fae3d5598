//! The folding of text, so that text that people consider equal compares as equal.
//!
//! There are two degrees. [`CaseFolded`] ignores only case and the encoding of characters. [`Folded`] also ignores
//! marks and punctuation, and divides text into words; searches use it.

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Text without case: `Émile` equals `ÉMILE` in any encoding, but not `Emile`.
///
/// This is canonical caseless matching (The Unicode Standard, section 3.13), in NFC.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CaseFolded(String);

impl CaseFolded {
    /// Folds text.
    pub fn of(text: &str) -> Self {
        Self(text.nfd().flat_map(case_folded).nfc().collect())
    }

    /// The folded text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How the umlauts of `a`, `o` and `u` are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Umlauts {
    /// They are dropped, like other marks: `Müller` is `muller`.
    Plain,
    /// Each is followed by `e`, as in German without umlauts: `Müller` is `mueller`.
    Expanded,
}

/// Text without case, marks and punctuation.
///
/// It consists of letters and digits in lower case, hyphens and spaces. A space separates words. A hyphen is inside a
/// word, and stands for a hyphen, an apostrophe or a dot, or for the change between Han or kana and another script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folded(String);

/// A word of folded text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word<'f>(&'f str);

impl Folded {
    /// Folds text.
    pub(super) fn of(text: &str, umlauts: Umlauts) -> Self {
        let mut folded = String::with_capacity(text.len());
        for c in text.chars().map(legible).nfkd() {
            match c {
                '\u{308}' if umlauts == Umlauts::Expanded && folded.ends_with(['a', 'o', 'u']) => {
                    folded.push('e');
                }
                c if is_combining_mark(c) || is_invisible(c) => {}
                c if joins_parts(c) => folded.push('-'),
                c if c.is_alphanumeric() => case_folded(c).for_each(|c| push_letter(&mut folded, c)),
                _ => folded.push(' '),
            }
        }
        Self(folded)
    }

    /// Folds text in both ways, plain first.
    pub(super) fn both(text: &str) -> [Self; 2] {
        [Umlauts::Plain, Umlauts::Expanded].map(|umlauts| Self::of(text, umlauts))
    }

    /// The words.
    pub(super) fn words(&self) -> impl Iterator<Item = Word<'_>> {
        self.0.split(' ').map(|word| Word(word.trim_matches('-'))).filter(|word| !word.0.is_empty())
    }

    /// The whole text as one word.
    pub(super) fn joined(&self) -> String {
        self.0.replace(['-', ' '], "")
    }

    /// Whether the text has no letters.
    pub(super) fn is_number(&self) -> bool {
        self.0.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | ' '))
    }
}

impl<'f> Word<'f> {
    /// The parts between the hyphens.
    pub(super) fn parts(self) -> impl Iterator<Item = &'f str> {
        self.0.split('-').filter(|part| !part.is_empty())
    }

    /// The word without hyphens.
    pub(super) fn joined(self) -> String {
        self.0.replace('-', "")
    }

    /// Whether Han and kana continue from this word to the next one. A space there has no meaning: 田中 太郎 is also
    /// written 田中太郎.
    pub(super) fn continues_in(self, next: Self) -> bool {
        self.0.ends_with(is_han_or_kana) && next.0.starts_with(is_han_or_kana)
    }
}

/// Whether a character belongs to a script without spaces between words.
pub(super) const fn is_han_or_kana(c: char) -> bool {
    matches!(
        c,
        '\u{3005}'..='\u{3007}'
            | '\u{3021}'..='\u{3029}'
            | '\u{3038}'..='\u{303C}'
            | '\u{3041}'..='\u{3096}'
            | '\u{309D}'..='\u{309F}'
            | '\u{30A1}'..='\u{30FA}'
            | '\u{30FC}'..='\u{30FF}'
            | '\u{31F0}'..='\u{31FF}'
            | '\u{3400}'..='\u{4DBF}'
            | '\u{4E00}'..='\u{9FFF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{1AFF0}'..='\u{1B16F}'
            | '\u{20000}'..='\u{3FFFD}'
    )
}

/// The full case folding of a character. Lower case alone keeps `ß` and `ς`. Only `ı` has the same upper case as
/// another letter without being equal to it.
fn case_folded(c: char) -> impl Iterator<Item = char> {
    let folded = c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    folded.map(move |folded| if c == 'ı' { c } else { folded })
}

/// Appends a letter or digit in lower case. Letters that differ from a basic letter in more than a mark have no
/// decomposition in Unicode.
fn push_letter(folded: &mut String, letter: char) {
    let previous = folded.chars().next_back().filter(|previous| previous.is_alphanumeric());
    if previous.is_some_and(|previous| is_han_or_kana(previous) != is_han_or_kana(letter)) {
        folded.push('-');
    }
    match letter {
        'æ' => folded.push_str("ae"),
        'œ' => folded.push_str("oe"),
        'þ' => folded.push_str("th"),
        'ø' => folded.push('o'),
        'ł' => folded.push('l'),
        'đ' | 'ð' => folded.push('d'),
        'ħ' => folded.push('h'),
        'ı' => folded.push('i'),
        'ŧ' => folded.push('t'),
        // Forms of the Arabic letter alef.
        '\u{671}'..='\u{673}' | '\u{870}'..='\u{882}' => folded.push('\u{627}'),
        letter => folded.push(letter),
    }
}

/// Replaces accents that people type as apostrophes. Unicode decomposes them into a space and a mark.
const fn legible(c: char) -> char {
    if matches!(c, '\u{B4}' | '\u{1FFD}') { '\'' } else { c }
}

/// Whether a character both separates and joins the parts of a word: hyphens, apostrophes, and the punctuation in
/// e-mail addresses and initials.
const fn joins_parts(c: char) -> bool {
    matches!(
        c,
        '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{5BE}' | '\u{30A0}'
            | '\'' | '`' | '\u{2018}'..='\u{201B}' | '\u{2032}' | '\u{2B9}'..='\u{2BF}'
            | '\u{A78B}' | '\u{A78C}' | '\u{5F3}' | '\u{5F4}' | '\u{B7}' | '.' | '_' | '+'
    )
}

/// Whether a character is not visible or, like the Arabic tatweel, only makes a word longer.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{AD}' | '\u{61C}' | '\u{640}' | '\u{115F}' | '\u{1160}' | '\u{180E}'
            | '\u{200C}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{206F}' | '\u{FEFF}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(text: &str) -> String {
        Folded::of(text, Umlauts::Plain).0
    }

    fn expanded(text: &str) -> String {
        Folded::of(text, Umlauts::Expanded).0
    }

    #[test]
    fn names_in_many_scripts_are_folded() {
        for (given, folded) in [
            // Latin, with marks, ligatures and letters without a decomposition.
            ("José Ángel", "jose angel"),
            ("Jose\u{301}", "jose"),
            ("Åse Bjørnæs", "ase bjornaes"),
            ("Łukasz Žižek", "lukasz zizek"),
            ("Þóra Sigurðardóttir", "thora sigurdardottir"),
            ("STRAẞE Weiß", "strasse weiss"),
            ("Sœur ﬁﬂ Ĳ Ǆ", "soeur fifl ij dz"),
            ("Ħal Ŧ", "hal t"),
            ("Nguyễn Đình Ðức", "nguyen dinh duc"),
            ("ĐẶNG Hồng Nhung", "dang hong nhung"),
            // Turkish i with and without a dot.
            ("İbrahim IŞIK", "ibrahim isik"),
            ("ibrahim ışık", "ibrahim isik"),
            // The final form of the Greek sigma.
            ("Γιώργος", "γιωργοσ"),
            ("ΓΙΏΡΓΟΣ", "γιωργοσ"),
            // Cyrillic.
            ("Семён Йовович", "семен иовович"),
            ("ЩУКИНА", "щукина"),
            // Alef forms, tatweel, vowel points, presentation forms and invisible characters in Arabic.
            ("أحمد إبراهيم آمنة ٱلله", "احمد ابراهيم امنة الله"),
            ("مُحَمَّد", "محمد"),
            ("محـــمد", "محمد"),
            ("\u{FEFB}", "لا"),
            ("علی\u{200C}رضا", "علیرضا"),
            // Hebrew points and punctuation.
            ("שָׁלוֹם", "שלום"),
            ("בן־גוריון", "בן-גוריון"),
            ("ז׳בוטינסקי", "ז-בוטינסקי"),
            // Chinese and Japanese.
            ("田中 太郎", "田中 太郎"),
            ("佐々木", "佐々木"),
            ("ﾀﾅｶ", "タナカ"),
            ("ﾏｲｹﾙ・ｼﾞｬｸｿﾝ", "マイケル シャクソン"),
            ("ガード", "カート"),
            ("ｶﾞ", "カ"),
            ("田中John2世", "田中-john2-世"),
            ("\u{F9DC}", "隆"),
            // Full-width and other compatibility forms.
            ("Ｊａｎｅ　１２３", "jane 123"),
            ("①②", "12"),
            // Hyphens, apostrophes and other punctuation.
            ("Jean-Luc Jean‑Luc Jean－Luc", "jean-luc jean-luc jean-luc"),
            ("O'Brien O’Brien O´Brien Oʼbrien", "o-brien o-brien o-brien o-brien"),
            ("ʿAlī", "-ali"),
            ("J.R.R. Tolkien", "j-r-r- tolkien"),
            ("jane_doe+rust", "jane-doe-rust"),
            ("Doe, Jane (she/her) 🦀", "doe  jane  she her   "),
            ("Wei\u{AD}ß\u{FEFF}", "weiss"),
            ("\u{3164}\u{200E}\u{301}", ""),
        ] {
            assert_eq!(plain(given), folded, "{given}");
        }
    }

    #[test]
    fn korean_syllables_are_letters() {
        assert_eq!(plain("김"), "\u{1100}\u{1175}\u{11B7}");
        assert!(plain("김철수").starts_with(&plain("김처")));
        assert!(plain("김").starts_with(&plain("ㄱ")));
        assert_eq!(plain("ﾡ"), plain("ㄱ"));
    }

    #[test]
    fn umlauts_are_plain_or_expanded() {
        for (given, umlauts_plain, umlauts_expanded) in [
            ("Müller", "muller", "mueller"),
            ("MU\u{308}LLER", "muller", "mueller"),
            ("Jäger-Schönöl", "jager-schonol", "jaeger-schoenoel"),
            ("Zoë Citroën", "zoe citroen", "zoe citroen"),
            ("Семён", "семен", "семен"),
            ("Mueller", "mueller", "mueller"),
            ("u ¨", "u  ", "u  "),
        ] {
            assert_eq!((plain(given), expanded(given)), (umlauts_plain.into(), umlauts_expanded.into()));
        }
    }

    #[test]
    fn text_is_divided_into_words_and_parts() {
        let folded = Folded::of(" - Jean--Luc'  O ’", Umlauts::Plain);
        let words: Vec<Vec<_>> = folded.words().map(|word| word.parts().collect()).collect();
        assert_eq!(words, [vec!["jean", "luc"], vec!["o"]]);
        let joined: Vec<_> = folded.words().map(Word::joined).collect();
        assert_eq!(
            (joined, folded.joined().as_str()),
            (vec!["jeanluc".to_owned(), "o".to_owned()], "jeanluco")
        );
        for (text, is_number) in
            [("+1 (415) 555-2671", true), ("４１５", true), ("415a", false), ("٤١٥", false)]
        {
            assert_eq!(Folded::of(text, Umlauts::Plain).is_number(), is_number, "{text}");
        }
    }

    #[test]
    fn case_folding_ignores_case_and_encoding_only() {
        for (one, other) in [
            ("LinkedIn", "LINKEDIN"),
            ("Straße", "STRASSE"),
            ("STRAẞE", "strasse"),
            ("Émile", "e\u{301}mile"),
            ("ΌΔΟΣ", "όδος"),
            ("Їжак", "ЇЖАК"),
            ("ŉ", "ʼN"),
            ("ᾳ", "ΑΙ"),
        ] {
            assert_eq!(CaseFolded::of(one), CaseFolded::of(other), "{one}");
        }
        for (one, other) in
            [("Émile", "Emile"), ("on-site", "onsite"), ("ı", "i"), ("İ", "i"), ("ＡＢ", "ab"), ("か", "が")]
        {
            assert_ne!(CaseFolded::of(one), CaseFolded::of(other), "{one}");
        }
        assert_eq!(CaseFolded::of("E\u{301}mile").as_str(), "émile");
    }

    /// The letter with this mark has a capital form without a mark, so dropping marks cannot keep them equal.
    const IOTA_SUBSCRIPT: char = '\u{345}';

    #[test]
    fn every_character_folds_like_its_other_cases() {
        for c in ('\0'..='\u{1FFFF}').filter(|c| !c.nfkd().any(|c| c == IOTA_SUBSCRIPT)) {
            let given = c.to_string();
            let (lower, upper) = (given.to_lowercase(), given.to_uppercase());
            let once = plain(&given);
            assert_eq!(plain(&once), once, "{c:?}");
            assert_eq!((plain(&lower), plain(&upper)), (once.clone(), once), "{c:?}");
            if !matches!(c, 'ı' | 'İ') {
                let once = CaseFolded::of(&given);
                assert_eq!((CaseFolded::of(&lower), CaseFolded::of(&upper)), (once.clone(), once), "{c:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn folded_text_has_no_case_no_marks_and_no_punctuation(given in "(?s).{0,40}") {
            for folded in Folded::both(&given) {
                prop_assert!(folded.0.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | ' ')));
                prop_assert!(!folded.0.chars().any(is_combining_mark));
                prop_assert_eq!(plain(&folded.0), folded.0);
            }
        }

        #[test]
        fn both_ways_of_folding_give_the_same_parts(given in "[aouäöüÄÖÜs '-]{0,20}") {
            let [one, other] = Folded::both(&given);
            let parts = |folded: &Folded| folded.words().map(|word| word.parts().count()).collect::<Vec<_>>();
            prop_assert_eq!(parts(&one), parts(&other));
        }

        #[test]
        fn the_encoding_makes_no_difference(given in "(?s).{0,20}") {
            let (composed, decomposed): (String, String) = (given.nfc().collect(), given.nfd().collect());
            prop_assert_eq!(expanded(&composed), expanded(&decomposed));
            prop_assert_eq!(CaseFolded::of(&composed), CaseFolded::of(&decomposed));
            let once = CaseFolded::of(&given);
            prop_assert_eq!(CaseFolded::of(once.as_str()), once);
        }
    }
}
