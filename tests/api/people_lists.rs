//! The list of candidates as a workplace: by time in both orders, who waits for the team, who has applied again, saved lists,
//! and the file for spreadsheets.

use std::collections::BTreeSet;

use serde_json::json;
use tests::browser::{Browser, plain};
use tests::dashboard::{links, owner};
use tests::{ACME, GLOBEX, Response, TestApi};

use crate::dashboard_pages::text_of;

const PATH: &str = "/dashboard/candidates";

pub(crate) async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

pub(crate) async fn post_job(api: &TestApi, title: &str) -> u64 {
    let posted = json!({ "role": { "title": title } });
    api.post("/api/v1/quick_post", posted).await.expect(201).number("/role/id")
}

async fn add(api: &TestApi, name: &str, role: u64) -> u64 {
    let body = json!({
        "name": name,
        "email": format!("{}@example.com", name.to_lowercase().replace(' ', ".")),
        "phone": "+493012345678",
        "role_id": role,
    });
    api.post("/api/v1/candidates", body).await.expect(201).number("/id")
}

async fn step(api: &TestApi, id: u64, action: &str, body: serde_json::Value) {
    api.post(&format!("/api/v1/candidates/{id}/{action}"), body).await.expect(200);
}

/// The names on a page, in order.
pub(crate) fn names(page: &Response) -> Vec<String> {
    let rows = page.text.split("<th scope=\"row\">").skip(1);
    rows.map(|row| plain(row.split("<bdi>").nth(1).unwrap().split("</bdi>").next().unwrap())).collect()
}

pub(crate) fn next(page: &Response) -> Option<String> {
    let rest = page.text.split("rel=\"next\" href=\"").nth(1)?;
    Some(plain(rest.split('"').next().unwrap()))
}

/// The names on all pages of a list.
pub(crate) async fn all(browser: &Browser<'_>, path: &str) -> Vec<String> {
    let (mut found, mut page) = (Vec::new(), Some(path.to_owned()));
    while let Some(path) = page {
        let shown = browser.get(&path).await.expect(200);
        found.extend(names(&shown));
        page = next(&shown);
    }
    found
}

/// The figure of the overview whose link leads to this list.
async fn figure(browser: &Browser<'_>, waiting: &str) -> usize {
    let page = browser.get("/dashboard").await.expect(200);
    let link = page.text.split(&format!("{PATH}?waiting={waiting}\"")).nth(1).unwrap();
    link.split("<strong>").nth(1).unwrap().split('<').next().unwrap().replace(',', "").parse().unwrap()
}

#[tokio::test]
async fn the_figures_of_the_overview_lead_to_exactly_their_people() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    for waiting in ["applied", "screened", "offer"] {
        let before = figure(&ada, waiting).await;
        assert_eq!(all(&ada, &format!("{PATH}?waiting={waiting}")).await.len(), before, "{waiting}");
    }
    // Closed roles, roles in pause, people with two applications, and more than a page.
    let [cook, waiter, closed] =
        [post_job(&api, "Cook").await, post_job(&api, "Waiter").await, post_job(&api, "Closed").await];
    let mut expected = BTreeSet::new();
    for number in 0..40 {
        let (name, role) = (format!("P{number}"), if number % 2 == 0 { cook } else { waiter });
        let id = add(&api, &name, role).await;
        if number < 3 {
            let other = json!({ "role_id": if role == cook { waiter } else { cook } });
            api.post(&format!("/api/v1/candidates/{id}/applications"), other).await.expect(201);
        }
        match number % 4 {
            1 => step(&api, id, "advance", json!({ "role_id": role, "stage": "offer" })).await,
            2 => step(&api, id, "reject", json!({ "role_id": role })).await,
            _ => _ = expected.insert(name),
        }
    }
    add(&api, "Never", closed).await;
    api.post(&format!("/api/v1/roles/{cook}/pause"), json!({})).await.expect(200);
    api.delete(&format!("/api/v1/roles/{closed}")).await.expect(200);
    api.run_tasks().await;
    for waiting in ["applied", "offer"] {
        let listed = all(&ada, &format!("{PATH}?waiting={waiting}")).await;
        assert_eq!(listed.len(), figure(&ada, waiting).await, "{waiting}: {listed:?}");
        assert!(!listed.contains(&"Never".to_owned()));
    }
    let listed: BTreeSet<_> = all(&ada, &format!("{PATH}?waiting=applied")).await.into_iter().collect();
    assert!(expected.is_subset(&listed), "{expected:?} in {listed:?}");

    // Somebody whose voice screen has ended waits for a decision, and no longer after it.
    let id = add(&api, "Screened", waiter).await;
    api.post(&format!("/api/v1/candidates/{id}/invite_screen"), json!({ "role_id": waiter }))
        .await
        .expect(201);
    api.run_tasks().await;
    let decide = format!("{PATH}?waiting=screened");
    let listed = all(&ada, &decide).await;
    assert!(listed.contains(&"Screened".to_owned()), "{listed:?}");
    assert_eq!(listed.len(), figure(&ada, "screened").await);
    step(&api, id, "advance", json!({ "role_id": waiter, "stage": "interview" })).await;
    let listed = all(&ada, &decide).await;
    assert!(!listed.contains(&"Screened".to_owned()), "{listed:?}");
    assert_eq!(listed.len(), figure(&ada, "screened").await);
}

#[tokio::test]
async fn the_way_from_person_to_person_leads_through_all_who_wait() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let list = format!("{PATH}?waiting=applied");
    for title in ["Cook", "Waiter"] {
        let role = post_job(&api, title).await;
        for number in 0..15 {
            add(&api, &format!("{title}{number}"), role).await;
        }
    }
    let expected = all(&ada, &list).await;
    let first = ada.get(&list).await.expect(200);
    let mut path =
        links(&first, "/dashboard/candidates/").into_iter().find(|path| path.contains("?list=")).unwrap();
    let mut seen = Vec::new();
    loop {
        let page = ada.get(&path).await.expect(200);
        let name = page.text.split("<h1").nth(1).unwrap().split("<bdi>").nth(1).unwrap();
        seen.push(plain(name.split('<').next().unwrap()));
        match next(&page) {
            Some(following) => path = following,
            None => break,
        }
    }
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_list_begins_with_the_newest_or_the_oldest() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api, "Cook").await;
    let mut expected: Vec<_> = (0..60).map(|number| format!("P{number}")).collect();
    for name in &expected {
        add(&api, name, role).await;
    }
    for list in [
        format!("{PATH}?role_id={role}"),
        format!("{PATH}?role_id={role}&stage=applied"),
        format!("{PATH}?role_id={role}&status=active"),
    ] {
        assert_eq!(all(&ada, &format!("{list}&order=oldest")).await, expected, "{list}");
        expected.reverse();
        assert_eq!(all(&ada, &list).await, expected, "{list}");
        expected.reverse();
    }
    // From person to person in the same order, and back over the edge of a page.
    let oldest = format!("{PATH}?role_id={role}&order=oldest");
    let second = next(&ada.get(&oldest).await.expect(200)).unwrap();
    let page = ada.get(&second).await.expect(200);
    assert_eq!(names(&page)[0], "P25");
    let person =
        links(&page, "/dashboard/candidates/").into_iter().find(|path| path.contains("?list=")).unwrap();
    let person = ada.get(&person).await.expect(200);
    let previous = person.text.split("rel=\"prev\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    let previous = ada.get(&plain(previous)).await.expect(200);
    assert!(previous.text.contains("<bdi>P24</bdi></h1>"), "{}", text_of(&previous));
    // The filters keep the order.
    assert!(
        page.text.contains(&format!("{PATH}?role_id={role}&#38;stage=applied&#38;order=oldest")),
        "{}",
        page.text
    );
}

#[tokio::test]
async fn rows_show_the_application_that_the_list_is_about() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let (cook, waiter) = (post_job(&api, "Cook").await, post_job(&api, "Waiter").await);
    let id = add(&api, "Mia Li", cook).await;
    api.post(&format!("/api/v1/candidates/{id}/applications"), json!({ "role_id": waiter }))
        .await
        .expect(201);
    step(&api, id, "advance", json!({ "role_id": cook, "stage": "interview" })).await;
    let row = async |query: &str| {
        let page = ada.get(&format!("{PATH}?{query}")).await.expect(200);
        let row = page.text.split("<bdi>Mia Li</bdi>").nth(1).unwrap_or_else(|| panic!("{query}"));
        row.split("</tr>").next().unwrap().to_owned()
    };
    let cooking = row(&format!("role_id={cook}")).await;
    assert!(
        cooking.contains("is-interview")
            && cooking.contains("+493012345678")
            && !cooking.contains("data-label=\"Role\"")
    );
    assert!(row(&format!("role_id={waiter}")).await.contains("is-applied"));
    let latest = row("").await;
    assert!(latest.contains(">Waiter</a>") && latest.contains("is-applied"), "{latest}");
    // One row for each application in a list of applications.
    let page = ada.get(&format!("{PATH}?status=active")).await.expect(200);
    assert_eq!(page.text.matches("<bdi>Mia Li</bdi>").count(), 2);
    // A closed role has no active application.
    api.delete(&format!("/api/v1/roles/{cook}")).await.expect(200);
    let page = ada.get(&format!("{PATH}?role_id={cook}&status=active")).await.expect(200);
    assert!(text_of(&page).contains("No candidates match these filters."));
    assert!(row(&format!("role_id={cook}&status=closed")).await.contains("is-closed"));
    for unknown in ["status=x", "waiting=x", "stage=x", "role_id=1", "role_id=x"] {
        ada.get(&format!("{PATH}?{unknown}")).await.expect(404);
    }
}

#[tokio::test]
async fn a_team_saves_lists_under_names() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let globex = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    let save = async |name: &str, query: &str| {
        ada.post(&format!("{PATH}/views"), &[("name", name), ("query", query)]).await
    };
    let saved = save("Offers", "order=x&stage=offer&before=0000000000000007").await.expect(303);
    assert_eq!(saved.header("location"), format!("{PATH}?stage=offer&done=view-saved"));
    save(" offers ", "waiting=offer").await.expect(303);
    save("<b>", "search=Zoë&by=tag").await.expect(303);
    let page = ada.get(PATH).await.expect(200);
    let views =
        page.text.split("aria-label=\"Saved lists\">").nth(1).unwrap().split("</nav>").next().unwrap();
    assert_eq!(
        plain(views.trim()),
        format!(
            "<a href=\"{PATH}?by=tag&search=Zo%C3%AB\"><b></a><a href=\"{PATH}?waiting=offer\">offers</a>"
        )
    );
    assert!(!globex.get(PATH).await.expect(200).text.contains("Saved lists"));
    let page = ada.get(&format!("{PATH}?waiting=offer")).await.expect(200);
    assert!(page.text.contains(&format!("href=\"{PATH}?waiting=offer\" aria-current=\"true\">offers</a>")));
    let gone =
        ada.post(&format!("{PATH}/views"), &[("name", "OFFERS"), ("action", "delete")]).await.expect(303);
    assert_eq!(gone.header("location"), format!("{PATH}?done=view-deleted"));
    assert!(!ada.get(PATH).await.expect(200).text.contains(">offers</a>"));
    // Mistakes are told, and what was typed is shown.
    for (name, query, status) in [("", "", 400), (&*"x".repeat(61), "", 400), ("x", "stage=y", 404)] {
        save(name, query).await.expect(status);
    }
    for number in 1..30 {
        save(&format!("V{number}"), "stage=hired").await.expect(303);
    }
    let refused = save("One more", "stage=hired").await.expect(400);
    assert!(text_of(&refused).contains("at most 30"), "{}", text_of(&refused));
}

#[tokio::test]
async fn a_list_is_downloaded_for_spreadsheets() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api, "Cook").await;
    for number in 0..30 {
        add(&api, &format!("P{number}"), role).await;
    }
    let evil = json!({
        "name": "=HYPERLINK(\"https://evil.example\")",
        "email": "evil@example.com",
        "role_id": role,
        "tags": ["a", "b; c"],
        "source": "+fair",
    });
    let evil = api.post("/api/v1/candidates", evil).await.expect(201).number("/id");
    let file = ada.get(&format!("{PATH}/csv?role_id={role}")).await.expect(200);
    assert_eq!(file.header("content-type"), "application/octet-stream");
    assert_eq!(file.header("content-disposition"), "attachment; filename=\"candidates-2026-11-20.csv\"");
    let text = file.text.strip_prefix('\u{feff}').expect("a byte order mark");
    let lines: Vec<_> = text.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 32);
    assert_eq!(
        lines[0],
        "id,name,email,phone,role,stage,status,ended_by,source,score,tags,applied_at,updated_at"
    );
    let fields = format!(
        "{evil},\"'=HYPERLINK(\"\"https://evil.example\"\")\",evil@example.com,,Cook,applied,active,,'+fair,,\"[\"\"a\"\",\"\"b; c\"\"]\","
    );
    assert!(lines[1].starts_with(&fields), "{}", lines[1]);
    assert!(lines[2].contains("P29,p29@example.com,'+493012345678,Cook,applied,active"), "{}", lines[2]);
    // The same list and order as on the page, and only of this organization.
    let oldest = ada.get(&format!("{PATH}/csv?role_id={role}&stage=applied&order=oldest")).await.expect(200);
    assert!(oldest.text.lines().nth(1).unwrap().contains(",P0,"), "{}", oldest.text);
    let globex = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    let foreign = globex.get(&format!("{PATH}/csv?role_id={role}")).await;
    assert!(foreign.status == 404 || foreign.text.lines().count() == 1, "{}", foreign.text);
    let found = ada.get(&format!("{PATH}/csv?by=tag&search=B%3B+C")).await.expect(200);
    assert_eq!(found.text.lines().count(), 2, "{}", found.text);
}
