//! The Lambda entry point of the `default` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve_documents(default::pages())
}
