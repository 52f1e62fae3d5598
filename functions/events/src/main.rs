//! The Lambda entry point of the `events` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(events::routes())
}
