//! Judges the instructions of Word's fields, such as `PAGE` or `INCLUDEPICTURE "photo.png"`.

use super::location::is_local;
use super::refusal::Refusal;

/// What begins a field in Word's binary format, and stands for a field in the instructions of another one.
pub(super) const NESTED: char = '\u{13}';
/// What ends the instructions of a field, so that its result follows, and what ends the field.
const SEPARATOR: char = '\u{14}';
const END: char = '\u{15}';
/// The maximum depth of fields.
const MAX_DEPTH: usize = 1_000;

/// Judges the fields in a text of Word's binary format.
pub(super) fn check_text(text: &str) -> Result<(), Refusal> {
    // The instructions of the open fields; `None` after the separator.
    let mut open: Vec<Option<String>> = Vec::new();
    for character in text.chars() {
        if let (Some(Some(instructions)), false) = (open.last_mut(), matches!(character, SEPARATOR | END)) {
            instructions.push(character);
        }
        match character {
            NESTED if open.len() == MAX_DEPTH => return Err(Refusal::TooComplex),
            NESTED => open.push(Some(String::new())),
            SEPARATOR => check_ended(open.last_mut().and_then(Option::take))?,
            END => check_ended(open.pop().flatten())?,
            _ => {}
        }
    }
    open.into_iter().try_for_each(check_ended)
}

fn check_ended(instructions: Option<String>) -> Result<(), Refusal> {
    instructions.map_or(Ok(()), |instructions| check(&instructions))
}

/// Refuses the instructions of a field that loads something, or asks another program for it.
pub(super) fn check(instructions: &str) -> Result<(), Refusal> {
    let instructions = instructions.trim_start_matches(|c: char| c.is_whitespace() || c == '\0');
    let end = instructions.find(|c: char| !c.is_alphanumeric()).unwrap_or(instructions.len());
    let (keyword, arguments) = instructions.split_at(end);
    if arguments.starts_with(NESTED) {
        // Another field computes what this one does.
        return Err(Refusal::Remote);
    }
    match keyword.to_ascii_uppercase().as_str() {
        "DDE" | "DDEAUTO" | "LINK" => Err(Refusal::DataLink),
        "INCLUDETEXT" | "INCLUDE" | "IMPORT" | "DATABASE" | "RD" => Err(Refusal::Remote),
        "INCLUDEPICTURE" if !names_local_file(arguments) => Err(Refusal::Remote),
        _ => Ok(()),
    }
}

/// Whether the first argument is a file on the reader's own computer, such as Word for Mac writes for pasted pictures.
fn names_local_file(arguments: &str) -> bool {
    let arguments = arguments.trim_start();
    let file = match arguments.strip_prefix(['"', '\u{201C}', '\u{201D}']) {
        Some(quoted) => quoted.split(['"', '\u{201C}', '\u{201D}']).next(),
        None => arguments.split_whitespace().next(),
    };
    // Fields double the backslashes.
    let file = file.unwrap_or_default().replace("\\\\", "\\");
    let is_on_server = arguments.trim_start_matches(['"', '\u{201C}', '\u{201D}']).starts_with("\\\\");
    !arguments.contains(NESTED) && !is_on_server && is_local(&file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_in_a_text_are_judged_with_the_fields_in_them() {
        for (text, verdict) in [
            ("a\u{13} PAGE \u{14}1\u{15}b", Ok(())),
            ("\u{13}PAGE\u{14}DDE\u{15}\u{15}\u{14}", Ok(())),
            ("\u{13}IF \u{13}PAGE\u{14}1\u{15} = 1\u{14}DDE\u{15}", Ok(())),
            ("\u{13}DDE x\u{14}1\u{15}", Err(Refusal::DataLink)),
            ("\u{13}DDE x", Err(Refusal::DataLink)),
            ("\u{13}IF \u{13}DDE x\u{15}\u{15}", Err(Refusal::DataLink)),
            ("\u{13}D\u{13}QUOTE DE\u{14}DE\u{15} x\u{15}", Err(Refusal::Remote)),
            ("\u{13}INCLUDEPICTURE \u{13}QUOTE x\u{15}\u{15}", Err(Refusal::Remote)),
        ] {
            assert_eq!(check_text(text), verdict, "{text:?}");
        }
        assert_eq!(check_text(&"\u{13}".repeat(1_001)), Err(Refusal::TooComplex));
    }

    #[test]
    fn fields_that_load_something_are_refused() {
        for instructions in [
            "PAGE",
            " HYPERLINK \"https://example.com\" ",
            "",
            "= 1 + \u{13}",
            "IF \u{13} = 1 \"a\" \"b\"",
            "MACROBUTTON NoMacro [Name]",
            "TOC \\o \"1-3\"",
            "INCLUDEPICTURE \"/var/folders/x/photo.png\" \\* MERGEFORMATINET",
            "INCLUDEPICTURE \"C:\\\\Users\\\\mira\\\\photo.png\"",
            "INCLUDEPICTURE \"cid:image001.png\"",
            "DDELIGHT",
        ] {
            assert_eq!(check(instructions), Ok(()), "{instructions}");
        }
        for instructions in ["DDEAUTO c:\\\\x", " ddeauto x", "DDE x y", "LINK Excel.Sheet.8 \"C:\\\\x\""] {
            assert_eq!(check(instructions), Err(Refusal::DataLink), "{instructions}");
        }
        for instructions in [
            "INCLUDEPICTURE \"https://example.com/x.png\"",
            "INCLUDEPICTURE https://example.com/x.png",
            "INCLUDEPICTURE \"\\\\\\\\server\\\\x.png\"",
            "INCLUDEPICTURE \"\\\\server\\x.png\"",
            "INCLUDEPICTURE \u{13} \\d",
            "INCLUDETEXT \"C:\\\\x.docx\"",
            "IMPORT x",
            "DATABASE \\d x",
            "\u{13} x",
            "D\u{13}",
        ] {
            assert_eq!(check(instructions), Err(Refusal::Remote), "{instructions}");
        }
    }
}
