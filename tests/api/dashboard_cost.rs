//! The DynamoDB calls of the dashboard's lists, also among many items. `tests/outcomes.json` has those of a usual request to
//! each page.

use tests::browser::Browser;
use tests::dashboard::owner;
use tests::interceptor::RecordedCall;
use tests::{ACME, TestApi};

use crate::dashboard_access::DashboardFixtures;
use crate::finding_cost;

fn operations(calls: &[RecordedCall]) -> Vec<&str> {
    calls.iter().map(|call| call.operation.as_str()).collect()
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
        (
            "/dashboard/candidates?stage=screening".to_owned(),
            vec!["BatchGetItem", "GetItem", "Query", "Query", "Query", "Query"],
        ),
        (
            format!("/dashboard/candidates?role_id={role}"),
            vec![
                "BatchGetItem",
                "BatchGetItem",
                "BatchGetItem",
                "GetItem",
                "PutItem",
                "Query",
                "Query",
                "Query",
            ],
        ),
        (
            format!("/dashboard/candidates?role_id={role}&stage=hired"),
            vec!["BatchGetItem", "BatchGetItem", "GetItem", "Query", "Query", "Query"],
        ),
        (
            format!("/dashboard/candidates?role_id={role}&stage=applied&order=score"),
            vec!["BatchGetItem", "BatchGetItem", "GetItem", "Query", "Query", "Query"],
        ),
        (
            format!("/dashboard/candidates/{}?list=role_id%3D{role}%26stage%3Dapplied", fixtures.candidate),
            vec!["BatchGetItem", "GetItem", "PutItem", "Query", "Query", "Query", "Query", "Query", "Query"],
        ),
    ] {
        api.dynamodb.take_calls();
        browser.get(&page).await.expect(200);
        let calls_made = api.dynamodb.take_calls();
        // Pages make several at the same time.
        let mut made = operations(&calls_made);
        made.sort_unstable();
        let mut calls = calls;
        calls.sort_unstable();
        assert_eq!(made, calls, "{page}");
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
    assert!(many[0].len() <= 8, "the overview: {:?}", many[0]);
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
