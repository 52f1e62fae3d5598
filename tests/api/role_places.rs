//! Where the work of a role is done: the places in the API, in the dashboard, on the career pages, on X and for assistants.

use serde_json::{Value, json};
use tests::assistant::Assistant;
use tests::browser::{Browser, Form, plain};
use tests::careers::{Vacancy, read, titles};
use tests::dashboard::owner;
use tests::{ACME, TestApi};

use crate::careers_jobs::{facts, json_ld};

fn austin() -> Value {
    json!({ "city": "Austin", "region": "TX", "postal_code": "78701", "country": "US" })
}

fn germany() -> Value {
    json!({ "city": null, "region": null, "postal_code": null, "country": "DE" })
}

fn oslo() -> Value {
    json!({ "city": "Oslo", "region": null, "postal_code": null, "country": null })
}

/// The location, the country and the list of a role.
fn places(role: &Value) -> Value {
    json!([role["location"], role["country"], role["locations"]])
}

#[tokio::test]
async fn the_location_and_the_country_are_those_of_the_first_place() {
    let api = TestApi::new().await;
    let body = json!({ "title": "Cook", "locations": [austin(), { "country": " de " }, { "city": " Oslo", "region": "" }] });
    let role = api.post("/api/v1/roles", body).await.expect(201);
    let path = format!("/api/v1/roles/{}", role.number("/id"));
    assert_eq!(places(&role.body), json!(["Austin, TX", "US", [austin(), germany(), oslo()]]));
    assert_eq!(api.get(&path).await.expect(200).body, role.body);
    for (locations, expected) in [
        (json!([germany(), austin()]), json!(["Germany", "DE", [germany(), austin()]])),
        (json!([oslo()]), json!(["Oslo", null, [oslo()]])),
        // Without a list, the location stays, and can be changed again.
        (json!([]), json!(["Oslo", null, []])),
        (json!([germany()]), json!(["Germany", "DE", [germany()]])),
        (json!(null), json!(["Germany", "DE", []])),
        (json!([austin()]), json!(["Austin, TX", "US", [austin()]])),
        (json!(" "), json!(["Austin, TX", "US", []])),
    ] {
        let role = api.patch(&path, json!({ "locations": locations })).await.expect(200);
        assert_eq!(places(&role.body), expected, "{locations}");
        assert_eq!(api.get(&path).await.expect(200).body, role.body);
    }
    let moved = api.patch(&path, json!({ "location": "Bonn", "country": "DE" })).await.expect(200);
    assert_eq!(places(&moved.body), json!(["Bonn", "DE", []]));
    let posted = json!({ "role": { "title": "Baker", "locations": [austin()] } });
    let posted = api.post("/api/v1/quick_post", posted).await.expect(201).body;
    assert_eq!(places(&posted["role"]), json!(["Austin, TX", "US", [austin()]]));
    let listed = api.get("/api/v1/roles").await.expect(200).body;
    let mut roles = listed["data"].as_array().unwrap().iter();
    let found = roles.find(|role| role["id"] == posted["role"]["id"]).unwrap();
    assert_eq!(found["locations"], json!([austin()]));
}

#[tokio::test]
async fn a_location_that_contradicts_the_places_is_refused() {
    let api = TestApi::new().await;
    let role = json!({ "title": "Cook", "locations": [austin(), germany()] });
    let role = api.post("/api/v1/roles", role).await.expect(201);
    let path = format!("/api/v1/roles/{}", role.number("/id"));
    let problem =
        |field: &str| format!("{field} is that of the first of the locations; set locations instead");
    for (change, field) in [
        (json!({ "location": "Bonn" }), "location"),
        (json!({ "location": null }), "location"),
        (json!({ "location": "Bonn", "country": "FR" }), "location"),
        (json!({ "country": "DE" }), "country"),
        (json!({ "country": null }), "country"),
        (json!({ "location": "Bonn", "locations": [oslo()] }), "location"),
        (json!({ "country": "FR", "locations": [oslo()] }), "country"),
    ] {
        let refused = api.patch(&path, change.clone()).await.expect(422);
        assert_eq!(refused.messages(), [problem(field)], "{change}");
    }
    assert_eq!(api.get(&path).await.expect(200).body, role.body);
    // What a client sends back unchanged, or as it will be, is no contradiction.
    for change in [
        json!({ "location": "Austin, TX", "country": "us" }),
        json!({ "location": "Austin, TX", "country": "US", "locations": [germany()] }),
        json!({ "location": "Oslo", "country": null, "locations": [oslo()] }),
    ] {
        api.patch(&path, change.clone()).await.expect(200);
    }
    for (path, prefix, body) in [
        ("/api/v1/roles", "", json!({ "title": "x", "location": "Bonn", "locations": [oslo()] })),
        (
            "/api/v1/quick_post",
            "role.",
            json!({ "role": { "title": "x", "location": "Bonn", "locations": [oslo()] } }),
        ),
    ] {
        let refused = api.post(path, body).await.expect(422);
        assert_eq!(refused.messages(), [format!("{prefix}{}", problem("location"))]);
    }
    let same = json!({ "title": "x", "location": "Oslo", "locations": [oslo()] });
    api.post("/api/v1/roles", same).await.expect(201);
}

#[tokio::test]
async fn every_limit_of_a_place_is_checked() {
    let api = TestApi::new().await;
    let longest = json!({
        "city": "c".repeat(100), "region": "r".repeat(100), "postal_code": "p".repeat(20), "country": "AT",
    });
    let all = json!({ "title": "x", "locations": vec![longest.clone(); 10] });
    let role = api.post("/api/v1/roles", all).await.expect(201);
    assert_eq!(role.body["locations"], json!(vec![longest; 10]));
    assert_eq!(role.string("/location").len(), 200, "what a location can hold");
    for (locations, messages) in [
        (json!(vec![oslo(); 11]), vec!["locations must have at most 10 items"]),
        (json!("Oslo"), vec!["locations must be an array"]),
        (json!({ "city": "Oslo" }), vec!["locations must be an array"]),
        (json!(["Oslo"]), vec!["locations[0] must be an object"]),
        (json!([oslo(), null, 7]), vec!["locations[1] must be an object", "locations[2] must be an object"]),
        (
            json!([{ "city": "c".repeat(101), "region": "r".repeat(101), "postal_code": "p".repeat(21), "country": "AT" }]),
            vec![
                "locations[0].city must be at most 100 characters",
                "locations[0].region must be at most 100 characters",
                "locations[0].postal_code must be at most 20 characters",
            ],
        ),
        (json!([oslo(), {}]), vec!["locations[1].city can't be blank without a region or a country"]),
        (
            json!([{ "postal_code": "10115" }]),
            vec!["locations[0].city can't be blank without a region or a country"],
        ),
        (
            json!([{ "city": "Bonn", "country": "Germany", "street": "x" }]),
            vec![
                "locations[0].country must be an ISO 3166-1 alpha-2 country code, such as DE",
                "locations[0].street is not a known field",
            ],
        ),
        (json!([{ "city": "a\nb" }]), vec!["locations[0].city must not contain a line break"]),
    ] {
        let refused = api.post("/api/v1/roles", json!({ "title": "x", "locations": locations })).await;
        assert_eq!(refused.expect(422).messages()[..messages.len()], messages, "{locations}");
    }
}

#[tokio::test]
async fn remote_work_stays_remote_when_it_gets_places() {
    let api = TestApi::new().await;
    let role = json!({ "title": "x", "description": "d", "location": "Remote" });
    let vacancy = Vacancy::open(&api, role).await;
    let changed = api.patch(&vacancy.role_path(), json!({ "locations": [germany()] })).await.expect(200);
    assert_eq!((changed.string("/remote_policy"), changed.string("/location")), ("remote", "Germany"));
    let markup = json_ld(&read(&api, &vacancy.path()).await.expect(200)).unwrap();
    assert_eq!(markup["jobLocationType"], "TELECOMMUTE");
    assert_eq!(markup["applicantLocationRequirements"], json!({ "@type": "Country", "name": "Germany" }));
    let changed = json!({ "locations": [oslo()], "remote_policy": null });
    let changed = api.patch(&vacancy.role_path(), changed).await.expect(200);
    assert_eq!(changed.body["remote_policy"], Value::Null);
}

#[tokio::test]
async fn a_change_of_places_is_an_event_and_names_what_it_changes() {
    let api = TestApi::new().await;
    let role = api.post("/api/v1/roles", json!({ "title": "x", "country": "DE" })).await.expect(201);
    let path = format!("/api/v1/roles/{}", role.number("/id"));
    for locations in [json!([germany()]), json!([germany()]), json!([germany(), oslo()]), json!([oslo()])] {
        api.patch(&path, json!({ "locations": locations })).await.expect(200);
    }
    api.run_feed().await;
    let events = api.get("/api/v1/events?type=role.updated").await.expect(200).body;
    let changed: Vec<_> =
        events["data"].as_array().unwrap().iter().map(|event| event["changed"].clone()).collect();
    let expected =
        [json!(["location", "locations"]), json!(["locations"]), json!(["location", "country", "locations"])];
    assert_eq!(changed, expected);
}

#[tokio::test]
async fn career_pages_and_feeds_show_and_find_every_place() {
    let api = TestApi::new().await;
    let munich = json!({ "city": "München", "region": null, "postal_code": null, "country": "DE" });
    let role = json!({ "title": "Cook", "description": "d", "locations": [austin(), munich, oslo()] });
    let cook = Vacancy::open(&api, role).await;
    api.clock.set("2026-11-20T10:00:00Z");
    Vacancy::open(&api, json!({ "title": "Waiter", "location": "Bonn", "country": "DE" })).await;
    let page = read(&api, &cook.path()).await.expect(200);
    let all = facts(&page);
    let shown: Vec<_> = all.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(
        shown[..2],
        [("Locations", "Austin, TX München Oslo"), ("Countries", "United States Germany")]
    );
    let locations = json_ld(&page).unwrap()["jobLocation"].clone();
    assert_eq!(locations[0]["address"]["addressRegion"], "TX");
    assert_eq!(locations[1]["address"]["addressLocality"], "München");
    assert_eq!(locations.as_array().unwrap().len(), 3);
    let job = read(&api, "/careers/acme/jobs.json").await.expect(200).body["jobs"][1].clone();
    assert_eq!(places(&job), json!(["Austin, TX", "US", [austin(), munich, oslo()]]));
    for (query, found) in [
        ("location=munchen", vec!["Cook"]),
        ("location=oslo", vec!["Cook"]),
        ("location=germany", vec!["Waiter", "Cook"]),
        ("location=united", vec!["Cook"]),
        ("location=tx+munchen", vec![]),
        ("q=cook+oslo+germany", vec!["Cook"]),
        ("q=bonn", vec!["Waiter"]),
    ] {
        let page = read(&api, &format!("/careers/acme?{query}")).await.expect(200);
        assert_eq!(titles(&page), found, "{query}");
    }
    let list = read(&api, "/careers/acme").await.expect(200).text;
    for option in ["Austin, TX", "Bonn", "München", "Oslo"] {
        assert!(list.contains(&format!("<option value=\"{option}\"")), "{option}");
    }
    let only = json!({ "locations": [oslo()] });
    api.patch(&cook.role_path(), only).await.expect(200);
    let page = read(&api, &cook.path()).await.expect(200);
    assert_eq!(facts(&page)[0], ("Location".to_owned(), "Oslo".to_owned()));
}

#[tokio::test]
async fn a_post_on_x_names_the_places() {
    let api = TestApi::new().await;
    let role = json!({ "title": "Cook", "locations": [austin(), germany()] });
    let cook = Vacancy::open(&api, role).await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let text = async || {
        let page = ada.get(&format!("/dashboard/postings/{}/x", cook.posting)).await.expect(200);
        plain(&page.text)
    };
    assert!(text().await.contains("Cook. Austin, TX or Germany."));
    let three = json!({ "locations": [oslo(), austin(), germany()] });
    api.patch(&cook.role_path(), three).await.expect(200);
    assert!(text().await.contains("Cook. Oslo and 2 other places."));
}

#[tokio::test]
async fn members_write_a_line_for_each_place() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let lines = "Austin; TX; 78701; US\r\n\r\n;;;germany\r\n Oslo \r\n";
    let fields = [("role.title", "Cook"), ("role.locations", lines), ("publish", "true")];
    let preview = ada.post("/dashboard/quick-post", &[&fields[..], &[("preview", "yes")]].concat()).await;
    let preview = preview.expect(200).text;
    let listed = ["Austin, TX", "Germany", "Oslo"].map(|place| format!("<dd dir=\"auto\">{place}</dd>"));
    assert!(preview.contains(&format!("<dt>Locations</dt>{}", listed.concat())), "{preview}");
    let saved = ada.post("/dashboard/quick-post", &fields).await.expect(303);
    let role = async || api.get("/api/v1/roles").await.expect(200).body["data"][0].clone();
    assert_eq!(places(&role().await), json!(["Austin, TX", "US", [austin(), germany(), oslo()]]));
    let page = ada.follow(&saved).await.expect(200).text;
    for place in ["Austin, TX, 78701, United States", "Germany", "Oslo"] {
        assert!(page.contains(&format!("<dt>Place</dt><dd>{place}</dd>")), "{place}: {page}");
    }
    let path = format!("/dashboard/roles/{}/edit", role().await["id"]);
    let page = ada.get(&path).await.expect(200);
    let written = "Austin; TX; 78701; United States\n; ; ; Germany\nOslo";
    assert!(page.text.contains(&format!(">\n{written}</textarea>")), "{}", page.text);
    // A form that is sent back unchanged changes nothing, although it also has the location and the country.
    let before = role().await;
    let form = Form::of(&page, &path).and("locations", written).and("country", "US");
    ada.submit(&path, &form).await.expect(303);
    assert_eq!(role().await, before);
    let form = form.set("locations", "; ; ; Germany\n");
    ada.submit(&path, &form).await.expect(303);
    assert_eq!(places(&role().await), json!(["Germany", "DE", [germany()]]));
    let form = Form::of(&ada.get(&path).await.expect(200), &path).and("country", "DE");
    ada.submit(&path, &form.and("locations", "")).await.expect(303);
    assert_eq!(places(&role().await), json!(["Germany", "DE", []]));
}

#[tokio::test]
async fn a_wrong_line_is_named_in_the_form() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let long = "c".repeat(101);
    let eleven = "Oslo\n".repeat(11);
    for (lines, problem) in [
        (
            "Oslo\nBonn; ; ; Atlantis",
            "Places, line 2: the country must be an ISO 3166-1 alpha-2 country code",
        ),
        ("Oslo; a; b; DE; c", "Places, line 1: the country must be an ISO 3166-1 alpha-2 country code"),
        ("; ; 10115", "Places, line 1: the city can&#39;t be blank without a region or a country"),
        (&long, "Places, line 1: the city must be at most 100 characters"),
        (&eleven, "Places must have at most 10 items"),
    ] {
        let fields = [("role.title", "Cook"), ("role.locations", lines), ("publish", "true")];
        let page = ada.post("/dashboard/quick-post", &fields).await.expect(422);
        assert!(page.text.contains(problem), "{problem}: {}", page.text);
        assert!(page.text.contains(&format!(">\n{lines}</textarea>")), "what was typed stays: {}", page.text);
    }
    let fields = [("role.title", "Cook"), ("role.location", "Bonn"), ("role.locations", "Oslo")];
    let page = ada.post("/dashboard/quick-post", &fields).await.expect(422);
    let problem = "Location is that of the first of the locations; set locations instead.";
    assert!(page.text.contains(problem), "{}", page.text);
}

#[tokio::test]
async fn assistants_write_a_line_for_each_place() {
    let api = TestApi::new().await;
    let assistant = Assistant::new(&api);
    let lines = json!(["Austin; TX; 78701; US", "; ; ; Germany", "Oslo"]);
    let draft = json!({ "title": "Cook", "locations": lines, "response_format": "detailed" });
    let draft = assistant.call("save_role", draft).await;
    let role = async |id: &Value| api.get(&format!("/api/v1/roles/{id}")).await.expect(200).body;
    let expected = json!(["Austin, TX", "US", [austin(), germany(), oslo()]]);
    assert_eq!(places(&role(&draft["id"]).await), expected);
    assert_eq!(draft["role"]["locations"][0]["city"], "Austin");
    let cleared = json!({ "role_id": draft["id"], "clear": ["locations"], "response_format": "detailed" });
    assert_eq!(assistant.call("save_role", cleared).await["role"].get("locations"), None);
    let wrong = json!({ "title": "Cook", "locations": ["Oslo; ; ; Atlantis"] });
    let wrong = assistant.refused("save_role", wrong).await;
    assert!(wrong.contains("locations[0].country must be an ISO 3166-1 alpha-2"), "{wrong}");
    let posted = assistant.done("quick_post", json!({ "title": "Baker", "locations": lines })).await;
    assert_eq!(places(&role(&posted["role_id"]).await), expected);
}

#[tokio::test]
async fn the_page_of_a_role_says_what_search_engines_miss() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let cook = Vacancy::open(&api, json!({ "title": "Cook" })).await;
    for (change, missing) in [
        (json!({}), Some("a description and a country for each place")),
        (json!({ "location": "Bonn", "description": "d" }), Some("a country for each place")),
        (json!({ "country": "DE" }), None),
        (json!({ "description": null }), Some("a description")),
        (json!({ "description": "d", "locations": [germany(), oslo()] }), Some("a country for each place")),
        (json!({ "locations": [germany(), austin()] }), None),
    ] {
        api.patch(&cook.role_path(), change.clone()).await.expect(200);
        let page = ada.get(&format!("/dashboard/roles/{}", cook.role)).await.expect(200).text;
        let sentence = missing.map(|missing| format!("Search engines list this job only with {missing}."));
        assert_eq!(page.contains("Search engines list this job"), sentence.is_some(), "{change}");
        assert!(sentence.is_none_or(|sentence| page.contains(&sentence)), "{change}: {page}");
    }
    // The description of the posting is as good as the role's, and a role without a posting is not on the career page.
    let (none, own) = (json!({ "description": null }), json!({ "public_description": "d" }));
    api.patch(&cook.role_path(), none).await.expect(200);
    api.patch(&cook.posting_path(), own).await.expect(200);
    let page = ada.get(&format!("/dashboard/roles/{}", cook.role)).await.expect(200).text;
    assert!(!page.contains("Search engines list this job"));
    let draft = api.post("/api/v1/roles", json!({ "title": "x" })).await.expect(201).number("/id");
    let page = ada.get(&format!("/dashboard/roles/{draft}")).await.expect(200).text;
    assert!(!page.contains("Search engines list this job"));
}
