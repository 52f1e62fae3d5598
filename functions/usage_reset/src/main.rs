//! The Lambda entry point of the `usage_reset` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::schedule(|_, environment| usage_reset::run(environment))
}
