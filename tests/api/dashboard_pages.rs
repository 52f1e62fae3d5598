//! The content of the dashboard's pages: lists, filters, usage, both modes, and escaping.

use std::collections::BTreeSet;

use futures_util::stream::{self, StreamExt};
use http::Method;
use serde_json::{Value, json};
use shared::model::{Mode, Stage};
use tests::browser::{Browser, form};
use tests::dashboard::{connect_app, escaped, links, owner};
use tests::interceptor::Fault;
use tests::{ACME, Fixtures, GLOBEX, Response, TestApi, tenant};

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

/// Returns the page's text without tags, with single spaces.
pub(crate) fn text_of(page: &Response) -> String {
    let text: String = page
        .text
        .split('<')
        .map(|part| part.split_once('>').map_or(part, |(_, text)| text))
        .collect::<Vec<_>>()
        .join(" ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Opens every page of a list. Returns the links of its rows in order, and the number of pages.
async fn walk(browser: &Browser<'_>, list: &str, under: &str) -> (Vec<String>, usize) {
    let (mut path, mut seen, mut pages) = (list.to_owned(), Vec::new(), 0);
    loop {
        let page = browser.get(&path).await.expect(200);
        pages += 1;
        // The list of candidates also links to the form that adds one.
        seen.extend(
            links(&page, under)
                .into_iter()
                .map(|link| link.split('?').next().unwrap().to_owned())
                .filter(|link| !link[under.len()..].contains(|c: char| !c.is_ascii_digit())),
        );
        let next = page.text.split("rel=\"next\" href=\"").nth(1).and_then(|rest| rest.split('"').next());
        let Some(next) = next else { return (seen, pages) };
        path = next.replace("&#38;", "&");
        assert!(path.starts_with(list.split('?').next().unwrap()) && pages < 20, "{path}");
    }
}

#[tokio::test]
async fn the_forms_have_every_field_of_the_api() {
    let api = TestApi::new().await;
    let Fixtures { role, candidate, .. } = Fixtures::new(&api).await;
    let (ada, document) = (acme(&api).await, serde_json::from_str::<Value>(docs::DOCUMENT).unwrap());
    for (page, schema, prefix) in [
        ("quick-post", "RoleInput", "role."),
        (&format!("roles/{role}/edit"), "RolePatch", ""),
        (&format!("roles/{role}/posting"), "JobPostingPatch", ""),
        ("candidates/new", "CandidateInput", ""),
        (&format!("candidates/{candidate}/edit"), "CandidatePatch", ""),
    ] {
        let form = ada.get(&format!("/dashboard/{page}")).await.expect(200).text;
        let fields = document["components"]["schemas"][schema]["properties"].as_object().unwrap().keys();
        // The form has the pay, of which an annual salary is one. Questions have a form of their own, and people answer them.
        let elsewhere =
            |field: &str| field.starts_with("salary_") || matches!(field, "questions" | "answers");
        for field in fields.filter(|field| !elsewhere(field)) {
            let has = |end| form.contains(&format!(" name=\"{prefix}{field}{end}"));
            assert!(has("\"") || has("."), "{page} has no field for {field}");
        }
    }
}

async fn create_roles(api: &TestApi, count: usize) {
    let insert = async |number: usize| {
        let posted =
            json!({ "role": { "title": format!("Role {number}") }, "publish": number.is_multiple_of(2) });
        api.post("/api/v1/quick_post", posted).await.expect(201);
    };
    stream::iter(0..count).for_each_concurrent(8, insert).await;
}

#[tokio::test]
async fn sixty_roles_fill_three_pages_without_duplicates() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    create_roles(&api, 60).await;
    let (seen, pages) = walk(&browser, "/dashboard/roles", "/dashboard/roles/").await;
    let mut newest_first = seen.clone();
    newest_first
        .sort_by_key(|path| std::cmp::Reverse(path.rsplit('/').next().unwrap().parse::<u64>().unwrap()));
    assert_eq!((seen.len(), pages, &seen), (60, 3, &newest_first));
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 60);
    let (open, _) = walk(&browser, "/dashboard/roles?status=open", "/dashboard/roles/").await;
    let (draft, _) = walk(&browser, "/dashboard/roles?status=draft", "/dashboard/roles/").await;
    assert_eq!((open.len(), draft.len()), (30, 30));
    assert_eq!(open.iter().chain(&draft).collect::<BTreeSet<_>>(), seen.iter().collect());
    let (closed, pages) = walk(&browser, "/dashboard/roles?status=closed", "/dashboard/roles/").await;
    assert_eq!((closed.len(), pages), (0, 1));
    let (postings, pages) = walk(&browser, "/dashboard/postings", "/dashboard/roles/").await;
    assert_eq!((postings.len(), pages), (60, 3));
    assert_eq!(postings.iter().collect::<BTreeSet<_>>(), seen.iter().collect());
    let overview = text_of(&browser.get("/dashboard").await.expect(200));
    assert!(overview.contains("Open roles 30"), "{overview}");
    assert_eq!(
        links(&browser.get("/dashboard").await.expect(200), "/dashboard/roles/").len(),
        10,
        "the newest"
    );
}

#[tokio::test]
async fn a_full_last_page_has_no_next_link() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    create_roles(&api, 25).await;
    let page = browser.get("/dashboard/roles").await.expect(200);
    assert_eq!(links(&page, "/dashboard/roles/").len(), 25);
    for list in ["/dashboard/roles", "/dashboard/roles?status=", "/dashboard/postings"] {
        let (_, pages) = walk(&browser, list, "/dashboard/roles/").await;
        assert_eq!(pages, 1, "{list}");
    }
}

#[tokio::test]
async fn sixty_candidates_are_paged_without_duplicates_under_every_filter() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    let role = api.post("/api/v1/quick_post", json!({ "role": { "title": "x" } })).await.number("/role/id");
    let insert = async |number: usize| {
        let role = number.is_multiple_of(2).then_some(role);
        let body = json!({ "name": format!("C{number}"), "email": format!("c{number}@example.com"), "role_id": role });
        let id = api.post("/api/v1/candidates", body).await.expect(201).number("/id");
        if number.is_multiple_of(4) {
            let path = format!("/api/v1/candidates/{id}/advance");
            api.post(&path, json!({ "stage": "offer" })).await.expect(200);
        }
    };
    stream::iter(0..60).for_each_concurrent(8, insert).await;
    let under = "/dashboard/candidates/";
    let (all, pages) = walk(&browser, "/dashboard/candidates", under).await;
    assert_eq!((all.len(), pages, all.iter().collect::<BTreeSet<_>>().len()), (60, 3, 60));
    for (query, count) in [
        ("stage=offer".to_owned(), 15),
        ("stage=applied".to_owned(), 45),
        ("stage=hired".to_owned(), 0),
        (format!("role_id={role}"), 30),
        (format!("role_id={role}&stage=offer"), 15),
        (format!("role_id={role}&stage=applied"), 15),
        ("stage=&role_id=".to_owned(), 60),
    ] {
        let (seen, _) = walk(&browser, &format!("/dashboard/candidates?{query}"), under).await;
        assert_eq!((seen.len(), seen.iter().collect::<BTreeSet<_>>().len()), (count, count), "{query}");
    }
    let page = text_of(&browser.get(&format!("/dashboard/roles/{role}")).await.expect(200));
    assert!(page.contains("Applicants 30"), "{page}");
    let pipeline = browser.get(&format!("/dashboard/roles/{role}")).await.expect(200);
    assert_eq!(pipeline.text.matches("data-card=").count(), 30, "all candidates in open stages");
    assert_eq!(
        links(&pipeline, &format!("/dashboard/candidates?role_id={role}&stage=")).len(),
        2,
        "links to the rest of the candidates"
    );
}

#[tokio::test]
async fn unknown_filters_get_404() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    for (path, status) in [
        ("/dashboard/roles?status=nonsense", 404),
        ("/dashboard/roles?status=Open", 404),
        ("/dashboard/candidates?stage=open", 404),
        ("/dashboard/candidates?role_id=x", 404),
        ("/dashboard/candidates?role_id=17", 404),
        ("/dashboard/roles?status=", 200),
        ("/dashboard/roles?unknown=1", 200),
        ("/dashboard/roles?before=x", 200),
        ("/dashboard/roles?before=0000000000000001", 200),
        ("/dashboard/candidates?before=%00", 200),
    ] {
        let response = browser.get(path).await.expect(status);
        assert_eq!(response.header("content-type"), "text/html; charset=utf-8", "{path}");
    }
}

#[tokio::test]
async fn a_candidates_page_shows_the_full_history() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    let fixtures = Fixtures::new(&api).await;
    api.run_tasks().await;
    api.clock.set("2026-11-20T09:31:00Z");
    api.run_tasks().await;
    let path = format!("/api/v1/candidates/{}/reject", fixtures.candidate);
    api.post(&path, json!({ "reason": "Not <now>" })).await.expect(200);
    let page = browser.get(&format!("/dashboard/candidates/{}", fixtures.candidate)).await.expect(200);
    let text = text_of(&page);
    for part in [
        "Jane",
        "rejected",
        "20 Nov 2026",
        "added manually",
        "out of 100",
        "Added",
        "Applied for x",
        "Invited to a voice screen for x",
        "Completed a voice screen for x",
        "Moved from applied to screening for x",
        "Rejected at the screening stage for x: Not &#60;now&#62;",
        "Acme demonstration (API key)",
        ", voice provider",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("voice provider ("), "only keys, applications and members choose their names");
    assert_eq!(links(&page, "/dashboard/roles/"), [format!("/dashboard/roles/{}", fixtures.role)]);
    let role = text_of(&browser.get(&format!("/dashboard/roles/{}", fixtures.role)).await.expect(200));
    for part in ["Applicants 1", "Voice screens 1", "Completed 1", "published", "/careers/acme/x"] {
        assert!(role.contains(part), "{part}: {role}");
    }
}

#[tokio::test]
async fn usage_covers_today_and_the_last_30_days_on_every_plan() {
    let api = TestApi::new().await;
    let requests = async |demo, mode, count: usize| {
        for _ in 0..count {
            api.request(Method::GET, "/api/v1/organization").key(demo, mode).send().await.expect(200);
        }
    };
    // If the counter's partition is throttled, a Pro organization's requests are counted on shards.
    let throttle = |on: bool| {
        api.dynamodb.inject_faults(move |operation, request| {
            let gate = request["UpdateExpression"] == "ADD #day :cost"
                && request["ConditionExpression"].is_string()
                && operation == "UpdateItem";
            (on && gate).then_some(Fault::Throttled)
        });
    };
    for (day, live, sharded, test, free) in [
        ("2026-10-21", 9, 0, 0, 0),
        ("2026-10-22", 2, 1, 0, 0),
        ("2026-11-19", 3, 4, 5, 6),
        ("2026-11-20", 7, 8, 9, 10),
    ] {
        api.clock.set(&format!("{day}T12:00:00Z"));
        // The job has not run today, so yesterday's usage is not archived yet.
        if day != "2026-11-20" {
            usage_reset::run(api.environment.clone()).await.unwrap();
        }
        requests(ACME, Mode::Live, live).await;
        throttle(true);
        requests(ACME, Mode::Live, sharded).await;
        throttle(false);
        requests(ACME, Mode::Test, test).await;
        requests(GLOBEX, Mode::Live, free).await;
    }
    let browser = acme(&api).await;
    let page = browser.get("/dashboard").await.expect(200);
    let text = text_of(&page);
    for part in [
        "15 today, no limit",
        "Last 30 days: 25 peak: 15 a day",
        "20 Nov 2026: 15",
        "19 Nov 2026: 7",
        "22 Oct 2026: 3",
        "1 Nov 2026: 0",
        "Pro plan, $99 a month",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("21 Oct 2026"), "30 days, today included");
    assert_eq!(page.text.matches("<rect ").count(), 30);
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    let text = text_of(&browser.get("/dashboard").await.expect(200));
    assert!(text.contains("9 today, no limit") && text.contains("Last 30 days: 14"), "{text}");
    let globex = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    let text = text_of(&globex.get("/dashboard").await.expect(200));
    assert!(
        text.contains("10 of 100 today")
            && text.contains("Free plan, $0 a month")
            && text.contains("Last 30 days: 16")
    );
}

#[tokio::test]
async fn an_empty_organization_sees_the_first_steps() {
    let api = TestApi::new().await;
    for mode in Mode::ALL {
        let browser = acme(&api).await;
        browser.post("/dashboard/mode", &[("mode", mode.as_str())]).await.expect(303);
        for (path, part) in [
            ("/dashboard", "Make your first request"),
            ("/dashboard", "No candidates yet"),
            ("/dashboard/roles", "No roles yet"),
            ("/dashboard/roles?status=open", "No open roles."),
            ("/dashboard/postings", "No postings yet"),
            ("/dashboard/candidates", "No candidates yet"),
            ("/dashboard/candidates?stage=offer", "No candidates match these filters."),
        ] {
            let page = browser.get(path).await.expect(200);
            assert!(page.text.contains(part), "{path}: {part}");
            assert!(!page.text.contains("rel=\"next\"") && !page.text.contains("<table"), "{path}");
        }
    }
}

#[tokio::test]
async fn test_data_appears_only_in_test_mode() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    let create = async |path: &str, body| {
        let request = api.request(Method::POST, path).key(ACME, Mode::Test).json(&body);
        request.send().await.expect(201)
    };
    create("/api/v1/quick_post", json!({ "role": { "title": "Rehearsal" } })).await;
    create(
        "/api/v1/candidates",
        json!({ "name": "Understudy", "email": "u@example.com", "source": "Stage door" }),
    )
    .await;
    for (mode, is_shown) in [("live", false), ("test", true)] {
        browser.post("/dashboard/mode", &[("mode", mode)]).await.expect(303);
        for (path, part) in [
            ("/dashboard", "Rehearsal"),
            ("/dashboard", "Stage door"),
            ("/dashboard/roles", "Rehearsal"),
            ("/dashboard/postings", "Rehearsal"),
            ("/dashboard/candidates", "Understudy"),
            ("/dashboard", "Test data."),
        ] {
            assert_eq!(browser.get(path).await.expect(200).text.contains(part), is_shown, "{mode} {path}");
        }
    }
}

const HOSTILE: [&str; 20] = [
    "<script>alert(1)</script>",
    "</title><script>alert(2)</script>",
    "\"><img src=x onerror=alert(3)>",
    "' onmouseover='alert(4)",
    "<svg/onload=alert(5)>",
    "&lt;b&gt; & <i>",
    "--><!-- <b>",
    "]]><b>",
    "<iframe src=\"javascript:alert(6)\">",
    "<a href='javascript:alert(7)'>x</a>",
    "{{ 7 * 7 }} <b>",
    "{% include \"x\" %} <b>",
    "<base href=//evil.example>",
    "<form action=//evil.example>",
    "<meta http-equiv=refresh content=0>",
    "<style>*{display:none}</style>",
    "</textarea></table><b>",
    "<\u{200b}b> \u{202e}evil <b>",
    "<b>\t<i>",
    "ＬＯＮＧ<b>日本語🦀 & co",
];

/// Asserts that the page contains the escaped payload after each of these letters.
fn assert_text(page: &Response, context: &str, marks: &str, payload: &str) {
    for mark in marks.chars() {
        let text = format!("{mark}{payload}");
        assert!(!page.text.contains(&text), "{context}: {text}");
        assert!(page.text.contains(&escaped(&text)), "{context}: {text} is not shown: {}", page.text);
    }
}

#[tokio::test]
async fn text_from_the_api_is_escaped() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    for (number, payload) in HOSTILE.iter().enumerate() {
        let role = json!({ "role": {
            "title": format!("T{payload}"), "department": format!("D{payload}"), "location": format!("L{payload}")
        } });
        let role = api.post("/api/v1/quick_post", role).await.expect(201).number("/role/id");
        let jane = json!({
            "name": format!("N{payload}"), "email": format!("e{number}@example.com"), "role_id": role,
            "source": format!("S{payload}"), "resume_url": "https://example.com/?a=\"'<b>&c"
        });
        let jane = api.post("/api/v1/candidates", jane).await.expect(201).number("/id");
        assert_text(
            &browser.get(&format!("/dashboard/roles/{role}")).await.expect(200),
            "board",
            "N",
            payload,
        );
        let reject = format!("/api/v1/candidates/{jane}/reject");
        api.post(&reject, json!({ "reason": format!("R{payload}") })).await.expect(200);
        let jane = format!("/dashboard/candidates/{jane}");
        for (path, marks) in [
            ("/dashboard", "TS"),
            (&format!("/dashboard/roles/{role}"), "TDL"),
            (&format!("/dashboard/candidates?role_id={role}"), "TN"),
            (&jane, "NRT"),
        ] {
            assert_text(&browser.get(path).await.expect(200), path, marks, payload);
        }
        let page = browser.get(&jane).await.expect(200);
        let link = "href=\"https://example.com/?a=&#34;&#39;&#60;b&#62;&#38;c\"";
        assert!(page.text.contains(link), "{}", page.text);
    }
    for (path, marks) in
        [("/dashboard/roles", "TDL"), ("/dashboard/postings", "T"), ("/dashboard/candidates", "N")]
    {
        let page = browser.get(path).await.expect(200);
        for payload in HOSTILE {
            assert_text(&page, path, marks, payload);
        }
    }
}

#[tokio::test]
async fn text_from_forms_is_escaped() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    let acme = tenant(ACME, Mode::Live);
    let (members, keys) = ("/dashboard/settings/members", "/dashboard/settings/integrations/api-keys");
    for (number, payload) in HOSTILE.iter().enumerate() {
        connect_app(&api.environment, acme, acme.organization, &format!("A{payload}")).await;
        let email = format!("e{number}@members.example");
        let fields = [("name", &*format!("M{payload}")), ("email", &email), ("role", "member")];
        assert_text(&browser.post(members, &fields).await.expect(200), members, "M", payload);
        let key = browser.post(keys, &[("name", &format!("K{payload}")), ("scope", "roles:read")]).await;
        assert_text(&key.expect(200), keys, "K", payload);

        // Values that an invalid form shows again.
        let fields =
            [("name", &*format!("Y{payload}")), ("email", &format!("Z{payload}")), ("role", payload)];
        assert_text(&browser.post(members, &fields).await.expect(422), members, "YZ", payload);
        let page = browser.post(keys, &[("name", ""), ("expires_in_days", &format!("X{payload}"))]).await;
        assert_text(&page.expect(422), keys, "X", payload);
        let signed_out = Browser::new(&api).at([10, 0, 0, u8::try_from(number).unwrap()]);
        let page = signed_out.submit_sign_in(&format!("E{payload}"), &"x".repeat(1_025)).await.expect(401);
        assert_text(&page, "sign-in", "E", payload);
        let query =
            form(&[("return_to", payload), ("done", payload), ("failed", payload), ("token", payload)]);
        for (browser, path) in [
            (&signed_out, "/dashboard/sign-in"),
            (&signed_out, "/dashboard/password"),
            (&browser, "/dashboard"),
            (&browser, members),
        ] {
            let page = browser.get(&format!("{path}?{query}")).await;
            assert!(page.status < 500 && !page.text.contains(payload), "{path}");
            assert!(
                !page.text.contains("role=\"status\"") && !page.text.contains("role=\"alert\""),
                "{path}"
            );
        }
    }
    for (path, mark) in
        [(keys, "K"), (members, "M"), ("/dashboard/settings/integrations/connected-apps", "A")]
    {
        let page = browser.get(path).await.expect(200);
        for payload in HOSTILE {
            assert_text(&page, path, mark, payload);
        }
    }
}

#[tokio::test]
async fn pages_show_values_of_maximum_length() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    let (long, place) = ("W".repeat(200), "M".repeat(100));
    let role = json!({ "role": {
        "title": long, "department": place, "location": long, "country": "DE", "remote_policy": "remote",
        "employment_type": "full_time", "description": "d".repeat(20_000), "salary_min": 0,
        "salary_max": 100_000_000, "salary_currency": "EUR",
    } });
    let role = api.post("/api/v1/quick_post", role).await.expect(201).number("/role/id");
    let email = format!("{}@{}.example", "a".repeat(64), "b".repeat(60));
    let jane = json!({ "name": long, "email": email, "phone": "+14155550100", "role_id": role });
    let jane = api.post("/api/v1/candidates", jane).await.expect(201).number("/id");
    for stage in Stage::ALL {
        browser
            .get(&format!("/dashboard/candidates?role_id={role}&stage={}", stage.as_str()))
            .await
            .expect(200);
    }
    let page = browser.get(&format!("/dashboard/roles/{role}")).await.expect(200);
    for part in [&*long, &place, "Germany", "Remote", "Full-time", "€0 to €100,000,000 a year"] {
        assert!(page.text.contains(part), "{part}");
    }
    api.patch(&format!("/api/v1/roles/{role}"), json!({ "title": "Renamed" })).await.expect(200);
    assert!(browser.get("/dashboard/postings").await.expect(200).text.contains("Renamed"));
    let page = browser.get(&format!("/dashboard/candidates/{jane}")).await.expect(200);
    assert!(page.text.contains(&email) && page.text.contains("href=\"tel:+14155550100\""));
    browser.get("/dashboard/roles").await.expect(200);
}
