//! The addresses in a text that members wrote, as links: web addresses, and e-mail addresses as `mailto`. Nothing else is a link.

use shared::model::{Email, WebAddress};

/// A part of a text.
pub(crate) struct Part<'t> {
    /// The part as it was written.
    pub(crate) text: &'t str,
    /// Where it leads: an `http`, `https` or `mailto` URL.
    pub(crate) url: Option<String>,
}

/// The parts of a text, which together are the whole text.
pub(crate) fn parts(text: &str) -> Vec<Part<'_>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    let mut from = 0;
    while let Some(begin) = rest[from..].find(|letter| !ends_address(letter)).map(|found| from + found) {
        let end = rest[begin..].find(ends_address).map_or(rest.len(), |found| begin + found);
        let Some((before, address, url)) = address(&rest[begin..end]) else {
            from = end;
            continue;
        };
        let (before, after) = (begin + before, begin + before + address);
        parts.push(Part { text: &rest[..before], url: None });
        parts.push(Part { text: &rest[before..after], url: Some(url) });
        (rest, from) = (&rest[after..], 0);
    }
    parts.push(Part { text: rest, url: None });
    parts.retain(|part| !part.text.is_empty());
    parts
}

/// Whether no address has this character.
fn ends_address(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || "<>\"“”„«»`".contains(letter)
}

/// The first address in a word: the number of bytes before it, its length in bytes, and its URL.
fn address(word: &str) -> Option<(usize, usize, String)> {
    if word.chars().count() > WebAddress::MAX {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    let schemes = ["http://", "https://"].into_iter().filter_map(|scheme| lower.find(scheme));
    if let Some(begin) = schemes.min() {
        let is_alone = word[..begin].chars().next_back().is_none_or(|before| !before.is_alphanumeric());
        let found = without_end(&word[begin..]);
        let url = found.parse::<WebAddress>().ok().filter(|_| is_alone)?;
        return Some((begin, found.len(), url.as_str().to_owned()));
    }
    let whole = word.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    // A label may stand before the address.
    let address = whole.rsplit(':').next()?.trim_start_matches(|letter| "([{'’*,;.!?…•–—-".contains(letter));
    let email: Email = address.parse().ok()?;
    Some((whole.len() - address.len(), address.len(), email.mailto()))
}

/// The same text without the punctuation of the sentence after an address. A bracket belongs to the address if the address has
/// opened it.
fn without_end(mut address: &str) -> &str {
    while let Some(last) = address.chars().next_back() {
        let opening = match last {
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '’' | '…' | '*' => None,
            ')' => Some('('),
            ']' => Some('['),
            '}' => Some('{'),
            _ => return address,
        };
        let has = |letter| address.matches(letter).count();
        if opening.is_some_and(|opening| has(opening) >= has(last)) {
            return address;
        }
        address = &address[..address.len() - last.len_utf8()];
    }
    address
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The parts with their URLs: `[text](url)`.
    fn marked(text: &str) -> String {
        let part = |part: Part<'_>| match part.url {
            Some(url) if url == part.text => format!("[{url}]"),
            Some(url) => format!("[{}]({url})", part.text),
            None => part.text.to_owned(),
        };
        parts(text).into_iter().map(part).collect()
    }

    #[test]
    fn web_and_mail_addresses_are_links() {
        for (text, expected) in [
            ("", ""),
            ("No address.", "No address."),
            ("https://a.example/x?y=1&z#q", "[https://a.example/x?y=1&z#q]"),
            ("See https://a.example.", "See [https://a.example]."),
            ("HTTP://A.example, and\nhttp://b.example!", "[HTTP://A.example], and\n[http://b.example]!"),
            ("(https://a.example/b_(c))", "([https://a.example/b_(c)])"),
            (
                "<https://a.example>\u{a0}“https://b.example”",
                "<[https://a.example]>\u{a0}“[https://b.example]”",
            ),
            ("[her page](https://a.example/)", "[her page]([https://a.example/])"),
            ("CV:https://a.example/ä/图…", "CV:[https://a.example/ä/图]…"),
            (
                "Ask ada@a.example, or <Bo.B+x@b.example>",
                "Ask [ada@a.example](mailto:ada@a.example), or <[Bo.B+x@b.example](mailto:Bo.B+x@b.example)>",
            ),
            ("(ada@a.example).", "([ada@a.example](mailto:ada@a.example))."),
            ("(Mail:(ada@a.example))", "(Mail:([ada@a.example](mailto:ada@a.example)))"),
            ("Mail:_ada@a.example;", "Mail:[_ada@a.example](mailto:_ada@a.example);"),
            ("mailto:ada@a.example?", "mailto:[ada@a.example](mailto:ada@a.example)?"),
            ("ada?cc=eve@a.example", "[ada?cc=eve@a.example](mailto:ada%3Fcc%3Deve@a.example)"),
        ] {
            assert_eq!(marked(text), expected);
        }
    }

    #[test]
    fn nothing_else_is_a_link() {
        for text in [
            "javascript:alert(1)",
            "JavaScript://a.example/%0aalert(1)",
            "data:text/html,x ftp://a.example file:///etc/passwd",
            "xhttps://a.example",
            "https:// http:///",
            "www.a.example and a.example/x",
            "@ada ada@ @a.example ada@localhost 2@3",
        ] {
            assert_eq!(marked(text), text);
        }
    }

    proptest! {
        #[test]
        fn the_parts_are_the_whole_text(text in "(https?://|mailto:|[a-z@.()<\"’, \nä]|\\PC){0,60}") {
            let parts = parts(&text);
            prop_assert_eq!(parts.iter().map(|part| part.text).collect::<String>(), text.as_str());
            let known = ["http://", "https://", "mailto:"];
            let is_known = |url: &String| known.iter().any(|scheme| url.to_ascii_lowercase().starts_with(scheme));
            prop_assert!(parts.iter().filter_map(|part| part.url.as_ref()).all(is_known));
        }
    }
}
