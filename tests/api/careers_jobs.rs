//! A posting's page: its content in each state, its structured data, and the caching and errors of all career pages.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use shared::model::{Branding, Mode, Text};
use tests::browser::{FORM, form};
use tests::careers::{Vacancy, cards, read, titles, value, words};
use tests::interceptor::Fault;
use tests::{ACME, BASE_URL, GLOBEX, Response, TestApi, tenant};

use crate::careers_openings::assert_consistent;

/// Returns the structured data for search engines.
pub(crate) fn json_ld(page: &Response) -> Option<Value> {
    let rest = page.text.split_once("<script type=\"application/ld+json\">")?.1;
    Some(serde_json::from_str(rest.split("</script>").next()?).unwrap())
}

/// Returns the names and values in the page's list of facts.
pub(crate) fn facts(page: &Response) -> Vec<(String, String)> {
    let facts = page.text.split("<dt>").skip(1).filter_map(|fact| fact.split("</div>").next());
    facts.filter_map(|fact| fact.split_once("</dt>").map(|(name, text)| (words(name), words(text)))).collect()
}

/// Returns the markup of the section with this heading.
fn section<'p>(page: &'p Response, heading: &str) -> Option<&'p str> {
    let opening = format!("<h2>{heading}</h2>\n<div class=\"text\" dir=\"auto\">\n");
    page.text.split_once(&opening)?.1.split("</div>").next()
}

#[tokio::test]
async fn a_page_and_its_structured_data_show_every_field_of_a_posting() {
    let api = TestApi::new().await;
    let acme = api.store().find_organization(tenant(ACME, Mode::Live)).await.unwrap().unwrap();
    let branding = Branding {
        name: Text::parse("Acme & Co").unwrap().unwrap(),
        introduction: None,
        accent: None,
        logo_url: Some("https://cdn.example/logo.png".parse().unwrap()),
    };
    api.store().set_branding(&acme.organization, &branding).await.unwrap();
    let description =
        "Cook **soup** & <u>bread</u>.\n\n# Where\n\n- kitchen\n- [yard](https://acme.example/?a=1&b=2)";
    let body = json!({
        "role": {
            "title": "Cook (internal)", "department": "Food & Drink", "location": "Austin, Texas", "country": "US",
            "remote_policy": "onsite", "employment_type": "part_time", "salary_min": 40_000,
            "salary_max": 50_000, "salary_currency": "GBP",
            "description": "For us alone",
        },
        "job_posting": {
            "title": "Cook & \"Baker\" </script>", "public_description": description,
            "requirements": "1. hands\n2. a *nose*",
        },
    });
    let cook = Vacancy::post(&api, body).await;
    api.clock.set("2026-11-23T08:00:00Z");
    let page = read(&api, &cook.path()).await.expect(200);
    let title = "Cook & \"Baker\" </script>";
    let fact = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(
        facts(&page),
        [
            fact("Department", "Food & Drink"),
            fact("Location", "Austin, Texas"),
            fact("Country", "United States"),
            fact("Workplace", "On-site"),
            fact("Employment", "Part-time"),
            fact("Salary", "£40,000 to £50,000 a year"),
            fact("Posted", "3 days ago"),
        ]
    );
    assert!(page.text.contains(">Cook &#38; &#34;Baker&#34; &#60;/script&#62;</h1>"), "{}", page.text);
    assert!(page.text.contains("<time datetime=\"2026-11-20\">3 days ago</time>"));
    assert!(!page.text.contains("internal") && !page.text.contains("For us alone"));
    let about = section(&page, "About the job").unwrap();
    for markup in [
        "<p>Cook <strong>soup</strong> &amp; &lt;u&gt;bread&lt;/u&gt;.</p>",
        "<h3>Where</h3>",
        "<li>kitchen</li>",
        "<a href=\"https://acme.example/?a=1&amp;b=2\" rel=\"nofollow noopener noreferrer\">yard</a>",
    ] {
        assert!(about.contains(markup), "{markup} in {about}");
    }
    let requirements = section(&page, "Requirements").unwrap();
    assert!(requirements.contains("<li>a <em>nose</em></li>"), "{requirements}");
    let url = format!("{BASE_URL}{}", cook.path());
    let excerpt = "Cook soup & <u>bread</u>. Where kitchen yard";
    for (marker, expected) in [
        ("rel=\"canonical\" href=\"", url.as_str()),
        ("property=\"og:url\" content=\"", &url),
        ("property=\"og:type\" content=\"", "website"),
        ("property=\"og:title\" content=\"", title),
        ("property=\"og:site_name\" content=\"", "Acme & Co"),
        ("property=\"og:description\" content=\"", excerpt),
        ("property=\"og:image\" content=\"", "https://cdn.example/logo.png"),
        ("name=\"description\" content=\"", excerpt),
        ("name=\"twitter:card\" content=\"", "summary"),
    ] {
        assert_eq!(value(&page, marker).as_deref(), Some(expected), "{marker}");
    }
    assert_eq!(value(&page, "name=\"robots\" content=\""), None);
    let career_page = format!("{BASE_URL}/careers/acme");
    let markup = json!({
        "@context": "https://schema.org/",
        "@type": "JobPosting",
        "title": title,
        "description": format!("{}\n{}", about, requirements),
        "datePosted": "2026-11-20",
        "hiringOrganization": {
            "@type": "Organization", "name": "Acme & Co", "url": career_page,
            "logo": "https://cdn.example/logo.png",
        },
        "identifier": { "@type": "PropertyValue", "name": "Acme & Co", "value": cook.posting.to_string() },
        "url": url,
        "directApply": true,
        "jobLocation": {
            "@type": "Place",
            "address": { "@type": "PostalAddress", "addressLocality": "Austin, Texas", "addressCountry": "US" },
        },
        "employmentType": "PART_TIME",
        "salaryCurrency": "GBP",
        "baseSalary": {
            "@type": "MonetaryAmount", "currency": "GBP",
            "value": {
                "@type": "QuantitativeValue", "unitText": "YEAR", "minValue": 40_000, "maxValue": 50_000,
            },
        },
    });
    assert_eq!(json_ld(&page), Some(markup));
    assert_eq!(page.text.matches("<script").count(), 2, "the data, and the script of the form");
    assert_eq!(page.text.matches("</script>").count(), 2, "a title cannot close the element");
}

#[tokio::test]
async fn a_posting_without_a_description_shows_its_roles_description() {
    let api = TestApi::new().await;
    let role = json!({ "title": "x", "description": "Of the role", "location": "Remote" });
    let vacancy = Vacancy::open(&api, role).await;
    let about = async || {
        let page = read(&api, &vacancy.path()).await.expect(200);
        (section(&page, "About the job").map(words), json_ld(&page).is_some())
    };
    api.patch(&vacancy.role_path(), json!({ "description": "Another" })).await.expect(200);
    assert_eq!(about().await, (Some("Another".to_owned()), true));
    api.patch(&vacancy.posting_path(), json!({ "public_description": "Own" })).await.expect(200);
    assert_eq!(about().await, (Some("Own".to_owned()), true));
    api.patch(&vacancy.posting_path(), json!({ "public_description": null })).await.expect(200);
    api.patch(&vacancy.role_path(), json!({ "description": null })).await.expect(200);
    assert_eq!(about().await, (None, false), "search engines require a description");
    let page = read(&api, &vacancy.path()).await.expect(200);
    assert_eq!(section(&page, "Requirements"), None);
    assert_eq!(facts(&page).len(), 2);
}

/// A location `Remote` without a policy means the same in the API, on the page, in the feed and for search engines.
#[tokio::test]
async fn every_format_agrees_on_remote_work() {
    let api = TestApi::new().await;
    let role = json!({ "title": "x", "description": "d", "location": "Remote" });
    let vacancy = Vacancy::open(&api, role).await;
    for (change, is_remote) in [
        (json!({}), true),
        (json!({ "location": "Oslo" }), false),
        (json!({ "location": "REMOTE", "country": "NO" }), true),
        (json!({ "remote_policy": "hybrid" }), false),
        (json!({ "location": "Oslo", "remote_policy": "remote" }), true),
    ] {
        let role = api.patch(&vacancy.role_path(), change.clone()).await.expect(200);
        assert_eq!(role.body["remote_policy"] == "remote", is_remote, "{change}");
        let job = read(&api, "/careers/acme/jobs.json").await.expect(200).body["jobs"][0].clone();
        assert_eq!(job["is_remote"], is_remote, "{change}");
        assert_eq!(job["remote_policy"], role.body["remote_policy"], "{change}");
        let page = read(&api, &vacancy.path()).await.expect(200);
        let markup = json_ld(&page).unwrap();
        assert_eq!(markup.get("jobLocationType").is_some(), is_remote, "{change}");
        assert_eq!(markup.get("jobLocation").is_none(), is_remote, "{change}");
        let found = read(&api, "/careers/acme?remote_policy=remote").await.expect(200);
        assert_eq!(titles(&found).len(), usize::from(is_remote), "{change}");
    }
}

/// Descriptions for search engines and link previews are plain text.
#[tokio::test]
async fn the_descriptions_for_search_engines_contain_no_markdown() {
    let api = TestApi::new().await;
    let description = "## About **us**\n\n**Tasks:**cook and __bake__ ~~nothing~~\n\n- `soup`\n- ![stew](s.png)\n\n\
                       > [menu](https://acme.example)\n\n***\n\n| a | b |\n|---|---|\n| c | d |";
    let role = json!({ "title": "Cook", "description": description });
    let cook = Vacancy::open(&api, role).await;
    let page = read(&api, &cook.path()).await.expect(200);
    for marker in ["name=\"description\" content=\"", "property=\"og:description\" content=\""] {
        let text = value(&page, marker).unwrap();
        assert_eq!(text, "About us Tasks:cook and bake nothing soup stew menu", "{marker}");
    }
}

/// Search engines get the whole text, as it is on the page. What comes last matters as much.
#[tokio::test]
async fn the_structured_data_has_the_whole_description() {
    let api = TestApi::new().await;
    let (description, requirements) = ("説明を読む。".repeat(3_000), "条件を満たす。".repeat(2_800));
    let role = json!({ "title": "Cook", "location": "東京", "description": description });
    let cook = Vacancy::open(&api, role).await;
    api.patch(&cook.posting_path(), json!({ "requirements": requirements })).await.expect(200);
    let page = read(&api, &cook.path()).await.expect(200);
    let whole = json_ld(&page).unwrap()["description"].as_str().unwrap().to_owned();
    assert_eq!(whole, format!("<p>{description}</p>\n\n<p>{requirements}</p>\n"));
}

#[tokio::test]
async fn a_page_without_running_text_has_no_description_for_search_engines() {
    let api = TestApi::new().await;
    for description in [json!(null), json!("| a |\n|---|\n| b |"), json!("```\nlet a;\n```")] {
        let role = json!({ "title": "Cook", "description": description });
        let page = read(&api, &Vacancy::open(&api, role).await.path()).await.expect(200);
        assert!(
            !page.text.contains("name=\"description\"") && !page.text.contains("og:description"),
            "{}",
            page.text
        );
        assert!(page.text.contains("property=\"og:title\""));
    }
}

/// A browser lays out each text in its own direction.
#[tokio::test]
async fn titles_texts_and_fields_have_their_own_direction() {
    let api = TestApi::new().await;
    let role = json!({
        "title": "مهندس Rust 2026", "description": "نبحث عن مهندس Rust.", "department": "الهندسة", "location": "عمّان"
    });
    let engineer = Vacancy::open(&api, role).await;
    let page = read(&api, &engineer.path()).await.expect(200);
    for part in [
        "<h1 dir=\"auto\">مهندس Rust 2026</h1>",
        "<dd dir=\"auto\">الهندسة</dd>",
        "<dd dir=\"auto\">عمّان</dd>",
        "<div class=\"text\" dir=\"auto\">\n<p>نبحث عن مهندس Rust.</p>",
        "<input id=\"name\" name=\"name\" type=\"text\" value=\"\" dir=\"auto\"",
        "<textarea id=\"note\" name=\"note\" rows=\"5\" dir=\"auto\"",
    ] {
        assert!(page.text.contains(part), "{part} in {}", page.text);
    }
    // E-mail addresses, telephone numbers and links are written from left to right in every language.
    assert!(!page.text.contains("type=\"email\" value=\"\" dir"));
    let list = read(&api, "/careers/acme").await.expect(200);
    let title = format!("<h2 dir=\"auto\"><a href=\"{}\">مهندس Rust 2026</a></h2>", engineer.path());
    assert!(list.text.contains(&title) && list.text.contains("<bdi>عمّان</bdi>"), "{}", list.text);
    assert!(list.text.contains("<link rel=\"icon\" href=\"data:image/svg+xml,%3Csvg"), "{}", list.text);
}

#[tokio::test]
async fn html_in_descriptions_is_shown_as_formatting() {
    let api = TestApi::new().await;
    let description = "<h2>About us</h2>\n<p class=\"x\" onclick=\"alert(1)\">We <b>cook</b> &amp;\nbake.</p>\
                       <ul><li>soup<li><a href=\"https://acme.example/?a=1&amp;b=2\" target=\"_top\">menu</a></ul>\
                       <script>alert(1)</script>";
    let body = json!({
        "role": { "title": "Cook", "location": "Oslo", "description": description },
        "job_posting": { "requirements": "Two <em>hands</em><br>One nose" },
    });
    let cook = Vacancy::post(&api, body).await;
    let role = api.get(&format!("/api/v1/roles/{}", cook.role)).await.expect(200);
    assert_eq!(role.string("/description"), description, "the API returns what was sent");
    let about = "<h3>About us</h3>\n<p>We <strong>cook</strong> &amp; bake.</p>\n<ul>\n<li>soup</li>\n<li>\
                 <a href=\"https://acme.example/?a=1&amp;b=2\" rel=\"nofollow noopener noreferrer\">menu</a></li>\n\
                 </ul>\n<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n";
    let requirements = "<p>Two <em>hands</em><br>\nOne nose</p>\n";
    let page = read(&api, &cook.path()).await.expect(200);
    assert!(section(&page, "About the job").unwrap().contains(about), "{}", page.text);
    assert!(section(&page, "Requirements").unwrap().contains(requirements), "{}", page.text);
    assert_eq!(json_ld(&page).unwrap()["description"], format!("{about}\n{requirements}"));
    let excerpt = "About us We cook & bake. soup menu <script>alert(1)</script>";
    for marker in ["name=\"description\" content=\"", "property=\"og:description\" content=\""] {
        assert_eq!(value(&page, marker).as_deref(), Some(excerpt));
    }
    let feed = read(&api, "/careers/acme/jobs.json").await.expect(200);
    let plain = "About us\nWe cook & bake.\nsoup\nmenu\n<script>alert(1)</script>";
    assert_eq!(feed.body["jobs"][0]["description"], json!({ "html": about, "plain": plain }));
    assert_eq!(feed.string("/jobs/0/requirements/plain"), "Two hands\nOne nose");
}

/// Checks the status, the form, the indexing and the title of a page in each state.
#[tokio::test]
async fn each_state_of_a_posting_shows_the_right_page() {
    let api = TestApi::new().await;
    let draft = json!({
        "role": { "title": "The secret", "description": "d", "location": "Oslo" }, "publish": false,
    });
    for (steps, status, shows_title) in [
        (&[][..], 410, false),
        (&["open"], 410, false),
        (&["publish"], 410, false),
        (&["publish", "unpublish"], 410, false),
        (&["publish", "close"], 410, false),
        (&["open", "close", "reopen"], 410, false),
        (&["open", "publish"], 200, true),
        (&["open", "publish", "pause"], 200, true),
        (&["open", "publish", "pause", "resume"], 200, true),
        (&["open", "publish", "unpublish"], 410, true),
        (&["open", "publish", "close"], 410, true),
        (&["open", "publish", "pause", "close"], 410, true),
        (&["open", "publish", "close", "reopen"], 410, true),
        (&["open", "publish", "close", "reopen", "open"], 410, true),
        (&["open", "publish", "close", "reopen", "open", "publish"], 200, true),
    ] {
        let vacancy = Vacancy::post(&api, draft.clone()).await;
        for step in steps {
            vacancy.step(&api, step).await.expect(200);
        }
        let page = read(&api, &vacancy.path()).await;
        let is_paused = steps.last() == Some(&"pause");
        let is_open = status == 200 && !is_paused;
        assert_eq!(page.status, status, "{steps:?}");
        assert_eq!(page.text.contains("The secret"), shows_title, "{steps:?}");
        assert_eq!(page.text.contains("<form"), is_open, "{steps:?}");
        assert_eq!(json_ld(&page).is_some(), is_open, "{steps:?}");
        assert_eq!(page.text.contains("not accepting applications"), is_paused, "{steps:?}");
        assert_eq!(page.text.contains("no longer available"), status == 410, "{steps:?}");
        let robots = value(&page, "name=\"robots\" content=\"");
        assert_eq!(robots.as_deref(), (!is_open).then_some("noindex"), "{steps:?}");
        assert_eq!(value(&page, "rel=\"canonical\" href=\"").is_some(), is_open, "{steps:?}");
        assert!(page.text.contains("href=\"/careers/acme\""), "{steps:?}: it links to the list");
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        vacancy.step(&api, "close").await.expect(200);
    }
    for path in ["/careers/acme/nothing", "/careers/acme/UPPER", "/careers/acme/a--b", "/careers/acme/%00"] {
        let page = read(&api, path).await.expect(404);
        assert!(page.text.contains("Job not found"), "{path}");
        assert!(page.text.contains("href=\"/careers/acme\""), "{path}");
        assert_eq!(value(&page, "name=\"robots\" content=\"").as_deref(), Some("noindex"), "{path}");
    }
    let unknown_site = read(&api, "/careers/nobody/x").await.expect(404);
    assert!(unknown_site.text.contains("Career page not found"));
}

#[tokio::test]
async fn two_organizations_can_use_the_same_slug() {
    let api = TestApi::new().await;
    let ours = Vacancy::open(&api, json!({ "title": "Cook", "department": "Ours" })).await;
    let body = json!({ "role": { "title": "Cook", "department": "Theirs" } });
    let post = |demo, mode| api.request(Method::POST, "/api/v1/quick_post").key(demo, mode).json(&body);
    for (demo, mode) in [(GLOBEX, Mode::Live), (ACME, Mode::Test)] {
        let posted = post(demo, mode).send().await.expect(201);
        assert_eq!(posted.string("/job_posting/slug"), ours.slug);
    }
    for (site, department) in [("acme", "Ours"), ("globex", "Theirs"), ("acme-test", "Theirs")] {
        let page = read(&api, &format!("/careers/{site}/cook")).await.expect(200);
        assert_eq!(facts(&page)[0].1, department, "{site}");
        assert_eq!(cards(&read(&api, &format!("/careers/{site}")).await).len(), 1, "{site}");
    }
    ours.step(&api, "close").await.expect(200);
    read(&api, "/careers/acme/cook").await.expect(410);
    for site in ["globex", "acme-test"] {
        read(&api, &format!("/careers/{site}/cook")).await.expect(200);
    }
    let other = json!({ "title": "Only ours" });
    Vacancy::open(&api, other).await;
    read(&api, "/careers/globex/only-ours").await.expect(404);
}

#[tokio::test]
async fn every_change_appears_immediately_on_every_page() {
    let api = TestApi::new().await;
    let body =
        json!({ "role": { "title": "Cook", "location": "Oslo", "description": "d" }, "publish": false });
    let cook = Vacancy::post(&api, body).await;
    let others = [Vacancy::open(&api, json!({ "title": "Another" })).await];
    let mut minute = 30;
    for (step, status, is_listed) in [
        ("open", 410, false),
        ("publish", 200, true),
        ("publish", 200, true),
        ("pause", 200, false),
        ("resume", 200, true),
        ("unpublish", 410, false),
        ("unpublish", 410, false),
        ("publish", 200, true),
        ("close", 410, false),
        ("close", 410, false),
        ("reopen", 410, false),
        ("publish", 410, false),
        ("open", 200, true),
        ("pause", 200, false),
        ("unpublish", 410, false),
        ("resume", 410, false),
        ("publish", 200, true),
        ("pause", 200, false),
        ("close", 410, false),
    ] {
        minute += 1;
        api.clock.set(&format!("2026-11-20T09:{minute}:00Z"));
        cook.step(&api, step).await.expect(200);
        let shown = read(&api, &cook.path()).await.status;
        let list = read(&api, "/careers/acme").await;
        let is_in = titles(&list).contains(&"Cook".to_owned());
        assert_eq!((shown, is_in), (status, is_listed), "{step} at {minute}");
        assert_consistent(&api, &[std::slice::from_ref(&cook), &others].concat(), step).await;
    }
    for step in ["reopen", "open", "publish"] {
        cook.step(&api, step).await.expect(200);
    }
    let (role, posting) = (cook.role_path(), cook.posting_path());
    for (path, change, shown) in [
        (&role, json!({ "title": "Chef" }), "Chef"),
        (&role, json!({ "location": "Bergen" }), "Bergen"),
        (&role, json!({ "country": "NO" }), "Norway"),
        (&role, json!({ "employment_type": "contract" }), "Contract"),
        (&role, json!({ "department": "Food" }), "Food"),
        (&role, json!({ "remote_policy": "hybrid" }), "Hybrid"),
        (&role, json!({ "salary_min": 7, "salary_max": 7 }), "$7 a year"),
        (&posting, json!({ "title": "Head cook" }), "Head cook"),
    ] {
        api.patch(path, change).await.expect(200);
        for page in ["/careers/acme", &cook.path()] {
            let page = read(&api, page).await.expect(200);
            assert!(words(&page.text).contains(shown), "{shown}");
        }
        if ["Chef", "Bergen", "Food", "Head cook"].contains(&shown) {
            let feed = read(&api, "/careers/acme/jobs.json").await.expect(200);
            assert!(feed.text.contains(shown), "{shown}");
        }
    }
    let cleared = json!({
        "location": null, "country": null, "department": null, "remote_policy": null, "employment_type": null,
        "salary_min": null,
    });
    api.patch(&role, cleared).await.expect(200);
    let list = cards(&read(&api, "/careers/acme").await);
    assert_eq!(list[0].marks, ["up to $7 a year"]);
    assert_eq!(cook.slug, "cook", "the slug does not change");
    read(&api, &cook.path()).await.expect(200);
}

/// Returns the path of one page of each cacheable type, with content.
async fn pages(api: &TestApi) -> [String; 6] {
    let open = Vacancy::open(api, json!({ "title": "Open", "description": "d", "location": "l" })).await;
    let paused = Vacancy::open(api, json!({ "title": "Paused" })).await;
    paused.step(api, "pause").await.expect(200);
    let of = |path: &str| format!("/careers/acme{path}");
    [of(""), of("?q=open"), of("/jobs.json"), of("/sitemap.xml"), open.path(), paused.path()]
}

#[tokio::test]
async fn pages_are_cached_for_30_seconds_and_then_revalidated() {
    let api = TestApi::new().await;
    for path in pages(&api).await {
        let page = read(&api, &path).await.expect(200);
        assert_eq!(page.header("cache-control"), "public, max-age=30", "{path}");
        let tag = page.header("etag").to_owned();
        assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 16, "{path}: {tag} is strong");
        assert_eq!(page.headers.get("set-cookie"), None, "{path}");
        api.clock.set("2026-11-20T09:45:00Z");
        let again = read(&api, &path).await.expect(200);
        assert_eq!((again.header("etag"), &again.text), (tag.as_str(), &page.text), "{path}");
        let revalidate =
            |value: &str| api.request(Method::GET, &path).anonymous().header("if-none-match", value).send();
        for known in [
            tag.clone(),
            format!("W/{tag}"),
            format!("\"a\", W/\"b\" ,{tag},\"c\""),
            format!("  {tag}  "),
            "*".to_owned(),
        ] {
            let response = revalidate(&known).await.expect(304);
            assert_eq!(response.text, "", "{path}: {known}");
            assert_eq!(response.header("etag"), tag, "{path}: {known}");
            assert_eq!(response.header("cache-control"), "public, max-age=30", "{path}: {known}");
            assert_eq!(response.headers.get("set-cookie"), None, "{path}: {known}");
        }
        let unquoted = tag.trim_matches('"').to_owned();
        for other in ["\"a\"", "", "nonsense", &unquoted, "\"", "W/", &tag[..tag.len() - 2]] {
            assert_eq!(revalidate(other).await.expect(200).text, page.text, "{path}: {other}");
        }
        let two = api.request(Method::GET, &path).anonymous();
        let two = two.header("if-none-match", "\"a\"").append_header("if-none-match", &tag);
        two.send().await.expect(304);
        let cookie = api.request(Method::GET, &path).anonymous().header("cookie", "__Host-rolecall=x");
        let response = cookie.send().await.expect(200);
        assert_eq!((&response.text, response.headers.get("set-cookie")), (&page.text, None), "{path}");
    }
}

#[tokio::test]
async fn an_entity_tag_changes_with_the_content_of_its_page() {
    let api = TestApi::new().await;
    let vacancy = Vacancy::open(&api, json!({ "title": "x", "location": "l", "description": "d" })).await;
    let paths = ["/careers/acme".to_owned(), "/careers/acme/jobs.json".to_owned(), vacancy.path()];
    let tags = async || {
        let mut tags = Vec::new();
        for path in &paths {
            tags.push(read(&api, path).await.expect(200).header("etag").to_owned());
        }
        tags
    };
    let mut before = tags().await;
    for (path, change) in [
        (vacancy.posting_path(), json!({ "title": "y" })),
        (vacancy.role_path(), json!({ "location": "m" })),
        (vacancy.role_path(), json!({ "salary_min": 1 })),
    ] {
        api.patch(&path, change.clone()).await.expect(200);
        let after = tags().await;
        assert!(after.iter().zip(&before).all(|(after, before)| after != before), "{change}");
        before = after;
    }
    api.clock.set("2026-11-21T09:30:00Z");
    let after = tags().await;
    assert_ne!((&after[0], &after[2]), (&before[0], &before[2]), "both pages show the age");
    assert_eq!(after[1], before[1], "the feed shows dates only");
}

#[tokio::test]
async fn missing_pages_are_cached_without_revalidation_and_form_responses_are_not_cached() {
    let api = TestApi::new().await;
    let vacancy = Vacancy::open(&api, json!({ "title": "x" })).await;
    let apply = async |path: &str, fields: &[(&str, &str)]| {
        let request = api.request(Method::POST, &format!("{path}/apply")).anonymous();
        request.body(FORM, form(fields)).header("if-none-match", "*").send().await
    };
    let sent = [("name", "Jane"), ("email", "jane@example.com"), ("consent", "yes")];
    for (fields, status) in [(&sent[..], 303), (&sent[..1], 422)] {
        let response = apply(&vacancy.path(), fields).await.expect(status);
        assert_eq!(response.header("cache-control"), "no-store", "{status}");
        assert_eq!(
            (response.headers.get("etag"), response.headers.get("set-cookie")),
            (None, None),
            "{status}"
        );
    }
    let confirmation = apply(&vacancy.path(), &sent).await.header("location").to_owned();
    let confirmation = read(&api, &confirmation).await.expect(200);
    assert_eq!(
        (confirmation.header("cache-control"), confirmation.headers.get("set-cookie")),
        ("no-store", None)
    );
    vacancy.step(&api, "close").await.expect(200);
    let unknown = "/careers/acme/unknown".to_owned();
    for (path, status) in [(vacancy.path(), 410), (unknown, 404)] {
        let page = read(&api, &path).await.expect(status);
        assert_eq!(page.header("cache-control"), "public, max-age=30", "{path}");
        assert_eq!(page.headers.get("set-cookie"), None);
        let tag = page.header("etag").to_owned();
        let again = api.request(Method::GET, &path).anonymous().header("if-none-match", &tag).send().await;
        assert_eq!((again.status, again.text), (status, page.text), "{path}: 304 is for existing pages only");
        let response = apply(&path, &sent).await.expect(status);
        assert_eq!(response.header("cache-control"), "no-store", "{path}");
    }
    for (path, status) in [("/careers/nobody", 404), ("/careers/nobody/x", 404)] {
        let page = read(&api, path).await.expect(status);
        assert_eq!(page.headers.get("set-cookie"), None);
    }
    for method in [Method::PUT, Method::DELETE, Method::PATCH] {
        let response = api.request(method, &vacancy.path()).anonymous().send().await;
        assert_eq!(response.status, StatusCode::METHOD_NOT_ALLOWED.as_u16());
    }
}

/// The error page is not cached and does not link to the dashboard. The reads of each type of item fail in turn.
#[tokio::test]
async fn pages_show_that_the_service_is_busy_when_dynamodb_fails() {
    let api = TestApi::new().await;
    let paths = pages(&api).await;
    let needles = ["ORGANIZATION_SLUG#", "#live#SLUG\"", "#live#POSTING\"", "#live#OPENING\""];
    for (needle, fault) in
        needles.into_iter().zip([Fault::Throttled, Fault::Unreachable, Fault::Internal, Fault::Throttled])
    {
        let mut failed = 0;
        for path in &paths {
            let fault = fault.clone();
            api.dynamodb
                .inject_faults(move |_, request| request.to_string().contains(needle).then(|| fault.clone()));
            api.dynamodb.take_calls();
            let request = api.request(Method::GET, path).anonymous().header("if-none-match", "*");
            let response = request.send().await;
            let is_affected =
                |call: &tests::interceptor::RecordedCall| call.request.to_string().contains(needle);
            if !api.dynamodb.take_calls().iter().any(is_affected) {
                response.expect(304);
                continue;
            }
            failed += 1;
            assert_eq!(response.status, 503, "{path} {needle}: {}", response.text);
            let is_document = ["/jobs.json", "/sitemap.xml"].iter().any(|end| path.ends_with(end));
            let media = if is_document { "application/json" } else { "text/html; charset=utf-8" };
            assert_eq!(response.header("content-type"), media, "{path}");
            assert_eq!(response.header("cache-control"), "no-store", "{path}");
            assert_eq!(response.header("retry-after"), "1", "{path}");
            for absent in ["etag", "set-cookie"] {
                assert_eq!(response.headers.get(absent), None, "{path}");
            }
            assert!(response.text.contains("The service is busy; try again in a moment"), "{path}");
            assert!(response.text.contains(response.header("x-request-id")), "{path}");
            for detail in ["href=\"/dashboard\"", "dynamo", "throughput", "organization_slug"] {
                assert!(!response.text.to_lowercase().contains(detail), "{path}: {detail}");
            }
        }
        assert!(failed >= 2, "{needle}: {failed} pages read this item");
    }
    api.dynamodb.inject_faults(|_, _| Some(Fault::Unreachable));
    for path in ["/robots.txt", "/careers/style.css"] {
        read(&api, path).await.expect(200);
    }
}
