//! Access to the dashboard: sessions, CSRF tokens, roles, tenant isolation, and the security headers of every page.

use std::collections::BTreeSet;

use http::Method;
use rolecall_local::demo::DEMOS;
use rolecall_local::event_fixtures;
use rolecall_local::functions::{Tables, tables};
use serde_json::json;
use shared::auth::{Claims, Credential, Kind};
use shared::http::Access;
use shared::id::Id;
use shared::model::{
    Actor, ActorKind, ImportStatus, Invitation, MemberRole, Mode, Name, Passkey, Scopes, ScreenRecord,
    VoiceProvider,
};
use shared::random::Random;
use shared::services::membership;
use shared::store::{Confirmation, Transaction};
use tests::browser::{Browser, FORM, form};
use tests::dashboard::{actions, add_member, connect_app, links, owner};
use tests::interceptor::{Fault, RecordedCall};
use tests::{ACME, BASE_URL, GLOBEX, Response, TestApi, key, new_credential, tenant};

use crate::fake_x::services;

/// A route of the dashboard.
#[derive(Clone, Copy)]
pub(crate) struct PageRoute {
    pub(crate) function: &'static str,
    pub(crate) key: &'static str,
    /// The role that the route requires; `None` if it requires no session.
    pub(crate) role: Option<MemberRole>,
}

impl PageRoute {
    pub(crate) fn is_post(self) -> bool {
        self.key.starts_with("POST ")
    }

    pub(crate) fn method(self) -> Method {
        if self.is_post() { Method::POST } else { Method::GET }
    }

    pub(crate) fn path(self) -> &'static str {
        self.key.split_once(' ').unwrap().1
    }
}

/// Returns the routes that respond with pages.
pub(crate) fn page_routes() -> Vec<PageRoute> {
    let page_route = |function, route: &shared::http::Route| match route.access() {
        Access::Member(role) => Some(PageRoute { function, key: route.key, role: Some(role) }),
        _ if route.format() == shared::http::ReplyFormat::Page => {
            Some(PageRoute { function, key: route.key, role: None })
        }
        _ => None,
    };
    let of_dashboard =
        |tables: &Tables| tables.function.starts_with("Dashboard") || tables.function == "SignInFunction";
    let pages = tables().into_iter().filter(of_dashboard).map(|tables| (tables.function, tables.pages));
    pages
        .flat_map(|(function, pages)| pages.into_iter().filter_map(move |route| page_route(function, &route)))
        .collect()
}

/// The hash of a call that waits for a confirmation.
const CALL: &str = "stock-call";

/// One resource of each type that a route of the dashboard requires, in one tenant.
pub(crate) struct DashboardFixtures {
    /// An open role with a published posting.
    pub(crate) role: u64,
    /// A candidate who applied for the role.
    pub(crate) candidate: u64,
    pub(crate) key: Id,
    pub(crate) grant: Id,
    pub(crate) member: Id,
    /// A passkey of the owner, which nobody can use.
    pub(crate) passkey: Id,
    /// The token of the member's invitation link.
    pub(crate) link: String,
    /// The role's posting.
    pub(crate) posting: u64,
    /// An open role that the candidate has not applied for.
    pub(crate) other_role: String,
    /// A note about the candidate.
    pub(crate) note: u64,
    /// A file of the candidate.
    file: u64,
    /// The candidate's application, to which a form has offered details.
    application: String,
    /// A scheduled voice screen of another candidate.
    pub(crate) screen: u64,
    /// A move of the candidate on the role's board.
    pub(crate) board_move: String,
    /// The candidate and the stage in a move of several candidates.
    pub(crate) chosen: String,
    /// The role, as the value of a form's field.
    pub(crate) role_id: String,
    /// A webhook endpoint.
    pub(crate) endpoint: Id,
    /// A delivery to the endpoint, which has failed.
    pub(crate) delivery: Id,
    /// A suspect form for the role.
    pub(crate) suspect: String,
    /// An import that is checked.
    import: Id,
    /// An export that is being written.
    export: Id,
}

impl DashboardFixtures {
    /// Creates the resources for Acme in live mode.
    pub(crate) async fn new(api: &TestApi) -> Self {
        let (acme, random, now) =
            (tenant(ACME, Mode::Live), &api.environment.random, api.environment.clock.now());
        let (id, keys) = (Id::new(4_711).unwrap(), &api.environment.config.credential_keys);
        let claims = Claims { scopes: Scopes::by_default(), expires_at: None, ..Claims::default() };
        let credential = Credential::generate(Kind::ApiKey, acme, id, claims, keys, random);
        let key = credential.api_key("Stock key".to_owned(), now);
        api.store().insert_api_key(Transaction::new(acme), &key).await.unwrap();
        let owner = owner(api, ACME).await;
        let passkey = Passkey {
            id: Id::new(4_712).unwrap(),
            name: Name::parse("Stock passkey").unwrap().unwrap(),
            credential: "{}".to_owned(),
            added_at: now,
            used_at: None,
        };
        let with_passkey = owner.clone().with_passkeys(owner.passkeys.clone().with(passkey.clone()).unwrap());
        let mut transaction = Transaction::new(acme);
        transaction.replace_member(&owner, &with_passkey).unwrap();
        let passkey = passkey.id;
        let (grant, _) = connect_app(&api.environment, acme, owner.id, "Stock app").await;
        let new = add_member(api, ACME, "Stock", MemberRole::Member).await;
        let (member, link) =
            membership::create_link(acme.organization, new.clone(), BASE_URL, keys, random, now);
        transaction.replace_member(&new, &member).unwrap();
        api.store().commit(transaction).await.unwrap();
        let link = link.split_once("token=").unwrap().1.to_owned();
        let question = Confirmation {
            tool: "move_candidate".to_owned(),
            summary: "Reject a candidate.".to_owned(),
            facts: Vec::new(),
            target: None,
            actor: Actor { kind: ActorKind::ApiKey, id: None, name: "Stock key".to_owned() },
            member: None,
            confirmed_by: None,
            until: "2031-01-01T00:00:00Z".parse().unwrap(),
            version: 1,
        };
        api.store().put_confirmation(acme, CALL, &question).await.unwrap();
        let role = json!({ "role": { "title": "Stock role" } });
        let posted = api.post("/api/v1/quick_post", role).await.expect(201);
        let (role, posting) = (posted.number("/role/id"), posted.number("/job_posting/id"));
        let other_role = json!({ "role": { "title": "Other stock role" } });
        let other_role = api.post("/api/v1/quick_post", other_role).await.expect(201).number("/role/id");
        let other = json!({ "name": "Screened", "email": "screened@example.com", "role_id": other_role });
        let other = api.post("/api/v1/candidates", other).await.expect(201).number("/id");
        let screen = insert_screen(api, other, other_role).await;
        let candidate = json!({ "name": "Stock", "email": "stock@example.com", "role_id": role });
        let candidate = api.post("/api/v1/candidates", candidate).await.expect(201).number("/id");
        // Only its author may edit a note.
        let ada = Browser::with_session(api, ACME, &owner).await;
        ada.post(&format!("/dashboard/candidates/{candidate}/notes"), &[("text", "Stock note")])
            .await
            .expect(303);
        let notes = api.get(&format!("/api/v1/candidates/{candidate}/notes")).await.expect(200);
        let note = notes.number("/data/0/id");
        let file = json!({ "name": "Stock file", "kind": "other", "content": "SGVsbG8=" });
        let files = format!("/api/v1/candidates/{candidate}/files");
        let file = api.post(&files, file).await.expect(201).number("/id");
        let detail = api.get(&format!("/api/v1/candidates/{candidate}")).await.expect(200);
        let application = detail.number("/applications/0/id");
        let [id, applied, form] = [candidate, application, 4_716].map(|id| Id::new(id).unwrap());
        event_fixtures::apply_again(api.store(), acme, id, applied, form, now).await.unwrap();
        let (endpoint, delivery) = (Id::new(4_714).unwrap(), Id::new(4_715).unwrap());
        let url = event_fixtures::WEBHOOK_URL;
        event_fixtures::create_webhook_endpoint(api.store(), acme, endpoint, url, now).await.unwrap();
        event_fixtures::create_delivery(api.store(), acme, endpoint, delivery, now).await.unwrap();
        let suspect = Id::new(1_700_000_000_000_071).unwrap();
        let of_role = Id::new(role).unwrap();
        event_fixtures::create_suspect_form(api.store(), acme, suspect, of_role, now).await.unwrap();
        let import = Id::new(4_717).unwrap();
        event_fixtures::create_import(api.store(), acme, import, ImportStatus::Checked, now).await.unwrap();
        let export = Id::new(4_718).unwrap();
        event_fixtures::create_export(api.store(), acme, export, now).await.unwrap();
        Self {
            suspect: suspect.to_string(),
            import,
            export,
            role,
            candidate,
            key: credential.id(),
            grant: grant.id,
            member: member.id,
            passkey,
            link,
            posting,
            other_role: other_role.to_string(),
            note,
            file,
            application: application.to_string(),
            screen,
            board_move: format!("{candidate}.applied.interview"),
            chosen: format!("{candidate}.applied"),
            role_id: role.to_string(),
            endpoint,
            delivery,
        }
    }

    /// Returns the identifier for a route's path.
    pub(crate) fn id(&self, route: PageRoute) -> u64 {
        match route.path() {
            path if path.contains("/roles/") => self.role,
            path if path.contains("/candidates/") => self.candidate,
            path if path.contains("/postings/") => self.posting,
            path if path.contains("/screens/") => self.screen,
            path if path.contains("/api-keys/") => self.key.get(),
            path if path.contains("/passkeys/") => self.passkey.get(),
            path if path.contains("/connected-apps/") => self.grant.get(),
            path if path.contains("/webhooks/") => self.endpoint.get(),
            path if path.contains("/imports/") => self.import.get(),
            path if path.contains("/exports/") => self.export.get(),
            _ => self.member.get(),
        }
    }

    pub(crate) fn path(&self, route: PageRoute) -> String {
        let path = route.path().replace("{id}", &self.id(route).to_string());
        let path = path.replace("{delivery_id}", &self.delivery.to_string());
        let path = path.replace("{file_id}", &self.file.to_string()).replace("{number}", "1");
        path.replace("{note_id}", &self.note.to_string()).replace("{call}", CALL)
    }

    /// Returns the path of the page that has the form of a route: the nearest page at its path or above.
    fn form_page(&self, route: PageRoute) -> String {
        let is_page = |pattern: &str| {
            let of_function = page_routes().into_iter().filter(|page| page.function == route.function);
            of_function.into_iter().any(|page| !page.is_post() && page.path() == pattern)
        };
        let (mut pattern, path) = (route.path(), self.path(route));
        let mut path = path.as_str();
        while !is_page(pattern) {
            let (Some((above, _)), Some((above_path, _))) = (pattern.rsplit_once('/'), path.rsplit_once('/'))
            else {
                unreachable!("{path}");
            };
            if above_path.is_empty() {
                return "/dashboard".to_owned();
            }
            (pattern, path) = (above, above_path);
        }
        path.to_owned()
    }

    /// Returns valid form fields for a route.
    pub(crate) fn fields(&self, route: PageRoute) -> Vec<(&'static str, &str)> {
        const PASSWORD: &str = "a longer pass phrase";
        match route.path() {
            "/dashboard/quick-post" => vec![("role.title", "New role"), ("publish", "true")],
            "/dashboard/roles/{id}/edit" => vec![("title", "Another title")],
            "/dashboard/roles/{id}/status" => vec![("action", "pause")],
            "/dashboard/roles/{id}/posting" => vec![("title", "Public title")],
            "/dashboard/roles/{id}/move" => vec![("move", &self.board_move)],
            "/dashboard/candidates/bulk/undo" | "/dashboard/candidates/bulk/stop" => vec![("group", "17")],
            "/dashboard/candidates/bulk" => vec![("to", "interview"), ("candidate", &self.chosen)],
            "/dashboard/postings/{id}/status" => vec![("action", "unpublish")],
            "/dashboard/postings/{id}/x" => vec![("style", "casual")],
            "/dashboard/candidates/new" => vec![("name", "New"), ("email", "new@people.example")],
            "/dashboard/candidates/suspects" => vec![("act", "accept"), ("id", &self.suspect)],
            "/dashboard/candidates/{id}/edit" => vec![("name", "Another name")],
            "/dashboard/imports/new" => vec![("format", "csv")],
            "/dashboard/exports/new" => vec![("format", "csv"), ("kinds", "roles")],
            "/dashboard/imports/{id}/files/{number}/assign" => vec![("row", "1")],
            "/dashboard/candidates/{id}/applications" => vec![("role_id", &self.other_role)],
            "/dashboard/candidates/{id}/notes" => vec![("text", "New note")],
            "/dashboard/candidates/{id}/notes/{note_id}/edit" => vec![("text", "Another text")],
            "/dashboard/candidates/{id}/files" => vec![("name", "New file"), ("content", "SGVsbG8=")],
            "/dashboard/candidates/{id}/offer" => {
                vec![("action", "accept"), ("application_id", &self.application)]
            }
            "/dashboard/candidates/{id}/consents" => vec![
                ("purpose", "recording"),
                ("granted", "true"),
                ("obtained_at", "2026-11-20T09:00"),
                ("wording", "Record my calls."),
            ],
            "/dashboard/candidates/views" => vec![("name", "Berlin"), ("query", "stage=offer")],
            "/dashboard/settings/account/shortcuts" => vec![("shortcuts", "off")],
            "/dashboard/settings/account/time-zone" => vec![("time_zone", "Europe/Berlin")],
            "/dashboard/candidates/{id}/move" => vec![("seen", "applied"), ("to", "interview")],
            "/dashboard/candidates/{id}/invite" => vec![("role_id", &self.role_id)],
            "/dashboard/candidates/{id}/legal-hold" => vec![("reason", "A dispute")],
            "/dashboard/sign-in" => vec![("email", DEMOS[ACME].email), ("password", DEMOS[ACME].password)],
            "/dashboard/password" => {
                vec![("token", &self.link), ("name", "New"), ("password", PASSWORD), ("repeated", PASSWORD)]
            }
            "/dashboard/confirm" => {
                vec![("password", DEMOS[ACME].password), ("return_to", "/dashboard/settings/members")]
            }
            "/dashboard/mode" => vec![("mode", "test")],
            "/dashboard/confirmations/{call}" => vec![("decision", "confirm")],
            "/dashboard/settings/account/second-factor" => {
                vec![("secret", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"), ("code", "290818")]
            }
            "/dashboard/settings/account/passkeys" => vec![("name", "Phone")],
            "/dashboard/settings/members/second-factor" => vec![("required", "no")],
            "/dashboard/settings/account/sessions/end" => vec![("session", "another")],
            "/dashboard/settings/account/notices" => vec![("newest", "17")],
            "/dashboard/settings/integrations/api-keys" => vec![("name", "New"), ("scope", "roles:read")],
            "/dashboard/settings/integrations/api-keys/{id}/rotate" => vec![("overlap", "24")],
            "/dashboard/settings/integrations/channels/whatsapp/connect" => {
                vec![("phone_number_id", "106540352242922"), ("token", "whatsapp-1")]
            }
            "/dashboard/settings/integrations/channels/voice" => vec![("countries", "DE, AT")],
            "/dashboard/webhooks" | "/dashboard/webhooks/{id}" => {
                vec![("url", "https://hooks.example.com/new"), ("hmac", "true")]
            }
            "/dashboard/webhooks/{id}/replay" => vec![("after", "0")],
            "/dashboard/settings/members" => {
                vec![("name", "New"), ("email", "new@members.example"), ("role", "member")]
            }
            "/dashboard/settings/application-limits" => vec![("act", "clear")],
            "/dashboard/settings/integrations/confirmations" => {
                vec![("apps_use_page", "false"), ("keys_use_page", "true")]
            }
            "/dashboard/settings/retention" => vec![("days", "365"), ("previewed", "yes")],
            "/dashboard/settings/career-page" => vec![("name", "Acme"), ("accent", "#2450d3")],
            "/dashboard/settings/career-page/logo" => vec![("action", "remove")],
            "/dashboard/settings/rejection-reasons" => vec![("team", "Other")],
            "/dashboard/settings/organization" => vec![
                ("country", "DE"),
                ("time_zone", "Europe/Berlin"),
                ("contact_email", "privacy@acme.example"),
            ],
            "/dashboard/settings/privacy" => vec![("text", "We keep your data for a year.")],
            "/dashboard/settings/members/{id}/role" => vec![("role", "owner")],
            "/dashboard/settings/account/password" => {
                vec![("current", DEMOS[ACME].password), ("password", PASSWORD), ("repeated", PASSWORD)]
            }
            _ => Vec::new(),
        }
    }
}

/// Inserts a queued voice screen, also where no provider is configured, and returns its identifier.
async fn insert_screen(api: &TestApi, candidate: u64, role: u64) -> u64 {
    let id = |number| Id::new(number).unwrap();
    let invitation =
        Invitation { id: id(4_713), candidate_id: id(candidate), role_id: id(role), scheduled_at: None };
    let now = api.environment.clock.now();
    let screen = ScreenRecord::invited(invitation, VoiceProvider::Simulator, now, String::new(), now);
    let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
    transaction.insert_screen(&screen).unwrap();
    api.store().commit(transaction).await.unwrap();
    screen.screen.id.get()
}

/// Returns whether a DynamoDB call writes.
pub(crate) fn is_write(call: &RecordedCall) -> bool {
    !["GetItem", "BatchGetItem", "Query"].contains(&call.operation.as_str())
}

/// Returns the status, text and headers of a response without its request ID.
pub(crate) fn without_request_id(response: &Response) -> (u16, String, http::HeaderMap) {
    let mut headers = response.headers.clone();
    headers.remove("x-request-id");
    (response.status, response.text.replace(response.header("x-request-id"), ""), headers)
}

#[tokio::test]
async fn signed_out_browsers_are_redirected_to_sign_in_and_back() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let acme = tenant(ACME, Mode::Live);
    let forged = |kind| new_credential(kind, acme, acme.organization, &Random::seeded(1)).reveal().to_owned();
    let cookies = [
        None,
        Some("x".to_owned()),
        Some("the random text of a stranger".replace(' ', "_")),
        Some(forged(Kind::Session)),
        Some(forged(Kind::Link)),
        Some(key(ACME, Mode::Live)),
    ];
    let routes: Vec<_> = page_routes().into_iter().filter(|route| route.role.is_some()).collect();
    assert!(routes.len() >= 25);
    for route in routes {
        for cookie in &cookies {
            let browser = match cookie {
                None => Browser::new(&api),
                Some(cookie) => Browser::with_cookie(&api, cookie),
            };
            let path = format!("{}?a=%26b", fixtures.path(route));
            let request = browser.request(route.method(), &path).body(FORM, form(&fixtures.fields(route)));
            api.dynamodb.take_calls();
            let response = request.send().await;
            assert!(!api.dynamodb.take_calls().iter().any(is_write), "{}", route.key);
            // A cookie that is too short is treated as missing.
            let gets_cookie = cookie.as_ref().is_none_or(|cookie| cookie.len() < 20);
            if route.is_post() {
                // A form without a cookie may come from another site, because browsers omit SameSite=Lax cookies there.
                assert_eq!((response.status, response.header("set-cookie")), (403, ""), "{}", route.key);
                if gets_cookie {
                    continue;
                }
            }
            let response =
                if route.is_post() { browser.post(&path, &fixtures.fields(route)).await } else { response };
            assert_eq!(response.status, 303, "{}", route.key);
            let fields = fixtures.fields(route);
            let return_to = match fields.iter().find(|(name, _)| route.is_post() && *name == "return_to") {
                Some((_, next)) => (*next).to_owned(),
                None => format!("{}?a=%26b", fixtures.form_page(route)),
            };
            let expected = format!("/dashboard/sign-in?{}", form(&[("return_to", &return_to)]));
            assert_eq!(response.header("location"), expected, "{}", route.key);
            assert_eq!(response.headers.contains_key("set-cookie"), gets_cookie, "{} {cookie:?}", route.key);
        }
    }
}

#[tokio::test]
async fn a_form_with_a_missing_or_foreign_csrf_token_writes_nothing() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let another = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let (own, foreign) = (browser.csrf().await, another.csrf().await);
    let stranger = Browser::new(&api).csrf().await;
    assert!(own != foreign && own != stranger && own == browser.csrf().await);
    let mistyped = own.chars().rev().collect::<String>();
    let routes: Vec<_> = page_routes().into_iter().filter(|route| route.is_post()).collect();
    assert!(routes.len() >= 17);
    for route in routes {
        let (path, fields) = (fixtures.path(route), fixtures.fields(route));
        let sent = |csrf: &'static str, value: &str| form(&[&[(csrf, value)], &*fields].concat());
        for (name, path, body) in [
            ("none", path.clone(), form(&fields)),
            ("blank", path.clone(), sent("csrf", "")),
            ("junk", path.clone(), sent("csrf", "junk")),
            ("foreign", path.clone(), sent("csrf", &foreign)),
            ("stranger's", path.clone(), sent("csrf", &stranger)),
            ("mistyped", path.clone(), sent("csrf", &mistyped)),
            ("the cookie", path.clone(), sent("csrf", &browser.cookie())),
            ("in the query", format!("{path}?csrf={own}"), form(&fields)),
            ("after a junk token", path.clone(), format!("csrf=junk&{}", sent("csrf", &own))),
        ] {
            api.dynamodb.take_calls();
            let response = browser.request(Method::POST, &path).body(FORM, body).send().await;
            // A form of the member's other session waits for a sign-in. `nothing_typed_is_lost` tests it.
            let waits = name == "foreign" && response.status == 401;
            assert!(waits || response.status == 403, "{} {name}", route.key);
            let sentence = if waits { "Your session has ended" } else { "The form is no longer valid" };
            assert!(response.text.contains(sentence), "{} {name}", route.key);
            assert!(!api.dynamodb.take_calls().iter().any(is_write), "{} {name}", route.key);
        }
    }
}

#[tokio::test]
async fn an_unreadable_form_writes_nothing() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let own = browser.csrf().await;
    for route in page_routes().into_iter().filter(|route| route.is_post()) {
        let valid = form(&[&[("csrf", own.as_str())], &*fixtures.fields(route)].concat());
        let long = format!("{valid}&x={}", "x".repeat(1024 * 1024));
        for (media, body, status) in [
            (FORM, long.as_str(), 413),
            ("application/json", &valid, 415),
            ("text/plain", &valid, 415),
            ("multipart/form-data; boundary=x", &valid, 415),
            ("application/x-www-form-urlencodedx", &valid, 415),
        ] {
            api.dynamodb.take_calls();
            let request = browser.request(Method::POST, &fixtures.path(route));
            let response = request.body(media, body.to_owned()).send().await.expect(status);
            assert!(response.text.contains("This form could not be read"), "{}", route.key);
            assert!(!api.dynamodb.take_calls().iter().any(is_write), "{} {media}", route.key);
        }
    }
}

#[tokio::test]
async fn members_cannot_use_owner_routes() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let plain = add_member(&api, ACME, "Plain", MemberRole::Member).await.id;
    let plain = (tenant(ACME, Mode::Live).organization, plain);
    let mut rejected = 0;
    for route in page_routes().into_iter().filter(|route| route.role.is_some()) {
        // One of the routes ends every session of the member.
        let plain = api.store().find_member(plain.0, plain.1).await.unwrap().unwrap();
        let browser = Browser::with_session(&api, ACME, &plain).await;
        let csrf = browser.csrf().await;
        api.dynamodb.take_calls();
        let body = form(&[&[("csrf", csrf.as_str())], &*fixtures.fields(route)].concat());
        let response = browser.request(route.method(), &fixtures.path(route)).body(FORM, body).send().await;
        if route.role == Some(MemberRole::Owner) {
            rejected += 1;
            assert_eq!(response.status, 403, "{}", route.key);
            assert!(response.text.contains("Only owners of the organization may do this"));
            assert!(!api.dynamodb.take_calls().iter().any(is_write), "{}", route.key);
        } else {
            // Only its author edits a note.
            let is_of_author = route.key.ends_with("/notes/{note_id}/edit");
            assert_eq!(response.status == 403, is_of_author, "{}", route.key);
        }
    }
    assert_eq!(
        rejected, 39,
        "countries, narrowing an app and lifting this, organization, privacy, retention, application limits, two for confirmations, audit log, invite, link, role, \
         remove, two for second factors, export, two for erasures, two for legal holds, fourteen for imports, and four for exports"
    );
    let members = "/dashboard/settings/members";
    let plain = api.store().find_member(plain.0, plain.1).await.unwrap().unwrap();
    let page = Browser::with_session(&api, ACME, &plain).await.get(members).await.expect(200);
    assert_eq!(
        actions(&page),
        ["/dashboard/mode", "/dashboard/sign-out"],
        "the page has no forms that the member may not submit"
    );
    let page =
        Browser::with_session(&api, ACME, &owner(&api, ACME).await).await.get(members).await.expect(200);
    assert!(actions(&page).len() > 2);
}

#[tokio::test]
async fn a_foreign_id_gets_the_same_response_as_an_unknown_id() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let acme = tenant(ACME, Mode::Live);
    let snapshot = async || {
        let (role, candidate) = (fixtures.role, fixtures.candidate);
        format!(
            "{:?} {:?} {:?} {:?} {} {}",
            api.store().find_webhook_endpoint(acme, fixtures.endpoint).await.unwrap().unwrap(),
            api.store().find_api_key(acme, fixtures.key).await.unwrap().unwrap(),
            api.store().find_grant(acme, fixtures.grant).await.unwrap().unwrap(),
            api.store().find_member(acme.organization, fixtures.member).await.unwrap().unwrap(),
            api.get(&format!("/api/v1/roles/{role}")).await.expect(200).text,
            api.get(&format!("/api/v1/candidates/{candidate}")).await.expect(200).text,
        )
    };
    let before = snapshot().await;
    for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live), (GLOBEX, Mode::Test)] {
        let browser = Browser::with_session(&api, demo, &owner(&api, demo).await).await;
        browser.post("/dashboard/mode", &[("mode", mode.as_str())]).await.expect(303);
        let mut count = 0;
        for route in page_routes().into_iter().filter(|route| route.path().contains("{id}")) {
            // Members and their passkeys belong to the organization in both modes.
            if demo == ACME && ["/members/", "/passkeys/"].iter().any(|part| route.path().contains(part)) {
                continue;
            }
            count += 1;
            let request = async |id: &str| {
                let path = route.path().replace("{id}", id).replace("{note_id}", &fixtures.note.to_string());
                let path = path.replace("{delivery_id}", &fixtures.delivery.to_string());
                let path = path.replace("{file_id}", &fixtures.file.to_string()).replace("{number}", "1");
                api.dynamodb.take_calls();
                let response = if route.is_post() {
                    browser.post(&path, &fixtures.fields(route)).await
                } else {
                    browser.get(&path).await
                };
                let calls = api.dynamodb.take_calls();
                // The entry in the audit log is written beside the read.
                let is_read = [
                    "GET /dashboard/candidates/{id}",
                    "GET /dashboard/candidates/{id}/edit",
                    "GET /dashboard/candidates/{id}/files/{file_id}",
                    "POST /dashboard/candidates/{id}/export",
                    "GET /dashboard/screens/{id}",
                ]
                .contains(&route.key);
                let entries = usize::from(is_read && id.parse::<Id>().is_ok());
                assert_eq!(calls.iter().filter(|call| is_write(call)).count(), entries, "{}", route.key);
                (without_request_id(&response), calls.len())
            };
            let unknown = request("17").await;
            assert_eq!(unknown.0.0, 404, "{}", route.key);
            assert_eq!(
                request(&fixtures.id(route).to_string()).await,
                unknown,
                "{} {demo} {mode:?}",
                route.key
            );
            for malformed in ["0", "01", "x", "9007199254740992", "%2e%2e", "1%00", "%F0%9F%92%A5"] {
                assert_eq!(request(malformed).await.0, unknown.0, "{} {malformed}", route.key);
            }
        }
        assert!(count >= 50, "{count} pages of {demo}");
        for page in ["/dashboard/roles", "/dashboard/postings", "/dashboard/candidates", "/dashboard"] {
            let response = browser.get(page).await.expect(200);
            assert_eq!(links(&response, "/dashboard/roles/"), [""; 0], "{page}");
            let form = "/dashboard/candidates/new".to_owned();
            let people = links(&response, "/dashboard/candidates/").into_iter().filter(|link| *link != form);
            assert_eq!(people.collect::<Vec<_>>(), [""; 0], "{page}");
        }
        let role = format!("/dashboard/candidates?role_id={}", fixtures.role);
        browser.get(&role).await.expect(404);
        for (page, name) in [("api-keys", "Stock key"), ("connected-apps", "Stock app")] {
            let response = browser.get(&format!("/dashboard/settings/integrations/{page}")).await.expect(200);
            assert!(!response.text.contains(name), "{page}");
        }
        let response = browser.get("/dashboard/settings/members").await.expect(200);
        assert_eq!(response.text.contains("stock@members.example"), demo == ACME);
    }
    assert_eq!(snapshot().await, before, "the requests changed nothing");
}

/// A session names a member and an organization, and the member must belong to that organization.
#[tokio::test]
async fn a_session_gives_no_access_to_another_organization() {
    let api = TestApi::new().await;
    for (organization, member) in [(ACME, GLOBEX), (GLOBEX, ACME)] {
        let stray = Browser::with_session(&api, organization, &owner(&api, member).await).await;
        stray.get("/dashboard").await.expect(303);
        let own = Browser::with_session(&api, organization, &owner(&api, organization).await).await;
        own.get("/dashboard").await.expect(200);
    }
}

const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
                      frame-ancestors 'none'; base-uri 'none'";

fn assert_protected(response: &Response, policy: &str, context: &str) {
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("content-security-policy", policy),
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("strict-transport-security", "max-age=31536000; includeSubDomains"),
        ("access-control-allow-origin", ""),
    ] {
        assert_eq!(response.header(name), value, "{context}: {name}");
    }
    assert!(!response.header("x-request-id").is_empty(), "{context}");
    let own_scripts = ["<script src=\"/dashboard/passkeys.js?v=", "<script src=\"/dashboard/script.js?v="];
    let text = if policy.contains("script-src 'self'") {
        own_scripts.iter().fold(response.text.clone(), |text, script| text.replace(script, ""))
    } else {
        response.text.clone()
    };
    // The policy blocks these, and browsers show no error for them.
    for forbidden in ["<script", "<style", " style=", " onclick=", "javascript:", "src=\"http"] {
        assert!(!text.contains(forbidden), "{context}: {forbidden}");
    }
}

#[tokio::test]
async fn every_page_and_error_has_the_security_headers() {
    let api = TestApi::with_services(services("http://127.0.0.1:1")).await;
    let fixtures = DashboardFixtures::new(&api).await;
    let mut statuses = BTreeSet::new();
    for route in page_routes() {
        // Some routes end one session or all sessions.
        let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
        let csrf = browser.csrf().await;
        // Without the CSRF token, with an invalid id, without a session, and a valid request.
        for (browser, token, path) in [
            (&browser, "", fixtures.path(route)),
            (&browser, &*csrf, route.path().replace("{id}", "x")),
            (&Browser::new(&api), "", fixtures.path(route)),
            (&browser, &*csrf, fixtures.path(route)),
        ] {
            let body = form(&[&[("csrf", token)], &*fixtures.fields(route)].concat());
            let response = browser.request(route.method(), &path).body(FORM, body).send().await;
            let allows_x =
                route.path() == "/dashboard/settings/integrations/channels" && response.status == 200;
            let has_script = route.function == "SignInFunction" && !route.is_post()
                || [
                    "GET /dashboard",
                    "GET /dashboard/password",
                    "GET /dashboard/settings/account",
                    "POST /dashboard/settings/account/second-factor",
                    "POST /dashboard/settings/account/second-factor/recovery-codes",
                    "POST /dashboard/settings/members",
                    "POST /dashboard/settings/members/{id}/link",
                    "GET /dashboard/roles/{id}",
                    "GET /dashboard/candidates",
                    "GET /dashboard/candidates/{id}",
                    "GET /dashboard/screens/{id}",
                    "POST /dashboard/settings/integrations/api-keys",
                    "POST /dashboard/settings/integrations/api-keys/{id}/rotate",
                    "POST /dashboard/webhooks",
                    "POST /dashboard/webhooks/{id}/rotate",
                ]
                .contains(&route.key);
            let takes_file = [
                "/dashboard/candidates/new",
                "/dashboard/candidates/{id}/edit",
                "/dashboard/candidates/{id}/files",
            ]
            .contains(&route.path());
            let runs_script = has_script && response.status == 200
                || route.key == "POST /dashboard/settings/account/password" && response.status == 422
                || takes_file && [200, 422].contains(&response.status);
            let is_file = route.path().ends_with("/csv") || route.path().ends_with("/example");
            if is_file && response.status == 200 {
                assert_eq!(response.header("content-type"), "application/octet-stream");
                continue;
            }
            if route.path().ends_with("/export") && response.status == 200 {
                assert_eq!(response.header("content-type"), "application/json");
                assert_eq!(response.header("cache-control"), "no-store");
                continue;
            }
            let policy = if allows_x {
                POLICY.replace("form-action 'self'", "form-action 'self' https://x.com")
            } else if route.path().ends_with("/preview") && response.status == 200 {
                // A career page without a logo has an icon of its own.
                POLICY.replace("img-src 'self'", "img-src 'self' data:")
            } else if runs_script {
                POLICY.replace("form-action 'self'", "form-action 'self'; script-src 'self'")
            } else {
                POLICY.to_owned()
            };
            assert_protected(&response, &policy, &format!("{} {}", route.key, response.status));
            statuses.insert(response.status);
        }
    }
    let browser = Browser::new(&api);
    let csrf = browser.csrf().await;
    let body = form(&[("csrf", &csrf), ("email", "x"), ("password", &"x".repeat(1_025))]);
    let request =
        |media| browser.request(Method::POST, "/dashboard/sign-in").body(media, body.clone()).send();
    let mut responses = vec![request("text/plain").await];
    for _ in 0..11 {
        responses.push(request(FORM).await);
    }
    let long = "x".repeat(300_000);
    responses.push(browser.request(Method::POST, "/dashboard/sign-in").body(FORM, long).send().await);
    api.dynamodb.inject_faults(|_, _| Some(Fault::Unreachable));
    responses.push(request(FORM).await);
    for response in responses {
        assert_protected(&response, POLICY, &response.status.to_string());
        statuses.insert(response.status);
    }
    let all = [200, 303, 400, 401, 403, 404, 410, 413, 415, 422, 429, 503];
    assert_eq!(statuses.into_iter().collect::<Vec<_>>(), all);
}

#[tokio::test]
async fn the_stylesheet_and_the_icon_are_cacheable_and_set_no_cookie() {
    let api = TestApi::new().await;
    let browser = Browser::new(&api);
    let page = browser.get("/dashboard/sign-in").await.expect(200);
    let sheet = links(&page, "/dashboard/style.css?v=");
    let icon = links(&page, "/dashboard/icon.svg");
    assert_eq!((sheet.len(), icon.len()), (1, 1));
    api.dynamodb.take_calls();
    let (year, day) = ("public, max-age=31536000, immutable", "public, max-age=86400");
    for (path, media, cache_control) in
        [(&sheet[0], "text/css; charset=utf-8", year), (&icon[0], "image/svg+xml", day)]
    {
        for browser in [&browser, &Browser::new(&api)] {
            let file = browser.get(path).await.expect(200);
            assert_eq!(file.header("content-type"), media);
            assert_eq!(file.header("cache-control"), cache_control);
            assert!(!file.headers.contains_key("set-cookie") && file.text.len() > 100);
        }
    }
    assert!(api.dynamodb.take_calls().is_empty());
    let signed_in = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await.get("/dashboard").await;
    assert_eq!(links(&signed_in, "/dashboard/style.css"), sheet);
}
