//! The pages of the API reference, which the build script of `docs` makes from the contract and the API guide.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use rolecall_local::demo::DEMOS;
use scraper::{ElementRef, Html, Selector};
use serde_json::Value;
use tests::contract::CONTRACT;
use tests::{ACME, BASE_URL, Response, TestApi, project};

/// The maximum size of the start page with its files, compressed.
const MAX_FIRST_VIEW: usize = 77_500;
/// The maximum size of a page, or of the index that its search reads, compressed.
const MAX_PAGE: usize = 60_000;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

async fn get(api: &TestApi, path: &str) -> Response {
    api.request(Method::GET, path).anonymous().send().await
}

/// Returns the pages of the reference by path. They are those that the menu of the start page has.
async fn pages(api: &TestApi) -> BTreeMap<String, Html> {
    let start = Html::parse_document(&get(api, "/docs").await.expect(200).text);
    let links: BTreeSet<_> =
        select(start.root_element(), "nav a").into_iter().map(|link| attribute(link, "href")).collect();
    let paths: BTreeSet<_> = links.iter().map(|link| link.split('#').next().unwrap().to_owned()).collect();
    let mut pages = BTreeMap::new();
    for path in paths {
        let page = get(api, &path).await.expect(200);
        pages.insert(path, Html::parse_document(&page.text));
    }
    assert!(pages.len() >= 30, "{}", pages.len());
    pages
}

fn select<'h>(element: ElementRef<'h>, selector: &str) -> Vec<ElementRef<'h>> {
    element.select(&Selector::parse(selector).unwrap()).collect()
}

fn attribute(element: ElementRef<'_>, name: &str) -> String {
    element.attr(name).unwrap_or_default().to_owned()
}

fn text(element: ElementRef<'_>) -> String {
    element.text().collect()
}

fn document() -> Value {
    CONTRACT.document.clone()
}

/// Follows a reference in the document.
fn resolve<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    value["$ref"]
        .as_str()
        .map_or(value, |reference| document.pointer(reference.trim_start_matches('#')).unwrap())
}

/// Returns the operations of the document: path, method, operation.
fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        item.as_object()
            .unwrap()
            .iter()
            .map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    });
    operations.collect()
}

/// Returns the anchor of a heading, as code hosts generate it.
fn slug(title: &str) -> String {
    let kept = title.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// Whether a path has the form of a path with parameters.
fn fits(path: &str, pattern: &str) -> bool {
    let (path, pattern): (Vec<_>, Vec<_>) = (path.split('/').collect(), pattern.split('/').collect());
    path.len() == pattern.len()
        && path.iter().zip(&pattern).all(|(part, pattern)| {
            if pattern.starts_with('{') { !part.is_empty() && !part.contains('{') } else { part == pattern }
        })
}

#[tokio::test]
async fn every_operation_is_on_the_page_of_its_tag() {
    let api = TestApi::new().await;
    let pages = pages(&api).await;
    let document = document();
    for (path, method, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap();
        let page = &pages[&format!("/docs/{}", slug(operation["tags"][0].as_str().unwrap()))];
        let sections = select(page.root_element(), &format!("section[aria-labelledby={id}]"));
        let [section] = sections[..] else { panic!("{id} has {} sections", sections.len()) };
        let shown = text(section);
        assert!(shown.contains(operation["summary"].as_str().unwrap()), "{id}");
        let route = text(select(section, ".route")[0]);
        assert_eq!(route.trim(), format!("{} {path}", method.to_uppercase()));
        let names: BTreeSet<_> = select(section, ".fields code").into_iter().map(text).collect();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = resolve(&document, parameter)["name"].as_str().unwrap();
            assert!(names.contains(name), "{id} lacks {name}");
        }
        let content = operation["requestBody"]["content"].as_object().into_iter().flatten();
        for (_, content) in content {
            let schema = resolve(&document, &content["schema"]);
            for name in schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
                assert!(names.contains(name), "{id} lacks {name}");
            }
        }
        for status in operation["responses"].as_object().unwrap().keys() {
            assert!(names.contains(status), "{id} lacks {status}");
        }
        for scope in operation["security"][1]["oauth"].as_array().into_iter().flatten() {
            assert!(shown.contains(scope.as_str().unwrap()), "{id} lacks {scope}");
        }
    }
}

#[tokio::test]
async fn samples_send_the_request_of_the_document() {
    let api = TestApi::new().await;
    let pages = pages(&api).await;
    let document = document();
    let (mut bodies, mut keys) = (0, 0);
    for (path, method, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap();
        let page = &pages[&format!("/docs/{}", slug(operation["tags"][0].as_str().unwrap()))];
        let section = select(page.root_element(), &format!("section[aria-labelledby={id}]"))[0];
        let samples: Vec<_> = select(section, ".samples pre").into_iter().map(text).collect();
        let [curl, python, typescript] = &samples[..] else { panic!("{id}: {samples:?}") };
        let url = curl.split_whitespace().find(|word| word.starts_with("https://")).unwrap();
        assert!(fits(url.strip_prefix(BASE_URL).unwrap(), path), "{id}: {url}");
        let upper = method.to_uppercase();
        let command = if method == "get" { format!("curl {url}") } else { format!("curl -X {upper} {url}") };
        assert!(curl.starts_with(&command), "{id}: {curl}");
        assert!(
            python.contains(&format!("httpx.{method}(")) && python.contains(&format!("\"{url}\"")),
            "{python}"
        );
        assert!(typescript.contains(&format!("fetch(\"{url}\"")), "{typescript}");
        assert_eq!(typescript.contains(&format!("method: \"{upper}\"")), method != "get", "{typescript}");
        let needs_key = operation["security"][0].get("token").is_some();
        for sample in [curl, python, typescript] {
            assert_eq!(sample.contains("ROLECALL_KEY"), needs_key, "{sample}");
        }
        let takes_key = operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|parameter| resolve(&document, parameter)["name"] == "Idempotency-Key");
        for (sample, key) in [
            (curl, "-H \"Idempotency-Key: $(od -An -N8 -tx8 /dev/urandom | tr -d ' ')\""),
            (python, "\"Idempotency-Key\": str(uuid.uuid4()),"),
            (typescript, "\"Idempotency-Key\": crypto.randomUUID(),"),
        ] {
            assert_eq!(sample.contains(key), takes_key, "{sample}");
        }
        keys += usize::from(takes_key);
        let example = &operation["requestBody"]["content"]["application/json"]["example"];
        if !example.is_null() {
            let (_, body) = curl.split_once("\n  -d '").unwrap();
            let body = body.strip_suffix('\'').unwrap().replace("'\\''", "'");
            assert_eq!(&serde_json::from_str::<Value>(&body).unwrap(), example, "{id}");
            bodies += 1;
        }
        let form = select(section, ".try");
        for form in &form {
            assert_eq!(
                (attribute(*form, "data-method"), attribute(*form, "data-path")),
                (upper.clone(), path.to_owned())
            );
            assert!(form.attr("hidden").is_some(), "{id}: without scripts, there is no form");
            let body = attribute(*form, "data-body");
            assert!(body.is_empty() || &serde_json::from_str::<Value>(&body).unwrap() == example, "{id}");
        }
        assert!(needs_key <= !form.is_empty(), "{id}");
    }
    assert!(bodies >= 20 && keys >= 20, "{bodies} bodies and {keys} idempotency keys");
}

#[tokio::test]
async fn the_reference_contains_the_whole_guide() {
    let api = TestApi::new().await;
    let pages = pages(&api).await;
    let guide = std::fs::read_to_string(project("functions/README.md")).unwrap();
    let (mut is_code, mut page, mut sections, mut lines) = (false, None, 0, 0);
    for line in guide.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
            assert!(is_code || !line.ends_with("http"));
        } else if is_code {
            // The start of each response, and the fields of each example.
            if let Some((page, shown)) = &page
                && !line.contains(" --> ")
                && !line.starts_with("stateDiagram")
                && !line.trim_start().starts_with("state ")
            {
                let shown: &String = shown;
                let line = line.trim().replace("http://127.0.0.1:3000", BASE_URL);
                assert!(shown.contains(&line), "{page} lacks {line}");
                lines += 1;
            }
        } else if let Some(title) = line.strip_prefix("## ") {
            let path = format!("/docs/guide-{}", slug(title));
            let html = &pages[&path];
            assert_eq!(text(select(html.root_element(), "h1")[0]), title);
            page = Some((path, text(select(html.root_element(), "main")[0])));
            sections += 1;
        } else if let Some(title) = line.strip_prefix("### ") {
            let (path, _) = page.as_ref().unwrap();
            let heading = select(pages[path].root_element(), &format!("h2[id={}]", slug(title)));
            assert_eq!(heading.into_iter().map(text).collect::<Vec<_>>(), [title]);
            sections += 1;
        }
    }
    assert!(sections >= 30 && lines >= 800, "{sections} sections and {lines} lines of code");
}

#[tokio::test]
async fn links_and_anchors_lead_somewhere() {
    let api = TestApi::new().await;
    let pages = pages(&api).await;
    let mut ids = BTreeMap::new();
    for (path, page) in &pages {
        let found: Vec<_> =
            select(page.root_element(), "[id]").into_iter().map(|found| attribute(found, "id")).collect();
        let unique: BTreeSet<_> = found.iter().cloned().collect();
        assert_eq!(found.len(), unique.len(), "{path} repeats an id");
        ids.insert(path.clone(), unique);
    }
    let mut elsewhere = BTreeSet::new();
    for (path, page) in &pages {
        for element in select(page.root_element(), "[href], [src], [data-index]") {
            let links = ["href", "src", "data-index"].map(|name| attribute(element, name));
            for link in links.into_iter().filter(|link| !link.is_empty()) {
                let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
                let target = if target.is_empty() { path } else { target };
                match ids.get(target) {
                    Some(ids) => assert!(anchor.is_empty() || ids.contains(anchor), "{path} links to {link}"),
                    None => drop(elsewhere.insert((element.value().name().to_owned(), link.clone()))),
                }
            }
        }
        for label in select(page.root_element(), "label") {
            assert!(ids[path].contains(&attribute(label, "for")), "{path}");
        }
    }
    for (element, link) in elsewhere {
        if link.starts_with("https://") {
            assert_eq!(element, "a", "{link}");
        } else {
            let status = get(&api, &link).await.status;
            assert!(matches!(status, 200 | 303), "{link}: {status}");
        }
    }
}

#[tokio::test]
async fn the_index_of_the_search_leads_to_all_operations_and_headings() {
    let api = TestApi::new().await;
    let pages = pages(&api).await;
    let search = select(pages["/docs"].root_element(), "[data-index]")[0];
    let index = get(&api, &attribute(search, "data-index")).await.expect(200).body;
    let mut found = BTreeSet::new();
    for entry in index.as_array().unwrap() {
        let [title, url, label, words] = &entry.as_array().unwrap()[..] else { panic!("{entry}") };
        assert!(![title, url, label].iter().any(|value| value.as_str().unwrap().is_empty()), "{entry}");
        let words: Vec<_> = words.as_str().unwrap().split_whitespace().collect();
        assert!(words.is_sorted_by(|word, next| word < next), "each once: {entry}");
        let (page, anchor) = url.as_str().unwrap().split_once('#').unwrap_or((url.as_str().unwrap(), ""));
        let page = pages[page].root_element();
        assert!(anchor.is_empty() || !select(page, &format!("[id={anchor}]")).is_empty(), "{url}");
        found.insert(anchor.to_owned());
    }
    for (.., operation) in operations(&document()) {
        assert!(found.contains(operation["operationId"].as_str().unwrap()));
    }
    assert!(found.contains("paging") && found.contains("Candidate"));
}

#[tokio::test]
async fn pages_have_a_strict_policy_and_nothing_inline() {
    let api = TestApi::new().await;
    for path in pages(&api).await.into_keys() {
        let page = get(&api, &path).await;
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("cache-control", "public, max-age=30"),
            ("content-security-policy", POLICY),
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(page.header(name), value, "{path}: {name}");
        }
        let html = Html::parse_document(&page.text);
        let root = html.root_element();
        assert!(select(root, "style, [style], script:not([src]), form, iframe").is_empty(), "{path}");
        assert!(
            !page.text.contains(" on") || select(root, "[onclick], [onload], [onerror]").is_empty(),
            "{path}"
        );
        assert!(
            select(root, "title").iter().all(|title| text(*title).ends_with(" – Rolecall API")),
            "{path}"
        );
        assert_eq!(select(root, "h1").len(), 1, "{path}");
        let headings = select(root, "h2, h3");
        assert_eq!(headings.len(), select(root, "h2[id] > a[href], h3[id] > a[href]").len(), "{path}");
    }
}

#[tokio::test]
async fn pages_are_small_and_cacheable() {
    let api = TestApi::new().await;
    let size = async |path: &str| {
        let request = api.request(Method::GET, path).anonymous().header("accept-encoding", "gzip");
        let response = request.send().await.expect(200);
        assert_eq!(response.header("content-encoding"), "gzip", "{path}");
        assert_eq!(response.header("vary"), "Accept-Encoding", "{path}");
        let tag = response.header("etag").to_owned();
        if !tag.is_empty() {
            let again = api.request(Method::GET, path).anonymous().header("if-none-match", &tag).send().await;
            again.expect(304);
        }
        let compressed = {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(5));
            std::io::Write::write_all(&mut encoder, response.text.as_bytes()).unwrap();
            encoder.finish().unwrap().len()
        };
        assert!(compressed <= MAX_PAGE, "{path}: {compressed}");
        compressed
    };
    let pages = pages(&api).await;
    let files = select(pages["/docs"].root_element(), "link[rel=stylesheet], script, [data-index]");
    let mut first = size("/docs").await;
    for file in files {
        let url = ["href", "src", "data-index"].map(|name| attribute(file, name)).concat();
        assert!(url.contains("?v="), "{url}");
        assert_eq!(
            get(&api, &url).await.header("cache-control"),
            "public, max-age=31536000, immutable",
            "{url}"
        );
        first += size(&url).await;
    }
    assert!(first <= MAX_FIRST_VIEW, "{first}");
    for path in pages.keys() {
        size(path).await;
    }
}

#[tokio::test]
async fn samples_have_the_url_of_the_service() {
    let mut api = TestApi::new().await;
    api.environment.config.base_url = Some("https://hiring.example\"><b>&".to_owned());
    api.restart();
    let page = get(&api, "/docs/roles").await.expect(200).text;
    assert!(page.contains("curl https://hiring.example&quot;>&lt;b>&amp;/api/v1/roles"), "{page}");
    assert!(!page.contains(BASE_URL));
}

#[tokio::test]
async fn only_the_local_service_shows_a_key() {
    let mut api = TestApi::new().await;
    let start = get(&api, "/docs").await.expect(200).text;
    assert!(start.contains("export ROLECALL_KEY=YOUR_API_KEY<"), "{start}");
    let demo = DEMOS[ACME].login().unwrap();
    let shown = format!("export ROLECALL_KEY={}<", demo.key);
    assert!(!start.contains(&shown));
    api.environment.config.edge.demo_login = Some(demo);
    api.restart();
    assert!(get(&api, "/docs").await.expect(200).text.contains(&shown));
}

#[tokio::test]
async fn an_unknown_page_is_not_found() {
    let api = TestApi::new().await;
    for path in [
        "/docs/nowhere",
        "/docs/page-roles.html",
        "/docs/Roles",
        "/docs/viewer.js",
        "/docs/roles/1",
        "/docs/%2e%2e",
    ] {
        let response = get(&api, path).await;
        assert_eq!(response.status, 404, "{path}");
    }
}
