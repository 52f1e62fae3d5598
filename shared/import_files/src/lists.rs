//! Lists in one cell: as people type them, and as JSON, Python, `DuckDB` and `PostgreSQL` write them.

use serde_json::{Map, Value};

/// The items of a list: of an array, or separated by semicolons, or else by commas.
pub(crate) fn items(text: &str) -> Vec<String> {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        if let Ok(items) = serde_json::from_str::<Vec<String>>(text) {
            return present(items.iter().map(String::as_str));
        }
        if let Some(items) = quoted_items(inner) {
            return present(items.iter().map(String::as_str));
        }
    }
    let braced = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let is_object =
        || serde_json::from_str::<Map<String, Value>>(text).is_ok_and(|object| !object.is_empty());
    if let Some(items) = braced.filter(|_| !is_object()).and_then(quoted_items) {
        return present(items.iter().map(String::as_str));
    }
    let separator = if text.contains(';') { ';' } else { ',' };
    present(text.split(separator))
}

fn present<'t>(items: impl Iterator<Item = &'t str>) -> Vec<String> {
    items.map(str::trim).filter(|item| !item.is_empty()).map(ToOwned::to_owned).collect()
}

/// The items between the brackets of Python, `DuckDB` or `PostgreSQL`: separated by commas, in single or double quotes where they must be.
/// `None` if a quote is not closed.
fn quoted_items(inner: &str) -> Option<Vec<String>> {
    let (mut items, mut item, mut characters) = (Vec::new(), String::new(), inner.chars().peekable());
    while let Some(c) = characters.next() {
        match c {
            ',' => items.push(std::mem::take(&mut item)),
            '\'' | '"' if item.trim().is_empty() => {
                item.clear();
                loop {
                    match characters.next()? {
                        '\\' => item.push(characters.next()?),
                        // DuckDB writes a quote within quotes twice.
                        end if end == c && characters.peek() == Some(&c) => item.extend(characters.next()),
                        end if end == c => break,
                        other => item.push(other),
                    }
                }
            }
            c => item.push(c),
        }
    }
    items.push(item);
    Some(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_in_every_form() {
        for (text, expected) in [
            ("java; 4/5", vec!["java", "4/5"]),
            ("go, docker", vec!["go", "docker"]),
            ("a; b, c", vec!["a", "b, c"]),
            ("java", vec!["java"]),
            (" ; ", vec![]),
            (r#"["java", "a; b"]"#, vec!["java", "a; b"]),
            ("['java', '4/5', 'go, docker']", vec!["java", "4/5", "go, docker"]),
            (r#"["it's", 'x']"#, vec!["it's", "x"]),
            (r"['it\'s', 'x']", vec!["it's", "x"]),
            ("[java, 4/5, 'go, docker']", vec!["java", "4/5", "go, docker"]),
            ("['it''s']", vec!["it's"]),
            ("[]", vec![]),
            ("['open]", vec!["['open]"]),
            ("[draft] x", vec!["[draft] x"]),
            (r#"{java,"a; b","c \"d\""}"#, vec!["java", "a; b", "c \"d\""]),
            ("{}", vec![]),
            ("{java}, go", vec!["{java}", "go"]),
            (r#"{"a":1}"#, vec![r#"{"a":1}"#]),
        ] {
            assert_eq!(items(text), expected, "{text}");
        }
    }
}
