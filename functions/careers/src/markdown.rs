//! Descriptions that customers write, as Markdown or as plain text, made into safe HTML or into words alone.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html::push_html};

/// Bytes of HTML at most. 20,000 characters of any ordinary text fit; a text of nothing but markup ends early.
const MAX_HTML: usize = 64_000;
/// Elements within each other at most. What is deeper keeps its words and loses its form.
const MAX_DEPTH: usize = 12;

/// All that a description may contain.
static ALLOWED: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut allowed = Builder::empty();
    allowed
        .tags(HashSet::from([
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
        ]))
        .tag_attributes(HashMap::from([("a", HashSet::from(["href"])), ("ol", HashSet::from(["start"]))]))
        .generic_attributes(HashSet::new())
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(UrlRelative::Deny)
        .link_rel(Some("nofollow noopener noreferrer"));
    allowed
});

/// Safe HTML of a description, at most 64,000 bytes.
///
/// A line is a line, as plain text means it. Headings begin at `h3` and leave no level out. HTML is shown as it was typed,
/// and of an image its alternative text.
pub(crate) fn html(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + text.len() / 2);
    push_html(&mut html, shaped(parser(text)));
    shortened(&ALLOWED.clean(&html).to_string(), MAX_HTML)
}

/// The words of a description: a line for each paragraph, item and line that was typed, with single spaces between words.
pub(crate) fn plain(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    for event in parser(text) {
        match event {
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                words.push_str(&text);
            }
            Event::Start(tag) => words.push_str(separator(tag.to_end())),
            Event::End(tag) => words.push_str(separator(tag)),
            _ => words.push('\n'),
        }
    }
    let lines = words.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The beginning of safe HTML as safe HTML of at most `max` bytes, which are a few hundred at least.
pub(crate) fn shortened(html: &str, max: usize) -> String {
    /// What closes the elements that are cut open.
    const ROOM: usize = 256;
    if html.len() <= max {
        return html.to_owned();
    }
    let beginning = html.get(..html.floor_char_boundary(max.saturating_sub(ROOM))).unwrap_or_default();
    ALLOWED.clean(beginning).to_string()
}

fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
}

/// The document in the form that a page gives it.
fn shaped<'t>(document: impl Iterator<Item = Event<'t>>) -> impl Iterator<Item = Event<'t>> {
    let mut depth = 0;
    // The levels, as they were written, of the headings that the last heading is below, and its own.
    let mut outline: Vec<HeadingLevel> = Vec::new();
    document.filter_map(move |event| match event {
        Event::Start(tag) => {
            depth += 1;
            if depth > MAX_DEPTH {
                return None;
            }
            match tag {
                Tag::Image { .. } => None,
                Tag::HtmlBlock => Some(Event::Start(Tag::Paragraph)),
                Tag::Heading { level, .. } => {
                    while outline.pop_if(|above| *above >= level).is_some() {}
                    outline.push(level);
                    let level = heading_at(outline.len());
                    Some(Event::Start(Tag::Heading {
                        level,
                        id: None,
                        classes: Vec::new(),
                        attrs: Vec::new(),
                    }))
                }
                tag => Some(Event::Start(tag)),
            }
        }
        Event::End(tag) => {
            depth -= 1;
            if depth >= MAX_DEPTH {
                return None;
            }
            match tag {
                TagEnd::Image => None,
                TagEnd::HtmlBlock => Some(Event::End(TagEnd::Paragraph)),
                TagEnd::Heading(_) => Some(Event::End(TagEnd::Heading(heading_at(outline.len())))),
                tag => Some(Event::End(tag)),
            }
        }
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::SoftBreak => Some(Event::HardBreak),
        event => Some(event),
    })
}

/// The element of a heading with `depth - 1` headings above it.
const fn heading_at(depth: usize) -> HeadingLevel {
    match depth {
        0 | 1 => HeadingLevel::H3,
        2 => HeadingLevel::H4,
        3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

/// What stands between the words before and after the border of an element.
const fn separator(tag: TagEnd) -> &'static str {
    match tag {
        TagEnd::Emphasis | TagEnd::Strong | TagEnd::Link | TagEnd::Image => "",
        TagEnd::TableCell => " ",
        _ => "\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn markdown_becomes_html() {
        for (text, expected) in [
            ("one\ntwo\n\nthree", "<p>one<br>\ntwo</p>\n<p>three</p>\n"),
            ("* a\n* *b*", "<ul>\n<li>a</li>\n<li><em>b</em></li>\n</ul>\n"),
            ("3. **c**", "<ol start=\"3\">\n<li><strong>c</strong></li>\n</ol>\n"),
            ("> `q`\n\n***", "<blockquote>\n<p><code>q</code></p>\n</blockquote>\n<hr>\n"),
            ("```rust\nlet a;\n```", "<pre><code>let a;\n</code></pre>\n"),
            ("![A cat](https://a.example/c.png)", "<p>A cat</p>\n"),
            ("Vec<T> & <b>\n\n<div>\n", "<p>Vec&lt;T&gt; &amp; &lt;b&gt;</p>\n<p>&lt;div&gt;\n</p>\n"),
            (
                "|a|\n|:-:|\n|b|",
                "<table><thead><tr><th>a</th></tr></thead><tbody>\n<tr><td>b</td></tr>\n</tbody></table>\n",
            ),
            (
                "[a](https://a.example/?b&c) <mailto:a@b.example>",
                "<p><a href=\"https://a.example/?b&amp;c\" rel=\"nofollow noopener noreferrer\">a</a> \
                 <a href=\"mailto:a@b.example\" rel=\"nofollow noopener noreferrer\">mailto:a@b.example</a></p>\n",
            ),
            (
                "[a](/b) [c](javascript:d)",
                "<p><a rel=\"nofollow noopener noreferrer\">a</a> <a rel=\"nofollow noopener noreferrer\">c</a></p>\n",
            ),
            ("", ""),
        ] {
            assert_eq!(html(text), expected, "{text}");
        }
    }

    #[test]
    fn headings_begin_at_the_third_level_and_leave_none_out() {
        let headings = html("## a\n#### b\n##### c\n###### d\n#### e\n# f\n### g\n");
        let levels: Vec<_> = headings.lines().map(|line| &line[..5]).collect();
        assert_eq!(levels, ["<h3>a", "<h4>b", "<h5>c", "<h6>d", "<h4>e", "<h3>f", "<h4>g"]);
    }

    #[test]
    fn words_are_left_of_markdown() {
        let text = "# We  build\n\nthings\twith **care**\nand <b>.\n\n- one\n- two\n  - [three](https://a.example)\n\n\
                    |a|b|\n|-|-|\n|c|![d](e)|\n\n```\nlet  x;\n```\n***\nend&amp;";
        let words = "We build\nthings with care\nand <b>.\none\ntwo\nthree\na b\nc d\nlet x;\nend&";
        assert_eq!(plain(text), words);
    }

    /// 20,000 characters of each that have brought Markdown parsers or HTML sanitizers to their knees.
    fn bombs() -> Vec<String> {
        let repeated = [
            ">",
            "> ",
            "- ",
            "* ",
            "1. ",
            "+ \n",
            ">\n\n",
            "-\n\n",
            "#\n",
            "***\n",
            "`",
            "`a``",
            "*",
            "**a *a ",
            "_a __a",
            "a**b",
            "[",
            "]",
            "[a](",
            "![",
            "[a]: b\n",
            "[](",
            "[[]](a)",
            "![a](b",
            "<",
            "<a ",
            "<!--",
            "<![CDATA[",
            "<?",
            "<p>",
            "</p>",
            "<div>\n",
            "&",
            "&amp;",
            "&nGg;",
            "\\",
            "\"",
            "~~~\n",
            "|",
            "|a|b|\n|-|-|\n",
            "|-",
            "    a\n",
            "\t",
            "🦀",
            "\u{2028}",
            "\0",
            "<https://a>",
            "<a@b>",
            "[a](<b>)",
            "<b><i>",
            "- >",
            ">\t-",
            "* a\n  ",
            "a\n",
            "\n",
        ];
        let mut bombs: Vec<String> =
            repeated.iter().map(|text| text.chars().cycle().take(20_000).collect()).collect();
        let stairs = |step: &str| (0..200).map(|depth| step.repeat(depth) + "a\n").collect::<String>();
        bombs.extend(["> ", "  - ", "*", "[", "`", "<b>"].map(stairs));
        bombs.extend(
            ["[a][", "[![", "*a **a ", "> - ", "<em>"].map(|open| open.repeat(20_000 / open.len()) + "]*"),
        );
        bombs.push(format!("|{}|\n|{}|\n{}", "a|".repeat(500), "-|".repeat(500), "|\n".repeat(8_000)));
        bombs.push(format!("[a]: {}\n{}", "b".repeat(10_000), "[a]".repeat(3_000)));
        bombs.push(format!("[a]: https://a.example/{}\n\n{}", "b".repeat(2_000), "[a]".repeat(6_000)));
        bombs
    }

    #[test]
    fn no_text_takes_long_or_grows_without_bound() {
        let (done, finished) = mpsc::channel();
        thread::spawn(move || {
            for bomb in bombs() {
                let html = html(&bomb);
                let sample: String = bomb.chars().take(20).collect();
                assert!(html.len() <= MAX_HTML, "{sample}: {}", html.len());
                assert!(plain(&bomb).len() <= bomb.len(), "{sample}");
                let deepest = html.split('<').scan(0_i32, |depth, tag| {
                    *depth += i32::from(!tag.starts_with(['/', 'b', 'h'])) - i32::from(tag.starts_with('/'));
                    Some(*depth)
                });
                assert!(deepest.max().unwrap_or(0) <= 16, "{sample}");
                done.send(sample).unwrap();
            }
        });
        for _ in bombs() {
            finished.recv_timeout(Duration::from_secs(10)).expect("a bomb takes at most moments");
        }
    }

    proptest! {
        #[test]
        fn cleaned_html_is_clean_and_what_is_cut_stays_so(text in "([<>&\"'a-c#*_`\\[\\]()!:|\n -]|javascript:|https://|🦀){0,60}", max in 300_usize..600) {
            let html = html(&text.repeat(9));
            prop_assert_eq!(&ALLOWED.clean(&html).to_string(), &html);
            let short = shortened(&html, max);
            prop_assert!(short.len() <= max);
            prop_assert_eq!(&ALLOWED.clean(&short).to_string(), &short);
        }
    }
}
