//! twitter-text's rule for the weighted length of a post (configuration v3), with which posts are checked.

#[cfg(test)]
mod tests;

use std::ops::Range;

use shared::model::x_text::{URL_WEIGHT, is_dropped, weight};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// The weight of an emoji with any number of characters.
const EMOJI_WEIGHT: usize = 2;
/// The maximum length of a DNS label.
const MAX_LABEL: usize = 63;

/// The weighted length of the text.
///
/// The text is normalized to NFC; a URL weighs 23, an emoji 2, and any other character 1 or 2. The result is that of
/// twitter-text 3.1.0 for the cases that it publishes. For hostile texts it often is not, for example with hyphens in the
/// top-level domain, so posts are cut to `max_weight`, which has been compared with the library itself.
pub fn weighted_length(text: &str) -> usize {
    let text: String = text.nfc().collect();
    let mut total = 0;
    let mut counted = 0;
    for url in url_ranges(&text) {
        total += text.get(counted..url.start).map_or(0, weight_of_graphemes) + URL_WEIGHT;
        counted = url.end;
    }
    total + text.get(counted..).map_or(0, weight_of_graphemes)
}

/// The URLs that X finds in normalized text, and shows as links.
pub fn urls(text: &str) -> Vec<&str> {
    url_ranges(text).into_iter().filter_map(|range| text.get(range)).collect()
}

fn url_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let start = text.len() - rest.len();
        let before = text.get(..start).and_then(|consumed| consumed.chars().next_back());
        match Candidate::at_start(before, rest) {
            Some(Candidate { is_url, after }) => {
                if is_url {
                    ranges.push(start..text.len() - after.len());
                }
                rest = after;
            }
            None => rest = rest.get(c.len_utf8()..).unwrap_or_default(),
        }
    }
    ranges
}

fn weight_of_graphemes(text: &str) -> usize {
    text.graphemes(true)
        .map(|grapheme| if is_emoji(grapheme) { EMOJI_WEIGHT } else { grapheme.chars().map(weight).sum() })
        .sum()
}

/// Whether a grapheme is an emoji of several characters. (Single characters need no check, because an emoji of one
/// character weighs 2 anyway.)
fn is_emoji(grapheme: &str) -> bool {
    let mut rest = grapheme.chars();
    let Some(first) = rest.next() else { return false };
    // The code points of emoji sequences are above the zero-width non-joiner, and those of ordinary combining marks are
    // below it. The text selector requests text instead of an emoji.
    if rest.as_str().is_empty() || rest.clone().any(|c| c <= '\u{200C}' || c == '\u{FE0E}') {
        return false;
    }
    match first {
        '#' | '*' | '0'..='9' => grapheme.ends_with('\u{20E3}'),
        '\u{1F1E6}'..='\u{1F1FF}' => true,
        // By Unicode's rule GB11, only pictographs are joined to each other.
        _ => format!("{first}\u{200D}☺").graphemes(true).count() == 1,
    }
}

/// Text that has the form of a URL.
struct Candidate<'a> {
    /// Whether X counts it as a URL.
    is_url: bool,
    /// The text after it.
    after: &'a str,
}

impl<'a> Candidate<'a> {
    fn at_start(before: Option<char>, text: &'a str) -> Option<Self> {
        if before.is_some_and(|c| c.is_ascii_alphanumeric() || "@＠$#＃\u{FFFE}\u{FEFF}\u{FFFF}".contains(c))
        {
            return None;
        }
        let (host, bare) = match strip_scheme(text) {
            Some(host) => (host, false),
            None => (text, true),
        };
        let after_host = after_host(host, if bare { is_latin } else { is_label })?;
        let labels = host.strip_suffix(after_host)?;
        let is_url = !(bare && before.is_some_and(|c| "-_./".contains(c))) && labels.split('.').all(fits_dns);
        Some(Self { is_url, after: after_query(after_path(after_port(after_host))) })
    }
}

fn strip_scheme(text: &str) -> Option<&str> {
    ["http://", "https://"].into_iter().find_map(|scheme| {
        let (start, rest) = text.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}

/// Returns the text after the longest host name at its beginning.
fn after_host(text: &str, is_letter: fn(char) -> bool) -> Option<&str> {
    let mut found = None;
    let mut rest = text;
    loop {
        let after = rest.trim_start_matches(|c| is_letter(c) || c == '-' || c == '_');
        let label = rest.strip_suffix(after)?;
        match after.strip_prefix('.') {
            Some(next) if label.starts_with(is_letter) && label.ends_with(is_letter) => {
                // Only subdomains may have underscores.
                if !label.contains('_') {
                    found = after_top_level_domain(next).or(found);
                }
                rest = next;
            }
            _ => return found,
        }
    }
}

fn after_top_level_domain(text: &str) -> Option<&str> {
    let (start, punycode) = text.split_at_checked("xn--".len()).unwrap_or_default();
    if start.eq_ignore_ascii_case("xn--")
        && punycode.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-')
    {
        return Some(punycode.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-'));
    }
    // In scripts without spaces, the next word may follow immediately, so the longest prefix that is a domain counts.
    let letters = text.char_indices().take_while(|(_, c)| is_label(*c)).take(MAX_LABEL);
    letters
        .filter_map(|(at, c)| text.split_at_checked(at + c.len_utf8()))
        .filter(|(_, after)| !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@'))
        .filter(|(domain, _)| is_top_level_domain(domain))
        .last()
        .map(|(_, after)| after)
}

fn is_top_level_domain(label: &str) -> bool {
    // Some countries are listed by their second level only, such as co.za.
    psl::suffix(format!("x.co.{}", label.to_lowercase()).as_bytes()).is_some_and(|suffix| suffix.is_known())
}

fn after_port(text: &str) -> &str {
    text.strip_prefix(':')
        .filter(|port| port.starts_with(|c: char| c.is_ascii_digit()))
        .map_or(text, |port| port.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Returns the text after the path at its beginning. Punctuation is part of a path only if another character follows
/// it, and parentheses only if they match.
fn after_path(text: &str) -> &str {
    let mut end = text;
    let mut rest = text;
    if !text.starts_with('/') {
        return text;
    }
    loop {
        let mut chars = rest.chars();
        match chars.next() {
            Some('(') => match after_parentheses(rest, 1) {
                Some(after) => (rest, end) = (after, after),
                None => return end,
            },
            Some(c) if is_path(c) => {
                rest = chars.as_str();
                if is_path_end(c) {
                    end = rest;
                }
            }
            _ => return end,
        }
    }
}

fn after_parentheses(text: &str, nested: u8) -> Option<&str> {
    let inside = text.strip_prefix('(')?;
    let mut rest = inside.trim_start_matches(is_path);
    if nested > 0
        && let Some(after) = after_parentheses(rest, nested - 1)
    {
        rest = after.trim_start_matches(is_path);
    }
    rest.strip_prefix(')').filter(|_| rest.len() < inside.len())
}

fn after_query(text: &str) -> &str {
    let Some(query) = text.strip_prefix('?') else { return text };
    let after = query
        .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "!?*'@();:&=+$/%#[]-_.,~|".contains(c));
    let candidate = query.strip_suffix(after).unwrap_or_default();
    let kept = candidate.trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || "-_&=#/".contains(c)));
    if kept.is_empty() { text } else { query.strip_prefix(kept).unwrap_or_default() }
}

/// Whether a host name without a scheme may contain this letter or digit.
fn is_latin(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || matches!(c,
            '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{24F}' | '\u{253}' | '\u{254}' | '\u{256}'
            | '\u{257}' | '\u{259}' | '\u{25B}' | '\u{263}' | '\u{268}' | '\u{26F}' | '\u{272}' | '\u{289}'
            | '\u{28B}' | '\u{2BB}' | '\u{300}'..='\u{36F}' | '\u{1E00}'..='\u{1EFF}')
}

/// Whether a host name with a scheme may contain this letter, digit or symbol.
fn is_label(c: char) -> bool {
    !(c.is_ascii_punctuation() || c.is_whitespace() || c.is_control() || is_dropped(c))
}

fn is_path(c: char) -> bool {
    is_path_end(c) || "!*';:,.$%[]–~@|&".contains(c)
}

fn is_path_end(c: char) -> bool {
    is_latin(c) || matches!(c, '\u{400}'..='\u{4FF}') || "+-=_#/".contains(c)
}

/// Whether a label is short enough for DNS, in Punycode (RFC 3492) if it is not ASCII.
fn fits_dns(label: &str) -> bool {
    const BASE: u32 = 36;
    let characters: Vec<u32> = label.chars().map(u32::from).collect();
    // The length also bounds the sums below.
    if label.is_ascii() || characters.len() > MAX_LABEL {
        return characters.len() <= MAX_LABEL;
    }
    if label.starts_with("xn--") {
        return false;
    }
    let basic = label.chars().filter(char::is_ascii).count();
    let mut length = "xn--".len() + basic + usize::from(basic > 0);
    let mut encoded = u32::try_from(basic).unwrap_or(u32::MAX);
    let (mut lowest, mut delta, mut bias, mut damping) = (0x80, 0, 72, 700);
    while let Some(next) = characters.iter().copied().filter(|c| *c >= lowest).min() {
        delta += (next - lowest) * (encoded + 1);
        for c in &characters {
            if *c < next {
                delta += 1;
            } else if *c == next {
                let mut left = delta;
                for position in 1.. {
                    length += 1;
                    let threshold = (BASE * position).saturating_sub(bias).clamp(1, 26);
                    if left < threshold {
                        break;
                    }
                    left = (left - threshold) / (BASE - threshold);
                }
                encoded += 1;
                bias = adapted_bias(delta / damping, encoded);
                (delta, damping) = (0, 2);
            }
        }
        delta += 1;
        lowest = next + 1;
    }
    length <= MAX_LABEL
}

fn adapted_bias(delta: u32, encoded: u32) -> u32 {
    let mut delta = delta + delta / encoded;
    let mut bias = 0;
    while delta > 455 {
        delta /= 35;
        bias += 36;
    }
    bias + 36 * delta / (delta + 38)
}
