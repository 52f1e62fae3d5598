//! The floor with a TLS handshake before its first event, with the same library, roots and host as `roles_tls`.

use std::sync::Arc;

use lambda_http::{Body, Error, Request, Response, run, service_fn};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

fn main() -> Result<(), Error> {
    let respond = |_: Request| async { Ok::<_, Error>(Response::new(Body::from("Hello, world!"))) };
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(std::fs::read(std::env::var("BENCH_ROOT")?)?))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let endpoint = std::env::var("DYNAMODB_ENDPOINT")?;
        let stream = TcpStream::connect(endpoint.trim_start_matches("https://")).await?;
        let name = ServerName::try_from("localhost")?;
        let _connection = TlsConnector::from(Arc::new(tls)).connect(name, stream).await?;
        run(service_fn(respond)).await
    })
}
