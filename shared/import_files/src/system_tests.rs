//! People as other systems describe them, in the shapes that these publish. The people are invented.

use std::fmt::Write as _;
use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{FileFormat, Refusal, Report, RowVerdict, Settings, read_file, read_folder, row};

/// What was read: the JSON of each row or what is wrong with it, and its warnings.
struct Outcome {
    rows: Vec<(Result<Value, String>, String)>,
    lines: Vec<u64>,
    report: Report,
}

fn gather(
    format: FileFormat,
    read: impl FnOnce(&Settings, &mut dyn FnMut(RowVerdict) -> ControlFlow<()>) -> Result<Report, Refusal>,
) -> Result<Outcome, String> {
    let settings = Settings { country: "DE".parse().ok(), ..Settings::new(format) };
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    let report = read(&settings, &mut |row| {
        // What is read is a row as it is.
        let json = row.verdict.map(|json| {
            assert!(row::read_line(&json, now()).is_ok(), "{json}");
            serde_json::from_str(&json).unwrap()
        });
        rows.push((json.map_err(|wrong| wrong.join("; ")), row.warnings.join("; ")));
        lines.push(row.line);
        ControlFlow::Continue(())
    });
    report.map(|report| Outcome { rows, lines, report }).map_err(|refusal| refusal.to_string())
}

fn now() -> shared::clock::Timestamp {
    "2026-11-28T12:00:00Z".parse().unwrap()
}

fn read(format: FileFormat, text: &str) -> Result<Outcome, String> {
    gather(format, |settings, each| read_file(Cursor::new(text.as_bytes()), settings, now(), each))
}

fn read_value(format: FileFormat, value: &Value) -> Outcome {
    read(format, &value.to_string()).unwrap()
}

fn harvest() -> Outcome {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("files/harvest");
    gather(FileFormat::Harvest, |settings, each| read_folder(&folder, settings, now(), each)).unwrap()
}

fn merge() -> Outcome {
    read(FileFormat::Merge, include_str!("../files/merge.json")).unwrap()
}

#[test]
fn a_folder_of_harvest_has_everything_about_a_person() {
    let outcome = harvest();
    let (row, warnings) = &outcome.rows[0];
    let expected = json!({
        "external_id": "57683957",
        "name": "Anneliese Köhler",
        "email": "anneliese.koehler@mail.example",
        "phone": "+491713920012",
        "tags": ["baker", "night shift"],
        "source": "Referral",
        "created_at": "2024-03-04T08:30:00.000Z",
        "files": [
            { "name": "Köhler Lebenslauf.pdf", "kind": "resume" },
            { "name": "letter.docx", "kind": "cover_letter" },
            { "name": "bread.jpg", "kind": "other" },
        ],
        "notes": [
            { "text": "Has not agreed to e-mails." },
            { "text": "Stage for Master Baker: Bake-off" },
            { "text": "Very kind on the phone.", "author": "Greta Grün", "at": "2024-03-10T09:20:00.000Z" },
            { "text": "Your application\n\nThank you!", "at": "2024-03-05T07:00:00.000Z" },
        ],
        "applications": [
            {
                "external_id": "69306314",
                "role": { "title": "Baker" },
                "applied_at": "2024-03-04T08:31:00.000Z",
                "stage": "interview",
                "status": "rejected",
                "rejection": {
                    "by": "candidate",
                    "reason": "Took another job",
                    "at": "2024-04-01T12:00:00.000Z",
                },
                "answers": [{ "label": "Can you start at four in the morning?", "value": "Yes.\nI like it." }],
                "stage_changes": [
                    { "stage": "applied", "at": "2024-03-04T08:31:00.000Z" },
                    { "stage": "screening", "at": "2024-03-10T09:00:00.000Z" },
                    { "stage": "interview", "at": "2024-03-20T09:00:00.000Z" },
                ],
            },
            {
                "external_id": "69306315",
                "role": { "title": "Master Baker" },
                "applied_at": "2026-05-01T07:00:00.000Z",
                "stage": "applied",
                "status": "active",
            },
        ],
    });
    assert_eq!(row.as_ref().unwrap(), &expected);
    for warning in [
        "email koehler@backwerk.example was left out: there is another one before it",
        "phone anneliese.k was left out: it ",
        "phone 030 1234567 was left out: there is another one before it",
        "the person was private",
        "the person has not agreed to e-mails: a note says so",
        "applications[1].stage \"Bake-off\" is not known: it is applied, and a note has the name",
        "notes: 1 that not everybody could see were left out",
        "source has several words: that of the first application is taken",
    ] {
        assert!(warnings.contains(warning), "{warning} is not in {warnings}");
    }
}

#[test]
fn what_harvest_lacks_or_has_wrong_is_a_warning_or_makes_the_row_invalid() {
    let outcome = harvest();
    assert_eq!(outcome.rows.len(), 5);
    assert_eq!(outcome.lines, [2, 31, 44, 53, 54]);

    // An id as a text, and a job that is not in the list.
    let (row, warnings) = &outcome.rows[1];
    let row = row.as_ref().unwrap();
    let expected = json!([{
        "external_id": "69306316",
        "role": { "external_id": "999" },
        "applied_at": "2025-01-09T23:15:00.000Z",
        "stage": "hired",
        "status": "hired",
    }]);
    assert_eq!(row["applications"], expected);
    assert_eq!(row["email"], "pieter@mail.example");
    assert!(row.get("source").is_none() && row.get("phone").is_none());
    assert!(warnings.contains("email nobody is no e-mail address"), "{warnings}");
    assert!(warnings.contains("applications[0].role is not described"), "{warnings}");

    // A prospect has no role, but a person stays.
    let (row, warnings) = &outcome.rows[2];
    let expected = json!({
        "external_id": "57683959",
        "name": "Moana",
        "created_at": "2026-02-01T00:00:00.000Z",
        "notes": [{ "text": "Prospect for: Baker" }],
    });
    assert_eq!(row.as_ref().unwrap(), &expected);
    assert!(warnings.contains("one of a prospect was left out, because it has no job"), "{warnings}");

    assert_eq!(outcome.rows[3].0.as_ref().unwrap_err(), "name can't be blank");

    let (row, warnings) = &outcome.rows[4];
    assert_eq!(row.as_ref().unwrap(), &json!({ "external_id": "57683961", "name": "Sato", "tags": ["go"] }));
    for warning in [
        "`first_name` is not a text",
        "`email_addresses` is not a list",
        "`phone_numbers` has 5",
        "`tags` has true",
        "`created_at` is not a time",
    ] {
        assert!(warnings.contains(warning), "{warning} is not in {warnings}");
    }

    let warnings = outcome.report.warnings.join("\n");
    for warning in [
        "Lists that are not read: `offers`",
        "`candidates` has 1 objects again, which were left out",
        "1 of `applications` can't be read, and were left out",
        "1 of `applications` belong to nobody of `candidates`, and were left out",
        "2 jobs are called \"Baker\": their applications come into one role",
    ] {
        assert!(warnings.contains(warning), "{warning} is not in {warnings}");
    }
    assert!(!warnings.contains("missing"), "{warnings}");
}

#[test]
fn one_file_may_have_all_lists_or_only_the_candidates() {
    let candidates = json!([{ "id": 1, "first_name": "Anna", "last_name": "Weber" }]);
    let jobs = json!([{ "id": 7, "name": "Driver" }]);
    let applications = json!([{ "id": 3, "candidate_id": 1, "job_id": 7, "stage_name": "Offer" }]);
    let all = json!({ "candidates": candidates, "jobs": jobs, "applications": applications, "x": 5 });
    let outcome = read_value(FileFormat::Harvest, &all);
    let row = outcome.rows[0].0.as_ref().unwrap();
    let application =
        json!({ "external_id": "3", "role": { "title": "Driver" }, "stage": "offer", "status": "active" });
    assert_eq!(row["applications"], json!([application]));
    let missing = "Lists that are missing: `notes`, `attachments`, `users`, `sources`, `rejection_reasons`, \
                   `application_stages`, `job_interview_stages`";
    assert_eq!(outcome.report.warnings, [missing]);

    // An array, one object in each line, and pages one after the other, also with a mark before them.
    let anna = r#"{"id":1,"first_name":"Anna"}"#;
    let ben = r#"{"id":2,"first_name":"Ben"}"#;
    for text in [
        format!("[{anna},{ben}]"),
        format!("{anna}\n{ben}\n"),
        format!("\u{FEFF}[{anna}]\n[{ben}][]"),
        format!("{{\"next\":\"x\",\"results\":[{anna}]}}{{\"next\":null,\"results\":[{ben}]}}"),
    ] {
        for format in [FileFormat::Harvest, FileFormat::Merge] {
            let outcome = read(format, &text).unwrap();
            let names: Vec<_> =
                outcome.rows.iter().map(|(row, _)| row.as_ref().unwrap()["name"].clone()).collect();
            assert_eq!(names, ["Anna", "Ben"], "{text}");
        }
    }
}

#[test]
fn merge_has_everything_about_a_person() {
    let outcome = merge();
    let (row, warnings) = &outcome.rows[0];
    let expected = json!({
        "external_id": "21198",
        "name": "Moana Tupou",
        "email": "moana@mail.example",
        "phone": "+491713920012",
        "tags": ["High-Priority"],
        "source": "Campus recruiting event",
        "created_at": "2025-10-15T00:00:00.000Z",
        "files": [{ "name": "moana.pdf", "kind": "resume" }],
        "applications": [
            {
                "external_id": "98796",
                "role": { "title": "Baker" },
                "applied_at": "2025-10-15T00:00:00.000Z",
                "stage": "interview",
                "status": "rejected",
                "rejection": { "by": "team", "reason": "Lacks experience", "at": "2025-11-15T00:00:00.000Z" },
                "answers": [
                    { "label": "When can you start?", "value": "Tomorrow" },
                    { "label": "Question 1f1ad7a7-1d3d-4c75-b4e6-8d4a1a1f3d61", "value": "Yes" },
                ],
            },
            {
                "external_id": "92e8a369-fffe-430d-b93a-f7e8a16563f2",
                "role": { "external_id": "52bf9b5e-0beb-4f6f-8a72-cd4dca7ca634" },
                "applied_at": "2026-01-15T00:00:00.000Z",
                "status": "active",
            },
        ],
    });
    assert_eq!(row.as_ref().unwrap(), &expected);
    for warning in [
        "the person was private",
        "applications has 1 that are not described, and were left out",
        "applications[1].role is not described",
        "the stage of one is not described",
    ] {
        assert!(warnings.contains(warning), "{warning} is not in {warnings}");
    }

    // Without an id of the other system, Merge's own counts. A role needs no id.
    let row = outcome.rows[1].0.as_ref().unwrap();
    assert_eq!(row["external_id"], "521b18c2-4d01-4297-b451-19858d07c134");
    assert_eq!(row["name"], "Sato");
    assert_eq!(row["applications"][0]["role"]["title"], "Driver");
    assert_eq!(row["applications"][0]["status"], "hired");

    // Whom the other system has deleted is no row.
    assert_eq!((outcome.rows.len(), outcome.report.skipped), (3, 1));
    assert_eq!(outcome.rows[2].0.as_ref().unwrap_err(), "name can't be blank");
}

#[test]
fn lists_of_merge_describe_what_candidates_only_name() {
    let all = json!({
        "candidates": [{
            "id": "c1", "remote_id": "7", "first_name": "Anna", "last_name": "Weber",
            "applications": ["a1"], "attachments": ["f1"],
        }],
        "applications": { "next": null, "results": [
            { "id": "a1", "candidate": "c1", "job": "j1", "current_stage": "s1", "reject_reason": "r1" },
            { "id": "a2", "candidate": { "id": "c1" }, "job": "j1", "remote_was_deleted": true },
        ] },
        "jobs": [{ "id": "j1", "name": "Driver" }],
        "job_interview_stages": [{ "id": "s1", "name": "Phone Screen" }],
        "reject_reasons": [{ "id": "r1", "name": "No licence" }],
        "attachments": [{ "id": "f1", "candidate": "c1", "file_name": "cv.pdf", "attachment_type": "RESUME" }],
        "activities": [
            { "id": "n1", "candidate": "c1", "activity_type": "NOTE", "body": "Kind.", "user": "u1",
              "remote_created_at": "2026-01-01T00:00:00Z", "visibility": "PUBLIC" },
            { "id": "n2", "candidate": "c1", "activity_type": "EMAIL", "subject": "Hi", "body": "You", "visibility": null },
            { "id": "n3", "candidate": "c1", "activity_type": "NOTE", "body": "No.", "visibility": "PRIVATE" },
            { "id": "n4", "candidate": "c1", "activity_type": "OTHER", "body": "Moved." },
        ],
        "users": [{ "id": "u1", "first_name": "Jo", "last_name": "Doe" }],
    });
    let outcome = read_value(FileFormat::Merge, &all);
    let (row, warnings) = &outcome.rows[0];
    let expected = json!({
        "external_id": "7",
        "name": "Anna Weber",
        "files": [{ "name": "cv.pdf", "kind": "resume" }],
        "notes": [
            { "text": "Kind.", "author": "Jo Doe", "at": "2026-01-01T00:00:00.000Z" },
            { "text": "Hi\n\nYou" },
        ],
        "applications": [{
            "external_id": "a1",
            "role": { "title": "Driver" },
            "stage": "screening",
            "status": "rejected",
            "rejection": { "by": "team", "reason": "No licence" },
        }],
    });
    assert_eq!(row.as_ref().unwrap(), &expected);
    assert_eq!(warnings, "notes: 1 that not everybody could see were left out");
    assert_eq!(outcome.report.warnings, Vec::<String>::new());
}

#[test]
fn stages_and_states_never_contradict_each_other() {
    let row = |application: &Value| {
        let mut application = application.clone();
        application["candidate_id"] = 1.into();
        application["job_id"] = 7.into();
        let all = json!({
            "candidates": [{ "id": 1, "first_name": "Anna" }],
            "jobs": [{ "id": 7, "name": "Driver" }],
            "applications": [application],
        });
        let mut outcome = read_value(FileFormat::Harvest, &all);
        let row = outcome.rows.remove(0).0.unwrap();
        let application = &row["applications"][0];
        (application["stage"].clone(), application["status"].clone(), row["notes"][0]["text"].clone())
    };
    for (application, stage, status, note) in [
        (
            json!({ "status": "in_process", "stage_name": " phone INTERVIEW " }),
            "screening".into(),
            "active",
            Value::Null,
        ),
        (json!({ "stage_name": null }), Value::Null, "active", Value::Null),
        (json!({ "status": "hired", "stage_name": "Offer" }), "hired".into(), "hired", Value::Null),
        (json!({ "status": "rejected", "stage_name": "Offer" }), "offer".into(), "rejected", Value::Null),
        (json!({ "status": "rejected", "stage_name": "Archived" }), Value::Null, "rejected", Value::Null),
        (
            json!({ "status": "in_process", "stage_name": "Offer accepted" }),
            "applied".into(),
            "active",
            "Stage for Driver: Offer accepted".into(),
        ),
        (
            json!({ "status": "rejected", "stage_name": "Trial\nday" }),
            "applied".into(),
            "rejected",
            "Stage for Driver: Trial day".into(),
        ),
    ] {
        assert_eq!(row(&application), (stage, status.into(), note), "{application}");
    }
}

#[test]
fn what_a_field_has_no_room_for_is_in_a_note() {
    let (long, tag) = ("x".repeat(12_000), "y".repeat(51));
    let mut tags: Vec<_> = (0..20).map(|number| format!("tag {number}")).collect();
    tags.push(tag.clone());
    let all = json!({
        "candidates": [{ "id": 1, "first_name": "Anna\nMaria", "last_name": "z".repeat(250), "tags": tags }],
        "jobs": [{ "id": 7, "name": format!("Driver {}", "j".repeat(200)) }],
        "applications": [{
            "candidate_id": 1, "job_id": 7,
            "answers": [{ "question": "q".repeat(201), "answer": long }],
        }],
        "notes": [{ "candidate_id": 1, "body": long.clone() + "\u{0}" }, { "candidate_id": 1, "body": " \u{7} " }],
    });
    let outcome = read_value(FileFormat::Harvest, &all);
    let (row, warnings) = &outcome.rows[0];
    let row = row.as_ref().unwrap();
    assert_eq!(row["name"].as_str().unwrap().len(), 200);
    assert_eq!(row["tags"].as_array().unwrap().len(), 20);
    let application = &row["applications"][0];
    assert_eq!(application["role"]["title"].as_str().unwrap().len(), 200);
    assert_eq!(application["answers"][0]["label"].as_str().unwrap().len(), 200);
    assert_eq!(application["answers"][0]["value"].as_str().unwrap().len(), 5_000);
    let mut kept = String::new();
    for note in row["notes"].as_array().unwrap() {
        writeln!(kept, "{}", note["text"].as_str().unwrap()).unwrap();
    }
    for text in ["z".repeat(250), tag, "j".repeat(200), "q".repeat(201)] {
        assert!(kept.contains(&text), "{text}");
    }
    // The answer and the note, each in three notes.
    assert_eq!(kept.matches('x').count(), 24_000);
    for path in
        ["name has", "tags has more", "role.title has", "answers[0].label has", "answers[0].value has"]
    {
        assert!(warnings.contains(path), "{path} is not in {warnings}");
    }
}

#[test]
fn lists_are_never_too_long_for_a_row() {
    let many = |count: usize, value: &Value| Value::from(vec![value.clone(); count]);
    let all = json!({
        "candidates": [{ "id": 1, "first_name": "Anna" }],
        "jobs": [{ "id": 7, "name": "Driver" }],
        "applications": many(201, &json!({ "candidate_id": 1, "job_id": 7 })),
        "attachments": many(21, &json!({ "candidate_id": 1, "filename": "x.pdf" })),
        "notes": many(1_001, &json!({ "candidate_id": 1, "body": "x" })),
    });
    let outcome = read_value(FileFormat::Harvest, &all);
    let (row, warnings) = &outcome.rows[0];
    let row = row.as_ref().unwrap();
    for (list, max) in [("applications", 200), ("files", 20), ("notes", 1_000)] {
        assert_eq!(row[list].as_array().unwrap().len(), max);
        assert!(
            warnings.contains(&format!("{list} has {} entries: only {max} are taken", max + 1)),
            "{warnings}"
        );
    }
}

#[test]
fn a_file_that_has_the_name_of_another_persons_is_a_warning() {
    let file = |candidate: u64, name: &str| json!({ "candidate_id": candidate, "filename": name });
    let candidates = [1, 2, 3].map(|id| json!({ "id": id, "first_name": "Anna" }));
    let warnings = |files: &[Value]| {
        let all = json!({ "candidates": candidates, "attachments": files });
        read_value(FileFormat::Harvest, &all).report.warnings.join("\n")
    };
    let own = warnings(&[file(1, "a.pdf"), file(1, "a.pdf"), file(2, "b.pdf")]);
    assert!(!own.contains("several people"), "{own}");
    let shared = warnings(&[file(1, "CV.pdf"), file(2, "cv.pdf"), file(3, "cv.pdf"), file(3, "b.pdf")]);
    assert!(
        shared.contains("Files of several people have one name: cv.pdf. Give them other names"),
        "{shared}"
    );
}

#[test]
fn what_is_not_json_is_refused_and_what_is_no_person_is_a_row() {
    for text in ["{", "[1,", "{\"a\":1}x", "[{}] ]"] {
        let refused = read(FileFormat::Merge, text).err().unwrap();
        assert!(refused.starts_with("The file can't be read as JSON: "), "{refused}");
    }
    let not_utf8 =
        gather(FileFormat::Merge, |settings, each| read_file(Cursor::new(b"[\xff]"), settings, now(), each));
    assert!(not_utf8.err().unwrap().contains("it is not UTF-8"));
    let outcome =
        read(FileFormat::Merge, "[1, null,\n\"x\", [], {\"first_name\": \"\\ud800\"}, {}]").unwrap();
    assert_eq!(outcome.lines, [1, 1, 2, 2, 2, 2]);
    assert!(
        outcome.rows[..5]
            .iter()
            .all(|(row, _)| row.as_ref().unwrap_err().contains("row must be a JSON object"))
    );
    assert_eq!(outcome.rows[5].0.as_ref().unwrap_err(), "name can't be blank");
    assert_eq!(read(FileFormat::Merge, "").unwrap().rows.len(), 0);
}

#[test]
fn a_folder_needs_candidates_and_a_format() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let refused = |format, folder: &Path| {
        gather(format, |settings, each| read_folder(folder, settings, now(), each)).err().unwrap()
    };
    assert!(
        refused(FileFormat::Csv, &folder.join("files/harvest"))
            .contains("only the formats harvest and merge")
    );
    assert!(refused(FileFormat::Harvest, folder).contains("There is no list of candidates"));
}

/// Any JSON with the names of the fields.
fn any_json() -> impl Strategy<Value = Value> {
    const NAMES: &[&str] = &[
        "id",
        "remote_id",
        "candidate",
        "candidate_id",
        "candidates",
        "results",
        "applications",
        "application_id",
        "jobs",
        "job",
        "job_id",
        "name",
        "first_name",
        "last_name",
        "email_addresses",
        "phone_numbers",
        "value",
        "tags",
        "created_at",
        "applied_at",
        "rejected_at",
        "status",
        "stage_name",
        "current_stage",
        "reject_reason",
        "answers",
        "question",
        "answer",
        "notes",
        "body",
        "activities",
        "user",
        "attachments",
        "filename",
        "type",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![
            "1",
            "a@x.example",
            "+4915112345678",
            "2026-01-01T00:00:00Z",
            "Offer",
            "rejected",
            "\u{0}",
            ""
        ])
        .prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 96, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(NAMES), inner), 0..8).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_read_or_refused(value in any_json(), others in any_json(), is_merge: bool) {
        let format = if is_merge { FileFormat::Merge } else { FileFormat::Harvest };
        read(format, &value.to_string()).unwrap();
        let named = json!({ "candidates": [{ "id": 1, "first_name": "A", "applications": value }], "applications": [others], "jobs": value });
        let outcome = read_value(format, &named);
        prop_assert_eq!(outcome.rows.len(), 1);
    }

    #[test]
    fn any_text_is_read_or_refused(text: String, is_merge: bool) {
        let format = if is_merge { FileFormat::Merge } else { FileFormat::Harvest };
        let _ = read(format, &text);
    }
}
