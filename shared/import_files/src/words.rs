//! What programs write where there is nothing, or where a formula has failed.

/// Words for nothing, in lower case: of R, pandas, Python, JSON, `PostgreSQL` and of people.
const NOTHING: [&str; 8] = ["na", "n/a", "nan", "none", "null", "-", r"\n", "–"];
/// The errors of formulas in English and German, in lower case.
const ERRORS: [&str; 17] = [
    "#n/a",
    "#na",
    "#nv",
    "#ref!",
    "#bezug!",
    "#value!",
    "#wert!",
    "#name?",
    "#div/0!",
    "#null!",
    "#num!",
    "#zahl!",
    "#spill!",
    "#calc!",
    "#data!",
    "#getting_data",
    "#error!",
];

/// Whether a cell has the error of a formula in place of its value.
pub(crate) fn is_error_value(text: &str) -> bool {
    let lower = text.to_lowercase();
    let numbered = lower.strip_prefix("err:").or_else(|| lower.strip_prefix("fehler:"));
    let is_numbered =
        numbered.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    is_numbered || ERRORS.contains(&lower.as_str())
}

/// Whether a cell says in a word that there is nothing. A surname may be one of the words.
pub(crate) fn is_word_for_nothing(text: &str) -> bool {
    NOTHING.contains(&text.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_words_for_nothing_are_told_from_values() {
        for error in ["#N/A", "#NV", "#REF!", "Err:509", "Fehler:509"] {
            assert!(is_error_value(error) && !is_word_for_nothing(error), "{error}");
        }
        for word in ["NA", "N/A", "NaN", "None", "null", "-", r"\N"] {
            assert!(is_word_for_nothing(word) && !is_error_value(word), "{word}");
        }
        for value in ["", "Err:", "Err: x", "# 4", "Nan Goldin", "--"] {
            assert!(!is_error_value(value) && !is_word_for_nothing(value), "{value}");
        }
    }
}
