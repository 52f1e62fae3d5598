//! The start page at `/`, and redirects from paths of pages with a slash at the end.

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
async fn a_page_with_a_slash_at_the_end_redirects_to_the_page() {
    let api = TestApi::new().await;
    for (path, location) in [
        ("/dashboard/", "/dashboard"),
        ("/dashboard/candidates/?stage=offer&q=a%2Fb+c", "/dashboard/candidates?stage=offer&q=a%2Fb+c"),
        ("/docs/", "/docs"),
        ("/docs/roles//", "/docs/roles"),
        ("/careers/acme/", "/careers/acme"),
        ("/careers/acme/cook/apply/", "/careers/acme/cook/apply"),
        ("/careers/acme/caf%C3%A9%20%25%3F%23%5C/", "/careers/acme/caf%C3%A9%20%25%3F%23%5C"),
        ("/careers/%0D%0Ax:%20y/", "/careers/%0D%0Ax%3A%20y"),
    ] {
        for method in [Method::GET, Method::HEAD] {
            let response = api.request(method, path).anonymous().header("accept", HTML).send().await;
            assert_eq!((response.status, response.header("location")), (308, location), "{path}");
        }
        let response = api.request(Method::POST, path).anonymous().header("accept", HTML).send().await;
        assert_eq!((response.status, response.header("location")), (404, ""), "POST {path}");
    }
}

#[tokio::test]
async fn no_other_path_with_a_slash_at_the_end_redirects() {
    let api = TestApi::new().await;
    for path in [
        "//",
        "//evil.example/",
        "//evil.example/dashboard/",
        "/%2F/evil.example/",
        "/%2Fevil.example%2Fdashboard/",
        "/\\evil.example/",
        "/%5Cevil.example/",
        "/%09/evil.example/",
        "/careers//evil.example/",
        "/careers/",
        "/careers//",
        "//dashboard/",
        "/dashboard//candidates/",
        "/dashboard.evil.example/",
        "/dashboard/nowhere/",
        "/dashboard/mode/",
        "/api/v1/",
        "/api/v1/roles/",
        "/api/v1/openapi.json/",
        "/oauth/authorize/",
        "/.well-known/security.txt/",
        "/robots.txt/",
    ] {
        let response = api.request(Method::GET, path).anonymous().header("accept", HTML).send().await;
        assert_eq!((response.status, response.header("location")), (404, ""), "{path}");
    }
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
