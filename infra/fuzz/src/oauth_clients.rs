//! OAuth clients that are identified by the URL of their metadata document.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use oauth::client::parse_document;
use shared::clock::Timestamp;
use shared::model::{Client, RedirectUri};
use shared::providers::client_document::ClientUrl;
use shared::providers::public_address::is_public;
use url::{Host, Url};

use crate::input::{first_line, text};

/// The first line is the client id, the rest is the metadata document.
pub fn client_documents(input: &[u8]) {
    let (id, document) = first_line(input);
    let (id, document) = (text(id), text(document));
    let Some(client) = parse_document(&id, &document, Timestamp::UNIX_EPOCH) else { return };
    assert_eq!((&client.id, &client.secret_hash), (&id, &None));
    assert!((1..=10).contains(&client.redirect_uris.len()));
    for uri in &client.redirect_uris {
        assert_eq!(uri.as_str().parse::<RedirectUri>().as_ref(), Ok(uri));
        assert!(client.redirects_to(uri.as_str()).is_some());
    }
    let name = client.name.as_str();
    assert!((1..=100).contains(&name.chars().count()) && name.trim() == name);
    assert!(!name.contains(|c: char| c.is_control() || ('\u{202A}'..='\u{202E}').contains(&c)), "{name:?}");
    assert!(!client.requestable_scopes().is_empty());
    if let Some(uri) = &client.uri {
        let url = Url::parse(uri.as_str()).unwrap();
        assert!(matches!(url.scheme(), "http" | "https"), "{url}");
    }
    let stored = serde_json::to_string(&client).unwrap();
    assert_eq!(serde_json::from_str::<Client>(&stored).unwrap(), client);
}

/// The input is a client id, and also an IP address as text or as bytes.
pub fn client_addresses(input: &[u8]) {
    let given = text(input);
    if let Ok(id) = given.parse::<ClientUrl>() {
        assert_eq!(id.as_str(), given);
        let url = Url::parse(&given).unwrap();
        assert_eq!((url.as_str(), url.scheme(), url.port()), (given.as_str(), "https", None));
        assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none());
        let Some(Host::Domain(name)) = url.host() else { panic!("{url}") };
        assert!(name.contains('.') && !name.ends_with('.') && name.parse::<IpAddr>().is_err(), "{name}");
        assert!(
            !["localhost", "local", "internal", "home.arpa"]
                .iter()
                .any(|end| { name == *end || name.ends_with(&format!(".{end}")) })
        );
        assert!(url.path().len() > 1 && given.len() <= 500);
    }
    if let Ok(address) = given.parse() {
        address_is_classified(address);
    }
    if let Some(bytes) = input.first_chunk() {
        address_is_classified(Ipv4Addr::from_octets(*bytes).into());
    }
    if let Some(bytes) = input.first_chunk() {
        address_is_classified(Ipv6Addr::from_octets(*bytes).into());
    }
}

/// What the standard library calls special is not public.
fn address_is_classified(address: IpAddr) {
    let is_special = match address {
        IpAddr::V4(v4) => {
            v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_documentation()
                || v4.is_multicast()
                || v4.is_broadcast()
                || v4.is_unspecified()
        }
        IpAddr::V6(v6) => {
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_multicast()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
                || v6.to_ipv4().is_some()
        }
    };
    assert!(!(is_special && is_public(address)), "{address}");
}
