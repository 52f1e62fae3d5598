//! The name of the product, which nobody else may use for an application.

use super::folding::{Folded, Spelling};
use super::index_form::IndexForm;

/// The folded name.
const NAME: &str = "rolecall";

/// Whether a text contains the product's name, in any letter case and with spaces, punctuation, marks and letters that look
/// alike. Some applications add the name that their user has given to a service in parentheses, such as `Helper (rolecall)`:
/// what stands in parentheses at the end is ignored.
pub fn names_product(text: &str) -> bool {
    let without_suffix = text.trim().strip_suffix(')').and_then(|rest| rest.rsplit_once('('));
    let own = without_suffix.map_or("", |(before, _)| before.trim());
    let own = if own.is_empty() { text } else { own };
    let as_seen = |text: &str| text.chars().map(look_alike).collect::<String>();
    // Before, because a sign may stand for a letter; afterwards, because then all letters are small ones.
    let folded = Folded::of(&as_seen(own), IndexForm::NEWEST, Spelling::Plain).joined();
    as_seen(&folded).contains(NAME)
}

/// The letter of the product's name that looks like this character, or the character.
const fn look_alike(c: char) -> char {
    match c {
        // Of each, signs and digits come first, then Cyrillic and Greek letters.
        '@' | '\u{430}' | '\u{3B1}' => 'a',
        '\u{441}' | '\u{3F2}' | '\u{3F9}' => 'c',
        '3' | '\u{435}' | '\u{3B5}' => 'e',
        '|' | '1' | 'i' | '\u{131}' | '\u{456}' | '\u{4CF}' | '\u{3B9}' => 'l',
        '0' | '\u{43E}' | '\u{3BF}' => 'o',
        '\u{433}' => 'r',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_like_the_products_are_recognized() {
        for name in [
            "Rolecall",
            " rolecall Support",
            "The official ROLECALL",
            "Role-Call",
            "r.o.l.e c a l l",
            "R\u{f6}lecall",
            "Rolecall (verified)",
            "(Rolecall)",
            "R0lecall",
            "RoIecaII",
            "Ro|eca11",
            "\u{ff32}\u{ff4f}lecall",
            "R\u{43e}l\u{435}\u{441}\u{430}ll",
            "R\u{39f}L\u{395}CALL",
            "r\u{3bf}lecall",
        ] {
            assert!(names_product(name), "{name}");
        }
        let others =
            ["", ")", "(", "Helper", "Helper (rolecall)", "Helper (my Rolecall)", "Roll call", "Call a role"];
        for name in others {
            assert!(!names_product(name), "{name}");
        }
    }
}
