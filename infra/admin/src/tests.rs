//! The commands, as they are typed, on an embedded DynamoDB.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use dynoxide::Database;
use jiff::Timestamp;
use serde_json::{Value, json};
use shared::auth::Credential;
use shared::clock::Clock;
use shared::id::Id;
use shared::model::{Mode, Password, PasswordHash, Plan, Scope, Scopes, Tenant, Text};
use shared::random::Random;
use shared::store::{Admission, Denied, NewApiKey, Store, Verdict, Writes};
use tests::wire::{Fault, Wire};
use tokio::net::TcpListener;

use crate::{Cli, run, sentence};

/// A database, a clock that stands still until it is moved, and randomness that repeats itself.
struct Desk {
    endpoint: String,
    store: Store,
    now: Timestamp,
    random: Random,
}

impl Desk {
    async fn without_table() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let database = Database::memory().unwrap();
        tokio::spawn(dynoxide::server::serve_with_shutdown(listener, database, std::future::pending()));
        Self {
            store: Store::at_endpoint(&endpoint, "rolecall"),
            endpoint,
            now: "2026-11-20T09:30:00.5Z".parse().unwrap(),
            random: Random::seeded(7),
        }
    }

    async fn new() -> Self {
        let desk = Self::without_table().await;
        desk.says("table create").await;
        desk
    }

    /// Carries out a command line; words are separated by spaces, and `_` stands for a space within one.
    async fn run(&self, line: &str) -> Result<String, String> {
        let words = line.split(' ').map(|word| word.replace('_', " "));
        let cli = Cli::try_parse_from(std::iter::once("rolecall-admin".to_owned()).chain(words));
        let cli = cli.map_err(|error| error.to_string())?;
        let (now, mut out) = (self.now, Vec::new());
        let clock = Clock::from_fn(move || now);
        run(cli, self.store.clone(), clock, self.random.clone(), &mut out).await?;
        Ok(String::from_utf8(out).unwrap())
    }

    /// What a command that succeeds says.
    async fn says(&self, line: &str) -> String {
        let text = self.run(line).await.unwrap_or_else(|sentence| panic!("{line}: {sentence}"));
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{text:?}");
        text
    }

    /// What a command that succeeds answers in JSON.
    async fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.says(&format!("{line} --json")).await).unwrap()
    }

    /// What a command that fails says.
    async fn fails(&self, line: &str) -> String {
        let sentence = self.run(line).await.expect_err(line);
        assert!(sentence.ends_with('.') && !sentence.contains('\n'), "{sentence:?}");
        assert!(sentence.starts_with(|first: char| first.is_ascii_uppercase()), "{sentence:?}");
        sentence
    }

    /// A new organization's identifier.
    async fn organization(&self, arguments: &str) -> u64 {
        self.json(&format!("organization create {arguments}")).await["id"].as_u64().unwrap()
    }

    async fn gate(&self, key: &str) -> Verdict {
        let credential: Credential = key.parse().unwrap();
        self.store.admit(&credential.presented(""), self.now, 0).await.unwrap()
    }

    async fn admitted(&self, key: &str) -> Admission {
        match self.gate(key).await {
            Verdict::Admitted(admission) => *admission,
            other => panic!("{other:?}"),
        }
    }
}

fn tenant(organization: u64, mode: Mode) -> Tenant {
    Tenant { organization: Id::new(organization).unwrap(), mode }
}

fn key(created: &Value) -> &str {
    created["key"].as_str().unwrap()
}

#[tokio::test]
async fn the_table_is_created_once() {
    let desk = Desk::without_table().await;
    assert_eq!(desk.says("table create").await, "Created the table rolecall.\n");
    assert_eq!(desk.says("table create").await, "The table rolecall exists already.\n");
    assert_eq!(desk.json("table create").await, json!({ "table": "rolecall", "created": false }));
}

#[tokio::test]
async fn an_organization_has_two_modes_and_a_slug_in_each() {
    let desk = Desk::new().await;
    let acme = desk.json("organization create Acme_Ltd --plan pro").await;
    assert_eq!(
        acme,
        json!({
            "id": acme["id"], "name": "Acme Ltd", "slug": "acme-ltd", "test_slug": "acme-ltd-test",
            "plan": "pro", "suspended": false, "created_at": "2026-11-20T09:30:00Z",
        })
    );
    assert_eq!(desk.json(&format!("organization show {}", acme["id"])).await, acme);
    let text = desk.says(&format!("organization show {}", acme["id"])).await;
    assert_eq!(
        text,
        format!(
            "id         {}\nname       Acme Ltd\nslug       acme-ltd\ntest slug  acme-ltd-test\nplan       pro\n\
             standing   active\ncreated    2026-11-20T09:30:00Z\n",
            acme["id"]
        )
    );
    for mode in Mode::ALL {
        let found = desk.store.find_organization(tenant(acme["id"].as_u64().unwrap(), mode)).await.unwrap();
        assert_eq!(found.unwrap().mode, mode);
    }
}

#[tokio::test]
async fn a_names_slug_is_numbered_and_a_chosen_one_is_not() {
    let desk = Desk::new().await;
    let mut slugs = Vec::new();
    for arguments in [
        "Acme --plan free",
        "Acme --plan free",
        "ACME! --plan free",
        // The test copy of the first has this one's slug.
        "Acme_Test --plan free",
        "北京 --plan free",
        "!!! --plan free",
        "Whatever --plan free --slug chosen",
    ] {
        let made = desk.json(&format!("organization create {arguments}")).await;
        slugs.push(format!("{} {}", made["slug"].as_str().unwrap(), made["test_slug"].as_str().unwrap()));
    }
    assert_eq!(
        slugs,
        [
            "acme acme-test",
            "acme-2 acme-2-test",
            "acme-3 acme-3-test",
            "acme-test-2 acme-test-2-test",
            "bei-jing bei-jing-test",
            "organization organization-test",
            "chosen chosen-test",
        ]
    );
    for taken in ["acme", "acme-test", "chosen"] {
        let sentence = desk.fails(&format!("organization create Other --plan pro --slug {taken}")).await;
        assert_eq!(sentence, "The slug is taken by another organization; choose one with --slug.");
    }
    assert_eq!(desk.json("organization list").await.as_array().unwrap().len(), slugs.len());
}

#[tokio::test]
async fn a_long_name_that_ends_in_test_has_two_slugs_too() {
    let desk = Desk::new().await;
    let name = format!("{}_test", "x".repeat(75));
    let made = desk.json(&format!("organization create {name} --plan free")).await;
    assert_eq!(made["slug"], format!("{}-te-2", "x".repeat(75)));
    assert_eq!(made["test_slug"], format!("{}-test", "x".repeat(75)));
}

#[tokio::test]
async fn organizations_created_at_once_share_nothing() {
    let desk = Desk::new().await;
    let name = Text::parse("Acme").unwrap().unwrap();
    let (store, name) = (&desk.store, &name);
    let create = async |n| {
        let id = Id::new(n).unwrap();
        store.create_organization(id, name, None, Plan::Free, desk.now).await.unwrap()
    };
    let (a, b, c) = tokio::join!(create(1), create(2), create(3));
    let slugs: BTreeSet<_> = [a, b, c].into_iter().flatten().map(|made| made.slug.to_string()).collect();
    let expected = ["acme", "acme-2", "acme-2-test", "acme-3", "acme-3-test", "acme-test"];
    assert_eq!(slugs, expected.map(str::to_owned).into());
}

#[tokio::test]
async fn the_list_goes_through_every_page_newest_first() {
    let desk = Desk::new().await;
    assert_eq!(desk.says("organization list").await, "There are no organizations.\n");
    assert_eq!(desk.json("organization list").await, json!([]));
    let name = Text::parse("Acme\nLtd").unwrap().unwrap();
    // All of one registry partition, so that it has more than one page.
    let ids: Vec<_> = (1..=120u64).map(|n| n * shared::store::REGISTRY_SHARDS).collect();
    for id in &ids {
        let slug = Some(shared::model::Slug::of(&format!("acme {id}"), ""));
        let id = Id::new(*id).unwrap();
        desk.store.create_organization(id, &name, slug, Plan::Free, desk.now).await.unwrap();
    }
    desk.organization("Globex --plan pro").await;
    let listed = desk.json("organization list").await;
    let listed: Vec<_> = listed.as_array().unwrap().iter().map(|one| one["id"].as_u64().unwrap()).collect();
    assert_eq!(listed[1..], ids.into_iter().rev().collect::<Vec<_>>());
    let text = desk.says("organization list").await;
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 122);
    assert!(lines[0].starts_with("ID  ") && lines[0].ends_with("NAME"), "{}", lines[0]);
    assert!(
        lines[1].contains("  pro   active    ") && lines[1].ends_with("  globex     Globex"),
        "{}",
        lines[1]
    );
    assert!(lines[121].starts_with("16  ") && lines[121].ends_with("acme-16    Acme Ltd"), "{}", lines[121]);
}

#[tokio::test]
async fn the_gate_sees_plan_and_suspension_at_once_and_neither_undoes_the_other() {
    let desk = Desk::new().await;
    let id = desk.organization("Acme --plan free").await;
    let live = desk.json(&format!("key create {id} --name One")).await;
    let test = desk.json(&format!("key create {id} --name Two --mode test")).await;
    let seen = async || {
        let mut seen = Vec::new();
        for key in [key(&live), key(&test)] {
            let organization = desk.admitted(key).await.organization;
            seen.push((organization.plan, organization.suspended));
        }
        seen
    };
    assert_eq!(seen().await, [(Plan::Free, false); 2]);
    assert_eq!(desk.json(&format!("organization plan {id} pro")).await["plan"], "pro");
    assert_eq!(seen().await, [(Plan::Pro, false); 2]);
    assert!(desk.says(&format!("organization suspend {id}")).await.contains("standing   suspended\n"));
    assert_eq!(seen().await, [(Plan::Pro, true); 2]);
    desk.says(&format!("organization plan {id} free")).await;
    assert_eq!(seen().await, [(Plan::Free, true); 2]);
    assert_eq!(desk.json(&format!("organization resume {id}")).await["suspended"], false);
    assert_eq!(seen().await, [(Plan::Free, false); 2]);
}

#[tokio::test]
async fn a_created_key_is_shown_once_and_opens_its_own_mode() {
    let desk = Desk::new().await;
    let id = desk.organization("Acme --plan free").await;
    let text = desk.says(&format!("key create {id} --name Career_site --scope roles:read")).await;
    let shown = text.lines().next().unwrap().to_owned();
    assert!(text.contains("\n\nKeep it now: it is not stored and cannot be shown again.\n"), "{text}");
    assert!(text.ends_with(", Career site; scopes: roles:read; does not expire.\n"), "{text}");
    assert!(shown.starts_with("rc_live_"));
    let admission = desk.admitted(&shown).await;
    assert_eq!(admission.organization.tenant(), tenant(id, Mode::Live));
    assert_eq!(admission.scopes, Scopes::from_iter([Scope::RolesRead]));

    let trial = desk.json(&format!("key create {id} --name Trial --mode test")).await;
    assert!(key(&trial).starts_with("rc_test_"));
    assert_eq!(trial["scopes"], json!(Scope::ALL.map(Scope::as_str)));
    assert_eq!((&trial["mode"], &trial["expires_at"]), (&json!("test"), &Value::Null));
    assert_eq!(trial["organization_id"], id);
    let admission = desk.admitted(key(&trial)).await;
    assert_eq!(admission.organization.tenant(), tenant(id, Mode::Test));
    assert_eq!(admission.scopes, Scopes::all());

    for line in [
        "organization list",
        "organization show ID",
        "key list ID",
        "key list ID --mode test",
        "usage show ID",
    ] {
        for json in ["", " --json"] {
            let text = desk.says(&format!("{}{json}", line.replace("ID", &id.to_string()))).await;
            assert!(!text.contains("rc_"), "{line} shows a key");
            for key in [&*shown, key(&trial)] {
                let hash = key.parse::<Credential>().unwrap().hash();
                assert!(!text.contains(&key[26..]) && !text.contains(&hash), "{line} shows a secret");
            }
        }
    }
}

#[tokio::test]
async fn a_key_expires_to_the_second() {
    let mut desk = Desk::new().await;
    let id = desk.organization("Acme --plan pro").await;
    let made = desk.json(&format!("key create {id} --name Trial --expires-in-days 30")).await;
    assert_eq!(made["expires_at"], "2026-12-20T09:30:00Z");
    let text = desk.says(&format!("key create {id} --name Trial --expires-in-days 1")).await;
    assert!(text.ends_with("; scopes: all; expires at 2026-11-21T09:30:00Z.\n"), "{text}");
    for (now, state) in [("2026-12-20T09:29:59.9Z", "active"), ("2026-12-20T09:30:00Z", "expired")] {
        desk.now = now.parse().unwrap();
        let admitted = matches!(desk.gate(key(&made)).await, Verdict::Admitted(_));
        assert_eq!(admitted, state == "active", "{now}");
        let listed = desk.json(&format!("key list {id}")).await;
        let states: BTreeSet<_> =
            listed.as_array().unwrap().iter().map(|key| key["state"].as_str()).collect();
        assert_eq!(states, BTreeSet::from([Some("expired"), Some(state)]), "{now}");
    }
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_once_and_stays_in_the_list() {
    let mut desk = Desk::new().await;
    let id = desk.organization("Acme --plan pro").await;
    let one = desk.json(&format!("key create {id} --name One --scope roles:read --scope roles:write")).await;
    let two = desk.json(&format!("key create {id} --name Two")).await;
    desk.admitted(key(&one)).await;
    let text = desk.says(&format!("key revoke {id} {}", one["id"])).await;
    assert_eq!(text, format!("The key {}, One, is refused since 2026-11-20T09:30:00Z.\n", one["id"]));
    assert!(matches!(desk.gate(key(&one)).await, Verdict::Unknown));
    desk.admitted(key(&two)).await;

    // Once more changes nothing.
    desk.now = "2026-11-21T00:00:00Z".parse().unwrap();
    let again = desk.json(&format!("key revoke {id} {}", one["id"])).await;
    assert_eq!(again, json!({ "id": one["id"], "name": "One", "revoked_at": "2026-11-20T09:30:00Z" }));

    let mut listed = desk.json(&format!("key list {id}")).await;
    let listed = listed.as_array_mut().unwrap();
    listed.sort_by_key(|key| key["name"].as_str().unwrap().to_owned());
    assert_eq!(
        listed[0],
        json!({
            "id": one["id"], "name": "One", "mode": "live", "scopes": ["roles:read", "roles:write"],
            "state": "revoked", "created_at": "2026-11-20T09:30:00Z", "expires_at": null,
            "revoked_at": "2026-11-20T09:30:00Z", "last_used_on": null,
        })
    );
    assert_eq!((&listed[1]["state"], &listed[1]["last_used_on"]), (&json!("active"), &json!("2026-11-20")));
    let text = desk.says(&format!("key list {id}")).await;
    assert!(text.starts_with("ID  ") && text.lines().count() == 3, "{text}");
    assert!(text.contains("  active   2026-11-20T09:30:00Z  -        2026-11-20  all"), "{text}");
    assert!(
        text.contains("  revoked  2026-11-20T09:30:00Z  -        -           roles:read,roles:write  One"),
        "{text}"
    );
    assert_eq!(desk.says(&format!("key list {id} --mode test")).await, "There are no keys in this mode.\n");
}

#[tokio::test]
async fn each_mode_holds_25_good_keys_exactly() {
    let desk = Desk::new().await;
    let id = desk.organization("Acme --plan pro").await;
    let line = format!("key create {id} --name One --json");
    let mut creations = tokio::task::JoinSet::new();
    let desk = Arc::new(desk);
    for _ in 0..40 {
        let (desk, line) = (desk.clone(), line.clone());
        creations.spawn(async move { desk.run(&line).await });
    }
    let made = creations.join_all().await;
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 25);
    let sentence = "There are 25 keys already; revoke one first.";
    assert!(made.iter().filter_map(|made| made.as_ref().err()).all(|error| error == sentence));
    assert_eq!(desk.fails(&format!("key create {id} --name One")).await, sentence);
    desk.says(&format!("key create {id} --name One --mode test")).await;

    // Revoking one makes room for one, however often it is revoked.
    let listed = desk.json(&format!("key list {id}")).await;
    for _ in 0..3 {
        desk.says(&format!("key revoke {id} {}", listed[0]["id"])).await;
    }
    desk.says(&format!("key create {id} --name One")).await;
    assert_eq!(desk.fails(&format!("key create {id} --name One")).await, sentence);
    assert_eq!(desk.json(&format!("key list {id}")).await.as_array().unwrap().len(), 26);
}

#[tokio::test]
async fn more_keys_than_a_page_are_listed() {
    let desk = Desk::new().await;
    let id = desk.organization("Acme --plan pro").await;
    for _ in 0..103 {
        let made = desk.json(&format!("key create {id} --name One")).await;
        desk.says(&format!("key revoke {id} {}", made["id"])).await;
    }
    assert_eq!(desk.json(&format!("key list {id}")).await.as_array().unwrap().len(), 103);
}

#[tokio::test]
async fn usage_is_todays_count_and_the_finished_days() {
    let mut desk = Desk::new().await;
    let id = desk.organization("Acme --plan free").await;
    let made = desk.json(&format!("key create {id} --name One")).await;
    for (day, requests) in [("2026-10-01", 1), ("2026-11-18", 3), ("2026-11-19", 2), ("2026-11-20", 4)] {
        desk.now = format!("{day}T23:59:59Z").parse().unwrap();
        for _ in 0..requests {
            desk.admitted(key(&made)).await;
        }
    }
    desk.store.archive_usage(tenant(id, Mode::Live), "2026-11-20".parse().unwrap()).await.unwrap();
    assert_eq!(
        desk.json(&format!("usage show {id}")).await,
        json!({
            "organization_id": id, "mode": "live", "plan": "free", "requests_per_day": 100,
            "today": { "day": "2026-11-20", "requests": 4 },
            "history": [
                { "day": "2026-11-19", "requests": 2 },
                { "day": "2026-11-18", "requests": 3 },
            ],
        })
    );
    assert_eq!(
        desk.says(&format!("usage show {id} --days 1")).await,
        "DAY         REQUESTS\n2026-11-20  4 of 100 so far\n2026-11-19  2\n"
    );
    let long_ago = desk.json(&format!("usage show {id} --days 50")).await;
    assert_eq!(long_ago["history"][2], json!({ "day": "2026-10-01", "requests": 1 }));
    desk.says(&format!("organization plan {id} pro")).await;
    assert_eq!(
        desk.says(&format!("usage show {id} --mode test")).await,
        "DAY         REQUESTS\n2026-11-20  0 so far\n"
    );
}

#[tokio::test]
async fn the_usage_of_more_days_than_a_page_is_shown() {
    let desk = Desk::new().await;
    let id = desk.organization("Acme --plan pro").await;
    let made = desk.json(&format!("key create {id} --name One")).await;
    let credential: Credential = key(&made).parse().unwrap();
    let day = |back: i64| desk.now.saturating_sub(jiff::SignedDuration::from_hours(24 * back)).unwrap();
    for back in 1..=120 {
        desk.store.admit(&credential.presented(""), day(back), 0).await.unwrap();
    }
    desk.store.archive_usage(tenant(id, Mode::Live), "2026-11-20".parse().unwrap()).await.unwrap();
    for (days, shown) in [(99, 99), (100, 100), (101, 101), (3660, 120)] {
        let usage = desk.json(&format!("usage show {id} --days {days}")).await;
        assert_eq!(usage["history"].as_array().unwrap().len(), shown, "{days} days");
    }
}

#[tokio::test]
async fn channels_are_connected_shown_and_forgotten_without_a_token_in_sight() {
    let desk = Desk::new().await;
    let id = desk.json("organization create Acme --plan pro").await["id"].as_u64().unwrap();
    let statuses = async || {
        let shown = desk.json(&format!("channel show {id}")).await;
        [0, 1].map(|n| shown[n]["status"].as_str().unwrap().to_owned())
    };
    assert_eq!(statuses().await, ["disconnected", "disconnected"]);
    let keys = format!("--sealing-keys k1:{}", "s".repeat(32));
    let line =
        format!("channel connect-x {id} --username @acme --access-token AAA --refresh-token RRR {keys}");
    assert_eq!(desk.says(&line).await, format!("@acme is organization {id}'s x account.\n"));
    let line = format!("channel connect-whatsapp {id} --phone-number-id 106540352242922 --token WWW {keys}");
    assert_eq!(desk.json(&line).await["account"], "106540352242922");
    assert_eq!(statuses().await, ["connected", "connected"]);
    let live = tenant(id, Mode::Live);
    let found = desk.store.find_channels(live, shared::model::Day::of(desk.now)).await.unwrap();
    let (x, whatsapp) = (found.x.unwrap(), found.whatsapp.unwrap());
    assert_eq!((x.access.key.as_str(), x.expires_at.to_string().as_str()), ("k1", "2026-11-20T11:30:00Z"));
    let opened = shared::accounts::whatsapp_token(
        live,
        &whatsapp,
        &shared::sealed::SealingKeys::parse(&format!("k1:{}", "s".repeat(32))).unwrap(),
    );
    assert_eq!(opened.unwrap().expose(), "WWW");
    let shown = desk.says(&format!("channel show {id}")).await;
    assert!(!["AAA", "RRR", "WWW", "ssss"].iter().any(|secret| shown.contains(secret)), "{shown}");
    let gone = desk.says(&format!("channel disconnect {id} x")).await;
    assert_eq!(gone, format!("Organization {id} has no x account any more.\n"));
    assert_eq!(statuses().await, ["disconnected", "connected"]);
    assert!(desk.fails("channel show 17").await.starts_with("There is no such organization"));
}

#[tokio::test]
async fn what_does_not_exist_is_said_in_a_sentence() {
    let desk = Desk::new().await;
    let id = desk.organization("Acme --plan pro").await;
    for line in [
        "organization show 17",
        "organization plan 17 pro",
        "organization suspend 17",
        "organization resume 17",
        "key create 17 --name One",
        "key list 17",
        "usage show 17",
    ] {
        assert_eq!(
            desk.fails(line).await,
            "There is no such organization; `rolecall-admin organization list` shows those there are.",
            "{line}"
        );
    }
    let made = desk.json(&format!("key create {id} --name One")).await;
    // Another mode's and another organization's keys are none.
    for line in [
        format!("key revoke {id} 9"),
        format!("key revoke {id} {} --mode test", made["id"]),
        format!("key revoke 17 {}", made["id"]),
    ] {
        assert_eq!(
            desk.fails(&line).await,
            "The organization has no such key in this mode; `rolecall-admin key list` shows those there are.",
            "{line}"
        );
    }
    desk.admitted(key(&made)).await;
}

#[tokio::test]
async fn an_identifier_that_is_in_use_is_drawn_again() {
    let mut desk = Desk::new().await;
    let mut made = Vec::new();
    // The clock stands still: the same randomness draws the same identifiers.
    for name in ["Acme", "Globex"] {
        desk.random = Random::seeded(1);
        made.push(desk.organization(&format!("{name} --plan pro")).await);
    }
    assert_eq!(desk.json(&format!("organization show {}", made[0])).await["name"], "Acme");
    assert_eq!(desk.json(&format!("organization show {}", made[1])).await["name"], "Globex");
    let mut keys = Vec::new();
    for _ in 0..2 {
        desk.random = Random::seeded(1);
        keys.push(desk.json(&format!("key create {} --name One", made[0])).await);
    }
    desk.admitted(key(&keys[0])).await;
    desk.admitted(key(&keys[1])).await;

    // A revoked key's identifier is not given out again, and after three draws there is an end.
    for key in &keys {
        desk.says(&format!("key revoke {} {}", made[0], key["id"])).await;
    }
    let tenant = tenant(made[0], Mode::Live);
    let id = keys[0]["id"].as_u64().and_then(Id::new).unwrap();
    let key = desk.store.find_api_key(tenant, id).await.unwrap().unwrap();
    let again = desk.store.insert_api_key(tenant, &NewApiKey { key, hash: String::new() }).await;
    assert!(matches!(again, Err(Denied::Exists)));
    assert_eq!(
        sentence(&Denied::Exists, "rolecall", None),
        "The identifiers that were drawn are in use; run the command again."
    );
}

#[tokio::test]
async fn a_missing_table_and_an_unreachable_database_are_said_in_a_sentence() {
    let mut desk = Desk::without_table().await;
    for line in [
        "organization create Acme --plan free",
        "organization list",
        "organization suspend 17",
        "key list 17",
    ] {
        assert_eq!(
            desk.fails(line).await,
            "There is no table rolecall; create it with `rolecall-admin table create`.",
            "{line}"
        );
    }
    desk.store = Store::at_endpoint("http://127.0.0.1:1", "rolecall");
    for line in ["table create", "organization list"] {
        assert_eq!(
            desk.fails(line).await,
            "AWS is not reachable: set AWS_REGION and credentials, or name a DynamoDB with --endpoint.",
            "{line}"
        );
        assert_eq!(
            desk.fails(&format!("{line} --endpoint http://127.0.0.1:1")).await,
            "DynamoDB is not reachable at http://127.0.0.1:1.",
            "{line}"
        );
    }
}

#[tokio::test]
async fn conflicts_with_other_writes_are_no_verdict() {
    let mut desk = Desk::new().await;
    let wire = Wire::new();
    desk.store = Store::through(wire.client(), &desk.endpoint, "rolecall");
    let id = desk.organization("Acme --plan free").await;
    let made = desk.json(&format!("key create {id} --name One")).await;
    let lines = [
        "organization create Globex --plan free".to_owned(),
        format!("organization suspend {id}"),
        format!("organization plan {id} pro"),
        format!("key create {id} --name Two"),
        format!("key revoke {id} {}", made["id"]),
    ];
    let busy = |times| {
        let left = AtomicUsize::new(times);
        wire.play(move |operation, _| {
            let conflict = operation == "TransactWriteItems"
                && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
            conflict.then_some(Fault::Conflict)
        });
    };
    for line in &lines {
        busy(usize::MAX);
        let sentence = desk.fails(line).await;
        assert_eq!(sentence, "DynamoDB is unavailable: other writes kept coming first.", "{line}");
    }
    for line in &lines {
        busy(3);
        desk.says(line).await;
    }
    let shown = desk.json(&format!("organization show {id}")).await;
    assert_eq!((&shown["plan"], &shown["suspended"]), (&json!("pro"), &json!(true)));
    assert!(matches!(desk.gate(key(&made)).await, Verdict::Unknown));
    assert_eq!(desk.json("organization list").await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_answer_that_cannot_be_written_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let desk = Desk::new().await;
    let cli = Cli::parse_from(["rolecall-admin", "organization", "list"]);
    let now = desk.now;
    let done = run(cli, desk.store, Clock::from_fn(move || now), desk.random, &mut Full).await;
    assert_eq!(done.unwrap_err(), "It is done, but the answer could not be written: no storage space.");
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn wrong_usage_says_what_is_right() {
    let long = "x".repeat(201);
    for (line, said) in [
        ("organization create Acme", "--plan <PLAN>"),
        ("organization create Acme --plan gold", "[possible values: free, pro]"),
        ("organization create _ --plan free", "can't be blank"),
        ("organization create LONG --plan free", "must be at most 200 characters"),
        ("organization create A\u{7}B --plan free", "must not contain control characters"),
        ("organization create Acme --plan free --slug Acme", "must be at most 75 lower-case letters"),
        ("organization create Acme --plan free --slug acme-", "single inner hyphens"),
        ("organization create Acme --plan free --slug 2026", "with a letter among them"),
        ("organization create Acme --plan free --slug LONG", "must be at most 75 lower-case letters"),
        ("organization create Acme --plan free --slug=", "must be at most 75 lower-case letters"),
        ("organization show acme", "an id is a whole number from 1 to 9007199254740991"),
        ("organization show 017", "an id is a whole number"),
        ("key create 17", "--name <NAME>"),
        ("key create 17 --name LONG", "must be at most 100 characters"),
        ("key create 17 --name One --scope roles", "roles:read, roles:write"),
        ("key create 17 --name One --mode prod", "[possible values: live, test]"),
        ("key create 17 --name One --expires-in-days 0", "0 is not in 1..=3660"),
        ("key revoke 17", "<KEY_ID>"),
        ("usage show 17 --days 0", "0 is not in 1..=3660"),
        ("channel connect-x 17 --username a-b", "letters, digits and underscores"),
        ("channel connect-whatsapp 17 --phone-number-id +1", "must be 1 to 20 digits"),
        ("channel connect-x 17 --username a --access-token _x", "visible ASCII"),
        ("channel connect-x 17 --username a --sealing-keys k:short", "at least 32 random characters"),
        ("channel disconnect 17 fax", "[possible values: x, whatsapp]"),
        (
            "member create 17 --name Jo --email jo --role owner --base-url http://x",
            "must be an e-mail address",
        ),
        ("member create 17 --name Jo --email jo@x.io --role admin", "[possible values: owner, member]"),
        ("member create 17 --name LONG --email jo@x.io --role owner", "must be at most 200 characters"),
        ("member create 17 --name _ --email jo@x.io --role owner", "can't be blank"),
        ("member link 17 18 --base-url api.example.com", "must begin with http:// or https://"),
        ("member remove 17", "<MEMBER_ID>"),
        ("organization list --endpoint localhost:8000", "must begin with http:// or https://"),
    ] {
        let words = line.split(' ').map(|word| word.replace("LONG", &long).replace('_', " "));
        let error =
            Cli::try_parse_from(std::iter::once("rolecall-admin".to_owned()).chain(words)).unwrap_err();
        assert!(error.to_string().contains(said), "{line}: {error}");
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

#[test]
fn help_has_examples_that_parse() {
    for command in [
        "",
        "table create",
        "organization create",
        "organization plan",
        "member create",
        "key create",
        "key revoke",
        "usage show",
    ] {
        let words = ["rolecall-admin"].into_iter().chain(command.split_whitespace()).chain(["--help"]);
        let help = Cli::try_parse_from(words).unwrap_err();
        assert_eq!(help.kind(), ErrorKind::DisplayHelp, "{command}");
        let help = help.to_string().replace("\\\n", " ");
        let examples: Vec<_> = help
            .lines()
            .filter_map(|line| line.split_once("rolecall-admin "))
            .map(|(_, rest)| rest)
            .collect();
        let examples = examples.iter().filter(|example| !example.starts_with('['));
        let mut parsed = 0;
        for example in examples.filter(|example| !example.starts_with(&format!("{command} ["))) {
            let example = example.split(" | ").next().unwrap();
            let words = example.split('"').enumerate().flat_map(|(n, part)| {
                if n % 2 == 1 { vec![part] } else { part.split_whitespace().collect() }
            });
            let cli = Cli::try_parse_from(["rolecall-admin"].into_iter().chain(words));
            assert!(cli.is_ok(), "{example}: {}", cli.unwrap_err());
            parsed += 1;
        }
        assert!(parsed > 0, "{command}: {help}");
    }
}

#[tokio::test]
async fn the_table_and_the_endpoint_come_from_the_arguments() {
    let desk = Desk::without_table().await;
    let line = ["rolecall-admin", "organization", "list", "--endpoint", &desk.endpoint, "--table", "other"];
    let cli = Cli::parse_from(line);
    let (store, now) = (cli.store().await, desk.now);
    let done = run(cli, store, Clock::from_fn(move || now), desk.random, &mut Vec::new()).await;
    assert_eq!(done.unwrap_err(), "There is no table other; create it with `rolecall-admin table create`.");
}

#[tokio::test]
async fn a_member_is_created_with_a_link_that_is_shown_once() {
    let desk = Desk::new().await;
    let id = desk.organization("Acme --plan pro").await;
    let new =
        format!("member create {id} --name Ada_Lovelace --role owner --base-url https://api.example.com/");
    let text = desk.says(&format!("{new} --email Ada@acme.example")).await;
    let link = text.lines().next().unwrap();
    assert!(link.starts_with("https://api.example.com/dashboard/password?token=rc_ln_L"), "{text}");
    assert!(text.contains("Send it to Ada@acme.example: whoever opens it sets the password."), "{text}");
    assert!(text.contains("It works once, until 2026-11-27T09:30:00Z. Ada Lovelace is the owner "), "{text}");

    let made = desk.json(&format!("{} --email jo@acme.example", new.replace("owner", "member"))).await;
    assert_eq!(
        made,
        json!({
            "id": made["id"], "organization_id": id, "name": "Ada Lovelace", "email": "jo@acme.example",
            "role": "member", "link": made["link"], "link_expires_at": "2026-11-27T09:30:00Z",
        })
    );
    for taken in ["ada@acme.example", "JO@acme.example"] {
        let sentence = desk.fails(&format!("{new} --email {taken}")).await;
        assert_eq!(sentence, "The e-mail address belongs to a member already.");
    }

    let listed = desk.json(&format!("member list {id}")).await;
    assert_eq!(
        listed[0],
        json!({
            "id": made["id"], "name": "Ada Lovelace", "email": "jo@acme.example", "role": "member",
            "state": "invited", "created_at": "2026-11-20T09:30:00Z",
        })
    );
    let table = desk.says(&format!("member list {id}")).await;
    assert!(table.starts_with("ID  ") && table.lines().count() == 3, "{table}");
    for json in ["", " --json"] {
        let shown = desk.says(&format!("member list {id}{json}")).await;
        assert!(!shown.contains("rc_ln_") && !shown.contains("hash"), "{shown}");
    }
}

#[tokio::test]
async fn a_members_link_is_replaced_and_is_shorter_where_there_is_a_password() {
    let desk = Desk::new().await;
    let id = desk.organization("Acme --plan pro").await;
    let at = "--base-url https://api.example.com";
    let made =
        desk.json(&format!("member create {id} --name Jo --email jo@acme.example --role member {at}")).await;
    let line = format!("member link {id} {} {at}", made["id"]);
    let again = desk.json(&line).await;
    assert_ne!(again["link"], made["link"]);
    assert_eq!(again["link_expires_at"], "2026-11-27T09:30:00Z");
    let (organization, member) = (Id::new(id).unwrap(), made["id"].as_u64().and_then(Id::new).unwrap());
    let hash = |link: &Value| {
        let token = link.as_str().unwrap().split_once("token=").unwrap().1;
        token.parse::<Credential>().unwrap().hash()
    };
    let stored = desk.store.find_member(organization, member).await.unwrap().unwrap();
    assert_eq!(stored.link.as_ref().unwrap().hash, hash(&again["link"]), "the newest one is good");

    let password = Password::parse("a longer pass phrase", &stored.email).unwrap();
    let stored = stored.with_password(PasswordHash::of(&password, [1; 16]).unwrap());
    let mut writes = Writes::new(tenant(id, Mode::Live));
    writes.replace_member(&stored).unwrap();
    desk.store.commit(writes).await.unwrap();
    assert_eq!(desk.json(&format!("member list {id}")).await[0]["state"], "active");
    assert_eq!(desk.json(&line).await["link_expires_at"], "2026-11-21T09:30:00Z");
}

#[tokio::test]
async fn a_removed_member_is_gone_and_the_address_is_free() {
    let desk = Desk::new().await;
    let id = desk.organization("Acme --plan pro").await;
    let globex = desk.organization("Globex --plan free").await;
    let new = "--name Jo --email jo@acme.example --role owner --base-url http://127.0.0.1:3000";
    let made = desk.json(&format!("member create {id} {new}")).await;
    let line = format!("member remove {id} {}", made["id"]);
    assert!(desk.fails(&line.replace(&id.to_string(), &globex.to_string())).await.contains("no such member"));
    let text = desk.says(&line).await;
    assert_eq!(
        text,
        "jo@acme.example is no longer a member: every session and connected application of theirs has ended.\n"
    );
    assert_eq!(desk.says(&format!("member list {id}")).await, "The organization has no members.\n");
    let unknown = "The organization has no such member; `rolecall-admin member list` shows those there are.";
    assert_eq!(desk.fails(&line).await, unknown);
    let link = format!("member link {id} {} --base-url http://127.0.0.1:3000", made["id"]);
    assert_eq!(desk.fails(&link).await, unknown);
    desk.json(&format!("member create {globex} {new}")).await;
    for line in ["member list 17".to_owned(), format!("member create 17 {new}")] {
        assert!(desk.fails(&line).await.starts_with("There is no such organization"), "{line}");
    }
}
