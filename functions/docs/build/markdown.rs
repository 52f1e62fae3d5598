//! Markdown as HTML: the guide, and the descriptions in the document.

use std::collections::BTreeMap;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd, html};

use crate::highlight::{Language, escaped, highlighted};
use crate::samples::BASE_URL;

/// The URL of the local service, which the guide has in its commands.
const LOCAL_URL: &str = "http://127.0.0.1:3000";
/// The number of lines from which code is shown in a box that scrolls.
const MANY_LINES: usize = 28;

/// A section of the guide, which is a page.
pub(crate) struct Section {
    pub(crate) page: String,
    pub(crate) title: String,
    pub(crate) html: String,
    /// The headings within the section, with the text below them. The first is the section itself, without an anchor.
    pub(crate) passages: Vec<Passage>,
}

/// A heading and the text below it.
#[derive(Default)]
pub(crate) struct Passage {
    pub(crate) title: String,
    pub(crate) anchor: String,
    pub(crate) text: String,
}

/// The pages and anchors of the guide's headings, by their anchor in the guide.
pub(crate) struct Links(BTreeMap<String, String>);

impl Links {
    /// Returns the target of a link in the guide. Other files of the project have no page.
    fn target(&self, link: &str) -> Result<Option<String>, String> {
        if let Some(anchor) = link.strip_prefix('#') {
            let target = self.0.get(anchor).ok_or_else(|| format!("the guide has no heading #{anchor}"))?;
            return Ok(Some(target.clone()));
        }
        Ok((link.contains("://") || link.starts_with('/')).then(|| link.to_owned()))
    }
}

/// Returns the sections of the guide, and the targets of its links.
pub(crate) fn guide(text: &str) -> Result<(Vec<Section>, Links), String> {
    let parts = parts(text);
    let mut links = BTreeMap::new();
    for (title, body) in &parts {
        let page = format!("guide-{}", slug(title));
        links.insert(slug(title), format!("/docs/{page}"));
        for heading in headings(body) {
            links.insert(slug(&heading), format!("/docs/{page}#{}", slug(&heading)));
        }
    }
    let links = Links(links);
    let sections = parts.into_iter().map(|(title, body)| {
        let mut writer = Writer::new(&links);
        writer.passages.push(Passage { title: title.clone(), ..Passage::default() });
        writer.write(&body)?;
        let Writer { html, passages, .. } = writer;
        Ok(Section { page: format!("guide-{}", slug(&title)), title, html, passages })
    });
    let sections = sections.collect::<Result<_, String>>()?;
    Ok((sections, links))
}

/// Converts a description.
pub(crate) fn description(text: &str, links: &Links) -> Result<String, String> {
    let mut writer = Writer::new(links);
    writer.write(text)?;
    Ok(writer.html)
}

/// Returns the title and the text of each section, which begins with a heading of the second level.
fn parts(text: &str) -> Vec<(String, String)> {
    let mut parts: Vec<(String, String)> = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        match (line.strip_prefix("## "), parts.last_mut()) {
            (Some(title), _) if !is_code => parts.push((title.to_owned(), String::new())),
            (_, Some((_, body))) => {
                body.push_str(line);
                body.push('\n');
            }
            (_, None) => {}
        }
    }
    parts
}

fn headings(text: &str) -> Vec<String> {
    let mut headings = Vec::new();
    let mut heading = None;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => headings.extend(heading.take()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            _ => {}
        }
    }
    headings
}

/// Returns the anchor of a heading, as code hosts generate it.
pub(crate) fn slug(title: &str) -> String {
    let kept = title.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// Converts Markdown to HTML.
struct Writer<'l> {
    links: &'l Links,
    html: String,
    passages: Vec<Passage>,
    /// The events since the start of a heading or a cell of a table's head, which are written at its end.
    pending: Option<Vec<Event<'static>>>,
    /// The text of the current heading, code block or cell of a table's head.
    text: String,
    language: Option<String>,
    /// The column headings of the current table, and the number of the current column in its body.
    columns: Vec<String>,
    column: usize,
    is_head: bool,
    /// Whether each open link has a target.
    open_links: Vec<bool>,
}

impl<'l> Writer<'l> {
    const fn new(links: &'l Links) -> Self {
        Self {
            links,
            html: String::new(),
            passages: Vec::new(),
            pending: None,
            text: String::new(),
            language: None,
            columns: Vec::new(),
            column: 0,
            is_head: false,
            open_links: Vec::new(),
        }
    }

    fn write(&mut self, text: &str) -> Result<(), String> {
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            self.read(&event);
            self.write_event(event.into_static())?;
        }
        Ok(())
    }

    /// Collects the text of passages, headings and code.
    fn read(&mut self, event: &Event<'_>) {
        let text = match event {
            Event::Text(text) | Event::Code(text) => text,
            Event::SoftBreak | Event::HardBreak | Event::End(_) => " ",
            _ => return,
        };
        self.text.push_str(text);
        if let Some(passage) =
            self.passages.last_mut().filter(|_| self.language.is_none() && self.pending.is_none())
        {
            passage.text.push_str(text);
        }
    }

    fn write_event(&mut self, event: Event<'static>) -> Result<(), String> {
        match event {
            Event::Start(Tag::Heading { .. } | Tag::TableCell) => self.begin(),
            Event::End(TagEnd::Heading(level)) => {
                let title = self.text.trim().to_owned();
                let (anchor, content) = (slug(&title), self.end());
                // The title of the page is the section's heading.
                let level = (level as usize).saturating_sub(1).max(2);
                self.push(&format!(
                    "<h{level} id=\"{anchor}\"><a href=\"#{anchor}\">{content}</a></h{level}>\n"
                ));
                self.passages.push(Passage { title, anchor, text: String::new() });
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                self.text.clear();
                self.language = Some(match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                });
            }
            Event::Text(_) if self.language.is_some() => {}
            Event::End(TagEnd::CodeBlock) => {
                let language = self.language.take().unwrap_or_default();
                let code = std::mem::take(&mut self.text);
                let html = if language == "mermaid" { transitions(&code) } else { block(&code, &language) };
                self.push(&html);
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                let target = self.links.target(&dest_url)?;
                self.open_links.push(target.is_some());
                if let Some(target) = target {
                    self.emit(Event::InlineHtml(format!("<a href=\"{}\">", escaped(&target)).into()));
                }
            }
            Event::End(TagEnd::Link) => {
                if self.open_links.pop() == Some(true) {
                    self.emit(Event::InlineHtml("</a>".into()));
                }
            }
            Event::Start(Tag::Table(_)) => {
                self.columns.clear();
                self.push("<table>\n");
            }
            Event::End(TagEnd::Table) => self.push("</tbody></table>\n"),
            Event::Start(Tag::TableHead) => {
                self.is_head = true;
                self.push("<thead><tr>");
            }
            Event::End(TagEnd::TableHead) => {
                self.is_head = false;
                self.push("</tr></thead><tbody>\n");
            }
            Event::Start(Tag::TableRow) => {
                self.column = 0;
                self.push("<tr>");
            }
            Event::End(TagEnd::TableRow) => self.push("</tr>\n"),
            Event::End(TagEnd::TableCell) => self.end_cell(),
            // HTML in the text is shown as text.
            Event::Html(text) | Event::InlineHtml(text) => self.emit(Event::Text(text)),
            event => self.emit(event),
        }
        Ok(())
    }

    fn begin(&mut self) {
        self.text.clear();
        self.pending = Some(Vec::new());
    }

    /// Returns the HTML of the pending events.
    fn end(&mut self) -> String {
        let mut content = String::new();
        html::push_html(&mut content, self.pending.take().unwrap_or_default().into_iter());
        content
    }

    fn end_cell(&mut self) {
        let title = self.text.trim().to_owned();
        let content = self.end();
        let cell = if self.is_head && title.is_empty() {
            "<td></td>".to_owned()
        } else if self.is_head {
            format!("<th scope=\"col\">{content}</th>")
        } else {
            let label = self.columns.get(self.column).map_or_else(String::new, |column| escaped(column));
            self.column += 1;
            format!("<td data-label=\"{label}\">{content}</td>")
        };
        if self.is_head {
            self.columns.push(title);
        } else if let Some(passage) = self.passages.last_mut() {
            passage.text.push_str(&self.text);
            passage.text.push(' ');
        }
        self.push(&cell);
    }

    fn emit(&mut self, event: Event<'static>) {
        match &mut self.pending {
            Some(pending) => pending.push(event),
            None => html::push_html(&mut self.html, std::iter::once(event)),
        }
    }

    fn push(&mut self, html: &str) {
        self.html.push_str(html);
    }
}

/// Returns a block of code. What works on the local service works on this one, too.
pub(crate) fn block(code: &str, language: &str) -> String {
    let code = code.replace(LOCAL_URL, BASE_URL);
    let html = highlighted(code.trim_end(), Language::of(language));
    boxed(&html, code.lines().count())
}

/// Returns highlighted code in its box. A box that scrolls can be focused, so that the keyboard can scroll it.
pub(crate) fn boxed(html: &str, lines: usize) -> String {
    let scrolling = if lines >= MANY_LINES { " class=\"tall\" tabindex=\"0\"" } else { "" };
    format!("<pre{scrolling}><code>{html}</code></pre>\n")
}

/// Returns the transitions of a state diagram as a table.
fn transitions(diagram: &str) -> String {
    let mut names = BTreeMap::from([("[*]", "new")]);
    let mut rows = Vec::new();
    for line in diagram.lines().map(str::trim) {
        if let Some((name, alias)) = line.strip_prefix("state \"").and_then(|line| line.split_once("\" as "))
        {
            names.insert(alias, name);
        } else if let Some((from, rest)) = line.split_once(" --> ") {
            let (to, event) = rest.split_once(": ").unwrap_or((rest, ""));
            let name = |state: &str| escaped(names.get(state).copied().unwrap_or(state));
            let (from, to, event) = (name(from), name(to), escaped(event));
            rows.push(format!(
                "<tr><td><span class=\"state\">{from}</span></td><td><span class=\"state\">{to}</span></td>\
                 <td>{event}</td></tr>"
            ));
        }
    }
    format!(
        "<table class=\"transitions\"><thead><tr><th scope=\"col\">From</th><th scope=\"col\">To</th>\
         <th scope=\"col\">By</th></tr></thead><tbody>\n{}\n</tbody></table>\n",
        rows.join("\n")
    )
}
