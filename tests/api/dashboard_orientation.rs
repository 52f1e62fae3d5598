//! Where members are in the dashboard, and what it tells them: the mode, the time zone, the menu, notices, people who
//! are erased, and names of sources.

use serde_json::json;
use shared::model::{MemberRole, Mode, Profile};
use shared::store::Transaction;
use tests::browser::{Browser, Form, input};
use tests::dashboard::{add_member, links, owner, shown_once};
use tests::{ACME, BASE_URL, Response, TestApi, tenant};

use crate::dashboard_access::DashboardFixtures;
use crate::dashboard_pages::text_of;

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

#[tokio::test]
async fn live_and_test_lead_to_the_same_page_if_both_have_it() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let ada = acme(&api).await;
    for (page, stays) in [
        ("/dashboard", "/dashboard"),
        ("/dashboard/candidates?stage=applied", "/dashboard/candidates"),
        ("/dashboard/quick-post", "/dashboard/quick-post"),
        ("/dashboard/settings/integrations/api-keys", "/dashboard/settings/integrations/api-keys"),
        (&format!("/dashboard/roles/{}", fixtures.role), "/dashboard/roles"),
        (&format!("/dashboard/candidates/{}/edit", fixtures.candidate), "/dashboard/candidates"),
    ] {
        let shown = ada.get(page).await.expect(200);
        let switch = Form::of(&shown, "/dashboard/mode\" aria-label=\"Data");
        assert_eq!(switch.get("return_to"), stays, "{page}");
        let switched = ada.submit("/dashboard/mode", &switch.clone().and("mode", "test")).await.expect(303);
        assert_eq!(switched.header("location"), stays);
        assert!(ada.follow(&switched).await.expect(200).text.contains("<strong>Test data.</strong>"));
        ada.submit("/dashboard/mode", &switch.and("mode", "live")).await.expect(303);
    }
    for elsewhere in ["https://evil.example/", "//evil.example", ""] {
        let fields = [("mode", "live"), ("return_to", elsewhere)];
        let switched = ada.post("/dashboard/mode", &fields).await.expect(303);
        assert_eq!(switched.header("location"), "/dashboard");
    }
}

#[tokio::test]
async fn members_see_no_link_to_the_audit_log() {
    let api = TestApi::new().await;
    let member = add_member(&api, ACME, "Max", MemberRole::Member).await;
    let log = "/dashboard/settings/audit-log";
    for (browser, is_owner) in
        [(acme(&api).await, true), (Browser::with_session(&api, ACME, &member).await, false)]
    {
        let page = browser.get("/dashboard").await.expect(200);
        assert_eq!(page.text.contains(log), is_owner);
        // Nor to anything else that only owners may open.
        for link in links(&page, "/dashboard") {
            let opened = browser.get(&link).await;
            for link in links(&opened, "/dashboard/settings") {
                assert_ne!(browser.get(&link).await.status, 403, "{link}");
            }
        }
    }
}

#[tokio::test]
async fn the_band_says_what_has_happened() {
    let api = TestApi::new().await;
    Browser::signed_in(&api, ACME).await;
    let again = Browser::new(&api).at([10, 0, 0, 1]);
    again.submit_sign_in("ada@acme.example", "acme demo password").await.expect(303);
    let band = |page: &Response| {
        let band = page.text.split("<p class=\"band\">").nth(1)?;
        Some(band.split("<a ").next()?.trim().to_owned())
    };
    let page = again.get("/dashboard/roles").await.expect(200);
    // The newest one is that of this sign-in, of which the session is the result.
    let said = band(&page).unwrap();
    assert!(said.starts_with("You signed in from a new browser: "), "{said}");
    let notices = again.get("/dashboard/settings/account/notices").await.expect(200);
    let newest = notices.text.split("name=\"newest\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    again.post("/dashboard/settings/account/notices", &[("newest", newest)]).await.expect(303);
    assert_eq!(band(&again.get("/dashboard/roles").await.expect(200)), None);
}

#[tokio::test]
async fn an_invited_member_chooses_a_time_zone() {
    let api = TestApi::new().await;
    let ada = Browser::signed_in(&api, ACME).await;
    let fields = [("name", "Max"), ("email", "max@acme.example"), ("role", "member")];
    let invited = ada.post("/dashboard/settings/members", &fields).await.expect(200);
    assert!(invited.text.contains("data-copy=\"link\"") && invited.text.contains("/dashboard/script.js?v="));
    let link = shown_once(&invited).unwrap();
    let path = link.strip_prefix(BASE_URL).unwrap();
    let max = Browser::new(&api);
    let page = max.get(path).await.expect(200);
    assert!(
        page.text.contains("<option selected>UTC</option>") || page.text.contains("data-zone>"),
        "{}",
        page.text
    );
    assert!(page.header("content-security-policy").contains("script-src 'self'"));
    let form = Form::of(&page, "/dashboard/password").and("name", "Max").and("time_zone", "Europe/Berlin");
    let wrong = form.clone().and("password", "short").and("repeated", "short");
    let again = max.submit("/dashboard/password", &wrong).await.expect(422);
    assert!(again.text.contains("<option selected>Europe/Berlin</option>"), "{}", again.text);
    let password = "a long enough password of Max";
    let right = form.and("password", password).and("repeated", password);
    max.submit("/dashboard/password", &right).await.expect(303);
    // Nothing is proposed to who has chosen.
    let account = max.get("/dashboard/settings/account").await.expect(200);
    assert!(account.text.contains("<option selected>Europe/Berlin</option>"));
    assert!(!account.text.contains("data-zone-proposal") && !account.text.contains("<script"));
    // Who has not is asked, without a script only in the account.
    for page in ["/dashboard", "/dashboard/settings/account"] {
        let page = ada.get(page).await.expect(200);
        assert!(
            page.text.contains("data-zone-proposal hidden>") && page.text.contains("<script"),
            "{}",
            page.text
        );
        assert!(page.header("content-security-policy").contains("script-src 'self'"));
    }
    let chosen = [("time_zone", "America/New_York")];
    ada.post("/dashboard/settings/account/time-zone", &chosen).await.expect(303);
    let log = ada.get("/dashboard/settings/audit-log").await.expect(200);
    assert!(log.text.contains("In your time zone, America/New_York.") && !log.text.contains("day (UTC)"));
}

#[tokio::test]
async fn the_page_of_an_erasure_tells_namesakes_apart() {
    let api = TestApi::new().await;
    let ada = Browser::signed_in(&api, ACME).await;
    let posted = api.post("/api/v1/quick_post", json!({ "role": { "title": "Baker" } })).await.expect(201);
    let mut pages = Vec::new();
    for (email, role) in [("ann@one.example", Some(posted.number("/role/id"))), ("ann@two.example", None)] {
        let body = json!({ "name": "Ann Smith", "email": email, "role_id": role });
        let id = api.post("/api/v1/candidates", body).await.expect(201).number("/id");
        let page = ada.get(&format!("/dashboard/candidates/{id}/erase")).await.expect(200);
        let text = text_of(&page);
        let roles = if role.is_some() { "Applied for Baker" } else { "Applied for –" };
        for fact in [email, roles, "Added 20 Nov 2026"] {
            assert!(text.contains(fact), "{fact}: {text}");
        }
        pages.push(text);
    }
    assert!(!pages[0].contains("two.example") && !pages[1].contains("Baker"));
}

#[tokio::test]
async fn everybody_whom_a_rule_would_erase_can_be_seen() {
    let api = TestApi::new().await;
    let mut added = Vec::new();
    for number in 0..60_u64 {
        let name = shared::model::Name::parse(&format!("Old {number}")).unwrap().unwrap();
        let email = format!("old{number}@people.example").parse().unwrap();
        let id = shared::id::Id::new(1_000_000 + number).unwrap();
        let at = format!("2026-01-{:02}T00:00:00Z", number % 28 + 1).parse().unwrap();
        let record = shared::model::CandidateRecord::new(id, Profile::new(name, email), at);
        let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
        transaction.insert_candidate(record, &[]).unwrap();
        api.store().commit(transaction).await.unwrap();
        added.push(id.get());
    }
    let ada = Browser::signed_in(&api, ACME).await;
    let path = "/dashboard/settings/retention?preview=yes&days=200";
    let people = |page: &Response| -> Vec<u64> {
        links(page, "/dashboard/candidates/")
            .iter()
            .map(|link| link.rsplit('/').next().unwrap().parse().unwrap())
            .collect()
    };
    let mut seen = Vec::new();
    let mut next = Some(path.to_owned());
    let mut ranges = Vec::new();
    while let Some(path) = next {
        let page = ada.get(&path).await.expect(200);
        seen.extend(people(&page));
        let text = text_of(&page);
        ranges.push(
            text.split(" of 60 people, those first")
                .next()
                .unwrap()
                .rsplit("</p>")
                .next()
                .unwrap()
                .to_owned(),
        );
        assert!(text.contains("would erase 60 people"), "{text}");
        next = links(&page, "/dashboard/settings/retention?").into_iter().find(|link| {
            page.text.contains(&format!("rel=\"next\" href=\"{}\"", tests::dashboard::escaped(link)))
        });
        assert!(ranges.len() < 10);
    }
    assert_eq!(ranges.len(), 3);
    for (range, expected) in ranges.iter().zip(["1 to 25", "26 to 50", "51 to 60"]) {
        assert!(range.ends_with(expected), "{range}");
    }
    seen.sort_unstable();
    assert_eq!(seen, added);
    for (page, count) in [("0", 25), ("x", 25), ("99", 10), ("18446744073709551616", 25)] {
        let page = ada.get(&format!("{path}&page={page}")).await.expect(200);
        assert_eq!(people(&page).len(), count);
    }
}

#[tokio::test]
async fn sources_have_the_same_names_everywhere() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let posted = api.post("/api/v1/quick_post", json!({ "role": { "title": "Baker" } })).await.expect(201);
    let body = json!({ "name": "Ann", "email": "ann@people.example", "source": "career_page" });
    let id = api.post("/api/v1/candidates", body).await.expect(201).number("/id");
    let edit = format!("/dashboard/candidates/{id}/edit");
    let page = ada.get(&edit).await.expect(200);
    assert_eq!(input(&page, "source"), "Career page");
    // The name that the form shows is stored as the word of the API.
    let fields = [("name", "Anna"), ("email", "ann@people.example"), ("source", "Career page")];
    ada.post(&edit, &fields).await.expect(303);
    let stored = api.get(&format!("/api/v1/candidates/{id}")).await.expect(200);
    assert_eq!((stored.string("/name"), stored.string("/source")), ("Anna", "career_page"));
    let page = ada.get("/dashboard").await.expect(200);
    assert!(
        page.text.contains("<bdi>Career page</bdi>") && page.text.contains("search=career_page"),
        "{}",
        page.text
    );
    for text in ["career_page", "career%20page", "Career+page"] {
        let found = ada.get(&format!("/dashboard/candidates?by=source&search={text}")).await.expect(200);
        assert!(found.text.contains("Anna"), "{text}: {}", found.text);
    }
    let apply = format!("/dashboard/candidates/{id}/applications");
    assert_eq!(input(&ada.get(&apply).await.expect(200), "source"), "Added manually");
    let role = posted.number("/role/id").to_string();
    ada.post(&apply, &[("role_id", &role), ("source", "Added manually")]).await.expect(303);
    let stored = api.get(&format!("/api/v1/candidates/{id}")).await.expect(200);
    assert_eq!(stored.string("/applications/0/source"), "manual");
}
