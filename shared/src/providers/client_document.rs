//! The documents by which OAuth clients introduce themselves (OAuth Client ID Metadata Document): a stranger names an
//! address, and we fetch it. So the address may lead nowhere but to the public internet, and the answer is small.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, Response, StatusCode};
use url::{Host, Url};

use super::client::builder;
use super::public_address::is_public;

/// How long it may take to find and reach the host.
const CONNECT: Duration = Duration::from_secs(2);
/// How long the whole fetch may take.
const TOTAL: Duration = Duration::from_secs(10);
/// The largest document.
const MAX_DOCUMENT: usize = 5 * 1024;
/// Ends of names that mean something else in every network.
const INTERNAL: [&str; 4] = ["localhost", "local", "internal", "home.arpa"];

/// A client's id that is the address of its document, at most 500 characters: https, a public name on the usual port,
/// a path, and nothing that could be written in another way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientUrl(String);

impl ClientUrl {
    const MAX: usize = 500;

    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ClientUrl {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        if given.chars().count() > Self::MAX {
            return Err(format!("must be at most {} characters", Self::MAX));
        }
        // What parsing changes has a second form, which the next program may read in a third way.
        let url = Url::parse(given).ok().filter(|url| url.as_str() == given);
        if url.is_some_and(|url| is_public_page(&url)) {
            Ok(Self(given.to_owned()))
        } else {
            Err("must be an https address on a public host name, with a path, in its usual form, \
                 without a port, a user name, dot segments and a fragment"
                .to_owned())
        }
    }
}

fn is_public_page(url: &Url) -> bool {
    // An IP address would go past the resolver, which is where addresses are checked.
    let Some(Host::Domain(name)) = url.host() else { return false };
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let sound = name.contains('.') && name.split('.').all(is_label);
    let inside = INTERNAL.iter().any(|end| is_under(name, end));
    let bare = url.username().is_empty() && url.password().is_none() && url.port().is_none();
    url.scheme() == "https" && sound && !inside && bare && url.path().len() > 1 && url.fragment().is_none()
}

fn is_under(name: &str, end: &str) -> bool {
    name.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// Where the documents come from.
#[derive(Clone)]
pub struct ClientDocuments(Source);

#[derive(Clone)]
enum Source {
    Web(Client),
    Given(Arc<Given>),
}

type Given = dyn Fn(&ClientUrl) -> Result<String, Unfetched> + Send + Sync;

/// Why there is no document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfetched {
    /// The name has no public address, or nobody answers there with a good certificate.
    #[error("could not be reached")]
    Unreached,
    /// It did not come whole in 10 seconds.
    #[error("did not come in time")]
    Lost,
    /// The answer was not 200; a redirect is not followed.
    #[error("was answered with the status {0} and not with 200")]
    Status(u16),
    /// It was of another type than JSON, or not UTF-8.
    #[error("is not JSON")]
    NotJson,
    /// It was longer than 5 KB.
    #[error("is longer than 5 KB")]
    TooLong,
}

impl ClientDocuments {
    /// Fetches them; fails only where the system has no TLS roots.
    pub fn new() -> Result<Self, String> {
        Self::web(PublicOnly(Arc::new(System)), true)
    }

    /// Asks `give` for them and fetches nothing: for tests only.
    pub fn given(give: impl Fn(&ClientUrl) -> Result<String, Unfetched> + Send + Sync + 'static) -> Self {
        Self(Source::Given(Arc::new(give)))
    }

    fn web(resolver: impl Resolve + 'static, https_only: bool) -> Result<Self, String> {
        let client = builder(CONNECT, TOTAL)
            .dns_resolver(resolver)
            .https_only(https_only)
            // The next fetch looks its host up again.
            .pool_max_idle_per_host(0)
            .referer(false)
            .build();
        client.map(|client| Self(Source::Web(client))).map_err(|error| format!("no HTTP client: {error}"))
    }

    /// The document at `url`, not yet read: at most 5 KB of text that claims to be JSON.
    pub async fn fetch(&self, url: &ClientUrl) -> Result<String, Unfetched> {
        let client = match &self.0 {
            Source::Web(client) => client,
            Source::Given(give) => return give(url),
        };
        let request = client.get(url.as_str()).header(ACCEPT, "application/json");
        let mut response = request.send().await.map_err(|error| match error {
            error if error.is_connect() || error.is_builder() => Unfetched::Unreached,
            _ => Unfetched::Lost,
        })?;
        if response.status() != StatusCode::OK {
            return Err(Unfetched::Status(response.status().as_u16()));
        }
        if !is_json(&response) {
            return Err(Unfetched::NotJson);
        }
        let mut document = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|_| Unfetched::Lost)? {
            if document.len() + chunk.len() > MAX_DOCUMENT {
                return Err(Unfetched::TooLong);
            }
            document.extend_from_slice(&chunk);
        }
        String::from_utf8(document).map_err(|_| Unfetched::NotJson)
    }
}

impl fmt::Debug for ClientDocuments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Source::Web(_) => "ClientDocuments::new",
            Source::Given(_) => "ClientDocuments::given",
        })
    }
}

/// `application/json`, or any `application/*+json`.
fn is_json(response: &Response) -> bool {
    let given =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let subtype = essence.strip_prefix("application/").unwrap_or_default();
    subtype == "json" || subtype.ends_with("+json")
}

/// The system's resolver.
struct System;

impl Resolve for System {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The port is the URL's.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(found.collect::<Vec<_>>().into_iter()) as Addrs)
        })
    }
}

/// The public addresses that a resolver finds. What is connected to is what was checked here: nobody looks the name
/// up again.
struct PublicOnly(Arc<dyn Resolve>);

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.0.resolve(name);
        Box::pin(async move {
            let mut public = found.await?.filter(|address| is_public(address.ip())).peekable();
            if public.peek().is_none() {
                return Err("the name has no public address".into());
            }
            Ok(Box::new(public) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::stand_in::{Play, StandIn};
    use proptest::prelude::*;
    use std::net::SocketAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::Instant;

    const GOOD: &str = "https://app.example.com/oauth/client.json";
    const DOCUMENT: &str = r#"{"client_id": "https://app.example.com/oauth/client.json"}"#;

    /// Every name is at these addresses. A port of theirs goes before the URL's own.
    #[derive(Clone)]
    struct Everywhere(Vec<SocketAddr>);

    impl Resolve for Everywhere {
        fn resolve(&self, _: Name) -> Resolving {
            let found = self.0.clone();
            Box::pin(async move { Ok(Box::new(found.into_iter()) as Addrs) })
        }
    }

    /// Hosts that must not be named: addresses in every notation, and names of the inside.
    const HOSTS: &str = "127.0.0.1 127.0.0.2 127.255.255.254 127.1 127.0.1 0177.0.0.1 0x7f.0.0.1 0x7f000001 2130706433 \
        017700000001 127.0.0.1. 127.0.0.01 0 0.0.0.0 0x0 10.0.0.1 10.1 0xa.1 167772161 172.16.0.1 192.168.0.1 192.168.1 \
        3232235521 169.254.169.254 169.254.43518 0xa9fea9fe 2852039166 0251.0376.0251.0376 169.254.170.2 169.254.170.23 \
        100.100.100.200 192.0.0.192 198.18.0.1 224.0.0.1 255.255.255.255 8.8.8.8 1.1 1.2.3.4.5 256.256.256.256 \
        example.0x1 example.1 [::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:169.254.169.254] \
        [::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::a9fe:a9fe] [2002:7f00:1::] [2001:0:7f00:1::] [fd00:ec2::254] [fe80::1] \
        [fe80::1%25eth0] [fc00::1] [ff02::1] [2606:4700::1111] [127.0.0.1] [::1 ::1 １２７.０.０.１ ①②⑦.0.0.1 127。0。0。1 \
        %31%32%37.0.0.1 127%2e0%2e0%2e1 localhost LOCALHOST ⓛocalhost localhost. app.localhost app.localhost. \
        printer.local printer.local. local internal metadata metadata.google.internal metadata.google.internal. \
        instance-data.ec2.internal ip-10-0-0-1.internal home.arpa nas.home.arpa nas.home.arpa. intranet intranet. com \
        example.com. example..com .example.com APP.example.com app.exämple.com app。example.com app%2eexample.com \
        app\u{200b}.example.com app\u{ad}.example.com user@app.example.com user:pass@app.example.com @app.example.com \
        :@app.example.com app.example.com@127.0.0.1 127.0.0.1@app.example.com app.example.com: app.example.com:443 \
        app.example.com:80 app.example.com:22 app.example.com:8443 app.example.com:0 app.example.com:65536 \
        app.example.com:a app.example.com\\@127.0.0.1 127.0.0.1\\@app.example.com 127.0.0.1#@app.example.com \
        127.0.0.1%23@app.example.com app.example.com\\ app.ex\tample.com app.ex\nample.com app.example.com\0 \
        app.example.com%00 app.example.com%0d%0a <app>.example.com app.example.com| *.example.com app.example.com' \
        a$b.example.com a,b.example.com a;b.example.com";

    /// Other addresses that must not be named.
    const URLS: &str = "http://app.example.com/client.json HTTPS://app.example.com/client.json ftp://app.example.com/x \
        file:///etc/passwd gopher://app.example.com/x data:application/json,{} javascript:alert(1) \
        blob:https://app.example.com/x https:app.example.com/x https:/app.example.com/x https:///app.example.com/x \
        //app.example.com/x /client.json client.json https:// https:///x https://app.example.com https://app.example.com/ \
        https://app.example.com? https://app.example.com/?x=1 https://app.example.com# https://app.example.com/x# \
        https://app.example.com/x#y https://app.example.com/./x https://app.example.com/x/. https://app.example.com/x/.. \
        https://app.example.com/../x https://app.example.com/x/../y https://app.example.com/%2e/x \
        https://app.example.com/%2e%2e/x https://app.example.com/.%2E/x https://app.example.com\\x \
        https:\\\\app.example.com/x https://app.example.com/\\x https://app.example.com/x\t \thttps://app.example.com/x \
        https://app.example.com/\nx https://app.example.com/x\0 https://app.example.com/é https://app.example.com/\"x\" \
        https://app.example.com/<x> https://app.example.com/x?\"";

    /// Names that anybody can have, and that may lead inside.
    const NAMES: &str = "127.0.0.1.nip.io 169.254.169.254.sslip.io 10.0.0.1.example.com localtest.me lvh.me \
        localhost.example.com app.example.com metadata.example.com xn--mller-kva.example.com a.b.c.d.example.org \
        rebind.example.net internal.example.com local.example.com 0x7f.example.com 127-0-0-1.example.com";

    /// Addresses that a name may have, and that are not public.
    const INSIDE: &str = "127.0.0.1 127.8.8.8 0.0.0.0 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 169.254.169.254 \
        169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.1 \
        203.0.113.1 224.0.0.251 240.0.0.1 255.255.255.255 ::1 :: ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 \
        64:ff9b::7f00:1 64:ff9b:1::1 100::1 2001:0:7f00:1:: 2001:db8::1 2002:7f00:1:: fc00::1 fd00:ec2::254 fe80::1 ff02::1";

    #[test]
    fn a_client_is_named_by_a_public_page() {
        let long = format!("https://app.example.com/{}", "x".repeat(476));
        for good in [
            GOOD,
            "https://example.com/x",
            "https://example.com/x/",
            "https://example.com//x",
            "https://example.com/a%20b%2fc?d=e",
            "https://xn--mller-kva.example/x",
            "https://localhost.example.com/x",
            &long,
        ] {
            assert_eq!(good.parse::<ClientUrl>().unwrap().as_str(), good);
        }
        assert!(format!("{long}x").parse::<ClientUrl>().unwrap_err().contains("500 characters"));
    }

    fn named(hosts: &str) -> impl Iterator<Item = String> {
        hosts.split(' ').map(|host| format!("https://{host}/client.json"))
    }

    #[tokio::test]
    async fn nothing_inside_is_named_or_connected_to() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        tokio::spawn(async move {
            while listener.accept().await.is_ok() {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        });
        let everywhere = Everywhere(vec![here]);
        let guarded = ClientDocuments::web(PublicOnly(Arc::new(everywhere.clone())), true).unwrap();
        let (mut unnamed, mut unreached) = (0, 0);
        for url in named(HOSTS).chain(URLS.split(' ').map(str::to_owned)) {
            assert!(url.parse::<ClientUrl>().is_err(), "{url:?}");
            unnamed += 1;
        }
        for url in named(NAMES) {
            assert_eq!(guarded.fetch(&url.parse().unwrap()).await, Err(Unfetched::Unreached), "{url}");
            unreached += 1;
        }
        assert!(unnamed >= 130 && unreached >= 15, "{unnamed} {unreached}");
        assert_eq!(connections.load(Ordering::SeqCst), 0);
        // Without the guard, it does connect.
        let unguarded = ClientDocuments::web(everywhere, true).unwrap();
        assert_eq!(unguarded.fetch(&GOOD.parse().unwrap()).await, Err(Unfetched::Unreached));
        assert_eq!(connections.load(Ordering::SeqCst), 1);
    }

    async fn resolved(everywhere: &str) -> Option<String> {
        let addresses = everywhere.split(' ').map(|ip| SocketAddr::new(ip.parse().unwrap(), 0)).collect();
        let guard = PublicOnly(Arc::new(Everywhere(addresses)));
        let found = guard.resolve("app.example.com".parse().unwrap()).await.ok()?;
        Some(found.map(|address| address.ip().to_string()).collect::<Vec<_>>().join(" "))
    }

    #[tokio::test]
    async fn of_a_names_addresses_only_the_public_ones_are_tried() {
        for inside in INSIDE.split(' ') {
            assert_eq!(resolved(inside).await, None, "{inside}");
        }
        assert_eq!(resolved(INSIDE).await, None);
        let mixed = format!("1.1.1.1 {INSIDE} 2606:4700::1111 8.8.8.8");
        assert_eq!(resolved(&mixed).await.as_deref(), Some("1.1.1.1 2606:4700::1111 8.8.8.8"));
    }

    #[tokio::test]
    async fn the_systems_own_names_are_not_public() {
        let name = || "localhost".parse::<Name>().unwrap();
        assert!(System.resolve(name()).await.unwrap().all(|address| address.ip().is_loopback()));
        assert!(PublicOnly(Arc::new(System)).resolve(name()).await.is_err());
    }

    /// A client that goes to `here` by plain http, whatever the host.
    fn plain(here: &str) -> (ClientDocuments, ClientUrl) {
        let here = here.trim_start_matches("http://").parse().unwrap();
        let url = ClientUrl("http://app.example.com/oauth/client.json?x=1".to_owned());
        (ClientDocuments::web(Everywhere(vec![here]), false).unwrap(), url)
    }

    async fn fetched(play: &Play) -> Result<String, Unfetched> {
        let stand_in = StandIn::playing(play).await;
        let (documents, url) = plain(&stand_in.url);
        let result = documents.fetch(&url).await;
        let mut request = stand_in.request();
        assert_eq!(request.line, "GET /oauth/client.json?x=1 HTTP/1.1");
        for (name, value) in
            [("host", "app.example.com"), ("accept", "application/json"), ("user-agent", "rolecall")]
        {
            assert_eq!(request.headers.remove(name).as_deref(), Some(value));
        }
        assert!(request.headers.is_empty() && request.body.is_empty(), "{request:?}");
        result
    }

    fn typed(content_type: &str) -> Play {
        Play::answer(200, &format!("content-type: {content_type}\r\n"), DOCUMENT)
    }

    #[tokio::test]
    async fn a_document_is_json_of_at_most_5_kb() {
        let document = Ok(DOCUMENT.to_owned());
        for json in [
            "application/json",
            "application/json; charset=utf-8",
            "Application/JSON;x",
            "application/cimd+json",
            "application/vnd.example.v1+JSON ; x=y",
        ] {
            assert_eq!(fetched(&typed(json)).await, document, "{json}");
        }
        for other in [
            "",
            "text/json",
            "text/html",
            "application/jsonp",
            "application/x-json",
            "json",
            "text/x+json",
            "text/html; application/json",
            "application/octet-stream",
            "\u{e9}",
        ] {
            assert_eq!(fetched(&typed(other)).await, Err(Unfetched::NotJson), "{other}");
        }
        assert_eq!(fetched(&Play::answer(200, "", DOCUMENT)).await, Err(Unfetched::NotJson));
        let mut broken =
            b"HTTP/1.1 200 -\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n".to_vec();
        broken.extend(b"\xc3\x28");
        assert_eq!(fetched(&Play::Send(broken)).await, Err(Unfetched::NotJson));
        let full = "x".repeat(5 * 1024);
        assert_eq!(fetched(&Play::json(200, &full)).await, Ok(full.clone()));
        assert_eq!(fetched(&Play::json(200, &format!("{full}x"))).await, Err(Unfetched::TooLong));
        assert_eq!(fetched(&Play::long(200, DOCUMENT)).await, Err(Unfetched::TooLong));
    }

    #[tokio::test]
    async fn a_length_that_is_not_told_is_counted() {
        let chunked = |chunks: usize| {
            let head =
                "HTTP/1.1 200 -\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
            let chunk = format!("400\r\n{}\r\n", "x".repeat(1024));
            Play::Send(format!("{head}{}0\r\n\r\n", chunk.repeat(chunks)).into_bytes())
        };
        assert_eq!(fetched(&chunked(5)).await, Ok("x".repeat(5 * 1024)));
        assert_eq!(fetched(&chunked(6)).await, Err(Unfetched::TooLong));
        let endless =
            format!("HTTP/1.1 200 -\r\ncontent-type: application/json\r\n\r\n{}", "x".repeat(5 * 1024 + 1));
        assert_eq!(fetched(&Play::Send(endless.into_bytes())).await, Err(Unfetched::TooLong));
    }

    #[tokio::test]
    async fn nothing_but_a_whole_200_is_a_document() {
        // The stand-in gets one request: a redirect is not followed.
        assert_eq!(fetched(&Play::redirect()).await, Err(Unfetched::Status(307)));
        for status in [201, 204, 206, 301, 302, 303, 308, 400, 401, 404, 429, 500, 503] {
            let location = "location: http://app.example.com/x\r\ncontent-type: application/json\r\n";
            let answer = Play::answer(status, location, if status == 204 { "" } else { DOCUMENT });
            assert_eq!(fetched(&answer).await, Err(Unfetched::Status(status)));
        }
        assert_eq!(fetched(&Play::html(404)).await, Err(Unfetched::Status(404)));
        assert_eq!(fetched(&Play::nothing()).await, Err(Unfetched::Lost));
        let half = "HTTP/1.1 200 -\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{";
        assert_eq!(fetched(&Play::Send(half.into())).await, Err(Unfetched::Lost));
        assert_eq!(fetched(&Play::Send(b"hello\r\n\r\n".to_vec())).await, Err(Unfetched::Lost));
        let (documents, url) = plain("127.0.0.1:0");
        assert_eq!(documents.fetch(&url).await, Err(Unfetched::Unreached));
    }

    #[tokio::test]
    async fn a_hang_and_a_trickle_end_after_10_seconds() {
        assert_eq!(fetched(&Play::Hang).await, Err(Unfetched::Lost));
        tokio::time::resume();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (documents, url) = plain(&listener.local_addr().unwrap().to_string());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert_ne!(stream.read(&mut [0; 1024]).await.unwrap(), 0);
            tokio::time::pause();
            let head = b"HTTP/1.1 200 -\r\ncontent-type: application/json\r\n\r\n";
            stream.write_all(head).await.unwrap();
            while stream.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        let start = Instant::now();
        assert_eq!(documents.fetch(&url).await, Err(Unfetched::Lost));
        assert!((10..12).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    }

    #[tokio::test]
    async fn nothing_is_fetched_without_tls() {
        let stand_in = StandIn::playing(&Play::json(200, DOCUMENT)).await;
        let (plain, url) = plain(&stand_in.url);
        let here = stand_in.url.trim_start_matches("http://").parse().unwrap();
        let strict = ClientDocuments::web(Everywhere(vec![here]), true).unwrap();
        assert_eq!(strict.fetch(&url).await, Err(Unfetched::Unreached));
        // The one request that comes is this one.
        assert_eq!(plain.fetch(&url).await, Ok(DOCUMENT.to_owned()));
        stand_in.request();
    }

    #[tokio::test]
    async fn a_test_gives_documents_of_its_own() {
        let documents = ClientDocuments::given(|url| match url.as_str() {
            GOOD => Ok(DOCUMENT.to_owned()),
            _ => Err(Unfetched::Status(404)),
        });
        assert_eq!(documents.fetch(&GOOD.parse().unwrap()).await, Ok(DOCUMENT.to_owned()));
        let other = "https://app.example.com/other".parse().unwrap();
        assert_eq!(documents.fetch(&other).await, Err(Unfetched::Status(404)));
    }

    proptest! {
        #[test]
        fn what_is_named_is_a_public_name_in_its_one_form(
            given in "(?s).{0,40}|https://[ -~]{0,40}|https://[a-z0-9.@:\\[\\]-]{1,20}/[a-z./%2]{0,12}",
        ) {
            if let Ok(named) = given.parse::<ClientUrl>() {
                let url = Url::parse(&given).unwrap();
                prop_assert_eq!((named.as_str(), url.as_str()), (given.as_str(), given.as_str()));
                let (host, path) = (url.host_str().unwrap(), url.path());
                prop_assert_eq!(&given, &format!("https://{host}{path}{}", &given[8 + host.len() + path.len()..]));
                prop_assert!(host.parse::<std::net::IpAddr>().is_err() && host.contains('.'), "{host}");
                prop_assert!(path.len() > 1 && !path.split('/').any(|segment| matches!(segment, "." | "..")));
            }
        }
    }
}
