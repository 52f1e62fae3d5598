//! The Lambda entry point of the `candidates` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(candidates::routes())
}
