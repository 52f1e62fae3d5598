//! Verification and rebuilding.

use std::collections::BTreeSet;

use ::tests::{ACME, TestApi};
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;
use shared::id::Id;
use shared::model::IndexPosition;

use super::TestAdmin;
use super::forms::{Item, Items, kind};
use super::personal_data::populate;

/// Copies that can be made again, with an attribute of theirs.
const COPIES: [&str; 15] = [
    "application",
    "candidate",
    "candidate_screen",
    "email",
    "external_id",
    "mailbox",
    "opening",
    "phone",
    "retention_start",
    "role_application",
    "role_posting",
    "role_screen",
    "screen",
    "source",
    "word",
];

#[tokio::test]
async fn what_is_stored_agrees_with_its_records() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    Box::pin(populate(&api, ACME)).await;
    // The search index may be behind.
    let summary = admin.json("verify 1 --items-per-second 1000000").await;
    assert_eq!(summary["findings"], json!([]));
    Box::pin(api.run_feed()).await;
    let summary = admin.json("verify 1 --items-per-second 1000000").await;
    assert_eq!(summary["findings"], json!([]));
    let stored = api.stored_items().await;
    // The audit log, searches, receipts, tasks and claims are not read as such.
    assert!(summary["items"].as_u64().unwrap() > 120, "{} of {}", summary["items"], stored.len());
    let all = admin.json("verify --all --items-per-second 1000000").await;
    assert_eq!(all["organizations"], 2);
    assert!(admin.output("verify 2").await.ends_with("Everything agrees.\n"));
    assert!(admin.error("verify 17").await.starts_with("The organization does not exist"));
    for wrong in ["verify", "verify 1 --all", "verify --after 1", "verify 1 --items-per-second 0"] {
        assert!(admin.run(wrong).await.is_err(), "{wrong}");
    }
}

#[tokio::test]
async fn copies_and_counters_are_rebuilt_from_their_records() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    Box::pin(populate(&api, ACME)).await;
    Box::pin(api.run_feed()).await;
    let before = api.stored_items().await;
    // One copy of each kind is missing, and another one is wrong.
    let (mut damaged, mut seen) = (before.clone(), std::collections::BTreeMap::new());
    for (key, item) in &before {
        let kind = kind(item).name;
        if !COPIES.contains(&kind) || !key.0.starts_with("1#") {
            continue;
        }
        let count = seen.entry(kind).or_insert(0);
        *count += 1;
        // The lists of candidates and screens lead to the records.
        match *count {
            1 if !["candidate", "screen"].contains(&kind) => _ = damaged.remove(key),
            2 => {
                let item = damaged.get_mut(key).unwrap();
                let name = item
                    .keys()
                    .find(|name| {
                        !["pk", "sk", "form", "id", "filter", "status_filter"].contains(&name.as_str())
                    })
                    .cloned();
                let name = name.unwrap_or_else(|| "form".to_owned());
                item.insert(name, AttributeValue::N("0".to_owned()));
            }
            _ => {}
        }
    }
    let stats = before.iter().find(|(_, item)| kind(item).name == "role_stats").unwrap();
    let wrong = [
        ("now_offer".to_owned(), AttributeValue::N("9".to_owned())),
        ("role_status".to_owned(), AttributeValue::S("closed".to_owned())),
    ];
    damaged.insert(stats.0.clone(), stats.1.clone().into_iter().chain(wrong).collect());
    api.restore(&damaged).await;
    let found = admin.json("verify 1 --items-per-second 1000000").await;
    let open = found["findings"].as_array().unwrap();
    assert!(open.len() > 15 && open.iter().all(|found| found["repaired"] == false), "{found}");
    assert_eq!(
        admin.json("rebuild 1 --preview --items-per-second 1000000").await["findings"],
        found["findings"]
    );
    assert!(api.stored_items().await == damaged, "nothing was written");
    admin.json("rebuild 1 --items-per-second 1000000").await;
    // The second run sees the applications that the first one has brought back.
    admin.json("rebuild 1 --items-per-second 1000000").await;
    assert_eq!(admin.json("verify 1 --items-per-second 1000000").await["findings"], json!([]));
    Box::pin(api.run_feed()).await;
    let after = api.stored_items().await;
    for (key, item) in &before {
        let kind = kind(item).name;
        if COPIES.contains(&kind) {
            assert_eq!(after.get(key), Some(item), "{kind} {key:?}");
        }
    }
}

/// A person whose second application is lost or cannot be read is not shown without it. Everybody else is, and a rebuild accepts
/// what is lost.
#[tokio::test]
async fn a_record_that_lacks_an_application_is_found_and_mended() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    api.write_open_roles(1..=3).await;
    let mut people = Vec::new();
    for email in ["ada@example.com", "grace@example.com"] {
        let person = json!({ "name": "Ada", "email": email, "role_id": 1 });
        let id = api.post("/api/v1/candidates", person).await.expect(201).number("/id");
        let path = format!("/api/v1/candidates/{id}");
        for role in [2, 3] {
            api.post(&format!("{path}/applications"), json!({ "role_id": role })).await.expect(201);
        }
        api.post(&format!("{path}/advance"), json!({ "stage": "interview" })).await.expect(200);
        people.push((id, path));
    }
    let (ada, path) = &people[0];
    let verify = async || admin.json("verify 1 --items-per-second 1000000").await["findings"].clone();
    assert_eq!(verify().await, json!([]));
    let whole = api.get(path).await.expect(200).body;
    let others = async || {
        api.get(&people[1].1).await.expect(200);
        let listed = api.get("/api/v1/candidates?role_id=2").await.expect(200);
        assert_eq!(listed.body["data"].as_array().unwrap().len(), 2);
        assert_eq!(
            api.get("/api/v1/applications").await.expect(200).body["data"].as_array().unwrap().len(),
            6
        );
    };

    let mut items = api.stored_items().await;
    let pk = format!("1#live#CANDIDATE#{ada:016}");
    let further = items.keys().filter(|(other, sk)| *other == pk && sk.starts_with("~APPLICATION#"));
    let further: Vec<_> = further.cloned().collect();
    assert_eq!(further.len(), 2);
    let unreadable = items[&further[0]].clone();
    let later = ("form".to_owned(), AttributeValue::N("2".to_owned()));
    api.write_items([unreadable.clone().into_iter().chain([later]).collect()]).await;
    let export = format!("{path}/export");
    for path in [path, &export] {
        assert_eq!(api.get(path).await.expect(500).string("/code"), "unreadable");
    }
    api.post(&format!("{path}/advance"), json!({ "stage": "offer" })).await.expect(500);
    others().await;
    let found = verify().await;
    assert_eq!((&found[0]["sk"], found.as_array().unwrap().len()), (&json!(further[0].1), 1), "{found}");
    api.write_items([unreadable]).await;
    assert_eq!(api.get(path).await.expect(200).body, whole);

    items.remove(&further[0]);
    api.restore(&items).await;
    for path in [path, &export] {
        assert_eq!(api.get(path).await.expect(500).string("/code"), "unreadable");
    }
    others().await;
    let found = verify().await;
    let problem = "the applications beside it are not those that it counts";
    assert_eq!((&found[0]["sk"], &found[0]["problem"]), (&json!("~FILE"), &json!(problem)), "{found}");
    let record = (pk.clone(), "~FILE".to_owned());
    assert_eq!(api.stored_items().await[&record], items[&record], "nothing was written");
    let rebuilt = admin.json("rebuild 1 --items-per-second 1000000").await;
    assert_eq!(rebuilt["findings"][0]["repaired"], true, "{rebuilt}");
    let mended = api.get(path).await.expect(200);
    assert_eq!(mended.body["applications"].as_array().unwrap().len(), 2);
    assert_eq!(mended.body["applications"][0], whole["applications"][0]);
    let moved = api.post(&format!("{path}/advance"), json!({ "stage": "offer" })).await.expect(200);
    assert_eq!(moved.body["applications"].as_array().unwrap().len(), 2);
    assert_eq!(api.get(path).await.expect(200).string("/applications/0/stage"), "offer");
    assert_eq!(verify().await, json!([]));
}

#[tokio::test]
async fn counters_of_rejection_reasons_are_compared_with_the_applications() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    api.write_open_roles(1..=1).await;
    for (number, action, reason) in [(1, "reject", 1), (2, "reject", 1), (3, "withdraw", 9), (4, "reject", 0)]
    {
        let person = json!({ "name": "Ada", "email": format!("{number}@example.com"), "role_id": 1 });
        let id = api.post("/api/v1/candidates", person).await.expect(201).number("/id");
        let body = if reason > 0 { json!({ "reason_id": reason }) } else { json!({}) };
        api.post(&format!("/api/v1/candidates/{id}/{action}"), body).await.expect(200);
    }
    let figures = async || api.get("/api/v1/roles/1/stats").await.expect(200).body["rejections"].clone();
    let verify = async || admin.json("verify 1 --items-per-second 1000000").await["findings"].clone();
    let before = figures().await;
    assert_eq!(verify().await, json!([]));
    let mut items = api.stored_items().await;
    let key = ("1#live#ROLE_STATS".to_owned(), format!("{:016}", 1));
    let counters = items.get_mut(&key).unwrap();
    counters.insert("rejections_team_1".to_owned(), AttributeValue::N("5".to_owned()));
    counters.insert("rejections_team_2".to_owned(), AttributeValue::N("1".to_owned()));
    counters.remove("rejections_candidate_9").unwrap();
    api.restore(&items).await;
    assert_ne!(figures().await, before);
    let found = verify().await;
    let problems: Vec<_> =
        found.as_array().unwrap().iter().map(|one| one["problem"].as_str().unwrap()).collect();
    let expected = [
        "rejections_candidate_9 is 0, but there are 1",
        "rejections_team_1 is 5, but there are 2",
        "rejections_team_2 is 1, but there are 0",
    ];
    assert_eq!(problems, expected);
    admin.json("rebuild 1 --items-per-second 1000000").await;
    assert_eq!((verify().await, figures().await), (json!([]), before));
}

#[tokio::test]
async fn what_is_missing_or_superfluous_in_the_search_index_is_found_and_repaired() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let create = async |name: &str| {
        let person = json!({ "name": name, "email": format!("{}@example.com", name.len()) });
        api.post("/api/v1/candidates", person).await.expect(201).number("/id")
    };
    let (ann, jane) = (create("Ann").await, create("Jane").await);
    Box::pin(api.run_feed()).await;
    let before = api.stored_items().await;
    let position = |word, id| IndexPosition { word, id: Id::new(id).unwrap() }.to_string();
    let missing = position("ann", ann);
    let mut damaged = before.clone();
    let entry = damaged.remove(&("1#live#WORD".to_owned(), missing.clone())).unwrap();
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let mut former: Item = entry
        .iter()
        .filter(|(name, _)| *name == "form")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    former.insert("version".to_owned(), AttributeValue::N("1".to_owned()));
    former.insert("words".to_owned(), AttributeValue::Ss(vec!["joan".to_owned(), "jane".to_owned()]));
    // The person with the next id does not exist.
    let superfluous = [
        ("1#live#WORD", position("joan", jane), &entry),
        ("1#live#WORD", position("jane", jane + 1), &entry),
        ("1#live#FORMER_WORDS", format!("{jane:016}"), &former),
        ("1#live#FORMER_WORDS", format!("{:016}", jane + 1), &former),
    ];
    let mut expected = BTreeSet::from([missing]);
    for (pk, sk, item) in superfluous {
        let mut item = item.clone();
        item.extend([("pk".to_owned(), text(pk)), ("sk".to_owned(), text(&sk))]);
        damaged.insert((pk.to_owned(), sk.clone()), item);
        expected.insert(sk);
    }
    api.restore(&damaged).await;
    for (command, repaired) in [("verify 1", false), ("rebuild 1 --preview", false), ("rebuild 1", true)] {
        let summary = admin.json(&format!("{command} --items-per-second 1000000")).await;
        let findings = summary["findings"].as_array().unwrap();
        assert!(findings.iter().all(|found| found["repaired"] == repaired), "{findings:?}");
        let found: BTreeSet<_> =
            findings.iter().map(|found| found["sk"].as_str().unwrap().to_owned()).collect();
        assert_eq!((found, findings.len()), (expected.clone(), expected.len()), "{findings:?}");
    }
    Box::pin(api.run_feed()).await;
    assert_eq!(admin.json("verify 1 --items-per-second 1000000").await["findings"], json!([]));
    let after = api.stored_items().await;
    let index = |items: &Items| {
        let is_index = |pk: &str| ["1#live#WORD", "1#live#FORMER_WORDS"].contains(&pk);
        items
            .iter()
            .filter(|((pk, _), _)| is_index(pk))
            .map(|(key, item)| (key.clone(), item.clone()))
            .collect::<Items>()
    };
    assert_eq!(index(&after), index(&before));
}

#[tokio::test]
async fn what_is_missing_or_superfluous_in_the_lists_by_label_is_found_and_repaired() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let posted = json!({ "role": { "title": "Cook" } });
    let role = api.post("/api/v1/quick_post", posted).await.expect(201).number("/role/id");
    let create = async |name: &str| {
        let email = format!("{}@example.com", name.to_lowercase());
        let person = json!({ "name": name, "email": email, "tags": ["x", "y"], "role_id": role });
        api.post("/api/v1/candidates", person).await.expect(201).number("/id")
    };
    let (ann, jane) = (create("Ann").await, create("Jane").await);
    api.write_open_roles(1..=2).await;
    api.write_applications(jane, 1..=2).await;
    Box::pin(api.run_feed()).await;
    let before = api.stored_items().await;
    let is_labelled = |pk: &str| pk.starts_with("1#live#LABELLED#");
    let labelled = before.keys().filter(|(pk, _)| is_labelled(pk)).count();
    assert_eq!(labelled, 4 * 3, "a source and two tags of each application");
    // Nobody has been written by this release yet, and there is an entry of a person who does not exist.
    let mut damaged = before.clone();
    let (of_ann, entry) = before
        .iter()
        .find(|((pk, _), item)| is_labelled(pk) && item["candidate_id"] == AttributeValue::N(ann.to_string()))
        .unwrap();
    damaged.retain(|(pk, _), _| !is_labelled(pk));
    let mut nobody = entry.clone();
    let sk = of_ann.1.replace('#', "x#");
    nobody.insert("sk".to_owned(), AttributeValue::S(sk.clone()));
    damaged.insert((of_ann.0.clone(), sk), nobody.clone());
    nobody.insert("sk".to_owned(), AttributeValue::S("a#0000000000000007".to_owned()));
    nobody.insert("candidate_id".to_owned(), AttributeValue::N("7".to_owned()));
    damaged.insert((of_ann.0.clone(), "a#0000000000000007".to_owned()), nobody);
    api.restore(&damaged).await;
    for (command, repaired) in [("verify 1", false), ("rebuild 1 --preview", false), ("rebuild 1", true)] {
        let summary = admin.json(&format!("{command} --items-per-second 1000000")).await;
        let findings = summary["findings"].as_array().unwrap();
        assert_eq!(findings.len(), labelled + 2, "{findings:?}");
        assert!(findings.iter().all(|found| found["repaired"] == repaired), "{findings:?}");
    }
    Box::pin(api.run_feed()).await;
    assert_eq!(admin.json("verify 1 --items-per-second 1000000").await["findings"], json!([]));
    let after = api.stored_items().await;
    let entries = |items: &Items| {
        items
            .iter()
            .filter(|((pk, _), _)| is_labelled(pk))
            .map(|(key, item)| (key.clone(), item.clone()))
            .collect::<Items>()
    };
    assert_eq!(entries(&after), entries(&before));
}

#[tokio::test]
async fn an_item_without_a_form_is_found_and_stays() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201);
    Box::pin(api.run_feed()).await;
    let mut items = api.stored_items().await;
    let role = items.iter_mut().find(|((pk, _), _)| pk == "1#live#ROLE").unwrap();
    role.1.remove("form");
    api.restore(&items).await;
    let summary = admin.json("rebuild --all --items-per-second 1000000").await;
    let [found] = &summary["findings"].as_array().unwrap()[..] else { panic!("{summary}") };
    assert_eq!((&found["pk"], &found["repaired"]), (&json!("1#live#ROLE"), &json!(false)));
    assert!(found["problem"].as_str().unwrap().contains("it has no form"), "{found}");
    assert!(api.stored_items().await == items);
}

#[tokio::test]
async fn an_interrupted_run_continues_after_an_organization() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let counts = [admin.json("verify --all --after 1").await, admin.json("verify --all --after 2").await];
    let counts = counts.map(|summary| summary["organizations"].as_u64().unwrap());
    assert_eq!(counts, [1, 0]);
    assert!(admin.error("verify --all --after 17").await.starts_with("The organization does not exist"));
}
