//! The texts that announce a job on X, and X's rule for how long a text is.
//!
//! The rule is twitter-text's, configuration v3. What counts as an address or as one emoji depends on lists that X
//! renews when it likes, so an announcement is cut to a bound that holds whichever lists X has (`ceiling`).

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use super::role::{RemotePolicy, Salary, SalaryRange};
use super::words::words;

/// The most that a post may weigh.
pub const LIMIT: usize = 280;

/// What an address weighs, whatever its length.
const ADDRESS: usize = 23;
/// What an emoji weighs, whatever it is made of.
const EMOJI: usize = 2;
/// The most characters of a label in the domain name system.
const MAX_LABEL: usize = 63;
const ELLIPSIS: char = '…';
/// Breaks up a mention or a tag: invisible, of weight 1, and unlike the zero-width non-joiner no part of a hashtag.
const ZERO_WIDTH_SPACE: char = '\u{200B}';

words! {
    /// The tone of an announcement.
    pub enum Style {
        /// Plain.
        Professional = "professional",
        /// Friendly.
        Casual = "casual",
        /// Pressing.
        Urgent = "urgent",
    }
}

/// What an announcement tells of a job.
#[derive(Clone, Copy, Debug)]
pub struct Advert<'a> {
    /// The job title.
    pub title: &'a str,
    /// The place of work.
    pub location: Option<&'a str>,
    /// Where the work is done.
    pub remote_policy: Option<RemotePolicy>,
    /// The annual salary.
    pub salary: SalaryRange,
    /// The address of the posting: http or https, under a public top-level domain, or X takes it for plain text.
    pub url: &'a str,
}

/// The text of a post about `job`: its title, place or Remote, salary range where given, and address, at most
/// [`LIMIT`].
///
/// The place is left out where there is neither a location nor a remote policy of Remote. Where the whole is too
/// long, the place is shortened or dropped first, then the title is shortened; salary and address stay whole. (Only
/// an address that X takes for plain text can break the limit, by being that long itself.)
///
/// Title and location are the customer's: their white space becomes single spaces, characters that X refuses or that
/// turn the writing direction are dropped, and a sign that would mention or tag (`@name`, `#tag`, `$TAG`) is parted
/// from its word by a zero-width space.
pub fn compose(job: &Advert<'_>, style: Style) -> String {
    let (opening, pay, call) = match style {
        Style::Professional => ("We're hiring:", "Salary:", "Apply:"),
        Style::Casual => ("Come work with us! 👋 We're looking for:", "Pays", "Have a look:"),
        Style::Urgent => ("🚨 Hiring now:", "Pay:", "Apply today:"),
    };
    let salary = salary(job.salary).map(|range| format!(" {pay} {range}.")).unwrap_or_default();

    let frame = ceiling(&format!("{opening} .{salary} {call} ")) + weighted_length(job.url);
    let room = LIMIT.saturating_sub(frame);
    let title = shorten(&plain(job.title), room);
    let room = room.saturating_sub(ceiling(&title) + ceiling(" ."));
    let place = place(job, room).map(|place| format!(" {}", sentence(place))).unwrap_or_default();

    format!("{opening} {}{place}{salary} {call} {}", sentence(title), job.url)
}

/// The place in at most `room`: the location with what the policy adds to it, or Remote.
fn place(job: &Advert<'_>, room: usize) -> Option<String> {
    let location = job.location.map(plain).unwrap_or_default();
    let note = match job.remote_policy {
        Some(policy @ (RemotePolicy::Hybrid | RemotePolicy::Remote))
            if !location.to_lowercase().contains(policy.as_str()) =>
        {
            format!(" ({})", policy.as_str())
        }
        _ => String::new(),
    };
    let location = shorten(&location, room.saturating_sub(ceiling(&note)));
    if location.is_empty() {
        let remote = "Remote".to_owned();
        (job.remote_policy == Some(RemotePolicy::Remote) && ceiling(&remote) <= room).then_some(remote)
    } else {
        Some(location + &note)
    }
}

fn salary(range: SalaryRange) -> Option<String> {
    Some(match (range.min().map(dollars), range.max().map(dollars)) {
        (Some(min), Some(max)) if min == max => format!("{min} a year"),
        (Some(min), Some(max)) => format!("{min}–{max} a year"),
        (Some(min), None) => format!("from {min} a year"),
        (None, Some(max)) => format!("up to {max} a year"),
        (None, None) => return None,
    })
}

fn dollars(salary: Salary) -> String {
    let dollars = salary.dollars();
    match (dollars / 1_000_000, dollars / 1_000 % 1_000, dollars % 1_000) {
        (0, 0, ones) => format!("${ones}"),
        (0, thousands, ones) => format!("${thousands},{ones:03}"),
        (millions, thousands, ones) => format!("${millions},{thousands:03},{ones:03}"),
    }
}

fn sentence(mut text: String) -> String {
    if !text.ends_with(['.', '!', '?', ELLIPSIS]) {
        text.push('.');
    }
    text
}

/// The text if its ceiling is at most `room`, otherwise its beginning with an ellipsis, or nothing.
fn shorten(text: &str, room: usize) -> String {
    if ceiling(text) <= room {
        return text.to_owned();
    }
    let room = room.saturating_sub(weight(ELLIPSIS));
    let beginnings = text.grapheme_indices(true).filter_map(|(at, grapheme)| text.get(..at + grapheme.len()));
    let longest = beginnings.take_while(|beginning| ceiling(beginning) <= room).last();
    longest.map(|beginning| format!("{}{ELLIPSIS}", beginning.trim_end())).unwrap_or_default()
}

/// A customer's text on one line, normalised, with nothing in it that X refuses, that reaches past its own end, or
/// that mentions or tags somebody.
fn plain(text: &str) -> String {
    let text: String = text.chars().filter(|c| !is_refused(*c)).nfc().collect();
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut plain = String::with_capacity(text.len());
    for word in words {
        if !plain.is_empty() {
            plain.push(' ');
        }
        let mut before = ' ';
        let mut rest = word.chars();
        while let Some(c) = rest.next() {
            plain.push(c);
            // Inside a word a sign does nothing: an email address, C#.
            if !before.is_ascii_alphanumeric() && rest.clone().next().is_some_and(|next| would_link(c, next))
            {
                plain.push(ZERO_WIDTH_SPACE);
            }
            before = c;
        }
    }
    plain
}

/// Whether X refuses a post with this character, or it turns the writing direction of what follows.
fn is_refused(c: char) -> bool {
    matches!(c, '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Whether X may make a mention, a hashtag or a cashtag of a sign with this character after it.
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

/// The most that X can take a normalised text to weigh, whichever top-level domains and emoji it knows.
///
/// An address holds a dot with two letters after it and is at least four characters long, so it adds at most 19 to
/// the weight of its characters. An emoji weighs no more than its characters do.
fn ceiling(text: &str) -> usize {
    let characters: usize = text.chars().map(weight).sum();
    let dots = text.match_indices('.').filter(|(at, dot)| {
        let mut after = text.get(at + dot.len()..).unwrap_or_default().chars();
        after.next().is_some_and(char::is_alphabetic) && after.next().is_some_and(char::is_alphabetic)
    });
    characters + dots.count() * (ADDRESS - "a.bc".len())
}

/// How long X takes a text to be (twitter-text, configuration v3).
///
/// It is normalised to NFC; an address weighs 23 and an emoji 2; any other character weighs 1 or 2.
pub fn weighted_length(text: &str) -> usize {
    let text: String = text.nfc().collect();
    let mut total = 0;
    let mut unweighed = text.as_str();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let before = text.strip_suffix(rest).and_then(|consumed| consumed.chars().next_back());
        match Candidate::at_start(before, rest) {
            Some(Candidate { is_address: true, after }) => {
                total += unweighed.strip_suffix(rest).map_or(0, weight_of_graphemes) + ADDRESS;
                (unweighed, rest) = (after, after);
            }
            Some(Candidate { is_address: false, after }) => rest = after,
            None => rest = rest.get(c.len_utf8()..).unwrap_or_default(),
        }
    }
    total + weight_of_graphemes(unweighed)
}

fn weight_of_graphemes(text: &str) -> usize {
    text.graphemes(true)
        .map(|grapheme| if is_emoji(grapheme) { EMOJI } else { grapheme.chars().map(weight).sum() })
        .sum()
}

const fn weight(c: char) -> usize {
    match c {
        '\0'..='\u{10FF}' | '\u{2000}'..='\u{200D}' | '\u{2010}'..='\u{201F}' | '\u{2032}'..='\u{2037}' => 1,
        _ => 2,
    }
}

/// Whether a grapheme is an emoji of several characters. (Of a single one it does not matter: it weighs 2 anyway.)
fn is_emoji(grapheme: &str) -> bool {
    let mut rest = grapheme.chars();
    let Some(first) = rest.next() else { return false };
    // All that emoji are joined of lies above the zero-width non-joiner, which ordinary combining marks do not; and
    // the text selector asks for no emoji.
    if rest.as_str().is_empty() || rest.clone().any(|c| c <= '\u{200C}' || c == '\u{FE0E}') {
        return false;
    }
    match first {
        '#' | '*' | '0'..='9' => grapheme.ends_with('\u{20E3}'),
        '\u{1F1E6}'..='\u{1F1FF}' => true,
        // By Unicode's rule GB11 only a pictograph is joined to another one.
        _ => format!("{first}\u{200D}☺").graphemes(true).count() == 1,
    }
}

/// What has the form of an address, and the text after it.
struct Candidate<'a> {
    /// Whether X counts it as one.
    is_address: bool,
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
        let is_address =
            !(bare && before.is_some_and(|c| "-_./".contains(c))) && labels.split('.').all(fits_dns);
        Some(Self { is_address, after: after_query(after_path(after_port(after_host))) })
    }
}

fn strip_scheme(text: &str) -> Option<&str> {
    ["http://", "https://"].into_iter().find_map(|scheme| {
        let (start, rest) = text.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}

/// The text after the longest host name that it starts with.
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
    // In scripts without spaces the next word may follow at once, so the longest beginning that is a domain counts.
    let letters = text.char_indices().take_while(|(_, c)| is_label(*c)).take(MAX_LABEL);
    letters
        .filter_map(|(at, c)| text.split_at_checked(at + c.len_utf8()))
        .filter(|(_, after)| !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@'))
        .filter(|(domain, _)| is_top_level_domain(domain))
        .last()
        .map(|(_, after)| after)
}

fn is_top_level_domain(label: &str) -> bool {
    // Some countries are listed by their second level alone, as co.za.
    psl::suffix(format!("x.co.{}", label.to_lowercase()).as_bytes()).is_some_and(|suffix| suffix.is_known())
}

fn after_port(text: &str) -> &str {
    text.strip_prefix(':')
        .filter(|port| port.starts_with(|c: char| c.is_ascii_digit()))
        .map_or(text, |port| port.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Punctuation belongs to a path only where something other than punctuation follows, parentheses where they match.
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
    let given = query.strip_suffix(after).unwrap_or_default();
    let kept = given.trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || "-_&=#/".contains(c)));
    if kept.is_empty() { text } else { query.strip_prefix(kept).unwrap_or_default() }
}

/// A letter or digit of a host name without a scheme.
fn is_latin(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || matches!(c,
            '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{24F}' | '\u{253}' | '\u{254}' | '\u{256}'
            | '\u{257}' | '\u{259}' | '\u{25B}' | '\u{263}' | '\u{268}' | '\u{26F}' | '\u{272}' | '\u{289}'
            | '\u{28B}' | '\u{2BB}' | '\u{300}'..='\u{36F}' | '\u{1E00}'..='\u{1EFF}')
}

/// A letter, digit or symbol of a host name with a scheme.
fn is_label(c: char) -> bool {
    !(c.is_ascii_punctuation() || c.is_whitespace() || c.is_control() || is_refused(c))
}

fn is_path(c: char) -> bool {
    is_path_end(c) || "!*';:,.$%[]–~@|&".contains(c)
}

fn is_path_end(c: char) -> bool {
    is_latin(c) || matches!(c, '\u{400}'..='\u{4FF}') || "+-=_#/".contains(c)
}

/// Whether a label has a place in the domain name system, in Punycode (RFC 3492) where it is not ASCII.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POEM: &str = "故人西辞黄鹤楼，烟花三月下扬州。孤帆远影碧空尽，唯见长江天际流。朱雀桥边野草花，乌衣巷口夕阳斜。\
        旧时王谢堂前燕，飞入寻常百姓家。朝辞白帝彩云间，千里江陵一日还。两岸猿声啼不住，轻舟已过万重山。\
        泪湿罗巾梦不成，夜深前殿按歌声。红颜未老恩先断，斜倚薰笼坐到明。独在异乡为异客，每逢佳节倍思亲。\
        遥知兄弟登高处，遍插茱萸少一人。";
    const FAMILY: &str = "👨\u{200D}👩\u{200D}👧\u{200D}👦";
    const URL: &str = "https://rolecall.example.com/careers/acme/senior-rust-engineer";

    /// twitter-text's cases of weighted length that are the same in every reading of the rule.
    #[test]
    fn texts_weigh_what_is_published() {
        let x = "xxxxxxxxxx-";
        let kana = "あいうえおかきくけこ";
        let cases = [
            ("", 0),
            ("This is a test.", 15),
            ("http://test.com", 23),
            ("https://test.com", 23),
            ("test.com", 23),
            ("Test https://test.com test https://test.com test.com test", 86),
            ("Hi http://test.co", 26),
            ("http://test.co", 23),
            (&format!("285 chars-{}", x.repeat(25)), 285),
            (&format!("285 chars- http://www.twitter.com/jack {}", x.repeat(24)), 299),
            (&format!("{} http://www.twitter.com/jack ", x.repeat(24)), 289),
            (&"https://www.twitter.com/aloha ".repeat(10), 240),
            (POEM, 320),
            (&format!("the{POEM}"), 323),
            (&"😷".repeat(160), 320),
            ("A\u{301}B", 2),
            ("A\u{FB2C}", 4),
            (&format!("282 chars-{}xxxxxA\u{301}x", x.repeat(24)), 281),
            (&format!("H🐱☺{FAMILY}"), 7),
            ("😷👾😡🔥💩", 10),
            ("🙋🏽👨\u{200D}🎤", 4),
            (&FAMILY.repeat(140), 280),
            (
                "This is a tweet with general punctuation characters: \u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\
                 \u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200A}\u{200B} ‐ ‑ ‒ – — ― ‖  ‗ ‘ ’ ‚ ‛ “ ” „ ‟ ′ ″ ‴ ‵ ‶ ‷",
                110,
            ),
            (
                "Unicode 10.0 emoji: 🤪; 🧕; 🧕🏾; \
                 🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
                34,
            ),
            ("Unicode 9.0 emoji: 🤠; 💃; 💃🏾", 29),
            (&format!("{}s.com", "randomurl".repeat(7)), 68),
            (&format!("{} http://{}あいう.com", kana.repeat(12), kana.repeat(5)), 358),
            (&format!("{} http://{}あい.com", kana.repeat(12), kana.repeat(5)), 264),
            ("ABC\u{202A}\u{FFFF}ABC\u{FFFE}", 12),
            ("\u{2066}\u{202A}http://foobar.پاکستان/\u{202C}\u{2069}", 31),
            // Beyond what is published.
            (&format!("https://{}.com/foo https://validurl.com", "somesuperlongurl".repeat(250)), 4_040),
            ("1\u{FE0F}\u{20E3}#\u{20E3}🇩🇪❤\u{FE0F}©\u{FE0F}", 10),
            ("1\u{20E4}©☺\u{FE0E}か\u{309A}क\u{94D}\u{200D}ष", 1 + 2 + 1 + 4 + 4 + 4),
            ("☺\u{301}", 3),
            ("http://ZürichΑθήνα서울東京日本ŁódźŁódź.com", 23),
            ("ASP.NET", 23),
            ("Node.js", 7),
            ("Ph.D.", 5),
        ];
        for (text, weight) in cases {
            assert_eq!(weighted_length(text), weight, "{text}");
            assert!(ceiling(&text.nfc().collect::<String>()) >= weight, "{text}");
        }
    }

    /// twitter-text's cases of addresses in texts; without any the text is plain.
    #[test]
    #[expect(clippy::too_many_lines, reason = "data")]
    fn addresses_are_found_as_published() {
        let cases: &[(&str, &[&str])] = &[
            ("text http://foobar.com/#", &["http://foobar.com/#"]),
            (
                "text http://google.com/#search?q=iphone%20-filter%3Alinks",
                &["http://google.com/#search?q=iphone%20-filter%3Alinks"],
            ),
            ("text http://somehost.com:3000", &["http://somehost.com:3000"]),
            ("text http://xo.com/~matthew+%ff-,.;x", &["http://xo.com/~matthew+%ff-,.;x"]),
            (
                "text http://en.wikipedia.org/wiki/Primer_(film)",
                &["http://en.wikipedia.org/wiki/Primer_(film)"],
            ),
            (
                "text http://a.com/We_Up_(Album_Version_(Edited))/ (so)",
                &["http://a.com/We_Up_(Album_Version_(Edited))/"],
            ),
            ("text http://✪df.ws/ejp", &["http://✪df.ws/ejp"]),
            ("test http://example.comだよね.comtest/hogehoge", &["http://example.com"]),
            ("text http://chilp.it/?77e8fd", &["http://chilp.it/?77e8fd"]),
            ("text http://no-tld http://tld-too-short.x", &[]),
            ("(http://twitter.com", &["http://twitter.com"]),
            ("text http://domain.com-that-you-should-have-put-a-space-after", &["http://domain.com"]),
            ("text http://foo.com?#foo text", &["http://foo.com?#foo"]),
            (
                "foo.com foo.net foo.org foo.edu foo.gov",
                &["foo.com", "foo.net", "foo.org", "foo.edu", "foo.gov"],
            ),
            (
                "foo.baz foo.co.jp www.xxxxxxx.baz www.foo.co.uk wwwww.xxxxxxx foo.comm foo.somecom foo.govedu foo.jp",
                &["foo.co.jp", "www.foo.co.uk", "foo.jp"],
            ),
            (
                "Go to http://example.com/a+ or http://example.com/a-",
                &["http://example.com/a+", "http://example.com/a-"],
            ),
            (
                "Go to http://example.com/view/slug-url-?foo=bar",
                &["http://example.com/view/slug-url-?foo=bar"],
            ),
            (
                "see https://en.m.wikipedia.org/wiki/Hatfield–McCoy_feud please",
                &["https://en.m.wikipedia.org/wiki/Hatfield–McCoy_feud"],
            ),
            ("@user Try http:// example.com/path", &["example.com/path"]),
            (
                "これは日本語です。example.com/path/index.html中国語example.com/path한국",
                &["example.com/path/index.html", "example.com/path"],
            ),
            (
                "http://twitter.com/これは日本語です。example.com中国語http://t.co/abcde한국twitter.comテストexample2.comテスト\
                 http://twitter.com/abcde",
                &[
                    "http://twitter.com/",
                    "example.com",
                    "http://t.co/abcde",
                    "twitter.com",
                    "example2.com",
                    "http://twitter.com/abcde",
                ],
            ),
            ("Go to http://twitter.com/Русские_слова", &["http://twitter.com/Русские_слова"]),
            (
                "twitter.jp日本語it.so中国語foo.jp it.so foo.jp",
                &["twitter.jp", "it.so", "foo.jp", "it.so", "foo.jp"],
            ),
            ("Hello http://xn--はじめよう.com/index.html", &[]),
            ("text http://domain-dash_2314352345_dfasd.foo-cow_4352.com", &[]),
            (
                "http://sub_domain-dash.twitter.com http://a_b.c-d.com",
                &["http://sub_domain-dash.twitter.com", "http://a_b.c-d.com"],
            ),
            (
                "http://-leadingdash.twitter.com http://leadingdash.-twitter.com http://trailingdash-.twitter.com",
                &[],
            ),
            ("http://trailingdash.twitter-.com http://_leading.twitter.com http://leading._twitter.com", &[]),
            (
                "http://trailing_.twitter.com http://trailing.twitter_.com http://-twitter.com http://twitter-.com",
                &[],
            ),
            ("http://twitter_underscore.com http://twitter.c_o_m", &[]),
            (
                "test http://www.foo.com/foo/path-with-period./",
                &["http://www.foo.com/foo/path-with-period./"],
            ),
            (
                "http://www.foo.com/bar-path/some.stm?param1=foo;param2=P1|0||P2|0",
                &["http://www.foo.com/bar-path/some.stm?param1=foo;param2=P1|0||P2|0"],
            ),
            ("test http://www.foo.org.za/foo/bar/688.1", &["http://www.foo.org.za/foo/bar/688.1"]),
            ("test ELPAÍS.com", &["ELPAÍS.com"]),
            ("test http://twitter.com/.", &["http://twitter.com/"]),
            (
                "http://example.com/path.......... http://example.com/,,,,, http://example.com/path/!!!!",
                &["http://example.com/path", "http://example.com/", "http://example.com/path/"],
            ),
            ("#test.com @test.com #http://test.com @http://test.com #t.co/abcde @t.co/abcde", &[]),
            ("example.comてすとですtwitter.みんなです", &["example.com", "twitter.みんな"]),
            ("$http://twitter.com $twitter.com $http://t.co/abcde $t.co/abcde $t.co $TVI.CA $RBS.CA", &[]),
            ("long.test.tar.bz2 test.tar.bz2 tar.bz2", &[]),
            ("john.doe.gov@mail.com john.doe.jp@mail.com", &[]),
            ("test http://xn--ls8h.XN--ls8h.la/", &["http://xn--ls8h.XN--ls8h.la/"]),
            ("http://foobar.みんな/ http://foobar.中国/", &["http://foobar.みんな/", "http://foobar.中国/"]),
            // Beyond what is published.
            (
                "http://a.com:x http://b.com?! http://c.com/() http://d.XN--LS8H",
                &["http://a.com", "http://b.com", "http://c.com/", "http://d.XN--LS8H"],
            ),
            ("see /a.com/b,c.com", &[]),
            (
                "\u{2066}\u{202A}test abcdef.com پاکستان http://twitter.com/\u{202C}\u{2069}",
                &["abcdef.com", "http://twitter.com/"],
            ),
            ("\u{2066}\u{202A}twitter.com\u{202C}\u{2069} قطر", &["twitter.com"]),
        ];
        for (text, addresses) in cases {
            let (mut plain, mut rest) = (0, *text);
            for address in *addresses {
                let (before, after) = rest.split_once(address).unwrap();
                plain += weight_of_graphemes(before);
                rest = after;
            }
            let expected = plain + weight_of_graphemes(rest) + ADDRESS * addresses.len();
            assert_eq!(weighted_length(text), expected, "{text}");
        }
    }

    fn range(min: Option<u32>, max: Option<u32>) -> SalaryRange {
        let salary = |dollars: u32| Salary::new(dollars.into()).unwrap();
        SalaryRange::new(min.map(salary), max.map(salary)).unwrap()
    }

    fn advert<'a>(
        title: &'a str,
        location: Option<&'a str>,
        remote_policy: Option<RemotePolicy>,
    ) -> Advert<'a> {
        Advert { title, location, remote_policy, salary: range(None, None), url: URL }
    }

    #[test]
    fn each_style_has_its_own_words() {
        let job = Advert {
            salary: range(Some(150_000), Some(190_000)),
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
    fn the_place_says_what_is_known() {
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
    fn the_salary_says_what_is_given() {
        for (min, max, expected) in [
            (None, None, None),
            (Some(150_000), None, Some("from $150,000 a year")),
            (None, Some(190_000), Some("up to $190,000 a year")),
            (Some(150_000), Some(150_000), Some("$150,000 a year")),
            (Some(0), Some(100_000_000), Some("$0–$100,000,000 a year")),
            (Some(999), Some(1_002_003), Some("$999–$1,002,003 a year")),
        ] {
            assert_eq!(salary(range(min, max)).as_deref(), expected);
        }
    }

    #[test]
    fn the_place_gives_way_before_the_title() {
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
        assert!(weighted_length(&compose(&local, Style::Professional)) <= LIMIT);
        let cut = post(&longer, "Berlin");
        let kept =
            cut.strip_prefix("We're hiring: ").and_then(|cut| cut.strip_suffix(&format!("… Apply: {URL}")));
        assert!(kept.is_some_and(|kept| kept.len() % "👩🏽\u{200D}🔬".len() == 0 && !kept.is_empty()), "{cut}");
    }

    #[test]
    fn nobody_is_mentioned_or_tagged_by_accident() {
        for (given, made) in [
            ("Lead\n\t (m/f)\u{A0}\u{202E}now\0", "Lead (m/f) now"),
            ("Cook @acme の@acme ＠acme", "Cook @\u{200B}acme の@\u{200B}acme ＠\u{200B}acme"),
            ("#hiring (#開発 #1st", "#\u{200B}hiring (#\u{200B}開発 #\u{200B}1st"),
            ("$TSLA $150k", "$\u{200B}TSLA $150k"),
            (
                "C# and F#/.NET, jobs@acme.com, #\u{FE0F}\u{20E3}1",
                "C# and F#/.NET, jobs@acme.com, #\u{FE0F}\u{20E3}1",
            ),
        ] {
            assert_eq!(plain(given), made);
        }
    }

    fn title() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            3 => "\\PC{1,12}",
            1 => ".{1,6}",
            3 => "[A-Za-z]{1,9}[.@#/ ]{0,2}",
            1 => "[ぁ-ん漢字가-힣]{1,20}",
            2 => prop::sample::select(&[
                FAMILY, "👩🏽\u{200D}🔬", "🇩🇪", "1\u{FE0F}\u{20E3}", "©", "A\u{301}", "\u{FB2C}", "ASP.NET", "Node.js", "t.co",
                "http://a.みんな/b", "https://x.de/(a)", " ", "\n", "@acme ", "#tag", "$TSLA", "a.bc,", "日本.com",
            ][..]).prop_map(str::to_owned),
        ];
        prop::collection::vec(piece, 1..40)
            .prop_map(|pieces| pieces.concat().chars().take(200).collect::<String>())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn every_post_fits_and_is_whole(
            title in title(),
            location in prop::option::of(title()),
            policy in prop::option::of(prop::sample::select(&RemotePolicy::ALL[..])),
            ends: (Option<u32>, Option<u32>),
        ) {
            let (min, max) = (ends.0.map(|end| end % 100_000_001), ends.1.map(|end| end % 100_000_001));
            let (min, max) = if min.is_some() && max.is_some() && min > max { (max, min) } else { (min, max) };
            let job = Advert { salary: range(min, max), ..advert(&title, location.as_deref(), policy) };
            let posts = Style::ALL.map(|style| compose(&job, style));
            for post in &posts {
                prop_assert!(weighted_length(post) <= LIMIT, "{}", post);
                let (lead, url) = post.rsplit_once(' ').unwrap();
                prop_assert_eq!(url, URL);
                prop_assert!(ceiling(lead) + " ".len() + ADDRESS <= LIMIT, "{}", post);
                prop_assert!(!post.contains(char::is_control));
                prop_assert_eq!(&post.nfc().collect::<String>(), post);
                prop_assert!(salary(job.salary).is_none_or(|salary| post.contains(&salary)));
            }
            prop_assert!(posts[0] != posts[1] && posts[1] != posts[2] && posts[0] != posts[2]);
        }

        #[test]
        fn no_text_weighs_more_than_its_ceiling(text in title()) {
            prop_assert!(weighted_length(&text) <= ceiling(&text.nfc().collect::<String>()));
        }

        #[test]
        fn a_normal_title_and_place_stay_whole(title in "[A-Z][a-z]{1,11}([+]{2}|#|-[a-z]{2,8})?( [A-Za-z]{2,12}){0,5}", place in "[A-Z][a-z]{2,20}, [A-Z]{2}") {
            let job = Advert {
                salary: range(Some(150_000), Some(190_000)),
                ..advert(&title, Some(&place), Some(RemotePolicy::Hybrid))
            };
            for style in Style::ALL {
                let post = compose(&job, style);
                let whole = format!("{title}. {place} (hybrid).");
                prop_assert!(post.contains(&whole), "{}", post);
            }
        }
    }
}
