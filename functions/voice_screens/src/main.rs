//! The Lambda entry point of the `voice_screens` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(voice_screens::routes())
}
