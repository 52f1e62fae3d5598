//! Applications on the career pages: stored data, validation, rate limits, and the privacy of existing candidates.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::{join, join_all};
use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use tests::browser::{Browser, FORM, Form, input};
use tests::dashboard::{escaped, owner};
use tests::interceptor::{Fault, RecordedCall};
use tests::{ACME, BASE_URL, GLOBEX, Response, TestApi, tenant};

use crate::careers_resumes::{PDF, attach, redirect_path, send};
use crate::dashboard_access::is_write;

/// A published posting of an open role.
pub(crate) struct Job {
    pub(crate) role: u64,
    pub(crate) posting: u64,
    /// The path of its page.
    pub(crate) path: String,
}

impl Job {
    /// Creates a job of Acme in live mode.
    pub(crate) async fn new(api: &TestApi, title: &str) -> Self {
        Self::of(api, ACME, Mode::Live, title).await
    }

    pub(crate) async fn of(api: &TestApi, demo: usize, mode: Mode, title: &str) -> Self {
        let body = json!({ "role": { "title": title } });
        let request = api.request(Method::POST, "/api/v1/quick_post").key(demo, mode);
        let posted = request.json(&body).send().await.expect(201);
        Self {
            role: posted.number("/role/id"),
            posting: posted.number("/job_posting/id"),
            path: posted.string("/job_posting/public_url").strip_prefix(BASE_URL).unwrap().to_owned(),
        }
    }

    pub(crate) async fn apply(&self, api: &TestApi, form: &Form) -> Response {
        Browser::new(api).submit(&format!("{}/apply", self.path), form).await
    }

    pub(crate) async fn applicants(&self, api: &TestApi) -> u64 {
        let stats = api.get(&format!("/api/v1/roles/{}/stats", self.role)).await.expect(200);
        let listed = list(api, &format!("?limit=100&role_id={}", self.role)).await;
        assert_eq!(stats.number("/applicants"), listed.len() as u64, "the count matches the list");
        stats.number("/applicants")
    }
}

/// The wording of the required consent.
pub(crate) const APPLICATION: &str = "I agree that my data is stored and used to consider my application.";

/// Returns an application form as a browser submits it.
pub(crate) fn form(name: &str, email: &str) -> Form {
    Form::new(&[
        ("name", name),
        ("email", email),
        ("phone", ""),
        ("resume_url", ""),
        ("note", ""),
        ("consent", "yes"),
        ("confirm_topic", ""),
    ])
}

fn ada() -> Form {
    form("Ada Lovelace", "ada@example.com")
}

pub(crate) async fn list(api: &TestApi, query: &str) -> Vec<Value> {
    let listed = api.get(&format!("/api/v1/candidates{query}")).await.expect(200);
    listed.body["data"].as_array().unwrap().clone()
}

/// Returns the only candidate with this e-mail address, with all details.
pub(crate) async fn find(api: &TestApi, email: &str) -> Response {
    let mut found = list(api, "?limit=100").await;
    found.retain(|candidate| candidate["email"].as_str().unwrap().eq_ignore_ascii_case(email));
    let [candidate] = found.as_slice() else { panic!("{email} in {found:?}") };
    api.get(&format!("/api/v1/candidates/{}", candidate["id"])).await.expect(200)
}

/// Returns the form that a touchpoint of the candidate names.
pub(crate) async fn submission(api: &TestApi, candidate: &Response, touchpoint: usize) -> Response {
    let id = candidate.number(&format!("/touchpoints/{touchpoint}/detail/submission_id"));
    let path = format!("/api/v1/candidates/{}/submissions/{id}", candidate.number("/id"));
    api.get(&path).await.expect(200)
}

/// Returns the kinds of a candidate's touchpoints, newest first.
pub(crate) fn kinds(candidate: &Response) -> Vec<&str> {
    candidate.body["touchpoints"].as_array().unwrap().iter().map(|t| t["kind"].as_str().unwrap()).collect()
}

/// Returns the problems on a page. Asserts that each is shown beside its field and in the summary.
pub(crate) fn problems(page: &Response) -> Vec<(&str, &str)> {
    let beside = page.text.split("<p class=\"problem\" id=\"").skip(1).filter_map(|rest| {
        let (field, rest) = rest.split_once("-problem\">")?;
        Some((field, rest.split('<').next()?))
    });
    let beside: Vec<_> = beside.collect();
    for (field, sentence) in &beside {
        let link = format!("<li><a href=\"#{field}\">{sentence}</a></li>");
        assert!(page.text.contains(&link), "{field} is not in the summary: {}", page.text);
        let described = page.text.split("aria-invalid=\"true\" aria-describedby=\"").skip(1);
        let mut described = described.filter_map(|rest| rest.split('"').next());
        assert!(described.any(|ids| ids.ends_with(&format!("{field}-problem"))), "{field} is not described");
    }
    let summary = page.text.split("<li><a href=\"#").count() - 1;
    assert_eq!(summary, beside.len(), "{}", page.text);
    beside
}

/// Returns the names of the page's ticked boxes.
pub(crate) fn ticked(page: &Response) -> Vec<&str> {
    let boxes: Vec<_> = page.text.split(" type=\"checkbox\"").collect();
    let ticked = boxes.windows(2).filter(|pair| pair[1].split('>').next().unwrap().contains(" checked"));
    ticked.map(|pair| pair[0].rsplit('"').nth(1).unwrap()).collect()
}

/// The form asks for each consent by itself, and nothing is ticked beforehand.
#[tokio::test]
async fn each_ticked_consent_of_a_new_candidate_is_recorded_with_the_wording_of_the_form() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let page = Browser::new(&api).get(&job.path).await.expect(200);
    assert_eq!(ticked(&page), [""; 0]);
    let fields = [
        ("application", "consent"),
        ("voice_screen", "consent_voice_screen"),
        ("recording", "consent_recording"),
    ];
    let is_required = |field: &str| {
        let input = page.text.split(&format!(" name=\"{field}\"")).nth(1).unwrap();
        input.split('>').next().unwrap().contains(" required")
    };
    assert_eq!(fields.map(|(_, field)| is_required(field)), [true, false, false]);
    for (email, ticked) in [
        ("a@example.com", vec!["consent"]),
        ("b@example.com", vec!["consent", "consent_recording"]),
        ("c@example.com", vec!["consent", "consent_voice_screen", "consent_recording"]),
    ] {
        let optional = ticked.iter().skip(1);
        let form = optional.fold(form("Ada", email), |form, field| form.and(field, "yes"));
        job.apply(&api, &form).await.expect(303);
        let candidate = find(&api, email).await;
        let form = submission(&api, &candidate, 0).await;
        let (consents, submitted) = (&candidate.body["consents"], &form.body["consents"]);
        let expected: Vec<_> = fields.iter().filter(|(_, field)| ticked.contains(field)).collect();
        assert_eq!(consents.as_array().map(Vec::len), Some(expected.len()));
        for (index, (purpose, _)) in expected.into_iter().enumerate() {
            let consent = &consents[index];
            let wording = consent["wording"].as_str().unwrap();
            assert!(page.text.contains(&format!("<span>{wording}")), "{wording} is not on the page");
            assert_eq!((&consent["purpose"], &consent["granted"]), (&json!(purpose), &json!(true)));
            assert_eq!(submitted[index], json!({ "purpose": purpose, "wording": wording }));
        }
    }
}

#[tokio::test]
async fn a_form_does_not_change_the_consents_of_an_existing_candidate() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let jane = json!({ "name": "Jane", "email": "jane@example.com" });
    let path = format!(
        "/api/v1/candidates/{}",
        api.post("/api/v1/candidates", jane).await.expect(201).number("/id")
    );
    let refusal = json!({
        "purpose": "recording", "granted": false, "obtained_at": "2026-11-19T09:00:00Z", "wording": "Do not record me.",
    });
    api.post(&format!("{path}/consents"), refusal).await.expect(201);
    let before = api.get(&path).await.expect(200).body["consents"].clone();
    let form =
        form("Jane", "JANE@example.com").and("consent_voice_screen", "yes").and("consent_recording", "yes");
    job.apply(&api, &form).await.expect(303);
    let after = api.get(&path).await.expect(200);
    assert_eq!(after.body["consents"], before);
    assert_eq!(kinds(&after), ["applied", "consent_changed", "created"]);
    let form = submission(&api, &after, 0).await;
    let submitted = form.body["consents"].as_array().unwrap();
    let purposes: Vec<_> = submitted.iter().map(|consent| consent["purpose"].as_str().unwrap()).collect();
    assert_eq!(purposes, ["application", "voice_screen", "recording"], "the form is stored");
    assert_eq!(api.get(&format!("{path}/export")).await.expect(200).body["consents"], before);
}

#[tokio::test]
async fn an_application_creates_a_candidate_with_every_field() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let filled_form = form(" Ada Lovelace ", "Ada@Example.com")
        .set("phone", "+1 (415) 555-0132")
        .set("resume_url", " example.com/cv?x=1 ")
        .set("note", "Hello,\r\n\r\nI <3 engines. ");
    let browser = Browser::new(&api);
    let response = browser.submit(&format!("{}/apply", job.path), &filled_form).await.expect(303);
    assert!(response.header("location").starts_with(&format!("{}/apply?ticket=", job.path)));
    assert_eq!((response.header("cache-control"), response.header("set-cookie")), ("no-store", ""));
    let confirmation = browser.follow(&response).await.expect(200);
    assert!(confirmation.text.contains("Application received") && confirmation.text.contains("Analyst"));
    assert_eq!((confirmation.header("cache-control"), confirmation.header("set-cookie")), ("no-store", ""));
    assert!(confirmation.text.contains("<meta name=\"robots\" content=\"noindex\">"));

    let at = "2026-11-20T09:30:00.000Z";
    let candidate = find(&api, "ada@example.com").await;
    let (id, application) = (candidate.number("/id"), candidate.number("/applications/0/id"));
    let mut touchpoints = candidate.body["touchpoints"].clone();
    for touchpoint in touchpoints.as_array_mut().unwrap() {
        assert!(touchpoint.as_object_mut().unwrap().remove("id").unwrap().is_u64());
    }
    let profile = json!({
        "id": id, "name": "Ada Lovelace", "email": "Ada@Example.com", "phone": "+14155550132",
        "resume_url": "https://example.com/cv?x=1", "stage": "applied", "source": "career_page", "tags": [],
        "external_id": null, "created_at": at, "updated_at": at,
    });
    let mut expected = profile.clone();
    expected["legal_hold"] = Value::Null;
    expected["voice_screens"] = json!([]);
    let career_page = json!({ "type": "career_page", "id": null, "name": "career page" });
    let consent_id = candidate.number("/consents/0/id");
    let submission_id = candidate.number("/touchpoints/0/detail/submission_id");
    let submitted = json!({
        "id": submission_id, "candidate_id": id, "application_id": application, "role_id": job.role,
        "name": "Ada Lovelace", "email": "Ada@Example.com", "phone": "+14155550132",
        "phone_as_typed": null, "resume_url": "https://example.com/cv?x=1", "note": "Hello,\n\nI <3 engines.",
        "consents": [{ "purpose": "application", "wording": APPLICATION }], "answers": [], "resume_file_id": null,
        "submitted_at": at,
    });
    assert_eq!(submission(&api, &candidate, 0).await.body, submitted);
    expected["consents"] = json!([{
        "id": consent_id, "candidate_id": id, "purpose": "application", "granted": true, "obtained_at": at,
        "wording": APPLICATION, "actor": career_page, "created_at": at,
    }]);
    expected["applications"] = json!([{
        "id": application, "candidate_id": id, "role_id": job.role, "role_title": "Analyst", "stage": "applied",
        "status": "active", "source": "career_page", "applied_at": at, "reapplied_at": null, "resubmissions": 0,
        "stage_changed_at": at, "external_id": null, "rejection": null, "rejection_reason": null, "start_date": null, "resume_file_id": null,
        "created_at": at, "updated_at": at,
    }]);
    expected["touchpoints"] = json!([
        { "kind": "applied", "at": at, "actor": career_page, "detail": {
            "application_id": application, "role_id": job.role, "source": "career_page",
            "submission_id": submission_id,
        } },
        { "kind": "consent_changed", "at": at, "actor": career_page, "detail": {
            "consent_id": consent_id, "purpose": "application", "granted": true, "obtained_at": at,
        } },
        { "kind": "created", "at": at, "actor": career_page, "detail": { "source": "career_page" } },
    ]);
    let mut body = candidate.body.clone();
    body["touchpoints"] = touchpoints;
    assert_eq!(body, expected);
    let role = job.role;
    for query in
        ["", "?stage=applied", &format!("?role_id={role}"), &format!("?role_id={role}&stage=applied")]
    {
        let listed = list(&api, query).await;
        let mut shown = profile.clone();
        let state = json!({ "id": application, "stage": "applied", "status": "active" });
        shown["application"] = if query.contains("role_id") { state } else { Value::Null };
        assert_eq!((listed.len(), listed.first()), (1, Some(&shown)), "{query}");
    }
    assert!(list(&api, "?stage=screening").await.is_empty());
    assert_eq!(job.applicants(&api).await, 1);
}

#[tokio::test]
async fn all_problems_are_shown_beside_their_fields_and_typed_values_are_kept() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let hostile = "\"><script>alert(1)</script><x y='&amp;";
    let note = format!("</textarea>{hostile}{}", "x".repeat(5_000));
    let wrong = Form::new(&[
        ("name", &format!("{hostile}{}", "x".repeat(200))),
        ("email", hostile),
        ("phone", hostile),
        ("resume_url", hostile),
        ("note", &note),
    ]);
    api.dynamodb.take_calls();
    let page = job.apply(&api, &wrong).await.expect(422);
    assert!(!api.dynamodb.take_calls().iter().any(is_write), "the attempt is not counted");
    assert_eq!(page.header("cache-control"), "no-store");
    assert_eq!(
        problems(&page),
        [
            ("name", "Your name must be at most 200 characters."),
            ("email", "Enter a valid e-mail address, such as jane@example.com."),
            ("resume_url", "Enter a valid URL that begins with http:// or https://."),
            ("note", "Your note must be at most 5000 characters."),
            ("consent", "Tick the box to agree that your application may be stored."),
        ]
    );
    for field in ["name", "email", "phone", "resume_url"] {
        assert_eq!(input(&page, field), wrong.get(field));
    }
    assert!(page.text.contains(&format!(">\n{}</textarea>", escaped(&note))), "{}", page.text);
    assert!(!page.text.contains("<script>alert") && !page.text.contains(" checked"));
    assert!(page.text.contains("<title>Error: "));

    // The box stays ticked.
    let page = job.apply(&api, &form("", "")).await.expect(422);
    let blank = [("name", "Enter your name."), ("email", "Enter your e-mail address.")];
    assert_eq!(problems(&page), blank);
    assert_eq!(ticked(&page), ["consent"]);
    let both = form("", "").and("consent_voice_screen", "yes").and("consent_recording", "yes");
    let page = job.apply(&api, &both).await.expect(422);
    assert_eq!(ticked(&page), ["consent", "consent_voice_screen", "consent_recording"]);
    let nothing = job.apply(&api, &Form::default()).await.expect(422);
    assert_eq!(problems(&nothing).len(), 3);
    assert!(list(&api, "").await.is_empty());
}

#[tokio::test]
async fn each_field_has_limits_and_accepts_values_up_to_them() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let label = "b".repeat(61);
    let longest = format!("{}@{label}.{label}.{label}.com", "a".repeat(64));
    assert_eq!(longest.len(), 254);
    let url_of_length = |length: usize| format!("https://example.com/{}", "x".repeat(length - 20));
    for (field, value, sentence) in [
        ("name", " ".to_owned(), "Enter your name."),
        ("name", "x".repeat(201), "Your name must be at most 200 characters."),
        ("name", "A\u{7}da".to_owned(), "Your name must not contain control characters other than tab."),
        ("name", "Ada\r\nLovelace".to_owned(), "Your name must not contain a line break."),
        ("name", "\u{200B}".to_owned(), "Enter your name."),
        ("email", "\u{2060}".to_owned(), "Enter your e-mail address."),
        ("email", " ".to_owned(), "Enter your e-mail address."),
        ("email", format!("a{longest}"), "Your e-mail address must be at most 254 characters."),
        ("email", "ada@localhost".to_owned(), "Enter a valid e-mail address, such as jane@example.com."),
        ("resume_url", url_of_length(2_001), "The link to your resume must be at most 2000 characters."),
        (
            "resume_url",
            "javascript://%0aalert(1)".to_owned(),
            "Enter a valid URL that begins with http:// or https://.",
        ),
        (
            "resume_url",
            "javascript:alert(1)".to_owned(),
            "Enter a valid URL that begins with http:// or https://.",
        ),
        ("note", "x\r\n".repeat(2_501), "Your note must be at most 5000 characters."),
        (
            "note",
            "a\0b".to_owned(),
            "Your note must not contain control characters other than newline and tab.",
        ),
        ("consent", String::new(), "Tick the box to agree that your application may be stored."),
    ] {
        api.dynamodb.take_calls();
        let page = job.apply(&api, &ada().set(field, &value)).await.expect(422);
        assert!(!api.dynamodb.take_calls().iter().any(is_write), "{field}");
        assert_eq!(problems(&page), [(field, sentence)]);
    }
    // Line breaks are stored as LF, and whitespace around a note is removed.
    let note = format!("{}x", "x\r\n".repeat(2_499));
    let name = "é".repeat(200);
    let valid = form(&name, &longest).set("resume_url", &url_of_length(2_000)).set("note", &note);
    job.apply(&api, &valid).await.expect(303);
    let candidate = find(&api, &longest).await;
    assert_eq!(
        (candidate.string("/name"), candidate.string("/resume_url")),
        (&*name, &*url_of_length(2_000))
    );
    // The scheme of a URL in the query is not mistaken for the scheme of the link.
    for (typed, kept) in [
        ("HTTP://example.com/cv", "HTTP://example.com/cv"),
        ("example.com", "https://example.com"),
        ("example.com:8443/cv", "https://example.com:8443/cv"),
        ("example.com/?to=https://example.org/cv", "https://example.com/?to=https://example.org/cv"),
    ] {
        let email = format!("{}@example.com", kept.len());
        job.apply(&api, &form("Ada", &email).set("resume_url", typed)).await.expect(303);
        assert_eq!(find(&api, &email).await.string("/resume_url"), kept);
    }
    let submitted = submission(&api, &candidate, 0).await;
    let kept = submitted.string("/note");
    assert_eq!((kept.chars().count(), kept.contains('\r')), (4_999, false));
}

/// A phone number is optional, so none refuses an application. What the service cannot read, a member can.
#[tokio::test]
async fn a_phone_number_is_read_by_the_roles_country_or_kept_as_it_was_typed() {
    let api = TestApi::new().await;
    let (job, german) = (Job::new(&api, "Analyst").await, Job::new(&api, "Cook").await);
    let role = format!("/api/v1/roles/{}", german.role);
    api.request(Method::PATCH, &role).json(&json!({ "country": "DE" })).send().await.expect(200);
    let indian = Job::of(&api, GLOBEX, Mode::Live, "Baker").await;
    api.change_settings(tenant(GLOBEX, Mode::Live), ["IN", "UTC", ""]).await;
    let typed = form("Asha", "asha@example.com").set("phone", "098765 43210");
    indian.apply(&api, &typed).await.expect(303);
    let asha = api
        .request(Method::GET, "/api/v1/candidates?email=asha@example.com")
        .key(GLOBEX, Mode::Live)
        .send()
        .await;
    assert_eq!(asha.string("/data/0/phone"), "+919876543210", "the organization's country");
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let long = "9".repeat(1_000);
    for (number, (job, typed, phone, kept)) in [
        (&job, "+1 415 555 2671", Some("+14155552671"), None),
        (&job, "0151 23456789", None, Some("0151 23456789")),
        (&german, "0151 23456789", Some("+4915123456789"), Some("0151 23456789")),
        (&job, "0049 (0)151 23456789", Some("+4915123456789"), Some("0049 (0)151 23456789")),
        (&german, "+1 415 555 2671 ext. 9", Some("+14155552671"), Some("+1 415 555 2671 ext. 9")),
        (&german, "<b>after\0 six</b>", None, Some("<b>after six</b>")),
        (&german, &long, None, Some(&long[..100])),
        (&german, " \u{200b} ", None, None),
    ]
    .into_iter()
    .enumerate()
    {
        let email = format!("ada{number}@example.com");
        job.apply(&api, &form("Ada", &email).set("phone", typed)).await.expect(303);
        let candidate = find(&api, &email).await;
        let form = submission(&api, &candidate, 0).await.body;
        assert_eq!((candidate.body["phone"].as_str(), form["phone"].as_str()), (phone, phone), "{typed}");
        assert_eq!(form["phone_as_typed"].as_str(), kept, "{typed}");
        let page =
            browser.get(&format!("/dashboard/candidates/{}", candidate.number("/id"))).await.expect(200);
        let shown = kept.map(|kept| format!("Phone, as typed: <bdi>{}</bdi>", escaped(kept)));
        assert_eq!(page.text.contains("Phone, as typed"), shown.is_some(), "{}", page.text);
        assert!(shown.is_none_or(|shown| page.text.contains(&shown)), "{}", page.text);
    }
}

#[tokio::test]
async fn a_body_that_is_not_a_form_writes_nothing() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let path = format!("{}/apply", job.path);
    let browser = Browser::new(&api);
    let valid = ada().encoded();
    let long = format!("{valid}&x={}", "x".repeat(256 * 1024));
    for (media, body, status) in [
        ("application/json", valid.as_str(), 415),
        ("text/plain", &valid, 415),
        ("multipart/form-data; boundary=x", &valid, 415),
        ("application/x-www-form-urlencodedx", &valid, 415),
        (FORM, &long, 413),
    ] {
        api.dynamodb.take_calls();
        let response = browser.request(Method::POST, &path).body(media, body.to_owned()).send().await;
        let response = response.expect(status);
        assert!(!api.dynamodb.take_calls().iter().any(is_write), "{media}");
        assert_eq!(response.header("content-type"), "text/html; charset=utf-8");
        assert!(response.text.contains("This form could not be read"));
        assert!(!response.text.contains("href=\"/dashboard\""), "candidates do not use the dashboard");
    }
    browser.request(Method::POST, &path).send().await.expect(415);
    assert!(list(&api, "").await.is_empty());

    // If a field appears twice, the first value is used. Invalid UTF-8 becomes replacement characters.
    let body = [valid.as_bytes(), b"&name=Grace&email=grace%40example.com&note=x"].concat();
    browser.request(Method::POST, &path).body(FORM, body).send().await.expect(303);
    let candidate = find(&api, "ada@example.com").await;
    assert_eq!((candidate.string("/name"), list(&api, "").await.len()), ("Ada Lovelace", 1));
    let body = b"name=%FF\xFE&email=x%40example.com&consent=yes".to_vec();
    browser.request(Method::POST, &path).body(FORM, body).send().await.expect(303);
    assert_eq!(find(&api, "x@example.com").await.string("/name"), "\u{fffd}\u{fffd}");
    let body = b"name=Ada&email=a%FF%40example.com&consent=yes".to_vec();
    let response = browser.request(Method::POST, &path).body(FORM, body).send().await;
    assert!([303, 422].contains(&response.status), "{}", response.text);
}

#[tokio::test]
async fn applications_to_paused_hidden_and_unknown_jobs_are_rejected() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let (role, posting) =
        (format!("/api/v1/roles/{}", job.role), format!("/api/v1/job_postings/{}", job.posting));
    let assert_rejected = async |status: u16, text: &str| {
        api.dynamodb.take_calls();
        for form in [ada(), ada().set("confirm_topic", "x"), Form::default()] {
            let response = job.apply(&api, &form).await.expect(status);
            assert!(response.text.contains(text), "{}", response.text);
            assert!(!response.text.contains("<form "), "the page has no form");
        }
        assert!(!api.dynamodb.take_calls().iter().any(is_write));
    };
    api.request(Method::POST, &format!("{role}/pause")).send().await.expect(200);
    assert_rejected(422, "is not accepting applications for this job at the moment").await;
    api.request(Method::POST, &format!("{role}/resume")).send().await.expect(200);
    api.request(Method::POST, &format!("{posting}/unpublish")).send().await.expect(200);
    assert_rejected(410, "This job is no longer available").await;
    api.request(Method::POST, &format!("{posting}/publish")).send().await.expect(200);
    api.delete(&role).await.expect(200);
    assert_rejected(410, "This job is no longer available").await;
    let unknown = Job { path: "/careers/acme/unknown".to_owned(), ..job };
    assert!(unknown.apply(&api, &ada()).await.expect(404).text.contains("Job not found"));
    let unknown_site = Job { path: "/careers/nobody/analyst".to_owned(), ..unknown };
    assert!(unknown_site.apply(&api, &ada()).await.expect(404).text.contains("Career page not found"));
    assert!(list(&api, "").await.is_empty());
}

#[tokio::test]
async fn an_application_does_not_change_an_existing_candidates_profile() {
    let api = TestApi::new().await;
    let (job, other) = (Job::new(&api, "Analyst").await, Job::new(&api, "Engineer").await);
    let jane = json!({
        "name": "Jane", "email": "Jane@Example.com", "phone": "+14155550100",
        "resume_url": "https://example.com/jane", "role_id": other.role,
    });
    let created = api.post("/api/v1/candidates", jane).await.expect(201);
    let path = format!("/api/v1/candidates/{}", created.number("/id"));
    let before = api.get(&path).await.expect(200);
    let filled_form = form("Somebody Else", "jane@EXAMPLE.com")
        .set("phone", "+14155550999")
        .set("resume_url", "https://evil.example/cv")
        .set("note", "I am Jane");
    api.clock.set("2026-11-20T10:00:00Z");
    job.apply(&api, &filled_form).await.expect(303);
    let after = api.get(&path).await.expect(200);
    for field in ["id", "name", "email", "phone", "resume_url", "stage", "created_at"] {
        assert_eq!(after.body[field], before.body[field], "{field}");
    }
    assert_eq!(after.string("/updated_at"), "2026-11-20T10:00:00.000Z");
    assert_eq!(after.string("/applications/0/source"), "career_page");
    assert_eq!(after.number("/applications/0/role_id"), job.role);
    assert_eq!(after.body["applications"][1], before.body["applications"][0]);
    assert_eq!(kinds(&after), ["applied", "applied", "created"]);
    assert_eq!(after.string("/touchpoints/0/actor/type"), "career_page");
    let submitted = submission(&api, &after, 0).await;
    for (field, typed) in [
        ("name", "Somebody Else"),
        ("email", "jane@EXAMPLE.com"),
        ("phone", "+14155550999"),
        ("resume_url", "https://evil.example/cv"),
        ("note", "I am Jane"),
    ] {
        assert_eq!(submitted.body[field], typed);
    }
    assert_eq!(submitted.body["phone_as_typed"], Value::Null);
    let stale = api.request(Method::PATCH, &path).header("if-match", before.header("etag"));
    stale.json(&json!({ "name": "J" })).send().await.expect(412);
    assert_eq!((job.applicants(&api).await, other.applicants(&api).await), (1, 1));

    // A second application for the same role is stored with the same calls.
    api.clock.set("2026-11-20T11:00:00Z");
    for again in [&job, &other] {
        api.dynamodb.take_calls();
        again.apply(&api, &filled_form.clone().set("note", "Again")).await.expect(303);
        let written: Vec<_> = api.dynamodb.take_calls().into_iter().filter(is_write).collect();
        let written: Vec<_> = written.iter().map(|call| call.operation.as_str()).collect();
        let expected = ["UpdateItem", "UpdateItem", "UpdateItem", "UpdateItem", "TransactWriteItems"];
        assert_eq!(written, expected, "four counters and the expected upload");
    }
    let candidate = api.get(&path).await.expect(200);
    assert_eq!(kinds(&candidate), ["reapplied", "reapplied", "applied", "applied", "created"]);
    for field in ["id", "name", "email", "phone", "resume_url", "stage", "created_at", "consents"] {
        assert_eq!(candidate.body[field], before.body[field], "{field}");
    }
    assert_eq!(job.applicants(&api).await, 1);
}

#[tokio::test]
async fn an_application_of_a_hired_or_rejected_candidate_begins_at_applied() {
    let api = TestApi::new().await;
    let (job, other) = (Job::new(&api, "Analyst").await, Job::new(&api, "Engineer").await);
    for (end, status) in [("reject", "rejected"), ("hire", "hired")] {
        let email = format!("{end}@example.com");
        job.apply(&api, &form("Jane", &email)).await.expect(303);
        let path = format!("/api/v1/candidates/{}", find(&api, &email).await.number("/id"));
        api.post(&format!("{path}/{end}"), json!({})).await.expect(200);
        other.apply(&api, &form("Jane", &email)).await.expect(303);
        let candidate = api.get(&path).await.expect(200);
        assert_eq!(candidate.string("/stage"), "applied");
        assert_eq!(
            (candidate.number("/applications/0/role_id"), candidate.body["applications"][2].is_null()),
            (other.role, true)
        );
        assert_eq!(candidate.string("/applications/1/status"), status);
        for (role, stage) in [(job.role, status), (other.role, "applied")] {
            let listed = list(&api, &format!("?role_id={role}&stage={stage}")).await;
            assert!(listed.iter().any(|listed| listed["id"] == candidate.body["id"]), "{role} {stage}");
        }
    }
    assert_eq!((job.applicants(&api).await, other.applicants(&api).await), (2, 2));
}

/// Creates a candidate with the maximum number of applications.
async fn create_candidate_with_max_applications(api: &TestApi, job: &Job, email: &str) {
    job.apply(api, &form("Busy", email)).await.expect(303);
    api.write_open_roles(2..=200).await;
    api.write_applications(find(api, email).await.number("/id"), 2..=200).await;
}

/// Returns the status, headers and text of a response, with its random values masked.
pub(crate) fn observed(response: &Response, ticket: &str) -> (u16, Vec<(String, String)>, String) {
    let mut parts = ticket.split('.');
    let (random, signature) = (parts.next().unwrap(), parts.nth(1).unwrap());
    let mut secrets = vec![
        (input(response, "policy"), "POLICY"),
        (input(response, "x-amz-signature"), "AMZ"),
        (random.to_owned(), "RANDOM"),
        (signature.to_owned(), "SIGNATURE"),
        (response.header("x-request-id").to_owned(), "REQUEST"),
    ];
    secrets.retain(|(secret, _)| !secret.is_empty());
    let masked =
        |text: &str| secrets.iter().fold(text.to_owned(), |text, (secret, mask)| text.replace(secret, mask));
    let headers = response
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), masked(str::from_utf8(value.as_bytes()).unwrap())));
    (response.status, headers.collect(), masked(&response.text))
}

/// Applies and uploads three files, of which only the first is invalid. Returns the masked responses.
async fn apply_and_upload(
    api: &TestApi,
    job: &Job,
    form: &Form,
) -> Vec<(u16, Vec<(String, String)>, String)> {
    let browser = Browser::new(api);
    let applied = job.apply(api, form).await;
    let ticket = Form::of_location(&applied).1.get("ticket").to_owned();
    let confirmation = browser.follow(&applied).await;
    let early = browser.get(&format!("{}&etag=x", applied.header("location"))).await.expect(422);
    let mut responses = vec![applied, confirmation, early];
    for content in [&b"<html>"[..], PDF, PDF] {
        let form = browser.get(responses[0].header("location")).await.expect(200);
        let sent = send(&form, content).await.expect(303);
        let back = browser.get(&redirect_path(&sent)).await;
        let end = if back.status == 303 { Some(browser.follow(&back).await) } else { None };
        responses.extend([form, sent, back].into_iter().chain(end));
    }
    assert!(responses.last().unwrap().text.contains("and your resume"));
    responses.iter().map(|response| observed(response, &ticket)).collect()
}

#[tokio::test]
async fn responses_do_not_reveal_existing_candidates() {
    let api = TestApi::new().await;
    let (job, other) = (Job::new(&api, "Analyst").await, Job::new(&api, "Engineer").await);
    for email in ["known@example.com", "rejected@example.com", "hired@example.com"] {
        other.apply(&api, &form("Known", email)).await.expect(303);
    }
    for (email, end) in [("rejected@example.com", "reject"), ("hired@example.com", "hire")] {
        let id = find(&api, email).await.number("/id");
        api.post(&format!("/api/v1/candidates/{id}/{end}"), json!({})).await.expect(200);
    }
    create_candidate_with_max_applications(&api, &other, "full@example.com").await;
    job.apply(&api, &form("Applied", "applied@example.com")).await.expect(303);
    let expected = apply_and_upload(&api, &job, &form("New", "new@example.com")).await;
    assert_eq!(expected.len(), 14);
    let bot = form("New", "robot@example.com").set("confirm_topic", "https://spam.example");
    let applied = job.apply(&api, &bot).await;
    let ticket = Form::of_location(&applied).1.get("ticket").to_owned();
    let confirmation = Browser::new(&api).follow(&applied).await;
    for (one, other) in [applied, confirmation].iter().zip(&expected) {
        assert_eq!(&observed(one, &ticket), other, "a bot");
    }
    for (description, form) in [
        ("another new candidate", form("New", "another@example.com")),
        ("known", form("New", "known@example.com")),
        ("in upper case", form("New", "KNOWN@example.com")),
        ("rejected", form("New", "rejected@example.com")),
        ("hired", form("New", "hired@example.com")),
        ("full", form("New", "full@example.com")),
        ("applied", form("New", "applied@example.com")),
        ("just created", form("New", "new@example.com")),
    ] {
        for (step, (one, other)) in
            apply_and_upload(&api, &job, &form).await.iter().zip(&expected).enumerate()
        {
            assert_eq!(one, other, "{description}, step {step}");
        }
    }
    // Validation errors do not reveal existing candidates, either.
    let refused = |email: &'static str| {
        let (job, api) = (&job, &api);
        async move { job.apply(api, &form("", email)).await.expect(422).text.replace(email, "EMAIL") }
    };
    assert_eq!(refused("known@example.com").await, refused("stranger@example.com").await);
    assert_eq!(find(&api, "full@example.com").await.body["applications"][199]["role_id"], other.role);
}

/// The time of a response depends on the calls to DynamoDB, and on how much they write.
#[tokio::test]
async fn applying_takes_the_same_calls_and_writes_for_known_and_unknown_people() {
    let api = TestApi::new().await;
    let (job, other) = (Job::new(&api, "Analyst").await, Job::new(&api, "Engineer").await);
    create_candidate_with_max_applications(&api, &other, "full@example.com").await;
    for email in ["known", "knower"] {
        other.apply(&api, &form("Known", &format!("{email}@example.com"))).await.expect(303);
    }
    for email in ["applied", "applier"] {
        job.apply(&api, &form("Applied", &format!("{email}@example.com"))).await.expect(303);
    }
    let full = form("Jane Zoe Doe", "")
        .set("phone", "+14155550123")
        .set("note", "Hello")
        .and("consent_recording", "yes");
    for (form, emails) in [
        (form("Zoe", ""), ["new", "known", "applied", "full"]),
        (full, ["newer", "knower", "applier", "full"]),
    ] {
        let mut observed = Vec::new();
        for email in emails {
            api.dynamodb.take_calls();
            let applied = job.apply(&api, &form.clone().set("email", &format!("{email}@example.com"))).await;
            let applying = api.dynamodb.take_calls();
            attach(&api, &applied.expect(303), PDF).await.expect(303);
            let uploading = api.dynamodb.take_calls();
            let observe = |calls: Vec<RecordedCall>| {
                let writes =
                    |call: &RecordedCall| call.request["TransactItems"].as_array().map_or(1, Vec::len);
                calls.into_iter().map(|call| (writes(&call), call.operation)).collect::<Vec<_>>()
            };
            observed.push([applying, uploading].map(observe));
        }
        let transactions = observed[0][0].iter().filter(|(_, operation)| operation == "TransactWriteItems");
        assert_eq!(transactions.count(), 1);
        for (email, calls) in emails.iter().zip(&observed) {
            assert_eq!(calls, &observed[0], "{email}");
        }
    }
    // The additional writes have left nothing.
    assert!(api.stored_items().await.keys().all(|(_, range)| !range.starts_with("NOTHING")));
}

#[tokio::test]
async fn a_form_on_another_site_cannot_apply() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let apply = |site: &'static str| {
        let path = format!("{}/apply", job.path);
        let request = Browser::new(&api).request(Method::POST, &path).header("sec-fetch-site", site);
        request.body(FORM, form("Ada", "ada@example.com").encoded()).send()
    };
    api.dynamodb.take_calls();
    let refused = apply("cross-site").await.expect(403);
    assert!(refused.header("content-type").starts_with("text/html") && refused.text.contains("form"));
    assert!(api.dynamodb.take_calls().is_empty());
    for site in ["same-origin", "same-site", "none"] {
        apply(site).await.expect(303);
    }
    assert_eq!(job.applicants(&api).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_applications_by_one_person_create_one_candidate() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let form = ada();
    let responses = join_all((0..20).map(|_| job.apply(&api, &form))).await;
    assert!(responses.iter().all(|response| response.status == 303), "{responses:?}");
    let candidate = find(&api, "ada@example.com").await;
    assert_eq!(
        kinds(&candidate),
        [vec!["reapplied"; 19], vec!["applied", "consent_changed", "created"]].concat()
    );
    assert_eq!(candidate.body["applications"].as_array().unwrap().len(), 1);
    assert_eq!(job.applicants(&api).await, 1);

    let mut jobs = Vec::new();
    for number in 0..6 {
        jobs.push(Job::new(&api, &format!("Job {number}")).await);
    }
    let grace = self::form("Grace", "grace@example.com");
    let responses = join_all(jobs.iter().chain(&jobs).map(|job| job.apply(&api, &grace))).await;
    assert!(responses.iter().all(|response| response.status == 303), "{responses:?}");
    let candidate = find(&api, "grace@example.com").await;
    let counted = |kind: &str| kinds(&candidate).into_iter().filter(|one| *one == kind).count();
    assert_eq!(["applied", "reapplied", "created"].map(counted), [6, 6, 1]);
    for job in &jobs {
        assert_eq!(job.applicants(&api).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_concurrent_applications_create_fifty_applicants() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let forms: Vec<_> = (0..50).map(|n| form(&format!("P{n}"), &format!("p{n}@example.com"))).collect();
    let responses = join_all(forms.iter().map(|form| job.apply(&api, form))).await;
    assert!(responses.iter().all(|response| response.status == 303), "{responses:?}");
    assert_eq!(job.applicants(&api).await, 50);
    assert_eq!(list(&api, "?limit=100&stage=applied").await.len(), 50);
}

/// The confirmed applications are stored, and the others are not.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn applications_are_atomic_while_a_role_is_paused_or_closed() {
    let api = TestApi::new().await;
    for round in 0..12 {
        let job = Job::new(&api, "Analyst").await;
        let role = format!("/api/v1/roles/{}", job.role);
        let forms: Vec<_> = (0..3).map(|n| form("P", &format!("p{n}-{round}@example.com"))).collect();
        let applying = join_all(forms.iter().map(|form| job.apply(&api, form)));
        let (responses, refusal) = if round % 2 == 0 {
            let pausing = async { api.request(Method::POST, &format!("{role}/pause")).send().await };
            (join(applying, pausing).await.0, 422)
        } else {
            let closing = async { api.delete(&role).await };
            (join(applying, closing).await.0, 410)
        };
        assert!(responses.iter().all(|response| [303, refusal].contains(&response.status)), "{responses:?}");
        let confirmed = responses.iter().filter(|response| response.status == 303).count();
        assert_eq!(job.applicants(&api).await, confirmed as u64);
        job.apply(&api, &form("Late", "late@example.com")).await.expect(refusal);
    }
}

/// The role is paused between the read and the write of an application.
#[tokio::test]
async fn an_application_is_rejected_if_the_role_is_paused_during_the_request() {
    let api = std::sync::Arc::new(TestApi::new().await);
    let job = Job::new(&api, "Analyst").await;
    let (api_clone, pause) = (api.clone(), format!("/api/v1/roles/{}/pause", job.role));
    api.dynamodb.run_before("TransactWriteItems", async move {
        api_clone.request(Method::POST, &pause).send().await.expect(200);
    });
    let page = job.apply(&api, &ada()).await.expect(422);
    assert!(page.text.contains("is not accepting applications for this job at the moment"));
    assert_eq!((job.applicants(&api).await, list(&api, "").await.len()), (0, 0));
}

/// The same person applies for another role between the read and the write of an application. The first write creates
/// the candidate.
#[tokio::test]
async fn an_application_uses_a_candidate_created_during_the_request() {
    let api = std::sync::Arc::new(TestApi::new().await);
    let (job, other) = (Job::new(&api, "Analyst").await, Job::new(&api, "Engineer").await);
    let (api_clone, path) = (api.clone(), format!("{}/apply", other.path));
    api.dynamodb.run_before("TransactWriteItems", async move {
        Browser::new(&api_clone).submit(&path, &ada().set("name", "Faster")).await.expect(303);
    });
    job.apply(&api, &ada()).await.expect(303);
    let candidate = find(&api, "ada@example.com").await;
    assert_eq!(kinds(&candidate), ["applied", "applied", "consent_changed", "created"]);
    assert_eq!(candidate.string("/name"), "Faster");
    assert_eq!((job.applicants(&api).await, other.applicants(&api).await), (1, 1));
}

/// From one call on, every call of an application fails. With `response_lost`, that call succeeds, but its response is
/// lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_interrupted_application_writes_all_or_nothing_and_can_be_repeated() {
    let api = TestApi::new().await;
    let (job, other) = (Job::new(&api, "Analyst").await, Job::new(&api, "Engineer").await);
    let mut people = 0;
    for is_known in [false, true] {
        for response_lost in [false, true] {
            let mut failing_call = 0;
            loop {
                let ada = form("Ada", &format!("ada{people}@example.com"));
                people += 1;
                if is_known {
                    other.apply(&api, &ada).await.expect(303);
                }
                let (calls, applicants) = (AtomicUsize::new(0), job.applicants(&api).await);
                api.dynamodb.inject_faults(move |_, _| match calls.fetch_add(1, Ordering::Relaxed) {
                    call if call < failing_call => None,
                    call if call == failing_call && response_lost => Some(Fault::ResponseLost),
                    _ => Some(Fault::Unreachable),
                });
                let response = job.apply(&api, &ada).await;
                api.dynamodb.inject_faults(|_, _| None);
                if response.status == 303 {
                    break;
                }
                assert_eq!(
                    (response.status, response.header("retry-after")),
                    (503, "1"),
                    "{}",
                    response.text
                );
                assert_eq!(response.header("cache-control"), "no-store");
                assert!(
                    !response.text.contains("href=\"/dashboard\""),
                    "candidates do not use the dashboard"
                );
                let all = format!("?limit=100&role_id={}", job.role);
                let listed = list(&api, &all).await.len() as u64;
                assert!(
                    listed == applicants || response_lost && listed == applicants + 1,
                    "call {failing_call} failed"
                );
                job.apply(&api, &ada).await.expect(303);
                let candidate = find(&api, ada.get("email")).await;
                let is_new: &[&str] = &["applied", "consent_changed", "created"];
                let history = if is_known { &[&["applied"], is_new].concat() } else { is_new };
                // A form that was stored although its response was lost is stored once more.
                let stored = listed > applicants;
                let history = if stored { &[&["reapplied"], history].concat() } else { history };
                assert_eq!(kinds(&candidate), history, "call {failing_call} failed");
                assert_eq!(job.applicants(&api).await, applicants + 1, "call {failing_call} failed");
                failing_call += 1;
            }
            assert!(failing_call >= 5, "every call failed once: {failing_call}");
        }
    }
}

#[tokio::test]
async fn tenants_are_isolated() {
    let api = TestApi::new().await;
    let tenants = [(ACME, Mode::Live), (ACME, Mode::Test), (GLOBEX, Mode::Live)];
    let mut jobs = Vec::new();
    for (demo, mode) in tenants {
        jobs.push((demo, mode, Job::of(&api, demo, mode, "Analyst").await));
    }
    let secret = Job::new(&api, "Only at Acme").await;
    let paths: Vec<_> = jobs.iter().map(|(_, _, job)| job.path.as_str()).collect();
    assert_eq!(paths, ["/careers/acme/analyst", "/careers/acme-test/analyst", "/careers/globex/analyst"]);
    let browser = Browser::new(&api);
    let applied = secret.apply(&api, &ada()).await.expect(303);
    let ticket = Form::of_location(&applied).1.get("ticket").to_owned();

    // Every route, with the job's slug on another tenant's site.
    for site in ["/careers/acme-test", "/careers/globex", "/careers/globex-test", "/careers/nobody"] {
        for page in ["", "?q=acme", "/jobs.json", "/sitemap.xml"] {
            let response = browser.get(&format!("{site}{page}")).await;
            assert!(!response.text.contains("Only at Acme") && !response.text.contains("only-at-acme"));
        }
        api.dynamodb.take_calls();
        let absent = browser.get(&format!("{site}/unknown")).await.expect(404);
        for response in [
            browser.get(&format!("{site}/only-at-acme")).await,
            browser.get(&format!("{site}/only-at-acme/apply?ticket={ticket}")).await,
            browser.get(&format!("{site}/only-at-acme/apply?ticket={ticket}&etag=x")).await,
            browser.submit(&format!("{site}/only-at-acme/apply"), &ada()).await,
        ] {
            assert_eq!(
                (response.status, &response.text),
                (404, &absent.text),
                "{site}: the response is the same as for an unknown job"
            );
        }
        assert!(!api.dynamodb.take_calls().iter().any(is_write));
    }

    // The same person can apply to each tenant, even for jobs with the same slug.
    for (demo, mode, job) in &jobs {
        let form = form(&format!("{demo} {}", mode.as_str()), "jane@example.com");
        job.apply(&api, &form).await.expect(303);
    }
    for (demo, mode, job) in &jobs {
        let request = api.request(Method::GET, "/api/v1/candidates").key(*demo, *mode);
        let listed = request.send().await.expect(200);
        let jane: Vec<_> = listed.body["data"].as_array().unwrap().iter().collect();
        let jane: Vec<_> =
            jane.into_iter().filter(|candidate| candidate["email"] == "jane@example.com").collect();
        assert_eq!(jane.len(), 1);
        assert_eq!(jane[0]["name"], format!("{demo} {}", mode.as_str()));
        let path = format!("/api/v1/candidates/{}", jane[0]["id"]);
        let candidate = api.request(Method::GET, &path).key(*demo, *mode).send().await.expect(200);
        assert_eq!(candidate.body["applications"].as_array().unwrap().len(), 1);
        assert_eq!(candidate.number("/applications/0/role_id"), job.role);
    }

    // A ticket of another tenant or posting, or an invalid ticket, only redirects to the form.
    let [random, until, signature] = ticket.split('.').collect::<Vec<_>>()[..] else { panic!("{ticket}") };
    for (path, ticket) in [
        (&jobs[0].2.path, ticket.clone()),
        (&jobs[1].2.path, ticket.clone()),
        (&jobs[2].2.path, ticket.clone()),
        (&secret.path, String::new()),
        (&secret.path, "x".to_owned()),
        (&secret.path, format!("{random}.{until}")),
        (&secret.path, format!("x{random}.{until}.{signature}")),
        (&secret.path, format!("{random}.9{until}.{signature}")),
        (&secret.path, format!("{random}.{until}.")),
        (&secret.path, format!("{random}.{until}.{}", signature.to_uppercase())),
    ] {
        for more in ["", "&etag=x", "&attached=yes"] {
            api.dynamodb.take_calls();
            let response = browser.get(&format!("{path}/apply?ticket={ticket}{more}")).await.expect(303);
            assert_eq!(response.header("location"), format!("{path}#apply"), "{ticket}{more}");
            assert!(!api.dynamodb.take_calls().iter().any(is_write));
        }
    }
    // A suspended organization accepts no applications.
    api.store()
        .set_suspended(tenant(ACME, Mode::Live).organization, true, api.environment.clock.now())
        .await
        .unwrap();
    secret.apply(&api, &ada()).await.expect(404);
    browser.follow(&applied).await.expect(404);
}
