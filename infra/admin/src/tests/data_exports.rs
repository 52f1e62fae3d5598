//! Exports of an organization's data. What is in the files is tested with the API.

use std::time::Duration;

use ::tests::TestApi;
use serde_json::json;

use super::TestAdmin;

/// Runs a command while the service's tasks work. Its waits are over at once.
async fn with_tasks<T>(api: &TestApi, command: impl Future<Output = T>) -> T {
    let tasks = async {
        loop {
            Box::pin(api.run_tasks()).await;
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(2)).await;
            tokio::time::resume();
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        result = command => result,
        () = tasks => unreachable!("the tasks never end"),
    }
}

#[tokio::test]
async fn an_organizations_data_is_exported() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let role = api.post("/api/v1/roles", json!({ "title": "Baker" })).await.expect(201).number("/id");
    let command = "export 1 --format ndjson --base-url https://jobs.example";
    let begun = admin.output(command).await;
    let id = api.get("/api/v1/exports").await.expect(200).number("/data/0/id");
    assert!(begun.starts_with(&format!("The export {id} is being written.")), "{begun}");
    let done = Box::pin(with_tasks(&api, admin.json(&format!("{command} --wait")))).await;
    assert_eq!((&done["status"], &done["position"]), (&json!("done"), &json!("0")));
    assert_eq!(done["files"].as_array().unwrap().len(), 7);
    let command = format!("{command} --kind roles --role {role} --wait");
    let printed = Box::pin(with_tasks(&api, admin.output(&command))).await;
    assert!(printed.starts_with("KIND   ROWS  BYTES  LINK\nroles  1     "), "{printed}");
    let log = api.get("/api/v1/audit_log?actor=operator").await.expect(200);
    assert_eq!(log.string("/data/0/action"), "export.created");
}

#[tokio::test]
async fn an_export_that_cannot_begin_says_why() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let options = "--format csv --base-url https://jobs.example";
    let without_bucket = TestAdmin { bucket: None, ..TestAdmin::of(&api) };
    assert!(without_bucket.error(&format!("export 1 {options}")).await.contains("--bucket"));
    assert!(
        admin.error(&format!("export 17 {options}")).await.starts_with("The organization does not exist")
    );
    assert!(admin.error(&format!("export 1 {options} --role 17")).await.contains("--role"));
    assert!(admin.run(&format!("export 1 {options} --kind people")).await.is_err());
    for _ in 0..3 {
        admin.output(&format!("export 1 {options}")).await;
    }
    let refused = admin.error(&format!("export 1 {options}")).await;
    assert_eq!(refused, "Others run: 3 exports are being written. Wait until one is done.");
}
