//! Credentials that change people without the scope for reading them: nothing that they get shows a person's data.

use http::Method;
use rolecall_local::functions::tables;
use serde_json::{Value, json};
use shared::auth::Credential;
use shared::http::Access;
use shared::model::{Mode, Scope, Scopes};
use tests::{ACME, RequestBuilder, Response, TestApi, tenant};

use crate::access::new_key;

const CANDIDATES: &str = "/api/v1/candidates";

/// What only the stored data of people contains: a word in all of their texts, a phone number, and a first day of work.
const MARKS: [&str; 3] = [MARK, "15112345678", "2031-05-06"];
const MARK: &str = "quixotic";

/// A role, another one, and a number that tells people apart.
struct Scene<'a> {
    api: &'a TestApi,
    role: u64,
    other_role: u64,
    people: u64,
}

/// A change of a person: the path and the body of the request.
struct Change {
    path: String,
    body: Value,
}

/// The text `Hello`, as the content of a file.
const FILE: &str = "SGVsbG8=";

impl<'a> Scene<'a> {
    async fn new(api: &'a TestApi) -> Self {
        let role = async || {
            let posted = api.post("/api/v1/quick_post", json!({ "role": { "title": "Analyst" } })).await;
            posted.expect(201).number("/role/id")
        };
        Self { api, role: role().await, other_role: role().await, people: 0 }
    }

    /// A person whose data has the marks.
    fn person(&mut self) -> Value {
        self.people += 1;
        let of_person = format!("{MARK}{}", self.people);
        json!({
            "name": format!("Ada {of_person}"), "email": format!("{of_person}@{MARK}.example"),
            "phone": "+4915112345678", "resume_url": format!("https://{MARK}.example/resume.pdf"), "source": MARK,
            "tags": [MARK], "external_id": of_person, "role_id": self.role,
        })
    }

    async fn add_person(&mut self) -> u64 {
        let person = self.person();
        self.api.post(CANDIDATES, person).await.expect(201).number("/id")
    }

    async fn send(&self, method: Method, path: &str, body: Value) -> Response {
        let response = self.api.request(method, path).json(&body).send().await;
        assert!(response.status < 300, "{path}: {}", response.text);
        response
    }

    /// A change that this route can make, of a new person in the right state.
    async fn change(&mut self, route: &str) -> Change {
        let id = self.add_person().await;
        let (role, candidate) = (self.role, format!("{CANDIDATES}/{id}"));
        let body = match route {
            "POST /api/v1/candidates" => self.person(),
            "PATCH /api/v1/candidates/{id}" => json!({ "source": "agency" }),
            "POST /api/v1/candidates/{id}/notes" => json!({ "text": MARK }),
            "PATCH /api/v1/candidates/{id}/notes/{note_id}" => json!({ "text": format!("{MARK} again") }),
            "POST /api/v1/candidates/{id}/files" => json!({ "name": MARK, "content": FILE }),
            "POST /api/v1/candidates/{id}/consents" => json!({
                "purpose": "recording", "granted": false, "obtained_at": "2026-11-20T09:00:00Z", "wording": MARK,
            }),
            "POST /api/v1/candidates/{id}/advance" => json!({ "stage": "interview" }),
            "POST /api/v1/candidates/{id}/reject" => json!({ "reason": MARK, "notes": MARK }),
            "POST /api/v1/candidates/{id}/withdraw" => json!({ "reason": MARK }),
            "POST /api/v1/candidates/{id}/hire" => json!({ "start_date": "2031-05-06" }),
            "POST /api/v1/candidates/{id}/applications" => {
                json!({ "role_id": self.other_role, "source": MARK })
            }
            "POST /api/v1/candidates/{id}/invite_screen" => json!({ "role_id": role }),
            "PUT /api/v1/candidates/{id}/legal_hold" => json!({ "reason": "A lawsuit is pending." }),
            "POST /api/v1/voice_screens/{id}/review" => json!({ "decision": "confirmed" }),
            "DELETE /api/v1/candidates/{id}/notes/{note_id}"
            | "DELETE /api/v1/candidates/{id}/files/{file_id}"
            | "POST /api/v1/candidates/{id}/files/{file_id}/complete"
            | "POST /api/v1/candidates/{id}/unreject"
            | "POST /api/v1/candidates/{id}/unhire"
            | "POST /api/v1/candidates/{id}/erase"
            | "DELETE /api/v1/candidates/{id}/legal_hold"
            | "POST /api/v1/voice_screens/{id}/cancel" => json!({}),
            _ => panic!("{route} changes people: add a request to it"),
        };
        let before = match route.rsplit('/').next().unwrap_or_default() {
            "unreject" => Some((Method::POST, "reject", json!({ "reason": MARK }))),
            "unhire" => Some((Method::POST, "hire", json!({ "start_date": "2031-05-06" }))),
            "legal_hold" => Some((Method::PUT, "legal_hold", json!({ "reason": MARK }))),
            "{file_id}" | "complete" => {
                Some((Method::POST, "files", json!({ "name": MARK, "content": FILE })))
            }
            "{note_id}" => Some((Method::POST, "notes", json!({ "text": MARK }))),
            "cancel" => {
                let later = json!({ "role_id": role, "scheduled_at": "2026-12-01T09:00:00Z" });
                Some((Method::POST, "invite_screen", later))
            }
            "review" => Some((Method::POST, "invite_screen", json!({ "role_id": role }))),
            _ => None,
        };
        let made = match before {
            Some((method, path, body)) => self.send(method, &format!("{candidate}/{path}"), body).await,
            None => self.api.get(&candidate).await,
        };
        if route.ends_with("/review") {
            self.api.run_tasks().await;
        }
        let (_, path) = route.split_once(' ').unwrap();
        let made = made.body["id"].to_string();
        let id = if path.starts_with(CANDIDATES) { id.to_string() } else { made.clone() };
        Change {
            path: path.replace("{id}", &id).replace("{note_id}", &made).replace("{file_id}", &made),
            body,
        }
    }
}

/// The routes that change people, and the scopes that they need.
fn routes() -> Vec<(&'static str, Scopes)> {
    let routes = tables().into_iter().flat_map(|tables| tables.routes);
    let changing = Scopes::from([Scope::CandidatesWrite, Scope::CandidatesErase]);
    routes
        .filter_map(|route| match route.access() {
            Access::Scopes(scopes) if !scopes.within(changing).is_empty() => Some((route.key, scopes)),
            _ => None,
        })
        .collect()
}

pub(crate) async fn key_with(api: &TestApi, scopes: impl Into<Scopes>) -> Credential {
    let scopes = scopes.into();
    let number = 500 + scopes.iter().fold(0, |number, scope| number | 1 << scope as u64);
    let acme = tenant(ACME, Mode::Live);
    new_key(api, acme, number, scopes, None).await
}

/// Asserts that neither the body nor a header has a mark.
#[track_caller]
fn assert_no_marks(response: &Response) {
    let shown = format!("{} {:?}", response.text, response.headers).to_lowercase();
    for mark in MARKS {
        assert!(!shown.contains(mark), "{mark} in {}", response.text);
    }
}

fn has_marks(response: &Response) -> bool {
    MARKS.iter().any(|mark| response.text.contains(mark))
}

/// Each route answers a key that has only its scopes, also when the request is repeated. The monitor of the contract checks
/// that the response is the documented one for such a key.
#[tokio::test]
async fn no_response_to_a_change_shows_a_person_without_the_scope_for_reading() {
    let api = TestApi::new().await;
    let mut scene = Scene::new(&api).await;
    let (mut whole, mut keys) = (0, Vec::<(Scopes, Credential)>::new());
    for (route, scopes) in routes() {
        assert!(!scopes.contains(Scope::CandidatesRead), "{route}");
        if !keys.iter().any(|(known, _)| *known == scopes) {
            keys.push((scopes, key_with(&api, scopes).await));
        }
        let writer = &keys.iter().find(|(known, _)| *known == scopes).unwrap().1;
        let (method, _) = route.split_once(' ').unwrap();
        let send = async |change: &Change, reader: bool, repeated: &str| {
            let mut request = api.request(method.parse().unwrap(), &change.path);
            if !reader {
                request = request.bearer(writer.reveal());
            }
            if method == "POST" {
                request = request.header("idempotency-key", &format!("{repeated} {route}").replace(' ', "-"));
            }
            let mut response =
                if method == "DELETE" { request } else { request.json(&change.body) }.send().await;
            if scopes.contains(Scope::VoiceScreensRead) {
                // The summary of a screen has the candidate's name, and this scope shows it.
                response.body["summary"].take();
                response.text = response.body.to_string();
            }
            response
        };
        let mut change = scene.change(route).await;
        if route.starts_with("PATCH ") && route.ends_with("/{note_id}") {
            // Only its author edits a note.
            let notes = change.path.rsplit_once('/').unwrap().0.to_owned();
            let made = api.request(Method::POST, &notes).bearer(writer.reveal());
            let made = made.json(&json!({ "text": MARK })).send().await.expect(201);
            change.path = format!("{notes}/{}", made.number("/id"));
        }
        let first = send(&change, false, "writer").await;
        assert!(first.status < 300, "{route}: {}", first.text);
        assert_no_marks(&first);
        if method == "POST" {
            let again = send(&change, false, "writer").await;
            assert_no_marks(&again);
            if !route.ends_with("/erase") {
                assert_eq!((again.status, &again.text), (first.status, &first.text), "{route}");
                assert_eq!(again.header("idempotency-replayed"), "true", "{route}");
                let other = send(&change, true, "writer").await.expect(422);
                assert_eq!(other.string("/code"), "idempotency_mismatch", "{route}");
            }
        }
        // The same change by somebody who may read people.
        let change = scene.change(route).await;
        let shown = send(&change, true, "reader").await;
        assert!(shown.status < 300, "{route}: {}", shown.text);
        whole += usize::from(has_marks(&shown));
        if method == "POST" && !route.ends_with("/erase") {
            let repeated = send(&change, false, "reader").await.expect(422);
            assert_eq!(repeated.string("/code"), "idempotency_mismatch", "{route}");
            assert_no_marks(&repeated);
        }
    }
    assert!(whole >= 11, "only {whole} routes show people to those who may read them");
}

#[tokio::test]
async fn a_writer_sees_identifiers_states_and_times() {
    let api = TestApi::new().await;
    let mut scene = Scene::new(&api).await;
    let writer = key_with(&api, Scope::CandidatesWrite).await;
    let post = async |path: &str, body: Value| {
        let request = api.request(Method::POST, path).bearer(writer.reveal());
        request.json(&body).send().await.expect(if path.ends_with("/advance") { 200 } else { 201 })
    };
    let now = "2026-11-20T09:30:00.000Z";
    let created = post(CANDIDATES, scene.person()).await;
    let id = created.number("/id");
    let reference = json!({ "id": id, "stage": "applied", "created_at": now, "updated_at": now });
    assert_eq!(created.body, reference);
    let path = format!("{CANDIDATES}/{id}");
    assert!(created.header("location").ends_with(&path));

    api.clock.set("2026-11-20T10:00:00Z");
    let later = "2026-11-20T10:00:00.000Z";
    let applied = post(&format!("{path}/applications"), json!({ "role_id": scene.other_role })).await;
    let application = json!({
        "id": applied.number("/id"), "candidate_id": id, "role_id": scene.other_role, "stage": "applied",
        "status": "active", "applied_at": later, "reapplied_at": null, "stage_changed_at": later,
        "created_at": later, "updated_at": later,
    });
    assert_eq!(applied.body, application);
    let move_it = json!({ "stage": "offer", "role_id": scene.other_role });
    let moved = post(&format!("{path}/advance"), move_it).await;
    let mut expected = json!({ "id": id, "stage": "offer", "created_at": now, "updated_at": later });
    expected["applications"] = json!([application]);
    expected["applications"][0]["stage"] = "offer".into();
    assert_eq!(moved.body, expected);
    let note = post(&format!("{path}/notes"), json!({ "text": MARK })).await;
    assert_eq!(
        note.body,
        json!({ "id": note.number("/id"), "candidate_id": id, "created_at": later, "updated_at": null })
    );
    let consent = json!({ "purpose": "recording", "granted": true, "obtained_at": now, "wording": MARK });
    let consent = post(&format!("{path}/consents"), consent).await;
    let expected = json!({
        "id": consent.number("/id"), "candidate_id": id, "obtained_at": now, "created_at": later,
    });
    assert_eq!(consent.body, expected);
    // What was written is there for those who may read it.
    let detail = api.get(&path).await.expect(200);
    assert!(has_marks(&detail) && detail.string("/stage") == "offer");
}

/// The entity tag of a reference belongs to the reference: it tells nothing about the data, and protects from lost updates.
#[tokio::test]
async fn a_writer_changes_the_version_that_it_knows() {
    let api = TestApi::new().await;
    let mut scene = Scene::new(&api).await;
    let writer = key_with(&api, Scope::CandidatesWrite).await;
    let patch = |path: &str, tag: &str, body: Value| {
        let request: RequestBuilder<'_> = api.request(Method::PATCH, path).bearer(writer.reveal());
        request.header("if-match", tag).json(&body).send()
    };
    let created = api.request(Method::POST, CANDIDATES).bearer(writer.reveal()).json(&scene.person()).send();
    let created = created.await.expect(201);
    let path = format!("{CANDIDATES}/{}", created.number("/id"));
    let whole = api.get(&path).await.expect(200);
    let unchanged = patch(&path, created.header("etag"), json!({})).await.expect(200);
    assert_eq!((&unchanged.body, unchanged.header("etag")), (&created.body, created.header("etag")));
    let of_reader = api.patch(&path, json!({})).await.expect(200);
    assert_ne!(of_reader.header("etag"), created.header("etag"));
    for foreign in [whole.header("etag"), of_reader.header("etag")] {
        let refused = patch(&path, foreign, json!({ "source": "agency" })).await.expect(412);
        assert_no_marks(&refused);
    }
    api.clock.set("2026-11-20T10:00:00Z");
    let changed = patch(&path, created.header("etag"), json!({ "source": "agency" })).await.expect(200);
    assert_ne!(changed.header("etag"), created.header("etag"));
    let late = patch(&path, created.header("etag"), json!({ "source": null })).await.expect(412);
    assert_no_marks(&late);
    assert_eq!(api.get(&path).await.expect(200).string("/source"), "agency");
}

#[tokio::test]
async fn no_error_shows_a_person_to_a_writer() {
    let api = TestApi::new().await;
    let mut scene = Scene::new(&api).await;
    let writer = key_with(&api, [Scope::CandidatesWrite, Scope::CandidatesErase]).await;
    let id = scene.add_person().await;
    let path = format!("{CANDIDATES}/{id}");
    let taken = |field: &str, value: &str| {
        let mut body = json!({ "name": "Grace", "email": "grace@example.com" });
        body[field] = value.into();
        body
    };
    let email = format!("{MARK}1@{MARK}.example");
    let refused = async |path: &str, body: Value, status: u16, code: &str| {
        let request = api.request(Method::POST, path).bearer(writer.reveal());
        let response = request.json(&body).send().await.expect(status);
        assert_eq!(response.string("/code"), code, "{path}");
        assert_no_marks(&response);
        response
    };
    for body in [taken("email", &email), taken("external_id", &format!("{MARK}1"))] {
        let duplicate = refused(CANDIDATES, body, 422, "duplicate").await;
        assert_eq!(duplicate.body["existing"], json!({ "type": "candidate", "id": id }));
    }
    refused(&format!("{path}/applications"), json!({ "role_id": scene.role }), 422, "duplicate").await;
    refused(&format!("{path}/unreject"), json!({}), 422, "invalid_transition").await;
    refused(&format!("{path}/advance"), json!({}), 422, "validation_failed").await;
    scene.send(Method::PUT, &format!("{path}/legal_hold"), json!({ "reason": MARK })).await;
    refused(&format!("{path}/erase"), json!({}), 409, "legal_hold").await;
    api.delete(&format!("{path}/legal_hold")).await.expect(200);
    api.post(&format!("{path}/erase"), json!({})).await.expect(202);
    refused(&format!("{path}/notes"), json!({ "text": "x" }), 410, "erased").await;
    api.request(Method::GET, &path).bearer(writer.reveal()).send().await.expect(403);
}

/// Whoever reads the change feed learns that a screen took place, but not how it went.
#[tokio::test]
async fn no_event_shows_the_result_of_a_screen() {
    let api = TestApi::new().await;
    let mut scene = Scene::new(&api).await;
    let id = scene.add_person().await;
    let invite = format!("{CANDIDATES}/{id}/invite_screen");
    let screen = api.post(&invite, json!({ "role_id": scene.role })).await.expect(201).number("/id");
    api.run_tasks().await;
    let result = api.get(&format!("/api/v1/voice_screens/{screen}")).await.expect(200).body["result"].clone();
    assert!(result.is_string());
    api.run_feed().await;
    let reader = key_with(&api, Scope::EventsRead).await;
    let feed = api.request(Method::GET, "/api/v1/events?limit=1000").bearer(reader.reveal()).send();
    let feed = feed.await.expect(200);
    let completed = feed.body["data"].as_array().unwrap().iter();
    let completed: Vec<_> = completed.filter(|event| event["type"] == "screen.completed").collect();
    assert_eq!(completed.len(), 1);
    let expected = json!({
        "candidate_id": id, "role_id": scene.role, "from": "in_progress", "to": "completed",
    });
    assert_eq!(completed[0]["data"], expected);
}
