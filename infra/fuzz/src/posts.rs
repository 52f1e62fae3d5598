//! Posts on X: no text of a customer makes one too long.

use shared::model::x_text::{Advert, LIMIT, compose};
use shared::model::{Pay, RemotePolicy, Salary, Style};
use tests::weighted_length::weighted_length;

use crate::input::{first_line, text};

const URL: &str = "https://rolecall.example.com/careers/acme/senior-rust-engineer";
/// The maximum length of a title and of a location, in characters.
const MAX: usize = 200;

/// The first line is the title, the second one the location. The bytes after it choose the remote policy, the
/// salary and the style.
pub fn x_posts(input: &[u8]) {
    let (title, rest) = first_line(input);
    let (location, rest) = first_line(rest);
    let [title, location] = [title, location].map(|line| text(line).chars().take(MAX).collect::<String>());
    let choice = |at: usize| rest.get(at).copied().unwrap_or_default();
    let salary = |at: usize| Salary::new(i64::from(choice(at)).pow(3)).filter(|salary| salary.amount() > 0);
    let advert = Advert {
        title: &title,
        location: Some(location.as_str()).filter(|location| !location.is_empty()),
        remote_policy: RemotePolicy::ALL.get(usize::from(choice(0) % 4)).copied(),
        pay: Pay::annual(salary(1), salary(2)).unwrap_or_default(),
        url: URL,
    };
    let style = Style::ALL[usize::from(choice(3)) % Style::ALL.len()];
    let post = compose(&advert, style);
    assert!(weighted_length(&post) <= LIMIT, "{post}");
    assert!(post.ends_with(&format!(" {URL}")) && !post.contains(char::is_control), "{post:?}");
    assert!(advert.pay.short_words().is_none_or(|salary| post.contains(&salary)), "{post}");
    let is_directed = |c| matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    assert!(!post.contains(is_directed), "{post:?}");
    let is_name = |name: &str| name.starts_with(|c: char| c.is_ascii_alphanumeric());
    assert!(!post.split(' ').any(|word| word.strip_prefix(['@', '＠']).is_some_and(is_name)), "{post}");
}
