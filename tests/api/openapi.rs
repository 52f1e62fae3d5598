//! Tests of the contract and of the OpenAPI document. They match the service, and their examples are real responses. What
//! generators of clients need of the document is tested in `generators.rs`.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use rolecall_local::functions::tables;
use serde_json::{Value, json};
use shared::model::{Mode, VoiceProvider};
use shared::providers::voice;
use shared::services::screening::Reference;
use tests::browser::{Browser, FORM, Form};
use tests::contract::{CLIENTS, CONTRACT, Contract, PUBLISHED, WHOLE};
use tests::dashboard::owner;
use tests::generated::assert_current;
use tests::oauth::{OAuthApp, Tokens, basic_auth, registration};
use tests::openapi::{DOCUMENT, Example, Refused, contract, published};
use tests::{ACME, BASE_URL, Response, TestApi, project, tenant};

use super::careers_applications::form;

/// The requests and responses of a client that uses every operation once.
struct Session {
    api: TestApi,
    successes: BTreeMap<&'static str, (Value, Response)>,
    /// The error responses of the operations without a scope.
    errors: Vec<(&'static str, Response)>,
}

impl Session {
    async fn send(&mut self, key: &'static str, id: u64, body: Value) -> u64 {
        self.send_with(key, id, "", body).await
    }

    async fn send_with(&mut self, key: &'static str, id: u64, query: &str, body: Value) -> u64 {
        let (_, path) = key.split_once(' ').unwrap();
        self.send_to(key, &format!("{}{query}", path.replace("{id}", &id.to_string())), body).await
    }

    async fn send_to(&mut self, key: &'static str, path: &str, body: Value) -> u64 {
        let (method, _) = key.split_once(' ').unwrap();
        let request = self.api.request(method.parse().unwrap(), path);
        let response = if body.is_null() { request } else { request.json(&body) }.send().await;
        assert!(response.status < 300, "{key}: {}", response.text);
        let ids = ["/id", "/role/id", "/data/0/id"];
        let id = ids.iter().find_map(|pointer| response.body.pointer(pointer)?.as_u64()).unwrap_or_default();
        let mut response = response;
        // The port of the bucket is another one each time.
        if let Some(url) = response.body.pointer_mut("/upload/url") {
            *url = json!("https://files.rolecall.test/");
        }
        self.successes.insert(key, (body, response));
        id
    }

    /// Confirms the result of a screen, invites another candidate to one for the role, and cancels that.
    async fn review_and_cancel_screens(&mut self, screen: u64, role: u64) {
        let review = json!({ "decision": "confirmed", "note": "The examples support the scores." });
        self.send("POST /api/v1/voice_screens/{id}/review", screen, review).await;
        let ada = json!({ "name": "Ada Lovelace", "email": "ada@example.com" });
        let ada = self.api.post("/api/v1/candidates", ada).await.expect(201).number("/id");
        let later = json!({ "role_id": role, "scheduled_at": "2026-11-30T14:00:00Z" });
        let invite = format!("/api/v1/candidates/{ada}/invite_screen");
        let screen = self.api.post(&invite, later).await.expect(201).number("/id");
        self.send("POST /api/v1/voice_screens/{id}/cancel", screen, Value::Null).await;
    }

    /// Sends the GET requests whose only parameter is the id of something in a collection, if they were not sent yet.
    async fn read_by_id(&mut self, known: &[(&str, u64)]) {
        for operation in tests::openapi::operations() {
            let path = operation.key.strip_prefix("GET /api/v1/").and_then(|path| path.split_once("/{id}"));
            let Some((collection, rest)) = path else { continue };
            let id = known.iter().find(|(name, _)| *name == collection && !rest.contains('{'));
            if let Some((_, id)) = id.filter(|_| !self.successes.contains_key(operation.key)) {
                self.send(operation.key, *id, Value::Null).await;
            }
        }
    }

    /// The candidate applies again, and then consents to the recording of calls.
    async fn record_consent(&mut self, candidate: u64) {
        self.apply_again(candidate).await;
        let consent = json!({
            "purpose": "recording",
            "granted": true,
            "obtained_at": "2026-11-20T09:00:00.000Z",
            "wording": "I agree that calls with the AI interviewer are transcribed.",
        });
        self.send("POST /api/v1/candidates/{id}/consents", candidate, consent).await;
    }

    /// Sets and lifts a legal hold on another candidate, erases the candidate, and reads the entries in the audit log.
    async fn erase_candidate(&mut self) {
        let alan = json!({ "name": "Alan Turing", "email": "alan@example.com" });
        let alan = self.api.post("/api/v1/candidates", alan).await.expect(201).number("/id");
        let reason = json!({ "reason": "A lawsuit is pending." });
        self.send("PUT /api/v1/candidates/{id}/legal_hold", alan, reason).await;
        self.send("DELETE /api/v1/candidates/{id}/legal_hold", alan, Value::Null).await;
        self.send("POST /api/v1/candidates/{id}/erase", alan, json!({ "reason": "request" })).await;
        self.send_with("GET /api/v1/audit_log", 0, "?actor=api_key:1", Value::Null).await;
        self.api.run_feed().await;
        self.send_with("GET /api/v1/events", 0, "?after=0&limit=2", Value::Null).await;
    }

    /// Adds a webhook endpoint, and does everything with it.
    async fn manage_webhook_endpoint(&mut self) {
        let endpoint = json!({
            "url": "https://hooks.example.com/rolecall",
            "description": "Our data warehouse",
            "types": ["candidate.created", "application.stage_changed"],
        });
        let endpoint = self.send("POST /api/v1/webhook_endpoints", 0, endpoint).await;
        let changes = json!({ "types": [], "hmac": false });
        self.send("PATCH /api/v1/webhook_endpoints/{id}", endpoint, changes).await;
        self.send("POST /api/v1/webhook_endpoints/{id}/rotate_secret", endpoint, Value::Null).await;
        let delivery = self.send("POST /api/v1/webhook_endpoints/{id}/ping", endpoint, Value::Null).await;
        let redeliver = "POST /api/v1/webhook_endpoints/{id}/deliveries/{delivery_id}/redeliver";
        let path = format!("/api/v1/webhook_endpoints/{endpoint}/deliveries/{delivery}/redeliver");
        self.send_to(redeliver, &path, Value::Null).await;
        self.send("POST /api/v1/webhook_endpoints/{id}/replay", endpoint, json!({ "after": "0" })).await;
        self.send("GET /api/v1/webhook_endpoints/{id}/deliveries", endpoint, Value::Null).await;
        self.send("GET /api/v1/webhook_endpoints", 0, Value::Null).await;
        self.send("GET /api/v1/webhook_endpoints/{id}", endpoint, Value::Null).await;
        self.send("DELETE /api/v1/webhook_endpoints/{id}", endpoint, Value::Null).await;
    }

    /// Imports two people, looks at the verdicts, and undoes it.
    async fn import_people(&mut self) {
        let rows = json!([
            { "name": "Mary Jackson", "email": "mary@example.com", "applications": [{ "role": { "title": "Engineer" } }] },
            { "email": "nobody@example.com" },
        ]);
        let import = json!({ "format": "ndjson", "source": "Our spreadsheet", "rows": rows });
        let import = self.send("POST /api/v1/imports", 0, import).await;
        self.send("POST /api/v1/imports/{id}/complete", import, Value::Null).await;
        self.work().await;
        self.send("GET /api/v1/imports/{id}", import, Value::Null).await;
        self.send("GET /api/v1/imports/{id}/rows", import, Value::Null).await;
        self.add_files(import).await;
        self.send("POST /api/v1/imports/{id}/run", import, Value::Null).await;
        self.work().await;
        self.send("GET /api/v1/imports", 0, Value::Null).await;
        self.send("POST /api/v1/imports/{id}/undo", import, Value::Null).await;
        self.work().await;
        let other =
            self.api.post("/api/v1/imports", json!({ "format": "csv" })).await.expect(201).number("/id");
        self.send("POST /api/v1/imports/{id}/cancel", other, Value::Null).await;
    }

    /// Exports everything.
    async fn export_everything(&mut self) {
        let export = json!({ "format": "ndjson" });
        let export = self.send("POST /api/v1/exports", 0, export).await;
        self.work().await;
        self.send("GET /api/v1/exports/{id}", export, Value::Null).await;
        self.send("GET /api/v1/exports", 0, Value::Null).await;
        let (_, shown) = self.successes.get_mut("GET /api/v1/exports/{id}").unwrap();
        for file in shown.body["files"].as_array_mut().unwrap() {
            let name = format!("{}.ndjson", file["kind"].as_str().unwrap());
            let bucket = "https://rolecall-resumes.s3.eu-central-1.amazonaws.com";
            file["url"] = json!(format!("{bucket}/exports/1/live/7-x/{name}"));
        }
    }

    /// Sends the files of an import, and assigns one.
    async fn add_files(&mut self, import: u64) {
        let files = format!("/api/v1/imports/{import}/files");
        self.send("POST /api/v1/imports/{id}/files", import, Value::Null).await;
        let ticket = self.api.request(Method::POST, &files).send().await.expect(201);
        let content = std::fs::read(project("shared/import_files/files/resumes-bsdtar.zip")).unwrap();
        crate::importing::upload(&ticket, &content).await;
        self.send("POST /api/v1/imports/{id}/complete", import, Value::Null).await;
        self.work().await;
        self.send("GET /api/v1/imports/{id}/files", import, Value::Null).await;
        let assign = "POST /api/v1/imports/{id}/files/{number}/assign";
        self.send_to(assign, &format!("{files}/1/assign"), json!({ "row": 1 })).await;
    }

    /// Lets the tasks of an import or an export work.
    async fn work(&self) {
        for _ in 0..3 {
            self.api.run_tasks().await;
        }
    }

    /// Shows the organization with settings of its own, and uses its rejection reasons for a role.
    async fn show_organization(&mut self, role: u64) {
        let settings = ["DE", "Europe/Berlin", "privacy@acme.example"];
        self.api.change_settings(tenant(ACME, Mode::Live), settings).await;
        self.send("GET /api/v1/organization", 0, Value::Null).await;
        self.use_rejection_reasons(role).await;
    }

    /// Adds a reason for withdrawals. Another candidate withdraws for it.
    async fn use_rejection_reasons(&mut self, role: u64) {
        self.send("GET /api/v1/rejection_reasons", 0, Value::Null).await;
        let (_, listed) = &self.successes["GET /api/v1/rejection_reasons"];
        let mut reasons = listed.body.clone();
        let new = json!({ "name": "The process took too long", "by": "candidate" });
        reasons["data"].as_array_mut().unwrap().push(new);
        self.send("PUT /api/v1/rejection_reasons", 0, reasons).await;
        let katherine =
            json!({ "name": "Katherine Johnson", "email": "katherine@example.com", "role_id": role });
        let katherine = self.api.post("/api/v1/candidates", katherine).await.expect(201).number("/id");
        let reason = json!({ "reason_id": 9 });
        self.send("POST /api/v1/candidates/{id}/withdraw", katherine, reason).await;
    }

    /// Runs the background tasks at this time.
    async fn run_tasks_at(&self, time: &str) {
        self.api.clock.set(time);
        self.api.run_tasks().await;
    }

    /// Adds a file to another candidate, and does everything with it.
    async fn manage_files(&mut self) {
        let dorothy = json!({ "name": "Dorothy Vaughan", "email": "dorothy@example.com" });
        let dorothy = self.api.post("/api/v1/candidates", dorothy).await.expect(201).number("/id");
        let letter = json!({
            "name": "Cover letter.txt",
            "kind": "cover_letter",
            "content": "RGVhciBBY21lLCBJIHByb2dyYW0gaW4gRk9SVFJBTi4=",
        });
        let file = self.send("POST /api/v1/candidates/{id}/files", dorothy, letter).await;
        self.send("GET /api/v1/candidates/{id}/files", dorothy, Value::Null).await;
        let path = format!("/api/v1/candidates/{dorothy}/files/{file}");
        self.send_to("GET /api/v1/candidates/{id}/files/{file_id}", &path, Value::Null).await;
        let complete = "POST /api/v1/candidates/{id}/files/{file_id}/complete";
        self.send_to(complete, &format!("{path}/complete"), Value::Null).await;
        self.send_to("DELETE /api/v1/candidates/{id}/files/{file_id}", &path, Value::Null).await;
        for (_, response) in self.successes.values_mut() {
            for pointer in ["/url", "/data/0/url"] {
                if let Some(url) = response.body.pointer_mut(pointer)
                    && url.as_str().is_some_and(|url| url.starts_with("http://127.0.0.1"))
                {
                    *url =
                        json!("https://rolecall-resumes.s3.eu-central-1.amazonaws.com/resumes/1/live/x.txt");
                }
            }
        }
    }

    /// Edits and deletes a candidate's note. Then manages files of another one.
    async fn delete_note(&mut self, candidate: u64, note: u64) {
        let path = format!("/api/v1/candidates/{candidate}/notes/{note}");
        let patch = json!({ "text": "Can start in February." });
        self.send_to("PATCH /api/v1/candidates/{id}/notes/{note_id}", &path, patch).await;
        self.send_to("DELETE /api/v1/candidates/{id}/notes/{note_id}", &path, Value::Null).await;
        self.manage_files().await;
    }

    /// The candidate applies again on the career page. Reads the submitted form.
    async fn apply_again(&mut self, candidate: u64) {
        let form = form("Grace Hopper", "grace@example.com").set("phone", "+1 415 555 0132");
        let form = form.set("note", "I have more experience now.").and("consent_recording", "yes");
        let sent = Browser::new(&self.api).submit("/careers/acme/data-analyst/apply", &form).await;
        assert_eq!(sent.status, 303, "{}", sent.text);
        let history = self.api.get(&format!("/api/v1/candidates/{candidate}/touchpoints?limit=1")).await;
        let id = history.number("/data/0/detail/submission_id");
        let path = format!("/api/v1/candidates/{candidate}/submissions/{id}");
        let key = "GET /api/v1/candidates/{id}/submissions/{submission_id}";
        self.send_to(key, &path, Value::Null).await;
    }

    /// Sends all requests.
    async fn run() -> Self {
        let mut session = Box::pin(Self::hire()).await;
        session.import_people().await;
        session.export_everything().await;
        session
    }

    /// Runs a short hiring process.
    async fn hire() -> Self {
        let mut session = Self { api: TestApi::new().await, successes: BTreeMap::new(), errors: Vec::new() };
        let none = || Value::Null;
        let engineer = json!({
            "role": {
                "title": "Senior Rust Engineer",
                "department": "Engineering",
                "description": "You build the service that our customers hire with.",
                "location": "Berlin",
                "country": "DE",
                "remote_policy": "hybrid",
                "employment_type": "full_time",
                "salary_min": 95_000,
                "salary_max": 125_000,
                "salary_currency": "EUR",
            },
            "job_posting": { "requirements": "Five years of Rust, or of something like it." },
        });
        let role = session.send("POST /api/v1/quick_post", 0, engineer).await;
        let posting = session.successes["POST /api/v1/quick_post"].1.number("/job_posting/id");
        let analyst = json!({ "title": "Data Analyst", "department": "Finance", "location": "Remote", "remote_policy": "remote" });
        let draft = session.send("POST /api/v1/roles", 0, analyst).await;
        let content = json!({ "role_id": draft, "job_posting": { "public_description": "Find out what the figures say." } });
        let draft_posting = session.send("POST /api/v1/job_postings", 0, content).await;
        let requirements = json!({ "requirements": "SQL.", "public_description": null });
        session.send("PATCH /api/v1/job_postings/{id}", draft_posting, requirements).await;
        session.send("POST /api/v1/job_postings/{id}/publish", draft_posting, none()).await;
        session.send("POST /api/v1/job_postings/{id}/unpublish", draft_posting, none()).await;
        let salary = json!({ "salary_min": 60_000, "location": null });
        session.send("PATCH /api/v1/roles/{id}", draft, salary).await;
        session.send("POST /api/v1/roles/{id}/publish", draft, json!({ "job_posting": true })).await;
        for step in ["POST /api/v1/roles/{id}/pause", "POST /api/v1/roles/{id}/resume"] {
            session.send(step, draft, none()).await;
        }
        let grace = json!({ "name": "Grace Hopper", "email": "grace@example.com", "phone": "+1 415 555 2671", "role_id": role });
        let candidate = session.send("POST /api/v1/candidates", 0, grace).await;
        let resume = json!({ "resume_url": "https://example.com/grace.pdf" });
        session.send("PATCH /api/v1/candidates/{id}", candidate, resume).await;
        let application = session
            .send("POST /api/v1/candidates/{id}/applications", candidate, json!({ "role_id": draft }))
            .await;
        session.record_consent(candidate).await;
        let screen = json!({ "role_id": role, "scheduled_at": "2026-11-23T14:00:00Z" });
        let screen = session.send("POST /api/v1/candidates/{id}/invite_screen", candidate, screen).await;
        session.run_tasks_at("2026-11-23T14:20:00.000Z").await;
        session
            .send("POST /api/v1/candidates/{id}/advance", candidate, json!({ "stage": "interview" }))
            .await;
        let note = json!({ "text": "Can start in January." });
        let note = session.send("POST /api/v1/candidates/{id}/notes", candidate, note).await;
        let rejection = json!({ "reason": "Salary", "notes": "Would come for more." });
        session.send("POST /api/v1/candidates/{id}/reject", candidate, rejection).await;
        session.send("POST /api/v1/candidates/{id}/unreject", candidate, json!({})).await;
        session
            .send("POST /api/v1/candidates/{id}/hire", candidate, json!({ "start_date": "2027-01-04" }))
            .await;
        session.send("POST /api/v1/candidates/{id}/unhire", candidate, json!({ "role_id": draft })).await;
        session.api.post(&format!("/api/v1/candidates/{candidate}/hire"), json!({})).await.expect(200);
        let post = json!({ "job_posting_id": posting, "style": "casual" });
        session.send("POST /api/v1/channels/x/post", 0, post).await;
        session.api.clock.set("2026-11-24T09:30:00Z");
        for (key, id, query) in [
            ("GET /api/v1/roles", 0, "?limit=1"),
            ("GET /api/v1/job_postings", 0, "?published=true"),
            ("GET /api/v1/candidates", 0, "?stage=hired"),
            ("GET /api/v1/candidates/{id}/touchpoints", candidate, "?limit=2"),
            ("GET /api/v1/applications", 0, "?status=hired"),
            ("GET /api/v1/voice_screens", 0, "?status=completed"),
            ("GET /api/v1/channels", 0, ""),
            ("GET /api/v1/channels/x/posts", 0, ""),
        ] {
            session.send_with(key, id, query, Value::Null).await;
        }
        let known = [
            ("roles", role),
            ("job_postings", posting),
            ("candidates", candidate),
            ("applications", application),
            ("voice_screens", screen),
        ];
        session.read_by_id(&known).await;
        session.show_organization(role).await;
        session.review_and_cancel_screens(screen, role).await;
        session.erase_candidate().await;
        session.delete_note(candidate, note).await;
        session.send("DELETE /api/v1/roles/{id}", draft, none()).await;
        session.send("POST /api/v1/roles/{id}/reopen", draft, none()).await;
        session.manage_webhook_endpoint().await;
        let mut exchanges = documents(&session.api).await;
        exchanges.extend(callbacks(&session.api, screen).await);
        exchanges.extend(oauth_requests(&session.api).await);
        for (key, request, response) in exchanges {
            if response.status < 300 {
                session.successes.insert(key, (request, response));
            } else {
                session.errors.push((key, response));
            }
        }
        session
    }

    fn contract(&self) -> Value {
        let error = |response: &Response| Refused {
            status: response.status,
            headers: response.headers.keys().map(|name| name.as_str().to_owned()).collect(),
            body: response.body.clone(),
        };
        let example = |key: &str, (request, response): &(Value, Response)| Example {
            request: request.clone(),
            response: if response.body.is_null() {
                response.text.as_str().into()
            } else {
                response.body.clone()
            },
            location: response.header("location").to_owned(),
            refusals: self
                .errors
                .iter()
                .filter(|(recorded, _)| *recorded == key)
                .map(|(_, response)| error(response))
                .collect(),
        };
        contract(&self.successes.iter().map(|(key, success)| (*key, example(key, success))).collect())
    }
}

/// The keys, request bodies and responses of operations without a scope.
type Exchanges = Vec<(&'static str, Value, Response)>;

async fn documents(api: &TestApi) -> Exchanges {
    let mut exchanges = Vec::new();
    let jobs = api.request(Method::GET, "/careers/acme/jobs.json").anonymous().send().await;
    let slug = jobs.string("/jobs/0/url").rsplit('/').next().unwrap().to_owned();
    for (key, organization) in [
        ("GET /.well-known/oauth-authorization-server", ""),
        ("GET /.well-known/oauth-protected-resource", ""),
        ("GET /.well-known/oauth-protected-resource/api/v1", ""),
        ("GET /.well-known/oauth-protected-resource/mcp", ""),
        ("GET /robots.txt", ""),
        ("GET /careers/{org}/jobs.json", "acme"),
        ("GET /careers/{org}/jobs.json", "nobody"),
        ("GET /careers/{org}/sitemap.xml", "acme"),
        ("GET /careers/{org}/sitemap.xml", "nobody"),
        ("GET /careers/{org}/feeds/indeed.xml", "acme"),
        ("GET /careers/{org}/feeds/indeed.xml", "nobody"),
        ("GET /careers/{org}/feeds/linkedin.xml", "acme"),
        ("GET /careers/{org}/feeds/linkedin.xml", "nobody"),
        ("GET /careers/{org}/{slug}/form.json", "acme"),
        ("GET /careers/{org}/{slug}/form.json", "nobody"),
        (DOCUMENT, ""),
    ] {
        let path = key.trim_start_matches("GET ").replace("{org}", organization).replace("{slug}", &slug);
        exchanges.push((key, Value::Null, api.request(Method::GET, &path).anonymous().send().await));
    }
    let call = json!({ "name": "list_roles", "arguments": {} });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call });
    exchanges.push(("POST /mcp", message.clone(), api.post("/mcp", message).await));
    exchanges
}

/// Sends voice provider callbacks.
async fn callbacks(api: &TestApi, screen: u64) -> Exchanges {
    const KEY: &str = "POST /webhooks/voice/{provider}";
    let reference =
        Reference { tenant: tenant(ACME, Mode::Live), screen: screen.to_string().parse().unwrap() };
    let call = json!({ "id": "call-1", "customer": { "externalId": reference.to_string() } });
    let callback = json!({ "message": { "type": "status-update", "status": "in-progress", "call": call } });
    let simulator = api.environment.providers.voice_provider(VoiceProvider::Simulator).unwrap();
    let secret = &simulator.webhook_secrets()[0];
    let now = api.environment.clock.now().as_second();
    let mut exchanges = Vec::new();
    for (provider, body, signed) in [
        ("simulator", callback.to_string(), callback.to_string()),
        ("simulator", "{}".to_owned(), "{}".to_owned()),
        ("simulator", callback.to_string(), "another".to_owned()),
        ("nobody", callback.to_string(), callback.to_string()),
        ("simulator", " ".repeat(3 * 1024 * 1024 + 1), " ".repeat(3 * 1024 * 1024 + 1)),
    ] {
        let request = api.request(Method::POST, &format!("/webhooks/voice/{provider}")).anonymous();
        let request = request.header("x-timestamp", &now.to_string());
        let request = request.header("x-signature", &voice::sign(secret, now, signed.as_bytes()));
        exchanges.push((KEY, callback.clone(), request.body("application/json", body).send().await));
    }
    exchanges
}

/// Registers an OAuth application, gets tokens and revokes them.
async fn oauth_requests(api: &TestApi) -> Exchanges {
    const REGISTER: &str = "POST /oauth/registrations";
    let mut exchanges = Vec::new();
    let metadata = json!({
        "client_name": "Assistant",
        "client_uri": "https://app.example",
        "redirect_uris": ["https://app.example/callback"],
        "token_endpoint_auth_method": "client_secret_post",
    });
    for (field, value) in [
        ("redirect_uris", metadata["redirect_uris"].clone()),
        ("redirect_uris", json!([])),
        ("token_endpoint_auth_method", json!("private_key_jwt")),
    ] {
        let mut metadata = metadata.clone();
        metadata[field] = value;
        exchanges.push((REGISTER, metadata.clone(), registration(api, &metadata).send().await));
    }
    let register = || registration(api, &metadata).from("192.0.2.1").send();
    for _ in 0..100 {
        register().await.expect(201);
    }
    exchanges.push((REGISTER, metadata.clone(), register().await));
    let (app, other) = (OAuthApp::register_with(api, &metadata).await, OAuthApp::register(api, "none").await);
    let secret = app.secret.clone().unwrap();
    let browser = Browser::with_session(api, ACME, &owner(api, ACME).await).await;
    let code = app.code(&browser, &app.authorization_request(), "live").await;
    let tokens = Tokens::of(&app.exchange(&code).await);
    let code = app.code(&browser, &app.authorization_request(), "live").await;
    let authenticated = |form: Form| form.and("client_id", &app.id).and("client_secret", &secret);
    let (exchange_form, refresh_form) =
        (OAuthApp::token_request(&code), OAuthApp::refresh_request(&tokens.refresh));
    let revocation = Form::new(&[("token", &tokens.access)]);
    for (key, form) in [
        ("POST /oauth/token", authenticated(refresh_form.clone().without("grant_type"))),
        ("POST /oauth/token", authenticated(refresh_form.clone()).set("client_secret", "guessed")),
        ("POST /oauth/token", authenticated(exchange_form.clone()).set("code", "guessed")),
        ("POST /oauth/token", authenticated(refresh_form.clone()).set("grant_type", "password")),
        ("POST /oauth/token", authenticated(refresh_form.and("scope", "everything"))),
        (
            "POST /oauth/token",
            authenticated(exchange_form.clone()).and("resource", "https://elsewhere.example"),
        ),
        ("POST /oauth/token", authenticated(exchange_form)),
        ("POST /oauth/revoke", authenticated(revocation.clone().without("token"))),
        ("POST /oauth/revoke", authenticated(revocation.clone()).set("client_secret", "guessed")),
        ("POST /oauth/revoke", revocation.clone().and("client_id", &other.id)),
        ("POST /oauth/revoke", authenticated(revocation)),
    ] {
        let fields: Value =
            form.names().into_iter().map(|name| (name.to_owned(), json!(form.get(name)))).collect();
        let request = api.request(Method::POST, key.trim_start_matches("POST ")).anonymous();
        let request = match form.get("client_secret") {
            "guessed" => {
                let form = form.without("client_id").without("client_secret");
                request.header("authorization", &basic_auth(&app.id, "guessed")).body(FORM, form.encoded())
            }
            _ => request.body(FORM, form.encoded()),
        };
        exchanges.push((key, fields, request.send().await));
    }
    exchanges
}

/// Returns the document's operations by route key.
fn operations(document: &Value) -> BTreeMap<String, &Value> {
    let mut operations = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            operations.insert(format!("{} {path}", method.to_uppercase()), operation);
        }
    }
    operations
}

/// Returns the target of a reference, or the value itself if it is not a reference.
fn resolved<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    match value["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => value,
    }
}

#[tokio::test]
async fn the_documents_are_current() {
    let session = Session::run().await;
    // Violations are expected if the current contract is out of date.
    session.api.contract_monitor.take_violations();
    let contract = session.contract();
    for (path, document) in [(WHOLE, &contract), (PUBLISHED, &published(&contract))] {
        assert_current(path, &(serde_json::to_string_pretty(document).unwrap() + "\n"));
    }
}

#[test]
fn the_operations_are_exactly_the_routes() {
    let routes = tables().into_iter().flat_map(|tables| tables.routes);
    let rows: BTreeSet<_> = routes.map(|route| route.key.to_owned()).collect();
    let operations = operations(&CONTRACT.document);
    assert_eq!(operations.keys().cloned().collect::<BTreeSet<_>>(), rows);
    let ids: BTreeSet<_> =
        operations.values().map(|operation| operation["operationId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), rows.len(), "operation ids are unique");
}

/// [`tests::contract`] checks the contents of the requests and responses.
#[tokio::test]
async fn every_operation_succeeds_with_its_documented_status() {
    let session = Session::run().await;
    let mut succeeded: BTreeSet<_> = session
        .successes
        .iter()
        .map(|(key, (_, response))| ((*key).to_owned(), response.status.to_string()))
        .collect();
    // The only operation with two statuses.
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let accepted = session.api.post("/mcp", notification).await;
    succeeded.insert(("POST /mcp".to_owned(), accepted.status.to_string()));
    let promised = operations(&CONTRACT.document).into_iter().flat_map(|(key, operation)| {
        let statuses =
            operation["responses"].as_object().unwrap().keys().filter(|status| status.starts_with('2'));
        statuses.map(|status| (key.clone(), status.clone())).collect::<Vec<_>>()
    });
    assert_eq!(succeeded, promised.collect());
}

#[test]
fn every_example_is_valid() {
    for contract in [&*CONTRACT, &*CLIENTS] {
        assert_examples_are_valid(contract);
    }
}

fn assert_examples_are_valid(contract: &Contract) {
    let document = &contract.document;
    let mut checked = 0;
    let mut places = vec![(String::new(), document)];
    while let Some((place, part)) = places.pop() {
        let names = part.as_object().into_iter().flatten();
        let items = part.as_array().into_iter().flatten().enumerate();
        let named = names.map(|(name, part)| (name.replace('~', "~0").replace('/', "~1"), part));
        let below = named.chain(items.map(|(index, part)| (index.to_string(), part)));
        places.extend(below.map(|(name, part)| (format!("{place}/{name}"), part)));
        if part.get("schema").is_none() {
            continue;
        }
        let several = part["examples"].as_object().into_iter().flat_map(serde_json::Map::values);
        let examples: Vec<_> =
            several.map(|example| &resolved(document, example)["value"]).chain(part.get("example")).collect();
        let is_body = place.contains("/content/");
        assert!(!examples.is_empty() || !is_body || place.contains("openapi.json"), "{place} has no example");
        for example in examples {
            assert_eq!(contract.mismatches(&format!("{place}/schema"), example), [""; 0], "{place}");
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked} examples");
}

/// Only an application names its role, and has answers.
#[test]
fn what_a_new_resource_may_have_can_be_changed() {
    let document = &CLIENTS.document;
    let fields = |schema: &str| -> BTreeSet<String> {
        let fields = document["components"]["schemas"][schema]["properties"].as_object().expect(schema);
        fields
            .keys()
            .filter(|field| schema != "CandidateInput" || !matches!(field.as_str(), "role_id" | "answers"))
            .cloned()
            .collect()
    };
    for (new, patch) in [
        ("JobPostingContent", "JobPostingPatch"),
        ("CandidateInput", "CandidatePatch"),
        ("RoleInput", "RolePatch"),
        ("WebhookEndpointInput", "WebhookEndpointPatch"),
    ] {
        let missing: Vec<_> = fields(new).difference(&fields(patch)).cloned().collect();
        assert!(missing.is_empty(), "{patch} lacks {missing:?}");
    }
}

#[test]
fn every_error_code_of_the_guide_is_documented() {
    let document = &CONTRACT.document;
    let guide = std::fs::read_to_string(project("functions/README.md")).unwrap();
    let (_, table) = guide.split_once("| Status | `code` | When |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let guide_codes: BTreeSet<_> = table
        .lines()
        .filter_map(|row| row.split('|').nth(2))
        .flat_map(|codes| codes.split('`').skip(1).step_by(2))
        .collect();
    let codes = |schema: &str| -> BTreeSet<_> {
        let codes = &document["components"]["schemas"][schema]["properties"]["code"]["enum"];
        codes.as_array().unwrap().iter().filter_map(Value::as_str).collect()
    };
    assert!(codes("Problem").is_disjoint(&codes("Invalid")), "the schemas share no codes");
    assert_eq!(&codes("Problem") | &codes("Invalid"), guide_codes);
    let document = &CLIENTS.document;
    let responses = operations(document)
        .into_values()
        .flat_map(|operation| operation["responses"].as_object().unwrap().values());
    // Each code begins a paragraph of the description.
    let response_codes: BTreeSet<_> = responses
        .flat_map(|response| resolved(document, response)["description"].as_str().unwrap().split("\n\n"))
        .filter_map(|paragraph| paragraph.strip_prefix('`')?.split_once("`: "))
        .map(|(code, _)| code)
        .collect();
    // Only methods without an operation return this code.
    assert_eq!(
        response_codes,
        guide_codes.into_iter().filter(|code| *code != "method_not_allowed").collect()
    );
}

#[tokio::test]
async fn the_document_has_the_url_of_the_service() {
    let mut api = TestApi::new().await;
    api.environment.config.base_url = Some("https://hiring.example/\"\\".to_owned());
    api.restart();
    let response = api.request(Method::GET, "/api/v1/openapi.json").anonymous().send().await.expect(200);
    assert_eq!(response.body["servers"][0]["url"], "https://hiring.example/\"\\");
    assert!(!response.text.contains(BASE_URL));
}

#[tokio::test]
async fn the_document_is_public() {
    let api = TestApi::new().await;
    let get = |path: &str| api.request(Method::GET, path).anonymous();
    let response = get("/api/v1/openapi.json").send().await.expect(200);
    assert_eq!(response.text, docs::DOCUMENT);
    assert_eq!(response.header("content-type"), "application/json");
    let tag = response.header("etag");
    for (condition, status) in
        [(tag, 304), (&format!("\"x\", W/{tag}"), 304), ("*", 304), ("\"x\"", 200), ("", 200)]
    {
        let again =
            get("/api/v1/openapi.json").header("if-none-match", condition).send().await.expect(status);
        assert_eq!(again.text.is_empty(), status == 304);
        assert_eq!((again.header("etag"), again.header("cache-control")), (tag, "public, max-age=30"));
    }
}
