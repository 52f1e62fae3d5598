//! Cross-site scripting tests: no payload in text from customers, candidates or URLs changes the structure of a page as
//! a browser parses it.

use std::sync::LazyLock;

use askama::Template;
use proptest::prelude::*;
use scraper::{ElementRef, Html, Node, Selector};
use serde_json::Value;
use shared::http::page::Problem;
use shared::model::{Email, EmploymentType, Pay, Place, Places, QuestionKind, Salary, Text};

use crate::feed_formats;
use crate::json_ld::JobPosting;
use crate::pages::{
    ApplicationForm, Applications, Card, ConfirmationPage, ConsentBox, FileForm, FileQuestion, GonePage,
    Group, JobPage, KeptResume, Layout, Offers, OpeningsPage, OptionField, PrivacyPage, QuestionField,
    SearchForm, TooManyApplicationsPage, UnknownJobPage, UnknownOrganizationPage,
};
use shared::descriptions;

/// Known XSS payloads, one per line.
const PAYLOADS: &str = include_str!("../../../tests/xss.txt");

/// The path that handlers pass for the list of openings.
const PORTAL: &str = "/careers/acme";

fn layout(text: &str) -> Layout<'_> {
    Layout {
        style_version: text,
        organization: text,
        portal: PORTAL,
        logo_src: Some(text),
        icon: text,
        logo_url: Some(text.to_owned()),
        theme: Some(text),
        canonical: Some(https(text)),
        robots: Some("noindex"),
        is_test: true,
        preview: Some(text.to_owned()),
    }
}

fn https(text: &str) -> String {
    format!("https://a.example/{text}")
}

fn path(text: &str) -> String {
    format!("{PORTAL}/{text}")
}

fn openings(text: &str) -> OpeningsPage<'_> {
    let card = || Card {
        path: path(text),
        title: text,
        department: Some(text),
        locations: vec![text.to_owned(), text.to_owned()],
        countries: vec!["Côte d'Ivoire"],
        remote_policy: Some("hybrid"),
        employment_type: Some("Full-time"),
        pay: Some(text.to_owned()),
        age: text.to_owned(),
        date: text.to_owned(),
    };
    OpeningsPage {
        layout: layout(text),
        introduction: Some(text),
        search: SearchForm {
            keywords: text,
            department: text,
            location: text,
            remote_policy: Some("remote"),
        },
        is_search: false,
        offers: Offers { departments: vec![text], locations: vec![text], are_complete: true },
        groups: vec![Group { heading: Some(text), cards: vec![card(), card()] }],
        next: Some(path(text)),
        is_first: true,
        is_partial: false,
    }
}

fn job<'p>(text: &'p str, description: &str, applications: Applications<'p>) -> JobPage<'p> {
    let description_html = descriptions::html(description);
    let url = https(text);
    let place = || Place::new(Text::cut(text), Text::cut(text), Text::cut(text), "US".parse().ok());
    let places = Places::of(place().into_iter().chain(place()).collect());
    let posting = JobPosting {
        title: text,
        description_html: &description_html,
        date_posted: text,
        organization: text,
        organization_url: &url,
        logo_url: Some(&url),
        places: &places,
        is_remote: true,
        employment_type: Some(EmploymentType::FullTime),
        pay: Pay::annual(Salary::new(1), Salary::new(2)).unwrap_or_default(),
        closes_at: None,
        url: &url,
        identifier: 7,
    };
    JobPage {
        layout: layout(text),
        title: text,
        department: Some(text),
        locations: vec![text.to_owned(), text.to_owned()],
        countries: vec!["Côte d'Ivoire"],
        remote_policy: Some("onsite"),
        employment_type: Some("Full-time"),
        pay: Some(text.to_owned()),
        pay_label: "Salary",
        closes_on: None,
        age: text.to_owned(),
        date: text.to_owned(),
        json_ld: posting.json_ld(),
        description_text: text.to_owned(),
        requirements: Some(descriptions::html(description)),
        description: Some(description_html),
        applications,
    }
}

/// An address that no parser has checked.
fn contact(text: &str) -> Email {
    serde_json::from_value(text.into()).unwrap()
}

/// A question of each kind.
fn questions<'p>(text: &'p str, problem: Option<&'static str>) -> Vec<QuestionField<'p>> {
    let field = |(index, kind): (usize, QuestionKind)| QuestionField {
        field: format!("question_{index}"),
        label: text,
        kind: kind.as_str(),
        is_required: index % 2 == 0,
        help: Some(text),
        options: [true, false].map(|is_chosen| OptionField { value: text, label: text, is_chosen }).into(),
        typed: text,
        problem,
    };
    QuestionKind::ALL.into_iter().enumerate().map(field).collect()
}

fn form<'p>(text: &'p str, contact: Option<&'p Email>, problems: &'p [Problem]) -> Applications<'p> {
    form_sent_to(Some(path(text)), text, contact, problems)
}

fn form_sent_to<'p>(
    action: Option<String>,
    text: &'p str,
    contact: Option<&'p Email>,
    problems: &'p [Problem],
) -> Applications<'p> {
    Applications::Open(Box::new(ApplicationForm {
        source: None,
        action,
        name: text,
        email: text,
        phone: text,
        takes_file: true,
        script_version: "x",
        largest_file: 1,
        kept: Some(KeptResume { ticket: text.to_owned(), name: text, is_removed: true }),
        resume_url: text,
        note: text,
        questions: questions(text, (!problems.is_empty()).then_some("Answer this question.")),
        later_files: problems.len(),
        opened: text,
        consents: vec![ConsentBox {
            field: "consent",
            wording: "I agree",
            is_required: true,
            is_ticked: true,
        }],
        contact,
        problems,
    }))
}

fn problems(text: &str) -> Vec<Problem> {
    let fields = ["apply", "name", "email", "phone", "resume_url", "note", "consent"];
    fields.map(|field| Problem { field, sentence: text.to_owned() }).into()
}

fn upload(text: &str) -> FileForm {
    FileForm { action: https(text), fields: vec![(text.to_owned(), text.to_owned())] }
}

/// A question that waits for a file, and one that has it.
fn file_questions(text: &str) -> Vec<FileQuestion<'_>> {
    let question = |is_received: bool| FileQuestion {
        field: format!("question_{}", if is_received { 1 } else { 2 }),
        label: text,
        help: Some(text),
        is_required: !is_received,
        is_received,
        upload: (!is_received).then(|| upload(text)),
        problem: Some(text),
    };
    [true, false].map(question).into()
}

/// Renders every page with this text in every text field.
fn pages(text: &str) -> Vec<String> {
    let contact = contact(text);
    let contact = Some(&contact);
    let confirmation = || ConfirmationPage {
        layout: layout(text),
        title: text,
        job_path: PORTAL,
        questions: file_questions(text),
        notice: Some(text),
        upload: Some(upload(text)),
        is_attached: true,
        problem: Some(text.to_owned()),
        contact,
    };
    [
        openings(text).render(),
        OpeningsPage { is_search: true, is_first: false, ..openings(text) }.render(),
        OpeningsPage { groups: Vec::new(), ..openings(text) }.render(),
        job(text, "A word.", form(text, contact, &[])).render(),
        job(text, "A word.", form(text, None, &problems(text))).render(),
        job(text, "A word.", form_sent_to(None, text, contact, &[])).render(),
        job(text, "A word.", Applications::Paused).render(),
        confirmation().render(),
        ConfirmationPage { upload: None, contact: None, ..confirmation() }.render(),
        GonePage { layout: layout(text), title: Some(text) }.render(),
        PrivacyPage { layout: layout(text), text: None, contact: None }.render(),
        PrivacyPage { layout: layout(text), text: None, contact }.render(),
        PrivacyPage { layout: layout(text), text: Some(descriptions::html(text)), contact }.render(),
        UnknownJobPage { layout: layout(text) }.render(),
        TooManyApplicationsPage { layout: layout(text), job_path: PORTAL }.render(),
        UnknownOrganizationPage { style_version: text }.render(),
    ]
    .map(Result::unwrap)
    .into()
}

/// Selects the elements from Markdown.
static MARKDOWN: LazyLock<Selector> = LazyLock::new(|| Selector::parse(".text *").unwrap());

/// Selects the elements from the templates.
static TEMPLATE: LazyLock<Selector> = LazyLock::new(|| Selector::parse(":not(.text *)").unwrap());

/// Returns a page's structure: its elements with their attributes' names, in order. Elements from Markdown are omitted
/// and checked separately.
fn structure(page: &str) -> Vec<String> {
    let page = Html::parse_document(page);
    assert!(!page.tree.values().any(Node::is_comment));
    page.select(&MARKDOWN).for_each(assert_allowed);
    page.select(&TEMPLATE).map(outline).collect()
}

fn outline(element: ElementRef) -> String {
    let mut outline = element.value().name().to_owned();
    for (name, value) in element.value().attrs() {
        outline.push(' ');
        outline.push_str(name);
        let starts = |beginnings: &[&str]| beginnings.iter().any(|beginning| value.starts_with(beginning));
        match name {
            "href" if element.attr("rel") == Some("icon") => {}
            "href" if value.starts_with("mailto:") => assert_contact(value),
            "href" | "action" => assert!(starts(&["/careers/", "https://a.example/", "#"]), "{value}"),
            "id" | "type" | "rel" | "name" if element.value().name() != "input" => outline.push_str(value),
            _ => {}
        }
    }
    outline
}

/// Asserts that a template may link to this address.
fn assert_contact(url: &str) {
    let address = url.strip_prefix("mailto:").unwrap();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~+%".contains(c);
    let (local, domain) = address.split_once('@').unwrap();
    assert!(local.chars().chain(domain.chars()).all(is_plain), "{url}");
}

/// Asserts that Markdown may produce this element, that it is the contact address in the general privacy text, or that it is
/// around the organization's own text.
fn assert_allowed(element: ElementRef) {
    let name = element.value().name();
    let attributes: Vec<_> = element.value().attrs().collect();
    match (name, attributes.as_slice()) {
        ("a", [("href", href), ("rel", "nofollow noopener noreferrer")]) => {
            let schemes = ["http:", "https:", "mailto:"];
            assert!(schemes.iter().any(|scheme| href.to_ascii_lowercase().starts_with(scheme)), "{href}");
        }
        ("a", [("href", href)]) => assert_contact(href),
        ("ol", [("start", start)]) => assert!(start.parse::<u64>().is_ok(), "{start}"),
        (
            "h2" | "blockquote" | "br" | "code" | "em" | "h3" | "h4" | "h5" | "h6" | "hr" | "li" | "ol" | "p"
            | "pre" | "strong" | "table" | "tbody" | "td" | "th" | "thead" | "tr" | "ul",
            [],
        )
        | ("div", [("class", "text"), ("dir", "auto")]) => {}
        _ => panic!("{name} {attributes:?}"),
    }
}

/// Returns the text of the elements that match a selector.
fn read(page: &str, selector: &str) -> String {
    let selector = Selector::parse(selector).unwrap();
    Html::parse_document(page).select(&selector).flat_map(|element| element.text()).collect()
}

/// The structure of every page with harmless text.
static HARMLESS: LazyLock<Vec<Vec<String>>> =
    LazyLock::new(|| pages("x").iter().map(|page| structure(page)).collect());

fn assert_harmless(text: &str) {
    for (page, harmless) in pages(text).iter().zip(HARMLESS.iter()) {
        assert!(structure(page) == *harmless, "{text}\n{page}");
    }

    let with_description = |description: &str| {
        let description = format!("A word.\n\n{description}");
        job("x", &description, form("x", None, &[])).render().unwrap()
    };
    let (page, harmless) = (with_description(text), structure(&with_description("x")));
    assert!(structure(&page) == harmless, "{text}\n{page}");
    // Parsing and serializing the page again must not change its structure.
    let serialized = Html::parse_document(&page).html();
    assert!(structure(&serialized) == harmless, "{text}\n{serialized}");
}

#[test]
fn every_page_is_valid_html() {
    for page in pages("x") {
        assert!(Html::parse_document(&page).errors.is_empty(), "{page}");
    }
}

#[test]
fn no_known_payload_changes_the_structure_of_a_page() {
    let payloads: Vec<_> = PAYLOADS.lines().collect();
    assert!(payloads.len() >= 200);
    payloads.into_iter().for_each(assert_harmless);
}

#[test]
fn payloads_are_shown_as_text() {
    for text in PAYLOADS.lines().filter(|text| !text.contains(char::is_control)) {
        let description = format!("A word.\n\n{text}");
        let page = job(text, &description, form(text, None, &problems(text))).render().unwrap();
        assert_eq!(read(&page, "h1"), text);
        assert_eq!(read(&page, "#note"), text);
        assert_eq!(read(&page, "#name-problem"), text);
        let fields = Selector::parse("#name, #email, #phone, #resume_url").unwrap();
        for field in Html::parse_document(&page).select(&fields) {
            assert_eq!(field.attr("value"), Some(text));
        }

        assert_eq!(read(&page, ".kept bdi"), text);

        let json_ld: Value = serde_json::from_str(&read(&page, "script")).unwrap();
        assert_eq!(json_ld["title"], text);
        assert_eq!(json_ld["hiringOrganization"]["name"], text);
        assert_eq!(json_ld["description"], descriptions::html(&description));

        let list = openings(text).render().unwrap();
        assert_eq!(read(&list, ".card h3"), text.repeat(2));
        assert!(read(&list, ".group").starts_with(text));
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
fn feeds_escape_payloads() {
    let now = shared::clock::Timestamp::UNIX_EPOCH;
    for text in PAYLOADS.lines() {
        let plain = descriptions::plain(text);
        assert!(!plain.contains("  ") && plain.lines().all(|line| line == line.trim()), "{plain}");
        let formatted = serde_json::to_string(&feed_formats::Formatted::of(text)).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&formatted).unwrap()["plain"], plain);
        let sitemap = feed_formats::sitemap(std::iter::once((https(text), Some(now))));
        assert_eq!(sitemap.matches(['<', '>']).count(), 18, "{sitemap}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_mix_of_payloads_changes_the_structure_of_a_page(
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
