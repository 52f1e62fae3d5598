//! Acts on more people than one request works on: as tasks with progress, that can be stopped, and undone as one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use jiff::SignedDuration;
use rolecall_local::demo;
use serde_json::{Value, json};
use shared::clock::later;
use shared::id::Id;
use shared::model::{
    Actor, ActorKind, BulkAct, BulkKind, BulkPart, BulkPerson, BulkState, BulkWords, CandidateRecord,
    MemberRole, Mode, Name, Profile, Source, Stage, Tag, TaskKind,
};
use shared::store::Transaction;
use tests::browser::{Browser, Form};
use tests::dashboard::{add_member, owner};
use tests::interceptor::Fault;
use tests::{ACME, BASE_URL, GLOBEX, Response, TestApi, tenant};

use crate::dashboard_pages::text_of;

const ROLE: u64 = 1;
const LIST: &str = "/dashboard/candidates?role_id=1";
const BULK: &str = "/dashboard/candidates/bulk";
/// The parameter that names the list.
const OF_ROLE: &str = "list=role_id%3D1";

fn id(number: u64) -> Id {
    Id::new(number).unwrap()
}

fn person(number: u64) -> u64 {
    1_000_000_000_000_000 + number
}

/// Writes a role with people who have applied for it.
pub(crate) async fn write(api: &TestApi, people: u64) {
    api.write_open_roles(ROLE..=ROLE).await;
    for number in 0..people {
        write_applicant(api, number).await;
    }
}

async fn write_applicant(api: &TestApi, number: u64) {
    write_applicant_of(api, number, &[ROLE]).await;
}

/// Writes somebody who has applied for these roles.
async fn write_applicant_of(api: &TestApi, number: u64, roles: &[u64]) {
    let (now, tenant) = (api.environment.clock.now(), tenant(ACME, Mode::Live));
    let name = Name::parse(&format!("Candidate {number:03}")).unwrap().unwrap();
    let email = format!("candidate{number}@example.com").parse().unwrap();
    let profile = Profile { phone: Some("+14155552671".parse().unwrap()), ..Profile::new(name, email) };
    let mut record = CandidateRecord::new(id(person(number)), profile, now);
    for (application, role) in (2 * person(number)..).zip(roles) {
        let role = api.store().find_role(tenant, id(*role)).await.unwrap().unwrap();
        record = record.apply(id(application), &role, Source::API, now).unwrap();
    }
    let mut transaction = Transaction::new(tenant);
    transaction.insert_candidate(record, &[]).unwrap();
    api.store().commit(transaction).await.unwrap();
}

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

/// The role of a person in a test over two roles.
const fn role_of(person: u64) -> u64 {
    ROLE + person % 2
}

/// Requests an act on everybody in the list of those who have applied. Returns the path of its page.
pub(crate) async fn press(browser: &Browser<'_>, to: &str, field: (&str, &str)) -> String {
    press_in(browser, "role_id%3D1%26stage%3Dapplied", to, field).await
}

async fn press_in(browser: &Browser<'_>, list: &str, to: &str, (name, value): (&str, &str)) -> String {
    let path = format!("{BULK}?list={list}");
    let page = browser.get(&format!("{path}&to={to}&everybody=yes")).await.expect(200);
    let form = Form::of(&page, &path).set(name, value);
    let begun = browser.submit(&path, &form).await.expect(303).header("location").to_owned();
    assert!(begun.starts_with(&format!("{BULK}?act=")), "{begun}");
    // A second press is the same act.
    assert_eq!(browser.submit(&path, &form).await.expect(303).header("location"), begun);
    begun
}

fn act_of(path: &str) -> &str {
    path.split("act=").nth(1).unwrap().split('&').next().unwrap()
}

async fn undo(browser: &Browser<'_>, path: &str) -> Response {
    undo_in(browser, OF_ROLE, path).await
}

async fn undo_in(browser: &Browser<'_>, list: &str, path: &str) -> Response {
    browser.post(&format!("{BULK}/undo?{list}"), &[("group", act_of(path))]).await
}

async fn said(browser: &Browser<'_>, path: &str) -> String {
    text_of(&browser.get(path).await.expect(200))
}

async fn assert_says(browser: &Browser<'_>, path: &str, sentence: &str) {
    let text = said(browser, path).await;
    assert!(text.contains(sentence), "{sentence} in {text}");
}

/// Runs the tasks without making calls, which are due as soon as somebody is invited.
async fn run_without_calls(api: &TestApi) {
    for task in api.due_tasks(api.environment.clock.now()).await {
        if task.kind == TaskKind::Call {
            let mut transaction = Transaction::new(task.tenant());
            transaction.delete_task(&task);
            api.store().commit(transaction).await.unwrap();
        }
    }
    // Runs at the same time would give screens the same identifiers.
    let now = later(api.environment.clock.now(), SignedDuration::from_secs(1));
    api.clock.set(&now.to_string());
    api.run_tasks().await;
}

/// Runs the tasks until nothing is due.
async fn run_all(api: &TestApi) {
    for _ in 0..200 {
        if api.run_tasks().await.tasks == 0 {
            return;
        }
    }
    panic!("the tasks never end");
}

async fn candidate(api: &TestApi, number: u64) -> Value {
    api.get(&format!("/api/v1/candidates/{}", person(number))).await.expect(200).body
}

async fn notes(api: &TestApi, number: u64) -> usize {
    let notes = api.get(&format!("/api/v1/candidates/{}/notes", person(number))).await.expect(200);
    notes.body["data"].as_array().unwrap().len()
}

/// What an act has left at a person: the stage, the tags, the notes and the planned calls.
async fn state(api: &TestApi, number: u64) -> (String, usize, usize, usize) {
    let found = candidate(api, number).await;
    let screens = found["voice_screens"].as_array().unwrap();
    let planned = screens.iter().filter(|screen| screen["status"] != "cancelled").count();
    let tags = found["tags"].as_array().unwrap().len();
    (found["stage"].as_str().unwrap().to_owned(), tags, notes(api, number).await, planned)
}

/// An act with what is typed, what is said while it goes on and then, and what it leaves at a person.
struct Act {
    to: &'static str,
    field: (&'static str, &'static str),
    doing: &'static str,
    past: &'static str,
    left: (&'static str, usize, usize, usize),
}

const ACTS: [Act; 5] = [
    Act {
        to: "rejected",
        field: ("reason", "Filled"),
        doing: "Rejecting",
        past: "rejected",
        left: ("rejected", 0, 0, 0),
    },
    Act { to: "interview", field: ("", ""), doing: "Moving", past: "moved", left: ("interview", 0, 0, 0) },
    Act { to: "tag", field: ("tag", "spring"), doing: "Tagging", past: "tagged", left: ("applied", 1, 0, 0) },
    Act {
        to: "note",
        field: ("text", "Met at the fair"),
        doing: "Adding the note to",
        past: "given the note",
        left: ("applied", 0, 1, 0),
    },
    Act { to: "invite", field: ("", ""), doing: "Inviting", past: "invited", left: ("screening", 0, 0, 1) },
];

#[tokio::test]
async fn acts_on_250_people_go_on_as_tasks_and_are_undone_as_one() {
    let api = TestApi::new().await;
    write(&api, 250).await;
    let ada = acme(&api).await;
    for Act { to, field, doing, past, left } in ACTS {
        let page = press(&ada, to, field).await;
        assert_says(&ada, &page, &format!("{doing} 0 of 250 candidates ...")).await;
        assert_eq!(state(&api, 7).await.0, "applied", "nothing is done by the request");
        for done in [100, 200] {
            run_without_calls(&api).await;
            for path in [&page, LIST] {
                assert_says(&ada, path, &format!("{doing} {done} of 250 candidates ...")).await;
            }
        }
        // What is being done cannot be undone yet.
        assert!(undo(&ada, &page).await.expect(303).header("location").ends_with("failed=nothing-to-undo"));
        run_without_calls(&api).await;
        assert_says(&ada, &page, &format!("250 of 250 candidates {past}.")).await;
        assert_says(&ada, LIST, "Undo for 250 ").await;
        for number in [0, 99, 100, 249] {
            let (stage, tags, notes, planned) = state(&api, number).await;
            assert_eq!((&*stage, tags, notes, planned), left, "{to} {number}");
        }
        let actor = candidate(&api, 100).await["touchpoints"][0]["actor"].clone();
        assert_eq!((&actor["type"], &actor["name"]), (&json!("member"), &json!("Ada")), "{to}");
        let undoing = undo(&ada, &page).await.expect(303);
        assert!(undoing.header("location").starts_with(&format!("{BULK}?act=")));
        assert_says(&ada, &page, "Undoing for 0 of 250 candidates ...").await;
        run_without_calls(&api).await;
        // A second press goes on with the same undo.
        undo(&ada, &page).await.expect(303);
        assert_says(&ada, &page, "Undoing for 100 of 250 candidates ...").await;
        assert_says(&ada, LIST, "Undoing for 100 of 250 candidates ...").await;
        run_without_calls(&api).await;
        run_without_calls(&api).await;
        assert_says(&ada, &page, "Undone for 250 of 250 candidates.").await;
        assert!(!said(&ada, LIST).await.contains("Undo for"));
        assert!(undo(&ada, &page).await.expect(303).header("location").ends_with("failed=nothing-to-undo"));
        for number in [0, 99, 100, 249] {
            let stage = if to == "invite" { "screening" } else { "applied" };
            assert_eq!(state(&api, number).await, (stage.to_owned(), 0, 0, 0), "{to} {number}");
        }
    }
    // The undo of invitations calls nobody, and the only tasks left are those of cancelled calls.
    run_all(&api).await;
}

#[tokio::test]
async fn only_those_who_were_in_the_list_are_changed_and_nobody_who_moved_meanwhile() {
    let api = TestApi::new().await;
    write(&api, 210).await;
    let ada = acme(&api).await;
    api.clock.set("2026-11-20T09:31:00Z");
    let page = press(&ada, "rejected", ("reason", "")).await;
    // A second act at the same time, by another member.
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let jo = Browser::with_session(&api, ACME, &jo).await;
    let tagging = press_in(&jo, "role_id%3D1", "tag", ("tag", "spring")).await;
    assert_ne!(page, tagging);
    api.clock.set("2026-11-20T09:32:00Z");
    write_applicant(&api, 500).await;
    let advance = async |number: u64, to: &str| {
        let body = json!({ "stage": to, "role_id": ROLE });
        let path = format!("/api/v1/candidates/{}/advance", person(number));
        api.post(&path, body).await.expect(200);
    };
    // In the first part and in the last one, of which the newest people are the first.
    for number in [3, 205] {
        advance(number, "interview").await;
        advance(number, "applied").await;
    }
    advance(4, "offer").await;
    api.post(&format!("/api/v1/candidates/{}/erase", person(5)), json!({})).await.expect(202);
    let globex = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    globex.get(&page).await.expect(404);
    globex.post(&format!("{BULK}/stop?{OF_ROLE}"), &[("group", act_of(&page))]).await.expect(404);
    undo(&globex, &page).await.expect(404);
    run_all(&api).await;
    let text = said(&ada, &page).await;
    assert!(text.contains("206 of 210 candidates rejected. The others were left as they are."), "{text}");
    for number in [3, 4, 205] {
        let row = format!("Candidate {number:03} Somebody moved this candidate in the meantime.");
        assert!(text.contains(&row), "{row} in {text}");
    }
    assert!(text.contains("Erased candidate This candidate was erased."), "{text}");
    for (number, stage) in [(500, "applied"), (3, "applied"), (205, "applied"), (4, "offer"), (0, "rejected")]
    {
        assert_eq!(candidate(&api, number).await["stage"], stage, "{number}");
    }
    assert_says(&ada, &tagging, "209 of 210 candidates tagged.").await;
    assert_eq!(candidate(&api, 500).await["tags"], json!([]));

    // Since then, one was brought back and rejected again, one was erased, and one lost the tag.
    api.clock.set("2026-11-20T09:40:00Z");
    for step in ["unreject", "reject"] {
        let path = format!("/api/v1/candidates/{}/{step}", person(10));
        api.post(&path, json!({ "role_id": ROLE })).await.expect(200);
    }
    api.post(&format!("/api/v1/candidates/{}/erase", person(11)), json!({})).await.expect(202);
    api.patch(&format!("/api/v1/candidates/{}", person(12)), json!({ "tags": ["own"] })).await.expect(200);
    undo(&ada, &page).await.expect(303);
    undo(&ada, &tagging).await.expect(303);
    run_all(&api).await;
    let text = said(&ada, &page).await;
    assert!(text.contains("Undone for 204 of 206 candidates."), "{text}");
    assert!(text.contains("Candidate 010 Somebody moved this candidate in the meantime."), "{text}");
    assert!(text.contains("Erased candidate This candidate was erased."), "{text}");
    assert_eq!(candidate(&api, 10).await["stage"], "rejected");
    assert_eq!(candidate(&api, 20).await["stage"], "applied");
    assert_eq!(candidate(&api, 12).await["tags"], json!(["own"]));
    assert_says(&ada, &tagging, "Undone for 208 of 209 candidates.").await;
}

#[tokio::test]
async fn an_act_that_is_stopped_ends_after_the_part_and_is_undone_for_those_it_had_reached() {
    let api = TestApi::new().await;
    write(&api, 250).await;
    let ada = acme(&api).await;
    let page = press(&ada, "rejected", ("reason", "")).await;
    api.run_tasks().await;
    let stop =
        async || ada.post(&format!("{BULK}/stop?{OF_ROLE}"), &[("group", act_of(&page))]).await.expect(303);
    assert_eq!(act_of(stop().await.header("location")), act_of(&page));
    stop().await;
    assert_says(&ada, &page, "100 of 250 candidates rejected. Stopped.").await;
    assert_eq!(api.run_tasks().await.tasks, 0);
    let undone = undo(&ada, &page).await.expect(303);
    assert!(undone.header("location").ends_with("done=bulk-undone"), "{}", undone.header("location"));
    let stats = api.get("/api/v1/roles/1/stats").await.expect(200);
    assert_eq!(stats.number("/stages/applied/now"), 250);
    let nothing = ada.post(&format!("{BULK}/stop?{OF_ROLE}"), &[("group", "17")]).await.expect(303);
    assert!(nothing.header("location").ends_with("failed=nothing-to-stop"));

    // While a part is worked on, which a run was killed in, the part is finished.
    let page = press(&ada, "note", ("text", "Hello")).await;
    let writes = Arc::new(AtomicUsize::new(0));
    let counted = writes.clone();
    api.dynamodb.inject_faults(move |operation, _| {
        let is_write = operation == "TransactWriteItems";
        (is_write && counted.fetch_add(1, Ordering::SeqCst) > 3).then_some(Fault::Unreachable)
    });
    tasks::run_for(api.environment.clone(), demo::task_partitions()).await.unwrap_err();
    api.dynamodb.inject_faults(|_, _| None);
    ada.post(&format!("{BULK}/stop?{OF_ROLE}"), &[("group", act_of(&page))]).await.expect(303);
    assert_says(&ada, &page, "Stopping after the hundred whose turn it is.").await;
    run_all(&api).await;
    assert_says(&ada, &page, "100 of 250 candidates given the note. Stopped.").await;
    assert_eq!((notes(&api, 249).await, notes(&api, 150).await, notes(&api, 149).await), (1, 1, 0));
}

#[tokio::test]
async fn an_act_of_a_member_who_is_removed_stops_and_one_that_takes_too_long_too() {
    let api = TestApi::new().await;
    write(&api, 120).await;
    let ada = acme(&api).await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let browser = Browser::with_session(&api, ACME, &jo).await;
    let page = press(&browser, "rejected", ("reason", "")).await;
    api.run_tasks().await;
    let remove = format!("/dashboard/settings/members/{}/remove", jo.id);
    let removed = ada.post(&remove, &[("email", "jo@members.example")]).await;
    assert!(removed.status < 400, "{}", removed.text);
    api.run_tasks().await;
    assert_says(&ada, &page, "100 of 120 candidates rejected. Stopped, because the member who began it")
        .await;
    assert_eq!(api.run_tasks().await.tasks, 0);
    // Others can undo it.
    undo(&ada, &page).await.expect(303);
    assert_says(&ada, &page, "Undone for 100 of 100 candidates.").await;

    let page = press(&ada, "tag", ("tag", "spring")).await;
    api.clock.set("2026-11-21T09:45:00Z");
    run_all(&api).await;
    let ada = acme(&api).await;
    assert_says(&ada, &page, "0 of 120 candidates tagged. Stopped, because it took longer than a day.").await;
    // A day after the end, nothing is left of it.
    api.clock.set("2026-11-22T09:46:00Z");
    acme(&api).await.get(&page).await.expect(404);
}

#[tokio::test]
async fn notes_stay_under_a_legal_hold_and_calls_that_have_begun_are_not_cancelled() {
    let api = TestApi::new().await;
    write(&api, 110).await;
    let ada = acme(&api).await;
    let page = press(&ada, "note", ("text", "Met at the fair")).await;
    run_all(&api).await;
    let hold = format!("/api/v1/candidates/{}/legal_hold", person(7));
    api.request(Method::PUT, &hold).json(&json!({ "reason": "A dispute" })).send().await.expect(200);
    undo(&ada, &page).await.expect(303);
    run_all(&api).await;
    let text = said(&ada, &page).await;
    assert!(text.contains("Undone for 109 of 110 candidates."), "{text}");
    assert!(text.contains("Candidate 007 A legal hold on the candidate keeps the note."), "{text}");
    assert_eq!((notes(&api, 7).await, notes(&api, 8).await), (1, 0));

    let page = press(&ada, "invite", ("", "")).await;
    run_all(&api).await;
    assert_says(&ada, &page, "110 of 110 candidates invited.").await;
    undo(&ada, &page).await.expect(303);
    run_all(&api).await;
    let text = said(&ada, &page).await;
    assert!(text.contains("Undone for 0 of 110 candidates. The others were left as they are."), "{text}");
    assert!(text.contains("Candidate 050 The call has begun or is over."), "{text}");
    assert!(text.contains("These are 100 of 110."), "{text}");
}

/// An act of the owner, which is in parts of these people, and is due. If it is of no role, it is over two.
async fn insert(api: &TestApi, act: BulkAct, parts: &[&[u64]]) -> BulkAct {
    let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
    let parts_count = u32::try_from(parts.len()).unwrap();
    for (number, people) in (0..).zip(parts) {
        let role = |one: u64| act.role_id.or_else(|| Id::new(role_of(one)));
        let people = people.iter().map(|one| BulkPerson::waiting(id(*one), role(*one), None)).collect();
        let part = BulkPart { act: act.id, number, at: act.at, done_at: None, people, version: 1 };
        transaction.insert_bulk_part(&part).unwrap();
    }
    let act = BulkAct { parts: parts_count, ..act };
    transaction.insert_bulk_act(&act).unwrap();
    api.store().commit(transaction).await.unwrap();
    act
}

async fn act(api: &TestApi, number: u64, role: u64, kind: BulkKind) -> BulkAct {
    let (owner, now) = (owner(api, ACME).await, api.environment.clock.now());
    let name = owner.name.as_str().to_owned();
    BulkAct {
        id: id(number),
        role_id: Some(id(role)),
        kind,
        to: Some(if kind == BulkKind::Rejected { Stage::Rejected } else { Stage::Interview }),
        from: None,
        tag: (kind == BulkKind::Tagged).then(|| Tag::parse("spring").unwrap().unwrap()),
        words: Some(BulkWords { text: Some("Hello".to_owned()), ..BulkWords::default() }),
        base_url: BASE_URL.to_owned(),
        actor: Actor { kind: ActorKind::Member, id: Some(owner.id), name },
        at: now,
        total: 3,
        parts: 1,
        position: 0,
        is_prepared: false,
        changed: 0,
        unchanged: 0,
        refused: 0,
        undone: 0,
        kept: 0,
        state: BulkState::Running,
        stop: None,
        undone_by: None,
        ended_at: None,
        task_due: Some(now),
        version: 1,
    }
}

/// Begins an act that adds a note about a candidate, as a task.
pub(crate) async fn begin_note(api: &TestApi, role: u64, candidate: u64) {
    let act = act(api, 4_712, role, BulkKind::Noted).await;
    insert(api, act, &[&[candidate]]).await;
}

/// A run that is killed after any call is repeated: nobody is changed twice, nobody is left out, and the undo counts right.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_run_that_is_killed_after_any_call_is_repeated() {
    for (kind, field, role) in [
        (BulkKind::Noted, 2, Some(ROLE)),
        (BulkKind::Rejected, 0, None),
        (BulkKind::Moved, 0, Some(ROLE)),
        (BulkKind::Tagged, 1, Some(ROLE)),
        (BulkKind::Invited, 3, None),
    ] {
        let api = TestApi::new().await;
        api.write_open_roles(1..=2).await;
        for number in 0..3 {
            write_applicant_of(&api, number, &[role.unwrap_or_else(|| role_of(person(number)))]).await;
        }
        let (acme, people) = (tenant(ACME, Mode::Live), [person(0), person(1), person(2)]);
        let stored = async |act: &BulkAct| {
            api.store().find_bulk_act(acme, act.role_id, act.id).await.unwrap().unwrap()
        };
        let mut calls = 0;
        loop {
            // Each time with a task of its own.
            let now = later(api.environment.clock.now(), SignedDuration::from_secs(1));
            api.clock.set(&now.to_string());
            let number = 5_000 + u64::try_from(calls).unwrap();
            let new = BulkAct { role_id: role.map(id), ..act(&api, number, ROLE, kind).await };
            let act = insert(&api, new, &[&people[..2], &people[2..]]).await;
            let mut is_whole = api.run_tasks_with(calls).await;
            for _ in 0..3 {
                run_without_calls(&api).await;
            }
            let done = stored(&act).await;
            assert_eq!((done.state, done.changed, done.refused), (BulkState::Done, 3, 0), "{kind:?} {calls}");
            for number in 0..3 {
                let (stage, tags, notes, planned) = state(&api, number).await;
                let moved = match kind {
                    BulkKind::Rejected => "rejected",
                    BulkKind::Moved => "interview",
                    BulkKind::Invited => "screening",
                    _ => "applied",
                };
                let counts = [usize::from(stage == moved), tags, notes, planned];
                let mut expected = [1, 0, 0, 0];
                expected[field] = 1;
                assert_eq!(counts, expected, "{kind:?} {calls} {number}");
            }
            let undoing = done.undo(done.actor.clone(), now).unwrap();
            let undoing = BulkAct { task_due: Some(now), ..undoing };
            let mut transaction = Transaction::new(acme);
            transaction.replace_bulk_act(&done, &undoing).unwrap();
            api.store().commit(transaction).await.unwrap();
            is_whole &= api.run_tasks_with(calls).await;
            for _ in 0..3 {
                run_without_calls(&api).await;
            }
            let undone = stored(&act).await;
            assert_eq!(
                (undone.state, undone.undone, undone.kept),
                (BulkState::Undone, 3, 0),
                "{kind:?} {calls}"
            );
            for number in 0..3 {
                let (stage, tags, notes, planned) = state(&api, number).await;
                let before = if kind == BulkKind::Invited { "screening" } else { "applied" };
                assert_eq!((&*stage, tags, notes, planned), (before, 0, 0, 0), "{kind:?} {calls} {number}");
            }
            if is_whole {
                break;
            }
            calls += 1;
        }
        assert!(calls > 8, "{calls}");
        // Each change and each undo is once in the history.
        let made = u64::try_from(2 * (calls + 1)).unwrap();
        let history = candidate(&api, 1).await["touchpoints"].as_array().unwrap().len();
        let per_act = u64::try_from(history).unwrap();
        let expected = if kind == BulkKind::Invited { made + 1 } else { made };
        assert_eq!(per_act, expected, "{kind:?}");
    }
}

#[tokio::test]
async fn two_runs_at_the_same_time_change_everybody_once() {
    let api = TestApi::new().await;
    write(&api, 5).await;
    let people: Vec<_> = (0..5).map(person).collect();
    let new = act(&api, 5_000, ROLE, BulkKind::Noted).await;
    let act = insert(&api, new, &[&people]).await;
    let runs = futures_util::future::join_all(
        (0..3).map(|_| tasks::run_for(api.environment.clone(), demo::task_partitions())),
    );
    assert!(runs.await.iter().all(Result::is_ok));
    run_all(&api).await;
    let done =
        api.store().find_bulk_act(tenant(ACME, Mode::Live), act.role_id, act.id).await.unwrap().unwrap();
    assert_eq!((done.state, done.changed), (BulkState::Done, 5));
    for number in 0..5 {
        assert_eq!(notes(&api, number).await, 1);
    }
}

#[tokio::test]
async fn an_act_is_undone_also_after_more_than_a_hundred_others() {
    let api = TestApi::new().await;
    write(&api, 1).await;
    let ada = acme(&api).await;
    let people = [person(0)];
    let first = act(&api, 5_000, ROLE, BulkKind::Tagged).await;
    insert(&api, first, &[&people]).await;
    run_all(&api).await;
    for number in 0..110 {
        let new = act(&api, 6_000 + number, ROLE, BulkKind::Noted).await;
        let done = BulkAct { state: BulkState::Done, task_due: None, ended_at: Some(new.at), ..new };
        insert(&api, done, &[&people]).await;
    }
    undo(&ada, "act=5000").await.expect(303);
    assert_eq!(candidate(&api, 0).await["tags"], json!([]));
}

#[tokio::test]
async fn everybody_in_a_list_over_two_roles_is_rejected_stopped_and_brought_back() {
    const OPEN: &str = "list=status%3Dactive";
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    api.write_open_roles(1..=2).await;
    for number in 0..120 {
        write_applicant_of(&api, number, &[role_of(number)]).await;
    }
    // Somebody has applied for both, and is rejected for both.
    write_applicant_of(&api, 120, &[1, 2]).await;
    let page = press_in(&ada, "status%3Dactive", "rejected", ("reason", "Filled")).await;
    assert_says(&ada, &page, "Rejecting 0 of 122 candidates ...").await;
    assert_says(&ada, &page, "All roles").await;
    api.run_tasks().await;
    // The lists over all roles show it, those of a role do not.
    for list in ["/dashboard/candidates", "/dashboard/candidates?waiting=applied"] {
        assert_says(&ada, list, "Rejecting 100 of 122 candidates ...").await;
    }
    assert!(!said(&ada, LIST).await.contains("Rejecting"));
    let stop = format!("{BULK}/stop?{OPEN}");
    ada.post(&stop, &[("group", act_of(&page))]).await.expect(303);
    assert_says(&ada, &page, "100 of 122 candidates rejected. Stopped.").await;
    assert_eq!(applied(&api).await, 22);
    // The newest applications are the first.
    let rejected = candidate(&api, 120).await["applications"].to_string();
    assert_eq!(rejected.matches("\"stage\":\"rejected\"").count(), 2, "{rejected}");
    undo_in(&ada, OPEN, &page).await.expect(303);
    assert_says(&ada, &page, "Undone for 100 of 100 candidates.").await;
    assert_eq!(applied(&api).await, 122);
    // A note is about the person, who gets one.
    let page = press_in(&ada, "status%3Dactive", "note", ("text", "Met at the fair")).await;
    run_without_calls(&api).await;
    run_without_calls(&api).await;
    assert_says(&ada, &page, "121 of 121 candidates given the note.").await;
    assert_eq!((notes(&api, 120).await, notes(&api, 0).await), (1, 1));
}

/// The number of applications for both roles in the first stage.
async fn applied(api: &TestApi) -> u64 {
    let mut applied = 0;
    for role in [1, 2] {
        let stats = api.get(&format!("/api/v1/roles/{role}/stats")).await.expect(200);
        applied += stats.number("/stages/applied/now");
    }
    applied
}
