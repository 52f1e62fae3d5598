//! The export of everything that is stored about a candidate.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{Mode, Speaker, Turn};
use shared::store::{KINDS, Owner, Transaction};
use tests::{ACME, TestApi, tenant};

use crate::careers_applications::{Job, form};
use crate::careers_resumes::{PDF, attach};

/// The attributes that contain no data about the person: keys, and the addresses of this service.
const INTERNAL: [&str; 6] = ["pk", "sk", "filter", "status_filter", "base_url", "origin"];

/// Collects every string of a stored value.
fn stored_strings(value: &AttributeValue, found: &mut Vec<String>) {
    match value {
        AttributeValue::S(text) => found.push(text.clone()),
        AttributeValue::L(values) => values.iter().for_each(|value| stored_strings(value, found)),
        AttributeValue::M(values) => values.values().for_each(|value| stored_strings(value, found)),
        AttributeValue::B(json) => strings(&serde_json::from_slice(json.as_ref()).unwrap(), found),
        _ => {}
    }
}

/// Collects every string of a JSON value.
fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| strings(value, found)),
        Value::Object(values) => values.values().for_each(|value| strings(value, found)),
        _ => {}
    }
}

/// A candidate who applied on the career page with a file, was screened and was rejected with notes. Returns the
/// candidate and the voice screen.
async fn screened_applicant(api: &TestApi) -> (u64, u64) {
    let job = Job::new(api, "Analyst").await;
    let applied =
        job.apply(api, &form("Ada Lovelace", "ada@example.com").set("note", "Call me early.")).await;
    attach(api, &applied.expect(303), PDF).await.expect(303);
    let candidate = api.get("/api/v1/candidates").await.number("/data/0/id");
    let path = format!("/api/v1/candidates/{candidate}");
    api.patch(&path, json!({ "phone": "+4915112345678" })).await.expect(200);
    let cook = Job::new(api, "Cook").await;
    let questions = json!({ "questions": [{ "label": "Why a kitchen?", "kind": "long_text" }] });
    let asked = api.patch(&format!("/api/v1/job_postings/{}", cook.posting), questions).await.expect(200);
    let other = cook.role;
    let answers = json!([{ "question_id": asked.number("/questions/0/id"), "value": "I like fire." }]);
    let applied = json!({ "role_id": other, "source": "A friend", "answers": answers });
    api.post(&format!("{path}/applications"), applied).await.expect(201);
    let invite = api.post(&format!("{path}/invite_screen"), json!({ "role_id": job.role })).await.expect(201);
    api.run_tasks().await;
    for (granted, obtained_at) in [(true, "2026-11-19T09:00:00.000Z"), (false, "2026-11-18T09:00:00.000Z")] {
        let wording = format!("Recording: {granted}.");
        let consent = json!({ "purpose": "recording", "granted": granted, "obtained_at": obtained_at, "wording": wording });
        api.post(&format!("{path}/consents"), consent).await.expect(201);
    }
    let rejection = json!({ "role_id": other, "reason": "Too far away" });
    api.post(&format!("{path}/reject"), rejection).await.expect(200);
    let rejection = json!({ "reason": "Salary", "notes": "Would come for more." });
    api.post(&format!("{path}/reject"), rejection).await.expect(200);
    api.post(&format!("{path}/notes"), json!({ "text": "Knows the team." })).await.expect(201);
    (candidate, invite.number("/id"))
}

#[tokio::test]
async fn an_export_contains_everything_that_is_stored_about_the_person() {
    let api = TestApi::new().await;
    let (candidate, screen) = screened_applicant(&api).await;
    api.dynamodb.take_calls();
    let export = api.get(&format!("/api/v1/candidates/{candidate}/export")).await.expect(200);
    let mut operations: Vec<_> = api.dynamodb.take_calls().into_iter().map(|call| call.operation).collect();
    operations.sort_unstable();
    let of_candidates = KINDS.iter().filter(|kind| kind.owner == Owner::Candidate && kind.name != "trace");
    let partitions: BTreeSet<_> = of_candidates.map(|kind| kind.pk).collect();
    let mut expected = vec!["UpdateItem", "Query", "PutItem"];
    expected.extend(vec!["Query"; partitions.len() - 1]);
    expected.extend(["BatchGetItem", "Query", "Query", "BatchGetItem", "Query"]);
    expected.sort_unstable();
    assert_eq!(
        operations, expected,
        "the gate, the candidate, the entry in the audit log, the candidate's other partitions, the screens beside the suspect forms and the changes of roles, the transcripts, and whether the candidate was erased"
    );
    let mut exported = Vec::new();
    strings(&export.body, &mut exported);

    let (of_candidate, of_screen) = (format!("#{candidate:016}"), format!("#SCREEN#{screen:016}"));
    let mut kinds = Vec::new();
    for ((pk, sk), item) in api.stored_items().await {
        if !pk.ends_with(&of_candidate) && !pk.ends_with(&of_screen) {
            continue;
        }
        // A trace contains only the keys of other items and of a file, which expire.
        if pk.contains("#CANDIDATE_TRACE#") {
            continue;
        }
        let kind = if pk.contains("#CANDIDATE_NOTE#") { "NOTE" } else { sk.split('#').next().unwrap() };
        kinds.push(kind.to_owned());
        let mut stored = Vec::new();
        for (name, value) in &item {
            if !INTERNAL.contains(&name.as_str()) {
                stored_strings(value, &mut stored);
            }
        }
        for text in stored {
            assert!(exported.iter().any(|value| value.contains(&text)), "{pk} {sk}: {text} is not exported");
        }
    }
    kinds.sort_unstable();
    kinds.dedup();
    let all = [
        "ANSWERS",
        "CONSENT",
        "FILE",
        "FORM",
        "HISTORY",
        "NOTE",
        "SCREEN",
        "TRANSCRIPT",
        "~APPLICATION",
        "~FILE",
    ];
    assert_eq!(kinds, all);

    assert_eq!(export.string("/touchpoints/1/detail/notes"), "Would come for more.");
    let screen = api.get(&format!("/api/v1/voice_screens/{screen}")).await.expect(200);
    assert_eq!(export.body["voice_screens"][0]["transcript"], screen.body["transcript"]);
    assert_eq!(export.body["voice_screens"][0]["transcript_path"], Value::Null);
    assert_eq!(export.string("/voice_screens/0/provider"), "simulator");
    assert_eq!(export.string("/files/0/name"), "Ada Lovelace resume.pdf");
    assert_eq!(export.string("/files/0/url"), export.string("/resume_url"));
    let detail = api.get(&format!("/api/v1/candidates/{candidate}")).await.expect(200);
    for (name, value) in detail.body.as_object().unwrap() {
        if !["voice_screens", "consents", "applications"].contains(&name.as_str()) {
            assert_eq!(&export.body[name], value, "{name} is the same as in the candidate's detail");
        }
    }
    let mut applications = export.body["applications"].clone();
    let answers = applications.as_array_mut().unwrap().iter_mut();
    let answers: Vec<_> =
        answers.map(|one| one.as_object_mut().unwrap().remove("answers").unwrap()).collect();
    assert_eq!(applications, detail.body["applications"]);
    assert_eq!((&answers[0][0]["value"], &answers[1]), (&json!("I like fire."), &json!([])));
    let consents = [&export.body["consents"], &detail.body["consents"]].map(|list| {
        list.as_array().unwrap().iter().map(|one| one["wording"].as_str().unwrap()).collect::<Vec<_>>()
    });
    let application = "I agree that my data is stored and used to consider my application.";
    assert_eq!(
        consents[0],
        ["Recording: false.", "Recording: true.", application],
        "every record, newest first"
    );
    assert_eq!(consents[1], [application, "Recording: true."], "only what counts");
}

#[tokio::test]
async fn an_export_above_5_mb_has_the_paths_of_the_transcripts() {
    let api = TestApi::new().await;
    let (candidate, screen) = screened_applicant(&api).await;
    let path = format!("/api/v1/candidates/{candidate}");
    let role =
        api.post("/api/v1/quick_post", json!({ "role": { "title": "Cook" } })).await.number("/role/id");
    api.post(&format!("{path}/applications"), json!({ "role_id": role })).await.expect(201);
    let second = api.post(&format!("{path}/invite_screen"), json!({ "role_id": role })).await.expect(201);
    let screens = [screen, second.number("/id")];
    let tenant = tenant(ACME, Mode::Live);
    for (turns, is_omitted) in [(2, false), (3, true), (6, true)] {
        for screen in screens {
            // Quotation marks take two bytes in JSON, and four in the function's response.
            let turn = Turn { speaker: Speaker::Candidate, text: "\"".repeat(250_000), at_seconds: 1 };
            let transcript = vec![turn; turns];
            let before = api.store().find_screen(tenant, Id::new(screen).unwrap()).await.unwrap().unwrap();
            let mut after = before.clone();
            let mut transaction = Transaction::new(tenant);
            after.transcript_parts = transaction.put_transcript(before.screen.id, &transcript).unwrap();
            after.version += 1;
            transaction.replace_screen(&before, &after).unwrap();
            api.store().commit(transaction).await.unwrap();
        }
        let export = api.get(&format!("{path}/export")).await.expect(200);
        assert!(export.text.len() < 5_000_000);
        for (index, screen) in screens.into_iter().rev().enumerate() {
            let shown = &export.body["voice_screens"][index];
            assert_eq!(shown["id"], screen);
            let expected = is_omitted.then(|| format!("/api/v1/voice_screens/{screen}"));
            assert_eq!(shown["transcript_path"], json!(expected));
            assert_eq!(shown["transcript"].is_null(), is_omitted);
            if let Some(path) = expected {
                let screen = api.get(&path).await.expect(200);
                assert_eq!(screen.body["transcript"].as_array().map(Vec::len), Some(turns));
            }
        }
    }
}
