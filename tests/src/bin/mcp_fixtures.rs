//! Serves the MCP endpoint with the fixtures of the conformance suite, until the standard input ends. The first line of the
//! output has the address, the base URL that the service knows, and an API key.

use std::net::Ipv4Addr;

use rolecall_local::server::{self, Host};
use shared::model::Mode;
use tests::{ACME, BASE_URL, TestApi, key};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut api = Box::pin(TestApi::new()).await;
    api.serve_mcp_fixtures();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("http://{} {BASE_URL} {}", listener.local_addr()?, key(ACME, Mode::Live));
    let closed = tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin()));
    let hosts = BASE_URL.trim_start_matches("https://").parse().map_err(std::io::Error::other)?;
    server::serve(listener, Host::Gateway(api.gateway.clone(), hosts), async {
        // An error ends the input, too.
        let _ = closed.await;
    })
    .await
}
