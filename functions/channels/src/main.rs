//! The Lambda entry point of the `channels` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(channels::routes())
}
