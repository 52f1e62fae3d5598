//! API keys and connected apps in the dashboard: every change takes effect in the API immediately.

use http::Method;
use shared::auth::Kind;
use shared::id::Id;
use shared::model::{Grant, MemberRole, Mode, Scope, Scopes};
use shared::store::Transaction;
use tests::browser::{Browser, Form, input, plain};
use tests::dashboard::{actions, add_member, connect_app, escaped, owner, shown_once};
use tests::{ACME, Response, TestApi, new_credential, read_credential, tenant};

use crate::dashboard_access::is_write;

const PATH: &str = "/dashboard/settings/integrations/api-keys";
const APPS: &str = "/dashboard/settings/integrations/connected-apps";

/// The scopes that only owners give to keys.
const FOR_OWNERS: [&str; 4] = ["candidates:erase", "audit:read", "data:import", "data:export"];

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

async fn call(api: &TestApi, token: &str, path: &str) -> Response {
    let request = api.request(Method::GET, path);
    request.header("authorization", &format!("Bearer {token}")).send().await
}

/// Creates a key in the dashboard.
async fn create(browser: &Browser<'_>, name: &str, scopes: &[&str], days: &str) -> String {
    let mut fields = vec![("name", name), ("expires_in_days", days)];
    fields.extend(scopes.iter().map(|scope| ("scope", *scope)));
    shown_once(&browser.post(PATH, &fields).await.expect(200)).expect("a key")
}

fn revoke(key: &str) -> String {
    format!("{PATH}/{}/revoke", read_credential(key).id())
}

/// Returns the table row that contains this string.
fn row(page: &Response, text: &str) -> String {
    let row = page.text.split("<tr>").find(|row| row.contains(text)).unwrap_or_else(|| panic!("{text}"));
    row.split("</tr>").next().unwrap().to_owned()
}

#[tokio::test]
async fn a_new_key_works_immediately_for_its_scopes_and_mode_only() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    let routes = [
        (Scope::RolesRead, "/api/v1/roles"),
        (Scope::CandidatesRead, "/api/v1/candidates"),
        (Scope::VoiceScreensRead, "/api/v1/voice_screens"),
        (Scope::ChannelsRead, "/api/v1/channels"),
        (Scope::OrganizationRead, "/api/v1/organization"),
    ];
    for mode in Mode::ALL {
        browser.post("/dashboard/mode", &[("mode", mode.as_str())]).await.expect(303);
        for scopes in [vec![Scope::RolesRead], vec![Scope::CandidatesRead, Scope::OrganizationRead]] {
            let names: Vec<_> = scopes.iter().map(|scope| scope.as_str()).collect();
            let key = create(&browser, "Some", &names, "").await;
            assert!(key.starts_with(&format!("rc_{}_", mode.as_str())));
            for (scope, path) in routes {
                let expected = if scopes.contains(&scope) { 200 } else { 403 };
                assert_eq!(call(&api, &key, path).await.status, expected, "{path} with {names:?}");
            }
        }
        let all: Vec<_> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
        let key = create(&browser, "All", &all, "").await;
        assert_eq!(call(&api, &key, "/api/v1/organization").await.string("/mode"), mode.as_str());
        let listed = browser.get(PATH).await.expect(200);
        assert!(listed.text.contains(&format!("value=\"{}\" checked", mode.as_str())));
    }
}

#[tokio::test]
async fn the_form_begins_with_the_permissions_for_a_purpose() {
    let api = TestApi::new().await;
    let owner = acme(&api).await;
    let member = add_member(&api, ACME, "Bob", MemberRole::Member).await;
    let member = Browser::with_session(&api, ACME, &member).await;
    let ticked = |page: &Response| -> Vec<&str> {
        let names = Scope::ALL.into_iter().map(Scope::as_str);
        names.filter(|name| page.text.contains(&format!("value=\"{name}\" checked"))).collect()
    };
    let read = ["roles:read", "candidates:read", "voice_screens:read", "channels:read", "organization:read"]
        .to_vec();
    let recruiting =
        ["roles:read", "roles:write", "candidates:read", "candidates:write", "voice_screens:read"].to_vec();
    let all: Vec<_> = Scope::ALL.into_iter().map(Scope::as_str).collect();
    for (query, expected, label) in [
        ("", read.clone(), "Read only"),
        ("?preset=read", read.clone(), "Read only"),
        ("?preset=nonsense", read, "Read only"),
        ("?preset=recruiting", recruiting, "Recruiting tool"),
        ("?preset=job-board", vec!["roles:read", "candidates:write"], "Job board"),
        ("?preset=everything", all, "Everything"),
    ] {
        let page = owner.get(&format!("{PATH}{query}")).await.expect(200);
        assert_eq!(ticked(&page), expected, "{query}");
        assert!(page.text.contains(&format!("aria-current=\"true\">{label}</a>")), "{query}: {}", page.text);
        // Only owners may give a key these.
        let page = member.get(&format!("{PATH}{query}")).await.expect(200);
        let expected: Vec<_> = expected.into_iter().filter(|name| !FOR_OWNERS.contains(name)).collect();
        assert_eq!(ticked(&page), expected, "{query}");
    }
}

#[tokio::test]
async fn the_command_for_a_new_key_is_one_that_the_key_may_run() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    for scope in Scope::ALL {
        let page = browser.post(PATH, &[("name", "Some"), ("scope", scope.as_str())]).await.expect(200);
        let key = shown_once(&page).unwrap();
        let Some(command) = page.text.split("<code>curl ").nth(1) else {
            assert!(
                matches!(
                    scope,
                    Scope::ChannelsWrite
                        | Scope::CandidatesErase
                        | Scope::DataExport
                        | Scope::WebhooksRead
                        | Scope::WebhooksWrite
                ),
                "{scope:?}"
            );
            continue;
        };
        let command = plain(command.split("</code>").next().unwrap());
        let path = &command[command.find("/api/").unwrap()..];
        let path = path.split(' ').next().unwrap();
        let body = command.split("-d '").nth(1).map(|rest| rest.split('\'').next().unwrap());
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let request = api.request(method, path).bearer(&key);
        let request = match body {
            Some(body) => request.json(&serde_json::from_str(body).unwrap()),
            None => request,
        };
        let status = request.send().await.status;
        assert!(status == 200 || status == 201, "{scope:?}: {status} for {command}");
    }
}

#[tokio::test]
async fn a_key_is_shown_once_and_stored_as_a_hash() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    api.dynamodb.take_calls();
    let response = browser.post(PATH, &[("name", "Site"), ("scope", "roles:read")]).await.expect(200);
    let key = shown_once(&response).unwrap();
    assert_eq!(response.text.matches(&key).count(), 2, "in the field and in the example");
    assert!(response.text.contains(&format!("-H \"Authorization: Bearer {key}\"")), "{}", response.text);
    assert_eq!(response.header("cache-control"), "no-store");
    assert_eq!(
        (input(&response, "name"), input(&response, "expires_in_days")),
        (String::new(), "365".to_owned())
    );
    assert!(
        !api.dynamodb
            .take_calls()
            .iter()
            .any(|call| format!("{} {}", call.request, call.response).contains(&key))
    );
    let listed = row(&browser.get(PATH).await.expect(200), "Site");
    assert!(listed.contains(&format!("<code>rc_live_…{}</code>", &key[key.len() - 4..])), "{listed}");
    assert!(!listed.contains(&key[key.len() - 5..]), "no more than four characters");
    for page in [PATH, "/dashboard", APPS, "/dashboard/settings/account"] {
        let response = browser.get(page).await.expect(200);
        assert!(!response.text.contains(&key[26..]) && shown_once(&response).is_none(), "{page}");
    }
}

#[tokio::test]
async fn an_invalid_form_keeps_its_values_and_creates_no_key() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    let long = "x".repeat(101);
    for (name, scopes, days, problems) in [
        ("", &["roles:read"][..], "", &["The name can't be blank."][..]),
        (&long, &["roles:read"], "7", &["The name must be at most 100 characters."]),
        ("A\u{7}", &["roles:read"], "", &["The name must not contain control characters"]),
        ("A <b>", &[], "30", &["Select at least one permission."]),
        ("A", &["roles", "everything"], "", &["Select at least one permission."]),
        ("A", &["roles:read", "channels:write"], "0", &["Enter a whole number of days from 1 to 3660"]),
        ("A", &["roles:read"], "3661", &["Enter a whole number of days"]),
        ("A", &["roles:read"], "1.5", &["Enter a whole number of days"]),
        ("A", &["roles:read"], "soon", &["Enter a whole number of days"]),
        (
            "",
            &[],
            "-1",
            &["The name can't be blank.", "Select at least one permission.", "Enter a whole number of days"],
        ),
    ] {
        let mut fields = vec![("name", name), ("expires_in_days", days)];
        fields.extend(scopes.iter().map(|scope| ("scope", *scope)));
        api.dynamodb.take_calls();
        let page = browser.post(PATH, &fields).await.expect(422);
        assert!(!api.dynamodb.take_calls().iter().any(is_write), "{problems:?}");
        for problem in problems {
            assert!(page.text.contains(&escaped(problem)), "{problem}: {}", page.text);
        }
        assert_eq!(
            (input(&page, "name"), input(&page, "expires_in_days")),
            (name.to_owned(), days.to_owned())
        );
        for scope in Scope::ALL {
            let checkbox = format!("value=\"{}\" checked", scope.as_str());
            assert_eq!(
                page.text.contains(&checkbox),
                scopes.contains(&scope.as_str()),
                "{scope:?} {problems:?}"
            );
        }
        assert!(shown_once(&page).is_none());
    }
    let fresh = browser.get(PATH).await.expect(200);
    assert_eq!(
        fresh.text.matches("checked").count(),
        5 + 1,
        "the scopes that only read and one mode are selected"
    );
    assert!(
        fresh.text.contains("value=\"candidates:erase\"")
            && !fresh.text.contains("candidates:erase\" checked")
    );
    // The browser enforces the same limit.
    assert!(fresh.text.contains("maxlength=\"100\""), "{}", fresh.text);
}

#[tokio::test]
async fn a_revoked_key_is_rejected_immediately() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    let (one, two) = (
        create(&browser, "One", &["roles:read"], "").await,
        create(&browser, "Two", &["roles:read"], "").await,
    );
    for _ in 0..2 {
        let response = browser.post(&revoke(&one), &[]).await.expect(303);
        assert!(browser.follow(&response).await.expect(200).text.contains("API key revoked."));
    }
    assert_eq!(call(&api, &one, "/api/v1/roles").await.status, 401);
    assert_eq!(call(&api, &two, "/api/v1/roles").await.status, 200);
    let listed = browser.get(PATH).await.expect(200);
    assert!(row(&listed, ">One<").contains("is-revoked") && row(&listed, ">Two<").contains("is-active"));
    assert!(!actions(&listed).contains(&revoke(&one)) && actions(&listed).contains(&revoke(&two)));
}

#[tokio::test]
async fn a_key_expires_and_can_still_be_revoked() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    let key = create(&browser, "Brief", &["roles:read"], " 7 ").await;
    assert!(row(&browser.get(PATH).await, "Brief").contains("27 Nov 2026"));
    for (time, status, state) in
        [("2026-11-27T09:29:59.000Z", 200, "is-active"), ("2026-11-27T09:30:00.000Z", 401, "is-expired")]
    {
        api.clock.set(time);
        assert_eq!(call(&api, &key, "/api/v1/roles").await.status, status, "{time}");
        let browser = acme(&api).await;
        let listed = browser.get(PATH).await.expect(200);
        assert!(row(&listed, "Brief").contains(state), "{time}");
        // An expired key counts towards the limit of 25 until it is revoked.
        assert!(actions(&listed).contains(&revoke(&key)), "{time}");
    }
}

#[tokio::test]
async fn a_key_shows_its_creator_and_a_year_is_proposed_as_its_lifetime() {
    let api = TestApi::new().await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let browser = Browser::with_session(&api, ACME, &jo).await;
    assert_eq!(input(&browser.get(PATH).await, "expires_in_days"), "365");
    create(&browser, "Jo's key", &["roles:read"], "365").await;
    let listed = acme(&api).await.get(PATH).await;
    let row = row(&listed, &escaped("Jo's key"));
    assert!(row.contains(">20 Nov 2026</time><br>by Jo<") && row.contains("20 Nov 2027"), "{row}");
}

#[tokio::test]
async fn a_key_works_only_from_its_networks() {
    let mut api = TestApi::new().await;
    let browser = acme(&api).await;
    let new = |networks| [("name", "Office"), ("scope", "organization:read"), ("networks", networks)];
    for (networks, problem) in [
        ("office", "office is not an IP address or a network"),
        ("203.0.113.9/24", "the network is 203.0.113.0/24"),
    ] {
        let refused = browser.post(PATH, &new(networks)).await.expect(422);
        assert!(refused.text.contains(problem), "{}", refused.text);
        assert_eq!(input(&refused, "networks"), networks);
    }
    let key =
        shown_once(&browser.post(PATH, &new("203.0.113.0/24, 2001:db8::/48")).await.expect(200)).unwrap();
    assert!(row(&browser.get(PATH).await, "Office").contains("only from 203.0.113.0/24, 2001:db8::/48"));
    let used = async |api: &TestApi, source: &str, header: Option<&str>| {
        let request = api.request(Method::GET, "/api/v1/organization").bearer(&key).from(source);
        match header {
            Some(header) => request.header("x-client", header).send().await,
            None => request.send().await,
        }
    };
    for allowed in ["203.0.113.255", "2001:db8:0:7::1"] {
        used(&api, allowed, None).await.expect(200);
    }
    let count = used(&api, "203.0.113.1", None).await.number("/usage/requests_today");
    for refused in ["203.0.114.1", "127.0.0.1", "2001:db8:1::1"] {
        let response = used(&api, refused, None).await.expect(403);
        assert_eq!(response.string("/code"), "forbidden");
        assert_eq!(response.string("/error"), format!("The API key may not be used from {refused}"));
    }
    let counted = used(&api, "203.0.113.1", None).await.number("/usage/requests_today");
    assert_eq!(counted, count + 1, "a refused request does not count");
    // Behind a CDN, the address in its header counts, and a request without the header is refused.
    api.environment.config.client_address_header = Some("x-client".to_owned());
    api.restart();
    used(&api, "127.0.0.1", Some("203.0.113.4")).await.expect(200);
    used(&api, "203.0.113.4", Some("198.51.100.1")).await.expect(403);
    let unknown = used(&api, "203.0.113.4", None).await.expect(403);
    assert!(unknown.string("/error").contains("the request's address is unknown"));
}

#[tokio::test]
async fn a_rotated_key_overlaps_with_its_successor_once() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    let fields =
        [("name", "Sync"), ("scope", "roles:read"), ("expires_in_days", "30"), ("networks", "127.0.0.0/8")];
    let first = shown_once(&browser.post(PATH, &fields).await.expect(200)).unwrap();
    let rotate = |key: &str| format!("{PATH}/{}/rotate", read_credential(key).id());
    for overlap in ["", "0", "25", "x"] {
        browser.post(&rotate(&first), &[("overlap", overlap)]).await.expect(400);
    }
    api.clock.set("2026-11-20T10:00:00Z");
    let browser = acme(&api).await;
    let rotated = browser.post(&rotate(&first), &[("overlap", "1")]).await.expect(200);
    let second = shown_once(&rotated).unwrap();
    assert!(
        rotated.text.contains("20 Nov 2026, 11:00") && rotated.text.contains("replaced"),
        "{}",
        rotated.text
    );
    let status = async |key: &str| call(&api, key, "/api/v1/roles").await.status;
    assert_eq!((status(&first).await, status(&second).await), (200, 200));
    let claims = read_credential(&second).claims();
    assert_eq!(claims.expires_at.unwrap().to_string(), "2026-12-20T10:00:00.000Z", "as long as the first");
    assert_eq!(claims.scopes, Scopes::from(Scope::RolesRead));
    let outside = api.request(Method::GET, "/api/v1/roles").bearer(&second).from("203.0.113.1");
    outside.send().await.expect(403);
    // Neither of the two can be rotated while both are valid.
    for (key, reason) in
        [(&first, "another key already replaces"), (&second, "is still valid; revoke it first")]
    {
        let refused = browser.post(&rotate(key), &[("overlap", "1")]).await.expect(422);
        assert!(refused.text.contains(reason), "{}", refused.text);
    }
    api.clock.set("2026-11-20T10:59:59Z");
    api.run_tasks().await;
    assert_eq!((status(&first).await, status(&second).await), (200, 200));
    api.clock.set("2026-11-20T11:00:00Z");
    api.run_tasks().await;
    assert_eq!((status(&first).await, status(&second).await), (401, 200));
    let browser = acme(&api).await;
    let third = shown_once(&browser.post(&rotate(&second), &[("overlap", "168")]).await.expect(200)).unwrap();
    // A key that was revoked earlier stays so, and its task has nothing to do.
    browser.post(&revoke(&second), &[]).await.expect(303);
    assert_eq!((status(&second).await, status(&third).await), (401, 200));
    browser.post(&rotate(&second), &[("overlap", "1")]).await.expect(422);
    api.clock.set("2026-11-27T11:00:00Z");
    assert_eq!(api.run_tasks().await.failed, 0);
    assert_eq!((status(&second).await, status(&third).await), (401, 200));
}

/// A rotation hands out a key, so a member must not rotate a key that only owners may create.
#[tokio::test]
async fn only_owners_create_and_rotate_keys_that_erase_people_or_read_the_audit_log() {
    let api = TestApi::new().await;
    let owner = acme(&api).await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let jos = Browser::with_session(&api, ACME, &jo).await;
    for scope in Scope::ALL {
        let is_for_owners = FOR_OWNERS.contains(&scope.as_str());
        let fields = [("name", "Some"), ("scope", scope.as_str()), ("expires_in_days", "9")];
        let page = jos.post(PATH, &fields).await.expect(if is_for_owners { 422 } else { 200 });
        let sentence = format!("Only owners can create keys with {}.", scope.as_str());
        assert_eq!(
            (shown_once(&page).is_none(), page.text.contains(&sentence)),
            (is_for_owners, is_for_owners)
        );
    }
    for scope in FOR_OWNERS {
        let key = create(&owner, scope, &["roles:read", scope], "").await;
        let path = format!("{PATH}/{}/rotate", read_credential(&key).id());
        assert!(
            !actions(&jos.get(PATH).await).contains(&path) && actions(&owner.get(PATH).await).contains(&path)
        );
        let refused = jos.post(&path, &[("overlap", "1")]).await.expect(403);
        assert!(shown_once(&refused).is_none());
        assert!(shown_once(&owner.post(&path, &[("overlap", "1")]).await.expect(200)).is_some());
    }
}

#[tokio::test]
async fn two_concurrent_rotations_of_a_key_create_one_key() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    let key = create(&browser, "Sync", &["roles:read"], "").await;
    let path = format!("{PATH}/{}/rotate", read_credential(&key).id());
    let rotate = || browser.post(&path, &[("overlap", "1")]);
    let (one, other) = futures_util::join!(rotate(), rotate());
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 422]);
}

#[tokio::test]
async fn each_mode_has_at_most_25_keys() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    let mut last = String::new();
    for number in 0..24 {
        last = create(&browser, &format!("Key {number}"), &["roles:read"], "").await;
    }
    let fields = [("name", "Too many"), ("scope", "roles:read"), ("expires_in_days", "9")];
    let refused = browser.post(PATH, &fields).await.expect(422);
    assert!(refused.text.contains("The key was not created: there are 25 keys already; revoke one first."));
    assert_eq!(
        (input(&refused, "name"), input(&refused, "expires_in_days")),
        ("Too many".into(), "9".into())
    );
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    create(&browser, "Elsewhere", &["roles:read"], "").await;
    browser.post("/dashboard/mode", &[("mode", "live")]).await.expect(303);
    browser.post(&revoke(&last), &[]).await.expect(303);
    assert_eq!(
        call(&api, &create(&browser, "Now", &["roles:read"], "").await, "/api/v1/roles").await.status,
        200
    );
}

#[tokio::test]
async fn the_last_used_date_is_shown() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    let key = create(&browser, "Used", &["roles:read"], "").await;
    assert!(
        row(&browser.get(PATH).await, ">Used<").contains("data-label=\"Last used\" class=\"whole\">never")
    );
    for (date, day) in [("2026-11-20", "20 Nov 2026"), ("2026-11-22", "22 Nov 2026")] {
        api.clock.set(&format!("{date}T23:59:59Z"));
        call(&api, &key, "/api/v1/roles").await.expect(200);
        let listed = acme(&api).await.get(PATH).await.expect(200);
        assert!(
            row(&listed, ">Used<").contains(&format!("data-label=\"Last used\" class=\"whole\">{day}")),
            "{day}"
        );
    }
}

#[tokio::test]
async fn an_active_key_is_listed_after_any_number_of_revoked_keys() {
    let api = TestApi::new().await;
    let tenant = tenant(ACME, Mode::Live);
    let insert = async |number: u64| {
        let id = Id::new(1_000_000 + number).unwrap();
        let credential = new_credential(Kind::ApiKey, tenant, id, &api.environment.random);
        let key = credential.api_key(format!("Key {number}"), api.environment.clock.now());
        api.store().insert_api_key(Transaction::new(tenant), &key).await.unwrap();
        id
    };
    let old = insert(0).await;
    for number in 1..=101 {
        let id = insert(number).await;
        api.store().revoke_api_key(tenant, id, api.environment.clock.now()).await.unwrap();
    }
    let browser = acme(&api).await;
    let page = browser.get(PATH).await.expect(200);
    let rows = page.text.matches("<th scope=\"row\">").count();
    assert_eq!(rows, 102, "the newest 100 keys, and the two older keys that are active");
    assert!(actions(&page).contains(&format!("{PATH}/{old}/revoke")));
}

#[tokio::test]
async fn connected_apps_are_listed_with_their_permissions() {
    let api = TestApi::new().await;
    let (live, test) = (tenant(ACME, Mode::Live), tenant(ACME, Mode::Test));
    let browser = acme(&api).await;
    let empty = browser.get(APPS).await.expect(200);
    assert!(empty.text.contains("No connected apps") && empty.text.contains(tests::BASE_URL));
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    connect_app(&api.environment, live, jo.id, "Live <app>").await;
    connect_app(&api.environment, test, jo.id, "Test app").await;
    connect_app(&api.environment, live, Id::new(17).unwrap(), "Stray").await;
    let page = browser.get(APPS).await.expect(200);
    let app = row(&page, "Live &#60;app&#62;");
    for part in
        ["app.example", "20 Nov 2026", "by Jo", "data-label=\"Last used\" class=\"whole\">never", "is-live"]
    {
        assert!(app.contains(part), "{part}: {app}");
    }
    for scope in Scope::ALL {
        assert!(app.contains(&escaped(scope.description())), "{scope:?}");
    }
    assert!(row(&page, "Stray").contains("by a former member"));
    assert!(!page.text.contains("Test app"));
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    let page = browser.get(APPS).await.expect(200);
    assert!(page.text.contains("Test app") && !page.text.contains("Stray"));
}

#[tokio::test]
async fn a_revoked_app_loses_access_immediately() {
    let api = TestApi::new().await;
    let live = tenant(ACME, Mode::Live);
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let (grant, token) = connect_app(&api.environment, live, owner(&api, ACME).await.id, "App").await;
    let (_, other) = connect_app(&api.environment, live, jo.id, "Other").await;
    // Any member may revoke the app, not only the member who connected it.
    let browser = Browser::with_session(&api, ACME, &jo).await;
    call(&api, token.reveal(), "/api/v1/roles").await.expect(200);
    assert!(
        row(&browser.get(APPS).await, ">App</a>")
            .contains("data-label=\"Last used\" class=\"whole\">20 Nov 2026")
    );
    let path = format!("{APPS}/{}/revoke", grant.id);
    assert!(actions(&browser.get(APPS).await).contains(&path));
    for _ in 0..2 {
        let response = browser.post(&path, &[]).await.expect(303);
        let page = browser.follow(&response).await.expect(200);
        assert!(page.text.contains("App disconnected. It no longer has access."));
        assert!(!actions(&page).contains(&path) && page.text.contains("Other"));
    }
    call(&api, token.reveal(), "/api/v1/roles").await.expect(401);
    call(&api, other.reveal(), "/api/v1/roles").await.expect(200);
}

/// A grant expires 30 days after its last token.
#[tokio::test]
async fn an_app_with_an_expired_grant_is_not_listed() {
    let api = TestApi::new().await;
    let live = tenant(ACME, Mode::Live);
    connect_app(&api.environment, live, owner(&api, ACME).await.id, "App").await;
    for (time, listed) in [("2026-12-20T09:29:59.000Z", true), ("2026-12-20T09:30:00.000Z", false)] {
        api.clock.set(time);
        assert_eq!(acme(&api).await.get(APPS).await.expect(200).text.contains(">App</a>"), listed, "{time}");
    }
}

/// Inactive grants remain stored for a while and may come before the valid grants.
#[tokio::test]
async fn a_valid_grant_is_listed_after_any_number_of_inactive_grants() {
    let api = TestApi::new().await;
    let live = tenant(ACME, Mode::Live);
    let member = owner(&api, ACME).await.id;
    let (good, _) = connect_app(&api.environment, live, member, "Good").await;
    let mut transaction = Transaction::new(live);
    for number in 1..=100 {
        let id = Id::new(good.id.get() + number).unwrap();
        transaction.insert_grant(&Grant { id, revoked_at: Some(good.created_at), ..good.clone() }).unwrap();
    }
    api.store().commit(transaction).await.unwrap();
    let browser = acme(&api).await;
    let page = browser.get(APPS).await.expect(200);
    let found: Vec<_> = actions(&page).into_iter().filter(|action| action.ends_with("/revoke")).collect();
    assert_eq!(found, [format!("{APPS}/{}/revoke", good.id)]);
}

#[tokio::test]
async fn a_form_that_is_sent_again_creates_no_second_key_and_shows_none() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    let site = |page: &Response| Form::of(page, PATH).and("name", "Site").and("scope", "roles:read");
    let keys = async || browser.get(PATH).await.expect(200).text.matches("<th scope=\"row\">").count();
    let page = browser.get(PATH).await.expect(200);
    let before = keys().await;
    for mode in ["live", "test"] {
        let form = site(&page).and("mode", mode);
        let created = browser.submit(PATH, &form).await.expect(200);
        let key = shown_once(&created).unwrap();
        for _ in 0..2 {
            let again = browser.submit(PATH, &form).await.expect(303);
            assert_eq!(again.header("location"), format!("{PATH}?failed=key-shown-once"));
            let list = browser.follow(&again).await.expect(200);
            assert_eq!(shown_once(&list), None);
            assert!(!list.text.contains(&key));
            assert!(list.text.contains("No second key was created"), "{}", list.text);
        }
        let id = read_credential(&key).id();
        assert!(api.store().find_api_key(tenant(ACME, mode.parse().unwrap()), id).await.unwrap().is_some());
    }
    assert_eq!(keys().await, before + 1, "the other one is for test data");
    // The same form with another name, as after a step back, is another form, and so is the form of another page.
    let other = browser.submit(PATH, &site(&page).set("name", "Shop")).await.expect(200);
    assert!(shown_once(&other).is_some());
    let page = browser.get(PATH).await.expect(200);
    assert!(shown_once(&browser.submit(PATH, &site(&page)).await.expect(200)).is_some());
    assert_eq!(keys().await, before + 3);
}

#[tokio::test]
async fn two_forms_at_the_same_time_create_one_key() {
    let api = TestApi::new().await;
    let browser = acme(&api).await;
    let page = browser.get(PATH).await.expect(200);
    let form = Form::of(&page, PATH).and("name", "Site").and("scope", "roles:read");
    let (one, other) = tokio::join!(browser.submit(PATH, &form), browser.submit(PATH, &form));
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 303]);
    let listed = browser.get(PATH).await.expect(200);
    assert_eq!(listed.text.matches("<th scope=\"row\">Site</th>").count(), 1);
}
