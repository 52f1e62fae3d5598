//! The cost of finding candidates: calls, read units, and items that are read without being shown.

use std::collections::BTreeSet;
use std::ops::Range;

use futures_util::stream::{self, StreamExt};
use shared::id::Id;
use shared::model::{CandidateRecord, Mode, Name, Profile, Source, Tag, Tags};
use shared::store::Transaction;
use tests::interceptor::RecordedCall;
use tests::{ACME, Response, TestApi, tenant};
use url::form_urlencoded::byte_serialize;

use crate::budget::pages_scale;

const CANDIDATES: &str = "/api/v1/candidates";
/// The number of candidates. `FINDING_SCALE=80` stores 80 times as many.
pub(crate) const COUNT: u64 = 1_250;
const FIRST_NAMES: [&str; 10] =
    ["Jane", "José", "Anna", "Anna-Maria", "Jörg", "Łukasz", "Семён", "أحمد", "Grace", "Li"];
const LAST_NAMES: [&str; 10] =
    ["Doe", "Müller", "O’Brien", "Hopper", "Щукин", "محمد", "Nguyễn", "García Márquez", "Annan", "太郎"];

/// The factor for the number of items.
pub(crate) fn scale() -> u64 {
    std::env::var("FINDING_SCALE").map_or(1, |scale| scale.parse().expect("a number"))
}

/// The fields of the candidate with this number. Everything but the e-mail address is shared with others.
fn profile(number: u64) -> Profile {
    let at = |names: [&'static str; 10], index: u64| names[usize::try_from(index % 10).unwrap()];
    let name = format!("{} {}", at(FIRST_NAMES, number), at(LAST_NAMES, number / 10));
    let email = format!("person{number}@mail{}.example.com", number % 3).parse().unwrap();
    let tag = |text: &str| Tag::parse(text).unwrap().unwrap();
    Profile {
        phone: Some(format!("+1415{:07}", number % 5_000).parse().unwrap()),
        source: (number.is_multiple_of(2)).then_some(Source::CAREER_PAGE),
        tags: Tags::of([tag("everybody"), tag(&format!("group {}", number % 100))]),
        ..Profile::new(Name::parse(&name).unwrap().unwrap(), email)
    }
}

/// Stores the candidates with these numbers, whose number is a multiple of five.
pub(crate) async fn write(api: &TestApi, numbers: Range<u64>) {
    write_people(api, numbers, profile).await;
}

/// Stores candidates with these numbers and fields. Their number is a multiple of five.
async fn write_people(api: &TestApi, numbers: Range<u64>, profile: impl Fn(u64) -> Profile) {
    const PER_TRANSACTION: u64 = 5;
    let now = api.environment.clock.now();
    let profile = &profile;
    let insert = async |from: u64| {
        let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
        for number in from..from + PER_TRANSACTION {
            let id = Id::new(1_000_000_000_000_000 + number).unwrap();
            transaction.insert_candidate(CandidateRecord::new(id, profile(number), now), &[]).unwrap();
        }
        api.store().commit(transaction).await.unwrap();
        // The test does not read these calls.
        api.dynamodb.clear_calls();
    };
    let starts = numbers.step_by(usize::try_from(PER_TRANSACTION).unwrap());
    stream::iter(starts).for_each_concurrent(8, insert).await;
}

/// The reads for a page.
struct Cost {
    calls: usize,
    queries: usize,
    units: f64,
    /// The number of entries of indexes or lists.
    entries: u64,
    candidates: usize,
}

async fn cost(api: &TestApi, path: &str) -> (Cost, Response) {
    api.dynamodb.take_calls();
    let page = api.get(path).await.expect(200);
    let calls = api.dynamodb.take_calls();
    assert!(calls.iter().all(|call| call.request.get("FilterExpression").is_none()));
    let entries = calls.iter().filter_map(|call| call.response["ScannedCount"].as_u64());
    let batches = calls.iter().filter_map(|call| call.request["RequestItems"].as_object());
    let candidates =
        batches.flat_map(|tables| tables.values()).map(|table| table["Keys"].as_array().unwrap().len());
    let cost = Cost {
        calls: calls.len(),
        queries: calls.iter().filter(|call| call.operation == "Query").count(),
        units: calls.iter().filter(|call| call.operation != "UpdateItem").map(RecordedCall::units).sum(),
        entries: entries.sum(),
        candidates: candidates.sum(),
    };
    (cost, page)
}

fn ids(page: &Response) -> Vec<u64> {
    page.body["data"].as_array().unwrap().iter().map(|one| one["id"].as_u64().unwrap()).collect()
}

/// The maximum number of prefixes of its words that a search first looks at.
fn looks(words: usize) -> usize {
    if words > 1 { 2 * words.min(3) } else { 0 }
}

/// The maximum number of read units of a page that finds somebody after these looks.
#[expect(clippy::cast_precision_loss, reason = "pages are small")]
fn allowed_units(looks: usize, shown: usize) -> f64 {
    5.0 + looks as f64 + 0.5 * shown as f64
}

/// Asserts that all pages of a search stay within the limits, and that they show these candidates, each once.
async fn assert_found(api: &TestApi, filter: &str, value: &str, limit: usize, expected: BTreeSet<u64>) {
    let value_in_query: String = byte_serialize(value.as_bytes()).collect();
    let path = format!("{CANDIDATES}?limit={limit}&{filter}={value_in_query}");
    let (mut next, mut seen, mut pages, mut units) = (path.clone(), Vec::new(), 0, 0.0_f64);
    loop {
        let (cost, page) = cost(api, &next).await;
        let shown = ids(&page);
        // The first page of a search with several words looks at a few entries of each.
        let looks = if next == path { looks(value.split(' ').count()) } else { 0 };
        // Two more queries look for anybody.
        let more = cost.queries.saturating_sub(looks + 2);
        assert!(cost.calls <= 4 + looks + more && more <= 2, "{next}: {} calls", cost.calls);
        assert!(
            cost.units <= allowed_units(looks, shown.len()) + 24.0 * f64::from(u32::try_from(more).unwrap()),
            "{next}: {} units, {} people",
            cost.units,
            shown.len()
        );
        assert_eq!(cost.candidates, shown.len(), "{next}");
        if filter == "q" {
            let looked_at = looks as u64 * 30;
            assert!(
                cost.entries <= 300 + looked_at + 1_500 * more as u64,
                "{next}: {} entries",
                cost.entries
            );
        } else {
            assert_eq!(cost.entries, shown.len() as u64, "{next}: every entry that is read is shown");
        }
        (pages, units) = (pages + 1, units.max(cost.units));
        seen.extend(shown);
        let Some(cursor) = page.body["next_cursor"].as_str() else { break };
        next = format!("{path}&cursor={cursor}");
    }
    let distinct: BTreeSet<_> = seen.iter().copied().collect();
    assert_eq!(distinct.len(), seen.len(), "{path}: nobody is repeated");
    assert!(distinct == expected, "{path}: {} people instead of {}", distinct.len(), expected.len());
    println!("{filter}={value}: {} people on {pages} pages, at most {units} units for a page", seen.len());
}

/// Returns the identifiers of the candidates whose profile matches.
fn matching(count: u64, matches: impl Fn(u64, &str) -> bool) -> BTreeSet<u64> {
    let is_match = |number: &u64| matches(*number, profile(*number).name.as_str());
    (0..count).filter(is_match).map(|number| 1_000_000_000_000_000 + number).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn finding_candidates_costs_the_same_among_many() {
    let api = TestApi::new().await;
    let count = COUNT * scale();
    write(&api, 0..count).await;
    let named = |text: &'static str| matching(count, move |_, name| name.contains(text));
    for (query, limit, expected) in [
        ("jane", 100, named("Jane")),
        ("jane", 25, named("Jane")),
        ("ann", 100, named("Ann")),
        ("müller", 100, named("Müller")),
        ("o'brien", 100, named("O’Brien")),
        ("маша", 25, BTreeSet::new()),
        ("щук", 100, named("Щукин")),
        ("郎", 100, named("太郎")),
        ("jane doe", 100, matching(count, |_, name| name == "Jane Doe")),
        ("doe jane", 7, matching(count, |_, name| name == "Jane Doe")),
        (
            "garcia l",
            100,
            matching(count, |_, name| name == "Li García Márquez" || name == "Łukasz García Márquez"),
        ),
        ("anna hopper", 100, matching(count, |_, name| name.starts_with("Anna") && name.ends_with("Hopper"))),
        ("example jane hop", 100, matching(count, |_, name| name == "Jane Hopper")),
        ("jane nobody", 100, BTreeSet::new()),
        ("person17", 100, matching(count, |number, _| number.to_string().starts_with("17"))),
        ("0000017", 100, matching(count, |number, _| number % 5_000 == 17)),
        ("grace 017", 100, matching(count, |number, name| number % 1_000 == 17 && name.starts_with("Grace"))),
        ("mail1 com", 100, matching(count, |number, _| number % 3 == 1)),
    ] {
        assert_found(&api, "q", query, limit, expected).await;
    }
    for (filter, value, limit, expected) in [
        ("tag", "EVERYBODY", 100, matching(count, |_, _| true)),
        ("tag", "group 7", 25, matching(count, |number, _| number % 100 == 7)),
        ("source", "Career_Page", 100, matching(count, |number, _| number % 2 == 0)),
        ("phone", "+14150000017", 25, matching(count, |number, _| number % 5_000 == 17)),
    ] {
        assert_found(&api, filter, value, limit, expected).await;
    }
    // A search for one word reads an entry for each person, and further entries only of the same people.
    for limit in [1, 25, 100] {
        let (cost, page) = cost(&api, &format!("{CANDIDATES}?q=jane&limit={limit}")).await;
        assert_eq!((cost.entries, ids(&page).len()), (limit, usize::try_from(limit).unwrap()));
    }
}

/// The fields of one of very many candidates: 4 % are called Maria, and everybody has an address at example.com.
fn one_of_many(number: u64) -> Profile {
    const LAST_NAMES: [&str; 50] = [
        "Aalto",
        "Abbott",
        "Acosta",
        "Bauer",
        "Becker",
        "Castro",
        "Chavez",
        "Cohen",
        "Costa",
        "Dubois",
        "Duran",
        "Eriksen",
        "Farkas",
        "Fischer",
        "Garcia",
        "Gomez",
        "Haas",
        "Hansen",
        "Ivanov",
        "Jansen",
        "Jensen",
        "Kaya",
        "Keller",
        "Kowalski",
        "Larsen",
        "Lopez",
        "Maier",
        "Martin",
        "Moreau",
        "Nagy",
        "Nielsen",
        "Novak",
        "Olsen",
        "Ortiz",
        "Petrov",
        "Popa",
        "Ramos",
        "Reyes",
        "Rossi",
        "Santos",
        "Schmidt",
        "Silva",
        "Soto",
        "Suzuki",
        "Torres",
        "Vargas",
        "Weber",
        "Yilmaz",
        "Zhang",
        "Zimmermann",
    ];
    const FIRST_NAMES: [&str; 25] = [
        "Maria", "Adam", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Hugo", "Ida", "Jonas", "Karl",
        "Lena", "Max", "Nora", "Otto", "Paul", "Rosa", "Sara", "Theo", "Uwe", "Vera", "Wanda", "Yara", "Zoe",
    ];
    let pick = |names: &[&'static str], index: u64| names[usize::try_from(index).unwrap() % names.len()];
    let first = pick(&FIRST_NAMES, number);
    // Numbers that share few factors, so that every combination of names and hosts occurs.
    let last = pick(&LAST_NAMES, number / 25 * 7 + number);
    let host = number / 3 % 10;
    let address = format!("{first}.{last}{number}@mail{host}.example.com").to_lowercase();
    Profile::new(Name::parse(&format!("{first} {last}")).unwrap().unwrap(), address.parse().unwrap())
}

/// How a client that wants to find somebody fares.
struct Walk {
    /// The number of requests until somebody is found or the list ends.
    requests: usize,
    /// The read units of these requests.
    units: f64,
    found: bool,
}

/// Asks for pages of a search until somebody is found or the list ends.
async fn walk(api: &TestApi, query: &str) -> Walk {
    let path = format!("{CANDIDATES}?q={}", query.replace(' ', "+"));
    let (mut next, mut walk) = (path.clone(), Walk { requests: 0, units: 0.0, found: false });
    loop {
        let looks = if next == path { looks(query.split(' ').count()) } else { 0 };
        let (cost, page) = cost(api, &next).await;
        walk = Walk {
            requests: walk.requests + 1,
            units: walk.units + cost.units,
            found: !ids(&page).is_empty(),
        };
        let cursor = page.body["next_cursor"].as_str();
        if walk.found {
            assert!(cost.queries <= 4 + looks, "{next}: {} queries", cost.queries);
        } else if cursor.is_some() {
            assert!(cost.queries >= 4, "{next}: the page is empty after {} queries", cost.queries);
        }
        assert!(
            cost.units <= allowed_units(looks, ids(&page).len()) + 3.0 * 24.0,
            "{next}: {} units",
            cost.units
        );
        let Some(cursor) = cursor.filter(|_| !walk.found) else { break };
        next = format!("{path}&cursor={cursor}");
    }
    println!("{query}: {} requests, {} units, found: {}", walk.requests, walk.units, walk.found);
    walk
}

/// `PAGES_SCALE=10` stores 50,000 people.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_search_with_several_words_needs_few_requests_among_very_many() {
    let api = TestApi::new().await;
    let count = 5_000 * pages_scale();
    write_people(&api, 0..count, one_of_many).await;
    // No page is empty while the calls of its budget are not used, whoever is found.
    for (query, found, requests) in [
        ("maria zv", false, 1),
        ("zv maria", false, 1),
        ("example mail1 zv", false, 1),
        ("maria mail3", true, 1),
        ("maria example", true, 1),
        ("mail7 zimmermann", true, 1),
        ("com clara zimmermann", true, 1),
        ("maria adam", false, 2),
        ("mail1 mail2 example", false, 5),
        ("weber keller com", false, 2),
        ("example com zhang", true, 1),
    ] {
        let walk = walk(&api, query).await;
        assert_eq!(walk.found, found, "{query}");
        assert!(walk.requests <= requests, "{query}: {} requests", walk.requests);
    }
    // Every page of a list is full, because the rarer word drives: everybody is at example.com, and 4 % are called Maria.
    // The other entries of the same people come last.
    let marias = usize::try_from(count / 25).unwrap();
    for (query, pages) in [("maria example", marias.div_ceil(100) + 2), ("maria", marias.div_ceil(100) + 2)] {
        let path = format!("{CANDIDATES}?q={}", query.replace(' ', "+"));
        let (mut next, mut seen, mut read) = (path.clone(), 0, 0);
        loop {
            let page = api.get(&next).await.expect(200);
            (seen, read) = (seen + ids(&page).len(), read + 1);
            let Some(cursor) = page.body["next_cursor"].as_str() else { break };
            next = format!("{path}&cursor={cursor}");
        }
        assert_eq!(seen, marias, "{query}");
        assert!(read <= pages, "{query}: {read} pages");
    }
}

#[tokio::test]
async fn creating_a_typical_candidate_costs_23_write_units_and_9_in_the_feed() {
    let api = TestApi::new().await;
    let body = serde_json::json!({
        "name": "Jane Doe", "email": "jane.doe@example.com", "phone": "+14155552671", "source": "LinkedIn",
        "tags": ["rust", "remote"]
    });
    api.dynamodb.take_calls();
    api.post(CANDIDATES, body).await.expect(201);
    let calls = api.dynamodb.take_calls();
    let transaction = calls.iter().find(|call| call.operation == "TransactWriteItems").unwrap();
    assert_eq!(transaction.request["TransactItems"].as_array().unwrap().len(), 11);
    api.run_feed().await;
    // The event, six words, the head of the feed, and the deletion from the outbox.
    let is_read = |call: &RecordedCall| ["GetItem", "BatchGetItem", "Query"].contains(&&*call.operation);
    let writes: Vec<_> = api.dynamodb.take_calls().into_iter().filter(|call| !is_read(call)).collect();
    assert_eq!(writes.len(), 9);
    // DynamoDB Local counts the units differently.
    if std::env::var_os("ROLECALL_TEST_ENDPOINT").is_none() {
        let in_feed: f64 = writes.iter().map(RecordedCall::units).sum();
        assert!((transaction.units() - 23.0).abs() < f64::EPSILON, "{}", transaction.units());
        assert!((in_feed - 9.0).abs() < f64::EPSILON, "{in_feed}");
    }
}
