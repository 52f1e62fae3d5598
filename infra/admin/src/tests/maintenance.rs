//! Verification and rebuilding.

use ::tests::{ACME, TestApi};
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;

use super::TestAdmin;
use super::forms::kind;
use super::personal_data::populate;

/// Copies that can be made again, with an attribute of theirs.
const COPIES: [&str; 14] = [
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
];

#[tokio::test]
async fn what_is_stored_agrees_with_its_records() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    Box::pin(populate(&api, ACME)).await;
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
    let after = api.stored_items().await;
    for (key, item) in &before {
        let kind = kind(item).name;
        if COPIES.contains(&kind) {
            assert_eq!(after.get(key), Some(item), "{kind} {key:?}");
        }
    }
}

#[tokio::test]
async fn an_item_without_a_form_is_found_and_stays() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201);
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
