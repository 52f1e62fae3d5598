//! People who are inserted with their past: applications in any stage, with their own times, and what follows from them.

use serde_json::{Value, json};
use shared::clock::Timestamp;
use shared::id::Id;
use shared::model::{
    CandidateRecord, Cause, Day, EndedBy, ImportedApplication, Mode, Move, Name, Origin, Profile, Role,
    RoleContent, RoleCopy, Source, Stage, Text,
};
use shared::store::Transaction;
use tests::browser::Browser;
use tests::dashboard::owner;
use tests::{ACME, TestApi, tenant};

use crate::people_lists::all;

const BY_TEAM: Cause = Cause::by(EndedBy::Team);
const CREATED: &str = "2026-10-01T08:00:00.000Z";

fn id(number: u64) -> Id {
    Id::new(number).unwrap()
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A time some hours after the first.
fn at(hours: i64) -> Timestamp {
    time(CREATED) + jiff::SignedDuration::from_hours(hours)
}

fn open_role(number: u64) -> Role {
    let content = RoleContent::titled(Text::parse(&format!("Role {number}")).unwrap().unwrap());
    Role::draft(id(number), content, time(CREATED)).publish(time(CREATED)).unwrap()
}

fn new_person(number: u64) -> CandidateRecord {
    let name = Name::parse(&format!("P{number}")).unwrap().unwrap();
    let source = Some(serde_json::from_str::<Source>("\"Fair\"").unwrap());
    let profile = Profile { source, ..Profile::new(name, format!("p{number}@example.com").parse().unwrap()) };
    CandidateRecord::new(id(1_000 + number), profile, time(CREATED))
}

fn reject(reason_id: u64) -> Move {
    Move::Reject { cause: Cause { reason_id: Some(id(reason_id)), ..BY_TEAM }, notes: None }
}

/// A role, when somebody applied for it and what followed, in hours.
type Way = (u64, i64, Vec<(i64, Move)>);

fn ways() -> Vec<Way> {
    vec![
        (1, 1, vec![]),
        (
            2,
            2,
            vec![(30, Move::Advance(Stage::Interview)), (60, Move::Advance(Stage::Applied)), (90, reject(3))],
        ),
        (
            3,
            3,
            vec![
                (75, Move::Advance(Stage::Screening)),
                (24 * 70, Move::Advance(Stage::Offer)),
                (24 * 71, Move::Hire { start_date: None }),
            ],
        ),
        (4, 4, vec![(10, reject(4)), (20, Move::Unreject), (40, Move::Advance(Stage::Interview))]),
        (5, 24 * 72, vec![(24 * 73, Move::Advance(Stage::Screening))]),
    ]
}

fn imported(roles: &[Role]) -> Vec<ImportedApplication> {
    let way = |(role, applied, moves): Way| ImportedApplication {
        id: id(2_000 + role),
        role: RoleCopy::of(&roles[usize::try_from(role).unwrap() - 1]),
        origin: Origin::from(Source::API),
        applied_at: at(applied),
        moves: moves.into_iter().map(|(hours, step)| (at(hours), step)).collect(),
    };
    ways().into_iter().map(way).collect()
}

async fn write_roles(api: &TestApi, mode: Mode, roles: &[Role]) {
    let mut transaction = Transaction::new(tenant(ACME, mode));
    for role in roles {
        transaction.insert_role(role).unwrap();
    }
    api.store().commit(transaction).await.unwrap();
}

async fn insert(api: &TestApi, mode: Mode, record: CandidateRecord) {
    let mut transaction = Transaction::new(tenant(ACME, mode));
    transaction.insert_candidate_with_past(&[(record, Vec::new())]).unwrap();
    api.store().commit(transaction).await.unwrap();
    api.run_feed().await;
}

async fn get(api: &TestApi, mode: Mode, path: &str) -> Value {
    let request = api.request("GET".parse().unwrap(), &format!("/api/v1/{path}")).key(ACME, mode);
    request.send().await.expect(200).body
}

async fn wrong(api: &TestApi, mode: Mode) -> Vec<String> {
    let (_, findings) = api.store().verify(tenant(ACME, mode), false, |_| async {}).await.unwrap();
    findings.into_iter().map(|finding| format!("{}: {}", finding.pk, finding.problem)).collect()
}

#[tokio::test]
async fn what_is_inserted_with_its_past_counts_as_if_it_had_been_made_then() {
    let api = TestApi::new().await;
    let roles: Vec<_> = (1..=5).map(open_role).collect();
    for mode in Mode::ALL {
        write_roles(&api, mode, &roles).await;
    }
    let now = api.environment.clock.now();
    let (record, history) = new_person(1).import_applications(imported(&roles), now).unwrap();
    assert_eq!(history.len(), 15);
    assert!(history.is_sorted_by_key(|(at, _)| *at));
    insert(&api, Mode::Live, record.clone()).await;

    // The same steps, one after another.
    let mut steps: Vec<_> = ways()
        .into_iter()
        .flat_map(|(role, applied, moves)| {
            let moves = moves.into_iter().map(move |(hours, step)| (hours, role, Some(step)));
            [(applied, role, None)].into_iter().chain(moves)
        })
        .collect();
    steps.sort_by_key(|(hours, ..)| *hours);
    let mut past = vec![(new_person(1), Vec::new())];
    for (hours, role, step) in steps {
        let before = past.last().unwrap().0.clone();
        let after = match step {
            None => {
                let of = &roles[usize::try_from(role).unwrap() - 1];
                before.apply(id(2_000 + role), of, Source::API, at(hours)).unwrap()
            }
            Some(step) => before.make(&step, Some(id(role)), at(hours)).unwrap().record,
        };
        past.push((after, Vec::new()));
    }
    let moved = past.last().unwrap().0.clone();
    let mut transaction = Transaction::new(tenant(ACME, Mode::Test));
    transaction.insert_candidate_with_past(&past).unwrap();
    api.store().commit(transaction).await.unwrap();
    api.run_feed().await;

    // The records differ only in what an import keeps of stays, and in when they were updated.
    let mut same = record.clone();
    (same.candidate.updated_at, same.version) = (moved.candidate.updated_at, moved.version);
    for application in &mut same.applications {
        application.past_stays = Vec::new();
        assert_eq!(application.updated_at, now, "nobody could see it before");
    }
    for (application, moved) in same.applications.iter_mut().zip(&moved.applications) {
        application.updated_at = moved.updated_at;
    }
    assert_eq!(same, moved);
    assert_eq!(record.candidate.stage, Stage::Interview, "an active application came after the hire");
    assert_eq!(record.candidate.updated_at, now);
    let [live, test] = Mode::ALL.map(|mode| tenant(ACME, mode));
    let stats = api.store().find_hiring_stats(live).await.unwrap();
    assert_eq!(stats, api.store().find_hiring_stats(test).await.unwrap());
    assert_eq!(stats.weeks[&Day::of(time(CREATED)).monday()]["Fair"], 1, "the week of the past");
    for role in 1..=5 {
        let path = format!("roles/{role}/stats");
        let stats = get(&api, Mode::Live, &path).await;
        assert_eq!(stats, get(&api, Mode::Test, &path).await, "{role}");
        assert_eq!(stats["applicants"], 1);
    }
    for (list, expected) in [
        ("stage=applied", &[1][..]),
        ("stage=rejected", &[2]),
        ("stage=hired", &[3]),
        ("stage=interview", &[4]),
        ("status=active", &[5, 4, 1]),
        ("status=rejected", &[2]),
    ] {
        for mode in Mode::ALL {
            let listed = get(&api, mode, &format!("applications?{list}")).await;
            let roles: Vec<_> = listed["data"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["role_id"].as_u64().unwrap())
                .collect();
            assert_eq!(roles, expected, "{list}");
        }
    }
    let shown = get(&api, Mode::Live, "applications/2002").await;
    assert_eq!(shown["applied_at"], json!(at(2)));
    assert_eq!(shown["stage_changed_at"], json!(at(90)));
    assert_eq!(shown["rejection"]["stage"], "applied");
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    for label in ["role_id=2&label=3", "role_id=4&label=source&word=fair", "role_id=1&label=source&word=api"]
    {
        assert_eq!(all(&ada, &format!("/dashboard/candidates?{label}")).await, ["P1"], "{label}");
    }
    assert!(all(&ada, "/dashboard/candidates?role_id=4&label=4").await.is_empty(), "that was undone");
    for mode in Mode::ALL {
        assert_eq!(wrong(&api, mode).await, [""; 0]);
    }
    // What follows counts from there on.
    for mode in Mode::ALL {
        let hire = api.request("POST".parse().unwrap(), "/api/v1/candidates/1001/hire").key(ACME, mode);
        hire.json(&json!({ "role_id": 5 })).send().await.expect(200);
    }
    assert_eq!(
        api.store().find_hiring_stats(live).await.unwrap(),
        api.store().find_hiring_stats(test).await.unwrap()
    );
}

#[tokio::test]
async fn a_role_in_any_status_takes_the_application() {
    let api = TestApi::new().await;
    let draft = Role::draft(id(1), RoleContent::titled(Text::parse("A").unwrap().unwrap()), time(CREATED));
    let closed = open_role(2).close(at(5));
    let paused = open_role(3).pause(time(CREATED)).unwrap();
    let roles = [draft, closed, paused, open_role(4), open_role(5)];
    write_roles(&api, Mode::Live, &roles).await;
    let now = api.environment.clock.now();
    let (record, _) = new_person(1).import_applications(imported(&roles), now).unwrap();
    insert(&api, Mode::Live, record).await;
    let shown = get(&api, Mode::Live, "candidates/1001").await;
    let statuses: Vec<_> =
        shown["applications"].as_array().unwrap().iter().map(|one| one["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["active", "active", "hired", "rejected", "active"]);
    assert_eq!(wrong(&api, Mode::Live).await, [""; 0]);

    // Somebody whose role was closed before the end of the application.
    let ended = ImportedApplication {
        id: id(3_000),
        role: RoleCopy::of(&roles[1]),
        origin: Origin::from(Source::API),
        applied_at: at(1),
        moves: vec![(at(2), Move::Advance(Stage::Offer))],
    };
    let (record, _) = new_person(2).import_applications(vec![ended], now).unwrap();
    insert(&api, Mode::Live, record).await;
    let shown = get(&api, Mode::Live, "applications/3000").await;
    assert_eq!((&shown["status"], &shown["stage"]), (&json!("closed"), &json!("offer")));
    let listed = get(&api, Mode::Live, "applications?role_id=2&status=closed").await;
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    let stats = api.store().find_hiring_stats(tenant(ACME, Mode::Live)).await.unwrap();
    assert_eq!(stats.of(Stage::Offer).active, 0, "only the role counts it");
    assert_eq!(wrong(&api, Mode::Live).await, [""; 0]);
}

#[tokio::test]
async fn a_week_of_long_ago_counts_nobody_and_the_retention_period_can_begin_with_the_import() {
    let api = TestApi::new().await;
    write_roles(&api, Mode::Live, &[open_role(1)]).await;
    let now = api.environment.clock.now();
    let created = time("2019-03-04T00:00:00Z");
    let of = |number: u64| {
        let mut record = new_person(number);
        record.candidate.created_at = created;
        record.import_applications(Vec::new(), now).unwrap().0
    };
    let by_dates = of(1);
    let by_import = CandidateRecord { retained_from: Some(now), ..of(2) };
    assert_eq!(by_dates.retention_start().unwrap().since, created);
    assert_eq!(by_import.retention_start().unwrap().since, now);
    for record in [by_dates, by_import] {
        insert(&api, Mode::Live, record).await;
    }
    let stats = api.store().find_hiring_stats(tenant(ACME, Mode::Live)).await.unwrap();
    assert!(stats.weeks.is_empty(), "{:?}", stats.weeks);
    assert!(!api.stored_items().await.keys().any(|(pk, _)| pk.contains("#NEW_PEOPLE")));
    assert_eq!(get(&api, Mode::Live, "candidates/1001").await["created_at"], json!(created));
    assert_eq!(wrong(&api, Mode::Live).await, [""; 0]);
}

#[test]
fn times_and_moves_are_put_in_order() {
    let roles: Vec<_> = (1..=5).map(open_role).collect();
    let early = |moves| ImportedApplication {
        id: id(1),
        role: RoleCopy::of(&roles[0]),
        origin: Origin::from(Source::API),
        applied_at: at(10),
        moves,
    };
    // A move before the application is as late as the application.
    let import = |moves| new_person(1).import_applications(vec![early(moves)], at(100));
    let (record, history) =
        import(vec![(at(5), Move::Advance(Stage::Offer)), (at(3), Move::Hire { start_date: None })]).unwrap();
    assert_eq!(record.applications[0].stage_changed_at, at(10));
    assert_eq!(history.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [at(10); 3]);
    assert_eq!(record.candidate.stage, Stage::Hired);
    let refused = import(vec![(at(20), reject(3)), (at(30), Move::Advance(Stage::Offer))]);
    assert_eq!(refused.unwrap_err().to_string(), "stage cannot go from rejected to offer");
}
