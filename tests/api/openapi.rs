//! The OpenAPI document: what it says is what the service does, and what it shows was really answered.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use rolecall_local::functions::tables;
use serde_json::{Value, json};
use shared::model::{Mode, VoiceProvider};
use shared::providers::voice;
use shared::screening::Reference;
use tests::browser::{Browser, FORM, Form};
use tests::contract::{CONTRACT, DOCUMENT as SNAPSHOT};
use tests::desk::owner;
use tests::oauth::{App, Tokens, basic, registration};
use tests::openapi::{DOCUMENT, Example, Refused, breaking, document, promises};
use tests::{ACME, Answer, World, project, tenant};

/// What clients were promised with the last release, whose version it has. It has none before the first.
const RELEASED: &str = "tests/api/openapi_released.json";

/// Somebody who uses every operation once.
struct Session {
    world: World,
    answers: BTreeMap<&'static str, (Value, Answer)>,
    /// What was refused of rows without a scope: everything that they refuse.
    refusals: Vec<(&'static str, Answer)>,
}

impl Session {
    async fn play(&mut self, key: &'static str, id: u64, body: Value) -> u64 {
        self.play_with(key, id, "", body).await
    }

    async fn play_with(&mut self, key: &'static str, id: u64, query: &str, body: Value) -> u64 {
        let (method, path) = key.split_once(' ').unwrap();
        let path = format!("{}{query}", path.replace("{id}", &id.to_string()));
        let ask = self.world.request(method.parse().unwrap(), &path);
        let answer = if body.is_null() { ask } else { ask.json(&body) }.send().await;
        assert!(answer.status < 300, "{key}: {}", answer.text);
        let ids = ["/id", "/role/id", "/data/0/id"];
        let id = ids.iter().find_map(|pointer| answer.body.pointer(pointer)?.as_u64()).unwrap_or_default();
        self.answers.insert(key, (body, answer));
        id
    }

    /// A short story of hiring.
    async fn played() -> Self {
        let mut session = Self { world: World::new().await, answers: BTreeMap::new(), refusals: Vec::new() };
        let none = || Value::Null;
        let engineer = json!({
            "role": {
                "title": "Senior Rust Engineer",
                "department": "Engineering",
                "description": "You build the service that our customers hire with.",
                "location": "Berlin",
                "remote_policy": "hybrid",
                "salary_min": 95_000,
                "salary_max": 125_000,
            },
            "job_posting": { "requirements": "Five years of Rust, or of something like it." },
        });
        let role = session.play("POST /api/v1/quick_post", 0, engineer).await;
        let posting = session.answers["POST /api/v1/quick_post"].1.number("/job_posting/id");
        let analyst = json!({ "title": "Data Analyst", "department": "Finance", "location": "Remote", "remote_policy": "remote" });
        let draft = session.play("POST /api/v1/roles", 0, analyst).await;
        let texts = json!({ "role_id": draft, "job_posting": { "public_description": "Find out what the figures say." } });
        let draft_posting = session.play("POST /api/v1/job_postings", 0, texts).await;
        let requirements = json!({ "requirements": "SQL.", "public_description": null });
        session.play("PATCH /api/v1/job_postings/{id}", draft_posting, requirements).await;
        session.play("POST /api/v1/job_postings/{id}/publish", draft_posting, none()).await;
        session.play("POST /api/v1/job_postings/{id}/unpublish", draft_posting, none()).await;
        let salary = json!({ "salary_min": 60_000, "location": null });
        session.play("PATCH /api/v1/roles/{id}", draft, salary).await;
        for step in [
            "POST /api/v1/roles/{id}/publish",
            "POST /api/v1/roles/{id}/pause",
            "POST /api/v1/roles/{id}/resume",
        ] {
            session.play(step, draft, none()).await;
        }
        let grace = json!({ "name": "Grace Hopper", "email": "grace@example.com", "phone": "+1 415 555 2671", "role_id": role });
        let candidate = session.play("POST /api/v1/candidates", 0, grace).await;
        let resume = json!({ "resume_url": "https://example.com/grace.pdf" });
        session.play("PATCH /api/v1/candidates/{id}", candidate, resume).await;
        session
            .play("POST /api/v1/candidates/{id}/applications", candidate, json!({ "role_id": draft }))
            .await;
        let screen = json!({ "role_id": role, "scheduled_at": "2026-11-23T14:00:00Z" });
        let screen = session.play("POST /api/v1/candidates/{id}/invite_screen", candidate, screen).await;
        session.world.hands.set("2026-11-23T14:20:00Z");
        session.world.run_tasks().await;
        session
            .play("POST /api/v1/candidates/{id}/advance", candidate, json!({ "stage": "interview" }))
            .await;
        let rejection = json!({ "reason": "Salary", "notes": "Would come for more." });
        session.play("POST /api/v1/candidates/{id}/reject", candidate, rejection).await;
        session.play("POST /api/v1/candidates/{id}/unreject", candidate, none()).await;
        session
            .play("POST /api/v1/candidates/{id}/hire", candidate, json!({ "start_date": "2027-01-04" }))
            .await;
        let post = json!({ "job_posting_id": posting, "style": "casual" });
        session.play("POST /api/v1/channels/x/post", 0, post).await;
        session.world.hands.set("2026-11-24T09:30:00Z");
        for (key, id, query) in [
            ("GET /api/v1/roles", 0, "?limit=1"),
            ("GET /api/v1/roles/{id}", role, ""),
            ("GET /api/v1/roles/{id}/stats", role, ""),
            ("GET /api/v1/job_postings", 0, "?published=true"),
            ("GET /api/v1/job_postings/{id}", posting, ""),
            ("GET /api/v1/candidates", 0, "?stage=hired"),
            ("GET /api/v1/candidates/{id}", candidate, ""),
            ("GET /api/v1/voice_screens", 0, "?status=completed"),
            ("GET /api/v1/voice_screens/{id}", screen, ""),
            ("GET /api/v1/channels", 0, ""),
            ("GET /api/v1/channels/x/posts", 0, ""),
            ("GET /api/v1/organization", 0, ""),
        ] {
            session.play_with(key, id, query, none()).await;
        }
        session.play("DELETE /api/v1/roles/{id}", draft, none()).await;
        session.play("POST /api/v1/roles/{id}/reopen", draft, none()).await;
        let mut played = documents(&session.world).await;
        played.extend(callbacks(&session.world, screen).await);
        played.extend(applications(&session.world).await);
        for (key, request, answer) in played {
            if answer.status < 300 {
                session.answers.insert(key, (request, answer));
            } else {
                session.refusals.push((key, answer));
            }
        }
        session
    }

    fn document(&self) -> Value {
        let refusal = |answer: &Answer| Refused {
            status: answer.status,
            headers: answer.headers.keys().map(|name| name.as_str().to_owned()).collect(),
            body: answer.body.clone(),
        };
        let example = |key: &str, (request, answer): &(Value, Answer)| Example {
            request: request.clone(),
            response: if answer.body.is_null() { answer.text.as_str().into() } else { answer.body.clone() },
            location: answer.header("location").to_owned(),
            refusals: self
                .refusals
                .iter()
                .filter(|(of, _)| *of == key)
                .map(|(_, answer)| refusal(answer))
                .collect(),
        };
        document(&self.answers.iter().map(|(key, played)| (*key, example(key, played))).collect())
    }
}

/// What a row without a scope was sent and has answered.
type Played = Vec<(&'static str, Value, Answer)>;

async fn documents(world: &World) -> Played {
    let mut played = Vec::new();
    for (key, organization) in [
        ("GET /.well-known/oauth-authorization-server", ""),
        ("GET /.well-known/oauth-protected-resource", ""),
        ("GET /.well-known/oauth-protected-resource/api/v1", ""),
        ("GET /robots.txt", ""),
        ("GET /careers/{org}/jobs.json", "acme"),
        ("GET /careers/{org}/jobs.json", "nobody"),
        ("GET /careers/{org}/sitemap.xml", "acme"),
        ("GET /careers/{org}/sitemap.xml", "nobody"),
        (DOCUMENT, ""),
    ] {
        let path = key.trim_start_matches("GET ").replace("{org}", organization);
        played.push((key, Value::Null, world.request(Method::GET, &path).anonymous().send().await));
    }
    played
}

/// A voice provider that reports.
async fn callbacks(world: &World, screen: u64) -> Played {
    const KEY: &str = "POST /webhooks/voice/{provider}";
    let reference =
        Reference { tenant: tenant(ACME, Mode::Live), screen: screen.to_string().parse().unwrap() };
    let call = json!({ "id": "call-1", "customer": { "externalId": reference.to_string() } });
    let callback = json!({ "message": { "type": "status-update", "status": "in-progress", "call": call } });
    let secret = world.environment.providers.webhook_secret(VoiceProvider::Simulator).unwrap();
    let now = world.environment.clock.now().as_second();
    let mut played = Vec::new();
    for (provider, body, signed) in [
        ("simulator", callback.to_string(), callback.to_string()),
        ("simulator", "{}".to_owned(), "{}".to_owned()),
        ("simulator", callback.to_string(), "another".to_owned()),
        ("nobody", callback.to_string(), callback.to_string()),
        ("simulator", " ".repeat(3 * 1024 * 1024 + 1), " ".repeat(3 * 1024 * 1024 + 1)),
    ] {
        let ask = world.request(Method::POST, &format!("/webhooks/voice/{provider}")).anonymous();
        let ask = ask.header("x-timestamp", &now.to_string());
        let ask = ask.header("x-signature", &voice::sign(secret, now, signed.as_bytes()));
        played.push((KEY, callback.clone(), ask.body("application/json", body).send().await));
    }
    played
}

/// An application that registers itself, gets tokens and ends them.
async fn applications(world: &World) -> Played {
    const REGISTER: &str = "POST /oauth/registrations";
    let mut played = Vec::new();
    let metadata = json!({
        "client_name": "Assistant",
        "client_uri": "https://app.example",
        "redirect_uris": ["https://app.example/callback"],
        "token_endpoint_auth_method": "client_secret_post",
    });
    for (field, value) in [
        ("redirect_uris", metadata["redirect_uris"].clone()),
        ("redirect_uris", json!([])),
        ("token_endpoint_auth_method", json!("private_key_jwt")),
    ] {
        let mut metadata = metadata.clone();
        metadata[field] = value;
        played.push((REGISTER, metadata.clone(), registration(world, &metadata).send().await));
    }
    let often = || registration(world, &metadata).from("192.0.2.1").send();
    for _ in 0..100 {
        often().await.expect(201);
    }
    played.push((REGISTER, metadata.clone(), often().await));
    let (app, other) = (App::registered(world, &metadata).await, App::register(world, "none").await);
    let secret = app.secret.clone().unwrap();
    let browser = Browser::of(world, ACME, &owner(world, ACME).await).await;
    let code = app.code(&browser, &app.asking(), "live").await;
    let tokens = Tokens::of(&app.exchange(&code).await);
    let code = app.code(&browser, &app.asking(), "live").await;
    let known = |form: Form| form.and("client_id", &app.id).and("client_secret", &secret);
    let (exchanging, refreshing) = (App::exchanging(&code), App::refreshing(&tokens.refresh));
    let revoking = Form::new(&[("token", &tokens.access)]);
    for (key, form) in [
        ("POST /oauth/token", known(refreshing.clone().without("grant_type"))),
        ("POST /oauth/token", known(refreshing.clone()).set("client_secret", "guessed")),
        ("POST /oauth/token", known(exchanging.clone()).set("code", "guessed")),
        ("POST /oauth/token", known(refreshing.clone()).set("grant_type", "password")),
        ("POST /oauth/token", known(refreshing.and("scope", "everything"))),
        ("POST /oauth/token", known(exchanging.clone()).and("resource", "https://elsewhere.example")),
        ("POST /oauth/token", known(exchanging)),
        ("POST /oauth/revoke", known(revoking.clone().without("token"))),
        ("POST /oauth/revoke", known(revoking.clone()).set("client_secret", "guessed")),
        ("POST /oauth/revoke", revoking.clone().and("client_id", &other.id)),
        ("POST /oauth/revoke", known(revoking)),
    ] {
        let request: Value =
            form.names().into_iter().map(|name| (name.to_owned(), json!(form.get(name)))).collect();
        let ask = world.request(Method::POST, key.trim_start_matches("POST ")).anonymous();
        let ask = match form.get("client_secret") {
            "guessed" => {
                let form = form.without("client_id").without("client_secret");
                ask.header("authorization", &basic(&app.id, "guessed")).body(FORM, form.encoded())
            }
            _ => ask.body(FORM, form.encoded()),
        };
        played.push((key, request, ask.send().await));
    }
    played
}

fn snapshot() -> Value {
    read(SNAPSHOT)
}

fn read(file: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(project(file)).unwrap()).unwrap()
}

/// The document's operations by route key.
fn described(document: &Value) -> BTreeMap<String, &Value> {
    let mut described = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            described.insert(format!("{} {path}", method.to_uppercase()), operation);
        }
    }
    described
}

/// Where a reference leads, or what is there by itself.
fn resolved<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    match value["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => value,
    }
}

#[tokio::test]
async fn the_snapshot_is_current() {
    let session = Session::played().await;
    // The document that it was held against is what is about to be renewed.
    session.world.watch.settle();
    let document = serde_json::to_string_pretty(&session.document()).unwrap() + "\n";
    if std::env::var_os("RENEW_OPENAPI").is_some() {
        std::fs::write(project(SNAPSHOT), document).unwrap();
        return;
    }
    assert!(
        document == std::fs::read_to_string(project(SNAPSHOT)).unwrap(),
        "{SNAPSHOT} is out of date; RENEW_OPENAPI=1 cargo test --test api openapi::the_snapshot writes it anew"
    );
}

/// The version that a line of the changelog is the heading of: `## 1.4.0 - 2027-01-12`.
fn heading(line: &str) -> Option<&str> {
    let version = line.strip_prefix("## ")?.split_whitespace().next()?.trim_matches(['[', ']']);
    (version != "Unreleased").then_some(version)
}

/// The version that was released last; none before the first release.
fn newest(changelog: &str) -> Option<&str> {
    changelog.lines().find_map(heading)
}

fn version(document: &Value) -> Option<&str> {
    document["info"]["version"].as_str()
}

/// Whether a name is that of the place, or of several at once: `* response 413` is one of every operation.
fn names(name: &str, place: &str) -> bool {
    match name.split_once('*') {
        Some((start, end)) => {
            start.len() + end.len() > 0 && place.strip_prefix(start).is_some_and(|rest| rest.ends_with(end))
        }
        None => name == place,
    }
}

/// The places where clients break that the changelog does not name above the release that made the promises.
fn unnamed(released: &Value, today: &Value, changelog: &str) -> Vec<String> {
    let is_since = |line: &&str| heading(line).is_none() || heading(line) != version(released);
    let since: Vec<_> =
        changelog.lines().take_while(is_since).flat_map(|line| line.split('`').skip(1).step_by(2)).collect();
    let is_named = |place: &String| since.iter().any(|name| names(name, place));
    breaking(released, today).into_iter().filter(|place| !is_named(place)).collect()
}

/// What the newest release promises, or why it may not: promises are made once, and what breaks the last ones is named.
fn release(released: &Value, today: &Value, changelog: &str) -> Result<Value, String> {
    let unnamed = unnamed(released, today, changelog);
    let newest = newest(changelog);
    let mut promises = promises(today);
    if !unnamed.is_empty() {
        return Err(format!("CHANGELOG.md does not name {unnamed:#?}"));
    }
    match newest {
        // Nobody was promised anything yet.
        None => drop(promises.as_object_mut().unwrap().shift_remove("info")),
        Some(_) if newest == version(released) => return Err(format!("{newest:?} has made its promises")),
        Some(_) if newest != version(today) => {
            return Err(format!("{newest:?} is released, this is {:?}", version(today)));
        }
        Some(_) => {}
    }
    Ok(promises)
}

#[test]
fn what_breaks_clients_is_named_in_the_changelog() {
    let (today, changelog) = (snapshot(), std::fs::read_to_string(project("CHANGELOG.md")).unwrap());
    if std::env::var_os("RELEASE_OPENAPI").is_some() {
        let promises = release(&read(RELEASED), &today, &changelog).unwrap();
        std::fs::write(project(RELEASED), serde_json::to_string_pretty(&promises).unwrap() + "\n").unwrap();
    }
    let released = read(RELEASED);
    let unnamed = unnamed(&released, &today, &changelog);
    assert!(
        unnamed.is_empty(),
        "clients break at these places, which CHANGELOG.md does not name since the last release: {unnamed:#?}"
    );
    assert_eq!(
        version(&released),
        newest(&changelog),
        "{RELEASED} is of another version; RELEASE_OPENAPI=1 cargo test --test api openapi::what_breaks renews it"
    );
}

#[test]
fn a_release_makes_its_promises_once_and_names_what_they_break() {
    let document =
        |version: Option<&str>, paths: Value| json!({ "info": { "version": version }, "paths": paths });
    for (promised, today, changelog, outcome) in [
        (None, "1.0.0", "## Unreleased\n", Err("does not name")),
        (None, "1.0.0", "## Unreleased\n- `GET /roles` is gone.", Ok(None)),
        (None, "1.0.0", "## Unreleased\n- `GET *` is gone.", Ok(None)),
        (None, "1.0.0", "## Unreleased\n- `POST *`, `* /postings`, `*` are gone.", Err("does not name")),
        (None, "1.0.0", "## Unreleased\n## 1.0.0 - 2027-01-12\n- `GET /roles` is gone.", Ok(Some("1.0.0"))),
        (None, "1.0.0", "## [1.0.0]\n", Err("does not name")),
        (Some("1.0.0"), "1.0.0", "## Unreleased\n- `GET /roles`\n## 1.0.0\n", Err("has made its promises")),
        (Some("1.0.0"), "1.1.0", "## 1.1.0\n## 1.0.0\n- `GET /roles` is gone.", Err("does not name")),
        (Some("1.0.0"), "1.0.0", "## 1.1.0\n- `GET /roles`\n## 1.0.0\n", Err("this is Some(\"1.0.0\")")),
        (Some("1.0.0"), "1.1.0", "## 1.1.0\n- `GET /roles`\n## 1.0.0\n", Ok(Some("1.1.0"))),
    ] {
        let released = document(promised, json!({ "/roles": { "get": {} } }));
        let today = document(Some(today), json!({}));
        match (release(&released, &today, changelog), outcome) {
            (Ok(promises), Ok(expected)) => {
                assert_eq!(version(&promises), expected, "{changelog}");
                assert_eq!((version(&promises), &promises["paths"]), (newest(changelog), &json!({})));
            }
            (Err(reason), Err(expected)) => assert!(reason.contains(expected), "{changelog}: {reason}"),
            (found, _) => panic!("{changelog}: {found:?}"),
        }
    }
}

#[test]
fn every_row_of_every_route_table_is_an_operation_and_nothing_else_is() {
    let routes = tables().into_iter().flat_map(|tables| tables.routes);
    let rows: BTreeSet<_> = routes.map(|route| route.key.to_owned()).collect();
    let snapshot = snapshot();
    let described = described(&snapshot);
    assert_eq!(described.keys().cloned().collect::<BTreeSet<_>>(), rows);
    let ids: BTreeSet<_> =
        described.values().map(|operation| operation["operationId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), rows.len(), "every operation has an id of its own");
}

/// The [`tests::contract`] sees to what is asked and answered.
#[tokio::test]
async fn every_operation_is_answered_with_success() {
    let session = Session::played().await;
    let document = snapshot();
    let succeeded: BTreeSet<_> = session
        .answers
        .iter()
        .map(|(key, (_, answer))| ((*key).to_owned(), answer.status.to_string()))
        .collect();
    let promised = described(&document).into_iter().flat_map(|(key, operation)| {
        let statuses =
            operation["responses"].as_object().unwrap().keys().filter(|status| status.starts_with('2'));
        statuses.map(|status| (key.clone(), status.clone())).collect::<Vec<_>>()
    });
    assert_eq!(succeeded, promised.collect());
}

#[test]
fn every_example_is_valid() {
    let document = &CONTRACT.document;
    let mut checked = 0;
    let mut places = vec![(String::new(), document)];
    while let Some((place, part)) = places.pop() {
        let names = part.as_object().into_iter().flatten();
        let items = part.as_array().into_iter().flatten().enumerate();
        let named = names.map(|(name, part)| (name.replace('~', "~0").replace('/', "~1"), part));
        let below = named.chain(items.map(|(index, part)| (index.to_string(), part)));
        places.extend(below.map(|(name, part)| (format!("{place}/{name}"), part)));
        if part.get("schema").is_none() {
            continue;
        }
        let several = part["examples"].as_object().into_iter().flat_map(serde_json::Map::values);
        let examples: Vec<_> =
            several.map(|example| &resolved(document, example)["value"]).chain(part.get("example")).collect();
        let is_body = place.contains("/content/");
        assert!(!examples.is_empty() || !is_body || place.contains("openapi.json"), "{place} has no example");
        for example in examples {
            assert_eq!(CONTRACT.mismatches(&format!("{place}/schema"), example), [""; 0], "{place}");
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked} examples");
}

#[test]
fn every_code_of_the_rules_is_described() {
    let document = snapshot();
    let rules = std::fs::read_to_string(project("functions/README.md")).unwrap();
    let (_, table) = rules.split_once("| Status | `code` | When |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let ruled: BTreeSet<_> = table
        .lines()
        .filter_map(|row| row.split('|').nth(2))
        .flat_map(|codes| codes.split('`').skip(1).step_by(2))
        .collect();
    let codes = |schema: &str| -> BTreeSet<_> {
        let codes = &document["components"]["schemas"][schema]["properties"]["code"]["enum"];
        codes.as_array().unwrap().iter().filter_map(Value::as_str).collect()
    };
    assert!(codes("ApiError").is_disjoint(&codes("Invalid")), "the code tells them apart");
    assert_eq!(&codes("ApiError") | &codes("Invalid"), ruled);
    let responses = described(&document)
        .into_values()
        .flat_map(|operation| operation["responses"].as_object().unwrap().values());
    let answered: BTreeSet<_> = responses
        .map(|response| &resolved(&document, response)["content"]["application/json"]["schema"])
        // The second form is the gateway's.
        .map(|schema| schema.pointer("/anyOf/0").unwrap_or(schema))
        .flat_map(|schema| schema["properties"]["code"]["enum"].as_array().into_iter().flatten())
        .filter_map(Value::as_str)
        .collect();
    // That one is the answer to a method that has no operation.
    assert_eq!(answered, ruled.into_iter().filter(|code| *code != "method_not_allowed").collect());
}

#[tokio::test]
async fn the_document_and_its_page_are_served_to_anybody() {
    let world = World::new().await;
    let ask = |path: &str| world.request(Method::GET, path).anonymous();
    let answer = ask("/api/v1/openapi.json").send().await.expect(200);
    assert_eq!(answer.text, docs::DOCUMENT);
    assert_eq!(answer.header("content-type"), "application/json");
    let tag = answer.header("etag");
    for (known, status) in
        [(tag, 304), (&format!("\"x\", W/{tag}"), 304), ("*", 304), ("\"x\"", 200), ("", 200)]
    {
        let again = ask("/api/v1/openapi.json").header("if-none-match", known).send().await.expect(status);
        assert_eq!(again.text.is_empty(), status == 304);
        assert_eq!((again.header("etag"), again.header("cache-control")), (tag, "public, max-age=30"));
    }
    let page = ask("/docs").send().await.expect(200);
    assert!(page.header("content-security-policy").starts_with("sandbox allow-scripts; default-src 'none';"));
    let (files, elsewhere): (Vec<_>, Vec<_>) = page
        .text
        .split('"')
        .filter(|text| text.starts_with('/') || text.contains("://"))
        .partition(|address| address.starts_with('/'));
    assert_eq!(elsewhere, [""; 0]);
    assert!(files.len() >= 4);
    for file in files {
        let answer = ask(file).send().await.expect(200);
        assert!(answer.text.len() > 100, "{file}");
    }
}
