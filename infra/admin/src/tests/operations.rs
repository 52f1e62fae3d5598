//! The quarantine, tasks and connected applications, and the commands in documents for operators.

use std::collections::HashMap;
use std::sync::Mutex;

use ::tests::altered::{self, Answer};
use ::tests::browser::Browser;
use ::tests::fake::{FakeResponse, FakeServer, Request};
use ::tests::oauth::{OAuthApp, token_status};
use ::tests::{ACME, TestApi, project};
use aws_sdk_dynamodb::types::AttributeValue;
use clap::Parser;
use clap::error::ErrorKind;
use serde_json::json;
use shared::providers::Providers;
use shared::store::TaskPartition;

use super::TestAdmin;
use super::forms::kind;
use crate::Cli;

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// A role of an unknown status stays where it is, so that a newer release can read it. The operator moves it, corrects it
/// and moves it back.
#[tokio::test]
async fn a_damaged_role_is_mended() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let created = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201);
    let id = created.number("/id");
    let key = ("1#live#ROLE".to_owned(), format!("{id:016}"));
    let mut role = api.stored_items().await[&key].clone();
    role.insert("status".to_owned(), text("hibernating"));
    api.write_items([role.clone()]).await;
    let path = format!("/api/v1/roles/{id}");
    assert_eq!(api.get(&path).await.expect(500).string("/code"), "unreadable");
    assert_eq!(api.get("/api/v1/roles").await.expect(200).body["data"], json!([]));
    assert_eq!(admin.output("quarantine list").await, "The quarantine is empty.\n");
    assert_eq!(
        admin.error(&format!("quarantine restore {} {}", key.0, key.1)).await,
        "No item with this key is in quarantine."
    );
    let moved = admin.output(&format!("quarantine move {} {}", key.0, key.1)).await;
    assert_eq!(moved, format!("The item {} {} is moved to the quarantine.\n", key.0, key.1));
    api.get(&path).await.expect(404);
    let listed = admin.json("quarantine list").await;
    assert_eq!((&listed[0]["old_pk"], &listed[0]["old_sk"]), (&json!(key.0), &json!(key.1)));
    assert!(listed[0]["problem"].as_str().unwrap().contains("hibernating"), "{listed}");
    let shown = admin.json(&format!("quarantine show {} {}", key.0, key.1)).await;
    assert_eq!(shown["item"]["title"], "Cook");
    let restore = format!("quarantine restore {} {}", key.0, key.1);
    let refused = admin.error(&restore).await;
    assert!(refused.starts_with("The item still cannot be read: "), "{refused}");
    for wrong in ["--set status=open", "--set status"] {
        assert!(admin.run(&format!("{restore} {wrong}")).await.is_err(), "{wrong}");
    }
    admin.output(&format!("{restore} --set status=\"draft\" --remove nothing")).await;
    let mended = api.get(&path).await.expect(200);
    assert_eq!(mended.body, created.body);
    assert_eq!(admin.output("quarantine list").await, "The quarantine is empty.\n");
    assert_eq!(
        admin.error(&format!("quarantine move {} {}", key.0, key.1)).await,
        "Only an item that exists and cannot be read is moved to the quarantine."
    );
}

#[tokio::test]
async fn an_item_in_quarantine_is_deleted_only_with_yes() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let item = [("pk".to_owned(), text("1#live#NOTHING")), ("sk".to_owned(), text("1"))];
    api.write_items([item.into()]).await;
    admin.output("quarantine move 1#live#NOTHING 1").await;
    let asked = admin.output("quarantine drop 1#live#NOTHING 1").await;
    assert_eq!(asked, "The item 1#live#NOTHING 1 is in quarantine; add --yes to delete it for ever.\n");
    assert!(
        admin.error("quarantine restore 1#live#NOTHING 1").await.contains("no kind of items has such a key")
    );
    let item = [("pk".to_owned(), text("1#live#NOTHING")), ("sk".to_owned(), text("1"))];
    api.write_items([item.into()]).await;
    admin.output("quarantine drop 1#live#NOTHING 1 --yes").await;
    assert_eq!(admin.output("quarantine list").await, "The quarantine is empty.\n");
    assert_eq!(
        admin.error("quarantine drop 1#live#NOTHING 1 --yes").await,
        "No item with this key is in quarantine."
    );
}

#[tokio::test]
async fn tasks_are_listed_and_dropped() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    assert_eq!(admin.output("task list").await, "No tasks.\n");
    let key = admin.json("key list 1").await[0]["id"].clone();
    admin.output(&format!("key rotate 1 {key} --overlap-hours 2")).await;
    assert_eq!(admin.output("task list").await, "No tasks.\n", "it is due later");
    let listed = admin.json("task list --all").await;
    assert_eq!(
        listed,
        json!([{ "due": "2026-11-20T11:30:00.000Z", "organization_id": 1, "mode": "live", "kind": "key_end", "id": key }])
    );
    let discard = async |of: &str, yes: bool| {
        let words = ["task", "drop"].into_iter().chain(of.split(' ')).chain(yes.then_some("--yes"));
        admin.run_words(words.map(str::to_owned)).await
    };
    let asked = discard(&format!("1 key_end {key}"), false).await.unwrap();
    assert!(asked.ends_with("exists; add --yes to delete it.\n"), "{asked}");
    for wrong in [format!("1 call {key}"), "1 key_end 17".to_owned(), format!("2 key_end {key}")] {
        let error = discard(&wrong, true).await.unwrap_err();
        assert!(error.contains("has no such task"), "{wrong}: {error}");
    }
    discard(&format!("1 key_end {key}"), true).await.unwrap();
    assert_eq!(admin.output("task list --all").await, "No tasks.\n");
    assert_eq!(TaskPartition::all().count(), 256);
}

#[tokio::test]
async fn a_connected_application_is_disconnected() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let browser = Box::pin(Browser::signed_in(&api, ACME)).await;
    let app = OAuthApp::register(&api, "none").await;
    let tokens = Box::pin(app.connect(&browser)).await;
    assert_eq!(token_status(&api, &tokens.access).await, 200);
    let id = admin.json("app list 1").await[0]["id"].clone();
    assert_eq!(admin.json("app list 1 --mode test").await, json!([]));
    assert!(admin.error(&format!("app revoke 2 {id}")).await.contains("has no such application"));
    admin.output(&format!("app revoke 1 {id}")).await;
    assert_eq!(token_status(&api, &tokens.access).await, 401);
    assert_eq!(admin.json("app list 1").await[0]["revoked_at"], "2026-11-20T09:30:00.000Z");
    let stored = api.stored_items().await;
    for item in stored.values() {
        kind(item);
    }
}

#[tokio::test]
async fn a_restored_table_is_adopted() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let first = admin.json("table adopt").await;
    assert!(first["stream_arn"].as_str().unwrap().starts_with("arn:aws:dynamodb:"), "{first}");
    assert_eq!(first["recovery"], false, "the embedded database has none");
    assert_eq!(admin.json("table adopt").await, first, "it can be repeated");
    let text = admin.output("table adopt").await;
    assert!(text.contains("ExistingTableStreamArn=arn:aws:dynamodb:"), "{text}");
}

#[tokio::test]
async fn a_member_who_forgot_the_password_is_unlocked() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let member = admin.json("member list 1").await[0].clone();
    let (id, email) = (&member["id"], member["email"].as_str().unwrap());
    let browser = Browser::new(&api);
    for status in [401; 10].into_iter().chain([429]) {
        browser.submit_sign_in(email, "wrong").await.expect(status);
    }
    assert_eq!(
        admin.output(&format!("member unlock 1 {id}")).await,
        format!("{email} can try to sign in again.\n")
    );
    browser.submit_sign_in(email, "wrong").await.expect(401);
    assert!(admin.error("member unlock 1 17").await.contains("no such member"));
}

#[tokio::test]
async fn the_fleets_requests_are_listed_from_the_busiest_organization() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    for _ in 0..3 {
        api.get("/api/v1/roles").await.expect(200);
    }
    let fleet = admin.json("usage fleet --top 3").await;
    assert_eq!(fleet.as_array().unwrap().len(), 3);
    assert_eq!(fleet[0], json!({ "organization_id": 1, "mode": "live", "plan": "pro", "requests": 3 }));
    assert_eq!(fleet[1]["requests"], 0);
}

#[tokio::test]
async fn a_deployment_that_answers_wrongly_is_noticed() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let error = admin.error("smoke http://127.0.0.1:9").await;
    assert!(error.contains("/api/v1/roles: The service could not be reached"), "{error}");
    let url = api.environment.config.services.callback_url.clone().unwrap();
    let output = admin.output(&format!("smoke {url}")).await;
    assert_eq!(output.lines().count(), 16, "{output}");
    let wrong = admin.with_secret("ROLECALL_KEY", "wrong").error(&format!("smoke {url}")).await;
    assert_eq!(
        wrong,
        "The deployment does not answer as it should. GET /api/v1/organization: The status is 401, not 200. \
         \"What smoke finds\" in infra/README.md says what to do."
    );
    let section = std::fs::read_to_string(project("infra/README.md")).unwrap();
    assert!(section.contains("\n### What smoke finds\n"));
}

/// A change of each answer to a request.
type Change = fn(&Request, &mut Answer);

/// Such changes, and what `smoke` says of each.
const CHANGES: [(Change, &[&str]); 10] = [
    (
        |_, answer| {
            if let Some(value) = answer.headers_mut().remove("www-authenticate") {
                answer.headers_mut().insert("x-amzn-remapped-www-authenticate", value);
            }
        },
        &[
            "GET /api/v1/roles: The gateway sends WWW-Authenticate as x-amzn-remapped-www-authenticate.",
            "GET /api/v1/candidates: The gateway sends WWW-Authenticate as x-amzn-remapped-www-authenticate.",
            "POST /mcp: The gateway sends WWW-Authenticate as x-amzn-remapped-www-authenticate.",
        ],
    ),
    (
        |_, answer| drop(answer.headers_mut().remove("www-authenticate")),
        &["POST /mcp: The answer has no WWW-Authenticate."],
    ),
    (
        |_, answer| drop(answer.headers_mut().remove("etag")),
        &["GET /api/v1/openapi.json: The answer has no ETag."],
    ),
    (
        |_, answer| {
            if let Some(tag) = answer.headers().get("etag").cloned() {
                let weak = [&b"W/"[..], tag.as_bytes()].concat();
                answer.headers_mut().insert("etag", weak.try_into().unwrap());
            }
        },
        &["GET /api/v1/openapi.json: The gateway or the CDN has made the ETag weak."],
    ),
    (
        |_, answer| drop(answer.headers_mut().remove("set-cookie")),
        &["GET /dashboard/sign-in: The answer has no Set-Cookie."],
    ),
    (
        |_, answer| drop(answer.headers_mut().insert("set-cookie", "a=b".parse().unwrap())),
        &["GET /dashboard/sign-in: Set-Cookie has lost its attributes."],
    ),
    (
        |_, answer| drop(answer.headers_mut().remove("content-encoding")),
        &["GET /api/v1/openapi.json: The answer has no Content-Encoding."],
    ),
    (
        |_, answer| {
            if answer.headers().contains_key("content-encoding") {
                *answer.body_mut() = "{}".into();
            }
        },
        &["GET /api/v1/openapi.json: Content-Encoding is not that of the body."],
    ),
    (
        |request, answer| {
            if request.target.starts_with("/careers") {
                *answer.status_mut() = 429_u16.try_into().unwrap();
            }
        },
        &[
            "GET /careers/no-such-organization: The status is 429 without Retry-After, which is a limit of the gateway",
        ],
    ),
    (
        |_, answer| {
            if answer.status() == 404 {
                answer.headers_mut().insert("age", "3".parse().unwrap());
            }
        },
        &["GET /api/v1/no-such-route: The CDN keeps errors, and gives them to other callers."],
    ),
];

#[tokio::test]
async fn what_a_gateway_and_a_cdn_change_is_found() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    for (change, sentences) in CHANGES {
        let server = altered::serve(&api, change).await;
        let error = admin.error(&format!("smoke {}", server.url)).await;
        for sentence in sentences {
            assert!(error.contains(sentence), "{sentence} is not in {error}");
        }
    }
}

#[tokio::test]
async fn an_error_that_a_cdn_keeps_is_found() {
    let api = TestApi::new().await;
    let kept = Mutex::new(HashMap::<String, Answer>::new());
    let server = altered::serve(&api, move |request, answer| {
        if answer.status() == 404 {
            let mut kept = kept.lock().unwrap();
            *answer = kept.entry(request.target.clone()).or_insert_with(|| answer.clone()).clone();
        }
    });
    let error = TestAdmin::of(&api).error(&format!("smoke {}", server.await.url)).await;
    assert_eq!(
        error,
        "The deployment does not answer as it should. GET /api/v1/no-such-route: The CDN keeps errors, and gives them to \
         other callers. \"What smoke finds\" in infra/README.md says what to do."
    );
}

/// Clients hardly use the length in response to HEAD, so another one is no fault.
#[tokio::test]
async fn another_length_is_only_a_remark() {
    let api = TestApi::new().await;
    let server = altered::serve(&api, |request, answer| {
        if request.method == "HEAD" {
            answer.headers_mut().insert("content-length", "0".parse().unwrap());
        }
    });
    let output = TestAdmin::of(&api).output(&format!("smoke {}", server.await.url)).await;
    let line = output.lines().find(|line| line.starts_with("HEAD /docs ")).unwrap();
    assert!(line.ends_with(" the gateway makes Content-Length 0"), "{output}");
}

#[tokio::test]
async fn smoke_shows_how_the_bucket_encrypts_a_file() {
    let api = TestApi::new().await;
    let url = api.environment.config.services.callback_url.clone().unwrap();
    let key = "arn:aws:kms:us-east-1:123456789012:key/7";
    for (algorithm, problem) in [
        (Some("aws:kms"), None),
        (Some("AES256"), Some("The bucket encrypts files with AES256, not with the customer-managed key.")),
        (None, Some("The bucket encrypts files with nothing, not with the customer-managed key.")),
    ] {
        let bucket = FakeServer::start(move |request| {
            let named = algorithm.map(|algorithm| {
                let key = ("x-amz-server-side-encryption-aws-kms-key-id", key);
                [("x-amz-server-side-encryption", algorithm), key]
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
            });
            match request.method.as_str() {
                "PUT" => FakeResponse::Full(200, named.into_iter().flatten().collect(), String::new()),
                _ => FakeResponse::Full(204, Vec::new(), String::new()),
            }
        });
        let bucket = bucket.await;
        let mut config = api.environment.config.clone();
        config.services.resumes.as_mut().unwrap().endpoint = Some(bucket.url.clone());
        let admin = TestAdmin { bucket: Providers::new(&config).resumes().cloned(), ..TestAdmin::of(&api) };
        let command = format!("smoke {url}");
        match problem {
            None => assert!(admin.output(&command).await.ends_with(&format!(" encrypted with {key}\n"))),
            Some(problem) => {
                let error = admin.error(&command).await;
                assert!(error.contains(&format!("PUT incoming/smoke to the bucket: {problem}")), "{error}");
            }
        }
        let requests: Vec<_> = bucket.requests().into_iter().map(|sent| (sent.method, sent.target)).collect();
        let file = "/local-resumes/incoming/smoke".to_owned();
        assert_eq!(requests, [("PUT".to_owned(), file.clone()), ("DELETE".to_owned(), file)]);
    }
}

/// The words of a command, as a shell splits them.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.chars().chain([' ']) {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c.is_whitespace() => {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
            }
            _ => word.push(c),
        }
    }
    words
}

/// The documents for operators contain commands that the tool accepts.
#[test]
fn the_commands_of_the_runbook_are_valid() {
    let mut parsed = 0;
    for path in ["infra/README.md", "infra/runbook.md"] {
        let text = std::fs::read_to_string(project(path)).unwrap().replace("\\\n", " ");
        for line in text.lines().filter_map(|line| line.strip_prefix("cargo run --bin rolecall-admin -- ")) {
            let line = line.split([';', '>', '|']).next().unwrap();
            // The documents set environment variables before.
            let line = line
                .replace("member create", "member create --base-url $BASE_URL")
                .replace("organization export", "organization export --base-url $BASE_URL")
                .replace("$BASE_URL", "https://api.example.com")
                .replace("$EMAIL", "ada@example.com");
            let id = |word: String| match word.split_once('$') {
                Some((before, _)) => format!("{before}1700000000000011"),
                None => word,
            };
            let words = std::iter::once("rolecall-admin".to_owned()).chain(words(&line).into_iter().map(id));
            match Cli::try_parse_from(words) {
                Ok(_) => {}
                Err(error) => assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{path}: {line}: {error}"),
            }
            parsed += 1;
        }
    }
    assert!(parsed >= 40, "{parsed}");
}

/// What the command reads is tested where it is read. Here: what it writes, and that no file is lost.
#[tokio::test]
async fn a_file_of_people_is_converted() {
    let admin = TestAdmin::of(&TestApi::new().await);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let people =
        "Full name;E-mail;Telefon;Shoe size\nAnna Weber;anna@x.example;15112345678;39\nBen;nobody;;\n\n";
    std::fs::write(path("people.csv"), people).unwrap();
    let mapping = json!({ "columns": [{ "header": "Telefon", "field": "phone" }] });
    std::fs::write(path("columns.json"), mapping.to_string()).unwrap();
    let command = format!(
        "convert {} --output {} --country DE --mapping {}",
        path("people.csv"),
        path("people.ndjson"),
        path("columns.json")
    );
    let printed = admin.output(&command).await;
    let expected = "\
ROW  LINE  VERDICT  MESSAGES
1    2     warning  phone has no plus: 15112345678 was read as +4915112345678
2    3     invalid  email must be an e-mail address, such as jane@example.com

Columns that were left out: \"Shoe size\"
1 rows written (1 with warnings), 1 invalid, 0 skipped
";
    assert_eq!(printed, expected);
    let written = std::fs::read_to_string(path("people.ndjson")).unwrap();
    let row = json!({ "name": "Anna Weber", "email": "anna@x.example", "phone": "+4915112345678" });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), row);
    // A ZIP of resumes finds its people, and what it lacks is said.
    std::fs::copy(project("shared/import_files/files/resumes-bsdtar.zip"), path("resumes.zip")).unwrap();
    let list = "Name;E-mail;Resume\nAiko;aiko@x.example;sato.pdf\nMaya;maya.fernandez@mail.example;CV.pdf\n";
    std::fs::write(path("list.csv"), list).unwrap();
    let command_with_files = format!(
        "convert {} --output {} --files {}",
        path("list.csv"),
        path("list.ndjson"),
        path("resumes.zip")
    );
    let printed = admin.output(&command_with_files).await;
    assert!(
        printed.contains("2    3     warning  files[0].name is the name of no file in the ZIP file\n"),
        "{printed}"
    );
    assert!(printed.contains("\n2 of 9 files have a row\nFiles without a row: "), "{printed}");
    // The rows are a file that can be read, too.
    let again =
        admin.json(&format!("convert {} --output {}", path("people.ndjson"), path("again.ndjson"))).await;
    assert_eq!(again["written"], 1);
    assert_eq!(std::fs::read_to_string(path("again.ndjson")).unwrap(), written);
    assert!(admin.error(&command).await.contains("exists"));
    assert_eq!(std::fs::read_to_string(path("people.ndjson")).unwrap(), written);
    let unknown = admin.error(&format!("convert {} --output {}", path("nobody"), path("x"))).await;
    assert!(unknown.starts_with("Say with --format what "), "{unknown}");
    assert!(unknown.contains("csv, xlsx, ndjson, harvest, merge"), "{unknown}");
    let missing = admin.error(&format!("convert {} --output {}", path("nobody.csv"), path("x"))).await;
    assert!(missing.contains("nobody.csv"), "{missing}");
}

#[tokio::test]
async fn people_of_another_system_are_converted() {
    let admin = TestAdmin::of(&TestApi::new().await);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::create_dir(path("greenhouse")).unwrap();
    let candidates = json!([{ "id": 1, "first_name": "Anna", "last_name": "Weber" }, { "id": 2 }]);
    std::fs::write(path("greenhouse/candidates.json"), candidates.to_string()).unwrap();
    let applications = json!([{ "id": 3, "candidate_id": 1, "job_id": 7, "stage_name": "Offer" }]);
    std::fs::write(path("greenhouse/applications.json"), applications.to_string()).unwrap();
    std::fs::write(path("greenhouse/jobs.json"), json!([{ "id": 7, "name": "Driver" }]).to_string()).unwrap();
    let command =
        |format: &str| format!("convert {} --output {}{format}", path("greenhouse"), path("people.ndjson"));
    let printed = admin.output(&command(" --format harvest")).await;
    let expected = "\
ROW  LINE  VERDICT  MESSAGES
2    1     invalid  name can't be blank

Lists that are missing: `notes`, `attachments`, `users`, `sources`, `rejection_reasons`, `application_stages`, `job_interview_stages`.
1 rows written (0 with warnings), 1 invalid, 0 skipped
";
    assert_eq!(printed, expected);
    let written = std::fs::read_to_string(path("people.ndjson")).unwrap();
    let application =
        json!({ "external_id": "3", "role": { "title": "Driver" }, "stage": "offer", "status": "active" });
    let row = json!({ "external_id": "1", "name": "Anna Weber", "applications": [application] });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), row);
    assert!(admin.error(&command("")).await.starts_with("Say with --format what "));
    std::fs::write(path("merge.json"), json!({ "results": candidates }).to_string()).unwrap();
    let merge = format!("convert {} --format merge --output {}", path("merge.json"), path("merge.ndjson"));
    assert_eq!(admin.json(&merge).await["written"], 1);
}
