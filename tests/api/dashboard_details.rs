//! Details of people's pages and of boards in the dashboard: tags with commas, addresses in notes, cards, and moves back.

use http::Method;
use serde_json::{Value, json};
use tests::browser::{Browser, Form, input, plain};
use tests::dashboard::{actions, owner};
use tests::{ACME, Response, TestApi};

use crate::dashboard_pages::text_of;

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

async fn add(api: &TestApi, body: Value) -> u64 {
    api.post("/api/v1/candidates", body).await.expect(201).number("/id")
}

async fn ada_with(api: &TestApi, tags: &[&str]) -> u64 {
    add(api, json!({ "name": "Ada", "email": "ada@example.com", "tags": tags })).await
}

async fn tags(api: &TestApi, id: u64) -> Value {
    api.get(&format!("/api/v1/candidates/{id}")).await.expect(200).body["tags"].clone()
}

/// The form that edits a candidate, as the page has it.
fn edit_form(page: &Response, path: &str) -> Form {
    let form = Form::of(page, path);
    ["name", "email", "tags"].into_iter().fold(form, |form, field| form.and(field, &input(page, field)))
}

#[tokio::test]
async fn a_tag_with_a_comma_stays_one_tag_when_the_candidate_is_edited() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let given = ["go", "Berlin, Germany", "\"quoted\"", "5\" disk", "“x”, y"];
    let id = ada_with(&api, &given).await;
    let path = format!("/dashboard/candidates/{id}/edit");
    let page = ada.get(&path).await.expect(200);
    assert_eq!(input(&page, "tags"), r#"go, "Berlin, Germany", """quoted""", 5" disk, "“x”, y""#);
    assert!(
        plain(&page.text).contains("Put quotation marks around a tag with a comma: \"Berlin, Germany\".")
    );
    let form = edit_form(&page, &path);
    ada.submit(&path, &form.set("name", "Ada B.")).await.expect(303);
    assert_eq!(tags(&api, id).await, json!(given));
    // What people type.
    for (typed, expected) in [
        ("go, rust,, night owl ,", json!(["go", "rust", "night owl"])),
        ("\"Paris, France\", go", json!(["Paris, France", "go"])),
        ("go,“Paris, France”", json!(["go", "Paris, France"])),
        (" ", json!([])),
    ] {
        let page = ada.get(&path).await.expect(200);
        ada.submit(&path, &edit_form(&page, &path).set("tags", typed)).await.expect(303);
        assert_eq!(tags(&api, id).await, expected, "{typed}");
    }
}

#[tokio::test]
async fn tags_that_are_not_accepted_are_shown_as_they_were_typed() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let id = ada_with(&api, &["go"]).await;
    let path = format!("/dashboard/candidates/{id}/edit");
    let long = "x".repeat(51);
    let many = (0..21).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    let too_many = (0..25).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    for (typed, problem) in [
        (format!("go, \"{long}, a\""), "Tags must be at most 50 characters."),
        (many, "Tags must have at most 20 items."),
        (too_many, "Tags must have at most 20 items."),
    ] {
        let page = ada.get(&path).await.expect(200);
        let again = ada.submit(&path, &edit_form(&page, &path).set("tags", &typed)).await.expect(422);
        assert_eq!(input(&again, "tags"), typed);
        assert!(text_of(&again).contains(problem), "{}", text_of(&again));
    }
    assert_eq!(tags(&api, id).await, json!(["go"]));
    // Somebody changes the tags in the meantime.
    let page = ada.get(&path).await.expect(200);
    api.patch(&format!("/api/v1/candidates/{id}"), json!({ "tags": ["a, b"] })).await.expect(200);
    let stale = ada.submit(&path, &edit_form(&page, &path).set("tags", "rust")).await.expect(412);
    assert!(text_of(&stale).contains("Current version: &#34;a, b&#34;"), "{}", text_of(&stale));
    assert_eq!(input(&stale, "tags"), "rust");
}

#[tokio::test]
async fn a_candidate_is_added_with_a_tag_that_has_a_comma() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let path = "/dashboard/candidates/new";
    let page = ada.get(path).await.expect(200);
    let form = Form::of(&page, path).and("name", "Eve").and("email", "eve@example.com");
    let added = ada.submit(path, &form.and("tags", "go, \"Berlin, Germany\"")).await.expect(303);
    let id = added.header("location").split(['/', '?']).nth(3).unwrap().parse().unwrap();
    assert_eq!(tags(&api, id).await, json!(["go", "Berlin, Germany"]));
}

#[tokio::test]
async fn addresses_in_notes_are_links_and_nothing_else_is() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let id = ada_with(&api, &[]).await;
    let note = "See https://a.example/?x=\"1\"&y=<b>, <script>alert(1)</script>, javascript:alert(1)\nor Bo@b.example.";
    api.post(&format!("/api/v1/candidates/{id}/notes"), json!({ "text": note })).await.expect(201);
    let page = ada.get(&format!("/dashboard/candidates/{id}")).await.expect(200);
    let shown = page
        .text
        .split("<div class=\"text note\" dir=\"auto\">")
        .nth(1)
        .unwrap()
        .split("</div>")
        .next()
        .unwrap();
    let rel = "rel=\"nofollow noopener noreferrer\"";
    assert_eq!(
        shown,
        format!(
            "<p>See <a href=\"https://a.example/?x=\" {rel}>https://a.example/?x=</a>\"1\"&amp;y=<strong>, \
             &lt;script&gt;alert(1)&lt;/script&gt;, javascript:alert(1)<br>\nor <a href=\"mailto:Bo@b.example\" \
             {rel}>Bo@b.example</a>.</strong></p>\n"
        )
    );
    // What a candidate wrote is only text.
    assert_eq!(page.text.matches(rel).count(), 2);
}

/// The sign comes with the first note and goes with the last one, and neither is a change of the candidate.
#[tokio::test]
async fn a_card_has_a_sign_while_there_are_notes() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    api.post(&format!("/api/v1/roles/{role}/publish"), json!({})).await.expect(200);
    let id = add(&api, json!({ "name": "Ada", "email": "ada@x.example", "role_id": role })).await;
    let notes = format!("/api/v1/candidates/{id}/notes");
    let has_sign = async || {
        let page = ada.get(&format!("/dashboard/roles/{role}")).await.expect(200);
        page.text.contains("with notes")
    };
    assert!(!has_sign().await);
    let before = api.get(&format!("/api/v1/candidates/{id}")).await.expect(200).body["updated_at"].clone();
    let mut added = Vec::new();
    for text in ["one", "two"] {
        added.push(api.post(&notes, json!({ "text": text })).await.expect(201).number("/id"));
        assert!(has_sign().await);
    }
    let delete = async |note: u64| {
        api.request(Method::DELETE, &format!("{notes}/{note}")).send().await.expect(200);
    };
    delete(added[0]).await;
    assert!(has_sign().await);
    delete(added[1]).await;
    assert!(!has_sign().await);
    let after = api.get(&format!("/api/v1/candidates/{id}")).await.expect(200).body["updated_at"].clone();
    assert_eq!(before, after);
}

#[tokio::test]
async fn a_card_has_three_tags_and_the_number_of_the_others() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let posted = api.post("/api/v1/quick_post", json!({ "role": { "title": "Cook" } })).await.expect(201);
    let role = posted.number("/role/id");
    for (name, tags) in [("Zero", 0), ("Three", 3), ("Four", 4), ("Five", 5)] {
        let tags: Vec<_> = (0..tags).map(|number| format!("tag{number}")).collect();
        let email = format!("{name}@example.com");
        add(&api, json!({ "name": name, "email": email, "tags": tags, "role_id": role })).await;
    }
    let page = ada.get(&format!("/dashboard/roles/{role}")).await.expect(200);
    let card = |name: &str| {
        let card = page.text.split("data-card=").find(|card| card.contains(name)).unwrap();
        (card.matches("class=\"tag\"").count(), card.contains("tag3"), text_in(card))
    };
    assert_eq!(card("Zero").0, 0);
    let (shown, has_fourth, text) = card("Three");
    assert!(shown == 3 && !has_fourth && !text.contains("more tag"), "{text}");
    for (name, expected) in [("Four", "+1 more tag "), ("Five", "+2 more tags ")] {
        let (shown, has_fourth, text) = card(name);
        assert!(shown == 3 && !has_fourth && text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn a_row_of_the_list_has_the_tags_that_are_seen_whole() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let (long, short) = ("a tag that needs a row alone", "short");
    let people = [
        ("Ada Lovelace", vec![short, "cook", "third"], vec![short], "+2"),
        ("Grace", vec![short, "cook", "third"], vec![short, "cook"], "+1"),
        ("Joan", vec![short, long], vec![short], "+1"),
        ("Mary", vec![long, short], vec![], "+2"),
        ("A name that is longer than a row", vec![short], vec![], "+1"),
    ];
    for (number, (name, tags, ..)) in people.iter().enumerate() {
        add(&api, json!({ "name": name, "email": format!("{number}@example.com"), "tags": tags })).await;
    }
    let page = ada.get("/dashboard/candidates").await.expect(200);
    for (name, _, shown, more) in people {
        let row = page.text.split("<tr").find(|row| row.contains(&format!("<bdi>{name}</bdi>"))).unwrap();
        let links: Vec<_> =
            row.split("class=\"badge\"").skip(1).map(|link| text_in(&format!("<a{link}"))).collect();
        assert!(
            links.len() == shown.len() && links.iter().zip(&shown).all(|(link, tag)| link.starts_with(*tag)),
            "{row}"
        );
        assert!(text_in(row).contains(more), "{row}");
    }
}

/// The text without elements, with single spaces.
fn text_in(html: &str) -> String {
    let text = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    text.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ") + " "
}

#[tokio::test]
async fn moves_back_are_told_from_moves_forward() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let posted = api.post("/api/v1/quick_post", json!({ "role": { "title": "Cook" } })).await.expect(201);
    let role = posted.number("/role/id");
    let id = add(&api, json!({ "name": "Ada", "email": "ada@example.com", "role_id": role })).await;
    let path = format!("/dashboard/candidates/{id}");
    for (stage, forward, back) in [
        ("applied", &["screening", "interview", "offer"][..], &[][..]),
        ("screening", &["interview", "offer"], &["applied"]),
        ("interview", &["offer"], &["applied", "screening"]),
        ("offer", &[], &["applied", "screening", "interview"]),
    ] {
        if stage != "applied" {
            api.post(&format!("/api/v1/candidates/{id}/advance"), json!({ "stage": stage }))
                .await
                .expect(200);
        }
        let page = ada.get(&path).await.expect(200);
        assert!(actions(&page).contains(&format!("{path}/move")));
        let bar = page.text.split("aria-label=\"Decision\"").nth(1).unwrap().split("</form>").next().unwrap();
        let moves = |is_back: bool| -> Vec<String> {
            let buttons = bar.split("<button ").skip(1).filter(|button| button.contains("name=\"to\""));
            let buttons = buttons.filter(|button| button.contains("is-back") == is_back);
            buttons
                .map(|button| text_in(button.split("</button>").next().unwrap().split_once('>').unwrap().1))
                .collect()
        };
        let expected = |begin: &str, stages: &[&str]| {
            stages.iter().map(|stage| format!("{begin}{stage} ")).collect::<Vec<_>>()
        };
        assert_eq!(moves(false), expected("Move to ", forward), "{stage}");
        assert_eq!(moves(true), expected("← Move back to ", back), "{stage}");
        let board = ada.get(&format!("/dashboard/roles/{role}")).await.expect(200);
        assert_eq!(board.text.matches("is-back").count(), back.len(), "{stage}");
    }
}
