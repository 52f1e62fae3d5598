//! The DynamoDB calls of the dashboard's pages. No page reads items that it does not show.

use tests::browser::Browser;
use tests::dashboard::owner;
use tests::interceptor::RecordedCall;
use tests::{ACME, TestApi};

use crate::dashboard_access::{DashboardFixtures, PageRoute, page_routes};
use crate::fake_x::{FakeX, services};
use crate::finding_cost;

/// The DynamoDB calls of a successful request to each route, in order.
pub(crate) const CALLS: &[(&str, &[&str])] = &[
    // The session, the usage of today and before, the open roles with their statistics, the statistics of all hiring, and, for
    // owners, the webhook endpoints.
    ("GET /dashboard", &["BatchGetItem", "BatchGetItem", "Query", "Query", "BatchGetItem", "Query", "Query"]),
    ("GET /dashboard/roles", &["BatchGetItem", "Query", "BatchGetItem"]),
    (
        "GET /dashboard/roles/{id}",
        &[
            "BatchGetItem",
            "BatchGetItem",
            "GetItem",
            // One query for each of the four open stages and for who has applied again, and one batch for all candidates.
            "Query",
            "Query",
            "Query",
            "Query",
            "Query",
            "BatchGetItem",
            // The entry in the audit log.
            "PutItem",
        ],
    ),
    ("GET /dashboard/postings", &["BatchGetItem", "Query", "BatchGetItem"]),
    ("GET /dashboard/quick-post", &["BatchGetItem"]),
    ("POST /dashboard/quick-post", &["BatchGetItem", "GetItem", "TransactWriteItems"]),
    ("GET /dashboard/roles/{id}/edit", &["BatchGetItem", "GetItem"]),
    ("POST /dashboard/roles/{id}/edit", &["BatchGetItem", "BatchGetItem", "TransactWriteItems"]),
    ("POST /dashboard/roles/{id}/status", &["BatchGetItem", "BatchGetItem", "TransactWriteItems"]),
    ("GET /dashboard/roles/{id}/posting", &["BatchGetItem", "GetItem", "GetItem"]),
    (
        "POST /dashboard/roles/{id}/posting",
        &["BatchGetItem", "GetItem", "GetItem", "GetItem", "TransactWriteItems"],
    ),
    ("POST /dashboard/postings/{id}/status", &["BatchGetItem", "GetItem", "GetItem", "TransactWriteItems"]),
    ("GET /dashboard/postings/{id}/x", &["BatchGetItem", "GetItem", "GetItem", "GetItem", "Query"]),
    (
        "POST /dashboard/postings/{id}/x",
        &["BatchGetItem", "GetItem", "GetItem", "Query", "TransactWriteItems"],
    ),
    // The candidates, and the newest suspect forms.
    ("GET /dashboard/candidates", &["BatchGetItem", "Query", "Query", "PutItem"]),
    ("GET /dashboard/candidates/suspects", &["BatchGetItem", "Query", "BatchGetItem", "PutItem"]),
    // The form, its role, the candidate by e-mail address, and the application.
    (
        "POST /dashboard/candidates/suspects",
        &["BatchGetItem", "BatchGetItem", "GetItem", "GetItem", "GetItem", "TransactWriteItems"],
    ),
    // The session, the candidate, the entry in the audit log, the notes, the roles, the submitted forms and the consents.
    (
        "GET /dashboard/candidates/{id}",
        &["BatchGetItem", "Query", "PutItem", "Query", "BatchGetItem", "Query", "Query"],
    ),
    ("POST /dashboard/roles/{id}/move", &["BatchGetItem", "BatchGetItem", "TransactWriteItems"]),
    ("GET /dashboard/roles/{id}/bulk", &["BatchGetItem", "GetItem", "BatchGetItem", "PutItem"]),
    (
        "POST /dashboard/roles/{id}/bulk",
        &["BatchGetItem", "GetItem", "BatchGetItem", "BatchGetItem", "TransactWriteItems"],
    ),
    ("GET /dashboard/candidates/new", &["BatchGetItem", "Query"]),
    ("POST /dashboard/candidates/new", &["BatchGetItem", "TransactWriteItems"]),
    ("GET /dashboard/candidates/{id}/edit", &["BatchGetItem", "GetItem", "PutItem"]),
    ("POST /dashboard/candidates/{id}/edit", &["BatchGetItem", "GetItem", "TransactWriteItems"]),
    ("GET /dashboard/candidates/{id}/applications", &["BatchGetItem", "GetItem", "Query"]),
    ("POST /dashboard/candidates/{id}/applications", &["BatchGetItem", "BatchGetItem", "TransactWriteItems"]),
    ("POST /dashboard/candidates/{id}/notes", &["BatchGetItem", "GetItem", "TransactWriteItems"]),
    (
        "POST /dashboard/candidates/{id}/notes/{note_id}/delete",
        &["BatchGetItem", "GetItem", "GetItem", "TransactWriteItems"],
    ),
    ("GET /dashboard/candidates/{id}/consents", &["BatchGetItem", "GetItem"]),
    ("POST /dashboard/candidates/{id}/consents", &["BatchGetItem", "GetItem", "TransactWriteItems"]),
    // The session, the candidate, and the form with the wording of the offered consent.
    (
        "POST /dashboard/candidates/{id}/offer",
        &["BatchGetItem", "GetItem", "BatchGetItem", "TransactWriteItems"],
    ),
    ("GET /dashboard/candidates/{id}/move", &["BatchGetItem", "GetItem"]),
    ("POST /dashboard/candidates/{id}/move", &["BatchGetItem", "GetItem", "TransactWriteItems"]),
    ("GET /dashboard/candidates/{id}/invite", &["BatchGetItem", "GetItem"]),
    ("POST /dashboard/candidates/{id}/invite", &["BatchGetItem", "BatchGetItem", "TransactWriteItems"]),
    ("GET /dashboard/screens/{id}", &["BatchGetItem", "Query", "PutItem", "Query", "BatchGetItem"]),
    ("POST /dashboard/screens/{id}/cancel", &["BatchGetItem", "GetItem", "GetItem", "TransactWriteItems"]),
    (
        "GET /dashboard/candidates/{id}/export",
        &["BatchGetItem", "Query", "PutItem", "BatchGetItem", "Query", "Query", "GetItem"],
    ),
    ("GET /dashboard/candidates/{id}/erase", &["BatchGetItem", "GetItem"]),
    ("POST /dashboard/candidates/{id}/erase", &["BatchGetItem", "GetItem", "TransactWriteItems"]),
    ("GET /dashboard/candidates/{id}/legal-hold", &["BatchGetItem", "GetItem"]),
    ("POST /dashboard/candidates/{id}/legal-hold", &["BatchGetItem", "GetItem", "TransactWriteItems"]),
    ("GET /dashboard/settings/integrations/api-keys", &["BatchGetItem", "Query", "Query"]),
    (
        "POST /dashboard/settings/integrations/api-keys",
        &["BatchGetItem", "Query", "Query", "TransactWriteItems"],
    ),
    (
        "POST /dashboard/settings/integrations/api-keys/{id}/rotate",
        &["BatchGetItem", "GetItem", "Query", "Query", "GetItem", "TransactWriteItems"],
    ),
    (
        "POST /dashboard/settings/integrations/api-keys/{id}/revoke",
        &["BatchGetItem", "GetItem", "TransactWriteItems"],
    ),
    ("GET /dashboard/settings/integrations/connected-apps", &["BatchGetItem", "Query", "Query"]),
    (
        "POST /dashboard/settings/integrations/connected-apps/{id}/revoke",
        &["BatchGetItem", "GetItem", "TransactWriteItems"],
    ),
    ("GET /dashboard/settings/integrations/channels", &["BatchGetItem", "BatchGetItem"]),
    ("POST /dashboard/settings/integrations/channels/x/connect", &["BatchGetItem"]),
    ("GET /dashboard/settings/integrations/channels/x/callback", &["BatchGetItem"]),
    ("POST /dashboard/settings/integrations/channels/x/disconnect", &["BatchGetItem", "TransactWriteItems"]),
    (
        "POST /dashboard/settings/integrations/channels/whatsapp/connect",
        &["BatchGetItem", "TransactWriteItems"],
    ),
    (
        "POST /dashboard/settings/integrations/channels/whatsapp/disconnect",
        &["BatchGetItem", "TransactWriteItems"],
    ),
    ("POST /dashboard/settings/integrations/channels/voice", &["BatchGetItem", "TransactWriteItems"]),
    ("GET /dashboard/settings/career-page", &["BatchGetItem", "GetItem"]),
    ("POST /dashboard/settings/career-page", &["BatchGetItem", "TransactWriteItems"]),
    ("POST /dashboard/settings/career-page/logo", &["BatchGetItem", "TransactWriteItems"]),
    // The text, and the name on the career page, which the general text contains.
    ("GET /dashboard/settings/privacy", &["BatchGetItem", "GetItem", "GetItem"]),
    ("POST /dashboard/settings/privacy", &["BatchGetItem", "TransactWriteItems"]),
    ("GET /dashboard/settings/retention", &["BatchGetItem", "GetItem"]),
    ("POST /dashboard/settings/retention", &["BatchGetItem", "GetItem", "GetItem", "TransactWriteItems"]),
    // The members, and the four shards of today, which has no entries.
    ("GET /dashboard/settings/audit-log", &["BatchGetItem", "Query", "Query", "Query", "Query", "Query"]),
    ("GET /dashboard/settings/members", &["BatchGetItem", "Query", "Query", "Query"]),
    (
        "POST /dashboard/settings/members",
        &["BatchGetItem", "Query", "TransactWriteItems", "Query", "Query", "Query"],
    ),
    (
        "POST /dashboard/settings/members/{id}/link",
        &["BatchGetItem", "GetItem", "TransactWriteItems", "Query", "Query", "Query"],
    ),
    (
        "POST /dashboard/settings/members/{id}/role",
        &["BatchGetItem", "GetItem", "GetItem", "TransactWriteItems"],
    ),
    (
        "POST /dashboard/settings/members/{id}/remove",
        &[
            "BatchGetItem",
            "GetItem",
            "GetItem",
            // The member's keys and grants in both modes are read before and after the removal.
            "Query",
            "Query",
            "Query",
            "Query",
            "TransactWriteItems",
            "Query",
            "Query",
            "Query",
            "Query",
            // The member's sessions and notices.
            "Query",
            "Query",
        ],
    ),
    ("POST /dashboard/settings/members/{id}/second-factor", &["BatchGetItem", "GetItem", "GetItem"]),
    ("POST /dashboard/settings/members/second-factor", &["BatchGetItem", "GetItem", "TransactWriteItems"]),
    ("GET /dashboard/settings/organization", &["BatchGetItem"]),
    ("POST /dashboard/settings/organization", &["BatchGetItem", "GetItem", "TransactWriteItems"]),
    ("GET /dashboard/settings/application-limits", &["BatchGetItem", "GetItem"]),
    ("POST /dashboard/settings/application-limits", &["BatchGetItem", "GetItem", "TransactWriteItems"]),
    // The four shards of the month.
    (
        "GET /dashboard/settings/integrations/connected-apps/{id}",
        &["BatchGetItem", "GetItem", "Query", "Query", "Query", "Query"],
    ),
    (
        "POST /dashboard/settings/integrations/connected-apps/{id}/narrow",
        &["BatchGetItem", "GetItem", "TransactWriteItems"],
    ),
    ("GET /dashboard/confirmations/{call}", &["BatchGetItem", "GetItem"]),
    ("POST /dashboard/confirmations/{call}", &["BatchGetItem", "GetItem", "TransactWriteItems"]),
    ("GET /dashboard/webhooks", &["BatchGetItem", "Query"]),
    // The endpoints are read before and after one is added.
    ("POST /dashboard/webhooks", &["BatchGetItem", "Query", "GetItem", "TransactWriteItems", "Query"]),
    ("GET /dashboard/webhooks/{id}", &["BatchGetItem", "GetItem", "Query"]),
    ("POST /dashboard/webhooks/{id}", &["BatchGetItem", "GetItem", "TransactWriteItems"]),
    (
        "POST /dashboard/webhooks/{id}/rotate",
        &["BatchGetItem", "GetItem", "TransactWriteItems", "GetItem", "Query"],
    ),
    ("POST /dashboard/webhooks/{id}/delete", &["BatchGetItem", "GetItem", "TransactWriteItems"]),
    // The endpoint and its progress.
    ("POST /dashboard/webhooks/{id}/ping", &["BatchGetItem", "GetItem", "GetItem", "TransactWriteItems"]),
    // The endpoint, the end and the beginning of the feed, and the progress.
    (
        "POST /dashboard/webhooks/{id}/replay",
        &["BatchGetItem", "GetItem", "GetItem", "Query", "GetItem", "TransactWriteItems"],
    ),
    (
        "POST /dashboard/webhooks/{id}/deliveries/{delivery_id}/redeliver",
        &["BatchGetItem", "GetItem", "GetItem", "GetItem", "TransactWriteItems"],
    ),
    ("GET /dashboard/sign-in", &[]),
    (
        "POST /dashboard/sign-in",
        &[
            "UpdateItem",
            "UpdateItem",
            "GetItem",
            "GetItem",
            "UpdateItem",
            "UpdateItem",
            "Query",
            "TransactWriteItems",
        ],
    ),
    // The form is not from a sign-in that has begun.
    ("POST /dashboard/second-factor", &[]),
    ("POST /dashboard/sign-out", &["BatchGetItem", "TransactWriteItems"]),
    ("GET /dashboard/confirm", &["BatchGetItem"]),
    (
        "POST /dashboard/confirm",
        &["BatchGetItem", "UpdateItem", "GetItem", "UpdateItem", "TransactWriteItems"],
    ),
    (
        "POST /dashboard/sign-out-everywhere",
        // The member's grants in both modes are read before and after the sessions end.
        &[
            "BatchGetItem",
            "GetItem",
            "Query",
            "TransactWriteItems",
            "Query",
            "TransactWriteItems",
            "Query",
            "Query",
            "TransactWriteItems",
        ],
    ),
    ("GET /dashboard/password", &["GetItem", "BatchGetItem"]),
    ("POST /dashboard/password", &["GetItem", "BatchGetItem", "Query", "TransactWriteItems"]),
    ("POST /dashboard/mode", &["BatchGetItem", "TransactWriteItems"]),
    ("GET /dashboard/settings/account", &["BatchGetItem", "Query"]),
    (
        "POST /dashboard/settings/account/password",
        &["BatchGetItem", "UpdateItem", "GetItem", "UpdateItem", "Query", "TransactWriteItems"],
    ),
    ("POST /dashboard/settings/account/time-zone", &["BatchGetItem", "GetItem", "TransactWriteItems"]),
    ("POST /dashboard/settings/account/sessions/end", &["BatchGetItem", "TransactWriteItems"]),
    (
        "POST /dashboard/settings/account/sessions/end-others",
        &["BatchGetItem", "GetItem", "TransactWriteItems"],
    ),
    ("GET /dashboard/settings/account/second-factor", &["BatchGetItem"]),
    ("POST /dashboard/settings/account/second-factor", &["BatchGetItem", "GetItem", "TransactWriteItems"]),
    ("POST /dashboard/settings/account/second-factor/recovery-codes", &["BatchGetItem", "GetItem"]),
    ("POST /dashboard/settings/account/second-factor/remove", &["BatchGetItem", "GetItem"]),
    (
        "POST /dashboard/settings/account/passkeys/{id}/remove",
        &["BatchGetItem", "GetItem", "TransactWriteItems"],
    ),
    ("GET /dashboard/settings/account/notices", &["BatchGetItem", "Query"]),
    ("POST /dashboard/settings/account/notices", &["BatchGetItem", "Query", "TransactWriteItems"]),
    ("GET /dashboard/sign-in/passkey", &["UpdateItem", "PutItem"]),
    // The form is not from a ceremony that has begun.
    ("POST /dashboard/sign-in/passkey", &[]),
    ("GET /dashboard/settings/account/passkeys", &["BatchGetItem", "PutItem"]),
    ("POST /dashboard/settings/account/passkeys", &["BatchGetItem"]),
];

fn operations(calls: &[RecordedCall]) -> Vec<&str> {
    calls.iter().map(|call| call.operation.as_str()).collect()
}

/// Returns the path of a valid request to a route. The page of a single-use link requires its token.
pub(crate) fn request_path(fixtures: &DashboardFixtures, route: PageRoute) -> String {
    match route.key {
        "GET /dashboard/password" => format!("/dashboard/password?token={}", fixtures.link),
        "GET /dashboard/candidates/{id}/move" => format!("{}?to=rejected&seen=applied", fixtures.path(route)),
        "GET /dashboard/roles/{id}/bulk" => {
            format!("{}?to=interview&id={}", fixtures.path(route), fixtures.candidate)
        }
        _ => fixtures.path(route),
    }
}

/// The API for a successful request to a route. Real services include no voice provider, and X has no account yet.
pub(crate) async fn api_for(route: PageRoute, x: &FakeX) -> TestApi {
    if ["/invite", "/x"].iter().any(|end| route.path().ends_with(end)) {
        TestApi::new().await
    } else {
        TestApi::with_services(services(&x.fake.url)).await
    }
}

#[tokio::test]
async fn every_route_makes_exactly_these_dynamodb_calls() {
    let x = FakeX::start().await;
    let known: Vec<_> = page_routes().iter().map(|route| route.key).collect();
    assert_eq!(
        known,
        CALLS.iter().map(|(key, _)| *key).collect::<Vec<_>>(),
        "every route is listed: change CALLS in tests/api/dashboard_cost.rs"
    );
    for (route, (key, calls)) in page_routes().into_iter().zip(CALLS) {
        let api = api_for(route, &x).await;
        let fixtures = DashboardFixtures::new(&api).await;
        let browser = match route.role {
            None if !route.path().ends_with("sign-out") => Browser::new(&api),
            _ => Browser::with_session(&api, ACME, &owner(&api, ACME).await).await,
        };
        browser.csrf().await;
        api.dynamodb.take_calls();
        let response = if route.is_post() {
            browser.post(&fixtures.path(route), &fixtures.fields(route)).await
        } else {
            browser.get(&request_path(&fixtures, route)).await
        };
        let calls_made = api.dynamodb.take_calls();
        assert!(response.status < 400, "{key}: {}", response.text);
        assert_eq!(operations(&calls_made), *calls, "{key}");
        for call in &calls_made {
            assert!(call.request.get("FilterExpression").is_none(), "{key}");
            assert_eq!(call.response["ScannedCount"], call.response["Count"], "{key}");
        }
    }
}

#[tokio::test]
async fn filtered_lists_make_exactly_these_dynamodb_calls() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let role = fixtures.role;
    for (page, calls) in [
        ("/dashboard/roles?status=open".to_owned(), vec!["BatchGetItem", "Query", "BatchGetItem"]),
        ("/dashboard/roles?status=closed".to_owned(), vec!["BatchGetItem", "Query"]),
        ("/dashboard/candidates?stage=screening".to_owned(), vec!["BatchGetItem", "Query"]),
        (
            format!("/dashboard/candidates?role_id={role}"),
            vec!["BatchGetItem", "BatchGetItem", "Query", "BatchGetItem", "PutItem"],
        ),
        (
            format!("/dashboard/candidates?role_id={role}&stage=hired"),
            vec!["BatchGetItem", "BatchGetItem", "Query"],
        ),
        (
            format!("/dashboard/candidates?role_id={role}&stage=applied&order=score"),
            vec!["BatchGetItem", "BatchGetItem", "Query"],
        ),
        (
            format!("/dashboard/candidates/{}?list=role_id%3D{role}%26stage%3Dapplied", fixtures.candidate),
            vec!["BatchGetItem", "Query", "PutItem", "Query", "Query", "BatchGetItem", "Query", "Query"],
        ),
    ] {
        api.dynamodb.take_calls();
        browser.get(&page).await.expect(200);
        let calls_made = api.dynamodb.take_calls();
        assert_eq!(operations(&calls_made), calls, "{page}");
        assert!(calls_made.iter().all(|call| call.request.get("FilterExpression").is_none()));
    }
}

/// `FINDING_SCALE=80` makes it 100,000 candidates and 10,000 roles.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn pages_make_the_same_calls_among_many_items() {
    const ROLES: u64 = 125;
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let (role, candidate) = (fixtures.role, fixtures.candidate);
    let pages = [
        "/dashboard".to_owned(),
        "/dashboard/roles".to_owned(),
        "/dashboard/roles?status=open".to_owned(),
        format!("/dashboard/roles/{role}"),
        "/dashboard/postings".to_owned(),
        "/dashboard/candidates".to_owned(),
        format!("/dashboard/candidates?role_id={role}"),
        "/dashboard/candidates?search=person17".to_owned(),
        format!("/dashboard/candidates/{candidate}"),
        "/dashboard/candidates/new".to_owned(),
        "/dashboard/settings/audit-log".to_owned(),
    ];
    let visit = async || {
        let mut calls = Vec::new();
        for page in &pages {
            api.dynamodb.take_calls();
            browser.get(page).await.expect(200);
            let made = api.dynamodb.take_calls();
            calls.push(operations(&made).into_iter().map(str::to_owned).collect::<Vec<_>>());
        }
        calls
    };
    finding_cost::write(&api, 0..25).await;
    visit().await;
    let few = visit().await;
    finding_cost::write(&api, 25..finding_cost::COUNT * finding_cost::scale()).await;
    api.write_open_roles(1..=ROLES * finding_cost::scale()).await;
    let many = visit().await;
    for (page, (few, many)) in pages.iter().zip(few.iter().zip(&many)) {
        assert_eq!(few, many, "{page}");
        println!("{page}: {} calls", many.len());
    }
    assert!(many[0].len() <= 7, "the overview: {:?}", many[0]);
}

#[tokio::test]
async fn session_use_is_written_at_most_every_five_minutes() {
    let api = TestApi::new().await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let read: &[&str] = &["BatchGetItem", "GetItem"];
    let written: &[&str] = &["BatchGetItem", "TransactWriteItems", "GetItem"];
    for (time, calls) in [("09:30:00", read), ("09:34:59", read), ("09:35:00", written), ("09:39:59", read)] {
        api.clock.set(&format!("2026-11-20T{time}Z"));
        api.dynamodb.take_calls();
        browser.get("/dashboard/settings/career-page").await.expect(200);
        assert_eq!(operations(&api.dynamodb.take_calls()), calls, "{time}");
    }
}
