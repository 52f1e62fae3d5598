//! Redirect URIs: browsers understand a registered one as the service does, and only the port of a loopback address may
//! differ.

use std::net::IpAddr;

use shared::model::RedirectUri;
use url::{Host, Url};

use crate::input::{first_line, text};

/// The first line is a registered redirect URI, the rest one of a request.
pub fn redirect_uris(input: &[u8]) {
    let (registered, given) = first_line(input);
    let (registered, given) = (text(registered), text(given));
    let Ok(uri) = registered.parse::<RedirectUri>() else { return };

    assert_eq!(uri.as_str(), registered);
    assert!(registered.is_ascii() && registered.len() <= 2_000);
    let json = serde_json::to_string(&uri).unwrap();
    assert_eq!(serde_json::from_str::<RedirectUri>(&json).unwrap(), uri);
    let source = uri.csp_source();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.:/*'".contains(&byte);
    assert!(source.bytes().all(is_plain), "{source}");
    assert!(uri.matches(&registered) && !uri.host().is_empty());

    let (scheme, _) = registered.split_once(':').unwrap();
    match Url::parse(&registered) {
        Ok(url) => {
            assert_same_target(&uri, &url, scheme);
            assert_appends(&registered);
            if given != registered && uri.matches(&given) {
                assert_only_the_port_differs(url, &given);
            }
        }
        // A label may be invalid Punycode. The host in an app's URI has no meaning.
        Err(error) => {
            let is_punycode = registered.to_ascii_lowercase().contains("xn--");
            assert!(is_punycode || is_app(scheme), "{registered}: {error}");
        }
    }
}

/// Whether the URI is one of an app with its own scheme.
fn is_app(scheme: &str) -> bool {
    !["https", "http"].contains(&scheme)
}

fn assert_same_target(uri: &RedirectUri, url: &Url, scheme: &str) {
    assert_eq!(url.scheme(), scheme);
    assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none(), "{url}");
    if is_app(scheme) {
        assert_eq!((uri.host().as_str(), uri.csp_source()), (scheme, format!("{scheme}:")));
        return;
    }
    let shown = Url::parse(&format!("{scheme}://{}", uri.host())).unwrap();
    assert_eq!((shown.host(), shown.port()), (url.host(), url.port()));
    let is_loopback = match url.host().unwrap() {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => IpAddr::V4(address).is_loopback(),
        Host::Ipv6(address) => IpAddr::V6(address).is_loopback(),
    };
    assert!(scheme == "https" || (scheme == "http" && is_loopback), "{url}");
}

fn assert_appends(registered: &str) {
    let pairs = [("code", "a b&c=d"), ("state", "#é")];
    let target = RedirectUri::with_query(registered, &pairs);
    assert!(target.starts_with(registered));
    let url = Url::parse(&target).unwrap();
    let found: Vec<_> = url.query_pairs().collect();
    let appended = &found[found.len() - pairs.len()..];
    assert!(appended.iter().zip(pairs).all(|((name, value), pair)| (name.as_ref(), value.as_ref()) == pair));
}

fn assert_only_the_port_differs(mut registered: Url, given: &str) {
    let mut given = Url::parse(given).unwrap();
    assert_eq!(registered.scheme(), "http", "{given}");
    registered.set_port(None).unwrap();
    given.set_port(None).unwrap();
    assert_eq!(registered, given);
}
