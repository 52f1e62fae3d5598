//! Converts customers' descriptions and notes, written in Markdown, HTML or plain text, to safe HTML or to plain text.

// Not the sanitizer ammonia: it drops what is not a tag, such as the T of `Vec<T>`, makes no plain text, and has a table
// with 250 KB of pointers, which the loader relocates at every start. The tests compare the HTML with what it leaves.

mod elements;
mod html_tag;

use pulldown_cmark::{Event, LinkType, Tag, TagEnd, html::push_html};

use elements::{elements, escaped_address};

/// The maximum size of the HTML, in bytes. Any ordinary text of 20,000 characters fits; text that is only markup is
/// cut.
const MAX_HTML: usize = 64_000;
/// The maximum nesting depth of elements. Deeper elements keep their text and lose their markup.
const MAX_DEPTH: usize = 12;

/// Converts a description to safe HTML of at most 64,000 bytes.
///
/// HTML tags with the same effect as Markdown become part of it. All other HTML is shown as text.
pub fn html(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + text.len() / 2);
    push_html(&mut html, elements(text, MAX_DEPTH).into_iter().map(with_relation));
    // Only tags contain `>`, because it is escaped everywhere else.
    shortened(&html.replace(" />", ">"), MAX_HTML)
}

/// A part of a text.
pub enum Part<'t> {
    /// As it is.
    Plain(&'t str),
    /// A link to a URL.
    Link(&'t str, String),
    /// Emphasized.
    Strong(&'t str),
}

/// Converts a note to safe HTML, like [`html`]. `parts` divides a text of it that is no code and no link.
pub fn note(text: &str, parts: impl Fn(&str) -> Vec<Part<'_>>) -> String {
    let mut html = String::with_capacity(text.len() + text.len() / 2);
    let events = joined(elements(text, MAX_DEPTH)).into_iter().flat_map(|(event, is_running)| match event {
        Event::Text(text) if is_running => parts(&text).into_iter().flat_map(events_of).collect(),
        event => vec![event],
    });
    push_html(&mut html, events.map(with_relation));
    shortened(&html.replace(" />", ">"), MAX_HTML)
}

/// The texts of a note that are no code and no links.
pub fn texts(note: &str) -> Vec<String> {
    let events = joined(elements(note, usize::MAX)).into_iter().filter(|(_, is_running)| *is_running);
    let text = |(event, _)| match event {
        Event::Text(text) => Some(text.into_string()),
        _ => None,
    };
    events.filter_map(text).collect()
}

/// Joins texts that follow each other. Says of each event whether it is outside of code and links.
fn joined(events: Vec<Event<'_>>) -> Vec<(Event<'_>, bool)> {
    let mut joined: Vec<(Event<'_>, bool)> = Vec::new();
    let mut depth = 0_usize;
    for event in events {
        let has_no_running_text = |end| matches!(end, TagEnd::CodeBlock | TagEnd::Link);
        match &event {
            Event::Start(tag) if has_no_running_text(tag.to_end()) => depth += 1,
            Event::End(end) if has_no_running_text(*end) => depth = depth.saturating_sub(1),
            _ => {}
        }
        match (joined.last_mut(), event) {
            (Some((Event::Text(before), _)), Event::Text(text)) => {
                *before = format!("{before}{text}").into();
            }
            (_, event) => joined.push((event, depth == 0)),
        }
    }
    joined
}

/// The events of a part.
fn events_of<'e>(part: Part<'_>) -> Vec<Event<'e>> {
    let text = |text: &str| Event::Text(text.to_owned().into());
    match part {
        Part::Plain(plain) => vec![text(plain)],
        Part::Strong(strong) => vec![Event::Start(Tag::Strong), text(strong), Event::End(TagEnd::Strong)],
        Part::Link(shown, url) => {
            let (link_type, title, id) = (LinkType::Inline, "".into(), "".into());
            let link = Tag::Link { link_type, dest_url: url.into(), title, id };
            vec![Event::Start(link), text(shown), Event::End(TagEnd::Link)]
        }
    }
}

/// Tells search engines and browsers that the organization does not vouch for the page behind a link. Leaves out the
/// link's title.
fn with_relation(event: Event<'_>) -> Event<'_> {
    let Event::Start(Tag::Link { dest_url, .. }) = event else { return event };
    let address = escaped_address(&dest_url);
    let link = format!("<a href=\"{address}\" rel=\"nofollow noopener noreferrer\">");
    Event::InlineHtml(link.into())
}

/// Converts a description to plain text: one line for each paragraph, list item and line break, with single spaces
/// between words.
pub fn plain(text: &str) -> String {
    plain_text(elements(text, usize::MAX))
}

/// Converts a description to plain text without tables and code blocks, which make no sense as running text.
pub fn running_text(text: &str) -> String {
    let mut depth = 0;
    plain_text(elements(text, usize::MAX).into_iter().filter(|event| {
        let is_block = |tag| matches!(tag, TagEnd::Table | TagEnd::CodeBlock);
        match event {
            Event::Start(tag) if is_block(tag.to_end()) => depth += 1,
            Event::End(tag) if is_block(*tag) => {
                depth -= 1;
                return false;
            }
            _ => {}
        }
        depth == 0
    }))
}

fn plain_text<'t>(events: impl IntoIterator<Item = Event<'t>>) -> String {
    let mut plain = String::new();
    for event in events {
        match event {
            Event::Text(text) | Event::Code(text) => plain.push_str(&text),
            Event::Start(tag) => plain.push_str(separator(tag.to_end())),
            Event::End(tag) => plain.push_str(separator(tag)),
            _ => plain.push('\n'),
        }
    }
    let lines = plain.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Shortens HTML from [`html`] to at most `max` bytes, which must be at least a few hundred. Open elements are closed.
fn shortened(html: &str, max: usize) -> String {
    /// The number of bytes reserved for closing open elements.
    const ROOM: usize = 256;
    if html.len() <= max {
        return html.to_owned();
    }
    let mut cut = html.get(..html.floor_char_boundary(max.saturating_sub(ROOM))).unwrap_or_default();
    // A cut tag or character reference is left out.
    for (start, end) in [('<', '>'), ('&', ';')] {
        if cut.rfind(start) > cut.rfind(end) {
            cut = cut.rsplit_once(start).map_or(cut, |(before, _)| before);
        }
    }
    let mut open = Vec::new();
    for (tag, _) in cut.split('<').filter_map(|text| text.split_once('>')) {
        match tag.split(' ').next().unwrap_or_default() {
            "br" | "hr" => {}
            end if end.starts_with('/') => drop(open.pop()),
            start => open.push(start),
        }
    }
    let mut short = cut.to_owned();
    for name in open.into_iter().rev() {
        short.extend(["</", name, ">"]);
    }
    short
}

/// Returns the separator between the text inside and outside an element.
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
    use ammonia::{Builder, UrlRelative};
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn running_text_has_no_tables_and_no_code_blocks() {
        let text = "One `two`\n\n| a | b |\n|---|---|\n| c | d |\n\n- three\n\n      indented\n\n```\nlet a;\n```\n\n\
                    four";
        assert_eq!(running_text(text), "One two\nthree\nfour");
        assert_eq!(running_text("| a |\n|---|\n| c |"), "");
    }

    #[test]
    fn markdown_is_converted_to_html() {
        for (text, expected) in [
            ("one\ntwo\n\nthree", "<p>one<br>\ntwo</p>\n<p>three</p>\n"),
            ("* a\n* *b*", "<ul>\n<li>a</li>\n<li><em>b</em></li>\n</ul>\n"),
            ("3. **c**", "<ol start=\"3\">\n<li><strong>c</strong></li>\n</ol>\n"),
            ("> `q`\n\n***", "<blockquote>\n<p><code>q</code></p>\n</blockquote>\n<hr>\n"),
            ("```rust\nlet a;\n```", "<pre><code>let a;\n</code></pre>\n"),
            ("![A cat](https://a.example/c.png)", "<p>A cat</p>\n"),
            ("Vec<T> & <u>\n\n<div>\n", "<p>Vec&lt;T&gt; &amp; &lt;u&gt;</p>\n<p>&lt;div&gt; </p>\n"),
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
                "[a](https://a.example 'b')",
                "<p><a href=\"https://a.example\" rel=\"nofollow noopener noreferrer\">a</a></p>\n",
            ),
            ("[a](/b) [c](javascript:d)", "<p>a c</p>\n"),
            // A browser resolves these on the site that shows them.
            ("[a](https:b) [c](HTTP:/d) [e](https:\\\\f) <http:g>", "<p>a c e http:g</p>\n"),
            ("<a href='https:b'>c</a> <a href='ht&Tab;tps:///d'>e</a>", "<p>c e</p>\n"),
            ("", ""),
        ] {
            assert_eq!(html(text), expected, "{text}");
        }
    }

    #[test]
    fn html_with_the_same_effect_as_markdown_is_converted() {
        for (text, expected) in [
            (
                "<h2>Tasks</h2><p class=\"a\">One &amp; <b>two</b>,\n<i>three</i></p>\n<p>four<br/>five</p>",
                "<h3>Tasks</h3>\n<p>One &amp; <strong>two</strong>, <em>three</em></p>\n<p>four<br>\nfive</p>\n",
            ),
            (
                "<ul>\n    <li>One</li>\n    <li><strong>Two</strong>\n  <ol><li>a</li></ol></li>\n</ul>\nEnd",
                "<ul>\n<li>One</li>\n<li><strong>Two</strong>   \n<ol>\n<li>a</li>\n</ol>\n</li>\n</ul>\n<p> End</p>\n",
            ),
            (
                "<a href='https://a.example/?b&amp;c' target=_blank onclick=d>e</a> <a href=javascript:f>g</a>",
                "<p><a href=\"https://a.example/?b&amp;c\" rel=\"nofollow noopener noreferrer\">e</a> \
                 g</p>\n",
            ),
            (
                "Use *both*: <em>a</em><br>b\n**c**",
                "<p>Use <em>both</em>: <em>a</em><br>\nb<br>\n<strong>c</strong></p>\n",
            ),
            ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
            ("<p onclick=a><img src=b onerror=c></p>", "<p>&lt;img src=b onerror=c&gt;</p>\n"),
            ("&lt;p&gt; `<p>` \\<p>", "<p>&lt;p&gt; <code>&lt;p&gt;</code> &lt;p&gt;</p>\n"),
        ] {
            assert_eq!(html(text), expected, "{text}");
        }
    }

    #[test]
    fn html_that_is_not_nested_correctly_is_corrected() {
        for (text, expected) in [
            ("<p>a<p>b", "<p>a</p>\n<p>b</p>\n"),
            ("<ul><li>a<li>b</ul>c", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n<p>c</p>\n"),
            ("<li>a</li>", "<ul>\n<li>a</li>\n</ul>\n"),
            ("<ul>a<p>b</ul>", "<ul>\n<li>a\n<p>b</p>\n</li>\n</ul>\n"),
            ("<b>a\n\nb", "<p><strong>a</strong></p>\n<p>b</p>\n"),
            ("</p></b>a</ul>", "<p>a</p>\n"),
            ("<p>First\n\nsecond</p>third", "<p>First </p>\n<p>second</p>\n<p>third</p>\n"),
            ("Intro<ul><li>a</li></ul>outro", "<p>Intro</p>\n<ul>\n<li>a</li>\n</ul>\n<p>outro</p>\n"),
            (
                "<ul>\n\n<li>\n\n*a*\n\n</li>\n\n</ul>\n\nb",
                "<ul>\n<li> \n<p><em>a</em></p>\n</li>\n</ul>\n<p>b</p>\n",
            ),
            ("> <ul><li>a\n\nb", "<blockquote>\n<ul>\n<li>a </li>\n</ul>\n</blockquote>\n<p>b</p>\n"),
            ("**a <ul><li>b</li></ul> c**", "<p><strong>a b c</strong></p>\n"),
            ("# a <h1>b</h1>", "<h3>a b</h3>\n"),
            ("- a<p>b\n  # c", "<ul>\n<li>a\n<p>b</p>\n<h3>c</h3>\n</li>\n</ul>\n"),
            ("- a<b>b\n  ***", "<ul>\n<li>a<strong>b</strong>\n<hr>\n</li>\n</ul>\n"),
            (
                "<a href=https://a.example>b <a href=https://c.example>d [e](https://f.example)",
                "<p><a href=\"https://a.example\" rel=\"nofollow noopener noreferrer\">b </a>\
                 <a href=\"https://c.example\" rel=\"nofollow noopener noreferrer\">d e</a></p>\n",
            ),
        ] {
            assert_eq!(html(text), expected, "{text}");
        }
    }

    #[test]
    fn elements_beyond_the_maximum_depth_keep_their_text() {
        for depth in 0..MAX_DEPTH + 3 {
            let quotes = "> ".repeat(depth);
            for (text, tag, levels) in
                [("- a", "<ul>", 2), ("|a|\n|-|\n|b|", "<table>", 3), ("# a", "<h3>", 1)]
            {
                let html = html(&format!("{quotes}{}", text.replace('\n', &format!("\n{quotes}"))));
                assert_eq!(html.contains(tag), depth + levels <= MAX_DEPTH, "{html}");
                assert!(html.contains('a'), "{html}");
                assert_eq!(sanitized(&html), html);
            }
        }
    }

    #[test]
    fn headings_begin_at_the_third_level_and_do_not_skip_levels() {
        let headings = html("## a\n#### b\n##### c\n###### d\n#### e\n# f\n### g\n");
        let levels: Vec<_> = headings.lines().map(|line| &line[..5]).collect();
        assert_eq!(levels, ["<h3>a", "<h4>b", "<h5>c", "<h6>d", "<h4>e", "<h3>f", "<h4>g"]);
        let mixed = html("## a\n\n<h1>b</h1><h6>c</h3>\n\n# d");
        let levels: Vec<_> = mixed.lines().map(|line| &line[..5]).collect();
        assert_eq!(levels, ["<h3>a", "<h3>b", "<h4>c", "<h3>d"]);
    }

    #[test]
    fn markdown_is_converted_to_plain_text() {
        let text = "# We  build\n\nthings\twith **care**\nand <T>.\n\n- one\n- two\n  - [three](https://a.example)\n\n\
                    |a|b|\n|-|-|\n|c|![d](e)|\n\n```\nlet  x;\n```\n***\nend&amp;";
        let expected = "We build\nthings with care\nand <T>.\none\ntwo\nthree\na b\nc d\nlet x;\nend&";
        assert_eq!(plain(text), expected);
        let html = "<h2>We build</h2>\n<p>things &amp; <b>more</b>\nof it.<br>Now.</p><ul><li>one<li>t<i>w</i>o</ul><div>";
        assert_eq!(plain(html), "We build\nthings & more of it.\nNow.\none\ntwo\n<div>");
    }

    /// Returns long inputs that are known to slow down Markdown parsers or HTML sanitizers.
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
            "<ul>",
            "<ul><li>",
            "<li>",
            "<br>",
            "<a href=b>",
            "<p><b>",
            "</ul>",
            "<p a='",
            "<p a=b ",
            "<p\n",
            "<h1>",
            "- >",
            ">\t-",
            "* a\n  ",
            "a\n",
            "\n",
        ];
        let mut bombs: Vec<String> =
            repeated.iter().map(|text| text.chars().cycle().take(20_000).collect()).collect();
        let stairs = |step: &str| (0..200).map(|depth| step.repeat(depth) + "a\n").collect::<String>();
        bombs.extend(["> ", "  - ", "*", "[", "`", "<b>", "<ul>"].map(stairs));
        bombs.extend(
            ["[a][", "[![", "*a **a ", "> - ", "<em>", "<ul><li>a"]
                .map(|open| open.repeat(20_000 / open.len()) + "]*"),
        );
        bombs.push(format!("|{}|\n|{}|\n{}", "a|".repeat(500), "-|".repeat(500), "|\n".repeat(8_000)));
        bombs.push(format!("[a]: {}\n{}", "b".repeat(10_000), "[a]".repeat(3_000)));
        bombs.push(format!("[a]: https://a.example/{}\n\n{}", "b".repeat(2_000), "[a]".repeat(6_000)));
        bombs
    }

    #[test]
    fn conversion_of_pathological_input_is_fast_and_bounded() {
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
            finished
                .recv_timeout(Duration::from_mins(2))
                .expect("each input is converted within two minutes");
        }
    }

    /// Returns what a sanitizer leaves of HTML if it allows only what a description may contain.
    fn sanitized(html: &str) -> String {
        let tags = "a blockquote br code em h3 h4 h5 h6 hr li ol p pre strong table tbody td th thead tr ul";
        Builder::empty()
            .tags(tags.split(' ').collect())
            .tag_attributes(HashMap::from([("a", HashSet::from(["href"])), ("ol", HashSet::from(["start"]))]))
            .url_schemes(HashSet::from(["http", "https", "mailto"]))
            .url_relative(UrlRelative::Deny)
            .link_rel(Some("nofollow noopener noreferrer"))
            .clean(html)
            .to_string()
    }

    /// A part of a note: a word with an `a` is strong, and one with a `b` is a link.
    fn part(word: &str) -> Part<'_> {
        if word.contains('a') {
            Part::Strong(word)
        } else if word.contains('b') {
            // An address has no white space, and its apostrophes are written so.
            let query = word.replace(char::is_whitespace, "").replace('\'', "%27");
            Part::Link(word, format!("https://b.example/?{query}"))
        } else {
            Part::Plain(word)
        }
    }

    #[test]
    fn texts_of_a_note_have_parts_outside_of_code_and_links() {
        for (text, expected) in [
            ("x a y", "<p>x <strong>a </strong>y</p>\n"),
            (
                "x_b_y [a](https://c.example)",
                "<p><a href=\"https://b.example/?x_b_y\" rel=\"nofollow noopener noreferrer\">x_b_y </a><a href=\"https://c.example\" rel=\"nofollow noopener noreferrer\">a</a></p>\n",
            ),
            (
                "`a`\n\n    a\n\na",
                "<p><code>a</code></p>\n<pre><code>a\n</code></pre>\n<p><strong>a</strong></p>\n",
            ),
            ("**a**", "<p><strong><strong>a</strong></strong></p>\n"),
        ] {
            assert_eq!(note(text, |text| text.split_inclusive(' ').map(part).collect()), expected, "{text}");
        }
        assert_eq!(texts("x_b_y [a](https://c.example) `a`\n**a**"), ["x_b_y ", " ", "a"]);
    }

    proptest! {
        #[test]
        fn html_is_safe_before_and_after_shortening(text in "([<>&\"'a-c#*_`\\[\\]()!:|\n -]|\\|a\\|\n\\|-\\|\n|</?(p|ul|ol|li|b|i|h[1-6]|br)>|<a href=|javascript:|https://|🦀){0,60}", max in 300_usize..600) {
            let html = html(&text.repeat(9));
            prop_assert_eq!(&sanitized(&html), &html);
            let short = shortened(&html, max);
            prop_assert!(short.len() <= max);
            prop_assert_eq!(&sanitized(&short), &short);
            let note = note(&text, |text| text.split_inclusive(' ').map(part).collect());
            prop_assert_eq!(&sanitized(&note), &note);
        }
    }
}
