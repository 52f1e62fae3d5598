//! What the dashboard's pages cost: every call to DynamoDB of every row, and nothing read that is not shown.

use tests::browser::Browser;
use tests::desk::owner;
use tests::wire::Recorded;
use tests::{ACME, World};

use crate::dashboard_access::{Row, Stock, rows};
use crate::fake_x::{FakeX, services};
use crate::policies::{Actions, allowed, needed};

/// The calls of each row, counted on a request that succeeds: what is looked up, in its order, then what is written.
pub(crate) const CALLS: &[(&str, &[&str])] = &[
    ("GET /dashboard", &["BatchGetItem", "BatchGetItem", "Query", "Query", "Query", "Query"]),
    ("GET /dashboard/sign-in", &[]),
    (
        "POST /dashboard/sign-in",
        &["UpdateItem", "UpdateItem", "GetItem", "GetItem", "UpdateItem", "UpdateItem", "TransactWriteItems"],
    ),
    ("POST /dashboard/sign-out", &["BatchGetItem", "TransactWriteItems"]),
    (
        "POST /dashboard/sign-out-everywhere",
        &["BatchGetItem", "GetItem", "TransactWriteItems", "TransactWriteItems"],
    ),
    ("GET /dashboard/password", &["GetItem", "GetItem"]),
    ("POST /dashboard/password", &["GetItem", "GetItem", "TransactWriteItems"]),
    ("POST /dashboard/mode", &["BatchGetItem", "TransactWriteItems"]),
    ("GET /dashboard/roles", &["BatchGetItem", "Query", "BatchGetItem"]),
    (
        "GET /dashboard/roles/{id}",
        &[
            "BatchGetItem",
            "GetItem",
            "GetItem",
            "GetItem",
            // Six stages; where there is somebody, their names.
            "Query",
            "BatchGetItem",
            "Query",
            "Query",
            "Query",
            "Query",
            "Query",
        ],
    ),
    ("GET /dashboard/postings", &["BatchGetItem", "Query"]),
    ("GET /dashboard/candidates", &["BatchGetItem", "Query"]),
    ("GET /dashboard/candidates/{id}", &["BatchGetItem", "Query", "BatchGetItem"]),
    ("GET /dashboard/settings/integrations/api-keys", &["BatchGetItem", "Query", "GetItem"]),
    (
        "POST /dashboard/settings/integrations/api-keys",
        &["BatchGetItem", "Query", "GetItem", "TransactWriteItems"],
    ),
    (
        "POST /dashboard/settings/integrations/api-keys/{id}/revoke",
        &["BatchGetItem", "GetItem", "TransactWriteItems"],
    ),
    ("GET /dashboard/settings/integrations/connected-apps", &["BatchGetItem", "Query", "GetItem", "Query"]),
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
    ("GET /dashboard/settings/career-page", &["BatchGetItem", "GetItem"]),
    ("POST /dashboard/settings/career-page", &["BatchGetItem", "TransactWriteItems"]),
    ("GET /dashboard/settings/members", &["BatchGetItem", "Query"]),
    ("POST /dashboard/settings/members", &["BatchGetItem", "TransactWriteItems", "Query"]),
    (
        "POST /dashboard/settings/members/{id}/link",
        &["BatchGetItem", "GetItem", "TransactWriteItems", "Query"],
    ),
    (
        "POST /dashboard/settings/members/{id}/role",
        &["BatchGetItem", "GetItem", "GetItem", "TransactWriteItems"],
    ),
    (
        "POST /dashboard/settings/members/{id}/remove",
        &["BatchGetItem", "GetItem", "GetItem", "Query", "Query", "TransactWriteItems", "Query", "Query"],
    ),
    ("GET /dashboard/settings/account", &["BatchGetItem"]),
    (
        "POST /dashboard/settings/account/password",
        &["BatchGetItem", "GetItem", "UpdateItem", "UpdateItem", "TransactWriteItems"],
    ),
];

fn operations(calls: &[Recorded]) -> Vec<&str> {
    calls.iter().map(|call| call.operation.as_str()).collect()
}

/// The address that a row is asked at: the page behind a link is about one.
pub(crate) fn address(stock: &Stock, row: Row) -> String {
    match row.key {
        "GET /dashboard/password" => format!("/dashboard/password?token={}", stock.link),
        _ => stock.path(row),
    }
}

#[tokio::test]
async fn every_row_makes_these_calls_and_no_others() {
    let x = FakeX::start().await;
    let known: Vec<_> = rows().iter().map(|row| row.key).collect();
    assert_eq!(known, CALLS.iter().map(|(key, _)| *key).collect::<Vec<_>>(), "every row is counted");
    let mut used = Actions::new();
    for (row, (key, calls)) in rows().into_iter().zip(CALLS) {
        let world = World::with_services(services(&x.fake.url)).await;
        let stock = Stock::new(&world).await;
        let browser = match row.role {
            None if !row.path().ends_with("sign-out") => Browser::new(&world),
            _ => Browser::of(&world, ACME, &owner(&world, ACME).await).await,
        };
        browser.csrf().await;
        world.wire.take();
        let answer = if row.is_post() {
            browser.post(&stock.path(row), &stock.fields(row)).await
        } else {
            browser.get(&address(&stock, row)).await
        };
        let made = world.wire.take();
        assert!(answer.status < 400, "{key}: {}", answer.text);
        assert_eq!(operations(&made), *calls, "{key}");
        used.extend(made.iter().flat_map(needed));
        for call in &made {
            assert!(call.request.get("FilterExpression").is_none(), "{key}");
            assert_eq!(call.response["ScannedCount"], call.response["Count"], "{key}");
        }
    }
    assert_eq!(used, allowed()["DashboardFunction"], "used, and allowed");
}

#[tokio::test]
async fn a_filter_costs_what_it_looks_up() {
    let world = World::new().await;
    let stock = Stock::new(&world).await;
    let browser = Browser::of(&world, ACME, &owner(&world, ACME).await).await;
    let role = stock.role;
    for (page, calls) in [
        ("/dashboard/roles?status=open".to_owned(), vec!["BatchGetItem", "Query", "BatchGetItem"]),
        ("/dashboard/roles?status=closed".to_owned(), vec!["BatchGetItem", "Query"]),
        ("/dashboard/candidates?stage=screening".to_owned(), vec!["BatchGetItem", "Query"]),
        (
            format!("/dashboard/candidates?role_id={role}"),
            vec!["BatchGetItem", "GetItem", "Query", "BatchGetItem"],
        ),
        (
            format!("/dashboard/candidates?role_id={role}&stage=hired"),
            vec!["BatchGetItem", "GetItem", "Query"],
        ),
    ] {
        world.wire.take();
        browser.get(&page).await.expect(200);
        let made = world.wire.take();
        assert_eq!(operations(&made), calls, "{page}");
        assert!(made.iter().all(|call| call.request.get("FilterExpression").is_none()));
    }
}

/// The note that a session was used is one write in five minutes.
#[tokio::test]
async fn a_session_that_is_used_is_noted_now_and_then() {
    let world = World::new().await;
    let browser = Browser::of(&world, ACME, &owner(&world, ACME).await).await;
    let read: &[&str] = &["BatchGetItem"];
    let noted: &[&str] = &["BatchGetItem", "TransactWriteItems"];
    for (time, calls) in [("09:30:00", read), ("09:34:59", read), ("09:35:00", noted), ("09:39:59", read)] {
        world.hands.set(&format!("2026-11-20T{time}Z"));
        world.wire.take();
        browser.get("/dashboard/settings/account").await.expect(200);
        assert_eq!(operations(&world.wire.take()), calls, "{time}");
    }
}
