//! The HTML tags that have the same effect as Markdown.

use pulldown_cmark::{Event, HeadingLevel, LinkType, Parser, Tag};

/// A tag in a description.
#[derive(Debug)]
pub(super) enum HtmlTag {
    /// `<br>`.
    Break,
    /// The start of an element, as Markdown calls it.
    Start(Tag<'static>),
    /// The end of such an element.
    End(Tag<'static>),
}

impl HtmlTag {
    /// Parses the tag at the beginning of `html`. Returns it with the text that follows. Returns `None` if it is not one
    /// of these tags. All attributes except the address of a link are ignored.
    pub(super) fn parse(html: &str) -> Option<(Self, &str)> {
        let rest = html.strip_prefix('<')?;
        let (is_end, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
        let (name, rest) = split(rest, |c| !c.is_ascii_alphanumeric());
        if !rest.starts_with(|c: char| c.is_whitespace() || c == '/' || c == '>') {
            return None;
        }
        let (href, rest) = attributes(rest)?;
        let name = name.to_ascii_lowercase();
        let tag = match name.as_str() {
            "br" if !is_end => return Some((Self::Break, rest)),
            "a" if is_end || href.is_some() => Tag::Link {
                link_type: LinkType::Inline,
                dest_url: href.unwrap_or_default().into(),
                title: "".into(),
                id: "".into(),
            },
            "b" | "strong" => Tag::Strong,
            "i" | "em" => Tag::Emphasis,
            "li" => Tag::Item,
            "ol" => Tag::List(Some(1)),
            "p" => Tag::Paragraph,
            "ul" => Tag::List(None),
            heading => Tag::Heading {
                level: HeadingLevel::try_from(heading.strip_prefix('h')?.parse::<usize>().ok()?).ok()?,
                id: None,
                classes: Vec::new(),
                attrs: Vec::new(),
            },
        };
        Some((if is_end { Self::End(tag) } else { Self::Start(tag) }, rest))
    }
}

/// Parses attributes and the end of the tag. Returns the first `href` with the text after the tag.
fn attributes(mut rest: &str) -> Option<(Option<String>, &str)> {
    let mut href = None;
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix("/>").or_else(|| rest.strip_prefix('>')) {
            return Some((href, after));
        }
        let (name, after) = split(rest, |c| c.is_whitespace() || "\"'<>/=".contains(c));
        if name.is_empty() {
            return None;
        }
        rest = after.trim_start();
        let Some(given) = rest.strip_prefix('=').map(str::trim_start) else { continue };
        let (value, after) = match given.strip_prefix(['"', '\'']) {
            Some(quoted) => quoted.split_once(given.chars().next()?)?,
            None => split(given, |c| c.is_whitespace() || "\"'<>`=".contains(c)),
        };
        if name.eq_ignore_ascii_case("href") && href.is_none() {
            href = Some(decoded(value));
        }
        rest = after;
    }
}

/// Splits text before the first character that meets the condition.
fn split(text: &str, is_end: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(is_end).unwrap_or(text.len()))
}

/// Decodes the character references in HTML, such as `&amp;`.
pub(super) fn decoded(html: &str) -> String {
    let mut decoded = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('&') {
        decoded.push_str(before);
        let (name, after_name) = split(after, |c| !c.is_ascii_alphanumeric() && c != '#');
        if let Some(after_reference) = after_name.strip_prefix(';') {
            // A reference has the same meaning in Markdown.
            let reference = format!("&{name};");
            for event in Parser::new(&reference) {
                if let Event::Text(text) = event {
                    decoded.push_str(&text);
                }
            }
            rest = after_reference;
        } else {
            decoded.push('&');
            rest = after;
        }
    }
    decoded + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(html: &str) -> Option<(String, &str)> {
        HtmlTag::parse(html).map(|(tag, rest)| (format!("{tag:?}"), rest))
    }

    #[test]
    fn tags_are_parsed_regardless_of_case_and_attributes() {
        for (html, tag, rest) in [
            ("<br>a", "Break", "a"),
            ("<BR/>", "Break", ""),
            ("<br class=x />", "Break", ""),
            ("<p style=\"color: red\" hidden>>", "Start(Paragraph)", ">"),
            ("<ul\n>", "Start(List(None))", ""),
            ("</OL >", "End(List(Some(1)))", ""),
            ("<b onclick='a>b'>", "Start(Strong)", ""),
            ("</em>", "End(Emphasis)", ""),
        ] {
            assert_eq!(parsed(html), Some((tag.to_owned(), rest)), "{html}");
        }
        let href = |html: &str| match HtmlTag::parse(html) {
            Some((HtmlTag::Start(Tag::Link { dest_url, .. }), "")) => dest_url.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            href("<a class=b HREF = 'https://a.example/?a=b&amp;c' href=d>"),
            "https://a.example/?a=b&c"
        );
        assert_eq!(href("<a href=https://a.example/b/>"), "https://a.example/b/");
    }

    #[test]
    fn anything_else_is_not_a_tag() {
        for text in [
            "",
            "<",
            "<>",
            "</>",
            "< p>",
            "<p",
            "<p a",
            "<p a=\"",
            "<p a=\"b>",
            "<p \"\">",
            "<p/a>",
            "<p<b>",
            "</br>",
            "<a>",
            "<a name=b>",
            "<div>",
            "<h0>",
            "<h7>",
            "<h>",
            "<hr>",
            "<T>",
            "<!-- p -->",
            "<?p?>",
            "<script>",
            "<img src=x onerror=alert(1)>",
            "<p:a>",
            "<p-a>",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    #[test]
    fn character_references_are_decoded() {
        let html = "a &amp; b&nbsp;&lt;&#60;&#x3C;&eacute; &unknown; &amp &;&#; AT&T &&amp;amp;";
        assert_eq!(decoded(html), "a & b\u{a0}<<<é &unknown; &amp &;&#; AT&T &&amp;");
    }

    proptest! {
        #[test]
        fn any_text_can_be_parsed_and_decoded(text in "([<>/=&;#\"' \n]|a|href|p|br|amp|é|🦀){0,20}") {
            let _ = HtmlTag::parse(&text);
            prop_assert!(decoded(&text).len() <= text.len());
        }
    }
}
