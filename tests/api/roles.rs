//! Roles: fields, transitions, PATCH, lists, stats.

use http::Method;
use serde_json::{Map, Value, json};
use tests::{BASE_URL, TestApi};

async fn role(api: &TestApi, body: Value) -> u64 {
    api.post("/api/v1/roles", body).await.expect(201).number("/id")
}

#[tokio::test]
async fn a_role_is_created_as_a_draft_with_every_field() {
    let api = TestApi::new().await;
    let created = api
        .post(
            "/api/v1/roles",
            json!({
                "title": "  Senior Rust Engineer ", "department": "Platform", "description": "Line one\n\tline two",
                "location": "Remote", "country": "de", "remote_policy": "remote", "employment_type": "full_time",
                "salary_min": 150_000, "salary_max": 190_000.0, "salary_currency": "eur"
            }),
        )
        .await
        .expect(201);
    let id = created.number("/id");
    let expected = json!({
        "id": id, "title": "Senior Rust Engineer", "status": "draft", "department": "Platform",
        "description": "Line one\n\tline two", "location": "Remote", "country": "DE", "locations": [],
        "remote_policy": "remote",
        "employment_type": "full_time", "salary_min": 150_000, "salary_max": 190_000, "salary_currency": "EUR",
        "pay": { "min": "150000", "max": "190000", "currency": "EUR", "period": "year" },
        "closes_on": null, "closes_at": null, "external_id": null, "job_posting_id": null, "job_posting_url": null,
        "created_at": "2026-11-20T09:30:00.000Z", "updated_at": "2026-11-20T09:30:00.000Z"
    });
    assert_eq!(created.body, expected);
    assert_eq!(created.header("location"), format!("{BASE_URL}/api/v1/roles/{id}"));
    let actual = api.get(&format!("/api/v1/roles/{id}")).await.expect(200);
    assert_eq!(actual.body, expected);
    assert_eq!(actual.header("etag"), created.header("etag"));
    assert!(actual.header("etag").starts_with('"'), "a strong entity tag");
}

#[tokio::test]
async fn missing_null_and_blank_fields_become_null() {
    const OPTIONAL: [&str; 11] = [
        "closes_on",
        "external_id",
        "department",
        "description",
        "location",
        "country",
        "remote_policy",
        "employment_type",
        "salary_min",
        "salary_max",
        "salary_currency",
    ];
    let api = TestApi::new().await;
    let created = api
        .post("/api/v1/roles", json!({ "title": "x", "department": "", "location": null, "country": "", "salary_currency": " " }))
        .await
        .expect(201);
    for field in OPTIONAL {
        assert!(created.body[field].is_null() && created.body.get(field).is_some(), "{field}");
    }
    for blank in ["", " \t\r\n", "\u{200B}\u{2060}"] {
        let blanks: Map<_, _> = OPTIONAL.map(|field| (field.to_owned(), json!(blank))).into_iter().collect();
        let titled = [("title".to_owned(), json!("x"))].into_iter().chain(blanks.clone()).collect();
        let created = api.post("/api/v1/roles", Value::Object(titled)).await.expect(201);
        let path = format!("/api/v1/roles/{}", created.number("/id"));
        let values = json!({
            "department": "d", "description": "d", "location": "l", "remote_policy": "onsite", "salary_min": 1,
            "salary_max": 2, "country": "DE", "employment_type": "contract",
            "closes_on": "2026-12-31", "salary_currency": "EUR", "external_id": blank.len().to_string() + "x"
        });
        api.patch(&path, values).await.expect(200);
        let cleared = api.patch(&path, Value::Object(blanks)).await.expect(200);
        for field in OPTIONAL {
            assert!(created.body[field].is_null() && cleared.body[field].is_null(), "{field} {blank:?}");
        }
    }
}

#[tokio::test]
async fn only_long_fields_have_several_lines() {
    let api = TestApi::new().await;
    let description = "Zeile 1\r\nZeile 2\rZeile 3\r\n";
    let created = api.post("/api/v1/roles", json!({ "title": "Cook\r\n", "description": description })).await;
    let created = created.expect(201);
    assert_eq!(
        (created.string("/title"), created.string("/description")),
        ("Cook", "Zeile 1\nZeile 2\nZeile 3")
    );
    let body = json!({ "title": "Sous\nchef", "department": "a\rb", "location": "a\r\nb" });
    assert_eq!(
        api.post("/api/v1/roles", body).await.expect(422).messages(),
        ["title", "department", "location"].map(|field| format!("{field} must not contain a line break"))
    );
}

#[tokio::test]
async fn invisible_characters_count_only_within_visible_text() {
    let api = TestApi::new().await;
    for title in ["👩\u{200D}🍳", "❤\u{FE0F}", "نیمه\u{200C}وقت"] {
        let created = api.post("/api/v1/roles", json!({ "title": title })).await.expect(201);
        assert_eq!(created.string("/title"), title);
    }
    for title in ["\u{200B}", "\u{200C}\u{200D}", "\u{AD}", "\u{3164}", " \u{FEFF}\u{E0020} "] {
        let refused = api.post("/api/v1/roles", json!({ "title": title })).await.expect(422);
        assert_eq!(refused.messages(), ["title can't be blank"], "{title:?}");
    }
}

#[tokio::test]
async fn all_validation_errors_are_reported_at_once() {
    let api = TestApi::new().await;
    let refused = api
        .post(
            "/api/v1/roles",
            json!({
                "title": "", "department": "d".repeat(101), "description": "d".repeat(20_001), "location": "a\u{0}b",
                "country": "UK", "remote_policy": "moon", "employment_type": "full-time", "salary_min": -1,
                "salary_max": 100_000_001, "salary_currency": "ZZZ", "id": 7, "status": "open"
            }),
        )
        .await
        .expect(422);
    assert_eq!(refused.string("/code"), "validation_failed");
    assert_eq!(refused.string("/error"), "Validation failed");
    assert_eq!(
        refused.messages(),
        [
            "title can't be blank",
            "department must be at most 100 characters",
            "description must be at most 20000 characters",
            "location must not contain control characters other than tab",
            "country must be an ISO 3166-1 alpha-2 country code, such as DE",
            "remote_policy must be one of onsite, hybrid, remote",
            "employment_type must be one of full_time, part_time, contract, temporary, internship",
            "salary_min must be a whole number from 0 to 100000000",
            "salary_max must be a whole number from 0 to 100000000",
            "salary_currency must be an ISO 4217 currency code, such as EUR",
            "id is not a known field",
            "status is not a known field",
        ]
    );
    let reversed = api
        .post("/api/v1/roles", json!({ "title": "x", "salary_min": 2, "salary_max": 1 }))
        .await
        .expect(422);
    assert_eq!(reversed.messages(), ["salary_min must be at most salary_max"]);
}

#[tokio::test]
async fn length_limits_count_characters() {
    let api = TestApi::new().await;
    let body = json!({ "title": "🦀".repeat(200), "department": "é".repeat(100), "location": "日".repeat(200), "description": "字".repeat(20_000) });
    let id = role(&api, body.clone()).await;
    assert_eq!(
        api.get(&format!("/api/v1/roles/{id}")).await.expect(200).body["description"],
        body["description"]
    );
    api.post("/api/v1/roles", json!({ "title": "🦀".repeat(201) })).await.expect(422);
}

#[tokio::test]
async fn a_patch_sets_clears_and_keeps_fields() {
    let api = TestApi::new().await;
    let id =
        role(&api, json!({ "title": "x", "department": "Old", "salary_min": 10, "salary_max": 20 })).await;
    let path = format!("/api/v1/roles/{id}");
    api.clock.set("2026-11-20T10:00:00.750Z");
    let patched =
        api.patch(&path, json!({ "title": "y", "department": null, "salary_max": 30 })).await.expect(200);
    assert_eq!(patched.body["title"], "y");
    assert_eq!(patched.body["department"], Value::Null);
    assert_eq!((patched.number("/salary_min"), patched.number("/salary_max")), (10, 30));
    assert_eq!(patched.string("/updated_at"), "2026-11-20T10:00:00.750Z");
    assert_eq!(patched.string("/created_at"), "2026-11-20T09:30:00.000Z");
    assert_eq!(api.get(&path).await.body, patched.body);

    for (body, message) in [
        (json!({ "salary_min": 31 }), "salary_min must be at most salary_max"),
        (json!({ "salary_max": 9 }), "salary_min must be at most salary_max"),
        (json!({ "title": null }), "title can't be blank"),
        (json!({ "title": " " }), "title can't be blank"),
        (json!({ "title": "\u{FEFF}" }), "title can't be blank"),
        (json!({ "status": "open" }), "status is not a known field"),
        (json!({ "job_posting_id": 1 }), "job_posting_id is not a known field"),
    ] {
        assert_eq!(api.patch(&path, body).await.expect(422).messages(), [message]);
    }
    let patched = api.patch(&path, json!({ "salary_min": 40, "salary_max": 50 })).await.expect(200);
    api.clock.set("2026-11-20T11:00:00Z");
    let same = api.patch(&path, json!({ "salary_min": 40 })).await.expect(200);
    assert_eq!(
        (&same.body, same.header("etag")),
        (&patched.body, patched.header("etag")),
        "nothing has changed"
    );
    assert_eq!(api.request(Method::PATCH, &path).send().await.expect(200).number("/salary_min"), 40);
}

#[tokio::test]
async fn country_employment_type_and_currency_can_be_changed_and_cleared() {
    let api = TestApi::new().await;
    let created = json!({
        "title": "x", "country": "DE", "employment_type": "internship", "salary_min": 10, "salary_currency": "EUR",
    });
    let path = format!("/api/v1/roles/{}", role(&api, created).await);
    let fields = |role: &Value| {
        ["country", "employment_type", "salary_min", "salary_currency"].map(|field| role[field].clone())
    };
    let patch = async |body: Value| fields(&api.patch(&path, body).await.expect(200).body);
    let kept = [json!("DE"), json!("internship"), json!(20), json!("EUR")];
    assert_eq!(patch(json!({ "salary_min": 20 })).await, kept);
    let changed = [json!("CH"), json!("part_time"), json!(20), json!("CHF")];
    let change = json!({ "country": "ch", "employment_type": "part_time", "salary_currency": "chf" });
    assert_eq!(patch(change).await, changed);
    assert_eq!(fields(&api.get(&path).await.body), changed);
    let cleared = [Value::Null, Value::Null, json!(20), Value::Null];
    let clear = json!({ "country": null, "employment_type": null, "salary_currency": "" });
    assert_eq!(patch(clear).await, cleared);
    for (body, message) in [
        (json!({ "country": "GERMANY" }), "country must be an ISO 3166-1 alpha-2 country code, such as DE"),
        (json!({ "country": 49 }), "country must be a string"),
        (
            json!({ "salary_currency": "XXX" }),
            "salary_currency must be an ISO 4217 currency code, such as EUR",
        ),
    ] {
        assert_eq!(api.patch(&path, body).await.expect(422).messages(), [message]);
    }
}

#[tokio::test]
async fn the_location_remote_means_remote_unless_there_is_a_policy() {
    let api = TestApi::new().await;
    let created =
        api.post("/api/v1/roles", json!({ "title": "x", "location": " rEMOTE " })).await.expect(201);
    assert_eq!(created.string("/remote_policy"), "remote");
    let path = format!("/api/v1/roles/{}", created.number("/id"));
    for (change, policy) in [
        (json!({ "location": "Berlin" }), Value::Null),
        (json!({ "location": "Remote" }), json!("remote")),
        (json!({ "remote_policy": "hybrid" }), json!("hybrid")),
        (json!({ "remote_policy": null }), json!("remote")),
        (json!({ "location": "Remote, Germany" }), Value::Null),
    ] {
        let changed = api.patch(&path, change.clone()).await.expect(200);
        assert_eq!(changed.body["remote_policy"], policy, "{change}");
        assert_eq!(api.get(&path).await.body, changed.body, "{change}");
    }
}

#[tokio::test]
async fn a_patch_honours_if_match() {
    let api = TestApi::new().await;
    let id = role(&api, json!({ "title": "x" })).await;
    let path = format!("/api/v1/roles/{id}");
    let first = api.get(&path).await.header("etag").to_owned();
    let patch = |etag: String, title: &'static str| {
        api.request(Method::PATCH, &path).header("if-match", &etag).json(&json!({ "title": title })).send()
    };
    let second = patch(first.clone(), "y").await.expect(200).header("etag").to_owned();
    assert_ne!(first, second);
    assert_eq!(patch(first.clone(), "z").await.expect(412).string("/code"), "precondition_failed");
    assert_eq!(patch("nonsense".to_owned(), "z").await.expect(400).string("/code"), "bad_request");
    assert_eq!(api.get(&path).await.string("/title"), "y");
    patch(format!("\"other\", {second}"), "z").await.expect(200);
    patch("*".to_owned(), "w").await.expect(200);
}

/// Tries every transition in every status and compares the result with the rules.
#[tokio::test]
async fn every_status_allows_exactly_its_transitions() {
    let api = TestApi::new().await;
    let statuses = [
        ("draft", &[][..]),
        ("open", &["publish"][..]),
        ("paused", &["publish", "pause"][..]),
        ("closed", &["close"][..]),
    ];
    let transitions = [
        ("publish", "draft", "open"),
        ("pause", "open", "paused"),
        ("resume", "paused", "open"),
        ("reopen", "closed", "draft"),
    ];
    let transition = async |id: u64, step: &str| match step {
        "close" => api.delete(&format!("/api/v1/roles/{id}")).await,
        _ => api.request(Method::POST, &format!("/api/v1/roles/{id}/{step}")).send().await,
    };
    for (state, steps) in statuses {
        for (step, from, reached) in transitions {
            let id = role(&api, json!({ "title": "x" })).await;
            for step in steps {
                transition(id, step).await.expect(200);
            }
            let response = transition(id, step).await;
            if state == from {
                assert_eq!(response.expect(200).string("/status"), reached);
            } else {
                let response = response.expect(422);
                assert_eq!(response.string("/code"), "invalid_transition");
                let advice = match (state, step) {
                    ("draft", "reopen") => "it is a draft already",
                    ("draft", _) => "publish the draft with POST /api/v1/roles/{id}/publish",
                    ("open", "publish" | "resume") => "it is open already",
                    ("paused", "pause") => "it is paused already",
                    ("paused", "publish") => "resume it with POST /api/v1/roles/{id}/resume",
                    ("closed", _) => "reopen it as a draft first, with POST /api/v1/roles/{id}/reopen",
                    _ => "only a closed role can be reopened, and DELETE /api/v1/roles/{id} closes it",
                };
                let message = format!("status cannot go from {state} to {reached} with {step}; {advice}");
                assert_eq!(response.messages(), [message]);
                assert_eq!(api.get(&format!("/api/v1/roles/{id}")).await.string("/status"), state);
            }
        }
        let id = role(&api, json!({ "title": "x" })).await;
        for step in steps {
            transition(id, step).await.expect(200);
        }
        assert_eq!(transition(id, "close").await.expect(200).string("/status"), "closed", "{state}");
    }
}

#[tokio::test]
async fn a_transition_accepts_no_fields() {
    let api = TestApi::new().await;
    let id = role(&api, json!({ "title": "x" })).await;
    let path = format!("/api/v1/roles/{id}/publish");
    assert_eq!(
        api.post(&path, json!({ "force": true })).await.expect(422).messages(),
        ["force is not a known field"]
    );
    assert_eq!(api.post(&path, json!([])).await.expect(422).messages(), ["body must be a JSON object"]);
    api.post(&path, json!({})).await.expect(200);
}

#[tokio::test]
async fn a_role_and_its_posting_are_published_together() {
    let api = TestApi::new().await;
    let draft = async || {
        let body = json!({ "role": { "title": "x" }, "publish": false });
        let posted = api.post("/api/v1/quick_post", body).await.expect(201);
        (posted.number("/role/id"), posted.number("/job_posting/id"))
    };
    for (body, published) in [
        (Value::Null, false),
        (json!({}), false),
        (json!({ "job_posting": false }), false),
        (json!({ "job_posting": null }), false),
        (json!({ "job_posting": true }), true),
    ] {
        let (role, posting) = draft().await;
        let request = api.request(Method::POST, &format!("/api/v1/roles/{role}/publish"));
        let request = if body.is_null() { request } else { request.json(&body) };
        assert_eq!(request.send().await.expect(200).string("/status"), "open", "{body}");
        let posting = api.get(&format!("/api/v1/job_postings/{posting}")).await.expect(200);
        assert_eq!(posting.body["published"], published, "{body}");
        let page = posting.string("/public_url").strip_prefix(BASE_URL).unwrap().to_owned();
        let page = api.request(Method::GET, &page).anonymous().send().await;
        assert_eq!(page.status, if published { 200 } else { 410 }, "{body}");
    }
    let (role, posting) = draft().await;
    let path = format!("/api/v1/roles/{role}/publish");
    let wrong = api.post(&path, json!({ "job_posting": "yes" })).await.expect(422);
    assert_eq!(wrong.messages(), ["job_posting must be true or false"]);
    api.delete(&format!("/api/v1/roles/{role}")).await.expect(200);
    let closed = api.post(&path, json!({ "job_posting": true })).await.expect(422);
    assert_eq!(closed.string("/code"), "invalid_transition");
    assert_eq!(api.get(&format!("/api/v1/job_postings/{posting}")).await.body["published"], false);

    let alone = self::role(&api, json!({ "title": "x" })).await;
    let path = format!("/api/v1/roles/{alone}/publish");
    let alone = api.post(&path, json!({ "job_posting": true })).await.expect(422);
    assert_eq!(alone.string("/code"), "validation_failed");
    assert_eq!(alone.messages(), ["job_posting cannot be published, because the role has none"]);
    api.post(&path, json!({ "job_posting": false })).await.expect(200);
}

#[tokio::test]
async fn closing_unpublishes_the_posting_and_reopening_does_not_publish_it() {
    let api = TestApi::new().await;
    let posted = api.post("/api/v1/quick_post", json!({ "role": { "title": "x" } })).await.expect(201);
    let (role, posting) = (posted.number("/role/id"), posted.number("/job_posting/id"));
    api.clock.set("2026-11-20T11:00:00Z");
    let closed = api.delete(&format!("/api/v1/roles/{role}")).await.expect(200);
    assert_eq!(closed.string("/status"), "closed");
    let actual = api.get(&format!("/api/v1/job_postings/{posting}")).await.expect(200);
    assert_eq!(
        (actual.body["published"].as_bool(), actual.string("/updated_at")),
        (Some(false), "2026-11-20T11:00:00.000Z")
    );
    api.clock.set("2026-11-20T12:00:00Z");
    assert_eq!(
        api.delete(&format!("/api/v1/roles/{role}")).await.expect(200).body,
        closed.body,
        "idempotent"
    );
    api.request(Method::POST, &format!("/api/v1/roles/{role}/reopen")).send().await.expect(200);
    assert_eq!(api.get(&format!("/api/v1/job_postings/{posting}")).await.body["published"], false);
}

#[tokio::test]
async fn the_list_can_be_filtered_by_status() {
    let api = TestApi::new().await;
    let mut by_status = std::collections::BTreeMap::<&str, Vec<u64>>::new();
    for (state, steps) in [
        ("draft", &[][..]),
        ("open", &["publish"][..]),
        ("paused", &["publish", "pause"][..]),
        ("open", &["publish"][..]),
    ] {
        let id = role(&api, json!({ "title": state })).await;
        for step in steps {
            api.request(Method::POST, &format!("/api/v1/roles/{id}/{step}")).send().await.expect(200);
        }
        by_status.entry(state).or_default().insert(0, id);
    }
    by_status.insert("closed", Vec::new());
    for (state, ids) in &by_status {
        let listed = api.get(&format!("/api/v1/roles?status={state}")).await.expect(200);
        let found: Vec<_> = listed.body["data"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|role| role["id"].as_u64())
            .collect();
        assert_eq!(&found, ids, "{state}, newest first");
        assert_eq!(listed.body["next_cursor"], Value::Null);
    }
    let all = api.get("/api/v1/roles").await.expect(200);
    assert_eq!(all.body["data"].as_array().map(Vec::len), Some(4));
    for (query, message) in [
        ("status=Open", "status must be one of draft, open, paused, closed"),
        ("status=", "status must be one of draft, open, paused, closed"),
        ("status=open&status=open", "status must be given only once"),
        ("state=open", "state is not a known query parameter"),
        ("limit=0", "limit must be a whole number from 1 to 100"),
        ("limit=101", "limit must be a whole number from 1 to 100"),
        ("limit=ten", "limit must be a whole number from 1 to 100"),
        ("limit=+5", "limit must be a whole number from 1 to 100"),
        ("limit=05", "limit must be a whole number from 1 to 100"),
    ] {
        assert_eq!(
            api.get(&format!("/api/v1/roles?{query}")).await.expect(422).messages(),
            [message],
            "{query}"
        );
    }
}

#[tokio::test]
async fn the_stats_of_a_new_role_are_empty() {
    let api = TestApi::new().await;
    let id = role(&api, json!({ "title": "x" })).await;
    let stats = api.get(&format!("/api/v1/roles/{id}/stats")).await.expect(200);
    let stage = json!({ "now": 0, "ever": 0, "median_days": null });
    assert_eq!(
        stats.body,
        json!({
            "role_id": id, "applicants": 0, "screens": 0, "screens_completed": 0, "pass_rate": null,
            "average_score": null,
            "rejections": [],
            "stages": {
                "applied": stage, "screening": stage, "interview": stage, "offer": stage, "hired": stage,
                "rejected": stage
            }
        })
    );
    let listed = api.get("/api/v1/roles?include=stats").await.expect(200);
    let mut expected = stats.body;
    expected.as_object_mut().unwrap().retain(|name, _| name != "role_id" && name != "stages");
    assert_eq!(listed.body["data"][0]["stats"], expected);
    let listed = api.get("/api/v1/roles").await.expect(200);
    assert_eq!(listed.body["data"][0]["stats"], Value::Null);
    let refused = api.get("/api/v1/roles?include=postings").await.expect(422);
    assert_eq!(refused.messages(), ["include must be stats"]);
}

#[tokio::test]
async fn a_single_resource_accepts_no_query_parameters() {
    let api = TestApi::new().await;
    let id = role(&api, json!({ "title": "x" })).await;
    for path in [
        format!("/api/v1/roles/{id}?fields=id"),
        format!("/api/v1/roles/{id}/stats?x=1"),
        "/api/v1/organization?x".to_owned(),
    ] {
        api.get(&path).await.expect(422);
    }
    api.post("/api/v1/roles?dry_run=1", json!({ "title": "x" })).await.expect(422);
}
