//! The dashboard's lists of candidates: order by score, counts, pages, and the way through a list from person to person.

use serde_json::json;
use shared::id::Id;
use shared::model::{CandidateRecord, Mode, Stage};
use shared::store::{CandidateList, MaybeErased, Paging, Transaction};
use tests::browser::{Browser, plain};
use tests::dashboard::{links, owner};
use tests::interceptor::RecordedCall;
use tests::{ACME, GLOBEX, Response, TestApi, tenant};

use crate::dashboard_pages::text_of;

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

async fn post_job(api: &TestApi) -> u64 {
    let posted = json!({ "role": { "title": "Cook" } });
    api.post("/api/v1/quick_post", posted).await.expect(201).number("/role/id")
}

/// Adds a candidate with an application, and with its score if there is one.
async fn add(api: &TestApi, role: u64, number: usize, score: Option<u8>) -> u64 {
    let body =
        json!({ "name": format!("P{number}"), "email": format!("p{number}@example.com"), "role_id": role });
    let id = api.post("/api/v1/candidates", body).await.expect(201).number("/id");
    if score.is_some() {
        rate(api, id, role, score).await;
    }
    id
}

/// Gives an application a score, as the end of a voice screen does.
async fn rate(api: &TestApi, candidate: u64, role: u64, score: Option<u8>) {
    let (acme, role) = (tenant(ACME, Mode::Live), Id::new(role).unwrap());
    let found = api.store().find_candidate(acme, Id::new(candidate).unwrap()).await.unwrap();
    let before: CandidateRecord = found.and_then(MaybeErased::present).unwrap();
    let mut after = before.clone().advance_version();
    for application in after.applications.iter_mut().filter(|application| application.role.id == role) {
        application.score = score;
    }
    let mut transaction = Transaction::new(acme);
    transaction.replace_candidate(&before, &after, &[]).unwrap();
    api.store().commit(transaction).await.unwrap();
}

/// The candidates in a list by score, and the scores in their positions.
async fn scored(api: &TestApi, role: u64, stage: Stage, least: u8) -> Vec<(u64, String)> {
    let list = CandidateList::Scored { role: Id::new(role).unwrap(), stage, least };
    let page = Paging { limit: 1_000, before: None };
    let read = api.store().list_candidate_places(tenant(ACME, Mode::Live), &list, &page).await.unwrap();
    read.items.into_iter().map(|place| (place.id.get(), place.position[..3].to_owned())).collect()
}

/// The candidates on a page of a list, in order.
fn people(page: &Response) -> Vec<u64> {
    let rows = page.text.split("<th scope=\"row\">").skip(1);
    let id = |row: &str| {
        let path = row.split("href=\"/dashboard/candidates/").nth(1).unwrap();
        path.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
    };
    rows.map(id).collect()
}

/// The address of the page's link with this relation.
fn related(page: &Response, relation: &str) -> Option<String> {
    let rest = page.text.split(&format!("rel=\"{relation}\" href=\"")).nth(1)?;
    Some(plain(rest.split('"').next().unwrap()))
}

fn id_in(path: &str) -> u64 {
    let path = path.strip_prefix("/dashboard/candidates/").unwrap();
    path.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn people_of_a_role_and_stage_are_listed_from_the_highest_score() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api).await;
    let mut expected = Vec::new();
    for number in 0..60 {
        // The scores 100, 99, ... 71, each twice, in an order of their own, and everybody else has none.
        let score = (number % 2 == 0).then(|| 100 - u8::try_from(number * 7 % 30).unwrap());
        let id = add(&api, role, number, score).await;
        expected.extend(score.map(|score| (score, id)));
    }
    expected.sort_unstable_by(|a, b| b.cmp(a));
    let list = format!("/dashboard/candidates?role_id={role}&stage=applied");
    api.dynamodb.take_calls();
    let first = ada.get(&format!("{list}&order=score")).await.expect(200);
    let calls = api.dynamodb.take_calls();
    let scored =
        |call: &&RecordedCall| call.operation == "Query" && call.request.to_string().contains("#SCORED#");
    let query = calls.iter().find(scored).unwrap();
    assert_eq!((&query.response["Count"], &query.response["ScannedCount"]), (&json!(26), &json!(26)));
    let ids: Vec<_> = expected.iter().map(|(_, id)| *id).collect();
    assert_eq!(people(&first), ids[..25]);
    assert!(first.text.contains(&format!("data-label=\"Score\" class=\"number\">{}</td>", expected[0].0)));
    let second = ada.get(&related(&first, "next").unwrap()).await.expect(200);
    assert_eq!((people(&second), related(&second, "next")), (ids[25..].to_vec(), None));
    let back = ada.get(&related(&second, "prev").unwrap()).await.expect(200);
    assert_eq!((people(&back), related(&back, "prev")), (ids[..25].to_vec(), None));
    // A least score includes the score itself, and implies the order.
    for least in [0, 71, 80, 100] {
        let page = ada.get(&format!("{list}&least={least}")).await.expect(200);
        let enough: Vec<_> =
            expected.iter().filter(|(score, _)| *score >= least).map(|(_, id)| *id).collect();
        assert_eq!(people(&page), enough[..enough.len().min(25)], "{least}");
        let mut pages = people(&page);
        if let Some(next) = related(&page, "next") {
            pages.extend(people(&ada.get(&next).await.expect(200)));
        }
        assert_eq!(pages, enough, "{least}");
    }
    // Nobody is selected by score.
    let text = text_of(&first);
    assert!(
        text.contains("Only people with a score are shown.") && !text.contains("Select all shown"),
        "{text}"
    );
    assert_eq!(first.text.matches("type=\"checkbox\"").count(), 25);
    let all = ada.get(&format!("{list}&order=score&all=yes")).await.expect(200);
    assert!(!all.text.contains(" checked"), "{}", all.text);
    let newest = ada.get(&list).await.expect(200);
    assert!(text_of(&newest).contains("Select all shown"));
    // Another organization has no such role.
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    grace.get(&format!("{list}&order=score")).await.expect(404);
}

#[tokio::test]
async fn an_order_by_score_needs_a_role_and_a_stage_and_a_number() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api).await;
    let id = add(&api, role, 1, None).await;
    for query in ["order=score&least=50", "order=score&stage=applied", &format!("order=score&role_id={role}")]
    {
        let page = ada.get(&format!("/dashboard/candidates?{query}")).await.expect(200);
        assert_eq!(people(&page), [id], "{query}");
        assert!(text_of(&page).contains("Choose a role and a stage to sort by score."), "{query}");
        assert!(!page.text.contains("name=\"least\""), "{query}");
    }
    let list = format!("/dashboard/candidates?role_id={role}&stage=applied&order=score");
    for least in ["101", "-1", "many", "7.5"] {
        let page = ada.get(&format!("{list}&least={least}")).await.expect(422);
        assert!(page.text.contains(&format!("value=\"{least}\"")), "{least}: {}", page.text);
        assert!(page.text.contains("Enter a score from 0 to 100."), "{least}: {}", page.text);
    }
    let empty = ada.get(&format!("{list}&least=50")).await.expect(200);
    assert!(text_of(&empty).contains("Nobody in this stage has such a score."), "{}", empty.text);
    for before in ["000%230000000000000001", "050%230000000000000001", "x", "999%239999999999999999"] {
        ada.get(&format!("{list}&least=50&before={before}")).await.expect(200);
    }
}

#[tokio::test]
async fn the_list_by_score_follows_every_change() {
    let api = TestApi::new().await;
    let role = post_job(&api).await;
    let ann = add(&api, role, 1, Some(80)).await;
    let bo = add(&api, role, 2, None).await;
    let path = format!("/api/v1/candidates/{ann}");
    let is = async |stage, expected: &[(u64, &str)]| {
        let listed = scored(&api, role, stage, 0).await;
        let expected: Vec<_> = expected.iter().map(|(id, score)| (*id, (*score).to_owned())).collect();
        assert_eq!(listed, expected, "{stage:?}");
    };
    is(Stage::Applied, &[(ann, "080")]).await;
    rate(&api, bo, role, Some(100)).await;
    rate(&api, ann, role, Some(7)).await;
    is(Stage::Applied, &[(bo, "100"), (ann, "007")]).await;
    api.post(&format!("{path}/reject"), json!({ "role_id": role })).await.expect(200);
    is(Stage::Applied, &[(bo, "100")]).await;
    is(Stage::Rejected, &[(ann, "007")]).await;
    api.post(&format!("{path}/unreject"), json!({ "role_id": role })).await.expect(200);
    is(Stage::Rejected, &[]).await;
    is(Stage::Applied, &[(bo, "100"), (ann, "007")]).await;
    // An edit and a closed role change nothing.
    api.patch(&path, json!({ "name": "Ann" })).await.expect(200);
    api.delete(&format!("/api/v1/roles/{role}")).await.expect(200);
    api.run_tasks().await;
    is(Stage::Applied, &[(bo, "100"), (ann, "007")]).await;
    api.post(&format!("/api/v1/candidates/{bo}/erase"), json!({ "reason": "request" })).await.expect(202);
    let ada = acme(&api).await;
    let list = format!("/dashboard/candidates?role_id={role}&stage=applied&order=score");
    assert_eq!(people(&ada.get(&list).await.expect(200)), [ann], "an erased person is not listed");
    api.run_tasks().await;
    is(Stage::Applied, &[(ann, "007")]).await;
}

#[tokio::test]
async fn lists_of_a_role_show_counts_and_the_way_back() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api).await;
    for number in 0..60 {
        let id = add(&api, role, number, None).await;
        if number % 10 == 0 {
            let offer = json!({ "stage": "offer", "role_id": role });
            api.post(&format!("/api/v1/candidates/{id}/advance"), offer).await.expect(200);
        }
    }
    let list = format!("/dashboard/candidates?role_id={role}");
    let first = ada.get(&list).await.expect(200);
    assert!(text_of(&first).contains("25 of 60 candidates"), "{}", first.text);
    for (stage, count) in [("Applied", 54), ("Offer", 6), ("Hired", 0)] {
        assert!(first.text.contains(&format!(">{stage} {count}</a>")), "{stage}: {}", first.text);
    }
    let offers = ada.get(&format!("{list}&stage=offer")).await.expect(200);
    assert!(text_of(&offers).contains("6 of 6 candidates"), "{}", offers.text);
    let everybody = ada.get("/dashboard/candidates").await.expect(200);
    assert!(!text_of(&everybody).contains(" of 60"), "no counter has everybody");
    let second = ada.get(&related(&first, "next").unwrap()).await.expect(200);
    let third = ada.get(&related(&second, "next").unwrap()).await.expect(200);
    assert_eq!(people(&third).len(), 10);
    let shown = |page: &Response| (people(page), text_of(page).contains("First page"));
    let back = ada.get(&related(&third, "prev").unwrap()).await.expect(200);
    assert_eq!((people(&back), shown(&third).1, shown(&back).1), (people(&second), true, false));
    // A new candidate comes first, and the pages that the member comes back to stay the same.
    let new = add(&api, role, 60, None).await;
    let back = ada.get(&related(&back, "prev").unwrap()).await.expect(200);
    assert_eq!(people(&back)[..2], [new, people(&first)[0]]);
    // "Select all shown" stays on the page.
    let all = links(&second, &list).into_iter().find(|link| link.ends_with("&all=yes")).unwrap();
    let all = ada.get(&all).await.expect(200);
    assert_eq!((people(&all), all.text.matches(" checked").count()), (people(&second), 25));
}

#[tokio::test]
async fn a_candidates_page_leads_through_the_list_that_it_was_opened_from() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api).await;
    for number in 0..55 {
        add(&api, role, number, (number % 5 == 0).then_some(90)).await;
    }
    let filtered = format!("/dashboard/candidates?role_id={role}&stage=applied");
    let (all, found) = ("/dashboard/candidates".to_owned(), "/dashboard/candidates?by=&search=p".to_owned());
    for list in [all, filtered.clone(), format!("{filtered}&order=score"), found] {
        let (mut expected, mut next) = (Vec::new(), Some(list.clone()));
        while let Some(path) = next {
            let page = ada.get(&path).await.expect(200);
            expected.extend(people(&page));
            next = related(&page, "next");
        }
        let first = ada.get(&list).await.expect(200);
        let mut path = links(&first, &format!("/dashboard/candidates/{}?", expected[0])).remove(0);
        let (mut forth, mut back) = (vec![id_in(&path)], vec![]);
        while let Some(next) = related(&ada.get(&path).await.expect(200), "next") {
            forth.push(id_in(&next));
            path = next;
        }
        assert_eq!(forth, expected, "{list}");
        // From the last page, the way back to the list is the last page.
        let last = ada.get(&path).await.expect(200);
        let last = ada.get(&links(&last, "/dashboard/candidates?").remove(0)).await.expect(200);
        assert!(people(&last).contains(expected.last().unwrap()), "{list}");
        while let Some(previous) = related(&ada.get(&path).await.expect(200), "prev") {
            back.push(id_in(&previous));
            path = previous;
        }
        back.reverse();
        assert_eq!(back, expected[..expected.len() - 1], "{list}");
    }
    // Whoever is moved out of the list keeps the neighbours.
    let first = ada.get(&filtered).await.expect(200);
    let [one, two, three] = people(&first)[..3] else { panic!("three people") };
    let path = links(&first, &format!("/dashboard/candidates/{two}?")).remove(0);
    let query = path.split_once('?').unwrap().1;
    let number = role.to_string();
    let fields = [("role_id", number.as_str()), ("seen", "applied"), ("to", "interview")];
    let moved = ada.post(&format!("/dashboard/candidates/{two}/move?{query}"), &fields).await.expect(303);
    let page = ada.get(moved.header("location")).await.expect(200);
    assert!(text_of(&page).contains("was moved to"), "{}", page.text);
    assert_eq!(related(&page, "prev").map(|path| id_in(&path)), Some(one));
    assert_eq!(related(&page, "next").map(|path| id_in(&path)), Some(three));
    let steps = links(&page, &format!("/dashboard/candidates/{two}/move?list="));
    let step = ada.get(&steps[0]).await.expect(200);
    assert!(step.text.contains(&format!("/dashboard/candidates/{two}/move?{query}\"")), "{}", step.text);
    let fields = [("text", "Knows knives.")];
    let noted = ada.post(&format!("/dashboard/candidates/{two}/notes?{query}"), &fields).await.expect(303);
    assert!(noted.header("location").contains(query), "{:?}", noted.header("location"));
}

#[tokio::test]
async fn a_list_in_an_address_leads_nowhere_else() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api).await;
    let (one, two) = (add(&api, role, 1, None).await, add(&api, role, 2, None).await);
    let path = format!("/dashboard/candidates/{two}");
    for list in [
        "https://evil.example/",
        "//evil.example",
        "\"><script>alert(1)</script>",
        "javascript:alert(1)",
        "%26before=x%26earlier=%22%3E",
        "search=%3Cscript%3E%26by=//evil.example",
    ] {
        let list = list.replace(['"', '<', '>'], "");
        let page = ada.get(&format!("{path}?list={list}")).await.expect(200);
        let own = "href=\"/dashboard/candidates";
        let around = page.text.split("<nav class=\"around\"").nth(1).unwrap().split("</nav>").next().unwrap();
        assert_eq!(around.matches("href=").count(), around.matches(own).count(), "{list}: {around}");
        assert!(!around.contains("evil.example/") && !around.contains("javascript:"), "{list}: {around}");
    }
    let page = ada.get(&format!("{path}?list=stage%3Dnonsense")).await.expect(200);
    assert!(!page.text.contains("class=\"around\""), "a list that does not exist is ignored");
    for list in ["search%3Dp%26before%3Dx", "search%3Dp%26before%3Dabcdefghijklmnopqrstuvwxyz"] {
        let page = ada.get(&format!("{path}?list={list}")).await.expect(200);
        assert_eq!((related(&page, "prev"), related(&page, "next")), (None, None), "{list}");
    }
    // Without a list, the page makes no other call; with one, it makes one more.
    for (query, queries) in [("", 5), ("?list=", 6), ("?list=stage%3Dapplied", 6), ("?list=search%3Dp", 6)] {
        api.dynamodb.take_calls();
        ada.get(&format!("{path}{query}")).await.expect(200);
        let calls = api.dynamodb.take_calls();
        assert_eq!(calls.iter().filter(|call| call.operation == "Query").count(), queries, "{query}");
    }
    let found = ada.get(&format!("{path}?list=search%3Dp2")).await.expect(200);
    assert_eq!(links(&found, "/dashboard/candidates?"), ["/dashboard/candidates?by=&search=p2"]);
    // Another organization's role has none of this organization's people.
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    let body = json!({ "name": "G", "email": "g@example.com" });
    let request =
        api.request("POST".parse().unwrap(), "/api/v1/candidates").key(GLOBEX, Mode::Live).json(&body);
    let foreign = request.send().await.expect(201).number("/id");
    let list = format!("list=role_id%3D{role}%26stage%3Dapplied");
    let page = grace.get(&format!("/dashboard/candidates/{foreign}?{list}")).await.expect(200);
    assert_eq!((related(&page, "prev"), related(&page, "next")), (None, None));
    let page = ada.get(&format!("/dashboard/candidates/{two}?{list}")).await.expect(200);
    assert_eq!(related(&page, "next").map(|path| id_in(&path)), Some(one));
}
