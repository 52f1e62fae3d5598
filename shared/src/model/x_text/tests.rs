use super::*;
use crate::model::Salary;
use proptest::prelude::*;

const URL: &str = "https://rolecall.example.com/careers/acme/senior-rust-engineer";

fn range(min: Option<u32>, max: Option<u32>) -> Pay {
    let salary = |dollars: u32| Salary::new(dollars.into()).unwrap();
    Pay::annual(min.map(salary), max.map(salary)).unwrap()
}

fn advert<'a>(title: &'a str, location: Option<&'a str>, remote_policy: Option<RemotePolicy>) -> Advert<'a> {
    Advert { title, location, remote_policy, pay: range(None, None), url: URL }
}

#[test]
fn each_style_has_its_own_wording() {
    let job = Advert {
        pay: range(Some(150_000), Some(190_000)),
        ..advert("Senior Rust Engineer", Some("Berlin"), Some(RemotePolicy::Hybrid))
    };
    assert_eq!(
        Style::ALL.map(|style| compose(&job, style)),
        [
            format!(
                "We're hiring: Senior Rust Engineer. Berlin (hybrid). Salary: $150,000–$190,000 a year. Apply: {URL}"
            ),
            format!(
                "Come work with us! 👋 We're looking for: Senior Rust Engineer. Berlin (hybrid). \
             Pays $150,000–$190,000 a year. Have a look: {URL}"
            ),
            format!(
                "🚨 Hiring now: Senior Rust Engineer. Berlin (hybrid). Pay: $150,000–$190,000 a year. Apply today: {URL}"
            ),
        ]
    );
}

#[test]
fn the_place_is_the_location_or_remote() {
    use RemotePolicy::{Hybrid, Onsite, Remote};
    for (location, policy, place) in [
        (None, None, ""),
        (None, Some(Onsite), ""),
        (None, Some(Hybrid), ""),
        (None, Some(Remote), " Remote."),
        (Some("\u{FEFF}"), Some(Remote), " Remote."),
        (Some("Remote"), Some(Remote), " Remote."),
        (Some("Remote, EU"), Some(Remote), " Remote, EU."),
        (Some("St. Louis, Mo."), None, " St. Louis, Mo."),
        (Some("Berlin"), Some(Onsite), " Berlin."),
        (Some("Berlin"), Some(Remote), " Berlin (remote)."),
    ] {
        let expected = format!("We're hiring: Cook.{place} Apply: {URL}");
        assert_eq!(compose(&advert("Cook", location, policy), Style::Professional), expected);
    }
}

#[test]
fn the_place_is_shortened_before_the_title() {
    let (long, longer) = ("Engineer ".repeat(18), "👩🏽\u{200D}🔬".repeat(40));
    let place = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch ".repeat(3);
    let post = |title, place| compose(&advert(title, Some(place), None), Style::Professional);
    assert!(post("Cook", &place).starts_with("We're hiring: Cook. Llanfairpwll"));
    let both = post(&long, &place);
    assert!(
        both.contains(long.trim_end()) && both.contains(". Llanf") && both.contains("… Apply: "),
        "{both}"
    );
    assert_eq!(shorten("Head Cook", 7), "Head…");
    let local = Advert { url: "http://localhost:3000/careers/acme", ..advert(&long, Some(&place), None) };
    assert!(max_weight(&compose(&local, Style::Professional)) <= LIMIT);
    let shortened = post(&longer, "Berlin");
    let kept = shortened
        .strip_prefix("We're hiring: ")
        .and_then(|rest| rest.strip_suffix(&format!("… Apply: {URL}")));
    assert!(
        kept.is_some_and(|kept| kept.len() % "👩🏽\u{200D}🔬".len() == 0 && !kept.is_empty()),
        "{shortened}"
    );
}

#[test]
fn titles_contain_no_mentions_tags_or_links() {
    for (text, expected) in [
        ("Lead\n\t (m/f)\u{A0}\u{202E}now\0", "Lead (m/f) now"),
        ("Cook @acme の@acme ＠acme", "Cook @\u{200B}acme の@\u{200B}acme ＠\u{200B}acme"),
        ("#hiring (#開発 #1st", "#\u{200B}hiring (#\u{200B}開発 #\u{200B}1st"),
        ("$TSLA $150k", "$\u{200B}TSLA $150k"),
        ("C# and F#, jobs@acme.com, #\u{FE0F}\u{20E3}1", "C# and F#, jobs@acme.com, #\u{FE0F}\u{20E3}1"),
        ("ASP.NET, St.Louis, No.7, e.g. U.S.A.", "ASP.\u{200B}NET, St.\u{200B}Louis, No.7, e.g. U.S.A."),
        ("https://a.みんな/b", "https://a.\u{200B}みんな/b"),
        ("@acme.com ö@acme.com", "@\u{200B}acme.\u{200B}com ö@\u{200B}acme.\u{200B}com"),
        ("a@jobs-1.acme.com,x.de a@b.com/c.de", "a@jobs-1.acme.com,x.\u{200B}de a@b.com/c.\u{200B}de"),
    ] {
        assert_eq!(sanitize(text), expected);
    }
}

proptest! {
    #[test]
    fn ordinary_titles_and_places_are_not_shortened(title in "[A-Z][a-z]{1,11}([+]{2}|#|-[a-z]{2,8})?( [A-Za-z]{2,12}){0,5}", place in "[A-Z][a-z]{2,20}, [A-Z]{2}") {
        let job = Advert {
            pay: range(Some(150_000), Some(190_000)),
            ..advert(&title, Some(&place), Some(RemotePolicy::Hybrid))
        };
        for style in Style::ALL {
            let post = compose(&job, style);
            let expected = format!("{title}. {place} (hybrid).");
            prop_assert!(post.contains(&expected), "{}", post);
        }
    }
}
