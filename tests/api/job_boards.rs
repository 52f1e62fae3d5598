//! The feeds for job boards, what the role's page says of them, and the sources that links name.

use futures_util::future::join_all;
use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::{Value, json};
use shared::model::{Mode, Place, Places, Text};
use tests::browser::{Browser, input, plain};
use tests::careers::{Vacancy, insert, published, read};
use tests::dashboard::owner;
use tests::{ACME, Response, TestApi};

use crate::careers_applications::form;

const SETTINGS: &str = "/dashboard/settings/organization";
const INDEED: &str = "/careers/acme/feeds/indeed.xml";
const LINKEDIN: &str = "/careers/acme/feeds/linkedin.xml";

async fn browser(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

/// Acme with a contact address, a page on LinkedIn and two sources of links.
async fn acme() -> TestApi {
    let api = TestApi::new().await;
    let fields = [
        ("country", ""),
        ("time_zone", "UTC"),
        ("contact_email", "jobs@acme.example"),
        ("linkedin_company_id", "1234567"),
        ("link_sources", "Indeed\r\n\r\nJob fair Köln\r\nIndeed"),
    ];
    browser(&api).await.post(SETTINGS, &fields).await.expect(303);
    api
}

fn austin() -> Value {
    json!({ "city": "Austin", "region": "TX", "postal_code": "78701", "country": "US" })
}

fn cologne() -> Value {
    json!({ "city": "Köln", "region": "NRW", "country": "DE" })
}

/// A text of more than 100 characters.
fn text() -> String {
    format!("**Soup** & bread. {}", "We cook. ".repeat(12))
}

/// The names of elements, below that of the job or the feed, with their texts.
type Elements = Vec<(String, String)>;

/// The elements of a feed with their texts, those of each job under its number.
fn elements(response: &Response) -> (Elements, Vec<Elements>) {
    assert_eq!((response.status, response.header("content-type")), (200, "application/xml"));
    let mut reader = Reader::from_str(&response.text);
    let (mut path, mut whole, mut jobs) = (Vec::<String>::new(), Elements::new(), Vec::<Elements>::new());
    let mut sections = 0;
    loop {
        match reader.read_event().expect("well-formed XML") {
            Event::Start(start) => {
                let name = String::from_utf8(start.name().as_ref().to_vec()).unwrap();
                if name == "job" {
                    jobs.push(Vec::new());
                }
                path.push(name);
                sections = 0;
            }
            Event::CData(data) => {
                let text = String::from_utf8(data.into_inner().to_vec()).unwrap();
                let name =
                    path[path.iter().rposition(|name| name == "job").map_or(1, |job| job + 1)..].join("/");
                let list = jobs.last_mut().filter(|_| path.contains(&"job".to_owned())).unwrap_or(&mut whole);
                // A text with the end of a section is in two.
                if sections > 0 {
                    list.last_mut().unwrap().1.push_str(&text);
                } else {
                    list.push((name, text));
                }
                sections += 1;
            }
            Event::Text(text) => assert!(text.iter().all(u8::is_ascii_whitespace)),
            Event::End(_) => drop(path.pop()),
            Event::Eof => return (whole, jobs),
            Event::Decl(_) => {}
            event => panic!("{event:?}"),
        }
    }
}

async fn jobs(api: &TestApi, path: &str) -> Vec<Elements> {
    elements(&read(api, path).await).1
}

fn get<'j>(job: &'j [(String, String)], name: &str) -> &'j str {
    job.iter().find(|(known, _)| known == name).map_or("-", |(_, text)| text)
}

fn pairs(expected: &[(&str, &str)]) -> Elements {
    expected.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn role() -> Value {
    json!({
        "title": "Cook", "department": "Kitchen", "description": text(), "locations": [austin(), cologne()],
        "remote_policy": "hybrid", "employment_type": "part_time", "closes_on": "2026-12-31", "external_id": "R-7",
        "pay": { "min": "18.50", "max": "22", "currency": "USD", "period": "hour" },
    })
}

#[tokio::test]
async fn indeed_gets_an_entry_for_each_place() {
    let api = acme().await;
    let body = json!({ "role": role(), "job_posting": { "requirements": "- Knives" } });
    let job = Vacancy::post(&api, body).await;
    let (whole, found) = elements(&read(&api, INDEED).await);
    let site = "https://api.rolecall.test/careers/acme";
    assert_eq!(whole, pairs(&[("publisher", "Acme"), ("publisherurl", site)]));
    let [first, second] = found.as_slice() else { panic!("{found:?}") };
    let description = format!(
        "<p><strong>Soup</strong> &amp; bread. {}</p>\n<h2>Requirements</h2>\n<ul>\n<li>Knives</li>\n</ul>\n",
        "We cook. ".repeat(12).trim()
    );
    let (id, url) = (get(first, "referencenumber"), format!("{site}/{}?source=Indeed", job.slug));
    assert!(id.starts_with(&format!("{}-", job.posting)) && id.len() <= 40, "{id}");
    let expected = [
        ("title", "Cook"),
        ("date", "2026-11-20T09:30:00.000Z"),
        ("referencenumber", id),
        ("requisitionid", "R-7"),
        ("url", &url),
        ("company", "Acme"),
        ("sourcename", "Acme"),
        ("city", "Austin"),
        ("state", "TX"),
        ("country", "US"),
        ("postalcode", "78701"),
        ("email", "jobs@acme.example"),
        ("description", &description),
        ("salary", "$18.50 - $22 per hour"),
        ("jobtype", "parttime"),
        ("category", "Kitchen"),
        ("expirationdate", "2026-12-31"),
        ("remotetype", "Hybrid remote"),
        ("lastactivitydate", "2026-11-20T09:30:00.000Z"),
    ];
    assert_eq!(*first, pairs(&expected));
    assert_eq!(
        ["city", "state", "country", "postalcode"].map(|name| get(second, name)),
        ["Köln", "NRW", "DE", "-"]
    );
    // An entry keeps its number when another place comes before it.
    let more =
        json!({ "locations": [{ "city": "Waco", "region": "TX", "country": "US" }, austin()], "pay": null });
    api.patch(&job.role_path(), more).await.expect(200);
    let found = jobs(&api, INDEED).await;
    let numbers: Vec<_> = found.iter().map(|job| (get(job, "city"), get(job, "referencenumber"))).collect();
    assert_eq!((numbers.len(), numbers[1]), (2, ("Austin", id)));
    assert_ne!(numbers[0].1, id);
    assert_eq!(get(&found[0], "salary"), "-");
}

#[tokio::test]
async fn linkedin_gets_an_entry_for_each_place() {
    let api = acme().await;
    let job = Vacancy::post(&api, json!({ "role": role() })).await;
    let (whole, found) = elements(&read(&api, LINKEDIN).await);
    let site = "https://api.rolecall.test/careers/acme";
    let expected = [
        ("publisher", "Acme"),
        ("publisherUrl", site),
        ("lastBuildDate", "Fri, 20 Nov 2026 09:30:00 GMT"),
        ("expectedJobCount", "2"),
    ];
    assert_eq!(whole, pairs(&expected));
    let (id, url) =
        (get(&found[0], "partnerJobId").to_owned(), format!("{site}/{}?source=LinkedIn", job.slug));
    let description = get(&found[0], "description").to_owned();
    assert!(description.starts_with("<p><strong>Soup</strong>"), "{description}");
    let expected = [
        ("partnerJobId", &*id),
        ("company", "Acme"),
        ("title", "Cook"),
        ("description", &description),
        ("applyUrl", &url),
        ("companyId", "1234567"),
        ("location", "Austin, TX"),
        ("city", "Austin"),
        ("state", "TX"),
        ("country", "US"),
        ("postalCode", "78701"),
        ("workplaceTypes", "Hybrid"),
        ("jobtype", "PART_TIME"),
        ("posterEmail", "jobs@acme.example"),
        ("listDate", "11/20/2026"),
        ("expirationDate", "12/31/2026"),
    ];
    assert_eq!(found[0], pairs(&expected));
    assert_eq!(get(&found[1], "location"), "Köln, Germany");
    // Whole amounts are shown, in LinkedIn's form.
    let pay = json!({ "pay": { "min": "40000", "max": "50000", "currency": "EUR", "period": "year" }, "employment_type": "temporary" });
    api.patch(&job.role_path(), pay).await.expect(200);
    let found = jobs(&api, LINKEDIN).await;
    let salary: Vec<_> = found[0].iter().filter(|(name, _)| name.starts_with("salaries")).cloned().collect();
    let expected = [
        ("salaries/salary/highEnd/amount", "50000"),
        ("salaries/salary/highEnd/currencyCode", "EUR"),
        ("salaries/salary/lowEnd/amount", "40000"),
        ("salaries/salary/lowEnd/currencyCode", "EUR"),
        ("salaries/salary/period", "YEARLY"),
        ("salaries/salary/type", "BASE_SALARY"),
    ];
    assert_eq!((salary, get(&found[0], "jobtype")), (pairs(&expected), "-"));
}

#[tokio::test]
async fn a_feed_leaves_out_what_its_board_would_refuse_and_the_role_says_why() {
    let api = TestApi::new().await;
    let browser = browser(&api).await;
    let region = "places, each with a city, a region and a country";
    let city = "places, each with a city and a country";
    let contact = "the organization's contact e-mail address";
    let company = "the organization's company ID on LinkedIn";
    let short = "a description of at least 100 characters";
    let oslo = json!({ "city": "Oslo", "country": "NO" });
    for (settings, content, indeed, linkedin) in [
        (["", ""], json!({}), vec!["a description", region, contact], vec![short, city, company, contact]),
        (
            ["a@acme.example", "7"],
            json!({ "description": "x".repeat(99), "locations": [oslo] }),
            vec![region],
            vec![short],
        ),
        (
            ["a@acme.example", "7"],
            json!({ "description": "x".repeat(100), "locations": [oslo] }),
            vec![region],
            vec![],
        ),
        (
            ["a@acme.example", ""],
            json!({ "description": "x", "locations": [austin()] }),
            vec![],
            vec![short, company],
        ),
        (
            ["a@acme.example", "7"],
            json!({ "description": text(), "locations": [austin(), oslo] }),
            vec![region],
            vec![],
        ),
        (
            ["a@acme.example", "7"],
            json!({ "description": text(), "location": "Austin, TX", "country": "US" }),
            vec![region],
            vec![city],
        ),
        (["", "7"], json!({ "description": text(), "locations": [austin()] }), vec![contact], vec![contact]),
        (["a@acme.example", "7"], json!({ "description": text(), "locations": [austin()] }), vec![], vec![]),
    ] {
        let fields = [
            ("country", ""),
            ("time_zone", "UTC"),
            ("contact_email", settings[0]),
            ("linkedin_company_id", settings[1]),
        ];
        browser.post(SETTINGS, &fields).await.expect(303);
        let mut content = content;
        content["title"] = json!("Cook");
        let job = Vacancy::open(&api, content.clone()).await;
        let page = browser.get(&format!("/dashboard/roles/{}", job.role)).await.expect(200);
        for (name, path, missing) in [("Indeed", INDEED, indeed), ("LinkedIn", LINKEDIN, linkedin)] {
            let sentence =
                format!("The feed for {name} leaves this job out. It requires {}.", missing.join("; "));
            assert_eq!(plain(&page.text).contains(&sentence), !missing.is_empty(), "{content} {sentence}");
            assert_eq!(plain(&page.text).contains(&format!("The feed for {name}")), !missing.is_empty());
            assert_eq!(jobs(&api, path).await.is_empty(), !missing.is_empty(), "{name} {content}");
        }
        job.step(&api, "close").await.expect(200);
        assert!(jobs(&api, INDEED).await.is_empty() && jobs(&api, LINKEDIN).await.is_empty());
    }
}

#[tokio::test]
async fn test_data_and_what_is_not_public_reach_no_board() {
    let api = acme().await;
    for path in ["/careers/nobody/feeds/indeed.xml", "/careers/nobody/feeds/linkedin.xml"] {
        assert_eq!(read(&api, path).await.expect(404).string("/code"), "not_found");
    }
    read(&api, "/careers/acme/feeds/google.xml").await.expect(404);
    let job = Vacancy::post(&api, json!({ "role": role() })).await;
    let body = json!({ "role": role() });
    let posted =
        api.request(http::Method::POST, "/api/v1/quick_post").key(ACME, Mode::Test).json(&body).send().await;
    posted.expect(201);
    assert!(jobs(&api, "/careers/acme-test/feeds/indeed.xml").await.is_empty());
    api.clock.set("2026-12-31T23:59:50Z");
    let last = read(&api, INDEED).await;
    assert_eq!((elements(&last).1.len(), last.header("cache-control")), (2, "public, max-age=10"));
    let etag = last.header("etag").to_owned();
    let same = api.request(http::Method::GET, INDEED).anonymous().header("if-none-match", &etag).send().await;
    same.expect(304);
    api.clock.set("2027-01-01T00:00:00Z");
    assert!(jobs(&api, INDEED).await.is_empty() && jobs(&api, LINKEDIN).await.is_empty());
    drop(job);
}

#[tokio::test]
async fn hostile_text_stays_text() {
    let api = acme().await;
    let title = "A ]]> <b>&amp; \"x\" ]]]]>> é\u{2028}";
    let content = json!({ "title": title, "description": format!("{} ]]> <script>alert(1)</script>", text()), "locations": [austin()] });
    Vacancy::open(&api, content).await;
    for path in [INDEED, LINKEDIN] {
        let found = jobs(&api, path).await;
        assert_eq!(get(&found[0], "title"), title.trim());
        assert!(!get(&found[0], "description").contains("<script>"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_feed_stays_within_lambdas_limit() {
    let api = acme().await;
    let vacancies: Vec<_> = (0..400)
        .map(|number| {
            let (mut role, posting) = published(number, "Cook", api.environment.clock.now());
            role.content.description = Text::parse(&"\"\\ ".repeat(6_500)).unwrap();
            let place = Place::new(Text::cut("Austin"), Text::cut("TX"), None, "US".parse().ok());
            role.content.places = Places::of(place.into_iter().collect());
            (role, posting)
        })
        .collect();
    insert(&api, ACME, &vacancies).await;
    let feeds = join_all([INDEED, LINKEDIN].map(|path| read(&api, path))).await;
    for feed in feeds {
        let size = serde_json::to_string(&feed.text).unwrap().len();
        assert!((4_000_000..6_000_000).contains(&size), "{size}");
        assert!(elements(&feed).1.len() < 400);
    }
}

#[tokio::test]
async fn links_count_for_the_sources_that_the_organization_lists() {
    let api = acme().await;
    let job = Vacancy::open(&api, json!({ "title": "Cook" })).await;
    let sources = async |query: &str, sent: Option<&str>, email: &str| {
        let browser = Browser::new(&api);
        let page = browser.get(&format!("{}{query}", job.path())).await.expect(200);
        let hidden = page.text.contains("<input type=\"hidden\" name=\"source\"");
        let kept = if hidden { input(&page, "source") } else { String::new() };
        let fields = form("Ada", email).set("source", sent.unwrap_or(&kept));
        browser.submit(&format!("{}/apply", job.path()), &fields).await.expect(303);
        let found = api.get(&format!("/api/v1/candidates?email={email}")).await.expect(200);
        let path = format!("/api/v1/candidates/{}", found.number("/data/0/id"));
        let person = api.get(&path).await.expect(200);
        let source = |pointer: &str| person.string(pointer).to_owned();
        assert_eq!(source("/source"), source("/applications/0/source"));
        (kept, source("/source"))
    };
    let own = "career_page";
    for (number, (query, sent, kept, source)) in [
        ("", None, "", own),
        ("?source=Indeed", None, "Indeed", "Indeed"),
        ("?source=%20job%20FAIR%20k%C3%B6ln", None, "Job fair Köln", "Job fair Köln"),
        ("?source=LinkedIn", None, "", own),
        ("?source=", None, "", own),
        ("?source=%3Cscript%3E", None, "", own),
        ("", Some("indeed"), "", "Indeed"),
        ("?source=Indeed", Some("Somewhere"), "Indeed", own),
        ("?source=Indeed", Some("manual"), "Indeed", own),
    ]
    .into_iter()
    .enumerate()
    {
        let found = sources(query, sent, &format!("ada{number}@example.com")).await;
        assert_eq!(found, (kept.to_owned(), source.to_owned()), "{query} {sent:?}");
    }
    // The source stays in a form with mistakes.
    let wrong = form("", "ada@example.com").set("source", "Indeed");
    let page = Browser::new(&api).submit(&format!("{}/apply", job.path()), &wrong).await.expect(422);
    assert_eq!(input(&page, "source"), "Indeed");
}

#[tokio::test]
async fn owners_set_what_job_boards_need() {
    let api = acme().await;
    let browser = browser(&api).await;
    let page = browser.get(SETTINGS).await.expect(200);
    assert_eq!(input(&page, "linkedin_company_id"), "1234567");
    assert!(page.text.contains(">\nIndeed\nJob fair Köln</textarea>"), "{}", page.text);
    api.run_whole_feed().await;
    let events = api.get("/api/v1/events?type=settings.changed").await.expect(200);
    assert_eq!(
        events.body["data"][0]["changed"],
        json!(["contact_email", "linkedin_company_id", "link_sources"])
    );
    let many = (0..51).map(|number| format!("s{number}")).collect::<Vec<_>>().join("\n");
    let long = "x".repeat(101);
    for (field, value, problem) in [
        ("linkedin_company_id", "acme", "Company ID on LinkedIn must be"),
        ("linkedin_company_id", "-1", "Company ID on LinkedIn must be"),
        ("link_sources", &*many, "Sources in links must be at most 50 lines."),
        ("link_sources", &*long, "Sources in links must be at most 100 characters."),
    ] {
        let page = browser.post(SETTINGS, &[("time_zone", "UTC"), (field, value)]).await.expect(422);
        assert!(plain(&page.text).contains(problem), "{problem} {}", page.text);
    }
    browser.post(SETTINGS, &[("time_zone", "UTC")]).await.expect(303);
    let page = browser.get(SETTINGS).await.expect(200);
    assert_eq!(input(&page, "linkedin_company_id"), "");
}
