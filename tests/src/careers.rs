//! The career pages for tests: openings made, and pages read as candidates and search engines read them.

use futures_util::stream::{self, StreamExt};
use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{
    Mode, Opening, Posting, PostingContent, Role, RoleContent, RoleStatus, SalaryRange, Slug, Text,
};
use shared::store::Writes;

use crate::browser::plain;
use crate::{Answer, World, tenant};

/// A role and its posting, of Acme's live copy.
#[derive(Clone, Debug)]
pub struct Vacancy {
    /// The role.
    pub role: u64,
    /// The posting.
    pub posting: u64,
    /// The posting's slug.
    pub slug: String,
}

impl Vacancy {
    /// An open role with this content, and its published posting.
    pub async fn open(world: &World, role: Value) -> Self {
        Self::post(world, json!({ "role": role })).await
    }

    /// What a quick post of this body makes.
    pub async fn post(world: &World, body: Value) -> Self {
        let posted = world.post("/api/v1/quick_post", body).await.expect(201);
        Self {
            role: posted.number("/role/id"),
            posting: posted.number("/job_posting/id"),
            slug: posted.string("/job_posting/slug").to_owned(),
        }
    }

    /// Where its page is.
    pub fn path(&self) -> String {
        format!("/careers/acme/{}", self.slug)
    }

    /// A move of the role (`open`, `pause`, `resume`, `close`, `reopen`) or of the posting (`publish`, `unpublish`).
    pub async fn step(&self, world: &World, step: &str) -> Answer {
        let (role, posting) = (self.role_path(), self.posting_path());
        match step {
            "close" => world.delete(&role).await,
            "open" => world.post(&format!("{role}/publish"), json!({})).await,
            "publish" | "unpublish" => world.post(&format!("{posting}/{step}"), json!({})).await,
            step => world.post(&format!("{role}/{step}"), json!({})).await,
        }
    }

    /// The role's address in the API.
    pub fn role_path(&self) -> String {
        format!("/api/v1/roles/{}", self.role)
    }

    /// The posting's address in the API.
    pub fn posting_path(&self) -> String {
        format!("/api/v1/job_postings/{}", self.posting)
    }
}

/// An open role and its published posting of this title, public since this time, without anything else; `number` makes them
/// different from all others.
pub fn published(number: u64, title: &str, at: Timestamp) -> (Role, Posting) {
    let id = |start: u64| Id::new(start + number).expect("an id");
    let title = Text::parse(title).expect("a title").expect("a title");
    let content = RoleContent {
        title: title.clone(),
        department: None,
        description: None,
        location: None,
        remote_policy: None,
        salary: SalaryRange::default(),
    };
    let draft = Role::draft(id(1_000_000_000_000_000), content, at);
    let slug = Slug::of(&format!("opening {number}"), "job");
    let content = PostingContent { title, public_description: None, requirements: None };
    let posting = Posting::draft(id(2_000_000_000_000_000), &draft, slug, content, at);
    let posting = posting.publish(RoleStatus::Draft, at).expect("a posting");
    (draft.link(posting.link(), at).publish(at).expect("a role"), posting)
}

/// Writes many at once that are open, with all that belongs to them.
pub async fn insert(world: &World, demo: usize, vacancies: &[(Role, Posting)]) {
    // A transaction has at most 100 actions.
    let batch = async |vacancies: &[(Role, Posting)]| {
        let mut writes = Writes::new(tenant(demo, Mode::Live));
        for (role, posting) in vacancies {
            writes.insert_role(role).expect("a role");
            writes.insert_posting(posting, &posting.slug, 1).expect("a posting");
            let opening = Opening::of(role, posting);
            writes.replace_opening(None, opening.as_ref()).expect("an opening");
        }
        world.store().commit(writes).await.expect("a transaction");
    };
    stream::iter(vacancies.chunks(20)).for_each_concurrent(8, batch).await;
}

/// Reads a page as anybody.
pub async fn read(world: &World, path: &str) -> Answer {
    world.request(Method::GET, path).anonymous().send().await
}

/// An opening in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Where its page is.
    pub path: String,
    /// The title.
    pub title: String,
    /// Department, place, workplace and salary, where known.
    pub marks: Vec<String>,
    /// Since when it is public.
    pub date: String,
    /// How long ago that is.
    pub age: String,
}

/// The openings on a page of the list.
pub fn cards(page: &Answer) -> Vec<Card> {
    let cards = page.text.split("<li class=\"card\">").skip(1);
    let card = |card: &str| {
        let (link, rest) = card.split_once("<a href=\"")?.1.split_once("</h2>")?;
        let (path, title) = link.strip_suffix("</a>")?.split_once("\">")?;
        let (marks, time) = rest.split_once("</ul>")?;
        let marks = marks.split("<li>").skip(1).map(|mark| words(mark.split("</li>").next().unwrap_or(mark)));
        let (date, age) = time.split_once("<time datetime=\"")?.1.split_once("\">")?;
        Some(Card {
            path: plain(path),
            title: plain(title),
            marks: marks.collect(),
            date: date.to_owned(),
            age: age.split_once("</time>")?.0.to_owned(),
        })
    };
    cards.map(|text| card(text).unwrap_or_else(|| panic!("a card: {text}"))).collect()
}

/// The titles on a page of the list.
pub fn titles(page: &Answer) -> Vec<String> {
    cards(page).into_iter().map(|card| card.title).collect()
}

/// The value that stands in a page between `marker` and the next quotation mark.
pub fn value(page: &Answer, marker: &str) -> Option<String> {
    page.text.split_once(marker)?.1.split('"').next().map(plain)
}

/// The address of the next page.
pub fn next(page: &Answer) -> Option<String> {
    value(page, "rel=\"next\" href=\"")
}

/// Every page of a list, from this one on.
pub async fn walk(world: &World, path: &str) -> Vec<Answer> {
    let mut pages = vec![read(world, path).await.expect(200)];
    while let Some(path) = pages.last().and_then(next) {
        assert!(pages.len() < 200, "no end: {path}");
        pages.push(read(world, &path).await.expect(200));
    }
    pages
}

/// The addresses that a sitemap has, each with when it changed. Panics unless it is one by sitemaps.org.
#[track_caller]
pub fn sitemap(answer: &Answer, root: &str, element: &str) -> Vec<(String, Option<String>)> {
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/xml"), "{}", answer.text);
    let head = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
    );
    let inner = answer.text.strip_prefix(&head).and_then(|rest| rest.strip_suffix(&format!("</{root}>\n")));
    let entry = |line: &str| {
        let line = line.strip_prefix(&format!("<{element}><loc>"))?.strip_suffix(&format!("</{element}>"))?;
        let (address, rest) = line.split_once("</loc>")?;
        let changed = match rest {
            "" => None,
            rest => Some(rest.strip_prefix("<lastmod>")?.strip_suffix("</lastmod>")?.to_owned()),
        };
        let is_time = changed.as_ref().is_none_or(|time| time.parse::<Timestamp>().is_ok());
        (is_time && !address.contains(['<', '>', '"', '\''])).then(|| (plain(address), changed))
    };
    let lines = inner.unwrap_or_else(|| panic!("no {root}: {}", answer.text)).lines();
    lines.map(|line| entry(line).unwrap_or_else(|| panic!("no {element}: {line}"))).collect()
}

/// Markup without its tags, blanks joined.
pub fn words(markup: &str) -> String {
    let texts = markup.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    let text = texts.collect::<Vec<_>>().join(" ");
    plain(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}
