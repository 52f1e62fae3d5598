//! Imports whose files in the bucket are gone: somebody has deleted them, or they have expired.

use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use shared::providers::bucket::Bucket;
use shared::store::MaybeErased;
use tests::{ACME, TestApi, tenant};

use crate::importing::{CANDIDATES, IMPORTS, begin_with, counts_of, large, settle, show, step};

/// Deletes the stored files of all imports whose keys end like this. Returns whether there were any.
async fn lose(api: &TestApi, end: &str) -> bool {
    let (bucket, now) = (bucket(api), api.environment.clock.now());
    let keys = bucket.list("imports/", None, now).await.unwrap();
    let lost: Vec<_> = keys.iter().filter(|key| key.ends_with(end)).collect();
    for key in &lost {
        bucket.delete(key, now).await.unwrap();
    }
    !lost.is_empty()
}

fn bucket(api: &TestApi) -> &Bucket {
    api.environment.providers.resumes().unwrap()
}

/// Whether the first row of the import has made a person, who is not half: found, with all claims ended.
async fn has_whole_person(api: &TestApi, import: u64) -> bool {
    let (store, tenant) = (api.store(), tenant(ACME, Mode::Live));
    let made = store.find_imported_row(tenant, shared::id::Id::new(import).unwrap(), 1).await.unwrap();
    let Some(made) = made else { return false };
    assert!(made.is_done);
    let found = store.find_any_candidate(tenant, made.candidate_id).await.unwrap();
    let record = found.and_then(MaybeErased::present).unwrap();
    assert!(record.is_shown());
    true
}

#[tokio::test]
async fn an_import_whose_rows_are_gone_before_the_run_has_failed() {
    let api = TestApi::new().await;
    let rows: Vec<_> = (0..101).map(|number| json!({ "name": format!("Person {number}") })).collect();
    let content: Vec<_> = rows.iter().map(Value::to_string).collect();
    for end in ["/rows/1", "/file"] {
        let waiting = api.post(IMPORTS, json!({ "format": "ndjson" })).await.expect(201);
        crate::importing::upload(&waiting, content.join("\n").as_bytes()).await;
        let import = waiting.number("/id");
        step(&api, import, "complete").await.expect(202);
        if end == "/rows/1" {
            // The first turn reads the file.
            api.run_tasks().await;
        }
        assert!(lose(&api, end).await);
        let failed = settle(&api, import).await;
        assert_eq!(failed.string("/status"), "failed");
        let reason = if end == "/file" {
            "The file is gone."
        } else {
            "What was stored of its rows is gone. Import the file again."
        };
        assert_eq!(failed.string("/reason"), reason);
        let undo = step(&api, import, "undo").await.expect(422);
        assert_eq!(undo.string("/code"), "invalid_transition");
    }
    // They count as unfinished no longer.
    for _ in 0..3 {
        begin_with(&api, &rows[..1]).await;
    }
}

/// Whatever a killed run has begun is ended, and can be undone.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_import_whose_files_are_gone_during_the_run_leaves_nobody_half() {
    let api = TestApi::new().await;
    let (mut begun, mut number) = (0, 0);
    for end in ["/rows/0", "/verdicts/0"] {
        for is_cancelled in [false, true] {
            for calls in (0..).step_by(3) {
                let [row, _] = large(number, 2, 61);
                number += 1;
                let import = begin_with(&api, std::slice::from_ref(&row)).await;
                settle(&api, import).await;
                step(&api, import, "run").await.expect(202);
                let is_whole = api.run_tasks_with(calls).await;
                api.let_leases_end();
                if is_whole || show(&api, import).await.string("/status") == "done" {
                    break;
                }
                if is_cancelled {
                    step(&api, import, "cancel").await.expect(202);
                }
                assert!(lose(&api, end).await);
                let failed = settle(&api, import).await;
                api.run_tasks().await;
                assert_eq!(failed.string("/status"), if is_cancelled { "cancelled" } else { "failed" });
                if !is_cancelled {
                    let reason = failed.string("/reason");
                    assert!(
                        reason.starts_with("What was stored of its rows is gone, so the rest was not"),
                        "{reason}"
                    );
                }
                let has_person = has_whole_person(&api, import).await;
                begun += usize::from(has_person);
                let email = row["email"].as_str().unwrap();
                let found = api.get(&format!("{CANDIDATES}?email={email}")).await.expect(200);
                assert_eq!(found.body["data"] != json!([]), has_person, "{calls}");
                if has_person {
                    assert!(counts_of(&api, email).await[2] >= 1, "{calls}");
                }
                step(&api, import, "undo").await.expect(202);
                let undone = settle(&api, import).await;
                assert_eq!(undone.string("/status"), "undone", "{calls}");
                assert_eq!(undone.number("/counts/undone"), u64::from(has_person), "{calls}");
                let found = api.get(&format!("{CANDIDATES}?email={email}")).await.expect(200);
                assert_eq!(found.body["data"], json!([]), "{calls}");
            }
        }
    }
    assert!(begun > 4, "{begun} of {number}");
}

#[tokio::test]
async fn an_undo_goes_on_without_the_verdicts() {
    let api = TestApi::new().await;
    let row = |name: &str| json!({ "name": name, "email": format!("{name}@lost.example") });
    let import = begin_with(&api, &[row("ann"), row("ben")]).await;
    crate::importing::run(&api, import).await;
    let ben = crate::importing::by_email(&api, "ben@lost.example").await.number("/id");
    api.post(&format!("{CANDIDATES}/{ben}/notes"), json!({ "text": "Called" })).await.expect(201);
    assert!(lose(&api, "/verdicts/0").await);
    step(&api, import, "undo").await.expect(202);
    let undone = settle(&api, import).await;
    assert_eq!(undone.string("/status"), "undone");
    let counts = &undone.body["counts"];
    assert_eq!([&counts["create"], &counts["undone"], &counts["kept"]], [2, 1, 1]);
    let gone = api.request(Method::GET, &format!("{IMPORTS}/{import}/rows")).send().await.expect(410);
    assert_eq!(gone.string("/code"), "expired");
}
