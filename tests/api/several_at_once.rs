//! What members do to several candidates at once: selected ones, or everybody in a list; and how it is undone.

use serde_json::json;
use tests::browser::{Browser, Form};
use tests::dashboard::owner;
use tests::{ACME, GLOBEX, Response, TestApi};

use crate::dashboard_pages::text_of;

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

/// A role with this number of applicants.
async fn role_with(api: &TestApi, count: usize) -> (u64, Vec<u64>) {
    let posted = json!({ "role": { "title": "Cook" } });
    let role = api.post("/api/v1/quick_post", posted).await.expect(201).number("/role/id");
    let mut people = Vec::new();
    for number in 0..count {
        let body = json!({
            "name": format!("P{number}"),
            "email": format!("p{number}@example.com"),
            "phone": "+493012345678",
            "role_id": role,
        });
        people.push(api.post("/api/v1/candidates", body).await.expect(201).number("/id"));
    }
    (role, people)
}

async fn stages(api: &TestApi, role: u64) -> (u64, u64) {
    let stats = api.get(&format!("/api/v1/roles/{role}/stats")).await.expect(200);
    (stats.number("/stages/applied/now"), stats.number("/stages/rejected/now"))
}

/// The review of an act on these people: where its form is sent, and the form.
async fn review(ada: &Browser<'_>, role: u64, to: &str, people: &[u64]) -> (String, Form) {
    let ids: Vec<_> = people.iter().map(|id| format!("id={id}")).collect();
    let path = format!("/dashboard/candidates/bulk?list=role_id%3D{role}%26stage%3Dapplied");
    let page = ada.get(&format!("{path}&to={to}&{}", ids.join("&"))).await.expect(200);
    let form = Form::of(&page, &path);
    (path, form)
}

/// What was lately done and can be undone, as the list shows it: the act, and the words.
async fn undos(ada: &Browser<'_>, role: u64) -> Vec<(String, String)> {
    let page = ada.get(&format!("/dashboard/candidates?role_id={role}")).await.expect(200);
    let buttons = page.text.split("name=\"group\" value=\"").skip(1);
    let undo = |button: &str| {
        let (group, rest) = button.split_once('"').unwrap();
        let said = rest.split("<span class=\"hidden\">").nth(1).unwrap().split('<').next().unwrap();
        (group.to_owned(), said.trim().to_owned())
    };
    buttons.map(undo).collect()
}

async fn undo(ada: &Browser<'_>, role: u64, group: &str) -> Response {
    ada.post(&format!("/dashboard/candidates/bulk/undo?list=role_id%3D{role}"), &[("group", group)]).await
}

#[tokio::test]
async fn a_rejection_of_several_returns_to_the_list_and_is_undone_for_a_day() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let (role, people) = role_with(&api, 4).await;
    let (path, form) = review(&ada, role, "rejected", &people[..3]).await;
    let done = ada.submit(&path, &form.and("reason_id", "2")).await.expect(303);
    let list = format!("/dashboard/candidates?role_id={role}&stage=applied");
    assert_eq!(done.header("location"), format!("{list}&done=bulk-done"));
    assert_eq!(stages(&api, role).await, (1, 3));
    let found = undos(&ada, role).await;
    assert!(found.len() == 1 && found[0].1.starts_with("for 3 rejected by "), "{found:?}");
    // One of them has moved on. Another organization undoes nothing.
    let back = json!({ "role_id": role });
    api.post(&format!("/api/v1/candidates/{}/unreject", people[0]), back).await.expect(200);
    let globex = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    undo(&globex, role, &found[0].0).await.expect(404);
    let undone = undo(&ada, role, &found[0].0).await.expect(303);
    assert!(undone.header("location").ends_with("failed=partly-undone"), "{}", undone.header("location"));
    let text = text_of(&ada.get(undone.header("location")).await.expect(200));
    assert!(text.contains("Undone for 2 of 3 candidates."), "{text}");
    assert!(text.contains("P0 Somebody moved this candidate in the meantime."), "{text}");
    assert_eq!(stages(&api, role).await, (4, 0));
    assert!(undos(&ada, role).await.is_empty());
    let again = undo(&ada, role, &found[0].0).await.expect(303);
    assert!(again.header("location").ends_with("failed=nothing-to-undo"));
    undo(&ada, role, "x").await.expect(404);

    // A day later it cannot be undone any more.
    let (path, form) = review(&ada, role, "offer", &people[..2]).await;
    ada.submit(&path, &form).await.expect(303);
    let found = undos(&ada, role).await;
    assert_eq!(found.len(), 1);
    api.clock.set("2026-11-21T09:45:00Z");
    let ada = acme(&api).await;
    assert!(undos(&ada, role).await.is_empty());
    let late = undo(&ada, role, &found[0].0).await.expect(303);
    assert!(late.header("location").ends_with("failed=nothing-to-undo"));
}

#[tokio::test]
async fn everybody_in_a_list_of_at_most_100_is_changed_at_once() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let (role, _) = role_with(&api, 30).await;
    let path = format!("/dashboard/candidates/bulk?list=role_id%3D{role}%26stage%3Dapplied");
    let page = ada.get(&format!("{path}&to=rejected&everybody=yes")).await.expect(200);
    assert!(text_of(&page).contains("Reject everybody in the list"), "{}", text_of(&page));
    let form = Form::of(&page, &path);
    let done = ada.submit(&path, &form).await.expect(303);
    assert!(done.header("location").ends_with("done=bulk-done"));
    assert_eq!(stages(&api, role).await, (0, 30));
    assert!(api.due_tasks(api.environment.clock.now()).await.is_empty());
    // The same form again says the same, though nobody is left in the list.
    let again = ada.submit(&path, &form).await.expect(303);
    assert!(again.header("location").ends_with("done=bulk-done"), "{}", again.header("location"));
    let found = undos(&ada, role).await;
    assert!(found.len() == 1 && found[0].1.starts_with("for 30 rejected by "), "{found:?}");
    undo(&ada, role, &found[0].0).await.expect(303);
    assert_eq!(stages(&api, role).await, (30, 0));
    assert!(undos(&ada, role).await.is_empty());
    let again = ada.submit(&path, &form).await.expect(303);
    let undone = ada.get(again.header("location")).await.expect(200);
    assert!(text_of(&undone).contains("Undone for 30 of 30 candidates."), "{}", text_of(&undone));
    // Nobody is selected by score.
    let by_score = format!("{path}%26order%3Dscore");
    let nobody = ada.get(&format!("{by_score}&to=rejected&everybody=yes")).await.expect(303);
    assert!(nobody.header("location").ends_with("failed=nobody-selected"), "{}", nobody.header("location"));
    let nobody = ada.submit(&by_score, &form.set("key", "another")).await.expect(303);
    assert!(nobody.header("location").ends_with("failed=nobody-selected"), "{}", nobody.header("location"));
    assert_eq!(stages(&api, role).await, (30, 0));
}

#[tokio::test]
async fn several_get_a_tag_a_note_or_an_invitation() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let (role, people) = role_with(&api, 3).await;
    let candidate = async |id: u64| api.get(&format!("/api/v1/candidates/{id}")).await.expect(200);
    let tagged = [(people[0], json!(["a, b"])), (people[1], json!(["Spring"]))];
    for (id, tags) in &tagged {
        api.patch(&format!("/api/v1/candidates/{id}"), json!({ "tags": tags })).await.expect(200);
    }
    let (path, form) = review(&ada, role, "tag", &people).await;
    ada.submit(&path, &form.and("tag", "spring")).await.expect(303);
    assert_eq!(candidate(people[0]).await.body["tags"], json!(["a, b", "spring"]));
    assert_eq!(candidate(people[1]).await.body["tags"], json!(["Spring"]), "which was there before");
    let found = undos(&ada, role).await;
    undo(&ada, role, &found[0].0).await.expect(303);
    for (id, tags) in &tagged {
        assert_eq!(candidate(*id).await.body["tags"], *tags);
    }
    let (path, form) = review(&ada, role, "tag", &people[1..2]).await;
    let tagged = ada.submit(&path, &form.and("tag", "spring")).await.expect(303);
    assert!(tagged.header("location").ends_with("done=tagged-before"), "{}", tagged.header("location"));
    assert!(undos(&ada, role).await.is_empty());
    let (path, form) = review(&ada, role, "tag", &people).await;
    let blank = ada.submit(&path, &form.and("tag", " ")).await.expect(400);
    assert!(text_of(&blank).contains("Tag must have 1 to 50 characters."), "{}", text_of(&blank));

    let (path, form) = review(&ada, role, "note", &people).await;
    let noted = ada.submit(&path, &form.and("text", "Met at the fair")).await.expect(303);
    assert!(noted.header("location").ends_with("done=notes-added"), "{}", noted.header("location"));
    for id in &people {
        let notes = api.get(&format!("/api/v1/candidates/{id}/notes")).await.expect(200);
        assert_eq!(notes.body["data"][0]["text"], "Met at the fair");
    }
    let found = undos(&ada, role).await;
    assert!(found[0].1.starts_with("for 3 given a note by "), "{found:?}");
    undo(&ada, role, &found[0].0).await.expect(303);
    for id in &people {
        let notes = api.get(&format!("/api/v1/candidates/{id}/notes")).await.expect(200);
        assert_eq!(notes.body["data"], json!([]));
    }

    let (path, form) = review(&ada, role, "invite", &people).await;
    ada.submit(&path, &form).await.expect(303);
    let found = undos(&ada, role).await;
    assert!(found[0].1.starts_with("for 3 invited to a voice screen by "), "{found:?}");
    undo(&ada, role, &found[0].0).await.expect(303);
    for id in &people {
        assert_eq!(candidate(*id).await.string("/voice_screens/0/status"), "cancelled");
    }
    for to in ["hired", "x", ""] {
        let path = format!("/dashboard/candidates/bulk?list=role_id%3D{role}&to={to}&id={}", people[0]);
        ada.get(&path).await.expect(404);
    }
}
