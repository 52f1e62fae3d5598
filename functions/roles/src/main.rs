//! The Lambda entry point of the `roles` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(roles::routes())
}
