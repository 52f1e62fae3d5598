//! The Lambda entry of the `roles` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(roles::routes())
}
