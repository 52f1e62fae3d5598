//! The ceilings of one organization: what its requests write to the partition keys that they share, and how many a second fit. The
//! table in `shared/README.md` has the keys that take more than one unit.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use shared::model::Mode;
use tests::interceptor::RecordedCall;
use tests::{ACME, TestApi, generated, project, tenant};

use crate::importing::{begin_with, settle, step};

/// The write units that one partition key takes in a second.
const CEILING: u64 = 1_000;
/// An ordinary job text, in characters.
const TEXT: usize = 4_500;
/// The people of the requests: so many that some of them meet in each partition that a hash chooses.
const FIRST_NAMES: [&str; 9] = ["Jane", "Grace", "Ada", "Mary", "Joan", "Lisa", "Anna", "Rosa", "Emma"];

type Item = HashMap<String, AttributeValue>;
type Items = BTreeMap<(String, String), Item>;

/// The write units of each partition key of the table and of the indexes.
type Writes = BTreeMap<String, u64>;

/// The number of bytes of an attribute, as DynamoDB counts them.
fn size_of(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(digits) => digits.len().div_ceil(2) + 1,
        AttributeValue::B(blob) => blob.as_ref().len(),
        AttributeValue::Ss(texts) => texts.iter().map(String::len).sum(),
        AttributeValue::Bs(blobs) => blobs.iter().map(|blob| blob.as_ref().len()).sum(),
        AttributeValue::L(list) => 3 + list.iter().map(|value| 1 + size_of(value)).sum::<usize>(),
        AttributeValue::M(map) => {
            3 + map.iter().map(|(name, value)| 1 + name.len() + size_of(value)).sum::<usize>()
        }
        _ => 1,
    }
}

/// The units of a write of an item: one for each KB.
fn units(item: &Item) -> u64 {
    let bytes: usize = item.iter().map(|(name, value)| name.len() + size_of(value)).sum();
    u64::try_from(bytes.div_ceil(1_024)).unwrap()
}

/// The keys of the items that a call writes or checks, and whether it writes them.
fn keys(call: &RecordedCall) -> Vec<((String, String), bool)> {
    let text = |key: &Value, name: &str| key[name]["S"].as_str().unwrap().to_owned();
    let key = |action: &Value| {
        let key = if action["Key"].is_null() { &action["Item"] } else { &action["Key"] };
        (text(key, "pk"), text(key, "sk"))
    };
    match call.operation.as_str() {
        "PutItem" | "UpdateItem" | "DeleteItem" => vec![(key(&call.request), true)],
        "TransactWriteItems" => {
            let actions = call.request["TransactItems"].as_array().unwrap().iter();
            let actions = actions.flat_map(|action| action.as_object().unwrap());
            actions.map(|(kind, action)| (key(action), kind != "ConditionCheck")).collect()
        }
        _ => Vec::new(),
    }
}

/// Adds what calls have written, which found these items and left those.
fn add(writes: &mut Writes, calls: &[RecordedCall], before: &Items, after: &Items) {
    for call in calls {
        let factor = if call.operation == "TransactWriteItems" { 2 } else { 1 };
        for (key, is_written) in keys(call) {
            let (old, new) = (before.get(&key), after.get(&key));
            let larger = old.map(units).max(new.map(units)).unwrap_or(1);
            *writes.entry(key.0).or_default() += factor * larger;
            if !is_written {
                continue;
            }
            for index in ["filter", "status_filter"] {
                let place =
                    |item: Option<&Item>| Some((item?.get(index)?.as_s().ok()?.clone(), units(item?)));
                match (place(old), place(new)) {
                    (Some((old, _)), Some((new, units))) if old == new => {
                        *writes.entry(new).or_default() += units;
                    }
                    (old, new) => {
                        for (place, units) in old.into_iter().chain(new) {
                            *writes.entry(place).or_default() += units;
                        }
                    }
                }
            }
        }
    }
}

/// Makes a request, and moves its changes to the feed. Returns what both wrote.
async fn writes(api: &TestApi, path: &str, body: Value) -> (u64, Writes) {
    let mut writes = Writes::new();
    let before = api.stored_items().await;
    api.dynamodb.take_calls();
    let response = api.post(path, body).await;
    assert!(response.status < 300, "{}", response.text);
    let calls = api.dynamodb.take_calls();
    let between = api.stored_items().await;
    add(&mut writes, &calls, &before, &between);
    api.dynamodb.take_calls();
    api.run_feed().await;
    let calls = api.dynamodb.take_calls();
    add(&mut writes, &calls, &between, &api.stored_items().await);
    (response.body["id"].as_u64().unwrap(), writes)
}

/// The name of a partition key, without what differs between organizations, roles and texts.
fn name_of(key: &str, role: u64) -> String {
    let tenant = tenant(ACME, Mode::Live).to_string();
    let name = key.replace(&tenant, "{tenant}").replace(&format!("{role:016}"), "{role}");
    let name = name.replace(&format!("#{role}"), "#{role}");
    let is_hash_character = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_hash = |part: &str| part.len() >= 20 && part.chars().all(is_hash_character);
    let parts: Vec<_> = name.split('#').map(|part| if is_hash(part) { "{hash}" } else { part }).collect();
    match parts[..] {
        ["OUTBOX", _] => "OUTBOX#{group}".to_owned(),
        _ => parts.join("#"),
    }
}

/// The units that requests share, by the names of the keys: how many they write, and over how many keys a hash spreads them
/// evenly.
type Shared = BTreeMap<String, Share>;

/// The units that requests have written to keys with the same name that more than one of them writes to.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    units: u64,
    /// The number of requests, once for each key.
    requests: u64,
}

impl Share {
    /// Whether a request takes more than one unit of a key.
    fn is_notable(self) -> bool {
        self.units > self.requests
    }

    /// The units of a key that one request takes, and how many requests a second fit.
    fn cells(self) -> String {
        let Self { units, requests } = self;
        match (CEILING * requests).checked_div(units) {
            None => " | ".to_owned(),
            Some(ceiling) if units.is_multiple_of(requests) => format!("{} | {ceiling}", units / requests),
            Some(ceiling) => {
                let tenths = (units * 10).div_ceil(requests);
                format!("{}.{} | {ceiling}", tenths / 10, tenths % 10)
            }
        }
    }
}

/// What requests of the same kind share.
fn shared(requests: &[Writes], role: u64) -> Shared {
    let mut of_keys = BTreeMap::<&str, Vec<u64>>::new();
    for (key, units) in requests.iter().flatten() {
        of_keys.entry(key).or_default().push(*units);
    }
    let mut shared = Shared::new();
    for (key, units) in of_keys.into_iter().filter(|(_, units)| units.len() > 1) {
        let share = shared.entry(name_of(key, role)).or_default();
        share.units += units.iter().sum::<u64>();
        share.requests += u64::try_from(requests.len()).unwrap();
    }
    shared
}

#[tokio::test]
async fn the_ceilings_of_an_organization_are_current() {
    // DynamoDB Local counts the units of transactions differently.
    if std::env::var_os("ROLECALL_TEST_ENDPOINT").is_some() {
        return;
    }
    let api = TestApi::new().await;
    let role = json!({ "title": "Analyst", "description": "d".repeat(TEXT) });
    let posted = api.post("/api/v1/quick_post", json!({ "role": role })).await.expect(201);
    let role = posted.number("/role/id");
    api.run_feed().await;
    let (mut created, mut moved) = (Vec::new(), Vec::new());
    for (number, name) in FIRST_NAMES.into_iter().enumerate() {
        let (email, phone) = (format!("{name}.doe@example.com"), format!("+1415555267{number}"));
        let body = json!({
            "name": format!("{name} Doe"), "email": email, "phone": phone, "source": "LinkedIn",
            "tags": ["rust", "remote"], "role_id": role,
        });
        let (candidate, writes_of_creation) = writes(&api, "/api/v1/candidates", body).await;
        created.push(writes_of_creation);
        let advance = format!("/api/v1/candidates/{candidate}/advance");
        moved.push(writes(&api, &advance, json!({ "stage": "interview" })).await.1);
    }
    // The first request of an instance also notes the use of its key.
    let [created, moved] = [&created, &moved].map(|all| shared(&all[1..], role));
    for shares in [&created, &moved] {
        let outbox = shares["OUTBOX#{group}"];
        assert_eq!(outbox.requests, 2 * 8, "eight requests meet in both partitions: {outbox:?}");
    }
    let names: BTreeSet<_> = created.keys().chain(moved.keys()).cloned().collect();
    let of = |shares: &Shared, name: &str| shares.get(name).copied().unwrap_or_default();
    let rows = names.iter().map(|name| (of(&created, name), of(&moved, name), name));
    let mut rows: Vec<_> =
        rows.filter(|(created, moved, _)| created.is_notable() || moved.is_notable()).collect();
    // The busiest first.
    let fits = |share: Share| (CEILING * share.requests).checked_div(share.units).unwrap_or(u64::MAX);
    rows.sort_by_key(|(created, moved, name)| (fits(*created).min(fits(*moved)), (*name).clone()));
    let rows = rows
        .iter()
        .map(|(created, moved, name)| format!("| `{name}` | {} | {} |\n", created.cells(), moved.cells()));
    let table: String = rows.collect();
    println!("{table}");
    let path = "shared/README.md";
    let text = std::fs::read_to_string(project(path)).unwrap();
    let heading =
        "| Key | Units of a new candidate | a second | Units of a move | a second |\n|---|---|---|---|---|\n";
    let (before, rest) = text.split_once(heading).expect("the table of ceilings");
    let (_, after) = rest.split_once("\n\n").unwrap();
    generated::assert_current(path, &format!("{before}{heading}{table}\n{after}"));
}

/// The key that binds an import first, and how many rows a second fit.
#[tokio::test]
async fn the_ceilings_of_an_import_are_current() {
    // DynamoDB Local counts the units of transactions differently.
    if std::env::var_os("ROLECALL_TEST_ENDPOINT").is_some() {
        return;
    }
    let api = TestApi::new().await;
    let posted = api.post("/api/v1/quick_post", json!({ "role": { "title": "Analyst" } })).await.expect(201);
    let role = posted.number("/role/id");
    api.run_feed().await;
    let row = |(number, name): (usize, &str)| {
        json!({
            "name": format!("{name} Doe"), "email": format!("{name}.doe@example.com"),
            "phone": format!("+1415555267{number}"), "source": "LinkedIn", "tags": ["rust", "remote"],
            "applications": [{ "role": { "id": role }, "stage": "interview" }],
        })
    };
    let rows: Vec<_> = FIRST_NAMES.into_iter().enumerate().map(row).collect();
    let import = begin_with(&api, &rows).await;
    settle(&api, import).await;
    step(&api, import, "run").await.expect(202);
    let (mut writes, count) = (Writes::new(), rows.len() as u64);
    api.run_feed().await;
    for runs_feed in [false, true] {
        let before = api.stored_items().await;
        api.dynamodb.take_calls();
        if runs_feed {
            api.run_feed().await;
        } else {
            api.run_tasks().await;
        }
        let calls = api.dynamodb.take_calls();
        add(&mut writes, &calls, &before, &api.stored_items().await);
    }
    assert_eq!(crate::importing::show(&api, import).await.number("/counts/create"), count);
    let mut of_names = BTreeMap::<String, u64>::new();
    for (key, units) in &writes {
        let busiest = of_names.entry(name_of(key, role)).or_default();
        *busiest = (*busiest).max(*units);
    }
    let mut busiest: Vec<_> = of_names.into_iter().filter(|(_, units)| *units > count).collect();
    busiest.sort_by_key(|(name, units)| (std::cmp::Reverse(*units), name.clone()));
    let all = writes.values().sum::<u64>().div_ceil(count);
    for (name, units) in &busiest {
        println!("{name}: {units} units for {count} rows, {} rows a second", CEILING * count / units);
    }
    let [(first, most), (_, next), ..] = busiest.as_slice() else { panic!("{busiest:?}") };
    let sentence = format!(
        "A row of a new person with an application takes {all} write units, {} of them of the key `{first}`, which binds first: at \
         {} rows a second for one organization. The next keys take {} each, so {} rows a second fit.",
        most.div_ceil(count),
        CEILING * count / most,
        next.div_ceil(count),
        CEILING * count / next,
    );
    println!("{sentence}");
    let text = std::fs::read_to_string(project("infra/README.md")).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&sentence), "infra/README.md must say: {sentence}");
}
