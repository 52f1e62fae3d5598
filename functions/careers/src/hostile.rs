//! Every text that customers, candidates and addresses bring, written by somebody who wants to run a script: what the pages
//! make of it, as a browser reads them.

use std::sync::LazyLock;

use askama::Template;
use proptest::prelude::*;
use scraper::{ElementRef, Html, Node, Selector};
use serde_json::Value;
use shared::http::page::Problem;

use crate::feed;
use crate::job_posting::JobPosting;
use crate::markdown;
use crate::pages::{
    Application, Card, Form, Frame, Gone, Job, Openings, Received, Search, TooMany, UnknownJob,
    UnknownOrganization, Upload,
};

/// Known ways to run a script, one a line.
const PAYLOADS: &str = include_str!("../../../tests/xss.txt");

/// Where the handlers say that pages are.
const PORTAL: &str = "/careers/acme";

fn frame(text: &str) -> Frame<'_> {
    Frame {
        style_version: text,
        organization: text,
        portal: PORTAL,
        logo_url: Some(text),
        theme: Some(text),
        canonical: Some(https(text)),
        robots: Some("noindex"),
        is_test: true,
    }
}

fn https(text: &str) -> String {
    format!("https://a.example/{text}")
}

fn path(text: &str) -> String {
    format!("{PORTAL}/{text}")
}

fn openings(text: &str) -> Openings<'_> {
    let card = || Card {
        path: path(text),
        title: text,
        department: Some(text),
        location: Some(text),
        remote_policy: Some("hybrid"),
        salary: Some(text.to_owned()),
        age: text.to_owned(),
        date: text.to_owned(),
    };
    Openings {
        frame: frame(text),
        introduction: Some(text),
        search: Search { words: text, department: text, location: text, remote_policy: Some("remote") },
        is_search: false,
        departments: vec![text],
        locations: vec![text],
        cards: vec![card(), card()],
        next: Some(path(text)),
        is_first: true,
        goes_on: false,
    }
}

fn job<'p>(text: &'p str, description: &str, application: Application<'p>) -> Job<'p> {
    let description_html = markdown::html(description);
    let url = https(text);
    let posting = JobPosting {
        title: text,
        description_html: &description_html,
        date_posted: text,
        organization: text,
        organization_url: &url,
        logo_url: Some(&url),
        location: Some(text),
        is_remote: true,
        salary_min: Some(1),
        salary_max: Some(2),
        url: &url,
        identifier: 7,
    };
    Job {
        frame: frame(text),
        title: text,
        department: Some(text),
        location: Some(text),
        remote_policy: Some("onsite"),
        salary: Some(text.to_owned()),
        age: text.to_owned(),
        date: text.to_owned(),
        json_ld: posting.json_ld(),
        description_text: text.to_owned(),
        requirements: Some(markdown::html(description)),
        description: Some(description_html),
        application,
    }
}

fn form(text: &str, problems: Vec<Problem>) -> Application<'_> {
    Application::Open(Form {
        action: path(text),
        name: text,
        email: text,
        phone: text,
        resume_url: text,
        note: text,
        has_consent: true,
        problems,
    })
}

fn problems(text: &str) -> Vec<Problem> {
    let fields = ["apply", "name", "email", "phone", "resume_url", "note", "consent"];
    fields.map(|field| Problem { field, sentence: text.to_owned() }).into()
}

/// Every page, with this text wherever a text can be.
fn pages(text: &str) -> Vec<String> {
    let upload = || Upload { action: https(text), fields: vec![(text.to_owned(), text.to_owned())] };
    let received = || Received {
        frame: frame(text),
        title: text,
        job_path: PORTAL,
        upload: Some(upload()),
        is_attached: true,
        problem: Some(text.to_owned()),
    };
    [
        openings(text).render(),
        Openings { is_search: true, is_first: false, ..openings(text) }.render(),
        Openings { cards: Vec::new(), ..openings(text) }.render(),
        job(text, "A word.", form(text, Vec::new())).render(),
        job(text, "A word.", form(text, problems(text))).render(),
        job(text, "A word.", Application::Closed).render(),
        received().render(),
        Received { upload: None, ..received() }.render(),
        Gone { frame: frame(text), title: Some(text) }.render(),
        UnknownJob { frame: frame(text) }.render(),
        TooMany { frame: frame(text), minutes: 2, job_path: PORTAL }.render(),
        UnknownOrganization { style_version: text }.render(),
    ]
    .map(Result::unwrap)
    .into()
}

/// What Markdown made.
static DESCRIBED: LazyLock<Selector> = LazyLock::new(|| Selector::parse(".text *").unwrap());

/// What the templates made.
static OWN: LazyLock<Selector> = LazyLock::new(|| Selector::parse(":not(.text *)").unwrap());

/// What a page consists of but for its words: elements with the names of their attributes, in order. What Markdown made is
/// left out and judged by itself.
fn bones(page: &str) -> Vec<String> {
    let page = Html::parse_document(page);
    assert!(!page.tree.values().any(Node::is_comment));
    page.select(&DESCRIBED).for_each(assert_described);
    page.select(&OWN).map(bone).collect()
}

fn bone(element: ElementRef) -> String {
    let mut bone = element.value().name().to_owned();
    for (name, value) in element.value().attrs() {
        bone.push(' ');
        bone.push_str(name);
        let starts = |beginnings: &[&str]| beginnings.iter().any(|beginning| value.starts_with(beginning));
        match name {
            "href" if element.attr("rel") == Some("icon") => {}
            "href" | "action" => assert!(starts(&["/careers/", "https://a.example/", "#"]), "{value}"),
            "id" | "type" | "rel" | "name" if element.value().name() != "input" => bone.push_str(value),
            _ => {}
        }
    }
    bone
}

/// An element that Markdown may have made.
fn assert_described(element: ElementRef) {
    let name = element.value().name();
    let attributes: Vec<_> = element.value().attrs().collect();
    match (name, attributes.as_slice()) {
        ("a", [("href", href), ("rel", "nofollow noopener noreferrer")]) => {
            let schemes = ["http:", "https:", "mailto:"];
            assert!(schemes.iter().any(|scheme| href.to_ascii_lowercase().starts_with(scheme)), "{href}");
        }
        ("ol", [("start", start)]) => assert!(start.parse::<u64>().is_ok(), "{start}"),
        (
            "h2" | "blockquote" | "br" | "code" | "em" | "h3" | "h4" | "h5" | "h6" | "hr" | "li" | "ol" | "p"
            | "pre" | "strong" | "table" | "tbody" | "td" | "th" | "thead" | "tr" | "ul",
            [],
        )
        | ("a", [("rel", "nofollow noopener noreferrer")]) => {}
        _ => panic!("{name} {attributes:?}"),
    }
}

/// The text of the elements that a selector finds.
fn read(page: &str, selector: &str) -> String {
    let selector = Selector::parse(selector).unwrap();
    Html::parse_document(page).select(&selector).flat_map(|element| element.text()).collect()
}

/// What the pages consist of where all texts are harmless.
static HARMLESS: LazyLock<Vec<Vec<String>>> =
    LazyLock::new(|| pages("x").iter().map(|page| bones(page)).collect());

fn assert_harmless(text: &str) {
    for (page, harmless) in pages(text).iter().zip(HARMLESS.iter()) {
        assert!(bones(page) == *harmless, "{text}\n{page}");
    }

    let described = |description: &str| {
        let description = format!("A word.\n\n{description}");
        job("x", &description, form("x", Vec::new())).render().unwrap()
    };
    let (page, harmless) = (described(text), bones(&described("x")));
    assert!(bones(&page) == harmless, "{text}\n{page}");
    // What one browser writes down of it, another one reads alike.
    let again = Html::parse_document(&page).html();
    assert!(bones(&again) == harmless, "{text}\n{again}");
}

#[test]
fn the_pages_are_as_html_wants_them() {
    for page in pages("x") {
        assert!(Html::parse_document(&page).errors.is_empty(), "{page}");
    }
}

#[test]
fn no_known_payload_changes_a_page() {
    let payloads: Vec<_> = PAYLOADS.lines().collect();
    assert!(payloads.len() >= 200);
    payloads.into_iter().for_each(assert_harmless);
}

#[test]
fn what_is_written_is_what_is_read() {
    for text in PAYLOADS.lines().filter(|text| !text.contains(char::is_control)) {
        let description = format!("A word.\n\n{text}");
        let page = job(text, &description, form(text, problems(text))).render().unwrap();
        assert_eq!(read(&page, "h1"), text);
        assert_eq!(read(&page, "#note"), text);
        assert_eq!(read(&page, "#name-problem"), text);
        let fields = Selector::parse("#name, #email, #phone, #resume_url").unwrap();
        for field in Html::parse_document(&page).select(&fields) {
            assert_eq!(field.attr("value"), Some(text));
        }

        let json_ld: Value = serde_json::from_str(&read(&page, "script")).unwrap();
        assert_eq!(json_ld["title"], text);
        assert_eq!(json_ld["hiringOrganization"]["name"], text);
        assert_eq!(json_ld["description"], markdown::html(&description));

        let list = openings(text).render().unwrap();
        assert_eq!(read(&list, ".card h2"), text.repeat(2));
        assert_eq!(read(&list, ".lead"), text);
        let filter = Selector::parse(".marks a").unwrap();
        for link in Html::parse_document(&list).select(&filter) {
            let href = link.attr("href").unwrap();
            let (_, query) = href.split_once('=').unwrap();
            assert!(
                query.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte)),
                "{href}"
            );
        }
    }
}

#[test]
fn the_words_of_a_payload_stay_words() {
    let now = jiff::Timestamp::UNIX_EPOCH;
    for text in PAYLOADS.lines() {
        let plain = markdown::plain(text);
        assert!(!plain.contains("  ") && plain.lines().all(|line| line == line.trim()), "{plain}");
        let formatted = serde_json::to_string(&feed::Formatted::of(text)).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&formatted).unwrap()["plain"], plain);
        let sitemap = feed::sitemap(std::iter::once((https(text), Some(now))));
        assert_eq!(sitemap.matches(['<', '>']).count(), 18, "{sitemap}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_mix_of_payloads_changes_a_page(
        mix in prop::collection::vec(
            prop_oneof![
                3 => prop::sample::select(PAYLOADS.lines().collect::<Vec<_>>()),
                1 => prop::sample::select(vec!["\n", "\n\n", "\n- ", "\n> ", "\n    ", "\n```\n", "\n|-|\n", "](", "![", "<!--", "]: "]),
            ],
            1..8,
        ),
    ) {
        assert_harmless(&mix.concat());
    }
}
