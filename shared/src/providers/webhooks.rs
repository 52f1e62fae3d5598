//! Sends events to webhook endpoints. Organizations choose the URLs, so requests connect only to public IP addresses.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::Resolve;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Certificate, Client, RequestBuilder, Response};
use tokio::time::{Instant, timeout_at};

use super::client::{RequestError, Transport};
use super::public_web::{self, PublicOnly};
use crate::model::{EndpointUrl, MAX_ANSWER, WebhookHeaders};

/// The time limit from the resolution of the host to the first kilobyte of the answer.
// Standard Webhooks recommends 15 to 30 seconds.
const TOTAL: Duration = Duration::from_secs(15);
/// The maximum length of an error message.
const MAX_ERROR: usize = 200;

/// Where requests may go.
#[derive(Clone)]
pub struct WebhookReach {
    resolver: Arc<dyn Resolve>,
    /// The only trusted root certificates; empty for those of the system.
    roots: Vec<Certificate>,
    allows_loopback: bool,
    /// Another way than over the network.
    transport: Option<Transport>,
}

impl WebhookReach {
    /// Public addresses, as every deployment.
    pub fn public() -> Self {
        let resolver = Arc::new(PublicOnly::of_the_system());
        Self { resolver, roots: Vec::new(), allows_loopback: false, transport: None }
    }

    /// Also ports of this machine, for the local service.
    pub fn with_loopback() -> Self {
        Self { allows_loopback: true, ..Self::public() }
    }

    /// What a resolver finds, with servers that these root certificates (in DER) certify, for tests.
    pub fn through(resolver: impl Resolve + 'static, roots: &[&[u8]]) -> Result<Self, String> {
        let roots = roots.iter().map(|root| Certificate::from_der(root)).collect::<Result<_, _>>();
        let roots = roots.map_err(|error| format!("a root certificate cannot be read: {error}"))?;
        Ok(Self { resolver: Arc::new(resolver), roots, allows_loopback: false, transport: None })
    }

    /// What `transport` reaches, for simulations.
    pub fn over(transport: Transport) -> Self {
        Self { transport: Some(transport), ..Self::public() }
    }

    /// Whether requests may go to ports of this machine.
    pub const fn allows_loopback(&self) -> bool {
        self.allows_loopback
    }
}

impl fmt::Debug for WebhookReach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookReach").field("allows_loopback", &self.allows_loopback).finish_non_exhaustive()
    }
}

/// The client for requests to endpoints.
#[derive(Clone)]
pub struct WebhookSender {
    client: Client,
    allows_loopback: bool,
    transport: Option<Transport>,
}

impl fmt::Debug for WebhookSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSender")
    }
}

/// What came of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebhookAnswer {
    /// The status, if there was an answer.
    pub status: Option<u16>,
    /// Why there was none.
    pub error: Option<String>,
    /// The value of `Retry-After`.
    pub retry_after: Option<String>,
    /// The beginning of the body.
    pub body: Option<String>,
}

impl WebhookSender {
    /// Creates a client. Fails only if the system has no TLS roots.
    pub fn new(reach: &WebhookReach) -> Result<Self, String> {
        let builder = public_web::builder(TOTAL, TOTAL, SharedResolver(reach.resolver.clone()))
            .https_only(!reach.allows_loopback);
        let builder = match reach.roots.as_slice() {
            [] => builder,
            roots => builder.tls_certs_only(roots.iter().cloned()),
        };
        let client = builder.build().map_err(|error| format!("no HTTP client: {error}"))?;
        Ok(Self { client, allows_loopback: reach.allows_loopback, transport: reach.transport.clone() })
    }

    /// Sends a request. The status decides, whatever the body is.
    pub async fn send(&self, url: &EndpointUrl, headers: &WebhookHeaders, body: &str) -> WebhookAnswer {
        if url.is_loopback() && !self.allows_loopback {
            return WebhookAnswer::error("the address is not public");
        }
        let deadline = Instant::now() + TOTAL;
        let request = self
            .client
            .post(url.as_str())
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", &headers.id)
            .header("webhook-timestamp", &headers.timestamp)
            .header("webhook-signature", &headers.signature)
            .body(body.to_owned());
        if let Some(transport) = &self.transport {
            return simulate(transport, request).await;
        }
        match timeout_at(deadline, request.send()).await {
            Ok(Ok(response)) => {
                let status = Some(response.status().as_u16());
                let retry_after = response.headers().get(RETRY_AFTER);
                let retry_after = retry_after.and_then(|value| str::from_utf8(value.as_bytes()).ok());
                let retry_after = retry_after.map(str::to_owned);
                WebhookAnswer { status, error: None, retry_after, body: Some(read(response, deadline).await) }
            }
            Ok(Err(error)) if !error.is_timeout() => WebhookAnswer::error(&innermost(&error)),
            Ok(Err(_)) | Err(_) => WebhookAnswer::error("no answer within 15 seconds"),
        }
    }
}

impl WebhookAnswer {
    fn error(sentence: &str) -> Self {
        Self { error: Some(cut(sentence.to_owned(), MAX_ERROR)), ..Self::default() }
    }
}

async fn simulate(transport: &Transport, request: RequestBuilder) -> WebhookAnswer {
    let response = match request.build() {
        Ok(request) => transport(request).await,
        Err(_) => Err(RequestError::Unreached),
    };
    match response {
        Ok(response) => WebhookAnswer { status: Some(response.status.as_u16()), ..WebhookAnswer::default() },
        Err(error) => WebhookAnswer::error(&error.to_string()),
    }
}

/// A resolver that several clients can share.
struct SharedResolver(Arc<dyn Resolve>);

impl Resolve for SharedResolver {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        self.0.resolve(name)
    }
}

/// The beginning of the body, as far as it arrives in time.
async fn read(mut response: Response, deadline: Instant) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_ANSWER {
        match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(chunk))) => bytes.extend_from_slice(&chunk),
            Ok(Ok(None) | Err(_)) | Err(_) => break,
        }
    }
    bytes.truncate(MAX_ANSWER);
    let text = match std::str::from_utf8(&bytes) {
        // The last character may be cut off.
        Err(error) if error.error_len().is_none() => String::from_utf8_lossy(&bytes[..error.valid_up_to()]),
        _ => String::from_utf8_lossy(&bytes),
    };
    cut(text.into_owned(), MAX_ANSWER)
}

/// The message of the first cause. It names neither the URL nor anything of the request.
fn innermost(error: &(dyn Error + 'static)) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}

/// The longest beginning of a text with at most `max` bytes.
fn cut(mut text: String, max: usize) -> String {
    text.truncate(text.floor_char_boundary(max));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::public_web::FixedResolver;
    use crate::providers::test_server::{Play, TestServer};
    use rcgen::{CertifiedKey, generate_simple_self_signed};
    use rustls::ServerConfig;
    use rustls::crypto::ring;
    use rustls::pki_types::PrivateKeyDer;
    use std::net::{IpAddr, SocketAddr};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    const BODY: &str = r#"{"id":1}"#;

    fn headers() -> WebhookHeaders {
        WebhookHeaders {
            id: "17".to_owned(),
            timestamp: "1795000000".to_owned(),
            signature: "v1,x v1a,y".to_owned(),
        }
    }

    async fn send(sender: &WebhookSender, url: &str) -> WebhookAnswer {
        sender.send(&url.parse().unwrap(), &headers(), BODY).await
    }

    /// Sends a request to a server on this machine, as the local service does.
    async fn sent_locally(play: &Play) -> WebhookAnswer {
        let server = TestServer::playing(play).await;
        let sender = WebhookSender::new(&WebhookReach::with_loopback()).unwrap();
        let answer = send(&sender, &format!("{}/hook?x=1", server.url)).await;
        let mut request = server.request();
        assert_eq!((request.line.as_str(), request.body.as_str()), ("POST /hook?x=1 HTTP/1.1", BODY));
        for (name, value) in [
            ("content-type", "application/json"),
            ("webhook-id", "17"),
            ("webhook-timestamp", "1795000000"),
            ("webhook-signature", "v1,x v1a,y"),
            ("user-agent", "rolecall"),
            ("accept", "*/*"),
            ("content-length", "8"),
        ] {
            assert_eq!(request.headers.remove(name).as_deref(), Some(value));
        }
        request.headers.remove("host");
        assert!(request.headers.is_empty(), "{request:?}");
        answer
    }

    #[tokio::test]
    async fn the_status_and_the_first_kilobyte_of_an_answer_are_kept() {
        let answer = sent_locally(&Play::response(204, "", "")).await;
        assert_eq!((answer.status, answer.error, answer.body.as_deref()), (Some(204), None, Some("")));
        let answer = sent_locally(&Play::response(503, "retry-after: 120\r\n", "later")).await;
        assert_eq!(answer.retry_after.as_deref(), Some("120"));
        assert_eq!((answer.status, answer.body.as_deref()), (Some(503), Some("later")));
        let answer = sent_locally(&Play::response(200, "", &"é".repeat(600))).await;
        assert_eq!(answer.body, Some("é".repeat(512)));
        let answer = sent_locally(&Play::response(200, "", &format!("x{}", "é".repeat(600)))).await;
        assert_eq!(answer.body, Some(format!("x{}", "é".repeat(511))));
        let answer = sent_locally(&Play::long(200, "x")).await;
        assert_eq!((answer.status, answer.body.map(|body| body.len())), (Some(200), Some(1024)));
        let mut bytes = b"HTTP/1.1 200 -\r\n\r\n".to_vec();
        bytes.extend([0xff; 2000]);
        let answer = sent_locally(&Play::Send(bytes)).await;
        assert_eq!(answer.body.map(|body| body.len()), Some(1023), "each byte became three");
    }

    #[tokio::test]
    async fn redirects_are_not_followed_and_compressed_answers_stay_compressed() {
        assert_eq!(sent_locally(&Play::redirect()).await.status, Some(307));
        let answer = sent_locally(&Play::response(200, "content-encoding: gzip\r\n", "not gzip")).await;
        assert_eq!((answer.status, answer.body.as_deref()), (Some(200), Some("not gzip")));
    }

    #[tokio::test]
    async fn an_endpoint_that_hangs_is_given_up_after_15_seconds_and_half_an_answer_counts() {
        let begun = Instant::now();
        let answer = sent_locally(&Play::Hang).await;
        assert_eq!(answer, WebhookAnswer::error("no answer within 15 seconds"));
        assert_eq!(begun.elapsed().as_secs(), 15);
        tokio::time::resume();
        let answer = sent_locally(&Play::half(200, "half")).await;
        assert_eq!((answer.status, answer.body.as_deref()), (Some(200), Some("half")));
        let answer = sent_locally(&Play::nothing()).await;
        assert!(answer.status.is_none() && answer.error.is_some(), "{answer:?}");
    }

    /// Starts a server with a self-signed certificate for a name. Returns its address, its certificate and what it receives.
    async fn tls_server(name: &str) -> (SocketAddr, Vec<u8>, Arc<Mutex<Vec<String>>>) {
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed([name.to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
        let tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, received) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let kept = received.clone();
        tokio::spawn(async move {
            let acceptor = TlsAcceptor::from(Arc::new(tls));
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let mut request = vec![0; 4096];
                let length = stream.read(&mut request).await.unwrap_or(0);
                kept.lock().unwrap().push(String::from_utf8_lossy(&request[..length]).into_owned());
                let _ = stream.write_all(b"HTTP/1.1 200 -\r\ncontent-length: 2\r\n\r\nok").await;
                let _ = stream.shutdown().await;
            }
        });
        (address, cert.der().to_vec(), received)
    }

    #[tokio::test]
    async fn a_server_needs_a_trusted_certificate_for_its_name() {
        let (address, root, received) = tls_server("hooks.example.com").await;
        let resolver = FixedResolver(vec![address]);
        let trusting = WebhookReach::through(resolver.clone(), &[&root]).unwrap();
        let sender = WebhookSender::new(&trusting).unwrap();
        let answer = send(&sender, "https://hooks.example.com/x").await;
        assert_eq!((answer.status, answer.body.as_deref()), (Some(200), Some("ok")), "{answer:?}");
        let answer = send(&sender, "https://hooks.example.org/x").await;
        assert!(answer.error.unwrap().contains("certificate"));
        let others = WebhookReach { roots: Vec::new(), ..trusting };
        let answer = send(&WebhookSender::new(&others).unwrap(), "https://hooks.example.com/x").await;
        assert!(answer.error.unwrap().contains("certificate"));
        let received = received.lock().unwrap();
        assert_eq!(received.len(), 1);
        assert!(received[0].starts_with("POST /x HTTP/1.1\r\n"), "{received:?}");
    }

    /// A resolver whose answer is public at first and internal afterwards.
    struct Rebinding(AtomicUsize, [SocketAddr; 2]);

    impl Resolve for Rebinding {
        fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
            let address = self.1[self.0.fetch_add(1, Ordering::SeqCst).min(1)];
            Box::pin(async move { Ok(Box::new(std::iter::once(address)) as reqwest::dns::Addrs) })
        }
    }

    #[tokio::test]
    async fn hostile_addresses_are_never_connected_to() {
        let (address, root, received) = tls_server("hooks.example.com").await;
        let connect = |ips: Vec<IpAddr>| {
            let addresses = ips.into_iter().map(|ip| SocketAddr::new(ip, address.port())).collect();
            let resolver = PublicOnly::of(FixedResolver(addresses));
            WebhookSender::new(&WebhookReach::through(resolver, &[&root]).unwrap()).unwrap()
        };
        let internal = "127.0.0.1 127.8.8.8 0.0.0.0 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 169.254.169.254 \
            169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.1 \
            203.0.113.1 224.0.0.251 240.0.0.1 255.255.255.255 ::1 :: ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 \
            ::127.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1 100::1 2001:0:7f00:1:: 2001:db8::1 2002:7f00:1:: fc00::1 fd00:ec2::254 \
            fe80::1 fec0::1 ff02::1";
        let internal: Vec<IpAddr> = internal.split_whitespace().map(|ip| ip.parse().unwrap()).collect();
        let mut refused = 0;
        for ip in &internal {
            for name in ["hooks.example.com", "127.0.0.1.nip.io"] {
                let answer = send(&connect(vec![*ip]), &format!("https://{name}/x")).await;
                assert_eq!(answer, WebhookAnswer::error("the name has no public IP address"), "{ip}");
                refused += 1;
            }
        }
        let answer = send(&connect(internal.clone()), "https://hooks.example.com/x").await;
        assert_eq!(answer, WebhookAnswer::error("the name has no public IP address"));
        // What cannot be an endpoint's URL at all, in every notation.
        for bad in "https://127.0.0.1/ https://127.1/ https://0x7f.1/ https://2130706433/ https://0177.0.0.1/ https://[::1]/ \
            https://[::ffff:127.0.0.1]/ https://[fd00:ec2::254]/ https://169.254.169.254/latest https://localhost/ \
            https://localhost./ https://app.localhost/ https://metadata.google.internal/ https://printer.local/ \
            https://nas.home.arpa/ https://intranet/ https://user@hooks.example.com/ https://a:b@hooks.example.com/ \
            https://hooks.example.com@127.0.0.1/ https://hooks.example.com:22/ https://hooks.example.com:8443/ \
            https://hooks.example.com:80/ http://hooks.example.com/ http://127.0.0.1/ http://localhost:3000/ \
            https://hooks.exämple.com/ https://ⓛocalhost/ https://hooks。example.com/ https://%31%32%37.0.0.1/ \
            ftp://hooks.example.com/ file:///etc/passwd gopher://hooks.example.com/"
            .split_whitespace()
        {
            assert!(bad.parse::<EndpointUrl>().is_err(), "{bad}");
            refused += 1;
        }
        // A URL of this machine that was stored by a local service.
        let local = format!("http://{address}/x");
        let answer = send(&connect(vec![address.ip()]), &local).await;
        assert_eq!(answer, WebhookAnswer::error("the address is not public"));
        // A name that is public when it is first resolved: the second request resolves it again and is refused. (The
        // first one goes to an address where nothing answers, so only its resolution is looked at.)
        let rebinding = Rebinding(AtomicUsize::new(1), [SocketAddr::from(([1, 1, 1, 1], 443)), address]);
        let reach = WebhookReach::through(PublicOnly::of(rebinding), &[&root]).unwrap();
        let answer = send(&WebhookSender::new(&reach).unwrap(), "https://hooks.example.com/x").await;
        assert_eq!(answer, WebhookAnswer::error("the name has no public IP address"));
        assert!(refused >= 100, "{refused}");
        assert!(received.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn each_request_resolves_the_name_once() {
        struct Counting(Arc<AtomicUsize>, SocketAddr);
        impl Resolve for Counting {
            fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
                self.0.fetch_add(1, Ordering::SeqCst);
                let address = self.1;
                Box::pin(async move { Ok(Box::new(std::iter::once(address)) as reqwest::dns::Addrs) })
            }
        }
        let (address, root, received) = tls_server("hooks.example.com").await;
        let resolved = Arc::new(AtomicUsize::new(0));
        let reach = WebhookReach::through(Counting(resolved.clone(), address), &[&root]).unwrap();
        let sender = WebhookSender::new(&reach).unwrap();
        for requests in 1..=3 {
            assert_eq!(send(&sender, "https://hooks.example.com/x").await.status, Some(200));
            assert_eq!(resolved.load(Ordering::SeqCst), requests);
            assert_eq!(received.lock().unwrap().len(), requests);
        }
    }
}
