//! The Lambda entry point of the `dashboard_account` function.

fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(dashboard::account())
}
