//! Names that a program may have spoiled on their way.

use encoding_rs::WINDOWS_1252;

/// Signs that no name has, and that letters of other encodings become when they are read as Windows-1252.
const SIGNS: &str = "¡¢£¤¥¦§¨©«¬®¯°±²³¶¸¹»¼½¾¿×÷‡†‰€™";

/// What a person should look at in a name.
pub(crate) fn doubt(name: &str) -> Option<String> {
    if let Some(repaired) = read_twice(name) {
        return Some(format!(
            "name looks like {repaired}, read in a wrong encoding: save the file again as UTF-8"
        ));
    }
    if name.contains(['?', '\u{FFFD}']) {
        return Some(
            "name has a sign in place of a letter: a program had no such letter; save the file as UTF-8"
                .to_owned(),
        );
    }
    let sign = name.chars().find(|c| SIGNS.contains(*c))?;
    Some(format!("name has {sign}: if this should be a letter, name the file's encoding"))
}

/// The name before it was written as UTF-8 and read as Windows-1252, if it was: `Köhler` of `KÃ¶hler`.
fn read_twice(name: &str) -> Option<String> {
    if name.is_ascii() {
        return None;
    }
    let (bytes, _, has_others) = WINDOWS_1252.encode(name);
    if has_others {
        return None;
    }
    String::from_utf8(bytes.into_owned()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spoiled_names_are_doubted_and_real_ones_are_not() {
        for (name, expected) in [
            ("KÃ¶hler", "looks like Köhler"),
            ("?ukasz Wójcik", "in place of a letter"),
            ("??", "in place of a letter"),
            ("Sat\u{FFFD}", "in place of a letter"),
            ("£ukasz Wójcik", "has £"),
            ("¯aneta D¹browska", "has ¯"),
        ] {
            assert!(doubt(name).unwrap().contains(expected), "{name}");
        }
        for name in [
            "Köhler",
            "Łukasz Wójcik",
            "'Ofa Tupou",
            "O’Connell",
            "Gal·la Ó",
            "陈伟",
            "Ã",
            "José Ñ",
            "N'Golo",
        ] {
            assert_eq!(doubt(name), None, "{name}");
        }
    }
}
