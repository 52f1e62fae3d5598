//! The tags of a candidate in one line of a form: separated by commas, and in quotation marks if a tag has a comma itself.

use shared::model::{Tag, Tags};

/// What begins a tag in quotation marks, and what ends it. Phones type the curved ones.
const QUOTES: [(char, &[char]); 3] = [('"', &['"']), ('“', &['”', '“']), ('„', &['“', '”'])];

/// The tags as a line. [`tags_in`] reads the same tags from it.
pub(crate) fn line_of(tags: &Tags) -> String {
    tags.iter().map(Tag::as_str).map(written).collect::<Vec<_>>().join(", ")
}

/// A tag as it is written in a line.
fn written(tag: &str) -> String {
    if tag.contains(',') || tag.starts_with(|first| QUOTES.iter().any(|(open, _)| *open == first)) {
        format!("\"{}\"", tag.replace('"', "\"\""))
    } else {
        tag.to_owned()
    }
}

/// The tags in a line, without blank ones. A quotation mark that nothing closes is part of its tag.
pub(crate) fn tags_in(line: &str) -> Vec<String> {
    let (mut tags, mut rest) = (Vec::new(), Some(line));
    while let Some(line) = rest {
        let unquoted = || match line.split_once(',') {
            Some((tag, after)) => (tag.to_owned(), Some(after)),
            None => (line.to_owned(), None),
        };
        let (tag, after) = quoted(line.trim_start()).unwrap_or_else(unquoted);
        if !tag.trim().is_empty() {
            tags.push(tag.trim().to_owned());
        }
        rest = after;
    }
    tags
}

/// The tag in quotation marks with which a line begins, and what follows its comma. Inside the marks, `""` is one mark.
fn quoted(line: &str) -> Option<(String, Option<&str>)> {
    let first = line.chars().next()?;
    let (_, ends) = QUOTES.into_iter().find(|(open, _)| *open == first)?;
    let (mut tag, mut rest) = (String::new(), &line[first.len_utf8()..]);
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        if ends.contains(&letter) {
            if let Some(after) = rest.strip_prefix('"').filter(|_| letter == '"') {
                rest = after;
            } else {
                let after = rest.trim_start();
                if after.is_empty() {
                    return Some((tag, None));
                }
                if let Some(after) = after.strip_prefix(',') {
                    return Some((tag, Some(after)));
                }
            }
        }
        tag.push(letter);
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_has_tags_between_commas_or_in_quotation_marks() {
        for (line, expected) in [
            ("", &[][..]),
            (" , ,", &[]),
            ("go", &["go"]),
            (" go ,rust,, night owl ", &["go", "rust", "night owl"]),
            (r#""Berlin, Germany", go"#, &["Berlin, Germany", "go"]),
            (r#"go,"Berlin, Germany" "#, &["go", "Berlin, Germany"]),
            ("“Berlin, Germany”,go", &["Berlin, Germany", "go"]),
            ("„Berlin, Germany“ , go", &["Berlin, Germany", "go"]),
            (r#""say ""hi"", now""#, &[r#"say "hi", now"#]),
            (r#""say "hi" now", go"#, &[r#"say "hi" now"#, "go"]),
            (r#"5" disk, 3" disk"#, &[r#"5" disk"#, r#"3" disk"#]),
            (r#""never closed, go"#, &[r#""never closed"#, "go"]),
            (r#""", go"#, &["go"]),
            (r#"""#, &[r#"""#]),
        ] {
            assert_eq!(tags_in(line), expected, "{line}");
        }
    }

    #[test]
    fn only_tags_that_would_be_read_otherwise_are_in_quotation_marks() {
        let line = |tags: &[&str]| line_of(&Tags::of(tags.iter().filter_map(|tag| Tag::parse(tag).unwrap())));
        assert_eq!(line(&["go", "night owl", "5\" disk"]), "go, night owl, 5\" disk");
        assert_eq!(line(&["Berlin, Germany", "“x”", "\""]), r#""Berlin, Germany", "“x”", """""#);
    }

    proptest! {
        #[test]
        fn a_line_of_tags_is_read_as_the_same_tags(given in prop::collection::vec("[a-c\",“”„ ]{1,8}", 0..6)) {
            let tags = Tags::of(given.iter().filter_map(|tag| Tag::parse(tag).unwrap()));
            let read = tags_in(&line_of(&tags));
            prop_assert_eq!(Tags::of(read.iter().filter_map(|tag| Tag::parse(tag).unwrap())), tags);
        }
    }
}
