//! The cost of the career pages with 5,000 openings: DynamoDB calls, items read, and the size of the pages.

use futures_util::stream::{self, StreamExt};
use jiff::SignedDuration;
use shared::clock::Timestamp;
use shared::model::{Mode, Opening, Pay, Places, Posting, RemotePolicy, Role, Salary, Text};
use shared::store::Transaction;
use tests::careers::{cards, insert, next, published, read, sitemap, titles};
use tests::interceptor::RecordedCall;
use tests::{ACME, BASE_URL, Response, TestApi, tenant};

const COUNT: u64 = 5_000;
const LIST: &str = "/careers/acme";
/// The maximum size of a page: 100 KB.
const MAX_BYTES: usize = 100 * 1024;

/// Stores list entries without their roles and postings.
pub(crate) async fn insert_openings(api: &TestApi, openings: impl Iterator<Item = Opening>) {
    let openings: Vec<_> = openings.collect();
    let batch = async |openings: &[Opening]| {
        let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
        for opening in openings {
            transaction.put_opening(opening).unwrap();
        }
        api.store().commit(transaction).await.unwrap();
    };
    stream::iter(openings.chunks(100)).for_each_concurrent(8, batch).await;
}

fn at(number: u64) -> Timestamp {
    let start: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
    start + SignedDuration::from_secs(i64::try_from(number / 2).unwrap())
}

/// Returns a realistic role and its posting.
fn realistic_vacancy(number: u64) -> (Role, Posting) {
    let pick = |of: &[&str], by: u64| of[usize::try_from(number / by).unwrap() % of.len()].to_owned();
    let level = pick(&["Senior", "Junior", "Lead", "Associate", "Principal", "Regional"], 1);
    let work = pick(&["Engineer", "Nurse", "Account Manager", "Warehouse Operator", "Designer"], 6);
    let field = pick(&["Payments", "Logistics", "Infrastructure", "Customer Success"], 30);
    let rare = if number == 77 { " and Falconer" } else { "" };
    let (mut role, mut posting) = published(number, &format!("{level} {work}, {field}{rare}"), at(number));
    let text = "We are looking for somebody who likes people and soup, and who can count both. ".repeat(12);
    role.content.department = Text::parse(&pick(&["Operations", "Product", "Sales & Marketing"], 4)).unwrap();
    let location = pick(&["Berlin, Germany", "Austin, Texas", "São Paulo, Brazil", "Remote"], 7);
    role.content.places = Places::named(Text::parse(&location).unwrap(), None);
    let policies = [None, Some(RemotePolicy::Hybrid), Some(RemotePolicy::Onsite)];
    role.content = role.content.with_remote_policy(policies[usize::try_from(number % 3).unwrap()]);
    role.content.pay = Pay::annual(Salary::new(90_000), Salary::new(120_000)).unwrap();
    posting.content.public_description = Text::parse(&text).unwrap();
    posting.content.requirements = Text::parse(&text).unwrap();
    (role, posting)
}

/// The cost of a page.
#[derive(Debug)]
struct Cost {
    operations: Vec<String>,
    scanned: u64,
    returned: u64,
    units: f64,
    bytes: usize,
}

async fn get_with_cost(api: &TestApi, path: &str) -> (Response, Cost) {
    api.dynamodb.take_calls();
    let page = read(api, path).await.expect(200);
    let calls = api.dynamodb.take_calls();
    for call in &calls {
        assert_ne!(call.operation, "Scan", "{path}");
        for filter in ["FilterExpression", "IndexName"] {
            assert!(call.request.get(filter).is_none(), "{path}: {filter}");
        }
    }
    let queries = || calls.iter().filter(|call| call.operation == "Query");
    let sum = |field: &str| queries().filter_map(|call| call.response[field].as_u64()).sum();
    let cost = Cost {
        operations: calls.iter().map(|call| call.operation.clone()).collect(),
        scanned: sum("ScannedCount"),
        returned: sum("Count"),
        units: calls.iter().map(RecordedCall::units).sum(),
        bytes: page.text.len(),
    };
    (page, cost)
}

/// Asserts that a page takes at most three calls and 100 KB, and returns every item that it reads.
async fn get_within_limits(api: &TestApi, path: &str) -> (Response, Cost) {
    let (page, cost) = get_with_cost(api, path).await;
    assert!(cost.operations.len() <= 3 && cost.bytes < MAX_BYTES, "{path}: {cost:?}");
    // The embedded database also counts the item that did not fit into 1 MB.
    let extra_items = cost.operations.len() as u64 - 1;
    assert!((cost.returned..=cost.returned + extra_items).contains(&cost.scanned), "{path}: {cost:?}");
    (page, cost)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_is_small_and_takes_at_most_three_calls_with_5000_openings() {
    let api = TestApi::new().await;
    // Roles and postings exist for the feed's first page and every twentieth opening. The other openings only have
    // list entries.
    let all: Vec<_> = (0..COUNT).map(realistic_vacancy).collect();
    let has_role_and_posting = |number: u64| number.is_multiple_of(20) || number > COUNT - 100;
    let (full, bare): (Vec<_>, Vec<_>) =
        (0..).zip(all.clone()).partition(|(number, _)| has_role_and_posting(*number));
    insert(&api, ACME, &full.into_iter().map(|(_, vacancy)| vacancy).collect::<Vec<_>>()).await;
    insert_openings(&api, bare.iter().filter_map(|(_, (role, posting))| Opening::of(role, posting))).await;
    let title = |number: u64| realistic_vacancy(number).0.content.title.as_str().to_owned();

    let (mut page, first) = get_within_limits(&api, LIST).await;
    assert_eq!((first.operations, first.scanned), (vec!["GetItem".to_owned(), "Query".to_owned()], 50));
    assert_eq!(titles(&page), (COUNT - 50..COUNT).rev().map(title).collect::<Vec<_>>());
    // Later pages cost the same.
    for number in 1..4 {
        let path = match number {
            3 => {
                let end = shared::store::opening_position(at(60), "3000000000000000".parse().unwrap());
                format!("{LIST}?before={end}")
            }
            _ => next(&page).unwrap(),
        };
        let (another, cost) = get_within_limits(&api, &path).await;
        assert_eq!((cost.operations.len(), cost.scanned, cards(&another).len()), (2, 50, 50), "{path}");
        assert!((cost.units - first.units).abs() <= 1.0, "{path}: {} and {}", cost.units, first.units);
        page = another;
    }

    let detail = format!("{LIST}/{}", all[2_500].1.slug);
    let (page, cost) = get_within_limits(&api, &detail).await;
    assert_eq!(cost.operations, ["GetItem", "GetItem", "BatchGetItem"]);
    assert!(page.text.contains(&title(2_500).replace('&', "&#38;")));

    for (query, min_results) in [
        ("q=falconer", 1),
        ("q=engineer", 50),
        ("q=senior+nurse+payments", 20),
        ("department=sales+%26+marketing", 50),
        ("location=sao+paulo&remote_policy=hybrid", 50),
        ("q=falconer&department=sales&location=berlin&remote_policy=onsite", 0),
        ("q=nobody+has+this", 0),
    ] {
        let (page, cost) = get_within_limits(&api, &format!("{LIST}?{query}")).await;
        assert!(cards(&page).len() >= min_results, "{query}: {} found", cards(&page).len());
        // 5,000 openings take about 1.7 MB, and half a capacity unit reads 4 KB.
        assert!(cost.units < 300.0, "{query} read {} openings: {} units", cost.scanned, cost.units);
        if min_results == 0 {
            assert_eq!((cost.returned, next(&page)), (COUNT, None), "{query} read all openings: {cost:?}");
            assert!(page.text.contains("No openings match your search"), "{query}");
        }
    }
    let (page, _) = get_within_limits(&api, &format!("{LIST}?q=FALCONER")).await;
    assert_eq!(titles(&page), [title(77)]);

    // The index takes one call for the site and one for each megabyte of openings.
    let (index, cost) = get_with_cost(&api, &format!("{LIST}/sitemap.xml")).await;
    assert_eq!(cost.operations, ["GetItem", "Query", "Query"], "{cost:?}");
    assert_eq!(cost.returned, COUNT);
    let mut listed = 0;
    for (url, _) in sitemap(&index, "sitemapindex", "sitemap") {
        let path = url.strip_prefix(BASE_URL).unwrap();
        let (map, cost) = get_with_cost(&api, path).await;
        let openings =
            sitemap(&map, "urlset", "url").iter().filter(|(url, _)| !url.ends_with("/acme")).count();
        assert_eq!(cost.operations, ["GetItem", "Query"], "{path}");
        assert_eq!(usize::try_from(cost.returned).unwrap(), openings, "{path}: {cost:?}");
        listed += openings;
    }
    assert_eq!(listed, 5_000);

    let (feed, cost) = get_within_limits(&api, &format!("{LIST}/jobs.json")).await;
    let shown = feed.body["jobs"].as_array().unwrap().len();
    assert_eq!(cost.operations, ["GetItem", "Query", "BatchGetItem"]);
    assert_eq!(usize::try_from(cost.scanned).unwrap(), shown, "{cost:?}");
}

/// One request cannot search 5,000 openings of the maximum length. The next page continues the search.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_of_maximum_length_openings_finds_every_result_across_pages() {
    let api = TestApi::new().await;
    let is_wanted = |number: u64| number.is_multiple_of(97) || number < 30;
    let title = |number: u64| {
        let word = if is_wanted(number) { "Needle" } else { "Straw" };
        let mut title = format!("{word} {number} ");
        title.push_str(&"t".repeat(200 - title.len()));
        title
    };
    let longest = |number: u64| {
        let (mut role, posting) = published(number, &title(number), at(number));
        role.content.department = Text::parse(&format!("{number:04}{}", "d".repeat(96))).unwrap();
        let location = Text::parse(&format!("{number:04}{}", "l".repeat(196))).unwrap();
        role.content.places = Places::named(location, None);
        role.content = role.content.with_remote_policy(Some(RemotePolicy::Onsite));
        role.content.pay = Pay::annual(Salary::new(99_999_999), Salary::new(100_000_000)).unwrap();
        Opening::of(&role, &posting).unwrap()
    };
    insert_openings(&api, (0..COUNT).map(longest)).await;
    let (page, first) = get_within_limits(&api, LIST).await;
    assert_eq!((first.operations.len(), first.scanned, cards(&page).len()), (2, 50, 50));

    for (query, expected) in [
        ("q=needle", (0..COUNT).rev().filter(|number| is_wanted(*number)).map(title).collect::<Vec<_>>()),
        ("q=nobody", Vec::new()),
        ("department=0042d&remote_policy=onsite", vec![title(42)]),
    ] {
        let mut path = format!("{LIST}?{query}");
        let (mut found, mut pages, mut unfinished) = (Vec::new(), 0, 0);
        loop {
            let (page, cost) = get_within_limits(&api, &path).await;
            let shown = titles(&page);
            assert!(cost.scanned > 0 && cost.units < 300.0, "{path}: {cost:?}");
            pages += 1;
            let is_partial = page.text.contains("Continue searching");
            assert_eq!(is_partial, next(&page).is_some() && shown.len() < 50, "{path}");
            assert_eq!(page.text.contains("No matches so far"), is_partial && shown.is_empty(), "{path}");
            unfinished += usize::from(is_partial);
            found.extend(shown);
            let Some(next) = next(&page) else { break };
            assert!(next.starts_with(&format!("{LIST}?{query}&before=")) && pages < 40, "{next}");
            path = next;
        }
        assert_eq!(found, expected, "{query}: every result is shown once");
        assert!(unfinished > 0, "{query} ended on the first page: {pages} pages");
    }
}
