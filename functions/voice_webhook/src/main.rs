//! The Lambda entry point of the `voice_webhook` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(voice_webhook::routes())
}
