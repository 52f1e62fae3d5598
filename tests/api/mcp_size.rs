//! The size of what the MCP function sends, in tokens.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use shared::id::{Id, Ids};
use shared::model::{
    Analysis, CandidateRecord, Excerpt, ExternalId, Mode, Name, Outcome, Places, Profile, Report, Role,
    RoleContent, Scores, Source, Speaker, Tag, Tags, Text, Turn,
};
use shared::services::screening;
use shared::store::Transaction;
use tests::assistant::Assistant;
use tests::{ACME, Fixtures, Response, TestApi, tenant};

use crate::finding_cost::{self, COUNT, scale};

/// The maximum number of tokens of an answer.
const MAX: usize = 8_000;

/// The number of tokens of a response, by the larger of two tokenizers.
fn tokens(response: &Response) -> usize {
    let of = |tokenizer: &tiktoken_rs::CoreBPE| tokenizer.encode_ordinary(&response.text).len();
    of(tiktoken_rs::o200k_base_singleton()).max(of(tiktoken_rs::cl100k_base_singleton()))
}

/// Texts whose characters have many tokens each, or whose words have many.
const DENSE: [&str; 6] = ["\u{2A6D6}\u{2A6B2}", "𓀀𓂀", "!?;#%^&*~", "qXzJvKwQ", "漢字語彙", "1a2b3c"];

/// A text of this length.
fn dense(kind: usize, characters: usize) -> String {
    DENSE[kind % DENSE.len()].chars().cycle().take(characters).collect()
}

fn text<const MAX: usize, const LINES: bool>(text: &str) -> Text<MAX, LINES> {
    Text::parse(text).unwrap().unwrap()
}

/// Calls a tool, which must succeed within the maximum.
async fn answer(assistant: &Assistant<'_>, tool: &str, arguments: Value) -> Value {
    let response = assistant.try_call(tool, arguments.clone()).await.expect(200);
    let tokens = tokens(&response);
    assert!(tokens <= MAX, "{tool} {arguments}: {tokens} tokens");
    let result = &response.body["result"];
    assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
    result["structuredContent"].clone()
}

/// Calls a tool until there are no more pages, at most `pages` times.
async fn pages(assistant: &Assistant<'_>, tool: &str, arguments: Value, pages: u64) -> Vec<Value> {
    let (mut answers, mut arguments) = (Vec::new(), arguments);
    for _ in 0..pages {
        let answer = answer(assistant, tool, arguments.clone()).await;
        let next = answer["next_cursor"].clone();
        answers.push(answer);
        if next.is_null() {
            break;
        }
        arguments["cursor"] = next;
    }
    answers
}

#[tokio::test]
async fn the_list_of_tools_has_less_than_6000_tokens() {
    let api = TestApi::new().await;
    let list = Assistant::new(&api).send("tools/list", json!({})).await.expect(200);
    let tokens = tokens(&list);
    println!("tools/list: {tokens} tokens");
    assert!(tokens < 6_000, "{tokens} tokens");
}

/// `FINDING_SCALE=80` makes it 100,000 candidates.
#[tokio::test]
async fn every_answer_has_at_most_8000_tokens() {
    let api = TestApi::new().await;
    let assistant = Assistant::new(&api);
    finding_cost::write(&api, 0..COUNT * scale()).await;

    // All candidates are found, page by page.
    let all = pages(&assistant, "search_candidates", json!({ "limit": 100 }), 200).await;
    let ids = |answers: &[Value], list: &str| -> Vec<u64> {
        let lists = answers.iter().flat_map(|answer| answer[list].as_array().unwrap().clone());
        lists.map(|one| one["id"].as_u64().unwrap()).collect()
    };
    let found = ids(&all, "candidates");
    assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len(), "each only once");
    if scale() == 1 {
        assert_eq!(found.len() as u64, COUNT);
    }
    for arguments in [
        json!({ "q": "jane", "limit": 100 }),
        json!({ "tag": "everybody", "limit": 100, "response_format": "detailed" }),
        json!({ "stage": "applied", "limit": 100, "response_format": "detailed" }),
        json!({ "source": "career_page" }),
    ] {
        pages(&assistant, "search_candidates", arguments, 8).await;
    }
}

#[tokio::test]
async fn the_longest_records_have_at_most_8000_tokens() {
    let api = TestApi::new().await;
    let assistant = Assistant::new(&api);
    let of = Fixtures::new(&api).await;
    let now = api.environment.clock.now();
    for kind in 0..DENSE.len() {
        let id = 2_000_000_000_000_000 + kind as u64;
        let tag = |number: usize| -> Tag { text(&format!("{number}{}", dense(kind, 47))) };
        let profile = Profile {
            tags: Tags::of((0..20).map(tag)),
            source: Some(Source::CAREER_PAGE),
            external_id: ExternalId::parse(&format!("{kind}{}", "q7".repeat(20))).unwrap(),
            ..Profile::new(
                Name::parse(&dense(kind, 200)).unwrap().unwrap(),
                format!("{kind}{}@example.com", "q7".repeat(20)).parse().unwrap(),
            )
        };
        let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
        let record = CandidateRecord::new(Id::new(id).unwrap(), profile, now);
        transaction.insert_candidate(record, &[]).unwrap();
        let mut content = RoleContent::titled(text(&dense(kind, 200)));
        content.description = Some(text(&dense(kind, 20_000)));
        content.places = Places::named(Some(text(&dense(kind, 200))), None);
        content.department = Some(text(&dense(kind, 100)));
        let role = Role::draft(Id::new(id).unwrap(), content, now).publish(now).unwrap();
        transaction.insert_role(&role).unwrap();
        api.store().commit(transaction).await.unwrap();
        let notes = format!("/api/v1/candidates/{id}/notes");
        for _ in 0..3 {
            api.post(&notes, json!({ "text": dense(kind, 5_000) })).await.expect(201);
        }
        api.post(&format!("/api/v1/candidates/{id}/applications"), json!({ "role_id": id }))
            .await
            .expect(201);
    }
    pages(&assistant, "search_candidates", json!({ "limit": 100, "response_format": "detailed" }), 20).await;
    pages(&assistant, "list_roles", json!({ "limit": 100, "response_format": "detailed" }), 20).await;
    pages(&assistant, "pipeline_report", json!({ "limit": 100 }), 20).await;
    for kind in 0..DENSE.len() {
        let id = 2_000_000_000_000_000 + kind as u64;
        answer(&assistant, "list_roles", json!({ "role_id": id })).await;
        answer(&assistant, "save_role", json!({ "role_id": id, "response_format": "detailed" })).await;
        answer(&assistant, "pipeline_report", json!({ "role_id": id })).await;
        answer(&assistant, "get_candidate", json!({ "candidate_id": id })).await;
        let detailed = json!({ "candidate_id": id, "response_format": "detailed" });
        let notes = pages(&assistant, "get_candidate", detailed, 200).await;
        let read: String = notes
            .iter()
            .flat_map(|answer| answer["untrusted"]["notes"].as_array().unwrap())
            .map(|note| note["text"].as_str().unwrap())
            .collect();
        assert_eq!(read, dense(kind, 5_000).repeat(3), "all notes are read to the end");
    }

    let turns = (0..60).map(|number: u32| {
        let length = if number == 3 { 30_000 } else { 400 };
        Turn { speaker: Speaker::Candidate, text: dense(number as usize, length), at_seconds: number }
    });
    let turns: Vec<_> = turns.collect();
    let excerpt = |number| Excerpt { text: dense(number, 1_000), turn: None };
    let report = Report {
        outcome: Outcome::Completed,
        started_at: None,
        ended_at: None,
        transcript: turns.clone(),
        analysis: Some(Analysis {
            summary: Some(dense(0, 10_000)),
            scores: Scores::default(),
            highlights: (0..20).map(excerpt).collect(),
            red_flags: (0..20).map(excerpt).collect(),
        }),
    };
    end_screen(&api, of.screen, report).await;
    let detailed = json!({ "screen_id": of.screen, "response_format": "detailed" });
    let parts = pages(&assistant, "get_screen", detailed, 500).await;
    let read: String = parts
        .iter()
        .flat_map(|answer| answer["untrusted"]["transcript"].as_array().unwrap())
        .map(|turn| turn["text"].as_str().unwrap())
        .collect();
    assert_eq!(
        read,
        turns.iter().map(|turn| turn.text.as_str()).collect::<String>(),
        "the whole transcript is read"
    );
}

#[tokio::test]
async fn all_changes_are_listed_in_answers_of_at_most_8000_tokens() {
    let api = TestApi::new().await;
    let assistant = Assistant::new(&api);
    let role = api.post("/api/v1/quick_post", json!({ "role": { "title": "Cook" } })).await.expect(201);
    for number in 0..40 {
        let person = json!({
            "name": "Ada", "email": format!("{number}@example.com"), "role_id": role.number("/role/id"),
        });
        let id = api.post("/api/v1/candidates", person).await.expect(201).number("/id");
        let every = json!({
            "name": "Eve", "email": format!("new{number}@example.com"), "phone": "+14155552671", "tags": ["x"],
            "source": "fair", "external_id": format!("{number}"), "resume_url": "https://example.com/x.pdf",
        });
        api.patch(&format!("/api/v1/candidates/{id}"), every).await.expect(200);
        let advance = format!("/api/v1/candidates/{id}/advance");
        api.post(&advance, json!({ "stage": "interview" })).await.expect(200);
    }
    api.run_whole_feed().await;
    let events = api.get("/api/v1/events?limit=1000").await.expect(200).body;
    for format in ["concise", "detailed"] {
        let (mut seen, mut answers) = (Vec::new(), 0);
        let mut arguments = json!({ "limit": 1_000, "response_format": format });
        loop {
            let page = answer(&assistant, "list_changes", arguments.clone()).await;
            answers += 1;
            seen.extend(
                page["changes"].as_array().unwrap().iter().map(|change| change["subject"]["id"].clone()),
            );
            arguments["after"] = page["position"].clone();
            if page["has_more"] == false {
                break;
            }
        }
        assert_eq!(arguments["after"], events["position"]);
        let expected = events["data"].as_array().unwrap().iter().map(|event| event["subject"]["id"].clone());
        assert!(answers > 1 && seen.into_iter().eq(expected), "{format}: each change once, in its order");
    }
}

/// Ends a voice screen with this report.
pub(super) async fn end_screen(api: &TestApi, screen: u64, report: Report) {
    let (tenant, store, now) = (tenant(ACME, Mode::Live), api.store(), api.environment.clock.now());
    let ids = Ids::new(api.environment.clock.clone(), api.environment.random.clone());
    let before = store.find_screen(tenant, Id::new(screen).unwrap()).await.unwrap().unwrap();
    screening::end(store, tenant, &before, before.clone(), report, now, &ids).await.unwrap();
}
