//! What follows from the row of a kind of item alone: verification, export, erasure and deletion.

use std::collections::HashMap;

use ::tests::{ACME, GLOBEX, TestApi, tenant};
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{Mode, Tenant};
use shared::store::{Kind, Owner, StoreError};

use super::TestAdmin;

/// A kind of item about a person that nothing else knows.
static SCORECARD: [Kind; 1] = [Kind {
    name: "scorecard",
    about: "scorecard about a candidate",
    pk: "{tenant}#SCORECARD#{candidate:016}",
    sk: "{id:016}",
    filter: None,
    status_filter: None,
    expires: false,
    owner: Owner::Candidate,
    leads_to: None,
    read: |item| {
        let rating = item.get("rating").map(drop);
        rating.ok_or_else(|| StoreError::Unreadable("it has no rating".to_owned()))
    },
}];

fn scorecard(tenant: Tenant, candidate: u64, attribute: &str) -> HashMap<String, AttributeValue> {
    let text = |name: &str, text: String| (name.to_owned(), AttributeValue::S(text));
    HashMap::from([
        text("pk", format!("{tenant}#SCORECARD#{candidate:016}")),
        text("sk", format!("{:016}", 7)),
        text(attribute, "A strong yes.".to_owned()),
    ])
}

/// The organizations and the candidates whose scorecards are stored.
async fn stored(api: &TestApi) -> Vec<(String, u64)> {
    let items = api.stored_items().await.into_keys();
    let found = items.filter_map(|(pk, _)| {
        let (tenant, candidate) = pk.split_once("#SCORECARD#")?;
        Some((tenant.to_owned(), candidate.parse().unwrap()))
    });
    found.collect()
}

#[tokio::test]
async fn what_is_about_a_person_is_verified_exported_erased_and_deleted_because_its_row_says_so() {
    let mut api = TestApi::new().await;
    api.environment.store = api.environment.store.with_kinds(&SCORECARD);
    api.restart();
    let admin = TestAdmin::of(&api);
    let mut people = Vec::new();
    for (demo, name) in [(ACME, "ada"), (ACME, "ben"), (GLOBEX, "cem")] {
        let body = json!({ "name": name, "email": format!("{name}@example.com") });
        let path = "/api/v1/candidates";
        let created =
            api.request("POST".parse().unwrap(), path).key(demo, Mode::Live).json(&body).send().await;
        people.push(created.expect(201).number("/id"));
    }
    let [ada, ben, cem] = people[..] else { panic!("three people") };
    let [acme, globex] = [ACME, GLOBEX].map(|demo| tenant(demo, Mode::Live));
    let counted = async || admin.json("verify 1").await["items"].as_u64().unwrap();
    let before = counted().await;
    let cards = [(acme, ada), (acme, ben), (globex, cem)];
    api.write_items(cards.map(|(tenant, person)| scorecard(tenant, person, "rating"))).await;
    assert_eq!(counted().await, before + 2);

    api.write_items([scorecard(acme, ben, "rated")]).await;
    let found = admin.json("verify 1").await["findings"].clone();
    assert_eq!(found[0]["pk"], format!("{acme}#SCORECARD#{ben:016}"));
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");

    let exported = admin.output(&format!("person export 1 --id {ada}")).await;
    let exported: Value = serde_json::from_str(&exported).unwrap();
    assert_eq!(exported["scorecards"], json!([{ "rating": "A strong yes." }]));

    api.store().remove_belongings(acme, Id::new(ada).unwrap()).await.unwrap();
    assert_eq!(stored(&api).await, [("1#live".to_owned(), ben), ("2#live".to_owned(), cem)]);

    admin.output("organization suspend 1").await;
    admin.output("organization delete 1 --confirm acme --no-files").await;
    assert_eq!(stored(&api).await, [("2#live".to_owned(), cem)]);
}
