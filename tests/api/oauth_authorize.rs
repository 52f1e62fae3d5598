//! OAuth: who may ask a member, where the answer goes, and what is told to whoever asks wrongly.

use http::Method;
use serde_json::json;
use tests::browser::{Browser, Form};
use tests::oauth::{App, REDIRECT, STATE, Tokens, address, refusal};
use tests::{ACME, Answer, BASE_URL, World};

async fn ask(world: &World, asking: &Form) -> Answer {
    world.request(Method::GET, &address(asking)).anonymous().send().await
}

fn assert_error_page(answer: &Answer, what: &str) {
    assert_eq!((answer.status, answer.header("location")), (400, ""), "{what:?}");
    assert!(answer.header("content-type").starts_with("text/html"), "{what:?}");
    assert!(answer.text.contains("<h1>This request cannot be understood</h1>"), "{what:?}");
}

#[tokio::test]
async fn whoever_is_not_known_sees_an_error_page_and_goes_nowhere() {
    let world = World::new().await;
    let app = App::register(&world, "none").await;
    let other = App::registered(&world, &json!({ "redirect_uris": ["https://other.example/cb"] })).await;
    let good = app.asking();
    let browser = Browser::signed_in(&world, ACME).await;
    let form = Form::of(&browser.get(&address(&good)).await.expect(200), "/oauth/authorize");
    let form = form.and("mode", "live").and("decision", "allow");
    for (what, change) in [
        ("nothing", Form::default()),
        ("no client", good.clone().without("client_id")),
        ("an empty client", good.clone().set("client_id", "")),
        ("an unknown client", good.clone().set("client_id", "rc_client_0000000000000000000000")),
        ("another's client", good.clone().set("client_id", &other.id)),
        ("a client in upper case", good.clone().set("client_id", &app.id.to_uppercase())),
        ("a client with a blank", good.clone().set("client_id", &format!("{} ", app.id))),
        ("a client of the database's", good.clone().set("client_id", "1#live#GATE")),
        ("a long client", good.clone().set("client_id", &"x".repeat(3_000))),
        ("a foreign alphabet", good.clone().set("client_id", "приложение")),
        ("two clients", good.clone().and("client_id", &app.id)),
        ("no address", good.clone().without("redirect_uri")),
        ("an empty address", good.clone().set("redirect_uri", "")),
        ("two addresses", good.clone().and("redirect_uri", REDIRECT)),
        ("two addresses, one bad", good.clone().and("redirect_uri", "https://evil.example/")),
        ("another's address", good.clone().set("redirect_uri", "https://other.example/cb")),
        // Whatever else is wrong, too.
        ("all wrong", good.clone().set("redirect_uri", "https://evil.example/").without("response_type")),
    ] {
        assert_error_page(&ask(&world, &change).await, what);
        assert_error_page(&browser.get(&address(&change)).await, what);
        world.wire.take();
        let answer = browser.submit("/oauth/authorize", &change.and("csrf", form.get("csrf"))).await;
        assert_error_page(&answer, what);
        assert!(world.wire.take().iter().all(|call| call.operation.contains("Get")), "{what}");
    }
    browser.submit("/oauth/authorize", &form).await.expect(303);
}

/// Addresses that are not the registered one, `scheme://host` and `path`, in some notation or other.
fn look_alikes(scheme: &str, host: &str, path: &str) -> Vec<String> {
    let whole = format!("{scheme}://{host}{path}");
    let authorities = "E H.E H-E E.H EH H@E H:80@E E@H E:x@H @H E#H E?H E/H E\\H E\\@H H\\@E H\\.E E#@H E?@H E/@H H%2eE \
        H%40E H%2fE H%00.E H%0d%0a.E H. .H H: H:x H:-1 H:0 H:080 H:65536 H:80:80 H:80@E H, H;E H%20 %48 [H] *.H * H\u{3002}E \
        H\u{ff0e}E H\u{200b} H\u{2044}@E x.H";
    let paths = "P/ /P //P /.P /./P /x/..P P/. P/.. P/../x P/..%2fx P/%2e%2e/x P%2f P%00 P%0d%0ax P\\ P\\..\\x P;x P? P?x=1 P&x=1 \
        P# P#x P@E @E .E P.E P%20 P* /* P%23 /x?P /x#P P\u{ff0f} / /E";
    let schemes = ["http", "https", "HTTPS", "Http", "ftp", "ws", "javascript", "data", "x.example"];
    let fill = |text: &str| text.replace('H', host).replace('P', path).replace('E', "evil.example");
    let mut all: Vec<_> =
        authorities.split(' ').map(|text| format!("{scheme}://{}{path}", fill(text))).collect();
    all.extend(paths.split(' ').map(|text| format!("{scheme}://{host}{}", fill(text))));
    all.extend(schemes.iter().map(|other| format!("{other}://{host}{path}")));
    all.extend([
        format!("{scheme}:{host}{path}"),
        format!("{scheme}:/{host}{path}"),
        format!("{scheme}:///{host}{path}"),
        format!("//{host}{path}"),
        format!("{host}{path}"),
        path.to_owned(),
        format!(" {whole}"),
        format!("{whole} "),
        format!("{whole}\n"),
        format!("{whole}\t"),
        format!("{whole}\0"),
        format!("{whole},{whole}"),
        format!("{whole} https://evil.example"),
        whole.replace('/', "\\"),
        whole.replace('/', "%2f"),
        whole.replace(':', "%3a"),
        whole.to_uppercase(),
        whole.replacen(host, &host.to_uppercase(), 1),
        whole.replace('a', "\u{430}"),
        whole[1..].to_owned(),
        whole[..whole.len() - 1].to_owned(),
        format!("https://evil.example/?next={whole}"),
    ]);
    all
}

#[tokio::test]
async fn no_look_alike_of_a_registered_address_is_redirected_to() {
    let world = World::new().await;
    let registered = [
        ("https", "app.example", "/callback"),
        ("https", "app.example:8443", "/cb?tenant=1"),
        ("http", "127.0.0.1", "/callback"),
        ("http", "localhost:8080", "/callback"),
    ];
    let uris = registered.map(|(scheme, host, path)| format!("{scheme}://{host}{path}"));
    let metadata = json!({ "redirect_uris": uris, "token_endpoint_auth_method": "none" });
    let app = App::registered(&world, &metadata).await;
    let mut tried = 0;
    for (scheme, host, path) in registered {
        // Of a loopback address, another sound port is the same one.
        let same_program = |given: &String| {
            let name = host.split(':').next().unwrap();
            let port =
                given.strip_prefix(&format!("{scheme}://{name}")).and_then(|rest| rest.strip_suffix(path));
            let sound = |port: &str| {
                port.is_empty() || port.strip_prefix(':').is_some_and(|port| port == "80" || port == "8080")
            };
            scheme == "http" && port.is_some_and(sound)
        };
        for given in look_alikes(scheme, host, path) {
            if uris.contains(&given) || same_program(&given) {
                continue;
            }
            let asking = app.asking().set("redirect_uri", &given);
            assert_error_page(&ask(&world, &asking).await, &given);
            tried += 1;
        }
    }
    assert!(tried >= 350, "{tried}");
    for uri in uris {
        ask(&world, &app.asking().set("redirect_uri", &uri)).await.expect(303);
    }
}

#[tokio::test]
async fn a_program_on_the_own_machine_listens_on_any_port() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    for (registered, asked, other) in [
        ("http://127.0.0.1/cb", "http://127.0.0.1:49152/cb", "http://127.0.0.1:49153/cb"),
        ("http://127.0.0.1:8080/cb", "http://127.0.0.1:65535/cb", "http://127.0.0.1:8080/cb"),
        ("http://localhost:1/cb?x=1", "http://localhost:3000/cb?x=1", "http://localhost:1/cb?x=1"),
        ("http://[::1]/cb", "http://[::1]:3000/cb", "http://[::1]/cb"),
    ] {
        let metadata = json!({ "redirect_uris": [registered], "token_endpoint_auth_method": "none" });
        let app = App::registered(&world, &metadata).await;
        let page = browser.get(&address(&app.asking().set("redirect_uri", asked))).await.expect(200);
        let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
        let sent = browser.submit("/oauth/authorize", &form).await;
        let (back, answer) = Form::of_location(&sent);
        assert_eq!(back, asked.split('?').next().unwrap());
        assert!(sent.header("location").starts_with(asked));
        let exchange = App::exchanging(answer.get("code"));
        let wrong = app.send("/oauth/token", &exchange.clone().set("redirect_uri", other)).await;
        assert_eq!(
            refusal(&wrong),
            (400, "invalid_grant"),
            "the code is bound to the port that was asked for"
        );
        Tokens::of(&app.send("/oauth/token", &exchange.set("redirect_uri", asked)).await);
    }
}

#[tokio::test]
async fn every_other_mistake_is_told_to_the_application() {
    let world = World::new().await;
    let app = App::register(&world, "none").await;
    let good = app.asking();
    let browser = Browser::signed_in(&world, ACME).await;
    let page = browser.get(&address(&good)).await.expect(200);
    let csrf = Form::of(&page, "/oauth/authorize").get("csrf").to_owned();
    let short = "x".repeat(42);
    let mut mistakes = vec![
        (good.clone().without("response_type"), "invalid_request"),
        (good.clone().set("response_type", ""), "invalid_request"),
        (good.clone().set("response_type", "token"), "unsupported_response_type"),
        (good.clone().set("response_type", "code token"), "unsupported_response_type"),
        (good.clone().set("response_type", "CODE"), "unsupported_response_type"),
        (good.clone().without("code_challenge"), "invalid_request"),
        (good.clone().without("code_challenge").without("code_challenge_method"), "invalid_request"),
        (good.clone().without("code_challenge_method"), "invalid_request"),
        (good.clone().set("code_challenge_method", "plain"), "invalid_request"),
        (good.clone().set("code_challenge_method", "none"), "invalid_request"),
        (good.clone().set("code_challenge_method", "s256"), "invalid_request"),
        (good.clone().set("code_challenge", ""), "invalid_request"),
        (good.clone().set("code_challenge", &short), "invalid_request"),
        (good.clone().set("code_challenge", &"x".repeat(44)), "invalid_request"),
        (good.clone().set("code_challenge", &"x".repeat(2_000)), "invalid_request"),
        (good.clone().set("code_challenge", &format!("{short}=")), "invalid_request"),
        (good.clone().set("code_challenge", &format!("{short}+")), "invalid_request"),
        (good.clone().set("code_challenge", &format!("{}é", &short[1..])), "invalid_request"),
        (good.clone().set("scope", "roles:delete"), "invalid_scope"),
        (good.clone().set("scope", "roles:read offline_access"), "invalid_scope"),
        (good.clone().set("scope", "ROLES:READ"), "invalid_scope"),
        (good.clone().set("scope", "roles:read,roles:write"), "invalid_scope"),
        (good.clone().set("scope", " "), "invalid_scope"),
    ];
    for name in ["response_type", "code_challenge", "code_challenge_method", "state"] {
        mistakes.push((good.clone().and(name, good.get(name)), "invalid_request"));
    }
    mistakes.push((good.clone().set("scope", "roles:read").and("scope", "roles:read"), "invalid_request"));
    for resource in [
        "https://evil.example/api/v1",
        "https://api.rolecall.test.evil.example/api/v1",
        "https://api.rolecall.test@evil.example/api/v1",
        "https://me@api.rolecall.test/api/v1",
        "http://api.rolecall.test/api/v1",
        "https://api.rolecall.test:8443/api/v1",
        "https://api.rolecall.test/api/v2",
        "https://api.rolecall.test/api",
        "https://api.rolecall.test/api/v1/roles",
        "https://api.rolecall.test/api/v1?x",
        "https://api.rolecall.test/api/v1#x",
        "/api/v1",
        "api.rolecall.test",
        "nonsense",
    ] {
        mistakes.push((good.clone().set("resource", resource), "invalid_target"));
        mistakes.push((good.clone().and("resource", resource), "invalid_target"));
    }
    for (asking, error) in mistakes {
        world.wire.take();
        for answer in [
            ask(&world, &asking).await,
            browser.get(&address(&asking)).await,
            browser
                .submit("/oauth/authorize", &asking.clone().and("csrf", &csrf).and("decision", "allow"))
                .await,
        ] {
            let (back, told) = Form::of_location(&answer);
            assert_eq!((back.as_str(), told.get("error")), (REDIRECT, error), "{asking:?}");
            assert_eq!((told.get("state"), told.get("iss")), (STATE, BASE_URL), "{asking:?}");
            assert_eq!(told.names(), ["error", "error_description", "state", "iss"]);
            assert_eq!(answer.header("cache-control"), "no-store");
        }
        assert!(world.wire.take().iter().all(|call| call.operation.contains("Get")), "{asking:?}");
    }
    let without_state = good.clone().without("state").set("response_type", "token");
    let (_, told) = Form::of_location(&ask(&world, &without_state).await);
    assert_eq!(told.names(), ["error", "error_description", "iss"], "what was not sent does not come back");
}

#[tokio::test]
async fn an_answer_goes_behind_what_the_address_has_already() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    for (uri, beginning, source) in [
        ("https://app.example/cb?tenant=1", "https://app.example/cb?tenant=1&", "https://app.example"),
        ("com.example.app:/callback", "com.example.app:/callback?", "com.example.app:"),
        ("http://localhost:3000", "http://localhost:3000?", "http://localhost:*"),
        ("https://app.example:8443/", "https://app.example:8443/?", "https://app.example:8443"),
    ] {
        let metadata = json!({ "redirect_uris": [uri], "token_endpoint_auth_method": "none" });
        let app = App::registered(&world, &metadata).await;
        let asking = app.asking().set("redirect_uri", uri);
        let refused = ask(&world, &asking.clone().set("scope", "x")).await;
        assert!(
            refused.header("location").starts_with(&format!("{beginning}error=invalid_scope&")),
            "{refused:?}"
        );
        let page = browser.get(&address(&asking)).await.expect(200);
        let policy = page.header("content-security-policy");
        assert!(policy.contains(&format!("form-action 'self' {source};")), "{policy}");
        let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
        let sent = browser.submit("/oauth/authorize", &form).await;
        assert!(sent.header("location").starts_with(&format!("{beginning}code=rc_ac_L")), "{sent:?}");
    }
}

#[tokio::test]
async fn the_ways_in_which_clients_name_the_resource_are_one() {
    let world = World::new().await;
    let app = App::register(&world, "none").await;
    let browser = Browser::signed_in(&world, ACME).await;
    for resource in [
        "https://api.rolecall.test/api/v1",
        "https://api.rolecall.test/api/v1/",
        "https://api.rolecall.test",
        "https://api.rolecall.test/",
        "https://API.rolecall.test:443/api/v1",
    ] {
        let asking = app.asking().set("resource", resource);
        let code = app.code(&browser, &asking, "live").await;
        let exchange = App::exchanging(&code).and("resource", resource);
        Tokens::of(&app.send("/oauth/token", &exchange).await);
    }
    for asking in [
        app.asking().without("resource"),
        app.asking().set("resource", ""),
        app.asking().and("resource", "https://api.rolecall.test"),
    ] {
        app.code(&browser, &asking, "live").await;
    }
}
