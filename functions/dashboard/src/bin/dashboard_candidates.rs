//! The Lambda entry point of the `dashboard_candidates` function.

fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(dashboard::candidates())
}
