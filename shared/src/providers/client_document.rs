//! Fetches OAuth Client ID Metadata Documents. Anyone can make the service fetch a URL, so it connects only to public
//! IP addresses and limits the response size.

use std::fmt;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::Resolve;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use url::{Host, Url};

use super::public_web::{self, PublicOnly};
use crate::model::is_public_name;

/// The time limit for resolving and connecting to the host.
const CONNECT: Duration = Duration::from_secs(2);
/// The time limit for the whole fetch.
const TOTAL: Duration = Duration::from_secs(10);
/// The maximum size of a document, in bytes.
const MAX_DOCUMENT: usize = 5 * 1024;

/// A client id that is the URL of a metadata document: https, a public host name on the default port, a path, in
/// normalized form, at most 500 characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientUrl(String);

impl ClientUrl {
    const MAX: usize = 500;

    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ClientUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.chars().count() > Self::MAX {
            return Err(format!("must be at most {} characters", Self::MAX));
        }
        // If parsing changes the text, other programs may parse it differently.
        let url = Url::parse(text).ok().filter(|url| url.as_str() == text);
        if url.is_some_and(|url| is_allowed(&url)) {
            Ok(Self(text.to_owned()))
        } else {
            Err("must be an https URL with a public host name and a path, in normalized form, \
                 without a port, a user name, dot segments or a fragment"
                .to_owned())
        }
    }
}

fn is_allowed(url: &Url) -> bool {
    // The resolver checks IP addresses, and a literal IP address in the URL would bypass it.
    let Some(Host::Domain(name)) = url.host() else { return false };
    let is_bare = url.username().is_empty() && url.password().is_none() && url.port().is_none();
    url.scheme() == "https"
        && is_public_name(name)
        && is_bare
        && url.path().len() > 1
        && url.fragment().is_none()
}

/// A client that fetches metadata documents.
#[derive(Clone)]
pub struct ClientDocuments(Source);

#[derive(Clone)]
enum Source {
    Web(Client),
    Function(Arc<FetchFn>),
}

type FetchFn = dyn Fn(&ClientUrl) -> Fetched + Send + Sync;

type Fetched = Pin<Box<dyn Future<Output = Result<String, FetchError>> + Send>>;

/// Why a document could not be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The host has no public IP address, or no server with a valid certificate.
    #[error("could not be reached")]
    Unreached,
    /// The document did not arrive completely within 10 seconds.
    #[error("did not arrive in time")]
    Lost,
    /// The response status was not 200. Redirects are not followed.
    #[error("returned status {0} instead of 200")]
    Status(u16),
    /// The content type is not JSON, or the document is not UTF-8.
    #[error("is not JSON")]
    NotJson,
    /// The document is longer than 5 KB.
    #[error("is longer than 5 KB")]
    TooLong,
}

impl ClientDocuments {
    /// Creates a client that fetches documents from the web. Fails only if the system has no TLS roots.
    pub fn new() -> Result<Self, String> {
        Self::web(PublicOnly::of_the_system(), true)
    }

    /// Creates a client that gets documents from a function, for tests and simulations only.
    pub fn from_fn<F>(fetch: impl Fn(&ClientUrl) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<String, FetchError>> + Send + 'static,
    {
        Self(Source::Function(Arc::new(move |url| Box::pin(fetch(url)))))
    }

    fn web(resolver: impl Resolve + 'static, https_only: bool) -> Result<Self, String> {
        let client = public_web::builder(CONNECT, TOTAL, resolver).https_only(https_only).build();
        client.map(|client| Self(Source::Web(client))).map_err(|error| format!("no HTTP client: {error}"))
    }

    /// Fetches the document at `url` without parsing it. It must be at most 5 KB of UTF-8 with a JSON content type.
    pub async fn fetch(&self, url: &ClientUrl) -> Result<String, FetchError> {
        let client = match &self.0 {
            Source::Web(client) => client,
            Source::Function(fetch) => return fetch(url).await,
        };
        let request = client.get(url.as_str()).header(ACCEPT, "application/json");
        let mut response = request.send().await.map_err(|error| match error {
            error if error.is_connect() || error.is_builder() => FetchError::Unreached,
            _ => FetchError::Lost,
        })?;
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status(response.status().as_u16()));
        }
        if !is_json(&response) {
            return Err(FetchError::NotJson);
        }
        let mut document = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|_| FetchError::Lost)? {
            if document.len() + chunk.len() > MAX_DOCUMENT {
                return Err(FetchError::TooLong);
            }
            document.extend_from_slice(&chunk);
        }
        String::from_utf8(document).map_err(|_| FetchError::NotJson)
    }
}

impl fmt::Debug for ClientDocuments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Source::Web(_) => "ClientDocuments::new",
            Source::Function(_) => "ClientDocuments::from_fn",
        })
    }
}

/// Whether the content type is `application/json` or `application/*+json`.
fn is_json(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let essence = String::from_utf8_lossy(content_type).to_ascii_lowercase();
    let essence = essence.split(';').next().unwrap_or_default().trim();
    let subtype = essence.strip_prefix("application/").unwrap_or_default();
    subtype == "json" || subtype.ends_with("+json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::public_web::{FixedResolver, System};
    use crate::providers::test_server::{Play, TestServer};
    use proptest::prelude::*;
    use reqwest::dns::Name;
    use std::future::ready;
    use std::net::SocketAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::Instant;

    const VALID: &str = "https://app.example.com/oauth/client.json";
    const DOCUMENT: &str = r#"{"client_id": "https://app.example.com/oauth/client.json"}"#;

    /// Hosts that are rejected: IP addresses in every notation, and internal names.
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

    /// Other URLs that are rejected.
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

    /// Public names that may resolve to internal addresses.
    const NAMES: &str = "127.0.0.1.nip.io 169.254.169.254.sslip.io 10.0.0.1.example.com localtest.me lvh.me \
        localhost.example.com app.example.com metadata.example.com xn--mller-kva.example.com a.b.c.d.example.org \
        rebind.example.net internal.example.com local.example.com 0x7f.example.com 127-0-0-1.example.com";

    /// IP addresses that are not public.
    const NOT_PUBLIC: &str = "127.0.0.1 127.8.8.8 0.0.0.0 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 \
        169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 \
        198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.251 240.0.0.1 255.255.255.255 ::1 :: ::ffff:127.0.0.1 \
        ::ffff:10.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 64:ff9b:1::1 100::1 2001:0:7f00:1:: 2001:db8::1 \
        2002:7f00:1:: fc00::1 fd00:ec2::254 fe80::1 ff02::1";

    #[test]
    fn a_client_id_is_a_public_url() {
        let long = format!("https://app.example.com/{}", "x".repeat(476));
        for valid in [
            VALID,
            "https://example.com/x",
            "https://example.com/x/",
            "https://example.com//x",
            "https://example.com/a%20b%2fc?d=e",
            "https://xn--mller-kva.example/x",
            "https://localhost.example.com/x",
            &long,
        ] {
            assert_eq!(valid.parse::<ClientUrl>().unwrap().as_str(), valid);
        }
        assert!(format!("{long}x").parse::<ClientUrl>().unwrap_err().contains("500 characters"));
    }

    fn urls(hosts: &str) -> impl Iterator<Item = String> {
        hosts.split(' ').map(|host| format!("https://{host}/client.json"))
    }

    #[tokio::test]
    async fn internal_addresses_are_rejected_and_never_connected_to() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        tokio::spawn(async move {
            while listener.accept().await.is_ok() {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        });
        let resolver = FixedResolver(vec![here]);
        let guarded = ClientDocuments::web(PublicOnly::of(resolver.clone()), true).unwrap();
        let (mut rejected, mut unreached) = (0, 0);
        for url in urls(HOSTS).chain(URLS.split(' ').map(str::to_owned)) {
            assert!(url.parse::<ClientUrl>().is_err(), "{url:?}");
            rejected += 1;
        }
        for url in urls(NAMES) {
            assert_eq!(guarded.fetch(&url.parse().unwrap()).await, Err(FetchError::Unreached), "{url}");
            unreached += 1;
        }
        assert!(rejected >= 130 && unreached >= 15, "{rejected} {unreached}");
        assert_eq!(connections.load(Ordering::SeqCst), 0);
        // A client without the guard does connect.
        let unguarded = ClientDocuments::web(resolver, true).unwrap();
        assert_eq!(unguarded.fetch(&VALID.parse().unwrap()).await, Err(FetchError::Unreached));
        assert_eq!(connections.load(Ordering::SeqCst), 1);
    }

    async fn resolved(ips: &str) -> Option<String> {
        let addresses = ips.split(' ').map(|ip| SocketAddr::new(ip.parse().unwrap(), 0)).collect();
        let guard = PublicOnly::of(FixedResolver(addresses));
        let found = guard.resolve("app.example.com".parse().unwrap()).await.ok()?;
        Some(found.map(|address| address.ip().to_string()).collect::<Vec<_>>().join(" "))
    }

    #[tokio::test]
    async fn only_public_addresses_of_a_host_are_used() {
        for ip in NOT_PUBLIC.split(' ') {
            assert_eq!(resolved(ip).await, None, "{ip}");
        }
        assert_eq!(resolved(NOT_PUBLIC).await, None);
        let mixed = format!("1.1.1.1 {NOT_PUBLIC} 2606:4700::1111 8.8.8.8");
        assert_eq!(resolved(&mixed).await.as_deref(), Some("1.1.1.1 2606:4700::1111 8.8.8.8"));
    }

    #[tokio::test]
    async fn localhost_is_not_public() {
        let name = || "localhost".parse::<Name>().unwrap();
        assert!(System.resolve(name()).await.unwrap().all(|address| address.ip().is_loopback()));
        assert!(PublicOnly::of_the_system().resolve(name()).await.is_err());
    }

    /// A client that connects to `here` over plain HTTP for every host.
    fn plain(here: &str) -> (ClientDocuments, ClientUrl) {
        let here = here.trim_start_matches("http://").parse().unwrap();
        let url = ClientUrl("http://app.example.com/oauth/client.json?x=1".to_owned());
        (ClientDocuments::web(FixedResolver(vec![here]), false).unwrap(), url)
    }

    async fn fetched(play: &Play) -> Result<String, FetchError> {
        let test_server = TestServer::playing(play).await;
        let (documents, url) = plain(&test_server.url);
        let result = documents.fetch(&url).await;
        let mut request = test_server.request();
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
        Play::response(200, &format!("content-type: {content_type}\r\n"), DOCUMENT)
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
            assert_eq!(fetched(&typed(other)).await, Err(FetchError::NotJson), "{other}");
        }
        assert_eq!(fetched(&Play::response(200, "", DOCUMENT)).await, Err(FetchError::NotJson));
        let mut broken =
            b"HTTP/1.1 200 -\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n".to_vec();
        broken.extend(b"\xc3\x28");
        assert_eq!(fetched(&Play::Send(broken)).await, Err(FetchError::NotJson));
        let full = "x".repeat(5 * 1024);
        assert_eq!(fetched(&Play::json(200, &full)).await, Ok(full.clone()));
        assert_eq!(fetched(&Play::json(200, &format!("{full}x"))).await, Err(FetchError::TooLong));
        assert_eq!(fetched(&Play::long(200, DOCUMENT)).await, Err(FetchError::TooLong));
    }

    #[tokio::test]
    async fn the_limit_also_applies_without_a_content_length() {
        let chunked = |chunks: usize| {
            let head =
                "HTTP/1.1 200 -\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
            let chunk = format!("400\r\n{}\r\n", "x".repeat(1024));
            Play::Send(format!("{head}{}0\r\n\r\n", chunk.repeat(chunks)).into_bytes())
        };
        assert_eq!(fetched(&chunked(5)).await, Ok("x".repeat(5 * 1024)));
        assert_eq!(fetched(&chunked(6)).await, Err(FetchError::TooLong));
        let endless =
            format!("HTTP/1.1 200 -\r\ncontent-type: application/json\r\n\r\n{}", "x".repeat(5 * 1024 + 1));
        assert_eq!(fetched(&Play::Send(endless.into_bytes())).await, Err(FetchError::TooLong));
    }

    #[tokio::test]
    async fn only_a_complete_200_response_is_a_document() {
        // The test server receives only one request, so the redirect is not followed.
        assert_eq!(fetched(&Play::redirect()).await, Err(FetchError::Status(307)));
        for status in [201, 204, 206, 301, 302, 303, 308, 400, 401, 404, 429, 500, 503] {
            let location = "location: http://app.example.com/x\r\ncontent-type: application/json\r\n";
            let response = Play::response(status, location, if status == 204 { "" } else { DOCUMENT });
            assert_eq!(fetched(&response).await, Err(FetchError::Status(status)));
        }
        assert_eq!(fetched(&Play::html(404)).await, Err(FetchError::Status(404)));
        assert_eq!(fetched(&Play::nothing()).await, Err(FetchError::Lost));
        let incomplete = "HTTP/1.1 200 -\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{";
        assert_eq!(fetched(&Play::Send(incomplete.into())).await, Err(FetchError::Lost));
        assert_eq!(fetched(&Play::Send(b"hello\r\n\r\n".to_vec())).await, Err(FetchError::Lost));
        let (documents, url) = plain("127.0.0.1:0");
        assert_eq!(documents.fetch(&url).await, Err(FetchError::Unreached));
    }

    #[tokio::test]
    async fn hanging_and_slow_responses_time_out_after_10_seconds() {
        assert_eq!(fetched(&Play::Hang).await, Err(FetchError::Lost));
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
        assert_eq!(documents.fetch(&url).await, Err(FetchError::Lost));
        assert!((10..12).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    }

    #[tokio::test]
    async fn documents_are_fetched_only_over_tls() {
        let test_server = TestServer::playing(&Play::json(200, DOCUMENT)).await;
        let (plain, url) = plain(&test_server.url);
        let here = test_server.url.trim_start_matches("http://").parse().unwrap();
        let strict = ClientDocuments::web(FixedResolver(vec![here]), true).unwrap();
        assert_eq!(strict.fetch(&url).await, Err(FetchError::Unreached));
        // The server receives only this request.
        assert_eq!(plain.fetch(&url).await, Ok(DOCUMENT.to_owned()));
        test_server.request();
    }

    #[tokio::test]
    async fn tests_can_provide_documents() {
        let documents = ClientDocuments::from_fn(|url| {
            ready(match url.as_str() {
                VALID => Ok(DOCUMENT.to_owned()),
                _ => Err(FetchError::Status(404)),
            })
        });
        assert_eq!(documents.fetch(&VALID.parse().unwrap()).await, Ok(DOCUMENT.to_owned()));
        let other = "https://app.example.com/other".parse().unwrap();
        assert_eq!(documents.fetch(&other).await, Err(FetchError::Status(404)));
    }

    proptest! {
        #[test]
        fn accepted_urls_are_normalized_and_have_public_names(
            text in "(?s).{0,40}|https://[ -~]{0,40}|https://[a-z0-9.@:\\[\\]-]{1,20}/[a-z./%2]{0,12}",
        ) {
            if let Ok(accepted) = text.parse::<ClientUrl>() {
                let url = Url::parse(&text).unwrap();
                prop_assert_eq!((accepted.as_str(), url.as_str()), (text.as_str(), text.as_str()));
                let (host, path) = (url.host_str().unwrap(), url.path());
                prop_assert_eq!(&text, &format!("https://{host}{path}{}", &text[8 + host.len() + path.len()..]));
                prop_assert!(host.parse::<std::net::IpAddr>().is_err() && host.contains('.'), "{host}");
                prop_assert!(path.len() > 1 && !path.split('/').any(|segment| matches!(segment, "." | "..")));
            }
        }
    }
}
