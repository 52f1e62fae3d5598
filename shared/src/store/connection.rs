//! The connection to DynamoDB: HTTP/1.1, which DynamoDB uses, over TLS with Amazon's root certificates.
//!
//! The SDK's own client reads all of the system's root certificates at startup, builds its connector twice, and
//! includes HTTP/2 and proxies. That was half of a function's work before its first event and a tenth of its binary.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::retry::ErrorKind;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

/// The root certificates of Amazon Trust Services, which certifies all AWS endpoints
/// (<https://www.amazontrust.com/repository/>).
const AMAZON_ROOTS: [&[u8]; 5] = [
    include_bytes!("roots/AmazonRootCA1.cer"),
    include_bytes!("roots/AmazonRootCA2.cer"),
    include_bytes!("roots/AmazonRootCA3.cer"),
    include_bytes!("roots/AmazonRootCA4.cer"),
    include_bytes!("roots/SFSRootCAG2.cer"),
];
/// The time an idle connection is kept. DynamoDB must not close it first, because the first write after a function was
/// frozen would then fail.
const IDLE: Duration = Duration::from_secs(15);

/// An HTTP client for the SDK that trusts only Amazon's root certificates.
pub fn https_client() -> SharedHttpClient {
    https_client_trusting(AMAZON_ROOTS.map(CertificateDer::from))
}

/// An HTTP client for the SDK that trusts only these root certificates.
pub fn https_client_trusting(roots: impl IntoIterator<Item = CertificateDer<'static>>) -> SharedHttpClient {
    let roots: Vec<_> = roots.into_iter().collect();
    // The SDK passes the connect timeout with each call. It is always the same, so one connection pool is enough.
    let connection = OnceLock::new();
    http_client_fn(move |settings, _| {
        let connect = || SharedHttpConnector::new(Connection::new(&roots, settings.connect_timeout()));
        connection.get_or_init(connect).clone()
    })
}

#[derive(Debug)]
struct Connection {
    client: Client<HttpsConnector<TcpConnector>, SdkBody>,
}

impl Connection {
    fn new(roots: &[CertificateDer<'static>], timeout: Option<Duration>) -> Self {
        let mut trusted = RootCertStore::empty();
        trusted.add_parsable_certificates(roots.iter().cloned());
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        #[expect(clippy::expect_used, reason = "ring has the cipher suites of both versions")]
        let tls = tls.with_safe_default_protocol_versions().expect("TLS 1.2 and 1.3");
        let mut tcp = TcpConnector::new();
        // The connector around this one takes HTTPS; local databases have HTTP.
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(timeout);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls.with_root_certificates(trusted).with_no_client_auth())
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        Self { client: Client::builder(TokioExecutor::new()).pool_idle_timeout(IDLE).build(connector) }
    }
}

impl HttpConnector for Connection {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let request = match request.try_into_http1x() {
            Ok(request) => request,
            Err(error) => return HttpConnectorFuture::ready(Err(ConnectorError::user(error.into()))),
        };
        let response = self.client.request(request);
        HttpConnectorFuture::new(async {
            let response = response.await.map_err(connector_error)?;
            HttpResponse::try_from(response.map(SdkBody::from_body_1_x))
                .map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

/// Converts an error to the kind that the SDK's retries expect.
fn connector_error(error: hyper_util::client::legacy::Error) -> ConnectorError {
    let http = find::<hyper::Error>(&error);
    if http.is_some_and(hyper::Error::is_timeout) {
        ConnectorError::timeout(error.into())
    } else if http.is_some_and(hyper::Error::is_user) {
        ConnectorError::user(error.into())
    } else if http.is_some_and(hyper::Error::is_incomplete_message) {
        ConnectorError::other(error.into(), Some(ErrorKind::TransientError))
    } else {
        ConnectorError::io(error.into())
    }
}

/// The first error of this type in a chain of errors.
fn find<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    error.downcast_ref().or_else(|| find(error.source()?))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertifiedKey, generate_simple_self_signed};
    use rustls::ServerConfig;
    use rustls::pki_types::PrivateKeyDer;
    use sha2::{Digest, Sha256};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    /// The SHA-256 fingerprints that Amazon Trust Services publishes.
    const FINGERPRINTS: [&str; 5] = [
        "8ecde6884f3d87b1125ba31ac3fcb13d7016de7f57cc904fe1cb97c6ae98196e",
        "1ba5b2aa8c65401a82960118f80bec4f62304d83cec4713a19c39c011ea46db4",
        "18ce6cfe7bf14e60b2e347b8dfe868cb31d02ebb3ada271569f50343b46db3a4",
        "e35d28419ed02025cfa69038cd623962458da5c695fbdea3c22b0bfb25897092",
        "568d6905a2c88708a4b3025190edcfedb1974a606a13c6e5290fcb2ae63edab5",
    ];

    #[test]
    fn the_roots_have_the_published_fingerprints() {
        for (root, fingerprint) in AMAZON_ROOTS.into_iter().zip(FINGERPRINTS) {
            let digest = Sha256::digest(root);
            let digest = digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
            assert_eq!(digest, fingerprint);
        }
        let mut trusted = RootCertStore::empty();
        assert_eq!(trusted.add_parsable_certificates(AMAZON_ROOTS.map(CertificateDer::from)), (5, 0));
    }

    /// Calls a local server with a self-signed certificate. Returns whether the call succeeds.
    async fn call(trusted: impl FnOnce(CertificateDer<'static>) -> Vec<CertificateDer<'static>>) -> bool {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![cert.der().clone()],
                PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap(),
            )
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = TlsAcceptor::from(Arc::new(tls)).accept(stream).await?;
            assert!(stream.read(&mut [0; 1024]).await? > 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await
        });
        let mut request = HttpRequest::new(SdkBody::empty());
        request.set_uri(url).unwrap();
        let response = Connection::new(&trusted(cert.der().clone()), None).call(request).await;
        response.inspect_err(|error| assert!(error.is_io(), "{error:?}")).is_ok()
    }

    #[tokio::test]
    async fn a_client_trusts_only_its_own_roots() {
        assert!(call(|certificate| vec![certificate]).await);
        assert!(!call(|_| AMAZON_ROOTS.map(CertificateDer::from).to_vec()).await);
    }
}
