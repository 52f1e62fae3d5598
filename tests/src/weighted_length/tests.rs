//! twitter-text's published test cases.

use proptest::prelude::*;
use shared::model::x_text::{Advert, LIMIT, compose, max_weight, url_weight};
use shared::model::{Pay, RemotePolicy, Salary, Style};

use super::*;

const POEM: &str = "故人西辞黄鹤楼，烟花三月下扬州。孤帆远影碧空尽，唯见长江天际流。朱雀桥边野草花，乌衣巷口夕阳斜。\
    旧时王谢堂前燕，飞入寻常百姓家。朝辞白帝彩云间，千里江陵一日还。两岸猿声啼不住，轻舟已过万重山。\
    泪湿罗巾梦不成，夜深前殿按歌声。红颜未老恩先断，斜倚薰笼坐到明。独在异乡为异客，每逢佳节倍思亲。\
    遥知兄弟登高处，遍插茱萸少一人。";
const FAMILY: &str = "👨\u{200D}👩\u{200D}👧\u{200D}👦";
const URL: &str = "https://rolecall.example.com/careers/acme/senior-rust-engineer";

/// Cases whose weighted length does not depend on the interpretation of the rule.
#[test]
fn weighted_lengths_are_as_published() {
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
        // Additional cases.
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
        assert!(max_weight(&text.nfc().collect::<String>()) >= weight, "{text}");
    }
}

/// The URLs that each text contains.
#[test]
#[expect(clippy::too_many_lines, reason = "data")]
fn urls_are_found_as_published() {
    let cases: &[(&str, &[&str])] = &[
        ("text http://foobar.com/#", &["http://foobar.com/#"]),
        (
            "text http://google.com/#search?q=iphone%20-filter%3Alinks",
            &["http://google.com/#search?q=iphone%20-filter%3Alinks"],
        ),
        ("text http://somehost.com:3000", &["http://somehost.com:3000"]),
        ("text http://xo.com/~matthew+%ff-,.;x", &["http://xo.com/~matthew+%ff-,.;x"]),
        ("text http://en.wikipedia.org/wiki/Primer_(film)", &["http://en.wikipedia.org/wiki/Primer_(film)"]),
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
        ("foo.com foo.net foo.org foo.edu foo.gov", &["foo.com", "foo.net", "foo.org", "foo.edu", "foo.gov"]),
        (
            "foo.baz foo.co.jp www.xxxxxxx.baz www.foo.co.uk wwwww.xxxxxxx foo.comm foo.somecom foo.govedu foo.jp",
            &["foo.co.jp", "www.foo.co.uk", "foo.jp"],
        ),
        (
            "Go to http://example.com/a+ or http://example.com/a-",
            &["http://example.com/a+", "http://example.com/a-"],
        ),
        ("Go to http://example.com/view/slug-url-?foo=bar", &["http://example.com/view/slug-url-?foo=bar"]),
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
        ("test http://www.foo.com/foo/path-with-period./", &["http://www.foo.com/foo/path-with-period./"]),
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
        // Additional cases.
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
    for (text, expected) in cases {
        assert_eq!(&urls(text), expected, "{text}");
    }
}

#[test]
fn a_url_has_the_same_weight_as_on_x() {
    for recognized in [
        URL,
        "http://example.de/careers/acme/cook",
        "https://jobs.example.co.uk:8443/careers/acme/cook-2",
        "https://foobar.みんな/careers/acme/cook",
        "https://jobs.xn--p1ai/careers/acme/cook",
    ] {
        assert_eq!((url_weight(recognized), weighted_length(recognized)), (URL_WEIGHT, URL_WEIGHT));
    }
    for plain in [
        "http://localhost:3000/careers/acme/cook",
        "http://127.0.0.1:3000/careers/acme/cook",
        "http://[::1]:3000/careers/acme/cook",
    ] {
        assert_eq!((url_weight(plain), weighted_length(plain)), (plain.len(), plain.len()), "{plain}");
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
    #[test]
    fn every_post_fits_and_keeps_salary_and_url(
        title in title(),
        location in prop::option::of(title()),
        policy in prop::option::of(prop::sample::select(&RemotePolicy::ALL[..])),
        ends: (Option<u32>, Option<u32>),
    ) {
        let (min, max) = (ends.0.map(|end| end % 100_000_001), ends.1.map(|end| end % 100_000_001));
        let (min, max) = if min.is_some() && max.is_some() && min > max { (max, min) } else { (min, max) };
        let salary = |end: u32| Salary::new(end.into()).unwrap();
        let salary = Pay::annual(min.map(salary), max.map(salary)).unwrap();
        let job =
            Advert { title: &title, location: location.as_deref(), remote_policy: policy, pay: salary, url: URL };
        let posts = Style::ALL.map(|style| compose(&job, style));
        for post in &posts {
            prop_assert!(weighted_length(post) <= LIMIT, "{}", post);
            let (lead, url) = post.rsplit_once(' ').unwrap();
            prop_assert_eq!(url, URL);
            prop_assert_eq!(urls(post), [URL], "{}", post);
            prop_assert!(max_weight(lead) + " ".len() + URL_WEIGHT <= LIMIT, "{}", post);
            prop_assert!(!post.contains(char::is_control));
            prop_assert_eq!(&post.nfc().collect::<String>(), post);
            prop_assert!(job.pay.short_words().is_none_or(|salary| post.contains(&salary)));
        }
        prop_assert!(posts[0] != posts[1] && posts[1] != posts[2] && posts[0] != posts[2]);
    }

    #[test]
    fn no_text_exceeds_its_upper_bound(text in title()) {
        prop_assert!(weighted_length(&text) <= max_weight(&text.nfc().collect::<String>()));
    }
}
