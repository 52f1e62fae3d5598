//! The career page settings: an organization's branding on its career pages.

use shared::model::Name;
use tests::browser::{Browser, input};
use tests::dashboard::{PNG, escaped, owner};
use tests::{ACME, BASE_URL, GLOBEX, Response, TestApi};

use crate::careers_applications::Job;
use crate::dashboard_access::is_write;

const PATH: &str = "/dashboard/settings/career-page";

/// The fields of the form, in order.
type Fields<'f> = [(&'static str, &'f str); 4];

const VALID: Fields<'static> = [
    ("name", "Acme Rockets"),
    ("introduction", "We build\r\nrockets."),
    ("accent", "#2450D3"),
    ("logo_url", "https://cdn.example:8443/logo.png?v=1"),
];

fn with<'f>(field: &str, value: &'f str) -> Fields<'f> {
    VALID.map(|(name, valid)| (name, if name == field { value } else { valid }))
}

/// Returns the values in the form.
fn form_values(page: &Response) -> [String; 4] {
    let introduction = page.text.split("name=\"introduction\"").nth(1).unwrap();
    let introduction = introduction.split_once(">\n").unwrap().1.split("</textarea>").next().unwrap();
    [input(page, "name"), introduction.to_owned(), input(page, "accent"), input(page, "logo_url")]
}

async fn owner_browser(api: &TestApi, demo: usize) -> Browser<'_> {
    Browser::with_session(api, demo, &owner(api, demo).await).await
}

#[tokio::test]
async fn saved_branding_appears_in_the_form_and_on_the_pages_of_the_same_mode() {
    let api = TestApi::new().await;
    let (browser, visitor) = (owner_browser(&api, ACME).await, Browser::new(&api));
    let job = Job::new(&api, "Analyst").await;
    let form = browser.get(PATH).await.expect(200);
    assert_eq!(form_values(&form), ["Acme", "", "", ""].map(str::to_owned));
    assert!(form.text.contains("/careers/acme\""));
    let plain = visitor.get("/careers/acme").await.expect(200);
    assert!(plain.text.contains("<h1>Openings at Acme</h1>") && !plain.text.contains("<style>"));
    let others = ["/careers/acme-test", "/careers/globex", "/careers/globex-test"];
    let mut before = Vec::new();
    for path in others {
        before.push(visitor.get(path).await.expect(200).text);
    }

    let saved = browser.post(PATH, &VALID).await.expect(303);
    assert_eq!(saved.header("location"), format!("{PATH}?done=career-page-changed"));
    let form = browser.follow(&saved).await.expect(200);
    let kept = ["Acme Rockets", "We build rockets.", "#2450d3", VALID[3].1];
    assert_eq!(form_values(&form), kept.map(str::to_owned));
    let logo = format!("<img src=\"{}\" alt=\"\"", VALID[3].1);
    for path in ["/careers/acme", &job.path, "/careers/acme/unknown"] {
        let page = visitor.get(path).await;
        assert!(page.text.contains("Acme Rockets") && !page.text.contains(">Acme<"), "{path}");
        assert!(page.text.contains(&logo) && page.text.contains(":root{--accent:#2450d3"), "{path}");
        let policy = page.header("content-security-policy");
        assert!(policy.contains("img-src 'self' https://cdn.example:8443; "), "{policy}");
        assert!(policy.contains("style-src 'self' 'sha256-"), "{policy}");
    }
    let page = visitor.get("/careers/acme").await.expect(200);
    assert!(page.text.contains("<p class=\"lead\" dir=\"auto\">We build rockets.</p>"));
    assert!(visitor.get("/careers/acme/jobs.json").await.body["organization"] == "Acme Rockets");
    let rejected = job.apply(&api, &tests::browser::Form::default()).await.expect(422);
    assert!(rejected.text.contains("How Acme Rockets uses your data"));
    for (path, before) in others.iter().zip(&before) {
        assert_eq!(&visitor.get(path).await.text, before, "{path}");
    }

    // Test mode and other organizations have their own branding.
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    let form = browser.get(PATH).await.expect(200);
    assert_eq!(form_values(&form)[1..], ["", "", ""].map(str::to_owned));
    assert!(form.text.contains("/careers/acme-test\""));
    browser.post(PATH, &with("name", "Acme on trial")).await.expect(303);
    assert!(visitor.get("/careers/acme-test").await.text.contains("Openings at Acme on trial"));
    owner_browser(&api, GLOBEX).await.post(PATH, &with("name", "Globex Ltd")).await.expect(303);
    assert!(visitor.get("/careers/globex").await.text.contains("Openings at Globex Ltd"));
    assert!(visitor.get("/careers/acme").await.text.contains("Openings at Acme Rockets"));

    // All fields except the name can be cleared.
    let browser = owner_browser(&api, ACME).await;
    let bare = [("name", "Acme"), ("introduction", " "), ("accent", ""), ("logo_url", "")];
    browser.post(PATH, &bare).await.expect(303);
    assert!(!visitor.get("/careers/acme").await.text.contains("<style>"));
    assert_eq!(form_values(&browser.get(PATH).await), ["Acme", "", "", ""].map(str::to_owned));
}

#[tokio::test]
async fn the_colour_is_typed_or_picked() {
    let api = TestApi::new().await;
    let browser = owner_browser(&api, ACME).await;
    let page = browser.get(PATH).await.expect(200);
    assert!(page.text.contains("name=\"accent_picker\" type=\"color\" value=\"#2450d3\""), "{}", page.text);
    // What the picker was opened with, what it says, what was typed, and what is saved.
    for (opened, picked, typed, saved) in [
        ("#2450d3", "#2450d3", "", ""),
        ("#2450d3", "#aa0000", "", "#aa0000"),
        ("#aa0000", "#aa0000", "#00663a", "#00663a"),
        ("#00663A", "#00663a", "#00663a", "#00663a"),
        ("#00663a", "#9b1c4a", "#00663a", "#9b1c4a"),
        ("", "", "#00663a", "#00663a"),
    ] {
        let fields =
            [("name", "Acme"), ("accent", typed), ("accent_picker", picked), ("accent_opened", opened)];
        browser.post(PATH, &fields).await.expect(303);
        let page = browser.get(PATH).await.expect(200);
        assert_eq!(input(&page, "accent"), saved, "{opened} {picked} {typed}");
        let expected = if saved.is_empty() { "#2450d3" } else { saved };
        assert_eq!(
            (input(&page, "accent_picker"), input(&page, "accent_opened")),
            (expected.into(), expected.into())
        );
    }
    // A colour that is too light is refused, and the form keeps it.
    let fields =
        [("name", "Acme"), ("accent", ""), ("accent_picker", "#ffff00"), ("accent_opened", "#2450d3")];
    let page = browser.post(PATH, &fields).await.expect(422);
    assert_eq!(input(&page, "accent"), "#ffff00");
}

#[tokio::test]
async fn problems_are_shown_beside_their_fields_and_typed_values_are_kept() {
    let api = TestApi::new().await;
    let (browser, visitor) = (owner_browser(&api, ACME).await, Browser::new(&api));
    browser.post(PATH, &VALID).await.expect(303);
    let before = visitor.get("/careers/acme").await.text;
    let (long_name, long_words) = ("x".repeat(201), "x".repeat(601));
    let long_logo = format!("https://example.com/{}", "x".repeat(1_981));
    for (field, value, sentence) in [
        ("name", " ", "The name can't be blank."),
        ("name", &long_name, "The name must be at most 200 characters."),
        ("introduction", &long_words, "The introduction must be at most 600 characters."),
        (
            "accent",
            "#ffcc00",
            "The colour must be darker: its contrast with white is 1.5, but text needs at least 4.5.",
        ),
        ("accent", "blue", "The colour must be a colour such as #2450d3."),
        ("accent", "#2450d3;}*{x:url(//evil.example)", "The colour must be a colour such as #2450d3."),
        ("logo_url", "http://example.com/logo.png", "The logo URL must start with https://."),
        ("logo_url", "javascript:alert(1)", "The logo URL must start with https://."),
        ("logo_url", "data:image/svg+xml,<svg/>", "The logo URL must start with https://."),
        ("logo_url", "//example.com/logo.png", "The logo URL must start with https://."),
        (
            "logo_url",
            "https://",
            "The logo URL must be a URL with a well-formed host, such as https://example.com.",
        ),
        ("logo_url", &long_logo, "The logo URL must be at most 2000 characters."),
        (
            "name",
            "\"><script>alert(1)</script>\u{7}",
            "The name must not contain control characters other than tab.",
        ),
    ] {
        api.dynamodb.take_calls();
        let page = browser.post(PATH, &with(field, value)).await.expect(422);
        assert!(!api.dynamodb.take_calls().iter().any(is_write), "{field} {value}");
        let problem = format!("<p class=\"problem\" id=\"{field}-problem\">{}</p>", escaped(sentence));
        assert!(page.text.contains(&problem), "{problem} in {}", page.text);
        assert_eq!(page.text.matches("<p class=\"problem\"").count(), 1, "{field} {value}");
        assert_eq!(form_values(&page), with(field, value).map(|(_, value)| value.to_owned()), "{field}");
        assert!(!page.text.contains("<script>"));
    }
    let all = [("name", ""), ("introduction", &*long_words), ("accent", "x"), ("logo_url", "x")];
    let page = browser.post(PATH, &all).await.expect(422);
    assert_eq!(page.text.matches("<p class=\"problem\"").count(), 4, "all at once");
    assert_eq!(visitor.get("/careers/acme").await.text, before);
    // Values of the maximum length: the line breaks become one space, so the introduction has 600 characters.
    let (name, words) = ("é".repeat(200), format!("{}\r\n\r\n{}", "é".repeat(299), "ü".repeat(300)));
    let fields = [
        ("name", &*name),
        ("introduction", &*words),
        ("accent", "#767676"),
        ("logo_url", &long_logo[..2_000]),
    ];
    browser.post(PATH, &fields).await.expect(303);
    assert!(visitor.get("/careers/acme").await.text.contains(&format!(
        "{} {}",
        "é".repeat(299),
        "ü".repeat(300)
    )));
}

#[tokio::test]
async fn saved_branding_cannot_inject_markup() {
    let api = TestApi::new().await;
    let (browser, visitor) = (owner_browser(&api, ACME).await, Browser::new(&api));
    let job = Job::new(&api, "Analyst").await;
    let payloads = std::fs::read_to_string(tests::project("tests/xss.txt")).unwrap();
    for payload in payloads.lines().filter(|line| !line.trim().is_empty()) {
        let fields = [("name", payload), ("introduction", payload), ("accent", ""), ("logo_url", "")];
        assert!(payload.chars().any(char::is_control) || payload.chars().count() <= 200, "{payload}");
        if browser.post(PATH, &fields).await.status == 422 {
            continue;
        }
        let kept = Name::parse(payload).unwrap().unwrap();
        for page in [visitor.get("/careers/acme").await, browser.get(PATH).await] {
            let written = escaped(kept.as_str());
            assert!(page.text.contains(&written), "{payload} must be escaped: {}", page.text);
            let paragraph = kept.as_str().split_whitespace().collect::<Vec<_>>().join(" ");
            let rest = page.text.replace(&written, "").replace(&escaped(&paragraph), "");
            assert!(!rest.contains("alert(1)") && !rest.contains("evil.example"), "{payload}: {rest}");
        }
    }
    // A logo URL cannot break out of its CSP directive, even if it contains delimiters of the policy.
    for logo in [
        "https://example.com/\"onerror=\"alert(1)",
        "https://example.com/';script-src*",
        "https://example.com;sandbox/logo.png",
        "https://example.com,script-src/logo.png",
        "https://a'unsafe-inline'/logo.png",
        "https://user:secret@example.com/logo.png",
        "https://xn--mnchen-3ya.example/logo.png",
        "https://münchen.example/logo.png",
        "https://[2001:db8::1]/logo.png",
    ] {
        if browser.post(PATH, &with("logo_url", logo)).await.status == 422 {
            continue;
        }
        let page = visitor.get(&job.path).await.expect(200);
        assert!(page.text.contains(&format!("<img src=\"{}\" alt", escaped(logo))), "{logo}");
        let policy = page.header("content-security-policy");
        let directives: Vec<_> =
            policy.split(';').map(|directive| directive.trim().split(' ').next().unwrap()).collect();
        assert_eq!(
            directives,
            [
                "default-src",
                "style-src",
                "img-src",
                "form-action",
                "script-src",
                "frame-ancestors",
                "base-uri"
            ],
            "{logo}: {policy}"
        );
        assert!(
            !policy.contains(',') && !policy.contains("unsafe") && !policy.contains("secret"),
            "{policy}"
        );
    }
}

/// The path that the form for the logo is sent to.
const LOGO: &str = "/dashboard/settings/career-page/logo";

/// Returns the path of the uploaded logo on the settings page.
fn uploaded(settings: &Response) -> Option<String> {
    let (_, rest) = settings.text.split_once("<img class=\"logo\" src=\"")?;
    rest.split('"').next().map(str::to_owned)
}

#[tokio::test]
async fn an_uploaded_logo_is_shown_under_a_url_that_changes_with_it() {
    let api = TestApi::new().await;
    let (browser, visitor) = (owner_browser(&api, ACME).await, Browser::new(&api));
    let job = Job::new(&api, "Analyst").await;
    browser.post(PATH, &VALID).await.expect(303);
    assert_eq!(uploaded(&browser.get(PATH).await.expect(200)), None);
    let saved = browser.post_file(LOGO, &[], PNG).await.expect(303);
    assert_eq!(saved.header("location"), format!("{PATH}?done=logo-changed"));
    let src = uploaded(&browser.follow(&saved).await.expect(200)).expect("a logo");
    // Saving the other settings keeps the logo.
    browser.post(PATH, &with("name", "Acme Boats")).await.expect(303);
    for path in ["/careers/acme", &job.path, "/careers/acme/unknown"] {
        let page = visitor.get(path).await;
        let shown = format!("<img src=\"{src}\" alt=\"\" height=\"32\">");
        assert!(page.text.contains(&shown) && page.text.contains("Acme Boats"), "{}", page.text);
        assert!(!page.text.contains("cdn.example"), "{}", page.text);
        let policy = page.header("content-security-policy");
        assert!(policy.contains("img-src 'self'; "), "{policy}");
    }
    let page = visitor.get(&job.path).await.expect(200);
    assert!(
        page.text.contains(&format!("property=\"og:image\" content=\"{BASE_URL}{src}\"")),
        "{}",
        page.text
    );
    api.dynamodb.take_calls();
    let picture = visitor.get(&src).await.expect(200);
    let calls: Vec<_> = api.dynamodb.take_calls().into_iter().map(|call| call.operation).collect();
    assert_eq!(calls, ["GetItem", "GetItem"], "the career site and the logo");
    assert_eq!(picture.text, String::from_utf8_lossy(PNG));
    let headers =
        ["content-type", "cache-control", "x-content-type-options", "set-cookie", "content-encoding"];
    assert_eq!(
        headers.map(|name| picture.header(name)),
        ["image/png", "public, max-age=31536000, immutable", "nosniff", "", ""]
    );
    // Another logo has another URL. The first one is gone.
    let other = [PNG, b"x"].concat();
    browser.post_file(LOGO, &[], &other).await.expect(303);
    let second = uploaded(&browser.get(PATH).await).expect("a logo");
    assert_ne!(second, src);
    visitor.get(&src).await.expect(404);
    assert_eq!(visitor.get(&second).await.expect(200).text, String::from_utf8_lossy(&other));
    // Without an uploaded logo, the pages show the one at the URL again.
    let removed = browser.post(LOGO, &[("action", "remove")]).await.expect(303);
    assert_eq!(removed.header("location"), format!("{PATH}?done=logo-removed"));
    visitor.get(&second).await.expect(404);
    assert!(visitor.get("/careers/acme").await.text.contains("https://cdn.example:8443/logo.png?v=1"));
    assert_eq!(uploaded(&browser.get(PATH).await), None);
}

#[tokio::test]
async fn each_organization_and_each_mode_has_its_own_logo() {
    let api = TestApi::new().await;
    let (acme, globex, visitor) =
        (owner_browser(&api, ACME).await, owner_browser(&api, GLOBEX).await, Browser::new(&api));
    acme.post_file(LOGO, &[], PNG).await.expect(303);
    let src = uploaded(&acme.get(PATH).await).expect("a logo");
    for other in ["globex", "acme-test"] {
        visitor.get(&src.replace("/acme/", &format!("/{other}/"))).await.expect(404);
        assert!(!visitor.get(&format!("/careers/{other}")).await.text.contains("<img"));
    }
    globex.post(LOGO, &[("action", "remove")]).await.expect(303);
    globex.post_file(LOGO, &[], &[PNG, b"x"].concat()).await.expect(303);
    let other = uploaded(&globex.get(PATH).await).expect("a logo");
    assert!(other.starts_with("/careers/globex/"), "{other}");
    acme.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    acme.post_file(LOGO, &[], &[PNG, b"y"].concat()).await.expect(303);
    assert_eq!(visitor.get(&src).await.expect(200).text, String::from_utf8_lossy(PNG));
    for unknown in
        ["/careers/nobody/logo.image/x", "/careers/acme/logo.image/x", "/careers/acme/logo.image/apply"]
    {
        visitor.get(unknown).await.expect(404);
    }
}

#[tokio::test]
async fn a_logo_is_checked_by_its_content() {
    let api = TestApi::new().await;
    let browser = owner_browser(&api, ACME).await;
    browser.post_file(LOGO, &[], PNG).await.expect(303);
    let src = uploaded(&browser.get(PATH).await);
    let large = [PNG, &vec![0; 200 * 1024][..]].concat();
    for (content, sentence) in [
        (
            &b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"[..],
            "The logo must be a PNG, JPEG or WebP picture.",
        ),
        (b"<!doctype html>", "The logo must be a PNG, JPEG or WebP picture."),
        (b"GIF89a", "The logo must be a PNG, JPEG or WebP picture."),
        (&PNG[..12], "The logo must be a complete PNG, JPEG or WebP picture."),
        (&large, "The logo must be at most 200 KB."),
    ] {
        api.dynamodb.take_calls();
        let page = browser.post_file(LOGO, &[], content).await.expect(422);
        let problem = format!("<p class=\"problem\" id=\"logo-problem\">{sentence}</p>");
        assert!(page.text.contains(&problem) && page.text.contains("<a href=\"#logo\">"), "{}", page.text);
        assert_eq!(uploaded(&page), src);
        assert!(!api.dynamodb.take_calls().iter().any(is_write), "{sentence}");
    }
    let page = browser.post(LOGO, &[]).await.expect(422);
    assert!(page.text.contains("The logo is missing: choose a file."), "{}", page.text);
}
