//! The Lambda entry point of the `data` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(data::routes())
}
