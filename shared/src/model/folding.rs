//! The folding of text, so that text that people consider equal compares as equal.
//!
//! There are two degrees. [`CaseFolded`] ignores only case and the encoding of characters. [`Folded`] also ignores
//! punctuation and what people leave out when they type a name, and divides text into words; searches use it. Two people
//! who are taken for one are worse than a name that is not found, so it ignores nothing that tells names apart.

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, decompose_canonical, is_combining_mark};

use super::index_form::IndexForm;

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

/// Which spelling is given to the letters that people write in two ways without their marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// The basic letter alone, as for other marks: `Müller` is `muller`, `Đurđa` is `durda`.
    Plain,
    /// Two letters, as in passports: `Müller` is `mueller`, `Bjørn` is `bjoern`, `Åse` is `aase`, `Đurđa` is `djurdja`.
    Expanded,
}

/// Text without case, marks and punctuation.
///
/// It consists of letters and digits in lower case, hyphens and spaces, and of the signs that are letters in all but name: the
/// vowel signs of abugidas. A space separates words. A hyphen is inside a word, and stands for a hyphen, an apostrophe or a
/// dot, or for the change between Han or kana and another script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folded(String);

/// A word of folded text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word<'f>(&'f str);

impl Folded {
    /// Folds text.
    pub(super) fn of(text: &str, form: IndexForm, spelling: Spelling) -> Self {
        let decomposed = text.chars().map(|c| legible(c, form)).nfkd();
        match form {
            IndexForm::First => Self(folded(decomposed, form, spelling)),
            IndexForm::Second => {
                let lower: String = decomposed.flat_map(lower).collect();
                Self(recomposed(&folded(in_one_encoding(lower).chars(), form, spelling)))
            }
        }
    }

    /// Folds text in both spellings, plain first.
    pub(super) fn both(text: &str, form: IndexForm) -> [Self; 2] {
        [Spelling::Plain, Spelling::Expanded].map(|spelling| Self::of(text, form, spelling))
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

    /// The rest of the word from each Hangul syllable on. Empty if it has other letters.
    pub(super) fn rest_at_each_syllable(self) -> Vec<&'f str> {
        if !self.0.chars().all(|c| ('\u{1100}'..='\u{11FF}').contains(&c)) {
            return Vec::new();
        }
        let syllables = self.0.char_indices().filter(|(_, c)| ('\u{1100}'..='\u{115E}').contains(c));
        syllables.map(|(at, _)| &self.0[at..]).collect()
    }

    /// Whether Han and kana continue from this word to the next one. A space there has no meaning: 田中 太郎 is also
    /// written 田中太郎.
    pub(super) fn continues_in(self, next: Self) -> bool {
        self.0.ends_with(is_han_or_kana) && next.0.starts_with(is_han_or_kana)
    }
}

/// Folds decomposed text, whose order of marks is canonical.
fn folded(decomposed: impl Iterator<Item = char>, form: IndexForm, spelling: Spelling) -> String {
    let mut folded = String::new();
    for c in decomposed {
        match c {
            '\u{308}' if spelling == Spelling::Expanded && folded.ends_with(['a', 'o', 'u']) => {
                folded.push('e');
            }
            '\u{30A}' if has_ring_spelling(form, spelling) && folded.ends_with('a') => folded.push('a'),
            c if is_invisible(c) || is_dropped(c, form) => {}
            // A sign that is a letter follows another letter.
            c if is_combining_mark(c) => {
                if !folded.is_empty() && !folded.ends_with(['-', ' ']) {
                    folded.push(c);
                }
            }
            c if joins_parts(c) => folded.push('-'),
            c if c.is_alphanumeric() => {
                case_folded(c).for_each(|c| push_letter(&mut folded, c, form, spelling));
            }
            _ => folded.push(' '),
        }
    }
    folded
}

fn has_ring_spelling(form: IndexForm, spelling: Spelling) -> bool {
    form == IndexForm::Second && spelling == Spelling::Expanded
}

/// Whether a mark is dropped. In alphabets, letters are the same without it. In abugidas, the marks are the vowels, and
/// people who share only their consonants have different names; the only mark there that is dropped is the nukta, which
/// turns a letter into a related one and is often left out.
fn is_dropped(c: char, form: IndexForm) -> bool {
    match form {
        IndexForm::First => is_combining_mark(c),
        IndexForm::Second => is_mark_of_alphabet(c) || is_nukta(c),
    }
}

const fn is_mark_of_alphabet(c: char) -> bool {
    matches!(
        c,
        // Latin, Greek, Cyrillic and others, with what encloses a letter.
        '\u{300}'..='\u{36F}' | '\u{483}'..='\u{489}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}'
            | '\u{20D0}'..='\u{20FF}' | '\u{2DE0}'..='\u{2DFF}' | '\u{A66F}'..='\u{A672}'
            | '\u{A674}'..='\u{A67D}' | '\u{A69E}' | '\u{A69F}' | '\u{FE20}'..='\u{FE2F}'
            // Hebrew points.
            | '\u{591}'..='\u{5BD}' | '\u{5BF}' | '\u{5C1}' | '\u{5C2}' | '\u{5C4}' | '\u{5C5}' | '\u{5C7}' | '\u{FB1E}'
            // Arabic and Syriac signs.
            | '\u{610}'..='\u{61A}' | '\u{64B}'..='\u{65F}' | '\u{670}' | '\u{6D6}'..='\u{6ED}' | '\u{711}'
            | '\u{730}'..='\u{74A}' | '\u{897}'..='\u{89F}' | '\u{8CA}'..='\u{8FF}' | '\u{10EFC}'..='\u{10EFF}'
            // Tone marks beside Han and Hangul.
            | '\u{302A}'..='\u{302F}'
            // Selectors of variants.
            | '\u{180B}'..='\u{180D}' | '\u{180F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}'
    )
}

fn is_nukta(c: char) -> bool {
    // The Burmese dot below has the same class, but is a tone.
    canonical_combining_class(c) == 7 && c != '\u{1037}'
}

/// Replaces what is written with different characters that look the same, or that one letter is capitalized to. The text is
/// decomposed and in lower case.
fn in_one_encoding(text: String) -> String {
    const ENCODINGS: &[(&str, &str)] = &[
        // Armenian և, whose capitals are today ԵՎ.
        ("\u{565}\u{582}", "\u{565}\u{57E}"),
        // Malayalam chillus and the Bengali khanda ta before they had characters of their own, with a joiner.
        ("\u{D23}\u{D4D}\u{200D}", "\u{D7A}"),
        ("\u{D28}\u{D4D}\u{200D}", "\u{D7B}"),
        ("\u{D30}\u{D4D}\u{200D}", "\u{D7C}"),
        ("\u{D32}\u{D4D}\u{200D}", "\u{D7D}"),
        ("\u{D33}\u{D4D}\u{200D}", "\u{D7E}"),
        ("\u{D15}\u{D4D}\u{200D}", "\u{D7F}"),
        ("\u{9A4}\u{9CD}\u{200D}", "\u{9CE}"),
        // The Malayalam vowel au in the old and in the new orthography.
        ("\u{D46}\u{D57}", "\u{D57}"),
        // The Tamil syllable shri with either letter, and the Marathi vowel ae as a letter with a sign.
        ("\u{BB6}\u{BCD}\u{BB0}\u{BC0}", "\u{BB8}\u{BCD}\u{BB0}\u{BC0}"),
        ("\u{905}\u{945}", "\u{972}"),
        // Thai and Lao ae, typed as e twice.
        ("\u{E40}\u{E40}", "\u{E41}"),
        ("\u{EC0}\u{EC0}", "\u{EC1}"),
    ];
    if text.is_ascii() {
        return text;
    }
    ENCODINGS.iter().fold(text, |text, (one, other)| text.replace(one, other))
}

/// Composes letters with the signs that belong to them, so that は does not begin ば. Hangul syllables stay decomposed: the
/// first letters of one find it while it is typed.
fn recomposed(text: &str) -> String {
    let mut recomposed = String::with_capacity(text.len());
    for c in text.nfc() {
        match c {
            '\u{AC00}'..='\u{D7A3}' => decompose_canonical(c, |part| recomposed.push(part)),
            c => recomposed.push(c),
        }
    }
    recomposed
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

/// A character in lower case. A mark stays a mark: the iota subscript has a capital form that is a letter.
fn lower(c: char) -> impl Iterator<Item = char> {
    let mark = Some(c).filter(|c| is_combining_mark(*c));
    let others = case_folded(c).filter(move |_| mark.is_none());
    mark.into_iter().chain(others)
}

/// Appends a letter or digit in lower case.
fn push_letter(folded: &mut String, letter: char, form: IndexForm, spelling: Spelling) {
    let previous = folded.chars().next_back().filter(|previous| previous.is_alphanumeric());
    if previous.is_some_and(|previous| is_han_or_kana(previous) != is_han_or_kana(letter)) {
        folded.push('-');
    }
    match form {
        IndexForm::First => push_first(folded, letter),
        IndexForm::Second if letter.is_ascii() => folded.push(letter),
        IndexForm::Second => match plain(letter, spelling) {
            Some(letters) => folded.push_str(letters),
            None => folded.push(ascii_digit(letter).unwrap_or(letter)),
        },
    }
}

/// The letters of the first form. Letters that differ from a basic letter in more than a mark have no decomposition in
/// Unicode.
fn push_first(folded: &mut String, letter: char) {
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
        '\u{671}'..='\u{673}' | '\u{870}'..='\u{882}' => folded.push('\u{627}'),
        letter => folded.push(letter),
    }
}

/// The basic letters of a letter that has no decomposition in Unicode, because it differs in more than a mark: in a stroke,
/// a hook or a tail that is part of it, or in a form of its own.
fn plain(letter: char, spelling: Spelling) -> Option<&'static str> {
    const LETTERS: &[(&str, &str)] = &[
        // Latin.
        ("a", "ⱥɑᶏᶐ"),
        ("ae", "æ"),
        ("b", "ƀƃɓᵬᶀꞗ"),
        ("c", "ƈȼɕꞓꞔ"),
        ("d", "ðƌȡɖɗᵭᶁᶑꟈ"),
        ("e", "ɇɛᶒᶓⱸꬴ"),
        ("f", "ƒᵮᶂꞙ"),
        ("g", "ǥɠɡɣᶃꞡ"),
        ("h", "ħɦⱨꞕ"),
        ("i", "ıɨɩɪᵼᶖ"),
        ("j", "ɉȷɟʄʝ"),
        ("k", "ƙᶄⱪꝁꝃꝅꞣ"),
        ("l", "łƚȴɫɬɭᶅⱡꝉꞎꬷꬸꬹ"),
        ("m", "ɱᵯᶆꬺ"),
        ("n", "ƞȵɲɳᵰᶇꞑꞥꬻ"),
        ("o", "ɔɵᶗⱺꝋꝍꬿ"),
        ("oe", "œ"),
        ("p", "ƥᵱᵽᶈꝑꝓꝕ"),
        ("q", "ĸɋʠꝗꝙ"),
        ("r", "ɍɼɽɾᵲᵳᶉꞧꭉ"),
        ("s", "ȿʂᵴᶊꞩꟊ"),
        ("t", "ŧƫƭȶʈᵵⱦ"),
        ("th", "þ"),
        ("u", "ʉʊᵾᵿᶙꞹꭎꭒ"),
        ("v", "ʋᶌⱱⱴꝟ"),
        ("w", "ⱳ"),
        ("x", "ᶍꭖꭗꭘꭙ"),
        ("y", "ƴɏỿꭚ"),
        ("z", "ƶȥɀʐʑʒᵶᶎⱬ"),
        // Cyrillic.
        ("а", "ә"),
        ("г", "ґғҕӷӻ"),
        ("ж", "җ"),
        ("з", "ҙ"),
        ("и", "ҋ"),
        ("к", "қҝҟҡӄ"),
        ("л", "ӆԓԡԯ"),
        ("м", "ӎ"),
        ("н", "ңӈӊԣԩ"),
        ("нг", "ҥ"),
        ("о", "ө"),
        ("п", "ҧԥ"),
        ("р", "ҏ"),
        ("с", "ҫ"),
        ("т", "ҭꚋ"),
        ("у", "үұ"),
        ("х", "ҳӽӿ"),
        ("ч", "ҷҹӌ"),
        // Arabic: forms of alef, yeh, kaf and heh, which the keyboards of different languages write.
        ("\u{627}", "\u{671}\u{672}\u{673}"),
        ("\u{64A}", "\u{649}\u{6CC}"),
        ("\u{643}", "\u{6A9}"),
        ("\u{647}", "\u{629}\u{6BE}\u{6C1}\u{6D5}"),
        // Yiddish.
        ("\u{5D5}\u{5D5}", "\u{5F0}"),
        ("\u{5D5}\u{5D9}", "\u{5F1}"),
        ("\u{5D9}\u{5D9}", "\u{5F2}"),
    ];
    match (letter, spelling) {
        ('ø', Spelling::Plain) => Some("o"),
        ('ø', Spelling::Expanded) => Some("oe"),
        ('đ', Spelling::Plain) => Some("d"),
        ('đ', Spelling::Expanded) => Some("dj"),
        ('ŋ', Spelling::Plain) => Some("n"),
        ('ŋ', Spelling::Expanded) => Some("ng"),
        // In Azerbaijani, which people type as e, and sometimes as a.
        ('ə' | 'ǝ', Spelling::Plain) => Some("e"),
        ('ə' | 'ǝ', Spelling::Expanded) => Some("a"),
        ('\u{870}'..='\u{882}', _) => Some("\u{627}"),
        _ => LETTERS.iter().find(|(_, letters)| letters.contains(letter)).map(|(plain, _)| *plain),
    }
}

/// The ASCII digit for a decimal digit of any script.
fn ascii_digit(c: char) -> Option<char> {
    /// The zeros. The other digits of a script follow.
    const ZEROS: &str = "\u{660}\u{6F0}\u{7C0}\u{966}\u{9E6}\u{A66}\u{AE6}\u{B66}\u{BE6}\u{C66}\u{CE6}\u{D66}\u{DE6}\
        \u{E50}\u{ED0}\u{F20}\u{1040}\u{1090}\u{17E0}\u{1810}\u{1946}\u{19D0}\u{1A80}\u{1A90}\u{1B50}\u{1BB0}\
        \u{1C40}\u{1C50}\u{A620}\u{A8D0}\u{A900}\u{A9D0}\u{A9F0}\u{AA50}\u{ABF0}\u{104A0}\u{10D30}\u{10D40}\
        \u{11066}\u{110F0}\u{11136}\u{111D0}\u{112F0}\u{11450}\u{114D0}\u{11650}\u{116C0}\u{116D0}\u{116DA}\
        \u{11730}\u{118E0}\u{11950}\u{11BF0}\u{11C50}\u{11D50}\u{11DA0}\u{11DE0}\u{11F50}\u{16130}\u{16A60}\
        \u{16AC0}\u{16B50}\u{16D70}\u{1E140}\u{1E2F0}\u{1E4F0}\u{1E5F1}\u{1E950}";
    let value = ZEROS.chars().filter_map(|zero| u32::from(c).checked_sub(u32::from(zero))).min()?;
    char::from_digit(value, 10)
}

/// Replaces accents that people type as apostrophes, and voicing marks beside kana. Unicode decomposes them into a space and
/// a mark.
const fn legible(c: char, form: IndexForm) -> char {
    match (c, form) {
        ('\u{B4}' | '\u{1FFD}', _) => '\'',
        ('\u{309B}', IndexForm::Second) => '\u{3099}',
        ('\u{309C}', IndexForm::Second) => '\u{309A}',
        _ => c,
    }
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
        '\u{AD}' | '\u{61C}' | '\u{640}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180E}'
            | '\u{200C}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{206F}' | '\u{FEFF}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(text: &str) -> String {
        Folded::of(text, IndexForm::NEWEST, Spelling::Plain).0
    }

    fn expanded(text: &str) -> String {
        Folded::of(text, IndexForm::NEWEST, Spelling::Expanded).0
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
            ("أحمد إبراهيم آمنة ٱلله", "احمد ابراهيم امنه الله"),
            ("مُحَمَّد", "محمد"),
            ("محـــمد", "محمد"),
            ("\u{FEFB}", "لا"),
            ("علی\u{200C}رضا", "عليرضا"),
            // Hebrew points and punctuation.
            ("שָׁלוֹם", "שלום"),
            ("בן־גוריון", "בן-גוריון"),
            ("ז׳בוטינסקי", "ז-בוטינסקי"),
            // Chinese and Japanese.
            ("田中 太郎", "田中 太郎"),
            ("佐々木", "佐々木"),
            ("ﾀﾅｶ", "タナカ"),
            ("ﾏｲｹﾙ・ｼﾞｬｸｿﾝ", "マイケル ジャクソン"),
            ("カ\u{3099}ート\u{3099}", "ガード"),
            ("カ゛ ハ゜", "ガ パ"),
            ("ｶﾞ", "ガ"),
            ("田中John2世", "田中-john2-世"),
            ("\u{F9DC}", "隆"),
            // Abugidas keep their vowels and what takes a vowel away, but not the nukta.
            ("किरण शर्मा", "किरण शर्मा"),
            ("ज़ाकिर ज\u{93C}ाकिर", "जाकिर जाकिर"),
            ("শরৎ শরত\u{9CD}\u{200D} রায়", "শরৎ শরৎ রায"),
            ("கே\u{200C} ஶ்ரீதர் ஸ்ரீதர்", "கே ஸ்ரீதர் ஸ்ரீதர்"),
            ("अ\u{945}लन ॲलन", "ॲलन ॲलन"),
            ("හේ ශ්\u{200D}රී", "හේ ශ්රී"),
            ("രാജന\u{D4D}\u{200D} കൌശിക്", "രാജൻ കൗശിക്"),
            ("สมชาย แก้ว เเก้ว", "สมชาย แก้ว แก้ว"),
            ("ອານຸວົງ", "ອານຸວົງ"),
            ("အောင် ဇော့", "အောင် ဇော့"),
            ("សុខា ស\u{17B4}", "សុខា ស"),
            ("བསྟན་འཛིན", "བསྟན འཛིན"),
            ("\u{93F}क", "क"),
            // Letters whose stroke, hook or form is part of them.
            ("Kɔfi Ɛsi Ŋgũgĩ Ɓala Ƙyari", "kofi esi ngugi bala kyari"),
            ("Əli Ǝ", "eli e"),
            (
                "Ґонта Ғабит Қасым Ңұр Өмір Үміт Әсел Ҳасан Ҷамшед",
                "гонта габит касым нур омір уміт асел хасан чамшед",
            ),
            ("Գևորգ ԳԵՒՈՐԳ Գեւորգ ԳԵՎՈՐԳ", "գեվորգ գեվորգ գեվորգ գեվորգ"),
            // Arabic letters of different keyboards.
            ("علی علي على", "علي علي علي"),
            ("کریم كريم", "كريم كريم"),
            ("مصطفى حمزة", "مصطفي حمزه"),
            ("مصطفی حمزہ حمزۀ حمزۂ حمزە حمزھ", "مصطفي حمزه حمزه حمزه حمزه حمزه"),
            ("مؤمن رائد", "مومن رايد"),
            // Digits.
            ("१२३ ٤٥٦ ۴۵۶ ໑໒໓ 𑁧", "123 456 456 123 1"),
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
    fn letters_with_two_spellings_are_plain_or_expanded() {
        for (given, plain_spelling, expanded_spelling) in [
            ("Müller", "muller", "mueller"),
            ("MU\u{308}LLER", "muller", "mueller"),
            ("Jäger-Schönöl", "jager-schonol", "jaeger-schoenoel"),
            ("Zoë Citroën", "zoe citroen", "zoe citroen"),
            ("Bjørn ØSTERGÅRD", "bjorn ostergard", "bjoern oestergaard"),
            ("Åse A\u{30A}se Å", "ase ase a", "aase aase aa"),
            ("Đurđa ĐURĐA Djurdja", "durda durda djurdja", "djurdja djurdja djurdja"),
            ("Əhməd", "ehmed", "ahmad"),
            ("Ŋwa", "nwa", "ngwa"),
            ("Семён", "семен", "семен"),
            ("Mueller", "mueller", "mueller"),
            ("u ¨ ŮŽ", "u   uz", "u   uz"),
        ] {
            assert_eq!((plain(given), expanded(given)), (plain_spelling.into(), expanded_spelling.into()));
        }
    }

    /// What an entry of the first form contains is fixed.
    #[test]
    fn the_first_form_stays_as_it_was() {
        for (given, plain, expanded) in [
            ("करण किरण", "करण करण", "करण करण"),
            ("ダイキ ばは", "タイキ はは", "タイキ はは"),
            ("علی حمزة أحمد", "علی حمزة احمد", "علی حمزة احمد"),
            ("Müller Bjørn Åse Đurđa", "muller bjorn ase durda", "mueller bjorn ase durda"),
            ("Kɔfi Қасым Əli", "kɔfi қасым əli", "kɔfi қасым əli"),
            ("Գևորգ ԳԵՎՈՐԳ", "գեւորգ գեվորգ", "գեւորգ գեվորգ"),
            ("٤١٥ १२ 김", "٤١٥ १२ 김", "٤١٥ १२ 김"),
            ("สมชาย แก้ว ഃ", "สมชาย แกว ", "สมชาย แกว "),
        ] {
            let of = |spelling| Folded::of(given, IndexForm::First, spelling).0;
            let decomposed = |text: &str| text.nfd().collect::<String>();
            let of = [of(Spelling::Plain), of(Spelling::Expanded)].map(|text| decomposed(&text));
            assert_eq!(of, [plain, expanded].map(decomposed), "{given}");
        }
    }

    /// People with names like these are different people.
    #[test]
    fn different_names_stay_different() {
        for (one, other) in [
            ("करण", "किरण"),
            ("अमित", "अमृत"),
            ("अमिता", "अमृता"),
            ("কমল", "কমলা"),
            ("ਗੁਰਦੀਪ", "ਗੁਰਦਾਪ"),
            ("કિરણ", "કરણ"),
            ("ରମେଶ", "ରାମେଶ"),
            ("ரவி", "ரவீ"),
            ("రవి", "రావి"),
            ("ರವಿ", "ರಾವಿ"),
            ("രവി", "രാവി"),
            ("නිමල්", "නමල්"),
            ("วิชัย", "วชัย"),
            ("ສົມ", "ສາມ"),
            ("មករា", "មករី"),
            ("ကို", "ကို့"),
            ("བཀྲ", "བཀྲི"),
            ("ダイキ", "タイキ"),
            ("はなこ", "ばなこ"),
            ("ぱく", "ばく"),
            ("김", "긴"),
        ] {
            for spelling in [plain, expanded] {
                assert_ne!(spelling(one), spelling(other), "{one}");
            }
        }
        for (shorter, longer) in [("は", "ば"), ("ハ", "パ"), ("கெ", "கொ"), ("හෙ", "හේ"), ("কে", "কো")]
        {
            assert!(!plain(longer).starts_with(&plain(shorter)), "{shorter} does not begin {longer}");
        }
    }

    #[test]
    fn text_is_divided_into_words_and_parts() {
        let folded = Folded::of(" - Jean--Luc'  O ’", IndexForm::NEWEST, Spelling::Plain);
        let words: Vec<Vec<_>> = folded.words().map(|word| word.parts().collect()).collect();
        assert_eq!(words, [vec!["jean", "luc"], vec!["o"]]);
        let joined: Vec<_> = folded.words().map(Word::joined).collect();
        assert_eq!(
            (joined, folded.joined().as_str()),
            (vec!["jeanluc".to_owned(), "o".to_owned()], "jeanluco")
        );
        for (text, is_number) in
            [("+1 (415) 555-2671", true), ("４１５", true), ("415a", false), ("٤١٥", true)]
        {
            assert_eq!(Folded::of(text, IndexForm::NEWEST, Spelling::Plain).is_number(), is_number, "{text}");
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
        fn folded_text_has_no_case_no_marks_of_alphabets_and_no_punctuation(given in "(?s).{0,40}") {
            for folded in Folded::both(&given, IndexForm::NEWEST) {
                let is_kept = |c: char| is_combining_mark(c) && !is_mark_of_alphabet(c) && !is_nukta(c);
                let is_expected = |c: char| c.is_alphanumeric() || is_kept(c) || matches!(c, '-' | ' ');
                prop_assert!(folded.0.chars().all(is_expected));
                prop_assert_eq!(plain(&folded.0), folded.0);
            }
        }

        #[test]
        fn digits_of_every_script_are_ascii(given in "\\p{Nd}{1,20}") {
            let folded = plain(&given);
            prop_assert!(folded.len() == given.chars().count() && folded.bytes().all(|c| c.is_ascii_digit()));
        }

        #[test]
        fn both_spellings_have_the_same_parts(given in "[aouäöüøåđəÄÖÜs '-]{0,20}") {
            let [one, other] = Folded::both(&given, IndexForm::NEWEST);
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
