//! Who may edit a note, what remains of an edit, and how pages show a note.

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::model::{MemberRole, Mode, Scopes};
use tests::browser::{Browser, Form};
use tests::dashboard::{add_member, connect_app, owner};
use tests::{ACME, GLOBEX, Response, TestApi, key_actor, tenant};

use crate::access::new_key;
use crate::erasures::erase;

const CANDIDATES: &str = "/api/v1/candidates";

async fn candidate(api: &TestApi, name: &str) -> u64 {
    let person = json!({ "name": name, "email": format!("{name}@example.com") });
    api.post(CANDIDATES, person).await.expect(201).number("/id")
}

/// Adds a note with the key. Returns the path of the note.
async fn note(api: &TestApi, candidate: u64, text: &str) -> String {
    let notes = format!("{CANDIDATES}/{candidate}/notes");
    let id = api.post(&notes, json!({ "text": text })).await.expect(201).number("/id");
    format!("{notes}/{id}")
}

/// The notes, newest first.
async fn notes(api: &TestApi, candidate: u64) -> Vec<Value> {
    let listed = api.get(&format!("{CANDIDATES}/{candidate}/notes")).await.expect(200);
    listed.body["data"].as_array().unwrap().clone()
}

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

/// Adds a note in the dashboard. Returns its identifier.
async fn note_of(api: &TestApi, browser: &Browser<'_>, candidate: u64, text: &str) -> u64 {
    let path = format!("/dashboard/candidates/{candidate}/notes");
    browser.post(&path, &[("text", text)]).await.expect(303);
    let notes = notes(api, candidate).await;
    notes.iter().find(|note| note["text"] == text).unwrap()["id"].as_u64().unwrap()
}

async fn page(browser: &Browser<'_>, candidate: u64) -> Response {
    browser.get(&format!("/dashboard/candidates/{candidate}")).await.expect(200)
}

/// The HTML of the notes on a page, newest first.
fn shown(page: &Response) -> Vec<String> {
    let notes = page.text.split("<div class=\"text note\" dir=\"auto\">").skip(1);
    notes.map(|rest| rest.split("</div>").next().unwrap().trim().to_owned()).collect()
}

#[tokio::test]
async fn the_author_changes_the_text_of_a_note() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    let path = note(&api, jane, "one").await;
    let before = api.get(&format!("{CANDIDATES}/{jane}")).await.expect(200);
    api.clock.set("2026-11-20T10:00:00Z");
    let edited = api.patch(&path, json!({ "text": " two\r\nlines " })).await.expect(200);
    let expected = json!({
        "id": edited.number("/id"), "candidate_id": jane, "text": "two\nlines",
        "actor": key_actor(ACME, Mode::Live), "created_at": "2026-11-20T09:30:00.000Z",
        "updated_at": "2026-11-20T10:00:00.000Z",
    });
    assert_eq!(edited.body, expected);
    assert_eq!(json!(notes(&api, jane).await), json!([expected]));
    let after = api.get(&format!("{CANDIDATES}/{jane}")).await.expect(200);
    assert_eq!(after.string("/updated_at"), before.string("/updated_at"), "the candidate is unchanged");
    let touchpoint = &after.body["touchpoints"][0];
    assert_eq!(
        (&touchpoint["kind"], &touchpoint["detail"]),
        (&json!("note_updated"), &json!({ "note_id": expected["id"] }))
    );
    assert!(!after.text.contains("lines"), "the history has no texts");
    let export = api.get(&format!("{CANDIDATES}/{jane}/export")).await.expect(200);
    assert_eq!(export.body["notes"], json!([expected]));

    api.run_feed().await;
    let events = api.get("/api/v1/events?type=note.updated").await.expect(200);
    let [event] = events.body["data"].as_array().unwrap().as_slice() else { panic!("{}", events.text) };
    assert_eq!((&event["changed"], &event["data"]), (&json!(["text"]), &json!({ "candidate_id": jane })));
    assert_eq!(event["subject"]["id"], expected["id"]);

    // The same text again is no edit.
    api.clock.set("2026-11-20T11:00:00Z");
    let same = api.patch(&path, json!({ "text": "two\nlines" })).await.expect(200);
    assert_eq!((&same.body, same.header("etag")), (&expected, edited.header("etag")));
}

#[tokio::test]
async fn an_edit_is_refused_if_the_text_or_the_version_is_wrong() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    let path = note(&api, jane, "one").await;
    for (body, message) in [
        (json!({}), "text can't be blank"),
        (json!({ "text": null }), "text can't be blank"),
        (json!({ "text": " " }), "text can't be blank"),
        (json!({ "text": "x".repeat(5_001) }), "text must be at most 5000 characters"),
        (json!({ "text": "x", "actor": {} }), "actor is not a known field"),
    ] {
        assert_eq!(api.patch(&path, body).await.expect(422).messages(), [message]);
    }
    let longest = "x".repeat(5_000);
    let edited = api.patch(&path, json!({ "text": longest })).await.expect(200);
    let patch = |tag: &str, text: &str| {
        let request = api.request(Method::PATCH, &path).header("if-match", tag);
        request.json(&json!({ "text": text })).send()
    };
    patch("\"another\"", "three").await.expect(412);
    let third = patch(edited.header("etag"), "three").await.expect(200);
    patch(edited.header("etag"), "four").await.expect(412);
    assert_ne!(third.header("etag"), edited.header("etag"));
    assert_eq!(notes(&api, jane).await[0]["text"], "three");
}

#[tokio::test]
async fn nobody_else_edits_a_note() {
    let api = TestApi::new().await;
    let (jane, live) = (candidate(&api, "jane").await, tenant(ACME, Mode::Live));
    let other_key = new_key(&api, live, 50, Scopes::all(), None).await;
    let ada = owner(&api, ACME).await;
    let (_, token) = connect_app(&api.environment, live, ada.id, "Assistant").await;
    let browser = acme(&api).await;
    let of_key = note(&api, jane, "by the key").await;
    let of_ada = format!("{CANDIDATES}/{jane}/notes/{}", note_of(&api, &browser, jane, "by Ada").await);
    let edit = |path: &str, bearer: &str| {
        api.request(Method::PATCH, path).bearer(bearer).json(&json!({ "text": "changed" })).send()
    };
    let of_app = api.request(Method::POST, &format!("{CANDIDATES}/{jane}/notes")).bearer(token.reveal());
    let of_app = of_app.json(&json!({ "text": "by the app" })).send().await.expect(201).number("/id");
    let of_app = format!("{CANDIDATES}/{jane}/notes/{of_app}");
    let key = tests::key(ACME, Mode::Live);
    for (path, bearer) in [
        (&of_key, other_key.reveal()),
        (&of_key, token.reveal()),
        (&of_ada, key.as_str()),
        (&of_ada, token.reveal()),
        (&of_app, key.as_str()),
    ] {
        let refused = edit(path, bearer).await.expect(403);
        assert_eq!(
            (refused.string("/code"), refused.string("/error")),
            ("forbidden", "Only the author of a note may edit it")
        );
    }
    edit(&of_app, token.reveal()).await.expect(200);
    // An owner edits nothing of others, and sees no form for it.
    for path in [&of_key, &of_app] {
        let form = format!("{}/edit", path.replace("/api/v1", "/dashboard"));
        assert!(!page(&browser, jane).await.text.contains(&form));
        let refused = browser.post(&form, &[("text", "typed by Ada")]).await.expect(403);
        assert!(refused.text.contains("typed by Ada"), "what was typed stays: {}", refused.text);
    }
    let jo = add_member(&api, ACME, "Jo", MemberRole::Owner).await;
    let jos = Browser::with_session(&api, ACME, &jo).await;
    let form = format!("{}/edit", of_ada.replace("/api/v1", "/dashboard"));
    assert!(page(&browser, jane).await.text.contains(&form) && !page(&jos, jane).await.text.contains(&form));
    jos.post(&form, &[("text", "changed")]).await.expect(403);
    let notes = notes(&api, jane).await;
    let mut texts: Vec<_> = notes.iter().map(|note| note["text"].as_str().unwrap()).collect();
    texts.sort_unstable();
    assert_eq!(texts, ["by Ada", "by the key", "changed"]);
}

#[tokio::test]
async fn an_edit_needs_the_note_the_scope_and_no_legal_hold() {
    let api = TestApi::new().await;
    let (jane, joe) = (candidate(&api, "jane").await, candidate(&api, "joe").await);
    let path = note(&api, jane, "one").await;
    let id = path.rsplit('/').next().unwrap();
    for missing in [
        format!("{CANDIDATES}/{joe}/notes/{id}"),
        format!("{CANDIDATES}/17/notes/{id}"),
        format!("{CANDIDATES}/{jane}/notes/17"),
        format!("{CANDIDATES}/{jane}/notes/x"),
    ] {
        api.patch(&missing, json!({ "text": "two" })).await.expect(404);
    }
    for (demo, mode) in [(GLOBEX, Mode::Live), (ACME, Mode::Test)] {
        let foreign = api.request(Method::PATCH, &path).key(demo, mode);
        foreign.json(&json!({ "text": "two" })).send().await.expect(404);
    }
    let hold = api.request(Method::PUT, &format!("{CANDIDATES}/{jane}/legal_hold"));
    hold.json(&json!({ "reason": "A dispute" })).send().await.expect(200);
    assert_eq!(api.patch(&path, json!({ "text": "two" })).await.expect(409).string("/code"), "legal_hold");
    let ada = acme(&api).await;
    let own = note_of(&api, &ada, jane, "by Ada").await;
    let form = format!("/dashboard/candidates/{jane}/notes/{own}/edit");
    assert!(!page(&ada, jane).await.text.contains(&form));
    let refused = ada.post(&form, &[("text", "typed by Ada")]).await.expect(409);
    assert!(refused.text.contains("typed by Ada"), "{}", refused.text);
    assert!(notes(&api, jane).await.iter().all(|note| note["updated_at"].is_null()));
    api.delete(&format!("{CANDIDATES}/{jane}/legal_hold")).await.expect(200);
    erase(&api, jane).await.expect(202);
    api.patch(&path, json!({ "text": "two" })).await.expect(410);
}

#[tokio::test]
async fn edits_at_the_same_time_lose_nothing_silently() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    let path = note(&api, jane, "0").await;
    let tag = api.patch(&path, json!({ "text": "1" })).await.expect(200).header("etag").to_owned();
    let edit = |text: String| {
        let request = api.request(Method::PATCH, &path).header("if-match", &tag);
        async move { request.json(&json!({ "text": text })).send().await }
    };
    let sent = join_all((2..6).map(|number: u64| edit(number.to_string()))).await;
    let mut statuses: Vec<_> = sent.iter().map(|response| response.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412, 412, 412]);
    let won = sent.iter().find(|response| response.status == 200).unwrap();
    assert_eq!(json!(notes(&api, jane).await), json!([won.body]));
    // A deletion at the same time: whatever is last finds what the other has left.
    let (edited, deleted) = tokio::join!(api.patch(&path, json!({ "text": "last" })), api.delete(&path));
    assert!([200, 404].contains(&edited.status) && deleted.status == 200, "{edited:?} {deleted:?}");
    assert!(notes(&api, jane).await.is_empty());
}

#[tokio::test]
async fn members_edit_their_notes_on_the_page() {
    let api = TestApi::new().await;
    let (ada, jane) = (acme(&api).await, candidate(&api, "jane").await);
    let id = note_of(&api, &ada, jane, "First <b>thought</b>").await;
    let path = format!("/dashboard/candidates/{jane}/notes/{id}/edit");
    let before = page(&ada, jane).await;
    assert!(
        before.text.contains("Markdown works. @name tells a colleague.")
            && !before.text.contains(", edited ")
    );
    assert!(before.text.contains("\nFirst &#60;b&#62;thought&#60;/b&#62;</textarea>"), "{}", before.text);
    let form = Form::of(&before, &path);
    api.clock.set("2026-11-20T10:00:00Z");
    let saved = ada.submit(&path, &form.clone().and("text", "Second thought")).await.expect(303);
    let after = ada.follow(&saved).await.expect(200);
    assert!(after.text.contains("Note saved.") && after.text.contains(", edited "), "{}", after.text);
    assert!(after.text.contains("Edited a note"), "the history says so");
    assert_eq!(shown(&after), ["<p>Second thought</p>"]);

    // The form of the first page is about another version: nothing is lost, and both are shown.
    let stale = ada.submit(&path, &form.set("key", "another").and("text", "Third thought")).await.expect(412);
    assert!(stale.text.contains("Third thought") && stale.text.contains("Second thought"), "{}", stale.text);
    let again = Form::of(&stale, &path);
    ada.submit(&path, &again.and("text", "Third thought")).await.expect(303);
    let form = Form::of(&page(&ada, jane).await, &path);
    let long = ada.submit(&path, &form.and("text", &"x".repeat(5_001))).await.expect(422);
    assert!(
        long.text.contains("Note must be at most 5,000 characters.")
            && long.text.contains(&"x".repeat(5_001))
    );
    assert_eq!(notes(&api, jane).await[0]["text"], "Third thought");
    ada.post(&path.replace(&id.to_string(), "17"), &[("text", "x")]).await.expect(404);
}

#[tokio::test]
async fn notes_are_markdown_on_the_page_and_text_in_the_api() {
    let api = TestApi::new().await;
    let (ada, jane) = (acme(&api).await, candidate(&api, "jane").await);
    let link =
        |url: &str, text: &str| format!("<a href=\"{url}\" rel=\"nofollow noopener noreferrer\">{text}</a>");
    let bare = link("https://a.example/b_c_d?e=1&amp;f=(2)", "https://a.example/b_c_d?e=1&amp;f=(2)");
    for (text, html) in [
        ("one\ntwo\n\nthree", "<p>one<br>\ntwo</p>\n<p>three</p>".to_owned()),
        (
            "# Big\n- **a**\n- *b*",
            "<h3>Big</h3>\n<ul>\n<li><strong>a</strong></li>\n<li><em>b</em></li>\n</ul>".to_owned(),
        ),
        ("See https://a.example/b_c_d?e=1&f=(2).", format!("<p>See {bare}.</p>")),
        ("[her page](https://a.example/)", format!("<p>{}</p>", link("https://a.example/", "her page"))),
        ("(Bo@b.example)", format!("<p>({})</p>", link("mailto:Bo@b.example", "Bo@b.example"))),
        ("`https://a.example`", "<p><code>https://a.example</code></p>".to_owned()),
        ("[x](javascript:alert(1)) ![y](https://a.example/p.png)", "<p>x y</p>".to_owned()),
        (
            "<script>alert(1)</script><img src=x onerror=y>",
            "<p>&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=y&gt;</p>".to_owned(),
        ),
        ("javascript:alert(1) data:text/html,x", "<p>javascript:alert(1) data:text/html,x</p>".to_owned()),
        (
            "https://a.example/\"onmouseover=alert(1)",
            format!("<p>{}\"onmouseover=alert(1)</p>", link("https://a.example/", "https://a.example/")),
        ),
    ] {
        let path = note(&api, jane, text).await;
        assert_eq!(shown(&page(&ada, jane).await), [html], "{text}");
        assert_eq!(notes(&api, jane).await[0]["text"], text);
        api.delete(&path).await.expect(200);
    }
}

/// Everything that can be markup, in all orders: no tag and no attribute but those of the renderer.
#[tokio::test]
async fn nothing_of_a_note_gets_out_of_its_markup() {
    const TAGS: [&str; 25] = [
        "p",
        "br",
        "strong",
        "em",
        "a",
        "ul",
        "ol",
        "li",
        "h3",
        "h4",
        "h5",
        "h6",
        "blockquote",
        "code",
        "pre",
        "hr",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "i",
        "b",
        "div",
    ];
    let api = TestApi::new().await;
    let (ada, jane) = (acme(&api).await, candidate(&api, "jane").await);
    let pieces = [
        "@Ada",
        "https://a.example/",
        "<b onclick=x>",
        "\"'>",
        "</div>",
        "`",
        "](javascript:x)",
        "[",
        "&quot;",
        "<a href=\"x\"",
        "mailto:a@b.example?",
        "\n\n",
        "**",
        "<https://c.example/\"x>",
        "\u{202e}",
        "|a|\n|-|\n",
    ];
    for shift in 0..pieces.len() {
        let text: String = (0..60).map(|at| pieces[(at * (shift + 1) + at / 7) % pieces.len()]).collect();
        let path = note(&api, jane, &text).await;
        let html = &shown(&page(&ada, jane).await)[0];
        api.delete(&path).await.expect(200);
        for tag in html.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()) {
            let (name, attributes) = tag.trim_start_matches('/').split_once(' ').unwrap_or((tag, ""));
            let name = name.trim_start_matches('/');
            assert!(TAGS.contains(&name), "{tag}: {html}");
            let link = attributes.strip_prefix("href=\"").and_then(|rest| rest.split_once("\" rel=\""));
            let is_safe = match (name, link) {
                ("a", Some((url, _))) => {
                    ["http://", "https://", "mailto:"].iter().any(|scheme| url.starts_with(scheme))
                }
                ("ol", _) => attributes.starts_with("start="),
                _ => attributes.is_empty(),
            };
            assert!(is_safe || tag == "/a", "{tag}: {html}");
        }
    }
}
