//! Pages: cursors, links, and what they are bound to.

use http::Method;
use serde_json::json;
use shared::model::Mode;
use tests::{ACME, Answer, BASE_URL, GLOBEX, World};

async fn roles(world: &World, count: usize) -> Vec<u64> {
    let mut ids = Vec::new();
    for n in 0..count {
        ids.insert(
            0,
            world
                .post("/api/v1/roles", json!({ "title": format!("Role {n}") }))
                .await
                .expect(201)
                .number("/id"),
        );
    }
    ids
}

fn ids(page: &Answer) -> Vec<u64> {
    page.body["data"].as_array().into_iter().flatten().filter_map(|role| role["id"].as_u64()).collect()
}

#[tokio::test]
async fn following_the_cursor_or_the_link_reads_everything_once() {
    let world = World::new().await;
    let all = roles(&world, 23).await;
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
            let page = world.get(&path).await.expect(200);
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
async fn the_default_page_has_25() {
    let world = World::new().await;
    let all = roles(&world, 26).await;
    assert_eq!(ids(&world.get("/api/v1/roles").await.expect(200)), all[..25]);
}

#[tokio::test]
async fn a_cursor_is_good_only_for_its_own_list() {
    let world = World::new().await;
    roles(&world, 3).await;
    let cursor = world.get("/api/v1/roles?limit=1").await.string("/next_cursor").to_owned();
    world.get(&format!("/api/v1/roles?limit=2&cursor={cursor}")).await.expect(200);
    let mut tampered = cursor.clone().into_bytes();
    tampered[10] = if tampered[10] == b'A' { b'B' } else { b'A' };
    let tampered = String::from_utf8(tampered).unwrap();
    for path in [
        format!("/api/v1/roles?cursor={tampered}"),
        format!("/api/v1/roles?status=draft&cursor={cursor}"),
        format!("/api/v1/job_postings?cursor={cursor}"),
        format!("/api/v1/roles?cursor={cursor}x"),
        "/api/v1/roles?cursor=".to_owned(),
        "/api/v1/roles?cursor=%FF%00".to_owned(),
        format!("/api/v1/roles?cursor={}", "A".repeat(2_000)),
    ] {
        let refused = world.get(&path).await.expect(400);
        assert_eq!(refused.string("/code"), "bad_request", "{path}");
    }
    for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live)] {
        world
            .request(Method::GET, &format!("/api/v1/roles?cursor={cursor}"))
            .key(demo, mode)
            .send()
            .await
            .expect(400);
    }
}

#[tokio::test]
async fn what_comes_while_paging_neither_repeats_nor_hides_anything() {
    let world = World::new().await;
    let all = roles(&world, 4).await;
    let first = world.get("/api/v1/roles?limit=2").await.expect(200);
    roles(&world, 3).await;
    world.delete(&format!("/api/v1/roles/{}", all[1])).await.expect(200);
    let second = world
        .get(&format!("/api/v1/roles?limit=2&cursor={}", first.string("/next_cursor")))
        .await
        .expect(200);
    assert_eq!([ids(&first), ids(&second)].concat(), all);
}

/// A query reads 1 MB at most: a page of very long items may be short, and says how to go on.
#[tokio::test]
async fn very_long_items_make_short_pages() {
    let world = World::new().await;
    let long = "🦀".repeat(20_000);
    let mut all = Vec::new();
    for _ in 0..30 {
        all.insert(
            0,
            world.post("/api/v1/roles", json!({ "title": "x", "description": long })).await.number("/id"),
        );
    }
    let mut path = "/api/v1/roles?limit=100".to_owned();
    let mut read = Vec::new();
    loop {
        world.wire.take();
        let page = world.get(&path).await.expect(200);
        assert!(world.wire.take().len() <= 3);
        read.extend(ids(&page));
        let Some(cursor) = page.body["next_cursor"].as_str() else { break };
        path = format!("/api/v1/roles?limit=100&cursor={cursor}");
    }
    assert_eq!(read, all);
}
