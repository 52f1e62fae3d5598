//! Pagination: cursors, links, and the list that a cursor belongs to.

use http::Method;
use serde_json::json;
use shared::http::{ApiRequest, App, Collection, Error, Listing, Reply, Route, Row};
use shared::id::Id;
use shared::model::{Mode, Scope};
use shared::store::Listed;
use tests::{ACME, BASE_URL, GLOBEX, Response, TestApi, key};

async fn create_roles(api: &TestApi, count: usize) -> Vec<u64> {
    let mut ids = Vec::new();
    for n in 0..count {
        ids.insert(
            0,
            api.post("/api/v1/roles", json!({ "title": format!("Role {n}") }))
                .await
                .expect(201)
                .number("/id"),
        );
    }
    ids
}

fn ids(page: &Response) -> Vec<u64> {
    page.body["data"].as_array().into_iter().flatten().filter_map(|role| role["id"].as_u64()).collect()
}

#[tokio::test]
async fn following_cursors_or_links_reads_every_entry_once() {
    let api = TestApi::new().await;
    let all = create_roles(&api, 23).await;
    for (query, by_link) in [
        ("?limit=5", false),
        ("?limit=5", true),
        ("?status=draft&limit=7", true),
        ("?limit=23", false),
        ("?", true),
    ] {
        let mut path = format!("/api/v1/roles{query}");
        let mut read = Vec::new();
        loop {
            let page = api.get(&path).await.expect(200);
            read.extend(ids(&page));
            let Some(cursor) = page.body["next_cursor"].as_str() else {
                assert_eq!(page.header("link"), "");
                break;
            };
            let link = page
                .header("link")
                .strip_prefix(&format!("<{BASE_URL}"))
                .and_then(|rest| rest.strip_suffix(">; rel=\"next\""));
            let link = link.unwrap_or_else(|| panic!("{}", page.header("link")));
            assert!(link.ends_with(&format!("cursor={cursor}")));
            path = if by_link { link.to_owned() } else { format!("/api/v1/roles{query}&cursor={cursor}") };
        }
        assert_eq!(read, all, "{query}");
    }
}

#[tokio::test]
async fn a_page_has_100_entries_by_default() {
    let api = TestApi::new().await;
    let all = create_roles(&api, 101).await;
    assert_eq!(ids(&api.get("/api/v1/roles").await.expect(200)), all[..100]);
}

/// Programs send a blank cursor for a missing value. If it meant the first page, they would read the list for ever.
#[tokio::test]
async fn a_blank_cursor_is_refused_with_the_reason() {
    let api = TestApi::new().await;
    for blank in ["", "%20"] {
        let refused = api.get(&format!("/api/v1/roles?cursor={blank}")).await.expect(400);
        assert_eq!(
            refused.string("/error"),
            "The cursor is blank; leave it out for the first page. A list has ended when next_cursor is null"
        );
    }
}

#[tokio::test]
async fn a_cursor_is_valid_only_for_its_own_list_and_tenant() {
    let api = TestApi::new().await;
    create_roles(&api, 3).await;
    let cursor = api.get("/api/v1/roles?limit=1").await.string("/next_cursor").to_owned();
    api.get(&format!("/api/v1/roles?limit=2&cursor={cursor}")).await.expect(200);
    let mut tampered = cursor.clone().into_bytes();
    tampered[10] = if tampered[10] == b'A' { b'B' } else { b'A' };
    let tampered = String::from_utf8(tampered).unwrap();
    for path in [
        format!("/api/v1/roles?cursor={tampered}"),
        format!("/api/v1/roles?status=draft&cursor={cursor}"),
        format!("/api/v1/job_postings?cursor={cursor}"),
        format!("/api/v1/roles?cursor={cursor}x"),
        "/api/v1/roles?cursor=%FF%00".to_owned(),
        format!("/api/v1/roles?cursor={}", "A".repeat(2_000)),
    ] {
        let refused = api.get(&path).await.expect(400);
        assert_eq!(refused.string("/code"), "bad_request", "{path}");
    }
    for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live)] {
        api.request(Method::GET, &format!("/api/v1/roles?cursor={cursor}"))
            .key(demo, mode)
            .send()
            .await
            .expect(400);
    }
}

#[tokio::test]
async fn changes_while_paging_neither_repeat_nor_hide_entries() {
    let api = TestApi::new().await;
    let all = create_roles(&api, 4).await;
    let first = api.get("/api/v1/roles?limit=2").await.expect(200);
    create_roles(&api, 3).await;
    api.delete(&format!("/api/v1/roles/{}", all[1])).await.expect(200);
    let second =
        api.get(&format!("/api/v1/roles?limit=2&cursor={}", first.string("/next_cursor"))).await.expect(200);
    assert_eq!([ids(&first), ids(&second)].concat(), all);
}

/// A query reads at most 1 MB, so a page of very long items may be short. A short page still has a cursor.
#[tokio::test]
async fn very_long_items_make_shorter_pages() {
    let api = TestApi::new().await;
    let long = "🦀".repeat(20_000);
    let mut all = Vec::new();
    for _ in 0..30 {
        all.insert(
            0,
            api.post("/api/v1/roles", json!({ "title": "x", "description": long })).await.number("/id"),
        );
    }
    let mut path = "/api/v1/roles?limit=100".to_owned();
    let mut read = Vec::new();
    loop {
        api.dynamodb.take_calls();
        let page = api.get(&path).await.expect(200);
        assert!(api.dynamodb.take_calls().len() <= 3);
        read.extend(ids(&page));
        let Some(cursor) = page.body["next_cursor"].as_str() else { break };
        path = format!("/api/v1/roles?limit=100&cursor={cursor}");
    }
    assert_eq!(read, all);
}

/// A route below a resource binds its cursors and links to the resource's path.
#[tokio::test]
async fn a_cursor_is_bound_to_the_path_with_its_ids() {
    async fn list(request: ApiRequest<Listing<()>>) -> Result<Reply<Collection<Id>>, Error> {
        let ((), _) = request.listing()?;
        let next = Some("0001".to_owned());
        request.reply(Listed { items: vec![request.context.id()?], next }, |id| id)
    }
    const KEY: &str = "GET /api/v1/roles/{id}";
    let api = TestApi::new().await;
    let app = App::new(api.environment.clone(), vec![Route::new(KEY, Scope::RolesRead, list)]);
    let get = async |id: &str, query: &str| {
        let mut parameters = json!({ "limit": "1" });
        if let Some(cursor) = query.strip_prefix("limit=1&cursor=") {
            parameters["cursor"] = cursor.into();
        }
        let event = json!({
            "version": "2.0",
            "routeKey": KEY,
            "rawPath": format!("/api/v1/roles/{id}"),
            "rawQueryString": query,
            "queryStringParameters": parameters,
            "pathParameters": { "id": id },
            "headers": { "authorization": format!("Bearer {}", key(ACME, Mode::Live)) },
            "requestContext": {
                "accountId": "1", "apiId": "a", "domainName": "api.rolecall.test", "domainPrefix": "api",
                "http": {
                    "method": "GET", "path": format!("/api/v1/roles/{id}"), "protocol": "HTTP/1.1",
                    "sourceIp": "127.0.0.1", "userAgent": "test",
                },
                "requestId": "r", "routeKey": KEY, "stage": "$default",
                "time": "20/Nov/2026:09:30:00 +0000", "timeEpoch": 1,
            },
            "isBase64Encoded": false,
        });
        let request = lambda_http::request::from_str(&event.to_string()).unwrap();
        let response = app.handle(request).await;
        let link =
            response.headers().get("link").map(|link| str::from_utf8(link.as_bytes()).unwrap().to_owned());
        (response.status().as_u16(), link.unwrap_or_default())
    };
    let (status, link) = get("7", "limit=1").await;
    assert_eq!(status, 200);
    let cursor = link
        .strip_prefix(&format!("<{BASE_URL}/api/v1/roles/7?limit=1&cursor="))
        .and_then(|rest| rest.strip_suffix(">; rel=\"next\""))
        .unwrap_or_else(|| panic!("{link}"));
    assert_eq!(get("7", &format!("limit=1&cursor={cursor}")).await.0, 200);
    assert_eq!(get("8", &format!("limit=1&cursor={cursor}")).await.0, 400, "another role's cursor");
}
