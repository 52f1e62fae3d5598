//! A TLS proxy in front of DynamoDB, with a self-signed certificate.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// The proxy's URL, and the path of the root certificate that clients must trust.
pub(crate) struct Endpoint {
    pub(crate) url: String,
    pub(crate) root: PathBuf,
}

/// Starts the proxy, which forwards connections to `dynamodb` until this program exits.
pub(crate) async fn serve(dynamodb: &str) -> Result<Endpoint, Box<dyn std::error::Error>> {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivateKeyDer::try_from(signing_key.serialize_der())?;
    let tls = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)?;
    let root = std::env::temp_dir().join(format!("rolecall-bench-{}.cer", std::process::id()));
    std::fs::write(&root, cert.der())?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("https://localhost:{}", listener.local_addr()?.port());
    let (acceptor, dynamodb) =
        (TlsAcceptor::from(Arc::new(tls)), dynamodb.trim_start_matches("http://").to_owned());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, dynamodb) = (acceptor.clone(), dynamodb.clone());
            tokio::spawn(async move {
                stream.set_nodelay(true).ok()?;
                let mut stream = acceptor.accept(stream).await.ok()?;
                let mut upstream = TcpStream::connect(dynamodb).await.ok()?;
                upstream.set_nodelay(true).ok()?;
                copy_bidirectional(&mut stream, &mut upstream).await.ok()
            });
        }
    });
    Ok(Endpoint { url, root })
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // A leftover temporary file does no harm.
        let _ = std::fs::remove_file(&self.root);
    }
}
