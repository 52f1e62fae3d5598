//! Text formatting: ages and excerpts.

use jiff::civil::Date;

/// Formats the age of a date: `today`, `3 days ago`. A date in the future is `today`.
pub(crate) fn age(posted: Date, today: Date) -> String {
    let days = today.duration_since(posted).as_hours() / 24;
    match days {
        ..=0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        2..14 => format!("{days} days ago"),
        14..56 => format!("{} weeks ago", days / 7),
        56..=365 => format!("{} months ago", (days * 12 / 365).max(2)),
        _ => "over a year ago".to_owned(),
    }
}

/// Shortens plain text to one line of at most 200 characters. Cuts between words if possible. Drops the markers that
/// Markdown leaves in the text because of their position, as in `**Tasks:**cook`.
pub(crate) fn excerpt(text: &str) -> String {
    const MAX: usize = 200;
    let text = text.replace("**", "").replace("~~", "");
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let space = usize::from(length > 0);
        // One character is reserved for the ellipsis.
        let room = MAX - 1 - length;
        let characters = word.chars().count();
        if space + characters > room {
            if length == 0 {
                line.extend(word.chars().take(room));
            }
            line.push('…');
            return line;
        }
        line.extend((space == 1).then_some(' '));
        line.push_str(word);
        length += space + characters;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::ToSpan;
    use jiff::civil::date;
    use proptest::prelude::*;

    #[test]
    fn older_ages_are_rounded_to_larger_units() {
        let posted = date(2024, 2, 1);
        for (days, expected) in [
            (-3, "today"),
            (0, "today"),
            (1, "yesterday"),
            (2, "2 days ago"),
            (13, "13 days ago"),
            (14, "2 weeks ago"),
            (55, "7 weeks ago"),
            (56, "2 months ago"),
            (250, "8 months ago"),
            (365, "12 months ago"),
            (366, "over a year ago"),
            (4000, "over a year ago"),
        ] {
            assert_eq!(age(posted, posted + i64::from(days).days()), expected, "{days}");
        }
    }

    #[test]
    fn an_excerpt_contains_no_markers() {
        assert_eq!(excerpt("**Tasks:**cook ~~and~~ bake 2 * 3"), "Tasks:cook and bake 2 * 3");
    }

    proptest! {
        #[test]
        fn an_excerpt_is_the_beginning_of_the_text_on_one_line(text in "[a-zé🦀 \n]{0,400}") {
            let excerpt = excerpt(&text);
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert!(excerpt.chars().count() <= 200);
            if let Some(beginning) = excerpt.strip_suffix('…') {
                prop_assert!(line.starts_with(beginning) && line.chars().count() >= 200);
                let is_between_words = line[beginning.len()..].starts_with(' ');
                prop_assert!(is_between_words || !beginning.contains(' '), "cut within a word");
            } else {
                prop_assert_eq!(excerpt, line);
            }
        }
    }
}
