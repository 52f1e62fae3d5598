//! Finding candidates: by e-mail address, phone number, external id, source, tag and the words of a search.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::model::{IndexForm, Mode, Name, Profile, SearchQuery, SearchWords};
use tests::interceptor::RecordedCall;
use tests::{ACME, GLOBEX, Response, TestApi, engine, tenant};
use url::form_urlencoded::byte_serialize;

const CANDIDATES: &str = "/api/v1/candidates";

/// Returns the path of the list with a filter.
fn list(filter: &str, value: &str) -> String {
    let value: String = byte_serialize(value.as_bytes()).collect();
    format!("{CANDIDATES}?{filter}={value}")
}

fn field<'p>(page: &'p Response, name: &str) -> Vec<&'p Value> {
    page.body["data"].as_array().unwrap().iter().map(|candidate| &candidate[name]).collect()
}

/// Creates a candidate with these fields and an e-mail address that the searches of these tests do not find.
async fn create(api: &TestApi, fields: Value) -> u64 {
    let mut body = json!({ "email": format!("{}@x.yz", api.environment.random.token(12)) });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    api.post(CANDIDATES, body).await.expect(201).number("/id")
}

async fn named(api: &TestApi, names: &[&str]) -> Vec<u64> {
    let mut ids = Vec::new();
    for name in names {
        ids.push(create(api, json!({ "name": name })).await);
    }
    ids
}

/// Returns the identifiers on all pages of a list.
async fn all(api: &TestApi, path: &str) -> Vec<u64> {
    let (mut found, mut next) = (Vec::new(), path.to_owned());
    loop {
        let page = api.get(&next).await.expect(200);
        found.extend(field(&page, "id").into_iter().map(|id| id.as_u64().unwrap()));
        let Some(cursor) = page.body["next_cursor"].as_str() else { return found };
        next = format!("{path}&cursor={cursor}");
    }
}

async fn found(api: &TestApi, filter: &str, value: &str) -> Vec<u64> {
    all(api, &list(filter, value)).await
}

#[tokio::test]
async fn a_candidate_has_a_source_tags_and_an_external_id() {
    let api = TestApi::new().await;
    let body = json!({
        "name": "Jane", "email": "jane@example.com", "source": " LinkedIn ", "external_id": "greenhouse/7",
        "tags": ["Rust", "remote", "RUST", "Straße", "STRASSE"]
    });
    let created = api.post(CANDIDATES, body).await.expect(201);
    let shown = |candidate: &Value| {
        ["source", "tags", "external_id"].map(|name| candidate.get(name).cloned().unwrap_or_default())
    };
    let expected = [json!("LinkedIn"), json!(["Rust", "remote", "Straße"]), json!("greenhouse/7")];
    assert_eq!(shown(&created.body), expected);
    let path = format!("{CANDIDATES}/{}", created.number("/id"));
    assert_eq!(shown(&api.get(&path).await.expect(200).body), expected);
    assert_eq!(shown(&api.get(CANDIDATES).await.expect(200).body["data"][0]), expected);
    let moved = api.post(&format!("{path}/advance"), json!({ "stage": "offer" })).await.expect(200);
    assert_eq!(shown(&moved.body), expected);

    let patched = api.patch(&path, json!({ "tags": ["rust", "remote"], "source": null })).await.expect(200);
    let expected = [Value::Null, json!(["rust", "remote"]), json!("greenhouse/7")];
    assert_eq!(shown(&patched.body), expected);
    let same = api.patch(&path, json!({ "tags": ["rust", "remote", "Remote"] })).await.expect(200);
    assert_eq!(same.header("etag"), patched.header("etag"), "a no-op PATCH writes nothing");
    let cleared = json!({ "tags": null, "external_id": "", "source": "agency" });
    let cleared = api.patch(&path, cleared).await.expect(200);
    assert_eq!(shown(&cleared.body), [json!("agency"), json!([]), Value::Null]);
    assert_ne!(cleared.header("etag"), patched.header("etag"));
    let page = api.get(&path).await.expect(200);
    let fields: Vec<_> = page.body["touchpoints"].as_array().unwrap().iter().map(|t| &t["detail"]).collect();
    assert_eq!(
        fields,
        [
            &json!({ "fields": ["source", "tags", "external_id"] }),
            &json!({ "fields": ["source", "tags"] }),
            &json!({ "role_id": null, "from": "applied", "to": "offer" }),
            &json!({ "source": "LinkedIn" }),
        ]
    );
    let plain = api.post(CANDIDATES, json!({ "name": "x", "email": "x@example.com", "tags": [] })).await;
    assert_eq!(shown(&plain.expect(201).body), [Value::Null, json!([]), Value::Null]);
}

#[tokio::test]
async fn the_source_of_a_candidate_is_also_that_of_the_first_application() {
    let api = TestApi::new().await;
    let role =
        api.post("/api/v1/quick_post", json!({ "role": { "title": "Cook" } })).await.number("/role/id");
    for (source, of_application) in [(json!("LinkedIn"), "LinkedIn"), (Value::Null, "manual")] {
        let id = create(&api, json!({ "name": "Jane", "role_id": role, "source": source })).await;
        let page = api.get(&format!("{CANDIDATES}/{id}")).await.expect(200);
        assert_eq!(page.body["source"], source);
        assert_eq!(page.string("/applications/0/source"), of_application);
        assert_eq!(page.string("/touchpoints/0/detail/source"), of_application);
        assert_eq!(page.string("/touchpoints/1/detail/source"), of_application);
    }
}

#[tokio::test]
async fn every_mistake_in_the_new_fields_is_reported() {
    let api = TestApi::new().await;
    let many: Vec<_> = (0..21).map(|number| number.to_string()).collect();
    let cases = [
        (json!({ "tags": "rust" }), vec!["tags must be an array"]),
        (json!({ "tags": { "0": "rust" } }), vec!["tags must be an array"]),
        (json!({ "tags": many }), vec!["tags must have at most 20 items"]),
        (
            json!({ "tags": ["ok", 7, "x".repeat(51), " ", null, ["a"], "a\nb"] }),
            vec![
                "tags[1] must be a string",
                "tags[2] must be at most 50 characters",
                "tags[3] can't be blank",
                "tags[4] can't be blank",
                "tags[5] must be a string",
                "tags[6] must not contain a line break",
            ],
        ),
        (
            json!({ "source": "s".repeat(101), "external_id": "e".repeat(201) }),
            vec!["source must be at most 100 characters", "external_id must be at most 200 characters"],
        ),
        (
            json!({ "source": 7, "external_id": 7 }),
            vec!["source must be a string", "external_id must be a string"],
        ),
    ];
    let jane = create(&api, json!({ "name": "Jane" })).await;
    for (fields, messages) in cases {
        let mut body = json!({ "name": "x", "email": "x@example.com" });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let refused = api.post(CANDIDATES, body).await.expect(422);
        assert_eq!((refused.string("/code"), refused.messages()), ("validation_failed", messages.clone()));
        let refused = api.patch(&format!("{CANDIDATES}/{jane}"), fields).await.expect(422);
        assert_eq!(refused.messages(), messages);
    }
    let longest = json!({
        "name": "x", "tags": many[..20].iter().map(|tag| format!("{tag:🦀<50}")).collect::<Vec<_>>(),
        "source": "🦀".repeat(100), "external_id": "🦀".repeat(200)
    });
    create(&api, longest).await;
}

#[tokio::test]
async fn an_external_id_belongs_to_one_candidate() {
    const EMAIL: &str = "email is already in use";
    const EXTERNAL_ID: &str = "external_id is already in use";
    let api = TestApi::new().await;
    let jane =
        create(&api, json!({ "name": "Jane", "email": "jane@example.com", "external_id": "A-7" })).await;
    let joe = create(&api, json!({ "name": "Joe", "email": "joe@example.com", "external_id": "a-7" })).await;
    let duplicate = |response: &Response| {
        let messages = response.messages().into_iter().map(str::to_owned).collect::<Vec<_>>();
        (response.string("/code").to_owned(), messages, response.body["existing"].clone())
    };
    let expected = |messages: &[&str], id: u64| {
        let messages = messages.iter().map(|message| (*message).to_owned()).collect::<Vec<_>>();
        ("duplicate".to_owned(), messages, json!({ "type": "candidate", "id": id }))
    };
    for (email, external_id, messages, existing) in [
        ("new@example.com", "A-7", &[EXTERNAL_ID][..], jane),
        ("JANE@example.com", "new", &[EMAIL], jane),
        ("joe@example.com", "A-7", &[EMAIL, EXTERNAL_ID], joe),
    ] {
        let body = json!({ "name": "x", "email": email, "external_id": external_id });
        let refused = api.post(CANDIDATES, body.clone()).await.expect(422);
        assert_eq!(duplicate(&refused), expected(messages, existing), "{body}");
    }
    let third = create(&api, json!({ "name": "Third" })).await;
    let path = format!("{CANDIDATES}/{third}");
    let both = json!({ "name": "x", "email": "jane@example.com", "external_id": "a-7" });
    assert_eq!(duplicate(&api.patch(&path, both).await.expect(422)), expected(&[EMAIL, EXTERNAL_ID], jane));
    assert_eq!(api.get(&path).await.expect(200).string("/name"), "Third", "nothing of the request is done");
    assert!(found(&api, "external_id", "new").await.is_empty());

    api.patch(&path, json!({ "external_id": "free" })).await.expect(200);
    api.patch(&path, json!({ "external_id": "free" })).await.expect(200);
    api.patch(&format!("{CANDIDATES}/{jane}"), json!({ "external_id": null })).await.expect(200);
    api.patch(&path, json!({ "external_id": "A-7" })).await.expect(200);
    assert_eq!(found(&api, "external_id", "A-7").await, [third]);
    assert_eq!(found(&api, "external_id", "free").await, [0; 0]);
    api.patch(&format!("{CANDIDATES}/{jane}"), json!({ "external_id": "free" })).await.expect(200);
    let foreign = json!({ "name": "x", "email": "x@example.com", "external_id": "A-7" });
    for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live)] {
        api.request(Method::POST, CANDIDATES).key(demo, mode).json(&foreign).send().await.expect(201);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_several_concurrent_requests_gets_an_external_id() {
    let api = TestApi::new().await;
    for round in 0..5 {
        let create = |number: usize| {
            let email = format!("{number}@r{round}.com");
            api.post(CANDIDATES, json!({ "name": "x", "email": email, "external_id": format!("id-{round}") }))
        };
        let responses = join_all((0..4).map(create)).await;
        let created: Vec<_> = responses.iter().filter(|response| response.status == 201).collect();
        assert_eq!(created.len(), 1);
        for refused in responses.iter().filter(|response| response.status != 201) {
            assert_eq!(refused.messages(), ["external_id is already in use"]);
            assert_eq!(refused.number("/existing/id"), created[0].number("/id"));
        }
    }
}

#[tokio::test]
async fn names_in_many_scripts_are_found_by_what_a_person_types() {
    let api = TestApi::new().await;
    let names = [
        "José Ángel Pérez",
        "Jörg Müller",
        "Joerg Mueller",
        "Jean-Luc O’Brien",
        "Łukasz Bjørnæs Weiß",
        "Nguyễn Thị Đặng",
        "İbrahim Işık",
        "Γιώργος Παπαδόπουλος",
        "Семён Щукин",
        "أحمد محـمّد",
        "שָׁלוֹם בן־גוריון",
        "田中太郎",
        "山田 はなこ",
        "김철수",
    ];
    let ids = named(&api, &names).await;
    for (query, expected) in [
        ("jose", &[0][..]),
        ("PEREZ angel", &[0]),
        ("josé pé", &[0]),
        ("erez", &[]),
        ("muller", &[1]),
        ("müller", &[1, 2]),
        ("Mueller", &[2, 1]),
        ("jorg mu", &[1]),
        ("jean-luc", &[3]),
        ("jeanluc obrien", &[3]),
        ("luc o'b", &[3]),
        ("lukasz weiss", &[4]),
        ("bjornaes", &[4]),
        ("nguyen dang", &[5]),
        ("đặng", &[5]),
        ("ibrahim isik", &[6]),
        ("ΓΙΩΡΓΟΣ", &[7]),
        ("παπαδο", &[7]),
        ("семен щук", &[8]),
        ("احمد محمد", &[9]),
        ("שלום בן גוריון", &[10]),
        ("田中", &[11]),
        ("太郎", &[11]),
        ("郎", &[11]),
        ("山田はな", &[12]),
        ("김", &[13]),
        ("nobody", &[]),
    ] {
        let expected: Vec<_> = expected.iter().map(|index| ids[*index]).collect();
        assert_eq!(found(&api, "q", query).await, expected, "{query}");
    }
}

/// Each row of the table in the guide has names that a query finds, and names that it does not find.
#[test]
fn the_guide_says_what_finds_names_in_each_script() {
    let guide = std::fs::read_to_string(tests::project("functions/README.md")).unwrap();
    let rows = guide.split_once("| Script | Found |").unwrap().1.lines().skip(2);
    let mut examples = 0;
    for row in rows.take_while(|row| row.starts_with('|')) {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        for (cell, is_expected) in [(cells[2], true), (cells[3], false)] {
            for example in cell.split(", ").filter(|example| !example.is_empty()) {
                let (given, name) = example.strip_prefix('`').unwrap().split_once("`: ").unwrap();
                let profile = Profile::new(Name::parse(name).unwrap().unwrap(), "x@x.yz".parse().unwrap());
                let words = SearchWords::of(&profile, IndexForm::NEWEST);
                let is_found = given.parse::<SearchQuery>().unwrap().matches(&words);
                assert_eq!(is_found, is_expected, "{given} and {name}");
                examples += 1;
            }
        }
    }
    assert!(examples > 50, "{examples}");
}

#[tokio::test]
async fn a_search_covers_the_name_the_email_address_and_the_phone_number() {
    let api = TestApi::new().await;
    let jane = create(
        &api,
        json!({ "name": "Jane Doe", "email": "J.Picard+rust@mail.My-Company.co.uk", "phone": "+14155552671" }),
    )
    .await;
    for query in [
        "jane",
        "DOE, Jane",
        "picard",
        "j.picard",
        "rust",
        "mycompany",
        "my-comp",
        "uk jane",
        "j.picard+rust@mail.my-company.co.uk",
        "671",
        "555-2671",
        "+1 (415) 555-2671",
        "doe 2671",
    ] {
        assert_eq!(found(&api, "q", query).await, [jane], "{query}");
    }
    for query in ["oe", "jane x", "71", "415", "ompany", "linkedin"] {
        assert_eq!(found(&api, "q", query).await, [0; 0], "{query}");
    }
}

/// Four calls make a page, and up to six while nobody is found.
#[tokio::test]
async fn the_first_page_has_somebody_if_there_is_anybody() {
    let api = TestApi::new().await;
    let phone = create(&api, json!({ "name": "Jane", "phone": "+4915112345678" })).await;
    let name = create(&api, json!({ "name": "Ase Mueller" })).await;
    for (query, expected, calls) in [
        ("+49 151 12345678", phone, 4),
        ("+49 (0)151 12345678", phone, 4),
        ("0151 12345678", phone, 4),
        ("(0151) 12345678", phone, 4),
        ("0049 151 12345678", phone, 4),
        ("tel:+4915112345678", phone, 4),
        ("٠١٥١ ١٢٣٤٥٦٧٨", phone, 4),
        ("5678", phone, 4),
        // Nobody has the words `asemuller`, `aasemueller` and `muller`.
        ("åse-müller", name, 6),
    ] {
        api.dynamodb.take_calls();
        let page = api.get(&list("q", query)).await.expect(200);
        assert_eq!(field(&page, "id"), [expected], "{query}");
        let made = api.dynamodb.take_calls().len();
        assert!(made <= calls, "{query}: {made} calls");
    }
}

#[tokio::test]
async fn exact_filters_find_candidates_in_any_case_newest_first() {
    let api = TestApi::new().await;
    let one = json!({
        "name": "One", "email": "One+rust@Example.com", "phone": "+1 (415) 555-2671", "source": "LinkedIn",
        "tags": ["Émile", "Straße"], "external_id": "A/1 ü"
    });
    let one = create(&api, one).await;
    let two = json!({ "name": "Two", "phone": "+14155552671", "source": "LINKEDIN", "tags": ["émile"] });
    let two = create(&api, two).await;
    create(
        &api,
        json!({ "name": "Three", "phone": "+14155552672", "source": "linked in", "tags": ["Emile"] }),
    )
    .await;
    for (filter, value, expected) in [
        ("email", "one+RUST@example.COM", vec![one]),
        ("email", "one@example.com", vec![]),
        ("phone", "+14155552671", vec![two, one]),
        ("phone", "+1 (415) 555-2671", vec![two, one]),
        ("phone", " 14155552671", vec![two, one]),
        ("phone", "+14155552670", vec![]),
        ("external_id", "A/1 ü", vec![one]),
        ("external_id", "a/1 ü", vec![]),
        ("source", "linkedin", vec![two, one]),
        ("source", " LinkedIn ", vec![two, one]),
        ("source", "linked", vec![]),
        ("tag", "ÉMILE", vec![two, one]),
        ("tag", "STRASSE", vec![one]),
        ("tag", "mile", vec![]),
    ] {
        assert_eq!(found(&api, filter, value).await, expected, "{filter}={value}");
    }
    let unescaped = api.get(&format!("{CANDIDATES}?phone=+14155552671")).await.expect(200);
    assert_eq!(field(&unescaped, "id"), [&json!(two), &json!(one)]);
    let listed = api.get(CANDIDATES).await.expect(200).body["data"][2].clone();
    assert_eq!(api.get(&list("q", "one")).await.expect(200).body["data"], json!([listed]));
    assert_eq!(
        api.get(&list("email", "one+rust@example.com")).await.expect(200).body["data"],
        json!([listed])
    );
    assert_eq!(listed["application"], Value::Null);
}

#[tokio::test]
async fn filters_that_find_candidates_cannot_be_combined_and_not_be_blank() {
    let api = TestApi::new().await;
    let given = [
        ("email", "jane@example.com"),
        ("phone", "%2B14155552671"),
        ("external_id", "7"),
        ("source", "x"),
        ("tag", "x"),
        ("q", "x"),
        ("role_id", "1"),
        ("stage", "offer"),
    ];
    for (index, (first, value)) in given.iter().enumerate().take(6) {
        for (second, other) in &given[index + 1..] {
            let refused =
                api.get(&format!("{CANDIDATES}?{second}={other}&{first}={value}")).await.expect(422);
            assert_eq!(refused.messages(), [format!("{first} can't be combined with {second}")]);
        }
    }
    let refused = api.get(&format!("{CANDIDATES}?q=x&stage=offer&role_id=1&tag=y")).await.expect(422);
    let messages = [
        "tag can't be combined with q",
        "tag can't be combined with role_id",
        "tag can't be combined with stage",
    ];
    assert_eq!(refused.messages(), messages);
    for (query, message) in [
        ("email=", "email can't be blank"),
        ("email=jane", "email must be an e-mail address, such as jane@example.com"),
        ("phone=", "phone can't be blank"),
        ("phone=+", "phone can't be blank"),
        ("phone=4155552671", "phone must be a phone number with its country code, such as +14155552671"),
        ("phone=+0049", "phone has too few digits for a number of its country"),
        ("external_id=%20", "external_id can't be blank"),
        ("source=", "source can't be blank"),
        ("tag=%E2%80%8B", "tag can't be blank"),
        ("q=", "q must contain a letter or a digit"),
        ("q=%20-.", "q must contain a letter or a digit"),
    ] {
        let refused = api.get(&format!("{CANDIDATES}?{query}")).await.expect(422);
        assert_eq!((refused.string("/code"), refused.messages()), ("validation_failed", vec![message]));
    }
    for (filter, length) in [("tag", 51), ("source", 101), ("external_id", 201), ("q", 201)] {
        let refused = api.get(&list(filter, &"x".repeat(length))).await.expect(422);
        assert_eq!(refused.messages(), [format!("{filter} must be at most {} characters", length - 1)]);
    }
}

#[tokio::test]
async fn another_tenants_candidates_are_not_found() {
    let api = TestApi::new().await;
    let jane = json!({
        "name": "Jane", "email": "jane@example.com", "phone": "+14155552671", "source": "x", "tags": ["x"],
        "external_id": "7"
    });
    create(&api, jane).await;
    for (filter, value) in [
        ("email", "jane@example.com"),
        ("phone", "+14155552671"),
        ("external_id", "7"),
        ("source", "x"),
        ("tag", "x"),
        ("q", "jane"),
    ] {
        let path = list(filter, value);
        assert_eq!(all(&api, &path).await.len(), 1, "{path}");
        for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live)] {
            let page = api.request(Method::GET, &path).key(demo, mode).send().await.expect(200);
            assert_eq!(page.body, json!({ "data": [], "next_cursor": null }), "{path}");
        }
    }
    create(&api, json!({ "name": "Jane" })).await;
    let cursor = api.get(&format!("{CANDIDATES}?q=jane&limit=1")).await.string("/next_cursor").to_owned();
    for path in [format!("{CANDIDATES}?q=jan&cursor={cursor}"), format!("{CANDIDATES}?tag=x&cursor={cursor}")]
    {
        api.get(&path).await.expect(400);
    }
}

#[tokio::test]
async fn following_cursors_finds_every_candidate_once() {
    let api = TestApi::new().await;
    let names =
        ["Jörg Müller", "Mueller Anna", "Anna-Maria Muller", "Anna Anders", "Ann", "Mullerin Jo", "Ä. Anna"];
    let mut ids = Vec::new();
    for name in names {
        let fields = json!({ "name": name, "tags": ["x"], "source": "y", "phone": "+14155552671" });
        ids.push(create(&api, fields).await);
    }
    let newest_first: Vec<_> = ids.iter().rev().copied().collect();
    for limit in 1..=8 {
        for filter in ["tag=x", "source=y", "phone=+14155552671"] {
            assert_eq!(all(&api, &format!("{CANDIDATES}?{filter}&limit={limit}")).await, newest_first);
        }
        for (query, expected) in [
            // The exact word first, then the others alphabetically, and the newest first for each word.
            ("an", vec![3, 4, 6, 2, 1]),
            ("anna", vec![6, 3, 2, 1]),
            ("müller", vec![2, 0, 5, 1]),
            ("muller", vec![2, 0, 5]),
            ("anna mu", vec![2, 1]),
            ("671", vec![6, 5, 4, 3, 2, 1, 0]),
            ("anna-maria", vec![2]),
            ("jo-annabel", vec![]),
        ] {
            let found = all(&api, &format!("{}&limit={limit}", list("q", query))).await;
            assert_eq!(
                found,
                expected.into_iter().map(|index| ids[index]).collect::<Vec<u64>>(),
                "{query} {limit}"
            );
        }
    }
}

#[tokio::test]
async fn a_changed_candidate_is_found_only_by_the_new_values() {
    let api = TestApi::new().await;
    let old = json!({
        "name": "Jane Doe", "email": "jane@old.com", "phone": "+14155552671", "source": "Old", "tags": ["old", "both"],
        "external_id": "old"
    });
    let jane = create(&api, old).await;
    let new = json!({
        "name": "Grace Doe", "email": "grace@new.org", "phone": "+4930901820", "source": "New",
        "tags": ["new", "Both"], "external_id": "new"
    });
    api.patch(&format!("{CANDIDATES}/{jane}"), new).await.expect(200);
    for (filter, old, new) in [
        ("q", "jane", "grace"),
        ("q", "jane doe", "doe grace"),
        ("q", "old", "new"),
        ("q", "671", "820"),
        ("email", "jane@old.com", "grace@new.org"),
        ("phone", "+14155552671", "+4930901820"),
        ("source", "old", "new"),
        ("tag", "old", "new"),
        ("external_id", "old", "new"),
    ] {
        assert_eq!(found(&api, filter, old).await, [0; 0], "{filter}={old}");
        assert_eq!(found(&api, filter, new).await, [jane], "{filter}={new}");
    }
    assert_eq!(found(&api, "tag", "both").await, [jane]);
    assert_eq!(found(&api, "q", "doe").await, [jane]);
}

fn transaction_of(api: &TestApi) -> Vec<(String, String)> {
    let calls = api.dynamodb.take_calls();
    let call = calls.iter().find(|call| call.operation == "TransactWriteItems").expect("a transaction");
    let actions = call.request["TransactItems"].as_array().unwrap().iter();
    let actions = actions.flat_map(|action| action.as_object().unwrap());
    let key = |action: &Value| {
        let key = if action["Item"].is_object() { &action["Item"] } else { &action["Key"] };
        key["pk"]["S"].as_str().unwrap().to_owned()
    };
    actions.map(|(effect, action)| (effect.clone(), key(action))).collect()
}

/// Returns the number of writes and deletions of items in lists and of claims in the last transaction.
fn list_actions(api: &TestApi) -> (usize, usize) {
    let actions = transaction_of(api);
    assert!(!actions.iter().any(|(_, key)| key.ends_with("#WORD")), "the feed writes the entries of words");
    let kinds = ["#PHONE#", "#MAILBOX#", "#CANDIDATE_SOURCE#", "#TAG#", "#EXTERNAL_ID#"];
    let is_index = |key: &str| kinds.iter().any(|kind| key.contains(kind));
    let count = |effect: &str| actions.iter().filter(|(made, key)| made == effect && is_index(key)).count();
    (count("Put") + count("Update"), count("Delete"))
}

/// Runs the feed. Returns the number of entries of words that it writes and deletes.
async fn word_actions(api: &TestApi) -> (usize, usize) {
    api.dynamodb.clear_calls();
    api.run_feed().await;
    let calls = api.dynamodb.take_calls();
    let count = |operation: &str| {
        let is_word = |key: &Value| key["pk"]["S"].as_str().is_some_and(|pk| pk.ends_with("#WORD"));
        calls.iter().filter(|call| call.operation == operation && is_word(&call.request["Key"])).count()
    };
    (count("UpdateItem"), count("DeleteItem"))
}

#[tokio::test]
async fn a_change_writes_only_the_index_items_that_differ() {
    let api = TestApi::new().await;
    let body = json!({
        "name": "Jane Doe", "email": "jane@example.com", "phone": "+14155552671", "tags": ["a", "b"], "source": "s"
    });
    api.dynamodb.clear_calls();
    let id = create(&api, body).await;
    assert_eq!(list_actions(&api), (4, 0));
    // The words are jane, doe, the phone number, example and com.
    assert_eq!(word_actions(&api).await, (5, 0));
    let path = format!("{CANDIDATES}/{id}");
    for (change, lists, words) in [
        (json!({ "resume_url": "https://example.com" }), (0, 0), (0, 0)),
        (json!({ "tags": ["B", "c"] }), (1, 1), (0, 0)),
        (json!({ "tags": ["c", "b"] }), (0, 0), (0, 0)),
        (json!({ "source": "S" }), (0, 0), (0, 0)),
        (json!({ "source": null, "external_id": "7" }), (1, 1), (0, 0)),
        (json!({ "name": "JANE DOE" }), (0, 0), (0, 0)),
        (json!({ "name": "Jane Smith" }), (0, 0), (5, 1)),
        (json!({ "phone": null }), (0, 1), (4, 1)),
        // The words are jane, smith, gmail and com, and then also ja and ne, with googlemail instead of gmail.
        (json!({ "email": "jane@gmail.com" }), (1, 0), (4, 1)),
        (json!({ "email": "ja.ne@googlemail.com" }), (0, 0), (6, 1)),
        (json!({ "email": "ja.ne@example.com" }), (0, 1), (6, 1)),
    ] {
        api.dynamodb.clear_calls();
        api.patch(&path, change.clone()).await.expect(200);
        assert_eq!(list_actions(&api), lists, "{change}");
        assert_eq!(word_actions(&api).await, words, "{change}");
        assert_eq!(word_actions(&api).await, (0, 0), "{change}");
    }
    api.post(&format!("{path}/advance"), json!({ "stage": "offer" })).await.expect(200);
    assert_eq!(list_actions(&api), (0, 0));
    assert_eq!(word_actions(&api).await, (0, 0));
}

/// Replaces everything about a candidate with the maximum number of words and tags.
#[tokio::test]
async fn the_largest_change_fits_in_one_transaction() {
    let api = TestApi::new().await;
    let role =
        api.post("/api/v1/quick_post", json!({ "role": { "title": "Cook" } })).await.number("/role/id");
    let person = |letter: char, tags: usize| {
        let name: Vec<_> = (0..8).map(|word| format!("{letter}ä{word}-ö-ü{word}")).collect();
        let labels: Vec<_> = (0..8).map(|label| format!("ä{letter}{label}")).collect();
        let tags: Vec<_> = (0..tags).map(|tag| format!("{letter}{tag}")).collect();
        json!({
            "name": name.join(" "), "email": format!("ü{letter}.ö{letter}.ä{letter}@{}.a{letter}", labels.join(".")),
            "phone": format!("+1415555{:04}", u32::from(letter)), "source": letter, "tags": tags, "external_id": letter
        })
    };
    for tags in [0, 12, 20] {
        let mut first = person('x', tags);
        first["role_id"] = json!(role);
        first["email"] = json!(format!("üx{tags}.öx@gmail.com"));
        api.run_feed().await;
        api.dynamodb.clear_calls();
        let id = create(&api, first).await;
        let words = word_actions(&api).await;
        assert_eq!(words, (30.min(42 - tags), 0));
        api.patch(&format!("{CANDIDATES}/{id}"), person('w', tags)).await.expect(200);
        // Beside tags: the record, the list entry, the touchpoint, the former words, the change in the outbox, and two items
        // each for e-mail address, phone number, source and external id; the entry of the Gmail mailbox; and the trace of
        // the former address.
        assert_eq!(transaction_of(&api).len(), 2 * tags + 15);
        assert_eq!(word_actions(&api).await, (words.0, words.0));
        api.patch(&format!("{CANDIDATES}/{id}"), json!({ "email": "free@x.yz", "external_id": null }))
            .await
            .expect(200);
        let email = json!({ "email": format!("{tags}@x.yz") });
        api.patch(&format!("{CANDIDATES}/{id}"), email).await.expect(200);
    }
}

/// The index may refer to a candidate who has just been removed from the lists.
#[tokio::test]
async fn candidates_who_are_no_longer_in_lists_are_left_out() {
    let api = TestApi::new().await;
    let fields = |name: &str| json!({ "name": name, "tags": ["x"], "external_id": name });
    let mut ids = Vec::new();
    for name in ["Jane A", "Jane B", "Jane C"] {
        ids.push(create(&api, fields(name)).await);
    }
    let client = Client::from_conf(engine::client(api.dynamodb.client()).await.build());
    let delete = client.delete_item().table_name(&api.environment.config.table);
    let pk = format!("{}#CANDIDATE", tenant(ACME, Mode::Live));
    let delete =
        delete.key("pk", AttributeValue::S(pk)).key("sk", AttributeValue::S(format!("{:016}", ids[1])));
    delete.send().await.unwrap();
    for path in [list("tag", "x"), list("q", "jane")] {
        for limit in 1..=3 {
            assert_eq!(all(&api, &format!("{path}&limit={limit}")).await.len(), 2, "{path}");
        }
    }
    assert_eq!(found(&api, "external_id", "Jane B").await, [0; 0]);
    assert_eq!(found(&api, "external_id", "Jane C").await, [ids[2]]);
}

#[tokio::test]
async fn an_import_finds_the_candidate_that_it_has_created() {
    let api = TestApi::new().await;
    let body = json!({ "name": "Jane", "email": "jane@example.com", "external_id": "7", "source": "ats" });
    let created = api.post(CANDIDATES, body.clone()).await.expect(201);
    let again = api.post(CANDIDATES, body).await.expect(422);
    assert_eq!(again.body["existing"], json!({ "type": "candidate", "id": created.number("/id") }));
    for (filter, value) in [("external_id", "7"), ("email", "jane@example.com")] {
        api.dynamodb.take_calls();
        assert_eq!(found(&api, filter, value).await, [created.number("/id")]);
        let calls = api.dynamodb.take_calls();
        let reads: Vec<_> = calls.iter().map(|call| call.operation.as_str()).collect();
        assert_eq!(reads, ["UpdateItem", "GetItem", "GetItem"]);
        assert!(calls[1..].iter().all(|call| call.request["ConsistentRead"] == true));
        assert!(calls[1..].iter().map(RecordedCall::units).sum::<f64>() <= 2.0);
    }
}
