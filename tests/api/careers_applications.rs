//! Applications on the career pages: what they write, what they refuse, and what they do not tell a stranger.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::{join, join_all};
use http::Method;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{Mode, RoleStatus, Source};
use shared::store::Writes;
use tests::browser::{Browser, FORM, Form, input};
use tests::desk::escaped;
use tests::wire::Fault;
use tests::{ACME, Answer, BASE_URL, GLOBEX, World, tenant};

use crate::careers_resumes::{PDF, send, way_back};
use crate::dashboard_access::writes;

/// A published posting of an open role.
pub(crate) struct Job {
    pub(crate) role: u64,
    pub(crate) posting: u64,
    /// Where candidates find it.
    pub(crate) path: String,
}

impl Job {
    /// Acme's, in live mode.
    pub(crate) async fn new(world: &World, title: &str) -> Self {
        Self::of(world, ACME, Mode::Live, title).await
    }

    pub(crate) async fn of(world: &World, demo: usize, mode: Mode, title: &str) -> Self {
        let body = json!({ "role": { "title": title } });
        let ask = world.request(Method::POST, "/api/v1/quick_post").key(demo, mode);
        let posted = ask.json(&body).send().await.expect(201);
        Self {
            role: posted.number("/role/id"),
            posting: posted.number("/job_posting/id"),
            path: posted.string("/job_posting/public_url").strip_prefix(BASE_URL).unwrap().to_owned(),
        }
    }

    pub(crate) async fn apply(&self, world: &World, form: &Form) -> Answer {
        Browser::new(world).submit(&format!("{}/apply", self.path), form).await
    }

    async fn applicants(&self, world: &World) -> u64 {
        let stats = world.get(&format!("/api/v1/roles/{}/stats", self.role)).await.expect(200);
        let listed = list(world, &format!("?limit=100&role_id={}", self.role)).await;
        assert_eq!(stats.number("/applicants"), listed.len() as u64, "counted, and listed");
        stats.number("/applicants")
    }
}

/// An application as the page's form sends it.
pub(crate) fn form(name: &str, email: &str) -> Form {
    Form::new(&[
        ("name", name),
        ("email", email),
        ("phone", ""),
        ("resume_url", ""),
        ("note", ""),
        ("consent", "yes"),
        ("website", ""),
    ])
}

fn ada() -> Form {
    form("Ada Lovelace", "ada@example.com")
}

pub(crate) async fn list(world: &World, query: &str) -> Vec<Value> {
    let listed = world.get(&format!("/api/v1/candidates{query}")).await.expect(200);
    listed.body["data"].as_array().unwrap().clone()
}

/// Everything about the one candidate with this e-mail address.
pub(crate) async fn find(world: &World, email: &str) -> Answer {
    let mut found = list(world, "?limit=100").await;
    found.retain(|candidate| candidate["email"].as_str().unwrap().eq_ignore_ascii_case(email));
    let [candidate] = found.as_slice() else { panic!("{email} in {found:?}") };
    world.get(&format!("/api/v1/candidates/{}", candidate["id"])).await.expect(200)
}

/// The kinds of a candidate's touchpoints, newest first.
pub(crate) fn kinds(candidate: &Answer) -> Vec<&str> {
    candidate.body["touchpoints"].as_array().unwrap().iter().map(|t| t["kind"].as_str().unwrap()).collect()
}

/// The problems that a page names, each beside its field and in the summary.
fn problems(page: &Answer) -> Vec<(&str, &str)> {
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

#[tokio::test]
async fn an_application_makes_a_candidate_with_all_that_was_written() {
    let world = World::new().await;
    let job = Job::new(&world, "Analyst").await;
    let written = form(" Ada Lovelace ", "Ada@Example.com")
        .set("phone", "+1 (415) 555-0132")
        .set("resume_url", " example.com/cv?x=1 ")
        .set("note", "Hello,\r\n\r\nI <3 engines. ");
    let browser = Browser::new(&world);
    let answer = browser.submit(&format!("{}/apply", job.path), &written).await.expect(303);
    assert!(answer.header("location").starts_with(&format!("{}/apply?ticket=", job.path)));
    assert_eq!((answer.header("cache-control"), answer.header("set-cookie")), ("no-store", ""));
    let thanks = browser.follow(&answer).await.expect(200);
    assert!(thanks.text.contains("Thank you for applying") && thanks.text.contains("Analyst"));
    assert_eq!((thanks.header("cache-control"), thanks.header("set-cookie")), ("no-store", ""));
    assert!(thanks.text.contains("<meta name=\"robots\" content=\"noindex\">"));

    let at = "2026-11-20T09:30:00Z";
    let shown = find(&world, "ada@example.com").await;
    let (id, application) = (shown.number("/id"), shown.number("/applications/0/id"));
    let mut touchpoints = shown.body["touchpoints"].clone();
    for touchpoint in touchpoints.as_array_mut().unwrap() {
        assert!(touchpoint.as_object_mut().unwrap().remove("id").unwrap().is_u64());
    }
    let profile = json!({
        "id": id, "name": "Ada Lovelace", "email": "Ada@Example.com", "phone": "+14155550132",
        "resume_url": "https://example.com/cv?x=1", "stage": "applied", "created_at": at, "updated_at": at,
    });
    let mut expected = profile.clone();
    expected["voice_screens"] = json!([]);
    expected["applications"] = json!([{
        "id": application, "role_id": job.role, "role_title": "Analyst", "status": "active",
        "source": "career_page", "applied_at": at,
    }]);
    expected["touchpoints"] = json!([
        { "kind": "applied", "at": at, "actor": "career page", "detail": {
            "application_id": application, "role_id": job.role, "source": "career_page",
            "submission": {
                "name": "Ada Lovelace", "email": "Ada@Example.com", "phone": "+14155550132",
                "resume_url": "https://example.com/cv?x=1", "note": "Hello,\n\nI <3 engines.",
            },
        } },
        { "kind": "created", "at": at, "actor": "career page", "detail": { "source": "career_page" } },
    ]);
    let mut body = shown.body.clone();
    body["touchpoints"] = touchpoints;
    assert_eq!(body, expected);
    let role = job.role;
    for query in
        ["", "?stage=applied", &format!("?role_id={role}"), &format!("?role_id={role}&stage=applied")]
    {
        let listed = list(&world, query).await;
        assert_eq!((listed.len(), listed.first()), (1, Some(&profile)), "{query}");
    }
    assert!(list(&world, "?stage=screening").await.is_empty());
    assert_eq!(job.applicants(&world).await, 1);
}

#[tokio::test]
async fn everything_wrong_is_said_at_once_beside_its_field_and_what_was_typed_is_kept() {
    let world = World::new().await;
    let job = Job::new(&world, "Analyst").await;
    let hostile = "\"><script>alert(1)</script><x y='&amp;";
    let note = format!("</textarea>{hostile}{}", "x".repeat(5_000));
    let wrong = Form::new(&[
        ("name", &format!("{hostile}{}", "x".repeat(200))),
        ("email", hostile),
        ("phone", hostile),
        ("resume_url", hostile),
        ("note", &note),
    ]);
    world.wire.take();
    let page = job.apply(&world, &wrong).await.expect(422);
    assert!(!world.wire.take().iter().any(writes), "not even the attempt is counted");
    assert_eq!(page.header("cache-control"), "no-store");
    assert_eq!(
        problems(&page),
        [
            ("name", "Your name must be at most 200 characters."),
            ("email", "Your e-mail address must be an e-mail address, such as jane@example.com."),
            (
                "phone",
                "Your phone number must be a phone number with its country code, such as +14155552671."
            ),
            (
                "resume_url",
                "The link to your resume must be an address that begins with http:// or https://."
            ),
            ("note", "Your note must be at most 5000 characters."),
            ("consent", "Tick the box: without it, nobody may keep your application."),
        ]
    );
    for field in ["name", "email", "phone", "resume_url"] {
        assert_eq!(input(&page, field), wrong.get(field));
    }
    assert!(page.text.contains(&format!(">\n{}</textarea>", escaped(&note))), "{}", page.text);
    assert!(!page.text.contains("<script>alert") && !page.text.contains(" checked"));
    assert!(page.text.contains("<title>Not sent yet: "));

    // What is typed right stays, too: the box that was ticked.
    let page = job.apply(&world, &form("", "")).await.expect(422);
    let blank = [("name", "Enter your name."), ("email", "Enter your e-mail address.")];
    assert_eq!(problems(&page), blank);
    assert!(page.text.contains(" checked"));
    let nothing = job.apply(&world, &Form::default()).await.expect(422);
    assert_eq!(problems(&nothing).len(), 3);
    assert!(list(&world, "").await.is_empty());
}

#[tokio::test]
async fn each_field_has_its_limits_and_what_is_within_them_is_taken() {
    let world = World::new().await;
    let job = Job::new(&world, "Analyst").await;
    let label = "b".repeat(61);
    let longest = format!("{}@{label}.{label}.{label}.com", "a".repeat(64));
    assert_eq!(longest.len(), 254);
    let address = |length: usize| format!("https://example.com/{}", "x".repeat(length - 20));
    for (field, value, sentence) in [
        ("name", " ".to_owned(), "Enter your name."),
        ("name", "x".repeat(201), "Your name must be at most 200 characters."),
        (
            "name",
            "A\u{7}da".to_owned(),
            "Your name must not contain control characters other than newline and tab.",
        ),
        ("email", " ".to_owned(), "Enter your e-mail address."),
        ("email", format!("a{longest}"), "Your e-mail address must be at most 254 characters."),
        (
            "email",
            "ada@localhost".to_owned(),
            "Your e-mail address must be an e-mail address, such as jane@example.com.",
        ),
        (
            "phone",
            "0049 30 901820".to_owned(),
            "Your phone number must be a phone number with its country code, such as +14155552671.",
        ),
        ("resume_url", address(2_001), "The link to your resume must be at most 2000 characters."),
        (
            "resume_url",
            "javascript://%0aalert(1)".to_owned(),
            "The link to your resume must be an address that begins with http:// or https://.",
        ),
        (
            "resume_url",
            "javascript:alert(1)".to_owned(),
            "The link to your resume must be an address that begins with http:// or https://.",
        ),
        ("note", "x\r\n".repeat(2_501), "Your note must be at most 5000 characters."),
        (
            "note",
            "a\0b".to_owned(),
            "Your note must not contain control characters other than newline and tab.",
        ),
        ("consent", String::new(), "Tick the box: without it, nobody may keep your application."),
    ] {
        world.wire.take();
        let page = job.apply(&world, &ada().set(field, &value)).await.expect(422);
        assert!(!world.wire.take().iter().any(writes), "{field}");
        assert_eq!(problems(&page), [(field, sentence)]);
    }
    // Lines end in one character once they are ours, and what is around a note is no part of it.
    let note = format!("{}x", "x\r\n".repeat(2_499));
    let name = "é".repeat(200);
    let right = form(&name, &longest).set("resume_url", &address(2_000)).set("note", &note);
    job.apply(&world, &right).await.expect(303);
    let shown = find(&world, &longest).await;
    assert_eq!((shown.string("/name"), shown.string("/resume_url")), (&*name, &*address(2_000)));
    // The address that a link goes on to is no scheme of its own.
    for (typed, kept) in [
        ("HTTP://example.com/cv", "HTTP://example.com/cv"),
        ("example.com", "https://example.com"),
        ("example.com:8443/cv", "https://example.com:8443/cv"),
        ("example.com/?to=https://example.org/cv", "https://example.com/?to=https://example.org/cv"),
    ] {
        let email = format!("{}@example.com", kept.len());
        job.apply(&world, &form("Ada", &email).set("resume_url", typed)).await.expect(303);
        assert_eq!(find(&world, &email).await.string("/resume_url"), kept);
    }
    let kept = shown.string("/touchpoints/0/detail/submission/note");
    assert_eq!((kept.chars().count(), kept.contains('\r')), (4_999, false));
}

#[tokio::test]
async fn a_body_that_is_no_form_of_ours_writes_nothing() {
    let world = World::new().await;
    let job = Job::new(&world, "Analyst").await;
    let path = format!("{}/apply", job.path);
    let browser = Browser::new(&world);
    let right = ada().encoded();
    let long = format!("{right}&x={}", "x".repeat(64 * 1024));
    for (media, body, status) in [
        ("application/json", right.as_str(), 415),
        ("text/plain", &right, 415),
        ("multipart/form-data; boundary=x", &right, 415),
        ("application/x-www-form-urlencodedx", &right, 415),
        (FORM, &long, 413),
    ] {
        world.wire.take();
        let answer = browser.ask(Method::POST, &path).body(media, body.to_owned()).send().await;
        let answer = answer.expect(status);
        assert!(!world.wire.take().iter().any(writes), "{media}");
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
        assert!(answer.text.contains("This form cannot be read"));
        assert!(!answer.text.contains("href=\"/dashboard\""), "candidates have nothing to do there");
    }
    browser.ask(Method::POST, &path).send().await.expect(415);
    assert!(list(&world, "").await.is_empty());

    // Of a field that is there twice the first counts, and bytes that are no text are shown as that.
    let body = [right.as_bytes(), b"&name=Grace&email=grace%40example.com&note=x"].concat();
    browser.ask(Method::POST, &path).body(FORM, body).send().await.expect(303);
    let shown = find(&world, "ada@example.com").await;
    assert_eq!((shown.string("/name"), list(&world, "").await.len()), ("Ada Lovelace", 1));
    let body = b"name=%FF\xFE&email=x%40example.com&consent=yes".to_vec();
    browser.ask(Method::POST, &path).body(FORM, body).send().await.expect(303);
    assert_eq!(find(&world, "x@example.com").await.string("/name"), "\u{fffd}\u{fffd}");
    let body = b"name=Ada&email=a%FF%40example.com&consent=yes".to_vec();
    let answer = browser.ask(Method::POST, &path).body(FORM, body).send().await;
    assert!([303, 422].contains(&answer.status), "{}", answer.text);
}

#[tokio::test]
async fn nobody_applies_where_nobody_can() {
    let world = World::new().await;
    let job = Job::new(&world, "Analyst").await;
    let (role, posting) =
        (format!("/api/v1/roles/{}", job.role), format!("/api/v1/job_postings/{}", job.posting));
    let nothing_comes_of_it = async |status: u16, words: &str| {
        world.wire.take();
        for form in [ada(), ada().set("website", "x"), Form::default()] {
            let answer = job.apply(&world, &form).await.expect(status);
            assert!(answer.text.contains(words), "{}", answer.text);
            assert!(!answer.text.contains("<form "), "there is no other try");
        }
        assert!(!world.wire.take().iter().any(writes));
    };
    world.request(Method::POST, &format!("{role}/pause")).send().await.expect(200);
    nothing_comes_of_it(422, "takes no applications for this job at the moment").await;
    world.request(Method::POST, &format!("{role}/resume")).send().await.expect(200);
    world.request(Method::POST, &format!("{posting}/unpublish")).send().await.expect(200);
    nothing_comes_of_it(410, "This job is no longer offered").await;
    world.request(Method::POST, &format!("{posting}/publish")).send().await.expect(200);
    world.delete(&role).await.expect(200);
    nothing_comes_of_it(410, "This job is no longer offered").await;
    let unknown = Job { path: "/careers/acme/unknown".to_owned(), ..job };
    assert!(unknown.apply(&world, &ada()).await.expect(404).text.contains("no job at this address"));
    let nobody = Job { path: "/careers/nobody/analyst".to_owned(), ..unknown };
    assert!(nobody.apply(&world, &ada()).await.expect(404).text.contains("no career page at this address"));
    assert!(list(&world, "").await.is_empty());
}

#[tokio::test]
async fn a_known_candidate_applies_and_stays_who_they_are() {
    let world = World::new().await;
    let (job, other) = (Job::new(&world, "Analyst").await, Job::new(&world, "Engineer").await);
    let jane = json!({
        "name": "Jane", "email": "Jane@Example.com", "phone": "+14155550100",
        "resume_url": "https://example.com/jane", "role_id": other.role,
    });
    let created = world.post("/api/v1/candidates", jane).await.expect(201);
    let path = format!("/api/v1/candidates/{}", created.number("/id"));
    let before = world.get(&path).await.expect(200);
    let written = form("Somebody Else", "jane@EXAMPLE.com")
        .set("phone", "+14155550999")
        .set("resume_url", "https://evil.example/cv")
        .set("note", "I am Jane");
    world.hands.set("2026-11-20T10:00:00Z");
    job.apply(&world, &written).await.expect(303);
    let after = world.get(&path).await.expect(200);
    for field in ["id", "name", "email", "phone", "resume_url", "stage", "created_at"] {
        assert_eq!(after.body[field], before.body[field], "{field}");
    }
    assert_eq!(after.string("/updated_at"), "2026-11-20T10:00:00Z");
    assert_eq!(after.string("/applications/0/source"), "career_page");
    assert_eq!(after.number("/applications/0/role_id"), job.role);
    assert_eq!(after.body["applications"][1], before.body["applications"][0]);
    assert_eq!(kinds(&after), ["applied", "applied", "created"]);
    assert_eq!(after.string("/touchpoints/0/actor"), "career page");
    assert_eq!(
        after.body["touchpoints"][0]["detail"]["submission"],
        json!({
            "name": "Somebody Else", "email": "jane@EXAMPLE.com", "phone": "+14155550999",
            "resume_url": "https://evil.example/cv", "note": "I am Jane",
        })
    );
    let stale = world.request(Method::PATCH, &path).header("if-match", before.header("etag"));
    stale.json(&json!({ "name": "J" })).send().await.expect(412);
    assert_eq!((job.applicants(&world).await, other.applicants(&world).await), (1, 1));

    // Twice for one role is once.
    world.hands.set("2026-11-20T11:00:00Z");
    for again in [&job, &other] {
        world.wire.take();
        again.apply(&world, &written.clone().set("note", "Again")).await.expect(303);
        let written: Vec<_> = world.wire.take().into_iter().filter(writes).collect();
        let written: Vec<_> = written.iter().map(|call| call.operation.as_str()).collect();
        assert_eq!(written, ["UpdateItem"], "the attempt is counted, and that is all");
    }
    let shown = world.get(&path).await.expect(200);
    assert_eq!((&shown.text, shown.header("etag")), (&after.text, after.header("etag")));
    assert_eq!(job.applicants(&world).await, 1);
}

#[tokio::test]
async fn a_candidate_at_an_end_applies_and_stays_there() {
    let world = World::new().await;
    let (job, other) = (Job::new(&world, "Analyst").await, Job::new(&world, "Engineer").await);
    for (end, status) in [("reject", "rejected"), ("hire", "hired")] {
        let email = format!("{end}@example.com");
        job.apply(&world, &form("Jane", &email)).await.expect(303);
        let path = format!("/api/v1/candidates/{}", find(&world, &email).await.number("/id"));
        world.post(&format!("{path}/{end}"), json!({})).await.expect(200);
        other.apply(&world, &form("Jane", &email)).await.expect(303);
        let shown = world.get(&path).await.expect(200);
        assert_eq!(shown.string("/stage"), status);
        assert_eq!(
            (shown.number("/applications/0/role_id"), shown.body["applications"][2].is_null()),
            (other.role, true)
        );
        assert_eq!(shown.string("/applications/1/status"), status);
        let listed = list(&world, &format!("?role_id={}&stage={status}", other.role)).await;
        assert_eq!(listed.len(), 1, "under the stage where the candidate stands");
    }
    assert_eq!((job.applicants(&world).await, other.applicants(&world).await), (2, 2));
}

/// Somebody with as many applications as there can be.
async fn make_full(world: &World, job: &Job, email: &str) {
    job.apply(world, &form("Busy", email)).await.expect(303);
    let (acme, id) = (tenant(ACME, Mode::Live), find(world, email).await.number("/id"));
    let before = world.store().find_candidate(acme, Id::new(id).unwrap()).await.unwrap().unwrap();
    let mut file = before.clone();
    for number in 2..=200 {
        let (id, now) = (Id::new(number).unwrap(), before.candidate.created_at);
        file = file.apply(id, id, RoleStatus::Open, Source::Api, now).unwrap();
    }
    let mut writes = Writes::new(acme);
    writes.replace_candidate(&before, &file).unwrap();
    world.store().commit(writes).await.unwrap();
}

/// What an observer sees of an answer: everything but what is random in it.
fn seen(answer: &Answer, ticket: &str) -> (u16, Vec<(String, String)>, String) {
    let mut parts = ticket.split('.');
    let (random, signature) = (parts.next().unwrap(), parts.nth(1).unwrap());
    let mut secrets = vec![
        (input(answer, "policy"), "POLICY"),
        (input(answer, "x-amz-signature"), "AMZ"),
        (random.to_owned(), "RANDOM"),
        (signature.to_owned(), "SIGNATURE"),
        (answer.header("x-request-id").to_owned(), "REQUEST"),
    ];
    secrets.retain(|(secret, _)| !secret.is_empty());
    let masked =
        |text: &str| secrets.iter().fold(text.to_owned(), |text, (secret, mask)| text.replace(secret, mask));
    let headers =
        answer.headers.iter().map(|(name, value)| (name.to_string(), masked(value.to_str().unwrap())));
    (answer.status, headers.collect(), masked(&answer.text))
}

/// Applies and sends files, one of which is none; all that can be seen on the way.
async fn whole_way(world: &World, job: &Job, form: &Form) -> Vec<(u16, Vec<(String, String)>, String)> {
    let browser = Browser::new(world);
    let applied = job.apply(world, form).await;
    let ticket = Form::of_location(&applied).1.get("ticket").to_owned();
    let thanks = browser.follow(&applied).await;
    let early = browser.get(&format!("{}&etag=x", applied.header("location"))).await.expect(422);
    let mut answers = vec![applied, thanks, early];
    for content in [&b"<html>"[..], PDF, PDF] {
        let form = browser.get(answers[0].header("location")).await.expect(200);
        let sent = send(&form, content).await.expect(303);
        let back = browser.get(&way_back(&sent)).await;
        let end = if back.status == 303 { Some(browser.follow(&back).await) } else { None };
        answers.extend([form, sent, back].into_iter().chain(end));
    }
    assert!(answers.last().unwrap().text.contains("and so has your resume"));
    answers.iter().map(|answer| seen(answer, &ticket)).collect()
}

#[tokio::test]
async fn a_stranger_learns_of_nobody() {
    let world = World::new().await;
    let (job, other) = (Job::new(&world, "Analyst").await, Job::new(&world, "Engineer").await);
    for email in ["known@example.com", "rejected@example.com", "hired@example.com"] {
        other.apply(&world, &form("Known", email)).await.expect(303);
    }
    for (email, end) in [("rejected@example.com", "reject"), ("hired@example.com", "hire")] {
        let id = find(&world, email).await.number("/id");
        world.post(&format!("/api/v1/candidates/{id}/{end}"), json!({})).await.expect(200);
    }
    make_full(&world, &other, "full@example.com").await;
    job.apply(&world, &form("Applied", "applied@example.com")).await.expect(303);
    let expected = whole_way(&world, &job, &form("New", "new@example.com")).await;
    assert_eq!(expected.len(), 14);
    for (who, form) in [
        ("another", form("New", "another@example.com")),
        ("known", form("New", "known@example.com")),
        ("in another case", form("New", "KNOWN@example.com")),
        ("rejected", form("New", "rejected@example.com")),
        ("hired", form("New", "hired@example.com")),
        ("full", form("New", "full@example.com")),
        ("applied", form("New", "applied@example.com")),
        ("new a moment ago", form("New", "new@example.com")),
        ("not a person", form("New", "robot@example.com").set("website", "https://spam.example")),
    ] {
        for (step, (one, other)) in whole_way(&world, &job, &form).await.iter().zip(&expected).enumerate() {
            assert_eq!(one, other, "{who}, step {step}");
        }
    }
    // The same holds for what is refused: a problem is one of the form, never of who is known.
    let refused = |email: &'static str| {
        let (job, world) = (&job, &world);
        async move { job.apply(world, &form("", email)).await.expect(422).text.replace(email, "EMAIL") }
    };
    assert_eq!(refused("known@example.com").await, refused("stranger@example.com").await);
    assert_eq!(find(&world, "full@example.com").await.body["applications"][0]["role_id"], other.role);
}

#[tokio::test]
async fn who_fills_in_what_people_do_not_see_is_thanked_and_forgotten() {
    let world = World::new().await;
    let job = Job::new(&world, "Analyst").await;
    assert!(Browser::new(&world).get(&job.path).await.text.contains("aria-hidden=\"true\""));
    world.wire.take();
    for website in ["https://spam.example", " "] {
        whole_way(&world, &job, &ada().set("website", website)).await;
    }
    let written: Vec<_> = world.wire.take().into_iter().filter(writes).collect();
    let written: Vec<_> = written.iter().map(|call| call.operation.as_str()).collect();
    assert_eq!(written, ["UpdateItem"; 2], "the attempts are counted, and that is all");
    assert!(list(&world, "").await.is_empty());
    assert_eq!(job.applicants(&world).await, 0);
}

#[tokio::test]
async fn an_address_sends_a_hundred_applications_an_hour() {
    let world = World::new().await;
    let job = Job::new(&world, "Analyst").await;
    let apply = |source: &'static str, form: Form| {
        let ask = Browser::new(&world).ask(Method::POST, &format!("{}/apply", job.path)).from(source);
        ask.body(FORM, form.encoded()).send()
    };
    let (one, network) = ("198.51.100.7", "2001:db8:1:2::1");
    for source in [one, network] {
        let ada = form("Ada", &format!("ada@{}.example", source.len()));
        // Others were at the same candidate: that was no attempt of its own.
        let conflicts = AtomicUsize::new(2);
        world.wire.play(move |operation, _| {
            let is_left = |left: usize| left.checked_sub(1);
            (operation == "TransactWriteItems"
                && conflicts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_left).is_ok())
            .then_some(Fault::Conflict)
        });
        apply(source, ada.clone()).await.expect(303);
        world.wire.play(|_, _| None);
        for _ in 0..3 {
            apply(source, ada.clone().set("name", "")).await.expect(422);
        }
        // A robot's count, too: each is given a place to upload to.
        apply(source, ada.clone().set("website", "x")).await.expect(303);
        let rest = join_all((2..100).map(|_| apply(source, ada.clone()))).await;
        assert!(rest.iter().all(|answer| answer.status == 303));
    }
    for (source, admitted) in [
        (one, false),
        (network, false),
        ("2001:db8:1:2:ffff::9", false),
        ("2001:db8:1:3::1", true),
        ("198.51.100.8", true),
    ] {
        let answer = apply(source, form("Grace", &format!("grace@{}.example", source.len()))).await;
        assert_eq!(answer.status, if admitted { 303 } else { 429 }, "{source}");
        if !admitted {
            assert_eq!((answer.header("retry-after"), answer.header("cache-control")), ("1800", "no-store"));
            assert!(answer.text.contains("try again in 30 minutes"), "{}", answer.text);
            apply(source, ada().set("website", "x")).await.expect(429);
            // What is wrong with a form is said all the same.
            apply(source, Form::default()).await.expect(422);
        }
    }
    assert_eq!(job.applicants(&world).await, 4);
    world.hands.set("2026-11-20T09:59:30Z");
    let late = apply(one, ada()).await.expect(429);
    assert!(late.header("retry-after") == "30" && late.text.contains("try again in 1 minute."));
    world.hands.set("2026-11-20T10:00:00Z");
    apply(one, ada()).await.expect(303);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_crowd_at_one_address_exactly_a_hundred_get_in() {
    let world = World::new().await;
    let job = Job::new(&world, "Analyst").await;
    job.apply(&world, &ada()).await.expect(303);
    let form = ada();
    let answers = join_all((0..130).map(|_| job.apply(&world, &form))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 303).count(), 99);
    assert_eq!(answers.iter().filter(|answer| answer.status == 429).count(), 31);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_person_many_times_at_once_is_one_candidate() {
    let world = World::new().await;
    let job = Job::new(&world, "Analyst").await;
    let form = ada();
    let answers = join_all((0..20).map(|_| job.apply(&world, &form))).await;
    assert!(answers.iter().all(|answer| answer.status == 303), "{answers:?}");
    let shown = find(&world, "ada@example.com").await;
    assert_eq!(kinds(&shown), ["applied", "created"]);
    assert_eq!(shown.body["applications"].as_array().unwrap().len(), 1);
    assert_eq!(job.applicants(&world).await, 1);

    let mut jobs = Vec::new();
    for number in 0..6 {
        jobs.push(Job::new(&world, &format!("Job {number}")).await);
    }
    let grace = self::form("Grace", "grace@example.com");
    let answers = join_all(jobs.iter().chain(&jobs).map(|job| job.apply(&world, &grace))).await;
    assert!(answers.iter().all(|answer| answer.status == 303), "{answers:?}");
    let shown = find(&world, "grace@example.com").await;
    assert_eq!(kinds(&shown), [vec!["applied"; 6], vec!["created"]].concat());
    for job in &jobs {
        assert_eq!(job.applicants(&world).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_people_at_once_are_fifty_applicants() {
    let world = World::new().await;
    let job = Job::new(&world, "Analyst").await;
    let forms: Vec<_> = (0..50).map(|n| form(&format!("P{n}"), &format!("p{n}@example.com"))).collect();
    let answers = join_all(forms.iter().map(|form| job.apply(&world, form))).await;
    assert!(answers.iter().all(|answer| answer.status == 303), "{answers:?}");
    assert_eq!(job.applicants(&world).await, 50);
    assert_eq!(list(&world, "?limit=100&stage=applied").await.len(), 50);
}

/// Whoever was thanked has applied, and whoever was not has not.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn applying_while_a_role_is_paused_or_closed_is_one_or_the_other() {
    let world = World::new().await;
    for round in 0..12 {
        let job = Job::new(&world, "Analyst").await;
        let role = format!("/api/v1/roles/{}", job.role);
        let forms: Vec<_> = (0..3).map(|n| form("P", &format!("p{n}-{round}@example.com"))).collect();
        let applying = join_all(forms.iter().map(|form| job.apply(&world, form)));
        let (answers, refusal) = if round % 2 == 0 {
            let pausing = async { world.request(Method::POST, &format!("{role}/pause")).send().await };
            (join(applying, pausing).await.0, 422)
        } else {
            let closing = async { world.delete(&role).await };
            (join(applying, closing).await.0, 410)
        };
        assert!(answers.iter().all(|answer| [303, refusal].contains(&answer.status)), "{answers:?}");
        let thanked = answers.iter().filter(|answer| answer.status == 303).count();
        assert_eq!(job.applicants(&world).await, thanked as u64);
        job.apply(&world, &form("Late", "late@example.com")).await.expect(refusal);
    }
}

/// The role is paused between what an application has read and what it writes.
#[tokio::test]
async fn a_pause_in_the_midst_of_an_application_refuses_it() {
    let world = std::sync::Arc::new(World::new().await);
    let job = Job::new(&world, "Analyst").await;
    let (there, pause) = (world.clone(), format!("/api/v1/roles/{}/pause", job.role));
    world.wire.before("TransactWriteItems", async move {
        there.request(Method::POST, &pause).send().await.expect(200);
    });
    let page = job.apply(&world, &ada()).await.expect(422);
    assert!(page.text.contains("takes no applications for this job at the moment"));
    assert_eq!((job.applicants(&world).await, list(&world, "").await.len()), (0, 0));
}

/// Another copy of the same application arrives in the midst of it: the first of the two is the one.
#[tokio::test]
async fn the_same_person_in_the_midst_of_an_application_is_met() {
    let world = std::sync::Arc::new(World::new().await);
    let (job, other) = (Job::new(&world, "Analyst").await, Job::new(&world, "Engineer").await);
    let (there, path) = (world.clone(), format!("{}/apply", other.path));
    world.wire.before("TransactWriteItems", async move {
        Browser::new(&there).submit(&path, &ada().set("name", "Faster")).await.expect(303);
    });
    job.apply(&world, &ada()).await.expect(303);
    let shown = find(&world, "ada@example.com").await;
    assert_eq!(kinds(&shown), ["applied", "applied", "created"]);
    assert_eq!(shown.string("/name"), "Faster");
    assert_eq!((job.applicants(&world).await, other.applicants(&world).await), (1, 1));
}

/// From one of its calls on, nothing of an application gets through, or only that call, unheard.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_application_that_is_cut_off_leaves_nothing_half_made_and_can_be_repeated() {
    let world = World::new().await;
    let (job, other) = (Job::new(&world, "Analyst").await, Job::new(&world, "Engineer").await);
    let mut people = 0;
    for is_known in [false, true] {
        for unheard in [false, true] {
            let mut cut = 0;
            loop {
                let ada = form("Ada", &format!("ada{people}@example.com"));
                people += 1;
                if is_known {
                    other.apply(&world, &ada).await.expect(303);
                }
                let (calls, applicants) = (AtomicUsize::new(0), job.applicants(&world).await);
                world.wire.play(move |_, _| match calls.fetch_add(1, Ordering::Relaxed) {
                    call if call < cut => None,
                    call if call == cut && unheard => Some(Fault::AnswerLost),
                    _ => Some(Fault::Unreachable),
                });
                let answer = job.apply(&world, &ada).await;
                world.wire.play(|_, _| None);
                if answer.status == 303 {
                    break;
                }
                assert_eq!((answer.status, answer.header("retry-after")), (503, "1"), "{}", answer.text);
                assert_eq!(answer.header("cache-control"), "no-store");
                assert!(!answer.text.contains("href=\"/dashboard\""), "candidates have nothing to do there");
                let all = format!("?limit=100&role_id={}", job.role);
                let half = list(&world, &all).await.len() as u64;
                assert!(half == applicants || unheard && half == applicants + 1, "cut at {cut}");
                job.apply(&world, &ada).await.expect(303);
                let shown = find(&world, ada.get("email")).await;
                let history: &[&str] =
                    if is_known { &["applied", "applied", "created"] } else { &["applied", "created"] };
                assert_eq!(kinds(&shown), history, "cut at {cut}");
                assert_eq!(job.applicants(&world).await, applicants + 1, "cut at {cut}");
                cut += 1;
            }
            assert!(cut >= 5, "each call was cut off once: {cut}");
        }
    }
}

#[tokio::test]
async fn what_is_one_tenants_is_nobody_elses() {
    let world = World::new().await;
    let tenants = [(ACME, Mode::Live), (ACME, Mode::Test), (GLOBEX, Mode::Live)];
    let mut jobs = Vec::new();
    for (demo, mode) in tenants {
        jobs.push((demo, mode, Job::of(&world, demo, mode, "Analyst").await));
    }
    let secret = Job::new(&world, "Only at Acme").await;
    let paths: Vec<_> = jobs.iter().map(|(_, _, job)| job.path.as_str()).collect();
    assert_eq!(paths, ["/careers/acme/analyst", "/careers/acme-test/analyst", "/careers/globex/analyst"]);
    let browser = Browser::new(&world);
    let applied = secret.apply(&world, &ada()).await.expect(303);
    let ticket = Form::of_location(&applied).1.get("ticket").to_owned();

    // Each route, at another tenant's address.
    for portal in ["/careers/acme-test", "/careers/globex", "/careers/globex-test", "/careers/nobody"] {
        for page in ["", "?q=acme", "/jobs.json", "/sitemap.xml"] {
            let answer = browser.get(&format!("{portal}{page}")).await;
            assert!(!answer.text.contains("Only at Acme") && !answer.text.contains("only-at-acme"));
        }
        world.wire.take();
        let absent = browser.get(&format!("{portal}/unknown")).await.expect(404);
        for answer in [
            browser.get(&format!("{portal}/only-at-acme")).await,
            browser.get(&format!("{portal}/only-at-acme/apply?ticket={ticket}")).await,
            browser.get(&format!("{portal}/only-at-acme/apply?ticket={ticket}&etag=x")).await,
            browser.submit(&format!("{portal}/only-at-acme/apply"), &ada()).await,
        ] {
            assert_eq!((answer.status, &answer.text), (404, &absent.text), "{portal}: like what never was");
        }
        assert!(!world.wire.take().iter().any(writes));
    }

    // The same person at the same slug of each is a candidate of each.
    for (demo, mode, job) in &jobs {
        let form = form(&format!("{demo} {}", mode.as_str()), "jane@example.com");
        job.apply(&world, &form).await.expect(303);
    }
    for (demo, mode, job) in &jobs {
        let ask = world.request(Method::GET, "/api/v1/candidates").key(*demo, *mode);
        let listed = ask.send().await.expect(200);
        let jane: Vec<_> = listed.body["data"].as_array().unwrap().iter().collect();
        let jane: Vec<_> =
            jane.into_iter().filter(|candidate| candidate["email"] == "jane@example.com").collect();
        assert_eq!(jane.len(), 1);
        assert_eq!(jane[0]["name"], format!("{demo} {}", mode.as_str()));
        let path = format!("/api/v1/candidates/{}", jane[0]["id"]);
        let shown = world.request(Method::GET, &path).key(*demo, *mode).send().await.expect(200);
        assert_eq!(shown.body["applications"].as_array().unwrap().len(), 1);
        assert_eq!(shown.number("/applications/0/role_id"), job.role);
    }

    // A ticket of another tenant or posting, or one that is nobody's, leads to the form and to nothing else.
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
            world.wire.take();
            let answer = browser.get(&format!("{path}/apply?ticket={ticket}{more}")).await.expect(303);
            assert_eq!(answer.header("location"), format!("{path}#apply"), "{ticket}{more}");
            assert!(!world.wire.take().iter().any(writes));
        }
    }
    // A suspended organization takes nothing.
    world.store().set_suspended(tenant(ACME, Mode::Live).organization, true).await.unwrap();
    secret.apply(&world, &ada()).await.expect(404);
    browser.follow(&applied).await.expect(404);
}
