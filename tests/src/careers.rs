//! Test support for the career pages: creates openings, and parses pages, feeds and sitemaps.

use futures_util::stream::{self, StreamExt};
use http::Method;
use serde_json::{Value, json};
use shared::clock::Timestamp;
use shared::id::Id;
use shared::model::{Mode, Posting, PostingContent, Role, RoleContent, Slug, Text};
use shared::store::Transaction;

use crate::browser::plain;
use crate::{Response, TestApi, tenant};

/// A role and its posting, in Acme's live mode.
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
    /// Creates an open role with this content and its published posting.
    pub async fn open(api: &TestApi, role: Value) -> Self {
        Self::post(api, json!({ "role": role })).await
    }

    /// Creates a vacancy with a quick post.
    pub async fn post(api: &TestApi, body: Value) -> Self {
        let posted = api.post("/api/v1/quick_post", body).await.expect(201);
        Self {
            role: posted.number("/role/id"),
            posting: posted.number("/job_posting/id"),
            slug: posted.string("/job_posting/slug").to_owned(),
        }
    }

    /// Returns the path of its page.
    pub fn path(&self) -> String {
        format!("/careers/acme/{}", self.slug)
    }

    /// Makes a transition of the role (`open`, `pause`, `resume`, `close`, `reopen`) or the posting (`publish`,
    /// `unpublish`).
    pub async fn step(&self, api: &TestApi, step: &str) -> Response {
        let (role, posting) = (self.role_path(), self.posting_path());
        match step {
            "close" => api.delete(&role).await,
            "open" => api.post(&format!("{role}/publish"), json!({})).await,
            "publish" | "unpublish" => api.post(&format!("{posting}/{step}"), json!({})).await,
            step => api.post(&format!("{role}/{step}"), json!({})).await,
        }
    }

    /// Returns the role's path in the API.
    pub fn role_path(&self) -> String {
        format!("/api/v1/roles/{}", self.role)
    }

    /// Returns the posting's path in the API.
    pub fn posting_path(&self) -> String {
        format!("/api/v1/job_postings/{}", self.posting)
    }
}

/// Returns an open role and its posting with this title, published at this time. `number` makes their identifiers and
/// slug unique.
pub fn published(number: u64, title: &str, at: Timestamp) -> (Role, Posting) {
    let id = |start: u64| Id::new(start + number).expect("an id");
    let title = Text::parse(title).expect("a title").expect("a title");
    let draft = Role::draft(id(1_000_000_000_000_000), RoleContent::titled(title), at);
    let slug = Slug::of(&format!("opening {number}"), "job");
    let content = PostingContent::default();
    let posting = Posting::draft(id(2_000_000_000_000_000), &draft, slug, content, at);
    let posting = posting.publish(&draft, at).expect("a posting");
    (draft.link(posting.link(), at).publish(at).expect("a role"), posting)
}

/// Stores open vacancies and their list entries directly, without the API.
pub async fn insert(api: &TestApi, demo: usize, vacancies: &[(Role, Posting)]) {
    // A transaction has at most 100 actions.
    let batch = async |vacancies: &[(Role, Posting)]| {
        let mut transaction = Transaction::new(tenant(demo, Mode::Live));
        for (role, posting) in vacancies {
            transaction.insert_role_and_posting(role, posting, &posting.slug, 1).expect("a vacancy");
        }
        api.store().commit(transaction).await.expect("a transaction");
    };
    stream::iter(vacancies.chunks(16)).for_each_concurrent(8, batch).await;
}

/// Requests a page without credentials.
pub async fn read(api: &TestApi, path: &str) -> Response {
    api.request(Method::GET, path).anonymous().send().await
}

/// An opening in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The path of its page.
    pub path: String,
    /// The title.
    pub title: String,
    /// The department, location, workplace and salary, if known.
    pub marks: Vec<String>,
    /// The date on which it became public.
    pub date: String,
    /// The time since then, as the page shows it.
    pub age: String,
}

/// Returns the openings on a page of the list.
pub fn cards(page: &Response) -> Vec<Card> {
    let cards = page.text.split("<li class=\"card\">").skip(1);
    let card = |card: &str| {
        let (link, rest) = card.split_once("<a href=\"")?.1.split_once("</h")?;
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

/// Returns the titles on a page of the list.
pub fn titles(page: &Response) -> Vec<String> {
    cards(page).into_iter().map(|card| card.title).collect()
}

/// Returns the text between `marker` and the next quotation mark.
pub fn value(page: &Response, marker: &str) -> Option<String> {
    page.text.split_once(marker)?.1.split('"').next().map(plain)
}

/// Returns the path of the next page.
pub fn next(page: &Response) -> Option<String> {
    value(page, "rel=\"next\" href=\"")
}

/// Requests every page of a list, starting with this one.
pub async fn walk(api: &TestApi, path: &str) -> Vec<Response> {
    let mut pages = vec![read(api, path).await.expect(200)];
    while let Some(path) = pages.last().and_then(next) {
        assert!(pages.len() < 200, "no end: {path}");
        pages.push(read(api, &path).await.expect(200));
    }
    pages
}

/// Returns the URLs in a sitemap with the times of their last changes. Panics if the sitemap does not follow the
/// sitemaps.org format.
#[track_caller]
pub fn sitemap(response: &Response, root: &str, element: &str) -> Vec<(String, Option<String>)> {
    assert_eq!(
        (response.status, response.header("content-type")),
        (200, "application/xml"),
        "{}",
        response.text
    );
    let head = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
    );
    let inner = response.text.strip_prefix(&head).and_then(|rest| rest.strip_suffix(&format!("</{root}>\n")));
    let entry = |line: &str| {
        let line = line.strip_prefix(&format!("<{element}><loc>"))?.strip_suffix(&format!("</{element}>"))?;
        let (url, rest) = line.split_once("</loc>")?;
        let changed = match rest {
            "" => None,
            rest => Some(rest.strip_prefix("<lastmod>")?.strip_suffix("</lastmod>")?.to_owned()),
        };
        let is_time = changed.as_ref().is_none_or(|time| time.parse::<Timestamp>().is_ok());
        (is_time && !url.contains(['<', '>', '"', '\''])).then(|| (plain(url), changed))
    };
    let lines = inner.unwrap_or_else(|| panic!("no {root}: {}", response.text)).lines();
    lines.map(|line| entry(line).unwrap_or_else(|| panic!("no {element}: {line}"))).collect()
}

/// Returns the text of markup, with single spaces between words.
pub fn words(markup: &str) -> String {
    let parts = markup.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    let text = parts.collect::<Vec<_>>().join(" ");
    plain(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}
