//! The `roles` function, which trusts the benchmark's root certificate instead of Amazon's.

use rustls::pki_types::CertificateDer;

fn main() -> Result<(), lambda_http::Error> {
    let root = std::fs::read(std::env::var("BENCH_ROOT")?)?;
    shared::runtime::serve_over(
        shared::store::https_client_trusting([CertificateDer::from(root)]),
        roles::routes(),
    )
}
