//! The Lambda entry point of the `quick_post` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(quick_post::routes())
}
