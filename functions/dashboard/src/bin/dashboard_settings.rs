//! The Lambda entry point of the `dashboard_settings` function.

fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(dashboard::settings())
}
