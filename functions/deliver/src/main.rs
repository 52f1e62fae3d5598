//! The Lambda entry point of the `deliver` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::schedule(deliver::answer)
}
