//! The list of openings: what is on it, in which order, how it is searched, and that it is never out of step with the API.

use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use shared::model::{Branding, Mode, Text, challenge};
use shared::random::Random;
use shared::store::{Page, opening_position};
use tests::careers::{
    Card, Vacancy, cards, insert, next, published, read, sitemap, titles, value, walk, words,
};
use tests::{ACME, Answer, BASE_URL, GLOBEX, World, tenant};

const LIST: &str = "/careers/acme";

/// The openings, newest first, as they must be listed by what the API says of roles and postings.
async fn expected(world: &World) -> Vec<Value> {
    let live = tenant(ACME, Mode::Live);
    let roles = world.get("/api/v1/roles?limit=100").await.expect(200).body;
    let postings = world.get("/api/v1/job_postings?limit=100").await.expect(200).body;
    let mut openings = Vec::new();
    for posting in postings["data"].as_array().unwrap() {
        let mut roles = roles["data"].as_array().unwrap().iter();
        let role = roles.find(|role| role["id"] == posting["role_id"]).unwrap();
        if posting["published"] != true || role["status"] != "open" {
            continue;
        }
        // The API does not say since when they are what they are.
        let [role_id, id] = [&role["id"], &posting["id"]].map(|id| id.to_string().parse().unwrap());
        let opened_at = world.store().find_role(live, role_id).await.unwrap().unwrap().opened_at;
        let published_at = world.store().find_posting(live, id).await.unwrap().unwrap().published_at;
        let updated_at =
            [role, posting].map(|from| from["updated_at"].as_str().unwrap().parse::<Timestamp>());
        let updated_at = updated_at.into_iter().map(Result::unwrap).max();
        openings.push(json!({
            "id": posting["id"], "role_id": role["id"], "slug": posting["slug"], "title": posting["title"],
            "department": role["department"], "location": role["location"],
            "remote_policy": role["remote_policy"],
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

/// The card of an opening. Salaries have a minimum below 1,000 or none at all.
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

/// The list and the table hold exactly what the API says is open, and nothing of what was before.
async fn assert_listed(world: &World, what: &str) -> Vec<Value> {
    let expected = expected(world).await;
    let page = Page { limit: 100, before: None };
    let kept = world.store().list_openings(tenant(ACME, Mode::Live), &page).await.unwrap().items;
    let kept: Vec<_> = kept.iter().map(|opening| serde_json::to_value(opening).unwrap()).collect();
    assert_eq!(kept, expected, "{what}");
    let list = read(world, LIST).await.expect(200);
    assert_eq!(cards(&list), expected.iter().map(expected_card).collect::<Vec<_>>(), "{what}");
    expected
}

/// The same, of the feed, the sitemap and these vacancies' own pages.
pub(crate) async fn assert_in_step(world: &World, vacancies: &[Vacancy], what: &str) {
    let expected = assert_listed(world, what).await;
    let url = |slug: &Value| format!("{BASE_URL}{LIST}/{}", slug.as_str().unwrap());
    let feed = read(world, &format!("{LIST}/jobs.json")).await.expect(200);
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
    assert_eq!(feed.collect::<Vec<_>>(), jobs.collect::<Vec<_>>(), "{what}");
    let map = sitemap(&read(world, &format!("{LIST}/sitemap.xml")).await, "urlset", "url");
    let openings = map.into_iter().filter(|(address, _)| *address != format!("{BASE_URL}{LIST}"));
    let addresses = expected
        .iter()
        .map(|opening| (url(&opening["slug"]), Some(opening["updated_at"].as_str().unwrap().to_owned())));
    assert_eq!(openings.collect::<Vec<_>>(), addresses.collect::<Vec<_>>(), "{what}");
    for vacancy in vacancies {
        let page = read(world, &vacancy.path()).await;
        let is_listed = expected.iter().any(|opening| opening["id"] == vacancy.posting);
        assert_eq!(page.text.contains("<form"), is_listed, "{what}: {}", vacancy.slug);
        let role = world.get(&vacancy.role_path()).await.expect(200);
        let posting = world.get(&vacancy.posting_path()).await.expect(200);
        let status = match (role.string("/status"), &posting.body["published"]) {
            ("open" | "paused", Value::Bool(true)) => 200,
            _ => 410,
        };
        assert_eq!(page.status, status, "{what}: {}", vacancy.slug);
    }
}

#[tokio::test]
async fn what_is_published_and_open_is_listed_as_it_is_and_nothing_else() {
    let world = World::new().await;
    let sent = |demo, mode, title: &str| {
        let body = json!({ "role": { "title": title } });
        world.request(http::Method::POST, "/api/v1/quick_post").key(demo, mode).json(&body).send()
    };
    sent(GLOBEX, Mode::Live, "Of Globex").await.expect(201);
    sent(ACME, Mode::Test, "Of the test copy").await.expect(201);
    let draft = json!({ "role": { "title": "Draft" }, "publish": false });
    let draft = Vacancy::post(&world, draft).await;
    draft.step(&world, "publish").await.expect(200);
    let unpublished = json!({ "role": { "title": "Unpublished" }, "publish": false });
    Vacancy::post(&world, unpublished).await.step(&world, "open").await.expect(200);
    for (title, step) in [("Paused", "pause"), ("Closed", "close"), ("Taken off", "unpublish")] {
        Vacancy::open(&world, json!({ "title": title })).await.step(&world, step).await.expect(200);
    }
    world.post("/api/v1/roles", json!({ "title": "Without a posting" })).await.expect(201);
    let empty = read(&world, LIST).await.expect(200);
    assert!(cards(&empty).is_empty() && empty.text.contains("No openings at the moment"), "{}", empty.text);

    let bare = Vacancy::open(&world, json!({ "title": "Bare" })).await;
    let full = json!({
        "title": "Cook & <Chef>", "department": "R&D", "location": "São Paulo \"Centro\"",
        "remote_policy": "hybrid", "salary_min": 150_000, "salary_max": 190_000,
    });
    let full = Vacancy::open(&world, full).await;
    let remote = json!({ "title": "Away", "location": "remote", "remote_policy": "remote" });
    let remote = Vacancy::open(&world, remote).await;
    let card = |vacancy: &Vacancy, title: &str, marks: &[&str]| Card {
        path: vacancy.path(),
        title: title.to_owned(),
        marks: marks.iter().map(|mark| (*mark).to_owned()).collect(),
        date: "2026-11-20".to_owned(),
        age: "today".to_owned(),
    };
    let list = read(&world, LIST).await.expect(200);
    let marks = ["R&D", "São Paulo \"Centro\"", "Hybrid", "$150,000 to $190,000 a year"];
    assert_eq!(
        cards(&list),
        [card(&remote, "Away", &["remote"]), card(&full, "Cook & <Chef>", &marks), card(&bare, "Bare", &[])]
    );
    assert_eq!(next(&list), None);
    for mark in [&marks[0], &marks[1]] {
        let link = list.text.split("<a href=\"").find(|link| words(link).contains(&words(mark)));
        let path = link.and_then(|link| link.split('"').next()).unwrap();
        assert!(path.contains('?'), "{mark}: {path}");
        assert_eq!(titles(&read(&world, path).await.expect(200)), ["Cook & <Chef>"], "{path}");
    }
    assert_eq!(titles(&read(&world, "/careers/globex").await.expect(200)), ["Of Globex"]);
    let test = read(&world, "/careers/acme-test").await.expect(200);
    assert_eq!(titles(&test), ["Of the test copy"]);
    assert!(test.text.contains("Test data"));
    for path in ["/careers/acme-test".to_owned(), cards(&test)[0].path.clone()] {
        let page = read(&world, &path).await.expect(200);
        assert_eq!(value(&page, "name=\"robots\" content=\"").as_deref(), Some("noindex"), "{path}");
        assert!(!page.text.contains("application/ld+json"), "{path}");
    }
}

/// Public is what is both published and open: since the later of the two.
#[tokio::test]
async fn the_newest_public_comes_first() {
    let world = World::new().await;
    let mut minute = 30;
    let mut tick = || {
        minute += 1;
        world.hands.set(&format!("2026-11-20T09:{minute}:00Z"));
    };
    let draft = |title: &str| json!({ "role": { "title": title }, "publish": false });
    let opened_first = Vacancy::post(&world, draft("Opened first")).await;
    let published_first = Vacancy::post(&world, draft("Published first")).await;
    opened_first.step(&world, "open").await.expect(200);
    tick();
    published_first.step(&world, "publish").await.expect(200);
    tick();
    Vacancy::open(&world, json!({ "title": "At once" })).await;
    tick();
    published_first.step(&world, "open").await.expect(200);
    tick();
    opened_first.step(&world, "publish").await.expect(200);
    let order = async || titles(&read(&world, LIST).await.expect(200));
    assert_eq!(order().await, ["Opened first", "Published first", "At once"]);
    for step in ["pause", "resume"] {
        tick();
        published_first.step(&world, step).await.expect(200);
    }
    world.patch(&published_first.posting_path(), json!({ "requirements": "x" })).await.expect(200);
    assert_eq!(order().await, ["Opened first", "Published first", "At once"], "neither makes it new");
    for step in ["unpublish", "publish"] {
        tick();
        published_first.step(&world, step).await.expect(200);
    }
    assert_eq!(order().await, ["Published first", "Opened first", "At once"]);
    assert_in_step(&world, &[opened_first, published_first], "at the end").await;
}

#[tokio::test]
async fn an_opening_grows_older_by_days() {
    let world = World::new().await;
    world.hands.set("2026-11-20T23:59:59Z");
    Vacancy::open(&world, json!({ "title": "x" })).await;
    for (time, age) in [
        ("2026-11-20T23:59:59Z", "today"),
        ("2026-11-21T00:00:00Z", "yesterday"),
        ("2026-11-22T12:00:00Z", "2 days ago"),
        ("2026-12-04T12:00:00Z", "2 weeks ago"),
        ("2027-11-22T12:00:00Z", "over a year ago"),
    ] {
        world.hands.set(time);
        let cards = cards(&read(&world, LIST).await.expect(200));
        assert_eq!((cards[0].age.as_str(), cards[0].date.as_str()), (age, "2026-11-20"), "{time}");
    }
}

#[tokio::test]
async fn a_search_finds_every_word_wherever_it_is_whatever_its_case_and_accents() {
    let world = World::new().await;
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
        world.hands.set(&format!("2026-11-20T09:3{minute}:00Z"));
        let mut role = json!({ "title": title, "remote_policy": remote_policy });
        for (field, text) in [("department", department), ("location", location)] {
            if !text.is_empty() {
                role[field] = json!(text);
            }
        }
        Vacancy::open(&world, role).await;
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
        // The same accent as a letter and a mark of its own.
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
        let page = read(&world, &format!("{LIST}?{query}")).await.expect(200);
        assert_eq!(titles(&page), found, "{query}");
        assert_eq!(next(&page), None, "{query}");
        let is_search = found.len() < all.len();
        assert_eq!(page.text.contains("<title>Search – "), is_search, "{query}");
        let robots = value(&page, "name=\"robots\" content=\"");
        let canonical = value(&page, "rel=\"canonical\" href=\"");
        if is_search {
            assert_eq!((robots.as_deref(), canonical), (Some("noindex"), None), "{query}");
            assert_eq!(page.text.contains("No opening matches your search"), found.is_empty(), "{query}");
        } else {
            assert_eq!((robots, canonical), (None, Some(format!("{BASE_URL}{LIST}"))), "{query}");
        }
    }
    let typed = "q=%22%3E%3Cb%3E&department=D%26D&location=L%27L&remote_policy=hybrid";
    let page = read(&world, &format!("{LIST}?{typed}")).await.expect(200);
    let kept = ["q", "department", "location"].map(|name| tests::browser::input(&page, name));
    assert_eq!(kept, ["\"><b>", "D&D", "L'L"]);
    assert!(page.text.contains("<option value=\"hybrid\" selected>") && page.text.contains("<details open>"));
}

#[tokio::test]
async fn fifty_are_on_a_page_and_each_on_one() {
    let world = World::new().await;
    let start: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
    let vacancy = |number: u64| {
        let title = format!("{} {number}", if number.is_multiple_of(2) { "Even" } else { "Odd" });
        // Some became public in the same second.
        let at = start + SignedDuration::from_secs(i64::try_from(number / 3).unwrap());
        published(number, &title, at)
    };
    let shown = async |path: &str| {
        let pages = walk(&world, path).await;
        let sizes: Vec<_> = pages.iter().map(|page| cards(page).len()).collect();
        let titles: Vec<_> = pages.iter().flat_map(titles).collect();
        (sizes, titles, pages)
    };
    insert(&world, ACME, &(0..100).map(vacancy).collect::<Vec<_>>()).await;
    let name = |number: u64| vacancy(number).1.content.title.as_str().to_owned();
    let (sizes, all, _) = shown(LIST).await;
    assert_eq!(sizes[..2], [50, 50], "the database itself does not know whether a full page is the last");
    assert!(sizes[2..].iter().all(|size| *size == 0) && sizes.len() <= 3, "{sizes:?}");
    assert_eq!(all, (0..100).rev().map(name).collect::<Vec<_>>());
    let (sizes, even, _) = shown(&format!("{LIST}?q=even")).await;
    assert_eq!((sizes, even.len()), (vec![50], 50), "a search knows");

    insert(&world, ACME, &(100..205).map(vacancy).collect::<Vec<_>>()).await;
    let (sizes, all, pages) = shown(LIST).await;
    assert_eq!(sizes, [50, 50, 50, 50, 5]);
    assert_eq!(all, (0..205).rev().map(name).collect::<Vec<_>>());
    for (number, page) in pages.iter().enumerate() {
        let canonical = value(page, "rel=\"canonical\" href=\"").unwrap();
        let address = if number == 0 { LIST.to_owned() } else { next(&pages[number - 1]).unwrap() };
        assert_eq!(canonical, format!("{BASE_URL}{address}"));
        assert_eq!(value(page, "name=\"robots\" content=\""), None);
        assert_eq!(page.text.contains("Back to the newest"), number > 0);
        assert_eq!(page.text.contains("More openings"), number < 4);
    }
    let (sizes, odd, pages) = shown(&format!("{LIST}?q=odd&remote_policy=&department=")).await;
    assert_eq!(sizes, [50, 50, 2]);
    assert_eq!(odd, (0..205).rev().filter(|number| number % 2 == 1).map(name).collect::<Vec<_>>());
    assert!(next(&pages[0]).unwrap().starts_with(&format!("{LIST}?q=odd&before=")));
    let page = read(&world, &format!("{LIST}?before={}", "0".repeat(28))).await.expect(200);
    assert!(cards(&page).is_empty() && page.text.contains("No more openings"));
}

#[tokio::test]
async fn nonsense_never_fails_and_never_shows_what_is_not_there() {
    let world = World::new().await;
    let ours = Vacancy::open(&world, json!({ "title": "Ours", "department": "d", "location": "l" })).await;
    world.hands.set("2026-11-20T10:00:00Z");
    let request = world.request(http::Method::POST, "/api/v1/quick_post").key(GLOBEX, Mode::Live);
    let theirs = request.json(&json!({ "role": { "title": "Theirs" } })).send().await.expect(201);
    let id = theirs.body["job_posting"]["id"].to_string().parse().unwrap();
    let foreign = opening_position("2026-11-20T10:00:00Z".parse().unwrap(), id);
    assert_eq!(foreign.len(), 28);
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
        &"9".repeat(28),
        &"0".repeat(28),
        &"%D9%A1".repeat(14),
        &"9".repeat(4_000),
        &"%F0%9F%A6%80".repeat(300),
        &foreign,
    ];
    for name in ["q", "department", "location", "remote_policy", "before", "limit", "cursor"] {
        for value in values {
            let query = format!("?{name}={value}&{name}={value}");
            let page = read(&world, &format!("{LIST}{query}")).await.expect(200);
            let shown = titles(&page);
            assert!(shown == ["Ours"] || shown.is_empty(), "{query}: {shown:?}");
            assert!(!page.text.contains("Theirs") && page.text.len() < 20_000, "{query}");
            for machine in ["jobs.json", "sitemap.xml"] {
                let answer = read(&world, &format!("{LIST}/{machine}{query}")).await.expect(200);
                assert!(!answer.text.contains("globex"), "{machine}{query}");
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
        let page = read(&world, path).await;
        assert_eq!(page.status, 404, "{path}");
        assert!(!page.text.contains("Ours"), "{path}");
    }
    assert_eq!(titles(&read(&world, &format!("{LIST}?before={foreign}")).await), ["Ours"]);
    assert_eq!(ours.slug, "ours");
}

#[tokio::test]
async fn a_site_looks_as_its_organization_wants() {
    let world = World::new().await;
    Vacancy::open(&world, json!({ "title": "x" })).await;
    let organization = world.store().find_organization(tenant(ACME, Mode::Live)).await.unwrap().unwrap();
    let plain = read(&world, LIST).await.expect(200);
    assert!(!plain.text.contains("<style") && !plain.text.contains("<img"));
    let introduction = "We make \"anvils\" & <rockets>.";
    let branding = Branding {
        name: Text::parse("Acme & Söhne").unwrap().unwrap(),
        introduction: Text::parse(introduction).unwrap(),
        accent: Some("#2450d3".parse().unwrap()),
        logo_url: Some("https://cdn.example/logo.png?a=1&b=2".parse().unwrap()),
    };
    world.store().set_branding(&organization, &branding).await.unwrap();
    let list = read(&world, LIST).await.expect(200);
    let detail = read(&world, &cards(&list)[0].path).await.expect(200);
    let gone = read(&world, &format!("{LIST}/nothing")).await.expect(404);
    for page in [&list, &detail, &gone] {
        let style = page.text.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).unwrap();
        assert!(style.contains("--accent:#2450d3"), "{style}");
        // A digest in base64 of the other alphabet, and filled up.
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
    let search = read(&world, &format!("{LIST}?q=x")).await.expect(200);
    assert!(!search.text.contains("class=\"lead\""), "the introduction is for the first page");
    let globex = read(&world, "/careers/globex").await.expect(200);
    let test = read(&world, "/careers/acme-test").await.expect(200);
    assert!([globex, test].iter().all(|page| !page.text.contains("<style>")), "each site has its own looks");
}

#[tokio::test]
async fn a_suspended_organization_has_no_pages_until_it_goes_on() {
    let world = World::new().await;
    let vacancy = Vacancy::open(&world, json!({ "title": "Hidden away" })).await;
    let acme = tenant(ACME, Mode::Live).organization;
    let paths = [
        LIST.to_owned(),
        vacancy.path(),
        format!("{LIST}/jobs.json"),
        format!("{LIST}/sitemap.xml"),
        "/careers/acme-test".to_owned(),
    ];
    world.store().set_suspended(acme, true).await.unwrap();
    let nobody = read(&world, "/careers/nobody").await.expect(404);
    for path in &paths {
        let page = read(&world, path).await.expect(404);
        if ["/jobs.json", "/sitemap.xml"].iter().any(|end| path.ends_with(end)) {
            assert_eq!(page.string("/code"), "not_found", "{path}");
            continue;
        }
        assert_eq!(page.text, nobody.text, "{path}: the same as if it had never been there");
        assert!(page.text.contains("There is no career page at this address"));
        assert_eq!(value(&page, "name=\"robots\" content=\"").as_deref(), Some("noindex"));
    }
    assert_eq!(titles(&read(&world, "/careers/globex").await.expect(200)), [""; 0]);
    world.store().set_suspended(acme, false).await.unwrap();
    for path in &paths {
        read(&world, path).await.expect(200);
    }
}

/// Every move that the API has, and changes of all that an opening shows.
async fn make_move(world: &World, vacancy: &Vacancy, number: u64, round: u64) -> Answer {
    const STEPS: [&str; 7] = ["open", "pause", "resume", "close", "reopen", "publish", "unpublish"];
    let (role, posting) = (vacancy.role_path(), vacancy.posting_path());
    let minimum = round % 1_000;
    match number {
        0..=6 => vacancy.step(world, STEPS[usize::try_from(number).unwrap()]).await,
        // Most of the time, something is to be open.
        7 => vacancy.step(world, "open").await,
        8 | 9 => vacancy.step(world, "publish").await,
        10 => world.patch(&role, json!({ "department": format!("D{round}"), "location": null })).await,
        11 => {
            world.patch(&role, json!({ "location": format!("L {round}"), "remote_policy": "hybrid" })).await
        }
        12 => world.patch(&role, json!({ "salary_min": minimum, "remote_policy": null })).await,
        13 => world.patch(&role, json!({ "title": format!("R{round}"), "salary_min": null })).await,
        14 => world.patch(&posting, json!({ "title": format!("P & {round}") })).await,
        _ => world.patch(&posting, json!({ "requirements": format!("{round}") })).await,
    }
}

const MOVES: u64 = 16;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn after_any_moves_alone_or_together_the_list_is_what_the_api_says() {
    let world = World::new().await;
    let random = Random::seeded(5);
    let mut vacancies = Vec::new();
    for number in 0..4 {
        let body = json!({ "role": { "title": "Same title" }, "publish": number % 2 == 0 });
        vacancies.push(Vacancy::post(&world, body).await);
    }
    let start: Timestamp = "2026-11-20T09:30:00Z".parse().unwrap();
    let (mut done, mut refused, mut most) = (0, 0, 0);
    for round in 0..90 {
        // Three rounds are in the same second.
        let now = start + SignedDuration::from_secs(i64::try_from(round / 3).unwrap() * 61);
        world.hands.set(&now.to_string());
        let together = 1 + random.below(3);
        let mut moves = Vec::new();
        for _ in 0..together {
            let vacancy = &vacancies[usize::try_from(random.below(4)).unwrap()];
            moves.push((vacancy, random.below(MOVES)));
        }
        let answers =
            join_all(moves.iter().map(|(vacancy, number)| make_move(&world, vacancy, *number, round))).await;
        for answer in answers {
            match answer.status {
                200 => done += 1,
                422 => refused += 1,
                status => panic!("{status}: {}", answer.text),
            }
        }
        let what = format!("{round}: {moves:?}");
        most = assert_listed(&world, &what).await.len().max(most);
        if round % 15 == 14 {
            assert_in_step(&world, &vacancies, &what).await;
        }
    }
    assert!(done > 60 && refused > 10 && most >= 3, "{done} done, {refused} refused, at most {most} listed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_is_first_the_list_is_right_afterwards() {
    let world = World::new().await;
    let draft = json!({ "role": { "title": "Race" }, "publish": false });
    for round in 0..5 {
        // What is done before, and what is done at once.
        for (before, first, second) in [
            (&["open"][..], 1, 5),
            (&["open", "publish"], 10, 6),
            (&["open", "publish"], 3, 14),
            (&["open", "publish"], 3, 11),
            (&["publish"], 0, 6),
            (&["open", "publish", "pause"], 2, 3),
        ] {
            let vacancy = Vacancy::post(&world, draft.clone()).await;
            for step in before {
                vacancy.step(&world, step).await.expect(200);
            }
            let moves = [first, second].map(|number| make_move(&world, &vacancy, number, round));
            let answers = join_all(moves).await;
            assert!(answers.iter().all(|answer| [200, 422].contains(&answer.status)), "{answers:?}");
            assert_listed(&world, &format!("{before:?}, then {first} and {second}")).await;
            vacancy.step(&world, "close").await.expect(200);
        }
    }
    let vacancy = Vacancy::open(&world, json!({ "title": "Everybody at once" })).await;
    for round in 0..3 {
        // Who meets too many others is told to come again.
        let answers = join_all((0..MOVES).map(|number| make_move(&world, &vacancy, number, round))).await;
        assert!(answers.iter().all(|answer| [200, 422, 503].contains(&answer.status)), "{answers:?}");
        assert_listed(&world, "everybody at once").await;
        for step in ["close", "reopen", "open", "publish"] {
            vacancy.step(&world, step).await;
        }
    }
    assert_in_step(&world, &[vacancy], "at the end").await;
}
