//! What a member's removal, a member's recovery and an organization's suspension end: each kind of credential and each
//! kind of task.

use http::Method;
use serde_json::json;
use shared::auth::Kind;
use shared::model::{Member, MemberRole, Mode, TaskKind};
use shared::store::Transaction;
use tests::browser::Browser;
use tests::dashboard::{add_member, owner, shown_once};
use tests::oauth::OAuthApp;
use tests::passkeys::Device;
use tests::{ACME, BASE_URL, TestApi, read_credential, tenant};

use crate::bulk_tasks::begin_note;
use crate::dashboard_retention::{owner_browser, set};
use crate::voice_screens::Client;

const KEYS: &str = "/dashboard/settings/integrations/api-keys";
const PASSWORD: &str = "seven quiet otters";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Removal,
    Recovery,
    Suspension,
}

/// Whether a member's credential ends with the event.
const fn ends(kind: Kind, event: Event) -> bool {
    match event {
        // The keys that the owner does not take over end, too.
        Event::Removal => true,
        // Keys belong to the organization.
        Event::Recovery => !matches!(kind, Kind::ApiKey),
        // Members can still see their data. Applications can still get tokens, which give no access.
        Event::Suspension => matches!(kind, Kind::ApiKey | Kind::AccessToken),
    }
}

/// A member with a credential of each kind.
struct Holder<'w> {
    api: &'w TestApi,
    member: Member,
    /// The application with the tokens, and the one with the unspent code.
    apps: [OAuthApp<'w>; 2],
    credentials: Vec<(Kind, String)>,
    passkey: Device,
}

impl<'w> Holder<'w> {
    async fn new(api: &'w TestApi, name: &str) -> Self {
        let (invited, link) = add_link(api, add_member(api, ACME, name, MemberRole::Owner).await).await;
        set_password(api, name, &link).await;
        let acme = tenant(ACME, Mode::Live).organization;
        let member = api.store().find_member(acme, invited.id).await.unwrap().unwrap();
        let browser = Browser::with_session(api, ACME, &member).await;
        let fields = [("name", "Sync"), ("scope", "roles:read")];
        let key = shown_once(&browser.post(KEYS, &fields).await.expect(200)).unwrap();
        let apps = [OAuthApp::register(api, "none").await, OAuthApp::register(api, "none").await];
        let tokens = apps[0].connect(&browser).await;
        let unspent = apps[1].code(&browser, &apps[1].authorization_request(), "live").await;
        let passkey = crate::passkeys::add(&browser, 1).await;
        let member = api.store().find_member(acme, member.id).await.unwrap().unwrap();
        let (member, link) = add_link(api, member).await;
        let credential = |kind| match kind {
            Kind::ApiKey => key.clone(),
            Kind::AccessToken => tokens.access.clone(),
            Kind::RefreshToken => tokens.refresh.clone(),
            Kind::AuthorizationCode => unspent.clone(),
            Kind::Session => browser.cookie(),
            Kind::Link => link.clone(),
        };
        let credentials = Kind::ALL.map(|kind| (kind, credential(kind))).to_vec();
        Self { api, member, apps, credentials, passkey }
    }

    fn link(&self) -> &str {
        &self.credentials.iter().find(|(kind, _)| *kind == Kind::Link).unwrap().1
    }

    /// Whether the member can sign in with the passkey.
    async fn has_passkey(&mut self) -> bool {
        let response = crate::passkeys::sign_in(&Browser::new(self.api), &mut self.passkey).await.expect(303);
        response.header("location") == "/dashboard"
    }

    /// The kinds of the credentials that are valid. Spends those that can be used once.
    async fn valid(&self) -> Vec<Kind> {
        let mut valid = Vec::new();
        for (kind, text) in &self.credentials {
            let status = match kind {
                Kind::ApiKey | Kind::AccessToken => {
                    self.api.request(Method::GET, "/api/v1/roles").bearer(text).send().await.status
                }
                Kind::RefreshToken => self.apps[0].refresh(text).await.status,
                Kind::AuthorizationCode => self.apps[1].exchange(text).await.status,
                Kind::Session => Browser::with_cookie(self.api, text).get("/dashboard").await.status,
                Kind::Link => {
                    Browser::new(self.api).get(&format!("/dashboard/password?token={text}")).await.status
                }
            };
            if status == 200 {
                valid.push(*kind);
            }
        }
        valid
    }
}

/// Creates a link with which the member can set a password. Returns the member as stored, and the link's token.
async fn add_link(api: &TestApi, member: Member) -> (Member, String) {
    let acme = tenant(ACME, Mode::Live);
    let environment = &api.environment;
    let (linked, link) = shared::services::membership::create_link(
        acme.organization,
        member.clone(),
        BASE_URL,
        &environment.config.credential_keys,
        &environment.random,
        environment.clock.now(),
    );
    let mut transaction = Transaction::new(acme);
    transaction.replace_member(&member, &linked).unwrap();
    api.store().commit(transaction).await.unwrap();
    (linked, link.split_once("token=").unwrap().1.to_owned())
}

/// Accepts an invitation or recovers an account with the token of a link.
async fn set_password(api: &TestApi, name: &str, token: &str) {
    let fields = [("token", token), ("name", name), ("password", PASSWORD), ("repeated", PASSWORD)];
    Browser::new(api).post("/dashboard/password", &fields).await.expect(303);
}

async fn suspend(api: &TestApi, suspended: bool) {
    let (acme, now) = (tenant(ACME, Mode::Live).organization, api.environment.clock.now());
    api.store().set_suspended(acme, suspended, now).await.unwrap();
}

#[tokio::test]
async fn a_removal_a_recovery_and_a_suspension_end_the_right_credentials() {
    for event in [Event::Removal, Event::Recovery, Event::Suspension] {
        let api = TestApi::new().await;
        let ada = owner(&api, ACME).await;
        let mut jo = Holder::new(&api, "Jo").await;
        let mut sam = Holder::new(&api, "Sam").await;
        match event {
            Event::Removal => {
                let path = format!("/dashboard/settings/members/{}/remove", jo.member.id);
                Browser::with_session(&api, ACME, &ada).await.post(&path, &[]).await.expect(303);
            }
            Event::Recovery => set_password(&api, "Jo", jo.link()).await,
            Event::Suspension => suspend(&api, true).await,
        }
        let remaining = |event| Kind::ALL.into_iter().filter(|kind| !ends(*kind, event)).collect::<Vec<_>>();
        assert_eq!(jo.valid().await, remaining(event), "{event:?}");
        let others = if event == Event::Suspension { remaining(event) } else { Kind::ALL.to_vec() };
        assert_eq!(sam.valid().await, others, "{event:?}");
        // A new password keeps the passkeys, as it keeps the second factor.
        assert_eq!(jo.has_passkey().await, event != Event::Removal, "{event:?}");
        assert!(sam.has_passkey().await, "{event:?}");
    }
}

#[tokio::test]
async fn tokens_that_a_suspended_organizations_application_gets_give_no_access() {
    let api = TestApi::new().await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let app = OAuthApp::register(&api, "none").await;
    let tokens = app.connect(&browser).await;
    let code = app.code(&browser, &app.authorization_request(), "live").await;
    suspend(&api, true).await;
    for response in [app.refresh(&tokens.refresh).await, app.exchange(&code).await] {
        let access = tests::oauth::Tokens::of(&response).access;
        api.request(Method::GET, "/api/v1/roles").bearer(&access).send().await.expect(403);
    }
}

const TASKS: [TaskKind; 12] = [
    TaskKind::BulkAct,
    TaskKind::Import,
    TaskKind::Export,
    TaskKind::Call,
    TaskKind::Role,
    TaskKind::Cancellation,
    TaskKind::Suspension,
    TaskKind::Erasure,
    TaskKind::Retention,
    TaskKind::Closing,
    TaskKind::Files,
    TaskKind::KeyEnd,
];

/// Whether a task does its work while the organization is suspended. The others have no effect.
const fn works_during_suspension(kind: TaskKind) -> bool {
    match kind {
        // Nobody is called, acts on several candidates and imports stop, and nobody is erased before an owner can look at the
        // rule again.
        TaskKind::Call | TaskKind::Retention | TaskKind::BulkAct | TaskKind::Import => false,
        // A person's right, a date, and the end of a key or a ticket do not depend on the organization. Nobody can open the files
        // of an export meanwhile.
        TaskKind::Role
        | TaskKind::Export
        | TaskKind::Cancellation
        | TaskKind::Suspension
        | TaskKind::Erasure
        | TaskKind::Closing
        | TaskKind::Files
        | TaskKind::KeyEnd => true,
    }
}

/// The names of the stored tasks, sorted.
async fn stored_tasks(api: &TestApi) -> Vec<String> {
    let items = api.stored_items().await.into_keys();
    let mut names: Vec<_> = items
        .filter(|(pk, _)| pk.starts_with("TASK#"))
        .map(|(_, sk)| sk.split('#').nth(4).unwrap().to_owned())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[tokio::test]
async fn a_suspension_stops_calls_and_retention_and_no_other_task() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let old = client.candidate().await;
    let rows =
        json!({ "format": "ndjson", "rows": [{ "name": "Imported", "email": "imported@example.com" }] });
    let import = client.post("imports", rows).await.expect(201).number("/id");
    for _ in 0..2 {
        api.run_tasks().await;
    }
    client.post(&format!("imports/{import}/run"), json!({})).await.expect(202);
    api.clock.set("2026-12-25T09:30:00Z");
    let browser = owner_browser(&api, ACME).await;
    set(&browser, "30", false).await;
    let fields = [("name", "Sync"), ("scope", "roles:read")];
    let key = shown_once(&browser.post(KEYS, &fields).await.expect(200)).unwrap();
    let rotate = format!("{KEYS}/{}/rotate", read_credential(&key).id());
    let next_key = shown_once(&browser.post(&rotate, &[("overlap", "24")]).await.expect(200)).unwrap();
    let scheduled = async |applied: bool| {
        let (role, candidate) = (client.role().await, client.candidate().await);
        if applied {
            let path = format!("candidates/{candidate}/applications");
            client.post(&path, json!({ "role_id": role })).await.expect(201);
        }
        let at = "2026-12-26T12:00:00.000Z";
        let screen = client.invite_at(candidate, role, at).await.expect(201).number("/id");
        (candidate, role, screen)
    };
    let due = client.invited().await;
    let (noted, renamed, later) = scheduled(true).await;
    let (rejected, _, obsolete) = scheduled(true).await;
    let (erased, _, _) = scheduled(false).await;
    api.patch(&format!("/api/v1/roles/{renamed}"), json!({ "title": "Baker" })).await.expect(200);
    client.post(&format!("candidates/{rejected}/reject"), json!({})).await.expect(200);
    client.post(&format!("candidates/{erased}/erase"), json!({})).await.expect(202);
    let ending = json!({ "role": { "title": "Cook", "closes_on": "2026-12-25" } });
    let ending = client.post("quick_post", ending).await.expect(201).number("/job_posting/id");
    let files = format!("candidates/{}/files", due.candidate);
    client.post(&files, json!({ "name": "cv.pdf", "size": 5 })).await.expect(201);
    begin_note(&api, renamed, noted).await;
    let export = client.post("exports", json!({ "format": "ndjson", "kinds": ["roles"] })).await.expect(201);
    let export = export.number("/id");
    suspend(&api, true).await;
    let expected = [
        "bulk_act",
        "call",
        "cancellation",
        "closing",
        "erasure",
        "export",
        "files",
        "import",
        "key_end",
        "retention",
        "role",
        "suspension",
    ];
    assert_eq!(stored_tasks(&api).await, expected, "tasks of every kind wait");
    for time in ["2026-12-25T09:31:00.000Z", "2026-12-25T09:31:01.000Z", "2026-12-26T09:31:00.000Z"] {
        api.clock.set(time);
        assert_eq!(api.run_tasks().await.failed, 0);
    }
    suspend(&api, false).await;
    let status = async |screen: u64| client.screen(screen).await["status"].clone();
    for kind in TASKS {
        let worked = match kind {
            TaskKind::BulkAct => {
                let notes = client.get(&format!("candidates/{noted}/notes")).await.expect(200);
                notes.body["data"] != json!([])
            }

            TaskKind::Import => {
                let found = client.get("candidates?email=imported@example.com").await.expect(200);
                found.body["data"] != json!([])
            }
            // It had its turns, and was then ended by the erasure or the day after.
            TaskKind::Export => client.get(&format!("exports/{export}")).await.text != "running",
            TaskKind::Call => status(due.screen).await != "cancelled",
            TaskKind::Role => {
                let list = client.get(&format!("applications?role_id={renamed}")).await.expect(200);
                list.text.contains("Baker")
            }
            TaskKind::Cancellation => status(obsolete).await == "cancelled",
            TaskKind::Suspension => status(later).await == "cancelled",
            TaskKind::Erasure => client.get(&format!("candidates/{erased}")).await.status == 410,
            TaskKind::Retention => client.get(&format!("candidates/{old}")).await.status == 410,
            TaskKind::Closing => {
                api.run_whole_feed().await;
                let events = client.get("events?type=posting.unpublished").await.expect(200);
                events.number("/data/0/subject/id") == ending
            }
            TaskKind::Files => client.get(&files).await.string("/data/0/status") == "refused",
            TaskKind::KeyEnd => {
                let used = async |key: &str| {
                    api.request(Method::GET, "/api/v1/roles").bearer(key).send().await.status
                };
                assert_eq!(used(&next_key).await, 200);
                used(&key).await == 401
            }
        };
        assert_eq!(worked, works_during_suspension(kind), "{kind:?}");
    }
}
