//! The Lambda entry point of the `organization` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(organization::routes())
}
