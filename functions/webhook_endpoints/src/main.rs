//! The Lambda entry point of the `webhook_endpoints` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(webhook_endpoints::routes())
}
