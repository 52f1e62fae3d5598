//! The Lambda entry point of the `applications` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(applications::routes())
}
