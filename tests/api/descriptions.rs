//! Descriptions that customers write, judged after a parser of browsers has read them: whatever the input is, there are only
//! elements and attributes that a description may have, and nothing leaves the page's container.
//!
//! The judge knows nothing of how the HTML is made. It has its own list of what is allowed.

use std::fmt::Write;
use std::sync::LazyLock;
use std::thread;

use scraper::node::Element;
use scraper::{Html, Node, Selector};
use shared::descriptions::html;
use shared::random::Random;
use tests::project;

/// The number of descriptions.
const COUNT: u64 = 100_000;
/// The number of threads.
const THREADS: u64 = 4;

/// What the inputs consist of: Markdown, HTML, its mistakes, addresses, and letters that parsers treat in a special way.
const PARTS: &[&str] = &[
    "a",
    "b c",
    "Straße",
    "\u{202e}",
    "\u{200b}",
    "🦀",
    "\0",
    "\u{b}",
    "\u{c}",
    "\r",
    "\n",
    "\n\n",
    "\t",
    "    ",
    " ",
    "  \n",
    "# ",
    "## ",
    "###### ",
    "- ",
    "* ",
    "+ ",
    "1. ",
    "7) ",
    "> ",
    "***\n",
    "---\n",
    "===\n",
    "`",
    "``",
    "```\n",
    "~~~\n",
    "*",
    "**",
    "_",
    "__",
    "~~",
    "[",
    "]",
    "(",
    ")",
    "![",
    "](",
    "](<",
    ">)",
    "[a]: ",
    "[a]",
    "[^1]",
    "[^1]: ",
    ":::",
    "|",
    "|a|b|\n|-|-|\n",
    "|:-:|",
    "\\",
    "\\\n",
    "&",
    "&amp;",
    "&lt;",
    "&#60;",
    "&#x3c;",
    "&colon;",
    "&Tab;",
    "&#0;",
    "&lt",
    "&NewLine;",
    "\"",
    "'",
    "=",
    "/",
    "//",
    "/>",
    "<",
    ">",
    "</",
    "<!",
    "<!--",
    "-->",
    "--!>",
    "<![CDATA[",
    "]]>",
    "<?",
    "?>",
    "<p>",
    "</p>",
    "<p ",
    "<b>",
    "</b>",
    "<i>",
    "</i>",
    "<em>",
    "</em>",
    "<strong>",
    "</strong>",
    "<code>",
    "</code>",
    "<ul>",
    "</ul>",
    "<ol>",
    "<ol start=2>",
    "</ol>",
    "<li>",
    "</li>",
    "<br>",
    "<br/>",
    "<hr>",
    "<h1>",
    "</h1>",
    "<h6>",
    "</h6>",
    "<blockquote>",
    "</blockquote>",
    "<pre>",
    "</pre>",
    "<table>",
    "<tr>",
    "<td>",
    "</td>",
    "</table>",
    "<div>",
    "</div>",
    "<span style=x>",
    "</span>",
    "<section>",
    "</section>",
    "</main>",
    "</body>",
    "</html>",
    "<body onload=x>",
    "<a>",
    "</a>",
    "<a href=\"",
    "<a href='",
    "<a href=",
    "<a HREF = ",
    "<a title=x href=",
    " onclick=x",
    " style=x",
    " target=_blank",
    "\">",
    "'>",
    "<img src=x onerror=x>",
    "<svg onload=x>",
    "<svg><style>",
    "<math><mtext>",
    "<style>",
    "</style>",
    "<script>",
    "</script>",
    "<script src=//x>",
    "<title>",
    "</title>",
    "<textarea>",
    "</textarea>",
    "<select>",
    "<template>",
    "</template>",
    "<noscript>",
    "</noscript>",
    "<iframe srcdoc=x>",
    "<object data=x>",
    "<embed src=x>",
    "<base href=//x>",
    "<meta http-equiv=refresh content=0>",
    "<link rel=stylesheet href=x>",
    "<form action=x>",
    "<input autofocus onfocus=x>",
    "<button>",
    "<plaintext>",
    "<xmp>",
    "<frameset>",
    "<marquee onstart=x>",
    "<x-y>",
    "https://a.example",
    "http://a.example/?b&c",
    "https:",
    "https:a",
    "http:/a",
    "//a.example",
    "mailto:a@b.example",
    "javascript:x",
    "JaVaScRiPt:x",
    "java\tscript:x",
    "java&#10;script:x",
    "&#106;avascript:x",
    "vbscript:x",
    "data:text/html,x",
    "blob:x",
    "file:///x",
    "about:blank",
    "\u{1}javascript:x",
    "x:y",
    "<https://a.example>",
    "<javascript:x>",
    "<a@b.example>",
    "www.a.example",
    "%22onclick=x",
    "{{x}}",
    "${x}",
    "<%x%>",
];

/// What a description may contain: the elements with their attributes.
fn may_have(element: &str, attribute: &str, value: &str) -> bool {
    match (element, attribute) {
        ("a", "href") => {
            ["https://", "http://", "mailto:"].iter().any(|scheme| value.to_lowercase().starts_with(scheme))
        }
        ("a", "rel") => value == "nofollow noopener noreferrer",
        ("ol", "start") => !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()),
        _ => false,
    }
}

/// Whether an element may be a child of another one.
fn may_be_in(element: &str, parent: &str) -> bool {
    const INLINE: [&str; 5] = ["a", "br", "code", "em", "strong"];
    const BLOCKS: [&str; 11] = ["blockquote", "h3", "h4", "h5", "h6", "hr", "ol", "p", "pre", "table", "ul"];
    match parent {
        "div" | "blockquote" => BLOCKS.contains(&element),
        "ol" | "ul" => element == "li",
        "li" => INLINE.contains(&element) || BLOCKS.contains(&element),
        "table" => ["thead", "tbody"].contains(&element),
        "thead" | "tbody" => element == "tr",
        "tr" => ["th", "td"].contains(&element),
        "pre" => element == "code",
        "p" | "h3" | "h4" | "h5" | "h6" | "th" | "td" | "a" | "em" | "strong" => INLINE.contains(&element),
        _ => false,
    }
}

fn check(element: &Element, parent: &str) -> Result<(), String> {
    let name = element.name();
    if !may_be_in(name, parent) {
        return Err(format!("<{name}> in <{parent}>"));
    }
    match element.attrs().find(|(attribute, value)| !may_have(name, attribute, value)) {
        Some((attribute, value)) => Err(format!("<{name} {attribute}=\"{value}\">")),
        None if name == "a" && element.attr("rel").is_none() => Err("<a> without rel".to_owned()),
        None => Ok(()),
    }
}

/// Judges the HTML of a description in a page. `Err` says what is wrong.
fn judge(html: &str) -> Result<(), String> {
    static SELECTORS: LazyLock<[Selector; 3]> = LazyLock::new(|| {
        ["main > div#box", "main > p#after", "head > *, body > *, main > *"]
            .map(|selector| Selector::parse(selector).expect("a selector"))
    });
    let [container, after, all] = &*SELECTORS;
    let page =
        format!("<!doctype html><title>x</title><main><div id=box>{html}</div><p id=after>y</p></main>");
    let page = Html::parse_document(&page);
    let (Some(container), Some(after)) = (page.select(container).next(), page.select(after).next()) else {
        return Err("the page is another one".to_owned());
    };
    if container.next_sibling().map(|next| next.id()) != Some(after.id()) || after.inner_html() != "y" {
        return Err("the description leaves its container".to_owned());
    }
    for node in container.descendants().skip(1) {
        let parent = node.parent().and_then(|parent| parent.value().as_element()).map_or("", Element::name);
        match node.value() {
            Node::Text(_) => {}
            Node::Element(element) => check(element, parent)?,
            other => return Err(format!("{other:?}")),
        }
    }
    match page.select(all).count() {
        4 => Ok(()),
        count => Err(format!("{count} elements of the page")),
    }
}

/// The description with this number.
fn description(number: u64, hostile: &[String]) -> String {
    let random = Random::seeded(number);
    let mut text = String::new();
    for _ in 0..=random.below(16) {
        match random.below(12) {
            0 => text
                .push_str(&hostile[usize::try_from(random.below(hostile.len() as u64)).expect("an index")]),
            1 => {
                // Any character.
                let any = u32::try_from(random.below(0x11_0000)).ok().and_then(char::from_u32);
                text.push(any.unwrap_or('\u{fffd}'));
            }
            2 => {
                // A part of what is there already.
                let cut = text.floor_char_boundary(usize::try_from(random.below(30)).expect("an index"));
                let again = text[..cut.min(text.len())].to_owned();
                let _ = write!(text, "{again}");
            }
            _ => text.push_str(PARTS[usize::try_from(random.below(PARTS.len() as u64)).expect("an index")]),
        }
    }
    text
}

#[test]
fn the_judge_refuses_what_a_description_must_not_have() {
    for safe in ["", "<p>a <strong>b</strong><br>c</p>", "<ol start=\"2\"><li>a<ul><li>b</li></ul></li></ol>"]
    {
        assert_eq!(judge(safe), Ok(()), "{safe}");
    }
    for hostile in [
        "<script>x</script>",
        "<p onclick=x>a</p>",
        "<p><img src=x></p>",
        "<p><a href=\"javascript:x\" rel=\"nofollow noopener noreferrer\">a</a></p>",
        "<p><a href=\"/x\" rel=\"nofollow noopener noreferrer\">a</a></p>",
        "<p><a href=\"https://x\">a</a></p>",
        "<ol start=\"x\"></ol>",
        "</div><p>a</p>",
        "<p>a</p></main>",
        "<!-- x -->",
        "<li>a</li>",
        "<table><b>a</b></table>",
        "<title>x",
        "<b>a",
    ] {
        assert!(judge(hostile).is_err(), "{hostile}");
    }
}

#[test]
fn a_hundred_thousand_hostile_descriptions_are_safe_in_a_page() {
    let hostile = std::fs::read_to_string(project("tests/xss.txt")).unwrap();
    let hostile: Vec<_> = hostile.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    assert!(hostile.len() > 50);
    let failures = thread::scope(|scope| {
        let part = |first: u64| {
            let hostile = &hostile;
            scope.spawn(move || {
                let judged =
                    (first..COUNT).step_by(usize::try_from(THREADS).expect("a number")).map(|number| {
                        let text = description(number, hostile);
                        let html = html(&text);
                        (number, judge(&html), text, html)
                    });
                judged.filter(|(_, verdict, ..)| verdict.is_err()).take(3).collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = (0..THREADS).map(part).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(failures.is_empty(), "{failures:#?}");
    let some: String = (0..3_000).map(|number| html(&description(number, &hostile))).collect();
    for element in [
        "a href=",
        "blockquote>",
        "br>",
        "code>",
        "em>",
        "h3>",
        "hr>",
        "li>",
        "ol>",
        "ol start=",
        "p>",
        "pre>",
        "strong>",
        "table>",
        "td>",
        "th>",
        "ul>",
    ] {
        assert!(some.contains(&format!("<{element}")), "no description has <{element}");
    }
}
