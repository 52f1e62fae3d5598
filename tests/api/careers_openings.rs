//! The list of openings: its content, order and search, and its consistency with the API.

use futures_util::future::join_all;
use jiff::SignedDuration;
use serde_json::{Value, json};
use shared::clock::Timestamp;
use shared::model::{Branding, Mode, Text, challenge};
use shared::random::Random;
use shared::store::{Paging, opening_position};
use tests::careers::{
    Card, Vacancy, cards, insert, next, published, read, sitemap, titles, value, walk, words,
};
use tests::{ACME, BASE_URL, GLOBEX, Response, TestApi, tenant};

const LIST: &str = "/careers/acme";

/// Returns the openings that the list must show, newest first, computed from the API's roles and postings.
async fn expected(api: &TestApi) -> Vec<Value> {
    let live = tenant(ACME, Mode::Live);
    let roles = api.get("/api/v1/roles?limit=100").await.expect(200).body;
    let postings = api.get("/api/v1/job_postings?limit=100").await.expect(200).body;
    let mut openings = Vec::new();
    for posting in postings["data"].as_array().unwrap() {
        let mut roles = roles["data"].as_array().unwrap().iter();
        let role = roles.find(|role| role["id"] == posting["role_id"]).unwrap();
        if posting["published"] != true || role["status"] != "open" {
            continue;
        }
        // The API returns neither `opened_at` nor `published_at`.
        let [role_id, id] = [&role["id"], &posting["id"]].map(|id| id.to_string().parse().unwrap());
        let opened_at = api.store().find_role(live, role_id).await.unwrap().unwrap().opened_at;
        let published_at = api.store().find_posting(live, id).await.unwrap().unwrap().published_at;
        let updated_at =
            [role, posting].map(|from| from["updated_at"].as_str().unwrap().parse::<Timestamp>());
        let updated_at = updated_at.into_iter().map(Result::unwrap).max();
        openings.push(json!({
            "id": posting["id"], "role_id": role["id"], "slug": posting["slug"], "title": posting["title"],
            "department": role["department"], "location": role["location"],
            "country": null, "remote_policy": role["remote_policy"], "employment_type": null,
            "salary": { "min": role["salary_min"], "max": role["salary_max"] },
            "since": opened_at.max(published_at), "updated_at": updated_at,
        }));
    }
    openings.sort_by_key(|opening| {
        (opening["since"].as_str().unwrap().to_owned(), opening["id"].as_u64().unwrap())
    });
    openings.reverse();
    openings
}

/// Returns the card of an opening whose minimum salary is below 1,000 or absent.
fn expected_card(opening: &Value) -> Card {
    let text = |field: &str| opening[field].as_str().map(str::to_owned);
    let workplace = text("remote_policy").map(|policy| match policy.as_str() {
        "onsite" => "On-site".to_owned(),
        policy => policy[..1].to_uppercase() + &policy[1..],
    });
    let salary = opening["salary"]["min"].as_u64().map(|min| format!("from ${min} a year"));
    let marks = [text("department"), text("location"), workplace, salary];
    Card {
        path: format!("{LIST}/{}", opening["slug"].as_str().unwrap()),
        title: text("title").unwrap(),
        marks: marks.into_iter().flatten().collect(),
        date: opening["since"].as_str().unwrap()[..10].to_owned(),
        age: "today".to_owned(),
    }
}

/// Asserts that the list and the table contain exactly the open postings of the API.
async fn assert_listed(api: &TestApi, context: &str) -> Vec<Value> {
    let expected = expected(api).await;
    let page = Paging { limit: 100, before: None };
    let stored = api
        .store()
        .list_openings(tenant(ACME, Mode::Live), &page, api.environment.clock.now())
        .await
        .unwrap()
        .items;
    let stored: Vec<_> = stored.iter().map(|opening| serde_json::to_value(opening).unwrap()).collect();
    assert_eq!(stored, expected, "{context}");
    let list = read(api, LIST).await.expect(200);
    let mut shown: Vec<_> = expected.iter().collect();
    if shown.len() >= 6 {
        // By department, and those without one at the end.
        shown.sort_by_key(|opening| (opening["department"].is_null(), opening["department"].as_str()));
    }
    assert_eq!(cards(&list), shown.into_iter().map(expected_card).collect::<Vec<_>>(), "{context}");
    expected
}

/// Asserts the same for the feed, the sitemap and the pages of these vacancies.
pub(crate) async fn assert_consistent(api: &TestApi, vacancies: &[Vacancy], context: &str) {
    let expected = assert_listed(api, context).await;
    let url = |slug: &Value| format!("{BASE_URL}{LIST}/{}", slug.as_str().unwrap());
    let feed = read(api, &format!("{LIST}/jobs.json")).await.expect(200);
    let feed = feed.body["jobs"].as_array().unwrap().iter().map(|job| {
        json!([job["id"], job["title"], job["location"], job["published_at"], job["updated_at"], job["url"]])
    });
    let jobs = expected.iter().map(|opening| {
        let url = url(&opening["slug"]);
        json!([
            opening["id"],
            opening["title"],
            opening["location"],
            opening["since"],
            opening["updated_at"],
            url
        ])
    });
    assert_eq!(feed.collect::<Vec<_>>(), jobs.collect::<Vec<_>>(), "{context}");
    let map = sitemap(&read(api, &format!("{LIST}/sitemap.xml")).await, "urlset", "url");
    let openings = map.into_iter().filter(|(listed_url, _)| *listed_url != format!("{BASE_URL}{LIST}"));
    let expected_urls = expected
        .iter()
        .map(|opening| (url(&opening["slug"]), Some(opening["updated_at"].as_str().unwrap().to_owned())));
    assert_eq!(openings.collect::<Vec<_>>(), expected_urls.collect::<Vec<_>>(), "{context}");
    for vacancy in vacancies {
        let page = read(api, &vacancy.path()).await;
        let is_listed = expected.iter().any(|opening| opening["id"] == vacancy.posting);
        assert_eq!(page.text.contains("<form"), is_listed, "{context}: {}", vacancy.slug);
        let role = api.get(&vacancy.role_path()).await.expect(200);
        let posting = api.get(&vacancy.posting_path()).await.expect(200);
        let status = match (role.string("/status"), &posting.body["published"]) {
            ("open" | "paused", Value::Bool(true)) => 200,
            _ => 410,
        };
        assert_eq!(page.status, status, "{context}: {}", vacancy.slug);
    }
}

#[tokio::test]
async fn the_list_contains_exactly_the_published_postings_of_open_roles() {
    let api = TestApi::new().await;
    let quick_post = |demo, mode, title: &str| {
        let body = json!({ "role": { "title": title } });
        api.request(http::Method::POST, "/api/v1/quick_post").key(demo, mode).json(&body).send()
    };
    quick_post(GLOBEX, Mode::Live, "Globex job").await.expect(201);
    quick_post(ACME, Mode::Test, "Test job").await.expect(201);
    let draft = json!({ "role": { "title": "Draft" }, "publish": false });
    let draft = Vacancy::post(&api, draft).await;
    draft.step(&api, "publish").await.expect(200);
    let unpublished = json!({ "role": { "title": "Unpublished" }, "publish": false });
    Vacancy::post(&api, unpublished).await.step(&api, "open").await.expect(200);
    for (title, step) in [("Paused", "pause"), ("Closed", "close"), ("No longer published", "unpublish")] {
        Vacancy::open(&api, json!({ "title": title })).await.step(&api, step).await.expect(200);
    }
    api.post("/api/v1/roles", json!({ "title": "Without a posting" })).await.expect(201);
    let empty = read(&api, LIST).await.expect(200);
    assert!(cards(&empty).is_empty() && empty.text.contains("No openings at the moment"), "{}", empty.text);

    let bare = Vacancy::open(&api, json!({ "title": "Bare" })).await;
    let full = json!({
        "title": "Cook & <Chef>", "department": "R&D", "location": "São Paulo \"Centro\"",
        "country": "BR", "remote_policy": "hybrid", "employment_type": "contract", "salary_min": 150_000,
        "salary_max": 190_000, "salary_currency": "BRL",
    });
    let full = Vacancy::open(&api, full).await;
    let remote = json!({ "title": "Away", "location": "remote", "remote_policy": "remote" });
    let remote = Vacancy::open(&api, remote).await;
    let card = |vacancy: &Vacancy, title: &str, marks: &[&str]| Card {
        path: vacancy.path(),
        title: title.to_owned(),
        marks: marks.iter().map(|mark| (*mark).to_owned()).collect(),
        date: "2026-11-20".to_owned(),
        age: "today".to_owned(),
    };
    let list = read(&api, LIST).await.expect(200);
    let salary = "BRL 150,000 to BRL 190,000 a year";
    let marks = ["R&D", "São Paulo \"Centro\"", "Brazil", "Hybrid", "Contract", salary];
    assert_eq!(
        cards(&list),
        [card(&remote, "Away", &["remote"]), card(&full, "Cook & <Chef>", &marks), card(&bare, "Bare", &[])]
    );
    assert_eq!(next(&list), None);
    for mark in &marks[..3] {
        let openings = list.text.split_once("<ul class=\"cards\">").unwrap().1;
        let link = openings.split("<a href=\"").find(|link| words(link).contains(&words(mark)));
        let path = link.and_then(|link| link.split('"').next()).unwrap();
        assert!(path.contains('?'), "{mark}: {path}");
        assert_eq!(titles(&read(&api, path).await.expect(200)), ["Cook & <Chef>"], "{path}");
    }
    assert_eq!(titles(&read(&api, "/careers/globex").await.expect(200)), ["Globex job"]);
    let test = read(&api, "/careers/acme-test").await.expect(200);
    assert_eq!(titles(&test), ["Test job"]);
    assert!(test.text.contains("Test data"));
    for path in ["/careers/acme-test".to_owned(), cards(&test)[0].path.clone()] {
        let page = read(&api, &path).await.expect(200);
        assert_eq!(value(&page, "name=\"robots\" content=\"").as_deref(), Some("noindex"), "{path}");
        assert!(!page.text.contains("application/ld+json"), "{path}");
    }
}

/// The order depends on the later of two times: when the posting was published and when the role was opened.
#[tokio::test]
async fn openings_are_sorted_by_the_time_they_became_public() {
    let api = TestApi::new().await;
    let mut minute = 30;
    let mut tick = || {
        minute += 1;
        api.clock.set(&format!("2026-11-20T09:{minute}:00Z"));
    };
    let draft = |title: &str| json!({ "role": { "title": title }, "publish": false });
    let opened_first = Vacancy::post(&api, draft("Opened first")).await;
    let published_first = Vacancy::post(&api, draft("Published first")).await;
    opened_first.step(&api, "open").await.expect(200);
    tick();
    published_first.step(&api, "publish").await.expect(200);
    tick();
    Vacancy::open(&api, json!({ "title": "At once" })).await;
    tick();
    published_first.step(&api, "open").await.expect(200);
    tick();
    opened_first.step(&api, "publish").await.expect(200);
    let order = async || titles(&read(&api, LIST).await.expect(200));
    assert_eq!(order().await, ["Opened first", "Published first", "At once"]);
    for step in ["pause", "resume"] {
        tick();
        published_first.step(&api, step).await.expect(200);
    }
    api.patch(&published_first.posting_path(), json!({ "requirements": "x" })).await.expect(200);
    assert_eq!(
        order().await,
        ["Opened first", "Published first", "At once"],
        "pausing and editing do not change the order"
    );
    for step in ["unpublish", "publish"] {
        tick();
        published_first.step(&api, step).await.expect(200);
    }
    assert_eq!(order().await, ["Published first", "Opened first", "At once"]);
    assert_consistent(&api, &[opened_first, published_first], "at the end").await;
}

#[tokio::test]
async fn the_age_of_an_opening_is_shown_in_days() {
    let api = TestApi::new().await;
    api.clock.set("2026-11-20T23:59:59Z");
    Vacancy::open(&api, json!({ "title": "x" })).await;
    for (time, age) in [
        ("2026-11-20T23:59:59.000Z", "today"),
        ("2026-11-21T00:00:00.000Z", "yesterday"),
        ("2026-11-22T12:00:00.000Z", "2 days ago"),
        ("2026-12-04T12:00:00.000Z", "2 weeks ago"),
        ("2027-11-22T12:00:00.000Z", "over a year ago"),
    ] {
        api.clock.set(time);
        let cards = cards(&read(&api, LIST).await.expect(200));
        assert_eq!((cards[0].age.as_str(), cards[0].date.as_str()), (age, "2026-11-20"), "{time}");
    }
}

#[tokio::test]
async fn a_search_ignores_case_accents_and_the_order_of_keywords() {
    let api = TestApi::new().await;
    for (minute, (title, department, location, remote_policy)) in [
        ("Senior Rust Engineer", "Platform", "Zürich", "onsite"),
        ("Rust Engineer", "Data Platform", "Berlin", "hybrid"),
        ("Café Manager", "Hospitality", "Montréal, Québec", "remote"),
        ("Head of Data", "", "Remote", "remote"),
        ("工程师", "Инженерия", "", "onsite"),
    ]
    .into_iter()
    .enumerate()
    {
        api.clock.set(&format!("2026-11-20T09:3{minute}:00Z"));
        let mut role = json!({ "title": title, "remote_policy": remote_policy });
        for (field, text) in [("department", department), ("location", location)] {
            if !text.is_empty() {
                role[field] = json!(text);
            }
        }
        Vacancy::open(&api, role).await;
    }
    let (senior, rust, cafe, head, chinese) =
        ("Senior Rust Engineer", "Rust Engineer", "Café Manager", "Head of Data", "工程师");
    let all = vec![chinese, head, cafe, rust, senior];
    for (query, found) in [
        ("q=rust", vec![rust, senior]),
        ("q=RUST+engineer", vec![rust, senior]),
        ("q=++engineer%09rust%0A", vec![rust, senior]),
        ("q=gine", vec![rust, senior]),
        ("q=platform", vec![rust, senior]),
        ("q=zurich", vec![senior]),
        ("q=Z%C3%9CRICH", vec![senior]),
        // The accent is a combining character.
        ("q=CAFE%CC%81", vec![cafe]),
        ("q=montreal+manager", vec![cafe]),
        ("q=quebec,", vec![]),
        ("q=%E5%B7%A5%E7%A8%8B%E5%B8%88", vec![chinese]),
        ("q=%D0%B8%D0%BD%D0%B6%D0%B5%D0%BD%D0%B5%D1%80%D0%B8%D1%8F", vec![chinese]),
        ("q=remote", vec![head]),
        ("department=platform", vec![rust, senior]),
        ("department=DATA+platform", vec![rust]),
        ("department=rust", vec![]),
        ("location=berlin", vec![rust]),
        ("location=platform", vec![]),
        ("remote_policy=remote", vec![head, cafe]),
        ("q=data&remote_policy=hybrid", vec![rust]),
        ("q=rust&department=platform&location=zurich&remote_policy=onsite", vec![senior]),
        ("q=rust&department=platform&location=zurich&remote_policy=hybrid", vec![]),
        ("q=rust&location=berlin&department=hospitality", vec![]),
        ("q=nobody", vec![]),
        ("q=+++&department=%09&location=&remote_policy=", all.clone()),
        ("remote_policy=REMOTE", all.clone()),
        ("remote_policy=anywhere", all.clone()),
        ("unknown=x", all.clone()),
    ] {
        let page = read(&api, &format!("{LIST}?{query}")).await.expect(200);
        assert_eq!(titles(&page), found, "{query}");
        assert_eq!(next(&page), None, "{query}");
        let is_search = found.len() < all.len();
        assert_eq!(page.text.contains("<title>Search results – "), is_search, "{query}");
        let robots = value(&page, "name=\"robots\" content=\"");
        let canonical = value(&page, "rel=\"canonical\" href=\"");
        if is_search {
            assert_eq!((robots.as_deref(), canonical), (Some("noindex"), None), "{query}");
            assert_eq!(page.text.contains("No openings match your search"), found.is_empty(), "{query}");
        } else {
            assert_eq!((robots, canonical), (None, Some(format!("{BASE_URL}{LIST}"))), "{query}");
        }
    }
    let typed = "q=%22%3E%3Cb%3E&department=D%26D&location=L%27L&remote_policy=hybrid";
    let page = read(&api, &format!("{LIST}?{typed}")).await.expect(200);
    assert_eq!(tests::browser::input(&page, "q"), "\"><b>");
    for chosen in ["D&#38;D", "L&#39;L", "hybrid"] {
        assert!(page.text.contains(&format!("<option value=\"{chosen}\" selected>")), "{chosen}");
    }
    assert!(page.text.contains("<details open>"));
}

#[tokio::test]
async fn openings_are_grouped_by_department_and_visitors_choose_from_what_exists() {
    let api = TestApi::new().await;
    let headings = |page: &tests::Response| -> Vec<String> {
        let found = page.text.split("<h2 class=\"group\">").skip(1);
        found
            .filter_map(|rest| Some(rest.split_once("</span>")?.0.replace("<span class=\"quiet\">", "")))
            .collect()
    };
    let open = async |title: &str, department: Value| {
        Vacancy::open(&api, json!({ "title": title, "department": department, "location": "Bern" })).await;
    };
    for title in ["Cook", "Baker", "Butcher", "Waiter", "Brewer", "Grocer"] {
        open(title, json!("Kitchen")).await;
    }
    let page = read(&api, LIST).await.expect(200);
    assert_eq!((headings(&page), cards(&page).len()), (Vec::new(), 6), "one department needs no heading");
    open("Poet", Value::Null).await;
    let clerk = json!({ "title": "Clerk", "department": "Accounts", "location": "Rome" });
    Vacancy::open(&api, clerk).await;
    let page = read(&api, LIST).await.expect(200);
    assert_eq!(
        headings(&page),
        ["<bdi>Accounts</bdi> 1 opening", "<bdi>Kitchen</bdi> 6 openings", "<bdi>Other</bdi> 1 opening"]
    );
    let titles: Vec<_> = cards(&page).into_iter().map(|card| card.title).collect();
    let by_age = ["Grocer", "Brewer", "Waiter", "Butcher", "Baker", "Cook"];
    assert_eq!(titles, [&["Clerk"][..], &by_age, &["Poet"]].concat());
    // A search does not change the choices, and shows its results in one list.
    let found = read(&api, &format!("{LIST}?department=Kitchen&location=Switzerland")).await.expect(200);
    let found_cook = read(&api, &format!("{LIST}?department=Kitchen&q=cook")).await.expect(200);
    assert_eq!((headings(&found_cook), cards(&found_cook).len()), (Vec::new(), 1));
    for page in [&page, &found, &found_cook] {
        for choice in ["Accounts", "Kitchen", "Bern", "Rome"] {
            assert!(page.text.contains(&format!("<option value=\"{choice}\"")), "{choice}");
        }
    }
    assert!(found.text.contains("<option value=\"Switzerland\" selected>"));
    assert!(found_cook.text.contains("<option value=\"Kitchen\" selected>"));
    // With more openings than fit on a page, visitors type.
    let start: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
    let more: Vec<_> = (0..43).map(|number| published(number, "Runner", start)).collect();
    insert(&api, ACME, &more).await;
    for query in ["", "?q=cook"] {
        let page = read(&api, &format!("{LIST}{query}")).await.expect(200);
        assert!(page.text.contains("<input id=\"department\"") && headings(&page).is_empty(), "{query}");
    }
}

#[tokio::test]
async fn a_page_has_fifty_openings_and_each_opening_is_on_one_page() {
    let api = TestApi::new().await;
    let start: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
    let vacancy = |number: u64| {
        let title = format!("{} {number}", if number.is_multiple_of(2) { "Even" } else { "Odd" });
        // Three become public in each second.
        let at = start + SignedDuration::from_secs(i64::try_from(number / 3).unwrap());
        published(number, &title, at)
    };
    let shown = async |path: &str| {
        let pages = walk(&api, path).await;
        let sizes: Vec<_> = pages.iter().map(|page| cards(page).len()).collect();
        let titles: Vec<_> = pages.iter().flat_map(titles).collect();
        (sizes, titles, pages)
    };
    insert(&api, ACME, &(0..100).map(vacancy).collect::<Vec<_>>()).await;
    let name = |number: u64| vacancy(number).0.content.title.as_str().to_owned();
    let (sizes, all, _) = shown(LIST).await;
    assert_eq!(sizes[..2], [50, 50], "DynamoDB does not indicate whether a full page is the last");
    assert!(sizes[2..].iter().all(|size| *size == 0) && sizes.len() <= 3, "{sizes:?}");
    assert_eq!(all, (0..100).rev().map(name).collect::<Vec<_>>());
    let (sizes, even, _) = shown(&format!("{LIST}?q=even")).await;
    assert_eq!((sizes, even.len()), (vec![50], 50), "a search detects its last page");

    insert(&api, ACME, &(100..205).map(vacancy).collect::<Vec<_>>()).await;
    let (sizes, all, pages) = shown(LIST).await;
    assert_eq!(sizes, [50, 50, 50, 50, 5]);
    assert_eq!(all, (0..205).rev().map(name).collect::<Vec<_>>());
    for (number, page) in pages.iter().enumerate() {
        let canonical = value(page, "rel=\"canonical\" href=\"").unwrap();
        let path = if number == 0 { LIST.to_owned() } else { next(&pages[number - 1]).unwrap() };
        assert_eq!(canonical, format!("{BASE_URL}{path}"));
        assert_eq!(value(page, "name=\"robots\" content=\""), None);
        assert_eq!(page.text.contains("Back to the first page"), number > 0);
        assert_eq!(page.text.contains("More openings"), number < 4);
    }
    let (sizes, odd, pages) = shown(&format!("{LIST}?q=odd&remote_policy=&department=")).await;
    assert_eq!(sizes, [50, 50, 2]);
    assert_eq!(odd, (0..205).rev().filter(|number| number % 2 == 1).map(name).collect::<Vec<_>>());
    assert!(next(&pages[0]).unwrap().starts_with(&format!("{LIST}?q=odd&before=")));
    let page = read(&api, &format!("{LIST}?before={}", "0".repeat(31))).await.expect(200);
    assert!(cards(&page).is_empty() && page.text.contains("No more openings"));
}

#[tokio::test]
async fn malformed_parameters_never_fail_and_show_no_other_openings() {
    let api = TestApi::new().await;
    let ours = Vacancy::open(&api, json!({ "title": "Ours", "department": "d", "location": "l" })).await;
    api.clock.set("2026-11-20T10:00:00Z");
    let request = api.request(http::Method::POST, "/api/v1/quick_post").key(GLOBEX, Mode::Live);
    let theirs = request.json(&json!({ "role": { "title": "Theirs" } })).send().await.expect(201);
    let id = theirs.body["job_posting"]["id"].to_string().parse().unwrap();
    let foreign = opening_position("2026-11-20T10:00:00Z".parse().unwrap(), id);
    assert_eq!(foreign.len(), 31);
    let values = [
        "",
        "%",
        "%00",
        "%0A%0D%7F%C2%85",
        "%FF%FE",
        "%F0%9F",
        "-1",
        "0",
        "%3Cscript%3E",
        "%27%3B--",
        "..%2F..",
        "%E2%80%AE%F0%9F%A6%80",
        &"9".repeat(27),
        &"9".repeat(31),
        &"0".repeat(31),
        &"%D9%A1".repeat(14),
        &"9".repeat(4_000),
        &"%F0%9F%A6%80".repeat(300),
        &foreign,
    ];
    for name in ["q", "department", "location", "remote_policy", "before", "limit", "cursor"] {
        for value in values {
            let query = format!("?{name}={value}&{name}={value}");
            let page = read(&api, &format!("{LIST}{query}")).await.expect(200);
            let shown = titles(&page);
            assert!(shown == ["Ours"] || shown.is_empty(), "{query}: {shown:?}");
            assert!(!page.text.contains("Theirs") && page.text.len() < 20_000, "{query}");
            for document in ["jobs.json", "sitemap.xml"] {
                let response = read(&api, &format!("{LIST}/{document}{query}")).await.expect(200);
                assert!(!response.text.contains("globex"), "{document}{query}");
            }
        }
    }
    for path in [
        "/careers/",
        "/careers/ACME",
        "/careers/acm",
        "/careers/acme%00",
        "/careers/%FF",
        "/careers/acme%2Fours",
        "/careers/acme--test",
        &format!("/careers/{}", "a".repeat(2_000)),
    ] {
        let page = read(&api, path).await;
        assert_eq!(page.status, 404, "{path}");
        assert!(!page.text.contains("Ours"), "{path}");
    }
    assert_eq!(titles(&read(&api, &format!("{LIST}?before={foreign}")).await), ["Ours"]);
    assert_eq!(ours.slug, "ours");
}

#[tokio::test]
async fn a_site_shows_its_organizations_branding() {
    let api = TestApi::new().await;
    Vacancy::open(&api, json!({ "title": "x" })).await;
    let organization = api.store().find_organization(tenant(ACME, Mode::Live)).await.unwrap().unwrap();
    let plain = read(&api, LIST).await.expect(200);
    assert!(!plain.text.contains("<style") && !plain.text.contains("<img"));
    let introduction = "We make \"anvils\" & <rockets>.";
    let branding = Branding {
        name: Text::parse("Acme & Söhne").unwrap().unwrap(),
        introduction: Text::parse(introduction).unwrap(),
        accent: Some("#2450d3".parse().unwrap()),
        logo_url: Some("https://cdn.example/logo.png?a=1&b=2".parse().unwrap()),
    };
    api.store().set_branding(&organization.organization, &branding).await.unwrap();
    let list = read(&api, LIST).await.expect(200);
    let detail = read(&api, &cards(&list)[0].path).await.expect(200);
    let gone = read(&api, &format!("{LIST}/nothing")).await.expect(404);
    for page in [&list, &detail, &gone] {
        let style = page.text.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).unwrap();
        assert!(style.contains("--accent:#2450d3"), "{style}");
        // CSP requires standard base64 with padding.
        let digest = challenge(style).replace('-', "+").replace('_', "/") + "=";
        let policy = page.header("content-security-policy");
        assert!(policy.contains(&format!("style-src 'self' 'sha256-{digest}';")), "{policy}");
        assert!(policy.contains("img-src 'self' https://cdn.example;"), "{policy}");
        assert_eq!(value(page, "<img src=\"").as_deref(), Some("https://cdn.example/logo.png?a=1&b=2"));
        assert!(words(&page.text).contains("Acme & Söhne"));
        assert!(!page.text.contains("<script>") && !page.text.contains("style=\""));
    }
    assert!(list.text.contains("We make &#34;anvils&#34; &#38; &#60;rockets&#62;."));
    for (marker, expected) in [
        ("name=\"description\" content=\"", introduction),
        ("property=\"og:description\" content=\"", introduction),
        ("property=\"og:title\" content=\"", "Openings at Acme & Söhne"),
        ("property=\"og:site_name\" content=\"", "Acme & Söhne"),
        ("property=\"og:url\" content=\"", &format!("{BASE_URL}{LIST}")),
        ("property=\"og:image\" content=\"", "https://cdn.example/logo.png?a=1&b=2"),
    ] {
        assert_eq!(value(&list, marker).as_deref(), Some(expected), "{marker}");
    }
    let search = read(&api, &format!("{LIST}?q=x")).await.expect(200);
    assert!(!search.text.contains("class=\"lead\""), "the introduction is on the first page only");
    let globex = read(&api, "/careers/globex").await.expect(200);
    let test = read(&api, "/careers/acme-test").await.expect(200);
    assert!(
        [globex, test].iter().all(|page| !page.text.contains("<style>")),
        "each site has its own branding"
    );
}

#[tokio::test]
async fn a_suspended_organization_has_no_pages_until_it_is_reinstated() {
    let api = TestApi::new().await;
    let vacancy = Vacancy::open(&api, json!({ "title": "Hidden away" })).await;
    let acme = tenant(ACME, Mode::Live).organization;
    let paths = [
        LIST.to_owned(),
        vacancy.path(),
        format!("{LIST}/jobs.json"),
        format!("{LIST}/sitemap.xml"),
        "/careers/acme-test".to_owned(),
    ];
    api.store().set_suspended(acme, true, api.environment.clock.now()).await.unwrap();
    let unknown_site = read(&api, "/careers/nobody").await.expect(404);
    for path in &paths {
        let page = read(&api, path).await.expect(404);
        if ["/jobs.json", "/sitemap.xml"].iter().any(|end| path.ends_with(end)) {
            assert_eq!(page.string("/code"), "not_found", "{path}");
            continue;
        }
        assert_eq!(
            page.text, unknown_site.text,
            "{path}: the response is the same as for an unknown organization"
        );
        assert!(page.text.contains("Career page not found"));
        assert_eq!(value(&page, "name=\"robots\" content=\"").as_deref(), Some("noindex"));
    }
    assert_eq!(titles(&read(&api, "/careers/globex").await.expect(200)), [""; 0]);
    api.store().set_suspended(acme, false, api.environment.clock.now()).await.unwrap();
    for path in &paths {
        read(&api, path).await.expect(200);
    }
}

/// Makes a transition, or changes a field that an opening shows.
async fn make_change(api: &TestApi, vacancy: &Vacancy, number: u64, round: u64) -> Response {
    const STEPS: [&str; 7] = ["open", "pause", "resume", "close", "reopen", "publish", "unpublish"];
    let (role, posting) = (vacancy.role_path(), vacancy.posting_path());
    let minimum = round % 1_000;
    match number {
        0..=6 => vacancy.step(api, STEPS[usize::try_from(number).unwrap()]).await,
        // These transitions are more likely, so that some openings are public most of the time.
        7 => vacancy.step(api, "open").await,
        8 | 9 => vacancy.step(api, "publish").await,
        10 => api.patch(&role, json!({ "department": format!("D{round}"), "location": null })).await,
        11 => api.patch(&role, json!({ "location": format!("L {round}"), "remote_policy": "hybrid" })).await,
        12 => api.patch(&role, json!({ "salary_min": minimum, "remote_policy": null })).await,
        13 => api.patch(&role, json!({ "title": format!("R{round}"), "salary_min": null })).await,
        14 => api.patch(&posting, json!({ "title": format!("P & {round}") })).await,
        _ => api.patch(&posting, json!({ "requirements": format!("{round}") })).await,
    }
}

const CHANGES: u64 = 16;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_list_is_consistent_after_random_sequential_and_concurrent_changes() {
    let api = TestApi::new().await;
    let random = Random::seeded(5);
    let mut vacancies = Vec::new();
    for number in 0..4 {
        let body = json!({ "role": { "title": "Same title" }, "publish": number % 2 == 0 });
        vacancies.push(Vacancy::post(&api, body).await);
    }
    let start: Timestamp = "2026-11-20T09:30:00Z".parse().unwrap();
    let (mut done, mut refused, mut max_listed) = (0, 0, 0);
    for round in 0..90 {
        // Three consecutive rounds have the same time.
        let now = start + SignedDuration::from_secs(i64::try_from(round / 3).unwrap() * 61);
        api.clock.set(&now.to_string());
        let together = 1 + random.below(3);
        let mut changes = Vec::new();
        for _ in 0..together {
            let vacancy = &vacancies[usize::try_from(random.below(4)).unwrap()];
            changes.push((vacancy, random.below(CHANGES)));
        }
        let responses =
            join_all(changes.iter().map(|(vacancy, number)| make_change(&api, vacancy, *number, round)))
                .await;
        for response in responses {
            match response.status {
                200 => done += 1,
                422 => refused += 1,
                status => panic!("{status}: {}", response.text),
            }
        }
        let context = format!("{round}: {changes:?}");
        max_listed = assert_listed(&api, &context).await.len().max(max_listed);
        if round % 15 == 14 {
            assert_consistent(&api, &vacancies, &context).await;
        }
    }
    assert!(
        done > 60 && refused > 10 && max_listed >= 3,
        "{done} done, {refused} refused, {max_listed} listed at most"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_list_is_consistent_after_concurrent_changes_of_one_posting() {
    let api = TestApi::new().await;
    let draft = json!({ "role": { "title": "Race" }, "publish": false });
    for round in 0..5 {
        // The steps before the concurrent changes, and the two changes.
        for (before, first, second) in [
            (&["open"][..], 1, 5),
            (&["open", "publish"], 10, 6),
            (&["open", "publish"], 3, 14),
            (&["open", "publish"], 3, 11),
            (&["publish"], 0, 6),
            (&["open", "publish", "pause"], 2, 3),
        ] {
            let vacancy = Vacancy::post(&api, draft.clone()).await;
            for step in before {
                vacancy.step(&api, step).await.expect(200);
            }
            let changes = [first, second].map(|number| make_change(&api, &vacancy, number, round));
            let responses = join_all(changes).await;
            assert!(responses.iter().all(|response| [200, 422].contains(&response.status)), "{responses:?}");
            assert_listed(&api, &format!("{before:?}, then {first} and {second}")).await;
            vacancy.step(&api, "close").await.expect(200);
        }
    }
    let vacancy = Vacancy::open(&api, json!({ "title": "All at once" })).await;
    for round in 0..3 {
        // A request with too many conflicts gets 503.
        let responses = join_all((0..CHANGES).map(|number| make_change(&api, &vacancy, number, round))).await;
        assert!(responses.iter().all(|response| [200, 422, 503].contains(&response.status)), "{responses:?}");
        assert_listed(&api, "all changes at once").await;
        for step in ["close", "reopen", "open", "publish"] {
            vacancy.step(&api, step).await;
        }
    }
    assert_consistent(&api, &[vacancy], "at the end").await;
}
