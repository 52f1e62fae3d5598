//! Descriptions: their HTML has only harmless elements, correctly nested, and only harmless links.

use shared::descriptions::{html, plain, running_text};

use crate::input::text;

/// The maximum size of the HTML, in bytes.
const MAX: usize = 64_000;
/// The maximum nesting depth: 12 elements, one more for the rows of a table, and code.
const MAX_DEPTH: usize = 14;
const NO_END: [&str; 2] = ["br", "hr"];
const ELEMENTS: [&str; 22] = [
    "a",
    "blockquote",
    "br",
    "code",
    "em",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

/// The input is a description.
pub fn markdown(input: &[u8]) {
    let description = text(input);
    let html = html(&description);
    assert!(html.len() <= MAX);
    assert_harmless(&html);
    for plain in [plain(&description), running_text(&description)] {
        assert!(!plain.contains("  "), "{plain}");
        assert!(plain.lines().all(|line| line == line.trim() && !line.is_empty()), "{plain}");
    }
}

fn assert_harmless(html: &str) {
    let mut open = Vec::new();
    let mut rest = html;
    while let Some((text, after)) = rest.split_once('<') {
        assert!(!text.contains('>'), "{html}");
        let (tag, after) = after.split_once('>').expect("the end of a tag");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{html}");
            continue;
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(ELEMENTS.contains(&name), "{html}");
        assert!(name != "a" || !open.contains(&"a"), "{html}");
        match name {
            "a" => assert_link(attributes),
            "ol" if !attributes.is_empty() => {
                let start = attributes.strip_prefix("start=\"").and_then(|rest| rest.strip_suffix('"'));
                assert!(start.is_some_and(|start| start.parse::<u64>().is_ok()), "{html}");
            }
            _ => assert_eq!(attributes, "", "{html}"),
        }
        if !NO_END.contains(&name) {
            open.push(name);
        }
        assert!(open.len() <= MAX_DEPTH, "{html}");
    }
    assert!(open.is_empty() && !rest.contains('>'), "{html}");
}

fn assert_link(attributes: &str) {
    let address = attributes
        .strip_prefix("href=\"")
        .and_then(|rest| rest.strip_suffix("\" rel=\"nofollow noopener noreferrer\""))
        .expect("an address and a relation");
    let lower = address.to_ascii_lowercase();
    let is_harmless = ["http:", "https:", "mailto:"].iter().any(|scheme| lower.starts_with(scheme));
    assert!(is_harmless && !address.contains(['"', '<']), "{address}");
}
