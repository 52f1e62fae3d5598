//! What members do at once to people in lists over all roles: to the application that the list shows, or to the person.

use serde_json::{Value, json};
use tests::browser::{Browser, Form};
use tests::dashboard::owner;
use tests::{GLOBEX, Response, TestApi};

use crate::dashboard_pages::text_of;
use crate::people_lists::{acme, names, post_job};

const PATH: &str = "/dashboard/candidates";
const BULK: &str = "/dashboard/candidates/bulk";
/// Those who are to be looked at, as a list and as the parameter that names it.
const APPLIED: &str = "/dashboard/candidates?waiting=applied";
const LIST: &str = "list=waiting%3Dapplied";

/// Adds somebody who has applied for these roles.
async fn add(api: &TestApi, name: &str, roles: &[u64]) -> u64 {
    let email = format!("{}@example.com", name.to_lowercase());
    let body = json!({ "name": name, "email": email, "phone": "+493012345678" });
    let id = api.post("/api/v1/candidates", body).await.expect(201).number("/id");
    for role in roles {
        let path = format!("/api/v1/candidates/{id}/applications");
        api.post(&path, json!({ "role_id": role })).await.expect(201);
    }
    id
}

/// The values of the check boxes on a page.
fn boxes(page: &Response) -> Vec<String> {
    let boxes = page.text.split("name=\"id\" value=\"").skip(1);
    boxes.map(|one| one.split('"').next().unwrap().to_owned()).collect()
}

/// The candidate and the role in the value of a check box.
fn value_of(value: &str) -> (u64, u64) {
    let (id, role) = value.split_once('.').unwrap();
    (id.parse().unwrap(), role.parse().unwrap())
}

/// The review of an act on those who are selected in a list.
async fn review(ada: &Browser<'_>, list: &str, to: &str, chosen: &[String]) -> (Response, Form) {
    let chosen: Vec<_> = chosen.iter().map(|value| format!("id={value}")).collect();
    let page = ada.get(&format!("{BULK}?{list}&to={to}&{}", chosen.join("&"))).await.expect(200);
    let form = Form::of(&page, &format!("{BULK}?{list}"));
    (page, form)
}

async fn submit(ada: &Browser<'_>, list: &str, form: &Form) -> Response {
    ada.submit(&format!("{BULK}?{list}"), form).await
}

async fn undo(ada: &Browser<'_>, list: &str, group: &str) -> Response {
    ada.post(&format!("{BULK}/undo?{list}"), &[("group", group)]).await
}

/// The acts that a list shows with *Undo*.
async fn undos(ada: &Browser<'_>, list: &str) -> Vec<String> {
    let page = ada.get(list).await.expect(200);
    let buttons = page.text.split("name=\"group\" value=\"").skip(1);
    buttons.map(|button| button.split('"').next().unwrap().to_owned()).collect()
}

/// The stages of a person's applications for these roles.
async fn stages<const N: usize>(api: &TestApi, id: u64, roles: [u64; N]) -> [String; N] {
    let found = candidate(api, id).await;
    let applications = found["applications"].as_array().unwrap();
    roles.map(|role| {
        let own = applications.iter().find(|application| application["role_id"] == role).unwrap();
        own["stage"].as_str().unwrap().to_owned()
    })
}

async fn candidate(api: &TestApi, id: u64) -> Value {
    api.get(&format!("/api/v1/candidates/{id}")).await.expect(200).body
}

async fn notes(api: &TestApi, id: u64) -> usize {
    let found = api.get(&format!("/api/v1/candidates/{id}/notes")).await.expect(200);
    found.body["data"].as_array().unwrap().len()
}

#[tokio::test]
async fn an_act_over_roles_changes_the_applications_that_the_list_shows_and_is_undone_as_one() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let (cook, waiter) = (post_job(&api, "Cook").await, post_job(&api, "Waiter").await);
    let ann = add(&api, "Ann", &[cook]).await;
    let bo = add(&api, "Bo", &[waiter]).await;
    let cy = add(&api, "Cy", &[cook, waiter]).await;
    let page = ada.get(APPLIED).await.expect(200);
    assert_eq!(names(&page).len(), 4);
    let mut expected = vec![(ann, cook), (bo, waiter), (cy, cook), (cy, waiter)];
    let mut found: Vec<_> = boxes(&page).iter().map(|value| value_of(value)).collect();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);

    let chosen = [(ann, cook), (bo, waiter), (cy, waiter)].map(|(id, role)| format!("{id}.{role}"));
    for (to, stage) in [("rejected", "rejected"), ("interview", "interview")] {
        let (page, form) = review(&ada, LIST, to, &chosen).await;
        let text = text_of(&page);
        assert!(text.contains("All roles") && text.contains("3 candidates."), "{text}");
        assert!(text.contains("Ann Cook applied") && text.contains("Cy Waiter applied"), "{text}");
        let done = submit(&ada, LIST, &form).await.expect(303);
        assert_eq!(done.header("location"), format!("{APPLIED}&done=bulk-done"));
        assert_eq!(stages(&api, ann, [cook]).await, [stage]);
        assert_eq!(stages(&api, bo, [waiter]).await, [stage]);
        assert_eq!(stages(&api, cy, [cook, waiter]).await, ["applied", stage]);
        // All lists over roles show it, and those of a role do not.
        let acts = undos(&ada, APPLIED).await;
        assert_eq!(acts.len(), 1);
        for list in [PATH, "/dashboard/candidates?by=&search=ann"] {
            assert_eq!(undos(&ada, list).await, acts, "{list}");
        }
        let of_role = format!("{PATH}?role_id={cook}");
        assert!(undos(&ada, &of_role).await.is_empty());
        // It is found in the lists that it was begun in.
        let other = format!("list=role_id%3D{cook}");
        ada.get(&format!("{BULK}?act={}&{other}", acts[0])).await.expect(404);
        let nothing = undo(&ada, &other, &acts[0]).await.expect(303);
        assert!(nothing.header("location").ends_with("failed=nothing-to-undo"));
        let undone = undo(&ada, LIST, &acts[0]).await.expect(303);
        assert_eq!(undone.header("location"), format!("{APPLIED}&done=bulk-undone"));
        assert_eq!(stages(&api, cy, [cook, waiter]).await, ["applied", "applied"]);
        assert_eq!(stages(&api, ann, [cook]).await, ["applied"]);
        // The same form again only tells how it ended.
        let again = submit(&ada, LIST, &form).await.expect(303);
        let text = text_of(&ada.get(again.header("location")).await.expect(200));
        assert!(text.contains("Undone for 3 of 3 candidates."), "{text}");
    }
}

#[tokio::test]
async fn an_invitation_is_for_the_role_that_the_list_shows_and_a_note_for_the_person() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let (cook, waiter) = (post_job(&api, "Cook").await, post_job(&api, "Waiter").await);
    let ann = add(&api, "Ann", &[cook]).await;
    let cy = add(&api, "Cy", &[cook, waiter]).await;
    let chosen = boxes(&ada.get(APPLIED).await.expect(200));
    assert_eq!(chosen.len(), 3);
    for (to, field) in [("note", ("text", "Met at the fair")), ("tag", ("tag", "spring"))] {
        let (page, form) = review(&ada, LIST, to, &chosen).await;
        assert!(text_of(&page).contains("2 candidates."), "{}", text_of(&page));
        submit(&ada, LIST, &form.set(field.0, field.1)).await.expect(303);
    }
    for id in [ann, cy] {
        assert_eq!((notes(&api, id).await, &candidate(&api, id).await["tags"]), (1, &json!(["spring"])));
    }
    for act in undos(&ada, APPLIED).await {
        undo(&ada, LIST, &act).await.expect(303);
    }
    for id in [ann, cy] {
        assert_eq!((notes(&api, id).await, &candidate(&api, id).await["tags"]), (0, &json!([])));
    }
    let chosen = [format!("{ann}.{cook}"), format!("{cy}.{waiter}")];
    let (_, form) = review(&ada, LIST, "invite", &chosen).await;
    submit(&ada, LIST, &form).await.expect(303);
    let screen = async |id: u64| candidate(&api, id).await["voice_screens"][0].clone();
    assert_eq!((&screen(ann).await["role_id"], &screen(cy).await["role_id"]), (&json!(cook), &json!(waiter)));
    let acts = undos(&ada, APPLIED).await;
    undo(&ada, LIST, &acts[0]).await.expect(303);
    assert_eq!(
        (&screen(ann).await["status"], &screen(cy).await["status"]),
        (&json!("cancelled"), &json!("cancelled"))
    );
}

#[tokio::test]
async fn a_role_that_was_closed_meanwhile_leaves_its_people_out_until_it_is_open_again() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let (cook, waiter) = (post_job(&api, "Cook").await, post_job(&api, "Waiter").await);
    let ann = add(&api, "Ann", &[cook]).await;
    let bo = add(&api, "Bo", &[waiter]).await;
    let cy = add(&api, "Cy", &[cook, waiter]).await;
    let chosen = [(ann, cook), (bo, waiter), (cy, waiter)].map(|(id, role)| format!("{id}.{role}"));
    let (_, form) = review(&ada, LIST, "rejected", &chosen).await;
    api.delete(&format!("/api/v1/roles/{waiter}")).await.expect(200);
    let page = submit(&ada, LIST, &form).await.expect(200);
    let text = text_of(&page);
    assert!(text.contains("1 of 3 candidates rejected."), "{text}");
    for name in ["Bo", "Cy"] {
        let row = format!("{name} Waiter The application has ended, or its role is closed.");
        assert!(text.contains(&row), "{row} in {text}");
    }
    assert_eq!(
        stages(&api, cy, [cook, waiter]).await,
        ["applied", "applied"],
        "no other application is meant"
    );
    // A note needs no open role.
    let (_, note) = review(&ada, LIST, "note", &chosen).await;
    submit(&ada, LIST, &note.set("text", "Hello")).await.expect(303);
    assert_eq!(notes(&api, bo).await, 1);
    api.post(&format!("/api/v1/roles/{waiter}/reopen"), json!({})).await.expect(200);
    let again = Form::of(&page, &format!("{BULK}?{LIST}"));
    let done = submit(&ada, LIST, &again).await.expect(303);
    assert!(done.header("location").ends_with("done=bulk-done"), "{}", done.header("location"));
    assert_eq!(stages(&api, cy, [cook, waiter]).await, ["applied", "rejected"]);
    // One moves on, and the others come back.
    api.post(&format!("/api/v1/candidates/{bo}/unreject"), json!({ "role_id": waiter })).await.expect(200);
    let acts = undos(&ada, APPLIED).await;
    let undone = undo(&ada, LIST, acts.last().unwrap()).await.expect(303);
    let text = text_of(&ada.get(undone.header("location")).await.expect(200));
    assert!(text.contains("Undone for 2 of 3 candidates."), "{text}");
    assert!(text.contains("Bo Waiter Somebody moved this candidate in the meantime."), "{text}");
}

#[tokio::test]
async fn nobody_of_another_organization_and_no_application_that_is_not_there_is_changed() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let cook = post_job(&api, "Cook").await;
    let ann = add(&api, "Ann", &[cook]).await;
    let (_, form) = review(&ada, LIST, "interview", &[format!("{ann}.{cook}")]).await;
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    for to in ["interview", "note"] {
        let review = grace.get(&format!("{BULK}?{LIST}&to={to}&id={ann}.{cook}")).await.expect(303);
        assert!(review.header("location").ends_with("failed=nobody-selected"));
        let value = format!("{ann}.applied.{cook}");
        let fields = [("to", to), ("text", "x"), ("candidate", &*value), ("key", to)];
        let done = grace.post(&format!("{BULK}?{LIST}"), &fields).await.expect(303);
        assert!(done.header("location").ends_with("failed=nobody-selected"));
    }
    submit(&ada, LIST, &form).await.expect(303);
    let act = undos(&ada, APPLIED).await.remove(0);
    grace.get(&format!("{BULK}?act={act}&{LIST}")).await.expect(404);
    let nothing = undo(&grace, LIST, &act).await.expect(303);
    assert!(nothing.header("location").ends_with("failed=nothing-to-undo"));
    let nothing = grace.post(&format!("{BULK}/stop?{LIST}"), &[("group", &act)]).await.expect(303);
    assert!(nothing.header("location").ends_with("failed=nothing-to-stop"));
    assert_eq!(stages(&api, ann, [cook]).await, ["interview"]);
    // Without a list, nobody knows who is meant.
    ada.get(&format!("{BULK}?to=rejected&everybody=yes")).await.expect(404);
    for path in [BULK, "/dashboard/candidates/bulk/undo", "/dashboard/candidates/bulk/stop"] {
        let fields = [("to", "rejected"), ("everybody", "yes"), ("group", &*act), ("key", "k")];
        ada.post(path, &fields).await.expect(404);
        ada.post(&format!("{path}?list=stage%3Dx"), &fields).await.expect(404);
    }
    // A role that the person has not applied for.
    let other = post_job(&api, "Waiter").await;
    let value = format!("{ann}.interview.{other}");
    let fields = [("to", "rejected"), ("candidate", &*value), ("key", "k")];
    let done = ada.post(&format!("{BULK}?{LIST}"), &fields).await.expect(303);
    assert!(done.header("location").ends_with("failed=nobody-selected"));
    assert_eq!(stages(&api, ann, [cook]).await, ["interview"]);
}

#[tokio::test]
async fn everybody_in_a_list_of_people_gets_a_tag_but_no_move() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let cook = post_job(&api, "Cook").await;
    let nobody = add(&api, "Never", &[]).await;
    for number in 0..26 {
        add(&api, &format!("P{number}"), &[cook]).await;
    }
    let tags = async |id: u64| candidate(&api, id).await["tags"].clone();
    for (list, parameter) in
        [(PATH, "list="), ("/dashboard/candidates?stage=applied", "list=stage%3Dapplied")]
    {
        let text = text_of(&ada.get(list).await.expect(200));
        assert!(text.contains("not only on this page, for a tag or a note"), "{text}");
        assert!(text.contains("People in this list may have applied for several roles."), "{text}");
        for to in ["rejected", "interview", "invite"] {
            let asked = ada.get(&format!("{BULK}?{parameter}&to={to}&everybody=yes")).await.expect(303);
            assert!(asked.header("location").starts_with(list), "{}", asked.header("location"));
            assert!(asked.header("location").ends_with("failed=choose-role"));
            let fields = [("to", to), ("everybody", "yes"), ("key", to)];
            let sent = ada.post(&format!("{BULK}?{parameter}"), &fields).await.expect(303);
            assert!(sent.header("location").ends_with("failed=choose-role"));
        }
    }
    let page = ada.get(&format!("{BULK}?list=&to=tag&everybody=yes")).await.expect(200);
    let form = Form::of(&page, &format!("{BULK}?list="));
    submit(&ada, "list=", &form.set("tag", "spring")).await.expect(303);
    assert_eq!(tags(nobody).await, json!(["spring"]));
    let acts = undos(&ada, PATH).await;
    undo(&ada, "list=", &acts[0]).await.expect(303);
    assert_eq!(tags(nobody).await, json!([]));
    // A list of applications has everybody.
    let open = ada.get("/dashboard/candidates?status=active").await.expect(200);
    assert!(!open.text.contains("for a tag or a note"), "{}", open.text);
    let page = ada.get(&format!("{BULK}?list=status%3Dactive&to=rejected&everybody=yes")).await.expect(200);
    let form = Form::of(&page, &format!("{BULK}?list=status%3Dactive"));
    submit(&ada, "list=status%3Dactive", &form).await.expect(303);
    let stats = api.get(&format!("/api/v1/roles/{cook}/stats")).await.expect(200);
    assert_eq!(stats.number("/stages/rejected/now"), 26);
    // Who has applied for nothing cannot be moved, also not by trying again.
    let (_, form) = review(&ada, "list=", "interview", &[nobody.to_string()]).await;
    for _ in 0..2 {
        let page = submit(&ada, "list=", &form).await.expect(200);
        let text = text_of(&page);
        assert!(text.contains("0 of 1 candidate moved."), "{text}");
        assert!(text.contains("This candidate has not applied for a role."), "{text}");
    }
}

#[tokio::test]
async fn people_who_were_found_are_selected_one_by_one() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let (cook, waiter) = (post_job(&api, "Cook").await, post_job(&api, "Waiter").await);
    for number in 0..26 {
        add(&api, &format!("Zoe{number}"), &[if number % 2 == 0 { cook } else { waiter }]).await;
    }
    api.run_feed().await;
    let list = "/dashboard/candidates?by=&search=Zoe";
    let page = ada.get(list).await.expect(200);
    let text = text_of(&page);
    assert!(
        !text.contains("Everybody in this list") && text.contains("A search is shown page by page."),
        "{text}"
    );
    let parameter = "list=by%3D%26search%3DZoe";
    let nobody = ada.get(&format!("{BULK}?{parameter}&to=tag&everybody=yes")).await.expect(303);
    assert!(nobody.header("location").ends_with("failed=nobody-selected"));
    let (_, form) = review(&ada, parameter, "rejected", &boxes(&page)[..3]).await;
    let done = submit(&ada, parameter, &form).await.expect(303);
    assert_eq!(done.header("location"), format!("{list}&done=bulk-done"));
    assert_eq!(undos(&ada, list).await.len(), 1);
}
