//! The elements of a description: those of Markdown, and those of HTML that have the same effect.

use std::mem;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};
use pulldown_cmark_escape::escape_href;
use url::Url;

use super::html_tag::{HtmlTag, decoded};

/// Parses a description. In the result, elements are nested correctly and at most `max_depth` deep; deeper elements keep
/// their text and lose their markup.
///
/// Line breaks are kept, as in plain text. Headings begin at the third level and do not skip levels. Languages of code and
/// alignments of tables are left out. Only links to web pages and email addresses remain. Others are replaced by their
/// text, and images by their alternative text. Any other HTML is text.
pub(super) fn elements(description: &str, max_depth: usize) -> Vec<Event<'_>> {
    let mut builder = Builder { max_depth, ..Builder::default() };
    for event in Parser::new_ext(description, Options::ENABLE_TABLES) {
        builder.add(event);
    }
    while !builder.open.is_empty() {
        builder.close_last();
    }
    builder.events
}

/// An open element.
#[derive(Clone, Copy)]
struct Open {
    /// Its end; `None` for a paragraph of Markdown. Its text opens a paragraph, unless a tag has done that already.
    end: Option<TagEnd>,
    /// Whether it comes from HTML, and may be closed by another tag.
    is_html: bool,
    /// The number of open elements of Markdown, including this one.
    level: usize,
    /// Whether it is in the result.
    is_shown: bool,
}

#[derive(Default)]
struct Builder<'t> {
    max_depth: usize,
    open: Vec<Open>,
    /// The number of open elements of Markdown.
    level: usize,
    /// The original levels of the current heading and the headings above it.
    outline: Vec<HeadingLevel>,
    /// The current block of HTML.
    html: String,
    events: Vec<Event<'t>>,
}

impl<'t> Builder<'t> {
    fn add(&mut self, event: Event<'t>) {
        match event {
            Event::Start(Tag::HtmlBlock) => self.html.clear(),
            Event::Html(html) => self.html.push_str(&html),
            Event::End(TagEnd::HtmlBlock) => {
                let html = mem::take(&mut self.html);
                self.add_html(&html);
                self.close_text();
            }
            Event::InlineHtml(html) => self.add_html(&html),
            Event::Start(tag) => {
                if is_inline(tag.to_end()) {
                    self.open_text();
                } else {
                    self.close_text();
                    self.open_item();
                }
                self.level += 1;
                match tag {
                    Tag::Paragraph => self.push(None, false, false),
                    tag => self.start(tag, false),
                }
            }
            Event::End(_) => {
                while self.open.last().is_some_and(|open| open.level >= self.level) {
                    self.close_last();
                }
                self.level = self.level.saturating_sub(1);
            }
            Event::SoftBreak | Event::HardBreak => self.add_break(),
            Event::Rule => {
                self.close_text();
                self.open_item();
                self.events.push(Event::Rule);
            }
            Event::Text(text) if is_space(&text) && !self.accepts_text() => {}
            Event::Text(_) | Event::Code(_) => {
                self.open_text();
                self.events.push(event);
            }
            // The parser's options produce no other events.
            _ => {}
        }
    }

    /// Adds HTML. Tags without an effect are text.
    fn add_html(&mut self, html: &str) {
        let mut rest = html;
        while let Some(at) = rest.find('<') {
            let (before, tag) = rest.split_at(at);
            self.add_text(before);
            rest = if let Some((tag, after)) = HtmlTag::parse(tag) {
                self.add_tag(tag);
                after
            } else {
                self.add_text("<");
                tag.strip_prefix('<').unwrap_or_default()
            };
        }
        self.add_text(rest);
    }

    /// Adds text from HTML, where line breaks are white space.
    fn add_text(&mut self, html: &str) {
        if html.is_empty() || (is_space(html) && !self.accepts_text()) {
            return;
        }
        self.open_text();
        self.events.push(Event::Text(decoded(html).replace('\n', " ").into()));
    }

    fn add_tag(&mut self, tag: HtmlTag) {
        match tag {
            HtmlTag::Break => self.add_break(),
            HtmlTag::End(tag) => self.close(tag.to_end()),
            HtmlTag::Start(tag) if is_inline(tag.to_end()) => {
                if matches!(tag, Tag::Link { .. }) {
                    self.close(TagEnd::Link);
                }
                self.open_text();
                self.start(tag, true);
            }
            HtmlTag::Start(tag) => {
                self.close_text();
                let is_item = matches!(tag, Tag::Item);
                if is_item && self.last_html() == Some(TagEnd::Item) {
                    self.close_last();
                }
                let is_in_list = matches!(self.last_html(), Some(TagEnd::List(_)));
                // Blocks cannot be in the inline elements, headings and tables of Markdown.
                if self.accepts_text() && self.last() != Some(TagEnd::Item) {
                    return;
                }
                match (is_in_list, is_item) {
                    (true, false) => self.start(Tag::Item, true),
                    (false, true) => self.start(Tag::List(None), true),
                    _ => {}
                }
                self.start(tag, true);
            }
        }
    }

    fn add_break(&mut self) {
        if self.accepts_text() {
            self.events.push(Event::HardBreak);
        }
    }

    /// Opens an element.
    fn start(&mut self, tag: Tag<'t>, is_html: bool) {
        let tag = match tag {
            Tag::Heading { level, .. } => {
                while self.outline.pop_if(|above| *above >= level).is_some() {}
                self.outline.push(level);
                let level = heading_at(self.outline.len());
                Tag::Heading { level, id: None, classes: Vec::new(), attrs: Vec::new() }
            }
            Tag::CodeBlock(_) => Tag::CodeBlock(CodeBlockKind::Indented),
            Tag::Table(_) => Tag::Table(Vec::new()),
            Tag::Link { link_type: LinkType::Email, dest_url, title, id } => {
                let dest_url = format!("mailto:{dest_url}").into();
                Tag::Link { link_type: LinkType::Inline, dest_url, title, id }
            }
            tag => tag,
        };
        let end = tag.to_end();
        let is_shown = match &tag {
            Tag::Image { .. } => false,
            Tag::Link { dest_url, .. } => {
                is_allowed(dest_url) && self.open.iter().all(|open| open.end != Some(TagEnd::Link))
            }
            Tag::Item | Tag::TableHead | Tag::TableRow | Tag::TableCell => {
                self.open.last().is_some_and(|parent| parent.is_shown)
            }
            _ => true,
        };
        let is_shown = is_shown && self.open.len() + levels_inside(&tag) < self.max_depth;
        if is_shown {
            self.events.push(Event::Start(tag));
        }
        self.push(Some(end), is_html, is_shown);
    }

    fn push(&mut self, end: Option<TagEnd>, is_html: bool, is_shown: bool) {
        self.open.push(Open { end, is_html, level: self.level, is_shown });
    }

    /// Opens a paragraph or an item, unless the current element accepts text.
    fn open_text(&mut self) {
        self.open_item();
        if !self.accepts_text() {
            self.start(Tag::Paragraph, true);
        }
    }

    /// Opens an item in a list of HTML, which can contain nothing else.
    fn open_item(&mut self) {
        if matches!(self.last_html(), Some(TagEnd::List(_))) {
            self.start(Tag::Item, true);
        }
    }

    /// Whether the current element accepts text.
    fn accepts_text(&self) -> bool {
        !matches!(self.last(), None | Some(TagEnd::BlockQuote(_) | TagEnd::List(_)))
    }

    /// The current element.
    fn last(&self) -> Option<TagEnd> {
        self.open.last().and_then(|open| open.end)
    }

    /// The current element, if it comes from HTML.
    fn last_html(&self) -> Option<TagEnd> {
        self.open.last().filter(|open| open.is_html).and_then(|open| open.end)
    }

    /// Closes the elements of HTML that can contain only text.
    fn close_text(&mut self) {
        while self
            .last_html()
            .is_some_and(|end| is_inline(end) || matches!(end, TagEnd::Paragraph | TagEnd::Heading(_)))
        {
            self.close_last();
        }
    }

    /// Closes the innermost such element of HTML, if no element of Markdown is in it.
    fn close(&mut self, end: TagEnd) {
        let kind = mem::discriminant(&end);
        let is_same = |open: &Open| open.end.is_some_and(|end| mem::discriminant(&end) == kind);
        let mut candidates = self.open.iter().rev().take_while(|open| open.is_html || open.end.is_none());
        let Some(inner) = candidates.position(is_same) else { return };
        for _ in 0..=inner {
            self.close_last();
        }
    }

    fn close_last(&mut self) {
        if let Some(Open { end: Some(end), is_shown: true, .. }) = self.open.pop() {
            self.events.push(Event::End(end));
        }
    }
}

fn is_space(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_whitespace())
}

const fn is_inline(end: TagEnd) -> bool {
    matches!(end, TagEnd::Strong | TagEnd::Emphasis | TagEnd::Link | TagEnd::Image)
}

/// Returns how many levels deep the elements are that an element must have.
const fn levels_inside(tag: &Tag<'_>) -> usize {
    match tag {
        Tag::List(_) => 1,
        Tag::Table(_) => 2,
        _ => 0,
    }
}

/// Returns the level of a heading with `depth - 1` headings above it.
const fn heading_at(depth: usize) -> HeadingLevel {
    match depth {
        0 | 1 => HeadingLevel::H3,
        2 => HeadingLevel::H4,
        3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

/// Whether a link may have this address: that of a web page or an email address. Browsers parse it with its escapes, and
/// take `https:page` without slashes for a page of the site that they are on.
fn is_allowed(address: &str) -> bool {
    let escaped = escaped_address(address).replace("&amp;", "&").replace("&#x27;", "'");
    Url::parse(&escaped).is_ok_and(|url| match url.scheme() {
        scheme @ ("http" | "https") => {
            escaped.get(scheme.len()..).is_some_and(|rest| rest.starts_with("://"))
        }
        scheme => scheme == "mailto",
    })
}

/// Escapes an address for an attribute in HTML.
pub(super) fn escaped_address(address: &str) -> String {
    let mut escaped = String::with_capacity(address.len());
    // Writing to a string cannot fail.
    let _ = escape_href(&mut escaped, address);
    escaped
}
