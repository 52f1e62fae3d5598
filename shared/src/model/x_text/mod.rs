//! Composes posts that announce jobs on X, within X's limit on their weighted length.
//!
//! X measures posts by twitter-text's rule, configuration v3. Its lists of top-level domains and emoji change over
//! time, so posts are cut to an upper bound that holds for any version of those lists (`max_weight`). `tests/src/weighted_length`
//! checks that bound against the rule itself.

#[cfg(test)]
mod tests;

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;
use url::Url;

use super::string_enum::string_enum;
use super::{Pay, RemotePolicy};

/// The maximum weighted length of a post.
pub const LIMIT: usize = 280;

/// The weight of a URL of any length.
pub const URL_WEIGHT: usize = 23;
const ELLIPSIS: char = '…';
/// Breaks up mentions, tags and domain names. It is invisible, has weight 1 and, unlike the zero-width non-joiner, is not part of a
/// hashtag.
const ZERO_WIDTH_SPACE: char = '\u{200B}';

string_enum! {
    /// The tone of an announcement.
    pub enum Style {
        /// Neutral.
        Professional = "professional",
        /// Friendly.
        Casual = "casual",
        /// Insistent.
        Urgent = "urgent",
    }
}

/// The facts about a job that an announcement includes.
#[derive(Clone, Copy, Debug)]
pub struct Advert<'a> {
    /// The job title.
    pub title: &'a str,
    /// The place of work.
    pub location: Option<&'a str>,
    /// Whether the work is on site, hybrid or remote.
    pub remote_policy: Option<RemotePolicy>,
    /// What the job pays.
    pub pay: Pay,
    /// The posting's URL. X recognizes it only with http or https and a public top-level domain.
    pub url: &'a str,
}

/// Composes a post of at most [`LIMIT`] from the title, the location or "Remote", the pay if it is known,
/// and the URL.
///
/// The location is omitted if the job has none and is not remote. If the post is too long, the location is shortened or
/// dropped first, then the title is shortened. The pay and the URL are never cut. (A post can exceed the limit only
/// if X does not recognize the URL and the URL itself is too long.)
///
/// Customers enter the title and the location, so both are sanitized: white space is collapsed to single spaces,
/// characters that X rejects or that change the writing direction are dropped, and a zero-width space separates the
/// sign of a mention or tag (`@name`, `#tag`, `$TAG`) from its word, and the dot of a domain name (`ASP.NET`) from what
/// follows. The posting's URL is the only link.
pub fn compose(job: &Advert<'_>, style: Style) -> String {
    let (opening, pay, call_to_action) = match style {
        Style::Professional if job.pay.is_annual() => ("We're hiring:", "Salary:", "Apply:"),
        Style::Professional => ("We're hiring:", "Pay:", "Apply:"),
        Style::Casual => ("Come work with us! 👋 We're looking for:", "Pays", "Have a look:"),
        Style::Urgent => ("🚨 Hiring now:", "Pay:", "Apply today:"),
    };
    let pay = job.pay.short_words().map(|range| format!(" {pay} {range}.")).unwrap_or_default();

    let fixed = max_weight(&format!("{opening} .{pay} {call_to_action} ")) + url_weight(job.url);
    let room = LIMIT.saturating_sub(fixed);
    let title = shorten(&sanitize(job.title), room);
    let room = room.saturating_sub(max_weight(&title) + max_weight(" ."));
    let place = place(job, room).map(|place| format!(" {}", sentence(place))).unwrap_or_default();

    format!("{opening} {}{place}{pay} {call_to_action} {}", sentence(title), job.url)
}

/// The location with its remote policy, or "Remote", with a weight of at most `room`.
fn place(job: &Advert<'_>, room: usize) -> Option<String> {
    let location = job.location.map(sanitize).unwrap_or_default();
    let note = match job.remote_policy {
        Some(policy @ (RemotePolicy::Hybrid | RemotePolicy::Remote))
            if !location.to_lowercase().contains(policy.as_str()) =>
        {
            format!(" ({})", policy.as_str())
        }
        _ => String::new(),
    };
    let location = shorten(&location, room.saturating_sub(max_weight(&note)));
    if location.is_empty() {
        let remote = "Remote".to_owned();
        (job.remote_policy == Some(RemotePolicy::Remote) && max_weight(&remote) <= room).then_some(remote)
    } else {
        Some(location + &note)
    }
}

fn sentence(mut text: String) -> String {
    if !text.ends_with(['.', '!', '?', ELLIPSIS]) {
        text.push('.');
    }
    text
}

/// Returns the text if its weight is at most `room`, otherwise its beginning with an ellipsis, or an empty string.
fn shorten(text: &str, room: usize) -> String {
    if max_weight(text) <= room {
        return text.to_owned();
    }
    let room = room.saturating_sub(weight(ELLIPSIS));
    let prefixes = text.grapheme_indices(true).filter_map(|(at, grapheme)| text.get(..at + grapheme.len()));
    let longest = prefixes.take_while(|prefix| max_weight(prefix) <= room).last();
    longest.map(|prefix| format!("{}{ELLIPSIS}", prefix.trim_end())).unwrap_or_default()
}

/// Puts a customer's text on one line, normalized to NFC, without characters that X rejects or that change the writing
/// direction, and without mentions, tags and links.
fn sanitize(text: &str) -> String {
    let text: String = text.chars().filter(|c| !is_dropped(*c)).nfc().collect();
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut sanitized = String::with_capacity(text.len());
    for word in words {
        if !sanitized.is_empty() {
            sanitized.push(' ');
        }
        let mut before = ' ';
        let mut in_email = false;
        let mut rest = word.chars();
        while let Some(c) = rest.next() {
            sanitized.push(c);
            // A sign inside a word has no effect, as in an e-mail address or C#.
            let is_inside = before.is_ascii_alphanumeric();
            let links_tag = !is_inside && rest.clone().next().is_some_and(|next| would_link(c, next));
            // X does not link the domain of an e-mail address, which remains one that can be copied.
            in_email = match c {
                '@' => is_inside,
                '.' | '-' => in_email,
                _ => in_email && c.is_ascii_alphanumeric(),
            };
            let links_domain = c == '.' && !in_email && starts_domain(rest.as_str());
            if links_tag || links_domain {
                sanitized.push(ZERO_WIDTH_SPACE);
            }
            before = c;
        }
    }
    sanitized
}

/// Whether X rejects posts with this character, or the character changes the writing direction of the text after it.
pub fn is_dropped(c: char) -> bool {
    matches!(c, '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Whether X may turn this sign, followed by this character, into a mention, a hashtag or a cashtag.
fn would_link(sign: char, next: char) -> bool {
    match sign {
        '@' | '＠' => next.is_ascii_alphanumeric() || next == '_',
        '$' => next.is_ascii_alphabetic(),
        // A hash before a variation selector or the enclosing keycap is an emoji.
        '#' | '＃' => {
            next == '_' || !(next.is_ascii_punctuation() || matches!(next, '\u{FE0F}' | '\u{20E3}'))
        }
        _ => false,
    }
}

/// Whether a top-level domain may follow a dot here: all have at least two letters.
fn starts_domain(after_dot: &str) -> bool {
    let mut after = after_dot.chars();
    after.next().is_some_and(char::is_alphabetic) && after.next().is_some_and(char::is_alphabetic)
}

/// An upper bound for the weighted length of normalized text, regardless of the top-level domains and emoji that X
/// recognizes.
///
/// A URL contains a dot with two letters after it and is at least four characters long, so it adds at most 19 to the
/// weight of its characters. An emoji weighs no more than its characters.
pub fn max_weight(text: &str) -> usize {
    let characters: usize = text.chars().map(weight).sum();
    let dots = text
        .match_indices('.')
        .filter(|(at, dot)| starts_domain(text.get(at + dot.len()..).unwrap_or_default()));
    characters + dots.count() * (URL_WEIGHT - "a.bc".len())
}

/// The weight of the posting's URL: 23 if it has a domain name, which X then recognizes because the service is public;
/// otherwise the upper bound for text.
pub fn url_weight(url: &str) -> usize {
    let parsed = Url::parse(url).ok();
    let is_recognized = parsed.as_ref().and_then(Url::domain).is_some_and(|domain| domain.contains('.'));
    if is_recognized { URL_WEIGHT } else { max_weight(url) }
}

/// The weight of a character that is not part of a URL or an emoji.
pub const fn weight(c: char) -> usize {
    match c {
        '\0'..='\u{10FF}' | '\u{2000}'..='\u{200D}' | '\u{2010}'..='\u{201F}' | '\u{2032}'..='\u{2037}' => 1,
        _ => 2,
    }
}
