//! The JSON feed, the sitemap, `robots.txt` and the stylesheet.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde_json::{Value, json};
use shared::clock::Timestamp;
use shared::model::{Opening, Place, Places, Text};
use tests::careers::{Vacancy, insert, published, read, sitemap, value};
use tests::{ACME, BASE_URL, Response, TestApi};

use crate::careers_cost::insert_openings;

const FEED: &str = "/careers/acme/jobs.json";
const MAP: &str = "/careers/acme/sitemap.xml";

/// Returns the path of an absolute URL of the service.
#[track_caller]
fn path(url: &str) -> &str {
    url.strip_prefix(BASE_URL).unwrap_or_else(|| panic!("{url} is not a URL of the service"))
}

/// Returns every page of the feed.
async fn feed(api: &TestApi) -> Vec<Response> {
    let mut pages = vec![read(api, FEED).await.expect(200)];
    while let Some(next) = pages.last().and_then(|page| page.body["next_url"].as_str()) {
        assert!(pages.len() < 50, "the feed does not end: {next}");
        let page = read(api, path(next)).await.expect(200);
        pages.push(page);
    }
    pages
}

fn jobs(page: &Response) -> &[Value] {
    page.body["jobs"].as_array().unwrap()
}

/// Returns vacancies, newest last. Three are published in each second.
fn vacancies(from: u64, to: u64) -> Vec<(shared::model::Role, shared::model::Posting)> {
    let start: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
    let at = |number: u64| start + SignedDuration::from_secs(i64::try_from(number / 3).unwrap());
    (from..to).map(|number| published(number, &format!("Job {number}"), at(number))).collect()
}

#[tokio::test]
async fn the_feed_contains_every_field_of_every_opening() {
    let api = TestApi::new().await;
    let cook = json!({
        "role": {
            "title": "Internal", "department": "Food", "location": "Austin, Texas", "remote_policy": "remote",
            "country": "us", "employment_type": "temporary", "salary_min": 40_000, "salary_currency": "eur",
            "description": "internal",
        },
        "job_posting": {
            "title": "Cook & \"Baker\"", "public_description": "# Soup\n\n*hot* <u>", "requirements": "- hands\n- nose",
        },
    });
    let cook = Vacancy::post(&api, cook).await;
    api.clock.set("2026-11-20T09:31:00Z");
    let bare = Vacancy::open(&api, json!({ "title": "Bare" })).await;
    api.clock.set("2026-11-20T09:32:00Z");
    api.patch(&bare.role_path(), json!({ "description": "of the role" })).await.expect(200);
    let hidden = Vacancy::open(&api, json!({ "title": "Hidden" })).await;
    hidden.step(&api, "pause").await.expect(200);
    let response = read(&api, FEED).await.expect(200);
    let [cook_url, bare_url] = [&cook, &bare].map(|vacancy| format!("{BASE_URL}{}", vacancy.path()));
    assert_eq!(
        response.body,
        json!({
            "organization": "Acme",
            "url": format!("{BASE_URL}/careers/acme"),
            "next_url": null,
            "jobs": [
                {
                    "id": bare.posting, "title": "Bare", "department": null, "location": null, "locations": [],
                    "country": null, "remote_policy": null, "is_remote": false, "employment_type": null,
                    "description": { "html": "<p>of the role</p>\n", "plain": "of the role" },
                    "requirements": null, "compensation": null, "pay": null, "closes_on": null, "closes_at": null,
                    "published_at": "2026-11-20T09:31:00.000Z", "updated_at": "2026-11-20T09:32:00.000Z",
                    "url": bare_url, "apply_url": format!("{bare_url}#apply"),
                },
                {
                    "id": cook.posting, "title": "Cook & \"Baker\"", "department": "Food",
                    "location": "Austin, Texas", "country": "US", "locations": [], "remote_policy": "remote", "is_remote": true,
                    "employment_type": "temporary",
                    "description": {
                        "html": "<h3>Soup</h3>\n<p><em>hot</em> &lt;u&gt;</p>\n", "plain": "Soup\nhot <u>",
                    },
                    "requirements": {
                        "html": "<ul>\n<li>hands</li>\n<li>nose</li>\n</ul>\n", "plain": "hands\nnose",
                    },
                    "compensation": { "min": 40_000, "max": null, "currency": "EUR", "period": "year" },
                    "pay": { "min": "40000", "max": null, "currency": "EUR", "period": "year" },
                    "closes_on": null, "closes_at": null,
                    "published_at": "2026-11-20T09:30:00.000Z", "updated_at": "2026-11-20T09:30:00.000Z",
                    "url": cook_url, "apply_url": format!("{cook_url}#apply"),
                },
            ],
        })
    );
    for (name, expected) in [
        ("content-type", "application/json"),
        ("access-control-allow-origin", "*"),
        ("cache-control", "public, max-age=30"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(response.header(name), expected, "{name}");
    }
    let apply = read(&api, path(&cook_url)).await.expect(200);
    assert!(apply.text.contains("id=\"apply\""), "the page has the application form");
    let empty = read(&api, "/careers/globex/jobs.json").await.expect(200);
    assert_eq!((&empty.body["jobs"], &empty.body["next_url"]), (&json!([]), &Value::Null));
}

/// A browser resolves `https:page` on the site that shows it: here, or wherever the feed is shown.
#[tokio::test]
async fn a_link_without_slashes_is_no_link_on_the_page_and_in_the_feed() {
    let api = TestApi::new().await;
    let text = "[Apply](https:dashboard/settings) <a href=\"HTTP:/x\">here</a> [or](https://a.example/b)";
    let job = json!({ "title": "Cook", "description": text });
    let vacancy = Vacancy::open(&api, job).await;
    let page = read(&api, &vacancy.path()).await.expect(200).text;
    let html = feed(&api).await[0].body["jobs"][0]["description"]["html"].as_str().unwrap().to_owned();
    let link =
        "<p>Apply here <a href=\"https://a.example/b\" rel=\"nofollow noopener noreferrer\">or</a></p>";
    assert_eq!(html.trim_end(), link);
    assert!(page.contains(link), "{page}");
}

#[tokio::test]
async fn the_feed_pages_contain_every_opening_once() {
    let api = TestApi::new().await;
    let all = vacancies(0, 65);
    insert(&api, ACME, &all).await;
    let pages = feed(&api).await;
    let listed: Vec<_> = pages.iter().flat_map(jobs).map(|job| job["title"].as_str().unwrap()).collect();
    assert_eq!(listed, all.iter().rev().map(|(role, _)| role.content.title.as_str()).collect::<Vec<_>>());
    assert!((3..=6).contains(&pages.len()), "{} pages", pages.len());
    assert!(pages[1..].iter().all(|page| page.body["organization"] == "Acme"));
}

/// Lambda limits a response to 6 MB, with its body as a JSON string (payload format 2.0).
#[tokio::test]
async fn a_feed_page_with_fields_of_maximum_length_fits_into_a_response() {
    let api = TestApi::new().await;
    for (round, text) in (0..).zip(["\"", "🦀", "\\\\", "'\"\n"]) {
        let text = Text::parse(&text.repeat(20_000 / text.chars().count())).unwrap();
        // The newest openings are on the first page.
        for (mut role, mut posting) in vacancies(round * 100, round * 100 + 30) {
            posting.content.public_description.clone_from(&text);
            posting.content.requirements.clone_from(&text);
            role.content.department = Text::parse(&"\"".repeat(100)).unwrap();
            insert(&api, ACME, &[(role, posting)]).await;
        }
        let page = read(&api, FEED).await.expect(200);
        assert!(page.body["next_url"].is_string());
        let size = serde_json::to_string(&page.text).unwrap().len();
        assert!(size < 6_000_000, "{size} bytes for {} openings", jobs(&page).len());
    }
}

#[tokio::test]
async fn a_sitemap_contains_the_list_and_every_opening() {
    let api = TestApi::new().await;
    let vacancies = [
        Vacancy::open(&api, json!({ "title": "One" })).await,
        Vacancy::open(&api, json!({ "title": "Two" })).await,
    ];
    Vacancy::open(&api, json!({ "title": "Hidden" })).await.step(&api, "pause").await.expect(200);
    let map = sitemap(&read(&api, MAP).await, "urlset", "url");
    let urls: Vec<_> = map.iter().map(|(url, _)| path(url)).collect();
    assert_eq!(urls, ["/careers/acme", &vacancies[1].path(), &vacancies[0].path()]);
    for url in urls {
        let page = read(&api, url).await.expect(200);
        assert_eq!(value(&page, "rel=\"canonical\" href=\"").as_deref().map(path), Some(url));
        assert_eq!(value(&page, "name=\"robots\" content=\""), None, "{url} can be indexed");
    }
}

#[tokio::test]
async fn a_sitemap_contains_the_last_modified_time_of_each_page() {
    let api = TestApi::new().await;
    let vacancy = Vacancy::open(&api, json!({ "title": "Watched" })).await;
    let other = Vacancy::open(&api, json!({ "title": "Other" })).await;
    let lastmod = async |vacancy: &Vacancy| {
        let map = sitemap(&read(&api, MAP).await, "urlset", "url");
        map.into_iter().find(|(url, _)| path(url) == vacancy.path()).and_then(|(_, changed)| changed)
    };
    let mut minute = 30;
    let mut expected = "2026-11-20T09:30:00.000Z".to_owned();
    let (role, posting) = (vacancy.role_path(), vacancy.posting_path());
    for (path, change, changes) in [
        (&posting, json!({ "title": "New" }), true),
        (&posting, json!({ "title": "New" }), false),
        (&posting, json!({}), false),
        (&role, json!({ "location": "Oslo" }), true),
        (&role, json!({ "location": "Oslo", "salary_min": null }), false),
        (&role, json!({ "salary_min": 5 }), true),
        (&role, json!({ "salary_max": 4 }), false),
        (&posting, json!({ "requirements": "hands" }), true),
        (&posting, json!({ "requirements": null }), true),
        (&role, json!({ "description": "shown, because the posting has none" }), true),
        (&posting, json!({ "nonsense": 1 }), false),
        (&other.posting_path(), json!({ "title": "Not this one" }), false),
    ] {
        minute += 1;
        let now = format!("2026-11-20T09:{minute}:00.000Z");
        api.clock.set(&now);
        let before = read(&api, &vacancy.path()).await.expect(200).header("etag").to_owned();
        let status = api.patch(path, change.clone()).await.status;
        assert!([200, 422].contains(&status), "{change}");
        let after = read(&api, &vacancy.path()).await.expect(200).header("etag").to_owned();
        assert_eq!(before != after, changes, "{change}");
        if changes {
            expected = now;
        }
        assert_eq!(lastmod(&vacancy).await.as_ref(), Some(&expected), "{change}");
    }
    api.clock.set("2026-12-24T09:30:00Z");
    assert_eq!(lastmod(&vacancy).await.as_ref(), Some(&expected), "a page does not change by itself");

    // The list changes when an opening is removed, even if no other opening changes.
    let list = async || {
        let map = sitemap(&read(&api, MAP).await, "urlset", "url");
        map.into_iter().find(|(url, _)| path(url) == "/careers/acme").unwrap().1
    };
    let before = list().await;
    other.step(&api, "close").await.expect(200);
    let after = list().await;
    assert!(after.is_none() || after > before, "from {before:?} to {after:?}");
}

/// Returns every URL of the sitemap, or of all sitemaps in its index, and the number of sitemaps.
async fn sitemap_urls(api: &TestApi) -> (Vec<String>, usize) {
    let first = read(api, MAP).await;
    if !first.text.contains("<sitemapindex") {
        return (sitemap(&first, "urlset", "url").into_iter().map(|(url, _)| url).collect(), 1);
    }
    let index = sitemap(&first, "sitemapindex", "sitemap");
    let mut urls = Vec::new();
    for (url, _) in &index {
        let map = sitemap(&read(api, path(url)).await, "urlset", "url");
        urls.extend(map.into_iter().map(|(url, _)| url));
    }
    (urls, index.len())
}

#[tokio::test]
async fn many_openings_are_split_into_several_sitemaps() {
    let api = TestApi::new().await;
    let site = format!("{BASE_URL}/careers/acme");
    for (from, to, max_sitemaps) in [(0, 500, 1), (500, 1_000, 2), (1_000, 2_100, 4)] {
        insert(&api, ACME, &vacancies(from, to)).await;
        let (urls, sitemaps) = sitemap_urls(&api).await;
        let all = vacancies(0, to);
        let all = all.iter().rev().map(|(_, posting)| format!("{site}/{}", posting.slug));
        assert_eq!(urls, [site.clone()].into_iter().chain(all).collect::<Vec<_>>(), "{sitemaps} sitemaps");
        assert!(
            (1..=max_sitemaps).contains(&sitemaps) && (to < 2_000 || sitemaps > 1),
            "{sitemaps} sitemaps"
        );
    }
}

/// A DynamoDB call reads at most 1 MB. The sitemaps must not omit openings of the maximum length.
#[tokio::test]
async fn sitemaps_are_complete_with_fields_of_maximum_length() {
    let api = TestApi::new().await;
    let longest = |(mut role, mut posting): (shared::model::Role, shared::model::Posting)| {
        posting.content.title = Text::parse(&"🦀".repeat(200)).unwrap();
        role.content.department = Text::parse(&"🦀".repeat(100)).unwrap();
        let longest = |length| Text::parse(&"🦀".repeat(length)).unwrap();
        let place = Place::new(longest(100), longest(100), Text::parse(&"🦀".repeat(20)).unwrap(), None);
        role.content.places = Places::of(vec![place.unwrap(); Places::MAX]);
        Opening::of(&role, &posting).unwrap()
    };
    insert_openings(&api, vacancies(0, 1_150).into_iter().map(longest)).await;
    let (urls, sitemaps) = sitemap_urls(&api).await;
    assert!(sitemaps > 1 && urls.len() == 1_151, "{} of 1,151 in {sitemaps} sitemaps", urls.len());
}

#[tokio::test]
async fn robots_txt_allows_only_the_career_pages() {
    let api = TestApi::new().await;
    let robots = read(&api, "/robots.txt").await.expect(200);
    assert_eq!(robots.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(robots.header("cache-control"), "public, max-age=86400");
    assert_eq!(robots.headers.get("set-cookie"), None);
    let rules: Vec<_> = robots.text.lines().filter_map(|line| line.split_once(": ")).collect();
    assert_eq!(rules[0], ("User-agent", "*"));
    // The longest matching rule applies (RFC 9309, section 2.2.2), and `*` matches any string.
    let may_read = |path: &str| {
        let matches = |rule: &str| match rule.split_once('*') {
            None => path.starts_with(rule),
            Some((start, rest)) => path.strip_prefix(start).is_some_and(|end| end.contains(rest)),
        };
        let rules = rules[1..].iter().filter(|(_, rule)| matches(rule));
        rules.max_by_key(|(_, rule)| rule.len()).is_none_or(|(verdict, _)| *verdict == "Allow")
    };
    for (path, expected) in [
        ("/careers/acme", true),
        ("/careers/acme?before=1", true),
        ("/careers/acme/cook", true),
        ("/careers/acme/sitemap.xml", true),
        ("/careers/acme/jobs.json", true),
        ("/careers/style.css?v=1", true),
        ("/careers/acme/cook/apply", false),
        ("/careers/acme/cook/apply?ticket=x", false),
        ("/dashboard", false),
        ("/api/v1/roles", false),
        ("/oauth/authorize", false),
        ("/", false),
    ] {
        assert_eq!(may_read(path), expected, "{path}");
    }
}

#[tokio::test]
async fn the_stylesheet_is_cached_for_a_year_and_its_url_changes_with_its_content() {
    let api = TestApi::new().await;
    let mut urls = BTreeSet::new();
    for page in ["/careers/acme", "/careers/globex", "/careers/acme/nothing", "/careers/nobody"] {
        let page = read(&api, page).await;
        urls.insert(value(&page, "rel=\"stylesheet\" href=\"").unwrap());
    }
    assert_eq!(urls.len(), 1);
    let url = urls.pop_first().unwrap();
    let style = read(&api, &url).await.expect(200);
    assert_eq!(style.header("content-type"), "text/css; charset=utf-8");
    assert_eq!(style.header("cache-control"), "public, max-age=31536000, immutable");
    assert_eq!(style.header("x-content-type-options"), "nosniff");
    let digest = shared::model::challenge(&style.text);
    let version = url.split_once("?v=").unwrap().1;
    assert!(version.len() >= 12 && digest.starts_with(version), "{url}");
    assert!(
        !style.text.contains("url(") && !style.text.contains("@import"),
        "the stylesheet loads nothing from other sites"
    );
}
