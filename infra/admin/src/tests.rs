//! Tests of the command line, with an embedded DynamoDB.

mod another_kind;
mod data_exports;
mod forms;
mod imports;
mod maintenance;
mod operations;
mod personal_data;
mod resealing;
mod rewriting;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use dynoxide::Database;
use serde_json::{Value, json};
use shared::auth::Credential;
use shared::clock::{Clock, Timestamp};
use shared::id::Id;
use shared::mac_keys::MacKeys;
use shared::model::{
    Day, Mode, Password, PasswordCost, PasswordHash, Plan, Scope, Scopes, SecondFactor, Tenant, Text,
};
use shared::providers::bucket::Bucket;
use shared::random::Random;
use shared::secret::Secret;
use shared::store::{Admission, OrganizationError, Store, Transaction, Verdict};
use shared::token_encryption::EncryptionKeys;
use tests::engine;
use tests::interceptor::{DynamoDbInterceptor, Fault};
use tokio::net::TcpListener;

use crate::{Cli, Secrets, explain, run};

/// The key that authenticates credentials.
const KEY: &str = "0123456789abcdef0123456789abcdef";

fn credential(text: &str) -> Credential {
    Credential::read(text, &MacKeys::parse(KEY).unwrap()).unwrap()
}

/// The tool with an embedded database, a fixed clock and seeded randomness.
struct TestAdmin {
    /// The interceptor of calls to the database.
    dynamodb: DynamoDbInterceptor,
    store: Store,
    now: Timestamp,
    random: Random,
    bucket: Option<Bucket>,
    secrets: Secrets,
}

/// The variables of a machine on which all commands work.
fn all_secrets() -> Secrets {
    Secrets::read(|name| {
        let value = match name {
            "CREDENTIAL_KEYS" => KEY.to_owned(),
            "SEALING_KEYS" => format!("k1:{}", "s".repeat(32)),
            "ROLECALL_KEY" => return None,
            name => format!("SECRET_{name}"),
        };
        Some(value)
    })
}

impl TestAdmin {
    async fn without_table() -> Self {
        let dynamodb = DynamoDbInterceptor::of(Database::memory().unwrap());
        Self {
            store: engine::store(dynamodb.client(), "rolecall").await,
            dynamodb,
            now: "2026-11-20T09:30:00.5Z".parse().unwrap(),
            random: Random::seeded(7),
            bucket: None,
            secrets: all_secrets(),
        }
    }

    /// The same machine with another value of a variable.
    fn with_secret(self, name: &'static str, value: &str) -> Self {
        Self { secrets: self.secrets.with(name, value), ..self }
    }

    async fn new() -> Self {
        let admin = Self::without_table().await;
        admin.output("table create").await;
        admin
    }

    /// Runs a command line. Spaces separate its words; `_` stands for a space within a word.
    async fn run(&self, line: &str) -> Result<String, String> {
        self.run_words(line.split(' ').map(|word| word.replace('_', " "))).await
    }

    /// Runs a command line of these words.
    async fn run_words(&self, words: impl Iterator<Item = String>) -> Result<String, String> {
        let cli = Cli::try_parse_from(std::iter::once("rolecall-admin".to_owned()).chain(words));
        let cli = cli.map_err(|error| error.to_string())?;
        let (now, mut out) = (self.now, Vec::new());
        let secrets = cli.secrets(self.secrets.clone()).await?;
        let clock = Clock::from_fn(move || now);
        let (store, random, bucket) = (self.store.clone(), self.random.clone(), self.bucket.clone());
        Box::pin(run(cli, store, clock, random, secrets, bucket, &mut out)).await?;
        Ok(String::from_utf8(out).unwrap())
    }

    /// The output of a command, which must succeed.
    async fn output(&self, line: &str) -> String {
        let text = self.run(line).await.unwrap_or_else(|sentence| panic!("{line}: {sentence}"));
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{text:?}");
        text
    }

    /// The JSON output of a command, which must succeed.
    async fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.output(&format!("{line} --json")).await).unwrap()
    }

    /// The error message of a command, which must fail.
    async fn error(&self, line: &str) -> String {
        let sentence = self.run(line).await.expect_err(line);
        assert!(sentence.ends_with('.') && !sentence.contains('\n'), "{sentence:?}");
        assert!(sentence.starts_with(|first: char| first.is_ascii_uppercase()), "{sentence:?}");
        sentence
    }

    /// Creates an organization and returns its identifier.
    async fn organization(&self, arguments: &str) -> u64 {
        self.json(&format!("organization create {arguments}")).await["id"].as_u64().unwrap()
    }

    async fn verdict(&self, key: &str) -> Verdict {
        let presented = credential(key).presented();
        let verdict = self.store.admit(&presented, 1, self.now, 0).await.unwrap();
        if matches!(verdict, Verdict::Admitted(_)) {
            let today = Day::of(self.now);
            self.store.record_use(presented.tenant, presented.holder, today).await.unwrap();
        }
        if credential(key).is_expired(self.now) { Verdict::Unknown } else { verdict }
    }

    async fn admission(&self, key: &str) -> Admission {
        match self.verdict(key).await {
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
    let admin = TestAdmin::without_table().await;
    assert_eq!(admin.output("table create").await, "Created the table rolecall.\n");
    assert_eq!(admin.output("table create").await, "The table rolecall already exists.\n");
    assert_eq!(admin.json("table create").await, json!({ "table": "rolecall", "created": false }));
}

#[tokio::test]
async fn an_organization_has_a_slug_in_each_of_its_two_modes() {
    let admin = TestAdmin::new().await;
    let acme = admin.json("organization create Acme_Ltd --plan pro").await;
    assert_eq!(
        acme,
        json!({
            "id": acme["id"], "name": "Acme Ltd", "slug": "acme-ltd", "test_slug": "acme-ltd-test",
            "plan": "pro", "suspended": false, "created_at": "2026-11-20T09:30:00.500Z",
        })
    );
    assert_eq!(admin.json(&format!("organization show {}", acme["id"])).await, acme);
    let text = admin.output(&format!("organization show {}", acme["id"])).await;
    assert_eq!(
        text,
        format!(
            "id         {}\nname       Acme Ltd\nslug       acme-ltd\ntest slug  acme-ltd-test\nplan       pro\n\
             status     active\ncreated    2026-11-20T09:30:00.500Z\n",
            acme["id"]
        )
    );
    for mode in Mode::ALL {
        let found = admin.store.find_organization(tenant(acme["id"].as_u64().unwrap(), mode)).await.unwrap();
        assert_eq!(found.unwrap().organization.mode, mode);
    }
}

#[tokio::test]
async fn slugs_derived_from_names_are_numbered_and_chosen_slugs_are_not() {
    let admin = TestAdmin::new().await;
    let mut slugs = Vec::new();
    for arguments in [
        "Acme --plan free",
        "Acme --plan free",
        "ACME! --plan free",
        // The test mode of the first organization already has this slug.
        "Acme_Test --plan free",
        "北京 --plan free",
        "!!! --plan free",
        "Whatever --plan free --slug chosen",
        // The page of the sign-in with a passkey has this path.
        "Passkey --plan free",
    ] {
        let created = admin.json(&format!("organization create {arguments}")).await;
        slugs.push(format!(
            "{} {}",
            created["slug"].as_str().unwrap(),
            created["test_slug"].as_str().unwrap()
        ));
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
            "passkey-2 passkey-2-test",
        ]
    );
    for taken in ["acme", "acme-test", "chosen", "passkey"] {
        let sentence = admin.error(&format!("organization create Other --plan pro --slug {taken}")).await;
        assert_eq!(
            sentence,
            "The slug is taken by another organization; choose a different one with --slug."
        );
    }
    assert_eq!(admin.json("organization list").await.as_array().unwrap().len(), slugs.len());
}

#[tokio::test]
async fn a_long_name_ending_in_test_also_gets_two_slugs() {
    let admin = TestAdmin::new().await;
    let name = format!("{}_test", "x".repeat(75));
    let created = admin.json(&format!("organization create {name} --plan free")).await;
    assert_eq!(created["slug"], format!("{}-te-2", "x".repeat(75)));
    assert_eq!(created["test_slug"], format!("{}-test", "x".repeat(75)));
}

#[tokio::test]
async fn concurrently_created_organizations_get_distinct_slugs() {
    let admin = TestAdmin::new().await;
    let name = Text::parse("Acme").unwrap().unwrap();
    let (store, name) = (&admin.store, &name);
    let create = async |n| {
        let id = Id::new(n).unwrap();
        store.create_organization(id, name, None, Plan::Free, admin.now).await.unwrap()
    };
    let (a, b, c) = tokio::join!(create(1), create(2), create(3));
    let slugs: BTreeSet<_> =
        [a, b, c].into_iter().flatten().map(|created| created.organization.slug.to_string()).collect();
    let expected = ["acme", "acme-2", "acme-2-test", "acme-3", "acme-3-test", "acme-test"];
    assert_eq!(slugs, expected.map(str::to_owned).into());
}

#[tokio::test]
async fn the_list_covers_all_pages_newest_first() {
    let admin = TestAdmin::new().await;
    assert_eq!(admin.output("organization list").await, "No organizations.\n");
    assert_eq!(admin.json("organization list").await, json!([]));
    let name = Text::parse("Acme\tLtd").unwrap().unwrap();
    // All ids fall into one registry partition, so that it has more than one page.
    let ids: Vec<_> = (1..=120u64).map(|n| n * shared::store::REGISTRY_SHARDS).collect();
    for id in &ids {
        let slug = Some(shared::model::Slug::of(&format!("acme {id}"), ""));
        let id = Id::new(*id).unwrap();
        admin.store.create_organization(id, &name, slug, Plan::Free, admin.now).await.unwrap();
    }
    admin.organization("Globex --plan pro").await;
    let listed = admin.json("organization list").await;
    let listed: Vec<_> = listed.as_array().unwrap().iter().map(|one| one["id"].as_u64().unwrap()).collect();
    assert_eq!(listed[1..], ids.into_iter().rev().collect::<Vec<_>>());
    let text = admin.output("organization list").await;
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 122);
    assert!(lines[0].starts_with("ID  ") && lines[0].ends_with("NAME"), "{}", lines[0]);
    assert!(
        lines[1].contains("  pro   active  2026") && lines[1].ends_with("  globex     Globex"),
        "{}",
        lines[1]
    );
    assert!(lines[121].starts_with("16  ") && lines[121].ends_with("acme-16    Acme Ltd"), "{}", lines[121]);
}

#[tokio::test]
async fn plan_and_suspension_apply_immediately_and_independently() {
    let admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan free").await;
    let live = admin.json(&format!("key create {id} --name One")).await;
    let test = admin.json(&format!("key create {id} --name Two --mode test")).await;
    let states = async || {
        let mut states = Vec::new();
        for key in [key(&live), key(&test)] {
            let organization = admin.admission(key).await.organization;
            states.push((organization.plan, organization.suspended));
        }
        states
    };
    assert_eq!(states().await, [(Plan::Free, false); 2]);
    assert_eq!(admin.json(&format!("organization plan {id} pro")).await["plan"], "pro");
    assert_eq!(states().await, [(Plan::Pro, false); 2]);
    assert!(admin.output(&format!("organization suspend {id}")).await.contains("status     suspended\n"));
    assert_eq!(states().await, [(Plan::Pro, true); 2]);
    admin.output(&format!("organization plan {id} free")).await;
    assert_eq!(states().await, [(Plan::Free, true); 2]);
    assert_eq!(admin.json(&format!("organization resume {id}")).await["suspended"], false);
    assert_eq!(states().await, [(Plan::Free, false); 2]);
}

#[tokio::test]
async fn settings_are_shown_and_changed_in_one_mode() {
    let admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan free").await;
    let first = json!({ "country": null, "time_zone": "UTC", "contact_email": null });
    assert_eq!(admin.json(&format!("organization settings {id}")).await, first);
    let shown = admin.output(&format!("organization settings {id}")).await;
    assert_eq!(shown, "country        -\ntime zone      UTC\ncontact email  -\n");

    let options = "--country de --time-zone europe/berlin --contact-email jobs@acme.example";
    let changed = admin.output(&format!("organization settings {id} {options}")).await;
    assert_eq!(
        changed,
        "country        DE\ntime zone      Europe/Berlin\ncontact email  jobs@acme.example\n"
    );
    // What is not named stays as it is, and so does the other mode.
    let changed = admin.json(&format!("organization settings {id} --time-zone EST5EDT --no-country")).await;
    let expected = json!({ "country": null, "time_zone": "EST5EDT", "contact_email": "jobs@acme.example" });
    assert_eq!(changed, expected);
    assert_eq!(admin.json(&format!("organization settings {id}")).await, expected);
    assert_eq!(admin.json(&format!("organization settings {id} --mode test")).await, first);
    let changed = admin.json(&format!("organization settings {id} --no-contact-email --country AT")).await;
    assert_eq!(changed, json!({ "country": "AT", "time_zone": "EST5EDT", "contact_email": null }));

    admin.output(&format!("organization settings {id} --country AT")).await;
    let log = admin.output(&format!("audit {id}")).await;
    assert_eq!(log.matches("operator settings.changed organization").count(), 3, "{log}");
    let export = admin.output(&format!("organization export {id} --base-url https://x.example")).await;
    assert!(export.contains("\"country\":\"AT\",\"time_zone\":\"EST5EDT\""), "{export}");
}

#[tokio::test]
async fn a_key_is_printed_once_and_works_only_in_its_mode() {
    let admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan free").await;
    let text = admin.output(&format!("key create {id} --name Career_site --scope roles:read")).await;
    let shown = text.lines().next().unwrap().to_owned();
    assert!(
        text.contains("\n\nSave it now: only its hash is stored, so it cannot be shown again.\n"),
        "{text}"
    );
    assert!(text.ends_with(", Career site; scopes: roles:read; never expires.\n"), "{text}");
    assert!(shown.starts_with("rc_live_"));
    let admission = admin.admission(&shown).await;
    assert_eq!(admission.organization.tenant(), tenant(id, Mode::Live));
    assert_eq!(credential(&shown).claims().scopes, Scopes::from_iter([Scope::RolesRead]));

    let trial = admin.json(&format!("key create {id} --name Trial --mode test")).await;
    assert!(key(&trial).starts_with("rc_test_"));
    assert_eq!(trial["scopes"], json!(Scopes::by_default().iter().map(Scope::as_str).collect::<Vec<_>>()));
    assert_eq!((&trial["mode"], &trial["expires_at"]), (&json!("test"), &Value::Null));
    assert_eq!(trial["organization_id"], id);
    let admission = admin.admission(key(&trial)).await;
    assert_eq!(admission.organization.tenant(), tenant(id, Mode::Test));
    assert_eq!(credential(key(&trial)).claims().scopes, Scopes::by_default());

    for line in [
        "organization list",
        "organization show ID",
        "key list ID",
        "key list ID --mode test",
        "usage show ID",
    ] {
        for json in ["", " --json"] {
            let text = admin.output(&format!("{}{json}", line.replace("ID", &id.to_string()))).await;
            assert!(!text.contains("rc_"), "{line} shows a key");
            for key in [&*shown, key(&trial)] {
                let hash = credential(key).hash();
                assert!(!text.contains(&key[36..]) && !text.contains(&hash), "{line} shows a secret");
            }
        }
    }
}

#[tokio::test]
async fn a_key_expires_exactly_on_time() {
    let mut admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan pro").await;
    let created = admin.json(&format!("key create {id} --name Trial --expires-in-days 30")).await;
    assert_eq!(created["expires_at"], "2026-12-20T09:30:00.000Z", "keys expire at a whole second");
    let text = admin.output(&format!("key create {id} --name Trial --expires-in-days 1")).await;
    assert!(text.ends_with("; scopes: default; expires at 2026-11-21T09:30:00.000Z.\n"), "{text}");
    for (now, state) in [("2026-12-20T09:29:59.9Z", "active"), ("2026-12-20T09:30:00Z", "expired")] {
        admin.now = now.parse().unwrap();
        let admitted = matches!(admin.verdict(key(&created)).await, Verdict::Admitted(_));
        assert_eq!(admitted, state == "active", "{now}");
        let listed = admin.json(&format!("key list {id}")).await;
        let states: BTreeSet<_> =
            listed.as_array().unwrap().iter().map(|key| key["state"].as_str()).collect();
        assert_eq!(states, BTreeSet::from([Some("expired"), Some(state)]), "{now}");
    }
}

#[tokio::test]
async fn a_revoked_key_stops_working_immediately_and_stays_in_the_list() {
    let mut admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan pro").await;
    let one = admin.json(&format!("key create {id} --name One --scope roles:read --scope roles:write")).await;
    let two = admin.json(&format!("key create {id} --name Two")).await;
    admin.admission(key(&one)).await;
    let text = admin.output(&format!("key revoke {id} {}", one["id"])).await;
    assert_eq!(text, format!("The key {}, One, was revoked at 2026-11-20T09:30:00.500Z.\n", one["id"]));
    assert!(matches!(admin.verdict(key(&one)).await, Verdict::Unknown));
    admin.admission(key(&two)).await;

    // Revoking it again changes nothing.
    admin.now = "2026-11-21T00:00:00Z".parse().unwrap();
    let again = admin.json(&format!("key revoke {id} {}", one["id"])).await;
    assert_eq!(again, json!({ "id": one["id"], "name": "One", "revoked_at": "2026-11-20T09:30:00.500Z" }));

    let mut listed = admin.json(&format!("key list {id}")).await;
    let listed = listed.as_array_mut().unwrap();
    listed.sort_by_key(|key| key["name"].as_str().unwrap().to_owned());
    assert_eq!(
        listed[0],
        json!({
            "id": one["id"], "name": "One", "mode": "live", "scopes": ["roles:read", "roles:write"],
            "state": "revoked", "created_at": "2026-11-20T09:30:00.500Z", "expires_at": null,
            "revoked_at": "2026-11-20T09:30:00.500Z", "last_used_on": "2026-11-20", "created_by": null,
            "networks": "",
        })
    );
    assert_eq!((&listed[1]["state"], &listed[1]["last_used_on"]), (&json!("active"), &json!("2026-11-20")));
    let text = admin.output(&format!("key list {id}")).await;
    assert!(text.starts_with("ID  ") && text.lines().count() == 3, "{text}");
    assert!(text.contains("  active   2026-11-20T09:30:00.500Z  -        2026-11-20  default"), "{text}");
    assert!(
        text.contains(
            "  revoked  2026-11-20T09:30:00.500Z  -        2026-11-20  roles:read,roles:write  One"
        ),
        "{text}"
    );
    assert_eq!(admin.output(&format!("key list {id} --mode test")).await, "No keys in this mode.\n");
}

#[tokio::test]
async fn each_mode_allows_25_active_keys() {
    let admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan pro").await;
    let line = format!("key create {id} --name One --json");
    let mut creations = tokio::task::JoinSet::new();
    let admin = Arc::new(admin);
    for _ in 0..40 {
        let (admin, line) = (admin.clone(), line.clone());
        creations.spawn(async move { admin.run(&line).await });
    }
    let created = creations.join_all().await;
    assert_eq!(created.iter().filter(|created| created.is_ok()).count(), 25);
    let sentence = "There are 25 keys already; revoke one first.";
    assert!(created.iter().filter_map(|created| created.as_ref().err()).all(|error| error == sentence));
    assert_eq!(admin.error(&format!("key create {id} --name One")).await, sentence);
    admin.output(&format!("key create {id} --name One --mode test")).await;

    // Revoking a key makes room for only one more, even if it is revoked repeatedly.
    let listed = admin.json(&format!("key list {id}")).await;
    for _ in 0..3 {
        admin.output(&format!("key revoke {id} {}", listed[0]["id"])).await;
    }
    admin.output(&format!("key create {id} --name One")).await;
    assert_eq!(admin.error(&format!("key create {id} --name One")).await, sentence);
    assert_eq!(admin.json(&format!("key list {id}")).await.as_array().unwrap().len(), 26);
}

#[tokio::test]
async fn keys_on_all_pages_are_listed() {
    let admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan pro").await;
    for _ in 0..103 {
        let created = admin.json(&format!("key create {id} --name One")).await;
        admin.output(&format!("key revoke {id} {}", created["id"])).await;
    }
    assert_eq!(admin.json(&format!("key list {id}")).await.as_array().unwrap().len(), 103);
}

#[tokio::test]
async fn usage_shows_today_and_earlier_days() {
    let mut admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan free").await;
    let created = admin.json(&format!("key create {id} --name One")).await;
    for (day, requests) in [("2026-10-01", 1), ("2026-11-18", 3), ("2026-11-19", 2), ("2026-11-20", 4)] {
        admin.now = format!("{day}T23:59:59Z").parse().unwrap();
        for _ in 0..requests {
            admin.admission(key(&created)).await;
        }
    }
    admin.store.archive_usage(tenant(id, Mode::Live), "2026-11-20".parse().unwrap()).await.unwrap();
    assert_eq!(
        admin.json(&format!("usage show {id}")).await,
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
        admin.output(&format!("usage show {id} --days 1")).await,
        "DAY         REQUESTS\n2026-11-20  4 of 100 so far\n2026-11-19  2\n"
    );
    let long_ago = admin.json(&format!("usage show {id} --days 50")).await;
    assert_eq!(long_ago["history"][2], json!({ "day": "2026-10-01", "requests": 1 }));
    admin.output(&format!("organization plan {id} pro")).await;
    assert_eq!(
        admin.output(&format!("usage show {id} --mode test")).await,
        "DAY         REQUESTS\n2026-11-20  0 so far\n"
    );
}

#[tokio::test]
async fn a_key_has_networks_and_can_be_rotated() {
    let admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan pro").await;
    let create =
        format!("key create {id} --name Sync --networks 203.0.113.0/24,2001:db8::1 --expires-in-days 30");
    let first = admin.json(&create).await;
    let second = admin.json(&format!("key rotate {id} {} --overlap-hours 2", first["id"])).await;
    assert_eq!((&second["name"], &second["scopes"]), (&first["name"], &first["scopes"]));
    assert_eq!(second["expires_at"], first["expires_at"]);
    for key_of in [&first, &second] {
        assert!(matches!(admin.verdict(key(key_of)).await, Verdict::Admitted(_)));
    }
    let listed = admin.json(&format!("key list {id}")).await;
    assert_eq!(listed[0]["networks"], "203.0.113.0/24, 2001:db8::1");
    assert_eq!(listed[1]["networks"], listed[0]["networks"]);
    assert_eq!(
        admin.error(&format!("key rotate {id} {}", first["id"])).await,
        "Another key already replaces this one."
    );
    assert_eq!(
        admin.error(&format!("key rotate {id} {}", second["id"])).await,
        "The key that this one replaces is still valid; revoke it first."
    );
    assert!(
        admin.error(&format!("key rotate {id} 17")).await.starts_with("The organization has no such key")
    );
    let invalid = admin.run(&format!("key create {id} --name Sync --networks 203.0.113.7/24")).await;
    assert!(invalid.unwrap_err().contains("the network is 203.0.113.0/24"));
}

#[tokio::test]
async fn without_the_service_s_key_no_credential_is_created() {
    let admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan free").await;
    let admin = TestAdmin { secrets: Secrets::default(), ..admin };
    for line in [
        format!("key create {id} --name One"),
        format!(
            "member create {id} --name Ada --email ada@example.com --role owner --base-url https://a.example"
        ),
    ] {
        assert_eq!(
            admin.error(&line).await,
            "New API keys and links need the service's key: set CREDENTIAL_KEYS, or name its secret in Secrets \
             Manager with --credential-secret."
        );
    }
}

/// Other users of a machine see the arguments of its programs.
#[tokio::test]
async fn secrets_come_from_the_environment_and_never_from_the_command_line() {
    let admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan pro").await;
    let commands = [
        ("CREDENTIAL_KEYS", format!("key create {id} --name One"), "at least 32 characters"),
        (
            "CREDENTIAL_KEYS",
            format!("member create {id} --name Jo --email jo@x.io --role owner --base-url http://x"),
            "at least 32 characters",
        ),
        ("SEALING_KEYS", "reseal".to_owned(), "at least 32 random characters"),
        ("SEALING_KEYS", format!("channel connect-x {id} --username a"), "at least 32 random characters"),
        ("X_ACCESS_TOKEN", format!("channel connect-x {id} --username a"), "visible ASCII without spaces"),
        ("X_REFRESH_TOKEN", format!("channel connect-x {id} --username a"), "visible ASCII without spaces"),
        (
            "SEALING_KEYS",
            format!("channel connect-whatsapp {id} --phone-number-id 1"),
            "at least 32 random characters",
        ),
        (
            "WHATSAPP_TOKEN",
            format!("channel connect-whatsapp {id} --phone-number-id 1"),
            "visible ASCII without spaces",
        ),
    ];
    for (name, command, reason) in &commands {
        let with = |value: Option<&str>| {
            let secrets = Secrets::read(|known| {
                let value = if known == *name { value } else { Some(KEY) };
                value.map(
                    |value| if known == "SEALING_KEYS" { format!("1:{value}") } else { value.to_owned() },
                )
            });
            let (dynamodb, store, random) =
                (admin.dynamodb.clone(), admin.store.clone(), admin.random.clone());
            TestAdmin { dynamodb, store, now: admin.now, random, bucket: None, secrets }
        };
        with(Some(KEY)).output(command).await;
        let missing = with(None).error(command).await;
        assert!(missing.contains(name), "{command}: {missing}");
        let sentence = with(Some("a short")).error(command).await;
        assert!(sentence.starts_with(&format!("The environment variable {name} has no usable value: ")));
        assert!(sentence.contains(reason) && !sentence.contains("a short"), "{command}: {sentence}");
    }
    // A command that needs no secret reads none.
    TestAdmin { secrets: Secrets::default(), ..admin }.output("organization list").await;
    let mut command = Cli::command();
    command.build();
    let mut commands = vec![command];
    while let Some(command) = commands.pop() {
        for argument in command.get_arguments() {
            let variable =
                argument.get_env().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let is_secret = ["KEY", "TOKEN"].iter().any(|word| variable.contains(word));
            let words = argument.get_long().unwrap_or_default().split('-');
            let names_secret = words.clone().any(|word| ["token", "keys"].contains(&word));
            let is_key = argument.get_long() == Some("key");
            let is_flag = !argument.get_action().takes_values();
            assert!(is_flag || !(is_secret || names_secret || is_key), "{}: {argument}", command.get_name());
        }
        commands.extend(command.get_subcommands().cloned());
    }
}

#[tokio::test]
async fn usage_on_all_pages_is_shown() {
    let admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan pro").await;
    let created = admin.json(&format!("key create {id} --name One")).await;
    let credential = credential(key(&created));
    let day = |back: i64| admin.now.saturating_sub(jiff::SignedDuration::from_hours(24 * back)).unwrap();
    for back in 1..=120 {
        admin.store.admit(&credential.presented(), 1, day(back), 0).await.unwrap();
    }
    admin.store.archive_usage(tenant(id, Mode::Live), "2026-11-20".parse().unwrap()).await.unwrap();
    for (days, shown) in [(99, 99), (100, 100), (101, 101), (3660, 120)] {
        let usage = admin.json(&format!("usage show {id} --days {days}")).await;
        assert_eq!(usage["history"].as_array().unwrap().len(), shown, "{days} days");
    }
}

#[tokio::test]
async fn channels_are_connected_shown_and_disconnected_without_printing_tokens() {
    let admin = TestAdmin::new().await;
    let id = admin.json("organization create Acme --plan pro").await["id"].as_u64().unwrap();
    let statuses = async || {
        let shown = admin.json(&format!("channel show {id}")).await;
        [0, 1].map(|n| shown[n]["status"].as_str().unwrap().to_owned())
    };
    assert_eq!(statuses().await, ["disconnected", "disconnected"]);
    let line = format!("channel connect-x {id} --username @acme");
    assert_eq!(admin.output(&line).await, format!("Connected @acme as organization {id}'s x account.\n"));
    let line = format!("channel connect-whatsapp {id} --phone-number-id 106540352242922");
    assert_eq!(admin.json(&line).await["account"], "106540352242922");
    assert_eq!(statuses().await, ["connected", "connected"]);
    let live = tenant(id, Mode::Live);
    let found = admin.store.get_channels(live, shared::model::Day::of(admin.now)).await.unwrap();
    let (x, whatsapp) = (found.x.unwrap(), found.whatsapp.unwrap());
    assert_eq!(
        (x.access.key.as_str(), x.expires_at.to_string().as_str()),
        ("k1", "2026-11-20T11:30:00.500Z")
    );
    let decrypted = shared::services::accounts::whatsapp_token(
        live,
        &whatsapp,
        &shared::token_encryption::EncryptionKeys::parse(&format!("k1:{}", "s".repeat(32))).unwrap(),
    );
    assert_eq!(decrypted.unwrap().expose(), "SECRET_WHATSAPP_TOKEN");
    let shown = admin.output(&format!("channel show {id}")).await;
    assert!(!["SECRET", "ssss"].iter().any(|secret| shown.contains(secret)), "{shown}");
    let disconnected = admin.output(&format!("channel disconnect {id} x")).await;
    assert_eq!(disconnected, format!("Disconnected organization {id}'s x account.\n"));
    assert_eq!(statuses().await, ["disconnected", "connected"]);
    assert!(admin.error("channel show 17").await.starts_with("The organization does not exist"));
}

#[tokio::test]
async fn missing_records_are_reported() {
    let admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan pro").await;
    for line in [
        "organization show 17",
        "organization plan 17 pro",
        "organization settings 17",
        "organization settings 17 --country DE",
        "organization suspend 17",
        "organization resume 17",
        "key create 17 --name One",
        "key list 17",
        "usage show 17",
    ] {
        assert_eq!(
            admin.error(line).await,
            "The organization does not exist; list all with `rolecall-admin organization list`.",
            "{line}"
        );
    }
    let created = admin.json(&format!("key create {id} --name One")).await;
    // A key of another mode or organization is not found.
    for line in [
        format!("key revoke {id} 9"),
        format!("key revoke {id} {} --mode test", created["id"]),
        format!("key revoke 17 {}", created["id"]),
    ] {
        assert_eq!(
            admin.error(&line).await,
            "The organization has no such key in this mode; list all with `rolecall-admin key list`.",
            "{line}"
        );
    }
    admin.admission(key(&created)).await;
}

#[tokio::test]
async fn identifiers_in_use_are_not_reused() {
    let mut admin = TestAdmin::new().await;
    let mut created = Vec::new();
    // The clock is fixed, so the same seed generates the same identifiers.
    for name in ["Acme", "Globex"] {
        admin.random = Random::seeded(1);
        created.push(admin.organization(&format!("{name} --plan pro")).await);
    }
    assert_eq!(admin.json(&format!("organization show {}", created[0])).await["name"], "Acme");
    assert_eq!(admin.json(&format!("organization show {}", created[1])).await["name"], "Globex");
    let mut keys = Vec::new();
    for _ in 0..2 {
        admin.random = Random::seeded(1);
        keys.push(admin.json(&format!("key create {} --name One", created[0])).await);
    }
    admin.admission(key(&keys[0])).await;
    admin.admission(key(&keys[1])).await;

    // A revoked key's identifier is not reused, and creation fails after three attempts.
    for key in &keys {
        admin.output(&format!("key revoke {} {}", created[0], key["id"])).await;
    }
    let tenant = tenant(created[0], Mode::Live);
    let id = keys[0]["id"].as_u64().and_then(Id::new).unwrap();
    let key = admin.store.find_api_key(tenant, id).await.unwrap().unwrap();
    let again = admin.store.insert_api_key(Transaction::new(tenant), &key).await;
    assert!(matches!(again, Err(OrganizationError::Exists)));
    assert_eq!(
        explain(&OrganizationError::Exists, "rolecall", None),
        "No unused identifier was found; run the command again."
    );
}

#[tokio::test]
async fn a_missing_table_and_an_unreachable_database_are_reported() {
    let mut admin = TestAdmin::without_table().await;
    for line in [
        "organization create Acme --plan free",
        "organization list",
        "organization suspend 17",
        "key list 17",
    ] {
        assert_eq!(
            admin.error(line).await,
            "The table rolecall does not exist; create it with `rolecall-admin table create`.",
            "{line}"
        );
    }
    admin.store = Store::at_endpoint("http://127.0.0.1:1", "rolecall");
    for line in ["table create", "organization list"] {
        assert_eq!(
            admin.error(line).await,
            "AWS cannot be reached: set AWS_REGION and credentials, or choose a DynamoDB endpoint with --endpoint.",
            "{line}"
        );
        assert_eq!(
            admin.error(&format!("{line} --endpoint http://127.0.0.1:1")).await,
            "DynamoDB cannot be reached at http://127.0.0.1:1.",
            "{line}"
        );
    }
}

#[tokio::test]
async fn write_conflicts_are_retried_and_then_reported() {
    let admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan free").await;
    let created = admin.json(&format!("key create {id} --name One")).await;
    let lines = [
        "organization create Globex --plan free".to_owned(),
        format!("organization suspend {id}"),
        format!("organization plan {id} pro"),
        format!("organization settings {id} --country DE"),
        format!("key create {id} --name Two"),
        format!("key revoke {id} {}", created["id"]),
    ];
    let inject_conflicts = |times| {
        let left = AtomicUsize::new(times);
        admin.dynamodb.inject_faults(move |operation, _| {
            let conflict = operation == "TransactWriteItems"
                && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
            conflict.then_some(Fault::Conflict)
        });
    };
    for line in &lines {
        inject_conflicts(usize::MAX);
        let sentence = admin.error(line).await;
        assert_eq!(sentence, "DynamoDB is unavailable: write conflicts persisted.", "{line}");
    }
    for line in &lines {
        inject_conflicts(3);
        admin.output(line).await;
    }
    let shown = admin.json(&format!("organization show {id}")).await;
    assert_eq!((&shown["plan"], &shown["suspended"]), (&json!("pro"), &json!(true)));
    assert!(matches!(admin.verdict(key(&created)).await, Verdict::Unknown));
    assert_eq!(admin.json("organization list").await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_unwritable_output_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let admin = TestAdmin::new().await;
    let cli = Cli::parse_from(["rolecall-admin", "organization", "list"]);
    let now = admin.now;
    let result =
        run(cli, admin.store, Clock::from_fn(move || now), admin.random, Secrets::default(), None, &mut Full)
            .await;
    assert_eq!(
        result.unwrap_err(),
        "The command succeeded, but its output could not be written: no storage space."
    );
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn invalid_usage_is_explained() {
    let long = "x".repeat(201);
    for (line, expected) in [
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
        ("organization settings 17 --country ZZ", "must be an ISO 3166-1 alpha-2 country code"),
        ("organization settings 17 --country DE --no-country", "cannot be used with"),
        (
            "organization settings 17 --time-zone +01:00",
            "must be the name of a time zone in the IANA database",
        ),
        ("organization settings 17 --time-zone=", "must be the name of a time zone in the IANA database"),
        ("organization settings 17 --contact-email jobs", "must be an e-mail address"),
        ("organization settings 17 --contact-email j@x.io --no-contact-email", "cannot be used with"),
        ("key create 17", "--name <NAME>"),
        ("key create 17 --name LONG", "must be at most 100 characters"),
        ("key create 17 --name One --scope roles", "roles:read, roles:write"),
        ("key create 17 --name One --mode prod", "[possible values: live, test]"),
        ("key create 17 --name One --expires-in-days 0", "0 is not in 1..=3660"),
        ("key revoke 17", "<KEY_ID>"),
        ("person export 17", "<--id <ID>|--email <EMAIL>>"),
        ("person export 17 --id 1 --email jo@x.io", "cannot be used with"),
        ("organization delete 17", "--confirm <SLUG>"),
        ("organization delete 17 --confirm acme --bucket b --no-files", "cannot be used with"),
        ("usage show 17 --days 0", "0 is not in 1..=3660"),
        ("channel connect-x 17 --username a-b", "letters, digits and underscores"),
        ("channel connect-whatsapp 17 --phone-number-id +1", "must be 1 to 20 digits"),
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
        assert!(error.to_string().contains(expected), "{line}: {error}");
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
        "organization settings",
        "organization export",
        "organization delete",
        "person export",
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
            let example = example.split(['|', '>']).next().unwrap();
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
    let admin = TestAdmin::without_table().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let database = Database::memory().unwrap();
    tokio::spawn(dynoxide::server::serve_with_shutdown(listener, database, std::future::pending()));
    let line = ["rolecall-admin", "organization", "list", "--endpoint", &endpoint, "--table", "other"];
    let cli = Cli::parse_from(line);
    let (store, now) = (cli.store().await, admin.now);
    let result =
        run(cli, store, Clock::from_fn(move || now), admin.random, Secrets::default(), None, &mut Vec::new())
            .await;
    assert_eq!(
        result.unwrap_err(),
        "The table other does not exist; create it with `rolecall-admin table create`."
    );
}

#[tokio::test]
async fn creating_a_member_prints_a_link_once() {
    let admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan pro").await;
    let new =
        format!("member create {id} --name Ada_Lovelace --role owner --base-url https://api.example.com/");
    let text = admin.output(&format!("{new} --email Ada@acme.example")).await;
    let link = text.lines().next().unwrap();
    assert!(link.starts_with("https://api.example.com/dashboard/password?token=rc_ln_L"), "{text}");
    assert!(
        text.contains("Send it to Ada@acme.example: anyone who opens it can set the password."),
        "{text}"
    );
    assert!(
        text.contains("It works once and expires at 2026-11-27T09:30:00.500Z. Ada Lovelace is the owner "),
        "{text}"
    );

    let created = admin.json(&format!("{} --email jo@acme.example", new.replace("owner", "member"))).await;
    assert_eq!(
        created,
        json!({
            "id": created["id"], "organization_id": id, "name": "Ada Lovelace", "email": "jo@acme.example",
            "role": "member", "link": created["link"], "link_expires_at": "2026-11-27T09:30:00.500Z",
        })
    );
    for taken in ["ada@acme.example", "JO@acme.example"] {
        let sentence = admin.error(&format!("{new} --email {taken}")).await;
        assert_eq!(
            sentence,
            "The e-mail address already belongs to a member or an open invitation of the organization."
        );
    }

    let listed = admin.json(&format!("member list {id}")).await;
    assert_eq!(
        listed[0],
        json!({
            "id": created["id"], "name": "Ada Lovelace", "email": "jo@acme.example", "role": "member",
            "state": "invited", "created_at": "2026-11-20T09:30:00.500Z",
        })
    );
    let table = admin.output(&format!("member list {id}")).await;
    assert!(table.starts_with("ID  ") && table.lines().count() == 3, "{table}");
    for json in ["", " --json"] {
        let shown = admin.output(&format!("member list {id}{json}")).await;
        assert!(!shown.contains("rc_ln_") && !shown.contains("hash"), "{shown}");
    }
}

#[tokio::test]
async fn a_new_link_replaces_the_previous_one_and_expires_sooner_if_a_password_is_set() {
    let admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan pro").await;
    let at = "--base-url https://api.example.com";
    let created =
        admin.json(&format!("member create {id} --name Jo --email jo@acme.example --role member {at}")).await;
    let line = format!("member link {id} {} {at}", created["id"]);
    let again = admin.json(&line).await;
    assert_ne!(again["link"], created["link"]);
    assert_eq!(again["link_expires_at"], "2026-11-27T09:30:00.500Z");
    let (organization, member) = (Id::new(id).unwrap(), created["id"].as_u64().and_then(Id::new).unwrap());
    let hash = |link: &Value| {
        let token = link.as_str().unwrap().split_once("token=").unwrap().1;
        credential(token).hash()
    };
    let stored = admin.store.find_member(organization, member).await.unwrap().unwrap();
    assert_eq!(stored.link.as_ref().unwrap().hash, hash(&again["link"]), "only the newest link works");

    let password = Password::parse("a longer pass phrase", &stored.email).unwrap();
    let active =
        stored.clone().with_password(PasswordHash::of(&password, [1; 16], PasswordCost::CURRENT).unwrap());
    let mut transaction = Transaction::new(tenant(id, Mode::Live));
    transaction.replace_member(&stored, &active).unwrap();
    admin.store.commit(transaction).await.unwrap();
    assert_eq!(admin.json(&format!("member list {id}")).await[0]["state"], "active");
    assert_eq!(admin.json(&line).await["link_expires_at"], "2026-11-21T09:30:00.500Z");
}

#[tokio::test]
async fn the_second_factor_of_a_last_owner_is_reset_with_a_notice() {
    let admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan pro").await;
    let at = "--base-url https://api.example.com";
    let created =
        admin.json(&format!("member create {id} --name Jo --email jo@acme.example --role owner {at}")).await;
    let (organization, member) = (Id::new(id).unwrap(), created["id"].as_u64().and_then(Id::new).unwrap());
    let line = format!("member reset-second-factor {id} {member}");
    assert_eq!(admin.output(&line).await, "jo@acme.example had no second factor.\n");
    let stored = admin.store.find_member(organization, member).await.unwrap().unwrap();
    let keys = EncryptionKeys::parse(&format!("k:{}", "s".repeat(32))).unwrap();
    let secret = keys.encrypt(&Secret::new("x"), "test", [1; 24]).unwrap();
    let (factor, _) = SecondFactor::set_up(secret, 1, &admin.random, admin.now);
    let mut transaction = Transaction::new(tenant(id, Mode::Live));
    transaction.replace_member(&stored, &stored.clone().with_second_factor(Some(factor))).unwrap();
    admin.store.commit(transaction).await.unwrap();
    assert_eq!(admin.output(&line).await, "jo@acme.example now signs in with the password alone.\n");
    let stored = admin.store.find_member(organization, member).await.unwrap().unwrap();
    assert!(stored.second_factor.is_none());
    let notices = admin.store.list_notices(organization, member).await.unwrap();
    let sentences: Vec<_> = notices.iter().map(|notice| notice.event.sentence()).collect();
    assert_eq!(sentences, ["The operator of this service removed your second factor and your passkeys."]);
    assert!(admin.error(&format!("member reset-second-factor {id} 17")).await.contains("no such member"));
}

#[tokio::test]
async fn a_removed_member_is_gone_and_the_e_mail_address_can_be_reused() {
    let admin = TestAdmin::new().await;
    let id = admin.organization("Acme --plan pro").await;
    let globex = admin.organization("Globex --plan free").await;
    let new = "--name Jo --email jo@acme.example --role owner --base-url http://127.0.0.1:3000";
    let created = admin.json(&format!("member create {id} {new}")).await;
    let line = format!("member remove {id} {}", created["id"]);
    assert!(
        admin.error(&line.replace(&id.to_string(), &globex.to_string())).await.contains("no such member")
    );
    let text = admin.output(&line).await;
    assert_eq!(
        text,
        "jo@acme.example is no longer a member; all sessions have ended and all connected applications have lost access.\n"
    );
    assert_eq!(admin.output(&format!("member list {id}")).await, "No members.\n");
    let unknown = "The organization has no such member; list all with `rolecall-admin member list`.";
    assert_eq!(admin.error(&line).await, unknown);
    let link = format!("member link {id} {} --base-url http://127.0.0.1:3000", created["id"]);
    assert_eq!(admin.error(&link).await, unknown);
    admin.json(&format!("member create {globex} {new}")).await;
    for line in ["member list 17".to_owned(), format!("member create 17 {new}")] {
        assert!(admin.error(&line).await.starts_with("The organization does not exist"), "{line}");
    }
}

/// What the operator does is in the organization's audit log, with the operator as the actor.
#[tokio::test]
async fn the_audit_log_is_printed_as_text_or_json() {
    let admin = TestAdmin::new().await;
    let (acme, globex) =
        (admin.organization("Acme --plan free").await, admin.organization("Globex --plan free").await);
    assert_eq!(admin.output(&format!("audit {acme}")).await, "No entries.\n");
    admin.output(&format!("organization plan {acme} pro")).await;
    admin.output(&format!("organization suspend {acme}")).await;
    admin.output(&format!("organization resume {acme}")).await;
    let key = admin.json(&format!("key create {acme} --name CI --mode test")).await["id"].as_u64().unwrap();
    admin.output(&format!("key revoke {acme} {key} --mode test")).await;
    let member = format!("member create {acme} --name Ada --email ada@acme.example --role owner");
    let member = admin.json(&format!("{member} --base-url https://x.example")).await["id"].as_u64().unwrap();
    admin.output(&format!("member link {acme} {member} --base-url https://x.example")).await;
    admin.output(&format!("member remove {acme} {member}")).await;
    admin.output(&format!("organization export {acme} --base-url https://x.example")).await;
    // Entries of different runs in the same second are in any order.
    let lines = async |arguments: &str| {
        let text = admin.output(format!("audit {acme} {arguments}").trim_end()).await;
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let line = |rest: &str| format!("2026-11-20T09:30:00.500Z operator {rest}");
    assert_eq!(
        lines("").await,
        [
            line(&format!("member.invited member:{member}")),
            line(&format!("member.link_created member:{member}")),
            line(&format!("member.removed member:{member}")),
            line("organization.exported"),
            line("organization.resumed"),
            line("organization.suspended"),
            line("settings.changed plan"),
        ]
    );
    let in_test =
        [line(&format!("api_key.created api_key:{key}")), line(&format!("api_key.revoked api_key:{key}"))];
    assert_eq!(lines("--mode test").await, in_test);
    assert_eq!(lines("--actor operator").await.len(), 7);
    assert_eq!(lines("--actor system").await, ["No entries."]);
    assert_eq!(lines("--action organization.suspended").await, [line("organization.suspended")]);
    assert_eq!(lines("--to 2026-11-20T09:30:00Z").await, ["No entries."]);
    assert_eq!(lines("--from 2026-11-20T09:30:00Z --to 2026-11-20T09:30:01Z").await.len(), 7);
    let json = admin.output(&format!("audit {acme} --action organization.resumed --json")).await;
    let mut json: Value = serde_json::from_str(&json).unwrap();
    assert!(json["id"].take().is_u64());
    let operator = json!({ "type": "operator", "id": null, "member": null });
    let expected = json!({
        "id": null, "at": "2026-11-20T09:30:00.500Z", "actor": operator, "action": "organization.resumed",
        "target": null, "shown": null, "network": null,
    });
    assert_eq!(json, expected);
    assert_eq!(admin.output(&format!("audit {globex}")).await, "No entries.\n");
    assert!(admin.error("audit 17").await.starts_with("The organization does not exist"));
    assert!(admin.run(&format!("audit {acme} --actor system --action member.removed")).await.is_err());
    assert!(admin.run(&format!("audit {acme} --actor nobody")).await.is_err());
}
