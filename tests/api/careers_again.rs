//! People who apply again: what is stored, what it offers, and who decides about it.

use futures_util::future::{join, join_all};
use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use tests::assistant::Assistant;
use tests::browser::Browser;
use tests::dashboard::{actions, escaped, owner};
use tests::{ACME, GLOBEX, Response, TestApi};

use crate::careers_applications::{APPLICATION, Job, find, form, kinds, list, submission};
use crate::careers_resumes::{PDF, attach, download};
use crate::dashboard_pages::text_of;

const EMAIL: &str = "ada@example.com";

async fn dashboard(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

/// Returns the detail of a candidate's newest application.
async fn application(api: &TestApi, candidate: &Response) -> Response {
    api.get(&format!("/api/v1/applications/{}", candidate.number("/applications/0/id"))).await.expect(200)
}

/// Returns the types of the events after a position.
async fn events_after(api: &TestApi, position: &str) -> Vec<Value> {
    api.run_feed().await;
    let listed = api.get(&format!("/api/v1/events?after={position}")).await.expect(200);
    listed.body["data"].as_array().unwrap().clone()
}

/// A person applies with a file, and is rejected.
async fn rejected(api: &TestApi, job: &Job) -> Response {
    let applied = job.apply(api, &form("Ada Lovelace", EMAIL)).await.expect(303);
    attach(api, &applied, PDF).await.expect(303);
    let candidate = find(api, EMAIL).await;
    api.post(&format!("/api/v1/candidates/{}/reject", candidate.number("/id")), json!({})).await.expect(200);
    find(api, EMAIL).await
}

/// Applies again with another phone number, all consents, a note and another file.
async fn apply_again(api: &TestApi, job: &Job) -> Response {
    let again = form("Ada L.", "ADA@example.com")
        .set("phone", "+1 415 555 0132")
        .set("note", "I have learnt Rust.")
        .and("consent_voice_screen", "yes")
        .and("consent_recording", "yes");
    let applied = job.apply(api, &again).await.expect(303);
    attach(api, &applied, b"Another resume").await.expect(303)
}

/// Sends the form about an offer that the candidate's page shows.
async fn decide(browser: &Browser<'_>, page: &Response, action: &str) -> Response {
    let path = actions(page).into_iter().find(|action| action.contains("/offer")).unwrap();
    let form = page.text.split("/offer").nth(1).unwrap();
    let field = |name: &str| {
        let rest = form.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap();
        rest.split('"').next().unwrap().replace("&#34;", "\"")
    };
    let (application, seen) = (field("application_id"), field("seen"));
    browser.post(&path, &[("action", action), ("application_id", &application), ("seen", &seen)]).await
}

#[tokio::test]
async fn a_rejected_person_who_applies_again_is_shown_and_a_member_takes_over_the_details() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let before = rejected(&api, &job).await;
    let id = before.number("/id");
    api.run_feed().await;
    let position = api.get("/api/v1/events?after=latest").await.expect(200).string("/position").to_owned();
    api.clock.set("2026-11-21T09:30:00Z");
    apply_again(&api, &job).await;

    // Neither the profile nor the consents nor the application's resume change.
    let after = find(&api, EMAIL).await;
    for field in ["name", "email", "phone", "stage", "consents"] {
        assert_eq!(after.body[field], before.body[field], "{field}");
    }
    assert_eq!(download(after.string("/resume_url")).await.expect(200).text.as_bytes(), PDF);
    let (old, new) = (&before.body["applications"][0], &after.body["applications"][0]);
    for field in ["id", "stage", "status", "applied_at", "stage_changed_at", "resume_file_id"] {
        assert_eq!(new[field], old[field], "{field}");
    }
    assert_eq!(
        (&new["reapplied_at"], &new["resubmissions"]),
        (&json!("2026-11-21T09:30:00.000Z"), &json!(0))
    );
    let history = [
        "updated",
        "file_added",
        "reapplied",
        "rejected",
        "updated",
        "file_added",
        "applied",
        "consent_changed",
        "created",
    ];
    assert_eq!(kinds(&after), history);

    // The touchpoint names the form and holds nothing of it.
    let detail = after.body["touchpoints"][2]["detail"].as_object().unwrap();
    let names: Vec<_> = detail.keys().map(String::as_str).collect();
    assert_eq!(names, ["application_id", "role_id", "submission_id"]);
    let submitted = submission(&api, &after, 2).await;
    assert_eq!(
        (submitted.string("/name"), submitted.string("/note"), submitted.string("/phone")),
        ("Ada L.", "I have learnt Rust.", "+14155550132")
    );
    assert_eq!(submitted.body["consents"].as_array().unwrap().len(), 3);
    assert_eq!(submitted.body["consents"][0], json!({ "purpose": "application", "wording": APPLICATION }));
    assert_eq!(submission(&api, &after, 6).await.body["resume_file_id"], new["resume_file_id"]);

    // What the form brought waits, except the consent that the person has given before.
    let waiting = application(&api, &after).await;
    let offered_consent = |purpose: &str| json!({ "purpose": purpose, "obtained_at": "2026-11-21T09:30:00.000Z", "submission_id": submitted.number("/id") });
    let offered = json!({
        "phone": "+14155550132", "consents": [offered_consent("voice_screen"), offered_consent("recording")],
        "resume_file_id": submitted.number("/resume_file_id"),
    });
    assert_eq!(waiting.body["offered"], offered);
    let listed = api.get(&format!("/api/v1/applications?role_id={}", job.role)).await.expect(200);
    assert_eq!(listed.string("/data/0/reapplied_at"), "2026-11-21T09:30:00.000Z");
    assert!(listed.body["data"][0].get("offered").is_none() && new.get("offered").is_none());

    let events = events_after(&api, &position).await;
    let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["application.resubmitted", "file.created", "application.updated"]);
    assert_eq!(events[0]["data"], json!({ "candidate_id": id, "role_id": job.role }));
    assert_eq!(events[0]["changed"], json!(["reapplied_at", "offered"]));

    // The board, the lists and the page show it.
    let browser = dashboard(&api).await;
    let board = browser.get(&format!("/dashboard/roles/{}", job.role)).await.expect(200);
    assert!(board.text.contains("<h3 id=\"applied-again\">Applied again</h3>"), "{}", board.text);
    assert!(
        board.text.contains(&format!("<a href=\"/dashboard/candidates/{id}\"><bdi>Ada Lovelace</bdi></a>"))
    );
    let rejected = format!("/dashboard/candidates?role_id={}&stage=rejected", job.role);
    assert!(browser.get(&rejected).await.expect(200).text.contains("applied again"));
    let path = format!("/dashboard/candidates/{id}");
    let page = browser.get(&path).await.expect(200);
    let text = text_of(&page);
    for part in
        ["Applied again for Analyst", "applied again", "I have learnt Rust.", "New details from the form"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(page.text.contains(&escaped(after.string("/touchpoints/0/detail/resume_url"))));

    // A member takes over the details with one act.
    let done = decide(&browser, &page, "accept").await.expect(303);
    assert_eq!(done.header("location"), format!("{path}?done=offer-accepted"));
    let taken = find(&api, EMAIL).await;
    assert_eq!(taken.string("/phone"), "+14155550132");
    assert_eq!(download(taken.string("/resume_url")).await.expect(200).text, "Another resume");
    assert_eq!(kinds(&taken)[..4], ["consent_changed", "consent_changed", "updated", "offered_accepted"]);
    assert_eq!(taken.string("/touchpoints/3/actor/type"), "member");
    assert_eq!(taken.body["touchpoints"][2]["detail"]["fields"], json!(["phone", "resume_url"]));
    let purposes: Vec<_> =
        taken.body["consents"].as_array().unwrap().iter().map(|one| &one["purpose"]).collect();
    assert_eq!(purposes, ["application", "voice_screen", "recording"]);
    assert_eq!(taken.string("/consents/1/obtained_at"), "2026-11-21T09:30:00.000Z");
    assert_eq!(taken.string("/consents/1/actor/type"), "member");
    let application = application(&api, &taken).await;
    assert_eq!(application.body["offered"], Value::Null);
    assert_eq!(application.number("/resume_file_id"), submitted.number("/resume_file_id"));
    assert_eq!(application.string("/status"), "rejected", "nothing moves by itself");

    // One act opens the application, and the board no longer asks.
    let role = job.role.to_string();
    let undo = [("to", "applied"), ("seen", "rejected"), ("role_id", role.as_str())];
    browser.post(&format!("{path}/move"), &undo).await.expect(303);
    let board = browser.get(&format!("/dashboard/roles/{}", job.role)).await.expect(200);
    assert!(!board.text.contains("applied-again"), "{}", board.text);
    assert!(!browser.get(&path).await.text.contains("New details from the form"));
}

#[tokio::test]
async fn an_offer_is_accepted_once_and_only_as_the_member_saw_it() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    rejected(&api, &job).await;
    apply_again(&api, &job).await;
    let browser = dashboard(&api).await;
    let id = find(&api, EMAIL).await.number("/id");
    let path = format!("/dashboard/candidates/{id}");
    let page = browser.get(&path).await.expect(200);

    // Another form arrives after the page was opened.
    job.apply(&api, &form("Mallory", EMAIL).set("phone", "+14155550999")).await.expect(303);
    let late = decide(&browser, &page, "accept").await.expect(303);
    assert_eq!(late.header("location"), format!("{path}?failed=offer-changed"));
    assert_eq!(find(&api, EMAIL).await.body["phone"], Value::Null);

    let page = browser.get(&path).await.expect(200);
    let both = join(decide(&browser, &page, "accept"), decide(&browser, &page, "accept")).await;
    let mut results: Vec<_> =
        [both.0, both.1].map(|done| done.expect(303).header("location").to_owned()).into();
    results.sort_unstable();
    assert_eq!(results, [format!("{path}?done=offer-accepted"), format!("{path}?failed=offer-changed")]);
    let candidate = find(&api, EMAIL).await;
    assert_eq!(kinds(&candidate).iter().filter(|kind| **kind == "offered_accepted").count(), 1);
    assert_eq!(candidate.body["consents"].as_array().unwrap().len(), 3);

    // Dismissed details change nothing, and the form is still there.
    job.apply(&api, &form("Mallory", EMAIL).set("phone", "+14155550777")).await.expect(303);
    let page = browser.get(&path).await.expect(200);
    let done = decide(&browser, &page, "dismiss").await.expect(303);
    assert_eq!(done.header("location"), format!("{path}?done=offer-dismissed"));
    let candidate = find(&api, EMAIL).await;
    assert_eq!(kinds(&candidate)[..2], ["offered_dismissed", "reapplied"]);
    assert_eq!(candidate.string("/phone"), "+14155550999");
    assert_eq!(application(&api, &candidate).await.body["offered"], Value::Null);
    assert_eq!(submission(&api, &candidate, 1).await.string("/phone"), "+14155550777");
    for (action, application) in [("accept", "1"), ("burn", "1"), ("accept", "x")] {
        let fields = [("action", action), ("application_id", application), ("seen", "x")];
        let refused = browser.post(&format!("{path}/offer"), &fields).await;
        assert!((400..500).contains(&refused.status), "{action}: {}", refused.status);
    }
}

/// A change of the profile or a withdrawal makes parts of an offer moot.
#[tokio::test]
async fn nothing_waits_that_would_change_nothing() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    job.apply(&api, &form("Ada", EMAIL).set("phone", "+14155550100")).await.expect(303);
    job.apply(&api, &form("Ada", EMAIL).set("phone", "+14155550100")).await.expect(303);
    let candidate = find(&api, EMAIL).await;
    assert_eq!(kinds(&candidate)[0], "reapplied");
    assert_eq!(application(&api, &candidate).await.body["offered"], Value::Null);

    let again = form("Ada", EMAIL).set("phone", "+14155550111").and("consent_recording", "yes");
    job.apply(&api, &again).await.expect(303);
    let path = format!("/api/v1/candidates/{}", candidate.number("/id"));
    api.patch(&path, json!({ "phone": "+14155550111" })).await.expect(200);
    let offered = application(&api, &candidate).await.body["offered"].clone();
    assert_eq!((&offered["phone"], offered["consents"].as_array().unwrap().len()), (&Value::Null, 1));
    api.clock.set("2026-11-20T10:30:00Z");
    let refusal = json!({
        "purpose": "recording", "granted": false, "obtained_at": "2026-11-20T10:00:00Z", "wording": "No.",
    });
    api.post(&format!("{path}/consents"), refusal).await.expect(201);
    assert_eq!(application(&api, &candidate).await.body["offered"], Value::Null);
}

#[tokio::test]
async fn the_newest_20_forms_of_an_application_are_kept() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    for number in 1..=25 {
        let note = format!("Form {number}");
        job.apply(&api, &form("Ada", EMAIL).set("note", &note)).await.expect(303);
    }
    let candidate = find(&api, EMAIL).await;
    assert_eq!(candidate.number("/applications/0/resubmissions"), 5);
    let forms = async |candidate: &Response| {
        let mut notes = Vec::new();
        for touchpoint in candidate.body["touchpoints"].as_array().unwrap() {
            let Some(id) = touchpoint["detail"]["submission_id"].as_u64() else { continue };
            let path = format!("/api/v1/candidates/{}/submissions/{id}", candidate.number("/id"));
            let form = api.get(&path).await;
            notes.push((form.status == 200).then(|| form.string("/note").to_owned()));
        }
        notes
    };
    let expected: Vec<_> =
        (1..=25).rev().map(|number| (number > 5).then(|| format!("Form {number}"))).collect();
    assert_eq!(forms(&candidate).await, expected);
    let path = format!("/api/v1/candidates/{}", candidate.number("/id"));
    let export = api.get(&format!("{path}/export")).await.expect(200);
    assert_eq!(export.body["submissions"].as_array().unwrap().len(), 20);
    assert_eq!(export.string("/submissions/0/note"), "Form 25");

    // During a legal hold, nothing is deleted.
    let hold = api.request(Method::PUT, &format!("{path}/legal_hold")).json(&json!({ "reason": "A claim" }));
    hold.send().await.expect(200);
    job.apply(&api, &form("Ada", EMAIL).set("note", "Form 26")).await.expect(303);
    let kept = forms(&find(&api, EMAIL).await).await;
    assert_eq!(kept.iter().flatten().count(), 21);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn forms_at_once_lose_nothing() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    job.apply(&api, &form("Ada", EMAIL)).await.expect(303);
    let forms: Vec<_> = (0..6).map(|n| form("Ada", EMAIL).set("note", &format!("Form {n}"))).collect();
    for response in join_all(forms.iter().map(|form| job.apply(&api, form))).await {
        assert_eq!(response.status, 303, "{}", response.text);
    }
    let candidate = find(&api, EMAIL).await;
    let mut notes = Vec::new();
    for touchpoint in 0..6 {
        notes.push(submission(&api, &candidate, touchpoint).await.string("/note").to_owned());
    }
    notes.sort_unstable();
    assert_eq!(notes, (0..6).map(|n| format!("Form {n}")).collect::<Vec<_>>());
}

/// The lists by score show it, too, and an assistant opens the application.
#[tokio::test]
async fn somebody_with_a_score_can_apply_again() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    job.apply(&api, &form("Ada", EMAIL).set("phone", "+14155550132")).await.expect(303);
    let id = find(&api, EMAIL).await.number("/id");
    let invite = format!("/api/v1/candidates/{id}/invite_screen");
    api.post(&invite, json!({ "role_id": job.role })).await.expect(201);
    api.run_tasks().await;
    assert_eq!(find(&api, EMAIL).await.string("/voice_screens/0/status"), "completed");
    let browser = dashboard(&api).await;
    let by_score = format!("/dashboard/candidates?role_id={}&stage=screening&order=score", job.role);
    assert!(!browser.get(&by_score).await.expect(200).text.contains("applied again"));
    job.apply(&api, &form("Ada", EMAIL)).await.expect(303);
    assert!(browser.get(&by_score).await.expect(200).text.contains("applied again"));
    let board = format!("/dashboard/roles/{}", job.role);
    assert_eq!(browser.get(&board).await.expect(200).text.matches("applied again").count(), 1, "the card");
    let step = json!({ "candidate_id": id, "action": "advance", "stage": "interview", "role_id": job.role });
    Assistant::new(&api).call("move_candidate", step).await;
    assert_eq!(find(&api, EMAIL).await.string("/stage"), "interview");
    assert!(!browser.get(&board).await.expect(200).text.contains("pplied again"));
}

/// The form of a known person for another role has its own file, which waits.
#[tokio::test]
async fn an_application_for_another_role_has_its_own_file() {
    let api = TestApi::new().await;
    let (job, other) = (Job::new(&api, "Analyst").await, Job::new(&api, "Engineer").await);
    rejected(&api, &job).await;
    let again = form("Ada", EMAIL).set("phone", "+14155550132");
    let applied = other.apply(&api, &again).await.expect(303);
    attach(&api, &applied, b"For engineers").await.expect(303);
    let candidate = find(&api, EMAIL).await;
    assert_eq!(kinds(&candidate)[..4], ["updated", "file_added", "applied", "rejected"]);
    let detail = application(&api, &candidate).await;
    assert_eq!((detail.number("/role_id"), detail.number("/resubmissions")), (other.role, 0));
    assert_eq!((&detail.body["reapplied_at"], &detail.body["resume_file_id"]), (&Value::Null, &Value::Null));
    let submitted = submission(&api, &candidate, 2).await;
    assert_eq!(detail.number("/offered/resume_file_id"), submitted.number("/resume_file_id"));
    assert_eq!(candidate.body["phone"], Value::Null);
    let export = api.get(&format!("/api/v1/candidates/{}/export", candidate.number("/id"))).await.expect(200);
    let files = export.body["files"].as_array().unwrap();
    let file = files.iter().find(|file| file["id"] == submitted.body["resume_file_id"]).unwrap();
    assert_eq!(download(file["url"].as_str().unwrap()).await.expect(200).text, "For engineers");
}

#[tokio::test]
async fn people_who_were_hired_and_people_whose_role_was_reopened_can_apply_again() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    for email in ["hired@example.com", "closed@example.com"] {
        job.apply(&api, &form("Ada", email)).await.expect(303);
    }
    let hired = find(&api, "hired@example.com").await.number("/id");
    api.post(&format!("/api/v1/candidates/{hired}/hire"), json!({})).await.expect(200);
    let role = format!("/api/v1/roles/{}", job.role);
    api.delete(&role).await.expect(200);
    job.apply(&api, &form("Ada", "closed@example.com")).await.expect(410);
    // The copies of the role still say that it is closed.
    api.run_tasks().await;
    api.post(&format!("{role}/reopen"), json!({})).await.expect(200);
    api.post(&format!("{role}/publish"), json!({ "job_posting": true })).await.expect(200);
    for (email, status) in [("hired@example.com", "hired"), ("closed@example.com", "active")] {
        job.apply(&api, &form("Ada", email)).await.expect(303);
        api.run_tasks().await;
        let candidate = find(&api, email).await;
        assert!(kinds(&candidate).contains(&"reapplied"), "{email}: {:?}", kinds(&candidate));
        assert_eq!(candidate.string("/applications/0/status"), status);
    }
    let board = format!("/dashboard/roles/{}", job.role);
    let browser = dashboard(&api).await;
    assert!(browser.get(&board).await.expect(200).text.contains("id=\"applied-again\""));
    for (email, step) in [("hired@example.com", "unhire"), ("closed@example.com", "reject")] {
        let id = find(&api, email).await.number("/id");
        api.post(&format!("/api/v1/candidates/{id}/{step}"), json!({})).await.expect(200);
    }
    assert!(!browser.get(&board).await.expect(200).text.contains("id=\"applied-again\""));
    assert_eq!(list(&api, &format!("?role_id={}", job.role)).await.len(), 2);
}

#[tokio::test]
async fn nobody_else_reads_a_form() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    job.apply(&api, &form("Ada", EMAIL)).await.expect(303);
    job.apply(&api, &form("Grace", "grace@example.com")).await.expect(303);
    let (ada, grace) = (find(&api, EMAIL).await, find(&api, "grace@example.com").await);
    let id = ada.number("/touchpoints/0/detail/submission_id");
    let path = |candidate: &Response, id: &str| {
        format!("/api/v1/candidates/{}/submissions/{id}", candidate.number("/id"))
    };
    let own = path(&ada, &id.to_string());
    api.get(&own).await.expect(200);
    for (demo, mode) in [(GLOBEX, Mode::Live), (ACME, Mode::Test)] {
        api.request(Method::GET, &own).key(demo, mode).send().await.expect(404);
    }
    for other in [path(&grace, &id.to_string()), path(&ada, "1"), path(&ada, "x")] {
        api.get(&other).await.expect(404);
    }
}

#[tokio::test]
async fn an_erased_person_who_applies_again_is_a_new_person() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    job.apply(&api, &form("Ada", EMAIL).set("phone", "+14155550100")).await.expect(303);
    job.apply(&api, &form("Ada", EMAIL).set("phone", "+14155550111")).await.expect(303);
    let erased = find(&api, EMAIL).await.number("/id");
    api.post(&format!("/api/v1/candidates/{erased}/erase"), json!({})).await.expect(202);
    // Also before the task has removed the rest.
    for is_done in [false, true] {
        if is_done {
            api.run_tasks().await;
        }
        job.apply(&api, &form("Ada", EMAIL)).await.expect(303);
        let again = find(&api, EMAIL).await;
        assert_ne!(again.number("/id"), erased);
        assert_eq!(again.body["phone"], Value::Null);
        assert_eq!(kinds(&again).last(), Some(&"created"));
    }
    assert_eq!(kinds(&find(&api, EMAIL).await)[0], "reapplied", "for the new person");
    api.get(&format!("/api/v1/candidates/{erased}")).await.expect(410);
}

#[tokio::test]
async fn an_erasure_removes_the_forms_and_their_files() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let candidate = rejected(&api, &job).await;
    apply_again(&api, &job).await;
    let candidate_id = candidate.number("/id");
    let id = find(&api, EMAIL).await.number("/touchpoints/2/detail/submission_id");
    let form = format!("/api/v1/candidates/{candidate_id}/submissions/{id}");
    let file = find(&api, EMAIL).await.string("/touchpoints/0/detail/resume_url").to_owned();
    api.get(&form).await.expect(200);
    api.post(&format!("/api/v1/candidates/{candidate_id}/erase"), json!({})).await.expect(202);
    api.get(&form).await.expect(410);
    api.run_tasks().await;
    for ((pk, sk), item) in api.stored_items().await {
        let text = format!("{item:?}");
        assert!(
            !sk.starts_with("FORM#") && !sk.starts_with("FILE#") && !pk.contains("#REAPPLIED#"),
            "{pk} {sk}"
        );
        for personal in ["I have learnt Rust.", "+14155550132", "Ada L."] {
            assert!(!text.contains(personal), "{pk} {sk}: {text}");
        }
    }
    assert!(download(&file).await.status >= 400);
    // The address is free again, and nobody learns that it was known.
    crate::careers_applications::Job::apply(&job, &api, &self::form("Ada", EMAIL)).await.expect(303);
    assert_eq!(kinds(&find(&api, EMAIL).await), ["applied", "consent_changed", "created"]);
}
