//! The addresses of webhook endpoints: https, port 443 and a public name.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::is_public_name;

/// The URL that an organization's events are sent to. The local service also sends to `http://127.0.0.1:PORT/...`; all
/// others refuse it with [`EndpointUrl::check`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EndpointUrl(String);

/// The beginning of a URL on this machine.
const LOOPBACK: &str = "http://127.0.0.1:";

impl EndpointUrl {
    /// The maximum number of characters.
    pub const MAX: usize = 2_000;

    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the URL is on this machine.
    pub fn is_loopback(&self) -> bool {
        self.0.starts_with(LOOPBACK)
    }

    /// The name of the host.
    pub fn host(&self) -> String {
        let url = Url::parse(&self.0).ok();
        url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Checks what depends on the service: `base_url` is its own one, and only the local service sends to this machine.
    pub fn check(&self, base_url: &str, allows_loopback: bool) -> Result<(), String> {
        if self.is_loopback() {
            return if allows_loopback { Ok(()) } else { Err(NOT_HTTPS.to_owned()) };
        }
        let own = Url::parse(base_url).ok().and_then(|url| url.host_str().map(str::to_owned));
        if own.is_some_and(|own| own == self.host()) {
            return Err("must not have the host of this service".to_owned());
        }
        Ok(())
    }
}

impl FromStr for EndpointUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.chars().count() > Self::MAX {
            return Err(format!("must be at most {} characters", Self::MAX));
        }
        let Ok(url) = Url::parse(text) else {
            return Err("must be a URL, such as https://example.com/webhooks".to_owned());
        };
        if url.as_str() == text && text.starts_with(LOOPBACK) && url.port().is_some() {
            return if url.fragment().is_some() {
                Err(FRAGMENT.to_owned())
            } else {
                Ok(Self(text.to_owned()))
            };
        }
        if url.scheme() != "https" || !text.starts_with("https://") {
            return Err(NOT_HTTPS.to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() || has_at_sign(text) {
            return Err("must not have a user name or a password".to_owned());
        }
        let Some(Host::Domain(name)) = url.host() else {
            return Err("must have a name as its host, not an IP address".to_owned());
        };
        if !text.is_ascii() {
            let url = url.as_str();
            return Err(format!("must be in ASCII, with the name in punycode and the rest escaped: {url}"));
        }
        if url.port().is_some() {
            return Err("must have no port, because requests go to port 443".to_owned());
        }
        if !is_public_name(name) {
            return Err("must have a public host name".to_owned());
        }
        if url.fragment().is_some() {
            return Err(FRAGMENT.to_owned());
        }
        // If parsing changes the text, other programs may parse it differently. Only the slash after the host may be missing.
        if url.as_str() != text && url.as_str() != format!("{text}/") {
            return Err(format!("must be in normalized form: {url}"));
        }
        Ok(Self(url.into()))
    }
}

const NOT_HTTPS: &str = "must begin with https://";
const FRAGMENT: &str = "must not have a fragment";

/// Whether the part between the scheme and the path has an `@`: also an empty user name is refused.
fn has_at_sign(text: &str) -> bool {
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    rest.split(['/', '\\', '?', '#']).next().unwrap_or_default().contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE_URL: &str = "https://api.rolecall.test";

    #[test]
    fn an_https_url_with_a_public_name_is_accepted() {
        for good in [
            "https://example.com",
            "https://example.com/",
            "https://example.com/webhooks/rolecall?x=1&y=%20",
            "https://a-b.example.co.uk/x",
            "https://xn--mller-kva.example/",
            "https://localhost.example.com/",
            "https://api.rolecall.test.example.com/",
        ] {
            let url: EndpointUrl = good.parse().unwrap();
            assert_eq!(url.check(BASE_URL, false), Ok(()), "{good}");
            assert_eq!(url.as_str().parse(), Ok(url), "{good}");
        }
        assert_eq!("https://example.com".parse::<EndpointUrl>().unwrap().as_str(), "https://example.com/");
    }

    #[test]
    fn every_other_url_is_refused_with_the_reason() {
        let long = format!("https://example.com/{}", "x".repeat(1_981));
        for (bad, reason) in [
            ("", "must be a URL"),
            ("example.com", "must be a URL"),
            ("https://", "must be a URL"),
            (&long, "at most 2000 characters"),
            ("http://example.com/", "begin with https://"),
            ("HTTPS://example.com/", "begin with https://"),
            ("https:example.com", "begin with https://"),
            ("https:\\\\example.com/", "begin with https://"),
            ("ftp://example.com/", "begin with https://"),
            ("javascript:alert(1)", "begin with https://"),
            ("https://user@example.com/", "user name"),
            ("https://user:pass@example.com/", "user name"),
            ("https://@example.com/", "user name"),
            ("https://:@example.com/", "user name"),
            ("https://example.com@127.0.0.1/", "user name"),
            ("https://127.0.0.1/", "not an IP address"),
            ("https://127.1/", "not an IP address"),
            ("https://0x7f000001/", "not an IP address"),
            ("https://2130706433/", "not an IP address"),
            ("https://0177.0.0.1/", "not an IP address"),
            ("https://[::1]/", "not an IP address"),
            ("https://[::ffff:127.0.0.1]/", "not an IP address"),
            ("https://\u{ff11}\u{ff12}\u{ff17}.0.0.1/", "not an IP address"),
            ("https://8.8.8.8/", "not an IP address"),
            ("https://m\u{fc}ller.example/", "punycode and the rest escaped: https://xn--mller-kva.example/"),
            ("https://example.com/\u{e9}", "punycode"),
            ("https://example.com:8443/", "no port"),
            ("https://example.com:80/", "no port"),
            ("https://example.com:443/", "normalized form: https://example.com/"),
            ("https://localhost/", "public host name"),
            ("https://localhost./", "public host name"),
            ("https://printer.local/", "public host name"),
            ("https://metadata.google.internal/", "public host name"),
            ("https://nas.home.arpa/", "public host name"),
            ("https://intranet/", "public host name"),
            ("https://example.com./", "public host name"),
            ("https://a,b.example.com/", "public host name"),
            ("https://example.com/#x", "fragment"),
            ("https://EXAMPLE.com/", "normalized form: https://example.com/"),
            ("https://example.com/a/../b", "normalized form: https://example.com/b"),
            ("https://example.com\\@127.0.0.1/", "normalized form"),
            ("https://example\t.com/", "normalized form"),
            ("https://example.com/a b", "normalized form"),
            ("http://127.0.0.1/", "begin with https://"),
            ("http://127.0.0.1:80/", "begin with https://"),
            ("http://localhost:8080/", "begin with https://"),
            ("http://127.0.0.2:8080/", "begin with https://"),
            ("http://127.0.0.1:8080@example.com/", "begin with https://"),
            ("http://127.0.0.1:8080/#x", "fragment"),
        ] {
            let error = bad.parse::<EndpointUrl>().unwrap_err();
            assert!(error.contains(reason), "{bad:?}: {error}");
        }
    }

    #[test]
    fn only_the_local_service_sends_to_this_machine_and_none_to_itself() {
        let loopback: EndpointUrl = "http://127.0.0.1:8080/hook?x=1".parse().unwrap();
        assert_eq!(loopback.check(BASE_URL, true), Ok(()));
        assert_eq!(loopback.check(BASE_URL, false), Err(NOT_HTTPS.to_owned()));
        let own: EndpointUrl = "https://api.rolecall.test/x".parse().unwrap();
        assert!(own.check(BASE_URL, true).unwrap_err().contains("host of this service"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed_without_panic(text in "(https?://)?\\PC{0,40}") {
            if let Ok(url) = text.parse::<EndpointUrl>() {
                proptest::prop_assert_eq!(url.as_str().parse(), Ok(url));
            }
        }
    }
}
