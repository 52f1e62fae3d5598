//! Judges the instructions of Word's fields, such as `PAGE` or `INCLUDEPICTURE "photo.png"`.

use super::location::is_local;
use super::refusal::Refusal;

/// What stands for a field in the instructions of another one, as in Word's binary format.
pub(super) const NESTED: char = '\u{13}';

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
