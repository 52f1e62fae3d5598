//! Redirect URIs of OAuth clients: their validation at registration, and the comparison with a request's URI.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::form_urlencoded::Serializer;

const FORM: &str = "must begin with https://, with http:// and a loopback address, or with a private-use scheme in \
                    lower case that is followed by a slash, such as com.example.app:/callback or example://callback";
const MEANING: &str = "must not have a scheme that browsers or systems give a meaning of their own";
const CASE: &str = "must have its scheme in lower case: https or http";
const CHARACTERS: &str = "must contain only the characters of a URI: ASCII letters, digits and punctuation, without \
                          spaces, backslashes, * or a fragment";
const HOST: &str = "must have a host of letters, digits, hyphens and dots, or an IP address in its usual form, \
                    without a user name and optionally with a port from 1 to 65535";

/// The schemes that browsers or systems give a meaning of their own, besides those that begin with `ms-`.
const TAKEN: [&str; 42] = [
    "javascript",
    "data",
    "file",
    "blob",
    "about",
    "view-source",
    "vbscript",
    "ws",
    "wss",
    "ftp",
    "ftps",
    "sftp",
    "ssh",
    "telnet",
    "ldap",
    "ldaps",
    "smb",
    "nfs",
    "mailto",
    "tel",
    "sms",
    "sip",
    "sips",
    "facetime",
    "intent",
    "market",
    "android-app",
    "itms",
    "itms-apps",
    "itms-services",
    "search-ms",
    "steam",
    "git",
    "chrome",
    "chrome-extension",
    "moz-extension",
    "edge",
    "resource",
    "jar",
    "wyciwyg",
    "feed",
    "filesystem",
];

/// A registered redirect URI of at most 2,000 characters, exactly as the client sent it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RedirectUri(String);

/// The target of a redirect URI. Its parts are taken from the text without normalization.
#[derive(PartialEq, Eq)]
enum Target<'u> {
    /// An https site.
    Site(Host<'u>),
    /// A program on the user's own machine (RFC 8252, section 7.3), with path and query.
    Loopback(Host<'u>, &'u str),
    /// An app with this private-use scheme (RFC 8252, section 7.1).
    App(&'u str),
}

#[derive(PartialEq, Eq)]
struct Host<'u> {
    name: &'u str,
    port: Option<&'u str>,
}

impl RedirectUri {
    pub(super) const MAX: usize = 2_000;
    /// The [site](Self::site) of all programs on the user's own machine. It is neither a host nor a scheme.
    pub const LOOPBACK: &str = "a loopback address";

    /// The URI.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the redirect URI of a request matches this registered one. They must be identical, except that the port
    /// of a loopback address may differ (RFC 8252, section 7.3).
    pub fn matches(&self, given: &str) -> bool {
        match (read(&self.0), read(given)) {
            (Ok(Target::Loopback(host, rest)), Ok(Target::Loopback(given_host, given_rest))) => {
                (host.name, rest) == (given_host.name, given_rest)
            }
            _ => given == self.0,
        }
    }

    /// The target as the consent page shows it: the host in lower case with its port, if any, or the app's scheme.
    pub fn host(&self) -> String {
        match read(&self.0) {
            Ok(Target::Site(Host { name, port }) | Target::Loopback(Host { name, port }, _)) => {
                let port = port.map_or_else(String::new, |port| format!(":{port}"));
                format!("{}{port}", name.to_ascii_lowercase())
            }
            Ok(Target::App(scheme)) => scheme.to_owned(),
            Err(_) => String::new(),
        }
    }

    /// What an owner narrows with an application: the host without its port, the app's scheme with its colon, or
    /// [all programs on the user's own machine](Self::LOOPBACK).
    pub fn site(&self) -> String {
        match read(&self.0) {
            Ok(Target::Site(Host { name, .. })) if !is_loopback(&name.to_ascii_lowercase()) => {
                name.to_ascii_lowercase()
            }
            Ok(Target::Site(_) | Target::Loopback(..)) => Self::LOOPBACK.to_owned(),
            Ok(Target::App(scheme)) => format!("{scheme}:"),
            Err(_) => String::new(),
        }
    }

    /// The source for the `form-action` directive of a content security policy, which allows the consent form to
    /// redirect to this URI. It contains only letters, digits and `+-.:/*'`.
    pub fn csp_source(&self) -> String {
        match read(&self.0) {
            // A policy can name only one IP address, 127.0.0.1. It must allow the whole scheme for all others.
            Ok(Target::Site(host)) if is_ip(host.name) => "https:".to_owned(),
            Ok(Target::Loopback(host, _)) if is_ip(host.name) && host.name != "127.0.0.1" => {
                "http:".to_owned()
            }
            Ok(Target::Site(_)) => format!("https://{}", self.host()),
            Ok(Target::Loopback(host, _)) => format!("http://{}:*", host.name),
            Ok(Target::App(scheme)) => format!("{scheme}:"),
            Err(_) => "'none'".to_owned(),
        }
    }

    /// Appends these parameters to the query of a request's redirect URI.
    pub fn with_query(given: &str, pairs: &[(&str, &str)]) -> String {
        let query = Serializer::new(String::new()).extend_pairs(pairs).finish();
        let joint = match given.split_once('?') {
            None => "?",
            Some((_, old)) if old.is_empty() || old.ends_with('&') => "",
            Some(_) => "&",
        };
        if pairs.is_empty() { given.to_owned() } else { format!("{given}{joint}{query}") }
    }
}

impl FromStr for RedirectUri {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        if given.chars().count() > Self::MAX {
            return Err(format!("must be at most {} characters", Self::MAX));
        }
        read(given)?;
        Ok(Self(given.to_owned()))
    }
}

fn read(given: &str) -> Result<Target<'_>, &'static str> {
    if !given.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~:/?[]@!$&'()+,;=%".contains(&byte)) {
        return Err(CHARACTERS);
    }
    let (scheme, rest) = given.split_once(':').ok_or(FORM)?;
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len())),
        None => ("", rest),
    };
    match scheme {
        "https" => Ok(Target::Site(Host::read(authority)?)),
        "http" => match Host::read(authority)? {
            host if is_loopback(host.name) => Ok(Target::Loopback(host, path)),
            _ => Err(FORM),
        },
        other if ["https", "http"].iter().any(|scheme| scheme.eq_ignore_ascii_case(other)) => Err(CASE),
        taken if is_taken(taken) => Err(MEANING),
        app if is_private_use(app) && rest.starts_with('/') && !authority.contains('@') => {
            Ok(Target::App(app))
        }
        _ => Err(FORM),
    }
}

impl<'u> Host<'u> {
    fn read(authority: &'u str) -> Result<Self, &'static str> {
        let (name, port) = match authority.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
            _ => (authority, None),
        };
        let valid = (is_ip(name) || is_domain(name)) && port.is_none_or(is_port);
        if valid { Ok(Self { name, port }) } else { Err(HOST) }
    }
}

/// Whether the host is an IP address in its usual form, which all browsers and resolvers parse in the same way.
fn is_ip(host: &str) -> bool {
    match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => host.parse::<Ipv4Addr>().is_ok(),
    }
}

/// Whether the host is a domain name that no browser parses as an IP address. (Browsers do so if it ends in a number.)
fn is_domain(host: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    host.len() <= 253 && host.split('.').all(is_label) && last.starts_with(|c: char| c.is_ascii_alphabetic())
}

fn is_port(port: &str) -> bool {
    let digits = !port.starts_with('0') && port.bytes().all(|byte| byte.is_ascii_digit());
    digits && port.parse::<u16>().is_ok()
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "[::1]") || host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
}

/// Whether a scheme is not private: one of a letter is a drive of Windows.
fn is_taken(scheme: &str) -> bool {
    let scheme = scheme.to_ascii_lowercase();
    scheme.len() == 1 || scheme.starts_with("ms-") || TAKEN.contains(&&*scheme)
}

fn is_private_use(scheme: &str) -> bool {
    let in_scheme = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-.".contains(&byte);
    scheme.starts_with(|c: char| c.is_ascii_lowercase()) && scheme.bytes().all(in_scheme)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The registered URIs of these tests: scheme, host, port, and path with query.
    const REGISTERED: [[&str; 4]; 8] = [
        ["https://", "app.example.com", "", "/callback"],
        ["https://", "app.example.com", ":8443", "/cb?tenant=1"],
        ["https://", "10.0.0.5", "", "/callback"],
        ["http://", "127.0.0.1", "", "/callback"],
        ["http://", "localhost", ":8080", "/callback"],
        ["http://", "[::1]", ":3000", "/callback?x=1"],
        ["com.example.app:", "", "", "/callback"],
        ["cursor://", "anysphere.cursor-mcp", "", "/oauth/callback"],
    ];

    fn registered(parts: [&str; 4]) -> RedirectUri {
        parts.concat().parse().unwrap()
    }

    #[test]
    fn valid_uris_can_be_registered() {
        for good in [
            "https://example.com",
            "https://example.com?x=1",
            "https://Example.COM/cb/%7Ea;b=(1)!?a=b&c=%20",
            "https://xn--mller-kva.example:8443/cb",
            "https://intranet/cb",
            "https://3com.example/cb",
            "https://1.1.1.1/cb",
            "https://[2001:db8::1]:8443/cb",
            "http://127.0.0.1",
            "http://127.8.9.10:65535/",
            "http://localhost:1/cb",
            "http://[::1]/cb",
            "com.example.app:/callback",
            "com.example.app://callback",
            "com.example.app:/",
            "cursor://anysphere.cursor-mcp/oauth/callback",
            "vscode://vscode.github-authentication/did-authenticate",
            "zed://oauth/callback?x=1",
            "myapp:/callback",
            "web+app://callback",
            "ms://callback",
        ] {
            let uri: RedirectUri = good.parse().unwrap();
            assert_eq!(uri.as_str(), good);
            assert!(uri.matches(good), "{good}");
        }
        let https = |length: usize| format!("https://a.example/{}", "x".repeat(length - 18));
        assert!(https(2_000).parse::<RedirectUri>().is_ok());
        assert!(https(2_001).parse::<RedirectUri>().unwrap_err().contains("2000 characters"));
        assert!("https://a.example/é".parse::<RedirectUri>().unwrap_err().contains("ASCII"));
        assert!("https://me@a.example/".parse::<RedirectUri>().unwrap_err().contains("user name"));
        assert!("http://a.example/".parse::<RedirectUri>().unwrap_err().contains("loopback"));
        assert!("HTTPS://a.example/".parse::<RedirectUri>().unwrap_err().contains("lower case"));
    }

    #[test]
    fn invalid_uris_cannot_be_registered() {
        let bad = "/callback //example.com/cb example.com/cb example.com:443/cb https: https:/ https:// \
            https:///cb https:example.com https:/example.com https://?x HTTPS://example.com/cb \
            https://example.com/cb# https://example.com/#/cb https://user@example.com/cb \
            https://user:pass@example.com/cb https://@example.com/cb https://example.com:/cb \
            https://example.com:0/cb https://example.com:080/cb https://example.com:65536/cb \
            https://example.com:+80/cb https://example.com:80:80/cb https://example.com:80a/cb \
            https://*.example.com/cb https://example.com/* https://example%2ecom/cb \
            https://example.com%00.evil.com/cb https://example..com/cb https://.example.com/cb \
            https://example.com./cb https://exa_mple.com/cb https://ex\u{430}mple.com/cb \
            https://example\u{3002}com/cb https://example.com\\cb https:\\\\example.com/cb \
            https://0177.0.0.1/cb https://2130706433/cb https://127.1/cb https://0x7f.1/cb \
            https://1.2.3.4.5/cb https://example.123/cb https://[::1/cb https://::1/cb \
            https://[::1%25lo]/cb https://[127.0.0.1]/cb http://example.com/cb \
            http://127.0.0.1.evil.com/cb http://localhost.evil.com/cb http://evil.com/127.0.0.1 \
            http://127.0.0.1@evil.com/cb http://evil.com?@127.0.0.1/cb http://127.0.0.1:80@evil.com/cb \
            http://0177.0.0.1/cb http://127.0.0.01/cb http://2130706433/cb http://0x7f000001/cb \
            http://127.1/cb http://127.0.0.1./cb http://localhost./cb http://LOCALHOST/cb \
            http://[::ffff:127.0.0.1]/cb http://[0:0:0:0:0:0:0:1]/cb http://[::]/cb http://0.0.0.0/cb \
            http://128.0.0.1/cb http://10.0.0.1/cb javascript:alert(1) \
            javascript://example.com/%0aalert(1) data:text/html,hello file:///etc/passwd about:blank \
            vbscript:msgbox ws://example.com/ com.example.app: myapp: myapp:callback myapp://me@callback \
            com.example.app:callback com.example.app://user@callback Com.Example.App:/callback \
            .example:/callback 1com.example:/callback com.ex_ample:/callback com.example;x:/callback \
            Cursor://callback my_app://callback c://callback c:/callback";
        let blanks = [
            "",
            "https://example.com/c b",
            " https://example.com/cb",
            "https://example.com/cb\n",
            "https://example.com/\tcb",
            "https://example.com/cb\0",
            "https://example.com/\"><script>",
        ];
        for bad in bad.split(' ').chain(blanks) {
            assert!(bad.parse::<RedirectUri>().is_err(), "{bad:?}");
        }
    }

    /// A scheme that something else on the user's machine answers.
    #[test]
    fn a_scheme_with_a_meaning_of_its_own_cannot_be_registered() {
        let windows = ["ms-settings", "ms-word", "ms-msdt", "ms-", "x", "c"];
        for scheme in TAKEN.into_iter().chain(windows) {
            for scheme in [scheme.to_owned(), scheme.to_uppercase()] {
                for uri in [format!("{scheme}://callback"), format!("{scheme}:/callback")] {
                    assert_eq!(uri.parse::<RedirectUri>().unwrap_err(), MEANING, "{uri}");
                }
            }
            let longer = format!("{scheme}x.y://callback");
            assert_eq!(longer.parse::<RedirectUri>().is_ok(), !scheme.starts_with("ms-"), "{longer}");
        }
    }

    /// What holds for a site cannot be evaded by another port, path or loopback address.
    #[test]
    fn redirect_uris_of_the_same_application_have_the_same_site() {
        for (uris, site) in [
            (&["https://App.Example.com/cb", "https://app.example.com:8443/?x"][..], "app.example.com"),
            (&["https://10.0.0.5:8443/cb"], "10.0.0.5"),
            (&["cursor://anysphere.cursor-mcp/oauth/callback", "cursor:/x"], "cursor:"),
            (&["com.example.app:/callback"], "com.example.app:"),
            (
                &[
                    "http://127.0.0.1/cb",
                    "http://127.8.9.1:1/",
                    "http://localhost:3000",
                    "http://[::1]/",
                    "https://LOCALHOST",
                ],
                RedirectUri::LOOPBACK,
            ),
        ] {
            for uri in uris {
                assert_eq!(uri.parse::<RedirectUri>().unwrap().site(), site, "{uri}");
            }
        }
    }

    #[test]
    fn only_the_port_of_a_loopback_address_may_differ() {
        for (registered, good) in [
            ("http://127.0.0.1/cb", "http://127.0.0.1:1/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:65535/cb"),
            ("http://127.0.0.1:8080/cb", "http://127.0.0.1/cb"),
            ("http://localhost:8080/cb?x=1", "http://localhost:49152/cb?x=1"),
            ("http://[::1]", "http://[::1]:49152"),
            ("http://127.0.0.1?x", "http://127.0.0.1:80?x"),
        ] {
            assert!(registered.parse::<RedirectUri>().unwrap().matches(good), "{registered} {good}");
        }
        for (registered, bad) in [
            ("https://127.0.0.1:8080/cb", "https://127.0.0.1:8081/cb"),
            ("https://localhost/cb", "https://localhost:443/cb"),
            ("com.example.app://callback", "com.example.app://callback:1"),
            ("cursor://callback", "cursor://callback/"),
            ("cursor://localhost:1/cb", "cursor://localhost:2/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.2/cb"),
            ("http://127.0.0.1/cb", "http://localhost/cb"),
            ("http://127.0.0.1/", "http://127.0.0.1"),
        ] {
            assert!(!registered.parse::<RedirectUri>().unwrap().matches(bad), "{registered} {bad}");
        }
    }

    /// URIs that differ from the registered one, but may pass a careless comparison.
    fn hostile(parts: [&str; 4]) -> Vec<String> {
        let [scheme, host, port, rest] = parts;
        let mut all = Vec::new();
        let schemes = "https://¦http://¦HTTPS://¦Http://¦hTTp://¦ftp://¦ws://¦wss://¦file://¦//¦/¦¦https:¦http:¦\
            https:/¦http:/¦https:///¦http:///¦https:\\\\¦http:\\\\¦ https://¦ http://¦\thttp://¦ht\ntps://¦\
            javascript://¦javascript:¦data:¦blob:https://¦view-source:http://¦com.example.app2:¦\
            Com.example.app:¦com.example.app.evil:¦evil.com.example.app:¦https://evil.com/¦\
            http://evil.com#¦http://evil.com?¦https%3A//¦\u{feff}https://";
        all.extend(schemes.split('¦').map(|other| [other, host, port, rest].concat()));
        let hosts = "user@H¦user:pass@H¦@H¦H@evil.com¦H:80@evil.com¦H.evil.com¦H-evil.com¦Hevil.com¦evil.H¦\
            evilH¦evil-H¦evil.com/H¦evil.com?H¦evil.com#H¦evil.com#@H¦evil.com\\H¦evil.com\\@H¦\
            H\\@evil.com¦H\\.evil.com¦H%2eevil.com¦H%00.evil.com¦H\0.evil.com¦H%0d%0a¦H.¦H..¦.H¦H%2e¦\
            H%20¦ H¦H ¦\tH¦H\n¦H\r\n¦*¦*.H¦H,evil.com¦H;evil.com¦H|¦[H]¦%48¦H\u{3002}evil.com¦\
            H\u{ff0e}evil.com¦H\u{2024}com¦H\u{200b}¦H\u{ad}¦H\u{ff0f}evil.com¦H\u{2044}@evil.com¦\
            app.ex\u{430}mple.com¦app\u{3002}example.com¦app%2eexample%2ecom¦APP.EXAMPLE.COM¦\
            App.example.com¦example.com¦app.example.co¦app.example.com.¦xn--app-.example.com¦Localhost¦\
            localhost.¦localhost.localdomain¦localhost.evil.com¦127.0.0.1.evil.com¦127.0.0.1.nip.io¦\
            0177.0.0.1¦127.0.0.01¦127.0.0.001¦0x7f.0.0.1¦0x7f000001¦2130706433¦017700000001¦127.1¦\
            127.0.1¦127.0.0.2¦127.0.0.0¦0.0.0.0¦0¦[::]¦[::ffff:127.0.0.1]¦[::ffff:7f00:1]¦\
            [0:0:0:0:0:0:0:1]¦[::01]¦[::1%25lo]¦[::1%lo]¦[::2]¦::1¦[::1¦::1]¦[[::1]]¦127.0.0.1%00¦\
            １２７.0.0.1¦ⓛocalhost¦167772165¦10.0.0.05¦10.0.5¦";
        if !host.is_empty() {
            let others = hosts.split('¦').map(|other| other.replace('H', host));
            all.extend(others.map(|other| [scheme, &other, port, rest].concat()));
        }
        let ports = ":¦:0¦:00¦:080¦:08080¦:65536¦:99999999999999999999¦:+80¦:-80¦:-1¦:80a¦:a¦:8 0¦: 80¦:80 ¦\
            :8_0¦:0x50¦:8e1¦:80.0¦:80:80¦::80¦:80@evil.com¦:@evil.com¦:evil.com¦:*¦:%38%30¦\
            :\u{668}\u{660}¦:８０¦:80\t¦:80\n¦:80\0¦:80#¦:80\\¦.:80¦%3a80";
        all.extend(ports.split('¦').map(|other| [scheme, host, other, rest].concat()));
        if scheme == "https://" {
            let others = [":443", ":80", ":8444", ":844", ":84433"];
            all.extend(others.map(|other| [scheme, host, other, rest].concat()));
        }
        let rests = "R/¦/R¦//R¦/.R¦/..R¦/./R¦/x/..R¦R/.¦R/..¦R/../evil¦R/../../evil¦R//¦R%2f¦R%2F..%2fevil¦\
            R/%2e%2e/evil¦R%252f¦R/%252e%252e/evil¦R\\¦R\\..\\evil¦\\R¦R?¦R?x¦R?next=https://evil.com¦\
            R?tenant=2¦R&x=2¦R&¦R;¦R;x=1¦R#¦R#x¦R#/evil¦R%23¦R%3f¦R ¦ R¦R%20¦R+¦R\t¦\tR¦R\n¦\
            R\r\nset-cookie: a=b¦R%0d%0aa:b¦R\0¦R%00¦R.evil¦R.¦R@evil.com¦@evil.com¦@evil.comR¦\
            .evil.comR¦:80R¦R:80¦R*¦R\u{200b}¦R\u{ff0f}¦R\u{2215}¦R\u{301}¦R\"¦R'¦R<¦R\u{202e}¦/*¦/¦¦\
            /CALLBACK¦/Callback¦/call%62ack¦/call%2562ack¦/c\u{430}llback¦/callbac¦/callbackk¦\
            /evil?/callback¦/evil#/callback";
        let others = rests.split('¦').map(|other| other.replace('R', rest));
        all.extend(others.map(|other| [scheme, host, port, &other].concat()));
        let whole = [scheme, host, port, rest].concat();
        all.extend([
            whole.to_uppercase(),
            whole.replace('/', "\\"),
            whole.replace('/', "%2f"),
            whole.replace("//", "/"),
            whole.replace(':', "%3a"),
            format!("{whole}{whole}"),
            format!("{whole} {whole}"),
            format!("{whole},{whole}"),
            whole.chars().rev().collect(),
            whole.chars().skip(1).collect(),
        ]);
        all.retain(|given| *given != whole);
        all
    }

    #[test]
    fn no_hostile_uri_matches_the_registered_one() {
        let mut tried = 0;
        for parts in REGISTERED {
            let uri = registered(parts);
            // Some variants of a loopback URI differ only in having another valid port, which is allowed.
            let allowed = |given: &&String| parts[0] == "http://" && differs_in_port(parts, given);
            for given in hostile(parts).iter().filter(|given| !allowed(given)) {
                assert!(!uri.matches(given), "{} must not match {given:?}", uri.as_str());
                tried += 1;
            }
        }
        assert!(tried >= 1_000, "{tried}");
    }

    /// Whether `given` consists of these parts with another valid port.
    fn differs_in_port([scheme, host, _, rest]: [&str; 4], given: &str) -> bool {
        let port = given.strip_prefix(&[scheme, host].concat()).and_then(|given| given.strip_suffix(rest));
        let valid = |port: &str| port.parse::<u16>().is_ok_and(|n| n > 0 && n.to_string() == port);
        port.is_some_and(|port| port.is_empty() || port.strip_prefix(':').is_some_and(valid))
    }

    #[test]
    fn the_host_and_the_csp_source_identify_the_target() {
        for (uri, host, source) in [
            ("https://App.Example.com/cb", "app.example.com", "https://app.example.com"),
            ("https://example.com:8443?x=1", "example.com:8443", "https://example.com:8443"),
            ("https://10.0.0.5:8443/cb", "10.0.0.5:8443", "https:"),
            ("https://[2001:DB8::1]/cb", "[2001:db8::1]", "https:"),
            ("http://127.0.0.1/cb", "127.0.0.1", "http://127.0.0.1:*"),
            ("http://127.0.0.2/cb", "127.0.0.2", "http:"),
            ("http://localhost:8080/cb", "localhost:8080", "http://localhost:*"),
            ("http://[::1]:3000/cb", "[::1]:3000", "http:"),
            ("com.example.app:/callback", "com.example.app", "com.example.app:"),
            ("cursor://anysphere.cursor-mcp/oauth/callback", "cursor", "cursor:"),
        ] {
            let uri: RedirectUri = uri.parse().unwrap();
            assert_eq!((uri.host().as_str(), uri.csp_source().as_str()), (host, source));
        }
        let stored = RedirectUri("https://a.example;\r\nx: y/cb".to_owned());
        assert_eq!((stored.host().as_str(), stored.csp_source().as_str()), ("", "'none'"));
    }

    #[test]
    fn parameters_are_appended_to_an_existing_query() {
        let pairs = [("code", "a b&c=d#é+"), ("iss", "https://x.example")];
        let query = "code=a+b%26c%3Dd%23%C3%A9%2B&iss=https%3A%2F%2Fx.example";
        for (given, joint) in [
            ("https://a.example", "?"),
            ("https://a.example/cb", "?"),
            ("https://a.example/cb?", ""),
            ("https://a.example/cb?x=1", "&"),
            ("https://a.example/cb?x=1&", ""),
            ("com.example.app:/cb", "?"),
        ] {
            assert_eq!(RedirectUri::with_query(given, &pairs), format!("{given}{joint}{query}"));
            assert_eq!(RedirectUri::with_query(given, &[]), given);
        }
    }

    proptest! {
        #[test]
        fn parsing_any_text_never_panics_and_gives_one_csp_source(
            given in "(?s).{0,60}|(https?://|[a-z.]{1,9}:/)[ -~]{0,60}",
        ) {
            let stored = RedirectUri(given.clone());
            let parsed = given.parse::<RedirectUri>();
            prop_assert!(parsed.is_err() || parsed == Ok(stored.clone()));
            prop_assert!(stored.matches(&given));
            let source = stored.csp_source();
            prop_assert!(source.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.:/*'".contains(&b)), "{source}");
            prop_assert_eq!(source == "'none'", stored.host().is_empty());
        }

        #[test]
        fn an_edited_uri_matches_only_if_the_edit_is_in_the_port(
            which in 0usize..REGISTERED.len(), cut in 0usize..40, gone in 0usize..3, new in "[0-9:/.@?#%\\\\a ]{0,6}",
        ) {
            let parts = REGISTERED[which];
            let mut given: Vec<char> = parts.concat().chars().collect();
            let start = cut.min(given.len());
            let end = (start + gone).min(given.len());
            given.splice(start..end, new.chars());
            let given: String = given.into_iter().collect();
            let same = given == parts.concat() || (parts[0] == "http://" && differs_in_port(parts, &given));
            prop_assert_eq!(registered(parts).matches(&given), same, "{}", given);
        }

        #[test]
        fn a_loopback_uri_matches_on_any_port(port in 1u16.., other in 1u16..) {
            for host in ["127.0.0.1", "localhost", "[::1]"] {
                let uri: RedirectUri = format!("http://{host}:{port}/cb").parse().unwrap();
                let given = format!("http://{host}:{other}/cb");
                prop_assert!(uri.matches(&given), "{} {}", uri.as_str(), given);
                let app: RedirectUri = format!("https://{host}:{port}/cb").parse().unwrap();
                prop_assert_eq!(app.matches(&format!("https://{host}:{other}/cb")), port == other);
            }
        }

        #[test]
        fn appended_parameters_are_parsed_back(
            old in "(\\?([a-z]=[a-z]&?){0,3})?", name in "(?s).{1,20}", value in "(?s).{0,60}",
        ) {
            let given = format!("https://a.example/cb{old}");
            let url = url::Url::parse(&RedirectUri::with_query(&given, &[(&name, &value)])).unwrap();
            let all: Vec<_> = url.query_pairs().into_owned().collect();
            let before = url::Url::parse(&given).unwrap().query_pairs().count();
            prop_assert_eq!(all.len(), before + 1);
            prop_assert_eq!(all.last(), Some(&(name, value)));
        }
    }
}
