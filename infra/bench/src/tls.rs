//! DynamoDB's endpoint over TLS, with a certificate made for the occasion.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// Where the endpoint is, and whom its clients must trust.
pub(crate) struct Endpoint {
    pub(crate) url: String,
    pub(crate) root: PathBuf,
}

/// Passes on to `dynamodb` what arrives over TLS, for as long as this program runs.
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
                let mut stream = acceptor.accept(stream).await.ok()?;
                let mut behind = TcpStream::connect(dynamodb).await.ok()?;
                copy_bidirectional(&mut stream, &mut behind).await.ok()
            });
        }
    });
    Ok(Endpoint { url, root })
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // What is left behind in the folder for temporary files harms nobody.
        let _ = std::fs::remove_file(&self.root);
    }
}
