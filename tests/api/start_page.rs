//! The start page at `/`.

use http::Method;
use rolecall_local::demo::DEMOS;
use shared::model::Mode;
use tests::{ACME, BASE_URL, TestApi};

const HTML: &str = "text/html,application/xhtml+xml";

#[tokio::test]
async fn the_start_page_links_to_everything_that_runs_here() {
    let api = TestApi::new().await;
    let get =
        |path: &str, accept: &str| api.request(Method::GET, path).anonymous().header("accept", accept).send();
    let page = get("/", HTML).await.expect(200);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.header("content-security-policy").starts_with("default-src 'none'; style-src 'self';"));
    let links = page.text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let links: Vec<_> = links.filter(|link| link.starts_with('/')).map(str::to_owned).collect();
    for path in ["/dashboard", "/docs", "/api/v1/openapi.json"] {
        assert!(links.iter().any(|link| link == path), "{path} is missing in {links:?}");
    }
    for link in links {
        let status = get(&link, HTML).await.status;
        // The dashboard sends a visitor to the sign-in page.
        assert!(matches!(status, 200 | 303), "{link}: {status}");
    }
    assert!(!page.text.contains("password"), "only the local service has a demo login");
    api.dynamodb.take_calls();
    get("/", HTML).await.expect(200);
    get("/", "*/*").await.expect(200);
    assert!(api.dynamodb.take_calls().is_empty());
}

#[tokio::test]
async fn programs_get_the_start_page_as_json() {
    let api = TestApi::new().await;
    for accept in ["application/json", "*/*"] {
        let start =
            api.request(Method::GET, "/").anonymous().header("accept", accept).send().await.expect(200);
        assert_eq!(start.header("content-type"), "application/json");
        assert_eq!(start.string("/name"), "Rolecall");
        assert_eq!(start.string("/api_url"), format!("{BASE_URL}/api/v1"));
        for link in ["/openapi_url", "/docs_url"] {
            let path = start.string(link).strip_prefix(BASE_URL).unwrap();
            api.request(Method::GET, path).anonymous().send().await.expect(200);
        }
        assert_eq!(start.string("/dashboard_url"), format!("{BASE_URL}/dashboard"));
    }
}

#[tokio::test]
async fn the_local_service_shows_its_demo_login() {
    let mut api = TestApi::new().await;
    api.environment.config.edge.demo_login = Some(DEMOS[ACME].login().unwrap());
    api.restart();
    let get = |path: &str| api.request(Method::GET, path).anonymous().header("accept", HTML).send();
    let page = get("/").await.expect(200);
    let acme = &DEMOS[ACME];
    for text in [acme.email, acme.password, acme.key(Mode::Live).unwrap().reveal()] {
        assert!(page.text.contains(text), "{text} is missing");
    }
    let careers = acme.careers_path();
    assert!(page.text.contains(&format!("href=\"{careers}\"")));
    get(&careers).await.expect(200);
    let json = api.request(Method::GET, "/").anonymous().send().await.expect(200);
    assert!(!json.text.contains(acme.password));
}
