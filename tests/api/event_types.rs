//! Which events of the change feed a request to each route makes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rolecall_local::functions::{Tables, tables};
use serde_json::{Value, json};
use shared::id::Ids;
use shared::model::EventType::{self, *};
use shared::model::{AuditActor, Mode, Plan};
use shared::random::Random;
use shared::store::AuditOrigin;
use tests::browser::Browser;
use tests::dashboard::owner;
use tests::fake::{FakeResponse, FakeServer};
use tests::{ACME, Fixtures, TestApi, project, tenant};

use super::careers_applications::{Job, form};
use super::events::event_types_by_route;
use super::fake_x::{POST, connected, problem};
use super::vapi;
use super::voice_screens::Client;
use super::voice_webhook::{callback, conversation, deliver};
use super::x_posts::{live_posting, post};

/// The events of a successful request to a route.
enum Outcome {
    /// The sample request makes these.
    Makes(&'static [EventType]),
    /// This test shows that a request makes these. The sample request makes none of them.
    Shown(&'static [EventType], &'static str),
    /// The sample request makes none, for this reason.
    Nothing(&'static str),
}

use Outcome::{Makes, Nothing, Shown};

/// The outcome for each route that changes something. A new route needs one, too.
const OUTCOMES: &[(&str, Outcome)] = &[
    ("DELETE /api/v1/candidates/{id}/legal_hold", Makes(&[CandidateLegalHoldLifted])),
    ("DELETE /api/v1/candidates/{id}/notes/{note_id}", Makes(&[NoteDeleted])),
    ("DELETE /api/v1/roles/{id}", Makes(&[RoleClosed])),
    ("DELETE /api/v1/webhook_endpoints/{id}", Makes(&[WebhookEndpointDeleted])),
    (
        "GET /dashboard/settings/integrations/channels/x/callback",
        Shown(&[ConnectionCreated], "dashboard_channels::an_x_account_is_connected_used_and_disconnected"),
    ),
    ("PATCH /api/v1/candidates/{id}", Makes(&[CandidateUpdated])),
    ("PATCH /api/v1/job_postings/{id}", Makes(&[PostingUpdated])),
    ("PATCH /api/v1/roles/{id}", Makes(&[RoleUpdated])),
    ("PATCH /api/v1/webhook_endpoints/{id}", Makes(&[WebhookEndpointUpdated])),
    ("POST /api/v1/candidates", Makes(&[ApplicationCreated, CandidateCreated])),
    ("POST /api/v1/candidates/{id}/advance", Makes(&[CandidateStageChanged])),
    ("POST /api/v1/candidates/{id}/applications", Makes(&[ApplicationCreated])),
    ("POST /api/v1/candidates/{id}/consents", Makes(&[CandidateConsentRecorded])),
    ("POST /api/v1/candidates/{id}/erase", Makes(&[CandidateErased])),
    ("POST /api/v1/candidates/{id}/hire", Makes(&[CandidateStageChanged])),
    ("POST /api/v1/candidates/{id}/invite_screen", Makes(&[CandidateStageChanged, ScreenCreated])),
    ("POST /api/v1/candidates/{id}/notes", Makes(&[NoteCreated])),
    ("POST /api/v1/candidates/{id}/reject", Makes(&[CandidateStageChanged])),
    ("POST /api/v1/candidates/{id}/unhire", Makes(&[CandidateStageChanged])),
    ("POST /api/v1/candidates/{id}/unreject", Makes(&[CandidateStageChanged])),
    ("POST /api/v1/channels/x/post", Makes(&[PostPublished])),
    ("POST /api/v1/job_postings", Makes(&[PostingCreated, RoleUpdated])),
    ("POST /api/v1/job_postings/{id}/publish", Makes(&[PostingPublished])),
    ("POST /api/v1/job_postings/{id}/unpublish", Makes(&[PostingUnpublished])),
    ("POST /api/v1/quick_post", Makes(&[PostingCreated, RoleCreated])),
    ("POST /api/v1/roles", Makes(&[RoleCreated])),
    ("POST /api/v1/roles/{id}/pause", Makes(&[RolePaused])),
    ("POST /api/v1/roles/{id}/publish", Makes(&[PostingPublished, RolePublished])),
    ("POST /api/v1/roles/{id}/reopen", Makes(&[RoleReopened])),
    ("POST /api/v1/roles/{id}/resume", Makes(&[RoleResumed])),
    ("POST /api/v1/voice_screens/{id}/cancel", Makes(&[ScreenCancelled])),
    ("POST /api/v1/webhook_endpoints", Makes(&[WebhookEndpointCreated])),
    (
        "POST /api/v1/webhook_endpoints/{id}/deliveries/{delivery_id}/redeliver",
        Nothing("deliveries are no events"),
    ),
    (
        "POST /api/v1/webhook_endpoints/{id}/ping",
        Shown(
            &[WebhookEndpointPinged],
            "webhooks::a_ping_has_its_own_id_and_one_attempt_and_a_delivery_can_be_repeated",
        ),
    ),
    ("POST /api/v1/webhook_endpoints/{id}/replay", Nothing("deliveries are no events")),
    ("POST /api/v1/webhook_endpoints/{id}/rotate_secret", Makes(&[WebhookEndpointSecretRotated])),
    (
        "POST /careers/{org}/{slug}/apply",
        Makes(&[ApplicationCreated, CandidateConsentRecorded, CandidateCreated]),
    ),
    ("POST /dashboard/candidates/new", Makes(&[CandidateCreated])),
    (
        "POST /dashboard/candidates/suspects",
        Makes(&[ApplicationCreated, CandidateConsentRecorded, CandidateCreated]),
    ),
    ("POST /dashboard/candidates/{id}/applications", Makes(&[ApplicationCreated])),
    ("POST /dashboard/candidates/{id}/consents", Makes(&[CandidateConsentRecorded])),
    ("POST /dashboard/candidates/{id}/edit", Makes(&[CandidateUpdated])),
    ("POST /dashboard/candidates/{id}/erase", Makes(&[CandidateErased])),
    ("POST /dashboard/candidates/{id}/invite", Makes(&[CandidateStageChanged, ScreenCreated])),
    ("POST /dashboard/candidates/{id}/legal-hold", Makes(&[CandidateLegalHoldSet])),
    ("POST /dashboard/candidates/{id}/move", Makes(&[CandidateStageChanged])),
    ("POST /dashboard/candidates/{id}/notes", Makes(&[NoteCreated])),
    ("POST /dashboard/candidates/{id}/notes/{note_id}/delete", Makes(&[NoteDeleted])),
    (
        "POST /dashboard/candidates/{id}/offer",
        Makes(&[ApplicationUpdated, CandidateConsentRecorded, CandidateUpdated]),
    ),
    ("POST /dashboard/confirm", Nothing("a fresh sign-in changes a session")),
    ("POST /dashboard/confirmations/{call}", Nothing("the assistant's call that follows makes the events")),
    ("POST /dashboard/mode", Nothing("the choice of a mode is in a cookie")),
    ("POST /dashboard/password", Makes(&[MemberJoined])),
    ("POST /dashboard/postings/{id}/status", Makes(&[PostingUnpublished])),
    ("POST /dashboard/postings/{id}/x", Makes(&[PostPublished])),
    ("POST /dashboard/quick-post", Makes(&[PostingCreated, RoleCreated])),
    ("POST /dashboard/roles/{id}/bulk", Makes(&[ApplicationStageChanged, CandidateStageChanged])),
    ("POST /dashboard/roles/{id}/edit", Shown(&[RoleUpdated], "event_types::an_edited_role_makes_an_event")),
    ("POST /dashboard/roles/{id}/move", Makes(&[ApplicationStageChanged, CandidateStageChanged])),
    ("POST /dashboard/roles/{id}/posting", Makes(&[PostingUpdated])),
    ("POST /dashboard/roles/{id}/status", Makes(&[RolePaused])),
    ("POST /dashboard/screens/{id}/cancel", Makes(&[ScreenCancelled])),
    ("POST /dashboard/second-factor", Nothing("sessions are no events")),
    ("POST /dashboard/settings/account/notices", Nothing("notices are copies of acts in the audit log")),
    ("POST /dashboard/settings/account/passkeys", Nothing("credentials of members are in the audit log")),
    (
        "POST /dashboard/settings/account/passkeys/{id}/remove",
        Nothing("credentials of members are in the audit log"),
    ),
    ("POST /dashboard/settings/account/password", Nothing("credentials of members are in the audit log")),
    (
        "POST /dashboard/settings/account/second-factor",
        Nothing("credentials of members are in the audit log"),
    ),
    (
        "POST /dashboard/settings/account/second-factor/recovery-codes",
        Nothing("credentials of members are in the audit log"),
    ),
    (
        "POST /dashboard/settings/account/second-factor/remove",
        Nothing("credentials of members are in the audit log"),
    ),
    ("POST /dashboard/settings/account/sessions/end", Nothing("sessions are no events")),
    ("POST /dashboard/settings/account/sessions/end-others", Nothing("sessions are no events")),
    ("POST /dashboard/settings/account/time-zone", Makes(&[MemberUpdated])),
    ("POST /dashboard/settings/application-limits", Makes(&[SettingsChanged])),
    ("POST /dashboard/settings/career-page", Makes(&[SettingsChanged])),
    ("POST /dashboard/settings/career-page/logo", Makes(&[SettingsChanged])),
    ("POST /dashboard/settings/integrations/api-keys", Makes(&[ApiKeyCreated])),
    ("POST /dashboard/settings/integrations/api-keys/{id}/revoke", Makes(&[ApiKeyRevoked])),
    ("POST /dashboard/settings/integrations/api-keys/{id}/rotate", Makes(&[ApiKeyCreated, ApiKeyUpdated])),
    ("POST /dashboard/settings/integrations/channels/voice", Makes(&[SettingsChanged])),
    ("POST /dashboard/settings/integrations/channels/whatsapp/connect", Makes(&[ConnectionCreated])),
    ("POST /dashboard/settings/integrations/channels/whatsapp/disconnect", Makes(&[ConnectionDeleted])),
    (
        "POST /dashboard/settings/integrations/channels/x/connect",
        Nothing("the way back from X connects the account"),
    ),
    ("POST /dashboard/settings/integrations/channels/x/disconnect", Makes(&[ConnectionDeleted])),
    (
        "POST /dashboard/settings/integrations/connected-apps/{id}/narrow",
        Nothing("connected applications are in the audit log"),
    ),
    (
        "POST /dashboard/settings/integrations/connected-apps/{id}/revoke",
        Nothing("connected applications are in the audit log"),
    ),
    ("POST /dashboard/settings/members", Makes(&[MemberInvited])),
    ("POST /dashboard/settings/members/second-factor", Makes(&[SettingsChanged])),
    ("POST /dashboard/settings/members/{id}/link", Nothing("a link changes nothing until it is used")),
    ("POST /dashboard/settings/members/{id}/remove", Makes(&[MemberRemoved])),
    ("POST /dashboard/settings/members/{id}/role", Makes(&[MemberRoleChanged])),
    (
        "POST /dashboard/settings/members/{id}/second-factor",
        Nothing("credentials of members are in the audit log"),
    ),
    ("POST /dashboard/settings/organization", Makes(&[SettingsChanged])),
    ("POST /dashboard/settings/privacy", Makes(&[SettingsChanged])),
    ("POST /dashboard/settings/retention", Makes(&[SettingsChanged])),
    ("POST /dashboard/sign-in", Nothing("sessions are no events")),
    ("POST /dashboard/sign-in/passkey", Nothing("sessions are no events")),
    ("POST /dashboard/sign-out", Nothing("sessions are no events")),
    ("POST /dashboard/sign-out-everywhere", Nothing("sessions are no events")),
    ("POST /dashboard/webhooks", Makes(&[WebhookEndpointCreated])),
    ("POST /dashboard/webhooks/{id}", Makes(&[WebhookEndpointUpdated])),
    ("POST /dashboard/webhooks/{id}/delete", Makes(&[WebhookEndpointDeleted])),
    ("POST /dashboard/webhooks/{id}/deliveries/{delivery_id}/redeliver", Nothing("deliveries are no events")),
    ("POST /dashboard/webhooks/{id}/ping", Nothing("a ping is delivered, but not in the feed")),
    ("POST /dashboard/webhooks/{id}/replay", Nothing("deliveries are no events")),
    ("POST /dashboard/webhooks/{id}/rotate", Makes(&[WebhookEndpointSecretRotated])),
    ("POST /mcp", Nothing("the sample call reads; calls that write make the events of the API's routes")),
    ("POST /oauth/authorize", Nothing("connected applications are in the audit log")),
    ("POST /oauth/registrations", Nothing("a client belongs to no organization")),
    ("POST /oauth/revoke", Nothing("connected applications are in the audit log")),
    ("POST /oauth/token", Nothing("tokens are no events")),
    ("POST /webhooks/voice/{provider}", Makes(&[ScreenStarted])),
    ("PUT /api/v1/candidates/{id}/legal_hold", Makes(&[CandidateLegalHoldSet])),
];

/// What no sample request makes, what does, and the test that shows it.
const ELSEWHERE: &[(EventType, &str, &str)] = &[
    (
        ApplicationClosed,
        "a task, after its role was closed",
        "event_types::what_jobs_providers_and_operators_do_makes_events",
    ),
    (
        ApplicationReopened,
        "a task, after its role was reopened",
        "event_types::what_jobs_providers_and_operators_do_makes_events",
    ),
    (
        ApplicationResubmitted,
        "a form on the career page",
        "event_types::what_jobs_providers_and_operators_do_makes_events",
    ),
    (
        ApplicationScored,
        "the report of a call",
        "event_types::what_jobs_providers_and_operators_do_makes_events",
    ),
    (
        ScreenUpdated,
        "a call that the provider did not take",
        "event_types::what_jobs_providers_and_operators_do_makes_events",
    ),
    (
        ScreenCompleted,
        "the report of a call",
        "event_types::what_jobs_providers_and_operators_do_makes_events",
    ),
    (
        ScreenUnanswered,
        "the report of a call",
        "event_types::what_jobs_providers_and_operators_do_makes_events",
    ),
    (ScreenFailed, "the report of a call", "event_types::what_jobs_providers_and_operators_do_makes_events"),
    (
        ScreenDeclined,
        "the report of a call",
        "event_types::what_jobs_providers_and_operators_do_makes_events",
    ),
    (
        PostCreated,
        "a post that a real account on X has not confirmed",
        "event_types::what_jobs_providers_and_operators_do_makes_events",
    ),
    (PostDeleted, "a post that X refused", "event_types::what_jobs_providers_and_operators_do_makes_events"),
    (
        ConnectionUpdated,
        "X no longer accepts the tokens",
        "event_types::what_jobs_providers_and_operators_do_makes_events",
    ),
    (
        WebhookEndpointEnabled,
        "a change of the status",
        "event_types::what_jobs_providers_and_operators_do_makes_events",
    ),
    (
        WebhookEndpointDisabled,
        "a change of the status, an answer 410, or failures for five days",
        "event_types::what_jobs_providers_and_operators_do_makes_events",
    ),
    (
        OrganizationPlanChanged,
        "an operator",
        "event_types::what_jobs_providers_and_operators_do_makes_events",
    ),
    (OrganizationSuspended, "an operator", "event_types::what_jobs_providers_and_operators_do_makes_events"),
    (OrganizationResumed, "an operator", "event_types::what_jobs_providers_and_operators_do_makes_events"),
];

/// Requests that change something, or whose sample request makes events.
#[test]
fn every_route_that_writes_has_an_outcome() {
    let writes = |key: &str| !["GET ", "OPTIONS ", "$default"].iter().any(|start| key.starts_with(start));
    let rows = tables().into_iter().flat_map(Tables::rows);
    let routes: BTreeSet<_> = rows.map(|route| route.key).collect();
    let known: Vec<_> = OUTCOMES.iter().map(|(key, _)| *key).collect();
    assert!(known.is_sorted(), "by their keys");
    let known: BTreeSet<_> = known.into_iter().collect();
    assert_eq!(known.difference(&routes).collect::<Vec<_>>(), Vec::<&&str>::new(), "no such routes");
    let missing: Vec<_> = routes.difference(&known).filter(|key| writes(key)).collect();
    assert!(
        missing.is_empty(),
        "add the events of these routes to OUTCOMES in tests/api/event_routes.rs: {missing:?}"
    );
}

#[test]
fn every_type_of_event_is_made_by_a_request_or_has_another_origin() {
    let mut made = BTreeMap::new();
    for (key, outcome) in OUTCOMES {
        let (types, test) = match outcome {
            Makes(types) => (*types, None),
            Shown(types, test) => (*types, Some(*test)),
            Nothing(reason) => {
                assert!(reason.len() > 10, "{key}: say why");
                continue;
            }
        };
        assert!(!types.is_empty(), "{key}");
        made.extend(types.iter().map(|kind| (kind.as_str(), test)));
    }
    for (kind, _, test) in ELSEWHERE {
        assert!(made.insert(kind.as_str(), Some(test)).is_none(), "{} is made by a request", kind.as_str());
    }
    let all: BTreeSet<_> = EventType::ALL.iter().map(|kind| kind.as_str()).collect();
    let made_types: BTreeSet<_> = made.keys().copied().collect();
    assert_eq!(made_types, all, "change OUTCOMES or ELSEWHERE in tests/api/event_routes.rs");
    for test in made.into_values().flatten() {
        let (module, name) = test.split_once("::").unwrap();
        let code = std::fs::read_to_string(project(&format!("tests/api/{module}.rs"))).unwrap();
        assert!(code.contains(&format!("fn {name}()")), "there is no test {test}");
    }
}

#[tokio::test]
async fn the_sample_requests_make_exactly_these_events() {
    let made = event_types_by_route().await;
    let mut differences = Vec::new();
    for (key, types) in &made {
        let outcome = OUTCOMES.iter().find(|(known, _)| known == key).map(|(_, outcome)| outcome);
        let expected: BTreeSet<_> = match outcome {
            Some(Makes(types)) => types.iter().map(|kind| kind.as_str()).collect(),
            Some(Shown(..) | Nothing(_)) | None => BTreeSet::new(),
        };
        if *types != expected {
            differences.push(format!("{key}: {types:?}, not {expected:?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    let unplayed = OUTCOMES.iter().filter(|(key, _)| !made.contains_key(*key)).map(|(key, _)| *key);
    assert_eq!(unplayed.collect::<Vec<_>>(), Vec::<&str>::new(), "there is no sample request");
}

/// The types of the events in Acme's live feed.
async fn types(api: &TestApi) -> BTreeSet<String> {
    api.run_feed().await;
    let listed = api.get("/api/v1/events?limit=1000").await.expect(200);
    let events = listed.body["data"].as_array().unwrap().iter();
    events.map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

/// The sample request leaves the role as it is.
#[tokio::test]
async fn an_edited_role_makes_an_event() {
    let api = TestApi::new().await;
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    browser.csrf().await;
    browser.post(&format!("/dashboard/roles/{role}/edit"), &[("title", "Waiter")]).await.expect(303);
    assert!(types(&api).await.contains("role.updated"));
}

#[tokio::test]
async fn what_jobs_providers_and_operators_do_makes_events() {
    let mut made = BTreeSet::new();
    // Jobs, the administration, and changes of a status.
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    for _ in 0..2 {
        job.apply(&api, &form("Ada", "ada@example.com")).await.expect(303);
    }
    let Fixtures { role, .. } = Fixtures::new(&api).await;
    api.delete(&format!("/api/v1/roles/{role}")).await.expect(200);
    api.run_tasks().await;
    api.post(&format!("/api/v1/roles/{role}/reopen"), json!({})).await.expect(200);
    api.run_tasks().await;
    let new = json!({ "url": "https://hooks.example.com/" });
    let endpoint = api.post("/api/v1/webhook_endpoints", new).await.expect(201).number("/id");
    for status in ["disabled", "enabled"] {
        let path = format!("/api/v1/webhook_endpoints/{endpoint}");
        api.patch(&path, json!({ "status": status })).await.expect(200);
    }
    let (organization, now) = (tenant(ACME, Mode::Live).organization, api.environment.clock.now());
    let clock = api.environment.clock.clone();
    let ids = Ids::new(clock.clone(), Random::seeded(7));
    let origin = AuditOrigin::inside(AuditActor::operator(), clock, ids);
    let operator = api.store().clone().with_origin(Arc::new(origin));
    operator.set_plan(organization, Plan::Free).await.unwrap();
    for suspended in [true, false] {
        operator.set_suspended(organization, suspended, now).await.unwrap();
    }
    made.extend(types(&api).await);
    // Calls.
    let vapi = FakeServer::start(|_| FakeResponse::Json(500, json!({}))).await;
    let api = TestApi::with_services(vapi::services(&vapi.url)).await;
    let client = Client::live(&api);
    let mut declined = conversation(84);
    declined["endedReason"] = json!("assistant-said-end-call-phrase");
    declined["artifact"]["structuredOutputs"] = Value::Null;
    for report in [
        conversation(84),
        json!({ "endedReason": "customer-busy" }),
        json!({ "endedReason": "twilio-failed" }),
        declined,
    ] {
        let (role, candidate) = (client.role().await, client.candidate().await);
        client
            .post(&format!("candidates/{candidate}/applications"), json!({ "role_id": role }))
            .await
            .expect(201);
        let screen = client.invite(candidate, role).await.expect(201).number("/id");
        deliver(&api, &callback(&api, screen, "end-of-call-report", report)).await.expect(200);
    }
    client.invited().await;
    api.run_tasks().await;
    made.extend(types(&api).await);
    // Posts.
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    x.reply_with(POST, problem(400, "Invalid Request", "One or more parameters was invalid."));
    post(&api, posting).await.expect(502);
    x.reply_normally();
    x.revoke();
    post(&api, posting).await.expect(422);
    made.extend(types(&api).await);
    let missing: Vec<_> = ELSEWHERE.iter().filter(|(kind, ..)| !made.contains(kind.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?} are missing in {made:?}");
}
