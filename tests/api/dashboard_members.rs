//! Members in the dashboard: invitations, roles, and removals, which end sessions and revoke grants.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join;
use http::Method;
use serde_json::json;
use shared::id::Id;
use shared::model::{Grant, Member, MemberRole, Mode};
use shared::services::membership;
use shared::store::{Paging, Transaction};
use tests::browser::{Browser, input};
use tests::dashboard::{add_member, connect_app, escaped, owner, shown_once};
use tests::interceptor::Fault;
use tests::oauth::{OAuthApp, REDIRECT, Tokens};
use tests::{ACME, GLOBEX, TestApi, read_credential, tenant};

use crate::dashboard_access::is_write;
use crate::webhooks::insert_key;

const PATH: &str = "/dashboard/settings/members";

async fn find(api: &TestApi, id: Id) -> Option<Member> {
    api.store().find_member(tenant(ACME, Mode::Live).organization, id).await.unwrap()
}

fn path(member: &Member, action: &str) -> String {
    format!("{PATH}/{}/{action}", member.id)
}

#[tokio::test]
async fn members_are_listed_with_role_and_state() {
    let api = TestApi::new().await;
    let ada = owner(&api, ACME).await;
    let browser = Browser::with_session(&api, ACME, &ada).await;
    let invited =
        browser.post(PATH, &[("name", "Jo"), ("email", "jo@acme.example"), ("role", "owner")]).await;
    let invited = invited.expect(200);
    assert!(shown_once(&invited).is_some());
    assert!(
        invited.text.contains("Link for Jo") && invited.text.contains("27 Nov 2026, 09:30 UTC"),
        "{}",
        invited.text
    );
    let row = |text: &str, email: &str| {
        let rows = text.split("<tr>").find(|row| row.contains(email)).unwrap().to_owned();
        rows.split("</tr>").next().unwrap().to_owned()
    };
    for (time, shows_expiry) in [("2026-11-27T09:29:59.000Z", true), ("2026-11-27T09:30:00.000Z", false)] {
        api.clock.set(time);
        let browser = Browser::with_session(&api, ACME, &ada).await;
        let page = browser.get(PATH).await.expect(200);
        assert!(shown_once(&page).is_none(), "a link is shown only once");
        let jo = row(&page.text, "jo@acme.example");
        assert!(jo.contains("is-owner") && jo.contains("is-invited"), "{jo}");
        assert_eq!(
            jo.contains("until <time datetime=\"2026-11-27T09:30:00Z\">27 Nov 2026, 09:30 UTC<"),
            shows_expiry,
            "{jo}"
        );
        let own = row(&page.text, "ada@acme.example");
        assert!(own.contains("is-active") && own.contains("you") && !own.contains("<form"), "{own}");
        assert!(!page.text.contains("globex"));
    }
}

#[tokio::test]
async fn an_invalid_invitation_keeps_its_values() {
    let api = TestApi::new().await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let long = "x".repeat(201);
    let long_email = format!("{}@example.com", "x".repeat(250));
    for (name, email, role, problems) in [
        ("", "jo@acme.example", "member", &["The name can't be blank."][..]),
        (&long, "jo@acme.example", "owner", &["The name must be at most 200 characters."]),
        ("Jo", "jo", "owner", &["Enter a valid e-mail address."]),
        ("Jo", &long_email, "member", &["The e-mail address must be at most 254 characters."]),
        ("Jo", "jo@acme.example", "admin", &["The role must be one of owner, member."]),
        (" ", "\"><b>", "", &["The name can't", "Enter a valid e-mail address.", "The role must"]),
    ] {
        api.dynamodb.take_calls();
        let page = browser.post(PATH, &[("name", name), ("email", email), ("role", role)]).await.expect(422);
        for problem in problems {
            assert!(page.text.contains(&escaped(problem)), "{problem}: {}", page.text);
        }
        assert_eq!((input(&page, "name"), input(&page, "email")), (name.to_owned(), email.to_owned()));
        let chosen = if role == "owner" { "owner" } else { "member" };
        assert!(page.text.contains(&format!("<option value=\"{chosen}\" selected>")), "{role}");
        assert!(!api.dynamodb.take_calls().iter().any(is_write), "{problems:?}");
    }
}

#[tokio::test]
async fn a_role_change_takes_effect_immediately() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let browser = Browser::with_session(&api, ACME, &jo).await;
    let invitation = [("name", "X"), ("email", "x@acme.example"), ("role", "member")];
    browser.post(PATH, &invitation).await.expect(403);
    for (role, status) in [("owner", 200), ("member", 403), ("owner", 422)] {
        let response = ada.post(&path(&jo, "role"), &[("role", role)]).await.expect(303);
        assert!(ada.follow(&response).await.expect(200).text.contains("Member role changed."));
        browser.post(PATH, &invitation).await.expect(status);
    }
    for odd in ["", "admin", "Owner"] {
        ada.post(&path(&jo, "role"), &[("role", odd)]).await.expect(400);
    }
    assert_eq!(find(&api, jo.id).await.unwrap().role, MemberRole::Owner);
}

#[tokio::test]
async fn removing_a_member_ends_their_sessions_and_apps_immediately() {
    let api = TestApi::new().await;
    let ada = owner(&api, ACME).await;
    let browser = Browser::with_session(&api, ACME, &ada).await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Owner).await;
    let sessions =
        [Browser::with_session(&api, ACME, &jo).await, Browser::with_session(&api, ACME, &jo).await];
    let mut apps = Vec::new();
    for mode in Mode::ALL {
        for number in 0..3 {
            let app =
                connect_app(&api.environment, tenant(ACME, mode), jo.id, &format!("App {number}")).await;
            apps.push((mode, app.0.id, app.1));
        }
    }
    let (kept, own) = connect_app(&api.environment, tenant(ACME, Mode::Live), ada.id, "Ada's own").await;
    let call = async |token: &str| {
        let request = api.request(Method::GET, "/api/v1/organization");
        request.header("authorization", &format!("Bearer {token}")).send().await.status
    };
    for (_, _, token) in &apps {
        assert_eq!(call(token.reveal()).await, 200);
    }
    for session in &sessions {
        session.get("/dashboard").await.expect(200);
    }
    let response = browser.post(&path(&jo, "remove"), &[]).await.expect(303);
    let page = browser.follow(&response).await.expect(200);
    assert!(page.text.contains("Member removed.") && !page.text.contains("jo@members.example"));
    for session in &sessions {
        session.get("/dashboard").await.expect(303);
    }
    for (mode, grant, token) in &apps {
        assert_eq!(call(token.reveal()).await, 401);
        let grant = api.store().find_grant(tenant(ACME, *mode), *grant).await.unwrap().unwrap();
        assert!(grant.revoked_at.is_some());
    }
    assert_eq!(call(own.reveal()).await, 200, "the apps of other members stay connected");
    let listed = browser.get("/dashboard/settings/integrations/connected-apps").await.expect(200);
    assert!(listed.text.contains("Ada&#39;s own") && !listed.text.contains("App 1"));
    assert!(api.store().find_grant(tenant(ACME, Mode::Live), kept.id).await.unwrap().is_some());
    browser.post(&path(&jo, "remove"), &[]).await.expect(404);
    Browser::new(&api).submit_sign_in("jo@members.example", "whatever it was").await.expect(401);
}

/// The member has more grants than one read returns.
#[tokio::test]
async fn every_grant_of_a_removed_member_is_revoked() {
    let api = TestApi::new().await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let acme = tenant(ACME, Mode::Live);
    let (first, _) = connect_app(&api.environment, acme, jo.id, "App").await;
    let mut transaction = Transaction::new(acme);
    for number in 1..=100 {
        let id = Id::new(first.id.get() + number).unwrap();
        transaction.insert_grant(&Grant { id, ..first.clone() }).unwrap();
    }
    api.store().commit(transaction).await.unwrap();
    browser.post(&path(&jo, "remove"), &[]).await.expect(303);
    let mut page = Paging { limit: 100, before: None };
    let mut ended = 0;
    loop {
        let listed = api.store().list_grants(acme, &page).await.unwrap();
        assert!(listed.items.iter().all(|grant| grant.revoked_at.is_some()));
        ended += listed.items.len();
        let Some(next) = listed.next else { break };
        page.before = Some(next);
    }
    assert_eq!(ended, 101);
}

/// An app is connected during the removal of its member, and the first attempt to revoke its grant conflicts.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_grant_created_during_a_removal_is_revoked() {
    let api = TestApi::new().await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let acme = tenant(ACME, Mode::Live);
    // A second connection to the table without injected faults.
    let store = tests::engine::store(api.dynamodb.another().client(), &api.environment.config.table).await;
    let second_environment = shared::http::Environment { store, ..api.environment.clone() };
    let (member, conflicts) = (jo.id, AtomicUsize::new(0));
    let runtime = tokio::runtime::Handle::current();
    api.dynamodb.inject_faults(move |operation, request| {
        let is_removal = request["TransactItems"][0]["Delete"].is_object();
        if operation == "TransactWriteItems" && is_removal {
            let connect = connect_app(&second_environment, acme, member, "Late");
            tokio::task::block_in_place(|| runtime.block_on(connect));
            conflicts.store(1, Ordering::SeqCst);
            return None;
        }
        let is_conflict = operation == "TransactWriteItems" && conflicts.swap(0, Ordering::SeqCst) > 0;
        is_conflict.then_some(Fault::Conflict)
    });
    browser.post(&path(&jo, "remove"), &[]).await.expect(303);
    api.dynamodb.inject_faults(|_, _| None);
    let listed = api.store().list_grants(acme, &Paging { limit: 100, before: None }).await.unwrap();
    assert_eq!(listed.items.len(), 1);
    assert!(
        listed.items[0].revoked_at.is_some(),
        "otherwise the grant of a removed member would be valid for a month"
    );
    let (tokens, now) = (listed.items[0].tokens.as_ref(), api.environment.clock.now());
    let known = api.store().get_access_tokens(acme).await.unwrap();
    assert_eq!(known.previous_access(tokens.unwrap(), now), None, "the gate has no access token");
}

#[tokio::test]
async fn owners_cannot_change_or_remove_themselves() {
    let api = TestApi::new().await;
    let ada = owner(&api, ACME).await;
    add_member(&api, ACME, "Another", MemberRole::Owner).await;
    let browser = Browser::with_session(&api, ACME, &ada).await;
    for (path, fields) in [
        (path(&ada, "role"), &[("role", "member")][..]),
        (path(&ada, "role"), &[("role", "owner")]),
        (path(&ada, "remove"), &[]),
    ] {
        api.dynamodb.take_calls();
        let response = browser.post(&path, fields).await.expect(303);
        assert!(!api.dynamodb.take_calls().iter().any(is_write), "{path}");
        assert!(
            browser
                .follow(&response)
                .await
                .expect(200)
                .text
                .contains("You can&#39;t change your own role or remove yourself.")
        );
    }
    assert_eq!(find(&api, ada.id).await.unwrap().version, ada.version);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_owner_remains_after_two_owners_remove_or_demote_each_other() {
    let api = TestApi::new().await;
    let acme = tenant(ACME, Mode::Live).organization;
    let first = owner(&api, ACME).await;
    let mut one = first;
    for round in 0..12 {
        let two = add_member(&api, ACME, &format!("Owner{round}"), MemberRole::Owner).await;
        let (first_browser, second_browser) =
            (Browser::with_session(&api, ACME, &one).await, Browser::with_session(&api, ACME, &two).await);
        join(first_browser.csrf(), second_browser.csrf()).await;
        let (first_action, second_action) =
            [("remove", "remove"), ("role", "role"), ("remove", "role")][round % 3];
        let fields = [("role", "member")];
        let (a, b) = (path(&two, first_action), path(&one, second_action));
        let (a, b) = join(first_browser.post(&a, &fields), second_browser.post(&b, &fields)).await;
        let mut statuses = [a.status, b.status];
        statuses.sort_unstable();
        // The other owner has lost the role, or is signed out and redirected to sign-in.
        let locations = [a.header("location"), b.header("location")];
        let done = locations.iter().filter(|to| to.contains("?done=")).count();
        assert_eq!(done, 1, "{round}: {statuses:?} {locations:?}");
        let members = api.store().list_members(acme).await.unwrap();
        let mut owners: Vec<_> =
            members.into_iter().filter(|member| member.role == MemberRole::Owner).collect();
        assert_eq!(owners.len(), 1, "{round}");
        one = owners.remove(0);
    }
}

#[tokio::test]
async fn another_organizations_owner_cannot_change_a_member() {
    let api = TestApi::new().await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    for action in ["role", "remove", "link"] {
        grace.post(&path(&jo, action), &[("role", "owner")]).await.expect(404);
    }
    assert_eq!(find(&api, jo.id).await.unwrap().version, jo.version);
}

#[tokio::test]
async fn an_owner_decides_which_keys_of_a_removed_member_end() {
    let api = TestApi::new().await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let jos = Browser::with_session(&api, ACME, &jo).await;
    let owner = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let create = async |browser: &Browser<'_>, name: &str, mode: &str| {
        let fields = [("name", name), ("scope", "roles:read"), ("mode", mode)];
        let page = browser.post("/dashboard/settings/integrations/api-keys", &fields).await.expect(200);
        shown_once(&page).unwrap()
    };
    let ending = create(&jos, "Ending", "live").await;
    let kept = create(&jos, "Kept", "live").await;
    let ending_test = create(&jos, "Ending in test mode", "test").await;
    let of_owner = create(&owner, "Of the owner", "live").await;
    let page = owner.get("/dashboard/settings/members").await.expect(200);
    for name in ["Keep Ending <", "Keep Kept <", "Keep Ending in test mode <"] {
        assert!(page.text.contains(name), "{}", page.text);
    }
    assert!(!page.text.contains("Of the owner"), "only keys of the member who may be removed");
    assert!(!jos.get("/dashboard/settings/members").await.text.contains("Keep "), "only owners remove");
    let keep = format!("live {}", read_credential(&kept).id());
    // The same identifier in another mode is another key.
    let other_mode = format!("live {}", read_credential(&ending_test).id());
    owner.post(&path(&jo, "remove"), &[("keep", &keep), ("keep", &other_mode)]).await.expect(303);
    let status =
        async |key: &str| api.request(http::Method::GET, "/api/v1/roles").bearer(key).send().await.status;
    for (key, expected) in [(&ending, 401), (&kept, 200), (&ending_test, 401), (&of_owner, 200)] {
        assert_eq!(status(key).await, expected);
    }
    let acme = tenant(ACME, Mode::Live);
    let kept = api.store().find_api_key(acme, read_credential(&kept).id()).await.unwrap().unwrap();
    assert_eq!(kept.created_by.map(Id::get), Some(1), "the owner takes it over");
}

#[tokio::test]
async fn an_owner_decides_which_webhook_endpoints_of_a_removed_member_stay() {
    let api = TestApi::new().await;
    let (ada, jo) = (owner(&api, ACME).await, add_member(&api, ACME, "Jo", MemberRole::Member).await);
    let jos = Browser::with_session(&api, ACME, &jo).await;
    let owners = Browser::with_session(&api, ACME, &ada).await;
    let [live, test] = Mode::ALL.map(|mode| tenant(ACME, mode));
    let key = insert_key(&api, live, 71, Some(jo.id)).await;
    let (_, token) = connect_app(&api.environment, test, jo.id, "Helper").await;
    let url = |path: &str| format!("https://hooks.example.com/{path}");
    for (browser, path) in [(&jos, "dashboard"), (&owners, "owner")] {
        let fields = [("url", &*url(path)), ("hmac", "true")];
        browser.post("/dashboard/webhooks", &fields).await.expect(200);
    }
    for (credential, path) in [(&key, "key"), (&key, "kept"), (&token, "app")] {
        let request = api.request(Method::POST, "/api/v1/webhook_endpoints").bearer(credential.reveal());
        request.json(&json!({ "url": url(path) })).send().await.expect(201);
    }
    let endpoints = async || {
        let listed = [
            api.store().list_all_webhook_endpoints(live).await.unwrap(),
            api.store().list_all_webhook_endpoints(test).await.unwrap(),
        ];
        listed.concat()
    };
    let find = async |path: &str| {
        let found = endpoints().await.into_iter().find(|endpoint| endpoint.url.as_str().ends_with(path));
        found.unwrap()
    };
    let page = owners.get(PATH).await.expect(200);
    for (path, mode) in [("dashboard", "live"), ("key", "live"), ("kept", "live"), ("app", "test")] {
        let value = format!("name=\"keep\" value=\"{mode} {}\"", find(path).await.id);
        assert_eq!(page.text.matches(&value).count(), 1, "{path}: {}", page.text);
    }
    assert!(!page.text.contains("https://hooks.example.com/owner"), "only of the member who may be removed");
    assert!(!jos.get(PATH).await.text.contains("https://hooks.example.com/"), "only owners remove");
    let kept = format!("live {}", find("kept").await.id);
    owners.post(&path(&jo, "remove"), &[("keep", &kept)]).await.expect(303);
    for (path, is_enabled) in
        [("dashboard", false), ("key", false), ("kept", true), ("app", false), ("owner", true)]
    {
        assert_eq!(find(path).await.disabled_reason.is_none(), is_enabled, "{path}");
    }
    let kept = find("kept").await;
    assert_eq!(kept.member(), Some(ada.id), "the owner takes it over");
    assert_eq!(kept.created_by.unwrap().name, "Key 71");
}

/// What an owner has made, with and without what only owners may give.
struct OfOwner<'a> {
    api: &'a TestApi,
    audit_key: String,
    erasing_test_key: String,
    plain_key: String,
    audit_app: (OAuthApp<'a>, Tokens),
    plain_app: (OAuthApp<'a>, Tokens),
}

impl<'a> OfOwner<'a> {
    async fn new(api: &'a TestApi, member: &Member) -> Self {
        let browser = Browser::with_session(api, ACME, member).await;
        let key = async |name: &str, scope: &str, mode: &str| {
            let fields = [("name", name), ("scope", scope), ("scope", "roles:read"), ("mode", mode)];
            let page = browser.post("/dashboard/settings/integrations/api-keys", &fields).await.expect(200);
            shown_once(&page).unwrap()
        };
        let app = async |scope: &str| {
            let metadata = json!({
                "client_name": "Assistant",
                "redirect_uris": [REDIRECT],
                "token_endpoint_auth_method": "none",
                "scope": scope,
            });
            let app = OAuthApp::register_with(api, &metadata).await;
            let query = app.authorization_request().set("scope", scope);
            let code = app.code(&browser, &query, "live").await;
            let tokens = Tokens::of(&app.exchange(&code).await);
            (app, tokens)
        };
        Self {
            api,
            audit_key: key("Audits", "audit:read", "live").await,
            erasing_test_key: key("Erases", "candidates:erase", "test").await,
            plain_key: key("Reads", "candidates:read", "live").await,
            audit_app: app("audit:read roles:read").await,
            plain_app: app("roles:read candidates:read").await,
        }
    }

    /// The statuses of requests with the three keys, with the access tokens, and for new tokens.
    async fn statuses(&self) -> [u16; 7] {
        let [(one, with_audit), (other, plain)] = [&self.audit_app, &self.plain_app];
        let status = async |credential: &str| {
            self.api.request(Method::GET, "/api/v1/roles").bearer(credential).send().await.status
        };
        [
            status(&self.audit_key).await,
            status(&self.erasing_test_key).await,
            status(&self.plain_key).await,
            status(&with_audit.access).await,
            status(&plain.access).await,
            one.refresh(&with_audit.refresh).await.status,
            other.refresh(&plain.refresh).await.status,
        ]
    }
}

#[tokio::test]
async fn what_only_owners_can_give_ends_with_the_role() {
    let api = TestApi::new().await;
    let owners = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let [eve, kim] = [
        add_member(&api, ACME, "Eve", MemberRole::Owner).await,
        add_member(&api, ACME, "Kim", MemberRole::Owner).await,
    ];
    let (of_eve, of_kim) = (OfOwner::new(&api, &eve).await, OfOwner::new(&api, &kim).await);
    let page = owners.get(PATH).await.expect(200);
    let sentence = "If you change Eve to member, these end, because only owners can give their permissions: \
                    the API key “Audits”, the API key “Erases”, the app “Assistant”.";
    assert!(page.text.contains(sentence), "{}", page.text);
    owners.post(&path(&eve, "role"), &[("role", "member")]).await.expect(303);
    assert_eq!(of_eve.statuses().await, [401, 401, 200, 401, 200, 400, 200]);
    assert_eq!(of_kim.statuses().await, [200; 7], "another owner's");
    let page = owners.get(PATH).await.expect(200);
    assert!(!page.text.contains("If you change Eve") && page.text.contains("If you change Kim"));
    // The role alone gives nothing back.
    owners.post(&path(&eve, "role"), &[("role", "owner")]).await.expect(303);
    assert_eq!(of_eve.statuses().await[..2], [401, 401]);
    owners.post(&path(&kim, "remove"), &[]).await.expect(303);
    assert_eq!(of_kim.statuses().await, [401, 401, 401, 401, 401, 400, 400]);
}

#[tokio::test]
async fn nobody_makes_a_key_while_losing_the_role_that_it_needs() {
    let api = TestApi::new().await;
    let (ada, eve) = (owner(&api, ACME).await, add_member(&api, ACME, "Eve", MemberRole::Owner).await);
    let browser = Browser::with_session(&api, ACME, &eve).await;
    let (store, now, organization) =
        (api.store().clone(), api.environment.clock.now(), tenant(ACME, Mode::Live).organization);
    let before = eve.clone();
    api.dynamodb.run_before("TransactWriteItems", async move {
        let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
        transaction.replace_member(&before, &before.clone().in_role(MemberRole::Member)).unwrap();
        transaction.require_member(&ada);
        membership::demote(&store, organization, before.id, transaction, now).await.unwrap();
    });
    let fields = [("name", "Audits"), ("scope", "audit:read"), ("mode", "live")];
    browser.post("/dashboard/settings/integrations/api-keys", &fields).await.expect(503);
    let keys = api.store().list_unrevoked_keys(tenant(ACME, Mode::Live)).await.unwrap();
    assert!(keys.iter().all(|key| key.name != "Audits"));
}
